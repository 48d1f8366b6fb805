import { availableParallelism } from 'node:os';

/** @import { Config } from '../types.d.ts' */

/**
 * The number of workers: a multiple of the number of endpoints, so that each endpoint gets as many wallets.
 * @param {Pick<Config, 'workers' | 'threads' | 'connections' | 'rpc'>} config
 */
export function workersOf({ workers, threads, connections, rpc }) {
  const endpoints = Math.max(1, rpc.length);
  // Half of the CPUs are left for a node on the same machine.
  const wanted = workers === 'auto' ? Math.floor(availableParallelism() / 2) : workers;
  const most = Math.floor(Math.min(threads, connections) / endpoints);
  return endpoints * Math.max(1, Math.min(Math.ceil(wanted / endpoints), most));
}
