/** @import { Clock } from './contracts/common.d.ts' */

/** @returns {Clock} */
export function createClock() {
  /** @type {Clock['after']} */
  const after = (callback, ms) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  };
  // performance.now() starts with its thread; the offset to the system's monotonic clock makes all threads agree.
  const originUs = monotonicOriginUs();
  return {
    nowUs: () => originUs + Math.round(performance.now() * 1000),
    wallMs: () => Date.now(),
    after,
    sleep: sleepBy(after),
  };
}

/** @param {Clock['after']} after @returns {Clock['sleep']} */
export function sleepBy(after) {
  return (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = () => {
        cancel();
        if (signal !== undefined) leave(signal, end);
        resolve();
      };
      const cancel = after(end, ms);
      if (signal !== undefined) join(signal, end);
    });
}

/** Ends of the sleeps that a signal ends. They share its listener: Node.js takes more than ten for a leak. */
class Sleepers extends Set {
  abort = () => this.forEach((end) => end());
}

/** @type {WeakMap<AbortSignal, Sleepers>} */
const sleepers = new WeakMap();

/** @param {AbortSignal} signal @param {() => void} end */
function join(signal, end) {
  const all = sleepers.get(signal) ?? new Sleepers();
  if (all.size === 0) signal.addEventListener('abort', all.abort, { once: true });
  sleepers.set(signal, all.add(end));
}

/** @param {AbortSignal} signal @param {() => void} end */
function leave(signal, end) {
  const all = sleepers.get(signal);
  if (all?.delete(end) && all.size === 0) signal.removeEventListener('abort', all.abort);
}

/**
 * What the work gives, or what `late` gives if the time is over first. The work is not stopped.
 * @template T, L
 * @param {Pick<Clock, 'after'>} clock
 * @param {number} ms
 * @param {Promise<T>} work
 * @param {() => L} late may throw
 * @returns {Promise<T | L>}
 */
export function within(clock, ms, work, late) {
  let cancel = () => {};
  const over = new Promise((resolve) => (cancel = clock.after(() => resolve(null), ms))).then(late);
  return Promise.race([work, over]).finally(cancel);
}

/** Both clocks are read together, again if the thread was interrupted in between. */
function monotonicOriginUs() {
  for (let tries = 0; ; tries += 1) {
    const beforeMs = performance.now();
    const systemUs = Number(process.hrtime.bigint() / 1000n);
    const tookMs = performance.now() - beforeMs;
    if (tookMs < 0.02 || tries === 100) return systemUs - Math.round((beforeMs + tookMs / 2) * 1000);
  }
}
