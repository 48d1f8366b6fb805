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
 * Run files in the logs of a cluster without shared storage: one line each, with whatever other lines in between, and
 * whatever kubectl, srun or a log collector wrote before it.
 *
 * @typedef {object} ResultLine
 * @property {string | null} id of the run; null where the line is too damaged to say, as are all below
 * @property {string | null} runId
 * @property {number | null} index
 * @property {Buffer | null} gzip the run file, compressed
 * @property {number} bytes of it when it is not
 * @property {string} sha256 of those
 * @property {string | null} damage what is wrong with the line; null: nothing
 */

const MARKER = 'STRESS_RESULT ';

/** A run file of 2,000 intervals has some 16 MB. Whoever writes more did not write a run file. */
export const MOST_BYTES = 64 * 2 ** 20;
/** Of one line: what does not compress becomes a third longer in base64. */
const LONGEST_LINE = 96 * 2 ** 20;

/** @param {AsyncIterable<Buffer>} stream @returns {AsyncGenerator<ResultLine>} */
export async function* resultLines(stream) {
  for await (const { line, isCut } of linesOf(stream)) {
    if (!line.includes(MARKER)) continue;
    // What one process wrote of a line may be in front of what another wrote: each marker begins anew.
    const [before, ...texts] = line.toString('latin1').split(MARKER);
    for (const text of texts) {
      const [json] = /^\{\S+/.exec(text) ?? [];
      const foreign = isCut ? 'it is too long' : formOf(before, text);
      if (json !== undefined) yield foreign === null ? parsed(json) : damaged(json, foreign);
    }
  }
}

/** Files that container runtimes keep for themselves have long lines in pieces. @param {string} before the marker @param {string} text behind it */
function formOf(before, text) {
  if (text.startsWith('{\\"')) return "it is in Docker's own log file: merge what docker logs prints";
  return /^\S+ std(?:out|err) P /.test(before)
    ? "it is in pieces, in a container runtime's own log file: merge what kubectl logs prints"
    : null;
}

/** Of a line no more is kept than the longest there may be. @param {AsyncIterable<Buffer>} stream */
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

/** @param {string} text that begins with the JSON of a line @returns {ResultLine} */
function parsed(text) {
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    return damaged(text, 'it is cut or mixed with another');
  }
  const { schema, id, runId = null, index = null, bytes, sha256, gzip } = json;
  if (schema !== 'evm-stress/result@1') return damaged(text, 'its schema is not evm-stress/result@1');
  const isWhole =
    [id, sha256, gzip].every((value) => typeof value === 'string') &&
    [runId === null || typeof runId === 'string', index === null || isCount(index), isCount(bytes)].every(Boolean);
  if (!isWhole) return damaged(text, 'it does not have what such a line has');
  if (bytes > MOST_BYTES) return damaged(text, `its run file would have ${bytes} bytes`);
  return { id, runId, index, bytes, sha256, gzip: Buffer.from(gzip, 'base64'), damage: null };
}

/** @param {unknown} value */
function isCount(value) {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** @param {string} text @param {string} damage @returns {ResultLine} as far as it can be read */
function damaged(text, damage) {
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
 * @throws {Error} whose message says what is wrong with the line
 */
export function unpacked({ gzip, bytes, sha256 }) {
  let text;
  try {
    // What would become longer than it says is not unpacked to its end.
    text = gunzipSync(gzip, { maxOutputLength: Math.max(1, bytes) });
  } catch {
    throw new Error('its run file cannot be decompressed');
  }
  if (text.length !== bytes) throw new Error(`its run file has ${text.length} bytes, not ${bytes}`);
  if (createHash('sha256').update(text).digest('hex') !== sha256) throw new Error('its run file has another sha256');
  return JSON.parse(text.toString('utf8'));
}

/**
 * What came from a pipe and is read more than once, on the disk instead of in memory. The file has no name from its
 * beginning on, where the system allows that, so that nothing is left behind however this process ends.
 *
 * @typedef {{position: number, length: number}} Place
 */
export class Spool {
  /** @type {{fd: number, folder: string} | null} nothing before there is something to keep */
  #file = null;
  #length = 0;

  /** @param {Buffer} bytes @returns {Place} @throws {OutputError} */
  add(bytes) {
    const folder = this.#file?.folder ?? tmpdir();
    try {
      this.#file ??= opened();
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

function opened() {
  const folder = mkdtempSync(join(tmpdir(), 'stress-merge-'));
  const fd = openSync(join(folder, 'results'), 'w+', 0o600);
  // Windows does not let go of the name of an open file; there it goes in the end.
  if (process.platform !== 'win32') rmSync(folder, { recursive: true, force: true });
  return { fd, folder };
}

/**
 * Where a merge finds its run files: one after the other, so that no more than one is in memory.
 *
 * @typedef {object} Found what reading a source came to: one of the three
 * @property {any} [json] that may be a run file
 * @property {string} [damage] what is wrong with what was one
 * @property {string} [foreign] what it is, if it is no JSON of ours
 *
 * @typedef {object} Source
 * @property {string} name as messages may show it
 * @property {boolean} isGiven by its own name, not found in a folder
 * @property {number | null} index of the instance, where that is known without reading it
 * @property {string | null} id of the run, likewise
 * @property {string | null} runId likewise
 * @property {() => Found} read can be called again, and then finds the same, or that it was changed
 */

/** More files than there may be instances, with some attempts each. */
const MOST_SOURCES = 200_000;
const STDIN = '-';

/**
 * @param {readonly string[]} names of folders, run files and logs; '-' for what comes on standard input
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
      if (sources.length > MOST_SOURCES) throw new InputError(`there are more than ${MOST_SOURCES} run files`);
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
  // A log may have lines of JSON, and even begin with one.
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
    // What is read again was checked the first time, and must be the same still.
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
    // The name that an instance claimed which was killed before its load.
    if (text.trim() === '') return { foreign: 'empty: its instance ended before its load' };
    // A disk that was full, or a copy that was interrupted.
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
    const json = unpacked(line);
    return json?.id === id ? { json } : { damage: 'its run file is another' };
  } catch (error) {
    return { damage: error instanceof Error ? error.message : String(error) };
  }
}

/** Logs, or one run file. @param {NodeJS.ReadableStream} stdin @param {Spool} spool @returns {Promise<Source[]>} */
async function standardInput(stdin, spool) {
  /** @type {Buffer[]} */
  let kept = [];
  let length = 0;
  // What may be a run file is remembered, in case there are no lines with results in it.
  async function* remembered() {
    for await (const chunk of stdin) {
      const bytes = Buffer.from(chunk);
      length += bytes.length;
      if (length <= MOST_BYTES) kept.push(bytes);
      else kept = [];
      yield bytes;
    }
  }
  const lines = await logSources(remembered(), 'standard input', spool);
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
