import { chartFigure, missingFigure, sentence } from './charts.js';
import { oneLine } from '../errors.js';
import { quantity } from './client/quantity.js';
import { badge, keyFigure } from './figures.js';
import { runsChart } from './compare-charts.js';
import { densityChart, percentileChart, percentileWords } from './distributions.js';
import { failIf, metricsTable, method, notes, pText, sides, speedUps } from './compare-sections.js';
import { forest, intervalWords, kindOf, percent } from './forest.js';
import { html } from './html.js';
import { measureOf, withBound } from './measure.js';
import { renderPage } from './page.js';

/**
 * @import { Comparison } from '../study/compare.js'
 * @import { Chart } from './charts.js'
 * @import { KeyFigure } from './figures.js'
 * @import { Html } from './html.js'
 */

/**
 * The page of a comparison.
 */

/** @param {Comparison} comparison @returns {string} an HTML document */
export function renderCompare(comparison) {
  const runs = runsChart(comparison);
  const latencies = latencyFigures(comparison);
  const main = html`${notes('Warnings', comparison.warnings)}
    ${notes('Differences that were let through', comparison.differences)}
    <section aria-labelledby="changes">
      <h2 id="changes">Changes</h2>
      ${forest(comparison)} ${metricsTable(comparison)}
    </section>
    <section aria-labelledby="latencies">
      <h2 id="latencies">Latencies</h2>
      <div class="charts">${latencies.map(({ figure }) => figure)}</div>
      ${speedUps(comparison)}
    </section>
    <section aria-labelledby="runs">
      <h2 id="runs">Run by run</h2>
      <div class="charts">${chartFigure(runs.chart, { summary: runs.summary, isWide: true })}</div>
    </section>
    ${failIf(comparison)} ${method(comparison)} ${sides(comparison)}`;
  const charts = [...latencies.flatMap(({ chart }) => (chart === null ? [] : [chart])), runs.chart];
  return renderPage({ title: titleOf(comparison), lead: lead(comparison), main, data: { time: null, charts } });
}

/** @param {Comparison} comparison */
function titleOf({ base, candidate, startedAt }) {
  const names = base.label === 'BASE' ? 'CANDIDATE with BASE' : `${candidate.label} with ${base.label}`;
  return `Comparison of ${names}, ${startedAt.slice(0, 16).replace('T', ' ')} UTC`;
}

/** @param {Comparison} comparison */
function lead(comparison) {
  return html`<p class="verdict">${sentence(comparison.verdict.sentence)}</p>
    <ul class="badges">
      ${badges(comparison)}
    </ul>
    <dl class="figures">${figures(comparison).map(keyFigure)}</dl>`;
}

/** @param {Comparison} comparison */
function badges({ verdict: { word }, method: { pairs, runs }, failIf: conditions, warnings, differences }) {
  const failed = conditions.filter(({ passed }) => !passed).length;
  const kind = kindOf(word);
  return [
    badge(word, kind === 'quiet' ? 'plain' : kind),
    badge(pairs === null ? `${runs.base} and ${runs.candidate} runs` : `${pairs} pairs of runs`, 'plain'),
    conditions.length > 0 &&
      badge(
        failed === 0
          ? `all ${conditions.length} conditions hold`
          : `${failed} of ${conditions.length} conditions failed`,
        failed === 0 ? 'good' : 'bad',
      ),
    differences.length > 0 &&
      badge(`${differences.length} difference${differences.length === 1 ? '' : 's'} let through`, 'bad'),
    warnings.length > 0 && badge(`${warnings.length} warning${warnings.length === 1 ? '' : 's'}`, 'bad'),
  ];
}

/** @param {Comparison} comparison @returns {KeyFigure[]} */
function figures({ metrics: [{ name, label, base, candidate, change, p }] }) {
  const { text } = measureOf(name);
  return [
    {
      name: `base.${name}`,
      label: `${label} of BASE`,
      value: base.mean,
      text: withBound(text(base.mean), base.atLeast),
      note: 'mean of the runs',
    },
    {
      name: `candidate.${name}`,
      label: `${label} of CANDIDATE`,
      value: candidate.mean,
      text: withBound(text(candidate.mean), candidate.atLeast),
      note: 'mean of the runs',
    },
    {
      name: 'change',
      label: 'Change',
      value: change.estimate,
      text: percent(change.estimate),
      note: `${quantity(100 * change.confidence, 'percent')} interval${intervalWords(change)}`,
    },
    { name: 'p', label: 'p', value: p, text: pText(p), note: 'how often chance alone does as much' },
  ];
}

/** @param {Comparison} comparison @returns {Array<{chart: Chart | null, figure: Html}>} */
function latencyFigures({ distributions: { base, candidate, censored } }) {
  const sides = [
    { label: 'BASE', json: base, censored: censored?.base },
    { label: 'CANDIDATE', json: candidate, censored: censored?.candidate },
  ];
  if (sides.some(({ json }) => json.count === 0))
    return [{ chart: null, figure: missingFigure('density', 'Latencies', 'one side has none in its windows') }];
  try {
    const [density, percentiles] = [densityChart(sides), percentileChart(sides)];
    const counts = sides.map(({ label, json }) => `${quantity(json.count, 'count')} in ${label}`).join(', ');
    return [
      {
        chart: density,
        figure: chartFigure(density, {
          summary: `All operations of all runs: ${counts}. How many percent of them each step of latency holds; further left is faster.`,
        }),
      },
      {
        chart: percentiles,
        figure: chartFigure(percentiles, {
          summary: `${percentileWords(sides)} Lower is faster.${percentiles.isLog ? ' The scale is logarithmic.' : ''}`,
        }),
      },
    ];
  } catch (error) {
    // The form of the file is right, and what is in its histograms is not.
    return [{ chart: null, figure: missingFigure('density', 'Latencies', oneLine(error)) }];
  }
}
