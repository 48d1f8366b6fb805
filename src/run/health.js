import { isLost } from '../chain/passing.js';
import { ProtocolError, RpcError, TransportError } from '../errors.js';

/**
 * How the endpoints of a run are, as all of its threads see it: one word of shared memory for each. Whoever loses a
 * request leaves the endpoint for all at once; src/run/monitor.js finds out when it is back.
 */

export const UP = 0;
/** It does not answer, or says that it is not ready. */
export const AWAY = 1;
/** It answers, and does not have blocks that others have had for a while. */
export const BEHIND = 2;

/** @typedef {typeof UP | typeof AWAY | typeof BEHIND} State */

export class Health {
  #states;

  /** @param {SharedArrayBuffer} shared as another thread's Health has it */
  constructor(shared) {
    this.shared = shared;
    this.#states = new Int32Array(shared);
  }

  /** @param {number} endpoints all of which are taken to be up */
  static of(endpoints) {
    return new Health(new SharedArrayBuffer(endpoints * Int32Array.BYTES_PER_ELEMENT));
  }

  get count() {
    return this.#states.length;
  }

  /** @param {number} index @returns {State} */
  stateOf(index) {
    return /** @type {State} */ (Atomics.load(this.#states, index));
  }

  /** @param {number} index @param {State} state */
  set(index, state) {
    Atomics.store(this.#states, index, state);
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
