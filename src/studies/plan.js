import { createHash } from 'node:crypto';
import { UsageError } from '../errors.js';
import { counted } from '../text.js';

/** @import { Axis, SweepFile } from '../contracts/study.d.ts' */

/**
 * The runs of a sweep and their order.
 *
 * @typedef {object} Cell one combination of settings
 * @property {Record<string, string>} settings by option name
 * @property {number | null} asked operations per second, total
 *
 * @typedef {object} Turn one run
 * @property {number} index of its cell
 * @property {number} repeat from 1
 * @property {string} file its run file, relative to the folder of the sweep
 */

/** Larger sweeps are considered mistakes. */
const MAX_RUNS = 1000;

/** All combinations; the first axis changes slowest. @param {readonly Axis[]} axes @returns {Array<Record<string, string>>} */
function combinations(axes) {
  return axes.reduce(
    (settings, { name, values }) => settings.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    /** @type {Array<Record<string, string>>} */ ([{}]),
  );
}

/** @param {readonly Axis[]} axes @param {number} repeat @throws {UsageError} */
export function checkSize(axes, repeat) {
  const cells = axes.reduce((product, { values }) => product * values.length, 1);
  if (cells * repeat <= MAX_RUNS) return;
  const lengths = axes.map(({ name, values }) => `${values.length} of --${name}`);
  throw new UsageError(
    `this sweep has ${counted(cells * repeat, 'run')} (${[...lengths, `--repeat ${repeat}`].join(' x ')}): at most ${MAX_RUNS} are made`,
  );
}

/** @param {readonly Axis[]} axes @param {Readonly<Record<string, unknown>>} options of all runs @returns {Cell[]} */
export function planCells(axes, options) {
  return combinations(axes).map((settings) => {
    const rate = settings.rate ?? options.rate;
    // What a rate in gas asks for is known after the run.
    return { settings, asked: Number.isNaN(Number(rate)) ? null : Number(rate) };
  });
}

/**
 * Repeats are the outer loop, so that slow changes affect all cells; every second one runs backwards, so that drift in
 * one direction favours no cell.
 * @param {readonly Cell[]} cells
 * @param {number} repeat
 * @returns {Turn[]}
 */
export function turnsOf(cells, repeat) {
  return Array.from({ length: repeat }, (_, round) => {
    const turns = cells.map(({ settings }, index) => ({
      index,
      repeat: round + 1,
      file: fileOf('cells', settings, round + 1),
    }));
    return round % 2 === 0 ? turns : turns.reverse();
  }).flat();
}

/** The run file has all settings in its name, so that no run is taken for another one. @param {string} folder @param {Record<string, string>} settings @param {number | string} last */
export function fileOf(folder, settings, last) {
  const parts = Object.entries(settings).map(([name, value]) => `${name}-${value.replace(/[^\w.]/g, '-')}`);
  return `${folder}/${[...parts, last].join('_')}.json`;
}

/** @param {{settings: Record<string, string>}} cell @returns {string[]} of stress */
export function argsOf({ settings }) {
  return Object.entries(settings).map(([name, value]) =>
    // An axis such as set.slots is a setting of the workload.
    name.startsWith('set.') ? `--set=${name.slice('set.'.length)}=${value}` : `--${name}=${value}`,
  );
}

/** @param {Record<string, string>} settings */
export function cellName(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

/** @param {Record<string, string>} was @param {Record<string, string>} is @returns {string | null} in words */
export function differenceOfParts(was, is) {
  for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
    if (was[name] === is[name]) continue;
    return `${name} ${was[name] === undefined ? 'was not given' : `was ${was[name]}`} and ${is[name] === undefined ? 'is not given' : `is ${is[name]}`}`;
  }
  return null;
}

/**
 * @param {Pick<SweepFile, 'axes' | 'repeat' | 'restMs' | 'beforeCell' | 'options'>} sweep
 * @returns {Record<string, string>} its options as text
 */
export function namedParts({ axes, repeat, restMs, beforeCell, options }) {
  return {
    ...Object.fromEntries(axes.map(({ name, values }) => [`--${name}`, values.join(',')])),
    ...optionTexts(options),
    '--repeat': String(repeat),
    '--rest': restText(restMs),
    ...(beforeCell == null ? {} : { '--before-cell': commandWords(beforeCell) }),
  };
}

/** @param {Readonly<Record<string, unknown>>} options of all runs */
export function optionTexts(options) {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [`--${name}`, String(value)]));
}

/** @param {number} restMs */
export function restText(restMs) {
  return `${restMs / 1000}s`;
}

/** A command may contain secrets: only a hash is kept, which shows whether it changed. @param {string} command */
export function fingerprint(command) {
  return createHash('sha256').update(command).digest('hex').slice(0, 16);
}

/** @param {string} beforeCell the fingerprint of a command */
export function commandWords(beforeCell) {
  return `a command with SHA-256 ${beforeCell}...`;
}
