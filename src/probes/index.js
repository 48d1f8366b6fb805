import { existsSync, readFileSync } from 'node:fs';
import { POOL_STATUS, ask } from '../chain/answers.js';
import { RpcError } from '../errors.js';
import { createMetricsProbe } from './node-metrics.js';
import { createNodeProbe } from './node.js';
import { createLoopProbe, createSelfProbe, createStopProbe } from './process.js';

/**
 * The table of probes, which observe the generator and the node beside the load. Creating a probe never fails; sample()
 * reports the reason if there is no reading.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { ConnectionsReading, PoolReading, SocketsReading } from '../contracts/run-file.d.ts'
 *
 * @template T
 * @typedef {object} Probe
 * @property {() => T | Promise<T>} sample what happened since the last call (at first: since the creation), or the
 *   current state, as plain JSON. Without a reading it throws, or rejects with, an Error whose message is the reason.
 * @property {() => void} [close] may be called more than once
 */

/** @param {{stats: () => {requests: number, connectionsOpened: number}}} options stats: of all threads, since the start */
export function createConnectionsProbe({ stats }) {
  let last = stats();
  return {
    /** @returns {ConnectionsReading} */
    sample: () => {
      const now = stats();
      const opened = Math.max(0, now.connectionsOpened - last.connectionsOpened);
      // A connection may be opened for a request that was counted earlier, or for none.
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
          return await ask(rpc, POOL_STATUS, 'probe');
        } catch (error) {
          if (!(error instanceof RpcError)) throw error;
          // Repeated calls would only be load.
          isRefused = true;
        }
      }
      throw new Error('the node does not serve txpool_status');
    },
  };
}

/**
 * The TCP sockets of this machine, or of its network namespace, as the kernel counts them: to whom they are connected is
 * not known.
 * @param {{proc?: string}} [options] proc: the folder of the proc file system
 */
export function createSocketsProbe({ proc = '/proc' } = {}) {
  const read = (/** @type {string} */ file) => readFileSync(`${proc}/${file}`, 'latin1');
  return {
    /** @returns {SocketsReading} */
    sample: () => {
      if (!existsSync(`${proc}/net/sockstat`))
        throw new Error('socket figures need /proc, which this system does not have');
      const [from, to] = read('sys/net/ipv4/ip_local_port_range').trim().split(/\s+/).map(Number);
      const counts = read('net/sockstat') + (existsSync(`${proc}/net/sockstat6`) ? read('net/sockstat6') : '');
      const inUse = [...counts.matchAll(/^TCP6?: inuse (\d+)/gm)].reduce((sum, [, found]) => sum + Number(found), 0);
      const timeWait = Number(/^TCP: .* tw (\d+)/m.exec(counts)?.[1] ?? 0);
      const ports = to - from + 1;
      const portsInUse = Math.min(ports, inUse + timeWait);
      const all = { endpoint: 'all', timeWait, portsInUse, portsLeft: ports - portsInUse };
      return { timeWait, range: { from, to, ports }, endpoints: [all] };
    },
  };
}

/** @satisfies {Record<string, (options: any) => Probe<any>>} */
export const probes = Object.freeze({
  self: createSelfProbe,
  loop: createLoopProbe,
  stops: createStopProbe,
  connections: createConnectionsProbe,
  sockets: createSocketsProbe,
  pool: createPoolProbe,
  node: createNodeProbe,
  metrics: createMetricsProbe,
});
