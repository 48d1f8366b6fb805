import { styleText } from 'node:util';

/**
 * @import * as Contract from '../contracts/output.d.ts'
 * @import { Screen } from '../contracts/output.d.ts'
 */

/**
 * What a stream can show: colours, and lines of a limited width on a terminal.
 *
 * @typedef {'red' | 'green' | 'yellow' | 'bold' | 'dim'} Style
 * @typedef {(style: Style, text: string) => string} Paint text without control characters, see printable()
 */

/** For files and pages. @type {Paint} */
export const noPaint = (_, text) => text;

/** Assumed where the terminal does not know its width. */
const USUAL_COLUMNS = 80;

/** Erases the line. */
const ERASE = '\u001b[2K\r';

/** NO_COLOR wins; FORCE_COLOR also works without a terminal. @param {Screen} stream @returns {Paint} */
export function paintOf(stream) {
  return process.env.NO_COLOR ? noPaint : (style, text) => styleText(style, text, { stream });
}

/** @param {Screen} stream @returns {number} characters of a line; infinite without a terminal */
export function columnsOf({ isTTY, columns }) {
  return isTTY === true ? columns || USUAL_COLUMNS : Infinity;
}

/** @param {Screen} stream @returns {[paint: Paint, columns: number]} */
export function screenFormat(stream) {
  return [paintOf(stream), columnsOf(stream)];
}

/**
 * A line at the bottom of the terminal that is rewritten. Each OutputStream of the process erases it before it writes.
 * @implements {Contract.StatusLine}
 */
export class StatusLine {
  #stream;
  #isShown = false;

  /** @param {Screen} stream @param {NodeJS.ProcessEnv} [env] */
  constructor(stream, env = process.env) {
    this.#stream = stream;
    this.isPossible = stream.isTTY === true && env.TERM !== 'dumb';
  }

  /** @param {string} text one line; the rest is cut off */
  show(text) {
    // Output to a stopped terminal (Ctrl-S) would pile up.
    if (!this.isPossible || this.#stream.writableLength) return;
    this.#stream.write(`${ERASE}${text.slice(0, columnsOf(this.#stream) - 1)}`);
    this.#isShown = true;
  }

  erase() {
    if (this.#isShown) this.#stream.write(ERASE);
    this.#isShown = false;
  }
}
