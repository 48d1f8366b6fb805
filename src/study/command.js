import { spawn } from 'node:child_process';
import { constants as osConstants } from 'node:os';
import { InterruptedError, UnavailableError, UsageError, oneLine, withoutKeys } from '../errors.js';

/**
 * @import { Clock } from '../clock.js'
 * @import { Stop } from '../run/stop.js'
 * @import { ChildProcess } from 'node:child_process'
 */

/** Programs of the user's own that a study starts, without a shell. */

/** It takes no longer than this. */
const LONGEST_MS = 300_000;
/** Who does not end when asked to is ended. */
const GRACE_MS = 3000;

/**
 * Words as a POSIX shell would make them, of quotes and backslashes; nothing else means anything.
 * @param {string} text
 * @returns {string[]} at least one
 * @throws {UsageError}
 */
export function splitWords(text) {
  const words = [...text.matchAll(/(?:[^\s'"\\]+|\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*")+|\S/g)].map(([word]) => word);
  const open = words.find((word) => /^['"\\]$/.test(word));
  if (open !== undefined)
    throw new UsageError(
      open === '\\' ? '--before-cell ends with a backslash' : `--before-cell has a ${open} that is not closed`,
    );
  if (words.length === 0 || unquoted(words[0]) === '') throw new UsageError('--before-cell names no program');
  return words.map(unquoted);
}

/** @param {string} word */
function unquoted(word) {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])/g, (_, single, double, escaped) => {
    if (escaped !== undefined) return escaped === '\n' ? '' : escaped;
    // Between double quotes a backslash stands for itself, but before what it can quote.
    return (
      single ??
      double.replace(/\\([$`"\\\n])/g, (/** @type {string} */ _two, /** @type {string} */ one) =>
        one === '\n' ? '' : one,
      )
    );
  });
}

/**
 * @param {object} options
 * @param {readonly string[]} options.words
 * @param {NodeJS.ProcessEnv} options.env all of its environment
 * @param {boolean} options.quiet whether what it says is to be thrown away; else it goes to our standard error
 * @param {string} options.before what for, for messages
 * @param {Stop} options.stop
 * @param {Clock} options.clock
 * @throws {UnavailableError | InterruptedError}
 */
export async function runCommand({ words, env, quiet, before, stop, clock }) {
  const [program, ...args] = words;
  const output = quiet ? 'ignore' : 2;
  // In a group of its own, so that what it starts can be ended with it.
  const child = spawn(program, args, { env, stdio: ['ignore', output, output], detached: true });
  let isLate = false;
  let forget = () => {};
  const end = () => {
    endGroup(child, 'SIGTERM');
    forget = clock.after(() => endGroup(child, 'SIGKILL'), GRACE_MS);
  };
  const hurry = () => endGroup(child, 'SIGKILL');
  const cancel = clock.after(() => {
    isLate = true;
    end();
  }, LONGEST_MS);
  stop.drain.addEventListener('abort', end);
  stop.now.addEventListener('abort', hurry);
  if (stop.drain.aborted) end();
  try {
    const said = await endOf(child);
    if (stop.drain.aborted) throw new InterruptedError('interrupted', stop.exitCodes[0]);
    const name = oneLine(withoutKeys(words.join(' ')), 100);
    if (isLate) throw new UnavailableError(`--before-cell ${name} had not ended after 5 minutes, before ${before}`);
    if (said !== null) throw new UnavailableError(`--before-cell ${name} ${said}, before ${before}`);
  } finally {
    cancel();
    forget();
    stop.drain.removeEventListener('abort', end);
    stop.now.removeEventListener('abort', hurry);
  }
}

/** @param {ChildProcess} child @returns {Promise<string | null>} what went wrong */
function endOf(child) {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(code === 0 ? null : `ended with exit code ${code ?? 128 + osConstants.signals[signal ?? 'SIGKILL']}`),
    );
    child.once('error', ({ message }) => resolve(`could not be started: ${oneLine(message)}`));
  });
}

/** @param {ChildProcess} child @param {NodeJS.Signals} signal */
function endGroup({ pid }, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // All of it has ended.
  }
}
