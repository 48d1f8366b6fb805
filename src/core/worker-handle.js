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
import { isWorkloadFile } from '../files.js';
import { Stats } from '../stats/stats.js';
import { requestStop } from './stop.js';

/**
 * @import { StressError } from '../errors.js'
 * @import { Counts } from '../types.d.ts'
 * @import { StopReason } from './driver.js'
 * @import { EngineReport, SeenBlock } from './engine.js'
 * @import { WorkerMessage, WorkerRequest, WorkerState, Task } from './worker-thread.js'
 * @import { PoolOptions } from './workers.js'
 */

/** Time limit of a response, also after the end of the drain. */
const ANSWER_MS = 30_000;
/** The same when the run is aborted. */
const ABORT_MS = 2000;
/** Time limit of a checkpoint; after it the previous state is used. */
const STATE_MS = 1000;

/**
 * @typedef {Pick<PoolOptions, 'stop' | 'outputs' | 'accounts'> & {onBlock: (block: SeenBlock) => void, onDone: () => void}} HandleOptions
 */

/**
 * The main thread's side of one worker. Every wait is bounded; a worker that does not respond is terminated and counts
 * as dead.
 */
export class WorkerHandle {
  /** As of its last report. @type {WorkerState | null} */
  state = null;
  /** The latest one, from a report or a checkpoint. @type {WorkerState | null} */
  latest = null;
  /** Of the current interval. @type {EngineReport | null} */
  report = null;
  /** The latest totals. @type {Counts | null} */
  totals = null;
  isDead = false;
  diedAtUs = Infinity;
  /** Why it died. @type {StressError | null} */
  error = null;
  /** All iterations of its wallets are done. */
  isDone = false;
  #isClosing = false;
  #hasStarted = false;
  #reports = 0;
  #worker;
  #options;
  /** Waiting for a message, by type. @type {Map<string, () => void>} */
  #waiting = new Map();

  /**
   * @param {Task} task
   * @param {number} first position of its first wallet
   * @param {number} count
   * @param {HandleOptions} options
   */
  constructor(task, first, count, options) {
    this.first = first;
    this.count = count;
    this.#options = options;
    this.#worker = new Worker(new URL('./worker-thread.js', import.meta.url), { workerData: task });
    this.#worker.on('message', (message) => this.#onMessage(message));
    this.#worker.on('error', (error) => this.#died(error.message, error));
    this.#worker.on('exit', (code) => this.#died(`it exited with ${code}`, exitError(task.workload.name)));
    this.ready = this.#waitFor('ready', ANSWER_MS);
  }

  /** @param {WorkerRequest} request */
  post(request) {
    if (request.type === 'start') this.#hasStarted = true;
    if (!this.isDead) this.#worker.postMessage(request);
  }

  async prepare() {
    this.post({ type: 'prepare' });
    await this.#waitFor('prepared', ANSWER_MS);
  }

  /** @param {number} nowUs */
  async requestReport(nowUs) {
    this.report = null;
    this.#reports += 1;
    this.post({ type: 'report', nowUs, number: this.#reports });
    await this.#waitFor('report', ANSWER_MS);
  }

  /** Requests the state without ending the interval. A late response is no error. */
  async requestState() {
    this.post({ type: 'state' });
    await this.#waitFor('state', STATE_MS, () => this.#resolve('state'));
  }

  async requestCounts() {
    this.post({ type: 'counts' });
    await this.#waitFor('counts', STATE_MS, () => this.#resolve('counts'));
  }

  /** @param {number} timeoutMs */
  async drain(timeoutMs) {
    this.post({ type: 'drain', timeoutMs });
    await this.#waitFor('drained', timeoutMs + ANSWER_MS);
  }

  async close() {
    this.#isClosing = true;
    this.post({ type: 'close' });
    await this.#waitFor('exit', ABORT_MS);
  }

  /**
   * @param {string} type
   * @param {number} mostMs
   * @param {() => void} [giveUp] default: terminates the worker
   * @returns {Promise<void>} also resolves when the worker has died
   */
  async #waitFor(type, mostMs, giveUp = () => this.#end()) {
    if (this.isDead) return;
    const { now } = this.#options.stop;
    const abortMs = Math.min(mostMs, ABORT_MS);
    let timer = setTimeout(giveUp, now.aborted ? abortMs : mostMs);
    const shorten = () => {
      clearTimeout(timer);
      timer = setTimeout(giveUp, abortMs);
    };
    now.addEventListener('abort', shorten);
    await new Promise((resolve) => this.#waiting.set(type, () => resolve(undefined)));
    now.removeEventListener('abort', shorten);
    clearTimeout(timer);
  }

  #end() {
    if (this.#options.stop.now.aborted && !this.#hasStarted) this.#interrupted();
    else this.#died('it did not answer');
    this.#worker.terminate().catch(() => {});
  }

  /** @param {WorkerMessage} message */
  #onMessage(message) {
    const { stop, outputs } = this.#options;
    if (message.type === 'samples') {
      for (const sample of message.samples) for (const output of outputs) output.sample(sample);
    } else if (message.type === 'block') {
      this.#options.onBlock(message.block);
    } else if (message.type === 'stop' && message.reason === 'iterations') {
      this.isDone = true;
      this.#options.onDone();
    } else if (message.type === 'stop') {
      requestStop(stop, message.reason, errorOf(message));
    } else if (message.type === 'state') {
      this.latest = message.state;
      this.#resolve('state');
    } else if (message.type === 'counts') {
      this.totals = message.counts;
      this.#resolve('counts');
    } else if (message.type === 'report') {
      this.state = message.result?.state ?? this.state;
      this.latest = message.result?.state ?? this.latest;
      this.totals = message.result?.report.totals ?? this.totals;
      if (message.number !== this.#reports) return; // late response
      this.report =
        message.result === null
          ? null
          : { ...message.result.report, interval: Stats.fromState(message.result.report.interval) };
      this.#resolve('report');
    } else {
      this.#resolve(message.type);
    }
  }

  /** @param {string} type */
  #resolve(type) {
    const resolve = this.#waiting.get(type);
    this.#waiting.delete(type);
    resolve?.();
  }

  #resolveAll() {
    for (const type of [...this.#waiting.keys()]) this.#resolve(type);
  }

  /** The run was aborted before the load. */
  #interrupted() {
    const { exitCodes } = this.#options.stop;
    const exitCode = worstExit([...exitCodes, EXIT.nothingVerified]);
    this.error ??= new InterruptedError('interrupted before the load', exitCode);
    this.isDead = true;
    this.#resolveAll();
  }

  /** @param {string} words @param {Error & {code?: unknown}} [cause] as the other thread threw it */
  #died(words, cause) {
    if (this.isDead) return;
    this.isDead = true;
    this.diedAtUs = createClock().nowUs();
    this.report = null;
    if (!this.#isClosing) {
      const { stop, accounts } = this.#options;
      for (const account of accounts.slice(this.first, this.first + this.count)) account.isWorkerDead = true;
      const { index } = accounts[this.first].wallet;
      const ours = `the worker of wallets ${index}..${index + this.count - 1} died: ${words}; operations since its last report are unknown`;
      this.error = cause?.code === 'workload_error' ? new WorkloadError(cause.message) : new InternalError(ours);
      stop.request('worker_died', this.error.exitCode, this.error);
    }
    this.#resolveAll();
  }
}

/** Without an error a thread ends only by process.exit() in the user's workload. @param {string} workload */
function exitError(workload) {
  if (!isWorkloadFile(workload)) return undefined;
  return new WorkloadError(`${displayName(workload)} ended a worker thread; a workload must not call process.exit()`);
}

/** @param {{reason: StopReason, message: string | null}} message */
function errorOf({ reason, message }) {
  if (message === null) return undefined;
  if (reason === 'workload_failed') return new WorkloadError(message);
  return reason === 'internal' ? new InternalError(message) : new UnavailableError(message);
}
