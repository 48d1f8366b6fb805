/** Nodes that a test can kill, stop and start again at the same address. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureBuilt } from '../../scripts/nodes/build.js';
import { GETH } from '../../scripts/nodes/geth.js';
import { freePort, rpcCall, startAnvil } from '../helpers/anvil.js';

/**
 * @import { ChildProcess } from 'node:child_process'
 * @import { TestContext } from 'node:test'
 */

const READY_MS = 20_000;

/**
 * @typedef {object} MortalNode
 * @property {string} url
 * @property {(signal: NodeJS.Signals) => Promise<void>} kill resolves when it is dead, where the signal is for that
 * @property {(more?: string[]) => Promise<void>} start again, with the same command line and more; resolves when it answers
 * @property {() => void} wipe what it has written down
 * @property {() => Promise<void>} stop
 */

/**
 * @param {{binary: string, args: string[], url: string, folder: string}} command folder: what it writes down
 * @returns {Promise<MortalNode>}
 */
async function startMortal({ binary, args, url, folder }) {
  /** @type {ChildProcess} */
  let child;
  let died = Promise.resolve();
  const start = async (/** @type {string[]} */ more = []) => {
    child = spawn(binary, [...args, ...more], {
      stdio: 'ignore',
      env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder },
    });
    died = once(child, 'exit').then(() => {});
    const deadlineMs = Date.now() + READY_MS;
    while (!(await rpcCall(url, 'eth_chainId').catch(() => false))) {
      if (child.exitCode !== null || Date.now() > deadlineMs)
        throw new Error(`${binary} ${args.join(' ')} did not start`);
      await sleep(50);
    }
  };
  const kill = async (/** @type {NodeJS.Signals} */ signal) => {
    child.kill(signal);
    if (signal === 'SIGKILL' || signal === 'SIGTERM') await died;
  };
  const stop = async () => {
    await kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', () => child.kill('SIGKILL'));
  await start();
  return { url, kill, start, stop, wipe: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * geth with blocks whenever a transaction waits, on a data folder that outlives it.
 * @param {TestContext} t it ends with the test
 * @param {string[]} [more] arguments; those that are given twice count as given last
 */
export async function startMortalGeth(t, more = []) {
  const [binary, port] = await Promise.all([ensureBuilt(GETH), freePort()]);
  const folder = mkdtempSync(join(tmpdir(), 'stress-geth-'));
  const args = [
    ...['--dev', '--dev.period', '0', '--datadir', join(folder, 'data')],
    ...['--dev.gaslimit', '300000000', '--miner.gaslimit', '300000000'],
    ...['--nodiscover', '--ipcdisable', '--port', '0', '--authrpc.port', '0', '--verbosity', '1'],
    ...['--http', '--http.addr', '127.0.0.1', '--http.port', `${port}`, '--http.api', 'eth,net,web3,txpool,debug'],
    ...more,
  ];
  const node = await startMortal({ binary, args, url: `http://127.0.0.1:${port}`, folder });
  t.after(node.stop);
  return node;
}

/**
 * anvil, which forgets everything when it dies.
 * @param {TestContext} t it ends with the test
 */
export async function startMortalAnvil(t) {
  const anvil = await startAnvil({ args: ['--accounts', '40', '--block-time', '0.2'] });
  const binary = readlinkSync(`/proc/${anvil.pid}/exe`);
  const [, ...args] = readFileSync(`/proc/${anvil.pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  await anvil.stop();
  const node = await startMortal({
    binary,
    args,
    url: anvil.url,
    folder: mkdtempSync(join(tmpdir(), 'stress-anvil-')),
  });
  t.after(node.stop);
  return node;
}
