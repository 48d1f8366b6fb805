import { availableParallelism } from 'node:os';
import { mergeBatchFacts } from '../chain/batches.js';
import { addTo } from '../metrics/recorder.js';
import { requestStop, soloCrew } from './crew.js';
import { shares } from '../pacer/index.js';
import { startFleet } from './fleet.js';
import { splitSlice } from './slice.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Sender } from '../chain/send.js'
 * @import { Clock } from '../clock.js'
 * @import { Sample } from '../metrics/sample.js'
 * @import { Output } from '../output/index.js'
 * @import { Schedule } from '../pacer/index.js'
 * @import { Workload } from '../workload/index.js'
 * @import { Account } from './account.js'
 * @import { Config } from './config.js'
 * @import { Crew, ThreadStats } from './crew.js'
 * @import { StopReason } from './driver.js'
 * @import { Endpoints } from './endpoints.js'
 * @import { SeenBlock } from './engine.js'
 * @import { Health } from './health.js'
 * @import { StartBlock } from './start-block.js'
 * @import { Stop } from './stop.js'
 * @import { WarmUp } from './warm-up.js'
 */

/**
 * Chooses who does the load, and gives each what it needs.
 *
 * @param {object} parts
 * @param {Config} parts.config
 * @param {URL[]} parts.urls
 * @param {Health} parts.health of the endpoints
 * @param {Clock} parts.clock
 * @param {Output[]} parts.outputs
 * @param {WarmUp | null} parts.warmUp null where its length was given
 * @param {Stop} parts.stop
 * @param {Rpc} parts.rpc
 * @param {Endpoints['transport']} parts.transport
 * @param {Schedule | null} parts.schedule
 * @param {Account[]} parts.accounts
 * @param {Workload} parts.workload
 * @param {Sender | null} parts.sender null where nothing is signed
 * @param {bigint | null} parts.capWei what may be spent on fees
 * @param {StartBlock} parts.start
 * @param {{name: string} | null} parts.inclusion
 * @returns {Promise<Crew>}
 */
export async function hire({
  config,
  urls,
  health,
  clock,
  outputs,
  warmUp,
  stop,
  rpc,
  transport,
  schedule,
  accounts,
  workload,
  sender,
  capWei,
  start,
  inclusion,
}) {
  const workers = workersOf(config);
  const { chainId = 0, fees, signer } = sender ?? {};
  const { confirmations } = config;
  if (workers === 1) {
    const chain =
      fees === undefined || signer === undefined || inclusion === null
        ? null
        : { chainId, fees, signer, ...start, confirmations, capWei, inclusion: inclusion.name };
    const wanting = outputs.filter((output) => output.wantsSamples);
    const options = {
      config,
      clock,
      rpc,
      accounts,
      workload,
      chain,
      schedule,
      onSample: (/** @type {Sample} */ sample) => wanting.forEach((output) => output.sample(sample)),
      onBlock: tellBlock(outputs, warmUp),
      onStop: (/** @type {StopReason} */ reason, /** @type {Error | undefined} */ error) =>
        requestStop(stop, reason, error),
    };
    return soloCrew(options, transport);
  }
  const { connections, requestTimeoutMs, noKeepAlive, insecure, fixedId, txTimeoutMs, inFlight } = config;
  const { iterations, thinkTimeMs } = config;
  const parts = shares(splitSlice(config, workers).map(({ threads }) => threads));
  return startFleet({
    config,
    workers,
    accounts,
    stop,
    outputs,
    onBlock: tellBlock(outputs, warmUp),
    taskOf: (first, count, index) => ({
      config: {
        transport: config.transport,
        connections,
        requestTimeoutMs,
        noKeepAlive,
        insecure,
        fixedId,
        txTimeoutMs,
        inFlight,
        iterations,
        thinkTimeMs,
      },
      schedule,
      share: parts[index],
      endpoints: {
        urls: urls.map(({ href }) => href),
        home: index % urls.length,
        spread: config.spread,
        health: health.shared,
      },
      batches: rpc.batchFacts(),
      wallets: accounts.slice(first, first + count).map(({ wallet }) => wallet.handOver()),
      workload: { name: config.workload, state: workload.handOver(first, count) },
      chain:
        fees === undefined || inclusion === null
          ? null
          : {
              chainId,
              ...start,
              confirmations,
              inclusion: inclusion.name,
              fees: fees.state(),
              capWei: shareOf(capWei, count, accounts.length),
            },
    }),
  });
}

/** What a part of the wallets may spend. @param {bigint | null} capWei @param {number} count @param {number} of */
function shareOf(capWei, count, of) {
  return capWei === null ? null : (capWei * BigInt(count)) / BigInt(of);
}

/**
 * @param {Output[]} outputs
 * @param {WarmUp | null} warmUp
 * @returns {(block: SeenBlock) => void}
 */
function tellBlock(outputs, warmUp) {
  const wanting = [
    ...outputs.flatMap((output) => output.block?.bind(output) ?? []),
    ...(warmUp === null ? [] : [warmUp.onBlock]),
  ];
  return (block) => wanting.forEach((tell) => tell(block));
}

/**
 * Every endpoint has as many workers as the others, so that each gets as many wallets.
 * @param {Pick<Config, 'workers' | 'threads' | 'connections' | 'rpc'>} config
 */
export function workersOf({ workers, threads, connections, rpc }) {
  const endpoints = Math.max(1, rpc.length);
  // The other half is for the node, which often runs on the same machine.
  const wanted = workers === 'auto' ? Math.floor(availableParallelism() / 2) : workers;
  const most = Math.floor(Math.min(threads, connections) / endpoints);
  return endpoints * Math.max(1, Math.min(Math.ceil(wanted / endpoints), most));
}

/**
 * @param {ThreadStats} own of this thread
 * @param {ThreadStats[]} others
 * @returns {ThreadStats} of all of them
 */
export function addUpThreads(own, others) {
  return others.reduce(
    (sum, { rpcCalls, transport, batches, endpoints }) => ({
      rpcCalls: added(sum.rpcCalls, rpcCalls),
      transport: added(sum.transport, transport),
      batches: mergeBatchFacts(sum.batches, batches),
      endpoints: sum.endpoints.map((traffic, i) => added(traffic, endpoints[i])),
    }),
    own,
  );
}

/** @template {Record<string, number>} T @param {T} a @param {T} b @returns {T} */
function added(a, b) {
  const sum = { ...a };
  addTo(sum, b);
  return sum;
}
