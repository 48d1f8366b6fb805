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
 * The workload `transfer`: payments of a few wei, from each wallet to a random other wallet of the slice, or to one of
 * many addresses made for the run. An operation is verified by the status of its receipt, because a reverted payment
 * raises the wallet's nonce too. The audit adds up what was paid and received.
 *
 * @import { Wallet } from '../chain/keys.js'
 * @import { Call, Request, Rpc, TransactionWorkload } from '../types.d.ts'
 * @import { Preparation, Settings, WorkloadOptions } from './index.js'
 * @import { PayloadState } from './payload.js'
 *
 * @typedef {object} ReceiversState
 * @property {number} seed of the run, at most 2^53
 * @property {number | null} made number of addresses made from the seed; null: the wallets pay each other
 * @property {readonly string[]} wallets addresses of the whole slice, by position; empty where addresses are made
 *
 * @typedef {object} Payer
 * @property {string} address
 * @property {number} start its nonce before the first payment
 *
 * @typedef {object} TransferState for a worker thread
 * @property {number} first position of its first wallet in the slice
 * @property {Payer[]} payers
 * @property {bigint} valueWei
 * @property {bigint} gasLimit
 * @property {ReceiversState} receivers
 * @property {PayloadState | null} payloads
 */

/** A plain payment (Ethereum Yellow Paper, appendix G), and an upper bound of its estimate on chains where it costs more. */
const PAYMENT_GAS = 21_000;
const MAX_PAYMENT_GAS = 25_000n;

/**
 * A run chooses its value at random: otherwise two runs that use the same wallets by mistake would send identical
 * transactions, and each would count those of the other as its own. The margin of the gas estimate covers the value.
 */
const MAX_VALUE_WEI = 1000;

/** Receivers created before the load get this amount. */
export const FIRST_WEI = 1n;

/** Gas to create WALLETS_PER_PAYMENT receivers: a new account with its payment takes about 34,000. */
export const CREATION_GAS = BigInt(WALLETS_PER_PAYMENT) * 40_000n;

/** Creating transactions under way at once. They fill a few blocks, so the base fee rises. */
const MAX_IN_FLIGHT = 20;

const NEEDS_TWO = 'pays from wallet to wallet and has only one: use at least two (-t 2), or --receivers N';

/** @param {number} count of receivers @returns {number} transactions that create them */
export function creationsFor(count) {
  return Math.ceil(count / WALLETS_PER_PAYMENT);
}

/**
 * Creates all receivers on the chain.
 * @param {Receivers} receivers
 * @param {Pick<Preparation, 'wallets' | 'sender' | 'onProgress'>} preparation the wallets pay in turn
 */
export async function createAll(receivers, { wallets, sender, onProgress }) {
  const { count } = receivers;
  const all = creationsFor(count);
  let gasLimit = 0n;
  for (let at = 0; at < all; at += MAX_IN_FLIGHT) {
    const orders = [];
    for (let i = at; i < Math.min(at + MAX_IN_FLIGHT, all); i += 1)
      orders.push({ ...creation(receivers, i), wallet: wallets[i % wallets.length], gasLimit });
    // No later transaction creates more receivers than the first one.
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
      throw new UnavailableError(`cannot create the receivers: transaction ${failed.transactionHash} was reverted`);
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
 * Chooses the receiver of each payment by the run's seed, the wallet and the nonce, so that the audit can compute them
 * again and nothing has to be stored.
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

  /** @param {number} position @param {number} nonce @returns {number} index of a made address, or of another wallet of the slice */
  indexFor(position, nonce) {
    const { made, wallets } = this.#state;
    const hash = mix(mix(mix(this.#low + position) ^ this.#high) ^ Math.imul(nonce, 0x9e3779b1));
    if (made !== null) return Math.floor((hash / 2 ** 32) * made);
    const other = Math.floor((hash / 2 ** 32) * (wallets.length - 1));
    return other < position ? other : other + 1;
  }

  /**
   * Addresses are computed on demand, because ten million of them would fill the memory. They have no known keys, and are
   * new on the chain because no other run has the seed.
   * @param {number} index
   */
  addressOf(index) {
    const { seed, made, wallets } = this.#state;
    if (made === null) return wallets[index];
    return `0x${createHash('sha256').update(`${seed}:${index}`).digest('hex').slice(0, 40)}`;
  }
}

/** Spreads a difference of a few bits over all 32 (the last step of MurmurHash3, A. Appleby). @param {number} word */
function mix(word) {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** @param {Settings} settings */
export function validateTransfer({ threads, receivers = null }) {
  return receivers === null && threads === 1 ? NEEDS_TWO : null;
}

/** @param {WorkloadOptions} options @returns {TransactionWorkload} */
export function createTransferWorkload({ rpc, settings, state }) {
  return new TransferWorkload(rpc, settings, /** @type {TransferState | undefined} */ (state));
}

class TransferWorkload {
  kind = /** @type {const} */ ('transaction');
  subject = 'wallets made payments:';
  gas;
  #rpc;
  /** @type {TransferState} */
  #state;
  #receivers;
  #receipts;
  #payloadOf;
  /** Number of transactions that create receivers before the load. */
  #creations;
  /** Of the wallets before the load. @type {bigint[]} */
  #balancesWei = [];

  /** @param {Rpc} rpc @param {Settings} settings @param {TransferState} [state] */
  constructor(rpc, { receivers = null, createReceivers = null, payload = null, threads = 1 }, state) {
    this.#rpc = rpc;
    this.#receipts = new Receipts(rpc);
    this.#state = state ?? {
      first: 0,
      payers: [],
      gasLimit: 0n,
      valueWei: BigInt(randomInt(1, MAX_VALUE_WEI + 1)),
      receivers: { seed: randomInt(2 ** 48 - 1), made: receivers, wallets: [] },
      payloads: payload === null ? null : drawPayloads(payload),
    };
    this.#receivers = new Receivers(this.#state.receivers);
    this.#payloadOf = this.#state.payloads === null ? null : createPayloads(this.#state.payloads);
    this.#creations = createReceivers === 'before' ? creationsFor(receivers ?? 0) : 0;
    const { most, likely } = payloadGas(payload);
    const perWallet = BigInt(Math.ceil(this.#creations / threads)) * CREATION_GAS;
    this.gas = {
      perWallet,
      perOperation: MAX_PAYMENT_GAS + most,
      likely: { perWallet, perOperation: BigInt(PAYMENT_GAS) + likely },
    };
  }

  /** Payments between the wallets cost them nothing together. */
  get valueWei() {
    return this.#state.receivers.made === null ? 0n : this.#state.valueWei;
  }

  /** @param {Pick<Preparation, 'wallets'>} preparation */
  async unprepared({ wallets }) {
    return Math.min(wallets.length, this.#creations);
  }

  /** @param {Preparation} preparation */
  async prepare(preparation) {
    const { wallets } = preparation;
    const { receivers, valueWei } = this.#state;
    if (receivers.made === null) {
      if (wallets.length < 2) throw new UsageError(`--workload transfer ${NEEDS_TWO}`);
      await this.#refuseCode(wallets);
      receivers.wallets = wallets.map(({ address }) => address);
    }
    if (this.#creations > 0) await createAll(this.#receivers, preparation);
    this.#state.payers = wallets.map(({ address, nonce }) => ({ address, start: nonce }));
    const { to, data } = this.next(0, wallets[0].nonce);
    const payment = { from: wallets[0].address, to, data, value: toHex(valueWei) };
    const gas = toNumber(await this.#rpc.call('eth_estimateGas', [payment], 'setup'));
    this.#state.gasLimit = BigInt(gas === PAYMENT_GAS ? gas : Math.ceil(gas * 1.1));
    const requests = wallets.map(({ address }) => ({ method: 'eth_getBalance', params: [address, 'latest'] }));
    this.#balancesWei = (await this.#rpc.batch(requests, 'setup')).map(toBigInt);
  }

  /** @param {number} first @param {number} count @returns {TransferState} */
  handOver(first, count) {
    return { ...this.#state, first, payers: this.#state.payers.slice(first, first + count) };
  }

  /** @param {number} position @param {number} nonce @returns {Call} */
  next(position, nonce) {
    const { first, valueWei, gasLimit } = this.#state;
    const data = this.#payloadOf === null ? '0x' : `0x${this.#payloadOf(first + position, nonce)}`;
    return { to: this.#receiverOf(position, nonce), data, value: valueWei, gasLimit };
  }

  /** @type {TransactionWorkload['verify']} */
  verify(position, _executed, inclusion, _attempt, { nonce, hash }) {
    return this.#receipts.verdict(hash, inclusion, this.#receiverOf(position, nonce));
  }

  /** @type {TransactionWorkload['audit']} */
  async audit(blockHash, blockNumber, reverted) {
    const { payers } = this.#state;
    /** @param {string | {blockHash: string}} block */
    const read = (block) =>
      this.#rpc.batch(
        payers.map(({ address }) => ({ method: 'eth_getTransactionCount', params: [address, block] })),
        'audit',
      );
    const counts = (await readAtHash(read, blockHash, blockNumber)).map(toNumber);
    return payers.map(({ start }, i) => {
      return { start: 0n, now: BigInt(counts[i] - start - (reverted?.[i] ?? 0)), target: null };
    });
  }

  /** @type {NonNullable<TransactionWorkload['reconcile']>} */
  reconcile(snapshot) {
    const { payers, valueWei, receivers } = this.#state;
    const before = { balancesWei: this.#balancesWei, receiverWei: this.#creations > 0 ? FIRST_WEI : 0n };
    const addresses = payers.map(({ address }) => address);
    const arePayers = receivers.made === null;
    const known = { rpc: this.#rpc, receipts: this.#receipts, receivers: this.#receivers };
    return reconcilePayments({ ...known, addresses, arePayers, valueWei, before }, snapshot);
  }

  facts() {
    const { receivers, valueWei, payloads } = this.#state;
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
    return this.#receivers.addressOf(this.#receivers.indexFor(this.#state.first + position, nonce));
  }

  /** Addresses with code may refuse payments, or need more gas. @param {Wallet[]} wallets */
  async #refuseCode(wallets) {
    const requests = wallets.map(({ address }) => ({ method: 'eth_getCode', params: [address, 'latest'] }));
    const codes = await this.#rpc.batch(requests, 'setup');
    const found = wallets.find((_, i) => codes[i] !== '0x');
    if (found !== undefined)
      throw new UnavailableError(
        `wallet ${found.index} (${found.address}) has code on this chain, so payments to it may fail: use other wallets (-o), or pay others (--receivers)`,
      );
  }
}
