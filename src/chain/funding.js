import { readFileSync } from 'node:fs';
import { AbiCoder, formatEther } from 'ethers';
import { ForeignSenderError, InterruptedError, UnavailableError } from '../errors.js';
import { toBigInt, toHex, toNumber } from './rpc.js';
import { estimateGas, findMinedTransaction, sendAll } from './send.js';

/**
 * What wallets have, what they lack, and how they get it.
 *
 * @typedef {object} WalletState
 * @property {bigint} balanceWei
 * @property {number} latest nonce of the latest block
 * @property {number} pending nonce including what waits in the pool
 *
 * @typedef {import('./wallets.js').Wallet} Wallet
 */

/** Wallets paid by one transaction: some 8 million gas, which fits into half a block nearly everywhere. */
export const WALLETS_PER_PAYMENT = 200;

/** How long a slice in use is watched, to name all of its wallets and not just the first, in milliseconds. */
const FOREIGN_WATCH_MS = 1000;

/** A plain payment (Ethereum Yellow Paper, appendix G). */
const TRANSFER_GAS = 21_000;

/** @param {import('./rpc.js').Rpc} rpc @param {Wallet[]} wallets @returns {Promise<WalletState[]>} */
async function readStates(rpc, wallets) {
  const answers = await rpc.batch(
    wallets.flatMap(({ address }) => [
      { method: 'eth_getBalance', params: [address, 'latest'] },
      { method: 'eth_getTransactionCount', params: [address, 'latest'] },
      { method: 'eth_getTransactionCount', params: [address, 'pending'] },
    ]),
    'setup',
  );
  return wallets.map((_, i) => ({
    balanceWei: toBigInt(answers[3 * i]),
    latest: toNumber(answers[3 * i + 1]),
    pending: toNumber(answers[3 * i + 2]),
  }));
}

/**
 * Waits until no wallet has a transaction in the pool, and sets each wallet's next nonce.
 * @param {{rpc: import('./rpc.js').Rpc, clock: import('../clock.js').Clock, signal: AbortSignal, timeoutMs: number}} sender
 * @param {Wallet[]} wallets
 * @returns {Promise<WalletState[]>}
 * @throws {ForeignSenderError} a wallet's nonce passed what was pending when we came: somebody else mines with it
 * @throws {UnavailableError} still pending after timeoutMs
 */
export async function settleWallets({ rpc, clock, signal, timeoutMs }, wallets) {
  const deadlineUs = clock.nowUs() + timeoutMs * 1000;
  const states = await readStates(rpc, wallets);
  const pendingAtFirst = states.map(({ pending }) => pending);
  let open = wallets.map((_, i) => i).filter((i) => states[i].latest !== states[i].pending);
  while (open.length > 0) {
    if (signal.aborted) throw new InterruptedError('interrupted during set-up');
    if (clock.nowUs() > deadlineUs) {
      throw new UnavailableError(
        `${listWallets(open.map((i) => wallets[i]))} still have transactions in the node's pool after ${timeoutMs / 1000} s: wait until they are mined, or use other wallets (-o)`,
      );
    }
    await clock.sleep(200, signal);
    const now = await readStates(
      rpc,
      open.map((i) => wallets[i]),
    );
    now.forEach((state, k) => (states[open[k]] = state));
    // One more than was pending may be the last of an earlier run that was killed; two are somebody at work.
    if (open.some((i) => states[i].latest > pendingAtFirst[i] + 1)) {
      await clock.sleep(FOREIGN_WATCH_MS, signal);
      throw await foreignSender(rpc, wallets, pendingAtFirst);
    }
    open = open.filter((i) => states[i].latest !== states[i].pending);
  }
  wallets.forEach((wallet, i) => (wallet.nonce = states[i].latest));
  return states;
}

/**
 * We have sent nothing, and yet transactions were mined.
 * @param {import('./rpc.js').Rpc} rpc
 * @param {Wallet[]} wallets
 * @param {number[]} pendingAtFirst nonces when we came, including what was in the pool
 */
async function foreignSender(rpc, wallets, pendingAtFirst) {
  const states = await readStates(rpc, wallets);
  const used = wallets.filter((_, i) => states[i].latest > pendingAtFirst[i]);
  const nonce = pendingAtFirst[wallets.indexOf(used[0])];
  const mined = await findMinedTransaction(rpc, used[0].address, nonce, 0).catch(() => null);
  return new ForeignSenderError(
    `another sender uses ${listWallets(used)}: transaction ${mined?.hash ?? '(hash not found)'} (wallet ${used[0].index}, nonce ${nonce}) was mined while we had sent none; give each instance its own wallets (-o)`,
  );
}

/**
 * What each wallet lacks, in wei.
 * @param {Wallet[]} wallets
 * @param {WalletState[]} states
 * @param {bigint} needWei of each wallet
 * @returns {Array<{wallet: Wallet, missingWei: bigint}>}
 */
export function shortfalls(wallets, states, needWei) {
  return wallets
    .map((wallet, i) => ({ wallet, missingWei: needWei - states[i].balanceWei }))
    .filter(({ missingWei }) => missingWei > 0n);
}

/**
 * @param {Array<{wallet: Wallet, missingWei: bigint}>} missing
 * @param {bigint} needWei
 * @param {string} [cure]
 * @returns {UnavailableError}
 */
export function fundsMissing(missing, needWei, cure = "fund them with --fund-from or 'stress fund'") {
  const total = missing.reduce((sum, { missingWei }) => sum + missingWei, 0n);
  const first = missing
    .slice(0, 3)
    .map(({ wallet, missingWei }) => `${wallet.index} (${wallet.address}) lacks ${ether(missingWei)}`);
  return new UnavailableError(
    `${missing.length} wallet${missing.length === 1 ? ' has' : 's have'} less than the ${ether(needWei)} this run may need, ${ether(total)} in all: ` +
      `wallet ${first.join(', ')}${missing.length > 3 ? ', ...' : ''}; ${cure}, or set the need with --fund-amount`,
  );
}

/**
 * Tops wallets up through Disperse, hundreds of them in one transaction.
 * @param {import('./send.js').Sender} sender
 * @param {Wallet} funder
 * @param {Array<{wallet: Wallet, missingWei: bigint}>} missing
 * @param {(done: number) => void} [onProgress]
 * @returns {Promise<{transactions: number, paidWei: bigint}>}
 */
export async function topUp(sender, funder, missing, onProgress) {
  const [{ balanceWei }] = await settleWallets(sender, [funder]);
  const parts = [];
  for (let at = 0; at < missing.length; at += WALLETS_PER_PAYMENT)
    parts.push(missing.slice(at, at + WALLETS_PER_PAYMENT));
  if (parts.length === 0) return { transactions: 0, paidWei: 0n };
  const paidWei = missing.reduce((sum, { missingWei }) => sum + missingWei, 0n);
  if (balanceWei < paidWei) throw funderTooPoor(funder, balanceWei, paidWei);

  const orders = parts.map((part) => {
    const value = part.reduce((sum, { missingWei }) => sum + missingWei, 0n);
    return { wallet: funder, to: null, data: disperseData(part), value, gasLimit: 0n };
  });
  const gasLimits = await Promise.all(
    orders.map(({ data, value }) => estimateGas(sender.rpc, { from: funder.address, data, value: toHex(value) })),
  );
  const gas = gasLimits.reduce((sum, limit) => sum + limit, 0n);
  const costWei = paidWei + gas * sender.fees.worstPriceWei();
  if (balanceWei < costWei) throw funderTooPoor(funder, balanceWei, costWei);
  const receipts = await sendAll(
    sender,
    orders.map((order, i) => ({ ...order, gasLimit: gasLimits[i] })),
    (done) => onProgress?.(Math.min(done * WALLETS_PER_PAYMENT, missing.length)),
  );
  const failed = receipts.find(({ status }) => toNumber(status) !== 1);
  if (failed !== undefined)
    throw new UnavailableError(`the payment ${failed.transactionHash} was reverted: no wallet in it was funded`);
  return { transactions: orders.length, paidWei };
}

/**
 * Sends what wallets have, less the fee, to one address.
 * @param {import('./send.js').Sender} sender
 * @param {Wallet[]} wallets
 * @param {string} to
 * @param {(done: number) => void} [onProgress]
 * @returns {Promise<{wallets: number, returnedWei: bigint}>}
 */
export async function reclaim(sender, wallets, to, onProgress) {
  const states = await settleWallets(sender, wallets);
  const gas = toNumber(
    await sender.rpc.call('eth_estimateGas', [{ from: wallets[0].address, to, value: '0x0' }], 'setup'),
  );
  // A plain payment costs its price to the unit, so that nothing is left over; a contract may want more.
  const gasLimit = gas === TRANSFER_GAS ? BigInt(gas) : BigInt(Math.ceil(gas * 1.2));
  // The price paid is fixed by making the tip as large as the whole offer.
  const price = sender.fees.worstPriceWei();
  const fee =
    sender.fees.mode === 'legacy' ? { gasPriceWei: price } : { maxFeePerGasWei: price, maxPriorityFeePerGasWei: price };
  const costWei = gasLimit * price;
  const orders = wallets.flatMap((wallet, i) =>
    states[i].balanceWei > costWei ? [{ wallet, to, data: '0x', value: states[i].balanceWei - costWei, gasLimit }] : [],
  );
  const receipts = await sendAll({ ...sender, fees: { ...sender.fees, current: () => fee } }, orders, onProgress);
  const failed = receipts.filter(({ status }) => toNumber(status) !== 1);
  if (failed.length > 0) {
    throw new UnavailableError(
      `${failed.length} of ${orders.length} payments to ${to} were reverted (the first: ${failed[0].transactionHash}): does it take payments?`,
    );
  }
  return { wallets: orders.length, returnedWei: orders.reduce((sum, { value }) => sum + value, 0n) };
}

/** Transactions that pay so many wallets. @param {number} wallets */
export function paymentsFor(wallets) {
  return Math.ceil(wallets / WALLETS_PER_PAYMENT);
}

/** What deploys a Disperse that pays them. @param {Array<{wallet: {address: string}, missingWei: bigint}>} part */
export function disperseData(part) {
  const { bytecode } = JSON.parse(
    readFileSync(new URL('../../contracts/artifacts/Disperse.json', import.meta.url), 'utf8'),
  );
  const args = AbiCoder.defaultAbiCoder().encode(
    ['address[]', 'uint256[]'],
    [part.map(({ wallet }) => wallet.address), part.map(({ missingWei }) => missingWei)],
  );
  return bytecode + args.slice(2);
}

/** @param {Wallet} funder @param {bigint} balanceWei @param {bigint} costWei */
export function funderTooPoor(funder, balanceWei, costWei) {
  return new UnavailableError(
    `the funder ${funder.address} has ${ether(balanceWei)}, the payments need ${ether(costWei)}`,
  );
}

/** @param {bigint} wei */
export function ether(wei) {
  return `${formatEther(wei)} ether`;
}

/** @param {Wallet[]} wallets */
export function listWallets(wallets) {
  return `wallets ${indexRanges(wallets.map(({ index }) => index))}`;
}

/**
 * Indexes as ranges a person can read: 0..49, 52.
 * @param {number[]} indexes
 */
export function indexRanges(indexes) {
  const sorted = [...new Set(indexes)].sort((a, b) => a - b);
  /** @type {Array<[number, number]>} */
  const ranges = [];
  for (const index of sorted) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  const shown = ranges.slice(0, 10).map(([from, to]) => (from === to ? `${from}` : `${from}..${to}`));
  return shown.join(', ') + (ranges.length > 10 ? `, ... (${sorted.length} in all)` : '');
}
