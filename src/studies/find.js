import { displayUrl } from '../chain/rpc.js';
import { EXIT, UsageError, displayName } from '../errors.js';
import { measuredText } from '../outputs/run-tables.js';
import { resultText } from '../outputs/table.js';
import { checkThresholds, parseThreshold } from '../stats/thresholds.js';
import { awayMsOf, waitedShareOf } from '../stats/verdict-facts.js';
import { counted, percent, timeText } from '../text.js';
import { Capacity, SEARCH_TIME, neededInFlight } from './capacity.js';
import { heldOf, isEvidence, nextRate } from './evidence.js';
import { failure } from './experiment.js';
import { SENDER_LIMIT, answerOf, awayText, limitOf, valueText, wasDown } from './find-answer.js';
import { argsOf, cellName, fileOf, planCells } from './plan.js';
import { environmentOf } from './run-files.js';
import { median } from './statistics.js';
import { runStudy } from './study.js';
import { addRun, cellOf, planOf } from './sweep.js';
import { sweepResult } from './sweep-text.js';
import { CONFIDENCE, MAX_TRIALS, ThresholdEstimate } from './threshold-estimate.js';

/**
 * @import { Config } from '../contracts/config.d.ts'
 * @import { RunFile, Threshold } from '../contracts/run-file.d.ts'
 * @import { Find, Parts, Searched, StudyConfig, SweepCell, SweepFile, Trial } from '../contracts/study.d.ts'
 * @import { Made, TOOLS, RunRequest } from './experiment.js'
 * @import { Study } from './study.js'
 * @import { End } from './threshold-estimate.js'
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

/** The condition of a search for the rate, unless another one says how much of the rate must be held. */
const HELD = parseThreshold('held>=98%');

/** Conditions on these figures replace it. */
const OF_THE_RATE = Object.freeze(['tps', 'achieved', 'held', 'dropped']);

/** @param {SearchGoal} search @returns {Threshold[]} */
function conditionsOf({ find, until }) {
  const isImplied = find === 'rate' && !until.some(({ figure }) => OF_THE_RATE.includes(figure));
  return [...until, ...(isImplied ? [HELD] : [])];
}

/** What a figure is that fails a condition. @type {Readonly<Record<Threshold['operator'], string>>} */
const FAILS = Object.freeze({
  ...{ '<': 'not below', '<=': 'above', '>': 'not above', '>=': 'below', '=': 'not', '!=': 'but must not be' },
});

/** @param {SearchGoal} search @param {RunFile} run @returns {Judged} */
export function judgeTrial(search, run) {
  /** @type {Judged} */
  const judged = { holds: true, failed: [], figures: [] };
  for (const result of checkThresholds(conditionsOf(search), run)) {
    const { figure, operator, expression, passed } = result;
    const measured = `${figure} ${measuredText(result)}`;
    const parts = figure === 'held' ? heldParts(run, Number(result.value)) : '';
    const limit = expression.split(/[<>=!]+\s*/)[1].replace(/(\d)([a-z%])/i, '$1 $2');
    if (passed) judged.figures.push(measured);
    else judged.failed.push(`${measured}, ${FAILS[operator]} ${limit}${parts}`);
  }
  return { ...judged, holds: judged.failed.length === 0 };
}

/** What makes it less than 100 %: operations that were not started, and a latency that grew. @param {RunFile} run @param {number} heldPercent */
function heldParts({ rates: { askedPerSecond, achievedPerSecond } }, heldPercent) {
  if (!askedPerSecond || achievedPerSecond === null) return '';
  const share = achievedPerSecond / askedPerSecond;
  const growth = 1 - heldPercent / (100 * share);
  const grown = growth > 0.0005 ? `, less ${percent(growth)} because the latency grew` : '';
  return ` (${percent(share)} of the rate achieved${grown})`;
}

/** At this share of a value or less, the load of a run is clearly lower. */
const LOWER = 0.5;
/** A latency that grows with the load at least as its square root loses more than this share of its slope on the way to no load. */
const SLOPE = 0.25;

/**
 * Whether a latency fails a condition by what the load does not change, for example by the block interval.
 * @param {SearchGoal} search
 * @param {{value: number, run: RunFile}} low that failed, at a clearly lower value than
 * @param {{value: number, run: RunFile}} high
 */
function isOutOfReach(search, low, high) {
  const [ofLow, ofHigh] = [low, high].map(({ run }) => checkThresholds(conditionsOf(search), run));
  const isLatency = (/** @type {Threshold} */ { unit, operator }) => unit === 'us' && operator.startsWith('<');
  return (
    ofLow.every((result) => result.passed || isLatency(result)) &&
    ofLow.some(({ passed, value, limit }, i) => {
      const gained = Number(ofHigh[i].value ?? Infinity) - Number(value);
      return !passed && gained < SLOPE * (high.value / low.value - 1) * (Number(value) - Number(limit));
    })
  );
}

/** A window needs at least so many operations. */
const MIN_OPERATIONS = 10;

/** The first run, without a rate, is none of the trials. */
const PILOT = 'pilot';

/** Exit codes of runs that count. @type {readonly number[]} */
const MEASURED = Object.freeze([EXIT.ok, EXIT.nothingVerified]);

/**
 * @param {Config} config
 * @param {Parts} parts
 * @param {{tools?: Partial<typeof TOOLS>, isCapacity?: boolean}} [how] isCapacity: stress find, which raises the number of
 *   wallets and of operations in flight as well, and has a time limit
 */
export async function search(config, parts, { tools, isCapacity = false } = {}) {
  const { study } = config;
  const { env, searched, bracket } = study;
  const capacity = isCapacity ? new Capacity(config, parts.clock) : null;
  if (study.repeat !== null) throw new UsageError('--find repeats runs where it needs to: leave --repeat out');
  const problem = capacity?.timeProblem ?? rangeProblem(study);
  if (problem !== null) throw new UsageError(problem);
  const { name, lowest, unit = '' } = /** @type {Searched} */ (searched);
  const first = bracket?.from ?? String(lowest);
  for (const value of [first, bracket?.to ?? first])
    await parts.checkCell([`--${name}=${value}${unit}`, ...(capacity?.args ?? [])], env);
  const find = {
    name,
    until: study.until.map(({ expression }) => expression),
    estimate: null,
    low: null,
    high: null,
    confidence: CONFIDENCE,
    rateHeld: conditionsOf(study).includes(HELD),
    ...(isCapacity && { range: bracketText(study) }),
    sharp: false,
    words: '',
    trials: [],
  };
  const plan = planOf(config, find);
  /** @type {Find['trials']} */
  let earlier = [];
  const begin = (/** @type {SweepFile | null} */ before) => {
    earlier = before?.find?.trials ?? [];
    return plan.begin(before);
  };
  return runStudy(
    config,
    parts,
    { ...plan, begin, inner: 'find', tools },
    (begun) => new Search(begun, config, capacity, earlier),
  );
}

/** A throughput above each rate of the range cannot be reached, whatever the node does. @param {StudyConfig} study @returns {string | null} */
function rangeProblem({ searched, bracket, until }) {
  const most = searched?.name === 'rate' && searched.unit === undefined ? bracket?.to : null;
  const beyond = until.find(
    ({ figure, operator, limit }) =>
      ['tps', 'achieved'].includes(figure) && operator.startsWith('>') && most != null && Number(limit) > Number(most),
  );
  if (beyond === undefined) return null;
  return `--until ${beyond.expression} holds at no rate up to ${most}: give a lower condition, or a range that ends higher`;
}

/** @param {StudyConfig} study @returns {string} the given range, with its unit */
function bracketText({ bracket, searched }) {
  return [bracket?.from, bracket?.to].flatMap((end) => (end == null ? [] : `${end}${searched?.unit ?? ''}`)).join('..');
}

/** What stress find will do, and for how long. @param {StudyConfig} study @param {URL | undefined} url */
function startText(study, url) {
  const { timeLimitMs } = study;
  const where = url === undefined ? 'the embedded chain (the result is that of this machine)' : displayUrl(url);
  const time = timeLimitMs === null ? SEARCH_TIME : timeText(timeLimitMs / 1000);
  const conditions = conditionsOf(study).map(({ expression }) => expression);
  return `search for the highest rate with ${conditions.join(', ')} at ${where}, for ${time}; Ctrl-C ends the search, and the same command resumes it`;
}

/**
 * A run that achieved at least this share of its rate and failed proves little if the load waited for a CPU for this share of
 * the time, and the node was not found to be the limit.
 */
const NEARLY = 0.75;
const DISTURBED = 0.1;
/** And for so many times the share of runs that held: a node on the same machine always takes some. */
const MORE = 1.5;

/** Runs of few blocks tell little; the answer says so by its width. */
const MOST_CHANCE = 0.1;

/** A run that dropped operations is made again with so many times the operations in flight. */
const TWICE = 2;

/** @param {RunFile} run @returns {number} operations in flight that its wallets allow */
function inFlightOf({ config }) {
  return Number(config.threads) * Number(config.inFlight ?? 1);
}

class Search {
  #study;
  #config;
  #find;
  #searched;
  /** @type {{lowest: number, highest: number}} */
  #scale;
  /** @type {End} */
  #end = null;
  /** Why the search cannot go on. @type {Find['stopped']} */
  #stopped = null;
  #capacity;
  /** What runs of an earlier command met. */
  #earlier;
  /** Throughput of the fastest run. */
  #mostPerSecond = 0;
  /** Runs with their rate, and the 99th percentile of their latency; kind: failed only if there is no other. @type {Array<{perSecond: number, kind: 'held' | 'pilot' | 'failed', p99Us: number}>} */
  #latencies = [];
  /** The failed run with the lowest value. @type {{value: number, run: RunFile} | null} */
  #lowest = null;
  /** Shares of the time for which the load of runs that held waited for a CPU. @type {number[]} */
  #waitedShares = [];
  /** Growth of the latency of runs that held which the positions of their blocks may explain: the figure held leaves it out. */
  #chanceShare = 0;
  /** The value of a run that is made again. @type {number | null} */
  #again = null;
  /** So many times the operations in flight that a rate seems to need: with fewer, one was dropped that held with these. */
  #reserve = 1;
  /** Operations per unit of the value. @type {number | null} */
  #operations;

  /** @param {Study<SweepFile>} study @param {Config} config @param {Capacity | null} capacity @param {Find['trials']} earlier */
  constructor(study, config, capacity, earlier) {
    const durationMs = capacity?.runMs ?? config.load.durationMs;
    this.#study = study;
    this.#config = config;
    this.#capacity = capacity;
    this.#earlier = new Map(earlier.map((trial) => [trial.file, trial.othersShare]));
    this.#find = /** @type {Find} */ (study.file.find);
    this.#searched = /** @type {Searched} */ (study.config.searched);
    const { name, lowest, highest, unit } = this.#searched;
    this.#operations = unit === undefined ? 1 : null;
    const fewest = name === 'rate' && unit === undefined ? MIN_OPERATIONS / ((durationMs ?? 1000) / 1000) : lowest;
    this.#scale = { lowest: Math.max(lowest, fewest), highest };
  }

  /** A condition that holds for no value counts as a failed threshold, and so does a search without an answer. */
  get exitCodes() {
    const isOver = !this.#study.parts.stop.drain.aborted;
    return this.#end === 'below' || (isOver && this.#find.done === false) ? [EXIT.thresholdFailed] : [];
  }

  /** @returns {AsyncGenerator<RunRequest, SweepFile['end'], Made>} */
  async *steps() {
    const { config, parts } = this.#study;
    const { from = null, to = null } = config.bracket ?? {};
    if (this.#capacity !== null) parts.say(startText(config, this.#config.chain.rpc[0]));
    // stress find needs the pilot for the interval of the blocks and the latency as well.
    const measured = from === null || this.#capacity !== null ? yield* this.#pilot(from === null) : null;
    const guess = to !== null ? null : from !== null ? Number(from) : measured;
    if (to !== null) this.#scale = { lowest: Number(from), highest: Number(to) };
    const estimate = new ThresholdEstimate({ ...this.#scale, guess, isInteger: this.#searched.name !== 'rate' });
    this.#conclude(estimate);
    while (this.#end === null && this.#stopped === null) {
      const over = this.#study.budget.isSpent ? 'fees' : (this.#capacity?.isOver ?? null);
      const value = over === null ? this.#next(estimate, guess) : null;
      this.#stopped = over ?? (value === null ? 'limit' : yield* this.#try(value, estimate));
      this.#conclude(estimate);
    }
    return 'complete';
  }

  /** @param {ThresholdEstimate} estimate @param {number | null} guess @returns {number | null} null: a limit on our side leaves nothing to try */
  #next(estimate, guess) {
    if (this.#again !== null) return this.#again;
    const wanted = estimate.next();
    if (this.#searched.name !== 'rate') return wanted;
    return nextRate(wanted, this.#find.trials, { lowest: this.#scale.lowest, guess });
  }

  /**
   * The throughput without a rate is the start of the search. It is measured again with more operations in flight while
   * they wait only for the next block: the way up in steps of LARGEST_STEP would take most of the time.
   * @param {boolean} isStart
   * @returns {AsyncGenerator<RunRequest, number, Made>}
   */
  async *#pilot(isStart) {
    let most = 0;
    for (;;) {
      const { made, file } = yield* this.#measure({}, PILOT, {
        name: 'without a rate',
        label: 'a pilot run without a rate',
      });
      const { run, isKept } = made;
      if (run === null) return Math.max(this.#scale.lowest, most);
      const perSecond = run.rates.verifiedPerSecond ?? 0;
      most = Math.max(most, perSecond);
      this.#learn(run, 0, false);
      addRun(this.#cellOf(null), made, file);
      const isOver = this.#capacity !== null && this.#capacity.isOver !== null;
      const isLast = !isStart || isOver || this.#capacity?.widenPilot(run) !== true;
      const text = `${valueText({ name: 'rate' }, perSecond)}/s`.padEnd(18);
      const with_ = counted(inFlightOf(run), 'operation');
      if (!isKept)
        this.#study.parts.say(
          `${text} without a rate, ${with_} in flight${isStart && isLast ? `: the search starts at ${valueText({ name: 'rate' }, most)}/s` : ''}`,
        );
      if (isLast) return Math.max(this.#scale.lowest, most);
    }
  }

  /** @param {RunFile} run @param {number} value @param {boolean} holds */
  #learn({ latency, rates, blocks }, value, holds) {
    const { p99Us } = latency.total;
    this.#mostPerSecond = Math.max(this.#mostPerSecond, rates.verifiedPerSecond ?? 0);
    const perSecond = rates.askedPerSecond ?? rates.verifiedPerSecond ?? 0;
    const kind = value === 0 ? 'pilot' : holds ? 'held' : 'failed';
    if (p99Us !== null) this.#latencies.push({ perSecond, kind, p99Us });
    if (holds && blocks.count > 0)
      this.#chanceShare = Math.max(this.#chanceShare, Math.min(MOST_CHANCE, 1 / blocks.count ** 2));
    if (rates.askedPerSecond !== null && value > 0) this.#operations ??= rates.askedPerSecond / value;
  }

  /**
   * Operations in flight that a rate needs, by the latency of the nearest run that held, before one did by that of the
   * nearest pilot run. Latency at the rate itself proves nothing: behind a slow node it grows without end.
   * @param {number} value
   * @returns {number | null} null: not known
   */
  #needed(value) {
    if (this.#operations === null || this.#searched.name !== 'rate') return null;
    const perSecond = value * this.#operations;
    const [known = []] = /** @type {const} */ (['held', 'pilot', 'failed'])
      .map((kind) => this.#latencies.filter((one) => one.kind === kind))
      .filter((runs) => runs.length > 0);
    const distance = (/** @type {{perSecond: number}} */ one) => Math.abs(Math.log(one.perSecond / perSecond));
    const [nearest] = known.toSorted((a, b) => distance(a) - distance(b));
    if (nearest === undefined) return null;
    return neededInFlight(this.#reserve * perSecond, { ...nearest, blockMs: this.#capacity?.blockMs ?? 0 });
  }

  /**
   * Whether a run dropped operations for lack of idle wallets. Only what is dropped with twice the operations in flight as
   * well is dropped because the node is slow. Without stress find the number of wallets is that of the user.
   * @param {RunFile} run
   * @param {number} value
   * @returns {boolean | null} null: the search is for another option than the rate
   */
  #isShort(run, value) {
    const needed = this.#needed(value);
    if (needed === null) return null;
    if (run.window.counts.dropped === 0) return false;
    const inFlight = inFlightOf(run);
    return this.#capacity === null ? needed > inFlight : this.#fewest(value) * TWICE > inFlight;
  }

  /** @param {number} value @returns {number} the fewest operations in flight with which a run at this value failed and dropped some */
  #fewest(value) {
    const dropping = this.#find.trials.filter((trial) => trial.value === value && !trial.holds && trial.dropped);
    return Math.min(...dropping.map(({ inFlight }) => inFlight ?? Infinity));
  }

  /** @param {number} value @param {ThresholdEstimate} estimate @returns {AsyncGenerator<RunRequest, Find['stopped'], Made>} why the search cannot go on */
  async *#try(value, estimate) {
    const { config, parts } = this.#study;
    const { trials } = this.#find;
    const { name, short, unit = '' } = this.#searched;
    const shown = `${valueText(this.#searched, value)}${short}`.padEnd(18);
    const label = `run ${trials.length + 1}, of ${MAX_TRIALS} at most, at ${shown.trimEnd()}`;
    const settings = { [name]: `${value}${unit}` };
    // What a run that is made again needs is decided already.
    const raised = this.#again === null ? (this.#capacity?.fit(this.#needed(value)) ?? null) : null;
    const { made, file } = yield* this.#measure(settings, trials.length + 1, { name: cellName(settings), label });
    const { run, isKept } = made;
    if (run === null) return 'fees';
    const say = isKept ? () => {} : parts.say;
    const { figures, ...judged } = judgeTrial(config, run);
    this.#learn(run, value, judged.holds);
    const isShort = this.#isShort(run, value);
    const othersShare = (isKept ? this.#earlier.get(file) : made.othersShare) ?? null;
    const limit = judged.holds ? null : limitOf({ run, isShort, othersShare, isRate: name === 'rate' });
    const again =
      this.#outage(run, value, judged.holds) ??
      this.#reasonToRepeat(run, value, { isShort, limit, holds: judged.holds });
    if (judged.holds && this.#fewest(value) < inFlightOf(run)) this.#reserve = TWICE;
    /** @type {Trial} */
    const trial = {
      ...{ value, ...judged, file, startedAt: run.startedAt, verdict: run.verdict, othersShare, limit, again },
      ...{ inFlight: inFlightOf(run), dropped: run.window.counts.dropped, awayMs: awayMsOf(run) },
    };
    trials.push(trial);
    addRun(this.#cellOf(value), made, file);
    this.#again = again === null ? null : value;
    if (isEvidence(trial)) estimate.add(value, judged.holds);
    const words = [
      ...(judged.holds ? figures : judged.failed),
      ...(raised === null ? [] : [`with ${raised}`]),
      ...(again === null && limit?.isOurs ? [`does not count: ${limit.words}`] : []),
    ];
    say(`${shown} ${judged.holds ? 'holds' : 'fails'}  ${words.join(', ')}`.trimEnd());
    if (again !== null) say(`${shown} again  ${again}`);
    return judged.holds || !isEvidence(trial) ? null : this.#lowerHelps(value, run);
  }

  /** @param {number} value @param {RunFile} run that failed @returns {Find['stopped']} null: a lower value may hold */
  #lowerHelps(value, run) {
    const before = this.#lowest;
    if (before !== null && value >= before.value) return null;
    this.#lowest = { value, run };
    const isLower = before !== null && value <= LOWER * before.value;
    const isNone = heldOf(this.#find.trials).length === 0;
    return isNone && isLower && isOutOfReach(this.#study.config, { value, run }, before) ? 'latency' : null;
  }

  /**
   * A node that is down proves nothing of the rate, unless it is down in the next run of this rate as well.
   * @param {RunFile} run
   * @param {number} value
   * @param {boolean} holds
   * @returns {string | null} why the run is made again and does not count
   */
  #outage(run, value, holds) {
    const isFirst = !this.#find.trials.some((trial) => trial.value === value && wasDown(trial));
    return !holds && isFirst && wasDown({ awayMs: awayMsOf(run) }) ? `as ${awayText(awayMsOf(run))}` : null;
  }

  /**
   * @param {RunFile} run
   * @param {number} value
   * @param {{holds: boolean, isShort: boolean | null, limit: Trial['limit']}} judged
   * @returns {string | null} why the run is made again and does not count
   */
  #reasonToRepeat(run, value, { holds, isShort, limit }) {
    if (this.#capacity?.isTooShort(run)) return 'with a longer run, for 10 blocks';
    const waitedShare = waitedShareOf(run);
    if (holds) {
      this.#waitedShares.push(waitedShare);
      return null;
    }
    const more = isShort && this.#capacity !== null ? this.#capacity.double() : null;
    if (more !== null) return `with ${more}, as operations were dropped`;
    if (limit?.words === SENDER_LIMIT && this.#capacity?.spread()) {
      const fewer = this.#capacity.fit(this.#needed(value));
      if (fewer !== null) return `with ${fewer}, as ${limit.words}`;
    }
    if (this.#again !== null) return null;
    if (limit?.isOurs) return isShort ? null : `as ${limit.words}`;
    const { askedPerSecond, achievedPerSecond } = run.rates;
    const usualShare = this.#waitedShares.length === 0 ? 0 : median(this.#waitedShares);
    const isNear = askedPerSecond !== null && (achievedPerSecond ?? 0) >= NEARLY * askedPerSecond;
    const isChance = isNear && waitedShare >= Math.max(DISTURBED, MORE * usualShare) && limit === null;
    return isChance ? `as other processes kept the CPU busy ${percent(waitedShare)} of the time` : null;
  }

  /**
   * @param {Record<string, string>} settings
   * @param {number | string} number
   * @param {Pick<RunRequest, 'name' | 'label'>} words
   * @returns {AsyncGenerator<RunRequest, {made: Made, file: string}, Made>} without a run if it would cost too much
   */
  async *#measure(settings, number, { name, label }) {
    const { parts, file: sweepFile } = this.#study;
    const { load, wallets } = this.#config;
    const done = this.#find.trials.length;
    for (;;) {
      const startUs = parts.clock.nowUs();
      const file = fileOf('find', { ...settings, ...this.#capacity?.size }, number);
      const made = yield {
        ...{ name, file, label, done, all: MAX_TRIALS, limitMs: this.#capacity?.leftMs },
        isCounted: number !== PILOT,
        args: [...argsOf({ settings }), ...(this.#capacity?.args ?? [])],
        accepts: ({ run, exitCode }) => run !== null && MEASURED.includes(exitCode),
        // A short window is a choice of this study.
        warns: this.#capacity === null || load.durationMs !== null,
      };
      const { run, exitCode, complaint, isKept } = made;
      if (run !== null) this.#capacity?.learn(run, isKept ? 0 : (parts.clock.nowUs() - startUs) / 1000);
      if (run !== null && MEASURED.includes(exitCode)) {
        sweepFile.environment ??= environmentOf(run);
        return { made, file };
      }
      const isRefused = exitCode === EXIT.refused && wallets.maxSpendWei !== null && done > 0;
      const isUndone = !isRefused && (this.#capacity?.undo() ?? false);
      if (!isRefused && !isUndone) throw failure(name, made);
      if (isRefused || this.#study.budget.isSpent) return { made: { ...made, run: null }, file };
      parts.say(`the run failed (${complaint}); the search goes on with as many as before`);
    }
  }

  /** Trials of one value are runs of one cell. @param {number | null} value null: without one @returns {SweepCell} */
  #cellOf(value) {
    const { file, config } = this.#study;
    const { name, unit = '' } = this.#searched;
    const { cells } = file;
    const text = value === null ? undefined : `${value}${unit}`;
    const found = cells.find(({ settings }) => settings[name] === text);
    if (found !== undefined) return found;
    const axes = text === undefined ? [] : [{ name, values: [text] }];
    const [cell] = planCells(axes, config.options).map(cellOf);
    cells.push(cell);
    const place = (/** @type {SweepCell} */ { settings }) => Number.parseFloat(settings[name] ?? '0');
    cells.sort((a, b) => place(a) - place(b));
    return cell;
  }

  /** @param {ThresholdEstimate} estimate */
  #conclude(estimate) {
    const conditions = conditionsOf(this.#study.config);
    const held = conditions.find(({ figure, operator }) => figure === 'held' && operator.startsWith('>'));
    this.#end = estimate.end();
    const answer = answerOf({
      mostPerSecond: this.#mostPerSecond,
      searched: this.#searched,
      trials: this.#find.trials,
      figures: estimate.figures(),
      end: this.#end,
      scale: this.#scale,
      conditions: conditions.map(({ expression }) => expression),
      stopped: this.#stopped,
      heldShare: held === undefined ? 1 : Number(held.limit) / 100 - this.#chanceShare,
    });
    Object.assign(this.#find, answer, { stopped: this.#stopped });
  }

  /** @param {SweepFile['end']} end */
  report(end) {
    const { parts, folder, file } = this.#study;
    if (end === 'failed' && this.#find.trials.length === 0) return;
    parts.say(resultText(sweepResult(file)));
    if (end === 'interrupted') parts.say('interrupted: run the same command again to resume');
    parts.say(`sweep.json and the run files are in ${displayName(folder)}`);
  }
}
