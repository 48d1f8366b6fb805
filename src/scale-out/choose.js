import { isDeepStrictEqual } from 'node:util';
import { IncompleteError, InputError, oneLine, withoutKeys } from '../errors.js';
import { censoredOf } from '../stats/figures.js';
import { settingsOf } from '../studies/metrics.js';
import { counted, indexRanges, partOf } from '../text.js';

/**
 * @import { InstanceFacts, RunFile } from '../contracts/run-file.d.ts'
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
 * @typedef {{expect: number | null, runId: string | null, allowPartial: boolean}} Selection
 */

/** @param {RunHeader[]} found @param {Damaged[]} broken @param {Selection} wanted */
export function choose(found, broken, wanted) {
  const { headers: ofRun, notes } = ofOneRun(found, wanted.runId);
  const each = withoutCopies(ofRun);
  if (each.length < ofRun.length)
    notes.push(`run files that were given twice, and count once: ${ofRun.length - each.length}`);
  const damaged = broken.filter(
    ({ id, runId }) =>
      !each.some(({ run }) => run.id === id) && (wanted.runId === null || (runId ?? wanted.runId) === wanted.runId),
  );
  if (each.length === 0) throw nothingFound(damaged, wanted.expect);
  checkSame(each);
  const { headers, superseded } = lastAttempts(each);
  checkSlices(headers);
  const expected = expectedOf(headers, wanted.expect);
  const present = new Set(headers.flatMap(({ index }) => index ?? []));
  const all = present.size === 0 ? [] : Array.from({ length: expected ?? 0 }, (_, i) => i);
  const missing = all.filter((index) => !present.has(index));
  if (!wanted.allowPartial) checkWhole({ headers, expected, missing, damaged });
  return { headers, superseded, expected, missing, damaged, notes };
}

/** @param {Damaged[]} damaged @param {number | null} expect */
function nothingFound(damaged, expect) {
  if (damaged.length > 0) return new IncompleteError(`there is no whole run file: ${damagedWords(damaged)}`);
  const none = 'there is no run file to merge: give the folder of --results, run files, or logs';
  return expect === null
    ? new InputError(none)
    : new IncompleteError(`0 of ${counted(expect, 'instance')} are whole; ${none}`);
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
  return { headers, notes: left === 0 ? [] : [`${counted(left, 'run file')} of other runs were left out (--run-id)`] };
}

/** A run may be in the folder and in the logs: whole files are preferred to partial ones, then later ones. @param {RunHeader[]} all */
function withoutCopies(all) {
  const best = [...all].sort((a, b) => Number(a.run.partial) - Number(b.run.partial) || b.endedAtMs - a.endedAtMs);
  const chosen = new Map([...best].reverse().map((header) => [header.run.id, header]));
  return all.filter((header) => chosen.get(header.run.id) === header);
}

/** @param {RunHeader[]} headers @throws {InputError} which names the difference */
function checkSame([first, ...others]) {
  for (const other of others) {
    const difference = differenceOf(first, other);
    if (difference !== null) throw new InputError(`${first.name} and ${other.name} are not of one run: ${difference}`);
  }
}

/** @param {RunHeader} a @param {RunHeader} b @returns {string | null} */
function differenceOf(a, b) {
  if ((a.index === null) !== (b.index === null)) return 'only one of them has an index';
  for (const name of new Set([...Object.keys(a.settings), ...Object.keys(b.settings)])) {
    const [one, other] = [a.settings[name] ?? null, b.settings[name] ?? null];
    // A pruned node has no genesis block.
    const isUnknown = CHAIN_SETTINGS.includes(name) && (one === null || other === null);
    if (!isUnknown && !isDeepStrictEqual(one, other)) return `${shown(name)} is ${shown(one)} and ${shown(other)}`;
  }
  const [of, other] = [a.run, b.run].map(({ definitions }) => /** @type {Record<string, string>} */ (definitions));
  const name = Object.keys({ ...of, ...other }).find((key) => of[key] !== other[key]);
  if (name === undefined) return null;
  const [version, otherVersion] = [a.run, b.run].map(({ environment }) => shown(environment.stress));
  return `${shown(name)} is defined differently (stress ${version} and ${otherVersion})`;
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
    byIndex.set(
      header.index,
      [...others, header].sort((a, b) => b.attempt - a.attempt),
    );
  }
  const attempts = [...byIndex.values()];
  const headers = [...attempts.map(([last]) => last), ...each.filter(({ index }) => index === null)];
  return {
    headers: headers.sort((a, b) => (a.index ?? 0) - (b.index ?? 0) || a.offset - b.offset),
    superseded: attempts.flatMap(([, ...earlier]) => earlier),
  };
}

/** @param {RunHeader[]} headers */
function checkSlices(headers) {
  const sorted = [...headers].sort((a, b) => a.offset - b.offset);
  sorted.slice(1).forEach((header, i) => {
    const before = sorted[i];
    if (before.offset + before.wallets > header.offset)
      throw new InputError(
        `slices overlap: ${before.name} has ${walletsOf(before)}, ${header.name} ${walletsOf(header)}: these are not instances of one run`,
      );
  });
}

/** @param {RunHeader[]} headers @param {number | null} expect */
function expectedOf(headers, expect) {
  const [{ instances }] = headers;
  if (expect !== null && instances !== null && expect !== instances)
    throw new InputError(`--expect is ${expect}, but the run was told that it has ${counted(instances, 'instance')}`);
  const expected = expect ?? instances ?? null;
  if (expected === null) return null;
  const beyond = headers.find(({ index }) => (index ?? 0) >= expected);
  if (beyond !== undefined)
    throw new InputError(`${beyond.name} is beyond the ${counted(expected, 'instance')} that there must be`);
  if (headers.length > expected)
    throw new InputError(`${counted(headers.length, 'instance')} found, ${expected} expected (--expect)`);
  return expected;
}

/**
 * Missing instances whose indexes are not known; a damaged file without an index may be of one of them.
 * @param {Pick<Chosen, 'headers' | 'expected' | 'missing' | 'damaged'>} chosen
 * @returns {string[]} one text, or none
 */
export function unnamedWords({ headers, expected, missing, damaged }) {
  const known = headers.length + missing.length + damaged.filter(({ index }) => index === null).length;
  const unnamed = (expected ?? 0) - known;
  return unnamed > 0 ? [`${counted(unnamed, 'instance')} missing (the run files have no index)`] : [];
}

/** @param {Pick<Chosen, 'headers' | 'expected' | 'missing' | 'damaged'>} chosen @returns {string[]} */
export function missingWords(chosen) {
  const named = chosen.missing.length > 0 ? [`missing: ${indexRanges(chosen.missing)}`] : [];
  return [...named, ...unnamedWords(chosen)];
}

/** @param {Pick<Chosen, 'headers' | 'expected' | 'missing' | 'damaged'>} chosen */
function checkWhole(chosen) {
  const { headers, expected, damaged } = chosen;
  const advice = '--partial merges what is there';
  if (damaged.length > 0) throw new IncompleteError(`${damagedWords(damaged)} (${advice})`);
  const partial = headers.filter(({ run }) => run.partial);
  const absent = (expected ?? headers.length) - headers.length;
  if (partial.length === 0 && absent === 0) return;
  const reasons = missingWords(chosen);
  if (partial.length > 0) reasons.push(`ended before their runs did: ${whichOf(partial)}`);
  const whole = headers.length - partial.length;
  throw new IncompleteError(
    `${partOf(whole, expected ?? headers.length, 'instance')} are whole; ${reasons.join('; ')} (${advice})`,
  );
}

/** Settings that may be unknown, in the order and the words of messages. */
const CHAIN_SETTINGS = Object.freeze(['the chain id', 'the genesis block']);

/**
 * The facts of a run file that are kept while the others are read.
 * @param {RunFile} run
 * @param {Source} source
 * @param {ReadonlySet<string>} mayDiffer keys of configurations in which instances of one run may differ
 */
export function headerOf(run, source, mayDiffer) {
  const { config, window, intervals, environment } = run;
  const instance = /** @type {Partial<InstanceFacts>} */ (run.instance ?? {});
  const { runId = null, index = null, instances = null, attempt = 0, host = null } = instance;
  const windowStartMs = Date.parse(window.startedAt);
  const { threads: wallets, offset: firstOffset } = config;
  const { chainId, genesisHash, workload } = environment;
  return {
    source,
    // Its histograms would take memory.
    run: { ...run, intervals: [], latency: null, byName: null, byEndpoint: null, lag: null },
    name: index === null || source.index !== null ? source.name : `instance ${index} (${source.name})`,
    runId,
    index,
    instances,
    attempt,
    host: host === null ? null : oneLine(host),
    offset: instance.offset ?? firstOffset,
    wallets,
    firstOffset,
    settings: /** @type {Record<string, unknown>} */ ({
      'the chain id': chainId,
      // A whole hash would be masked like a key.
      'the genesis block': genesisHash && `${genesisHash.slice(0, 10)}...`,
      '--instances': instances,
      ...(index !== null && { '--threads': wallets, '--offset': firstOffset }),
      ...settingsOf(run, mayDiffer),
      // Calls files of one name may differ.
      'what --calls says': workload.callsHash,
    }),
    startedAtMs: Date.parse(run.startedAt),
    endedAtMs: Date.parse(run.endedAt),
    loadStartMs: loadStartOf(run),
    windowStartMs,
    windowEndMs: windowStartMs + window.durationMs,
    /** Time of the window for which the throughput is known: up to the last block, if the drain was cut short. */
    knownMs: run.rates.spreadMs ?? window.durationMs,
    hasLoad: window.durationMs > 0 && intervals.some(({ phase }) => phase === 'load'),
    intervalMs: intervalMsOf(run),
    /** Operations due in the window that were verified. */
    achieved: run.latency.total.count - censoredOf(run).count,
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

/** The blocks of each interval that has some. @param {RunFile} run */
function blocksOf({ intervals }) {
  return intervals.flatMap(({ startMs, endMs, blocks: { firstNumber, lastNumber, skewMinMs } }) =>
    firstNumber === null || lastNumber === null || skewMinMs === null
      ? []
      : [{ firstNumber, lastNumber, skewMinMs, lengthMs: endMs - startMs }],
  );
}

/** A run file that was changed by hand would make the sums wrong. @param {RunFile} run @param {string} name of its file */
export function checkConservation({ counts, inFlight }, name) {
  const { scheduled, dropped, started, verified, failed, timedOut, abandoned } = counts;
  if (scheduled === dropped + started && started === verified + failed + timedOut + abandoned + inFlight) return;
  throw new InputError(`${name} contradicts itself: its counts do not add up`);
}

/** Indexes if all have one, otherwise names. @param {ReadonlyArray<{index: number | null, name: string}>} headers */
export function whichOf(headers) {
  const indexes = headers.flatMap(({ index }) => index ?? []);
  if (indexes.length === headers.length) return `instance${indexes.length === 1 ? '' : 's'} ${indexRanges(indexes)}`;
  return listed(
    headers.map(({ name }) => name),
    3,
  );
}

/** @param {readonly string[]} words @param {number} most that are named */
export function listed(words, most) {
  return `${words.slice(0, most).join(', ')}${words.length > most ? ` and ${words.length - most} more` : ''}`;
}

/** @param {{offset: number, wallets: number}} slice */
export function walletsOf({ offset, wallets }) {
  return `wallets ${offset}..${offset + wallets - 1}`;
}

/** A value of a run file in a message. @param {unknown} value */
function shown(value) {
  if (value === null || value === undefined) return 'not given';
  return oneLine(withoutKeys(typeof value === 'string' ? value : JSON.stringify(value)), 60);
}
