import { toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError } from '../errors.js';
import { followChain, takeListed } from './follow.js';

/**
 * Inclusion by submission (EIP-7966): the node answers a transaction with its receipt once a block has it. The chain is
 * followed as well: the block of a receipt is read at once, and transactions without a receipt are found in their blocks.
 *
 * @import { InclusionDetector, Rpc } from '../types.d.ts'
 * @import { InclusionOptions } from './index.js'
 */

export const METHOD = 'eth_sendRawTransactionSync';

/** JSON-RPC error code for a missing method. Gateways use codes and words of their own. */
export const NO_METHOD = -32601;

/** Codes of EIP-1474 that are never about a transaction: invalid request, unsupported method. */
const NOT_ABOUT_TRANSACTION = new Set([NO_METHOD, -32600, -32004]);

/** Messages about a missing or forbidden method. */
const REFUSAL =
  /method.*(not (found|supported|available|exist|allowed)|unsupported|unknown|disabled)|(unknown|unsupported) method|white-?list|allow-?list|not (available|enabled|allowed|permitted|implemented)|\b(plan|tier|subscription|upgrade|forbidden|api.?key|unauthori[sz]ed|access denied)\b/i;

/** Messages about bytes that are not a transaction. */
const MALFORMED =
  /\brlp\b|decod|\btyped\b|too short|\beof\b|(invalid|empty|malformed|missing|bad|incorrect|unsigned|unsupported|unknown) ((raw|signed) )?(transaction|tx|hex|data|input|bytes|param|argument|value|length|encoding|signature)|(transaction|tx|data|input|value|params?)\b.*\b(invalid|empty|malformed|missing|type)\b/i;

const PLAIN = 'eth_sendRawTransaction';

/** Error code of EIP-7966: the node has the transaction, but no block included it in time. */
const NOT_IN_TIME = 4;

/** The part of the time-out that is kept for the network and the wait for a connection. */
const TRANSFER_MS = 1000;

/** Connections kept free for other calls, such as reads of blocks. */
const RESERVED_CONNECTIONS = 8;

/** Time-out of an answer unless given. */
const ANSWER_MS = 10_000;

/** @param {Pick<InclusionOptions, 'rpc' | 'connections'>} options @returns {number} submissions that may wait for their blocks at once */
export function maxWaiting({ rpc, connections = Infinity }) {
  // A WebSocket, which can subscribe, carries many requests at once.
  return rpc.subscribe === null ? Math.max(1, connections - RESERVED_CONNECTIONS) : Infinity;
}

/** @param {number} operations at once @param {number} threads @returns {number} connections with which all of them can wait */
export function connectionsFor(operations, threads) {
  return operations + threads * RESERVED_CONNECTIONS;
}

/** @param {InclusionOptions} options @returns {InclusionDetector} */
export function createSyncInclusion(options) {
  const { rpc, answerMs = ANSWER_MS } = options;
  const waitMs = Math.ceil(Math.max(answerMs - TRANSFER_MS, answerMs / 2));
  const most = maxWaiting(options);
  let waiting = 0;
  /** Why the method is no longer used. @type {string | null} */
  let refusal = null;
  const acceptsWait = doesAcceptWait(rpc, waitMs);
  /** Receipts of blocks that are not read yet, by transaction hash. @type {Map<string, {blockNumber: number, blockHash: string}>} */
  const early = new Map();

  const { receive, stats, ...detector } = followChain(options, (watched) => ({
    find: (block, number) => {
      const found = takeListed(watched, block, number);
      for (const [hash, { blockNumber, blockHash }] of early) {
        if (blockNumber > number) continue;
        early.delete(hash);
        const watcher = watched.get(hash);
        // The receipt's block may have been replaced. A transaction in neither block is handled as overdue.
        if (watcher === undefined || blockHash !== block.hash) continue;
        watched.delete(hash);
        found.push({ hash, blockNumber, blockHash, watcher });
      }
      return found;
    },
  }));

  /** @param {any} receipt @param {string} hash @returns {string} the hash of its transaction */
  function take(receipt, hash) {
    const { transactionHash, blockHash } = receipt ?? {};
    if (typeof transactionHash !== 'string' || typeof blockHash !== 'string')
      throw new ProtocolError(`${rpc.display} answered ${METHOD} with an invalid receipt`);
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
          : `${rpc.display} no longer accepts ${METHOD} (${refusal}): transactions are sent by ${PLAIN} from now on`,
    }),
    submit: async (raw, hash, purpose, onSent) => {
      if (refusal !== null || waiting >= most) return rpc.call(PLAIN, [raw], purpose, onSent);
      waiting += 1;
      try {
        const params = (await acceptsWait) ? [raw, waitMs] : [raw];
        const answer = await rpc.call(METHOD, params, purpose, onSent);
        if (answer !== null) return take(answer, hash);
        refusal = 'it answers null';
      } catch (error) {
        if (isPending(error, hash)) return hash;
        if (!isRefused(error)) throw error;
        refusal = error.rpcMessage;
      } finally {
        waiting -= 1;
      }
      // If the node already has the transaction, its answer says so.
      return rpc.call(PLAIN, [raw], purpose, onSent);
    },
  };
}

/** Whether the method is missing or forbidden. Transactions are never refused in this way. @param {unknown} error @returns {error is RpcError} */
export function isRefused(error) {
  if (!(error instanceof RpcError) || error.isBusy) return false;
  return error.rpcCode === NO_METHOD || REFUSAL.test(messageOf(error));
}

/** Whether the node has parsed the parameter and found that it is not a transaction. @param {unknown} error */
export function isMalformedTransaction(error) {
  if (!(error instanceof RpcError) || error.isBusy || NOT_ABOUT_TRANSACTION.has(error.rpcCode)) return false;
  return MALFORMED.test(messageOf(error)) && !isRefused(error);
}

/** Without the name of the method, which contains some of the words searched for. @param {RpcError} error */
function messageOf({ rpcMessage }) {
  return rpcMessage.replaceAll(METHOD, 'the method');
}

/**
 * Whether the method accepts a time-out as its second parameter: anvil rejects that before it looks at the transaction.
 * @param {Rpc} rpc
 * @param {number} waitMs
 */
async function doesAcceptWait(rpc, waitMs) {
  const answer = (/** @type {unknown[]} */ params) => rpc.call(METHOD, params, 'inclusion').then(String, String);
  const [withWait, without] = await Promise.all([answer(['0x', waitMs]), answer(['0x'])]);
  return withWait === without;
}

/** Whether the node has the transaction, but no block included it in time. @param {unknown} error @param {string} hash */
function isPending(error, hash) {
  if (!(error instanceof RpcError)) return false;
  // Anvil has no code for it.
  return error.rpcCode === NOT_IN_TIME || error.data === hash || /confirmation timeout/i.test(error.rpcMessage);
}
