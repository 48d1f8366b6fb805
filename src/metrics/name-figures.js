import { Distribution } from './distribution.js';

/**
 * Figures of one kind of calls, or of whatever a workload gives names to: calls.NAME.p99.
 *
 * @typedef {import('./figures.js').Figure} Figure
 * @typedef {import('./summary.js').MeasuredRun} MeasuredRun
 */

/** @type {Record<string, 'meanUs' | 'minUs' | 'maxUs' | 'stddevUs'>} */
const STATISTICS = { avg: 'meanUs', min: 'minUs', max: 'maxUs', stddev: 'stddevUs' };

/**
 * @param {string} text
 * @returns {Figure | null} null where it is none of these. Which names there are is known when the run is over.
 */
export function nameFigure(text) {
  const match = /^calls\.([\w.-]+)\.(?:(tps|failed|avg|min|max|stddev)|p(\d+(?:\.\d+)?))$/.exec(text);
  if (match === null) return null;
  const [, name, statistic, digits] = match;
  const percentile = Number(digits);
  if (digits !== undefined && !(percentile > 0 && percentile < 100)) return null;
  /** @param {import('./figures.js').Unit} unit @param {string} words @param {(group: import('./groups.js').GroupJson, run: MeasuredRun) => number | null} read @returns {Figure} */
  const figure = (unit, words, read) => ({
    ...{ name: text, ofCall: name, unit, words: `${words} ${name}` },
    read: (run) => (run.byName[name] === undefined ? null : read(run.byName[name], run)),
    why: ({ byName }) =>
      byName[name] === undefined
        ? `there is no ${name} among ${Object.keys(byName).join(', ') || 'no names'}`
        : undefined,
  });
  if (statistic === 'tps')
    return figure('perSecond', 'those verified per second of the window of', ({ windowVerified }, { window }) =>
      window.durationMs === 0 ? null : (1000 * windowVerified) / window.durationMs,
    );
  if (statistic === 'failed') return figure('count', 'those that failed of', ({ counts }) => counts.failed);
  return figure('us', 'latency of', ({ latency }) =>
    statistic === undefined ? Distribution.fromJSON(latency).percentileUs(percentile) : latency[STATISTICS[statistic]],
  );
}
