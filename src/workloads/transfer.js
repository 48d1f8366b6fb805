import { PAYMENT_GAS, WALLETS_PER_PAYMENT, disperseData, largestBatch } from '../chain/funding.js';
import { followFees } from '../chain/wallet-states.js';
import { askAll, codeOf } from '../chain/answers.js';
import { UnavailableError } from '../errors.js';
import { createPayloads, payloadGas } from './payload.js';
import { createPayments } from './payments.js';

/**
 * The workload `transfer`: payments of a few wei, from each wallet to a random other wallet of the slice, or to one of
 * many addresses made for the run. An operation is verified by the status of its receipt, because a reverted payment
 * raises the wallet's nonce too. The audit compares the balance of each wallet and receiver.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Preparation } from '../contracts/load.d.ts'
 * @import { TransactionWorkload as WholeWorkload } from '../contracts/load.d.ts'
 * @import { Kit, TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 * @import { Asset } from './payments.js'
 */

/** An upper bound of the estimate of a payment, on chains where it costs more than usual. */
const MAX_PAYMENT_GAS = 25_000n;

/** Receivers created before the load get this amount. */
const FIRST_WEI = 1n;

/** Gas to create WALLETS_PER_PAYMENT receivers: a new account with its payment takes about 34,000. */
const CREATION_GAS = BigInt(WALLETS_PER_PAYMENT) * 40_000n;

/** Creating transactions under way at once. They fill a few blocks, so the base fee rises. */
const MAX_IN_FLIGHT = 20;

/** @param {BuiltInOptions} options @returns {TransactionWorkload & Pick<WholeWorkload, 'check'>} */
export default function create(options) {
  const { kit, rpc, state, threads = 1 } = options;
  const { receivers = null, createReceivers = null, payload = null } = options.settings;
  const payments = createPayments(options, state);
  const { value, receiversPay } = payments;
  const payloadOf = createPayloads(kit, payload);
  const creations = createReceivers === 'before' ? Math.ceil((receivers ?? 0) / WALLETS_PER_PAYMENT) : 0;
  const perWallet = BigInt(Math.ceil(creations / threads)) * CREATION_GAS;
  const { most, likely } = payloadGas(payload);
  /** @type {Asset} */
  const coin = {
    unit: 'wei',
    paysFees: true,
    balanceOf: (address) => ['eth_getBalance', address],
    receiverHas: creations > 0 ? FIRST_WEI : 0n,
  };
  return {
    kind: 'transaction',
    mayLackCode: true,
    subject: 'wallets made payments:',
    // Payments between the wallets cost them nothing together.
    valueWei: receiversPay ? 0n : value,
    gas: {
      perWallet,
      perOperation: MAX_PAYMENT_GAS + most,
      likely: { perWallet, perOperation: BigInt(PAYMENT_GAS) + likely },
      // Where gas is free, nothing else covers it. What other wallets pay back may come too late.
      value: { perWallet: 0n, perOperation: value },
      ...(!receiversPay && { created: createdBy({ receivers: receivers ?? 0, creations, threads }) }),
    },
    check: async (wallets) => void (receiversPay && (await refuseCode(rpc, wallets))),
    unprepared: async ({ wallets }) => Math.min(wallets.length, creations),
    prepare: async (preparation) => {
      payments.begin('transfer');
      if (creations > 0) await createAll(kit, payments, receivers ?? 0, /** @type {Preparation} */ (preparation));
      await payments.readBalances(coin);
    },
    next: (position, nonce) => {
      return { to: payments.receiverOf(position, nonce), data: `0x${payloadOf(position, nonce)}`, value };
    },
    verify: kit.verifyByReceipt((position, { nonce }) => payments.receiverOf(position, nonce)),
    reconcile: (snapshot) => payments.reconcile(snapshot, coin),
    facts: () => ({
      ...payments.facts,
      ...(receiversPay ? {} : { created: creations > 0 ? 'before the load' : 'by the load' }),
      valueWei: String(value),
      payloadBytes: payload ?? 0,
    }),
    handOver: () => payments.toState(),
  };
}

/** At most. @param {{receivers: number, creations: number, threads: number}} counts creations: transactions before the load that create receivers */
function createdBy({ receivers, creations, threads }) {
  if (creations === 0) return { perWallet: 0n, perOperation: 1n };
  return { perWallet: BigInt(Math.ceil(receivers / threads)), perOperation: 0n };
}

/**
 * Creates all receivers on the chain; the wallets pay in turn.
 * @param {Kit} kit
 * @param {ReturnType<typeof createPayments>} payments
 * @param {number} count
 * @param {Preparation} preparation
 */
async function createAll(kit, { addressOf }, count, { wallets, sender, onProgress }) {
  const partAt = (/** @type {number} */ at, /** @type {number} */ size) =>
    Array.from({ length: Math.min(size, count - at) }, (_, i) => {
      return { wallet: { address: addressOf(at + i) }, missingWei: FIRST_WEI };
    });
  /** @param {ReturnType<typeof partAt>} part */
  const callOf = (part) => ({ to: null, data: disperseData(part), value: FIRST_WEI * BigInt(part.length) });
  const [{ address: from }] = wallets;
  const most = partAt(0, WALLETS_PER_PAYMENT);
  const perCall = await largestBatch(most, sender, (part) => kit.estimateGas({ from, ...callOf(part) }));
  for (let at = 0; at < count; at += MAX_IN_FLIGHT * perCall) {
    const end = Math.min(count, at + MAX_IN_FLIGHT * perCall);
    const calls = [];
    for (let first = at; first < end; first += perCall)
      calls.push({ position: (first / perCall) % wallets.length, ...callOf(partAt(first, perCall)) });
    // The first transaction, whose gas is estimated, creates as many receivers as any other.
    await kit.sendAll(calls, 'creating receivers');
    onProgress('creating receivers', end, count);
    await followFees(sender);
  }
}

/** Addresses with code may refuse payments, or need more gas. @param {Rpc} rpc @param {readonly {index: number, address: string}[]} wallets */
async function refuseCode(rpc, wallets) {
  const questions = wallets.map(({ address }) => codeOf(address));
  const codes = await askAll(rpc, questions, 'setup');
  const found = wallets.find((_, i) => codes[i] !== '0x');
  if (found !== undefined)
    throw new UnavailableError(
      `wallet ${found.index} (${found.address}) has code on this chain, so payments to it may fail: use other wallets (-o), or pay others (--receivers)`,
    );
}
