import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { createClock } from '../clock.js';
import { EXIT, StressError, WorkloadError, displayName, oneLine, worstExit } from '../errors.js';
import { printable } from '../output/format.js';
import { createLog } from '../output/log.js';
import { createProgress } from '../output/progress.js';
import { Stop } from '../run/stop.js';
import { isWorkloadFile, strayErrorOf } from '../workload/load-file.js';
import { commands } from './commands.js';
import { readInvocation } from './config.js';
import { connectSignals } from './signals.js';

/** How much of what a compiler says is shown, in characters. */
const MOST_DETAILS = 10_000;

/**
 * The whole program, but for setting the exit code.
 * @param {string[]} argv without node and script
 * @param {NodeJS.ProcessEnv} env
 * @param {() => void} [onGuest] called at the end, where a workload of the user's own may have left timers and sockets
 * @returns {Promise<number>} the exit code
 */
export async function main(argv, env, onGuest = () => {}) {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  /** @type {string | null} */
  let logFile = null;
  try {
    const invocation = await readInvocation(argv, env, version);
    if (invocation.kind === 'text') {
      process.stdout.write(`${invocation.text}\n`);
      return EXIT.ok;
    }
    const { command, config, warnings } = invocation;
    const log = createLog(config);
    logFile = config.logFile;
    for (const warning of warnings) log.warn(warning);
    const stop = new Stop();
    const clock = createClock();
    const disconnect = connectSignals(stop, clock, (thrown) => strayErrorOf(config.workload, thrown));
    const heedNoExit = isWorkloadFile(config.workload) ? heedExit(config.workload) : () => {};
    const progress = createProgress(process.stderr, config.quiet);
    try {
      const exitCode = await commands[command](config, { clock, log, stop, version, onProgress: progress.update });
      // What was said last may turn out to be lost only now.
      await setImmediate();
      // A run has a log for it.
      if (command !== 'run') for (const error of stop.errors) complain(error, env);
      return worstExit([exitCode, ...stop.exitCodes.filter((code) => code === EXIT.cannotWrite)]);
    } catch (error) {
      // Whatever still waits, and would ask again, keeps the process alive for nothing.
      stop.request('failed');
      stop.hurry();
      throw error;
    } finally {
      if (isWorkloadFile(config.workload)) onGuest();
      progress.stop();
      disconnect();
      heedNoExit();
    }
  } catch (error) {
    const line = complain(error, env);
    if (logFile !== null) createLog({ logLevel: 'error', logFile, quiet: true, hasScreen: false }).fatal(line);
    return error instanceof StressError ? error.exitCode : EXIT.internal;
  }
}

/**
 * The user's file may end the process in mid-run. Whoever waits for its exit code must not take that for a good end.
 * @param {string} workload
 * @returns {() => void} whatever ends it from now on is not heeded
 */
function heedExit(workload) {
  const onExit = () => {
    process.exitCode = EXIT.badInput;
    process.stderr.write(
      `stress: ${displayName(workload)}: the process was ended before the run was over: a workload must not call process.exit()\n`,
    );
  };
  process.on('exit', onExit);
  return () => void process.off('exit', onExit);
}

/** One clear line, never a stack trace, unless a developer asks for it. @param {unknown} error @param {NodeJS.ProcessEnv} env */
function complain(error, env) {
  const { message, stack } = /** @type {Error} */ (error);
  const isOurs = error instanceof StressError;
  const line = oneLine(isOurs ? message : `unexpected: ${message}. This is a bug of stress`, 1500);
  process.stderr.write(`stress: ${line}\n`);
  if (error instanceof WorkloadError && error.details !== null)
    process.stderr.write(`${printable(error.details.slice(0, MOST_DETAILS))}\n`);
  if (!isOurs && env.STRESS_LOG_LEVEL === 'debug') process.stderr.write(`${stack}\n`);
  return line;
}
