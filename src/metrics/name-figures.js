import { boundsOf } from './distribution.js';

/**
 * @import { Statistic } from './distribution.js'
 * @import { Figure, Unit } from './figures.js'
 * @import { GroupJson } from './groups.js'
 * @import { MeasuredRun } from './summary.js'
 */

/**
 * Figures of one kind of calls, or of whatever a workload gives names to: calls.NAME.p99.
 */

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
  /** Also names that every object has, such as constructor. @param {Pick<MeasuredRun, 'byName'>} run */
  const groupOf = ({ byName }) => (Object.hasOwn(byName, name) ? byName[name] : undefined);
  /** @param {Unit} unit @param {string} words @param {(group: GroupJson, run: MeasuredRun) => number | null} read @returns {Figure} */
  const figure = (unit, words, read) => ({
    name: text,
    ofCall: name,
    unit,
    words: `${words} ${name}`,
    read: (run) => {
      const group = groupOf(run);
      return group === undefined ? null : read(group, run);
    },
    why: (run) =>
      groupOf(run) === undefined
        ? `there is no ${name} among ${Object.keys(run.byName).join(', ') || 'no names'}`
        : undefined,
  });
  if (statistic === 'tps')
    return figure('perSecond', 'those verified per second of the window of', ({ windowVerified }, { window }) =>
      window.durationMs === 0 ? null : (1000 * windowVerified) / window.durationMs,
    );
  if (statistic === 'failed') return figure('count', 'those that failed of', ({ counts }) => counts.failed);
  const which = /** @type {Statistic | undefined} */ (statistic) ?? percentile;
  return {
    ...figure('us', 'latency of', ({ latency }) => boundsOf(latency, 0, which).us),
    bounds: (run) => {
      const group = groupOf(run);
      if (group === undefined) return { us: null, atMostUs: Infinity, censored: 0 };
      return { ...boundsOf(group.latency, group.censored, which), censored: group.censored?.count ?? 0 };
    },
  };
}
