import { isUnknownBlock } from '../chain/passing.js';
import { InterruptedError, RpcError, WorkloadError, displayName } from '../errors.js';
import { blame, placeOf, within, wordsOf } from './blame.js';
import {
  Nonsense,
  checkedCall,
  checkedChecks,
  checkedGas,
  checkedReadings,
  checkedRequest,
  checkedVerdict,
  textOrNull,
  whatItIs,
} from './nonsense.js';

/**
 * Stands between the engine and a workload of the user's own: completes it, holds what it returns against the contract,
 * and turns whatever it throws into errors that point into its file.
 *
 * @typedef {import('./contract.d.ts').TransactionWorkload} OwnTransactions
 * @typedef {import('./contract.d.ts').CallWorkload} OwnCalls
 *
 * @typedef {object} Guarding
 * @property {string} file as the user gave it
 * @property {import('./kit.js').Bench} bench
 * @property {bigint | null} gasLimit as it was measured, in a worker thread
 * @property {Settings} set
 *
 * @typedef {Readonly<Record<string, string>>} Settings of --set
 *
 * @typedef {object} Handed what goes to a worker thread
 * @property {unknown} own what the workload itself hands over
 * @property {bigint | null} gasLimit as it was measured
 * @property {Settings} set
 */

/** What a workload may have besides next(), by its kind. */
const PARTS = Object.freeze({
  transaction: ['unprepared', 'prepare', 'next', 'verify', 'audit', 'reconcile', 'facts', 'handOver'],
  call: ['prepare', 'next', 'check', 'facts', 'handOver'],
});

/**
 * @param {unknown} made what create() of the file has made
 * @param {Guarding} guarding
 * @returns {import('./index.js').Workload}
 * @throws {WorkloadError} it lacks a part
 */
export function guard(made, guarding) {
  const name = displayName(guarding.file);
  const own = /** @type {any} */ (made);
  const kind = own?.kind;
  if (kind !== 'transaction' && kind !== 'call')
    throw new WorkloadError(
      `${name}: create() must return a workload with kind 'transaction' or 'call'; its kind is ${whatItIs(kind)}`,
    );
  if (own.next === undefined)
    throw new WorkloadError(`${name}: the workload lacks next(), which says what one operation is`);
  for (const part of PARTS[/** @type {'transaction' | 'call'} */ (kind)])
    if (own[part] !== undefined && typeof own[part] !== 'function')
      throw new WorkloadError(`${name}: ${part} of the workload must be a function, not ${whatItIs(own[part])}`);
  return kind === 'call' ? guardCalls(own, guarding) : guardTransactions(own, guarding);
}

/** @param {OwnTransactions} own @param {Guarding} guarding @returns {import('./index.js').TransactionWorkload} */
function guardTransactions(own, { file, bench, set, ...known }) {
  const { subject = 'wallets executed' } = own;
  if (typeof subject !== 'string')
    throw new WorkloadError(`${displayName(file)}: subject must be a text, not ${whatItIs(subject)}`);
  let { gasLimit } = known;
  let wallets = 0;
  const verify = own.verify?.bind(own) ?? bench.kit.verifyByReceipt();
  const audit = own.audit?.bind(own) ?? bench.kit.auditByNonce();
  /** Calls that were looked at already, as they are sent. @type {WeakMap<object, import('./index.js').Call>} */
  const seen = new WeakMap();

  return {
    ...{ kind: 'transaction', subject, gas: checkedGas(own.gas, displayName(file)) },
    unprepared: ({ wallets: all, chain }) => {
      const unknown = own.prepare === undefined ? 0 : all.length;
      return beforeLoad(file, 'unprepared()', async () => (await own.unprepared?.({ wallets: all, chain })) ?? unknown);
    },
    prepare: async (preparation) => {
      wallets = preparation.wallets.length;
      bench.begin(preparation);
      await beforeLoad(file, 'prepare()', () => unlessAborted(preparation.sender.signal, own.prepare?.(preparation)));
      await beforeLoad(file, 'the first reading of the audit', () => bench.finish());
      gasLimit = await beforeLoad(file, 'next()', () => measureGas(own, preparation.wallets[0], bench));
    },
    next: (position, nonce) => {
      try {
        const given = own.next(position, nonce);
        const before = seen.get(given);
        if (before !== undefined) return before;
        const call = checkedCall(given, gasLimit);
        // Who changed it later on would change nothing: it is encoded once.
        seen.set(Object.freeze(given), call);
        return call;
      } catch (error) {
        throw blamed(error, file, 'next()');
      }
    },
    verify: async (...asked) => {
      try {
        return checkedVerdict(await verify(...asked));
      } catch (error) {
        if (isUnknownBlock(error)) return { state: 'behind', effect: null, target: null };
        throw blamed(error, file, 'verify()');
      }
    },
    audit: (...asked) => inTime(file, 'audit()', async () => checkedReadings(await audit(...asked), wallets)),
    ...reconciling(own, file),
    ...stating(own, file),
    handOver: (first, count) => handOver(own, file, first, count, { gasLimit, set }),
  };
}

/** @param {OwnTransactions} own @param {string} file @returns {Pick<import('./index.js').TransactionWorkload, 'reconcile'>} */
function reconciling(own, file) {
  if (own.reconcile === undefined) return {};
  return { reconcile: (books) => inTime(file, 'reconcile()', async () => checkedChecks(await own.reconcile?.(books))) };
}

/** @param {OwnTransactions | OwnCalls} own @param {string} file @returns {{facts?: () => Record<string, unknown>}} */
function stating(own, file) {
  if (own.facts === undefined) return {};
  return {
    facts: () => {
      try {
        return structuredClone(own.facts?.() ?? {});
      } catch (error) {
        throw blame(error, file, 'facts()');
      }
    },
  };
}

/** @param {OwnCalls} own @param {Guarding} guarding @returns {import('./index.js').CallWorkload} */
function guardCalls(own, { file, set }) {
  /** @type {WeakMap<object, ReturnType<typeof checkedRequest>>} */
  const seen = new WeakMap();
  const { callsPerIteration = 1 } = own;
  if (!Number.isInteger(callsPerIteration) || callsPerIteration < 1)
    throw new WorkloadError(
      `${displayName(file)}: callsPerIteration must be a whole number from 1 on, not ${whatItIs(callsPerIteration)}`,
    );
  return {
    ...{ kind: 'call', callsPerIteration },
    prepare: (preparation) => beforeLoad(file, 'prepare()', async () => void (await own.prepare?.(preparation))),
    next: (position) => {
      try {
        const given = own.next(position);
        const before = seen.get(given);
        if (before !== undefined) return before;
        const request = checkedRequest(given);
        seen.set(Object.freeze(given), request);
        return request;
      } catch (error) {
        throw blamed(error, file, 'next()');
      }
    },
    check: (...asked) => {
      /** @param {unknown} error @returns {never} */
      const fail = (error) => {
        throw blamed(error, file, 'check()');
      };
      try {
        const said = own.check?.(...asked);
        if (said instanceof Promise) return said.then((words) => textOrNull(words, 'result')).catch(fail);
        return textOrNull(said, 'result');
      } catch (error) {
        return fail(error);
      }
    },
    ...stating(own, file),
    handOver: (first, count) => handOver(own, file, first, count, { gasLimit: null, set }),
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
function handOver(own, file, first, count, ours) {
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

/** @param {OwnTransactions} own @param {import('../chain/wallets.js').Wallet} wallet @param {import('./kit.js').Bench} bench */
async function measureGas(own, { address, nonce }, bench) {
  const call = own.next(0, nonce);
  checkedCall(call, 1n);
  return call.gasLimit === undefined ? bench.measure({ ...call, from: address }) : null;
}

/** A Ctrl-C ends what does not end by itself. @template T @param {AbortSignal} signal @param {Promise<T> | undefined} action */
async function unlessAborted(signal, action) {
  /** @type {() => void} */
  let onAbort = () => {};
  const aborted = new Promise((_, reject) => {
    onAbort = () => reject(new InterruptedError('interrupted during set-up'));
  });
  signal.addEventListener('abort', onAbort);
  try {
    await Promise.race([action, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** What the node refuses then is refused to the file. @template T @param {string} file @param {string} what @param {() => T | Promise<T>} action @returns {Promise<T>} */
async function beforeLoad(file, what, action) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof RpcError) || error.method === 'eth_sendRawTransaction') throw blamed(error, file, what);
    throw new WorkloadError(`${placeOf(error, file)}: ${what} was refused by the node: ${error.message}`);
  }
}

/** @template T @param {string} file @param {string} what @param {() => Promise<T>} action @returns {Promise<T>} */
async function inTime(file, what, action) {
  try {
    return await within(action(), `${displayName(file)}: ${what}`);
  } catch (error) {
    throw blamed(error, file, what);
  }
}

/** @param {unknown} error @param {string} file @param {string} what */
function blamed(error, file, what) {
  if (error instanceof Nonsense) return new WorkloadError(`${displayName(file)}: ${what} ${error.message}`);
  return blame(error, file, what);
}
