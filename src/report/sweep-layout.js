/**
 * @import { SweepCell, SweepFile } from '../study/sweep-file.js'
 * @import { Unit } from './client/quantity.js'
 */

/**
 * How the cells of a sweep are laid out on charts: one of its axes goes to the right, one makes lines, and what is left
 * makes charts of their own.
 *
 * @typedef {SweepFile['axes'][number]} Axis
 *
 * @typedef {object} Across what goes to the right
 * @property {string} label
 * @property {Unit} unit
 * @property {boolean} isAsked the rate that was asked for, so that throughput can be held against it
 * @property {number[]} places of all cells, ascending
 * @property {string[]} [texts] of the places, where these are no numbers or not evenly apart
 * @property {(cell: SweepCell) => number | null} of
 * @property {(cell: SweepCell) => string} text as short as possible
 *
 * @typedef {{label: string, cells: SweepCell[]}} Line cells in the order of the load
 * @typedef {{name: string, lines: Line[]}} Group
 * @typedef {{across: Across, groups: Group[], linesBy: string | null}} Layout
 */

/** @param {SweepFile} sweep @returns {Layout | null} null where nothing varies */
export function layoutOf(sweep) {
  const { axes, cells } = sweep;
  const axis = alongOf(sweep);
  if (axis === null || cells.length === 0) return null;
  const others = axes.filter((one) => one !== axis);
  const lineAxis = others.at(-1) ?? null;
  const groupAxes = others.slice(0, -1);
  const groups = [...groupBy(cells, groupAxes)].map(([name, ofGroup]) => ({
    name,
    lines: [...groupBy(ofGroup, lineAxis === null ? [] : [lineAxis])].map(([label, ofLine]) => ({
      label,
      cells: ofLine,
    })),
  }));
  const lines = groups.flatMap((group) => group.lines);
  const across = acrossOf(axis, lines);
  for (const line of lines) line.cells.sort((a, b) => (across.of(a) ?? 0) - (across.of(b) ?? 0));
  return { across, groups, linesBy: lineAxis?.name ?? null };
}

/** As people read it. @param {Record<string, string>} settings */
export function cellName(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

/** The one along which the load grows; without one, the last one of numbers. @param {SweepFile} sweep @returns {Axis | null} */
function alongOf({ axes, saturation }) {
  const along = axes.find(({ name }) => name === saturation[0]?.along);
  const several = axes.filter(({ values }) => values.length > 1);
  return along ?? several.filter(isNumeric).at(-1) ?? several.at(-1) ?? axes.at(-1) ?? null;
}

/** @param {Axis} axis */
function isNumeric({ values }) {
  return values.every((value) => value.trim() !== '' && Number.isFinite(Number(value)));
}

/** @param {SweepCell[]} cells @param {Axis[]} axes @returns {Map<string, SweepCell[]>} */
function groupBy(cells, axes) {
  /** @type {Map<string, SweepCell[]>} */
  const groups = new Map();
  for (const cell of cells) {
    const name = cellName(Object.fromEntries(axes.map((axis) => [axis.name, cell.settings[axis.name]])));
    groups.set(name, [...(groups.get(name) ?? []), cell]);
  }
  return groups;
}

/** @param {Axis} axis @param {Line[]} lines @returns {Across} */
function acrossOf(axis, lines) {
  const cells = lines.flatMap((line) => line.cells);
  const asked = (/** @type {SweepCell} */ cell) => cell.asked;
  const isAsked =
    lines.some((line) => new Set(line.cells.map(asked)).size > 1) && cells.every((cell) => cell.asked !== null);
  const text = (/** @type {SweepCell} */ { settings }) => settings[axis.name];
  if (isAsked)
    return {
      label: 'asked per second',
      unit: 'plain',
      isAsked,
      of: asked,
      text,
      places: ascending(cells.map((cell) => cell.asked ?? 0)),
    };
  const { places, texts } = placesOf(axis);
  const placeByText = new Map(axis.values.map((value, i) => [value, places[i]]));
  const order = axis.values.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  return {
    label: axis.name,
    unit: 'plain',
    isAsked,
    text,
    of: (cell) => placeByText.get(text(cell)) ?? null,
    places: order.map((i) => places[i]),
    ...(texts === null ? {} : { texts: order.map((i) => texts[i]) }),
  };
}

/** Values further apart than this, as a factor, would press the others into a corner of a linear axis. */
const LOG_FROM = 20;

/** @param {Axis} axis @returns {{places: number[], texts: string[] | null}} */
function placesOf(axis) {
  const { values } = axis;
  if (!isNumeric(axis)) return { places: values.map((_, i) => i), texts: [...values] };
  const numbers = values.map(Number);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  if (low <= 0 || high / low < LOG_FROM) return { places: numbers, texts: null };
  return { places: numbers.map(Math.log10), texts: [...values] };
}

/** @param {number[]} values */
function ascending(values) {
  return [...new Set(values)].sort((a, b) => a - b);
}
