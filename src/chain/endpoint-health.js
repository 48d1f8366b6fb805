import { isLost } from './retries.js';
import { toNumber } from './rpc.js';
import { ProtocolError, RpcError, TransportError } from '../errors.js';

/**
 * The health of the endpoints as one thread sees it. A lost request marks an endpoint as down at once. A request for
 * its newest block about once a second finds what other requests do not show: it hangs, is behind the others, serves
 * another chain, or answers again.
 *
 * @import { Clock, Outage, Rpc } from '../types.d.ts'
 *
 * @typedef {typeof UP | typeof DOWN | typeof BEHIND} State
 *
 * @typedef {object} Finding
 * @property {State} state
 * @property {string} words why it is not up
 * @property {boolean} [isOther] it serves another chain
 *
 * @typedef {object} Event
 * @property {number} endpoint index of the endpoint
 * @property {boolean} isBack false: it went down
 * @property {number} atUs
 * @property {string} words
 */

export const UP = 'up';
/** It does not answer, or is not ready. */
export const DOWN = 'down';
/** It answers, but lacks blocks that other endpoints have had for LAG_MS. */
export const BEHIND = 'behind';

/** A limit of memory for unstable endpoints. */
const MAX_EVENTS = 200;

/** Transactions refused or unanswered in a row before an endpoint gets no more while others accept them. */
const MAX_REFUSALS = 3;

/** Then one transaction is tried again. */
const RETRY_US = 10_000_000;

/** The states of the endpoints, with their outages. */
export class Health {
  /** @type {Event[]} */
  events = [];
  /** @type {(event: Event) => void} */
  onEvent = () => {};
  /** Called after a state has changed. */
  onChange = () => {};
  #endpoints;
  #clock;

  /** @param {number} endpoints all of them up @param {Pick<Clock, 'nowUs'>} clock */
  constructor(endpoints, clock) {
    this.#clock = clock;
    this.#endpoints = Array.from({ length: endpoints }, () => ({
      state: /** @type {State} */ (UP),
      sinceUs: 0,
      outages: 0,
      downUs: 0,
      refusals: 0,
      refusedAtUs: 0,
      isOther: false,
    }));
  }

  get count() {
    return this.#endpoints.length;
  }

  /** @param {number} index */
  stateOf(index) {
    return this.#endpoints[index].state;
  }

  /** @param {number} index @param {Finding} finding @param {number} [atUs] since when */
  enter(index, { state, words, isOther = false }, atUs = this.#clock.nowUs()) {
    const one = this.#endpoints[index];
    const before = one.state;
    one.state = state;
    if (before === UP && state !== UP) {
      Object.assign(one, { sinceUs: atUs, outages: one.outages + 1 });
      this.#addEvent({ endpoint: index, isBack: false, atUs, words });
    } else if (before !== UP && state === UP) {
      // Refusals before an outage do not count after it.
      Object.assign(one, { downUs: one.downUs + atUs - one.sinceUs, refusals: 0, isOther: false });
      const seconds = ((atUs - one.sinceUs) / 1e6).toFixed(1);
      this.#addEvent({ endpoint: index, isBack: true, atUs, words: `after ${seconds} s` });
    } else if (isOther && !one.isOther) this.#addEvent({ endpoint: index, isBack: false, atUs, words });
    one.isOther ||= isOther;
    if (state !== before) this.onChange();
  }

  /** Whether pending requests should go to another endpoint. @param {number} index */
  shouldFailOver(index) {
    return this.stateOf(index) === DOWN && this.#endpoints.some(({ state }) => state === UP);
  }

  /** It refused a transaction, although it is up. @param {number} index */
  noteRefused(index) {
    const one = this.#endpoints[index];
    one.refusals += 1;
    one.refusedAtUs = this.#clock.nowUs();
  }

  /** It accepted a transaction or rejected it for a definite reason. @param {number} index */
  noteAccepted(index) {
    this.#endpoints[index].refusals = 0;
  }

  /** @param {number} index */
  refusesTransactions(index) {
    return this.#endpoints[index].refusals >= MAX_REFUSALS;
  }

  /** Whether to skip it for the next transaction. When a retry is due, one call gets false. @param {number} index */
  isSkipped(index) {
    if (!this.refusesTransactions(index)) return false;
    const nowUs = this.#clock.nowUs();
    const one = this.#endpoints[index];
    if (nowUs - one.refusedAtUs < RETRY_US) return true;
    one.refusedAtUs = nowUs;
    return false;
  }

  /** Number and total time of the outages, by endpoint. */
  totals() {
    const nowUs = this.#clock.nowUs();
    return this.#endpoints.map(({ state, sinceUs, outages, downUs }) => ({
      count: outages,
      downUs: downUs + (state === UP ? 0 : nowUs - sinceUs),
    }));
  }

  /** The times when all endpoints were down, as far as the events are kept. @param {number} loadStartUs */
  outages(loadStartUs) {
    /** @type {Set<number>} */
    const down = new Set();
    /** @type {Outage[]} */
    const outages = [];
    for (const { endpoint, isBack, atUs, words } of this.events) {
      const atMs = (atUs - loadStartUs) / 1000;
      const wereAll = down.size === this.count;
      if (isBack) down.delete(endpoint);
      else down.add(endpoint);
      const areAll = down.size === this.count;
      if (areAll && !wereAll) outages.push({ fromMs: atMs, words });
      if (wereAll && !areAll) outages[outages.length - 1].toMs = atMs;
    }
    return outages;
  }

  /** @param {Event} event */
  #addEvent(event) {
    if (this.events.length < MAX_EVENTS) this.events.push(event);
    this.onEvent(event);
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

/** JSON-RPC: method not found. */
const NO_METHOD = -32601;

/** HTTP: too many requests. */
const TOO_MANY = 429;

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

/** Heads kept per endpoint. */
const MAX_HEADS = 16;

/**
 * An endpoint is behind without a block that another one has had for so long. Shorter than the time after which
 * src/inclusion assumes lost blocks.
 */
const LAG_MS = 3000;

/** Heads older than this do not count. */
const MAX_HEAD_AGE_MS = 30_000;

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

/**
 * Requests the newest block of each endpoint about once a second.
 *
 * @callback CheckIdentity checks whether an endpoint that answers serves the chain of the run
 * @param {number} index
 * @param {number} head its newest block
 * @param {boolean} isUp
 * @returns {Promise<Finding | null>} null: yes
 */
export class Monitor {
  #rpcs;
  #health;
  #clock;
  #checkIdentity;
  #stopping = new AbortController();
  /** By endpoint: the latest heads in ascending order, and the invalid responses in a row. */
  #seen;

  /** @param {{rpcs: Rpc[], health: Health, clock: Clock, checkIdentity?: CheckIdentity}} options */
  constructor({ rpcs, health, clock, checkIdentity = async () => null }) {
    this.#rpcs = rpcs;
    this.#health = health;
    this.#clock = clock;
    this.#checkIdentity = checkIdentity;
    this.#seen = rpcs.map(() => ({
      heads: /** @type {Array<{number: number, atUs: number}>} */ ([]),
      invalidAnswers: 0,
    }));
  }

  begin() {
    this.#rpcs.forEach((_, index) => void this.#watch(index));
  }

  stop() {
    this.#stopping.abort();
  }

  /**
   * Waits until all endpoints that are up have the newest block, so that a read from another endpoint does not see
   * less.
   * @param {AbortSignal} signal
   */
  async waitUntilSynced(signal) {
    if (this.#rpcs.length === 1) return;
    const indexes = [...this.#rpcs.keys()];
    const checkAll = (/** @type {number[]} */ some) => Promise.all(some.map((index) => this.check(index)));
    await checkAll(indexes.filter((index) => this.#health.stateOf(index) !== DOWN));
    const newest = Math.max(0, ...indexes.map((index) => this.#newestOf(index, this.#clock.nowUs())));
    const endUs = this.#clock.nowUs() + SYNC_MS * 1000;
    for (;;) {
      const late = indexes.filter(
        (index) => this.#health.stateOf(index) === UP && (this.#seen[index].heads.at(-1)?.number ?? 0) < newest,
      );
      if (late.length === 0 || signal.aborted || this.#clock.nowUs() > endUs) return;
      await this.#clock.sleep(SYNC_PAUSE_MS, signal);
      await checkAll(late);
    }
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
    if (found !== null) this.#health.enter(index, found, found.state === DOWN ? askedAtUs : this.#clock.nowUs());
    // Marked as down meanwhile: the next check tests its chain first.
    else if (isUp && this.#health.stateOf(index) !== UP) return;
    else if (this.#isBehind(index, askedAtUs))
      this.#health.enter(index, { state: BEHIND, words: 'it is behind the others' });
    else this.#health.enter(index, { state: UP, words: '' });
  }

  /** @param {number} index @param {boolean} isUp @returns {Promise<Finding | null>} null: it can be used */
  async #requestHead(index, isUp) {
    const answered = new AbortController();
    const late = this.#clock
      .sleep(ANSWER_MS, answered.signal)
      .then(() => this.#clock.sleep(READ_MS, answered.signal))
      .then(() => downBecause(`no answer within ${ANSWER_MS / 1000} s`));
    const asked = this.#rpcs[index].call('eth_blockNumber', [], 'health').then(
      (answer) => this.#judgeHead(index, answer, isUp),
      (error) => this.#judgeError(index, error, isUp),
    );
    try {
      return await Promise.race([asked, late]);
    } finally {
      answered.abort();
    }
  }

  /** Ignores heads of another chain. @param {number} index @param {unknown} answer @param {boolean} isUp */
  async #judgeHead(index, answer, isUp) {
    const { heads } = this.#seen[index];
    this.#seen[index].invalidAnswers = 0;
    const number = headOf(answer);
    const found = await this.#checkIdentity(index, number ?? 0, isUp).catch((error) =>
      downBy(this.#rpcs[index], error),
    );
    if (number === null || found?.isOther === true || found?.state === DOWN) return found;
    // A reorg at this endpoint.
    if (number < (heads.at(-1)?.number ?? 0)) heads.length = 0;
    heads.push({ number, atUs: this.#clock.nowUs() });
    if (heads.length > MAX_HEADS) heads.shift();
    return found;
  }

  /**
   * A busy endpoint, or one that answers with an error, is up. Repeated invalid responses mean down, and do not end an
   * outage.
   * @param {number} index
   * @param {Error} error
   * @param {boolean} isUp
   */
  #judgeError(index, error, isUp) {
    const one = this.#seen[index];
    const isInvalid = error instanceof ProtocolError || (error instanceof RpcError && error.isBusy);
    one.invalidAnswers = isInvalid ? one.invalidAnswers + 1 : 0;
    const isThere = isInvalid ? isUp && one.invalidAnswers < MAX_INVALID_ANSWERS : error instanceof RpcError;
    return isThere && !isDownError(error) ? null : downBy(this.#rpcs[index], error);
  }

  /** @param {number} index @param {number} askedAtUs time of the request */
  #isBehind(index, askedAtUs) {
    const own = this.#seen[index].heads.at(-1)?.number ?? 0;
    const untilUs = askedAtUs - LAG_MS * 1000;
    return this.#seen.some(({ heads }, other) => {
      const known = heads.findLast(({ atUs }) => atUs <= untilUs);
      return other !== index && known !== undefined && known.number > own && this.#newestOf(other, askedAtUs) > 0;
    });
  }

  /** 0 if it has not answered for long. @param {number} index @param {number} nowUs */
  #newestOf(index, nowUs) {
    const last = this.#seen[index].heads.at(-1);
    return last === undefined || last.atUs < nowUs - MAX_HEAD_AGE_MS * 1000 ? 0 : last.number;
  }
}

/** The words are without the name of the endpoint. @param {Pick<Rpc, 'display'>} rpc @param {Error} error @returns {Finding} */
export function downBy({ display }, { message }) {
  if (message.startsWith(`${display} `)) return downBecause(`it ${message.slice(display.length + 1)}`);
  return downBecause(message.replace(`${display}: `, ''));
}

/** @param {string} words @returns {Finding} */
function downBecause(words) {
  return { state: DOWN, words };
}

/** @param {unknown} answer @returns {number | null} */
function headOf(answer) {
  try {
    return toNumber(answer);
  } catch {
    return null;
  }
}
