import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { displayName } from '../errors.js';
import { isDevice, proveWritable, writeFileAtomically } from '../files.js';
import { claimFile } from './claim.js';
import { stdout } from './streams.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Output, OutputOptions } from './index.js'
 */

/**
 * The run file: as far as the run has come now and then, whole at the end, each time by rename.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createJsonOutput({ out }) {
  const output = out !== null && out !== '-' ? outputTo(out, !isDevice(out)) : outputTo('', false);
  if (out === null || out === '-') output.finish = (run) => stdout.write(textOf(run));
  return { ...output, setUpFailed: output.finish };
}

/**
 * The same, in a folder that the instances of a run share, under a name of its own. The name is taken before anything is
 * sent: of two processes with one index the second does not begin.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createResultsOutput({ results, instance }) {
  const folder = results ?? '.';
  const { runId = null, index = null, attempt = 0 } = instance ?? {};
  const name = `${runId ?? 'run'}-${String(index ?? 0).padStart(5, '0')}-${attempt}.json`;
  const file = join(folder, name);
  const which = `${runId === null ? '' : `run ${runId}, `}index ${index}, attempt ${attempt}`;
  let release = () => {};
  return {
    ...outputTo(file, true),
    open: async () => {
      proveWritable(folder);
      release = claimFile(
        file,
        `${which} has a run file already in ${displayName(folder)}: another instance has this index, or it was run before: give another --run-id, or --attempt ${attempt + 1}`,
      );
    },
    close: async () => release(),
  };
}

/** @param {string} file @param {boolean} keepsWhatIsWritten @returns {Output} */
function outputTo(file, keepsWhatIsWritten) {
  return {
    notice: () => {},
    wantsSamples: false,
    sample: () => {},
    interval: () => {},
    // Not indented: it is made in mid-run, and whoever reads it will hardly be a person.
    ...(keepsWhatIsWritten
      ? {
          checkpoint: (run) => writeFileAtomically(file, `${JSON.stringify(run)}\n`),
          discard: () => rmSync(file, { force: true }),
        }
      : {}),
    finish: (run) => writeFileAtomically(file, textOf(run)),
  };
}

/** @param {RunFile} run */
function textOf(run) {
  return `${JSON.stringify(run, null, 2)}\n`;
}
