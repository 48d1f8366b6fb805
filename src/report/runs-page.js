import { oneLine } from '../errors.js';
import { auditResult } from '../stats/audit-result.js';
import { censoredOf } from '../stats/figures.js';
import { countedWords, isPlain } from '../stats/sample.js';
import {
  LOOKS,
  capital,
  chartFigure,
  chartsOf,
  latencyCharts,
  measureOf,
  middle,
  missingFigure,
  perSecond,
} from './charts.js';
import { quantity } from './client/quantity.js';
import { html, itemTable, section } from './html.js';
import { commandLine, settingsOf } from './repeat.js';
import { badge, chartBox, figureCell, latencyFigure, note, pageOf, rounded, secondOf, wordsHead } from './sections.js';

/**
 * @import { RunFile } from '../types.d.ts'
 * @import { Chart, Drawn } from './charts.js'
 * @import { Column } from './html.js'
 * @import { OptionFacts } from './repeat.js'
 * @import { Row } from './run-charts.js'
 * @import { LatencyName } from './sections.js'
 *
 * @typedef {{name: string, file: string, run: RunFile}} NamedRun a run with a short unique name
 */

/** Characters of a name that fit into a legend on a phone. */
const MAX_NAME = 28;

/** Short unique names of runs, from their files. @param {readonly string[]} files @returns {string[]} */
export function namesOf(files) {
  const short = files.map((file) =>
    shortened(
      file
        .replace(/\.json$/i, '')
        .split('/')
        .at(-1) || file,
    ),
  );
  return short.map((name, i) => (short.indexOf(name) === short.lastIndexOf(name) ? name : `${name} (${i + 1})`));
}

/** Names differ more often at their ends. @param {string} name */
function shortened(name) {
  const letters = [...name];
  return letters.length <= MAX_NAME ? name : `${letters.slice(0, 9).join('')}…${letters.slice(10 - MAX_NAME).join('')}`;
}

/** @param {NamedRun[]} runs */
function overview(runs) {
  const { verified, tps } = wordsOf(runs);
  /** @param {string} name @param {string} label @param {(run: RunFile) => number | null} of @param {(value: number | null) => string} [text] @returns {Column<NamedRun>} */
  const figure = (name, label, of, text = measureOf(name).text) => [
    label,
    ({ run }, i) => figureCell(`runs.${i}.${name}`, of(run), text(of(run))),
  ];
  /** @param {LatencyName} name @returns {Column<NamedRun>} */
  const latency = (name) => [
    name,
    ({ run }, i) => {
      const { value, text } = latencyFigure(run.latency.total, censoredOf(run), name);
      return figureCell(`runs.${i}.${name}`, value, text);
    },
  ];
  /** @param {number | null} value */
  const counted = (value) => quantity(value, 'count');
  return itemTable(
    'The runs and their figures',
    runs,
    [
      ['run', ({ name, run }) => html`${name}${run.partial && html` <strong class="bad">partial</strong>`}`],
      figure('tps', tps, ({ rates }) => rates.verifiedPerSecond),
      ...['p50', 'p99', 'max'].map((name) => latency(/** @type {LatencyName} */ (name))),
      figure('verified', verified, ({ counts }) => counts.verified, counted),
      figure('failed', 'failed', ({ counts }) => counts.failed, counted),
      figure('timedOut', 'timed out', ({ counts }) => counts.timedOut, counted),
      figure('cpu', `CPU per ${verified}`, ({ generator }) => generator.cpuUsPerVerified),
      ['verdict', ({ run }) => run.verdict?.name ?? '–'],
      ['audit', ({ run }) => auditCell(run)],
      figure(
        'exitCode',
        'exit code',
        ({ exitCode }) => exitCode,
        (code) => String(code ?? '–'),
      ),
      figure(
        'window',
        'window',
        ({ window }) => window.durationMs,
        (ms) => quantity(Number(ms) / 1000, 'seconds'),
      ),
      ['started (UTC)', ({ run }) => secondOf(run.startedAt)],
      [wordsHead('file'), ({ file }) => html`<td class="words">${file}</td>`],
    ],
    { style: 'cells runs', id: 'overview' },
  );
}

/** @param {RunFile} run */
function auditCell(run) {
  const result = auditResult(run);
  if (result === null) return html`<td>none</td>`;
  const words = { exact: '✓ exact', incomplete: '– incomplete', not_exact: '✗ not exact' }[result];
  return html`<td class="${result === 'exact' ? 'good' : 'bad'}">${words}</td>`;
}

/** Limit of option values in the table. */
const MAX_TEXT = 60;

/** What differs in options and environments. @param {NamedRun[]} runs @param {readonly OptionFacts[]} options */
function differencesOf(runs, options) {
  const isDifferent = (/** @type {string[]} */ texts) => new Set(texts).size > 1;
  return {
    options: options
      .filter((option) => isDifferent(runs.map(({ run }) => commandLine(run.config, [option]))))
      .map((option) => ({
        name: option.name,
        texts: runs.map(({ run }) => settingsOf(run.config, [option])[0]?.text ?? '–'),
      })),
    environments: Object.entries({ clientVersion: 'node', stress: 'stress' })
      .map(([key, name]) => ({ name, texts: runs.map(({ run }) => String(run.environment[key] ?? '–')) }))
      .filter(({ texts }) => isDifferent(texts)),
  };
}

/** @param {NamedRun[]} runs @param {Array<{name: string, texts: string[]}>} columns */
function differencesSection(runs, columns) {
  const differing = itemTable(
    'What differs',
    runs,
    [
      ['run', ({ name }) => name],
      ...columns.map(
        ({ name, texts }) => /** @type {Column<NamedRun>} */ ([name, (_, i) => oneLine(texts[i], MAX_TEXT)]),
      ),
    ],
    { style: 'cells runs', id: 'options' },
  );
  return section(
    'differences',
    'What differs in how they were made',
    columns.length === 0 ? html`<p>All of them were made in the same way.</p>` : differing,
  );
}

/** Limit of points of a line; neighbours are averaged. */
const MAX_POINTS = 120;

/** Resolution to which the reports of different runs are aligned. */
const STEP_MS = 50;

/** @param {ReadonlyArray<Row>} rows of a window @returns {Array<{x: number, y: number}>} */
function pointsOf(rows) {
  const size = Math.ceil(rows.length / MAX_POINTS);
  const groups = Array.from({ length: Math.ceil(rows.length / size) || 0 }, (_, i) =>
    rows.slice(i * size, (i + 1) * size),
  );
  return groups.flatMap((group) => {
    const [{ startMs }, { endMs }] = [group[0], group[group.length - 1]];
    const verified = group.reduce((sum, { counts }) => sum + counts.verified, 0);
    const y = rounded(perSecond({ ...group[0], endMs }, verified));
    const middleMs = (startMs + endMs) / 2 - rows[0].startMs;
    return y === null ? [] : [{ x: (STEP_MS * Math.round(middleMs / STEP_MS)) / 1000, y }];
  });
}

const MAX_RUNS = 50;

/**
 * @param {ReadonlyArray<{file: string, run: RunFile}>} given
 * @param {{options: readonly OptionFacts[]}} how options: for their names
 * @returns {string} an HTML document
 */
export function renderRuns(given, { options }) {
  const shown = given.slice(0, MAX_RUNS);
  const names = namesOf(shown.map(({ file }) => file));
  const runs = shown.map(({ file, run }, i) => ({ name: names[i], file, run }));
  const drawn = runs.slice(0, LOOKS.length);
  const figures = [tpsFigure(drawn), ...latencyFigures(drawn)];
  const differences = differencesOf(runs, options);
  const minutes = runs.map(({ run }) => run.startedAt.slice(0, 16).replace('T', ' ')).sort();
  return pageOf({
    title: `${runs.length} runs, ${[...new Set([minutes[0], minutes.at(-1)])].join(' to ')} UTC`,
    verdict: verdict(runs),
    badges: badges(runs),
    figures: [],
    main: html`${section(
      'runs',
      'The runs',
      given.length > shown.length && note(`Of ${given.length} runs the first ${shown.length} are shown.`, 'left-out'),
      overview(runs),
      differences.options.length > 0 && note('They had different options: see what differs, below.', 'not-alike'),
      note([
        html`<code>stress compare</code>`,
        ' says whether two of them differ by more than noise, given several runs of each.',
      ]),
    )}
    ${section(
      'charts',
      'Charts of the runs',
      runs.length > drawn.length && note(`The first ${drawn.length} of ${runs.length} runs are drawn.`, 'not-drawn'),
      chartBox(figures.map(({ figure }) => figure)),
    )}
    ${differencesSection(runs, [...differences.options, ...differences.environments])}`,
    charts: chartsOf(figures),
  });
}

/** @param {NamedRun[]} runs */
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
  const most = `${highest.name} has the highest ${words.tps}, ${quantity(highest.tps, 'plain')}`;
  if (ranked.length === 1) return `${most}; no other has a measured window.`;
  const less = quantity(100 * (1 - lowest.tps / highest.tps), 'percent');
  if (highest.tps === lowest.tps) return `${most}; all have the same.`;
  return `${most}; ${lowest.name} has the lowest, ${quantity(lowest.tps, 'plain')}, which is ${less} less.`;
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

/** @param {NamedRun[]} runs @returns {Drawn} */
function tpsFigure(runs) {
  const words = wordsOf(runs);
  const title = `${words.tps} over time`;
  const series = runs.flatMap(({ name, run }, i) => {
    const points = pointsOf(run.intervals.filter(({ phase }) => phase === 'load'));
    if (points.length === 0) return [];
    return [{ label: name, ...LOOKS[i], x: points.map(({ x }) => x), values: points.map(({ y }) => y) }];
  });
  if (series.length === 0)
    return { chart: null, figure: missingFigure('tps', title, 'no run has a report of its window') };
  const axis = { xLabel: 'since the window began', xUnit: /** @type {const} */ ('seconds') };
  /** @type {Chart} */
  const chart = { id: 'tps', title, kind: 'lines', unit: 'perSecond', series, ...axis };
  const others = runs.length - series.length;
  const each = series.map(({ label, values }) => `${label} ${middle(values, chart.unit)}`).join('; ');
  const left = others === 0 ? '' : ` ${others} of ${runs.length} ended before the first report of a window.`;
  const summary = `${capital(words.verified)} per second: ${each}.${left}`;
  return { chart, figure: chartFigure(chart, { summary, isWide: true }) };
}

/** @param {NamedRun[]} runs */
function latencyFigures(runs) {
  const sides = runs.map(({ name, run }, look) => ({
    label: name,
    json: run.latency.total,
    censored: censoredOf(run),
    look,
  }));
  const without = sides.filter(({ json }) => json.count === 0).map(({ label }) => label);
  const missing = without.length === 0 ? '' : ` Without any latency: ${without.join(', ')}.`;
  return latencyCharts(
    sides.filter(({ json }) => json.count > 0),
    {
      density: `How many percent of the operations of a run each step of latency holds; further left is faster.${missing}`,
      percentiles: 'Lower is faster. A line ends at the highest percentile for which its run has enough operations.',
      missing: 'no run has one in its window',
      isWide: true,
    },
  );
}
