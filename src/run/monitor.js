import { toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError } from '../errors.js';
import { AWAY, BEHIND, Heads, UP, isGone } from './health.js';

/**
 * Looks after the endpoints of a run: asks each for its head about once a second, and says who has left and who is back.
 *
 * @typedef {import('./health.js').State} State
 *
 * @typedef {object} Event
 * @property {number} endpoint by its place
 * @property {boolean} isBack false: it was left
 * @property {number} atUs
 * @property {string} words
 *
 * @typedef {object} Absence of one endpoint
 * @property {number} left how often it was left
 * @property {number} awayUs for how long in all
 */

const LOOK_MS = 1000;

/** An endpoint that needs longer for its head is away. One under load may need some seconds. */
const ANSWER_MS = 5000;

/** One that keeps coming and going must not fill the memory. */
const MOST_EVENTS = 200;

/** How long is waited for the endpoints to have the same blocks, in milliseconds, and between two looks. */
const LEVEL_MS = 20_000;
const LEVEL_PAUSE_MS = 50;

export class Monitor {
  /** The first of them. @type {Event[]} */
  events = [];
  #rpcs;
  #health;
  #clock;
  #heads;
  #stopping = new AbortController();
  /** Since when an endpoint is left; null while it is used. @type {Array<number | null>} */
  #sinceUs;
  /** @type {Absence[]} */
  #absences;
  /** @type {(event: Event) => void} */
  #onEvent = () => {};

  /** @param {{rpcs: import('../chain/rpc.js').Rpc[], health: import('./health.js').Health, clock: import('../clock.js').Clock}} options */
  constructor({ rpcs, health, clock }) {
    this.#rpcs = rpcs;
    this.#health = health;
    this.#clock = clock;
    this.#heads = new Heads(rpcs.length);
    this.#sinceUs = rpcs.map(() => null);
    this.#absences = rpcs.map(() => ({ left: 0, awayUs: 0 }));
  }

  begin() {
    this.#rpcs.forEach((_, index) => void this.#watch(index));
  }

  /** @param {(event: Event) => void} onEvent called for those that were as well */
  listen(onEvent) {
    this.events.forEach(onEvent);
    this.#onEvent = onEvent;
  }

  stop() {
    this.#stopping.abort();
  }

  /** @param {number} nowUs @returns {Absence[]} by endpoint */
  absences(nowUs) {
    return this.#absences.map(({ left, awayUs }, i) => ({
      left,
      awayUs: awayUs + nowUs - (this.#sinceUs[i] ?? nowUs),
    }));
  }

  /**
   * Waits until all that are up have what one of them has now: who looks at another one than before is not to see less.
   * @param {AbortSignal} signal
   */
  async level(signal) {
    await Promise.all(this.#rpcs.map((_, index) => this.look(index)));
    const newest = this.#heads.newest(this.#clock.nowUs());
    const endUs = this.#clock.nowUs() + LEVEL_MS * 1000;
    const isBelow = (/** @type {number} */ index) =>
      this.#health.stateOf(index) === UP && this.#heads.of(index) < newest;
    for (let below = this.#below(isBelow); below.length > 0; below = this.#below(isBelow)) {
      if (signal.aborted || this.#clock.nowUs() > endUs) return;
      await this.#clock.sleep(LEVEL_PAUSE_MS, signal);
      await Promise.all(below.map((index) => this.look(index)));
    }
  }

  /** @param {(index: number) => boolean} isBelow */
  #below(isBelow) {
    return this.#rpcs.map((_, index) => index).filter(isBelow);
  }

  /** @param {number} index */
  async #watch(index) {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.look(index);
      await this.#clock.sleep(LOOK_MS, signal);
    }
  }

  /** Asks an endpoint how it is. @param {number} index */
  async look(index) {
    const askedAtUs = this.#clock.nowUs();
    const failure = await this.#ask(index);
    if (this.#stopping.signal.aborted) return;
    if (failure !== null) this.#enter(index, AWAY, failure);
    else if (this.#heads.isBehind(index, askedAtUs)) this.#enter(index, BEHIND, 'it is behind the others');
    else this.#enter(index, UP, '');
  }

  /** @param {number} index @returns {Promise<string | null>} why it is away */
  async #ask(index) {
    const answered = new AbortController();
    const late = this.#clock.sleep(ANSWER_MS, answered.signal).then(() => `no answer within ${ANSWER_MS / 1000} s`);
    const asked = this.#rpcs[index].call('eth_blockNumber', [], 'health').then(
      (answer) => this.#note(index, answer),
      // One that is no node says so each time, and is there.
      (error) => (isGone(error) || !isAnswer(error) ? this.#wordsOf(index, error) : null),
    );
    try {
      return await Promise.race([asked, late]);
    } finally {
      answered.abort();
    }
  }

  /** Who has said it is known. @param {number} index @param {Error} error */
  #wordsOf(index, { message }) {
    return message.replace(`${this.#rpcs[index].display}: `, '');
  }

  /** @param {number} index @param {unknown} answer */
  #note(index, answer) {
    try {
      this.#heads.note(index, toNumber(answer), this.#clock.nowUs());
    } catch {
      // Without a head it cannot be behind.
    }
    return null;
  }

  /** @param {number} index @param {State} state that it was found in @param {string} words why */
  #enter(index, state, words) {
    // A thread of the load may have left it meanwhile.
    const isLeft = state !== UP || this.#health.stateOf(index) !== UP;
    this.#health.set(index, state);
    const nowUs = this.#clock.nowUs();
    if (isLeft && this.#sinceUs[index] === null) {
      this.#sinceUs[index] = nowUs;
      this.#absences[index].left += 1;
      this.#tell({ endpoint: index, isBack: false, atUs: nowUs, words: words || 'a request to it was lost' });
    }
    const sinceUs = this.#sinceUs[index];
    if (state !== UP || sinceUs === null) return;
    this.#sinceUs[index] = null;
    this.#absences[index].awayUs += nowUs - sinceUs;
    this.#tell({
      endpoint: index,
      isBack: true,
      atUs: nowUs,
      words: `after ${((nowUs - sinceUs) / 1e6).toFixed(1)} s`,
    });
  }

  /** @param {Event} event */
  #tell(event) {
    if (this.events.length < MOST_EVENTS) this.events.push(event);
    this.#onEvent(event);
  }
}

/** Whatever it says, it is there. @param {unknown} error */
function isAnswer(error) {
  return error instanceof RpcError || error instanceof ProtocolError;
}
