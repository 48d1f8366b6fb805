/**
 * A development geth on loopback: `npm run node:geth`, and `startGeth` for tests and benchmarks.
 *
 *   --period 0|1          seconds between blocks; 0, the default, makes one whenever a transaction waits
 *   --port N              of the RPC, 8545 by default; 0 takes any free port
 *   --default-gas-limit   geth's own gas limit instead of one that a load of thousands of TPS fits in
 *   --datadir DIR         a data folder that is kept
 *   -- FLAG...            flags of geth itself, such as --cache 16
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { UsageError, oneLine } from '../../src/errors.js';
import { call, ensureBuilt, parsePort, serve, startNode } from './build.js';

export const GETH = { name: 'geth', module: 'github.com/ethereum/go-ethereum/cmd/geth', version: 'v1.17.0' };

/** The key of the account that `geth --dev` funds. It is in geth's source: no secret. */
export const FUNDER_KEY = '0xb71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291';

const GAS_LIMIT = 300_000_000;
const READY_TIMEOUT_MS = 30_000;
const LOG_WARNINGS = 2;

/**
 * @param {object} [options]
 * @param {string} [options.binary] of another build
 * @param {number} [options.period] seconds between blocks, or 0 for a block whenever a transaction waits
 * @param {number} [options.port] of the RPC; 0 takes any free port
 * @param {number | null} [options.gasLimit] of a block; null leaves it to geth
 * @param {string} [options.dataDir] kept; by default a temporary folder that goes with the node
 * @param {readonly string[]} [options.flags] of geth itself, after ours
 * @param {string} [options.log] the file that gets the node's output
 * @param {AbortSignal} [options.signal] stops the node, or its start
 */
export async function startGeth(options = {}) {
  const { period = 0, port = 0, gasLimit = GAS_LIMIT, dataDir, flags = [], log, signal } = options;
  const { binary = await ensureBuilt(GETH, signal) } = options;
  const node = await startNode({
    name: 'geth',
    binary,
    funderKey: FUNDER_KEY,
    readyTimeoutMs: READY_TIMEOUT_MS,
    dataDir,
    log,
    signal,
    args: (folder) => [
      ...['--dev', '--dev.period', `${period}`, '--datadir', folder],
      // dev.gaslimit is the first block's only: from there geth walks to miner.gaslimit, by a 1024th a block.
      ...(gasLimit === null ? [] : ['--dev.gaslimit', `${gasLimit}`, '--miner.gaslimit', `${gasLimit}`]),
      ...['--txpool.globalslots', '20000', '--txpool.globalqueue', '20000'],
      ...['--nodiscover', '--ipcdisable', '--port', '0', '--authrpc.port', '0'],
      ...['--http', '--http.addr', '127.0.0.1', '--http.port', `${port}`, '--http.api', 'eth,net,web3,txpool,debug'],
      // On the same port.
      ...['--ws', '--ws.addr', '127.0.0.1', '--ws.port', `${port}`, '--ws.api', 'eth,net,web3,txpool'],
      ...flags,
    ],
    // The other HTTP server, that of the consensus client, says auth=true.
    findUrl: ({ output }) => {
      const endpoint = /HTTP server started\s+endpoint=(\S+)\s+auth=false/.exec(output)?.[1];
      return endpoint && `http://${endpoint}`;
    },
  });
  // The port is known from the log, so it could not be quiet before; lines for each block would only grow it.
  await call(node.url, 'debug_verbosity', [LOG_WARNINGS]).catch(async (error) => {
    await node.stop();
    throw error;
  });
  return node;
}

/** Starts what the command line asks for. @param {AbortSignal} signal */
async function main(signal) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      period: { type: 'string', default: '0' },
      port: { type: 'string', default: '8545' },
      'default-gas-limit': { type: 'boolean', default: false },
      datadir: { type: 'string' },
    },
  });
  if (!/^\d{1,4}$/.test(values.period)) throw new UsageError(`--period ${oneLine(values.period)}: give whole seconds`);
  return startGeth({
    period: Number(values.period),
    port: parsePort(values.port),
    gasLimit: values['default-gas-limit'] ? null : GAS_LIMIT,
    dataDir: values.datadir,
    flags: positionals,
    signal,
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await serve(
    'node:geth',
    main,
    ({ url, chainId, funderKey }) =>
      `geth at ${url}, chain id ${chainId}. Load it: STRESS_FUNDER_KEY=${funderKey} npx evm-stress --rpc ${url} -t 200. Ctrl-C ends it`,
  );
}
