import { MAX_OF_OPERATIONS, callOf, readArtifact, selectorOf, word } from './contract-state.js';

/**
 * The workload `storage`: each operation writes storage slots of its wallet, in a contract made for the run. Some slots are
 * new, some are changed, and some that earlier operations have added are set back to zero (contracts/Slots.sol). The audit
 * computes the values again from the operations that succeeded.
 *
 * @import { TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {object} Counts slots of an operation
 * @property {number} changed
 * @property {number} added
 * @property {number} cleared at most as many as are added
 */

/** Functions of contracts/Slots.sol. */
const WRITE = selectorOf('write(uint256,uint256,uint256,uint256)');
const VALUE_OF = selectorOf('valueOf(uint256)');

/** The number of a wallet's first slot in the queue, see contracts/Slots.sol. */
const FIRST_OF_QUEUE = 2n ** 32n;

/** Gas to add a slot, and to set one to zero, with the margin of an estimate: upper bounds. */
const GAS = Object.freeze({ base: 90_000n, perSlot: 26_000n, perCleared: 6000n });

/** @param {Readonly<Record<string, number>>} set @returns {Counts} */
export function countsOf({ slots, cold, clear }) {
  const added = Math.round((slots * cold) / 100);
  const cleared = Math.min(added, slots - added, Math.round((slots * clear) / 100));
  return { changed: slots - added - cleared, added, cleared };
}

/** The value of an operation's first slot; the others have the next ones. @param {string} tag of the run @param {number} nonce */
export function valueOf(tag, nonce) {
  return (BigInt(`0x1${tag}`) << 96n) + (BigInt(nonce) << 32n);
}

/**
 * The slots of a wallet: those that are changed, and those of the queue from the newest on.
 * @param {Counts} counts
 * @param {readonly number[]} nonces of its successful operations
 * @param {string} tag
 * @param {number} limit of slots
 * @returns {{number: bigint, mustBe: bigint}[]}
 */
export function slotsOf({ changed, added, cleared }, nonces, tag, limit) {
  if (nonces.length === 0) return [];
  const last = valueOf(tag, nonces[nonces.length - 1]);
  const slots = Array.from({ length: Math.min(limit, changed) }, (_, i) => {
    return { number: BigInt(i), mustBe: last + BigInt(i) };
  });
  // The first operation found none to clear.
  const zeros = (nonces.length - 1) * cleared;
  for (let i = nonces.length * added - 1; i >= 0 && slots.length < limit; i -= 1) {
    const value = valueOf(tag, nonces[Math.floor(i / added)]) + BigInt(i % added);
    slots.push({ number: FIRST_OF_QUEUE + BigInt(i), mustBe: i < zeros ? 0n : value });
  }
  return slots;
}

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export default function create({ kit, set, state }) {
  const counts = countsOf(set);
  let { to, gasLimit } = state ?? { to: '', gasLimit: 0n };
  const before = WRITE + [counts.changed, counts.added, counts.cleared].map(word).join('');
  /** @param {number} nonce */
  const dataOf = (nonce) => before + word(valueOf(kit.tag, nonce));
  return {
    kind: 'transaction',
    subject: 'wallets wrote slots:',
    valueWei: 0n,
    // The first wallet deploys the contract.
    gas: { perWallet: 600_000n, perOperation: GAS.base + GAS.perSlot * BigInt(set.slots) },
    unprepared: async () => 1,
    prepare: async ({ wallets: [{ address, nonce }] }) => {
      to = await kit.deployOnce(readArtifact('Slots'));
      // The first operation adds the slots that the others change, and has none to clear.
      const first = await kit.estimateGas({ from: address, to, data: dataOf(nonce) });
      gasLimit = first + GAS.perCleared * BigInt(counts.cleared);
    },
    next: (_, nonce) => ({ to, data: dataOf(nonce), gasLimit }),
    reconcile: async (snapshot) => {
      const wallets = kit.addresses();
      /** @type {number[][]} */
      const nonces = wallets.map(() => []);
      const { check, compare } = await kit.checkReceipts(snapshot, (position, nonce, receipt) => {
        if (receipt.succeeded) nonces[position].push(nonce);
      });
      const limit = Math.ceil(MAX_OF_OPERATIONS / wallets.length);
      const entries = nonces.flatMap((own, position) =>
        slotsOf(counts, own, kit.tag, limit).map(({ number, mustBe }) => {
          const read = callOf(to, VALUE_OF + word((BigInt(wallets[position]) << 64n) + number));
          return { of: `slot ${number} of ${wallets[position]} has`, read, mustBe };
        }),
      );
      const slots = await compare({
        name: 'slots',
        words: 'storage slots that have the value of their last write',
        count: entries.length,
        entryOf: (i) => entries[i],
        show: (value) => `0x${value.toString(16)}`,
      });
      return [check, slots];
    },
    facts: () => ({ contract: to, ...counts }),
    handOver: () => ({ to, gasLimit }),
  };
}
