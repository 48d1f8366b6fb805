import { Worker } from 'node:worker_threads';
import { createClock } from '../clock.js';
import {
  EXIT,
  InternalError,
  InterruptedError,
  UnavailableError,
  WorkloadError,
  displayName,
  worstExit,
} from '../errors.js';
import { isWorkloadFile } from '../workloads/user-file.js';
import { requestStop } from './workers.js';

/**
 * @import { StressError } from '../errors.js'
 * @import { Counts } from '../types.d.ts'
 * @import { StopReason } from './driver.js'
 * @import { EngineReport, SeenBlock } from './engine.js'
 * @import { Message, Order, State, Task } from './worker-thread.js'
 * @import { PoolOptions } from './workers.js'
 */

/** How long a worker may take for what is done at once, and beyond what it was given for a drain, in milliseconds. */
const ANSWER_MS = 30_000;
/** The same when the user is in a hurry. */
const HURRIED_MS = 2000;
/** How long a checkpoint waits for a worker: then it is content with what the worker has said before. */
const STATE_MS = 1000;

/**
 * @typedef {Pick<PoolOptions, 'stop' | 'outputs' | 'accounts'> & {onBlock: (block: SeenBlock) => void, onDone: () => void}} PartOptions
 */

/**
 * One worker of a fleet: the wallets it has, what was heard from it last, and whether it lives. Every wait for it is
 * bounded; one that does not answer is ended, and has died.
 */
export class WorkerHandle {
  /** As of its last report: what the intervals add up to. @type {State | null} */
  state = null;
  /** What it said last, in a report or between two. @type {State | null} */
  latest = null;
  /** Of the interval that was asked for last. @type {EngineReport | null} */
  report = null;
  /** What it has done so far, as it said last. @type {Counts | null} */
  totals = null;
  isDead = false;
  diedAtUs = Infinity;
  /** Why. @type {StressError | null} */
  error = null;
  /** All iterations of its wallets are made; the others may not be there yet. */
  hasDoneAll = false;
  #isClosing = false;
  #hasStarted = false;
  #reports = 0;
  #worker;
  #options;
  /** Those who wait for a message of a type, or for the end. @type {Map<string, () => void>} */
  #waiting = new Map();

  /**
   * @param {Task} task
   * @param {number} first position of its first wallet
   * @param {number} count
   * @param {PartOptions} options
   */
  constructor(task, first, count, options) {
    this.first = first;
    this.count = count;
    this.#options = options;
    this.#worker = new Worker(new URL('./worker-thread.js', import.meta.url), { workerData: task });
    this.#worker.on('message', (message) => this.#hear(message));
    this.#worker.on('error', (error) => this.#died(error.message, error));
    this.#worker.on('exit', (code) => this.#died(`it exited with ${code}`, endOf(task.workload.name)));
    this.ready = this.#waitFor('ready', ANSWER_MS);
  }

  /** @param {Order} order */
  order(order) {
    if (order.type === 'start') this.#hasStarted = true;
    if (!this.isDead) this.#worker.postMessage(order);
  }

  async prepare() {
    this.order({ type: 'prepare' });
    await this.#waitFor('prepared', ANSWER_MS);
  }

  /** @param {number} nowUs */
  async askForReport(nowUs) {
    this.report = null;
    this.#reports += 1;
    this.order({ type: 'report', nowUs, number: this.#reports });
    await this.#waitFor('report', ANSWER_MS);
  }

  /** Has it say what it knows, for which the interval goes on. One that takes too long lives on. */
  async askForState() {
    this.order({ type: 'state' });
    await this.#waitFor('state', STATE_MS, () => this.#wake('state'));
  }

  /** Totals of the whole run so far, without ending the interval. */
  async askForCounts() {
    this.order({ type: 'counts' });
    await this.#waitFor('counts', STATE_MS, () => this.#wake('counts'));
  }

  /** @param {number} timeoutMs */
  async drain(timeoutMs) {
    this.order({ type: 'drain', timeoutMs });
    await this.#waitFor('drained', timeoutMs + ANSWER_MS);
  }

  async close() {
    this.#isClosing = true;
    this.order({ type: 'close' });
    await this.#waitFor('exit', HURRIED_MS);
  }

  /**
   * @param {string} type
   * @param {number} mostMs
   * @param {() => void} [giveUp] what happens then: the worker is ended
   * @returns {Promise<void>} ends also when the worker does
   */
  async #waitFor(type, mostMs, giveUp = () => this.#end()) {
    if (this.isDead) return;
    const { now } = this.#options.stop;
    const hurriedMs = Math.min(mostMs, HURRIED_MS);
    let timer = setTimeout(giveUp, now.aborted ? hurriedMs : mostMs);
    const hurry = () => {
      clearTimeout(timer);
      timer = setTimeout(giveUp, hurriedMs);
    };
    now.addEventListener('abort', hurry);
    await new Promise((resolve) => this.#waiting.set(type, () => resolve(undefined)));
    now.removeEventListener('abort', hurry);
    clearTimeout(timer);
  }

  #end() {
    if (this.#options.stop.now.aborted && !this.#hasStarted) this.#interrupted();
    else this.#died('it did not answer');
    this.#worker.terminate().catch(() => {});
  }

  /** @param {Message} message */
  #hear(message) {
    const { stop, outputs } = this.#options;
    if (message.type === 'samples') {
      for (const sample of message.samples) for (const output of outputs) output.sample(sample);
    } else if (message.type === 'block') {
      this.#options.onBlock(message.block);
    } else if (message.type === 'stop' && message.reason === 'iterations') {
      this.hasDoneAll = true;
      this.#options.onDone();
    } else if (message.type === 'stop') {
      requestStop(stop, message.reason, errorOf(message));
    } else if (message.type === 'state') {
      this.latest = message.state;
      this.#wake('state');
    } else if (message.type === 'counts') {
      this.totals = message.counts;
      this.#wake('counts');
    } else if (message.type === 'report') {
      this.state = message.made?.state ?? this.state;
      this.latest = message.made?.state ?? this.latest;
      this.totals = message.made?.report.totals ?? this.totals;
      if (message.number !== this.#reports) return; // that one is not waited for any more
      this.report = message.made?.report ?? null;
      this.#wake('report');
    } else {
      this.#wake(message.type);
    }
  }

  /** @param {string} type */
  #wake(type) {
    const resolve = this.#waiting.get(type);
    this.#waiting.delete(type);
    resolve?.();
  }

  #wakeAll() {
    for (const type of [...this.#waiting.keys()]) this.#wake(type);
  }

  /** One that is not waited for any more, and has done nothing yet. */
  #interrupted() {
    const { exitCodes } = this.#options.stop;
    const exitCode = worstExit([...exitCodes, EXIT.nothingVerified]);
    this.error ??= new InterruptedError('interrupted before the load', exitCode);
    this.isDead = true;
    this.#wakeAll();
  }

  /** @param {string} words @param {Error & {code?: unknown}} [cause] as it came through from the other thread */
  #died(words, cause) {
    if (this.isDead) return;
    this.isDead = true;
    this.diedAtUs = createClock().nowUs();
    this.report = null;
    if (!this.#isClosing) {
      const { stop, accounts } = this.#options;
      for (const account of accounts.slice(this.first, this.first + this.count)) account.isLost = true;
      const { index } = accounts[this.first].wallet;
      const ours = `the worker of wallets ${index}..${index + this.count - 1} died (${words}): what it did since its last report is not known`;
      this.error = cause?.code === 'workload_error' ? new WorkloadError(cause.message) : new InternalError(ours);
      stop.request('worker_died', this.error.exitCode, this.error);
    }
    this.#wakeAll();
  }
}

/** A thread without an error ends only if somebody ends it, and we do not. @param {string} workload */
function endOf(workload) {
  if (!isWorkloadFile(workload)) return undefined;
  return new WorkloadError(
    `${displayName(workload)} has ended a worker thread: a workload must not call process.exit()`,
  );
}

/** @param {{reason: StopReason, message: string | null}} message of a worker that asks for an end */
function errorOf({ reason, message }) {
  if (message === null) return undefined;
  if (reason === 'workload_failed') return new WorkloadError(message);
  return reason === 'internal' ? new InternalError(message) : new UnavailableError(message);
}
