import { brotliDecompressSync } from 'node:zlib';
import { keccak256 } from 'ethers/crypto';
import { parseJson } from '../chain/json.js';
import { backOffMs } from '../chain/retries.js';
import { displayUrl, secretsOf } from '../chain/rpc.js';
import { within } from '../clock.js';
import { UnavailableError, oneLine } from '../errors.js';
import { webSocketClass } from '../web-socket.js';

/**
 * The preconfirmations of a sequencer (--flashblocks). Two kinds of web sockets give them: the feed of a block builder
 * (rollup-boost, op-rbuilder), which sends each flashblock as JSON or as JSON compressed with Brotli (RFC 7932), and a node
 * with the subscription newFlashblockTransactions, which sends hashes. A feed speaks first; who is silent is asked to
 * subscribe.
 *
 * @import { WebSocket } from 'ws'
 * @import { Clock } from '../contracts/common.d.ts'
 *
 * @typedef {{url: string, insecure: boolean}} FeedAddress plain data
 */

const SUBSCRIPTION = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newFlashblockTransactions"]}';

/** A feed sends about five flashblocks a second. */
const SILENT_MS = 1000;
/** Time between pings; a connection on which nothing was heard for twice as long is lost. */
const PING_EVERY_MS = 10_000;
/** Longest message, also when it is decompressed: a flashblock has a part of a block. */
const MOST_BYTES = 8 * 1024 * 1024;

export class FlashblockFeed {
  /** Since when nothing was missed; Infinity: it is not connected. */
  sinceUs = Infinity;
  #address;
  #options;
  /** @type {WebSocket | null} */
  #socket = null;
  #stopTimer = () => {};
  #heardAtUs = 0;
  #tries = 0;
  #silentMs = SILENT_MS;
  #isClosed = false;
  #onAnswer = /** @type {(why: string | null) => void} */ (() => {});

  /**
   * @param {FeedAddress} address
   * @param {object} options
   * @param {Clock} options.clock
   * @param {(hashes: string[]) => void} options.onHashes transactions that were preconfirmed, those of others included
   * @param {(why: string) => void} options.onLost each time; it is connected again
   */
  constructor(address, options) {
    this.#address = address;
    this.#options = options;
  }

  /**
   * Connects, now and after each loss, until it is closed.
   * @param {number} [timeoutMs]
   * @returns {Promise<string | null>} why there are no preconfirmations yet; null: there are
   */
  open(timeoutMs = PING_EVERY_MS) {
    const { clock } = this.#options;
    const answer = new Promise((/** @type {(why: string | null) => void} */ resolve) => (this.#onAnswer = resolve));
    this.#silentMs = Math.min(SILENT_MS, timeoutMs / 2);
    this.#connect();
    return within(clock, timeoutMs, answer, () => this.#named(`no flashblock within ${timeoutMs / 1000} s`));
  }

  /** Closes it when the run ends. @param {AbortSignal} signal @param {number} [timeoutMs] @returns {Promise<string | null>} as open() */
  async openUnless(signal, timeoutMs) {
    const close = () => this.close();
    signal.addEventListener('abort', close, { once: true });
    const why = signal.aborted ? null : await this.open(timeoutMs);
    signal.removeEventListener('abort', close);
    return why;
  }

  #connect() {
    const { clock } = this.#options;
    const socket = new (webSocketClass())(this.#address.url, {
      rejectUnauthorized: !this.#address.insecure,
      maxPayload: MOST_BYTES,
      handshakeTimeout: PING_EVERY_MS,
    });
    this.#socket = socket;
    let why = 'connection lost';
    socket.on('open', () => {
      this.#heardAtUs = clock.nowUs();
      this.#stopTimer = clock.after(() => {
        if (this.sinceUs === Infinity) socket.send(SUBSCRIPTION);
        this.#pingLater(socket);
      }, this.#silentMs);
    });
    socket.on('message', (/** @type {Buffer} */ data) => {
      try {
        this.#take(data);
      } catch (error) {
        why = /** @type {Error} */ (error).message;
        socket.terminate();
      }
    });
    socket.on('pong', () => (this.#heardAtUs = clock.nowUs()));
    // The name of a host may have several addresses.
    socket.on('error', (/** @type {AggregateError} */ error) => (why = (error.errors?.at(-1) ?? error).message));
    socket.on('close', () => this.#lost(why));
  }

  close() {
    this.#isClosed = true;
    this.#onAnswer(this.#named('closed'));
    this.#stopTimer();
    this.#socket?.terminate();
  }

  /** @param {WebSocket} socket */
  #pingLater(socket) {
    const { clock } = this.#options;
    this.#stopTimer = clock.after(() => {
      if (clock.nowUs() - this.#heardAtUs >= 2 * PING_EVERY_MS * 1000) return socket.terminate();
      socket.ping();
      this.#pingLater(socket);
    }, PING_EVERY_MS);
  }

  /** @param {Buffer} data @throws {Error} it is no feed */
  #take(data) {
    const { clock, onHashes } = this.#options;
    const message = parsed(data);
    if ((message?.error ?? null) !== null)
      throw new Error(`no subscription newFlashblockTransactions: ${oneLine(message.error?.message, 100)}`);
    const hashes = hashesIn(message);
    if (hashes === null && message?.id !== 1) return;
    this.#heardAtUs = clock.nowUs();
    if (this.sinceUs === Infinity) {
      this.sinceUs = this.#heardAtUs;
      this.#tries = 0;
      this.#onAnswer(null);
    }
    if (hashes !== null) onHashes(hashes);
  }

  /** @param {string} why */
  #lost(why) {
    this.#stopTimer();
    const wasOpen = this.sinceUs < Infinity;
    this.sinceUs = Infinity;
    if (this.#isClosed) return;
    this.#tries += 1;
    this.#onAnswer(this.#named(why));
    if (wasOpen) this.#options.onLost(this.#named(why));
    this.#stopTimer = this.#options.clock.after(() => this.#connect(), backOffMs(this.#tries, Math.random));
  }

  /** @param {string} why */
  #named(why) {
    const url = new URL(this.#address.url);
    return `${displayUrl(url)}: ${oneLine(why, 200, secretsOf(url))}`;
  }
}

/** @param {Buffer} data @returns {any} @throws {Error} */
function parsed(data) {
  const isPlain = data[0] === 0x7b || data[0] === 0x5b; // { or [
  try {
    return parseJson(String(isPlain ? data : brotliDecompressSync(data, { maxOutputLength: MOST_BYTES })));
  } catch {
    throw new Error('it sends what is neither JSON nor JSON compressed with Brotli');
  }
}

/** @param {any} message @returns {string[] | null} null: it is no flashblock */
function hashesIn(message) {
  if (message?.method === 'eth_subscription')
    return [message.params?.result].flat().map((one) => String(one?.hash ?? one).toLowerCase());
  const transactions = message?.diff?.transactions;
  if (!Array.isArray(transactions)) return null;
  // Some builders list the receipts by hash, which saves hashing what are mostly transactions of others.
  const known = Object.keys(message.metadata?.receipts ?? {});
  return known.length >= transactions.length ? known.map((hash) => hash.toLowerCase()) : transactions.map(keccak256);
}

/**
 * @param {FeedAddress} address
 * @param {Clock} clock
 * @param {number} timeoutMs
 * @param {AbortSignal} signal
 * @throws {UnavailableError} it gives no preconfirmations
 */
export async function checkFeed(address, clock, timeoutMs, signal) {
  const feed = new FlashblockFeed(address, { clock, onHashes: () => {}, onLost: () => {} });
  const why = await feed.openUnless(signal, timeoutMs);
  feed.close();
  if (why !== null && !signal.aborted)
    throw new UnavailableError(
      `${why}; --flashblocks takes a feed of flashblocks, or a node with the subscription newFlashblockTransactions`,
    );
}
