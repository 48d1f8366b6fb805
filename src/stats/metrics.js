import { Distribution, STATISTICS, boundsOf } from './histogram.js';
import {
  SAME_TIME,
  COUNTERS,
  both,
  either,
  first,
  histogram,
  last,
  gauge,
  listed,
  max,
  mean,
  merge,
  min,
  namedEntries,
  placed,
  sum,
  used,
} from './merge.js';

import { TOUCHED } from './reorgs.js';

/**
 * @import { Bounds, Statistic } from './histogram.js'
 * @import { Counts, DistributionJson, Figure, GroupJson, Outage, ReorgEvent, Reorgs, Unit } from '../types.d.ts'
 * @import { Rule } from './merge.js'
 * @import { MeasuredRun } from './run-file.js'
 */

/** The figures of a run, and how those of intervals, threads and instances are added. */

/** Bounds the memory if a workload uses unlimited names: further names go into one group. */
export const MAX_GROUPS = 64;

/** Lists of the run file are bounded. */
const LISTED = Object.freeze({ reorgs: 100, endpointEvents: 200 });

/** All threads and instances see the same blocks, but each only its own transactions in them. @type {Rule} */
export const BLOCKS = {
  add: (a, b, aShare) => {
    if (aShare !== SAME_TIME || a === undefined) return merge(BLOCKS_OF_INTERVALS, a, b, aShare);
    return { ...(a.count > 0 ? a : b), ours: a.ours + b.ours };
  },
};
const BLOCKS_OF_INTERVALS = {
  members: {
    count: sum,
    firstNumber: first,
    lastNumber: last,
    transactions: sum,
    ours: sum,
    gasUsed: sum,
    gasLimit: last,
    full: sum,
    gapMaxMs: max,
    skewMinMs: min,
    skewMaxMs: max,
    skewSumMs: sum,
  },
};

/** The event loop of a thread; the CPU times are known on Linux only. @type {Rule} */
export const LOOP = {
  members: {
    utilization: mean,
    delayMeanUs: mean,
    delayP99Us: max,
    delayMaxUs: max,
    gcUs: sum,
    cpuUs: used,
    waitedUs: used,
  },
};

const NODE = {
  members: { cpuUs: sum, rssBytes: max, threads: max, descriptors: max, why: last },
  after: (/** @type {any} */ { why, ...node }) => (node.descriptors === null ? { ...node, why } : node),
};

/** All instances watch the same node. @type {Rule} */
const SAME_NODE = either((a, b, aShare) => (aShare === SAME_TIME ? a : merge(NODE, a, b, aShare)));

/** Probe readings: counters add up; of other values the worse one is kept. @type {Rule} */
export const READINGS = {
  members: {
    self: { members: { cpuUs: sum, rssBytes: max } },
    loop: LOOP,
    connections: { members: { opened: sum, reused: sum } },
    sockets: {
      members: {
        timeWait: max,
        range: last,
        endpoints: namedEntries('endpoint', {
          members: { endpoint: last, timeWait: max, portsInUse: max, portsLeft: min },
        }),
      },
    },
    pool: { members: { pending: max, queued: max } },
    node: SAME_NODE,
    // A metrics page does not tell counters from gauges, so neither a sum nor a maximum is right for all.
    metrics: last,
    why: { each: either((a, b) => b) },
  },
  after: (readings) => {
    const why = Object.entries(readings.why ?? {}).filter(([name]) => (readings[name] ?? null) === null);
    return { ...readings, why: Object.fromEntries(why) };
  },
};

/** Distributions of operations that were due in the window, or that were not. */
const LATENCIES = { each: histogram };

const GROUP = {
  members: {
    counts: COUNTERS,
    windowVerified: sum,
    sumUs: sum,
    failures: COUNTERS,
    latency: histogram,
    censored: histogram,
  },
};
/** @type {Rule} */
export const GROUPS = { each: GROUP, most: MAX_GROUPS };

export const HALVES = placed(COUNTERS);

/**
 * Counts that need nothing but a row here and a line of stats/recorder.js that counts them, in `figures` of the run file
 * and of its intervals. All outputs, thresholds and studies have them.
 * @type {Readonly<Record<string, {label: string, help: string}>>} by name
 */
export const COUNTED = Object.freeze({});

/** As a run file has them: left out if there are none. @param {Record<string, number>} figures @returns {{figures?: Record<string, number>}} */
export function countedFigures(figures) {
  return Object.keys(figures).length === 0 ? {} : { figures };
}

/** Figures that are recorded operation by operation. @type {Rule} */
export const STATS = {
  members: {
    startUs: max,
    endUs: max,
    counts: COUNTERS,
    window: COUNTERS,
    figures: COUNTERS,
    failures: COUNTERS,
    halves: HALVES,
    inside: LATENCIES,
    outside: LATENCIES,
    byName: GROUPS,
    byEndpoint: { each: GROUP },
    byStage: { each: GROUP },
  },
};

/** A row of the run file. @type {Rule} */
export const ROW = {
  members: {
    startMs: min,
    endMs: max,
    counts: COUNTERS,
    figures: COUNTERS,
    failures: COUNTERS,
    inFlight: gauge,
    byEndpoint: { each: COUNTERS },
    latency: histogram,
    lag: histogram,
    stages: { each: COUNTERS },
    blocks: BLOCKS,
    probes: READINGS,
    silence: last,
  },
};

/** Rows with the histograms of stages. @type {Rule} */
export const INTERVALS = { members: { ...ROW.members, stages: LATENCIES } };

/** Several threads or instances see the same reorg: it becomes one event with the operations of all. @type {Rule} */
const SAME_REORGS = either((/** @type {ReorgEvent[]} */ a, /** @type {ReorgEvent[]} */ b) => {
  const byBlock = (/** @type {ReorgEvent} */ event) => ({ [`${event.blockNumber}:${event.blockHash}`]: event });
  const events = [...a, ...b].map(byBlock).reduce((all, event) => merge({ each: REORG }, all, event), {});
  return Object.values(events).sort((one, other) => one.atMs - other.atMs);
});
/** @type {Rule} */
export const REORGS = either((/** @type {Reorgs} */ a, /** @type {Reorgs} */ b, aShare) => {
  const isSame = aShare === SAME_TIME;
  const events = isSame ? merge(SAME_REORGS, a.events, b.events) : [...a.events, ...b.events];
  return {
    count: isSame ? Math.max(events.length, a.count, b.count) : a.count + b.count,
    deepest: Math.max(a.deepest, b.deepest),
    operations: a.operations + b.operations,
    events: events.slice(0, LISTED.reorgs),
  };
});
const REORG = {
  members: {
    atMs: min,
    depth: max,
    operations: sum,
    touched: listed(TOUCHED),
    isComplete: either((a, b) => a && b),
  },
};

/** With several endpoints one thread may get responses while another does not: the shorter silence counts. @type {Rule} */
const SILENCE = either((a, b) => {
  const { silentMs, words } = a.silentMs <= b.silentMs ? a : b;
  return {
    silentMs,
    stillMs: Math.min(a.stillMs, b.stillMs),
    retryAfterMs: Math.max(a.retryAfterMs, b.retryAfterMs),
    words: words || a.words || b.words,
  };
});

/** The time in which no thread or instance had a submission accepted. @type {Rule} */
const COMMON_STALL = {
  add: (/** @type {Outage | null | undefined} */ a, /** @type {Outage | null | undefined} */ b) => {
    if ((a ?? null) === null || (b ?? null) === null) return undefined;
    const [one, other] = /** @type {[Outage, Outage]} */ ([a, b]);
    const fromMs = Math.max(one.fromMs, other.fromMs);
    const toMs = Math.min(one.toMs ?? Infinity, other.toMs ?? Infinity);
    return fromMs > toMs ? undefined : { ...one, fromMs, toMs };
  },
};

/** If one thread or instance polls, the resolution of polling applies. */
const HEAD_SOURCE = either((a, b) => (a === 'poll' ? a : b === 'poll' ? b : a));

/** What the generator did and used: of a thread, or of an instance. @type {Rule} */
export const GENERATOR = {
  members: {
    cpuUs: sum,
    peakRssBytes: max,
    workers: sum,
    readBackRetries: sum,
    pausedMs: sum,
    failedPolls: sum,
    retiredWallets: sum,
    samplesDropped: both((a, b) => a + b),
    inclusionResolutionMs: max,
    headSource: HEAD_SOURCE,
    presigned: COUNTERS,
    resubmissions: COUNTERS,
    pauses: COUNTERS,
    rpcCalls: COUNTERS,
    transport: COUNTERS,
    batches: { members: { limit: min, largest: max, refused: sum, why: first } },
    endpoints: placed({
      members: { requests: sum, failures: sum, left: sum, awayMs: sum, events: listed(LISTED.endpointEvents) },
    }),
    submissionStall: COMMON_STALL,
    arrivalSeed: both((a, b) => (a === b ? a : null)),
    reorgs: REORGS,
    failureWords: { members: {} },
    spending: COUNTERS,
  },
};

/** @type {Rule} */
const ADDED_STATS = either((a, b) => a.add(b));

/** An interval of several threads. */
const ENGINE_REPORT = {
  members: {
    stats: ADDED_STATS,
    inFlight: sum,
    silence: SILENCE,
    warnings: { members: {} },
    reorgs: SAME_REORGS,
    loop: LOOP,
  },
};

/** What several threads have done. @type {Rule} */
export const SNAPSHOT = {
  members: {
    atUs: min,
    counts: COUNTERS,
    interval: either((a, b) => merge(ENGINE_REPORT, a, b)),
    rest: ADDED_STATS,
    // The window ends with its last part.
    window: { members: { startUs: min, endUs: max } },
    generator: GENERATOR,
    traffic: GENERATOR,
    violation: first,
  },
};

/** The figures of a run that thresholds can name, and how to read each of a run file. */

/**
 * Figures of one operation name of the workload: calls.NAME.p99. Whether the name exists is known after the run only.
 * @param {string} text
 * @returns {Figure | null}
 */
function callFigure(text) {
  const match = /^calls\.([\w.-]+)\.(?:(tps|failed|avg|min|max|stddev)|p(\d+(?:\.\d+)?))$/.exec(text);
  if (match === null) return null;
  const [, name, statistic, digits] = match;
  const percentile = Number(digits);
  if (digits !== undefined && !(percentile > 0 && percentile < 100)) return null;
  /** @param {Pick<MeasuredRun, 'byName'>} run */
  const groupOf = ({ byName }) => (Object.hasOwn(byName, name) ? byName[name] : undefined);
  /** @param {Unit} unit @param {string} words @param {(group: GroupJson, run: MeasuredRun) => number | null} read @returns {Figure} */
  const figure = (unit, words, read) => ({
    name: text,
    ofCall: name,
    unit,
    words: `${words} ${name}`,
    read: (run) => {
      const group = groupOf(run);
      return group === undefined ? null : read(group, run);
    },
    why: (run) =>
      groupOf(run) === undefined
        ? `there is no ${name} among ${Object.keys(run.byName).join(', ') || 'no names'}`
        : undefined,
  });
  if (statistic === 'tps')
    return figure('perSecond', 'those verified per second of the window of', ({ windowVerified }, { window }) =>
      window.durationMs === 0 ? null : (1000 * windowVerified) / window.durationMs,
    );
  if (statistic === 'failed') return figure('count', 'those that failed of', ({ counts }) => counts.failed);
  const which = /** @type {Statistic | undefined} */ (statistic) ?? percentile;
  return {
    ...figure('us', 'latency of', ({ latency }) => boundsOf(latency, 0, which).us),
    bounds: (run) => {
      const group = groupOf(run);
      if (group === undefined) return { us: null, atMostUs: Infinity, censored: 0 };
      return { ...boundsOf(group.latency, group.censored, which), censored: group.censored?.count ?? 0 };
    },
  };
}

/** @typedef {Bounds & {censored: number}} CensoredBounds with the number of censored operations */

/** Failures in the warm-up do not count. */
const MEASURED = 'from the beginning of the window to the end of the drain';

/** @type {readonly Figure[]} */
export const FIGURES = Object.freeze([
  rate('tps', 'verifiedPerSecond', 'verified operations per second of the window'),
  rate('achieved', 'achievedPerSecond', 'of the operations due in the window those verified, per second of it'),
  rate('asked', 'askedPerSecond', 'operations due per second of the window, where a rate was asked for'),
  rate('attempted', 'attemptedPerSecond', 'operations started per second of the window'),
  rate('accepted', 'acceptedPerSecond', 'hashes read back per second of the window'),
  rate('included', 'includedPerSecond', 'operations seen in a block per second of the window'),
  count('scheduled', 'operations due in the window', ({ window }) => window.counts.scheduled),
  count('dropped', 'those of them for which no wallet was idle', ({ window }) => window.counts.dropped, 'scheduled'),
  count('started', 'those of them that were started', ({ window }) => window.counts.started),
  count('verified', 'those of them that were verified, also in the drain', verifiedOf, 'started'),
  count(
    ...['timed_out', 'those of them that timed out, also in the drain'],
    ({ latency }) => latency.timedOut.count,
    'started',
  ),
  count('failed', `operations that failed ${MEASURED}`, sinceWindow('counts', 'failed'), 'started'),
  ...Object.entries(COUNTED).map(([name, { help }]) => count(name, help, ({ figures = {} }) => figures[name] ?? null)),
  count('abandoned', 'operations still open when the drain ended', ({ counts }) => counts.abandoned, 'started'),
  {
    name: 'cpu',
    unit: 'us',
    words: 'CPU time of this process for a verified operation',
    read: ({ generator }) => generator.cpuUsPerVerified,
    why: ({ unmeasured }) => unmeasured['/generator/cpuUsPerVerified'],
  },
  {
    name: 'rss',
    unit: 'bytes',
    words: 'most resident memory of this process',
    read: ({ generator }) => generator.peakRssBytes,
  },
  probed('timewait', 'count', 'most sockets in TIME_WAIT', 'sockets', ({ probes }) => probes?.sockets?.timeWait),
  probed('ports_left', 'count', 'fewest ephemeral ports left towards an endpoint', 'sockets', portsLeft),
  probed('node.cpu', 'percent', "CPU time of the node's process, in percent of a core", 'node', nodeCpuPercent),
  probed(
    'node.rss',
    'bytes',
    "most resident memory of the node's process",
    'node',
    ({ probes }) => probes?.node?.rssBytes,
  ),
  ...['avg', 'min', 'max'].map(skew),
]);

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
  queued: { words: 'from due to written to the socket', of: ({ latency }) => latency.stages.queued, ...ofVerified() },
  submit: { words: 'from there to the hash read', of: ({ latency }) => latency.stages.submit, ...ofVerified() },
  inclusion: { words: 'from there to the block seen', of: ({ latency }) => latency.stages.inclusion, ...ofVerified() },
  visibility: {
    words: 'from there to the block seen at the endpoint that is read',
    of: ({ latency }) => latency.stages.visibility ?? new Distribution().toJSON(),
    ...ofVerified(),
  },
  readback: {
    words: 'from there to the effect read back',
    of: ({ latency }) => latency.stages.readBack,
    ...ofVerified(),
  },
});

/** The censored operations; older run files only have those that timed out. @param {Pick<MeasuredRun, 'latency'>} run */
export function censoredOf({ latency }) {
  return latency.censored ?? latency.timedOut;
}

/** Censored operations have no known stages: they count as the longest values of each stage. */
function ofVerified() {
  return { censored: (/** @type {MeasuredRun} */ run) => censoredOf(run).count, isOfVerified: true };
}

/** Percentiles in lists and suggestions; any other one can be named as well. */
const PERCENTILES = ['p50', 'p75', 'p90', 'p95', 'p99', 'p99.9'];

/** The codes of docs/measurement.md; codes of transports follow the errors of the operating system. */
export const FAILURE_CODES = Object.freeze([
  ...['reverted', 'wrong_count', 'lost', 'replaced', 'nonce_too_low', 'nonce_too_high', 'nonce_in_use'],
  ...['insufficient_funds', 'underpriced', 'pool_full', 'rejected', 'hash_mismatch', 'rpc_error', 'protocol'],
  ...[
    'check_failed',
    'check_unavailable',
    'internal',
    'workload_error',
    'transport_timeout',
    'transport_refused',
    'transport_reset',
    'transport_no_ports',
  ],
]);

/** Other names: those of the summary and of the run file. */
const ALSO_CALLED = new Map(Object.entries({ attempts: 'started', latency: 'total', fromstart: 'start' }));

export function figureNames() {
  const ofDuration = [...Object.keys(STATISTICS), ...PERCENTILES];
  return [
    ...FIGURES.map(({ name }) => name),
    ...ofDuration,
    ...Object.keys(DURATIONS).flatMap((duration) => ofDuration.map((name) => `${duration}.${name}`)),
    ...FAILURE_CODES.map((code) => `failed.${code}`),
  ];
}

/** @param {string} text a name in any case, with or without - and _ @returns {Figure | null} */
export function figureOf(text) {
  const ofName = callFigure(text);
  if (ofName !== null) return ofName;
  const [, code] = /^failed\.(.+)$/.exec(text.toLowerCase().replaceAll('-', '_')) ?? [];
  if (code !== undefined) return FAILURE_CODES.includes(code) || /^transport_\w+$/.test(code) ? failure(code) : null;
  const word = normalized(text);
  const named = FIGURES.find(({ name }) => normalized(name) === (ALSO_CALLED.get(word) ?? word));
  return named ?? durationFigure(word);
}

/** @param {string} text */
function normalized(text) {
  return text.toLowerCase().replace(/[_-]/g, '');
}

/** @param {string} word @returns {Figure | null} */
function durationFigure(word) {
  const match = /^(?:([a-z]+)\.)?(?:([a-z]+)|p(\d+(?:\.\d+)?))$/.exec(word);
  if (match === null) return null;
  const [, prefix, statistic, digits] = match;
  const duration = ALSO_CALLED.get(prefix) ?? prefix ?? 'total';
  if (!Object.hasOwn(DURATIONS, duration)) return null;
  const { words, of, censored = () => 0, isOfVerified = false } = DURATIONS[duration];
  const percentile = Number(digits);
  const isPercentile = percentile > 0 && percentile < 100;
  if (!isPercentile && !Object.hasOwn(STATISTICS, statistic ?? '')) return null;
  const which = isPercentile ? percentile : /** @type {Statistic} */ (statistic);
  return {
    name: `${prefix === undefined ? '' : `${duration}.`}${statistic ?? `p${percentile}`}`,
    unit: 'us',
    words,
    isOfVerified,
    read: (run) => boundsOf(of(run), 0, which).us,
    bounds: (run) => {
      const others = censored(run);
      return { ...boundsOf(of(run), others, which), censored: typeof others === 'number' ? others : others.count };
    },
    why: () => 'there was no such operation in the window',
  };
}

/** @param {string} name @param {keyof MeasuredRun['rates']} key @param {string} words @returns {Figure} */
function rate(name, key, words) {
  return {
    name,
    unit: 'perSecond',
    words,
    read: ({ rates }) => rates[key],
    why: ({ unmeasured }) => unmeasured[`/rates/${key}`] ?? unmeasured['/rates'],
  };
}

/** @param {string} name @param {string} words @param {Figure['read']} read @param {string} [whole] @returns {Figure} */
function count(name, words, read, whole) {
  // With a window of no length nothing was measured, not even the absence of failures.
  const hasNoWindow = (/** @type {MeasuredRun} */ { window }) => window.durationMs === 0;
  return {
    name,
    unit: 'count',
    words,
    read: (run) => (hasNoWindow(run) ? null : read(run)),
    why: (run) => (hasNoWindow(run) ? 'the window has no length' : undefined),
    ...(whole === undefined ? {} : { whole }),
  };
}

/** @param {string} code @returns {Figure} */
function failure(code) {
  return count(`failed.${code}`, `operations that failed so ${MEASURED}`, sinceWindow('failures', code), 'started');
}

/** @param {MeasuredRun} run */
function verifiedOf(run) {
  return run.latency.total.count - censoredOf(run).count;
}

/**
 * Counts of the whole run less those of the warm-up.
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

/**
 * @param {string} name
 * @param {Unit} unit
 * @param {string} words
 * @param {'sockets' | 'node'} probe
 * @param {(run: MeasuredRun) => number | null | undefined} read
 * @returns {Figure}
 */
function probed(name, unit, words, probe, read) {
  return {
    name,
    unit,
    words,
    read: (run) => read(run) ?? null,
    why: ({ probes, unmeasured }) => probes?.why[probe] ?? unmeasured['/probes'],
  };
}

/** @param {MeasuredRun} run */
function portsLeft({ probes }) {
  const left = (probes?.sockets?.endpoints ?? []).map((endpoint) => endpoint.portsLeft);
  return left.length === 0 ? null : Math.min(...left);
}

/** @param {MeasuredRun} run */
export function nodeCpuPercent({ probes, window }) {
  const node = probes?.node ?? null;
  return node === null || window.durationMs === 0 ? null : (100 * node.cpuUs) / (window.durationMs * 1000);
}

/** @param {string} statistic avg, min or max @returns {Figure} */
function skew(statistic) {
  return {
    name: `skew.${statistic}`,
    unit: 'us',
    words: 'when a block was seen, less its timestamp',
    read: ({ blocks: { count: n, skewSumMs, skewMinMs, skewMaxMs } }) => {
      if (n === 0 || skewMinMs === null || skewMaxMs === null) return null;
      return 1000 * (statistic === 'avg' ? skewSumMs / n : statistic === 'min' ? skewMinMs : skewMaxMs);
    },
    why: () => 'no block was seen in the window',
  };
}
