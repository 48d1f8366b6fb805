import { balanceOf, gather } from '../chain/answers.js';
import { isLimit } from '../chain/retries.js';
import { revertReason } from '../chain/send.js';
import { FundsError, InternalError, RefusedError, RpcError, WorkloadError } from '../errors.js';
import { TOUCHED } from '../stats/reorgs.js';
import { timeText } from '../text.js';
import { Queue } from './queue.js';
import { identityOf } from './ledger.js';
import { groupByAccount } from './nonces.js';
import { MAX_HASHES, Resubmission } from './resubmission.js';
import { transactionStatusOf } from './transaction-status.js';

/**
 * @import { Sample } from '../contracts/load.d.ts'
 * @import { ReorgEvent } from '../contracts/run-file.d.ts'
 * @import { Driver } from './driver.js'
 * @import { Ledger, UnresolvedOperation } from './ledger.js'
 * @import { Account } from './nonces.js'
 * @import { Operation, Tools } from './operation.js'
 * @import { RetryPolicy } from './submit.js'
 * @import { Decision } from './transaction-status.js'
 */

/** First and longest pause of a wallet after a failure, in milliseconds. */
const PAUSE_MS = Object.freeze([50, 5000]);

/** Errors of a user's workload in a row before the wallet is retired. */
const WORKLOAD_FAILURES = 5;

/** First and longest pause between two looks at the balance of a wallet that waits for a refill. */
const REFILL_PAUSE_MS = Object.freeze([2000, 60_000]);

const PAYMENTS_REFUSED = 'the gas of payments to them might exceed --max-spend; raise it for a longer load';

/** Wallets that resubmit at a time. */
const MAX_RESUBMITTING = 32;

/**
 * Recovers a wallet after a failed operation: holds back its next operations until it can continue, or retires it. What
 * has to happen meanwhile differs between transactions and plain calls.
 */
export class Recovery {
  /** Number of retired wallets. */
  retired = 0;
  /** Message of a user's workload that kept failing. @type {string | null} */
  #workloadError = null;

  /** @param {Driver} driver */
  constructor(driver) {
    this.driver = driver;
  }

  /**
   * Until the wallet can continue.
   * @param {Operation} _operation
   * @param {Sample} _sample
   * @returns {Promise<boolean>} false: the wallet cannot be used any more
   */
  async settle(_operation, _sample) {
    return true;
  }

  /** @param {Operation} _operation */
  onVerified(_operation) {}

  /** Watches the operations in flight until the drain ends. */
  async watch() {}

  /** @param {Operation} operation @param {Sample} sample @param {number} [thinkTimeMs] think time of the wallet */
  recover(operation, sample, thinkTimeMs = 0) {
    const { clock, onStop } = this.driver.options;
    const { account, error } = operation;
    if (error !== null && sample.code === 'internal') onStop('internal', new InternalError(error.message, error));
    const thinkTime = thinkTimeMs === 0 ? null : clock.sleep(thinkTimeMs, this.driver.halted);
    const recovered = Promise.all([this.settle(operation, sample), thinkTime]).then(
      ([isUsable]) => isUsable && !this.#keepsFailing(operation, sample),
    );
    this.holdUntil(account, recovered, 1);
  }

  /** @param {Operation} operation @param {Sample} sample */
  #keepsFailing({ account, error }, { code }) {
    if (code !== 'workload_error' || this.driver.walletSlotOf(account).failuresInRow < WORKLOAD_FAILURES) return false;
    this.#workloadError ??= error?.message ?? null;
    return true;
  }

  /**
   * @param {Account} account
   * @param {Promise<boolean>} recovered false: the wallet cannot be used any more
   * @param {number} toStart operations that may be started afterwards
   */
  holdUntil(account, recovered, toStart) {
    const slot = this.driver.walletSlotOf(account);
    slot.recovering += 1;
    recovered.then(
      (isUsable) => {
        slot.recovering -= 1;
        if (!isUsable) return this.#retire(account);
        // If it is still held, the driver holds these starts again.
        this.driver.rearm(account, slot.heldStarts + toStart);
        slot.heldStarts = 0;
      },
      (error) => this.driver.options.onStop('internal', error),
    );
  }

  /** @param {Account} account */
  #retire(account) {
    const slot = this.driver.walletSlotOf(account);
    if (slot.isRetired) return;
    slot.isRetired = true;
    this.retired += 1;
    const { accounts, onStop } = this.driver.options;
    if (this.retired < accounts.length) this.driver.forfeit(account);
    else if (this.#workloadError === null) onStop('no_wallets');
    else onStop('workload_failed', new WorkloadError(this.#workloadError));
  }
}

/** Failures with a response that is no error: the next call may follow at once, as after an error. */
const ANSWERED_FAILURES = Object.freeze(['check_failed', 'answers_differ']);

/** Plain calls leave nothing behind. After a call without a valid response the wallet pauses, longer each time. */
export class CallRecovery extends Recovery {
  /** Pauses since the last response, by wallet. @type {Map<Account, number>} */
  #pauses = new Map();
  #retryPolicy;

  /** @param {Driver} driver @param {RetryPolicy} retryPolicy */
  constructor(driver, retryPolicy) {
    super(driver);
    this.#retryPolicy = retryPolicy;
  }

  /** @override @param {Operation} operation @param {Sample} sample */
  async settle({ account, nonce, error }, { code }) {
    const { clock } = this.driver.options;
    const [firstMs, longestMs] = PAUSE_MS;
    const isLimited = isLimit(error);
    if (isLimited) this.#retryPolicy.pauses.limitAnswers += 1;
    account.settle(nonce, 'used');
    const isAnswered = error instanceof RpcError || ANSWERED_FAILURES.includes(code ?? '');
    if (isAnswered && !isLimited) {
      this.#pauses.delete(account);
      return true;
    }
    // Calls of one wallet that fail together count once.
    const before = this.#pauses.get(account) ?? 0;
    const inRow = this.driver.walletSlotOf(account).recovering === 0 || before === 0 ? before + 1 : before;
    this.#pauses.set(account, inRow);
    const fromUs = clock.nowUs();
    await clock.sleep(Math.min(firstMs * 2 ** (inRow - 1), longestMs), this.driver.halted);
    const pauseMs = (clock.nowUs() - fromUs) / 1000;
    this.#retryPolicy.callPauseMs += pauseMs;
    if (isLimited) this.#retryPolicy.pauses.limitedMs += pauseMs;
    return true;
  }

  /** @override @param {Operation} operation */
  onVerified({ account }) {
    this.#pauses.delete(account);
  }
}

const CHECK_INTERVAL_MS = 1000;

/**
 * How long a node may report a lower nonce than ours before the transactions are resubmitted. A lagging node refuses
 * them, but a chain that lost blocks and makes blocks on demand needs them.
 */
const BEHIND_MS = 2000;

/** A failed transaction decides the next nonce of its wallet; a reorg returns transactions that had been included. */
export class TransactionRecovery extends Recovery {
  /** Wallets that resubmit now, and those that wait. */
  #active = 0;
  /** @type {Queue<() => void>} */
  #waiting = new Queue();
  /** When a wallet last began to wait for a payment. */
  #unpaidUs = 0;
  #resubmission;
  #tools;
  #ledger;

  /** @param {Driver} driver @param {Tools} tools @param {Ledger} ledger */
  constructor(driver, tools, ledger) {
    super(driver);
    this.#resubmission = new Resubmission(tools);
    this.#tools = tools;
    this.#ledger = ledger;
  }

  /** Why blocks leave transactions out; null: they do not. */
  get leftOutWords() {
    return this.#resubmission.leftOutWords;
  }

  /**
   * Resolves the status of a failed operation and enters it into the ledger. When the load ends first, the audit resolves
   * it later.
   * @override
   * @param {Operation} operation
   * @param {Sample} sample
   */
  async settle(operation, sample) {
    const { account } = operation;
    this.#ledger.addUnresolved({ operation, sample });
    const pauseMs = PAUSE_MS[0] * 2 ** (this.driver.walletSlotOf(account).failuresInRow - 1);
    const isResolved = await this.#watchStatus(operation, pauseMs, this.driver.halted, async (decision) => {
      if (decision.status === 'pending') {
        if (this.#resubmission.isDue(operation)) await this.#resubmission.send(operation);
        return false;
      }
      this.#ledger.settle(operation, sample, decision);
      if (decision.status === 'reverted') void this.#readRevertReason(operation, sample);
      return true;
    });
    const isRefilled = sample.code === 'insufficient_funds' && this.#tools.refillWei !== null;
    if (!isResolved || !isUsableAfter(operation, isRefilled ? null : sample.code)) return false;
    if (isRefilled) await this.#untilRefilled(account);
    return true;
  }

  /** No operation of the wallet waits meanwhile, so this is in no latency. @param {Account} account */
  async #untilRefilled(account) {
    const { clock, rpc, refillWei, retryPolicy } = this.#tools;
    const { unpaid, halted } = this.driver;
    const [leastMs, mostMs] = REFILL_PAUSE_MS;
    this.#unpaidUs = clock.nowUs();
    // One of several operations of a wallet waits for it.
    const isFirst = this.driver.walletSlotOf(account).left > 0 && !unpaid.has(account);
    if (isFirst) unpaid.add(account);
    let sinceUs = clock.nowUs();
    const noteWait = () => {
      const nowUs = clock.nowUs();
      if (isFirst) retryPolicy.pauses.unpaidMs += (nowUs - sinceUs) / 1000;
      sinceUs = nowUs;
    };
    for (let pauseMs = leastMs; ; pauseMs = Math.min(2 * pauseMs, mostMs)) {
      await clock.sleep(pauseMs, halted);
      noteWait();
      if (halted.aborted) return;
      const balanceWei = await gather(rpc, balanceOf(account.wallet.address, 'latest'), 'resolve').catch(() => null);
      if (balanceWei === null) continue;
      if (balanceWei >= /** @type {NonNullable<typeof refillWei>} */ (refillWei)(account)) break;
      this.#endIfUnpaid();
    }
    unpaid.delete(account);
  }

  /** A load that waits for a payment only would never end. */
  #endIfUnpaid() {
    const { clock, txTimeoutMs } = this.#tools;
    const { isUnpaid, options } = this.driver;
    if (!isUnpaid || clock.nowUs() - this.#unpaidUs < txTimeoutMs * 1000) return;
    const words = `no wallet has had funds for ${timeText(txTimeoutMs / 1000)}`;
    if (options.budget?.hasRefused) options.onStop('max_spend', new RefusedError(`${words}: ${PAYMENTS_REFUSED}`));
    else
      options.onStop(
        'no_wallets',
        new FundsError(`${words}, and the funder has paid none: see the warnings, and give it more`),
      );
  }

  /** Adds the reason to the words of the first revert of each code. @param {Operation} operation @param {Sample} sample */
  async #readRevertReason({ hash, error }, { code }) {
    const { failureWords } = this.driver;
    if (hash === null || code === null || failureWords[code] !== error?.message) return;
    const { rpc, workload } = this.#tools;
    const reason = await revertReason(rpc, hash, 'resolve', workload.revertWords);
    if (reason !== null) failureWords[code] = `${error?.message}: ${reason}`;
  }

  /** @override @param {Operation} operation */
  onVerified(operation) {
    const { account, nonce, startedAtUs, hashes, raw, inclusion } = operation;
    this.#resubmission.noteVerified(operation);
    const blockNumber = inclusion?.number ?? 0;
    const { recentInclusions } = this.#ledger;
    recentInclusions.add({
      account,
      nonce,
      startedAtUs,
      hashes,
      raw,
      blockNumber,
      outcome: 'verified',
      isExecuted: true,
    });
  }

  /** @override */
  async watch() {
    const { clock, retryPolicy } = this.#tools;
    const { drained, live } = this.driver;
    /** When the node's nonce fell behind ours, by wallet. @type {Map<Account, number>} */
    const lagging = new Map();
    for (let round = 0; !drained.aborted; round += 1) {
      await clock.sleep(Math.max(CHECK_INTERVAL_MS, retryPolicy.waitMs(clock.nowUs())), drained);
      const nowUs = clock.nowUs();
      this.driver.lookAtLimits();
      const nonces = await this.#resubmission.check(live, round);
      for (const [account, next] of nonces) {
        const sinceUs = lagging.get(account);
        if (next >= account.wallet.nonce) lagging.delete(account);
        else if (sinceUs === undefined) lagging.set(account, nowUs);
        // For a short time the node may only lag.
        else if (nowUs - sinceUs >= BEHIND_MS * 1000) this.#resubmitOrphans(this.#ledger.reopenOf(account, next));
      }
    }
  }

  /**
   * After a reorg: gets the transactions of the removed blocks included again.
   * @param {number} blockNumber of the first removed block
   * @param {string[]} unconfirmed hashes in them that were not reported yet
   * @returns {Pick<ReorgEvent, 'operations' | 'touched' | 'isComplete'>}
   */
  reorganise(blockNumber, unconfirmed = []) {
    const { orphans, isComplete, waiting } = this.#ledger.reopen(blockNumber);
    const removed = new Set(unconfirmed);
    const touched = [...this.driver.live].filter(({ inclusion, hashes }) =>
      inclusion === null ? hashes.some((hash) => removed.has(hash)) : inclusion.number >= blockNumber,
    );
    this.#tools.observers.reorg(blockNumber, [
      ...orphans.map(({ operation, lostBlock = blockNumber }) => {
        return { ...identityOf(operation), blockNumber: lostBlock, seenAtUs: null };
      }),
      ...touched.flatMap((operation) => {
        const { number = null, seenAtUs = 0 } = operation.block ?? operation.inclusion ?? {};
        return number === null ? [] : { ...identityOf(operation), blockNumber: number, seenAtUs };
      }),
    ]);
    for (const operation of touched) operation.orphaned();
    this.#resubmitOrphans(orphans);
    const resubmitted = new Set(orphans.map(({ operation }) => operation.account));
    for (const account of new Set(touched.map((operation) => operation.account))) {
      if (!resubmitted.has(account)) void this.#throttled(() => this.#rebroadcastMissing(account));
    }
    const all = [...[...orphans, ...waiting].map(({ operation }) => operation), ...touched];
    const named = all.slice(0, TOUCHED).map(({ account, nonce, hashes }) => {
      return { walletIndex: account.wallet.index, nonce, hash: hashes.at(-1) ?? null };
    });
    return { operations: all.length, touched: named, isComplete };
  }

  /** @param {UnresolvedOperation[]} orphans */
  #resubmitOrphans(orphans) {
    for (const [account, own] of groupByAccount(orphans, ({ operation }) => operation.account)) {
      own.sort((a, b) => a.operation.nonce - b.operation.nonce);
      const resubmitted = this.#throttled(async () => {
        const areBack = await this.#resubmit(own);
        await this.#rebroadcastMissing(account);
        return areBack;
      });
      this.holdUntil(account, resubmitted, 0);
    }
  }

  /** The node may have dropped transactions behind the missing nonce. @param {Account} account */
  async #rebroadcastMissing({ slots }) {
    for (const { operation, state } of [...slots]) {
      if (state !== 'live' || operation === null) continue;
      if (operation.sample.acceptedAtUs === null || operation.inclusion !== null || operation.isCancelled) continue;
      await this.#resubmission.sendSoon(operation);
    }
  }

  /**
   * Limits how many wallets resubmit at once after a reorg.
   * @template T
   * @param {() => Promise<T>} action
   * @returns {Promise<T>}
   */
  async #throttled(action) {
    if (this.#active >= MAX_RESUBMITTING) await new Promise((resolve) => this.#waiting.push(() => resolve(undefined)));
    this.#active += 1;
    try {
      return await action();
    } finally {
      this.#active -= 1;
      this.#waiting.shift()?.();
    }
  }

  /**
   * Gets reorged operations of a wallet included again: the node returns them to its pool, or receives the same bytes
   * again. Nonces execute in order, so the first unresolved one tells about all.
   * @param {UnresolvedOperation[]} orphans of one wallet in nonce order, unresolved in the ledger
   * @returns {Promise<boolean>} false: their status is unknown at the time limit
   */
  async #resubmit(orphans) {
    const signal = this.driver.drained;
    const open = [...orphans];
    const sendAll = async () => {
      for (const { operation } of open) if (!signal.aborted) await this.#resubmission.send(operation);
    };
    // Has no effect if the node has them in its pool.
    await sendAll();
    let sentAgain = 1;
    for (let [first] = open; first !== undefined && !signal.aborted; [first] = open) {
      const { operation, sample } = first;
      const pauseMs = open.length === orphans.length ? PAUSE_MS[0] : 0;
      const isResolved = await this.#watchStatus(operation, pauseMs, signal, async (decision) => {
        if (decision.status === 'pending') return false;
        if (decision.status === 'never_sent' && (sentAgain += 1) <= MAX_HASHES) {
          await sendAll();
          return false;
        }
        this.#ledger.settle(operation, sample, decision);
        return true;
      });
      if (!isResolved) return false;
      open.shift();
    }
    return true;
  }

  /**
   * @param {UnresolvedOperation['operation']} operation
   * @param {number} firstMs first pause
   * @param {AbortSignal} signal
   * @param {(decision: Decision) => Promise<boolean>} onDecision returns true if it is final
   * @returns {Promise<boolean>} false: it was unknown at the time limit
   */
  async #watchStatus(operation, firstMs, signal, onDecision) {
    const { clock, rpc, txTimeoutMs, startBlock, retryPolicy } = this.#tools;
    const [shortestPauseMs, longestPauseMs] = PAUSE_MS;
    const deadlineUs = clock.nowUs() + txTimeoutMs * 1000;
    let pauseMs = Math.min(firstMs, longestPauseMs);
    for (;;) {
      await clock.sleep(Math.max(pauseMs, retryPolicy.waitMs(clock.nowUs())), signal);
      if (signal.aborted) return true;
      const decision = await transactionStatusOf(rpc, operation, 'resolve', startBlock).catch((error) => {
        retryPolicy.noteRetryAfter(error, clock.nowUs());
        return null;
      });
      if (signal.aborted) return true;
      if (decision !== null && (await onDecision(decision))) return true;
      if (clock.nowUs() > deadlineUs) return false;
      pauseMs = Math.min(Math.max(pauseMs * 2, shortestPauseMs), longestPauseMs);
    }
  }
}

/** @param {Operation} operation @param {string | null} code of its failure */
function isUsableAfter({ account, nonce }, code) {
  if (code === 'insufficient_funds' || code === 'wrong_count') return false;
  return (account.slotOf(nonce)?.undecided?.operation.hashes.length ?? 0) < MAX_HASHES;
}
