import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resultMarkdown, runMarkdown } from '../../../src/outputs/markdown.js';
import { resultText, tableText } from '../../../src/outputs/table.js';
import { dataTable } from '../../../src/report/sections.js';
import { parseThreshold } from '../../../src/stats/thresholds.js';
import { runFileOf } from '../../helpers/samples.js';

const TABLE = {
  title: 'Rates',
  head: ['rate', 'TPS', 'interval', 'result'],
  rows: [
    ['20', '>= 1,550 ms', '-17.5 % .. +2 %', 'slower'],
    ['a|b', '-', '-', 'too few runs'],
  ],
  note: 'means of *all* runs',
};

describe('a table', () => {
  it('on the terminal has figures at the right of their columns, and loses the columns that do not fit', () => {
    assert.equal(
      tableText(TABLE),
      `  rate          TPS         interval  result
  20    >= 1,550 ms  -17.5 % .. +2 %  slower
  a|b             -                -  too few runs
    means of *all* runs`,
    );
    assert.equal(
      tableText(TABLE, 40, [2, 1]).split('\n')[1],
      '  20    >= 1,550 ms  slower',
      'only as many as necessary',
    );
    assert.equal(tableText({ head: [], rows: [['TPS', '8.5', 'in the window']] }), '  TPS  8.5  in the window');
  });

  it('in Markdown, behind the verdict, and on a page has the same cells, as text', () => {
    assert.equal(
      resultMarkdown({ title: 'Sweep: complete', verdict: 'the most was 9', tables: [TABLE], notes: ['be warned'] }),
      String.raw`**the most was 9**

| rate | TPS | interval | result |
| --- | ---: | ---: | --- |
| 20 | >= 1,550 ms | -17.5 % .. +2 % | slower |
| a\|b | - | - | too few runs |

means of \*all\* runs

- be warned

Sweep: complete
`,
    );
    const page = String(dataTable(TABLE));
    assert.match(page, /<td class="words\s+bad\s*">✗ slower<\/td>/);
    assert.match(page, /<td class="\s*">&gt;= 1,550 ms<\/td>/);
  });
});

it('a result ends with its verdict on the terminal', () => {
  const result = { title: 'Sweep: complete', verdict: 'the most was 9', tables: [TABLE], notes: ['be warned'] };
  assert.match(resultText(result), /^\nSweep: complete\n {2}rate [^]*\n {2}be warned\n {2}verdict {3}the most was 9$/);
});

it('a run in Markdown: the result, the figures, the latencies, the thresholds and the audit', () => {
  const text = runMarkdown(runFileOf({ thresholds: ['tps>=5', 'p99<200ms'].map(parseThreshold) }));
  assert.match(text, /^\*\*stress failed \(exit code 99\): p99\\<200ms\*\*\n\nunknown: /);
  assert.match(text, /\n\| TPS \| 8\.5 \| verified per second/);
  assert.match(text, /\n\| latency ms \| >= 188 \| 10 /);
  assert.match(text, /\n\| p99\\<200ms \| FAILED \| >= 1,550 ms; 2 censored \|\n/);
  assert.match(text, /\n\naudit exact: 2 counters grew by 18 = 17 verified/);
});
