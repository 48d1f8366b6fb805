import { Distribution } from './histogram.js';
import { blockIntervalMs } from './blocks.js';
import { STAGES, fullnessOf, shownFigure } from './figures.js';
import { backlog, heldRate } from './growth.js';
import { isFull } from './halves.js';
import { hasBothKinds, isPlain, walletsOf } from './sample.js';
import { counted, percent, seconds, count as whole } from '../text.js';

/** What the rows of the verdict use, from the run file. @import { RunFile } from '../contracts/run-file.d.ts' */

/** Share of the operations below which a failure does not count as a limit. */
export const RELEVANT = 0.01;
/** Share of the time that users paused after unanswered calls. */
export const PAUSED = 0.25;
/** Share of --pool-target from which on the pool counts as kept. */
const DEEP = 0.8;
/** Share of the refusals from which on they are of one kind, and share of those in what was not verified. */
const OF_A_KIND = 0.9;
const OF_MISSED = 0.75;
/** Share of the load without an answer from which on that is why, and share from which on it is if nothing else is. */
const MOSTLY = 0.5;
const IN_PART = 0.25;
/** Polls for heads without an answer, as a share of all: below it what was seen of the chain is sound. */
const FAILED_POLLS = 0.05;

/** @typedef {ReturnType<typeof factsOf>} Facts */

/** What the rows use. @param {RunFile} run */
export function factsOf(run) {
  const { blocks, config, counts, environment, failures, latency, probes, rates, window } = run;
  const fullness = fullnessOf(blocks);
  const [{ inclusion }, { resubmissions }] = [environment, run.generator];
  const intervalUs = 1000 * blockIntervalMs(blocks, window.durationMs);
  const roundTripUs = 1000 * (Number(environment.roundTripMs) || 0);
  const [wallets, inFlight] = [Number(config.threads), Number(config.inFlight ?? 1)];
  const { limitAnswers = 0, limitedMs = 0 } = run.generator.pauses ?? {};
  const rows = run.intervals.filter(({ phase }) => phase !== 'drain');
  const allMs = rows.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0) * wallets * inFlight;
  const senders = walletsOf(run);
  const sendMs = (allMs * senders) / wallets;
  const shareOfTime = (ms = 0, ofMs = allMs) => (ofMs > 0 ? Math.min(1, ms / ofMs) : 0);
  const { callsPerIteration = 1, calls } = environment.workload;
  const thinkUs = (1000 * Number(config.thinkTimeMs ?? 0)) / Number(callsPerIteration);
  const { askedPerSecond: asked, achievedPerSecond, verifiedPerSecond } = rates;
  const achieved = achievedPerSecond ?? 0;
  const isDropping = window.counts.dropped > 0.001 * window.counts.scheduled;
  const held = heldRate(run);
  const growth = asked === null ? null : backlog(run);
  const [p50Us, p90Us] = [latency.total.p50Us ?? Infinity, latency.total.p90Us ?? Infinity];
  const waits = waitsOf(run);
  const [cpu, sockets] = [shownFigure('node.cpu', run), probes?.sockets];
  return {
    ...{ run, wallets, senders, inFlight, slots: wallets * inFlight, noun: isPlain(run) ? 'users' : 'wallets' },
    down: endpointDown(run, MOSTLY),
    ...{ wasAway: outagesOf(run).length > 0, downInPart: endpointDown(run, IN_PART) },
    ...stopsOf(run),
    silentMs: silenceOf(run)?.ms ?? 0,
    ...unverified(run),
    ...chainOf(run),
    ...{
      lostShare: shareOfTime(resubmissions.lostMs, sendMs),
      leftOutShare: shareOfTime(resubmissions.leftOutMs, sendMs),
      refusedShare: shareOfTime(run.generator.pauses?.refusedMs, sendMs),
    },
    heldBack: heldBack(run),
    // Without these, calls may only have waited in the generator.
    isUnanswered: counts.verified < counts.started || unansweredSubmissions(run) > 0,
    ...fundsOf(run, senders, (ms) => shareOfTime(ms, sendMs)),
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
    callPauseShare: shareOfTime(run.generator.pausedMs),
    restShare: thinkUs / Math.max(1, thinkUs + (latency.total.meanUs ?? 0)),
    ...{ asked, achieved, isDropping, growth, done: asked === null ? verifiedPerSecond : achieved },
    // Operations at the end of the window may fail.
    isHeld: held !== null && held.isHeld && achieved >= 0.99 * held.asked && !isDropping,
    // With the latency of the node alone there would have been an idle wallet for each operation.
    isEnough: asked !== null && (asked * Math.max(0, p90Us - waits.waitUs)) / 1e6 < wallets * inFlight,
    isLate: asked !== null && (run.lag.p99Us ?? 0) >= 100_000,
    ...waits,
    // Beside calls the latency and the rate are those of both.
    isAnswered: calls === undefined && counts.failed + counts.timedOut + counts.abandoned <= RELEVANT * counts.started,
    ...{ p50Us, p90Us, inclusionUs: latency.stages.inclusion.meanUs ?? 0, ...firstAndLater(run) },
    // With --inclusion sync the answer comes with the block.
    submitUs: inclusion?.name === 'sync' ? 0 : (latency.stages.submit.meanUs ?? 0),
    isFull: isFull(blocks),
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
function firstAndLater(run) {
  const { blocks, intervals, latency, window } = run;
  const [first, ...later] = intervals.filter((row) => row.phase !== 'drain' && row.latency.count > 0);
  const all = new Distribution();
  for (const row of later) all.add(row.latency);
  // The fastest operations of both kinds are calls, and a later row may have transactions only.
  const firstUs = hasBothKinds(run) ? Infinity : (first?.latency.minUs ?? Infinity);
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
export function heldBack({ pace, window, intervals, instance, blocks, environment }) {
  if (pace === undefined) return null;
  const { poolTarget, depth, pausedMs: heldMs } = pace;
  const heldShare = Math.min(1, heldMs / window.durationMs);
  if (heldShare > PAUSED)
    return `paused ${percent(heldShare)} of the time, because the base fee was above --max-base-fee`;
  if (poolTarget === null) return null;
  const share = 1 / (instance?.instances ?? 1);
  const asked = `${whole(poolTarget)} were asked for (--pool-target)`;
  // The counts of a mix are those of the plain calls too.
  const hasCalls = hasBothKinds({ environment });
  if (depth === null) {
    if (hasCalls) return null;
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
  return (hasCalls ? blocks.ours : window.counts.started) < DEEP * lacked
    ? null
    : `${words}: each shortfall was filled at the next check, and included soon after`;
}

/** @param {RunFile} run @param {number} share of the load in which the endpoint was away, at least */
function endpointDown(run, share) {
  const { intervals } = run;
  const { startMs, endMs } = loadOf(run);
  // A slow node is not down.
  const isSilent = (/** @type {{fromMs: number, toMs: number}} */ { fromMs, toMs }) =>
    !intervals.some((row) => row.startMs >= fromMs && row.endMs <= toMs && row.counts.verified > 0);
  const away = silences(run).filter((outage) => outage.fromMs < endMs && isSilent(outage));
  const last = away.at(-1);
  const isAway = last !== undefined && last.toMs >= endMs;
  const words = isAway ? `no answer from ${seconds(last.fromMs)} on (${last.words})` : '';
  if (ENDED_BY_ENDPOINT[run.end] !== undefined) return [ENDED_BY_ENDPOINT[run.end], words].filter(Boolean).join(': ');
  if (isAway) return `${words}, until the window ended at ${seconds(endMs)}`;
  const downMs = away.reduce((sum, { fromMs, toMs }) => sum + Math.max(0, toMs - Math.max(fromMs, startMs)), 0);
  const silence = silenceOf(run);
  const mostMs = share * (endMs - startMs);
  if (downMs < mostMs && silence !== null && silence.ms >= Math.max(mostMs, LEAST_SILENT_MS))
    return `no answer for ${seconds(silence.ms)} of ${seconds(endMs - startMs)} (${silence.words})`;
  if (downMs < mostMs || last === undefined) return null;
  return `the endpoint was away for ${seconds(downMs)} of ${seconds(endMs - startMs)} (${last.words})`;
}

/** A shorter time without an answer may be a node that is slow. */
const LEAST_SILENT_MS = 5000;

/** The longest time in which no look at the chain was answered. @param {Pick<RunFile, 'intervals'>} run */
export function silenceOf({ intervals }) {
  const all = intervals.flatMap(({ phase, silence }) => (phase === 'load' && silence !== undefined ? [silence] : []));
  return all.sort((a, b) => b.ms - a.ms)[0] ?? null;
}

const NO_ANSWER = Object.freeze(['refused', 'reset', 'timeout', 'closed', 'dns'].map((why) => `transport_${why}`));

/** Outages, and of plain calls the rows without an answer. @param {RunFile} run @returns {Array<{fromMs: number, toMs: number, words: string}>} */
function silences(run) {
  const known = outagesOf(run).map(({ fromMs, toMs, words }) => ({ fromMs, toMs: toMs ?? Infinity, words }));
  if (!isPlain(run)) return known;
  const load = run.intervals.filter(({ phase }) => phase === 'load');
  const silent = load.slice(1 + load.findLastIndex(({ counts }) => counts.verified > 0));
  const codes = [...new Set(silent.flatMap(({ failures }) => Object.keys(failures)))];
  if (codes.length === 0 || codes.some((code) => !NO_ANSWER.includes(code))) return known;
  return [...known, { fromMs: silent[0].startMs, toMs: Infinity, words: codes.join(', ') }];
}

/** Outages without those in which stress itself was stopped. @param {RunFile} run */
export function outagesOf(run) {
  const endMs = run.intervals.at(-1)?.endMs ?? run.window.durationMs;
  return (run.generator.outages ?? []).filter(({ fromMs, toMs = endMs }) => {
    return stoppedMs(run, { startMs: fromMs, endMs: toMs }) < (toMs - fromMs) / 2 || toMs === fromMs;
  });
}

/** For how long the endpoint did not answer. @param {RunFile} run */
export function awayMsOf(run) {
  const endMs = run.intervals.at(-1)?.endMs ?? 0;
  return Math.round(outagesOf(run).reduce((sum, { fromMs, toMs = endMs }) => sum + Math.max(0, toMs - fromMs), 0));
}

/** The window since the load began. @param {Pick<RunFile, 'intervals' | 'window'>} run */
function loadOf({ intervals, window }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  const startMs = load[0]?.startMs ?? 0;
  return { startMs, endMs: load.at(-1)?.endMs ?? startMs + window.durationMs };
}

/** For how long stress did not run (SIGSTOP, a suspended machine). @param {{generator: Pick<RunFile['generator'], 'stops'>}} run @param {{startMs: number, endMs: number}} time */
export function stoppedMs({ generator: { stops = [] } }, { startMs, endMs }) {
  return stops.reduce(
    (sum, { fromMs, toMs }) => sum + Math.max(0, Math.min(endMs, toMs) - Math.max(startMs, fromMs)),
    0,
  );
}

/** Those that began in the window, also what they lasted after it: operations of the window waited for that too. @param {RunFile} run */
function stopsOf(run) {
  const window = loadOf(run);
  const { stops = [] } = run.generator;
  const began = stops.filter(({ fromMs, toMs }) => fromMs < window.endMs && toMs > window.startMs);
  const endMs = Math.max(window.endMs, ...began.map(({ toMs }) => toMs));
  const ofWindowMs = stoppedMs(run, window);
  const allMs = stoppedMs({ generator: { stops: began } }, { ...window, endMs });
  return { stoppedMs: allMs, stoppedAfterMs: allMs - ofWindowMs };
}

/**
 * Refusals by class: the failure code of an operation that ended with it, what it is, and what to repair. Other classes are
 * no decision about a transaction.
 *
 * @typedef {{code: string, words: string, advice: string}} RefusedRow
 *
 * @type {Readonly<Record<string, RefusedRow>>}
 */
const REFUSED = Object.freeze({
  price: {
    code: 'underpriced',
    words: 'the price was too low',
    advice: 'give a higher --tip or --gas-price, and a higher --max-fee where it is given',
  },
  pool_full: {
    code: 'pool_full',
    words: 'the pool of the node was full',
    advice: 'give fewer wallets (-t, --in-flight), or the node a larger pool (geth: --txpool.globalslots)',
  },
  sender_limit: {
    code: 'sender_limit',
    words: 'a sender may have no more in the pool',
    advice: 'give more wallets (-t) instead of --in-flight; Besu: --tx-pool-limit-by-account-percentage',
  },
  nonce_high: {
    code: 'nonce_too_high',
    words: 'the nonce was too high for the node',
    advice: 'give one endpoint, or a node that takes transactions before those of lower nonces',
  },
  nonce_low: {
    code: 'nonce_too_low',
    words: 'the nonce was used already',
    advice: 'no other program may send from these wallets: give another --offset, or other keys',
  },
  replacement: {
    code: 'nonce_in_use',
    words: 'another transaction has the nonce',
    advice: 'no other program may send from these wallets: give another --offset, or other keys',
  },
  unsupported: {
    code: 'rejected',
    words: 'the endpoint takes no transactions',
    advice: 'give an endpoint that takes transactions (--send-rpc)',
  },
  invalid: {
    code: 'rejected',
    words: 'the node takes no such transaction',
    advice: 'the words of the node say what it does not take',
  },
});

const REVERTED = Object.freeze(['reverted', 'slippage']);

/** Operations that ended after the warm-up, and those of them that were not verified. @param {Pick<RunFile, 'counts' | 'intervals'>} run */
export function endedIn({ counts, intervals }) {
  const warmUp = intervals.filter(({ phase }) => phase === 'warmup');
  const of = (/** @type {'verified' | 'failed' | 'timedOut' | 'abandoned'} */ name) =>
    warmUp.reduce((left, row) => left - row.counts[name], counts[name]);
  const waiting = of('timedOut') + of('abandoned');
  const missed = of('failed') + waiting;
  return { waiting, missed, ended: missed + of('verified') };
}

/** @param {RunFile} run @param {number} senders @param {(ms: number) => number | null} shareOfTime of the wallets */
function fundsOf({ config, failures, generator, refills }, senders, shareOfTime) {
  if (refills === undefined) {
    // With several in flight more operations fail than wallets are empty.
    const empty = Math.min(failures.insufficient_funds ?? 0, senders, generator.retiredWallets || Infinity);
    return { empty, unpaidShare: null };
  }
  // Wallets that are paid become none of these.
  const { unpaidMs } = generator.pauses ?? {};
  const unpaidShare = unpaidMs === undefined ? null : shareOfTime(unpaidMs * Number(config.inFlight ?? 1));
  return { empty: 0, unpaidShare };
}

/** Submissions that were repeated because no answer had come. @param {RunFile} run */
export function unansweredSubmissions({ generator: { resubmissions } }) {
  return resubmissions.repeated - (resubmissions.refused ?? 0);
}

/** What became of the operations of the window that were not verified. @param {RunFile} run */
function unverified(run) {
  const warmUp = run.intervals.filter(({ phase }) => phase === 'warmup');
  const failed = (/** @type {string} */ code) =>
    warmUp.reduce((left, { failures }) => left - (failures[code] ?? 0), run.failures[code] ?? 0);
  const reverted = REVERTED.reduce((sum, code) => sum + failed(code), 0);
  const all = endedIn(run);
  return { ...all, reverted, refusal: refusalOf(run, failed, all) };
}

/**
 * The class of the refusals, if nearly all operations that were not verified have it.
 * @param {RunFile} run
 * @param {(code: string) => number} failed
 * @param {{waiting: number, missed: number}} ended
 * @returns {(RefusedRow & {count: number, said: string}) | null}
 */
function refusalOf({ generator: { refusals }, failureWords, window: { counts } }, failed, { waiting, missed }) {
  const codes = [...new Set(Object.values(REFUSED).map(({ code }) => code))];
  const ended = codes.reduce((sum, code) => sum + failed(code), 0);
  // Without the refusals of the run nothing is known of operations that timed out.
  const all =
    refusals ??
    Object.fromEntries(Object.entries(REFUSED).map(([name, { code }]) => [name, { count: failed(code), words: '' }]));
  // Whether the node accepted an operation is known of those of the window; others may have begun before it.
  const waitingInWindow = Math.max(1, counts.started - counts.verified - counts.failed);
  const unaccepted = Math.max(0, counts.started - (counts.accepted ?? counts.started) - ended);
  const refusedWaiting = refusals === undefined ? 0 : waiting * Math.min(1, unaccepted / waitingInWindow);
  const [name, most] = mostRefused(all);
  const sum = Object.values(all).reduce((total, one) => total + one.count, 0);
  const row = REFUSED[name];
  const count = ended + Math.round(refusedWaiting);
  if (row === undefined || most.count < OF_A_KIND * sum || count < OF_MISSED * missed) return null;
  return { ...row, count, said: most.words || (failureWords[row.code] ?? '') };
}

/** @param {Record<string, {count: number, words: string}>} refusals @returns {[name: string, most: {count: number, words: string}]} the class with most */
function mostRefused(refusals) {
  const [most = ['', { count: 0, words: '' }]] = Object.entries(refusals).sort(([, a], [, b]) => b.count - a.count);
  return /** @type {[string, {count: number, words: string}]} */ (most);
}

/** What the node refused most, whatever became of the operations. @param {RunFile} run @returns {(RefusedRow & {count: number, said: string}) | null} */
function refusedMostOf({ generator: { refusals = {} } }) {
  const [name, { count, words }] = mostRefused(refusals);
  const row = REFUSED[name];
  return row === undefined ? null : { ...row, count, said: words };
}

/** What was seen of the chain: whether it made blocks, and whether these took what the node had accepted. @param {RunFile} run */
function chainOf(run) {
  const { blocks, generator, window, reorgs } = run;
  const gapMs = Math.max(0, Math.min(blocks.gapMaxMs ?? 0, window.durationMs) - stoppedMs(run, loadOf(run)));
  // Their timestamps say that blocks were made meanwhile, and seen late.
  const isLate = (blocks.skewMaxMs ?? 0) - (blocks.skewMinMs ?? 0) > gapMs / 2;
  const stillMs = isLate ? 0 : gapMs;
  const { refusals = {}, resubmissions, rpcCalls, failedPolls } = generator;
  return {
    stillMs: blocks.count === 0 ? window.durationMs : stillMs,
    isChainSeen: !isPlain(run) && failedPolls <= FAILED_POLLS * (rpcCalls.inclusion ?? 0),
    aboveMaxFee: blocks.aboveMaxFee ?? 0,
    lost: reorgs.count > 0 || (refusals.pool_full?.count ?? 0) > 0 ? 0 : (resubmissions.lost ?? 0),
    leftOut: resubmissions.leftOut ?? 0,
    refusedMost: refusedMostOf(run),
    refusals: Object.values(refusals).reduce((sum, { count }) => sum + count, 0),
    senderLimits: refusals.sender_limit?.count ?? 0,
    poolRefusals: refusals.pool_full?.count ?? 0,
    // Both names are used for what the pool keeps.
    poolSize: generator.nodeLimits?.pool ?? null,
  };
}

/** @param {RunFile['latency']['stages']} stages */
export function sumUs(stages) {
  return STAGES.reduce((sum, { name }) => sum + (stages[name]?.sumUs ?? 0), 0);
}
