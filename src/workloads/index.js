import { WorkloadError, displayName } from '../errors.js';
import { isWorkloadFile } from '../files.js';
import { WorkloadHost } from './kit.js';
import { WORKLOADS } from './table.js';
import { beforeLoad, inTime, locateError } from './user-code.js';
import { checkedWorkload, loadWorkloadFile } from './user-file.js';

/**
 * Creates workloads. A workload defines one operation. There are two kinds: transactions, whose effect on the chain can be
 * audited, and plain calls. Wallets are identified by their position in the slice, from 0; plain calls have positions
 * without wallets.
 *
 * @import { CallWorkload, Clock, Rpc, Settings, TransactionWorkload, Workload } from '../types.d.ts'
 * @import { CallWorkload as OwnCalls, Create, Kit, TransactionWorkload as OwnTransactions } from './contract.d.ts'
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
 * @typedef {Omit<WorkloadOptions, 'create'> & {kit: Kit}} BuiltInOptions
 *
 * @typedef {object} WorkloadState for a worker thread
 * @property {unknown} own the result of the workload's handOver()
 * @property {KitState} kit
 * @property {bigint | null} gasLimit as measured
 * @property {Readonly<Record<string, string>>} set
 */

/** @param {string} name of a built-in workload, or a file @param {WorkloadOptions} options @returns {Promise<Workload>} */
export async function createWorkload(name, options) {
  if (isWorkloadFile(name)) return createUserWorkload(name, options);
  const create = await WORKLOADS[name].load();
  if (WORKLOADS[name].kind === 'transaction') return createTransactions(/** @type {any} */ (create), options);
  const { host, set, given } = openHost(options);
  return completedCalls(/** @type {OwnCalls} */ (await create(given)), { host, set });
}

/** @param {(options: BuiltInOptions) => OwnTransactions} create @param {WorkloadOptions} options @returns {TransactionWorkload} */
export function createTransactions(create, options) {
  const { given, ...parts } = openHost(options);
  const own = create(given);
  return completed(own, { ...parts, own });
}

/** @param {WorkloadOptions} options */
function openHost(options) {
  const state = /** @type {WorkloadState | undefined} */ (options.state);
  const host = new WorkloadHost(null, options.rpc, state?.kit);
  return { host, state, set: {}, file: 'the workload', given: { ...options, kit: host.kit, state: state?.own } };
}

/**
 * @param {string} file
 * @param {WorkloadOptions} options
 * @returns {Promise<Workload>}
 * @throws {WorkloadError}
 */
export async function createUserWorkload(file, { rpc, settings, state: given, create: known }) {
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
  const parts = { own, host, state, set, file };
  return workload.kind === 'call' ? completedCalls(workload, parts) : completed(workload, parts);
}

/**
 * @typedef {object} Parts
 * @property {OwnTransactions} own as create() returned it
 * @property {WorkloadHost} host
 * @property {WorkloadState | undefined} state
 * @property {Readonly<Record<string, string>>} set
 * @property {string} file
 */

/**
 * Adds what a workload leaves out.
 * @param {OwnTransactions} workload
 * @param {Parts} parts
 * @returns {TransactionWorkload}
 */
function completed(workload, { own, host, state, set, file }) {
  const verify = workload.verify ?? host.kit.verifyByReceipt();
  const audit = workload.audit ?? host.kit.auditByNonce();
  const isPreparedHere = workload.prepare !== undefined;
  let gasLimit = state?.gasLimit ?? null;
  /** @type {number | null} */
  let wallets = null;
  /** Completed calls, by the object that next() returned: the same object is encoded once. @type {WeakMap<object, any>} */
  const seen = new WeakMap();
  return /** @type {TransactionWorkload} */ ({
    kind: 'transaction',
    subject: workload.subject,
    gas: { likely: workload.gas, ...workload.gas },
    valueWei: workload.valueWei,
    unprepared: workload.unprepared ?? (async (preparation) => (isPreparedHere ? preparation.wallets.length : 0)),
    prepare: async (preparation) => {
      wallets = preparation.wallets.length;
      host.begin(preparation);
      await workload.prepare?.(preparation);
      if (own === workload) await host.finish();
      else await beforeLoad(file, 'the first reading of the audit', () => host.finish());
      const position = host.leastCounted();
      const { address, nonce } = preparation.wallets[position];
      const call = workload.next(position, nonce);
      if (call.gasLimit !== undefined) return;
      const measure = () => host.measure({ ...call, from: address });
      gasLimit = await (own === workload ? measure() : beforeLoad(file, 'next()', measure));
    },
    next: (position, nonce) => {
      const given = workload.next(position, nonce);
      if (given.gasLimit !== undefined && given.data !== undefined && given.value !== undefined) return given;
      const known = seen.get(given);
      if (known !== undefined) return known;
      const { to, data = '0x', value = 0n } = given;
      if (given.gasLimit === undefined && gasLimit === null)
        throw new WorkloadError(`${displayName(file)}: next() must give a gasLimit in all of its calls, or in none`);
      const call = { to, data, value, gasLimit: given.gasLimit ?? gasLimit };
      seen.set(given, call);
      return call;
    },
    verify,
    audit: async (...given) => {
      const readings = await audit(...given);
      if (readings.length === (wallets ?? readings.length))
        return readings.map(({ start, now, target = null }) => ({ start, now, target }));
      throw new WorkloadError(
        `${displayName(file)}: audit() returned ${readings.length} readings, and must return one for each of the ${wallets} wallets`,
      );
    },
    reconcile: async (snapshot) => {
      const checks = await host.checkNonces(snapshot, own.verify ?? verify);
      return [...checks, ...((await workload.reconcile?.(snapshot)) ?? [])];
    },
    facts: workload.facts,
    handOver: (first, count) => {
      return { own: workload.handOver?.(first, count) ?? null, kit: host.toState(first, count), gasLimit, set };
    },
  });
}

/** @param {OwnCalls} workload @param {Pick<Parts, 'host' | 'set'>} parts @returns {CallWorkload} */
function completedCalls(workload, { host, set }) {
  /** @type {WeakMap<object, any>} */
  const seen = new WeakMap();
  return /** @type {CallWorkload} */ ({
    kind: 'call',
    callsPerIteration: workload.callsPerIteration,
    facts: workload.facts?.bind(workload),
    prepare: async (preparation) => {
      await workload.prepare?.(preparation);
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
