/**
 * A chain without an EVM, for benchmarks in which the node must not be the limit: it takes transactions, puts what it
 * has into a block every 100 ms, and answers counts. It checks nonces and nothing else; signatures of increments are
 * not looked at, because only the owner of a Counter could make them.
 *
 *     node scripts/bench/null-chain.js [--port 8545] [--block-ms 100] [--blocks-per-load 1] [--per-block N] [--lanes N] [--tx-ms 1]
 *
 * With --per-block a block takes no more than N transactions, and the rest waits: what the chain can do is then known.
 * With --lanes transactions are executed in N lanes, each in --tx-ms, and those of the same slot or sender one after the
 * other.
 * Accounts and contracts stay as long as it runs; blocks, transactions and old states go after some 300 blocks.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { id } from 'ethers';
import { lanesOf } from './null-lanes.js';
import { createHttpServer } from './null-http.js';
import { createRpcServer } from './null-rpc.js';
import { createState } from './null-state.js';

/**
 * @import { State } from './null-state.js'
 * @import { AddressInfo } from 'node:net'
 */

/** That of anvil and hardhat, on which the test mnemonic is allowed on loopback. */
const CHAIN_ID = 31337;
const SELF = fileURLToPath(import.meta.url);
const START_TIMEOUT_MS = 10_000;

/**
 * @typedef {object} NullChain
 * @property {string} url
 * @property {number} chainId
 * @property {string} funderKey of an account with funds, as all have here
 * @property {number} pid
 * @property {() => Promise<void>} stop
 */

/**
 * Starts one in a process of its own, which ends with ours however that ends.
 * @param {{blockMs?: number, blocksPerLoad?: number, perBlock?: number, lanes?: number, txMs?: number}} [options] blocksPerLoad: transactions go into
 *   every so manieth block only, the others stay empty, so that there is next to no load at the usual pace of blocks;
 *   perBlock: the most that one block takes
 * @returns {Promise<NullChain>}
 */
export async function startNullChain({ blockMs = 100, blocksPerLoad = 1, perBlock, lanes, txMs = 1 } = {}) {
  const args = ['--port', '0', '--block-ms', `${blockMs}`, '--blocks-per-load', `${blocksPerLoad}`, '--until-eof'];
  if (lanes !== undefined) args.push('--lanes', `${lanes}`, '--tx-ms', `${txMs}`);
  if (perBlock !== undefined) args.push('--per-block', `${perBlock}`);
  const child = spawn(process.execPath, [SELF, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {}); // one that is gone already closes the pipe under us
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => child.once('exit', () => resolve()));
  const stop = async () => {
    child.kill('SIGKILL'); // it keeps nothing
    await ended;
  };
  const signal = AbortSignal.timeout(START_TIMEOUT_MS);
  /** @type {string | null} */
  const url = await Promise.race([
    new Promise((resolve) => createInterface(child.stdout).once('line', resolve)),
    ended.then(() => null),
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(null))),
  ]);
  if (url === null) {
    await stop();
    throw new Error('the null chain did not start');
  }
  return { url, chainId: CHAIN_ID, funderKey: id('evm-stress null chain funder'), pid: child.pid ?? -1, stop };
}

/** @param {{port: number, blockMs: number, blocksPerLoad: number, perBlock: number, lanes: number, txMs: number}} options @returns {Promise<string>} its URL */
async function serve({ port, blockMs, blocksPerLoad, perBlock, lanes, txMs }) {
  const { most, perSlot } =
    lanes === Infinity ? { most: perBlock, perSlot: Infinity } : lanesOf({ lanes, txMs, blockMs });
  const state = await createState(CHAIN_ID);
  const answer = meter(state);
  const server = createHttpServer(answer);
  let blocks = 0;
  // Each block has an instant of its own: one that comes late does not make those behind it late.
  const startMs = performance.now();
  const mine = () => {
    blocks += 1;
    state.mine(blocks % blocksPerLoad === 0 ? Math.min(most, perBlock) : 0, perSlot);
    setTimeout(mine, startMs + (blocks + 1) * blockMs - performance.now());
  };
  setTimeout(mine, blockMs);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = /** @type {AddressInfo} */ (server.address());
      resolve(`http://127.0.0.1:${address.port}`);
    });
  });
}

/**
 * The JSON-RPC server, which counts its requests and its CPU since the last deployment: a set-up costs something else
 * than the load.
 * @param {State} state
 * @returns {(body: string) => string}
 */
function meter(state) {
  let requests = 0;
  let deployments = 0;
  let start = process.cpuUsage();
  const answer = createRpcServer(state, () => {
    const { user, system } = process.cpuUsage(start);
    return { requests, cpuUs: user + system };
  });
  return (body) => {
    requests += 1;
    const json = answer(body);
    if (state.deployments !== deployments) {
      deployments = state.deployments;
      requests = 0;
      start = process.cpuUsage();
    }
    return json;
  };
}

async function main() {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8545' },
      'block-ms': { type: 'string', default: '100' },
      'blocks-per-load': { type: 'string', default: '1' },
      'per-block': { type: 'string', default: 'Infinity' },
      lanes: { type: 'string', default: 'Infinity' },
      'tx-ms': { type: 'string', default: '1' },
      'until-eof': { type: 'boolean', default: false },
    },
  });
  const numbers = ['port', 'block-ms', 'blocks-per-load', 'per-block', 'lanes', 'tx-ms'].map((name) =>
    Number(Reflect.get(values, name)),
  );
  if (numbers.some(Number.isNaN)) throw new Error('give whole numbers');
  const [port, blockMs, blocksPerLoad, perBlock, lanes, txMs] = numbers;
  const url = await serve({ port, blockMs, blocksPerLoad, perBlock, lanes, txMs });
  console.log(url);
  if (values['until-eof']) process.stdin.resume().on('end', () => process.exit());
}

if (process.argv[1] === SELF) {
  try {
    await main();
  } catch (error) {
    process.stderr.write(`null-chain: ${/** @type {Error} */ (error).message}\n`);
    process.exitCode = 69;
  }
}
