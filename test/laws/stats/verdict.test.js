import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rateNotHeld } from '../../../src/stats/growth.js';
import { noBlocks } from '../../../src/stats/blocks.js';
import { checkThresholds, parseThreshold } from '../../../src/stats/thresholds.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { actorsText } from '../../../src/stats/sample.js';
import { inFlightNeeded, judge } from '../../../src/stats/verdict.js';
import { distributionOf, readingsOf, rowOf, runFileOf } from '../../helpers/samples.js';

/** @import { BlockTotals, Readings, RunFile } from '../../../src/contracts/run-file.d.ts' */

const LOOP = { utilization: 0.41, delayMeanUs: 500, delayP99Us: 20_000, delayMaxUs: 90_000, gcUs: 0 };
const RANGE = { from: 32_768, to: 60_999, ports: 28_232 };

/** @param {number} portsLeft @returns {NonNullable<Readings['sockets']>} */
function socketsOf(portsLeft) {
  const endpoint = { endpoint: 'all', timeWait: 3, portsInUse: RANGE.ports - portsLeft, portsLeft };
  return { timeWait: 3, range: RANGE, endpoints: [endpoint] };
}

/**
 * 10 s of a closed loop: 200 wallets on a chain with 100 blocks, each operation in the next of them, nothing wrong.
 * @param {object} [given]
 * @param {Partial<Readings>} [given.probes]
 * @param {number} [given.latencyUs]
 * @param {number} [given.fastestUs]
 * @param {number} [given.submitUs]
 * @param {number} [given.doneShare] of what the wallets do with this latency
 * @param {Partial<BlockTotals>} [given.blocks]
 * @param {Partial<RunFile['generator']>} [given.generator]
 * @param {Record<string, unknown>} [given.config]
 * @param {Record<string, unknown>} [given.environment]
 * @param {Partial<RunFile['counts']>} [given.counts]
 * @returns {RunFile}
 */
function closedRun({
  probes = {},
  latencyUs = 100_000,
  fastestUs = latencyUs,
  submitUs = 3000,
  doneShare = 1,
  blocks,
  generator,
  config,
  environment,
  counts,
} = {}) {
  const run = runFileOf();
  const stages = {
    queued: distributionOf(1000),
    submit: distributionOf(submitUs),
    inclusion: distributionOf(latencyUs - submitUs - 5000),
    readBack: distributionOf(4000),
  };
  const latencies = distributionOf(fastestUs, latencyUs, latencyUs);
  const rows = [0, 1, 2, 3].map((i) =>
    rowOf({ startMs: 2500 * i, endMs: 2500 * (i + 1), inFlight: 200, latency: distributionOf(latencyUs) }),
  );
  const own = { threads: 200, inFlight: 1, ...config };
  return {
    ...run,
    config: { ...run.config, ...own },
    rates: {
      ...run.rates,
      verifiedPerSecond: (doneShare * Number(own.threads) * Number(own.inFlight) * 1e6) / latencyUs,
    },
    environment: { ...run.environment, roundTripMs: 1, ...environment },
    window: {
      ...run.window,
      durationMs: 10_000,
      counts: { ...run.window.counts, scheduled: 20_000, verified: 20_000 },
    },
    counts: { ...run.counts, started: 20_000, verified: 20_000, failed: 0, timedOut: 0, ...counts },
    failures: {},
    latency: { ...run.latency, total: latencies, fromStart: latencies, stages },
    intervals: [...rows, rowOf({ phase: 'drain', startMs: 10_000, endMs: 11_000, inFlight: 9000 })],
    blocks: { ...noBlocks(), count: 100, gasUsed: 860_000_000, gasLimit: 1_000_000_000, ...blocks },
    generator: { ...run.generator, ...generator },
    probes: readingsOf({ loop: LOOP, sockets: socketsOf(20_000), ...probes }),
  };
}

/** A node whose CPU was watched. @param {number} cores @returns {Partial<Readings>} */
const nodeOf = (cores) => ({ node: { cpuUs: cores * 10_000_000, rssBytes: 0, threads: 9 } });

/** Plain calls of 10 users. @param {number[]} latenciesUs @param {Partial<Readings>} [probes] @returns {RunFile} */
function callRun(latenciesUs, probes) {
  const run = closedRun({ probes, config: { threads: 10 }, environment: { inclusion: null } });
  const none = distributionOf();
  const total = distributionOf(...latenciesUs);
  return {
    ...run,
    blocks: noBlocks(),
    latency: { ...run.latency, total, stages: { queued: none, submit: total, inclusion: none, readBack: none } },
  };
}

/** Rows of 2.5 s. @param {RunFile} run @param {number[][]} latenciesUs of each row @returns {RunFile} */
function withRows(run, latenciesUs) {
  const rows = latenciesUs.map((us, i) =>
    rowOf({ startMs: 2500 * i, endMs: 2500 * (i + 1), inFlight: 10, latency: distributionOf(...us) }),
  );
  return { ...run, intervals: rows };
}

/**
 * An open loop over 10 s.
 * @param {{asked?: number, achieved?: number, dropped?: number, verified?: number, lagUs?: number[], latencies?: number[]} & Parameters<typeof closedRun>[0]} given
 * @returns {RunFile}
 */
function openRun({ asked = 500, achieved = 499, dropped = 0, verified = 4990, lagUs = [300], ...given }) {
  const { latencies = [500_000, 500_000], ...closed } = given;
  const run = closedRun({ blocks: { count: 0 }, ...closed });
  const scheduled = asked * 10;
  const counts = { ...run.window.counts, scheduled, dropped, started: scheduled - dropped, verified };
  const ms = 10_000 / latencies.length;
  return {
    ...run,
    window: { ...run.window, counts },
    rates: { ...run.rates, askedPerSecond: asked, achievedPerSecond: achieved, verifiedPerSecond: verified / 10 },
    latency: { ...run.latency, halves: halvesOf(latencies) },
    lag: distributionOf(...lagUs),
    intervals: latencies.map((us, i) =>
      rowOf({
        startMs: ms * i,
        endMs: ms * (i + 1),
        inFlight: 80,
        latency: distributionOf(us),
      }),
    ),
  };
}

/** @param {{mean?: number, pausedMs?: number, target?: number, samples?: number}} given mean: depth of the pool @returns {RunFile['pace']} */
function paceOf({ mean = 0, pausedMs = 0, target = 500, samples = 100 }) {
  const depth = samples === 0 ? null : { samples, near: 0, sum: samples * mean, min: 0, max: mean };
  return { poolTarget: target, depth, maxBaseFeeWei: '1', pauses: 1, pausedMs };
}

/** @param {number[]} latencies @returns {RunFile['latency']['halves']} */
function halvesOf(latencies) {
  const middle = latencies.length / 2;
  const sumOf = (/** @type {number[]} */ half) => ({ count: half.length, sumUs: half.reduce((a, b) => a + b, 0) });
  return [sumOf(latencies.slice(0, middle)), sumOf(latencies.slice(middle))];
}

/** @param {Partial<NonNullable<RunFile['generator']['pauses']>>} given */
const pausesOf = (given) => ({ pauses: { limitAnswers: 0, limitedMs: 0, unansweredMs: 0, ...given } });

/** @param {number} fromMs @param {number} [toMs] */
const outageOf = (fromMs, toMs) => ({ outages: [{ fromMs, toMs, words: 'connection refused' }] });

/** @returns {RunFile} */
function awayAndDropped() {
  const run = openRun({ achieved: 494, dropped: 10, generator: outageOf(3000, 4000) });
  const [first, ...rest] = run.intervals;
  return { ...run, intervals: [{ ...first, counts: { ...first.counts, dropped: 10 } }, ...rest] };
}

/** An event loop other than LOOP. @param {Partial<NonNullable<Readings['loop']>>} given */
const loopOf = (given) => ({ probes: { loop: { ...LOOP, ...given } } });

/** @param {number} utilization */
const busy = (utilization) => loopOf({ utilization });

/** Other programs have the CPUs. @param {Partial<NonNullable<Readings['loop']>>} given */
const crowded = (given) => loopOf({ cpuUs: 3e6, waitedUs: 4e6, ...given });

/** Generator and node use 1.75 of 2 cores. */
const FULL_MACHINE = { ...crowded({}).probes, self: { cpuUs: 9e6, rssBytes: 0 } };

/** An open loop with too few wallets. */
const FEW = { asked: 4000, achieved: 2000, dropped: 20_000 };
const [BLOCKS, FULL] = [{ blocks: { count: 100 } }, { blocks: { count: 100, full: 90 } }];
/** All of the rate was started, and blocks took only a part of it: after the warm-up a queue was there already. */
const FILLED = openRun({ asked: 1180, achieved: 1180, verified: 8400, latencies: [4e6, 4.6e6, 4.5e6, 5.2e6], ...FULL });
/** Operations that wait for their blocks. */
const SLOW = { latencyUs: 9e5, fastestUs: 1000 };
const RETRIED = { resubmissions: { repeated: 0, rebroadcast: 900, lost: 0, replaced: 0 } };
const [ONE, TWO] = [closedRun(), closedRun({ latencyUs: 2e5 })];

/** @param {number} started in the window */
const withStarted = (started) => ({ ...ONE, window: { ...ONE.window, counts: { ...ONE.window.counts, started } } });

const LATE = { latencyUs: 1_060_000, blocks: { count: 10 } };
const [TWO_BLOCKS, WORKERS] = [{ latencyUs: 200_000 }, { generator: { workers: 4 } }];
const SLOWER = [3.3e6, 3.5e6, 3.7e6, 3.9e6, 4.1e6, 4.3e6, 4.5e6, 4.7e6];
const GROWING = { verified: 2500, latencies: [1e6, 7e6] };
const AWAY = [[1e5], [1e5], [1e5], [1e5]];
const CALL_ROWS = [[5000, 100_000], [240_000], [250_000]];
const LIMITED = pausesOf({ limitAnswers: 30, limitedMs: 1188 });
const LIMITED_CALLS = pausesOf({ limitAnswers: 9, limitedMs: 6e4 });
const OF_BEFORE = {
  generator: { pauses: undefined, outages: undefined },
  blocks: { full: undefined, gapMaxMs: undefined },
  environment: { roundTripMs: undefined },
};

/** @param {RunFile} run @param {number[]} us @returns {RunFile} */
const withTotal = (run, ...us) => ({ ...run, latency: { ...run.latency, total: distributionOf(...us) } });

/** @param {RunFile} run @param {Partial<RunFile['latency']['stages']>} given @returns {RunFile} */
const withStages = (run, given) => ({
  ...run,
  latency: { ...run.latency, stages: { ...run.latency.stages, ...given } },
});

/** @param {Partial<RunFile['counts']>} counts */
const failing = (counts) => ({
  ...closedRun({ counts: { verified: 10, ...counts } }),
  failures: /** @type {Record<string, number>} */ (counts.failed ? { rejected: 11, reverted: 19_979 } : {}),
});

/** @param {RunFile} run @param {Partial<RunFile['generator']>} given @returns {RunFile} */
const generatedBy = (run, given) => ({ ...run, generator: { ...run.generator, ...given } });

const CONCURRENCY =
  /^200 wallets with 1 in flight each did [\d.,]+ per second with a median latency of 100 ms, 1\.0 block intervals of 100 ms; blocks were 0\.86 % full; try -t 400 or --in-flight 2$/;
const FEW_WALLETS =
  /minimum 150 ms; 20,000 of 40,000 operations were dropped because no wallet was idle; try -t 960 or --in-flight 5/;
const FAST_CALLS = /^10 users .*latency of 1\.6 ms, a request without load took 1\.0 ms; try -t 20$/;
const BACKLOG =
  /^latency grew from 2,000 ms in the first half .* to 6,000 ms in the second; 250 of 500 per second were verified/;
const IN_TURN =
  /^the first operations took 5\.0 ms or more, 99 % of the later ones 2[34]\d ms or more: they wait for each other/;
const NOT_WATCHED =
  /^96 % of the latency is waiting for a block, blocks were 0\.86 % full, the generator's event loop was busy 41 % of the time; excluded: the endpoint answered throughout, no rate limits, no refusals, blocks came steadily, blocks had room, the generator had time; to find the limit, try twice the wallets \(-t\), or give the process of the node \(--node-pid\)$/;
const BUSIEST =
  /^the event loop of the busiest worker was busy 95 % of the time; try more --workers, or a faster machine$/;

const unpaidOf = (/** @type {number} */ unpaidMs) => pausesOf({ unpaidMs });

/** @param {RunFile} run @param {number} latencyUs of operations in a warm-up */
const withWarmUp = (run, latencyUs) => {
  const warmUp = rowOf({ phase: 'warmup', startMs: 0, endMs: 10_000, latency: distributionOf(latencyUs) });
  return { ...run, intervals: [warmUp, ...run.intervals] };
};

/** @param {Record<string, number>} failures @param {Partial<RunFile['counts']>} [counts] @returns {RunFile} */
const missing = (failures, counts) => {
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
  return { ...closedRun({ counts: { verified: 10, failed, abandoned: 0, ...counts } }), failures };
};

/** @param {RunFile} run @param {Record<string, number>} classes @param {number} [accepted] in the window @returns {RunFile} */
const withRefusals = (run, classes, accepted = 0) => {
  const refusals = Object.fromEntries(
    Object.entries(classes).map(([name, count]) => [name, { count, words: `words of ${name}` }]),
  );
  const counts = { ...run.window.counts, started: 20_000, accepted };
  return { ...run, generator: { ...run.generator, refusals }, window: { ...run.window, counts } };
};

/** The others began in the warm-up, and ended in the window. @param {number} started @param {RunFile} run @returns {RunFile} */
const withStartedInWindow = (started, run) => {
  const counts = { ...run.window.counts, started, verified: 0, failed: 0 };
  return { ...run, window: { ...run.window, counts } };
};

/** All that was accepted waits. */
const PENDING = { counts: { started: 200, verified: 0, abandoned: 200 } };

/** @param {RunFile} run @returns {RunFile} */
const withNothing = (run) => {
  const counts = { ...run.window.counts, started: 200, accepted: 200, verified: 0 };
  return { ...run, window: { ...run.window, counts } };
};

/** Nearly none of its operations was verified. @param {RunFile} run @returns {RunFile} */
function timedOutOf(run) {
  const { counts } = run.window;
  const rows = run.intervals.map((row) => ({
    ...row,
    counts: { ...row.counts, verified: 0, timedOut: row.counts.timedOut + row.counts.verified },
  }));
  const timedOut = counts.timedOut + counts.verified;
  return { ...run, intervals: rows, window: { ...run.window, counts: { ...counts, verified: 0, timedOut } } };
}

/** @param {number} ms from the third second of the load on */
const stoppedFor = (ms) => ({ stops: [{ fromMs: 2000, toMs: 2000 + ms }] });
const NO_RESENDS = { repeated: 0, rebroadcast: 0, lost: 0, replaced: 0 };
const lostBy = (/** @type {number} */ lost) => ({ resubmissions: { ...NO_RESENDS, lost } });
const leftOutBy = (/** @type {number} */ leftOut) => ({ resubmissions: { ...NO_RESENDS, leftOut } });
/** Of 2,000 s, the time of all wallets. @param {Partial<RunFile['generator']['resubmissions']>} waited */
const waitedFor = (waited) => closedRun({ ...TWO_BLOCKS, generator: { resubmissions: { ...NO_RESENDS, ...waited } } });

/** For so long no look at the chain was answered, which a row says. @param {RunFile} run @param {number} ms @returns {RunFile} */
function silentFor(run, ms) {
  const [first, ...rest] = run.intervals;
  return { ...run, intervals: [{ ...first, silence: { ms, words: 'no answer in time' } }, ...rest] };
}

const REFILLS = { transactions: 1, payments: 1, valueWei: '1', gasWei: '1' };

/** Name, run, and evidence. @type {Record<string, Array<[string, RunFile, RegExp?]>>} */
const CASES = {
  'concurrency-bound': [
    ['a closed loop in step with the blocks', ONE, CONCURRENCY],
    ['five wallets', closedRun({ config: { threads: 5 } }), /^5 wallets .*-t 10 or --in-flight 2/],
    ['a generator at 60 %', closedRun(busy(0.6))],
    ['confirmations', closedRun({ latencyUs: 310_000, config: { confirmations: 2 } }), /3\.1 block intervals/],
    ['too few wallets', openRun({ ...FEW, ...BLOCKS }), /did 2,000 .*; try -t 480 or --in-flight 3 for 4,000/],
    ['too few, no paced blocks', openRun({ ...FEW, latencyUs: 2e5, fastestUs: 1.5e5 }), FEW_WALLETS],
    ['always three blocks', openRun({ ...FEW, latencyUs: 3e5, fastestUs: 3e5, ...BLOCKS }), /minimum 300 ms/],
    [
      'late timers',
      closedRun({ ...LATE, ...crowded({ delayMeanUs: 7200 }) }),
      /CPU busy 40 %.* 22 ms too high; try -t 400/,
    ],
    ['one block, beside a loop that is always busy', closedRun(busy(1))],
    ['no gas limit', closedRun({ blocks: { full: 100, gasLimit: 0 } }), /intervals of 100 ms; try -t 400/],
    ['one at a time', closedRun({ latencyUs: 9e5, config: { threads: 1 } }), /, one operation at a time/],
    ['calls as fast as the way', callRun([1500, 1600, 1900, 2100]), FAST_CALLS],
    [
      'slow calls, idle node',
      callRun([50_000, 51_000, 52_000], nodeOf(0.12)),
      /p90 52 ms, minimum 50 ms; the node used 12 %/,
    ],
    ['a pool of which more was lacking than was started', { ...withStarted(39_999), pace: paceOf({}) }],
    ['a pool that was never full', { ...ONE, pace: paceOf({ mean: 399 }) }],
    ['few pauses above a base fee', { ...ONE, pace: paceOf({ pausedMs: 2500 }) }],
    ['a full block now and then', closedRun({ blocks: { full: 40 } })],
    ['a generator just below its limit', closedRun(busy(0.89))],
    ['waiting for a CPU while timers fire on time', closedRun(crowded({ waitedUs: 3e6 }))],
    ['blocks worked off in bursts', closedRun(loopOf({ delayP99Us: 4e5 }))],
    ['lag means nothing in a closed loop', { ...ONE, lag: distributionOf(9e6) }],
    ['no port was left for one in 20,000', { ...ONE, failures: { transport_no_ports: 1 } }],
    ['few ports were left', closedRun({ probes: { sockets: socketsOf(100) } })],
    ['Retry-After for some of it', closedRun({ generator: pausesOf({ limitAnswers: 3, limitedMs: 10 }) })],
    ['gone after the window', closedRun({ generator: outageOf(10_100) })],
    ['away for a moment', closedRun({ generator: outageOf(3000, 4000) })],
    ['a few wallets run dry', { ...ONE, failures: { insufficient_funds: 20 } }],
    [
      'wallets that ran dry now and then, and were paid soon',
      { ...closedRun({ generator: unpaidOf(1e5) }), failures: { insufficient_funds: 900 }, refills: REFILLS },
    ],
    ['rate limits of the warm-up only', withWarmUp(closedRun({ generator: LIMITED }), 9e6)],
    [
      'blocks whose gas limit was lowered at the end',
      closedRun({ blocks: { gasUsed: 86e9, gasLimit: 860e6, fullness: { 50: 100 }, fullnessSum: 50 } }),
      /blocks were 50 % full/,
    ],
    [
      'a window without a block',
      { ...closedRun({ latencyUs: 9e5, config: { threads: 1 } }), rates: { ...ONE.rates, verifiedPerSecond: null } },
      /^1 wallet with 1 in flight each had a median latency of 900 ms, one operation at a time/,
    ],
    ['run files of before, with less to go by', closedRun(OF_BEFORE)],
  ],
  'node-bound': [
    ['full blocks', closedRun({ blocks: { full: 90 } }), /^90 of 100 blocks had no room for .* \(0\.86 % /],
    ['full blocks beside a saturated loop', closedRun({ blocks: { full: 90 }, ...busy(1) })],
    ['full blocks, busy wallets', openRun({ ...FEW, ...FULL }), /; 499 of 4,000 per second were verified in the /],
    ['late inclusion', openRun({ ...FEW, ...SLOW, fastestUs: 1e5, ...BLOCKS }), /waited 8\.9 block intervals/],
    ['some are left', closedRun({ ...SLOW, fastestUs: 110_000 }), /waited 8\.9 .* operation took 1\.1$/],
    ['a busy node', closedRun({ latencyUs: 2e5, probes: nodeOf(1.34) }), /^the node used 134 % of a core, 96 % /],
    ['the drain hides a backlog', openRun({ verified: 2500, latencies: [1e6, 3e6, 5e6, 7e6] }), BACKLOG],
    ['full blocks, and a queue from the start', FILLED, /^90 of 100 blocks had no room for /],
    ['a backlog of a few percent', openRun({ latencies: SLOWER }), /^latency grew from 3,600 ms/],
    ['calls that wait for each other', withRows(callRun([240_000, 250_000, 260_000]), CALL_ROWS), IN_TURN],
    ['four blocks tell something', openRun({ ...GROWING, blocks: { count: 4 } })],
  ],
  unknown: [
    ['nearly all of the gas limit is used', closedRun({ blocks: { gasUsed: 99e9 } }), /blocks were 99 % full/],
    ['most wait for one block, others for more', withTotal(ONE, 1e5, 1e5, 1e5, 1e5, 8e5)],
    ['operations without an answer', closedRun({ counts: { started: 20_000, verified: 19_700, abandoned: 300 } })],
    ['a chain that takes its time with each transaction', closedRun({ latencyUs: 900_000 })],
    ['failed looks at the chain', closedRun({ ...SLOW, generator: { failedPolls: 10, rpcCalls: { inclusion: 100 } } })],
    ['lost transactions', closedRun({ ...SLOW, generator: RETRIED })],
    ['a chain that stood still for half of the window', closedRun({ doneShare: 0.5 })],
    ['transactions that are taken one after the other', closedRun({ submitUs: 80_000 })],
    ['a busy node, in step with the blocks', closedRun({ probes: nodeOf(1.34) }), /used 134 % of a core/],
    ['slower than a block takes, and the node was not watched', TWO, NOT_WATCHED],
    ['blocks on demand', closedRun({ blocks: { count: 900 } })],
    ['slow calls, and the node was not watched', callRun([50_000, 51_000, 52_000]), /waiting for the answer/],
    ['a node that is half busy', callRun([50_000, 51_000, 52_000], nodeOf(0.7)), /70 % of a core/],
    ['less than 99 % of the rate', openRun({ achieved: 494 }), /494 of 500 per second were achieved/],
    [
      'a machine that is full: more wallets would wait for the same CPU',
      closedRun({ probes: { ...FULL_MACHINE, ...nodeOf(0.85) }, environment: { cores: 2 } }),
      /, give the generator a CPU of its own: stop other programs, or run the node on another machine$/,
    ],
    [
      'an embedded chain, and other programs have the CPU',
      closedRun({ ...TWO_BLOCKS, ...crowded({}), environment: { embeddedChain: true } }),
      /; other processes \(such as the node\) kept the CPU busy 40 % .*, give .*, or run the node on another machine$/,
    ],
    [
      'too few wallets, or a slow node: the number that the rate needs is named',
      openRun({ ...FEW, latencyUs: 5e5, fastestUs: 1e5 }),
      /20,000 of 40,000 were dropped .*; to find the limit, try -t 2400 or --in-flight 12 for 4,000 per second at this latency; or try a lower rate, or/,
    ],
    [
      'an outage, in which operations were dropped',
      awayAndDropped(),
      /10 of 5,000 were dropped because all .*, the endpoint did not answer for 1\.0 s, with 10 of those dropped, .* run again without the outage$/,
    ],
    ['no probes at all', { ...TWO, probes: null }, /waiting for a block/],
    [
      'more fails than is done, for two reasons',
      missing({ reverted: 9990, nonce_too_high: 9990 }),
      /; repair what failed first: see the failures$/,
    ],
    [
      'a chain whose blocks are slow, in a window with two of them',
      closedRun({ ...PENDING, blocks: { count: 2, gapMaxMs: 6000 } }),
    ],
    ['a tenth of the transactions are refused', missing({ underpriced: 2000 }, { verified: 18_000 })],
    ['refused for two reasons', withRefusals(missing({}, { timedOut: 19_990 }), { price: 500, nonce_high: 500 })],
    [
      'refused now and then, and timed out for another reason',
      withRefusals(missing({}, { timedOut: 19_990 }), { pool_full: 5 }, 20_000),
    ],
    [
      'blocks and answers that stopped for a few seconds: whether it made blocks is not known',
      silentFor(closedRun({ ...PENDING, blocks: { count: 20, gapMaxMs: 8000 } }), 4900),
      /, no look at the chain was answered for 4\.9 s, .*excluded: (?!the endpoint answered).*; to find the limit, run again without the outage$/,
    ],
    [
      'a quarter of the blocks are above --max-fee, and others that were not full took nothing either',
      closedRun({ ...TWO_BLOCKS, blocks: { aboveMaxFee: 30, full: 30 } }),
    ],
    ['few blocks are above --max-fee', closedRun({ ...TWO_BLOCKS, blocks: { aboveMaxFee: 20, full: 49 } })],
    ['some blocks have a base fee above --max-fee', closedRun({ ...TWO_BLOCKS, blocks: { aboveMaxFee: 40 } })],
    ['a few transactions are lost', closedRun({ ...TWO_BLOCKS, generator: lostBy(2000) })],
    [
      'blocks that were seen late, by their timestamps',
      closedRun({ ...TWO_BLOCKS, blocks: { gapMaxMs: 8000, skewMinMs: 100, skewMaxMs: 8000 } }),
    ],
    ['lost for a fifth of the time', waitedFor({ lost: 40, lostMs: 400_000 })],
    ['left out for a fifth of the time', waitedFor({ leftOut: 40, leftOutMs: 400_000 })],
    [
      'away for a fifth of the time',
      withRows(closedRun({ ...TWO_BLOCKS, generator: outageOf(2500, 4500) }), AWAY),
      /did not answer for 2\.0 s/,
    ],
    [
      'transactions that a reorg has lost',
      {
        ...closedRun({ ...TWO_BLOCKS, generator: lostBy(9000) }),
        reorgs: { count: 1, deepest: 1, operations: 9000, events: [] },
      },
    ],
    ['a moment in which stress was stopped', closedRun({ ...TWO_BLOCKS, generator: stoppedFor(400) })],
    ['a stop after the window', closedRun({ ...TWO_BLOCKS, generator: { stops: [{ fromMs: 10_500, toMs: 16_000 }] } })],
    [
      'a tenth of the time without a CPU is no advice',
      closedRun({ ...TWO_BLOCKS, ...crowded({ waitedUs: 2e6 }) }),
      /; to find the limit, try twice the wallets/,
    ],
    [
      'a chain that stands still for less than a quarter of the window',
      closedRun({ ...TWO_BLOCKS, blocks: { gapMaxMs: 2400 } }),
      /excluded: (?!.*blocks came steadily)/,
    ],
    ['more times out than is done', failing({ timedOut: 19_990 }), /, timed_out 19,990, /],
  ],
  stopped: [
    [
      'stopped for 6 s',
      closedRun({ generator: { ...stoppedFor(6000), ...outageOf(2100, 7900) } }),
      /^stress did not run for 6\.0 s of 10\.0 s, and used no CPU/,
    ],
    [
      'stopped from the end of the window on',
      closedRun({ ...TWO_BLOCKS, generator: { stops: [{ fromMs: 9800, toMs: 15_800 }] } }),
      /^stress did not run for 0\.2 s of 10\.0 s, nor for 5\.8 s after that, and used no CPU/,
    ],
    [
      'stopped, with timers that were late',
      closedRun({ latencyUs: 3e5, ...loopOf({ delayMeanUs: 52_000 }), generator: stoppedFor(1000) }),
    ],
  ],
  refused: [
    [
      'all underpriced',
      missing({ underpriced: 19_990 }),
      /^19,990 of 20,000 operations were refused, because the price was too low; give a higher --tip/,
    ],
    [
      'the first words of the node',
      withRefusals(missing({ underpriced: 19_990 }), { price: 9 }),
      /too low \("words of price"\); give/,
    ],
    [
      'nonces, until all timed out',
      withRefusals(missing({}, { timedOut: 19_990 }), { nonce_high: 990 }),
      /^19,990 of 20,000 .* nonce was too high .*; give one endpoint/,
    ],
    [
      'a pool that is full, with room in the blocks',
      withRefusals(missing({}, { timedOut: 19_990 }), { pool_full: 990, price: 10 }),
      /the pool of the node was full/,
    ],
    [
      'nonces, also of operations that began before the window',
      withStartedInWindow(12_000, withRefusals(missing({}, { timedOut: 19_990 }), { nonce_high: 990 })),
      /^19,990 of 20,000 /,
    ],
    [
      'a limit per sender',
      withRefusals(closedRun({ latencyUs: 9e5, config: { inFlight: 16 } }), { sender_limit: 200 }),
      /; give more wallets \(-t\) instead of --in-flight; Besu: --tx-pool-limit-by/,
    ],
    [
      'a small pool',
      withRefusals(closedRun({ latencyUs: 2e5, generator: { nodeLimits: { pool: 64 } } }), { pool_full: 90 }),
      /^the pool of the node keeps about 64 transactions, of 200 in flight; .* less in flight: -t 64$/,
    ],
    [
      'a pool that was full for a part of the time, in which nothing began and little failed',
      withRefusals(closedRun({ ...TWO_BLOCKS, generator: pausesOf({ refusedMs: 900_000 }) }), { pool_full: 49 }),
      /^operations waited 45 % of their time after 49 refusals .* the pool of the node was full \("words of pool_full"\)/,
    ],
    [
      'a small pool, or one that keeps one transaction of each wallet without a word',
      withRefusals(closedRun({ latencyUs: 2e5, config: { inFlight: 8 }, generator: { nodeLimits: { pool: 450 } } }), {
        pool_full: 90,
      }),
      /^the pool of the node keeps about 450 transactions, of 1,600 in flight; .* less in flight: --in-flight 2$/,
    ],
  ],
  reverted: [
    [
      '54 % reverted',
      missing({ reverted: 10_800 }, { verified: 9200 }),
      /^10,800 of 20,000 operations were reverted; correct what/,
    ],
  ],
  'fee-limit': [
    [
      'half of the blocks',
      closedRun({ ...TWO_BLOCKS, blocks: { aboveMaxFee: 50 } }),
      /^50 of 100 blocks had a base fee above --max-fee/,
    ],
    [
      'each second block, because the others are full',
      closedRun({ ...TWO_BLOCKS, blocks: { count: 15, aboveMaxFee: 7, full: 8 } }),
      /^7 of 15 blocks had a base fee above --max-fee, .*; 8 were full; give a higher --max-fee$/,
    ],
    ['also if blocks are full, which raises the base fee', closedRun({ blocks: { aboveMaxFee: 60, full: 60 } })],
  ],
  'no-blocks': [
    [
      'none in the window',
      withNothing(closedRun({ ...PENDING, blocks: { count: 0 } })),
      /^no new block was seen for 10\.0 s of 10\.0 s, and the node answered; .* longer --duration/,
    ],
    [
      'a chain that stopped',
      closedRun({ ...PENDING, blocks: { count: 20, gapMaxMs: 8000 } }),
      /^no new block was seen for 8\.0 s of 10\.0 s/,
    ],
    [
      'a chain that stopped, and an answer that was late once',
      silentFor(closedRun({ ...PENDING, blocks: { count: 20, gapMaxMs: 8000 } }), 1900),
      /^no new block was seen for 8\.0 s of 10\.0 s, and the node answered \(but for 1\.9 s\); /,
    ],
    [
      'a stall of a part of the window, and nothing else is seen',
      closedRun({ ...TWO_BLOCKS, blocks: { gapMaxMs: 4000 } }),
      /^no new block was seen for 4\.0 s of 10\.0 s, and the node answered; see why/,
    ],
  ],
  lost: [
    [
      'a pool that evicts what it took',
      closedRun({ latencyUs: 2e5, generator: { nodeLimits: { pool: 64 }, ...lostBy(248) }, config: { inFlight: 4 } }),
      /^the pool of the node keeps about 64 transactions, of 800 in flight: 248 .* gone, and sent again; .* -t 64 --in-flight 1$/,
    ],
    [
      'most of them',
      closedRun({ ...TWO_BLOCKS, generator: lostBy(9000) }),
      /^the node accepted 9,000 transactions \(20,001 operations of the window\) and did not know/,
    ],
    [
      'a few, for long',
      waitedFor({ lost: 40, lostMs: 600_000 }),
      /^the node accepted 40 .* sent again; wallets waited 30 % of their time for that; see how many/,
    ],
  ],
  'left-out': [
    [
      'blocks without any',
      withNothing(closedRun(PENDING)),
      /^100 blocks had no transaction of this run, while 200 operations .*; blocks were 0\.86 % full; give a higher --tip/,
    ],
    [
      'as recovery has seen it',
      timedOutOf(closedRun({ ...TWO_BLOCKS, generator: leftOutBy(12_000) })),
      /^blocks left out 12,000 of 20,000 operations, although they had room/,
    ],
    [
      'a few, for long',
      waitedFor({ leftOut: 40, leftOutMs: 600_000 }),
      /^blocks left out 40 of 20,000 .*; wallets waited 30 % of their time for that; give a higher --tip/,
    ],
    [
      'a base fee that rose above their offer',
      waitedFor({ leftOutMs: 600_000 }),
      /^the base fee was above what transactions offered; wallets waited 30 % of their .* --gas-price or --max-fee$/,
    ],
  ],
  'rate-bound': [
    [
      'the pool was kept full',
      { ...ONE, pace: paceOf({ mean: 400 }) },
      /^the pool had 400 transactions on average, and 500 /,
    ],
    [
      'a block took at once what the pool lacked',
      { ...withStarted(40_000), pace: paceOf({}) },
      /^the pool had 0 transactions .* 500 were asked for \(--pool-target\): each shortfall was filled /,
    ],
    [
      'as many in flight as were asked for, of a pool that is not known',
      { ...ONE, pace: paceOf({ samples: 0, target: 200 }) },
      /^200 transactions were in flight, and 200 were /,
    ],
    ['paused above a base fee', { ...ONE, pace: paceOf({ pausedMs: 2501 }) }, /^paused 25 % of the time/],
    ['an open loop that is kept up with', openRun({}), /^499 of 500 .* achieved, 0 dropped; try a higher rate /],
    ['99 % of the rate, 0.1 % dropped', openRun({ achieved: 495, dropped: 5 }), /^495 of 500 .*, 5 dropped/],
    ['an open loop without ports', openRun({ probes: { sockets: null } })],
    ['beginnings that are not late enough', openRun({ lagUs: [90_000] })],
    ['slow, but no slower later on', openRun({ verified: 2500, latencies: [5e6, 6e6] })],
    ['slower, but nothing is left over, in two rows', openRun({ latencies: [1e6, 7e6] })],
    ['one interval tells nothing', openRun({ verified: 2500, latencies: [7e6] })],
    ['a stall and then as before', openRun({ latencies: [1e5, 1e5, 1e5, 1e5, 1e5, 3e6, 1e5, 1e5] })],
    ['three blocks tell nothing', openRun({ ...GROWING, blocks: { count: 3 } })],
    [
      'held, however busy it is',
      openRun(crowded({ utilization: 0.97, delayMeanUs: 9000 })),
      /CPU busy 40 %.* 27 ms too /,
    ],
    ['held, though starts were late', openRun({ lagUs: [150_000] }), /; 1 % of the op.* begun, .* 150 ms or more/],
    ['held in full blocks', openRun(FULL)],
    ['users who rest', closedRun({ config: { thinkTimeMs: 1000 } }), /^users rested 90\.9 % of the time \(--thi/],
  ],
  'generator-bound': [
    [
      'more than a block',
      closedRun({ ...TWO_BLOCKS, ...busy(0.94) }),
      /^the generator's .* busy 94 % of the time; try more --workers, or a/,
    ],
    ['the busiest of several workers', closedRun({ ...TWO_BLOCKS, ...busy(0.95), ...WORKERS }), BUSIEST],
    ['at its limit', closedRun({ ...TWO_BLOCKS, ...busy(0.9) }), /90 %/],
    [
      'crowded',
      closedRun({ ...TWO_BLOCKS, ...crowded({ utilization: 0.94, waitedUs: 6e6 }) }),
      /; it waited for a CPU 60 % of the time; give the generator a CPU of its own: stop other programs$/,
    ],
    ['one at a time', closedRun({ ...TWO_BLOCKS, config: { threads: 1 }, ...busy(0.95) })],
    ['falling behind', openRun({ ...GROWING, ...busy(0.95) })],
    ['timers', closedRun({ latencyUs: 3e5, ...loopOf({ delayMeanUs: 52_000 }) }), /^52\.3 % .*\(busy 41 %.*, 156 ms/],
    ['late starts', openRun({ achieved: 480, dropped: 150, lagUs: [150_000], ...TWO_BLOCKS }), /^1 % .*150 ms/],
  ],
  'port-bound': [['no port', { ...ONE, failures: { transport_no_ports: 1200 } }, /^1,200 .* no local port was left/]],
  'endpoint-limited': [
    [
      'Retry-After',
      closedRun({ latencyUs: 9e5, generator: LIMITED }),
      /^33 % of the latency .* 30 rate limits of the endpoint/,
    ],
    ['calls that get 429', generatedBy(callRun([1000]), LIMITED_CALLS), /^60 % of the time of all users is waiting/],
  ],
  'endpoint-down': [
    ['gone in mid-run', closedRun({ generator: outageOf(7500) }), /^no answer from 7\.5 s on \(con.* at 10\.0 s$/],
    ['mostly away', withRows(closedRun({ generator: outageOf(2500, 9000) }), AWAY), /was away for 6\.5 s of 10\.0 s/],
    [
      'away in part, and nothing else is seen',
      withRows(closedRun({ ...TWO_BLOCKS, generator: outageOf(2500, 5500) }), AWAY),
      /was away for 3\.0 s of 10\.0 s/,
    ],
    ['gone with an end of its own', { ...ONE, end: 'endpoint_lost' }, /^the endpoint stopped/],
    ['the embedded chain ended', { ...ONE, end: 'chain_ended' }, /^the embedded chain ended/],
  ],
  funds: [
    ['dry', { ...ONE, failures: { insufficient_funds: 200 }, end: 'no_wallets' }, /^200 of 200 .*too little/],
    [
      'a dry funder',
      { ...closedRun({ generator: unpaidOf(1.2e6) }), failures: { insufficient_funds: 200 }, refills: REFILLS },
      /^wallets waited for a payment 60 % of their time \(insufficient_funds 200\); see the warnings: pay the funder more, or raise/,
    ],
    [
      'a dry funder that has ended the run',
      { ...closedRun({ generator: unpaidOf(1e5) }), end: 'no_wallets', refills: REFILLS },
      /^wallets waited for a payment 5 % of their time/,
    ],
  ],
};

describe('judge()', () => {
  for (const [verdict, rows] of Object.entries(CASES))
    for (const [name, run, evidence = /./] of rows)
      it(`${name}: ${verdict}`, () => {
        const judged = judge(run);
        assert.equal(judged?.name, verdict, judged?.evidence);
        assert.match(judged?.evidence ?? '', evidence);
        assert.doesNotMatch(judged?.evidence ?? '', /\n|NaN|undefined|Infinity|\. /);
      });

  it('reads of blocks wait for a connection as long as transactions do: generator-bound, not node-bound', () => {
    const run = closedRun({ latencyUs: 1_600_000, fastestUs: 800_000 });
    const inclusion = distributionOf(1_000_000);
    const queued = (/** @type {number} */ us) => judge(withStages(run, { queued: distributionOf(us), inclusion }));
    assert.equal(queued(540_000)?.name, 'generator-bound');
    assert.match(queued(540_000)?.evidence ?? '', /waiting in the generator, reads of blocks included: for the/);
    assert.equal(queued(1000)?.name, 'node-bound');
  });

  it('a load that was held back all the time has a verdict', () => {
    const run = closedRun();
    const counts = { ...run.window.counts, scheduled: 0, started: 0, verified: 0 };
    const intervals = run.intervals.map((row) => ({ ...row, inFlight: 0 }));
    const idle = { ...run, intervals, window: { ...run.window, counts } };
    const paused = judge({ ...idle, pace: paceOf({ pausedMs: 10_200 }) });
    assert.deepEqual([paused?.name, paused?.evidence.slice(0, 15)], ['rate-bound', 'paused 100 % of']);
    assert.equal(judge(idle), null);
  });

  it('a closed loop whose operations all began before the window, and waited for longer, has a verdict', () => {
    const run = closedRun({ blocks: { aboveMaxFee: 90 } });
    const counts = { ...run.window.counts, scheduled: 0, started: 0, accepted: 0, verified: 0 };
    const waiting = {
      ...run,
      window: { ...run.window, counts },
      counts: { ...run.counts, started: 200, verified: 200 },
    };
    assert.equal(judge(waiting)?.name, 'fee-limit');
    const [first, ...rest] = waiting.intervals;
    assert.equal(judge({ ...waiting, intervals: [{ ...first, inFlight: 0 }, ...rest] }), null);
  });

  it('the number of wallets that drops nothing follows from rate and latency', () => {
    const run = openRun({ asked: 40, achieved: 10, dropped: 300, latencyUs: 1_000_000 });
    assert.equal(inFlightNeeded(run), 48);
    assert.equal(inFlightNeeded(closedRun()), null, 'a closed loop drops nothing');
    const none = { ...run.latency, fromStart: distributionOf() };
    assert.equal(inFlightNeeded({ ...run, latency: none }), null);
  });

  it('calls that wait in the generator are no outage, unless one is not answered', () => {
    const run = closedRun({ latencyUs: 5e6, generator: outageOf(2500, 9000) });
    const away = withRows(withStages(run, { queued: distributionOf(1e8) }), AWAY);
    assert.equal(judge(away)?.name, 'generator-bound');
    assert.equal(judge({ ...away, counts: { ...away.counts, abandoned: 1, verified: 19_999 } })?.name, 'endpoint-down');
  });

  it('operations that wait for connections which a slow node keeps: no generator-bound', () => {
    const run = closedRun({ latencyUs: 2_000_000, fastestUs: 1_900_000 });
    const slow = (/** @type {number} */ us) =>
      judge(withStages(run, { queued: distributionOf(3e6), submit: distributionOf(us) }))?.name;
    assert.deepEqual([slow(3000), slow(800_000)], ['generator-bound', 'unknown']);
  });

  it('waiting in the generator for most of the time: generator-bound, and --connections is named', () => {
    const run = closedRun({ latencyUs: 200_000 });
    const slow = (/** @type {number} */ us, generator = {}) =>
      judge(generatedBy(withStages(run, { queued: distributionOf(us), inclusion: distributionOf(10) }), generator));
    assert.equal(slow(10_000_000)?.name, 'generator-bound');
    assert.match(
      slow(10_000_000)?.evidence ?? '',
      /^99\.9 % of the latency is waiting in the generator, .*--connections/,
    );
    assert.notEqual(slow(3400)?.name, 'generator-bound', 'too little to count');
    // Pauses that others asked for are no waiting in here.
    assert.notEqual(slow(10_000_000, pausesOf({ unansweredMs: 9999 }))?.name, 'generator-bound');
  });

  it('plain calls: rows without answers show an outage', () => {
    const answered = callRun([1000]);
    const run = { ...answered, counts: { ...answered.counts, verified: 19_993, failed: 7 } };
    const row = run.intervals[0];
    const rowAt = (/** @type {number} */ i, verified = 0, failures = {}) =>
      rowOf({ startMs: i * 1000, endMs: (i + 1) * 1000, counts: { ...row.counts, verified }, failures });
    const dead = (/** @type {Record<string, number>} */ failures) =>
      judge({ ...run, intervals: [rowAt(0, 9), rowAt(1, 0, failures), rowAt(2, 0, failures)] });
    assert.deepEqual(dead({ transport_refused: 7 }), {
      name: 'endpoint-down',
      evidence: 'no answer from 1.0 s on (transport_refused), until the window ended at 3.0 s',
    });
    assert.notEqual(dead({ rpc_error: 7 })?.name, 'endpoint-down', 'an error is an answer');
    assert.notEqual(dead({})?.name, 'endpoint-down', 'nothing was asked');
  });

  it('the halves of the window show a backlog even with few rows', () => {
    const run = openRun({ verified: 2500, latencies: [7e6] });
    const halves = /** @type {RunFile['latency']['halves']} */ ([
      { count: 100, sumUs: 100 * 1e6 },
      { count: 100, sumUs: 100 * 4e6 },
    ]);
    const slow = { ...run, latency: { ...run.latency, halves } };
    assert.equal(judge(slow)?.name, 'node-bound');
    assert.match(
      rateNotHeld(slow) ?? '',
      /^the rate was not held: .* short, and the rest only after the window; latency grew from 1,000 ms .* to 4,000 ms/,
    );
    assert.equal(rateNotHeld(run), null);
    const ofRows = openRun({ verified: 2500, latencies: [1e6, 3e6, 4e6, 4e6] });
    const unknown = { ...ofRows, latency: { ...ofRows.latency, halves: halvesOf([]) } };
    assert.match(rateNotHeld(unknown) ?? '', /latency grew from 2,000 ms .* to 4,000 ms/);
    assert.match(
      rateNotHeld(openRun({ achieved: 400, dropped: 1000 })) ?? '',
      /20 % short; 1,000 of 5,000 were dropped/,
    );
    // A part of the window was a pause: what was verified is of the same time as what was asked for.
    const paused = { ...slow, pace: paceOf({ pausedMs: 3750 }) };
    assert.match(rateNotHeld(paused) ?? '', /^the rate was not held: 400 of 500 operations per second, 20 % short/);
    assert.equal(rateNotHeld(closedRun()), null);
  });

  it('blocks that are full while the queue grows: verdict, summary and the figure held say that the rate was not held', () => {
    assert.match(
      rateNotHeld(FILLED) ?? '',
      /^the rate was not held: 840 of 1,180 operations per second, 28\.8 % short/,
    );
    const [held] = checkThresholds([parseThreshold('held>=98%')], FILLED);
    assert.ok(Number(held.value) <= (100 * 840) / 1180, `held ${held.value}`);
    const roomy = { ...FILLED, blocks: { ...FILLED.blocks, full: 0 } };
    assert.equal(rateNotHeld(roomy), null, 'blocks had room: the latency may have grown by chance');
  });

  it('latency that falls, but is longer than half the window, is no sign that the rate was held', () => {
    const stalled = (/** @type {number} */ firstUs, verified = 250) => {
      const run = openRun({ verified, latencies: [7e6] });
      const halves = [firstUs, firstUs / 2].map((us) => ({ count: 100, sumUs: 100 * us }));
      return { ...run, latency: { ...run.latency, halves: /** @type {RunFile['latency']['halves']} */ (halves) } };
    };
    const heldOf = (/** @type {RunFile} */ run) => Number(checkThresholds([parseThreshold('held>=98%')], run)[0].value);
    assert.match(
      rateNotHeld(stalled(20e6)) ?? '',
      /^the rate was not held: \d+ of 500 operations per second, .* latency was 20,000 ms in the first half of the window, longer/,
    );
    assert.ok(heldOf(stalled(20e6)) < 20, `held ${heldOf(stalled(20e6))}`);
    assert.ok(heldOf(stalled(20e6, 4900)) >= 99, 'about as much was verified as was due');
    assert.ok(heldOf(stalled(1e6)) >= 99, 'operations of both halves ended in the window');
  });

  it('in a mix with calls the halves have other shares of the transactions: a small difference is chance', () => {
    // 28 operations in each half, a tenth of which are transactions of a second.
    const total = distributionOf(...Array.from({ length: 56 }, (_, i) => (i % 10 === 0 ? 1e6 : 5000)));
    const halves = /** @type {RunFile['latency']['halves']} */ ([
      { count: 28, sumUs: 28 * 105_000 },
      { count: 28, sumUs: 28 * 179_000 },
    ]);
    const growthOf = (/** @type {object} */ workload, /** @type {number} */ times) => {
      const run = openRun({ verified: 2500, environment: { workload } });
      const [first, second] = halves;
      const grown = [first, { ...second, sumUs: times * second.sumUs }];
      return rateNotHeld({ ...run, latency: { ...run.latency, total, halves: grown } });
    };
    assert.match(growthOf({}, 1) ?? '', /latency grew from 105 ms/);
    assert.equal(growthOf({ calls: {} }, 1), null);
    assert.match(growthOf({ calls: {} }, 4) ?? '', /latency grew from 105 ms .* to 716 ms/);
  });

  it('pauses after calls that were not answered are no work of the node', () => {
    const run = callRun([1000]);
    const paused = (/** @type {number} */ pausedMs) =>
      judge(generatedBy({ ...run, failures: { transport_reset: 70 } }, { pausedMs }));
    assert.equal(paused(40_000)?.name, 'unknown');
    assert.match(
      paused(40_000)?.evidence ?? '',
      /, users paused 40 % of the time after calls without an answer \(transport_reset 70\);/,
    );
    assert.equal(paused(20_000)?.name, 'concurrency-bound');
  });

  it('every stage can be the longest', () => {
    const run = closedRun({ latencyUs: 200_000 });
    const words = { submit: 'submission', readBack: 'read-back' };
    for (const [stage, expected] of Object.entries(words)) {
      const judged = judge(withStages(run, { [stage]: distributionOf(10_000_000) }));
      assert.match(judged?.evidence ?? '', new RegExp(`^9\\d\\.\\d % of the latency is ${expected}, `));
    }
  });

  it('none where nothing was due, or the window has no length', () => {
    const recorder = new Recorder([0], 0);
    recorder.closeWindow(1_000_000);
    assert.equal(runFileOf({ stats: recorder.rest(), durationUs: 1_000_000, intervals: [] }).verdict, null);
    const run = closedRun();
    assert.equal(judge({ ...run, window: { ...run.window, durationMs: 0 } }), null);
    const intervals = run.intervals.map((row) => ({ ...row, inFlight: 0 }));
    const window = { ...run.window, counts: { ...run.window.counts, scheduled: 0 } };
    assert.equal(judge({ ...run, intervals, window }), null);
  });

  it('stands in the run file', () => {
    const { verdict, unmeasured } = runFileOf();
    assert.equal(verdict?.name, 'unknown');
    assert.ok(!('/verdict' in unmeasured));
  });
});

it('beside plain calls some of -t are users, and no wallets', () => {
  const config = { threads: 10 };
  const run = (/** @type {object} */ environment) => actorsText(/** @type {any} */ ({ config, environment }));
  assert.equal(run({ inclusion: 'blocks', workload: {} }), '10 wallets');
  assert.equal(run({ inclusion: null, workload: { calls: 'c.json' } }), '10 users');
  assert.equal(run({ inclusion: 'blocks', workload: { calls: { users: 8 } } }), '2 wallets and 8 users');
});
