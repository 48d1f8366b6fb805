/**
 * A worker thread: runs the engine for a part of the slice and answers the requests of workers.js.
 *
 * @typedef {object} Task
 * @property {EngineConfig} config
 * @property {{urls: string[], sendUrl: string | null, names: string[], home: number, identity?: ChainIdentityState}} endpoints home: index of the
 *   endpoint of its wallets
 * @property {WalletState[]} wallets
 * @property {WorkloadState} workload
 * @property {(Omit<ChainTools, 'signer' | 'fees'> & {signer: null, fees: FeeState}) | null} chain
 * @property {BatchFacts} batches as learned in the set-up
 * @property {boolean} wantsSamples
 * @property {Readonly<Record<string, unknown>>} observers plans by name
 * @property {Schedule | null} schedule
 * @property {Share} share
 * @property {Part} part of the wallets
 * @property {number} seed of its random numbers
 *
 * @typedef {'ready' | 'prepare' | 'start' | 'setWindow' | 'snapshot' | 'post' | 'stop' | 'drain' | 'abort' | 'close'} Method
 *
 * @typedef {{type: 'block', block: SeenBlock} | {type: 'samples', samples: Sample[]} | {type: 'observed', name: string, message: unknown} | {type: 'stop', reason: StopReason, message: string | null}}
 *   WorkerMessage
 */
import { parentPort, workerData } from 'node:worker_threads';
import { createFees } from '../chain/fees.js';
import { Wallet, createSigner } from '../chain/keys.js';
import { randomNumbers } from '../random.js';
import { createWorkload } from '../workloads/index.js';
import { strayErrorOf } from '../workloads/user-code.js';
import { openNetwork } from './connect.js';
import { ThreadEngine } from './engine.js';
import { Account } from './nonces.js';
import { createPlatform } from './platform.js';
import { serve } from './thread.js';

/**
 * @import { BatchFacts, FeeState, SeenBlock, WalletState } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { EngineReport, Platform, Sample, Schedule, Snapshot, StatsState, WorkloadState } from '../contracts/load.d.ts'
 * @import { StopReason } from './driver.js'
 * @import { ChainIdentityState } from '../chain/chain-identity.js'
 * @import { Endpoints } from '../chain/endpoints.js'
 * @import { ChainTools, EngineConfig, Part } from './engine.js'
 * @import { Share } from './pacer.js'
 * @import { ThreadPort } from './thread.js'
 */

/**
 * A snapshot for another thread.
 * @typedef {Omit<Snapshot, 'interval' | 'rest'> & {interval: (Omit<EngineReport, 'stats'> & {stats: StatsState}) | null, rest: StatsState | null}}
 *   SnapshotState
 */

/** Limits of a batch of samples. */
const SAMPLES_AT_ONCE = 1000;
const SAMPLES_WAIT_MS = 200;

/** @param {Task} task @param {ThreadPort} port @param {Platform} platform */
export default async function main(task, port, platform) {
  const { config, wallets, chain } = task;
  /** @param {WorkerMessage} message */
  const post = (message) => port.postMessage({ message });
  /** @param {StopReason} reason @param {Error} [error] */
  const onStop = (reason, error) => post({ type: 'stop', reason, message: error?.message ?? null });

  const { clock, probes } = platform;
  const random = randomNumbers(task.seed);
  const endpoints = openThreadEndpoints(task, platform);
  const { rpc, connect } = endpoints;
  const onBlock = (/** @type {SeenBlock} */ block) => post({ type: 'block', block });
  const batcher = createBatcher(clock, (samples) => post({ type: 'samples', samples }));
  const accounts = wallets.map((state, position) => new Account(position, Wallet.fromState(state)));
  const addresses = wallets.map(({ address }) => address);
  const { workload: settings } = config;
  const given = { rpc, settings, state: task.workload, addresses, clock, connect };
  const workload = await createWorkload(settings.workload, given);
  const onSample = task.wantsSamples ? batcher.add : null;
  /** @param {string} name @param {unknown} message */
  const onMessage = (name, message) => post({ type: 'observed', name, message });
  const signing = chain === null ? null : { ...chain, signer: await createSigner(), fees: createFees(chain.fees) };
  const load = { ...task, accounts, workload, onSample, onMessage, traffic: endpoints.stats };
  const engine = new ThreadEngine({ ...load, clock, random, probes, rpc, chain: signing, onBlock, onStop });
  const methods = methodsOf(engine, endpoints, task, batcher.flush, () => port.close());
  /** @param {Method} method @param {any[]} args */
  const call = async (method, args) => {
    try {
      return method in methods ? await methods[method]?.(...args) : await /** @type {any} */ (engine)[method](...args);
    } catch (error) {
      onStop('internal', /** @type {Error} */ (error));
      return null;
    }
  };
  serve(port, call);
}

/**
 * The engine as the main thread calls it. Results are plain data.
 * @param {ThreadEngine} engine
 * @param {Endpoints} endpoints
 * @param {Task} task
 * @param {() => void} flushSamples
 * @param {() => void} closePort
 * @returns {Partial<Record<Method, (...args: any[]) => unknown>>} only those that differ from the engine's
 */
function methodsOf(engine, endpoints, task, flushSamples, closePort) {
  const { monitor } = endpoints;
  const aborted = new AbortController();
  return {
    ready: () => null,
    prepare: async () => {
      if (task.endpoints.urls.length > 1) monitor.begin();
      await engine.prepare(aborted.signal);
    },
    snapshot: async (/** @type {[number, boolean, boolean?]} */ ...[nowUs, endsInterval, hasFigures]) => {
      flushSamples();
      const { interval, rest, ...others } = await engine.snapshot(nowUs, endsInterval, hasFigures);
      const ended = interval && { ...interval, stats: interval.stats.toState() };
      return /** @type {SnapshotState} */ ({ ...others, interval: ended, rest: rest && rest.toState() });
    },
    drain: async (/** @type {number} */ timeoutMs) => (await engine.drain(timeoutMs, aborted.signal)).toState(),
    abort: async () => {
      aborted.abort();
      await endpoints.close();
    },
    close: async () => {
      monitor.stop();
      await engine.close();
      await endpoints.close();
      closePort();
    },
  };
}

/**
 * Uncaught errors of the user's workload end the run.
 * @param {string} workload
 * @param {ThreadPort} port
 */
function catchStrayErrors(workload, port) {
  process.on('uncaughtException', (thrown) => {
    const theirs = strayErrorOf(workload, thrown);
    // A bug of ours: the thread ends.
    if (theirs === null) throw thrown;
    /** @type {WorkerMessage} */
    const message = { type: 'stop', reason: 'workload_failed', message: theirs.message };
    port.postMessage({ message });
  });
}

/** @param {Task} task @param {Platform} platform */
function openThreadEndpoints({ config, endpoints, batches }, { clock, transports }) {
  const { home, identity } = endpoints;
  const urls = endpoints.urls.map((url) => new URL(url));
  const sendUrl = endpoints.sendUrl === null ? null : new URL(endpoints.sendUrl);
  return openNetwork(transports, config.network, { urls, sendUrl, clock, home, batches, identity });
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

const port = /** @type {ThreadPort | null} */ (/** @type {unknown} */ (parentPort));
if (port !== null) {
  catchStrayErrors(workerData.config.workload.workload, port);
  await main(workerData, port, createPlatform());
}
