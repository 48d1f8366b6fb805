import { parseJson } from './json.js';

/**
 * @import { TransportError } from '../errors.js'
 * @import { Transport } from '../types.d.ts'
 */

/**
 * A subscription by eth_subscribe: the node says what happens without being asked again.
 *
 * @typedef {object} Tools of the Rpc
 * @property {NonNullable<Transport['subscribe']>} send
 * @property {(method: string, params: unknown[]) => {body: string, read: (text: string) => any}} ask makes a request, and
 *   what reads the result out of its answer; counts it
 */

/** Events that are kept while it is not known which are ours; an endpoint may send any number. */
const MOST_EARLY = 100;

/**
 * @param {Tools} tools
 * @param {string} kind what eth_subscribe calls it, such as newHeads
 * @param {(event: any) => void} onEvent
 * @param {(error: TransportError) => void} onLost called once if the connection is lost
 * @returns {Promise<() => void>} ends it
 */
export async function subscribe({ send, ask }, kind, onEvent, onLost) {
  /** Events that came before it was known which are ours. @type {any[] | null} */
  let early = [];
  /** @type {unknown} */
  let key = null;
  /** @param {any} params of a notification */
  const take = (params) => {
    if (params?.subscription === key) onEvent(params.result);
  };
  const request = ask('eth_subscribe', [kind]);
  const { text, end } = await send(
    request.body,
    (push) => {
      const params = paramsOf(push);
      if (early === null) take(params);
      else if (early.length < MOST_EARLY) early.push(params);
    },
    onLost,
  );
  try {
    key = request.read(text);
  } catch (error) {
    end();
    throw error;
  }
  const came = early;
  early = null;
  came.forEach(take);
  return () => end(ask('eth_unsubscribe', [key]).body);
}

/** @param {string} text @returns {any} null where it is nothing that is understood */
function paramsOf(text) {
  try {
    const { method, params } = parseJson(text);
    return method === 'eth_subscription' ? params : null;
  } catch {
    return null;
  }
}
