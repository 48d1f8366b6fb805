import { isLost } from '../chain/retries.js';
import { toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError, TransportError } from '../errors.js';

/**
 * @import { Clock, Outage, Rpc } from '../types.d.ts'
 * @import { Finding } from './chain-identity.js'
 */

/**
 * When endpoints were left for the others, and for how long.
 *
 * @typedef {object} Event
 * @property {number} endpoint by its place
 * @property {boolean} isBack false: it was left
 * @property {number} atUs
 * @property {string} words
 *
 * @typedef {object} EndpointOutage of one endpoint
 * @property {number} left how often it was left
 * @property {number} awayUs for how long in all
 */

/** One that keeps coming and going must not fill the memory. */
const MOST_EVENTS = 200;

export class Outages {
  /** The first of them. @type {Event[]} */
  events = [];
  /** Since when an endpoint is left; null while it is used. @type {Array<number | null>} */
  #sinceUs;
  /** Those that are over, and how many there were. @type {EndpointOutage[]} */
  #known;
  /** @type {(event: Event) => void} */
  #onEvent = () => {};

  /** @param {number} endpoints */
  constructor(endpoints) {
    this.#sinceUs = Array(endpoints).fill(null);
    this.#known = Array.from({ length: endpoints }, () => ({ left: 0, awayUs: 0 }));
  }

  /** @param {(event: Event) => void} onEvent called for those that were as well */
  listen(onEvent) {
    this.events.forEach(onEvent);
    this.#onEvent = onEvent;
  }

  /** @param {number} index */
  isLeft(index) {
    return this.#sinceUs[index] !== null;
  }

  /** Unless it was before. @param {number} index @param {number} atUs @param {string} words why */
  leave(index, atUs, words) {
    if (this.isLeft(index)) return;
    this.#sinceUs[index] = atUs;
    this.#known[index].left += 1;
    this.tell(index, false, atUs, words);
  }

  /** If it was left. @param {number} index @param {number} atUs */
  comeBack(index, atUs) {
    const sinceUs = this.#sinceUs[index];
    if (sinceUs === null) return;
    this.#sinceUs[index] = null;
    this.#known[index].awayUs += atUs - sinceUs;
    this.tell(index, true, atUs, `after ${((atUs - sinceUs) / 1e6).toFixed(1)} s`);
  }

  /** @param {number} endpoint @param {boolean} isBack @param {number} atUs @param {string} words */
  tell(endpoint, isBack, atUs, words) {
    const event = { endpoint, isBack, atUs, words };
    if (this.events.length < MOST_EVENTS) this.events.push(event);
    this.#onEvent(event);
  }

  /** When all were left at once, as far as the events are kept. @param {number} loadStartUs */
  outages(loadStartUs) {
    /** @type {Set<number>} */
    const left = new Set();
    /** @type {Outage[]} */
    const outages = [];
    for (const { endpoint, isBack, atUs, words } of this.events) {
      const atMs = (atUs - loadStartUs) / 1000;
      const wereAll = left.size === this.#known.length;
      if (isBack) left.delete(endpoint);
      else left.add(endpoint);
      const areAll = left.size === this.#known.length;
      if (areAll && !wereAll) outages.push({ fromMs: atMs, words });
      if (wereAll && !areAll) outages[outages.length - 1].toMs = atMs;
    }
    return outages;
  }

  /**
   * @param {number} nowUs
   * @param {(index: number) => number | null} leftAtUs of one that is left, and it was not said here yet
   * @returns {EndpointOutage[]} by endpoint
   */
  upTo(nowUs, leftAtUs) {
    return this.#known.map(({ left, awayUs }, i) => {
      const newUs = this.isLeft(i) ? null : leftAtUs(i);
      const sinceUs = this.#sinceUs[i] ?? newUs ?? nowUs;
      return { left: left + (newUs === null ? 0 : 1), awayUs: awayUs + Math.max(0, nowUs - sinceUs) };
    });
  }
}

/**
 * How the endpoints of a run are, as all of its threads see it: a few words of shared memory for each. Whoever loses a
 * request leaves the endpoint for all at once; src/core/endpoint-health.js finds out when it is back.
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

/**
 * Looks after the endpoints of a run: asks each for its head about once a second, and says which does not answer and
 * which does again.
 *
 * @callback Examine whether an endpoint that answers may be used: asked before it is used again
 * @param {number} index
 * @param {number} head what it says
 * @param {boolean} isUp
 * @returns {Promise<Finding | null>} null: it may
 */

const LOOK_MS = 1000;

/** An endpoint that needs longer for its head is away. One under load may need some seconds. */
const ANSWER_MS = 5000;
/** An answer that is there already is read in that time, also where this process itself stood still. */
const READ_MS = 100;

/** Looks in a row that had an answer, but none of a node: an endpoint that is no more than that is away. */
const MOST_NONSENSE = 3;

/** How long is waited for the endpoints to have the same blocks, in milliseconds, and between two looks. */
const LEVEL_MS = 20_000;
const LEVEL_PAUSE_MS = 50;

export class Monitor {
  #rpcs;
  #health;
  #clock;
  #heads;
  #outages;
  #stopping = new AbortController();
  /** @type {(endpoint: number) => void} */
  #onRefusing = () => {};
  /** Looks in a row that had no answer of a node. @type {number[]} */
  #invalidAnswers;
  /** Which are another chain now, and it is said. @type {boolean[]} */
  #isOther;
  #checkIdentity;

  /** @param {{rpcs: Rpc[], health: Health, clock: Clock, examine?: Examine}} options */
  constructor({ rpcs, health, clock, examine = async () => null }) {
    this.#rpcs = rpcs;
    this.#health = health;
    this.#clock = clock;
    this.#heads = new Heads(rpcs.length);
    this.#isOther = rpcs.map(() => false);
    this.#invalidAnswers = rpcs.map(() => 0);
    this.#checkIdentity = examine;
    this.#outages = new Outages(rpcs.length);
  }

  begin() {
    this.#rpcs.forEach((_, index) => void this.#watch(index));
  }

  /**
   * @param {(event: Event) => void} onEvent called for those that were as well
   * @param {(endpoint: number) => void} [onRefusing] called again and again for one that takes no transactions
   */
  listen(onEvent, onRefusing = () => {}) {
    this.#outages.listen(onEvent);
    this.#onRefusing = onRefusing;
  }

  /** Before the way to them is closed: what is lost with that says nothing of them. */
  stop() {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    for (const index of this.#rpcs.keys()) {
      if (this.#health.takesNone(index)) this.#onRefusing(index);
      if (this.#health.stateOf(index) !== UP) this.#leave(index, '');
    }
  }

  get events() {
    return this.#outages.events;
  }

  /** Times when all were left. @param {number} loadStartUs @returns {Outage[]} */
  outages(loadStartUs) {
    return this.#outages.outages(loadStartUs);
  }

  /** @param {number} nowUs @returns {EndpointOutage[]} by endpoint */
  endpointOutages(nowUs) {
    // A thread may have left one since the last look.
    const isLeft = (/** @type {number} */ i) => !this.#stopping.signal.aborted && this.#health.stateOf(i) !== UP;
    return this.#outages.upTo(nowUs, (i) => (isLeft(i) ? this.#health.leftAtUs(i) : null));
  }

  /**
   * Waits until all that are up have what one of them has now: who looks at another one than before is not to see less.
   * @param {AbortSignal} signal
   */
  async waitUntilSynced(signal) {
    if (this.#rpcs.length === 1) return;
    await Promise.all(this.#those((index) => this.#health.stateOf(index) !== AWAY).map((index) => this.check(index)));
    const newest = this.#heads.newest(this.#clock.nowUs());
    const endUs = this.#clock.nowUs() + LEVEL_MS * 1000;
    const isBelow = (/** @type {number} */ index) =>
      this.#health.stateOf(index) === UP && this.#heads.of(index) < newest;
    for (let below = this.#those(isBelow); below.length > 0; below = this.#those(isBelow)) {
      if (signal.aborted || this.#clock.nowUs() > endUs) return;
      await this.#clock.sleep(LEVEL_PAUSE_MS, signal);
      await Promise.all(below.map((index) => this.check(index)));
    }
  }

  /** @param {(index: number) => boolean} isOne */
  #those(isOne) {
    return this.#rpcs.map((_, index) => index).filter(isOne);
  }

  /** @param {number} index */
  async #watch(index) {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.check(index);
      await this.#clock.sleep(LOOK_MS, signal);
    }
  }

  /** Asks an endpoint how it is. @param {number} index */
  async check(index) {
    const askedAtUs = this.#clock.nowUs();
    const isUp = this.#health.stateOf(index) === UP;
    const found = await this.#ask(index, isUp);
    if (this.#stopping.signal.aborted) return;
    if (this.#health.takesNone(index)) this.#onRefusing(index);
    // What was left meanwhile is examined before it is used again.
    if (found === null && isUp && this.#health.stateOf(index) !== UP) return;
    if (found !== null && typeof found !== 'string') this.#enterAs(index, found);
    else if (found !== null) this.#enter(index, AWAY, found, askedAtUs);
    else if (this.#heads.isBehind(index, askedAtUs)) this.#enter(index, BEHIND, 'it is behind the others');
    else this.#enter(index, UP, '');
  }

  /**
   * @param {number} index
   * @param {boolean} isUp
   * @returns {Promise<string | Finding | null>} why it is away, or not to be used
   */
  async #ask(index, isUp) {
    const answered = new AbortController();
    const late = this.#clock
      .sleep(ANSWER_MS, answered.signal)
      .then(() => this.#clock.sleep(READ_MS, answered.signal))
      .then(() => `no answer within ${ANSWER_MS / 1000} s`);
    const asked = this.#rpcs[index].call('eth_blockNumber', [], 'health').then(
      (answer) => this.#onAnswer(index, answer, isUp),
      (error) => this.#whyAway(index, error, isUp),
    );
    try {
      return await Promise.race([asked, late]);
    } finally {
      answered.abort();
    }
  }

  /**
   * One that has too much to do, or finds fault with the question, is there. One that goes on with what is no answer of a
   * node is not, and does not come back with that.
   * @param {number} index
   * @param {Error} error
   * @param {boolean} isUp
   */
  #whyAway(index, error, isUp) {
    const isNonsense = error instanceof ProtocolError || (error instanceof RpcError && error.isBusy);
    this.#invalidAnswers[index] = isNonsense ? this.#invalidAnswers[index] + 1 : 0;
    const isThere = isNonsense ? isUp && this.#invalidAnswers[index] < MOST_NONSENSE : error instanceof RpcError;
    return isThere && !isGone(error) ? null : this.#wordsOf(index, error);
  }

  /** Who has said it is known. @param {number} index @param {Error} error */
  #wordsOf(index, { message }) {
    const { display } = this.#rpcs[index];
    return message.startsWith(`${display} `)
      ? `it ${message.slice(display.length + 1)}`
      : message.replace(`${display}: `, '');
  }

  /** What another chain says of its head means nothing here. @param {number} index @param {unknown} answer @param {boolean} isUp */
  async #onAnswer(index, answer, isUp) {
    const head = headOf(answer);
    this.#invalidAnswers[index] = 0;
    const found = await this.#checkIdentity(index, head ?? 0, isUp).catch((error) => this.#wordsOf(index, error));
    // Without a head it cannot be behind.
    const isOurs = found === null || (typeof found !== 'string' && !found.isOther);
    if (head !== null && isOurs) this.#heads.note(index, head, this.#clock.nowUs());
    return found;
  }

  /** What is another chain is said once, though it was left before. @param {number} index @param {Finding} finding */
  #enterAs(index, { state, words, isOther }) {
    const isNews = isOther && !this.#isOther[index];
    if (isNews && this.#outages.isLeft(index)) this.#outages.tell(index, false, this.#clock.nowUs(), words);
    this.#isOther[index] ||= isOther;
    this.#enter(index, state, words);
  }

  /** @param {number} index @param {State} state that it was found in @param {string} words why @param {number} [atUs] since when */
  #enter(index, state, words, atUs = this.#clock.nowUs()) {
    // A thread of the load may have left it meanwhile.
    if (state !== UP || this.#health.stateOf(index) !== UP) this.#leave(index, words, atUs);
    this.#health.set(index, state);
    if (state !== UP) return;
    this.#isOther[index] = false;
    this.#outages.comeBack(index, this.#clock.nowUs());
  }

  /** @param {number} index @param {string} words why @param {number} [foundAtUs] */
  #leave(index, words, foundAtUs = this.#clock.nowUs()) {
    const isLeftByThread = this.#health.stateOf(index) !== UP;
    const atUs = isLeftByThread ? this.#health.leftAtUs(index) : foundAtUs;
    this.#outages.leave(index, atUs, words || 'a request to it was lost');
  }
}

/** @param {unknown} answer @returns {number | null} */
function headOf(answer) {
  try {
    return toNumber(answer);
  } catch {
    return null;
  }
}
