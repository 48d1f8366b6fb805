import { RpcError } from '../errors.js';
import { submitFailure } from '../chain/rpc.js';
import { fateOf } from './fate.js';
import { foundByReceipt } from './submission.js';

/**
 * Looks after transactions that the node has taken and that are in no block for too long: what it has lost is sent
 * again, what offers too little is replaced.
 *
 * @typedef {import('./operation.js').Operation} Operation
 * @typedef {import('./iteration.js').Tools} Tools
 */

/** How often it is looked for such. */
const LOOK_MS = 1000;

/** An accepted operation that is in no block after so many is overdue; in milliseconds no less and no more than that. */
const OVERDUE_BLOCKS = 5;
const OVERDUE_MS = Object.freeze([1000, 15_000]);

/** One that the node knows is sent again after that time, then after twice that and so on. */
const LONGEST_WAIT_MS = 60_000;

/** How long a node may know less of a wallet than we do before that is taken for lost. */
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
 * @param {import('./course.js').OnLost} onLost
 */
export async function lookAfterOverdue(tools, live, signal, onLost) {
  const { clock, patience } = tools;
  /** Since when the node has known less of a wallet than we do. @type {Map<import('./account.js').Account, number>} */
  const behind = new Map();
  for (let round = 0; !signal.aborted; round += 1) {
    await clock.sleep(Math.max(LOOK_MS, patience.waitMs(clock.nowUs())), signal);
    const nowUs = clock.nowUs();
    const overdueMs = overdueAfterMs(tools);
    const all = [...live].filter(
      (operation) =>
        operation.inclusion === null && operation.acceptedAtUs !== null && isDue(operation, nowUs, overdueMs),
    );
    // Others each time, so that none is hidden for ever behind those that are just slow.
    const from = (round * LOOK_AFTER_AT_ONCE) % Math.max(all.length, 1);
    const overdue = [...all.slice(from), ...all.slice(0, from)].slice(0, LOOK_AFTER_AT_ONCE);
    // In the order of their nonces: a node takes them as they come.
    overdue.sort((a, b) => a.nonce - b.nonce);
    const nonces = await lookAfter(tools, overdue).catch((error) => {
      patience.heed(error, clock.nowUs());
      return new Map(); // the endpoint is away; there is a next round
    });
    // For a moment it may be a node that lags; for longer the chain has lost it.
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
 * @returns {Promise<Map<import('./account.js').Account, number>>} the next nonce of each wallet, as the chain has it
 */
async function lookAfter(tools, overdue) {
  const { rpc, clock, startBlock, presigner } = tools;
  const [nonces, known] = await Promise.all([
    rpc.batch(
      overdue.map(({ account }) => ({ method: 'eth_getTransactionCount', params: [account.wallet.address, 'latest'] })),
      'resolve',
    ),
    Promise.all(overdue.map(({ hash }) => byHash(rpc, hash))),
  ]);
  /** @type {Map<import('./account.js').Account, number>} */
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
    } else if (known[i] === null || isNext) {
      const isTooLow = isNext && known[i] !== null && operation.fee !== null && presigner.isTooLow(operation.fee);
      await push(tools, operation, isTooLow);
      // What it had lost it may lose again.
      if (known[i] === null) operation.pushed.times = 0;
    }
  }
  return nextNonces;
}

/** Nodes answer with null, or an error, for what they do not know. @param {import('../chain/rpc.js').Rpc} rpc @param {string | null} hash */
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
 * @param {import('./ledger.js').Open['operation'] | Operation} operation
 * @param {boolean} [isTooLow] its fee is known to be
 */
export async function push({ rpc, clock, presigner, patience, resubmissions }, operation, isTooLow = false) {
  const { pushed } = operation;
  if (pushed !== undefined) {
    pushed.atUs = clock.nowUs();
    pushed.times += 1;
  }
  const raise = () => 'offer' in operation && operation.hashes.length < MOST_HASHES && presigner.raise(operation);
  if (isTooLow && !raise()) return;
  if (isTooLow) resubmissions.replaced += 1;
  else resubmissions.rebroadcast += 1;
  const failure = await send(rpc, operation, (error) => patience.heed(error, clock.nowUs()));
  if (failure !== 'underpriced' || !raise()) return;
  resubmissions.replaced += 1;
  await send(rpc, operation, () => {});
}

/** @param {import('../chain/rpc.js').Rpc} rpc @param {Parameters<typeof push>[1]} operation @param {(error: unknown) => void} onError @returns {Promise<string | null>} what the node has against it */
async function send(rpc, operation, onError) {
  try {
    await rpc.call('eth_sendRawTransaction', [operation.raw], 'resubmit', (endpoint) => {
      if ('endpoint' in operation) operation.endpoint = endpoint ?? null;
    });
    return null;
  } catch (error) {
    onError(error);
    return error instanceof RpcError ? submitFailure(error) : null;
  }
}
