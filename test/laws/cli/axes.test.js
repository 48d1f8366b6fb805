import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { axisTexts, bracketTexts } from '../../../src/cli/parse.js';

describe('axisTexts()', () => {
  /** @type {Array<[string, string[]]>} */
  const table = [
    ['10,40,100', ['10', '40', '100']],
    ['10, 40 ', ['10', '40']],
    ['false,true', ['false', 'true']],
    ['1..4', ['1', '2', '3', '4']],
    ['100..240/50', ['100', '150', '200']],
    ['0.1..0.4/0.1', ['0.1', '0.2', '0.3', '0.4']],
    ['5..5', ['5']],
    ['1k..1.5k/250', ['1000', '1250', '1500']],
    ['1..3,10,20..30/10', ['1', '2', '3', '10', '20', '30']],
  ];
  for (const [text, values] of table) it(text, () => assert.deepEqual(axisTexts(text, '-t'), values));

  /** @type {Array<[string, RegExp]>} */
  const refused = [
    ['', /^-t has an axis with an empty value/],
    ['10..5', /^-t has "10\.\.5", which is not a range: FROM\.\.TO\/STEP/],
    ['5..10/0', /which is not a range/],
    ['5..', /which is not a range/],
    ['1..2..3', /which is not a range/],
    ['1..1001', /^-t has 1001 values in "1\.\.1001": at most 1000 are swept/],
    ['1..600,1000..1600', /^-t has 1201 values: at most 1000 are swept/],
    ['0..1000000/0.0000001', /at most 1000 are swept/],
  ];
  for (const [text, words] of refused)
    it(`refuses ${JSON.stringify(text)}`, () =>
      assert.throws(() => axisTexts(text, '-t'), { name: 'UsageError', message: words }));
});

describe('bracketTexts()', () => {
  /** @type {Array<[string, [string, string | null]]>} */
  const table = [
    ['100', ['100', null]],
    ['100..5000', ['100', '5000']],
    ['100..5000/10', ['100', '5000']],
    [' 1 .. 2 ', ['1', '2']],
  ];
  for (const [text, bracket] of table) it(text, () => assert.deepEqual(bracketTexts(text), bracket));
});
