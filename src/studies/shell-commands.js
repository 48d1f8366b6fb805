import { closeSync, openSync, readFileSync } from 'node:fs';
import { launch } from '../chain/devchain.js';
import { CHAIN_ID, ask } from '../chain/answers.js';
import { createRpc, displayUrl, secretsOf } from '../chain/rpc.js';
import { TransportError, UnavailableError, displayName, oneLine, withoutKeys } from '../errors.js';
import { cannotWrite } from '../files.js';
import { chooseTransport } from '../transport/choose.js';
import { transports } from '../transport/index.js';

/**
 * Commands of the user for the shell: those that start a node for one run (--start, --start-a, --start-b), and those that
 * end by themselves (--build, --before-cell). What they start ends with them, or with this process. A command may contain
 * secrets: messages name its option.
 *
 * @import { Clock, Stop } from '../contracts/common.d.ts'
 *
 * @typedef {object} Command
 * @property {string} command
 * @property {string} log file for its output, of the last start only
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} env all of its environment
 *
 * @typedef {Command & {name: string, url: URL}} NodeCommand name: of the option; url: at which the node answers
 *
 * @typedef {{clock: Clock, stop: Stop, timeLimitMs?: number}} Limits
 */

/** A node may have to write its database. */
const GRACE_MS = 10_000;
const LONGEST_START_MS = 60_000;
/** A day: a build may take long. */
const LONGEST_COMMAND_MS = 86_400_000;
const POLL_MS = 100;
const TIMEOUT_MS = 2000;
/** Lines of a log that a message repeats. */
const LAST_LINES = 2;

/** @param {NodeCommand & Limits} how @returns {Promise<{stop: () => Promise<void>} | null>} null: interrupted @throws {UnavailableError} */
export async function startNode({ name, url, clock, stop, timeLimitMs = LONGEST_START_MS, ...how }) {
  const shown = displayUrl(url);
  if ((await probe(url)) !== 'nothing')
    throw new UnavailableError(
      `cannot start a node with ${name}: ${shown} answers already; end the node that listens there, or give another URL`,
    );
  const { ended, end } = launchInto(how);
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
  throw new UnavailableError(`${name}: ${why}; ${lastWords(how.log)}`);
}

/** A command that ends by itself. @param {Command & Limits & {leaves?: boolean}} how leaves: what it started may go on running @returns {Promise<string | null>} how it failed; null: exit code 0, or interrupted */
export async function runCommand({ clock, stop, leaves = false, timeLimitMs = LONGEST_COMMAND_MS, ...how }) {
  const { ended, end } = launchInto(how, leaves);
  let isLate = false;
  const cancel = clock.after(() => {
    isLate = true;
    void end();
  }, timeLimitMs);
  const interrupt = () => void end();
  stop.drain.addEventListener('abort', interrupt);
  if (stop.drain.aborted) interrupt();
  const exit = await ended;
  cancel();
  stop.drain.removeEventListener('abort', interrupt);
  if (exit === 'exit code 0' || stop.drain.aborted) return null;
  return `${isLate ? `it had not ended after ${timeLimitMs / 60_000} minutes` : exit}; ${lastWords(how.log)}`;
}

/** @param {Command} how @param {boolean} [leaves] */
function launchInto({ command, cwd, env, log }, leaves = false) {
  let output;
  try {
    output = openSync(log, 'w');
  } catch (error) {
    throw cannotWrite(log, error);
  }
  const { ended, stop } = launch([command], { graceMs: GRACE_MS, leaves }, { cwd, env, output });
  closeSync(output);
  return { ended, end: stop };
}

/** @param {URL} url @returns {Promise<'chain' | 'nothing' | 'other'>} what answers there */
async function probe(url) {
  const options = { url, connections: 1, timeoutMs: TIMEOUT_MS, insecure: true };
  const transport = transports[chooseTransport('auto', url)](options);
  try {
    await ask(createRpc(transport, displayUrl(url), { secrets: secretsOf(url) }), CHAIN_ID, 'setup');
    return 'chain';
  } catch (error) {
    return error instanceof TransportError ? 'nothing' : 'other';
  } finally {
    await transport.close();
  }
}

/** @param {string} log */
function lastWords(log) {
  const lines = readFileSync(log, 'utf8').trim().split('\n').slice(-LAST_LINES);
  const words = oneLine(withoutKeys(lines.map((line) => line.trim()).join(' | ')), 300);
  return words === '' ? 'it printed nothing' : `its last words: ${words} (all of them in ${displayName(log)})`;
}
