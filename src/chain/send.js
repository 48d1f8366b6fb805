import { exactAmount } from '../coin.js';
import { FundsError, InterruptedError, RefusedError, RpcError, UnavailableError, oneLine } from '../errors.js';
import {
  HEAD,
  ask,
  askAll,
  fullBlockAt,
  gasOf,
  gather,
  headerAt,
  nonceOf,
  nullIfAbsent,
  nullIfRefused,
  receiptOf,
  resultOf,
  transactionOf,
} from './answers.js';
import { maxPriceWei, offerText, raisedText, tipOf } from './fees.js';
import { isFunder } from './keys.js';
import { BlockRoom, MAX_REPLACEMENTS, NO_BLOCK_MS, SKIPPED_BLOCKS, mayBeInTurn, tipAfter } from './left-out.js';
import { classOf, refusalOf } from './refusals.js';
import { retryAfterMs } from './retries.js';
import { NOT_ARRIVED, isNonceUsed, submit } from './submit.js';
import { counted, partOf } from '../text.js';

/**
 * @import { ChainReceipt, Fee, Order, Purpose, RefusalClass, Rpc, Sender, StatedPrice, Wallet } from '../contracts/chain.d.ts'
 * @import { Submission } from './submit.js'
 */

/** Sends the transactions of the set-up, and the payments of a funder, in waves and waits for their receipts. */

/** Transactions of a wave. */
const WAVE = 500;

/** How long an unanswered transaction is sent again. */
const RETRY_MS = 30_000;

/**
 * How long "insufficient funds" is retried: geth's pool takes over the state of a new block only after it has announced
 * the block, so it does not know at first that the block funded the wallet.
 */
const POOL_LAG_MS = 5000;

/** So long a transaction is looked for that was refused although the node may have it. */
const ARRIVAL_MS = 5000;
const ARRIVAL_PAUSE_MS = 500;

/** After this time without a receipt the pool may have dropped the transaction. */
const LOST_AFTER_MS = 3000;

/**
 * Why a transaction was reverted: its call is made again on the state of its block. Two requests, so it is asked for few
 * transactions only.
 * @param {Rpc} rpc
 * @param {string} hash
 * @param {Purpose} purpose
 * @param {(data: unknown) => string | null} [wordsOf] the data of the error, by an ABI
 * @returns {Promise<string | null>} null: not known
 */
export async function revertReason(rpc, hash, purpose, wordsOf = () => null) {
  try {
    const transaction = await ask(rpc, transactionOf(hash), purpose);
    if (transaction === null || transaction.blockNumber === null) return null;
    await ask(rpc, resultOf(transaction.call, transaction.blockNumber), purpose);
    return 'the same call succeeds on the state of its block';
  } catch (error) {
    if (!(error instanceof RpcError) || error.method !== 'eth_call') return null;
    const { rpcMessage, data } = error;
    const words = wordsOf(data);
    if (words !== null) return `reverted: ${words}`;
    const isData = /^0x[0-9a-f]{8}/i.test(String(data));
    return /:/.test(rpcMessage) || !isData ? rpcMessage : `${rpcMessage} (data ${oneLine(data, 74)})`;
  }
}

/** The nonce is taken by a transaction of another sender, or by an earlier one of ours that is stuck. */
export class NonceTakenError extends UnavailableError {
  /** @param {Sent} sent @param {string} why */
  constructor(sent, why) {
    const { wallet, nonce, hashes } = sent;
    super(`${nameOf(wallet)}: the node does not take nonce ${nonce}: ${why}`);
    this.sent = sent;
    this.wallet = wallet;
    this.nonce = nonce;
    this.hashes = hashes;
    /** Others that were sent with it, and are in blocks. @type {Order[]} */
    this.mined = [];
    /** Others that were sent with it, and whose nonce is taken too. @type {NonceTakenError[]} */
    this.others = [];
  }
}

/** The node takes no transaction at the price that the sender may offer. */
export class PriceRefusedError extends UnavailableError {
  /** @param {Wallet} wallet @param {string} words @param {boolean} isRaised what is sent next offers more */
  constructor(wallet, words, isRaised) {
    super(`the node refuses the price of a transaction of ${nameOf(wallet)}: ${words}`);
    this.isRaised = isRaised;
  }
}

/**
 * @param {Sender} sender
 * @param {Order[]} orders
 * @param {(done: number) => void} [onProgress]
 * @returns {Promise<ChainReceipt[]>} in the order of the orders
 */
export async function sendAll(sender, orders, onProgress) {
  /** @type {ChainReceipt[]} */
  const receipts = [];
  const { costs } = sender;
  while (receipts.length < orders.length) {
    const at = receipts.length;
    const next = orders.slice(at, at + WAVE);
    const priceWei = sender.fees.worstPriceWei();
    const wave = costs === undefined ? next : next.slice(0, await costs.reserve(next, priceWei));
    const { sent, taken } = await sendWave(sender, wave, priceWei);
    // Until these are in blocks, what they pay would be paid again.
    const mined = await waitForReceipts(sender, sent, taken, (done) => onProgress?.(at + done));
    for (const [one, receipt] of mined) costs?.spend(one.order, receipt, one.reservedWei);
    const [first, ...others] = taken;
    if (first !== undefined) {
      first.others = others;
      first.mined = [...orders.slice(0, at), ...[...mined.keys()].map(({ order }) => order)];
      throw first;
    }
    receipts.push(...sent.map((one) => /** @type {ChainReceipt} */ (mined.get(one))));
  }
  return receipts;
}

/**
 * Sends all of them, and fails after the last answer: a transaction without an answer may still arrive.
 * @param {Sender} sender
 * @param {Order[]} wave
 * @param {bigint} priceWei reserved for each, per gas
 * @returns {Promise<{sent: Sent[], taken: NonceTakenError[]}>} taken: of those whose nonce was used
 */
async function sendWave(sender, wave, priceWei) {
  const tries = await Promise.allSettled(wave.map((order) => send(sender, order, priceWei)));
  const errors = tries.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  const failure = errors.find((error) => !(error instanceof NonceTakenError));
  if (failure !== undefined) throw failure;
  return { sent: tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])), taken: errors };
}

/**
 * A transaction on its way, with the hashes of all that were signed for its nonce: the receipt of any completes it.
 *
 * @typedef {object} Sent
 * @property {Order} order
 * @property {Wallet} wallet
 * @property {number} nonce
 * @property {string} raw the latest
 * @property {string} hash the latest
 * @property {string[]} hashes
 * @property {Fee} fee the latest
 * @property {bigint} reservedWei per gas
 * @property {number} losses times that the node took it and did not have it later
 * @property {(() => void) | undefined} onRefused
 */

/**
 * The submission of such a transaction. Its receipt is waited for afterwards.
 * @implements {Submission}
 */
class OrderSubmission {
  isUnsure = false;
  /** Whether each answer so far was one of a node that has not taken this transaction. */
  isRefused = true;
  /** By the last answer. */
  isPoolFull = false;
  /** Why no higher price is offered. */
  priceLimit = '';
  /** Whether transactions to come offer more. */
  isRaised = false;
  /** Until then the endpoint wants no request (Retry-After). */
  #untilUs = 0;
  #endUs;
  #sender;
  #sent;

  /** @param {Sender} sender @param {Sent} sent */
  constructor(sender, sent) {
    this.#sender = sender;
    this.#sent = sent;
    this.#endUs = sender.clock.nowUs() + Math.min(sender.timeoutMs, RETRY_MS) * 1000;
  }

  get isOver() {
    return this.#sender.signal.aborted;
  }

  /** @param {number} pauseMs */
  isLate(pauseMs) {
    return Math.max(this.#sender.clock.nowUs() + pauseMs * 1000, this.#untilUs) > this.#endUs;
  }

  waitMs() {
    return (this.#untilUs - this.#sender.clock.nowUs()) / 1000;
  }

  send() {
    return this.#sender.rpc.call('eth_sendRawTransaction', [this.#sent.raw], 'setup');
  }

  accept() {
    this.#sender.taken?.note(this.#sent.fee, this.#sender.clock.nowUs());
  }

  isTaken() {
    return this.#sender.taken?.isLike(this.#sent.fee) === true;
  }

  /** @param {unknown} error @param {RefusalClass | null} refusal */
  noteError(error, refusal) {
    this.isPoolFull = refusal === 'pool_full';
    this.isRefused &&= refusal !== null && NOT_ARRIVED.has(refusal);
    this.#untilUs = this.#sender.clock.nowUs() + retryAfterMs(error) * 1000;
  }

  /** @param {number} ms */
  pause(ms) {
    return this.#sender.clock.sleep(ms, this.#sender.signal);
  }

  /** @param {StatedPrice} stated */
  async raiseOffer(stated) {
    const { fees, notice } = this.#sender;
    const [before, beforeTip] = [fees.worstPriceWei(), tipOf(fees.current())];
    const why = fees.raiseOffer(this.#sent.fee, stated);
    this.isRaised = why === null;
    const fee = why === null ? this.#higher() : null;
    if (fee === null) {
      this.priceLimit = why ?? 'the limit of the offer is reached';
      return false;
    }
    // Where --max-fee limits the whole, the tip alone rises.
    if (fees.worstPriceWei() > before || tipOf(fees.current()) > beforeTip) notice?.(raisedText(fees.current()));
    await reserveMore(this.#sender, this.#sent, fee);
    sign(this.#sender, this.#sent, fee);
    return true;
  }

  /** What no node has taken is not replaced, so that it need not offer an eighth more. @returns {Fee | null} */
  #higher() {
    const { fees } = this.#sender;
    const { fee } = this.#sent;
    const current = fees.current();
    return fees.replacementFee(fee) ?? (this.isRefused && current !== fee ? current : null);
  }

  find() {
    return isKnown(this.#sender.rpc, this.#sent);
  }

  /** @param {RefusalClass} refusal @param {number} refusedAtUs */
  mayPass(refusal, refusedAtUs) {
    return refusal === 'funds' && this.#sender.clock.nowUs() < refusedAtUs + POOL_LAG_MS * 1000;
  }
}

/** @param {Sender} sender @param {Sent} sent @param {Fee} fee */
function sign(sender, sent, fee) {
  const { order, nonce } = sent;
  const { wallet, ...call } = order;
  const { raw, hash } = wallet.signOnce({ chainId: sender.chainId, nonce, fee, call }, sender.signer);
  const replaces = sent.hashes;
  Object.assign(sent, { raw, hash, fee, hashes: [...replaces, hash] });
  sent.onRefused = sender.onSigned?.({ hash, nonce, replaces }, order, maxPriceWei(fee));
}

/** @param {Sender} sender @param {Sent} sent @param {Fee} fee of what replaces it @throws {RefusedError} --max-spend does not allow it */
async function reserveMore({ costs }, sent, fee) {
  const moreWei = maxPriceWei(fee) - sent.reservedWei;
  if (moreWei <= 0n) return;
  await costs?.reserve([sent.order], moreWei);
  sent.reservedWei += moreWei;
}

/** It will be in no block. @param {Pick<Sender, 'costs'>} sender @param {Sent} sent */
export function release({ costs }, sent) {
  costs?.release(sent.order, sent.reservedWei);
  sent.reservedWei = 0n;
}

/** @param {Sender} sender @param {Order} order @param {bigint} reservedWei per gas @returns {Promise<Sent>} */
async function send(sender, order, reservedWei) {
  const { clock, random = Math.random, fees } = sender;
  const { wallet } = order;
  const nonce = wallet.nonce;
  wallet.nonce += 1;
  const unsigned = { raw: '', hash: '', hashes: [], fee: fees.current(), losses: 0, onRefused: undefined };
  /** @type {Sent} */
  const sent = { order, wallet, nonce, reservedWei, ...unsigned };
  sign(sender, sent, sent.fee);
  const submission = new OrderSubmission(sender, sent);
  try {
    await submit(submission, { clock, random });
    return sent;
  } catch (error) {
    const refusal = error instanceof RpcError ? classOf(error) : null;
    // Where another transaction has the nonce, the node has not taken this one.
    const mayArrive = !submission.isRefused && (submission.isUnsure || refusal !== 'replacement');
    if (mayArrive && (await arrives(sender, sent))) return sent;
    if (!mayArrive && (await areUnknown(sender.rpc, sent))) {
      sent.onRefused?.();
      release(sender, sent);
    }
    if (!(error instanceof RpcError)) throw error;
    if (refusal === 'funds') throw fundsRefused(wallet, error);
    if (submission.isPoolFull) throw poolRefused(wallet, error);
    if (refusal === 'price') {
      const { priceLimit, isRaised } = submission;
      throw new PriceRefusedError(wallet, [error.rpcMessage, priceLimit].filter(Boolean).join('; '), isRaised);
    }
    if (!isNonceUsed(refusal)) {
      const { remedy } = refusalOf(error);
      if (remedy !== undefined) error.message += `; ${remedy}`;
      throw error;
    }
    throw new NonceTakenError(sent, error.rpcMessage);
  }
}

/** Whether the node has any transaction of that nonce which is ours. @param {Rpc} rpc @param {Pick<Sent, 'hashes'>} sent */
async function isKnown(rpc, { hashes }) {
  const known = await Promise.all(hashes.map((hash) => gather(rpc, transactionOf(hash), 'setup').catch(() => null)));
  return known.some((transaction) => transaction !== null);
}

/** A gateway may have passed on what it refuses: it is looked for until blocks would have it. @param {Sender} sender @param {Sent} sent */
async function arrives({ rpc, clock, signal }, sent) {
  const endUs = clock.nowUs() + ARRIVAL_MS * 1000;
  for (;;) {
    if (await isKnown(rpc, sent)) return true;
    if (signal.aborted || clock.nowUs() > endUs) return false;
    await clock.sleep(ARRIVAL_PAUSE_MS, signal);
  }
}

/** Whether the node says that it has no such transaction. @param {Rpc} rpc @param {string} hash */
async function isUnknown(rpc, hash) {
  const known = await nullIfAbsent(gather(rpc, transactionOf(hash), 'setup')).catch(() => undefined);
  return known === null;
}

/** @param {Rpc} rpc @param {Pick<Sent, 'hashes'>} sent */
async function areUnknown(rpc, { hashes }) {
  return (await Promise.all(hashes.map((hash) => isUnknown(rpc, hash)))).every(Boolean);
}

/** @param {Pick<Wallet, 'index' | 'address'>} wallet */
export function nameOf(wallet) {
  return `${isFunder(wallet) ? 'the funder' : `wallet ${wallet.index}`} (${wallet.address})`;
}

/** @param {Wallet} wallet @param {RpcError} error */
function fundsRefused(wallet, { rpcMessage }) {
  const words = `the node refuses a transaction of ${nameOf(wallet)}: ${rpcMessage}`;
  const remedy = isFunder(wallet)
    ? 'pay it more'
    : 'fund the wallet with more (--fund-amount), or use other wallets (-o)';
  return new FundsError(`${words}; transactions that an earlier run left in the pool count as well: ${remedy}`);
}

const POOL_REMEDY = 'give the node a larger pool (geth: --txpool.globalslots), or use fewer wallets';

/** @param {Wallet} wallet @param {RpcError} error */
function poolRefused(wallet, { rpcMessage }) {
  return new UnavailableError(
    `the pool of the node is full, and it refuses a transaction of ${nameOf(wallet)}: ${rpcMessage}; try again later, ${POOL_REMEDY}`,
  );
}

/**
 * @param {Sender} sender
 * @param {Sent[]} sent
 * @param {NonceTakenError[]} taken gets those whose nonce turns out to be used
 * @param {(done: number) => void} onProgress
 * @returns {Promise<Map<Sent, ChainReceipt>>} of all others
 */
async function waitForReceipts(sender, sent, taken, onProgress) {
  const { rpc, clock, signal, timeoutMs } = sender;
  const deadlineUs = clock.nowUs() + timeoutMs * 1000;
  /** @type {Map<Sent, ChainReceipt>} */
  const receipts = new Map();
  /** @type {Set<Sent>} */
  const refused = new Set();
  /** @type {Set<Sent>} */
  const gone = new Set();
  const noteTaken = (/** @type {Array<[Sent, NonceTakenError]>} */ found) => {
    for (const [one, error] of found) {
      gone.add(one);
      taken.push(error);
    }
  };
  let pauseMs = 20;
  let checkedAtUs = clock.nowUs();
  const overdue = new Overdue(sender);
  for (;;) {
    if (signal.aborted) throw new InterruptedError('interrupted during set-up');
    const missing = sent.filter((one) => !receipts.has(one) && !gone.has(one));
    for (const [one, receipt] of await minedOf(rpc, missing)) {
      receipts.set(one, withoutLogs(receipt));
      overdue.learn(one, receipt);
    }
    onProgress(receipts.size);
    if (receipts.size + gone.size === sent.length) return receipts;
    if (clock.nowUs() > deadlineUs) {
      noteTaken(await resendLost(rpc, missing, null));
      // Others that are still on their way may arrive later: nothing is planned again.
      if (receipts.size + gone.size === sent.length) return receipts;
      throw new UnavailableError(
        `${partOf(sent.length - receipts.size, sent.length, 'transaction')} in no block after ${timeoutMs / 1000} s (the first: ${missing[0].hash}): ${overdue.why}`,
      );
    }
    if (clock.nowUs() - checkedAtUs > LOST_AFTER_MS * 1000) {
      noteTaken(await resendLost(rpc, missing, refused));
      await overdue.look(missing.filter((one) => !gone.has(one)));
      checkedAtUs = clock.nowUs();
    }
    await clock.sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 1.5, 500);
  }
}

/** Replaces transactions of the set-up that blocks leave out, and one of them where no block is made. */
class Overdue {
  /**
   * The head when a transaction was first looked at, or lost last, and how often it was replaced.
   * @type {Map<Sent, {block: number, times: number, losses: number}>}
   */
  #since = new Map();
  #head = { number: -1, sinceUs: 0, isProbed: false };
  #hasSaid = false;
  #hasSaidLost = false;
  #hasSaidBaseFee = false;
  /** Replacements of one transaction that were said. */
  #said = 0;
  /** Why transactions are in no block. */
  why = 'does the chain make blocks?';
  #room;
  #sender;

  /** @param {Sender} sender */
  constructor(sender) {
    this.#sender = sender;
    this.#room = new BlockRoom(sender.rpc, 'setup');
  }

  /** @param {Sent[]} missing */
  async look(missing) {
    const { rpc, clock, notice } = this.#sender;
    const number = await ask(rpc, HEAD, 'setup');
    const nowUs = clock.nowUs();
    if (number !== this.#head.number) this.#head = { number, sinceUs: nowUs, isProbed: false };
    const stillMs = (nowUs - this.#head.sinceUs) / 1000;
    if (!this.#hasSaid)
      notice?.(`waiting for ${counted(missing.length, 'transaction')} of the set-up (the first: ${missing[0].hash})`);
    this.#hasSaid = true;
    if (missing.length > 0) await this.#noteBaseFee(missing[0]);
    const next = await askAll(
      rpc,
      missing.map(({ wallet }) => nonceOf(wallet.address, 'latest')),
      'setup',
    );
    for (const [i, sent] of missing.entries()) {
      const known = this.#since.get(sent) ?? { block: number, times: 0, losses: sent.losses };
      this.#since.set(sent, known);
      this.#noteLoss(sent, known, number);
      if (next[i] !== sent.nonce || known.times >= MAX_REPLACEMENTS) continue;
      if (number - known.block >= SKIPPED_BLOCKS) await this.#replaceLeftOut(sent, known, number);
      else if (stillMs >= NO_BLOCK_MS && !this.#head.isProbed) {
        this.#head.isProbed = true;
        // What the chain waited for is not the price: it is not offered from now on.
        if (!(await this.#replace(sent, 0n))) continue;
        notice?.(
          `no block for ${Math.round(stillMs / 1000)} s: one transaction is replaced, in case the chain waits for another one`,
        );
      }
    }
  }

  /** No block takes what offers less than its base fee, as with a low --max-fee. @param {Sent} sent */
  async #noteBaseFee({ fee }) {
    const { rpc, fees, notice } = this.#sender;
    const { baseFeeWei = null } = (await ask(rpc, headerAt('latest'), 'setup').catch(() => null)) ?? {};
    if (baseFeeWei === null || maxPriceWei(fee) >= baseFeeWei) return;
    this.why = `the base fee is ${exactAmount(baseFeeWei)}, and ${offerText(fee)} is offered: ${fees.limitWords()}`;
    if (!this.#hasSaidBaseFee) notice?.(`blocks take no transaction of the set-up: ${this.why}`);
    this.#hasSaidBaseFee = true;
  }

  /** Blocks before a loss have not left it out. @param {Sent} sent @param {{block: number, losses: number}} known @param {number} head */
  #noteLoss({ losses }, known, head) {
    if (losses === known.losses) return;
    Object.assign(known, { losses, block: head });
    // The first time, an endpoint that lags may not have known it yet.
    if (losses < 2) return;
    this.why = `the node took it ${losses} times and did not have it later: its pool may be full; ${POOL_REMEDY}`;
    if (!this.#hasSaidLost)
      this.#sender.notice?.(
        'the node took transactions of the set-up and does not have them: its pool may be full; they are sent again',
      );
    this.#hasSaidLost = true;
  }

  /** @param {Sent} sent @param {{block: number, times: number}} known @param {number} head */
  async #replaceLeftOut(sent, known, head) {
    const { rpc, fees, notice } = this.#sender;
    const { order, fee } = sent;
    if (!(await isKnown(rpc, sent))) {
      if (sent.losses < 2)
        this.why = `${counted(head - known.block, 'block')} came without it, and the endpoint does not show it: does it read another chain than it sends to, or drop what it takes?`;
      return;
    }
    const waiting = { address: order.wallet.address, gasLimit: order.gasLimit, valueWei: order.value, fee };
    const evidence = await this.#room.evidence(waiting, known.block, head).catch(() => null);
    if (evidence === null) return;
    if (mayBeInTurn(evidence, head - known.block)) return;
    const isReplaced = !fees.isFixed && (await this.#replace(sent, tipAfter(evidence, known.times, fees.mostWei())));
    const limit = isReplaced ? '' : `; ${fees.limitWords()}`;
    this.why = `blocks leave it out although they have room for it, with ${offerText(sent.fee)}${limit}`;
    if (!isReplaced) return;
    known.times += 1;
    known.block = head;
    // The first one of a wave that is replaced tells.
    if (known.times <= this.#said) return;
    this.#said = known.times;
    notice?.(
      `blocks leave transactions of the set-up out although they have room for them${evidence.isTipLow ? ', and none of them has a tip as low' : ''}: replaced with ${offerText(sent.fee)}`,
    );
  }

  /** @param {Sent} sent @param {ChainReceipt} receipt */
  learn(sent, { hash }) {
    if ((this.#since.get(sent)?.times ?? 0) > 0 && hash === sent.hash) this.#sender.fees.learn(sent.fee);
  }

  /** @param {Sent} sent @param {bigint} leastTipWei @returns {Promise<boolean>} */
  async #replace(sent, leastTipWei) {
    const fee = this.#sender.fees.isFixed ? null : this.#sender.fees.replacementFee(sent.fee, leastTipWei);
    if (fee === null) return false;
    try {
      await reserveMore(this.#sender, sent, fee);
    } catch (error) {
      // Without money for a replacement, the first transaction still waits.
      if (error instanceof RefusedError) return false;
      throw error;
    }
    sign(this.#sender, sent, fee);
    // The chain decides which of them is mined.
    await this.#sender.rpc.call('eth_sendRawTransaction', [sent.raw], 'setup').catch(() => null);
    return true;
  }
}

/**
 * Reads the receipts of mined transactions. It reads the nonces of the wallets first, because some nodes take seconds to look
 * up a transaction that is not mined.
 * @param {Rpc} rpc
 * @param {Sent[]} missing
 * @returns {Promise<Array<[Sent, ChainReceipt]>>}
 */
async function minedOf(rpc, missing) {
  const wallets = [...new Set(missing.map(({ wallet }) => wallet))];
  const nonces = await askAll(
    rpc,
    wallets.map(({ address }) => nonceOf(address, 'latest')),
    'setup',
  );
  const next = new Map(wallets.map((wallet, i) => [wallet, nonces[i]]));
  const mined = missing.filter(({ wallet, nonce }) => /** @type {number} */ (next.get(wallet)) > nonce);
  const [head, ...found] = await Promise.all([
    mined.length === 0 ? 0 : ask(rpc, HEAD, 'setup'),
    // AvalancheGo answers with an error until a transaction is accepted.
    ...mined.map(({ hashes }) => {
      return Promise.all(hashes.map((hash) => nullIfRefused(gather(rpc, receiptOf(hash), 'setup'))));
    }),
  ]);
  return mined.flatMap((one, i) => {
    // Some nodes give receipts before the block is sealed.
    const receipt = found[i].find((of) => of !== null && of.blockNumber <= head);
    return receipt ? [/** @type {[Sent, ChainReceipt]} */ ([one, receipt])] : [];
  });
}

/** Logs and blooms of 100,000 receipts would take hundreds of megabytes. @param {ChainReceipt} receipt @returns {ChainReceipt} */
function withoutLogs(receipt) {
  return { ...receipt, logs: null, printed: null };
}

/**
 * A full pool may drop transactions without an error, and so may any pool if another sender's transaction with that nonce
 * gets into a block.
 * @param {Rpc} rpc
 * @param {Sent[]} missing
 * @param {Set<Sent> | null} refused those whose nonce was used at the last look; null: this is the last look
 * @returns {Promise<Array<[Sent, NonceTakenError]>>} those whose nonce is used by another transaction
 */
async function resendLost(rpc, missing, refused) {
  const looks = missing.map(async (one) => {
    const { raw, hash } = one;
    if (!(await isUnknown(rpc, hash))) return null;
    const error = await rpc.call('eth_sendRawTransaction', [raw], 'setup').catch((thrown) => thrown);
    if (!(error instanceof Error)) one.losses += 1;
    if (!(error instanceof RpcError) || classOf(error) !== 'nonce_low') return null;
    // It may be ours: an endpoint that lags does not know it yet, nor does AvalancheGo until its block is accepted.
    if (refused === null || refused.has(one)) return new NonceTakenError(one, error.rpcMessage);
    refused.add(one);
    return null;
  });
  const errors = await Promise.all(looks);
  return missing.flatMap((one, i) => {
    const error = errors[i];
    return error === null ? [] : [/** @type {[Sent, NonceTakenError]} */ ([one, error])];
  });
}

/**
 * An estimate with a margin of a tenth.
 * @param {Rpc} rpc
 * @param {{from: string, to?: string, data: string, value?: string}} transaction
 */
export async function estimateGas(rpc, transaction) {
  return BigInt(Math.ceil((await ask(rpc, gasOf(transaction), 'setup')) * 1.1));
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
  let high = await ask(rpc, HEAD, 'resolve');
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await nonceAt(rpc, address, middle)) > nonce) high = middle;
    else low = middle + 1;
  }
  const block = await nullIfAbsent(ask(rpc, fullBlockAt(low), 'resolve'));
  const found = block?.transactions.find((one) => one.from === address.toLowerCase() && one.nonce === nonce);
  return found === undefined ? null : { hash: found.hash, blockNumber: low };
}

/** A pruned state is an old one: -1 sorts it before the transaction. @param {Rpc} rpc @param {string} address @param {number} block */
async function nonceAt(rpc, address, block) {
  return (await nullIfRefused(ask(rpc, nonceOf(address, block), 'resolve'))) ?? -1;
}
