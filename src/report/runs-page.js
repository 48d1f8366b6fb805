import { oneLine } from '../errors.js';
import { auditResult } from '../metrics/audit-result.js';
import { chartFigure, middle, missingFigure } from './charts.js';
import { quantity } from './client/quantity.js';
import { censoredOf } from '../metrics/figures.js';
import { countedWords, isPlain } from '../metrics/sample.js';
import { capital } from './measure.js';
import { densityChart, percentileChart, percentileWords } from './distributions.js';
import { badge } from './figures.js';
import { html } from './html.js';
import { renderPage } from './page.js';
import { namesOf } from './runs-names.js';
import { areDifferent, differences, overview } from './runs-tables.js';
import { tpsChart } from './runs-tps.js';

/**
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Chart } from './charts.js'
 * @import { Html } from './html.js'
 * @import { OptionFacts } from './repeat.js'
 */

/**
 * The page of several runs beside each other. It judges nothing: whether a difference is more than noise is what a
 * comparison says.
 *
 * @typedef {{name: string, file: string, run: RunFile}} NamedRun name: short, and no other's
 * @typedef {{chart: Chart | null, figure: Html}} Figure
 */

/** More rows than that nobody reads. */
const MOST_RUNS = 50;

/** More lines than that, and there are no colours to tell them apart. */
const MOST_LINES = 6;

/**
 * @param {ReadonlyArray<{file: string, run: RunFile}>} given
 * @param {{options?: readonly OptionFacts[]}} [how] options: all there are, for their names; without it they are called
 *   as in the run files
 * @returns {string} an HTML document
 */
export function renderRuns(given, { options = factsOf(given) } = {}) {
  const shown = given.slice(0, MOST_RUNS);
  const names = namesOf(shown.map(({ file }) => file));
  const runs = shown.map(({ file, run }, i) => ({ name: names[i], file, run }));
  const drawn = runs.slice(0, MOST_LINES);
  const figures = [tpsFigure(drawn), ...latencyFigures(drawn)];
  const main = html`<section aria-labelledby="runs">
      <h2 id="runs">The runs</h2>
      ${given.length > shown.length && html`<p class="note" id="left-out">Of ${given.length} runs the first ${shown.length} are shown.</p>`}
      ${overview(runs)}
      ${areDifferent(runs, options) && html`<p class="note">They were asked for different things: see what differs, below.</p>`}
      <p class="note">
        Whether two of them differ by more than noise is what <code>stress compare</code> says, given several runs of
        each.
      </p>
    </section>
    <section aria-labelledby="charts">
      <h2 id="charts">Over each other</h2>
      ${runs.length > drawn.length && html`<p class="note" id="not-drawn">The first ${drawn.length} of ${runs.length} runs are drawn.</p>`}
      <div class="charts">${figures.map(({ figure }) => figure)}</div>
    </section>
    ${differences(runs, options)}`;
  const charts = figures.flatMap(({ chart }) => (chart === null ? [] : [chart]));
  return renderPage({ title: titleOf(runs), lead: lead(runs), main, data: { time: null, charts } });
}

/** Options by their keys in the run files. @param {ReadonlyArray<{run: RunFile}>} runs @returns {OptionFacts[]} */
function factsOf(runs) {
  const keys = new Set(runs.flatMap(({ run }) => Object.keys(run.config)));
  return [...keys].map((key) => ({ name: key, key, parse: JSON.parse }));
}

/** @param {NamedRun[]} runs */
function titleOf(runs) {
  const minutes = runs.map(({ run }) => run.startedAt.slice(0, 16).replace('T', ' ')).sort();
  return `${runs.length} runs, ${[...new Set([minutes[0], minutes.at(-1)])].join(' to ')} UTC`;
}

/** @param {NamedRun[]} runs */
function lead(runs) {
  return html`<p class="verdict">${verdict(runs)}</p>
    <ul class="badges">
      ${badges(runs)}
    </ul>`;
}

/** Of runs of one kind only. @param {NamedRun[]} runs */
function wordsOf(runs) {
  return countedWords(runs.every(({ run }) => isPlain(run)));
}

/** @param {NamedRun[]} runs */
function verdict(runs) {
  const ranked = runs
    .flatMap(({ name, run: { rates } }) =>
      rates.verifiedPerSecond === null ? [] : { name, tps: rates.verifiedPerSecond },
    )
    .sort((a, b) => b.tps - a.tps);
  const words = wordsOf(runs);
  const [highest, lowest] = [ranked[0], ranked[ranked.length - 1]];
  if (ranked.length === 0 || highest.tps === 0)
    return `In the measured windows of these ${runs.length} runs nothing was ${words.verified}.`;
  const [most, least] = [highest.tps, lowest.tps].map((tps) => quantity(tps, 'plain'));
  if (ranked.length === 1) return `Only ${highest.name} has a measured window: ${most} ${words.tps}.`;
  if (most === least) return `All ${ranked.length} runs that have a measured window reached ${most} ${words.tps}.`;
  const less = quantity(100 * (1 - lowest.tps / highest.tps), 'percent');
  return `${highest.name} has the highest ${words.tps}, ${most}; ${lowest.name} has the lowest, ${least}, which is ${less} less.`;
}

/** @param {NamedRun[]} runs */
function badges(runs) {
  const bad = (/** @type {string} */ words, /** @type {(run: RunFile) => boolean} */ isSo) => {
    const count = runs.filter(({ run }) => isSo(run)).length;
    return count > 0 && badge(`${count} of ${runs.length} ${words}`, 'bad');
  };
  return [
    badge(`${runs.length} runs`, 'plain'),
    bad('verified nothing in a measured window', ({ window }) => window.counts.verified === 0),
    bad('partial: the run file ends before the run', ({ partial }) => partial),
    bad('with an audit that is not exact', (run) => auditResult(run) === 'not_exact'),
    bad('with an incomplete audit', (run) => auditResult(run) === 'incomplete'),
    bad('with failures or time-outs', ({ counts }) => counts.failed + counts.timedOut > 0),
    bad('with an exit code other than 0', ({ exitCode }) => exitCode !== null && exitCode !== 0),
  ];
}

/** @param {NamedRun[]} runs @returns {Figure} */
function tpsFigure(runs) {
  const chart = tpsChart(runs, `${wordsOf(runs).tps} over time`);
  if (chart === null)
    return {
      chart,
      figure: missingFigure('tps', `${wordsOf(runs).tps} over time`, 'no run has a report of its window'),
    };
  const others = runs.length - chart.series.length;
  const words = chart.series.map(({ label, values }) => `${label} ${middle(values, chart.unit)}`);
  const left = others === 0 ? '' : ` ${others} of ${runs.length} ended before the first report of a window.`;
  const summary = `${capital(wordsOf(runs).verified)} per second: ${words.join('; ')}.${left}`;
  return { chart, figure: chartFigure(chart, { summary, isWide: true }) };
}

/** @param {NamedRun[]} runs @returns {Figure[]} */
function latencyFigures(runs) {
  const sides = runs.map(({ name, run }, look) => ({
    label: name,
    json: run.latency.total,
    censored: censoredOf(run),
    look,
  }));
  const known = sides.filter(({ json }) => json.count > 0);
  if (known.length === 0)
    return [{ chart: null, figure: missingFigure('density', 'Latencies', 'no run has one in its window') }];
  const without = sides.filter(({ json }) => json.count === 0).map(({ label }) => label);
  const missing = without.length === 0 ? '' : ` Without any latency: ${without.join(', ')}.`;
  try {
    const [density, percentiles] = [densityChart(known), percentileChart(known, { each: true })];
    const first = `How many percent of the operations of a run each step of latency holds; further left is faster.${missing}`;
    const second = `${percentileWords(known)} Lower is faster. A line ends where its run has no more operations.${percentiles.isLog ? ' The scale is logarithmic.' : ''}`;
    return [
      { chart: density, figure: chartFigure(density, { summary: first, isWide: true }) },
      { chart: percentiles, figure: chartFigure(percentiles, { summary: second, isWide: true }) },
    ];
  } catch (error) {
    // The form of a file is right, and what is in its histograms is not.
    return [{ chart: null, figure: missingFigure('density', 'Latencies', oneLine(error)) }];
  }
}
