import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { InputError, displayName } from '../errors.js';

/**
 * The sources of a merge: run files in folders, and result lines in logs of a cluster without shared storage. Logs may
 * have other lines in between and a prefix by kubectl, srun or a log collector.
 *
 * @typedef {object} Found one of its members
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
 * @property {() => Found} read can be repeated; a change in between is damage
 */

const MARKER = 'STRESS_RESULT ';
const STDIN = '-';

/** A run file of 2,000 intervals has about 16 MB. */
const MOST_BYTES = 64 * 2 ** 20;
/** Limit of a line, for a run file that does not compress: base64 adds a third. */
const LONGEST_LINE = 96 * 2 ** 20;
/** Above the number of instances, with some attempts each. */
const MAX_SOURCES = 200_000;

/**
 * @param {readonly string[]} names of folders, run files and logs; '-' for standard input
 * @param {NodeJS.ReadableStream} stdin
 * @returns {Promise<Source[]>}
 */
export async function findSources(names, stdin) {
  /** @type {Source[]} */
  const sources = [];
  for (const name of names) {
    for (const source of name === STDIN ? await standardInput(stdin) : await sourcesOf(name)) sources.push(source);
    if (sources.length > MAX_SOURCES) throw new InputError(`there are more than ${MAX_SOURCES} run files`);
  }
  return sources;
}

/** @param {string} name @returns {Promise<Source[]>} */
async function sourcesOf(name) {
  const stats = statSync(name, { throwIfNoEntry: false });
  if (stats === undefined) throw new InputError(`cannot read ${displayName(name)}: there is no such file or folder`);
  if (stats.isDirectory()) {
    const found = reading(`the folder ${displayName(name)}`, () => readdirSync(name, { withFileTypes: true }));
    const files = found.filter((entry) => entry.name.endsWith('.json') && !entry.isDirectory());
    return files.map((entry) => fileSource(join(name, entry.name), false)).sort((a, b) => (a.name < b.name ? -1 : 1));
  }
  if (!stats.isFile()) throw new InputError(`${displayName(name)} is neither a file nor a folder`);
  const shown = displayName(name);
  const lines = name.endsWith('.json')
    ? []
    : await logSources(createReadStream(name), shown).catch((error) => unreadable(shown, error));
  return lines.length > 0 ? lines : [fileSource(name, true)];
}

/** @template T @param {string} what @param {() => T} read @returns {T} */
function reading(what, read) {
  try {
    return read();
  } catch (error) {
    return unreadable(what, error);
  }
}

/** @param {string} what @param {unknown} error @returns {never} */
function unreadable(what, error) {
  throw new InputError(`cannot read ${what}: ${/** @type {NodeJS.ErrnoException} */ (error).code}`, error);
}

/** @param {string} file @param {boolean} isGiven @returns {Source} */
function fileSource(file, isGiven) {
  /** @type {string | null} */
  let version = null;
  const read = () => {
    const stats = statSync(file, { throwIfNoEntry: false });
    const now = `${stats?.mtimeMs} ${stats?.size} ${stats?.ino}`;
    // The second reading relies on the checks of the first.
    if (version !== null && now !== version) return { damage: 'it was changed while it was read' };
    version = now;
    if (stats?.isFile() !== true) return { foreign: 'not a file' };
    if (stats.size > MOST_BYTES) return { foreign: 'larger than any run file' };
    return parsed(reading(displayName(file), () => readFileSync(file)));
  };
  return { name: displayName(file), isGiven, index: null, id: null, runId: null, read };
}

/** @param {Buffer} bytes @returns {Found} */
function parsed(bytes) {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return { foreign: 'compressed: zcat FILE | stress merge -' };
  const text = bytes.toString('utf8');
  try {
    return { json: JSON.parse(text) };
  } catch {
    // An instance reserves its file at start-up and may end before its load.
    if (text.trim() === '') return { foreign: 'empty: its instance ended before its load' };
    // Cut by a full disk or an interrupted copy.
    const isOurs = text.slice(0, 200).includes('"evm-stress/run@');
    if (isOurs) return { damage: 'it is not valid JSON: cut, or still being copied' };
    return { foreign: 'no run file, and no log with a STRESS_RESULT line in it' };
  }
}

/** Standard input: logs or one run file. @param {NodeJS.ReadableStream} stdin @returns {Promise<Source[]>} */
async function standardInput(stdin) {
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
  const lines = await logSources(keepChunks(), 'standard input');
  if (lines.length > 0) return lines;
  const found = parsed(Buffer.concat(kept));
  return [{ name: 'standard input', isGiven: true, index: null, id: null, runId: null, read: () => found }];
}

/** Results stay compressed in memory, because standard input cannot be read twice. @param {AsyncIterable<Buffer>} stream @param {string} name */
async function logSources(stream, name) {
  /** @type {Source[]} */
  const sources = [];
  for await (const { id, runId, index, read } of resultLines(stream)) {
    const shown = `the result${index === null ? '' : ` of instance ${index}`} in ${name}`;
    sources.push({ name: shown, isGiven: true, index, id, runId, read });
  }
  return sources;
}

/** @param {AsyncIterable<Buffer>} stream @returns {AsyncGenerator<Pick<Source, 'id' | 'runId' | 'index' | 'read'>>} */
export async function* resultLines(stream) {
  for await (const { line, isCut } of linesOf(stream)) {
    if (!line.includes(MARKER)) continue;
    // A line may begin with a part of another process's line: each marker starts a new result.
    const [before, ...texts] = line.toString('latin1').split(MARKER);
    for (const text of texts) {
      const [json] = /^\{\S+/.exec(text) ?? [];
      if (json !== undefined) yield resultOf(json, isCut ? 'it is too long' : foreignForm(before, text));
    }
  }
}

/** Log files of container runtimes split or escape long lines. @param {string} before the marker @param {string} text behind it */
function foreignForm(before, text) {
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

/** @param {string} text JSON of a line, and more @param {string | null} damage */
function resultOf(text, damage) {
  const words = text.replaceAll('\\"', '"');
  const [, index] = /"index":(\d{1,6})\b/.exec(words) ?? [];
  const [, runId] = /"runId":"([\w.-]{1,63})"/.exec(words) ?? [];
  const [, id] = /"id":"([0-9a-f-]{36})"/.exec(words) ?? [];
  const known = { id: id ?? null, runId: runId ?? null, index: index === undefined ? null : Number(index) };
  if (damage !== null) return { ...known, read: () => ({ damage }) };
  try {
    const { schema, bytes, sha256, gzip } = JSON.parse(text);
    if (schema !== 'evm-stress/result@1') throw new Error('its schema is not evm-stress/result@1');
    const packed = Buffer.from(String(gzip), 'base64');
    return { ...known, read: () => unpacked(packed, { bytes, sha256, id: known.id }) };
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is cut or mixed with another' : /** @type {Error} */ (error).message;
    return { ...known, read: () => ({ damage: why }) };
  }
}

/** @param {Buffer} packed @param {{bytes: unknown, sha256: unknown, id: string | null}} stated @returns {Found} */
function unpacked(packed, { bytes, sha256, id }) {
  const length = Number(bytes);
  if (!(length >= 0 && length <= MOST_BYTES)) return { damage: `its run file would have ${bytes} bytes` };
  let text;
  try {
    // Stops at the stated length.
    text = gunzipSync(packed, { maxOutputLength: Math.max(1, length) });
  } catch {
    return { damage: 'its run file cannot be decompressed' };
  }
  if (text.length !== length) return { damage: `its run file has ${text.length} bytes, not ${length}` };
  if (createHash('sha256').update(text).digest('hex') !== sha256) return { damage: 'its run file has another sha256' };
  const json = JSON.parse(text.toString('utf8'));
  return json?.id === id ? { json } : { damage: 'its run file is another' };
}
