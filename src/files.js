import { randomBytes } from 'node:crypto';
import { constants, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { access, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OutputError, displayName, errnoWords } from './errors.js';

/** @import { Stats } from 'node:fs' */

/** Writes files atomically, and checks before a run whether outputs can be written. */

/** The most permissive mode of written files: readable by all, writable by the owner. */
export const FILE_MODE = 0o644;

/**
 * Readers see the old file or the whole new one, also after a power failure: the data is flushed before the rename.
 * Links and devices such as /dev/null are kept, and the mode never becomes more permissive.
 * @param {string} file
 * @param {string | Uint8Array} text
 * @throws {OutputError}
 */
export async function writeFileAtomically(file, text) {
  const existing = await existingFile(file);
  const target = existing === undefined ? file : await realpath(file);
  const temporary = temporaryOf(target);
  try {
    if (existing?.isCharacterDevice()) return await writeFile(target, text);
    await writeFile(temporary, text, { flag: 'wx', mode: (existing?.mode ?? FILE_MODE) & FILE_MODE, flush: true });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw cannotWrite(file, error);
  }
}

/**
 * @param {string} file
 * @returns {string | null} its octal mode if others than the owner have access; otherwise null, also on Windows and for
 *   a missing file
 */
export function modeForOthers(file) {
  if (process.platform === 'win32') return null;
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined || !found.isFile() || (found.mode & 0o077) === 0) return null;
    return (found.mode & 0o777).toString(8).padStart(4, '0');
  } catch {
    // An attempt to read the file reports the reason.
    return null;
  }
}

/** Like a recursive mkdir, which never returns where a folder cannot be made, as under /proc. @param {string} folder */
export function makeFolder(folder) {
  if (existsSync(folder) && statSync(folder).isDirectory()) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another instance on a shared disk may have made it.
    if (!(statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false)) throw error;
  }
}

/** Makes a folder if it is missing, and writes a file there for a moment. @param {string} folder @throws {OutputError} */
export function proveWritable(folder) {
  const file = join(folder, `.${randomBytes(8).toString('hex')}.tmp`);
  try {
    makeFolder(folder);
    try {
      writeFileSync(file, 'this file shows that its folder can be written\n', { flag: 'wx', mode: FILE_MODE });
    } finally {
      rmSync(file, { force: true });
    }
  } catch (error) {
    throw cannotWrite(folder, error);
  }
}

/** @param {string} file */
export function isDevice(file) {
  return statSync(file, { throwIfNoEntry: false })?.isCharacterDevice() ?? false;
}

/** The random name, with the flag 'wx', cannot be the name of a link to another file. @param {string} target */
function temporaryOf(target) {
  return `${target}.${randomBytes(8).toString('hex')}.tmp`;
}

/** Checks before the load that a file can be written after it. @param {string} file @throws {OutputError} */
export async function checkWritable(file) {
  const existing = await existingFile(file);
  if (existing?.isCharacterDevice()) return;
  try {
    // Permissions prove nothing: root has all of them, and no file can be made under /proc.
    const temporary = temporaryOf(existing ? await realpath(file) : file);
    await writeFile(temporary, '', { flag: 'wx', mode: FILE_MODE });
    await rm(temporary, { force: true });
  } catch (error) {
    throw cannotWrite(file, error);
  }
}

/** @param {string} file @returns {Promise<Stats | undefined>} undefined: there is none @throws {OutputError} it cannot be written */
async function existingFile(file) {
  try {
    const existing = await stat(file).catch((error) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (existing === undefined) return undefined;
    if (existing.isDirectory()) throw new Error('it is a folder');
    if (!existing.isFile() && !existing.isCharacterDevice()) throw new Error('it is neither a file nor a device');
    await access(file, constants.W_OK);
    return existing;
  } catch (error) {
    throw cannotWrite(file, error);
  }
}

/** @param {string} file @param {unknown} error */
export function cannotWrite(file, error) {
  const { code } = /** @type {NodeJS.ErrnoException} */ (error);
  const why = code === 'ENOENT' ? 'its folder does not exist' : errnoWords(error);
  return new OutputError(`cannot write ${displayName(file)}: ${why}`, error);
}

/**
 * Reserves a file name before anything is sent, so that a second process with the same name in a shared folder fails
 * and overwrites nothing.
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
      // Errors of the clean-up are ignored; the first error matters.
    }
  };
}

/** Whether the value of --workload means a file; Solidity is refused as such. @param {string} value */
export function isWorkloadFile(value) {
  return /[\\/]|\.([cm]?js|sol)$/.test(value);
}
