import { toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError } from '../errors.js';
import { followChain, takeListed } from './follow.js';

/**
 * @import { InclusionDetector, Rpc } from '../types.d.ts'
 * @import { InclusionOptions } from './index.js'
 */

export const METHOD = 'eth_sendRawTransactionSync';

/** The JSON-RPC error code for a method that is not there. Gateways have codes of their own, and words. */
export const NO_METHOD = -32601;

/** Those of EIP-1474 that are never about a transaction: no request, a method that is not supported. */
const NEVER_A_FAULT = new Set([NO_METHOD, -32600, -32004]);

/** What is said of a method that is not there, or not for us. */
const REFUSAL =
  /method.*(not (found|supported|available|exist|allowed)|unsupported|unknown|disabled)|(unknown|unsupported) method|white-?list|allow-?list|not (available|enabled|allowed|permitted|implemented)|\b(plan|tier|subscription|upgrade|forbidden|api.?key|unauthori[sz]ed|access denied)\b/i;

/** What is said of bytes that are no transaction. */
const FAULT =
  /\brlp\b|decod|\btyped\b|too short|\beof\b|(invalid|empty|malformed|missing|bad|incorrect|unsigned|unsupported|unknown) ((raw|signed) )?(transaction|tx|hex|data|input|bytes|param|argument|value|length|encoding|signature)|(transaction|tx|data|input|value|params?)\b.*\b(invalid|empty|malformed|missing|type)\b/i;

const PLAIN = 'eth_sendRawTransaction';

/** Error code of EIP-7966: the node has the transaction, and no block had it in time. */
const NOT_IN_TIME = 4;

/** What is left of the wait for an answer, for its way and for the wait for a connection, in milliseconds. */
const ON_THE_WAY_MS = 1000;

/** How many connections are kept free for everything else: whoever reads a block is not to wait for one. */
const KEPT_FREE = 8;

/** Without a word on how long an answer may take, in milliseconds. */
const ANSWER_MS = 10_000;

/**
 * How many submissions may wait for their blocks at once.
 * @param {Pick<InclusionOptions, 'rpc' | 'connections'>} options
 */
export function mostWaiting({ rpc, connections = Infinity }) {
  // Where the node can speak first, a connection carries many requests.
  return rpc.subscribe === null ? Math.max(1, connections - KEPT_FREE) : Infinity;
}

/** @param {number} operations at once, in so many threads @param {number} threads @returns {number} connections with which all of them can wait */
export function connectionsFor(operations, threads) {
  return operations + threads * KEPT_FREE;
}

/**
 * Inclusion by submission (EIP-7966): the node answers a transaction with its receipt, once a block has it. Beside that
 * the chain is followed as ever: a block that is told of is read at once, one that was not is found by its head, and so
 * is what the node did not answer in time.
 *
 * @param {InclusionOptions} options
 * @returns {InclusionDetector}
 */
export function createSyncInclusion(options) {
  const { rpc, answerMs = ANSWER_MS } = options;
  const waitMs = Math.ceil(Math.max(answerMs - ON_THE_WAY_MS, answerMs / 2));
  const most = mostWaiting(options);
  let waiting = 0;
  /** Why it is not used any more. @type {string | null} */
  let refusal = null;
  const takesWait = doesTakeWait(rpc, waitMs);
  /** Receipts whose blocks are not read yet, by hash. @type {Map<string, {blockNumber: number, blockHash: string}>} */
  const early = new Map();

  const { receive, stats, ...detector } = followChain(options, (watched) => ({
    find: (block, number) => {
      const found = takeListed(watched, block, number);
      for (const [hash, { blockNumber, blockHash }] of early) {
        if (blockNumber > number) continue;
        early.delete(hash);
        const callback = watched.get(hash);
        // Another block may have taken its place; what is not listed then is looked for as whatever is overdue.
        if (callback === undefined || blockHash !== block.hash) continue;
        watched.delete(hash);
        found.push({ hash, blockNumber, blockHash, callback });
      }
      return found;
    },
  }));

  /** @param {any} receipt @param {string} hash @returns {string} the hash of its transaction */
  function take(receipt, hash) {
    const { transactionHash, blockHash } = receipt ?? {};
    if (typeof transactionHash !== 'string' || typeof blockHash !== 'string')
      throw new ProtocolError(`${rpc.display} answered ${METHOD} with something that is no receipt`);
    if (transactionHash !== hash) return transactionHash;
    const blockNumber = toNumber(receipt.blockNumber);
    if (receive({ hash, blockNumber, blockHash })) early.set(hash, { blockNumber, blockHash });
    return hash;
  }

  return {
    ...detector,
    unwatch: (hash) => {
      early.delete(hash);
      detector.unwatch(hash);
    },
    stats: () => ({
      ...stats(),
      warning:
        refusal === null
          ? stats().warning
          : `${rpc.display} does not take ${METHOD} any more (${refusal}): transactions are sent by ${PLAIN} from now on`,
    }),
    submit: async (raw, hash, purpose, onSent) => {
      if (refusal !== null || waiting >= most) return rpc.call(PLAIN, [raw], purpose, onSent);
      waiting += 1;
      try {
        const params = (await takesWait) ? [raw, waitMs] : [raw];
        const answer = await rpc.call(METHOD, params, purpose, onSent);
        if (answer !== null) return take(answer, hash);
        refusal = 'it answers null';
      } catch (error) {
        if (hasIt(error, hash)) return hash;
        if (!isRefused(error)) throw error;
        refusal = error.rpcMessage;
      } finally {
        waiting -= 1;
      }
      // The node has it, or has not: it says so.
      return rpc.call(PLAIN, [raw], purpose, onSent);
    },
  };
}

/**
 * Whether the endpoint does not have the method, or not for us. A transaction is not refused so.
 * @param {unknown} error
 * @returns {error is RpcError}
 */
export function isRefused(error) {
  if (!(error instanceof RpcError) || error.isBusy) return false;
  return error.rpcCode === NO_METHOD || REFUSAL.test(wordsOf(error));
}

/** Whether it has read what it was given and finds that it is no transaction. @param {unknown} error */
export function findsFault(error) {
  if (!(error instanceof RpcError) || error.isBusy || NEVER_A_FAULT.has(error.rpcCode)) return false;
  return FAULT.test(wordsOf(error)) && !isRefused(error);
}

/** Without the name of the method, which has words of its own. @param {RpcError} error */
function wordsOf({ rpcMessage }) {
  return rpcMessage.replaceAll(METHOD, 'the method');
}

/**
 * Whether the node can be told how long to wait: anvil finds fault with that, and not with what is no transaction.
 * @param {Rpc} rpc
 * @param {number} waitMs
 */
async function doesTakeWait(rpc, waitMs) {
  const complaint = (/** @type {unknown[]} */ params) => rpc.call(METHOD, params, 'inclusion').then(String, String);
  const [withIt, without] = await Promise.all([complaint(['0x', waitMs]), complaint(['0x'])]);
  return withIt === without;
}

/** The node has the transaction, and it is in no block yet. @param {unknown} error @param {string} hash */
function hasIt(error, hash) {
  if (!(error instanceof RpcError)) return false;
  // Anvil says it in words only.
  return error.rpcCode === NOT_IN_TIME || error.data === hash || /confirmation timeout/i.test(error.rpcMessage);
}
