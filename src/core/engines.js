import { RunObservers } from '../observers/index.js';
import { IntervalLog } from '../stats/stats.js';
import { Throughput } from '../stats/throughput.js';
import { createWorkload } from '../workloads/index.js';
import { abandonable } from './connect.js';
import { WarmUp } from './load.js';
import { mixEngines, openCalls, splitLoad } from './mixed-engine.js';
import { HIGHEST_RATE, rateOf, scheduleOf } from './pacer.js';
import { newSeed } from './platform.js';
import { createEngine } from './workers.js';

/**
 * What makes the load of a run: the plan, what listens to it in the main thread, and the engine.
 *
 * @import { SeenBlock } from '../contracts/chain.d.ts'
 * @import { Config } from '../contracts/config.d.ts'
 * @import { MeasuredRate, Schedule, Workload } from '../contracts/load.d.ts'
 * @import { ChainTools } from './engine.js'
 * @import { WarmUpOptions } from './load.js'
 * @import { Network, Run } from './run.js'
 * @import { SideThreads } from './side-thread.js'
 * @import { EngineParts } from './workers.js'
 */

/**
 * @typedef {object} Plan what the load will do
 * @property {Config} own of the transactions, or of plain calls alone
 * @property {Config | null} calls of the calls beside transactions; null: none
 * @property {Workload} workload
 * @property {Awaited<ReturnType<typeof openCalls>> | null} callLoad null without calls beside transactions
 * @property {number | null} ratePerSecond of the transactions; null: closed loop, or stages
 * @property {number} seed of the arrivals
 * @property {Schedule | null} schedule of all operations; null: closed loop
 */

/** @param {Run<'network'>} run @returns {Promise<Plan>} */
export async function planOf({ config, context, network }) {
  const { clock, random, stop, create } = context;
  const { rpc, connect } = network.endpoints;
  const { own, calls } = splitLoad(config);
  const { load, workload: settings } = own;
  const openThread = openThreadOf(network);
  const workload = await abandonable(stop, () =>
    createWorkload(settings.workload, {
      ...{ rpc, settings, threads: load.threads, clock, random, connect, create, openThread },
    }),
  );
  const callLoad = calls && (await openCalls(calls, { rpc, clock, random, connect }));
  const ratePerSecond = rateOf(load, workload);
  const seed = newSeed(random);
  const schedule = scheduleOf(calls === null ? { ...load, ratePerSecond } : config.load, seed);
  return { own, calls, workload, callLoad, ratePerSecond, seed, schedule };
}

/** @param {Network} network @returns {SideThreads['open']} */
function openThreadOf({ threads }) {
  return (...given) => threads.open(...given);
}

/**
 * @typedef {object} Listeners what listens to the load in the main thread
 * @property {RunObservers} observers
 * @property {WarmUp | null} warmUp null: none, or one of a given length
 * @property {Throughput} throughput
 * @property {(block: SeenBlock) => void} onBlock tells them of a block
 */

/** @param {Run<'network' | 'plan' | 'setUp'>} run @returns {Promise<Listeners>} */
export async function listenersOf({ config, context, network, plan, setUp }) {
  const { clock, stop } = context;
  const { workload, ratePerSecond } = plan;
  const { wallets, inclusion, refill, before, chain } = setUp;
  const observers = await RunObservers.open(config, {
    ...{ clock, stop, wallets, refill, before, ratePerSecond, version: context.version },
    chain: { chainId: chain.chainId, genesisHash: chain.genesisHash ?? null },
    rpc: network.endpoints.rpc,
    openThread: openThreadOf(network),
    nodePid: network.nodePid,
    gasPerOperation: workload.kind === 'transaction' ? workload.gas.likely.perOperation : null,
    inclusion: inclusion?.name ?? null,
    highestPerSecond: HIGHEST_RATE,
    firstOperations: config.load.threads * config.load.inFlight,
    isMix: config.workload.mix.length > 1,
    unlessStopped: (action) => abandonable(stop, action),
  });
  const { rate } = observers;
  const isOpenLoop = plan.schedule !== null;
  const warmUp = warmUpOf(config, { clock, isOpenLoop, hasBlocks: inclusion !== null, rate });
  const throughput = new Throughput(new IntervalLog());
  const onBlock = (/** @type {SeenBlock} */ block) => {
    warmUp?.onBlock(block);
    throughput.addBlock(block);
    observers.block(block);
  };
  return { observers, warmUp, throughput, onBlock };
}

/**
 * @param {Config} config
 * @param {Pick<WarmUpOptions, 'clock' | 'isOpenLoop' | 'hasBlocks'> & {rate: MeasuredRate | null}} known
 * @returns {WarmUp | null} null: none, or one of a given length
 */
function warmUpOf({ load: { warmupMs, threads, inFlight }, network }, known) {
  const operations = threads * inFlight;
  return warmupMs === 'auto' ? new WarmUp({ ...known, operations, mostMs: network.txTimeoutMs }) : null;
}

/** The probe of a thread whose event loop has one already. */
const NO_LOOP = Object.freeze({ sample: () => null });

/** @param {Run<'network' | 'plan' | 'setUp' | 'listeners'>} run */
export async function engineOf(run) {
  const { config, context, network, plan, listeners } = run;
  const { own, calls, callLoad, workload, ratePerSecond, seed } = plan;
  const { observers, onBlock } = listeners;
  /** @type {Omit<EngineParts, 'config' | 'schedule' | 'accounts' | 'workload' | 'chain'>} */
  const shared = {
    ...{ endpoints: network.endpoints, urls: network.urls, sendUrl: config.chain.sendRpc },
    ...{ platform: context, stop: context.stop, outputs: context.outputs },
    ...{ onBlock, observers: observers.plans, onMessage: observers.message },
  };
  const engine = await createEngine({
    ...shared,
    config: own,
    schedule: scheduleOf({ ...own.load, ratePerSecond }, seed),
    accounts: run.setUp.accounts,
    workload,
    chain: chainToolsOf(run),
  });
  if (calls === null || callLoad === null) return engine;
  const callEngine = await createEngine({
    ...shared,
    ...callLoad.parts,
    config: calls,
    // With the same seed both sides would have their bursts together.
    schedule: scheduleOf(calls.load, seed + 1),
    chain: null,
    // In one thread both use the same connections and the same event loop, which count once.
    endpoints: { ...shared.endpoints, stats: () => /** @type {any} */ ({}) },
    platform: { ...context, probes: { ...context.probes, loop: () => NO_LOOP } },
    onBlock: undefined,
    observers: {},
  });
  return mixEngines([engine, callEngine]);
}

/** @param {Run<'setUp'>} run @returns {ChainTools | null} null: plain calls */
function chainToolsOf({ config, costs, setUp: { sender, inclusion, start } }) {
  if (sender === null || inclusion === null) return null;
  const { chainId, fees, signer } = sender;
  const { refillBelowWei, offset: firstWallet } = config.wallets;
  const { maxValueWei: capValueWei } = config.workload;
  const asked = { confirmations: config.network.confirmations, refillBelowWei, capValueWei, firstWallet };
  return { chainId, fees, signer, inclusion: inclusion.name, ...start, ...asked, capWei: costs.leftWei };
}
