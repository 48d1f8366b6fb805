import { close, createWriteStream, ftruncate, open, write } from 'node:fs';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { OutputError } from './errors.js';
import { FILE_MODE, cannotWrite, checkWritable } from './files.js';

/**
 * @import { Closed } from './contracts/output.d.ts'
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

/** @type {(text: string, options: {level: number}) => Promise<Buffer>} */
const pack = promisify(gzip);

/**
 * A file that grows line by line during the load without slowing it; with .gz at the end of its name it is compressed:
 * each piece is a member of its own (RFC 1952), so that the file can be unpacked at any length at which a piece ends.
 * Waiting data is bounded: lines beyond the bound are dropped, and all lines after a failed write, which ends the file
 * with a whole line. On a full disk lines wait until there is room.
 */
export class BoundedFile {
  #text = '';
  /** Characters of each line of it. @type {number[]} */
  #lines = [];
  #given = 0;
  #written = 0;
  /** Characters of pieces that are neither written nor lost. */
  #waiting = 0;
  /** Bytes of the file, and how many of them are whole lines. */
  #length = 0;
  #whole = 0;
  /** The written part of a piece that does not fit. @type {Buffer[]} */
  #part = [];
  /** Lines of the pieces that the stream has, the oldest first. @type {number[][]} */
  #pieces = [];
  /** @type {Writable | null} */
  #stream = null;
  /** Settles when all pieces are compressed. @type {Promise<void>} */
  #packed = Promise.resolve();
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
    const stream = createWriteStream(this.file, { mode: FILE_MODE, fs: { open, write: this.#write, close } });
    this.#stream = stream;
    this.#ended = finished(stream).catch((error) => {
      // close() ends a write that hangs.
      if (!/^ERR_STREAM_/.test(error.code)) this.#error = cannotWrite(this.file, error);
    });
    this.#put(header, []);
  }

  /** @param {string} text @param {number[]} lines characters of each that counts */
  #put(text, lines) {
    this.#waiting += text.length;
    /** @param {string | Buffer} bytes */
    const give = (bytes) => {
      this.#pieces.push(lines);
      this.#stream?.write(bytes, (error) => {
        this.#waiting -= text.length;
        this.#pieces.shift();
        this.#part = [];
        if (error) return;
        this.#written += lines.length;
        this.#whole = this.#length;
      });
    };
    if (!this.#isPacked) return give(text);
    this.#packed = this.#packed.then(async () => give(await pack(text, { level: 1 })));
  }

  get #isPacked() {
    return this.file.endsWith('.gz');
  }

  /**
   * As fs.write(), but where the disk is full it waits for room until the file is closed.
   * @param {number} fd @param {Buffer} buffer @param {number} offset @param {number} length
   * @param {number | null} position @param {(error: Error | null, count?: number, buffer?: Buffer) => void} callback
   */
  #write = (fd, buffer, offset, length, position, callback) => {
    /** @param {NodeJS.ErrnoException | null} error @param {number} count of bytes that were written */
    const done = (error, count) => {
      if (error === null) {
        this.#length += count;
        if (count < length) this.#part.push(buffer.subarray(offset, offset + count));
        return callback(null, count, buffer);
      }
      if (this.#closing !== null || !FULL.includes(error.code ?? '')) {
        this.#keepWholeLines();
        return ftruncate(fd, this.#whole, () => callback(error));
      }
      const { message } = cannotWrite(this.file, error);
      if (!this.#hasWarned) this.#warn(`${message}; lines wait until there is room`);
      this.#hasWarned = true;
      setTimeout(() => this.#write(fd, buffer, offset, length, position, callback), RETRY_MS);
    };
    write(fd, buffer, offset, length, position, done);
  };

  /** Counts what a failed write leaves in the file: whole lines of a piece, or nothing of a compressed one. */
  #keepWholeLines() {
    if (this.#isPacked || this.#part.length === 0) return;
    const text = String(Buffer.concat(this.#part));
    let chars = 0;
    for (const line of this.#pieces[0]) {
      if (chars + line > text.length) break;
      chars += line;
      this.#written += 1;
    }
    this.#whole += Buffer.byteLength(text.slice(0, chars));
  }

  /** @param {string} line with its end */
  add(line) {
    this.#given += 1;
    this.#text += line;
    this.#lines.push(line.length);
    if (this.#text.length >= PIECE_CHARS) this.cut();
  }

  /** Writes the waiting lines now. */
  cut() {
    const [text, lines, stream] = [this.#text, this.#lines, this.#stream];
    [this.#text, this.#lines] = ['', []];
    if (lines.length === 0 || stream === null || !stream.writable) return;
    if (this.#waiting + text.length > this.boundBytes) return;
    this.#put(text, lines);
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
    const ended = this.#packed.then(() => {
      this.#stream?.end();
      return this.#ended;
    });
    await Promise.race([ended, sleep(this.patienceMs, null, { ref: false })]);
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
