import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, InputError, StressError, UnavailableError, UsageError, displayName, worstExit } from '../errors.js';
import { checkWritable, writeFileAtomically } from '../files.js';
import { backlog } from '../stats/growth.js';
import { Experiment, inFolder } from './experiment.js';
import { KEPT, METRICS, MORE, lowerBounds, metricOf, readMetrics } from './metrics.js';
import { argsOf, cellName, checkSize, differenceOf, fingerprint, planCells, turnsOf } from './plan.js';
import { SWEEP_SCHEMA, environmentOf, isWhole, readIfAny, readSweep, runFileReader } from './run-files.js';
import { meanOf } from './statistics.js';
import { findSaturation, sweepCsv, sweepMarkdown, sweepText } from './sweep-text.js';

/**
 * @import { Axis, Clock, Config, Find, Parts, Readings, RunFile, SweepFile } from '../types.d.ts'
 * @import { OutputError } from '../errors.js'
 * @import { Made } from './experiment.js'
 * @import { Cell, Turn } from './plan.js'
 * @import { SweepRun } from './run-files.js'
 * @import { Point } from './sweep-text.js'
 */

/**
 * The sweep: runs every combination of settings, each in its own process, and keeps the results in a folder. Started
 * again, it makes only the runs that are missing there.
 *
 * @typedef {object} Reading the figures kept of a run file
 * @property {Record<string, number | null>} metrics
 * @property {string[]} atLeast metrics that are lower bounds, because of censored operations
 * @property {number | null} asked per second
 * @property {boolean} isFallingBehind
 *
 * @typedef {SweepRun & {reading: Reading | null}} Result null: the run measured nothing
 */

/** @param {RunFile} run @returns {Reading} */
export function readRun(run) {
  return {
    metrics: {
      ...readMetrics(run),
      ...Object.fromEntries(MORE.map((name) => [name, metricOf(name).read(run)])),
      'peak.node.cpu': peakCpu(run, ({ node }) => node?.cpuUs),
      'peak.generator.cpu': peakCpu(run, ({ self }) => self.cpuUs),
    },
    atLeast: lowerBounds(run, [...METRICS, ...MORE]),
    asked: run.rates.askedPerSecond,
    isFallingBehind: backlog(run) !== null,
  };
}

/** In shorter intervals the resolution of the system's CPU times is too coarse. */
const MIN_INTERVAL_MS = 500;

/** @param {RunFile} run @param {(readings: Readings) => number | undefined} read microseconds */
function peakCpu({ intervals }, read) {
  const shares = intervals.flatMap(({ phase, startMs, endMs, probes }) => {
    const cpuUs = read(probes);
    const ms = endMs - startMs;
    return phase !== 'load' || ms < MIN_INTERVAL_MS || cpuUs === undefined ? [] : [cpuUs / (10 * ms)];
  });
  return shares.length === 0 ? null : Math.max(...shares);
}

/**
 * @param {readonly Cell[]} cells
 * @param {readonly Result[][]} results of each cell, in the order of repeats
 * @param {readonly Axis[]} axes
 * @returns {Pick<SweepFile, 'cells' | 'saturation'>}
 */
export function summarizeCells(cells, results, axes) {
  const points = cells.map((cell, i) => pointOf(cell, results[i]));
  const measured = points.filter(({ tps }) => tps !== null);
  const { reasons, saturation } = findSaturation(measured, axes);
  return {
    cells: cells.map(({ settings }, i) => ({
      settings,
      asked: points[i].asked,
      runs: results[i].map(({ repeat, file, exitCode, startedAt, complaint }) => {
        return { repeat, file, exitCode, startedAt, complaint };
      }),
      metrics: Object.fromEntries(
        KEPT.map((name) => [name, results[i].map(({ reading }) => reading?.metrics[name] ?? null)]),
      ),
      atLeast: [...new Set(results[i].flatMap(({ reading }) => reading?.atLeast ?? []))],
      saturated: reasons.has(points[i]),
      why: reasons.get(points[i]) ?? null,
    })),
    saturation,
  };
}

/** @param {Cell} cell @param {readonly Result[]} results @returns {Point} */
function pointOf({ settings, asked }, results) {
  const readings = results.flatMap(({ reading }) => (reading === null ? [] : [reading]));
  /** @param {string} name */
  const figure = (name) => meanOf(readings.map(({ metrics }) => metrics[name]));
  return {
    settings,
    tps: figure('tps'),
    achieved: figure('achieved'),
    avgUs: figure('avg'),
    // With --stages only the run files have the rate.
    asked: asked ?? meanOf(readings.map((reading) => reading.asked)),
    isFallingBehind: readings.filter((reading) => reading.isFallingBehind).length * 2 > readings.length,
  };
}

/** @typedef {Pick<Find, 'name' | 'until'>} Searched */

/**
 * The sweep file of a folder: that of the same study, to go on, or a new one, which is written.
 * @param {Config} config
 * @param {Parts} parts
 * @param {string} folder
 * @param {Find | null} [find] of a search
 * @returns {Promise<SweepFile>}
 * @throws {InputError | OutputError}
 */
export async function openStudy({ study, repeat, restMs, beforeCell }, { clock, version }, folder, find = null) {
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
  const before = existsSync(file) ? await readSweep(file) : null;
  if (before !== null) {
    const [was, is] = [before.find, find].map(findWords);
    const difference = was === is ? differenceOf(before, asked) : `it was ${was} and is ${is}`;
    if (difference === null) return before;
    throw new InputError(
      `${displayName(folder)} holds another ${before.find === null ? 'sweep' : 'search'}: ${difference}; give --dir another folder, or remove this one`,
    );
  }
  /** @type {SweepFile} */
  const sweep = {
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
  await writeStudy(folder, sweep);
  return sweep;
}

/** @param {string} folder @param {SweepFile} sweep */
export function writeStudy(folder, sweep) {
  return writeFileAtomically(join(folder, 'sweep.json'), `${JSON.stringify(sweep, null, 2)}\n`);
}

/** @param {Searched | null} find */
function findWords(find) {
  return find === null ? 'a sweep' : `--find ${find.name} --until '${find.until.join(', ')}'`;
}

/**
 * @param {string} folder
 * @param {readonly Turn[]} turns
 * @param {string} since start of the sweep: older files belong to another one
 * @returns {Promise<Map<string, Result>>} complete runs by file name
 */
async function keptRuns(folder, turns, since) {
  /** @type {Map<string, Result>} */
  const kept = new Map();
  const read = await runFileReader();
  for (const { file, repeat } of turns) {
    const run = readIfAny(join(folder, file), read);
    if (run === null || !isWhole(run) || run.startedAt < since) continue;
    const { startedAt } = run;
    kept.set(file, { repeat, file, exitCode: run.exitCode ?? 0, startedAt, complaint: null, reading: readRun(run) });
  }
  return kept;
}

/** Estimates the remaining time of a study from the parts that are done. */
export class RemainingTime {
  #clock;
  #total;
  #startedUs;

  /** @param {Clock} clock @param {number} total number of parts */
  constructor(clock, total) {
    this.#clock = clock;
    this.#total = total;
    this.#startedUs = clock.nowUs();
  }

  /** @param {number} done @returns {string} appended to other words; empty if unknown */
  words(done) {
    if (done === 0 || done >= this.#total) return '';
    const tookUs = this.#clock.nowUs() - this.#startedUs;
    return `  about ${timeText(((tookUs / done) * (this.#total - done)) / 1000)} left`;
  }
}

/** @param {number} ms @returns {string} such as 45s, 1m40s, 2h05m */
export function timeText(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0');
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
}

/** Failed runs in a row that end the sweep. */
const MAX_EMPTY_RUNS = 3;
/** Exit codes that all other runs would have as well. @type {readonly number[]} */
export const FATAL = Object.freeze([EXIT.usage, EXIT.badInput, EXIT.refused, EXIT.cannotWrite]);

/** @param {Config} config @param {Parts} parts @returns {Promise<number>} the exit code */
export async function sweep(config, parts) {
  const { axes, options } = config.study;
  checkSize(axes, config.repeat ?? 1);
  const cells = planCells(axes, options);
  await checkCells(cells, config, parts);
  const folder = config.dir ?? 'sweep';
  return inFolder(folder, 'cells', async () => {
    const file = await openStudy(config, parts, folder);
    const runner = new SweepRunner({ config, parts, folder, cells, file });
    await runner.run();
    const [error] = parts.stop.errors;
    if (error !== undefined) throw error;
    return runner.exitCode;
  });
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

class SweepRunner {
  #parts;
  #folder;
  #cells;
  #turns;
  #experiment;
  /** @type {SweepFile} */
  #file;
  /** By file name. @type {Map<string, Result>} */
  #results = new Map();

  /** @param {{config: Config, parts: Parts, folder: string, cells: Cell[], file: SweepFile}} given */
  constructor({ config, parts, folder, cells, file }) {
    this.#parts = parts;
    this.#folder = folder;
    this.#cells = cells;
    this.#turns = turnsOf(cells, file.repeat);
    this.#experiment = new Experiment({ config, parts, folder });
    this.#experiment.warning = file.warnings[0] ?? null;
    this.#file = file;
  }

  get exitCode() {
    const codes = [...this.#results.values()].map(({ exitCode }) => exitCode);
    return worstExit([...codes, ...this.#parts.stop.exitCodes]);
  }

  async run() {
    const { say, version } = this.#parts;
    this.#results = await keptRuns(this.#folder, this.#turns, this.#file.startedAt);
    const todo = this.#turns.filter(({ file }) => !this.#results.has(file));
    const all = this.#turns.length;
    const name = displayName(this.#folder);
    if (todo.length === 0) say(`all ${all} runs are in ${name} already`);
    else if (todo.length < all) say(`${all - todo.length} of ${all} runs are in ${name} already and are kept`);
    if (todo.length > 0) Object.assign(this.#file, { end: 'running', endedAt: null, stress: version });
    try {
      await this.#runAll(todo);
      await this.#finish();
    } catch (error) {
      await this.#close('failed');
      throw error;
    }
  }

  /** @param {Turn[]} turns */
  async #runAll(turns) {
    const time = new RemainingTime(this.#parts.clock, turns.length);
    const all = this.#turns.length;
    let failures = 0;
    for (const [i, turn] of turns.entries()) {
      const done = all - turns.length + i;
      const { index, repeat, file } = turn;
      const cell = this.#cells[index];
      const name = cellName(cell.settings);
      const label = `running ${name}${time.words(i)}`;
      const made = await this.#experiment.run({ name, file, label, done, all, repeat, args: argsOf(cell) });
      if (made === null) return;
      const result = this.#resultOf(turn, made);
      failures = result.reading === null ? failures + 1 : 0;
      this.#results.set(file, result);
      this.#update();
      await writeStudy(this.#folder, this.#file);
      this.#report(turn, result, `${done + 1}/${all}`, time.words(i + 1));
      if (FATAL.includes(result.exitCode)) throw failureOf(result);
      if (failures === MAX_EMPTY_RUNS)
        throw new UnavailableError(`${MAX_EMPTY_RUNS} runs in a row measured nothing; the last: ${result.complaint}`);
    }
  }

  /** @param {Turn} turn @param {Made} made @returns {Result} */
  #resultOf({ index, repeat, file }, { run, exitCode, startedAt, complaint }) {
    if (run === null) return { repeat, file, exitCode, startedAt, complaint, reading: null };
    this.#file.environment ??= environmentOf(run);
    this.#experiment.warnOfWindow(cellName(this.#cells[index].settings), run);
    return { repeat, file, exitCode, startedAt, complaint: null, reading: readRun(run) };
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
    const results = this.#cells.map((_, index) =>
      this.#turns.filter((turn) => turn.index === index).flatMap(({ file }) => this.#results.get(file) ?? []),
    );
    const { warning } = this.#experiment;
    const warnings = warning === null ? [] : [warning];
    Object.assign(this.#file, summarizeCells(this.#cells, results, this.#file.axes), { warnings });
  }

  async #finish() {
    const { stop, say } = this.#parts;
    const turns = this.#turns;
    const measured = turns.filter(({ file }) => this.#results.get(file)?.reading != null).length;
    await this.#close(stop.drain.aborted ? 'interrupted' : measured === turns.length ? 'complete' : 'incomplete');
    if (measured < turns.length)
      say(`${turns.length - measured} of ${turns.length} runs are missing: the same command makes them`);
  }

  /** @param {SweepFile['end']} end */
  async #close(end) {
    const { clock, say } = this.#parts;
    this.#update();
    const file = this.#file;
    // A sweep that had ended keeps its end time.
    Object.assign(file, { end, endedAt: file.endedAt ?? new Date(clock.wallMs()).toISOString() });
    await writeStudy(this.#folder, file);
    await writeFileAtomically(join(this.#folder, 'sweep.csv'), sweepCsv(file));
    await writeFileAtomically(join(this.#folder, 'sweep.md'), sweepMarkdown(file));
    say(sweepText(file));
    say(`\nsweep.json, sweep.csv, sweep.md and the run files are in ${displayName(this.#folder)}`);
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
