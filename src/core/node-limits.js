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

/** A bound of the pool that nothing has contradicted for so long grows by a tenth. */
const CALM_MS = 5000;

/** The limit of a wallet grows by one after so many verified operations in flight. */
const CALM_ROUNDS = 8;

/** So many transactions that the node took after the first loss, and lost too, are another occasion. */
const PROOF = 3;

/** Transactions lost at once that lower the bound before there is proof. A restart loses as many, so the run file states no pool size yet. */
const BURST = 8;

/** Losses on two occasions prove a size if what the pool kept differs by this factor at most. */
const NEAR = 2;

/** One of so many operations in flight. */
const MANY = 20;

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
  /** Of the last occasion. */
  #firstLossUs = Infinity;
  /** What the pool kept when it last lost many. @type {number | null} */
  #depth = null;
  /** Losses of what it took after the first one. */
  #proofs = 0;
  /** Losses since the last look. */
  #lost = 0;
  /** Newest block without room for another operation. */
  #fullBlock = -1;
  /** Most operations in a block: the pool kept as many. */
  #included = 0;
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
    return this.#firstLossUs < Infinity && this.most < Infinity;
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
    const kept = Math.max(1, this.#inPool());
    const before = this.most;
    if (before === Infinity || kept > before) this.#bound(kept);
    else if (startedAtUs > this.#changedUs) this.#bound(Math.floor(before * 0.9));
    if (this.most !== before && this.#inPool() > 0) this.#kept = this.most;
    this.#troubleUs = this.#clock.nowUs();
  }

  /** @param {number} most */
  #bound(most) {
    this.most = Math.max(1, most);
    this.#changedUs = this.#clock.nowUs();
  }

  /** @param {{number: number, ours: number, gasUsed: number | null, gasLimit: number | null}} block @param {number} needed gas of another operation */
  observe({ number, ours, gasUsed, gasLimit }, needed) {
    this.#included = Math.max(this.#included, ours);
    const hasRoom = gasUsed !== null && gasLimit !== null && gasUsed + needed <= gasLimit;
    if (!hasRoom) this.#fullBlock = Math.max(this.#fullBlock, number);
  }

  /**
   * The node took a transaction, and then neither knows it nor has it in a block. It was not lost if a node that lags was
   * asked: blocks with room for it have left it out, although its nonce was the next.
   * @param {number} takenAtUs
   * @param {number} takenAtBlock
   */
  lost(takenAtUs, takenAtBlock) {
    if (this.#fullBlock >= takenAtBlock) return;
    this.#lost += 1;
    this.#troubleUs = this.#clock.nowUs();
    if (takenAtUs > this.#firstLossUs) this.#proofs += 1;
    this.#firstLossUs = Math.min(this.#firstLossUs, this.#clock.nowUs());
  }

  /** Called about once a second. @param {number} inFlight @param {number} capacity most operations that can be in flight */
  look(inFlight, capacity) {
    const lost = this.#lost;
    this.#lost = 0;
    // A pool that is too small loses many at once; a node that loses one now and then, wherever, has another reason.
    // Nor is a pool too small that kept as many for a block.
    const areMany = lost > 0 && lost >= inFlight / MANY && this.#included < inFlight;
    if (!areMany) this.#proofs = 0;
    const isAgain = this.#proofs >= PROOF;
    const depth = Math.max(this.#included, Math.min(this.most, inFlight - lost));
    if (areMany) this.#noteDepth(depth, isAgain);
    if (areMany && (isAgain || this.#kept !== null || lost >= BURST)) {
      this.#bound(depth);
      if (this.#kept !== null) this.#kept = depth;
    } else if (
      this.most < Infinity &&
      this.#clock.nowUs() - Math.max(this.#changedUs, this.#troubleUs) >= CALM_MS * 1000
    ) {
      this.#bound(this.#kept === null ? Infinity : this.most + Math.ceil(this.most / 10));
      if (this.most >= capacity) this.most = Infinity;
    }
  }

  /**
   * One event, such as a restart, proves nothing: a pool that is too small loses transactions again, near the same depth,
   * when others were taken.
   * @param {number} depth
   * @param {boolean} isAgain what was taken after the first loss is lost too
   */
  #noteDepth(depth, isAgain) {
    const before = this.#depth;
    this.#depth = isAgain || before === null ? depth : Math.min(before, depth);
    if (!isAgain) return;
    const isNear = before !== null && Math.max(before, depth) <= NEAR * Math.min(before, depth);
    if (isNear) this.#kept ??= depth;
    this.#firstLossUs = this.#clock.nowUs();
    this.#proofs = 0;
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
