/** What a search says, and whether it is true of chains whose limit is known. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { randomNumbers } from '../../../src/random.js';
import { answerOf } from '../../../src/studies/find-answer.js';
import { MAX_TRIALS, ThresholdEstimate } from '../../../src/studies/threshold-estimate.js';

/**
 * @import { Trial } from '../../../src/contracts/study.d.ts'
 * @import { End } from '../../../src/studies/threshold-estimate.js'
 */

describe('answerOf()', () => {
  const trial = (/** @type {number} */ value, /** @type {Partial<Trial>} */ given = {}) => ({
    ...{ value, holds: true, failed: [], file: `${value}.json`, startedAt: '2026-01-01T00:00:00.000Z' },
    ...given,
  });
  const failed = (/** @type {number} */ value, /** @type {Trial['limit']} */ limit = null) =>
    trial(value, { holds: false, failed: ['held 93.1 % is not >= 98%'], limit });
  const tried = {
    searched: { name: 'rate', behind: ' per second', short: '/s' },
    trials: [trial(410), failed(616), failed(494), trial(290), failed(900)],
    end: /** @type {End} */ (null),
    figures: { estimate: 443, low: 300, high: 601 },
    scale: { lowest: 1, highest: 4000 },
    conditions: ['p99<2s', 'held>=98%'],
    stopped: null,
    heldShare: 0.98,
  };

  it('is between the nearest run that held and the nearest that failed, and names both', () => {
    const { words, reasons, low, high } = answerOf({ ...tried, stopped: 'time' });
    assert.equal(words, 'Holds 443 op/s (95 % interval 294 to 601). Above it held 93.1 % is not >= 98%.');
    assert.deepEqual(reasons, [
      'nearest run that held, at 410/s',
      'nearest run that failed, at 494/s: held 93.1 % is not >= 98%',
      'the time limit was reached: run the same command again to resume',
      '5 runs, 2 held, with p99<2s and held>=98%',
    ]);
    assert.deepEqual([low, high], [294, 601], 'a run that holds may have done 2 % less than its rate');
  });

  it('has no bound outside of the runs, where a single answer may be wrong by chance', () => {
    const figures = { estimate: 443, low: 3, high: 112_000 };
    const { low, high } = answerOf({ ...tried, figures });
    assert.deepEqual([low, high], [290 * 0.98, 900]);
  });

  it('names the limit of the nearest failed run', () => {
    const trials = [trial(410), failed(494, { words: 'blocks are full', isOurs: false }), failed(616)];
    assert.match(answerOf({ ...tried, trials }).words, /\. Limit: blocks are full\.$/);
  });

  it('has no answer if most failed runs near it met a limit on our side, and one if a single run did', () => {
    const ours = { words: 'the generator was the limit', isOurs: true };
    const most = answerOf({ ...tried, trials: [trial(410), failed(494, ours), failed(550, ours), failed(601)] });
    assert.equal(most.words, 'Holds at least 410 op/s; the highest is not found: the generator was the limit.');
    assert.deepEqual([most.estimate, most.low, most.high, most.limit], [null, null, null, ours.words]);
    for (const trials of [
      [trial(410), failed(494, ours), failed(550), failed(616)],
      [trial(410), failed(494), failed(616), failed(900, ours), failed(1800, ours), failed(3600, ours)],
    ])
      assert.match(answerOf({ ...tried, trials }).words, /^Holds 443 op\/s/);
  });

  const threads = { name: 'threads', behind: '', short: ' threads' };
  const figures = { estimate: 1234, low: 1200, high: 1301 };
  /** @type {Array<[Partial<Parameters<typeof answerOf>[0]>, string]>} */
  const table = [
    [{ end: 'at least' }, 'Holds at least 4,000 op/s, the end of the range.'],
    [{ end: 'below' }, 'Holds less than 1 op/s, the start of the range.'],
    [{ trials: [trial(300), trial(310)] }, 'Holds at least 310 op/s: no run failed.'],
    [{ trials: [failed(320), failed(310)] }, 'No run held. At 310 op/s, the lowest tried, held 93.1 % is not >= 98%.'],
    [{ trials: [] }, 'not known yet: no run was made'],
    [{ figures }, 'Holds 1,230 op/s (95 % interval 1,180 to 1,300). Above it held 93.1 % is not >= 98%.'],
    [
      { figures, searched: threads, heldShare: 1 },
      'Holds 1,234 threads (95 % interval 1,200 to 1,301). Above it held 93.1 % is not >= 98%.',
    ],
  ];
  for (const [given, words] of table)
    it(words, () => {
      const answer = answerOf({ ...tried, ...given });
      assert.equal(answer.words, words);
      assert.ok(words.split(' ').length <= 25);
    });
});

/** Each search uses numbers of its own. */
const SEARCHES = 20;
/** Share of the searches whose interval contains the limit, at least. */
const CONTAIN = 17 / 20;
const WIDEST = 1.5;
/** Runs of ten blocks of a second in three minutes, each with its set-up and its drain. */
const RUNS_IN_TIME = 13;
/** Share of the runs below the limit that fail by chance. */
const LAPSE = 0.03;
/** Of the measured share of the rate. */
const NOISE = 0.01;
const HELD_SHARE = 0.98;

/**
 * @param {number} limit of the chain, per second
 * @param {number} seed
 * @param {number} most runs
 */
function searchOf(limit, seed, most) {
  const random = randomNumbers(seed);
  // A run without a rate has a hundred operations in flight, which wait for a block.
  const guess = Math.min(limit, 100);
  const scale = { lowest: 1.25, highest: 1_000_000, guess, isInteger: false };
  const estimate = new ThresholdEstimate(scale);
  /** @type {Trial[]} */
  const trials = [];
  while (estimate.end() === null && trials.length < most) {
    const value = estimate.next();
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const held = (limit / value) * (1 + NOISE * normal);
    const holds = value <= limit ? random() >= LAPSE : held >= HELD_SHARE;
    estimate.add(value, holds);
    trials.push({ value, holds, failed: [], file: '', startedAt: '' });
  }
  const answer = answerOf({
    ...{ searched: { name: 'rate', behind: '', short: '/s' }, trials, scale, conditions: [], stopped: null },
    ...{ figures: estimate.figures(), end: estimate.end(), heldShare: HELD_SHARE },
  });
  const [low, high] = [answer.low ?? NaN, answer.high ?? NaN];
  return { isContained: low <= limit && limit <= high, ratio: high / low, trials: trials.length };
}

describe('a search on a chain with a known limit', () => {
  const limits = [300, 1000, 3000];
  const seeds = Array.from({ length: SEARCHES }, (_, i) => i);

  for (const limit of limits)
    it(`of ${limit}/s has an interval that contains it and is narrow`, () => {
      const searches = seeds.map((seed) => searchOf(limit, 1000 * limit + seed, MAX_TRIALS));
      const contained = searches.filter(({ isContained }) => isContained).length;
      assert.ok(contained >= CONTAIN * SEARCHES, `${contained} of ${SEARCHES} contain it`);
      for (const { ratio } of searches) assert.ok(ratio <= WIDEST, `the ends differ by a factor of ${ratio}`);
    });

  it('has one that is nearly as good after three minutes', () => {
    const searches = limits.flatMap((limit) => seeds.map((seed) => searchOf(limit, 1000 * limit + seed, RUNS_IN_TIME)));
    const contained = searches.filter(({ isContained }) => isContained).length;
    const narrow = searches.filter(({ ratio }) => ratio <= WIDEST).length;
    assert.ok(
      Math.min(contained, narrow) >= CONTAIN * searches.length,
      `${contained} contain it, ${narrow} are narrow`,
    );
  });
});
