import { RecentInclusions, recentInclusionOf } from './recovery.js';

/**
 * @import { Account, Standing } from './nonces.js'
 * @import { Operation } from './operation.js'
 * @import { Entry, EntryState, Identified, RecentInclusion } from './recovery.js'
 * @import { Decision, TransactionStatus } from './transaction-status.js'
 */

/**
 * The statuses of operations that were not verified or were reorged. The audit compares them with the chain.
 *
 * @typedef {object} Foreign a mined transaction of one of our wallets that stress did not send
 * @property {number} walletIndex
 * @property {number} nonce
 * @property {string} hash
 * @property {number} blockNumber
 *
 * @typedef {object} Resolution
 * @property {number} walletIndex
 * @property {number} nonce
 * @property {string | null} hash
 * @property {string} outcome
 * @property {string | null} code
 * @property {TransactionStatus} fate
 *
 * @typedef {object} Open an operation with an unknown status, or one that may still change
 * @property {{account: Account, nonce: number, hashes: string[], raw: string | null, pushed?: Operation['pushed']}}
 *   operation
 * @property {Identified} sample
 * @property {boolean} [isOrphan] it was executed in a block that was removed by a reorg
 * @property {number} [lostBlock]
 * @property {boolean} [isSentAgain] the audit has resubmitted it
 *
 * @typedef {object} LedgerState a ledger for another thread, with positions in its part of the wallets
 * @property {Array<Pick<Account, 'executed' | 'includedLate' | 'reverted' | 'reorgedOut' | 'retired' | 'readBackRetries'> & {nonce: number, slots: SlotState[]}>}
 *   accounts
 * @property {Array<OpenState & {position: number}>} unresolved
 * @property {Resolution[]} resolutions
 * @property {Partial<Record<TransactionStatus, number>>} fates
 * @property {Foreign[]} foreign
 * @property {EntryState[]} past
 *
 * @typedef {{nonce: number, hashes: string[], raw: string | null, sample: Identified, isOrphan?: boolean}} OpenState
 * @typedef {{standing: Standing, undecided: OpenState | null}} SlotState
 */

/** Resolutions kept one by one; more are only counted. */
const RESOLUTIONS_KEPT = 1000;

/** Nonce states by transaction status. @type {Readonly<Record<TransactionStatus, Standing>>} */
const STANDING = Object.freeze({
  included: 'executed',
  reverted: 'spent',
  replaced: 'spent',
  never_sent: 'free',
  pending: 'open',
});

/** @param {Open['operation']} operation */
function keyOf({ account, nonce }) {
  return `${account.position}:${nonce}`;
}

export class Ledger {
  /** By wallet and nonce. @type {Map<string, Open>} */
  unresolved = new Map();
  /** @type {Resolution[]} */
  resolutions = [];
  /** @type {Partial<Record<TransactionStatus, number>>} */
  fates = {};
  /** @type {Foreign[]} */
  foreign = [];
  past = new RecentInclusions();

  /** @param {Account[]} accounts by position @param {() => void} onForeign called on proof of a foreign sender */
  constructor(accounts, onForeign) {
    this.accounts = accounts;
    this.onForeign = onForeign;
  }

  /** Adds an operation whose status is to be determined. @param {Open} open */
  expect(open) {
    this.unresolved.set(keyOf(open.operation), open);
  }

  /** @param {Account} account @param {number} nonce */
  expected(account, nonce) {
    return this.unresolved.get(`${account.position}:${nonce}`) ?? null;
  }

  /**
   * Enters the status of an operation.
   * @param {Open['operation']} operation
   * @param {Open['sample']} sample
   * @param {Decision} decision
   */
  settle(operation, sample, { fate, foreign, blockNumber }) {
    const { account, nonce, hashes, raw } = operation;
    const { wallet } = account;
    const slot = account.slotOf(nonce);
    // A transaction that the node did not know may have arrived since: it is settled again.
    const isAgain = slot !== null && slot.undecided?.operation === operation;
    if (isAgain && fate === 'never_sent') return;
    const isOrphan = (isAgain ? slot.undecided : this.unresolved.get(keyOf(operation)))?.isOrphan === true;
    if (isAgain) this.fates.never_sent = (this.fates.never_sent ?? 1) - 1;
    if (slot !== null) slot.undecided = fate === 'never_sent' ? { operation, sample, isOrphan } : null;
    if (fate !== 'pending') this.unresolved.delete(keyOf(operation));
    const isBack = isOrphan && fate === 'included';
    if (!isBack) this.fates[fate] = (this.fates[fate] ?? 0) + 1;
    if (isBack) this.#forget(sample.hash);
    else this.#keep({ ...pick(sample), nonce, fate });
    if (isOrphan) {
      // It counts as verified unless it stays removed.
      if (isAgain) account.reorgedOut -= 1;
      if (fate !== 'included' && fate !== 'pending') account.reorgedOut += 1;
    } else if (fate === 'included') account.includedLate += 1;
    if (fate === 'reverted') account.reverted += 1;
    account.settle(nonce, STANDING[fate]);
    if (blockNumber !== undefined) {
      const isExecuted = fate === 'included';
      this.past.add({ account, nonce, hashes, raw, blockNumber, outcome: sample.outcome, isExecuted });
    }
    if (foreign !== null) this.accuse({ walletIndex: wallet.index, nonce, ...foreign });
  }

  /**
   * After a reorg: makes the operations of the removed blocks unresolved.
   * @param {number} blockNumber of the first removed block
   * @returns {{orphans: RecentInclusion[], isComplete: boolean, waiting: Open[]}} orphans: to be included again;
   *   isComplete: no operation of these blocks is missing; waiting: orphans of earlier reorgs
   */
  reopen(blockNumber) {
    const waiting = [...this.unresolved.values()].filter((open) => (open.lostBlock ?? -1) >= blockNumber);
    const { entries, isComplete } = this.past.takeFrom(blockNumber);
    return { orphans: this.#reopen(entries), isComplete, waiting };
  }

  /**
   * The same for a wallet whose transactions from a nonce on are gone.
   * @param {Account} account
   * @param {number} nonce
   * @returns {RecentInclusion[]}
   */
  reopenOf(account, nonce) {
    return this.#reopen(this.past.takeOf(account, nonce));
  }

  /** @param {Entry[]} entries */
  #reopen(entries) {
    /** @type {Map<Account, typeof entries>} */
    const byAccount = new Map();
    for (const entry of entries) {
      const known = byAccount.get(entry.account);
      if (known === undefined) byAccount.set(entry.account, [entry]);
      else known.push(entry);
    }
    for (const [account, own] of byAccount) {
      const reverted = own.filter(({ isExecuted }) => !isExecuted).length;
      account.reverted -= reverted;
      if (reverted > 0) this.fates.reverted = (this.fates.reverted ?? 0) - reverted;
      account.reopen(own);
    }
    const orphans = entries.map(recentInclusionOf);
    orphans.forEach(({ operation, sample, isExecuted }, i) =>
      this.expect({ operation, sample, isOrphan: isExecuted, lostBlock: entries[i].blockNumber }),
    );
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
  accuse(foreign) {
    this.foreign.push(foreign);
    this.onForeign();
  }

  /**
   * @param {boolean} [isLast] with what was put into blocks lately, which only the audit asks for
   * @returns {LedgerState}
   */
  toState(isLast = false) {
    return {
      past: isLast ? this.past.toState() : [],
      accounts: this.accounts.map(
        ({ wallet, executed, includedLate, reverted, reorgedOut, retired, readBackRetries, slots }) => ({
          nonce: wallet.nonce,
          executed,
          includedLate,
          reverted,
          reorgedOut,
          retired,
          readBackRetries,
          slots: slots.map(({ standing, undecided }) => ({
            standing,
            undecided: undecided === null ? null : stateOf(undecided),
          })),
        }),
      ),
      unresolved: [...this.unresolved.values()].map((open) => ({
        ...stateOf(open),
        position: open.operation.account.position,
      })),
      resolutions: this.resolutions,
      fates: this.fates,
      foreign: this.foreign,
    };
  }

  /** Adds the state of another thread. @param {LedgerState} state @param {number} first position of its first wallet */
  fromState(state, first) {
    state.accounts.forEach(({ nonce, slots, ...rest }, i) => {
      const account = this.accounts[first + i];
      Object.assign(account, rest);
      account.wallet.nonce = nonce;
      account.slots = slots.map(({ standing, undecided }) => ({
        standing,
        operation: null,
        undecided: undecided === null ? null : openOf(account, undecided),
      }));
    });
    for (const { position, ...open } of state.unresolved) {
      this.expect(openOf(this.accounts[first + position], open));
    }
    this.resolutions.push(...state.resolutions.slice(0, RESOLUTIONS_KEPT - this.resolutions.length));
    this.foreign.push(...state.foreign);
    this.past.fromState(state.past, (position) => this.accounts[first + position]);
    for (const [fate, count] of Object.entries(state.fates)) {
      const key = /** @type {TransactionStatus} */ (fate);
      this.fates[key] = (this.fates[key] ?? 0) + count;
    }
  }
}

/** @param {Open} open @returns {OpenState} */
function stateOf({ operation: { nonce, hashes, raw }, sample, isOrphan }) {
  return { nonce, hashes, raw, sample, isOrphan };
}

/** @param {Account} account @param {OpenState} state @returns {Open} */
function openOf(account, { nonce, hashes, raw, sample, isOrphan }) {
  return { operation: { account, nonce, hashes, raw }, sample, isOrphan };
}

/** @param {Open['sample']} sample */
function pick({ walletIndex, hash, outcome, code }) {
  return { walletIndex, hash, outcome, code };
}
