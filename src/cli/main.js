import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { EXIT, StressError, WorkloadError, oneLine } from '../errors.js';
import { stderr, stdout } from '../outputs/streams.js';
import { columnsOf } from '../outputs/terminal.js';
import { hangingIndent, printable } from '../text.js';

/** @import { Invocation } from './config.js' */

/** Longest output of a compiler that is shown, in characters. */
const MOST_DETAILS = 10_000;

/**
 * The whole program, but for setting the exit code.
 * @param {string[]} argv without node and script
 * @param {NodeJS.ProcessEnv} env
 * @param {() => void} [leave] called at the end if something may keep the process alive: timers and sockets of a user's
 *   workload, or output that is not read
 * @param {() => void} [begin] called before the command begins, which ends at a signal in its own way
 * @returns {Promise<number>} the exit code
 */
export async function main(argv, env, leave = () => {}, begin = () => {}) {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  let [logFormat, logFile] = ['text', /** @type {string | null} */ (null)];
  let isGuest = false;
  let isWritten = true;
  try {
    const invocation = await invocationOf(argv, env, version);
    if (invocation.kind === 'text') {
      stdout.write(`${invocation.text}\n`);
      return invocation.exitCode ?? EXIT.ok;
    }
    const [{ createLog }, { runCommand }] = await Promise.all([import('../outputs/log.js'), import('./session.js')]);
    const log = createLog(invocation.config.outputs);
    ({ logFormat, logFile } = invocation.config.outputs);
    isGuest = invocation.workloadFiles.length > 0;
    begin();
    const { exitCode, errors } = await runCommand(invocation, { log, version }, async () => {
      isWritten = await allWritten();
    });
    for (const error of errors) complain(error, env);
    return exitCode;
  } catch (error) {
    const exitCode = error instanceof StressError ? error.exitCode : EXIT.internal;
    const hasScreen = logFormat === 'json';
    if (!hasScreen) complain(error, env);
    if (hasScreen || logFile !== null) {
      const { createLog } = await import('../outputs/log.js');
      createLog({ logLevel: 'error', logFormat, logFile, quiet: true, hasScreen }).fatal(lineOf(error), exitCode);
    }
    return exitCode;
  } finally {
    isWritten &&= await allWritten();
    if (isGuest || !isWritten) leave();
  }
}

/** Each part is loaded when it is needed: help does not wait for a parser, nor a usage error for the engine. @param {string[]} argv @param {NodeJS.ProcessEnv} env @param {string} version @returns {Promise<Invocation>} */
async function invocationOf(argv, env, version) {
  const { columns } = process.stdout;
  const isVersion = argv.includes('--version') || argv.includes('-V') || argv[0] === 'version';
  if (isVersion && argv[1] !== '--') return { kind: 'text', text: version };
  const { textOf } = await import('./help.js');
  const text = textOf(argv, columns);
  if (text !== null) return { kind: 'text', text };
  const { readInvocation } = await import('./config.js');
  return readInvocation(argv, env, version, { columns });
}

/** Waits until a stopped terminal or an unread pipe has read everything. A signal ends the wait. @returns {Promise<boolean>} whether all was written */
async function allWritten() {
  const wait = new AbortController();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => once(process, name, wait).then(() => false));
  const written = Promise.all([stdout.written(), stderr.written()]).then(() => setImmediate(true));
  return Promise.race([written, ...signals]).finally(() => wait.abort());
}

/** @param {unknown} error @returns {string} one clear line */
function lineOf(error) {
  const { message } = /** @type {Error} */ (error);
  const words = error instanceof StressError ? message : `unexpected: ${message}. This is a bug of stress`;
  return oneLine(words, 1500);
}

/** Never prints a stack trace, unless a developer asks for it. @param {unknown} error @param {NodeJS.ProcessEnv} env */
function complain(error, env) {
  stderr.write(`${hangingIndent(`stress: ${lineOf(error)}`, columnsOf(stderr.stream))}\n`);
  if (error instanceof WorkloadError && error.details !== null)
    stderr.write(`${printable(error.details.slice(0, MOST_DETAILS))}\n`);
  const isOurs = error instanceof StressError;
  if (!isOurs && env.STRESS_LOG_LEVEL === 'debug') stderr.write(`${/** @type {Error} */ (error).stack}\n`);
}
