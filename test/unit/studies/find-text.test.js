import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerText, limitText } from '../../../src/studies/find-text.js';

/** @import { Outcome } from '../../../src/studies/find-text.js' */

/** @param {Partial<Outcome>} given */
function answer(given) {
  return answerText({
    name: 'rate',
    until: ['p99<2s'],
    isRateHeld: false,
    end: 'sharp',
    trials: 12,
    figures: { estimate: 305, low: 300, high: 310 },
    scale: { lowest: 100, highest: 400 },
    ...given,
  });
}

describe('answerText()', () => {
  const three = ['p99<2s', 'failed<1%', 'avg<1s'];
  const found = '305 per second (95 % interval 300 to 310, 12 runs)';
  /** @type {Array<[Parameters<typeof answer>[0], string]>} */
  const table = [
    [{}, `the highest rate for which p99<2s holds is ${found}`],
    [{ isRateHeld: true }, `the highest rate for which p99<2s holds with the rate held is ${found}`],
    [
      { until: three.slice(0, 2), isRateHeld: true },
      `the highest rate for which p99<2s and failed<1% hold with the rate held is ${found}`,
    ],
    [{ until: three }, `the highest rate for which p99<2s, failed<1% and avg<1s hold is ${found}`],
    [
      { end: 'at least' },
      'p99<2s holds at 400 per second, the highest that was asked for: the highest rate is at least that (12 runs)',
    ],
    [
      { end: 'below' },
      'p99<2s does not hold at 100 per second, the lowest that was asked for: the highest rate is below that (12 runs)',
    ],
    [
      { end: 'below', until: three.slice(0, 2), isRateHeld: true },
      'p99<2s and failed<1% do not both hold with the rate held at 100 per second, the lowest that was asked for: the highest rate is below that (12 runs)',
    ],
    [
      { end: 'below', until: three, name: 'threads' },
      'p99<2s, failed<1% and avg<1s do not all hold at 100, the lowest that was asked for: the highest number of wallets is below that (12 runs)',
    ],
    [{ trials: 0, end: null }, 'no run has said yet for which rate p99<2s holds'],
    [{ end: null }, `so far, the highest rate for which p99<2s holds is ${found}`],
  ];
  for (const [given, words] of table) it(words, () => assert.equal(answer(given), words));
});

describe('limitText()', () => {
  const trial = { value: 320, holds: false, failed: ['p99 3 s is not < 2s'], file: '', startedAt: '' };

  it('names limits other than the node', () => {
    const [ours, node, wallets] = ['generator-bound', 'node-bound', 'concurrency-bound'].map((name) =>
      limitText('rate', trial, { name, evidence: 'a thread was busy' }),
    );
    assert.equal(
      ours,
      'at 320/s: p99 3 s is not < 2s; generator-bound: a thread was busy; this machine was the limit, not the node',
    );
    assert.match(wallets, /; the number of wallets was the limit, not the node: -t or --in-flight would ask for more$/);
    assert.equal(node, 'at 320/s: p99 3 s is not < 2s; node-bound: a thread was busy');
  });
});
