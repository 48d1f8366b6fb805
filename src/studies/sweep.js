import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { InputError, UnavailableError, UsageError, displayName } from '../errors.js';
import { writeFileAtomically } from '../files.js';
import { resultText } from '../outputs/table.js';
import { FATAL, failure } from './experiment.js';
import { KEPT, lowerBounds, metricOf } from './metrics.js';
import { argsOf, cellName, checkSize, fingerprint, namedParts, planCells, turnsOf } from './plan.js';
import { environmentOf } from './run-files.js';
import { findSaturation } from './saturation.js';
import { runStudy } from './study.js';
import { sweepCsv, sweepMarkdown, sweepResult } from './sweep-text.js';
import { partOf } from '../text.js';

/**
 * @import { Config } from '../contracts/config.d.ts'
 * @import { Find, Parts, StudyConfig, SweepCell, SweepFile } from '../contracts/study.d.ts'
 * @import { Made, TOOLS, RunRequest } from './experiment.js'
 * @import { Cell } from './plan.js'
 * @import { Study } from './study.js'
 */

/** The sweep: runs every combination of settings, and makes only those runs that are missing in its folder. */

/** A cell without runs. @param {Cell} cell @returns {SweepCell} */
export function cellOf({ settings, asked }) {
  const metrics = Object.fromEntries(KEPT.map((name) => [name, []]));
  return { settings, asked, runs: [], metrics, atLeast: [], saturated: false, why: null };
}

/** @param {SweepCell} cell @param {Made} made @param {string} file of the run */
export function addRun(cell, { run, exitCode, startedAt, complaint }, file) {
  const repeat = cell.runs.length + 1;
  cell.runs.push({ repeat, file, exitCode, startedAt, complaint: run === null ? complaint : null });
  for (const name of KEPT) cell.metrics[name].push(run === null ? null : metricOf(name).read(run));
  if (run === null) return;
  // With --stages only the run files have the rate.
  cell.asked ??= run.rates.askedPerSecond;
  cell.atLeast = [...new Set([...(cell.atLeast ?? []), ...lowerBounds(run, KEPT)])];
}

/** Failed runs in a row that end the sweep. */
const MAX_EMPTY_RUNS = 3;

/** @param {Pick<Config, 'study' | 'wallets' | 'outputs'>} config @param {Parts} parts @param {Partial<typeof TOOLS>} [tools] */
export async function sweep(config, parts, tools) {
  const { study } = config;
  checkSize(study.axes, study.repeat ?? 1);
  const cells = planCells(study.axes, study.options);
  for (const cell of cells) {
    try {
      await parts.checkCell(argsOf(cell), study.env);
    } catch (error) {
      if (!(error instanceof UsageError || error instanceof InputError)) throw error;
      const words = `${cellName(cell.settings)}: ${error.message}`;
      throw error instanceof UsageError ? new UsageError(words) : new InputError(words, error);
    }
  }
  const plan = { ...planOf(config, null), outputs: ['sweep.csv', 'sweep.md'], inner: 'cells', tools };
  return runStudy(config, parts, plan, (begun) => new Sweep(begun, cells));
}

/** @param {Pick<StudyConfig, 'dir' | 'find'>} study of a sweep or a search */
export function folderOf({ dir, find }) {
  return dir ?? (find === null ? 'sweep' : 'find');
}

/** What a sweep and a search have in common. @param {Pick<Config, 'study' | 'outputs'>} config @param {Find | null} find */
export function planOf({ study, outputs: { commandLine } }, find) {
  const { repeat, restMs, beforeCell } = study;
  const asked = { axes: study.axes, repeat: repeat ?? 1, restMs, options: study.options };
  return {
    kind: /** @type {const} */ ('sweep'),
    folder: folderOf(study),
    begin: (/** @type {SweepFile | null} */ before) => ({
      id: before?.id ?? randomUUID(),
      commandLine,
      ...asked,
      beforeCell: beforeCell === null ? null : fingerprint(beforeCell),
      environment: null,
      cells: [],
      saturation: [],
      find,
    }),
    optionsOf,
  };
}

/** @param {SweepFile} sweep @returns {Record<string, string>} */
function optionsOf({ find, ...asked }) {
  const command = find === null ? 'sweep' : find.range === undefined ? `sweep --find ${find.name}` : 'find';
  return {
    'the command': command,
    ...(find?.range && { [`--${find.name}`]: find.range }),
    ...(find !== null && find.until.length > 0 && { '--until': find.until.join(', ') }),
    ...namedParts(asked),
  };
}

class Sweep {
  #study;
  #turns;

  /** @param {Study<SweepFile>} study @param {Cell[]} cells */
  constructor(study, cells) {
    const { file } = study;
    this.#study = study;
    this.#turns = turnsOf(cells, file.repeat);
    file.cells = cells.map(cellOf);
  }

  get #runs() {
    return this.#study.file.cells.flatMap(({ runs }) => runs);
  }

  get exitCodes() {
    return this.#runs.map(({ exitCode }) => exitCode);
  }

  get #missing() {
    return this.#turns.length - this.#runs.filter(({ complaint }) => complaint === null).length;
  }

  /** @returns {AsyncGenerator<RunRequest, SweepFile['end'], Made>} */
  async *steps() {
    const { parts, file: sweepFile } = this.#study;
    const { cells, axes } = sweepFile;
    const all = this.#turns.length;
    let failures = 0;
    for (const [done, { index, repeat, file }] of this.#turns.entries()) {
      const cell = cells[index];
      const name = cellName(cell.settings);
      const made = yield { name, file, label: `running ${name}`, done, all, repeat, args: argsOf(cell) };
      const { run, exitCode, complaint, isKept } = made;
      addRun(cell, made, file);
      sweepFile.saturation = findSaturation(cells, axes);
      if (run !== null) sweepFile.environment ??= environmentOf(run);
      failures = run === null ? failures + 1 : 0;
      if (isKept) continue;
      parts.say(`${done + 1}/${all}  ${name}  ${resultWords(made)}`);
      if (FATAL.includes(exitCode)) throw failure(name, made);
      if (failures === MAX_EMPTY_RUNS)
        throw new UnavailableError(`${MAX_EMPTY_RUNS} runs in a row measured nothing; the last: ${complaint}`);
    }
    return this.#missing === 0 ? 'complete' : 'incomplete';
  }

  /** @param {SweepFile['end']} end */
  async report(end) {
    const { file, folder, parts } = this.#study;
    await writeFileAtomically(join(folder, 'sweep.csv'), sweepCsv(file));
    await writeFileAtomically(join(folder, 'sweep.md'), sweepMarkdown(file));
    parts.say(resultText(sweepResult(file)));
    parts.say(`\nsweep.json, sweep.csv, sweep.md and the run files are in ${displayName(folder)}`);
    if (this.#missing > 0 && end !== 'failed')
      parts.say(`${partOf(this.#missing, this.#turns.length, 'run')} missing: the same command makes them`);
  }
}

/** @param {Made} made */
function resultWords({ run, exitCode, complaint }) {
  if (run === null) return `measured nothing (exit code ${exitCode}): ${complaint}`;
  const [tps, p99] = ['tps', 'p99'].map((name) => {
    const { read, show, isAtLeast } = metricOf(name);
    return show(read(run), isAtLeast(run));
  });
  return `TPS ${tps}  p99 ${p99}${exitCode === 0 ? '' : `  exit code ${exitCode}`}`;
}
