import { createHash } from 'node:crypto';
import { askAll, valueOf } from '../chain/answers.js';
import { UsageError } from '../errors.js';
import { MAX_READ } from './contract-state.js';
import { NEEDS_TWO } from './table.js';
import { counted } from '../text.js';

/**
 * Payments from wallet to wallet, or to addresses made for the run, and their audit: by their receipts as many succeeded
 * as the run has verified, and each wallet and each receiver has exactly what follows from them.
 * Receivers are computed again from the tag of the run; balances and receipts are read from the chain. Neither depends on
 * what the load has counted.
 *
 * @import { Check } from '../contracts/load.d.ts'
 * @import { AuditSnapshot, Entry, Kit, ReceiptsCheck, Values } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {object} Asset what is paid
 * @property {string} unit
 * @property {boolean} paysFees whether fees are paid from the same balances
 * @property {(address: string) => Entry['read']} balanceOf
 * @property {bigint} receiverHas what a receiver has before the load
 */

/**
 * A run chooses its value by its tag: otherwise two runs that use the same wallets by mistake would send identical
 * transactions, and each would count those of the other as its own. Beside fees the value is little.
 */
const MAX_VALUE = 1000n;

/**
 * What a node charges where its receipts state another price: EthereumJS leaves the base fee out of them, and Cosmos EVM
 * states the base fee of the next block.
 * @type {Array<{pricesFrom: AuditSnapshot['pricesFrom'], words: string}>}
 */
const OTHER_PRICES = [
  { pricesFrom: 'blocks', words: 'at the base fee of the block plus the tip' },
  { pricesFrom: 'parents', words: 'at the base fee of the block before plus the tip' },
];
const NOT_OF_RECEIPTS = '(the effectiveGasPrice of the receipts is another one)';

/** @param {BuiltInOptions} options @param {readonly string[]} [state] addresses of the whole slice */
export function createPayments({ kit, rpc, settings: { receivers: made = null } }, state = []) {
  let slice = state;
  /** Balances of the payers before the load. @type {bigint[]} */
  let balances = [];
  const value = 1n + (BigInt(`0x${kit.tag}`) % MAX_VALUE);
  const receiversPay = made === null;
  /** Number of receivers. */
  const count = () => made ?? slice.length;
  /** The receiver of a payment: a made address, or another wallet of the slice. @param {number} position @param {number} nonce */
  const indexFor = (position, nonce) => {
    const share = kit.draw(position, nonce) / 2 ** 32;
    if (made !== null) return Math.floor(share * made);
    const other = Math.floor(share * (slice.length - 1));
    return other < kit.indexOf(position) ? other : other + 1;
  };
  /** Computed on demand, because ten million addresses would fill the memory. They have no known keys, and are new on the chain because no other run has the tag. @param {number} index */
  const addressOf = (index) => {
    if (made === null) return slice[index];
    return `0x${createHash('sha256').update(`${kit.tag}:${index}`).digest('hex').slice(0, 40)}`;
  };
  return {
    value,
    receiversPay,
    addressOf,
    /** @param {number} position @param {number} nonce */
    receiverOf: (position, nonce) => addressOf(indexFor(position, nonce)),
    /** For the run file. */
    facts: { receivers: made ?? 'the wallets of the slice', seed: kit.seed },
    toState: () => (receiversPay ? slice : []),

    /** @param {string} name of the workload @param {readonly string[]} [addresses] of the wallets, before they are prepared */
    begin: (name, addresses = kit.addresses()) => {
      slice = addresses;
      if (receiversPay && slice.length < 2) throw new UsageError(`--workload ${name} ${NEEDS_TWO}`);
    },

    /** Reads what the wallets have before the load. @param {Asset} asset */
    readBalances: async ({ balanceOf }) => {
      const questions = kit.addresses().map((address) => {
        const [method, ...params] = balanceOf(address);
        return valueOf(method, [...params, 'latest']);
      });
      balances = await askAll(rpc, questions, 'setup');
    },

    /** @param {AuditSnapshot} snapshot @param {Asset} asset @param {...Values} others compared beside the balances */
    reconcile: async (snapshot, asset, ...others) => {
      const payments = { value, receiversPay, addressOf, indexFor, count: count(), balances };
      const checksBy = async (/** @type {AuditSnapshot} */ by) => {
        const { check, compare, values } = await valuesAfter(kit, payments, by, asset);
        const checks = [check];
        for (const one of [...values, ...others]) checks.push(await compare(one));
        return checks;
      };
      const checks = await checksBy(snapshot);
      if (!asset.paysFees || checks.every(({ holds }) => holds !== false)) return checks;
      // Some nodes state wrong prices in receipts. What was paid follows from the blocks as well.
      for (const { pricesFrom, words } of OTHER_PRICES) {
        const again = await checksBy({ ...snapshot, pricesFrom });
        if (again.some(({ holds }) => holds !== true)) continue;
        const wordsOf = (/** @type {Check} */ { name, words: own }) =>
          name === 'wallets' ? `${own}, ${words} ${NOT_OF_RECEIPTS}` : own;
        return again.map((check) => ({ ...check, words: wordsOf(check) }));
      }
      return checks;
    },
  };
}

/**
 * The balances that follow from the receipts.
 * @param {Kit} kit
 * @param {object} payments
 * @param {bigint} payments.value
 * @param {boolean} payments.receiversPay whether the payers are the receivers
 * @param {number} payments.count of receivers
 * @param {(index: number) => string} payments.addressOf a receiver
 * @param {(position: number, nonce: number) => number} payments.indexFor the receiver of a payment
 * @param {readonly bigint[]} payments.balances of the payers before the load
 * @param {AuditSnapshot} snapshot
 * @param {Asset} asset
 * @returns {Promise<ReceiptsCheck & {values: Values[]}>}
 */
async function valuesAfter(kit, { value, receiversPay, count, addressOf, indexFor, balances }, snapshot, asset) {
  const { unit, paysFees, balanceOf, receiverHas } = asset;
  const payers = kit.addresses();
  const areRead = count <= MAX_READ;
  /** By position. */
  const sent = payers.map(() => 0);
  /** Fees in wei, and in a mix what other members sent. */
  const costs = payers.map(() => 0n);
  let unknownFees = 0;
  const { paid = { wei: [] } } = paysFees ? snapshot : {};
  const paidTo = (/** @type {number} */ i) => ('wei' in paid ? (paid.wei[i] ?? 0n) : 0n);
  const feeOf = (/** @type {{feeWei?: bigint | null}} */ { feeWei = null }) => {
    if (feeWei === null) unknownFees += 1;
    return feeWei ?? 0n;
  };
  /** Payments by receiver. */
  const to = new Uint32Array(areRead ? count : 0);
  // Receipts first, because nodes that prune old blocks prune more of them in the meantime.
  const receipts = await kit.checkReceipts(
    snapshot,
    (position, nonce, receipt) => {
      if (paysFees) costs[position] += feeOf(receipt);
      if (!receipt.succeeded) return;
      sent[position] += 1;
      if (areRead) to[indexFor(position, nonce)] += 1;
    },
    (position, receipt, valueWei) => {
      if (paysFees) costs[position] += feeOf(receipt) + valueWei;
    },
  );
  /** @param {string} address @param {bigint} mustBe */
  const entry = (address, mustBe) => ({ of: `${address} has`, read: balanceOf(address), mustBe });
  const show = (/** @type {bigint} */ amount) => `${amount} ${unit}`;
  /** @type {Values} */
  const ofPayers = {
    name: 'wallets',
    words: `wallets that have what they had${receiversPay ? ' and received' : ''}, less what they sent${paysFees ? ' and its fees' : ''}`,
    count: payers.length,
    entryOf: (i) => {
      const received = receiversPay ? to[i] : 0;
      return entry(payers[i], balances[i] + paidTo(i) + value * BigInt(received - sent[i]) - costs[i]);
    },
    show,
    ...('why' in paid && { why: paid.why }),
    ...(unknownFees > 0 && {
      why: `the receipts of ${counted(unknownFees, 'transaction')} state no gasUsed or no price`,
    }),
  };
  /** @type {Values} */
  const ofReceivers = {
    name: 'receivers',
    words: `of ${count} receivers, those that have exactly what was paid to them`,
    count,
    entryOf: (i) => entry(addressOf(i), receiverHas + value * BigInt(to[i])),
    show,
  };
  return { ...receipts, values: receiversPay || !areRead ? [ofPayers] : [ofPayers, ofReceivers] };
}
