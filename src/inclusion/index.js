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
  findsFault,
  isRefused,
  mostWaiting,
} from './sync.js';

/** @import { Block, Chosen, Clock, InclusionDetector, Purpose, Reorg, Rpc } from '../types.d.ts' */

/**
 * An inclusion detector finds out in which block a transaction is.
 *
 * @callback Submit used in place of eth_sendRawTransaction
 * @param {string} raw
 * @param {string} hash
 * @param {Purpose} purpose
 * @param {(endpoint?: number) => unknown} [onSent] as for Rpc.call
 * @returns {Promise<string>} the node has it: its hash. Rejects as Rpc.call does.
 *
 * @typedef {object} InclusionOptions
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {number} head number of the latest block when the load starts
 * @property {string | null} [headHash] its hash
 * @property {string | null} [genesisHash] of the first block of the chain
 * @property {number} [connections] most requests to the endpoint at once
 * @property {number} [answerMs] longest wait for one answer of it
 * @property {number} [confirmations] blocks on top of its own before a transaction is told of; none unless given
 * @property {(reorg: Reorg) => void} [onReorg] called before the blocks that replace them are read; transactions in them
 *   that were told of are not watched for any more
 * @property {(words: string) => void} [onReplaced] the endpoint serves another chain, or no longer has the block where
 *   the load began
 * @property {(block: Block) => void} onBlock called for each new block, in order, before anybody is told of a transaction in it
 */

/** @type {Record<string, (options: InclusionOptions) => InclusionDetector>} */
export const detectors = {
  heads: createBlocksInclusion,
  blocks: createBlocksInclusion,
  sync: createSyncInclusion,
  receipts: createReceiptsInclusion,
};

/**
 * What an endpoint must be able to do for each of them, the cheapest first: `auto` takes the first one that it can do.
 * @type {Record<keyof detectors, readonly Ability[]>}
 */
export const needs = Object.freeze({
  heads: ['pushesHeads', 'listsTransactions'],
  blocks: ['listsTransactions'],
  sync: ['submitsSync'],
  receipts: ['servesReceipts'],
});

/**
 * Which detector a run uses: asked of every endpoint before the load, so that what one lacks is said then. Only what may
 * be used is asked for.
 *
 * @typedef {'pushesHeads' | 'listsTransactions' | 'submitsSync' | 'servesReceipts'} Ability
 *
 * @typedef {{clock: Clock, signal: AbortSignal}} RetryOptions
 *
 * @typedef {string | null} Finding null: the endpoint can; else why not, empty where there is nothing to add
 */

/** How long an endpoint may take to say whether it has what a run can do without, in milliseconds. */
const PROBE_MS = 3000;

const NO_TRANSACTION = `0x${'0'.repeat(64)}`;

/**
 * How each ability is found out, and what is said of an endpoint with it, and without. All but the listing of
 * transactions are extras: one that is not told of in time, or refused, is not there.
 * @type {Record<Ability, {probe: (rpc: Rpc, retryOptions: RetryOptions) => Promise<Finding>, has: string, lacks: (words: string) => string}>}
 */
const abilities = {
  pushesHeads: {
    probe: async ({ subscribe }, retryOptions) =>
      subscribe === null
        ? 'eth_subscribe needs a ws:// URL'
        : inTime(async () => {
            // One that comes too late is ended too.
            (await subscribe('newHeads', nothing, nothing))();
            return null;
          }, retryOptions),
    has: 'it pushes its heads',
    lacks: (words) => `pushes no heads here (${words || 'eth_subscribe'})`,
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
    // No transaction: a node that has the method finds fault with it, and only such a node does.
    probe: (rpc, retryOptions) =>
      inTime(async () => {
        try {
          return `it answers ${oneLine(await rpc.call(SYNC, ['0x'], 'setup'), 100)} to no transaction`;
        } catch (error) {
          if (findsFault(error)) return null;
          throw error;
        }
      }, retryOptions),
    has: `it answers a submission with the receipt (${SYNC})`,
    lacks: (words) => lacksMethod(`${SYNC} (EIP-7966)`, words),
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
    lacks: (words) => lacksMethod('eth_getTransactionReceipt', words),
  },
};

/** @param {string} method @param {string} words */
function lacksMethod(method, words) {
  return words === '' ? `does not have ${method}` : `does not serve ${method}: ${words}`;
}

/**
 * @param {() => Promise<Finding>} ask
 * @param {RetryOptions} retryOptions
 * @returns {Promise<Finding>}
 */
async function inTime(ask, { clock, signal }) {
  const over = new AbortController();
  const late = clock.sleep(PROBE_MS, over.signal).then(() => `no answer within ${PROBE_MS / 1000} s`);
  const answer = retry(ask, { clock, signal, forMs: PROBE_MS }).catch((error) => {
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

/** An endpoint of the run: what it is asked for is asked once. */
export class Candidate {
  /** @type {Map<Ability, Promise<Finding>>} */
  #asked = new Map();
  #rpc;
  #retryOptions;

  /** @param {Rpc} rpc @param {string} node as messages call it @param {RetryOptions} retryOptions */
  constructor(rpc, node, retryOptions) {
    this.#rpc = rpc;
    this.node = node;
    this.#retryOptions = retryOptions;
  }

  /** @param {Ability} ability */
  find(ability) {
    const found = this.#asked.get(ability) ?? abilities[ability].probe(this.#rpc, this.#retryOptions);
    this.#asked.set(ability, found);
    return found;
  }
}

/**
 * @typedef {{ability: Ability, node: string, words: string}} Lack
 * @typedef {Pick<Candidate, 'find' | 'node'>} Asked
 */

/** What all endpoints together can do. */
class Common {
  /** By ability that was asked for. @type {Map<Ability, Lack[]>} */
  lacks = new Map();
  #all;

  /** @param {readonly Asked[]} all */
  constructor(all) {
    this.#all = all;
  }

  /** @param {readonly string[]} names of detectors @returns {Promise<string | null>} the first that all of them can do */
  async firstOf(names) {
    for (const name of names) if ((await this.#lacking(name)).length === 0) return name;
    return null;
  }

  /** @param {string} name */
  async #lacking(name) {
    const lacking = await Promise.all(needs[name].map((ability) => this.#lackOf(ability)));
    return lacking.flat();
  }

  /** @param {Ability} ability */
  async #lackOf(ability) {
    const found = await Promise.all(this.#all.map((one) => one.find(ability)));
    const lacks = found.flatMap((words, i) =>
      words === null ? [] : { ability, node: this.#all[i].node, words: abilities[ability].lacks(words) },
    );
    this.lacks.set(ability, lacks);
    return lacks;
  }

  /** @param {readonly string[]} names of detectors that not all of them can do @returns {Lack[]} why */
  lackingFor(names) {
    return [...new Set(names.flatMap((name) => needs[name]))].flatMap((ability) => this.lacks.get(ability) ?? []);
  }

  /** @returns {Partial<Record<Ability, boolean>>} */
  facts() {
    const order = /** @type {Ability[]} */ (Object.keys(abilities)).filter((ability) => this.lacks.has(ability));
    return Object.fromEntries(order.map((ability) => [ability, this.lacks.get(ability)?.length === 0]));
  }
}

/**
 * @param {string} asked name of a detector, or `auto`
 * @param {readonly Asked[]} all endpoints, each of which has to do it
 * @returns {Promise<Chosen>}
 * @throws {UnavailableError} one of them cannot do what was asked for, or there is nothing that all can do
 */
export async function chooseInclusion(asked, all) {
  const common = new Common(all);
  const names = Object.keys(needs);
  const name = await common.firstOf(asked === 'auto' ? names : [asked]);
  if (name !== null) {
    const why = asked === 'auto' ? whyBest(name, common, all.length) : 'asked for with --inclusion';
    return { name, why, ...common.facts() };
  }
  const instead = asked === 'auto' ? null : await common.firstOf(names);
  if (instead === null) {
    const lacking = common.lackingFor(names);
    const of = (/** @type {string} */ node) =>
      lacking.flatMap((lack) => (lack.node === node ? lack.words : [])).join(', ');
    const nodes = [...new Set(lacking.map(({ node }) => node))];
    if (all.length === 1)
      throw new UnavailableError(`${nodes[0]}: no way to see what its blocks hold: it ${of(nodes[0])}`);
    const each = nodes.map((node) => `${node} ${of(node)}`).join('; ');
    throw new UnavailableError(`no way to see what blocks hold that all endpoints have: ${each}`);
  }
  const [lack] = common.lackingFor([asked]);
  throw new UnavailableError(`${lack.node} ${lack.words}: use --inclusion ${instead}`);
}

/** @param {string} name @param {Common} common @param {number} endpoints */
function whyBest(name, common, endpoints) {
  const has = needs[name].map((ability) => abilities[ability].has);
  const names = Object.keys(needs);
  const lacking = common.lackingFor(names.slice(0, names.indexOf(name)));
  const [who, one] = endpoints === 1 ? ['the endpoint', 'it'] : ['each endpoint', 'one of them'];
  const lacks = [...new Set(lacking.map(({ words }) => words))].join(', and ');
  return `the cheapest of what ${who} can do: ${has.join(' and ')}${lacks === '' ? '' : `; ${one} ${lacks}`}`;
}

/**
 * @param {string} name of the detector
 * @param {readonly Rpc[]} rpcs of the endpoints, which have as many threads each
 * @param {{connections: number, operations: number, threads: number}} load operations at once, in so many threads
 * @returns {string | null} a warning, where there are too few connections for it
 */
export function warningOf(name, rpcs, { connections, operations, threads }) {
  const connectionsEach = Math.floor(connections / threads);
  const mostOf = (/** @type {Rpc} */ rpc) =>
    Math.min(mostWaiting({ rpc, connections: connectionsEach }), operations / threads);
  const most = Math.floor(rpcs.reduce((sum, rpc) => sum + mostOf(rpc), 0) * (threads / rpcs.length));
  if (name !== 'sync' || most >= operations) return null;
  return `--inclusion sync: a submission holds a connection until its block comes, so only ${most} of ${operations} operations at once are submitted so, the others by eth_sendRawTransaction: give --connections ${connectionsFor(operations, threads)}, or a ws:// URL`;
}

function nothing() {}
