import { WebSocket } from 'undici';
import { TransportError } from '../errors.js';
import { asTransportError, bodyTooLarge } from './http.js';
import { NO_ID, firstId, outline } from './ws-messages.js';

/**
 * @import { WsExchange, WsPool } from './ws.js'
 * @import { Duplex } from 'node:stream'
 * @import { Dispatcher } from 'undici'
 */

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
