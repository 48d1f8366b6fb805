import { createPlatform } from '../core/platform.js';
import { Stop } from '../core/stop.js';
import { EXIT, InternalError, OutputError, displayName, worstExit } from '../errors.js';
import { cannotWrite } from '../files.js';
import { createProgress } from '../outputs/console.js';
import { status, stderr, stdout } from '../outputs/streams.js';
import { strayErrorOf } from '../workloads/user-code.js';
import { commands } from './commands.js';

/**
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { StressError } from '../errors.js'
 * @import { RunContext } from './commands.js'
 * @import { Invocation } from './config.js'
 */

/** Exit codes of errors beside the result of a command. @type {readonly number[]} */
const SERIOUS = Object.freeze([EXIT.cannotWrite, EXIT.internal]);

/**
 * A command with everything around it: signals and progress.
 * @param {Extract<Invocation, {kind: 'command'}>} invocation
 * @param {Pick<RunContext, 'log' | 'version'>} context
 * @param {() => Promise<unknown>} allWritten waits for the readers of the output
 * @returns {Promise<{exitCode: number, errors: Error[]}>} errors: those that nothing has shown yet
 */
export async function runCommand({ command, config, warnings, notices, workloadFiles }, { log, version }, allWritten) {
  const { logFormat, quiet } = config.outputs;
  for (const warning of warnings) log.warn(warning);
  for (const notice of notices) {
    if (logFormat === 'json') log.info(notice);
    else if (!quiet) stderr.write(`stress: ${notice}\n`);
  }
  const stop = new Stop();
  const platform = createPlatform();
  const { clock } = platform;
  const [userFile] = workloadFiles;
  const disconnect = connectSignals(stop, clock, (thrown) =>
    strayErrorOf(userFile ?? config.workload.workload, thrown),
  );
  const ignoreExit = userFile === undefined ? () => {} : catchExit(userFile);
  const isQuiet = quiet || logFormat === 'json';
  const progress = createProgress({ stream: stderr, status, clock, isQuiet });
  try {
    const exitCode = await commands[command](config, { ...platform, log, stop, version, onProgress: progress.update });
    await allWritten();
    return {
      exitCode: worstExit([exitCode, ...stop.exitCodes.filter((code) => SERIOUS.includes(code))]),
      // A run has logged its errors; only its last write may have failed since.
      errors: stop.errors.filter((error) => command !== 'run' || error instanceof OutputError),
    };
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
}

/** A second signal within this time counts as the first: npm repeats a Ctrl-C that the terminal has sent already. */
const SAME_SIGNAL_US = 300_000;

/** Errors of a full disk. A closed pipe or terminal is not an error: its reader has ended. */
const NO_ROOM = Object.freeze(['ENOSPC', 'EDQUOT', 'EFBIG']);

/**
 * Signals and uncaught errors: the first signal drains the run, the second one ends it at once.
 * @param {Stop} stop
 * @param {Clock} clock
 * @param {(thrown: unknown) => StressError | null} [ofWorkload] whether the user's own workload threw it
 * @returns {() => void} takes the handlers away again
 */
export function connectSignals(stop, clock, ofWorkload = () => null) {
  let firstAtUs = Infinity;
  /** @param {string} reason @param {number} exitCode */
  const signal = (reason, exitCode) => () => {
    const nowUs = clock.nowUs();
    if (nowUs - firstAtUs > SAME_SIGNAL_US) stop.abort();
    firstAtUs = Math.min(firstAtUs, nowUs);
    stop.request(reason, exitCode);
  };
  /** @param {unknown} thrown */
  const bug = (thrown) => {
    const theirs = ofWorkload(thrown);
    if (theirs !== null) return stop.request('workload_failed', theirs.exitCode, theirs);
    const words = thrown instanceof Error ? thrown.message : String(thrown);
    stop.request('internal', EXIT.internal, new InternalError(`unexpected: ${words}. This is a bug of stress`, thrown));
  };
  // A closed reader (stress | head) or terminal ends the run with a drain.
  const closed = (/** @type {NodeJS.ErrnoException} */ error) => {
    if (!NO_ROOM.includes(error.code ?? '')) stop.request('output_closed');
    else stop.request('output_closed', EXIT.cannotWrite, cannotWrite('standard output', error));
  };
  /** @type {Array<[NodeJS.EventEmitter, string, (...args: any[]) => void]>} */
  const handlers = [
    [process, 'SIGINT', signal('interrupted', EXIT.interrupted)],
    [process, 'SIGTERM', signal('terminated', EXIT.terminated)],
    [process, 'SIGHUP', signal('hangup', EXIT.hangup)],
    [process, 'uncaughtException', bug],
    [process, 'unhandledRejection', bug],
    [stdout.stream, 'error', closed],
  ];
  for (const [emitter, event, handler] of handlers) emitter.on(event, handler);
  return () => handlers.forEach(([emitter, event, handler]) => emitter.off(event, handler));
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
