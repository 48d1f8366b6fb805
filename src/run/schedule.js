import { randomInt } from 'node:crypto';

/**
 * What the pacer is to ask for.
 * @param {Pick<import('./run.js').Config, 'ratePerSecond' | 'stages' | 'arrival' | 'warmupMs'>} config
 * @returns {import('../pacer/index.js').Schedule | null} null for a closed loop
 */
export function scheduleOf({ ratePerSecond, stages, arrival, warmupMs }) {
  const wanted = stages ?? (ratePerSecond === null ? null : [constant(ratePerSecond, Infinity)]);
  if (wanted === null) return null;
  // A warm-up goes at the rate that the window begins with; an automatic one has no stages behind it.
  const before = warmupMs !== 'auto' && warmupMs > 0 ? [constant(wanted[0].fromPerSecond, warmupMs * 1000)] : [];
  return { stages: [...before, ...wanted], arrival: arrival ?? 'uniform', seed: randomInt(1, 2 ** 32) };
}

/** @param {number} perSecond @param {number} durationUs @returns {import('../pacer/index.js').Stage} */
function constant(perSecond, durationUs) {
  return { fromPerSecond: perSecond, toPerSecond: perSecond, durationUs };
}
