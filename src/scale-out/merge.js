import { createHash } from 'node:crypto';
import { EXIT, IncompleteError, InputError, oneLine, worstExit } from '../errors.js';
import { asJson } from '../stats/merge.js';
import { checkThresholds, thresholdExit } from '../stats/thresholds.js';
import { legible, runFileChecker } from '../studies/run-files.js';
import { checkConsistency, choose, headerOf } from './choose.js';
import { findSources } from './sources.js';
import { Total } from './totals.js';
import { SAME_WINDOW, commonWindow, compareClocks, maxOf, minOf } from './window.js';
import { ranges, some, walletsOf } from './words.js';

/**
 * @import { RunFile, Threshold } from '../types.d.ts'
 * @import { RunHeader, Chosen, Damaged, Wanted as MergeChooseWanted } from './choose.js'
 * @import { Source } from './sources.js'
 * @import { Clocks, Common } from './window.js'
 */

/**
 * Merges the run files of all instances of a run into one run file. Each file is read twice, and one at a time: first
 * to find the files that belong together, their clocks and their common window, then to add up the figures.
 *
 * @typedef {object} Parts
 * @property {Chosen} chosen
 * @property {Clocks} clocks
 * @property {Common} common
 * @property {Total} total
 * @property {ReadonlySet<string>} ofOneInstance keys of configurations that only an instance has: its place, its files
 */

/** @param {Parts} parts */
function mergedRun(parts) {
  const { chosen, clocks, total, ofOneInstance } = parts;
  const { headers, expected, missing, damaged, superseded } = chosen;
  const { window, rates } = total.window.result(total.isOpenLoop);
  const sum = total.result(absentOf(chosen));
  const { skewMs, knownToMs, correctionsMs } = clocks;
  const corrected = (/** @type {'startedAtMs' | 'endedAtMs'} */ name) =>
    headers.map((header, i) => header[name] + correctionsMs[i]);
  const isWhole = damaged.length === 0 && headers.length >= (expected ?? 0);
  const run = asJson({
    ...sum,
    id: idOf(headers),
    startedAt: instant(minOf(corrected('startedAtMs'))),
    endedAt: instant(maxOf(corrected('endedAtMs'))),
    end: endOf(headers),
    partial: !isWhole || headers.some(({ partial }) => partial),
    exitCode: 0,
    config: configOf(sum.config, { total, headers, ofOneInstance }),
    instance: null,
    warnings: warningsOf(parts),
    window,
    rates,
    thresholds: [],
    merged: {
      runId: headers[0].runId,
      expected,
      instances: headers.map((header, i) => instanceOf(header, clocks.offsetsMs[i])),
      missing,
      damaged: damaged.map(({ name, index, why }) => ({ name, index, why })),
      superseded: superseded.map(({ index, attempt, id, counts }) => ({
        index,
        attempt,
        id,
        verified: counts.verified,
      })),
      startSkewMs: startSkewMs(headers, correctionsMs),
      rawStartSkewMs: startSkewMs(headers, null),
      clockSkewMs: skewMs,
      clocksKnownToMs: knownToMs,
      // Intervals are counted as a whole or not at all.
      common:
        window.durationMs > 0 ? { startedAt: window.startedAt, durationMs: window.durationMs, apportioned: 0 } : null,
      warmup: total.grid.warmup,
      unresolved: unresolvedOf(chosen),
    },
  });
  return { ...run, unmeasured: unmeasuredOf(run, sum.unmeasured, clocks) };
}

/** Instances without an audit. @param {Chosen} chosen @returns {string[]} */
function absentOf({ headers, missing, damaged }) {
  const [{ firstOffset, wallets }] = headers;
  const gone = missing.map((index) => {
    return `instance ${index} is missing (${walletsOf({ offset: firstOffset + index * wallets, wallets })})`;
  });
  const unreadable = damaged.filter(({ index }) => index === null || !missing.includes(index));
  return [...gone, ...unreadable.map(({ name, why }) => `${name} is damaged: ${why}`)];
}

/** @param {number} ms */
function instant(ms) {
  return new Date(ms).toISOString();
}

/** Merging the same instances again gives the same id. @param {RunHeader[]} headers */
function idOf(headers) {
  const hash = createHash('sha256');
  for (const { id, endedAtMs } of headers) hash.update(`${id} ${endedAtMs}\n`);
  const hex = hash.digest('hex');
  // In the form of a random UUID.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The worst end: an instance that never ended, then an end that was not planned. @param {RunHeader[]} headers */
function endOf(headers) {
  const ends = headers.map(({ end }) => end);
  return (
    ends.find((end) => end === 'running') ??
    ends.find((end) => !['duration', 'iterations'].includes(end)) ??
    ends.find((end) => end === 'duration') ??
    ends[0]
  );
}

/**
 * The options that one instance with all wallets would have.
 * @param {Record<string, any>} config of one instance
 * @param {{total: Total, headers: RunHeader[], ofOneInstance: ReadonlySet<string>}} parts
 */
function configOf(config, { total: { ratePerSecond }, headers, ofOneInstance }) {
  const names = Object.keys(config).filter((name) => ofOneInstance.has(name));
  const none = Object.fromEntries(names.map((name) => [name, null]));
  const wallets = headers.reduce((sum, header) => sum + header.wallets, 0);
  return {
    ...config,
    ...none,
    threads: wallets,
    offset: minOf(headers.map(({ firstOffset }) => firstOffset)),
    ratePerSecond,
  };
}

/** @param {RunHeader} header @param {number | null} clockOffsetMs */
function instanceOf(header, clockOffsetMs) {
  const { index, attempt, id, host, offset, wallets: threads, windowStartMs, windowEndMs } = header;
  const { partial, end, exitCode, counts, verifiedPerSecond, auditExact, auditResult, auditBlock } = header;
  const durationMs = windowEndMs - windowStartMs;
  const place = { index, attempt, id, host, offset, threads, windowStartedAt: instant(windowStartMs), durationMs };
  const audit = { auditExact, auditResult, auditBlock };
  return { ...place, clockOffsetMs, partial, end, exitCode, counts, verifiedPerSecond, ...audit };
}

/** Between the first and the last start of a window. @param {RunHeader[]} headers @param {number[] | null} correctionsMs null: by their own clocks */
function startSkewMs(headers, correctionsMs) {
  const starts = headers.flatMap(({ windowStartMs, hasLoad }, i) =>
    hasLoad ? windowStartMs + (correctionsMs?.[i] ?? 0) : [],
  );
  return starts.length === 0 ? 0 : maxOf(starts) - minOf(starts);
}

/** Wallets whose last operations are not known. @param {Chosen} chosen */
function unresolvedOf({ headers, missing }) {
  const [{ firstOffset, wallets }] = headers;
  const gone = missing.map((index) => {
    return { index, offset: firstOffset + index * wallets, threads: wallets, inFlight: null, lastKnownAt: null };
  });
  const cut = headers
    .filter(({ partial }) => partial)
    .map(({ index, offset, wallets: threads, inFlight, endedAtMs }) => {
      return { index, offset, threads, inFlight, lastKnownAt: instant(endedAtMs) };
    });
  return [...cut, ...gone].sort((a, b) => a.offset - b.offset);
}

/** @param {Parts} parts */
function warningsOf({ chosen, clocks, common, total }) {
  const { headers } = chosen;
  const warnings = [...total.warnings].map(([words, times]) =>
    headers.length === 1 ? words : `${times} of ${some(headers.length, 'instance')}: ${words}`,
  );
  const wrong = headers.flatMap(({ name, index }, i) => {
    const offsetMs = clocks.offsetsMs[i] ?? 0;
    if (clocks.correctionsMs[i] === 0 || Math.abs(offsetMs) <= clocks.knownToMs / 2) return [];
    const who = index === null ? name : `instance ${index}`;
    return [`the clock of ${who} is ${Math.round(Math.abs(offsetMs))} ms ${offsetMs > 0 ? 'ahead' : 'behind'}`];
  });
  if (wrong.length > 0)
    warnings.push(`${shortened(wrong)}: by the blocks that all saw; its instants were corrected by that`);
  if (total.window.durationMs === 0) warnings.push('the instances have no common window: there are no rates over it');
  else if (common.shares.some((share) => share > 0 && share < SAME_WINDOW)) {
    const least = minOf(common.shares.filter((share) => share > 0));
    warnings.push(
      `the common window is ${Math.round(100 * least)} % of the longest: figures by name and by endpoint in it are estimates`,
    );
  }
  const without = headers.filter((_, i) => common.shares[i] === 0);
  if (total.window.durationMs > 0 && without.length > 0) {
    const names = without.slice(0, 3).map(({ name }) => name);
    warnings.push(`without a window of their own: ${names.join(', ')}`);
  }
  if (chosen.missing.length > 0) warnings.push(`missing: ${ranges(chosen.missing)}`);
  return warnings;
}

/** @param {string[]} words */
function shortened(words) {
  const more = words.length > 5 ? ` and ${words.length - 5} more` : '';
  return `${words.slice(0, 5).join(', ')}${more}`;
}

/**
 * Reasons of null figures: those of the instances, and those of figures that are null only in the merged run.
 * @param {any} run
 * @param {Record<string, string>} reasons of the instances
 * @param {Clocks} clocks
 */
function unmeasuredOf(run, reasons, clocks) {
  const noCommon = 'the instances have no common window';
  const isNone = run.merged.common === null;
  const why = isNone
    ? noCommon
    : "known of whole windows only, and the common window is less than 99 % of an instance's own";
  const all = {
    ...reasons,
    ...(isNone && { '/rates': noCommon, '/merged/common': noCommon }),
    '/rates/acceptedPerSecond': why,
    '/rates/includedPerSecond': why,
    '/rates/achievedPerSecond': why,
    '/window/counts': why,
    ...(clocks.skewMs === null && { '/merged/clockSkewMs': 'no blocks that several instances saw tell their clocks' }),
    '/generator/arrivalSeed': 'arrivals were not random, or instances have seeds of their own',
    '/merged':
      'not known, not given, or none: a run file without an index has no name of its host, a run that did not end has no exit code',
  };
  return Object.fromEntries(
    Object.entries(all).filter(([pointer]) => !pointer.startsWith('/intervals/') && hasNull(at(run, pointer))),
  );
}

/** @param {any} json @param {string} pointer */
function at(json, pointer) {
  return pointer
    .split('/')
    .slice(1)
    .reduce((value, key) => value?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], json);
}

/** @param {any} value @returns {boolean} */
function hasNull(value) {
  if (value === null) return true;
  return typeof value === 'object' && Object.values(value).some(hasNull);
}

/**
 * @typedef {{mayDiffer: ReadonlySet<string>, ofOneInstance: ReadonlySet<string>}} OptionKeys keys of configurations: in
 *   which instances of one run may differ, and that only an instance has
 * @typedef {MergeChooseWanted & {thresholds: readonly Threshold[], options: OptionKeys}} Wanted
 */

/** How many files that are not run files of this run a note names. */
const NAMED = 3;

/**
 * @param {readonly string[]} names of folders, run files and logs; '-' for standard input
 * @param {Wanted} wanted
 * @param {NodeJS.ReadableStream} stdin
 * @returns {Promise<{run: RunFile & {exitCode: number}, notes: string[]}>}
 * @throws {InputError | IncompleteError}
 */
export async function merge(names, wanted, stdin) {
  const checkRunFile = await runFileChecker();
  const sources = await findSources(names, stdin);
  const { headers: found, damaged, foreign } = readAll(sources, checkRunFile, wanted);
  const chosen = chosenOf(found, { damaged, foreign }, wanted);
  const { headers } = chosen;
  const clocks = compareClocks(headers);
  const common = commonWindow(headers, clocks, wanted.allowPartial);
  const total = new Total(headers, clocks.correctionsMs, common);
  // The first one's blocks are used: those of a whole run, and of the longest window.
  const lengthMs = (/** @type {number} */ i) => headers[i].windowEndMs - headers[i].windowStartMs;
  const order = [...headers.keys()].sort(
    (a, b) => Number(headers[a].partial) - Number(headers[b].partial) || lengthMs(b) - lengthMs(a),
  );
  for (const i of order) addTo(total, i, headers[i]);
  const { ofOneInstance } = wanted.options;
  const run = withExitCode(mergedRun({ chosen, clocks, common, total, ofOneInstance }), wanted, headers);
  return { run, notes: [...foreignWords(foreign), ...chosen.notes] };
}

/** @param {Source[]} sources @param {Awaited<ReturnType<typeof runFileChecker>>} checkRunFile @param {Wanted} wanted */
function readAll(sources, checkRunFile, { runId, options: { mayDiffer } }) {
  /** @type {RunHeader[]} */
  const headers = [];
  /** @type {Damaged[]} */
  const damaged = [];
  /** @type {string[]} */
  const foreign = [];
  for (const source of sources) {
    const { name, index, id, isGiven } = source;
    // With --run-id, results of other runs need not be read.
    if (runId !== null && source.runId !== null && source.runId !== runId) continue;
    const { json, damage, foreign: words = damage === undefined ? foreignKind(json) : undefined } = source.read();
    if (damage !== undefined) damaged.push({ name, index, id, runId: source.runId, why: damage });
    else if (words === undefined) {
      const run = checkRunFile(json, name);
      checkConsistency(run, name);
      headers.push(headerOf(run, source, mayDiffer));
    } else if (isGiven) throw new InputError(`${name} is ${words}`);
    else foreign.push(`${name} is ${words}`);
  }
  return { headers, damaged, foreign };
}

/** Files that were left out may be those that are missing, so the error names them. @param {RunHeader[]} found @param {{damaged: Damaged[], foreign: string[]}} others @param {Wanted} wanted */
function chosenOf(found, { damaged, foreign }, wanted) {
  try {
    return choose(found, damaged, wanted);
  } catch (error) {
    if (!(error instanceof IncompleteError) || foreign.length === 0) throw error;
    throw new IncompleteError([error.message, ...foreignWords(foreign)].join('; '));
  }
}

/** @param {any} json @returns {string | undefined} what the file is instead of a run file */
function foreignKind(json) {
  const schema = json?.schema;
  if (typeof schema !== 'string' || !schema.startsWith('evm-stress/run@'))
    return typeof schema === 'string' ? `no run file, but ${oneLine(schema, 60)}` : 'no run file';
  const isMerged = (json.merged ?? null) !== null;
  return isMerged ? 'a merge itself: give the run files that it was made of' : undefined;
}

/** @param {string[]} foreign */
function foreignWords(foreign) {
  if (foreign.length === 0) return [];
  const more = foreign.length > NAMED ? `; and ${foreign.length - NAMED} more` : '';
  return [`left out: ${foreign.slice(0, NAMED).join('; ')}${more}`];
}

/** @param {Total} total @param {number} i @param {RunHeader} header */
function addTo(total, i, header) {
  const { json } = header.source.read();
  if (json?.id !== header.id) throw new InputError(`${header.source.name} was changed while it was read: merge again`);
  legible(header.source.name, () => total.add(json, i));
}

/** @param {any} run @param {Wanted} wanted @param {RunHeader[]} headers @returns {RunFile & {exitCode: number}} */
function withExitCode(run, { thresholds }, headers) {
  const results = checkThresholds(thresholds, run);
  const exitCodes = headers.flatMap(({ exitCode }) => exitCode ?? []);
  const exitCode = worstExit([
    ...exitCodes,
    thresholdExit(results),
    run.audit?.result === 'not_exact' ? EXIT.notExact : EXIT.ok,
    run.counts.verified === 0 ? EXIT.nothingVerified : EXIT.ok,
  ]);
  const config = { ...run.config, thresholds: thresholds.map(({ expression }) => expression) };
  return { ...run, exitCode, config, thresholds: results };
}
