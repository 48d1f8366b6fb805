import { displayUrl } from '../chain/rpc.js';
import { EXIT, UsageError, displayName } from '../errors.js';
import { measuredText } from '../outputs/run-tables.js';
import { resultText } from '../outputs/table.js';
import { checkThresholds, parseThreshold } from '../stats/thresholds.js';
import { LIMIT_WORDS } from '../stats/verdict.js';
import { counted, digits, timeText } from '../text.js';
import { Capacity } from './capacity.js';
import { failure } from './experiment.js';
import { argsOf, cellName, fileOf, planCells } from './plan.js';
import { environmentOf } from './run-files.js';
import { runStudy } from './study.js';
import { addRun, cellOf, planOf } from './sweep.js';
import { sweepResult } from './sweep-text.js';
import { CONFIDENCE, MAX_TRIALS, ThresholdEstimate } from './threshold-estimate.js';

/**
 * @import { Config, Find, Parts, RunFile, Searched, SweepCell, SweepFile, Threshold, Trial } from '../types.d.ts'
 * @import { Made, TOOLS, Wanted } from './experiment.js'
 * @import { Study } from './study.js'
 * @import { End, Figures } from './threshold-estimate.js'
 */

/**
 * The search: finds the highest value of an option for which conditions hold.
 *
 * @typedef {{find: string | null, until: Threshold[]}} SearchGoal
 *
 * @typedef {object} Judged whether the conditions held in a run
 * @property {boolean} holds
 * @property {string[]} failed conditions that do not hold, with figures
 * @property {string[]} figures of conditions that hold
 */

/** Of a search for the rate, unless a condition says how much of the rate must be held. */
const HELD = parseThreshold('held>=98%');

/** Conditions on these figures replace it. */
const OF_THE_RATE = Object.freeze(['tps', 'achieved', 'held', 'dropped']);

/** @param {SearchGoal} search @returns {Threshold[]} */
function conditionsOf({ find, until }) {
  const isImplied = find === 'rate' && !until.some(({ figure }) => OF_THE_RATE.includes(figure));
  return [...until, ...(isImplied ? [HELD] : [])];
}

/** @param {SearchGoal} search @param {RunFile} run @returns {Judged} */
export function judgeTrial(search, run) {
  /** @type {Judged} */
  const judged = { holds: true, failed: [], figures: [] };
  for (const result of checkThresholds(conditionsOf(search), run)) {
    const { figure, operator, expression, passed } = result;
    const measured = `${figure} ${measuredText(result)}`;
    if (passed) judged.figures.push(measured);
    else judged.failed.push(`${measured} is not ${operator} ${expression.split(/[<>=!]+\s*/)[1]}`);
  }
  return { ...judged, holds: judged.failed.length === 0 };
}

/** A window needs at least so many operations. */
const MIN_OPERATIONS = 10;

/** Exit codes of runs that count. @type {readonly number[]} */
const MEASURED = Object.freeze([EXIT.ok, EXIT.nothingVerified]);

/**
 * @param {Config} config
 * @param {Parts} parts
 * @param {{tools?: Partial<typeof TOOLS>, isCapacity?: boolean}} [how] isCapacity: stress find, which raises the number of
 *   wallets and of operations in flight as well, and has a time limit
 */
export async function search(config, parts, { tools, isCapacity = false } = {}) {
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
    rateHeld: conditionsOf(config).includes(HELD),
    ...(isCapacity && { range: bracketText(config.study) }),
    sharp: false,
    words: '',
    trials: [],
  };
  const plan = { ...planOf(config, find), inner: 'find', tools };
  return runStudy(config, parts, plan, (study) => new Search(study, capacity));
}

/** @param {Config['study']} study @returns {string} the given range, with its unit */
function bracketText({ bracket, searched }) {
  return [bracket?.from, bracket?.to].flatMap((end) => (end == null ? [] : `${end}${searched?.unit ?? ''}`)).join('..');
}

/** What stress find will do, and for how long. @param {Config} config */
function startText(config) {
  const { rpc, timeLimitMs } = config;
  const [url] = rpc;
  const where = url === undefined ? 'the embedded chain, which says what this machine can do' : displayUrl(url);
  const time = timeLimitMs === null ? '3 minutes, or 60 blocks if they take longer' : timeText(timeLimitMs / 1000);
  const conditions = conditionsOf(config).map(({ expression }) => expression);
  return `search for the highest rate with ${conditions.join(', ')} at ${where}, for ${time}; Ctrl-C ends it, and the same command goes on`;
}

class Search {
  #study;
  #find;
  #searched;
  /** @type {{lowest: number, highest: number}} */
  #scale;
  /** @type {End} */
  #end = null;
  /** Why the search cannot go on. @type {string | null} */
  #over = null;
  #capacity;

  /** @param {Study<SweepFile>} study @param {Capacity | null} capacity */
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

  /** @returns {AsyncGenerator<Wanted, SweepFile['end'], Made>} */
  async *steps() {
    const { config, parts } = this.#study;
    const { from = null, to = null } = config.study.bracket ?? {};
    if (this.#capacity !== null) parts.say(startText(config));
    const guess = to !== null ? null : from !== null ? Number(from) : yield* this.#pilot();
    if (to !== null) this.#scale = { lowest: Number(from), highest: Number(to) };
    const estimate = new ThresholdEstimate({ ...this.#scale, guess, isWhole: this.#searched.name !== 'rate' });
    this.#conclude(estimate);
    while (this.#end === null) {
      this.#over = this.#capacity?.isOver ?? (yield* this.#try(estimate.next(), estimate));
      this.#conclude(estimate);
      if (this.#over !== null) break;
    }
    return 'complete';
  }

  /** The throughput without a rate is the start of the search. @returns {AsyncGenerator<Wanted, number, Made>} */
  async *#pilot() {
    const { made } = yield* this.#measure({}, 'pilot', {
      name: 'without a rate',
      label: 'a pilot run without a rate',
    });
    const { run, isKept } = made;
    const perSecond = run?.rates.verifiedPerSecond ?? 0;
    const text = `${digits(perSecond)}/s`.padEnd(18);
    if (!isKept)
      this.#study.parts.say(`${text} without a rate, ${run?.config.threads} wallets: the search starts there`);
    return Math.max(this.#scale.lowest, perSecond);
  }

  /** @param {number} value @param {ThresholdEstimate} estimate @returns {AsyncGenerator<Wanted, string | null, Made>} why the search cannot go on */
  async *#try(value, estimate) {
    const { config, parts } = this.#study;
    const { trials } = this.#find;
    const { name, unit = '' } = this.#searched;
    const shown = valueText(this.#searched, value).padEnd(18);
    const label = `run ${trials.length + 1}, of ${MAX_TRIALS} at most: ${shown.trimEnd()}`;
    const settings = { [name]: `${value}${unit}` };
    const { made, file } = yield* this.#measure(settings, trials.length + 1, { name: cellName(settings), label });
    const { run, isKept } = made;
    if (run === null) return 'what is left of --max-spend does not pay for another run';
    const say = isKept ? () => {} : parts.say;
    const { figures, ...judged } = judgeTrial(config, run);
    const raised = judged.holds ? null : (this.#capacity?.raise(run) ?? null);
    if (raised !== null) {
      say(`${shown} again   with ${raised}`);
      return null;
    }
    trials.push({ value, ...judged, file, startedAt: run.startedAt, verdict: run.verdict });
    addRun(this.#cellOf(value), made, file);
    estimate.add(value, judged.holds);
    say(
      `${shown} ${judged.holds ? 'holds' : 'fails'}  ${(judged.holds ? figures : judged.failed).join(', ')}`.trimEnd(),
    );
    return null;
  }

  /**
   * @param {Record<string, string>} settings
   * @param {number | string} number
   * @param {Pick<Wanted, 'name' | 'label'>} words
   * @returns {AsyncGenerator<Wanted, {made: Made, file: string}, Made>} without a run if it would cost too much
   */
  async *#measure(settings, number, { name, label }) {
    const { config, parts, file: sweepFile } = this.#study;
    const done = this.#find.trials.length;
    for (;;) {
      const startUs = parts.clock.nowUs();
      const file = fileOf('find', { ...settings, ...this.#capacity?.size }, number);
      const made = yield {
        ...{ name, file, label, done, all: MAX_TRIALS, limitMs: this.#capacity?.leftMs },
        args: [...argsOf({ settings }), ...(this.#capacity?.args ?? [])],
        accepts: ({ run, exitCode }) => run !== null && MEASURED.includes(exitCode),
        // A short window is a choice of this study.
        warns: this.#capacity === null || config.durationMs !== null,
      };
      const { run, exitCode, complaint, isKept } = made;
      if (run !== null) this.#capacity?.learn(run, isKept ? 0 : (parts.clock.nowUs() - startUs) / 1000);
      if (run !== null && MEASURED.includes(exitCode)) {
        sweepFile.environment ??= environmentOf(run);
        return { made, file };
      }
      if (exitCode === EXIT.refused && config.maxSpendWei !== null && done > 0)
        return { made: { ...made, run: null }, file };
      if (!this.#capacity?.undo()) throw failure(name, made);
      parts.say(`the search goes on with as many as before: ${complaint}`);
    }
  }

  /** Trials of one value are runs of one cell. @param {number} value @returns {SweepCell} */
  #cellOf(value) {
    const { file, config } = this.#study;
    const { name, unit = '' } = this.#searched;
    const { cells } = file;
    const found = cells.find(({ settings }) => settings[name] === `${value}${unit}`);
    if (found !== undefined) return found;
    const [cell] = planCells([{ name, values: [`${value}${unit}`] }], config.study.options).map(cellOf);
    cells.push(cell);
    cells.sort((a, b) => Number.parseFloat(a.settings[name]) - Number.parseFloat(b.settings[name]));
    return cell;
  }

  /** @param {ThresholdEstimate} estimate */
  #conclude(estimate) {
    const { trials: count } = estimate;
    const { trials } = this.#find;
    const figures = estimate.figures();
    const end = estimate.end();
    const scale = this.#scale;
    const [held, failed] = [true, false].map((holds) => trials.filter((trial) => trial.holds === holds).map(valueOf));
    const tried = { held: Math.max(...held), failed: Math.min(...failed) };
    const isBetween = end !== null || (held.length > 0 && failed.length > 0);
    const isAnswer = end !== 'at least' && end !== 'below' && count > 0 && isBetween;
    this.#end = end;
    const answer = {
      estimate: isAnswer ? figures.estimate : null,
      low: isAnswer ? figures.low : end === 'at least' ? scale.highest : null,
      high: isAnswer ? figures.high : end === 'below' ? scale.lowest : null,
      sharp: end === 'sharp',
    };
    const conditions = conditionsOf(this.#study.config).map(({ expression }) => expression);
    const words = answerText(this.#searched, { conditions, figures, end, scale, trials: count, tried });
    const beyond = end === 'at least' ? null : firstBeyond(trials, answer);
    const limit = beyond === null ? [] : [limitText(this.#searched, beyond)];
    Object.assign(this.#find, {
      ...answer,
      words: [words, ...(this.#over === null ? [] : [this.#over]), ...limit].join('; '),
    });
  }

  /** @param {SweepFile['end']} end */
  report(end) {
    const { parts, folder, file } = this.#study;
    if (end === 'failed') return;
    parts.say(resultText(sweepResult(file)));
    if (end === 'interrupted') parts.say('interrupted: the same command goes on from here');
    parts.say(`sweep.json and the run files are in ${displayName(folder)}`);
  }
}

/** @param {Trial} trial */
function valueOf({ value }) {
  return value;
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

/** @param {Searched} searched @param {number} value */
function valueText({ short }, value) {
  return `${digits(value)}${short}`;
}

/**
 * @param {Pick<Searched, 'noun' | 'behind'>} searched
 * @param {{conditions: readonly string[], end: End, figures: Figures, scale: {lowest: number, highest: number}, trials: number,
 *   tried: {held: number, failed: number}}} outcome tried: the highest value that held, and the lowest that failed; infinite: none
 * @returns {string} one sentence
 */
export function answerText({ noun, behind }, { conditions, end, figures, scale, trials, tried }) {
  const what = `${end === null ? 'so far, ' : ''}the highest ${noun} with ${conditions.join(' and ')}`;
  const runs = counted(trials, 'run');
  const text = (/** @type {number} */ value) => `${digits(value)}${behind}`;
  if (trials === 0) return `${what} is not known yet`;
  if (end === 'at least' || (end === null && tried.failed === Infinity))
    return `${what} is at least ${text(end === null ? tried.held : scale.highest)} (${runs})`;
  if (end === 'below' || (end === null && tried.held === -Infinity))
    return `${what} is below ${text(end === null ? tried.failed : scale.lowest)} (${runs})`;
  const interval = `${Math.round(100 * CONFIDENCE)} % interval ${digits(figures.low)} to ${digits(figures.high)}, ${runs}`;
  const noise = end === 'noise' || end === 'trials' ? '; noise prevents a sharper answer' : '';
  return `${what} is ${text(figures.estimate)} (${interval})${noise}`;
}

/** Why a run above the answer failed, and whose limit that was. @param {Searched} searched @param {Trial} trial */
function limitText(searched, { value, failed, verdict = null }) {
  const at = `at ${valueText(searched, value)}: ${failed.join('; ')}`;
  // A run that almost held its rate has the verdict rate-bound, which would confuse here.
  if (verdict === null || verdict.name === 'rate-bound' || verdict.name === 'unknown') return at;
  const words = `${at}; ${verdict.name}: ${verdict.evidence}`;
  // The search may vary the number of wallets.
  const isVaried = searched.name !== 'rate' && verdict.name === 'concurrency-bound';
  if (isVaried || verdict.name === 'node-bound') return words;
  return `${words}; ${LIMIT_WORDS[verdict.name] ?? verdict.name}: the node may do more`;
}
