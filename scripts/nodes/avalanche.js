/**
 * A single AvalancheGo node on loopback: `npm run node:avalanche`, and `startAvalanche` for tests and
 * benchmarks. Its C-chain is the EVM chain to load.
 *
 *   --port N        of the RPC, 9650 by default; 0 takes any free port
 *   --datadir DIR   a data folder that is kept
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureBuilt, parsePort, serve, startNode } from './build.js';

/** Later versions carry replace directives in go.mod, which `go install` refuses. */
export const AVALANCHEGO = { name: 'avalanchego', module: 'github.com/ava-labs/avalanchego/main', version: 'v1.13.5' };

/** The key that the genesis of network-id=local funds. It is in AvalancheGo's source: no secret. */
export const FUNDER_KEY = '0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027';

/** The C-chain does not heed --log-level and would write a line for every transaction. */
const CHAIN_CONFIG = { C: { Config: base64({ 'log-level': 'warn' }) } };

const READY_TIMEOUT_MS = 60_000;

/** @param {object} value */
function base64(value) {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

/**
 * @param {object} [options]
 * @param {number} [options.port] of the RPC; 0 takes any free port
 * @param {number} [options.stakingPort] where other nodes connect to; 0 takes any free port
 * @param {{address: string, id: string}} [options.bootstrap] a node of the network to join; without it the node is a
 *   network of its own
 * @param {string} [options.dataDir] kept; by default a temporary folder that goes with the node
 * @param {string} [options.log] the file that gets the node's output
 * @param {AbortSignal} [options.signal] stops the node, or its start
 */
export async function startAvalanche({ port = 0, stakingPort = 0, bootstrap, dataDir, log, signal } = {}) {
  const binary = await ensureBuilt(AVALANCHEGO, signal);
  return startNode({
    name: 'avalanchego',
    binary,
    funderKey: FUNDER_KEY,
    readyTimeoutMs: READY_TIMEOUT_MS,
    dataDir,
    log,
    signal,
    args: (folder) => [
      ...['--network-id=local', '--sybil-protection-enabled=false'],
      ...[`--bootstrap-ips=${bootstrap?.address ?? ''}`, `--bootstrap-ids=${bootstrap?.id ?? ''}`],
      // Every node of a network on loopback has the same address, so the limit of connections per address is off.
      '--network-inbound-connection-throttling-cooldown=0',
      ...['--public-ip=127.0.0.1', '--http-host=127.0.0.1', '--staking-host=127.0.0.1'],
      ...[`--http-port=${port}`, `--staking-port=${stakingPort}`],
      ...[
        `--data-dir=${folder}`,
        '--fd-limit=16384',
        '--log-level=warn',
        `--chain-config-content=${base64(CHAIN_CONFIG)}`,
      ],
    ],
    // The node writes down where it listens. A folder that is used again may still hold the file of the last run.
    findUrl: ({ folder, pid }) => {
      try {
        const context = JSON.parse(readFileSync(join(folder, 'process.json'), 'utf8'));
        return context.pid === pid ? `${context.uri}/ext/bc/C/rpc` : undefined;
      } catch {
        return undefined; // not there yet, or half written
      }
    },
  });
}

/** Starts what the command line asks for. @param {AbortSignal} signal */
async function main(signal) {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '9650' }, datadir: { type: 'string' } },
  });
  return startAvalanche({ port: parsePort(values.port), dataDir: values.datadir, signal });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await serve(
    'node:avalanche',
    main,
    ({ url, chainId, funderKey }) =>
      `AvalancheGo at ${url}, chain id ${chainId}. Load it: STRESS_FUNDER_KEY=${funderKey} npx evm-stress --rpc ${url} -t 50`,
  );
}
