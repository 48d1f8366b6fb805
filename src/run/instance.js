import { hostname } from 'node:os';

/**
 * Which instance of a run this is, as its run file states it.
 * @param {import('./config.js').Config} config
 * @param {import('./common-start.js').StartFacts} start
 * @returns {import('../metrics/summary.js').InstanceFacts | null} null where it is the only one and waited for nothing
 */
export function describeInstance({ runId, index, instances, attempt, scheduler, offset, threads }, start) {
  if (runId === null && index === null && start.by === null) return null;
  return { runId, index, instances, attempt, scheduler, offset, threads, host: hostname(), start };
}
