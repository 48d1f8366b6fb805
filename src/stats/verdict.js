import { backlog, verifiedWhileDue } from './growth.js';
import { Distribution } from './histogram.js';
import { blockIntervalMs } from './blocks.js';
import { STAGES, fullnessOf, shownFigure } from './figures.js';
import { isPlain } from './sample.js';
import { byCode, count as whole, counted, digits, milliseconds, partOf, percent, seconds, tenths } from '../text.js';

/** @import { RunFile, Verdict, VerdictName } from '../contracts/run-file.d.ts' */

/**
 * The verdict: what, if there were more of it, would raise the throughput? Every figure in it is in the run file. Without
 * evidence that excludes the other explanations it is `unknown`.
 *
 * @typedef {{name: VerdictName, when: (facts: Facts) => boolean, evidence: (facts: Facts) => string, advice?: (facts: Facts) => string}} Row
 *   advice: what would do more, or tell more
 */

/** Share of the operations below which a failure does not count as a limit. */
const RELEVANT = 0.01;
/** Share of the wallets, or of their time, below which a lack of funds does not count as the limit. */
const FEW = 0.25;
/** Share of the time that users paused after unanswered calls. */
const PAUSED = 0.25;
/** Share of the time without a CPU from which on it is mentioned. */
const NOTED = 0.1;
/** More operations in flight than Little's law says, because arrivals and blocks are not even. */
const MARGIN = 1.2;
/** Share of --pool-target from which on the pool counts as kept. */
const DEEP = 0.8;
/** Share of the cores for generator and node from which on more operations at once would wait for a CPU. */
const BUSY_MACHINE = 0.8;
/** Share of a core from which on the node may be the limit. */
const BUSY_NODE = 0.9;

/** Tested in order: the first row whose condition holds is the verdict. @type {readonly Row[]} */
const ROWS = Object.freeze([
  // Without answers, funds or ports nothing else was tried: these four exclude all others.
  {
    name: 'endpoint-down',
    when: (f) => f.down !== null && (f.isUnanswered || f.waitShare < 0.5),
    evidence: (f) => `${f.down}`,
  },
  {
    name: 'funds',
    when: (f) =>
      f.empty > 0 && (f.empty >= FEW * f.wallets || f.run.end === 'no_wallets' || f.run.counts.verified === 0),
    evidence: (f) =>
      `${partOf(f.empty, f.wallets, 'wallet')} had too little left for a transaction (insufficient_funds ${whole(f.run.failures.insufficient_funds)})`,
    advice: () => 'raise --fund-amount',
  },
  // A refilled wallet starts operations again: the number of failures does not say how long wallets waited.
  {
    name: 'funds',
    when: (f) =>
      f.unpaidShare !== null &&
      (f.unpaidShare >= FEW || (f.unpaidShare > 0 && (f.run.end === 'no_wallets' || f.run.counts.verified === 0))),
    evidence: (f) =>
      `wallets waited for a payment ${percent(f.unpaidShare ?? 0)} of their time (insufficient_funds ${whole(f.run.failures.insufficient_funds ?? 0)})`,
    advice: () => 'see the warnings: pay the funder more, or raise --fund-amount and --refill-below',
  },
  {
    name: 'port-bound',
    when: (f) =>
      f.portless > 0 && (f.portless >= RELEVANT * f.run.counts.started || (f.hasFewPorts && f.pausedShare > PAUSED)),
    evidence: (f) => `${counted(f.portless, 'operation')} failed because no local port was left for their connection`,
  },
  {
    name: 'endpoint-limited',
    when: (f) => f.limitAnswers > 0 && f.limitedShare >= 0.25,
    evidence: (f) =>
      `${percent(f.limitedShare)} of ${isPlain(f.run) ? 'the time of all users' : 'the latency'} is waiting after ${whole(f.limitAnswers)} rate limits of the endpoint (HTTP 429, Retry-After, or an error that says so)`,
  },
  {
    name: 'rate-bound',
    when: (f) => f.heldBack !== null,
    evidence: (f) => `${f.heldBack}`,
  },
  // All that was asked for was done: generator, wallets and node can do at least that, however busy they were.
  {
    name: 'rate-bound',
    when: (f) => f.isHeld && f.pausedShare <= PAUSED,
    evidence: (f) =>
      `${digits(f.achieved)} of ${digits(f.asked ?? 0)} per second were achieved, ${whole(f.run.window.counts.dropped)} dropped`,
    advice: () => 'try a higher rate to find the limit of the node',
  },
  // Transactions were left over: more wallets or a faster generator would only lengthen the queue.
  node(
    (f) => f.isFull,
    (f) =>
      `${partOf(f.run.blocks.full ?? 0, f.run.blocks.count, 'block')} had no room for another transaction (${percent(f.fullness ?? 0)} of the gas limit was used)`,
  ),
  // Most of the time users wait neither for the node nor for the generator.
  {
    name: 'rate-bound',
    when: (f) => f.restShare > 0.5 && f.pausedShare <= PAUSED && !f.isSaturated,
    evidence: (f) => `users rested ${percent(f.restShare)} of the time (--think-time)`,
    advice: () => 'try more users to find the limit of the node',
  },
  // The next block took each operation: no queue in the node, and what the generator waited was within the block.
  concurrency(
    (f) => !f.isEnough && isOneBlock(f),
    ({ p50Us, blockUs, fullness }) =>
      `${tenths(p50Us / blockUs)} block intervals of ${milliseconds(blockUs)}${fullness === null ? '' : `; blocks were ${percent(fullness)} full`}`,
  ),
  // A single operation waits for no other, and an event loop with time left is no limit.
  concurrency(
    (f) => f.slots === 1 && !f.isSaturated,
    () => 'one operation at a time',
  ),
  // Answers wait in the kernel for a saturated loop: the rows below would take that for the node's time.
  generator(
    (f) => f.isSaturated,
    (f) => `${f.loop} was busy ${percent(f.utilization ?? 0)} of the time`,
  ),
  // At most half of the latency is left for the node.
  generator(
    (f) => f.waitShare >= 0.5 && f.waitUs >= 5000,
    (f) =>
      `${percent(f.waitShare)} of the latency is waiting in the generator${f.readsUs > 0 ? ', reads of blocks included' : ''}: for ${f.utilization === null ? '' : `${f.loop} (busy ${percent(f.utilization)} of the time, ${milliseconds(f.lateUs)} late) or `}one of its connections (--connections)`,
  ),
  // An idle wallet is started at once; and with the latency of the node alone there would have been enough wallets.
  generator(
    (f) => f.isDropping && f.isEnough && f.isLate,
    (f) => `${lateStarts(f)}, a delay of the generator`,
  ),
  // From here on less than half of the latency is the generator's, and is subtracted. A queue that grows is the node's.
  node(
    (f) => f.growth !== null,
    (f) => `${f.growth}`,
  ),
  // The first operations were included sooner, so it is not the chain's usual time, and the looks at the chain were sound.
  node(
    isIncludedLate,
    ({ inclusionUs, fastestUs, blockUs }) =>
      `transactions that the node had taken waited ${tenths(inclusionUs / blockUs)} block intervals (${milliseconds(blockUs)}), and the fastest operation took ${tenths(fastestUs / blockUs)}`,
  ),
  node(
    (f) => (f.cores ?? 0) >= BUSY_NODE && !isOneBlock(f),
    (f) => [...new Set([`the node used ${percent(f.cores ?? 0)} of a core`, ...seen(f)])].join(', '),
  ),
  // The first operations found an idle node, all later ones a queue.
  node(
    (f) => f.laterUs - f.waitUs >= 3 * f.firstUs + f.twoBlocksUs,
    (f) =>
      `the first operations took ${milliseconds(f.firstUs)} or more, 99 % of the later ones ${milliseconds(f.laterUs)} or more: they wait for each other, ${seen(f).join(', ')}`,
  ),
  // There is no sign of a queue, and an operation takes as long as on an idle node.
  concurrency(
    (f) => f.p50Us <= 2 * f.roundTripUs,
    (f) => `a request without load took ${milliseconds(f.roundTripUs)}`,
  ),
  concurrency(
    (f) => (f.cores ?? 1) <= 0.5 && f.p90Us <= 2 * f.fastestUs,
    (f) =>
      `p90 ${milliseconds(f.p90Us)}, minimum ${milliseconds(f.fastestUs)}; the node used ${percent(f.cores ?? 0)} of a core`,
  ),
  // Operations found no idle wallet, and the node was about as fast as for the first one.
  concurrency(
    (f) => f.isDropping && f.p50Us - f.waitUs <= nearFastestUs(f),
    ({ run: { window }, fastestUs }) =>
      `minimum ${milliseconds(fastestUs)}; ${partOf(window.counts.dropped, window.counts.scheduled, 'operation')} were dropped because no wallet was idle`,
  ),
  {
    name: 'unknown',
    when: () => true,
    evidence: (f) => seen(f).join(', '),
    advice: (f) => `to find the limit, ${unknownAdvice(f)}`,
  },
]);

/** @param {Row['when']} when @param {Row['evidence']} words @returns {Row} */
function node(when, words) {
  // Operations that ended in the drain do not count.
  const inWindow = (/** @type {Facts} */ { asked, run }) => {
    const verified = verifiedWhileDue(run);
    return verified === null ? '' : `; ${digits(verified)} of ${digits(asked)} per second were verified in the window`;
  };
  return { name: 'node-bound', when, evidence: (f) => `${words(f)}${f.asked === null ? '' : inWindow(f)}` };
}

/** @param {Facts} facts */
function unknownAdvice(facts) {
  const { asked, cores, noun, isDropping, wasAway } = facts;
  // Whatever it was while the endpoint answered, the outage is in all figures.
  if (wasAway) return 'run again without the outage';
  // More operations at once would wait for the same CPU.
  if (isCpuShort(facts)) return ownCpu(facts);
  const needed = isDropping ? `${moreAtOnce(facts)} at this latency` : null;
  const load =
    asked === null ? `try twice the ${noun} (-t)` : [needed, 'try a lower rate'].filter(Boolean).join('; or ');
  return `${load}${cores === null ? ', or give the process of the node (--node-pid)' : ''}`;
}

/** @param {Facts} facts */
function isCpuShort({ waitedShare }) {
  return waitedShare >= NOTED;
}

/** @param {Facts} facts */
function ownCpu({ isLocal }) {
  return `give the generator a CPU of its own: stop other programs${isLocal ? ', or run the node on another machine' : ''}`;
}

/** @param {Row['when']} when @param {Row['evidence']} words @returns {Row} */
function generator(when, words) {
  // Late timers alone do not show the cause; the scheduler's figures do (Linux only).
  const noCpu = (/** @type {Facts} */ { waitedShare }) =>
    waitedShare < NOTED ? '' : `; it waited for a CPU ${percent(waitedShare)} of the time`;
  const advice = (/** @type {Facts} */ f) => (isCpuShort(f) ? ownCpu(f) : 'try more --workers, or a faster machine');
  return { name: 'generator-bound', when, evidence: (f) => `${words(f)}${noCpu(f)}`, advice };
}

/** @param {Row['when']} when @param {Row['evidence']} words @returns {Row} */
function concurrency(when, words) {
  const isPossible = (/** @type {Facts} */ f) =>
    // While the endpoint is away, any number of wallets is too small.
    (f.asked === null || (f.isDropping && !f.wasAway)) && f.isAnswered && f.pausedShare <= PAUSED;
  const isRoom = (/** @type {Facts} */ f) =>
    (f.fullness ?? 0) < 0.9 && (f.cores ?? 0) < BUSY_NODE && !(isCpuShort(f) && (f.machineShare ?? 0) >= BUSY_MACHINE);
  return {
    name: 'concurrency-bound',
    when: (f) => isPossible(f) && isRoom(f) && when(f),
    evidence: (f) =>
      `${counted(f.wallets, f.noun.slice(0, -1))} with ${whole(f.inFlight)} in flight each ${f.done === null ? 'had' : `did ${digits(f.done)} per second with`} a median latency of ${milliseconds(f.p50Us)}, ${words(f)}`,
    advice: moreAtOnce,
  };
}

/** In the order of the table, which also ranks the verdicts of several instances. */
export const VERDICTS = Object.freeze([...new Set(ROWS.map(({ name }) => name))]);

/** @type {Record<string, string>} */
export const LIMIT_WORDS = {
  'endpoint-down': 'the endpoint was down',
  funds: 'wallets without funds were the limit',
  'port-bound': 'local ports were the limit',
  'endpoint-limited': 'a rate limit of the endpoint was the limit',
  'generator-bound': 'this generator was the limit',
  'rate-bound': 'the load asked for was the limit',
  'node-bound': 'the node was the limit',
  'concurrency-bound': 'the number of wallets was the limit',
  unknown: 'the limit is unknown',
};

/** @param {RunFile} run @returns {Verdict | null} null: nothing was due in the window, without a reason */
export function judge(run) {
  if (run.window.durationMs === 0) return null;
  if (run.window.counts.scheduled === 0) {
    const evidence = heldBack(run);
    return evidence === null ? null : { name: 'rate-bound', evidence };
  }
  const facts = factsOf(run);
  const { name, evidence, advice } = /** @type {Row} */ (ROWS.find(({ when }) => when(facts)));
  const notes = name === 'generator-bound' ? [] : notesOf(facts);
  return { name, evidence: [evidence(facts), ...notes, ...(advice ? [advice(facts)] : [])].join('; ') };
}

/** Waiting of the generator that did not limit the run. @param {Facts} facts @returns {string[]} */
function notesOf(facts) {
  const { waitedShare, lateUs, isLate, isLocal } = facts;
  const others = isLocal ? 'other programs, such as the node,' : 'other programs';
  const words = `${others} had the CPU ${percent(waitedShare)} of the time: latencies are up to ${milliseconds(lateUs)} too high`;
  return [...(waitedShare >= NOTED && lateUs >= 1000 ? [words] : []), ...(isLate ? [lateStarts(facts)] : [])];
}

/** @param {Facts} facts */
function lateStarts({ run: { lag } }) {
  return `1 % of the operations were begun, or dropped, ${milliseconds(lag.p99Us ?? 0)} or more after they were due`;
}

/** Little's law: the operations in flight with which an open loop would drop none; null in a closed loop. @param {RunFile} run */
export function inFlightNeeded({ rates: { askedPerSecond: asked }, latency: { fromStart, total } }) {
  // Operations of one block end together: the longest latency counts, not the mean one.
  const us = (fromStart ?? total).p90Us;
  return asked === null || us === null ? null : Math.ceil((MARGIN * asked * us) / 1e6);
}

/** @typedef {ReturnType<typeof factsOf>} Facts */

/** What the rows use. @param {RunFile} run */
function factsOf(run) {
  const { blocks, config, counts, environment, failures, latency, probes, rates, window } = run;
  const { gasLimit } = blocks;
  const fullness = fullnessOf(blocks);
  const { inclusion } = environment;
  const intervalUs = 1000 * blockIntervalMs(blocks, window.durationMs);
  const roundTripUs = 1000 * (Number(environment.roundTripMs) || 0);
  const [wallets, inFlight] = [Number(config.threads), Number(config.inFlight ?? 1)];
  const { limitAnswers = 0, limitedMs = 0, unpaidMs } = run.generator.pauses ?? {};
  const rows = run.intervals.filter(({ phase }) => phase !== 'drain');
  const allMs = rows.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0) * wallets * inFlight;
  const { callsPerIteration = 1, calls } = environment.workload;
  const thinkUs = (1000 * Number(config.thinkTimeMs ?? 0)) / Number(callsPerIteration);
  const { askedPerSecond: asked, achievedPerSecond, verifiedPerSecond } = rates;
  const achieved = achievedPerSecond ?? 0;
  const isDropping = window.counts.dropped > 0.001 * window.counts.scheduled;
  const growth = asked === null ? null : backlog(run);
  const [p50Us, p90Us] = [latency.total.p50Us ?? Infinity, latency.total.p90Us ?? Infinity];
  const waits = waitsOf(run);
  const [cpu, sockets] = [shownFigure('node.cpu', run), probes?.sockets];
  return {
    ...{ run, wallets, inFlight, slots: wallets * inFlight, noun: isPlain(run) ? 'users' : 'wallets' },
    down: endpointDown(run),
    wasAway: (run.generator.outages ?? []).length > 0,
    heldBack: heldBack(run),
    // Without these, calls may only have waited in the generator.
    isUnanswered: counts.verified < counts.started || run.generator.resubmissions.repeated > 0,
    // With several in flight more operations fail than wallets are empty. Wallets that are paid become none of these.
    empty:
      run.refills === undefined
        ? Math.min(failures.insufficient_funds ?? 0, wallets, run.generator.retiredWallets || Infinity)
        : 0,
    unpaidShare:
      run.refills === undefined || unpaidMs === undefined || allMs === 0
        ? null
        : Math.min(1, (unpaidMs * inFlight) / allMs),
    portless: failures.transport_no_ports ?? 0,
    hasFewPorts: (sockets?.endpoints ?? []).some(({ portsLeft }) => portsLeft < 0.02 * (sockets?.range.ports ?? 0)),
    limitAnswers,
    limitedShare: Math.min(
      1,
      isPlain(run)
        ? limitedMs / Math.max(1, allMs)
        : (windowShare(run) * limitedMs) / Math.max(1, latency.total.sumUs / 1000),
    ),
    // Pauses after unanswered calls, and think time, as shares of the time of all users.
    pausedShare: allMs > 0 ? Math.min(1, (run.generator.pausedMs ?? 0) / allMs) : 0,
    restShare: thinkUs / Math.max(1, thinkUs + (latency.total.meanUs ?? 0)),
    ...{ asked, achieved, isDropping, growth, done: asked === null ? verifiedPerSecond : achieved },
    // Operations at the end of the window may fail.
    isHeld: asked !== null && achieved >= 0.99 * asked && !isDropping && growth === null,
    // With the latency of the node alone there would have been an idle wallet for each operation.
    isEnough: asked !== null && (asked * Math.max(0, p90Us - waits.waitUs)) / 1e6 < wallets * inFlight,
    isLate: asked !== null && (run.lag.p99Us ?? 0) >= 100_000,
    ...waits,
    // Beside calls the latency and the rate are those of both.
    isAnswered: calls === undefined && counts.failed + counts.timedOut + counts.abandoned <= RELEVANT * counts.started,
    ...{ p50Us, p90Us, inclusionUs: latency.stages.inclusion.meanUs ?? 0, ...firstAndLater(run) },
    // With --inclusion sync the answer comes with the block.
    submitUs: inclusion?.name === 'sync' ? 0 : (latency.stages.submit.meanUs ?? 0),
    // Without a gas limit nothing is known of the room in a block.
    isFull: blocks.count > 0 && Boolean(gasLimit) && (blocks.full ?? 0) >= 0.5 * blocks.count,
    fullness: fullness === null ? null : fullness / 100,
    // Few blocks prove nothing. Fast ones may be produced on demand, so that their interval follows the load.
    blockUs: blocks.count >= 4 && intervalUs >= 50_000 ? intervalUs : Infinity,
    confirmations: Number(config.confirmations ?? 0),
    // Measured before the load; and the time of an operation on an idle chain beside that for its block.
    roundTripUs,
    extraUs: 3 * roundTripUs + 1000 * (run.generator.inclusionResolutionMs ?? 0),
    cores: cpu === null ? null : cpu / 100,
    // The process of a node is observed on this machine only.
    isLocal: environment.embeddedChain === true || cpu !== null,
    machineShare: cpu === null ? null : (cpu / 100 + generatorCores(run)) / environment.cores,
  };
}

/** @param {Pick<RunFile, 'probes' | 'window'>} run */
function generatorCores({ probes, window }) {
  return (probes?.self?.cpuUs ?? 0) / (1000 * window.durationMs);
}

/** @param {Pick<RunFile, 'probes' | 'window'>} run @returns {number} share of the time for which the load waited for a CPU */
export function waitedShareOf({ probes, window }) {
  return Math.min(1, (probes?.loop?.waitedUs ?? 0) / (1000 * window.durationMs));
}

/**
 * The share of the window in what operations waited: pauses are known of the whole run, the latency is that of the window.
 * @param {Pick<RunFile, 'latency' | 'intervals'>} run
 */
function windowShare({ latency, intervals }) {
  const allUs = intervals.reduce((sum, row) => sum + row.latency.sumUs, 0);
  return Math.min(1, latency.total.sumUs / Math.max(1, allUs));
}

/** Waiting in the generator, as means of an operation. @param {RunFile} run */
function waitsOf(run) {
  const {
    environment,
    generator: own,
    latency: { stages },
    probes,
    window,
  } = run;
  const count = Math.max(1, stages.queued.count);
  const meanUs = Math.max(1, sumUs(stages) / count);
  const { limitedMs = 0, unansweredMs = 0 } = own.pauses ?? {};
  const { utilization = null, delayMeanUs = 0 } = probes?.loop ?? {};
  const busy = utilization ?? 0;
  // An operation waits for the loop when its block is seen, when that is read, and when its effect is; a plain call once.
  const turnsUs = (isPlain({ environment }) ? 1 : 3) * delayMeanUs;
  // Answers to reads wait for a loop that is busy most of the time.
  const readBackUs = busy < 0.5 ? 0 : busy * (stages.readBack?.meanUs ?? 0);
  const lateUs = Math.min(meanUs, Math.max(turnsUs, readBackUs));
  // Connections that a slow node keeps are no shortage of ours.
  const roundTripUs = 1000 * (Number(environment.roundTripMs) || Infinity);
  const isNodeSlow = (stages.submit.meanUs ?? 0) > 3 * roundTripUs + lateUs;
  const askedMs = windowShare(run) * (limitedMs + unansweredMs);
  const queuedUs = isNodeSlow ? 0 : Math.max(0, stages.queued.sumUs - 1000 * askedMs) / count;
  // Reads of heads and blocks wait for a connection as well, so that inclusion is seen late.
  const readsUs = queuedUs < 50_000 ? 0 : Math.min(stages.inclusion.meanUs ?? 0, 2 * queuedUs);
  const waitUs = Math.min(meanUs, queuedUs + readsUs + lateUs);
  return {
    loop: own.workers > 1 ? 'the event loop of the busiest worker' : "the generator's event loop",
    ...{ utilization, isSaturated: busy >= 0.9, waitedShare: waitedShareOf({ probes, window }) },
    ...{ readsUs, lateUs, waitUs, waitShare: waitUs / meanUs },
  };
}

/** @param {RunFile} run */
function firstAndLater({ blocks, intervals, latency, window }) {
  const [first, ...later] = intervals.filter((row) => row.phase !== 'drain' && row.latency.count > 0);
  const all = new Distribution();
  for (const row of later) all.add(row.latency);
  const firstUs = first?.latency.minUs ?? Infinity;
  return {
    ...{ firstUs, laterUs: all.percentileUs(1) ?? 0, fastestUs: Math.min(firstUs, latency.total.minUs ?? Infinity) },
    // Operations follow the blocks: any of them may take longer than the fastest of the first.
    twoBlocksUs: blocks.count === 0 ? 0 : 2000 * blockIntervalMs(blocks, window.durationMs),
  };
}

/** @type {Readonly<Record<string, string>>} */
const ENDED_BY_ENDPOINT = Object.freeze({
  chain_ended: 'the embedded chain ended in mid-run',
  endpoint_lost: 'the endpoint stopped answering',
});

/** By --max-base-fee or --pool-target. @param {RunFile} run @returns {string | null} */
function heldBack({ pace, window, intervals, instance }) {
  if (pace === undefined) return null;
  const { poolTarget, depth, pausedMs } = pace;
  const pausedShare = Math.min(1, pausedMs / window.durationMs);
  if (pausedShare > PAUSED)
    return `paused ${percent(pausedShare)} of the time, because the base fee was above --max-base-fee`;
  if (poolTarget === null) return null;
  const share = 1 / (instance?.instances ?? 1);
  const asked = `${whole(poolTarget)} were asked for (--pool-target)`;
  if (depth === null) {
    const rows = intervals.filter(({ phase }) => phase === 'load');
    const inFlight = rows.reduce((sum, row) => sum + row.inFlight, 0) / rows.length;
    return inFlight >= DEEP * share * poolTarget
      ? `${counted(inFlight, 'transaction')} were in flight, and ${asked}`
      : null;
  }
  const mean = depth.sum / depth.samples;
  const words = `the pool had ${counted(Math.round(mean), 'transaction')} on average, and ${asked}`;
  if (mean >= DEEP * poolTarget) return words;
  const lacked = share * (poolTarget * depth.samples - depth.sum);
  return window.counts.started < DEEP * lacked
    ? null
    : `${words}: what it lacked was started at each look, and soon included`;
}

/** @param {RunFile} run */
function endpointDown(run) {
  const { intervals, window } = run;
  const load = intervals.filter(({ phase }) => phase === 'load');
  const startMs = load[0]?.startMs ?? 0;
  const endMs = load.at(-1)?.endMs ?? startMs + window.durationMs;
  // A slow node is not down.
  const isSilent = (/** @type {{fromMs: number, toMs: number}} */ { fromMs, toMs }) =>
    !intervals.some((row) => row.startMs >= fromMs && row.endMs <= toMs && row.counts.verified > 0);
  const away = outagesOf(run, load).filter((outage) => outage.fromMs < endMs && isSilent(outage));
  const last = away.at(-1);
  const isAway = last !== undefined && last.toMs >= endMs;
  const words = isAway ? `no answer from ${seconds(last.fromMs)} on (${last.words})` : '';
  if (ENDED_BY_ENDPOINT[run.end] !== undefined) return [ENDED_BY_ENDPOINT[run.end], words].filter(Boolean).join(': ');
  if (isAway) return `${words}, until the window ended at ${seconds(endMs)}`;
  const downMs = away.reduce((sum, { fromMs, toMs }) => sum + Math.max(0, toMs - Math.max(fromMs, startMs)), 0);
  if (downMs < 0.5 * (endMs - startMs) || last === undefined) return null;
  return `the endpoint was away for ${seconds(downMs)} of ${seconds(endMs - startMs)} (${last.words})`;
}

const NO_ANSWER = Object.freeze(['refused', 'reset', 'timeout', 'closed', 'dns'].map((why) => `transport_${why}`));

/** @param {RunFile} run @param {RunFile['intervals']} load @returns {Array<{fromMs: number, toMs: number, words: string}>} */
function outagesOf(run, load) {
  const outages = run.generator.outages ?? [];
  const known = outages.map(({ fromMs, toMs, words }) => ({ fromMs, toMs: toMs ?? Infinity, words }));
  if (!isPlain(run)) return known;
  const silent = load.slice(1 + load.findLastIndex(({ counts }) => counts.verified > 0));
  const codes = [...new Set(silent.flatMap(({ failures }) => Object.keys(failures)))];
  if (codes.length === 0 || codes.some((code) => !NO_ANSWER.includes(code))) return known;
  return [...known, { fromMs: silent[0].startMs, toMs: Infinity, words: codes.join(', ') }];
}

/** Share of the block interval for which a transaction waits on average to be taken, if all of them take most of it. */
const SLOW_SUBMISSION = 0.4;
/** Share of the wallets that the rate and the median latency account for; less if the chain halted, for example. */
const ACCOUNTED = 0.7;

/** @param {Facts} facts */
function isOneBlock({ p50Us, p90Us, blockUs, confirmations, extraUs, submitUs, lateUs, asked, done, slots }) {
  // One transaction after the other is taken: with more of them the last would miss the block.
  const isTakenSlowly = submitUs - lateUs > SLOW_SUBMISSION * blockUs + extraUs;
  if (isTakenSlowly || (asked === null && ((done ?? 0) * p50Us) / 1e6 < ACCOUNTED * slots)) return false;
  const within = (/** @type {number} */ blocks) => (blocks + confirmations) * blockUs + extraUs;
  // On an idle chain an operation takes one block. With room for most of them only the others wait for a second one.
  return blockUs < Infinity && p50Us <= within(1.3) && p90Us <= within(1.6);
}

/** On a chain with slow inclusion the first operation takes as long, apart from its position in a block interval. @param {Facts} facts */
function nearFastestUs({ fastestUs, blockUs }) {
  return blockUs === Infinity ? 2 * fastestUs : fastestUs >= 1.5 * blockUs ? fastestUs + blockUs : 0;
}

/** @param {Facts} facts */
function isIncludedLate({ run, inclusionUs, blockUs, confirmations, extraUs, waitUs, p50Us, fastestUs }) {
  const { counts, generator: own } = run;
  const { rebroadcast, replaced } = own.resubmissions;
  const isSound =
    own.failedPolls <= 0.05 * (Reflect.get(own.rpcCalls, 'inclusion') ?? 0) &&
    rebroadcast + replaced <= RELEVANT * counts.verified;
  const isLate = inclusionUs - waitUs >= (2.5 + confirmations) * blockUs + extraUs;
  return isSound && isLate && p50Us - fastestUs > 1.5 * blockUs;
}

/** @param {Facts} facts */
function moreAtOnce({ run, wallets, inFlight, slots, asked }) {
  const most = asked === null ? 2 * slots : Math.max(MARGIN * slots, inFlightNeeded(run) ?? 0);
  const perWallet = Math.ceil(most / wallets);
  const orInFlight = isPlain(run) || perWallet > 16 ? '' : ` or --in-flight ${perWallet}`;
  return `try -t ${Math.ceil(most / inFlight)}${orInFlight}${asked === null ? '' : ` for ${digits(asked)} per second`}`;
}

/** What was seen, in words. @param {Facts} facts @returns {string[]} */
function seen({ run, noun, asked, achieved, pausedShare, fullness, loop, utilization, cores }) {
  const { counts, failures, window } = run;
  const { failed, timedOut, started } = counts;
  const { dropped, scheduled } = window.counts;
  const words = [
    counts.verified === 0 ? 'nothing was verified' : longestStage(run),
    failed + timedOut > RELEVANT * started && byCode(timedOut > 0 ? { ...failures, timed_out: timedOut } : failures),
    asked !== null && `${digits(achieved)} of ${digits(asked)} per second were achieved`,
    dropped > 0 && `${whole(dropped)} of ${whole(scheduled)} were dropped because all wallets were busy`,
    outageText(run),
    fullness !== null && `blocks were ${percent(fullness)} full`,
    utilization !== null && `${loop} was busy ${percent(utilization)} of the time`,
    cores !== null && `the node used ${percent(cores)} of a core`,
    pausedShare > RELEVANT &&
      `${noun} paused ${percent(pausedShare)} of the time after calls without an answer (${byCode(failures)})`,
  ];
  return words.filter((part) => typeof part === 'string');
}

/** How long the endpoint was away, and the drops of these intervals. @param {RunFile} run */
function outageText({ generator: { outages = [] }, intervals }) {
  if (outages.length === 0) return false;
  const last = intervals.at(-1)?.endMs ?? 0;
  const isDuring = (/** @type {RunFile['intervals'][number]} */ { startMs, endMs }) =>
    outages.some(({ fromMs, toMs = last }) => startMs < toMs && endMs > fromMs);
  const dropped = intervals.filter(isDuring).reduce((sum, { counts }) => sum + counts.dropped, 0);
  const awayMs = outages.reduce((sum, { fromMs, toMs = last }) => sum + Math.max(0, toMs - fromMs), 0);
  return `the endpoint did not answer for ${seconds(awayMs)}${dropped > 0 ? `, with ${whole(dropped)} of those dropped` : ''}`;
}

/** @param {RunFile['latency']['stages']} stages */
function sumUs(stages) {
  return STAGES.reduce((sum, { name }) => sum + (stages[name]?.sumUs ?? 0), 0);
}

/** @param {RunFile} run */
function longestStage(run) {
  const { stages } = run.latency;
  const allUs = sumUs(stages);
  if (allUs === 0) return 'latency is too small to be measured';
  const usOf = (/** @type {typeof STAGES[number]} */ { name }) => stages[name]?.sumUs ?? 0;
  const longest = STAGES.reduce((a, b) => (usOf(b) > usOf(a) ? b : a));
  const words = isPlain(run) && longest.name === 'submit' ? 'waiting for the answer' : longest.work;
  return `${percent(usOf(longest) / allUs)} of the latency is ${words}`;
}
