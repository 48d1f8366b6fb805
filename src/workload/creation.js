import { WALLETS_PER_PAYMENT, disperseData } from '../chain/funding.js';
import { toBigInt, toHex, toNumber } from '../chain/rpc.js';
import { estimateGas, sendAll } from '../chain/send.js';
import { UnavailableError } from '../errors.js';

/**
 * @import { Preparation } from './index.js'
 * @import { Receivers } from './receivers.js'
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
