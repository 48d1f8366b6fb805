import { availableParallelism } from 'node:os';
import { mergeBatchFacts } from '../chain/batches.js';
import { addTo } from '../metrics/recorder.js';
import { requestStop, soloCrew } from './crew.js';
import { shares } from '../pacer/index.js';
import { startFleet } from './fleet.js';
import { splitSlice } from './slice.js';

/**
 * Chooses who does the load, and gives each what it needs.
 *
 * @param {object} parts
 * @param {import('./run.js').Config} parts.config
 * @param {URL[]} parts.urls
 * @param {import('./health.js').Health} parts.health of the endpoints
 * @param {import('../clock.js').Clock} parts.clock
 * @param {import('../output/index.js').Output[]} parts.outputs
 * @param {import('./warm-up.js').WarmUp | null} parts.warmUp null where its length was given
 * @param {import('./stop.js').Stop} parts.stop
 * @param {import('../chain/rpc.js').Rpc} parts.rpc
 * @param {import('./endpoints.js').Endpoints['transport']} parts.transport
 * @param {import('../pacer/index.js').Schedule | null} parts.schedule
 * @param {import('./account.js').Account[]} parts.accounts
 * @param {import('../workload/index.js').Workload} parts.workload
 * @param {import('../chain/send.js').Sender | null} parts.sender null where nothing is signed
 * @param {bigint | null} parts.capWei what may be spent on fees
 * @param {import('./start-block.js').StartBlock} parts.start
 * @param {{name: string} | null} parts.inclusion
 * @returns {Promise<import('./crew.js').Crew>}
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
      ...{ config, clock, rpc, accounts, workload, chain, schedule },
      onSample: (/** @type {import('../metrics/sample.js').Sample} */ sample) =>
        wanting.forEach((output) => output.sample(sample)),
      onBlock: tellBlock(outputs, warmUp),
      onStop: (/** @type {import('./driver.js').StopReason} */ reason, /** @type {Error | undefined} */ error) =>
        requestStop(stop, reason, error),
    };
    return soloCrew(options, transport);
  }
  const { connections, requestTimeoutMs, noKeepAlive, insecure, fixedId, txTimeoutMs, inFlight } = config;
  const { iterations, thinkTimeMs } = config;
  const parts = shares(splitSlice(config, workers).map(({ threads }) => threads));
  return startFleet({
    ...{ config, workers, accounts, stop, outputs, onBlock: tellBlock(outputs, warmUp) },
    taskOf: (first, count, index) => ({
      config: {
        ...{ transport: config.transport, connections, requestTimeoutMs, noKeepAlive, insecure, fixedId },
        ...{ txTimeoutMs, inFlight, iterations, thinkTimeMs },
      },
      ...{ schedule, share: parts[index] },
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
              ...{ chainId, ...start, confirmations, inclusion: inclusion.name, fees: fees.state() },
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
 * @param {import('../output/index.js').Output[]} outputs
 * @param {import('./warm-up.js').WarmUp | null} warmUp
 * @returns {(block: import('./engine.js').SeenBlock) => void}
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
 * @param {Pick<import('./run.js').Config, 'workers' | 'threads' | 'connections' | 'rpc'>} config
 */
export function workersOf({ workers, threads, connections, rpc }) {
  const endpoints = Math.max(1, rpc.length);
  // The other half is for the node, which often runs on the same machine.
  const wanted = workers === 'auto' ? Math.floor(availableParallelism() / 2) : workers;
  const most = Math.floor(Math.min(threads, connections) / endpoints);
  return endpoints * Math.max(1, Math.min(Math.ceil(wanted / endpoints), most));
}

/**
 * @param {import('./crew.js').ThreadStats} own of this thread
 * @param {import('./crew.js').ThreadStats[]} others
 * @returns {import('./crew.js').ThreadStats} of all of them
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
