import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { InputError, UsageError, displayName } from '../errors.js';
import { summaryText } from '../output/summary.js';
import { renderCompare } from '../report/compare-page.js';
import { runPage } from '../report/run-page.js';
import { renderRuns } from '../report/runs-page.js';
import { renderSweep } from '../report/sweep-page.js';
import { readCompare } from '../study/compare-file.js';
import { compareText } from '../study/compare-text.js';
import { COMPARE_SCHEMA } from '../study/compare.js';
import { schemaOf } from '../study/document.js';
import { legible, runFileReader } from '../study/run-file.js';
import { SWEEP_SCHEMA, readSweep } from '../study/sweep-file.js';
import { sweepText } from '../study/sweep-text.js';
import { OPTIONS } from './options.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Config } from '../run/config.js'
 * @import { Comparison } from '../study/compare.js'
 * @import { SweepFile } from '../study/sweep-file.js'
 */

/** Where studies say what they found. */
const RESULTS = Object.freeze(['sweep.json', 'compare.json']);

/**
 * What stress report says of a file, whatever it is of.
 * @typedef {object} Report
 * @property {string} file
 * @property {string} text
 * @property {RunFile | null} run
 * @property {SweepFile | null} sweep
 * @property {Comparison | null} comparison
 */

/** @param {string} name of a file, or of the folder of a study @returns {string} the file that says what was found */
export function resultFile(name) {
  if (statSync(name, { throwIfNoEntry: false })?.isDirectory() !== true) return name;
  const found = RESULTS.map((file) => join(name, file)).find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new InputError(`${displayName(name)} is a folder without ${RESULTS.join(' or ')}: give a file`);
}

/**
 * All of them, before one is printed.
 * @param {Config} config
 * @returns {Promise<Report[]>}
 * @throws {InputError} which names the first that is nothing of ours
 */
export async function readReports(config) {
  const readRun = await runFileReader();
  return Promise.all(
    config.files.map(resultFile).map(async (file) => {
      const schema = schemaOf(file);
      const none = { file, run: null, sweep: null, comparison: null };
      if (schema === SWEEP_SCHEMA) {
        const found = await readSweep(file);
        return { ...none, sweep: found, text: sweepText(found) };
      }
      if (schema === COMPARE_SCHEMA) {
        const comparison = await readCompare(file);
        return { ...none, comparison, text: compareText(comparison) };
      }
      const run = readRun(file);
      return { ...none, run, text: summaryOf(run, config, file) };
    }),
  );
}

/** @param {Report[]} reports @param {string} html where the page goes @returns {string} */
export function pageOf(reports, html) {
  const [{ file, run, sweep: swept, comparison }] = reports;
  if (reports.length > 1) {
    const runs = reports.flatMap((report) => (report.run === null ? [] : [{ file: report.file, run: report.run }]));
    if (runs.length < reports.length)
      throw new UsageError('a page is of run files, or of one sweep, or of one comparison: give --html one kind');
    return renderRuns(runs, { options: OPTIONS });
  }
  if (swept !== null) return sweepPage(swept, file, html);
  return comparison === null
    ? legible(displayName(file), () => runPage(/** @type {RunFile} */ (run), { options: OPTIONS }))
    : renderCompare(comparison);
}

/** Its run files are named as seen from the page. @param {SweepFile} swept @param {string} file @param {string} html */
export function sweepPage(swept, file, html) {
  return renderSweep(swept, { folder: relative(dirname(resolve(html)), dirname(resolve(file))) || '.' });
}

/** @param {RunFile} run @param {Config} config @param {string} file */
function summaryOf(run, { explain }, file) {
  return legible(displayName(file), () => summaryText(run, explain));
}
