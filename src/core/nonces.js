/**
 * @import { Wallet } from '../contracts/chain.d.ts'
 * @import { UnresolvedOperation } from './ledger.js'
 * @import { Operation } from './operation.js'
 */

/**
 * The nonces and counts of one wallet. Operations of a wallet end in any order; the chain executes them in the order of
 * their nonces.
 *
 * @typedef {object} Slot one nonce that is not settled
 * @property {NonceState} state
 * @property {Operation | null} operation null: of another thread
 * @property {UnresolvedOperation | null} undecided the last operation with this nonce, if the node did not know its transactions: they
 *   may still arrive, so later operations with this nonce keep its hashes
 *
 * @typedef {'live' | 'executed' | 'used' | 'unresolved' | 'free'} NonceState live: in flight; executed: with effect; used: by
 *   a reverted or foreign transaction; unresolved: ended with unknown status; free: can be used (again)
 *
 * @typedef {object} Bounds possible counts of executed operations of the wallet
 * @property {number} least as of the block
 * @property {number} most as of the block; above `least` while an operation is unresolved
 * @property {number} latest as of any later block
 */
export class Account {
  /** Executed operations below the first unsettled nonce. */
  executed = 0;
  /** By nonce, from the wallet's nonce (the first unsettled one) on. @type {Slot[]} */
  slots = [];

  /** @param {number} position in the slice @param {Wallet} wallet */
  constructor(position, wallet) {
    this.position = position;
    this.wallet = wallet;
    this.startNonce = wallet.nonce;
  }

  /** The lowest free nonce, or the next one. */
  get nextNonce() {
    const free = this.slots.findIndex(({ state }) => state === 'free');
    return this.wallet.nonce + (free === -1 ? this.slots.length : free);
  }

  /** Whether a free nonce blocks later operations in the pool. */
  get hasGap() {
    const free = this.slots.findIndex(({ state }) => state === 'free');
    return free !== -1 && this.slots.some(({ state }, i) => i > free && state !== 'free');
  }

  /** @param {Operation} operation @returns {{nonce: number, undecided: Slot['undecided']}} the nonce assigned */
  take(operation) {
    const nonce = this.nextNonce;
    const undecided = this.slotOf(nonce)?.undecided ?? null;
    /** @type {Slot} */
    const slot = { state: 'live', operation, undecided };
    // An array that grows from nothing gets room for 17.
    if (this.slots.length === 0) this.slots = [slot];
    else this.slots[nonce - this.wallet.nonce] = slot;
    return { nonce, undecided };
  }

  /** @param {number} nonce @returns {Slot | null} null: settled */
  slotOf(nonce) {
    return this.slots[nonce - this.wallet.nonce] ?? null;
  }

  /** @param {number} nonce @param {NonceState} state */
  settle(nonce, state) {
    const slot = this.slotOf(nonce);
    if (slot === null) return;
    slot.state = state;
    // Other transactions with this nonce are invalid now.
    if (state === 'executed' || state === 'used') slot.undecided = null;
    const { wallet, slots } = this;
    while (slots.length > 0 && (slots[0].state === 'executed' || slots[0].state === 'used')) {
      if (slots[0].state === 'executed') this.executed += 1;
      slots.shift();
      wallet.nonce += 1;
    }
  }

  /**
   * After a reorg: the operations of the removed blocks are unresolved again.
   * @param {Array<{nonce: number, isExecuted: boolean}>} orphans isExecuted: not reverted
   */
  reopen(orphans) {
    const { wallet } = this;
    const executed = new Set(orphans.filter(({ isExecuted }) => isExecuted).map(({ nonce }) => nonce));
    /** @type {Slot[]} */
    const reopened = [];
    for (let nonce = Math.min(...orphans.map((orphan) => orphan.nonce)); nonce < wallet.nonce; nonce += 1) {
      if (executed.has(nonce)) this.executed -= 1;
      // Nonces without a known operation of ours.
      reopened.push({ state: 'used', operation: null, undecided: null });
    }
    this.slots = [...reopened, ...this.slots];
    wallet.nonce -= reopened.length;
    for (const { nonce } of orphans) {
      const slot = this.slotOf(nonce);
      if (slot !== null) Object.assign(slot, { state: 'unresolved', operation: null });
    }
  }

  /**
   * The counts allowed when the effect of an operation is read as of its block.
   * @param {Operation} operation
   * @param {number} blockNumber
   * @returns {Bounds}
   */
  boundsAsOf(operation, blockNumber) {
    const bounds = { least: this.executed, most: this.executed, latest: this.executed };
    const last = lastAsOf(this, operation, blockNumber);
    this.slots.forEach(({ state, operation: own }, i) => {
      if (state === 'used') return;
      // An operation that ended early, or was executed late, can be in any block.
      const isAnywhere = state !== 'live' && (own?.inclusion ?? null) === null;
      if (i <= last && (state === 'live' || state === 'executed')) bounds.least += 1;
      if (i <= last || isAnywhere) bounds.most += 1;
      bounds.latest += 1;
    });
    return bounds;
  }
}

/**
 * Other operations in flight that must be in that block or an earlier one.
 * @param {Account} account
 * @param {Operation} operation
 * @param {number} blockNumber
 * @returns {Operation[]}
 */
export function othersAsOf(account, operation, blockNumber) {
  return account.slots
    .slice(0, lastAsOf(account, operation, blockNumber) + 1)
    .flatMap(({ state, operation: other }) => (state === 'live' && other !== null && other !== operation ? other : []));
}

/** Whether an operation of the wallet that was sent before this time is not included yet. @param {Account} account @param {number} atUs */
export function hasUnseenBefore({ slots }, atUs) {
  return slots.some(
    ({ state, operation, undecided }) =>
      state === 'live' &&
      operation !== null &&
      operation.inclusion === null &&
      (undecided !== null || (operation.sample.sentAtUs ?? atUs) < atUs),
  );
}

/**
 * Nonces execute in order, so an included operation implies all before it.
 * @param {Account} account
 * @param {Operation} operation
 * @param {number} blockNumber
 * @returns {number} place of its slot
 */
function lastAsOf({ slots, wallet }, { nonce }, blockNumber) {
  return slots.reduce((last, { operation }, i) => {
    const inclusion = operation?.inclusion ?? null;
    return inclusion !== null && inclusion.number <= blockNumber ? Math.max(last, i) : last;
  }, nonce - wallet.nonce);
}

/** @template T @param {T[]} items @param {(item: T) => Account} accountOf @returns {Map<Account, T[]>} */
export function groupByAccount(items, accountOf) {
  /** @type {Map<Account, T[]>} */
  const groups = new Map();
  for (const item of items) {
    const account = accountOf(item);
    const group = groups.get(account);
    if (group === undefined) groups.set(account, [item]);
    else group.push(item);
  }
  return groups;
}

/**
 * The wallets of an instance.
 *
 * @typedef {object} Slice
 * @property {number} offset index of the first wallet
 * @property {number} threads number of wallets
 */

/**
 * Splits a slice into consecutive parts of nearly equal size.
 * @param {Slice} slice
 * @param {number} parts at most the number of wallets
 * @returns {Slice[]}
 */
export function splitSlice({ offset, threads }, parts) {
  const end = (/** @type {number} */ part) => Math.round((threads * part) / parts);
  return Array.from({ length: parts }, (_, i) => ({ offset: offset + end(i), threads: end(i + 1) - end(i) }));
}

/** @param {Slice} slice @returns {number[]} the wallet indexes offset .. offset + threads - 1 */
export function sliceIndexes({ offset, threads }) {
  return Array.from({ length: threads }, (_, i) => offset + i);
}
