import { copyFileSync, chmodSync, constants } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { OutputError, displayName } from '../errors.js';
import { FILE_MODE, cannotWrite, checkWritable } from '../files.js';

/** stress new-workload: the template is a workload itself, which the tests run. */

const TEMPLATE = new URL('../workload/template.js', import.meta.url);

/** @param {string} file @throws {OutputError} there is one already */
export async function writeTemplate(file) {
  await checkWritable(file);
  try {
    copyFileSync(fileURLToPath(TEMPLATE), file, constants.COPYFILE_EXCL);
    chmodSync(file, FILE_MODE);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST')
      throw new OutputError(`${displayName(file)} is there already: give another name`);
    throw cannotWrite(file, error);
  }
}

/** As a shell takes it. @param {string} file */
export function asArgument(file) {
  const name = displayName(file);
  return /^[\w./+-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
