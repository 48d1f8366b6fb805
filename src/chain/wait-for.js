import { within } from '../clock.js';
import { RpcError, TransportError } from '../errors.js';
import { CHAIN_ID, HEAD, ask } from './answers.js';
import { faultOf, isDownError } from './endpoint-health.js';
import { checkChain } from './networks.js';
import { isBusy } from './refusals.js';
import { isLimit } from './retries.js';

/**
 * Waits for endpoints whose node is still starting (--wait-for).
 *
 * @import { AllowedChain, ChainConfig, Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { Endpoints } from './endpoints.js'
 *
 * @typedef {object} Wait
 * @property {Clock} clock
 * @property {AbortSignal} signal ends the wait
 * @property {(line: string) => void} notice
 *
 * @typedef {{rpc: Rpc, url: URL, error: Error | null}} Awaited error: the last one; null: it has answered
 */

const POLL_MS = 500;
const NOTICE_MS = 5000;
const BLOCK_POLL_MS = 1000;
/** Longest wait for a block: a chain that makes blocks on demand has none before the load. */
const BLOCK_MS = 5000;

/** Failures of the transport that end when a node starts. */
const OF_A_START = new Set(
  ['refused', 'reset', 'timeout', 'dns', 'ehostunreach', 'enetunreach'].map((reason) => `transport_${reason}`),
);

/** The same for the handshake of a WebSocket: see DOWN_STATUS of endpoint-health.js. */
const HANDSHAKE_OF_A_START = /HTTP (404|429|502|503|504)\b/;

/**
 * Asks all endpoints until each has answered eth_chainId. All share one limit; what a wait cannot mend ends it at once.
 * @param {AllowedChain & Pick<ChainConfig, 'waitForMs' | 'sendRpc'>} config
 * @param {{urls: readonly URL[], endpoints: Pick<Endpoints, 'rpcs' | 'sending'>} & Wait} options
 * @throws {TransportError} the limit is over
 */
export async function waitForEndpoints(config, { urls, endpoints, clock, signal, notice }) {
  const { waitForMs, sendRpc } = config;
  if (waitForMs === 0) return;
  const untilUs = clock.nowUs() + waitForMs * 1000;
  const error = new TransportError('no answer to eth_chainId', 'timeout');
  /** @type {Awaited[]} */
  const all = endpoints.rpcs.map((rpc, i) => ({ rpc, url: urls[i], error }));
  if (endpoints.sending !== null && sendRpc !== null) all.push({ rpc: endpoints.sending, url: sendRpc, error });
  const limit = `${waitForMs / 1000} s`;
  const cancelNotice = clock.after(
    () => notice(`waiting up to ${limit} (--wait-for) for ${missing(all).map(stateOf).join(', ')}`),
    NOTICE_MS,
  );
  const over = new AbortController();
  const wait = { clock, notice, signal: AbortSignal.any([signal, over.signal]) };
  const late = () => {
    const words = missing(all).map((one) => lateWords(one, limit));
    throw new TransportError(words.join('; '), 'timeout');
  };
  try {
    await within(clock, waitForMs, Promise.all(all.map((one) => untilAnswer(one, config, wait))), late);
  } finally {
    cancelNotice();
    over.abort();
  }
  const blockUntilUs = Math.min(untilUs, clock.nowUs() + BLOCK_MS * 1000);
  await Promise.all(endpoints.rpcs.map((rpc) => untilBlock(rpc, blockUntilUs, { clock, signal, notice })));
}

/** @param {Awaited} endpoint @param {AllowedChain} config @param {Wait} wait */
async function untilAnswer(endpoint, { chainId, allowChain }, { clock, signal }) {
  while (!signal.aborted) {
    try {
      const id = await ask(endpoint.rpc, CHAIN_ID, 'setup');
      checkChain(endpoint.url, id, chainId, allowChain);
      endpoint.error = null;
      return;
    } catch (error) {
      if (!isOfAStart(error)) throw error;
      endpoint.error = /** @type {Error} */ (error);
    }
    await clock.sleep(POLL_MS, signal);
  }
}

/** @param {unknown} error */
function isOfAStart(error) {
  if (error instanceof RpcError) return isBusy(error);
  if (!(error instanceof TransportError)) return isDownError(error) || isLimit(error);
  const isHandshake = error.code === 'transport_handshake' && HANDSHAKE_OF_A_START.test(error.message);
  return isHandshake || OF_A_START.has(error.code);
}

/**
 * A node that has just started may have no block yet. An endpoint without this method is left to the set-up.
 * @param {Rpc} rpc
 * @param {number} untilUs
 * @param {Wait} wait
 */
async function untilBlock(rpc, untilUs, { clock, signal, notice }) {
  for (;;) {
    // Not of the set-up, whose calls are repeated for longer than the limit.
    const head = await ask(rpc, HEAD, 'health').catch(() => null);
    if (head !== 0 || signal.aborted) return;
    if (clock.nowUs() + BLOCK_POLL_MS * 1000 > untilUs) break;
    await clock.sleep(BLOCK_POLL_MS, signal);
  }
  notice(`${rpc.display} has block 0 only: the run starts now, because the chain may make blocks on demand`);
}

/** @param {Awaited[]} all */
function missing(all) {
  return all.flatMap(({ rpc, error }) => (error === null ? [] : { rpc, error }));
}

/** @param {{rpc: Rpc, error: Error}} endpoint */
function stateOf({ rpc, error }) {
  return `${rpc.display} (${faultOf(rpc, error).why})`;
}

/** @param {{rpc: Rpc, error: Error}} endpoint @param {string} limit */
function lateWords({ rpc, error }, limit) {
  const what = error instanceof TransportError ? 'did not answer' : 'was not ready';
  return `${rpc.display} ${what} within ${limit} (--wait-for): ${faultOf(rpc, error).why}`;
}
