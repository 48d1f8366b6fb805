import { Distribution, STATISTICS, boundsOf, statisticOf } from './histogram.js';
import { COUNTS, MEASURED } from './metrics.js';

/**
 * The figures of a run that thresholds and studies can name, and how to read each of a run file.
 *
 * @import { CensoredBounds, Counts, DistributionJson, Figure, GroupJson, RunFile, SocketsReading, Stage, Unit } from '../contracts/run-file.d.ts'
 * @import { Statistic } from './histogram.js'
 */

/**
 * Figures of the run file: name, unit, which is better, the member that is the figure or that has the reason why it is
 * null, label, words. Those of COMPUTED are no member themselves.
 */
const TABLE = `
  tps          | perSecond    | higher | /rates/verifiedPerSecond    | TPS                | verified operations per second of the window, spread over the time of their blocks
  achieved     | perSecond    | higher | /rates/achievedPerSecond    | achieved per s     | of the operations due in the window those verified, per second of it
  held         | percent      | higher | /rates/askedPerSecond       | rate held          | of the rate at which operations were due in the window, the share at which they were verified, with the growth of their queue
  asked        | perSecond    | higher | /rates/askedPerSecond       | asked per s        | operations due per second of the window, where a rate was asked for
  attempted    | perSecond    | higher | /rates/attemptedPerSecond   | attempted per s    | operations started per second of the window
  accepted     | perSecond    | higher | /rates/acceptedPerSecond    | accepted per s     | hashes read back per second of the window
  included     | perSecond    | higher | /rates/includedPerSecond    | included per s     | operations in blocks per second of the window
  gas          | gasPerSecond | higher | /rates                      | gas per s          | gas per second of the window that the transactions of this run used
  chain.gas    | gasPerSecond | higher | /rates                      | chain gas per s    | gas per second of the window that all transactions in its blocks used
  gas.op       | gas          |        | /gas                        | gas per operation  | mean gas of an operation
  fullness     | percent      | higher | /environment/blockGasLimit  | block fullness     | mean share of the gas limit that the blocks used
  fullness.p50 | percent      | higher | /environment/blockGasLimit  | block fullness p50 | percentile 50 of the share of the gas limit that a block used
  fullness.p90 | percent      | higher | /environment/blockGasLimit  | block fullness p90 | percentile 90 of the share of the gas limit that a block used
  cpu          | us           |        | /generator/cpuUsPerVerified | generator CPU      | CPU time of this process for a verified operation
  rss          | bytes        |        | /generator/peakRssBytes     | generator memory   | most resident memory of this process
  timewait     | count        |        | /probes/sockets/timeWait    | TIME_WAIT          | most sockets of this machine in TIME_WAIT
  ports_left   | count        | higher | /probes/sockets             | ports left         | fewest ephemeral ports left, if each socket of this machine had its own one
  node.cpu     | percent      |        | /probes/node                | node CPU           | CPU time of the node's process, in percent of a core
  node.rss     | bytes        |        | /probes/node/rssBytes       | node memory        | most resident memory of the node's process
  violations   | count        |        | /consistency                | contradictions     | proven contradictions between answers of the endpoints (--check consistency)`;

/** @type {Record<string, (run: RunFile) => number | null>} */
const COMPUTED = {
  gas: (run) => {
    const [perOperation, { ours, transactions }] = [gasPerOperation(run), run.blocks];
    if (perOperation === null) return null;
    if (ours === transactions) return chainGas(run);
    return run.rates.includedPerSecond === null ? null : run.rates.includedPerSecond * perOperation;
  },
  held: heldPercent,
  'chain.gas': chainGas,
  'gas.op': gasPerOperation,
  fullness: ({ blocks }) => {
    const known = blocksOfKnownFullness(blocks);
    return known === 0 || blocks.fullnessSum === undefined ? null : (100 * blocks.fullnessSum) / known;
  },
  'fullness.p50': ({ blocks }) => fullnessPercentile(blocks, 50),
  'fullness.p90': ({ blocks }) => fullnessPercentile(blocks, 90),
  ports_left: portsLeft,
  'node.cpu': nodeCpuPercent,
  violations: violationsIn,
};

/** How counts of operations due in the window are read. @type {Record<string, (run: RunFile) => number>} */
const READ = {
  verified: (run) => run.latency.total.count - censoredOf(run).count,
  failed: sinceWindow('counts', 'failed'),
  timedOut: ({ latency }) => latency.timedOut.count,
};

/** @type {readonly Figure[]} */
const FIGURES = Object.freeze([
  ...TABLE.trim()
    .split('\n')
    .map((line) => {
      const [name, unit, better, pointer, label, words] = line.split('|').map((cell) => cell.trim());
      const read = COMPUTED[name] ?? ((/** @type {RunFile} */ run) => memberAt(run, pointer));
      return /** @type {Figure} */ ({ name, unit, label, words, pointer, better: better || undefined, read });
    }),
  ...Object.entries(COUNTS).map(([key, row]) => {
    const { name = key, help = '', words = help, label = name.replace('_', ' '), better, whole, isOfWindow } = row;
    const read = (/** @type {RunFile} */ { counts, window }) =>
      /** @type {Record<string, number>} */ (isOfWindow ? window.counts : counts)[key] ?? null;
    return { ...countFigure(name, words, READ[key] ?? read, whole), label, better };
  }),
  {
    name: 'broken',
    unit: 'count',
    label: 'broken promises',
    words:
      'operations due in the window that are not in the chain at the end, although the node had promised it (--ladder)',
    pointer: '/ladder/broken',
    why: (/** @type {RunFile} */ { ladder }) => (ladder === undefined ? '--ladder was not given' : undefined),
    read: (/** @type {RunFile} */ run) => brokenBounds(run).us,
    bounds: brokenBounds,
  },
]);

/** @param {string} name @param {string} words @param {Figure['read']} read @param {string} [whole] @returns {Figure} */
function countFigure(name, words, read, whole) {
  // With a window of no length nothing was measured, not even the absence of failures.
  const readWindow = (/** @type {RunFile} */ run) => (run.window.durationMs === 0 ? null : read(run));
  return { name, unit: 'count', words, whole, pointer: '/rates', read: readWindow };
}

/** @param {object} run @param {string} pointer @returns {any} */
function memberAt(run, pointer) {
  const keys = pointer.slice(1).split('/');
  return keys.reduce((value, key) => value?.[key] ?? null, /** @type {any} */ (run));
}

/** Why a figure is null: the reason of the nearest member of the run file that has one. @param {Figure} figure @param {RunFile} run */
export function whyNull({ pointer = '', why }, run) {
  const keys = pointer.split('/');
  const pointers = keys.map((_, i) => keys.slice(0, keys.length - i).join('/'));
  const known = pointers.find((one) => run.unmeasured[one] !== undefined);
  const reason = why?.(run) ?? run.unmeasured[known ?? ''] ?? run.probes?.why[keys[2]];
  return reason ?? 'there was nothing of it in the window';
}

/** @param {RunFile} run @param {number} value @returns {number | null} */
function perSecond({ window: { durationMs } }, value) {
  return durationMs === 0 ? null : (1000 * value) / durationMs;
}

/** Older files have no such rate. @param {RunFile} run @returns {number | null} */
function chainGas(run) {
  const { chainGasPerSecond = perSecond(run, run.blocks.gasUsed) } = run.rates;
  return chainGasPerSecond;
}

/** Of what was spread over the window. @param {Pick<RunFile, 'window' | 'rates'>} run @param {number} amount @returns {number | null} */
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
 * @param {RunFile} run
 * @returns {number | null} null: nothing was due, or there is no rate
 */
function heldPercent({ rates, latency, window, blocks }) {
  const { askedPerSecond: asked, achievedPerSecond: achieved } = rates;
  if (asked === null || achieved === null || asked === 0) return null;
  const [first, second] = latency.halves;
  const halfUs = (window.durationMs * 1000) / 2;
  const grownUs = first.count > 0 && second.count > 0 ? second.sumUs / second.count - first.sumUs / first.count : 0;
  // A half that ends within a block interval is up to an eighth of the interval too long or too short.
  const blocksInHalf = blocks.count / 2;
  const byChanceUs = blocks.count > 0 ? halfUs / blocksInHalf / (4 * blocksInHalf) : 0;
  return (100 * achieved) / asked / (1 + Math.max(0, grownUs - byChanceUs) / halfUs);
}

/** Unknown: of these operations nothing proves that the promise is broken. @param {RunFile} run @returns {CensoredBounds} */
function brokenBounds({ ladder }) {
  if (!ladder?.broken) return { us: null, atMostUs: Infinity, censored: 0 };
  const { lost, replaced, reorged, unknown } = ladder.broken;
  const proven = lost + replaced + reorged;
  return { us: proven, atMostUs: proven + unknown, censored: unknown };
}

/** @param {RunFile} run */
function portsLeft({ probes }) {
  const left = (probes?.sockets?.endpoints ?? []).map((endpoint) => endpoint.portsLeft);
  return left.length === 0 ? null : Math.min(...left);
}

/** Null if no check was made. @param {RunFile} run */
function violationsIn({ consistency = null }) {
  if (consistency === null || Object.keys(consistency.checks).length === 0) return null;
  return Object.values(consistency.violations).reduce((sum, { count }) => sum + count, 0);
}

/** @param {RunFile} run */
export function nodeCpuPercent(run) {
  const node = run.probes?.node ?? null;
  return node === null ? null : perSecond(run, node.cpuUs / 10_000);
}

/**
 * By receipts, where the workload reads them, or by the blocks in which all transactions are ours.
 * @param {RunFile} run
 * @returns {number | null}
 */
function gasPerOperation({ gas, blocks }) {
  // Instances that are merged have the blocks with transactions of several of them in common.
  const all = blocks.ours === blocks.transactions ? { operations: blocks.ours, used: blocks.gasUsed } : undefined;
  const own = { operations: blocks.own?.transactions ?? 0, used: blocks.own?.gasUsed ?? 0 };
  const known = [gas, all, own].find((sums) => (sums?.operations ?? 0) > 0 && Number(sums?.used) > 0);
  return known === undefined ? null : known.used / known.operations;
}

/** Blocks with a gas limit. @param {RunFile['blocks']} blocks */
function blocksOfKnownFullness({ gasLimit, fullness = {} }) {
  // Files of before count blocks without a gas limit as empty ones.
  return gasLimit === 0 ? 0 : Object.values(fullness).reduce((sum, count) => sum + count, 0);
}

/** The nearest rank. @param {RunFile['blocks']} blocks @param {number} p */
function fullnessPercentile(blocks, p) {
  const { fullness: counts = {} } = blocks;
  const known = blocksOfKnownFullness(blocks);
  if (known === 0) return null;
  const shares = Object.keys(counts).sort((a, b) => Number(a) - Number(b));
  let left = Math.ceil((p / 100) * known);
  return Number(shares.find((share) => (left -= counts[share]) <= 0) ?? shares.at(-1));
}

/**
 * Durations; each has the figures avg, min, max, stddev and any percentile.
 * @type {Record<string, {words: string, of: (run: RunFile) => DistributionJson, censored?: (run: RunFile) => DistributionJson | number, isOfVerified?: boolean}>}
 */
export const DURATIONS = Object.freeze({
  total: { words: 'latency, from due to read back', of: ({ latency }) => latency.total, censored: censoredOf },
  start: {
    words: 'latency seen from when it was begun',
    of: ({ latency }) => latency.fromStart,
    censored: (run) => run.latency.fromStartCensored ?? censoredOf(run),
  },
  lag: { words: 'from due to begun', of: ({ lag }) => lag },
  queued: ofStage('queued', 'from due to written to the socket'),
  submit: ofStage('submit', 'from there to the hash read'),
  inclusion: ofStage('inclusion', 'from there to the block seen'),
  readback: ofStage('readBack', 'from there to the effect read back'),
});

/** Censored operations have no known stages: they count as the longest values of each stage. @param {Stage} stage @param {string} words */
function ofStage(stage, words) {
  return {
    words,
    of: (/** @type {RunFile} */ { latency }) => latency.stages[stage] ?? new Distribution().toJSON(),
    censored: (/** @type {RunFile} */ run) => censoredOf(run).count,
    isOfVerified: true,
  };
}

/** The censored operations; older run files only have those that timed out. @param {Pick<RunFile, 'latency'>} run */
export function censoredOf({ latency }) {
  return latency.censored ?? latency.timedOut;
}

/** The codes of docs/measurement.md; codes of transports follow the errors of the operating system. */
export const FAILURE_CODES = Object.freeze(
  [
    'reverted slippage wrong_count lost replaced nonce_too_low nonce_too_high nonce_in_use insufficient_funds underpriced pool_full',
    'rejected hash_mismatch rpc_error protocol check_failed check_unavailable internal workload_error transport_timeout',
    'transport_refused transport_reset transport_no_ports',
  ].flatMap((line) => line.split(' ')),
);

/** Other names: those of the summary and of the run file. */
const ALSO_CALLED = new Map(Object.entries({ attempts: 'started', latency: 'total', fromstart: 'start' }));

/** Percentiles in lists and suggestions; any other one can be named as well. */
const PERCENTILES = ['p50', 'p75', 'p90', 'p95', 'p99', 'p99.9'];

export function figureNames() {
  const ofDuration = [...Object.keys(STATISTICS), ...PERCENTILES];
  return [
    ...FIGURES.map(({ name }) => name),
    ...ofDuration,
    ...Object.keys(DURATIONS).flatMap((duration) => ofDuration.map((name) => `${duration}.${name}`)),
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
  const figure = FIGURES.find(({ name }) => normalized(name) === (ALSO_CALLED.get(word) ?? word));
  return figure ?? durationFigure(word);
}

/** @param {string} text */
function normalized(text) {
  return text.toLowerCase().replace(/[_-]/g, '');
}

/** @type {Record<string, {unit: Unit, words: string, of: (group: GroupJson, run: RunFile) => number | null}>} */
const OF_CALL = {
  failed: { unit: 'count', words: 'those that failed', of: ({ counts }) => counts.failed },
  tps: {
    unit: 'perSecond',
    words: 'those verified per second of the window',
    of: ({ windowVerified }, run) => spreadPerSecond(run, windowVerified),
  },
  gas: {
    unit: 'gas',
    words: 'mean gas by receipts',
    of: ({ gas }) => (gas !== undefined && gas.operations > 0 ? gas.used / gas.operations : null),
  },
};

/**
 * Figures of one operation name of the workload: calls.NAME.p99. Whether the name exists is known after the run only.
 * @param {string} text
 * @param {string} name
 * @param {string} word
 * @returns {Figure | null}
 */
function callFigure(text, name, word) {
  /** @param {RunFile} run @returns {GroupJson | undefined} */
  const groupOf = ({ byName }) => (Object.hasOwn(byName, name) ? byName[name] : undefined);
  /** @type {NonNullable<Figure['why']>} */
  const why = (run) =>
    groupOf(run) === undefined
      ? `there is no ${name} among ${Object.keys(run.byName).join(', ') || 'no names'}`
      : undefined;
  const of = { name: text, ofCall: name, why };
  const statistic = statisticOf(word);
  if (statistic !== null) return { ...of, words: `latency of ${name}`, ...statisticFigure(groupOf, statistic) };
  if (!Object.hasOwn(OF_CALL, word)) return null;
  const { unit, words, of: read } = OF_CALL[word];
  const readCall = (/** @type {RunFile} */ run) => {
    const group = groupOf(run);
    return group === undefined ? null : read(group, run);
  };
  return { ...of, unit, words: `${words}, of ${name}`, read: readCall };
}

/** @param {string} word @returns {Figure | null} */
function durationFigure(word) {
  const [, prefix, name] = /^(?:([a-z]+)\.)?([a-z]+|p\d+(?:\.\d+)?)$/.exec(word) ?? [];
  const duration = ALSO_CALLED.get(prefix) ?? prefix ?? 'total';
  const statistic = statisticOf(name ?? '');
  if (statistic === null || !Object.hasOwn(DURATIONS, duration)) return null;
  const { words, of, censored = () => 0, isOfVerified = false } = DURATIONS[duration];
  const shownName = typeof statistic === 'number' ? `p${statistic}` : statistic;
  return {
    name: `${prefix === undefined ? '' : `${duration}.`}${shownName}`,
    words,
    isOfVerified,
    ...statisticFigure((run) => ({ latency: of(run), censored: censored(run) }), statistic),
  };
}

/**
 * @param {(run: RunFile) => {latency: DistributionJson, censored?: DistributionJson | number} | undefined} partOf
 * @param {Statistic | number} statistic
 * @returns {Pick<Figure, 'unit' | 'read' | 'bounds'>}
 */
function statisticFigure(partOf, statistic) {
  return {
    unit: 'us',
    read: (run) => {
      const part = partOf(run);
      return part === undefined ? null : boundsOf(part.latency, 0, statistic).us;
    },
    bounds: (run) => {
      const part = partOf(run);
      if (part === undefined) return { us: null, atMostUs: Infinity, censored: 0 };
      const { latency, censored = 0 } = part;
      const times = typeof censored === 'number' ? censored : censored.count;
      return { ...boundsOf(latency, censored, statistic), censored: times };
    },
  };
}

const RANGE_WARNING = 0.6;

/** @param {SocketsReading} reading @returns {string[]} warnings */
export function socketWarnings({ range: { ports }, endpoints }) {
  const short = endpoints.filter(({ portsInUse }) => portsInUse >= RANGE_WARNING * ports);
  return short.map(
    ({ portsInUse, portsLeft }) =>
      `the sockets of this machine may use ${portsInUse} of ${ports} ephemeral ports, ${portsLeft} are left: without one no connection can be opened`,
  );
}
