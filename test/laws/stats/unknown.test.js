/** unknown(why): arithmetic keeps it, thresholds fail on it, and the run file has null and the reason. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { figureNames, figureOf } from '../../../src/stats/figures.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { checkThresholds, parseThreshold } from '../../../src/stats/thresholds.js';
import {
  asMembers,
  computed,
  isUnknown,
  orNull,
  orUnknown,
  product,
  ratio,
  sum,
  unknown,
} from '../../../src/stats/unknown.js';
import { distributionOf, rowOf, runFileOf } from '../../helpers/samples.js';

/** @import { RunFile, Unknown } from '../../../src/contracts/run-file.d.ts' */

const value = fc.oneof(fc.integer(), fc.constant(unknown('not read')), fc.constant(unknown('no answer')));

describe('unknown(why)', () => {
  it('is what becomes of it in any arithmetic: the first reason is kept, and no number comes of it', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), (values) => {
        const first = values.find(isUnknown);
        const results = [
          sum(...values),
          product(...values),
          computed(() => 0, ...values),
          ratio(values[0], values.at(-1) ?? 1, 'of nothing'),
        ];
        for (const result of first === undefined ? [] : results.slice(0, 3)) assert.equal(result, first);
        for (const result of first === undefined ? results.slice(0, 3) : []) assert.equal(typeof result, 'number');
      }),
    );
    assert.deepEqual([sum(1, 2, 3), product(2, 3, 4), ratio(1, 2, '')], [6, 24, 0.5]);
  });

  it('is a share of nothing, with a reason', () => {
    assert.deepEqual({ .../** @type {Unknown} */ (ratio(0, 0, 'nothing was due')) }, { ...unknown('nothing was due') });
  });

  it('is null in the run file, and its reason has the pointer of the member', () => {
    const why = unknown('not read');
    const tree = {
      a: why,
      b: { 'c/d~e': why, f: 0 },
      list: [{ tps: why }, { tps: 1 }],
      text: 'x',
      none: orUnknown(null, 'x'),
    };
    assert.deepEqual(asMembers(tree, '/part'), {
      members: { a: null, b: { 'c/d~e': null, f: 0 }, list: [{ tps: null }, { tps: 1 }], text: 'x', none: null },
      unmeasured: {
        '/part/a': 'not read',
        '/part/b/c~1d~0e': 'not read',
        '/part/list/0/tps': 'not read',
        '/part/none': 'x',
      },
    });
    assert.deepEqual([orNull(why), orNull(0), isUnknown({ why: 'a text' })], [null, 0, false]);
  });

  it('fails a threshold with any operator, and says why', () => {
    const recorder = new Recorder([0], 0);
    recorder.closeWindow(0);
    const run = runFileOf({ stats: recorder.rest(), durationUs: 0, intervals: [] });
    const unit = (/** @type {string} */ name) =>
      ({ us: '1s', bytes: '1MB', percent: '1%', gas: '1', gasPerSecond: '1', perSecond: '1', count: '1' })[
        figureOf(name)?.unit ?? 'count'
      ];
    // Memory is not of the window.
    for (const name of figureNames().filter((one) => one !== 'rss')) {
      const texts = ['<', '<=', '>', '>=', '=', '!='].map((operator) => `${name}${operator}${unit(name)}`);
      for (const { passed, value: found, why, expression } of checkThresholds(texts.map(parseThreshold), run))
        assert.ok(!passed && found === null && /\S/.test(why ?? ''), `${expression}: ${found}, ${why}`);
    }
  });
});

describe('the figure held', () => {
  /** @param {number[]} latencies of four rows @param {Partial<RunFile>} given */
  const heldOf = (latencies, given) => {
    const run = runFileOf({
      intervals: latencies.map((us, i) =>
        rowOf({ startMs: 2500 * i, endMs: 2500 * i + 2500, latency: distributionOf(us) }),
      ),
    });
    const [first] = run.latency.halves;
    const rates = { ...run.rates, askedPerSecond: 100, achievedPerSecond: 100 };
    const halves = [
      { count: 4, sumUs: 4e6 },
      { ...first, count: 0, sumUs: 0 },
    ];
    const window = { ...run.window, durationMs: 10_000 };
    return figureOf('held')?.read({ ...run, rates, window, latency: { ...run.latency, halves }, ...given });
  };

  it('of a run without a planned end counts the growth of its rows; without rows it is unknown', () => {
    const growing = [1e6, 2e6, 3e6, 4e6];
    // By 2 s in 5 s: of 1.4 operations one is served.
    for (const end of /** @type {const} */ (['interrupted', 'iterations', 'duration']))
      assert.equal(Math.round(Number(heldOf(growing, { end }))), Math.round(100 / 1.4), end);
    assert.equal(heldOf([1e6, 1e6, 1e6, 1e6], { end: 'interrupted' }), 100);
    assert.ok(isUnknown(heldOf([], { end: 'interrupted', intervals: [] })));
    // A second half without any answer is in the share that was achieved.
    assert.equal(heldOf([], { end: 'duration', intervals: [] }), 100);
  });
});
