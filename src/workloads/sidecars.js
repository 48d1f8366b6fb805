import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { UnavailableError } from '../errors.js';

/**
 * Proves blobs, in a thread that ends afterwards: the proofs of a blob take a second or two. Few runs need the KZG
 * library, so it is not installed with this program.
 *
 * @import { Sidecar } from '../contracts/workload.d.ts'
 */

const LIBRARY = 'kzg-wasm';

/** @param {unknown} error */
function notProved(error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  const isMissing = code === 'MODULE_NOT_FOUND';
  const why = isMissing ? `${LIBRARY} is not installed; npm install ${LIBRARY}` : `${LIBRARY} failed: ${message}`;
  return new UnavailableError(`blobs cannot be proved: ${why}`);
}

/** @throws {UnavailableError} */
export function assertKzgLibrary() {
  try {
    createRequire(import.meta.url).resolve(LIBRARY);
  } catch (error) {
    throw notProved(error);
  }
}

/**
 * @param {{count: number, blobs: number, hasCellProofs: boolean}} wanted blobs: of each sidecar
 * @returns {Promise<Sidecar[]>}
 * @throws {UnavailableError}
 */
export async function proveSidecars(wanted) {
  const thread = new Worker(new URL('./kzg-thread.js', import.meta.url), { workerData: wanted });
  try {
    const [sidecars] = await once(thread, 'message');
    return sidecars;
  } catch (error) {
    throw notProved(error);
  } finally {
    await thread.terminate();
  }
}
