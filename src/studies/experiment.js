import { fork, spawn } from 'node:child_process';
import { accessSync, constants, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants as osConstants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT, OutputError, UnavailableError, displayName, oneLine, withoutKeys } from '../errors.js';
import { cannotWrite, makeFolder } from '../files.js';
import { shortWindow } from '../stats/growth.js';
import { isWhole, readIfAny, runFileReader } from './run-files.js';

/**
 * @import { Config, Parts, RunFile } from '../types.d.ts'
 * @import { Stop } from '../core/stop.js'
 * @import { ChildProcess } from 'node:child_process'
 */

/**
 * The experiment: makes the runs of a study one after the other, in a folder that it locks. A run is a separate process,
 * so that no run profits from the warm-up of an earlier one, and a crash does not end the study.
 *
 * @typedef {object} Finished a process
 * @property {number} exitCode
 * @property {RunFile | null} run null: it left no run file
 * @property {string | null} complaint its last line on standard error
 */

const PROGRAM = fileURLToPath(new URL('../../bin/stress.js', import.meta.url));

const MAX_STDERR = 10_000;

/**
 * @param {object} options
 * @param {readonly string[]} options.args of stress, without --out
 * @param {NodeJS.ProcessEnv} options.env all of its environment
 * @param {string} options.out its run file; an existing one is removed first
 * @param {Stop} options.stop passed on: the first request starts its drain, the second ends it
 * @returns {Promise<Finished>}
 */
export async function runChild({ args, env, out, stop }) {
  rmSync(out, { force: true });
  const child = fork(PROGRAM, [...args, `--out=${out}`, '--quiet', '--log-level=error'], {
    env,
    execArgv: [],
    serialization: 'json',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // Ctrl-C goes to the whole process group of a terminal; this process must receive it once, from here.
    detached: true,
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk) => {
    stderr = (stderr + chunk).slice(-MAX_STDERR);
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
    return { exitCode, run: readIfAny(out, await runFileReader()), complaint: complaint === '' ? null : complaint };
  } finally {
    stop.drain.removeEventListener('abort', drain);
    stop.now.removeEventListener('abort', hurry);
  }
}

/** Whether a run ended by a signal. @param {number} exitCode */
function isInterruption(exitCode) {
  return exitCode === EXIT.interrupted || exitCode === EXIT.terminated || exitCode === EXIT.hangup;
}

/** @param {ChildProcess} child @returns {Promise<number>} */
function exitOf(child) {
  return new Promise((resolve) => {
    // 'close' comes after the end of its output.
    child.once('close', (code, signal) => resolve(code ?? 128 + osConstants.signals[signal ?? 'SIGKILL']));
    child.once('error', () => resolve(EXIT.unavailable));
  });
}

/**
 * @typedef {object} Wanted
 * @property {string} name of the settings, for messages and for --before-cell
 * @property {string} file its run file, relative to the folder
 * @property {string} label of the progress bar
 * @property {number} done runs before it
 * @property {number} all
 * @property {readonly string[]} [args] of stress, beside those of the study
 * @property {NodeJS.ProcessEnv} [env] all of its environment
 * @property {number} [repeat] from 1
 *
 * @typedef {object} Made
 * @property {RunFile | null} run null: it measured nothing, or ended early
 * @property {number} exitCode
 * @property {string} startedAt
 * @property {string} complaint what to say of a run without a result
 */

export class Experiment {
  #config;
  #parts;
  #folder;
  #startRun;
  #hasStarted = false;
  /** The warning of the first short window; all windows have the same length. @type {string | null} */
  warning = null;

  /** @param {{config: Config, parts: Parts, folder: string, start?: typeof runChild}} given start: starts a run */
  constructor({ config, parts, folder, start = runChild }) {
    this.#config = config;
    this.#parts = parts;
    this.#folder = folder;
    this.#startRun = start;
  }

  /** @param {Wanted} wanted @returns {Promise<Made | null>} null: interrupted @throws {UnavailableError} --before-cell failed */
  async run({ name, file, label, done, all, args = [], env = this.#config.study.env, repeat = 1 }) {
    const { clock, stop, onProgress } = this.#parts;
    if (this.#hasStarted) await clock.sleep(this.#config.restMs, stop.drain);
    if (stop.drain.aborted) return null;
    this.#hasStarted = true;
    onProgress(label, done, all);
    try {
      await this.#prepare(name, repeat);
      if (stop.drain.aborted) return null;
      const startedAt = new Date(clock.wallMs()).toISOString();
      const out = join(this.#folder, file);
      const { exitCode, run, complaint } = await this.#startRun({ args, env, out, stop });
      const whole = run !== null && isWhole(run) ? run : null;
      if (whole === null && !stop.drain.aborted && isInterruption(exitCode)) stop.request('interrupted', exitCode);
      if (whole === null && stop.drain.aborted) return null;
      const end = run === null ? `it left no run file (exit code ${exitCode})` : `it ended early: ${run.end}`;
      const words = complaint ?? (whole === null ? end : `it ended with exit code ${exitCode}`);
      return { run: whole, exitCode, startedAt: whole?.startedAt ?? startedAt, complaint: words };
    } finally {
      // The progress bar is removed before a line is printed.
      onProgress('', 1, 1);
    }
  }

  /** Runs --before-cell. @param {string} name @param {number} repeat */
  async #prepare(name, repeat) {
    const { beforeCell, quiet } = this.#config;
    if (beforeCell === null) return;
    const env = { ...this.#parts.env, STRESS_CELL: name, STRESS_REPEAT: String(repeat) };
    const failure = await runCommand(beforeCell, { env, quiet, stop: this.#parts.stop });
    const command = oneLine(withoutKeys(beforeCell), 100);
    const which = repeat > 1 ? `${name} (repeat ${repeat})` : name;
    if (failure !== null) throw new UnavailableError(`--before-cell ${command} ${failure}, before ${which}`);
  }

  /** Prints the warning of a short window once. @param {string} name @param {RunFile} run */
  warnOfWindow(name, run) {
    const short = this.warning === null ? shortWindow(run) : null;
    if (short === null) return;
    this.warning = `${name}: ${short.words}`;
    this.#parts.say(`warning: ${this.warning}`);
  }
}

/** Time limit of --before-cell. */
const LONGEST_MS = 300_000;
/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 3000;

/**
 * A command for the shell, in its own process group, so that its children can be ended with it.
 * @param {string} command
 * @param {{env: NodeJS.ProcessEnv, quiet: boolean, stop: Stop}} how quiet: discards its output, which otherwise goes to
 *   standard error
 * @returns {Promise<string | null>} how it failed; null: exit code 0, or interrupted
 */
async function runCommand(command, { env, quiet, stop }) {
  const output = quiet ? 'ignore' : 2;
  const child = spawn(command, { env, shell: true, stdio: ['ignore', output, output], detached: true });
  /** @type {NodeJS.Timeout | undefined} */
  let killing;
  const kill = () => endGroup(child, 'SIGKILL');
  const end = () => {
    endGroup(child, 'SIGTERM');
    killing = setTimeout(kill, GRACE_MS);
  };
  let isLate = false;
  const limit = setTimeout(() => {
    isLate = true;
    end();
  }, LONGEST_MS);
  stop.drain.addEventListener('abort', end);
  stop.now.addEventListener('abort', kill);
  try {
    const exitCode = await exitOf(child);
    if (exitCode === 0 || stop.drain.aborted) return null;
    return isLate ? 'had not ended after 5 minutes' : `ended with exit code ${exitCode}`;
  } finally {
    clearTimeout(limit);
    clearTimeout(killing);
    stop.drain.removeEventListener('abort', end);
    stop.now.removeEventListener('abort', kill);
  }
}

/** @param {ChildProcess} child @param {NodeJS.Signals} signal */
function endGroup({ pid }, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The group has ended already.
  }
}

/** Lock file of a study's folder, with the process id of its owner. */
export const LOCK = '.lock';
/** The owner writes its id right after creating the file; an older empty file is stale. */
const EMPTY_MS = 10_000;

/**
 * @template T
 * @param {string} folder
 * @param {string} inner a folder in it that is created as well
 * @param {() => Promise<T>} work done while the folder is locked
 * @returns {Promise<T>}
 * @throws {OutputError}
 */
export async function inFolder(folder, inner, work) {
  makeWritable(folder, folder);
  const file = join(folder, LOCK);
  lock(file, folder);
  try {
    makeWritable(join(folder, inner), folder);
    return await work();
  } finally {
    if (ownerOf(file) === process.pid) rmSync(file, { force: true });
  }
}

/** @param {string} folder @param {string} dir as given by the user */
function makeWritable(folder, dir) {
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new OutputError(`--dir ${displayName(dir)} is a file, or in one: give it a folder`, error);
    throw cannotWrite(folder, error);
  }
}

/** @param {string} file @param {string} folder it is in, for messages */
function lock(file, folder) {
  for (;;) {
    try {
      return writeFileSync(file, `${process.pid}\n`, { flag: 'wx' });
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw cannotWrite(file, error);
    }
    const owner = ownerOf(file);
    if (isAtWork(owner, file))
      throw new OutputError(
        `another stress (pid ${owner ?? 'not known yet'}) is at work in ${displayName(folder)}: give --dir another folder`,
      );
    rmSync(file, { force: true });
  }
}

/** @param {string} file @returns {number | null} */
function ownerOf(file) {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10) || null;
  } catch {
    return null;
  }
}

/**
 * Containers reuse process ids: a file with the id of this process that it did not create is stale.
 * @param {number | null} pid @param {string} file
 */
function isAtWork(pid, file) {
  if (pid === process.pid) return false;
  if (pid === null) return Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) < EMPTY_MS;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process exists, with another user.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}
