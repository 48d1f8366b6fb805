import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UsageError } from '../../../src/errors.js';
import { cellName, checkSize, differenceOf, fingerprint, planCells, turnsOf } from '../../../src/studies/plan.js';

const GRID = [
  { name: 'threads', values: ['5', '10'] },
  { name: 'rate', values: ['20', '40', '60'] },
];

describe('planCells()', () => {
  it('has each combination once, the first axis slowest, with its rate', () => {
    const cells = planCells([...GRID, { name: 'transport', values: ['undici', 'tcp'] }], {});
    assert.equal(new Set(cells.map(({ settings }) => cellName(settings))).size, 12);
    assert.equal(cellName(cells[3].settings), 'threads=5 rate=40 transport=tcp');
    assert.deepEqual(
      planCells(GRID, { rate: '1' }).map(({ asked }) => asked),
      [20, 40, 60, 20, 40, 60],
    );
    assert.equal(planCells(GRID.slice(0, 1), { rate: '0.5' })[0].asked, 0.5, 'of all cells');
    assert.equal(planCells(GRID.slice(0, 1), {})[0].asked, null);
  });
});

describe('turnsOf()', () => {
  it('goes through all cells before it repeats one, forwards and backwards in turn', () => {
    const turns = turnsOf(planCells(GRID, {}), 3);
    assert.deepEqual(
      turns.map(({ index, repeat }) => `${index}.${repeat}`),
      [
        ...['0.1', '1.1', '2.1', '3.1', '4.1', '5.1'],
        ...['5.2', '4.2', '3.2', '2.2', '1.2', '0.2'],
        ...['0.3', '1.3', '2.3', '3.3', '4.3', '5.3'],
      ],
    );
    assert.equal(turns[6].file, 'cells/threads-10_rate-60_2.json');
    assert.equal(turnsOf([{ settings: { a: '../x y' }, asked: null }], 1)[0].file, 'cells/a-..-x-y_1.json');
  });
});

describe('checkSize()', () => {
  const hundred = [{ name: 'rate', values: Array.from({ length: 100 }, (_, i) => String(i)) }];
  it('allows 1,000 runs', () => {
    checkSize(hundred, 10);
    const words = /1100 runs \(100 of --rate x --repeat 11\): at most 1000/;
    assert.throws(
      () => checkSize(hundred, 11),
      (error) => error instanceof UsageError && words.test(error.message),
    );
  });
});

describe('differenceOf()', () => {
  /** @type {Record<string, string>} */
  const options = { duration: '1s' };
  const asked = { axes: GRID, repeat: 2, restMs: 1000, beforeCell: null, options };

  it('recognises a command without revealing it', () => {
    const before = { ...asked, beforeCell: fingerprint('./reset --token secret') };
    assert.equal(differenceOf(before, { ...asked, beforeCell: fingerprint('./reset --token secret') }), null);
    const words = differenceOf(before, { ...asked, beforeCell: fingerprint('./reset') });
    assert.match(words ?? '', /^--before-cell was a command with SHA-256 [0-9a-f]{16}\.\.\. and is a command with/);
    assert.equal(differenceOf({ ...asked, beforeCell: undefined }, asked), null, 'older files lack it');
  });

  /** @type {Array<[Partial<typeof asked>, string | null]>} */
  const table = [
    [{}, null],
    [{ repeat: 3 }, '--repeat was 2 and is 3'],
    [{ restMs: 500 }, '--rest was 1s and is 0.5s'],
    [{ options: { duration: '2s' } }, '--duration was 1s and is 2s'],
    [{ axes: GRID.slice(0, 1) }, '--rate was 20,40,60 and is not given'],
    [{ options: { ...asked.options, warmup: '1s' } }, '--warmup was not given and is 1s'],
  ];
  for (const [change, words] of table)
    it(String(words), () => assert.equal(differenceOf(asked, structuredClone({ ...asked, ...change })), words));
});
