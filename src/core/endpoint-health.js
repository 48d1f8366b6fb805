import { isLost } from '../chain/retries.js';
import { toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError, TransportError } from '../errors.js';

/**
 * @import { Clock, Outage, Rpc } from '../types.d.ts'
 * @import { Finding } from './chain-identity.js'
 */

/**
 * The outages of the endpoints of a run.
 *
 * @typedef {object} Event
 * @property {number} endpoint index of the endpoint
 * @property {boolean} isBack false: it went down
 * @property {number} atUs
 * @property {string} words
 *
 * @typedef {object} EndpointOutage
 * @property {number} count number of outages
 * @property {number} downUs their total time
 */

/** A limit of memory for unstable endpoints. */
const MAX_EVENTS = 200;

class Outages {
  /** @type {Event[]} */
  events = [];
  /** Null: the endpoint is up. @type {Array<number | null>} */
  #sinceUs;
  /** By endpoint; the time without the current outage. @type {EndpointOutage[]} */
  #known;
  /** @type {(event: Event) => void} */
  #onEvent = () => {};

  /** @param {number} endpoints */
  constructor(endpoints) {
    this.#sinceUs = Array(endpoints).fill(null);
    this.#known = Array.from({ length: endpoints }, () => ({ count: 0, downUs: 0 }));
  }

  /** @param {(event: Event) => void} onEvent also called for earlier events */
  listen(onEvent) {
    this.events.forEach(onEvent);
    this.#onEvent = onEvent;
  }

  /** @param {number} index */
  isDown(index) {
    return this.#sinceUs[index] !== null;
  }

  /** @param {number} index @param {number} atUs @param {string} words why */
  enterDown(index, atUs, words) {
    if (this.isDown(index)) return;
    this.#sinceUs[index] = atUs;
    this.#known[index].count += 1;
    this.addEvent(index, false, atUs, words);
  }

  /** @param {number} index @param {number} atUs */
  enterUp(index, atUs) {
    const sinceUs = this.#sinceUs[index];
    if (sinceUs === null) return;
    this.#sinceUs[index] = null;
    this.#known[index].downUs += atUs - sinceUs;
    this.addEvent(index, true, atUs, `after ${((atUs - sinceUs) / 1e6).toFixed(1)} s`);
  }

  /** @param {number} endpoint @param {boolean} isBack @param {number} atUs @param {string} words */
  addEvent(endpoint, isBack, atUs, words) {
    const event = { endpoint, isBack, atUs, words };
    if (this.events.length < MAX_EVENTS) this.events.push(event);
    this.#onEvent(event);
  }

  /** The times when all endpoints were down, as far as the events are kept. @param {number} loadStartUs */
  outages(loadStartUs) {
    /** @type {Set<number>} */
    const down = new Set();
    /** @type {Outage[]} */
    const outages = [];
    for (const { endpoint, isBack, atUs, words } of this.events) {
      const atMs = (atUs - loadStartUs) / 1000;
      const wereAll = down.size === this.#known.length;
      if (isBack) down.delete(endpoint);
      else down.add(endpoint);
      const areAll = down.size === this.#known.length;
      if (areAll && !wereAll) outages.push({ fromMs: atMs, words });
      if (wereAll && !areAll) outages[outages.length - 1].toMs = atMs;
    }
    return outages;
  }

  /**
   * @param {number} nowUs
   * @param {(index: number) => number | null} downSinceUs start of an outage that was not entered yet
   * @returns {EndpointOutage[]} by endpoint
   */
  totals(nowUs, downSinceUs) {
    return this.#known.map(({ count, downUs }, i) => {
      const newUs = this.isDown(i) ? null : downSinceUs(i);
      const sinceUs = this.#sinceUs[i] ?? newUs ?? nowUs;
      return { count: count + (newUs === null ? 0 : 1), downUs: downUs + Math.max(0, nowUs - sinceUs) };
    });
  }
}

/**
 * The states of the endpoints in memory shared by all threads. A thread that loses a request marks the endpoint as down
 * for all; the Monitor finds out when it is up again.
 */

export const UP = 0;
/** It does not answer, or is not ready. */
export const DOWN = 1;
/** It answers, but lacks blocks that other endpoints have had for LAG_MS. */
export const BEHIND = 2;

/** @typedef {typeof UP | typeof DOWN | typeof BEHIND} State */

/** Two times, a state and a counter each. */
const BYTES_EACH = 2 * BigInt64Array.BYTES_PER_ELEMENT + 2 * Int32Array.BYTES_PER_ELEMENT;

/** Transactions refused or unanswered in a row before an endpoint gets no more while others accept them. */
const MAX_REFUSALS = 3;

/** Then one transaction is tried again. */
const RETRY_US = 10_000_000;

export class Health {
  #states;
  #downSinceUs;
  #refusals;
  #refusedAtUs;

  /** @param {SharedArrayBuffer} shared of another thread */
  constructor(shared) {
    this.shared = shared;
    const count = shared.byteLength / BYTES_EACH;
    this.#downSinceUs = new BigInt64Array(shared, 0, count);
    this.#refusedAtUs = new BigInt64Array(shared, 8 * count, count);
    this.#states = new Int32Array(shared, 16 * count, count);
    this.#refusals = new Int32Array(shared, 20 * count, count);
  }

  /** @param {number} endpoints all of them up */
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

  /** @param {number} index @param {State} state @returns {State} the previous state */
  set(index, state) {
    const before = Atomics.exchange(this.#states, index, state);
    // Refusals before an outage do not count after it.
    if (state === UP && before !== UP) this.noteAccepted(index);
    return /** @type {State} */ (before);
  }

  /** A request was lost. @param {number} index @param {number} nowUs */
  markDown(index, nowUs) {
    // Stored first: another thread that sees the state must see its time.
    if (this.stateOf(index) === UP) Atomics.store(this.#downSinceUs, index, BigInt(nowUs));
    Atomics.store(this.#states, index, DOWN);
  }

  /** When the current outage began. @param {number} index */
  downSinceUs(index) {
    return Number(Atomics.load(this.#downSinceUs, index));
  }

  /** Whether pending requests should go to another endpoint. @param {number} index */
  shouldFailOver(index) {
    return this.stateOf(index) === DOWN && this.#states.some((_, other) => this.stateOf(other) === UP);
  }

  /** It refused a transaction, although it is up. @param {number} index @param {number} nowUs */
  noteRefused(index, nowUs) {
    Atomics.store(this.#refusedAtUs, index, BigInt(nowUs));
    Atomics.add(this.#refusals, index, 1);
  }

  /** It accepted a transaction or rejected it for a definite reason. @param {number} index */
  noteAccepted(index) {
    if (Atomics.load(this.#refusals, index) !== 0) Atomics.store(this.#refusals, index, 0);
  }

  /** @param {number} index */
  refusesTransactions(index) {
    return Atomics.load(this.#refusals, index) >= MAX_REFUSALS;
  }

  /**
   * Whether to skip it for the next transaction. When a retry is due, one caller gets false.
   * @param {number} index
   * @param {number} nowUs
   */
  isSkipped(index, nowUs) {
    if (!this.refusesTransactions(index)) return false;
    const lastUs = Atomics.load(this.#refusedAtUs, index);
    if (nowUs - Number(lastUs) < RETRY_US) return true;
    return Atomics.compareExchange(this.#refusedAtUs, index, lastUs, BigInt(nowUs)) !== lastUs;
  }
}

/** Error messages of nodes that are not ready. */
const NOT_READY = /bootstrapp|still starting|not ready/i;

/** Status of a gateway without a node, or of a node that is not ready (AvalancheGo: 404 before the chain exists). */
const DOWN_STATUS = Object.freeze([404, 502, 503, 504]);

/**
 * Whether an error means that the endpoint is down. A timeout does not: the endpoint may be busy, and the Monitor
 * checks it.
 * @param {unknown} error
 */
export function isDownError(error) {
  if (error instanceof TransportError) return isLost(error) && error.code !== 'transport_timeout';
  if (error instanceof RpcError) return NOT_READY.test(error.rpcMessage);
  return error instanceof ProtocolError && DOWN_STATUS.includes(error.status);
}

/**
 * Whether an endpoint that is up refuses all transactions. An error about the transaction or a busy endpoint does not
 * count.
 * @param {unknown} error
 */
export function isRefusal(error) {
  if (error instanceof TransportError) return error.code === 'transport_timeout';
  // It may still accept other methods of submission.
  if (error instanceof RpcError) return error.rpcCode === NO_METHOD && error.method === 'eth_sendRawTransaction';
  return error instanceof ProtocolError && error.status !== TOO_MANY;
}

/** JSON-RPC: method not found. */
const NO_METHOD = -32601;

/** HTTP: too many requests. */
const TOO_MANY = 429;

/** Heads kept per endpoint. */
const MAX_HEADS = 16;

/**
 * An endpoint is behind without a block that another one has had for so long. Shorter than the time after which
 * src/inclusion assumes lost blocks.
 */
const LAG_MS = 3000;

/** Heads older than this do not count. */
const MAX_HEAD_AGE_MS = 30_000;

/** The latest heads of all endpoints, to find those that are behind. */
export class Heads {
  /** By endpoint, in ascending order. @type {Array<Array<{number: number, atUs: number}>>} */
  #seen;

  /** @param {number} endpoints */
  constructor(endpoints) {
    this.#seen = Array.from({ length: endpoints }, () => []);
  }

  /** @param {number} index @param {number} number @param {number} atUs */
  note(index, number, atUs) {
    const seen = this.#seen[index];
    // A reorg at this endpoint.
    if (number < (seen.at(-1)?.number ?? 0)) seen.length = 0;
    seen.push({ number, atUs });
    if (seen.length > MAX_HEADS) seen.shift();
  }

  /** @param {number} index @param {number} askedAtUs time of the request */
  isBehind(index, askedAtUs) {
    const own = this.#seen[index].at(-1)?.number ?? 0;
    const untilUs = askedAtUs - LAG_MS * 1000;
    return this.#seen.some((seen, other) => {
      const known = seen.findLast(({ atUs }) => atUs <= untilUs);
      const isForgotten = (seen.at(-1)?.atUs ?? 0) < askedAtUs - MAX_HEAD_AGE_MS * 1000;
      return other !== index && known !== undefined && !isForgotten && known.number > own;
    });
  }

  /** @param {number} nowUs */
  newest(nowUs) {
    const last = this.#seen.flatMap((seen) => seen.at(-1) ?? []);
    return Math.max(
      0,
      ...last.filter(({ atUs }) => atUs >= nowUs - MAX_HEAD_AGE_MS * 1000).map(({ number }) => number),
    );
  }

  /** @param {number} index */
  of(index) {
    return this.#seen[index].at(-1)?.number ?? 0;
  }
}

/**
 * Requests the head of each endpoint about once a second, and enters outages and recoveries.
 *
 * @callback CheckIdentity checks whether an endpoint that answers can be used
 * @param {number} index
 * @param {number} head its newest block
 * @param {boolean} isUp
 * @returns {Promise<Finding | null>} null: yes
 */

const CHECK_INTERVAL_MS = 1000;

/** Time limit of a head request; under load it may take some seconds. */
const ANSWER_MS = 5000;
/** Extra time to read a response that has arrived while this process was blocked. */
const READ_MS = 100;

/** Invalid responses in a row before an endpoint is down. */
const MAX_INVALID_ANSWERS = 3;

/** Time limit and poll interval for the endpoints to reach the same block. */
const SYNC_MS = 20_000;
const SYNC_PAUSE_MS = 50;

export class Monitor {
  #rpcs;
  #health;
  #clock;
  #heads;
  #outages;
  #stopping = new AbortController();
  /** @type {(endpoint: number) => void} */
  #onRefusing = () => {};
  /** In a row, by endpoint. @type {number[]} */
  #invalidAnswers;
  /** Endpoints reported as another chain. @type {boolean[]} */
  #isOther;
  #checkIdentity;

  /** @param {{rpcs: Rpc[], health: Health, clock: Clock, checkIdentity?: CheckIdentity}} options */
  constructor({ rpcs, health, clock, checkIdentity = async () => null }) {
    this.#rpcs = rpcs;
    this.#health = health;
    this.#clock = clock;
    this.#heads = new Heads(rpcs.length);
    this.#isOther = rpcs.map(() => false);
    this.#invalidAnswers = rpcs.map(() => 0);
    this.#checkIdentity = checkIdentity;
    this.#outages = new Outages(rpcs.length);
  }

  begin() {
    this.#rpcs.forEach((_, index) => void this.#watch(index));
  }

  /**
   * @param {(event: Event) => void} onEvent also called for earlier events
   * @param {(endpoint: number) => void} [onRefusing] called repeatedly for an endpoint that refuses transactions
   */
  listen(onEvent, onRefusing = () => {}) {
    this.#outages.listen(onEvent);
    this.#onRefusing = onRefusing;
  }

  /** Called before the connections are closed, so that this is no outage. */
  stop() {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    for (const index of this.#rpcs.keys()) {
      if (this.#health.refusesTransactions(index)) this.#onRefusing(index);
      if (this.#health.stateOf(index) !== UP) this.#enterOutage(index, '');
    }
  }

  get events() {
    return this.#outages.events;
  }

  /** @param {number} loadStartUs @returns {Outage[]} */
  outages(loadStartUs) {
    return this.#outages.outages(loadStartUs);
  }

  /** @param {number} nowUs @returns {EndpointOutage[]} by endpoint */
  endpointOutages(nowUs) {
    // A thread may have marked one since the last check.
    const isDown = (/** @type {number} */ i) => !this.#stopping.signal.aborted && this.#health.stateOf(i) !== UP;
    return this.#outages.totals(nowUs, (i) => (isDown(i) ? this.#health.downSinceUs(i) : null));
  }

  /**
   * Waits until all endpoints that are up have the newest block, so that a read from another endpoint does not see
   * less.
   * @param {AbortSignal} signal
   */
  async waitUntilSynced(signal) {
    if (this.#rpcs.length === 1) return;
    await Promise.all(
      this.#indexesWhere((index) => this.#health.stateOf(index) !== DOWN).map((index) => this.check(index)),
    );
    const newest = this.#heads.newest(this.#clock.nowUs());
    const endUs = this.#clock.nowUs() + SYNC_MS * 1000;
    const isBelow = (/** @type {number} */ index) =>
      this.#health.stateOf(index) === UP && this.#heads.of(index) < newest;
    for (let below = this.#indexesWhere(isBelow); below.length > 0; below = this.#indexesWhere(isBelow)) {
      if (signal.aborted || this.#clock.nowUs() > endUs) return;
      await this.#clock.sleep(SYNC_PAUSE_MS, signal);
      await Promise.all(below.map((index) => this.check(index)));
    }
  }

  /** @param {(index: number) => boolean} isOne */
  #indexesWhere(isOne) {
    return this.#rpcs.map((_, index) => index).filter(isOne);
  }

  /** @param {number} index */
  async #watch(index) {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.check(index);
      await this.#clock.sleep(CHECK_INTERVAL_MS, signal);
    }
  }

  /** Checks an endpoint and enters its state. @param {number} index */
  async check(index) {
    const askedAtUs = this.#clock.nowUs();
    const isUp = this.#health.stateOf(index) === UP;
    const found = await this.#requestHead(index, isUp);
    if (this.#stopping.signal.aborted) return;
    if (this.#health.refusesTransactions(index)) this.#onRefusing(index);
    // Marked as down meanwhile: the next check tests its chain first.
    if (found === null && isUp && this.#health.stateOf(index) !== UP) return;
    if (found !== null && typeof found !== 'string') this.#enterFinding(index, found);
    else if (found !== null) this.#enter(index, DOWN, found, askedAtUs);
    else if (this.#heads.isBehind(index, askedAtUs)) this.#enter(index, BEHIND, 'it is behind the others');
    else this.#enter(index, UP, '');
  }

  /**
   * @param {number} index
   * @param {boolean} isUp
   * @returns {Promise<string | Finding | null>} why it is down or must not be used
   */
  async #requestHead(index, isUp) {
    const answered = new AbortController();
    const late = this.#clock
      .sleep(ANSWER_MS, answered.signal)
      .then(() => this.#clock.sleep(READ_MS, answered.signal))
      .then(() => `no answer within ${ANSWER_MS / 1000} s`);
    const asked = this.#rpcs[index].call('eth_blockNumber', [], 'health').then(
      (answer) => this.#onAnswer(index, answer, isUp),
      (error) => this.#whyDown(index, error, isUp),
    );
    try {
      return await Promise.race([asked, late]);
    } finally {
      answered.abort();
    }
  }

  /**
   * A busy endpoint, or one that answers with an error, is up. Repeated invalid responses mean down, and do not end an
   * outage.
   * @param {number} index
   * @param {Error} error
   * @param {boolean} isUp
   */
  #whyDown(index, error, isUp) {
    const isNonsense = error instanceof ProtocolError || (error instanceof RpcError && error.isBusy);
    this.#invalidAnswers[index] = isNonsense ? this.#invalidAnswers[index] + 1 : 0;
    const isThere = isNonsense ? isUp && this.#invalidAnswers[index] < MAX_INVALID_ANSWERS : error instanceof RpcError;
    return isThere && !isDownError(error) ? null : this.#messageOf(index, error);
  }

  /** Without the name of the endpoint. @param {number} index @param {Error} error */
  #messageOf(index, { message }) {
    const { display } = this.#rpcs[index];
    return message.startsWith(`${display} `)
      ? `it ${message.slice(display.length + 1)}`
      : message.replace(`${display}: `, '');
  }

  /** Ignores heads of another chain. @param {number} index @param {unknown} answer @param {boolean} isUp */
  async #onAnswer(index, answer, isUp) {
    const head = headOf(answer);
    this.#invalidAnswers[index] = 0;
    const found = await this.#checkIdentity(index, head ?? 0, isUp).catch((error) => this.#messageOf(index, error));
    const isOurs = found === null || (typeof found !== 'string' && !found.isOther);
    if (head !== null && isOurs) this.#heads.note(index, head, this.#clock.nowUs());
    return found;
  }

  /** Reports another chain once, even during an outage. @param {number} index @param {Finding} finding */
  #enterFinding(index, { state, words, isOther }) {
    const isNew = isOther && !this.#isOther[index];
    if (isNew && this.#outages.isDown(index)) this.#outages.addEvent(index, false, this.#clock.nowUs(), words);
    this.#isOther[index] ||= isOther;
    this.#enter(index, state, words);
  }

  /** @param {number} index @param {State} state @param {string} words why @param {number} [atUs] since when */
  #enter(index, state, words, atUs = this.#clock.nowUs()) {
    // A thread may have marked it as down meanwhile.
    if (state !== UP || this.#health.stateOf(index) !== UP) this.#enterOutage(index, words, atUs);
    this.#health.set(index, state);
    if (state !== UP) return;
    this.#isOther[index] = false;
    this.#outages.enterUp(index, this.#clock.nowUs());
  }

  /** @param {number} index @param {string} words why @param {number} [foundAtUs] */
  #enterOutage(index, words, foundAtUs = this.#clock.nowUs()) {
    const isEntered = this.#health.stateOf(index) !== UP;
    const atUs = isEntered ? this.#health.downSinceUs(index) : foundAtUs;
    this.#outages.enterDown(index, atUs, words || 'a request to it was lost');
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
