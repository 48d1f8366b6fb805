import { retryAfterMs } from '../chain/retries.js';
import { isBusy } from '../chain/refusals.js';
import { within } from '../clock.js';
import { ProtocolError, RpcError, TransportError } from '../errors.js';
import { BlockNotServedError, HeadSource, PollPace, Sightings, describeBlock, fetchBlock, fetchHead } from './heads.js';

/**
 * @import { Block, BlockWithHashes, InclusionDetector, Watcher } from '../contracts/chain.d.ts'
 * @import { InclusionOptions } from './index.js'
 *
 * @typedef {object} Match a watched transaction in a block
 * @property {string} hash of the transaction
 * @property {number} blockNumber
 * @property {string} blockHash
 * @property {Watcher} watcher
 */

/** Number of block hashes kept. A deeper reorg is detected too, but not where it began. */
const MAX_HISTORY = 256;

/** Blocks fetched at once when the head has moved by many. */
const MAX_IN_FLIGHT = 8;

/** Polling continues beside a subscription, which may fall silent. */
const SAFETY_POLL_MS = 1000;

/** Longest accepted Retry-After. */
const MAX_RETRY_AFTER_MS = 30_000;

/** After this time without a block while later ones are served there is none at its height. */
const HOLE_MS = 2000;
/** The same where none of the next ones is served. */
const HOLES_MS = 10_000;

/** After this time with a head below the last block read there is a warning. */
const LAG_MS = 5000;

/** After this time with a head below the first block of the load the run ends, because none of it can be found. */
const BELOW_START_MS = 20_000;

/** A shorter time until an answer is no silence. */
const SILENT_MS = 1500;

/** How long the end waits for a request to an endpoint that did not answer before. */
const UNANSWERED_MS = 250;

/**
 * Reads the chain block by block, finds the watched transactions in the blocks' lists, and detects reorgs. The cost is
 * per block and not per transaction.
 * @implements {InclusionDetector}
 */
export class ChainFollower {
  /** By the hash of the transaction. @type {Map<string, Watcher>} */
  #watched = new Map();
  /** Found, but with too few confirmations. @type {Match[]} */
  #unconfirmed = [];
  /** Hashes of the newest blocks that were read, in ascending order of numbers. @type {Map<number, string>} */
  #hashes = new Map();
  /** Number of the last block that was read, or of a height without one after it. */
  #done;
  /** Hash of the last block that was read. @type {string | null} */
  #lastHash;
  /** Parents cannot be compared: on some chains they are not the hashes of the blocks before. */
  #isParentless = false;
  /** Some parent was the hash of the block before. */
  #hasParents = false;
  /** The last block whose child has another parent, and since when. @type {{number: number, sinceUs: number} | null} */
  #odd = null;
  /** The next block is not served, and since when. @type {{number: number, sinceUs: number} | null} */
  #absent = null;
  /** What is unusual about the chain. @type {string | null} */
  #note = null;
  /** When it was read. */
  #newestAtUs;
  #lastSuccessUs;
  /** When the first request was sent that has no answer; null: none. @type {number | null} */
  #askedUs = null;
  /** Since when the node's head has been below the last block read. @type {number | null} */
  #behindSinceUs = null;
  #failedPolls = 0;
  /** @type {Error | null} */
  #lastError = null;
  #options;
  #pace;
  #sightings;
  #heads;
  /** Ends the pause between two polls. */
  #waiting = new AbortController();
  #isWoken = false;
  #isStopped = false;
  /** It was stopped without the answer to its last request, which changes nothing any more. */
  #isGivenUp = false;
  /** The last figures before the stop. @type {ReturnType<InclusionDetector['stats']> | null} */
  #last = null;
  /** @type {Promise<void> | null} */
  #stopped = null;
  #loop;

  /** @param {InclusionOptions} options */
  constructor(options) {
    const { rpc, clock, head, headHash, periodUs = null, headAtUs, confirmations } = options;
    this.#options = options;
    this.#done = head;
    if (headHash) this.#hashes.set(head, headHash);
    this.#lastHash = headHash ?? null;
    this.#newestAtUs = clock.nowUs();
    this.#lastSuccessUs = clock.nowUs();
    this.#pace = new PollPace(clock, head);
    this.#sightings = new Sightings(clock.nowUs(), periodUs, confirmations, headAtUs);
    this.#heads = new HeadSource(rpc, { clock, head, onHead: () => this.#wake() });
    this.#loop = this.#follow();
  }

  /** @param {string} hash @param {Watcher} watcher */
  watch(hash, watcher) {
    this.#watched.set(hash, watcher);
  }

  /** @param {string} hash */
  unwatch(hash) {
    this.#watched.delete(hash);
  }

  /** @param {string} hash */
  isWatched(hash) {
    return this.#watched.has(hash);
  }

  /** @param {number} number */
  hasPassed(number) {
    return number + (this.#options.confirmations ?? 0) <= this.#done;
  }

  /** Another answer shows that the node has this block. @param {number} number */
  announce(number) {
    this.#heads.announce(number);
  }

  /** @returns {ReturnType<InclusionDetector['stats']>} */
  stats() {
    const nowUs = this.#options.clock.nowUs();
    const { isSubscribed } = this.#heads;
    const behindMs = this.#behindMs();
    return {
      source: isSubscribed ? 'subscription' : 'poll',
      resolutionMs: isSubscribed ? 0 : this.#pace.pollMs,
      failedPolls: this.#failedPolls,
      lastError: this.#lastError,
      blockMs: this.#pace.blockMs,
      sightedUs: this.#sightings.lastUs,
      periodUs: this.#sightings.periodUs,
      spanUs: this.#sightings.spanUs,
      behindMs,
      silentMs: Math.max(0, (nowUs - this.#lastSuccessUs) / 1000 - this.#waitMs()),
      ...this.#last,
      stillMs: (nowUs - this.#newestAtUs) / 1000,
      newestBlock: this.#done,
      warning: describeLag(this.#options.rpc.display, this.#done, this.#last?.behindMs ?? behindMs) ?? this.#wait(),
      note: this.#note,
    };
  }

  stop() {
    return (this.#stopped ??= this.#end());
  }

  async #end() {
    this.#last = this.stats();
    this.#isStopped = true;
    this.#wake();
    const ended = Promise.all([this.#loop, this.#heads.stop()]);
    // A request to an endpoint that does not answer would be waited for until its time limit.
    if (this.#isUnanswered) await within(this.#options.clock, UNANSWERED_MS, ended, () => (this.#isGivenUp = true));
    else await ended;
    if (this.#isUnanswered) return;
    // The audit covers what this check misses.
    await this.#checkLast().catch(() => {});
  }

  get #isUnanswered() {
    return this.#pace.isFailing && this.#lastError instanceof TransportError;
  }

  #wake() {
    this.#isWoken = true;
    this.#waiting.abort();
  }

  /** The pause between two polls. */
  #waitMs() {
    return this.#heads.isSubscribed && !this.#pace.isFailing ? SAFETY_POLL_MS : this.#pace.pollMs;
  }

  #behindMs() {
    return this.#behindSinceUs === null ? 0 : (this.#options.clock.nowUs() - this.#behindSinceUs) / 1000;
  }

  /** What it waits for. @returns {string | null} */
  #wait() {
    const { rpc, clock } = this.#options;
    const absentMs = this.#absent === null ? 0 : (clock.nowUs() - this.#absent.sinceUs) / 1000;
    if (absentMs < LAG_MS) return null;
    return `waiting for block ${this.#absent?.number}: ${rpc.display} announces it and does not serve it`;
  }

  async #follow() {
    const { clock } = this.#options;
    while (!this.#isStopped) {
      this.#isWoken = false;
      let askedMs = 0;
      this.#askedUs ??= clock.nowUs();
      try {
        await this.#check();
        this.#answered();
        this.#askedUs = null;
        this.#lastSuccessUs = clock.nowUs();
        this.#pace.succeeded();
      } catch (error) {
        this.#failedPolls += 1;
        this.#lastError = /** @type {Error} */ (error);
        this.#options.onFailure?.(error);
        const isSilent = error instanceof TransportError || (error instanceof ProtocolError && !isBusy(error));
        if (!isSilent) {
          this.#answered();
          this.#askedUs = null;
        }
        // The announced block may not exist.
        this.#heads.newest = this.#done;
        if (error instanceof BlockNotServedError) this.#pace.notServed();
        else this.#pace.failed(error instanceof TransportError);
        askedMs = Math.min(retryAfterMs(error), MAX_RETRY_AFTER_MS);
      }
      // A head was pushed in the meantime.
      if (this.#isWoken) continue;
      this.#waiting = new AbortController();
      await clock.sleep(Math.max(this.#waitMs(), askedMs), this.#waiting.signal);
    }
  }

  /** The node has answered: what it has not answered yet is asked from now on. */
  #answered() {
    const nowUs = this.#options.clock.nowUs();
    const ms = (nowUs - (this.#askedUs ?? nowUs)) / 1000;
    if (ms >= SILENT_MS) this.#options.onSilence?.({ ms, toUs: nowUs });
    this.#askedUs = nowUs;
  }

  async #check() {
    const head = await this.#latest();
    if (this.#isGivenUp) return;
    this.#answered();
    this.#pace.announced(head);
    this.#behindSinceUs = head >= this.#done ? null : (this.#behindSinceUs ?? this.#options.clock.nowUs());
    if (head > this.#done) await this.#readUpTo(head);
    else if (head < this.#done) await this.#fallBehind(head);
  }

  /** @returns {Promise<number>} number of the node's latest block */
  async #latest() {
    const { rpc, clock } = this.#options;
    if (this.#heads.newest > this.#done) return this.#heads.newest;
    const polled = await fetchHead(rpc, clock);
    // After a failure the head may be one that was pushed before it.
    if (polled > this.#done && !this.#pace.isFailing) this.#heads.polled();
    return polled;
  }

  /** @param {number} head */
  async #readUpTo(head) {
    const { clock } = this.#options;
    // Without parents only the last block itself shows that it was replaced.
    if (this.#isParentless && (await this.#isReplaced(this.#done))) return this.#goBack(this.#done);
    try {
      // An endpoint may announce any number of blocks.
      while (this.#done < head && !this.#isStopped) {
        const first = this.#done + 1;
        const count = Math.min(MAX_IN_FLIGHT, head - this.#done);
        const answers = await Promise.allSettled(Array.from({ length: count }, (_, i) => this.#fetch(first + i)));
        if (this.#isGivenUp) return;
        if (answers.some(({ status }) => status === 'fulfilled')) this.#answered();
        const { isFork, error } = this.#takeAll(answers, clock.nowUs(), head);
        if (isFork) await this.#goBack(this.#done);
        if (isFork && !this.#isParentless) return;
        if (error !== null) throw error;
      }
    } finally {
      this.#sightings.end();
    }
  }

  /** @param {number} number */
  #fetch(number) {
    return fetchBlock(this.#options.rpc, this.#options.clock, number);
  }

  /**
   * Takes the blocks before the first answer that is none, or that is no child of the last block.
   * @param {Array<PromiseSettledResult<BlockWithHashes | null>>} answers the next block to read first
   * @param {number} seenAtUs
   * @param {number} head
   * @returns {{isFork: boolean, error: Error | null}}
   */
  #takeAll(answers, seenAtUs, head) {
    const blocks = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : null));
    // A node may say in any words that there is no block at a height.
    const isRefused = (/** @type {unknown} */ reason) => reason instanceof RpcError && !isBusy(reason);
    /** @type {Block[]} */
    const taken = [];
    let [isFork, error] = [false, /** @type {Error | null} */ (null)];
    for (const [i, answer] of answers.entries()) {
      const block = blocks[i];
      if (answer.status === 'rejected' && !isRefused(answer.reason)) error = answer.reason;
      else if (block === null) {
        const next = blocks.slice(i + 1).find((later) => later !== null) ?? null;
        if (this.#isHole(next, head)) continue;
        const isNull = answer.status === 'fulfilled';
        error = isNull
          ? new BlockNotServedError(`block ${this.#done + 1} is announced but not served yet`)
          : answer.reason;
      } else isFork = this.#isFork(block);
      if (isFork || error !== null) break;
      if (block !== null) taken.push(this.#take(block, seenAtUs));
    }
    if (taken.length > 0) this.#report(taken, seenAtUs);
    return { isFork, error };
  }

  /** Some nodes state no parents. @param {BlockWithHashes} block the next one to read */
  #isFork({ parentHash }) {
    if (parentHash === null) this.#isParentless = true;
    if (this.#isParentless || this.#lastHash === null) return false;
    const isFork = parentHash !== this.#lastHash;
    if (!isFork) this.#hasParents = true;
    return isFork;
  }

  /**
   * Whether the chain has no block at the next height; then it is passed. The next block is evidence if its parent is the
   * last one. Otherwise time is evidence, because another node may have answered. Where parents can be compared it takes
   * longer, because the next block shows that this one exists.
   * @param {BlockWithHashes | null} next of the later blocks that were asked for the first that is served
   * @param {number} head
   */
  #isHole(next, head) {
    const { clock, rpc } = this.#options;
    const number = this.#done + 1;
    if (this.#absent?.number !== number) this.#absent = { number, sinceUs: clock.nowUs() };
    const { sinceUs } = this.#absent;
    const absentMs = (clock.nowUs() - sinceUs) / 1000;
    const longMs = this.#hasParents ? HOLES_MS : HOLE_MS;
    const isProven = next !== null && (next.parentHash === this.#lastHash || absentMs >= longMs);
    const isLong = next === null && head >= number + MAX_IN_FLIGHT && absentMs >= HOLES_MS;
    if (!isProven && !isLong) return false;
    this.#note ??= `the chain of ${rpc.display} has heights without a block (the first: ${number}): they are passed`;
    // Only the first of many in a row is waited for.
    this.#absent = isLong ? { number: number + 1, sinceUs } : null;
    this.#done = number;
    return true;
  }

  /** @param {BlockWithHashes} block the next one to read @param {number} seenAtUs @returns {Block} */
  #take(block, seenAtUs) {
    const { number } = block;
    const found = this.#takeListed(block, seenAtUs);
    const described = describeBlock(block, seenAtUs, found.length);
    this.#done = number;
    this.#lastHash = block.hash;
    this.#absent = null;
    this.#newestAtUs = seenAtUs;
    this.#hashes.set(number, described.hash);
    if (this.#hashes.size > MAX_HISTORY) this.#hashes.delete(/** @type {number} */ (this.#hashes.keys().next().value));
    this.#unconfirmed.push(...found);
    return described;
  }

  /** Removes the transactions of a block from the watched ones. @param {BlockWithHashes} block @param {number} seenAtUs */
  #takeListed(block, seenAtUs) {
    const isUnconfirmed = (this.#options.confirmations ?? 0) > 0;
    /** @type {Match[]} */
    const found = [];
    for (const hash of block.transactions) {
      const watcher = this.#watched.get(hash);
      if (watcher === undefined) continue;
      this.#watched.delete(hash);
      if (isUnconfirmed) watcher.setBlock?.({ number: block.number, seenAtUs });
      found.push({ hash, blockNumber: block.number, blockHash: block.hash, watcher });
    }
    return found;
  }

  /** Reports blocks that were read, and the transactions that have their confirmations now. @param {Block[]} blocks @param {number} seenAtUs */
  #report(blocks, seenAtUs) {
    const { onBlock, onSighting, confirmations = 0 } = this.#options;
    const deepest = this.#done - confirmations;
    const confirmed = this.#unconfirmed.filter(({ blockNumber }) => blockNumber <= deepest);
    this.#unconfirmed = this.#unconfirmed.filter(({ blockNumber }) => blockNumber > deepest);
    const startsUs = confirmed.flatMap(({ watcher }) => watcher.startedAtUs ?? []);
    const { blocksFromUs, ...sighting } = this.#sightings.add(seenAtUs, startsUs);
    for (const block of blocks) onBlock({ ...block, spreadFromUs: blocksFromUs });
    for (const { hash, blockNumber, blockHash, watcher } of confirmed)
      watcher.setInclusion(hash, { number: blockNumber, hash: blockHash, seenAtUs, sighting });
    onSighting?.(sighting);
  }

  /**
   * The node's head is below the last block read. That may be a lagging replica or a rollback; it is a reorg only if a
   * block that was read has another hash now.
   * @param {number} head
   */
  async #fallBehind(head) {
    if (await this.#isReplaced(head)) return this.#goBack(head);
    if (head < this.#options.head && this.#behindMs() >= BELOW_START_MS) this.#reportReplaced();
  }

  /** Whether the block of this height has another hash now. @param {number} number */
  async #isReplaced(number) {
    const known = this.#hashes.get(number);
    if (known === undefined) return false;
    const hash = await this.#hashAt(number);
    return hash !== null && hash !== known;
  }

  #reportReplaced() {
    const { rpc, head, onReplaced } = this.#options;
    onReplaced?.(chainReplaced(rpc.display, head));
  }

  /** Detects a replacement of the last block, which no later block has shown. */
  async #checkLast() {
    if (await this.#isReplaced(this.#done)) await this.#goBack(this.#done);
  }

  /** Goes back to the last common block. @param {number} number */
  async #goBack(number) {
    const fork = await this.#forkUpTo(number);
    if (fork === null) this.#reportReplaced();
    else if (fork < this.#done) this.#rewind(fork);
    else if (this.#isOddForLong()) {
      this.#isParentless = true;
      this.#note ??= `parent hashes in blocks of ${this.#options.rpc.display} do not match the preceding blocks: reorgs are detected by reading each block again`;
    }
  }

  /** One stale answer is not enough where parents could be compared before. */
  #isOddForLong() {
    const nowUs = this.#options.clock.nowUs();
    if (this.#odd?.number !== this.#done) this.#odd = { number: this.#done, sinceUs: nowUs };
    return !this.#hasParents || nowUs - this.#odd.sinceUs >= HOLE_MS * 1000;
  }

  /**
   * A reorg needs two hashes at one height.
   * @param {number} number of the last block read, or of one before it
   * @returns {Promise<number | null>} number of the newest of these blocks that the chain still has; null: it does not
   *   have the block at which the load began
   */
  async #forkUpTo(number) {
    const { head, headHash = null } = this.#options;
    const oldest = this.#hashes.keys().next().value ?? null;
    if (oldest === null) return this.#done;
    let isReplaced = false;
    for (let at = number; at >= oldest; at -= 1) {
      const known = this.#hashes.get(at);
      if (known === undefined) continue;
      const hash = await this.#hashAt(at);
      if (hash === known) return isReplaced ? at : this.#done;
      isReplaced ||= hash !== null;
    }
    if (!isReplaced) return this.#done;
    if (oldest <= head) return null;
    // If the node has pruned the start block, there is no evidence of another chain.
    const start = await this.#hashAt(head);
    return start === null || headHash === null || start === headHash ? oldest - 1 : null;
  }

  /** @param {number} fork the last block that is still part of the chain */
  #rewind(fork) {
    const number = fork + 1;
    const unconfirmed = this.#unconfirmed.filter(({ blockNumber }) => blockNumber > fork);
    const reorg = {
      number,
      hash: this.#hashes.get(number) ?? null,
      depth: this.#done - fork,
      unconfirmed: unconfirmed.map(({ hash }) => hash),
    };
    for (const known of [...this.#hashes.keys()]) if (known > fork) this.#hashes.delete(known);
    this.#done = fork;
    this.#lastHash = [...this.#hashes.values()].at(-1) ?? null;
    // An earlier push may have been of a replaced block.
    this.#heads.newest = fork;
    for (const { hash, watcher } of unconfirmed) this.#watched.set(hash, watcher);
    this.#unconfirmed = this.#unconfirmed.filter(({ blockNumber }) => blockNumber <= fork);
    this.#options.onReorg?.(reorg);
  }

  /** @param {number} number @returns {Promise<string | null>} null: the node no longer has the block */
  async #hashAt(number) {
    return (await this.#fetch(number))?.hash ?? null;
  }
}

/** @param {string} display of the endpoint @param {number} number of the block at which the load began */
export function chainReplaced(display, number) {
  return `${display} does not have the block ${number} at which the load began: its chain was rolled back or replaced, or it is far behind; start the run again`;
}

/** @param {string} display of the endpoint @param {number} newest block that was read @param {number} behindMs */
function describeLag(display, newest, behindMs) {
  if (behindMs < LAG_MS) return null;
  return `${display} is behind: its latest block has been below block ${newest}, which was read from it, for ${Math.round(behindMs / 1000)} s; newer transactions are seen when it has caught up`;
}
