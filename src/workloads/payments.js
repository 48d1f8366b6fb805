import { createHash, randomInt } from 'node:crypto';
import { toBigInt } from '../chain/rpc.js';
import { UsageError } from '../errors.js';
import { MAX_READ, stateCheck } from './contract-state.js';
import { isSuccess } from './receipts.js';
import { NEEDS_TWO } from './table.js';

/**
 * Payments from wallet to wallet, or to addresses made for the run, and their audit: by their receipts as many succeeded
 * as the run has verified, and each wallet and each receiver has exactly what follows from them.
 * Receivers are computed again from the seed; balances and receipts are read from the chain. Neither depends on what the
 * load has counted.
 *
 * @import { AuditSnapshot, Check, Rpc } from '../types.d.ts'
 * @import { Entry, Reading } from './contract-state.js'
 * @import { Receipt } from './contract.d.ts'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {object} Asset what is paid
 * @property {string} unit
 * @property {boolean} paysFees whether fees are paid from the same balances
 * @property {(address: string, block: unknown) => {method: string, params: unknown[]}} balanceOf
 * @property {bigint} receiverHas what a receiver has before the load
 *
 * @typedef {object} PaymentsState for a worker thread
 * @property {number} first position of its first wallet in the slice
 * @property {bigint} value of each payment
 * @property {number} seed of the run, at most 2^53
 * @property {number | null} made number of receivers made from the seed; null: the wallets pay each other
 * @property {readonly string[]} wallets addresses of the whole slice, by position; empty where receivers are made
 *
 * @typedef {object} Paid by receipts
 * @property {number[]} sent successful payments by position
 * @property {bigint[]} costs fees in wei, by position, and in a mix what other members sent
 * @property {Uint32Array} to successful payments by receiver; empty if there are too many receivers
 */

/**
 * A run chooses its value at random: otherwise two runs that use the same wallets by mistake would send identical
 * transactions, and each would count those of the other as its own. The margin of the gas estimate covers the value.
 */
const MAX_VALUE = 1000;

export class Payments {
  /** @type {PaymentsState} */
  #state;
  /** Of the payers, by position. @type {string[]} */
  #addresses = [];
  /** Of the payers before the load. @type {bigint[]} */
  #balances = [];
  #rpc;
  #kit;
  #low;
  #high;

  /** @param {Pick<BuiltInOptions, 'kit' | 'rpc' | 'settings'>} options @param {PaymentsState} [state] */
  constructor({ kit, rpc, settings: { receivers = null } }, state) {
    this.#rpc = rpc;
    this.#kit = kit;
    this.#state = state ?? {
      first: 0,
      value: BigInt(randomInt(1, MAX_VALUE + 1)),
      seed: randomInt(2 ** 48 - 1),
      made: receivers,
      wallets: [],
    };
    this.#low = mixBits(this.#state.seed);
    this.#high = mixBits(this.#state.seed / 2 ** 32);
  }

  get value() {
    return this.#state.value;
  }

  get arePayers() {
    return this.#state.made === null;
  }

  /** Number of receivers. */
  get count() {
    return this.#state.made ?? this.#state.wallets.length;
  }

  /** For the run file. */
  get facts() {
    const { seed, made } = this.#state;
    return { receivers: made ?? 'the wallets of the slice', seed };
  }

  /** @param {number} first @returns {PaymentsState} */
  toState(first) {
    return { ...this.#state, first };
  }

  /** @param {readonly {address: string}[]} wallets @param {string} name of the workload */
  begin(wallets, name) {
    this.#addresses = wallets.map(({ address }) => address);
    if (!this.arePayers) return;
    if (wallets.length < 2) throw new UsageError(`--workload ${name} ${NEEDS_TWO}`);
    this.#state.wallets = this.#addresses;
  }

  /** Reads what the wallets have before the load. @param {Asset} asset @param {Pick<Rpc, 'batch'>} [rpc] */
  async readBalances(asset, rpc = this.#rpc) {
    const requests = this.#addresses.map((address) => asset.balanceOf(address, 'latest'));
    this.#balances = (await rpc.batch(requests, 'setup')).map(toBigInt);
  }

  /** The receiver of a payment of this thread. @param {number} position @param {number} nonce @returns {string} */
  receiverOf(position, nonce) {
    return this.addressOf(this.indexFor(this.#state.first + position, nonce));
  }

  /**
   * Chooses the receiver of each payment by the run's seed, the wallet and the nonce, so that the audit can compute it
   * again and nothing has to be stored.
   * @param {number} position
   * @param {number} nonce
   * @returns {number} index of a made address, or of another wallet of the slice
   */
  indexFor(position, nonce) {
    const { made, wallets } = this.#state;
    const hash = mixBits(mixBits(mixBits(this.#low + position) ^ this.#high) ^ Math.imul(nonce, 0x9e3779b1));
    if (made !== null) return Math.floor((hash / 2 ** 32) * made);
    const other = Math.floor((hash / 2 ** 32) * (wallets.length - 1));
    return other < position ? other : other + 1;
  }

  /** Addresses are computed on demand, because ten million of them would fill the memory. They have no known keys, and are new on the chain because no other run has the seed. @param {number} index */
  addressOf(index) {
    const { seed, made, wallets } = this.#state;
    if (made === null) return wallets[index];
    return `0x${createHash('sha256').update(`${seed}:${index}`).digest('hex').slice(0, 40)}`;
  }

  /** @param {AuditSnapshot} snapshot @param {Asset} asset @returns {Promise<Check[]>} */
  async reconcile(snapshot, asset) {
    /** @type {Paid} */
    const paid = {
      sent: this.#addresses.map(() => 0),
      costs: this.#addresses.map(() => 0n),
      to: new Uint32Array(this.#areRead ? this.count : 0),
    };
    // Receipts first, because nodes that prune old blocks prune more of them in the meantime.
    const { check, ...receipts } = await this.#kit.checkReceipts(
      snapshot,
      (position, nonce, receipt) => {
        paid.costs[position] += feeOf(receipt);
        if (!isSuccess(receipt)) return;
        paid.sent[position] += 1;
        if (this.#areRead) paid.to[this.indexFor(position, nonce)] += 1;
      },
      (position, receipt, valueWei) => (paid.costs[position] += feeOf(receipt) + valueWei),
    );
    const reading = { ...receipts, rpc: this.#rpc, snapshot };
    const checks = [check, await this.#checkPayers(paid, reading, asset)];
    if (!this.arePayers && this.#areRead) checks.push(await this.#checkReceivers(paid, reading, asset));
    return checks;
  }

  /** Whether the balances of all receivers are read. */
  get #areRead() {
    return this.count <= MAX_READ;
  }

  /** @param {Paid} paid @param {Reading} reading @param {Asset} asset */
  #checkPayers({ sent, costs, to }, reading, asset) {
    const { paysFees } = asset;
    const words = `wallets that have what they had${this.arePayers ? ' and received' : ''}, less what they sent${paysFees ? ' and its fees' : ''}`;
    const entryOf = (/** @type {number} */ i) => {
      const received = this.arePayers ? to[i] : 0;
      const grown = this.value * BigInt(received - sent[i]) - (paysFees ? costs[i] : 0n);
      return { key: this.#addresses[i], mustBe: this.#balances[i] + grown };
    };
    return stateCheck(reading, { name: 'wallets', words, count: sent.length, entryOf, ...balancesOf(asset) });
  }

  /** @param {Paid} paid @param {Reading} reading @param {Asset} asset */
  #checkReceivers({ to }, reading, asset) {
    const words = `of ${this.count} receivers, those that have exactly what was paid to them`;
    const entryOf = (/** @type {number} */ i) => {
      return { key: this.addressOf(i), mustBe: asset.receiverHas + this.value * BigInt(to[i]) };
    };
    return stateCheck(reading, { name: 'receivers', words, count: this.count, entryOf, ...balancesOf(asset) });
  }
}

/** @param {Asset} asset */
function balancesOf({ balanceOf, unit }) {
  return {
    requestOf: (/** @type {Entry[]} */ [{ key }], /** @type {unknown} */ block) => balanceOf(key, block),
    faultOf: (/** @type {Entry} */ { key, mustBe }, /** @type {bigint} */ found) =>
      `${key} has ${found} ${unit}, not ${mustBe}`,
  };
}

/** Rollups charge for data on the underlying chain too. @param {Receipt} receipt */
function feeOf({ gasUsed, effectiveGasPrice, l1Fee }) {
  return toBigInt(gasUsed) * toBigInt(effectiveGasPrice) + toBigInt(l1Fee ?? '0x0');
}

/** 32 bits for an operation: the same for a seed, a wallet and a nonce. @param {number} seed @param {number} position @param {number} nonce */
export function drawBits(seed, position, nonce) {
  return mixBits(mixBits(seed + position) ^ Math.imul(nonce, 0x9e3779b1));
}

/** Spreads a difference of a few bits over all 32 (the last step of MurmurHash3, A. Appleby). @param {number} word */
export function mixBits(word) {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
