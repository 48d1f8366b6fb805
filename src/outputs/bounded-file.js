import { close, createWriteStream, open, write } from 'node:fs';
import { finished, pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, createGzip } from 'node:zlib';
import { OutputError } from '../errors.js';
import { FILE_MODE, cannotWrite, checkWritable } from '../files.js';

/**
 * @import { Closed } from '../contracts/output.d.ts'
 * @import { Writable } from 'node:stream'
 */

/** Characters of a piece that is written at once. */
const PIECE_CHARS = 64 * 1024;

/** Limit of waiting bytes. */
const BOUND_BYTES = 16 * 1024 * 1024;

/** Time limit for writing the rest at the end. */
const PATIENCE_MS = 5000;

/** Errors of a full disk, and the time until the write is tried again. */
const FULL = Object.freeze(['ENOSPC', 'EDQUOT']);
const RETRY_MS = 500;

/**
 * A file that grows line by line during the load without slowing it; with .gz at the end of its name it is compressed.
 * Waiting data is bounded: lines beyond the bound are dropped, and all lines after a failed write. On a full disk lines
 * wait until there is room.
 */
export class BoundedFile {
  #text = '';
  #lines = 0;
  #given = 0;
  #written = 0;
  /** @type {Writable | null} */
  #stream = null;
  /** Settles when the file is closed, by its end or by an error. @type {Promise<void>} */
  #ended = Promise.resolve();
  /** @type {Promise<void> | null} */
  #closing = null;
  /** Why nothing more can be written. @type {OutputError | null} */
  #error = null;

  #hasWarned = false;
  #warn;

  /**
   * @param {string} file
   * @param {{isLossAnError?: boolean, boundBytes?: number, patienceMs?: number, warn?: (words: string) => void}} [limits] isLossAnError: otherwise missing lines
   *   are counted; warn: called at most once
   */
  constructor(file, limits = {}) {
    const { isLossAnError = false, boundBytes = BOUND_BYTES, patienceMs = PATIENCE_MS, warn = () => {} } = limits;
    this.#warn = warn;
    this.file = file;
    this.isLossAnError = isLossAnError;
    this.boundBytes = boundBytes;
    this.patienceMs = patienceMs;
  }

  /** Lines that are not in the file, including waiting ones. */
  get dropped() {
    return this.#given - this.#written;
  }

  /** Empties the file. @param {string} header */
  begin(header) {
    // Without writev() a failed write loses one piece, not all that wait.
    const target = createWriteStream(this.file, { mode: FILE_MODE, fs: { open, write: this.#write, close } });
    const gzip = this.file.endsWith('.gz') ? createGzip({ level: 1, flush: constants.Z_SYNC_FLUSH }) : null;
    this.#stream = gzip ?? target;
    this.#ended = (gzip === null ? finished(target) : pipeline(gzip, target)).catch((error) => {
      // close() ends a write that hangs.
      if (!/^ERR_STREAM_/.test(error.code)) this.#error = cannotWrite(this.file, error);
    });
    this.#stream.write(header);
  }

  /** As fs.write(), but where the disk is full it waits for room until the file is closed. @param {any[]} args */
  #write = (...args) => {
    const [callback] = args.slice(-1);
    /** @param {NodeJS.ErrnoException | null} error @param {...unknown} written */
    const done = (error, ...written) => {
      if (this.#closing !== null || !FULL.includes(error?.code ?? '')) return callback(error, ...written);
      const { message } = cannotWrite(this.file, error);
      if (!this.#hasWarned) this.#warn(`${message}; lines wait until there is room`);
      this.#hasWarned = true;
      setTimeout(() => this.#write(...args), RETRY_MS);
    };
    Reflect.apply(write, null, [...args.slice(0, -1), done]);
  };

  /** @param {string} line with its end */
  add(line) {
    this.#given += 1;
    this.#text += line;
    this.#lines += 1;
    if (this.#text.length >= PIECE_CHARS) this.cut();
  }

  /** Writes the waiting lines now. */
  cut() {
    const [text, lines, stream] = [this.#text, this.#lines, this.#stream];
    [this.#text, this.#lines] = ['', 0];
    if (lines === 0 || stream === null || !stream.writable) return;
    if (stream.writableLength + text.length > this.boundBytes) return;
    stream.write(text, (error) => {
      if (!error) this.#written += lines;
    });
  }

  /** Why it could not be written, or lines are missing in a file that must be whole. @returns {OutputError | null} */
  get error() {
    if (this.#error !== null || !this.isLossAnError || this.dropped === 0) return this.#error;
    return new OutputError(`cannot write ${this.file}: some data was not accepted`);
  }

  /** Writes the rest, as long as its patience lasts, and never throws. @returns {Promise<Closed>} */
  async close() {
    this.#closing ??= this.#end();
    await this.#closing;
    return { ...(this.isLossAnError ? {} : { samplesDropped: this.dropped }), error: this.error };
  }

  async #end() {
    this.cut();
    this.#stream?.end();
    await Promise.race([this.#ended, sleep(this.patienceMs, null, { ref: false })]);
    this.#stream?.destroy();
  }

  /** The members that all outputs of lines share. */
  get members() {
    return {
      open: () => checkWritable(this.file),
      interval: () => this.cut(),
      close: () => this.close(),
    };
  }
}
