import { displayUrl } from '../chain/rpc.js';
import {
  EXIT,
  InternalError,
  InterruptedError,
  UnavailableError,
  WorkloadError,
  displayName,
  worstExit,
} from '../errors.js';
import { onAbort } from '../clock.js';
import { isWorkloadFile } from '../files.js';
import { SharedBlocks, noBlocks } from '../stats/blocks.js';
import { merge } from '../stats/merge.js';
import { SNAPSHOT } from '../stats/metrics.js';
import { endedOf } from '../stats/recorder.js';
import { Stats } from '../stats/stats.js';
import { numbered } from '../text.js';
import { postTo } from './control.js';
import { ThreadEngine } from './engine.js';
import { Ledger } from './ledger.js';
import { splitSlice } from './nonces.js';
import { shares } from './pacer.js';
import { newSeed } from './platform.js';
import { requestStop } from './stop.js';
import { Thread } from './thread.js';

/**
 * @import { SeenBlock } from '../contracts/chain.d.ts'
 * @import { Clock, Stop } from '../contracts/common.d.ts'
 * @import { LoadPlan, Platform, Sample, Schedule, Snapshot, Workload } from '../contracts/load.d.ts'
 * @import { Output } from '../contracts/output.d.ts'
 * @import { Endpoints } from '../chain/endpoints.js'
 * @import { StressError } from '../errors.js'
 * @import { StopReason } from './driver.js'
 * @import { ChainTools, Engine, EngineConfig } from './engine.js'
 * @import { LedgerState } from './ledger.js'
 * @import { Account } from './nonces.js'
 * @import { Method, SnapshotState, Task, WorkerMessage } from './worker-thread.js'
 * @import { ControlMessage } from './control.js'
 */

/** Time limit of an answer of a worker, also after the end of the drain. */
const ANSWER_MS = 30_000;
/** The same when the run is aborted. */
const ABORT_MS = 2000;

/**
 * @typedef {object} HandleOptions
 * @property {Pick<Platform, 'clock' | 'startThread'>} platform
 * @property {Account[]} accounts of its wallets
 * @property {Stop} stop
 * @property {Output[]} outputs
 * @property {(block: SeenBlock) => void} onBlock
 * @property {(name: string, message: unknown) => void} onMessage
 * @property {() => void} onDone
 */

/**
 * The main thread's side of one worker. Every wait is bounded; a worker that does not answer is terminated and counts
 * as dead, which ends the run at once.
 */
class WorkerHandle {
  /** The latest snapshot that ended an interval, or the one before the load. @type {SnapshotState | null} */
  last = null;
  isDead = false;
  /** Why it died. @type {StressError | null} */
  error = null;
  /** Why none of its wallets can start another operation. @type {{reason: StopReason, error?: StressError} | null} */
  done = null;
  #isClosing = false;
  #thread;
  #options;

  /** @param {Task} task @param {HandleOptions} options */
  constructor(task, options) {
    this.#options = options;
    const program = new URL('./worker-thread.js', import.meta.url);
    this.#thread = new Thread(options.platform.startThread, program, task, {
      onMessage: (message) => this.#onMessage(message),
      onEnd: (error, exitCode) => {
        if (error !== null) this.#died(error.message, error);
        else this.#died(`it exited with ${exitCode}`, exitError(task.config.workload.workload));
      },
    });
    this.ready = this.ask('ready');
  }

  /**
   * @param {Method} method
   * @param {unknown[]} [args]
   * @param {number} [mostMs]
   * @returns {Promise<any>} null if it has died
   */
  async ask(method, args = [], mostMs = ANSWER_MS) {
    const { stop, platform } = this.#options;
    const { now } = stop;
    const giveUp = () => this.#end();
    const abortMs = Math.min(mostMs, ABORT_MS);
    let cancel = platform.clock.after(giveUp, now.aborted ? abortMs : mostMs);
    const shorten = () => {
      cancel();
      cancel = platform.clock.after(giveUp, abortMs);
    };
    const leave = onAbort(now, shorten);
    const result = await this.#thread.ask(method, args);
    leave();
    cancel();
    return result;
  }

  /** @param {number} nowUs @param {boolean} endsInterval @param {boolean} [hasFigures] @returns {Promise<Snapshot>} */
  async snapshot(nowUs, endsInterval, hasFigures) {
    const given = [nowUs, endsInterval, hasFigures];
    const state = (await this.ask('snapshot', given)) ?? this.#asReported(nowUs, endsInterval, hasFigures);
    if (endsInterval) this.last = state;
    return fromState(state);
  }

  /** What it had in flight at its last report stays in flight. @param {number} nowUs @param {boolean} endsInterval @param {boolean} [hasFigures] @returns {SnapshotState} */
  #asReported(nowUs, endsInterval, hasFigures = true) {
    const last = /** @type {SnapshotState} */ (this.last);
    const inFlight = last.counts.started - endedOf(last.counts);
    const nothing = { silence: null, warnings: {}, reorgs: [], loop: null, blocks: noBlocks() };
    const interval = { stats: new Stats(last.atUs, nowUs).toState(), inFlight, ...nothing };
    return {
      ...last,
      atUs: nowUs,
      interval: endsInterval ? interval : null,
      rest: hasFigures ? new Stats(nowUs).toState() : null,
      spread: { ...last.spread, spans: [] },
      window: { startUs: last.window.startUs, endUs: 0 },
    };
  }

  /** @param {ControlMessage} message @returns {Promise<boolean>} */
  async post(message) {
    return (await this.ask('post', [message])) === true;
  }

  async close() {
    this.#isClosing = true;
    // Answered by its end.
    await this.ask('close', [], ABORT_MS);
  }

  #end() {
    const { now, exitCodes } = this.#options.stop;
    const interrupted = () =>
      new InterruptedError('interrupted before the load', worstExit([...exitCodes, EXIT.nothingVerified]));
    if (now.aborted) this.#bury(interrupted());
    else this.#died('it did not answer');
    this.#thread.terminate().catch(() => {});
  }

  /** @param {WorkerMessage} message */
  #onMessage(message) {
    const { stop, outputs } = this.#options;
    if (message.type === 'samples') {
      for (const sample of message.samples) for (const output of outputs) output.sample?.(sample);
    } else if (message.type === 'observed') {
      this.#options.onMessage(message.name, message.message);
    } else if (message.type === 'block') {
      this.#options.onBlock(message.block);
    } else if (message.reason === 'iterations' || message.reason === 'no_wallets') {
      this.done = { reason: message.reason, error: errorOf(message) };
      this.#options.onDone();
    } else {
      requestStop(stop, message.reason, errorOf(message));
    }
  }

  /** @param {string} words @param {Error & {code?: unknown}} [cause] as the other thread threw it */
  #died(words, cause) {
    if (this.isDead) return;
    const { stop, accounts } = this.#options;
    const [first, last] = [accounts[0].wallet.index, accounts[accounts.length - 1].wallet.index];
    const ours = `the worker of wallets ${first}..${last} died: ${words}; operations since its last report are unknown`;
    const error = cause?.code === 'workload_error' ? new WorkloadError(cause.message) : new InternalError(ours);
    this.#bury(error);
    if (this.#isClosing) return;
    stop.request('worker_died', error.exitCode, error);
    stop.abort(error.message);
  }

  /** @param {StressError} error */
  #bury(error) {
    this.isDead = true;
    this.error = error;
  }
}

/** @param {SnapshotState} state @returns {Snapshot} */
function fromState({ interval, rest, ...others }) {
  const ended = interval && { ...interval, stats: Stats.fromState(interval.stats) };
  return { ...others, interval: ended, rest: rest && Stats.fromState(rest) };
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

/**
 * Worker threads with disjoint parts of the slice. If one dies, the run ends without an audit, and the figures are those
 * of its last report.
 *
 * @typedef {object} PoolOptions
 * @property {Task[]} tasks of the workers
 * @property {Pick<Platform, 'clock' | 'startThread'>} platform
 * @property {Account[]} accounts by position
 * @property {(block: SeenBlock) => void} onBlock each new block, in order, with our transactions of all workers
 * @property {(name: string, message: unknown) => void} onMessage of an observer for its side of the run
 * @property {Stop} stop
 * @property {Output[]} outputs
 *
 * @implements {Engine}
 */
class WorkerPool {
  #options;
  #handles;
  #blocks;
  /** @type {LoadPlan} */
  #plan = { loadStartUs: Infinity, startUs: Infinity, endUs: Infinity };
  #endUs = Infinity;
  #isDrained = false;

  /** @param {PoolOptions} options */
  constructor(options) {
    const { tasks, platform, accounts, onMessage, stop, outputs } = options;
    this.#options = options;
    this.#blocks = new SharedBlocks(options.onBlock, ({ seenAtUs }) => seenAtUs >= this.#plan.loadStartUs);
    let first = 0;
    this.#handles = tasks.map((task) => {
      const own = accounts.slice(first, (first += task.wallets.length));
      const { onBlock, onDone } = { onBlock: this.#onBlock, onDone: this.#onDone };
      return new WorkerHandle(task, { platform, accounts: own, stop, outputs, onMessage, onBlock, onDone });
    });
  }

  /** @param {PoolOptions} options @throws {StressError} a worker died, or the run was aborted */
  static async start(options) {
    const pool = new WorkerPool(options);
    await Promise.all(pool.#handles.map((handle) => handle.ready));
    try {
      pool.#throwError();
    } catch (error) {
      await pool.close();
      throw error;
    }
    return pool;
  }

  #throwError() {
    const errors = this.#handles.flatMap(({ error }) => error ?? []);
    // The death of one interrupts the others.
    const cause = errors.find((error) => !(error instanceof InterruptedError)) ?? errors[0];
    if (cause !== undefined) throw cause;
  }

  /** @param {SeenBlock} block */
  #onBlock = (block) => {
    this.#blocks.add(block, this.#handles.length);
  };

  /** The run ends when no worker can start another operation. */
  #onDone = () => {
    const all = this.#handles.flatMap(({ done }) => done ?? []);
    if (all.length < this.#handles.length) return;
    // The reason that a run of one thread would have: a payment that does not come, iterations, no wallet.
    const { reason, error } =
      all.find((done) => done.error) ?? all.find((done) => done.reason === 'iterations') ?? all[0];
    requestStop(this.#options.stop, reason, error);
  };

  async prepare() {
    await this.#askAll('prepare');
    const states = await this.#askAll('snapshot', 0, false);
    this.#throwError();
    this.#handles.forEach((handle, i) => (handle.last = states[i]));
  }

  /** @param {LoadPlan} plan */
  start(plan) {
    this.#plan = { ...plan };
    for (const { last } of this.#handles) if (last !== null) last.atUs = plan.loadStartUs;
    void this.#askAll('start', plan);
  }

  /** @param {LoadPlan} plan */
  setWindow(plan) {
    this.#plan = { ...plan };
    void this.#askAll('setWindow', plan);
  }

  /** @param {number} nowUs @param {boolean} endsInterval @param {boolean} [hasFigures] @returns {Promise<Snapshot>} */
  async snapshot(nowUs, endsInterval, hasFigures) {
    const all = await Promise.all(this.#handles.map((handle) => handle.snapshot(nowUs, endsInterval, hasFigures)));
    const sum = all.reduce((a, b) => merge(SNAPSHOT, a, b));
    // Without living workers it has no end of its own.
    sum.window = { startUs: this.#plan.startUs, endUs: sum.window.endUs || this.#endUs };
    if (sum.interval !== null) sum.interval.blocks = this.#blocks.take(this.#isDrained);
    return sum;
  }

  /** @param {ControlMessage} message */
  post(message) {
    return postTo(this.#handles, message);
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
 * @property {URL[]} urls
 * @property {URL | null} sendUrl as in EndpointOptions
 * @property {Endpoints} endpoints
 * @property {Platform} platform
 * @property {Stop} stop
 * @property {Output[]} outputs
 * @property {((block: SeenBlock) => void) | undefined} onBlock beside the outputs
 * @property {Readonly<Record<string, unknown>>} observers plans by name
 * @property {(name: string, message: unknown) => void} onMessage of an observer for its side of the run
 * @property {Schedule | null} schedule
 * @property {Account[]} accounts
 * @property {Workload} workload
 * @property {ChainTools | null} chain null: plain calls
 */

/** @param {EngineParts} parts @returns {Promise<Engine>} */
export async function createEngine(parts) {
  const { endpoints, platform, stop, outputs } = parts;
  const listeners = [...outputs.flatMap((output) => output.block?.bind(output) ?? []), parts.onBlock ?? []].flat();
  /** @param {SeenBlock} block */
  const onBlock = (block) => {
    try {
      listeners.forEach((listener) => listener(block));
    } catch (error) {
      // The detector would take it for a block that could not be read.
      requestStop(stop, 'internal', /** @type {Error} */ (error));
    }
  };
  if (parts.config.load.workers > 1) return WorkerPool.start({ ...parts, tasks: tasksOf(parts), onBlock });
  const wanting = outputs.flatMap((output) => output.sample?.bind(output) ?? []);
  /** @param {Sample} sample */
  const onSample = (sample) => wanting.forEach((want) => want(sample));
  /** @param {StopReason} reason @param {Error} [error] */
  const onStop = (reason, error) => requestStop(stop, reason, error);
  /** @type {ThreadEngine} */
  const engine = new ThreadEngine({
    ...parts,
    clock: platform.clock,
    random: platform.random,
    probes: platform.probes,
    rpc: endpoints.rpc,
    onSample: wanting.length === 0 ? null : onSample,
    onBlock: (block) => engine.hasStarted && onBlock(block),
    onStop,
    traffic: endpoints.stats,
  });
  return engine;
}

/** @param {EngineParts} parts @returns {Task[]} */
function tasksOf(parts) {
  const { config, urls, endpoints, schedule, accounts, chain } = parts;
  const { load, network, workload } = config;
  const { workers } = load;
  const slices = splitSlice({ offset: 0, threads: accounts.length }, workers);
  const sharesOfRate = shares(slices.map(({ threads }) => threads));
  // The first workers get the remainder.
  const connectionsOf = (/** @type {number} */ i) => Math.floor((network.connections + workers - 1 - i) / workers);
  return slices.map(({ offset: first, threads: count }, i) => ({
    config: { load, network: { ...network, connections: connectionsOf(i) }, workload },
    wantsSamples: parts.outputs.some((output) => output.sample !== undefined),
    observers: parts.observers,
    schedule,
    share: sharesOfRate[i],
    part: { from: first / accounts.length, to: (first + count) / accounts.length },
    seed: newSeed(parts.platform.random),
    endpoints: {
      urls: urls.map(({ href }) => href),
      sendUrl: parts.sendUrl?.href ?? null,
      names: numbered(urls.map(displayUrl)),
      home: i % urls.length,
      identity: endpoints.identity?.state,
    },
    batches: endpoints.rpc.batchFacts(),
    wallets: accounts.slice(first, first + count).map(({ wallet }) => wallet.toState()),
    workload: parts.workload.handOver(first, count),
    chain: chain && {
      ...chain,
      signer: null,
      fees: chain.fees.state(),
      capWei: partOfCap(chain.capWei, count, accounts.length),
      capValueWei: partOfCap(chain.capValueWei ?? null, count, accounts.length),
    },
  }));
}

/** @param {bigint | null} capWei @param {number} count of its wallets @param {number} all */
function partOfCap(capWei, count, all) {
  return capWei === null ? null : (capWei * BigInt(count)) / BigInt(all);
}
