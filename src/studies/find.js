import { join } from 'node:path';
import { EXIT, StressError, UsageError, displayName } from '../errors.js';
import { measuredText } from '../outputs/run-tables.js';
import { checkThresholds } from '../stats/thresholds.js';
import { LIMIT_WORDS } from '../stats/verdict.js';
import { timeText } from '../text.js';
import { Capacity, bestText, capacityTable } from './capacity.js';
import { remainingTime, runChild, runStudy } from './experiment.js';
import { digits } from './metrics.js';
import { environmentOf, isWhole, readIfAny, runFileReader } from './run-files.js';
import { CONFIDENCE, MAX_TRIALS, ThresholdEstimate } from './threshold-estimate.js';

/**
 * @import { Config, Find, Parts, RunFile, Searched, Threshold, Trial } from '../types.d.ts'
 * @import { Study } from './experiment.js'
 * @import { End, Figures } from './threshold-estimate.js'
 */

/**
 * The search: finds the highest value of an option for which conditions hold.
 *
 * @typedef {{name: string, evidence: string}} RunVerdict
 * @typedef {{find: string | null, until: Threshold[]}} SearchGoal
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

/** @param {SearchGoal} search @returns {boolean} whether the rate must be held although no condition says so */
function isRateImplied({ find, until }) {
  return find === 'rate' && !until.some(({ figure }) => OF_THE_RATE.includes(figure));
}

/** @param {SearchGoal} search @param {RunFile} run @returns {Judged} */
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

/** A window needs at least so many operations. */
const MIN_OPERATIONS = 10;

/** Exit codes of runs that count. @type {readonly number[]} */
const MEASURED = Object.freeze([EXIT.ok, EXIT.nothingVerified]);

/**
 * @param {Config} config
 * @param {Parts} parts
 * @param {{start?: typeof runChild, isCapacity?: boolean}} [how] start: starts a run; isCapacity: stress find, which
 *   raises the number of wallets and of operations in flight as well, and has a time limit
 * @returns {Promise<number>} the exit code
 */
export async function search(config, parts, { start = runChild, isCapacity = false } = {}) {
  const { env, searched, bracket } = config.study;
  const capacity = isCapacity ? new Capacity(config, parts.clock) : null;
  if (config.repeat !== null) throw new UsageError('--find repeats runs where it needs to: leave --repeat out');
  const { name, lowest, unit = '' } = /** @type {Searched} */ (searched);
  const first = bracket?.from ?? String(lowest);
  for (const value of [first, bracket?.to ?? first])
    await parts.checkCell([`--${name}=${value}${unit}`, ...(capacity?.args ?? [])], env);
  const find = {
    name,
    until: config.until.map(({ expression }) => expression),
    estimate: null,
    low: null,
    high: null,
    confidence: CONFIDENCE,
    rateHeld: isRateImplied(config),
    ...(isCapacity && { range: bracketText(config.study) }),
    sharp: false,
    words: '',
    trials: [],
  };
  return runStudy(config, parts, { inner: 'find', find, start }, (study) => new Search(study, capacity));
}

/** @param {Config['study']} study @returns {string} the given range, with its unit */
function bracketText({ bracket, searched }) {
  return [bracket?.from, bracket?.to].flatMap((end) => (end == null ? [] : `${end}${searched?.unit ?? ''}`)).join('..');
}

class Search {
  #study;
  #find;
  #searched;
  /** @type {{lowest: number, highest: number}} */
  #scale;
  /** @type {End} */
  #end = null;
  /** What limited the lowest run above the answer. @type {string | null} */
  #limit = null;

  #capacity;
  /** Null: its file is missing. @type {Array<RunFile | null>} */
  #runs = [];

  /** @param {Study} study @param {Capacity | null} capacity */
  constructor(study, capacity) {
    const durationMs = capacity?.runMs ?? study.config.durationMs;
    this.#study = study;
    this.#capacity = capacity;
    this.#find = /** @type {Find} */ (study.file.find);
    this.#searched = /** @type {Searched} */ (study.config.study.searched);
    const { name, lowest, highest, unit } = this.#searched;
    const fewest = name === 'rate' && unit === undefined ? MIN_OPERATIONS / ((durationMs ?? 1000) / 1000) : lowest;
    this.#scale = { lowest: Math.max(lowest, fewest), highest };
  }

  /** A condition that holds for no value counts as a failed threshold. */
  get exitCodes() {
    const { parts } = this.#study;
    const isWithoutAnswer =
      this.#capacity !== null && !parts.stop.drain.aborted && !this.#find.trials.some(({ holds }) => holds);
    return this.#end === 'below' || isWithoutAnswer ? [EXIT.thresholdFailed] : [];
  }

  /** @returns {Promise<'interrupted' | 'complete'>} */
  async run() {
    const { config, parts, folder, experiment } = this.#study;
    // A short window is a choice of this study then.
    experiment.warnsOfWindow = this.#capacity === null || config.durationMs !== null;
    const { from = null, to = null } = config.study.bracket ?? {};
    const kept = this.#find.trials.length;
    if (this.#capacity !== null && config.rpc.length === 0)
      parts.say('without --rpc the embedded chain is searched: that says what this machine can do');
    if (kept > 0) parts.say(`${kept} run${kept === 1 ? ' is' : 's are'} in ${displayName(folder)} already, and kept`);
    const guess = to !== null ? null : from !== null ? Number(from) : await this.#pilot();
    if (to !== null) this.#scale = { lowest: Number(from), highest: Number(to) };
    const estimate = new ThresholdEstimate({ ...this.#scale, guess, isWhole: this.#searched.name !== 'rate' });
    for (const { value, holds, file } of this.#find.trials) {
      estimate.add(value, holds);
      const run = this.#capacity === null ? null : readIfAny(join(folder, file), await runFileReader());
      this.#runs.push(run);
      if (run !== null) this.#capacity?.learn(run, 0);
    }
    await this.#raiseAsBefore();
    this.#conclude(estimate);
    await this.#tryAll(estimate);
    this.#nameLimit();
    return parts.stop.drain.aborted ? 'interrupted' : 'complete';
  }

  /** A run that had too few operations at once is no trial; the same command goes on with what it led to. */
  async #raiseAsBefore() {
    const { config } = this.#study;
    const run = this.#capacity === null ? null : await this.#kept(this.#nextFile);
    if (run === null || judgeTrial(config, run).holds) return;
    this.#capacity?.learn(run, 0);
    this.#capacity?.raise(run);
  }

  /** A run of this search, made before it was interrupted. @param {string} name @returns {Promise<RunFile | null>} */
  async #kept(name) {
    const { folder, file } = this.#study;
    const run = readIfAny(join(folder, name), await runFileReader());
    return run !== null && isWhole(run) && run.startedAt >= file.startedAt ? run : null;
  }

  get #nextFile() {
    return `find/${String(this.#find.trials.length + 1).padStart(3, '0')}.json`;
  }

  report() {
    const { parts, folder, file } = this.#study;
    if (file.end === 'failed') return;
    parts.say(`\n${this.#find.words}`);
    if (this.#limit !== null) parts.say(this.#limit);
    this.#reportCapacity();
    if (file.end === 'interrupted') parts.say('interrupted: the same command goes on from here');
    parts.say(`sweep.json and the run files are in ${displayName(folder)}`);
  }

  #reportCapacity() {
    const { trials } = this.#find;
    const runs = trials.flatMap((trial, i) => {
      const run = this.#runs[i] ?? null;
      return run === null ? [] : [{ trial, run }];
    });
    if (this.#capacity === null || runs.length === 0) return;
    const held = runs.filter(({ trial }) => trial.holds).sort((a, b) => b.trial.value - a.trial.value);
    if (held.length > 0) this.#study.parts.say(bestText(held[0].run));
    this.#study.parts.say(`\n${capacityTable(runs)}\n`);
  }

  /** @param {ThresholdEstimate} estimate */
  async #tryAll(estimate) {
    const { config, parts, save } = this.#study;
    const { trials } = this.#find;
    const kept = trials.length;
    const left = remainingTime(parts.clock, MAX_TRIALS - kept, 'at most about');
    while (this.#end === null) {
      const over = this.#capacity?.isOver ?? null;
      if (over !== null) {
        this.#find.words += `; ${over}`;
        return;
      }
      const value = estimate.next();
      const file = this.#nextFile;
      const leftMs = this.#capacity?.leftMs ?? null;
      const time = leftMs === null ? left(trials.length - kept) : `  at most ${timeText(leftMs / 1000)} left`;
      const label = `run ${trials.length + 1}, of ${MAX_TRIALS} at most: ${valueText(this.#searched, value)}${time}`;
      const setting = `${this.#searched.name}=${value}${this.#searched.unit ?? ''}`;
      const run = await this.#measure(file, label, [`--${setting}`], setting);
      if (run === null) return;
      const { figures, ...judged } = judgeTrial(config, run);
      const raised = judged.holds ? null : (this.#capacity?.raise(run) ?? null);
      if (raised !== null) {
        parts.say(`${valueText(this.#searched, value).padEnd(18)} again   with ${raised}`);
        continue;
      }
      this.#runs.push(run);
      const trial = { value, ...judged, file, startedAt: run.startedAt, verdict: run.verdict };
      estimate.add(value, trial.holds);
      trials.push(trial);
      this.#conclude(estimate);
      await save();
      const words = trial.holds ? figures : trial.failed;
      const shown = valueText(this.#searched, value).padEnd(18);
      parts.say(`${shown} ${trial.holds ? 'holds' : 'fails'}  ${words.join(', ')}`.trimEnd());
    }
  }

  /** @param {string} file @param {string} label @param {string[]} args @param {string} name @returns {Promise<RunFile | null>} null: interrupted */
  async #measure(file, label, args, name) {
    const { experiment, file: sweepFile } = this.#study;
    const done = this.#find.trials.length;
    const all = [...args, ...(this.#capacity?.args ?? [])];
    const { clock } = this.#study.parts;
    const startUs = clock.nowUs();
    const made = await experiment.run({ name, file, label, done, all: MAX_TRIALS, args: all });
    if (made === null) return null;
    if (made.run !== null) this.#capacity?.learn(made.run, (clock.nowUs() - startUs) / 1000);
    const { run, exitCode, complaint } = made;
    if (run === null || !MEASURED.includes(exitCode)) {
      // Interrupted in its drain or its audit.
      if (this.#study.parts.stop.drain.aborted) return null;
      if (exitCode === EXIT.refused && this.#study.config.maxSpendWei !== null && this.#find.trials.length > 0) {
        this.#find.words += '; what is left of --max-spend does not pay for another run';
        return null;
      }
      if (this.#capacity?.undo()) {
        this.#study.parts.say(`the search goes on with as many as before: ${complaint}`);
        return this.#measure(file, label, args, name);
      }
      const code = exitCode === EXIT.ok ? EXIT.unavailable : exitCode;
      throw new StressError(`the run at ${name}: ${complaint}`, 'run_failed', code);
    }
    sweepFile.environment ??= environmentOf(run);
    return run;
  }

  /** The throughput without a rate is the start of the search. @returns {Promise<number | null>} */
  async #pilot() {
    const file = 'find/pilot.json';
    const { parts } = this.#study;
    const kept = await this.#kept(file);
    const run = kept ?? (await this.#measure(file, 'a pilot run without a rate', [], 'no rate, the pilot'));
    if (run === null) return null;
    const perSecond = run.rates.verifiedPerSecond ?? 0;
    const text = `${digits(perSecond)}/s`.padEnd(18);
    if (kept === null) parts.say(`${text} without a rate, ${run.config.threads} wallets: the search starts there`);
    return Math.max(this.#scale.lowest, perSecond);
  }

  /** @param {ThresholdEstimate} estimate */
  #conclude(estimate) {
    const { trials } = estimate;
    const figures = estimate.figures();
    const end = estimate.end();
    const scale = this.#scale;
    const tried = triedOf(this.#find.trials);
    const isBetween = end !== null || (tried.held !== null && tried.failed !== null);
    const isAnswer = end !== 'at least' && end !== 'below' && trials > 0 && isBetween;
    this.#end = end;
    const isRateHeld = isRateImplied(this.#study.config);
    const { until } = this.#find;
    Object.assign(this.#find, {
      estimate: isAnswer ? figures.estimate : null,
      low: isAnswer ? figures.low : end === 'at least' ? scale.highest : null,
      high: isAnswer ? figures.high : end === 'below' ? scale.lowest : null,
      sharp: end === 'sharp',
      words: answerText(this.#searched, {
        until,
        isRateHeld,
        figures,
        end,
        scale,
        trials,
        tried,
      }),
    });
  }

  /** Describes the lowest failed run above the answer, and what limited it. */
  #nameLimit() {
    const { file, experiment } = this.#study;
    file.warnings = experiment.warnings;
    const limit = this.#end === 'at least' ? null : firstBeyond(this.#find.trials, this.#find);
    if (limit === null) return;
    const { verdict = null } = limit;
    // A run that almost held its rate has the verdict rate-bound, which would confuse here.
    this.#limit = limitText(this.#searched, limit, verdict?.name === 'rate-bound' ? null : verdict);
    const whose = whoseLimit(this.#searched.name, verdict);
    if (whose === null) return;
    file.warnings = [this.#limit, ...file.warnings];
    this.#find.words += `; ${whose}`;
  }
}

/** @type {Tried} */
const NOT_TRIED = Object.freeze({ held: null, failed: null });

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

/** @param {Searched} searched @param {number} value */
function valueText({ short }, value) {
  return `${digits(value)}${short}`;
}

/**
 * @typedef {object} Outcome
 * @property {readonly string[]} until
 * @property {boolean} isRateHeld whether the rate had to be held as well
 * @property {End} end
 * @property {Figures} figures
 * @property {{lowest: number, highest: number}} scale
 * @property {number} trials
 * @property {Tried} [tried]
 */

/**
 * @typedef {{held: number | null, failed: number | null}} Tried the highest value that held, and the lowest that failed
 * @param {readonly Trial[]} trials
 * @returns {Tried}
 */
function triedOf(trials) {
  const held = trials.flatMap(({ holds, value }) => (holds ? [value] : []));
  const failed = trials.flatMap(({ holds, value }) => (holds ? [] : [value]));
  return {
    held: held.length === 0 ? null : Math.max(...held),
    failed: failed.length === 0 ? null : Math.min(...failed),
  };
}

/** @param {Searched} searched @param {Outcome} outcome @returns {string} one sentence */
export function answerText({ noun, behind }, { until, isRateHeld, end, figures, scale, trials, tried = NOT_TRIED }) {
  const suffix = isRateHeld ? ' with the rate held' : '';
  // Without conditions the rate itself must be held.
  const holds =
    until.length === 0 ? 'the rate is held' : `${list(until)} ${until.length === 1 ? 'holds' : 'hold'}${suffix}`;
  const fails =
    until.length === 0
      ? 'the rate is not held'
      : `${until.length === 1 ? `${until[0]} does not hold` : `not all of ${list(until)} hold`}${suffix}`;
  const runs = `${trials} run${trials === 1 ? '' : 's'}`;
  if (trials === 0 && until.length === 0) return `no ${noun} is known to be held yet`;
  if (trials === 0) return `no run has said yet for which ${noun} ${holds}`;
  if (end === 'at least')
    return `${holds} at ${digits(scale.highest)}${behind}, the highest that was asked for: the highest ${noun} is at least that (${runs})`;
  if (end === 'below')
    return `${fails} at ${digits(scale.lowest)}${behind}, the lowest that was asked for: the highest ${noun} is below that (${runs})`;
  const { held, failed } = tried;
  if (end === null && held === null && failed !== null)
    return `so far ${fails}: the lowest ${noun} that was tried is ${digits(failed)}${behind} (${runs})`;
  if (end === null && failed === null && held !== null)
    return `so far ${holds}: the highest ${noun} that was tried is ${digits(held)}${behind} (${runs})`;
  const interval = `${Math.round(100 * CONFIDENCE)} % interval ${digits(figures.low)} to ${digits(figures.high)}, ${runs}`;
  const which = until.length === 0 ? 'that is held' : `for which ${holds}`;
  const answer = `the highest ${noun} ${which} is ${digits(figures.estimate)}${behind} (${interval})`;
  const proof = held === null || failed === null ? '' : `: ${digits(held)} held, ${digits(failed)} did not`;
  if (end === null) return `so far, ${answer}${proof}`;
  return end === 'sharp'
    ? answer
    : `${answer}; noise prevents a sharper answer: inside the interval some runs hold and some fail`;
}

/** @param {readonly string[]} words */
function list(words) {
  return words.length === 1 ? words[0] : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** Why a run above the answer failed. @param {Searched} searched @param {Trial} trial @param {RunVerdict | null} verdict of its run */
function limitText(searched, { value, failed }, verdict) {
  const words = verdict === null ? [] : [`${verdict.name}: ${verdict.evidence}`];
  const ours = whoseLimit(searched.name, verdict);
  return `at ${valueText(searched, value)}: ${[...failed, ...words, ...(ours === null ? [] : [ours])].join('; ')}`;
}

/** Verdicts that say nothing against the answer: the rate is what the search varies. */
const OF_THE_NODE = Object.freeze(['node-bound', 'rate-bound', 'unknown']);

/** @param {string} name of the option @param {RunVerdict | null} verdict @returns {string | null} null: the node, or unknown */
function whoseLimit(name, verdict) {
  // The search varies the number of wallets.
  const isVaried = name !== 'rate' && verdict?.name === 'concurrency-bound';
  if (verdict === null || isVaried || OF_THE_NODE.includes(verdict.name)) return null;
  return `${LIMIT_WORDS[verdict.name] ?? verdict.name}: the node may do more`;
}
