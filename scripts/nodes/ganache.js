/** A ganache node on loopback, for tests: `startGanache`. */
import { join } from 'node:path';
import { freePort } from '../../src/chain/devchain.js';
import { startNode } from './build.js';
import { ensurePackage } from './npm.js';

const VERSION = '7.9.2';
const READY_TIMEOUT_MS = 60_000;

/** The first account of ganache's own test mnemonic: no secret. */
const FUNDER_KEY = '0x4f3edf983ac636a65a842ce7c78d9aa706d3b113bce9c46f30d7d21715b23b1d';

/** Blocks on demand. */
export async function startGanache() {
  const packages = await ensurePackage(`ganache-${VERSION}`, `ganache@${VERSION}`);
  const port = await freePort();
  return startNode({
    name: 'ganache',
    binary: process.execPath,
    funderKey: FUNDER_KEY,
    readyTimeoutMs: READY_TIMEOUT_MS,
    args: () => [
      join(packages, 'ganache/dist/node/cli.js'),
      ...['--wallet.deterministic', '--server.host', '127.0.0.1', '--server.port', `${port}`],
    ],
    findUrl: ({ output }) => (/RPC Listening on/.test(output) ? `http://127.0.0.1:${port}` : undefined),
  });
}
