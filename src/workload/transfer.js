import { randomInt } from 'node:crypto';
import { toBigInt, toHex, toNumber } from '../chain/rpc.js';
import { UnavailableError, UsageError } from '../errors.js';
import { readAtHash } from './at-block.js';
import { CREATION_GAS, FIRST_WEI, createAll, creationsFor } from './creation.js';
import { createPayloads, drawPayloads, payloadGas } from './payload.js';
import { reconcilePayments } from './payments.js';
import { Receipts } from './receipts.js';
import { Receivers } from './receivers.js';

/**
 * @import { Request, Rpc } from '../chain/rpc.js'
 * @import { Call } from '../chain/transaction.js'
 * @import { Wallet } from '../chain/wallets.js'
 * @import { Preparation, Settings, TransactionWorkload, WorkloadOptions } from './index.js'
 * @import { PayloadState } from './payload.js'
 * @import { ReceiversState } from './receivers.js'
 */

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
export function whatTransferLacks({ threads, receivers = null }) {
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
  reconcile(books) {
    const { payers, valueWei, receivers } = this.#own;
    const before = { balancesWei: this.#balancesWei, receiverWei: this.#creations > 0 ? FIRST_WEI : 0n };
    const who = { addresses: payers.map(({ address }) => address), arePayers: receivers.made === null };
    const known = { rpc: this.#rpc, receipts: this.#receipts, receivers: this.#receivers };
    return reconcilePayments({ ...who, ...known, valueWei, before }, books);
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
