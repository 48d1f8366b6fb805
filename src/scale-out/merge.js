import { createHash } from 'node:crypto';
import { IncompleteError, InputError } from '../errors.js';
import { auditGaps, auditResult } from '../stats/audit-result.js';
import { reasonOf } from '../stats/figures.js';
import { addUp, asJson } from '../stats/merge.js';
import { dueMs } from '../stats/observed.js';
import { conclude } from '../stats/run-file.js';
import { zeroCounts } from '../stats/stats.js';
import { asMembers, computed, orUnknown, product, ratio, sum, unknown } from '../stats/unknown.js';
import { VERDICTS } from '../stats/verdict.js';
import { checker, legible } from '../studies/run-files.js';
import { partOf, percent } from '../text.js';
import { checkConservation, choose, headerOf, listed, missingWords, unnamedWords, walletsOf } from './choose.js';
import { findSources } from './sources.js';
import { OTHER_WINDOW, Total } from './totals.js';
import { SAME_WINDOW, commonWindow, compareClocks, maxOf, minOf } from './window.js';

/**
 * @import { AuditReport, IntervalRow, MergedInstance, RunConfig, RunFile, Threshold, Unknown, Verdict, WithUnknown } from '../contracts/run-file.d.ts'
 * @import { Chosen, Damaged, RunHeader, Selection } from './choose.js'
 * @import { Source } from './sources.js'
 * @import { Clocks, Common } from './window.js'
 */

/**
 * Merges the run files of all instances of a run into one run file. Each file is read twice, and one at a time: first
 * to find the files that belong together, their clocks and their common window, then to add up the figures.
 *
 * @typedef {{mayDiffer: ReadonlySet<string>, ofOneInstance: ReadonlySet<string>}} OptionKeys keys of configurations: in
 *   which instances of one run may differ, and that only an instance has
 * @typedef {Selection & {thresholds: readonly Threshold[], options: OptionKeys}} MergeRequest
 *
 * @typedef {object} Parts
 * @property {Chosen} chosen
 * @property {Clocks} clocks
 * @property {Common} common
 * @property {Total} total
 */

/** Limits of different warnings, of reasons why an audit is incomplete, and of names in a message. */
const LISTED = Object.freeze({ warnings: 20, gaps: 100, clocks: 5, names: 3 });

/**
 * @param {readonly string[]} names of folders, run files and logs; '-' for standard input
 * @param {MergeRequest} wanted
 * @param {NodeJS.ReadableStream} stdin
 * @returns {Promise<{run: RunFile & {exitCode: number}, notes: string[]}>}
 * @throws {InputError | IncompleteError}
 */
export async function merge(names, wanted, stdin) {
  const checkRunFile = await checker('run');
  return mergeSources(await findSources(names, stdin), wanted, checkRunFile);
}

/** @param {Source[]} sources @param {MergeRequest} wanted @param {(json: any, name: string) => RunFile} checkRunFile @throws {InputError | IncompleteError} */
export function mergeSources(sources, wanted, checkRunFile) {
  const { headers: found, damaged, foreign } = readAll(sources, checkRunFile, wanted);
  const others = foreign.length === 0 ? [] : [`left out: ${listed(foreign, LISTED.names)}`];
  const chosen = chosenOf(found, damaged, { wanted, others });
  const { headers } = chosen;
  const clocks = compareClocks(headers);
  const common = commonWindow(headers, clocks, wanted.allowPartial);
  const total = new Total(headers, clocks.correctionsMs, common);
  // The first one's blocks are used: those of a whole run, and of the longest window.
  const lengthMs = (/** @type {number} */ i) => headers[i].windowEndMs - headers[i].windowStartMs;
  const order = [...headers.keys()].sort(
    (a, b) => Number(headers[a].run.partial) - Number(headers[b].run.partial) || lengthMs(b) - lengthMs(a),
  );
  for (const i of order) addTo(total, i, headers[i]);
  const run = mergedRun({ chosen, clocks, common, total }, wanted);
  const exitCodes = headers.flatMap((header) => header.run.exitCode ?? []);
  return { run: conclude(run, wanted.thresholds, exitCodes), notes: [...others, ...chosen.notes] };
}

/** @param {Source[]} sources @param {(json: any, name: string) => RunFile} checkRunFile @param {MergeRequest} wanted */
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
      checkConservation(run, name);
      headers.push(headerOf(run, source, mayDiffer));
    } else if (isGiven) throw new InputError(`${name} is ${words}`);
    else foreign.push(`${name} is ${words}`);
  }
  return { headers, damaged, foreign };
}

/** @param {any} json @returns {string | undefined} what the file is instead of a run file */
function foreignKind(json) {
  if (!String(json?.schema).startsWith('evm-stress/run@')) return 'no run file';
  const isMerged = (json.merged ?? null) !== null;
  return isMerged ? 'a merge itself: give the run files that it was made of' : undefined;
}

/** An error names the files that were left out: they may contain the missing instances. @param {RunHeader[]} found @param {Damaged[]} damaged @param {{wanted: MergeRequest, others: string[]}} given */
function chosenOf(found, damaged, { wanted, others }) {
  try {
    return choose(found, damaged, wanted);
  } catch (error) {
    throw error instanceof IncompleteError ? new IncompleteError([error.message, ...others].join('; ')) : error;
  }
}

/** @param {Total} total @param {number} i @param {RunHeader} header */
function addTo(total, i, { source: { name, read }, run: { id, endedAt } }) {
  const { json } = read();
  // The second reading relies on the checks of the first.
  if (json?.id !== id || json.endedAt !== endedAt)
    throw new InputError(`${name} was changed while it was read: merge again`);
  legible(name, () => total.add(json, i));
}

/** @param {Parts} parts @param {MergeRequest} wanted @returns {RunFile} */
function mergedRun(parts, { options: { ofOneInstance }, thresholds }) {
  const { chosen, clocks, common, total } = parts;
  const { headers, expected, missing, damaged, superseded } = chosen;
  const { environment, generator, audit, byStage, ...members } = total.sum;
  const corrected = (/** @type {'startedAtMs' | 'endedAtMs'} */ name) =>
    headers.map((header, i) => header[name] + clocks.correctionsMs[i]);
  const isWhole = damaged.length === 0 && headers.length >= (expected ?? 0);
  const intervals = total.grid.rows();
  const { verified } = countsOf(intervals, 'load').counts;
  const { window, rates, unmeasured } = windowOf(parts);
  /** @type {RunFile} */
  const run = asJson({
    ...members,
    ...(headers.every((header) => header.run.byStage !== undefined) && { byStage }),
    id: idOf(headers),
    startedAt: instant(minOf(corrected('startedAtMs'))),
    endedAt: instant(maxOf(corrected('endedAtMs'))),
    end: endOf(headers),
    partial: !isWhole || headers.some((header) => header.run.partial),
    exitCode: null,
    config: {
      ...configOf(members.config, headers, ofOneInstance),
      thresholds: thresholds.map(({ expression }) => expression),
    },
    instance: null,
    environment: { ...environment, ...(total.endpoints.length > 0 && { endpoints: total.endpoints }) },
    warnings: warningsOf(parts),
    window,
    rates,
    intervals,
    series: total.grid.series.toJSON(),
    generator: { ...generator, cpuUsPerVerified: verified > 0 ? generator.cpuUs / verified || null : null },
    audit: audit && { ...audit, ...auditOf(chosen) },
    verdict: commonVerdict(headers.map((header) => header.run.verdict)),
    thresholds: [],
    merged: {
      runId: headers[0].runId,
      expected,
      instances: headers.map((header, i) => instanceOf(header, clocks.offsetsMs[i])),
      missing,
      damaged: damaged.map(({ name, index, why }) => ({ name, index, why })),
      superseded: superseded.map(({ index, attempt, run: { id, counts } }) => {
        return { index, attempt, id, verified: counts.verified };
      }),
      startSkewMs: startSkewMs(headers, clocks.correctionsMs),
      rawStartSkewMs: startSkewMs(headers, null),
      clockSkewMs: clocks.skewMs,
      clocksKnownToMs: clocks.knownToMs,
      // Intervals count as a whole or not at all: window.durationMs is the sum of their lengths.
      common:
        window.durationMs > 0
          ? { startedAt: window.startedAt, durationMs: common.endMs - common.startMs, apportioned: 0 }
          : null,
      warmup: countsOf(intervals, 'warmup'),
      unresolved: unresolvedOf(chosen),
    },
  });
  return { ...run, unmeasured: unmeasuredOf(run, { ...members.unmeasured, ...unmeasured }, clocks) };
}

/** @param {IntervalRow[]} intervals @param {IntervalRow['phase']} phase */
function countsOf(intervals, phase) {
  const rows = intervals.filter((row) => row.phase === phase);
  return {
    counts: rows.reduce((sum, { counts }) => addUp(sum, counts), zeroCounts()),
    failures: rows.reduce((sum, { failures }) => addUp(sum, failures), {}),
  };
}

/** Counts that no interval has are known of whole windows only, and scaled to the common one. @param {Parts} parts */
function windowOf({ chosen: { headers }, common: { startMs, endMs, shares, known }, total }) {
  const { counts, spread, durationMs } = total.window;
  const { scheduled, dropped, started, verified, failed, timedOut } = counts;
  const isSame = shares.every((share) => share === 0 || share >= SAME_WINDOW);
  const scaled = (/** @type {(header: RunHeader) => number | null} */ of) => {
    if (!isSame) return unknown(OTHER_WINDOW);
    const own = headers.flatMap((header, i) =>
      shares[i] > 0 ? product(shares[i], orUnknown(of(header), OTHER_WINDOW)) : [],
    );
    return computed(Math.round, sum(...own));
  };
  const accepted = scaled(({ run }) => run.window.counts.accepted);
  const included = scaled(({ run }) => run.window.counts.included);
  const none = startMs === endMs ? NO_COMMON : 'the common window has no length';
  const rate = (/** @type {number | Unknown} */ count, lengthMs = durationMs) =>
    lengthMs <= 0 ? unknown(none) : ratio(product(1000, count), lengthMs, none);
  const due = dueMs(durationMs, total.sum);
  const spreadMs = known.endMs - startMs;
  const spreadRate = (/** @type {number | Unknown} */ amount) => ratio(product(1000, amount), spreadMs, none);
  const isOpenLoop = headers.some(({ run }) => run.rates.askedPerSecond !== null);
  const dueRate = (/** @type {number | Unknown} */ count) =>
    isOpenLoop ? rate(count, due) : unknown(reasonOf(headers[0].run, '/rates/askedPerSecond'));
  /** @type {WithUnknown<Pick<RunFile, 'window' | 'rates'>>} */
  const figures = {
    window: {
      startedAt: instant(startMs),
      durationMs,
      counts: { scheduled, dropped, started, accepted, included, verified, failed, timedOut },
    },
    rates: {
      askedPerSecond: dueRate(scheduled),
      achievedPerSecond: dueRate(scaled(({ achieved }) => achieved)),
      attemptedPerSecond: rate(started),
      acceptedPerSecond: rate(accepted),
      includedPerSecond: spreadRate(spread.included),
      verifiedPerSecond: spreadRate(spread.verified),
      chainGasPerSecond: spreadRate(spread.gas),
      spreadMs,
    },
  };
  const { members, unmeasured } = asMembers(figures);
  return { ...members, unmeasured };
}

const NO_COMMON = 'the instances have no common window';

const instant = (/** @type {number} */ ms) => new Date(ms).toISOString();

/** Merging the same instances again gives the same id. @param {RunHeader[]} headers */
function idOf(headers) {
  const hash = createHash('sha256');
  for (const { run, endedAtMs } of headers) hash.update(`${run.id} ${endedAtMs}\n`);
  const hex = hash.digest('hex');
  // In the form of a random UUID.
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The worst end: an instance that never ended, then an end that was not planned. @param {RunHeader[]} headers */
function endOf(headers) {
  const ends = headers.map(({ run }) => run.end);
  const unplanned = ends.find((end) => !['duration', 'iterations'].includes(end));
  return ends.find((end) => end === 'running') ?? unplanned ?? ends.find((end) => end === 'duration') ?? ends[0];
}

/**
 * The options that one instance with all wallets would have.
 * @param {RunConfig} config of one instance
 * @param {RunHeader[]} headers
 * @param {ReadonlySet<string>} ofOneInstance
 */
function configOf(config, headers, ofOneInstance) {
  const names = Object.keys(config).filter((name) => ofOneInstance.has(name));
  /** @param {'ratePerSecond' | 'gasPerSecond'} name */
  const added = (name) => {
    const rates = headers.flatMap(({ run }) => run.config[name] ?? []);
    return rates.length === 0 ? null : rates.reduce((a, b) => a + b);
  };
  return {
    ...config,
    ...Object.fromEntries(names.map((name) => [name, null])),
    threads: headers.reduce((sum, { wallets }) => sum + wallets, 0),
    offset: minOf(headers.map(({ firstOffset }) => firstOffset)),
    ratePerSecond: added('ratePerSecond'),
    gasPerSecond: added('gasPerSecond'),
  };
}

/** What could not be checked: no audit of an instance that is missing or damaged, or gaps of others. @param {Chosen} chosen @returns {Pick<AuditReport, 'exact' | 'result' | 'incomplete'>} */
function auditOf(chosen) {
  const { headers, missing, damaged } = chosen;
  const [{ firstOffset, wallets }] = headers;
  const gaps = [
    ...missing.map((index) => {
      return `instance ${index} is missing (${walletsOf({ offset: firstOffset + index * wallets, wallets })})`;
    }),
    ...unnamedWords(chosen),
    ...damaged
      .filter(({ index }) => index === null || !missing.includes(index))
      .map(({ name, why }) => `${name} is damaged: ${why}`),
    ...headers
      .filter(({ run }) => run.partial || auditResult(run) === 'incomplete')
      .flatMap((header) => auditGaps(header.run).map((words) => `${nameOf(header)} (${walletsOf(header)}): ${words}`)),
  ];
  const isWrong = headers.some(({ run }) => auditResult(run) === 'not_exact');
  const result = isWrong ? 'not_exact' : gaps.length > 0 ? 'incomplete' : 'exact';
  return { exact: result === 'exact', result, incomplete: gaps.slice(0, LISTED.gaps) };
}

/** @param {RunHeader} header */
function nameOf({ index, name }) {
  return index === null ? name : `instance ${index}`;
}

/** The verdict that most instances have, and how many have others: no instance can see what limits all of them together. @param {Array<Verdict | null>} verdicts @returns {Verdict | null} */
export function commonVerdict(verdicts) {
  const timesOf = (/** @type {string | undefined} */ name) => verdicts.filter((one) => one?.name === name).length;
  const names = VERDICTS.filter((name) => timesOf(name) > 0);
  if (names.length === 0) return null;
  const most = names.reduce((a, b) => (timesOf(b) > timesOf(a) ? b : a));
  const others = names.filter((name) => name !== most).map((name) => `, ${timesOf(name)} ${name}`);
  const without = timesOf(undefined) > 0 ? `, ${timesOf(undefined)} without a verdict` : '';
  const evidence = verdicts.find((one) => one?.name === most)?.evidence;
  return {
    name: most,
    evidence: `reported by ${partOf(timesOf(most), verdicts.length, 'instance')}${others.join('')}${without}; the first: ${evidence}`,
  };
}

/** @param {RunHeader} header @param {number | null} clockOffsetMs @returns {MergedInstance} */
function instanceOf({ run, ...header }, clockOffsetMs) {
  const { index, attempt, host, offset, wallets: threads, windowStartMs } = header;
  const { id, partial, end, exitCode, counts, audit } = run;
  return {
    ...{ index, attempt, id, host, offset, threads },
    windowStartedAt: instant(windowStartMs),
    durationMs: header.windowEndMs - windowStartMs,
    ...{ clockOffsetMs, partial, end, exitCode, counts },
    verifiedPerSecond: run.rates.verifiedPerSecond,
    auditExact: audit?.exact ?? null,
    auditResult: auditResult(run),
    auditBlock: audit?.blockNumber ?? null,
  };
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
    .filter(({ run }) => run.partial)
    .map(({ index, offset, wallets: threads, run }) => {
      return { index, offset, threads, inFlight: run.inFlight, lastKnownAt: run.endedAt };
    });
  return [...cut, ...gone].sort((a, b) => a.offset - b.offset);
}

/** @param {Parts} parts */
function warningsOf({ chosen, clocks, common: { shares }, total }) {
  const { headers } = chosen;
  /** @type {Map<string, number>} */
  const times = new Map();
  for (const words of headers.flatMap(({ run }) => run.warnings))
    if (times.has(words) || times.size < LISTED.warnings) times.set(words, (times.get(words) ?? 0) + 1);
  const warnings = [...times].map(([words, count]) =>
    headers.length === 1 ? words : `${partOf(count, headers.length, 'instance')}: ${words}`,
  );
  const wrong = headers.flatMap((header, i) => {
    const offsetMs = clocks.offsetsMs[i] ?? 0;
    if (clocks.correctionsMs[i] === 0 || Math.abs(offsetMs) <= clocks.knownToMs / 2) return [];
    return `the clock of ${nameOf(header)} is ${Math.round(Math.abs(offsetMs))} ms ${offsetMs > 0 ? 'ahead' : 'behind'}`;
  });
  if (wrong.length > 0)
    warnings.push(`${listed(wrong, LISTED.clocks)}: measured by the blocks that all instances saw, and corrected`);
  const known = shares.filter((share) => share > 0);
  const without = headers.filter((_, i) => shares[i] === 0).map(({ name }) => name);
  if (total.window.durationMs === 0) warnings.push('the instances have no common window: there are no rates over it');
  else {
    if (minOf(known) < SAME_WINDOW)
      warnings.push(
        `the common window is ${percent(minOf(known))} of the longest: figures by name and by endpoint in it are estimates`,
      );
    if (without.length > 0) warnings.push(`without a measured window: ${listed(without, LISTED.names)}`);
  }
  return [...warnings, ...missingWords(chosen)];
}

/**
 * Reasons of null figures: those of the instances, and those of figures that are null only in the merged run.
 * @param {RunFile} run
 * @param {Record<string, string>} reasons of the instances
 * @param {Clocks} clocks
 */
function unmeasuredOf(run, reasons, clocks) {
  const all = {
    ...reasons,
    ...(!run.merged?.common && { '/merged/common': NO_COMMON }),
    ...(clocks.skewMs === null && {
      '/merged/clockSkewMs': 'no block was seen by several instances, so their clocks cannot be compared',
    }),
    '/generator/arrivalSeed': 'arrivals were not random, or each instance has its own seed',
    '/merged':
      'not known or not given: a run file without an index has no host name, a run that did not end has no exit code',
  };
  return Object.fromEntries(
    Object.entries(all).filter(([pointer]) => !pointer.startsWith('/intervals/') && hasNull(at(run, pointer))),
  );
}

/** @param {any} json @param {string} pointer */
function at(json, pointer) {
  const keys = pointer.split('/').slice(1);
  return keys.reduce((value, key) => value?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], json);
}

/** @param {any} value @returns {boolean} */
function hasNull(value) {
  return value === null || (typeof value === 'object' && Object.values(value).some(hasNull));
}
