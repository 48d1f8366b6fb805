import { isDeepStrictEqual } from 'node:util';
import { IncompleteError, InputError } from '../errors.js';
import { auditResult } from '../stats/audit-result.js';
import { addUp } from '../stats/merge.js';
import { censoredIn } from '../stats/sample.js';
import { zeroCounts } from '../stats/stats.js';
import { settingsOf } from '../studies/metrics.js';
import { ranges, safeWords, shown, some, walletsOf, whichOf } from './words.js';

/**
 * @import { AuditReport, Counts, InstanceFacts, RunFile } from '../types.d.ts'
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
 * @typedef {ReturnType<typeof choose>} Chosen
 * @typedef {ReturnType<typeof headerOf>} RunHeader
 * @typedef {{expect: number | null, runId: string | null, allowPartial: boolean}} Wanted
 */

/** @param {RunHeader[]} found @param {Damaged[]} broken @param {Wanted} wanted */
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
  if (damaged.length > 0) return new IncompleteError(`there is no whole run file: ${damagedWords(damaged)}`);
  const none = 'there is no run file to merge: give the folder of --results, run files, or logs';
  return expect === null
    ? new InputError(none)
    : new IncompleteError(`0 of ${some(expect, 'instance')} are whole; ${none}`);
}

/** @param {Damaged[]} damaged */
function damagedWords([{ name, why }, ...others]) {
  return `${name} is damaged: ${why}${others.length > 0 ? `, and so are ${others.length} more` : ''}`;
}

/** @param {RunHeader[]} found @param {string | null} runId */
function ofOneRun(found, runId) {
  const nameOf = (/** @type {string | null} */ id) => (id === null ? 'one without a run id' : shown(id));
  const [first, other, ...others] = found.filter(
    (header, i) => found.findIndex((one) => one.runId === header.runId) === i,
  );
  if (runId === null && other !== undefined)
    throw new InputError(
      `these are instances of several runs: ${nameOf(first.runId)} (${first.name}) and ${nameOf(other.runId)} (${other.name})${others.length > 0 ? ` and ${others.length} more` : ''}: choose one with --run-id`,
    );
  const headers = runId === null ? found : found.filter((header) => header.runId === runId);
  if (headers.length === 0 && found.length > 0)
    throw new InputError(`no run file is of the run ${shown(runId)}; the first is of ${nameOf(first.runId)}`);
  const left = found.length - headers.length;
  return { headers, notes: left === 0 ? [] : [`${some(left, 'run file')} of other runs were left out (--run-id)`] };
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
      return `the ${words} is ${shortened(a.environment[key])} and ${shortened(b.environment[key])}`;
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

/** A whole hash would be masked like a key. @param {unknown} value */
function shortened(value) {
  return typeof value === 'string' && value.length > 10 ? `${shown(value.slice(0, 10))}...` : shown(value);
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

/** @param {{headers: RunHeader[], expected: number | null, missing: number[], damaged: Damaged[]}} chosen @param {Wanted} wanted */
function checkWhole({ headers, expected, missing, damaged }, { allowPartial }) {
  if (allowPartial) return;
  const advice = '--partial merges what is there';
  if (damaged.length > 0) throw new IncompleteError(`${damagedWords(damaged)} (${advice})`);
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
 * @param {RunFile} run
 * @param {Source} source
 * @param {ReadonlySet<string>} mayDiffer keys of configurations in which instances of one run may differ
 */
export function headerOf(run, source, mayDiffer) {
  const { id, config, window, intervals, partial, end, exitCode, counts, inFlight, definitions, environment } = run;
  const instance = /** @type {Partial<InstanceFacts>} */ (run.instance ?? {});
  const { runId = null, index = null, instances = null, attempt = 0, host = null } = instance;
  const windowStartMs = Date.parse(window.startedAt);
  const audit = /** @type {AuditReport | null} */ (run.audit);
  // Calls files of one name may differ.
  const callsHash = /** @type {any} */ (environment).workload?.callsHash ?? null;
  return {
    source,
    name: index === null || source.index !== null ? source.name : `instance ${index} (${source.name})`,
    id,
    runId,
    index,
    instances,
    attempt,
    offset: instance.offset ?? Number(config.offset),
    wallets: Number(config.threads),
    host: host === null ? null : safeWords(host),
    firstOffset: Number(config.offset),
    settings: /** @type {Record<string, unknown>} */ ({
      ...settingsOf(run, mayDiffer),
      ...(callsHash === null ? {} : { 'what --calls says': callsHash }),
    }),
    definitions: JSON.stringify(definitions),
    environment,
    startedAtMs: Date.parse(run.startedAt),
    endedAtMs: Date.parse(run.endedAt),
    loadStartMs: loadStartOf(run),
    hasLoad: window.durationMs > 0 && intervals.some(({ phase }) => phase === 'load'),
    resolutionMs: run.generator.inclusionResolutionMs ?? 0,
    windowStartMs,
    windowEndMs: windowStartMs + window.durationMs,
    intervalMs: intervalMsOf(run),
    partial,
    end,
    exitCode,
    counts,
    inFlight,
    verifiedPerSecond: run.rates.verifiedPerSecond,
    auditExact: audit?.exact ?? null,
    auditResult: auditResult(run),
    auditBlock: audit?.blockNumber ?? null,
    blocks: blocksOf(run),
  };
}

/** Time of day. A run that ended in its warm-up has an empty window at its end. @param {RunFile} run */
function loadStartOf({ window, intervals }) {
  const firstLoad = intervals.find(({ phase }) => phase === 'load');
  const lastWarmup = intervals.findLast(({ phase }) => phase === 'warmup');
  return Date.parse(window.startedAt) - (firstLoad?.startMs ?? lastWarmup?.endMs ?? 0);
}

/** Long runs have merged rows, whose length is a multiple of the option's. @param {RunFile} run */
function intervalMsOf({ config, intervals }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  const lengths = load.map(({ startMs, endMs }) => endMs - startMs).sort((a, b) => a - b);
  const asked = Number(config.intervalMs);
  const middle = lengths[Math.floor(lengths.length / 2)] ?? asked;
  return asked * 2 ** Math.max(0, Math.round(Math.log2(middle / asked)));
}

/** Of each interval with blocks: first number, last number, least skew in ms. @param {RunFile} run */
function blocksOf({ intervals }) {
  const seen = intervals.flatMap(({ blocks: { firstNumber, lastNumber, skewMinMs } }) =>
    firstNumber === null || lastNumber === null || skewMinMs === null ? [] : [firstNumber, lastNumber, skewMinMs],
  );
  return Float64Array.from(seen);
}

/** Rounding, and a report after the end. */
const ALLOWANCE_MS = 5000;

/**
 * Checks that figures which a run file has in several places agree: a merge would hide a wrong one in its sums.
 * @param {RunFile} run
 * @param {string} name of its file
 * @throws {InputError} which names the figure
 */
export function checkConsistency(run, name) {
  const wrong = timesWords(run) ?? countsWords(run) ?? distributionWords(run);
  if (wrong !== null) throw new InputError(`${name} contradicts itself: ${wrong}`);
}

/** @param {RunFile} run @returns {string | null} */
function timesWords(run) {
  const { intervals, window } = run;
  const elapsedMs = Date.parse(run.endedAt) - Date.parse(run.startedAt);
  if (!(window.durationMs >= 0 && window.durationMs <= elapsedMs + ALLOWANCE_MS))
    return `window/durationMs is ${window.durationMs}, and from startedAt to endedAt it is ${elapsedMs} ms`;
  const longestMs = Date.parse(run.endedAt) - loadStartOf(run) + ALLOWANCE_MS;
  let lastMs = 0;
  for (const [i, { startMs, endMs, counts, latency, lag }] of intervals.entries()) {
    if (!(startMs <= endMs)) return `intervals/${i} ends before it begins`;
    // Rows of worker threads may overlap a little.
    if (!(startMs >= lastMs - 1000)) return `intervals/${i} begins before the one before it ends`;
    if (!(endMs <= longestMs)) return `intervals/${i} ends after the run did`;
    if (latency.count !== counts.verified || lag.count !== counts.scheduled)
      return `intervals/${i} has other counts than its distributions`;
    lastMs = endMs;
  }
  return null;
}

/** @param {RunFile} run @returns {string | null} */
function countsWords({ counts, window, intervals, audit, partial, end, inFlight }) {
  const { scheduled, dropped, started, verified, failed, timedOut, abandoned } = counts;
  if (scheduled !== dropped + started) return 'counts/scheduled is not dropped + started';
  if (inFlight !== started - verified - failed - timedOut - abandoned)
    return 'inFlight is not the number of operations that were started and have not ended';
  // After an internal error or the loss of a worker the figures differ; the run's exit code says so.
  if (end === 'internal') return null;
  const sums = intervals.reduce((sum, row) => addUp(sum, row.counts), zeroCounts());
  for (const [name, count] of /** @type {Array<[keyof Counts, number]>} */ (Object.entries(counts))) {
    if (partial ? sums[name] > count : sums[name] !== count)
      return `counts/${name} is ${count}, and intervals have ${sums[name]}`;
  }
  if (window.counts.verified > verified)
    return `window/counts/verified is ${window.counts.verified}, and counts/verified ${verified}`;
  const report = /** @type {AuditReport | null} */ (audit);
  if (report === null || report.verified === verified) return null;
  return `audit/verified is ${report.verified}, and counts/verified ${verified}`;
}

/** A distribution cannot have more values than operations. @param {RunFile} run @returns {string | null} */
function distributionWords({ counts, failures, window, latency, lag }) {
  if (lag.count !== window.counts.scheduled)
    return `lag/count is ${lag.count}, and window/counts/scheduled ${window.counts.scheduled}`;
  const { total, fromStart } = latency;
  const ended = counts.verified + censoredIn({ counts, failures });
  if (total.count > ended)
    return `latency has ${some(total.count, 'value')}, and ${some(ended, 'operation')} were verified or ran out of time`;
  return fromStart.count === total.count ? null : 'latency/fromStart/count is not latency/total/count';
}
