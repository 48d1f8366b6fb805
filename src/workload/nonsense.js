import { isAddress } from 'ethers';
import { WorkloadError, oneLine } from '../errors.js';

/**
 * What a workload of the user's own returns, held against the contract.
 */

/** It is not what the contract says; who catches it knows who returned it. */
export class Nonsense extends Error {}

/** What is reckoned with where a workload does not say what it needs; it is to be enough, not to be right. */
const GAS = Object.freeze({ perWallet: 3_000_000n, perOperation: 500_000n });

const STATES = Object.freeze(['ok', 'likely', 'behind', 'missing', 'wrong']);

/**
 * @param {unknown} given
 * @param {bigint | null} measured gas limit, where it is left out
 * @returns {import('./index.js').Call}
 */
export function checkedCall(given, measured) {
  const { to, data = '0x', value = 0n, gasLimit = measured } = objectOf(given, 'a call such as { to, data }');
  if (to !== null && !isAddress(to))
    throw new Nonsense(`returned a to that is no address (null deploys a contract): ${whatItIs(to)}`);
  if (typeof data !== 'string' || !data.startsWith('0x') || data.length % 2 !== 0 || /[^0-9a-f]/i.test(data.slice(2)))
    throw new Nonsense(`returned data that is no text of 0x and pairs of hexadecimal digits: ${whatItIs(data)}`);
  checkInteger('value', value, 256);
  checkInteger('gasLimit', gasLimit, 64);
  return { to, data, value, gasLimit };
}

/** @param {string} name @param {unknown} value @param {number} bits */
function checkInteger(name, value, bits) {
  if (typeof value !== 'bigint' || value < 0n || value >= 1n << BigInt(bits))
    throw new Nonsense(`returned a ${name} that is no bigint from 0n to 2n ** ${bits}n - 1n: ${whatItIs(value)}`);
}

/** @param {unknown} given @returns {import('./index.js').Verdict} */
export function checkedVerdict(given) {
  const { state, effect, target } = objectOf(given, "a verdict such as { state: 'ok' }");
  if (!STATES.includes(state))
    throw new Nonsense(`returned a state that is none of ${STATES.join(', ')}: ${whatItIs(state)}`);
  return { state, effect: textOrNull(effect, 'effect'), target: textOrNull(target, 'target') };
}

/** @param {unknown} given @param {number} wallets @returns {import('./index.js').AuditReading[]} */
export function checkedReadings(given, wallets) {
  if (!Array.isArray(given) || given.length !== wallets)
    throw new Nonsense(`returned no array of one reading for each of the ${wallets} wallets: ${whatItIs(given)}`);
  return given.map((reading, i) => {
    const { start, now, target } = objectOf(reading, 'readings such as { start, now }');
    if (typeof start !== 'bigint' || typeof now !== 'bigint')
      throw new Nonsense(
        `returned a reading [${i}] whose start and now are no bigints: ${whatItIs(start)}, ${whatItIs(now)}`,
      );
    return { start, now, target: textOrNull(target, 'target') };
  });
}

/** @param {unknown} given @returns {import('./index.js').Check[]} */
export function checkedChecks(given) {
  if (!Array.isArray(given)) throw new Nonsense(`returned no array of checks: ${whatItIs(given)}`);
  return given.map((check) => {
    const { name, words, expected = null, found = null, holds, why = null } = objectOf(check, 'checks');
    if (typeof name !== 'string' || typeof words !== 'string')
      throw new Nonsense('returned a check whose name and words are no texts');
    if (holds !== null && typeof holds !== 'boolean')
      throw new Nonsense(`returned a check whose holds is neither true, false nor null: ${whatItIs(holds)}`);
    const texts = { expected: textOrNull(expected, 'expected'), found: textOrNull(found, 'found') };
    return { name, words, ...texts, holds, why: textOrNull(why, 'why') };
  });
}

/** @param {unknown} given @returns {import('../chain/rpc.js').Request & {name?: string}} */
export function checkedRequest(given) {
  const { method, params = [], name } = objectOf(given, 'a request such as { method, params }');
  if (typeof method !== 'string' || !/^[\w.-]{1,100}$/.test(method))
    throw new Nonsense(`returned a method that is no name of one: ${whatItIs(method)}`);
  if (name !== undefined && (typeof name !== 'string' || name === '' || name.length > 100))
    throw new Nonsense(`returned a name that is no text of 1 to 100 characters: ${whatItIs(name)}`);
  if (!Array.isArray(params)) throw new Nonsense(`returned params that are no array: ${whatItIs(params)}`);
  try {
    JSON.stringify(params);
  } catch (error) {
    throw new Nonsense(`returned params that are no JSON: ${oneLine(/** @type {Error} */ (error).message, 100)}`);
  }
  Object.freeze(params);
  return Object.freeze({ method, params, ...(name === undefined ? {} : { name }) });
}

/** @param {unknown} given @param {string} file @returns {import('./index.js').Gas} */
export function checkedGas(given, file) {
  const gas = given === undefined ? GAS : /** @type {any} */ (given);
  const likely = gas?.likely ?? gas;
  const all = [gas?.perWallet, gas?.perOperation, likely?.perWallet, likely?.perOperation];
  if (all.some((one) => typeof one !== 'bigint' || one < 0n))
    throw new WorkloadError(`${file}: gas must be { perWallet, perOperation }, both bigints such as 50_000n`);
  const [perWallet, perOperation, likelyPerWallet, likelyPerOperation] = all;
  return { perWallet, perOperation, likely: { perWallet: likelyPerWallet, perOperation: likelyPerOperation } };
}

/** @param {unknown} value @param {string} what @returns {string | null} */
export function textOrNull(value, what) {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  throw new Nonsense(`gave, as its ${what}, neither a text nor null: ${whatItIs(value)}`);
}

/** @param {unknown} given @param {string} wanted @returns {any} */
function objectOf(given, wanted) {
  if (given instanceof Promise) {
    given.catch(() => {}); // nobody will wait for it
    throw new Nonsense(`returned a promise, and must return ${wanted} at once`);
  }
  if (typeof given !== 'object' || given === null)
    throw new Nonsense(`returned ${whatItIs(given)}, and must return ${wanted}`);
  return given;
}

/** @param {unknown} value in few words */
export function whatItIs(value) {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
  if (typeof value === 'bigint') return `${value}n`;
  if (value === null || ['number', 'boolean', 'undefined'].includes(typeof value)) return String(value);
  return Array.isArray(value)
    ? `an array of ${value.length}`
    : `a${typeof value === 'object' ? 'n' : ''} ${typeof value}`;
}
