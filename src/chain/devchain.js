import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, rmdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OutputError, UnavailableError, errnoWords, oneLine } from '../errors.js';
import { toHex } from './answers.js';

/**
 * The embedded chain: starts, funds and stops anvil for runs without --rpc.
 *
 * @import { DevChain, Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { AddressInfo } from 'node:net'
 */

const KEEPER = fileURLToPath(new URL('keeper.js', import.meta.url));

/**
 * A block every 100 ms is as fast as automine, but does not store a state for each transaction. With its high gas limit
 * the base fee never rises. With anvil's defaults, block bodies and old states would fill memory and disk by gigabytes.
 */
export const BLOCK_SECONDS = 0.1;
const ANVIL_FLAGS = [
  ...['--quiet', '--host', '127.0.0.1', '--accounts', '1'],
  ...['--block-time', `${BLOCK_SECONDS}`, '--gas-limit', '1000000000'],
  ...['--transaction-block-keeper', '600', '--max-persisted-states', '1'],
];

/** Balance of each wallet on an embedded chain: more than any run needs. */
const DEV_BALANCE_WEI = 10_000n * 10n ** 18n;

/** Time limit of the keeper, after the grace time of its command. */
const STOP_TIMEOUT_MS = 5000;
const START_TIMEOUT_MS = 20_000;
const START_TRIES = 3;

/** @returns {string} the path of the anvil binary for this platform @throws {UnavailableError} */
export function anvilBinary() {
  const name = `@foundry-rs/anvil-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    return join(folder, 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil');
  } catch {
    throw new UnavailableError(
      `cannot start the embedded chain: there is no anvil for ${process.platform}-${process.arch} (${name} is not installed); give an endpoint with --rpc`,
    );
  }
}

/** @returns {Promise<number>} a loopback port that was free a moment ago */
export async function freePort() {
  return /** @type {number} */ (await listenBriefly(0));
}

/** @param {number} port on loopback */
export async function isFree(port) {
  return (await listenBriefly(port)) !== null;
}

/** @param {number} port 0 for any @returns {Promise<number | null>} null when it is taken */
function listenBriefly(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => {
      const address = /** @type {AddressInfo} */ (server.address());
      server.close(() => resolve(address.port));
    });
  });
}

/**
 * @param {Clock} clock
 * @param {{port?: number}} [options] a fixed port instead of any free one
 * @returns {Promise<DevChain>}
 * @throws {UnavailableError}
 */
export async function startDevChain(clock, { port } = {}) {
  const binary = anvilBinary();
  try {
    rmdirSync(mkdtempSync(join(tmpdir(), 'stress-')));
  } catch (error) {
    throw new OutputError(
      `cannot write to the temporary folder ${oneLine(tmpdir())} (TMPDIR): ${errnoWords(error)}`,
      error,
    );
  }
  let lastWords = '';
  // Another process may take the port before the chain listens on it.
  for (let tries = 0; tries < (port === undefined ? START_TRIES : 1); tries += 1) {
    const chain = launchAnvil(binary, port ?? (await freePort()));
    const over = new AbortController();
    const outcome = await Promise.race([answers(chain, clock, over.signal), chain.ended]);
    over.abort();
    if (outcome === true) return chain;
    await chain.stop();
    lastWords = outcome === false ? `it did not answer within ${START_TIMEOUT_MS / 1000} s` : outcome;
  }
  throw new UnavailableError(`the embedded chain did not start: ${lastWords}`);
}

/** @param {string} binary @param {number} port @returns {DevChain} */
function launchAnvil(binary, port) {
  const folder = join(tmpdir(), `stress-chain-${randomBytes(6).toString('hex')}`);
  const command = [binary, ...ANVIL_FLAGS, '--port', String(port)];
  const { keeper, ended, pid, stop } = launch(
    command,
    { graceMs: 0, folder },
    { env: keeperEnvironment(), output: 'pipe' },
  );
  let words = '';
  for (const stream of [keeper.stdout, keeper.stderr])
    stream?.on('data', (chunk) => {
      words = (words + chunk).slice(-2000);
    });
  return {
    url: new URL(`http://127.0.0.1:${port}`),
    chainPid: pid,
    ended: ended.then((exit) => oneLine(words) || exit),
    stop,
  };
}

/**
 * Starts a command that ends with this process, however that ends.
 * @param {string[]} command and its arguments; a command alone is for the shell
 * @param {{graceMs: number, folder?: string, leaves?: boolean}} options see keeper.js
 * @param {{cwd?: string, env: NodeJS.ProcessEnv, output: number | 'pipe'}} how output: a file descriptor
 */
export function launch(command, options, { cwd, env, output }) {
  // Ctrl-C must not reach the command before the drain of the run ends.
  const keeper = spawn(process.execPath, [KEEPER, JSON.stringify(options), ...command], {
    ...{ cwd, env, detached: true },
    stdio: ['pipe', output, output, 'pipe'],
  });
  keeper.stdin?.on('error', () => {}); // the keeper may have ended
  let pidText = '';
  keeper.stdio[3]?.on('data', (chunk) => (pidText += chunk));
  const pid = () => (pidText.endsWith('\n') ? Number.parseInt(pidText, 10) : null);
  /** @type {Promise<string>} */
  const ended = new Promise((resolve) => {
    keeper.once('error', (error) => resolve(oneLine(error.message)));
    keeper.once('exit', (code, signal) => {
      if (signal !== null) endInsteadOfKeeper(pid(), options.folder);
      resolve(signal === null ? exitWords(code ?? 0) : `killed by ${signal}`);
    });
  });
  const stop = async () => {
    keeper.stdin?.end();
    const timer = setTimeout(() => keeper.kill('SIGKILL'), options.graceMs + STOP_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  };
  /** Also before the command has begun. @param {NodeJS.Signals} name */
  const signal = (name) => void keeper.stdin?.write(`${name}\n`);
  return { keeper, ended, pid, signal, stop };
}

/** The keeper, like shells, adds 128 to the number of the signal that ended a command. @param {number} code */
function exitWords(code) {
  const signal = Object.entries(constants.signals).find(([, number]) => 128 + number === code)?.[0];
  return signal === undefined ? `exit code ${code}` : `killed by ${signal}`;
}

/** The keeper itself was killed. @param {number | null} pid of the command @param {string} [folder] */
function endInsteadOfKeeper(pid, folder) {
  try {
    if (pid !== null) process.kill(-pid, 'SIGKILL');
  } catch {
    // the group has already ended
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}

/** The rest of the environment may have secrets that the chain does not need. */
function keeperEnvironment() {
  const { PATH, NODE_V8_COVERAGE, SystemRoot } = process.env;
  return { PATH, NODE_V8_COVERAGE, SystemRoot };
}

/** The process id of the chain can arrive after its first answer. @param {DevChain} chain @param {Clock} clock @param {AbortSignal} signal @returns {Promise<boolean>} false after a time-out */
async function answers({ url, chainPid }, clock, signal) {
  const deadlineUs = clock.nowUs() + START_TIMEOUT_MS * 1000;
  while (!signal.aborted && clock.nowUs() < deadlineUs) {
    if (chainPid() !== null && (await canConnect(Number(url.port)))) return true;
    await clock.sleep(25, signal);
  }
  return false;
}

/** @param {number} port @returns {Promise<boolean>} */
function canConnect(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Sets balances of anvil without a transaction. @param {Rpc} rpc @param {string[]} addresses @param {bigint} [leastWei] */
export async function fundOnDevChain(rpc, addresses, leastWei = 0n) {
  const balance = toHex(leastWei > DEV_BALANCE_WEI ? leastWei : DEV_BALANCE_WEI);
  await rpc.batch(
    addresses.map((address) => ({ method: 'anvil_setBalance', params: [address, balance] })),
    'setup',
  );
}
