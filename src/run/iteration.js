import { ProtocolError, RpcError, StressError, TransportError } from '../errors.js';
import { submitFailure, toHex, toNumber } from '../chain/rpc.js';
import { fateOf } from './fate.js';
import { Failed } from './operation.js';
import { submit } from './submission.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 * @import { Deadlines } from '../deadlines.js'
 * @import { Inclusion, InclusionDetector } from '../inclusion/index.js'
 * @import { TransactionWorkload, Verdict } from '../workload/index.js'
 * @import { Operation } from './operation.js'
 * @import { Presigner } from './presigner.js'
 * @import { Patience, Resubmissions } from './submission.js'
 * @import { Visibility } from './visibility.js'
 */

/**
 * One increment from start to outcome, top to bottom: sign, send, included, read back. It ends the operation with one
 * frozen sample on every path; no exception leaves this file.
 *
 * @typedef {object} Tools what an iteration works with, the same for all of a run
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {Deadlines} deadlines of operations, after --tx-timeout
 * @property {TransactionWorkload} workload
 * @property {InclusionDetector} inclusion
 * @property {Visibility | null} visibility of blocks where effects are read back; null where that is no
 *   other endpoint
 * @property {Presigner} presigner
 * @property {Patience} patience
 * @property {Resubmissions} resubmissions so far
 * @property {() => number} random from 0 to 1
 * @property {number} txTimeoutMs
 * @property {number} startBlock latest block when the load began
 */

/** First pause before the effect is asked for again, in milliseconds; it doubles up to the second figure. */
const READ_BACK_PAUSE_MS = [5, 250];

/** Longest wait for the answer whether a transaction was lost, in milliseconds. */
const LOST_CHECK_MS = 1000;

/** @param {Tools} tools @param {Operation} operation */
export function iterate(tools, operation) {
  const { clock, deadlines, inclusion } = tools;
  const deadline = deadlines.set(() => void timeOut(tools, operation));
  operation.release = () => {
    deadlines.clear(deadline);
    for (const hash of operation.hashes) inclusion.unwatch(hash);
  };
  steps(tools, operation).then(
    () => {
      if (!operation.isCancelled) operation.end('verified', null, operation.verifiedAtUs ?? clock.nowUs());
    },
    (error) => {
      if (operation.isCancelled) return;
      const code = failureCode(error);
      if (code === 'internal') operation.bug = /** @type {Error} */ (error);
      if (error instanceof StressError) operation.words = error.message;
      operation.end('failed', code, clock.nowUs());
    },
  );
}

/** @param {Tools} tools @param {Operation} operation */
async function steps(tools, operation) {
  const { clock, inclusion, presigner } = tools;

  // Watched before it is sent: a block may hold it before the node's answer is read. What is found is noted at once:
  // others of this wallet in the same block are read back as of it, too.
  operation.onOffer = (hash) => inclusion.watch(hash, (found) => operation.foundIn(hash, found));
  operation.hashes.forEach(operation.onOffer);
  operation.offer(presigner.sign(operation.account, operation.nonce));

  await submit(tools, operation, (endpoint) => {
    if (operation.isCancelled) return false;
    operation.sentAtUs ??= clock.nowUs();
    operation.endpoint = endpoint ?? null;
    return true;
  });
  if (operation.isCancelled) return;
  operation.acceptedAtUs = clock.nowUs();
  operation.words = null;
  operation.taken();
  presigner.signLater(operation.account, operation.account.nextNonce);

  // Its block may leave the chain before the effect is read back: then it waits for the next one.
  let isVerified = false;
  while (!isVerified && !operation.isCancelled) {
    isVerified = await readBack(tools, operation, await operation.included());
  }
}

/**
 * Fetches the effect until the node serves the block that holds the operation, whatever it answers until then. When
 * it serves the block and the effect is not in it, the receipt says whether the transaction was reverted.
 * @param {Tools} tools
 * @param {Operation} operation
 * @param {Inclusion} found
 * @returns {Promise<boolean>} false: that block is no longer part of the chain, or nobody waits for the effect any more
 */
async function readBack({ rpc, clock, workload, patience, visibility }, operation, found) {
  const { account } = operation;
  const [firstPauseMs, longestPauseMs] = READ_BACK_PAUSE_MS;
  let pauseMs = firstPauseMs;
  let isWrongBefore = false;
  if (visibility !== null) operation.visibleAtUs = await visibility.seen(found.number);
  for (let attempt = 0; !operation.isCancelled && operation.inclusion === found; attempt += 1) {
    const bounds = account.boundsAsOf(operation, found.number);
    let verdict;
    try {
      const sent = { nonce: operation.nonce, hash: operation.hash ?? '' };
      verdict = await workload.verify(account.position, bounds, found, attempt, sent);
    } catch (error) {
      verdict = noVerdict(error);
      patience.heed(error, clock.nowUs());
    }
    operation.effect = verdict.effect;
    operation.target = verdict.target;
    const { state } = verdict;
    // What is in the block may be the effect of another one: then the receipt tells whose.
    const status = state === 'likely' || state === 'missing' ? await statusOf(rpc, operation.hashes) : null;
    if (status === 0) throw new Failed('reverted');
    if (state === 'ok' || (state === 'likely' && status !== null)) {
      // Taken here: those of the same batch are all read before the first of them is followed up.
      operation.verifiedAtUs = clock.nowUs();
      return true;
    }
    const { least, most, latest } = account.boundsAsOf(operation, found.number);
    // Too many is wrong only once every operation that may have been in time is known to have its block, or to have none.
    const isWrong = state === 'wrong' && most === bounds.most && latest === bounds.latest;
    if (isWrong && !account.hasUnseenBefore(found.seenAtUs)) {
      if (isWrongBefore && (await isStillThere(rpc, found))) throw new Failed('wrong_count');
      isWrongBefore = true;
      attempt += 1; // the same question: a node that makes the next block just now may have answered as of that
    }
    // Too few is wrong only if none of the others was reverted: that changes what is expected here.
    const isTooFew = state === 'missing' && status !== null && least === bounds.least;
    if (isTooFew && (await areExecuted(rpc, account.othersAsOf(operation, found.number))) && !operation.isCancelled) {
      const isSettled = account.boundsAsOf(operation, found.number).least === least;
      if (isSettled && (await isStillThere(rpc, found))) throw new Failed('wrong_count');
    }
    account.readBackRetries += 1;
    await operation.pause(clock, Math.max(pauseMs, patience.waitMs(clock.nowUs())));
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
  return false;
}

/** Whether a block is part of the chain. @param {Rpc} rpc @param {Inclusion} block */
async function isStillThere(rpc, { number, hash }) {
  const block = await rpc.call('eth_getBlockByNumber', [toHex(number), false], 'readback').catch(() => null);
  return block?.hash === hash;
}

/** A lost connection says nothing of the effect, nor does a garbled answer. @param {unknown} error @returns {Verdict} */
function noVerdict(error) {
  if (error instanceof TransportError || error instanceof ProtocolError)
    return { state: 'behind', effect: null, target: null };
  throw error;
}

/** @param {Rpc} rpc @param {string[]} hashes @returns {Promise<number | null>} null: no receipt yet */
async function statusOf(rpc, hashes) {
  for (const hash of hashes) {
    const receipt = await rpc.call('eth_getTransactionReceipt', [hash], 'readback').catch(() => null);
    if (receipt !== null) return toNumber(receipt.status);
  }
  return null;
}

/** @param {Rpc} rpc @param {Operation[]} operations that were found in blocks */
async function areExecuted(rpc, operations) {
  const statuses = await Promise.all(operations.map(({ hashes }) => statusOf(rpc, hashes)));
  return statuses.every((status) => status === 1);
}

/**
 * Time is up: does the node still know the transaction that it had accepted? Where it does not answer soon, it
 * is taken to.
 * @param {Tools} tools
 * @param {Operation} operation
 */
async function timeOut({ rpc, clock, startBlock }, operation) {
  operation.isCancelled = true;
  let isLost = false;
  if (operation.acceptedAtUs !== null && operation.inclusion === null) {
    const fate = fateOf(rpc, operation, 'resolve', startBlock).then(
      (decided) => decided.fate,
      () => 'pending',
    );
    const soon = clock.sleep(LOST_CHECK_MS).then(() => 'pending');
    isLost = (await Promise.race([fate, soon])) === 'never_sent';
  }
  if (isLost) operation.end('failed', 'lost', clock.nowUs());
  else operation.end('timed_out', null, clock.nowUs());
}

/** Why an operation failed, as a stable word. @param {unknown} error @returns {string} */
export function failureCode(error) {
  if (error instanceof Failed) return error.code;
  if (error instanceof RpcError)
    return error.method.startsWith('eth_sendRawTransaction') ? submitFailure(error) : 'rpc_error';
  if (error instanceof TransportError || error instanceof ProtocolError) return error.code;
  return error instanceof StressError ? error.code : 'internal';
}
