import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, InputError, StressError, UnavailableError, UsageError, displayName, worstExit } from '../errors.js';
import { checkWritable, writeFileAtomically } from '../files.js';
import { backlog, shortWindow } from '../stats/growth.js';
import { figureOf } from '../stats/metrics.js';
import { inFolder, isInterruption, runChild, runCommand, splitWords } from './experiment.js';
import { KEPT, METRICS, MORE, lowerBounds, metricOf, readMetrics } from './metrics.js';
import { argsOf, cellName, checkSize, differenceOf, fingerprint, planCells, presets, turnsOf } from './plan.js';
import { environmentOf, newSweep, readRunFiles, readSweepIfAny, runFileReader, writeSweep } from './run-files.js';
import { meanOf } from './statistics.js';
import { findSaturation, sweepCsv, sweepMarkdown, sweepText } from './sweep-text.js';

/**
 * @import { Axis, Clock, Config, Find, Parts, Readings, RunFile, SweepCell, SweepFile } from '../types.d.ts'
 * @import { Stop } from '../core/stop.js'
 * @import { OutputError } from '../errors.js'
 * @import { Asked, Cell, Turn } from './plan.js'
 * @import { SweepRun } from './run-files.js'
 * @import { Point } from './sweep-text.js'
 * @import { Logger } from 'pino'
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

/** Ends of complete runs. */
const COMPLETE_ENDS = Object.freeze(['duration', 'no_wallets']);

/** Whether a run had its full length. @param {RunFile} run */
export function isWhole({ partial, end }) {
  return !partial && COMPLETE_ENDS.includes(end);
}

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
 * @param {{axes: readonly Axis[], isPerConnection: boolean}} plan
 * @returns {Pick<SweepFile, 'cells' | 'saturation'>}
 */
export function summarizeCells(cells, results, { axes, isPerConnection }) {
  const points = cells.map((cell, i) => pointOf(cell, results[i]));
  const measured = points.filter(({ tps }) => tps !== null);
  const { reasons, saturation } = findSaturation(measured, axes, isPerConnection);
  return {
    cells: cells.map(({ settings, derived }, i) => ({
      settings,
      derived,
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

const MAX_PILOT_MS = 5000;
/** Gives the pilot enough wallets, even if operations take twice as long. */
const PILOT_LATENCY_US = 2.5e6;

/**
 * A short run before the sweep, which measures how long an operation takes.
 * @param {object} given
 * @param {Parameters<typeof planCells>[0]} given.layout of the sweep
 * @param {string} given.folder of the sweep
 * @param {Config} given.config
 * @param {Parts} given.parts
 * @param {string} given.since start of the sweep: an older pilot belongs to another one
 * @returns {Promise<number | null>} p99 of the lowest rate, in microseconds; null: interrupted
 */
async function pilotLatencyUs({ layout, folder, config, parts, since }) {
  const { say, stop, onProgress } = parts;
  const out = join(folder, 'pilot.json');
  const before = await readPilot(out);
  if (before !== null && before.startedAt >= since) return p99(before);
  const [lowest] = planCells(layout, PILOT_LATENCY_US).sort((a, b) => (a.asked ?? 0) - (b.asked ?? 0));
  onProgress('a pilot run says how many wallets are needed', 0, 1);
  const durationMs = Math.min(MAX_PILOT_MS, config.durationMs ?? MAX_PILOT_MS);
  const args = [...argsOf(lowest), `--duration=${durationMs}ms`];
  const { run, exitCode, complaint } = await runChild({ args, env: config.study.env, out, stop });
  onProgress('', 1, 1);
  if (stop.drain.aborted) return null;
  const latencyUs = run !== null && isWhole(run) ? p99(run) : null;
  if (latencyUs === null)
    throw new StressError(
      `the pilot run: ${complaint ?? 'it verified nothing'}`,
      'pilot_failed',
      exitCode === EXIT.ok ? EXIT.nothingVerified : exitCode,
    );
  say(`pilot: p99 ${Math.round(latencyUs / 1000)} ms at ${lowest.asked} per second`);
  return latencyUs;
}

/** @param {RunFile} run */
function p99(run) {
  return figureOf('p99')?.read(run) ?? null;
}

/** @param {string} file @returns {Promise<RunFile | null>} */
async function readPilot(file) {
  try {
    const [run] = await readRunFiles([file]);
    return isWhole(run) ? run : null;
  } catch {
    return null;
  }
}

/** @typedef {Pick<Find, 'name' | 'until'>} Searched */

/**
 * @param {string} folder
 * @param {Asked} asked
 * @param {Searched | null} [find] of a search
 * @returns {Promise<SweepFile | null>} the earlier state of the same study; null: none
 * @throws {InputError | OutputError}
 */
export async function openFolder(folder, asked, find = null) {
  for (const name of ['sweep.json', ...(find === null ? ['sweep.csv', 'sweep.md'] : [])])
    await checkWritable(join(folder, name));
  const before = await readSweepIfAny(join(folder, 'sweep.json'));
  if (before === null) return null;
  const [was, is] = [before.find, find].map(findWords);
  const difference = was === is ? differenceOf(before, asked) : `it was ${was} and is ${is}`;
  if (difference === null) return before;
  throw new InputError(
    `${displayName(folder)} holds another ${before.find === null ? 'sweep' : 'search'}: ${difference}; give --dir another folder, or remove this one`,
  );
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
    const run = readIfWhole(join(folder, file), read);
    if (run === null || run.startedAt < since) continue;
    const { startedAt } = run;
    kept.set(file, { repeat, file, exitCode: run.exitCode ?? 0, startedAt, complaint: null, reading: readRun(run) });
  }
  return kept;
}

/** @param {string} file @param {(file: string) => RunFile} read */
function readIfWhole(file, read) {
  if (!existsSync(file)) return null;
  try {
    const run = read(file);
    return isWhole(run) ? run : null;
  } catch {
    // The file was damaged: the run is repeated.
    return null;
  }
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

/**
 * @typedef {object} Given
 * @property {string} folder
 * @property {Config} config
 * @property {Parts} parts
 * @property {{axes: SweepFile['axes'], options: SweepFile['options'], isPerConnection: boolean}} layout
 * @property {string[] | null} beforeCell
 */

/** Failed runs in a row that end the sweep. */
const MAX_EMPTY_RUNS = 3;
/** Exit codes that all other runs would have as well. @type {readonly number[]} */
const FATAL = Object.freeze([EXIT.usage, EXIT.badInput, EXIT.refused, EXIT.cannotWrite]);

/** @param {Config} config @param {Parts} parts @returns {Promise<number>} the exit code */
export async function sweep(config, parts) {
  const repeat = config.repeat ?? 1;
  const { axes, options } = config.study;
  checkSize(axes, repeat);
  const beforeCell = config.beforeCell === null ? null : splitWords(config.beforeCell);
  const preset = presets[config.preset ?? ''] ?? null;
  const layout = { axes, options, isPerConnection: preset?.isPerConnection === true };
  const needsPilot = config.threads === null;
  // Latency 0 gives the fewest wallets; more wallets could not add another error.
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
  const runner = new SweepRunner({ config, parts, folder, layout, beforeCell }, before ?? fresh);
  if (before === null) await runner.write();
  const latencyUs = needsPilot
    ? await pilotLatencyUs({ layout, folder, config, parts, since: runner.startedAt })
    : null;
  if (stop.drain.aborted && needsPilot && latencyUs === null) return worstExit(stop.exitCodes);
  const cells = planCells(layout, latencyUs);
  await checkCells(cells, config, parts);
  await runner.run(cells, turnsOf(cells, repeat));
  const [error] = stop.errors;
  if (error !== undefined) throw error;
  return runner.exitCode;
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
  #config;
  #parts;
  #folder;
  #layout;
  #beforeCell;
  /** @type {SweepFile} */
  #sweep;
  /** @type {Cell[]} */
  #cells = [];
  /** By file name. @type {Map<string, Result>} */
  #results = new Map();

  /** @param {Given} given @param {SweepFile} sweep its state */
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
      // The progress bar is removed before a line is printed.
      onProgress('', 1, 1);
      this.#report(turn, result, `${done + 1}/${all}`, time.words(i + 1));
      if (FATAL.includes(result.exitCode)) throw failureOf(result);
      if (failures === MAX_EMPTY_RUNS)
        throw new UnavailableError(`${MAX_EMPTY_RUNS} runs in a row measured nothing; the last: ${result.complaint}`);
    }
  }

  /** @param {Turn} turn @returns {Promise<Result | null>} null: interrupted */
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

  /** Warns once, because all windows have the same length. @param {Cell} cell @param {RunFile} run */
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
    // A sweep that had ended keeps its end time.
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
