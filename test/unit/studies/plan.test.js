import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UsageError } from '../../../src/errors.js';
import {
  argsOf,
  cellName,
  checkSize,
  combinations,
  differenceOf,
  fingerprint,
  planCells,
  walletsFor,
  turnsOf,
} from '../../../src/studies/plan.js';

const GRID = [
  { name: 'threads', values: ['5', '10'] },
  { name: 'rate', values: ['20', '40', '60'] },
];

describe('combinations()', () => {
  it('has each once, the first axis slowest', () =>
    assert.deepEqual(combinations(GRID).map(cellName), [
      ...['threads=5 rate=20', 'threads=5 rate=40', 'threads=5 rate=60'],
      ...['threads=10 rate=20', 'threads=10 rate=40', 'threads=10 rate=60'],
    ]));

  it('of three axes has their product', () =>
    assert.equal(combinations([...GRID, { name: 'transport', values: ['undici', 'tcp'] }]).length, 12));
});

describe('planCells()', () => {
  const plain = { axes: GRID, options: {}, isPerConnection: false };

  it('has the asked rate of each cell', () => {
    assert.deepEqual(
      planCells(plain, null).map(({ asked }) => asked),
      [20, 40, 60, 20, 40, 60],
    );
    assert.deepEqual(planCells(plain, null)[0].derived, {});
  });

  it('knows a rate that all have', () => {
    const [cell] = planCells({ axes: GRID.slice(0, 1), options: { rate: '0.5' }, isPerConnection: false }, null);
    assert.equal(cell.asked, 0.5);
  });

  it('has no asked rate without --rate', () =>
    assert.equal(planCells({ axes: GRID.slice(0, 1), options: {}, isPerConnection: false }, null)[0].asked, null));

  it('applies the rate per connection, with enough wallets for all', () => {
    const axes = [
      { name: 'rate', values: ['25', '200'] },
      { name: 'connections', values: ['1', '4'] },
    ];
    const cells = planCells({ axes, options: {}, isPerConnection: true }, 1_500_000);
    assert.deepEqual(
      cells.map(({ asked, derived }) => [asked, derived.rate, derived.threads]),
      [
        [25, '25', '75'],
        [100, '100', '300'],
        [200, '200', '600'],
        [800, '800', '2400'],
      ],
    );
    assert.deepEqual(argsOf(cells[1]), ['--rate=100', '--connections=4', '--threads=300']);
    assert.deepEqual(cells[1].settings, { rate: '25', connections: '4' });
  });

  it('multiplies without the errors of binary fractions', () => {
    const axes = [{ name: 'connections', values: ['3'] }];
    assert.equal(planCells({ axes, options: { rate: '0.1' }, isPerConnection: true }, null)[0].derived.rate, '0.3');
  });
});

describe('walletsFor()', () => {
  it('is twice the operations in flight, rounded up', () => assert.equal(walletsFor(101, 333_000), 68));
  it('is ten at least', () => assert.equal(walletsFor(25, 1000), 10));
  it('is ten thousand at most', () => assert.equal(walletsFor(1000, 60e6), 10_000));
});

describe('turnsOf()', () => {
  it('goes through all cells before it repeats one, forwards and backwards in turn', () => {
    const turns = turnsOf(planCells({ axes: GRID, options: {}, isPerConnection: false }, null), 3);
    assert.deepEqual(
      turns.map(({ index, repeat }) => `${index}.${repeat}`),
      [
        ...['0.1', '1.1', '2.1', '3.1', '4.1', '5.1'],
        ...['5.2', '4.2', '3.2', '2.2', '1.2', '0.2'],
        ...['0.3', '1.3', '2.3', '3.3', '4.3', '5.3'],
      ],
    );
    assert.equal(turns[6].file, 'cells/threads-10_rate-60_2.json');
    assert.equal(new Set(turns.map(({ file }) => file)).size, 18);
  });

  it('names files without what a file system may stumble over', () => {
    const cell = { settings: { a: '../x y' }, derived: {}, asked: null };
    assert.equal(turnsOf([cell], 1)[0].file, 'cells/a-..-x-y_1.json');
  });
});

describe('checkSize()', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => String(i));
  it('takes a thousand runs', () => checkSize([{ name: 'rate', values: hundred }], 10));
  it('refuses more, and says how many there are', () =>
    assert.throws(
      () => checkSize([{ name: 'rate', values: hundred }], 11),
      (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, /1100 runs \(100 of --rate x --repeat 11\): at most 1000/);
        return true;
      },
    ));
});

describe('differenceOf()', () => {
  /** @type {Record<string, string>} */
  const options = { duration: '1s' };
  const asked = { preset: null, axes: GRID, repeat: 2, restMs: 1000, beforeCell: null, options };
  it('is none between two that ask for the same', () =>
    assert.equal(differenceOf(asked, structuredClone(asked)), null));
  it('recognises a command without revealing it', () => {
    const before = { ...asked, beforeCell: fingerprint('./reset --token secret') };
    assert.match(before.beforeCell, /^[0-9a-f]{16}$/);
    assert.equal(differenceOf(before, { ...asked, beforeCell: fingerprint('./reset --token secret') }), null);
    const words = differenceOf(before, { ...asked, beforeCell: fingerprint('./reset') });
    assert.match(words ?? '', /^--before-cell was a command with SHA-256 [0-9a-f]{16}\.\.\. and is a command with/);
    assert.match(differenceOf(asked, before) ?? '', /^--before-cell was not given and is a command/);
    const older = { ...asked, beforeCell: undefined };
    assert.equal(differenceOf(older, asked), null, 'a file of before there was such a thing');
  });

  /** @type {Array<[Partial<typeof asked>, string]>} */
  const table = [
    [{ repeat: 3 }, '--repeat was 2 and is 3'],
    [{ restMs: 500 }, '--rest was 1s and is 0.5s'],
    [{ options: { duration: '2s' } }, '--duration was 1s and is 2s'],
    [{ axes: GRID.slice(0, 1) }, '--rate was 20,40,60 and is not given'],
    [{ options: { ...asked.options, warmup: '1s' } }, '--warmup was not given and is 1s'],
    [{ axes: [GRID[0], { name: 'rate', values: ['20'] }] }, '--rate was 20,40,60 and is 20'],
  ];
  for (const [change, words] of table)
    it(words, () => assert.equal(differenceOf(asked, { ...asked, ...change }), words));
});
