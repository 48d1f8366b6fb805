import { isLost } from '../chain/passing.js';
import { ProtocolError, RpcError, TransportError } from '../errors.js';

/**
 * How the endpoints of a run are, as all of its threads see it: a few words of shared memory for each. Whoever loses a
 * request leaves the endpoint for all at once; src/run/monitor.js finds out when it is back.
 */

export const UP = 0;
/** It does not answer, or says that it is not ready. */
export const AWAY = 1;
/** It answers, and does not have blocks that others have had for a while. */
export const BEHIND = 2;

/** @typedef {typeof UP | typeof AWAY | typeof BEHIND} State */

/** What is kept of each: two instants, its state and a number. */
const BYTES_EACH = 2 * BigInt64Array.BYTES_PER_ELEMENT + 2 * Int32Array.BYTES_PER_ELEMENT;

/** One that has refused so many transactions in a row, or has not answered them, is sent none while others take them. */
const MOST_REFUSALS = 3;

/** After so long it is tried with one. */
const TRY_AGAIN_US = 10_000_000;

export class Health {
  #states;
  #leftAtUs;
  #refusals;
  #refusedAtUs;

  /** @param {SharedArrayBuffer} shared as another thread's Health has it */
  constructor(shared) {
    this.shared = shared;
    const count = shared.byteLength / BYTES_EACH;
    this.#leftAtUs = new BigInt64Array(shared, 0, count);
    this.#refusedAtUs = new BigInt64Array(shared, 8 * count, count);
    this.#states = new Int32Array(shared, 16 * count, count);
    this.#refusals = new Int32Array(shared, 20 * count, count);
  }

  /** @param {number} endpoints all of which are taken to be up */
  static of(endpoints) {
    return new Health(new SharedArrayBuffer(endpoints * BYTES_EACH));
  }

  get count() {
    return this.#states.length;
  }

  /** @param {number} index @returns {State} */
  stateOf(index) {
    return /** @type {State} */ (Atomics.load(this.#states, index));
  }

  /** @param {number} index @param {State} state @returns {State} that it was in */
  set(index, state) {
    const before = Atomics.exchange(this.#states, index, state);
    // What it refused while it was going says nothing of what it takes now.
    if (state === UP && before !== UP) this.took(index);
    return /** @type {State} */ (before);
  }

  /** A request to it was lost. @param {number} index @param {number} nowUs */
  leave(index, nowUs) {
    // The instant first: who sees the state is to see since when.
    if (this.stateOf(index) === UP) Atomics.store(this.#leftAtUs, index, BigInt(nowUs));
    Atomics.store(this.#states, index, AWAY);
  }

  /** When a request to it was lost last. @param {number} index */
  leftAtUs(index) {
    return Number(Atomics.load(this.#leftAtUs, index));
  }

  /** Whether what waits at it is to go elsewhere. @param {number} index */
  isLeft(index) {
    return this.stateOf(index) === AWAY && this.#states.some((_, other) => this.stateOf(other) === UP);
  }

  /** It does not take a transaction, though it is there. @param {number} index @param {number} nowUs */
  refused(index, nowUs) {
    Atomics.store(this.#refusedAtUs, index, BigInt(nowUs));
    Atomics.add(this.#refusals, index, 1);
  }

  /** It has taken a transaction, or had something to say of it. @param {number} index */
  took(index) {
    if (Atomics.load(this.#refusals, index) !== 0) Atomics.store(this.#refusals, index, 0);
  }

  /** Whether it takes none of late. @param {number} index */
  takesNone(index) {
    return Atomics.load(this.#refusals, index) >= MOST_REFUSALS;
  }

  /**
   * Whether the next transaction is to go elsewhere. Whoever asks when it is time to try again is told no, the others yes.
   * @param {number} index
   * @param {number} nowUs
   */
  isSpared(index, nowUs) {
    if (!this.takesNone(index)) return false;
    const lastUs = Atomics.load(this.#refusedAtUs, index);
    if (nowUs - Number(lastUs) < TRY_AGAIN_US) return true;
    return Atomics.compareExchange(this.#refusedAtUs, index, lastUs, BigInt(nowUs)) !== lastUs;
  }
}

/** What nodes answer that are not ready yet. */
const NOT_READY = /bootstrapp|still starting|not ready/i;

/** A gateway without a node behind it, or a node that is not ready: AvalancheGo has no such page before it has a chain. */
const AWAY_STATUS = Object.freeze([404, 502, 503, 504]);

/**
 * Whether the endpoint is to be left for this. One that takes its time may just have much to do: that is for the
 * monitor to find out.
 * @param {unknown} error
 */
export function isGone(error) {
  if (error instanceof TransportError) return isLost(error) && error.code !== 'transport_timeout';
  if (error instanceof RpcError) return NOT_READY.test(error.rpcMessage);
  return error instanceof ProtocolError && AWAY_STATUS.includes(error.status);
}

/**
 * Whether an endpoint would not take a transaction, whatever it is: where it has fault to find with that one, or too much
 * to do, another one may be taken.
 * @param {unknown} error of one that is there
 */
export function isRefusal(error) {
  if (error instanceof TransportError) return error.code === 'transport_timeout';
  // Without other ways to send one it can still take them.
  if (error instanceof RpcError) return error.rpcCode === NO_METHOD && error.method === 'eth_sendRawTransaction';
  return error instanceof ProtocolError && error.status !== TOO_MANY;
}

/** The JSON-RPC error code for a method that is not there. */
const NO_METHOD = -32601;

/** The HTTP status of an endpoint that is asked too much. */
const TOO_MANY = 429;

/** So many looks at each endpoint are remembered. */
const REMEMBERED = 16;

/** A block that another endpoint has had for so long is missing. Shorter than what src/inclusion takes for lost blocks. */
const LAG_MS = 3000;

/** What an endpoint said before it went away counts for so long. */
const FORGOTTEN_MS = 30_000;

/** The heads of all endpoints, as they said at which instants: tells who is behind. */
export class Heads {
  /** Of each endpoint, in the order of time, with numbers that do not fall. @type {Array<Array<{number: number, atUs: number}>>} */
  #seen;

  /** @param {number} endpoints */
  constructor(endpoints) {
    this.#seen = Array.from({ length: endpoints }, () => []);
  }

  /** @param {number} index @param {number} number @param {number} atUs when it was answered */
  note(index, number, atUs) {
    const seen = this.#seen[index];
    // Blocks are gone, there at least.
    if (number < (seen.at(-1)?.number ?? 0)) seen.length = 0;
    seen.push({ number, atUs });
    if (seen.length > REMEMBERED) seen.shift();
  }

  /** @param {number} index @param {number} askedAtUs when it was asked */
  isBehind(index, askedAtUs) {
    const own = this.#seen[index].at(-1)?.number ?? 0;
    const untilUs = askedAtUs - LAG_MS * 1000;
    return this.#seen.some((seen, other) => {
      const known = seen.findLast(({ atUs }) => atUs <= untilUs);
      const isForgotten = (seen.at(-1)?.atUs ?? 0) < askedAtUs - FORGOTTEN_MS * 1000;
      return other !== index && known !== undefined && !isForgotten && known.number > own;
    });
  }

  /** The highest that any endpoint has said. @param {number} nowUs */
  newest(nowUs) {
    const last = this.#seen.flatMap((seen) => seen.at(-1) ?? []);
    return Math.max(0, ...last.filter(({ atUs }) => atUs >= nowUs - FORGOTTEN_MS * 1000).map(({ number }) => number));
  }

  /** What an endpoint has said last. @param {number} index */
  of(index) {
    return this.#seen[index].at(-1)?.number ?? 0;
  }
}
