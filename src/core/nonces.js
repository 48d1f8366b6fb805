/**
 * @import { Wallet } from '../chain/keys.js'
 * @import { Open } from './ledger.js'
 * @import { Operation } from './operation.js'
 * @import { Signed } from './signing.js'
 */

/**
 * What this run did with one wallet: the ledger that the audit compares with the chain, and the nonces that are under
 * way. Operations of a wallet may end in any order; the chain executes them in the order of their nonces.
 *
 * @typedef {object} Slot what is known of one nonce
 * @property {Standing} standing
 * @property {Operation | null} operation null where another thread had it
 * @property {Open | null} undecided the last operation with this nonce, when the node knew
 *   nothing of it: its transaction may still arrive, so its hashes belong to every later operation with the nonce
 *
 * @typedef {'live' | 'executed' | 'spent' | 'open' | 'free'} Standing live: under way; executed: with its effect;
 *   spent: used up without effect of ours; open: ended, and what became of it is not known; free: to be used (again)
 *
 * @typedef {object} Bounds how many operations of the wallet the chain may have executed
 * @property {number} least as of the block
 * @property {number} most as of the block: more than the least while the fate of an earlier one is open
 * @property {number} latest as of any later block
 */
export class Account {
  /** Operations of ours whose effect the chain has, up to the first nonce that is not settled. */
  executed = 0;
  /** Operations that did not verify, but were found executed in a block afterwards. */
  includedLate = 0;
  /** Operations of ours in a block that had no effect. */
  reverted = 0;
  /** Operations that we had counted as executed, and that left the chain with their block for good. */
  reorgedOut = 0;
  /** Why no more operations are started with this wallet, or null. @type {string | null} */
  retired = null;
  /** By nonce, from the wallet's on, which is the first that is not settled. @type {Slot[]} */
  slots = [];
  /** Operations that are being looked after: nothing but what fills a gap is started before they are settled. */
  mending = 0;
  /** Operations that were to be started meanwhile. */
  held = 0;
  /**
   * The next transaction, signed already.
   * @type {{nonce: number, signed: Signed} | null}
   */
  ahead = null;
  failuresInRow = 0;
  /** Operations that the node has not taken yet. */
  submitting = 0;
  /** Operations that were to be started while too many were. */
  waiting = 0;
  /** The worker that had it died: what it sent last is not known. */
  isLost = false;
  readBackRetries = 0;
  /** Time in which nothing was asked for it, because the endpoint had not answered, in milliseconds. */
  pausedMs = 0;

  /**
   * @param {number} position in the slice
   * @param {Wallet} wallet
   */
  constructor(position, wallet) {
    this.position = position;
    this.wallet = wallet;
    /** The wallet's nonce when the load began. */
    this.startNonce = wallet.nonce;
  }

  /** The lowest nonce that can be used: one that was not, or the next. */
  get nextNonce() {
    const free = this.slots.findIndex(({ standing }) => standing === 'free');
    return this.wallet.nonce + (free === -1 ? this.slots.length : free);
  }

  /** Whether operations wait for a nonce before theirs that nobody uses: they stay where they are until somebody does. */
  get hasGap() {
    const free = this.slots.findIndex(({ standing }) => standing === 'free');
    return free !== -1 && this.slots.some(({ standing }, i) => i > free && standing !== 'free');
  }

  /** @param {Operation} operation @returns {{nonce: number, undecided: Slot['undecided']}} the nonce that it has */
  take(operation) {
    const nonce = this.nextNonce;
    const undecided = this.slotOf(nonce)?.undecided ?? null;
    this.slots[nonce - this.wallet.nonce] = { standing: 'live', operation, undecided };
    return { nonce, undecided };
  }

  /** @param {number} nonce @returns {Slot | null} null when it is settled */
  slotOf(nonce) {
    return this.slots[nonce - this.wallet.nonce] ?? null;
  }

  /** @param {number} nonce @param {Standing} standing */
  settle(nonce, standing) {
    const slot = this.slotOf(nonce);
    if (slot === null) return;
    slot.standing = standing;
    // The nonce is used: what else was sent with it never comes.
    if (standing === 'executed' || standing === 'spent') slot.undecided = null;
    const { wallet, slots } = this;
    while (slots.length > 0 && (slots[0].standing === 'executed' || slots[0].standing === 'spent')) {
      if (slots[0].standing === 'executed') this.executed += 1;
      slots.shift();
      wallet.nonce += 1;
    }
  }

  /**
   * Blocks have left the chain: what became of the operations in them is not known any more.
   * @param {Array<{nonce: number, isExecuted: boolean}>} orphans isExecuted: with their effect
   */
  reopen(orphans) {
    const { wallet } = this;
    const executed = new Set(orphans.filter(({ isExecuted }) => isExecuted).map(({ nonce }) => nonce));
    /** @type {Slot[]} */
    const reopened = [];
    for (let nonce = Math.min(...orphans.map((orphan) => orphan.nonce)); nonce < wallet.nonce; nonce += 1) {
      if (executed.has(nonce)) this.executed -= 1;
      // What is not known to be ours was used up by somebody else.
      reopened.push({ standing: 'spent', operation: null, undecided: null });
    }
    this.slots = [...reopened, ...this.slots];
    wallet.nonce -= reopened.length;
    this.ahead = null;
    for (const { nonce } of orphans) {
      const slot = this.slotOf(nonce);
      if (slot !== null) Object.assign(slot, { standing: 'open', operation: null });
    }
  }

  /** What the effect of an operation has to be, as of a block that includes it. @param {Operation} operation @param {number} blockNumber @returns {Bounds} */
  boundsAsOf(operation, blockNumber) {
    const bounds = { least: this.executed, most: this.executed, latest: this.executed };
    const last = this.#lastAsOf(operation, blockNumber);
    this.slots.forEach(({ standing, operation: own }, i) => {
      if (standing === 'spent') return;
      // One that was given up may be in any block, and so may one that was found executed afterwards.
      const isAnywhere = standing !== 'live' && (own?.inclusion ?? null) === null;
      if (i <= last && (standing === 'live' || standing === 'executed')) bounds.least += 1;
      if (i <= last || isAnywhere) bounds.most += 1;
      bounds.latest += 1;
    });
    return bounds;
  }

  /** Those under way that have to be in that block or before it, too. @param {Operation} operation @param {number} blockNumber @returns {Operation[]} */
  othersAsOf(operation, blockNumber) {
    return this.slots
      .slice(0, this.#lastAsOf(operation, blockNumber) + 1)
      .flatMap(({ standing, operation: other }) =>
        standing === 'live' && other !== null && other !== operation ? other : [],
      );
  }

  /** One that is in the block stands for all before it: the chain takes nonces in order. @param {Operation} operation @param {number} blockNumber @returns {number} place of its slot */
  #lastAsOf({ nonce }, blockNumber) {
    return this.slots.reduce((last, { operation }, i) => {
      const inclusion = operation?.inclusion ?? null;
      return inclusion !== null && inclusion.number <= blockNumber ? Math.max(last, i) : last;
    }, nonce - this.wallet.nonce);
  }

  /** Whether operations of this wallet that were sent before that moment are in no block yet. @param {number} atUs */
  hasUnseenBefore(atUs) {
    return this.slots.some(
      ({ standing, operation, undecided }) =>
        standing === 'live' &&
        operation !== null &&
        operation.inclusion === null &&
        (undecided !== null || (operation.sentAtUs ?? atUs) < atUs),
    );
  }
}

/**
 * Slice arithmetic: which wallets an instance owns.
 *
 * @typedef {object} Slice
 * @property {number} offset index of the first wallet
 * @property {number} threads how many wallets
 */

/**
 * Parts of a slice, one after another, of nearly equal size.
 * @param {Slice} slice
 * @param {number} parts no more than there are wallets
 * @returns {Slice[]}
 */
export function splitSlice({ offset, threads }, parts) {
  const end = (/** @type {number} */ part) => Math.round((threads * part) / parts);
  return Array.from({ length: parts }, (_, i) => ({ offset: offset + end(i), threads: end(i + 1) - end(i) }));
}

/**
 * @param {Slice} slice
 * @returns {number[]} the wallet indexes offset .. offset + threads - 1
 */
export function sliceIndexes({ offset, threads }) {
  return Array.from({ length: threads }, (_, i) => offset + i);
}
