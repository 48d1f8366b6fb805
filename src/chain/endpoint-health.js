import { ProtocolError, RpcError, TransportError } from '../errors.js';
import { HEAD, ask } from './answers.js';
import { classOf, isBusy } from './refusals.js';
import { isLost } from './retries.js';

/**
 * The health of the endpoints as one thread sees it: a circuit for each. A lost request opens it at once. A request for
 * the newest block about once a second finds what other requests do not show (the endpoint hangs, is behind the others,
 * or serves another chain), and closes the circuit when the endpoint can be used again.
 *
 * @import { Rpc, Traffic } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { EndpointFacts, Outage } from '../contracts/run-file.d.ts'
 *
 * @typedef {object} Fault of an endpoint that must not be used
 * @property {string} why
 * @property {boolean} [isOther] it serves another chain
 *
 * @typedef {object} Event
 * @property {number} endpoint index of the endpoint
 * @property {boolean} isBack false: it went down
 * @property {number} atUs
 * @property {string} words
 */

/** A limit of memory for unstable endpoints. */
const MAX_EVENTS = 200;

/** The circuits of the endpoints, all closed at first, with their outages. */
export class Health {
  /** @type {Event[]} */
  events = [];
  /** @type {(event: Event) => void} */
  onEvent = () => {};
  #circuits;
  #clock;

  /** @param {number} count @param {Pick<Clock, 'nowUs'>} clock */
  constructor(count, clock) {
    this.#clock = clock;
    this.#circuits = Array.from({ length: count }, () => ({
      isUp: true,
      isOther: false,
      sinceUs: 0,
      outages: 0,
      downUs: 0,
    }));
  }

  /** @param {number} index */
  isUp(index) {
    return this.#circuits[index].isUp;
  }

  /** @param {number} index @param {Fault} fault @param {number} [atUs] since when */
  open(index, { why, isOther = false }, atUs = this.#clock.nowUs()) {
    const circuit = this.#circuits[index];
    const wasUp = circuit.isUp;
    if (wasUp) Object.assign(circuit, { isUp: false, sinceUs: atUs, outages: circuit.outages + 1 });
    if (wasUp || (isOther && !circuit.isOther)) this.#addEvent({ endpoint: index, isBack: false, atUs, words: why });
    circuit.isOther ||= isOther;
  }

  /** @param {number} index */
  close(index) {
    const circuit = this.#circuits[index];
    if (circuit.isUp) return;
    const atUs = this.#clock.nowUs();
    const lengthUs = atUs - circuit.sinceUs;
    Object.assign(circuit, { isUp: true, isOther: false, downUs: circuit.downUs + lengthUs });
    this.#addEvent({ endpoint: index, isBack: true, atUs, words: `after ${(lengthUs / 1e6).toFixed(1)} s` });
  }

  /** @param {Traffic[]} traffic of all threads, with several endpoints @param {number} loadStartUs @returns {EndpointFacts[]} */
  facts(traffic, loadStartUs) {
    const nowUs = this.#clock.nowUs();
    return traffic.map(({ requests, failures }, index) => {
      const { isUp, sinceUs, outages, downUs } = this.#circuits[index];
      const events = this.events.filter(({ endpoint }) => endpoint === index);
      return {
        requests,
        failures,
        left: outages,
        awayMs: (downUs + (isUp ? 0 : nowUs - sinceUs)) / 1000,
        events: events.map(({ atUs, isBack, words }) => ({ atMs: (atUs - loadStartUs) / 1000, isBack, words })),
      };
    });
  }

  /** The times when all endpoints were down, as far as the events are kept. @param {number} loadStartUs @returns {Outage[]} */
  outages(loadStartUs) {
    /** @type {Set<number>} */
    const down = new Set();
    /** @type {Outage[]} */
    const outages = [];
    for (const { endpoint, isBack, atUs, words } of this.events) {
      const atMs = (atUs - loadStartUs) / 1000;
      const wereAll = down.size === this.#circuits.length;
      if (isBack) down.delete(endpoint);
      else down.add(endpoint);
      const areAll = down.size === this.#circuits.length;
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

/** Status of a gateway without a node, or of a node that is not ready (AvalancheGo: 404 before the chain exists). */
const DOWN_STATUS = Object.freeze([404, 502, 503, 504]);

/**
 * Whether an error means that the endpoint is down. A timeout does not: the endpoint may be busy, and the Monitor
 * checks it.
 * @param {unknown} error
 */
export function isDownError(error) {
  if (error instanceof TransportError) return isLost(error) && error.code !== 'transport_timeout';
  if (error instanceof RpcError) return classOf(error) === 'starting';
  return error instanceof ProtocolError && DOWN_STATUS.includes(error.status);
}

/** The message without the name of the endpoint. @param {Pick<Rpc, 'display'>} rpc @param {Error} error @returns {Fault} */
export function faultOf({ display }, { message }) {
  if (message.startsWith(`${display} `)) return { why: `it ${message.slice(display.length + 1)}` };
  return { why: message.replace(`${display}: `, '') };
}

/** Heads kept per endpoint. */
const MAX_HEADS = 16;

/**
 * An endpoint is behind without a block that another one has had for so long. Shorter than the time after which
 * src/inclusion assumes lost blocks.
 */
const LAG_MS = 3000;

const CHECK_INTERVAL_MS = 1000;

/** Time limit of a head request; under load it may take some seconds. */
const ANSWER_MS = 5000;
/** Extra time to read a response that has arrived while this process was blocked. */
const READ_MS = 100;

/** Invalid responses in a row before an endpoint is down. */
const MAX_INVALID_ANSWERS = 3;

/** Limits of waitUntilSynced(). */
const SYNC_MS = 20_000;
const SYNC_PAUSE_MS = 50;

/**
 * Asks every endpoint for its newest block about once a second.
 *
 * @callback CheckIdentity whether an endpoint that answers again serves the chain of the run
 * @param {number} index
 * @param {number} head its newest block
 * @returns {Promise<Fault | null>} null: yes
 */
export class Monitor {
  #rpcs;
  #health;
  #clock;
  #checkIdentity;
  #onAnswer;
  #stopping = new AbortController();
  /** By endpoint: the latest heads in ascending order, and the invalid responses in a row. */
  #seen;

  /** @param {{rpcs: Rpc[], health: Health, clock: Clock, checkIdentity?: CheckIdentity, onAnswer?: () => void}} options */
  constructor({ rpcs, health, clock, checkIdentity = async () => null, onAnswer = () => {} }) {
    this.#rpcs = rpcs;
    this.#health = health;
    this.#clock = clock;
    this.#checkIdentity = checkIdentity;
    this.#onAnswer = onAnswer;
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
    const endUs = this.#clock.nowUs() + SYNC_MS * 1000;
    const indexesUp = () => [...this.#rpcs.keys()].filter((index) => this.#health.isUp(index));
    let late = indexesUp();
    let newest = Infinity;
    for (;;) {
      await Promise.all(late.map((index) => this.#check(index)));
      if (newest === Infinity) newest = Math.max(0, ...indexesUp().map((index) => this.#headOf(index)));
      late = indexesUp().filter((index) => this.#headOf(index) < newest);
      if (late.length === 0 || signal.aborted || this.#clock.nowUs() > endUs) return;
      await this.#clock.sleep(SYNC_PAUSE_MS, signal);
    }
  }

  /** @param {number} index */
  async #watch(index) {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#check(index);
      await this.#clock.sleep(CHECK_INTERVAL_MS, signal);
    }
  }

  /** @param {number} index */
  async #check(index) {
    const askedAtUs = this.#clock.nowUs();
    const wasUp = this.#health.isUp(index);
    const fault = await this.#faultOf(index, wasUp);
    if (fault === null) this.#onAnswer();
    if (this.#stopping.signal.aborted) return;
    if (fault !== null) this.#health.open(index, fault, askedAtUs);
    // Marked as down meanwhile: the next check tests its chain first.
    else if (wasUp && !this.#health.isUp(index)) return;
    else if (this.#isBehind(index, askedAtUs)) this.#health.open(index, { why: 'it is behind the others' });
    else this.#health.close(index);
  }

  /** @param {number} index @param {boolean} wasUp @returns {Promise<Fault | null>} */
  async #faultOf(index, wasUp) {
    const answered = new AbortController();
    const late = this.#clock
      .sleep(ANSWER_MS, answered.signal)
      .then(() => this.#clock.sleep(READ_MS, answered.signal))
      .then(() => ({ why: `no answer within ${ANSWER_MS / 1000} s` }));
    const askHead = () => ask(this.#rpcs[index], HEAD, 'health');
    // The first may wait behind a slow request of ours on the same connection; the second takes another one.
    const again = this.#clock
      .sleep(ANSWER_MS / 2, answered.signal)
      // Where the first has answered nobody reads this.
      .then(() => (answered.signal.aborted ? 0 : askHead()));
    const asked = Promise.race([askHead(), again])
      .then((number) => this.#judgeHead(index, number, wasUp))
      .catch((error) => this.#judgeError(index, error, wasUp));
    return Promise.race([asked, late]).finally(() => answered.abort());
  }

  /** @param {number} index @param {number} number @param {boolean} wasUp */
  async #judgeHead(index, number, wasUp) {
    const { heads } = this.#seen[index];
    this.#seen[index].invalidAnswers = 0;
    const rpc = this.#rpcs[index];
    const fault = wasUp ? null : await this.#checkIdentity(index, number).catch((error) => faultOf(rpc, error));
    // Heads of another chain do not count.
    if (fault !== null) return fault;
    // A reorg at this endpoint.
    if (number < this.#headOf(index)) heads.length = 0;
    heads.push({ number, atUs: this.#clock.nowUs() });
    if (heads.length > MAX_HEADS) heads.shift();
    return null;
  }

  /**
   * A busy endpoint, or one that answers with an error, is up. Repeated invalid responses mean down, and do not end an
   * outage.
   * @param {number} index
   * @param {Error} error
   * @param {boolean} wasUp
   */
  #judgeError(index, error, wasUp) {
    const one = this.#seen[index];
    const isInvalid = error instanceof ProtocolError || isBusy(error);
    one.invalidAnswers = isInvalid ? one.invalidAnswers + 1 : 0;
    const isThere = isInvalid ? wasUp && one.invalidAnswers < MAX_INVALID_ANSWERS : error instanceof RpcError;
    return isThere && !isDownError(error) ? null : faultOf(this.#rpcs[index], error);
  }

  /** @param {number} index @param {number} askedAtUs time of the request */
  #isBehind(index, askedAtUs) {
    const untilUs = askedAtUs - LAG_MS * 1000;
    return this.#seen.some(({ heads }, other) => {
      const known = heads.findLast(({ atUs }) => atUs <= untilUs)?.number ?? 0;
      return other !== index && this.#health.isUp(other) && known > this.#headOf(index);
    });
  }

  /** @param {number} index */
  #headOf(index) {
    return this.#seen[index].heads.at(-1)?.number ?? 0;
  }
}
