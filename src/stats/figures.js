import { Distribution, STATISTICS, boundsOf } from './histogram.js';
import { COUNTS, MEASURED } from './metrics.js';

/**
 * The figures of a run that thresholds and studies can name, and how to read each of a run file.
 *
 * @import { Counts, DistributionJson, Figure, GroupJson, SocketsReading } from '../types.d.ts'
 * @import { Bounds, Statistic } from './histogram.js'
 * @import { MeasuredRun } from './run-file.js'
 *
 * @typedef {Bounds & {censored: number}} CensoredBounds with the number of censored operations
 */

/** How counts of operations due in the window are read. @type {Record<string, (run: MeasuredRun) => number>} */
const READ = {
  verified: (run) => run.latency.total.count - censoredOf(run).count,
  failed: sinceWindow('counts', 'failed'),
  timedOut: ({ latency }) => latency.timedOut.count,
};

/** @type {readonly Figure[]} */
export const FIGURES = Object.freeze([
  rate('tps', 'verified operations per second of the window', 'verifiedPerSecond', 'TPS'),
  rate('achieved', 'of the operations due in the window those verified, per second of it', 'achievedPerSecond'),
  {
    name: 'held',
    unit: 'percent',
    label: 'rate held',
    words:
      'of the rate at which operations were due in the window, the share at which they were verified, with the growth of their queue',
    better: 'higher',
    read: heldPercent,
    why: ({ unmeasured }) => unmeasured['/rates/askedPerSecond'] ?? 'nothing was due in the window',
  },
  rate('asked', 'operations due per second of the window, where a rate was asked for', 'askedPerSecond'),
  rate('attempted', 'operations started per second of the window', 'attemptedPerSecond'),
  rate('accepted', 'hashes read back per second of the window', 'acceptedPerSecond'),
  rate('included', 'operations seen in a block per second of the window', 'includedPerSecond'),
  {
    name: 'gas',
    unit: 'gasPerSecond',
    label: 'gas per s',
    words: 'gas per second of the window that the transactions of this run used',
    better: 'higher',
    read: (run) => {
      const perOperation = gasPerOperation(run);
      if (perOperation === null || run.window.durationMs === 0) return null;
      const { ours, transactions, gasUsed } = run.blocks;
      return (1000 * (ours === transactions ? gasUsed : ours * perOperation)) / run.window.durationMs;
    },
    why: noGas,
  },
  {
    name: 'chain.gas',
    unit: 'gasPerSecond',
    label: 'chain gas per s',
    words: 'gas per second of the window that all transactions in its blocks used',
    better: 'higher',
    read: ({ blocks, window: { durationMs } }) => (durationMs === 0 ? null : (1000 * blocks.gasUsed) / durationMs),
    why: () => 'the window has no length',
  },
  {
    name: 'gas.op',
    unit: 'gas',
    label: 'gas per operation',
    words: 'mean gas of an operation',
    read: gasPerOperation,
    why: noGas,
  },
  fullness(
    'fullness',
    'mean share of the gas limit that the blocks used',
    ({ fullnessSum = 0, count: blocks }) => (100 * fullnessSum) / blocks,
  ),
  ...[50, 90].map((p) =>
    fullness(`fullness.p${p}`, `percentile ${p} of the share of the gas limit that a block used`, (blocks) =>
      fullnessPercentile(blocks, p),
    ),
  ),
  ...Object.entries(COUNTS).map(([key, row]) => {
    const { name = key, help = '', words = help, label = name.replace('_', ' '), better, whole, isOfWindow } = row;
    const read = (/** @type {MeasuredRun} */ { counts, window }) =>
      /** @type {Record<string, number>} */ (isOfWindow ? window.counts : counts)[key] ?? null;
    return { ...count(name, words, READ[key] ?? read, whole), label, better };
  }),
  {
    name: 'cpu',
    unit: 'us',
    label: 'generator CPU',
    words: 'CPU time of this process for a verified operation',
    read: ({ generator }) => generator.cpuUsPerVerified,
    why: ({ unmeasured }) => unmeasured['/generator/cpuUsPerVerified'],
  },
  {
    name: 'rss',
    unit: 'bytes',
    label: 'generator memory',
    words: 'most resident memory of this process',
    read: ({ generator }) => generator.peakRssBytes,
  },
  probed('sockets', {
    name: 'timewait',
    unit: 'count',
    label: 'TIME_WAIT',
    words: 'most sockets in TIME_WAIT',
    read: ({ probes }) => probes?.sockets?.timeWait ?? null,
  }),
  probed('sockets', {
    name: 'ports_left',
    unit: 'count',
    label: 'ports left',
    words: 'fewest ephemeral ports left towards an endpoint',
    better: 'higher',
    read: portsLeft,
  }),
  probed('node', {
    name: 'node.cpu',
    unit: 'percent',
    label: 'node CPU',
    words: "CPU time of the node's process, in percent of a core",
    read: nodeCpuPercent,
  }),
  probed('node', {
    name: 'node.rss',
    unit: 'bytes',
    label: 'node memory',
    words: "most resident memory of the node's process",
    read: ({ probes }) => probes?.node?.rssBytes ?? null,
  }),
  skew('avg', ({ count: blocks, skewSumMs }) => skewSumMs / blocks),
  skew('min', ({ skewMinMs }) => skewMinMs),
  skew('max', ({ skewMaxMs }) => skewMaxMs),
]);

/** @param {string} name @param {string} words @param {keyof MeasuredRun['rates']} key @param {string} [label] @returns {Figure} */
function rate(name, words, key, label = `${name} per s`) {
  return {
    name,
    label,
    words,
    unit: 'perSecond',
    better: 'higher',
    read: ({ rates }) => rates[key],
    why: ({ unmeasured }) => unmeasured[`/rates/${key}`] ?? unmeasured['/rates'],
  };
}

/** @param {string} name @param {string} words @param {Figure['read']} read @param {string} [whole] @returns {Figure} */
export function count(name, words, read, whole) {
  // With a window of no length nothing was measured, not even the absence of failures.
  const hasNoWindow = (/** @type {MeasuredRun} */ { window }) => window.durationMs === 0;
  return {
    name,
    unit: 'count',
    words,
    whole,
    read: (run) => (hasNoWindow(run) ? null : read(run)),
    why: (run) => (hasNoWindow(run) ? 'the window has no length' : undefined),
  };
}

/**
 * Counts of the whole run less those of the warm-up: failures in it do not count.
 * @param {'counts' | 'failures'} key
 * @param {string} name
 */
function sinceWindow(key, name) {
  return (/** @type {MeasuredRun} */ run) => {
    /** @param {{counts: Counts, failures: Record<string, number>}} part */
    const of = (part) => /** @type {Record<string, number>} */ (part[key])[name] ?? 0;
    // Instances may warm up at different times: a merged run has the counts of its warm-ups apart.
    const { warmup } = /** @type {any} */ (run).merged ?? {};
    if (warmup !== undefined) return of(run) - of(warmup);
    return run.intervals.reduce((sum, row) => (row.phase === 'warmup' ? sum - of(row) : sum), of(run));
  };
}

/** @param {'sockets' | 'node'} probe @param {Figure} figure @returns {Figure} */
function probed(probe, figure) {
  return { ...figure, why: ({ probes, unmeasured }) => probes?.why[probe] ?? unmeasured['/probes'] };
}

/**
 * If operations of the second half of the window waited longer than those of the first, a queue grows: with g seconds per
 * second, 1 / (1 + g) of the due operations was served. Growth that the positions of the blocks can explain does not count.
 * @param {MeasuredRun} run
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

/** @param {MeasuredRun} run */
export function portsLeft({ probes }) {
  const left = (probes?.sockets?.endpoints ?? []).map((endpoint) => endpoint.portsLeft);
  return left.length === 0 ? null : Math.min(...left);
}

/** @param {MeasuredRun} run */
export function nodeCpuPercent({ probes, window }) {
  const node = probes?.node ?? null;
  return node === null || window.durationMs === 0 ? null : (100 * node.cpuUs) / (window.durationMs * 1000);
}

/**
 * By receipts, where the workload reads them, or by the blocks in which all transactions are ours.
 * @param {MeasuredRun} run
 * @returns {number | null}
 */
function gasPerOperation({ gas, blocks }) {
  // Instances that are merged have the blocks with transactions of several of them in common.
  const all = blocks.ours === blocks.transactions ? { operations: blocks.ours, used: blocks.gasUsed } : undefined;
  const own = { operations: blocks.own?.transactions ?? 0, used: blocks.own?.gasUsed ?? 0 };
  const known = [gas, all, own].find((sums) => (sums?.operations ?? 0) > 0);
  return known === undefined ? null : known.used / known.operations;
}

/** @param {MeasuredRun} run */
function noGas({ blocks: { ours } }) {
  return ours === 0
    ? 'no operation was seen in a block of the window'
    : 'each block of the window also had transactions of others, and the workload reads no receipts';
}

/** @param {string} name @param {string} words @param {(blocks: MeasuredRun['blocks']) => number} percent @returns {Figure} */
function fullness(name, words, percent) {
  return {
    name,
    unit: 'percent',
    label: name.replace('fullness', 'block fullness').replace('.', ' '),
    words,
    better: 'higher',
    read: ({ blocks }) => (blocks.count === 0 || blocks.fullness === undefined ? null : percent(blocks)),
    why: () => 'no block was seen in the window',
  };
}

/** The nearest rank. @param {MeasuredRun['blocks']} blocks @param {number} p */
function fullnessPercentile({ fullness: counts = {}, count: blocks }, p) {
  const shares = Object.keys(counts).sort((a, b) => Number(a) - Number(b));
  let left = Math.ceil((p / 100) * blocks);
  return Number(shares.find((share) => (left -= counts[share]) <= 0) ?? shares.at(-1));
}

/** @param {string} statistic @param {(blocks: MeasuredRun['blocks']) => number | null} ms @returns {Figure} */
function skew(statistic, ms) {
  return {
    name: `skew.${statistic}`,
    unit: 'us',
    words: 'when a block was seen, less its timestamp',
    read: ({ blocks }) => (blocks.count === 0 || blocks.skewMinMs === null ? null : 1000 * (ms(blocks) ?? 0)),
    why: () => 'no block was seen in the window',
  };
}

/**
 * Durations; each has the figures avg, min, max, stddev and any percentile.
 * @type {Record<string, {words: string, of: (run: MeasuredRun) => DistributionJson, censored?: (run: MeasuredRun) => DistributionJson | number, isOfVerified?: boolean}>}
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
  visibility: ofStage('visibility', 'from there to the block seen at the endpoint that is read'),
  readback: ofStage('readBack', 'from there to the effect read back'),
});

/** Censored operations have no known stages: they count as the longest values of each stage. @param {string} stage @param {string} words */
function ofStage(stage, words) {
  return {
    words,
    of: (/** @type {MeasuredRun} */ { latency }) => latency.stages[stage] ?? new Distribution().toJSON(),
    censored: (/** @type {MeasuredRun} */ run) => censoredOf(run).count,
    isOfVerified: true,
  };
}

/** The censored operations; older run files only have those that timed out. @param {Pick<MeasuredRun, 'latency'>} run */
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
    return isKnown ? count(`failed.${code}`, words, sinceWindow('failures', code), 'started') : null;
  }
  const word = normalized(text);
  const figure = FIGURES.find(({ name }) => normalized(name) === (ALSO_CALLED.get(word) ?? word));
  return figure ?? durationFigure(word);
}

/** @param {string} text */
function normalized(text) {
  return text.toLowerCase().replace(/[_-]/g, '');
}

/** @param {string} word such as avg or p99.9 @returns {Statistic | number | null} */
function statisticOf(word) {
  if (Object.hasOwn(STATISTICS, word)) return /** @type {Statistic} */ (word);
  const percentile = Number(/^p(\d+(?:\.\d+)?)$/.exec(word)?.[1]);
  return percentile > 0 && percentile < 100 ? percentile : null;
}

/**
 * Figures of one operation name of the workload: calls.NAME.p99. Whether the name exists is known after the run only.
 * @param {string} text
 * @param {string} name
 * @param {string} word
 * @returns {Figure | null}
 */
function callFigure(text, name, word) {
  /** @param {MeasuredRun} run @returns {GroupJson | undefined} */
  const groupOf = ({ byName }) => (Object.hasOwn(byName, name) ? byName[name] : undefined);
  /** @type {NonNullable<Figure['why']>} */
  const why = (run) =>
    groupOf(run) === undefined
      ? `there is no ${name} among ${Object.keys(run.byName).join(', ') || 'no names'}`
      : undefined;
  const of = { name: text, ofCall: name, why };
  if (word === 'failed')
    return {
      ...of,
      unit: 'count',
      words: `those that failed of ${name}`,
      read: (run) => groupOf(run)?.counts.failed ?? null,
    };
  if (word === 'tps')
    return {
      ...of,
      unit: 'perSecond',
      words: `those verified per second of the window of ${name}`,
      read: (run) => {
        const group = groupOf(run);
        const { durationMs } = run.window;
        return group === undefined || durationMs === 0 ? null : (1000 * group.windowVerified) / durationMs;
      },
    };
  if (word === 'gas')
    return {
      ...of,
      unit: 'gas',
      words: `mean gas of ${name}, by receipts`,
      read: (run) => {
        const gas = groupOf(run)?.gas;
        return gas === undefined || gas.operations === 0 ? null : gas.used / gas.operations;
      },
    };
  const statistic = statisticOf(word);
  return statistic === null ? null : { ...of, words: `latency of ${name}`, ...statisticFigure(groupOf, statistic) };
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
    why: () => 'there was no such operation in the window',
  };
}

/**
 * @param {(run: MeasuredRun) => {latency: DistributionJson, censored?: DistributionJson | number} | undefined} partOf
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

const TIME_WAIT_WARNING = 10_000;
const RANGE_WARNING = 0.6;

/** @param {SocketsReading} reading @returns {string[]} warnings about the endpoints of this run */
export function socketWarnings({ range, endpoints }) {
  const warnings = [];
  for (const { endpoint, timeWait, portsInUse, portsLeft } of endpoints) {
    if (timeWait >= TIME_WAIT_WARNING)
      warnings.push(
        `${timeWait} sockets towards ${endpoint} are in TIME_WAIT: connections are closed faster than they age`,
      );
    if (portsInUse >= RANGE_WARNING * range.ports)
      warnings.push(
        `${portsInUse} of ${range.ports} ephemeral ports towards ${endpoint} are in use, ${portsLeft} are left: without one no connection can be opened`,
      );
  }
  return warnings;
}
