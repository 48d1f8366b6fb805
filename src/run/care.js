import { InternalError, WorkloadError } from '../errors.js';
import { TOUCHED } from '../metrics/reorgs.js';
import { Queue } from './queue.js';

/**
 * @import { ReorgEvent } from '../metrics/reorgs.js'
 * @import { Sample } from '../metrics/sample.js'
 * @import { Account } from './account.js'
 * @import { OnLost } from './course.js'
 * @import { DriverOptions } from './driver.js'
 * @import { Operation } from './operation.js'
 * @import { Remembered } from './past.js'
 */

/** How often in a row a workload of the user's own may fail before its wallet is given up. */
const WORKLOAD_FAILURES = 5;

/** Wallets that send again what was lost, at a time. */
const AT_ONCE = 32;

/**
 * Takes care of wallets that cannot simply go on: an operation of theirs did not verify, or the chain has lost one. What
 * it waits for is the course's business; here it is decided what that means for the wallet.
 *
 * @typedef {Pick<DriverOptions, 'clock' | 'course' | 'accounts' | 'purse' | 'onStop'>} Shared
 *
 * @typedef {object} Own
 * @property {ReadonlySet<Operation>} live
 * @property {AbortSignal} signal aborts when nothing is started any more
 * @property {AbortSignal} drained aborts when nothing is waited for any more
 * @property {(account: Account, times: number) => void} rearm so many operations of a wallet may be started
 * @property {(account: Account) => void} retire no more of it are
 */
export class Care {
  #retired = 0;
  /** What a workload said that kept failing. @type {string | null} */
  #workloadWords = null;
  /** Wallets that send again now, and those that will. */
  #busy = 0;
  /** @type {Queue<() => void>} */
  #waiting = new Queue();
  #options;

  /** @param {Shared & Own} options */
  constructor(options) {
    this.#options = options;
  }

  /**
   * @param {Operation} operation
   * @param {Sample} sample
   * @param {number} [restMs] its wallet is not used again before that
   */
  mend(operation, sample, restMs = 0) {
    const { clock, course, signal, onStop } = this.#options;
    const { account, bug } = operation;
    if (bug !== null) onStop('internal', new InternalError(bug.message, bug));
    const mended = course.mend(operation, sample, signal).finally(() => this.#giveBack(operation));
    const rest = restMs === 0 ? null : clock.sleep(restMs, signal);
    this.#lookAfter(
      account,
      Promise.all([mended, rest]).then(([why]) => why ?? this.#whyFailing(operation, sample)),
      1,
    );
  }

  /** @param {Operation} operation @param {Sample} sample */
  #whyFailing({ account, words }, { code }) {
    if (code !== 'workload_error' || account.failuresInRow < WORKLOAD_FAILURES) return null;
    this.#workloadWords ??= words;
    return 'its workload keeps failing';
  }

  /** Others may have waited for what was reserved for it. @param {Operation} operation */
  #giveBack(operation) {
    const { purse, rearm } = this.#options;
    if (!purse) return;
    purse.settle(operation);
    rearm(operation.account, 0);
  }

  /**
   * Blocks have left the chain: what was in them has to get into others.
   * @param {number} blockNumber of the first of them
   * @param {string[]} untold hashes of transactions in them that were not told of
   * @returns {Pick<ReorgEvent, 'operations' | 'touched' | 'isComplete'>} what was in them
   */
  reorganise(blockNumber, untold = []) {
    const { course, live } = this.#options;
    const { orphans, isComplete, waiting } = course.reopen(blockNumber);
    const lost = new Set(untold);
    const touched = [...live].filter(({ inclusion, hashes }) =>
      inclusion === null ? hashes.some((hash) => lost.has(hash)) : inclusion.number >= blockNumber,
    );
    for (const operation of touched) if (operation.inclusion !== null) operation.orphaned();
    this.#revive(orphans);
    const revived = new Set(orphans.map(({ operation }) => operation.account));
    for (const account of new Set(touched.map((operation) => operation.account))) {
      if (!revived.has(account)) void this.#inTurn(() => this.#hasten(account));
    }
    const all = [...[...orphans, ...waiting].map(({ operation }) => operation), ...touched];
    const named = all.slice(0, TOUCHED).map(({ account, nonce, hashes }) => {
      return { walletIndex: account.wallet.index, nonce, hash: hashes.at(-1) ?? null };
    });
    return { operations: all.length, touched: named, isComplete };
  }

  /** The chain no longer has what a wallet did from a nonce on. @type {OnLost} */
  lost = (account, nonce) => this.#revive(this.#options.course.reopenOf(account, nonce));

  /** @param {Remembered[]} orphans */
  #revive(orphans) {
    const { course, drained } = this.#options;
    /** @type {Map<Account, typeof orphans>} */
    const byAccount = new Map();
    for (const orphan of orphans) {
      const own = byAccount.get(orphan.operation.account);
      if (own === undefined) byAccount.set(orphan.operation.account, [orphan]);
      else own.push(orphan);
    }
    for (const [account, own] of byAccount) {
      own.sort((a, b) => a.operation.nonce - b.operation.nonce);
      const revived = this.#inTurn(async () => {
        const why = await course.revive(own, drained);
        await this.#hasten(account);
        return why;
      });
      this.#lookAfter(account, revived, 0);
    }
  }

  /** A node may have dropped what had to wait for a nonce that was gone. @param {Account} account */
  #hasten({ slots }) {
    const live = slots.flatMap(({ operation, standing }) => (standing === 'live' ? (operation ?? []) : []));
    return this.#options.course.hasten(live);
  }

  /** After a reorg all wallets have something to send at once: a node is given a few at a time. @template T @param {() => Promise<T>} action @returns {Promise<T>} */
  async #inTurn(action) {
    if (this.#busy >= AT_ONCE) await new Promise((resolve) => this.#waiting.push(() => resolve(undefined)));
    this.#busy += 1;
    try {
      return await action();
    } finally {
      this.#busy -= 1;
      this.#waiting.shift()?.();
    }
  }

  /**
   * @param {Account} account
   * @param {Promise<string | null>} looking gives why the wallet cannot be used any more, or null
   * @param {number} toStart operations that may be started when that is over
   */
  #lookAfter(account, looking, toStart) {
    const { signal, rearm, onStop } = this.#options;
    account.mending += 1;
    looking.then(
      (whyUnusable) => {
        account.mending -= 1;
        account.held += toStart;
        if (whyUnusable !== null) this.#retire(account, whyUnusable);
        else if ((account.mending === 0 || account.hasGap) && !signal.aborted) {
          rearm(account, account.held);
          account.held = 0;
        }
      },
      (error) => onStop('internal', error),
    );
  }

  /** @param {Account} account @param {string} why */
  #retire(account, why) {
    if (account.retired !== null) return;
    account.retired = why;
    this.#retired += 1;
    const { accounts, onStop, retire } = this.#options;
    if (this.#retired < accounts.length) retire(account);
    else if (this.#workloadWords === null) onStop('no_wallets');
    else onStop('workload_failed', new WorkloadError(this.#workloadWords));
  }
}
