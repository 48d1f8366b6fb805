import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { randomInt } from 'node:crypto';
import { EXIT, InputError, OutputError, UnavailableError, displayName, oneLine } from '../errors.js';
import { makeFolder, writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';
import { percentText } from '../outputs/format.js';
import { resultMarkdown } from '../outputs/markdown.js';
import { tableOf } from '../outputs/table.js';
import { randomNumbers } from '../random.js';
import { counted, percent, printable } from '../text.js';
import { Bisection, CONFIDENCE } from './bisection.js';
import { nodeCpuNotes } from './compare-text.js';
import { compare } from './compare.js';
import { FATAL, failure, isVerified } from './experiment.js';
import { checkOut, readRange, short } from './git-range.js';
import { metricOf } from './metrics.js';
import { commandWords, fingerprint, optionTexts } from './plan.js';
import { runCommand } from './shell-commands.js';
import { median } from './statistics.js';
import { runStudy } from './study.js';

/**
 * The bisection: finds the commit that made a metric worse. It makes pairs of runs, one at a commit and one at the good
 * commit, in an order drawn by chance, until src/studies/bisection.js is sure.
 *
 * @import { Config } from '../contracts/config.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Parts, StudyConfig, StudyFile } from '../contracts/study.d.ts'
 * @import { BisectionEnd } from './bisection.js'
 * @import { Made, TOOLS, RunRequest } from './experiment.js'
 * @import { Commit, Range } from './git-range.js'
 * @import { Study } from './study.js'
 *
 * @typedef {StudyFile & BisectMembers} BisectFile
 *
 * @typedef {object} BisectMembers
 * @property {'running' | 'complete' | 'interrupted' | 'failed'} end
 * @property {Record<string, string>} asked options that must be the same to continue
 * @property {number} seed of the order within pairs
 * @property {Record<string, string>} skipped reason by commit
 * @property {BisectPair[]} pairs
 * @property {Array<{id: string, subject: string, probability: number}>} commits with their probabilities to be the first bad one
 * @property {{reason: string, words: string, from: string, to: string, probability: number, notes?: string[]} | null} result notes: how the CPU time of the node differs
 *
 * @typedef {object} BisectPair
 * @property {string} commit
 * @property {number} good value of the metric at the good commit
 * @property {number} candidate value at the other one
 * @property {boolean} isGoodFirst
 * @property {string[]} files their run files
 */

/** What compilers and make print, from the C library or from Go. */
const NO_ROOM = /no space left on device/i;

/** A commit cannot be built or started, or its run measures nothing. */
class Untestable extends Error {}

/** @param {Pick<Config, 'chain' | 'study' | 'wallets'>} config @param {Parts} parts @param {Partial<typeof TOOLS>} [tools] */
export async function bisect(config, parts, tools) {
  const { study, chain } = config;
  const { good, bad, repository } = study;
  const range = await readRange(repository, { good: String(good), bad: String(bad) });
  await parts.checkCell([], study.env);
  const plan = {
    kind: /** @type {const} */ ('bisect'),
    folder: study.dir ?? 'bisect',
    inner: 'runs',
    begin: (/** @type {BisectFile | null} */ before) => {
      const seed = study.seed ?? before?.seed ?? randomInt(2 ** 32);
      const asked = askedOf(study, range, seed);
      return { asked, seed, skipped: before?.skipped ?? {}, pairs: [], commits: [], result: null };
    },
    optionsOf: (/** @type {BisectFile} */ { asked }) => asked,
    tools,
  };
  return runStudy(config, parts, plan, (begun) => new BisectRun(begun, range, chain.rpc[0]));
}

/** @param {StudyConfig} study @param {Range} range @param {number} seed */
function askedOf({ build, start, metrics, equivalent, options }, { commits, good }, seed) {
  const command = (/** @type {string} */ text) => commandWords(fingerprint(text));
  return {
    ...optionTexts(options),
    ...{ '--good': good.id, '--bad': commits[commits.length - 1].id, '--start': command(String(start)) },
    ...(build === null ? {} : { '--build': command(build) }),
    ...{ '--metric': metrics[0], '--equivalent': `${100 * equivalent}%`, '--seed': String(seed) },
  };
}

class BisectRun {
  #study;
  #range;
  #url;
  #metric;
  #bisection;
  /** The good commit, then those of the range: by position. @type {Commit[]} */
  #commits;
  #startedUs;
  /** Pairs that this command made. */
  #made = 0;
  /** @type {number[]} */
  exitCodes = [];

  /** @param {Study<BisectFile>} study @param {Range} range @param {URL} url of the node */
  constructor(study, range, url) {
    const { config, parts } = study;
    this.#study = study;
    this.#range = range;
    this.#url = url;
    this.#metric = metricOf(config.metrics[0]);
    this.#commits = [range.good, ...range.commits];
    this.#bisection = new Bisection(range.commits.length, config.equivalent);
    this.#startedUs = parts.clock.nowUs();
  }

  /** @returns {AsyncGenerator<RunRequest, BisectFile['end'], Made>} */
  async *steps() {
    const { parts, file } = this.#study;
    const { commits, good, merges, isDirty } = this.#range;
    const { say } = parts;
    say(
      `${counted(commits.length, 'commit')} from ${short(good.id)} (good) to ${short(commits[commits.length - 1].id)} (bad)`,
    );
    if (merges > 0) say(`merges among them: ${merges}; each is tested as one commit`);
    if (isDirty) say('warning: the repository has uncommitted changes, which no run contains');
    for (;;) {
      this.#update();
      const next = this.#bisection.next();
      if ('reason' in next || this.#isOver()) {
        this.#conclude('reason' in next ? next : this.#bisection.limit());
        return 'complete';
      }
      const { id } = this.#commits[next.position];
      try {
        if (file.skipped[id] !== undefined) throw new Untestable(file.skipped[id]);
        yield* this.#pair(next.position);
      } catch (error) {
        if (!(error instanceof Untestable)) throw error;
        this.#bisection.skip(next.position);
        if (file.skipped[id] === undefined) say(`skipped ${short(id)}: ${error.message}`);
        file.skipped[id] = error.message;
      }
    }
  }

  /** Whether there is no time for another pair. */
  #isOver() {
    const { timeLimitMs } = this.#study.config;
    return timeLimitMs !== null && this.#elapsedMs + this.#pairMs > timeLimitMs;
  }

  get #elapsedMs() {
    return (this.#study.parts.clock.nowUs() - this.#startedUs) / 1000;
  }

  /** Mean time of a pair with its builds. @returns {number} 0: none was made yet */
  get #pairMs() {
    return this.#made === 0 ? 0 : this.#elapsedMs / this.#made;
  }

  /** With what the pairs say now. */
  #update() {
    const { probabilities } = this.#bisection.figures();
    this.#study.file.commits = this.#range.commits.map((commit, i) => ({ ...commit, probability: probabilities[i] }));
  }

  /** @param {number} position @returns {AsyncGenerator<RunRequest, void, Made>} @throws {Untestable} */
  async *#pair(position) {
    const { file, keptRun } = this.#study;
    const [good] = this.#commits;
    const commit = this.#commits[position];
    const isBad = position === this.#range.commits.length;
    const number = file.pairs.length + 1;
    const isGoodFirst = randomNumbers(file.seed + number)() < 0.5;
    const name = `runs/${String(number).padStart(3, '0')}-${short(commit.id)}`;
    const files = [`${name}-good.json`, `${name}.json`];
    const wanted = [this.#wanted(good, files[0]), this.#wanted(commit, files[1])];
    const isNew = wanted.some((one) => keptRun(one) === null);
    // Builds come first, so that nothing but the start of a node lies between the runs of a pair.
    if (isNew) await this.#build(good, true);
    if (isNew) await this.#build(commit, isBad);
    const values = [0, 0];
    let problem = '';
    for (const i of isGoodFirst ? [0, 1] : [1, 0]) {
      const made = yield wanted[i];
      if (isVerified(made)) values[i] = this.#valueOf(made, wanted[i].name);
      else if (FATAL.includes(made.exitCode)) throw failure(wanted[i].name, made);
      else {
        problem = `a run at ${wanted[i].name} measured nothing: ${made.complaint}`;
        // The good commit shows whether it is the commit that fails, or everything, such as a port that is taken.
        if (i === 0 || isBad) throw new UnavailableError(problem);
      }
    }
    if (problem !== '') throw new Untestable(problem);
    const pair = { commit: commit.id, good: values[0], candidate: values[1], isGoodFirst, files };
    file.pairs.push(pair);
    // Positive: worse.
    this.#bisection.add(position, Math.log(pair.candidate / pair.good) * (this.#metric.better === 'higher' ? -1 : 1));
    if (!isNew) return;
    this.#made += 1;
    this.#describe(pair);
  }

  /** @param {Commit} commit @param {string} file @returns {RunRequest} */
  #wanted(commit, file) {
    const { config, file: bisectFile } = this.#study;
    const { pairs } = bisectFile;
    const name = short(commit.id);
    const folder = this.#folderOf(commit);
    const node = { cwd: resolve(folder), log: `${folder}.node.log`, env: this.#environment(commit) };
    const { timeLimitMs } = config;
    return {
      ...{ name, file, label: `pair ${pairs.length + 1}, ${name}` },
      ...{ done: pairs.length, all: pairs.length + this.#bisection.pairsLeft() },
      limitMs: timeLimitMs === null ? undefined : timeLimitMs - this.#elapsedMs,
      node: { name: '--start', command: String(config.start), url: this.#url, ...node },
      ...{ tries: 2, accepts: isVerified },
    };
  }

  /** @param {Made} made @param {string} name @returns {number} */
  #valueOf({ run }, name) {
    const value = run === null ? null : this.#metric.read(run);
    if (value !== null && value > 0) return value;
    throw new InputError(
      `--metric ${this.#metric.name} is ${value ?? 'not measured'} in a run at ${name}: a bisection compares ratios; give a metric that is above 0`,
    );
  }

  /** @param {Commit} commit */
  #folderOf({ id }) {
    return join(this.#study.folder, 'builds', id.slice(0, 12));
  }

  /** @param {Commit} commit @returns {NodeJS.ProcessEnv} */
  #environment({ id }) {
    return { ...this.#study.parts.env, STRESS_COMMIT: id };
  }

  /** Once per commit; what is built is kept. @param {Commit} commit @param {boolean} isEnd good or bad, which must be built @throws {Untestable} */
  async #build(commit, isEnd) {
    const { config, parts } = this.#study;
    const { clock, stop } = parts;
    const folder = this.#folderOf(commit);
    const built = `${folder}.built`;
    const by = config.build === null ? 'nothing' : fingerprint(config.build);
    if (existsSync(built) && readFileSync(built, 'utf8') === by) return;
    // A build that was interrupted may have left anything.
    rmSync(folder, { recursive: true, force: true });
    makeFolder(join(this.#study.folder, 'builds'));
    parts.onProgress(`building ${short(commit.id)}`, 0, 1);
    try {
      await checkOut(config.repository, commit.id, folder);
      const how = { cwd: folder, env: this.#environment(commit), log: `${folder}.log`, clock, stop };
      const failed = config.build === null ? null : await runCommand({ command: config.build, ...how });
      if (stop.drain.aborted) return;
      const words = `does not build (--build): ${failed}`;
      // Such a commit must not be skipped: it builds when there is room again.
      if (failed !== null && NO_ROOM.test(readFileSync(how.log, 'utf8')))
        throw new OutputError(`cannot build commit ${short(commit.id)} in ${displayName(folder)}: the disk is full`);
      if (failed !== null && isEnd) throw new InputError(`commit ${short(commit.id)} ${words}`);
      if (failed !== null) throw new Untestable(words);
      await writeFileAtomically(built, by);
    } finally {
      parts.onProgress('', 1, 1);
    }
  }

  /** @param {BisectPair} pair the last one */
  #describe({ commit, good, candidate }) {
    const { file, parts } = this.#study;
    const { probabilities } = this.#bisection.figures();
    const most = probabilities.reduce((best, p, i) => (p > probabilities[best] ? i : best), 0);
    const guess = `most probable ${short(this.#range.commits[most].id)} (${chanceText(probabilities[most])})`;
    const change = `${this.#metric.name} ${percentText(candidate / good - 1)}`;
    const words = [`${file.pairs.length}`, short(commit), change];
    parts.say([...words, this.#bisection.isWorse ? guess : 'not yet shown that bad is worse'].join('  '));
  }

  /** @param {BisectionEnd} end */
  #conclude(end) {
    const { reason, from, to, probability } = end;
    const { id } = this.#commits[from];
    const notes = reason === 'found' ? this.#nodeNotes(to) : [];
    const words = this.#endWords(end);
    const more = notes.length > 0 ? { notes } : {};
    this.#study.file.result = { reason, words, from: id, to: this.#commits[to].id, probability, ...more };
    if (reason === 'better') this.exitCodes.push(EXIT.badInput);
    else if (reason !== 'found' && reason !== 'equal') this.exitCodes.push(EXIT.incomplete);
  }

  /**
   * How the CPU time of the node differs from the found commit on: with --node-profile, and where that is shown.
   * @param {number} found position of the commit
   */
  #nodeNotes(found) {
    const { file, folder } = this.#study;
    const ids = this.#commits.slice(found).map(({ id }) => id);
    const pairs = file.pairs.filter(({ commit }) => ids.includes(commit)).map(({ files }) => files);
    const [base, candidate] = [0, 1].map((side) =>
      pairs.map((files) => /** @type {RunFile} */ (readJsonFile(join(folder, files[side])))),
    );
    if ([...base, ...candidate].some(({ nodeProfile }) => !nodeProfile)) return [];
    const comparison = compare(base, candidate, {
      ...{ baseFiles: pairs.map(([good]) => good), candidateFiles: pairs.map(([, other]) => other) },
      ...{ primary: this.#metric.name, pairs: true, allowDifferent: true, mayDiffer: new Set(), stress: '' },
      names: { base: short(this.#commits[0].id), candidate: short(this.#commits[found].id) },
    });
    return nodeCpuNotes(comparison);
  }

  /** @param {BisectionEnd} end @returns {string} */
  #endWords({ reason, from, to, probability }) {
    const { name } = this.#metric;
    const pairs = counted(this.#study.file.pairs.length, 'pair');
    const bad = `--bad ${short(this.#commits[this.#commits.length - 1].id)}`;
    const most = (/** @type {number} */ loss) => `${name} is at most ${chanceText(loss)} worse`;
    if (reason === 'better')
      return `${bad} is better than --good: ${name} changed by ${this.#change(1)} (${pairs}); exchange them`;
    if (reason === 'equal')
      return `${bad} is not worse than --good: ${most(this.#study.config.equivalent)} (${chanceText(CONFIDENCE)} confidence, ${pairs})`;
    if (reason === 'undecided') {
      const loss = this.#bisection.largestLoss();
      const known = Number.isFinite(loss)
        ? `${most(Math.expm1(loss))} (${pairs}); longer runs have less noise`
        : `too few pairs (${this.#study.file.pairs.length}); give more time (--time-limit)`;
      return `undecided whether ${bad} is worse than --good: ${known}`;
    }
    const { id, subject } = this.#commits[from];
    const chance = `with ${chanceText(probability)} probability (${pairs})`;
    if (reason === 'found')
      return `${short(id)} (${oneLine(subject, 80)}) changes ${name} by ${this.#change(to)} ${chance}`;
    return `the first bad commit is one of ${to - from + 1}, from ${short(id)} to ${short(this.#commits[to].id)}, ${chance}; ${name} changes by ${this.#change(to)}; fewer commits need longer runs (--duration), more time (--time-limit), or commits that can be tested`;
  }

  /** @param {number} from position @returns {string} median of the pairs from there on */
  #change(from) {
    const ids = this.#commits.slice(from).map(({ id }) => id);
    const pairs = this.#study.file.pairs.filter(({ commit }) => ids.includes(commit));
    return percentText(Math.expm1(median(pairs.map(({ good, candidate }) => Math.log(candidate / good)))));
  }

  /** @param {BisectFile['end']} end */
  report(end) {
    const { file, folder, parts } = this.#study;
    if (end === 'failed') return;
    parts.say(bisectText(file));
    if (end === 'interrupted') parts.say('interrupted: the same command continues');
    parts.say(`bisect.json, the run files and the builds are in ${displayName(folder)}`);
  }
}

/** Never more than it is. @param {number} share */
function chanceText(share) {
  return percent(Math.floor(1000 * share) / 1000);
}

/** @param {BisectFile} file @returns {string} */
export function bisectText(file) {
  const { words = `the bisection has not ended: ${counted(file.pairs.length, 'pair')}`, notes = [] } =
    file.result ?? {};
  return [words, ...notes].map(printable).join('\n');
}

/** The verdict, and the commits that were measured with the median change of their pairs. @param {BisectFile} file @returns {string} */
export function bisectMarkdown(file) {
  const rows = file.commits.flatMap(({ id }) => {
    const ratios = file.pairs.filter(({ commit }) => commit === id).map(({ good, candidate }) => candidate / good - 1);
    return ratios.length === 0 ? [] : [[short(id), percentText(median(ratios)), String(ratios.length)]];
  });
  const head = ['', `${file.asked['--metric']} against good`, 'pairs'];
  return resultMarkdown({
    title: '',
    verdict: bisectText(file),
    tables: [tableOf('commits', 'Commits', head, rows)],
    notes: [],
  });
}
