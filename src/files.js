import { randomBytes } from 'node:crypto';
import { constants, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { access, open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OutputError, displayName, oneLine } from './errors.js';

/** What a file of ours may be at most: everybody may read it, its owner write it. */
export const FILE_MODE = 0o644;

/**
 * Writes a file so that a reader sees the old one or the whole new one, never a part, also after a power failure: it is
 * on the disk before it takes the name. The thread goes on meanwhile. A link stays a link, and a device such as /dev/null
 * stays a device. What others might not read before they may not read afterwards.
 * @param {string} file
 * @param {string} text
 * @throws {OutputError}
 */
export async function writeFileAtomically(file, text) {
  await checkWritable(file);
  const existing = await statIfAny(file);
  const target = existing === undefined ? file : await realpath(file);
  // A name that nobody can foresee, and never a file that is there already: it may be a link to another.
  const temporary = `${target}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    if (existing?.isCharacterDevice()) return await writeFile(target, text);
    await writeFile(temporary, text, { flag: 'wx', mode: (existing?.mode ?? FILE_MODE) & FILE_MODE, flush: true });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw cannotWrite(file, error);
  }
  await flushFolder(dirname(target));
}

/** Until then a power failure may undo the rename. Windows and some network disks cannot do it. @param {string} folder */
async function flushFolder(folder) {
  const handle = await open(folder).catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/**
 * @param {string} file
 * @returns {string | null} its mode in digits where others than its owner may have it; null where they may not, where
 *   there are no modes, and where there is no such file
 */
export function modeForOthers(file) {
  if (process.platform === 'win32') return null;
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined || !found.isFile() || (found.mode & 0o077) === 0) return null;
    return (found.mode & 0o777).toString(8).padStart(4, '0');
  } catch {
    // Who reads the file will say why it cannot be read.
    return null;
  }
}

/**
 * A folder and those it is in, one by one: where none can be made, as under /proc, a recursive mkdir tries for ever.
 * @param {string} folder
 */
export function makeFolder(folder) {
  if (existsSync(folder) && statSync(folder).isDirectory()) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent);
  try {
    mkdirSync(folder);
  } catch (error) {
    // Somebody else who shares the disk may have made it just now.
    if (!(statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false)) throw error;
  }
}

/**
 * Makes a folder and proves by writing that files can be written there: whoever is root may do what the disk cannot.
 * @param {string} folder
 * @throws {OutputError}
 */
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

/** What is written to it, it does not keep. @param {string} file */
export function isDevice(file) {
  return statSync(file, { throwIfNoEntry: false })?.isCharacterDevice() ?? false;
}

/**
 * Finds out before the load whether a file can be written afterwards.
 * @param {string} file
 * @throws {OutputError}
 */
export async function checkWritable(file) {
  try {
    const existing = await statIfAny(file);
    if (existing?.isDirectory()) throw new OutputError(`cannot write ${displayName(file)}: it is a folder`);
    if (existing !== undefined && !existing.isFile() && !existing.isCharacterDevice()) {
      throw new OutputError(`cannot write ${displayName(file)}: it is neither a file nor a device`);
    }
    if (existing !== undefined) await access(file, constants.W_OK);
    if (existing === undefined || existing.isFile()) {
      await access(dirname(existing === undefined ? file : await realpath(file)), constants.W_OK);
      // A file under a file: access() of the folder alone does not see that it is none.
      if (!(await stat(dirname(file))).isDirectory())
        throw new OutputError(`cannot write ${displayName(file)}: its folder is a file`);
    }
  } catch (error) {
    throw error instanceof OutputError ? error : cannotWrite(file, error);
  }
}

/** @param {string} file */
async function statIfAny(file) {
  return stat(file).catch((error) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** @param {string} file @param {unknown} error */
export function cannotWrite(file, error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  /** @type {Record<string, string>} */
  const words = {
    ENOENT: 'its folder does not exist',
    ENOTDIR: 'its folder is a file',
    EEXIST: 'a file is in the way',
    EACCES: 'permission denied',
    EPERM: 'permission denied',
    ENOSPC: 'the disk is full',
    EROFS: 'the file system is read-only',
  };
  return new OutputError(`cannot write ${displayName(file)}: ${words[code ?? ''] ?? oneLine(message)}`, error);
}
