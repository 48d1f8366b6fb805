/** A development chain of Polygon Edge on loopback, for tests: `startPolygonEdge`. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { computeAddress } from 'ethers';
import { freePort } from '../../src/chain/devchain.js';
import { ensureBuilt, startNode } from './build.js';
import { FUNDER_KEY } from './geth.js';

const VERSION = 'v1.3.1';

/** Its own libp2p does not compile with a Go from 1.21 on. The excluded versions may be on no proxy; nothing of them is used. */
export const POLYGON_EDGE = {
  name: 'polygon-edge',
  module: 'github.com/0xPolygon/polygon-edge',
  version: VERSION,
  goMod: `
    go 1.20
    require (
      github.com/0xPolygon/polygon-edge ${VERSION}
      github.com/libp2p/go-libp2p v0.30.0
    )
    exclude (
      inet.af/netaddr v0.0.0-20220811202034-502d2d690317
      inet.af/netaddr v0.0.0-20230525184311-b8eac61e914a
    )`,
};

const READY_TIMEOUT_MS = 30_000;
const BALANCE = `0x1${'0'.repeat(24)}`;
const GAS_LIMIT = '30000000';

/** A block a second. */
export async function startPolygonEdge() {
  const binary = await ensureBuilt(POLYGON_EDGE);
  const [port, grpcPort, peerPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const url = `http://127.0.0.1:${port}`;
  const node = await startNode({
    name: 'polygon-edge',
    binary,
    funderKey: FUNDER_KEY,
    readyTimeoutMs: READY_TIMEOUT_MS,
    args: (folder) => {
      const genesis = join(folder, 'genesis.json');
      const money = `${computeAddress(FUNDER_KEY)}:${BALANCE}`;
      // Without an address that gets the base fee it makes no blocks.
      const burn = `0:0x${'0'.repeat(40)}`;
      execFileSync(binary, [
        ...['genesis', '--consensus', 'dev', '--chain-id', '1337', '--dir', genesis, '--premine', money],
        ...['--block-gas-limit', GAS_LIMIT, '--burn-contract', burn],
      ]);
      return [
        ...['server', '--dev', '--seal', '--chain', genesis, '--data-dir', join(folder, 'data'), '--log-level', 'WARN'],
        ...['--jsonrpc', `127.0.0.1:${port}`, '--grpc-address', `127.0.0.1:${grpcPort}`],
        ...['--libp2p', `127.0.0.1:${peerPort}`, '--no-discover'],
      ];
    },
    findUrl: () => url,
  });
  return { ...node, wsUrl: `ws://127.0.0.1:${port}/ws` };
}
