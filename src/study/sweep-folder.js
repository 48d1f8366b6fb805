import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { InputError, displayName } from '../errors.js';
import { checkWritable } from '../files.js';
import { differenceOf } from './plan.js';
import { runFileReader } from './run-file.js';
import { isWhole, readRun } from './sweep-cells.js';
import { readSweepIfAny } from './sweep-file.js';

/**
 * @import { OutputError } from '../errors.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Asked, Turn } from './plan.js'
 * @import { Result } from './sweep-cells.js'
 * @import { Find, SweepFile } from './sweep-file.js'
 */

/**
 * The folder of a sweep, and what an earlier start of it has left there.
 */

/** @typedef {Pick<Find, 'name' | 'until'>} Searched */

/**
 * @param {string} folder
 * @param {Asked} asked
 * @param {Searched | null} [find] what is searched for, where something is
 * @returns {Promise<SweepFile | null>} the same study as far as it came before; null where there is none yet
 * @throws {InputError | OutputError}
 */
export async function openFolder(folder, asked, find = null) {
  for (const name of ['sweep.json', ...(find === null ? ['sweep.csv', 'sweep.md'] : [])])
    await checkWritable(join(folder, name));
  const before = await readSweepIfAny(join(folder, 'sweep.json'));
  if (before === null) return null;
  const [was, is] = [before.find, find].map(findWords);
  const difference = was === is ? differenceOf(before, asked) : `it was ${was} and is ${is}`;
  if (difference === null) return before;
  throw new InputError(
    `${displayName(folder)} holds another ${before.find === null ? 'sweep' : 'search'}: ${difference}; give --dir another folder, or remove this one`,
  );
}

/** @param {Searched | null} find */
function findWords(find) {
  return find === null ? 'a sweep' : `--find ${find.name} --until '${find.until.join(', ')}'`;
}

/**
 * @param {string} folder
 * @param {readonly Turn[]} turns
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

/** @param {string} file @param {(file: string) => RunFile} read */
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
