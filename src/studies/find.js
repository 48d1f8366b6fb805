import { join } from 'node:path';
import { EXIT, StressError, UsageError, displayName, worstExit } from '../errors.js';
import { measuredText } from '../outputs/summary.js';
import { shortWindow } from '../stats/growth.js';
import { checkThresholds } from '../stats/thresholds.js';
import { inFolder, isInterruption, runChild, runCommand, splitWords } from './experiment.js';
import { answerText, limitText, trialText, valueText, whoseLimit } from './find-text.js';
import { fingerprint } from './plan.js';
import { environmentOf, newSweep, readRunFiles, writeSweep } from './run-files.js';
import { isWhole, openFolder } from './sweep.js';
import { CONFIDENCE, MAX_TRIALS, ThresholdEstimate } from './threshold-estimate.js';

/**
 * @import { Config, Find, Parts, RunFile, SweepFile, Threshold } from '../types.d.ts'
 * @import { Finished } from './experiment.js'
 * @import { Trial } from './run-files.js'
 * @import { End } from './threshold-estimate.js'
 */

/**
 * The search: finds the highest value of an option for which conditions hold, by runs that are each a process of their
 * own. Results are kept in a folder, so that an interrupted search continues.
 *
 * @typedef {object} Judged whether the conditions held in a run
 * @property {boolean} holds
 * @property {string[]} failed conditions that do not hold, with figures
 * @property {string[]} figures of conditions that hold
 */

/** Share of the rate at which operations of the window must be verified. */
const HELD_RATE = 0.98;

/** Conditions on these figures replace the implied condition that the rate is held. */
const OF_THE_RATE = Object.freeze(['tps', 'achieved', 'dropped']);

/** @param {{find: string | null, until: readonly Threshold[]}} search @returns {boolean} whether the rate must be held although no condition says so */
function isRateImplied({ find, until }) {
  return find === 'rate' && !until.some(({ figure }) => OF_THE_RATE.includes(figure));
}

/** @param {{find: string | null, until: readonly Threshold[]}} search @param {RunFile} run @returns {Judged} */
export function judgeTrial(search, run) {
  /** @type {Judged} */
  const judged = { holds: true, failed: [], figures: [] };
  for (const result of checkThresholds(search.until, run)) {
    const { figure, operator, expression, passed } = result;
    const measured = `${figure} ${measuredText(result)}`;
    if (passed) judged.figures.push(measured);
    else judged.failed.push(`${measured} is not ${operator} ${expression.split(/[<>=!]+\s*/)[1]}`);
  }
  const heldShare = isRateImplied(search) ? heldShareOf(run) : 1;
  if (heldShare === null) judged.failed.push('nothing was due in the window');
  else if (heldShare < HELD_RATE) judged.failed.push(`only ${(100 * heldShare).toFixed(1)} % of the rate was held`);
  return { ...judged, holds: judged.failed.length === 0 };
}

/**
 * The rate at which operations of the window were verified, as a share of the rate at which they were due. If
 * operations of the second half waited longer than those of the first, a queue grows: with g seconds per second, 1 / (1
 * + g) of the due operations was served. Growth that the positions of the blocks can explain does not count.
 * @param {RunFile} run
 * @returns {number | null} null: nothing was due
 */
export function heldShareOf({ rates, latency, window, blocks }) {
  const { askedPerSecond: asked, achievedPerSecond: achieved } = rates;
  if (asked === null || achieved === null || asked === 0) return null;
  const [first, second] = latency.halves;
  const halfUs = (window.durationMs * 1000) / 2;
  const grownUs = first.count > 0 && second.count > 0 ? second.sumUs / second.count - first.sumUs / first.count : 0;
  // A half that ends within a block interval is up to an eighth of the interval too long or too short.
  const blocksInHalf = blocks.count / 2;
  const byChanceUs = blocks.count > 0 ? halfUs / blocksInHalf / (4 * blocksInHalf) : 0;
  return achieved / asked / (1 + Math.max(0, grownUs - byChanceUs) / halfUs);
}

/**
 * @typedef {object} Given
 * @property {Config} config
 * @property {Parts} parts
 * @property {string} folder
 * @property {string[] | null} beforeCell
 * @property {string} name of the option
 * @property {typeof runChild} start starts a run
 */

/** @type {Record<string, {lowest: number, highest: number}>} */
const LIMITS = Object.freeze({
  rate: { lowest: 0.01, highest: 1_000_000 },
  threads: { lowest: 1, highest: 100_000 },
  'in-flight': { lowest: 1, highest: 1000 },
  connections: { lowest: 1, highest: 10_000 },
});

/** A window needs at least so many operations. */
const MIN_OPERATIONS = 10;

/** Exit codes of runs that count. @type {readonly number[]} */
const MEASURED = Object.freeze([EXIT.ok, EXIT.nothingVerified]);

/**
 * @param {Config} config
 * @param {Parts} parts
 * @param {typeof runChild} [start] starts a run
 * @returns {Promise<number>} the exit code
 */
export async function search(config, parts, start = runChild) {
  if (config.repeat !== null) throw new UsageError('--find repeats runs where it needs to: leave --repeat out');
  const name = /** @type {string} */ (config.find);
  const beforeCell = config.beforeCell === null ? null : splitWords(config.beforeCell);
  const { from, to } = config.study.bracket ?? { from: null, to: null };
  const first = from ?? String(LIMITS[name].lowest);
  for (const value of [first, to ?? first]) await parts.checkCell([`--${name}=${value}`], config.study.env);

  const folder = config.dir ?? 'sweep';
  return inFolder(folder, 'find', () => searchIn({ config, parts, folder, beforeCell, name, start }));
}

/** @param {Given} given @returns {Promise<number>} the exit code */
async function searchIn(given) {
  const { config, folder, name } = given;
  const { clock, stop, version } = given.parts;
  const { from, to } = config.study.bracket ?? { from: null, to: null };
  const asked = {
    preset: null,
    axes: [],
    repeat: 1,
    restMs: config.restMs,
    options: config.study.options,
    beforeCell: config.beforeCell === null ? null : fingerprint(config.beforeCell),
  };
  const find = {
    name,
    until: config.until.map(({ expression }) => expression),
    estimate: null,
    low: null,
    high: null,
    confidence: CONFIDENCE,
    rateHeld: isRateImplied(config),
    sharp: false,
    words: '',
    trials: [],
  };
  const before = await openFolder(folder, asked, find);
  const sweep = before ?? newSweep({ ...asked, stress: version }, clock.wallMs());
  sweep.find ??= find;
  const runner = new FindRunner(given, sweep, sweep.find);
  await runner.write();
  await runner.run(from, to);
  const [error] = stop.errors;
  if (error !== undefined) throw error;
  return runner.exitCode;
}

class FindRunner {
  #config;
  #parts;
  #folder;
  #beforeCell;
  #startRun;
  #name;
  #sweep;
  #find;
  /** @type {{lowest: number, highest: number}} */
  #scale;
  /** @type {End} */
  #end = null;
  /** Warnings of short windows: at most one. @type {string[]} */
  #windowWarnings = [];

  /** @param {Given} given @param {SweepFile} sweep its state @param {Find} find its search */
  constructor({ config, parts, folder, beforeCell, name, start }, sweep, find) {
    this.#startRun = start;
    this.#config = config;
    this.#parts = parts;
    this.#folder = folder;
    this.#beforeCell = beforeCell;
    this.#name = name;
    this.#sweep = sweep;
    this.#find = find;
    this.#scale = LIMITS[name];
  }

  /** A condition that holds for no value counts as a failed threshold. */
  get exitCode() {
    return worstExit([this.#end === 'below' ? EXIT.thresholdFailed : EXIT.ok, ...this.#parts.stop.exitCodes]);
  }

  write() {
    return writeSweep(join(this.#folder, 'sweep.json'), this.#sweep);
  }

  /** @param {string | null} from @param {string | null} to */
  async run(from, to) {
    const { say, stop } = this.#parts;
    const kept = this.#find.trials.length;
    if (kept > 0) say(`${kept} run${kept === 1 ? ' is' : 's are'} in ${displayName(this.#folder)} already, and kept`);
    /** @type {string | null} */
    let limit;
    try {
      const guess = to !== null ? null : from !== null ? Number(from) : await this.#pilot();
      this.#scale = { ...this.#limits(), ...(to === null ? {} : { lowest: Number(from), highest: Number(to) }) };
      const isWholeNumber = this.#name !== 'rate';
      const estimate = new ThresholdEstimate({ ...this.#scale, guess, isWhole: isWholeNumber });
      for (const { value, holds } of this.#find.trials) estimate.add(value, holds);
      this.#conclude(estimate);
      await this.#tryAll(estimate);
      limit = this.#limit();
      await this.#close(stop.drain.aborted ? 'interrupted' : 'complete');
    } catch (error) {
      await this.#close('failed');
      throw error;
    }
    this.#answer(limit);
  }

  /** @param {ThresholdEstimate} estimate */
  async #tryAll(estimate) {
    const { clock, stop, onProgress, say } = this.#parts;
    const first = this.#find.trials.length;
    while (this.#end === null && !stop.drain.aborted) {
      if (this.#find.trials.length > first) await clock.sleep(this.#config.restMs, stop.drain);
      if (stop.drain.aborted) return;
      const value = estimate.next();
      const label = `run ${this.#find.trials.length + 1}, of ${MAX_TRIALS} at most: ${valueText(this.#name, value)}`;
      onProgress(label, this.#find.trials.length, MAX_TRIALS);
      const judged = await this.#tryOne(value);
      onProgress('', 1, 1);
      if (judged === null) return;
      estimate.add(value, judged.trial.holds);
      this.#find.trials.push(judged.trial);
      this.#conclude(estimate);
      await this.write();
      say(trialText(this.#name, judged.trial, judged.figures));
    }
  }

  /** @param {number} value @returns {Promise<{trial: Trial, figures: string[]} | null>} null: interrupted */
  async #tryOne(value) {
    const file = `find/${String(this.#find.trials.length + 1).padStart(3, '0')}.json`;
    const run = await this.#start([`--${this.#name}=${value}`], file, `${this.#name}=${value}`);
    if (run === null) return null;
    const { figures, ...judged } = judgeTrial(this.#config, run);
    return { trial: { value, ...judged, file, startedAt: run.startedAt, verdict: run.verdict }, figures };
  }

  /**
   * @param {string[]} args
   * @param {string} file
   * @param {string} setting
   * @returns {Promise<RunFile | null>} null: interrupted
   */
  async #start(args, file, setting) {
    const { clock, stop, env } = this.#parts;
    if (this.#beforeCell !== null) {
      await runCommand({
        words: this.#beforeCell,
        quiet: this.#config.quiet,
        stop,
        clock,
        before: setting,
        env: { ...env, STRESS_CELL: setting, STRESS_REPEAT: '1' },
      });
      if (stop.drain.aborted) return null;
    }
    const out = join(this.#folder, file);
    const { exitCode, run, complaint } = await this.#startRun({ args, env: this.#config.study.env, out, stop });
    if (!stop.drain.aborted && isInterruption(exitCode)) stop.request('interrupted', exitCode);
    if (stop.drain.aborted) return null;
    if (run === null || !isWhole(run) || !MEASURED.includes(exitCode))
      throw new StressError(
        `the run at ${setting}: ${complaint ?? `it ended with exit code ${exitCode}`}`,
        'run_failed',
        exitCode === EXIT.ok ? EXIT.unavailable : exitCode,
      );
    this.#sweep.environment ??= environmentOf(run);
    const short = shortWindow(run);
    if (short !== null && this.#windowWarnings.length === 0) {
      this.#windowWarnings = [`${setting}: ${short.words}`];
      this.#parts.say(`warning: ${this.#windowWarnings[0]}`);
    }
    return run;
  }

  /** The throughput without a rate is the start of the search. @returns {Promise<number | null>} */
  async #pilot() {
    const { onProgress, say } = this.#parts;
    const file = 'find/pilot.json';
    const before = this.#find.trials.length > 0 ? await readIfAny(join(this.#folder, file)) : null;
    onProgress('a pilot run without a rate', 0, MAX_TRIALS);
    const run = before ?? (await this.#start([], file, 'no rate, the pilot'));
    onProgress('', 1, 1);
    if (run === null) return null;
    const perSecond = run.rates.verifiedPerSecond ?? 0;
    if (before === null)
      say(`${valueText('rate', perSecond).padEnd(18)} without a rate asked for: the search begins there`);
    return Math.max(this.#limits().lowest, perSecond);
  }

  #limits() {
    const { lowest, highest } = LIMITS[this.#name];
    if (this.#name !== 'rate') return { lowest, highest };
    return { lowest: Math.max(lowest, MIN_OPERATIONS / ((this.#config.durationMs ?? 1000) / 1000)), highest };
  }

  /** @param {ThresholdEstimate} estimate */
  #conclude(estimate) {
    const figures = estimate.figures();
    this.#end = estimate.end();
    const { estimate: middle, low, high } = figures;
    const isAnswer = this.#end !== 'at least' && this.#end !== 'below' && estimate.trials > 0;
    Object.assign(this.#find, {
      estimate: isAnswer ? middle : null,
      low: isAnswer ? low : this.#end === 'at least' ? this.#scale.highest : null,
      high: isAnswer ? high : this.#end === 'below' ? this.#scale.lowest : null,
      sharp: this.#end === 'sharp',
      words: answerText({
        name: this.#name,
        until: this.#find.until,
        isRateHeld: isRateImplied(this.#config),
        figures,
        end: this.#end,
        scale: this.#scale,
        trials: estimate.trials,
      }),
    });
  }

  /** @param {SweepFile['end']} end */
  async #close(end) {
    const { clock, onProgress } = this.#parts;
    onProgress('', 1, 1);
    if (end !== this.#sweep.end) Object.assign(this.#sweep, { end, endedAt: new Date(clock.wallMs()).toISOString() });
    await this.write();
  }

  /** Describes the lowest failed run above the answer, and what limited it. @returns {string | null} */
  #limit() {
    const limit = this.#end === 'at least' ? null : firstBeyond(this.#find.trials, this.#find);
    this.#sweep.warnings = this.#windowWarnings;
    if (limit === null) return null;
    const { verdict = null } = limit;
    // A run that almost held its rate has the verdict rate-bound, which would confuse here.
    const words = limitText(this.#name, limit, verdict?.name === 'rate-bound' ? null : verdict);
    const whose = whoseLimit(this.#name, verdict);
    if (whose === null) return words;
    this.#sweep.warnings = [words, ...this.#windowWarnings];
    this.#find.words += `; ${whose}`;
    return words;
  }

  /** @param {string | null} limit */
  #answer(limit) {
    const { say, stop } = this.#parts;
    say(`\n${this.#find.words}`);
    if (limit !== null) say(limit);
    if (stop.drain.aborted) say('interrupted: the same command goes on from here');
    say(`sweep.json and the run files are in ${displayName(this.#folder)}`);
  }
}

/**
 * The lowest failed run above the interval, otherwise above the answer.
 * @param {readonly Trial[]} trials
 * @param {{estimate: number | null, high: number | null}} answer
 * @returns {Trial | null}
 */
function firstBeyond(trials, { estimate, high }) {
  const failed = trials.filter(({ holds }) => !holds).sort((a, b) => a.value - b.value);
  const above = (/** @type {number | null} */ limit) => failed.find(({ value }) => value >= (limit ?? 0));
  return above(high) ?? above(estimate) ?? null;
}

/** @param {string} file @returns {Promise<RunFile | null>} null: no readable file */
async function readIfAny(file) {
  const [run] = await readRunFiles([file]).catch(() => [null]);
  return run;
}
