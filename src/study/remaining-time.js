/** @import { Clock } from '../clock.js' */

/** How long a study still takes: what is left goes on as what there was. */
export class RemainingTime {
  #clock;
  #all;
  #startedUs;

  /** @param {Clock} clock @param {number} all parts there are */
  constructor(clock, all) {
    this.#clock = clock;
    this.#all = all;
    this.#startedUs = clock.nowUs();
  }

  /** @param {number} done @returns {string} to go behind other words; nothing while nothing is known */
  words(done) {
    if (done === 0 || done >= this.#all) return '';
    const tookUs = this.#clock.nowUs() - this.#startedUs;
    return `  about ${timeText(((tookUs / done) * (this.#all - done)) / 1000)} left`;
  }
}

/** @param {number} ms @returns {string} such as 45s, 1m40s, 2h05m */
export function timeText(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
}
