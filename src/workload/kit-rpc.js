import { WorkloadError } from '../errors.js';
import { placeOf } from './blame.js';
import { whatItIs } from './nonsense.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Purpose, Rpc as KitRpc } from './contract.d.ts'
 */

/**
 * The endpoint as a workload of the user's own is given it: what it is asked with is looked at, and what a call is made
 * for is known where it is not said.
 */

const PURPOSES = Object.freeze(['setup', 'readback', 'audit']);

/**
 * @param {Rpc} rpc
 * @param {string} file
 * @param {() => Purpose} purposeNow what calls are made for that do not say it
 * @returns {KitRpc}
 */
export function createOwnRpc(rpc, file, purposeNow) {
  /** @param {string} name @param {string} words */
  const refused = (name, words) =>
    Promise.reject(new WorkloadError(`${placeOf(new Error(), file)}: rpc.${name}: ${words}`));

  /** @param {'call' | 'gather'} name */
  const asking =
    (name) =>
    /** @param {string} method @param {unknown[]} [params] @param {Purpose} [purpose] */
    (method, params = [], purpose = purposeNow()) => {
      const wrong = wrongIn({ method, params, purpose });
      return wrong === null ? rpc[name](method, params, purpose) : refused(name, wrong);
    };

  return Object.freeze({
    call: asking('call'),
    gather: asking('gather'),
    batch: (/** @type {{method: string, params?: unknown[]}[]} */ requests, purpose = purposeNow()) => {
      if (!Array.isArray(requests)) return refused('batch', `it takes an array of requests, not ${whatItIs(requests)}`);
      const whole = requests.map((request) => ({ method: request?.method, params: request?.params ?? [] }));
      const wrong = whole.map((request) => wrongIn({ ...request, purpose })).find((words) => words !== null) ?? null;
      return wrong === null ? rpc.batch(whole, purpose) : refused('batch', wrong);
    },
  });
}

/** @param {{method: unknown, params: unknown, purpose: unknown}} given @returns {string | null} */
function wrongIn({ method, params, purpose }) {
  if (typeof method !== 'string') return `the method must be a text, not ${whatItIs(method)}`;
  if (!Array.isArray(params)) return `the params of ${method} must be an array, not ${whatItIs(params)}`;
  if (!PURPOSES.includes(/** @type {string} */ (purpose)))
    return `the purpose must be one of ${PURPOSES.map((one) => `'${one}'`).join(', ')}, not ${whatItIs(purpose)}`;
  return null;
}
