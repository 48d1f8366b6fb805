/** A node in memory that speaks one of dialects.js, as a transport. dialect-proxy.js speaks them before a real node. */
import { TransportError } from '../../src/errors.js';

/**
 * @import { Transport } from '../../src/contracts/chain.d.ts'
 * @import { Clock } from '../../src/contracts/common.d.ts'
 * @import { TransportOptions } from '../../src/contracts/chain.d.ts'
 * @import { RpcRequest } from './endpoint.js'
 * @import { Ask } from './memory-chain.js'
 *
 * @typedef {object} Answer
 * @property {any} [result]
 * @property {{code: number, message: string, data?: any}} [error]
 * @property {number} [status] of a page that is no JSON-RPC, in place of an answer
 *
 * @typedef {object} Context
 * @property {(method: string, params: any[]) => Promise<Answer>} node what the node itself answers
 * @property {() => Promise<number>} head of the node itself
 * @property {(name: string) => number} count how often it was called with this name, this time included
 * @property {(ms: number) => Promise<void>} sleep
 * @property {() => number} nowMs since the first request
 * @property {any} state of the variant
 *
 * @typedef {object} Dialect what a node says otherwise
 * @property {(request: RpcRequest, context: Context) => Answer | undefined | void | Promise<Answer | undefined | void>} [before]
 *   the answer in place of the node's; undefined: the node is asked; one that throws hangs up
 * @property {(request: RpcRequest, answer: Answer, context: Context) => Answer | undefined | void | Promise<Answer | undefined | void>} [after]
 *   what becomes of the node's answer; undefined: it stays
 * @property {(requests: RpcRequest[]) => Answer | undefined} [batch] the answer to a whole batch
 * @property {boolean} [isInTurn] the requests of a batch are answered one by one; on a WebSocket all requests of a connection
 * @property {'gzip' | 'br' | 'deflate'} [encoding] of bodies, which nobody asked for
 * @property {number} [muteAfterMs] a WebSocket says nothing from then on, and is not closed
 */

const LATENCY_MS = 4;

/**
 * @param {Dialect} dialect
 * @param {Ask} ask the node
 * @param {Clock} clock
 * @returns {(body: string) => Promise<{status: number, text: string}>}
 */
export function createSpeaker(dialect, ask, clock) {
  const startUs = clock.nowUs();
  /** @type {Record<string, number>} */
  const counts = {};
  /** @type {Context['node']} */
  const node = (method, params) =>
    ask(method, params).then(
      (result) => ({ result }),
      (thrown) => {
        if (thrown.error === undefined) throw thrown;
        return { error: thrown.error };
      },
    );
  /** @type {Context} */
  const context = {
    node,
    head: async () => Number(await ask('eth_blockNumber', [])),
    count: (name) => (counts[name] = (counts[name] ?? 0) + 1),
    sleep: (ms) => clock.sleep(ms),
    nowMs: () => (clock.nowUs() - startUs) / 1000,
    state: {},
  };
  /** @param {RpcRequest} request @returns {Promise<Answer>} */
  const answerOf = async (request) => {
    const own = await dialect.before?.(request, context);
    if (own) return own;
    const answer = await node(request.method, request.params);
    return (await dialect.after?.(request, answer, context)) || answer;
  };
  /** @param {RpcRequest[]} requests */
  const inTurn = async (requests) => {
    const answers = [];
    for (const request of requests) answers.push(await answerOf(request));
    return answers;
  };
  return async (body) => {
    const asked = JSON.parse(body);
    /** @type {RpcRequest[]} */
    const requests = [asked].flat();
    const whole = Array.isArray(asked) ? dialect.batch?.(requests) : undefined;
    if (whole !== undefined) return { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id: null, ...whole }) };
    const answers = await (dialect.isInTurn && Array.isArray(asked)
      ? inTurn(requests)
      : Promise.all(requests.map(answerOf)));
    const page = answers.find(({ status }) => status !== undefined);
    if (page?.status !== undefined) return { status: page.status, text: '<html>no</html>' };
    const all = answers.map((answer, i) => ({ jsonrpc: '2.0', id: requests[i].id, ...answer }));
    return { status: 200, text: JSON.stringify(Array.isArray(asked) ? all : all[0]) };
  };
}

/**
 * A transport in place of src/transport/'s, to a node in memory.
 * @param {Dialect} dialect @param {Ask} ask @param {Clock} clock @param {() => number} [latencyMs] of a request
 * @returns {(options: TransportOptions) => Transport}
 */
export function dialectTransport(dialect, ask, clock, latencyMs = () => LATENCY_MS) {
  const speak = createSpeaker(dialect, ask, clock);
  return ({ timeoutMs }) => ({
    post: (body, onSent) =>
      new Promise((resolve, reject) => {
        const late = () => reject(new TransportError('no answer in time', 'timeout'));
        const cancel = clock.after(late, timeoutMs);
        const exchange = async () => {
          onSent?.();
          await clock.sleep(latencyMs());
          const { status, text } = await speak(body);
          resolve({ status, text, retryAfterMs: null });
        };
        exchange()
          .catch((error) => reject(new TransportError(`connection reset: ${error.message}`, 'reset')))
          .finally(cancel);
      }),
    stats: () => ({ requests: 0, connectionsOpened: 1, bytesReceived: 0 }),
    closeIdle: async () => {},
    close: async () => {},
  });
}
