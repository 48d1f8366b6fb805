import { cellName } from './plan.js';

/**
 * @import { Axis } from '../cli/study-config.js'
 * @import { Saturation } from './sweep-file.js'
 */

/**
 * Where more load brings nothing but latency.
 *
 * @typedef {object} Point one cell, its figures as means of its runs; null where none of them was measured
 * @property {Record<string, string>} settings
 * @property {number | null} asked per second, in all
 * @property {number | null} tps
 * @property {number | null} achieved per second, those included that were verified after the window
 * @property {number | null} avgUs
 * @property {boolean} isFallingBehind latency grew while the rate went on, in most of its runs
 */

/** More than this share of what was asked is missing. */
const SHORT = 0.1;
/** Throughput that grows by less stands still, if the load grew by at least so much more and latency did grow. */
const GROWTH = 0.05;
const MORE_LOAD = 0.1;
const LATENCY_GROWTH = 0.05;

/**
 * @param {readonly Point[]} points
 * @param {readonly Axis[]} axes
 * @param {boolean} isPerConnection
 * @returns {{along: string, lines: Point[][]} | null} lines of cells along which nothing but the load grows
 */
export function loadLines(points, axes, isPerConnection) {
  const isOpenLoop = points.some(({ asked }) => asked !== null);
  // More wallets do not ask for more than a rate.
  const raising = isOpenLoop ? ['rate', ...(isPerConnection ? ['connections'] : [])] : ['in-flight', 'threads'];
  const along = raising.find((name) => axes.some((axis) => axis.name === name));
  if (along === undefined) return null;
  /** @type {Map<string, Point[]>} */
  const lines = new Map();
  for (const point of points) {
    const key = cellName(others(point.settings, along));
    lines.set(key, [...(lines.get(key) ?? []), point]);
  }
  const loadOf = (/** @type {Point} */ { settings }) => Number(settings[along]);
  return { along, lines: [...lines.values()].map((line) => line.sort((a, b) => loadOf(a) - loadOf(b))) };
}

/**
 * @param {readonly Point[]} points
 * @param {readonly Axis[]} axes
 * @param {boolean} isPerConnection whether each connection is asked for the rate
 * @returns {{reasons: Map<Point, string>, saturation: Saturation[]}} reasons: of each cell that is saturated
 */
export function findSaturation(points, axes, isPerConnection) {
  /** @type {Map<Point, string>} */
  const reasons = new Map();
  const found = loadLines(points, axes, isPerConnection);
  if (found === null) return { reasons, saturation: [] };
  const { along, lines } = found;
  const saturation = lines.map((line) => {
    /** @type {Point | null} */
    let best = null;
    for (const point of line) {
      const why = point.asked === null ? plateau(point, best, along) : shortfall(point);
      if (why !== null) reasons.set(point, why);
      if (point.tps !== null && (best?.tps ?? 0) < point.tps) best = point;
    }
    return words(line, along, reasons);
  });
  return { reasons, saturation };
}

/**
 * What is under way when the window ends is missing in it, too; only what the node does not keep up with counts.
 * @param {Point} point
 */
function shortfall({ asked, tps, achieved, isFallingBehind }) {
  if (asked === null || tps === null || achieved === null) return null;
  if (achieved < (1 - SHORT) * asked)
    return `${rate(achieved)} of ${rate(asked)} asked per second were verified, ${percent(1 - achieved / asked)} short`;
  if (tps >= (1 - SHORT) * asked || !isFallingBehind) return null;
  return `${rate(tps)} of ${rate(asked)} asked per second were verified in the window, ${percent(1 - tps / asked)} short, and latency grew all the while`;
}

/** @param {Point} point @param {Point | null} best of those with less load @param {string} along */
function plateau({ settings, tps, avgUs }, best, along) {
  if (tps === null || best === null || best.tps === null) return null;
  const before = `at ${along}=${best.settings[along]}`;
  if (tps === 0) return `nothing was verified, after ${rate(best.tps)} TPS ${before}`;
  if (avgUs === null || best.avgUs === null) return null;
  const load = Number(settings[along]) / Number(best.settings[along]);
  const growth = tps / best.tps - 1;
  const latencyGrowth = avgUs / best.avgUs - 1;
  if (load < 1 + MORE_LOAD || growth >= GROWTH || latencyGrowth < LATENCY_GROWTH) return null;
  const change = `${percent(Math.abs(growth))} ${growth < 0 ? 'less' : 'more'}`;
  return `${rate(tps)} TPS are ${change} than ${before}, while the mean latency grew by ${percent(latencyGrowth)}`;
}

/** @param {Point[]} line @param {string} along @param {Map<Point, string>} reasons @returns {Saturation} */
function words(line, along, reasons) {
  const above = line.findLastIndex((point) => !reasons.has(point)) + 1;
  const first = line.at(above);
  // Where more load is carried after all, it was noise, or the noise is what comes above.
  const odd = line.slice(0, above).filter((point) => reasons.has(point));
  const at = others(line[0].settings, along);
  const where = Object.keys(at).length === 0 ? '' : `${cellName(at)}: `;
  const names = `${along}=${odd.map(({ settings }) => settings[along]).join(', ')}`;
  const doubt = `repeat (--repeat) to tell noise from it`;
  const from = `saturated from ${along}=${first?.settings[along]} on`;
  const said =
    first === undefined
      ? odd.length === 0
        ? `not saturated up to ${along}=${line.at(-1)?.settings[along]}`
        : `saturated at ${names}, but not above: ${doubt} (${reasons.get(odd[0])})`
      : `${from}${odd.length === 0 ? '' : ` and at ${names}, but not between: ${doubt}`}: ${reasons.get(first)}`;
  return { along, at, settings: first?.settings ?? null, words: `${where}${said}` };
}

/** @param {Record<string, string>} settings @param {string} along */
function others(settings, along) {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== along));
}

/** @param {number} value */
function rate(value) {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}

/** @param {number} share */
function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}
