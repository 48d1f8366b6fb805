import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RemainingTime, timeText } from '../../../src/studies/sweep.js';
import { createFakeClock } from '../../helpers/clock.js';

describe('timeText()', () => {
  /** @type {Array<[number, string]>} */
  const table = [
    [400, '0s'],
    [59_400, '59s'],
    [59_600, '1m00s'],
    [100_000, '1m40s'],
    [3_599_000, '59m59s'],
    [3_600_000, '1h00m'],
    [7_500_000, '2h05m'],
  ];
  for (const [ms, text] of table) it(text, () => assert.equal(timeText(ms), text));
});

describe('RemainingTime', () => {
  it('extrapolates from the parts that are done', async () => {
    const clock = createFakeClock();
    const time = new RemainingTime(clock, 5);
    assert.equal(time.words(0), '', 'nothing is known');
    await clock.advance(20_000);
    assert.equal(time.words(1), '  about 1m20s left');
    await clock.advance(10_000);
    assert.equal(time.words(2), '  about 45s left');
    assert.equal(time.words(5), '', 'nothing is left');
  });
});
