import { join } from 'node:path';
import { EXIT, InputError, StressError, UnavailableError, UsageError, displayName, worstExit } from '../errors.js';
import { writeFileAtomically } from '../files.js';
import { shortWindow } from '../metrics/pace.js';
import { isInterruption, runChild } from './child.js';
import { runCommand, splitWords } from './command.js';
import { inFolder } from './folder.js';
import { metricOf } from './metrics.js';
import { pilotLatencyUs } from './pilot.js';
import { argsOf, cellName, checkSize, fingerprint, planCells, turnsOf } from './plan.js';
import { presets } from './presets.js';
import { isWhole, readRun, summarizeCells } from './sweep-cells.js';
import { sweepCsv } from './sweep-csv.js';
import { environmentOf, newSweep, writeSweep } from './sweep-file.js';
import { keptRuns, openFolder } from './sweep-folder.js';
import { sweepMarkdown } from './sweep-markdown.js';
import { sweepText } from './sweep-text.js';
import { RemainingTime } from './remaining-time.js';

/**
 * @import { Clock } from '../clock.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Config } from '../run/config.js'
 * @import { Stop } from '../run/stop.js'
 * @import { Cell, Turn } from './plan.js'
 * @import { Reading, Result } from './sweep-cells.js'
 * @import { SweepFile } from './sweep-file.js'
 * @import { Logger } from 'pino'
 */

/**
 * Runs every combination of settings, in turn, each in a process of its own, and keeps what they say in a folder. The
 * folder is all that a sweep knows of its past: started again, it makes the runs that are not there.
 *
 * @typedef {object} Parts
 * @property {Clock} clock
 * @property {Stop} stop
 * @property {Logger} log
 * @property {(label: string, done: number, all: number) => void} onProgress
 * @property {string} version
 * @property {(line: string) => void} say
 * @property {(args: string[], env: NodeJS.ProcessEnv) => Promise<unknown>} checkCell rejects as a run with them would
 * @property {NodeJS.ProcessEnv} env for programs of the user's: without our options, and the secrets among them
 *
 * @typedef {object} Given
 * @property {string} folder
 * @property {Config} config
 * @property {Parts} parts
 * @property {{axes: SweepFile['axes'], options: SweepFile['options'], isPerConnection: boolean}} layout
 * @property {string[] | null} beforeCell
 */

/** So many runs in a row without a result end the sweep. */
const PATIENCE = 3;
/** What ends a run so will end the others, too. @type {readonly number[]} */
const FATAL = Object.freeze([EXIT.usage, EXIT.badInput, EXIT.refused, EXIT.cannotWrite]);

/**
 * @param {Config} config
 * @param {Parts} parts
 * @returns {Promise<number>} the exit code
 */
export async function sweep(config, parts) {
  const repeat = config.repeat ?? 1;
  const { axes, options } = config.study;
  checkSize(axes, repeat);
  const beforeCell = config.beforeCell === null ? null : splitWords(config.beforeCell);
  const preset = presets[config.preset ?? ''] ?? null;
  const layout = { axes, options, isPerConnection: preset?.isPerConnection === true };
  const needsPilot = config.threads === null;
  // A latency of nothing asks for the fewest wallets: with more of them what can be wrong is no other.
  await checkCells(planCells(layout, needsPilot ? 0 : null), config, parts);

  const folder = config.dir ?? 'sweep';
  return inFolder(folder, 'cells', () => sweepIn({ folder, config, parts, layout, beforeCell }));
}

/** @param {Given} given @returns {Promise<number>} the exit code */
async function sweepIn({ folder, config, parts, layout, beforeCell }) {
  const { stop } = parts;
  const { axes, options } = layout;
  const repeat = config.repeat ?? 1;
  const needsPilot = config.threads === null;
  const asked = {
    preset: config.preset,
    axes,
    repeat,
    restMs: config.restMs,
    options,
    beforeCell: config.beforeCell === null ? null : fingerprint(config.beforeCell),
  };
  const before = await openFolder(folder, asked);
  const fresh = newSweep({ ...asked, stress: parts.version }, parts.clock.wallMs());
  const course = new Course({ config, parts, folder, layout, beforeCell }, before ?? fresh);
  if (before === null) await course.write();
  const latencyUs = needsPilot
    ? await pilotLatencyUs({ layout, folder, config, parts, since: course.startedAt })
    : null;
  if (stop.drain.aborted && needsPilot && latencyUs === null) return worstExit(stop.exitCodes);
  const cells = planCells(layout, latencyUs);
  await checkCells(cells, config, parts);
  await course.run(cells, turnsOf(cells, repeat));
  const [error] = stop.errors;
  if (error !== undefined) throw error;
  return course.exitCode;
}

/** @param {Cell[]} cells @param {Config} config @param {Parts} parts */
async function checkCells(cells, { study }, { checkCell }) {
  for (const cell of cells) {
    try {
      await checkCell(argsOf(cell), study.env);
    } catch (error) {
      if (!(error instanceof UsageError || error instanceof InputError)) throw error;
      const words = `${cellName(cell.settings)}: ${error.message}`;
      throw error instanceof UsageError ? new UsageError(words) : new InputError(words, error);
    }
  }
}

/** One start of a sweep. */
class Course {
  #config;
  #parts;
  #folder;
  #layout;
  #beforeCell;
  /** @type {SweepFile} */
  #sweep;
  /** @type {Cell[]} */
  #cells = [];
  /** By the names of their files. @type {Map<string, Result>} */
  #results = new Map();

  /**
   * @param {Given} given
   * @param {SweepFile} sweep as far as it has come
   */
  constructor({ config, parts, folder, layout, beforeCell }, sweep) {
    this.#config = config;
    this.#parts = parts;
    this.#folder = folder;
    this.#layout = layout;
    this.#beforeCell = beforeCell;
    this.#sweep = sweep;
  }

  get startedAt() {
    return this.#sweep.startedAt;
  }

  get exitCode() {
    const codes = [...this.#results.values()].map(({ exitCode }) => exitCode);
    return worstExit([...codes, ...this.#parts.stop.exitCodes]);
  }

  write() {
    return writeSweep(join(this.#folder, 'sweep.json'), this.#sweep);
  }

  /** @param {Cell[]} cells @param {Turn[]} turns */
  async run(cells, turns) {
    this.#cells = cells;
    const { say } = this.#parts;
    this.#results = await keptRuns(this.#folder, turns, this.startedAt);
    const todo = turns.filter(({ file }) => !this.#results.has(file));
    const kept = turns.length - todo.length;
    const name = displayName(this.#folder);
    if (todo.length === 0) say(`all ${turns.length} runs are in ${name} already`);
    else if (kept > 0) say(`${kept} of ${turns.length} runs are in ${name} already and are kept`);
    if (todo.length > 0) this.#sweep = { ...this.#sweep, end: 'running', endedAt: null, stress: this.#parts.version };
    try {
      await this.#runAll(todo, turns.length);
      await this.#finish(turns);
    } catch (error) {
      await this.#close('failed');
      throw error;
    }
  }

  /** @param {Turn[]} turns @param {number} all */
  async #runAll(turns, all) {
    const { clock, stop, onProgress } = this.#parts;
    const time = new RemainingTime(clock, turns.length);
    let failures = 0;
    for (const [i, turn] of turns.entries()) {
      if (i > 0) await clock.sleep(this.#config.restMs, stop.drain);
      if (stop.drain.aborted) return;
      const done = all - turns.length + i;
      onProgress(`running ${cellName(this.#cells[turn.index].settings)}${time.words(i)}`, done, all);
      const result = await this.#runOne(turn);
      if (result === null) return;
      failures = result.reading === null ? failures + 1 : 0;
      this.#results.set(turn.file, result);
      this.#update();
      await this.write();
      // The bar goes before a line comes.
      onProgress('', 1, 1);
      this.#report(turn, result, `${done + 1}/${all}`, time.words(i + 1));
      if (FATAL.includes(result.exitCode)) throw failureOf(result);
      if (failures === PATIENCE)
        throw new UnavailableError(`${PATIENCE} runs in a row measured nothing; the last: ${result.complaint}`);
    }
  }

  /** @param {Turn} turn @returns {Promise<Result | null>} null when it was interrupted */
  async #runOne({ index, repeat, file }) {
    const { clock, stop, env } = this.#parts;
    const cell = this.#cells[index];
    if (this.#beforeCell !== null) {
      const settings = cellName(cell.settings);
      await runCommand({
        words: this.#beforeCell,
        quiet: this.#config.quiet,
        stop,
        clock,
        env: { ...env, STRESS_CELL: settings, STRESS_REPEAT: String(repeat) },
        before: `${settings} (repeat ${repeat})`,
      });
      if (stop.drain.aborted) return null;
    }
    const startedAt = new Date(clock.wallMs()).toISOString();
    const out = join(this.#folder, file);
    const { exitCode, run, complaint } = await runChild({ args: argsOf(cell), env: this.#config.study.env, out, stop });
    if (run !== null && isWhole(run)) {
      this.#sweep.environment ??= environmentOf(run);
      this.#warnOfWindow(cell, run);
      return { repeat, file, exitCode, startedAt: run.startedAt, complaint: null, reading: readRun(run) };
    }
    if (!stop.drain.aborted && isInterruption(exitCode)) stop.request('interrupted', exitCode);
    if (stop.drain.aborted) return null;
    const words =
      complaint ?? (run === null ? `it left no run file (exit code ${exitCode})` : `it ended early: ${run.end}`);
    return { repeat, file, exitCode, startedAt, complaint: words, reading: null };
  }

  /** Once: the others are as long. @param {Cell} cell @param {RunFile} run */
  #warnOfWindow({ settings }, run) {
    const short = shortWindow(run);
    if (short === null || this.#sweep.warnings.length > 0) return;
    const words = `${cellName(settings)}: ${short.words}`;
    this.#sweep = { ...this.#sweep, warnings: [words] };
    this.#parts.say(`warning: ${words}`);
  }

  /** @param {Turn} turn @param {Result} result @param {string} count @param {string} left */
  #report({ index }, { reading, exitCode, complaint }, count, left) {
    const settings = cellName(this.#cells[index].settings);
    const figures =
      reading === null
        ? [`measured nothing (exit code ${exitCode}): ${complaint}`]
        : [
            `TPS ${show('tps', reading)}`,
            `p99 ${show('p99', reading)}`,
            ...(exitCode === 0 ? [] : [`exit code ${exitCode}`]),
          ];
    this.#parts.say([count, settings, ...figures].join('  ') + left);
  }

  #update() {
    const results = this.#cells.map((_, index) => this.#resultsOf(index));
    this.#sweep = { ...this.#sweep, ...summarizeCells(this.#cells, results, this.#layout) };
  }

  /** @param {number} index of a cell */
  #resultsOf(index) {
    return turnsOf(this.#cells, this.#sweep.repeat)
      .filter((turn) => turn.index === index)
      .flatMap(({ file }) => this.#results.get(file) ?? []);
  }

  /** @param {Turn[]} turns */
  async #finish(turns) {
    const { stop, say } = this.#parts;
    const measured = turns.filter(({ file }) => this.#results.get(file)?.reading != null).length;
    await this.#close(stop.drain.aborted ? 'interrupted' : measured === turns.length ? 'complete' : 'incomplete');
    if (measured < turns.length)
      say(`${turns.length - measured} of ${turns.length} runs are missing: the same command makes them`);
  }

  /** @param {SweepFile['end']} end */
  async #close(end) {
    const { clock, onProgress, say } = this.#parts;
    onProgress('', 1, 1);
    this.#update();
    // What was over already stays as it was.
    const endedAt = this.#sweep.endedAt ?? new Date(clock.wallMs()).toISOString();
    this.#sweep = { ...this.#sweep, end, endedAt };
    await this.write();
    await writeFileAtomically(join(this.#folder, 'sweep.csv'), sweepCsv(this.#sweep));
    await writeFileAtomically(join(this.#folder, 'sweep.md'), sweepMarkdown(this.#sweep));
    say(sweepText(this.#sweep));
    const names = ['sweep.json', 'sweep.csv', 'sweep.md'].join(', ');
    say(`\n${names} and the run files are in ${displayName(this.#folder)}`);
  }
}

/** @param {string} name @param {Reading} reading */
function show(name, { metrics, atLeast }) {
  return metricOf(name).show(metrics[name], atLeast.includes(name));
}

/** @param {Result} result */
function failureOf({ complaint, exitCode }) {
  return new StressError(complaint ?? `a run ended with exit code ${exitCode}`, 'run_failed', exitCode);
}
