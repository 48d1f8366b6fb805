import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { InputError, displayName } from '../errors.js';

/**
 * The sources of a merge: run files in folders, and result lines in logs of a cluster without shared storage. Logs may
 * have other lines in between and a prefix by kubectl, srun or a log collector, but no escaped lines.
 *
 * @typedef {object} ReadFile one of its members
 * @property {any} [json] possibly a run file
 * @property {string} [damage] what is wrong with a run file
 * @property {string} [foreign] what the source is instead
 *
 * @typedef {object} Source
 * @property {string} name for messages
 * @property {boolean} isGiven named by the user, not found in a folder
 * @property {number | null} index of the instance, if known without reading, as are the two below
 * @property {string | null} id of the run file
 * @property {string | null} runId
 * @property {() => ReadFile} read can be repeated
 */

const MARKER = 'STRESS_RESULT ';
const STDIN = '-';

/** A run file of 2,000 intervals has about 16 MB. */
const MOST_BYTES = 64 * 2 ** 20;

/**
 * @param {readonly string[]} names of folders, run files and logs; '-' for standard input
 * @param {AsyncIterable<string | Buffer>} stdin
 * @returns {Promise<Source[]>}
 */
export async function findSources(names, stdin) {
  const found = [];
  for (const name of names)
    found.push(name === STDIN ? await sourcesIn(stdin, 'standard input') : await sourcesOf(name));
  return found.flat();
}

/** @param {string} name @returns {Promise<Source[]>} */
async function sourcesOf(name) {
  const shown = displayName(name);
  try {
    const stats = statSync(name, { throwIfNoEntry: false });
    if (stats === undefined) throw new InputError(`cannot read ${shown}: there is no such file or folder`);
    if (stats.isDirectory()) {
      const files = readdirSync(name, { withFileTypes: true }).filter((entry) => !entry.isDirectory());
      const run = files.map((entry) => entry.name).filter((file) => file.endsWith('.json'));
      return run.sort().map((file) => fileSource(join(name, file), false));
    }
    if (!stats.isFile()) throw new InputError(`${shown} is neither a file nor a folder`);
    return name.endsWith('.json') ? [fileSource(name, true)] : await sourcesIn(createReadStream(name), shown);
  } catch (error) {
    throw unreadable(shown, error);
  }
}

/** @param {string} what @param {unknown} error */
function unreadable(what, error) {
  if (error instanceof InputError) return error;
  return new InputError(`cannot read ${what}: ${/** @type {NodeJS.ErrnoException} */ (error).code}`, error);
}

/** @param {string} name @param {boolean} isGiven @param {() => ReadFile} read @returns {Source} */
function sourceOf(name, isGiven, read) {
  return { name, isGiven, index: null, id: null, runId: null, read };
}

/** @param {string} file @param {boolean} isGiven */
function fileSource(file, isGiven) {
  return sourceOf(displayName(file), isGiven, () => {
    try {
      const stats = statSync(file, { throwIfNoEntry: false });
      // Reading a pipe may never end, and cannot be interrupted.
      const isReadable = stats?.isFile() === true && stats.size <= MOST_BYTES;
      return parsed(isReadable ? readFileSync(file, 'utf8') : '');
    } catch (error) {
      throw unreadable(displayName(file), error);
    }
  });
}

/** @param {string} text @returns {ReadFile} */
function parsed(text) {
  try {
    return { json: JSON.parse(text) };
  } catch {
    // Cut by a full disk or an interrupted copy.
    return text.slice(0, 200).includes('"evm-stress/run@')
      ? { damage: 'it is not valid JSON: cut, or still being copied' }
      : { foreign: 'no run file, and no log with a STRESS_RESULT line in it' };
  }
}

/**
 * The result lines of a log, or its whole text as a run file. Results stay compressed in memory, because standard input
 * cannot be read twice.
 * @param {AsyncIterable<string | Buffer>} stream
 * @param {string} name
 * @returns {Promise<Source[]>}
 */
async function sourcesIn(stream, name) {
  /** @type {Source[]} */
  const sources = [];
  let text = '';
  for await (const line of linesOf(stream)) {
    for (const { index, ...result } of resultsIn(line)) {
      const shown = `the result${index === null ? '' : ` of instance ${index}`} in ${name}`;
      sources.push({ name: shown, isGiven: true, index, ...result });
    }
    if (sources.length === 0 && text.length < MOST_BYTES) text += `${line}\n`;
  }
  const found = sources.length > 0 ? {} : parsed(text);
  return sources.length > 0 ? sources : [sourceOf(name, true, () => found)];
}

/** @param {AsyncIterable<string | Buffer>} stream */
async function* linesOf(stream) {
  const decoder = new TextDecoder();
  /** @type {string[]} */
  let pieces = [];
  for await (const chunk of stream) {
    const [first, ...others] = decoder.decode(Buffer.from(chunk), { stream: true }).split('\n');
    pieces.push(first);
    for (const next of others) {
      yield pieces.join('');
      pieces = [next];
    }
  }
  yield pieces.join('');
}

/** A line may begin with a part of another process's line: each marker starts a new result. @param {string} line */
export function resultsIn(line) {
  return line
    .split(MARKER)
    .slice(1)
    .flatMap((text) => {
      const [json] = /^\{\S+/.exec(text) ?? [];
      return json === undefined ? [] : resultOf(json);
    });
}

/** @param {string} text JSON of a line @returns {Pick<Source, 'id' | 'runId' | 'index' | 'read'>} */
function resultOf(text) {
  const [, index] = /"index":(\d{1,6})\b/.exec(text) ?? [];
  const [, runId = null] = /"runId":"([\w.-]{1,63})"/.exec(text) ?? [];
  const [, id = null] = /"id":"([0-9a-f-]{36})"/.exec(text) ?? [];
  const known = { id, runId, index: index === undefined ? null : Number(index) };
  try {
    const { schema, sha256, gzip } = JSON.parse(text);
    if (schema !== 'evm-stress/result@1') throw new Error('of another version');
    const packed = Buffer.from(String(gzip), 'base64');
    return { ...known, read: () => unpacked(packed, sha256, id) };
  } catch {
    return { ...known, read: () => ({ damage: 'it is cut, mixed with another, or of another version' }) };
  }
}

/** @param {Buffer} packed @param {unknown} sha256 @param {string | null} id @returns {ReadFile} */
function unpacked(packed, sha256, id) {
  let text;
  try {
    text = gunzipSync(packed, { maxOutputLength: MOST_BYTES });
  } catch {
    return { damage: 'its run file cannot be decompressed' };
  }
  if (createHash('sha256').update(text).digest('hex') !== sha256) return { damage: 'its run file has another sha256' };
  const json = JSON.parse(text.toString('utf8'));
  return json?.id === id ? { json } : { damage: 'its run file is another' };
}
