import { WorkloadError, displayName } from '../errors.js';
import { isWorkloadFile } from '../files.js';
import { WorkloadHost } from './kit.js';
import { MIX, WORKLOADS, setsOf } from './table.js';
import { beforeLoad, inTime, locateError, unlessAborted } from './user-code.js';
import { NO_VALUE, checkedWorkload, loadWorkloadFile } from './user-file.js';

/**
 * Creates workloads. A workload defines one operation. There are two kinds: transactions, whose effect on the chain can be
 * audited, and plain calls. Wallets are identified by their position in the slice, from 0; plain calls have positions
 * without wallets.
 *
 * @import { CallWorkload, Check, Clock, Rpc, Settings, TransactionWorkload, Workload } from '../types.d.ts'
 * @import { CallWorkload as OwnCalls, Create, Gas, Kit, TransactionWorkload as OwnTransactions } from './contract.d.ts'
 * @import { KitState } from './kit.js'
 *
 * @typedef {object} WorkloadOptions
 * @property {Rpc} rpc
 * @property {Settings} settings
 * @property {Clock} [clock] of the run
 * @property {(url: URL) => Rpc} [connect] opens another endpoint for the rest of the run
 * @property {Create} [create] of a workload that a program has given as an object
 * @property {any} [state] in a worker thread: the result of handOver() for its part
 *
 * @typedef {Omit<WorkloadOptions, 'create'> & {kit: Kit, set: Readonly<Record<string, number>>}} BuiltInOptions
 *
 * @typedef {object} Hosted
 * @property {Workload} workload
 * @property {WorkloadHost} host
 * @property {object} [verify] as the workload has made it
 * @property {boolean} [isAlone] it cannot be a member of a mix
 *
 * @typedef {object} WorkloadState for a worker thread
 * @property {unknown} own the result of the workload's handOver()
 * @property {KitState} kit
 * @property {bigint | null} gasLimit as measured
 * @property {Readonly<Record<string, any>>} set texts of the user, or the numbers of a built-in workload
 */

/** Gas if a workload does not state its own: upper bounds. @type {Gas} */
const GAS = Object.freeze({ perWallet: 3_000_000n, perOperation: 500_000n });

/** @param {string} name of a built-in workload, or a file @param {WorkloadOptions} options @returns {Promise<Workload>} */
export async function createWorkload(name, options) {
  if (name === MIX) return (await import('./mix.js')).createMix(options, createHosted);
  return (await createHosted(name, options)).workload;
}

/** @param {string} name @param {WorkloadOptions} options @returns {Promise<Hosted>} */
async function createHosted(name, options) {
  if (isWorkloadFile(name)) return hostUserWorkload(name, options);
  const create = /** @type {any} */ (await WORKLOADS[name].load());
  const set = options.state?.set ?? setsOf(name, options.settings.set);
  const { host, state, given } = openHost(options, set);
  const own = await create(given);
  if (WORKLOADS[name].kind === 'call') return { workload: completedCalls(own, { host, set }), host };
  return { workload: completed(own, { host, state, set }), host, verify: own.verify };
}

/** @param {(options: BuiltInOptions) => OwnTransactions} create @param {WorkloadOptions} options @param {BuiltInOptions['set']} [set] @returns {TransactionWorkload} */
export function createTransactions(create, options, set = {}) {
  const { host, state, given } = openHost(options, set);
  return completed(create(given), { host, state, set });
}

/** @param {WorkloadOptions} options @param {BuiltInOptions['set']} set */
function openHost(options, set) {
  const state = /** @type {WorkloadState | undefined} */ (options.state);
  const host = new WorkloadHost(null, options.rpc, state?.kit);
  return { host, state, given: { ...options, kit: host.kit, state: state?.own, set } };
}

/** @param {string} file @param {WorkloadOptions} options @returns {Promise<Workload>} @throws {WorkloadError} */
export async function createUserWorkload(file, options) {
  return (await hostUserWorkload(file, options)).workload;
}

/**
 * @param {string} file
 * @param {WorkloadOptions} options
 * @returns {Promise<Hosted>}
 * @throws {WorkloadError}
 */
async function hostUserWorkload(file, { rpc, settings, state: given, create: known }) {
  const create = known ?? (await loadWorkloadFile(file));
  const state = /** @type {WorkloadState | undefined} */ (given);
  const set = state?.set ?? Object.freeze(Object.fromEntries(settings.set ?? []));
  const host = new WorkloadHost(file, rpc, state?.kit);
  /** @type {any} */
  let own;
  try {
    const options = { kit: host.kit, rpc: host.rpc, settings: { set }, state: state?.own };
    own = await inTime(create(options), `${displayName(file)}: create()`);
  } catch (error) {
    throw locateError(error, file, 'create()');
  }
  const workload = checkedWorkload(own, file);
  const { verify, isAlone } = own;
  if (workload.kind === 'transaction')
    return { workload: completed(workload, { own, host, state, set, file }), host, verify, isAlone };
  return { workload: completedCalls(workload, { host, set, file }), host };
}

/**
 * @typedef {object} Parts
 * @property {OwnTransactions} [own] as the user's create() returned it
 * @property {WorkloadHost} host
 * @property {WorkloadState} [state]
 * @property {Readonly<Record<string, string | number>>} set
 * @property {string | null} [file] of the user
 */

/** Adds what a workload leaves out. @param {OwnTransactions} workload @param {Parts} parts @returns {TransactionWorkload} */
function completed(workload, { own, host, state, set, file = null }) {
  const verify = workload.verify ?? host.kit.verifyByReceipt();
  const audit = workload.audit ?? host.kit.auditByNonce();
  const { gas = GAS, subject = 'wallets executed', valueWei } = workload;
  /** @template T @param {string} what @param {() => T | Promise<T>} action @returns {Promise<T>} */
  const early = async (what, action) => (file === null ? action() : beforeLoad(file, what, action));
  let gasLimit = state?.gasLimit ?? null;
  /** @type {number | null} */
  let wallets = null;
  /** Completed calls, by the object that next() returned: the same object is encoded once. @type {WeakMap<object, any>} */
  const seen = new WeakMap();
  return /** @type {TransactionWorkload} */ ({
    kind: 'transaction',
    subject,
    gas: { likely: gas, ...gas, value: { ...NO_VALUE, perOperation: firstValueOf(workload), ...gas.value } },
    valueWei,
    unprepared: (preparation) =>
      early('unprepared()', () => {
        const all = workload.prepare === undefined ? 0 : preparation.wallets.length;
        return workload.unprepared?.(preparation) ?? all;
      }),
    prepare: async (preparation) => {
      wallets = preparation.wallets.length;
      host.begin(preparation);
      const { signal } = preparation.sender;
      await early('prepare()', () => unlessAborted(signal, workload.prepare?.(preparation)));
      await early('the first reading of the audit', () => host.finish());
      const position = host.leastCounted();
      const { address, nonce } = preparation.wallets[position];
      const call = workload.next(position, nonce);
      if (call.gasLimit === undefined) gasLimit = await early('next()', () => host.measure({ ...call, from: address }));
    },
    next: (position, nonce) => {
      const given = workload.next(position, nonce);
      if (given.gasLimit !== undefined && given.data !== undefined && given.value !== undefined) return given;
      const known = seen.get(given);
      if (known !== undefined) return known;
      const { data = '0x', value = 0n } = given;
      if (given.gasLimit === undefined && gasLimit === null)
        throw new WorkloadError(`${nameOf(file)}: next() must give a gasLimit in all of its calls, or in none`);
      const call = { ...given, data, value, gasLimit: given.gasLimit ?? gasLimit };
      seen.set(given, call);
      return call;
    },
    verify,
    audit: async (...given) => {
      const readings = await audit(...given);
      if (readings.length === (wallets ?? readings.length))
        return readings.map(({ start, now, target = null }) => ({ start, now, target }));
      throw new WorkloadError(
        `${nameOf(file)}: audit() returned ${readings.length} readings, and must return one for each of the ${wallets} wallets`,
      );
    },
    reconcile: async (snapshot) => {
      const checks = await host.checkNonces(snapshot, own?.verify ?? verify);
      const further = (await workload.reconcile?.(snapshot)) ?? [];
      return host.proven(snapshot, /** @type {Check[]} */ ([...checks, ...further]));
    },
    facts: workload.facts,
    handOver: (first, count) => {
      return { own: workload.handOver?.(first, count) ?? null, kit: host.toState(first, count), gasLimit, set };
    },
  });
}

/** @param {string | null} file */
function nameOf(file) {
  return file === null ? 'the workload' : displayName(file);
}

/** The value of an operation before prepare(), if the workload needs no preparation. @param {OwnTransactions} workload @returns {bigint} */
function firstValueOf(workload) {
  if (workload.prepare !== undefined) return 0n;
  try {
    return workload.next(0, 0).value ?? 0n;
  } catch {
    return 0n; // next() is called again, and its error is reported then
  }
}

/** @param {OwnCalls} workload @param {Parts} parts @returns {CallWorkload} */
function completedCalls(workload, { host, set, file = null }) {
  /** @type {WeakMap<object, any>} */
  const seen = new WeakMap();
  return /** @type {CallWorkload} */ ({
    kind: 'call',
    callsPerIteration: workload.callsPerIteration,
    facts: workload.facts?.bind(workload),
    prepare: async (preparation) => {
      const prepared = () => workload.prepare?.(preparation);
      await (file === null ? prepared() : beforeLoad(file, 'prepare()', prepared));
      await host.finish();
    },
    next: (position) => {
      const given = workload.next(position);
      if (given.params !== undefined) return given;
      const request = seen.get(given) ?? Object.freeze({ ...given, params: Object.freeze([]) });
      seen.set(given, request);
      return request;
    },
    check: workload.check?.bind(workload) ?? (() => null),
    handOver: (first, count) => {
      return { own: workload.handOver?.(first, count) ?? null, kit: host.toState(first, count), gasLimit: null, set };
    },
  });
}
