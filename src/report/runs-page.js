import { oneLine } from '../errors.js';
import { auditWord, latencyTable, overviewTable } from '../outputs/run-tables.js';
import { memberRows } from '../outputs/format.js';
import { tableOf } from '../outputs/table.js';
import { auditResult } from '../stats/audit-result.js';
import { censoredOf, windowMs } from '../stats/figures.js';
import { placeOf } from '../stats/run-file.js';
import { countedWords, isPlain } from '../stats/sample.js';
import { counted, digits, numbered, seconds } from '../text.js';
import { LOOKS, capital, chartBox, latencyCharts, middle, rounded } from './charts.js';
import { html, renderPage, section } from './html.js';
import { badge, note, tableSection } from './sections.js';

/**
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Table } from '../outputs/table.js'
 * @import { Chart } from './charts.js'
 *
 * @typedef {{name: string, file: string, run: RunFile}} NamedRun a run with a short unique name
 */

/** The page of several runs: a table of their figures, common charts, and what differs in how they were made. */

/** Characters of a name that fit into a legend on a phone. */
const MAX_NAME = 28;

/** Short unique names of runs, from their files. @param {readonly string[]} files @returns {string[]} */
export function shortNames(files) {
  const short = files.map((file) =>
    shortened(
      file
        .replace(/\.json$/i, '')
        .split('/')
        .at(-1) || file,
    ),
  );
  return numbered(short);
}

/** Names differ more often at their ends. @param {string} name */
function shortened(name) {
  const letters = [...name];
  return letters.length <= MAX_NAME ? name : `${letters.slice(0, 9).join('')}…${letters.slice(10 - MAX_NAME).join('')}`;
}

/** Figures for which the table of several runs has no space. */
const LEFT_OUT = ['attempts', 'abandoned'];

/** The figures of all runs, those that only some of them have as well. @param {NamedRun[]} runs @returns {Table} */
function overview(runs) {
  const figures = runs.map(({ run }) => new Map(overviewTable(run).rows.map(([label, text]) => [label, text])));
  const labels = [...new Set(figures.flatMap((one) => [...one.keys()]))].filter((label) => !LEFT_OUT.includes(label));
  const rows = runs.map(({ name, file, run }, i) => {
    const { columns, rows: latencies } = latencyTable(run);
    return [
      `${name}${run.partial ? ' (partial)' : ''}`,
      ...labels.map((label) => figures[i].get(label) ?? '-'),
      ...['p50', 'p99', 'max'].map((one) => latencies[0][columns.indexOf(one)]),
      ...[run.verdict?.name ?? '-', auditWord(run), String(run.exitCode ?? '-')],
      ...[seconds(windowMs(run)), run.startedAt.slice(0, 19).replace('T', ' '), file],
    ];
  });
  const heads = labels.map((label) => (label === 'generator' ? 'CPU us' : label));
  const facts = ['verdict', 'audit', 'exit code', 'window', 'started (UTC)', 'file'];
  const title = 'The runs and their figures';
  return tableOf('runs', title, ['run', ...heads, 'p50 ms', 'p99', 'max', ...facts], rows);
}

/** Limit of option values in the table. */
const MAX_TEXT = 60;

/** What differs in options and environments, a column each. @param {NamedRun[]} runs @param {ReadonlySet<string>} mayDiffer */
function differencesSection(runs, mayDiffer) {
  const facts = runs.map(({ run }) => {
    const { clientVersion: node, stress } = run.environment;
    const settings = Object.entries(run.config).filter(([key]) => !mayDiffer.has(key));
    return Object.fromEntries(memberRows({ ...Object.fromEntries(settings), endpoint: placeOf(run), node, stress }));
  });
  const names = [...new Set(facts.flatMap(Object.keys))].filter(
    (name) => new Set(facts.map((one) => one[name])).size > 1,
  );
  const rows = runs.map(({ name }, i) => [name, ...names.map((one) => oneLine(facts[i][one] ?? 'not set', MAX_TEXT))]);
  const title = 'What differs in how they were made';
  return names.length === 0
    ? section('differences', title, html`<p>All of them were made in the same way.</p>`)
    : tableSection(tableOf('differences', title, ['run', ...names], rows));
}

const MAX_RUNS = 50;

const NOISE = ' says whether two of them differ by more than noise, given several runs of each.';

/**
 * @param {ReadonlyArray<{file: string, run: RunFile}>} given
 * @param {ReadonlySet<string>} mayDiffer keys of configurations that are no settings of a run
 * @returns {string} an HTML document
 */
export function renderRuns(given, mayDiffer) {
  const shown = given.slice(0, MAX_RUNS);
  const names = shortNames(shown.map(({ file }) => file));
  const runs = shown.map(({ file, run }, i) => ({ name: names[i], file, run }));
  const drawn = runs.slice(0, LOOKS.length);
  const charts = [tpsChart(drawn), ...latencies(drawn)];
  const minutes = runs.map(({ run }) => run.startedAt.slice(0, 16).replace('T', ' ')).sort();
  return renderPage({
    title: `${counted(runs.length, 'run')}, ${[...new Set([minutes[0], minutes.at(-1)])].join(' to ')} UTC`,
    verdict: verdict(runs),
    badges: badges(runs),
    main: html`${tableSection(
      overview(runs),
      [given.length > shown.length && note(`Of ${given.length} runs the first ${shown.length} are shown.`, 'left-out')],
      [note([html`<code>stress compare</code>`, NOISE])],
    )}
    ${section(
      'charts',
      'Charts of the runs',
      runs.length > drawn.length && note(`The first ${drawn.length} of ${runs.length} runs are drawn.`, 'not-drawn'),
      chartBox(charts),
    )}
    ${differencesSection(runs, mayDiffer)}`,
    charts,
  });
}

/** @param {NamedRun[]} runs */
function wordsOf(runs) {
  return countedWords(runs.every(({ run }) => isPlain(run)));
}

/** @param {NamedRun[]} runs */
function verdict(runs) {
  const { tps } = wordsOf(runs);
  const ranked = runs
    .flatMap(({ name, run }) => {
      const rate = run.rates.verifiedPerSecond;
      return rate === null ? [] : { name, rate };
    })
    .sort((a, b) => b.rate - a.rate);
  if (ranked.length === 0) return 'Nothing was measured.';
  const [highest, lowest] = [ranked[0], ranked[ranked.length - 1]];
  return `Highest ${tps}: ${digits(highest.rate)}, of ${highest.name}; lowest: ${digits(lowest.rate)}, of ${lowest.name}.`;
}

/** @param {NamedRun[]} runs */
function badges(runs) {
  const bad = (/** @type {string} */ words, /** @type {(run: RunFile) => boolean} */ isSo) => {
    const count = runs.filter(({ run }) => isSo(run)).length;
    return count > 0 && badge(`${count} of ${runs.length} ${words}`, 'bad');
  };
  return [
    bad('with an audit that is not exact', (run) => auditResult(run) === 'not_exact'),
    bad('with failures or time-outs', ({ counts }) => counts.failed + counts.timedOut > 0),
    bad('did not end with exit code 0', ({ exitCode }) => exitCode !== 0),
  ];
}

/** @param {NamedRun[]} runs @returns {Chart} */
function tpsChart(runs) {
  const words = wordsOf(runs);
  const series = runs.flatMap(({ name, run }, i) => {
    const rows = run.intervals.filter(({ phase }) => phase === 'load');
    const points = rows.map((row) => ({
      x: Math.round((row.startMs + row.endMs) / 2 - rows[0].startMs) / 1000,
      y: rounded(row.tps),
    }));
    if (points.every(({ y }) => y === null)) return [];
    return [{ label: name, ...LOOKS[i], x: points.map(({ x }) => x), values: points.map(({ y }) => y) }];
  });
  const others = runs.length - series.length;
  const each = series.map(({ label, values }) => `${label} ${middle(values, '/s')}`).join('; ');
  const left = others === 0 ? '' : ` ${others} of ${runs.length} ended before the first report of a window.`;
  return {
    id: 'tps',
    title: `${words.tps} over time`,
    kind: 'lines',
    summary: `${capital(words.verified)} per second: ${each}.${left}`,
    why: series.length === 0 ? 'no run has a report of its window' : undefined,
    isWide: true,
    unit: '/s',
    xLabel: 'since the window began',
    xUnit: 's',
    series,
  };
}

/** @param {NamedRun[]} runs */
function latencies(runs) {
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
