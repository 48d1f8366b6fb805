import { WorkloadHost } from '../../../src/workloads/kit.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/** @import { Rpc } from '../../../src/contracts/chain.d.ts' */

/**
 * A host with a tag of the test's, as in a worker thread.
 * @param {string} tag
 * @param {{first?: number, addresses?: readonly string[], rpc?: Rpc}} [options] first: position of its first wallet
 */
export function hostOf(tag, { first = 0, addresses, rpc = fakeRpc({}) } = {}) {
  return new WorkloadHost(null, { rpc, addresses, state: { own: null, kit: { tag, first, starts: [] } } });
}
