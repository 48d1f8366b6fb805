import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { it } from 'node:test';
import { RUNS_MAY_DIFFER_IN } from '../../../src/cli/options.js';
import { runMarkdown } from '../../../src/outputs/markdown.js';
import { summaryText } from '../../../src/outputs/summary.js';
import { resultText } from '../../../src/outputs/table.js';
import { runPage } from '../../../src/report/run-page.js';
import { renderRuns } from '../../../src/report/runs-page.js';
import { renderSweep } from '../../../src/report/sweep-page.js';
import { judge } from '../../../src/stats/verdict.js';
import { compare } from '../../../src/studies/compare.js';
import { compareResult } from '../../../src/studies/compare-text.js';
import { sweepMarkdown, sweepResult } from '../../../src/studies/sweep-text.js';
import { ones, wrongPlurals } from '../../helpers/plurals.js';
import { sidesOf } from '../studies/runs.js';

const FIXTURES = new URL('../../fixtures/runs-0.1/', import.meta.url);
const read = (/** @type {string} */ file) => JSON.parse(readFileSync(new URL(file, FIXTURES), 'utf8'));

/** Of a page what is read. @param {string} page */
const visible = (page) =>
  page
    .replace(/<(script|style)[^]*?<\/\1>/g, '')
    .replace(/<\/(td|th|h\d|p|li|dt|dd|tr)>/g, '\n')
    .replace(/<[^>]*>/g, '');

const files = readdirSync(FIXTURES).filter((name) => name.endsWith('.json'));
const runs = files.map((file) => ({ file, run: ones(read(file)) }));
for (const { run } of runs) run.verdict = judge(run);
const sweep = ones(read('sweep/sweep.json'));
const { base, candidate, options } = sidesOf('AB', () => ({}));

/** @type {Record<string, () => string>} */
const TEXTS = {
  ...Object.fromEntries(
    runs.flatMap(({ file, run }) => [
      [`summary of ${file}`, () => summaryText(run, true)],
      [`Markdown of ${file}`, () => runMarkdown(run)],
      [`page of ${file}`, () => visible(runPage(run))],
    ]),
  ),
  'page of runs': () => visible(renderRuns(runs, RUNS_MAY_DIFFER_IN)),
  sweep: () => resultText(sweepResult(sweep)),
  'Markdown of a sweep': () => sweepMarkdown(sweep),
  'page of a sweep': () => visible(renderSweep(sweep)),
  comparison: () => resultText(compareResult(compare(base, candidate, options))),
};

for (const [name, textOf] of Object.entries(TEXTS))
  it(`one is singular: ${name}`, () => assert.deepEqual(wrongPlurals(textOf()), []));
