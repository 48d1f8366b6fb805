/** A hardhat node on loopback, for tests: `startHardhat`. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startNode } from './build.js';
import { ensureNode, ensurePackage } from './npm.js';

const VERSION = '3.18.0';
/** It needs Node.js 22. */
const NODE_VERSION = '22.23.3';
const READY_TIMEOUT_MS = 60_000;

/** The first account of the public test mnemonic, which hardhat funds: no secret. */
const FUNDER_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';

/** @param {{chainType: 'l1' | 'op' | 'generic'}} options */
export async function startHardhat({ chainType }) {
  const bin = await ensureNode(NODE_VERSION);
  const packages = await ensurePackage(`hardhat-${VERSION}`, `hardhat@${VERSION}`, { node: bin });
  return startNode({
    name: 'hardhat',
    binary: join(bin, 'node'),
    funderKey: FUNDER_KEY,
    readyTimeoutMs: READY_TIMEOUT_MS,
    args: (folder) => {
      // Hardhat runs in a project only, and from its packages.
      const config = join(folder, 'hardhat.config.mjs');
      writeFileSync(config, 'export default {};');
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
      symlinkSync(packages, join(folder, 'node_modules'));
      const script = join(packages, 'hardhat/dist/src/cli.js');
      return [script, '--config', config, 'node', '--hostname', '127.0.0.1', '--port', '0', '--chain-type', chainType];
    },
    findUrl: ({ output }) => /JSON-RPC server at (http:\S+)\//.exec(output)?.[1],
  });
}
