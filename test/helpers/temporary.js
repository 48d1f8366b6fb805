import { mkdtempSync, rmSync } from 'node:fs';
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
