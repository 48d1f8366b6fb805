import { fork, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants as osConstants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT, InputError, OutputError, UnavailableError } from '../errors.js';
import { displayName, oneLine, withoutKeys, worstExit } from '../errors.js';
import { cannotWrite, checkWritable, makeFolder, writeFileAtomically } from '../files.js';
import { shortWindow } from '../stats/growth.js';
import { timeText } from '../text.js';
import { differenceOf, fingerprint } from './plan.js';
import { SWEEP_SCHEMA, isWhole, readIfAny, readSweep, runFileReader } from './run-files.js';

/**
 * @import { Clock, Config, Find, Parts, RunFile, SweepFile } from '../types.d.ts'
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

/** Exit codes that all other runs would have as well. @type {readonly number[]} */
export const FATAL = Object.freeze([EXIT.usage, EXIT.badInput, EXIT.refused, EXIT.cannotWrite]);

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
  const child = fork(PROGRAM, [...args, `--out=${out}`, '--config=none', '--quiet', '--log-level=error'], {
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
  const exitCode = await exitOf(child, stop, drain, () => void child.kill('SIGINT'));
  const lastLine = stderr.trim().split('\n').at(-1) ?? '';
  const complaint = oneLine(lastLine.replace(/^stress: /, ''), 1500);
  return { exitCode, run: readIfAny(out, await runFileReader()), complaint: complaint === '' ? null : complaint };
}

/**
 * @param {ChildProcess} child
 * @param {Stop} stop
 * @param {() => void} drain called at the first request to stop, also if it came before
 * @param {() => void} hurry called at the second
 * @returns {Promise<number>} its exit code
 */
async function exitOf(child, stop, drain, hurry) {
  stop.drain.addEventListener('abort', drain);
  stop.now.addEventListener('abort', hurry);
  if (stop.drain.aborted) drain();
  try {
    return await new Promise((resolve) => {
      // 'close' comes after the end of its output.
      child.once('close', (code, signal) => resolve(code ?? 128 + osConstants.signals[signal ?? 'SIGKILL']));
      child.once('error', () => resolve(EXIT.unavailable));
    });
  } finally {
    stop.drain.removeEventListener('abort', drain);
    stop.now.removeEventListener('abort', hurry);
  }
}

/** @type {readonly number[]} */
const BY_SIGNAL = [EXIT.interrupted, EXIT.terminated, EXIT.hangup];

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
 * @property {boolean} [isMeasured] default: true
 * @property {typeof runChild} [start] starts the run
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
  /** starts a run */
  start;
  #hasStarted = false;
  /** At most one: all windows have the same length. @type {string[]} */
  warnings = [];
  warnsOfWindow = true;

  /** @param {{config: Config, parts: Parts, folder: string, start?: typeof runChild}} given start: starts a run */
  constructor({ config, parts, folder, start = runChild }) {
    this.#config = config;
    this.#parts = parts;
    this.#folder = folder;
    this.start = start;
  }

  /** @param {Wanted} wanted @returns {Promise<Made | null>} null: interrupted @throws {UnavailableError} --before-cell failed */
  async run({ name, file, label, done, all, start = this.start, ...wanted }) {
    const { args = [], env = this.#config.study.env, repeat = 1, isMeasured = true } = wanted;
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
      const { exitCode, run, complaint } = await start({ args, env, out, stop });
      const whole = run !== null && isWhole(run) ? run : null;
      if (whole === null && !stop.drain.aborted && BY_SIGNAL.includes(exitCode)) stop.request('interrupted', exitCode);
      if (whole === null && stop.drain.aborted) return null;
      if (whole !== null && isMeasured) this.#warnOfWindow(name, whole);
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

  /** @param {string} name @param {RunFile} run */
  #warnOfWindow(name, run) {
    const short = this.warnsOfWindow && this.warnings.length === 0 ? shortWindow(run) : null;
    if (short === null) return;
    this.warnings = [`${name}: ${short.words}`];
    this.#parts.say(`warning: ${name}: ${short.words}`);
  }
}

/** Time limit of --before-cell. */
const LONGEST_MS = 300_000;
/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 3000;

/**
 * A command for the shell, in its own process group, so that its children can be ended with it.
 * @param {string} command
 * @param {{env: NodeJS.ProcessEnv, quiet: boolean, stop: Stop}} how its output goes to standard error unless quiet
 * @returns {Promise<string | null>} how it failed; null: exit code 0, or interrupted
 */
async function runCommand(command, { env, quiet, stop }) {
  const output = quiet ? 'ignore' : 2;
  const child = spawn(command, { env, shell: true, stdio: ['ignore', output, output], detached: true });
  /** @param {NodeJS.Signals} signal */
  const endGroup = (signal) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The group has ended already.
    }
  };
  const kill = () => endGroup('SIGKILL');
  /** @type {NodeJS.Timeout[]} */
  const timers = [];
  const end = () => {
    endGroup('SIGTERM');
    timers.push(setTimeout(kill, GRACE_MS));
  };
  timers.push(setTimeout(end, LONGEST_MS));
  const exitCode = await exitOf(child, stop, end, kill);
  const isLate = timers.length > 1;
  timers.forEach(clearTimeout);
  if (exitCode === 0 || stop.drain.aborted) return null;
  return isLate ? 'had not ended after 5 minutes' : `ended with exit code ${exitCode}`;
}

/** Lock file of a study's folder, with the process id of its owner. */
export const LOCK = '.lock';

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
  try {
    writeFileSync(file, `${process.pid}\n`, { flag: 'wx' });
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw cannotWrite(file, error);
    const owner = ownerOf(file);
    // Containers reuse process ids: a file with the id of this process was left by another one.
    if (owner !== null && owner !== process.pid && isRunning(owner))
      throw new OutputError(
        `another stress (pid ${owner}) is at work in ${displayName(folder)}: give --dir another folder`,
      );
    writeFileSync(file, `${process.pid}\n`);
  }
  try {
    makeWritable(join(folder, inner), folder);
    return await work();
  } finally {
    rmSync(file, { force: true });
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

/** @param {string} file @returns {number | null} null: it is empty, or was removed meanwhile */
function ownerOf(file) {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10) || null;
  } catch {
    return null;
  }
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // The process exists, with another user.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/**
 * A sweep or a search with its folder and its sweep.json, which is kept so that an interrupted study continues.
 *
 * @typedef {object} Study
 * @property {Config} config
 * @property {Parts} parts
 * @property {string} folder
 * @property {SweepFile} file
 * @property {Experiment} experiment
 * @property {() => Promise<void>} save writes sweep.json
 *
 * @typedef {object} Worker makes the runs of a study
 * @property {readonly number[]} exitCodes
 * @property {() => Promise<SweepFile['end']>} run
 * @property {() => unknown} report called when the study ended, also after an error
 */

/** @param {Pick<Config, 'dir' | 'find'>} config of a sweep or a search */
export function folderOf({ dir, find }) {
  return dir ?? (find === null ? 'sweep' : 'find');
}

/**
 * @param {Config} config
 * @param {Parts} parts
 * @param {{inner: string, find: Find | null, start?: typeof runChild}} how inner: folder of the run files
 * @param {(study: Study) => Worker} workerOf
 * @returns {Promise<number>} the exit code
 */
export function runStudy(config, parts, { inner, find, start }, workerOf) {
  const folder = folderOf(config);
  return inFolder(folder, inner, async () => {
    const file = await openStudy(config, parts, folder, find);
    const save = () => writeFileAtomically(join(folder, 'sweep.json'), `${JSON.stringify(file, null, 2)}\n`);
    await save();
    const experiment = new Experiment({ config, parts, folder, start });
    const worker = workerOf({ config, parts, folder, file, experiment, save });
    /** @param {SweepFile['end']} end */
    const close = async (end) => {
      if (end !== file.end) Object.assign(file, { end, endedAt: new Date(parts.clock.wallMs()).toISOString() });
      await save();
      await worker.report();
    };
    try {
      await close(await worker.run());
    } catch (error) {
      // An error of the clean-up must not hide the first one.
      await close('failed').catch(() => {});
      throw error;
    }
    const [error] = parts.stop.errors;
    if (error !== undefined) throw error;
    return worstExit([...worker.exitCodes, ...parts.stop.exitCodes]);
  });
}

/**
 * The sweep file of a folder: that of the same study, to go on, or a new one.
 * @param {Config} config
 * @param {Parts} parts
 * @param {string} folder
 * @param {Find | null} find of a search
 * @returns {Promise<SweepFile>}
 */
async function openStudy({ study, repeat, restMs, beforeCell }, { clock, version }, folder, find) {
  for (const name of ['sweep.json', ...(find === null ? ['sweep.csv', 'sweep.md'] : [])])
    await checkWritable(join(folder, name));
  const asked = {
    axes: study.axes,
    repeat: repeat ?? 1,
    restMs,
    options: study.options,
    beforeCell: beforeCell === null ? null : fingerprint(beforeCell),
  };
  const file = join(folder, 'sweep.json');
  if (existsSync(file)) {
    const before = await readSweep(file);
    const [was, is] = [before.find, find].map(findWords);
    const difference = was === is ? differenceOf(before, asked) : `it was ${was} and is ${is}`;
    if (difference === null) return before;
    throw new InputError(
      `${displayName(folder)} holds another ${before.find === null ? 'sweep' : 'search'}: ${difference}; give --dir another folder, or remove this one`,
    );
  }
  return {
    schema: SWEEP_SCHEMA,
    id: randomUUID(),
    startedAt: new Date(clock.wallMs()).toISOString(),
    endedAt: null,
    end: 'running',
    stress: version,
    ...asked,
    environment: null,
    cells: [],
    saturation: [],
    find,
    warnings: [],
  };
}

/** @param {Pick<Find, 'name' | 'until' | 'range'> | null} find */
function findWords(find) {
  if (find === null) return 'a sweep';
  const { name, until, range } = find;
  const given = [
    ...(range ? [`--${name} ${range}`] : []),
    ...(until.length > 0 ? [`--until '${until.join(', ')}'`] : []),
  ];
  return [range === undefined ? `--find ${name}` : 'stress find', ...given].join(' ');
}

/**
 * Estimates the remaining time of a study from the parts that are done.
 * @param {Clock} clock
 * @param {number} total number of parts
 * @param {string} [about] before the time
 * @returns {(done: number) => string} appended to other words; empty if unknown
 */
export function remainingTime(clock, total, about = 'about') {
  const startedUs = clock.nowUs();
  return (done) => {
    if (done === 0 || done >= total) return '';
    const leftUs = ((clock.nowUs() - startedUs) / done) * (total - done);
    return `  ${about} ${timeText(leftUs / 1e6)} left`;
  };
}
