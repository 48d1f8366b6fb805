import { boundedMs, count, figure } from './format.js';
import { borderless, textOf } from './table.js';

/** @import { RunFile } from '../metrics/summary.js' */

/**
 * The kinds of calls of a run, the most frequent first; nothing where there is one kind only.
 * @param {Pick<RunFile, 'byName' | 'window'>} run
 * @returns {string[]} one table
 */
export function namesTable({ byName = {}, window }) {
  const groups = Object.entries(byName).sort(([, a], [, b]) => endedOf(b) - endedOf(a));
  if (groups.length === 0) return [];
  const table = borderless({
    head: ['  by name', 'count', 'per second', 'failed', 'avg ms', 'p50', 'p90', 'p95', 'p99', 'max'],
    colAligns: ['left', ...Array(9).fill('right')],
  });
  for (const [name, { counts, windowVerified, latency, censored }] of groups) {
    const perSecond = window.durationMs === 0 ? null : (1000 * windowVerified) / window.durationMs;
    table.push([
      ...[`    ${name}`, count(endedOf({ counts })), figure(perSecond), count(counts.failed)],
      ...boundedMs(latency, censored, ['avg', 'p50', 'p90', 'p95', 'p99', 'max']),
    ]);
  }
  return [textOf(table)];
}

/** Of the whole run, as the counts above the table. @param {{counts: Record<string, number>}} group */
function endedOf({ counts }) {
  return Object.values(counts).reduce((sum, value) => sum + value, 0);
}
