/** The pages of the simulated nodes: a CPU profile of what a node does, and its metrics. */
import { profileOf } from '../helpers/pprof-body.js';

/**
 * @import { Clock } from '../../src/contracts/common.d.ts'
 * @import { OpenPages } from '../../src/contracts/load.d.ts'
 */

/** CPU time of a simulated node in each second, by its function. @type {ReadonlyArray<[names: string[], us: number]>} */
const CPU_US = Object.freeze([
  [['main', 'github.com/ethereum/go-ethereum/trie.(*hasher).hash'], 250_000],
  [['main', 'github.com/ethereum/go-ethereum/core/vm.(*EVM).Call'], 100_000],
  [['main', 'runtime.gcBgMarkWorker'], 50_000],
]);

export const NODE_CPU_US_PER_SECOND = CPU_US.reduce((sum, [, us]) => sum + us, 0);

/** Waiting for a lock in each second. */
export const LOCK_WAIT_US_PER_SECOND = 30_000;

/** @param {number} seconds */
function lockWaits(seconds) {
  const stack = ['main', 'core/txpool/legacypool.(*LegacyPool).Add', 'sync.(*Mutex).Unlock'];
  const types = /** @type {Array<[string, string]>} */ ([['contentions', 'count'], ['delay', 'nanoseconds']]); // prettier-ignore
  return profileOf([[stack, 1000 * LOCK_WAIT_US_PER_SECOND * seconds]], { types });
}

/**
 * @param {object} node
 * @param {Clock} node.clock
 * @param {() => number} node.head number of the latest block
 * @param {(node: number) => Promise<void>} node.reach rejects if this node is away, and waits while it is silent
 * @returns {OpenPages}
 */
export function createNodePages({ clock, head, reach }) {
  return () => ({
    read: async (url, signal) => {
      const node = Number(url.port);
      await reach(node);
      if (url.pathname === '/metrics')
        return { statusCode: 200, body: Buffer.from(`chain_head_block ${head()}\ntxpool_pending 3\n`) };
      const isLocks = url.pathname === '/debug/pprof/mutex';
      if (!url.pathname.endsWith('/profile') && !isLocks)
        return { statusCode: 404, body: Buffer.from('404 page not found') };
      const seconds = Number(url.searchParams.get('seconds'));
      await clock.sleep(1000 * seconds, signal);
      signal.throwIfAborted();
      await reach(node);
      if (isLocks) return { statusCode: 200, body: lockWaits(seconds) };
      const stacks = CPU_US.map(([names, us]) => /** @type {[string[], number]} */ ([names, 1000 * us * seconds]));
      return { statusCode: 200, body: profileOf(stacks, { durationMs: 1000 * seconds }) };
    },
    close: async () => {},
  });
}
