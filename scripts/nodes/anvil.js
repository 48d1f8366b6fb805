/** A development anvil on loopback whose chain outlives it, for scripts: `startAnvil`. */
import { join } from 'node:path';
import { anvilBinary, freePort } from '../../src/chain/devchain.js';
import { startNode } from './build.js';

/** The first account of the development mnemonic: no secret. */
export const FUNDER_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';

const READY_TIMEOUT_MS = 60_000;

/** @param {{dataDir: string, port?: number, flags: readonly string[]}} options the chain is kept in that folder; port 0 is any */
export async function startAnvil({ dataDir, port: fixed = 0, flags }) {
  const port = fixed || (await freePort());
  const url = `http://127.0.0.1:${port}`;
  return startNode({
    name: 'anvil',
    binary: anvilBinary(),
    funderKey: FUNDER_KEY,
    readyTimeoutMs: READY_TIMEOUT_MS,
    dataDir,
    args: (folder) => [
      ...['--quiet', '--host', '127.0.0.1', '--port', `${port}`, '--state', join(folder, 'state.json')],
      ...flags,
    ],
    findUrl: () => url,
  });
}
