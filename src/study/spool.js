import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cannotWrite } from '../files.js';

/** @import { OutputError } from '../errors.js' */

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
