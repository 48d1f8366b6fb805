import { submitFailure } from '../chain/rpc.js';
import { InternalError, RpcError, WorkloadError } from '../errors.js';
import { TOUCHED } from '../stats/reorgs.js';
import { Queue } from './driver.js';
import { foundByReceipt } from './submit.js';
import { transactionStatusOf } from './transaction-status.js';

/**
 * @import { Outcome, ReorgEvent, Rpc, Sample } from '../types.d.ts'
 * @import { DriverOptions } from './driver.js'
 * @import { OnLost } from './engine.js'
 * @import { Ledger, Open } from './ledger.js'
 * @import { Account } from './nonces.js'
 * @import { Operation, Tools } from './operation.js'
 * @import { Decision } from './transaction-status.js'
 */

/** How often in a row a workload of the user's own may fail before its wallet is given up. */
const WORKLOAD_FAILURES = 5;

/** Wallets that send again what was lost, at a time. */
const AT_ONCE = 32;

/**
 * Takes care of wallets that cannot simply go on: an operation of theirs did not verify, or the chain has lost one. What
 * it waits for is the kind's business; here it is decided what that means for the wallet.
 *
 * @typedef {Pick<DriverOptions, 'clock' | 'kind' | 'accounts' | 'budget' | 'onStop'>} Shared
 *
 * @typedef {object} Own
 * @property {ReadonlySet<Operation>} live
 * @property {AbortSignal} signal aborts when nothing is started any more
 * @property {AbortSignal} drained aborts when nothing is waited for any more
 * @property {(account: Account, times: number) => void} rearm so many operations of a wallet may be started
 * @property {(account: Account) => void} retire no more of it are
 */
export class Recovery {
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
  recover(operation, sample, restMs = 0) {
    const { clock, kind, signal, onStop } = this.#options;
    const { account, bug } = operation;
    if (bug !== null) onStop('internal', new InternalError(bug.message, bug));
    const mended = kind.mend(operation, sample, signal).finally(() => this.#giveBack(operation));
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
    const { budget, rearm } = this.#options;
    if (!budget) return;
    budget.settle(operation);
    rearm(operation.account, 0);
  }

  /**
   * Blocks have left the chain: what was in them has to get into others.
   * @param {number} blockNumber of the first of them
   * @param {string[]} unconfirmed hashes of transactions in them that were not told of
   * @returns {Pick<ReorgEvent, 'operations' | 'touched' | 'isComplete'>} what was in them
   */
  reorganise(blockNumber, unconfirmed = []) {
    const { kind, live } = this.#options;
    const { orphans, isComplete, waiting } = kind.reopen(blockNumber);
    const lost = new Set(unconfirmed);
    const touched = [...live].filter(({ inclusion, hashes }) =>
      inclusion === null ? hashes.some((hash) => lost.has(hash)) : inclusion.number >= blockNumber,
    );
    for (const operation of touched) if (operation.inclusion !== null) operation.orphaned();
    this.#resubmitOrphans(orphans);
    const revived = new Set(orphans.map(({ operation }) => operation.account));
    for (const account of new Set(touched.map((operation) => operation.account))) {
      if (!revived.has(account)) void this.#inSequence(() => this.#rebroadcastMissing(account));
    }
    const all = [...[...orphans, ...waiting].map(({ operation }) => operation), ...touched];
    const named = all.slice(0, TOUCHED).map(({ account, nonce, hashes }) => {
      return { walletIndex: account.wallet.index, nonce, hash: hashes.at(-1) ?? null };
    });
    return { operations: all.length, touched: named, isComplete };
  }

  /** The chain no longer has what a wallet did from a nonce on. @type {OnLost} */
  lost = (account, nonce) => this.#resubmitOrphans(this.#options.kind.reopenOf(account, nonce));

  /** @param {RecentInclusion[]} orphans */
  #resubmitOrphans(orphans) {
    const { kind, drained } = this.#options;
    /** @type {Map<Account, typeof orphans>} */
    const byAccount = new Map();
    for (const orphan of orphans) {
      const own = byAccount.get(orphan.operation.account);
      if (own === undefined) byAccount.set(orphan.operation.account, [orphan]);
      else own.push(orphan);
    }
    for (const [account, own] of byAccount) {
      own.sort((a, b) => a.operation.nonce - b.operation.nonce);
      const revived = this.#inSequence(async () => {
        const why = await kind.revive(own, drained);
        await this.#rebroadcastMissing(account);
        return why;
      });
      this.#lookAfter(account, revived, 0);
    }
  }

  /** A node may have dropped what had to wait for a nonce that was gone. @param {Account} account */
  #rebroadcastMissing({ slots }) {
    const live = slots.flatMap(({ operation, standing }) => (standing === 'live' ? (operation ?? []) : []));
    return this.#options.kind.hasten(live);
  }

  /** After a reorg all wallets have something to send at once: a node is given a few at a time. @template T @param {() => Promise<T>} action @returns {Promise<T>} */
  async #inSequence(action) {
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

/**
 * Looks after transactions that the node has accepted and that are in no block for too long: what the node does not know
 * any more is sent again, what offers too little is replaced, and what the node knows is left alone while the chain makes
 * no blocks.
 */

/** How often it is looked for such. */
const LOOK_MS = 1000;

/** An accepted operation that is in no block after so many is overdue; in milliseconds no less and no more than that. */
const OVERDUE_BLOCKS = 5;
const OVERDUE_MS = Object.freeze([1000, 15_000]);

/** One that the node knows is sent again after that time, then after twice that and so on. */
const LONGEST_WAIT_MS = 60_000;

/** Blocks without a transaction that the node knows, after which it is sent again: another node may not have it. */
const PASSED_BY_BLOCKS = 3;

/**
 * How long a node may know less of a wallet than we do before its transactions are sent again, in milliseconds. A node that
 * lags refuses them; a chain that has lost blocks, and makes new ones only for transactions, needs them to go on.
 */
const LOST_MS = 2000;

/** How many are looked after at a time. */
const LOOK_AFTER_AT_ONCE = 100;

/** How many transactions are made for one nonce at most. */
const MOST_HASHES = 20;

/** When an accepted operation is overdue, in milliseconds after it was sent. @param {Pick<Tools, 'inclusion'>} tools */
export function overdueAfterMs({ inclusion }) {
  const [leastMs, mostMs] = OVERDUE_MS;
  return Math.min(Math.max(inclusion.stats().blockMs * OVERDUE_BLOCKS, leastMs), mostMs);
}

/** @param {Operation} operation @param {number} nowUs @param {number} overdueMs */
export function isDue({ acceptedAtUs, startedAtUs, pushed }, nowUs, overdueMs) {
  const sinceUs = Math.max(acceptedAtUs ?? startedAtUs, pushed.atUs);
  return nowUs - sinceUs >= Math.min(overdueMs * 2 ** Math.min(pushed.times, 10), LONGEST_WAIT_MS) * 1000;
}

/**
 * Until the signal aborts.
 * @param {Tools} tools
 * @param {Set<Operation>} live
 * @param {AbortSignal} signal
 * @param {OnLost} onLost
 */
export async function rebroadcastOverdue(tools, live, signal, onLost) {
  const { clock, retryPolicy } = tools;
  /** Since when the node has known less of a wallet than we do. @type {Map<Account, number>} */
  const behind = new Map();
  for (let round = 0; !signal.aborted; round += 1) {
    await clock.sleep(Math.max(LOOK_MS, retryPolicy.waitMs(clock.nowUs())), signal);
    const nowUs = clock.nowUs();
    const overdueMs = overdueAfterMs(tools);
    const { newestBlock } = tools.inclusion.stats();
    const waiting = [...live].filter(({ inclusion, acceptedAtUs }) => inclusion === null && acceptedAtUs !== null);
    for (const { pushed } of waiting) pushed.block ??= newestBlock;
    const all = waiting.filter((operation) => isDue(operation, nowUs, overdueMs));
    // Others each time, so that none is hidden for ever behind those that are just slow.
    const from = (round * LOOK_AFTER_AT_ONCE) % Math.max(all.length, 1);
    const overdue = [...all.slice(from), ...all.slice(0, from)].slice(0, LOOK_AFTER_AT_ONCE);
    // In the order of their nonces: a node takes them as they come.
    overdue.sort((a, b) => a.nonce - b.nonce);
    const nonces = await checkOverdue(tools, overdue, newestBlock).catch((error) => {
      retryPolicy.noteRetryAfter(error, clock.nowUs());
      return new Map(); // the endpoint is away; there is a next round
    });
    // For a moment it may be a node that lags; for longer the chain may have lost it.
    for (const [account, next] of nonces) {
      if (next >= account.wallet.nonce) behind.delete(account);
      else if (nowUs - (behind.get(account) ?? nowUs) >= LOST_MS * 1000) onLost(account, next);
      else if (!behind.has(account)) behind.set(account, nowUs);
    }
  }
}

/**
 * One batch tells what is known of all of them; only those that need it cost more.
 * @param {Tools} tools
 * @param {Operation[]} overdue
 * @param {number} newestBlock that was read
 * @returns {Promise<Map<Account, number>>} the next nonce of each wallet, as the chain has it
 */
async function checkOverdue(tools, overdue, newestBlock) {
  const { rpc, clock, startBlock, presigner } = tools;
  const [nonces, known] = await Promise.all([
    rpc.batch(
      overdue.map(({ account }) => ({ method: 'eth_getTransactionCount', params: [account.wallet.address, 'latest'] })),
      'resolve',
    ),
    Promise.all(overdue.map(({ hash }) => byHash(rpc, hash))),
  ]);
  /** @type {Map<Account, number>} */
  const nextNonces = new Map();
  for (const [i, operation] of overdue.entries()) {
    const next = Number(nonces[i]);
    nextNonces.set(operation.account, next);
    const isNext = next === operation.nonce;
    if (operation.inclusion !== null || operation.isCancelled) continue;
    if (next > operation.nonce) {
      const decision = await transactionStatusOf(rpc, operation, 'resolve', startBlock).catch(() => null);
      if (decision?.fate === 'replaced') operation.end('failed', 'replaced', clock.nowUs());
      else if (decision?.receipt !== undefined) foundByReceipt(tools, operation, decision.receipt);
    } else if (known[i] === null) {
      await rebroadcast(tools, operation, { isUnknown: true });
      // What it had lost it may lose again.
      operation.pushed.times = 0;
    } else if (isNext) {
      const { pushed, fee } = operation;
      const isTooLow = fee !== null && presigner.isTooLow(fee);
      const isPassedBy = newestBlock - (pushed.block ?? newestBlock) >= PASSED_BY_BLOCKS;
      if (isTooLow || isPassedBy) await rebroadcast(tools, operation, { isTooLow });
      else pushed.atUs = clock.nowUs();
    }
  }
  return nextNonces;
}

/** Nodes answer with null, or an error, for what they do not know. @param {Rpc} rpc @param {string | null} hash */
function byHash(rpc, hash) {
  return rpc.gather('eth_getTransactionByHash', [hash], 'resolve').catch((error) => {
    if (error instanceof RpcError) return null;
    throw error;
  });
}

/**
 * Sends a transaction again; where its fee has become too low for the node, one with a higher fee. What the node says is
 * of no consequence: the chain tells what became of it.
 * @param {Tools} tools
 * @param {Open['operation'] | Operation} operation
 * @param {{isTooLow?: boolean, isUnknown?: boolean}} [evidence] isTooLow: its fee is known to be; isUnknown: the node has
 *   just said that it does not know the transaction
 */
export async function rebroadcast(tools, operation, { isTooLow = false, isUnknown = false } = {}) {
  const { rpc, clock, presigner, retryPolicy, resubmissions } = tools;
  const { pushed } = operation;
  if (pushed !== undefined) {
    pushed.atUs = clock.nowUs();
    pushed.times += 1;
    pushed.block = null;
  }
  const raise = () => 'offer' in operation && operation.hashes.length < MOST_HASHES && presigner.raise(operation);
  if (isTooLow && !raise()) return;
  if (isTooLow) resubmissions.replaced += 1;
  else resubmissions.rebroadcast += 1;
  const failure = await send(rpc, operation, (error) => retryPolicy.noteRetryAfter(error, clock.nowUs()));
  // Another node behind the same address may have it: then the answer is an error.
  if (isUnknown && failure === null) resubmissions.lost += 1;
  if (failure !== 'underpriced' || !raise()) return;
  resubmissions.replaced += 1;
  await send(rpc, operation, () => {});
}

/** @param {Rpc} rpc @param {Parameters<typeof rebroadcast>[1]} operation @param {(error: unknown) => void} onError @returns {Promise<string | null>} what the node has against it; null: it has taken it */
async function send(rpc, operation, onError) {
  try {
    await rpc.call('eth_sendRawTransaction', [operation.raw], 'resubmit', (endpoint) => {
      if ('endpoint' in operation) operation.endpoint = endpoint ?? null;
    });
    return null;
  } catch (error) {
    onError(error);
    return error instanceof RpcError ? submitFailure(error) : 'no_answer';
  }
}

/**
 * Looks after wallets whose operation did not verify, or left the chain again: what became of it decides the wallet's
 * next nonce.
 */

/** First and longest pause before a wallet whose operation failed is used again, in milliseconds. */
export const REPAIR_PAUSE_MS = Object.freeze([50, 5000]);

/**
 * Finds out what became of an operation and enters it into the ledger.
 * @param {Tools} tools
 * @param {Ledger} ledger
 * @param {Operation} operation
 * @param {Sample} sample
 * @param {AbortSignal} signal ends it; the audit resolves the operation then
 * @returns {Promise<string | null>} why the wallet cannot be used any more, or null
 */
export async function resolveFailed(tools, ledger, operation, sample, signal) {
  const { account } = operation;
  ledger.expect({ operation, sample });
  const pauseMs = REPAIR_PAUSE_MS[0] * 2 ** (account.failuresInRow - 1);
  return watchStatus(tools, operation, pauseMs, signal, async (decision) => {
    if (decision.fate === 'pending') {
      // What is stuck in the pool is helped, so that the wallet can go on.
      if (isDue(operation, tools.clock.nowUs(), overdueAfterMs(tools))) await rebroadcast(tools, operation);
      return false;
    }
    ledger.settle(operation, sample, decision);
    return true;
  }).then((isStuck) => (isStuck ? 'its last transaction is stuck' : whyUnusable(operation, sample)));
}

/**
 * Sees to it that operations of a wallet that were in a block get into one again: the node puts them back into its pool,
 * or is sent the same bytes once more. The chain takes nonces in order, so the first that is open tells of all.
 * @param {Tools} tools
 * @param {Ledger} ledger
 * @param {RecentInclusion[]} orphans of one wallet, in the order of their nonces; the ledger expects them
 * @param {AbortSignal} signal as above
 * @returns {Promise<string | null>} as above
 */
export async function resubmit(tools, ledger, orphans, signal) {
  const open = [...orphans];
  const sendAll = async () => {
    for (const { operation } of open) if (!signal.aborted) await rebroadcast(tools, operation);
  };
  // A node that has put them back into its pool knows them already.
  await sendAll();
  let sentAgain = 1;
  for (let [first] = open; first !== undefined && !signal.aborted; [first] = open) {
    const { operation, sample } = first;
    const pauseMs = open.length === orphans.length ? REPAIR_PAUSE_MS[0] : 0;
    const isStuck = await watchStatus(tools, operation, pauseMs, signal, async (decision) => {
      if (decision.fate === 'pending') return false;
      if (decision.fate === 'never_sent' && (sentAgain += 1) <= MOST_HASHES) {
        await sendAll();
        return false;
      }
      ledger.settle(operation, sample, decision);
      return true;
    });
    if (isStuck) return 'its transactions left the chain and do not come back';
    open.shift();
  }
  return null;
}

/**
 * @param {Tools} tools
 * @param {Open['operation']} operation
 * @param {number} firstMs pause before the node is asked
 * @param {AbortSignal} signal
 * @param {(decision: Decision) => Promise<boolean>} onDecision true: that was it
 * @returns {Promise<boolean>} whether it was still not known when the time was over
 */
async function watchStatus(
  { clock, rpc, txTimeoutMs, startBlock, retryPolicy },
  operation,
  firstMs,
  signal,
  onDecision,
) {
  const [shortestPauseMs, longestPauseMs] = REPAIR_PAUSE_MS;
  const deadlineUs = clock.nowUs() + txTimeoutMs * 1000;
  let pauseMs = Math.min(firstMs, longestPauseMs);
  for (;;) {
    await clock.sleep(Math.max(pauseMs, retryPolicy.waitMs(clock.nowUs())), signal);
    if (signal.aborted) return false;
    const decision = await transactionStatusOf(rpc, operation, 'resolve', startBlock).catch((error) => {
      retryPolicy.noteRetryAfter(error, clock.nowUs());
      return null;
    });
    if (signal.aborted) return false;
    if (decision !== null && (await onDecision(decision))) return false;
    if (clock.nowUs() > deadlineUs) return true;
    pauseMs = Math.min(Math.max(pauseMs * 2, shortestPauseMs), longestPauseMs);
  }
}

/** @param {Operation} operation @param {Sample} sample @returns {string | null} */
function whyUnusable({ account, nonce }, { code }) {
  if (code === 'insufficient_funds') return 'it has no funds left';
  if (code === 'wrong_count') return 'its counter has a count that it should not have';
  const undecided = account.slotOf(nonce)?.undecided ?? null;
  return (undecided?.operation.hashes.length ?? 0) >= MOST_HASHES ? 'its transactions do not arrive' : null;
}

/**
 * What was put into a block lately, so that it can be followed up when that block leaves the chain.
 *
 * @typedef {Pick<Sample, 'walletIndex' | 'hash' | 'outcome' | 'code'>} Identified
 *
 * @typedef {object} Entry
 * @property {Account} account
 * @property {number} nonce
 * @property {string[]} hashes of its transactions
 * @property {string | null} raw the bytes of the last one
 * @property {number} blockNumber
 * @property {Outcome} outcome
 * @property {boolean} isExecuted with its effect; otherwise it was reverted
 *
 * @typedef {Omit<Entry, 'account'> & {position: number}} EntryState an entry as one thread hands it to another
 *
 * @typedef {{operation: Open['operation'], sample: Identified, isExecuted: boolean}} RecentInclusion
 */

/** Operations that are remembered: some seconds of a fast chain, hours of a slow one. */
const MAX_RECENT_INCLUSIONS = 16_384;

export class RecentInclusions {
  /** A ring, in the order in which they were added. @type {Entry[]} */
  #entries = [];
  #next = 0;
  /** The newest block of which something was forgotten. */
  #forgottenBlock = -1;

  /** @param {Entry} entry */
  add(entry) {
    const { length } = this.#entries;
    if (length < MAX_RECENT_INCLUSIONS) {
      this.#entries.push(entry);
      return;
    }
    this.#forgottenBlock = Math.max(this.#forgottenBlock, this.#entries[this.#next].blockNumber);
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % MAX_RECENT_INCLUSIONS;
  }

  /**
   * Takes out what was in the blocks from a number on.
   * @param {number} blockNumber
   * @returns {{entries: Entry[], isComplete: boolean}} isComplete: nothing of these blocks was forgotten
   */
  takeFrom(blockNumber) {
    const entries = this.#take((entry) => entry.blockNumber >= blockNumber);
    return { entries, isComplete: this.#forgottenBlock < blockNumber };
  }

  /** Takes out what a wallet did from a nonce on. @param {Account} account @param {number} nonce @returns {Entry[]} */
  takeOf(account, nonce) {
    return this.#take((entry) => entry.account === account && entry.nonce >= nonce);
  }

  /** @returns {EntryState[]} as another thread can take it over */
  toState() {
    return this.#entries.map(({ account, ...rest }) => ({ ...rest, position: account.position }));
  }

  /** Takes over what another thread remembers. @param {EntryState[]} entries @param {(position: number) => Account} accountOf */
  fromState(entries, accountOf) {
    // The other thread has forgotten what is too much; here nothing is added any more.
    this.#entries.push(...entries.map(({ position, ...rest }) => ({ ...rest, account: accountOf(position) })));
  }

  /** @param {(entry: Entry) => boolean} isWanted */
  #take(isWanted) {
    const taken = this.#entries.filter(isWanted);
    if (taken.length === 0) return taken;
    // In their order again: the ring begins anew.
    const rest = [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
    this.#entries = rest.filter((entry) => !isWanted(entry));
    this.#next = 0;
    return taken;
  }
}

/** @param {Entry} entry @returns {RecentInclusion} */
export function recentInclusionOf({ account, nonce, hashes, raw, outcome, isExecuted }) {
  return {
    operation: { account, nonce, hashes, raw },
    sample: { walletIndex: account.wallet.index, hash: hashes.at(-1) ?? null, outcome, code: null },
    isExecuted,
  };
}
