/** @import { Outage } from '../metrics/summary.js' */

/**
 * When endpoints were left for the others, and for how long.
 *
 * @typedef {object} Event
 * @property {number} endpoint by its place
 * @property {boolean} isBack false: it was left
 * @property {number} atUs
 * @property {string} words
 *
 * @typedef {object} Absence of one endpoint
 * @property {number} left how often it was left
 * @property {number} awayUs for how long in all
 */

/** One that keeps coming and going must not fill the memory. */
const MOST_EVENTS = 200;

export class Absences {
  /** The first of them. @type {Event[]} */
  events = [];
  /** Since when an endpoint is left; null while it is used. @type {Array<number | null>} */
  #sinceUs;
  /** Those that are over, and how many there were. @type {Absence[]} */
  #known;
  /** @type {(event: Event) => void} */
  #onEvent = () => {};

  /** @param {number} endpoints */
  constructor(endpoints) {
    this.#sinceUs = Array(endpoints).fill(null);
    this.#known = Array.from({ length: endpoints }, () => ({ left: 0, awayUs: 0 }));
  }

  /** @param {(event: Event) => void} onEvent called for those that were as well */
  listen(onEvent) {
    this.events.forEach(onEvent);
    this.#onEvent = onEvent;
  }

  /** @param {number} index */
  isLeft(index) {
    return this.#sinceUs[index] !== null;
  }

  /** Unless it was before. @param {number} index @param {number} atUs @param {string} words why */
  leave(index, atUs, words) {
    if (this.isLeft(index)) return;
    this.#sinceUs[index] = atUs;
    this.#known[index].left += 1;
    this.tell(index, false, atUs, words);
  }

  /** If it was left. @param {number} index @param {number} atUs */
  comeBack(index, atUs) {
    const sinceUs = this.#sinceUs[index];
    if (sinceUs === null) return;
    this.#sinceUs[index] = null;
    this.#known[index].awayUs += atUs - sinceUs;
    this.tell(index, true, atUs, `after ${((atUs - sinceUs) / 1e6).toFixed(1)} s`);
  }

  /** @param {number} endpoint @param {boolean} isBack @param {number} atUs @param {string} words */
  tell(endpoint, isBack, atUs, words) {
    const event = { endpoint, isBack, atUs, words };
    if (this.events.length < MOST_EVENTS) this.events.push(event);
    this.#onEvent(event);
  }

  /** When all were left at once, as far as the events are kept. @param {number} loadStartUs */
  outages(loadStartUs) {
    /** @type {Set<number>} */
    const left = new Set();
    /** @type {Outage[]} */
    const outages = [];
    for (const { endpoint, isBack, atUs, words } of this.events) {
      const atMs = (atUs - loadStartUs) / 1000;
      const wereAll = left.size === this.#known.length;
      if (isBack) left.delete(endpoint);
      else left.add(endpoint);
      const areAll = left.size === this.#known.length;
      if (areAll && !wereAll) outages.push({ fromMs: atMs, words });
      if (wereAll && !areAll) outages[outages.length - 1].toMs = atMs;
    }
    return outages;
  }

  /**
   * @param {number} nowUs
   * @param {(index: number) => number | null} leftAtUs of one that is left, and it was not said here yet
   * @returns {Absence[]} by endpoint
   */
  upTo(nowUs, leftAtUs) {
    return this.#known.map(({ left, awayUs }, i) => {
      const newUs = this.isLeft(i) ? null : leftAtUs(i);
      const sinceUs = this.#sinceUs[i] ?? newUs ?? nowUs;
      return { left: left + (newUs === null ? 0 : 1), awayUs: awayUs + Math.max(0, nowUs - sinceUs) };
    });
  }
}
