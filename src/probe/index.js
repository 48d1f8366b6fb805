import { createConnectionsProbe } from './connections.js';
import { createLoopProbe } from './loop.js';
import { createMetricsProbe } from './metrics-page.js';
import { createNodeProbe } from './node.js';
import { createPoolProbe } from './pool.js';
import { createSelfProbe } from './self.js';
import { createSocketsProbe } from './sockets.js';

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
