import { RpcError } from '../errors.js';
import { submitFailure } from '../chain/rpc.js';
import { fateOf } from './fate.js';
import { foundByReceipt } from './submission.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Account } from './account.js'
 * @import { OnLost } from './course.js'
 * @import { Tools } from './iteration.js'
 * @import { Open } from './ledger.js'
 * @import { Operation } from './operation.js'
 */

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
export async function lookAfterOverdue(tools, live, signal, onLost) {
  const { clock, patience } = tools;
  /** Since when the node has known less of a wallet than we do. @type {Map<Account, number>} */
  const behind = new Map();
  for (let round = 0; !signal.aborted; round += 1) {
    await clock.sleep(Math.max(LOOK_MS, patience.waitMs(clock.nowUs())), signal);
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
    const nonces = await lookAfter(tools, overdue, newestBlock).catch((error) => {
      patience.heed(error, clock.nowUs());
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
async function lookAfter(tools, overdue, newestBlock) {
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
      const decision = await fateOf(rpc, operation, 'resolve', startBlock).catch(() => null);
      if (decision?.fate === 'replaced') operation.end('failed', 'replaced', clock.nowUs());
      else if (decision?.receipt !== undefined) foundByReceipt(tools, operation, decision.receipt);
    } else if (known[i] === null) {
      await push(tools, operation, { isUnknown: true });
      // What it had lost it may lose again.
      operation.pushed.times = 0;
    } else if (isNext) {
      const { pushed, fee } = operation;
      const isTooLow = fee !== null && presigner.isTooLow(fee);
      const isPassedBy = newestBlock - (pushed.block ?? newestBlock) >= PASSED_BY_BLOCKS;
      if (isTooLow || isPassedBy) await push(tools, operation, { isTooLow });
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
export async function push(tools, operation, { isTooLow = false, isUnknown = false } = {}) {
  const { rpc, clock, presigner, patience, resubmissions } = tools;
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
  const failure = await send(rpc, operation, (error) => patience.heed(error, clock.nowUs()));
  // Another node behind the same address may have it: then the answer is an error.
  if (isUnknown && failure === null) resubmissions.lost += 1;
  if (failure !== 'underpriced' || !raise()) return;
  resubmissions.replaced += 1;
  await send(rpc, operation, () => {});
}

/** @param {Rpc} rpc @param {Parameters<typeof push>[1]} operation @param {(error: unknown) => void} onError @returns {Promise<string | null>} what the node has against it; null: it has taken it */
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
