import { isUnknownBlock } from '../chain/passing.js';
import { RpcError, WorkloadError, displayName } from '../errors.js';
import { placeOf, unlessAborted } from './blame.js';
import { beforeLoad, blamed, handOver, inTime, stating } from './guarded.js';
import {
  checkedCall,
  checkedChecks,
  checkedCount,
  checkedGas,
  checkedReadings,
  checkedRequest,
  checkedVerdict,
  textOrNull,
  whatItIs,
} from './nonsense.js';

/**
 * @import { Call } from '../chain/transaction.js'
 * @import { Wallet } from '../chain/wallets.js'
 * @import { CallWorkload as OwnCalls, TransactionWorkload as OwnTransactions } from './contract.d.ts'
 * @import { CallWorkload, TransactionWorkload, Workload } from './index.js'
 * @import { Bench } from './kit.js'
 */

/**
 * Stands between the engine and a workload of the user's own: completes it, holds what it returns against the contract,
 * and turns whatever it throws into errors that point into its file.
 *
 * @typedef {object} Guarding
 * @property {string} file as the user gave it
 * @property {Bench} bench
 * @property {bigint | null} gasLimit as it was measured, in a worker thread
 * @property {Settings} set
 *
 * @typedef {Readonly<Record<string, string>>} Settings of --set
 */

/** What a workload may have besides next(), by its kind. */
const PARTS = Object.freeze({
  transaction: ['unprepared', 'prepare', 'next', 'verify', 'audit', 'reconcile', 'facts', 'handOver'],
  call: ['prepare', 'next', 'check', 'facts', 'handOver'],
});

/**
 * @param {unknown} made what create() of the file has made
 * @param {Guarding} guarding
 * @returns {Workload}
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

/** @param {OwnTransactions} own @param {Guarding} guarding @returns {TransactionWorkload} */
function guardTransactions(own, { file, bench, set, ...known }) {
  const { subject = 'wallets executed' } = own;
  if (typeof subject !== 'string')
    throw new WorkloadError(`${displayName(file)}: subject must be a text, not ${whatItIs(subject)}`);
  let { gasLimit } = known;
  let wallets = 0;
  const verify = own.verify?.bind(own) ?? bench.kit.verifyByReceipt();
  const audit = own.audit?.bind(own) ?? bench.kit.auditByNonce();
  /** Calls that were looked at already, as they are sent. @type {WeakMap<object, Call>} */
  const seen = new WeakMap();

  return {
    kind: 'transaction',
    subject,
    gas: checkedGas(own.gas, displayName(file), valueOf(own)),
    unprepared: ({ wallets: all, chain }) => {
      const unknown = own.prepare === undefined ? 0 : all.length;
      return beforeLoad(file, 'unprepared()', async () =>
        checkedCount((await own.unprepared?.({ wallets: all, chain })) ?? unknown),
      );
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
        throw blamed(named(error, file), file, 'verify()');
      }
    },
    audit: (...asked) => inTime(file, 'audit()', async () => checkedReadings(await audit(...asked), wallets)),
    reconcile: async (books) => {
      const checks = await bench.checkNonces(books, own.verify ?? verify);
      if (own.reconcile === undefined) return checks;
      const more = await inTime(file, 'reconcile()', async () => checkedChecks(await own.reconcile?.(books)));
      return [...checks, ...more];
    },
    ...stating(own, file),
    handOver: (first, count) => handOver(own, file, first, count, { gasLimit, set }),
  };
}

/** @param {OwnCalls} own @param {Guarding} guarding @returns {CallWorkload} */
function guardCalls(own, { file, bench, set }) {
  /** @type {WeakMap<object, ReturnType<typeof checkedRequest>>} */
  const seen = new WeakMap();
  const { callsPerIteration = 1 } = own;
  if (!Number.isInteger(callsPerIteration) || callsPerIteration < 1)
    throw new WorkloadError(
      `${displayName(file)}: callsPerIteration must be a whole number from 1 on, not ${whatItIs(callsPerIteration)}`,
    );
  return {
    kind: 'call',
    callsPerIteration,
    prepare: (preparation) =>
      beforeLoad(file, 'prepare()', async () => {
        await own.prepare?.(preparation);
        await bench.finish();
      }),
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

/** Before anything is prepared, only what needs nothing prepared can tell. @param {OwnTransactions} own @returns {bigint} wei of an operation */
function valueOf(own) {
  if (own.prepare !== undefined || own.gas?.value !== undefined) return 0n;
  try {
    return checkedCall(own.next(0, 0), 1n).value;
  } catch {
    return 0n; // whoever needs the call is told why there is none
  }
}

/** What the node refuses is a failure of that kind, and its words tell who asked. @param {unknown} error @param {string} file */
function named(error, file) {
  const name = displayName(file);
  if (error instanceof RpcError && !error.message.startsWith(name))
    error.message = `${placeOf(error, file)}: verify(): ${error.message}`;
  return error;
}

/** @param {OwnTransactions} own @param {Wallet} wallet @param {Bench} bench */
async function measureGas(own, { address, nonce }, bench) {
  const call = own.next(0, nonce);
  checkedCall(call, 1n);
  return call.gasLimit === undefined ? bench.measure({ ...call, from: address }) : null;
}
