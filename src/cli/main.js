import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import {
  EXIT,
  InternalError,
  OutputError,
  StressError,
  WorkloadError,
  displayName,
  oneLine,
  worstExit,
} from '../errors.js';
import { cannotWrite, isWorkloadFile } from '../files.js';
import { status, stderr, stdout } from '../outputs/streams.js';
import { columnsOf } from '../outputs/terminal.js';
import { hanging, printable } from '../text.js';

/**
 * @import { Stop } from '../core/stop.js'
 * @import { Clock } from '../types.d.ts'
 * @import { Command } from './options.js'
 */

/** A second signal within this time counts as the first: npm repeats a Ctrl-C that the terminal has sent already. */
const SAME_SIGNAL_US = 300_000;

/** Errors of a full disk. A closed pipe or terminal is not an error: its reader has ended. */
const NO_ROOM = Object.freeze(['ENOSPC', 'EDQUOT', 'EFBIG']);

/**
 * Signals, lost parents and uncaught errors: the first signal drains the run, the second one ends it at once.
 * @param {Stop} stop
 * @param {Clock} clock
 * @param {(thrown: unknown) => StressError | null} [ofWorkload] whether the user's own workload threw it
 * @returns {() => void} takes the handlers away again
 */
export function connectSignals(stop, clock, ofWorkload = () => null) {
  /** @type {Array<[NodeJS.EventEmitter, string, (...args: any[]) => void]>} */
  const handlers = [];
  /** @param {NodeJS.EventEmitter} emitter @param {string} event @param {(...args: any[]) => void} handler */
  const on = (emitter, event, handler) => {
    emitter.on(event, handler);
    handlers.push([emitter, event, handler]);
  };
  let firstAtUs = Infinity;
  /** @param {string} reason @param {number} exitCode */
  const signal = (reason, exitCode) => () => {
    const nowUs = clock.nowUs();
    if (nowUs - firstAtUs > SAME_SIGNAL_US) stop.abort();
    firstAtUs = Math.min(firstAtUs, nowUs);
    stop.request(reason, exitCode);
  };
  on(process, 'SIGINT', signal('interrupted', EXIT.interrupted));
  on(process, 'SIGTERM', signal('terminated', EXIT.terminated));
  on(process, 'SIGHUP', signal('hangup', EXIT.hangup));
  // A parent process with an IPC channel has ended: its children end too.
  if (process.channel !== undefined) on(process, 'disconnect', signal('terminated', EXIT.terminated));
  /** @param {unknown} thrown */
  const bug = (thrown) => {
    const theirs = ofWorkload(thrown);
    if (theirs !== null) return stop.request('workload_failed', theirs.exitCode, theirs);
    const words = thrown instanceof Error ? thrown.message : String(thrown);
    stop.request('internal', EXIT.internal, new InternalError(`unexpected: ${words}. This is a bug of stress`, thrown));
  };
  on(process, 'uncaughtException', bug);
  on(process, 'unhandledRejection', bug);
  // A closed reader (stress | head) or terminal ends the run with a drain.
  on(stdout.stream, 'error', (/** @type {NodeJS.ErrnoException} */ error) => {
    if (!NO_ROOM.includes(error.code ?? '')) stop.request('output_closed');
    else stop.request('output_closed', EXIT.cannotWrite, cannotWrite('standard output', error));
  });
  return () => handlers.forEach(([emitter, event, handler]) => emitter.off(event, handler));
}

/** Exit codes of errors beside the result of a command. @type {readonly number[]} */
const SERIOUS = Object.freeze([EXIT.cannotWrite, EXIT.internal]);

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
    const text = await textOf(argv, version);
    if (text !== null) {
      stdout.write(`${text}\n`);
      return EXIT.ok;
    }
    // Each part is loaded when it is needed: a usage error does not wait for the engine.
    const { readInvocation } = await import('./config.js');
    const invocation = await readInvocation(argv, env, version, { columns: process.stdout.columns });
    if (invocation.kind === 'text') {
      stdout.write(`${invocation.text}\n`);
      return invocation.exitCode ?? EXIT.ok;
    }
    const { command, config, warnings, notices } = invocation;
    const { commands, createClock, createProgress, createLog, Stop, strayErrorOf } = await loadParts();
    const log = createLog(config);
    ({ logFormat, logFile } = config);
    for (const warning of warnings) log.warn(warning);
    for (const notice of notices) {
      if (logFormat === 'json') log.info(notice);
      else if (!config.quiet) stderr.write(`stress: ${notice}\n`);
    }
    begin();
    const stop = new Stop();
    const clock = createClock();
    const guest = [config.workload, ...config.mix.map(({ name }) => name)].find(isWorkloadFile);
    const disconnect = connectSignals(stop, clock, (thrown) => strayErrorOf(guest ?? config.workload, thrown));
    isGuest = guest !== undefined;
    const ignoreExit = guest === undefined ? () => {} : catchExit(guest);
    const progress = createProgress({ stream: stderr, status, clock, isQuiet: config.quiet || logFormat === 'json' });
    try {
      const exitCode = await commands[command](config, { clock, log, stop, version, onProgress: progress.update });
      isWritten = await allWritten();
      // A run has logged its errors; only its last write may have failed since.
      for (const error of stop.errors) if (command !== 'run' || error instanceof OutputError) complain(error, env);
      return worstExit([exitCode, ...stop.exitCodes.filter((code) => SERIOUS.includes(code))]);
    } catch (error) {
      // Pending retries would keep the process alive.
      stop.request('failed');
      stop.abort();
      throw error;
    } finally {
      progress.stop();
      disconnect();
      ignoreExit();
    }
  } catch (error) {
    const exitCode = error instanceof StressError ? error.exitCode : EXIT.internal;
    const hasScreen = logFormat === 'json';
    if (!hasScreen) complain(error, env);
    if (hasScreen || logFile !== null) {
      const { createLog } = await loadParts();
      createLog({ logLevel: 'error', logFormat, logFile, quiet: true, hasScreen }).fatal(lineOf(error), exitCode);
    }
    return exitCode;
  } finally {
    isWritten &&= await allWritten();
    if (isGuest || !isWritten) leave();
  }
}

/** --help and --version load no parser. @param {string[]} argv @param {string} version @returns {Promise<string | null>} */
async function textOf(argv, version) {
  const [word = '', ...words] = argv[0] === 'help' ? [...argv.slice(1), '--help'].toReversed() : argv.toReversed();
  if (argv.length === 1 && ['--version', '-V', 'version'].includes(word)) return version;
  if (!['--help', '-h', '--help-all'].includes(word) || words.length > 1) return null;
  const [{ helpText }, { COMMAND_NAMES }] = await Promise.all([import('./help.js'), import('./options.js')]);
  const [given = 'run'] = words;
  const command = COMMAND_NAMES.find((name) => name === given);
  const how = { all: word === '--help-all', columns: process.stdout.columns };
  return command === undefined ? null : helpText(command, how);
}

/** The modules that every command needs. */
async function loadParts() {
  const parts = await Promise.all([
    import('./commands.js'),
    import('../clock.js'),
    import('../core/stop.js'),
    import('../outputs/console.js'),
    import('../outputs/log.js'),
    import('../workloads/user-code.js'),
  ]);
  const [{ commands }, { createClock }, { Stop }, { createProgress }, { createLog }, { strayErrorOf }] = parts;
  return { commands, createClock, createProgress, createLog, Stop, strayErrorOf };
}

/** Waits until a stopped terminal or an unread pipe has read everything. A signal ends the wait. @returns {Promise<boolean>} whether all was written */
async function allWritten() {
  const wait = new AbortController();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => once(process, name, wait).then(() => false));
  const written = Promise.all([stdout.written(), stderr.written()]).then(() => setImmediate(true));
  return Promise.race([written, ...signals]).finally(() => wait.abort());
}

/** The user's workload may end the process during a run, which must not give exit code 0. @param {string} workload @returns {() => void} ends the watch */
function catchExit(workload) {
  const onExit = () => {
    process.exitCode = EXIT.badInput;
    process.stderr.write(
      `stress: ${displayName(workload)}: the process was ended before the run was over: a workload must not call process.exit()\n`,
    );
  };
  process.on('exit', onExit);
  return () => void process.off('exit', onExit);
}

/** @param {unknown} error @returns {string} one clear line */
function lineOf(error) {
  const { message } = /** @type {Error} */ (error);
  const words = error instanceof StressError ? message : `unexpected: ${message}. This is a bug of stress`;
  return oneLine(words, 1500);
}

/** Never prints a stack trace, unless a developer asks for it. @param {unknown} error @param {NodeJS.ProcessEnv} env */
function complain(error, env) {
  stderr.write(`${hanging(`stress: ${lineOf(error)}`, columnsOf(stderr.stream))}\n`);
  if (error instanceof WorkloadError && error.details !== null)
    stderr.write(`${printable(error.details.slice(0, MOST_DETAILS))}\n`);
  const isOurs = error instanceof StressError;
  if (!isOurs && env.STRESS_LOG_LEVEL === 'debug') stderr.write(`${/** @type {Error} */ (error).stack}\n`);
}
