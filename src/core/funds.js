import { baseFeeOf } from '../chain/fees.js';
import { funderTooPoor, reclaim, settleWallets, shortfalls, topUp } from '../chain/funding.js';
import { deriveWallets } from './connect.js';
import { paymentsWei } from './costs.js';
import { refuseOwnFunder } from './setup.js';

/**
 * @import { Wallet } from '../chain/keys.js'
 * @import { Account, Sender, Tools } from '../types.d.ts'
 * @import { Slice } from './nonces.js'
 */

/**
 * Funds the wallets of all instances before a run and reclaims the rest afterwards. With up to 1,000 slices of 10,000
 * wallets, only one part of the wallets is in memory at a time.
 *
 * @typedef {object} Needs known before the first payment
 * @property {number} wallets to pay
 * @property {bigint} movedWei total of the payments
 */

/**
 * Wallets in memory, and paid before the fee is updated: 25 payments, fewer full blocks than the offered fee covers.
 */
const WALLETS_AT_ONCE = 5000;

/** @returns {Account} */
export function emptyAccount() {
  return { wallets: 0, transactions: 0, wei: 0n };
}

/** @param {Slice & {instances: number | null}} config @returns {Slice} */
export function slicesOf({ offset, threads, instances }) {
  return { offset, threads: threads * (instances ?? 1) };
}

/**
 * Tops up all wallets. All are read before the first payment, so that the total is known; several parts are derived and
 * read again for their payment.
 * @param {Tools & {funder: Wallet, needWei: bigint}} tools
 * @param {Account} account
 * @param {(needs: Needs) => void} onNeeds called before the first payment; may throw
 * @returns {Promise<void>}
 */
export async function fundAll(tools, account, onNeeds) {
  const { funder, sender, onProgress } = tools;
  const parts = partsOf(tools.all);
  /** @type {Needs & {parts: Slice[]}} */
  const needs = { wallets: 0, movedWei: 0n, parts: [] };
  /** @type {Awaited<ReturnType<typeof readPart>> | null} */
  let last = null;
  for (const part of parts) {
    last = await readPart(tools, part, onProgress);
    refuseOwnFunder(funder, last.wallets);
    needs.wallets += last.missing.length;
    for (const { missingWei } of last.missing) needs.movedWei += missingWei;
    if (last.missing.length > 0) needs.parts.push(part);
  }
  onNeeds(needs);
  if (parts.length > 1) await checkFunder(tools, needs);
  for (const part of needs.parts) {
    const { missing } = parts.length === 1 && last !== null ? last : await readPart(tools, part);
    await followFees(sender);
    const before = account.wallets;
    const paid = await topUp(sender, funder, missing, (done) => {
      account.wallets = before + done;
      onProgress('funding wallets', account.wallets, needs.wallets);
    });
    account.wallets = before + missing.length;
    account.transactions += paid.transactions;
    account.wei += paid.paidWei;
  }
}

/** Sends the balance of all wallets to one address. @param {Tools} tools @param {string} to @param {Account} account */
export async function reclaimAll({ all, source, sender, onProgress }, to, account) {
  for (const part of partsOf(all)) {
    const wallets = await deriveWallets(source, part, sender.signal, () => {});
    await followFees(sender);
    const before = account.wallets;
    const back = await reclaim(sender, wallets, to, (done) => {
      account.wallets = before + done;
      onProgress('reclaiming', part.offset - all.offset + done, all.threads);
    });
    account.wallets = before + back.wallets;
    account.transactions += back.wallets;
    account.wei += back.returnedWei;
  }
}

/** @param {Slice} all @returns {Slice[]} */
function partsOf({ offset, threads }) {
  const count = Math.ceil(threads / WALLETS_AT_ONCE);
  return Array.from({ length: count }, (_, i) => ({
    offset: offset + i * WALLETS_AT_ONCE,
    threads: Math.min(WALLETS_AT_ONCE, threads - i * WALLETS_AT_ONCE),
  }));
}

/** @param {Tools & {needWei: bigint}} tools @param {Slice} part @param {Tools['onProgress']} [onProgress] */
async function readPart({ all, source, sender, needWei }, part, onProgress = () => {}) {
  const wallets = await deriveWallets(source, part, sender.signal, (_, done) =>
    onProgress('reading wallets', part.offset - all.offset + done, all.threads),
  );
  return { wallets, missing: shortfalls(wallets, await settleWallets(sender, wallets), needWei) };
}

/** topUp() checks a single part itself. @param {Tools & {funder: Wallet}} tools @param {Needs} needs */
async function checkFunder({ funder, sender }, { wallets, movedWei }) {
  const [{ balanceWei }] = await settleWallets(sender, [funder]);
  const costWei = movedWei + paymentsWei(wallets, sender.fees);
  if (wallets > 0 && balanceWei < costWei) throw funderTooPoor(funder, balanceWei, costWei);
}

/** The payments fill blocks, which raises the base fee. @param {Sender} sender */
async function followFees({ rpc, fees }) {
  const latest = await rpc.call('eth_getBlockByNumber', ['latest', false], 'setup');
  fees.observe(baseFeeOf(latest));
}
