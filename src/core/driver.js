import { CheckError, RefusedError } from '../errors.js';
import { HeldTime } from '../stats/held-time.js';
import { Operation } from './operation.js';
import { Queue } from './queue.js';

/**
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { Control, Sample } from '../contracts/load.d.ts'
 * @import { Recorder } from '../stats/recorder.js'
 * @import { FeeBudget, Reservation } from './budget.js'
 * @import { NodeLimits } from './node-limits.js'
 * @import { Account } from './nonces.js'
 * @import { Pacer } from './pacer.js'
 * @import { Recovery } from './recovery.js'
 */

/**
 * Starts operations when they are due, and makes a wallet available again when its operation has ended. After a failure
 * the wallet is recovered first.
 *
 * @typedef {object} DriverOptions
 * @property {Clock} clock
 * @property {(operation: Operation) => void} run runs an operation to its end
 * @property {(driver: Driver) => Recovery} recoveryOf
 * @property {Account[]} accounts
 * @property {number} inFlight per wallet
 * @property {number} [operationsEach] limit per wallet
 * @property {number} [perIteration] operations per iteration; the think time follows the last one
 * @property {number} [thinkTimeMs] think time, closed loop only
 * @property {Recorder} recorder
 * @property {Pacer} pacer
 * @property {FeeBudget | null} [budget] null: no limit
 * @property {NodeLimits | null} [limits] what the node keeps; null: plain calls
 * @property {((sample: Sample) => void) | null} onSample null: nobody listens
 * @property {(reason: StopReason, error?: Error) => void} onStop
 *
 * @typedef {'iterations' | 'foreign_sender' | 'no_wallets' | 'workload_failed' | 'max_spend' | 'max_value' | 'chain_replaced' | 'internal'}
 *   StopReason
 */

/** What may be started with a wallet. */
class WalletSlot {
  /** Submissions in flight. */
  submitting = 0;
  /** Starts postponed because of too many submissions in flight. */
  waitingStarts = 0;
  /** Operations in recovery; meanwhile only operations that fill a nonce gap are started. */
  recovering = 0;
  /** Starts postponed by recovery. */
  heldStarts = 0;
  failuresInRow = 0;
  /** No more operations are started with it. */
  isRetired = false;

  /** @param {number} left operations that may still be started (--iterations) */
  constructor(left) {
    this.left = left;
  }
}

/**
 * Submissions of one wallet at a time. They arrive in any order; a node queues nonces that come early and drops what
 * exceeds its queue (geth: 64 per account).
 */
const MAX_SUBMITTING = 16;

/** Longest timer of Node.js; longer waits repeat it. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const VALUE_CAP_REACHED =
  'the limit of value is reached: another operation would exceed --max-value; raise it for a longer load';

const CAP_REACHED = 'the spend cap is reached: another operation might exceed --max-spend; raise it for a longer load';

/** Operations started per turn of the event loop, so that responses and blocks do not wait. */
const STARTS_PER_TURN = 256;

export class Driver {
  /** @type {Set<Operation>} */
  live = new Set();
  /** First message by failure code. @type {Record<string, string>} */
  failureWords = {};
  /** Holds a wallet once per operation that may be started with it. @type {Queue<Account>} */
  #idle = new Queue();
  /** Starts postponed because the node's pool keeps no more. @type {Queue<Account>} */
  #parked = new Queue();
  /** By position. @type {WalletSlot[]} */
  #slots;
  /** Operations that may still be started, of all wallets. */
  #left;
  /** Wallets that may still start operations. */
  #able;
  /** Those of them that wait for a payment (--refill-below). @type {Set<Account>} */
  unpaid = new Set();
  /** Started or dropped. */
  #scheduled = 0;
  /** Infinity: not started. */
  #startUs = Infinity;
  #endUs = Infinity;
  /** Operations that may still be started (Control.room). */
  #room = Infinity;
  /** Submissions in flight. */
  #submitting = 0;
  /** The schedule is later by this time. */
  #held = new HeldTime();
  #isPumpDue = false;
  #isHalted = false;
  #halt = new AbortController();
  #drained = new AbortController();
  /** Cancels the timer of the next due operation. @type {(() => void) | null} */
  #cancelWait = null;
  /** @type {() => void} */
  #onIdle = () => {};

  /** @param {DriverOptions} options */
  constructor(options) {
    this.options = options;
    const { accounts, operationsEach = Infinity } = options;
    this.#slots = accounts.map(() => new WalletSlot(operationsEach));
    this.#left = accounts.length * operationsEach;
    this.#able = accounts.length;
    options.limits?.attach(() => this.live.size - this.#submitting);
    this.recovery = options.recoveryOf(this);
  }

  /** @param {Account} account @returns {WalletSlot} */
  walletSlotOf({ position }) {
    return this.#slots[position];
  }

  /** Aborts when no more operations are started. */
  get halted() {
    return this.#halt.signal;
  }

  /** Aborts at the end of the drain. */
  get drained() {
    return this.#drained.signal;
  }

  /** Whether nothing more can start until a wallet is paid. */
  get isUnpaid() {
    return this.live.size === 0 && this.#able > 0 && this.unpaid.size === this.#able;
  }

  /** @param {number} startUs @param {number} endUs end of the window; endAt() can set an earlier one */
  start(startUs, endUs) {
    const { accounts, inFlight, onStop } = this.options;
    this.#startUs = startUs;
    this.#endUs = endUs;
    this.#held.restart(startUs);
    // All wallets once, then all again, so that the load is spread first.
    for (let round = 0; round < inFlight; round += 1) for (const account of accounts) this.#idle.push(account);
    this.#pump();
    this.recovery.watch().catch((error) => onStop('internal', error));
  }

  /** Sets the end of the window during the load. @param {number} endUs */
  endAt(endUs) {
    this.#endUs = Math.min(this.#endUs, endUs);
  }

  /** Operations that are not started yet are due by another schedule. @param {Pacer} pacer */
  retime(pacer) {
    this.options.pacer = pacer;
    this.#cancelWait?.();
    this.#cancelWait = null;
    this.#pumpSoon();
  }

  /** @type {Control['hold']} */
  hold = (reason, atUs) => {
    // What was due before is started, or dropped.
    this.catchUp(atUs);
    this.#held.hold(reason, atUs);
  };

  /** @type {Control['release']} */
  release = (reason, atUs) => {
    this.#held.release(reason, atUs);
    this.#pumpSoon();
  };

  /** @param {number} wanted transactions that the pool lacks @param {boolean} isOwn it has those in flight only */
  room(wanted, isOwn) {
    // What is being submitted will be in the pool.
    this.#room = Math.max(0, wanted - (isOwn ? this.live.size : this.#submitting));
    this.#pumpSoon();
  }

  /** Starts or drops what is due by now, in this turn. @param {number} [untilUs] what is due later waits */
  catchUp(untilUs = Infinity) {
    if (this.options.pacer.isOpen) this.#pump(Infinity, untilUs);
  }

  /** Starts no operation that is due later. @param {number} endUs */
  stop(endUs) {
    this.endAt(endUs);
    this.catchUp();
    this.#isHalted = true;
    this.#halt.abort();
    this.#cancelWait?.();
  }

  /**
   * Waits for the operations in flight and abandons the rest after the time limit or on abort.
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

  /** After all responses that have already arrived. */
  #pumpSoon() {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  /** @param {number} most operations to start in this turn @param {number} [untilUs] */
  #pump(most = STARTS_PER_TURN, untilUs = Infinity) {
    const { clock, pacer, recorder } = this.options;
    for (let started = 0; this.#mayStart();) {
      if (started === most) return this.#pumpSoon();
      const nowUs = clock.nowUs();
      const dueUs = pacer.isOpen ? this.#startUs + this.#held.totalUs + pacer.dueUs(this.#scheduled) : nowUs;
      if (pacer.isOpen ? dueUs >= this.#endUs : dueUs > this.#endUs) return;
      if (dueUs > untilUs) return;
      if (dueUs > nowUs) return this.#waitFor(dueUs, nowUs);
      const idle = this.#takeIdle();
      if (idle === null && !pacer.isOpen) return;
      this.#scheduled += 1;
      if (idle === null) {
        recorder.drop(dueUs, nowUs);
      } else {
        this.#startOperation(idle, { intendedAtUs: dueUs, startedAtUs: nowUs });
        started += 1;
      }
    }
  }

  #mayStart() {
    return !this.#isHalted && this.#left > 0 && this.#room > 0 && !this.#held.isHeld;
  }

  /** @param {number} dueUs @param {number} nowUs */
  #waitFor(dueUs, nowUs) {
    this.#cancelWait ??= this.options.clock.after(
      () => {
        this.#cancelWait = null;
        this.#pump();
      },
      Math.min((dueUs - nowUs) / 1000, MAX_TIMER_MS),
    );
  }

  /** @returns {{account: Account, reservation: Reservation | null} | null} */
  #takeIdle() {
    const { budget = null, limits = null } = this.options;
    for (let account = this.#idle.shift(); account !== null; account = this.#idle.shift()) {
      const slot = this.walletSlotOf(account);
      if (slot.isRetired || slot.left === 0) continue;
      // Recovery may itself wait for the nonce gap to be filled.
      const isHeld = slot.recovering > 0 && !account.hasGap;
      if (isHeld) slot.heldStarts += 1;
      else if (slot.submitting >= MAX_SUBMITTING) slot.waitingStarts += 1;
      else if (limits !== null && this.live.size >= limits.most && !account.hasGap) this.#parked.push(account);
      else if (limits === null || !limits.holds(account)) {
        const reservation = budget === null ? null : budget.reserve(account);
        if (budget !== null && reservation === null) return this.#cannotPay(account);
        return { account, reservation };
      }
    }
    return null;
  }

  /**
   * Operations in flight may cost less than is reserved; without any the budget is exhausted.
   * @param {Account} account
   */
  #cannotPay(account) {
    this.#idle.push(account);
    if (this.live.size > 0) return null;
    if (this.options.budget?.isOutOfValue) this.options.onStop('max_value', new RefusedError(VALUE_CAP_REACHED));
    else this.options.onStop('max_spend', new RefusedError(CAP_REACHED));
    return null;
  }

  /** @param {{account: Account, reservation: Reservation | null}} idle @param {{intendedAtUs: number, startedAtUs: number}} instants */
  #startOperation({ account, reservation }, instants) {
    const { recorder, run } = this.options;
    const operation = new Operation(account, instants, this.#finish, this.#onSubmitted);
    operation.reservation = reservation;
    const slot = this.walletSlotOf(account);
    slot.submitting += 1;
    slot.left -= 1;
    if (slot.left === 0) this.#exclude(account);
    this.#left -= 1;
    this.#submitting += 1;
    this.#room -= 1;
    this.live.add(operation);
    recorder.start(account.position, instants.intendedAtUs, instants.startedAtUs);
    run(operation);
  }

  /** @param {Operation} operation */
  #onSubmitted = ({ account }) => {
    const slot = this.walletSlotOf(account);
    slot.submitting -= 1;
    this.#submitting -= 1;
    if (slot.waitingStarts === 0) return;
    slot.waitingStarts -= 1;
    this.rearm(account, 1);
  };

  /** @param {Operation} operation @param {Sample} sample */
  #finish = (operation, sample) => {
    try {
      const { account, nonce } = operation;
      this.live.delete(operation);
      this.options.recorder.add(sample);
      this.#releaseStarts(account, sample);
      this.options.onSample?.(sample);
      if (sample.outcome === 'verified') {
        account.settle(nonce, 'executed');
        this.walletSlotOf(account).failuresInRow = 0;
        this.recovery.onVerified(operation);
        this.#rearmAfterThinkTime(account);
      } else {
        const slot = account.slotOf(nonce);
        if (slot !== null) slot.state = 'unresolved';
        const { message = '' } = operation.error ?? {};
        if (message !== '') this.failureWords[wordsKey(operation, sample)] ??= message;
        // Operations of one wallet that fail together count once.
        const walletSlot = this.walletSlotOf(account);
        if (walletSlot.recovering === 0) walletSlot.failuresInRow += 1;
        this.recovery.recover(operation, sample, this.#thinkTimeMsOf(account));
      }
      if (this.options.budget) {
        this.options.budget.settle(operation);
        // Other wallets may wait for the released fees.
        this.#pumpSoon();
      }
      this.#endIfDone();
      if (this.live.size === 0) this.#onIdle();
    } catch (error) {
      this.options.onStop('internal', /** @type {Error} */ (error));
    }
  };

  /** Those that waited for the end of an operation. @param {Account} account @param {Sample} sample */
  #releaseStarts(account, { outcome }) {
    const { limits = null } = this.options;
    if (limits === null) return;
    const starts = limits.ended(account, outcome === 'verified');
    if (starts > 0) this.rearm(account, starts);
    this.#unpark();
  }

  #unpark() {
    const { most } = /** @type {NodeLimits} */ (this.options.limits);
    for (let room = most - this.live.size; room > 0 && this.#parked.size > 0; room -= 1)
      this.rearm(/** @type {Account} */ (this.#parked.shift()), 1);
  }

  /** What the node keeps may have changed. */
  lookAtLimits() {
    const { accounts, inFlight, limits } = this.options;
    limits?.look(this.live.size, accounts.length * inFlight);
    this.#unpark();
  }

  /** The wallet is retired. @param {Account} account */
  forfeit(account) {
    const slot = this.walletSlotOf(account);
    if (slot.left > 0) this.#exclude(account);
    if (slot.left < Infinity) this.#left -= slot.left;
    slot.left = 0;
    this.#endIfDone();
  }

  /** It starts no more operations. @param {Account} account */
  #exclude(account) {
    this.#able -= 1;
    this.unpaid.delete(account);
  }

  #endIfDone() {
    if (this.#left === 0 && this.live.size === 0) this.options.onStop('iterations');
  }

  /** Zero unless an iteration has just ended, with any outcome. @param {Account} account */
  #thinkTimeMsOf({ position }) {
    const { recorder, thinkTimeMs = 0, perIteration = 1 } = this.options;
    return recorder.endedBy[position] % perIteration === 0 ? thinkTimeMs : 0;
  }

  /** @param {Account} account */
  #rearmAfterThinkTime(account) {
    const thinkTimeMs = this.#thinkTimeMsOf(account);
    if (thinkTimeMs === 0) return this.rearm(account, 1);
    void this.options.clock.sleep(thinkTimeMs, this.#halt.signal).then(() => this.rearm(account, 1));
  }

  /** Allows so many more operations of a wallet. @param {Account} account @param {number} times */
  rearm(account, times) {
    for (let i = 0; i < times; i += 1) this.#idle.push(account);
    this.#pumpSoon();
  }
}

/** What the words of a failure are known under. @param {Operation} operation @param {Sample} sample */
function wordsKey({ error }, { code, outcome }) {
  if (error instanceof CheckError && error.request !== null) return `${code} of ${error.request}`;
  return code ?? outcome;
}
