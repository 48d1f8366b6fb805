import { HEAD, ask, blockAt, toHex } from '../chain/answers.js';
import { classOf } from '../chain/refusals.js';
import { CheckError, ProtocolError, RpcError, StressError, UnavailableError, oneLine, withoutKeys } from '../errors.js';
import { counted } from '../text.js';
import { compile } from './templates.js';

/**
 * @import { Purpose, Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { CallKind } from './calls-file.js'
 * @import { Compiled } from './templates.js'
 */

/**
 * Checks of the answers of plain calls, and the head of the chain that templates use. A path names a place in an answer:
 * members and element numbers with dots between them, such as transactions.0.hash; $ is the whole answer.
 *
 * @typedef {object} CheckRule of a calls file: a path and one of the others
 * @property {string} path
 * @property {unknown} [equals] may have templates
 * @property {boolean} [exists] whether the value is there and not null
 * @property {number | string} [length] of an array, a text or an object; may be a template
 *
 * @typedef {object} Check
 * @property {readonly string[]} path
 * @property {'equals' | 'exists' | 'length'} kind
 * @property {Compiled} expected
 */

/** Longest excerpt of a value in a message. */
const MAX_SHOWN_CHARS = 60;
/** Deeper values are not compared. */
const MAX_DEPTH = 100;

/**
 * What is wrong with a value, by kind of check.
 * @type {Record<Check['kind'], (value: unknown, expected: unknown, where: string) => string | null>}
 */
const FAULTS = {
  equals: (value, expected, where) => differenceOf(value, expected, where),
  exists: (value, expected, where) => {
    if (((value ?? null) !== null) === expected) return null;
    return `${where} is ${expected ? 'missing' : `${shown(value)}; it must be missing or null`}`;
  },
  length: (value, expected, where) => {
    const length = lengthOf(value);
    if (length === Number(expected)) return null;
    return length === null
      ? `${where} is ${shown(value)}; a length of ${expected} is expected`
      : `${where} has the length ${length} instead of ${expected}`;
  },
};

/** @param {CheckRule} rule @returns {Check} @throws {Error} with a message for the middle of a sentence */
export function compileCheck(rule) {
  const kinds = /** @type {Check['kind'][]} */ (Object.keys(FAULTS)).filter((kind) => Object.hasOwn(rule, kind));
  if (kinds.length !== 1)
    throw new Error(`its check has ${kinds.length} of equals, exists and length, and it needs one of them`);
  const [kind] = kinds;
  const expected = compile(rule[kind]);
  if (kind === 'length' && typeof rule.length === 'string' && expected.isConstant)
    throw new Error(`its check has a length that is neither a number nor a template`);
  return { path: rule.path.split('.').filter((part) => part !== '$'), kind, expected };
}

/** @param {Check} check @param {any} answer @param {unknown} expected for this call @returns {string | null} what is wrong */
export function faultOf({ path, kind }, answer, expected) {
  return FAULTS[kind](path.reduce(own, answer), expected, ['$', ...path].join('.'));
}

/** A member or an element. @param {any} value @param {string} key */
function own(value, key) {
  return value !== null && typeof value === 'object' && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** @param {unknown} value */
function lengthOf(value) {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  return value !== null && typeof value === 'object' ? Object.keys(value).length : null;
}

/** The first difference of two values, apart from the order of members. @param {unknown} found @param {unknown} expected @param {string} [where] @param {number} [depth] @returns {string | null} */
export function differenceOf(found, expected, where = '$', depth = 0) {
  if (Object.is(found, expected)) return null;
  if (depth > MAX_DEPTH) return `${shortPath(where)} is nested too deeply to be compared`;
  const areObjects = [found, expected].every((value) => value !== null && typeof value === 'object');
  if (!areObjects || Array.isArray(found) !== Array.isArray(expected))
    return `${shortPath(where)} is ${shown(found)} ${expected === undefined ? 'and should be missing' : `instead of ${shown(expected)}`}`;
  const [a, b] = /** @type {any[]} */ ([found, expected]);
  if (Array.isArray(a) && a.length !== b.length)
    return `${shortPath(where)} has ${counted(a.length, 'element')} instead of ${b.length}`;
  for (const key of new Set([...Object.keys(b), ...Object.keys(a)])) {
    const difference = differenceOf(own(a, key), own(b, key), `${where}.${key}`, depth + 1);
    if (difference !== null) return difference;
  }
  return null;
}

/** @param {string} where */
function shortPath(where) {
  return oneLine(withoutKeys(where), MAX_SHOWN_CHARS);
}

/** @param {unknown} value of an answer */
function shown(value) {
  if (value === undefined) return 'missing';
  return oneLine(typeof value === 'string' ? JSON.stringify(value) : value, MAX_SHOWN_CHARS);
}

/** The head is read again after this time. */
const MAX_AGE_US = 1_000_000;
const MAX_BLOCKS_KEPT = 128;
const MAX_TRANSACTIONS_KEPT = 1000;
/** Blocks searched for a first transaction. */
const MAX_BLOCKS_BACK = 64;

/** @typedef {{number: number, blockHashes: string[], transactions: string[]}} HeadState with hashes of recent blocks and transactions */

/** The head of the chain for templates, read at most once a second. */
export class Head {
  /** @type {HeadState} */
  state;
  #rpc;
  #clock;
  #readAtUs;
  #isReading = false;

  /** @param {Rpc} rpc @param {Clock} clock @param {HeadState} [state] of the main thread */
  constructor(rpc, clock, state = { number: 0, blockHashes: [], transactions: [] }) {
    this.state = state;
    this.#rpc = rpc;
    this.#clock = clock;
    this.#readAtUs = clock.nowUs();
  }

  /** @param {boolean} wantsTransactions at least one is needed @throws {UnavailableError} */
  async prepare(wantsTransactions) {
    await this.#read('setup');
    const { number } = this.state;
    for (let back = 1; wantsTransactions && this.state.transactions.length === 0; back += 1) {
      if (back > MAX_BLOCKS_BACK || back > number)
        throw new UnavailableError(
          `${this.#rpc.display} has no transaction in its last ${counted(back, 'block')}, and {{tx.recent}} needs one: send some first`,
        );
      await this.#add(toHex(number - back), 'setup');
    }
  }

  /** Starts a new reading if the last one is too old. */
  refresh() {
    if (this.#isReading || this.#clock.nowUs() - this.#readAtUs < MAX_AGE_US) return;
    // After a failure the old values stay; a broken endpoint shows in the load itself.
    this.#read('follow').catch(() => {});
  }

  /** @param {Purpose} purpose */
  async #read(purpose) {
    this.#isReading = true;
    this.#readAtUs = this.#clock.nowUs();
    try {
      this.state.number = await this.#add('latest', purpose);
    } finally {
      this.#isReading = false;
    }
  }

  /** @param {string} tag @param {Purpose} purpose @returns {Promise<number>} of the block */
  async #add(tag, purpose) {
    const block = await ask(this.#rpc, blockAt(tag), purpose);
    if (block === null) throw new ProtocolError(`${this.#rpc.display} has no ${tag} block`);
    const { state } = this;
    if (!state.blockHashes.includes(block.hash)) {
      state.blockHashes = [...state.blockHashes, block.hash].slice(-MAX_BLOCKS_KEPT);
      state.transactions = [...state.transactions, ...block.transactions].slice(-MAX_TRANSACTIONS_KEPT);
    }
    return block.number;
  }
}

/** Attempts to get an answer that an endpoint does not have yet, because it may be a block behind. */
const TRIES = 8;
const PAUSE_MS = 250;

/** Messages of nodes about a missing block. */
const NOT_THERE = /not found|unknown block|unknown header|missing|not available|beyond|future|greater than/i;

/** @typedef {{value: any, words: string | null}} Reply words: of an error answer */

/**
 * Compares the answers of two endpoints, outside of the latency. Either of them may be behind: what one of them lacks is
 * asked for again, and only an endpoint that has reached the head of the other differs from it. Between two answers there
 * may be a reorg: they differ if they still do when both are asked again.
 */
export class Reference {
  #rpcs;
  #clock;

  /** @param {{first: Rpc, other: Rpc, clock: Clock}} options first: under load */
  constructor({ first, other, clock }) {
    this.#rpcs = { first, other };
    this.#clock = clock;
  }

  /** @param {{name: string, method: string, params: unknown[]}} call @param {unknown} answer of the first endpoint @returns {Promise<null>} */
  async compare({ name, method, params }, answer) {
    const replies = { first: /** @type {Reply} */ ({ value: answer, words: null }), other: NO_REPLY };
    /** Its head when the other one lacked something. @type {number | null} */
    let head = null;
    /** How they differed before both were asked again. @type {string | null} */
    let before = null;
    replies.other = await this.#call('other', method, params);
    for (let tries = 1; ; tries += 1) {
      const { first, other } = replies;
      const ofFirst = first.words === null ? null : `${this.#rpcs.first.display} now says ${first.words}`;
      const difference = ofFirst ?? other.words ?? differenceOf(other.value, first.value);
      if (difference === null && before === null) return null;
      if (difference === null) throw unchecked(`${name}: the answers have changed, as after a reorg (${before})`);
      const late = lacks(first) === lacks(other) ? null : lacks(first) ? 'first' : 'other';
      if (late === null && before !== null) throw this.#difference(name, difference);
      if (late === null) {
        before = difference;
        replies.first = await this.#call('first', method, params);
        replies.other = await this.#call('other', method, params);
        continue;
      }
      head ??= await this.#headOf(late === 'first' ? 'other' : 'first');
      if (tries >= TRIES) throw await this.#lateOrDifferent(late, head, { name, difference });
      await this.#clock.sleep(PAUSE_MS);
      replies[late] = await this.#call(late, method, params);
    }
  }

  /** @param {'first' | 'other'} late @param {number} head of the other one, when it had the answer @param {{name: string, difference: string}} found */
  async #lateOrDifferent(late, head, { name, difference }) {
    const own = await this.#headOf(late);
    if (own >= head) return this.#difference(name, difference);
    return unchecked(`${name}: ${this.#rpcs[late].display} is behind and does not have it yet (${difference})`);
  }

  /** @param {string} name @param {string} difference */
  #difference(name, difference) {
    return new CheckError(`${name}: ${this.#rpcs.other.display} answers differently: ${difference}`);
  }

  /** @param {'first' | 'other'} side @returns {Promise<number>} */
  #headOf(side) {
    return ask(this.#rpcs[side], HEAD, 'check').catch(notChecked);
  }

  /** @param {'first' | 'other'} side @param {string} method @param {unknown[]} params @returns {Promise<Reply>} */
  async #call(side, method, params) {
    try {
      return { value: await this.#rpcs[side].call(method, params, 'check'), words: null };
    } catch (error) {
      // Some nodes answer with an error for a block that they do not have yet.
      return error instanceof RpcError ? { value: null, words: error.message } : notChecked(error);
    }
  }
}

/** @type {Reply} */
const NO_REPLY = Object.freeze({ value: null, words: null });

/** @param {unknown} error @returns {never} */
function notChecked(error) {
  throw error instanceof StressError ? unchecked(error.message) : error;
}

/** @param {string} why */
function unchecked(why) {
  return new CheckError(`not checked: ${why}`, 'check_unavailable');
}

/** Whether it is what an endpoint says that does not have a block yet. @param {Reply} reply */
function lacks({ value, words }) {
  if (words !== null) return NOT_THERE.test(words);
  return (value ?? null) === null || value.blockNumber === null;
}

/** Code of an error answer for parameters that the method does not take (JSON-RPC 2.0). */
const WRONG_PARAMS = -32602;

/**
 * Makes a call of each kind before the load, to report errors early. A failure is a notice, because the user may intend
 * to measure it.
 * @template {Pick<CallKind, 'where' | 'check'>} Kind
 * @param {Rpc} rpc
 * @param {readonly Kind[]} kinds
 * @param {(kind: Kind) => {method: string, params: unknown[], expected?: unknown}} make
 * @param {{notice: (line: string) => void, isBeforeSetUp?: boolean}} preparation isBeforeSetUp: also wrong parameters are refused
 * @throws {UnavailableError}
 */
export async function tryCalls(rpc, kinds, make, { notice, isBeforeSetUp = false }) {
  for (const kind of kinds) {
    const { where, check } = kind;
    const { method, params, expected } = make(kind);
    try {
      const answer = await rpc.call(method, params, 'check');
      const fault = check === null || check === 'same' ? null : faultOf(check, answer, expected);
      if (fault !== null) notice(`${where}: the check of a trial call failed: ${fault}`);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      if (classOf(error) === 'unsupported')
        throw new UnavailableError(
          `${rpc.display} has no method ${method} (${where}): leave it out, or use a node that has it`,
        );
      // It would fail each time, beside a load that is paid for.
      if (isBeforeSetUp && error.rpcCode === WRONG_PARAMS)
        throw new UnavailableError(
          `${where}: a trial call of ${method} failed: ${error.message}: repair its parameters`,
        );
      notice(`${where}: a trial call failed: ${error.message}`);
    }
  }
}
