/** What a search says of its runs. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { randomNumbers } from '../../../src/random.js';
import { nextRate, votesOn } from '../../../src/studies/evidence.js';
import { answerOf } from '../../../src/studies/find-answer.js';

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
    trial(value, { holds: false, failed: ['held 93.1 %, below 98 %'], limit });
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

  it('says first what held, then the estimate, and names the nearest runs', () => {
    const { words, reasons, low, high, held } = answerOf({ ...tried, stopped: 'time' });
    assert.equal(
      words,
      'Not done: holds 410 op/s; estimated highest 443 op/s (95 % interval 294 to 601). 494 op/s fails: held 93.1 %, below 98 %.',
    );
    assert.deepEqual(reasons, [
      'not done: the ends of the interval differ by more than a factor of 1.5; give a longer --time-limit',
      'nearest run that held, at 410/s',
      'nearest run that failed, at 494/s: held 93.1 %, below 98 %',
      'the time left was shorter than the longest run so far: run the same command again to resume',
      '5 runs, 2 held, with p99<2s and held>=98%',
    ]);
    assert.deepEqual([low, high, held], [294, 601, 410], 'a run that holds may have done 2 % less than its rate');
  });

  it('has no bound outside of the runs, where a single answer may be wrong by chance', () => {
    const figures = { estimate: 443, low: 3, high: 112_000 };
    const { low, high } = answerOf({ ...tried, figures });
    assert.deepEqual([low, high], [290 * 0.98, 616], 'two runs failed at 616 or below');
  });

  it('names the limit of the nearest failed run', () => {
    const trials = [trial(410), failed(494, { words: 'blocks are full', isOurs: false }), failed(616)];
    assert.match(answerOf({ ...tried, trials }).words, /\. Limit: blocks are full\.$/);
  });

  it('names a run whose repeat was due when the time was over, and whose rate may be the estimate', () => {
    const due = {
      ...failed(443),
      again: 'with 10 operations in flight per wallet instead of 5, as operations were dropped',
    };
    const trials = [trial(410), failed(494), due];
    const { words, reasons = [] } = answerOf({ ...tried, trials, stopped: 'time' });
    assert.match(words, /estimated highest 443 op\/s \(.*\)\. 443 op\/s failed once\.$/);
    const said =
      'run at 443/s failed: held 93.1 %, below 98 %; to be made again with 10 operations in flight per wallet instead of 5, as operations were dropped; the time was over';
    assert.ok(reasons.includes(said), reasons.join('\n'));
    const made = answerOf({ ...tried, trials: [...trials, failed(443)], stopped: 'time' });
    assert.doesNotMatch([made.words, ...(made.reasons ?? [])].join('\n'), /to be made again|failed once/);
  });

  it('says whether a failure that does not count was above what held', () => {
    const again = (/** @type {number} */ value) => ({ ...failed(value), again: 'as the endpoint was away' });
    const of = (/** @type {number} */ value) =>
      answerOf({ ...tried, trials: [again(value), trial(410)], stopped: 'time' }).words;
    assert.equal(of(290), 'Not done: holds at least 410 op/s; no failure counts.');
    assert.equal(of(494), 'Not done: holds at least 410 op/s; the failures above it do not count.');
  });

  it('names one limit of a run, with the evidence of the verdict that says the same', () => {
    const limited = (/** @type {string} */ words, /** @type {string} */ name) =>
      answerOf({
        ...tried,
        trials: [
          trial(410),
          { ...failed(494, { words, isOurs: false }), verdict: { name, evidence: 'what was seen' } },
          failed(616),
        ],
      }).reasons;
    const start = 'nearest run that failed, at 494/s: held 93.1 %, below 98 %;';
    assert.ok(limited('blocks are full', 'generator-bound')?.includes(`${start} blocks are full`));
    assert.ok(limited('the node fell behind', 'node-bound')?.includes(`${start} the node fell behind: what was seen`));
  });

  it('a run that met a limit on our side is no evidence: without another that failed there is no answer', () => {
    const ours = { words: 'the generator was the limit', isOurs: true };
    const most = answerOf({ ...tried, trials: [trial(410), failed(494, ours), failed(550, ours), failed(601, ours)] });
    assert.equal(most.words, 'Holds at least 410 op/s; the highest is not found: the generator was the limit.');
    assert.deepEqual([most.estimate, most.low, most.high, most.limit], [null, null, null, ours.words]);
    assert.deepEqual([most.done, most.held], [false, 410]);
    for (const trials of [
      [trial(410), failed(494, ours), failed(550), failed(616)],
      [trial(410), failed(494), failed(616), failed(900, ours), failed(1800, ours), failed(3600, ours)],
    ])
      assert.match(answerOf({ ...tried, trials }).words, /holds 410 op\/s; estimated highest 443 op\/s/i);
    const between = [trial(410), failed(420, ours), failed(616)];
    assert.match(answerOf({ ...tried, trials: between, stopped: 'limit' }).words, /^Holds at least 410 op\/s; the h/);
  });

  it('names a failure below a rate that held, and holds the higher rate only if it is outweighed', () => {
    const trials = [trial(410), trial(649), failed(697), trial(703), failed(900)];
    const figures = { estimate: 773, low: 623, high: 1520 };
    const once = answerOf({ ...tried, trials, figures });
    assert.equal(once.held, 649);
    const below = (/** @type {string[] | undefined} */ reasons) =>
      reasons?.filter((line) => line.includes('failed, below one that held'));
    assert.deepEqual(below(once.reasons), [
      '697/s failed, below one that held: held 93.1 %, below 98 %; 1 run held there or above, 1 failed there or below: so this rate is not taken to hold',
    ]);
    const twice = answerOf({ ...tried, trials: [...trials, trial(703)], figures });
    assert.equal(twice.held, 703);
    assert.match(
      below(twice.reasons)?.[0] ?? '',
      /; 2 runs held there or above, 1 failed there or below: so the failures are taken for chance$/,
    );
  });

  it('names a run that held above the interval, and shows no estimate that is the rate of a run', () => {
    const trials = [trial(410), failed(500), failed(520), failed(540), trial(900)];
    const { high, reasons = [] } = answerOf({ ...tried, trials, figures: { estimate: 443, low: 400, high: 800 } });
    assert.equal(high, 540, 'three runs failed up to 540, and one held above');
    assert.ok(reasons.some((line) => line.startsWith('900/s held, above the interval; 1 run held there or above')));
    const { words } = answerOf({
      ...tried,
      trials: [failed(494)],
      end: 'noise',
      figures: { ...tried.figures, estimate: 494.2 },
    });
    assert.doesNotMatch(words, /estimated/);
  });

  it('has an interval that contradicts no repeated result, whatever the distribution says', () => {
    const random = randomNumbers(7);
    for (let i = 0; i < 500; i += 1) {
      const trials = Array.from({ length: 12 }, () => {
        const value = Math.round(100 * (1 + random()));
        return random() < 0.5 ? trial(value) : failed(value);
      });
      const estimate = 100 * (1 + random());
      const figures = { estimate, low: estimate * (0.6 + 0.4 * random()), high: estimate * (1 + random()) };
      const { low, high, held, estimate: shown } = answerOf({ ...tried, trials, figures, end: 'noise' });
      assert.ok(low !== null && high !== null && shown !== null && low <= shown && shown <= high, `${low} to ${high}`);
      assert.ok(held === null || (held ?? 0) <= high, 'the rate that is named');
      for (const { value } of trials) {
        const { held: yes, failed: no } = votesOn(trials, value);
        if (yes - no >= 2)
          assert.ok(high >= value, `${value} holds by repeated runs, and the interval ends at ${high}`);
        if (no - yes >= 2)
          assert.ok(low <= value, `${value} fails by repeated runs, and the interval begins at ${low}`);
      }
    }
  });

  const threads = { name: 'threads', behind: '', short: ' threads' };
  const figures = { estimate: 1234, low: 1200, high: 1301 };
  const around = [trial(1234), failed(1301)];
  /** @type {Array<[Partial<Parameters<typeof answerOf>[0]>, string]>} */
  const table = [
    [{ end: 'at least' }, 'Holds at least 4,000 op/s, the end of the range.'],
    [{ end: 'below' }, 'Holds less than 1 op/s, the start of the range.'],
    [{ trials: [trial(300), trial(310)] }, 'Not done: holds at least 310 op/s; no run failed.'],
    [
      { trials: [trial(310), trial(500, { holds: false, again: 'with more', failed: ['held 90 %'] })] },
      'Not done: holds at least 310 op/s; the failures above it do not count.',
    ],
    [{ trials: [failed(320), failed(310)] }, 'No run held. At 310 op/s, the lowest tried, held 93.1 %, below 98 %.'],
    [{ trials: [] }, 'not known yet: no run with a value of --rate was made'],
    [
      { figures, trials: [trial(1210), failed(1301)] },
      'Holds 1,210 op/s; estimated highest 1,230 op/s (95 % interval 1,190 to 1,300). 1,300 op/s fails: held 93.1 %, below 98 %.',
    ],
    [
      { figures, trials: [failed(1210), trial(1210), failed(1301)] },
      'No rate surely holds; estimated highest 1,230 op/s (95 % interval 1,190 to 1,300). 1,300 op/s fails: held 93.1 %, below 98 %.',
    ],
    [
      { figures, searched: threads, heldShare: 1, trials: around },
      'Holds 1,234 threads (95 % interval 1,234 to 1,301). 1,301 threads fails: held 93.1 %, below 98 %.',
    ],
  ];
  for (const [given, words] of table)
    it(words, () => {
      const answer = answerOf({ ...tried, ...given });
      assert.equal(answer.words, words);
      assert.ok(words.split(' ').length <= 25);
    });
});

describe('nextRate()', () => {
  const scale = { lowest: 1, guess: null };
  const trialAt = (/** @type {number} */ value, holds = false) => /** @type {any} */ ({ value, holds, failed: [] });

  it('goes down by two, then by four, while none held, as the first failure may be chance', () => {
    assert.equal(nextRate(50, [trialAt(421)], scale), 210);
    assert.equal(nextRate(300, [trialAt(421)], scale), 300);
    assert.equal(nextRate(10, [trialAt(421), trialAt(210)], scale), 52.5);
    assert.equal(nextRate(50, [trialAt(421), trialAt(40, true)], scale), 50, 'one held');
  });
});
