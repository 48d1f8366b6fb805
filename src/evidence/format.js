import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { InputError, displayName, errnoWords } from '../errors.js';
import { AUDIT_RESULTS } from '../stats/audit-result.js';

/**
 * An evidence file (--evidence): a line of JSON for each of its parts, so that it can be appended during the load. A wallet is
 * ["address", first nonce], a block ["number", ...] as the header names its columns. A line {"add"} adds to the counts of a
 * block before it, {"reorg"} voids the blocks before it from a number on. The last line before the signatures, {"end"}, has
 * the figures and the digests of the lines before it and of the run file.
 *
 * @import { BlockProof } from './block-proof.js'
 *
 * @typedef {object} BlockRow a block of the run
 * @property {number} number
 * @property {string} hash
 * @property {number | null} timestampS null: the node states none
 * @property {number} gasUsed
 * @property {number} gasLimit 0: the node states none
 * @property {number} transactions
 * @property {number} succeeded operations of this run
 * @property {number} reverted
 *
 * @typedef {object} Header
 * @property {string} schema
 * @property {string} stress
 * @property {{id: number, genesis: string | null}} chain
 * @property {Record<string, string[]>} columns
 *
 * @typedef {{hash: string, wallet: number, nonce: number}} Foreign a transaction of a wallet, by its position, that is not of this run
 *
 * @typedef {object} End
 * @property {string} run its id
 * @property {string} bodySha256 of the lines before the end
 * @property {string} runFileSha256 as --out writes it
 * @property {{block: number, hash: string, result: string} | null} audit null: there was none, or the file does not have its blocks
 * @property {Foreign[]} foreign
 * @property {boolean} isSigned
 * @property {Array<[name: string, value: number | null, formula: string]>} figures
 *
 * @typedef {object} Evidence as it is read
 * @property {Header} header
 * @property {string[]} addresses in lower case
 * @property {number[]} firstNonces
 * @property {number[]} nextNonces empty: the run did not end
 * @property {BlockRow[]} rows in order of numbers
 * @property {BlockProof[]} proofs
 * @property {End | null} end null: the run was killed
 * @property {string} bodySha256 of the lines that were read before the end
 * @property {string} signedSha256 of all lines before the signatures
 * @property {string} fileSha256
 * @property {string[]} signatures by wallet
 * @property {number} removed blocks that left the chain during the run
 */

export const SCHEMA = 'evm-stress/evidence@1';

const COLUMNS = Object.freeze({
  wallet: ['address', 'first nonce'],
  block: ['number', 'hash', 'timestamp', 'gas used', 'gas limit', 'transactions', 'succeeded', 'reverted'],
});

/** Wallets in a line of nonces or signatures. */
const AT_ONCE = 1000;

/** @param {string} version @param {Header['chain']} chain @returns {string} */
export function headerLine(version, chain) {
  return lineOf({ schema: SCHEMA, stress: version, chain, columns: COLUMNS });
}

/** @param {unknown} json */
export function lineOf(json) {
  return `${JSON.stringify(json)}\n`;
}

/** @param {{address: string, nonce: number}} wallet */
export function walletLine({ address, nonce }) {
  return lineOf([address.slice(2).toLowerCase(), nonce]);
}

/** @param {BlockRow} row */
export function blockLine({ number, hash, timestampS, gasUsed, gasLimit, transactions, succeeded, reverted }) {
  return lineOf([number, hash.slice(2), timestampS, gasUsed, gasLimit, transactions, succeeded, reverted]);
}

/** @template T @param {'next' | 'signatures'} name @param {readonly T[]} values by wallet @returns {string[]} */
export function walletLines(name, values) {
  return Array.from({ length: Math.ceil(values.length / AT_ONCE) }, (_, i) =>
    lineOf({ [name]: values.slice(i * AT_ONCE, (i + 1) * AT_ONCE) }),
  );
}

/** What a wallet signs (--sign). @param {string} run its id @param {string} sha256 of all lines before the signatures */
export function signedText(run, sha256) {
  return `evm-stress evidence\nrun ${run}\nsha256 ${sha256}`;
}

const isText = (/** @type {unknown} */ value) => typeof value === 'string';
/** What is printed has no lines of its own. @param {RegExp} form */
const isOf = (form) => (/** @type {unknown} */ value) => typeof value === 'string' && form.test(value);
const isHash = isOf(/^0x[0-9a-f]{64}$/);
const isDigest = isOf(/^[0-9a-f]{64}$/);
const isWord = isOf(/^[\w.-]{1,64}$/);
const isFormula = isOf(/^[ -~]{0,300}$/);

/** @param {any} value @param {(one: any) => boolean} isOne */
function isList(value, isOne) {
  return Array.isArray(value) && value.every((one) => isOne(one));
}

/** @param {any} proof */
function isProof(proof) {
  const isNumbered = Number.isSafeInteger(proof?.block) && Number.isSafeInteger(proof.index) && proof.index >= 0;
  return isNumbered && isText(proof.header) && isList(proof.transaction, isText) && isList(proof.receipt, isText);
}

/** @param {any} end */
function isEnd(end) {
  const isFigure = (/** @type {any} */ one) =>
    Array.isArray(one) && isWord(one[0]) && isFormula(one[2]) && (one[1] === null || Number.isFinite(one[1]));
  const isForeign = (/** @type {any} */ one) => isHash(one?.hash);
  const isAudit =
    end?.audit === null ||
    (Number.isSafeInteger(end?.audit?.block) && isHash(end.audit.hash) && AUDIT_RESULTS.includes(end.audit.result));
  const isNamed = isWord(end?.run) && [end?.bodySha256, end?.runFileSha256].every(isDigest);
  if (!isNamed || !isAudit || !isList(end.figures, isFigure) || !isList(end.foreign, isForeign)) return false;
  const names = end.figures.map((/** @type {[string]} */ [name]) => name);
  return new Set(names).size === names.length;
}

/** Collects the lines of a file. */
class Reader {
  /** @type {Header | null} */
  #header = null;
  /** @type {Map<number, BlockRow>} */
  #rows = new Map();
  #body = createHash('sha256');
  #signed = createHash('sha256');
  #whole = createHash('sha256');
  #evidence = {
    addresses: /** @type {string[]} */ ([]),
    firstNonces: /** @type {number[]} */ ([]),
    nextNonces: /** @type {number[]} */ ([]),
    proofs: /** @type {BlockProof[]} */ ([]),
    signatures: /** @type {string[]} */ ([]),
    end: /** @type {End | null} */ (null),
    removed: 0,
  };

  /** @param {string} line without its end @throws {Error} it is none of an evidence file */
  add(line) {
    const json = JSON.parse(line);
    if (typeof json !== 'object' || json === null) throw new Error('a line is no object');
    const text = `${line}\n`;
    const own = this.#evidence;
    const isOne = Array.isArray(json) || this.#header === null || Object.keys(json).length === 1;
    if (!isOne || (own.end !== null && !isList(json.signatures, isText)))
      throw new Error('a line has several members, or stands behind the end');
    this.#whole.update(text);
    if (json.signatures === undefined) this.#signed.update(text);
    if (own.end === null && json.end === undefined) this.#body.update(text);
    if (this.#header === null) {
      if (json.schema !== SCHEMA) throw new Error(`its first line has no "schema": "${SCHEMA}"`);
      if (!Number.isSafeInteger(json.chain?.id) || !(json.chain.genesis === null || isHash(json.chain.genesis)))
        throw new Error('it states no chain');
      this.#header = json;
    } else if (Array.isArray(json)) this.#addRow(json);
    else if (json.add) this.#addCounts(json.add);
    else if (json.reorg !== undefined) this.#void(json.reorg);
    else if (isList(json.next, Number.isSafeInteger)) own.nextNonces.push(...json.next);
    else if (isProof(json.proof)) own.proofs.push(json.proof);
    else if (isList(json.signatures, isText)) own.signatures.push(...json.signatures);
    else if (isEnd(json.end) && own.end === null) own.end = json.end;
    else if (json.end !== undefined)
      throw new Error('its end has another form: a figure is there twice, or a digest, a hash or a word is none');
    else throw new Error(`a line has none of its members: ${Object.keys(json).slice(0, 3).join(', ')}`);
  }

  /** @param {any[]} cells */
  #addRow(cells) {
    const [first, second] = cells;
    if (typeof first === 'string') {
      if (!/^[0-9a-f]{40}$/.test(first) || !Number.isSafeInteger(second))
        throw new Error('a line of a wallet has another form');
      this.#evidence.addresses.push(`0x${first}`);
      this.#evidence.firstNonces.push(second);
      return;
    }
    const [number, hash, timestampS, gasUsed, gasLimit, transactions, succeeded, reverted] = cells;
    // Only counts may be negative, which the sums then show.
    const isWhole = (/** @type {any} */ cell, /** @type {number} */ i) =>
      i === 1 || (i === 2 && cell === null) || (Number.isSafeInteger(cell) && (cell >= 0 || i > 5));
    if (cells.length !== COLUMNS.block.length || !cells.every(isWhole) || !isDigest(hash))
      throw new Error(`a line of a block has other cells than its columns: ${JSON.stringify(cells).slice(0, 80)}`);
    const counts = { succeeded, reverted };
    this.#rows.set(number, { number, hash: `0x${hash}`, timestampS, gasUsed, gasLimit, transactions, ...counts });
  }

  /** @param {[number, number, number]} counts */
  #addCounts(counts) {
    if (!isList(counts, Number.isSafeInteger)) throw new Error('a line that adds to a block has another form');
    const [number, succeeded, reverted] = counts;
    const row = this.#rows.get(number);
    if (row === undefined) throw new Error(`it adds to block ${number}, which it does not have`);
    row.succeeded += succeeded;
    row.reverted += reverted;
  }

  /** @param {number} from */
  #void(from) {
    for (const number of [...this.#rows.keys()].filter((one) => one >= from)) {
      this.#rows.delete(number);
      this.#evidence.removed += 1;
    }
  }

  /** @returns {Evidence} @throws {Error} */
  get evidence() {
    if (this.#header === null) throw new Error('it is empty');
    const rows = [...this.#rows.values()].sort((a, b) => a.number - b.number);
    const [bodySha256, signedSha256, fileSha256] = [this.#body, this.#signed, this.#whole].map((hash) =>
      hash.digest('hex'),
    );
    return { header: this.#header, ...this.#evidence, rows, bodySha256, signedSha256, fileSha256 };
  }
}

/** What is wrong with a file whose name ends in .gz. @type {Readonly<Record<string, string>>} */
const OF_GZIP = Object.freeze({
  Z_BUF_ERROR: 'the compressed file is cut: copy it again',
  Z_DATA_ERROR: 'it is damaged, or not compressed by gzip',
});

/** @param {string} file with .gz at its end it is unpacked @returns {Promise<Evidence>} @throws {InputError} */
export async function readEvidence(file) {
  const name = displayName(file);
  const bytes = createReadStream(file);
  const input = file.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes;
  const lines = createInterface({ input, crlfDelay: Infinity });
  const reader = new Reader();
  let count = 0;
  /** Errors of streams do not reach who reads the lines. @type {unknown} */
  let failure = null;
  for (const stream of [bytes, input])
    stream.on('error', (/** @type {unknown} */ error) => {
      failure ??= error;
      lines.close();
    });
  try {
    for await (const line of lines) {
      count += 1;
      reader.add(line);
    }
    if (failure !== null) throw failure;
    return reader.evidence;
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    const where = count === 0 ? '' : `, line ${count}`;
    const why = code === undefined ? /** @type {Error} */ (error).message : (OF_GZIP[code] ?? errnoWords(error));
    throw new InputError(`${name}${where}: no evidence file of stress: ${why}; give a file of --evidence`);
  } finally {
    bytes.destroy();
  }
}
