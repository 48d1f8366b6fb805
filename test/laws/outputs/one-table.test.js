/** A result has the same tables on the terminal, in Markdown and on its page: titles, names of columns, cells and notes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Readable } from 'node:stream';
import { runMarkdown, resultMarkdown } from '../../../src/outputs/markdown.js';
import { summaryText } from '../../../src/outputs/summary.js';
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
 *
 * @typedef {{title: string, lines: string[][], notes: string[]}} Found lines: the names of columns, if there are any, and the rows
 * @typedef {{text: string, markdown: string, page: string}} Rendered
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

/** @param {string} html */
function plain(html) {
  const text = html.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');
  const named = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
  return text.replace(/&[^;]+;/g, (entity) => named[/** @type {keyof typeof named} */ (entity)]).trim();
}

/** @param {string} page @returns {Found[]} */
function tablesOfPage(page) {
  const parts = page.split('aria-label="Table: ').slice(1);
  return parts.flatMap((part) => {
    const title = plain(part.slice(0, part.indexOf('"')));
    if (OF_PAGES.includes(title)) return [];
    const [table, rest] = part.split('</table>');
    const lines = [...table.matchAll(/<tr>([^]*?)<\/tr>/g)].map(([, row]) =>
      [...row.matchAll(/<t[hd][^>]*>([^]*?)<\/t[hd]>/g)]
        .map(([, cell]) => plain(cell).replace(/^[✓✗] /, ''))
        .filter((_, i, all) => i < all.length - 1 || !row.includes('<svg')),
    );
    // The picture of a comparison has no words, and its page has the result first.
    if (lines[0].at(-1) === 'picture') {
      lines[0].pop();
      for (const cells of lines) cells.push(...cells.splice(1, 1));
    }
    const notes = [...rest.split(/<\/(?:section|details)>/)[0].matchAll(/<p class="note"[^>]*>([^]*?)<\/p>/g)];
    return { title, lines, notes: notes.map(([, words]) => plain(words)).filter((words) => !PICTURE.test(words)) };
  });
}

const PICTURE = /^In the picture right of the line/;

/** @param {string} markdown @returns {Found[]} */
function tablesOfMarkdown(markdown) {
  const unescaped = (/** @type {string} */ text) => text.replace(/\\([\\|*_`<[\]])/g, '$1');
  const blocks = markdown.trim().split('\n\n');
  return blocks.flatMap((block, i) => {
    if (!block.startsWith('| ')) return [];
    const [head, , ...rows] = block.split('\n').map((line) => {
      const cells = line.slice(2, -2).split(/(?<!\\) \| /);
      return cells.map((cell) => unescaped(cell).trim());
    });
    const above = /^\*\*(.*)\*\*$/.exec(blocks[i - 1])?.[1];
    const isTitled = above !== undefined && i > 1;
    const title = isTitled ? unescaped(above) : head[0];
    const names = isTitled ? head : ['', ...head.slice(1)];
    // The last block is the title of the result.
    const below = blocks.slice(i + 1, -1);
    const end = below.findIndex((other) => /^([|-] |\*\*)/.test(other));
    const notes = end < 0 ? below : below.slice(0, end);
    return {
      title,
      lines: names.every((name) => name === '') ? rows : [names, ...rows],
      notes: notes.map(unescaped),
    };
  });
}

/** The lines of a text as cells; lines that were broken are whole again. @param {string} text */
function linesOfText(text) {
  const whole = text.replace(/\n {14,}(?=\S)(?!.* {2})/g, ' ');
  return whole.split('\n').map((line) => line.trim().split(/ {2,}/));
}

/** @param {string[]} cells */
const filled = (cells) => cells.map((cell) => cell.trim()).filter((cell) => cell !== '');

/** @param {Rendered} rendered @param {string[]} titles */
function assertSame({ text, markdown, page }, titles) {
  const [ofMarkdown, ofPage] = [tablesOfMarkdown(markdown), tablesOfPage(page)];
  const byTitle = (/** @type {Found[]} */ tables) => Object.fromEntries(tables.map((table) => [table.title, table]));
  const lines = linesOfText(text).map((cells) => cells.join('\n'));
  assert.deepEqual(Object.keys(byTitle(ofMarkdown)).sort(), [...titles].sort());
  assert.equal(ofMarkdown.length, titles.length);
  assert.deepEqual(byTitle(ofPage), byTitle(ofMarkdown));
  for (const { title, lines: rows, notes } of ofMarkdown) {
    const isNamed = rows[0][0] !== '';
    const wanted = [
      ...rows.map((cells, i) => (i === 0 && !isNamed ? [title, ...cells.slice(1)] : cells)).map(filled),
      ...notes.map((words) => [words]),
    ];
    const first = lines.indexOf(wanted[0].join('\n'));
    assert.ok(first >= 0, `${title}: ${wanted[0].join(' | ')} is in\n${text}`);
    assert.deepEqual(
      lines.slice(first, first + wanted.length),
      wanted.map((cells) => cells.join('\n')),
      title,
    );
  }
}

/** @param {RunFile} run @returns {Rendered} */
function ofRun(run) {
  return { text: summaryText(run, false), markdown: runMarkdown(run), page: runPage(run) };
}

/** @param {SweepFile} sweep @returns {Rendered} */
function ofSweep(sweep) {
  return { text: resultText(sweepResult(sweep)), markdown: sweepMarkdown(sweep), page: renderSweep(sweep) };
}

/** @param {number} tps @param {number} us */
const measured = (tps, us) => ({
  tps: [tps, tps + 1],
  avg: [us, us],
  p50: [us, us],
  p99: [2 * us, 2 * us],
  failed: [0, 0],
});

const OF_RUN = [
  'Figures',
  'Where the time goes',
  'Conditions of the run',
  'What limited the run',
  'Audit on the chain',
];

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
    const rendered = { text: resultText(result), markdown: resultMarkdown(result), page: renderCompare(comparison) };
    assertSame(rendered, ['The two sides', 'Changes', 'Speed-ups', 'Conditions']);
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
    assertSame(ofSweep(sweepOf(cells, { axes: [], find: { ...find, rateHeld: true } })), ['All cells']);
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
