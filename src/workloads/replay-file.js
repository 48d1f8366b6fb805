import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { closeSync, createReadStream, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { BATCH } from '../chain/rpc.js';
import { InputError, RefusedError, StressError, WorkloadError, displayName, errnoWords, oneLine } from '../errors.js';
import { MAX_GROUPS } from '../stats/metrics.js';
import { mayWrite } from './call-methods.js';

/**
 * A file of recorded requests for `--calls`: a JSON-RPC request or batch a line (NDJSON), or one array of them. Of lines
 * only the places are kept in memory; the lines are read again during the load.
 *
 * @import { Random } from '../random.js'
 *
 * @typedef {object} RecordedCall
 * @property {string} name its figures are shown under this name
 * @property {string} method BATCH for a batch
 * @property {any} params of a batch: its requests
 * @property {string} where such as line 7, for messages
 *
 * @typedef {object} Entry
 * @property {string} where
 * @property {number} number of the line, or of the request in an array, from 1
 * @property {number} start its place in the file; -1: it is of an array
 * @property {Buffer} bytes
 *
 * @typedef {object} Part of the requests: of every `of` in a row, `count` from `first` on
 * @property {number} first
 * @property {number} count
 * @property {number} of
 */

const MAX_REQUESTS = 1_000_000;
const MAX_LINE_BYTES = 2 ** 20;
const MAX_BATCH = 1000;
/** An array is read as a whole. */
const MAX_ARRAY_BYTES = 2 ** 26;
const CHUNK_BYTES = 2 ** 20;
/** In file order so much is read at once. */
const READ_AHEAD_BYTES = 2 ** 18;

const [NEWLINE, SPACE, COMMENT] = Buffer.from('\n #');
/** Some editors begin a file with it. */
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** @type {Part} */
const WHOLE = Object.freeze({ first: 0, count: 1, of: 1 });

const FORM =
  'a line is a JSON-RPC request such as {"method": "eth_chainId"}, or a batch of them; see docs/workloads.md';
const CURE = 'correct it, or put # before it';
const NO_TEXT = 'it is not UTF-8 text; unpack the file (gunzip), or convert it to UTF-8 (iconv)';

/** Whether a file has recorded requests, and not calls as in calls-file.js. @param {string} file @returns {boolean} */
export function isReplayFile(file) {
  try {
    return statSync(file).isFile() && !/^\{\s*("(schema|calls)"|\}|$)/.test(startOf(file));
  } catch {
    return false; // calls-file.js says why it cannot be read
  }
}

/**
 * Checks all requests of a file.
 * @param {string} file
 * @param {boolean} allowWrites
 * @returns {Promise<string[]>} names that have figures of their own
 * @throws {InputError | RefusedError} naming the file, the line, and what is wrong
 */
export async function checkReplayFile(file, allowWrites) {
  /** @type {Set<string>} */
  const names = new Set();
  await scan(file, ({ where, bytes }) => {
    const { name } = callOf(bytes.toString(), where, file, allowWrites);
    if (names.size < MAX_GROUPS - 1) names.add(name);
  });
  return [...names];
}

/**
 * @param {string} file
 * @param {{allowWrites: boolean, random: Random | null, part?: Part}} options random: null in file order
 * @returns {Promise<Replay>}
 */
export async function openReplay(file, { part = WHOLE, ...options }) {
  const replay = new Replay(file, options);
  const { first, count, of } = part;
  replay.hash = await scan(file, (entry) => {
    const turn = replay.count % of;
    replay.count += 1;
    if (turn >= first && turn < first + count) replay.add(entry);
  });
  // With fewer requests than users some threads would have none.
  return replay.isEmpty ? openReplay(file, options) : replay;
}

/** The requests of one thread, in the order in which they are started; after the last one it begins again. */
export class Replay {
  /** Requests of all threads. */
  count = 0;
  /** Identifies the requests independently of the file's name. */
  hash = '';
  /** In parallel arrays, because there may be a million. @type {number[]} */
  #numbers = [];
  /** @type {number[]} */
  #starts = [];
  /** @type {number[]} */
  #sizes = [];
  /** Texts of an array. @type {Buffer[]} */
  #texts = [];
  /** Their order; each pass has another one. @type {Uint32Array | null} */
  #order = null;
  #next = 0;
  /** What was read last. @type {Buffer} */
  #block = Buffer.alloc(0);
  #blockStart = 0;
  #file;
  #options;

  /** @param {string} file @param {{allowWrites: boolean, random: Random | null}} options */
  constructor(file, options) {
    this.#file = file;
    this.#options = options;
  }

  get isEmpty() {
    return this.#numbers.length === 0;
  }

  /** @param {Entry} entry */
  add({ number, start, bytes }) {
    this.#numbers.push(number);
    this.#starts.push(start);
    this.#sizes.push(bytes.length);
    if (start < 0) this.#texts.push(bytes);
  }

  /** @returns {RecordedCall} @throws {WorkloadError} the file is not what it was */
  next() {
    const i = this.#turn();
    const where = `${this.#texts.length > 0 ? 'request' : 'line'} ${this.#numbers[i]}`;
    try {
      return callOf(this.#textOf(i), where, this.#file, this.#options.allowWrites);
    } catch (error) {
      const words = error instanceof StressError ? error.message : `${displayName(this.#file)}: ${errnoWords(error)}`;
      throw new WorkloadError(`the file changed during the run: ${words}`);
    }
  }

  /** The index of the next request. A pass in random order is shuffled step by step. */
  #turn() {
    const { length } = this.#numbers;
    const at = this.#next;
    this.#next = (at + 1) % length;
    const { random } = this.#options;
    if (random === null) return at;
    const order = (this.#order ??= Uint32Array.from({ length }, (_, i) => i));
    const other = at + Math.floor(random() * (length - at));
    [order[at], order[other]] = [order[other], order[at]];
    return order[at];
  }

  /** @param {number} i */
  #textOf(i) {
    if (this.#texts.length > 0) return this.#texts[i].toString();
    const [start, size] = [this.#starts[i], this.#sizes[i]];
    const isRead = start >= this.#blockStart && start + size <= this.#blockStart + this.#block.length;
    if (!isRead) {
      this.#block = readAt(this.#file, start, this.#options.random === null ? Math.max(size, READ_AHEAD_BYTES) : size);
      this.#blockStart = start;
    }
    return this.#block.toString('utf8', start - this.#blockStart, start - this.#blockStart + size);
  }
}

/** @param {string} text @param {string} where @param {string} file @param {boolean} allowWrites @returns {RecordedCall} @throws {InputError | RefusedError} */
function callOf(text, where, file, allowWrites) {
  /** @param {string} words */
  const wrong = (words) => new InputError(`${displayName(file)}, ${where}: ${words}`);
  let json;
  try {
    json = JSON.parse(text.trim());
  } catch {
    throw wrong(`it is not valid JSON; ${CURE}: ${FORM}`);
  }
  const isBatch = Array.isArray(json);
  if (isBatch && json.length === 0) throw wrong(`the batch is empty; ${CURE}`);
  if (isBatch && json.length > MAX_BATCH)
    throw wrong(`the batch has ${json.length} requests, and ${MAX_BATCH} is the limit; divide it into several lines`);
  const requests = [json].flat().map((/** @type {any} */ request) => {
    const { method, params = [], check, weight } = request ?? {};
    if (typeof method !== 'string')
      throw wrong(`${isBatch ? 'an item of the batch' : 'it'} has no method, so it is no request; ${CURE}: ${FORM}`);
    if (!/^[\w.-]{1,60}$/.test(method))
      throw wrong(`${oneLine(JSON.stringify(method), 60)} is not the name of a method; ${CURE}`);
    if (/^(GET|HEAD|OPTIONS|POST|PUT)$/.test(method))
      throw wrong(
        `its method is ${method}: it is of a log of HTTP requests; give their bodies, such as jq -r .body makes`,
      );
    if (params !== null && typeof params !== 'object')
      throw wrong(`the params of ${method} are neither an array nor an object; ${CURE}`);
    if (check !== undefined || weight !== undefined)
      throw wrong('check and weight are of a calls file, which begins with {"schema": ...}; see docs/workloads.md');
    if (!allowWrites && mayWrite(method))
      throw new RefusedError(
        `${displayName(file)}, ${where}: ${method} may change the chain or the node; put # before it, or give --allow-writes`,
      );
    return { method, params: params ?? [] };
  });
  if (isBatch) return { name: 'batch', method: BATCH, params: requests, where };
  const [{ method, params }] = requests;
  return { name: method, method, params, where };
}

/**
 * Visits the requests of a file, which are neither empty lines nor comments.
 * @param {string} file
 * @param {(entry: Entry) => void} visit
 * @returns {Promise<string>} a hash of the file
 * @throws {InputError}
 */
async function scan(file, visit) {
  const hash = createHash('sha256');
  let count = 0;
  /** @param {Omit<Entry, 'where'>} entry */
  const add = ({ number, start, bytes }) => {
    const where = `${start < 0 ? 'request' : 'line'} ${number}`;
    count += 1;
    const wrong = (/** @type {string} */ words) => new InputError(`${displayName(file)}, ${where}: ${words}`);
    if (bytes.length > MAX_LINE_BYTES) throw wrong('it is longer than 1 MiB; divide or delete it');
    if (!isUtf8(bytes)) throw wrong(NO_TEXT);
    if (count > MAX_REQUESTS)
      throw new InputError(`${displayName(file)} has more than ${MAX_REQUESTS} requests; divide it into several files`);
    visit({ where, number, start, bytes });
  };
  try {
    const items = arrayIn(file);
    if (items === null) await scanLines(file, add, hash);
    for (const [i, item] of (items ?? []).entries()) {
      const bytes = Buffer.from(JSON.stringify(item));
      hash.update(bytes);
      add({ number: i + 1, start: -1, bytes });
    }
  } catch (error) {
    throw error instanceof StressError
      ? error
      : new InputError(`cannot read ${displayName(file)}: ${errnoWords(error)}`);
  }
  if (count === 0) throw new InputError(`${displayName(file)} has no request: ${FORM}`);
  return hash.digest('hex');
}

/** @param {string} file @param {(entry: Omit<Entry, 'where'>) => void} add @param {import('node:crypto').Hash} hash */
async function scanLines(file, add, hash) {
  /** @type {Buffer} */
  let rest = Buffer.alloc(0);
  let [start, number] = [0, 0];
  /** @param {Buffer} bytes */
  const line = (bytes) => {
    number += 1;
    const skipped = number === 1 && bytes.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0;
    const text = bytes.subarray(skipped);
    const first = text.find((byte) => byte > SPACE);
    const isRequest = first !== undefined && first !== COMMENT;
    // Nothing is read after a line that is too long.
    if (isRequest || text.length > MAX_LINE_BYTES) add({ number, start: start + skipped, bytes: text });
  };
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES })) {
    hash.update(chunk);
    const bytes = Buffer.concat([rest, chunk]);
    let from = 0;
    for (let to = bytes.indexOf(NEWLINE); to >= 0; to = bytes.indexOf(NEWLINE, from)) {
      line(bytes.subarray(from, to));
      start += to + 1 - from;
      from = to + 1;
    }
    rest = bytes.subarray(from);
    // It need not end at all.
    if (rest.length > MAX_LINE_BYTES) break;
  }
  line(rest);
}

/** The items, if the file is one array. @param {string} file @returns {unknown[] | null} @throws {InputError} */
function arrayIn(file) {
  const start = startOf(file);
  if (!start.startsWith('[')) return null;
  const bytes = statSync(file).size > MAX_ARRAY_BYTES ? null : readFileSync(file);
  const isText = bytes === null || isUtf8(bytes);
  const items = bytes === null || !isText ? null : parsed(withoutComments(bytes.toString()));
  const [firstLine] = start.split('\n', 1);
  // A first line that is whole is a batch.
  if (items !== null || parsed(firstLine) !== null || /\]\s*$/.test(firstLine)) return items;
  const what = bytes === null ? 'is larger than 64 MiB' : 'is not valid JSON';
  const words = isText ? `the array ${what}; write one request a line, such as jq -c '.[]' makes` : NO_TEXT;
  throw new InputError(`${displayName(file)}: ${words}`);
}

/** @param {string} text @returns {any} null if it is no JSON */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What it begins with. @param {string} file */
function startOf(file) {
  return withoutComments(readAt(file, 0, CHUNK_BYTES).toString());
}

/** @param {string} text */
function withoutComments(text) {
  return text
    .trim()
    .replace(/^[ \t]*#.*$/gm, '')
    .trim();
}

/** The file is not kept open: nothing would close it. @param {string} file @param {number} start @param {number} size @returns {Buffer} shorter at its end */
function readAt(file, start, size) {
  const bytes = Buffer.allocUnsafe(size);
  const descriptor = openSync(file, 'r');
  try {
    return bytes.subarray(0, readSync(descriptor, bytes, 0, size, start));
  } finally {
    closeSync(descriptor);
  }
}
