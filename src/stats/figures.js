import { OBSERVED_FIGURES } from './observed.js';
import { Distribution, STATISTICS, boundsOf, statisticOf } from './histogram.js';
import { halvesUs, mixChanceUs, queuesBehindFullBlocks, verifiedBeyondHalf } from './halves.js';
import { computed, isUnknown, orNull, orUnknown, product, ratio, unknown } from './unknown.js';
import { partOf } from '../text.js';

/**
 * The table of figures: what thresholds and studies can name, what outputs show, and how each is read of a run file. A
 * scalar is read of figures that stats/metrics.js merges; a count is a sum, and a distribution a histogram, everywhere.
 *
 * @import { Sample } from '../contracts/load.d.ts'
 * @import { BlockTotals, Counts, DistributionJson, Figure, FigureBounds, GroupJson, RunFile, SocketsReading, Stage, Unit, Unknown } from '../contracts/run-file.d.ts'
 * @import { Statistic } from './histogram.js'
 *
 * @typedef {Omit<Figure, 'read'> & {pointer?: string, read?: Figure['read'], option?: string, needs?: string}} ScalarRow pointer: the
 *   member that is the figure; read: if it is no member; option: without it there is nothing of the figure; needs: in words
 *
 * @typedef {object} CountRow of operations
 * @property {string} [label] in the summary and on the page, of counts that have no line of their own there
 * @property {string} [help] of the count of the whole run
 * @property {string} [words] of the figure; default: help
 * @property {string} [name] of the figure, if not that of the count
 * @property {string} [also] another name
 * @property {string} [family] on the Prometheus page
 * @property {string} [outcome] label of that family
 * @property {'higher'} [better]
 * @property {string} [whole] what a limit in percent refers to
 * @property {(run: RunFile) => number | Unknown} [read] default: of the whole run
 *
 * @typedef {object} DistributionRow it has the figures NAME.avg, min, max, stddev and any percentile
 * @property {string} name
 * @property {string} [also] another name
 * @property {string} pointer
 * @property {string} words
 * @property {(run: RunFile) => DistributionJson | number} [censored] values: those in it, or how many more there are
 * @property {boolean} [isOfVerified] whether censored operations count in thresholds only
 *
 * @typedef {object} StageRow from the end of the stage before it, at first from when the operation was due
 * @property {Stage} name in run files
 * @property {(sample: Sample) => number | null} until its end; null: it takes no time
 * @property {string} label in tables and charts
 * @property {string} words
 * @property {string} definition of run files and their schema
 * @property {string} work what the verdict calls it
 * @property {boolean} [isOfCalls] whether plain calls have it
 */

// prettier-ignore
/** The stages of the latency, in their order; the last one ends with the operation. @type {readonly StageRow[]} */
export const STAGES = Object.freeze([
  { name: 'queued', label: 'queued', until: (sample) => sample.sentAtUs, isOfCalls: true, work: 'waiting in the generator',
    words: 'from due to written to the socket', definition: 'due to written to the socket; signing is in it' },
  { name: 'submit', label: 'submit', until: (sample) => sample.acceptedAtUs, isOfCalls: true, work: 'submission',
    words: 'from there to the hash read',
    definition: 'to the hash read back; with --inclusion sync to the receipt, once a block has it' },
  { name: 'inclusion', label: 'inclusion', until: (sample) => sample.includedAtUs, work: 'waiting for a block',
    words: 'from there to the block seen',
    definition: 'to the block seen, with --confirmations to the last of those on top' },
  { name: 'readBack', label: 'read-back', until: (sample) => sample.endedAtUs, work: 'read-back',
    words: 'from there to the effect read back', definition: 'to the effect read back' },
]);

// prettier-ignore
/** @type {readonly DistributionRow[]} */
const DISTRIBUTIONS = Object.freeze([
  { name: 'total', also: 'latency', pointer: '/latency/total', censored: censoredOf,
    words: 'latency, from due to read back' },
  { name: 'start', also: 'fromstart', pointer: '/latency/fromStart', censored: censoredFromStart,
    words: 'latency seen from when it was begun' },
  { name: 'lag', pointer: '/lag', words: 'from due to begun' },
  // Censored operations have no known stages: they count as the longest values of each stage.
  ...STAGES.map(({ name, words }) => ({ name: name.toLowerCase(), pointer: `/latency/stages/${name}`, words,
    isOfVerified: true, censored: (/** @type {RunFile} */ run) => censoredOf(run).count })),
]);

/** Failures in the warm-up do not count. */
const MEASURED = 'from the beginning of the window to the end of the drain';

/** @type {Readonly<Record<string, CountRow>>} */
export const COUNTS = Object.freeze({
  scheduled: {
    family: 'stress_operations_scheduled_total',
    help: 'Operations that were due',
    words: 'operations due in the window',
    better: 'higher',
    read: ({ window }) => window.counts.scheduled,
  },
  dropped: {
    family: 'stress_operations_dropped_total',
    help: 'Operations that were due while no wallet was idle',
    words: 'scheduled operations that were dropped because no wallet was idle',
    whole: 'scheduled',
    read: ({ window }) => window.counts.dropped,
  },
  started: {
    also: 'attempts',
    family: 'stress_operations_started_total',
    help: 'Operations started',
    words: 'those of them that were started',
    better: 'higher',
    read: ({ window }) => window.counts.started,
  },
  verified: {
    ...ofOutcome('verified', 'those of them that were verified, also in the drain'),
    better: 'higher',
    read: (run) => run.latency.total.count - censoredOf(run).count,
  },
  failed: { ...ofOutcome('failed', `operations that failed ${MEASURED}`), read: sinceWindow('counts', 'failed') },
  timedOut: {
    ...ofOutcome('timed_out', 'those of them that timed out, also in the drain'),
    name: 'timed_out',
    read: ({ latency }) => latency.timedOut.count,
  },
  abandoned: ofOutcome('abandoned', 'operations still open when the drain ended'),
});

/** @param {string} outcome @param {string} words @returns {CountRow} */
function ofOutcome(outcome, words) {
  const help = 'Operations that ended, by outcome';
  return { family: 'stress_operations_total', help, outcome, words, whole: 'started' };
}

/** Counts that the summary and the page list by their labels. */
export const LISTED_COUNTS = Object.freeze(
  Object.entries(COUNTS).flatMap(([name, { label, help = '' }]) => (label === undefined ? [] : { name, label, help })),
);

// prettier-ignore
/** @type {readonly ScalarRow[]} */
const SCALARS = [
  { name: 'tps', unit: 'perSecond', better: 'higher', label: 'TPS', pointer: '/rates/verifiedPerSecond',
    words: 'verified operations per second of the window, spread over the time of their blocks' },
  { name: 'achieved', unit: 'perSecond', better: 'higher', label: 'achieved per s', pointer: '/rates/achievedPerSecond',
    words: 'of the operations due in the window those verified, per second of it' },
  { name: 'held', unit: 'percent', better: 'higher', label: 'rate held', read: heldPercent,
    words: 'of the rate at which operations were due in the window, the share at which they were verified, with the growth of their queue' },
  { name: 'asked', unit: 'perSecond', better: 'higher', label: 'asked per s', pointer: '/rates/askedPerSecond',
    words: 'operations due per second of the window, where a rate was asked for' },
  { name: 'attempted', unit: 'perSecond', better: 'higher', label: 'attempted per s', pointer: '/rates/attemptedPerSecond',
    words: 'operations started per second of the window' },
  { name: 'accepted', unit: 'perSecond', better: 'higher', label: 'accepted per s', pointer: '/rates/acceptedPerSecond',
    words: 'hashes read back per second of the window' },
  { name: 'included', unit: 'perSecond', better: 'higher', label: 'included per s', pointer: '/rates/includedPerSecond',
    words: 'operations in blocks per second of the window' },
  { name: 'gas', unit: 'gasPerSecond', better: 'higher', label: 'gas per s', read: ownGas,
    words: 'gas per second of the window that the transactions of this run used' },
  { name: 'chain.gas', unit: 'gasPerSecond', better: 'higher', label: 'chain gas per s', read: chainGas,
    words: 'gas per second of the window that all transactions in its blocks used' },
  { name: 'gas.op', unit: 'gas', label: 'gas per operation', read: gasPerOperation,
    words: 'mean gas of an operation' },
  { name: 'fullness', unit: 'percent', better: 'higher', label: 'block fullness', read: ofFullness(meanFullness),
    words: 'mean share of the gas limit that the blocks used' },
  { name: 'fullness.p50', unit: 'percent', better: 'higher', label: 'block fullness p50', read: ofFullness((blocks) => fullnessPercentile(blocks, 50)),
    words: 'percentile 50 of the share of the gas limit that a block used' },
  { name: 'fullness.p90', unit: 'percent', better: 'higher', label: 'block fullness p90', read: ofFullness((blocks) => fullnessPercentile(blocks, 90)),
    words: 'percentile 90 of the share of the gas limit that a block used' },
  { name: 'differences', unit: 'count', label: 'differences', bounds: differences,
    option: 'check-rpc', needs: 'a second endpoint to compare the answers with: --check-rpc URL',
    words: 'operations whose answer differs from that of --check-rpc' },
  { name: 'cpu', unit: 'us', label: 'generator CPU', pointer: '/generator/cpuUsPerVerified',
    words: 'CPU time of this process for a verified operation' },
  { name: 'rss', unit: 'bytes', label: 'generator memory', pointer: '/generator/peakRssBytes',
    words: 'most resident memory of this process' },
  { name: 'timewait', unit: 'count', label: 'TIME_WAIT', pointer: '/probes/sockets/timeWait',
    words: 'most sockets of this machine in TIME_WAIT' },
  { name: 'ports_left', unit: 'count', better: 'higher', label: 'ports left', read: portsLeft,
    words: 'fewest ephemeral ports left, if each socket of this machine had its own one' },
  { name: 'node.cpu', unit: 'percent', label: 'node CPU', read: nodeCpuPercent,
    words: "CPU time of the node's process, in percent of a core" },
  { name: 'node.rss', unit: 'bytes', label: 'node memory', pointer: '/probes/node/rssBytes',
    words: "most resident memory of the node's process" },
];

/** Figures that a run has only with an option. @type {ReadonlyArray<{name: string, option?: string, needs?: string}>} */
export const OPTIONAL_FIGURES = Object.freeze(
  [...SCALARS, ...OBSERVED_FIGURES].filter(({ option }) => option !== undefined),
);

/** @type {ReadonlyArray<Figure & {also?: string}>} */
const FIGURES = Object.freeze([
  ...[...SCALARS, ...OBSERVED_FIGURES].map(({ pointer = '', bounds, ...row }) => ({
    read: (/** @type {RunFile} */ run) => (bounds === undefined ? figureAt(run, pointer) : valueOf(bounds(run))),
    bounds,
    ...row,
  })),
  ...Object.entries(COUNTS).map(([key, row]) => {
    const { name = key, also, help = '', words = help, label = name.replace('_', ' '), better, whole } = row;
    const ofRun = (/** @type {RunFile} */ { counts }) =>
      orUnknown(
        /** @type {Record<string, number>} */ (counts)[key],
        'the run was made by a version without this count',
      );
    return { ...countFigure(name, words, row.read ?? ofRun, whole), also, label, better };
  }),
]);

/** @param {string} name @param {string} words @param {Figure['read']} read @param {string} [whole] @returns {Figure} */
function countFigure(name, words, read, whole) {
  // With a window of no length nothing was measured, not even the absence of failures.
  const readWindow = (/** @type {RunFile} */ run) =>
    run.window.durationMs === 0 ? unknown(reasonOf(run, '/rates/attemptedPerSecond')) : read(run);
  return { name, unit: 'count', words, whole, read: readWindow };
}

/** @param {FigureBounds | Unknown} bounds */
function valueOf(bounds) {
  return isUnknown(bounds) ? bounds : bounds.value;
}

/** @param {object} run @param {string} pointer @returns {any} */
function memberAt(run, pointer) {
  const keys = pointer.slice(1).split('/');
  return keys.reduce((value, key) => value?.[key] ?? null, /** @type {any} */ (run));
}

/** A member of the run file as a figure. @param {RunFile} run @param {string} pointer @returns {number | Unknown} */
function figureAt(run, pointer) {
  return memberAt(run, pointer) ?? unknown(reasonOf(run, pointer));
}

/** Why a member is null: the reason of the nearest member of the run file that has one. @param {Pick<RunFile, 'unmeasured' | 'probes'>} run @param {string} pointer */
export function reasonOf({ unmeasured, probes }, pointer) {
  const keys = pointer.split('/');
  const pointers = keys.map((_, i) => keys.slice(0, keys.length - i).join('/'));
  const known = pointers.find((one) => unmeasured[one] !== undefined) ?? '';
  return unmeasured[known] ?? probes?.why[keys[2]] ?? 'there was nothing of it in the window';
}

/** A figure for a table, which shows a dash where it is not known. @param {string} name @param {RunFile} run @returns {number | null} */
export function shownFigure(name, run) {
  return orNull(/** @type {Figure} */ (figureOf(name)).read(run));
}

/** @param {RunFile} run @param {number} value @returns {number | Unknown} */
function perSecond(run, value) {
  return ratio(1000 * value, run.window.durationMs, reasonOf(run, '/rates/attemptedPerSecond'));
}

/** Older files have no such rate. @param {RunFile} run @returns {number | Unknown} */
function chainGas(run) {
  const isOlder = run.rates.chainGasPerSecond === undefined;
  return isOlder ? perSecond(run, run.blocks.gasUsed) : figureAt(run, '/rates/chainGasPerSecond');
}

/** @param {RunFile} run */
function ownGas(run) {
  const [perOperation, { ours, transactions }] = [gasPerOperation(run), run.blocks];
  if (isUnknown(perOperation)) return perOperation;
  if (ours === transactions) return chainGas(run);
  return product(figureAt(run, '/rates/includedPerSecond'), perOperation);
}

/** The length of the window as it is shown: of a merge, that of the common window. @param {RunFile} run */
export function windowMs({ merged, window }) {
  return merged?.common?.durationMs ?? window.durationMs;
}

/** The rate of an amount that was spread over the window. @param {Pick<RunFile, 'window' | 'rates'>} run @param {number} amount @returns {number | null} */
export function spreadPerSecond({ window: { durationMs }, rates: { spreadMs = durationMs } }, amount) {
  return spreadMs === 0 ? null : (1000 * amount) / spreadMs;
}

/**
 * Counts of the whole run less those of the warm-up: failures in it do not count.
 * @param {'counts' | 'failures'} key
 * @param {string} name
 */
function sinceWindow(key, name) {
  return (/** @type {RunFile} */ run) => {
    /** @param {{counts: Counts, failures: Record<string, number>}} part */
    const of = (part) => /** @type {Record<string, number>} */ (part[key])[name] ?? 0;
    // Instances may warm up at different times: a merged run has the counts of its warm-ups apart.
    const { warmup } = /** @type {any} */ (run).merged ?? {};
    if (warmup !== undefined) return of(run) - of(warmup);
    return run.intervals.reduce((sum, row) => (row.phase === 'warmup' ? sum - of(row) : sum), of(run));
  };
}

/**
 * If operations of the second half of the window waited longer than those of the first, a queue grows: with g seconds per
 * second, 1 / (1 + g) of the due operations was served. Growth that the positions of the blocks can explain does not count.
 * Behind full blocks, and where operations take longer than half the window, it is at most the share that was verified in
 * the window.
 * @param {RunFile} run
 * @returns {number | Unknown} unknown: nothing was due, there is no rate, or nothing tells whether the queue grew
 */
function heldPercent(run) {
  const { window, blocks } = run;
  const halfUs = (window.durationMs * 1000) / 2;
  // A half that ends within a block interval is up to an eighth of the interval too long or too short.
  const blocksInHalf = blocks.count / 2;
  const byChanceUs = blocks.count > 0 ? halfUs / blocksInHalf / (4 * blocksInHalf) : 0;
  const [asked, achieved] = [figureAt(run, '/rates/askedPerSecond'), figureAt(run, '/rates/achievedPerSecond')];
  const share = ratio(product(100, achieved), asked, 'no operation was due in the window');
  const { verified, scheduled } = window.counts;
  const most = queuesBehindFullBlocks(run)
    ? (100 * verified) / scheduled
    : 100 * (verifiedBeyondHalf(run)?.share ?? Infinity);
  return computed(
    (percent, grownUs) => Math.min(most, percent / (1 + Math.max(0, grownUs - byChanceUs - mixChanceUs(run)) / halfUs)),
    share,
    grownBetweenHalves(run),
  );
}

/** By how much the mean latency grew, in microseconds. @param {RunFile} run @returns {number | Unknown} */
function grownBetweenHalves(run) {
  const [first, second] = halvesUs(run);
  if (first !== null && second !== null) return second - first;
  // A half without an answer is in the share that was achieved.
  return run.end === 'duration' ? 0 : unknown('the window ended before two halves of it could be compared');
}

/**
 * Answers of recorded requests are compared only in checks. Those that were not compared may have been different ones.
 * @param {RunFile} run
 * @returns {FigureBounds | Unknown}
 */
function differences(run) {
  const { workload } = /** @type {any} */ (run.environment);
  // Beside transactions the facts of calls are a member of their own.
  const isReplay = (workload.calls?.requests ?? workload.requests) !== undefined;
  if (!isReplay || (run.generator.rpcCalls.check ?? 0) === 0)
    return unknown('no answers were compared: it needs recorded requests (--calls) and --check-rpc');
  if (run.window.durationMs === 0) return unknown(reasonOf(run, '/rates/attemptedPerSecond'));
  const [value, unavailable] = ['answers_differ', 'check_unavailable'].map((code) =>
    sinceWindow('failures', code)(run),
  );
  const censored = Math.max(unavailable + run.counts.abandoned, unansweredCalls(run) - value);
  return { value, atMost: value + censored, censored };
}

/** Calls since the window began that were not verified: all but those with another answer were compared with nothing. @param {RunFile} run */
function unansweredCalls(run) {
  const { mix } = /** @type {any} */ (run.environment).workload;
  // An operation with an answer is open until it is compared.
  if (mix === undefined) return sinceWindow('counts', 'failed')(run) + run.counts.timedOut + run.counts.abandoned;
  const transactions = mix.map((/** @type {{name: string}} */ { name }) => name);
  const calls = Object.entries(run.byName ?? {}).filter(([name]) => !transactions.includes(name));
  return calls.reduce((sum, [, { counts, failedInWarmUp = 0 }]) => {
    return sum + counts.failed - failedInWarmUp + counts.timedOut + counts.abandoned;
  }, 0);
}

/** @param {RunFile} run @returns {number | Unknown} */
function portsLeft(run) {
  const left = (run.probes?.sockets?.endpoints ?? []).map((endpoint) => endpoint.portsLeft);
  return left.length === 0 ? unknown(reasonOf(run, '/probes/sockets')) : Math.min(...left);
}

/** @param {RunFile} run @returns {number | Unknown} */
function nodeCpuPercent(run) {
  return computed((cpuUs) => perSecond(run, cpuUs / 10_000), figureAt(run, '/probes/node/cpuUs'));
}

/**
 * By receipts, where the workload reads them, or by the blocks in which all transactions are ours.
 * @param {RunFile} run
 * @returns {number | Unknown}
 */
function gasPerOperation(run) {
  const { gas, blocks } = run;
  // Instances that are merged have the blocks with transactions of several of them in common.
  const all = blocks.ours === blocks.transactions ? { operations: blocks.ours, used: blocks.gasUsed } : undefined;
  const own = { operations: blocks.own?.transactions ?? 0, used: blocks.own?.gasUsed ?? 0 };
  const known = [gas, all, own].find((sums) => (sums?.operations ?? 0) > 0 && Number(sums?.used) > 0);
  return known === undefined ? unknown(reasonOf(run, '/gas')) : known.used / known.operations;
}

/** Each transaction takes gas: without any the node states none. @param {{transactions: number, gasUsed: number}} blocks */
export function statesGas({ transactions, gasUsed }) {
  return transactions === 0 || gasUsed > 0;
}

/** Blocks with a gas limit, of a chain that states what they used. @param {BlockTotals} blocks */
function blocksOfKnownFullness({ gasLimit, fullness = {}, ...used }) {
  // Files of before count blocks without a gas limit as empty ones.
  return gasLimit === 0 || !statesGas(used) ? 0 : Object.values(fullness).reduce((sum, count) => sum + count, 0);
}

/** In percent. @param {BlockTotals} blocks @returns {number | null} null: none has a gas limit */
function meanFullness(blocks) {
  const known = blocksOfKnownFullness(blocks);
  return known === 0 || blocks.fullnessSum === undefined ? null : (100 * blocks.fullnessSum) / known;
}

/** In percent, of files of any version. @param {BlockTotals} blocks @returns {number | null} null: none has a gas limit */
export function fullnessOf(blocks) {
  const { count, gasUsed, gasLimit } = blocks;
  if (count === 0 || !gasLimit || !statesGas(blocks)) return null;
  // Older files have the limit of the last block only.
  return meanFullness(blocks) ?? (100 * gasUsed) / (count * gasLimit);
}

/** The nearest rank. @param {BlockTotals} blocks @param {number} p @returns {number | null} null: none has a gas limit */
function fullnessPercentile(blocks, p) {
  const { fullness: counts = {} } = blocks;
  const known = blocksOfKnownFullness(blocks);
  if (known === 0) return null;
  const shares = Object.keys(counts).sort((a, b) => Number(a) - Number(b));
  let left = Math.ceil((p / 100) * known);
  return Number(shares.find((share) => (left -= counts[share]) <= 0) ?? shares.at(-1));
}

/** @param {(blocks: BlockTotals) => number | null} of @returns {Figure['read']} */
function ofFullness(of) {
  return (run) =>
    of(run.blocks) ??
    unknown(
      statesGas(run.blocks) ? reasonOf(run, '/environment/blockGasLimit') : reasonOf(run, '/rates/chainGasPerSecond'),
    );
}

/** The censored operations; older run files only have those that timed out. @param {Pick<RunFile, 'latency'>} run */
export function censoredOf({ latency }) {
  return latency.censored ?? latency.timedOut;
}

/** @param {RunFile} run */
function censoredFromStart(run) {
  return run.latency.fromStartCensored ?? censoredOf(run);
}

/** The codes of docs/measurement.md; codes of transports follow the errors of the operating system. */
export const FAILURE_CODES = Object.freeze(
  [
    'reverted slippage wrong_count lost replaced nonce_too_low nonce_too_high nonce_in_use insufficient_funds underpriced pool_full sender_limit',
    'rejected hash_mismatch rpc_error protocol check_failed check_unavailable answers_differ internal workload_error transport_timeout',
    'transport_refused transport_reset transport_no_ports',
  ].flatMap((line) => line.split(' ')),
);

/** Percentiles in lists and suggestions; any other one can be named as well. */
const PERCENTILES = ['p50', 'p75', 'p90', 'p95', 'p99', 'p99.9'];

export function figureNames() {
  const ofDuration = [...Object.keys(STATISTICS), ...PERCENTILES];
  return [
    ...FIGURES.map(({ name }) => name),
    ...ofDuration,
    ...DISTRIBUTIONS.flatMap(({ name }) => ofDuration.map((statistic) => `${name}.${statistic}`)),
    ...FAILURE_CODES.map((code) => `failed.${code}`),
  ];
}

/** The label of tables. @param {Figure} figure */
export function labelOf({ name, unit, label }) {
  if (label !== undefined) return label;
  if (unit !== 'us') return name.replace('failed.', 'failed: ');
  return name.includes('.') && !/^p\d/.test(name) ? name.replace('.', ' ') : `latency ${name}`;
}

/** @param {string} text a name in any case, with or without - and _ @returns {Figure | null} */
export function figureOf(text) {
  const [, call, ofCall] = /^calls\.([\w.-]+)\.([a-z]+|p\d+(?:\.\d+)?)$/.exec(text) ?? [];
  const named = call === undefined ? null : callFigure(text, call, ofCall);
  if (named !== null) return named;
  const [, code] = /^failed\.(.+)$/.exec(text.toLowerCase().replaceAll('-', '_')) ?? [];
  if (code !== undefined) {
    const isKnown = FAILURE_CODES.includes(code) || /^transport_\w+$/.test(code);
    const words = `operations that failed so ${MEASURED}`;
    return isKnown ? countFigure(`failed.${code}`, words, sinceWindow('failures', code), 'started') : null;
  }
  const word = normalized(text);
  return FIGURES.find(({ name, also }) => normalized(name) === word || also === word) ?? durationFigure(word);
}

/** @param {string} text */
function normalized(text) {
  return text.toLowerCase().replace(/[_-]/g, '');
}

/** Figures of the operations of one name, and of their latency. @type {ReadonlyArray<{name: string, unit: Unit, words: string, read: (group: GroupJson, run: RunFile) => number | Unknown}>} */
const OF_NAMES = [
  { name: 'failed', unit: 'count', words: `those that failed ${MEASURED}`, read: failedSinceWindow },
  {
    name: 'tps',
    unit: 'perSecond',
    words: 'those verified per second of the window',
    read: ({ windowVerified }, run) =>
      orUnknown(spreadPerSecond(run, windowVerified), reasonOf(run, '/rates/verifiedPerSecond')),
  },
  {
    name: 'gas',
    unit: 'gas',
    words: 'mean gas by receipts',
    read: ({ gas = { operations: 0, used: 0 } }) =>
      ratio(gas.used, gas.operations, 'no receipts were read in the window'),
  },
];

/** Failures in the warm-up do not count, as in the figure of all operations. @param {GroupJson} group @param {RunFile} run @returns {number | Unknown} */
function failedSinceWindow({ counts, failedInWarmUp }, run) {
  const all = countFigure('failed', '', () => counts.failed).read(run);
  // Older files do not tell them apart.
  const hasWarmUp = sinceWindow('counts', 'failed')(run) < run.counts.failed;
  const before = failedInWarmUp ?? (hasWarmUp ? unknown('the run file does not tell which failed in the warm-up') : 0);
  return computed((failed, early) => failed - early, all, before);
}

/**
 * Figures of one operation name of the workload: calls.NAME.p99. Whether the name exists is known after the run only.
 * @param {string} text
 * @param {string} name
 * @param {string} word
 * @returns {Figure | null}
 */
function callFigure(text, name, word) {
  /** @param {RunFile} run @returns {GroupJson | Unknown} */
  const groupOf = ({ byName }) =>
    Object.hasOwn(byName, name)
      ? byName[name]
      : unknown(`there is no ${name} among ${Object.keys(byName).join(', ') || 'no names'}`);
  const of = { name: text, ofCall: name };
  const statistic = statisticOf(word);
  if (statistic !== null) return { ...of, words: `latency of ${name}`, ...statisticFigure(groupOf, statistic) };
  const row = OF_NAMES.find((one) => one.name === word);
  if (row === undefined) return null;
  const read = (/** @type {RunFile} */ run) => {
    const group = groupOf(run);
    return isUnknown(group) ? group : row.read(group, run);
  };
  return { ...of, unit: row.unit, words: `${row.words}, of ${name}`, read };
}

/** @param {string} word @returns {Figure | null} */
function durationFigure(word) {
  const [, prefix, name = ''] = /^(?:([a-z]+)\.)?([a-z]+|p\d+(?:\.\d+)?)$/.exec(word) ?? [];
  const row = DISTRIBUTIONS.find((one) => [one.name, one.also].includes(prefix ?? 'total'));
  const statistic = statisticOf(name);
  if (statistic === null || row === undefined) return null;
  const { pointer, words, censored = () => 0, isOfVerified = false } = row;
  const shownName = typeof statistic === 'number' ? `p${statistic}` : statistic;
  // Files of other versions may lack a stage.
  const of = (/** @type {RunFile} */ run) => memberAt(run, pointer) ?? new Distribution().toJSON();
  return {
    name: `${prefix === undefined ? '' : `${row.name}.`}${shownName}`,
    words,
    isOfVerified,
    ...statisticFigure((run) => ({ latency: of(run), censored: censored(run) }), statistic, pointer),
  };
}

/**
 * @param {(run: RunFile) => {latency: DistributionJson, censored?: DistributionJson | number} | Unknown} partOf
 * @param {Statistic | number} statistic
 * @param {string} [pointer] of the distribution
 * @returns {Pick<Figure, 'unit' | 'read' | 'bounds'>}
 */
function statisticFigure(partOf, statistic, pointer = '') {
  const read = (/** @type {RunFile} */ run) => {
    const part = partOf(run);
    if (isUnknown(part)) return part;
    return orUnknown(boundsOf(part.latency, 0, statistic).us, reasonOf(run, pointer));
  };
  return {
    unit: 'us',
    read,
    bounds: (run) => {
      const [part, value] = [partOf(run), read(run)];
      if (isUnknown(part)) return part;
      if (isUnknown(value)) return value;
      const { latency, censored = 0 } = part;
      const count = typeof censored === 'number' ? censored : censored.count;
      return { value, atMost: boundsOf(latency, censored, statistic).atMostUs, censored: count };
    },
  };
}

const RANGE_WARNING = 0.6;

/** @param {SocketsReading} reading @returns {string[]} warnings */
export function socketWarnings({ range: { ports }, endpoints }) {
  const short = endpoints.filter(({ portsInUse }) => portsInUse >= RANGE_WARNING * ports);
  return short.map(
    ({ portsInUse, portsLeft }) =>
      `the sockets of this machine may use ${partOf(portsInUse, ports, 'ephemeral port')}, ${portsLeft} left: without one no connection can be opened`,
  );
}
