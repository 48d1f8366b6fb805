import { rmSync } from 'node:fs';
import { cpus, constants as osConstants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from '../chain/devchain.js';
import { EXIT, StressError, UnavailableError, oneLine } from '../errors.js';
import { timeText } from '../text.js';
import { isWhole, readIfAny, reader } from './run-files.js';
import { runCommand, startNode } from './shell-commands.js';

/**
 * @import { Stop } from '../contracts/common.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Parts, StudyConfig } from '../contracts/study.d.ts'
 * @import { Budget } from './budget.js'
 * @import { NodeCommand } from './shell-commands.js'
 */

/**
 * The experiment: makes the runs of a study one after the other. A run is a separate process, so that no run profits from
 * the warm-up of an earlier one, and a crash does not end the study.
 *
 * @typedef {object} Finished a process
 * @property {number} exitCode
 * @property {RunFile | null} run null: it left no run file
 * @property {string | null} complaint its error, or its last line on standard error
 *
 * @typedef {object} RunRequest a run
 * @property {string} name of its settings, for messages and for --before-cell
 * @property {string} file its run file, relative to the folder
 * @property {string} label of the progress bar
 * @property {number} done steps of the study before it
 * @property {number} all
 * @property {number} [limitMs] time that is left for the study
 * @property {readonly string[]} [args] of stress, beside those of the study
 * @property {NodeJS.ProcessEnv} [env] all of its environment
 * @property {Omit<NodeCommand, 'url'> & {url: URL}} [node] started for it, and ended after it
 * @property {number} [repeat] from 1
 * @property {number} [tries] until it is accepted; default: 1
 * @property {(made: Made) => boolean} [accepts] default: it measured something
 * @property {boolean} [isCounted] false: none of the runs that the study counts; default: true
 * @property {boolean} [isMeasured] false: made again whenever the study goes on; default: true
 * @property {boolean} [warns] of a short window; default: true
 *
 * @typedef {object} Made
 * @property {RunFile | null} run null: it measured nothing, or ended early
 * @property {number} exitCode
 * @property {string} startedAt
 * @property {string} complaint what to say of a run without a result
 * @property {boolean} isKept it was in the folder already
 * @property {number | null} [othersShare] of the CPU time of this machine in the pause before the run, when neither the run
 *   nor its node was at work: that of other programs; null: there was no pause
 */

const PROGRAM = fileURLToPath(new URL('../../bin/stress.js', import.meta.url));

const MAX_STDERR = 10_000;

/** Exit codes that all other runs would have as well. @type {readonly number[]} */
export const FATAL = Object.freeze([EXIT.usage, EXIT.badInput, EXIT.refused, EXIT.cannotWrite]);

/** @param {string} name of the run @param {Pick<Made, 'complaint' | 'exitCode'>} made */
export function failure(name, { complaint, exitCode }) {
  const code = exitCode === EXIT.ok ? EXIT.unavailable : exitCode;
  return new StressError(`the run ${name} failed: ${complaint}`, 'run_failed', code);
}

/** @param {Made} made */
export function isVerified({ run }) {
  return run !== null && run.counts.verified > 0;
}

/**
 * @param {object} options
 * @param {readonly string[]} options.args of stress, without --out
 * @param {NodeJS.ProcessEnv} options.env all of its environment
 * @param {string} options.out its run file; an existing one is removed first
 * @param {Stop} options.stop passed on: the first request starts its drain, the second ends it
 * @returns {Promise<Finished>}
 */
async function runChild({ args, env, out, stop }) {
  rmSync(out, { force: true });
  const words = [...args, `--out=${out}`, '--config=none', '--quiet', '--log-level=error'];
  const how = /** @type {const} */ ({ env, output: 'pipe' });
  const { keeper, signal } = launch([process.execPath, PROGRAM, ...words], { graceMs: 0 }, how);
  let stderr = '';
  keeper.stdout?.resume();
  keeper.stderr?.setEncoding('utf8').on('data', (chunk) => {
    stderr = (stderr + chunk).slice(-MAX_STDERR);
  });
  const drain = () => signal(stop.reason === 'interrupted' ? 'SIGINT' : 'SIGTERM');
  const hurry = () => signal('SIGINT');
  stop.drain.addEventListener('abort', drain);
  stop.now.addEventListener('abort', hurry);
  if (stop.drain.aborted) drain();
  /** @type {number} */
  const exitCode = await new Promise((resolve) => {
    // 'close' comes after the end of its output.
    keeper.once('close', (code, name) => resolve(code ?? 128 + osConstants.signals[name ?? 'SIGKILL']));
    keeper.once('error', () => resolve(EXIT.unavailable));
  });
  stop.drain.removeEventListener('abort', drain);
  stop.now.removeEventListener('abort', hurry);
  const lines = stderr.trim().split('\n');
  const error = lines.findLast((line) => line.startsWith('stress: ')) ?? lines.at(-1) ?? '';
  const complaint = oneLine(error.replace(/^(stress|ERROR): /, ''), 1500);
  return { exitCode, run: readIfAny(out, await reader('run')), complaint: complaint === '' ? null : complaint };
}

/** What makes a run and starts a node; tests give others. */
export const TOOLS = Object.freeze({ runChild, startNode, cpus });

/** The clocks of CPUs tick every 10 ms: a shorter pause tells little. */
const SHORTEST_PAUSE_MS = 500;

/** @param {() => ReturnType<typeof cpus>} read @returns {{busyMs: number, allMs: number}} of all CPUs, since boot */
function cpuTime(read) {
  const times = read().map((cpu) => cpu.times);
  const allMs = times.flatMap((one) => Object.values(one)).reduce((sum, ms) => sum + ms, 0);
  return { allMs, busyMs: allMs - times.reduce((sum, { idle }) => sum + idle, 0) };
}

/** @type {readonly number[]} */
const BY_SIGNAL = [EXIT.interrupted, EXIT.terminated, EXIT.hangup];

/** Time limit of --before-cell. */
const LONGEST_MS = 300_000;

export class Experiment {
  #config;
  #parts;
  #folder;
  #tools;
  #budget;
  /** When the first run of this command began, and how many steps were done before it. @type {{us: number, done: number} | null} */
  #first = null;

  /** @param {{config: StudyConfig, parts: Parts, folder: string, tools?: Partial<typeof TOOLS>, budget: Budget}} given */
  constructor({ config, parts, folder, tools, budget }) {
    this.#config = config;
    this.#parts = parts;
    this.#folder = folder;
    this.#tools = { ...TOOLS, ...tools };
    this.#budget = budget;
  }

  /** @param {RunRequest} wanted @returns {Promise<Made | null>} null: interrupted @throws {UnavailableError} --before-cell failed */
  async run(wanted) {
    const { name, tries = 1, accepts = () => true } = wanted;
    for (let tried = 1; ; tried += 1) {
      const made = await this.#try(wanted);
      // Interrupted in its audit, for example.
      if (made !== null && this.#parts.stop.drain.aborted && !accepts(made)) return null;
      if (made === null || tried === tries || accepts(made) || FATAL.includes(made.exitCode)) return made;
      this.#parts.say(oneLine(`the run ${name} measured nothing: ${made.complaint}; once more`, 500));
    }
  }

  /** @param {RunRequest} wanted @returns {Promise<Made | null>} */
  async #try(wanted) {
    const { clock, stop, onProgress } = this.#parts;
    const othersShare = this.#first === null ? null : await this.#rest();
    if (stop.drain.aborted) return null;
    this.#first ??= { us: clock.nowUs(), done: wanted.done };
    onProgress(`${wanted.label}${this.#leftText(wanted)}`, wanted.done, wanted.all);
    try {
      await this.#prepare(wanted);
      if (stop.drain.aborted) return null;
      const startedAt = new Date(clock.wallMs()).toISOString();
      const finished = await this.#runOn(wanted);
      const { exitCode, run, complaint } = finished;
      const whole = run !== null && isWhole(run) ? run : null;
      const end = run === null ? `it left no run file (exit code ${exitCode})` : `it ended early: ${run.end}`;
      const words = complaint ?? (whole === null ? end : `it ended with exit code ${exitCode}`);
      const result = { run: whole, exitCode, startedAt: whole?.startedAt ?? startedAt, complaint: words };
      await this.#budget.close(finished);
      if (whole === null && !stop.drain.aborted && BY_SIGNAL.includes(exitCode)) stop.request('interrupted', exitCode);
      return whole === null && stop.drain.aborted ? null : { ...result, isKept: false, othersShare };
    } finally {
      // The progress bar is removed before a line is printed.
      onProgress('', 1, 1);
    }
  }

  /** The pause between two runs. @returns {Promise<number | null>} share of the CPU time that other programs used */
  async #rest() {
    const { restMs } = this.#config;
    const before = cpuTime(this.#tools.cpus);
    await this.#parts.clock.sleep(restMs, this.#parts.stop.drain);
    const after = cpuTime(this.#tools.cpus);
    const allMs = after.allMs - before.allMs;
    return restMs < SHORTEST_PAUSE_MS || allMs <= 0 ? null : (after.busyMs - before.busyMs) / allMs;
  }

  /** Runs --before-cell. @param {RunRequest} wanted */
  async #prepare({ name, repeat = 1 }) {
    const { beforeCell: command } = this.#config;
    const { clock, stop } = this.#parts;
    if (command === null) return;
    const env = { ...this.#parts.env, STRESS_CELL: name, STRESS_REPEAT: String(repeat) };
    const log = join(this.#folder, 'before-cell.log');
    // A script that resets a node may leave it running.
    const failed = await runCommand({ command, env, log, clock, stop, leaves: true, timeLimitMs: LONGEST_MS });
    const which = repeat > 1 ? `${name} (repeat ${repeat})` : name;
    if (failed !== null) throw new UnavailableError(`--before-cell, before ${which}: ${failed}`);
  }

  /** @param {RunRequest} wanted @returns {Promise<Finished>} */
  async #runOn({ file, args = [], env = this.#config.env, node }) {
    const { clock, stop } = this.#parts;
    const out = join(this.#folder, file);
    const start = async () => {
      await this.#budget.open(file);
      return this.#tools.runChild({ args: [...args, ...this.#budget.args], env, out, stop });
    };
    if (node === undefined) return start();
    try {
      const started = await this.#tools.startNode({ ...node, clock, stop });
      if (started === null) return { exitCode: EXIT.interrupted, run: null, complaint: null };
      return await start().finally(started.stop);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      return { exitCode: error.exitCode, run: null, complaint: error.message };
    }
  }

  /** The time left, by the steps that were made since the start of this command, or the time limit if it is over earlier. @param {RunRequest} wanted */
  #leftText({ done, all, limitMs = Infinity }) {
    const { us = 0, done: before = 0 } = this.#first ?? {};
    if (done === before) return '';
    const leftMs = ((this.#parts.clock.nowUs() - us) / 1000 / (done - before)) * (all - done);
    if (limitMs < leftMs) return `  time limit in ${timeText(Math.max(0, limitMs) / 1000)}`;
    return `  about ${timeText(leftMs / 1000)} left`;
  }
}
