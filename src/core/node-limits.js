/**
 * @import { RefusalClass } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { NodeLimitFacts } from '../contracts/run-file.d.ts'
 * @import { Account } from './nonces.js'
 * @import { Operation } from './operation.js'
 *
 * @typedef {object} WalletLimit
 * @property {number} most operations in flight
 * @property {number} changedUs
 * @property {number} verified since then
 * @property {number} heldStarts
 * @property {Set<Operation>} waiting refused, and not sent again yet
 * @property {number} room operations that ended meanwhile, so that as many of those may be sent at once
 */

/** Without a refusal or a loss for so long, and for so many blocks, the bound grows: by a tenth, or twofold while no size is known. */
const CALM_MS = 5000;
const CALM_BLOCKS = 4;
/** Each growth of a known size loses transactions again: the next one comes later. */
const MOST_CALM_MS = 60_000;

/** The limit of a wallet grows by one after so many verified operations in flight. */
const CALM_ROUNDS = 8;

/** A pool that is too small loses many at once: one of so many in flight, and at least so many. */
const MANY = 20;
const LEAST_LOST = 3;

/** Two occasions prove a size if what the pool kept differs by this factor at most. */
const NEAR = 2;

/** After so many losses with no more in flight than the pool kept before, its size is not the reason. */
const MOST_MISSES = 2;

/** An operation that waits for others of its wallet is woken. */
const UNTIL_WOKEN_MS = 60_000;

/**
 * How many transactions the node keeps, of one wallet and of all wallets of this thread: learned from what it refuses and
 * loses. A limit holds back the start of operations. A bound that is too low grows again.
 */
export class NodeLimits {
  /** Operations in flight of this thread. */
  most = Infinity;
  #changedUs = -Infinity;
  /** Last refusal for a full pool, or loss. */
  #troubleUs = -Infinity;
  /** Transactions that the pool kept when it refused or lost others; null: it did not. @type {number | null} */
  #kept = null;
  /** What it kept when it last lost many; null: it did not. @type {number | null} */
  #depth = null;
  /** It loses transactions, however few it has. */
  #isRandom = false;
  #misses = 0;
  #calmMs = CALM_MS;
  /** Losses since the last look: of the occasion that lowered the bound, and later ones. */
  #lost = { same: 0, later: 0 };
  /** The last change of the bound lowered it. */
  #isLowered = false;
  /** Blocks since the bound has changed. */
  #blocks = 0;
  /** Newest block without room for another operation. */
  #fullBlock = -1;
  /** Most operations in a block since then: the pool kept as many. */
  #included = 0;
  /** Most operations that the node had at each of the last two blocks: right after a block its pool is empty. */
  #peaks = [0, 0];
  /** Refusals for a full pool since the last block. */
  #refusedCount = 0;
  /** Wallets that were refused. @type {Map<Account, WalletLimit>} */
  #wallets = new Map();
  /** How often the node had this number of operations of a wallet when it refused another one. @type {Map<number, number>} */
  #keptOfWallet = new Map();
  #clock;
  /** Operations that the node has. */
  #inPool = () => 0;

  /** @param {Clock} clock */
  constructor(clock) {
    this.#clock = clock;
  }

  /** @param {() => number} inPool operations in flight that the node has taken */
  attach(inPool) {
    this.#inPool = inPool;
  }

  /** Its pool seems to drop transactions that it took. */
  get isEvicting() {
    return this.#depth !== null && this.most < Infinity;
  }

  /** @param {Operation} operation @param {RefusalClass | null} refusal of its submission */
  refused(operation, refusal) {
    if (refusal === 'sender_limit') this.#senderRefused(operation);
    if (refusal === 'pool_full') this.#poolRefused(operation);
  }

  /** @param {Operation} operation */
  #senderRefused({ account, startedAtUs }) {
    const limit = this.#limitOf(account);
    const kept = account.slots.filter(({ state, operation }) => state === 'live' && isKept(operation)).length;
    // A node that refuses the first one says nothing of a number.
    if (kept > 0) this.#keptOfWallet.set(kept, (this.#keptOfWallet.get(kept) ?? 0) + 1);
    if (limit.most === Infinity || kept > limit.most) this.#setWallet(limit, Math.max(1, kept));
    // Those that were in flight before say nothing about the limit.
    else if (startedAtUs > limit.changedUs) this.#setWallet(limit, Math.max(1, limit.most - 1));
  }

  /** @param {WalletLimit} limit @param {number} most */
  #setWallet(limit, most) {
    Object.assign(limit, { most, changedUs: this.#clock.nowUs(), verified: 0 });
  }

  /** @param {Operation} operation */
  #poolRefused({ startedAtUs }) {
    const kept = Math.max(1, this.#inPool(), ...this.#peaks);
    const before = this.most;
    if (before === Infinity || kept > before) this.#bound(kept);
    else if (startedAtUs > this.#changedUs) this.#bound(Math.floor(before * 0.9));
    this.#refusedCount += 1;
    // A single answer, such as that of a gateway, proves no size.
    if (this.#isMany(this.#refusedCount, this.most)) this.#kept = this.most;
    this.#troubleUs = this.#clock.nowUs();
  }

  /** @param {number} count of transactions that were refused or lost @param {number} inPool */
  #isMany(count, inPool) {
    return count >= Math.max(LEAST_LOST, inPool / MANY);
  }

  /** @param {number} most */
  #bound(most) {
    this.most = Math.max(1, most);
    this.#changedUs = this.#clock.nowUs();
    this.#isLowered = false;
    [this.#blocks, this.#included] = [0, 0];
  }

  /** @param {{number: number, ours: number, gasUsed: number | null, gasLimit: number | null}} block @param {number} needed gas of another operation */
  observe({ number, ours, gasUsed, gasLimit }, needed) {
    this.#included = Math.max(this.#included, ours);
    this.#peaks = [Math.max(ours, this.#inPool()), this.#peaks[0]];
    this.#refusedCount = 0;
    this.#blocks += 1;
    const hasRoom = gasUsed !== null && gasLimit !== null && gasUsed + needed <= gasLimit;
    if (!hasRoom) this.#fullBlock = Math.max(this.#fullBlock, number);
  }

  /** Whether it is known of a block since then that it had no room for another operation. @param {number} number */
  wasFullSince(number) {
    return this.#fullBlock >= number;
  }

  /**
   * The node took transactions, and then neither knows them nor has them in a block. They were not lost if a node that lags
   * was asked: blocks with room have left the first one out, although its nonce was the next.
   * @param {number} count
   * @param {number} takenAtUs
   * @param {number} takenAtBlock
   */
  lost(count, takenAtUs, takenAtBlock) {
    if (count === 0 || this.wasFullSince(takenAtBlock)) return;
    this.#lost[this.#isLowered && takenAtUs <= this.#changedUs ? 'same' : 'later'] += count;
    this.#troubleUs = this.#clock.nowUs();
  }

  /** Called about once a second. @param {number} inFlight @param {number} capacity most operations that can be in flight */
  look(inFlight, capacity) {
    const { same, later } = this.#lost;
    this.#lost = { same: 0, later: 0 };
    const inPool = Math.min(this.most, inFlight);
    const isMany = !this.#isRandom && this.#isMany(later, inPool);
    // Nor is a pool too small that kept as many for a block.
    if (isMany && (this.isEvicting || this.#included < inFlight)) this.#overflowed(inPool - later);
    else if (same > 0 && this.isEvicting) this.#lower(this.#atLeastIncluded(this.most - same));
    else if (this.most < Infinity && this.#isCalm()) this.#grow(capacity);
  }

  /** @param {number} depth */
  #atLeastIncluded(depth) {
    return Math.max(1, this.#included, depth);
  }

  #isCalm() {
    const calmUs = 1000 * (this.#kept === null ? CALM_MS : this.#calmMs);
    const sinceUs = this.#clock.nowUs() - Math.max(this.#changedUs, this.#troubleUs);
    return sinceUs >= calmUs && (this.#blocks >= CALM_BLOCKS || this.#depth === null);
  }

  /** @param {number} capacity */
  #grow(capacity) {
    this.#bound(this.#kept === null ? 2 * this.most : this.most + Math.ceil(this.most / 10));
    if (this.most < capacity) return;
    this.most = Infinity;
    // It keeps them all: what it lost before, such as in a restart, was not for want of room.
    this.#depth = null;
  }

  /**
   * One event, such as a restart, proves nothing: a pool that is too small loses transactions again when more of them are in
   * flight, near the same depth, and none before.
   * @param {number} kept
   */
  #overflowed(kept) {
    let depth = this.#atLeastIncluded(kept);
    const before = this.#depth;
    if (before !== null && this.#isLowered) {
      this.#misses += 1;
      if (this.#misses > MOST_MISSES) return this.#setRandom();
      depth = Math.min(depth, Math.max(1, Math.floor(0.9 * this.most)));
    } else if (before !== null && Math.max(before, depth) <= NEAR * Math.min(before, depth)) {
      if (this.#kept !== null) this.#calmMs = Math.min(2 * this.#calmMs, MOST_CALM_MS);
      [this.#kept, this.#misses] = [depth, 0];
    }
    this.#bound(depth);
    this.#lower(depth);
  }

  /** @param {number} depth */
  #lower(depth) {
    [this.most, this.#depth, this.#isLowered] = [depth, depth, true];
    if (this.#kept !== null) this.#kept = depth;
  }

  #setRandom() {
    this.#isRandom = true;
    [this.#depth, this.#kept] = [null, null];
    this.#bound(Infinity);
  }

  /** Whether another operation of the wallet has to wait; one that fills a nonce gap has not. @param {Account} account */
  holds(account) {
    const limit = this.#wallets.get(account);
    if (limit === undefined || limit.most === Infinity) return false;
    const live = account.slots.filter(({ state }) => state === 'live').length;
    if (live < limit.most || account.hasGap) return false;
    limit.heldStarts += 1;
    return true;
  }

  /** An operation of the wallet has ended. @param {Account} account @param {boolean} isVerified @returns {number} starts that need not wait any more */
  ended(account, isVerified) {
    const limit = this.#wallets.get(account);
    if (limit === undefined) return 0;
    let starts = 1;
    if (isVerified && limit.most < Infinity && (limit.verified += 1) >= limit.most * CALM_ROUNDS) {
      this.#setWallet(limit, limit.most + 1);
      starts = 2;
    }
    if (limit.waiting.size > 0) limit.room += 1;
    firstOf(limit)?.wake();
    const released = Math.min(limit.heldStarts, starts);
    limit.heldStarts -= released;
    return released;
  }

  /**
   * Operations of a wallet that the node has no room for are sent again in the order of their nonces: later nonces would
   * take the room of the next one, and could not be included before it.
   * @param {Operation} operation refused
   * @param {number} ms pause before the next try, if no operation of the wallet ends before
   */
  async turn(operation, ms) {
    const limit = this.#limitOf(operation.account);
    const first = firstOf(limit);
    limit.waiting.add(operation);
    if (first !== null && first.nonce > operation.nonce) first.wake();
    const isFirst = () => firstOf(limit) === operation;
    for (let isItsTurn = false; !isItsTurn;) {
      const wasFirst = isFirst();
      await operation.pause(this.#clock, wasFirst ? ms : UNTIL_WOKEN_MS);
      if (operation.isCancelled || operation.inclusion !== null) break;
      isItsTurn = isFirst() && (wasFirst || limit.room > 0);
    }
    limit.waiting.delete(operation);
    limit.room = limit.waiting.size === 0 ? 0 : Math.max(0, limit.room - 1);
    firstOf(limit)?.wake();
  }

  /** @param {Account} account @returns {WalletLimit} */
  #limitOf(account) {
    let limit = this.#wallets.get(account);
    if (limit === undefined) {
      limit = { most: Infinity, changedUs: -Infinity, verified: 0, heldStarts: 0, waiting: new Set(), room: 0 };
      this.#wallets.set(account, limit);
    }
    return limit;
  }

  /** What is known of the node. @returns {NodeLimitFacts | null} */
  facts() {
    const [[perWallet = null] = []] = [...this.#keptOfWallet].sort((a, b) => b[1] - a[1]);
    if (perWallet === null && this.#kept === null) return null;
    return {
      ...(perWallet !== null && { perWallet }),
      ...(this.#kept !== null && { pool: this.#kept }),
    };
  }
}

/** The node has it, and no block. @param {Operation | null} operation */
function isKept(operation) {
  return operation !== null && operation.sample.acceptedAtUs !== null && operation.inclusion === null;
}

/** @param {WalletLimit} limit @returns {Operation | null} the one with the lowest nonce */
function firstOf({ waiting }) {
  /** @type {Operation | null} */
  let first = null;
  for (const operation of waiting) if (first === null || operation.nonce < first.nonce) first = operation;
  return first;
}
