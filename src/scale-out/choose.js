import { isDeepStrictEqual } from 'node:util';
import { IncompleteError, InputError } from '../errors.js';
import { auditResult } from '../stats/audit-result.js';
import { censoredIn } from '../stats/sample.js';
import { settingsOf } from '../studies/metrics.js';
import { ranges, safeWords, shown, some, walletsOf, whichOf } from './words.js';

/**
 * @import { AuditResult, IntervalRow, RunFile } from '../types.d.ts'
 * @import { Source } from './sources.js'
 */

/**
 * Selects the run files of one run: one per instance, none missing, and each consistent in itself.
 *
 * @typedef {object} Damaged a run file that cannot be read
 * @property {string} name
 * @property {number | null} index
 * @property {string | null} id
 * @property {string | null} runId
 * @property {string} why
 *
 * @typedef {object} Chosen
 * @property {RunHeader[]} headers by index, or by slice
 * @property {RunHeader[]} superseded earlier attempts
 * @property {number | null} expected number of instances; null: unknown
 * @property {number[]} missing indexes
 * @property {Damaged[]} damaged damaged files without another copy
 * @property {string[]} notes
 *
 * @typedef {{expect: number | null, runId: string | null, allowPartial: boolean}} Wanted
 */

/** @param {RunHeader[]} found @param {Damaged[]} broken @param {Wanted} wanted @returns {Chosen} */
export function choose(found, broken, wanted) {
  const { headers: ofRun, notes } = ofOneRun(found, wanted.runId);
  const { headers: each, copies } = withoutCopies(ofRun);
  if (copies > 0) notes.push(`${some(copies, 'run file')} were there twice, and count once`);
  const damaged = broken.filter(
    ({ id, runId }) =>
      !each.some((header) => header.id === id) && (wanted.runId === null || (runId ?? wanted.runId) === wanted.runId),
  );
  if (each.length === 0) throw nothingFound(damaged, wanted.expect);
  checkSame(each);
  const { headers, superseded } = lastAttempts(each);
  checkSlices(headers);
  const expected = expectedOf(headers, wanted.expect);
  const missing = missingOf(headers, expected);
  checkWhole({ headers, expected, missing, damaged }, wanted);
  return { headers, superseded, expected, missing, damaged, notes };
}

/** @param {Damaged[]} damaged @param {number | null} expect */
function nothingFound(damaged, expect) {
  if (damaged.length > 0) {
    const [{ name, why }] = damaged;
    const more = damaged.length > 1 ? `, and so are ${damaged.length - 1} more` : '';
    return new IncompleteError(`there is no whole run file: ${name} is damaged: ${why}${more}`);
  }
  const none = 'there is no run file to merge: give the folder of --results, run files, or logs';
  return expect === null
    ? new InputError(none)
    : new IncompleteError(`0 of ${some(expect, 'instance')} are whole; ${none}`);
}

/** @param {RunHeader[]} found @param {string | null} runId */
function ofOneRun(found, runId) {
  const ids = [...new Set(found.map((header) => header.runId))];
  if (runId === null && ids.length <= 1) return { headers: found, notes: /** @type {string[]} */ ([]) };
  if (runId === null) {
    const [first, other] = ids.map((id) => found.find((header) => header.runId === id) ?? found[0]);
    throw new InputError(
      `these are instances of several runs: ${idOf(first)} (${first.name}) and ${idOf(other)} (${other.name})${ids.length > 2 ? ` and ${ids.length - 2} more` : ''}: choose one with --run-id`,
    );
  }
  const headers = found.filter((header) => header.runId === runId);
  if (headers.length === 0 && found.length > 0)
    throw new InputError(
      `no run file is of the run ${shown(runId)}: there ${ids.length === 1 ? 'is' : 'are'} ${
        found.length === 0
          ? 'none'
          : ids
              .map((id) => (id === null ? 'one without a run id' : shown(id)))
              .slice(0, 5)
              .join(', ')
      }`,
    );
  const others = found.length - headers.length;
  return { headers, notes: others === 0 ? [] : [`${some(others, 'run file')} of other runs were left out (--run-id)`] };
}

/** @param {RunHeader} header */
function idOf({ runId }) {
  return runId === null ? 'one without a run id' : shown(runId);
}

/** A run may be in the folder and in the logs: whole files are preferred to partial ones, then later ones. @param {RunHeader[]} all */
function withoutCopies(all) {
  /** @type {Map<string, RunHeader>} */
  const best = new Map();
  for (const header of all) {
    const known = best.get(header.id);
    const isBetter =
      known === undefined ||
      (known.partial && !header.partial) ||
      (known.partial && header.partial && header.endedAtMs > known.endedAtMs);
    if (isBetter) best.set(header.id, header);
  }
  return { headers: [...best.values()], copies: all.length - best.size };
}

/** @param {RunHeader[]} headers @throws {InputError} which names the difference */
function checkSame(headers) {
  const [first, ...rest] = headers;
  for (const other of rest) {
    const difference = differenceOf(first, other);
    if (difference !== null) throw new InputError(`${first.name} and ${other.name} are not of one run: ${difference}`);
  }
}

/** @param {RunHeader} a @param {RunHeader} b @returns {string | null} */
function differenceOf(a, b) {
  if ((a.index === null) !== (b.index === null)) {
    const [indexed, other] = a.index === null ? ['the second', 'the first'] : ['the first', 'the second'];
    return `${indexed} has an index, and ${other} has none`;
  }
  for (const [key, words] of /** @type {const} */ ([
    ['chainId', 'chain id'],
    ['genesisHash', 'genesis block'],
  ]))
    if (!mayBeSame(a.environment[key], b.environment[key]))
      return `the ${words} is ${shown(a.environment[key])} and ${shown(b.environment[key])}`;
  if (a.instances !== b.instances) return `--instances is ${shown(a.instances)} and ${shown(b.instances)}`;
  if (a.index !== null && a.wallets !== b.wallets) return `--threads is ${a.wallets} and ${b.wallets}`;
  if (a.index !== null && a.firstOffset !== b.firstOffset) return `--offset is ${a.firstOffset} and ${b.firstOffset}`;
  for (const name of new Set([...Object.keys(a.settings), ...Object.keys(b.settings)])) {
    const [one, other] = [a.settings[name] ?? null, b.settings[name] ?? null];
    if (!isDeepStrictEqual(one, other)) return `${shown(name)} is ${shown(one)} and ${shown(other)}`;
  }
  if (a.definitions === b.definitions) return null;
  const [of, other] = [a, b].map(({ definitions }) => JSON.parse(definitions));
  const name = Object.keys({ ...of, ...other }).find((key) => of[key] !== other[key]) ?? '';
  return `${shown(name)} is defined differently (stress ${shown(a.environment.stress)} and ${shown(b.environment.stress)})`;
}

/** Unknown for a node without its first block. @param {unknown} a @param {unknown} b */
function mayBeSame(a, b) {
  return a === null || b === null || a === undefined || b === undefined || a === b;
}

/** @param {RunHeader[]} each */
function lastAttempts(each) {
  /** @type {Map<number, RunHeader[]>} */
  const byIndex = new Map();
  for (const header of each) {
    if (header.index === null) continue;
    const others = byIndex.get(header.index) ?? [];
    const duplicate = others.find(({ attempt }) => attempt === header.attempt);
    if (duplicate !== undefined)
      throw new InputError(
        `instance ${header.index} is there twice, with attempt ${header.attempt} and different runs: ${duplicate.source.name} and ${header.source.name}: two instances had one index, or two runs are mixed`,
      );
    byIndex.set(header.index, [...others, header]);
  }
  const attempts = [...byIndex.values()].map((some) => some.sort((a, b) => b.attempt - a.attempt));
  const headers = [...attempts.map(([last]) => last), ...each.filter(({ index }) => index === null)];
  return {
    headers: headers.sort((a, b) => (a.index ?? 0) - (b.index ?? 0) || a.offset - b.offset),
    superseded: attempts.flatMap(([, ...earlier]) => earlier),
  };
}

/** @param {RunHeader[]} headers */
function checkSlices(headers) {
  const sorted = [...headers].sort((a, b) => a.offset - b.offset);
  sorted.forEach((header, i) => {
    const before = sorted[i - 1];
    if (before === undefined || before.offset + before.wallets <= header.offset) return;
    throw new InputError(
      `slices overlap: ${before.name} has ${walletsOf(before)}, ${header.name} ${walletsOf(header)}: these are not instances of one run`,
    );
  });
}

/** @param {RunHeader[]} headers @param {number | null} expect */
function expectedOf(headers, expect) {
  const [{ instances }] = headers;
  if (expect !== null && instances !== null && expect !== instances)
    throw new InputError(`--expect is ${expect}, but the run was told that it has ${some(instances, 'instance')}`);
  const expected = expect ?? instances;
  const beyond = headers.find(({ index }) => expected !== null && (index ?? 0) >= expected);
  if (beyond !== undefined)
    throw new InputError(`${beyond.name} is beyond the ${some(expected ?? 0, 'instance')} that there must be`);
  if (expected !== null && headers.length > expected)
    throw new InputError(`there are ${headers.length} instances, and ${expected} were expected (--expect)`);
  return expected;
}

/** @param {RunHeader[]} headers @param {number | null} expected */
function missingOf(headers, expected) {
  const present = new Set(headers.flatMap(({ index }) => index ?? []));
  if (expected === null || present.size === 0) return [];
  return Array.from({ length: expected }, (_, i) => i).filter((i) => !present.has(i));
}

/** @param {Pick<Chosen, 'headers' | 'expected' | 'missing' | 'damaged'>} chosen @param {Wanted} wanted */
function checkWhole({ headers, expected, missing, damaged }, { allowPartial }) {
  if (allowPartial) return;
  const advice = '--partial merges what is there';
  if (damaged.length > 0) {
    const [{ name, why }] = damaged;
    const more = damaged.length > 1 ? `, and so are ${damaged.length - 1} more` : '';
    throw new IncompleteError(`${name} is damaged: ${why}${more} (${advice})`);
  }
  const partial = headers.filter((header) => header.partial);
  const absent = (expected ?? headers.length) - headers.length;
  if (partial.length === 0 && absent === 0) return;
  const reasons = [
    ...(missing.length > 0 ? [`missing: ${ranges(missing)}`] : []),
    ...(missing.length === 0 && absent > 0 ? [`${absent} missing, which have no index to be named by`] : []),
    ...(partial.length > 0 ? [`ended before their runs did: ${whichOf(partial)}`] : []),
  ];
  const whole = headers.length - partial.length;
  throw new IncompleteError(
    `${whole} of ${some(expected ?? headers.length, 'instance')} are whole; ${reasons.join('; ')} (${advice})`,
  );
}

/**
 * The facts of a run file that are kept while the others are read.
 *
 * @typedef {object} RunHeader
 * @property {Source} source
 * @property {string} name for messages: index, if any, and source
 * @property {string} id
 * @property {string | null} runId
 * @property {number | null} index
 * @property {number | null} instances by option
 * @property {number} attempt
 * @property {string | null} host
 * @property {number} offset of its first wallet
 * @property {number} wallets
 * @property {number} firstOffset of the first wallet of all instances
 * @property {Record<string, unknown>} settings that must be equal in all instances
 * @property {string} definitions
 * @property {Record<string, unknown>} environment
 * @property {number} startedAtMs time of day by its own clock, like the following
 * @property {number} endedAtMs
 * @property {number} loadStartMs
 * @property {number} windowStartMs
 * @property {number} windowEndMs
 * @property {boolean} hasLoad it has a window with at least one row
 * @property {number} resolutionMs how late it may see a block
 * @property {number} intervalMs length of its intervals
 * @property {boolean} partial
 * @property {string} end
 * @property {number | null} exitCode
 * @property {RunFile['counts']} counts
 * @property {number} inFlight
 * @property {number | null} verifiedPerSecond
 * @property {boolean | null} auditExact
 * @property {AuditResult | null} auditResult
 * @property {number | null} auditBlock
 * @property {Float64Array} blocks of each interval: first number, last number, least skew in ms
 */

/**
 * @param {RunFile} run
 * @param {Source} source
 * @param {ReadonlySet<string>} mayDiffer keys of configurations in which instances of one run may differ
 * @returns {RunHeader}
 */
export function headerOf(run, source, mayDiffer) {
  const { config, window, intervals, audit } = run;
  const instance = /** @type {Record<string, any>} */ (/** @type {any} */ (run).instance ?? {});
  const { runId = null, index = null, instances = null, attempt = 0, host = null } = instance;
  const windowStartMs = Date.parse(window.startedAt);
  const report = /** @type {{exact: boolean, blockNumber: number} | null} */ (audit);
  const name = index === null || source.index !== null ? source.name : `instance ${index} (${source.name})`;
  return {
    source,
    name,
    id: run.id,
    runId,
    index,
    instances,
    attempt,
    offset: instance.offset ?? Number(config.offset),
    wallets: Number(config.threads),
    host: host === null ? null : safeWords(host),
    firstOffset: Number(config.offset),
    settings: bindingSettings(run, mayDiffer),
    definitions: JSON.stringify(run.definitions),
    environment: run.environment,
    startedAtMs: Date.parse(run.startedAt),
    endedAtMs: Date.parse(run.endedAt),
    loadStartMs: loadStartOf(run),
    hasLoad: window.durationMs > 0 && intervals.some(({ phase }) => phase === 'load'),
    resolutionMs: run.generator.inclusionResolutionMs ?? 0,
    windowStartMs,
    windowEndMs: windowStartMs + window.durationMs,
    intervalMs: intervalMsOf(run),
    partial: run.partial,
    end: run.end,
    exitCode: run.exitCode,
    counts: run.counts,
    inFlight: run.inFlight,
    verifiedPerSecond: run.rates.verifiedPerSecond,
    blocks: blocksOf(run),
    auditExact: report?.exact ?? null,
    auditResult: auditResult(run),
    auditBlock: report?.blockNumber ?? null,
  };
}

/** Time of day. A run that ended in its warm-up has an empty window at its end. @param {RunFile} run */
export function loadStartOf({ window, intervals }) {
  const firstLoad = intervals.find(({ phase }) => phase === 'load');
  const lastWarmup = intervals.filter(({ phase }) => phase === 'warmup').at(-1);
  return Date.parse(window.startedAt) - (firstLoad?.startMs ?? lastWarmup?.endMs ?? 0);
}

/** @param {RunFile} run @param {ReadonlySet<string>} mayDiffer */
function bindingSettings(run, mayDiffer) {
  // Calls files of one name may differ.
  const callsHash = /** @type {any} */ (run.environment).workload?.callsHash ?? null;
  return { ...settingsOf(run, mayDiffer), ...(callsHash === null ? {} : { 'what --calls says': callsHash }) };
}

/** Long runs have merged rows, whose length is a multiple of the option's. @param {RunFile} run */
function intervalMsOf({ config, intervals }) {
  const lengths = intervals
    .filter(({ phase }) => phase === 'load')
    .map(({ startMs, endMs }) => endMs - startMs)
    .sort((a, b) => a - b);
  const asked = Number(config.intervalMs);
  const middle = lengths[Math.floor(lengths.length / 2)] ?? asked;
  return asked * 2 ** Math.max(0, Math.round(Math.log2(middle / asked)));
}

/** @param {RunFile} run */
function blocksOf({ intervals }) {
  const seen = intervals.flatMap(({ blocks: { firstNumber, lastNumber, skewMinMs } }) =>
    firstNumber === null || lastNumber === null || skewMinMs === null ? [] : [firstNumber, lastNumber, skewMinMs],
  );
  return Float64Array.from(seen);
}

/** Rows of worker threads may overlap this much. */
const OVERLAP_MS = 1000;
/** Rounding, and a report after the end. */
const ALLOWANCE_MS = 5000;

const BY_INSTANT = Object.freeze(
  /** @type {const} */ (['scheduled', 'dropped', 'started', 'verified', 'failed', 'timedOut']),
);

/**
 * Checks that figures which a run file has in several places agree: a merge would hide a wrong one in its sums.
 * @param {RunFile} run
 * @param {string} name of its file
 * @param {number} loadStartMs
 * @throws {InputError} which names the figure
 */
export function checkConsistency(run, name, loadStartMs) {
  const wrong = rowsWords(run, loadStartMs) ?? windowWords(run) ?? countsWords(run) ?? distributionWords(run);
  if (wrong !== null) throw new InputError(`${name} contradicts itself: ${wrong}`);
}

/** @param {RunFile} run @param {number} loadStartMs @returns {string | null} */
function rowsWords({ intervals, endedAt }, loadStartMs) {
  const longestMs = Date.parse(endedAt) - loadStartMs + ALLOWANCE_MS;
  let lastMs = 0;
  for (const [i, { startMs, endMs, counts, latency, lag }] of intervals.entries()) {
    if (!(startMs <= endMs)) return `intervals/${i} ends before it begins`;
    if (!(startMs >= lastMs - OVERLAP_MS)) return `intervals/${i} begins before the one before it ends`;
    if (!(endMs <= longestMs)) return `intervals/${i} ends after the run did`;
    if (latency.count !== counts.verified || lag.count !== counts.scheduled)
      return `intervals/${i} has other counts than its distributions`;
    lastMs = endMs;
  }
  return null;
}

/** @param {RunFile} run @returns {string | null} */
function windowWords({ window, startedAt, endedAt }) {
  const elapsedMs = Date.parse(endedAt) - Date.parse(startedAt);
  if (!(window.durationMs >= 0 && window.durationMs <= elapsedMs + ALLOWANCE_MS))
    return `window/durationMs is ${window.durationMs}, and from startedAt to endedAt it is ${elapsedMs} ms`;
  return null;
}

/** @param {RunFile} run @returns {string | null} */
function countsWords(run) {
  const { counts, window, intervals, audit, partial, end } = run;
  const { scheduled, dropped, started, verified, failed, timedOut, abandoned } = counts;
  if (scheduled !== dropped + started) return 'counts/scheduled is not dropped + started';
  if (run.inFlight !== started - verified - failed - timedOut - abandoned)
    return 'inFlight is not what was started and has not ended';
  for (const name of BY_INSTANT)
    if (window.counts[name] > counts[name])
      return `window/counts/${name} is ${window.counts[name]}, and counts/${name} ${counts[name]}`;
  // After an internal error or the loss of a worker the figures differ; the run's exit code says so.
  if (end === 'internal') return null;
  const sums = sumsOf(intervals);
  for (const [name, count] of Object.entries(counts)) {
    const sum = sums[/** @type {keyof typeof counts} */ (name)];
    if (partial ? sum > count : sum !== count) return `counts/${name} is ${count}, and intervals have ${sum}`;
  }
  const report = /** @type {{verified: number} | null} */ (audit);
  if (report !== null && report.verified !== verified)
    return `audit/verified is ${report.verified}, and counts/verified ${verified}`;
  return partial ? null : loadWords(run);
}

/**
 * Events of the window are counted in its rows or, if reported late, in later rows. Likewise the first rows of the load
 * may have events of the warm-up.
 * @param {RunFile} run @returns {string | null}
 */
function loadWords({ window, intervals }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  const later = sumsOf(intervals.filter(({ phase }) => phase !== 'warmup'));
  const certain = sumsOf(load.slice(intervals[0]?.phase === 'warmup' ? 2 : 0));
  for (const name of BY_INSTANT) {
    const count = window.counts[name];
    if (count < certain[name] || count > later[name])
      return `window/counts/${name} is ${count}, and intervals have ${sumsOf(load)[name]} in the window`;
  }
  return null;
}

/** @param {IntervalRow[]} rows */
function sumsOf(rows) {
  const sums = { scheduled: 0, dropped: 0, started: 0, verified: 0, failed: 0, timedOut: 0, abandoned: 0 };
  for (const { counts } of rows)
    for (const name of /** @type {Array<keyof typeof sums>} */ (Object.keys(sums))) sums[name] += counts[name];
  return sums;
}

/** A distribution cannot have more values than operations. @param {RunFile} run @returns {string | null} */
function distributionWords({ counts, failures, window, latency, lag, byName, byEndpoint }) {
  const { total, fromStart, timedOut, censored = timedOut, stages } = latency;
  const ended = counts.verified + censoredIn({ counts, failures });
  if (lag.count !== window.counts.scheduled)
    return `lag/count is ${lag.count}, and window/counts/scheduled ${window.counts.scheduled}`;
  const groups = Object.values({ ...(byName ?? {}) }).concat(Object.values(byEndpoint ?? {}));
  const ofGroups = groups.flatMap((group) => [group.latency, group.censored ?? []].flat());
  const most = [total, fromStart, timedOut, censored, ...Object.values(stages), ...ofGroups].reduce((a, b) =>
    b.count > a.count ? b : a,
  );
  if (most.count > ended)
    return `a distribution has ${some(most.count, 'value')}, and ${some(ended, 'operation')} were verified or ran out of time`;
  return fromStart.count === total.count ? null : 'latency/fromStart/count is not latency/total/count';
}
