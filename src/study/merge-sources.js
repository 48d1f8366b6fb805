import { closeSync, createReadStream, openSync, readSync, readdirSync, statSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InputError, displayName } from '../errors.js';
import { MOST_BYTES, resultLines, unpacked } from './result-lines.js';
import { Spool } from './spool.js';

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
