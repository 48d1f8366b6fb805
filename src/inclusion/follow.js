import { toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError } from '../errors.js';
import { BlockNotServedError, describeBlock, fetchBlock, followHeads } from './heads.js';

/**
 * @import { Inclusion, InclusionDetector } from '../types.d.ts'
 * @import { InclusionOptions } from './index.js'
 */

/** Blocks whose hashes are remembered: a reorg that goes deeper is seen, but not where it began. */
const MAX_HISTORY = 256;

/** The hashes of the newest blocks of the chain, as it was read. */
export class BlockHistory {
  /** In the order of their numbers. @type {Map<number, string>} */
  #hashes = new Map();
  #startNumber;
  #startHash;

  /** @param {number} number of the block before the first one that is read @param {string | null} hash null where it is not known */
  constructor(number, hash) {
    this.#startNumber = number;
    this.#startHash = hash;
    if (hash !== null) this.#hashes.set(number, hash);
  }

  /** The oldest number whose hash is known, or null. */
  get oldest() {
    return this.#hashes.keys().next().value ?? null;
  }

  /** @param {number} number @returns {string | null} */
  hashOf(number) {
    return this.#hashes.get(number) ?? null;
  }

  /** Whether a block is not known to be a child of another one than the one before it. @param {number} number @param {unknown} parentHash as the block states it */
  isChild(number, parentHash) {
    const known = this.hashOf(number - 1);
    return known === null || typeof parentHash !== 'string' || parentHash === known;
  }

  /** Whether it is the block that the run began at, as far as that is known. @param {string} hash */
  isStart(hash) {
    return this.#startHash === null || this.#startHash === hash;
  }

  get startNumber() {
    return this.#startNumber;
  }

  /** @param {number} number @param {string} hash */
  add(number, hash) {
    this.#hashes.set(number, hash);
    if (this.#hashes.size > MAX_HISTORY) this.#hashes.delete(/** @type {number} */ (this.oldest));
  }

  /** Forgets what came after a block. @param {number} number */
  cutAfter(number) {
    for (const known of [...this.#hashes.keys()]) if (known > number) this.#hashes.delete(known);
  }
}

/**
 * Reads the chain block by block, and notices when what was read is no longer part of it. What the detectors share;
 * each only knows how to find what is watched for in a block.
 *
 * @typedef {object} Found something that was watched for
 * @property {string} hash of the transaction
 * @property {number} blockNumber
 * @property {string} blockHash
 * @property {(inclusion: Inclusion) => void} callback
 *
 * @typedef {Map<string, (inclusion: Inclusion) => void>} Watched by the hash of the transaction
 *
 * @typedef {object} Finder
 * @property {(to: number) => Promise<void>} [prepare] before new blocks are read
 * @property {(block: any, number: number) => Found[]} find takes what is in the block off the watched
 */

/** Blocks fetched at once when the head has moved by many. */
const FETCH_AT_ONCE = 8;

/** A head that stays below what was read for so long is worth a warning, in milliseconds. */
const LAG_MS = 5000;

/** A head that stays below the block at which the load began for so long ends the run: nothing of it can be found. */
const BELOW_START_MS = 20_000;

/**
 * @param {InclusionOptions} options
 * @param {(watched: Watched) => Finder} createFinder
 * @returns {InclusionDetector & {receive: (receipt: Omit<Found, 'callback'>) => boolean}} receive: a
 *   receipt has come unasked; gives whether it has to be kept until its block is read, which will be soon
 */
export function followChain(options, createFinder) {
  /** @type {Watched} */
  const watched = new Map();
  const reader = new ChainReader(options, watched, createFinder(watched));
  const { rpc, clock, head, confirmations = 0 } = options;
  const heads = followHeads({
    rpc,
    clock,
    head,
    onHeads: (to) => reader.readUpTo(to),
    onBehind: (number, behindMs) => reader.fallBehind(number, behindMs),
  });
  /** @type {Promise<void> | null} */
  let stopped = null;
  /** As of the end. @type {ReturnType<typeof heads.stats> | null} */
  let last = null;
  return {
    watch: (hash, callback) => void watched.set(hash, callback),
    unwatch: (hash) => void watched.delete(hash),
    receive: (receipt) => {
      const isEarly = reader.receive(receipt);
      if (isEarly) heads.announce(receipt.blockNumber);
      return isEarly;
    },
    hasPassed: (number) => number + confirmations <= reader.done,
    stats: () => {
      const stats = last ?? heads.stats();
      const stillMs = (clock.nowUs() - reader.newestAtUs) / 1000;
      return {
        ...stats,
        stillMs,
        newestBlock: reader.done,
        warning: lagInWords(rpc.display, reader.done, stats.behindMs),
      };
    },
    // What the last look does not see, the audit does.
    stop: () => {
      last ??= heads.stats();
      reader.isStopped = true;
      return (stopped ??= heads.stop().then(() => reader.lookOnce().catch(nothing)));
    },
  };
}

/** What was read of the chain so far. */
class ChainReader {
  /** Number of the last block that was read. */
  done;
  /** When it was. */
  newestAtUs;
  /** Nobody waits for more of it: an endpoint may announce any number of blocks. */
  isStopped = false;
  /** In blocks that have too few on top. @type {Found[]} */
  #unconfirmed = [];
  #history;
  #watched;
  #finder;
  #options;

  /** @param {InclusionOptions} options @param {Watched} watched @param {Finder} finder */
  constructor(options, watched, finder) {
    this.#options = options;
    this.#watched = watched;
    this.#finder = finder;
    this.#history = new BlockHistory(options.head, options.headHash ?? null);
    this.done = options.head;
    this.newestAtUs = options.clock.nowUs();
  }

  /** @param {number} to @returns {Promise<number>} the number of the last block that was read */
  async readUpTo(to) {
    await this.#finder.prepare?.(to);
    while (this.done < to && !this.isStopped) {
      const first = this.done + 1;
      const count = Math.min(FETCH_AT_ONCE, to - this.done);
      const asked = Array.from({ length: count }, (_, i) => this.#fetch(first + i));
      // What came before one that did not come is read.
      for (const answer of await Promise.allSettled(asked)) {
        if (answer.status === 'rejected') throw answer.reason;
        const block = answer.value;
        if (!this.#history.isChild(this.done + 1, block.parentHash)) return this.#goBack(this.done);
        this.#take(block);
      }
    }
    return this.done;
  }

  /** @param {number} number */
  #fetch(number) {
    return fetchBlock(this.#options.rpc, this.#options.clock, number);
  }

  /** @param {any} block the next one */
  #take(block) {
    const { rpc, clock, onBlock } = this.#options;
    const number = this.done + 1;
    if (toNumber(block.number) !== number) throw new ProtocolError(`${rpc.display} gave another block than asked for`);
    const seenAtUs = clock.nowUs();
    const found = this.#finder.find(block, number);
    const described = describeBlock(block, seenAtUs, found.length);
    this.done = number;
    this.newestAtUs = seenAtUs;
    this.#history.add(number, described.hash);
    onBlock(described);
    this.#unconfirmed.push(...found);
    this.#tell(seenAtUs);
  }

  /** @param {Omit<Found, 'callback'>} receipt @returns {boolean} its block is not read yet */
  receive({ hash, blockNumber, blockHash }) {
    const callback = this.#watched.get(hash);
    if (callback === undefined) return false; // it was found, or is not waited for any more
    if (blockNumber > this.done) return true;
    const known = this.#history.hashOf(blockNumber);
    if (known !== null && known !== blockHash) return false; // another block has taken its place
    this.#watched.delete(hash);
    this.#unconfirmed.push({ hash, blockNumber, blockHash, callback });
    this.#tell(this.#options.clock.nowUs());
    return false;
  }

  /** Whoever waits for what is deep enough by now. @param {number} seenAtUs */
  #tell(seenAtUs) {
    const deepest = this.done - (this.#options.confirmations ?? 0);
    const ripe = this.#unconfirmed.filter(({ blockNumber }) => blockNumber <= deepest);
    this.#unconfirmed = this.#unconfirmed.filter(({ blockNumber }) => blockNumber > deepest);
    for (const { blockNumber, blockHash, callback } of ripe) {
      callback({ number: blockNumber, hash: blockHash, seenAtUs });
    }
  }

  /**
   * The head of the node is below the last block that was read. A replica that lags looks the same as a chain that was
   * rolled back, until another block has the place of one that was read: only that is a reorg.
   * @param {number} number of its latest block
   * @param {number} behindMs since when
   * @returns {Promise<number>} the last block that still counts
   */
  async fallBehind(number, behindMs) {
    const known = this.#history.hashOf(number);
    if (known !== null && (await this.#fetch(number)).hash !== known) return this.#goBack(number);
    const { startNumber } = this.#history;
    const { display } = this.#options.rpc;
    if (await this.#isOtherChain()) this.#options.onReplaced?.(otherChain(display));
    else if (number < startNumber && behindMs >= BELOW_START_MS)
      this.#options.onReplaced?.(belowStart(display, number, startNumber));
    return this.done;
  }

  /** A block can be replaced by another one of the same number: without a next one nothing tells of it. */
  async lookOnce() {
    const known = this.#history.hashOf(this.done);
    if (known !== null && (await this.#fetch(this.done)).hash !== known) await this.#goBack(this.done - 1);
  }

  /** Goes back to the block where the chain left the one that we know. @param {number} number */
  async #goBack(number) {
    const fork = await this.#forkUpTo(number);
    if (fork !== null) return this.#rewind(fork);
    const { display } = this.#options.rpc;
    const isOther = await this.#isOtherChain();
    this.#options.onReplaced?.(isOther ? otherChain(display) : otherStart(display, this.#history.startNumber));
    return this.done;
  }

  /**
   * @param {number} number the last block that was read, or one before it
   * @returns {Promise<number | null>} the highest block up to there that is still part of the chain; null: the chain is
   *   another one
   */
  async #forkUpTo(number) {
    const { oldest, startNumber } = this.#history;
    for (let at = number; at >= (oldest ?? number); at -= 1) {
      const known = this.#history.hashOf(at);
      if (known === null || (await this.#fetch(at)).hash === known) return at;
    }
    if (oldest === null || oldest <= startNumber) return null;
    // A node that has pruned its start block says nothing against it.
    const start = await this.#hashAt(startNumber);
    return start === null || this.#history.isStart(start) ? oldest - 1 : null;
  }

  /** @param {number} fork the last block that still counts */
  #rewind(fork) {
    if (fork >= this.done) return this.done;
    const number = fork + 1;
    const unconfirmed = this.#unconfirmed.filter(({ blockNumber }) => blockNumber > fork);
    const reorg = {
      number,
      hash: this.#history.hashOf(number),
      depth: this.done - fork,
      unconfirmed: unconfirmed.map(({ hash }) => hash),
    };
    this.#history.cutAfter(fork);
    this.done = fork;
    for (const { hash, callback } of unconfirmed) this.#watched.set(hash, callback);
    this.#unconfirmed = this.#unconfirmed.filter(({ blockNumber }) => blockNumber <= fork);
    this.#options.onReorg?.(reorg);
    return fork;
  }

  async #isOtherChain() {
    const { genesisHash = null } = this.#options;
    const hash = genesisHash === null ? null : await this.#hashAt(0);
    return hash !== null && hash !== genesisHash;
  }

  /** @param {number} number @returns {Promise<string | null>} null: the node no longer has the block */
  async #hashAt(number) {
    try {
      return (await this.#fetch(number)).hash;
    } catch (error) {
      if (error instanceof BlockNotServedError || error instanceof RpcError) return null;
      throw error;
    }
  }
}

/** @param {string} display of the endpoint */
export function otherChain(display) {
  return `${display} serves another chain now: its genesis block is not the one that it was. A development chain that was started anew? Start the run again`;
}

/** @param {string} display of the endpoint @param {number} number of the block at which the load began */
export function otherStart(display, number) {
  return `${display} has another block ${number} than the one at which the load began: the chain was rolled back or started anew. Start the run again`;
}

/** @param {string} display of the endpoint @param {number} head @param {number} number of the block at which the load began */
export function belowStart(display, head, number) {
  return `the latest block of ${display} is ${head}, and the load began at block ${number}: the chain was rolled back, or the endpoint is far behind. Start the run again when it has caught up`;
}

/** @param {string} display of the endpoint @param {number} newest block that was read @param {number} behindMs */
function lagInWords(display, newest, behindMs) {
  if (behindMs < LAG_MS) return null;
  return `${display} is behind: its latest block has been below block ${newest}, which was read from it, for ${Math.round(behindMs / 1000)} s; newer transactions are seen when it has caught up`;
}

function nothing() {}

/**
 * Inclusion by block: one head check and one block fetch serve every waiting transaction, so the cost is per
 * block and not per transaction.
 *
 * @param {InclusionOptions} options
 * @returns {InclusionDetector}
 */
export function createBlocksInclusion(options) {
  return followChain(options, (watched) => ({ find: (block, number) => takeListed(watched, block, number) }));
}

/**
 * @param {Watched} watched
 * @param {any} block
 * @param {number} number
 * @returns {Found[]} what the block lists
 */
export function takeListed(watched, block, number) {
  /** @type {Found[]} */
  const found = [];
  for (const hash of block.transactions) {
    const callback = watched.get(hash);
    if (callback === undefined) continue;
    watched.delete(hash);
    found.push({ hash, blockNumber: number, blockHash: block.hash, callback });
  }
  return found;
}
