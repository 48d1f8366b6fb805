import { writeFileAtomically } from '../files.js';
import { runPage } from './run-page.js';
import { Output } from '../outputs/output.js';

/** @import { OutputOptions } from '../outputs/output.js' */

/** Writes the page of the run to a file when the run is over. @param {OutputOptions} options */
export function createReportOutput({ html, options }) {
  return new Output({
    finish: (run) => writeFileAtomically(/** @type {string} */ (html), runPage(run, { options })),
  });
}
