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
import { CONFIDENCE, MOST_TRIALS, ThresholdEstimate } from './threshold-estimate.js';

/**
 * @import { Config, Find, Parts, RunFile, SweepFile, Threshold } from '../types.d.ts'
 * @import { Finished } from './experiment.js'
 * @import { Trial } from './run-files.js'
 * @import { End } from './threshold-estimate.js'
 */

/**
 * Whether a run of a search has held what was asked of it.
 *
 * @typedef {object} Judged
 * @property {boolean} holds
 * @property {string[]} failed what does not hold, with its figures
 * @property {string[]} figures what does
 */

/** A rate is held when the operations of the window were verified this much as fast as they were due. */
export const KEPT_UP = 0.98;

/** Figures that say themselves whether the rate was held. */
const OF_THE_RATE = Object.freeze(['tps', 'achieved', 'dropped']);

/** @param {{find: string | null, until: readonly Threshold[]}} search @returns {boolean} whether the rate has to be held, although nobody said so */
export function isRateImplied({ find, until }) {
  return find === 'rate' && !until.some(({ figure }) => OF_THE_RATE.includes(figure));
}

/**
 * @param {{find: string | null, until: readonly Threshold[]}} search
 * @param {RunFile} run
 * @returns {Judged}
 */
export function judgeTrial(search, run) {
  /** @type {Judged} */
  const judged = { holds: true, failed: [], figures: [] };
  for (const result of checkThresholds(search.until, run)) {
    const { figure, operator, expression, passed } = result;
    const measured = `${figure} ${measuredText(result)}`;
    if (passed) judged.figures.push(measured);
    else judged.failed.push(`${measured} is not ${operator} ${expression.split(/[<>=!]+\s*/)[1]}`);
  }
  const pace = isRateImplied(search) ? paceOf(run) : 1;
  if (pace === null) judged.failed.push('nothing was due in the window');
  else if (pace < KEPT_UP) judged.failed.push(`only ${(100 * pace).toFixed(1)} % of the rate was held`);
  return { ...judged, holds: judged.failed.length === 0 };
}

/**
 * How fast the operations that were due in the window were verified, as a share of how fast they were due. When those of
 * its second half waited longer than those of its first, there is a queue that grows: with g seconds in a second, 1 / (1
 * + g) of what was due was served. No more is counted than where the blocks lie in each half can explain.
 * @param {RunFile} run
 * @returns {number | null} null when nothing was due
 */
export function paceOf({ rates, latency, window, blocks }) {
  const { askedPerSecond: asked, achievedPerSecond: achieved } = rates;
  if (asked === null || achieved === null || asked === 0) return null;
  const [first, second] = latency.halves;
  const halfUs = (window.durationMs * 1000) / 2;
  const grownUs = first.count > 0 && second.count > 0 ? second.sumUs / second.count - first.sumUs / first.count : 0;
  // A half that ends in mid-block has up to an eighth of a block's time too much or too little, for each block in it.
  const blocksInHalf = blocks.count / 2;
  const byChanceUs = blocks.count > 0 ? halfUs / blocksInHalf / (4 * blocksInHalf) : 0;
  return achieved / asked / (1 + Math.max(0, grownUs - byChanceUs) / halfUs);
}

/**
 * Searches for the highest value of an option for which conditions hold, by runs that are each a process of its own.
 * What they said is kept in a folder, so that a search that was interrupted goes on.
 *
 * @typedef {object} Given
 * @property {Config} config
 * @property {Parts} parts
 * @property {string} folder
 * @property {string[] | null} beforeCell
 * @property {string} name of the option
 * @property {typeof runChild} start makes a run
 */

/** What can be asked of a run at all. @type {Record<string, {lowest: number, highest: number}>} */
const LIMITS = Object.freeze({
  rate: { lowest: 0.01, highest: 1_000_000 },
  threads: { lowest: 1, highest: 100_000 },
  'in-flight': { lowest: 1, highest: 1000 },
  connections: { lowest: 1, highest: 10_000 },
});

/** With fewer operations in its window a run says nothing. */
const FEWEST_OPERATIONS = 10;

/** Runs that end so have measured something: all well, nothing verified. @type {readonly number[]} */
const MEASURED = Object.freeze([EXIT.ok, EXIT.nothingVerified]);

/**
 * @param {Config} config
 * @param {Parts} parts
 * @param {typeof runChild} [start] makes a run
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

/** One start of a search. */
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
  /** That the windows are too short, once. @type {string[]} */
  #windowWarnings = [];

  /**
   * @param {Given} given
   * @param {SweepFile} sweep as far as it has come
   * @param {Find} find of it
   */
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

  /** That a condition holds nowhere is one that failed. */
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
      const label = `run ${this.#find.trials.length + 1}, of ${MOST_TRIALS} at most: ${valueText(this.#name, value)}`;
      onProgress(label, this.#find.trials.length, MOST_TRIALS);
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

  /** @param {number} value @returns {Promise<{trial: Trial, figures: string[]} | null>} null when it was interrupted */
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
   * @returns {Promise<RunFile | null>} null when it was interrupted
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

  /** What the endpoint can take when nothing is asked for is where to begin. @returns {Promise<number | null>} */
  async #pilot() {
    const { onProgress, say } = this.#parts;
    const file = 'find/pilot.json';
    const before = this.#find.trials.length > 0 ? await readIfAny(join(this.#folder, file)) : null;
    onProgress('a pilot run without a rate', 0, MOST_TRIALS);
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
    return { lowest: Math.max(lowest, FEWEST_OPERATIONS / ((this.#config.durationMs ?? 1000) / 1000)), highest };
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

  /** What the run beyond the answer fell short of, and whose limit that is. @returns {string | null} */
  #limit() {
    const limit = this.#end === 'at least' ? null : firstBeyond(this.#find.trials, this.#find);
    this.#sweep.warnings = this.#windowWarnings;
    if (limit === null) return null;
    const { verdict = null } = limit;
    // A rate that was all but held looks like one that could be higher.
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
 * Of the runs that failed the one next above the answer, and if there is one, above its interval.
 * @param {readonly Trial[]} trials
 * @param {{estimate: number | null, high: number | null}} answer
 * @returns {Trial | null}
 */
function firstBeyond(trials, { estimate, high }) {
  const failed = trials.filter(({ holds }) => !holds).sort((a, b) => a.value - b.value);
  const above = (/** @type {number | null} */ limit) => failed.find(({ value }) => value >= (limit ?? 0));
  return above(high) ?? above(estimate) ?? null;
}

/** @param {string} file @returns {Promise<RunFile | null>} null where there is none that can be read */
async function readIfAny(file) {
  const [run] = await readRunFiles([file]).catch(() => [null]);
  return run;
}
