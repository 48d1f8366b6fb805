import { pText, percentText } from '../outputs/format.js';
import { tableOf } from '../outputs/table.js';
import { counted, digits, milliseconds, percent, quote, timeText } from '../text.js';
import { mean } from './statistics.js';
import { metricOf } from './metrics.js';
import { NODE_CPU, shortName } from '../stats/node-profile.js';
import { fewestPairs } from './sequential.js';

/**
 * @import { Change, ComparedMetric, Comparison, FailIf, JudgedFailIf, Word } from '../contracts/study.d.ts'
 * @import { Result, Table } from '../outputs/table.js'
 */

/** The sentences and tables of a comparison, for its file, the terminal and the page; and the conditions of --fail-if. */

/** @param {boolean} isPaired @param {string} why @param {number} needed */
export function methodWords(isPaired, why, needed) {
  return isPaired
    ? `Paired: ${why}. The log ratios of the pairs are flipped in sign; below ${needed} pairs no outcome could be told from chance.`
    : `Unpaired: ${why}. The logs are exchanged between the sides; below ${needed} runs on each side no outcome could be told from chance.`;
}

/**
 * One sentence for each metric that decides.
 * @param {Omit<Comparison, 'verdict'>} comparison
 * @param {{deciding: number, isApart: boolean}} how deciding: the first of the metrics; isApart: one side always ran before
 *   the other, which matters where their order was not drawn by chance
 * @returns {Comparison['verdict']}
 */
export function verdictOf(comparison, { deciding, isApart }) {
  const { metrics, method, base, candidate, sequential, leftOut = [] } = comparison;
  const { pairs, runs, minimum } = method;
  const size = pairs === null ? `${runs.base} and ${counted(runs.candidate, 'run')}` : counted(pairs, 'pair');
  const caveat = isApart && sequential === undefined ? ', if nothing else changed between their runs' : '';
  const sentences = metrics.slice(0, deciding).map(({ label, word, change, p }) => {
    const test = sequential === undefined ? `p ${pText(p)}, ` : '';
    const figures = `${label} changed by ${percentText(change.estimate)} (${rangeText(change)}, ${test}${size})`;
    const { precision = Infinity } = sequential ?? {};
    const wide = widthOf(change) > precision ? `; the interval is wider than --precision ${percent(precision)}` : '';
    if (word === 'faster' || word === 'slower')
      return `${sideWords(candidate.name)} is ${word} than ${sideWords(base.name)}: ${figures}${caveat}${wide}`;
    if (sequential !== undefined && word === 'equivalent')
      return `there is no difference of ${label} larger than ${percent(sequential.equivalent)}: ${figures}${wide}`;
    if (sequential !== undefined) {
      const after = sequential.end === 'time_limit' ? ` after ${timeText(sequential.timeLimitMs / 1000)}` : '';
      const needed = `; at least ${minimum} are needed: raise --time-limit`;
      return `undecided${after}: ${figures}${(pairs ?? 0) < minimum ? needed : ''}`;
    }
    if (word !== 'too few runs') return `no difference of ${label} is shown: ${figures}`;
    const noun = pairs === null ? 'runs on each side' : 'pairs';
    return `${size} ${pairs === 1 ? 'is' : 'are'} too few for a verdict on ${label}: make at least ${minimum} ${noun}`;
  });
  const [{ word }] = metrics;
  const isOpen = word === 'no difference shown' || word === 'too few runs';
  return {
    word: isOpen && sequential !== undefined ? 'undecided' : word,
    sentence: [...sentences, ...(leftOut.length === 0 ? [] : failureWords(comparison))].join('; '),
  };
}

/** Which side failed, how often, and why. @param {Omit<Comparison, 'verdict'>} comparison */
function failureWords({ failures = [], leftOut = [], ...sides }) {
  const words = /** @type {const} */ (['base', 'candidate']).flatMap((side) => {
    const own = failures.filter((one) => one.side === side);
    const last = own.at(-1);
    if (last === undefined) return [];
    return [`${sideWords(sides[side].name)} failed in ${counted(own.length, 'run')} (the last: ${last.reason})`];
  });
  const pairs =
    leftOut.length === 0 ? [] : [`left out: ${leftOut.length === 1 ? 'pair' : 'pairs'} ${leftOut.join(', ')}`];
  return [...words, ...pairs];
}

export const SEQUENTIAL_WORDS =
  'Paired: a seeded coin ordered the runs of each pair, so that the sign of a log ratio is that of the coin if the sides do not differ. The test bets on these signs. If the sides are equal, its capital grows to 20 times the initial one in at most 5 % of comparisons, for all metrics together and however often one looks (Ville; Waudby-Smith and Ramdas 2024).';

/** Names of the user are in quotation marks, so that no page writes their first letter large. @param {string} name */
export function sideWords(name) {
  return ['baseline', 'candidate'].includes(name) ? `the ${name}` : `"${name}"`;
}

/** From bound to bound, as a fraction. @param {Pick<Change, 'low' | 'high'>} change */
export function widthOf({ low, high }) {
  return low === null || high === null ? Infinity : high - low;
}

/** @param {Pick<Change, 'low' | 'high' | 'confidence'>} change */
export function rangeText({ low, high, confidence }) {
  const level = percent(confidence);
  if (low === null || high === null) return `no ${level} interval yet`;
  return `${level} interval ${percentText(low)} to ${percentText(high)}`;
}

/** @param {Comparison} comparison @returns {Result} */
export function compareResult(comparison) {
  const { method, verdict, differences, warnings } = comparison;
  const { pairs, runs } = method;
  const size =
    pairs === null
      ? `${counted(runs.base, 'run')} against ${runs.candidate}, unpaired`
      : `${counted(pairs, 'pair')} of runs`;
  return {
    title: `Comparison: ${size}`,
    verdict: verdict.sentence,
    tables: [
      sidesTable(comparison),
      metricsTable(comparison),
      ratiosTable(comparison),
      conditionsTable(comparison),
      functionsTable(comparison),
      seriesTable(comparison),
    ].filter(({ rows }) => rows.length > 0),
    notes: [
      ...nodeCpuNotes(comparison),
      ...[...differences, ...chainDifferences(comparison)].map((words) => `different: ${words}`),
      ...[...failureWords(comparison), ...warnings].map((words) => `warning: ${words}`),
    ],
  };
}

/** @param {ComparedMetric} metric */
function isShown({ word }) {
  return word === 'faster' || word === 'slower';
}

/** Functions that a note names. */
const NAMED_FUNCTIONS = 3;

/** How the CPU time of the nodes for an operation differs, and in what: only what is shown. @param {Comparison} comparison @returns {string[]} */
export function nodeCpuNotes(comparison) {
  const { metrics, nodeFunctions = [] } = comparison;
  const shown = metrics.filter((metric) => metric.name.startsWith(NODE_CPU) && isShown(metric));
  const whole = shown.find(({ name }) => name === NODE_CPU);
  const groups = byDifference(shown.filter((metric) => metric !== whole));
  const functions = byDifference(nodeFunctions.filter(isShown)).slice(0, NAMED_FUNCTIONS);
  const parts = [...groups, ...functions].map((metric) => `${partName(metric)} ${signedMs(moreMs(metric))}`);
  const node = `the node of ${sideWords(sideNames(comparison)[1])}`;
  if (whole === undefined && parts.length === 0) return [];
  if (whole === undefined) return [`${node} needs other CPU time for an operation: ${parts.join(', ')}`];
  const by = moreMs(whole);
  const words = `${digits(Math.abs(by))} ms ${by > 0 ? 'more' : 'less'} CPU for an operation (p ${pText(whole.pAdjusted)})`;
  return [`${node} needs ${words}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`];
}

/** @param {ComparedMetric} metric in microseconds */
const moreMs = ({ base, candidate }) => (candidate.mean - base.mean) / 1000;

/** To a tenth of a microsecond. @param {number} ms */
const signedMs = (ms) => {
  const rounded = Math.round(1e4 * Math.abs(ms)) / 1e4;
  return `${rounded === 0 ? '' : ms > 0 ? '+' : '-'}${digits(rounded)} ms`;
};

/** @param {ComparedMetric[]} metrics @returns {ComparedMetric[]} the largest difference first */
function byDifference(metrics) {
  return [...metrics].sort((a, b) => Math.abs(moreMs(b)) - Math.abs(moreMs(a)));
}

/** @param {ComparedMetric} metric a group of functions, or a function */
function partName({ name, label }) {
  return name.startsWith(`${NODE_CPU}:`) ? shortName(label) : label.replace(/^.*: /, '');
}

/** @param {Comparison} comparison @returns {Table} empty without --node-profile */
function functionsTable({ nodeFunctions = [], ...sides }) {
  const rows = byDifference(nodeFunctions).map((metric) => [
    shortName(metric.label),
    ...[metric.base.mean, metric.candidate.mean].map((us) => `${digits(us / 1000)} ms`),
    ...[signedMs(moreMs(metric)), pText(metric.pAdjusted), metric.word],
  ]);
  const columns = ['', ...sideNames(sides), 'difference', 'p', 'result'];
  return tableOf('node-functions', 'CPU of the node for an operation', columns, rows, [
    'The functions with most CPU time of their own, the largest differences first; they are tested together with the figures above',
  ]);
}

/** Files of version 0.2.0 may have no names. @param {Pick<Comparison, 'base' | 'candidate'>} comparison */
export function sideNames({ base, candidate }) {
  return [base.name ?? 'baseline', candidate.name ?? 'candidate'];
}

/** Block intervals and gas limits that differ by less are the same. */
const SAME = 1.1;

/** @type {Array<['clientVersion' | 'blockIntervalMs' | 'blockGasLimit', string, (value: any) => string]>} */
const CHAIN = [
  ['clientVersion', 'the client', String],
  ['blockIntervalMs', 'the block interval', (ms) => milliseconds(1000 * ms)],
  ['blockGasLimit', 'the block gas limit', (gas) => `${digits(gas / 1e6)} Mgas`],
];

/** What differs between the nodes and chains of the sides, if it is known. @param {Pick<Comparison, 'base' | 'candidate'>} comparison */
function chainDifferences({ base, candidate }) {
  const names = sideNames({ base, candidate }).map(sideWords);
  return CHAIN.flatMap(([key, fact, show]) => {
    const [a = null, b = null] = [base[key], candidate[key]];
    const isSame = typeof a === 'number' && typeof b === 'number' ? Math.max(a / b, b / a) < SAME : a === b;
    if (isSame || a === null || b === null) return [];
    return [`${fact} is ${show(a)} in ${names[0]} and ${show(b)} in ${names[1]}`];
  });
}

/** Load and machine in one row if they are the same. @param {Comparison} comparison @returns {Table} */
function sidesTable({ base, candidate }) {
  const names = sideNames({ base, candidate });
  const sides = [base, candidate].map(({ label, clientVersion, files }, i) => {
    const where = ['baseline', 'candidate', names[i]].includes(label) ? '' : ` at ${label}`;
    return [names[i], `${clientVersion ?? 'a node'}${where}, ${counted(files.length, 'run')}: ${files.join(' ')}`];
  });
  const facts = /** @type {const} */ (['load', 'machine']).flatMap((fact) => {
    const [first = '-', second = '-'] = [base[fact], candidate[fact]];
    return first === second ? [[fact, first]] : [[fact, `${first} (${names[0]})`], [fact, `${second} (${names[1]})`]]; // prettier-ignore
  });
  return tableOf('sides', 'The two sides', [], [...sides, ...facts]);
}

/** @param {Comparison} comparison @returns {Table} */
function metricsTable(comparison) {
  const rows = comparison.metrics.map(({ name, label, base, candidate, change, isPrimary, pAdjusted, word }) => {
    const { show } = metricOf(name);
    const result = wordText(word, change, comparison.method);
    return [
      ...[`${label}${isPrimary ? ' *' : ''}`, show(base.mean, base.atLeast), show(candidate.mean, candidate.atLeast)],
      ...[percentText(change.estimate), boundsText(change), pText(pAdjusted), result],
    ];
  });
  const columns = ['', ...sideNames(comparison), 'change', 'interval', 'p', 'result'];
  return tableOf('changes', 'Changes', columns, rows, [footnote(comparison)]);
}

/** @param {Pick<Change, 'low' | 'high'>} change */
export function boundsText({ low, high }) {
  return low === null || high === null ? '-' : `${percentText(low)} .. ${percentText(high)}`;
}

/** @param {Word} word @param {Change} change @param {Pick<Comparison['method'], 'name' | 'pairs' | 'minimum'>} method */
function wordText(word, { confidence }, { name, pairs, minimum }) {
  const isOpen = word === 'no difference shown' || word === 'too few runs';
  if (name === 'sequential' && isOpen) {
    const fewest = fewestPairs(1 - confidence);
    return (pairs ?? 0) < fewest ? `at least ${fewest} pairs needed` : 'undecided';
  }
  if (word !== 'too few runs') return word;
  return pairs === null ? `too few runs: ${minimum} a side needed` : `too few pairs: ${minimum} needed`;
}

/** @param {Comparison} comparison */
function footnote({ method: { name, secondaries } }) {
  if (name === 'sequential')
    return '* decides. Baseline and candidate: means of the runs. Change: estimated from the differences of the pairs, in which an outlier counts less than in a mean. Intervals and p hold after each pair; at most 5 % of comparisons of equal sides show a difference';
  const together = secondaries === 0 ? '' : `; the other ${secondaries} are tested together (step-down max-T)`;
  return `* decides. Baseline and candidate: means of the runs. Change and interval: of the geometric means${together}`;
}

/** @param {Comparison} comparison @returns {Table} empty without --fail-if */
function conditionsTable({ failIf }) {
  const rows = failIf.map(({ expression, passed, change, why }) => [
    expression.replace(/\s+/g, ' '),
    passed ? 'passed' : 'FAILED',
    change === null ? why : `${percentText(change)}: ${why}`,
  ]);
  return tableOf('conditions', 'Conditions', ['', 'result', 'because'], rows);
}

/** @param {Comparison} comparison @returns {Table} empty without --node-metrics */
function seriesTable({ nodeSeries = [], ...sides }) {
  const rows = nodeSeries.map(({ name, isPerSecond, base, candidate }) => {
    const values = [base, candidate].map((value) => digits(value));
    return [
      `${name}${isPerSecond ? ', per second' : ''}`,
      ...values,
      base === 0 ? '-' : percentText((candidate - base) / Math.abs(base)),
    ];
  });
  const columns = ['', ...sideNames(sides), 'change'];
  const note =
    'The largest differences come first, in units of the variation from run to run. Nothing is tested: they say where to look. What never fell in a run is shown by its growth';
  return tableOf('node-series', 'Metrics of the nodes', columns, rows, [note]);
}

const OPERATIONS = Object.freeze({ avg: 'mean', max: 'slowest operation', min: 'fastest operation' });

/** @param {Comparison} comparison @returns {Table} */
function ratiosTable(comparison) {
  const isSequential = comparison.method.name === 'sequential';
  const [base, candidate] = sideNames(comparison);
  const rows = Object.entries(OPERATIONS).flatMap(([name, label]) => {
    const change = comparison.metrics.find((one) => one.name === name)?.change;
    if (change === undefined) return [];
    const { estimate, low, high } = change;
    const bounds = low === null || high === null ? '-' : `${digits(1 + low)} .. ${digits(1 + high)}`;
    return [[label, digits(1 + estimate), bounds]];
  });
  const words = `${isSequential ? 'estimated from the differences of the pairs' : 'of the geometric means of the runs'}: more than 1 where the candidate takes longer`;
  return tableOf('speed-ups', 'Latency ratios', ['', `${candidate} / ${base}`, 'interval'], rows, [words]);
}

/** As in build benchmarks, from the changes of avg, max and min. @param {readonly ComparedMetric[]} metrics @returns {Comparison['speedUps']} */
export function speedUps(metrics) {
  const geometric = (/** @type {readonly number[]} */ values) => Math.exp(mean(values.map(Math.log)));
  const inverse = (/** @type {number | null} */ change) => (change === null ? null : 1 / (1 + change) - 1);
  const partOf = (/** @type {string} */ name) => {
    const metric = metrics.find((one) => one.name === name);
    if (metric === undefined) return { baseUs: null, candidateUs: null, estimate: null, low: null, high: null };
    const { base, candidate, change } = metric;
    return { baseUs: geometric(base.values), candidateUs: geometric(candidate.values), ...change };
  };
  const [onAverage, onSlowest] = ['avg', 'max'].map((name) => {
    const { estimate, low, high, ...part } = partOf(name);
    const words = 'baseline / candidate, less 1';
    return { ...part, speedUp: inverse(estimate), low: inverse(high), high: inverse(low), words };
  });
  const { estimate, ...fastest } = partOf('min');
  return {
    words: 'from the mean, maximum and minimum latency of each run: ratio of the geometric means of both sides',
    ...{ onAverage, onSlowest },
    onFastest: { ...fastest, slowDown: estimate, words: 'candidate / baseline, less 1' },
  };
}

/** @param {string} text such as tps<-10% or p99>+20% @returns {FailIf} @throws {Error} whose message follows the name of the option */
export function parseFailIf(text) {
  const expression = text.trim();
  const [, name, operator, number] = /^([^\s<>=!]+)\s*(<|>)\s*([+-]?\d+(?:\.\d+)?)\s*%$/.exec(expression) ?? [];
  if (name === undefined)
    throw new Error(
      `must be a figure, < or >, and a change in percent, such as 'tps<-10%' or 'p99>+20%', not ${quote(expression, 40)}`,
    );
  const limitPercent = Number(number);
  if (operator === '<' ? limitPercent > 0 : limitPercent < 0)
    throw new Error(
      `must not fail on no change at all, as ${quote(expression, 40)} would: give ${operator} a limit of 0% or ${operator === '<' ? 'less' : 'more'}`,
    );
  return Object.freeze({
    expression,
    metric: comparedMetric(name),
    limitPercent,
    operator: /** @type {FailIf['operator']} */ (operator),
  });
}

/** @param {string} text @returns {string} the name of a figure */
function comparedMetric(text) {
  return metricOf(text.trim()).name;
}

/**
 * A condition fails only if the change is statistically shown; a condition that cannot be judged fails as well. The change
 * is a fraction; null: not compared, or 0 in the base.
 * @param {FailIf} condition
 * @param {object} compared
 * @param {boolean} compared.isPaired
 * @param {readonly ComparedMetric[]} compared.metrics
 * @param {readonly ComparedMetric[]} compared.raw metrics that are 0 in some run, compared without logarithms
 * @param {readonly string[]} compared.zeros metrics that are 0 in every run
 * @returns {JudgedFailIf}
 */
export function judgeFailIf({ expression, metric: name, operator, limitPercent }, { isPaired, metrics, raw, zeros }) {
  const isRaw = raw.some((one) => one.name === name);
  const metric = [...raw, ...metrics].find((one) => one.name === name);
  const judged = (/** @type {boolean} */ passed, /** @type {string} */ why, /** @type {number | null} */ change) => {
    return { expression, passed, change, why };
  };
  if (zeros.includes(name)) return judged(true, '0 in every run', 0);
  if (metric === undefined) return judged(false, 'it was not compared: see the warnings', null);
  const { estimate } = metric.change;
  const isBeyond = operator === '<' ? 100 * estimate < limitPercent : 100 * estimate > limitPercent;
  const isShown = !['no difference shown', 'equivalent'].includes(metric.word);
  const why =
    metric.word === 'too few runs'
      ? `too few ${isPaired ? 'pairs' : 'runs'} to judge it`
      : !isBeyond
        ? 'within the limit'
        : isShown
          ? 'beyond the limit'
          : 'not shown: it may be chance';
  const passed = metric.word !== 'too few runs' && !(isBeyond && isShown);
  return judged(passed, `${isRaw ? `${rawWords(metric)}: ` : ''}${why}`, Number.isFinite(estimate) ? estimate : null);
}

/** @param {ComparedMetric} metric */
function rawWords({ name, base, candidate, pAdjusted }) {
  const { show } = metricOf(name);
  const from = base.max === 0 ? '0 in every run of the baseline' : `${show(base.mean)} a run in the baseline`;
  return `${from}, ${show(candidate.mean)} in the candidate, compared as they are (p ${pText(pAdjusted)})`;
}
