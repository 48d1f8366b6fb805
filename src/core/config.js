import { randomInt } from 'node:crypto';
import { UsageError } from '../errors.js';
import { HIGHEST_RATE } from './pacer.js';

/** @import { LoadConfig, RateStage, Schedule, Workload } from '../contracts/load.d.ts' */

/**
 * Operations per second. A rate in gas is an estimate, until the gas of an operation is measured in the warm-up.
 * @param {Pick<LoadConfig, 'ratePerSecond' | 'gasPerSecond'>} load
 * @param {Workload} workload
 * @returns {number | null} null: no rate
 */
export function rateOf({ ratePerSecond, gasPerSecond }, workload) {
  if (gasPerSecond === null) return ratePerSecond;
  if (workload.kind === 'call') throw new UsageError('--rate in gas needs transactions: calls use no gas');
  const perSecond = gasPerSecond / Number(workload.gas.likely.perOperation);
  if (perSecond <= HIGHEST_RATE) return perSecond;
  throw new UsageError(
    `--rate ${gasPerSecond / 1e6}Mgas would be about ${Math.round(perSecond)} operations per second: at most ${HIGHEST_RATE} are scheduled`,
  );
}

/**
 * The schedule of the pacer.
 * @param {Pick<LoadConfig, 'ratePerSecond' | 'stages' | 'arrival' | 'warmupMs'>} load
 * @param {number} [seed] of random arrivals
 * @returns {Schedule | null} null: closed loop
 */
export function scheduleOf({ ratePerSecond, stages, arrival, warmupMs }, seed = randomInt(1, 2 ** 32 - 1)) {
  const wanted = stages ?? (ratePerSecond === null ? null : [constant(ratePerSecond, Infinity)]);
  if (wanted === null) return null;
  // The warm-up uses the first rate of the window; an automatic one has no stages after it.
  const before = warmupMs !== 'auto' && warmupMs > 0 ? [constant(wanted[0].fromPerSecond, warmupMs * 1000)] : [];
  const schedule = { stages: [...before, ...wanted], seed };
  return { ...schedule, arrival: arrival ?? 'uniform', ...(stages === null ? {} : { firstStage: before.length }) };
}

/** @param {number} perSecond @param {number} durationUs @returns {RateStage} */
function constant(perSecond, durationUs) {
  return { fromPerSecond: perSecond, toPerSecond: perSecond, durationUs };
}
