import { realpathSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isAddress } from 'ethers';
import { InterruptedError, StressError, WorkloadError, displayName, oneLine } from '../errors.js';

/**
 * Checks of what a user's workload file returns, and errors that name the file, line and column.
 *
 * @import { Call, Check, Gas, Request } from '../types.d.ts'
 * @import { AuditReading, Verdict } from './index.js'
 */

/** The folder of this program's own files. */
const OWN_FOLDERS = Object.freeze([
  new URL('../', import.meta.url).href,
  fileURLToPath(new URL('../', import.meta.url)),
]);

/** Time limit of functions that are called once. */
const TIMEOUT_MS = 60_000;

/**
 * @param {unknown} error
 * @param {string} file as the user gave it
 * @returns {string} such as mine.js:12:5, or the name alone if the file is not in the stack
 */
export function placeOf(error, file) {
  const name = displayName(file);
  const stack = error instanceof Error ? String(error.stack) : '';
  for (const known of [pathToFileURL(realOf(file)).href, realOf(file)]) {
    const at = stack.indexOf(`${known}:`);
    const place = at < 0 ? null : /^:\d+(:\d+)?/.exec(stack.slice(at + known.length));
    if (place) return name + place[0];
  }
  return name;
}

/**
 * @param {unknown} error
 * @param {string} file
 * @returns {string | null} such as helpers.js:3:7, relative to the file's folder: another of the user's files in the stack
 */
export function otherPlaceOf(error, file) {
  const stack = error instanceof Error ? String(error.stack) : '';
  for (const [, path, at] of stack.matchAll(
    /(?:\(|\bat (?:async )?)((?:file:\/\/)?\/[^\n()]+?)(:\d+(?::\d+)?)\)?$/gm,
  )) {
    if (OWN_FOLDERS.some((folder) => path.startsWith(folder))) continue;
    return relativeName(file, path) + at;
  }
  return null;
}

/** The name of a file relative to the folder of another. @param {string} file @param {string} other path or file: URL */
export function relativeName(file, other) {
  const path = other.startsWith('file:') ? fileURLToPath(other) : other;
  return displayName(relative(dirname(realOf(file)), path));
}

/** Whether a file of this program is in the stack. @param {unknown} error */
export function isThroughKit(error) {
  const stack = error instanceof Error ? String(error.stack) : '';
  return OWN_FOLDERS.some((folder) => stack.includes(folder));
}

/** Stacks have the target of a link. @param {string} file */
function realOf(file) {
  try {
    return realpathSync(file);
  } catch {
    return resolve(file);
  }
}

/**
 * Makes an error that points into the file. Errors of this program, such as a lost connection, are returned unchanged.
 * @param {unknown} error
 * @param {string} file
 * @param {string} what threw it
 * @returns {StressError}
 */
export function locateError(error, file, what) {
  if (error instanceof StressError) return error;
  return new WorkloadError(`${placeOf(error, file)}: ${what} threw: ${messageOf(error)}`);
}

/** @param {unknown} error any thrown value */
export function messageOf(error) {
  return oneLine(error instanceof Error ? error.message || error.name : error);
}

/**
 * Rejects when the signal aborts.
 * @template T
 * @param {AbortSignal} signal
 * @param {T | Promise<T>} action
 * @returns {Promise<T>}
 */
export async function unlessAborted(signal, action) {
  /** @type {() => void} */
  let onAbort = () => {};
  /** @type {Promise<never>} */
  const aborted = new Promise((_, reject) => {
    onAbort = () => reject(new InterruptedError('interrupted during set-up'));
  });
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([action, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * @template T
 * @param {T | Promise<T>} action
 * @param {string} name of the action
 * @param {number} [ms]
 * @returns {Promise<T>}
 */
export async function within(action, name, ms = TIMEOUT_MS) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new WorkloadError(`${name} has not ended after ${ms / 1000} s`)), ms);
  });
  try {
    return /** @type {T} */ (await Promise.race([action, late]));
  } finally {
    clearTimeout(timer);
  }
}

/** A returned value violates the contract. The caller adds the name of the function. */
export class ContractError extends Error {}

/** Gas limits if a workload does not state its own: upper bounds. */
const GAS = Object.freeze({ perWallet: 3_000_000n, perOperation: 500_000n });

const STATES = Object.freeze(['ok', 'likely', 'behind', 'missing', 'wrong']);

/**
 * @param {unknown} given
 * @param {bigint | null} measured the default gas limit
 * @returns {Call}
 */
export function checkedCall(given, measured) {
  const { to, data = '0x', value = 0n, gasLimit = measured } = objectOf(given, 'a call such as { to, data }');
  if (to !== null && !isAddress(to))
    throw new ContractError(`returned a to that is not an address (null deploys a contract): ${describeValue(to)}`);
  if (typeof data !== 'string' || !data.startsWith('0x') || data.length % 2 !== 0 || /[^0-9a-f]/i.test(data.slice(2)))
    throw new ContractError(
      `returned data that is not a text of 0x and pairs of hexadecimal digits: ${describeValue(data)}`,
    );
  checkInteger('value', value, 256);
  checkInteger('gasLimit', gasLimit, 64);
  return { to, data, value, gasLimit };
}

/** @param {string} name @param {unknown} value @param {number} bits */
function checkInteger(name, value, bits) {
  if (typeof value !== 'bigint' || value < 0n || value >= 1n << BigInt(bits))
    throw new ContractError(
      `returned a ${name} that is not a bigint from 0n to 2n ** ${bits}n - 1n: ${describeValue(value)}`,
    );
}

/** @param {unknown} given @returns {Verdict} */
export function checkedVerdict(given) {
  const { state, effect, target } = objectOf(given, "a verdict such as { state: 'ok' }");
  if (!STATES.includes(state))
    throw new ContractError(`returned a state that is none of ${STATES.join(', ')}: ${describeValue(state)}`);
  return { state, effect: textOrNull(effect, 'effect'), target: textOrNull(target, 'target') };
}

/** @param {unknown} given @param {number} wallets @returns {AuditReading[]} */
export function checkedReadings(given, wallets) {
  if (!Array.isArray(given) || given.length !== wallets)
    throw new ContractError(
      `returned no array of one reading for each of the ${wallets} wallets: ${describeValue(given)}`,
    );
  return given.map((reading, i) => {
    const { start, now, target } = objectOf(reading, 'readings such as { start, now }');
    if (typeof start !== 'bigint' || typeof now !== 'bigint')
      throw new ContractError(
        `returned a reading [${i}] whose start and now are no bigints: ${describeValue(start)}, ${describeValue(now)}`,
      );
    return { start, now, target: textOrNull(target, 'target') };
  });
}

/** @param {unknown} given @returns {Check[]} */
export function checkedChecks(given) {
  if (!Array.isArray(given)) throw new ContractError(`returned no array of checks: ${describeValue(given)}`);
  return given.map((check) => {
    const { name, words, expected = null, found = null, holds, why = null } = objectOf(check, 'checks');
    if (typeof name !== 'string' || typeof words !== 'string')
      throw new ContractError('returned a check whose name and words are no texts');
    if (holds !== null && typeof holds !== 'boolean')
      throw new ContractError(`returned a check whose holds is neither true, false nor null: ${describeValue(holds)}`);
    const texts = { expected: textOrNull(expected, 'expected'), found: textOrNull(found, 'found') };
    if (holds === null) return { name, words, ...texts, holds, why: textOrNull(why, 'why') ?? 'it does not say why' };
    // Shown in place of missing figures.
    return {
      name,
      words,
      expected: texts.expected ?? 'true',
      found: texts.found ?? String(holds),
      holds,
      why: textOrNull(why, 'why'),
    };
  });
}

/** @param {unknown} given @returns {Request & {name?: string}} */
export function checkedRequest(given) {
  const { method, params = [], name } = objectOf(given, 'a request such as { method, params }');
  if (typeof method !== 'string' || !/^[\w.-]{1,100}$/.test(method))
    throw new ContractError(`returned a method that is no name of one: ${describeValue(method)}`);
  if (name !== undefined && (typeof name !== 'string' || name === '' || name.length > 100))
    throw new ContractError(`returned a name that is no text of 1 to 100 characters: ${describeValue(name)}`);
  if (!Array.isArray(params)) throw new ContractError(`returned params that are no array: ${describeValue(params)}`);
  try {
    JSON.stringify(params);
  } catch (error) {
    throw new ContractError(`returned params that are no JSON: ${oneLine(/** @type {Error} */ (error).message, 100)}`);
  }
  Object.freeze(params);
  return Object.freeze({ method, params, ...(name === undefined ? {} : { name }) });
}

/**
 * @param {unknown} given
 * @param {string} file
 * @param {bigint} valueWei of an operation, unless given
 * @returns {Gas}
 */
export function checkedGas(given, file, valueWei) {
  const gas = given === undefined ? GAS : /** @type {any} */ (given);
  /** @param {any} pair */
  const isPair = (pair) =>
    [pair?.perWallet, pair?.perOperation].every((figure) => typeof figure === 'bigint' && figure >= 0n);
  const likely = gas?.likely ?? gas;
  if (!isPair(gas) || !isPair(likely))
    throw new WorkloadError(`${file}: gas must be { perWallet, perOperation }, both bigints such as 50_000n`);
  const value = { perWallet: 0n, perOperation: valueWei, ...gas.value };
  if (!isPair(value) || (gas.value !== undefined && typeof gas.value !== 'object'))
    throw new WorkloadError(`${file}: gas.value must be { perOperation }, wei as a bigint such as 1_000n`);
  const { perWallet, perOperation } = gas;
  return {
    perWallet,
    perOperation,
    likely: { perWallet: likely.perWallet, perOperation: likely.perOperation },
    value: { perWallet: value.perWallet, perOperation: value.perOperation },
  };
}

/** @param {unknown} given @returns {number} */
export function checkedCount(given) {
  if (typeof given === 'number' && Number.isInteger(given) && given >= 0) return given;
  throw new ContractError(`returned ${describeValue(given)}, and must return how many wallets, a whole number`);
}

/** Facts for the run file: JSON, with bigints as texts. @param {unknown} given @returns {Record<string, unknown>} */
export function checkedFacts(given) {
  const facts = objectOf(given ?? {}, 'what the run file is to state, such as { slots: 20 }');
  if (Array.isArray(facts))
    throw new ContractError('returned an array, and must return an object with a name for each fact');
  try {
    return JSON.parse(
      JSON.stringify(facts, (name, value) => {
        if (typeof value === 'function' || typeof value === 'symbol')
          throw new ContractError(`returned ${describeValue(value)} as ${describeValue(name)}, which no file can hold`);
        return typeof value === 'bigint' ? String(value) : value;
      }),
    );
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ContractError(`returned a value that is not JSON: ${oneLine(error.message.split('\n')[0])}`);
  }
}

/** @param {unknown} value @param {string} what @returns {string | null} */
export function textOrNull(value, what) {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  throw new ContractError(`gave, as its ${what}, neither a text nor null: ${describeValue(value)}`);
}

/** @param {unknown} given @param {string} wanted @returns {any} */
function objectOf(given, wanted) {
  if (given instanceof Promise) {
    given.catch(() => {}); // its result is not used
    throw new ContractError(`returned a promise, and must return ${wanted} at once`);
  }
  if (typeof given !== 'object' || given === null)
    throw new ContractError(`returned ${describeValue(given)}, and must return ${wanted}`);
  return given;
}

/** @param {unknown} value */
export function describeValue(value) {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
  if (typeof value === 'bigint') return `${value}n`;
  if (value === null || ['number', 'boolean', 'undefined'].includes(typeof value)) return String(value);
  return Array.isArray(value)
    ? `an array of ${value.length}`
    : `a${typeof value === 'object' ? 'n' : ''} ${typeof value}`;
}
