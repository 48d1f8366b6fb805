import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';

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
