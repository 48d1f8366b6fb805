/**
 * Installs the nodes of the tests and the benchmarks, from the Go module proxy or the npm registry, and runs one as a
 * child that ends with us. What only one kind of node needs is in geth.js, avalanche.js, ethereumjs.js and hardhat.js.
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, StressError, UnavailableError, UsageError, oneLine } from '../../src/errors.js';

/** A node that keeps its data folder gets this long to write everything down before it is killed. */
const STOP_TIMEOUT_MS = 15_000;
const POLL_MS = 100;

/**
 * @typedef {object} RunningNode
 * @property {string} url where its JSON-RPC is, always on loopback
 * @property {number} chainId
 * @property {number} pid
 * @property {string} funderKey the publicly known key of the account that holds the funds
 * @property {() => Promise<string>} ended keeps this process alive until the node has ended, and gives its last words
 * @property {() => Promise<void>} stop ends the node and removes its data folder, unless the caller gave the folder
 */

/** Outside the checkout, so that `git clean` or a second checkout does not cost another ten minutes. */
function cacheFolder() {
  const { EVM_STRESS_CACHE, XDG_CACHE_HOME } = process.env;
  return EVM_STRESS_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'evm-stress');
}

/**
 * @typedef {object} Installer a program that installs a node
 * @property {string} command
 * @property {string} site where the program itself is to be had
 * @property {(folder: string) => string[]} args to install into that folder
 * @property {(folder: string) => Record<string, string>} [env] added to the environment
 * @property {Record<string, string>} [files] texts by name, in that folder
 */

/** Whether ensureBuilt() has built it before. @param {{name: string, version: string}} node */
export function isBuilt({ name, version }) {
  return existsSync(join(cacheFolder(), 'nodes', `${name}-${version}`));
}

/**
 * The path of a binary that Go made, which is done once per version and machine.
 * @param {object} node
 * @param {string} node.name
 * @param {string} node.module the path of the package to install
 * @param {string} node.version
 * @param {string} [node.tags]
 * @param {string} [node.goMod] what it requires and replaces; `go install` refuses a module that replaces others
 * @param {string} [node.goSum] hashes of modules that the checksum database does not know
 * @param {AbortSignal} [signal] gives a build up
 */
export async function ensureBuilt({ name, module, version, tags = '', goMod, goSum = '' }, signal) {
  const file = basename(module); // go names a binary after the last element of the path of its package
  const flags = `-trimpath -tags=${tags}`;
  /** @type {Installer} */
  const go = {
    command: 'go',
    site: 'https://go.dev/dl',
    args: () => ['install', goMod === undefined ? `${module}@${version}` : module],
    env: (folder) => ({ GOBIN: folder, GOFLAGS: goMod === undefined ? flags : `${flags} -mod=mod` }),
    files: goMod === undefined ? {} : { 'go.mod': `module ${name}\n${goMod}\n`, 'go.sum': `${goSum}\n` },
  };
  return ensureInstalled(go, { name: `${name}-${version}`, file }, signal);
}

/**
 * The path of a file or folder that an installer makes, once per machine. Others that want it at the same time wait.
 * @param {Installer} installer
 * @param {{name: string, file: string}} made name: of its folder in the cache
 * @param {AbortSignal} [signal] gives it up
 */
export async function ensureInstalled(installer, { name, file }, signal) {
  const folder = join(cacheFolder(), 'nodes', name);
  const path = join(folder, file);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const lock = join(folder, 'installing');
  while (!takeLock(lock)) await sleep(POLL_MS, undefined, { signal });
  const temporary = mkdtempSync(join(folder, 'building-'));
  try {
    if (existsSync(path)) return path;
    process.stderr.write(`installing ${name} into ${folder}: once, some minutes\n`);
    await install(installer, temporary, signal);
    renameSync(join(temporary, file), path);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
    rmSync(lock, { force: true });
  }
  return path;
}

/** Takes a lock file, also of a process that has ended. @param {string} lock @returns {boolean} */
function takeLock(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
  }
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
  } catch {
    rmSync(lock, { force: true });
  }
  return false;
}

/** @param {Installer} installer @param {string} folder where it installs to @param {AbortSignal} [signal] */
async function install({ command, site, args, env, files = {} }, folder, signal) {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const what = `${command} ${args(folder).join(' ')}`;
  const child = spawn(command, args(folder), {
    cwd: folder,
    env: { ...process.env, ...env?.(folder) },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true, // in a process group of its own, so that its compilers can be ended with it
  });
  const kill = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL');
  };
  const cleanUp = () => {
    kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', cleanUp);
  if (signal?.aborted) kill();
  signal?.addEventListener('abort', kill, { once: true });
  let tail = '';
  child.stderr.on('data', (chunk) => (tail = (tail + chunk).slice(-4096)));
  try {
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (code !== 0) throw new UnavailableError(`${what}: ${lastComplaint(tail)}`);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
    throw new UnavailableError(`${what}: ${command} is not on the PATH (${site})`, error);
  } finally {
    process.off('exit', cleanUp);
    signal?.removeEventListener('abort', kill);
  }
}

/**
 * Starts a node and waits until its JSON-RPC answers. It is killed at the latest when this process exits.
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.binary
 * @param {(folder: string) => string[]} options.args its arguments, given its data folder
 * @param {(found: { output: string, folder: string, pid: number }) => string | undefined} options.findUrl
 *   reads the URL from what the node wrote. That is how a port the node picked itself becomes known, and
 *   why another node on the wanted port is never taken for ours
 * @param {string} options.funderKey
 * @param {number} options.readyTimeoutMs
 * @param {string} [options.dataDir] kept; by default a temporary folder that goes with the node
 * @param {string} [options.log] the file that gets the node's output; by default node.log in its data folder
 * @param {AbortSignal} [options.signal] stops the node, or its start
 * @returns {Promise<RunningNode>}
 */
export async function startNode({ name, binary, args, findUrl, funderKey, readyTimeoutMs, dataDir, log, signal }) {
  if (dataDir !== undefined) mkdirSync(dataDir, { recursive: true });
  const folder = dataDir ?? mkdtempSync(join(tmpdir(), `evm-stress-${name}-`));
  const logFile = log ?? join(folder, 'node.log');
  // A file rather than a pipe: a caller that is busy, or gone, never blocks the node.
  const output = openSync(logFile, 'w');
  const child = spawn(binary, args(folder), { stdio: ['ignore', output, output] });
  closeSync(output);
  // The node alone must not keep a script alive that has forgotten it; the exit handler then ends it.
  child.unref();

  let running = true;
  /** @type {Promise<string>} */
  const end = new Promise((resolve) => {
    child.once('exit', (code, cause) => {
      running = false;
      resolve(`${cause ?? `exit code ${code}`}, ${lastWords(logFile)}`);
    });
    child.once('error', (error) => {
      running = false; // it could not even be started
      resolve(error.message);
    });
  });
  const removeFolder = () => {
    if (dataDir === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const kill = () => {
    child.kill('SIGKILL');
    removeFolder();
  };
  process.once('exit', kill);

  const ended = () => {
    if (running) child.ref();
    return end;
  };
  const shutDown = async () => {
    // Temporary data needs no orderly end.
    child.kill(dataDir === undefined ? 'SIGKILL' : 'SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await ended();
    clearTimeout(timer);
    removeFolder();
    process.off('exit', kill);
    signal?.removeEventListener('abort', stopOnSignal);
  };
  /** @type {Promise<void> | undefined} */
  let stopping;
  const stop = () => (stopping ??= shutDown());
  const stopOnSignal = () => void stop();
  if (signal?.aborted) stopOnSignal();
  signal?.addEventListener('abort', stopOnSignal, { once: true });

  const pid = child.pid ?? -1;
  const deadline = performance.now() + readyTimeoutMs;
  while (running && performance.now() < deadline) {
    const url = findUrl({ output: readFileSync(logFile, 'utf8'), folder, pid });
    const chainId = url && (await call(url, 'eth_chainId').catch(() => undefined));
    if (url && chainId) return { url, chainId: Number(chainId), pid, funderKey, ended, stop };
    await sleep(POLL_MS);
  }
  const what = running ? `does not answer after ${readyTimeoutMs / 1000} s` : 'ended while it was starting';
  await stop();
  throw new UnavailableError(`${name} ${what}: ${await end}`);
}

/**
 * One JSON-RPC call to a node of ours, for what must be asked or set before a test or a run begins.
 * @param {string} url
 * @param {string} method
 * @param {unknown[]} [params]
 * @param {number} [timeoutMs]
 * @returns {Promise<unknown>} the result
 */
export async function call(url, method, params = [], timeoutMs = 2_000) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const answer = /** @type {any} */ (await response.json());
  if (answer.error) throw new UnavailableError(`${method}: ${oneLine(answer.error.message)}`);
  return answer.result;
}

/** What the output of a node that has ended says about why. @param {string} logFile */
function lastWords(logFile) {
  try {
    return lastComplaint(readFileSync(logFile, 'utf8'));
  } catch (error) {
    return `its output is gone: ${oneLine(/** @type {Error} */ (error).message)}`;
  }
}

/** The line of a log that most likely says what went wrong. @param {string} text */
function lastComplaint(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return oneLine(lines.findLast((line) => /fatal|error|panic/i.test(line)) ?? lines.at(-1) ?? 'it said nothing');
}

/** The port of a --port flag. @param {string} text */
export function parsePort(text) {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new UsageError(`--port ${oneLine(text)}: give a number from 0 to 65535, 0 for any free port`);
  }
  return Number(text);
}

/**
 * The life of a script that is a node, or several: starts them, says how to use them, and ends them on a signal.
 * @template {Pick<RunningNode, 'ended' | 'stop'>} T
 * @param {string} name
 * @param {(signal: AbortSignal) => Promise<T>} start
 * @param {(node: T) => string} describe
 */
export async function serve(name, start, describe) {
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end.abort());
  try {
    const node = await start(end.signal);
    console.log(describe(node));
    const lastWords = await node.ended();
    await node.stop();
    if (!end.signal.aborted) throw new UnavailableError(`the node ended by itself: ${lastWords}`);
  } catch (error) {
    if (end.signal.aborted) return; // to be stopped while starting is no failure
    const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
    const usage = String(code).startsWith('ERR_PARSE_ARGS');
    process.stderr.write(`${name}: ${oneLine(message)}\n`);
    process.exitCode = error instanceof StressError ? error.exitCode : usage ? EXIT.usage : EXIT.unavailable;
  }
}
