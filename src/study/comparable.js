import { auditResult } from '../metrics/audit-result.js';
import { shortWindow } from '../metrics/pace.js';
import { isPlain } from '../metrics/sample.js';
import { isDeepStrictEqual } from 'node:util';
import { InputError, displayName, oneLine, withoutKeys } from '../errors.js';
import { MAY_DIFFER, settingsOf } from './settings.js';

/** @import { RunFile } from '../metrics/summary.js' */

/**
 * Whether runs may be compared: only those that were asked for the same, measured in the same way, for as long.
 *
 * @typedef {{run: RunFile, file: string}} Entry
 */

/** Windows whose lengths are closer than this, of 1, are as long as each other. */
const SAME_WINDOW = 0.01;
/** Of a long list so many are named. */
const NAMED = 3;

/**
 * @param {readonly Entry[]} entries of both sides
 * @param {boolean} allowDifferent
 * @returns {string[]} the differences that were let through
 * @throws {InputError}
 */
export function checkComparable(entries, allowDifferent) {
  entries.forEach(({ run, file }, i) => {
    const twin = entries.findIndex((other) => other.run.id === run.id);
    if (twin < i)
      throw new InputError(
        `${displayName(entries[twin].file)} and ${displayName(file)} are the same run: give each run once, on one side`,
      );
    if (run.counts.verified === 0)
      throw new InputError(`${displayName(file)} verified nothing, so it cannot be compared: is the build broken?`);
  });
  const differences = differencesOf(entries);
  if (differences.length === 0 || allowDifferent) return differences;
  const more = differences.length - NAMED;
  throw new InputError(
    `these runs cannot be compared: ${differences.slice(0, NAMED).join('; ')}${more > 0 ? `; and ${more} more` : ''}` +
      ' (--allow-different compares them all the same)',
  );
}

/** @param {readonly Entry[]} entries @returns {string[]} */
function differencesOf(entries) {
  const [first, ...rest] = entries;
  const differences = entries
    .filter(({ run }) => run.partial)
    .map(({ file }) => `${displayName(file)} is partial: its generator ended before the run did`);
  const settings = new Map(entries.map((entry) => [entry, settingsOf(entry.run)]));
  const names = new Set([...settings.values()].flatMap(Object.keys));
  for (const name of names) {
    if (MAY_DIFFER.has(name)) continue;
    const value = (/** @type {Entry} */ entry) => settings.get(entry)?.[name] ?? null;
    const other = rest.find((entry) => !isDeepStrictEqual(value(entry), value(first)));
    if (other !== undefined)
      differences.push(`${shown(name)} is ${said(value(first), first)} and ${said(value(other), other)}`);
  }
  const { durationMs } = first.run.window;
  // How long iterations take is what comes out; how many there are is a setting.
  const hasLength = !entries.every(({ run }) => run.end === 'iterations');
  const longer = hasLength && rest.find(({ run }) => !isSameLength(run.window.durationMs, durationMs));
  if (longer)
    differences.push(
      `the window has ${said(durationMs / 1000, first, ' s')} and ${said(longer.run.window.durationMs / 1000, longer, ' s')}`,
    );
  const others = rest.find(({ run }) => callsOf(run) !== callsOf(first.run));
  if (others !== undefined)
    differences.push(`the calls in ${displayName(first.file)} are not those in ${displayName(others.file)}`);
  const redefined = rest.find(({ run }) => !isDeepStrictEqual(run.definitions, first.run.definitions));
  if (redefined !== undefined) differences.push(redefinition(first, redefined));
  return differences;
}

/** Files of one name may not say the same. @param {RunFile} run */
function callsOf({ environment }) {
  return /** @type {any} */ (environment).workload?.callsHash ?? null;
}

/** @param {number} a @param {number} b */
function isSameLength(a, b) {
  return Math.abs(a - b) <= SAME_WINDOW * Math.max(a, b);
}

/** @param {Entry} a @param {Entry} b */
function redefinition(a, b) {
  const [of, other] = [a, b].map(({ run }) => /** @type {Record<string, string>} */ (run.definitions));
  const name = Object.keys({ ...of, ...other }).find((key) => of[key] !== other[key]) ?? '';
  return `${shown(name)} is not defined in ${displayName(a.file)} as in ${displayName(b.file)}`;
}

/** @param {unknown} value @param {Entry} entry @param {string} [unit] */
function said(value, { file }, unit = '') {
  const text = typeof value === 'string' ? value : value === null ? 'not given' : JSON.stringify(value);
  return `${shown(text)}${unit} in ${displayName(file)}`;
}

/** Of what is in a file the names are somebody else's, too. @param {string} text */
function shown(text) {
  return oneLine(withoutKeys(text), 60);
}

/**
 * What does not forbid a comparison, but who reads it should know.
 * @param {readonly Entry[]} base
 * @param {readonly Entry[]} candidate
 * @returns {string[]}
 */
export function doubtsOf(base, candidate) {
  const entries = [...base, ...candidate];
  /** @param {string} words @param {(run: RunFile) => boolean} isSo */
  const warn = (words, isSo) => {
    const files = entries.filter(({ run }) => isSo(run)).map(({ file }) => displayName(file));
    const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : '';
    return files.length === 0 ? [] : [`${words}: ${files.slice(0, NAMED).join(', ')}${more}`];
  };
  return [
    ...warn('the audit is not exact', (run) => auditResult(run) === 'not_exact'),
    ...warn('the audit is incomplete', (run) => run.audit !== null && auditResult(run) === 'incomplete'),
    ...warn('there was no audit', (run) => run.audit === null && !isPlain(run)),
    ...warn('the run ended early', ({ end }) => !['duration', 'iterations', 'running'].includes(end)),
    ...warn('the generator was the limit, not the node', ({ verdict }) => verdict?.name === 'generator-bound'),
    ...failures(base, candidate),
    ...shortWindows(entries),
    ...['stress', 'node', 'platform', 'cpu', 'cores'].flatMap((name) => environments(name, entries)),
  ];
}

/** The shortest window stands for all that are too short. @param {readonly Entry[]} entries */
function shortWindows(entries) {
  const [worst] = entries
    .flatMap(({ run, file }) => {
      const short = shortWindow(run);
      return short === null ? [] : [{ file, ...short }];
    })
    .sort((a, b) => a.blocks - b.blocks);
  return worst === undefined ? [] : [`${displayName(worst.file)}: ${worst.words}`];
}

/** Who fails more has less to do, and may look faster for it. @param {readonly Entry[]} base @param {readonly Entry[]} candidate */
function failures(base, candidate) {
  const [a, b] = [base, candidate].map((side) => {
    const sum = (/** @type {(counts: RunFile['counts']) => number} */ of) =>
      side.reduce((total, { run }) => total + of(run.counts), 0);
    return (100 * sum(({ failed, timedOut }) => failed + timedOut)) / sum(({ started }) => started);
  });
  const share = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 2 });
  if (a === 0 && b === 0) return [];
  return [
    `${share.format(a)} % of the operations failed or timed out in BASE, ${share.format(b)} % in CANDIDATE: only a --fail-if compares such counts`,
  ];
}

/** @param {string} name @param {readonly Entry[]} entries */
function environments(name, entries) {
  const [first, ...rest] = entries;
  const value = (/** @type {Entry} */ { run }) => String(run.environment[name] ?? 'not known');
  const other = rest.find((entry) => value(entry) !== value(first));
  return other === undefined ? [] : [`${name} is ${said(value(first), first)} and ${said(value(other), other)}`];
}
