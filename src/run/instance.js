import { hostname } from 'node:os';

/**
 * @import { InstanceFacts } from '../metrics/summary.js'
 * @import { StartFacts } from './common-start.js'
 * @import { Config } from './config.js'
 */

/**
 * Which instance of a run this is, as its run file states it.
 * @param {Config} config
 * @param {StartFacts} start
 * @returns {InstanceFacts | null} null where it is the only one and waited for nothing
 */
export function describeInstance({ runId, index, instances, attempt, scheduler, offset, threads }, start) {
  if (runId === null && index === null && start.by === null) return null;
  return { runId, index, instances, attempt, scheduler, offset, threads, host: hostname(), start };
}
