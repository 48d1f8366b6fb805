import { writeFileAtomically } from '../files.js';
import { runPage } from './run-page.js';

/**
 * @import { Output } from '../types.d.ts'
 * @import { OptionFacts } from './repeat.js'
 */

/**
 * Writes the page of the run to a file when the run is over.
 * @param {{file: string, options: readonly OptionFacts[]}} how options: all, for
 *   the command line of the run
 * @returns {Output}
 */
export function createReportOutput({ file, options }) {
  return {
    notice: () => {},
    wantsSamples: false,
    sample: () => {},
    interval: () => {},
    finish: (run) => writeFileAtomically(file, runPage(run, { options })),
  };
}
