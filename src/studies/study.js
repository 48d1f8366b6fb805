import { accessSync, constants, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InputError, OutputError, displayName, worstExit } from '../errors.js';
import { cannotWrite, checkWritable, makeFolder, writeFileAtomically } from '../files.js';
import { shortWindow } from '../stats/growth.js';
import { Budget, MAX_SPEND } from './budget.js';
import { Experiment } from './experiment.js';
import { differenceOfParts } from './plan.js';
import { isWhole, readIfAny, reader, schemaOf } from './run-files.js';
import { counted } from '../text.js';

/**
 * The engine of all studies. The steps of a study are an async generator: it yields the runs that it wants, and gets what
 * each of them measured. What it decides depends only on its options, its seed and these runs. So the same command
 * continues a study after an interrupt, a kill -9 or a full disk: the engine gives it the runs that are in the folder, and
 * makes the others.
 *
 * @import { Config } from '../contracts/config.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Parts, StudyConfig, StudyFile } from '../contracts/study.d.ts'
 * @import { Made, TOOLS, RunRequest } from './experiment.js'
 */

/**
 * @template {StudyFile} F
 * @typedef {object} StudyPlan
 * @property {'sweep' | 'pairs' | 'bisect'} kind its file has this name
 * @property {string} folder
 * @property {string} [inner] folder of the run files
 * @property {readonly string[]} [outputs] other files that it writes to the folder
 * @property {(before: F | null) => Omit<F, keyof StudyFile>} begin the file before the first run; before: that in the folder
 * @property {(file: F) => Record<string, string>} optionsOf what must be the same to continue
 * @property {Partial<typeof TOOLS>} [tools]
 */

/**
 * @template {StudyFile} F
 * @typedef {object} Study
 * @property {StudyConfig} config
 * @property {Parts} parts
 * @property {string} folder
 * @property {F} file
 * @property {(wanted: RunRequest) => Made | null} keptRun the run, if it is in the folder
 * @property {Budget} budget
 */

/**
 * @template {StudyFile} F
 * @typedef {object} Steps
 * @property {() => AsyncGenerator<RunRequest, F['end'], Made>} steps
 * @property {(end: F['end']) => unknown} report called at the end, also after an error
 * @property {readonly number[]} [exitCodes]
 */

/**
 * @template {StudyFile} F
 * @template S
 * @param {Pick<Config, 'study' | 'wallets'>} options
 * @param {Parts} parts
 * @param {StudyPlan<F>} plan
 * @param {(study: Study<F>) => S & Steps<F>} stepsOf
 * @returns {Promise<{exitCode: number, file: F, steps: S}>} also if it was interrupted (parts.stop)
 */
export function runStudy({ study: config, wallets: { maxSpendWei } }, parts, plan, stepsOf) {
  const { folder, inner = '', tools } = plan;
  return inFolder(folder, inner, async () => {
    if (config.fresh) removeRuns(join(folder, inner));
    const name = join(folder, `${plan.kind}.json`);
    const { file, isNew } = await openFile(name, plan, parts, config.fresh);
    const keptRun = await keptRunsOf(folder, file.startedAt);
    const read = await reader('run');
    const budget = new Budget(maxSpendWei, file, () => writeStudy(name, file));
    budget.resume((run) => readIfAny(join(folder, run), read));
    const study = { config, parts, folder, file, keptRun, budget };
    const steps = stepsOf(study);
    const experiment = new Experiment({ config, parts, folder, tools, budget });
    const engine = new Engine(study, experiment, { name, isOnDisk: !isNew });
    /** @param {F['end']} end */
    const close = async (end) => {
      await engine.close(end);
      await steps.report(end);
    };
    try {
      await close(await engine.run(steps.steps()));
    } catch (error) {
      // An error of the clean-up must not hide the first one.
      await close('failed').catch(() => {});
      throw error;
    }
    const { errors, exitCodes } = parts.stop;
    if (errors.length > 0) throw errors[0];
    return { exitCode: worstExit([...(steps.exitCodes ?? []), ...exitCodes]), file, steps };
  });
}

/**
 * The file of the same study in the folder, without what its runs say, or a new one.
 * @template {StudyFile} F
 * @param {string} name
 * @param {StudyPlan<F>} plan
 * @param {Parts} parts
 * @param {boolean} isFresh what is in the folder is not used
 * @returns {Promise<{file: F, isNew: boolean}>}
 */
async function openFile(name, { kind, folder, outputs = [], begin, optionsOf }, { clock, version }, isFresh) {
  for (const one of [name, ...outputs.map((output) => join(folder, output))]) await checkWritable(one);
  const before =
    existsSync(name) && !isFresh ? /** @type {F} */ (/** @type {unknown} */ ((await reader(kind))(name))) : null;
  const startedAt = new Date(clock.wallMs()).toISOString();
  const head = { startedAt, endedAt: null, end: 'running', stress: version };
  const { endedAt, end, stress, startedAt: since } = before ?? head;
  const file = /** @type {F} */ (
    /** @type {unknown} */ ({
      ...{ schema: schemaOf(kind), startedAt: since, endedAt, end, stress, warnings: [] },
      ...(before?.spending && { spending: before.spending }),
      ...begin(before),
    })
  );
  // It changes nothing in what runs measure, and where it is used up the study can go on with more.
  const asked = (/** @type {F} */ one) => ({ ...optionsOf(one), [MAX_SPEND]: '' });
  const difference = before === null ? null : differenceOfParts(asked(before), asked(file));
  if (difference === null) return { file, isNew: before === null };
  throw new InputError(
    `${displayName(folder)} holds another study: ${difference}; give --dir another folder, or ${kind === 'sweep' ? '--fresh to make all runs anew' : 'remove this one'}`,
  );
}

/** Run files of an earlier study would be taken for some of the new one. @param {string} folder */
function removeRuns(folder) {
  for (const file of readdirSync(folder)) if (file.endsWith('.json')) rmSync(join(folder, file));
}

/** @param {string} name @param {StudyFile} file */
function writeStudy(name, file) {
  return writeFileAtomically(name, `${JSON.stringify(file, null, 2)}\n`);
}

/** @param {string} folder @param {string} since runs that began before belong to another study @returns {Promise<(wanted: RunRequest) => Made | null>} */
async function keptRunsOf(folder, since) {
  const read = await reader('run');
  return ({ file, isMeasured = true, accepts = () => true }) => {
    const run = isMeasured ? readIfAny(join(folder, file), read) : null;
    if (run === null || !isWhole(run) || run.startedAt < since) return null;
    const made = { run, exitCode: run.exitCode ?? 0, startedAt: run.startedAt, complaint: '', isKept: true };
    return accepts(made) ? made : null;
  };
}

class Engine {
  #study;
  #experiment;
  #name;
  /** From the first measured run on. Before, the options may still be put right. */
  #isOnDisk;

  /** @param {Study<any>} study @param {Experiment} experiment @param {{name: string, isOnDisk: boolean}} file */
  constructor(study, experiment, { name, isOnDisk }) {
    this.#study = study;
    this.#experiment = experiment;
    this.#name = name;
    this.#isOnDisk = isOnDisk;
  }

  /** @template E @param {AsyncGenerator<RunRequest, E, Made>} steps @returns {Promise<E | 'interrupted'>} */
  async run(steps) {
    const { parts, folder, keptRun } = this.#study;
    let kept = 0;
    const sayKept = () => {
      if (kept > 0) parts.say(`${counted(kept, 'run')} kept, already in ${displayName(folder)}`);
      kept = 0;
    };
    let next = await steps.next(/** @type {any} */ (undefined));
    while (!next.done) {
      const wanted = next.value;
      let made = keptRun(wanted);
      if (made !== null) {
        kept += (wanted.isCounted ?? true) ? 1 : 0;
        this.#study.budget.keep(/** @type {RunFile} */ (made.run));
      } else {
        sayKept();
        made = await this.#make(wanted);
        if (made === null) return 'interrupted';
      }
      this.#warnOfWindow(wanted, made);
      next = await steps.next(made);
    }
    sayKept();
    return next.value;
  }

  /** @param {RunRequest} wanted */
  async #make(wanted) {
    const { file, parts } = this.#study;
    Object.assign(file, { end: 'running', endedAt: null, stress: parts.version });
    this.#isOnDisk ||= wanted.isMeasured ?? true;
    await this.#save();
    return this.#experiment.run(wanted);
  }

  async #save() {
    if (this.#isOnDisk) await writeStudy(this.#name, this.#study.file);
  }

  /** @param {string} end */
  async close(end) {
    const { file, parts } = this.#study;
    if (end !== file.end) Object.assign(file, { end, endedAt: new Date(parts.clock.wallMs()).toISOString() });
    await this.#save();
  }

  /** Once, as all windows have the same length; of a sweep once for each point. @param {RunRequest} wanted @param {Made} made */
  #warnOfWindow({ name, repeat, isMeasured = true, warns = isMeasured }, { run, isKept }) {
    const { file, parts } = this.#study;
    const short = warns && run !== null ? shortWindow(run) : null;
    const words = `${name}: `;
    if (
      short === null ||
      file.warnings.some((/** @type {string} */ one) => repeat === undefined || one.startsWith(words))
    )
      return;
    file.warnings.push(words + short.words);
    if (!isKept) parts.say(`warning: ${words}${short.words}`);
  }
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
