/**
 * @import { Outcome, Sample } from '../metrics/sample.js'
 * @import { Account } from './account.js'
 * @import { Open } from './ledger.js'
 */

/**
 * What was put into a block lately, so that it can be followed up when that block leaves the chain.
 *
 * @typedef {Pick<Sample, 'walletIndex' | 'hash' | 'outcome' | 'code'>} Identified
 *
 * @typedef {object} Entry
 * @property {Account} account
 * @property {number} nonce
 * @property {string[]} hashes of its transactions
 * @property {string | null} raw the bytes of the last one
 * @property {number} blockNumber
 * @property {Outcome} outcome
 * @property {boolean} isExecuted with its effect; otherwise it was reverted
 *
 * @typedef {Omit<Entry, 'account'> & {position: number}} EntryState an entry as one thread hands it to another
 *
 * @typedef {{operation: Open['operation'], sample: Identified, isExecuted: boolean}} Remembered
 */

/** Operations that are remembered: some seconds of a fast chain, hours of a slow one. */
const REMEMBERED = 16_384;

export class Past {
  /** A ring, in the order in which they were added. @type {Entry[]} */
  #entries = [];
  #next = 0;
  /** The newest block of which something was forgotten. */
  #forgottenBlock = -1;

  /** @param {Entry} entry */
  add(entry) {
    const { length } = this.#entries;
    if (length < REMEMBERED) {
      this.#entries.push(entry);
      return;
    }
    this.#forgottenBlock = Math.max(this.#forgottenBlock, this.#entries[this.#next].blockNumber);
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % REMEMBERED;
  }

  /**
   * Takes out what was in the blocks from a number on.
   * @param {number} blockNumber
   * @returns {{entries: Entry[], isComplete: boolean}} isComplete: nothing of these blocks was forgotten
   */
  takeFrom(blockNumber) {
    const entries = this.#take((entry) => entry.blockNumber >= blockNumber);
    return { entries, isComplete: this.#forgottenBlock < blockNumber };
  }

  /** Takes out what a wallet did from a nonce on. @param {Account} account @param {number} nonce @returns {Entry[]} */
  takeOf(account, nonce) {
    return this.#take((entry) => entry.account === account && entry.nonce >= nonce);
  }

  /** @returns {EntryState[]} as another thread can take it over */
  state() {
    return this.#entries.map(({ account, ...rest }) => ({ ...rest, position: account.position }));
  }

  /** Takes over what another thread remembers. @param {EntryState[]} entries @param {(position: number) => Account} accountOf */
  adopt(entries, accountOf) {
    // The other thread has forgotten what is too much; here nothing is added any more.
    this.#entries.push(...entries.map(({ position, ...rest }) => ({ ...rest, account: accountOf(position) })));
  }

  /** @param {(entry: Entry) => boolean} isWanted */
  #take(isWanted) {
    const taken = this.#entries.filter(isWanted);
    if (taken.length === 0) return taken;
    // In their order again: the ring begins anew.
    const rest = [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
    this.#entries = rest.filter((entry) => !isWanted(entry));
    this.#next = 0;
    return taken;
  }
}

/** @param {Entry} entry @returns {Remembered} */
export function rememberedOf({ account, nonce, hashes, raw, outcome, isExecuted }) {
  return {
    operation: { account, nonce, hashes, raw },
    sample: { walletIndex: account.wallet.index, hash: hashes.at(-1) ?? null, outcome, code: null },
    isExecuted,
  };
}
