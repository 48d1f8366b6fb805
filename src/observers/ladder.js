import { PENDING_BLOCK, ask, gather, headerAt, nullIfAbsent, receiptOf } from '../chain/answers.js';
import { isBusy } from '../chain/refusals.js';
import { within } from '../clock.js';
import { RpcError, StressError } from '../errors.js';
import { Distribution } from '../stats/histogram.js';
import { merge, zero } from '../stats/merge.js';
import { FACTS, LEVEL } from '../stats/observed.js';
import { STILL_RUNNING } from '../stats/run-file.js';
import { isCensored } from '../stats/sample.js';
import { asMembers, isUnknown, unknown } from '../stats/unknown.js';
import { FlashblockFeed, checkFeed } from './flashblocks.js';

/**
 * The finality levels (--ladder): when each operation was accepted, listed in the pending block, preconfirmed, in a block,
 * safe and finalized, and which operations are not in the chain at the end although they had reached a level.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Config } from '../contracts/config.d.ts'
 * @import { ObserverTools, OperationIdentity, Sample, TransactionStatus } from '../contracts/load.d.ts'
 * @import { BrokenCounts, RunFile, Rung, Unknown, WithUnknown } from '../contracts/run-file.d.ts'
 * @import { FeedAddress } from './flashblocks.js'
 * @import { ObserverRow } from './index.js'
 * @import { Observer, RemovedOperation, RunObserver, Warn } from './observer.d.ts'
 *
 * @typedef {object} LevelFigures operations by a finality level
 * @property {Distribution} latency of the operations that reached it, from when each was due
 * @property {Distribution} censored of the others: how long it was waited for
 * @property {number} notMeasured
 *
 * @typedef {object} Broken
 * @property {BrokenCounts} broken operations whose finality level was reached and that no block has at the end, by cause
 * @property {number} restored operations that a block has only because stress sent them again
 *
 * @typedef {Broken & {rungs: Record<string, Broken>}} BrokenPromises
 *
 * @typedef {object} PendingLevel an operation that had reached a level, and may not be in the chain
 * @property {number} reached levels
 * @property {number | null} lostAfter levels that it had reached when the node first did not know its transactions
 * @property {TransactionStatus} status by the last check
 * @property {readonly string[]} hashes sent until then
 *
 * @typedef {object} Kept what a thread hands over when its load has ended
 * @property {Array<[string, number]>} reached
 * @property {Array<[string, PendingLevel]>} doubts
 * @property {number} unchecked
 *
 * @typedef {{levels: Record<string, LevelFigures>, kept?: Kept}} LadderFacts of a thread, or of all
 */

/** The finality levels in their order. */
const LEVELS = Object.freeze(
  /** @type {const} */ (['accepted', 'pending', 'preconfirmed', 'sync', 'latest', 'safe', 'finalized']),
);
/** At these a transaction is seen before its block. */
const BEFORE_BLOCK = Object.freeze(/** @type {const} */ (['pending', 'preconfirmed']));

/** Operations that wait for a tag, of all tags: 8 bytes each. */
const MOST_WAITING = 1_000_000;
/** Advances of a tag that are kept, and hashes of blocks. */
const KEPT = 4096;
/** Verified operations whose levels are known after a reorg. */
const RECENT = 16_384;
/** Doubts that are checked at the end; more are only counted. */
const MOST_DOUBTS = 50_000;

/** Time limit of the last reading. */
const LAST_READ_MS = 2000;

/** The pending block is read so often per block, within these limits in milliseconds. */
const POLLS_PER_BLOCK = 10;
const POLL_MS = Object.freeze([10, 250]);

/** @typedef {'safe' | 'finalized'} TagName */
/** @type {readonly Rung[]} */
const TAGS = Object.freeze(/** @type {const} */ (['safe', 'finalized']));

/** Levels as one number. @param {Rung} level */
function bitOf(level) {
  return 1 << LEVELS.indexOf(level);
}

/** @param {number} reached @returns {Rung[]} */
function levelsIn(reached) {
  return LEVELS.filter((level) => (reached & bitOf(level)) !== 0);
}

/** @param {Pick<OperationIdentity, 'walletIndex' | 'nonce' | 'startedAtUs'>} operation */
function keyOf({ walletIndex, nonce, startedAtUs }) {
  return `${walletIndex}:${nonce}:${startedAtUs}`;
}

/** A tag that the node moves along the chain. An operation has reached it when the tag has reached its block. */
class Tag {
  /** When it was read for the last time. */
  lookedAtUs = -Infinity;
  /** Its advances, ascending. @type {Array<{number: number, atUs: number}>} */
  #steps = [];
  /** Due times of operations, by the block that has to be reached. @type {Map<number, number[]>} */
  #waiting = new Map();

  /** @param {TagName} name */
  constructor(name) {
    this.name = name;
  }

  /** When it reached a block; of old blocks the oldest instant that is kept. @param {number} number @returns {number | null} */
  instantOf(number) {
    let i = this.#steps.length;
    while (i > 0 && this.#steps[i - 1].number >= number) i -= 1;
    return this.#steps[i]?.atUs ?? null;
  }

  /** @param {number} number @param {number} dueUs */
  wait(number, dueUs) {
    const times = this.#waiting.get(number);
    if (times === undefined) this.#waiting.set(number, [dueUs]);
    else times.push(dueUs);
  }

  /** @param {number} number @param {number} atUs @returns {number[]} due times of operations that have reached it now */
  advance(number, atUs) {
    if (number <= (this.#steps.at(-1)?.number ?? -1)) return [];
    this.#steps.push({ number, atUs });
    if (this.#steps.length > KEPT) this.#steps.shift();
    return this.#take((block) => block <= number);
  }

  /** Blocks left the chain. @param {number} number of the first @returns {number[]} due times of operations that waited in them */
  goBack(number) {
    const last = this.#steps.findIndex((step) => step.number >= number);
    if (last >= 0) this.#steps.splice(last, Infinity, { number: number - 1, atUs: this.#steps[last].atUs });
    return this.#take((block) => block >= number);
  }

  /** @param {(block: number) => boolean} isWanted */
  #take(isWanted) {
    /** @type {number[][]} */
    const taken = [];
    for (const [block, times] of this.#waiting) {
      if (!isWanted(block)) continue;
      taken.push(times);
      this.#waiting.delete(block);
    }
    return taken.flat();
  }
}

/** The levels that operations had reached when they ended, and which of them may be broken. */
class Reached {
  /** Levels of the latest verified operations, in the order in which they ended. @type {Map<string, number>} */
  #verified = new Map();
  /** Levels of the other operations, until their status is known. @type {Map<string, number>} */
  #open = new Map();
  /** @type {Map<string, PendingLevel>} */
  doubts = new Map();
  unchecked = 0;

  /** @param {string} key @param {number} reached @param {boolean} isVerified */
  add(key, reached, isVerified) {
    const doubt = this.doubts.get(key);
    if (doubt !== undefined) doubt.reached = reached;
    if (!isVerified) return void this.#open.set(key, reached);
    this.#verified.set(key, reached);
    if (this.#verified.size > RECENT) this.#verified.delete(/** @type {string} */ (this.#verified.keys().next().value));
  }

  /** Its block left the chain. @param {string} key @param {number} reached meanwhile */
  reopen(key, reached) {
    const known = this.#verified.get(key);
    if (known === undefined) return;
    this.#verified.delete(key);
    this.#open.set(key, known | reached);
  }

  /**
   * @param {string} key
   * @param {TransactionStatus} status
   * @param {readonly string[]} hashes
   * @param {number} [live] what an operation in flight has reached
   */
  decide(key, status, hashes, live) {
    const reached = this.#open.get(key) ?? this.#verified.get(key) ?? live ?? this.doubts.get(key)?.reached ?? 0;
    const isInBlock = status === 'included' || status === 'reverted';
    if (status !== 'pending' && this.#open.delete(key) && isInBlock) this.add(key, reached, true);
    if (reached === 0 || isInBlock) return;
    const { lostAfter = null } = this.doubts.get(key) ?? {};
    if (this.doubts.size >= MOST_DOUBTS && !this.doubts.has(key)) return void (this.unchecked += 1);
    this.doubts.set(key, {
      reached,
      status,
      hashes,
      lostAfter: status === 'never_sent' ? (lostAfter ?? reached) : lostAfter,
    });
  }

  /** @returns {Kept} */
  toState() {
    return { reached: [...this.#verified, ...this.#open], doubts: [...this.doubts], unchecked: this.unchecked };
  }

  /** @param {Kept} state @returns {Reached} */
  static fromState({ reached, doubts, unchecked }) {
    const all = new Reached();
    for (const [key, levels] of reached) all.#open.set(key, levels);
    all.doubts = new Map(doubts);
    all.unchecked = unchecked;
    return all;
  }
}

/** Follows the operations of one thread. Questions to the node are asked per block, not per operation. @implements {Observer} */
export class Ladder {
  #tools;
  #levels;
  #tags;
  #mostWaiting;
  #waiting = 0;
  /** Since the last interval. @type {Record<string, LevelFigures>} */
  #figures = {};
  #reached = new Reached();
  /** Hashes of operations in flight that were seen before their block, and when. @type {Record<typeof BEFORE_BLOCK[number], Map<string, number>>} */
  #seen = { pending: new Map(), preconfirmed: new Map() };
  /** When the pending block was asked for, of the latest ones that were answered. @type {number[]} */
  #looks = [];
  /** @type {FlashblockFeed | null} */
  #feed = null;
  /** Levels that an operation in flight reached in a block that left the chain. @type {Map<string, Partial<Record<Rung, number>>>} */
  #early = new Map();
  /** Hashes of the blocks that were read, by number. @type {Map<number, string>} */
  #hashes = new Map();
  #newestBlock = -1;
  #stopping = new AbortController();
  #following = Promise.resolve();
  /** The reading of the tags that is under way. @type {Promise<void> | null} */
  #reading = null;
  #isReadAgain = false;
  /** Handed over with the last interval. @type {Kept | undefined} */
  #kept;

  /** @param {{levels: readonly Rung[], feed?: FeedAddress | null, mostWaiting?: number}} plan @param {ObserverTools} tools */
  constructor({ levels, feed = null, mostWaiting = MOST_WAITING }, tools) {
    const { clock, post } = tools;
    if (feed !== null) {
      const onHashes = (/** @type {string[]} */ hashes) => this.#see('preconfirmed', hashes, clock.nowUs());
      this.#feed = new FlashblockFeed(feed, { clock, onHashes, onLost: (lost) => post({ lost }) });
    }
    this.#tools = tools;
    this.#levels = levels;
    this.#mostWaiting = mostWaiting;
    this.#tags = levels.flatMap((level) => (level === 'safe' || level === 'finalized' ? new Tag(level) : []));
  }

  /** @param {AbortSignal} signal */
  async prepare(signal) {
    const lost = (await this.#feed?.openUnless(signal)) ?? null;
    if (lost !== null) this.#tools.post({ lost });
  }

  begin() {
    if (this.#levels.includes('pending')) this.#following = this.#followPending().catch(this.#tools.onBug);
  }

  /** A block was read. @param {{number: number, hash: string}} block */
  block({ number, hash }) {
    this.#newestBlock = number;
    this.#hashes.set(number, hash);
    if (this.#hashes.size > KEPT) this.#hashes.delete(/** @type {number} */ (this.#hashes.keys().next().value));
    if (this.#tags.length === 0) return;
    if (this.#reading === null) this.#reading = this.#readTags().catch(this.#tools.onBug);
    else this.#isReadAgain = true;
  }

  /** @param {Sample} sample */
  operation(sample) {
    const key = keyOf(sample);
    const instants = this.#instantsOf(sample, key);
    for (const level of BEFORE_BLOCK) for (const hash of sample.hashes) this.#seen[level].delete(hash);
    // What the node has refused had reached nothing.
    const { intendedAtUs, acceptedAtUs } = sample;
    if (!this.#tools.isInWindow(intendedAtUs) || (acceptedAtUs === null && !isCensored(sample))) return;
    for (const level of this.#levels) {
      const tag = this.#tags.find(({ name }) => name === level);
      if (tag !== undefined && instants[level] === undefined) this.#followTo(tag, sample);
      else this.#recordLevel(level, sample, instants[level]);
    }
    const reached = bitsOf(instants);
    if (reached > 0) this.#reached.add(key, reached, sample.outcome === 'verified');
  }

  /** @param {Rung} level @param {Sample} sample @param {number} [atUs] when it was reached */
  #recordLevel(level, { intendedAtUs, startedAtUs, acceptedAtUs, blockSeenAtUs, endedAtUs }, atUs) {
    if (atUs !== undefined) return this.#record(level, atUs - intendedAtUs, true);
    // An operation in a block is no longer seen before it.
    const untilUs = BEFORE_BLOCK.some((one) => one === level) ? (blockSeenAtUs ?? endedAtUs) : endedAtUs;
    // The feed was away meanwhile, or nothing was looked at.
    const isMissed =
      (level === 'preconfirmed' && startedAtUs < (this.#feed?.sinceUs ?? 0)) ||
      (level === 'pending' && !this.#hasLooked(acceptedAtUs ?? startedAtUs, untilUs));
    if (isMissed) this.#figuresOf(level).notMeasured += 1;
    else this.#record(level, untilUs - intendedAtUs, false);
  }

  /** Whether the pending block was read in a time. @param {number} fromUs @param {number} untilUs */
  #hasLooked(fromUs, untilUs) {
    return (this.#looks.findLast((atUs) => atUs <= untilUs) ?? -Infinity) >= fromUs;
  }

  /** Waits until the tag reaches the block of an operation. @param {Tag} tag @param {Sample} sample */
  #followTo(tag, { intendedAtUs, blockSeenAtUs, blockNumber, endedAtUs }) {
    if (blockSeenAtUs === null) return this.#record(tag.name, endedAtUs - intendedAtUs, false);
    // It ended before its block had its confirmations.
    if (blockNumber === null) return void (this.#figuresOf(tag.name).notMeasured += 1);
    const atUs = tag.instantOf(blockNumber);
    if (atUs !== null) return this.#record(tag.name, Math.max(atUs, blockSeenAtUs) - intendedAtUs, true);
    if (this.#waiting >= this.#mostWaiting) return void (this.#figuresOf(tag.name).notMeasured += 1);
    this.#waiting += 1;
    tag.wait(blockNumber, intendedAtUs);
  }

  /** When it reached each level for the first time. @param {Pick<Sample, 'acceptedAtUs' | 'receiptAtUs' | 'blockSeenAtUs' | 'hashes'>} operation @param {string} key @returns {Partial<Record<Rung, number>>} */
  #instantsOf({ acceptedAtUs, receiptAtUs, blockSeenAtUs, hashes }, key) {
    const early = this.#early.get(key);
    if (early !== undefined) this.#early.delete(key);
    return {
      ...(acceptedAtUs !== null && { accepted: acceptedAtUs }),
      ...(receiptAtUs !== null && { sync: receiptAtUs }),
      ...this.#seenOf(hashes),
      ...(blockSeenAtUs !== null && { latest: blockSeenAtUs }),
      ...early,
    };
  }

  /** @param {readonly string[]} hashes @returns {Partial<Record<Rung, number>>} */
  #seenOf(hashes) {
    const seen = BEFORE_BLOCK.map((level) => [
      level,
      Math.min(...hashes.flatMap((hash) => this.#seen[level].get(hash) ?? [])),
    ]);
    return Object.fromEntries(seen.filter(([, atUs]) => atUs !== Infinity));
  }

  /** @param {typeof BEFORE_BLOCK[number]} level @param {readonly string[]} hashes @param {number} atUs */
  #see(level, hashes, atUs) {
    const seen = this.#seen[level];
    for (const hash of hashes) if (!seen.has(hash) && this.#tools.isWatched(hash)) seen.set(hash, atUs);
  }

  /** @param {number} number of the first block @param {readonly RemovedOperation[]} removed operations in the removed blocks */
  reorg(number, removed) {
    for (const { blockNumber, seenAtUs, ...operation } of removed) {
      const key = keyOf(operation);
      const tags = this.#tags.flatMap((tag) => {
        const atUs = tag.instantOf(blockNumber);
        return atUs === null ? [] : [[tag.name, atUs]];
      });
      const instants = Object.fromEntries(tags);
      if (seenAtUs === null) this.#reached.reopen(key, bitsOf(instants));
      else this.#early.set(key, { latest: seenAtUs, ...instants, ...this.#early.get(key) });
    }
    const nowUs = this.#tools.clock.nowUs();
    this.#newestBlock = Math.min(this.#newestBlock, number - 1);
    for (const known of [...this.#hashes.keys()]) if (known >= number) this.#hashes.delete(known);
    for (const tag of this.#tags) this.#recordAll(tag, tag.goBack(number), { atUs: nowUs, isReached: false });
  }

  /** @param {OperationIdentity} operation @param {TransactionStatus} status */
  status(operation, status) {
    const { live, hashes } = operation;
    const key = keyOf(operation);
    const isFollowed = live !== undefined && this.#tools.isInWindow(live.intendedAtUs);
    const seen = bitsOf(this.#seenOf(hashes));
    const accepted = isFollowed && live.acceptedAtUs !== null ? bitOf('accepted') : 0;
    const early = bitsOf(this.#early.get(key) ?? {});
    const receipt = isFollowed && live.receiptAtUs !== null ? bitOf('sync') : 0;
    this.#reached.decide(key, status, hashes, isFollowed ? accepted | seen | early | receipt : undefined);
  }

  /** @param {boolean} endsInterval @returns {LadderFacts} */
  interval(endsInterval) {
    const facts = { levels: this.#figures, ...(this.#kept && { kept: this.#kept }) };
    if (!endsInterval) return merge(FACTS.members.ladder, {}, facts);
    this.#figures = {};
    this.#kept = undefined;
    return facts;
  }

  /** After the drain: what still waits has not reached its level. */
  async finish() {
    const { clock } = this.#tools;
    this.#stopping.abort();
    this.#feed?.close();
    await within(clock, LAST_READ_MS, this.#readLast(), () => {});
    for (const tag of this.#tags) this.#endAll(tag, tag.goBack(0));
    this.#kept = this.#reached.toState();
  }

  /** What was not reached when the tag was read for the last time; later nothing is known. @param {Tag} tag @param {number[]} times when they were due */
  #endAll(tag, times) {
    const [known, others] = [true, false].map((isKnown) =>
      times.filter((dueUs) => dueUs <= tag.lookedAtUs === isKnown),
    );
    this.#recordAll(tag, known, { atUs: tag.lookedAtUs, isReached: false });
    this.#waiting -= others.length;
    if (others.length > 0) this.#figuresOf(tag.name).notMeasured += others.length;
  }

  async #readLast() {
    await Promise.all([this.#following, this.#reading]);
    if (this.#tags.length > 0) await this.#readTags();
  }

  /** @param {Tag} tag @param {number[]} times when they were due @param {{atUs: number, isReached: boolean}} end */
  #recordAll(tag, times, { atUs, isReached }) {
    this.#waiting -= times.length;
    for (const dueUs of times) this.#record(tag.name, atUs - dueUs, isReached);
  }

  /** @param {Rung} level @param {number} us since it was due @param {boolean} isReached */
  #record(level, us, isReached) {
    this.#figuresOf(level)[isReached ? 'latency' : 'censored'].record(us);
  }

  /** @param {Rung} level @returns {LevelFigures} */
  #figuresOf(level) {
    return (this.#figures[level] ??= zero(LEVEL));
  }

  async #followPending() {
    const { clock, blockMs } = this.#tools;
    const [least, most] = POLL_MS;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#readPending().catch(ignoreAnswer);
      await clock.sleep(Math.min(Math.max(blockMs() / POLLS_PER_BLOCK, least), most), signal);
    }
  }

  async #readPending() {
    const { rpc, clock } = this.#tools;
    const askedAtUs = clock.nowUs();
    const { number, transactions } = await ask(rpc, PENDING_BLOCK, 'ladder');
    // It may be older than the block that was read meanwhile.
    if (transactions === null || (number !== null && number <= this.#newestBlock)) return;
    this.#looks.push(askedAtUs);
    if (this.#looks.length > KEPT) this.#looks.shift();
    this.#see('pending', transactions, clock.nowUs());
  }

  async #readTags() {
    const { rpc, clock } = this.#tools;
    do {
      this.#isReadAgain = false;
      const answers = this.#tags.map(async (tag) => {
        const block = await gather(rpc, headerAt(tag.name), 'ladder');
        const atUs = clock.nowUs();
        if (block === null) return void (tag.lookedAtUs = atUs);
        const { number, hash } = block;
        // A node on another fork has finalized nothing of the blocks that were read.
        if ((this.#hashes.get(number) ?? hash) !== hash) return;
        tag.lookedAtUs = atUs;
        this.#recordAll(tag, tag.advance(number, atUs), { atUs, isReached: true });
      });
      await Promise.all(answers.map((answer) => answer.catch(ignoreAnswer)));
    } while (this.#isReadAgain && !this.#stopping.signal.aborted);
    this.#reading = null;
  }
}

/** @param {Partial<Record<string, number>>} instants */
function bitsOf(instants) {
  return Object.keys(instants).reduce((bits, level) => bits | bitOf(/** @type {Rung} */ (level)), 0);
}

/** The next answer may be better. @param {unknown} error */
function ignoreAnswer(error) {
  if (!(error instanceof StressError)) throw error;
}

/** The run's side: which levels the chain has, and after the audit which operations are not in it. @implements {RunObserver} */
export class RunLadder {
  plan;
  #options;
  #reached = new Reached();
  /** @type {BrokenPromises | Unknown} */
  #broken = unknown(STILL_RUNNING);
  /** Warnings before the load. @type {string[]} */
  #early = [];
  #warnOf = /** @type {Warn} */ ((_, words) => void this.#early.push(words));

  /** @param {{levels: Rung[], lacks: Record<string, string>, asked: readonly string[], feed?: FeedAddress | null}} options lacks: why other levels are off */
  constructor(options) {
    this.#options = options;
    this.plan = { levels: options.levels, feed: options.feed ?? null };
  }

  /** @type {NonNullable<RunObserver['begin']>} */
  begin({ warnOf }) {
    this.#warnOf = warnOf;
    for (const words of this.#early) warnOf('flashblocks', words);
    const { lacks, asked } = this.#options;
    for (const [level, words] of Object.entries(lacks))
      if (asked.includes(level)) warnOf('ladder', `--ladder ${level} is off: ${words}`);
  }

  /** A thread has lost its feed. @param {{lost: string}} message */
  message({ lost }) {
    this.#warnOf('flashblocks', `no preconfirmations from ${lost}; operations meanwhile are not measured`);
  }

  /** @param {LadderFacts | undefined} facts */
  drained(facts) {
    if (facts?.kept !== undefined) this.#reached = Reached.fromState(facts.kept);
  }

  /** @param {OperationIdentity} operation @param {TransactionStatus} status */
  status(operation, status) {
    this.#reached.decide(keyOf(operation), status, operation.hashes);
  }

  /** @type {NonNullable<RunObserver['finish']>} */
  async finish({ rpc, noAudit, reorgs }) {
    if (noAudit !== null) this.#broken = unknown(`there is no audit: ${noAudit}`);
    else if (reorgs.events.some(({ isComplete }) => !isComplete))
      this.#broken = unknown('a reorg removed blocks whose operations are no longer kept');
    else this.#broken = await this.#findBroken(rpc).catch((error) => unknown(/** @type {Error} */ (error).message));
  }

  /**
   * Each doubt is looked up once more by all its hashes, because a transaction may have arrived after its status was
   * decided.
   * @param {Pick<Rpc, 'gather'>} rpc
   * @returns {Promise<BrokenPromises>}
   */
  async #findBroken(rpc) {
    const { levels } = this.#options;
    const none = () => ({ broken: { lost: 0, replaced: 0, reorged: 0, unknown: 0 }, restored: 0 });
    const all = { ...none(), rungs: Object.fromEntries(levels.map((level) => [level, none()])) };
    all.broken.unknown = this.#reached.unchecked;
    const open = [...this.#reached.doubts.values()];
    for (let at = 0; at < open.length; at += AT_ONCE) {
      await Promise.all(
        open.slice(at, at + AT_ONCE).map(async (doubt) => {
          const isKept = await isInChain(rpc, doubt.hashes);
          const reached = levelsIn(isKept ? (doubt.lostAfter ?? 0) : doubt.reached);
          const own = levels.filter((level) => reached.includes(level));
          for (const part of own.length === 0 ? [] : [all, ...own.map((level) => all.rungs[level])]) {
            if (isKept) part.restored += 1;
            else part.broken[causeOf(doubt)] += 1;
          }
        }),
      );
    }
    return all;
  }

  /** @param {LadderFacts | undefined} facts of all threads @returns {ReturnType<RunObserver['describe']>} */
  describe(facts) {
    const { levels, lacks } = this.#options;
    const broken = this.#broken;
    const [ofAll, ofLevels] = isUnknown(broken)
      ? [{ broken, restored: broken }, null]
      : [{ broken: broken.broken, restored: broken.restored }, broken.rungs];
    const followed = levels.map((level) => {
      const { latency, censored, notMeasured } = facts?.levels[level] ?? zero(LEVEL);
      const counts = { reached: latency.count, notReached: censored.count, notMeasured };
      const both = new Distribution().add(latency).add(censored).toJSON();
      return [level, { ...counts, latency: both, censored: censored.toJSON(), ...(ofLevels?.[level] ?? ofAll) }];
    });
    const off = Object.entries(lacks).map(([level, why]) => [level, unknown(why)]);
    const ladder = { ...ofAll, rungs: Object.fromEntries([...followed, ...off]) };
    return asMembers({ ladder: /** @type {WithUnknown<NonNullable<RunFile['ladder']>>} */ (ladder) });
  }
}

/** Receipts that are read at once. */
const AT_ONCE = 500;

/** @param {Pick<Rpc, 'gather'>} rpc @param {readonly string[]} hashes */
async function isInChain(rpc, hashes) {
  for (const hash of hashes) if ((await nullIfAbsent(gather(rpc, receiptOf(hash), 'audit'))) !== null) return true;
  return false;
}

/** @param {PendingLevel} doubt @returns {keyof BrokenPromises['broken']} */
function causeOf({ status, reached }) {
  if (status === 'replaced') return 'replaced';
  if (status !== 'never_sent') return 'unknown';
  return (reached & bitOf('latest')) === 0 ? 'lost' : 'reorged';
}

/**
 * @param {Pick<Rpc, 'call' | 'display'>} rpc
 * @param {readonly string[]} asked values of --ladder
 * @param {boolean} isSync whether submissions are answered with the receipt
 * @param {boolean} hasFeed
 * @returns {Promise<{levels: Rung[], lacks: Record<string, string>}>} lacks: why other levels are off
 */
export async function chooseLevels(rpc, asked, isSync, hasFeed = false) {
  /** @type {Record<string, string>} */
  const lacks = {};
  /** @type {Rung[]} */
  const levels = [isSync ? 'sync' : 'accepted', 'latest', ...(hasFeed ? /** @type {const} */ (['preconfirmed']) : [])];
  for (const level of /** @type {const} */ (['pending', ...TAGS])) {
    if (!asked.includes(level) && !asked.includes('auto')) continue;
    const lack = await lackOf(rpc, level);
    if (lack === null) levels.push(level);
    else lacks[level] = `${rpc.display} has no ${level} block: ${lack}`;
  }
  return { levels: LEVELS.filter((level) => levels.includes(level)), lacks };
}

/** @param {Pick<Rpc, 'call'>} rpc @param {Rung} level @returns {Promise<string | null>} null: it has a block of that name */
async function lackOf(rpc, level) {
  try {
    const latest = await ask(rpc, headerAt('latest'), 'setup');
    if (level === 'pending') {
      const { hash, transactions } = await ask(rpc, PENDING_BLOCK, 'setup');
      if (transactions === null) return 'it answers null';
      return hash !== null && hash === latest?.hash ? 'it answers with the latest block' : null;
    }
    return (await ask(rpc, headerAt(level), 'setup')) === null ? 'it answers null' : null;
  } catch (error) {
    if (error instanceof RpcError && !isBusy(error)) return error.rpcMessage;
    throw error;
  }
}

/** @param {Config} config @returns {FeedAddress | null} */
function feedOf({ network: { insecure }, chain: { flashblocks } }) {
  return flashblocks && { url: flashblocks.href, insecure };
}

/** @type {ObserverRow} */
export const ladder = {
  check: async (config, { clock, signal }) => {
    const feed = feedOf(config);
    if (feed !== null) await checkFeed(feed, clock, config.network.requestTimeoutMs, signal);
  },
  open: async (config, { rpc, inclusion }) => {
    const { ladder: asked } = config.network;
    if (asked.length === 0 || inclusion === null) return null;
    const feed = feedOf(config);
    const chosen = await chooseLevels(rpc, asked, inclusion === 'sync', feed !== null);
    return new RunLadder({ asked, feed, ...chosen });
  },
  observe: (plan, tools) => new Ladder(plan, tools),
};
