import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { InputError, OutputError, displayName } from '../errors.js';
import { cannotWrite, checkWritable, makeFolder } from '../files.js';
import { differenceOf } from './plan.js';
import { runFileReader } from './run-file.js';
import { isWhole, readRun } from './sweep-cells.js';
import { readSweepIfAny } from './sweep-file.js';

/**
 * The folder of a sweep, and what an earlier start of it has left there.
 *
 * @typedef {import('./sweep-file.js').SweepFile} SweepFile
 * @typedef {import('./sweep-cells.js').Result} Result
 */

/**
 * @param {string} folder
 * @param {import('./plan.js').Asked} asked
 * @returns {Promise<SweepFile | null>} the same sweep as far as it came before; null where there is none yet
 * @throws {InputError | OutputError}
 */
export async function openFolder(folder, asked) {
  try {
    makeFolder(join(folder, 'cells'));
    accessSync(join(folder, 'cells'), constants.W_OK);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new OutputError(`--dir ${displayName(folder)} is a file, or in one: give it a folder`, error);
    throw cannotWrite(folder, error);
  }
  for (const name of ['sweep.json', 'sweep.csv', 'sweep.md']) checkWritable(join(folder, name));
  const before = await readSweepIfAny(join(folder, 'sweep.json'));
  const difference = before === null ? null : before.find === null ? differenceOf(before, asked) : 'it was a search';
  if (difference !== null)
    throw new InputError(
      `${displayName(folder)} holds another sweep: ${difference}; give --dir another folder, or remove this one`,
    );
  return before;
}

/**
 * @param {string} folder
 * @param {readonly import('./plan.js').Turn[]} turns
 * @param {string} since when the sweep began: what is older is of another one
 * @returns {Promise<Map<string, Result>>} those that need not be made again, by the names of their files
 */
export async function keptRuns(folder, turns, since) {
  /** @type {Map<string, Result>} */
  const kept = new Map();
  const read = await runFileReader();
  for (const { file, repeat } of turns) {
    const run = readIfWhole(join(folder, file), read);
    if (run === null || run.startedAt < since) continue;
    const { startedAt } = run;
    kept.set(file, { repeat, file, exitCode: run.exitCode ?? 0, startedAt, complaint: null, reading: readRun(run) });
  }
  return kept;
}

/** @param {string} file @param {(file: string) => import('../metrics/summary.js').RunFile} read */
function readIfWhole(file, read) {
  if (!existsSync(file)) return null;
  try {
    const run = read(file);
    return isWhole(run) ? run : null;
  } catch {
    // Somebody has been at it: it is made again.
    return null;
  }
}
