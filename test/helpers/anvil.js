/** A development chain of the test's own: anvil itself, without the program's keeper. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { request as httpRequest } from 'undici';
import { anvilBinary, freePort } from '../../src/chain/devchain.js';

export { freePort };

const START_TIMEOUT_MS = 60_000;

/**
 * @typedef {object} Anvil
 * @property {string} url
 * @property {number} pid of anvil itself
 * @property {(method: string, params?: unknown[]) => Promise<any>} rpc rejects with the node's message
 * @property {() => Promise<void>} stop
 */

/** @type {Set<() => void>} */
const running = new Set();
export const stopAnvils = () => running.forEach((kill) => kill());
after(stopAnvils);
process.once('exit', stopAnvils);

/**
 * @param {string} url
 * @param {string} method
 * @param {unknown[]} [params]
 * @returns {Promise<any>} the result
 */
export async function rpcCall(url, method, params = []) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await httpRequest(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result, error } = /** @type {any} */ (await response.body.json());
  if (error !== undefined) throw new Error(`${method}: ${error.message}`);
  return result;
}

/**
 * Starts a chain on a free loopback port. It ends with the test file at the latest.
 * @param {{args?: string[]}} [options] flags of anvil; without any it mines a block for each transaction
 * @returns {Promise<Anvil>}
 */
export async function startAnvil({ args = [] } = {}) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'stress-anvil-'));
  const child = spawn(anvilBinary(), ['--quiet', '--host', '127.0.0.1', '--port', String(port), ...args], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder },
  });
  const kill = () => {
    running.delete(kill);
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  running.add(kill);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk));
  const ended = once(child, 'exit').catch(() => {});
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
    kill();
  };

  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await rpcCall(url, 'eth_chainId');
      break;
    } catch (error) {
      if (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
        await sleep(20);
        continue;
      }
      await stop();
      throw new Error(`anvil ${args.join(' ')} did not start: ${stderr}`, { cause: error });
    }
  }
  return { url, pid: child.pid ?? -1, rpc: (method, params) => rpcCall(url, method, params), stop };
}

/**
 * A chain for all tests of a file or of a describe().
 * @param {string} [words] flags of anvil
 * @param {(anvil: Anvil) => unknown} [begin] what is done first: other before() hooks of a file may run at the same time
 * @returns {Anvil} as soon as the tests begin
 */
export function anvilFor(words = '', begin = () => {}) {
  const anvil = /** @type {Anvil} */ ({});
  before(async () => {
    Object.assign(anvil, await startAnvil({ args: words.split(' ').filter(Boolean) }));
    await begin(anvil);
  });
  after(() => anvil.stop?.());
  return anvil;
}

/** The selector of count() of contracts/Counter.sol. */
const COUNT = '0x06661abd';

/** @param {string} url @param {string[]} addresses of counters @returns {Promise<number>} what they say together */
export async function countOf(url, addresses) {
  const counts = await Promise.all(addresses.map((to) => rpcCall(url, 'eth_call', [{ to, data: COUNT }, 'latest'])));
  // A chain that lost history may have lost a contract, too.
  return counts.reduce((sum, count) => sum + Number(count === '0x' ? 0 : count), 0);
}

/** @param {string} url @param {string} file of --contracts */
export const countersIn = (url, file) => countOf(url, Object.values(JSON.parse(readFileSync(file, 'utf8')).contracts));

/**
 * Waits until so many transactions are in the pool, executable or not.
 * @param {Pick<Anvil, 'rpc'>} anvil
 * @param {number} count
 */
export async function pending({ rpc }, count) {
  for (;;) {
    const { pending, queued } = await rpc('txpool_status');
    if (Number(pending) + Number(queued) >= count) return;
    await sleep(20);
  }
}

/**
 * A chain of which the test makes the blocks, until the test ends.
 * @param {{after: (end: () => Promise<void>) => void}} t
 * @param {string[]} [args]
 */
export async function startMinedChain(t, args = []) {
  const anvil = await startAnvil({ args: ['--no-mining', ...args] });
  const miner = startMiner(anvil);
  t.after(async () => {
    await miner.pause();
    await anvil.stop();
  });
  return { anvil, miner };
}

/**
 * Mines a chain that was started with --no-mining, until it is told to pause.
 * @param {Anvil} anvil
 * @param {number} [everyMs]
 * @returns {{pause: () => Promise<void>, resume: () => void}} after pause() no block comes until resume()
 */
export function startMiner({ rpc }, everyMs = 50) {
  let paused = new AbortController();
  let loop = Promise.resolve();
  const mine = async () => {
    const { signal } = paused;
    while (!signal.aborted) {
      await rpc('evm_mine').catch(() => paused.abort()); // the chain is gone, and with it the work
      await sleep(everyMs, undefined, { signal }).catch(() => {});
    }
  };
  const resume = () => {
    paused = new AbortController();
    loop = mine();
  };
  resume();
  return {
    pause: () => {
      paused.abort();
      return loop;
    },
    resume,
  };
}
