import { verifiedWhileDue } from './growth.js';
import { blockIntervalMs } from './blocks.js';
import { STAGES } from './figures.js';
import { profileEvidence } from './node-profile.js';
import { isPlain } from './sample.js';
import { byCode, count as whole, counted, digits, milliseconds, partOf, percent, seconds, tenths } from '../text.js';
import {
  PAUSED,
  RELEVANT,
  awayMsOf,
  endedIn,
  factsOf,
  heldBack,
  outagesOf,
  silenceOf,
  sumUs,
  unansweredSubmissions,
} from './verdict-facts.js';

/**
 * @import { RunFile, Verdict, VerdictName } from '../contracts/run-file.d.ts'
 * @import { Facts } from './verdict-facts.js'
 */

/**
 * The verdict: what, if there were more of it, would raise the throughput? Every figure in it is in the run file. Without
 * evidence that excludes the other explanations it is `unknown`.
 *
 * @typedef {object} Row
 * @property {VerdictName} name
 * @property {(facts: Facts) => boolean} when
 * @property {(facts: Facts) => string} evidence
 * @property {(facts: Facts) => string} [advice] what would do more, or tell more
 * @property {(facts: Facts) => string | false} [excluded] what `unknown` says of it: why it is not the limit; false: it may be
 */

/** Share of the window's operations, of its time or of its blocks from which on a trouble is what limits. */
const MOST = 0.5;
/** Share of the window in which stress was stopped from which on no figure tells of the node. */
const STOPPED = 0.05;
/** A gap this many times longer than usual is no pace of the chain. */
const STILL = 5;
/** With fewer blocks their pace is not known. */
const PACED = 3;
/** Blocks without a transaction of the run that show that it was left out. */
const SKIPPED = 5;
/** Share of the operations that wait from which on all of them do. */
const ALL = 0.9;
/** Share of the wallets, of their time, or of the operations below which a lack of funds, or a refusal, does not count as the limit. */
const FEW = 0.25;
/** Share of the operations that failed from which on a search tells nothing, where the reason is not known. */
const PART = 0.1;
/** Share of the operations that were not verified from which on one reason explains them. */
const MAIN = 0.75;
/** A window without a block proves nothing if it is shorter. */
const LEAST_STILL_MS = 5000;
/** Share of the time without a CPU from which on it is mentioned; on a shared machine a tenth is usual. */
const NOTED = 0.1;
/** Share of the time without a CPU from which on the advice is a CPU. */
const CPU_SHORT = 0.25;
/** More operations in flight than Little's law says, because arrivals and blocks are not even. */
const MARGIN = 1.2;
/** Share of the cores for generator and node from which on more operations at once would wait for a CPU. */
const BUSY_MACHINE = 0.8;
/** Share of a core from which on the node may be the limit. */
const BUSY_NODE = 0.9;

const LOST_ADVICE = 'see how many transactions the pool of the node keeps, and for how long';
const LEFT_OUT_ADVICE =
  'give a higher --tip (or --gas-price); or see which senders and kinds of transactions the chain takes';

/** Tested in order: the first row whose condition holds is the verdict. @type {readonly Row[]} */
const ROWS = Object.freeze([
  // What stress did not see is in all other figures.
  {
    name: 'stopped',
    when: (f) => f.stoppedMs >= STOPPED * f.run.window.durationMs,
    evidence: (f) =>
      `stress did not run for ${seconds(f.stoppedMs - f.stoppedAfterMs)} of ${seconds(f.run.window.durationMs)}${f.stoppedAfterMs > 0 ? `, nor for ${seconds(f.stoppedAfterMs)} after that` : ''}, and used no CPU: it was stopped (SIGSTOP), or its machine was suspended`,
    advice: () => 'run again without the stop',
  },
  // Without answers, funds or ports nothing else was tried: these four exclude all others.
  {
    name: 'endpoint-down',
    when: (f) => f.down !== null && (f.isUnanswered || f.waitShare < 0.5),
    evidence: (f) => `${f.down}`,
    excluded: (f) => !f.wasAway && f.silentMs === 0 && !lacksAnswers(f) && 'the endpoint answered throughout',
  },
  {
    name: 'funds',
    when: (f) =>
      f.empty > 0 && (f.empty >= FEW * f.senders || f.run.end === 'no_wallets' || f.run.counts.verified === 0),
    evidence: (f) =>
      `${partOf(f.empty, f.senders, 'wallet')} had too little left for a transaction (insufficient_funds ${whole(f.run.failures.insufficient_funds)})`,
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
      f.portless > 0 && (f.portless >= RELEVANT * f.run.counts.started || (f.hasFewPorts && f.callPauseShare > PAUSED)),
    evidence: (f) => `${counted(f.portless, 'operation')} failed because no local port was left for their connection`,
  },
  {
    name: 'endpoint-limited',
    when: (f) => f.limitAnswers > 0 && f.limitedShare >= 0.25,
    evidence: (f) =>
      `${percent(f.limitedShare)} of ${isPlain(f.run) ? 'the time of all users' : 'the latency'} is waiting after ${whole(f.limitAnswers)} rate limits of the endpoint (HTTP 429, Retry-After, or an error that says so)`,
    excluded: (f) => f.limitAnswers === 0 && 'no rate limits',
  },
  // A pool that is full behind full blocks is the node's limit. Fees, nonces and reverts do not depend on the load.
  {
    name: 'refused',
    when: (f) => f.refusal !== null && f.refusal.count >= FEW * f.ended && !f.isFull && !isAboveMaxFee(f),
    evidence: ({ refusal, ended }) =>
      `${partOf(refusal?.count ?? 0, ended, 'operation')} were refused, because ${refusal?.words}${refusal?.said ? ` ("${refusal.said}")` : ''}`,
    advice: ({ refusal }) => `${refusal?.advice}`,
    excluded: (f) =>
      !isPlain(f.run) &&
      Math.max(f.missed, f.refusals) < RELEVANT * f.ended &&
      f.refusedShare < RELEVANT &&
      'no refusals',
  },
  {
    name: 'reverted',
    when: (f) => f.reverted > 0 && f.reverted >= FEW * f.ended && f.reverted >= MAIN * f.missed && !f.isFull,
    evidence: (f) =>
      `${partOf(f.reverted, f.ended, 'operation')} were reverted${f.run.failureWords.reverted ? ` ("${f.run.failureWords.reverted}")` : ''}`,
    advice: () => 'correct what the workload sends: a reverted operation uses gas, and counts as failed',
  },
  // Blocks take no transaction whose fee is below their base fee: full blocks are only why the base fee rose.
  {
    name: 'fee-limit',
    when: (f) => isAboveMaxFee(f) && !f.isHeld && f.heldBack === null,
    evidence: (f) =>
      `${partOf(f.aboveMaxFee, f.run.blocks.count, 'block')} had a base fee above --max-fee, and could take no transaction of this run${f.isFull ? `; ${whole(f.run.blocks.full ?? 0)} were full` : ''}`,
    advice: () => 'give a higher --max-fee',
  },
  // From here to the rates: transactions that the node took, while it answered.
  {
    name: 'no-blocks',
    when: (f) => isStill(f, MOST) && !f.isHeld && f.heldBack === null && f.restShare <= 0.5,
    evidence: stillWords,
    advice: ({ run: { blocks } }) =>
      blocks.count === 0
        ? 'see why the chain makes no blocks, or give a longer --duration if it is as slow as that'
        : 'see why the chain made no blocks',
    excluded: (f) =>
      !isPlain(f.run) && f.blockUs !== Infinity && 1000 * f.stillMs < STILL * f.blockUs && 'blocks came steadily',
  },
  {
    name: 'lost',
    when: (f) =>
      f.aboveMaxFee === 0 &&
      f.lost > 0 &&
      f.lost >= FEW * f.ended &&
      f.leftOutShare < FEW &&
      !isPoolSmall(f) &&
      !(f.p90Us <= 1.6 * f.blockUs) &&
      !f.isHeld &&
      !f.wasAway,
    evidence: lostWords,
    advice: () => LOST_ADVICE,
  },
  {
    name: 'left-out',
    when: (f) => isLeftOut(f) && !f.isHeld && !f.wasAway && !f.isFull,
    evidence: (f) =>
      f.leftOut > 0
        ? leftOutWords(f)
        : `${counted(f.run.blocks.count, 'block')} had no transaction of this run, while ${counted(f.waiting, 'operation')} that the node had accepted waited${f.fullness === null ? '' : `; blocks were ${percent(f.fullness)} full`}`,
    advice: () => LEFT_OUT_ADVICE,
  },
  {
    name: 'rate-bound',
    when: (f) => f.heldBack !== null,
    evidence: (f) => `${f.heldBack}`,
  },
  // All that was asked for was done: generator, wallets and node can do at least that, however busy they were.
  {
    name: 'rate-bound',
    when: (f) => f.isHeld && f.callPauseShare <= PAUSED,
    evidence: (f) =>
      `${digits(f.achieved)} of ${digits(f.asked ?? 0)} per second were achieved, ${whole(f.run.window.counts.dropped)} dropped`,
    advice: () => 'try a higher rate to find the limit of the node',
  },
  // Transactions were left over: more wallets or a faster generator would only lengthen the queue.
  node(
    (f) => f.isFull,
    (f) =>
      `${partOf(f.run.blocks.full ?? 0, f.run.blocks.count, 'block')} had no room for another transaction (${percent(f.fullness ?? 0)} of the gas limit was used)`,
    (f) => !isPlain(f.run) && f.fullness !== null && !f.isFull && 'blocks had room',
  ),
  // Most of the time users wait neither for the node nor for the generator.
  {
    name: 'rate-bound',
    when: (f) => f.restShare > 0.5 && f.callPauseShare <= PAUSED && !f.isSaturated,
    evidence: (f) => `users rested ${percent(f.restShare)} of the time (--think-time)`,
    advice: () => 'try more users to find the limit of the node',
  },
  // More in flight would be refused, with the same wallets or at all.
  {
    name: 'refused',
    when: (f) => f.senderLimits >= FEW * f.senders && f.inFlight > 1,
    evidence: (f) =>
      `${counted(f.senderLimits, 'submission')} met the node's limit of transactions of one sender, with ${whole(f.inFlight)} in flight each`,
    advice: () => 'give more wallets (-t) instead of --in-flight; Besu: --tx-pool-limit-by-account-percentage',
  },
  {
    name: 'refused',
    when: (f) => isPoolSmall(f) && f.poolRefusals > 0,
    evidence: poolWords,
    advice: (f) => poolAdvice(f.run),
  },
  // It took them, and removed them later: nothing was refused.
  {
    name: 'lost',
    when: (f) => isPoolSmall(f) && f.poolRefusals === 0 && f.lost > 0,
    evidence: (f) =>
      `${poolWords(f)}: ${counted(f.lost, 'transaction')} that it had accepted were gone, and sent again`,
    advice: (f) => poolAdvice(f.run),
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
    (f) => f.utilization !== null && !f.isSaturated && f.waitShare < FEW && 'the generator had time',
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
  // What nothing above explains, and took a part of the time.
  {
    name: 'endpoint-down',
    when: (f) => f.downInPart !== null,
    evidence: (f) => `${f.downInPart}`,
  },
  {
    name: 'no-blocks',
    when: (f) => isStill(f, FEW) && !f.isHeld && f.heldBack === null && f.restShare <= 0.5,
    evidence: stillWords,
    advice: () => 'see why the chain made no blocks',
  },
  {
    name: 'lost',
    when: (f) => f.lostShare >= FEW && f.lostShare > f.leftOutShare && f.aboveMaxFee === 0 && !f.isHeld && !f.wasAway,
    evidence: (f) => `${lostWords(f)}; wallets waited ${percent(f.lostShare)} of their time for that`,
    advice: () => LOST_ADVICE,
  },
  {
    name: 'left-out',
    when: (f) => f.leftOutShare >= FEW && !f.isHeld && !f.wasAway,
    evidence: (f) =>
      `${f.leftOut > 0 ? leftOutWords(f) : 'the base fee was above what transactions offered'}; wallets waited ${percent(f.leftOutShare)} of their time for that`,
    advice: (f) => (f.leftOut > 0 ? LEFT_OUT_ADVICE : 'give a higher --gas-price or --max-fee'),
  },
  {
    name: 'refused',
    when: (f) => f.refusedShare >= FEW && f.refusedMost !== null && !f.isFull && !f.isHeld && !f.wasAway,
    evidence: ({ refusedMost, refusedShare, run }) =>
      `operations waited ${percent(refusedShare)} of their time after ${counted(refusedMost?.count ?? 0, 'refusal')} (${whole(run.counts.started)} operations), because ${refusedMost?.words} ("${refusedMost?.said}")`,
    advice: ({ refusedMost }) => `${refusedMost?.advice}`,
  },
  {
    name: 'unknown',
    when: () => true,
    evidence: (f) => [seen(f).join(', '), ...excludedOf(f)].join('; '),
    advice: unknownAdvice,
  },
]);

/** @param {Facts} facts */
function lostWords({ lost, ended }) {
  return `the node accepted ${counted(lost, 'transaction')} (${whole(ended)} operations of the window) and did not know them later: they were sent again`;
}

/** It keeps less than is in flight. @param {Facts} facts */
function isPoolSmall({ poolSize, slots }) {
  return poolSize !== null && poolSize < slots;
}

/** @param {Facts} facts */
function poolWords({ poolSize, slots }) {
  return `the pool of the node keeps about ${counted(poolSize ?? 0, 'transaction')}, of ${whole(slots)} in flight`;
}

/**
 * Fewer in flight of each wallet come before fewer wallets: a node that keeps one transaction of each sender, without a word
 * (geth, of an account that has delegated its code), looks like one with a small pool.
 * @param {Pick<RunFile, 'generator' | 'config'>} run
 */
function poolAdvice({ generator, config }) {
  const pool = Math.max(1, generator.nodeLimits?.pool ?? 1);
  const each = Math.floor(pool / config.threads);
  const isOneEach = Number(config.inFlight ?? 1) === 1;
  const wallets = isOneEach || each === 0 ? [`-t ${pool}`] : [];
  const inFlight = isOneEach ? [] : [`--in-flight ${Math.max(1, each)}`];
  return `give the node a larger pool (geth: --txpool.globalslots), or less in flight: ${[...wallets, ...inFlight].join(' ')}`;
}

/** @param {Facts} facts */
function leftOutWords({ leftOut, run }) {
  return `blocks left out ${partOf(leftOut, run.counts.started, 'operation')}, although they had room`;
}

/** @param {Facts} facts @returns {string[]} */
function excludedOf(facts) {
  const words = ROWS.flatMap(({ excluded }) => excluded?.(facts) || []);
  return words.length === 0 ? [] : [`excluded: ${words.join(', ')}`];
}

/** @param {Facts} facts */
function stillWords({ stillMs, silentMs, run: { window } }) {
  const but = silentMs === 0 ? '' : ` (but for ${seconds(silentMs)})`;
  return `no new block was seen for ${seconds(stillMs)} of ${seconds(window.durationMs)}, and the node answered${but}`;
}

/** @param {Facts} facts @param {number} share of the window */
function isStill({ run: { blocks, window }, stillMs, silentMs, isChainSeen, wasAway }, share) {
  if (!isChainSeen || wasAway || stillMs < share * window.durationMs) return false;
  // A node that does not answer may make blocks meanwhile.
  if (silentMs >= FEW * stillMs) return false;
  // A shorter window may lie between two blocks of most chains.
  if (blocks.count === 0) return window.counts.verified === 0 && window.durationMs >= LEAST_STILL_MS;
  return blocks.count >= PACED && stillMs >= STILL * blockIntervalMs(blocks, window.durationMs);
}

/**
 * Most of the blocks, or those that had room while the others were full: full blocks raise the base fee above the limit,
 * and the ones that could take nothing lower it again.
 * @param {Facts} facts
 */
function isAboveMaxFee({ aboveMaxFee, run: { blocks } }) {
  const { count, full = 0 } = blocks;
  if (aboveMaxFee === 0) return false;
  return aboveMaxFee >= MOST * count || (aboveMaxFee >= FEW * count && aboveMaxFee + (full ?? 0) >= ALL * count);
}

/** By blocks one after another, or by none at all of those that came. @param {Facts} facts */
function isLeftOut({ run: { blocks, counts, window }, leftOut, missed, ended, waiting, isChainSeen, poolRefusals }) {
  const { accepted, started, verified } = window.counts;
  // A chain that takes many of them takes their tip, and their kind.
  if (leftOut > 0) return leftOut >= MOST * counts.started && verified < FEW * ended;
  // A full pool has no room for the nonces that come first.
  return (
    isChainSeen &&
    poolRefusals === 0 &&
    blocks.count >= SKIPPED &&
    blocks.ours === 0 &&
    verified === 0 &&
    waiting > 0 &&
    waiting >= ALL * missed &&
    missed >= ALL * ended &&
    (accepted ?? 0) >= MOST * started
  );
}

/** @param {Row['when']} when @param {Row['evidence']} words @param {Row['excluded']} [excluded] @returns {Row} */
function node(when, words, excluded) {
  // Operations that ended in the drain do not count.
  const inWindow = (/** @type {Facts} */ { asked, run }) => {
    const verified = verifiedWhileDue(run);
    return verified === null ? '' : `; ${digits(verified)} of ${digits(asked)} per second were verified in the window`;
  };
  return {
    name: 'node-bound',
    when,
    evidence: (f) => `${words(f)}${f.asked === null ? '' : inWindow(f)}${profileEvidence(f.run).join('')}`,
    excluded,
  };
}

/** @param {Facts} facts */
function unknownAdvice(facts) {
  const { asked, cores, noun, isDropping, wasAway, silentMs, run } = facts;
  const find = 'to find the limit, ';
  // Whatever it was while the endpoint answered, the outage is in all figures.
  if (wasAway || silentMs >= FEW * run.window.durationMs) return `${find}run again without the outage`;
  if (lacksAnswers(facts)) return `${find}run again when the endpoint answers submissions`;
  // What fails has no limit: the load does not matter.
  if (isFailing(run, PART)) return REPAIRS.unknown;
  // More operations at once would wait for the same CPU.
  if (isCpuShort(facts)) return `${find}${ownCpu(facts)}`;
  const needed = isDropping ? `${moreAtOnce(facts)} at this latency` : null;
  const load =
    asked === null ? `try twice the ${noun} (-t)` : [needed, 'try a lower rate'].filter(Boolean).join('; or ');
  return `${find}${load}${cores === null ? ', or give the process of the node (--node-pid)' : ''}`;
}

/** @param {Facts} facts */
function isCpuShort({ waitedShare }) {
  return waitedShare >= CPU_SHORT;
}

/** @param {Facts} facts */
function ownCpu({ isLocal }) {
  return `give the generator a CPU of its own: stop other programs${isLocal ? ', or run the node on another machine' : ''}`;
}

/** @param {Row['when']} when @param {Row['evidence']} words @param {Row['excluded']} [excluded] @returns {Row} */
function generator(when, words, excluded) {
  // Late timers alone do not show the cause; the scheduler's figures do (Linux only).
  const noCpu = (/** @type {Facts} */ { waitedShare }) =>
    waitedShare < NOTED ? '' : `; it waited for a CPU ${percent(waitedShare)} of the time`;
  const advice = (/** @type {Facts} */ f) => (isCpuShort(f) ? ownCpu(f) : 'try more --workers, or a faster machine');
  return { name: 'generator-bound', when, evidence: (f) => `${words(f)}${noCpu(f)}`, advice, excluded };
}

/** @param {Row['when']} when @param {Row['evidence']} words @returns {Row} */
function concurrency(when, words) {
  const isPossible = (/** @type {Facts} */ f) =>
    // While the endpoint is away, any number of wallets is too small.
    (f.asked === null || (f.isDropping && !f.wasAway)) && f.isAnswered && f.callPauseShare <= PAUSED;
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
  stopped: 'stress itself was stopped',
  refused: 'the node refused transactions',
  reverted: 'transactions were reverted',
  'fee-limit': '--max-fee was the limit',
  'no-blocks': 'the chain made no blocks',
  lost: 'the node lost transactions',
  'left-out': 'blocks left transactions out',
  unknown: 'the limit is unknown',
};

/** What to repair before a search for the limit can tell anything. @type {Record<string, string>} */
const REPAIRS = {
  'endpoint-down': 'bring the endpoint up',
  funds: 'pay the wallets more (--fund-amount)',
  stopped: 'run again without the stop',
  refused: 'repair what the node refuses',
  reverted: 'correct what the workload sends',
  'fee-limit': 'give a higher --max-fee',
  'rate-bound': 'give a higher --max-base-fee or --pool-target: it held the whole load back',
  'no-blocks': 'see why the chain makes no blocks',
  lost: 'see why the node loses transactions',
  'left-out': 'give a higher --tip, or see what the chain takes',
  unknown: 'repair what failed first: see the failures',
  audit: 'see the audit: the chain and this run disagree, or another program uses these wallets',
};

/** Verdicts after which a search for the highest rate can tell more. @type {readonly string[]} */
const SEARCHED = ['concurrency-bound', 'rate-bound', 'node-bound', 'unknown'];

/** Nothing was done, or this share of it failed. @param {Pick<RunFile, 'counts' | 'intervals'>} run @param {number} [share] */
function isFailing(run, share = MOST) {
  const { missed, ended } = endedIn(run);
  return missed >= share * ended;
}

/** Where to look if the endpoint was back at the end; null: it was not. @param {RunFile} run */
function pastOutageOf(run) {
  const isOpen = (run.generator.outages ?? []).some(({ toMs }) => toMs === undefined);
  const outages = outagesOf(run).map(({ fromMs, toMs = fromMs }) => ({ fromMs, toMs }));
  const [longest] = outages.sort((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs));
  const silence = silenceOf(run);
  if (!isOpen && longest === undefined && silence !== null)
    return `see the log of the node or gateway: no answer came for ${seconds(silence.ms)}; then run again`;
  if (isOpen || longest === undefined) return null;
  return `see the log of the node or gateway from ${seconds(longest.fromMs)} to ${seconds(longest.toMs)} after the start of the load; then run again`;
}

/** What comes next after a run: a search, or a repair in words; null: neither. @param {RunFile} run @returns {{find: true} | {repair: string} | null} */
export function nextOf(run) {
  if (run.verdict === null) return null;
  if (run.audit?.result === 'not_exact') return { repair: REPAIRS.audit };
  const { name } = run.verdict;
  const isFailed = isFailing(run, name === 'unknown' ? PART : MOST);
  if (!isFailed && SEARCHED.includes(name)) return { find: true };
  const pastOutage = name === 'endpoint-down' ? pastOutageOf(run) : null;
  const pool = name === 'lost' && run.generator.nodeLimits?.pool !== undefined ? poolAdvice(run) : null;
  const repair = pastOutage ?? pool ?? REPAIRS[name] ?? (isFailed ? REPAIRS.unknown : undefined);
  return repair === undefined ? null : { repair };
}

/** @param {RunFile} run @returns {Verdict | null} null: nothing was due in the window, without a reason */
export function judge(run) {
  if (run.window.durationMs === 0) return null;
  const { missed, ended } = endedIn(run);
  // Where all that began before the window failed, that is why nothing was due in it.
  if (run.window.counts.scheduled === 0 && (missed === 0 || missed < ended)) {
    const evidence = heldBack(run);
    if (evidence !== null) return { name: 'rate-bound', evidence };
    if (!isFilled(run)) return null;
  }
  const facts = factsOf(run);
  const { name, evidence, advice } = /** @type {Row} */ (ROWS.find(({ when }) => when(facts)));
  const notes = name === 'generator-bound' || name === 'stopped' ? [] : notesOf(facts);
  return { name, evidence: [evidence(facts), ...notes, ...(advice ? [advice(facts)] : [])].join('; ') };
}

/** A closed loop begins nothing while all wallets wait for what they began before the window. @param {RunFile} run */
function isFilled({ intervals, rates }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  return rates.askedPerSecond === null && load.length > 0 && load.every(({ inFlight }) => inFlight > 0);
}

/** Waiting of the generator that did not limit the run. @param {Facts} facts @returns {string[]} */
function notesOf(facts) {
  const { waitedShare, lateUs, isLate, isLocal, stoppedMs } = facts;
  const stopped = `stress was stopped for ${seconds(stoppedMs)}`;
  const others = isLocal ? 'other processes (such as the node)' : 'other processes';
  const words = `${others} kept the CPU busy ${percent(waitedShare)} of the time: latencies are up to ${milliseconds(lateUs)} too high`;
  return [
    ...(stoppedMs > 0 ? [stopped] : []),
    ...(waitedShare >= NOTED && lateUs >= 1000 ? [words] : []),
    ...(isLate ? [lateStarts(facts)] : []),
  ];
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

/** Whether many submissions had no answer, also where all else was answered. @param {Facts} facts */
function lacksAnswers({ run }) {
  return unansweredSubmissions(run) > RELEVANT * run.counts.started;
}

/** What was seen, in words. @param {Facts} facts @returns {string[]} */
function seen(facts) {
  const { run, silentMs, noun, asked, achieved, callPauseShare, fullness, loop, utilization, cores } = facts;
  const { counts, failures, window } = run;
  const { failed, timedOut, started } = counts;
  const { dropped, scheduled } = window.counts;
  const words = [
    counts.verified === 0 ? 'nothing was verified' : longestStage(run),
    failed + timedOut > RELEVANT * started && byCode(timedOut > 0 ? { ...failures, timed_out: timedOut } : failures),
    asked !== null && `${digits(achieved)} of ${digits(asked)} per second were achieved`,
    dropped > 0 && `${whole(dropped)} of ${whole(scheduled)} were dropped because all wallets were busy`,
    outageText(run, silentMs),
    lacksAnswers(facts) && `${whole(unansweredSubmissions(run))} submissions had no answer and were repeated`,
    fullness !== null && `blocks were ${percent(fullness)} full`,
    utilization !== null && `${loop} was busy ${percent(utilization)} of the time`,
    cores !== null && `the node used ${percent(cores)} of a core`,
    callPauseShare > RELEVANT &&
      `${noun} paused ${percent(callPauseShare)} of the time after calls without an answer (${byCode(failures)})`,
  ];
  return words.filter((part) => typeof part === 'string');
}

/** How long the endpoint was away, and the drops of these intervals. @param {RunFile} run @param {number} silentMs */
function outageText(run, silentMs) {
  const { intervals } = run;
  const outages = outagesOf(run);
  if (outages.length === 0) return silentMs > 0 && `no look at the chain was answered for ${seconds(silentMs)}`;
  const last = intervals.at(-1)?.endMs ?? 0;
  const isDuring = (/** @type {RunFile['intervals'][number]} */ { startMs, endMs }) =>
    outages.some(({ fromMs, toMs = last }) => startMs < toMs && endMs > fromMs);
  const dropped = intervals.filter(isDuring).reduce((sum, { counts }) => sum + counts.dropped, 0);
  return `the endpoint did not answer for ${seconds(awayMsOf(run))}${dropped > 0 ? `, with ${whole(dropped)} of those dropped` : ''}`;
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
