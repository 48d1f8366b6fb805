import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { InputError, displayName } from '../errors.js';
import { cannotWrite } from '../files.js';

/** @import { OutputError } from '../errors.js' */

/**
 * The sources of a merge: run files in folders, and result lines in logs of a cluster without shared storage. Logs may
 * have other lines in between and a prefix by kubectl, srun or a log collector.
 *
 * @typedef {object} ResultLine
 * @property {string | null} id of the run; null: unreadable, as for the members below
 * @property {string | null} runId
 * @property {number | null} index
 * @property {Buffer | null} gzip the run file, compressed
 * @property {number} bytes uncompressed
 * @property {string} sha256 of the uncompressed run file
 * @property {string | null} damage null: the line is intact
 */

const MARKER = 'STRESS_RESULT ';

/** A run file of 2,000 intervals has about 16 MB. */
export const MOST_BYTES = 64 * 2 ** 20;
/** Limit of a line, for a run file that does not compress: base64 adds a third. */
const LONGEST_LINE = 96 * 2 ** 20;

/** @param {AsyncIterable<Buffer>} stream @returns {AsyncGenerator<ResultLine>} */
export async function* resultLines(stream) {
  for await (const { line, isCut } of linesOf(stream)) {
    if (!line.includes(MARKER)) continue;
    // A line may begin with a part of another process's line: each marker starts a new result.
    const [before, ...texts] = line.toString('latin1').split(MARKER);
    for (const text of texts) {
      const [json] = /^\{\S+/.exec(text) ?? [];
      const foreign = isCut ? 'it is too long' : formOf(before, text);
      if (json !== undefined) yield foreign === null ? parseResult(json) : damagedResult(json, foreign);
    }
  }
}

/** Log files of container runtimes split or escape long lines. @param {string} before the marker @param {string} text behind it */
function formOf(before, text) {
  if (text.startsWith('{\\"')) return "it is in Docker's own log file: merge what docker logs prints";
  return /^\S+ std(?:out|err) P /.test(before)
    ? "it is in pieces, in a container runtime's own log file: merge what kubectl logs prints"
    : null;
}

/** Keeps no more of a line than LONGEST_LINE. @param {AsyncIterable<Buffer>} stream */
async function* linesOf(stream) {
  /** @type {Buffer[]} */
  let pieces = [];
  let length = 0;
  const whole = () => ({ line: Buffer.concat(pieces), isCut: length > LONGEST_LINE });
  for await (const chunk of stream) {
    for (let from = 0; from <= chunk.length;) {
      const to = chunk.indexOf('\n', from);
      const piece = chunk.subarray(from, to < 0 ? chunk.length : to);
      if (length <= LONGEST_LINE) pieces.push(piece);
      length += piece.length;
      if (to < 0) break;
      yield whole();
      [pieces, length, from] = [[], 0, to + 1];
    }
  }
  if (length > 0) yield whole();
}

/** @param {string} text JSON of a line, and more @returns {ResultLine} */
function parseResult(text) {
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    return damagedResult(text, 'it is cut or mixed with another');
  }
  const { schema, id, runId = null, index = null, bytes, sha256, gzip } = json;
  if (schema !== 'evm-stress/result@1') return damagedResult(text, 'its schema is not evm-stress/result@1');
  const isWhole =
    [id, sha256, gzip].every((value) => typeof value === 'string') &&
    [runId === null || typeof runId === 'string', index === null || isCount(index), isCount(bytes)].every(Boolean);
  if (!isWhole) return damagedResult(text, 'it does not have what such a line has');
  if (bytes > MOST_BYTES) return damagedResult(text, `its run file would have ${bytes} bytes`);
  return { id, runId, index, bytes, sha256, gzip: Buffer.from(gzip, 'base64'), damage: null };
}

/** @param {unknown} value */
function isCount(value) {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** @param {string} text @param {string} damage @returns {ResultLine} */
function damagedResult(text, damage) {
  const words = text.replaceAll('\\"', '"');
  const [, index] = /"index":(\d{1,6})\b/.exec(words) ?? [];
  const [, runId] = /"runId":"([\w.-]{1,63})"/.exec(words) ?? [];
  const [, id] = /"id":"([0-9a-f-]{36})"/.exec(words) ?? [];
  return {
    id: id ?? null,
    runId: runId ?? null,
    index: index === undefined ? null : Number(index),
    gzip: null,
    bytes: 0,
    sha256: '',
    damage,
  };
}

/**
 * @param {{gzip: Buffer, bytes: number, sha256: string}} line
 * @returns {any} the run file
 * @throws {Error} whose message says what is wrong
 */
export function unpack({ gzip, bytes, sha256 }) {
  let text;
  try {
    // Stops at the stated length.
    text = gunzipSync(gzip, { maxOutputLength: Math.max(1, bytes) });
  } catch {
    throw new Error('its run file cannot be decompressed');
  }
  if (text.length !== bytes) throw new Error(`its run file has ${text.length} bytes, not ${bytes}`);
  if (createHash('sha256').update(text).digest('hex') !== sha256) throw new Error('its run file has another sha256');
  return JSON.parse(text.toString('utf8'));
}

/**
 * Spools data of a pipe that is read twice to a file instead of memory. The file is unlinked at once where the system
 * allows it, so that it cannot be left behind.
 *
 * @typedef {{position: number, length: number}} Place
 */
class Spool {
  /** @type {{fd: number, folder: string} | null} nothing before there is something to keep */
  #file = null;
  #length = 0;

  /** @param {Buffer} bytes @returns {Place} @throws {OutputError} */
  add(bytes) {
    const folder = this.#file?.folder ?? tmpdir();
    try {
      this.#file ??= openSpool();
      const place = { position: this.#length, length: bytes.length };
      for (let written = 0; written < bytes.length;)
        written += writeSync(this.#file.fd, bytes, written, bytes.length - written, this.#length + written);
      this.#length += bytes.length;
      return place;
    } catch (error) {
      throw cannotWrite(folder, error);
    }
  }

  /** @param {Place} place @returns {Buffer} */
  read({ position, length }) {
    const bytes = Buffer.alloc(length);
    for (let done = 0; this.#file !== null && done < length;) {
      const got = readSync(this.#file.fd, bytes, done, length - done, position + done);
      if (got === 0) break;
      done += got;
    }
    return bytes;
  }

  close() {
    if (this.#file === null) return;
    closeSync(this.#file.fd);
    rmSync(this.#file.folder, { recursive: true, force: true });
    this.#file = null;
  }
}

function openSpool() {
  const folder = mkdtempSync(join(tmpdir(), 'stress-merge-'));
  const fd = openSync(join(folder, 'results'), 'w+', 0o600);
  // Windows cannot unlink an open file; there close() does it.
  if (process.platform !== 'win32') rmSync(folder, { recursive: true, force: true });
  return { fd, folder };
}

/**
 * @typedef {object} Found one of its members
 * @property {any} [json] possibly a run file
 * @property {string} [damage] what is wrong with a run file
 * @property {string} [foreign] what the source is instead
 *
 * @typedef {object} Source
 * @property {string} name for messages
 * @property {boolean} isGiven named by the user, not found in a folder
 * @property {number | null} index of the instance, if known without reading
 * @property {string | null} id of the run, likewise
 * @property {string | null} runId likewise
 * @property {() => Found} read can be repeated; a change in between is damage
 */

/** Above the number of instances, with some attempts each. */
const MAX_SOURCES = 200_000;
const STDIN = '-';

/**
 * @param {readonly string[]} names of folders, run files and logs; '-' for standard input
 * @param {NodeJS.ReadableStream} stdin
 * @returns {Promise<{sources: Source[], close: () => void}>}
 */
export async function findSources(names, stdin) {
  const spool = new Spool();
  /** @type {Source[]} */
  const sources = [];
  try {
    for (const name of names) {
      const found = name === STDIN ? await standardInput(stdin, spool) : await sourcesOf(name, spool);
      for (const source of found) sources.push(source);
      if (sources.length > MAX_SOURCES) throw new InputError(`there are more than ${MAX_SOURCES} run files`);
    }
  } catch (error) {
    spool.close();
    throw error;
  }
  return { sources, close: () => spool.close() };
}

/** @param {string} name @param {Spool} spool @returns {Promise<Source[]>} */
async function sourcesOf(name, spool) {
  const stats = statSync(name, { throwIfNoEntry: false });
  if (stats === undefined) throw new InputError(`cannot read ${displayName(name)}: there is no such file or folder`);
  if (stats.isDirectory()) return filesOf(name).map((file) => fileSource(file, false));
  if (!stats.isFile()) throw new InputError(`${displayName(name)} is neither a file nor a folder`);
  // Logs may contain JSON lines, also as their first line.
  const file = fileSource(name, true);
  const start = startOf(name);
  if (isGzip(start))
    throw new InputError(`${displayName(name)} is compressed: zcat ${displayName(name)} | stress merge -`);
  const mayBeJson = name.endsWith('.json') || start.toString('latin1').trimStart().startsWith('{');
  if (mayBeJson && (name.endsWith('.json') || file.read().json !== undefined)) return [file];
  const lines = await logSources(createReadStream(name), displayName(name), spool);
  if (lines.length > 0) return lines;
  if (mayBeJson) return [file];
  throw new InputError(`${displayName(name)} is no run file, and no log with a STRESS_RESULT line in it`);
}

/** @param {string} folder */
function filesOf(folder) {
  try {
    const names = readdirSync(folder, { withFileTypes: true });
    const files = names.filter((entry) => entry.name.endsWith('.json') && !entry.isDirectory());
    return files.map((entry) => join(folder, entry.name)).sort();
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new InputError(`cannot read the folder ${displayName(folder)}: ${code}`, error);
  }
}

/** @param {string} file @param {boolean} isGiven @returns {Source} */
function fileSource(file, isGiven) {
  /** @type {string | null} */
  let version = null;
  const read = () => {
    const found = statSync(file, { throwIfNoEntry: false });
    const now = `${found?.mtimeMs} ${found?.size} ${found?.ino}`;
    // The second reading relies on the checks of the first.
    if (version !== null && now !== version) return { damage: 'it was changed while it was read' };
    version = now;
    return readFile(file);
  };
  return { name: displayName(file), isGiven, index: null, id: null, runId: null, read };
}

/** @param {string} file @returns {Found} */
function readFile(file) {
  let text;
  try {
    const stats = statSync(file);
    if (!stats.isFile()) return { foreign: 'not a file' };
    if (stats.size > MOST_BYTES) return { foreign: 'larger than any run file' };
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new InputError(`cannot read ${displayName(file)}: ${code}`, error);
  }
  try {
    return { json: JSON.parse(text) };
  } catch {
    // An instance reserves its file at start-up and may end before its load.
    if (text.trim() === '') return { foreign: 'empty: its instance ended before its load' };
    // Cut by a full disk or an interrupted copy.
    const isOurs = text.slice(0, 200).includes('"evm-stress/run@');
    return isOurs ? { damage: 'it is not valid JSON: cut, or still being copied' } : { foreign: 'not valid JSON' };
  }
}

/** @param {string} file */
function startOf(file) {
  const start = Buffer.alloc(64);
  const fd = openSync(file, 'r');
  const length = readSync(fd, start);
  closeSync(fd);
  return start.subarray(0, length);
}

/** @param {Buffer} start */
function isGzip(start) {
  return start[0] === 0x1f && start[1] === 0x8b;
}

/** @param {AsyncIterable<Buffer>} stream @param {string} name @param {Spool} spool @returns {Promise<Source[]>} */
async function logSources(stream, name, spool) {
  const sources = [];
  for await (const line of resultLines(stream)) {
    const { id, runId, index, gzip, bytes, sha256, damage } = line;
    const place = gzip === null ? null : spool.add(gzip);
    const shown = `the result${index === null ? '' : ` of instance ${index}`} in ${name}`;
    sources.push({
      name: shown,
      isGiven: true,
      index,
      id,
      runId,
      read: () =>
        place === null ? { damage: damage ?? '' } : readLine({ gzip: spool.read(place), bytes, sha256 }, id),
    });
  }
  return sources;
}

/** @param {{gzip: Buffer, bytes: number, sha256: string}} line @param {string | null} id @returns {Found} */
function readLine(line, id) {
  try {
    const json = unpack(line);
    return json?.id === id ? { json } : { damage: 'its run file is another' };
  } catch (error) {
    return { damage: error instanceof Error ? error.message : String(error) };
  }
}

/** Standard input: logs or one run file. @param {NodeJS.ReadableStream} stdin @param {Spool} spool @returns {Promise<Source[]>} */
async function standardInput(stdin, spool) {
  /** @type {Buffer[]} */
  let kept = [];
  let length = 0;
  // Kept in case the input is a run file without result lines.
  async function* keepChunks() {
    for await (const chunk of stdin) {
      const bytes = Buffer.from(chunk);
      length += bytes.length;
      if (length <= MOST_BYTES) kept.push(bytes);
      else kept = [];
      yield bytes;
    }
  }
  const lines = await logSources(keepChunks(), 'standard input', spool);
  if (lines.length > 0) return lines;
  const text = Buffer.concat(kept);
  if (isGzip(text)) throw new InputError('standard input is compressed: zcat FILE | stress merge -');
  if (!text.subarray(0, 64).toString('latin1').trimStart().startsWith('{'))
    throw new InputError('standard input has no STRESS_RESULT line in it, and is no run file');
  const read = () => {
    try {
      return { json: JSON.parse(text.toString('utf8')) };
    } catch {
      return { damage: 'it is not valid JSON' };
    }
  };
  return [{ name: 'standard input', isGiven: true, index: null, id: null, runId: null, read }];
}
