import { RpcError, WorkloadError, displayName } from '../errors.js';
import { blame, placeOf, within, wordsOf } from './blame.js';
import { Nonsense, checkedFacts } from './nonsense.js';

/**
 * @import { CallWorkload as OwnCalls, TransactionWorkload as OwnTransactions } from './contract.d.ts'
 * @import { Settings } from './guard.js'
 */

/**
 * What is the same for both kinds of workloads of the user's own: facts, handing over, and what is thrown told by its
 * file.
 *
 * @typedef {object} Handed what goes to a worker thread
 * @property {unknown} own what the workload itself hands over
 * @property {bigint | null} gasLimit as it was measured
 * @property {Settings} set
 */

/** @param {OwnTransactions | OwnCalls} own @param {string} file @returns {{facts?: () => Record<string, unknown>}} */
export function stating(own, file) {
  if (own.facts === undefined) return {};
  return {
    facts: () => {
      try {
        return checkedFacts(own.facts?.());
      } catch (error) {
        throw blamed(error, file, 'facts()');
      }
    },
  };
}

/**
 * @param {OwnTransactions | OwnCalls} own
 * @param {string} file
 * @param {number} first
 * @param {number} count
 * @param {Omit<Handed, 'own'>} ours
 * @returns {Handed}
 */
export function handOver(own, file, first, count, ours) {
  if (own.handOver === undefined && own.prepare !== undefined)
    throw new WorkloadError(
      `${displayName(file)}: the workload lacks handOver(first, count), which tells worker threads what prepare() has prepared: add it, or give --workers 1`,
    );
  let handed;
  try {
    handed = own.handOver?.(first, count) ?? null;
  } catch (error) {
    throw blame(error, file, 'handOver()');
  }
  try {
    return { own: structuredClone(handed), ...ours };
  } catch (error) {
    throw new WorkloadError(
      `${displayName(file)}: handOver() returned what no worker thread can be given: ${wordsOf(error)}`,
    );
  }
}

/** What the node refuses then is refused to the file. @template T @param {string} file @param {string} what @param {() => T | Promise<T>} action @returns {Promise<T>} */
export async function beforeLoad(file, what, action) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof RpcError) || error.method === 'eth_sendRawTransaction') throw blamed(error, file, what);
    throw new WorkloadError(`${placeOf(error, file)}: ${what} was refused by the node: ${error.message}`);
  }
}

/** @template T @param {string} file @param {string} what @param {() => Promise<T>} action @returns {Promise<T>} */
export async function inTime(file, what, action) {
  try {
    return await within(action(), `${displayName(file)}: ${what}`);
  } catch (error) {
    throw blamed(error, file, what);
  }
}

/** @param {unknown} error @param {string} file @param {string} what */
export function blamed(error, file, what) {
  if (error instanceof Nonsense) return new WorkloadError(`${displayName(file)}: ${what} ${error.message}`);
  return blame(error, file, what);
}
