import { Agent, WebSocket } from 'undici';
import { parseJson } from '../chain/json.js';
import { createClock } from '../clock.js';
import { Deadlines } from '../deadlines.js';
import { TransportError, UsageError } from '../errors.js';
import { MAX_BODY_BYTES, asTransportError, bodyTooLarge, requestHeaders } from './http.js';

/**
 * @import { Transport } from '../types.d.ts'
 * @import { OnSent, TransportOptions } from './index.js'
 * @import { Duplex } from 'node:stream'
 * @import { Dispatcher } from 'undici'
 */

/**
 * As much of a JSON-RPC message as one socket for many requests needs: which request it belongs to.
 *
 * @typedef {object} Outline
 * @property {string[]} ids of a message, or of those in a batch, as JSON; NO_ID alone where there are none
 * @property {boolean} isPush nobody asked for it: it has a method, and no id
 */

/** What a body without an id is known by: one at a time on a connection, so that its answer is known. */
export const NO_ID = '';

/** How most begin, ours among them: they need not be parsed to be told apart. */
const FIRST_ID = /^\[?\{"jsonrpc":"2\.0","id":(\d+)[,}]/;
const NOTIFICATION = /^\{"jsonrpc":"2\.0","method":/;

/**
 * The id of a message, or of the first one in a batch, where it stands in the usual place.
 * @param {string} text
 * @returns {string | null}
 */
export function firstId(text) {
  return FIRST_ID.exec(text)?.[1] ?? null;
}

/** @param {string} text @returns {Outline} */
export function outline(text) {
  const first = text.startsWith('{') ? firstId(text) : null;
  if (first !== null) return { ids: [first], isPush: false };
  const messages = [parsed(text)].flat();
  const ids = messages
    .map((message) => message?.id)
    .filter(isId)
    .map((id) => JSON.stringify(id));
  if (ids.length > 0) return { ids, isPush: false };
  return { ids: [NO_ID], isPush: NOTIFICATION.test(text) || typeof messages[0]?.method === 'string' };
}

/** @param {string} text @returns {any} null where it is no JSON: whoever asked says so */
function parsed(text) {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

/** What else may stand there cannot be ours, and may be nested too deeply to be compared. @param {unknown} id */
function isId(id) {
  return typeof id === 'number' || typeof id === 'string';
}

/**
 * @typedef {{onPush: (text: string) => void, onLost: (error: TransportError) => void}} Listener
 */

/** One WebSocket: the requests that are on it, and who listens to what it says unasked. */
export class WsConnection {
  /** Whom an answer belongs to. One that was given up stays: its answer may still come. @type {Map<string, WsExchange>} */
  #byId = new Map();
  /** Those that somebody waits for. @type {Set<WsExchange>} */
  #awaited = new Set();
  /** Those that were sent, and given up since. @type {Set<WsExchange>} */
  #givenUp = new Set();
  /** @type {Set<Listener>} */
  #listeners = new Set();
  #isOpen = false;
  #isGone = false;
  /** Why it could not be opened, or was lost. @type {TransportError | null} */
  #fault = null;
  /** What is below the WebSocket, which itself has no way to end at once. @type {Duplex | null} */
  #below = null;
  #pool;
  #socket;

  /** @param {WsPool} pool */
  constructor(pool) {
    this.#pool = pool;
    const dispatcher = pool.agent.compose(
      (dispatch) => (options, handler) => dispatch(options, this.#overhear(handler)),
    );
    this.#socket = new WebSocket(pool.address, { headers: pool.headers, dispatcher });
    this.#socket.binaryType = 'arraybuffer';
    const deadline = pool.deadlines.set(() => this.close(new TransportError('no answer in time', 'timeout')));
    this.#socket.addEventListener('open', () => {
      pool.deadlines.clear(deadline);
      pool.stats.connectionsOpened += 1;
      this.#isOpen = true;
      // A copy: each that is not wanted any more makes room for another.
      for (const exchange of [...this.#awaited]) if (!this.#send(exchange)) pool.release(this);
    });
    this.#socket.addEventListener('message', ({ data }) => {
      this.#receive(typeof data === 'string' ? data : Buffer.from(data).toString());
    });
    this.#socket.addEventListener('close', () => {
      pool.deadlines.clear(deadline);
      this.close(this.#fault ?? this.#whyEnded());
    });
  }

  /** Requests that it has to answer. */
  get load() {
    return this.#awaited.size + this.#givenUp.size;
  }

  get isIdle() {
    return this.load === 0 && this.#listeners.size === 0;
  }

  /** Two answers with one id could not be told apart. @param {WsExchange} exchange */
  canTake({ ids }) {
    return !this.#isGone && !ids.some((id) => this.#byId.has(id));
  }

  /**
   * @param {WsExchange} exchange that it can take; sent now, or when the connection is open
   * @returns {boolean} false: it was not wanted any more
   */
  take(exchange) {
    exchange.connection = this;
    this.#awaited.add(exchange);
    for (const id of exchange.ids) this.#byId.set(id, exchange);
    return !this.#isOpen || this.#send(exchange);
  }

  /** @param {WsExchange} exchange whose deadline is over */
  giveUp(exchange) {
    if (!this.#isOpen) {
      this.#forget(exchange);
      this.#pool.release(this);
      return;
    }
    this.#awaited.delete(exchange);
    this.#givenUp.add(exchange);
    // An endpoint that leaves so much unanswered may be gone. What is due in this turn as well has timed out, too.
    if (this.#givenUp.size >= this.#awaited.size) setImmediate(() => this.close());
  }

  /** @param {Listener} listener @param {string} [body] said as a farewell; its answer is not waited for */
  unlisten(listener, body) {
    const wasListening = this.#listeners.delete(listener);
    if (wasListening && this.#isOpen && body !== undefined) this.#socket.send(body);
  }

  /** @param {WsExchange} exchange @returns {boolean} false: it was not wanted any more */
  #send(exchange) {
    if (exchange.onSent?.() === false) {
      this.#forget(exchange);
      exchange.fail(new TransportError('given up before it was sent', 'not_sent'));
      return false;
    }
    this.#socket.send(exchange.body);
    return true;
  }

  /** @param {string} text */
  #receive(text) {
    if (this.#isGone) return;
    const bytes = Buffer.byteLength(text);
    this.#pool.stats.bytesReceived += bytes;
    const id = firstId(text);
    const exchange = (id === null ? undefined : this.#byId.get(id)) ?? this.#whose(text);
    if (exchange === null) return;
    this.#forget(exchange);
    if (!exchange.isOver) this.#answer(exchange, text, bytes);
    this.#pool.release(this);
  }

  /** @param {WsExchange} exchange @param {string} text @param {number} bytes */
  #answer(exchange, text, bytes) {
    if (bytes > exchange.maxBodyBytes) return exchange.fail(bodyTooLarge(exchange.maxBodyBytes));
    // Before anything else is read: what is pushed may be right behind it.
    if (exchange.listener !== null) this.#listeners.add(exchange.listener);
    exchange.succeed(text);
  }

  /** @param {string} text @returns {WsExchange | null} null: nobody's, such as the answer to what was given up long ago */
  #whose(text) {
    const { ids, isPush } = outline(text);
    if (isPush) {
      for (const { onPush } of this.#listeners) onPush(text);
      return null;
    }
    for (const id of ids) {
      const exchange = this.#byId.get(id);
      if (exchange !== undefined) return exchange;
    }
    // An error of a request that the node could not read has no id. Where one is open it can only be of that one.
    if (ids[0] !== NO_ID || this.load !== 1) return null;
    const [only] = [...this.#awaited, ...this.#givenUp];
    return only;
  }

  /** @param {WsExchange} exchange */
  #forget(exchange) {
    this.#awaited.delete(exchange);
    this.#givenUp.delete(exchange);
    for (const id of exchange.ids) this.#byId.delete(id);
  }

  /** A WebSocket does not say why it ended. */
  #whyEnded() {
    if (this.#below === null) {
      const words = 'it was not tried: undici opens no WebSocket to ports that browsers block, such as 6000 or 10080';
      return new TransportError(words, 'handshake');
    }
    if (this.#below.readableEnded || this.#below.errored !== null) return lost();
    // Neither the endpoint nor the way to it: undici itself ends what it cannot read.
    const words = `what it sent is no WebSocket message, or is larger than ${2 * this.#pool.maxBodyBytes} bytes`;
    return new TransportError(words, 'bad_response');
  }

  /**
   * Sees what a WebSocket does not tell: why there is none, and the socket below it.
   * @param {Dispatcher.DispatchHandler} handler of the handshake
   * @returns {Dispatcher.DispatchHandler}
   */
  #overhear(handler) {
    return {
      onRequestStart: (...args) => handler.onRequestStart?.(...args),
      onRequestUpgrade: (controller, status, headers, socket) => {
        this.#below = socket;
        socket.on('error', (error) => (this.#fault ??= asTransportError(error)));
        handler.onRequestUpgrade?.(controller, status, headers, socket);
      },
      onResponseStart: (controller, status, ...rest) => {
        const hint = status === 401 || status === 403 ? 'its credentials' : 'the URL';
        const words = `it answers the WebSocket handshake with HTTP ${status}: check ${hint}`;
        this.#fault ??= new TransportError(words, 'handshake');
        handler.onResponseStart?.(controller, status, ...rest);
      },
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (controller, error) => {
        // What we end ourselves ends with an error of undici's own.
        if (!this.#isGone) this.#fault ??= asTransportError(error);
        handler.onResponseError?.(controller, error);
      },
    };
  }

  /** @param {TransportError} [error] what its requests fail with */
  close(error = lost()) {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#isOpen = false;
    this.#socket.close();
    this.#below?.destroy();
    this.#pool.remove(this);
    // An error for each: whoever gets one may add to its words.
    for (const exchange of this.#awaited) exchange.fail(new TransportError(error.message, reasonOf(error), error));
    if (!this.#pool.isClosed) for (const { onLost } of this.#listeners) onLost(error);
  }
}

/** @param {TransportError} error */
function reasonOf({ code }) {
  return code.replace('transport_', '');
}

function lost() {
  return new TransportError('connection lost', 'reset');
}

/**
 * Requests on a connection before another one is opened. For 200 small ones at once a single socket does what many do,
 * for less of the CPU time (anvil, geth); with 1,000 at once geth gives out blocks 1.3 times as fast or more over
 * several, because the answers on one socket are written one after the other.
 */
const ENOUGH_FOR_ONE = 64;

/**
 * JSON-RPC over WebSockets. Many requests are under way on each at once, and an answer may come in any order, so it is
 * matched to its request by its id. Two bodies with the same id, or without one, are never on one socket together.
 *
 * @param {TransportOptions} options
 * @returns {Transport}
 * @throws {UsageError} for a connection for each request
 */
export function createWsTransport(options) {
  if (options.keepAlive === false) {
    throw new UsageError('--no-keep-alive needs an http:// or https:// endpoint: a WebSocket is kept by its nature');
  }
  const pool = new WsPool(options);
  return {
    post: (body, onSent, maxBodyBytes) =>
      pool.post(body, onSent, null, maxBodyBytes).then(({ text }) => ({ status: 200, text, retryAfterMs: null })),
    subscribe: (body, onPush, onLost) => pool.subscribe(body, { onPush, onLost }),
    stats: () => ({ ...pool.stats }),
    rest: async () => pool.rest(),
    close: () => pool.close(),
  };
}

/** One body and its answer. */
export class WsExchange {
  /** Null while it waits for one. @type {WsConnection | null} */
  connection = null;
  isOver = false;
  /** The answer. */
  text = '';
  #deadlines;
  #deadline;

  /**
   * @param {string} body
   * @param {OnSent | undefined} onSent
   * @param {Listener | null} listener who listens to the connection from the answer on
   * @param {number} maxBodyBytes
   * @param {Deadlines} deadlines
   * @param {(exchange: WsExchange) => void} resolve
   * @param {(error: TransportError) => void} reject
   */
  constructor(body, onSent, listener, maxBodyBytes, deadlines, resolve, reject) {
    this.body = body;
    this.ids = outline(body).ids;
    this.onSent = onSent;
    this.listener = listener;
    this.maxBodyBytes = maxBodyBytes;
    this.resolve = resolve;
    this.reject = reject;
    this.#deadlines = deadlines;
    this.#deadline = deadlines.set(() => {
      this.fail(new TransportError('no answer in time', 'timeout'));
      this.connection?.giveUp(this);
    });
  }

  /** @param {string} text */
  succeed(text) {
    this.text = text;
    this.#end();
    this.resolve(this);
  }

  /** @param {TransportError} error */
  fail(error) {
    this.#end();
    this.reject(error);
  }

  #end() {
    this.isOver = true;
    // One that was given up is remembered, what it was about need not be.
    this.body = '';
    this.#deadlines.clear(this.#deadline);
  }
}

/** The connections to one endpoint, and what waits because of its id. */
export class WsPool {
  stats = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
  isClosed = false;
  /** @type {Set<WsConnection>} */
  #connections = new Set();
  /** In the order they came. @type {Set<WsExchange>} */
  #waiting = new Set();
  #mostConnections;

  /** @param {TransportOptions} options */
  constructor({ url, connections, timeoutMs, maxBodyBytes = MAX_BODY_BYTES, insecure = false }) {
    this.address = new URL(url);
    this.address.username = '';
    this.address.password = '';
    const { authorization } = requestHeaders(url);
    this.headers = authorization === undefined ? {} : { authorization };
    this.maxBodyBytes = maxBodyBytes;
    this.#mostConnections = connections;
    this.deadlines = new Deadlines(createClock(), timeoutMs);
    this.agent = new Agent({
      // One deadline, ours, for the handshake as well.
      headersTimeout: 0,
      connect: { timeout: timeoutMs, rejectUnauthorized: !insecure },
      // An answer above the limit fails its own request; one far above it would not even fit in memory.
      webSocket: { maxPayloadSize: 2 * maxBodyBytes },
    });
  }

  /**
   * @param {string} body
   * @param {OnSent | undefined} onSent
   * @param {Listener | null} listener
   * @param {number} [maxBodyBytes]
   * @returns {Promise<WsExchange>} with its answer
   */
  post(body, onSent, listener, maxBodyBytes = Infinity) {
    this.stats.requests += 1;
    if (this.isClosed) return Promise.reject(closed());
    const limit = Math.min(maxBodyBytes, this.maxBodyBytes);
    return new Promise((resolve, reject) => {
      const exchange = new WsExchange(body, onSent, listener, limit, this.deadlines, resolve, reject);
      if (!this.#assign(exchange)) this.#waiting.add(exchange);
    });
  }

  /** @param {string} body @param {Listener} listener */
  async subscribe(body, listener) {
    const { text, connection } = await this.post(body, undefined, listener);
    return { text, end: (/** @type {string | undefined} */ farewell) => connection?.unlisten(listener, farewell) };
  }

  /** @param {WsExchange} exchange @returns {boolean} false: it has to wait */
  #assign(exchange) {
    /** @type {WsConnection | null} */
    let least = null;
    for (const connection of this.#connections) {
      if (connection.canTake(exchange) && (least === null || connection.load < least.load)) least = connection;
    }
    const isEnough = least !== null && least.load < ENOUGH_FOR_ONE;
    if (!isEnough && this.#connections.size < this.#mostConnections) {
      least = new WsConnection(this);
      this.#connections.add(least);
    }
    least?.take(exchange);
    return least !== null;
  }

  /** A connection has one request less. @param {WsConnection} connection */
  release(connection) {
    for (const exchange of this.#waiting) {
      if (!exchange.isOver && !connection.canTake(exchange)) continue;
      this.#waiting.delete(exchange);
      if (!exchange.isOver && connection.take(exchange)) return;
    }
  }

  /** A connection is gone. @param {WsConnection} connection */
  remove(connection) {
    this.#connections.delete(connection);
    for (const exchange of this.#waiting) {
      if (this.isClosed || (!exchange.isOver && !this.#assign(exchange))) return;
      this.#waiting.delete(exchange);
    }
  }

  rest() {
    for (const connection of [...this.#connections]) if (connection.isIdle) connection.close();
  }

  close() {
    this.isClosed = true;
    for (const connection of [...this.#connections]) connection.close(closed());
    for (const exchange of this.#waiting) if (!exchange.isOver) exchange.fail(closed());
    this.#waiting.clear();
    this.deadlines.stop();
    return this.agent.destroy();
  }
}

function closed() {
  return new TransportError('the transport is closed', 'closed');
}
