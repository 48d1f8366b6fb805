import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compileFunction } from 'node:vm';
import { isHexString } from 'ethers/utils';
import { MAX_BLOBS } from '../chain/blobs.js';
import { isAbsent } from '../chain/refusals.js';
import { InputError, WorkloadError, displayName } from '../errors.js';
import { readJsonFile } from '../json-file.js';
import { shellWord } from '../text.js';
import { describeValue, inTime, locateError, messageOf } from './user-code.js';

/**
 * A user's workload file (`--workload ./mine.mjs`): loads it, and checks what its functions return.
 *
 * @import { Create, Workload } from '../contracts/workload.d.ts'
 * @import { UserSettings } from './user-code.js'
 *
 * @typedef {object} Part a function of a workload
 * @property {string} [wanted] what it must return; anything unless given
 * @property {(value: any) => boolean} [holds] whether it did; may throw
 * @property {(value: any) => any} [complete] adds what the value may leave out
 * @property {boolean} [isTimed] it is called once, and has a time limit
 */

/** The supported contract. */
export const CONTRACT = 'evm-stress/workload@1';

const STATES = Object.freeze(['ok', 'likely', 'behind', 'missing', 'wrong']);

const REVERT_CODES = Object.freeze(['reverted', 'slippage']);

/** @param {unknown} value */
const isText = (value) => value === undefined || value === null || typeof value === 'string';
/** @param {unknown} value @param {number} bits */
const isAmount = (value, bits) => typeof value === 'bigint' && value >= 0n && value < 1n << BigInt(bits);
/** @param {unknown} value */
const isAddress = (value) => isHexString(value, 20);
/** @param {unknown} value */
const isHash = (value) => isHexString(value, 32);

/** @param {any} gas */
function isGas({ likely, value = {}, created = {}, blobs = 0, ...gas }) {
  const amounts = [gas, likely ?? gas].flatMap(({ perWallet, perOperation }) => [perWallet, perOperation]);
  const others = [value, created].flatMap((one) =>
    one === null || typeof one !== 'object' ? [one] : Object.values(one),
  );
  const hasBlobs = Number.isInteger(blobs) && blobs >= 0 && blobs <= MAX_BLOBS;
  return hasBlobs && [...amounts, ...others].every((amount) => isAmount(amount, 256));
}

/** @param {any} call */
export function isCall(call) {
  const { to, data = '0x', value = 0n, gasLimit = 0n, accessList = [], authorizationList = [], sidecar } = call ?? {};
  return (
    (to === null || isAddress(to)) &&
    isHexString(data, true) &&
    isAmount(value, 256) &&
    isAmount(gasLimit, 64) &&
    (sidecar === undefined || (to !== null && isText(sidecar.rlp) && sidecar.hashes.every(isHash))) &&
    [...accessList, ...authorizationList].every(({ address }) => isAddress(address))
  );
}

export const CALL_WORDS =
  'a call { to, data, value, gasLimit }: to an address, or null for a deployment; data 0x and pairs of hexadecimal digits; value and gasLimit bigints; accessList of { address, storageKeys }, authorizationList of { chainId, address, nonce, yParity, r, s }; sidecar one of kit.sidecars(), with a receiver';

/** @param {any} request */
function isRequest({ method, params = [], name = 'x' }) {
  return (
    typeof method === 'string' &&
    /^[\w.-]{1,100}$/.test(method) &&
    Array.isArray(params) &&
    JSON.stringify(params) !== undefined &&
    typeof name === 'string' &&
    /^.{1,100}$/.test(name)
  );
}

/** @param {any} verdict */
function isVerdict({ state, effect, target, code = 'reverted' }) {
  return STATES.includes(state) && isText(effect) && isText(target) && REVERT_CODES.includes(code);
}

/** @param {any} reading */
function isReading({ start, now, target }) {
  return typeof start === 'bigint' && typeof now === 'bigint' && isText(target);
}

/** @param {any} check */
function isCheck({ name, words, expected, found, holds, why }) {
  const isStated = typeof name === 'string' && typeof words === 'string' && [expected, found, why].every(isText);
  return isStated && (holds === null || typeof holds === 'boolean');
}

/** @param {unknown} facts */
function isFacts(facts = {}) {
  return typeof facts === 'object' && !(facts instanceof Promise);
}

/** These cannot return a promise. */
const SYNCHRONOUS = Object.freeze(['next', 'facts', 'handOver']);

/** Parts of workloads of both kinds. @type {Record<string, Part>} */
const SHARED = {
  prepare: {},
  facts: { wanted: 'an object of facts', holds: isFacts, complete: toJson },
  handOver: { complete: structuredClone },
};

/** The functions of a workload, by its kind. @type {Readonly<Record<string, Record<string, Part>>>} */
const PARTS = Object.freeze({
  transaction: {
    ...SHARED,
    next: { wanted: CALL_WORDS, holds: isCall },
    unprepared: { wanted: 'a number of wallets', holds: (n) => Number.isInteger(n) && n >= 0 },
    verify: {
      wanted: `a verdict { state, effect, target }: state one of ${STATES.join(', ')}; effect and target texts; code one of ${REVERT_CODES.join(', ')}, or none`,
      holds: isVerdict,
      complete: (verdict) => ({ effect: null, target: null, ...verdict }),
    },
    audit: {
      wanted: 'a reading { start, now, target } for each wallet: start and now bigints',
      holds: (readings) => readings.every(isReading),
      isTimed: true,
    },
    reconcile: {
      wanted: 'an array of checks { name, words, expected, found, holds, why }: texts, and holds true, false or null',
      holds: (checks) => checks.every(isCheck),
      complete: (checks) => checks.map(completeCheck),
      isTimed: true,
    },
  },
  call: {
    ...SHARED,
    next: { wanted: 'a request { method, params, name }: params an array of JSON', holds: isRequest },
    check: { wanted: 'a text or nothing', holds: isText, complete: (words) => words ?? null },
  },
});

/** The same workload, which checks what its functions return. @param {any} own the result of create() @param {string} file as the user gave it @param {UserSettings} [settings] @returns {Workload} */
export function checkedWorkload(own, file, settings) {
  /** @param {boolean} holds @param {string} words */
  const assert = (holds, words) => {
    if (!holds) throw new WorkloadError(`${displayName(file)}: ${words}`);
  };
  const { kind, gas, subject, valueWei, callsPerIteration, mayLackCode } = own ?? {};
  assert(
    Object.hasOwn(PARTS, kind),
    `create() must return a workload with kind 'transaction' or 'call'; its kind is ${describeValue(kind)}`,
  );
  assert(own.next !== undefined, 'the workload lacks next(), which returns the next operation');
  assert(
    gas === undefined || holdsFor(gas, isGas),
    `gas must be { perWallet, perOperation }, both bigints such as 50_000n; so must be the members of gas.value and gas.created; and gas.blobs a number from 0 to ${MAX_BLOBS}`,
  );
  // By name, because the members of a class are not its own properties.
  /** @type {Record<string, any>} */
  const workload = { kind, gas, subject, valueWei, callsPerIteration, mayLackCode };
  for (const [name, part] of Object.entries(PARTS[kind])) {
    if (own[name] === undefined) continue;
    assert(
      typeof own[name] === 'function',
      `${name} of the workload must be a function, not ${describeValue(own[name])}`,
    );
    workload[name] = checkedPart(own, name, part, { file, settings });
  }
  if (own.prepare !== undefined)
    workload.handOver ??= () =>
      assert(
        false,
        'the workload lacks handOver(first, count), which returns the state of worker threads: add it, or give --workers 1',
      );
  return /** @type {Workload} */ (workload);
}

/** @param {any} own @param {string} name @param {Part} part @param {{file: string, settings?: UserSettings}} of @returns {(...given: any[]) => any} */
function checkedPart(
  own,
  name,
  { wanted, holds = () => true, complete = (value) => value, isTimed },
  { file, settings },
) {
  const what = `${name}()`;
  // What was returned again is not checked again.
  const seen = new WeakSet();
  /** @param {any} value */
  const check = (value) => {
    if (seen.has(value)) return value;
    if (!holdsFor(value, holds))
      throw new WorkloadError(
        `${displayName(file)}: ${what} returned ${describeValue(value)}, and must return ${wanted}${settings?.hint ?? ''}`,
      );
    if (name === 'next') seen.add(value);
    return complete(value);
  };
  /** @param {unknown} error */
  const fail = (error) => {
    if (name === 'verify' && isAbsent(error)) return { state: 'behind', effect: null, target: null };
    throw locateError(error, file, what, settings);
  };
  return (...given) => {
    try {
      const value = own[name](...given);
      if (!(value instanceof Promise) || SYNCHRONOUS.includes(name)) return check(value);
      const checked = value.then(check).catch(fail);
      return isTimed ? inTime(checked, `${displayName(file)}: ${what}`) : checked;
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

/** Figures that are left out are shown as whether it holds. @param {any} check */
function completeCheck({ name, words, expected, found, holds, why }) {
  const usual = holds === null ? [null, null, 'it does not say why'] : ['true', String(holds), null];
  return { name, words, expected: expected ?? usual[0], found: found ?? usual[1], holds, why: why ?? usual[2] };
}

/** For the run file, in which bigints are texts. @param {object | null | undefined} facts */
function toJson(facts) {
  return JSON.parse(JSON.stringify(facts ?? {}, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
}

/** @param {string} file @returns {Promise<Create>} its default export */
export async function loadWorkloadFile(file) {
  const name = displayName(file);
  if (file.endsWith('.sol')) {
    throw new InputError(
      `${name} is Solidity, no workload: stress new-workload ${shellWord(name)} writes one that deploys and calls it; --workload contract --deploy ${shellWord(name)} needs none`,
    );
  }
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    const module = /\.m?js$/.test(name) ? name : 'mine.mjs';
    throw new InputError(`there is no workload file ${name}; stress new-workload ${shellWord(module)} makes one`);
  }
  refuseAsCommonJs(file);
  const exported = await importFile(file);
  // The exports of a CommonJS module are its default export.
  const { contract, default: create } = typeof exported.default === 'object' ? (exported.default ?? {}) : exported;
  if (contract !== CONTRACT)
    throw new WorkloadError(
      `${name} must state the version of the workload interface that this version supports, export const contract = '${CONTRACT}'; it is ${describeValue(contract)}`,
    );
  if (typeof create !== 'function')
    throw new WorkloadError(`${name} lacks its default export, the function that creates the workload`);
  return create;
}

/** @param {string} file @returns {string | null} the package.json that makes it a CommonJS module */
export function commonJsPackageOf(file) {
  if (!file.endsWith('.js')) return null;
  let folder = dirname(resolve(file));
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder);
  const found = join(folder, 'package.json');
  return existsSync(found) && readJsonFile(found)?.type === 'commonjs' ? found : null;
}

/** An import would fail too, but Node also prints a warning then. @param {string} file @throws {WorkloadError} */
function refuseAsCommonJs(file) {
  const found = commonJsPackageOf(file);
  if (found === null) return;
  try {
    compileFunction(readFileSync(file, 'utf8'), ['module', 'exports', 'require']);
  } catch (error) {
    const module = displayName(`${basename(file, '.js')}.mjs`);
    throw new WorkloadError(
      `${displayName(file)} is no CommonJS module, as ${displayName(found)} says (${messageOf(error)}): name an ES module ${module}`,
    );
  }
}

/** @param {string} file @returns {Promise<any>} */
async function importFile(file) {
  const name = displayName(file);
  try {
    return await inTime(import(pathToFileURL(resolve(file)).href), `${name}: its import`);
  } catch (error) {
    if (error instanceof WorkloadError) throw error;
    // Node states the position of a syntax error only when the error ends a process.
    const advice = error instanceof SyntaxError ? `; node ${name} shows the line` : '';
    throw new WorkloadError(`${name}: its import failed: ${messageOf(error)}${advice}`);
  }
}
