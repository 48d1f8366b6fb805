import { toHex, toNumber } from '../chain/rpc.js';
import {
  CheckError,
  InputError,
  ProtocolError,
  RefusedError,
  RpcError,
  StressError,
  UnavailableError,
  oneLine,
  withoutKeys,
} from '../errors.js';
import { compile } from './templates.js';

/**
 * @import { Clock, Purpose, Request, Rpc } from '../types.d.ts'
 * @import { CallKind, Compiled } from './calls-file.js'
 */

/**
 * What an answer must be. Places in it are named by a path of ours, and nothing more than that: names of members and
 * numbers of elements with dots between them, such as transactions.0.hash; $ is the whole answer, and may stand before.
 *
 * @typedef {object} CheckRule as a calls file has it: a path and one of the others
 * @property {string} path
 * @property {unknown} [equals] templates in it are those of the call
 * @property {boolean} [exists] whether there is something there but null
 * @property {number | string} [length] of an array, a text or an object; a template is one of the call's
 *
 * @typedef {object} Check
 * @property {readonly string[]} path
 * @property {'equals' | 'exists' | 'length'} kind
 * @property {Compiled} expected
 */

/** How much of a value is shown. */
const MOST_WORDS = 60;
/** No answer of a node is nested more deeply; somebody else's may be. */
const DEEPEST = 100;
const KEYS_NAMED = 8;

/** @param {CheckRule} rule @returns {Check} @throws {Error} with words for the middle of a sentence */
export function compileCheck(rule) {
  const { path } = rule;
  const kinds = /** @type {const} */ (['equals', 'exists', 'length']).filter((kind) => Object.hasOwn(rule, kind));
  if (kinds.length !== 1)
    throw new Error(`its check has ${kinds.length} of equals, exists and length, and it needs one of them`);
  const [kind] = kinds;
  const expected = compile(rule[kind]);
  if (kind === 'length' && typeof rule.length === 'string' && expected.isConstant)
    throw new Error(`its check has a length that is neither a number nor a template`);
  return { path: partsOf(path), kind, expected };
}

/** @param {string} path */
function partsOf(path) {
  return path.split('.').filter((part) => part !== '$');
}

/**
 * @param {Check} check
 * @param {unknown} answer
 * @param {unknown} expected made for this call
 * @throws {CheckError}
 */
export function assertResult({ path, kind }, answer, expected) {
  const { value } = look(answer, path);
  const where = ['$', ...path].join('.');
  if (kind === 'exists') {
    if ((value !== undefined && value !== null) === expected) return;
    throw new CheckError(
      `${where} is ${expected ? 'not there' : shown(value)}, and it must${expected ? '' : ' not'} be there`,
    );
  }
  if (kind === 'length') {
    const length = lengthOf(value);
    if (length === Number(expected)) return;
    throw new CheckError(
      `${where} ${length === null ? `is ${shown(value)}` : `has the length ${length}`}, and it must have the length ${expected}`,
    );
  }
  const difference = differenceOf(value, expected, where);
  if (difference !== null) throw new CheckError(difference);
}

/**
 * Whether a path leads anywhere in an answer: one that does not, in an answer that has members, is a mistake in the file.
 * @param {Check} check
 * @param {unknown} answer
 * @returns {string | null} what is wrong, for the middle of a sentence
 */
export function pathNotFound({ path, kind }, answer) {
  if (kind === 'exists') return null;
  const { value, parent, part } = look(answer, path);
  if (value !== undefined || parent === null || typeof parent !== 'object') return null;
  const names = Object.keys(parent);
  const has = Array.isArray(parent) ? `${names.length} elements` : names.slice(0, KEYS_NAMED).join(', ') || 'no member';
  // An empty list is an answer, too.
  if (Array.isArray(parent) && /^\d+$/.test(part)) return null;
  return `its check looks at "${path.join('.')}", and there is no "${part}" in the answer, which has ${oneLine(withoutKeys(has), 200)}`;
}

/** @param {unknown} answer @param {readonly string[]} path @returns {{value: any, parent: any, part: string}} with the last part that was looked for */
function look(answer, path) {
  let value = /** @type {any} */ (answer);
  let parent = null;
  for (const part of path) {
    parent = value;
    value = value !== null && typeof value === 'object' && Object.hasOwn(value, part) ? value[part] : undefined;
    if (value === undefined) return { value, parent, part };
  }
  return { value, parent, part: path.at(-1) ?? '' };
}

/** @param {unknown} value */
function lengthOf(value) {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  return value !== null && typeof value === 'object' ? Object.keys(value).length : null;
}

/**
 * Where two values are not the same, in words; the order of members does not count.
 * @param {unknown} found
 * @param {unknown} expected
 * @param {string} [where]
 * @param {number} [depth]
 * @returns {string | null}
 */
export function differenceOf(found, expected, where = '$', depth = 0) {
  if (Object.is(found, expected)) return null;
  if (depth > DEEPEST) return `${shortPath(where)} is nested too deeply to be compared`;
  const areObjects = [found, expected].every((value) => value !== null && typeof value === 'object');
  if (!areObjects || Array.isArray(found) !== Array.isArray(expected))
    return `${shortPath(where)} is ${shown(found)}, and it must be ${shown(expected)}`;
  const [a, b] = /** @type {any[]} */ ([found, expected]);
  if (Array.isArray(a) && a.length !== b.length)
    return `${shortPath(where)} has ${a.length} elements, and it must have ${b.length}`;
  for (const key of new Set([...Object.keys(b), ...Object.keys(a)])) {
    const difference = differenceOf(own(a, key), own(b, key), `${where}.${key}`, depth + 1);
    if (difference !== null) return difference;
  }
  return null;
}

/** @param {any} object @param {string} key */
function own(object, key) {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** @param {string} where */
function shortPath(where) {
  return oneLine(withoutKeys(where), MOST_WORDS);
}

/** @param {unknown} value of an answer, which may be anything */
function shown(value) {
  if (value === undefined) return 'not there';
  return oneLine(typeof value === 'string' ? JSON.stringify(value) : value, MOST_WORDS);
}

/**
 * The head of the chain as templates need it: asked for once a second while calls are made, and not for each of them.
 * Hashes of blocks and of transactions are kept of the last blocks that were seen, and only where a template asks.
 */

/** How old what is known may be, in microseconds. */
const FRESH_US = 1_000_000;
const BLOCKS_KEPT = 128;
const TRANSACTIONS_KEPT = 1000;
/** How many blocks are looked through for a first transaction. */
const LOOKED_BACK = 64;

/** @typedef {{number: number, blockHashes: readonly string[], transactions: readonly string[]}} HeadState */

export class Head {
  number;
  /** @type {readonly string[]} */
  blockHashes;
  /** @type {readonly string[]} */
  transactions;
  #rpc;
  #clock;
  #wantsBlocks;
  #askedAtUs;
  #isAsking = false;

  /**
   * @param {Rpc} rpc
   * @param {Clock} clock
   * @param {boolean} wantsBlocks hashes are asked for, and not only the number
   * @param {HeadState} [state] what another thread knows
   */
  constructor(rpc, clock, wantsBlocks, { number, blockHashes, transactions } = NOTHING) {
    this.number = number;
    this.blockHashes = blockHashes;
    this.transactions = transactions;
    this.#rpc = rpc;
    this.#clock = clock;
    this.#wantsBlocks = wantsBlocks;
    this.#askedAtUs = clock.nowUs();
  }

  /** @param {boolean} wantsTransactions there has to be one @throws {UnavailableError} */
  async prepare(wantsTransactions) {
    await this.#ask('setup');
    for (let back = 1; wantsTransactions && this.transactions.length === 0; back += 1) {
      if (back > LOOKED_BACK || back > this.number)
        throw new UnavailableError(
          `${this.#rpc.display} has no transaction in its last ${back} blocks, and {{tx.recent}} needs one: send some first`,
        );
      this.#add(await this.#rpc.call('eth_getBlockByNumber', [toHex(this.number - back), false], 'setup'));
    }
  }

  /** What is too old is asked for; nobody waits for the answer. */
  refresh() {
    if (this.#isAsking || this.#clock.nowUs() - this.#askedAtUs < FRESH_US) return;
    // One that does not come, or makes no sense, leaves what is known: the load itself shows that something is wrong.
    this.#ask('follow').catch(() => {});
  }

  /** @returns {HeadState} */
  state() {
    const { number, blockHashes, transactions } = this;
    return { number, blockHashes, transactions };
  }

  /** @param {Purpose} purpose */
  async #ask(purpose) {
    this.#isAsking = true;
    this.#askedAtUs = this.#clock.nowUs();
    try {
      if (!this.#wantsBlocks) {
        this.number = await askNumber(this.#rpc, 'eth_blockNumber', [], purpose);
        return;
      }
      const block = await this.#rpc.call('eth_getBlockByNumber', ['latest', false], purpose);
      this.#add(block);
      this.number = toNumber(block.number);
    } finally {
      this.#isAsking = false;
    }
  }

  /** @param {any} block */
  #add(block) {
    const isOne = typeof block?.hash === 'string' && isQuantity(block.number) && Array.isArray(block.transactions);
    if (!isOne) throw new ProtocolError(`${this.#rpc.display} answered eth_getBlockByNumber without a block`);
    if (this.blockHashes.includes(block.hash)) return;
    this.blockHashes = [...this.blockHashes, block.hash].slice(-BLOCKS_KEPT);
    this.transactions = [...this.transactions, ...block.transactions].slice(-TRANSACTIONS_KEPT);
  }
}

/**
 * A number of the set-up: what is wrong with it is said with the endpoint and the method, as there may be two endpoints.
 * @param {Rpc} rpc
 * @param {string} method
 * @param {unknown[]} params
 * @param {Purpose} purpose
 */
export async function askNumber(rpc, method, params, purpose) {
  try {
    return toNumber(await rpc.call(method, params, purpose));
  } catch (error) {
    if (error instanceof RpcError) throw new UnavailableError(`${rpc.display} does not answer ${error.message}`, error);
    if (!(error instanceof ProtocolError)) throw error;
    throw new ProtocolError(`${rpc.display}, asked for ${method}: ${error.message}`, error, error.status);
  }
}

/** @param {unknown} value */
function isQuantity(value) {
  return typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value);
}

/** @type {HeadState} */
const NOTHING = Object.freeze({ number: 0, blockHashes: Object.freeze([]), transactions: Object.freeze([]) });

/**
 * A second endpoint that answers are held against. It is asked after the first has answered, one question for each call
 * under way, and no latency has it in it.
 */

/** How often it is asked for what it does not have yet: it may be a block behind. */
const TRIES = 8;
const PAUSE_MS = 250;

/** What nodes say of a block that they do not have. */
const NOT_THERE = /not found|unknown block|unknown header|missing|not available|beyond|future|greater than/i;

export class Reference {
  #rpc;
  #clock;

  /** @param {Rpc} rpc @param {Clock} clock */
  constructor(rpc, clock) {
    this.#rpc = rpc;
    this.#clock = clock;
  }

  /**
   * @param {{chainId: number | null, genesisHash: string | null, display: string}} other
   * @throws {RefusedError} where it is of another chain
   */
  async checkChain({ chainId, genesisHash, display }) {
    const own = await this.#identity();
    const areSame = own.chainId === chainId && (own.genesisHash ?? genesisHash) === (genesisHash ?? own.genesisHash);
    if (areSame) return;
    const words =
      own.chainId === chainId
        ? `both are chain ${chainId}, but began with different blocks`
        : `chain ${chainId ?? 'unknown'} and chain ${own.chainId}`;
    throw new RefusedError(
      `${display} and --check-rpc ${this.#rpc.display} are different chains (${words}): give a second endpoint of the same chain`,
    );
  }

  async #identity() {
    const chainId = await askNumber(this.#rpc, 'eth_chainId', [], 'check');
    const block = await this.#rpc.call('eth_getBlockByNumber', ['0x0', false], 'check').catch(() => null);
    return { chainId, genesisHash: typeof block?.hash === 'string' ? block.hash : null };
  }

  /**
   * @param {{name: string, method: string, params: unknown[]}} call
   * @param {unknown} answer of the first
   * @returns {Promise<null>}
   * @throws {CheckError}
   */
  async compare({ name, method, params }, answer) {
    let difference = null;
    let isBehind = false;
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (tries > 0) await this.#clock.sleep(PAUSE_MS);
      const { theirs, words } = await this.#ask(method, params);
      difference = words ?? differenceOf(answer, theirs);
      if (difference === null) return null;
      isBehind = theirs === null && (words === null || NOT_THERE.test(words));
      if (theirs !== null) break;
    }
    if (isBehind)
      throw new CheckError(
        `${name}: ${this.#rpc.display} is behind: it does not have what was asked for${difference === null ? '' : ` (${difference})`}`,
      );
    throw new CheckError(`${name}: ${this.#rpc.display} answers otherwise: ${difference}`);
  }

  /** @param {string} method @param {unknown[]} params @returns {Promise<{theirs: unknown, words: string | null}>} */
  async #ask(method, params) {
    try {
      return { theirs: await this.#rpc.call(method, params, 'check'), words: null };
    } catch (error) {
      // What it says of a block that it does not have yet is an error with some nodes.
      if (error instanceof RpcError) return { theirs: null, words: error.message };
      if (error instanceof StressError) throw new CheckError(`not checked: ${error.message}`, 'check_unavailable');
      throw error;
    }
  }
}

/**
 * Every kind of call is made once before the load, so that what cannot work is said at once.
 */

/** JSON-RPC 2.0: the method does not exist or is not available. */
const METHOD_NOT_FOUND = -32601;

/** What does nearly the same on nodes without a method. @type {Readonly<Record<string, string>>} */
const ALTERNATIVES = Object.freeze({
  eth_getBlockReceipts: 'eth_getTransactionReceipt with {{tx.recent}}',
  eth_feeHistory: 'eth_gasPrice',
  eth_maxPriorityFeePerGas: 'eth_gasPrice',
  eth_getProof: 'eth_getStorageAt',
  eth_createAccessList: 'eth_estimateGas',
});

/**
 * @param {Rpc} rpc
 * @param {readonly CallKind[]} kinds
 * @param {(kind: CallKind) => Request} make
 * @param {(line: string) => void} notice
 * @throws {UnavailableError | InputError}
 */
export async function askOnce(rpc, kinds, make, notice) {
  for (const kind of kinds) {
    const { method, params } = make(kind);
    let answer;
    try {
      answer = await rpc.call(method, params, 'check');
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      if (isUnknown(error))
        throw new UnavailableError(`${rpc.display} has no method ${method} (${kind.where})${instead(method)}`);
      // It may be meant so: what a node refuses takes its time as well.
      notice(`${kind.where}: tried once, it fails: ${error.message}`);
      continue;
    }
    const { check } = kind;
    const wrong = check === null || check === 'same' ? null : pathNotFound(check, answer);
    if (wrong !== null) throw new InputError(`${kind.where}: ${wrong}`);
  }
}

/** @param {RpcError} error */
function isUnknown({ rpcCode, rpcMessage }) {
  return (
    rpcCode === METHOD_NOT_FOUND ||
    /\bmethod\b.*\b(not found|not exist|not available|not supported|unknown)/i.test(rpcMessage)
  );
}

/** @param {string} method */
function instead(method) {
  const alternative = ALTERNATIVES[method];
  return alternative === undefined
    ? ': leave it out, or use a node that has it'
    : `: use ${alternative}, or a node that has it`;
}
