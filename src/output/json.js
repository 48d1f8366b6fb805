import { isDevice, writeFileAtomically } from '../files.js';

/**
 * The run file: as far as the run has come now and then, whole at the end, each time by rename.
 * @param {import('./index.js').OutputOptions} options
 * @returns {import('./index.js').Output}
 */
export function createJsonOutput({ out }) {
  const isFile = out !== null && out !== '-' && !isDevice(out);
  return {
    notice: () => {},
    wantsSamples: false,
    sample: () => {},
    interval: () => {},
    // Not indented: it is made in mid-run, and whoever reads it will hardly be a person.
    ...(isFile ? { checkpoint: (run) => writeFileAtomically(out, `${JSON.stringify(run)}\n`) } : {}),
    finish: (run) => {
      const text = `${JSON.stringify(run, null, 2)}\n`;
      if (out === '-') process.stdout.write(text);
      else if (out !== null) writeFileAtomically(out, text);
    },
  };
}
