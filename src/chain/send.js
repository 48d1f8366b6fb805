import { InterruptedError, ProtocolError, RpcError, UnavailableError, oneLine } from '../errors.js';
import { backOffMs, isRetryable, retryAfterMs } from './retries.js';
import { isHash, nullIfRefused, submitFailure, toHex, toNumber } from './rpc.js';

/**
 * @import { Call, Purpose, Receipt, Rpc, Sender } from '../types.d.ts'
 * @import { Wallet } from './keys.js'
 */

/**
 * Sends the transactions of the set-up in waves and waits for their receipts. The load does not use this file.
 *
 * @typedef {object} Costs
 * @property {(orders: Order[], priceWei: bigint) => number} reserve how many of the orders, from the first on, may be sent now
 * @property {(receipts: Receipt[], priceWei: bigint) => void} spend
 *
 * @typedef {Call & {wallet: Wallet}} Order a transaction with its wallet's next nonce
 */

/** Transactions of a wave. */
const WAVE = 500;

/** How long an unanswered transaction is sent again. */
const RETRY_MS = 30_000;

/**
 * How long "insufficient funds" is retried: geth's pool takes over the state of a new block only after it has announced
 * the block, so it does not know at first that the block funded the wallet.
 */
const POOL_LAG_MS = 5000;

/** After this time without a receipt the pool may have dropped the transaction. */
const LOST_AFTER_MS = 3000;

/**
 * Why a transaction was reverted: its call is made again on the state of its block. Two requests, so it is asked for few
 * transactions only.
 * @param {Rpc} rpc
 * @param {string} hash
 * @param {Purpose} purpose
 * @returns {Promise<string | null>} null: not known
 */
export async function revertReason(rpc, hash, purpose) {
  try {
    const transaction = await rpc.call('eth_getTransactionByHash', [hash], purpose);
    const { from, to, input, value, gas, blockNumber } = transaction;
    await rpc.call('eth_call', [{ from, to, data: input, value, gas }, blockNumber], purpose);
    return 'the same call succeeds on the state of its block';
  } catch (error) {
    if (!(error instanceof RpcError) || error.method !== 'eth_call') return null;
    const { rpcMessage, data } = error;
    const isData = /^0x[0-9a-f]{8}/i.test(String(data));
    return /:/.test(rpcMessage) || !isData ? rpcMessage : `${rpcMessage} (data ${oneLine(data, 74)})`;
  }
}

/** The nonce is taken by a transaction of another sender, or by an earlier one of ours that is stuck. */
export class NonceTakenError extends UnavailableError {
  /** @param {Wallet} wallet @param {number} nonce @param {string} hash of our transaction @param {string} why */
  constructor(wallet, nonce, hash, why) {
    super(`wallet ${wallet.index} (${wallet.address}): the node does not take nonce ${nonce}: ${why}`);
    this.wallet = wallet;
    this.nonce = nonce;
    this.hash = hash;
  }
}

/**
 * @param {Sender} sender
 * @param {Order[]} orders
 * @param {(done: number) => void} [onProgress]
 * @returns {Promise<Receipt[]>} in the order of the orders
 */
export async function sendAll(sender, orders, onProgress) {
  /** @type {Receipt[]} */
  const receipts = [];
  const { costs } = sender;
  while (receipts.length < orders.length) {
    const at = receipts.length;
    const next = orders.slice(at, at + WAVE);
    const priceWei = sender.fees.worstPriceWei();
    const wave = costs === undefined ? next : next.slice(0, costs.reserve(next, priceWei));
    const sent = await Promise.all(wave.map((order) => send(sender, order)));
    const mined = await waitForReceipts(sender, sent, (done) => onProgress?.(at + done));
    costs?.spend(mined, priceWei);
    receipts.push(...mined);
  }
  return receipts;
}

/** @typedef {{raw: string, hash: string, wallet: Wallet, nonce: number}} Sent */

/** @param {Sender} sender @param {Order} order @returns {Promise<Sent>} */
async function send(sender, { wallet, ...call }) {
  const { signer, fees, chainId } = sender;
  const nonce = wallet.nonce;
  wallet.nonce += 1;
  const { raw, hash } = wallet.signOnce({ chainId, nonce, fee: fees.current(), call }, signer);
  const { clock, signal } = sender;
  const startUs = clock.nowUs();
  const endUs = startUs + Math.min(sender.timeoutMs, RETRY_MS) * 1000;
  let mayHaveArrived = false;
  for (let tries = 0; ; tries += 1) {
    try {
      await sender.rpc.call('eth_sendRawTransaction', [raw], 'setup');
      return { raw, hash, wallet, nonce };
    } catch (error) {
      const failure = error instanceof RpcError ? submitFailure(error) : null;
      const isNonceUsed = failure === 'nonce_too_low' || failure === 'nonce_in_use';
      // If an earlier answer was lost, the nonce may be taken by this very transaction; its receipt will tell.
      if (failure === 'already_known' || (isNonceUsed && mayHaveArrived)) return { raw, hash, wallet, nonce };
      if (isNonceUsed) throw new NonceTakenError(wallet, nonce, hash, /** @type {RpcError} */ (error).rpcMessage);
      const isPoolBehind = failure === 'insufficient_funds' && clock.nowUs() < startUs + POOL_LAG_MS * 1000;
      const mayPass = isRetryable(error) || error instanceof ProtocolError || failure === 'pool_full' || isPoolBehind;
      const pauseMs = Math.max(backOffMs(tries, Math.random), retryAfterMs(error));
      if (!mayPass || clock.nowUs() + pauseMs * 1000 > endUs || signal.aborted) throw error;
      mayHaveArrived ||= !isPoolBehind;
      await clock.sleep(pauseMs, signal);
    }
  }
}

/** @param {Sender} sender @param {Sent[]} sent @param {(done: number) => void} onProgress @returns {Promise<Receipt[]>} */
async function waitForReceipts(sender, sent, onProgress) {
  const { rpc, clock, signal, timeoutMs } = sender;
  const deadlineUs = clock.nowUs() + timeoutMs * 1000;
  /** @type {Map<string, Receipt>} */
  const receipts = new Map();
  /** @type {Set<string>} */
  const refused = new Set();
  let pauseMs = 20;
  let checkedAtUs = clock.nowUs();
  while (receipts.size < sent.length) {
    if (signal.aborted) throw new InterruptedError('interrupted during set-up');
    const missing = sent.filter(({ hash }) => !receipts.has(hash));
    const answers = await Promise.all(
      // AvalancheGo answers with an error until a transaction is accepted.
      missing.map(({ hash }) => nullIfRefused(rpc.gather('eth_getTransactionReceipt', [hash], 'setup'))),
    );
    for (const receipt of answers) if (receipt !== null) receipts.set(receipt.transactionHash, withoutLogs(receipt));
    onProgress(receipts.size);
    if (receipts.size === sent.length) break;
    if (clock.nowUs() > deadlineUs) {
      await resendLost(rpc, missing, null);
      throw new UnavailableError(
        `${sent.length - receipts.size} of ${sent.length} set-up transactions are in no block after ${timeoutMs / 1000} s (the first: ${missing[0].hash}): does the chain make blocks?`,
      );
    }
    if (clock.nowUs() - checkedAtUs > LOST_AFTER_MS * 1000) {
      await resendLost(rpc, missing, refused);
      checkedAtUs = clock.nowUs();
    }
    await clock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 1.5, 500);
  }
  return sent.map(({ hash }) => /** @type {Receipt} */ (receipts.get(hash)));
}

/** Logs and blooms of 100,000 receipts would take hundreds of megabytes. @param {Receipt} receipt @returns {Receipt} */
function withoutLogs({ transactionHash, status, blockNumber, gasUsed, effectiveGasPrice, contractAddress }) {
  return { transactionHash, status, blockNumber, gasUsed, effectiveGasPrice, contractAddress };
}

/**
 * A full pool may drop transactions without an error, and so may any pool if another sender's transaction with that nonce
 * gets into a block.
 * @param {Rpc} rpc
 * @param {Sent[]} missing
 * @param {Set<string> | null} refused hashes whose nonce was used at the last look; null: this is the last look
 * @throws {NonceTakenError}
 */
async function resendLost(rpc, missing, refused) {
  await Promise.all(
    missing.map(async ({ raw, hash, wallet, nonce }) => {
      const known = await rpc.gather('eth_getTransactionByHash', [hash], 'setup').catch(() => undefined);
      if (known !== null) return;
      const error = await rpc.call('eth_sendRawTransaction', [raw], 'setup').catch((thrown) => thrown);
      if (!(error instanceof RpcError) || submitFailure(error) !== 'nonce_too_low') return;
      // It may be ours: an endpoint that lags does not know it yet, nor does AvalancheGo until its block is accepted.
      if (refused === null || refused.has(hash)) throw new NonceTakenError(wallet, nonce, hash, error.rpcMessage);
      refused.add(hash);
    }),
  );
}

/**
 * An estimate with a margin of a tenth.
 * @param {Rpc} rpc
 * @param {{from: string, to?: string, data: string, value?: string}} transaction
 */
export async function estimateGas(rpc, transaction) {
  const gas = toNumber(await rpc.call('eth_estimateGas', [transaction], 'setup'));
  return BigInt(Math.ceil(gas * 1.1));
}

/**
 * The mined transaction with this sender and nonce. Nodes have no index for that, so it is found by bisection over the
 * sender's nonce at past blocks. Null if there is none, or the node no longer has the states.
 * @param {Rpc} rpc
 * @param {string} address
 * @param {number} nonce
 * @param {number} fromBlock a block before the transaction
 * @returns {Promise<{hash: string, blockNumber: number} | null>}
 */
export async function findMinedTransaction(rpc, address, nonce, fromBlock) {
  let low = fromBlock;
  let high = toNumber(await rpc.call('eth_blockNumber', [], 'resolve'));
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await nonceAt(rpc, address, middle)) > nonce) high = middle;
    else low = middle + 1;
  }
  const block = await rpc.call('eth_getBlockByNumber', [toHex(low), true], 'resolve');
  const found = block?.transactions?.find(
    (/** @type {any} */ tx) => tx.from?.toLowerCase() === address.toLowerCase() && toNumber(tx.nonce) === nonce,
  );
  if (found === undefined) return null;
  if (!isHash(found.hash)) throw new ProtocolError(`${rpc.display} answered eth_getBlockByNumber with an invalid hash`);
  return { hash: found.hash, blockNumber: low };
}

/** A pruned state is an old one: -1 sorts it before the transaction. @param {Rpc} rpc @param {string} address @param {number} block */
async function nonceAt(rpc, address, block) {
  const nonce = await nullIfRefused(rpc.call('eth_getTransactionCount', [address, toHex(block)], 'resolve'));
  return nonce === null ? -1 : toNumber(nonce);
}
