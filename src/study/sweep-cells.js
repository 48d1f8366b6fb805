import { backlog } from '../metrics/pace.js';
import { lowerBounds, METRICS, metricOf, readMetrics } from './metrics.js';
import { findSaturation } from './saturation.js';
import { mean } from './statistics.js';

/**
 * @import { Axis } from '../cli/study-config.js'
 * @import { Readings } from '../metrics/readings.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Cell } from './plan.js'
 * @import { Point } from './saturation.js'
 * @import { SweepCell, SweepFile, SweepRun } from './sweep-file.js'
 */

/**
 * What the runs of a sweep say, cell by cell.
 *
 * @typedef {object} Reading what is kept of a run file, which is much larger
 * @property {Record<string, number | null>} metrics
 * @property {string[]} atLeast those of them that may be larger, because operations are censored
 * @property {number | null} asked per second
 * @property {boolean} isFallingBehind
 *
 * @typedef {SweepRun & {reading: Reading | null}} Result of one run; null: it measured nothing
 */

/** Figures that the tables have beside METRICS. */
const MORE = ['scheduled', 'verified', 'queued.p90', 'submit.p90', 'inclusion.p90', 'readback.p90'];
/** The busiest interval, in percent of a core; no threshold can name them. */
export const PEAKS = Object.freeze(['peak.node.cpu', 'peak.generator.cpu']);

/** All figures that a sweep keeps of each run. */
export const KEPT = Object.freeze([...METRICS, ...MORE, ...PEAKS]);

/** Runs that ended so have measured what they were asked to. */
const WHOLE = Object.freeze(['duration', 'no_wallets']);

/** @param {RunFile} run whether it went on for as long as it was meant to */
export function isWhole({ partial, end }) {
  return !partial && WHOLE.includes(end);
}

/** @param {RunFile} run @returns {Reading} */
export function readRun(run) {
  return {
    metrics: {
      ...readMetrics(run),
      ...Object.fromEntries(MORE.map((name) => [name, metricOf(name).read(run)])),
      'peak.node.cpu': peakCpu(run, ({ node }) => node?.cpuUs),
      'peak.generator.cpu': peakCpu(run, ({ self }) => self.cpuUs),
    },
    atLeast: lowerBounds(run, [...METRICS, ...MORE]),
    asked: run.rates.askedPerSecond,
    isFallingBehind: backlog(run) !== null,
  };
}

/** Of an interval that is shorter the clock ticks of the system would say too much. */
const SHORTEST_MS = 500;

/**
 * @param {RunFile} run
 * @param {(readings: Readings) => number | undefined} read microseconds
 */
function peakCpu({ intervals }, read) {
  const shares = intervals.flatMap(({ phase, startMs, endMs, probes }) => {
    const cpuUs = read(probes);
    const ms = endMs - startMs;
    return phase !== 'load' || ms < SHORTEST_MS || cpuUs === undefined ? [] : [cpuUs / (10 * ms)];
  });
  return shares.length === 0 ? null : Math.max(...shares);
}

/**
 * @param {readonly Cell[]} cells
 * @param {readonly Result[][]} results of each cell, in the order of repeats
 * @param {{axes: readonly Axis[], isPerConnection: boolean}} plan
 * @returns {Pick<SweepFile, 'cells' | 'saturation'>}
 */
export function summarizeCells(cells, results, { axes, isPerConnection }) {
  const points = cells.map((cell, i) => pointOf(cell, results[i]));
  const measured = points.filter(({ tps }) => tps !== null);
  const { reasons, saturation } = findSaturation(measured, axes, isPerConnection);
  return {
    cells: cells.map(({ settings, derived }, i) => ({
      settings,
      derived,
      asked: points[i].asked,
      runs: results[i].map(({ repeat, file, exitCode, startedAt, complaint }) => {
        return { repeat, file, exitCode, startedAt, complaint };
      }),
      metrics: Object.fromEntries(
        KEPT.map((name) => [name, results[i].map(({ reading }) => reading?.metrics[name] ?? null)]),
      ),
      atLeast: [...new Set(results[i].flatMap(({ reading }) => reading?.atLeast ?? []))],
      saturated: reasons.has(points[i]),
      why: reasons.get(points[i]) ?? null,
    })),
    saturation,
  };
}

/** @param {Cell} cell @param {readonly Result[]} results @returns {Point} */
function pointOf({ settings, asked }, results) {
  const readings = results.flatMap(({ reading }) => (reading === null ? [] : [reading]));
  /** @param {string} name */
  const figure = (name) => meanOf(readings.map(({ metrics }) => metrics[name]));
  return {
    settings,
    tps: figure('tps'),
    achieved: figure('achieved'),
    avgUs: figure('avg'),
    // Stages ask for rates, too, which the runs themselves know.
    asked: asked ?? meanOf(readings.map((reading) => reading.asked)),
    isFallingBehind: readings.filter((reading) => reading.isFallingBehind).length * 2 > readings.length,
  };
}

/** @param {ReadonlyArray<number | null>} values */
export function meanOf(values) {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : mean(known);
}
