/** @import { Clock } from './types.d.ts' */

/** @returns {Clock} */
export function createClock() {
  /** @type {Clock['after']} */
  const after = (callback, ms) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  };
  // performance.now() begins with its thread; seen from the system's monotonic clock, all threads agree.
  const originUs = monotonicOriginUs();
  return {
    nowUs: () => originUs + Math.round(performance.now() * 1000),
    wallMs: () => Date.now(),
    after,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const end = () => {
          cancel();
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const cancel = after(end, ms);
        signal?.addEventListener('abort', end, { once: true });
      }),
  };
}

/** Both clocks are read in one moment: where too long a one passed between, they are read again. */
function monotonicOriginUs() {
  for (let tries = 0; ; tries += 1) {
    const beforeMs = performance.now();
    const systemUs = Number(process.hrtime.bigint() / 1000n);
    const tookMs = performance.now() - beforeMs;
    if (tookMs < 0.02 || tries === 100) return systemUs - Math.round((beforeMs + tookMs / 2) * 1000);
  }
}
