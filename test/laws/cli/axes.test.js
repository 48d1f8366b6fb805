/** The values of an axis of stress sweep, and the range of a search. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UsageError } from '../../../src/errors.js';
import { readCommand } from './read.js';

/** @param {string[]} words of the command line */
const studyOf = async (...words) => (await readCommand([...words, '-d', '1s'])).config.study;

describe('an axis of stress sweep', () => {
  /** @type {Array<[string, string[]]>} */
  const table = [
    ['10,40,100', ['10', '40', '100']],
    ['10, 40 ', ['10', '40']],
    ['1..4', ['1', '2', '3', '4']],
    ['100..240/50', ['100', '150', '200']],
    ['0.1..0.4/0.1', ['0.1', '0.2', '0.3', '0.4']],
    ['5..5,7', ['5', '7']],
    ['1k..1.5k/250', ['1000', '1250', '1500']],
    ['1..3,10,20..30/10', ['1', '2', '3', '10', '20', '30']],
  ];
  for (const [text, values] of table)
    it(text, async () => {
      const { axes } = await studyOf('sweep', '--rate', text, '-t', '5,6');
      assert.deepEqual(axes.find(({ name }) => name === 'rate')?.values, values);
    });

  it('may be a setting, with values of any kind', async () => {
    const { axes } = await studyOf('sweep', '-t', '5', '--workload', './own.js', '--set', 'isDear=false,true');
    assert.deepEqual(axes, [{ name: 'set.isDear', values: ['false', 'true'] }]);
  });

  /** @type {Array<[string, RegExp]>} */
  const refused = [
    ['10,', /^--rate has an axis with an empty value/],
    ['10..5', /^--rate has "10\.\.5", which is not a range: FROM\.\.TO\/STEP/],
    ['5..10/0', /which is not a range/],
    ['5..', /which is not a range/],
    ['1..2..3', /which is not a range/],
    ['1..1001', /^--rate has 1001 values in "1\.\.1001": at most 1000 are swept/],
    ['1..600,1000..1600', /^--rate has 1201 values: at most 1000 are swept/],
    ['1..1000000/0.0000001', /at most 1000 are swept/],
  ];
  for (const [text, message] of refused)
    it(`refuses ${JSON.stringify(text)}`, () =>
      assert.rejects(studyOf('sweep', '-t', '5', '--rate', text), (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, message);
        return true;
      }));
});

describe('the range of a search', () => {
  /** @type {Array<[string, {from: string, to: string} | RegExp]>} */
  const table = [
    ['100..5000', { from: '100', to: '5000' }],
    ['100..5000/10', { from: '100', to: '5000' }],
    [' 1 .. 2 ', { from: '1', to: '2' }],
    ['100', /^--rate 100 is one rate: give a range, such as 100\.\.5000, or leave it out$/],
  ];
  for (const [text, expected] of table)
    it(text, async () => {
      const read = studyOf('find', '--rate', text, '--rpc', 'http://127.0.0.1:1');
      if (expected instanceof RegExp) await assert.rejects(read, { message: expected });
      else assert.deepEqual((await read).bracket, expected);
    });
});
