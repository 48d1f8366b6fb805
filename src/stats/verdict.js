import { backlog } from './growth.js';
import { Distribution } from './histogram.js';
import { blockIntervalMs } from './blocks.js';
import { nodeCpuPercent } from './figures.js';
import { STAGES, isPlain } from './sample.js';
import { byCode, count as whole, milliseconds, percent, seconds, tenths } from '../text.js';

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

/** In order of precedence: a shortage in the generator or in the network explains everything after it. @type {ReadonlyArray<[VerdictName, (run: MeasuredRun, facts: Facts) => string | null]>} */
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
  const facts = factsOf(run);
  for (const [name, evidenceOf] of CHECKS) {
    const evidence = evidenceOf(run, facts);
    if (evidence !== null) return { name, evidence };
  }
  return null;
}

/** @typedef {ReturnType<typeof factsOf>} Facts */

/** What several checks use. @param {MeasuredRun} run */
function factsOf(run) {
  const { blocks, environment, generator: own, intervals, latency, probes, window } = run;
  const [wallets, inFlight] = [Number(run.config.threads), Number(run.config.inFlight ?? 1)];
  const timeMs = lengthMs(intervals.filter(({ phase }) => phase !== 'drain')) * wallets * inFlight;
  const { limitedMs = 0, unansweredMs = 0 } = own.pauses ?? {};
  const queuedUs = Math.max(0, latency.stages.queued.sumUs - 1000 * (limitedMs + unansweredMs));
  const meanQueuedUs = queuedUs / Math.max(1, latency.stages.queued.count);
  const cpu = nodeCpuPercent(run);
  const intervalUs = blocks.count < ENOUGH_BLOCKS ? 0 : 1000 * blockIntervalMs(blocks, window.durationMs);
  const { roundTripMs = null } = /** @type {{roundTripMs?: number | null}} */ (environment);
  return {
    isDropping: window.counts.dropped > DROPPED * window.counts.scheduled,
    /** pausedShare: pauses after unanswered calls, as a share of the time of all users */
    users: {
      noun: isPlain(run) ? 'users' : 'wallets',
      wallets,
      inFlight,
      timeMs,
      pausedShare: timeMs > 0 ? Math.min(1, (own.pausedMs ?? 0) / timeMs) : 0,
    },
    /** queuedUs: without the pauses that the endpoint caused; lateReadsUs: reads of the head and of its block both wait */
    generator: {
      loop: own.workers > 1 ? 'the event loop of the busiest worker' : "the generator's event loop",
      waitedShare: Math.min(1, (probes?.loop?.waitedUs ?? 0) / (1000 * window.durationMs)),
      queuedUs,
      lateReadsUs: meanQueuedUs < READS_QUEUED_US ? 0 : 2 * meanQueuedUs,
    },
    /** blockUs: Infinity if it is not known, or follows the load; extraUs: the other time of an operation on an idle chain */
    chain: {
      fullness: blocks.count === 0 || !blocks.gasLimit ? null : blocks.gasUsed / (blocks.count * blocks.gasLimit),
      blockUs: intervalUs >= PACED_US ? intervalUs : Infinity,
      confirmations: Number(run.config.confirmations ?? 0),
      extraUs: 3000 * (roundTripMs ?? 0) + 1000 * (own.inclusionResolutionMs ?? 0),
    },
    /** cores: null if the node was not watched; roundTripUs: measured before the load */
    node: { cores: cpu === null ? null : cpu / 100, roundTripUs: roundTripMs === null ? null : 1000 * roundTripMs },
  };
}

/** @param {MeasuredRun['intervals']} rows */
function lengthMs(rows) {
  return rows.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
}

/** @type {Readonly<Record<string, string>>} */
const ENDED_BY_ENDPOINT = Object.freeze({
  chain_ended: 'the embedded chain ended in mid-run',
  endpoint_lost: 'the endpoint stopped answering',
});

/** @param {MeasuredRun} run */
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
  if (downMs < DOWN * (endMs - startMs) || last === undefined) return null;
  return `the endpoint was away for ${seconds(downMs)} of ${seconds(endMs - startMs)} (${last.words})`;
}

const NO_ANSWER = Object.freeze(['refused', 'reset', 'timeout', 'closed', 'dns'].map((why) => `transport_${why}`));

/** @param {MeasuredRun} run @param {MeasuredRun['intervals']} load @returns {Array<{fromMs: number, toMs: number, words: string}>} */
function outagesOf(run, load) {
  const outages = run.generator.outages ?? [];
  const known = outages.map(({ fromMs, toMs, words }) => ({ fromMs, toMs: toMs ?? Infinity, words }));
  if (!isPlain(run)) return known;
  const silent = load.slice(1 + load.findLastIndex(({ counts }) => counts.verified > 0));
  const codes = [...new Set(silent.flatMap(({ failures }) => Object.keys(failures)))];
  if (codes.length === 0 || codes.some((code) => !NO_ANSWER.includes(code))) return known;
  return [...known, { fromMs: silent[0].startMs, toMs: Infinity, words: codes.join(', ') }];
}

/** @param {MeasuredRun} run @param {Facts} facts */
function funds({ failures, counts, end, generator }, { users: { wallets } }) {
  const failed = failures.insufficient_funds ?? 0;
  // With several in flight more operations fail than wallets are empty.
  const dry = Math.min(failed, wallets, generator.retiredWallets || Infinity);
  if (failed === 0 || (dry < EMPTY * wallets && end !== 'no_wallets' && counts.verified > 0)) return null;
  return `${whole(dry)} of ${whole(wallets)} wallets had too little left for a transaction (insufficient_funds ${whole(failed)}): --fund-amount sets what each must have`;
}

/** @param {MeasuredRun} run @param {Facts} facts */
function ports({ failures, probes, counts }, { users }) {
  const refused = failures.transport_no_ports ?? 0;
  const { endpoints, range } = probes?.sockets ?? { endpoints: [], range: { ports: 0 } };
  const isShort = endpoints.some(({ portsLeft }) => portsLeft < FEW_PORTS * range.ports);
  const isRelevant = refused >= RELEVANT * counts.started || (isShort && users.pausedShare > PAUSED);
  if (refused === 0 || !isRelevant) return null;
  return `${whole(refused)} operations failed because no local port was left for their connection`;
}

/** @param {MeasuredRun} run @param {Facts} facts */
function endpointLimit(run, { users }) {
  const { limitAnswers = 0, limitedMs = 0 } = run.generator.pauses ?? {};
  const ofAllMs = isPlain(run) ? users.timeMs : run.latency.total.sumUs / 1000;
  const part = Math.min(1, limitedMs / Math.max(1, ofAllMs));
  if (limitAnswers === 0 || part < LIMITED) return null;
  const of = isPlain(run) ? 'the time of all users' : 'the latency';
  return `${percent(part)} of ${of} is waiting because the endpoint asked for less: ${whole(limitAnswers)} answers were 429, Retry-After or "limit exceeded" (-32005)`;
}

/** @param {MeasuredRun} run @param {Facts} facts */
function generator({ probes, rates, lag, latency: { stages } }, { generator: own }) {
  const loop = probes?.loop ?? null;
  const waited = percent(own.waitedShare);
  // Late timers alone do not show the cause; the scheduler's figures do (Linux only).
  const why = own.waitedShare < STARVED ? '' : `: for ${waited} of it other programs had the CPU`;
  if (loop !== null) {
    const { utilization, delayMeanUs } = loop;
    if (utilization >= BUSY) return `${own.loop} was busy ${percent(utilization)} of the time${why}`;
    if (own.waitedShare >= STARVED && delayMeanUs >= STARVED_TIMERS_US)
      return `${own.loop} waited ${waited} of the time for a CPU, and timers fired ${milliseconds(delayMeanUs)} late on average: other programs, or the node, had the CPU`;
    if (delayMeanUs >= LATE_TIMERS_US)
      return `timers of ${own.loop} fired ${milliseconds(delayMeanUs)} late on average${why}`;
  }
  if (rates.askedPerSecond !== null && lag.p99Us !== null && lag.p99Us > LATE_STARTS_US)
    return `1 % of the operations were begun, or dropped, ${milliseconds(lag.p99Us)} or more after they were due, which is not the node's doing${why}`;
  const { count } = stages.queued;
  const readsUs = Math.min(stages.inclusion.sumUs, own.lateReadsUs * count);
  const part = (own.queuedUs + readsUs) / Math.max(1, sumUs(stages));
  if (part < QUEUED || own.queuedUs < QUEUED_US * count) return null;
  const what = readsUs > 0 ? ', of the transactions and of the reads that see their blocks,' : ',';
  return `${percent(part)} of the latency is waiting in the generator${what} for ${loop === null ? '' : `${own.loop} (busy ${percent(loop.utilization)} of the time) or for `}one of its connections (--connections)`;
}

/** @param {MeasuredRun} run @param {Facts} facts */
function rate(run, { users, isDropping }) {
  if (users.pausedShare > PAUSED) return null;
  const { askedPerSecond: asked, achievedPerSecond: achieved } = run.rates;
  // Think time as a share of an operation and the think time behind it.
  const calls = Number(/** @type {any} */ (run.environment.workload)?.callsPerIteration ?? 1);
  const thinkUs = (1000 * Number(run.config.thinkTimeMs ?? 0)) / calls;
  const rest = thinkUs / Math.max(1, thinkUs + (run.latency.total.meanUs ?? 0));
  if (rest > IDLE)
    return `users rested ${percent(rest)} of the time (--think-time): more of them would tell what the node can do`;
  if (asked === null || achieved === null) return null;
  if (achieved < ACHIEVED * asked || isDropping || backlog(run) !== null) return null;
  return `${tenths(achieved)} of ${tenths(asked)} per second were achieved, ${whole(run.window.counts.dropped)} dropped: a higher rate would tell what the node can do`;
}

/** @param {MeasuredRun} run @param {Facts} facts */
function overloadedChain(run, facts) {
  const { blocks, rates } = run;
  const { full = 0, count } = blocks;
  const isFull = count > 0 && full >= FULL * count;
  const used = percent(facts.chain.fullness ?? 0);
  const words = isFull
    ? `${whole(full)} of ${whole(count)} blocks had no room for another transaction (${used} of the gas limit was used)`
    : ((rates.askedPerSecond === null ? null : backlog(run)) ?? lateInclusion(run, facts));
  if (words === null || rates.askedPerSecond === null) return words;
  // Operations that ended in the drain do not count.
  return `${words}; ${tenths(rates.verifiedPerSecond ?? 0)} of ${tenths(rates.askedPerSecond)} per second were verified in the window`;
}

/** @param {MeasuredRun} run @param {Facts} facts */
function lateInclusion({ counts, latency, generator: own }, { chain, generator: { lateReadsUs } }) {
  const { blockUs, confirmations, extraUs } = chain;
  const meanUs = latency.stages.inclusion.meanUs ?? 0;
  const [minUs, p50Us] = [latency.total.minUs ?? 0, latency.total.p50Us ?? 0];
  const polls = /** @type {Record<string, number>} */ (own.rpcCalls).inclusion ?? 0;
  const { rebroadcast, replaced } = own.resubmissions;
  const isSound = own.failedPolls <= FAILED_POLLS * polls && rebroadcast + replaced <= RELEVANT * counts.verified;
  const isLate = meanUs - lateReadsUs >= (SEVERAL_BLOCKS + confirmations) * blockUs + extraUs;
  // On a chain with slow inclusion the first operations would have waited as long.
  if (!isSound || !isLate || p50Us - minUs <= LATER_BLOCKS * blockUs) return null;
  return `transactions that the node had taken waited ${tenths(meanUs / blockUs)} block intervals (${milliseconds(blockUs)}), and the fastest operation took ${tenths(minUs / blockUs)} in all`;
}

/** @param {MeasuredRun} run @param {Facts} facts */
function concurrency(run, facts) {
  const { rates, counts, environment, latency } = run;
  const { noun, wallets, inFlight, pausedShare } = facts.users;
  const asked = rates.askedPerSecond;
  if (asked !== null && !facts.isDropping) return null;
  // Beside calls the latency and the rate are those of both.
  if (/** @type {any} */ (environment.workload)?.calls !== undefined) return null;
  const unanswered = counts.failed + counts.timedOut + counts.abandoned;
  if (pausedShare > PAUSED || unanswered > RELEVANT * counts.started) return null;
  if ((facts.chain.fullness ?? 0) >= ROOM_LEFT) return null;
  const single = wallets * inFlight === 1 ? 'one at a time, none waits for another' : null;
  const why = oneBlock(run, facts) ?? single ?? idleNode(run, facts);
  if (why === null) return null;
  const done = (asked === null ? rates.verifiedPerSecond : rates.achievedPerSecond) ?? 0;
  const factor = asked === null || done === 0 ? 2 : Math.max(1.2, (1.2 * asked) / done);
  const orInFlight = isPlain(run) ? '' : ` or --in-flight ${Math.ceil(inFlight * factor)}`;
  const most = `${whole(wallets)} ${noun} with ${whole(inFlight)} in flight each did ${tenths(done)} per second, ${milliseconds(latency.total.p50Us ?? 0)} for the median operation`;
  const rest = asked === null ? 'more' : `${tenths(asked)} per second`;
  return `${most}: ${why}; -t ${Math.ceil(wallets * factor)}${orInFlight} would ask for ${rest}`;
}

/** @param {MeasuredRun} run @param {Facts} facts */
function oneBlock(run, { chain, node }) {
  if (!isOneBlock(run, chain) || (node.cores ?? 0) >= BUSY_NODE) return null;
  const blocks = tenths((run.latency.total.p50Us ?? 0) / chain.blockUs);
  return `half of them took no more than ${blocks} block intervals (${milliseconds(chain.blockUs)}), ${percent(chain.fullness ?? 0)} of the gas limit was used`;
}

/** @param {MeasuredRun} run @param {Facts['chain']} chain */
function isOneBlock({ latency: { total } }, { blockUs, confirmations, extraUs }) {
  if (blockUs === Infinity || total.p50Us === null || total.p90Us === null) return false;
  const within = (/** @type {number} */ blocks) => (blocks + confirmations) * blockUs + extraUs;
  // With room for most of the operations only the others wait for a second block.
  return total.p50Us <= within(ONE_BLOCK) && total.p90Us <= within(ONE_BLOCK_P90);
}

/** @param {MeasuredRun} run @param {Facts} facts */
function idleNode({ latency: { total } }, { node: { cores, roundTripUs } }) {
  const [p50Us, p90Us, minUs] = [total.p50Us ?? Infinity, total.p90Us ?? Infinity, total.minUs ?? 0];
  if (roundTripUs !== null && p50Us <= AS_FAST * roundTripUs)
    return `half of them took no more than ${milliseconds(p50Us)}, and an exchange without load took ${milliseconds(roundTripUs)}`;
  if (cores === null || cores > IDLE_NODE || p90Us > AS_FAST * minUs) return null;
  return `the node used ${percent(cores)} of a core, and 90 % of them took no more than ${milliseconds(p90Us)}, the fastest ${milliseconds(minUs)}`;
}

/** @param {MeasuredRun} run @param {Facts} facts */
function busyNode(run, facts) {
  const { cores } = facts.node;
  if (cores !== null && cores >= BUSY_NODE && !isOneBlock(run, facts.chain))
    return [...new Set([`the node used ${percent(cores)} of a core`, ...seen(run, facts)])].join(', ');
  const [first, ...later] = run.intervals.filter(({ phase, latency }) => phase !== 'drain' && latency.count > 0);
  const all = new Distribution();
  for (const { latency } of later) all.add(latency);
  const [firstUs, laterUs] = [first?.latency.minUs ?? null, all.percentileUs(1)];
  // Operations follow the blocks: any of them may take a block longer than the fastest of the first.
  const blocksUs = run.blocks.count === 0 ? 0 : 2000 * blockIntervalMs(run.blocks, run.window.durationMs);
  if (firstUs === null || laterUs === null || laterUs < SLOWER * firstUs + blocksUs) return null;
  return `the first operations took from ${milliseconds(firstUs)} on, 99 % of the later ones ${milliseconds(laterUs)} or more: they wait for each other, ${seen(run, facts).join(', ')}`;
}

/** @param {MeasuredRun} run @param {Facts} facts */
function unknown(run, facts) {
  const { noun, pausedShare } = facts.users;
  const words = seen(run, facts);
  if (pausedShare > RELEVANT)
    words.push(
      `users were given a pause for ${percent(pausedShare)} of the time, because calls were not answered (${byCode(run.failures)})`,
    );
  const tells = [
    ...(run.probes?.node ? [] : ['the CPU time of the node (--node-pid)']),
    run.rates.askedPerSecond === null ? `a run with twice the ${noun} (-t)` : 'a run at a lower rate',
  ];
  return `${words.join(', ')}; ${tells.join(' or ')} would tell more`;
}

/** What was seen, in words. @param {MeasuredRun} run @param {Facts} facts @returns {string[]} */
function seen(run, { chain: { fullness }, generator: { loop }, node: { cores } }) {
  const { counts, failures, intervals, probes, rates, window } = run;
  const words = [counts.verified === 0 ? 'nothing was verified' : longestStage(run)];
  const { failed, timedOut, started } = counts;
  if (failed + timedOut > RELEVANT * started)
    words.push(byCode(timedOut > 0 ? { ...failures, timed_out: timedOut } : failures));
  if (rates.askedPerSecond !== null) {
    words.push(`${tenths(rates.achievedPerSecond ?? 0)} of ${tenths(rates.askedPerSecond)} per second were achieved`);
    const { dropped, scheduled } = window.counts;
    if (dropped > 0) words.push(`${whole(dropped)} of ${whole(scheduled)} were dropped because all wallets were busy`);
  }
  if (fullness !== null) words.push(`${percent(fullness)} of the gas limit was used`);
  // Rows of a long run are merged, so their lengths differ.
  const load = intervals.filter(({ phase }) => phase === 'load');
  const product = load.reduce((sum, row) => sum + row.inFlight * lengthMs([row]), 0);
  if (lengthMs(load) > 0) words.push(`${whole(product / lengthMs(load))} in flight`);
  if (probes?.loop) words.push(`${loop} busy ${percent(probes.loop.utilization)} of the time`);
  if (cores !== null) words.push(`the node used ${percent(cores)} of a core`);
  return words;
}

const STAGE_WORDS = {
  queued: 'waiting in the generator',
  submit: 'submission',
  inclusion: 'waiting for a block',
  readBack: 'read-back',
};

/** @param {MeasuredRun['latency']['stages']} stages */
function sumUs(stages) {
  return STAGES.reduce((sum, stage) => sum + (stages[stage]?.sumUs ?? 0), 0);
}

/** @param {MeasuredRun} run */
function longestStage(run) {
  const { stages } = run.latency;
  const allUs = sumUs(stages);
  if (allUs === 0) return 'latency is too small to be measured';
  const usOf = (/** @type {typeof STAGES[number]} */ stage) => stages[stage]?.sumUs ?? 0;
  const longest = STAGES.reduce((a, b) => (usOf(b) > usOf(a) ? b : a));
  const words = isPlain(run) && longest === 'submit' ? 'waiting for the answer' : STAGE_WORDS[longest];
  return `${percent(usOf(longest) / allUs)} of the latency is ${words}`;
}
