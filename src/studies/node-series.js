import { mean, standardDeviation } from './statistics.js';

/**
 * The series of the Prometheus pages of the nodes (--node-metrics) that differ most between the sides of a comparison.
 * Nothing is tested here: they say where to look first.
 *
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { SeriesDifference } from '../contracts/study.d.ts'
 *
 * @typedef {{name: string, isCounter: boolean, perSecond: number, mean: number}} RunSeries of one run, over its load
 */

const MOST = 15;
/** A smaller share of a series is taken for noise where its runs do not vary. */
const LEAST_SPREAD = 0.01;

/**
 * @param {readonly RunFile[]} base
 * @param {readonly RunFile[]} candidate
 * @returns {SeriesDifference[]} that all runs have; the largest difference in units of the variation of the runs comes first
 */
export function differingSeries(base, candidate) {
  const sides = [base, candidate].map((runs) => runs.map(seriesOf));
  const [first, ...others] = sides.flat();
  if (first === undefined) return [];
  const names = [...first.keys()].filter((name) => others.every((one) => one.has(name)));
  const differences = names.map((name) => {
    const [a, b] = sides.map((runs) => runs.map((run) => /** @type {RunSeries} */ (run.get(name))));
    const isCounter = [...a, ...b].every((one) => one.isCounter) && [...a, ...b].some((one) => one.perSecond > 0);
    const [from, to] = [a, b].map((runs) => runs.map((one) => (isCounter ? one.perSecond : one.mean)));
    const byMean = { base: mean(from), candidate: mean(to) };
    const spread = Math.max(spreadOf(from), spreadOf(to), LEAST_SPREAD * Math.max(...[...from, ...to].map(Math.abs)));
    const difference = byMean.candidate - byMean.base;
    return { name, isPerSecond: isCounter, ...byMean, effect: difference === 0 ? 0 : difference / spread };
  });
  return differences
    .filter(({ effect }) => effect !== 0)
    .sort((one, other) => Math.abs(other.effect) - Math.abs(one.effect))
    .slice(0, MOST);
}

/**
 * A page does not reliably tell counters from gauges: what never falls is taken for a counter.
 * @param {Pick<RunFile, 'intervals'>} run
 * @returns {Map<string, RunSeries>} by name and labels; those that were read twice at least
 */
function seriesOf({ intervals }) {
  /** @type {Map<string, Array<{atMs: number, value: number}>>} */
  const read = new Map();
  for (const { phase, endMs, probes } of intervals)
    for (const [name, value] of phase === 'load' ? Object.entries(probes.metrics?.series ?? {}) : [])
      if (value !== null) read.set(name, [...(read.get(name) ?? []), { atMs: endMs, value }]);
  const known = [...read].filter(([, points]) => points.length > 1);
  return new Map(
    known.map(([name, points]) => {
      const [first, last] = [points[0], points[points.length - 1]];
      const perSecond = (1000 * (last.value - first.value)) / (last.atMs - first.atMs);
      const isCounter = points.every(({ value }, i) => i === 0 || value >= points[i - 1].value);
      return [name, { name, isCounter, perSecond, mean: mean(points.map(({ value }) => value)) }];
    }),
  );
}

/** What was read once has no growth, and no mean. @param {readonly RunFile[]} runs @returns {string | null} words */
export function tooFewReadings(runs) {
  const counts = runs.map(
    ({ intervals }) => intervals.filter(({ phase, probes }) => phase === 'load' && probes.metrics !== null).length,
  );
  return counts.every((count) => count > 0) && counts.some((count) => count < 2)
    ? 'the metrics of the nodes were read once in a run, which shows no difference: give a shorter --interval, or a longer --duration'
    : null;
}

/** @param {readonly number[]} values */
function spreadOf(values) {
  return values.length > 1 ? standardDeviation(values) : 0;
}
