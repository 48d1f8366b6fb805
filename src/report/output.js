import { writeFileAtomically } from '../files.js';
import { runPage } from './run-page.js';

/**
 * The page of the run as a file, when it is over.
 * @param {{file: string, options: readonly import('./repeat.js').OptionFacts[]}} how options: all that there are, to say
 *   how to repeat the run
 * @returns {import('../output/index.js').Output}
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
