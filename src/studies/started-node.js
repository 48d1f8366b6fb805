import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createRpc, displayUrl, secretsOf } from '../chain/rpc.js';
import { TransportError, UnavailableError, displayName, oneLine, withoutKeys } from '../errors.js';
import { cannotWrite } from '../files.js';
import { chooseTransport, transports } from '../transport/index.js';

/**
 * A node that a command of the user starts for one run, as --start-a, --start-b and stress bisect need it.
 *
 * @import { Clock } from '../types.d.ts'
 * @import { Stop } from '../core/stop.js'
 *
 * @typedef {object} StartedNode
 * @property {() => Promise<void>} stop ends all processes of the command
 *
 * @typedef {object} NodeCommand
 * @property {string} name of the option, for messages
 * @property {string} command for the shell; it runs as long as the node
 * @property {URL} url at which the node answers
 * @property {string} log file for its output, of the last start only
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} env all of its environment
 * @property {Clock} clock
 * @property {Stop} stop
 * @property {number} [timeLimitMs] for its first answer
 */

const KEEPER = fileURLToPath(new URL('node-keeper.js', import.meta.url));
const LONGEST_START_MS = 60_000;
const POLL_MS = 100;
const TIMEOUT_MS = 2000;
/** Of a log that a message repeats. */
const LAST_LINES = 2;

/** @param {NodeCommand} how @returns {Promise<StartedNode | null>} null: interrupted @throws {UnavailableError} */
export async function startNode({ name, command, cwd, url, log, env, clock, stop, timeLimitMs = LONGEST_START_MS }) {
  const label = `${name} ${oneLine(withoutKeys(command), 100)}`;
  const shown = displayUrl(url);
  if ((await probe(url)) !== 'nothing')
    throw new UnavailableError(
      `cannot start a node with ${label}: ${shown} answers already; end the node that listens there, or give another URL`,
    );
  const { ended, end } = launch(command, { cwd, env, log });
  let exit = /** @type {string | null} */ (null);
  void ended.then((words) => (exit = words));
  const deadlineUs = clock.nowUs() + timeLimitMs * 1000;
  let why = '';
  while (why === '' && !stop.drain.aborted) {
    if (exit !== null) why = `it ended (${exit}) before ${shown} answered`;
    else if ((await probe(url)) === 'chain') return { stop: end };
    else if (clock.nowUs() >= deadlineUs) why = `${shown} did not answer within ${timeLimitMs / 1000} s`;
    else await clock.sleep(POLL_MS, stop.drain);
  }
  await end();
  if (why === '') return null;
  throw new UnavailableError(`${label}: ${why}; ${lastWords(log)}`);
}

/** @param {string} command @param {{cwd?: string, env: NodeJS.ProcessEnv, log: string}} how */
export function launch(command, { cwd, env, log }) {
  let output;
  try {
    output = openSync(log, 'w');
  } catch (error) {
    throw cannotWrite(log, error);
  }
  // Ctrl-C must not reach the node before the drain of the run ends.
  const keeper = spawn(process.execPath, [KEEPER, command], {
    ...{ cwd, env, detached: true },
    stdio: ['pipe', output, output],
  });
  closeSync(output);
  keeper.stdin?.on('error', () => {}); // the keeper may have ended
  /** @type {Promise<string>} */
  const ended = new Promise((resolve) => {
    keeper.once('error', (error) => resolve(oneLine(error.message)));
    keeper.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const end = async () => {
    keeper.stdin?.end();
    await ended;
  };
  return { ended, end };
}

/** @param {URL} url @returns {Promise<'chain' | 'nothing' | 'other'>} what answers there */
async function probe(url) {
  const options = { url, connections: 1, timeoutMs: TIMEOUT_MS, insecure: true };
  const transport = transports[chooseTransport('auto', url)](options);
  try {
    await createRpc(transport, displayUrl(url), { secrets: secretsOf(url) }).call('eth_chainId', [], 'setup');
    return 'chain';
  } catch (error) {
    return error instanceof TransportError ? 'nothing' : 'other';
  } finally {
    await transport.close();
  }
}

/** @param {string} log */
export function lastWords(log) {
  const lines = readFileSync(log, 'utf8').trim().split('\n').slice(-LAST_LINES);
  const words = oneLine(withoutKeys(lines.map((line) => line.trim()).join(' | ')), 300);
  return words === '' ? 'it printed nothing' : `its last words: ${words} (all of them in ${displayName(log)})`;
}
