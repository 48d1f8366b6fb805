/** A result has the same tables on the terminal, in Markdown and on its page: titles, names of columns, cells and notes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Readable } from 'node:stream';
import { runMarkdown, resultMarkdown } from '../../../src/outputs/markdown.js';
import { runTables, summaryText } from '../../../src/outputs/summary.js';
import { resultText } from '../../../src/outputs/table.js';
import { renderCompare } from '../../../src/report/compare-page.js';
import { runPage } from '../../../src/report/run-page.js';
import { renderRuns } from '../../../src/report/runs-page.js';
import { renderSweep } from '../../../src/report/sweep-page.js';
import { merge } from '../../../src/scale-out/merge.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { compareResult, parseFailIf } from '../../../src/studies/compare-text.js';
import { compare } from '../../../src/studies/compare.js';
import { environmentOf } from '../../../src/studies/run-files.js';
import { sweepMarkdown, sweepResult } from '../../../src/studies/sweep-text.js';
import { runFileOf } from '../../helpers/samples.js';
import { sweepOf } from '../../helpers/sweep-file.js';
import { runOf, sidesOf } from '../studies/runs.js';

/**
 * @import { RunFile } from '../../../src/contracts/run-file.d.ts'
 * @import { SweepFile } from '../../../src/contracts/study.d.ts'
 * @import { Table } from '../../../src/outputs/table.js'
 *
 * @typedef {{tables: readonly Table[], text: string, markdown: string, page: string}} Rendered
 */

/** Tables that only pages have. */
const OF_PAGES = [
  'Runs',
  'Configuration',
  'Environment',
  'Definitions',
  'What was not measured, and why',
  'How it was made',
];

/** A page says it at its top. */
const AT_TOP = 'What limited the run';

/** A rendering as words, with one space between two. @param {string} text */
const wordsOf = (text) => text.replace(/\s+/g, ' ');

/** @param {string} html */
function plain(html) {
  const text = html.replace(/<svg[^]*?<\/svg>/g, '').replace(/<\/t[dhr]>/g, ' ');
  const named = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
  const entity = (/** @type {string} */ one) => named[/** @type {keyof typeof named} */ (one)];
  return wordsOf(text.replace(/<[^>]*>|[✓✗] /g, '').replace(/&[^;]+;/g, entity));
}

const BORDER = /^\|(?: ---:? \|| ---: \|)+\n/gm;

/** @param {string} markdown */
function unmarked(markdown) {
  const cells = markdown.replace(BORDER, '').replace(/(^|(?<!\\) )\|(?= |$)/gm, ' ');
  return wordsOf(cells.replace(/\\([\\|*_`<[\]])/g, '$1'));
}

/** Each has the tables, and of each its names of columns, its rows and its notes in their order. @param {Rendered} rendered @param {string[]} titles */
function assertSame({ tables, text, markdown, page }, titles) {
  assert.deepEqual(tables.map(({ title }) => title).sort(), [...titles].sort());
  assert.equal(markdown.match(BORDER)?.length, titles.length);
  const parts = page.split('aria-label="Table: ').slice(1);
  const onPage = parts.map((part) => plain(part.slice(0, part.indexOf('"'))));
  assert.deepEqual(
    onPage.filter((title) => !OF_PAGES.includes(title)).sort(),
    titles.filter((title) => title !== AT_TOP).sort(),
  );
  for (const { title, columns, rows, notes } of tables) {
    assert.ok(
      [`**${title}**\n`, `\n| ${title} |`].some((words) => markdown.includes(words)),
      title,
    );
    const ofPage = title === AT_TOP ? {} : { page: plain(parts[onPage.indexOf(title)]) };
    const streams = { text: wordsOf(text), markdown: unmarked(markdown), ...ofPage };
    for (const [name, stream] of Object.entries(streams)) {
      let at = name === 'page' ? 0 : Math.max(0, stream.indexOf(title));
      // The picture of a comparison has no words, and its page has the result first.
      const isMoved = name === 'page' && title === 'Changes';
      for (const [first = '', ...others] of [['', ...columns.slice(1)], ...rows, ...notes.map((words) => [words])]) {
        const cells =
          isMoved && others.length > 0 ? [first, others.at(-1), ...others.slice(0, -1)] : [first, ...others];
        const line = wordsOf(cells.join(' ')).trim();
        at = stream.indexOf(line, at);
        assert.ok(at >= 0, `${title}: ${line} is in its place in the ${name}:\n${stream}`);
      }
    }
  }
}

/** @param {RunFile} run @returns {Rendered} */
function ofRun(run) {
  return { tables: runTables(run), text: summaryText(run, false), markdown: runMarkdown(run), page: runPage(run) };
}

/** @param {SweepFile} sweep @returns {Rendered} */
function ofSweep(sweep) {
  const result = sweepResult(sweep);
  const [text, markdown] = [resultText(result), sweepMarkdown(sweep)];
  return { tables: result.tables, text, markdown, page: renderSweep(sweep) };
}

/** @param {number} tps @param {number} us */
const measured = (tps, us) => ({
  tps: [tps, tps + 1],
  avg: [us, us],
  p50: [us, us],
  p99: [2 * us, 2 * us],
  failed: [0, 0],
});

const OF_RUN = ['Figures', 'Where the time goes', 'Conditions of the run', AT_TOP, 'Audit on the chain'];

describe('the same tables on the terminal, in Markdown and on the page', () => {
  it('of a run, with failures and thresholds', () => {
    const thresholds = ['tps>=5', 'p99 < 200ms'].map(parseThreshold);
    const run = { ...runFileOf({ thresholds }), failureWords: { reverted: 'words | of <the> first_one' } };
    assertSame(ofRun(run), [...OF_RUN, 'Failures', 'Thresholds']);
  });

  it('of several instances', async () => {
    const folder = fileURLToPath(new URL('../../fixtures/runs-0.1/merge', import.meta.url));
    const options = { mayDiffer: new Set(['offset', 'out', 'instance', 'threads', 'index']), ofOneInstance: new Set() };
    const wishes = { expect: null, runId: null, allowPartial: false, thresholds: [], options };
    const { run } = await merge([folder], wishes, Readable.from([]));
    assertSame(ofRun(run), [...OF_RUN, '2 instances', 'Instances']);
  });

  it('of a comparison', () => {
    const { base, candidate, options } = sidesOf('ABBAABBAABBAABBA', (side, i) => ({
      tps: (side === 'A' ? 120 : 100) + (i % 3),
      latencyMs: (side === 'A' ? 50 : 60) + (i % 3),
    }));
    const comparison = compare(base, candidate, { ...options, failIf: [parseFailIf('tps<-10%')] });
    const result = compareResult(comparison);
    const { tables } = result;
    const page = renderCompare(comparison);
    assertSame({ tables, text: resultText(result), markdown: resultMarkdown(result), page }, [
      'The two sides',
      'Changes',
      'Latency ratios',
      'Conditions',
    ]);
  });

  it('of a sweep, in a line and in a grid', () => {
    const line = sweepOf(['10', '20'].map((threads, i) => ({ settings: { threads }, metrics: measured(10 + i, 1e5) })));
    assertSame(ofSweep(line), ['All cells']);
    const settings = ['5', '20'].flatMap((threads) => ['20', '100'].map((rate) => ({ threads, rate })));
    const grid = sweepOf(settings.map((one, i) => ({ settings: one, metrics: measured(10 + i, 1e5) })));
    assertSame(ofSweep(grid), ['TPS', 'avg ms', 'p99 ms']);
  });

  it('of a search', () => {
    const trial = (/** @type {number} */ value, /** @type {boolean} */ holds) => {
      const failed = holds ? [] : ['p99<2s: 2.3 s'];
      return { value, holds, failed, file: `cells/${value}_1.json`, startedAt: '2026-01-01T00:00:00.000Z' };
    };
    const cells = ['80', '110'].map((rate) => ({
      settings: { rate },
      asked: Number(rate),
      metrics: measured(80, 1e5),
    }));
    const answer = { estimate: 95, low: 90, high: 101, confidence: 0.95, sharp: false, words: 'holds 95' };
    const find = { name: 'rate', until: ['p99<2s'], ...answer, trials: [trial(80, true), trial(110, false)] };
    assertSame(ofSweep(sweepOf(cells, { axes: [], find: { ...find, rateHeld: true } })), ['All runs']);
  });
});

it('no result shows the port of an embedded chain, and two of them are the same place', () => {
  const [first, second] = [1, 2].map((number) => {
    const run = runOf(number);
    const environment = { ...run.environment, embeddedChain: true, endpoint: `http://127.0.0.1:5000${number}` };
    return { ...run, environment };
  });
  const runs = [first, second].map((run, i) => ({ file: `${i}.json`, run }));
  const texts = [runMarkdown(first), runPage(first).split('<main')[0], renderRuns(runs, new Set())];
  for (const text of texts) assert.doesNotMatch(text, /5000\d/);
  assert.match(texts[0], /at the embedded chain/);
  assert.deepEqual(environmentOf(first), environmentOf(second));
});
