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
        leave();
        resolve();
      };
      const cancel = after(end, ms);
      const leave = signal === undefined ? () => {} : onAbort(signal, end);
    });
}

/** What the only listener of a signal calls: Node.js takes more than ten listeners for a leak. */
class Callbacks extends Set {
  call = () => this.forEach((callback) => callback());
}

/** @type {WeakMap<AbortSignal, Callbacks>} */
const callbacksOf = new WeakMap();

/** @param {AbortSignal} signal @param {() => void} callback which must not throw @returns {() => void} cancels it */
export function onAbort(signal, callback) {
  const callbacks = callbacksOf.get(signal) ?? new Callbacks();
  if (callbacks.size === 0) signal.addEventListener('abort', callbacks.call, { once: true });
  callbacksOf.set(signal, callbacks.add(callback));
  return () => {
    if (callbacks.delete(callback) && callbacks.size === 0) signal.removeEventListener('abort', callbacks.call);
  };
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
