import { EXIT, InputError, displayName } from '../errors.js';
import { Distribution } from '../metrics/distribution.js';
import { censoredOf } from '../metrics/figures.js';
import { checkComparable, doubtsOf } from './comparable.js';
import { ALPHA, decide, runsNeeded } from './decide.js';
import { metricOf } from './metrics.js';
import { arrange } from './pairs.js';
import { legible } from './run-file.js';
import { mean, median } from './statistics.js';
import { methodWords, verdictOf } from './compare-words.js';
import { judgeFailIf } from './fail-if.js';
import { speedUps } from './speed-ups.js';

/**
 * @import { DistributionJson } from '../metrics/distribution.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Entry } from './comparable.js'
 * @import { FailIf } from './fail-if.js'
 */

/**
 * Two sets of runs, and what can be said about their difference. docs/compare.schema.json describes the result.
 *
 * @typedef {object} CompareOptions
 * @property {readonly string[]} baseFiles names, for messages
 * @property {readonly string[]} candidateFiles
 * @property {string} [baseLabel] such as an endpoint
 * @property {string} [candidateLabel]
 * @property {boolean} [pairs] the i-th run of each side are a pair, as they are when they were made for it
 * @property {string} [primary] the metric that decides
 * @property {readonly FailIf[]} [failIf]
 * @property {boolean} [allowDifferent]
 * @property {string} stress its version
 * @property {string} [startedAt] when the study was; without it, when the runs were
 * @property {string} [endedAt]
 */

export const COMPARE_SCHEMA = 'evm-stress/compare@1';

/** What is looked at beside the primary metric, the most interesting first. */
const SECONDARIES = Object.freeze(['tps', 'avg', 'max', 'min', 'p50', 'p99', 'cpu']);
/** So many that Holm's correction can still reject one with the 8 pairs that are run by default: 0.05 / 6 > 2 / 2^8. */
const MOST_SECONDARIES = 6;

/**
 * @param {readonly RunFile[]} baseRuns
 * @param {readonly RunFile[]} candidateRuns
 * @param {CompareOptions} options
 * @throws {InputError} when they must not be compared
 */
export function compare(baseRuns, candidateRuns, options) {
  const { primary = 'tps', failIf = [], allowDifferent = false } = options;
  const given = {
    base: entries(baseRuns, options.baseFiles),
    candidate: entries(candidateRuns, options.candidateFiles),
  };
  if (given.base.length === 0 || given.candidate.length === 0)
    throw new InputError('there is nothing to compare: give at least one run on each side');
  const differences = checkComparable([...given.base, ...given.candidate], allowDifferent);
  const arranged = arrange(given.base, given.candidate, options.pairs ?? false);
  const { isPaired, base, candidate, words, warnings } = arranged;
  const compared = compareMetrics(base, candidate, { primary, failIf, isPaired });
  const { metrics, raw } = compared;
  const needed = runsNeeded(isPaired);
  const method = {
    name: isPaired ? 'paired' : 'unpaired',
    pairs: isPaired ? base.length : null,
    test: isPaired ? 'sign-flip permutation of log ratios' : 'permutation of mean logs',
    runs: { base: base.length, candidate: candidate.length },
    alpha: ALPHA,
    minimum: needed,
    secondaries: metrics.length - 1 + raw.length,
    words: methodWords(isPaired, words, needed),
  };
  const comparison = {
    schema: COMPARE_SCHEMA,
    startedAt: options.startedAt ?? extreme([...base, ...candidate], 'startedAt', 0),
    endedAt: options.endedAt ?? extreme([...base, ...candidate], 'endedAt', -1),
    stress: options.stress,
    primary: metrics[0].name,
    method,
    base: side(base, options.baseLabel ?? 'BASE'),
    candidate: side(candidate, options.candidateLabel ?? 'CANDIDATE'),
    metrics,
    speedUps: speedUps(base, candidate),
    distributions: distributions(base, candidate),
    failIf: failIf.map((condition) => judgeFailIf(condition, compared)),
    differences,
    warnings: [...warnings, ...compared.warnings, ...doubtsOf(base, candidate)],
  };
  return { ...comparison, verdict: verdictOf(comparison, arranged.isApart) };
}

/** @typedef {ReturnType<typeof compare>} Comparison */
/** @typedef {ReturnType<typeof compareMetrics>['metrics'][number]} ComparedMetric */

/** @param {Comparison} comparison */
export function compareExit({ failIf }) {
  return failIf.every(({ passed }) => passed) ? EXIT.ok : EXIT.thresholdFailed;
}

/** @param {readonly RunFile[]} runs @param {readonly string[]} files @returns {Entry[]} */
function entries(runs, files) {
  return runs.map((run, i) => ({ run, file: files[i] }));
}

/**
 * @param {Entry[]} base
 * @param {Entry[]} candidate
 * @param {{primary: string, failIf: readonly FailIf[], isPaired: boolean}} options
 */
function compareMetrics(base, candidate, { primary, failIf, isPaired }) {
  const main = metricOf(primary);
  // What the user makes a condition comes first: then the family of secondaries does not grow by it.
  const others = [...failIf.map(({ metric }) => metric), ...SECONDARIES].map((name) => metricOf(name).name);
  const wanted = [...new Set(others)].filter((name) => name !== main.name);
  const conditions = new Set(failIf.map(({ metric }) => metric));
  const room = Math.max(MOST_SECONDARIES, conditions.size);
  const all = [...base, ...candidate];
  const readings = [main.name, ...wanted.slice(0, room)].map((name) => {
    const metric = metricOf(name);
    const values = all.map(({ run, file }) => legible(displayName(file), () => metric.read(run)));
    const bounds = all.map(({ run, file }) => legible(displayName(file), () => metric.isAtLeast(run)));
    const odd = values.findIndex((value) => !((value ?? 0) > 0));
    const why = odd < 0 ? '' : `${metric.label} is ${values[odd] ?? 'not measured'} in ${displayName(all[odd].file)}`;
    return { name, metric, values, bounds, kind: kindOf(values, name !== main.name && conditions.has(name)), why };
  });
  if (readings[0].kind !== 'ratio')
    throw new InputError(`${readings[0].why}, so that no ratio can be made of it: choose another --metric`);
  const compared = readings.flatMap(({ metric, values, bounds, kind }) => {
    if (kind !== 'ratio' && kind !== 'raw') return [];
    const numbers = values.map(Number);
    const sides = { base: numbers.slice(0, base.length), candidate: numbers.slice(base.length) };
    const isAtLeast = { base: bounds.slice(0, base.length), candidate: bounds.slice(base.length) };
    return [{ metric, ...sides, isRaw: kind === 'raw', isAtLeast }];
  });
  const decisions = decide(
    compared.map(({ metric: { better }, base: before, candidate: after, isRaw }) => {
      return { better, base: before, candidate: after, isRaw };
    }),
    isPaired,
  );
  const metrics = compared.map(({ metric: { name, label, unit, better }, isAtLeast, ...values }, i) => ({
    name,
    label,
    unit,
    better,
    isPrimary: i === 0,
    base: summary(values.base, isAtLeast.base),
    candidate: summary(values.candidate, isAtLeast.candidate),
    ...decisions[i],
  }));
  return {
    metrics: metrics.filter((_, i) => !compared[i].isRaw),
    raw: metrics.filter((_, i) => compared[i].isRaw),
    zeros: readings.flatMap(({ name, kind }) => (kind === 'zero' ? name : [])),
    warnings: readings.flatMap(({ kind, why }) => (kind === null ? `not compared: ${why}` : [])),
  };
}

/**
 * How a figure can be compared: by its ratio where it has one. What is a condition is compared as it is where it is 0 in
 * some run, for failures that begin are what conditions are for.
 * @param {Array<number | null>} values
 * @param {boolean} isCondition
 * @returns {'ratio' | 'raw' | 'zero' | null}
 */
function kindOf(values, isCondition) {
  if (values.every((value) => value !== null && value > 0)) return 'ratio';
  if (!isCondition || values.some((value) => value === null || value < 0)) return null;
  return values.every((value) => value === 0) ? 'zero' : 'raw';
}

/**
 * @param {number[]} values
 * @param {boolean[]} isAtLeast of each, whether it may be larger, because operations are censored
 * @returns {{values: number[], mean: number, median: number, min: number, max: number, atLeast?: boolean}}
 */
function summary(values, isAtLeast) {
  const bound = isAtLeast.includes(true) ? { atLeast: true } : {};
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return { values, mean: mean(values), median: median(values), min, max, ...bound };
}

/** @param {Entry[]} side @param {string} label */
function side(side, label) {
  const versions = [...new Set(side.map(({ run }) => run.environment.clientVersion ?? null))];
  return {
    label,
    files: side.map(({ file }) => displayName(file)),
    clientVersion: versions.every((version) => version === null) ? null : versions.map(String).join(', '),
    stress: [...new Set(side.map(({ run }) => String(run.environment.stress)))].join(', '),
    startedAt: side.map(({ run }) => run.startedAt),
  };
}

/** @param {Entry[]} base @param {Entry[]} candidate */
function distributions(base, candidate) {
  const [total, others] = [(/** @type {RunFile} */ run) => run.latency.total, censoredOf];
  const censored = { base: distribution(base, others), candidate: distribution(candidate, others) };
  return { base: distribution(base, total), candidate: distribution(candidate, total), censored };
}

/** Of all runs of a side. @param {Entry[]} side @param {(run: RunFile) => DistributionJson} of */
function distribution(side, of) {
  const all = new Distribution();
  for (const { run, file } of side) legible(displayName(file), () => all.merge(Distribution.fromJSON(of(run))));
  return all.toJSON();
}

/** @param {Entry[]} all @param {'startedAt' | 'endedAt'} key @param {0 | -1} which */
function extreme(all, key, which) {
  return /** @type {string} */ (
    all
      .map(({ run }) => run[key])
      .sort()
      .at(which)
  );
}
