import { join } from 'node:path';
import { InputError, StressError, UnavailableError, UsageError, displayName } from '../errors.js';
import { writeFileAtomically } from '../files.js';
import { resultText } from '../outputs/table.js';
import { backlog } from '../stats/growth.js';
import { FATAL, remainingTime, runChild, runStudy } from './experiment.js';
import { KEPT, METRICS, MORE, lowerBounds, metricOf, readMetrics } from './metrics.js';
import { argsOf, cellName, checkSize, planCells, turnsOf } from './plan.js';
import { environmentOf, isWhole, readIfAny, runFileReader } from './run-files.js';
import { meanOf } from './statistics.js';
import { findSaturation, sweepCsv, sweepMarkdown, sweepResult } from './sweep-text.js';

/**
 * @import { Axis, Config, Parts, Readings, RunFile, SweepFile, SweepRun } from '../types.d.ts'
 * @import { Made, Study } from './experiment.js'
 * @import { Cell, Turn } from './plan.js'
 * @import { Point } from './sweep-text.js'
 */

/**
 * The sweep: runs every combination of settings, and makes only those runs that are missing in its folder.
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
function summarizeCells(cells, results, axes) {
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

/** Failed runs in a row that end the sweep. */
const MAX_EMPTY_RUNS = 3;

/** @param {Config} config @param {Parts} parts @param {typeof runChild} [start] starts a run @returns {Promise<number>} the exit code */
export async function sweep(config, parts, start = runChild) {
  const { axes, options, env } = config.study;
  checkSize(axes, config.repeat ?? 1);
  const cells = planCells(axes, options);
  for (const cell of cells) {
    try {
      await parts.checkCell(argsOf(cell), env);
    } catch (error) {
      if (!(error instanceof UsageError || error instanceof InputError)) throw error;
      const words = `${cellName(cell.settings)}: ${error.message}`;
      throw error instanceof UsageError ? new UsageError(words) : new InputError(words, error);
    }
  }
  return runStudy(config, parts, { inner: 'cells', find: null, start }, (study) => new Sweep(study, cells));
}

class Sweep {
  #study;
  #cells;
  #turns;
  /** By file name. @type {Map<string, Result>} */
  #results = new Map();

  /** @param {Study} study @param {Cell[]} cells */
  constructor(study, cells) {
    const { file, experiment } = study;
    this.#study = study;
    this.#cells = cells;
    this.#turns = turnsOf(cells, file.repeat);
    experiment.warnings = file.warnings;
  }

  get exitCodes() {
    return [...this.#results.values()].map(({ exitCode }) => exitCode);
  }

  async run() {
    const { file, folder, parts } = this.#study;
    const { say, stop, version } = parts;
    await this.#readKept();
    const todo = this.#turns.filter((turn) => !this.#results.has(turn.file));
    const all = this.#turns.length;
    const name = displayName(folder);
    if (todo.length === 0) say(`all ${all} runs are in ${name} already`);
    else if (todo.length < all) say(`${all - todo.length} of ${all} runs are in ${name} already and are kept`);
    if (todo.length > 0) Object.assign(file, { end: 'running', endedAt: null, stress: version });
    this.#update();
    await this.#runAll(todo);
    if (stop.drain.aborted) return 'interrupted';
    return this.#missing === 0 ? 'complete' : 'incomplete';
  }

  get #missing() {
    return this.#turns.filter(({ file }) => (this.#results.get(file)?.reading ?? null) === null).length;
  }

  /** Reads the complete runs in the folder that are not older than this sweep. */
  async #readKept() {
    const { folder, file: sweepFile } = this.#study;
    const read = await runFileReader();
    for (const { file, repeat } of this.#turns) {
      const run = readIfAny(join(folder, file), read);
      if (run === null || !isWhole(run) || run.startedAt < sweepFile.startedAt) continue;
      const { startedAt, exitCode } = run;
      const reading = readRun(run);
      this.#results.set(file, { repeat, file, exitCode: exitCode ?? 0, startedAt, complaint: null, reading });
    }
  }

  /** @param {Turn[]} turns */
  async #runAll(turns) {
    const { parts, experiment, file: sweepFile, save } = this.#study;
    const left = remainingTime(parts.clock, turns.length);
    const all = this.#turns.length;
    let failures = 0;
    for (const [i, { index, repeat, file }] of turns.entries()) {
      const done = all - turns.length + i;
      const cell = this.#cells[index];
      const name = cellName(cell.settings);
      const label = `running ${name}${left(i)}`;
      const made = await experiment.run({ name, file, label, done, all, repeat, args: argsOf(cell) });
      if (made === null) return;
      const { run, exitCode, startedAt, complaint } = made;
      if (run !== null) sweepFile.environment ??= environmentOf(run);
      const reading = run === null ? null : readRun(run);
      failures = run === null ? failures + 1 : 0;
      const kept = { repeat, file, exitCode, startedAt, complaint: run === null ? complaint : null, reading };
      this.#results.set(file, kept);
      this.#update();
      await save();
      parts.say(`${done + 1}/${all}  ${name}  ${resultWords(made, reading)}${left(i + 1)}`);
      if (FATAL.includes(exitCode)) throw new StressError(complaint, 'run_failed', exitCode);
      if (failures === MAX_EMPTY_RUNS)
        throw new UnavailableError(`${MAX_EMPTY_RUNS} runs in a row measured nothing; the last: ${complaint}`);
    }
  }

  #update() {
    const { file, experiment } = this.#study;
    const results = this.#cells.map((_, index) =>
      this.#turns.filter((turn) => turn.index === index).flatMap((turn) => this.#results.get(turn.file) ?? []),
    );
    Object.assign(file, summarizeCells(this.#cells, results, file.axes), { warnings: experiment.warnings });
  }

  async report() {
    const { file, folder, parts } = this.#study;
    await writeFileAtomically(join(folder, 'sweep.csv'), sweepCsv(file));
    await writeFileAtomically(join(folder, 'sweep.md'), sweepMarkdown(file));
    parts.say(resultText(sweepResult(file)));
    parts.say(`\nsweep.json, sweep.csv, sweep.md and the run files are in ${displayName(folder)}`);
    if (this.#missing > 0 && file.end !== 'failed')
      parts.say(`${this.#missing} of ${this.#turns.length} runs are missing: the same command makes them`);
  }
}

/** @param {Made} made @param {Reading | null} reading */
function resultWords({ exitCode, complaint }, reading) {
  if (reading === null) return `measured nothing (exit code ${exitCode}): ${complaint}`;
  const show = (/** @type {string} */ name) =>
    metricOf(name).show(reading.metrics[name], reading.atLeast.includes(name));
  return `TPS ${show('tps')}  p99 ${show('p99')}${exitCode === 0 ? '' : `  exit code ${exitCode}`}`;
}
