import { insist } from '../chain/passing.js';
import { toNumber } from '../chain/rpc.js';
import { RpcError, TransportError, UnavailableError } from '../errors.js';
import { needs } from './index.js';
import { connectionsFor, mostWaiting } from './sync.js';

/**
 * Which detector a run uses: asked of the endpoint before the load, so that what it lacks is said then.
 *
 * @typedef {'pushesHeads' | 'listsTransactions' | 'submitsSync' | 'servesReceipts'} Ability
 * @typedef {Record<Ability, boolean>} Abilities
 *
 * @typedef {Abilities & {name: string, why: string}} Chosen as the run file states it
 *
 * @typedef {import('../chain/rpc.js').Rpc} Rpc
 * @typedef {{clock: import('../clock.js').Clock, signal: AbortSignal}} Patience
 */

/** The JSON-RPC error code for a method that is not there. Gateways have codes of their own, and words. */
const NO_METHOD = -32601;
const NO_METHOD_WORDS =
  /method.*(not (found|supported|available|exist|allowed)|unsupported|unknown|disabled)|(unknown|unsupported) method/i;

/** For how long an endpoint that has too much to do is asked again, in milliseconds. */
const INSIST_MS = 2000;

const NO_TRANSACTION = `0x${'0'.repeat(64)}`;

/**
 * How each ability is found out, and what is said of an endpoint with it, and without.
 * @type {Record<Ability, {probe: (rpc: Rpc, patience: Patience) => Promise<boolean>, has: string, lacks: string}>}
 */
const abilities = {
  pushesHeads: {
    probe: async (rpc, patience) => {
      const { subscribe } = rpc;
      if (subscribe === null) return false;
      return answers(async () => (await subscribe('newHeads', nothing, nothing))(), patience);
    },
    has: 'it pushes its heads',
    lacks: 'pushes no heads here (eth_subscribe needs a ws:// URL)',
  },
  listsTransactions: {
    probe: async (rpc) => {
      const block = await rpc.call('eth_getBlockByNumber', ['latest', false], 'setup');
      const listed = block?.transactions;
      if (!Array.isArray(listed) || listed.some((hash) => typeof hash !== 'string')) return false;
      return listed.length > 0 || toNumber(block.gasUsed) === 0;
    },
    has: 'its blocks list their transactions',
    lacks: 'does not list the transactions of a block (eth_getBlockByNumber)',
  },
  submitsSync: {
    // No transaction: a node that has the method finds fault with it.
    probe: (rpc, patience) => answers(() => rpc.call('eth_sendRawTransactionSync', ['0x'], 'setup'), patience),
    has: 'it answers a submission with the receipt (eth_sendRawTransactionSync)',
    lacks: 'does not have eth_sendRawTransactionSync (EIP-7966)',
  },
  servesReceipts: {
    probe: (rpc, patience) => answers(() => rpc.call('eth_getTransactionReceipt', [NO_TRANSACTION], 'setup'), patience),
    has: 'it serves receipts (eth_getTransactionReceipt)',
    lacks: 'does not have eth_getTransactionReceipt',
  },
};

/**
 * @param {Rpc} rpc
 * @param {Patience} patience
 * @returns {Promise<Abilities>}
 */
export async function probeAbilities(rpc, patience) {
  const names = /** @type {Ability[]} */ (Object.keys(abilities));
  const found = await Promise.all(names.map((name) => abilities[name].probe(rpc, patience)));
  return /** @type {Abilities} */ (Object.fromEntries(names.map((name, i) => [name, found[i]])));
}

/**
 * @param {string} asked name of a detector, or `auto`
 * @param {Abilities} can
 * @param {string} node as messages call it
 * @returns {Chosen}
 * @throws {UnavailableError} the endpoint cannot do what was asked for, or nothing at all
 */
export function chooseInclusion(asked, can, node) {
  const missing = (/** @type {string} */ name) => needs[name].filter((ability) => !can[ability]);
  const possible = Object.keys(needs).filter((name) => missing(name).length === 0);
  if (possible.length === 0) {
    const lacks = Object.values(abilities).map((ability) => ability.lacks);
    throw new UnavailableError(`${node}: no way to see what its blocks hold: it ${lacks.join(', ')}`);
  }
  const name = asked === 'auto' ? possible[0] : asked;
  const [lacking] = missing(name);
  if (lacking !== undefined)
    throw new UnavailableError(`${node} ${abilities[lacking].lacks}: use --inclusion ${possible[0]}`);
  const why = asked === 'auto' ? whyBest(name, can) : 'asked for with --inclusion';
  return { name, why, ...can };
}

/** @param {string} name @param {Abilities} can */
function whyBest(name, can) {
  const has = needs[name].map((ability) => abilities[ability].has);
  const cheaper = Object.keys(needs).slice(0, Object.keys(needs).indexOf(name));
  const lacking = [...new Set(cheaper.flatMap((other) => needs[other].filter((ability) => !can[ability])))];
  const lacks = lacking.length === 0 ? '' : `; it ${lacking.map((ability) => abilities[ability].lacks).join(', and ')}`;
  return `the cheapest of what the endpoint can do: ${has.join(' and ')}${lacks}`;
}

/**
 * @param {string} name of the detector
 * @param {Rpc} rpc
 * @param {{connections: number, operations: number, threads: number}} load operations at once, in so many threads
 * @returns {string | null} a warning, where there are too few connections for it
 */
export function warningOf(name, rpc, { connections, operations, threads }) {
  const most = mostWaiting({ rpc, connections: Math.floor(connections / threads) }) * threads;
  if (name !== 'sync' || most >= operations) return null;
  return `--inclusion sync: a submission holds a connection until its block comes, so only ${most} of ${operations} operations at once are submitted so, the others by eth_sendRawTransaction: give --connections ${connectionsFor(operations, threads)}, or a ws:// URL`;
}

/**
 * Whether there is an answer, or a complaint that is not of the method itself.
 * @param {() => Promise<unknown>} ask
 * @param {Patience} patience
 */
async function answers(ask, patience) {
  try {
    await insist(ask, { ...patience, forMs: INSIST_MS });
    return true;
  } catch (error) {
    if (error instanceof TransportError) throw error;
    return error instanceof RpcError && error.rpcCode !== NO_METHOD && !NO_METHOD_WORDS.test(error.rpcMessage);
  }
}

function nothing() {}
