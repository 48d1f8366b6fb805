import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * @param {{after: (end: () => void) => void}} t the test, or the after() of the file
 * @returns {string} an empty folder that goes when the test ends
 */
export function temporaryFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), 'stress-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * @param {Parameters<typeof temporaryFolder>[0]} t
 * @param {string} name
 * @param {unknown} content a text, bytes, or what is written as JSON
 * @param {{mode?: number}} [options]
 * @returns {string} a file in an empty folder
 */
export function temporaryFile(t, name, content, options) {
  const file = join(temporaryFolder(t), name);
  const isWhole = typeof content === 'string' || Buffer.isBuffer(content);
  writeFileSync(file, isWhole ? content : JSON.stringify(content), options);
  return file;
}
