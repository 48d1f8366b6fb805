import { WorkloadError, displayName } from '../errors.js';
import { isWorkloadFile } from '../files.js';
import { WorkloadHost } from './kit.js';
import { assertKzgLibrary } from './sidecars.js';
import { contractCallOf, setsOf } from './table.js';
import { UserSettings, beforeLoad, inTime, locateError, unlessAborted } from './user-code.js';
import { checkedWorkload, loadWorkloadFile } from './user-file.js';
import { counted } from '../text.js';

/**
 * Creates workloads. A workload defines one operation. There are two kinds: transactions, whose effect on the chain can be
 * audited, and plain calls. Wallets are identified by their position in the thread, from 0; plain calls have positions
 * without wallets.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { AuditReading, CallWorkload, Check, TransactionWorkload, Workload, WorkloadState } from '../contracts/load.d.ts'
 * @import { AuditReading as OwnReading, CallWorkload as OwnCalls, Create, Gas, Kit, TransactionWorkload as OwnTransactions } from '../contracts/workload.d.ts'
 * @import { SideThread } from '../core/side-thread.js'
 * @import { Settings } from './table.js'
 * @import { Artifacts } from './contract-abi.js'
 *
 * @typedef {object} WorkloadOptions
 * @property {Rpc} rpc
 * @property {Settings} settings
 * @property {number} [threads] wallets of the load; not in a worker thread
 * @property {Clock} [clock] of the run
 * @property {() => number} [random] from 0 to 1
 * @property {(url: URL) => Rpc} [connect] opens another endpoint for the rest of the run
 * @property {(module: URL, task: object) => SideThread} [openThread] for the rest of the run; not in a worker thread
 * @property {Create} [create] of a workload that a program has given as an object
 * @property {{addresses: Map<string, string>, artifacts: Artifacts}} [deployed] of a mix: what its members deploy; addresses: by their names
 * @property {WorkloadState} [state] in a worker thread: the result of handOver() for its part
 * @property {readonly string[]} [addresses] in a worker thread: of its wallets
 *
 * @typedef {Pick<WorkloadOptions, 'rpc' | 'settings' | 'threads' | 'clock' | 'connect' | 'deployed' | 'openThread'> & HostTools} BuiltInOptions
 *
 * @typedef {object} HostTools
 * @property {Kit} kit
 * @property {Readonly<Record<string, number>>} set values of --set
 * @property {any} [state] as in the contract
 * @property {readonly string[]} [addresses]
 * @property {typeof createHosted} createMember of a mix
 * @property {string} [name] of the workload
 *
 * @typedef {object} Hosted
 * @property {Workload} workload
 * @property {WorkloadHost} host
 * @property {boolean} [isAlone] it cannot be a member of a mix
 */

/** Gas if a workload does not state its own: upper bounds. @type {Gas} */
const GAS = Object.freeze({ perWallet: 3_000_000n, perOperation: 500_000n });

/** The same object each time is encoded once. @type {readonly unknown[]} */
const NO_PARAMS = Object.freeze([]);

/** @param {string} name of a built-in workload, or a file @param {WorkloadOptions} options @returns {Promise<Workload>} @throws {WorkloadError} */
export async function createWorkload(name, options) {
  return (await createHosted(name, options)).workload;
}

/** @param {string} name @param {WorkloadOptions} options @returns {Promise<Hosted>} */
async function createHosted(name, { create, ...options }) {
  const call = contractCallOf(name, options.settings);
  const settings = { ...options.settings, ...call };
  const file = isWorkloadFile(name) ? name : null;
  const host = new WorkloadHost(file, options);
  const { kit, rpc } = host;
  const state = options.state?.own;
  const user = new UserSettings(settings.set ?? []);
  /** @type {any} */
  let own;
  if (file === null) {
    const module = await import(`./${name === 'rpc' ? 'calls' : call === null ? name : 'contract'}.js`);
    const set = setsOf(name, settings.set);
    own = await module.default({ ...options, settings, name, kit, set, state, createMember: createHosted });
  } else {
    const make = create ?? (await loadWorkloadFile(file));
    try {
      own = await inTime(make({ kit, rpc, settings: { set: user.set }, state }), `${displayName(file)}: create()`);
    } catch (error) {
      throw locateError(error, file, 'create()', user);
    }
  }
  const whole = file === null ? own : checkedWorkload(own, file, user);
  host.verifiesBy(own.verify);
  const workload = whole.kind === 'call' ? completedCalls(whole, host) : completed(whole, host);
  host.explainsBy(own.revertWords);
  const { next } = workload;
  // Frozen, because a later change would have no effect: the same object is encoded once.
  if (file !== null)
    workload.next = (/** @type {[any, any]} */ ...given) => /** @type {any} */ (Object.freeze(next(...given)));
  workload.handOver = (first, count) => {
    return { own: whole.handOver?.(first, count) ?? null, kit: host.toState(first, count) };
  };
  return { workload, host, isAlone: own.isAlone };
}

/** Adds what a workload leaves out. @param {OwnTransactions & Pick<TransactionWorkload, 'nameOf' | 'check' | 'measure' | 'revertWords'>} workload @param {WorkloadHost} host @returns {TransactionWorkload} */
function completed(workload, host) {
  const { file } = host;
  const verify = workload.verify ?? host.kit.verifyByReceipt();
  const { subject = 'wallets executed', valueWei, audit } = workload;
  const firstValueWei = firstValueOf(workload);
  if (workload.gas?.blobs) assertKzgLibrary();
  return /** @type {TransactionWorkload} */ ({
    kind: 'transaction',
    subject,
    // measure() changes it.
    get gas() {
      const { gas = GAS } = workload;
      const value = { perWallet: 0n, perOperation: firstValueWei, ...gas.value };
      const created = { perWallet: 0n, perOperation: 0n, ...gas.created };
      return { likely: gas, ...gas, value, created };
    },
    valueWei,
    check: workload.check,
    measure: workload.measure,
    revertWords: workload.revertWords,
    unprepared: (preparation) =>
      beforeLoad(file, 'unprepared()', () => {
        const all = workload.prepare === undefined ? 0 : preparation.wallets.length;
        return workload.unprepared?.(preparation) ?? all;
      }),
    prepare: async (preparation) => {
      host.begin(preparation);
      const { signal } = preparation.sender;
      await beforeLoad(file, 'prepare()', () => unlessAborted(signal, workload.prepare?.(preparation)));
      await beforeLoad(file, 'the first reading of the audit', () => host.finish());
      await beforeLoad(file, 'next()', () => host.refuseWithoutCode(workload, preparation));
      await beforeLoad(file, 'next()', () => host.measureFirst(workload, preparation.wallets));
    },
    next: (position, nonce) => host.filled(workload.next(position, nonce)),
    nameOf: workload.nameOf,
    countCall: host.countCall,
    verify,
    audit: audit && (async (...given) => readingsOf(await audit(...given), host)),
    reconcile: async (snapshot) => {
      const checks = /** @type {Check[]} */ ((await workload.reconcile?.(snapshot)) ?? []);
      const areRead = host.isByReceipt || checks.some(({ name }) => name === 'receipts');
      if (audit !== undefined || areRead) return host.proven(snapshot, checks);
      // A reverted transaction raises the nonce too.
      const { check } = await host.kit.checkReceipts(snapshot);
      return host.proven(snapshot, [check, ...checks]);
    },
    facts: workload.facts,
  });
}

/** @param {OwnReading[]} readings @param {WorkloadHost} host @returns {AuditReading[]} */
function readingsOf(readings, { kit, name }) {
  const count = kit.addresses().length;
  if (readings.length === count) return readings.map((reading) => ({ target: null, ...reading }));
  throw new WorkloadError(
    `${name}: audit() returned ${counted(readings.length, 'reading')}, and must return one for each wallet: ${count}`,
  );
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

/** @param {OwnCalls} workload @param {WorkloadHost} host @returns {CallWorkload} */
function completedCalls(workload, host) {
  return /** @type {CallWorkload} */ ({
    kind: 'call',
    callsPerIteration: workload.callsPerIteration,
    facts: workload.facts,
    prepare: async (preparation) => {
      await beforeLoad(host.file, 'prepare()', () => workload.prepare?.(preparation));
      await host.finish();
    },
    next: (position) => {
      const request = workload.next(position);
      return request.params === undefined ? { ...request, params: NO_PARAMS } : request;
    },
    check: workload.check ?? (() => null),
  });
}
