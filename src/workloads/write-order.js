import { keccak256 } from 'ethers/crypto';
import { word } from './contract-state.js';

/**
 * What each slot of contracts/Contention.sol must have if the transactions were executed one after the other in the
 * order of their blocks: computed from the receipts, block by block.
 *
 * @import { ChainReceipt } from '../contracts/chain.d.ts'
 *
 * @typedef {object} SlotState
 * @property {number} count
 * @property {string} chain
 *
 * @typedef {object} OrderOptions
 * @property {Array<{address: string, nonce: number}>} wallets by position, with their nonces before the first block
 * @property {(position: number, nonce: number) => number} slotOf
 */

/** A slot that was never written. */
const EMPTY = Object.freeze({ count: 0, chain: `0x${'0'.repeat(64)}` });

export class WriteOrder {
  /** The slots that were written. @type {Map<number, SlotState>} */
  slots = new Map();
  writes = 0;
  /** Transactions of each wallet. @type {number[]} */
  succeeded;
  /** @type {number[]} */
  reverted;
  /** The first write that left something else in its slot, in words. @type {string | null} */
  fault = null;
  #positions;
  #nonces;
  #options;

  /** @param {OrderOptions} options */
  constructor(options) {
    this.#options = options;
    this.#positions = new Map(options.wallets.map(({ address }, i) => [address.toLowerCase(), i]));
    this.#nonces = options.wallets.map(({ nonce }) => nonce);
    this.succeeded = options.wallets.map(() => 0);
    this.reverted = options.wallets.map(() => 0);
  }

  /** @param {readonly ChainReceipt[]} receipts of the next block, in its order */
  add(receipts) {
    for (const receipt of receipts) {
      const position = this.#positions.get(receipt.from ?? '');
      if (position === undefined) continue;
      // The transactions of a wallet are executed in the order of their nonces.
      const nonce = this.#nonces[position];
      this.#nonces[position] += 1;
      (receipt.isSuccess ? this.succeeded : this.reverted)[position] += 1;
      if (receipt.isSuccess) this.#write(position, nonce, receipt);
    }
  }

  /** @param {number} position @param {number} nonce @param {ChainReceipt} receipt */
  #write(position, nonce, { hash, blockNumber, logs }) {
    const slot = this.#options.slotOf(position, nonce);
    const { address } = this.#options.wallets[position];
    const { count, chain } = this.slots.get(slot) ?? EMPTY;
    const state = { count: count + 1, chain: keccak256(chain + word(address) + word(nonce)) };
    this.slots.set(slot, state);
    this.writes += 1;
    // The event of the write has what it left: its words are slot, count and chain.
    const found = logs?.length === 1 ? logs[0].data : '0x';
    if (this.fault !== null || found === `0x${word(slot)}${word(state.count)}${state.chain.slice(2)}`) return;
    const left =
      found === '0x'
        ? 'nothing'
        : textOf(Number(`0x${found.slice(2, 66)}`), BigInt(`0x${found.slice(66, 130)}`), found.slice(130));
    this.fault =
      `transaction ${nonce} of ${address} (${hash}, block ${blockNumber}) left ${left}, ` +
      `not ${textOf(slot, state.count, state.chain.slice(2))}`;
  }
}

/** @param {number} slot @param {number | bigint} count @param {string} chain without 0x */
function textOf(slot, count, chain) {
  return `count ${count} and chain 0x${chain.slice(0, 8)}... in slot ${slot}`;
}
