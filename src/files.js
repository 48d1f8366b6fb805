import { accessSync, constants, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { OutputError, oneLine } from './errors.js';

/**
 * Writes a file so that a reader sees the old one or the whole new one, never a part.
 * @param {string} file
 * @param {string} text
 * @throws {OutputError}
 */
export function writeFileAtomically(file, text) {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, text);
    renameSync(temporary, file);
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
    if (existing !== undefined) accessSync(file, constants.W_OK);
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    throw error instanceof OutputError ? error : cannotWrite(file, error);
  }
}

/** @param {string} file @param {unknown} error */
function cannotWrite(file, error) {
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
