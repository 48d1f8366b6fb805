import { RecentInclusions, recentInclusionOf } from './recovery.js';

/**
 * @import { Account, Standing } from './nonces.js'
 * @import { Operation } from './operation.js'
 * @import { Entry, EntryState, Identified, RecentInclusion } from './recovery.js'
 * @import { Decision, TransactionStatus } from './transaction-status.js'
 */

/**
 * What became of the operations that were not verified, or that left the chain again, wallet by wallet: the audit compares it with the chain.
 *
 * @typedef {object} Foreign a mined transaction of one of our wallets that is not ours
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
 * @typedef {object} Open an operation whose fate is not known, or may still change
 * @property {{account: Account, nonce: number, hashes: string[], raw: string | null, pushed?: Operation['pushed']}} operation
 * @property {Identified} sample
 * @property {boolean} [isOrphan] it was executed, in a block that has left the chain
 * @property {number} [lostBlock] that block
 * @property {boolean} [isSentAgain] the audit has sent it once more
 *
 * @typedef {object} LedgerState a ledger as one thread hands it to another; wallets by their position in its part
 * @property {Array<Pick<Account, 'executed' | 'includedLate' | 'reverted' | 'reorgedOut' | 'retired' | 'readBackRetries'> & {nonce: number, slots: SlotState[]}>} accounts
 * @property {Array<OpenState & {position: number}>} unresolved
 * @property {Resolution[]} resolutions
 * @property {Partial<Record<TransactionStatus, number>>} fates
 * @property {Foreign[]} foreign
 * @property {EntryState[]} past
 *
 * @typedef {{nonce: number, hashes: string[], raw: string | null, sample: Identified, isOrphan?: boolean}} OpenState
 * @typedef {{standing: Standing, undecided: OpenState | null}} SlotState
 */

/** How many resolved operations are kept one by one; beyond that they are only counted. */
const RESOLUTIONS_KEPT = 1000;

/** What a fate makes of a nonce. @type {Readonly<Record<TransactionStatus, Standing>>} */
const STANDING = Object.freeze({
  included: 'executed',
  reverted: 'spent',
  replaced: 'spent',
  never_sent: 'free',
  pending: 'open',
});

/** An operation by its wallet and nonce. @param {Open['operation']} operation */
function keyOf({ account, nonce }) {
  return `${account.position}:${nonce}`;
}

export class Ledger {
  /** Operations whose fate is not known yet, by wallet and nonce. @type {Map<string, Open>} */
  unresolved = new Map();
  /** @type {Resolution[]} */
  resolutions = [];
  /** @type {Partial<Record<TransactionStatus, number>>} */
  fates = {};
  /** @type {Foreign[]} */
  foreign = [];
  past = new RecentInclusions();

  /** @param {Account[]} accounts by position @param {() => void} onForeign called when somebody else is proven to send */
  constructor(accounts, onForeign) {
    this.accounts = accounts;
    this.onForeign = onForeign;
  }

  /** An operation has ended, and what became of it is to be found out. @param {Open} open */
  expect(open) {
    this.unresolved.set(keyOf(open.operation), open);
  }

  /** The operation whose fate is open for a wallet's nonce. @param {Account} account @param {number} nonce */
  expected(account, nonce) {
    return this.unresolved.get(`${account.position}:${nonce}`) ?? null;
  }

  /**
   * Enters what became of an operation.
   * @param {Open['operation']} operation
   * @param {Open['sample']} sample
   * @param {Decision} decision
   */
  settle(operation, sample, { fate, foreign, blockNumber }) {
    const { account, nonce, hashes, raw } = operation;
    const { wallet } = account;
    const slot = account.slotOf(nonce);
    // One that had not been sent as far as the node knew may have arrived since: it is settled again.
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
      // It counts as verified: what does not come back is subtracted.
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
   * Blocks have left the chain, and with them the effect of what was in them.
   * @param {number} blockNumber of the first of them
   * @returns {{orphans: RecentInclusion[], isComplete: boolean, waiting: Open[]}} what has to get into a
   *   block again; isComplete: nothing that was in those blocks is forgotten; waiting: what was reopened before
   */
  reopen(blockNumber) {
    const waiting = [...this.unresolved.values()].filter((open) => (open.lostBlock ?? -1) >= blockNumber);
    const { entries, isComplete } = this.past.takeFrom(blockNumber);
    return { orphans: this.#reopen(entries), isComplete, waiting };
  }

  /**
   * The chain no longer has what a wallet did from a nonce on.
   * @param {Account} account
   * @param {number} nonce
   * @returns {RecentInclusion[]} as above, as far as it is remembered
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

  /** What was given up for gone is there again. @param {string | null} hash */
  #forget(hash) {
    const known = this.resolutions.findIndex((resolution) => hash !== null && resolution.hash === hash);
    if (known !== -1) this.resolutions.splice(known, 1);
  }

  /** @param {Foreign} foreign the proof that somebody else sends from one of our wallets */
  accuse(foreign) {
    this.foreign.push(foreign);
    this.onForeign();
  }

  /** @param {boolean} [isLast] with what was put into blocks lately, which only the audit asks for @returns {LedgerState} */
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

  /**
   * Takes over what another thread knows of a part of the wallets.
   * @param {LedgerState} state
   * @param {number} first position of the part's first wallet
   */
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
