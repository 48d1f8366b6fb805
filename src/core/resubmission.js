import { askAll, gather, nonceOf, nullIfRefused, transactionOf } from '../chain/answers.js';
import { BlockRoom, MAX_REPLACEMENTS, NO_BLOCK_MS, SKIPPED_BLOCKS } from '../chain/left-out.js';
import { refusalOf } from '../chain/refusals.js';
import { meaningOf } from '../chain/submit.js';
import { RpcError } from '../errors.js';
import { identityOf } from './ledger.js';
import { groupByAccount } from './nonces.js';
import { foundByReceipt } from './submit.js';
import { transactionStatusOf } from './transaction-status.js';

/**
 * @import { LeftOut } from '../chain/left-out.js'
 * @import { RefusalClass } from '../contracts/chain.d.ts'
 * @import { UnresolvedOperation } from './ledger.js'
 * @import { Account } from './nonces.js'
 * @import { Operation, Tools } from './operation.js'
 */

/** An accepted transaction is overdue after this many blocks, within these limits in milliseconds. */
const OVERDUE_BLOCKS = 5;
const OVERDUE_MS = Object.freeze([1000, 15_000]);

/**
 * A transaction behind others of its wallet is looked at sooner: so many blocks had room for it, and none has it although its
 * turn has come. A pool that is too small drops it without a word.
 */
const PASSED_BLOCKS = 2;

/** Longest interval between rebroadcasts; it starts with the overdue time and doubles. */
const MAX_INTERVAL_MS = 60_000;

const MAX_CHECKED = 100;

/** Most transactions for one nonce. */
export const MAX_HASHES = 20;

/**
 * The last rebroadcast of a transaction, their number, and the newest block at that time (or soon after acceptance).
 *
 * @typedef {object} Rebroadcast
 * @property {number} atUs
 * @property {number} times
 * @property {number | null} block
 * @property {number} [replacements] because blocks had left it out
 * @property {number} [heldUs] when the node last took or showed it
 * @property {boolean} [isLooked] it was looked at since, before it was overdue
 * @property {boolean} [isGone] the node has probably lost it, because it has lost one before it
 * @property {number} [denials] how often in a row the node did not show it, and said that it has it
 */

/** State of an operation that was just sent again. @type {Partial<Rebroadcast>} */
const UNSEEN = Object.freeze({ block: null, isLooked: false, isGone: false });

/** Times that a node may not show a transaction, and say that it has it, before it is replaced. */
const DENIALS = 2;

/** Block intervals without a block after which the chain may wait for another transaction. */
const SLOW_BLOCKS = 3;

/** There is no block that could have left it out. @type {LeftOut} */
const NO_EVIDENCE = Object.freeze({ leastTipWei: 0n, isTipLow: false, isTipKnown: true });

/**
 * Accepted transactions that are in no block for long: sends them again if the node has lost them, and replaces those whose
 * fee is too low, that blocks leave out, or that the node keeps queued although their nonce is next. Transactions that the
 * node knows stay as they are while no blocks are made.
 */
export class Resubmission {
  #room;
  /** The newest block when the last operation was replaced because there was none. */
  #probedAt = -1;
  /** Since when there is no other block. @type {{number: number, sinceUs: number}} */
  #newest = { number: -1, sinceUs: 0 };
  /** When the operation was accepted that was accepted last of those in blocks. */
  #lastIncludedUs = -Infinity;
  /** Why blocks leave transactions out, in words; null: they do not. @type {string | null} */
  leftOutWords = null;
  #tools;

  /** @param {Tools} tools */
  constructor(tools) {
    this.#room = new BlockRoom(tools.rpc, 'resolve');
    this.#tools = tools;
  }

  /** @param {Operation} operation */
  noteVerified(operation) {
    const { sample, hash, hashes, fee } = operation;
    this.#lastIncludedUs = Math.max(this.#lastIncludedUs, sample.acceptedAtUs ?? -Infinity);
    const isReplaced = (operation.rebroadcast?.replacements ?? 0) > 0;
    if (isReplaced && fee !== null && hash === hashes.at(-1)) this.#tools.presigner.learn(fee);
  }

  /**
   * Looks at the overdue ones, at most MAX_CHECKED in a round.
   * @param {Iterable<Operation>} live
   * @param {number} round
   * @returns {Promise<Map<Account, number>>} next nonce of their wallets on the chain
   */
  async check(live, round) {
    const { clock, retryPolicy, inclusion, limits } = this.#tools;
    const nowUs = clock.nowUs();
    const { newestBlock } = inclusion.stats();
    if (newestBlock !== this.#newest.number) this.#newest = { number: newestBlock, sinceUs: nowUs };
    /** @type {Operation[]} */
    const all = [];
    let held = 0;
    const overdueMs = this.#overdueAfterMs();
    // Every operation in flight comes here with every block.
    for (const operation of live) {
      if (operation.inclusion !== null || operation.sample.acceptedAtUs === null) continue;
      const last = lastCheckOf(operation);
      last.block ??= newestBlock;
      const waitedMs = waitedOf(operation, last, nowUs);
      const isOld = waitedMs >= OVERDUE_MS[0];
      if (isOld && (waitedMs >= dueAfterMs(last, overdueMs) || this.#isPassed(operation, last, newestBlock)))
        all.push(operation);
      else if (last.isGone) all.push(operation);
      else held += 1;
    }
    // Rotates, so that slow operations do not hide others.
    const from = (round * MAX_CHECKED) % Math.max(all.length, 1);
    const turns = [...all.slice(from), ...all.slice(0, from)];
    // A pool that evicts has room for those whose turn comes first.
    if (limits.isEvicting) turns.sort((a, b) => aheadOf(a) - aheadOf(b));
    const first = turns.filter((operation) => aheadOf(operation) <= 0);
    const behind = turns.filter((operation) => aheadOf(operation) > 0);
    const room = Math.max(0, limits.most - held - first.length);
    const overdue = [...first, ...behind.slice(0, room)].slice(0, Math.min(MAX_CHECKED, limits.most));
    // Nodes need them in nonce order.
    overdue.sort((a, b) => a.nonce - b.nonce);
    return await this.#checkOverdue(overdue, newestBlock).catch((error) => {
      retryPolicy.noteRetryAfter(error, clock.nowUs());
      return new Map(); // the endpoint is down; retried in the next round
    });
  }

  /** Whether it is to be looked at, or sent again. @param {Operation} operation */
  isDue(operation) {
    const last = lastCheckOf(operation);
    return waitedOf(operation, last, this.#tools.clock.nowUs()) >= dueAfterMs(last, this.#overdueAfterMs());
  }

  /** @param {Operation} operation @param {Rebroadcast} last @param {number} newestBlock */
  #isPassed(operation, { block, times, isLooked }, newestBlock) {
    const { limits } = this.#tools;
    if (isLooked || times > 0 || block === null || newestBlock - block < PASSED_BLOCKS) return false;
    if (limits.wasFullSince(block)) return false;
    return limits.isEvicting || (aheadOf(operation) === 0 && operation.account.slots.length > 1);
  }

  #overdueAfterMs() {
    const [leastMs, mostMs] = OVERDUE_MS;
    return Math.min(Math.max(this.#tools.inclusion.stats().blockMs * OVERDUE_BLOCKS, leastMs), mostMs);
  }

  /**
   * The nonces decide what else is asked, in batches. A transaction whose question is not answered waits for the next
   * round: on some chains a transaction that is not there takes seconds.
   * @param {Operation[]} overdue
   * @param {number} newestBlock
   * @returns {Promise<Map<Account, number>>} next nonce of each wallet on the chain
   */
  async #checkOverdue(overdue, newestBlock) {
    const { rpc } = this.#tools;
    const nonces = await askAll(
      rpc,
      overdue.map(({ account }) => nonceOf(account.wallet.address, 'latest')),
      'resolve',
    );
    const next = new Map(overdue.map(({ account }, i) => [account, nonces[i]]));
    const looked = overdue.map((operation) => ({ operation, answers: this.#lookAt(operation, next) }));
    const byAccount = groupByAccount(looked, ({ operation }) => operation.account);
    await Promise.all(
      [...byAccount].map(async ([account, own]) => {
        // In nonce order.
        for (const { operation, answers } of own)
          await this.#checkOne(operation, Number(next.get(account)), await answers, newestBlock);
      }),
    );
    return next;
  }

  /**
   * @param {Operation} operation overdue
   * @param {Map<Account, number>} next
   * @returns {Promise<{isKnown?: boolean, pending?: number | null}>} isKnown: undefined without an answer
   */
  async #lookAt(operation, next) {
    const { account, nonce, hashes } = operation;
    const { rpc, clock, retryPolicy } = this.#tools;
    if (Number(next.get(account)) > nonce) return {};
    // If anvil receives a transaction while it makes the block with the previous nonce, it keeps the transaction queued
    // and never includes it. Sending the same bytes again has no effect there: a replacement helps, and one is enough.
    const isAsked = lastCheckOf(operation).times === 1;
    const pending = isAsked
      ? gather(rpc, nonceOf(account.wallet.address, 'pending'), 'resolve').catch(() => null)
      : null;
    try {
      // A replacement may have been refused, or be the only one that the node still has.
      const known = hashes.map((hash) => nullIfRefused(gather(rpc, transactionOf(hash), 'resolve')));
      const isKnown = (await Promise.all(known)).some((transaction) => transaction !== null);
      return { isKnown, pending: await pending };
    } catch (error) {
      retryPolicy.noteRetryAfter(error, clock.nowUs());
      return {};
    }
  }

  /**
   * @param {Operation} operation overdue
   * @param {number} next nonce of its wallet
   * @param {{isKnown?: boolean, pending?: number | null}} answers
   * @param {number} newestBlock
   */
  async #checkOne(operation, next, { isKnown, pending }, newestBlock) {
    const { rpc, clock, startBlock, presigner, limits, resubmissions, retryPolicy } = this.#tools;
    const { nonce, fee } = operation;
    const last = lastCheckOf(operation);
    const takenAtBlock = last.block ?? newestBlock;
    // One that says "already known" of what it does not show has taken nothing.
    const takenAtUs = Math.max(operation.sample.acceptedAtUs ?? 0, last.heldUs ?? 0);
    last.isLooked = true;
    if (isKnown) Object.assign(last, { heldUs: clock.nowUs(), isGone: false });
    if (operation.inclusion !== null || operation.isCancelled) return;
    if (next > nonce) {
      const decision = await transactionStatusOf(rpc, operation, 'resolve', startBlock).catch(() => null);
      if (decision?.status === 'replaced') operation.end('failed', 'replaced', clock.nowUs());
      else if (decision?.receipt !== undefined) foundByReceipt(this.#tools, operation, decision.receipt);
    } else if (isKnown === false) {
      // Such a node (Erigon) takes another hash only.
      const isDenied = next === nonce && (last.denials ?? 0) >= DENIALS;
      const isLeftOut = next === nonce && newestBlock - takenAtBlock >= PASSED_BLOCKS;
      const count = last.isGone ? 0 : 1;
      const isTaken = await this.send(operation, { lostSinceUs: takenAtUs, isQueued: isDenied });
      if (isTaken && isLeftOut && !retryPolicy.hadOutageSince(takenAtUs))
        limits.lost(count + this.#goneBehind(operation), takenAtUs, takenAtBlock);
      // The node may lose it again soon.
      last.times = 0;
    } else if (isKnown && next === nonce) {
      const isTooLow = fee !== null && presigner.isTooLow(fee);
      const isSkipped = newestBlock - takenAtBlock >= SKIPPED_BLOCKS;
      const isQueued = pending === nonce;
      if (isTooLow) resubmissions.leftOutMs += waitedOf(operation, last, clock.nowUs());
      if (isTooLow || (isSkipped && isQueued)) await this.send(operation, { isTooLow, isQueued });
      else if (isSkipped && (await this.#isReplaced(operation, last.block ?? newestBlock, newestBlock))) return;
      else if (isSkipped) await this.send(operation);
      else if (this.#isProbe(operation, newestBlock)) await this.#replace(operation, NO_EVIDENCE);
      else last.atUs = clock.nowUs();
    }
  }

  /**
   * A pool drops the last ones of a wallet first: those behind a transaction that it has lost.
   * @param {Operation} lost
   * @returns {number} how many
   */
  #goneBehind(lost) {
    let count = 0;
    for (const { operation, state } of lost.account.slots) {
      if (state !== 'live' || operation === null || operation.nonce <= lost.nonce) continue;
      const last = lastCheckOf(operation);
      if (operation.inclusion !== null || operation.sample.acceptedAtUs === null || last.isGone) continue;
      last.isGone = true;
      count += 1;
    }
    return count;
  }

  /** Whether blocks have left it out, and it was replaced. @param {Operation} operation @param {number} fromBlock @param {number} newestBlock */
  async #isReplaced(operation, fromBlock, newestBlock) {
    const { clock, presigner, resubmissions, isShown } = this.#tools;
    const { fee, account } = operation;
    if (!isShown || fee === null) return false;
    const waiting = { address: account.wallet.address, fee, ...presigner.needOf(operation) };
    const evidence = await this.#room.evidence(waiting, fromBlock, newestBlock).catch(() => null);
    if (evidence === null || operation.inclusion !== null || operation.isCancelled) return false;
    // A chain that takes less than its gas limit lets those with the same tip wait for their turn.
    if (evidence.isTipKnown && !evidence.isTipLow && !this.#isOvertaken(operation)) return false;
    const last = lastCheckOf(operation);
    if (last.replacements === undefined) resubmissions.leftOut += 1;
    resubmissions.leftOutMs += waitedOf(operation, last, clock.nowUs());
    last.replacements ??= 0;
    this.leftOutWords = reasonFor(evidence);
    return last.replacements < MAX_REPLACEMENTS && (await this.#replace(operation, evidence));
  }

  /** Whether others that were accepted some blocks later are in blocks. @param {Operation} operation */
  #isOvertaken({ sample }) {
    const laterUs = this.#lastIncludedUs - (sample.acceptedAtUs ?? Infinity);
    return laterUs >= SKIPPED_BLOCKS * this.#tools.inclusion.stats().blockMs * 1000;
  }

  /** One operation of the run: a new hash may be what the chain waits for. @param {Operation} operation @param {number} newestBlock */
  #isProbe({ account }, newestBlock) {
    const { clock, inclusion, isShown, firstWallet } = this.#tools;
    if (!isShown || this.#probedAt === newestBlock || account.wallet.index !== firstWallet) return false;
    // A chain may be as slow as that.
    const stillMs = Math.max(NO_BLOCK_MS, SLOW_BLOCKS * inclusion.stats().blockMs);
    return clock.nowUs() - this.#newest.sinceUs >= stillMs * 1000;
  }

  /** @param {Operation} operation @param {LeftOut} evidence */
  async #replace(operation, evidence) {
    const { clock, presigner, resubmissions } = this.#tools;
    if (evidence === NO_EVIDENCE) this.#probedAt = this.#newest.number;
    const last = lastCheckOf(operation);
    const { replacements: times = 0 } = last;
    if (operation.hashes.length >= MAX_HASHES || !presigner.replaceLeftOut(operation, evidence, times)) return false;
    // What the chain waited for is not the price.
    if (evidence !== NO_EVIDENCE) last.replacements = times + 1;
    last.atUs = clock.nowUs();
    Object.assign(last, UNSEEN);
    resubmissions.replaced += 1;
    await this.#submit(operation);
    return true;
  }

  /**
   * Sends a transaction again, with a higher fee if the node requires it. Errors are ignored: the chain decides the
   * status.
   * @param {UnresolvedOperation['operation'] | Operation} operation
   * @param {{isTooLow?: boolean, isQueued?: boolean, lostSinceUs?: number | null}} [evidence] isTooLow: the fee is known to be
   *   too low; isQueued: the node keeps it queued although its nonce is next; lostSinceUs: when the node accepted what it
   *   has just reported as unknown
   * @returns {Promise<boolean>} whether the node took it
   */
  async send(operation, { isTooLow = false, isQueued = false, lostSinceUs = null } = {}) {
    const { clock, presigner, resubmissions, isShown } = this.#tools;
    const last = lastCheckOf(operation);
    last.atUs = clock.nowUs();
    last.times += 1;
    Object.assign(last, UNSEEN);
    const replace = () =>
      'setTransaction' in operation && operation.hashes.length < MAX_HASHES && presigner.signReplacement(operation);
    const isRaised = ((isTooLow && !presigner.isPriceFixed) || isQueued) && replace();
    if (isTooLow && !isRaised) return false;
    if (isRaised) resubmissions.replaced += 1;
    else resubmissions.rebroadcast += 1;
    const failure = await this.#submit(operation);
    if (failure === null) last.heldUs = clock.nowUs();
    if (lostSinceUs !== null) last.denials = failure === 'known' ? (last.denials ?? 0) + 1 : 0;
    // Another node behind the same address may know it and answers with an error.
    if (lostSinceUs !== null && isShown && failure === null) {
      resubmissions.lost += 1;
      resubmissions.lostMs += (clock.nowUs() - lostSinceUs) / 1000;
      this.#tools.observers.status(identityOf(operation), 'never_sent', null);
    }
    if (failure !== 'price' || presigner.isFixed || !replace()) return failure === null;
    resubmissions.replaced += 1;
    return (await this.#submit(operation)) === null;
  }

  /** As if it had not been sent again before. @param {Operation} operation */
  async sendSoon(operation) {
    lastCheckOf(operation).times = 0;
    await this.send(operation);
  }

  /**
   * @param {UnresolvedOperation['operation'] | Operation} operation
   * @returns {Promise<RefusalClass | 'no_answer' | null>} null: accepted
   */
  async #submit(operation) {
    const { rpc, clock, retryPolicy, taken } = this.#tools;
    const fee = 'fee' in operation ? operation.fee : null;
    try {
      await rpc.call('eth_sendRawTransaction', [operation.raw], 'resubmit', (endpoint) => {
        if ('sample' in operation && !operation.isCancelled) operation.sample.endpoint = endpoint ?? null;
      });
      taken.note(fee, clock.nowUs());
      return null;
    } catch (error) {
      retryPolicy.noteRetryAfter(error, clock.nowUs());
      if (!(error instanceof RpcError)) return 'no_answer';
      return meaningOf(refusalOf(error), () => fee !== null && taken.isLike(fee));
    }
  }
}

/** @param {Partial<Pick<Operation, 'rebroadcast'>>} operation @returns {Rebroadcast} */
function lastCheckOf(operation) {
  operation.rebroadcast ??= { atUs: 0, times: 0, block: null };
  return operation.rebroadcast;
}

/** Milliseconds since the node accepted it, or it was last sent again. @param {Operation} operation @param {Rebroadcast} last @param {number} nowUs */
function waitedOf({ sample, startedAtUs }, { atUs }, nowUs) {
  return (nowUs - Math.max(sample.acceptedAtUs ?? startedAtUs, atUs)) / 1000;
}

/** @param {Rebroadcast} last @param {number} overdueMs of one that was never sent again */
function dueAfterMs({ times }, overdueMs) {
  return Math.min(overdueMs * 2 ** Math.min(times, 10), MAX_INTERVAL_MS);
}

/** Transactions of its wallet before it. @param {Operation} operation */
function aheadOf({ nonce, account }) {
  return nonce - account.wallet.nonce;
}

/** @param {LeftOut} evidence */
function reasonFor({ isTipLow, isTipKnown }) {
  if (isTipLow) return 'each of theirs has a higher tip (--tip)';
  if (!isTipKnown) return 'they are empty; a higher tip may help (--tip)';
  return 'the tip is not the reason; perhaps the kind of transaction, or the sender, is';
}
