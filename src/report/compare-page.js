import { pText, percentText } from '../outputs/format.js';
import { chartFigure, chartsOf, latencyCharts, measureOf, sentence, withBound } from './charts.js';
import { quantity } from './client/quantity.js';
import { html, itemTable, row, section, table } from './html.js';
import { badBadge, badge, chartBox, figureCell, keyFigure, listSection, minuteOf, note } from './sections.js';
import { pageOf, passedBadge, passedCell, rounded, secondOf, wordsHead } from './sections.js';

/**
 * @import { ComparedMetric, Comparison } from '../types.d.ts'
 * @import { Chart } from './charts.js'
 * @import { Part } from './html.js'
 */

/** The page of a comparison: verdict, changes with intervals, latencies, and the primary metric in each run. */

/** @param {Comparison} comparison @returns {string} an HTML document */
export function renderCompare(comparison) {
  const { metrics, method, verdict, base, candidate, startedAt, warnings, differences, failIf } = comparison;
  const [{ name, label, change, p }] = metrics;
  const runs = runsChart(comparison);
  const latencies = latencyFigures(comparison);
  const kind = kindOf(verdict.word);
  const sideNames = namesOf(comparison);
  const isNamed = !ROLES.includes(sideNames[1]);
  const names = isNamed
    ? `${sideNames[1]} with ${sideNames[0]}`
    : /^base(line)?$/i.test(base.label)
      ? 'the candidate with the baseline'
      : `${candidate.label} with ${base.label}`;
  return pageOf({
    title: `Comparison of ${names}, ${minuteOf(startedAt)}`,
    verdict: sentence(verdict.sentence),
    badges: [
      badge(verdict.word, kind === 'quiet' ? 'plain' : kind),
      badge(
        method.pairs === null
          ? `${method.runs.base} and ${method.runs.candidate} runs`
          : `${method.pairs} pairs of runs`,
        'plain',
      ),
      passedBadge(failIf, 'conditions'),
      badBadge(differences.length, 'difference', ' allowed'),
      badBadge(warnings.length, 'warning'),
    ],
    figures: [
      .../** @type {const} */ (['base', 'candidate']).map((side, i) => {
        const { mean, atLeast } = metrics[0][side];
        return {
          name: `${side}.${name}`,
          label: `${label} of ${isNamed ? '' : 'the '}${sideNames[i]}`,
          value: mean,
          text: withBound(measureOf(name).text(mean), atLeast),
          note: 'mean of the runs',
        };
      }),
      {
        name: 'change',
        label: 'Change',
        value: change.estimate,
        text: percent(change.estimate),
        note: `${quantity(100 * change.confidence, 'percent')} interval (${intervalWords(change)})`,
      },
      { name: 'p', label: 'p', value: p, text: pText(p), note: 'how often chance alone does as much' },
    ],
    main: html`${listSection('warned', 'Warnings', warnings)}
    ${listSection('allowed', 'Differences that were allowed', differences)}
    ${section('changes', 'Changes', metricsTable(comparison))}
    ${section('latencies', 'Latencies', chartBox(latencies.map(({ figure }) => figure)), speedUps(comparison))}
    ${section('runs', 'Run by run', chartBox([chartFigure(runs.chart, { summary: runs.summary, isWide: true })]))}
    ${conditions(comparison)} ${methodSection(comparison)} ${sides(comparison)}`,
    charts: [...chartsOf(latencies), runs.chart],
  });
}

/** Ratio of lowest to highest value above which the axis does not begin at 0. */
const CLOSE = 0.5;

const ROLES = Object.freeze(['baseline', 'candidate']);

/** Version 0.2.0 wrote no names. @param {Pick<Comparison, 'base' | 'candidate'>} comparison */
function namesOf({ base, candidate }) {
  return [base, candidate].map(({ name = undefined }, i) => name ?? ROLES[i]);
}

/** Label and colour of both sides in a chart. @param {Comparison} comparison */
function looksOf(comparison) {
  return namesOf(comparison).map((label, color) => ({ label, color }));
}

/** @param {Comparison} comparison @returns {{chart: Chart, summary: string}} */
function runsChart(comparison) {
  const { metrics, method } = comparison;
  const [{ name, label, base, candidate }] = metrics;
  const { unit, scaled } = measureOf(name);
  const isPaired = method.pairs !== null;
  const values = [base.values, candidate.values].map((side) => side.map((value) => rounded(scaled(value))));
  const all = values.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const isClose = low > CLOSE * high;
  /** @type {Chart} */
  const chart = {
    id: 'runs',
    title: `${label} of each run`,
    kind: 'points',
    unit,
    xLabel: isPaired ? 'pair' : 'run',
    ...(isPaired ? pairedSeries(comparison, values) : orderedSeries(comparison, values)),
    ...(isClose ? { floor: floorOf(low, high), ceiling: high + 0.15 * (high - low) } : {}),
  };
  const zero = isClose ? ' The scale does not begin at 0.' : '';
  const higher = base.values.filter((value, i) => candidate.values[i] > value).length;
  const lower = base.values.filter((value, i) => candidate.values[i] < value).length;
  const summary = isPaired
    ? `The candidate was higher in ${higher} of ${method.pairs} pairs, lower in ${lower}. A bar joins the two runs of a pair.`
    : 'All runs in the order in which they were made.';
  return { chart, summary: `${summary}${zero}` };
}

/** A bar joins the two runs of a pair. @param {Comparison} comparison @param {Array<Array<number | null>>} values */
function pairedSeries(comparison, [base, candidate]) {
  const looks = looksOf(comparison);
  const x = base.map((_, i) => i + 1);
  const end = (/** @type {'min' | 'max'} */ which) =>
    base.map((value, i) => Math[which](value ?? 0, candidate[i] ?? 0));
  return {
    x,
    xTexts: x.map(String),
    series: [
      { ...looks[0], values: base, low: end('min'), high: end('max') },
      { ...looks[1], values: candidate },
    ],
  };
}

/** In the order of their start. @param {Comparison} comparison @param {Array<Array<number | null>>} values */
function orderedSeries(comparison, values) {
  const { base, candidate } = comparison;
  const runs = [base, candidate]
    .flatMap(({ startedAt }, side) => startedAt.map((at, i) => ({ at, side, value: values[side][i] })))
    .sort((a, b) => a.at.localeCompare(b.at));
  return {
    x: runs.map((_, i) => i + 1),
    xTexts: runs.map((_, i) => String(i + 1)),
    series: looksOf(comparison).map((look, side) => ({
      ...look,
      values: runs.map((run) => (run.side === side ? run.value : null)),
    })),
  };
}

/** A round number below all values. @param {number} low @param {number} high */
function floorOf(low, high) {
  const room = Math.max(0.5 * (high - low), 0.01 * high);
  const step = 10 ** Math.floor(Math.log10(room));
  return Number((Math.floor((low - room) / step) * step).toPrecision(6));
}

/** Wider intervals, relative to the changes, are cut off. */
const MAX_WIDTH = 3;
const HEIGHT = 26;

/** Drawn without a script, so that the intervals are also printed. @param {Comparison} comparison */
function metricsTable({ metrics, method, ...sides }) {
  const isSequential = method.name === 'sequential';
  const names = namesOf(sides);
  const { placeOf, ticks } = scaleOf(metrics);
  const axis = html`<svg>
    ${ticks.map(({ place, text }) => html`<text x="${place}%" y="18" text-anchor="${anchorOf(place)}">${text}</text>`)}
  </svg>`;
  const lines = ticks.map(
    ({ place, text }) =>
      html`<line x1="${place}%" x2="${place}%" y1="0" y2="100%" class="${text === '0 %' ? 'zero' : 'tick'}" />`,
  );
  /** @param {ComparedMetric} metric */
  const picture = ({ name, change: { estimate, low, high }, word }) =>
    html`<td class="interval ${kindOf(word)}" data-metric="${name}">
      <svg height="${HEIGHT}" aria-hidden="true">
        ${lines}${whisker(placeOf(low, 'low'), placeOf(high, 'high'))}
        <circle cx="${placeOf(estimate, 'low').place}%" cy="${HEIGHT / 2}" r="5" />
      </svg>
    </td>`;
  /** @param {'base' | 'candidate'} side @returns {(metric: ComparedMetric) => Part} */
  const meanOf = (side) => (metric) => {
    const { mean, atLeast } = metric[side];
    return figureCell(`${metric.name}.${side}`, mean, withBound(measureOf(metric.name).text(mean), atLeast));
  };
  return [
    note(
      'The candidate against the baseline: in the picture right of the line in the middle is more, left of it less. The point is the change, the bar its interval: where it reaches over that line, chance is enough to explain the change.',
    ),
    note(
      isSequential
        ? 'Means of the runs; intervals and p hold after any pair, corrected for being many.'
        : 'Means of the runs; changes are of geometric means; p of all but the first corrected for being many (Holm).',
    ),
    itemTable(
      'Metrics of both sides',
      metrics,
      [
        [
          'metric',
          ({ label, isPrimary, better }) =>
            html`${isPrimary ? html`<strong>${label}</strong> (decides)` : label}<small
                >${better === 'higher' ? 'more is better' : 'less is better'}</small
              >`,
        ],
        [names[0], meanOf('base')],
        [names[1], meanOf('candidate')],
        ['change', ({ name, change }) => figureCell(`${name}.change`, change.estimate, percent(change.estimate))],
        ['interval', ({ change }) => intervalWords(change)],
        [html`<td class="interval" aria-hidden="true">${axis}</td>`, picture],
        ['p', ({ name, pAdjusted }) => figureCell(`${name}.p`, pAdjusted, pText(pAdjusted))],
        [wordsHead('verdict'), ({ word }) => html`<td class="words ${kindOf(word)}">${sign(word)}${word}</td>`],
      ],
      { style: 'cells' },
    ),
  ];
}

/** Ends outside of the picture are arrows. @param {{place: number, isCut: boolean}} low @param {{place: number, isCut: boolean}} high */
function whisker(low, high) {
  const middle = HEIGHT / 2;
  const ends = [
    { ...low, arrow: 'M9 7 L2 13 L9 19' },
    { ...high, arrow: 'M-9 7 L-2 13 L-9 19' },
  ];
  return html`<line x1="${low.place}%" x2="${high.place}%" y1="${middle}" y2="${middle}" />${ends.map(
      ({ place, isCut, arrow }) =>
        isCut
          ? html`<svg x="${place}%" overflow="visible"><path d="${arrow}" /></svg>`
          : html`<line x1="${place}%" x2="${place}%" y1="${middle - 5}" y2="${middle + 5}" />`,
    )}`;
}

/** A logarithmic scale: twice and half are equally far from the line. @param {readonly ComparedMetric[]} metrics */
function scaleOf(metrics) {
  const log = (/** @type {number | null} */ fraction) => (fraction === null ? 0 : Math.abs(Math.log1p(fraction)));
  const [primary] = metrics;
  const points = Math.max(
    0.01,
    log(primary.change.low),
    log(primary.change.high),
    ...metrics.map(({ change }) => log(change.estimate)),
  );
  const ends = metrics.flatMap(({ change: { low, high } }) => [log(low), log(high)]);
  const half = 1.1 * Math.min(Math.max(points, ...ends), MAX_WIDTH * points);
  /** In percent of the width. @param {number | null} fraction @param {'low' | 'high'} end the end that is null without a bound */
  const placeOf = (fraction, end) => {
    const at = fraction === null ? (end === 'low' ? -Infinity : Infinity) : Math.log1p(fraction) / half;
    return { place: round(50 + 50 * Math.min(1, Math.max(-1, at))), isCut: Math.abs(at) > 1 };
  };
  return {
    placeOf,
    ticks: ticksOf(half).map((tick) => ({ place: placeOf(tick / 100, 'low').place, text: tickText(tick) })),
  };
}

/** Possible ticks in percent, from the middle outwards. */
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 50];
const TICKS = [0, ...STEPS.flatMap((step) => [step, -step]), -75, -90, -95, -99, 100, 200, 400, 900, 1900, 4900, 9900];
/** Least distance of ticks, as a share of half the width. */
const APART = 0.3;

/** @param {number} half of the width, as a logarithm @returns {number[]} percent, as many as have space */
function ticksOf(half) {
  const placeOf = (/** @type {number} */ tick) => Math.log1p(tick / 100) / half;
  return TICKS.reduce((shown, tick) => {
    const at = placeOf(tick);
    const isFree = Math.abs(at) <= 0.95 && shown.every((other) => Math.abs(placeOf(other) - at) >= APART);
    return isFree ? [...shown, tick] : shown;
  }, /** @type {number[]} */ ([]));
}

/** @param {number} tick */
function tickText(tick) {
  return `${tick > 0 ? '+' : tick < 0 ? '−' : ''}${Math.abs(tick)} %`;
}

/** @param {number} place */
function anchorOf(place) {
  return place < 8 ? 'start' : place > 92 ? 'end' : 'middle';
}

/** @param {string} word @returns {'good' | 'bad' | 'quiet'} */
function kindOf(word) {
  return word === 'faster' ? 'good' : word === 'slower' ? 'bad' : 'quiet';
}

/** @param {string} word */
function sign(word) {
  return { faster: '✓ ', slower: '✗ ' }[word] ?? '';
}

/** With a sign, as on the terminal. @param {number | null} fraction */
function percent(fraction) {
  return fraction === null ? '–' : percentText(fraction).replace('-', '−');
}

/** @param {ComparedMetric['change']} change */
function intervalWords({ low, high }) {
  return low === null || high === null ? 'no bounds' : `${percent(low)} to ${percent(high)}`;
}

/** @param {number} place */
function round(place) {
  return Math.round(100 * place) / 100;
}

/** @param {Comparison} comparison */
function speedUps({ speedUps: { words, onAverage, onSlowest, onFastest } }) {
  /** @type {Array<[string, string, number | null, string]>} */
  const figures = [
    ['onAverage.speedUp', 'Speed-up on average', onAverage.speedUp, onAverage.words],
    ['onSlowest.speedUp', 'Speed-up on the slowest', onSlowest.speedUp, onSlowest.words],
    ['onFastest.slowDown', 'Slow-down on the fastest', onFastest.slowDown, onFastest.words],
  ];
  return html`<dl class="figures wide">
      ${figures.map(([name, label, value, note]) => keyFigure({ name: `speedUps.${name}`, label, value, note, text: percent(value) }))}
    </dl>
    ${note(sentence(words))}`;
}

/** @param {Comparison} comparison */
function conditions({ failIf }) {
  const rows = failIf.map(({ expression, passed, change, why }) =>
    row(html`<code>${expression}</code>`, [passedCell(passed), change === null ? why : `${percent(change)}: ${why}`]),
  );
  const caption = 'The comparison fails if';
  return rows.length > 0 && section('conditions', 'Conditions', table({ rows, style: 'wraps', caption }));
}

/** @param {Comparison} comparison */
function methodSection({ method: { name, words, test, alpha, minimum, pairs }, primary, sequential }) {
  const noun = pairs === null ? 'runs on each side' : 'pairs';
  const decides =
    name === 'sequential'
      ? 'If the sides do not differ, the deciding metrics together show'
      : `${measureOf(primary).label} alone decides. If the sides do not differ, it shows`;
  return section(
    'method',
    'How it was tested',
    html`<p>${words}</p>
      <p>
        ${sentence(test)} ${decides} a difference in at most ${quantity(100 * alpha, 'percent')} of comparisons. A
        verdict takes at least ${minimum} ${noun}.
        ${sequential !== undefined && `The coin had the seed ${sequential.seed}.`}
      </p>`,
  );
}

/** @param {Comparison} comparison */
function sides({ base, candidate, stress }) {
  const names = namesOf({ base, candidate });
  /** @type {Array<[string, (side: Comparison['base']) => string]>} */
  const facts = [
    ['label', ({ label }) => label],
    ['load', ({ load = '–' }) => load],
    ['machine', ({ machine = '–' }) => machine],
    ['node', ({ clientVersion }) => clientVersion ?? 'not known'],
    ['measured by stress', (side) => side.stress],
    ['first run (UTC)', ({ startedAt }) => secondOf([...startedAt].sort()[0] ?? '–')],
    ['last run (UTC)', ({ startedAt }) => secondOf([...startedAt].sort().at(-1) ?? '–')],
    ['run files', ({ files }) => files.join(', ')],
  ];
  const own = itemTable(
    'Facts of both sides',
    facts,
    [
      [html`<td></td>`, ([name]) => name],
      [wordsHead(names[0]), ([, of]) => of(base)],
      [wordsHead(names[1]), ([, of]) => of(candidate)],
    ],
    { style: 'wraps' },
  );
  return section('sides', 'The two sides', own, note(`Compared by stress ${stress}.`));
}

/** @param {Comparison} comparison */
function latencyFigures({ distributions: { base, candidate, censored }, ...both }) {
  const names = namesOf(both);
  const sides = [
    { label: names[0], json: base, censored: censored?.base },
    { label: names[1], json: candidate, censored: censored?.candidate },
  ];
  const counts = sides.map(({ label, json }) => `${quantity(json.count, 'count')} in ${label}`).join(', ');
  return latencyCharts(sides, {
    density: `All operations of all runs: ${counts}. How many percent of them each step of latency holds; further left is faster.`,
    percentiles: 'Lower is faster.',
    missing: 'one side has none in its windows',
  });
}
