import { fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { constants as osConstants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { EXIT, oneLine } from '../errors.js';
import { readRunFiles } from './run-file.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Stop } from '../run/stop.js'
 * @import { ChildProcess } from 'node:child_process'
 */

/**
 * One run of a study: a process of its own, so that no run is faster for what the one before it has warmed up, and the
 * death of one is not the end of the study. It ends, in good order, when the study does.
 *
 * @typedef {object} Finished
 * @property {number} exitCode
 * @property {RunFile | null} run null when it left no whole run file
 * @property {string | null} complaint the last line that it wrote to its standard error
 */

const PROGRAM = fileURLToPath(new URL('../../bin/stress.js', import.meta.url));

/** As much of what a run complains about is kept. */
const LONGEST_COMPLAINT = 10_000;

/**
 * @param {object} options
 * @param {readonly string[]} options.args of stress, but for --out
 * @param {NodeJS.ProcessEnv} options.env all of its environment
 * @param {string} options.out its run file; one that is there already is removed before
 * @param {Stop} options.stop passed on: a first wish to end drains it, a second one hurries it
 * @returns {Promise<Finished>}
 */
export async function runChild({ args, env, out, stop }) {
  rmSync(out, { force: true });
  const child = fork(PROGRAM, [...args, `--out=${out}`, '--quiet', '--log-level=error'], {
    env,
    execArgv: [],
    serialization: 'json',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // A Ctrl-C goes to every process of a terminal's group. This one gets it once, from us.
    detached: true,
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk) => {
    stderr = (stderr + chunk).slice(-LONGEST_COMPLAINT);
  });
  const drain = () => void child.kill(stop.reason === 'interrupted' ? 'SIGINT' : 'SIGTERM');
  const hurry = () => void child.kill('SIGINT');
  stop.drain.addEventListener('abort', drain);
  stop.now.addEventListener('abort', hurry);
  if (stop.drain.aborted) drain();
  try {
    const exitCode = await exitOf(child);
    const lines = stderr.trim().split('\n');
    const complaint = oneLine(lines.at(-1)?.replace(/^stress: /, '') ?? '', 1500);
    return { exitCode, run: await readRun(out), complaint: complaint === '' ? null : complaint };
  } finally {
    stop.drain.removeEventListener('abort', drain);
    stop.now.removeEventListener('abort', hurry);
  }
}

/** Whether a run ended because somebody wanted it to. @param {number} exitCode */
export function isInterruption(exitCode) {
  return exitCode === EXIT.interrupted || exitCode === EXIT.terminated || exitCode === EXIT.hangup;
}

/** @param {ChildProcess} child @returns {Promise<number>} */
function exitOf(child) {
  return new Promise((resolve) => {
    // After 'close' nothing more is to be read from it.
    child.once('close', (code, signal) => resolve(code ?? 128 + osConstants.signals[signal ?? 'SIGKILL']));
    child.once('error', () => resolve(EXIT.unavailable));
  });
}

/** @param {string} file @returns {Promise<RunFile | null>} */
async function readRun(file) {
  try {
    const [run] = await readRunFiles([file]);
    return run;
  } catch {
    return null;
  }
}
