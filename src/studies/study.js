import { randomInt } from 'node:crypto';
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InputError, OutputError, displayName, worstExit } from '../errors.js';
import { cannotWrite, checkWritable, makeFolder, writeFileAtomically } from '../files.js';
import { shortWindow } from '../stats/growth.js';
import { Experiment } from './experiment.js';
import { differenceOfParts } from './plan.js';
import { isWhole, readIfAny, reader, schemaOf } from './run-files.js';

/**
 * The loop of all studies. The steps of a study are an async generator: it yields the runs that it wants, and gets what
 * each of them measured. What it decides depends only on its options, its seed and these runs. So the same command
 * continues a study after an interrupt, a kill -9 or a full disk: the loop gives it the runs that are in the folder, and
 * makes the others.
 *
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
 * @property {() => number} [limitMs] its time limit; default: none
 * @property {(before: F | null) => Omit<F, keyof StudyFile>} begin the file before the first run; before: that in the folder
 * @property {(file: F) => Record<string, string>} optionsOf what must be the same to continue
 * @property {Partial<typeof TOOLS>} [tools]
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
 * @param {StudyConfig} config
 * @param {Parts} parts
 * @param {StudyPlan<F>} plan
 * @param {(study: Study<F>) => S & Steps<F>} stepsOf
 * @returns {Promise<{exitCode: number, name: string, file: F, steps: S}>} also if it was interrupted (parts.stop); name: of the file
 */
export function runStudy(config, parts, plan, stepsOf) {
  return inFolder(plan.folder, plan.inner ?? '', async () => {
    const study = await openStudy(config, parts, plan);
    const steps = stepsOf(study);
    /** @param {F['end']} end */
    const close = async (end) => {
      await study.close(end);
      await steps.report(end);
    };
    try {
      await close(await study.run(steps.steps()));
    } catch (error) {
      // An error of the clean-up must not hide the first one.
      await close('failed').catch(() => {});
      throw error;
    }
    const { errors, exitCodes } = parts.stop;
    if (errors.length > 0) throw errors[0];
    const { name, file } = study;
    return { exitCode: worstExit([...(steps.exitCodes ?? []), ...exitCodes]), name, file, steps };
  });
}

/**
 * With the file of the same study in the folder, without what its runs say, or with a new one.
 * @template {StudyFile} F
 * @param {StudyConfig} config
 * @param {Parts} parts
 * @param {StudyPlan<F>} plan
 * @returns {Promise<Study<F>>}
 */
async function openStudy(config, parts, plan) {
  const { kind, folder, outputs = [], begin, optionsOf } = plan;
  const name = join(folder, `${kind}.json`);
  for (const one of [name, ...outputs.map((output) => join(folder, output))]) await checkWritable(one);
  const before = existsSync(name) ? /** @type {F} */ (/** @type {unknown} */ ((await reader(kind))(name))) : null;
  const startedAt = new Date(parts.clock.wallMs()).toISOString();
  const head = { startedAt, endedAt: null, end: 'running', stress: parts.version };
  const { endedAt, end, stress, startedAt: since } = before ?? head;
  const file = /** @type {F} */ (
    /** @type {unknown} */ ({
      ...{ schema: schemaOf(kind), startedAt: since, endedAt, end, stress, warnings: [] },
      ...begin(before),
    })
  );
  const difference = before === null ? null : differenceOfParts(optionsOf(before), optionsOf(file));
  if (difference === null) return new Study({ config, parts, plan, name, before, file, read: await reader('run') });
  throw new InputError(
    `${displayName(folder)} holds another study: ${difference}; give --dir another folder, or remove this one`,
  );
}

/**
 * A study that is at work in its folder.
 * @template {StudyFile} F
 */
export class Study {
  #read;
  #limitMs;
  #startUs;
  #experiment;
  /** From the first measured run on. Before, the options may still be put right. */
  #isOnDisk;

  /** @param {{config: StudyConfig, parts: Parts, plan: StudyPlan<F>, name: string, before: F | null, file: F, read: (file: string) => RunFile}} given */
  constructor({ config, parts, plan, name, before, file, read }) {
    this.config = config;
    this.parts = parts;
    this.folder = plan.folder;
    /** Of its file. */
    this.name = name;
    /** Its file as an earlier command left it. */
    this.before = before;
    this.file = file;
    this.#read = read;
    this.#limitMs = plan.limitMs ?? (() => Infinity);
    this.#startUs = parts.clock.nowUs();
    this.#experiment = new Experiment(this, plan.tools);
    this.#isOnDisk = before !== null;
  }

  /** Since this command began. */
  get elapsedMs() {
    return (this.parts.clock.nowUs() - this.#startUs) / 1000;
  }

  /** Its time limit. @returns {number} infinite: none */
  get limitMs() {
    return this.#limitMs();
  }

  get leftMs() {
    return this.limitMs - this.elapsedMs;
  }

  /** The run, if it is in the folder. @param {RunRequest} wanted @returns {Made | null} */
  keptRun({ file, isMeasured = true, accepts = () => true }) {
    const run = isMeasured ? readIfAny(join(this.folder, file), this.#read) : null;
    // Runs that began before it belong to another study.
    if (run === null || !isWhole(run) || run.startedAt < this.file.startedAt) return null;
    const made = { run, exitCode: run.exitCode ?? 0, startedAt: run.startedAt, complaint: '', isKept: true };
    return accepts(made) ? made : null;
  }

  /** How many of the runs have to be made. @param {readonly RunRequest[]} wanted */
  missing(wanted) {
    return wanted.filter((one) => this.keptRun(one) === null).length;
  }

  /** @param {AsyncGenerator<RunRequest, F['end'], Made>} steps @returns {Promise<F['end']>} */
  async run(steps) {
    const { parts, folder } = this;
    let kept = 0;
    const sayKept = () => {
      if (kept > 0) parts.say(`${kept} run${kept === 1 ? ' is' : 's are'} in ${displayName(folder)} already, and kept`);
      kept = 0;
    };
    let next = await steps.next(/** @type {any} */ (undefined));
    while (!next.done) {
      const wanted = next.value;
      let made = this.keptRun(wanted);
      if (made !== null) kept += 1;
      else {
        sayKept();
        Object.assign(this.file, { end: 'running', endedAt: null, stress: parts.version });
        this.#isOnDisk ||= wanted.isMeasured ?? true;
        await this.#save();
        made = await this.#experiment.run(wanted);
        if (made === null) return 'interrupted';
      }
      this.#warnOfWindow(wanted, made);
      next = await steps.next(made);
    }
    sayKept();
    return next.value;
  }

  async #save() {
    if (this.#isOnDisk) await writeFileAtomically(this.name, `${JSON.stringify(this.file, null, 2)}\n`);
  }

  /** @param {F['end']} end */
  async close(end) {
    const { file, parts } = this;
    if (end !== file.end) Object.assign(file, { end, endedAt: new Date(parts.clock.wallMs()).toISOString() });
    await this.#save();
  }

  /** At most once: all windows have the same length. @param {RunRequest} wanted @param {Made} made */
  #warnOfWindow({ name, isMeasured = true, warns = isMeasured }, { run, isKept }) {
    const { warnings } = this.file;
    const short = warns && run !== null && warnings.length === 0 ? shortWindow(run) : null;
    if (short === null) return;
    warnings.push(`${name}: ${short.words}`);
    if (!isKept) this.parts.say(`warning: ${warnings[0]}`);
  }
}

/** Of a random order: the same command goes on with the seed of its file. @param {StudyConfig} config @param {{seed: number} | null} before */
export function seedOf({ seed }, before) {
  return seed ?? before?.seed ?? randomInt(2 ** 32);
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
    const owner = otherOwnerOf(file);
    if (owner > 0)
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

/** The other process that has a lock. @param {string} file @returns {number} 0: it has ended, or has not written its id */
function otherOwnerOf(file) {
  let owner = 0;
  try {
    owner = Number.parseInt(readFileSync(file, 'utf8'), 10) || 0;
    // Containers reuse process ids: a file with the id of this process was left by another one.
    return owner > 0 && owner !== process.pid && process.kill(owner, 0) ? owner : 0;
  } catch (error) {
    // The process exists, with another user.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM' ? owner : 0;
  }
}
