import { sleepBy } from '../../src/clock.js';

/** @import { Clock } from '../../src/contracts/common.d.ts' */

/**
 * A clock that a test turns by hand. Time stands still until it does, and while it moves everything that became
 * due runs in the order in which it was due, with the code behind it run to a standstill in between.
 *
 * @typedef {object} ByHand
 * @property {(ms: number) => Promise<void>} advance
 * @property {() => Promise<void>} settle runs what is ready now, without moving time
 * @property {() => number} pending how many timers are set
 */

/**
 * @param {{startUs?: number, wallMs?: number}} [options] where the two origins are
 * @returns {Clock & ByHand}
 */
export function createFakeClock({ startUs = 1_000_000, wallMs = Date.UTC(2026, 0, 1) } = {}) {
  let nowUs = startUs;
  let lastId = 0;
  /** @type {Map<number, {dueUs: number, callback: () => void}>} */
  const timers = new Map();

  /** @type {Clock['after']} */
  const after = (callback, ms) => {
    const id = ++lastId;
    timers.set(id, { dueUs: nowUs + Math.max(0, Math.round(ms * 1000)), callback });
    return () => void timers.delete(id);
  };

  /** The timer that is due first; of two due at once, the one that was set first. @param {number} untilUs */
  const nextDue = (untilUs) => {
    /** @type {[number, {dueUs: number, callback: () => void}] | null} */
    let first = null;
    for (const entry of timers) {
      if (entry[1].dueUs <= untilUs && (first === null || entry[1].dueUs < first[1].dueUs)) first = entry;
    }
    return first;
  };

  // setImmediate comes after every microtask, so promises that are ready have been followed to their end.
  const settle = () => new Promise((/** @type {(value?: undefined) => void} */ resolve) => setImmediate(resolve));

  return {
    nowUs: () => nowUs,
    wallMs: () => wallMs + Math.floor((nowUs - startUs) / 1000),
    after,
    sleep: sleepBy(after),
    settle,
    advance: async (ms) => {
      const untilUs = nowUs + Math.round(ms * 1000);
      await settle();
      for (let next = nextDue(untilUs); next !== null; next = nextDue(untilUs)) {
        const [id, { dueUs, callback }] = next;
        timers.delete(id);
        nowUs = Math.max(nowUs, dueUs);
        callback();
        await settle();
      }
      nowUs = untilUs;
    },
    pending: () => timers.size,
  };
}
