import { Worker } from 'node:worker_threads';
import { displayUrl } from '../chain/rpc.js';
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
import { SharedBlocks, noBlocks } from '../stats/blocks.js';
import { merge } from '../stats/merge.js';
import { SNAPSHOT } from '../stats/metrics.js';
import { Recorder, endedOf } from '../stats/recorder.js';
import { noReorgs } from '../stats/reorgs.js';
import { Stats, noneUsed, zeroCounts } from '../stats/stats.js';
import { numbered } from '../text.js';
import { ThreadEngine } from './engine.js';
import { Ledger } from './ledger.js';
import { splitSlice } from './nonces.js';
import { shares } from './pacer.js';
import { requestStop } from './stop.js';

/**
 * @import { Clock, Engine, EngineConfig, Output, Sample, Settings, Snapshot, SnapshotState, Workload } from '../types.d.ts'
 * @import { Endpoints } from '../chain/endpoints.js'
 * @import { StressError } from '../errors.js'
 * @import { StopReason } from './driver.js'
 * @import { ChainTools, Plan, SeenBlock } from './engine.js'
 * @import { LedgerState } from './ledger.js'
 * @import { Stop } from './stop.js'
 * @import { Account } from './nonces.js'
 * @import { Schedule } from './pacer.js'
 * @import { Method, Task, WorkerMessage } from './worker-thread.js'
 */

/** Time limit of an answer of a worker, also after the end of the drain. */
const ANSWER_MS = 30_000;
/** The same when the run is aborted. */
const ABORT_MS = 2000;
/** Time limit of a snapshot within an interval. */
const SOON_MS = 1000;

/**
 * @typedef {object} HandleOptions
 * @property {Account[]} accounts of its wallets
 * @property {Stop} stop
 * @property {Output[]} outputs
 * @property {(block: SeenBlock) => void} onBlock
 * @property {() => void} onDone
 */

/**
 * The main thread's side of one worker. Every wait is bounded; a worker that does not answer is terminated and counts
 * as dead.
 */
class WorkerHandle {
  /** The latest snapshot that ended an interval. @type {SnapshotState | null} */
  last = null;
  isDead = false;
  diedAtUs = Infinity;
  /** Why it died. @type {StressError | null} */
  error = null;
  /** All iterations of its wallets are done. */
  isDone = false;
  #isClosing = false;
  #hasStarted = false;
  #worker;
  #options;
  #lastId = 0;
  /** Waiting for an answer, by id of the request; 0: until it is ready. @type {Map<number, (result: any) => void>} */
  #waiting = new Map();

  /** @param {Task} task @param {HandleOptions} options */
  constructor(task, options) {
    this.#options = options;
    this.#worker = new Worker(new URL('./worker-thread.js', import.meta.url), { workerData: task });
    this.#worker.on('message', (message) => this.#onMessage(message));
    this.#worker.on('error', (error) => this.#died(error.message, error));
    this.#worker.on('exit', (code) => this.#died(`it exited with ${code}`, exitError(task.workload.name)));
    this.ready = this.#answerTo(0, ANSWER_MS);
  }

  /**
   * @param {Method} method
   * @param {unknown[]} [args]
   * @param {number} [mostMs]
   * @param {() => void} [giveUp] default: terminates the worker
   * @returns {Promise<any>} null if it has died, or was given up
   */
  ask(method, args = [], mostMs = ANSWER_MS, giveUp) {
    if (this.isDead) return Promise.resolve(null);
    if (method === 'start') this.#hasStarted = true;
    const id = (this.#lastId += 1);
    this.#worker.postMessage({ id, method, args });
    return this.#answerTo(id, mostMs, giveUp && (() => (giveUp(), this.#answer(id, null))));
  }

  /**
   * @param {number} nowUs
   * @param {boolean} endsInterval
   * @returns {Promise<Snapshot | null>} null: it died, or within an interval: it did not answer in time
   */
  async snapshot(nowUs, endsInterval) {
    /** @type {SnapshotState | null} */
    const state = await (endsInterval
      ? this.ask('snapshot', [nowUs, true])
      : this.ask('snapshot', [nowUs, false], SOON_MS, () => {}));
    if (state !== null) {
      if (endsInterval) this.last = state;
      return fromState(state);
    }
    // A snapshot that failed in a living worker has ended the run.
    return endsInterval && !this.isDead && this.last ? fromState({ ...this.last, interval: null }) : null;
  }

  async close() {
    this.#isClosing = true;
    // Answered by its end.
    await this.ask('close', [], ABORT_MS);
  }

  /** @param {number} id @param {number} mostMs @param {() => void} [giveUp] */
  async #answerTo(id, mostMs, giveUp = () => this.#end()) {
    const { now } = this.#options.stop;
    const abortMs = Math.min(mostMs, ABORT_MS);
    let timer = setTimeout(giveUp, now.aborted ? abortMs : mostMs);
    const shorten = () => {
      clearTimeout(timer);
      timer = setTimeout(giveUp, abortMs);
    };
    now.addEventListener('abort', shorten);
    const result = await new Promise((resolve) => this.#waiting.set(id, resolve));
    now.removeEventListener('abort', shorten);
    clearTimeout(timer);
    return result;
  }

  /** @param {number} id @param {unknown} result */
  #answer(id, result) {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(result);
  }

  #end() {
    if (this.#options.stop.now.aborted && !this.#hasStarted) this.#interrupted();
    else this.#died('it did not answer');
    this.#worker.terminate().catch(() => {});
  }

  /** @param {WorkerMessage} message */
  #onMessage(message) {
    const { stop, outputs } = this.#options;
    if (message.type === 'answer') {
      this.#answer(message.id, message.result);
    } else if (message.type === 'samples') {
      for (const sample of message.samples) for (const output of outputs) output.sample(sample);
    } else if (message.type === 'block') {
      this.#options.onBlock(message.block);
    } else if (message.reason === 'iterations') {
      this.isDone = true;
      this.#options.onDone();
    } else {
      requestStop(stop, message.reason, errorOf(message));
    }
  }

  /** The run was aborted before the load. */
  #interrupted() {
    const { exitCodes } = this.#options.stop;
    const exitCode = worstExit([...exitCodes, EXIT.nothingVerified]);
    this.error ??= new InterruptedError('interrupted before the load', exitCode);
    this.#bury();
  }

  /** @param {string} words @param {Error & {code?: unknown}} [cause] as the other thread threw it */
  #died(words, cause) {
    if (this.isDead) return;
    this.diedAtUs = createClock().nowUs();
    if (!this.#isClosing) {
      const { stop, accounts } = this.#options;
      for (const account of accounts) account.isWorkerDead = true;
      const [first, last] = [accounts[0].wallet.index, accounts[accounts.length - 1].wallet.index];
      const ours = `the worker of wallets ${first}..${last} died: ${words}; operations since its last report are unknown`;
      this.error = cause?.code === 'workload_error' ? new WorkloadError(cause.message) : new InternalError(ours);
      stop.request('worker_died', this.error.exitCode, this.error);
    }
    this.#bury();
  }

  #bury() {
    this.isDead = true;
    for (const id of [...this.#waiting.keys()]) this.#answer(id, null);
  }
}

/** @param {SnapshotState} state @returns {Snapshot} */
function fromState({ interval, rest, ...others }) {
  const ended = interval && { ...interval, stats: Stats.fromState(interval.stats) };
  return { ...others, interval: ended, rest: Stats.fromState(rest) };
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

/** Of a worker that died. */
const NO_INTERVAL = Object.freeze({ inFlight: 0, silence: null, reorgs: [], loop: null });

/**
 * Worker threads with disjoint parts of the slice. What a worker has sent before it dies is kept; its operations in
 * flight at that time count as abandoned.
 *
 * @typedef {object} PoolOptions
 * @property {Task[]} tasks of the workers
 * @property {Account[]} accounts by position
 * @property {(block: SeenBlock) => void} onBlock each new block, in order, with our transactions of all workers
 * @property {Stop} stop
 * @property {Output[]} outputs
 *
 * @implements {Engine}
 */
class WorkerPool {
  #options;
  #handles;
  #blocks;
  /** Dead workers whose operations in flight were counted. @type {Set<WorkerHandle>} */
  #counted = new Set();
  /** @type {Plan} */
  #plan = { loadStartUs: Infinity, startUs: Infinity, endUs: Infinity };
  #endUs = Infinity;
  /** End of the last interval. */
  #reportedUs = Infinity;
  #isDrained = false;

  /** @param {PoolOptions} options */
  constructor(options) {
    const { tasks, accounts, stop, outputs } = options;
    this.#options = options;
    this.#blocks = new SharedBlocks(options.onBlock, ({ seenAtUs }) => seenAtUs >= this.#plan.loadStartUs);
    let first = 0;
    this.#handles = tasks.map((task) => {
      const own = accounts.slice(first, (first += task.wallets.length));
      return new WorkerHandle(task, { accounts: own, stop, outputs, onBlock: this.#onBlock, onDone: this.#onDone });
    });
  }

  /** Ends the run if a workload cannot be created in a worker, or on abort. @param {PoolOptions} options */
  static async start(options) {
    const pool = new WorkerPool(options);
    await Promise.all(pool.#handles.map((handle) => handle.ready));
    const failed = pool.#handles.find(
      ({ error }) => error instanceof WorkloadError || error instanceof InterruptedError,
    );
    if (failed === undefined) return pool;
    await pool.close();
    throw failed.error;
  }

  /** @param {SeenBlock} block */
  #onBlock = (block) => {
    this.#blocks.add(block, this.#handles.filter(({ isDead }) => !isDead).length);
  };

  #onDone = () => {
    if (this.#handles.every(({ isDone }) => isDone)) requestStop(this.#options.stop, 'iterations');
  };

  async prepare() {
    await this.#askAll('prepare');
    const interrupted = this.#handles.find(({ error }) => error instanceof InterruptedError);
    if (interrupted !== undefined) throw interrupted.error;
  }

  /** @param {Plan} plan */
  start(plan) {
    this.#plan = { ...plan };
    this.#reportedUs = plan.loadStartUs;
    void this.#askAll('start', plan);
  }

  /** @param {Plan} plan */
  setWindow(plan) {
    this.#plan = { ...plan };
    void this.#askAll('setWindow', plan);
  }

  /** @param {number} nowUs @param {boolean} endsInterval @returns {Promise<Snapshot | null>} */
  async snapshot(nowUs, endsInterval) {
    const living = await Promise.all(this.#handles.map((handle) => handle.snapshot(nowUs, endsInterval)));
    // Older figures of one worker do not fit to those of the others.
    if (!endsInterval && this.#handles.some(({ isDead }, i) => living[i] === null && !isDead)) return null;
    const all = this.#handles.flatMap((handle, i) => living[i] ?? this.#lastOf(handle, nowUs, endsInterval) ?? []);
    const sum = all.length === 0 ? this.#nothing(nowUs) : all.reduce((a, b) => merge(SNAPSHOT, a, b));
    if (living.every((one) => one === null)) sum.window = { startUs: this.#plan.startUs, endUs: this.#endUs };
    if (!endsInterval) return sum;
    const none = { ...NO_INTERVAL, stats: new Stats(this.#reportedUs, nowUs), warnings: {} };
    const interval = { ...none, ...sum.interval, blocks: this.#blocks.take(this.#isDrained) };
    this.#reportedUs = interval.stats.endUs;
    return { ...sum, interval };
  }

  /**
   * The last snapshot of a dead worker. Its operations in flight at that time are added to the next interval.
   * @param {WorkerHandle} handle
   * @param {number} nowUs
   * @param {boolean} endsInterval
   * @returns {Snapshot | null}
   */
  #lastOf(handle, nowUs, endsInterval) {
    if (handle.last === null) return null;
    const { counts, atUs } = handle.last;
    const window = { startUs: this.#plan.startUs, endUs: 0 };
    const lost = { ...handle.last, atUs: nowUs, interval: null, rest: new Stats(nowUs), window };
    if (!endsInterval || this.#counted.has(handle)) return lost;
    this.#counted.add(handle);
    const recorder = new Recorder([], this.#reportedUs);
    recorder.setWindow(this.#plan.startUs, this.#plan.endUs);
    // None starts after the window; how long before the report they started is not known.
    const startedAtUs = Math.min(atUs, this.#plan.endUs);
    recorder.abandon(counts.started - endedOf(counts), startedAtUs, Math.max(handle.diedAtUs, atUs));
    return { ...lost, interval: { ...NO_INTERVAL, stats: recorder.take(nowUs), warnings: {}, blocks: noBlocks() } };
  }

  /** All workers died before their first snapshot. @param {number} nowUs @returns {Snapshot} */
  #nothing(nowUs) {
    return {
      atUs: nowUs,
      counts: zeroCounts(),
      interval: null,
      rest: new Stats(nowUs),
      window: { startUs: this.#plan.startUs, endUs: this.#endUs },
      generator: { ...noneUsed(), reorgs: noReorgs(), failureWords: {}, spending: null },
      traffic: {
        rpcCalls: {},
        transport: { requests: 0, connectionsOpened: 0, bytesReceived: 0 },
        batches: { limit: Infinity, largest: 0, refused: 0, why: null },
        endpoints: [],
      },
      violation: null,
    };
  }

  /** @param {number} nowUs */
  stop(nowUs) {
    this.#endUs = nowUs;
    void this.#askAll('stop', nowUs);
  }

  /** @param {number} timeoutMs @param {AbortSignal} signal @returns {Promise<Ledger>} */
  async drain(timeoutMs, signal) {
    const { accounts, stop } = this.#options;
    const abort = () => void this.#askAll('abort');
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    const ledger = new Ledger(accounts, () => requestStop(stop, 'foreign_sender'));
    /** @type {Array<LedgerState | null>} */
    const states = await Promise.all(
      this.#handles.map((handle) => handle.ask('drain', [timeoutMs], timeoutMs + ANSWER_MS)),
    );
    signal.removeEventListener('abort', abort);
    this.#isDrained = true;
    let first = 0;
    this.#options.tasks.forEach(({ wallets }, i) => {
      if (states[i] !== null) ledger.fromState(states[i], first);
      first += wallets.length;
    });
    return ledger;
  }

  async close() {
    await Promise.all(this.#handles.map((handle) => handle.close()));
  }

  /** @param {Method} method @param {...unknown} args */
  #askAll(method, ...args) {
    return Promise.all(this.#handles.map((handle) => handle.ask(method, args)));
  }
}

/**
 * The engine of a run: in this thread, or in worker threads that have a part of the wallets each.
 *
 * @typedef {object} EngineParts
 * @property {EngineConfig} config
 * @property {number} workers
 * @property {URL[]} urls
 * @property {URL | null} sendUrl as in EndpointOptions
 * @property {Endpoints} endpoints
 * @property {Clock} clock
 * @property {Stop} stop
 * @property {Output[]} outputs
 * @property {((block: SeenBlock) => void) | undefined} onBlock beside the outputs
 * @property {Schedule | null} schedule
 * @property {Account[]} accounts
 * @property {Workload} workload
 * @property {Settings} settings of the workload
 * @property {ChainTools | null} chain null: plain calls
 */

/** @param {EngineParts} parts @returns {Promise<Engine>} */
export async function createEngine(parts) {
  const { config, workers, endpoints, clock, stop, outputs, schedule, accounts, workload, chain } = parts;
  const listeners = [...outputs.flatMap((output) => output.block?.bind(output) ?? []), parts.onBlock ?? []].flat();
  /** @param {SeenBlock} block */
  const onBlock = (block) => listeners.forEach((listener) => listener(block));
  if (workers > 1) return WorkerPool.start({ tasks: tasksOf(parts), accounts, stop, outputs, onBlock });
  const wanting = outputs.filter((output) => output.wantsSamples);
  /** @param {Sample} sample */
  const onSample = (sample) => wanting.forEach((output) => output.sample(sample));
  /** @param {StopReason} reason @param {Error} [error] */
  const onStop = (reason, error) => requestStop(stop, reason, error);
  const load = { config, clock, rpc: endpoints.rpc, accounts, workload, chain, schedule };
  /** @type {ThreadEngine} */
  const engine = new ThreadEngine({
    ...load,
    onSample,
    onBlock: (block) => engine.hasStarted && onBlock(block),
    onStop,
    traffic: endpoints.stats,
  });
  return engine;
}

/** @param {EngineParts} parts @returns {Task[]} */
function tasksOf({
  config,
  workers,
  urls,
  sendUrl,
  endpoints,
  outputs,
  schedule,
  accounts,
  workload,
  settings,
  chain,
}) {
  const slices = splitSlice({ offset: 0, threads: accounts.length }, workers);
  const sharesOfRate = shares(slices.map(({ threads }) => threads));
  return slices.map(({ offset: first, threads: count }, i) => ({
    // The first workers get the remainder.
    config: { ...config, connections: Math.floor((config.connections + workers - 1 - i) / workers) },
    wantsSamples: outputs.some((output) => output.wantsSamples),
    schedule,
    share: sharesOfRate[i],
    endpoints: {
      urls: urls.map(({ href }) => href),
      sendUrl: sendUrl?.href ?? null,
      names: numbered(urls.map(displayUrl)),
      home: i % urls.length,
      identity: endpoints.identity?.state,
    },
    batches: endpoints.rpc.batchFacts(),
    wallets: accounts.slice(first, first + count).map(({ wallet }) => wallet.toState()),
    workload: { name: String(settings.workload), settings, state: workload.handOver(first, count) },
    chain: chain && {
      ...chain,
      signer: null,
      fees: chain.fees.state(),
      capWei: chain.capWei === null ? null : (chain.capWei * BigInt(count)) / BigInt(accounts.length),
    },
  }));
}
