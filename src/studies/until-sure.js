import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { InputError, UsageError, displayName } from '../errors.js';
import { writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';
import { percentText } from '../outputs/format.js';
import { randomNumbers } from '../random.js';
import { timeText } from '../text.js';
import { boundsText } from './compare-text.js';
import { Experiment, inFolder, runChild } from './experiment.js';
import { MAX_FIRST_MS, SIDES, checkEmpty, envOf, firstTurn, runTurn, sayBoth, sideOf, urlOf } from './live-compare.js';
import { metricOf } from './metrics.js';
import { commandWords, differenceOfParts, fingerprint } from './plan.js';
import { isWhole, readIfAny, runFileReader } from './run-files.js';
import { PairedSequence } from './sequential.js';
import { MAX_FALSE_ALARMS } from './statistics.js';

/**
 * @import { Both, Config, Parts, RunFile, Sequential } from '../types.d.ts'
 * @import { Live, Side, Turn } from './live-compare.js'
 * @import { Metric } from './metrics.js'
 */

/**
 * A comparison that makes pairs of runs until all its metrics are decided. The folder keeps the seed of the order and all
 * runs, so that the same command continues it, also after its end: the result is valid after any pair.
 *
 * @typedef {object} Asked as sequence.json has it
 * @property {number} seed
 * @property {Record<string, string>} options
 *
 * @typedef {{metric: Metric, sequence: PairedSequence}} Tested
 */

const STATE = 'sequence.json';
const TIME_LIMIT_MS = 20 * 60_000;
const MAX_PAIRS = 1000;

/** The metrics that decide: those of --metric and of --fail-if. @param {Pick<Config, 'metrics' | 'failIf'>} config */
export function decidingMetrics({ metrics, failIf }) {
  return [...new Set([...metrics, ...failIf.map(({ metric }) => metric)])];
}

/**
 * The level of each of several metrics that are tested together (C. Bonferroni, 1936): all intervals hold together.
 * @param {number} metrics
 */
export function levelOf(metrics) {
  return MAX_FALSE_ALARMS / metrics;
}

/**
 * @param {Config} config
 * @param {Parts} parts
 * @param {typeof runChild} [start] starts a run
 * @param {(file: string) => RunFile} [read] reads a run file; throws if it is damaged
 * @returns {Promise<Both>} also if interrupted (parts.stop)
 */
export async function runUntilSure(config, parts, start = runChild, read = undefined) {
  const folder = config.dir ?? 'compare';
  for (const side of SIDES) await parts.checkCell([], envOf(config, side));
  const experiment = new Experiment({ config, parts, folder, start });
  return inFolder(folder, '', async () => {
    const { seed } = await openSequence(config, folder);
    return new UntilSure({ folder, config, parts, experiment }, seed, read ?? (await runFileReader())).run();
  });
}

class UntilSure {
  #live;
  #seed;
  #read;
  #deadlineUs;
  /** @type {Tested[]} */
  #tested;
  /** @type {Record<Side, {runs: RunFile[], files: string[]}>} */
  #made = { a: { runs: [], files: [] }, b: { runs: [], files: [] } };
  /** Of the longest pair. */
  #pairUs = 0;
  /** Of the first pair, by the first runs. */
  #expectedUs = 0;
  #hasBegun = false;

  /** @param {Live} live @param {number} seed @param {(file: string) => RunFile} read */
  constructor(live, seed, read) {
    this.#live = live;
    this.#seed = seed;
    this.#read = read;
    const { config, parts } = live;
    this.#deadlineUs = parts.clock.nowUs() + 1000 * this.#timeLimitMs;
    const names = decidingMetrics(config);
    this.#tested = names.map((name) => ({
      metric: metricOf(name),
      sequence: new PairedSequence({ alpha: levelOf(names.length), equivalent: config.equivalent }),
    }));
  }

  get #timeLimitMs() {
    return this.#live.config.timeLimitMs ?? TIME_LIMIT_MS;
  }

  /** @returns {Promise<Both>} */
  async run() {
    const { config, parts } = this.#live;
    const coin = randomNumbers(this.#seed);
    /** @type {Sequential['end'] | null} */
    let end = null;
    for (let pair = 1; end === null; pair += 1) {
      const order = /** @type {Side[]} */ (coin() < 0.5 ? ['a', 'b'] : ['b', 'a']);
      end = pair > MAX_PAIRS ? 'time_limit' : await this.#runPair(pair, order);
      if (end === null && this.#tested.every(({ sequence }) => sequence.decision() !== null)) end = 'decided';
    }
    const { a, b } = this.#made;
    if (end !== 'decided') {
      const what = end === 'interrupted' ? 'interrupted' : 'the time limit is over';
      parts.say(`${what}: ${a.runs.length} pairs are made; the same command continues`);
    }
    const [error] = parts.stop.errors;
    if (error !== undefined) throw error;
    const sequential = {
      ...{ end, seed: this.#seed, equivalent: config.equivalent },
      timeLimitMs: this.#timeLimitMs,
    };
    return { base: a.runs, candidate: b.runs, files: { base: a.files, candidate: b.files }, sequential };
  }

  /** @param {number} pair from 1 @param {Side[]} order @returns {Promise<Sequential['end'] | null>} null: it is complete */
  async #runPair(pair, order) {
    const { folder, parts } = this.#live;
    /** @type {Turn[]} */
    const turns = order.map((side) => ({ side, file: `${side}-${pair}.json`, isMeasured: true }));
    const runs = /** @type {Partial<Record<Side, RunFile>>} */ ({});
    // A pair that was interrupted is completed: to leave out a run that was seen already could bias the result.
    const kept = turns.map((turn) => this.#readKept(turn));
    const end = kept.includes(null) ? await this.#prepare() : null;
    if (end !== null) return end;
    const startedUs = parts.clock.nowUs();
    for (const [i, turn] of turns.entries()) {
      const label = `pair ${pair}, on ${turn.side.toUpperCase()}  ${this.#leftText()}`;
      const run = kept[i] ?? (await runTurn(this.#live, turn, { label, done: pair - 1, all: pair }));
      if (run === null) return 'interrupted';
      this.#check(run, turn.file);
      runs[turn.side] = run;
    }
    if (kept.every((run) => run === null)) this.#pairUs = Math.max(this.#pairUs, parts.clock.nowUs() - startedUs);
    for (const side of SIDES) {
      this.#made[side].runs.push(/** @type {RunFile} */ (runs[side]));
      this.#made[side].files.push(join(folder, `${side}-${pair}.json`));
    }
    for (const { metric, sequence } of this.#tested) {
      const [a, b] = SIDES.map((side) => Number(metric.read(/** @type {RunFile} */ (runs[side]))));
      sequence.add(Math.log(b / a));
    }
    parts.say(this.#line(pair, order));
    return null;
  }

  /** @param {Turn} turn @returns {RunFile | null} null: it is still to be made */
  #readKept({ file }) {
    const run = readIfAny(join(this.#live.folder, file), this.#read);
    return run !== null && isWhole(run) && run.counts.verified > 0 ? run : null;
  }

  /** Before a pair. @returns {Promise<'interrupted' | 'time_limit' | null>} null: there is time for it */
  async #prepare() {
    if (!this.#hasBegun && !(await this.#begin())) return 'interrupted';
    const neededUs = this.#pairUs || this.#expectedUs;
    if (this.#deadlineUs - this.#live.parts.clock.nowUs() >= neededUs) return null;
    if (this.#made.a.runs.length > 0) return 'time_limit';
    throw new UsageError(
      `--time-limit ${this.#timeLimitMs / 1000}s is too short: one pair of runs takes about ${timeText(neededUs / 1e6)}, after the first runs; raise it, or lower --duration`,
    );
  }

  /** The first runs, which show how long a pair takes, and whether all metrics are measured. @returns {Promise<boolean>} false: interrupted */
  async #begin() {
    const { config, parts } = this.#live;
    sayBoth(config, parts.say);
    const startedUs = parts.clock.nowUs();
    for (const turn of SIDES.map(firstTurn)) {
      const label = `first run on ${turn.side.toUpperCase()}`;
      const run = await runTurn(this.#live, turn, { label, done: 0, all: 1 });
      if (run === null) return false;
      this.#check(run, turn.file);
    }
    const moreMs = Math.max(0, (config.durationMs ?? 0) - MAX_FIRST_MS);
    this.#expectedUs = parts.clock.nowUs() - startedUs + (config.stages === null ? 2000 * moreMs : 0);
    this.#hasBegun = true;
    return true;
  }

  /** @param {RunFile} run @param {string} file @throws {InputError} */
  #check(run, file) {
    for (const { metric } of this.#tested) {
      const value = metric.read(run);
      if ((value ?? 0) > 0) continue;
      throw new InputError(
        `${metric.label} is ${value ?? 'not measured'} in ${displayName(file)}, so that no ratio can be made of it: choose another --metric or --fail-if`,
      );
    }
  }

  /** @param {number} pair @param {Side[]} order */
  #line(pair, order) {
    const figures = this.#tested.map(({ metric, sequence }) => {
      const change = sequence.change();
      return `${metric.label} ${percentText(change.estimate)} (${boundsText(change)})`;
    });
    const name = `pair ${pair} (${order.join(' ').toUpperCase()})`;
    return [name, ...figures, ...(this.#hasBegun ? [this.#leftText()] : ['made before'])].join('  ');
  }

  #leftText() {
    return `${timeText(Math.max(0, this.#deadlineUs - this.#live.parts.clock.nowUs()) / 1e6)} left`;
  }
}

/**
 * The order of a folder: that of the same comparison, to go on, or a new one.
 * @param {Config} config
 * @param {string} folder
 * @returns {Promise<Asked>}
 */
async function openSequence(config, folder) {
  const file = join(folder, STATE);
  const options = optionsOf(config);
  const hasRuns = SIDES.some((side) => existsSync(join(folder, `${side}-1.json`)));
  // Without a run, options may still be put right.
  if (!existsSync(file) || !hasRuns) {
    if (!existsSync(file)) checkEmpty(folder);
    const asked = { seed: config.seed ?? randomInt(2 ** 32), options };
    await writeFileAtomically(file, `${JSON.stringify(asked, null, 2)}\n`);
    return asked;
  }
  const before = readJsonFile(file);
  if (!Number.isInteger(before?.seed) || typeof before.options !== 'object')
    throw new InputError(`${displayName(file)} is damaged: remove the folder, or give --dir another one`);
  const seeds = { was: before.seed, is: config.seed ?? before.seed };
  const difference = differenceOfParts(
    { ...before.options, '--seed': String(seeds.was) },
    { ...options, '--seed': String(seeds.is) },
  );
  if (difference === null) return before;
  throw new InputError(
    `${displayName(folder)} holds another comparison: ${difference}; give --dir another folder, or remove this one`,
  );
}

/** What must not change in the course of a comparison. @param {Config} config @returns {Record<string, string>} */
function optionsOf(config) {
  const sides = SIDES.flatMap((side) => {
    const { start } = sideOf(config, side);
    const command = start === null ? [] : [[`--start-${side}`, commandWords(fingerprint(start))]];
    return [[`--rpc-${side}`, urlOf(config, side)], ...command];
  });
  return {
    ...Object.fromEntries(Object.entries(config.study.options).map(([name, value]) => [`--${name}`, value])),
    ...Object.fromEntries(sides),
    '--metric': decidingMetrics(config).join(','),
    '--equivalent': `${100 * config.equivalent}%`,
    '--rest': `${config.restMs / 1000}s`,
  };
}
