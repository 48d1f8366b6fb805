/** HTTP servers before a node, or in place of one, for the cases of the verdict. */
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @import { IncomingMessage, ServerResponse } from 'node:http'
 * @import { AddressInfo } from 'node:net'
 *
 * @typedef {(body: string, submissions: number) => Promise<Answer | null>} Hook an answer in place of the node's, or null
 * @typedef {{status: number, headers?: Record<string, string>, text: string}} Answer
 */

export const CHAIN_ID = '"0x7a69"';

/** @param {string} text @param {string} result JSON */
export function answerTo(text, result) {
  return { status: 200, text: `{"jsonrpc":"2.0","id":${/"id":(\d+)/.exec(text)?.[1] ?? 1},"result":${result}}` };
}

/**
 * An HTTP server before a node, or in place of one.
 * @param {string | null} target null: the hook answers everything
 * @param {Hook} [hook]
 * @param {(text: string) => string} [rewrite] changes the node's answers
 */
export async function startProxy(target, hook = async () => null, rewrite) {
  const agent = new Agent({ keepAlive: true });
  let submissions = 0;
  const server = createServer((incoming, outgoing) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk) => (body += chunk));
    incoming.on('end', () => {
      if (body.includes('eth_sendRawTransaction')) submissions += 1;
      void hook(body, submissions).then((own) => {
        if (own !== null) {
          const type = { 'content-type': 'application/json' };
          outgoing.writeHead(own.status, { ...type, ...own.headers }).end(own.text);
        } else if (target !== null) {
          const on = httpRequest(target, { method: 'POST', agent, headers: { 'content-type': 'application/json' } });
          on.on('response', (response) => pass(response, outgoing, rewrite)).on('error', () => outgoing.destroy());
          on.end(body);
        }
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {AddressInfo} */ (server.address());
  const stop = () => {
    server.close();
    server.closeAllConnections();
    agent.destroy();
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** @param {IncomingMessage} response @param {ServerResponse} outgoing @param {(text: string) => string} [rewrite] */
function pass(response, outgoing, rewrite) {
  if (rewrite === undefined) return void response.pipe(outgoing);
  let text = '';
  response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  response.on('end', () => outgoing.writeHead(200, { 'content-type': 'application/json' }).end(rewrite(text)));
}

/** Blocks that state a gas limit of 0. @param {string} text */
export const withoutGasLimit = (text) => text.replace(/"gasLimit":"0x[0-9a-f]+"/g, '"gasLimit":"0x0"');

/** @param {number} ms @returns {Hook} */
export const delayed = (ms) => async () => {
  await sleep(ms);
  return null;
};

/** Every so manieth transaction is refused. @param {number} everyNth @param {(body: string) => Answer} refusal @returns {Hook} */
export const refusing = (everyNth, refusal) => async (body, submissions) =>
  body.includes('eth_sendRawTransaction') && submissions % everyNth === 0 && submissions > 200 ? refusal(body) : null;

export const tooMany = { status: 429, headers: { 'retry-after': '1' }, text: 'too many requests' };

/** @param {string} body @param {string} message @param {number} [code] @returns {Answer} */
export const errorTo = (body, message, code = -32000) => {
  const { status, text } = answerTo(body, 'null');
  return { status, text: text.replace('"result":null', `"error":${JSON.stringify({ code, message })}`) };
};

/** @param {string} body */
export const limitExceeded = (body) => errorTo(body, 'limit exceeded', -32005);

/** An endpoint that is no node. @param {(body: string) => Promise<Answer>} answer @returns {Hook} */
export const plain = (answer) => async (body) =>
  body.includes('eth_chainId') ? answerTo(body, CHAIN_ID) : answer(body);

/** Calls one after another, each for so long. @param {number} ms */
export function serially(ms) {
  let last = Promise.resolve();
  return (/** @type {string} */ body) => {
    last = last.then(() => sleep(ms));
    return last.then(() => answerTo(body, '"0x1"'));
  };
}
