import { createHash, randomInt } from 'node:crypto';
import { toBigInt, toHex } from '../chain/rpc.js';
import { RpcError, StressError, UsageError } from '../errors.js';
import { NEEDS_TWO } from './table.js';
import { MAX_AUDIT_MS, Receipts, UNSURE, checkOf, isSuccess, successCheck } from './receipts.js';

/**
 * Payments from wallet to wallet, or to addresses made for the run, and their audit: by their receipts as many succeeded
 * as the run has verified, and each wallet and each receiver has exactly what follows from them.
 * Receivers are computed again from the seed; balances and receipts are read from the chain. Neither depends on what the
 * load has counted.
 *
 * @import { AuditSnapshot, Check, Rpc } from '../types.d.ts'
 * @import { BuiltInOptions } from './index.js'
 * @import { Outcomes, Receipt } from './receipts.js'
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
 * @property {Outcomes | {why: string}} outcomes
 * @property {string | null} why the rest is unknown
 * @property {readonly number[]} sent successful payments by position
 * @property {bigint[]} fees in wei, by position
 * @property {Uint32Array} to successful payments by receiver; empty if there are too many receivers
 */

/**
 * A run chooses its value at random: otherwise two runs that use the same wallets by mistake would send identical
 * transactions, and each would count those of the other as its own. The margin of the gas estimate covers the value.
 */
const MAX_VALUE = 1000;

/** Balances read in one batch. */
const READ_AT_ONCE = 8000;

/** Of more receivers no balances are read, because that takes minutes. */
const MAX_READ = 100_000;

export class Payments {
  /** @type {PaymentsState} */
  #state;
  /** Of the payers, by position. @type {string[]} */
  #addresses = [];
  /** Of the payers before the load. @type {bigint[]} */
  #balances = [];
  #rpc;
  #receipts;
  #low;
  #high;

  /** @param {Pick<BuiltInOptions, 'rpc' | 'settings'>} options @param {PaymentsState} [state] */
  constructor({ rpc, settings: { receivers = null } }, state) {
    this.#rpc = rpc;
    this.#receipts = new Receipts(rpc);
    this.#state = state ?? {
      first: 0,
      value: BigInt(randomInt(1, MAX_VALUE + 1)),
      seed: randomInt(2 ** 48 - 1),
      made: receivers,
      wallets: [],
    };
    this.#low = mix(this.#state.seed);
    this.#high = mix(this.#state.seed / 2 ** 32);
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
    const hash = mix(mix(mix(this.#low + position) ^ this.#high) ^ Math.imul(nonce, 0x9e3779b1));
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
    // Receipts first, because nodes that prune old blocks prune more of them in the meantime.
    const paid = await this.#readPaid(snapshot, limited(snapshot.signal));
    const reading = { rpc: this.#rpc, snapshot, asset, signal: limited(snapshot.signal), why: paid.why };
    const checks = [successCheck(this.#addresses, snapshot, paid.outcomes), await this.#checkPayers(paid, reading)];
    if (!this.arePayers && this.#areRead) checks.push(await this.#checkReceivers(paid, reading));
    if (checks.every(({ holds }) => holds !== false)) return checks;
    const block = await this.#rpc.call('eth_getBlockByNumber', [toHex(snapshot.blockNumber), false], 'audit');
    if (block?.hash === snapshot.blockHash) return checks;
    const why = `block ${snapshot.blockNumber} left the chain during the audit`;
    return checks.map((check) => ({ ...check, holds: null, why }));
  }

  /** Whether the balances of all receivers are read. */
  get #areRead() {
    return this.count <= MAX_READ;
  }

  /** @param {AuditSnapshot} snapshot @param {AbortSignal} signal @returns {Promise<Paid>} */
  async #readPaid(snapshot, signal) {
    const fees = this.#addresses.map(() => 0n);
    const to = new Uint32Array(this.#areRead ? this.count : 0);
    const outcomes = await this.#receipts.ofRun(this.#addresses, snapshot, signal, (position, nonce, receipt) => {
      fees[position] += feeOf(receipt);
      if (this.#areRead && isSuccess(receipt)) to[this.indexFor(position, nonce)] += 1;
    });
    if ('why' in outcomes) return { outcomes, why: outcomes.why, sent: [], fees, to };
    const { succeeded, reverted } = outcomes;
    const areOurs = snapshot.executed.every(
      (count, i) => count === succeeded[i] && snapshot.reverted[i] === reverted[i],
    );
    return { outcomes, why: areOurs ? null : UNSURE, sent: succeeded, fees, to };
  }

  /** @param {Paid} paid @param {Reading} reading */
  #checkPayers({ sent, fees, to }, reading) {
    const { paysFees } = reading.asset;
    const words = `wallets that have what they had${this.arePayers ? ' and received' : ''}, less what they sent${paysFees ? ' and its fees' : ''}`;
    return balanceCheck('wallets', words, this.#addresses.length, reading, (i) => {
      const received = this.arePayers ? to[i] : 0;
      const grown = this.value * BigInt(received - sent[i]) - (paysFees ? fees[i] : 0n);
      return { address: this.#addresses[i], mustBe: this.#balances[i] + grown };
    });
  }

  /** @param {Paid} paid @param {Reading} reading */
  #checkReceivers({ to }, reading) {
    const words = `of ${this.count} receivers, those that have exactly what was paid to them`;
    return balanceCheck('receivers', words, this.count, reading, (i) => {
      return { address: this.addressOf(i), mustBe: reading.asset.receiverHas + this.value * BigInt(to[i]) };
    });
  }
}

/**
 * @typedef {{rpc: Rpc, snapshot: AuditSnapshot, asset: Asset, signal: AbortSignal, why: string | null}} Reading why: the
 *   reason why the payments are not known
 *
 * @param {string} name
 * @param {string} words
 * @param {number} count
 * @param {Reading} reading
 * @param {(i: number) => {address: string, mustBe: bigint}} accountOf
 * @returns {Promise<Check>} which names the first wrong balance
 */
async function balanceCheck(name, words, count, { rpc, snapshot, asset, signal, why }, accountOf) {
  const unsure = (/** @type {string} */ reason) => checkOf(name, words, 0, 0, reason);
  if (why !== null) return unsure(why);
  let right = 0;
  let fault = '';
  const blocks = [{ blockHash: snapshot.blockHash }, toHex(snapshot.blockNumber), 'latest'];
  for (let at = 0; at < count;) {
    if (signal.aborted) return unsure(`there was time for ${at} of ${count} balances`);
    const part = Array.from({ length: Math.min(READ_AT_ONCE, count - at) }, (_, i) => accountOf(at + i));
    try {
      const requests = part.map(({ address }) => asset.balanceOf(address, blocks[0]));
      const balances = (await rpc.batch(requests, 'audit')).map(toBigInt);
      part.forEach(({ address, mustBe }, i) => {
        if (balances[i] === mustBe) right += 1;
        else fault ||= ` (${address} has ${balances[i]} ${asset.unit}, not ${mustBe})`;
      });
      at += part.length;
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      // The node lacks EIP-1898 or has pruned the block. In later blocks balances change only by a foreign sender.
      if (!(error instanceof RpcError) || blocks.length === 1) return unsure(error.message);
      blocks.shift();
    }
  }
  return checkOf(name, words, count, `${right}${fault}`, null);
}

/** Rollups charge for data on the underlying chain too. @param {Receipt} receipt */
function feeOf({ gasUsed, effectiveGasPrice, l1Fee }) {
  return toBigInt(gasUsed) * toBigInt(effectiveGasPrice) + toBigInt(l1Fee ?? '0x0');
}

/** @param {AbortSignal} signal */
function limited(signal) {
  return AbortSignal.any([signal, AbortSignal.timeout(MAX_AUDIT_MS)]);
}

/** Spreads a difference of a few bits over all 32 (the last step of MurmurHash3, A. Appleby). @param {number} word */
function mix(word) {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
