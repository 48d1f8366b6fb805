/**
 * A worker thread: runs the engine for a part of the slice and answers the requests of worker-handle.js.
 *
 * @typedef {object} Task
 * @property {WorkerConfig} config
 * @property {{urls: string[], names: string[], home: number, spread: Spread, identity?: ChainIdentityState}} endpoints home:
 *   index of the endpoint of its wallets
 * @property {Array<ReturnType<Wallet['toState']>>} wallets
 * @property {{name: string, state: unknown}} workload
 * @property {(Omit<ChainTools, 'signer' | 'fees'> & {fees: ReturnType<Fees['state']>}) | null} chain
 * @property {BatchFacts} batches as learned in the set-up
 * @property {boolean} wantsSamples
 * @property {Schedule | null} schedule
 * @property {Share} share
 *
 * @typedef {Pick<Config, 'transport' | 'connections' | 'requestTimeoutMs' | 'noKeepAlive' | 'insecure' | 'fixedId' | 'txTimeoutMs' | 'inFlight' | 'iterations' | 'thinkTimeMs'>}
 *   WorkerConfig
 *
 * @typedef {{type: 'prepare'} | {type: 'start', plan: Plan} | {type: 'window', plan: Plan} | {type: 'counts'} | {type: 'report', nowUs: number, number: number} | {type: 'state'} | {type: 'stop', nowUs: number} | {type: 'drain', timeoutMs: number} | {type: 'abort'} | {type: 'close'}}
 *   WorkerRequest
 *
 * @typedef {object} WorkerState the whole state of a worker
 * @property {number} atUs
 * @property {ReturnType<Engine['inFlight']>} inFlight
 * @property {RecorderState} recorder
 * @property {LedgerState} ledger
 * @property {EngineStats} stats
 * @property {ThreadStats} thread
 *
 * @typedef {{type: 'ready'} | {type: 'prepared'} | {type: 'report', number: number, result: {report: Omit<EngineReport, 'interval'> & {interval: StatsState}, state: WorkerState} | null} | {type: 'state', state: WorkerState} | {type: 'counts', counts: Counts} | {type: 'drained'} | {type: 'block', block: SeenBlock} | {type: 'samples', samples: Sample[]} | {type: 'stop', reason: StopReason, message: string | null}}
 *   WorkerMessage
 */
import { parentPort, workerData } from 'node:worker_threads';
import { threadStatsOf } from '../chain/endpoints.js';
import { createFees } from '../chain/fees.js';
import { Wallet, createSigner } from '../chain/keys.js';
import { createClock } from '../clock.js';
import { createWorkload } from '../workloads/index.js';
import { strayErrorOf } from '../workloads/user-code.js';
import { openNetwork } from './connect.js';
import { Engine } from './engine.js';
import { Account } from './nonces.js';

/**
 * @import { BatchFacts, Clock, Config, Counts, Fees, RecorderState, Sample, StatsState } from '../types.d.ts'
 * @import { StopReason } from './driver.js'
 * @import { ChainIdentityState } from '../chain/chain-identity.js'
 * @import { Endpoints, Spread, ThreadStats } from '../chain/endpoints.js'
 * @import { ChainTools, EngineReport, EngineStats, Plan, SeenBlock } from './engine.js'
 * @import { LedgerState } from './ledger.js'
 * @import { Schedule, Share } from './pacer.js'
 * @import { MessagePort } from 'node:worker_threads'
 */

/** Limits of a batch of samples. */
const SAMPLES_AT_ONCE = 1000;
const SAMPLES_WAIT_MS = 200;

/** @param {Task} task @param {MessagePort} port */
async function work(task, port) {
  const { config, wallets, workload: prepared, chain, wantsSamples, schedule, share } = task;
  /** @param {WorkerMessage} message */
  const post = (message) => port.postMessage(message);
  /** @param {StopReason} reason @param {Error} [error] */
  const onStop = (reason, error) => post({ type: 'stop', reason, message: error?.message ?? null });

  const clock = createClock();
  const opened = openThreadEndpoints(task, clock);
  const { rpc, transport, reading, connect, monitor } = opened;
  const onBlock = (/** @type {SeenBlock} */ block) => post({ type: 'block', block });
  const batcher = createBatcher(clock, (samples) => post({ type: 'samples', samples }));
  const accounts = wallets.map((state, position) => new Account(position, Wallet.fromState(state)));
  const workload = await createWorkload(prepared.name, { rpc, settings: {}, state: prepared.state, clock, connect });
  const signing = chain === null ? null : { ...chain, signer: await createSigner(), fees: createFees(chain.fees) };
  const onSample = wantsSamples ? batcher.add : () => {};
  const load = { config, accounts, workload, schedule, share, onSample };
  const engine = new Engine({ ...load, clock, rpc, reading, chain: signing, onBlock, onStop });
  const abort = new AbortController();
  catchStrayErrors(prepared.name, onStop);
  const state = () => stateOf(engine, opened, clock.nowUs());
  let stoppedAtUs = 0;

  /** @param {number} nowUs @param {number} number */
  function report(nowUs, number) {
    batcher.flush();
    let result = null;
    try {
      const report = reportOf(engine, nowUs, refusalWarnings(task.endpoints.names, opened));
      result = { report, state: state() };
    } finally {
      post({ type: 'report', number, result });
    }
    engine.check();
  }

  /** @param {WorkerRequest} request */
  async function handle(request) {
    if (request.type === 'prepare') {
      try {
        await engine.prepare(abort.signal);
        if (opened.rpcs.length > 1) monitor.begin();
      } finally {
        post({ type: 'prepared' });
      }
    } else if (request.type === 'start') engine.start(request.plan);
    else if (request.type === 'window') engine.setWindow(request.plan);
    else if (request.type === 'counts') post({ type: 'counts', counts: engine.recorder.counts });
    else if (request.type === 'abort') {
      abort.abort();
      await transport.close();
    } else if (request.type === 'close') {
      monitor.stop();
      await engine.close();
      await transport.close();
      port.close();
    } else if (request.type === 'report') {
      report(Math.max(request.nowUs, stoppedAtUs), request.number);
    } else if (request.type === 'state') {
      post({ type: 'state', state: state() });
      engine.check();
    } else if (request.type === 'stop') {
      // Until now operations counted as inside of the window.
      engine.stop(Math.max(request.nowUs, clock.nowUs()));
      stoppedAtUs = engine.recorder.endUs;
    } else {
      try {
        await engine.drain(request.timeoutMs, abort.signal);
      } finally {
        post({ type: 'drained' });
      }
    }
  }

  port.on('message', (/** @type {WorkerRequest} */ request) => {
    handle(request).catch((error) => onStop('internal', error));
  });
  post({ type: 'ready' });
}

/**
 * Uncaught errors of the user's workload end the run.
 * @param {string} workload
 * @param {(reason: StopReason, error: Error) => void} onStop
 */
function catchStrayErrors(workload, onStop) {
  process.on('uncaughtException', (thrown) => {
    const theirs = strayErrorOf(workload, thrown);
    // A bug of ours: the thread ends.
    if (theirs === null) throw thrown;
    onStop('workload_failed', theirs);
  });
}

/** @param {Task} task @param {Clock} clock */
function openThreadEndpoints({ config, endpoints, batches }, clock) {
  const { home, spread, identity } = endpoints;
  const urls = endpoints.urls.map((url) => new URL(url));
  return openNetwork(config, { urls, clock, home, spread, batches, identity });
}

/** @param {string[]} names of the endpoints @param {Endpoints} endpoints @returns {Record<string, string>} by kind */
function refusalWarnings(names, { health }) {
  const words = 'refuses or does not answer transactions; they go to other endpoints';
  const refusing = [...names.keys()].filter((i) => health.refusesTransactions(i));
  return Object.fromEntries(refusing.map((i) => [`refusing ${i}`, `${names[i]} ${words}`]));
}

/**
 * Batches samples: a message for each would be too expensive.
 * @param {Clock} clock
 * @param {(samples: Sample[]) => void} onFull
 */
function createBatcher(clock, onFull) {
  /** @type {Sample[]} */
  let samples = [];
  const flush = () => {
    if (samples.length > 0) onFull(samples);
    samples = [];
  };
  /** @param {Sample} sample */
  const add = (sample) => {
    samples.push(sample);
    if (samples.length === 1) clock.after(flush, SAMPLES_WAIT_MS);
    if (samples.length === SAMPLES_AT_ONCE) flush();
  };
  return { add, flush };
}

/** @param {Engine} engine @param {number} nowUs @param {Record<string, string>} more warnings */
function reportOf(engine, nowUs, more) {
  const { interval, warnings, ...report } = engine.report(nowUs);
  return { ...report, warnings: { ...warnings, ...more }, interval: interval.toState() };
}

/** @param {Engine} engine @param {Endpoints} endpoints @param {number} atUs @returns {WorkerState} */
function stateOf(engine, endpoints, atUs) {
  return {
    atUs,
    inFlight: engine.inFlight(),
    recorder: engine.recorder.state(),
    ledger: engine.ledger.toState(engine.isDrained),
    stats: engine.stats(),
    thread: threadStatsOf(endpoints),
  };
}

await work(workerData, /** @type {MessagePort} */ (parentPort));
