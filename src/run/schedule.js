import { randomInt } from 'node:crypto';

/**
 * @import { Schedule, Stage } from '../pacer/index.js'
 * @import { Config } from './config.js'
 */

/**
 * What the pacer is to ask for.
 * @param {Pick<Config, 'ratePerSecond' | 'stages' | 'arrival' | 'warmupMs'>} config
 * @returns {Schedule | null} null for a closed loop
 */
export function scheduleOf({ ratePerSecond, stages, arrival, warmupMs }) {
  const wanted = stages ?? (ratePerSecond === null ? null : [constant(ratePerSecond, Infinity)]);
  if (wanted === null) return null;
  // A warm-up goes at the rate that the window begins with; an automatic one has no stages behind it.
  const before = warmupMs !== 'auto' && warmupMs > 0 ? [constant(wanted[0].fromPerSecond, warmupMs * 1000)] : [];
  return { stages: [...before, ...wanted], arrival: arrival ?? 'uniform', seed: randomInt(1, 2 ** 32) };
}

/** @param {number} perSecond @param {number} durationUs @returns {Stage} */
function constant(perSecond, durationUs) {
  return { fromPerSecond: perSecond, toPerSecond: perSecond, durationUs };
}
