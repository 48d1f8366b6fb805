import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isUnknownBlock } from '../chain/retries.js';
import { InputError, ProtocolError, RpcError, TransportError, WorkloadError, displayName } from '../errors.js';
import { isWorkloadFile } from '../files.js';
import {
  ContractError,
  locateError,
  checkedCall,
  checkedChecks,
  checkedCount,
  checkedFacts,
  checkedGas,
  checkedReadings,
  checkedRequest,
  checkedVerdict,
  isThroughKit,
  otherPlaceOf,
  placeOf,
  relativeName,
  textOrNull,
  unlessAborted,
  describeValue,
  within,
  messageOf,
} from './contract-errors.js';
import { createWorkloadHost } from './kit.js';

/**
 * A user's workload file (`--workload ./mine.js`): loads it, completes the workload, checks what it returns, and turns
 * what it throws into errors that point into the file.
 *
 * @import { Wallet } from '../chain/keys.js'
 * @import { Call, CallWorkload, TransactionWorkload, Workload } from '../types.d.ts'
 * @import { Create, CallWorkload as OwnCalls, TransactionWorkload as OwnTransactions } from './contract.d.ts'
 * @import { WorkloadOptions } from './index.js'
 * @import { WorkloadHost } from './kit.js'
 *
 * @typedef {Readonly<Record<string, string>>} Settings of --set
 *
 * @typedef {object} FileWorkloadState for a worker thread
 * @property {unknown} own the result of the workload's handOver()
 * @property {bigint | null} gasLimit as measured
 * @property {Settings} set
 *
 * @typedef {object} WrapOptions
 * @property {string} file as the user gave it
 * @property {WorkloadHost} host
 * @property {bigint | null} gasLimit as measured, in a worker thread
 * @property {Settings} set
 */

/** The supported contract. */
export const CONTRACT = 'evm-stress/workload@1';

const CONTRACT_NAME = 'evm-stress/workload@';

/** Errors of RPC calls, which the file may have left unhandled. */
const RPC_ERRORS = Object.freeze([RpcError, TransportError, ProtocolError]);

/** Time limit for finding the line of a syntax error. */
const SYNTAX_CHECK_MS = 10_000;

/** The functions of a workload, by its kind. */
const PARTS = Object.freeze({
  transaction: ['unprepared', 'prepare', 'next', 'verify', 'audit', 'reconcile', 'facts', 'handOver'],
  call: ['prepare', 'next', 'check', 'facts', 'handOver'],
});

/** @param {OwnTransactions | OwnCalls} own @param {string} file @returns {{facts?: () => Record<string, unknown>}} */
function wrapFacts(own, file) {
  if (own.facts === undefined) return {};
  return {
    facts: () => {
      try {
        return checkedFacts(own.facts?.());
      } catch (error) {
        throw withLocation(error, file, 'facts()');
      }
    },
  };
}

/**
 * @param {OwnTransactions | OwnCalls} own
 * @param {string} file
 * @param {number} first
 * @param {number} count
 * @param {Omit<FileWorkloadState, 'own'>} ours
 * @returns {FileWorkloadState}
 */
function stateFor(own, file, first, count, ours) {
  if (own.handOver === undefined && own.prepare !== undefined)
    throw new WorkloadError(
      `${displayName(file)}: the workload lacks handOver(first, count), which returns the state of worker threads: add it, or give --workers 1`,
    );
  let handed;
  try {
    handed = own.handOver?.(first, count) ?? null;
  } catch (error) {
    throw locateError(error, file, 'handOver()');
  }
  try {
    return { own: structuredClone(handed), ...ours };
  } catch (error) {
    throw new WorkloadError(
      `${displayName(file)}: handOver() returned a value that cannot be sent to a worker thread: ${messageOf(error)}`,
    );
  }
}

/** Adds the position in the file to errors of the node. @template T @param {string} file @param {string} what @param {() => T | Promise<T>} action @returns {Promise<T>} */
async function beforeLoad(file, what, action) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof RpcError) || error.method === 'eth_sendRawTransaction')
      throw withLocation(error, file, what);
    throw new WorkloadError(`${placeOf(error, file)}: ${what} was refused by the node: ${error.message}`);
  }
}

/** @template T @param {string} file @param {string} what @param {() => Promise<T>} action @returns {Promise<T>} */
async function inTime(file, what, action) {
  try {
    return await within(action(), `${displayName(file)}: ${what}`);
  } catch (error) {
    throw withLocation(error, file, what);
  }
}

/** @param {unknown} error @param {string} file @param {string} what */
function withLocation(error, file, what) {
  if (error instanceof ContractError) return new WorkloadError(`${displayName(file)}: ${what} ${error.message}`);
  return locateError(error, file, what);
}

/**
 * @param {unknown} made the result of create()
 * @param {WrapOptions} options
 * @returns {Workload}
 * @throws {WorkloadError} it lacks a part
 */
export function wrapUserWorkload(made, options) {
  const name = displayName(options.file);
  const own = /** @type {any} */ (made);
  const kind = own?.kind;
  if (kind !== 'transaction' && kind !== 'call')
    throw new WorkloadError(
      `${name}: create() must return a workload with kind 'transaction' or 'call'; its kind is ${describeValue(kind)}`,
    );
  if (own.next === undefined)
    throw new WorkloadError(`${name}: the workload lacks next(), which returns the next operation`);
  for (const part of PARTS[/** @type {'transaction' | 'call'} */ (kind)])
    if (own[part] !== undefined && typeof own[part] !== 'function')
      throw new WorkloadError(`${name}: ${part} of the workload must be a function, not ${describeValue(own[part])}`);
  return kind === 'call' ? wrapCalls(own, options) : wrapTransactions(own, options);
}

/** @param {OwnTransactions} own @param {WrapOptions} options @returns {TransactionWorkload} */
function wrapTransactions(own, { file, host, set, ...known }) {
  const { subject = 'wallets executed' } = own;
  if (typeof subject !== 'string')
    throw new WorkloadError(`${displayName(file)}: subject must be a text, not ${describeValue(subject)}`);
  let { gasLimit } = known;
  let wallets = 0;
  const verify = own.verify?.bind(own) ?? host.kit.verifyByReceipt();
  const audit = own.audit?.bind(own) ?? host.kit.auditByNonce();
  /** Checked calls, by the object that next() returned. @type {WeakMap<object, Call>} */
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
      host.begin(preparation);
      await beforeLoad(file, 'prepare()', () => unlessAborted(preparation.sender.signal, own.prepare?.(preparation)));
      await beforeLoad(file, 'the first reading of the audit', () => host.finish());
      gasLimit = await beforeLoad(file, 'next()', () => measureGas(own, preparation.wallets[0], host));
    },
    next: (position, nonce) => {
      try {
        const given = own.next(position, nonce);
        const before = seen.get(given);
        if (before !== undefined) return before;
        const call = checkedCall(given, gasLimit);
        // Frozen, because a later change would have no effect.
        seen.set(Object.freeze(given), call);
        return call;
      } catch (error) {
        throw withLocation(error, file, 'next()');
      }
    },
    verify: async (...asked) => {
      try {
        return checkedVerdict(await verify(...asked));
      } catch (error) {
        if (isUnknownBlock(error)) return { state: 'behind', effect: null, target: null };
        throw withLocation(named(error, file), file, 'verify()');
      }
    },
    audit: (...asked) => inTime(file, 'audit()', async () => checkedReadings(await audit(...asked), wallets)),
    reconcile: async (snapshot) => {
      const checks = await host.checkNonces(snapshot, own.verify ?? verify);
      if (own.reconcile === undefined) return checks;
      const more = await inTime(file, 'reconcile()', async () => checkedChecks(await own.reconcile?.(snapshot)));
      return [...checks, ...more];
    },
    ...wrapFacts(own, file),
    handOver: (first, count) => stateFor(own, file, first, count, { gasLimit, set }),
  };
}

/** @param {OwnCalls} own @param {WrapOptions} options @returns {CallWorkload} */
function wrapCalls(own, { file, host, set }) {
  /** @type {WeakMap<object, ReturnType<typeof checkedRequest>>} */
  const seen = new WeakMap();
  const { callsPerIteration = 1 } = own;
  if (!Number.isInteger(callsPerIteration) || callsPerIteration < 1)
    throw new WorkloadError(
      `${displayName(file)}: callsPerIteration must be a positive whole number, not ${describeValue(callsPerIteration)}`,
    );
  return {
    kind: 'call',
    callsPerIteration,
    prepare: (preparation) =>
      beforeLoad(file, 'prepare()', async () => {
        await own.prepare?.(preparation);
        await host.finish();
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
        throw withLocation(error, file, 'next()');
      }
    },
    check: (...asked) => {
      /** @param {unknown} error @returns {never} */
      const fail = (error) => {
        throw withLocation(error, file, 'check()');
      };
      try {
        const said = own.check?.(...asked);
        if (said instanceof Promise) return said.then((words) => textOrNull(words, 'result')).catch(fail);
        return textOrNull(said, 'result');
      } catch (error) {
        return fail(error);
      }
    },
    ...wrapFacts(own, file),
    handOver: (first, count) => stateFor(own, file, first, count, { gasLimit: null, set }),
  };
}

/** The value of an operation before prepare(), if the workload needs no preparation. @param {OwnTransactions} own @returns {bigint} */
function valueOf(own) {
  if (own.prepare !== undefined || own.gas?.value !== undefined) return 0n;
  try {
    return checkedCall(own.next(0, 0), 1n).value;
  } catch {
    return 0n; // next() is called again, and its error is reported then
  }
}

/** Adds the position in the file to the node's error, which remains an operation's failure. @param {unknown} error @param {string} file */
function named(error, file) {
  const name = displayName(file);
  if (error instanceof RpcError && !error.message.startsWith(name))
    error.message = `${placeOf(error, file)}: verify(): ${error.message}`;
  return error;
}

/** @param {OwnTransactions} own @param {Wallet} wallet @param {WorkloadHost} host */
async function measureGas(own, { address, nonce }, host) {
  const call = own.next(0, nonce);
  checkedCall(call, 1n);
  return call.gasLimit === undefined ? host.measure({ ...call, from: address }) : null;
}

/**
 * @param {string} file
 * @param {Pick<WorkloadOptions, 'rpc' | 'state'> & {settings: {set?: ReadonlyArray<readonly [string, string]>}}} options
 * @returns {Promise<Workload>}
 * @throws {WorkloadError}
 */
export async function createFileWorkload(file, { rpc, settings, state }) {
  const create = await loadWorkloadFile(file);
  const worker = /** @type {FileWorkloadState | undefined} */ (state);
  const set = worker?.set ?? Object.freeze(Object.fromEntries(settings.set ?? []));
  const host = createWorkloadHost(file, rpc, worker !== undefined);
  let made;
  try {
    const options = { kit: host.kit, rpc: host.rpc, settings: { set }, state: worker?.own };
    made = await within(create(options), `${displayName(file)}: create()`);
  } catch (error) {
    throw locateError(error, file, 'create()');
  }
  return wrapUserWorkload(made, { file, host, set, gasLimit: worker?.gasLimit ?? null });
}

/**
 * @param {string} file
 * @returns {Promise<Create>} its default export
 * @throws {InputError | WorkloadError} the file does not have a workload
 */
export async function loadWorkloadFile(file) {
  const name = displayName(file);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined)
    throw new InputError(`there is no workload file ${name}; stress new-workload ${name} makes one`);
  if (!found.isFile()) throw new InputError(`the workload ${name} is not a file`);
  const exported = await importFile(file);
  // The exports of a CommonJS module are its default export.
  const { contract, default: create } = typeof exported.default === 'object' ? (exported.default ?? {}) : exported;
  if (typeof contract === 'string' && contract.startsWith(CONTRACT_NAME) && contract !== CONTRACT)
    throw new WorkloadError(`${name} is written for ${describeValue(contract)}: this version supports ${CONTRACT}`);
  if (contract !== CONTRACT)
    throw new WorkloadError(`${name} does not state its contract: add export const contract = '${CONTRACT}'`);
  if (typeof create !== 'function')
    throw new WorkloadError(`${name} lacks its default export, the function that creates the workload`);
  return create;
}

/** @param {string} file @returns {Promise<any>} */
async function importFile(file) {
  try {
    return await within(import(pathToFileURL(resolve(file)).href), `${displayName(file)}: its import`);
  } catch (error) {
    if (error instanceof WorkloadError) throw error;
    const name = displayName(file);
    const own = placeOf(error, file);
    const other = own === name ? otherPlaceOf(error, file) : null;
    const isSyntax = error instanceof SyntaxError;
    const place = isSyntax && own === name && other === null ? placeOfSyntaxError(file) : (other ?? own);
    const from = place.startsWith(name) ? '' : ` (which ${name} imports)`;
    throw new WorkloadError(`${place}${from}: ${isSyntax ? error.name : 'its import failed'}: ${messageOf(error)}`);
  }
}

/**
 * Node's loader does not report the position of a syntax error. node --check finds it in the file itself; for imported
 * files the loader of another process prints it, before it runs any of them.
 * @param {string} file
 */
function placeOfSyntaxError(file) {
  const input = readFileSync(file, 'utf8');
  const own = matchStderr(['--check', '-'], input, /^\[stdin\](:\d+)\n.*\n( *)\^/m);
  if (own !== null) return `${displayName(file)}${own[1]}:${own[2].length + 1}`;
  const importing = `import ${JSON.stringify(pathToFileURL(resolve(file)).href)};`;
  const other = matchStderr(['-'], importing, /^(file:\/\/.*?)(:\d+)\n(?:.*\n( *)\^)?/m);
  if (other === null) return displayName(file);
  return `${relativeName(file, other[1])}${other[2]}${other[3] === undefined ? '' : `:${other[3].length + 1}`}`;
}

/** @param {string[]} args @param {string} input @param {RegExp} pattern */
function matchStderr(args, input, pattern) {
  const options = /** @type {const} */ ({ input, encoding: 'utf8', timeout: SYNTAX_CHECK_MS });
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', ...args], options);
  return pattern.exec(stderr ?? '');
}

/**
 * Errors outside of the workload's functions, for instance in a timer or an unhandled promise.
 * @param {string} workload name or file
 * @param {unknown} thrown
 * @returns {WorkloadError | null} null: only files of this program are in the stack
 */
export function strayErrorOf(workload, thrown) {
  if (!isWorkloadFile(workload)) return null;
  if (thrown instanceof WorkloadError) return thrown;
  const place = placeOf(thrown, workload);
  const isOfFile =
    place !== displayName(workload) || !isThroughKit(thrown) || RPC_ERRORS.some((kind) => thrown instanceof kind);
  return isOfFile ? new WorkloadError(`${place}: an error outside of its functions: ${messageOf(thrown)}`) : null;
}
