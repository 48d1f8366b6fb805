import { writeFileAtomically } from '../files.js';

/**
 * The run file, written once at the end, by rename.
 * @param {import('./index.js').OutputOptions} options
 * @returns {import('./index.js').Output}
 */
export function createJsonOutput({ out }) {
  return {
    notice: () => {},
    wantsSamples: false,
    sample: () => {},
    interval: () => {},
    finish: (run) => {
      const text = `${JSON.stringify(run, null, 2)}\n`;
      if (out === '-') process.stdout.write(text);
      else if (out !== null) writeFileAtomically(out, text);
    },
  };
}
