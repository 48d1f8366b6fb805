import { backlog, grows, quartersOf } from './growth.js';
import { Distribution } from './histogram.js';
import { blockIntervalMs } from './blocks.js';
import { nodeCpuPercent } from './figures.js';
import { STAGES, isPlain } from './sample.js';
import { byCode, count as whole, seconds, tenths } from '../text.js';

/** @import { MeasuredRun } from './run-file.js' */

/**
 * The verdict: what limited a run, in one word with its evidence. Every figure it uses is in the run file. A verdict
 * needs evidence that excludes the other explanations; without it the verdict is `unknown`.
 *
 * @typedef {'endpoint-down' | 'funds' | 'port-bound' | 'endpoint-limited' | 'generator-bound' | 'rate-bound' | 'node-bound' | 'concurrency-bound' | 'unknown'} VerdictName
 *
 * @typedef {object} Verdict
 * @property {VerdictName} name
 * @property {string} evidence one sentence with the figures
 */

/** Share of the operations below which a failure does not count as a limit. */
const RELEVANT = 0.01;
/** Share of the port range: with fewer ports left, new connections may not find one. */
const FEW_PORTS = 0.02;
/** Share of the wallets that ran out of funds. */
const EMPTY = 0.25;

/** Shares of the latency: waiting that the endpoint asked for; waiting before sending. */
const LIMITED = 0.25;
const QUEUED = 0.5;
const QUEUED_US = 5000;
/** Mean wait for a connection from which on reads of heads and blocks wait as well, so that inclusion is seen late. */
const READS_QUEUED_US = 50_000;

/** Shares of the window: endpoint down; think time; pauses after unanswered calls. */
const DOWN = 0.5;
const IDLE = 0.5;
const PAUSED = 0.25;

/** Share of the time that an event loop is busy: above it there is no room for bursts. */
const BUSY = 0.9;
/** Share of the window that a thread was ready to run while other programs had the CPUs. */
const STARVED = 0.25;
/** Mean delay of timers; a single block of transactions does not cause as much. */
const LATE_TIMERS_US = 50_000;
/** Waiting for a CPU limits nothing while timers are on time. */
const STARVED_TIMERS_US = 5000;
/** Open loop: only the generator can delay a start, because operations without an idle wallet are dropped. */
const LATE_STARTS_US = 100_000;

/** Share of the asked rate that counts as achieved: operations at the end of the window may fail. */
const ACHIEVED = 0.99;
const DROPPED = 0.001;

/** Share of the blocks; fewer than ENOUGH_BLOCKS prove nothing. */
const FULL = 0.5;
/** Share of the gas limit above which the chain may be the limit. */
const ROOM_LEFT = 0.9;
const ENOUGH_BLOCKS = 4;
/** Blocks that come faster may be produced on demand, so that their interval follows the load. */
const PACED_US = 50_000;
/** In block intervals: on an idle chain an operation takes one; several mean that the chain is overloaded. */
const ONE_BLOCK = 1.3;
const ONE_BLOCK_P90 = 1.6;
const SEVERAL_BLOCKS = 2.5;
const LATER_BLOCKS = 1.5;
/** Share of failed polls above which the times of blocks are not reliable. */
const FAILED_POLLS = 0.05;

/** Shares of a core; between them the node may be the limit or not. */
const BUSY_NODE = 0.9;
const IDLE_NODE = 0.5;
/** Factor within which the median counts as fast as the fastest operation or as a round trip without load. */
const AS_FAST = 2;
/** Factor between the first and the later operations that proves a queue. */
const SLOWER = 3;

/** In order of precedence: a shortage in the generator or in the network explains everything after it. @type {ReadonlyArray<[VerdictName, (run: MeasuredRun) => string | null]>} */
const CHECKS = [
  ['endpoint-down', endpointDown],
  ['funds', funds],
  ['port-bound', ports],
  ['endpoint-limited', endpointLimit],
  ['generator-bound', generator],
  ['rate-bound', rate],
  ['node-bound', overloadedChain],
  ['concurrency-bound', concurrency],
  ['node-bound', busyNode],
  ['unknown', unknown],
];

/** In order of precedence, which also ranks the verdicts of several instances. */
export const VERDICTS = Object.freeze([...new Set(CHECKS.map(([name]) => name))]);

/** @type {Record<string, string>} */
export const LIMIT_WORDS = {
  'endpoint-down': 'the endpoint was down',
  funds: 'wallets without funds were the limit',
  'port-bound': 'local ports were the limit',
  'endpoint-limited': 'a limit that the endpoint sets (429, Retry-After) was the limit',
  'generator-bound': 'this generator was the limit',
  'rate-bound': 'the rate asked for was the limit',
  'node-bound': 'the node was the limit',
  'concurrency-bound': 'the number of wallets was the limit, not the node',
  unknown: 'the limit is unknown',
};

/** @param {MeasuredRun} run @returns {Verdict | null} null: nothing was due in the window */
export function judge(run) {
  if (run.window.counts.scheduled === 0 || run.window.durationMs === 0) return null;
  for (const [name, evidenceOf] of CHECKS) {
    const evidence = evidenceOf(run);
    if (evidence !== null) return { name, evidence };
  }
  return null;
}

/** @type {Readonly<Record<string, string>>} */
const ENDED_BY_ENDPOINT = Object.freeze({
  chain_ended: 'the embedded chain ended in mid-run',
  endpoint_lost: 'the endpoint stopped answering',
});

/** @param {MeasuredRun} run */
function endpointDown(run) {
  const { startMs, endMs } = windowOf(run);
  const away = outagesOf(run).filter(({ fromMs, toMs }) => fromMs < endMs && !isVerifiedBetween(run, fromMs, toMs));
  const last = away.at(-1);
  const isAway = last !== undefined && last.toMs >= endMs;
  const words = isAway ? `no answer from ${seconds(last.fromMs)} on (${last.words})` : '';
  if (ENDED_BY_ENDPOINT[run.end] !== undefined) return [ENDED_BY_ENDPOINT[run.end], words].filter(Boolean).join(': ');
  if (isAway) return `${words}, until the window ended at ${seconds(endMs)}`;
  const downMs = away.reduce((sum, { fromMs, toMs }) => sum + Math.max(0, toMs - Math.max(fromMs, startMs)), 0);
  if (downMs < DOWN * (endMs - startMs) || last === undefined) return null;
  return `the endpoint was away for ${seconds(downMs)} of ${seconds(endMs - startMs)} (${last.words})`;
}

/** In milliseconds after the load began. @param {MeasuredRun} run */
function windowOf({ intervals, window }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  const startMs = load[0]?.startMs ?? 0;
  return { startMs, endMs: load.at(-1)?.endMs ?? startMs + window.durationMs };
}

const NO_ANSWER = Object.freeze(['refused', 'reset', 'timeout', 'closed', 'dns'].map((why) => `transport_${why}`));

/** @param {MeasuredRun} run @returns {Array<{fromMs: number, toMs: number, words: string}>} */
function outagesOf(run) {
  const { generator, intervals } = run;
  const known = (generator.outages ?? []).map(({ fromMs, toMs, words }) => ({ fromMs, toMs: toMs ?? Infinity, words }));
  if (!isPlain(run)) return known;
  const load = intervals.filter(({ phase }) => phase === 'load');
  const silent = load.slice(1 + load.findLastIndex(({ counts }) => counts.verified > 0));
  const codes = [...new Set(silent.flatMap(({ failures }) => Object.keys(failures)))];
  if (codes.length === 0 || codes.some((code) => !NO_ANSWER.includes(code))) return known;
  return [...known, { fromMs: silent[0].startMs, toMs: Infinity, words: codes.join(', ') }];
}

/** A slow node is not down. @param {MeasuredRun} run @param {number} fromMs @param {number} toMs */
function isVerifiedBetween({ intervals }, fromMs, toMs) {
  return intervals.some(({ startMs, endMs, counts }) => startMs >= fromMs && endMs <= toMs && counts.verified > 0);
}

/** @param {MeasuredRun} run */
function funds({ failures, counts, config, end, generator }) {
  const failed = failures.insufficient_funds ?? 0;
  const wallets = Number(config.threads);
  // With several in flight more operations fail than wallets are empty.
  const dry = Math.min(failed, wallets, generator.retiredWallets || Infinity);
  if (failed === 0 || (dry < EMPTY * wallets && end !== 'no_wallets' && counts.verified > 0)) return null;
  return `${whole(dry)} of ${whole(wallets)} wallets had too little left for a transaction (insufficient_funds ${whole(failed)}): --fund-amount sets what each must have`;
}

/** @param {MeasuredRun} run */
function ports(run) {
  const { failures, probes, counts } = run;
  const refused = failures.transport_no_ports ?? 0;
  const { endpoints, range } = probes?.sockets ?? { endpoints: [], range: { ports: 0 } };
  const isShort = endpoints.some(({ portsLeft }) => portsLeft < FEW_PORTS * range.ports);
  const isRelevant = refused >= RELEVANT * counts.started || (isShort && refused > 0 && pausedOf(run) > PAUSED);
  if (refused === 0 || !isRelevant) return null;
  return `${whole(refused)} operations failed because no local port was left for their connection`;
}

/** @param {MeasuredRun} run */
function endpointLimit(run) {
  const { generator, latency } = run;
  const { limitAnswers = 0, limitedMs = 0 } = generator.pauses ?? {};
  const ofAllMs = isPlain(run) ? userTimeMs(run) : latency.total.sumUs / 1000;
  const part = Math.min(1, limitedMs / Math.max(1, ofAllMs));
  if (limitAnswers === 0 || part < LIMITED) return null;
  const of = isPlain(run) ? 'the time of all users' : 'the latency';
  return `${percent(part)} of ${of} is waiting because the endpoint asked for less: ${whole(limitAnswers)} answers were 429, Retry-After or "limit exceeded" (-32005)`;
}

/** @param {MeasuredRun} run */
function generator(run) {
  const { probes, rates, lag, latency } = run;
  const loop = probes?.loop ?? null;
  if (loop !== null) {
    const { utilization, delayMeanUs } = loop;
    const waited = shareOfWindow(run, loop.waitedUs);
    if (utilization >= BUSY) return `${loopName(run)} was busy ${percent(utilization)} of the time${whyLate(run)}`;
    if (waited >= STARVED && delayMeanUs >= STARVED_TIMERS_US)
      return `${loopName(run)} waited ${percent(waited)} of the time for a CPU, and timers fired ${ms(delayMeanUs)} late on average: other programs, or the node, had the CPU`;
    if (delayMeanUs >= LATE_TIMERS_US)
      return `timers of ${loopName(run)} fired ${ms(delayMeanUs)} late on average${whyLate(run)}`;
  }
  if (rates.askedPerSecond !== null && lag.p99Us !== null && lag.p99Us > LATE_STARTS_US)
    return `1 % of the operations were begun, or dropped, ${ms(lag.p99Us)} or more after they were due, which is not the node's doing${whyLate(run)}`;
  const { queued } = latency.stages;
  const queuedUs = queuedInGeneratorUs(run);
  const readsUs = Math.min(latency.stages.inclusion.sumUs, lateReadsUs(run) * queued.count);
  const part = (queuedUs + readsUs) / Math.max(1, sumOfStagesUs(run));
  if (part < QUEUED || queuedUs < QUEUED_US * queued.count) return null;
  const what = readsUs > 0 ? ', of the transactions and of the reads that see their blocks,' : ',';
  return `${percent(part)} of the latency is waiting in the generator${what} for ${loop === null ? '' : `${loopName(run)} (busy ${percent(loop.utilization)} of the time) or for `}one of its connections (--connections)`;
}

/** Without the pauses that the endpoint caused. @param {MeasuredRun} run */
function queuedInGeneratorUs({ generator: { pauses }, latency }) {
  const { limitedMs = 0, unansweredMs = 0 } = pauses ?? {};
  return Math.max(0, latency.stages.queued.sumUs - 1000 * (limitedMs + unansweredMs));
}

/** How much later inclusion is seen on average: the reads of the head and of its block both wait for a connection. @param {MeasuredRun} run */
function lateReadsUs(run) {
  const meanUs = queuedInGeneratorUs(run) / Math.max(1, run.latency.stages.queued.count);
  return meanUs < READS_QUEUED_US ? 0 : 2 * meanUs;
}

/** Late timers alone do not show the cause; the scheduler's figures do (Linux only). @param {MeasuredRun} run */
function whyLate(run) {
  const waited = shareOfWindow(run, run.probes?.loop?.waitedUs);
  return waited < STARVED ? '' : `: for ${percent(waited)} of it other programs had the CPU`;
}

/** Think time as a share of an operation and the think time behind it. @param {MeasuredRun} run */
function thinkShare({ config, environment, latency }) {
  const calls = Number(/** @type {any} */ (environment.workload)?.callsPerIteration ?? 1);
  const thinkUs = (1000 * Number(config.thinkTimeMs ?? 0)) / calls;
  return thinkUs === 0 ? 0 : thinkUs / (thinkUs + (latency.total.meanUs ?? 0));
}

/** Pauses after unanswered calls, as a share of the time of all users. @param {MeasuredRun} run */
function pausedOf(run) {
  const all = userTimeMs(run);
  return all > 0 ? Math.min(1, (run.generator.pausedMs ?? 0) / all) : 0;
}

/** Time before the drain, multiplied by the operations that can be in flight. @param {MeasuredRun} run */
function userTimeMs(run) {
  const rows = run.intervals.filter(({ phase }) => phase !== 'drain');
  return rows.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0) * maxInFlight(run);
}

/** @param {MeasuredRun} run */
function maxInFlight({ config }) {
  return Number(config.threads) * Number(config.inFlight ?? 1);
}

/** @param {MeasuredRun} run */
function rate(run) {
  if (pausedOf(run) > PAUSED) return null;
  const rest = thinkShare(run);
  if (rest > IDLE)
    return `users rested ${percent(rest)} of the time (--think-time): more of them would tell what the node can do${unchecked(run)}`;
  const { askedPerSecond, achievedPerSecond } = run.rates;
  if (askedPerSecond === null || achievedPerSecond === null) return null;
  const { dropped } = run.window.counts;
  if (achievedPerSecond < ACHIEVED * askedPerSecond || isDropping(run) || backlog(run) !== null) return null;
  return `${tenths(achievedPerSecond)} of ${tenths(askedPerSecond)} per second were achieved, ${whole(dropped)} dropped: a higher rate would tell what the node can do${unchecked(run)}`;
}

/** @param {MeasuredRun} run */
function isDropping({ window: { counts } }) {
  return counts.dropped > DROPPED * counts.scheduled;
}

/** @param {MeasuredRun} run */
function overloadedChain(run) {
  const { blocks, rates, latency, generator: own } = run;
  const { full = 0, count } = blocks;
  if (count > 0 && full >= FULL * count)
    return `${whole(full)} of ${whole(count)} blocks had no room for another transaction (${percent(fullness(run) ?? 0)} of the gas limit was used)${verifiedOfAsked(run)}`;
  const growth = backlog(run);
  if (rates.askedPerSecond !== null && growth !== null) return `${growth}${verifiedOfAsked(run)}`;
  const pending = quartersOf(run.intervals).map((rows) => rows.at(-1)?.probes.pool?.pending ?? null);
  if (rates.askedPerSecond !== null && grows(pending) && isDropping(run))
    return `the pool of the node grew from ${whole(pending[0] ?? 0)} to ${whole(pending.at(-1) ?? 0)} pending transactions${verifiedOfAsked(run)}`;
  const { intervalUs, extraUs } = pace(run);
  const [{ inclusion }, { minUs, p50Us }] = [latency.stages, latency.total];
  const polls = /** @type {Record<string, number>} */ (own.rpcCalls).inclusion ?? 0;
  const { rebroadcast, replaced } = own.resubmissions;
  const isSound = own.failedPolls <= FAILED_POLLS * polls && rebroadcast + replaced <= RELEVANT * run.counts.verified;
  const leastUs = (SEVERAL_BLOCKS + confirmations(run)) * (intervalUs ?? Infinity) + extraUs;
  // On a chain with slow inclusion the first operations would have waited as long.
  const isSlower = (p50Us ?? 0) - (minUs ?? 0) > LATER_BLOCKS * (intervalUs ?? Infinity);
  if (!isSound || !isSlower || (inclusion.meanUs ?? 0) - lateReadsUs(run) < leastUs) return null;
  const waits = `transactions that the node had taken waited ${tenths((inclusion.meanUs ?? 0) / (intervalUs ?? 1))} block intervals (${ms(intervalUs ?? 0)})`;
  return `${waits}, and the fastest operation took ${tenths((minUs ?? 0) / (intervalUs ?? 1))} in all${verifiedOfAsked(run)}`;
}

/**
 * The block interval, unless it follows the load, and the other time that an operation takes on an idle chain.
 * @param {MeasuredRun} run
 */
function pace(run) {
  const { blocks, window, generator: own } = run;
  const intervalUs = blocks.count < ENOUGH_BLOCKS ? null : 1000 * blockIntervalMs(blocks, window.durationMs);
  const extraUs = 3 * (roundTripUs(run) ?? 0) + 1000 * (own.inclusionResolutionMs ?? 0);
  return { intervalUs: intervalUs !== null && intervalUs >= PACED_US ? intervalUs : null, extraUs };
}

/** @param {MeasuredRun} run */
function confirmations({ config }) {
  return Number(config.confirmations ?? 0);
}

/** Measured before the load. @param {MeasuredRun} run */
function roundTripUs({ environment }) {
  const { roundTripMs = null } = /** @type {{roundTripMs?: number | null}} */ (environment);
  return roundTripMs === null ? null : 1000 * roundTripMs;
}

/** @param {MeasuredRun} run */
function concurrency(run) {
  const { rates, config, counts, environment } = run;
  const asked = rates.askedPerSecond;
  if (asked !== null && !isDropping(run)) return null;
  // Beside calls the latency and the rate are those of both.
  if (/** @type {any} */ (environment.workload)?.calls !== undefined) return null;
  const unanswered = counts.failed + counts.timedOut + counts.abandoned;
  if (pausedOf(run) > PAUSED || unanswered > RELEVANT * counts.started) return null;
  if ((fullness(run) ?? 0) >= ROOM_LEFT) return null;
  const single = maxInFlight(run) === 1 ? 'one at a time, none waits for another' : null;
  const why = oneBlock(run) ?? single ?? roundTrip(run) ?? idleNode(run);
  if (why === null) return null;
  const [wallets, inFlight] = [Number(config.threads), Number(config.inFlight ?? 1)];
  const done = (asked === null ? rates.verifiedPerSecond : rates.achievedPerSecond) ?? 0;
  const factor = asked === null || done === 0 ? 2 : Math.max(1.2, (1.2 * asked) / done);
  const more = isPlain(run)
    ? `-t ${Math.ceil(wallets * factor)}`
    : `-t ${Math.ceil(wallets * factor)} or --in-flight ${Math.ceil(inFlight * factor)}`;
  const most = `${whole(wallets)} ${noun(run)} with ${whole(inFlight)} in flight each did ${tenths(done)} per second, ${ms(run.latency.total.p50Us ?? 0)} for the median operation`;
  const rest = asked === null ? `${more} would ask for more` : `${more} would ask for ${tenths(asked)} per second`;
  return `${most}: ${why}; ${rest}${unchecked(run)}`;
}

/** @param {MeasuredRun} run */
function noun(run) {
  return isPlain(run) ? 'users' : 'wallets';
}

/** @param {MeasuredRun} run */
function oneBlock(run) {
  const { intervalUs } = pace(run);
  if (intervalUs === null || !isOneBlock(run) || (nodeCores(run) ?? 0) >= BUSY_NODE) return null;
  const blocks = tenths((run.latency.total.p50Us ?? 0) / intervalUs);
  return `half of them took no more than ${blocks} block intervals (${ms(intervalUs)}), ${percent(fullness(run) ?? 0)} of the gas limit was used`;
}

/** @param {MeasuredRun} run */
function isOneBlock(run) {
  const { intervalUs, extraUs } = pace(run);
  const { p50Us, p90Us } = run.latency.total;
  if (intervalUs === null || p50Us === null || p90Us === null) return false;
  const within = (/** @type {number} */ blocks) => (blocks + confirmations(run)) * intervalUs + extraUs;
  // With room for most of the operations only the others wait for a second block.
  return p50Us <= within(ONE_BLOCK) && p90Us <= within(ONE_BLOCK_P90);
}

/** @param {MeasuredRun} run */
function roundTrip(run) {
  const [idleUs, { p50Us }] = [roundTripUs(run), run.latency.total];
  if (idleUs === null || p50Us === null || p50Us > AS_FAST * idleUs) return null;
  return `half of them took no more than ${ms(p50Us)}, and an exchange without load took ${ms(idleUs)}`;
}

/** @param {MeasuredRun} run */
function idleNode(run) {
  const { p90Us, minUs } = run.latency.total;
  const cores = nodeCores(run);
  if (cores === null || cores > IDLE_NODE || p90Us === null || p90Us > AS_FAST * (minUs ?? 0)) return null;
  return `the node used ${percent(cores)} of a core, and 90 % of them took no more than ${ms(p90Us)}, the fastest ${ms(minUs ?? 0)}`;
}

/** @param {MeasuredRun} run @returns {number | null} null: it was not watched */
function nodeCores(run) {
  const cpu = nodeCpuPercent(run);
  return cpu === null ? null : cpu / 100;
}

/** @param {MeasuredRun} run */
function busyNode(run) {
  const cores = nodeCores(run);
  if (cores !== null && cores >= BUSY_NODE && !isOneBlock(run))
    return [...new Set([`the node used ${percent(cores)} of a core`, ...facts(run)])].join(', ');
  const [first, ...later] = run.intervals.filter(({ phase, latency }) => phase !== 'drain' && latency.count > 0);
  const all = new Distribution();
  for (const { latency } of later) all.add(latency);
  const [firstUs, laterUs] = [first?.latency.minUs ?? null, all.percentileUs(1)];
  // Operations follow the blocks: any of them may take a block longer than the fastest of the first.
  const blocksUs = run.blocks.count === 0 ? 0 : 2000 * blockIntervalMs(run.blocks, run.window.durationMs);
  if (firstUs === null || laterUs === null || laterUs < SLOWER * firstUs + blocksUs) return null;
  return `the first operations took from ${ms(firstUs)} on, 99 % of the later ones ${ms(laterUs)} or more: they wait for each other, ${facts(run).join(', ')}`;
}

/** @param {MeasuredRun} run */
function unknown(run) {
  const words = [...facts(run)];
  if (pausedOf(run) > RELEVANT)
    words.push(
      `users were given a pause for ${percent(pausedOf(run))} of the time, because calls were not answered (${byCode(run.failures)})`,
    );
  const tells = [
    ...(run.probes?.node ? [] : ['the CPU time of the node (--node-pid)']),
    run.rates.askedPerSecond === null ? `a run with twice the ${noun(run)} (-t)` : 'a run at a lower rate',
  ];
  return `${words.join(', ')}; ${tells.join(' or ')} would tell more${unchecked(run)}`;
}

/** @param {MeasuredRun} run */
function facts(run) {
  const { counts, failures, rates, window } = run;
  const words = [counts.verified === 0 ? 'nothing was verified' : longestStage(run)];
  const { failed, timedOut, started } = counts;
  if (failed + timedOut > RELEVANT * started)
    words.push(byCode(timedOut > 0 ? { ...failures, timed_out: timedOut } : failures));
  if (rates.askedPerSecond !== null) {
    words.push(`${tenths(rates.achievedPerSecond ?? 0)} of ${tenths(rates.askedPerSecond)} per second were achieved`);
    if (window.counts.dropped > 0)
      words.push(
        `${whole(window.counts.dropped)} of ${whole(window.counts.scheduled)} were dropped because all wallets were busy`,
      );
  }
  const full = fullness(run);
  if (full !== null) words.push(`${percent(full)} of the gas limit was used`);
  const inFlight = meanInFlight(run);
  if (inFlight !== null) words.push(`${whole(inFlight)} in flight`);
  const loop = run.probes?.loop ?? null;
  if (loop !== null) words.push(`${loopName(run)} busy ${percent(loop.utilization)} of the time`);
  const cores = nodeCores(run);
  if (cores !== null) words.push(`the node used ${percent(cores)} of a core`);
  return words;
}

/** Share of the gas limit that was used, if blocks were seen. @param {MeasuredRun} run */
function fullness({ blocks: { count, gasUsed, gasLimit } }) {
  return count === 0 || !gasLimit ? null : gasUsed / (count * gasLimit);
}

/** Operations that ended in the drain do not count. @param {MeasuredRun} run */
function verifiedOfAsked({ rates: { askedPerSecond, verifiedPerSecond } }) {
  if (askedPerSecond === null) return '';
  return `; ${tenths(verifiedPerSecond ?? 0)} of ${tenths(askedPerSecond)} per second were verified in the window`;
}

const STAGE_WORDS = {
  queued: 'waiting in the generator',
  submit: 'submission',
  inclusion: 'waiting for a block',
  readBack: 'read-back',
};

/** @param {MeasuredRun} run */
function sumOfStagesUs({ latency: { stages } }) {
  return STAGES.reduce((sum, stage) => sum + (stages[stage]?.sumUs ?? 0), 0);
}

/** @param {MeasuredRun} run */
function longestStage(run) {
  const { stages } = run.latency;
  const sums = STAGES.map((stage) => ({ words: STAGE_WORDS[stage], sumUs: stages[stage]?.sumUs ?? 0 }));
  const allUs = sumOfStagesUs(run);
  const longest = sums.reduce((a, b) => (b.sumUs > a.sumUs ? b : a));
  const words = isPlain(run) && longest.words === STAGE_WORDS.submit ? 'waiting for the answer' : longest.words;
  return allUs === 0
    ? 'latency is too small to be measured'
    : `${percent(longest.sumUs / allUs)} of the latency is ${words}`;
}

/** Mean of the ends of the window's intervals. @param {MeasuredRun} run */
function meanInFlight({ intervals }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  // Rows of a long run are merged, so their lengths differ.
  const lengthMs = load.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
  const product = load.reduce((sum, { inFlight, startMs, endMs }) => sum + inFlight * (endMs - startMs), 0);
  return lengthMs === 0 ? null : product / lengthMs;
}

/** Names probes that were missing: their verdicts could not be checked. @param {MeasuredRun} run */
function unchecked({ probes }) {
  const missing = [];
  if ((probes?.sockets ?? null) === null) missing.push('ports');
  if ((probes?.loop ?? null) === null) missing.push('the event loop');
  return missing.length === 0 ? '' : ` (not checked: ${missing.join(', ')})`;
}

/** @param {MeasuredRun} run */
function loopName({ generator: { workers } }) {
  return workers > 1 ? 'the event loop of the busiest worker' : "the generator's event loop";
}

/** As a share of the window. @param {MeasuredRun} run @param {number | undefined} us */
function shareOfWindow({ window }, us) {
  return Math.min(1, (us ?? 0) / (1000 * window.durationMs));
}

/** @param {number} part */
function percent(part) {
  return part > 0 && part < 0.01 ? `${(100 * part).toFixed(1)} %` : `${Math.round(100 * part)} %`;
}

/** @param {number} us */
function ms(us) {
  return `${us < 10_000 ? (us / 1000).toFixed(1) : whole(us / 1000)} ms`;
}
