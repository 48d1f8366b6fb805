import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { displayUrl } from '../chain/rpc.js';
import { EXIT, InputError, UsageError, oneLine } from '../errors.js';
import { percentText } from '../outputs/format.js';
import { randomNumbers } from '../random.js';
import { shortWindow } from '../stats/growth.js';
import { counted, timeText } from '../text.js';
import { rangeText, widthOf } from './compare-text.js';
import { FATAL, failure, isVerified } from './experiment.js';
import { metricOf } from './metrics.js';
import { commandWords, fingerprint, optionTexts, restText } from './plan.js';
import { PairedSequence, decidingAlpha, fewestPairs } from './sequential.js';
import { runsNeeded } from './statistics.js';
import { runStudy } from './study.js';

/**
 * @import { Config } from '../contracts/config.d.ts'
 * @import { LoadConfig } from '../contracts/load.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Both, PairFailure, Parts, Sequential, StudyConfig, StudyFile } from '../contracts/study.d.ts'
 * @import { Made, TOOLS, RunRequest } from './experiment.js'
 * @import { Study } from './study.js'
 */

/**
 * Live pairs of runs of two endpoints: a fixed number in the order A B B A, so that drift, for example of the machine,
 * affects both sides alike; or in an order drawn by a coin, until all metrics are decided (--until-sure). The result of
 * the latter is valid after any pair, so that it can go on after its end.
 *
 * A pair of which a run fails, for example because the node crashed, is made once more in the same order, and then left
 * out. This is fair to equal sides: what a run measures, and whether it fails, then depends on its place in the pair only.
 *
 * @typedef {StudyFile & PairsMembers} PairsFile live pairs; end: as in Sequential, or complete
 *
 * @typedef {object} PairsMembers
 * @property {Record<string, string>} asked options that must be the same to continue
 * @property {number} seed of the coin of --until-sure
 * @property {PairFailure[]} failures
 *
 * @typedef {'a' | 'b'} Side
 */

/** @type {readonly Side[]} */
const SIDES = Object.freeze(['a', 'b']);
const PAIRS = 8;
const MAX_PAIRS = 1000;
/** How often a pair is made until it counts. */
const TRIES = 2;
/** Pairs left out in a row after which no other is made. */
const MAX_LEFT_OUT = 3;
/** Exit codes of a run that was measured to its end. @type {readonly number[]} */
const MEASURED = Object.freeze([EXIT.ok, EXIT.notExact, EXIT.thresholdFailed]);
/** Limit of the first run of each side. */
const MAX_FIRST_MS = 5000;
const TIME_LIMIT_MS = 20 * 60_000;

/**
 * @param {Pick<Config, 'load' | 'study' | 'wallets'>} config
 * @param {Parts} parts
 * @param {Partial<typeof TOOLS>} [tools]
 * @returns {Promise<Both>} also if interrupted (parts.stop)
 */
export async function runPairs(config, parts, tools) {
  const { load, study } = config;
  for (const side of SIDES) await parts.checkCell([], envOf(study, side));
  const plan = {
    kind: /** @type {const} */ ('pairs'),
    folder: study.dir ?? 'compare',
    begin: (/** @type {PairsFile | null} */ before) => {
      const seed = study.seed ?? before?.seed ?? randomInt(2 ** 32);
      return { seed, asked: askedOf(study, seed), failures: before?.failures ?? [] };
    },
    optionsOf: (/** @type {PairsFile} */ { asked }) => asked,
    tools,
  };
  const { steps } = await runStudy(config, parts, plan, (begun) => new Pairs(begun, load));
  return steps.both;
}

/** What must not change in the course of a comparison. @param {StudyConfig} config @param {number} seed @returns {Record<string, string>} */
function askedOf(config, seed) {
  const { options, restMs, untilSure, repeat, equivalent } = config;
  const sides = SIDES.flatMap((side) => {
    const { url, command } = sideOf(config, side);
    const start = command === null ? [] : [[`--start-${side}`, commandWords(fingerprint(command))]];
    return [[`--rpc-${side}`, displayUrl(url)], ...start];
  });
  return {
    ...optionTexts(options),
    ...Object.fromEntries(sides),
    '--rest': restText(restMs),
    ...(untilSure
      ? { '--metric': decidingMetrics(config).join(), '--equivalent': `${100 * equivalent}%`, '--seed': String(seed) }
      : { '--repeat': String(repeat ?? PAIRS) }),
  };
}

/** @param {StudyConfig} config @param {Side} side */
function sideOf({ rpcA, rpcB, startA, startB, labelA, labelB, ...nodes }, side) {
  const { nodeProfileA, nodeProfileB, nodeMetricsA, nodeMetricsB } = nodes;
  return side === 'a'
    ? { url: /** @type {URL} */ (rpcA), command: startA, label: labelA, profiles: nodeProfileA, pages: nodeMetricsA }
    : { url: /** @type {URL} */ (rpcB), command: startB, label: labelB, profiles: nodeProfileB, pages: nodeMetricsB };
}

/** @param {StudyConfig} config @param {Side} side @returns {NodeJS.ProcessEnv} passes URLs, so that no process list shows their secrets */
function envOf(config, side) {
  const { url, profiles, pages } = sideOf(config, side);
  const sources = profiles.map(({ name, url: source }) => `${name}=${source?.href ?? 'perf'}`);
  const metrics = pages.map(({ name, url: page }) => `${name === null ? '' : `${name}=`}${page.href}`);
  return {
    ...config.env,
    STRESS_RPC: url.href,
    ...(sources.length > 0 && { STRESS_NODE_PROFILE: sources.join() }),
    ...(metrics.length > 0 && { STRESS_NODE_METRICS: metrics.join() }),
  };
}

/** The metrics that decide: those of --metric and of --fail-if. @param {Pick<StudyConfig, 'metrics' | 'failIf'>} config */
function decidingMetrics({ metrics, failIf }) {
  return [...new Set([...metrics, ...failIf.map(({ metric }) => metric)])];
}

class Pairs {
  #study;
  #load;
  /** The metrics that --until-sure tests: their intervals hold together (C. Bonferroni, 1936). */
  #tested;
  #limitMs;
  #deadlineUs;
  /** @type {Record<Side, {runs: RunFile[], files: string[]}>} */
  #made = { a: { runs: [], files: [] }, b: { runs: [], files: [] } };

  /** @param {Study<PairsFile>} study @param {LoadConfig} load */
  constructor(study, load) {
    this.#study = study;
    this.#load = load;
    const { timeLimitMs, untilSure, equivalent, ...config } = study.config;
    const names = decidingMetrics(config);
    const alpha = decidingAlpha(names.length);
    this.#tested = (untilSure ? names : []).map((name) => {
      return { metric: metricOf(name), sequence: new PairedSequence({ alpha, equivalent }) };
    });
    this.#limitMs = untilSure ? (timeLimitMs ?? TIME_LIMIT_MS) : Infinity;
    this.#deadlineUs = study.parts.clock.nowUs() + 1000 * this.#limitMs;
  }

  /** @returns {Both} */
  get both() {
    const { config, file } = this.#study;
    const { a, b } = this.#made;
    const { failures } = file;
    const pairs = { base: a.runs, candidate: b.runs, files: { base: a.files, candidate: b.files }, failures };
    if (!config.untilSure) return pairs;
    const end = /** @type {Sequential['end']} */ (file.end);
    const { equivalent } = config;
    const precision = config.precision ?? undefined;
    return { ...pairs, sequential: { end, seed: file.seed, equivalent, precision, timeLimitMs: this.#limitMs } };
  }

  /** @returns {AsyncGenerator<RunRequest, string, Made>} */
  async *steps() {
    const { config, parts, file, keptRun } = this.#study;
    const { clock } = parts;
    const coin = randomNumbers(file.seed);
    const most = config.untilSure ? MAX_PAIRS : (config.repeat ?? PAIRS);
    let expectedUs = null;
    let longestUs = 0;
    let leftOut = 0;
    for (let pair = 1; pair <= most; pair += 1) {
      const isAFirst = config.untilSure ? coin() < 0.5 : pair % 2 === 1;
      const order = /** @type {Side[]} */ (isAFirst ? ['a', 'b'] : ['b', 'a']);
      /** @type {Record<Side, RunFile> | null} */
      let runs = null;
      while (runs === null && this.#failuresOf(pair) < TRIES) {
        const wanted = order.map((side) => this.#wanted(side, pair, most));
        const missing = wanted.filter((one) => keptRun(one) === null).length;
        if (missing > 0) {
          expectedUs ??= yield* this.#firstRuns();
          if (!this.#hasTimeFor(longestUs || expectedUs)) return 'time_limit';
        }
        const startedUs = clock.nowUs();
        runs = yield* this.#pair(pair, order, wanted);
        if (runs === null) continue;
        if (missing === 2) longestUs = Math.max(longestUs, clock.nowUs() - startedUs);
        this.#add(runs, order, wanted);
        if (missing > 0) parts.say(this.#line(pair, order, runs));
      }
      leftOut = runs === null ? leftOut + 1 : 0;
      if (leftOut === MAX_LEFT_OUT) return this.#giveUp();
      if (config.untilSure && this.#isDecided()) return 'decided';
    }
    if (this.#made.a.runs.length === 0) return this.#giveUp();
    return config.untilSure ? 'time_limit' : 'complete';
  }

  /** Whether each metric is decided, and as precise as --precision asks for. */
  #isDecided() {
    const widest = this.#study.config.precision ?? Infinity;
    return this.#tested.every(({ sequence }) => sequence.decision() !== null && widthOf(sequence.change()) <= widest);
  }

  /** @param {number} pair */
  #failuresOf(pair) {
    return this.#study.file.failures.filter((one) => one.pair === pair).length;
  }

  /** @param {number} pair @param {Side[]} order @param {RunRequest[]} wanted @returns {AsyncGenerator<RunRequest, Record<Side, RunFile> | null, Made>} null: a run failed */
  async *#pair(pair, order, wanted) {
    const { file, parts } = this.#study;
    const runs = /** @type {Record<Side, RunFile>} */ ({});
    // A pair that was interrupted is completed: to leave out a run that was seen already could bias the result.
    for (const [i, side] of order.entries()) {
      const made = yield wanted[i];
      if (!isMeasured(made) && !FATAL.includes(made.exitCode)) {
        const { exitCode, complaint } = made;
        file.failures.push({ pair, side, exitCode, reason: oneLine(complaint) });
        const isLast = this.#failuresOf(pair) === TRIES;
        const then = isLast ? 'the pair is left out' : 'the pair is made once more';
        parts.say(oneLine(`warning: pair ${pair}: the run ${wanted[i].name} failed: ${complaint}; ${then}`, 500));
        return null;
      }
      runs[side] = this.#checked(wanted[i], made);
    }
    return runs;
  }

  /** @returns {'failed'} @throws {StressError} nothing can be compared */
  #giveUp() {
    const { file } = this.#study;
    if (this.#made.a.runs.length > 0) return 'failed';
    const [{ side, exitCode, reason }] = file.failures.slice(-1);
    // The same command tries all pairs again.
    file.failures = [];
    throw failure(side.toUpperCase(), { exitCode, complaint: reason });
  }

  /** Before the first pair: a node that was just started is slower. @returns {AsyncGenerator<RunRequest, number, Made>} how long a pair is expected to take */
  async *#firstRuns() {
    const { config, parts } = this.#study;
    const [a, b] = SIDES.map((side) => {
      const { url, label } = sideOf(config, side);
      return label === null ? displayUrl(url) : `${label} (${displayUrl(url)})`;
    });
    parts.say(`A is ${a}, B is ${b}; a first run on each is not measured`);
    const needed = runsNeeded(true);
    if (!config.untilSure && (config.repeat ?? PAIRS) < needed)
      parts.say(
        `warning: ${counted(config.repeat ?? PAIRS, 'pair')} cannot show a difference: --repeat ${needed} is the least`,
      );
    const startedUs = parts.clock.nowUs();
    const { durationMs: givenMs, stages } = this.#load;
    const durationMs = givenMs ?? MAX_FIRST_MS;
    // With stages, the first run goes through all of them.
    const args = stages === null ? [`--duration=${Math.min(MAX_FIRST_MS, durationMs)}ms`] : [];
    const runs = [];
    for (const side of SIDES) {
      const label = `first run on ${side.toUpperCase()}`;
      const file = `first-${side}.json`;
      const wanted = { ...this.#wanted(side, 1, 1), file, label, args, isMeasured: false, tries: TRIES };
      runs.push(this.#checked(wanted, yield wanted));
    }
    this.#warnOfWindow(runs);
    const moreMs = stages === null ? Math.max(0, durationMs - MAX_FIRST_MS) : 0;
    return parts.clock.nowUs() - startedUs + 2000 * moreMs;
  }

  /** The windows of pairs will have as many blocks for their length as those of the first runs. @param {RunFile[]} runs of A and B */
  #warnOfWindow(runs) {
    const { file, parts } = this.#study;
    const shorts = runs.flatMap((run, i) => {
      const { blocks, window } = run;
      const count = Math.floor((blocks.count * (this.#load.durationMs ?? window.durationMs)) / window.durationMs);
      const short = shortWindow({ ...run, blocks: { ...blocks, count } });
      return short === null ? [] : [{ ...short, words: `${SIDES[i].toUpperCase()}: ${short.words}` }];
    });
    const [shortest] = shorts.sort((a, b) => a.blocks - b.blocks);
    if (shortest === undefined) return;
    file.warnings.push(shortest.words);
    parts.say(`warning: ${shortest.words}`);
  }

  /** @param {Side} side @param {number} pair from 1 @param {number} all @returns {RunRequest} */
  #wanted(side, pair, all) {
    const { config, parts, folder } = this.#study;
    const { url, command } = sideOf(config, side);
    const log = join(folder, `node-${side}.log`);
    const name = side.toUpperCase();
    const again = this.#failuresOf(pair) > 0 ? '-again' : '';
    return {
      name,
      file: `${side}-${pair}${again}.json`,
      label: `pair ${pair}, on ${name}`,
      done: pair - 1,
      // The number of pairs is not known before the comparison is decided.
      all: config.untilSure ? Infinity : all,
      limitMs: (this.#deadlineUs - parts.clock.nowUs()) / 1000,
      env: envOf(config, side),
      node: command === null ? undefined : { name: `--start-${side}`, command, url, log, env: parts.env },
      accepts: isMeasured,
    };
  }

  /** @param {number} pairUs */
  #hasTimeFor(pairUs) {
    if (this.#deadlineUs - this.#study.parts.clock.nowUs() >= pairUs) return true;
    if (this.#made.a.runs.length > 0) return false;
    if (this.#study.file.failures.length > 0) this.#giveUp();
    throw new UsageError(
      `--time-limit ${this.#limitMs / 1000}s is too short: one pair of runs takes about ${timeText(pairUs / 1e6)}, after the first runs; raise it, or lower --duration`,
    );
  }

  /** @param {RunRequest} wanted @param {Made} made @returns {RunFile} @throws {StressError | InputError} */
  #checked({ name, file }, made) {
    if (made.run === null || !isMeasured(made)) throw failure(name, made);
    for (const { metric } of this.#tested) {
      const value = metric.read(made.run);
      if ((value ?? 0) > 0) continue;
      throw new InputError(
        `${metric.label} is ${value ?? 'not measured'} in ${file}, so that no ratio can be made of it: choose another --metric or --fail-if`,
      );
    }
    return made.run;
  }

  /** @param {Record<Side, RunFile>} runs @param {Side[]} order @param {RunRequest[]} wanted */
  #add(runs, order, wanted) {
    for (const [i, side] of order.entries()) {
      this.#made[side].runs.push(runs[side]);
      this.#made[side].files.push(join(this.#study.folder, wanted[i].file));
    }
    for (const { metric, sequence } of this.#tested)
      sequence.add(Math.log(Number(metric.read(runs.b)) / Number(metric.read(runs.a))));
  }

  /** @param {number} pair @param {Side[]} order @param {Record<Side, RunFile>} runs */
  #line(pair, order, runs) {
    const sequences = this.#tested.map(({ metric: { label, read }, sequence }) => {
      const change = { ...sequence.change(), confidence: 1 - sequence.alpha };
      const fewest = fewestPairs(sequence.alpha);
      const range = sequence.pairs < fewest ? `an interval takes at least ${fewest} pairs` : rangeText(change);
      const own = Number(read(runs.b)) / Number(read(runs.a)) - 1;
      return `${label} ${percentText(own)}, estimate so far ${percentText(change.estimate)} (${range})`;
    });
    const values = ['tps', 'avg', 'p99'].map((name) => {
      const { label, show, read, isAtLeast } = metricOf(name);
      return `${label} ${SIDES.map((side) => show(read(runs[side]), isAtLeast(runs[side]))).join(', ')}`;
    });
    const figures = sequences.length > 0 ? sequences : values;
    return [`pair ${pair} (${order.join(' ').toUpperCase()})`, ...figures].join('  ');
  }

  /** @param {string} end */
  report(end) {
    const pairs = `pairs made: ${this.#made.a.runs.length}`;
    const { say } = this.#study.parts;
    if (end === 'interrupted') say(`interrupted: ${pairs}; the same command continues`);
    if (end === 'time_limit') say(`the time limit is over: ${pairs}; the same command continues`);
    if (end === 'failed' && this.#made.a.runs.length > 0)
      say(`${MAX_LEFT_OUT} pairs in a row failed: ${pairs}; to compare again, give --dir another folder`);
  }
}

/** @param {Made} made @returns {boolean} whether its run can be compared */
function isMeasured(made) {
  return isVerified(made) && MEASURED.includes(made.exitCode);
}
