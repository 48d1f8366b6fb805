import { groupByAccount } from './nonces.js';

/**
 * @import { OperationIdentity, Outcome, Sample, TransactionStatus } from '../contracts/load.d.ts'
 * @import { Foreign, Resolution } from '../contracts/run-file.d.ts'
 * @import { StatusBlock } from '../observers/observer.d.ts'
 * @import { Account, NonceState } from './nonces.js'
 * @import { Operation } from './operation.js'
 * @import { Decision } from './transaction-status.js'
 */

/**
 * The statuses of operations that were not verified or were reorged. The audit compares them with the chain.
 *
 * @typedef {object} UnresolvedOperation an operation with an unknown status, or one that may still change
 * @property {Pick<Operation, 'account' | 'nonce' | 'startedAtUs' | 'hashes' | 'raw'> & Partial<Pick<Operation, 'rebroadcast'>>}
 *   operation
 * @property {SampleIdentity} sample
 * @property {boolean} [isOrphan] it was executed in a block that was removed by a reorg
 * @property {number} [lostBlock]
 * @property {boolean} [isResubmitted] the audit has resubmitted it
 * @property {string | null} [shownHash] what the node has shown to the audit as pending
 *
 * @typedef {object} LedgerState a ledger for another thread, with positions in its part of the wallets
 * @property {Array<Pick<Account, 'executed'> & LedgerCounts & {nonce: number, slots: SlotState[]}>}
 *   accounts
 * @property {Array<UnresolvedState & {position: number}>} unresolved
 * @property {Resolution[]} resolutions
 * @property {Partial<Record<TransactionStatus, number>>} statusCounts
 * @property {Foreign[]} foreign
 * @property {EntryState[]} recentInclusions
 * @property {Float64Array} verifiedBy
 *
 * @typedef {{nonce: number, startedAtUs: number, hashes: string[], raw: string | null, sample: SampleIdentity, isOrphan?: boolean}}
 *   UnresolvedState
 * @typedef {{state: NonceState, undecided: UnresolvedState | null}} SlotState
 */

/**
 * Counts of a wallet, beside those of verified operations.
 *
 * @typedef {object} LedgerCounts
 * @property {number} includedLate operations that did not verify but were executed
 * @property {number} reverted operations included without effect
 * @property {number} reorgedOut operations counted as executed and removed by a reorg for good
 */

/** Resolutions kept one by one; more are only counted. */
const RESOLUTIONS_KEPT = 1000;

/** Nonce states by transaction status. @type {Readonly<Record<TransactionStatus, NonceState>>} */
const NONCE_STATES = Object.freeze({
  included: 'executed',
  reverted: 'used',
  replaced: 'used',
  never_sent: 'free',
  pending: 'unresolved',
});

/** For observers. @param {UnresolvedOperation['operation'] | Operation} operation @returns {OperationIdentity} */
export function identityOf(operation) {
  const { account, nonce, startedAtUs, hashes } = operation;
  const identity = { walletIndex: account.wallet.index, nonce, startedAtUs, hashes };
  return 'isCancelled' in operation && !operation.isCancelled ? { ...identity, live: operation.sample } : identity;
}

/** @param {Pick<UnresolvedOperation['operation'], 'account' | 'nonce'>} operation */
function keyOf({ account, nonce }) {
  return `${account.position}:${nonce}`;
}

export class Ledger {
  /** By wallet and nonce. @type {Map<string, UnresolvedOperation>} */
  unresolved = new Map();
  /** @type {Resolution[]} */
  resolutions = [];
  /** @type {Partial<Record<TransactionStatus, number>>} */
  statusCounts = {};
  /** @type {Foreign[]} */
  foreign = [];
  recentInclusions = new RecentInclusions();
  /** Called with each status that is entered, and its block. @type {(operation: OperationIdentity, status: TransactionStatus, block: StatusBlock | null) => void} */
  onStatus = () => {};

  /** @param {Account[]} accounts by position @param {() => void} onForeign called on proof of a foreign sender */
  constructor(accounts, onForeign) {
    this.accounts = accounts;
    /** By position. @type {LedgerCounts[]} */
    this.counts = accounts.map(() => ({ includedLate: 0, reverted: 0, reorgedOut: 0 }));
    /** Verified operations by position, set after the drain. */
    this.verifiedBy = new Float64Array(accounts.length);
    this.onForeign = onForeign;
  }

  /** Adds an operation whose status is to be determined. @param {UnresolvedOperation} open */
  addUnresolved(open) {
    this.unresolved.set(keyOf(open.operation), open);
  }

  /** @param {Account} account @param {number} nonce */
  unresolvedOf(account, nonce) {
    return this.unresolved.get(keyOf({ account, nonce })) ?? null;
  }

  /**
   * Enters the status of an operation.
   * @param {UnresolvedOperation['operation']} operation
   * @param {UnresolvedOperation['sample']} sample
   * @param {Decision} decision
   */
  settle(operation, sample, { status, foreign, blockNumber, receipt, shownHash = null }) {
    const { account, nonce, startedAtUs, hashes, raw } = operation;
    const { wallet } = account;
    const counts = this.counts[account.position];
    const slot = account.slotOf(nonce);
    // A transaction that the node did not know may have arrived since: it is settled again.
    const isAgain = slot !== null && slot.undecided?.operation === operation;
    if (isAgain && status === 'never_sent') return;
    const isOrphan = (isAgain ? slot.undecided : this.unresolved.get(keyOf(operation)))?.isOrphan === true;
    if (isAgain) this.statusCounts.never_sent = (this.statusCounts.never_sent ?? 1) - 1;
    if (slot !== null) slot.undecided = status === 'never_sent' ? { operation, sample, isOrphan } : null;
    if (status !== 'pending') this.unresolved.delete(keyOf(operation));
    const isBack = isOrphan && status === 'included';
    if (!isBack) this.statusCounts[status] = (this.statusCounts[status] ?? 0) + 1;
    if (isBack) this.#forget(sample.hash);
    else if (shownHash !== null) this.#keep({ ...pick(sample), nonce, hash: shownHash, fate: status });
    else this.#keep({ ...pick(sample), nonce, fate: status === 'pending' ? 'unknown' : status });
    if (isOrphan) {
      // It counts as verified unless it stays removed.
      if (isAgain) counts.reorgedOut -= 1;
      if (status !== 'included' && status !== 'pending') counts.reorgedOut += 1;
    } else if (status === 'included') counts.includedLate += 1;
    if (status === 'reverted') counts.reverted += 1;
    account.settle(nonce, NONCE_STATES[status]);
    const block = blockNumber === undefined ? null : { number: blockNumber, hash: receipt?.blockHash ?? null };
    this.onStatus(identityOf(operation), status, block);
    const own = { account, nonce, startedAtUs, hashes, raw, outcome: sample.outcome };
    if (blockNumber !== undefined)
      this.recentInclusions.add({ ...own, blockNumber, isExecuted: status === 'included' });
    if (foreign !== null) this.addForeign({ walletIndex: wallet.index, nonce, ...foreign });
  }

  /**
   * After a reorg: makes the operations of the removed blocks unresolved.
   * @param {number} blockNumber of the first removed block
   * @returns {{orphans: UnresolvedOperation[], isComplete: boolean, waiting: UnresolvedOperation[]}} orphans: to be included again;
   *   isComplete: no operation of these blocks is missing; waiting: orphans of earlier reorgs
   */
  reopen(blockNumber) {
    const waiting = [...this.unresolved.values()].filter((open) => (open.lostBlock ?? -1) >= blockNumber);
    const { entries, isComplete } = this.recentInclusions.takeFrom(blockNumber);
    return { orphans: this.#reopen(entries), isComplete, waiting };
  }

  /**
   * The same for a wallet whose transactions from a nonce on are gone.
   * @param {Account} account
   * @param {number} nonce
   * @returns {UnresolvedOperation[]}
   */
  reopenOf(account, nonce) {
    return this.#reopen(this.recentInclusions.takeOf(account, nonce));
  }

  /** @param {Entry[]} entries */
  #reopen(entries) {
    for (const [account, own] of groupByAccount(entries, ({ account }) => account)) {
      const reverted = own.filter(({ isExecuted }) => !isExecuted).length;
      this.counts[account.position].reverted -= reverted;
      if (reverted > 0) this.statusCounts.reverted = (this.statusCounts.reverted ?? 0) - reverted;
      account.reopen(own);
    }
    const orphans = entries.map(orphanOf);
    for (const orphan of orphans) this.addUnresolved(orphan);
    return orphans;
  }

  /** @param {Resolution} resolution */
  #keep(resolution) {
    const { resolutions } = this;
    const known = resolutions.findIndex(({ hash }) => hash !== null && hash === resolution.hash);
    if (known !== -1) resolutions[known] = resolution;
    else if (resolutions.length < RESOLUTIONS_KEPT) resolutions.push(resolution);
  }

  /** @param {string | null} hash */
  #forget(hash) {
    const known = this.resolutions.findIndex((resolution) => hash !== null && resolution.hash === hash);
    if (known !== -1) this.resolutions.splice(known, 1);
  }

  /** @param {Foreign} foreign the proof */
  addForeign(foreign) {
    this.foreign.push(foreign);
    this.onForeign();
  }

  /** @returns {LedgerState} */
  toState() {
    return {
      recentInclusions: this.recentInclusions.toState(),
      verifiedBy: this.verifiedBy,
      accounts: this.accounts.map(({ wallet, executed, slots }, position) => ({
        nonce: wallet.nonce,
        executed,
        ...this.counts[position],
        slots: slots.map(({ state, undecided }) => ({
          state,
          undecided: undecided === null ? null : toUnresolvedState(undecided),
        })),
      })),
      unresolved: [...this.unresolved.values()].map((open) => ({
        ...toUnresolvedState(open),
        position: open.operation.account.position,
      })),
      resolutions: this.resolutions,
      statusCounts: this.statusCounts,
      foreign: this.foreign,
    };
  }

  /** Adds the state of another thread. @param {LedgerState} state @param {number} first position of its first wallet */
  fromState(state, first) {
    state.accounts.forEach(({ nonce, slots, executed, ...counts }, i) => {
      const account = this.accounts[first + i];
      account.executed = executed;
      this.counts[first + i] = counts;
      account.wallet.nonce = nonce;
      account.slots = slots.map(({ state, undecided }) => ({
        state,
        operation: null,
        undecided: undecided === null ? null : fromUnresolvedState(account, undecided),
      }));
    });
    for (const { position, ...open } of state.unresolved) {
      this.addUnresolved(fromUnresolvedState(this.accounts[first + position], open));
    }
    this.verifiedBy.set(state.verifiedBy, first);
    this.resolutions.push(...state.resolutions.slice(0, RESOLUTIONS_KEPT - this.resolutions.length));
    this.foreign.push(...state.foreign);
    this.recentInclusions.fromState(state.recentInclusions, (position) => this.accounts[first + position]);
    for (const [status, count] of Object.entries(state.statusCounts)) {
      const key = /** @type {TransactionStatus} */ (status);
      this.statusCounts[key] = (this.statusCounts[key] ?? 0) + count;
    }
  }
}

/** @param {UnresolvedOperation} open @returns {UnresolvedState} */
function toUnresolvedState({ operation: { nonce, startedAtUs, hashes, raw }, sample, isOrphan }) {
  return { nonce, startedAtUs, hashes, raw, sample, isOrphan };
}

/** @param {Account} account @param {UnresolvedState} state @returns {UnresolvedOperation} */
function fromUnresolvedState(account, { sample, isOrphan, ...operation }) {
  return { operation: { account, ...operation }, sample, isOrphan };
}

/** @param {UnresolvedOperation['sample']} sample */
function pick({ walletIndex, hash, outcome, code }) {
  return { walletIndex, hash, outcome, code };
}

/** Inclusions kept: some seconds of a fast chain, hours of a slow one. */
const MAX_RECENT_INCLUSIONS = 16_384;

/**
 * Blob transactions are larger, no others: in a thread they share their sidecars, and copies for another thread would take
 * gigabytes. So the audit does not send them again after a reorg; nodes keep their blobs for that.
 */
const MAX_RAW_CHARS = 262_144;

/**
 * The latest inclusions, needed when their blocks are removed by a reorg.
 *
 * @typedef {Pick<Sample, 'walletIndex' | 'hash' | 'outcome' | 'code'>} SampleIdentity
 *
 * @typedef {object} Entry
 * @property {Account} account
 * @property {number} nonce
 * @property {number} startedAtUs
 * @property {string[]} hashes
 * @property {string | null} raw of the last transaction
 * @property {number} blockNumber
 * @property {Outcome} outcome
 * @property {boolean} isExecuted false: reverted
 *
 * @typedef {Omit<Entry, 'account'> & {position: number}} EntryState an entry for another thread
 */
class RecentInclusions {
  /** A ring buffer. @type {Entry[]} */
  #entries = [];
  #next = 0;
  /** The newest block with an overwritten entry. */
  #forgottenBlock = -1;

  /** @param {Entry} entry */
  add(entry) {
    const { length } = this.#entries;
    if (length < MAX_RECENT_INCLUSIONS) {
      this.#entries.push(entry);
      return;
    }
    this.#forgottenBlock = Math.max(this.#forgottenBlock, this.#entries[this.#next].blockNumber);
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % MAX_RECENT_INCLUSIONS;
  }

  /**
   * Removes and returns the entries from a block on.
   * @param {number} blockNumber
   * @returns {{entries: Entry[], isComplete: boolean}} isComplete: no entry of these blocks was overwritten
   */
  takeFrom(blockNumber) {
    const entries = this.#take((entry) => entry.blockNumber >= blockNumber);
    return { entries, isComplete: this.#forgottenBlock < blockNumber };
  }

  /**
   * Removes and returns a wallet's entries from a nonce on.
   * @param {Account} account
   * @param {number} nonce
   * @returns {Entry[]}
   */
  takeOf(account, nonce) {
    return this.#take((entry) => entry.account === account && entry.nonce >= nonce);
  }

  /** @returns {EntryState[]} */
  toState() {
    return this.#entries.map(({ account, raw, ...entry }) => {
      return { ...entry, raw: (raw?.length ?? 0) > MAX_RAW_CHARS ? null : raw, position: account.position };
    });
  }

  /**
   * Adds the entries of another thread.
   * @param {EntryState[]} entries
   * @param {(position: number) => Account} accountOf
   */
  fromState(entries, accountOf) {
    // Not limited: the load is over.
    this.#entries.push(...entries.map(({ position, ...entry }) => ({ ...entry, account: accountOf(position) })));
  }

  /** @param {(entry: Entry) => boolean} isWanted */
  #take(isWanted) {
    const taken = this.#entries.filter(isWanted);
    if (taken.length === 0) return taken;
    // In order of age: the ring starts again at 0.
    const ordered = [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
    this.#entries = ordered.filter((entry) => !isWanted(entry));
    this.#next = 0;
    return taken;
  }
}

/** @param {Entry} entry @returns {UnresolvedOperation} */
function orphanOf({ blockNumber, outcome, isExecuted, ...operation }) {
  const { account, hashes } = operation;
  const sample = { walletIndex: account.wallet.index, hash: hashes.at(-1) ?? null, outcome, code: null };
  return { operation, sample, isOrphan: isExecuted, lostBlock: blockNumber };
}
