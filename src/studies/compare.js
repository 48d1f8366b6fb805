import { isDeepStrictEqual } from 'node:util';
import { EXIT, InputError, displayName, oneLine, withoutKeys } from '../errors.js';
import { randomNumbers } from '../random.js';
import { auditResult } from '../stats/audit-result.js';
import { blockIntervalMs } from '../stats/blocks.js';
import { shortWindow } from '../stats/growth.js';
import { Distribution } from '../stats/histogram.js';
import { censoredOf } from '../stats/figures.js';
import { comparedProfileFigures } from '../stats/node-profile.js';
import { isPlain } from '../stats/sample.js';
import { counted, digits, percent } from '../text.js';
import { SEQUENTIAL_WORDS, judgeFailIf, methodWords, speedUps, verdictOf } from './compare-text.js';
import { metricOf, settingsOf } from './metrics.js';
import { comparedFunctions, stacksDifference } from './node-cpu.js';
import { differingSeries, tooFewReadings } from './node-series.js';
import { pairedFigure, stepDownMaxT, unpairedFigure } from './max-t.js';
import { legible, safeName, schemaOf } from './run-files.js';
import { decidingAlpha, fewestPairs, sequencesOf } from './sequential.js';
import { ALPHA, MAX_FALSE_ALARMS, mean, median, rejects, runsNeeded } from './statistics.js';

/**
 * @import { DistributionJson, RunFile } from '../contracts/run-file.d.ts'
 * @import { ComparedMetric, ComparedSide, Comparison, Decision, FailIf, PairFailure, Sequential, SideFailure, SideSummary, Word } from '../contracts/study.d.ts'
 * @import { Tested } from './max-t.js'
 */

/**
 * The comparison of two sets of runs: whether they may be compared, which runs form pairs, the statistical decision and
 * the result, which docs/compare.schema.json describes.
 *
 * @typedef {{run: RunFile, file: string}} Entry
 */

/** Largest difference of the window lengths, as a share. */
const SAME_WINDOW = 0.01;
/** Items that a message names. */
const NAMED = 3;
/** Characters of the name of a side. */
const LONGEST_NAME = 40;

/**
 * @param {readonly Entry[]} entries of both sides
 * @param {Pick<CompareOptions, 'allowDifferent' | 'mayDiffer'>} options
 * @returns {string[]} the differences that were allowed
 * @throws {InputError}
 */
function checkComparable(entries, { allowDifferent = false, mayDiffer }) {
  entries.forEach(({ run, file }, i) => {
    const duplicate = entries.findIndex((other) => other.run.id === run.id);
    if (duplicate < i)
      throw new InputError(
        `${displayName(entries[duplicate].file)} and ${displayName(file)} are the same run: give each run once, on one side`,
      );
    if (run.counts.verified === 0)
      throw new InputError(`${displayName(file)} verified nothing, so it cannot be compared: is the build broken?`);
  });
  const differences = differencesOf(entries, mayDiffer);
  if (differences.length === 0 || allowDifferent) return differences;
  const more = differences.length - NAMED;
  throw new InputError(
    `these runs cannot be compared: ${differences.slice(0, NAMED).join('; ')}${more > 0 ? `; and ${more} more` : ''}` +
      ' (--allow-different compares them all the same)',
  );
}

/** @param {readonly Entry[]} entries @param {ReadonlySet<string>} mayDiffer @returns {string[]} */
function differencesOf(entries, mayDiffer) {
  const [first] = entries;
  const settings = new Map(entries.map(({ run }) => [run, settingsOf(run, mayDiffer)]));
  const names = new Set([...settings.values()].flatMap(Object.keys));
  const { durationMs } = first.run.window;
  const isOther = (/** @type {number} */ ms) => Math.abs(ms - durationMs) > SAME_WINDOW * Math.max(ms, durationMs);
  const longer = entries.find(({ run }) => isOther(run.window.durationMs));
  // With --iterations the length is a result, not a setting.
  const hasLength = !entries.every(({ run }) => run.end === 'iterations');
  const window = (/** @type {Entry} */ { run, file }) => `${run.window.durationMs / 1000} s in ${displayName(file)}`;
  // Calls files of one name may differ.
  const calls = differing(entries, ({ environment }) => environment.workload.callsHash);
  return [
    ...entries
      .filter(({ run }) => run.partial)
      .map(({ file }) => `${displayName(file)} is partial: its generator ended before the run did`),
    ...[...names].flatMap((name) => differenceWords(entries, name, (run) => settings.get(run)?.[name])),
    ...(hasLength && longer !== undefined ? [`the window has ${window(first)} and ${window(longer)}`] : []),
    ...calls.map(({ file }) => `the calls in ${displayName(first.file)} are not those in ${displayName(file)}`),
  ];
}

/** @param {readonly Entry[]} entries @param {(run: RunFile) => unknown} of @returns {Entry[]} one whose value is not that of the first, if any */
function differing([first, ...rest], of) {
  const other = rest.find(({ run }) => !isDeepStrictEqual(of(run) ?? null, of(first.run) ?? null));
  return other === undefined ? [] : [other];
}

/** @param {readonly Entry[]} entries @param {string} name @param {(run: RunFile) => unknown} of @returns {string[]} */
function differenceWords(entries, name, of) {
  const said = (/** @type {Entry} */ { run, file }) => {
    const value = of(run) ?? 'not given';
    return `${safeName(typeof value === 'string' ? value : JSON.stringify(value))} in ${displayName(file)}`;
  };
  return differing(entries, of).map((other) => `${safeName(name)} is ${said(entries[0])} and ${said(other)}`);
}

/** Warnings about runs that may be compared. @param {readonly Entry[]} base @param {readonly Entry[]} candidate @returns {string[]} */
function doubtsOf(base, candidate) {
  const entries = [...base, ...candidate];
  /** @param {string} words @param {(run: RunFile) => boolean} isSo */
  const warn = (words, isSo) => {
    const files = entries.filter(({ run }) => isSo(run)).map(({ file }) => displayName(file));
    const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : '';
    return files.length === 0 ? [] : [`${words}: ${files.slice(0, NAMED).join(', ')}${more}`];
  };
  const shorts = entries.flatMap(({ run, file }) => {
    const short = shortWindow(run);
    return short === null ? [] : [{ blocks: short.blocks, words: `${displayName(file)}: ${short.words}` }];
  });
  const [shortest] = shorts.sort((a, b) => a.blocks - b.blocks);
  /** @param {RunFile} run */
  const isOld = ({ series }) => series === undefined;
  return [
    ...(entries.every(({ run }) => isOld(run)) ? [] : warn('TPS of release 0.2.0 has another definition', isOld)),
    ...warn('the audit is not exact', (run) => auditResult(run) === 'not_exact'),
    ...warn('the audit is incomplete', (run) => run.audit !== null && auditResult(run) === 'incomplete'),
    ...warn('there was no audit', (run) => run.audit === null && !isPlain(run)),
    ...warn('the run ended early', ({ end }) => !['duration', 'iterations', 'running'].includes(end)),
    ...warn('the generator was the limit, not the node', ({ verdict }) => verdict?.name === 'generator-bound'),
    ...failures(base, candidate),
    ...(shortest ? [shortest.words] : []),
    ...[tooFewReadings(entries.map(({ run }) => run))].filter((words) => words !== null),
    .../** @type {const} */ (['stress', 'node', 'platform', 'cpu', 'cores']).flatMap((name) =>
      differenceWords(entries, name, ({ environment }) => String(environment[name] ?? 'not known')),
    ),
  ];
}

/** More failures mean less work, which may look faster. @param {readonly Entry[]} base @param {readonly Entry[]} candidate */
function failures(base, candidate) {
  const [a, b] = [base, candidate].map((side) => {
    const sum = (/** @type {(counts: RunFile['counts']) => number} */ of) =>
      side.reduce((total, { run }) => total + of(run.counts), 0);
    return sum(({ failed, timedOut }) => failed + timedOut) / sum(({ started }) => started);
  });
  if (a === 0 && b === 0) return [];
  return [
    `${percent(a)} of the operations failed or timed out in the baseline, ${percent(b)} in the candidate: only a --fail-if compares such counts`,
  ];
}

/**
 * The decision is made from figures only, so that scripts/false-alarms.js can test this code.
 *
 * @typedef {object} Sides values of a metric by run; of pairs, the i-th of each side belong together
 * @property {'higher' | 'lower'} better
 * @property {readonly number[]} base above 0, like candidate
 * @property {readonly number[]} candidate
 * @property {boolean} [isRaw] compared without logarithms, because values may be 0
 */

/** A fixed seed, so that the same runs give the same result. */
const SEED = 20_250_107;

/**
 * The first metric decides by itself; the others are tested together.
 * @param {readonly Sides[]} metrics
 * @param {boolean} isPaired
 * @returns {Decision[]}
 */
export function decide(metrics, isPaired) {
  const [primary, ...secondaries] = metrics.map((sides) => relabelled(sides, isPaired));
  const isEnough = rejects(2 / (primary.extremes.length + 1), ALPHA);
  const tested = [...stepDownMaxT([primary], ALPHA), ...stepDownMaxT(secondaries, ALPHA)];
  return metrics.map((sides, i) => decision(sides, tested[i], isEnough));
}

/** @param {Sides} sides */
function logsOf({ base, candidate, isRaw = false }) {
  return isRaw ? { base, candidate } : { base: base.map(Math.log), candidate: candidate.map(Math.log) };
}

/** With the same random numbers for each figure: all get the same relabellings. @param {Sides} sides @param {boolean} isPaired */
function relabelled(sides, isPaired) {
  const { base, candidate } = logsOf(sides);
  const random = randomNumbers(SEED);
  return isPaired
    ? pairedFigure(candidate.map((value, i) => value - base[i]), random) // prettier-ignore
    : unpairedFigure(base, candidate, random);
}

/** @param {Sides} sides @param {Tested} tested @param {boolean} isEnough whether any data of so many runs could be rejected @returns {Decision} */
function decision(sides, { p, adjusted, low, high }, isEnough) {
  const { better, base, isRaw = false } = sides;
  const logs = logsOf(sides);
  const shift = mean(logs.candidate) - mean(logs.base);
  const fraction = (/** @type {number} */ by) => (isRaw ? by / mean(base) : Math.expm1(by));
  const bound = (/** @type {number} */ by) => (Number.isFinite(by) ? fraction(by) : null);
  /** @type {Word} */
  let word = shift > 0 === (better === 'higher') ? 'faster' : 'slower';
  if (!rejects(adjusted, ALPHA)) word = 'no difference shown';
  if (!isEnough) word = 'too few runs';
  return {
    change: { estimate: fraction(shift), low: bound(low), high: bound(high), confidence: 1 - ALPHA },
    p,
    pAdjusted: adjusted,
    word,
  };
}

/**
 * As decide(), for pairs in random order whose number depends on their results.
 * @param {readonly Sides[]} metrics
 * @param {number} deciding the first of them
 * @param {number} equivalent as a fraction
 * @returns {Decision[]}
 */
export function decideSequentially(metrics, deciding, equivalent) {
  const ratios = metrics.map(({ base, candidate }) => base.map((value, pair) => Math.log(candidate[pair] / value)));
  return sequencesOf(ratios, deciding, equivalent).map((sequence, i) => {
    const change = { ...sequence.change(), confidence: 1 - sequence.alpha };
    const isHigher = change.estimate > 0 === (metrics[i].better === 'higher');
    const decided = sequence.decision();
    /** @type {Word} */
    let word = change.low === null || change.high === null ? 'too few runs' : 'no difference shown';
    if (decided !== null) word = decided === 'equivalent' ? decided : isHigher ? 'faster' : 'slower';
    const p = sequence.p();
    return { change, p, pAdjusted: Math.min(1, (p * MAX_FALSE_ALARMS) / sequence.alpha), word };
  });
}

/**
 * Which runs form pairs, the i-th of each side together. A machine that becomes slower over time affects both runs of a
 * pair, so that pairs show smaller differences than unpaired runs. isApart: one side always ran before the other.
 * @param {readonly Entry[]} base
 * @param {readonly Entry[]} candidate
 * @param {boolean} isLive the runs were made in pairs
 */
function arrange(base, candidate, isLive) {
  const order = byStart([...base, ...candidate]).map((entry) => (base.includes(entry) ? 'A' : 'B'));
  const couples = order.flatMap((side, i) => (i % 2 === 0 ? [`${side}${order[i + 1] ?? ''}`] : []));
  const isPaired = isLive || couples.every((couple) => couple === 'AB' || couple === 'BA');
  // A drift that always affects the same side looks like a difference.
  const isApart = isPaired
    ? couples.length > 1 && couples.every((couple) => couple === couples[0])
    : /^(A+B+|B+A+)$/.test(order.join(''));
  const shown = order.length <= LONGEST ? order.join(' ') : `${order.slice(0, LONGEST).join(' ')} ...`;
  return {
    isPaired,
    isApart,
    base: isLive ? [...base] : byStart(base),
    candidate: isLive ? [...candidate] : byStart(candidate),
    words: `the runs, by when they began, ${isPaired ? 'are' : 'are not'} neighbours of one of each side (${shown})`,
  };
}

/** @param {readonly Entry[]} entries */
function byStart(entries) {
  return [...entries].sort((a, b) => Date.parse(a.run.startedAt) - Date.parse(b.run.startedAt));
}

const LONGEST = 16;
const APART =
  'one side always ran before the other: a drift of the machine looks like a difference; run them in the order A B B A';

/**
 * @typedef {object} CompareOptions
 * @property {readonly string[]} baseFiles names for messages
 * @property {readonly string[]} candidateFiles
 * @property {{base: string | null, candidate: string | null}} [labels] such as endpoints
 * @property {{base: string | null, candidate: string | null}} [names] given by the user
 * @property {boolean} [pairs] the i-th runs of the sides were made as a pair
 * @property {string} [primary] the metric that decides
 * @property {readonly string[]} [more] the next metrics
 * @property {Sequential} [sequential] the pairs were made in random order, until sure
 * @property {readonly FailIf[]} [failIf]
 * @property {readonly PairFailure[]} [failures] runs of live pairs that failed
 * @property {boolean} [allowDifferent]
 * @property {ReadonlySet<string>} mayDiffer keys of configurations in which comparable runs may differ
 * @property {string} stress its version
 */

/** The other metrics, most important first. */
const SECONDARIES = Object.freeze(['tps', 'avg', 'max', 'min', 'p50', 'p99', 'cpu']);

/**
 * @param {readonly RunFile[]} baseRuns
 * @param {readonly RunFile[]} candidateRuns
 * @param {CompareOptions} options
 * @returns {Comparison}
 * @throws {InputError} when they must not be compared
 */
export function compare(baseRuns, candidateRuns, options) {
  const { primary = 'tps', more = [], failIf = [], failures = [], sequential } = options;
  const given = {
    base: baseRuns.map((run, i) => ({ run, file: options.baseFiles[i] })),
    candidate: candidateRuns.map((run, i) => ({ run, file: options.candidateFiles[i] })),
  };
  if (given.base.length === 0 || given.candidate.length === 0)
    throw new InputError('there is nothing to compare: give at least one run on each side');
  const all = [...given.base, ...given.candidate];
  const differences = checkComparable(all, options);
  const { isPaired, isApart, base, candidate, words } = arrange(given.base, given.candidate, options.pairs ?? false);
  const compared = compareMetrics(base, candidate, { primary, more, failIf, isPaired, sequential });
  const { metrics, raw, deciding } = compared;
  const needed = runsNeeded(isPaired);
  const method = {
    name: isPaired ? 'paired' : 'unpaired',
    pairs: isPaired ? base.length : null,
    test: isPaired ? 'sign-flip permutation of log ratios' : 'permutation of mean logs',
    runs: { base: base.length, candidate: candidate.length },
    alpha: ALPHA,
    minimum: needed,
    secondaries: metrics.length - 1 + raw.length + compared.functions.length,
    words: methodWords(isPaired, words, needed),
    ...(sequential && {
      ...{ name: 'sequential', test: 'betting on the signs of log ratios', alpha: MAX_FALSE_ALARMS },
      ...{ minimum: fewestPairs(decidingAlpha(deciding)), words: SEQUENTIAL_WORDS },
    }),
  };
  const [ofBase, ofCandidate] = [base, candidate].map((entries) => entries.map(({ run }) => run));
  const nodeSeries = differingSeries(ofBase, ofCandidate);
  const nodeStacks = stacksDifference(ofBase, ofCandidate);
  const comparison = {
    schema: schemaOf('compare'),
    startedAt: all.map(({ run }) => run.startedAt).sort()[0],
    endedAt: all.map(({ run }) => run.endedAt).sort()[all.length - 1],
    stress: options.stress,
    primary: metrics[0].name,
    method,
    base: side(base, 'baseline', { label: options.labels?.base, name: options.names?.base }),
    candidate: side(candidate, 'candidate', { label: options.labels?.candidate, name: options.names?.candidate }),
    metrics,
    speedUps: speedUps(metrics),
    distributions: distributions(base, candidate),
    ...(compared.functions.length > 0 && { nodeFunctions: compared.functions }),
    ...(nodeStacks !== null && { nodeStacks }),
    ...(nodeSeries.length > 0 && { nodeSeries }),
    failIf: failIf.map((condition) => judgeFailIf(condition, { ...compared, isPaired })),
    differences,
    ...(failures.length === 0 ? {} : { failures: failures.map(withSide), leftOut: leftOutOf(failures) }),
    warnings: [
      // In random order one side may run first in all pairs, by chance.
      ...(isApart && sequential === undefined ? [APART] : []),
      ...compared.warnings,
      ...doubtsOf(base, candidate),
    ],
    ...(sequential && { sequential }),
  };
  return { ...comparison, verdict: verdictOf(comparison, { deciding, isApart }) };
}

/** A side that crashes does not pass. @param {Comparison} comparison */
export function compareExit({ failIf, leftOut = [] }) {
  return failIf.every(({ passed }) => passed) && leftOut.length === 0 ? EXIT.ok : EXIT.thresholdFailed;
}

/** @param {PairFailure} failure @returns {SideFailure} */
function withSide({ side, ...failure }) {
  return { ...failure, side: side === 'a' ? 'base' : 'candidate' };
}

/** The pairs that were left out, because a run failed again. @param {readonly PairFailure[]} failures */
function leftOutOf(failures) {
  const pairs = failures.map(({ pair }) => pair);
  return pairs.filter((pair, i) => pairs.indexOf(pair) < i);
}

/** @param {Entry[]} base @param {Entry[]} candidate @param {Required<Pick<CompareOptions, 'primary' | 'more' | 'failIf'>> & {isPaired: boolean, sequential?: Sequential}} options @returns {{deciding: number, functions: ComparedMetric[], metrics: ComparedMetric[], raw: ComparedMetric[], zeros: string[], warnings: string[]}} */
export function compareMetrics(base, candidate, { primary, more, failIf, isPaired, sequential }) {
  const main = metricOf(primary);
  const conditions = new Set(failIf.map(({ metric }) => metric));
  const asked = new Set([main.name, ...more, ...conditions]);
  const runs = [...base, ...candidate].map(({ run }) => run);
  const profiled = comparedProfileFigures(runs);
  const functions = comparedFunctions(runs);
  const wanted = new Set([...asked, ...SECONDARIES, ...profiled]);
  const files = [...base, ...candidate].map(({ file }) => displayName(file));
  const readings = [...[...wanted].map(metricOf), ...functions].map((metric) => {
    const sides = { base: valuesOf(base, metric.read), candidate: valuesOf(candidate, metric.read) };
    const values = [...sides.base, ...sides.candidate];
    const odd = values.findIndex((value) => !((value ?? 0) > 0));
    const why = odd < 0 ? '' : `${metric.label} is ${values[odd] ?? 'not measured'} in ${files[odd]}`;
    return { metric, sides, kind: kindOf(values, metric.name !== main.name && conditions.has(metric.name)), why };
  });
  if (readings[0].kind !== 'ratio')
    throw new InputError(`${readings[0].why}, so that no ratio can be made of it: choose another --metric`);
  const compared = readings
    .filter(({ kind }) => kind === 'ratio' || kind === 'raw')
    .map(({ metric, sides, kind }) => ({
      ...metric,
      isRaw: kind === 'raw',
      base: sides.base.map(Number),
      candidate: sides.candidate.map(Number),
    }));
  const deciding = sequential === undefined ? 1 : asked.size;
  const decisions = sequential
    ? decideSequentially(compared, deciding, sequential.equivalent)
    : decide(compared, isPaired);
  const metrics = compared.map(({ name, label, unit, better, isAtLeast, ...sides }, i) => ({
    name,
    label,
    unit,
    better,
    isPrimary: i < deciding,
    base: summary(sides.base, valuesOf(base, isAtLeast)),
    candidate: summary(sides.candidate, valuesOf(candidate, isAtLeast)),
    ...decisions[i],
  }));
  const isFunction = (/** @type {{name: string}} */ { name }) => functions.some((one) => one.name === name);
  return {
    deciding,
    functions: metrics.filter(isFunction),
    metrics: metrics.filter((one, i) => !compared[i].isRaw && !isFunction(one)),
    raw: metrics.filter((_, i) => compared[i].isRaw),
    zeros: readings.flatMap(({ metric, kind }) => (kind === 'zero' ? metric.name : [])),
    warnings: readings.flatMap(({ kind, why }) => (kind === null ? `not compared: ${why}` : [])),
  };
}

/** @template T @param {readonly Entry[]} side @param {(run: RunFile) => T} read */
function valuesOf(side, read) {
  return side.map(({ run, file }) => legible(displayName(file), () => read(run)));
}

/**
 * How a figure is compared: by its ratio if no value is 0. A metric of a --fail-if that is 0 in some run is compared
 * without logarithms, because such conditions are used for new failures.
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
 * @param {boolean[]} isAtLeast whether each value is a lower bound, because of censored operations
 * @returns {SideSummary}
 */
function summary(values, isAtLeast) {
  const bound = isAtLeast.includes(true) ? { atLeast: true } : {};
  const [min, max] = [Math.min(...values), Math.max(...values)];
  return { values, mean: mean(values), median: median(values), min, max, ...bound };
}

/** @param {Entry[]} side @param {string} role @param {{label?: string | null, name?: string | null}} given @returns {ComparedSide} */
function side(side, role, { label, name }) {
  const versions = [...new Set(side.map(({ run }) => run.environment.clientVersion ?? null))];
  const distinct = (/** @type {(run: RunFile) => string} */ of) => {
    const all = [...new Set(side.map(({ run }) => oneLine(withoutKeys(of(run)))))];
    return `${all.slice(0, NAMED).join('; or ')}${all.length > NAMED ? `; and ${all.length - NAMED} more` : ''}`;
  };
  const middle = (/** @type {(run: RunFile) => number | null} */ of) => {
    const known = side.flatMap(({ run }) => of(run) ?? []);
    return known.length === 0 ? null : median(known);
  };
  return {
    name: oneLine(name === '' ? role : (name ?? role), LONGEST_NAME),
    label: label ?? role,
    load: distinct(loadWords),
    machine: distinct(machineWords),
    files: side.map(({ file }) => displayName(file)),
    clientVersion: versions.every((version) => version === null) ? null : versions.map(String).join(', '),
    blockIntervalMs: middle(({ blocks, window }) =>
      blocks.count > 1 ? blockIntervalMs(blocks, window.durationMs) : null,
    ),
    blockGasLimit: middle(({ environment }) => environment.blockGasLimit ?? null),
    stress: [...new Set(side.map(({ run }) => String(run.environment.stress)))].join(', '),
    startedAt: side.map(({ run }) => run.startedAt),
  };
}

/** @param {RunFile} run */
function loadWords({ config, window }) {
  const { workload, mix = [], threads, inFlight = 1, stages, durationMs, ...rate } = config;
  const perSecond = rate.gasPerSecond ? `${digits(rate.gasPerSecond / 1e6)} Mgas` : rate.ratePerSecond;
  const openLoop = stages ? `stages ${stages}` : perSecond && `${perSecond} per second`;
  return [
    [workload, ...mix].join(' '),
    `${threads} ${workload === 'rpc' ? 'users' : 'wallets'}`,
    `${inFlight} in flight each`,
    openLoop || 'closed loop',
    // With --iterations each run has its own length.
    ...(durationMs === null ? [] : [`window ${digits(window.durationMs / 1000)} s`]),
  ].join(', ');
}

/** @param {RunFile} run */
function machineWords({ environment }) {
  const { cpu, cores, memoryBytes, node, platform, stress } = environment;
  const parts = [cpu, counted(cores, 'core'), memoryBytes && `${digits(memoryBytes / 1e9)} GB`, platform];
  return [...parts, node && `Node ${node}`, `stress ${stress}`].filter(Boolean).join(', ');
}

/** @param {Entry[]} base @param {Entry[]} candidate */
function distributions(base, candidate) {
  const censored = { base: distribution(base, censoredOf), candidate: distribution(candidate, censoredOf) };
  const total = (/** @type {RunFile} */ { latency }) => latency.total;
  return { base: distribution(base, total), candidate: distribution(candidate, total), censored };
}

/** The distribution of all runs of a side. @param {Entry[]} side @param {(run: RunFile) => DistributionJson} of */
function distribution(side, of) {
  const all = new Distribution();
  for (const { run, file } of side) legible(displayName(file), () => all.add(of(run)));
  return all.toJSON();
}
