import { basename, dirname } from 'node:path';
import { displayName, oneLine, withoutKeys } from '../errors.js';
import { timeText } from '../text.js';
import { borderless, fittingTable, pText, percentText, textOf } from '../outputs/format.js';
import { bold, escaped, markdownOf, markdownTable } from '../outputs/markdown.js';
import { mean, runsNeeded } from './statistics.js';
import { metricOf } from './metrics.js';

/**
 * @import { ComparedMetric, Comparison, FailIf, Sequential } from '../types.d.ts'
 * @import { Change, Entry } from './compare.js'
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
 * @param {object} comparison
 * @param {readonly ComparedMetric[]} comparison.metrics
 * @param {{pairs: number | null, runs: {base: number, candidate: number}, minimum: number}} comparison.method
 * @param {{name: string}} comparison.base
 * @param {{name: string}} comparison.candidate
 * @param {Sequential} [comparison.sequential] the pairs were made until sure
 * @param {{deciding: number, isApart: boolean}} how deciding: the first of the metrics; isApart: one side always ran before
 *   the other, which matters where their order was not drawn by chance
 */
export function verdictOf({ metrics, method, base, candidate, sequential }, { deciding, isApart }) {
  const { pairs, runs, minimum } = method;
  const size = pairs === null ? `${runs.base} and ${runs.candidate} runs` : counted(pairs, 'pair');
  const caveat = isApart && sequential === undefined ? ', if nothing else changed between their runs' : '';
  const sentences = metrics.slice(0, deciding).map(({ label, word, change, p }) => {
    const test = sequential === undefined ? `p ${pText(p)}, ` : '';
    const figures = `${label} changed by ${percentText(change.estimate)} (${rangeText(change)}, ${test}${size})`;
    if (word === 'faster' || word === 'slower')
      return `${sideWords(candidate.name)} is ${word} than ${sideWords(base.name)}: ${figures}${caveat}`;
    if (sequential !== undefined && word === 'equivalent')
      return `there is no difference of ${label} larger than ${100 * sequential.equivalent} %: ${figures}`;
    if (sequential !== undefined) {
      const after = sequential.end === 'time_limit' ? ` after ${timeText(sequential.timeLimitMs / 1000)}` : '';
      return `undecided${after}: ${figures}`;
    }
    if (word !== 'too few runs') return `no difference of ${label} is shown: ${figures}`;
    const noun = pairs === null ? 'runs on each side' : 'pairs';
    return `${size} ${pairs === 1 ? 'is' : 'are'} too few for a verdict on ${label}: make at least ${minimum} ${noun}`;
  });
  const [{ word }] = metrics;
  const isOpen = word === 'no difference shown' || word === 'too few runs';
  return {
    word: isOpen && sequential !== undefined ? /** @type {const} */ ('undecided') : word,
    sentence: sentences.join('; '),
  };
}

export const SEQUENTIAL_WORDS =
  'Paired: a seeded coin ordered the runs of each pair, so that the sign of a log ratio is that of the coin if the sides do not differ. Bets on the signs reach 20 times their start with a probability of at most 5 %, after whichever pair one looks (Ville; Waudby-Smith and Ramdas 2024).';

/** @param {string} name */
function sideWords(name) {
  return ['baseline', 'candidate'].includes(name) ? `the ${name}` : name;
}

/** @param {number} count @param {string} noun in the singular */
function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** @param {Change} change */
function rangeText({ low, high, confidence }) {
  const level = `${new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 }).format(100 * confidence)} %`;
  if (low === null || high === null) return `${level} interval without bounds`;
  return `${level} interval ${percentText(low)} to ${percentText(high)}`;
}

/** @param {Comparison} comparison @param {number} [columns] of the terminal */
export function compareText(comparison, columns = Infinity) {
  const { base, candidate, differences, warnings, failIf, method } = comparison;
  const { pairs, runs } = method;
  const size =
    pairs === null
      ? `${counted(runs.base, 'run')} against ${runs.candidate}, unpaired`
      : `${counted(pairs, 'pair')} of runs`;
  return [
    '',
    `Comparison: ${size}`,
    sidesTable([base, candidate]),
    ...factLines('load', [base, candidate]),
    ...factLines('machine', [base, candidate]),
    metricsTable(comparison, columns),
    ...footnotes(comparison),
    ...speedUpLines(comparison),
    ...differences.map((words) => `  different   ${words}`),
    ...warnings.map((words) => `  warning     ${words}`),
    ...(failIf.length === 0 ? [] : [failIfTable(failIf)]),
    `  verdict     ${comparison.verdict.sentence}`,
  ].join('\n');
}

/** The verdict first, for --markdown. @param {Comparison} comparison @returns {string} */
export function compareMarkdown(comparison) {
  const { base, candidate, differences, warnings, failIf, verdict } = comparison;
  const { head, rows } = metricRows(comparison);
  return markdownOf([
    bold(verdict.sentence),
    markdownTable(['metric', ...head.slice(1, -1), 'result'], rows),
    ...failIf.map(({ expression, passed, why }) => escaped(`${passed ? 'passed' : 'FAILED'} ${expression}: ${why}`)),
    ...[...differences, ...warnings].map(escaped),
    ...[base, candidate].map((side, i) =>
      escaped(`${nameOf(side, i)}: ${side.clientVersion ?? 'a node'}, ${side.label}`),
    ),
  ]);
}

/** @param {ReadonlyArray<Comparison['base']>} sides */
function sidesTable(sides) {
  const table = borderless();
  for (const [i, { label, files, clientVersion, ...side }] of sides.entries())
    table.push([`  ${nameOf(side, i)}`, clientVersion ?? '', isEndpoint(label) ? label : filesText(files)]);
  return textOf(table);
}

/** Version 0.2.0 wrote no names. @param {{name?: string}} side @param {number} i */
function nameOf({ name }, i) {
  return name ?? ['baseline', 'candidate'][i];
}

/** A fact of both sides, in one line if it is the same. @param {'load' | 'machine'} fact @param {ReadonlyArray<Comparison['base']>} sides */
function factLines(fact, sides) {
  const line = (/** @type {string} */ words) => `  ${fact.padEnd(11)} ${words}`;
  const [base, candidate] = sides.map((side) => side[fact]);
  if (base === undefined) return [];
  return base === candidate ? [line(base)] : sides.map((side, i) => line(`${side[fact]} (${nameOf(side, i)})`));
}

/** Sides without an endpoint have their names as labels, in other words before version 0.2. @param {string} label */
function isEndpoint(label) {
  return !/^(base(line)?|candidate)$/i.test(label);
}

/** Lists all files of a side, so that a wrong one is noticed. @param {readonly string[]} files */
function filesText(files) {
  const folder = dirname(files[0]);
  const isOne = folder !== '.' && files.every((file) => dirname(file) === folder);
  const names = files.map((file) => (isOne ? basename(file) : displayName(file)));
  return `${counted(files.length, 'run')}${isOne ? ` in ${folder}` : ''}: ${names.join(' ')}`;
}

/** @param {Comparison} comparison @returns {{head: string[], rows: string[][]}} */
function metricRows({ metrics, ...sides }) {
  const rows = metrics.map((metric) => {
    const { label, base, candidate, change, isPrimary, word } = metric;
    const { show } = metricOf(metric.name);
    return [
      ...[`  ${label}${isPrimary ? ' *' : ''}`, show(base.mean, base.atLeast), show(candidate.mean, candidate.atLeast)],
      ...[percentText(change.estimate), boundsText(change), pText(metric.pAdjusted), word],
    ];
  });
  return { head: ['', nameOf(sides.base, 0), nameOf(sides.candidate, 1), 'change', 'interval', 'p', ''], rows };
}

/** @param {Comparison} comparison @param {number} columns */
function metricsTable(comparison, columns) {
  const { head, rows } = metricRows(comparison);
  const colAligns = ['left', 'right', 'right', 'right', 'right', 'right', 'left'];
  // The word tells what p and the interval decide.
  return fittingTable(Object.assign(rows, { head, colAligns }), columns, [5, 4]);
}

/** @param {Pick<Change, 'low' | 'high'>} change */
export function boundsText({ low, high }) {
  return low === null || high === null ? '-' : `${percentText(low)} .. ${percentText(high)}`;
}

/** @param {Comparison} comparison */
function footnotes({ metrics: [primary, ...others], method: { name, pairs, secondaries } }) {
  if (name === 'sequential')
    return ['  * decides. Means of the runs; intervals and p hold after any pair, corrected for being many'];
  const corrected = secondaries === 0 ? '' : `; p of the other ${secondaries} corrected for being many (Holm)`;
  const line = `  * decides. Means of the runs; changes and intervals of their geometric means${corrected}`;
  const mute = others.filter(({ word }) => word === 'too few runs').length;
  if (mute === 0 || primary.word === 'too few runs') return [line];
  const needed = `${runsNeeded(pairs !== null, secondaries)} ${pairs === null ? 'runs on each side' : 'pairs'}`;
  return [line, `    too few runs for a verdict on ${mute} of the others: ${needed} are needed`];
}

/** @param {Comparison} comparison */
function speedUpLines({ speedUps: { words, onAverage, onSlowest, onFastest } }) {
  const table = borderless({ colAligns: ['left', 'left', 'right', 'left'] });
  table.push(
    ['  latency', 'speed-up on average', percentText(onAverage.speedUp), onAverage.words],
    ['', 'speed-up on the slowest', percentText(onSlowest.speedUp), onSlowest.words],
    ['', 'slow-down on the fastest', percentText(onFastest.slowDown), onFastest.words],
  );
  return [textOf(table), `    ${words}`];
}

/** @param {Comparison['failIf']} failIf */
function failIfTable(failIf) {
  const table = borderless();
  failIf.forEach((judged, i) =>
    table.push([
      i === 0 ? '  fail if' : '',
      judged.passed ? 'passed' : 'FAILED',
      judged.expression.replace(/\s+/g, ' '),
      judged.change === null ? judged.why : `${percentText(judged.change)}: ${judged.why}`,
    ]),
  );
  return textOf(table);
}

const SPEED_UPS =
  "of each run the mean, the longest and the shortest latency; of these the runs' geometric mean on each side";

const fiveDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 5 });

/**
 * Speed-ups as in build benchmarks: the ratio of the sides' geometric means of the runs' mean, longest and shortest
 * latencies.
 * @param {Entry[]} base
 * @param {Entry[]} candidate
 */
export function speedUps(base, candidate) {
  const sides = { baseline: base, candidate };
  /** @param {'avg' | 'max' | 'min'} name @param {keyof typeof sides} above @param {keyof typeof sides} below */
  const ratio = (name, above, below) => {
    const { read, isAtLeast } = metricOf(name);
    const means = [above, below].map((side) => geometricMean(sides[side].map(({ run }) => read(run))));
    const texts = [above, below].map((side, i) => {
      return `${msText(
        means[i],
        sides[side].some(({ run }) => isAtLeast(run)),
      )} in the ${side}`;
    });
    return { means, change: lessOne(means[0], means[1]), words: `${texts.join(' / ')}, less 1` };
  };
  const speedUp = (/** @type {'avg' | 'max'} */ name) => {
    const { means, change, words } = ratio(name, 'baseline', 'candidate');
    return { baseUs: means[0], candidateUs: means[1], speedUp: change, words };
  };
  const { means, change, words } = ratio('min', 'candidate', 'baseline');
  const onFastest = { baseUs: means[1], candidateUs: means[0], slowDown: change, words };
  return { words: SPEED_UPS, onAverage: speedUp('avg'), onSlowest: speedUp('max'), onFastest };
}

/** @param {Array<number | null>} values @returns {number | null} null: one was not measured */
function geometricMean(values) {
  const known = values.filter((value) => value !== null);
  return known.length < values.length ? null : Math.exp(mean(known.map(Math.log)));
}

/** @param {number | null} a @param {number | null} b */
function lessOne(a, b) {
  return a === null || b === null || b === 0 ? null : a / b - 1;
}

/** With five digits, so that the percentage can be derived from it. @param {number | null} us @param {boolean} isAtLeast */
function msText(us, isAtLeast) {
  return us === null ? 'not measured' : `${isAtLeast ? '>= ' : ''}${fiveDigits.format(us / 1000)} ms`;
}

/** @param {string} text such as tps<-10% or p99>+20% @returns {FailIf} @throws {Error} whose message follows the name of the option */
export function parseFailIf(text) {
  const expression = text.trim();
  const [, name, operator, number] = /^([^\s<>=!]+)\s*(<|>)\s*([+-]?\d+(?:\.\d+)?)\s*%$/.exec(expression) ?? [];
  if (name === undefined)
    throw new Error(
      `must be a figure, < or >, and a change in percent, such as 'tps<-10%' or 'p99>+20%', not ${quote(expression)}`,
    );
  const limitPercent = Number(number);
  if (operator === '<' ? limitPercent > 0 : limitPercent < 0)
    throw new Error(
      `must not fail on no change at all, as ${quote(expression)} would: give ${operator} a limit of 0% or ${operator === '<' ? 'less' : 'more'}`,
    );
  return Object.freeze({
    expression,
    metric: comparedMetric(name),
    limitPercent,
    operator: /** @type {FailIf['operator']} */ (operator),
  });
}

/** @param {string} text @returns {string} the name of a figure */
export function comparedMetric(text) {
  return metricOf(text.trim()).name;
}

/**
 * A condition fails only if the change is statistically shown; a condition that cannot be judged fails as well. The change
 * is a fraction; null: not compared, or 0 in the base.
 * @param {FailIf} condition
 * @param {object} compared
 * @param {readonly ComparedMetric[]} compared.metrics
 * @param {readonly ComparedMetric[]} compared.raw metrics that are 0 in some run, compared without logarithms
 * @param {readonly string[]} compared.zeros metrics that are 0 in every run
 */
export function judgeFailIf({ expression, metric: name, operator, limitPercent }, { metrics, raw, zeros }) {
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
      ? 'too few runs to judge it'
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

/** @param {string} text */
function quote(text) {
  return JSON.stringify(oneLine(withoutKeys(text), 40));
}
