import { toNumber } from '../chain/rpc.js';
import { ProtocolError, RpcError } from '../errors.js';
import { Absences } from './absences.js';
import { AWAY, BEHIND, Heads, UP, isGone } from './health.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 * @import { Outage } from '../metrics/summary.js'
 * @import { Absence, Event } from './absences.js'
 * @import { Health, State } from './health.js'
 * @import { Finding } from './one-chain.js'
 */

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
  #absences;
  #stopping = new AbortController();
  /** @type {(endpoint: number) => void} */
  #onRefusing = () => {};
  /** Looks in a row that had no answer of a node. @type {number[]} */
  #nonsense;
  /** Which are another chain now, and it is said. @type {boolean[]} */
  #isOther;
  #examine;

  /** @param {{rpcs: Rpc[], health: Health, clock: Clock, examine?: Examine}} options */
  constructor({ rpcs, health, clock, examine = async () => null }) {
    this.#rpcs = rpcs;
    this.#health = health;
    this.#clock = clock;
    this.#heads = new Heads(rpcs.length);
    this.#isOther = rpcs.map(() => false);
    this.#nonsense = rpcs.map(() => 0);
    this.#examine = examine;
    this.#absences = new Absences(rpcs.length);
  }

  begin() {
    this.#rpcs.forEach((_, index) => void this.#watch(index));
  }

  /**
   * @param {(event: Event) => void} onEvent called for those that were as well
   * @param {(endpoint: number) => void} [onRefusing] called again and again for one that takes no transactions
   */
  listen(onEvent, onRefusing = () => {}) {
    this.#absences.listen(onEvent);
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
    return this.#absences.events;
  }

  /** Times when all were left. @param {number} loadStartUs @returns {Outage[]} */
  outages(loadStartUs) {
    return this.#absences.outages(loadStartUs);
  }

  /** @param {number} nowUs @returns {Absence[]} by endpoint */
  absences(nowUs) {
    // A thread may have left one since the last look.
    const isLeft = (/** @type {number} */ i) => !this.#stopping.signal.aborted && this.#health.stateOf(i) !== UP;
    return this.#absences.upTo(nowUs, (i) => (isLeft(i) ? this.#health.leftAtUs(i) : null));
  }

  /**
   * Waits until all that are up have what one of them has now: who looks at another one than before is not to see less.
   * @param {AbortSignal} signal
   */
  async level(signal) {
    if (this.#rpcs.length === 1) return;
    await Promise.all(this.#those((index) => this.#health.stateOf(index) !== AWAY).map((index) => this.look(index)));
    const newest = this.#heads.newest(this.#clock.nowUs());
    const endUs = this.#clock.nowUs() + LEVEL_MS * 1000;
    const isBelow = (/** @type {number} */ index) =>
      this.#health.stateOf(index) === UP && this.#heads.of(index) < newest;
    for (let below = this.#those(isBelow); below.length > 0; below = this.#those(isBelow)) {
      if (signal.aborted || this.#clock.nowUs() > endUs) return;
      await this.#clock.sleep(LEVEL_PAUSE_MS, signal);
      await Promise.all(below.map((index) => this.look(index)));
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
      await this.look(index);
      await this.#clock.sleep(LOOK_MS, signal);
    }
  }

  /** Asks an endpoint how it is. @param {number} index */
  async look(index) {
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
      (answer) => this.#heed(index, answer, isUp),
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
    this.#nonsense[index] = isNonsense ? this.#nonsense[index] + 1 : 0;
    const isThere = isNonsense ? isUp && this.#nonsense[index] < MOST_NONSENSE : error instanceof RpcError;
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
  async #heed(index, answer, isUp) {
    const head = headOf(answer);
    this.#nonsense[index] = 0;
    const found = await this.#examine(index, head ?? 0, isUp).catch((error) => this.#wordsOf(index, error));
    // Without a head it cannot be behind.
    const isOurs = found === null || (typeof found !== 'string' && !found.isOther);
    if (head !== null && isOurs) this.#heads.note(index, head, this.#clock.nowUs());
    return found;
  }

  /** What is another chain is said once, though it was left before. @param {number} index @param {Finding} finding */
  #enterAs(index, { state, words, isOther }) {
    const isNews = isOther && !this.#isOther[index];
    if (isNews && this.#absences.isLeft(index)) this.#absences.tell(index, false, this.#clock.nowUs(), words);
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
    this.#absences.comeBack(index, this.#clock.nowUs());
  }

  /** @param {number} index @param {string} words why @param {number} [foundAtUs] */
  #leave(index, words, foundAtUs = this.#clock.nowUs()) {
    const isLeftByThread = this.#health.stateOf(index) !== UP;
    const atUs = isLeftByThread ? this.#health.leftAtUs(index) : foundAtUs;
    this.#absences.leave(index, atUs, words || 'a request to it was lost');
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
