import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { randomInt } from 'node:crypto';
import { EXIT, InputError, OutputError, StressError, UnavailableError } from '../errors.js';
import { displayName, oneLine, worstExit } from '../errors.js';
import { checkWritable, makeFolder, writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';
import { percentText } from '../outputs/format.js';
import { resultMarkdown, writeMarkdown } from '../outputs/markdown.js';
import { timeText } from '../text.js';
import { Bisection, CONFIDENCE } from './bisection.js';
import { Experiment, FATAL, inFolder, runChild } from './experiment.js';
import { checkOut, readRange, short } from './git-range.js';
import { metricOf } from './metrics.js';
import { commandWords, differenceOfParts, fingerprint } from './plan.js';
import { lastWords, launch, startNode } from './started-node.js';
import { median, randomNumbers } from './statistics.js';

/**
 * The bisection: finds the commit that made a metric worse. It makes pairs of runs, one at a commit and one at the good
 * commit, in an order drawn by chance, until src/studies/bisection.js is sure.
 *
 * @import { Config, Parts } from '../types.d.ts'
 * @import { BisectionEnd } from './bisection.js'
 * @import { Commit, Range } from './git-range.js'
 * @import { Metric } from './metrics.js'
 *
 * @typedef {object} Pair
 * @property {string} commit
 * @property {number} good value of the metric at the good commit
 * @property {number} candidate
 * @property {boolean} isGoodFirst
 * @property {string[]} files run files of the good commit and of the other one
 *
 * @typedef {object} BisectFile bisect.json, which is kept so that an interrupted bisection continues
 * @property {string} schema
 * @property {string} startedAt
 * @property {string} stress
 * @property {Record<string, string>} asked options that must be the same to continue
 * @property {number} seed of the order within pairs
 * @property {Record<string, string>} skipped reason by commit
 * @property {Pair[]} pairs
 * @property {object[]} commits with their probabilities
 * @property {{reason: string, words: string, from: string, to: string, probability: number} | null} result
 */

export const BISECT_SCHEMA = 'evm-stress/bisect@1';

/** A run that measures nothing is repeated once. */
const TRIES = 2;
const FULL_DISK = /No space left on device|ENOSPC|disk quota exceeded/i;

/** A commit cannot be built or started, or its run measures nothing. */
class Untestable extends Error {}

/** @param {Config} config @param {Parts} parts @param {{start?: typeof runChild, startNodeWith?: typeof startNode}} [tools] @returns {Promise<number>} the exit code */
export async function bisect(config, parts, { start = runChild, startNodeWith = startNode } = {}) {
  const { good, bad, repository, dir, study } = config;
  const folder = dir ?? 'bisect';
  const range = await readRange(repository, { good: String(good), bad: String(bad) });
  await parts.checkCell([], study.env);
  return inFolder(folder, 'runs', async () => {
    const file = await openBisection(config, parts, { folder, range });
    const save = () => writeFileAtomically(join(folder, 'bisect.json'), `${JSON.stringify(file, null, 2)}\n`);
    const experiment = new Experiment({ config, parts, folder, start });
    const run = {
      config,
      parts,
      folder,
      range,
      file,
      save,
      experiment,
      startNodeWith,
      metric: metricOf(config.metrics[0]),
    };
    return new BisectRun(run).run();
  });
}

/** @param {Config} config @param {Parts} parts @param {{folder: string, range: Range}} where @returns {Promise<BisectFile>} a new one, or that of the same bisection */
async function openBisection(
  { build, start, metrics, equivalent, study, seed },
  { clock, version },
  { folder, range },
) {
  const { commits, good } = range;
  const file = join(folder, 'bisect.json');
  await checkWritable(file);
  const command = (/** @type {string} */ text) => commandWords(fingerprint(text));
  const asked = {
    ...Object.fromEntries(Object.entries(study.options).map(([name, value]) => [`--${name}`, value])),
    ...{ '--good': good.id, '--bad': commits[commits.length - 1].id, '--start': command(String(start)) },
    ...(build === null ? {} : { '--build': command(build) }),
    ...{ '--metric': metrics[0], '--equivalent': `${100 * equivalent}%` },
  };
  if (existsSync(file)) {
    const before = /** @type {BisectFile} */ (readJsonFile(file, { what: 'bisection' }));
    if (before?.schema !== BISECT_SCHEMA || !Array.isArray(before.pairs))
      throw new InputError(`${displayName(file)} is no file of a bisection: give --dir another folder`);
    const [was, is] = [before.seed, seed ?? before.seed].map((value) => ({ '--seed': String(value) }));
    const difference = differenceOfParts({ ...before.asked, ...was }, { ...asked, ...is });
    if (difference === null) return before;
    // It may have begun with a --build that fails.
    const isEmpty = before.pairs.length === 0 && Object.keys(before.skipped).length === 0;
    if (isEmpty) rmSync(join(folder, 'builds'), { recursive: true, force: true });
    else
      throw new InputError(
        `${displayName(folder)} holds another bisection: ${difference}; give --dir another folder, or remove this one`,
      );
  }
  return {
    schema: BISECT_SCHEMA,
    startedAt: new Date(clock.wallMs()).toISOString(),
    stress: version,
    asked,
    seed: seed ?? randomInt(2 ** 32),
    skipped: {},
    pairs: [],
    commits: [],
    result: null,
  };
}

class BisectRun {
  #given;
  #bisection;
  /** The good commit, then those of the range: by position. @type {Commit[]} */
  #commits;
  #startedUs;
  #pairsBefore;

  /**
   * @param {{config: Config, parts: Parts, folder: string, range: Range, file: BisectFile, save: () => Promise<void>,
   *   experiment: Experiment, startNodeWith: typeof startNode, metric: Metric}} given
   */
  constructor(given) {
    const { range, file, config, parts } = given;
    this.#given = given;
    this.#commits = [range.good, ...range.commits];
    this.#bisection = new Bisection(range.commits.length, config.equivalent);
    this.#startedUs = parts.clock.nowUs();
    this.#pairsBefore = file.pairs.length;
    for (const { commit, good, candidate } of file.pairs)
      this.#bisection.add(this.#positionOf(commit), this.#logRatio(good, candidate));
    for (const commit of Object.keys(file.skipped)) this.#bisection.skip(this.#positionOf(commit));
  }

  /** @param {string} id */
  #positionOf(id) {
    return this.#commits.findIndex((commit) => commit.id === id);
  }

  /** Positive: worse. @param {number} good @param {number} candidate */
  #logRatio(good, candidate) {
    return Math.log(candidate / good) * (this.#given.metric.better === 'higher' ? -1 : 1);
  }

  /** The commits that were measured, with the median change of their pairs. @param {string} words @returns {string} */
  #markdown(words) {
    const { file, metric } = this.#given;
    const rows = this.#commits.flatMap((commit) => {
      const ratios = file.pairs
        .filter((pair) => pair.commit === commit.id)
        .map((pair) => pair.candidate / pair.good - 1);
      return ratios.length === 0 ? [] : [[short(commit.id), percentText(median(ratios)), String(ratios.length)]];
    });
    const table = { title: 'Commits', head: ['commit', `${metric.name} against good`, 'pairs'], rows };
    return resultMarkdown({ title: '', verdict: words, tables: [table], notes: [] });
  }

  /** @returns {Promise<number>} the exit code */
  async run() {
    const { config, parts, file, range, folder } = this.#given;
    const { say, stop } = parts;
    const count = range.commits.length;
    say(`${count} commits from ${short(range.good.id)} (good) to ${short(range.commits[count - 1].id)} (bad)`);
    if (range.merges > 0) say(`merges among them: ${range.merges}; a merge stands for all commits that it brings`);
    if (range.isDirty) say('warning: the repository has uncommitted changes, which no run contains');
    if (file.pairs.length > 0) say(`kept from ${displayName(folder)}: ${pairsText(file.pairs.length)}`);
    await this.#save();
    const end = await this.#search();
    const [error] = stop.errors;
    if (error !== undefined) throw error;
    if (end === null) {
      say(`interrupted after ${pairsText(file.pairs.length)}: the same command continues`);
      return worstExit(stop.exitCodes);
    }
    const { reason, from, to, probability } = end;
    const words = this.#endWords(end);
    file.result = { reason, words, from: this.#commits[from].id, to: this.#commits[to].id, probability };
    await this.#save();
    say(words);
    if (config.markdown !== null) await writeMarkdown(config.markdown, this.#markdown(words));
    say(`bisect.json, the run files and the builds are in ${displayName(folder)}`);
    if (reason === 'better') return EXIT.badInput;
    return reason === 'found' || reason === 'equal' || this.#isOnlySkipped(end) ? EXIT.ok : EXIT.incomplete;
  }

  /** @returns {Promise<BisectionEnd | null>} null: interrupted */
  async #search() {
    const { parts, config, file } = this.#given;
    for (;;) {
      const next = this.#bisection.next();
      if ('reason' in next) return next;
      if (config.timeLimitMs !== null && this.#elapsedMs() + this.#pairMs() > config.timeLimitMs)
        return this.#bisection.limit();
      const commit = this.#commits[next.position];
      try {
        const pair = await this.#makePair(commit);
        if (pair === null) return null;
        this.#bisection.add(next.position, this.#logRatio(pair.good, pair.candidate));
        file.pairs.push(pair);
        await this.#save();
        this.#describe(pair);
      } catch (error) {
        if (!(error instanceof Untestable)) throw error;
        this.#bisection.skip(next.position);
        file.skipped[commit.id] = error.message;
        await this.#save();
        parts.say(`skipped ${short(commit.id)}: ${error.message}`);
      }
    }
  }

  /** With what the pairs say now. */
  async #save() {
    const { file, save } = this.#given;
    const { probabilities } = this.#bisection.figures();
    file.commits = this.#commits.slice(1).map((commit, i) => ({ ...commit, probability: probabilities[i] }));
    await save();
  }

  #elapsedMs() {
    return (this.#given.parts.clock.nowUs() - this.#startedUs) / 1000;
  }

  /** Mean time of a pair with its builds. @returns {number} 0: none was made yet */
  #pairMs() {
    const made = this.#given.file.pairs.length - this.#pairsBefore;
    return made === 0 ? 0 : this.#elapsedMs() / made;
  }

  /** @returns {string[]} time that is left, if it is known */
  #timeLeft() {
    if (this.#pairMs() === 0) return [];
    const { timeLimitMs } = this.#given.config;
    const expectedMs = this.#bisection.pairsLeft() * this.#pairMs();
    const leftMs = timeLimitMs === null ? Infinity : Math.max(0, timeLimitMs - this.#elapsedMs());
    return [`about ${timeText(Math.min(expectedMs, leftMs) / 1000)} left`];
  }

  /** @param {Pair} pair the last one */
  #describe({ commit, good, candidate }) {
    const { file, metric, parts } = this.#given;
    const { probabilities } = this.#bisection.figures();
    const most = probabilities.reduce((best, p, i) => (p > probabilities[best] ? i : best), 0);
    const guess = `most probable ${short(this.#commits[most + 1].id)} (${percent(probabilities[most])})`;
    const change = signedPercent(candidate / good - 1);
    const words = [`${file.pairs.length}`, short(commit), `${metric.name} ${change}`];
    words.push(this.#bisection.isWorse ? guess : 'not yet shown that bad is worse', ...this.#timeLeft());
    parts.say(words.join('  '));
  }

  /** @param {Commit} commit @returns {Promise<Pair | null>} null: interrupted @throws {Untestable} */
  async #makePair(commit) {
    const { file, range } = this.#given;
    const number = file.pairs.length + 1;
    const isGoodFirst = randomNumbers(file.seed + number)() < 0.5;
    const name = String(number).padStart(3, '0');
    const files = [`runs/${name}-good.json`, `runs/${name}-${short(commit.id)}.json`];
    const isBad = commit === range.commits.at(-1);
    // Builds come first, so that nothing but the start of a node lies between the runs of a pair.
    if (!(await this.#build(range.good, true)) || !(await this.#build(commit, isBad))) return null;
    /** @type {{good?: number, candidate?: number}} */
    const values = {};
    let problem = /** @type {Untestable | null} */ (null);
    for (const isGood of [isGoodFirst, !isGoodFirst]) {
      try {
        const value = await this.#measure(isGood ? range.good : commit, files[isGood ? 0 : 1]);
        if (value === null) return null;
        values[isGood ? 'good' : 'candidate'] = value;
      } catch (error) {
        // The good commit shows whether it is the commit that fails, or everything, such as a port that is taken.
        if (!(error instanceof Untestable)) throw error;
        if (isGood || isBad) throw new UnavailableError(error.message);
        problem = error;
      }
    }
    if (problem !== null) throw problem;
    const { good = 0, candidate = 0 } = values;
    return { commit: commit.id, good, candidate, isGoodFirst, files };
  }

  /** @param {Commit} commit */
  #folderOf({ id }) {
    return join(this.#given.folder, 'builds', id.slice(0, 12));
  }

  /** Once per commit; what is built is kept. @param {Commit} commit @param {boolean} isEnd good or bad, which must be built @returns {Promise<boolean>} false: interrupted @throws {Untestable} */
  async #build(commit, isEnd) {
    const { config, parts } = this.#given;
    const folder = this.#folderOf(commit);
    const built = `${folder}.built`;
    if (existsSync(built)) return true;
    // A build that was interrupted may have left anything.
    rmSync(folder, { recursive: true, force: true });
    makeFolder(join(this.#given.folder, 'builds'));
    parts.onProgress(`building ${short(commit.id)}`, 0, 1);
    try {
      await checkOut(config.repository, commit.id, folder);
      const words = config.build === null ? null : await this.#runBuild(config.build, folder, commit);
      if (parts.stop.drain.aborted) return false;
      if (words !== null && isEnd) throw new InputError(`commit ${short(commit.id)} ${words}`);
      if (words !== null) throw new Untestable(words);
      await writeFileAtomically(built, `${commit.id}\n`);
      return true;
    } finally {
      parts.onProgress('', 1, 1);
    }
  }

  /** @param {string} command @param {string} folder @param {Commit} commit @returns {Promise<string | null>} how it failed */
  async #runBuild(command, folder, commit) {
    const { parts } = this.#given;
    const log = `${folder}.log`;
    const { ended, end } = launch(command, { cwd: folder, env: this.#environment(commit), log });
    const cancel = () => void end();
    parts.stop.drain.addEventListener('abort', cancel);
    const exit = await ended;
    parts.stop.drain.removeEventListener('abort', cancel);
    if (exit === 'exit code 0' || parts.stop.drain.aborted) return null;
    const words = `does not build (--build: ${exit}); ${lastWords(log)}`;
    if (FULL_DISK.test(words)) throw new OutputError(`commit ${short(commit.id)} ${words}`);
    return words;
  }

  /** @param {Commit} commit @returns {NodeJS.ProcessEnv} */
  #environment({ id }) {
    return { ...this.#given.parts.env, STRESS_COMMIT: id };
  }

  /** @param {Commit} commit @param {string} out @returns {Promise<number | null>} value of the metric; null: interrupted @throws {Untestable} */
  async #measure(commit, out) {
    const { config, experiment, file, metric, startNodeWith } = this.#given;
    const name = short(commit.id);
    let why = '';
    for (let tried = 0; tried < TRIES; tried += 1) {
      const node = await this.#start(commit, startNodeWith);
      if (node === null) return null;
      const done = file.pairs.length;
      const label = [`pair ${done + 1}, ${name}`, ...this.#timeLeft()].join('  ');
      const wanted = { name, file: out, label, done, all: done + this.#bisection.pairsLeft(), env: config.study.env };
      const made = await experiment.run(wanted).finally(() => node.stop());
      if (made === null) return null;
      const value = made.run !== null && made.run.counts.verified > 0 ? metric.read(made.run) : null;
      if (value !== null && value > 0) return value;
      if (FATAL.includes(made.exitCode)) throw new StressError(made.complaint, 'run_failed', made.exitCode);
      if (made.run !== null && made.run.counts.verified > 0)
        throw new InputError(
          `--metric ${metric.name} is ${value ?? 'not measured'} in a run at ${name}: a bisection compares ratios; give a metric that is above 0`,
        );
      why = `a run at ${name} measured nothing: ${made.complaint}`;
    }
    throw new Untestable(why);
  }

  /** @param {Commit} commit @param {typeof startNode} startNodeWith @throws {Untestable} */
  async #start(commit, startNodeWith) {
    const { config, parts } = this.#given;
    try {
      return await startNodeWith({
        name: '--start',
        command: String(config.start),
        cwd: resolve(this.#folderOf(commit)),
        url: config.rpc[0],
        log: `${this.#folderOf(commit)}.node.log`,
        env: this.#environment(commit),
        clock: parts.clock,
        stop: parts.stop,
      });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      throw new Untestable(`${short(commit.id)} does not start: ${error.message}`);
    }
  }

  /** Noise does not matter: what is left cannot be tested. @param {BisectionEnd} end */
  #isOnlySkipped({ reason, from, to, probability }) {
    const isSkipped = ({ id = '' }) => this.#given.file.skipped[id] !== undefined;
    return reason === 'range' && probability >= CONFIDENCE && this.#commits.slice(from, to).every(isSkipped);
  }

  /** @param {BisectionEnd} end @returns {string} */
  #endWords(end) {
    const { metric, file, config } = this.#given;
    const { reason, from, to, probability } = end;
    const pairs = pairsText(file.pairs.length);
    const bad = short(this.#commits[this.#commits.length - 1].id);
    if (reason === 'better')
      return `--bad ${bad} is better than --good: ${metric.name} changed by ${this.#change(1)} (${pairs}); exchange them`;
    if (reason === 'equal')
      return `--bad ${bad} is not worse than --good: ${metric.name} is at most ${percent(config.equivalent)} worse (${percent(CONFIDENCE)} confidence, ${pairs})`;
    if (reason === 'undecided')
      return `undecided whether --bad ${bad} is worse than --good: ${metric.name} is at most ${percent(Math.abs(Math.expm1(this.#bisection.largestLoss())))} worse (${pairs}); longer runs have less noise`;
    const { id, subject } = this.#commits[from];
    const chance = `${percent(probability)} probability (${pairs})`;
    if (reason === 'found')
      return `${short(id)} (${oneLine(subject, 80)}) makes ${metric.name} ${this.#change(to)} with ${chance}`;
    const ends = `the first bad commit is one of ${to - from + 1}, from ${short(id)} to ${short(this.#commits[to].id)}, with ${chance}`;
    return this.#isOnlySkipped(end)
      ? `${ends}: those before ${short(this.#commits[to].id)} cannot be tested`
      : `${ends}; ${metric.name} changes by ${this.#change(to)}; the noise is too large for fewer commits: raise --time-limit or --duration`;
  }

  /** @param {number} from position @returns {string} median of the pairs from there on, such as 8.0 % lower */
  #change(from) {
    const pairs = this.#given.file.pairs.filter(({ commit }) => this.#positionOf(commit) >= from);
    const change = Math.expm1(median(pairs.map(({ good, candidate }) => Math.log(candidate / good))));
    return `${percent(Math.abs(change))} ${change < 0 ? 'lower' : 'higher'}`;
  }
}

/** @param {number} count */
function pairsText(count) {
  return `${count} pair${count === 1 ? '' : 's'}`;
}

/** @param {number} share */
function percent(share) {
  const value = 100 * share;
  return `${value >= 99.95 && value < 100 ? '> 99.9' : value.toFixed(Number.isInteger(Math.round(value * 1e6) / 1e6) ? 0 : 1)} %`;
}

/** @param {number} share */
function signedPercent(share) {
  return `${share < 0 ? '-' : '+'}${(100 * Math.abs(share)).toFixed(1)} %`;
}
