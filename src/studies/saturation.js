import { digits, percent } from '../text.js';
import { cellName } from './plan.js';
import { groupsOf, meanOf } from './statistics.js';

/**
 * The analysis of saturation: from which load on more load only adds latency.
 *
 * @import { Axis, Saturation, SweepCell } from '../contracts/study.d.ts'
 */

/** With a rate: less of it is held. */
const HELD_PERCENT = 90;
/** Without: throughput grows by less than GROWTH, although the load grew by MORE_LOAD and latency by LATENCY_GROWTH. */
const GROWTH = 0.05;
const MORE_LOAD = 0.1;
const LATENCY_GROWTH = 0.05;

/**
 * Marks the saturated cells.
 * @param {readonly SweepCell[]} cells
 * @param {readonly Axis[]} axes
 * @returns {Saturation[]} of each line of cells in which only the load grows
 */
export function findSaturation(cells, axes) {
  const measured = cells.filter((cell) => meanIn(cell, 'tps') !== null);
  // In an open loop more wallets do not increase the load.
  const raising = measured.some(({ asked }) => asked !== null) ? ['rate'] : ['in-flight', 'threads'];
  const along = raising.find((name) => axes.some((axis) => axis.name === name));
  if (along === undefined) return [];
  const loadOf = (/** @type {SweepCell} */ { settings }) => Number(settings[along]);
  return groupsOf(measured, ({ settings }) => cellName(others(settings, along))).map((line) => {
    line.sort((a, b) => loadOf(a) - loadOf(b));
    /** @type {SweepCell | null} */
    let best = null;
    for (const cell of line) {
      cell.why = cell.asked === null ? plateau(cell, best, along) : shortfall(cell);
      cell.saturated = cell.why !== null;
      if ((meanIn(cell, 'tps') ?? 0) > (best === null ? 0 : Number(meanIn(best, 'tps')))) best = cell;
    }
    return judged(line, along);
  });
}

/** @param {SweepCell} cell @param {string} name of a metric */
function meanIn({ metrics }, name) {
  return meanOf(metrics[name] ?? []);
}

/** @param {SweepCell} cell */
function shortfall(cell) {
  const held = meanIn(cell, 'held');
  return held === null || held >= HELD_PERCENT ? null : `${percent(held / 100)} of the rate was held`;
}

/** @param {SweepCell} cell @param {SweepCell | null} best cell with less load @param {string} along */
function plateau(cell, best, along) {
  if (best === null) return null;
  const [tps, before, latencyUs, beforeUs] = ['tps', 'avg'].flatMap((name) => [meanIn(cell, name), meanIn(best, name)]);
  const where = `at ${along}=${best.settings[along]}`;
  if (tps === null || before === null) return null;
  if (tps === 0) return `nothing was verified, after ${digits(before)} TPS ${where}`;
  if (latencyUs === null || beforeUs === null) return null;
  const load = Number(cell.settings[along]) / Number(best.settings[along]);
  const growth = tps / before - 1;
  const latencyGrowth = latencyUs / beforeUs - 1;
  if (load < 1 + MORE_LOAD || growth >= GROWTH || latencyGrowth < LATENCY_GROWTH) return null;
  const change = `${percent(Math.abs(growth))} ${growth < 0 ? 'less' : 'more'}`;
  return `${digits(tps)} TPS are ${change} than ${where}, while the mean latency grew by ${percent(latencyGrowth)}`;
}

/** @param {SweepCell[]} line @param {string} along @returns {Saturation} */
function judged(line, along) {
  const above = line.findLastIndex(({ saturated }) => !saturated) + 1;
  const first = line.at(above);
  // Noise: a higher load did better than these cells.
  const odd = line.slice(0, above).filter(({ saturated }) => saturated);
  const at = others(line[0].settings, along);
  const where = Object.keys(at).length === 0 ? '' : `${cellName(at)}: `;
  const found =
    first === undefined
      ? `not saturated up to ${along}=${line.at(-1)?.settings[along]}`
      : `saturated from ${along}=${first.settings[along]} on: ${first.why}`;
  const names = `${along}=${odd.map(({ settings }) => settings[along]).join(', ')}`;
  const noise = odd.length === 0 ? '' : `; ${names} may be noise, a higher load did better; --repeat shows whether`;
  return { along, at, settings: first?.settings ?? null, words: `${where}${found}${noise}` };
}

/** @param {Record<string, string>} settings @param {string} along */
function others(settings, along) {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== along));
}
