import { PENDING_BLOCK, ask, gather, headerAt, nullIfAbsent, receiptOf } from '../chain/answers.js';
import { isBusy } from '../chain/refusals.js';
import { RpcError, StressError } from '../errors.js';
import { RUNGS, isCensored } from '../stats/sample.js';

/**
 * The ladder of promises (--ladder): when each operation was accepted, listed in the pending block, in a block, safe and
 * finalized, and which operations are not in the chain at the end although a rung had promised it.
 *
 * @import { Rpc, Watcher } from '../contracts/chain.d.ts'
 * @import { Clock, Promised, Sample } from '../contracts/load.d.ts'
 * @import { BrokenPromises, Rung } from '../contracts/run-file.d.ts'
 * @import { Recorder } from '../stats/recorder.js'
 * @import { Ledger } from './ledger.js'
 * @import { Operation } from './operation.js'
 *
 * @typedef {object} LadderOptions
 * @property {Pick<Rpc, 'call' | 'gather'>} rpc
 * @property {Clock} clock
 * @property {Recorder} recorder
 * @property {readonly Rung[]} rungs
 * @property {(hash: string) => Watcher | undefined} watcherOf of a transaction that is in no block yet
 * @property {() => number} blockMs mean time between two blocks
 * @property {(error: Error) => void} onBug
 * @property {number} [mostWaiting]
 */

/** Operations that wait for a tag, of all tags: 8 bytes each. */
const MOST_WAITING = 1_000_000;
/** Advances of a tag that are kept, and hashes of blocks. */
const KEPT = 4096;

/** Time limit of the last reading. */
const LAST_READ_MS = 2000;

/** The pending block is read so often per block, within these limits in milliseconds. */
const POLLS_PER_BLOCK = 10;
const POLL_MS = Object.freeze([10, 250]);

/** @typedef {'safe' | 'finalized'} TagName */
/** @type {readonly Rung[]} */
const TAGS = Object.freeze(/** @type {const} */ (['safe', 'finalized']));

/** @param {Promised | null | undefined} promise null: not followed @param {Rung} rung @param {number} atUs */
export function reach(promise, rung, atUs) {
  if (promise) promise.reachedAtUs[rung] ??= atUs;
}

/** A tag that the node moves along the chain. An operation has reached it when the tag has reached its block. */
class Tag {
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

/** Follows the promises of the operations of one thread. The cost is per block, not per operation. */
export class Ladder {
  #options;
  #tags;
  #waiting = 0;
  /** Of the blocks that were read, by number. @type {Map<number, string>} */
  #hashes = new Map();
  #newestBlock = -1;
  #stopping = new AbortController();
  #following = Promise.resolve();
  /** The reading of the tags that is under way. @type {Promise<void> | null} */
  #reading = null;
  #isReadAgain = false;

  /** @param {LadderOptions} options */
  constructor(options) {
    this.#options = options;
    this.#tags = options.rungs.flatMap((rung) => (rung === 'safe' || rung === 'finalized' ? new Tag(rung) : []));
  }

  start() {
    if (this.#options.rungs.includes('pending')) this.#following = this.#followPending().catch(this.#options.onBug);
  }

  /** @param {Pick<Operation, 'intendedAtUs'>} operation that starts @returns {Promised | null} null: not due in the window */
  promiseOf({ intendedAtUs }) {
    if (!this.#options.recorder.isInWindow(intendedAtUs)) return null;
    return { reachedAtUs: {}, status: null, lostAfter: null, hashes: [] };
  }

  /** A block was read. @param {{number: number, hash: string}} block */
  seen({ number, hash }) {
    this.#newestBlock = number;
    this.#hashes.set(number, hash);
    if (this.#hashes.size > KEPT) this.#hashes.delete(/** @type {number} */ (this.#hashes.keys().next().value));
    if (this.#tags.length === 0) return;
    if (this.#reading === null) this.#reading = this.#readTags().catch(this.#options.onBug);
    else this.#isReadAgain = true;
  }

  /** @param {Pick<Operation, 'promise'>} operation @param {Sample} sample */
  ended({ promise }, sample) {
    if (promise === null) return;
    const { intendedAtUs, acceptedAtUs, includedAtUs, endedAtUs, blockNumber } = sample;
    // What the node has refused was never promised.
    if (acceptedAtUs === null && !isCensored(sample)) return void (promise.reachedAtUs = {});
    const { reachedAtUs } = promise;
    if (includedAtUs !== null) reachedAtUs.latest ??= includedAtUs;
    for (const rung of this.#options.rungs) {
      const tag = this.#tags.find(({ name }) => name === rung);
      // An operation in a block can no longer be seen in the pending one.
      const untilUs = rung === 'pending' ? (includedAtUs ?? endedAtUs) : endedAtUs;
      if (tag !== undefined && reachedAtUs[rung] === undefined && includedAtUs !== null)
        this.#wait(tag, { number: Number(blockNumber), dueUs: intendedAtUs, includedAtUs });
      else this.#record(rung, (reachedAtUs[rung] ?? untilUs) - intendedAtUs, reachedAtUs[rung] !== undefined);
    }
  }

  /** The block of an operation left the chain. @param {Promised | null | undefined} promise @param {number} number @param {number} [seenAtUs] */
  removed(promise, number, seenAtUs) {
    if (seenAtUs !== undefined) reach(promise, 'latest', seenAtUs);
    for (const tag of this.#tags) {
      const atUs = tag.instantOf(number);
      if (atUs !== null) reach(promise, tag.name, atUs);
    }
  }

  /** Blocks left the chain; removed() was called for their operations. @param {number} number of the first */
  goBack(number) {
    const nowUs = this.#options.clock.nowUs();
    this.#newestBlock = Math.min(this.#newestBlock, number - 1);
    for (const known of [...this.#hashes.keys()]) if (known >= number) this.#hashes.delete(known);
    for (const tag of this.#tags) this.#recordAll(tag, tag.goBack(number), { atUs: nowUs, isReached: false });
  }

  /** After the drain: what still waits has not reached its rung. */
  async end() {
    const { clock } = this.#options;
    this.#stopping.abort();
    const over = new AbortController();
    await Promise.race([this.#readLast(), clock.sleep(LAST_READ_MS, over.signal)]).finally(() => over.abort());
    const atUs = clock.nowUs();
    for (const tag of this.#tags) this.#recordAll(tag, tag.goBack(0), { atUs, isReached: false });
  }

  async #readLast() {
    await Promise.all([this.#following, this.#reading]);
    if (this.#tags.length > 0) await this.#readTags();
  }

  /** @param {Tag} tag @param {{number: number, dueUs: number, includedAtUs: number}} operation */
  #wait(tag, { number, dueUs, includedAtUs }) {
    const atUs = tag.instantOf(number);
    if (atUs !== null) return this.#record(tag.name, Math.max(atUs, includedAtUs) - dueUs, true);
    const { recorder, clock, mostWaiting = MOST_WAITING } = this.#options;
    if (this.#waiting >= mostWaiting) return recorder.leaveOutRung(tag.name, clock.nowUs());
    this.#waiting += 1;
    tag.wait(number, dueUs);
  }

  /** @param {Tag} tag @param {number[]} times when they were due @param {{atUs: number, isReached: boolean}} end */
  #recordAll(tag, times, { atUs, isReached }) {
    this.#waiting -= times.length;
    for (const dueUs of times) this.#record(tag.name, atUs - dueUs, isReached);
  }

  /** @param {Rung} rung @param {number} us since it was due @param {boolean} isReached */
  #record(rung, us, isReached) {
    const { recorder, clock } = this.#options;
    recorder.addRung(rung, clock.nowUs(), us, isReached);
  }

  async #followPending() {
    const { clock, blockMs } = this.#options;
    const [least, most] = POLL_MS;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#readPending().catch(ignoreAnswer);
      await clock.sleep(Math.min(Math.max(blockMs() / POLLS_PER_BLOCK, least), most), signal);
    }
  }

  async #readPending() {
    const { rpc, clock, watcherOf } = this.#options;
    const { number, transactions } = await ask(rpc, PENDING_BLOCK, 'ladder');
    // It may be older than the block that was read meanwhile.
    if (transactions === null || (number !== null && number <= this.#newestBlock)) return;
    const atUs = clock.nowUs();
    for (const hash of transactions) reach(watcherOf(hash)?.promise, 'pending', atUs);
  }

  async #readTags() {
    const { rpc, clock } = this.#options;
    do {
      this.#isReadAgain = false;
      const answers = this.#tags.map(async (tag) => {
        const block = await gather(rpc, headerAt(tag.name), 'ladder');
        if (block === null) return;
        const { number, hash } = block;
        // A node on another fork promises nothing of the blocks that were read.
        if ((this.#hashes.get(number) ?? hash) !== hash) return;
        const atUs = clock.nowUs();
        this.#recordAll(tag, tag.advance(number, atUs), { atUs, isReached: true });
      });
      await Promise.all(answers.map((answer) => answer.catch(ignoreAnswer)));
    } while (this.#isReadAgain && !this.#stopping.signal.aborted);
    this.#reading = null;
  }
}

/** The next answer may be better. @param {unknown} error */
function ignoreAnswer(error) {
  if (!(error instanceof StressError)) throw error;
}

/**
 * @param {Pick<Rpc, 'call' | 'display'>} rpc
 * @param {readonly string[]} asked values of --ladder
 * @param {boolean} isSync whether submissions are answered with the receipt
 * @returns {Promise<{rungs: Rung[], lacks: Record<string, string>}>} lacks: why other rungs are off
 */
export async function chooseRungs(rpc, asked, isSync) {
  /** @type {Record<string, string>} */
  const lacks = {};
  /** @type {Rung[]} */
  const rungs = [isSync ? 'sync' : 'accepted', 'latest'];
  for (const rung of /** @type {const} */ (['pending', ...TAGS])) {
    if (!asked.includes(rung) && !asked.includes('auto')) continue;
    const lack = await lackOf(rpc, rung);
    if (lack === null) rungs.push(rung);
    else lacks[rung] = `${rpc.display} has no ${rung} block: ${lack}`;
  }
  return { rungs: RUNGS.filter((rung) => rungs.includes(rung)), lacks };
}

/** @param {Pick<Rpc, 'call'>} rpc @param {Rung} rung @returns {Promise<string | null>} null: it has a block of that name */
async function lackOf(rpc, rung) {
  try {
    const latest = await ask(rpc, headerAt('latest'), 'setup');
    if (rung === 'pending') {
      const { hash, transactions } = await ask(rpc, PENDING_BLOCK, 'setup');
      if (transactions === null) return 'it answers null';
      return hash !== null && hash === latest?.hash ? 'it answers with the latest block' : null;
    }
    return (await ask(rpc, headerAt(rung), 'setup')) === null ? 'it answers null' : null;
  } catch (error) {
    if (error instanceof RpcError && !isBusy(error)) return error.rpcMessage;
    throw error;
  }
}

/** Receipts that are read at once. */
const AT_ONCE = 500;

/**
 * The operations that a rung had promised and that are not in the chain at the end. Each is looked up once more by all its
 * hashes, because a transaction may have arrived after its status was decided.
 * @param {Pick<Rpc, 'gather'>} rpc
 * @param {Pick<Ledger, 'doubts' | 'uncheckedDoubts'>} ledger after the audit
 * @param {readonly Rung[]} rungs
 * @returns {Promise<BrokenPromises>}
 */
export async function findBroken(rpc, { doubts, uncheckedDoubts }, rungs) {
  const none = () => ({ broken: { lost: 0, replaced: 0, reorged: 0, unknown: 0 }, restored: 0 });
  const all = { ...none(), rungs: Object.fromEntries(rungs.map((rung) => [rung, none()])) };
  all.broken.unknown = uncheckedDoubts;
  const open = [...doubts];
  for (let at = 0; at < open.length; at += AT_ONCE) {
    await Promise.all(
      open.slice(at, at + AT_ONCE).map(async (promise) => {
        const { reachedAtUs, lostAfter, hashes } = promise;
        const isKept = await isInChain(rpc, hashes);
        const reached = isKept ? (lostAfter ?? []) : Object.keys(reachedAtUs);
        const own = rungs.filter((rung) => reached.includes(rung));
        for (const part of own.length === 0 ? [] : [all, ...own.map((rung) => all.rungs[rung])]) {
          if (isKept) part.restored += 1;
          else part.broken[causeOf(promise)] += 1;
        }
      }),
    );
  }
  return all;
}

/** @param {Pick<Rpc, 'gather'>} rpc @param {string[]} hashes */
async function isInChain(rpc, hashes) {
  for (const hash of hashes) if ((await nullIfAbsent(gather(rpc, receiptOf(hash), 'audit'))) !== null) return true;
  return false;
}

/** @param {Promised} promise @returns {keyof BrokenPromises['broken']} */
function causeOf({ status, reachedAtUs }) {
  if (status === 'replaced') return 'replaced';
  if (status !== 'never_sent') return 'unknown';
  return reachedAtUs.latest === undefined ? 'lost' : 'reorged';
}
