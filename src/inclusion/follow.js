import { toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError } from '../errors.js';
import { BlockNotServedError, describeBlock, fetchBlock, followHeads } from './heads.js';

/**
 * Reads the chain block by block and detects reorgs. All detectors share this; each one has its own way to find the
 * watched transactions of a block. The simplest, by the block's list of transactions, is here too.
 *
 * @import { InclusionDetector, Watcher } from '../types.d.ts'
 * @import { InclusionOptions } from './index.js'
 *
 * @typedef {object} Found a watched transaction in a block
 * @property {string} hash of the transaction
 * @property {number} blockNumber
 * @property {string} blockHash
 * @property {Watcher} watcher
 *
 * @typedef {Map<string, Watcher>} Watched by the hash of the transaction
 *
 * @typedef {object} Finder
 * @property {(to: number) => Promise<void>} [prepare] called before blocks up to this one are read
 * @property {(block: any, number: number) => Found[]} find removes the transactions that it finds from the watched ones
 */

/** Number of block hashes kept. A deeper reorg is detected too, but not where it began. */
const MAX_HISTORY = 256;

/** Blocks fetched at once when the head has moved by many. */
const MAX_IN_FLIGHT = 8;

/** After this time with a head below the last block read there is a warning. */
const LAG_MS = 5000;

/** After this time with a head below the first block of the load the run ends, because none of it can be found. */
const BELOW_START_MS = 20_000;

/**
 * @param {InclusionOptions} options
 * @param {(watched: Watched) => Finder} createFinder
 * @returns {InclusionDetector & {receive: (receipt: Omit<Found, 'watcher'>) => boolean}} receive takes a receipt that
 *   came with an answer; true: its block is not read yet, so the caller keeps it
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
  /** The last figures before the stop. @type {ReturnType<typeof heads.stats> | null} */
  let last = null;
  return {
    watch: (hash, watcher) => void watched.set(hash, watcher),
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
        warning: describeLag(rpc.display, reader.done, stats.behindMs),
      };
    },
    // The audit covers what the last check misses.
    stop: () => {
      last ??= heads.stats();
      reader.isStopped = true;
      return (stopped ??= heads.stop().then(() => reader.checkLast().catch(() => {})));
    },
  };
}

/** The state of reading: the last block, its history, and transactions that wait for confirmations. */
class ChainReader {
  /** Number of the last block that was read. */
  done;
  /** When it was read. */
  newestAtUs;
  /** Ends readUpTo, because an endpoint may announce any number of blocks. */
  isStopped = false;
  /** Found, but with too few confirmations. @type {Found[]} */
  #unconfirmed = [];
  /** Hashes of the newest blocks that were read, in ascending order of numbers. @type {Map<number, string>} */
  #hashes = new Map();
  #watched;
  #finder;
  #options;

  /** @param {InclusionOptions} options @param {Watched} watched @param {Finder} finder */
  constructor(options, watched, finder) {
    this.#options = options;
    this.#watched = watched;
    this.#finder = finder;
    this.done = options.head;
    if (options.headHash) this.#hashes.set(options.head, options.headHash);
    this.newestAtUs = options.clock.nowUs();
  }

  /** @param {number} to @returns {Promise<number>} the number of the last block that was read */
  async readUpTo(to) {
    await this.#finder.prepare?.(to);
    while (this.done < to && !this.isStopped) {
      const first = this.done + 1;
      const count = Math.min(MAX_IN_FLIGHT, to - this.done);
      const requests = Array.from({ length: count }, (_, i) => this.#fetch(first + i));
      // The blocks before a failed request are used.
      for (const answer of await Promise.allSettled(requests)) {
        if (answer.status === 'rejected') throw answer.reason;
        const block = answer.value;
        const parent = this.#hashes.get(this.done);
        // Some nodes state no parents.
        if (parent !== undefined && typeof block.parentHash === 'string' && block.parentHash !== parent)
          return this.#goBack(this.done);
        this.#take(block);
      }
    }
    return this.done;
  }

  /** @param {number} number */
  #fetch(number) {
    return fetchBlock(this.#options.rpc, this.#options.clock, number);
  }

  /** @param {any} block the next one to read */
  #take(block) {
    const { rpc, clock, onBlock } = this.#options;
    const number = this.done + 1;
    if (toNumber(block.number) !== number) throw new ProtocolError(`${rpc.display} answered with another block`);
    const seenAtUs = clock.nowUs();
    const found = this.#finder.find(block, number);
    const described = describeBlock(block, seenAtUs, found.length);
    this.done = number;
    this.newestAtUs = seenAtUs;
    this.#hashes.set(number, described.hash);
    if (this.#hashes.size > MAX_HISTORY) this.#hashes.delete(/** @type {number} */ (this.#hashes.keys().next().value));
    onBlock(described);
    this.#unconfirmed.push(...found);
    this.#reportConfirmed(seenAtUs);
  }

  /** @param {Omit<Found, 'watcher'>} receipt @returns {boolean} true: its block is not read yet */
  receive({ hash, blockNumber, blockHash }) {
    const watcher = this.#watched.get(hash);
    if (watcher === undefined) return false; // found already, or no longer watched
    if (blockNumber > this.done) return true;
    const known = this.#hashes.get(blockNumber);
    if (known !== undefined && known !== blockHash) return false; // the block was replaced
    this.#watched.delete(hash);
    this.#unconfirmed.push({ hash, blockNumber, blockHash, watcher });
    this.#reportConfirmed(this.#options.clock.nowUs());
    return false;
  }

  /** @param {number} seenAtUs */
  #reportConfirmed(seenAtUs) {
    const deepest = this.done - (this.#options.confirmations ?? 0);
    const confirmed = this.#unconfirmed.filter(({ blockNumber }) => blockNumber <= deepest);
    this.#unconfirmed = this.#unconfirmed.filter(({ blockNumber }) => blockNumber > deepest);
    for (const { hash, blockNumber, blockHash, watcher } of confirmed) {
      watcher.setInclusion(hash, { number: blockNumber, hash: blockHash, seenAtUs });
    }
  }

  /**
   * The node's head is below the last block read. That may be a lagging replica or a rollback; it is a reorg only if a
   * block that was read has another hash now.
   * @param {number} number of the node's latest block
   * @param {number} behindMs for how long
   * @returns {Promise<number>} the last block that is still part of the chain
   */
  async fallBehind(number, behindMs) {
    const known = this.#hashes.get(number);
    if (known !== undefined && (await this.#fetch(number)).hash !== known) return this.#goBack(number);
    const { rpc, head } = this.#options;
    if (await this.#isOtherChain()) this.#options.onReplaced?.(otherChain(rpc.display));
    else if (number < head && behindMs >= BELOW_START_MS)
      this.#options.onReplaced?.(belowStart(rpc.display, number, head));
    return this.done;
  }

  /** Detects a replacement of the last block, which no later block has shown. */
  async checkLast() {
    const known = this.#hashes.get(this.done);
    if (known !== undefined && (await this.#fetch(this.done)).hash !== known) await this.#goBack(this.done - 1);
  }

  /** Goes back to the last common block. @param {number} number */
  async #goBack(number) {
    const fork = await this.#forkUpTo(number);
    if (fork !== null) return this.#rewind(fork);
    const { rpc, head } = this.#options;
    const isOther = await this.#isOtherChain();
    this.#options.onReplaced?.(isOther ? otherChain(rpc.display) : otherStart(rpc.display, head));
    return this.done;
  }

  /**
   * @param {number} number of the last block read, or of one before it
   * @returns {Promise<number | null>} the highest block up to this one that is still part of the chain; null: it is
   *   another chain
   */
  async #forkUpTo(number) {
    const { head, headHash = null } = this.#options;
    const oldest = this.#hashes.keys().next().value ?? null;
    for (let at = number; at >= (oldest ?? number); at -= 1) {
      const known = this.#hashes.get(at);
      if (known === undefined || (await this.#fetch(at)).hash === known) return at;
    }
    if (oldest === null || oldest <= head) return null;
    // If the node has pruned the start block, there is no evidence of another chain.
    const start = await this.#hashAt(head);
    return start === null || headHash === null || start === headHash ? oldest - 1 : null;
  }

  /** @param {number} fork the last block that is still part of the chain */
  #rewind(fork) {
    if (fork >= this.done) return this.done;
    const number = fork + 1;
    const unconfirmed = this.#unconfirmed.filter(({ blockNumber }) => blockNumber > fork);
    const reorg = {
      number,
      hash: this.#hashes.get(number) ?? null,
      depth: this.done - fork,
      unconfirmed: unconfirmed.map(({ hash }) => hash),
    };
    for (const known of [...this.#hashes.keys()]) if (known > fork) this.#hashes.delete(known);
    this.done = fork;
    for (const { hash, watcher } of unconfirmed) this.#watched.set(hash, watcher);
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
  return `${display} serves another chain now: its genesis block has changed, as after a new start of a development chain; start the run again`;
}

/** @param {string} display of the endpoint @param {number} number of the block at which the load began */
export function otherStart(display, number) {
  return `${display} has another block ${number} than the one at which the load began: the chain was rolled back or started anew; start the run again`;
}

/** @param {string} display of the endpoint @param {number} head @param {number} number of the block at which the load began */
export function belowStart(display, head, number) {
  return `the latest block of ${display} is ${head}, and the load began at block ${number}: the chain was rolled back, or the endpoint is far behind; start the run again when it has caught up`;
}

/** @param {string} display of the endpoint @param {number} newest block that was read @param {number} behindMs */
function describeLag(display, newest, behindMs) {
  if (behindMs < LAG_MS) return null;
  return `${display} is behind: its latest block has been below block ${newest}, which was read from it, for ${Math.round(behindMs / 1000)} s; newer transactions are seen when it has caught up`;
}

/**
 * Inclusion by block: the cost is per block and not per transaction.
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
 * @returns {Found[]} the watched transactions in the block's list
 */
export function takeListed(watched, block, number) {
  /** @type {Found[]} */
  const found = [];
  for (const hash of block.transactions) {
    const watcher = watched.get(hash);
    if (watcher === undefined) continue;
    watched.delete(hash);
    found.push({ hash, blockNumber: number, blockHash: block.hash, watcher });
  }
  return found;
}
