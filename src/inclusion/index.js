import { retry } from '../chain/retries.js';
import { toNumber } from '../chain/rpc.js';
import { RpcError, StressError, UnavailableError, oneLine } from '../errors.js';
import { createBlocksInclusion } from './follow.js';
import { createReceiptsInclusion } from './receipts.js';
import {
  NO_METHOD,
  METHOD as SYNC,
  connectionsFor,
  createSyncInclusion,
  isMalformedTransaction,
  isRefused,
  maxWaiting,
} from './sync.js';

/**
 * The table of inclusion detectors, which find the block of a transaction, and the choice of the one that a run uses.
 *
 * @import { Block, Chosen, Clock, InclusionDetector, Purpose, Reorg, Rpc } from '../types.d.ts'
 *
 * @callback Submit used in place of eth_sendRawTransaction
 * @param {string} raw
 * @param {string} hash
 * @param {Purpose} purpose
 * @param {(endpoint?: number) => unknown} [onSent] as for Rpc.call
 * @returns {Promise<string>} the hash of the accepted transaction; rejects like Rpc.call
 *
 * @typedef {object} InclusionOptions
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {number} head number of the latest block when the load starts
 * @property {string | null} [headHash] its hash
 * @property {string | null} [genesisHash]
 * @property {number} [connections] most requests to the endpoint at once
 * @property {number} [answerMs] time-out of an answer
 * @property {number} [confirmations] blocks after its own before a transaction is reported; 0 unless given
 * @property {(reorg: Reorg) => void} [onReorg] called before the replacing blocks are read; transactions that were
 *   reported are no longer watched
 * @property {(reason: string) => void} [onReplaced] the endpoint serves another chain, or has lost the block at which the
 *   load began
 * @property {(block: Block) => void} onBlock called for each new block, in order, before its transactions are reported
 *
 * @typedef {'pushesHeads' | 'listsTransactions' | 'submitsSync' | 'servesReceipts'} Ability
 * @typedef {{clock: Clock, signal: AbortSignal}} RetryOptions
 * @typedef {string | null} Finding null: the endpoint has the ability; otherwise the reason, which may be empty
 */

/** @type {Record<string, (options: InclusionOptions) => InclusionDetector>} */
export const detectors = {
  heads: createBlocksInclusion,
  blocks: createBlocksInclusion,
  sync: createSyncInclusion,
  receipts: createReceiptsInclusion,
};

/**
 * The abilities that each detector needs, the cheapest first: `auto` takes the first one that all endpoints support.
 * @type {Record<keyof detectors, readonly Ability[]>}
 */
export const needs = Object.freeze({
  heads: ['pushesHeads', 'listsTransactions'],
  blocks: ['listsTransactions'],
  sync: ['submitsSync'],
  receipts: ['servesReceipts'],
});

/** Time-out of the probe for an optional ability. */
const PROBE_MS = 3000;

const NO_TRANSACTION = `0x${'0'.repeat(64)}`;

/**
 * The probe of each ability, and how messages describe its presence and absence. All but listsTransactions are optional:
 * a probe that fails or times out means that the ability is missing.
 * @type {Record<Ability, {probe: (rpc: Rpc, retryOptions: RetryOptions) => Promise<Finding>, has: string, lacks: (reason: string) => string}>}
 */
const abilities = {
  pushesHeads: {
    probe: async ({ subscribe }, retryOptions) =>
      subscribe === null
        ? 'eth_subscribe needs a ws:// URL'
        : inTime(async () => {
            // A subscription that starts after the time-out is ended too.
            (await subscribe('newHeads', ignore, ignore))();
            return null;
          }, retryOptions),
    has: 'it pushes its heads',
    lacks: (reason) => `pushes no heads here (${reason || 'eth_subscribe'})`,
  },
  listsTransactions: {
    probe: async (rpc, retryOptions) => {
      const block = await retry(() => rpc.call('eth_getBlockByNumber', ['latest', false], 'setup'), retryOptions);
      const listed = block?.transactions;
      if (!Array.isArray(listed) || listed.some((hash) => typeof hash !== 'string')) return '';
      return listed.length > 0 || toNumber(block.gasUsed) === 0 ? null : '';
    },
    has: 'its blocks list their transactions',
    lacks: () => 'does not list the transactions of a block (eth_getBlockByNumber)',
  },
  submitsSync: {
    // Only a node that has the method complains about an invalid transaction.
    probe: (rpc, retryOptions) =>
      inTime(async () => {
        try {
          return `it answers ${oneLine(await rpc.call(SYNC, ['0x'], 'setup'), 100)} to an empty transaction`;
        } catch (error) {
          if (isMalformedTransaction(error)) return null;
          throw error;
        }
      }, retryOptions),
    has: `it answers a submission with the receipt (${SYNC})`,
    lacks: (reason) => lacksMethod(`${SYNC} (EIP-7966)`, reason),
  },
  servesReceipts: {
    probe: (rpc, retryOptions) =>
      inTime(async () => {
        try {
          await rpc.call('eth_getTransactionReceipt', [NO_TRANSACTION], 'setup');
        } catch (error) {
          if (!(error instanceof RpcError) || error.isBusy || isRefused(error)) throw error;
        }
        return null;
      }, retryOptions),
    has: 'it serves receipts (eth_getTransactionReceipt)',
    lacks: (reason) => lacksMethod('eth_getTransactionReceipt', reason),
  },
};

/** @param {string} method @param {string} reason */
function lacksMethod(method, reason) {
  return reason === '' ? `does not have ${method}` : `does not serve ${method}: ${reason}`;
}

/** @param {() => Promise<Finding>} probe @param {RetryOptions} retryOptions @returns {Promise<Finding>} */
async function inTime(probe, { clock, signal }) {
  const over = new AbortController();
  const late = clock.sleep(PROBE_MS, over.signal).then(() => `no answer within ${PROBE_MS / 1000} s`);
  const answer = retry(probe, { clock, signal, forMs: PROBE_MS }).catch((error) => {
    if (!(error instanceof StressError)) throw error;
    if (!(error instanceof RpcError)) return error.message;
    return error.rpcCode === NO_METHOD ? '' : error.rpcMessage;
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    over.abort();
  }
}

/**
 * An endpoint of the run.
 *
 * @typedef {{node: string, find: (ability: Ability) => Promise<Finding>}} Candidate node: its name in messages
 * @typedef {{node: string, description: string}} Lack
 *
 * @param {Rpc} rpc @param {string} node @param {RetryOptions} retryOptions @returns {Candidate}
 */
export function candidateOf(rpc, node, retryOptions) {
  return { node, find: (ability) => abilities[ability].probe(rpc, retryOptions) };
}

/**
 * Probes each ability at most once, and only if a detector may need it.
 * @param {string} requested name of a detector, or `auto`
 * @param {readonly Candidate[]} endpoints all of which must support it
 * @param {readonly string[]} [without] detectors that `auto` must not choose
 * @returns {Promise<Chosen>}
 * @throws {UnavailableError} an endpoint does not support it, or there is no detector that all support
 */
export async function chooseInclusion(requested, endpoints, without = []) {
  /** The endpoints without an ability, by probed ability. @type {Map<Ability, Lack[]>} */
  const lacks = new Map();
  /** @param {Ability} ability */
  const probe = async (ability) => {
    const known = lacks.get(ability);
    if (known !== undefined) return known.length === 0;
    const found = await Promise.all(endpoints.map((endpoint) => endpoint.find(ability)));
    const lacking = found.flatMap((reason, i) =>
      reason === null ? [] : { node: endpoints[i].node, description: abilities[ability].lacks(reason) },
    );
    lacks.set(ability, lacking);
    return lacking.length === 0;
  };
  /** The first detector that all endpoints support. @param {readonly string[]} among */
  const firstOf = async (among) => {
    for (const name of among) if ((await Promise.all(needs[name].map(probe))).every(Boolean)) return name;
    return null;
  };
  /** @param {readonly string[]} detectors @returns {Lack[]} why not all endpoints support them */
  const lackingFor = (detectors) =>
    [...new Set(detectors.flatMap((name) => needs[name]))].flatMap((ability) => lacks.get(ability) ?? []);

  const names = Object.keys(needs).filter((one) => !without.includes(one));
  const isAuto = requested === 'auto';
  const name = await firstOf(isAuto ? names : [requested]);
  if (name !== null) {
    const lacking = lackingFor(names.slice(0, names.indexOf(name)));
    const why = isAuto ? whyBest(name, lacking, endpoints.length) : 'asked for with --inclusion';
    const probed = /** @type {Ability[]} */ (Object.keys(abilities)).filter((ability) => lacks.has(ability));
    return { name, why, ...Object.fromEntries(probed.map((ability) => [ability, lacks.get(ability)?.length === 0])) };
  }
  const instead = isAuto ? null : await firstOf(names);
  if (instead === null) throw noDetector(lackingFor(names), endpoints.length);
  const [lack] = lackingFor([requested]);
  throw new UnavailableError(`${lack.node} ${lack.description}: use --inclusion ${instead}`);
}

/** @param {Lack[]} lacking @param {number} endpoints */
function noDetector(lacking, endpoints) {
  const nodes = [...new Set(lacking.map(({ node }) => node))];
  const of = (/** @type {string} */ node) =>
    lacking.flatMap((lack) => (lack.node === node ? lack.description : [])).join(', ');
  if (endpoints === 1)
    return new UnavailableError(`${nodes[0]}: no inclusion detector can be used: it ${of(nodes[0])}`);
  const each = nodes.map((node) => `${node} ${of(node)}`).join('; ');
  return new UnavailableError(`no inclusion detector can be used with all endpoints: ${each}`);
}

/** @param {string} name @param {Lack[]} lacking for the cheaper ones @param {number} endpoints */
function whyBest(name, lacking, endpoints) {
  const has = needs[name].map((ability) => abilities[ability].has);
  const [who, one] = endpoints === 1 ? ['the endpoint', 'it'] : ['each endpoint', 'one of them'];
  const lacks = [...new Set(lacking.map(({ description }) => description))].join(', and ');
  return `the cheapest of what ${who} can do: ${has.join(' and ')}${lacks === '' ? '' : `; ${one} ${lacks}`}`;
}

/**
 * @param {string} name of the detector
 * @param {readonly Rpc[]} rpcs of the endpoints, each with the same number of threads
 * @param {{connections: number, operations: number, threads: number}} load operations: at once, of all threads
 * @returns {string | null} a warning if there are too few connections
 */
export function warningOf(name, rpcs, { connections, operations, threads }) {
  const connectionsEach = Math.floor(connections / threads);
  const mostOf = (/** @type {Rpc} */ rpc) =>
    Math.min(maxWaiting({ rpc, connections: connectionsEach }), operations / threads);
  const most = Math.floor(rpcs.reduce((sum, rpc) => sum + mostOf(rpc), 0) * (threads / rpcs.length));
  if (name !== 'sync' || most >= operations) return null;
  return `--inclusion sync: a submission holds a connection until its block comes, so only ${most} of ${operations} operations at once are submitted so, the others by eth_sendRawTransaction: give --connections ${connectionsFor(operations, threads)}, or a ws:// URL`;
}

function ignore() {}
