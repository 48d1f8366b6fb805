import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { OutputError } from '../errors.js';
import { FILE_MODE, cannotWrite, checkWritable } from '../files.js';

/** @import { FileHandle } from 'node:fs/promises' */

const compress = promisify(gzip);

/** Characters of a piece that is written at once. */
const PIECE_CHARS = 64 * 1024;

/** Limit of waiting characters. */
const BOUND_BYTES = 16 * 1024 * 1024;

/** Time limit for writing the rest at the end. */
const PATIENCE_MS = 5000;

/** Time until a write to something that accepted no data, such as a stopped terminal, is repeated. */
const RETRY_MS = 20;

/** Writes to terminals and pipes must not block, because a hanging write would keep the process from ending. */
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | (constants.O_NONBLOCK ?? 0);

/**
 * A file that grows line by line during the load without slowing it. Waiting data is bounded, and lines beyond the
 * bound are dropped; after a failed write all lines are. Each line is in the file or counted as dropped.
 *
 * In a .gz file each piece is a gzip member, so that the file can be unpacked however the run ended.
 */
export class BoundedFile {
  #text = '';
  #lines = 0;
  #given = 0;
  #written = 0;
  /** Characters that wait to be written. */
  #waiting = 0;
  /** Length of complete pieces in the file. */
  #sizeBytes = 0;
  /** @type {FileHandle | null} */
  #handle = null;
  /** Pieces are written one after the other. @type {Promise<void>} */
  #writing = Promise.resolve();
  #isOver = false;
  /** Why nothing more can be written. @type {OutputError | null} */
  #error = null;

  /** @param {string} file @param {{isWhole?: boolean, boundBytes?: number, patienceMs?: number}} [limits] isWhole: a missing line is an error */
  constructor(file, { isWhole = false, boundBytes = BOUND_BYTES, patienceMs = PATIENCE_MS } = {}) {
    this.file = file;
    this.isWhole = isWhole;
    this.boundBytes = boundBytes;
    this.patienceMs = patienceMs;
  }

  /** Lines that are not in the file, including waiting ones. */
  get dropped() {
    return this.#given - this.#written;
  }

  /** Checks that the file can be written; its content stays until the load begins. @throws {OutputError} */
  check() {
    return checkWritable(this.file);
  }

  /** Empties the file. @param {string} header */
  begin(header) {
    this.#push(header, 0);
  }

  /** @param {string} line with its end */
  add(line) {
    this.#given += 1;
    if (this.#isOver) return;
    this.#text += line;
    this.#lines += 1;
    if (this.#text.length >= PIECE_CHARS) this.cut();
  }

  /** Writes the waiting lines now. */
  cut() {
    if (this.#lines > 0 && this.#waiting + this.#text.length <= this.boundBytes) this.#push(this.#text, this.#lines);
    this.#text = '';
    this.#lines = 0;
  }

  /** Waits until all is written, as long as its patience lasts; then the rest is dropped. @returns {Promise<number>} lines dropped so far */
  async settle() {
    await this.#isHanging();
    return this.dropped;
  }

  async #isHanging() {
    this.cut();
    const waiting = new AbortController();
    const late = sleep(this.patienceMs, true, waiting).catch(() => false);
    const isHanging = await Promise.race([this.#writing.then(() => false), late]);
    waiting.abort();
    this.#isOver ||= isHanging;
    return isHanging;
  }

  /** Why it could not be written, or lines are missing in a file that must be whole. @returns {OutputError | null} */
  get error() {
    if (this.#error !== null || !this.isWhole || this.dropped === 0) return this.#error;
    return new OutputError(`cannot write ${this.file}: some data was not accepted`);
  }

  /** @throws {OutputError} */
  async finish() {
    await this.close();
    if (this.error !== null) throw this.error;
  }

  /** The members that all outputs of lines share. */
  get members() {
    return {
      open: () => this.check(),
      interval: () => this.cut(),
      settle: async () => {
        const samplesDropped = await this.settle();
        return { ...(this.isWhole ? {} : { samplesDropped }), error: this.error };
      },
      finish: () => this.finish(),
      close: () => this.close(),
    };
  }

  /** Writes the rest as far as possible, and never throws. */
  async close() {
    const isHanging = await this.#isHanging();
    this.#isOver = true;
    const handle = this.#handle;
    this.#handle = null;
    const closed = this.#writing.then(() => handle?.close());
    const noted = closed.catch((error) => void (this.#error ??= cannotWrite(this.file, error)));
    // A hanging write would delay the end as well.
    if (!isHanging) await noted;
  }

  /** @param {string} text @param {number} lines */
  #push(text, lines) {
    this.#waiting += text.length;
    this.#writing = this.#writing.then(() => this.#write(text, lines)).catch((error) => this.#fail(error));
  }

  /** @param {string} text @param {number} lines */
  async #write(text, lines) {
    if (this.#isOver) return;
    const handle = (this.#handle ??= await open(this.file, FLAGS, FILE_MODE));
    const bytes = this.file.endsWith('.gz') ? await compress(text, { level: 1 }) : Buffer.from(text);
    for (let from = 0; from < bytes.length && !this.#isOver;) {
      try {
        from += (await handle.write(bytes, from)).bytesWritten;
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EAGAIN') throw error;
        await sleep(RETRY_MS);
      }
    }
    if (this.#isOver) return this.#cutOff();
    this.#sizeBytes += bytes.length;
    this.#written += lines;
    this.#waiting -= text.length;
  }

  /** @param {unknown} error */
  async #fail(error) {
    this.#error = cannotWrite(this.file, error);
    this.#isOver = true;
    await this.#cutOff();
  }

  /** The file ends with a whole line. Devices cannot be cut. */
  async #cutOff() {
    await this.#handle?.truncate(this.#sizeBytes).catch(() => {});
  }
}
