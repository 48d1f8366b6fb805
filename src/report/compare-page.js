import { compareResult, nodeCpuNotes, sideNames, sideWords } from '../studies/compare-text.js';
import { metricOf } from '../studies/metrics.js';
import { chartBox, latencyCharts, namedAxis, rounded, sentence } from './charts.js';
import { counted, quantity } from '../text.js';
import { differenceFlame, flameFigure } from './flame.js';
import { html, list, renderPage, section } from './html.js';
import { badBadge, badge, headline, listSection, minuteOf, note, passedBadge, tableSection } from './sections.js';

/**
 * @import { ComparedMetric, Comparison } from '../contracts/study.d.ts'
 * @import { Chart } from './charts.js'
 */

/** The page of a comparison: verdict, the tables of the terminal, latencies, and the primary metric in each run. */

/** @param {Comparison} comparison @returns {string} an HTML document */
export function renderCompare(comparison) {
  const { metrics, verdict, startedAt, warnings, differences, failIf, nodeStacks } = comparison;
  const result = compareResult(comparison);
  const [sides, changes, ...tables] = result.tables;
  const charts = [...latencies(comparison), runsChart(comparison)];
  const [base, candidate] = sideNames(comparison).map(sideWords);
  const kind = kindOf(verdict.word);
  const placeOf = placesOf(metrics);
  return renderPage({
    title: `Comparison of ${candidate} with ${base}, ${minuteOf(startedAt)}`,
    ...headline(verdict.sentence, verdict.sentence.indexOf(': ')),
    badges: [
      badge(verdict.word, kind === 'quiet' ? 'plain' : kind),
      badge(result.title, 'plain'),
      passedBadge(failIf, 'conditions'),
      badBadge(differences.length, 'difference', ' allowed'),
      badBadge(warnings.length, 'warning'),
    ],
    main: html`${listSection('notes', 'Notes', result.notes.map(sentence))}
    ${tableSection(
      {
        ...changes,
        columns: [...resultFirst(changes.columns), 'picture'],
        rows: changes.rows.map((cells, i) => [...resultFirst(cells), picture(metrics[i], placeOf)]),
      },
      [],
      [
        note(
          'The point is the change, and the bar is its interval. Right of the line the candidate has a higher value than the baseline, left of it a lower one. If a bar crosses the line, chance may explain the change.',
        ),
      ],
    )}
    ${section('charts', 'Latencies, and run by run', chartBox(charts))}
    ${[nodeSection(comparison), ...tables.map((table) => tableSection(table))]}
    ${section('method', 'How it was tested', list(methodWords(comparison)))} ${tableSection(sides)}`,
    charts,
    flames: nodeStacks === undefined ? [] : [differenceFlame(nodeStacks)],
  });
}

/** Where the nodes of both sides spend their CPU time. @param {Comparison} comparison */
function nodeSection({ nodeStacks, ...comparison }) {
  if (nodeStacks === undefined) return '';
  const { baseUs, candidateUs } = nodeStacks;
  const [base, candidate] = sideNames(comparison).map(sideWords);
  const chance = nodeCpuNotes(comparison).length > 0 ? '' : 'No difference is shown, so the colors may be chance. ';
  const words = `${chance}Red functions take more CPU time for an operation in ${candidate} than in ${base}, blue ones less; each is as wide as the mean of both. All: ${quantity(baseUs / 1000, 'ms')} in ${base}, ${quantity(candidateUs / 1000, 'ms')} in ${candidate}`;
  return section(
    'node-cpu',
    'CPU time of the node',
    flameFigure('flame-difference', 'Difference of the stacks', words),
  );
}

/** The result is in the last column, which a phone does not show. @param {readonly string[]} cells */
function resultFirst([label, ...others]) {
  return [label, ...others.slice(-1), ...others.slice(0, -1)];
}

/** @param {Comparison} comparison */
function methodWords({ method: { words, test, alpha, minimum, pairs }, stress, sequential }) {
  return [
    words,
    `${sentence(test)} If the sides do not differ, a difference is shown in at most ${quantity(100 * alpha, '%')} of comparisons.`,
    `A verdict takes at least ${minimum} ${pairs === null ? 'runs on each side' : 'pairs'}.`,
    ...(sequential === undefined ? [] : [`The coin had the seed ${sequential.seed}.`]),
    `Compared by stress ${stress}.`,
  ];
}

/** All runs in their order; the i-th runs of both sides are a pair, if they are paired. @param {Comparison} comparison @returns {Chart} */
function runsChart(comparison) {
  const { metrics, method, base, candidate } = comparison;
  const [metric] = metrics;
  const { suffix, scaled } = metricOf(metric.name);
  const runs = [
    ...metric.base.values.map((value, i) => ({ at: base.startedAt[i], side: 0, value })),
    ...metric.candidate.values.map((value, i) => ({ at: candidate.startedAt[i], side: 1, value })),
  ].sort((a, b) => a.at.localeCompare(b.at));
  const higher = metric.base.values.filter((value, i) => metric.candidate.values[i] > value).length;
  const lower = metric.base.values.filter((value, i) => metric.candidate.values[i] < value).length;
  const order = 'The compared runs in the order in which they were made.';
  return {
    id: 'runs',
    title: `${metric.label} of each run`,
    kind: 'points',
    summary:
      method.pairs === null
        ? order
        : `${order} The candidate was higher in ${higher} of ${counted(method.pairs, 'pair')}, lower in ${lower}.`,
    isWide: true,
    unit: suffix,
    xLabel: 'run',
    ...namedAxis(runs.map((_, i) => String(i + 1))),
    series: sideNames(comparison).map((label, side) => ({
      label,
      color: side,
      values: runs.map((run) => (run.side === side ? rounded(scaled(run.value)) : null)),
    })),
  };
}

/** Wider intervals, relative to the changes, are cut off. */
const MAX_WIDTH = 3;
const HEIGHT = 22;

/** Drawn without a script, so that the intervals are also printed. @param {ComparedMetric} metric @param {ReturnType<typeof placesOf>} placeOf */
function picture({ name, change: { estimate, low, high }, word }, placeOf) {
  const middle = HEIGHT / 2;
  return html`<svg height="${HEIGHT}" aria-hidden="true" class="interval ${kindOf(word)}" data-metric="${name}">
    <line x1="50%" x2="50%" y1="0" y2="100%" class="zero" />
    <line x1="${placeOf(low ?? -1)}%" x2="${placeOf(high ?? Infinity)}%" y1="${middle}" y2="${middle}" />
    <circle cx="${placeOf(estimate)}%" cy="${middle}" r="5" />
  </svg>`;
}

/** A logarithmic scale: twice and half are equally far from the line, 0 is in the middle. @param {readonly ComparedMetric[]} metrics */
function placesOf(metrics) {
  const log = (/** @type {number | null} */ fraction) => (fraction === null ? 0 : Math.abs(Math.log1p(fraction)));
  const [{ change: primary }] = metrics;
  const points = Math.max(
    0.01,
    ...[primary.low, primary.high, ...metrics.map(({ change }) => change.estimate)].map(log),
  );
  const ends = metrics.flatMap(({ change: { low, high } }) => [log(low), log(high)]);
  const half = 1.1 * Math.min(Math.max(points, ...ends), MAX_WIDTH * points);
  /** In percent of the width. @param {number} fraction */
  return (fraction) => (50 + 50 * Math.min(1, Math.max(-1, Math.log1p(fraction) / half))).toFixed(2);
}

/** @param {string} word @returns {'good' | 'bad' | 'quiet'} */
function kindOf(word) {
  return word === 'faster' ? 'good' : word === 'slower' ? 'bad' : 'quiet';
}

/** @param {Comparison} comparison */
function latencies({ distributions: { base, candidate, censored }, ...both }) {
  const names = sideNames(both);
  const sides = [
    { label: names[0], json: base, censored: censored?.base },
    { label: names[1], json: candidate, censored: censored?.candidate },
  ];
  const counts = sides.map(({ label, json }) => `${quantity(json.count)} in ${label}`).join(', ');
  return latencyCharts(sides, {
    density: `All operations of all runs: ${counts}. How many percent of them each step of latency holds; further left is faster.`,
    percentiles: 'Lower is faster.',
    missing: 'one side has none in its windows',
  });
}
