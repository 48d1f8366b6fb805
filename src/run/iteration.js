import { ProtocolError, RpcError, StressError, TransportError } from '../errors.js';
import { submitFailure, toNumber } from '../chain/rpc.js';
import { fateOf } from './fate.js';

/**
 * One increment from start to outcome, top to bottom: sign, send, included, read back, one frozen sample. No
 * exception leaves this file.
 *
 * @typedef {import('../metrics/sample.js').Sample} Sample
 *
 * @typedef {object} Tools what an iteration works with, the same for all of a run
 * @property {import('../chain/rpc.js').Rpc} rpc
 * @property {import('../clock.js').Clock} clock
 * @property {import('../chain/signer.js').Signer} signer
 * @property {import('../chain/fees.js').Fees} fees
 * @property {import('../workload/index.js').Workload} workload
 * @property {import('../inclusion/index.js').InclusionDetector} inclusion
 * @property {number} chainId
 * @property {number} txTimeoutMs
 * @property {number} startBlock latest block when the load began
 */

/** First pause before the effect is asked for again, in milliseconds; it doubles up to the second figure. */
const READ_BACK_PAUSE_MS = [5, 250];

/** Longest wait for the answer whether a transaction was lost, in milliseconds. */
const LOST_CHECK_MS = 1000;

/** An operation ended early: its time was up, or the drain was over. */
class Cancelled extends Error {
  /** @param {'timed_out' | 'abandoned'} outcome */
  constructor(outcome) {
    super(outcome);
    this.outcome = outcome;
  }
}

/** The operation did what it should not: reverted, wrong count, refused. */
class Failed extends Error {
  /** @param {string} code */
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/** One (wallet, nonce) with every hash ever sent for it. */
export class Operation {
  /** Of the transaction that this operation sends. @type {string | null} */
  hash = null;
  /** @type {number | null} */
  sentAtUs = null;
  /** @type {number | null} */
  acceptedAtUs = null;
  /** @type {import('../inclusion/index.js').Inclusion | null} */
  inclusion = null;
  /** @type {string | null} */
  effect = null;
  /** @type {string | null} */
  target = null;
  cancelled = false;
  /** An error that nobody foresaw: a bug of ours. @type {Error | null} */
  bug = null;

  /**
   * @param {import('./account.js').Account} account
   * @param {number} intendedAtUs
   */
  constructor(account, intendedAtUs) {
    this.account = account;
    this.nonce = account.wallet.nonce;
    /** Every hash ever sent for this wallet and nonce, also by operations before this one. @type {string[]} */
    this.hashes = [...(account.undecided?.operation.hashes ?? [])];
    this.intendedAtUs = intendedAtUs;
    /** @type {Promise<never>} */
    this.end = new Promise((_, reject) => {
      /** @param {Error} error */
      const end = (error) => {
        this.cancelled = true;
        reject(error);
      };
      this.cancel = (/** @type {'timed_out' | 'abandoned'} */ outcome) => end(new Cancelled(outcome));
      this.fail = (/** @type {string} */ code) => end(new Failed(code));
    });
  }
}

/**
 * @param {Tools} tools
 * @param {Operation} operation
 * @returns {Promise<Sample>}
 */
export async function iterate(tools, operation) {
  const { clock, inclusion, txTimeoutMs } = tools;
  const stopTimer = clock.after(() => operation.cancel('timed_out'), txTimeoutMs);
  try {
    await Promise.race([steps(tools, operation), operation.end]);
    return sample(operation, 'verified', null, clock.nowUs());
  } catch (error) {
    if (error instanceof Cancelled) {
      const isLost = error.outcome === 'timed_out' && (await isUnknown(tools, operation));
      return isLost
        ? sample(operation, 'failed', 'lost', clock.nowUs())
        : sample(operation, error.outcome, null, clock.nowUs());
    }
    const code = failureCode(error);
    if (code === 'internal') operation.bug = /** @type {Error} */ (error);
    return sample(operation, 'failed', code, clock.nowUs());
  } finally {
    stopTimer();
    for (const hash of operation.hashes) inclusion.unwatch(hash);
  }
}

/** @param {Tools} tools @param {Operation} operation */
async function steps(tools, operation) {
  const { rpc, clock, signer, fees, workload, inclusion, chainId } = tools;
  const { wallet, position } = operation.account;

  const call = workload.next(position);
  const { raw, hash } = wallet.sign({ chainId, nonce: operation.nonce, fee: fees.current(), call }, signer);
  operation.hash = hash;
  operation.hashes.push(hash);

  // Watched before it is sent: a block may hold it before the node's answer is read.
  const included = new Promise((/** @type {(found: import('../inclusion/index.js').Inclusion) => void} */ resolve) => {
    for (const sent of operation.hashes) inclusion.watch(sent, resolve);
  });
  const answer = await submit(rpc, raw, () => {
    if (operation.cancelled) return false;
    operation.sentAtUs = clock.nowUs();
    return true;
  });
  if (answer !== null && answer !== hash) throw new Failed('hash_mismatch');
  operation.acceptedAtUs = clock.nowUs();

  const found = await included;
  operation.inclusion = { ...found, seenAtUs: Math.max(found.seenAtUs, operation.acceptedAtUs) };

  await readBack(tools, operation, found);
}

/** @param {import('../chain/rpc.js').Rpc} rpc @param {string} raw @param {() => boolean} onSent @returns {Promise<string | null>} null: it had it already */
async function submit(rpc, raw, onSent) {
  try {
    return await rpc.call('eth_sendRawTransaction', [raw], 'submit', onSent);
  } catch (error) {
    if (error instanceof RpcError && submitFailure(error) === 'already_known') return null;
    throw error;
  }
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
  for (let attempt = 0; !operation.cancelled; attempt += 1) {
    const verdict = await workload.verify(position, executed + 1, found, attempt).catch(noVerdict);
    operation.effect = verdict.effect;
    operation.target = verdict.target;
    if (verdict.state === 'ok') return;
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

/** A lost connection says nothing of the effect. @param {unknown} error @returns {import('../workload/index.js').Verdict} */
function noVerdict(error) {
  if (error instanceof TransportError && error.code !== 'transport_refused') {
    return { state: 'behind', effect: null, target: null };
  }
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
async function isUnknown({ rpc, clock, startBlock }, operation) {
  if (operation.acceptedAtUs === null || operation.inclusion !== null) return false;
  const fate = fateOf(rpc, operation, 'resolve', startBlock).then(
    (decided) => decided.fate,
    () => 'pending',
  );
  const soon = clock.sleep(LOST_CHECK_MS).then(() => 'pending');
  return (await Promise.race([fate, soon])) === 'never_sent';
}

/** @param {unknown} error */
function failureCode(error) {
  if (error instanceof Failed) return error.code;
  if (error instanceof RpcError) return error.method === 'eth_sendRawTransaction' ? submitFailure(error) : 'rpc_error';
  if (error instanceof TransportError || error instanceof ProtocolError) return error.code;
  return error instanceof StressError ? error.code : 'internal';
}

/**
 * @param {Operation} operation
 * @param {import('../metrics/sample.js').Outcome} outcome
 * @param {string | null} code
 * @param {number} endedAtUs
 * @returns {Sample}
 */
function sample(operation, outcome, code, endedAtUs) {
  const { account, nonce, hash, intendedAtUs, sentAtUs, acceptedAtUs, inclusion, effect, target } = operation;
  return Object.freeze({
    position: account.position,
    walletIndex: account.wallet.index,
    nonce,
    hash,
    outcome,
    code,
    intendedAtUs,
    sentAtUs,
    acceptedAtUs,
    includedAtUs: inclusion?.seenAtUs ?? null,
    endedAtUs,
    blockNumber: inclusion?.number ?? null,
    effect,
    target,
  });
}
