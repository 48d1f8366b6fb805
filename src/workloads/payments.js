import { createHash, randomInt } from 'node:crypto';
import { toBigInt, toHex } from '../chain/rpc.js';
import { RpcError, StressError, UsageError } from '../errors.js';
import { NEEDS_TWO } from './table.js';
import { MAX_AUDIT_MS, Receipts, UNSURE, checkOf, isSuccess, successCheck, sum } from './receipts.js';

/**
 * Payments from wallet to wallet, or to addresses made for the run, and their audit: by their receipts as many succeeded
 * as the run has verified, what left the senders is what arrived, and each receiver has exactly what it was paid.
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
 * @typedef {object} Paid
 * @property {Outcomes | {why: string}} outcomes by receipts
 * @property {string | null} why they are unknown
 * @property {bigint[]} fees in wei, by position
 * @property {Uint32Array | null} to successful payments by receiver; null if unknown, or if there are too many receivers
 *
 * @typedef {object} Tally of the balances read
 * @property {number} right number of correct balances
 * @property {string | null} fault the first wrong one
 * @property {bigint} grown sum of all changes
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
    const reading = { rpc: this.#rpc, snapshot, asset, signal: limited(snapshot.signal) };
    const byBalance = await (this.arePayers ? this.#amongPayers(paid, reading) : this.#toReceivers(paid, reading));
    const checks = [successCheck(this.#addresses, snapshot, paid.outcomes), ...byBalance];
    if (checks.every(({ holds }) => holds !== false)) return checks;
    const block = await this.#rpc.call('eth_getBlockByNumber', [toHex(snapshot.blockNumber), false], 'audit');
    if (block?.hash === snapshot.blockHash) return checks;
    const why = `block ${snapshot.blockNumber} left the chain during the audit`;
    return checks.map((check) => ({ ...check, holds: null, why }));
  }

  /** @param {AuditSnapshot} snapshot @param {AbortSignal} signal @returns {Promise<Paid>} */
  async #readPaid(snapshot, signal) {
    const fees = this.#addresses.map(() => 0n);
    const isRead = this.count <= MAX_READ;
    const to = new Uint32Array(isRead ? this.count : 0);
    const outcomes = await this.#receipts.ofRun(this.#addresses, snapshot, signal, (position, nonce, receipt) => {
      fees[position] += feeOf(receipt);
      if (isRead && isSuccess(receipt)) to[this.indexFor(position, nonce)] += 1;
    });
    if ('why' in outcomes) return { outcomes, why: outcomes.why, fees, to: null };
    const { succeeded, reverted } = outcomes;
    const areOurs = snapshot.executed.every(
      (count, i) => count === succeeded[i] && snapshot.reverted[i] === reverted[i],
    );
    return { outcomes, why: null, fees, to: areOurs && isRead ? to : null };
  }

  /** @param {Paid} paid @param {Reading} reading */
  async #toReceivers({ to, fees, why, outcomes }, reading) {
    const { unit, receiverHas, paysFees } = reading.asset;
    const left = await tally(reading, this.#addresses.length, (i) => {
      return { address: this.#addresses[i], before: this.#balances[i], mustGrow: null };
    });
    const leftWhy = ('why' in left ? left.why : null) ?? (paysFees ? why : null);
    const spent = 'why' in left ? 0n : -left.grown - (paysFees ? total(fees) : 0n);
    const lessFees = paysFees ? ', less their fees,' : '';
    const leftWords = `${unit} that left ${this.#addresses.length} wallets${lessFees} against`;
    if (this.count > MAX_READ) {
      const payments = 'why' in outcomes ? 0 : sum(outcomes.succeeded);
      const words = `${leftWords} ${payments} payments of ${this.value} (balances of more than ${MAX_READ} receivers are not read)`;
      return [checkOf('left', words, this.value * BigInt(payments), spent, leftWhy ?? why)];
    }
    const arrived = await tally(reading, this.count, (i) => {
      const mustGrow = to === null ? null : this.value * BigInt(to[i]);
      return { address: this.addressOf(i), before: receiverHas, mustGrow };
    });
    const readWhy = 'why' in arrived ? arrived.why : null;
    const grown = 'why' in arrived ? 0n : arrived.grown;
    const payments = to === null ? sum(reading.snapshot.nonces) - sum(reading.snapshot.startNonces) : sum(to);
    const right = `of ${this.count} receivers, those that have exactly what was paid to them`;
    const sums = `${unit} that arrived from ${payments} payments of ${this.value}`;
    const unsure = readWhy ?? why ?? (to === null ? UNSURE : null);
    return [
      checkOf('receivers', right, this.count, describeTally(arrived), unsure),
      checkOf('arrived', sums, this.value * BigInt(payments), grown, unsure),
      checkOf('left', `${leftWords} what arrived`, grown, spent, readWhy ?? leftWhy),
    ];
  }

  /** @param {Paid} paid @param {Reading} reading */
  async #amongPayers({ to, outcomes, fees, why: feesWhy }, reading) {
    const { unit, paysFees } = reading.asset;
    const changed = await tally(reading, this.#addresses.length, (i) => {
      const isKnown = to !== null && !('why' in outcomes);
      const paid = isKnown ? this.value * BigInt(to[i] - outcomes.succeeded[i]) : null;
      const mustGrow = paid === null || !paysFees ? paid : paid - fees[i];
      return { address: this.#addresses[i], before: this.#balances[i], mustGrow };
    });
    const why = ('why' in changed ? changed.why : null) ?? feesWhy;
    const andFees = paysFees ? ' and its fees' : '';
    const right = `wallets that have what they had and received, less what they sent${andFees}`;
    const wallets = checkOf(
      'wallets',
      right,
      this.#addresses.length,
      describeTally(changed),
      why ?? (to === null ? UNSURE : null),
    );
    const words = `${unit} that left ${this.#addresses.length} wallets together, against the fees by their receipts`;
    const left = 'why' in changed ? 0n : -changed.grown;
    return paysFees ? [wallets, checkOf('left', words, total(fees), left, why)] : [wallets];
  }
}

/** @param {Tally | {why: string}} found */
function describeTally(found) {
  if ('why' in found) return '';
  return found.fault === null ? found.right : `${found.right} (${found.fault})`;
}

/**
 * @typedef {{rpc: Rpc, snapshot: AuditSnapshot, asset: Asset, signal: AbortSignal}} Reading
 *
 * @param {Reading} reading
 * @param {number} count
 * @param {(i: number) => {address: string, before: bigint, mustGrow: bigint | null}} accountOf mustGrow: null if unknown
 * @returns {Promise<Tally | {why: string}>}
 */
async function tally({ rpc, snapshot, asset, signal }, count, accountOf) {
  /** @type {Tally} */
  const found = { right: 0, fault: null, grown: 0n };
  const blocks = [{ blockHash: snapshot.blockHash }, toHex(snapshot.blockNumber), 'latest'];
  for (let at = 0; at < count;) {
    if (signal.aborted) return { why: `there was time for ${at} of ${count} balances` };
    const part = Array.from({ length: Math.min(READ_AT_ONCE, count - at) }, (_, i) => accountOf(at + i));
    try {
      const requests = part.map(({ address }) => asset.balanceOf(address, blocks[0]));
      const answers = await rpc.batch(requests, 'audit');
      part.forEach((account, i) => add(found, account, toBigInt(answers[i]), asset.unit));
      at += part.length;
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      // The node lacks EIP-1898 or has pruned the block. In later blocks balances change only by a foreign sender.
      if (!(error instanceof RpcError) || blocks.length === 1) return { why: error.message };
      blocks.shift();
    }
  }
  return found;
}

/** @param {Tally} found @param {{address: string, before: bigint, mustGrow: bigint | null}} account @param {bigint} balance @param {string} unit */
function add(found, { address, before, mustGrow }, balance, unit) {
  const grown = balance - before;
  found.grown += grown;
  if (mustGrow === null || grown === mustGrow) found.right += 1;
  else found.fault ??= `${address} has ${balance} ${unit}, not ${before + mustGrow}`;
}

/** Rollups charge for data on the underlying chain too. @param {Receipt} receipt */
function feeOf({ gasUsed, effectiveGasPrice, l1Fee }) {
  return toBigInt(gasUsed) * toBigInt(effectiveGasPrice) + toBigInt(l1Fee ?? '0x0');
}

/** @param {AbortSignal} signal */
function limited(signal) {
  return AbortSignal.any([signal, AbortSignal.timeout(MAX_AUDIT_MS)]);
}

/** @param {bigint[]} amounts */
function total(amounts) {
  return amounts.reduce((all, one) => all + one, 0n);
}

/** Spreads a difference of a few bits over all 32 (the last step of MurmurHash3, A. Appleby). @param {number} word */
function mix(word) {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
