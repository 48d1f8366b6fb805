import { isBusy } from '../chain/refusals.js';
import { retry } from '../chain/retries.js';
import { within } from '../clock.js';
import { RpcError, StressError, UnavailableError } from '../errors.js';
import { counted, numbered } from '../text.js';
import { ChainFollower } from './follow.js';
import { METHOD as SYNC, SyncInclusion, isRefused } from './sync.js';

/**
 * The table of inclusion detectors, which find the block of a transaction, and the choice of the one that a run uses.
 *
 * @import { Block, Chosen, InclusionDetector, Reorg, Rpc, Sighting } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 *
 * @typedef {object} InclusionOptions
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {number} head number of the latest block when the load starts
 * @property {string | null} [headHash] its hash
 * @property {number | null} [periodUs] between the blocks before the load; null: not known
 * @property {number} [headAtUs] when that block was made, by its timestamp
 * @property {number} [confirmations] blocks after its own before a transaction is reported; 0 unless given
 * @property {(reorg: Reorg) => void} [onReorg] called before the replacing blocks are read; transactions that were
 *   reported are no longer watched
 * @property {(reason: string) => void} [onReplaced] the endpoint does not have the block at which the load began
 * @property {(block: Block) => void} onBlock called for each new block, in order, before its transactions are reported
 * @property {(sighting: Sighting) => void} [onSighting] called when its transactions are reported
 * @property {(error: unknown) => void} [onFailure] called when the chain could not be read
 * @property {(silence: {ms: number, toUs: number}) => void} [onSilence] the node answers again
 *
 * @typedef {object} DetectorRow
 * @property {(options: InclusionOptions) => InclusionDetector} create
 * @property {(rpc: Rpc) => Promise<string | null>} lackOf what an endpoint lacks; null: nothing. A call that fails is a
 *   lack as well
 */

/** @param {InclusionOptions} options */
const createFollower = (options) => new ChainFollower(options);

/** @type {Record<string, DetectorRow>} */
export const detectors = {
  heads: {
    create: createFollower,
    lackOf: async ({ subscribe }) => {
      if (subscribe === null) return 'eth_subscribe needs a ws:// URL';
      // A subscription that starts after the time-out is ended too.
      (await subscribe('newHeads', ignore, ignore))();
      return null;
    },
  },
  blocks: { create: createFollower, lackOf: async () => null },
  sync: {
    create: (options) => new SyncInclusion(options),
    lackOf: async (rpc) => {
      try {
        await rpc.call(SYNC, ['0x'], 'setup');
        return `${SYNC} (EIP-7966) accepts an empty transaction`;
      } catch (error) {
        // Only a node that has the method complains about the transaction.
        if (error instanceof RpcError && !isBusy(error) && !isRefused(error)) return null;
        throw error;
      }
    },
  },
};

/** What `auto` chooses from, the cheapest first. */
const AUTO = Object.freeze(['heads', 'blocks']);

/** Time-out of a probe. */
const PROBE_MS = 3000;

/**
 * @param {string} requested name of a detector, or `auto`: the first one that all endpoints support
 * @param {readonly Rpc[]} rpcs of the endpoints
 * @param {{clock: Clock, random?: () => number, signal: AbortSignal}} options
 * @returns {Promise<Chosen>}
 * @throws {UnavailableError} an endpoint does not support it
 */
export async function chooseInclusion(requested, rpcs, options) {
  const names = numbered(rpcs.map(({ display }) => display));
  /** @type {string[]} */
  const lacks = [];
  for (const name of requested === 'auto' ? AUTO : [requested]) {
    const answers = await Promise.all(rpcs.map((rpc) => lackOf(name, rpc, options)));
    const lacking = answers.flatMap((lack, i) => (lack === null ? [] : `${names[i]}: ${lack}`));
    const words = requested === 'auto' ? 'the cheapest that all endpoints support' : 'asked for with --inclusion';
    if (lacking.length === 0) return { name, why: [words, ...lacks].join('; ') };
    lacks.push(...lacking);
  }
  throw new UnavailableError(`--inclusion ${requested} cannot be used: ${lacks.join('; ')}; use --inclusion auto`);
}

/** @param {string} name @param {Rpc} rpc @param {{clock: Clock, random?: () => number, signal: AbortSignal}} options */
async function lackOf(name, rpc, { clock, random, signal }) {
  const answer = retry(() => detectors[name].lackOf(rpc), { clock, random, signal, forMs: PROBE_MS }).catch((error) => {
    if (!(error instanceof StressError)) throw error;
    return error.message;
  });
  return within(clock, PROBE_MS, answer, () => `no answer within ${PROBE_MS / 1000} s`);
}

/**
 * @param {string} name of the detector
 * @param {readonly Rpc[]} rpcs of the endpoints
 * @param {number} connections
 * @param {number} operations at once
 * @returns {string | null} a warning if submissions may occupy all connections
 */
export function warningOf(name, rpcs, connections, operations) {
  // A WebSocket, which can subscribe, carries many requests at once.
  const isOverHttp = rpcs.some(({ subscribe }) => subscribe === null);
  if (name !== 'sync' || !isOverHttp || connections > operations) return null;
  return `--inclusion sync: a submission holds a connection until its block comes, and ${counted(operations, 'operation')} at once leave none of ${connections} for reading blocks: give more --connections, or a ws:// URL`;
}

function ignore() {}
