import { blockIntervalMs } from './blocks.js';
import { nodeCpuPercent } from './figures.js';
import { Distribution } from './distribution.js';
import { backlog, grows, quartersOf } from './pace.js';
import { isPlain } from './sample.js';

/**
 * What limited a run. An opinion with its reasons: the figures that it is made from are all in the run file. A name needs
 * evidence that excludes the other explanations; without it the verdict is `unknown`, with what was seen.
 *
 * @typedef {'endpoint-down' | 'funds' | 'port-bound' | 'endpoint-limited' | 'generator-bound' | 'rate-bound' | 'node-bound' | 'concurrency-bound' | 'unknown'} VerdictName
 *
 * @typedef {object} Verdict
 * @property {VerdictName} name
 * @property {string} evidence one sentence with the figures
 *
 * @typedef {import('./summary.js').MeasuredRun} MeasuredRun
 */

/** What fewer operations met than this share limits nothing. */
const RELEVANT = 0.01;
/** With so few ports of the range left the next connections hunt for one, and some find none. */
const FEW_PORTS = 0.02;
/** Wallets without funds, of all wallets. */
const DRY = 0.25;

/** Of the latency: waiting because the endpoint asked for it; waiting before anything was sent. */
const LIMITED = 0.25;
const QUEUED = 0.5;
const QUEUED_US = 5000;
/** On average per operation: the reads of heads and blocks wait as long for a connection, and inclusion is seen that late. */
const READS_QUEUED_US = 50_000;

/** Of the window: the endpoint was away, users rested, users paused because calls were not answered. */
const AWAY = 0.5;
const RESTING = 0.5;
const PAUSED = 0.25;

/** A thread that is busy all but a tenth of the time has no room for bursts: its queue is part of every latency. */
const BUSY = 0.9;
/** Of the window: a thread could have run, and other programs had the CPUs. */
const STARVED = 0.25;
/** Timers that are that late on average, not only while a block is worked off. */
const LATE_TIMERS_US = 50_000;
/** Waiting for a CPU limits nothing while timers fire on time. */
const STARVED_TIMERS_US = 5000;
/** In an open loop nothing but the generator delays a beginning: without an idle wallet an operation is dropped. */
const LATE_STARTS_US = 100_000;

/** What counts as all that was asked for: a few operations at the end of the window may fail to be verified. */
const ACHIEVED = 0.99;
const DROPPED = 0.001;

/** Of the blocks; with fewer than ENOUGH_BLOCKS they tell nothing. */
const FULL = 0.5;
/** Of the gas limit: with more the chain may be what limits. */
const ROOM_LEFT = 0.9;
const ENOUGH_BLOCKS = 4;
/** Blocks that come faster than this may be made on demand, and their pace follows the load. */
const PACED_US = 50_000;
/** In block intervals: on an idle chain a closed loop takes one; with several the chain does not take what it has. */
const ONE_BLOCK = 1.3;
const ONE_BLOCK_P90 = 1.6;
const SEVERAL_BLOCKS = 2.5;
const LATER_BLOCKS = 1.5;
/** Of the looks at the chain: with more that failed, when blocks were seen says little. */
const FAILED_POLLS = 0.05;

/** Of a core. In between the node may be the limit, or not. */
const BUSY_NODE = 0.9;
const IDLE_NODE = 0.5;
/** Half of the operations were as fast as the fastest, or as an exchange without load. */
const AS_FAST = 2;
/** Operations that wait for each other: later ones are slower than the first by this factor, all of them. */
const SLOWER = 3;

/** In this order: what is short on our side, or between us and the node, explains everything behind it. @type {ReadonlyArray<[VerdictName, (run: MeasuredRun) => string | null]>} */
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
  ['unknown', seen],
];

/** All names; of those that several instances give, the first explains the others. */
export const VERDICTS = Object.freeze([...new Set(CHECKS.map(([name]) => name))]);

/** @param {MeasuredRun} run @returns {Verdict | null} null: nothing was due in the window */
export function judge(run) {
  if (run.window.counts.scheduled === 0 || run.window.durationMs === 0) return null;
  for (const [name, evidenceOf] of CHECKS) {
    const evidence = evidenceOf(run);
    if (evidence !== null) return { name, evidence };
  }
  return null;
}

/** Runs that ended because the endpoint did. @type {Readonly<Record<string, string>>} */
const GONE = Object.freeze({
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
  if (GONE[run.end] !== undefined) return [GONE[run.end], words].filter(Boolean).join(': ');
  if (isAway) return `${words}, until the window ended at ${seconds(endMs)}`;
  const awayMs = away.reduce((sum, { fromMs, toMs }) => sum + Math.max(0, toMs - Math.max(fromMs, startMs)), 0);
  if (awayMs < AWAY * (endMs - startMs) || last === undefined) return null;
  return `the endpoint was away for ${seconds(awayMs)} of ${seconds(endMs - startMs)} (${last.words})`;
}

/** The first and the last instant of the window, in milliseconds after the load began. @param {MeasuredRun} run */
function windowOf({ intervals, window }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  const startMs = load[0]?.startMs ?? 0;
  return { startMs, endMs: load.at(-1)?.endMs ?? startMs + window.durationMs };
}

/** Failures of calls that say that nothing is there. */
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

/** A node that is slow is not away. @param {MeasuredRun} run @param {number} fromMs @param {number} toMs */
function isVerifiedBetween({ intervals }, fromMs, toMs) {
  return intervals.some(({ startMs, endMs, counts }) => startMs >= fromMs && endMs <= toMs && counts.verified > 0);
}

/** @param {MeasuredRun} run */
function funds({ failures, counts, config, end, generator }) {
  const failed = failures.insufficient_funds ?? 0;
  const wallets = Number(config.threads);
  // With several in flight more operations fail than wallets are empty.
  const dry = Math.min(failed, wallets, generator.retiredWallets || Infinity);
  if (failed === 0 || (dry < DRY * wallets && end !== 'no_wallets' && counts.verified > 0)) return null;
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
  const ofAllMs = isPlain(run) ? wholeTimeMs(run) : latency.total.sumUs / 1000;
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
    const waited = partOf(run, loop.waitedUs);
    if (utilization >= BUSY) return `${theLoop(run)} was busy ${percent(utilization)} of the time${whyLate(run)}`;
    if (waited >= STARVED && delayMeanUs >= STARVED_TIMERS_US)
      return `${theLoop(run)} waited ${percent(waited)} of the time for a CPU, and timers fired ${ms(delayMeanUs)} late on average: other programs, or the node, had the CPU`;
    if (delayMeanUs >= LATE_TIMERS_US)
      return `timers of ${theLoop(run)} fired ${ms(delayMeanUs)} late on average${whyLate(run)}`;
  }
  if (rates.askedPerSecond !== null && lag.p99Us !== null && lag.p99Us > LATE_STARTS_US)
    return `1 % of the operations were begun, or dropped, ${ms(lag.p99Us)} or more after they were due, which is not the node's doing${whyLate(run)}`;
  const { queued } = latency.stages;
  const queuedUs = queuedInGeneratorUs(run);
  const readsUs = Math.min(latency.stages.inclusion.sumUs, lateReadsUs(run) * queued.count);
  const part = (queuedUs + readsUs) / Math.max(1, sumOfStagesUs(run));
  if (part < QUEUED || queuedUs < QUEUED_US * queued.count) return null;
  const what = readsUs > 0 ? ', of the transactions and of the reads that see their blocks,' : ',';
  return `${percent(part)} of the latency is waiting in the generator${what} for ${loop === null ? '' : `${theLoop(run)} (busy ${percent(loop.utilization)} of the time) or for `}one of its connections (--connections)`;
}

/** Pauses that the endpoint asked for are not the generator's. @param {MeasuredRun} run */
function queuedInGeneratorUs({ generator: { pauses }, latency }) {
  const { limitedMs = 0, unansweredMs = 0 } = pauses ?? {};
  return Math.max(0, latency.stages.queued.sumUs - 1000 * (limitedMs + unansweredMs));
}

/** How much later inclusion is seen on average because two reads, of the head and of its block, wait for a connection. @param {MeasuredRun} run */
function lateReadsUs(run) {
  const meanUs = queuedInGeneratorUs(run) / Math.max(1, run.latency.stages.queued.count);
  return meanUs < READS_QUEUED_US ? 0 : 2 * meanUs;
}

/** Late timers do not tell whose fault it is; the scheduler of the system does (Linux). @param {MeasuredRun} run */
function whyLate(run) {
  const { cpuUs, waitedUs } = run.probes?.loop ?? {};
  if (cpuUs === undefined || waitedUs === undefined) return '';
  const [used, waited] = [partOf(run, cpuUs), partOf(run, waitedUs)];
  if (waited >= STARVED) return `: for ${percent(waited)} of it other programs had the CPU`;
  if (used + waited > 0.5) return '';
  return `, though it used the CPU for ${percent(used)} of the time and waited for it for ${percent(waited)}: it was stopped, or wrote to something that did not take it`;
}

/** Of an iteration, from 0 to 1: users who rest ask for no more than they do. @param {MeasuredRun} run */
function restOf(run) {
  const restUs = restUsOf(run);
  return restUs === 0 ? 0 : restUs / (restUs + (run.latency.total.meanUs ?? 0));
}

/** Of each operation. @param {MeasuredRun} run */
function restUsOf({ config, environment }) {
  const calls = Number(/** @type {any} */ (environment.workload)?.callsPerIteration ?? 1);
  return (1000 * Number(config.thinkTimeMs ?? 0)) / calls;
}

/** Of the time of all users, from 0 to 1: none of it is the endpoint's. @param {MeasuredRun} run */
function pausedOf(run) {
  const all = wholeTimeMs(run);
  return all > 0 ? Math.min(1, (run.generator.pausedMs ?? 0) / all) : 0;
}

/** Of all that could be in flight, before the drain. @param {MeasuredRun} run */
function wholeTimeMs(run) {
  const rows = run.intervals.filter(({ phase }) => phase !== 'drain');
  return rows.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0) * mostInFlight(run);
}

/** @param {MeasuredRun} run */
function mostInFlight({ config }) {
  return Number(config.threads) * Number(config.inFlight ?? 1);
}

/** @param {MeasuredRun} run */
function pausedWords(run) {
  return `users were given a pause for ${percent(pausedOf(run))} of the time, because calls were not answered (${theFailed(run.failures, 0)})`;
}

/** @param {MeasuredRun} run */
function rate(run) {
  if (pausedOf(run) > PAUSED) return null;
  const rest = restOf(run);
  if (rest > RESTING)
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

/** The chain has more than it takes. @param {MeasuredRun} run */
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
  // On a chain that takes its time with each, the first would have waited as long.
  const isSlower = (p50Us ?? 0) - (minUs ?? 0) > LATER_BLOCKS * (intervalUs ?? Infinity);
  if (!isSound || !isSlower || (inclusion.meanUs ?? 0) - lateReadsUs(run) < leastUs) return null;
  const waits = `transactions that the node had taken waited ${tenths((inclusion.meanUs ?? 0) / (intervalUs ?? 1))} block intervals (${ms(intervalUs ?? 0)})`;
  return `${waits}, and the fastest operation took ${tenths((minUs ?? 0) / (intervalUs ?? 1))} in all${verifiedOfAsked(run)}`;
}

/**
 * How fast blocks come where that does not follow the load, and what else an operation takes on an idle chain.
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

/** Before the load. @param {MeasuredRun} run */
function roundTripUs({ environment }) {
  const { roundTripMs = null } = /** @type {{roundTripMs?: number | null}} */ (environment);
  return roundTripMs === null ? null : 1000 * roundTripMs;
}

/** The wallets did all that they can, and an operation takes no longer than on an idle chain. @param {MeasuredRun} run */
function concurrency(run) {
  const { rates, config, counts } = run;
  const asked = rates.askedPerSecond;
  if (asked !== null && !isDropping(run)) return null;
  const unanswered = counts.failed + counts.timedOut + counts.abandoned;
  if (pausedOf(run) > PAUSED || unanswered > RELEVANT * counts.started) return null;
  if ((fullness(run) ?? 0) >= ROOM_LEFT) return null;
  const why = oneBlock(run) ?? alone(run) ?? roundTrip(run) ?? idleNode(run);
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
function alone(run) {
  return mostInFlight(run) === 1 ? 'one at a time, none waits for another' : null;
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

/** @param {number} cores */
function nodeCpuWords(cores) {
  return `the node used ${percent(cores)} of a core`;
}

/** @param {MeasuredRun} run */
function busyNode(run) {
  const cores = nodeCores(run);
  if (cores !== null && cores >= BUSY_NODE && !isOneBlock(run))
    return [...new Set([nodeCpuWords(cores), ...facts(run)])].join(', ');
  const [first, ...later] = run.intervals.filter(({ phase, latency }) => phase !== 'drain' && latency.count > 0);
  const all = new Distribution();
  for (const { latency } of later) all.merge(Distribution.fromJSON(latency));
  const [firstUs, laterUs] = [first?.latency.minUs ?? null, all.percentileUs(1)];
  // In step with the blocks they may all take a block longer than the luckiest of the first.
  const blocksUs = run.blocks.count === 0 ? 0 : 2000 * blockIntervalMs(run.blocks, run.window.durationMs);
  if (firstUs === null || laterUs === null || laterUs < SLOWER * firstUs + blocksUs) return null;
  return `the first operations took from ${ms(firstUs)} on, 99 % of the later ones ${ms(laterUs)} or more: they wait for each other, ${facts(run).join(', ')}`;
}

/** No explanation is excluded. @param {MeasuredRun} run */
function seen(run) {
  const words = [...facts(run)];
  if (pausedOf(run) > RELEVANT) words.push(pausedWords(run));
  const tells = [
    ...(run.probes?.node ? [] : ['the CPU time of the node (--node-pid)']),
    run.rates.askedPerSecond === null ? `a run with twice the ${noun(run)} (-t)` : 'a run at a lower rate',
  ];
  return `${words.join(', ')}; ${tells.join(', or ')}, would tell more${unchecked(run)}`;
}

/** @param {MeasuredRun} run */
function facts(run) {
  const { counts, failures, rates, window } = run;
  const words = [counts.verified === 0 ? 'nothing was verified' : longestStage(run)];
  if (counts.failed + counts.timedOut > RELEVANT * counts.started) words.push(theFailed(failures, counts.timedOut));
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
  if (loop !== null) words.push(`${theLoop(run)} busy ${percent(loop.utilization)} of the time`);
  const cores = nodeCores(run);
  if (cores !== null) words.push(nodeCpuWords(cores));
  return words;
}

/** Of the gas limit, as far as blocks were seen. @param {MeasuredRun} run */
function fullness({ blocks: { count, gasUsed, gasLimit } }) {
  return count === 0 || !gasLimit ? null : gasUsed / (count * gasLimit);
}

/** What ended in the drain was not done at the rate. @param {MeasuredRun} run */
function verifiedOfAsked({ rates: { askedPerSecond, verifiedPerSecond } }) {
  if (askedPerSecond === null) return '';
  return `; ${tenths(verifiedPerSecond ?? 0)} of ${tenths(askedPerSecond)} per second were verified in the window`;
}

/** What each stage is, as a part of the latency. */
const STAGE_WORDS = {
  queued: 'waiting in the generator',
  submit: 'submission',
  inclusion: 'waiting for a block',
  visibility: 'waiting for the block where it is read back',
  readBack: 'read-back',
};

/** @param {MeasuredRun} run */
function sumOfStagesUs({ latency: { stages } }) {
  return Object.keys(STAGE_WORDS).reduce((sum, stage) => sum + (stages[stage]?.sumUs ?? 0), 0);
}

/** @param {MeasuredRun} run */
function longestStage(run) {
  const { stages } = run.latency;
  const sums = Object.entries(STAGE_WORDS).map(([stage, words]) => ({ words, sumUs: stages[stage]?.sumUs ?? 0 }));
  const allUs = sumOfStagesUs(run);
  const longest = sums.reduce((a, b) => (b.sumUs > a.sumUs ? b : a));
  const words = isPlain(run) && longest.words === STAGE_WORDS.submit ? 'waiting for the answer' : longest.words;
  return allUs === 0
    ? 'latency is too small to be measured'
    : `${percent(longest.sumUs / allUs)} of the latency is ${words}`;
}

/** @param {Record<string, number>} failures @param {number} timedOut */
function theFailed(failures, timedOut) {
  return Object.entries({ ...failures, ...(timedOut > 0 ? { timed_out: timedOut } : {}) })
    .sort((a, b) => b[1] - a[1])
    .map(([code, times]) => `${code} ${whole(times)}`)
    .join(', ');
}

/** At the ends of the intervals of the window, on average. @param {MeasuredRun} run */
function meanInFlight({ intervals }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  // Rows of a long run are merged, and then they are not all of the same length.
  const lengthMs = load.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
  const product = load.reduce((sum, { inFlight, startMs, endMs }) => sum + inFlight * (endMs - startMs), 0);
  return lengthMs === 0 ? null : product / lengthMs;
}

/** What would be another verdict could not be seen. @param {MeasuredRun} run */
function unchecked({ probes }) {
  const missing = [];
  if ((probes?.sockets ?? null) === null) missing.push('ports');
  if ((probes?.loop ?? null) === null) missing.push('the event loop');
  return missing.length === 0 ? '' : ` (not checked: ${missing.join(', ')})`;
}

/** @param {MeasuredRun} run */
function theLoop({ generator: { workers } }) {
  return workers > 1 ? 'the event loop of the busiest worker' : "the generator's event loop";
}

/** Of the window, from 0 to 1. @param {MeasuredRun} run @param {number | undefined} us */
function partOf({ window }, us) {
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

/** @param {number} ofMs */
function seconds(ofMs) {
  return `${(ofMs / 1000).toFixed(1)} s`;
}

/** @param {number} value */
function whole(value) {
  return Math.round(value).toLocaleString('en-US');
}

/** @param {number} value */
function tenths(value) {
  return value.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}
