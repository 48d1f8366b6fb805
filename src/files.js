import { accessSync, constants, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { OutputError, oneLine } from './errors.js';

/**
 * Writes a file so that a reader sees the old one or the whole new one, never a part. A link stays a link, and a
 * device such as /dev/null stays a device.
 * @param {string} file
 * @param {string} text
 * @throws {OutputError}
 */
export function writeFileAtomically(file, text) {
  checkWritable(file);
  const existing = statSync(file, { throwIfNoEntry: false });
  const target = existing === undefined ? file : realpathSync(file);
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    if (existing?.isCharacterDevice()) return writeFileSync(target, text);
    writeFileSync(temporary, text);
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw cannotWrite(file, error);
  }
}

/**
 * Finds out before the load whether a file can be written afterwards.
 * @param {string} file
 * @throws {OutputError}
 */
export function checkWritable(file) {
  try {
    const existing = statSync(file, { throwIfNoEntry: false });
    if (existing?.isDirectory()) throw new OutputError(`cannot write ${file}: it is a folder`);
    if (existing !== undefined && !existing.isFile() && !existing.isCharacterDevice()) {
      throw new OutputError(`cannot write ${file}: it is neither a file nor a device`);
    }
    if (existing !== undefined) accessSync(file, constants.W_OK);
    if (existing === undefined || existing.isFile()) {
      accessSync(dirname(existing === undefined ? file : realpathSync(file)), constants.W_OK);
      // A file under a file: access() of the folder alone does not see that it is none.
      if (!statSync(dirname(file)).isDirectory()) throw new OutputError(`cannot write ${file}: its folder is a file`);
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
    EACCES: 'permission denied',
    EPERM: 'permission denied',
    ENOSPC: 'the disk is full',
    EROFS: 'the file system is read-only',
  };
  return new OutputError(`cannot write ${file}: ${words[code ?? ''] ?? oneLine(message)}`, error);
}
