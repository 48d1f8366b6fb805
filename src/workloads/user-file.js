import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isAddress, isHexString } from 'ethers';
import { isUnknownBlock } from '../chain/retries.js';
import { InputError, RpcError, WorkloadError, displayName } from '../errors.js';
import { describeValue, inTime, locateError, messageOf, placeOf } from './user-code.js';

/**
 * A user's workload file (`--workload ./mine.js`): loads it, and checks what its functions return.
 *
 * @import { Create, Workload } from './contract.d.ts'
 *
 * @typedef {object} Part a function of a workload
 * @property {string} wanted what it must return
 * @property {(value: any) => boolean} holds whether it did; may throw
 * @property {boolean} [isAsync] it may return a promise
 * @property {(value: any) => any} [complete] adds what the value may leave out
 * @property {boolean} [isTimed] it is called once, and has a time limit
 */

/** The supported contract. */
export const CONTRACT = 'evm-stress/workload@1';

export const NO_VALUE = Object.freeze({ perWallet: 0n, perOperation: 0n });

const STATES = Object.freeze(['ok', 'likely', 'behind', 'missing', 'wrong']);

const REVERT_CODES = Object.freeze(['reverted', 'slippage']);

/** @param {unknown} value */
const isText = (value) => value === undefined || value === null || typeof value === 'string';
/** @param {unknown} value @param {number} bits */
const isAmount = (value, bits) => typeof value === 'bigint' && value >= 0n && value < 1n << BigInt(bits);
/** @param {any} pair */
const isPair = (pair) => isAmount(pair?.perWallet, 256) && isAmount(pair?.perOperation, 256);

/** @param {any} call */
export function isCall(call) {
  const { to, data = '0x', value = 0n, gasLimit = 0n, accessList = [], authorizationList } = call ?? {};
  return (
    (to === null ? authorizationList === undefined : isAddress(to)) &&
    isHexString(data, true) &&
    isAmount(value, 256) &&
    isAmount(gasLimit, 64) &&
    accessList.every(isAccess) &&
    (authorizationList === undefined || (authorizationList.length > 0 && authorizationList.every(isAuthorization)))
  );
}

/** @param {any} access */
function isAccess({ address, storageKeys }) {
  return isAddress(address) && storageKeys.every(isWord);
}

/** @param {any} authorization */
function isAuthorization({ chainId, address, nonce, yParity, r, s }) {
  const areAmounts = isAmount(BigInt(chainId), 256) && isAmount(BigInt(nonce), 64);
  return areAmounts && isAddress(address) && (yParity === 0 || yParity === 1) && isWord(r) && isWord(s);
}

/** @param {unknown} value */
function isWord(value) {
  return isHexString(value, 32);
}

export const CALL_WORDS =
  'a call { to, data, value, gasLimit }: to an address, or null for a deployment; data 0x and pairs of hexadecimal digits; value and gasLimit bigints; accessList of { address, storageKeys }, authorizationList of { chainId, address, nonce, yParity, r, s }';

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

const ANY = Object.freeze({ wanted: '', holds: () => true });

/** Of both kinds. @type {Record<string, Part>} */
const SHARED = {
  prepare: { ...ANY, isAsync: true },
  facts: { wanted: 'an object of facts', holds: (value) => value === undefined || isPlain(value) },
  handOver: ANY,
};

/** The functions of a workload, by its kind. @type {Readonly<Record<'transaction' | 'call', Record<string, Part>>>} */
const PARTS = Object.freeze({
  transaction: {
    ...SHARED,
    next: { wanted: CALL_WORDS, holds: isCall },
    unprepared: { wanted: 'a number of wallets', holds: (n) => Number.isInteger(n) && n >= 0, isAsync: true },
    verify: {
      wanted: `a verdict { state, effect, target }: state one of ${STATES.join(', ')}; effect and target texts; code one of ${REVERT_CODES.join(', ')}, or none`,
      holds: ({ state, effect, target, code = 'reverted' }) =>
        STATES.includes(state) && isText(effect) && isText(target) && REVERT_CODES.includes(code),
      isAsync: true,
      complete: (verdict) => ({ effect: null, target: null, ...verdict }),
    },
    audit: {
      wanted: 'a reading { start, now, target } for each wallet: start and now bigints',
      holds: (readings) => readings.every(isReading),
      isAsync: true,
      isTimed: true,
    },
    reconcile: {
      wanted: 'an array of checks { name, words, expected, found, holds, why }: texts, and holds true, false or null',
      holds: (checks) => checks.every(isCheck),
      isAsync: true,
      isTimed: true,
      complete: (checks) => checks.map(completeCheck),
    },
  },
  call: {
    ...SHARED,
    next: { wanted: 'a request { method, params, name }: params an array of JSON', holds: isRequest },
    check: { wanted: 'a text or nothing', holds: isText, complete: (words) => words ?? null },
  },
});

/** @param {any} reading */
function isReading({ start, now, target }) {
  return typeof start === 'bigint' && typeof now === 'bigint' && isText(target);
}

/** @param {unknown} value */
function isPlain(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}

/** The same workload, which checks what its functions return. @param {unknown} made the result of create() @param {string} file as the user gave it @returns {Workload} */
export function checkedWorkload(made, file) {
  const own = /** @type {any} */ (made);
  /** @param {boolean} holds @param {string} words */
  const assert = (holds, words) => {
    if (!holds) throw new WorkloadError(`${displayName(file)}: ${words}`);
  };
  const { kind, gas, subject, valueWei, callsPerIteration } = own ?? {};
  assert(
    kind === 'transaction' || kind === 'call',
    `create() must return a workload with kind 'transaction' or 'call'; its kind is ${describeValue(kind)}`,
  );
  assert(own.next !== undefined, 'the workload lacks next(), which returns the next operation');
  assert(subject === undefined || typeof subject === 'string', `subject must be a text, not ${describeValue(subject)}`);
  assert(
    callsPerIteration === undefined || (Number.isInteger(callsPerIteration) && callsPerIteration >= 1),
    `callsPerIteration must be a positive whole number, not ${describeValue(callsPerIteration)}`,
  );
  assert(
    gas === undefined || (isPair(gas) && isPair(gas.likely ?? gas)),
    'gas must be { perWallet, perOperation }, both bigints such as 50_000n',
  );
  const isValue = gas?.value === undefined || (isPlain(gas.value) && isPair({ ...NO_VALUE, ...gas.value }));
  assert(isValue, 'gas.value must be { perOperation }, wei as a bigint such as 1_000n');
  // By name, because the members of a class are not its own properties.
  const workload = { ...own, kind, gas, subject, valueWei, callsPerIteration };
  for (const [name, part] of Object.entries(PARTS[/** @type {'transaction' | 'call'} */ (kind)])) {
    if (own[name] === undefined) continue;
    assert(
      typeof own[name] === 'function',
      `${name} of the workload must be a function, not ${describeValue(own[name])}`,
    );
    workload[name] = checkedPart(own, name, part, file);
  }
  const { facts, handOver, verify } = workload;
  if (facts !== undefined)
    workload.facts = () => copied(file, 'facts() returned a value that is not JSON', () => toJson(facts() ?? {}));
  workload.handOver = (/** @type {number} */ first, /** @type {number} */ count) => {
    assert(
      handOver !== undefined || own.prepare === undefined,
      'the workload lacks handOver(first, count), which returns the state of worker threads: add it, or give --workers 1',
    );
    const state = handOver?.(first, count) ?? null;
    const what = 'handOver() returned a value that cannot be sent to a worker thread';
    return copied(file, what, () => structuredClone(state));
  };
  if (verify !== undefined)
    workload.verify = (/** @type {any[]} */ ...given) =>
      verify(...given).catch((/** @type {unknown} */ error) => verdictOf(error, file));
  return workload;
}

/** @param {any} own @param {string} name @param {Part} part @param {string} file @returns {(...given: any[]) => any} */
function checkedPart(own, name, { wanted, holds, isAsync, isTimed, complete = (value) => value }, file) {
  // What was returned again is not checked again.
  const seen = new WeakSet();
  /** @param {any} value */
  const check = (value) => {
    if (name === 'next' && seen.has(value)) return value;
    if (!holdsFor(value, holds))
      throw new WorkloadError(
        `${displayName(file)}: ${name}() returned ${describeValue(value)}, and must return ${wanted}`,
      );
    // Frozen, because a later change would have no effect.
    if (name === 'next') seen.add(Object.freeze(value));
    return complete(value);
  };
  /** @param {unknown} error @returns {never} */
  const fail = (error) => {
    throw locateError(error, file, `${name}()`);
  };
  return (...given) => {
    if (isAsync) {
      const checked = (async () => check(await own[name](...given)))().catch(fail);
      return isTimed ? inTime(checked, `${displayName(file)}: ${name}()`) : checked;
    }
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

/** The error of verify(). @param {unknown} error @param {string} file */
function verdictOf(error, file) {
  if (isUnknownBlock(error)) return { state: 'behind', effect: null, target: null };
  // The node's error remains a failure of the operation.
  if (error instanceof RpcError && !error.message.includes(': verify(): '))
    error.message = `${placeOf(error, file)}: verify(): ${error.message}`;
  throw error;
}

/** Figures that are left out are shown as whether it holds. @param {any} check */
function completeCheck({ name, words, expected, found, holds, why }) {
  const usual = holds === null ? [null, null, 'it does not say why'] : ['true', String(holds), null];
  return { name, words, expected: expected ?? usual[0], found: found ?? usual[1], holds, why: why ?? usual[2] };
}

/** For the run file, or another thread. @template T @param {string} file @param {string} what @param {() => T} copy */
function copied(file, what, copy) {
  try {
    return copy();
  } catch (error) {
    throw new WorkloadError(`${displayName(file)}: ${what}: ${messageOf(error)}`);
  }
}

/** Bigints become texts. @param {object} facts */
function toJson(facts) {
  const text = JSON.stringify(facts, (name, value) => {
    if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`"${name}" is a ${typeof value}`);
    return typeof value === 'bigint' ? String(value) : value;
  });
  return JSON.parse(text);
}

/** @param {string} file @returns {Promise<Create>} its default export */
export async function loadWorkloadFile(file) {
  const name = displayName(file);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined)
    throw new InputError(`there is no workload file ${name}; stress new-workload ${name} makes one`);
  if (!found.isFile()) throw new InputError(`the workload ${name} is not a file`);
  const exported = await importFile(file);
  // The exports of a CommonJS module are its default export.
  const { contract, default: create } = typeof exported.default === 'object' ? (exported.default ?? {}) : exported;
  if (typeof contract === 'string' && contract.startsWith('evm-stress/workload@') && contract !== CONTRACT)
    throw new WorkloadError(`${name} is written for ${describeValue(contract)}: this version supports ${CONTRACT}`);
  if (contract !== CONTRACT)
    throw new WorkloadError(
      `${name} does not state the version of the workload interface: add export const contract = '${CONTRACT}'`,
    );
  if (typeof create !== 'function')
    throw new WorkloadError(`${name} lacks its default export, the function that creates the workload`);
  return create;
}

/** @param {string} file @returns {Promise<any>} */
async function importFile(file) {
  const name = displayName(file);
  try {
    return await inTime(import(pathToFileURL(resolve(file)).href), `${name}: its import`);
  } catch (error) {
    if (error instanceof WorkloadError) throw error;
    if (!(error instanceof SyntaxError))
      throw new WorkloadError(`${placeOf(error, file)}: its import failed: ${messageOf(error)}`);
    // Node states the position only when the error ends a process.
    throw new WorkloadError(`${name}: SyntaxError: ${messageOf(error)}; node ${name} shows the line`);
  }
}
