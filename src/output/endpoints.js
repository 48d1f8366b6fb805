import { endpointsOf } from '../metrics/endpoints.js';
import { countedWords, isPlain } from '../metrics/sample.js';
import { boundedMs, count, figure, seconds } from './format.js';
import { borderless, textOf } from './table.js';

/** @import { RunFile } from '../metrics/summary.js' */

/**
 * Several endpoints, a line each.
 * @param {RunFile} run
 * @returns {string[]} nothing where there is one
 */
export function endpointsTable(run) {
  const endpoints = endpointsOf(run);
  if (endpoints.length === 0) return [];
  const words = countedWords(isPlain(run));
  const table = borderless({
    head: ['  endpoint', words.verified, 'failed', 'timed out', words.tps, 'avg ms', 'p50', 'p99', 'left', 'away'],
    colAligns: ['left', ...Array(9).fill('right')],
  });
  for (const { display, group, tps, left, awayMs } of endpoints) {
    const { counts, latency, censored } = group;
    table.push([
      ...[`  ${display}`, count(counts.verified), count(counts.failed), count(counts.timedOut), figure(tps)],
      ...boundedMs(latency, censored, ['avg', 'p50', 'p99']),
      ...[count(left), left === 0 ? '' : seconds(awayMs)],
    ]);
  }
  return [textOf(table)];
}
