import { readFileSync } from 'node:fs';
import { AbiCoder } from 'ethers/abi';
import { ForeignSenderError, FundsError, InterruptedError, RpcError, UnavailableError } from '../errors.js';
import { amountAtMost, exactAmount } from '../coin.js';
import { HEAD, ask, gasOf, headerAt, toHex } from './answers.js';
import { isFunder } from './keys.js';
import { Leftovers } from './leftovers.js';
import {
  NonceTakenError,
  PriceRefusedError,
  estimateGas,
  findMinedTransaction,
  nameOf,
  release,
  sendAll,
} from './send.js';
import { followFees, listWallets, othersOf, partsOf, readPool, readStates } from './wallet-states.js';

/**
 * @import { Order, Rpc, Sender, Wallet } from '../contracts/chain.d.ts'
 * @import { Pooled } from './answers.js'
 * @import { WalletState } from './wallet-states.js'
 */

/**
 * Balances and nonces of wallets before a run: waits for pending transactions, fills nonce gaps that an earlier run
 * left, funds the wallets and returns their funds.
 */

/** Wallets funded by one transaction: about 8 million gas, half a block or less on nearly all chains. */
export const WALLETS_PER_PAYMENT = 200;

/** Wallets paid before the fee is updated: their payments fill fewer blocks than the offered fee covers. */
const WALLETS_AT_ONCE = 5000;
const ORDERS_AT_ONCE = WALLETS_AT_ONCE / WALLETS_PER_PAYMENT;

/** No transaction may take more (EIP-7825). Other chains allow more, but nothing here needs it. */
export const MAX_TRANSACTION_GAS = 2 ** 24;

/** At least so long an endpoint may lag: nonces that grow then are no evidence of another sender. */
const LAG_MS = 5000;

/** How long a slice with a foreign sender is watched, to name all affected wallets. */
const FOREIGN_WATCH_MS = 1000;

/** A pooled transaction whose nonce does not become the next one within this time waits for a missing nonce. */
const STUCK_MS = 1000;

/** Most missing nonces of a wallet that are filled; geth keeps 64 queued transactions per account. */
const MAX_FILLED = 64;

/** A plain payment (Ethereum Yellow Paper, appendix G). */
export const PAYMENT_GAS = 21_000;

/**
 * Waits until no wallet has a transaction in the pool, and sets each wallet's next nonce. What an earlier run has left there,
 * and blocks leave out because the base fee or the tips have risen since, is replaced by empty transactions.
 * @param {Pick<Sender, 'rpc' | 'clock' | 'signal' | 'timeoutMs'> & Partial<Sender>} sender without fees nothing is replaced
 * @param {Wallet[]} wallets
 * @returns {Promise<WalletState[]>}
 * @throws {ForeignSenderError} wallets send although this run has sent nothing yet
 * @throws {UnavailableError} still pending after timeoutMs
 */
export async function settleWallets(sender, wallets) {
  const { rpc, clock, signal, timeoutMs } = sender;
  const startUs = clock.nowUs();
  const startS = Math.floor(clock.wallMs() / 1000);
  const states = await readStates(rpc, wallets);
  const pendingAtFirst = states.map(({ pending }) => pending);
  let open = wallets.map((_, i) => i).filter((i) => states[i].latest < states[i].pending);
  const leftovers = new Leftovers(sender);
  while (open.length > 0) {
    if (signal.aborted) throw new InterruptedError('interrupted during set-up');
    if (clock.nowUs() > startUs + timeoutMs * 1000) {
      throw stillInPool(
        open.map((i) => wallets[i]),
        timeoutMs,
      );
    }
    await clock.sleep(200, signal);
    const now = await readStates(
      rpc,
      open.map((i) => wallets[i]),
    );
    const isLate = clock.nowUs() > startUs + LAG_MS * 1000;
    // One more may be the last transaction of an earlier run, and at first an endpoint that lags catches up.
    const active = open.findIndex((i, k) => now[k].latest > Math.max(pendingAtFirst[i] + 1, states[i].latest));
    now.forEach((state, k) => (states[open[k]] = state));
    const isActive = isLate && active >= 0;
    const foreign = wallets[open[active]];
    const proof = isActive ? await minedSince(rpc, foreign, now[active].latest - 1, startS) : null;
    if (proof !== null) {
      await clock.sleep(FOREIGN_WATCH_MS, signal);
      // This run has sent nothing yet.
      const latest = await readStates(rpc, wallets);
      const others = wallets.filter((wallet, i) => wallet !== foreign && latest[i].latest > pendingAtFirst[i]);
      throw foreignSender([foreign, ...others], proof);
    }
    if (isActive) for (const i of open) pendingAtFirst[i] = Math.max(pendingAtFirst[i], states[i].pending);
    await leftovers.look(open.map((i) => ({ wallet: wallets[i], pendingAtFirst: pendingAtFirst[i], ...states[i] })));
    open = open.filter((i) => states[i].latest < states[i].pending);
  }
  wallets.forEach((wallet, i) => (wallet.nonce = states[i].latest));
  return states;
}

/**
 * A wallet's transaction, if its block was made after that second. In an older one it may be of a run before, which an
 * endpoint that lags had not told yet.
 * @param {Rpc} rpc
 * @param {Pick<Wallet, 'address'>} wallet
 * @param {number} nonce
 * @param {number} fromS time of day
 */
export async function minedSince(rpc, { address }, nonce, fromS) {
  const mined = await findMinedTransaction(rpc, address, nonce, 0).catch(() => null);
  const header = mined && (await ask(rpc, headerAt(mined.blockNumber), 'setup').catch(() => null));
  // Timestamps are whole seconds.
  return mined !== null && (header?.timestampS ?? 0) > fromS ? { hash: mined.hash, nonce } : null;
}

/**
 * The error for wallets that have mined transactions which are not of this run.
 * @param {Wallet[]} used
 * @param {{hash: string, nonce: number}} proof a transaction of the first one
 */
export function foreignSender(used, { hash, nonce }) {
  const walletIndex = isFunder(used[0]) ? null : used[0].index;
  return new ForeignSenderError(describeForeign(listWallets(used), { hash, walletIndex, nonce }));
}

/**
 * The other run may have ended, and its transaction may have waited in a pool since.
 * @param {string} owner the wallets
 * @param {{hash: string, walletIndex: number | null, nonce: number}} transaction walletIndex: null: of the funder
 */
export function describeForeign(owner, { hash, walletIndex, nonce }) {
  const [place, shared, option] =
    walletIndex === null ? ['', 'funder', ''] : [`wallet ${walletIndex}, `, 'wallets', ' (-o)'];
  return `${owner} sent a transaction that is not of this run: ${hash} (${place}nonce ${nonce}) was mined; another run uses the same ${shared}, or left it in a pool before: give each run its own ${shared}${option}`;
}

/** @param {Wallet[]} wallets @param {number} timeoutMs */
function stillInPool(wallets, timeoutMs) {
  return new UnavailableError(
    `transactions of ${listWallets(wallets)} are still in the node's pool after ${timeoutMs / 1000} s: wait until they are mined, or ${othersOf(wallets[0])}`,
  );
}

/**
 * Fills nonce gaps: an earlier run may have left transactions in the node's pool behind a nonce that was never sent. An
 * empty transaction for each missing nonce lets the chain mine them before the load. Without access to the pool, as on
 * public endpoints, nothing is done.
 * @param {Sender} sender
 * @param {Wallet[]} wallets with their next nonces, and without pending transactions
 * @param {(line: string) => void} notice
 * @throws {UnavailableError} the transactions do not get into a block
 */
export async function mineQueued(sender, wallets, notice) {
  const { rpc, clock, signal, timeoutMs } = sender;
  let deadlineUs = clock.nowUs() + timeoutMs * 1000;
  /** First pooled nonce of each wallet at the previous check. @type {Map<Wallet, number> | null} */
  let before = null;
  let gas = 0n;
  for (let open = wallets; ;) {
    const pooled = await pooledNonces(rpc, open);
    if (pooled === null) return;
    // Read after the pool, so that transactions mined in between are counted.
    const states = before === null ? [] : await readStates(rpc, open);
    states.forEach(({ latest }, i) => (open[i].nonce = latest));
    open = open.filter((wallet) => pooled.has(wallet));
    if (open.length === 0) return;
    if (signal.aborted) throw new InterruptedError('interrupted during set-up');
    if (clock.nowUs() > deadlineUs) throw stillInPool(open, timeoutMs);
    const stuck = open.filter((wallet) => {
      const first = /** @type {number} */ (pooled.get(wallet));
      return first > wallet.nonce && before?.get(wallet) === first;
    });
    const orders = stuck.flatMap((wallet) => fillersOf(wallet, /** @type {number} */ (pooled.get(wallet))));
    if (orders.length > 0) {
      if (gas === 0n) {
        notice(
          `transactions of ${listWallets(stuck)} in the node's pool wait for a missing nonce, such as those of a run that was killed: empty transactions fill the gaps, so that they are mined before the load`,
        );
        gas = await estimateGas(rpc, { from: stuck[0].address, to: stuck[0].address, data: '0x' });
      }
      await sendAll(
        sender,
        orders.map((order) => ({ ...order, gasLimit: gas })),
      );
      deadlineUs = clock.nowUs() + timeoutMs * 1000;
    }
    before = pooled;
    await clock.sleep(STUCK_MS, signal);
  }
}

/**
 * Waits until the funder has no transaction in the pool.
 * @param {Sender} sender
 * @param {Wallet} funder
 * @param {(line: string) => void} [notice]
 * @returns {Promise<WalletState>}
 */
export async function settleFunder(sender, funder, notice = () => {}) {
  const [state] = await settleWallets({ ...sender, notice }, [funder]);
  await mineQueued(sender, [funder], notice);
  return { ...state, latest: funder.nonce };
}

/** @param {Wallet} wallet @param {number} first pooled nonce @returns {Order[]} */
function fillersOf(wallet, first) {
  const missing = first - wallet.nonce;
  if (missing > MAX_FILLED)
    throw new UnavailableError(
      `${nameOf(wallet)} has a transaction with nonce ${first} in the node's pool, and its next nonce is ${wallet.nonce}: the load would run into it; ${othersOf(wallet)}, or have the node drop it`,
    );
  return Array.from({ length: missing }, () => ({ wallet, to: wallet.address, data: '0x', value: 0n, gasLimit: 0n }));
}

/**
 * The lowest pooled nonce of each wallet that has any.
 * @param {Rpc} rpc
 * @param {Wallet[]} wallets
 */
async function pooledNonces(rpc, wallets) {
  const pool = await readPool(rpc, wallets);
  return pool && new Map([...pool].map(([wallet, { nonces }]) => [wallet, Math.min(...nonces)]));
}

/**
 * @param {Wallet[]} wallets
 * @param {WalletState[]} states
 * @param {bigint} needWei of each wallet
 * @param {Map<Wallet, Pooled> | null} [pool] transactions of an earlier run that will be mined first
 * @returns {Array<{wallet: Wallet, missingWei: bigint}>} the wallets that have less
 */
export function shortfalls(wallets, states, needWei, pool = null) {
  return wallets
    .map((wallet, i) => ({ wallet, missingWei: needWei + (pool?.get(wallet)?.costWei ?? 0n) - states[i].balanceWei }))
    .filter(({ missingWei }) => missingWei > 0n);
}

/**
 * @param {Array<{wallet: Wallet, missingWei: bigint}>} missing
 * @param {bigint} needWei
 * @param {string} [remedy]
 * @returns {UnavailableError}
 */
export function fundsMissing(missing, needWei, remedy = "fund them with --fund-from or 'stress fund'") {
  const total = missing.reduce((sum, { missingWei }) => sum + missingWei, 0n);
  const first = missing
    .slice(0, 3)
    .map(({ wallet, missingWei }) => `${wallet.index} (${wallet.address}) lacks ${exactAmount(missingWei)}`);
  return new FundsError(
    `${missing.length} wallet${missing.length === 1 ? ' has' : 's have'} less than the ${exactAmount(needWei)} this run may need, ${exactAmount(total)} in all: ` +
      `wallet ${first.join(', ')}${missing.length > 3 ? ', ...' : ''}; ${remedy}, or set the need with --fund-amount`,
  );
}

/**
 * @typedef {object} Payments
 * @property {Array<Order & {gasLimit: bigint}>} orders
 * @property {number} perOrder wallets in each
 * @property {bigint} gas of all
 * @property {bigint} paidWei
 */

/**
 * Payments through the Disperse contract, many in one transaction: as many as the chain lets one pay. What a payment to a
 * new account costs differs between chains (EIP-8037: ten times as much as before).
 * @param {Sender} sender
 * @param {Wallet} funder
 * @param {Array<{wallet: {address: string}, missingWei: bigint}>} missing
 * @param {(line: string) => void} [notice]
 * @returns {Promise<Payments>}
 * @throws {FundsError} the funder has too little
 * @throws {UnavailableError} the chain allows no payment
 */
export async function planPayments(sender, funder, missing, notice) {
  const { balanceWei } = await settleFunder(sender, funder, notice);
  const sumOf = (/** @type {typeof missing} */ part) => part.reduce((sum, { missingWei }) => sum + missingWei, 0n);
  const paidWei = sumOf(missing);
  if (balanceWei < paidWei) throw funderTooPoor(funder, balanceWei, paidWei);
  const estimate = async (/** @type {typeof missing} */ part) => {
    const [data, value] = [disperseData(part), sumOf(part)];
    const gasLimit = await estimateGas(sender.rpc, { from: funder.address, data, value: toHex(value) });
    return { wallet: funder, to: null, data, value, gasLimit };
  };
  const perOrder = await largestBatch(missing, sender, async (part) => (await estimate(part)).gasLimit);
  /** @type {Payments['orders']} */
  const orders = [];
  for (const wave of partsOf(partsOf(missing, perOrder), ORDERS_AT_ONCE))
    orders.push(...(await Promise.all(wave.map(estimate))));
  const gas = orders.reduce((sum, { gasLimit }) => sum + gasLimit, 0n);
  const costWei = paidWei + gas * sender.fees.worstPriceWei();
  if (balanceWei < costWei) throw funderTooPoor(funder, balanceWei, costWei);
  return { orders, perOrder, gas, paidWei };
}

/**
 * How many of the items fit into a transaction.
 * @template T
 * @param {T[]} items
 * @param {{blockGasLimit?: number | null}} chain
 * @param {(part: T[]) => Promise<bigint>} gasOfPart rejects with RpcError if the node allows no such transaction
 * @returns {Promise<number>}
 */
export async function largestBatch(items, { blockGasLimit }, gasOfPart) {
  const cap = BigInt(Math.min(MAX_TRANSACTION_GAS, blockGasLimit ?? Infinity));
  for (let size = Math.min(WALLETS_PER_PAYMENT, items.length); ; size = Math.ceil(size / 2)) {
    const isLast = size === 1;
    const gas = await gasOfPart(items.slice(0, size)).catch((error) => {
      if (isLast || !(error instanceof RpcError)) throw error;
      return null;
    });
    if (gas !== null && gas <= cap) return size;
    if (isLast)
      throw new UnavailableError(
        `a payment takes ${gas} gas, and a transaction of this chain may take ${cap}: use wallets that have funds`,
      );
  }
}

/** Times that payments are planned again: the price of the first one was refused, or another sender has used its nonce. */
const MAX_PLANS = 8;

/** So many blocks on top of that of another transaction with the nonce of a payment prove that the payment is void. */
const PROOF_BLOCKS = 3;

/**
 * Pays until nothing is missing.
 * @param {Sender} sender
 * @param {() => Promise<Payments | null>} plan reads the balances; null: nothing is missing
 * @param {(done: number) => void} [onProgress] wallets
 * @returns {Promise<{transactions: number, paidWei: bigint}>}
 */
export async function payMissing(sender, plan, onProgress) {
  const sum = { transactions: 0, paidWei: 0n };
  for (let plans = 1; ; plans += 1) {
    const payments = await plan();
    if (payments === null) return sum;
    try {
      const { isWhole, transactions, paidWei } = await pay(sender, payments, onProgress);
      sum.transactions += transactions;
      sum.paidWei += paidWei;
      if (isWhole) return sum;
    } catch (error) {
      if (!(error instanceof NonceTakenError) || !isFunder(error.wallet) || plans >= MAX_PLANS) throw error;
      sum.transactions += error.mined.length;
      sum.paidWei += error.mined.reduce((wei, { value }) => wei + value, 0n);
      for (const taken of [error, ...error.others]) await untilVoid(sender, taken);
      // Later payments may still wait in the pool: balances are read when they are mined.
      await settleFunder(sender, error.wallet, sender.notice);
    }
  }
}

/** @param {Sender} sender @param {NonceTakenError} taken @throws {NonceTakenError} it is not proved */
async function untilVoid(sender, taken) {
  const { rpc, clock, signal, timeoutMs, notice } = sender;
  const { wallet, nonce, hashes } = taken;
  const endUs = clock.nowUs() + timeoutMs * 1000;
  while (!signal.aborted && clock.nowUs() < endUs) {
    const mined = await findMinedTransaction(rpc, wallet.address, nonce, 0).catch(() => null);
    if (mined !== null && (await ask(rpc, HEAD, 'setup')) >= mined.blockNumber + PROOF_BLOCKS) {
      if (hashes.includes(mined.hash)) return;
      release(sender, taken.sent);
      notice?.(`another sender has used nonce ${nonce} of the funder (${mined.hash}): the payments are planned again`);
      return;
    }
    await clock.sleep(500, signal);
  }
  throw taken;
}

/**
 * The first payment is sent alone: its price may be refused. If the offer was raised, the rest is not sent, because the
 * wallets need more than was planned.
 * @param {Sender} sender
 * @param {Payments} payments
 * @param {(done: number) => void} [onProgress] wallets
 * @returns {Promise<{isWhole: boolean, transactions: number, paidWei: bigint}>}
 */
export async function pay(sender, { orders, perOrder, paidWei }, onProgress) {
  const before = sender.fees.state();
  const parts = [orders.slice(0, 1), ...partsOf(orders.slice(1), ORDERS_AT_ONCE)];
  let done = 0;
  for (const wave of parts) {
    await followFees(sender);
    const receipts = await sendAll(sender, wave, (mined) => onProgress?.((done + mined) * perOrder)).catch((error) => {
      if (error instanceof NonceTakenError) error.mined.unshift(...orders.slice(0, done));
      throw error;
    });
    const failed = receipts.find(({ isSuccess }) => !isSuccess);
    if (failed !== undefined)
      throw new UnavailableError(`the payment ${failed.hash} was reverted: no wallet in it was funded`);
    done += wave.length;
    const after = sender.fees.state();
    const isRaised = after.tipWei !== before.tipWei || after.offer?.leastWei !== before.offer?.leastWei;
    if (!isRaised) continue;
    return {
      isWhole: false,
      transactions: done,
      paidWei: orders.slice(0, done).reduce((sum, { value }) => sum + value, 0n),
    };
  }
  return { isWhole: true, transactions: orders.length, paidWei };
}

/**
 * Sends the balances of wallets, less the fees, to one address.
 * @param {Sender} sender
 * @param {Wallet[]} wallets
 * @param {string} to
 * @param {(done: number) => void} [onProgress]
 * @returns {Promise<{wallets: number, returnedWei: bigint}>}
 */
export async function reclaim(sender, wallets, to, onProgress) {
  const states = await settleWallets(sender, wallets);
  const gas = await ask(sender.rpc, gasOf({ from: wallets[0].address, to, value: '0x0' }), 'setup');
  // A plain payment uses exactly its gas limit, so nothing is left over; a contract may use more than estimated.
  const gasLimit = gas === PAYMENT_GAS ? BigInt(gas) : BigInt(Math.ceil(gas * 1.2));
  const back = { wallets: 0, returnedWei: 0n };
  for (const part of partsOf([...wallets.keys()], WALLETS_AT_ONCE)) {
    let rich = part.map((i) => ({ wallet: wallets[i], balanceWei: states[i].balanceWei }));
    for (let plans = 1; ; plans += 1) {
      try {
        const sent = await returnBalances(sender, rich, { to, gasLimit }, (done) => onProgress?.(back.wallets + done));
        back.wallets += sent.wallets;
        back.returnedWei += sent.returnedWei;
        break;
      } catch (error) {
        // At a higher price, less is left to be sent.
        if (!(error instanceof PriceRefusedError) || !error.isRaised || plans >= MAX_PLANS) throw error;
        const now = await settleWallets(
          sender,
          rich.map(({ wallet }) => wallet),
        );
        rich = rich.map(({ wallet }, i) => ({ wallet, balanceWei: now[i].balanceWei }));
      }
    }
  }
  return back;
}

/**
 * @param {Sender} sender
 * @param {Array<{wallet: Wallet, balanceWei: bigint}>} rich
 * @param {{to: string, gasLimit: bigint}} payment
 * @param {(done: number) => void} onProgress
 */
async function returnBalances(sender, rich, { to, gasLimit }, onProgress) {
  await followFees(sender);
  const { fees: offers } = sender;
  const price = offers.worstPriceWei();
  // With the tip as large as the whole offer, the price does not depend on the base fee, and nothing is left over. A --tip is exact.
  const isExact = offers.mode === 'legacy' || offers.state().offer?.fixedBy === '--tip';
  const fee = isExact ? offers.current() : { maxFeePerGasWei: price, maxPriorityFeePerGasWei: price };
  const costWei = gasLimit * price;
  const orders = rich.flatMap(({ wallet, balanceWei }) =>
    balanceWei > costWei ? [{ wallet, to, data: '0x', value: balanceWei - costWei, gasLimit }] : [],
  );
  // What is sent leaves nothing for a higher fee.
  const fees = { ...offers, current: () => fee, replacementFee: () => null };
  const receipts = await sendAll({ ...sender, fees }, orders, onProgress);
  const failed = receipts.filter(({ isSuccess }) => !isSuccess);
  if (failed.length > 0) {
    throw new UnavailableError(
      `${failed.length} of ${orders.length} payments to ${to} were reverted (the first: ${failed[0].hash}): check that the address accepts payments`,
    );
  }
  return { wallets: orders.length, returnedWei: orders.reduce((sum, { value }) => sum + value, 0n) };
}

/** The code of a contract creation that pays the wallets. @param {Array<{wallet: {address: string}, missingWei: bigint}>} part */
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
function funderTooPoor(funder, balanceWei, costWei) {
  return new FundsError(
    `the funder ${funder.address} has ${exactAmount(balanceWei)}, the payments need ${exactAmount(costWei)}; pay it ${amountAtMost(costWei - balanceWei)} more, or ask for less by -t or --fund-amount`,
  );
}
