import { setMaxListeners } from 'node:events';
import { Quota } from './funds.js';
import { Operation } from './operation.js';
import { Recovery } from './recovery.js';

/**
 * @import { Clock, Sample } from '../types.d.ts'
 * @import { Recorder } from '../stats/recorder.js'
 * @import { FeeBudget } from './budget.js'
 * @import { OperationKind } from './engine.js'
 * @import { Account } from './nonces.js'
 * @import { Pacer } from './pacer.js'
 */

/**
 * First in, first out, in O(1) for both ends: Array.shift() moves everything behind it.
 * @template T
 */
export class Queue {
  /** @type {T[]} */
  #items = [];
  #first = 0;

  /** @param {T} item */
  push(item) {
    this.#items.push(item);
  }

  /** @returns {T | null} null when it is empty */
  shift() {
    if (this.#first === this.#items.length) return null;
    const item = this.#items[this.#first];
    this.#first += 1;
    // What was taken is let go once it is half of what is held, so that each item is moved once at most on average.
    if (this.#first * 2 >= this.#items.length) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }
}

/**
 * Starts operations when the pacer says so, keeps at most some in flight per wallet, and re-arms a wallet in O(1) when
 * one of its operations has ended. A wallet with an operation that did not verify is mended first.
 *
 * @typedef {object} DriverOptions
 * @property {Clock} clock
 * @property {OperationKind} kind
 * @property {Account[]} accounts
 * @property {number} inFlight most operations of one wallet at once
 * @property {number} [operationsEach] most operations of one wallet in all
 * @property {number} [perIteration] operations of a wallet that belong together: it rests after the last of them
 * @property {number} [restMs] for so long, in a closed loop
 * @property {Recorder} recorder
 * @property {Pacer} pacer
 * @property {FeeBudget | null} [budget] null where nothing is paid, or without a cap
 * @property {(sample: Sample) => void} onSample
 * @property {(reason: StopReason, error?: Error) => void} onStop asks for an end of the run
 *
 * @typedef {'iterations' | 'foreign_sender' | 'no_wallets' | 'workload_failed' | 'max_spend' | 'chain_replaced' | 'internal'} StopReason
 */

/**
 * Operations of one wallet that are on their way to the node at once. They travel over several connections and arrive in
 * any order; a node keeps those that come before their turn in a queue, and drops what is too much for it (geth has
 * room for 64 of an account).
 */
const SUBMITTED_AT_ONCE = 16;

/** The longest a timer can wait, in milliseconds; whoever waits for longer waits again. */
const LONG_MS = 2 ** 31 - 1;

/** Operations begun before the event loop gets a turn: answers and new blocks must not wait for all of them. */
const BEGUN_AT_ONCE = 256;

export class Driver {
  /** @type {Set<Operation>} */
  live = new Set();
  /** The words of the first failure of each code. @type {Record<string, string>} */
  failureWords = {};
  /** A wallet is in it as often as operations of it may be started. @type {Queue<Account>} */
  #idle = new Queue();
  #quota;
  /** Operations that were due: started or dropped. */
  #scheduled = 0;
  #startUs = 0;
  #endUs = Infinity;
  #isPumpDue = false;
  #isHalted = false;
  #halt = new AbortController();
  #drained = new AbortController();
  /** Set while the pacer makes us wait. @type {(() => void) | null} */
  #cancelWait = null;
  /** @type {() => void} */
  #onIdle = () => {};

  /** @param {DriverOptions} options */
  constructor(options) {
    this.options = options;
    this.#quota = new Quota(options.accounts.length, options.operationsEach ?? Infinity);
    // Every wallet that is mended listens, and there may be thousands.
    setMaxListeners(0, this.#halt.signal, this.#drained.signal);
    this.recovery = new Recovery({
      ...options,
      live: this.live,
      signal: this.#halt.signal,
      drained: this.#drained.signal,
      rearm: (account, times) => this.#rearm(account, times),
      retire: ({ position }) => {
        this.#quota.forfeit(position);
        this.#endIfSpent();
      },
    });
  }

  /**
   * @param {number} startUs from which on the pacer counts
   * @param {number} endUs when no operation is due any more, whoever may say so later
   */
  start(startUs, endUs) {
    const { accounts, inFlight, kind, onStop } = this.options;
    this.#startUs = startUs;
    this.#endUs = endUs;
    // All wallets once, then all of them again: the load is spread before it is piled up.
    for (let round = 0; round < inFlight; round += 1) for (const account of accounts) this.#idle.push(account);
    this.#pump();
    kind.watch(this.live, this.#drained.signal, this.recovery.lost).catch((error) => onStop('internal', error));
  }

  /** The end of the window, when it becomes known only while the load goes on. @param {number} endUs */
  endAt(endUs) {
    this.#endUs = Math.min(this.#endUs, endUs);
  }

  /** Starts or drops what is owed by now, without waiting for the next turn. */
  catchUp() {
    if (this.options.pacer.isOpen) this.#pump(Infinity);
  }

  /** No operation that is due later is started. @param {number} endUs */
  stop(endUs) {
    this.endAt(endUs);
    this.catchUp();
    this.#isHalted = true;
    this.#halt.abort();
    this.#cancelWait?.();
  }

  /**
   * Waits for the operations in flight; what is still open when the signal aborts is abandoned.
   * @param {number} timeoutMs
   * @param {AbortSignal} signal
   */
  async drain(timeoutMs, signal) {
    const { clock } = this.options;
    const over = new AbortController();
    this.#onIdle = () => over.abort();
    if (this.live.size > 0) await clock.sleep(timeoutMs, AbortSignal.any([signal, over.signal]));
    this.#drained.abort();
    for (const operation of [...this.live]) operation.end('abandoned', null, clock.nowUs());
  }

  /** Behind all answers that are there already: reading them comes before what they lead to. */
  #pumpSoon() {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  /** @param {number} most operations to begin before the event loop gets a turn */
  #pump(most = BEGUN_AT_ONCE) {
    const { clock, pacer, recorder } = this.options;
    for (let begun = 0; !this.#isHalted && !this.#quota.isSpent;) {
      if (begun === most) return this.#pumpSoon();
      const nowUs = clock.nowUs();
      const dueUs = pacer.isOpen ? this.#startUs + pacer.dueUs(this.#scheduled) : nowUs;
      if (pacer.isOpen ? dueUs >= this.#endUs : dueUs > this.#endUs) return;
      if (dueUs > nowUs) return this.#waitFor(dueUs, nowUs);
      const account = this.#takeIdle();
      if (account === null && !pacer.isOpen) return;
      this.#scheduled += 1;
      if (account === null) {
        recorder.drop(dueUs, nowUs);
      } else {
        this.#begin(account, { intendedAtUs: dueUs, startedAtUs: nowUs });
        begun += 1;
      }
    }
  }

  /** @param {number} dueUs @param {number} nowUs */
  #waitFor(dueUs, nowUs) {
    this.#cancelWait ??= this.options.clock.after(
      () => {
        this.#cancelWait = null;
        this.#pump();
      },
      Math.min((dueUs - nowUs) / 1000, LONG_MS),
    );
  }

  /** @returns {Account | null} a wallet that an operation can be started with */
  #takeIdle() {
    for (let account = this.#idle.shift(); account !== null; account = this.#idle.shift()) {
      if (account.retired !== null || this.#quota.isSpentOf(account.position)) continue;
      // What is looked after may itself be waiting for the gap to be filled.
      const isHeld = account.mending > 0 && !account.hasGap;
      if (isHeld) account.held += 1;
      else if (account.submitting >= SUBMITTED_AT_ONCE) account.waiting += 1;
      else if (this.options.budget?.reserve(account) === false) return this.#cannotPay(account);
      else return account;
    }
    return null;
  }

  /** What is under way may cost less than is reserved for it; without anything under way it is over. @param {Account} account */
  #cannotPay(account) {
    this.#idle.push(account);
    const mayRelease = this.live.size > 0 || this.options.accounts.some(({ mending }) => mending > 0);
    if (!mayRelease) this.options.onStop('max_spend');
    return null;
  }

  /** @param {Account} account @param {{intendedAtUs: number, startedAtUs: number}} instants */
  #begin(account, instants) {
    const { recorder, kind } = this.options;
    const operation = new Operation(account, instants, this.#finish, this.#taken);
    account.submitting += 1;
    this.#quota.take(account.position);
    this.live.add(operation);
    recorder.start(account.position, instants.intendedAtUs, instants.startedAtUs);
    kind.begin(operation);
  }

  /** @param {Operation} operation */
  #taken = ({ account }) => {
    account.submitting -= 1;
    if (account.waiting === 0) return;
    account.waiting -= 1;
    this.#rearm(account, 1);
  };

  /** @param {Operation} operation @param {Sample} sample */
  #finish = (operation, sample) => {
    try {
      const { account, nonce } = operation;
      this.live.delete(operation);
      this.options.recorder.add(sample);
      this.options.onSample(sample);
      if (sample.outcome === 'verified') {
        account.settle(nonce, 'executed');
        account.failuresInRow = 0;
        this.options.kind.remember(operation);
        this.#rearmAfterThinkTime(account);
      } else {
        const slot = account.slotOf(nonce);
        if (slot !== null) slot.standing = 'open';
        if (operation.words !== null) this.failureWords[sample.code ?? sample.outcome] ??= operation.words;
        // Several operations that fail for one reason are one failure.
        if (account.mending === 0) account.failuresInRow += 1;
        this.recovery.recover(operation, sample, this.#thinkTimeMsOf(account));
      }
      this.options.budget?.settle(operation);
      this.#endIfSpent();
      if (this.live.size === 0) this.#onIdle();
    } catch (error) {
      this.options.onStop('internal', /** @type {Error} */ (error));
    }
  };

  /** The run is over when everything is done that there is to do. */
  #endIfSpent() {
    if (this.#quota.isSpent && this.live.size === 0) this.options.onStop('iterations');
  }

  /** A user looks at what was found before the next iteration, whatever became of this one. @param {Account} account */
  #thinkTimeMsOf({ position }) {
    const { recorder, restMs = 0, perIteration = 1 } = this.options;
    return recorder.endedBy[position] % perIteration === 0 ? restMs : 0;
  }

  /** @param {Account} account */
  #rearmAfterThinkTime(account) {
    const restMs = this.#thinkTimeMsOf(account);
    if (restMs === 0) return this.#rearm(account, 1);
    void this.options.clock.sleep(restMs, this.#halt.signal).then(() => this.#rearm(account, 1));
  }

  /** @param {Account} account @param {number} times */
  #rearm(account, times) {
    for (let i = 0; i < times; i += 1) this.#idle.push(account);
    this.#pumpSoon();
  }
}
