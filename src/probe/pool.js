import { toNumber } from '../chain/rpc.js';
import { RpcError } from '../errors.js';

/** @import { Rpc } from '../chain/rpc.js' */

/**
 * The transaction pool of the node.
 *
 * @typedef {object} PoolReading
 * @property {number} pending transactions that could be in the next block
 * @property {number} queued transactions that wait for an earlier nonce
 */

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
