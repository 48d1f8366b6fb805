import { accessSync, constants, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OutputError, displayName } from '../errors.js';
import { cannotWrite, makeFolder } from '../files.js';

/** The folder of a study that makes runs, which belongs to one process at a time. */

/** Of the process that is at work in a folder, with its number in it. */
export const LOCK = '.lock';
/** Who has made the file writes into it at once. */
const EMPTY_MS = 10_000;

/**
 * @template T
 * @param {string} folder
 * @param {string} inner a folder in it that is needed as well
 * @param {() => Promise<T>} work during which nobody else is at work there
 * @returns {Promise<T>}
 * @throws {OutputError}
 */
export async function inFolder(folder, inner, work) {
  makeWritable(folder, folder);
  const file = join(folder, LOCK);
  lock(file, folder);
  try {
    makeWritable(join(folder, inner), folder);
    return await work();
  } finally {
    if (ownerOf(file) === process.pid) rmSync(file, { force: true });
  }
}

/** @param {string} folder @param {string} dir as it was given */
function makeWritable(folder, dir) {
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new OutputError(`--dir ${displayName(dir)} is a file, or in one: give it a folder`, error);
    throw cannotWrite(folder, error);
  }
}

/** @param {string} file @param {string} folder it is in, for messages */
function lock(file, folder) {
  for (;;) {
    try {
      return writeFileSync(file, `${process.pid}\n`, { flag: 'wx' });
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw cannotWrite(file, error);
    }
    const owner = ownerOf(file);
    if (isAtWork(owner, file))
      throw new OutputError(
        `another stress (pid ${owner ?? 'not known yet'}) is at work in ${displayName(folder)}: give --dir another folder`,
      );
    removeStale(file, owner);
  }
}

/**
 * Of two that find the same stale file one may have made its own by now: what is taken away is looked at again.
 * @param {string} file @param {number | null} owner that it was found with
 */
function removeStale(file, owner) {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
    if (ownerOf(aside) === owner) rmSync(aside, { force: true });
    else renameSync(aside, file);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw cannotWrite(file, error);
  }
}

/** @param {string} file @returns {number | null} */
function ownerOf(file) {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10) || null;
  } catch {
    return null;
  }
}

/**
 * A container gives the same numbers again: what has ours, and is not of this process, is stale.
 * @param {number | null} pid @param {string} file
 */
function isAtWork(pid, file) {
  if (pid === process.pid) return false;
  if (pid === null) return Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) < EMPTY_MS;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It runs, and belongs to somebody else.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}
