import { toNumber } from '../chain/rpc.js';
import { RpcError } from '../errors.js';
import { createLoopProbe } from './loop.js';
import { createMetricsProbe } from './node-metrics.js';
import { createNodeProbe } from './node.js';
import { createSocketsProbe } from './sockets.js';

/** @import { ConnectionsReading, PoolReading, Rpc, SelfReading } from '../types.d.ts' */

/**
 * @param {{stats: () => {requests: number, connectionsOpened: number}}} options stats: since the start, of all threads
 */
export function createConnectionsProbe({ stats }) {
  let last = stats();
  return {
    /** @returns {ConnectionsReading} */
    sample: () => {
      const now = stats();
      const opened = Math.max(0, now.connectionsOpened - last.connectionsOpened);
      // A connection may be opened for a request that was counted before it, or for none at all.
      const reused = Math.max(0, now.requests - last.requests - opened);
      last = now;
      return { opened, reused };
    },
  };
}

/** @param {{rpc: Pick<Rpc, 'call'>}} options */
export function createPoolProbe({ rpc }) {
  let isRefused = false;
  return {
    /** @returns {Promise<PoolReading>} */
    sample: async () => {
      if (!isRefused) {
        try {
          const status = await rpc.call('txpool_status', [], 'probe');
          return { pending: toNumber(status?.pending), queued: toNumber(status?.queued) };
        } catch (error) {
          if (!(error instanceof RpcError)) throw error;
          // To ask again each interval would be load without use.
          isRefused = true;
        }
      }
      throw new Error('the node does not serve txpool_status');
    },
  };
}

export function createSelfProbe() {
  let last = process.cpuUsage();
  return {
    /** @returns {SelfReading} */
    sample: () => {
      const { user, system } = process.cpuUsage(last);
      last = process.cpuUsage();
      return { cpuUs: user + system, rssBytes: process.memoryUsage.rss() };
    },
  };
}

/**
 * A probe watches something beside the load. Making one never fails, whatever is missing: `sample` says so.
 *
 * @template T
 * @typedef {object} Probe
 * @property {() => T | Promise<T>} sample what happened since the last call (since it was made, the first time), or
 *   the state now, as plain JSON. Where there is no reading it throws, or rejects with, an Error whose message is the
 *   reason, in one line.
 * @property {() => void} [close] ends what the probe keeps running; it may be called again
 */

/** @satisfies {Record<string, (options: any) => Probe<any>>} */
export const probes = Object.freeze({
  self: createSelfProbe,
  loop: createLoopProbe,
  connections: createConnectionsProbe,
  sockets: createSocketsProbe,
  pool: createPoolProbe,
  node: createNodeProbe,
  metrics: createMetricsProbe,
});
