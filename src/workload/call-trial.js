import { InputError, RpcError, UnavailableError } from '../errors.js';
import { pathNotFound } from './call-checks.js';

/**
 * @import { Request, Rpc } from '../chain/rpc.js'
 * @import { CallKind } from './calls-file.js'
 */

/**
 * Every kind of call is made once before the load, so that what cannot work is said at once.
 */

/** JSON-RPC 2.0: the method does not exist or is not available. */
const METHOD_NOT_FOUND = -32601;

/** What does nearly the same on nodes without a method. @type {Readonly<Record<string, string>>} */
const ALTERNATIVES = Object.freeze({
  eth_getBlockReceipts: 'eth_getTransactionReceipt with {{tx.recent}}',
  eth_feeHistory: 'eth_gasPrice',
  eth_maxPriorityFeePerGas: 'eth_gasPrice',
  eth_getProof: 'eth_getStorageAt',
  eth_createAccessList: 'eth_estimateGas',
});

/**
 * @param {Rpc} rpc
 * @param {readonly CallKind[]} kinds
 * @param {(kind: CallKind) => Request} make
 * @param {(line: string) => void} notice
 * @throws {UnavailableError | InputError}
 */
export async function askOnce(rpc, kinds, make, notice) {
  for (const kind of kinds) {
    const { method, params } = make(kind);
    let answer;
    try {
      answer = await rpc.call(method, params, 'check');
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      if (isUnknown(error))
        throw new UnavailableError(`${rpc.display} has no method ${method} (${kind.where})${instead(method)}`);
      // It may be meant so: what a node refuses takes its time as well.
      notice(`${kind.where}: tried once, it fails: ${error.message}`);
      continue;
    }
    const { check } = kind;
    const wrong = check === null || check === 'same' ? null : pathNotFound(check, answer);
    if (wrong !== null) throw new InputError(`${kind.where}: ${wrong}`);
  }
}

/** @param {RpcError} error */
function isUnknown({ rpcCode, rpcMessage }) {
  return (
    rpcCode === METHOD_NOT_FOUND ||
    /\bmethod\b.*\b(not found|not exist|not available|not supported|unknown)/i.test(rpcMessage)
  );
}

/** @param {string} method */
function instead(method) {
  const alternative = ALTERNATIVES[method];
  return alternative === undefined
    ? ': leave it out, or use a node that has it'
    : `: use ${alternative}, or a node that has it`;
}
