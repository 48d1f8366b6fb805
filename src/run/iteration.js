import { ProtocolError, RpcError, StressError, TransportError } from '../errors.js';
import { submitFailure, toNumber } from '../chain/rpc.js';
import { fateOf } from './fate.js';

/**
 * One increment from start to outcome, top to bottom: sign, send, included, read back. It ends the operation with one
 * frozen sample on every path; no exception leaves this file.
 *
 * @typedef {import('./operation.js').Operation} Operation
 *
 * @typedef {object} Tools what an iteration works with, the same for all of a run
 * @property {import('../chain/rpc.js').Rpc} rpc
 * @property {import('../clock.js').Clock} clock
 * @property {import('../deadlines.js').Deadlines} deadlines of operations, after --tx-timeout
 * @property {import('../workload/index.js').TransactionWorkload} workload
 * @property {import('../inclusion/index.js').InclusionDetector} inclusion
 * @property {import('./presigner.js').Presigner} presigner
 * @property {number} txTimeoutMs
 * @property {number} startBlock latest block when the load began
 */

/** First pause before the effect is asked for again, in milliseconds; it doubles up to the second figure. */
const READ_BACK_PAUSE_MS = [5, 250];

/** Longest wait for the answer whether a transaction was lost, in milliseconds. */
const LOST_CHECK_MS = 1000;

/** The operation did what it should not: reverted, wrong count, refused. */
class Failed extends Error {
  /** @param {string} code */
  constructor(code) {
    super(code);
    this.code = code;
  }
}

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
  const { rpc, clock, inclusion, presigner } = tools;

  const { raw, hash } = presigner.sign(operation.account, operation.nonce);
  operation.hash = hash;
  operation.hashes.push(hash);

  // Watched before it is sent: a block may hold it before the node's answer is read.
  const included = new Promise((/** @type {(found: import('../inclusion/index.js').Inclusion) => void} */ resolve) => {
    for (const sent of operation.hashes) inclusion.watch(sent, resolve);
  });
  const onSent = () => {
    if (operation.isCancelled) return false;
    operation.sentAtUs = clock.nowUs();
    return true;
  };
  let answer = hash;
  try {
    answer = await rpc.call('eth_sendRawTransaction', [raw], 'submit', onSent);
  } catch (error) {
    if (!isKnown(error)) throw error;
  }
  if (answer !== hash) throw new Failed('hash_mismatch');
  if (operation.isCancelled) return;
  operation.acceptedAtUs = clock.nowUs();
  presigner.signLater(operation.account, operation.nonce + 1);

  const found = await included;
  operation.inclusion = { ...found, seenAtUs: Math.max(found.seenAtUs, operation.acceptedAtUs) };

  await readBack(tools, operation, found);
}

/** The node had the transaction already. @param {unknown} error */
function isKnown(error) {
  return error instanceof RpcError && submitFailure(error) === 'already_known';
}

/**
 * Fetches the effect until the node serves the block that holds the operation, whatever it answers until then. When
 * it serves the block and the effect is not in it, the receipt says whether the transaction was reverted.
 * @param {Tools} tools
 * @param {Operation} operation
 * @param {import('../inclusion/index.js').Inclusion} found
 */
async function readBack({ rpc, clock, workload }, operation, found) {
  const { position, executed } = operation.account;
  const [firstPauseMs, longestPauseMs] = READ_BACK_PAUSE_MS;
  let pauseMs = firstPauseMs;
  for (let attempt = 0; !operation.isCancelled; attempt += 1) {
    let verdict;
    try {
      verdict = await workload.verify(position, executed + 1, found, attempt);
    } catch (error) {
      verdict = noVerdict(error);
    }
    operation.effect = verdict.effect;
    operation.target = verdict.target;
    if (verdict.state === 'ok') {
      // Taken here: those of the same batch are all read before the first of them is followed up.
      operation.verifiedAtUs = clock.nowUs();
      return;
    }
    if (verdict.state === 'wrong') throw new Failed('wrong_count');
    if (verdict.state === 'missing') {
      const status = await statusOf(rpc, operation.hashes);
      if (status !== null) throw new Failed(status === 0 ? 'reverted' : 'wrong_count');
    }
    operation.account.readBackRetries += 1;
    await clock.sleep(pauseMs);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

/** A lost connection says nothing of the effect, nor does a busy endpoint. @param {unknown} error @returns {import('../workload/index.js').Verdict} */
function noVerdict(error) {
  const isLost = error instanceof TransportError && error.code !== 'transport_refused';
  if (isLost || (error instanceof ProtocolError && error.isBusy))
    return { state: 'behind', effect: null, target: null };
  throw error;
}

/** @param {import('../chain/rpc.js').Rpc} rpc @param {string[]} hashes @returns {Promise<number | null>} null: no receipt yet */
async function statusOf(rpc, hashes) {
  for (const hash of hashes) {
    const receipt = await rpc.call('eth_getTransactionReceipt', [hash], 'readback').catch(() => null);
    if (receipt !== null) return toNumber(receipt.status);
  }
  return null;
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
  if (error instanceof RpcError) return error.method === 'eth_sendRawTransaction' ? submitFailure(error) : 'rpc_error';
  if (error instanceof TransportError || error instanceof ProtocolError) return error.code;
  return error instanceof StressError ? error.code : 'internal';
}
