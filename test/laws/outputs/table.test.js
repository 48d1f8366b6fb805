import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resultText, tableOf, tableText } from '../../../src/outputs/table.js';

const ROWS = [
  ['20', '>= 1,550 ms', '-17.5 % .. +2 %', 'slower'],
  ['a|b', '-', '-', 'too few runs'],
];
const TABLE = tableOf('rates', 'Rates', ['', 'TPS', 'interval', 'result'], ROWS, ['means of *all* runs']);

describe('a table on the terminal', () => {
  it('has figures at the right of their columns, and its title above the labels', () => {
    assert.equal(
      tableText(TABLE),
      `  Rates          TPS         interval  result
  20     >= 1,550 ms  -17.5 % .. +2 %  slower
  a|b              -                -  too few runs
    means of *all* runs`,
    );
    const named = { ...TABLE, columns: ['rate', 'TPS', 'interval', 'result'] };
    assert.match(tableText(named), /^ {2}Rates\n {2}rate +TPS/);
    assert.equal(tableText(tableOf('', '', [], [['TPS', '8.5', 'in the window']])), '  TPS  8.5  in the window');
  });

  it('loses the columns that do not fit, only as many as necessary', () => {
    assert.equal(tableText(TABLE, 40, [2, 1]).split('\n')[1], '  20     >= 1,550 ms  slower');
  });

  it('breaks the words of its last column, and keeps facts below each other', () => {
    const facts = tableOf(
      '',
      '',
      [],
      [
        ['gas', 'one two three four'],
        ['verdict', 'five'],
      ],
    );
    assert.equal(
      tableText(facts, 30),
      '  gas         one two three four\n  verdict     five'.replace(' four', `\n${' '.repeat(14)}four`),
    );
    assert.equal(
      tableText({ ...facts, rows: [['gas', 'word '.repeat(60).trim()]] }).split('\n').length,
      3,
      'also in files',
    );
  });

  it('has marked words in colour', () => {
    const paint = (/** @type {string} */ style, /** @type {string} */ text) => `[${style} ${text}]`;
    const rows = [
      ['exact', 'NOT EXACT: no'],
      ['audit', 'exact: yes'],
      ['verdict', 'unknown'],
    ];
    assert.equal(
      tableText(tableOf('', '', [], rows), Infinity, [], paint),
      '  exact       [red NOT EXACT]: no\n  audit       [green exact]: yes\n[bold   verdict     unknown]',
    );
  });
});

it('a result ends with its verdict on the terminal', () => {
  const result = { title: 'Sweep: complete', verdict: 'the most was 9', tables: [TABLE], notes: ['be warned'] };
  assert.match(resultText(result), /^\nSweep: complete\n {2}Rates [^]*\n {2}be warned\n {2}verdict {3}the most was 9$/);
});
