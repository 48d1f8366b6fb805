import { writeFileAtomically } from '../files.js';
import { runPage } from './run-page.js';

/**
 * @import { Output } from '../types.d.ts'
 * @import { OptionFacts } from './repeat.js'
 */

/**
 * The page of the run as a file, when it is over.
 * @param {{file: string, options: readonly OptionFacts[]}} how options: all that there are, to say
 *   how to repeat the run
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
