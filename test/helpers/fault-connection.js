/** One connection through the fault proxy: request by request, each with the fault that it meets. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { planOf } from './fault-answers.js';
import { frameFilter } from './ws-frames.js';
import { httpResponse, isUpgrade, messageCutter, withBody } from './http-messages.js';

/**
 * @import { Shared } from './fault-proxy-worker.js'
 * @import { Fault } from './fault-proxy.js'
 * @import { HttpMessage } from './http-messages.js'
 * @import { Socket } from 'node:net'
 */

/**
 *
 * @typedef {object} Connection
 * @property {Socket} client
 * @property {(request: Buffer) => Promise<HttpMessage>} ask the node; no answer once the node has hung up
 * @property {() => void} forget hangs up to the node, and says nothing to the client
 * @property {number} share in [0, 1): a fault that meets half of the connections meets those below a half
 */

/** An answer that waits for another one to pass goes after this time. */
const HELD_MS = 300;

/** So long the client has to read what it got before its connection is reset, which would take that away again. */
const READ_MS = 3;

/** Multiples of it, modulo 1, are spread as evenly as can be: two connections in a row are not met alike. */
const GOLDEN = 0.618033988749895;

/** @param {Socket} client @param {Shared} shared */
export function serveConnection(client, shared) {
  const node = connect({ host: shared.host, port: shared.port, noDelay: true });
  /** @type {Array<(answer: HttpMessage) => void>} */
  const asked = [];
  const cutRequests = messageCutter();
  const cutAnswers = messageCutter();
  shared.counts.connections += 1;
  /** @type {Connection} */
  const connection = {
    client,
    share: (shared.counts.connections * GOLDEN) % 1,
    ask: (request) =>
      new Promise((resolve) => {
        asked.push(resolve);
        node.write(request);
      }),
    forget: () => {
      client.pause().removeAllListeners('data');
      node.destroy();
    },
  };
  let turn = Promise.resolve();
  let isForgotten = false;
  /** @param {Buffer} chunk */
  const onRequests = (chunk) => {
    for (const request of cutRequests(chunk)) {
      if (isUpgrade(request)) return passFrames(client, node, request.bytes, shared);
      turn = turn.then(async () => {
        if (!isForgotten) isForgotten = await exchange(connection, request, shared);
      });
    }
  };
  client.on('data', onRequests);
  node.on('data', (chunk) => cutAnswers(chunk).forEach((answer) => asked.shift()?.(answer)));
  client.on('error', () => {}).on('close', () => void turn.finally(() => node.destroy()));
  node.on('error', () => {}).on('close', () => !isForgotten && client.destroy());
}

/**
 * @param {Socket} client
 * @param {Socket} node
 * @param {Buffer} handshake
 * @param {Shared} shared
 */
function passFrames(client, node, handshake, shared) {
  client.removeAllListeners('data');
  node.removeAllListeners('data');
  /** In the order they came, and not while nothing passes. @param {Socket} to */
  const passing = (to) => {
    let turn = Promise.resolve();
    return (/** @type {Buffer} */ chunk) => {
      if (shared.fault?.kind === 'blackhole') shared.counts.faults += 1;
      turn = turn.then(() => shared.open).then(() => void to.write(chunk));
    };
  };
  const toNode = passing(node);
  const toClient = passing(client);
  client.on('data', toNode).on('close', () => node.destroy());
  const filter = frameFilter((text) => {
    const isMissed = shared.fault?.kind === 'missHeads' && text.includes('eth_subscription') && isMet(shared, 0, text);
    if (isMissed) shared.counts.faults += 1;
    return !isMissed;
  });
  node.on('data', (chunk) => toClient(filter(chunk)));
  node.write(handshake);
}

/** @param {Shared} shared @param {number} share @param {string} body */
function isMet({ fault, random }, share, body) {
  if (fault === null) return false;
  if (fault.methods?.every((method) => !body.includes(`"${method}"`))) return false;
  const isOfConnections = fault.kind === 'lag';
  return (isOfConnections ? share : random()) < (fault.p ?? 1);
}

/**
 * @param {Connection} connection
 * @param {HttpMessage} request
 * @param {Shared} shared
 * @returns {Promise<boolean>} the client is left without a word
 */
async function exchange(connection, request, shared) {
  const { counts } = shared;
  const body = request.body.toString();
  const isSubmission = body.includes('"eth_sendRawTransaction"');
  counts.requests += 1;
  if (isSubmission) counts.submissions += 1;
  const happened = () => {
    counts.faults += 1;
    if (isSubmission) counts.faultsOnSubmissions += 1;
  };
  const fault = isMet(shared, connection.share, body) ? shared.fault : null;
  if (fault?.kind === 'blackhole') happened();
  await shared.open;
  if (fault?.kind === 'latency') {
    happened();
    await sleep((fault.ms ?? 0) + shared.random() * (fault.jitterMs ?? 0));
  }
  if (fault?.kind === 'halfOpen') {
    happened();
    if (fault.when === 'reached') await connection.ask(request.bytes);
    connection.forget();
    return true;
  }
  const own = fault === null ? null : unasked(fault);
  if (own !== null) {
    happened();
    own(connection.client);
    return false;
  }
  const plan = fault === null ? null : planOf(fault, body, shared);
  if (plan !== null) happened();
  const asked = plan === null ? request.bytes : plan.forward === null ? null : withBody(request, plan.forward);
  const answer = asked === null ? null : await connection.ask(asked);
  if (isSubmission && answer?.body.includes('"error"')) counts.refusals += 1;
  await shared.open;
  const bytes = plan === null ? answer?.bytes : httpResponse(plan.finish(answer?.body.toString() ?? ''));
  await deliver(connection.client, bytes ?? Buffer.alloc(0), fault, shared, happened);
  return false;
}

/**
 * Faults that the node knows nothing of.
 * @param {Fault} fault
 * @returns {null | ((client: Socket) => void)}
 */
function unasked({ kind, when, status, headers }) {
  if (kind === 'reset' && when === 'before') return (client) => client.resetAndDestroy();
  if (kind === 'status')
    return (client) => client.write(httpResponse(`${status}\n`, { status, headers, type: 'text/plain' }));
  if (kind !== 'html') return null;
  return (client) =>
    client.write(httpResponse('<html><body><h1>Please sign in</h1></body></html>', { type: 'text/html' }));
}

/**
 * @param {Socket} client
 * @param {Buffer} bytes
 * @param {Fault | null} fault
 * @param {Shared} shared
 * @param {() => void} happened
 */
async function deliver(client, bytes, fault, { held }, happened) {
  const part = bytes.subarray(0, Math.floor((bytes.length * 3) / 4));
  if (fault?.kind === 'reset') {
    happened();
    const shown = { before: null, reached: null, during: part, after: bytes }[fault.when ?? 'before'];
    if (shown !== null) {
      await new Promise((resolve) => client.write(shown, resolve));
      await sleep(READ_MS);
    }
    client.resetAndDestroy();
    return;
  }
  if (fault?.kind === 'truncate') {
    happened();
    client.end(part);
    return;
  }
  if (fault?.kind === 'reorder' && (await isOvertaken(held))) happened();
  const waiting = [...held];
  client.write(bytes);
  if (fault?.kind === 'duplicate') {
    happened();
    client.write(bytes);
  }
  for (const pass of waiting) pass();
}

/** @param {Set<() => void>} held @returns {Promise<boolean>} whether another answer has passed in the meantime */
function isOvertaken(held) {
  return new Promise((resolve) => {
    const end = (/** @type {boolean} */ isPassed) => {
      clearTimeout(timer);
      held.delete(pass);
      resolve(isPassed);
    };
    const pass = () => end(true);
    const timer = setTimeout(() => end(false), HELD_MS);
    held.add(pass);
  });
}
