import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { UsageError } from '../errors.js';
import { isWorkloadFile } from '../files.js';
import { HIGHEST_RATE } from './pacer.js';
import { headersOf } from '../transport/headers.js';
import { MAX_BODY_BYTES, MAX_CALL_BODY_BYTES } from '../transport/http.js';

/**
 * @import { EngineConfig } from '../contracts/chain.d.ts'
 * @import { Arrival, Config, LoadSize, RateStage, Schedule, Settings, Workload } from '../contracts/load.d.ts'
 */

/**
 * The number of workers: a multiple of the number of endpoints, so that each endpoint gets as many wallets.
 * @param {{workers: number | 'auto', threads: number, connections: number, rpc: readonly URL[]}} config
 */
export function workersOf({ workers, threads, connections, rpc }) {
  const endpoints = Math.max(1, rpc.length);
  // Half of the CPUs are left for a node on the same machine.
  const wanted = workers === 'auto' ? Math.floor(availableParallelism() / 2) : workers;
  const most = Math.floor(Math.min(threads, connections) / endpoints);
  return endpoints * Math.max(1, Math.min(Math.ceil(wanted / endpoints), most));
}

/** @param {Config} config @returns {EngineConfig} plain data, for worker threads as well */
export function engineConfigOf(config) {
  const { transport, connections, requestTimeoutMs, noKeepAlive, insecure, batch, fixedId, spread } = config;
  const { txTimeoutMs, inFlight, iterations, thinkTimeMs } = config;
  // The embedded chain is no endpoint of the user.
  const headers = config.rpc.length === 0 ? {} : headersOf(config);
  const names = [config.workload, ...config.mix.map(({ name }) => name)];
  const mayCall = config.calls !== null || config.method !== null || names.some(isWorkloadFile);
  const maxBodyBytes = mayCall ? MAX_CALL_BODY_BYTES : MAX_BODY_BYTES;
  const network = { headers, transport, connections, requestTimeoutMs, noKeepAlive, insecure, batch, fixedId, spread };
  return { ...network, maxBodyBytes, txTimeoutMs, inFlight, iterations, thinkTimeMs };
}

/** The settings of a workload in worker threads. @param {Config} config @returns {Settings} plain data without secrets */
export function settingsOf(config) {
  return Object.fromEntries(Object.entries(config).filter(([key]) => config.loadKeys.has(key)));
}

/**
 * Operations per second. A rate in gas is an estimate, until the gas of an operation is measured in the warm-up.
 * @param {Pick<Config, 'ratePerSecond' | 'gasPerSecond'>} config
 * @param {Workload} workload
 * @returns {number | null} null: no rate
 */
export function rateOf({ ratePerSecond, gasPerSecond }, workload) {
  if (gasPerSecond === null) return ratePerSecond;
  if (workload.kind === 'call') throw new UsageError('--rate in gas needs transactions: calls use no gas');
  const perSecond = gasPerSecond / Number(workload.gas.likely.perOperation);
  if (perSecond <= HIGHEST_RATE) return perSecond;
  throw new UsageError(
    `--rate ${gasPerSecond / 1e6}Mgas would be about ${Math.round(perSecond)} operations per second: at most ${HIGHEST_RATE} are scheduled`,
  );
}

/**
 * The schedule of the pacer.
 * @param {Omit<LoadSize, 'threads' | 'durationMs' | 'inFlight'> & {arrival: Arrival | null}} config
 * @param {number} [seed] of random arrivals
 * @returns {Schedule | null} null: closed loop
 */
export function scheduleOf({ ratePerSecond, stages, arrival, warmupMs }, seed = randomInt(1, 2 ** 32 - 1)) {
  const wanted = stages ?? (ratePerSecond === null ? null : [constant(ratePerSecond, Infinity)]);
  if (wanted === null) return null;
  // The warm-up uses the first rate of the window; an automatic one has no stages after it.
  const before = warmupMs !== 'auto' && warmupMs > 0 ? [constant(wanted[0].fromPerSecond, warmupMs * 1000)] : [];
  const schedule = { stages: [...before, ...wanted], seed };
  return { ...schedule, arrival: arrival ?? 'uniform', ...(stages === null ? {} : { firstStage: before.length }) };
}

/** @param {number} perSecond @param {number} durationUs @returns {RateStage} */
function constant(perSecond, durationUs) {
  return { fromPerSecond: perSecond, toPerSecond: perSecond, durationUs };
}
