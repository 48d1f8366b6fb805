import { rmSync, statSync, writeFileSync } from 'node:fs';
import { OutputError } from '../errors.js';
import { FILE_MODE, cannotWrite } from '../files.js';

/**
 * Takes the name of a file before anything is sent, so that whoever shares the folder and comes second with the same
 * name is told, and overwrites nothing.
 * @param {string} file
 * @param {string} taken what to say where it is there already
 * @returns {() => void} gives the name back, unless something was written there by then; never throws
 * @throws {OutputError}
 */
export function claimFile(file, taken) {
  try {
    writeFileSync(file, '', { flag: 'wx', mode: FILE_MODE });
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') throw new OutputError(taken, error);
    throw cannotWrite(file, error);
  }
  return () => {
    try {
      if (statSync(file, { throwIfNoEntry: false })?.size === 0) rmSync(file);
    } catch {
      // Whoever cleans up says nothing: what went wrong before is more important.
    }
  };
}
