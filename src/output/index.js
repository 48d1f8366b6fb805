import { createJsonOutput } from './json.js';
import { createTextOutput } from './text.js';

/**
 * An output shows or keeps what a run reports. It decides nothing.
 *
 * @typedef {object} Totals of the run so far
 * @property {number} attempts
 * @property {number} verified
 * @property {number | null} runTps verified operations per second since the start; null for the drain
 *
 * @typedef {object} Output
 * @property {(line: string) => void} notice one line worth knowing
 * @property {boolean} wantsSamples false: it does nothing with them, so that they need not be brought to it
 * @property {(sample: import('../metrics/sample.js').Sample) => void} sample called for every iteration: cheap
 * @property {(row: import('../metrics/intervals.js').IntervalRow, totals: Totals) => void} interval
 * @property {(run: import('../metrics/summary.js').RunFile) => void | Promise<void>} finish
 *
 * @typedef {object} OutputOptions
 * @property {NodeJS.WritableStream} stream for text
 * @property {boolean} verbose each verified operation on a line
 * @property {boolean} explain the definition of each figure after the summary
 * @property {string | null} out where the run file goes; '-' for standard output
 */

/** @type {Record<string, (options: OutputOptions) => Output>} */
export const outputs = {
  text: createTextOutput,
  json: createJsonOutput,
};
