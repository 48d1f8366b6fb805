import { WALLETS_PER_PAYMENT, disperseData } from '../chain/funding.js';
import { baseFeeOf } from '../chain/fees.js';
import { UnavailableError } from '../errors.js';
import { createPayloads, drawPayloads, payloadGas } from './payload.js';
import { Payments } from './payments.js';

/**
 * The workload `transfer`: payments of a few wei, from each wallet to a random other wallet of the slice, or to one of
 * many addresses made for the run. An operation is verified by the status of its receipt, because a reverted payment
 * raises the wallet's nonce too. The audit compares the balance of each wallet and receiver.
 *
 * @import { Preparation, Rpc } from '../types.d.ts'
 * @import { Kit, TransactionWorkload } from './contract.d.ts'
 * @import { BuiltInOptions } from './index.js'
 * @import { PayloadState } from './payload.js'
 * @import { Asset, PaymentsState } from './payments.js'
 *
 * @typedef {object} TransferState for a worker thread
 * @property {PaymentsState} payments
 * @property {number} first position of its first wallet in the slice
 * @property {bigint} gasLimit
 * @property {PayloadState | null} payloads
 */

/** A plain payment (Ethereum Yellow Paper, appendix G), and an upper bound of its estimate on chains where it costs more. */
const PAYMENT_GAS = 21_000n;
const MAX_PAYMENT_GAS = 25_000n;

/** Receivers created before the load get this amount. */
const FIRST_WEI = 1n;

/** Gas to create WALLETS_PER_PAYMENT receivers: a new account with its payment takes about 34,000. */
const CREATION_GAS = BigInt(WALLETS_PER_PAYMENT) * 40_000n;

/** Creating transactions under way at once. They fill a few blocks, so the base fee rises. */
const MAX_IN_FLIGHT = 20;

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export function createTransfer(options) {
  const { kit, rpc, settings } = options;
  const { receivers = null, createReceivers = null, payload = null, threads = 1 } = settings;
  const state = /** @type {TransferState | undefined} */ (options.state);
  const payments = new Payments(options, state?.payments);
  const payloads = state?.payloads ?? (payload === null ? null : drawPayloads(payload));
  const payloadOf = payloads === null ? null : createPayloads(payloads);
  const ownFirst = state?.first ?? 0;
  let gasLimit = state?.gasLimit ?? 0n;
  const creations = createReceivers === 'before' ? Math.ceil((receivers ?? 0) / WALLETS_PER_PAYMENT) : 0;
  const perWallet = BigInt(Math.ceil(creations / threads)) * CREATION_GAS;
  const { most, likely } = payloadGas(payload);
  /** @type {Asset} */
  const coin = {
    unit: 'wei',
    paysFees: true,
    balanceOf: (address, block) => ({ method: 'eth_getBalance', params: [address, block] }),
    receiverHas: creations > 0 ? FIRST_WEI : 0n,
  };
  /** @param {number} position @param {number} nonce */
  const next = (position, nonce) => {
    const data = payloadOf === null ? '0x' : `0x${payloadOf(ownFirst + position, nonce)}`;
    return { to: payments.receiverOf(position, nonce), data, value: payments.value, gasLimit };
  };
  return {
    kind: 'transaction',
    subject: 'wallets made payments:',
    // Payments between the wallets cost them nothing together.
    valueWei: payments.arePayers ? 0n : payments.value,
    gas: {
      perWallet,
      perOperation: MAX_PAYMENT_GAS + most,
      likely: { perWallet, perOperation: PAYMENT_GAS + likely },
    },
    unprepared: async ({ wallets }) => Math.min(wallets.length, creations),
    prepare: async (preparation) => {
      const { wallets } = preparation;
      payments.begin(wallets, 'transfer');
      if (payments.arePayers) await refuseCode(rpc, wallets);
      if (creations > 0) await createAll(kit, payments, /** @type {Preparation} */ (preparation));
      const { to, data, value } = next(0, wallets[0].nonce);
      gasLimit = await kit.estimateGas({ from: wallets[0].address, to, data, value });
      await payments.readBalances(coin);
    },
    next,
    verify: kit.verifyByReceipt((position, { nonce }) => payments.receiverOf(position, nonce)),
    reconcile: (snapshot) => payments.reconcile(snapshot, coin),
    facts: () => ({
      ...payments.facts,
      ...(payments.arePayers ? {} : { created: creations > 0 ? 'before the load' : 'by the load' }),
      valueWei: String(payments.value),
      payloadBytes: payloads?.bytes ?? 0,
    }),
    handOver: (first) => ({ payments: payments.toState(first), first, gasLimit, payloads }),
  };
}

/** Creates all receivers on the chain. @param {Kit} kit @param {Payments} payments @param {Preparation} preparation the wallets pay in turn */
async function createAll(kit, payments, { wallets, sender, onProgress }) {
  const { count } = payments;
  /** @type {bigint | undefined} */
  let gasLimit;
  for (let at = 0; at < count; at += MAX_IN_FLIGHT * WALLETS_PER_PAYMENT) {
    const end = Math.min(count, at + MAX_IN_FLIGHT * WALLETS_PER_PAYMENT);
    const calls = [];
    for (let from = at; from < end; from += WALLETS_PER_PAYMENT) {
      const position = (from / WALLETS_PER_PAYMENT) % wallets.length;
      calls.push({ position, ...creationOf(payments, from, Math.min(end, from + WALLETS_PER_PAYMENT)) });
    }
    // No later transaction creates more receivers than the first one.
    const [{ to, data, value }] = calls;
    gasLimit ??= await kit.estimateGas({ from: wallets[0].address, to, data, value });
    for (const call of calls) Object.assign(call, { gasLimit });
    await kit.sendAll(calls, 'creating receivers');
    onProgress('creating receivers', end, count);
    sender.fees.observe(baseFeeOf(await sender.rpc.call('eth_getBlockByNumber', ['latest', false], 'setup')));
  }
}

/** @param {Payments} payments @param {number} from @param {number} end */
function creationOf(payments, from, end) {
  const part = Array.from({ length: end - from }, (_, i) => ({
    wallet: { address: payments.addressOf(from + i) },
    missingWei: FIRST_WEI,
  }));
  return { to: null, data: disperseData(part), value: FIRST_WEI * BigInt(end - from) };
}

/** Addresses with code may refuse payments, or need more gas. @param {Rpc} rpc @param {readonly {index: number, address: string}[]} wallets */
async function refuseCode(rpc, wallets) {
  const requests = wallets.map(({ address }) => ({ method: 'eth_getCode', params: [address, 'latest'] }));
  const codes = await rpc.batch(requests, 'setup');
  const found = wallets.find((_, i) => codes[i] !== '0x');
  if (found !== undefined)
    throw new UnavailableError(
      `wallet ${found.index} (${found.address}) has code on this chain, so payments to it may fail: use other wallets (-o), or pay others (--receivers)`,
    );
}
