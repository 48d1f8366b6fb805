import { createWriteStream, fstatSync } from 'node:fs';
import { hangingIndent } from '../text.js';
import { StatusLine, columnsOf } from './terminal.js';

/**
 * @import { OutputConfig } from '../contracts/output.d.ts'
 * @import * as Contract from '../contracts/output.d.ts'
 * @import { Stats } from 'node:fs'
 * @import { Writable } from 'node:stream'
 */

/** Limit of unread characters: more than 10,000 lines. */
const BOUND_CHARS = 1 << 20;

/**
 * A text stream that never blocks this thread and is bounded. Optional lines are dropped and counted while too much
 * waits; required lines always wait.
 * @implements {Contract.OutputStream}
 */
export class OutputStream {
  #dropped = 0;
  #status;

  /** @param {Writable} stream whose writes do not block @param {StatusLine | null} [status] erased before a line is written */
  constructor(stream, status = null) {
    this.stream = stream;
    this.#status = status;
    stream.on('error', ignore);
  }

  /** A line that may be missing while nothing is read. @param {string} line without its end */
  offer(line) {
    if (this.stream.writableLength > BOUND_CHARS) this.#dropped += 1;
    else this.write(`${line}\n`);
  }

  /** @param {string} text that is never dropped */
  write(text) {
    const gap =
      this.#dropped === 0
        ? ''
        : `... ${this.#dropped.toLocaleString('en-US')} lines dropped: the output was not read\n`;
    this.#dropped = 0;
    this.#status?.erase();
    this.stream.write(gap + text);
  }

  /** @returns {Promise<void>} when nothing waits, or nothing can be written any more */
  async written() {
    if (this.stream.writableLength > 0) await new Promise((resolve) => void this.stream.write('', resolve));
  }
}

/** The reader of a pipe may have ended. src/cli/main.js decides whether that ends the run. */
const ignore = () => {};

/** @param {number} fd */
export function fileStream(fd) {
  return createWriteStream('', { fd, autoClose: false });
}

/**
 * Node.js writes to terminals and files synchronously, so that a stopped terminal (Ctrl-S) or a hanging disk would stop
 * the load. Handles of terminals and pipes can be set to non-blocking.
 * @param {NodeJS.WriteStream & {_handle?: {setBlocking?: (isBlocking: boolean) => unknown}}} standard
 * @param {number} fd
 */
function withoutBlocking(standard, fd) {
  // Workload files may print as well.
  standard.on('error', ignore);
  if (standard._handle?.setBlocking === undefined) return fileStream(fd);
  standard._handle.setBlocking(false);
  return standard;
}

/** On standard error, which is a terminal also where the results go to a file. */
export const status = new StatusLine(process.stderr);

export const stdout = new OutputStream(withoutBlocking(process.stdout, 1), status);

/** If both go to one file (> log 2>&1), one stream keeps the order of lines. */
export const stderr =
  stdout.stream !== process.stdout && isOneFile(fstatSync(1), fstatSync(2))
    ? stdout
    : new OutputStream(withoutBlocking(process.stderr, 2), status);

/** @param {Stats} a @param {Stats} b */
function isOneFile(a, b) {
  return a.dev === b.dev && a.ino === b.ino;
}

/** Standard output, unless a program reads it. @param {Pick<OutputConfig, 'out' | 'intervals'>} config @returns {OutputStream} */
export function streamForPeople({ out, intervals }) {
  return out === '-' || intervals === '-' ? stderr : stdout;
}

/** @param {Pick<OutputConfig, 'out' | 'intervals' | 'quiet'>} config @param {string} text printable */
export function say(config, text) {
  if (config.quiet) return;
  const stream = streamForPeople(config);
  const columns = columnsOf(stream.stream);
  // The length of a line with colours is not known.
  const fitting = text.includes('\u001b') ? [text] : text.split('\n').map((line) => hangingIndent(line, columns));
  stream.write(`${fitting.join('\n')}\n`);
}
