import { createHash, randomInt } from 'node:crypto';
import { WALLETS_PER_PAYMENT, disperseData } from '../chain/funding.js';
import { toBigInt, toHex, toNumber } from '../chain/rpc.js';
import { estimateGas, sendAll } from '../chain/send.js';
import { UnavailableError, UsageError } from '../errors.js';
import { readAtHash } from './at-block.js';
import { createPayloads, drawPayloads, payloadGas } from './payload.js';
import { reconcilePayments } from './payments.js';
import { Receipts } from './receipts.js';

/**
 * @import { Wallet } from '../chain/keys.js'
 * @import { Call, Request, Rpc, TransactionWorkload } from '../types.d.ts'
 * @import { Preparation, Settings, WorkloadOptions } from './index.js'
 * @import { PayloadState } from './payload.js'
 */

/** Receivers that are to be there before the load: each is paid a wei, hundreds of them in one transaction. */

/** What each of them gets. */
export const FIRST_WEI = 1n;

/** Gas for those that one transaction creates: a new account with its payment takes about 34,000. */
export const CREATION_GAS = BigInt(WALLETS_PER_PAYMENT) * 40_000n;

/** Transactions on their way at once: they fill a few blocks, and the base fee rises. */
const AT_ONCE = 20;

/** How many transactions create so many receivers. @param {number} count */
export function creationsFor(count) {
  return Math.ceil(count / WALLETS_PER_PAYMENT);
}

/**
 * @param {Receivers} receivers
 * @param {Pick<Preparation, 'wallets' | 'sender' | 'onProgress'>} preparation the wallets pay in turn
 */
export async function createAll(receivers, { wallets, sender, onProgress }) {
  const { count } = receivers;
  const all = creationsFor(count);
  let gasLimit = 0n;
  for (let at = 0; at < all; at += AT_ONCE) {
    const orders = [];
    for (let i = at; i < Math.min(at + AT_ONCE, all); i += 1)
      orders.push({ ...creation(receivers, i), wallet: wallets[i % wallets.length], gasLimit });
    // The first one pays as many as any other.
    if (at === 0) {
      const [{ wallet, data, value }] = orders;
      gasLimit = await estimateGas(sender.rpc, { from: wallet.address, data, value: toHex(value) });
      for (const order of orders) order.gasLimit = gasLimit;
    }
    const receipts = await sendAll(sender, orders, (done) =>
      onProgress('creating receivers', Math.min((at + done) * WALLETS_PER_PAYMENT, count), count),
    );
    const failed = receipts.find(({ status }) => toNumber(status) !== 1);
    if (failed !== undefined)
      throw new UnavailableError(`the transaction that creates receivers was reverted: ${failed.transactionHash}`);
    const latest = await sender.rpc.call('eth_getBlockByNumber', ['latest', false], 'setup');
    sender.fees.observe((latest?.baseFeePerGas ?? null) === null ? null : toBigInt(latest.baseFeePerGas));
  }
}

/** @param {Receivers} receivers @param {number} ordinal of the transaction */
function creation(receivers, ordinal) {
  const from = ordinal * WALLETS_PER_PAYMENT;
  const count = Math.min(WALLETS_PER_PAYMENT, receivers.count - from);
  const part = Array.from({ length: count }, (_, i) => ({
    wallet: { address: receivers.addressOf(from + i) },
    missingWei: FIRST_WEI,
  }));
  return { to: null, data: disperseData(part), value: FIRST_WEI * BigInt(count) };
}

/**
 * Who is paid. A receiver is a function of the run's seed, the wallet and the nonce, so that nothing has to be kept for
 * the audit: it works all of them out again.
 *
 * @typedef {object} ReceiversState what another thread makes the same receivers from
 * @property {number} seed of the run, at most 2^53
 * @property {number | null} made how many addresses are made from the seed; null: the wallets pay each other
 * @property {readonly string[]} wallets addresses of the whole slice, by position; none where addresses are made
 */

export class Receivers {
  #low;
  #high;
  #state;

  /** @param {ReceiversState} state */
  constructor(state) {
    this.#state = state;
    this.#low = mix(state.seed);
    this.#high = mix(state.seed / 2 ** 32);
  }

  get count() {
    return this.#state.made ?? this.#state.wallets.length;
  }

  /** The receiver of a payment: any other wallet of the slice, or any address that is made. @param {number} position @param {number} nonce @returns {number} its index */
  indexFor(position, nonce) {
    const { made, wallets } = this.#state;
    const hash = mix(mix(mix(this.#low + position) ^ this.#high) ^ Math.imul(nonce, 0x9e3779b1));
    if (made !== null) return Math.floor((hash / 2 ** 32) * made);
    const other = Math.floor((hash / 2 ** 32) * (wallets.length - 1));
    return other < position ? other : other + 1;
  }

  /**
   * Addresses that are made are made when they are asked for: ten million of them would fill the memory. Nobody has
   * their keys, and nobody has used them before, because no other run has the seed.
   * @param {number} index
   */
  addressOf(index) {
    const { seed, made, wallets } = this.#state;
    if (made === null) return wallets[index];
    return `0x${createHash('sha256').update(`${seed}:${index}`).digest('hex').slice(0, 40)}`;
  }
}

/** Spreads what differs in a few bits over all 32 (the last step of MurmurHash3, A. Appleby). @param {number} word */
function mix(word) {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/**
 * Payments of a few wei: from each wallet to another one of the slice that is drawn for it, or to one of many addresses
 * made for the run. That a payment was made shows in the status of its receipt, because one that was reverted raises the
 * wallet's nonce too; what arrived, and what was paid for it, is added up by the audit.
 *
 * @typedef {object} Payer
 * @property {string} address
 * @property {number} start its transactions before the first payment
 *
 * @typedef {object} Handed what another thread needs
 * @property {number} first position of its first wallet in the slice
 * @property {Payer[]} payers
 * @property {bigint} valueWei
 * @property {bigint} gasLimit
 * @property {ReceiversState} receivers
 * @property {PayloadState | null} payloads
 */

/** A plain payment (Ethereum Yellow Paper, appendix G), and what an estimate of one may come to where it costs more. */
const PAYMENT_GAS = 21_000;
const MOST_PAYMENT_GAS = 25_000n;

/**
 * A run draws its own value: two that used the same wallets by mistake would else send the very same transactions, and
 * each would take them for its own. It is so low that the gas that is reckoned with beyond a payment's covers it.
 */
const HIGHEST_VALUE_WEI = 1000;

const NEEDS_TWO = 'pays from wallet to wallet, and one has nobody to pay: use two at least (-t 2), or --receivers N';

/** @param {Settings} settings */
export function validateTransfer({ threads, receivers = null }) {
  return receivers === null && threads === 1 ? NEEDS_TWO : null;
}

/**
 * @param {WorkloadOptions} options
 * @returns {TransactionWorkload}
 */
export function createTransferWorkload({ rpc, settings, state }) {
  return new TransferWorkload(rpc, settings, /** @type {Handed | undefined} */ (state));
}

class TransferWorkload {
  kind = /** @type {const} */ ('transaction');
  subject = 'wallets made payments:';
  gas;
  #rpc;
  /** @type {Handed} */
  #own;
  #receivers;
  #receipts;
  #payloadOf;
  /** Transactions that create receivers before the load. */
  #creations;
  /** Of the wallets before the load, by position. @type {bigint[]} */
  #balancesWei = [];

  /** @param {Rpc} rpc @param {Settings} settings @param {Handed} [handed] */
  constructor(rpc, { receivers = null, createReceivers = null, payload = null, threads = 1 }, handed) {
    this.#rpc = rpc;
    this.#receipts = new Receipts(rpc);
    this.#own = handed ?? {
      first: 0,
      payers: [],
      gasLimit: 0n,
      valueWei: BigInt(randomInt(1, HIGHEST_VALUE_WEI + 1)),
      receivers: { seed: randomInt(2 ** 48 - 1), made: receivers, wallets: [] },
      payloads: payload === null ? null : drawPayloads(payload),
    };
    this.#receivers = new Receivers(this.#own.receivers);
    this.#payloadOf = this.#own.payloads === null ? null : createPayloads(this.#own.payloads);
    this.#creations = createReceivers === 'before' ? creationsFor(receivers ?? 0) : 0;
    const { most, likely } = payloadGas(payload);
    const perWallet = BigInt(Math.ceil(this.#creations / threads)) * CREATION_GAS;
    this.gas = {
      perWallet,
      perOperation: MOST_PAYMENT_GAS + most,
      likely: { perWallet, perOperation: BigInt(PAYMENT_GAS) + likely },
    };
  }

  /** What the wallets pay each other they keep. */
  get valueWei() {
    return this.#own.receivers.made === null ? 0n : this.#own.valueWei;
  }

  /** @param {Pick<Preparation, 'wallets'>} preparation */
  async unprepared({ wallets }) {
    return Math.min(wallets.length, this.#creations);
  }

  /** @param {Preparation} preparation */
  async prepare(preparation) {
    const { wallets } = preparation;
    const { receivers, valueWei } = this.#own;
    if (receivers.made === null) {
      if (wallets.length < 2) throw new UsageError(`--workload transfer ${NEEDS_TWO}`);
      await this.#refuseCode(wallets);
      receivers.wallets = wallets.map(({ address }) => address);
    }
    if (this.#creations > 0) await createAll(this.#receivers, preparation);
    this.#own.payers = wallets.map(({ address, nonce }) => ({ address, start: nonce }));
    const { to, data } = this.next(0, wallets[0].nonce);
    const payment = { from: wallets[0].address, to, data, value: toHex(valueWei) };
    const gas = toNumber(await this.#rpc.call('eth_estimateGas', [payment], 'setup'));
    this.#own.gasLimit = BigInt(gas === PAYMENT_GAS ? gas : Math.ceil(gas * 1.1));
    const requests = wallets.map(({ address }) => ({ method: 'eth_getBalance', params: [address, 'latest'] }));
    this.#balancesWei = (await this.#rpc.batch(requests, 'setup')).map(toBigInt);
  }

  /** @param {number} first @param {number} count @returns {Handed} */
  handOver(first, count) {
    return { ...this.#own, first, payers: this.#own.payers.slice(first, first + count) };
  }

  /** @param {number} position @param {number} nonce @returns {Call} */
  next(position, nonce) {
    const { first, valueWei, gasLimit } = this.#own;
    const data = this.#payloadOf === null ? '0x' : `0x${this.#payloadOf(first + position, nonce)}`;
    return { to: this.#receiverOf(position, nonce), data, value: valueWei, gasLimit };
  }

  /** @type {TransactionWorkload['verify']} */
  verify(position, _executed, inclusion, _attempt, { nonce, hash }) {
    return this.#receipts.verdict(hash, inclusion, this.#receiverOf(position, nonce));
  }

  /** @type {TransactionWorkload['audit']} */
  async audit(blockHash, blockNumber, reverted) {
    const { payers } = this.#own;
    /** @param {string | {blockHash: string}} block */
    const read = (block) => this.#rpc.batch(payers.map(countRequest(block)), 'audit');
    const counts = (await readAtHash(read, blockHash, blockNumber)).map(toNumber);
    return payers.map(({ start }, i) => {
      return { start: 0n, now: BigInt(counts[i] - start - (reverted?.[i] ?? 0)), target: null };
    });
  }

  /** @type {NonNullable<TransactionWorkload['reconcile']>} */
  reconcile(snapshot) {
    const { payers, valueWei, receivers } = this.#own;
    const before = { balancesWei: this.#balancesWei, receiverWei: this.#creations > 0 ? FIRST_WEI : 0n };
    const who = { addresses: payers.map(({ address }) => address), arePayers: receivers.made === null };
    const known = { rpc: this.#rpc, receipts: this.#receipts, receivers: this.#receivers };
    return reconcilePayments({ ...who, ...known, valueWei, before }, snapshot);
  }

  facts() {
    const { receivers, valueWei, payloads } = this.#own;
    return {
      receivers: receivers.made ?? 'the wallets of the slice',
      ...(receivers.made === null ? {} : { created: this.#creations > 0 ? 'before the load' : 'by the load' }),
      seed: receivers.seed,
      valueWei: String(valueWei),
      payloadBytes: payloads?.bytes ?? 0,
    };
  }

  /** @param {number} position @param {number} nonce */
  #receiverOf(position, nonce) {
    return this.#receivers.addressOf(this.#receivers.indexFor(this.#own.first + position, nonce));
  }

  /** What has code may refuse a payment, or want more gas for it. @param {Wallet[]} wallets */
  async #refuseCode(wallets) {
    const requests = wallets.map(({ address }) => ({ method: 'eth_getCode', params: [address, 'latest'] }));
    const codes = await this.#rpc.batch(requests, 'setup');
    const found = wallets.find((_, i) => codes[i] !== '0x');
    if (found !== undefined)
      throw new UnavailableError(
        `wallet ${found.index} (${found.address}) has code on this chain, so that payments to it may fail: use other wallets (-o), or pay others (--receivers)`,
      );
  }
}

/** @param {string | {blockHash: string}} block @returns {(payer: Payer) => Request} */
function countRequest(block) {
  return ({ address }) => ({ method: 'eth_getTransactionCount', params: [address, block] });
}
