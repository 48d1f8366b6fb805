import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isAddress, isHexString } from 'ethers';
import { isUnknownBlock } from '../chain/retries.js';
import { InputError, RpcError, WorkloadError, displayName } from '../errors.js';
import {
  beforeLoad,
  describeValue,
  inTime,
  locateError,
  messageOf,
  nameOf,
  placeOf,
  unlessAborted,
} from './user-code.js';

/**
 * A user's workload file (`--workload ./mine.js`): loads it, and checks what its functions return.
 *
 * @import { CallWorkload, Create, TransactionWorkload, Workload } from './contract.d.ts'
 *
 * @typedef {object} Part a function of a workload
 * @property {string} [wanted] what it must return
 * @property {(value: any) => boolean} [holds] whether it did
 * @property {boolean} [isAsync] it may return a promise
 */

/** The supported contract. */
export const CONTRACT = 'evm-stress/workload@1';

const CONTRACT_NAME = 'evm-stress/workload@';

/** Time limit for finding the line of a syntax error. */
const SYNTAX_CHECK_MS = 10_000;

/** Gas if a workload does not state its own: upper bounds. */
const GAS = Object.freeze({ perWallet: 3_000_000n, perOperation: 500_000n });

const STATES = Object.freeze(['ok', 'likely', 'behind', 'missing', 'wrong']);

/** @param {unknown} value */
const isText = (value) => value === undefined || value === null || typeof value === 'string';
/** @param {unknown} value @param {number} bits */
const isAmount = (value, bits) => typeof value === 'bigint' && value >= 0n && value < 1n << BigInt(bits);
/** @param {any} pair */
const isPair = (pair) => isAmount(pair?.perWallet, 256) && isAmount(pair?.perOperation, 256);

/** @param {any} call */
export function isCall(call) {
  const { to, data = '0x', value = 0n, gasLimit = 0n } = call ?? {};
  return (to === null || isAddress(to)) && isHexString(data, true) && isAmount(value, 256) && isAmount(gasLimit, 64);
}

export const CALL_WORDS =
  'a call { to, data, value, gasLimit }: to an address, or null for a deployment; data 0x and pairs of hexadecimal digits; value and gasLimit bigints';

/** @param {any} request */
function isRequest({ method, params = [], name = 'x' }) {
  JSON.stringify(params);
  return (
    typeof method === 'string' &&
    /^[\w.-]{1,100}$/.test(method) &&
    Array.isArray(params) &&
    typeof name === 'string' &&
    /^.{1,100}$/.test(name)
  );
}

/** @param {any} check */
function isCheck({ name, words, expected, found, holds, why }) {
  const isStated = typeof name === 'string' && typeof words === 'string' && [expected, found, why].every(isText);
  return isStated && (holds === null || typeof holds === 'boolean');
}

const SHARED = Object.freeze({
  prepare: { isAsync: true },
  facts: { wanted: 'an object of facts', holds: (/** @type {any} */ value) => value === undefined || isPlain(value) },
  handOver: {},
});

/** The functions of a workload, by its kind. @type {Readonly<Record<'transaction' | 'call', Record<string, Part>>>} */
const PARTS = Object.freeze({
  transaction: {
    ...SHARED,
    next: { wanted: CALL_WORDS, holds: isCall },
    unprepared: { wanted: 'a number of wallets', holds: (n) => Number.isInteger(n) && n >= 0, isAsync: true },
    verify: {
      wanted: `a verdict { state, effect, target }: state one of ${STATES.join(', ')}; effect and target texts`,
      holds: ({ state, effect, target }) => STATES.includes(state) && isText(effect) && isText(target),
      isAsync: true,
    },
    audit: {
      wanted: 'a reading { start, now, target } for each wallet: start and now bigints',
      holds: (readings) =>
        Array.isArray(readings) &&
        readings.every(
          ({ start, now, target }) => typeof start === 'bigint' && typeof now === 'bigint' && isText(target),
        ),
      isAsync: true,
    },
    reconcile: {
      wanted: 'an array of checks { name, words, expected, found, holds, why }: texts, and holds true, false or null',
      holds: (checks) => Array.isArray(checks) && checks.every(isCheck),
      isAsync: true,
    },
  },
  call: {
    ...SHARED,
    next: { wanted: 'a request { method, params, name }: params an array of JSON', holds: isRequest },
    check: { wanted: 'a text or nothing', holds: isText },
  },
});

/** @param {unknown} value */
function isPlain(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}

/**
 * The same workload, which checks what its functions return and says which line of the file threw.
 * @param {unknown} made the result of create()
 * @param {string} file as the user gave it
 * @returns {Workload}
 * @throws {WorkloadError} it lacks a part
 */
export function checkedWorkload(made, file) {
  const name = displayName(file);
  const own = /** @type {any} */ (made);
  const kind = own?.kind;
  if (kind !== 'transaction' && kind !== 'call')
    throw new WorkloadError(
      `${name}: create() must return a workload with kind 'transaction' or 'call'; its kind is ${describeValue(kind)}`,
    );
  if (own.next === undefined)
    throw new WorkloadError(`${name}: the workload lacks next(), which returns the next operation`);
  /** @type {Record<string, Function>} */
  const functions = {};
  for (const [part, rules] of Object.entries(PARTS[/** @type {'transaction' | 'call'} */ (kind)])) {
    if (own[part] === undefined) continue;
    if (typeof own[part] !== 'function')
      throw new WorkloadError(`${name}: ${part} of the workload must be a function, not ${describeValue(own[part])}`);
    functions[part] = checkedPart(own, part, rules, file);
  }
  return kind === 'call' ? checkedCalls(own, functions, file) : checkedTransactions(own, functions, file);
}

/**
 * @param {any} own
 * @param {string} name
 * @param {Part} part
 * @param {string} file
 * @returns {(...given: any[]) => any}
 */
function checkedPart(own, name, { wanted = '', holds = () => true, isAsync = false }, file) {
  // What was returned again is not checked again.
  const seen = new WeakSet();
  /** @param {any} value */
  const check = (value) => {
    if (name !== 'next' || !seen.has(value)) {
      if (!holdsFor(value, holds))
        throw new WorkloadError(
          `${displayName(file)}: ${name}() returned ${describeValue(value)}, and must return ${wanted}`,
        );
      // Frozen, because a later change would have no effect.
      if (name === 'next') seen.add(Object.freeze(value));
    }
    return name === 'check' ? (value ?? null) : value;
  };
  /** @param {unknown} error @returns {never} */
  const fail = (error) => {
    throw locateError(error, file, `${name}()`);
  };
  if (isAsync)
    return async (...given) => {
      try {
        return check(await own[name](...given));
      } catch (error) {
        return fail(error);
      }
    };
  return (...given) => {
    try {
      const value = own[name](...given);
      return name === 'check' && value instanceof Promise ? value.then(check).catch(fail) : check(value);
    } catch (error) {
      return fail(error);
    }
  };
}

/** @param {any} value @param {(value: any) => boolean} holds */
function holdsFor(value, holds) {
  try {
    return holds(value);
  } catch {
    return false; // null, or JSON that cannot be written
  }
}

/** @param {any} own @param {any} functions @param {string} file @returns {TransactionWorkload} */
function checkedTransactions(own, functions, file) {
  const { subject = 'wallets executed', gas = GAS, valueWei } = own;
  const name = displayName(file);
  if (typeof subject !== 'string')
    throw new WorkloadError(`${name}: subject must be a text, not ${describeValue(subject)}`);
  const { likely = gas } = gas;
  if (!isPair(gas) || !isPair(likely))
    throw new WorkloadError(`${name}: gas must be { perWallet, perOperation }, both bigints such as 50_000n`);
  const value = { perWallet: 0n, perOperation: firstValueOf(own), ...gas.value };
  if (!isPair(value) || (gas.value !== undefined && !isPlain(gas.value)))
    throw new WorkloadError(`${name}: gas.value must be { perOperation }, wei as a bigint such as 1_000n`);
  const { unprepared, prepare, verify, audit, reconcile } = functions;
  return {
    kind: 'transaction',
    ...functions,
    ...checkedState(own, functions, file),
    subject,
    gas: { perWallet: gas.perWallet, perOperation: gas.perOperation, likely, value },
    valueWei,
    unprepared: unprepared && ((preparation) => beforeLoad(file, 'unprepared()', () => unprepared(preparation))),
    prepare:
      prepare &&
      ((preparation) =>
        beforeLoad(file, 'prepare()', () => {
          const { signal } = /** @type {any} */ (preparation).sender;
          return unlessAborted(signal, prepare(preparation));
        })),
    verify:
      verify &&
      (async (...given) => {
        try {
          return { effect: null, target: null, ...(await verify(...given)) };
        } catch (error) {
          if (isUnknownBlock(error)) return { state: 'behind', effect: null, target: null };
          // The node's error remains a failure of the operation.
          if (error instanceof RpcError && !error.message.includes(': verify(): '))
            error.message = `${placeOf(error, file)}: verify(): ${error.message}`;
          throw error;
        }
      }),
    audit: audit && ((...given) => inTime(audit(...given), `${name}: audit()`)),
    reconcile:
      reconcile && (async (snapshot) => (await inTime(reconcile(snapshot), `${name}: reconcile()`)).map(completeCheck)),
  };
}

/** Figures that are left out are shown as whether it holds. @param {any} check */
function completeCheck({ name, words, expected, found, holds, why }) {
  if (holds === null)
    return { name, words, expected: expected ?? null, found: found ?? null, holds, why: why ?? 'it does not say why' };
  return { name, words, expected: expected ?? 'true', found: found ?? String(holds), holds, why: why ?? null };
}

/** @param {any} own @param {any} functions @param {string} file @returns {CallWorkload} */
function checkedCalls(own, functions, file) {
  const { callsPerIteration = 1 } = own;
  if (!Number.isInteger(callsPerIteration) || callsPerIteration < 1)
    throw new WorkloadError(
      `${displayName(file)}: callsPerIteration must be a positive whole number, not ${describeValue(callsPerIteration)}`,
    );
  const { prepare } = functions;
  return {
    kind: 'call',
    ...functions,
    ...checkedState(own, functions, file),
    callsPerIteration,
    prepare: prepare && ((preparation) => beforeLoad(file, 'prepare()', () => prepare(preparation))),
  };
}

/**
 * What goes into the run file, or to another thread.
 * @param {any} own
 * @param {any} functions
 * @param {string} file
 */
function checkedState(own, { facts, handOver }, file) {
  const name = displayName(file);
  /** @param {string} what @param {() => any} copy */
  const copied = (what, copy) => {
    try {
      return copy();
    } catch (error) {
      throw new WorkloadError(`${name}: ${what}: ${messageOf(error)}`);
    }
  };
  return {
    facts: facts && (() => copied('facts() returned a value that is not JSON', () => toJson(facts() ?? {}))),
    handOver: (/** @type {number} */ first, /** @type {number} */ count) => {
      if (handOver === undefined && own.prepare !== undefined)
        throw new WorkloadError(
          `${name}: the workload lacks handOver(first, count), which returns the state of worker threads: add it, or give --workers 1`,
        );
      const state = handOver?.(first, count) ?? null;
      return copied('handOver() returned a value that cannot be sent to a worker thread', () => structuredClone(state));
    },
  };
}

/** Bigints become texts. @param {object} facts */
function toJson(facts) {
  const text = JSON.stringify(facts, (name, value) => {
    if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`"${name}" is a ${typeof value}`);
    return typeof value === 'bigint' ? String(value) : value;
  });
  return JSON.parse(text);
}

/** The value of an operation before prepare(), if the workload needs no preparation. @param {TransactionWorkload} own @returns {bigint} */
function firstValueOf(own) {
  if (own.prepare !== undefined) return 0n;
  try {
    const call = own.next(0, 0);
    return isCall(call) ? (call.value ?? 0n) : 0n;
  } catch {
    return 0n; // next() is called again, and its error is reported then
  }
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
  const url = pathToFileURL(resolve(file)).href;
  try {
    return await inTime(import(url), `${displayName(file)}: its import`);
  } catch (error) {
    if (error instanceof WorkloadError) throw error;
    if (!(error instanceof SyntaxError))
      throw new WorkloadError(`${placeOf(error, file)}: its import failed: ${messageOf(error)}`);
    throw new WorkloadError(`${placeOfSyntaxError(url, file)}: SyntaxError: ${messageOf(error)}`);
  }
}

/** Only a process that ends by a syntax error prints its line. @param {string} url @param {string} file */
function placeOfSyntaxError(url, file) {
  const options = /** @type {const} */ ({ encoding: 'utf8', timeout: SYNTAX_CHECK_MS });
  const { stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', `import ${JSON.stringify(url)};`],
    options,
  );
  const [, path, line] = /^(file:\/\/\S+|\/.+):(\d+)$/m.exec(stderr ?? '') ?? [];
  if (path === undefined) return displayName(file);
  return `${nameOf(path.startsWith('file:') ? fileURLToPath(path) : path, file)}:${line}`;
}
