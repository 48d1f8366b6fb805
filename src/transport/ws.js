import { parseJson } from '../chain/json.js';
import { createClock } from '../clock.js';
import { Deadlines } from '../deadlines.js';
import { TransportError, oneLine } from '../errors.js';
import { webSocketClass } from '../web-socket.js';
import { Exchange, MAX_BODY_BYTES, asTransportError, failureOf, ownHeaders, timedOut } from './http.js';

/**
 * JSON-RPC over WebSockets. Each socket carries many requests at once; answers come in any order and are matched by id.
 * The ids of all requests are numbers, and none is used twice.
 *
 * @import { OnSent, Reply, Subscription, Transport } from '../contracts/chain.d.ts'
 * @import { TransportOptions } from '../contracts/chain.d.ts'
 *
 * @typedef {{onPush: (text: string) => void, onLost: (error: TransportError) => void, end: Subscription['end']}} Listener
 */

/** The usual start of messages, from which the id is read without parsing the whole text. */
const FIRST_ID = /^\[?\{"jsonrpc":"2\.0","id":(\d+)[,}]/;

/**
 * Requests on a socket before another one is opened. For 200 small requests one socket is as fast as many and needs less
 * CPU (anvil, geth). For 1,000, geth serves blocks 1.3 times as fast over several, because it writes the answers on a
 * socket one after the other.
 */
const REQUESTS_PER_SOCKET = 64;

/**
 * Some nodes answer the requests on a socket one after the other. So a batch has a connection of its own, and one without a
 * message for this time while requests wait takes no more, as long as others can be opened.
 */
const STALLED_MS = 1000;

/** Status of a handshake with which servers refuse more connections. */
const TOO_MANY = Object.freeze([429, 503]);

/** Status with which an HTTP server answers a handshake: it takes it for a request that is valid, or is none of JSON-RPC. */
const HTTP_ONLY = Object.freeze([200, 204, 400, 405, 415, 426]);

/** Time between pings. A connection whose other end is gone without a word looks like one on which nothing happens. */
const PING_EVERY_MS = 10_000;
/** A connection without a message or an answer to pings for this time is lost. */
const SILENT_MS = 20_000;

/** @param {string} text @returns {number[]} the ids of a message or batch */
function idsIn(text) {
  const first = text.startsWith('{') ? FIRST_ID.exec(text) : null;
  if (first !== null) return [Number(first[1])];
  try {
    const messages = [parseJson(text)].flat();
    return messages.map((message) => message?.id).filter((id) => typeof id === 'number');
  } catch {
    return [];
  }
}

/** One WebSocket with its requests and listeners. */
class WsConnection {
  /** Requests without an answer. @type {Map<number, WsExchange>} */
  #byId = new Map();
  #batches = 0;
  /** Requests that have timed out since the last message came. */
  #timedOut = 0;
  /** Pings since the last message or answer to a ping. */
  #unanswered = 0;
  /** Since when requests wait without a message. */
  #waitsSinceUs = 0;
  #stopPings = () => {};
  /** @type {Set<Listener>} */
  #listeners = new Set();
  #isOpen = false;
  #isGone = false;
  /** Why it did not open, or was lost. @type {TransportError | null} */
  #fault = null;
  #pool;
  #socket;

  /** @param {WsPool} pool */
  constructor(pool) {
    this.#pool = pool;
    this.#socket = new (webSocketClass())(pool.address, pool.options);
    const deadline = pool.deadlines.set({ expire: () => this.close(timedOut(pool.deadlines)) });
    this.#socket.on('open', () => {
      pool.deadlines.clear(deadline);
      pool.stats.connectionsOpened += 1;
      this.#isOpen = true;
      this.#pingLater();
      for (const exchange of new Set(this.#byId.values())) this.#send(exchange);
    });
    this.#socket.on('message', (data) => this.#receive(String(data)));
    this.#socket.on('pong', () => (this.#unanswered = 0));
    this.#socket.on('unexpected-response', (_, { statusCode }) => {
      if (TOO_MANY.includes(statusCode ?? 0)) pool.stayWithOthers(this);
      this.close(handshakeRefused(statusCode));
    });
    this.#socket.on('error', (error) => (this.#fault ??= this.#describe(error)));
    this.#socket.on('close', () => {
      pool.deadlines.clear(deadline);
      this.close(this.#fault ?? failureOf('reset'));
    });
  }

  get load() {
    return this.#byId.size;
  }

  /** Whether another request would not wait behind slow ones. @param {boolean} isBatch @param {number} nowUs */
  isFree(isBatch, nowUs) {
    if (isBatch || this.load === 0) return this.load === 0;
    const isStalled = this.#isOpen && nowUs - this.#waitsSinceUs > STALLED_MS * 1000;
    return !isStalled && this.#batches === 0 && this.load < REQUESTS_PER_SOCKET;
  }

  get isIdle() {
    return this.load === 0 && this.#listeners.size === 0;
  }

  /** @param {WsExchange} exchange sent now, or when the connection is open */
  post(exchange) {
    exchange.connection = this;
    if (this.load === 0) this.#waitsSinceUs = this.#pool.clock.nowUs();
    if (exchange.isBatch) this.#batches += 1;
    for (const id of exchange.ids) this.#byId.set(id, exchange);
    if (this.#isOpen) this.#send(exchange);
  }

  /** Takes its requests away. None was sent: it never opened. @returns {WsExchange[]} */
  takeAll() {
    const waiting = [...new Set(this.#byId.values())];
    for (const exchange of waiting) this.#forget(exchange);
    return waiting;
  }

  get isOpen() {
    return this.#isOpen;
  }

  /** A late answer has an unknown id. @param {WsExchange} exchange has timed out */
  giveUp(exchange) {
    this.#forget(exchange);
    if (!this.#isOpen) return;
    this.#timedOut += exchange.ids.length;
    // With so many unanswered requests the endpoint may be gone. Other deadlines of this turn expire first.
    if (this.#timedOut < this.load) return;
    this.#pool.connections.delete(this);
    setImmediate(() => this.close());
  }

  /** @param {Listener} listener */
  #listen(listener) {
    this.#listeners.add(listener);
    listener.end = (body) => {
      const wasListening = this.#listeners.delete(listener);
      if (wasListening && this.#isOpen && body !== undefined) this.#socket.send(body);
    };
  }

  /** @param {WsExchange} exchange */
  #send(exchange) {
    if (exchange.onSent?.() !== false) return this.#socket.send(exchange.body);
    this.#forget(exchange);
    exchange.fail(failureOf('not_sent'));
  }

  /** @param {string} text */
  #receive(text) {
    if (this.#isGone) return;
    this.#pool.stats.bytesReceived += Buffer.byteLength(text);
    this.#timedOut = 0;
    this.#unanswered = 0;
    this.#waitsSinceUs = this.#pool.clock.nowUs();
    const exchange = this.#byId.get(Number(FIRST_ID.exec(text)?.[1])) ?? this.#whose(text);
    if (exchange === undefined) return;
    this.#forget(exchange);
    // At once, because the first notification may follow immediately.
    if (exchange.listener !== null) this.#listen(exchange.listener);
    exchange.succeed({ status: 200, text, retryAfterMs: null });
  }

  #pingLater() {
    const { clock, timeoutMs } = this.#pool;
    this.#stopPings = clock.after(() => {
      const silentMs = this.#unanswered * PING_EVERY_MS;
      // Some nodes answer one request after the other, and pings only then: a slow request has its own time limit.
      if (silentMs >= (this.load === 0 ? SILENT_MS : Math.max(SILENT_MS, timeoutMs)))
        return this.close(new TransportError(`connection lost: no answer to pings for ${silentMs / 1000} s`, 'reset'));
      this.#unanswered += 1;
      this.#socket.ping();
      this.#pingLater();
    }, PING_EVERY_MS);
  }

  /** A message without ids goes to the listeners. @param {string} text @returns {WsExchange | undefined} undefined: no request's */
  #whose(text) {
    const ids = idsIn(text);
    if (ids.length === 0) for (const { onPush } of this.#listeners) onPush(text);
    return ids.map((id) => this.#byId.get(id)).find((exchange) => exchange !== undefined);
  }

  /** @param {WsExchange} exchange */
  #forget({ ids, isBatch }) {
    if (isBatch && this.#byId.has(ids[0])) this.#batches -= 1;
    for (const id of ids) this.#byId.delete(id);
  }

  /** @param {Error & {code?: string}} error of the socket, or of the protocol */
  #describe(error) {
    if (error.code === undefined) return new TransportError(oneLine(error.message), 'bad_response', error);
    if (!error.code.startsWith('WS_ERR_')) return asTransportError(error);
    const words = `it sent an invalid WebSocket message, or one larger than ${this.#pool.options.maxPayload} bytes`;
    return new TransportError(words, 'bad_response', error);
  }

  /** @param {TransportError} [error] the failure of its requests */
  close(error = failureOf('reset')) {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#isOpen = false;
    this.#stopPings();
    this.#socket.close();
    this.#socket.terminate();
    this.#pool.connections.delete(this);
    // Each request gets an error object of its own, because callers extend the message.
    const reason = error.code.replace('transport_', '');
    for (const exchange of new Set(this.#byId.values()))
      exchange.fail(new TransportError(error.message, reason, error));
    if (!this.#pool.isClosed) for (const { onLost } of this.#listeners) onLost(error);
  }
}

/** @param {number | undefined} status */
function handshakeRefused(status) {
  const isHttp = HTTP_ONLY.includes(status ?? 0);
  const hint = isHttp
    ? 'it serves no WebSockets there: give its http:// URL, or the port of its WebSockets'
    : `check ${status === 401 || status === 403 ? 'its credentials' : 'the URL'}`;
  return new TransportError(`it answers the WebSocket handshake with HTTP ${status}: ${hint}`, 'handshake');
}

/** @param {TransportOptions} options @returns {Transport} */
export function createWsTransport(options) {
  const pool = new WsPool(options);
  return {
    post: (body, onSent) => pool.post(body, onSent),
    subscribe: async (body, onPush, onLost) => {
      const listener = { onPush, onLost, end: () => {} };
      const { text } = await pool.post(body, undefined, listener);
      return { text, end: listener.end };
    },
    stats: () => ({ ...pool.stats }),
    closeIdle: async () => pool.closeIdle(),
    close: async () => pool.close(),
  };
}

/** An exchange with its ids, and a listener that is added to the connection with the answer. */
class WsExchange extends Exchange {
  /** @type {Listener | null} */
  listener = null;
  ids = idsIn(this.body);
  isBatch = this.ids.length > 1;
}

/** The connections to one endpoint. */
class WsPool {
  stats = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
  isClosed = false;
  /** @type {Set<WsConnection>} */
  connections = new Set();
  #maxConnections;

  /** @param {TransportOptions} options */
  constructor({ url, connections, timeoutMs, maxBodyBytes = MAX_BODY_BYTES, headers, insecure = false, clock }) {
    this.clock = clock ?? createClock();
    this.timeoutMs = timeoutMs;
    this.address = new URL(url);
    this.address.username = '';
    this.address.password = '';
    this.#maxConnections = connections;
    this.deadlines = new Deadlines(this.clock, timeoutMs);
    this.options = {
      headers: ownHeaders(url, headers),
      rejectUnauthorized: !insecure,
      // Compression costs more CPU than it saves on the short messages of JSON-RPC.
      perMessageDeflate: false,
      // A larger answer ends the connection.
      maxPayload: maxBodyBytes,
    };
  }

  /**
   * @param {string} body
   * @param {OnSent} [onSent]
   * @param {Listener | null} [listener]
   * @returns {Promise<Reply>} rejects with TransportError
   */
  post(body, onSent, listener = null) {
    this.stats.requests += 1;
    if (this.isClosed) return Promise.reject(failureOf('closed'));
    return new Promise((resolve, reject) => {
      const exchange = new WsExchange(body, onSent, this.deadlines, resolve, reject);
      exchange.listener = listener;
      this.#connectionFor(exchange).post(exchange);
    });
  }

  /** @param {WsExchange} exchange @returns {WsConnection} the free one with the fewest requests, or a new one */
  #connectionFor({ isBatch }) {
    const nowUs = this.clock.nowUs();
    /** @type {WsConnection | null} */
    let free = null;
    /** @type {WsConnection | null} */
    let least = null;
    for (const connection of this.connections) {
      if (least === null || connection.load < least.load) least = connection;
      if (connection.isFree(isBatch, nowUs) && (free === null || connection.load < free.load)) free = connection;
    }
    if (free !== null) return free;
    if (least !== null && this.connections.size >= this.#maxConnections) return least;
    const opened = new WsConnection(this);
    this.connections.add(opened);
    return opened;
  }

  /** The server allows no more connections: the requests go to those that are open, if any is. @param {WsConnection} refused */
  stayWithOthers(refused) {
    const open = [...this.connections].filter(({ isOpen }) => isOpen);
    if (open.length === 0) return;
    this.#maxConnections = open.length;
    for (const exchange of refused.takeAll()) open.reduce((a, b) => (b.load < a.load ? b : a)).post(exchange);
  }

  closeIdle() {
    for (const connection of this.connections) if (connection.isIdle) connection.close();
  }

  close() {
    this.isClosed = true;
    for (const connection of this.connections) connection.close(failureOf('closed'));
    this.deadlines.stop();
  }
}
