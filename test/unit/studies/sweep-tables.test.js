import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commandLine, sweepCsv, sweepMarkdown, sweepTables, sweepText } from '../../../src/studies/sweep-text.js';
import { sweepOf } from '../../helpers/sweep-file.js';

const ONE_AXIS = sweepOf([
  {
    settings: { threads: '10' },
    metrics: { tps: [100, 110], avg: [90_000, 110_000], cpu: [340, 360], failed: [0, 0] },
  },
  { settings: { threads: '40' }, metrics: { tps: [101, null], avg: [400_000, null] }, why: 'so it is' },
]);

const GRID = sweepOf(
  ['25', '50'].flatMap((rate) =>
    ['1', '2'].map((connections) => ({
      settings: { rate, connections },
      asked: Number(rate) * Number(connections),
      metrics: { tps: [Number(rate) * Number(connections)], avg: [50_000], p99: [60_500], verified: [2225] },
      ...(rate === '50' && connections === '2' ? { why: 'so it is' } : {}),
    })),
  ),
);

describe('sweepTables()', () => {
  it('of one axis has a row for each value, means with their deviations, and a word for saturation', () =>
    assert.deepEqual(sweepTables(ONE_AXIS), [
      {
        title: '',
        head: ['threads', 'TPS', 'avg ms', 'p50 ms', 'p99 ms', 'max ms', 'CPU us', 'failed', ''],
        rows: [
          ['10', '105 ± 7.07', '100 ± 14.1', '-', '-', '-', '350 ± 14.1', '0 ± 0', ''],
          ['40', '101', '400', '-', '-', '-', '-', '-', 'saturated'],
        ],
      },
    ]));

  it('marks figures that may be larger, because operations got no good answer', () => {
    const [cell] = ONE_AXIS.cells;
    const [{ rows }] = sweepTables({ ...ONE_AXIS, cells: [{ ...cell, atLeast: ['avg'] }] });
    assert.deepEqual(rows[0].slice(0, 3), ['10', '105 ± 7.07', '>= 100 ± 14.1']);
  });

  it('of two axes has a grid for each metric, with marks', () => {
    const [tps, avg, p99] = sweepTables(GRID);
    assert.deepEqual(tps, {
      title: 'TPS',
      head: ['', 'connections=1', 'connections=2'],
      rows: [
        ['rate=25', '25  ', '50  '],
        ['rate=50', '50  ', '100 *'],
      ],
    });
    assert.deepEqual([avg.title, avg.rows[0][1]], ['avg ms', '50  ']);
    assert.deepEqual([p99.title, p99.rows[1][2]], ['p99 ms', '60.5 *']);
  });

  it('of three axes has a row for each cell', () => {
    const settings = { threads: '1', rate: '2', transport: 'tcp' };
    const [table, ...others] = sweepTables(sweepOf([{ settings, asked: 2, metrics: { tps: [1.5] } }]));
    assert.deepEqual(others, []);
    assert.deepEqual(table.head.slice(0, 5), ['threads', 'rate', 'transport', 'asked/s', 'TPS']);
    assert.deepEqual(table.rows[0].slice(0, 5), ['1', '2', 'tcp', '2', '1.5']);
  });
});

describe('sweepText()', () => {
  it('has a headline, the tables, and what there is to know', () => {
    const saturation = [{ along: 'rate', at: {}, settings: null, words: 'not saturated up to rate=50' }];
    const text = sweepText({ ...GRID, saturation, warnings: ['be warned\u001b[2J'] });
    assert.match(text, /^\nSweep: complete, 4 of 4 runs\n\nTPS\n {9}connections=1 {2}connections=2\nrate=25/);
    assert.match(text, /\nrate=50 +50 +100 \*\n/);
    assert.ok(text.endsWith('\n\n* saturated\nnot saturated up to rate=50\nbe warned [2J'), text);
  });

  it('names runs that went wrong, and no tables when all did', () => {
    const sweep = sweepOf([{ settings: { threads: '10' } }], { end: 'incomplete' });
    Object.assign(sweep.cells[0].runs[0], { exitCode: 69, complaint: 'nobody answers' });
    assert.equal(
      sweepText(sweep),
      '\nSweep: some runs measured nothing, 0 of 1 runs\n\nthreads=10, run 1: exit code 69, nobody answers',
    );
  });
});

describe('sweepCsv()', () => {
  it('has a row for each run, with units in the names of its columns', () => {
    const [head, ...rows] = sweepCsv(ONE_AXIS)
      .trim()
      .split('\n')
      .map((line) => line.split(','));
    assert.deepEqual(head.slice(0, 4), ['threads', 'repeat', 'exitCode', 'startedAt']);
    const columns = ['threads', 'repeat', 'tps', 'avgUs', 'rssBytes'].map((name) => head.indexOf(name));
    assert.deepEqual(
      rows.map((row) => columns.map((i) => row[i])),
      [
        ['10', '1', '100', '90000', ''],
        ['10', '2', '110', '110000', ''],
        ['40', '1', '101', '400000', ''],
        ['40', '2', '', '', ''],
      ],
    );
    assert.ok(rows.every((row) => row.length === head.length));
  });
});

describe('sweepMarkdown()', () => {
  it('has the tables and how they were made', () => {
    const text = sweepMarkdown(ONE_AXIS);
    assert.match(text, /^# Sweep\n\n\| threads \| TPS \|/);
    assert.match(text, /\n\| --- \| ---: \|/);
    assert.match(text, /\n\| 40 \| 101 \| 400 \| - \| - \| - \| - \| - \| saturated \|\n/);
    assert.ok(text.includes(`\n${commandLine(ONE_AXIS)}\n`));
  });

  it('takes words of others as text', () => {
    const environment = {
      endpoint: 'http://a|b',
      clientVersion: 'x`<b>\n# y',
      chainId: 1,
      cpu: 'c',
      cores: 2,
      node: 'v',
    };
    const text = sweepMarkdown({ ...ONE_AXIS, environment });
    assert.ok(text.includes(String.raw`http://a\|b, x\`\<b> # y, chain 1`), text);
  });
});

describe('commandLine()', () => {
  it('can be given to a shell', () =>
    assert.equal(
      commandLine({ ...GRID, repeat: 3, options: { duration: '1s', params: `["it's"]` } }),
      String.raw`stress sweep --rate=25,50 --connections=1,2 --duration=1s --params='["it'\''s"]' --repeat=3 --rest=1s`,
    ));
});
