import { workersOf } from './config.js';
import { requestStop } from './stop.js';
import { displayUrl } from '../chain/rpc.js';
import { InterruptedError, WorkloadError } from '../errors.js';
import { SharedBlocks, addBlocks, noBlocks, totalsOfBlock } from '../stats/blocks.js';
import { addUp, merge } from '../stats/merge.js';
import { ENGINE_REPORT, GENERATOR } from '../stats/metrics.js';
import { Recorder } from '../stats/recorder.js';
import { noReorgs } from '../stats/reorgs.js';
import { Stats, noneUsed, zeroCounts } from '../stats/stats.js';
import { numbered } from '../text.js';
import { Engine } from './engine.js';
import { Ledger } from './ledger.js';
import { sliceIndexes, splitSlice } from './nonces.js';
import { shares } from './pacer.js';
import { WorkerHandle } from './worker-handle.js';

/**
 * @import { Clock, Config, Counts, Output, Rpc, Sample, Sender, Transport, Workload } from '../types.d.ts'
 * @import { StopReason } from './driver.js'
 * @import { Endpoints, ThreadStats } from '../chain/endpoints.js'
 * @import { EngineOptions, EngineReport, EngineStats, Plan, Report, SeenBlock } from './engine.js'
 * @import { WarmUp } from './load.js'
 * @import { Stop } from './stop.js'
 * @import { Account } from './nonces.js'
 * @import { Schedule } from './pacer.js'
 * @import { StartBlock } from './setup.js'
 * @import { Task } from './worker-thread.js'
 */

/**
 * The engine of a run, in this thread or in a pool of worker threads with a part of the wallets each.
 *
 * @typedef {object} LoadEngine
 * @property {(signal: AbortSignal) => Promise<void>} prepare before the load
 * @property {(plan: Plan) => void} start
 * @property {(plan: Plan) => void} setWindow after an automatic warm-up
 * @property {() => Promise<Counts>} counts
 * @property {(nowUs: number) => Promise<Report>} report ends an interval
 * @property {() => void} check asserts the law of conservation
 * @property {(nowUs: number) => void} stop ends the window at nowUs
 * @property {(timeoutMs: number, signal: AbortSignal) => Promise<void>} drain
 * @property {(nowUs: number) => Promise<SoFar>} soFar during the load
 * @property {() => Promise<Result>} result after the drain
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Result
 * @property {Recorder} recorder
 * @property {Ledger} ledger
 * @property {EngineStats} stats
 * @property {ThreadStats[]} threads of the workers, without the main thread
 *
 * @typedef {Omit<Result, 'ledger'> & {untilUs: number}} SoFar untilUs: when it was so
 */

/** @param {EngineOptions} options @param {Pick<Transport, 'stats'>} transport @returns {LoadEngine} */
function createLocalEngine(options, transport) {
  let blocks = noBlocks();
  const engine = new Engine({
    ...options,
    onBlock: (block) => {
      blocks = addBlocks(blocks, totalsOfBlock(block));
      options.onBlock(block);
    },
  });
  return {
    prepare: (signal) => engine.prepare(signal),
    start: (plan) => {
      blocks = noBlocks();
      engine.start(plan);
    },
    setWindow: (plan) => engine.setWindow(plan),
    counts: async () => engine.recorder.counts,
    report: async (nowUs) => {
      const seen = blocks;
      blocks = noBlocks();
      return { ...engine.report(nowUs), blocks: seen, transport: transport.stats() };
    },
    check: () => engine.check(),
    stop: (nowUs) => engine.stop(nowUs),
    drain: (timeoutMs, signal) => engine.drain(timeoutMs, signal),
    soFar: async (nowUs) => {
      engine.check();
      return { recorder: engine.recorder, stats: engine.stats(), threads: [], untilUs: nowUs };
    },
    result: async () => ({ recorder: engine.recorder, ledger: engine.ledger, stats: engine.stats(), threads: [] }),
    close: () => engine.close(),
  };
}

/**
 * Worker threads with disjoint parts of the slice. Each sends its whole state with every report and checkpoint, so that
 * little is lost when a worker dies.
 *
 * @typedef {object} PoolOptions
 * @property {Pick<Config, 'offset' | 'threads' | 'connections'>} config
 * @property {number} workers
 * @property {Account[]} accounts by position
 * @property {(first: number, count: number, index: number) => Omit<Task, 'wantsSamples'>} taskOf the task of a worker
 *   for a part of the positions
 * @property {(block: SeenBlock) => void} onBlock each new block, in order, with our transactions of all workers
 * @property {Stop} stop
 * @property {Output[]} outputs
 */

/** @param {PoolOptions} options @returns {Promise<LoadEngine>} with its workers ready */
async function startWorkerPool(options) {
  const { config, workers, taskOf, stop, outputs, accounts, onBlock: onWholeBlock } = options;
  const wantsSamples = outputs.some((output) => output.wantsSamples);
  const shared = new SharedBlocks(onWholeBlock);
  /** @param {SeenBlock} block */
  const onBlock = (block) => shared.add(block, parts.filter(({ isDead }) => !isDead).length);
  const onDone = () => {
    if (parts.every(({ isDone }) => isDone)) requestStop(stop, 'iterations');
  };
  const slices = splitSlice({ offset: 0, threads: config.threads }, workers);
  // Created before the first thread, so that an error leaves no thread behind.
  const tasks = slices.map(({ offset, threads }, i) => taskOf(offset, threads, i));
  /** @type {WorkerHandle[]} */
  const parts = slices.map(({ offset, threads }, i) => {
    // The first workers get the remainder.
    const connections = Math.floor((config.connections + workers - 1 - i) / workers);
    const task = tasks[i];
    return new WorkerHandle({ ...task, config: { ...task.config, connections }, wantsSamples }, offset, threads, {
      stop,
      outputs,
      accounts,
      onBlock,
      onDone,
    });
  });
  await allReady(parts);

  /** @type {Plan} */
  let plan = { loadStartUs: Infinity, startUs: 0, endUs: Infinity };
  let endUs = Infinity;
  let isDrained = false;
  /** @param {'start' | 'window'} type @param {Plan} newPlan */
  const setPlan = (type, newPlan) => {
    plan = { ...newPlan };
    for (const part of parts) part.post({ type, plan });
  };

  /** @param {'state' | 'latest'} which */
  const mergedState = (which) => mergeStates(knownStates(parts, which), recorderOf(config, plan), endUs);
  return {
    prepare: () => prepareAll(parts),
    start: (newPlan) => setPlan('start', newPlan),
    setWindow: (newPlan) => setPlan('window', newPlan),
    counts: () => Promise.all(parts.map((part) => part.requestCounts())).then(() => totalsOf(parts)),
    report: async (nowUs) => {
      await Promise.all(parts.map((part) => part.requestReport(nowUs)));
      return { ...mergeReports(parts, nowUs), blocks: shared.take(isDrained), transport: transportOf(parts) };
    },
    check: () => {}, // each worker checks itself, at the instant of its report
    stop: (nowUs) => {
      endUs = nowUs;
      for (const part of parts) part.post({ type: 'stop', nowUs });
    },
    drain: async (timeoutMs, signal) => {
      const abort = () => parts.forEach((part) => part.post({ type: 'abort' }));
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
      await Promise.all(parts.map((part) => part.drain(timeoutMs)));
      signal.removeEventListener('abort', abort);
      isDrained = true;
    },
    soFar: async (nowUs) => {
      await Promise.all(parts.map((part) => part.requestState()));
      return { ...mergedState('latest'), untilUs: knownUntilUs(parts, nowUs, plan.loadStartUs) };
    },
    result: async () => {
      const ledger = new Ledger(accounts, () => requestStop(stop, 'foreign_sender'));
      for (const { state, first } of knownStates(parts, 'state')) ledger.fromState(state.ledger, first);
      const all = mergedState('state');
      all.recorder.abandonOpen(parts.flatMap(inFlightOf));
      all.recorder.assertConservation(new Map());
      return { ...all, ledger };
    },
    close: async () => {
      await Promise.all(parts.map((part) => part.close()));
    },
  };
}

/** Ends the run if a workload cannot be created in a worker, or on abort. @param {WorkerHandle[]} parts */
async function allReady(parts) {
  await Promise.all(parts.map((part) => part.ready));
  const failed = parts.find(({ error }) => error instanceof WorkloadError || error instanceof InterruptedError);
  if (failed === undefined) return;
  await Promise.all(parts.map((part) => part.close()));
  throw failed.error;
}

/** @param {WorkerHandle[]} parts */
async function prepareAll(parts) {
  await Promise.all(parts.map((part) => part.prepare()));
  const interrupted = parts.find(({ error }) => error instanceof InterruptedError);
  if (interrupted !== undefined) throw interrupted.error;
}

/**
 * The time up to which the state of all living workers is known.
 * @param {WorkerHandle[]} parts
 * @param {number} nowUs the default
 * @param {number} loadStartUs
 */
function knownUntilUs(parts, nowUs, loadStartUs) {
  const living = parts.filter(({ isDead }) => !isDead);
  const instants = living.map(({ latest }) => latest?.atUs ?? loadStartUs).filter(Number.isFinite);
  return instants.length === 0 ? nowUs : Math.min(...instants);
}

/** @param {PoolOptions['config']} config @param {Plan} plan @returns {Recorder} of all wallets, which has nothing yet */
function recorderOf(config, { startUs, endUs }) {
  const recorder = new Recorder(sliceIndexes(config), startUs);
  recorder.setWindow(startUs, endUs);
  return recorder;
}

/** The operations in flight at the last report of a dead worker. @param {WorkerHandle} part */
function inFlightOf({ isDead, state, diedAtUs }) {
  if (!isDead || state === null) return [];
  return state.inFlight.map((operation) => ({ ...operation, endedAtUs: Math.max(diedAtUs, state.atUs) }));
}

/** @param {WorkerHandle[]} parts @param {'state' | 'latest'} which */
function knownStates(parts, which) {
  return parts.flatMap(({ [which]: state, first }) => (state === null ? [] : { state, first }));
}

/**
 * @param {ReturnType<typeof knownStates>} known
 * @param {Recorder} recorder of all wallets, which has nothing yet
 * @param {number} endUs default end of the window
 */
function mergeStates(known, recorder, endUs) {
  for (const { state, first } of known) recorder.fromState(state.recorder, first);
  // The window ends with its last part.
  const ends = known.map(({ state }) => state.recorder.endUs).filter(Number.isFinite);
  recorder.closeWindow(ends.length > 0 ? Math.max(...ends) : endUs);
  const threads = known.map(({ state }) => state.thread);
  const stats = known.map(({ state }) => state.stats);
  return {
    recorder,
    stats:
      stats.length === 0
        ? { ...noneUsed(), reorgs: noReorgs(), failureWords: {}, spending: null }
        : stats.reduce(addGenerators),
    threads,
  };
}

/** @param {WorkerHandle[]} parts */
function transportOf(parts) {
  const none = { requests: 0, connectionsOpened: 0, bytesReceived: 0 };
  return parts.reduce((sum, { state }) => (state === null ? sum : addUp(sum, state.thread.transport)), none);
}

/** Including dead workers. @param {WorkerHandle[]} parts */
function totalsOf(parts) {
  return parts.reduce((sum, { totals }) => (totals === null ? sum : addUp(sum, totals)), zeroCounts());
}

/** @param {WorkerHandle[]} parts a dead one has no report @param {number} nowUs @returns {EngineReport} */
function mergeReports(parts, nowUs) {
  const none = { interval: new Stats(nowUs), inFlight: 0, silence: null, warnings: {}, reorgs: [], loop: null };
  const reports = parts.flatMap(({ report }) => report ?? []);
  const sum = reports.length === 0 ? none : reports.reduce((a, b) => merge(ENGINE_REPORT, a, b));
  return { ...sum, totals: totalsOf(parts) };
}

/** @template T @param {T} a figures of a thread @param {T} b @returns {T} */
function addGenerators(a, b) {
  return merge(GENERATOR, a, b);
}

/**
 * The engine of a run: in this thread, or in worker threads that have a part of the wallets each.
 *
 * @typedef {object} EngineParts
 * @property {Config} config
 * @property {URL[]} urls
 * @property {Pick<Endpoints, 'identity'>} endpoints
 * @property {Clock} clock
 * @property {Output[]} outputs
 * @property {WarmUp | null} warmUp null unless --warmup auto
 * @property {Stop} stop
 * @property {Rpc} rpc
 * @property {Endpoints['transport']} transport
 * @property {Schedule | null} schedule
 * @property {Account[]} accounts
 * @property {Workload} workload
 * @property {Sender | null} sender null: plain calls
 * @property {bigint | null} capWei limit of fees; null: none
 * @property {StartBlock} start
 * @property {{name: string} | null} inclusion
 */

/** @param {EngineParts} parts @returns {Promise<LoadEngine>} */
export async function createEngine(parts) {
  const { config, clock, outputs, warmUp, stop, rpc, transport, schedule, accounts, workload, capWei, start } = parts;
  const onBlock = blockListener(outputs, warmUp);
  const workers = workersOf(config);
  if (workers > 1)
    return startWorkerPool({ config, workers, accounts, stop, outputs, onBlock, taskOf: workerTasks(parts, workers) });
  const { chainId, fees, signer } = parts.sender ?? {};
  const inclusion = parts.inclusion?.name;
  const chain =
    chainId === undefined || fees === undefined || signer === undefined || inclusion === undefined
      ? null
      : { chainId, fees, signer, ...start, confirmations: config.confirmations, capWei, inclusion };
  const wanting = outputs.filter((output) => output.wantsSamples);
  /** @param {Sample} sample */
  const onSample = (sample) => wanting.forEach((output) => output.sample(sample));
  /** @param {StopReason} reason @param {Error} [error] */
  const onStop = (reason, error) => requestStop(stop, reason, error);
  const options = { config, clock, rpc, accounts, workload, chain, schedule, onSample, onBlock, onStop };
  return createLocalEngine(options, transport);
}

/** @param {EngineParts} parts @param {number} workers @returns {PoolOptions['taskOf']} */
function workerTasks(parts, workers) {
  const { config, urls, endpoints, rpc, schedule, accounts, workload, sender, capWei, start, inclusion } = parts;
  const { transport, connections, requestTimeoutMs, noKeepAlive, insecure, fixedId, txTimeoutMs, inFlight } = config;
  const { confirmations, iterations, thinkTimeMs, spread } = config;
  const network = { transport, connections, requestTimeoutMs, noKeepAlive, insecure, fixedId };
  const sharesOfRate = shares(splitSlice(config, workers).map(({ threads }) => threads));
  return (first, count, index) => ({
    config: { ...network, txTimeoutMs, inFlight, iterations, thinkTimeMs },
    schedule,
    share: sharesOfRate[index],
    endpoints: {
      urls: urls.map(({ href }) => href),
      names: numbered(urls.map(displayUrl)),
      home: index % urls.length,
      spread,
      identity: endpoints.identity?.state,
    },
    batches: rpc.batchFacts(),
    wallets: accounts.slice(first, first + count).map(({ wallet }) => wallet.toState()),
    workload: { name: config.workload, state: workload.handOver(first, count) },
    chain:
      sender === null || inclusion === null
        ? null
        : {
            chainId: sender.chainId,
            ...start,
            confirmations,
            inclusion: inclusion.name,
            fees: sender.fees.state(),
            capWei: shareOf(capWei, count, accounts.length),
          },
  });
}

/** The fee limit of a part of the wallets. @param {bigint | null} capWei @param {number} count @param {number} of */
function shareOf(capWei, count, of) {
  return capWei === null ? null : (capWei * BigInt(count)) / BigInt(of);
}

/** @param {Output[]} outputs @param {WarmUp | null} warmUp @returns {(block: SeenBlock) => void} */
function blockListener(outputs, warmUp) {
  const listeners = [
    ...outputs.flatMap((output) => output.block?.bind(output) ?? []),
    ...(warmUp === null ? [] : [warmUp.onBlock]),
  ];
  return (block) => listeners.forEach((listener) => listener(block));
}

/** @param {ThreadStats} own @param {ThreadStats[]} others @returns {ThreadStats} */
export function addUpThreads(own, others) {
  return others.reduce(addGenerators, own);
}
