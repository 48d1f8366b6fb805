import { COUNTS, statesGas } from './figures.js';
import {
  COUNTERS,
  SAME_TIME,
  addText,
  byPosition,
  first,
  histogram,
  knownOf,
  latestOrFirst,
  latestOrSum,
  listed,
  max,
  meanOrFirst,
  meanOrMax,
  meanOrSum,
  merge,
  min,
  namedEntries,
  onPage,
  sum,
  sumText,
  sumOrMax,
  unknownIfAny,
} from './merge.js';
import { FACTS, OF_ROW, OF_RUN } from './observed.js';
import { TOUCHED } from './reorgs.js';

/**
 * @import { Check } from '../contracts/load.d.ts'
 * @import { AuditReport, ReorgEvent, Reorgs } from '../contracts/run-file.d.ts'
 * @import { Rule } from './merge.js'
 */

/** How the figures of intervals, threads and instances are merged, and what the Prometheus page shows of them. */

/** Bounds the memory if a workload uses unlimited names: further names go into one group. */
export const MAX_GROUPS = 64;

/** Lists of the run file are bounded. */
const LISTED = Object.freeze({
  reorgs: 100,
  endpointEvents: 200,
  audit: 100,
  resolutions: 1000,
  stops: 20,
});

/** A count of a later version adds up as well. @type {Rule} */
export const COUNTED = {
  each: sum,
  members: Object.fromEntries(
    Object.entries(COUNTS).map(([name, { family = `stress_${name}_total`, help = '', outcome }]) => {
      return [name, onPage(sum, family, help, outcome === undefined ? {} : { outcome })];
    }),
  ),
};

/** All threads and instances see the same blocks, but each only its own transactions in them. @type {Rule} */
export const BLOCKS = {
  sameTime: (a, b) => ({ ...(a.count > 0 ? a : b), ours: a.ours + b.ours }),
  members: {
    count: onPage(sum, 'stress_blocks_total', 'Blocks seen'),
    firstNumber: first,
    lastNumber: onPage(latestOrFirst, 'stress_block_number', 'Number of the last block'),
    firstSeenAtMs: first,
    lastSeenAtMs: latestOrFirst,
    ours: onPage(sum, ...ofSenders('true')),
    aboveMaxFee: sum,
    transactions: onPage(sum, ...ofSenders('false'), ({ transactions, ours }) => transactions - ours),
    gasUsed: onPage(sum, 'stress_block_gas_used_total', 'Gas used by these blocks', {}, (blocks) =>
      statesGas(blocks) ? blocks.gasUsed : null,
    ),
    own: { members: { transactions: sum, gasUsed: sum } },
    gasLimit: onPage(latestOrFirst, 'stress_block_gas_limit', 'Gas limit of the last block', {}, ({ gasLimit }) =>
      gasLimit === 0 ? null : gasLimit,
    ),
    fullnessSum: onPage(
      sum,
      'stress_block_fullness_total',
      'Shares of the gas limit used by these blocks, added up',
      {},
      ({ gasLimit, fullnessSum }) => (gasLimit === 0 ? null : fullnessSum),
    ),
    fullness: COUNTERS,
    full: sum,
    gapMaxMs: { ...max, zero: () => 0 },
    skewMinMs: min,
    skewMaxMs: onPage(
      max,
      'stress_block_skew_seconds',
      'Most by which a block was seen after its timestamp, in the last interval',
    ),
    skewSumMs: sum,
  },
};

/** @param {string} ours @returns {[string, string, {ours: string}]} */
function ofSenders(ours) {
  return ['stress_block_transactions_total', 'Transactions in these blocks, ours and those of others', { ours }];
}

/** @param {string} statistic @returns {[string, string, {statistic: string}]} */
function loopDelay(statistic) {
  return ['stress_event_loop_delay_seconds', 'By how much the event loop was late in the last interval', { statistic }];
}

/** The event loop of a thread; the CPU times are known on Linux only. @type {Rule} */
export const LOOP = {
  members: {
    utilization: onPage(
      meanOrMax,
      'stress_event_loop_utilization',
      'Share of the last interval in which the event loop was busy',
    ),
    delayMeanUs: onPage(meanOrMax, ...loopDelay('mean')),
    delayP99Us: onPage(max, ...loopDelay('p99')),
    delayMaxUs: onPage(max, ...loopDelay('max')),
    gcUs: onPage(sum, 'stress_gc_seconds_total', 'Time spent collecting garbage'),
    cpuUs: sumOrMax,
    waitedUs: sumOrMax,
  },
};

const POOL = Object.freeze(['stress_pool_transactions', "Transactions in the node's pool, by state"]);

/** Probe readings: counters add up; of other values the worse one is kept. @type {Rule} */
export const READINGS = {
  members: {
    self: {
      members: {
        cpuUs: onPage(sum, 'stress_process_cpu_seconds_total', 'CPU time of the generator'),
        rssBytes: onPage(max, 'stress_process_resident_memory_bytes', 'Resident memory of the generator'),
      },
    },
    loop: LOOP,
    connections: {
      members: {
        opened: onPage(sum, 'stress_connections_opened_total', 'Connections opened'),
        reused: onPage(sum, 'stress_connections_reused_total', 'Requests over a connection that was open already'),
      },
    },
    sockets: {
      members: {
        timeWait: onPage(max, 'stress_time_wait_sockets', 'Sockets of this machine in TIME_WAIT'),
        range: latestOrFirst,
        endpoints: namedEntries('endpoint', {
          members: {
            endpoint: latestOrFirst,
            timeWait: max,
            portsInUse: onPage(max, 'stress_ports_used', 'Ephemeral ports that the sockets of this machine may use'),
            portsLeft: onPage(min, 'stress_ports_left', 'Ephemeral ports still free'),
          },
        }),
      },
    },
    pool: {
      members: {
        pending: onPage(max, POOL[0], POOL[1], { state: 'pending' }),
        queued: onPage(max, POOL[0], POOL[1], { state: 'queued' }),
      },
    },
    // All instances watch the same node.
    node: {
      sameTime: (a) => a,
      members: {
        cpuUs: onPage(sum, 'stress_node_cpu_seconds_total', 'CPU time of the node'),
        rssBytes: onPage(max, 'stress_node_resident_memory_bytes', 'Resident memory of the node'),
        threads: onPage(max, 'stress_node_threads', 'Threads of the node'),
      },
    },
    // A metrics page does not tell counters from gauges, so neither a sum nor a maximum is right for all.
    metrics: latestOrFirst,
    why: { each: knownOf((a, b) => b) },
  },
  after: (readings) => {
    const why = Object.entries(readings.why ?? {}).filter(([name]) => (readings[name] ?? null) === null);
    return { ...readings, why: Object.fromEntries(why) };
  },
};

/** Distributions of operations that were due in the window, or that were not. */
const LATENCIES = { each: histogram };

const GAS = { members: { operations: sum, used: sum } };

/** Operations of one name, endpoint or stage of the load. */
export const GROUP = {
  members: {
    // Stages of the load have all counts.
    counts: { each: sum, members: { verified: sum, failed: sum, timedOut: sum, abandoned: sum } },
    windowVerified: sum,
    failedInWarmUp: sum,
    gas: GAS,
    sumUs: sum,
    failures: COUNTERS,
    latency: histogram,
    censored: histogram,
  },
};
/** @type {Rule} */
const GROUPS = { each: GROUP, most: MAX_GROUPS };

const HALVES = byPosition(COUNTERS);

/** Figures that are recorded operation by operation. @type {Rule} */
export const STATS = {
  members: {
    startUs: max,
    endUs: max,
    counts: COUNTERS,
    window: COUNTERS,
    gas: COUNTERS,
    failures: COUNTERS,
    halves: HALVES,
    inside: LATENCIES,
    outside: LATENCIES,
    byName: GROUPS,
    byEndpoint: { each: GROUP },
    byStage: { each: GROUP },
    facts: FACTS,
  },
};

/** A row of the run file. @type {Rule} */
export const ROW = {
  members: {
    startMs: min,
    endMs: onPage(max, 'stress_load_elapsed_seconds', 'From the start of the load to the end of the last interval'),
    tps: onPage(meanOrSum, 'stress_tps', 'Verified operations per second of the last interval whose blocks are known'),
    perSecond: { members: { blocks: meanOrFirst, transactions: meanOrFirst, ours: meanOrSum, gas: meanOrFirst } },
    counts: COUNTED,
    failures: { each: onPage(sum, 'stress_failures_total', 'Operations that failed, by code'), tag: 'code' },
    inFlight: onPage(latestOrSum, 'stress_in_flight', 'Operations in flight at the end of the last interval'),
    byEndpoint: { each: COUNTERS },
    latency: onPage(histogram, 'stress_latency_seconds', 'From due to verified, of verified operations'),
    lag: onPage(histogram, 'stress_lag_seconds', 'From due to begun'),
    stages: { each: COUNTERS },
    blocks: BLOCKS,
    probes: READINGS,
    ...OF_ROW,
    silence: knownOf((a, b) => (a.ms > b.ms ? a : b)),
  },
};

/** Rows with the histograms of stages. @type {Rule} */
export const INTERVALS = {
  members: {
    ...ROW.members,
    stages: {
      each: onPage(histogram, 'stress_stage_seconds', 'The stages of the latency, which add up to it'),
      tag: 'stage',
    },
    facts: FACTS,
  },
};

const REORG = {
  members: { atMs: min, depth: max, operations: sum, touched: listed(TOUCHED), isComplete: knownOf((a, b) => a && b) },
};
/** Several threads or instances see the same reorg: it becomes one event with the operations of all. @type {Rule} */
const SAME_REORGS = knownOf((/** @type {ReorgEvent[]} */ a, /** @type {ReorgEvent[]} */ b) => {
  const byBlock = (/** @type {ReorgEvent} */ event) => ({ [`${event.blockNumber}:${event.blockHash}`]: event });
  const events = [...a, ...b].map(byBlock).reduce((all, event) => merge({ each: REORG }, all, event), {});
  return Object.values(events).sort((one, other) => one.atMs - other.atMs);
});
/** @type {Rule} */
export const REORGS = {
  sameTime: (/** @type {Reorgs} */ a, /** @type {Reorgs} */ b) => {
    const events = merge(SAME_REORGS, a.events, b.events);
    return {
      count: Math.max(events.length, a.count, b.count),
      deepest: Math.max(a.deepest, b.deepest),
      operations: a.operations + b.operations,
      events: events.slice(0, LISTED.reorgs),
    };
  },
  members: { count: sum, deepest: max, operations: sum, events: listed(LISTED.reorgs) },
};

/** With several endpoints one thread may get responses while another does not: the shorter silence counts. @type {Rule} */
const SILENCE = knownOf((a, b) => {
  const { silentMs, words } = a.silentMs <= b.silentMs ? a : b;
  const past = (a.past?.ms ?? 0) <= (b.past?.ms ?? 0) ? a.past : b.past;
  return {
    ...{ silentMs, stillMs: Math.min(a.stillMs, b.stillMs), words: words || a.words || b.words },
    ...(past !== undefined && { past }),
  };
});

/** If one thread or instance polls, the resolution of polling applies. */
const HEAD_SOURCE = knownOf((a, b) => (a === 'poll' ? a : b === 'poll' ? b : a));

/** @type {Rule} */
const BATCHES = { members: { limit: min, largest: max, refused: sum, why: first } };

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
    samplesDropped: unknownIfAny((a, b) => a + b),
    inclusionResolutionMs: max,
    headSource: HEAD_SOURCE,
    presigned: COUNTERS,
    resubmissions: COUNTERS,
    refusals: { each: { members: { count: sum, words: first } } },
    nodeLimits: { members: { perWallet: min, pool: sum } },
    stops: listed(LISTED.stops),
    pauses: COUNTERS,
    storm: COUNTERS,
    rpcCalls: COUNTERS,
    transport: COUNTERS,
    batches: BATCHES,
    submissionBatches: BATCHES,
    endpoints: byPosition({
      members: { requests: sum, failures: sum, left: sum, awayMs: sum, events: listed(LISTED.endpointEvents) },
    }),
    arrivalSeed: unknownIfAny((a, b) => (a === b ? a : null)),
    reorgs: REORGS,
    failureWords: { members: {} },
  },
};

/** @type {Rule} */
const ADDED_STATS = knownOf((a, b) => a.add(b));

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
    interval: knownOf((a, b) => merge(ENGINE_REPORT, a, b, SAME_TIME)),
    rest: ADDED_STATS,
    // The window ends with its last part.
    window: { members: { startUs: min, endUs: max } },
    generator: GENERATOR,
    traffic: GENERATOR,
    violation: first,
    spread: {
      members: { spans: knownOf((a, b) => [...a, ...b]), settledUs: min, sightedUs: min, periodUs: max, spanUs: max },
    },
  },
};

/** Different texts of the environments that are listed. */
const DISTINCT = 3;

const wei = unknownIfAny(addText);

/** @type {Rule} */
const TEXTS = knownOf((/** @type {string} */ a, /** @type {string} */ b) => {
  const all = a.split(' | ');
  if (all.includes(b) || all.includes('...')) return a;
  return [...all, all.length < DISTINCT ? b : '...'].join(' | ');
});

/** A failed check takes precedence over one that could not be made, and that over one that holds. */
const CHECK = knownOf((/** @type {Check} */ a, /** @type {Check} */ b) => {
  const worse = [a, b].find(({ holds }) => holds === false) ?? [a, b].find(({ holds }) => holds === null);
  if (worse !== undefined && (a.holds !== b.holds || worse.holds === null)) return worse;
  const isNumeric = [a.expected, b.expected, a.found, b.found].every((one) => /^-?\d+$/.test(one ?? ''));
  if (!isNumeric) return worse ?? a;
  return { ...a, expected: addText(a.expected ?? '', b.expected ?? ''), found: addText(a.found ?? '', b.found ?? '') };
});

const AUDIT_MEMBERS = {
  // Counts are added; other members stay as they are.
  each: knownOf((a, b) => (typeof a === 'number' ? a + b : a)),
  members: {
    effectsOnChain: sumText,
    bounds: { each: sumText },
    mismatches: listed(LISTED.audit),
    foreign: listed(LISTED.audit),
    resolutions: listed(LISTED.resolutions),
    checks: namedEntries('name', CHECK),
  },
};
/** Each audit covers its own wallets. */
const AUDIT = knownOf((/** @type {AuditReport} */ a, /** @type {AuditReport} */ b) => {
  const { blockNumber, blockHash } = b.blockNumber > a.blockNumber ? b : a;
  return { ...merge(AUDIT_MEMBERS, a, b), blockNumber, blockHash };
});

const ENVIRONMENT = {
  members: {
    node: TEXTS,
    platform: TEXTS,
    cpu: TEXTS,
    endpoint: TEXTS,
    clientVersion: TEXTS,
    cores: min,
    memoryBytes: min,
    chainId: first,
    genesisHash: first,
    blockGasLimit: first,
  },
};

/** The rates of all instances add up. */
const RATE_STAGE = {
  members: {
    fromPerSecond: sum,
    toPerSecond: sum,
    counts: COUNTERS,
    tps: unknownIfAny((a, b) => a + b),
    latency: histogram,
    censored: histogram,
  },
};

/** A run file, without its intervals, and that of another instance. @type {Rule} */
export const RUN = {
  members: {
    counts: COUNTERS,
    inFlight: sum,
    gas: COUNTERS,
    failures: COUNTERS,
    failureWords: { members: {} },
    reorgs: REORGS,
    latency: {
      members: {
        total: histogram,
        fromStart: histogram,
        timedOut: histogram,
        censored: histogram,
        fromStartCensored: histogram,
        halves: HALVES,
        stages: { each: histogram },
      },
    },
    ...OF_RUN,
    lag: histogram,
    byName: GROUPS,
    byEndpoint: GROUPS,
    byStage: namedEntries('stage', RATE_STAGE),
    blocks: BLOCKS,
    probes: READINGS,
    generator: GENERATOR,
    audit: AUDIT,
    spending: {
      members: { capWei: wei, setUpWei: wei, leftWei: wei, spentWei: wei, transactions: unknownIfAny((a, b) => a + b) },
    },
    environment: ENVIRONMENT,
    unmeasured: { members: {} },
  },
};
