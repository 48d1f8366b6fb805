import { randomBytes } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { OutputError, displayName, oneLine } from './errors.js';

/** What a file of ours may be at most: everybody may read it, its owner write it. */
export const FILE_MODE = 0o644;

/**
 * Writes a file so that a reader sees the old one or the whole new one, never a part. A link stays a link, and a
 * device such as /dev/null stays a device. What others might not read before they may not read afterwards.
 * @param {string} file
 * @param {string} text
 * @throws {OutputError}
 */
export function writeFileAtomically(file, text) {
  checkWritable(file);
  const existing = statSync(file, { throwIfNoEntry: false });
  const target = existing === undefined ? file : realpathSync(file);
  // A name that nobody can foresee, and never a file that is there already: it may be a link to another.
  const temporary = `${target}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    if (existing?.isCharacterDevice()) return writeFileSync(target, text);
    writeFileSync(temporary, text, { flag: 'wx', mode: (existing?.mode ?? FILE_MODE) & FILE_MODE });
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw cannotWrite(file, error);
  }
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
export function checkWritable(file) {
  try {
    const existing = statSync(file, { throwIfNoEntry: false });
    if (existing?.isDirectory()) throw new OutputError(`cannot write ${displayName(file)}: it is a folder`);
    if (existing !== undefined && !existing.isFile() && !existing.isCharacterDevice()) {
      throw new OutputError(`cannot write ${displayName(file)}: it is neither a file nor a device`);
    }
    if (existing !== undefined) accessSync(file, constants.W_OK);
    if (existing === undefined || existing.isFile()) {
      accessSync(dirname(existing === undefined ? file : realpathSync(file)), constants.W_OK);
      // A file under a file: access() of the folder alone does not see that it is none.
      if (!statSync(dirname(file)).isDirectory())
        throw new OutputError(`cannot write ${displayName(file)}: its folder is a file`);
    }
  } catch (error) {
    throw error instanceof OutputError ? error : cannotWrite(file, error);
  }
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
