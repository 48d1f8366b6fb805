import { MAX_READ, PER_CALL, callOfKeys, readArtifact, selectorOf, stateCheck, word } from './contract-state.js';
import { isSuccess } from './receipts.js';

/**
 * The workload `storage`: each operation writes storage slots of its wallet, in a contract made for the run. Some slots are
 * new, some are changed, and some that earlier operations have added are set back to zero (contracts/Slots.sol). The audit
 * computes the values again from the operations that succeeded.
 *
 * @import { TransactionWorkload } from './contract.d.ts'
 * @import { Entry } from './contract-state.js'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {{to: string, gasLimit: bigint}} StorageState for a worker thread
 *
 * @typedef {object} Counts slots of an operation
 * @property {number} changed
 * @property {number} added
 * @property {number} cleared at most as many as are added
 */

/** Functions of contracts/Slots.sol. */
const WRITE = selectorOf('write(uint256,uint256,uint256,uint256)');
const VALUES_OF = selectorOf('valuesOf(uint256[])');

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
export function createStorage({ kit, rpc, set, state: given }) {
  const counts = countsOf(set);
  const state = /** @type {StorageState} */ (given ?? { to: '', gasLimit: 0n });
  const before = WRITE + [counts.changed, counts.added, counts.cleared].map(word).join('');
  /** @type {string[]} */
  let addresses = [];
  /** @param {number} nonce */
  const callOf = (nonce) => {
    return { to: state.to, data: before + word(valueOf(kit.tag, nonce)), value: 0n, gasLimit: state.gasLimit };
  };
  const perOperation = GAS.base + GAS.perSlot * BigInt(set.slots);
  return {
    kind: 'transaction',
    subject: 'wallets wrote slots:',
    valueWei: 0n,
    // The first wallet deploys the contract.
    gas: { perWallet: 600_000n, perOperation },
    unprepared: async () => 1,
    prepare: async ({ wallets }) => {
      addresses = wallets.map(({ address }) => address);
      state.to = await kit.deployOnce(readArtifact('Slots'));
      const [{ address, nonce }] = wallets;
      // The first operation adds the slots that the others change, and has none to clear.
      const first = await kit.estimateGas({ from: address, ...callOf(nonce) });
      state.gasLimit = first + GAS.perCleared * BigInt(counts.cleared);
    },
    next: (_, nonce) => callOf(nonce),
    reconcile: async (snapshot) => {
      /** @type {number[][]} */
      const nonces = addresses.map(() => []);
      const { check, ...receipts } = await kit.checkReceipts(snapshot, (position, nonce, receipt) => {
        if (isSuccess(receipt)) nonces[position].push(nonce);
      });
      const limit = Math.floor(MAX_READ / addresses.length);
      const entries = nonces.flatMap((own, position) => {
        const first = BigInt(addresses[position]) << 64n;
        return slotsOf(counts, own, kit.tag, limit).map(({ number, mustBe }) => {
          return { key: word(first + number), mustBe, of: `slot ${number} of ${addresses[position]}` };
        });
      });
      const values = await stateCheck(
        { ...receipts, rpc, snapshot },
        {
          name: 'slots',
          words: `of ${entries.length} storage slots, those that have the value of their last write`,
          count: entries.length,
          perCall: PER_CALL,
          entryOf: (i) => entries[i],
          requestOf: (part, block) => callOfKeys(state.to, VALUES_OF, part, block),
          faultOf: ({ of, mustBe }, found) => `${of} has 0x${found.toString(16)}, not 0x${mustBe.toString(16)}`,
        },
      );
      return [check, values];
    },
    facts: () => ({ contract: state.to, ...counts }),
    handOver: () => state,
  };
}
