import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NOISES, simulate } from '../../../scripts/simulate-compare.js';
import { randomNumbers } from '../../../src/random.js';
import { PairedSequence, decidingAlpha, fewestPairs, sequencesOf } from '../../../src/studies/sequential.js';
import { standardDeviation } from '../../../src/studies/statistics.js';
import { normal } from '../../../scripts/noise.js';
import { equalBy } from '../../helpers/equal-by.js';

/** @param {readonly number[]} ratios @param {ConstructorParameters<typeof PairedSequence>[0]} [options] */
function sequenceOf(ratios, options) {
  const sequence = new PairedSequence(options);
  ratios.forEach((ratio) => sequence.add(ratio));
  return sequence;
}

/** Deviations without a trend. @param {number} pairs @param {number} size */
function ripples(pairs, size) {
  return Array.from({ length: pairs }, (_, i) => size * Math.sin(1 + 2.4 * i));
}

describe('PairedSequence', () => {
  const SIZES = [0.01, 0.3, 0.02, 0, 0.05, 0.011, 0.04, 2, 0.02, 0.03];

  for (const theta of [0, -0.03, 0.4])
    it(`bets fairly against a log ratio of ${theta}: over all outcomes of the coin the mean wealth is 1`, () => {
      const alpha = 0.2;
      const outcomes = 2 ** SIZES.length;
      let [sum, reached] = [0, 0];
      for (let coins = 0; coins < outcomes; coins += 1) {
        const sequence = new PairedSequence({ alpha });
        let most = 0;
        SIZES.forEach((size, i) => {
          sequence.add(theta + ((coins >> i) & 1 ? size : -size));
          most = Math.max(most, sequence.wealth(theta));
        });
        sum += sequence.wealth(theta);
        if (most >= 1 / alpha) reached += 1;
        if (most < 1 / alpha) {
          const { low, high } = sequence.interval();
          assert.ok(low <= theta && theta <= high, 'what is not rejected is in the interval');
        }
      }
      assert.ok(Math.abs(sum / outcomes - 1) < 1e-9, `${sum / outcomes}`);
      assert.ok(reached > 0 && reached / outcomes <= alpha, `${reached} of ${outcomes}`);
    });

  it('shows a large difference in six pairs, the fewest that can, whatever their order', () => {
    const ratios = ripples(6, 0.02).map((ripple) => Math.log(1.5) + ripple);
    equalBy([5, 6], (pairs) => sequenceOf(ratios.slice(0, pairs)).decision(), [null, 'different']);
    const { low, high } = sequenceOf(ratios).interval();
    assert.ok(low > 0 && high < 0.6);
    const mirrored = sequenceOf(ratios.map((ratio) => -ratio));
    assert.equal(mirrored.decision(), 'different');
    assert.ok(Math.abs(mirrored.estimate() + sequenceOf(ratios).estimate()) < 1e-12);
    assert.ok(mirrored.p() <= 0.05);
  });

  it('has an interval of at most four times the spread where the difference is ten times the noise, in few pairs', () => {
    for (const [figures, fewest] of [
      [1, 5],
      [7, 8],
    ]) {
      const alpha = decidingAlpha(figures);
      assert.equal(fewestPairs(alpha), fewest);
      for (let seed = 0; seed < 40; seed += 1) {
        const next = normal(randomNumbers(seed));
        const ratios = Array.from({ length: fewest + 2 }, () => -0.3 + 0.03 * next());
        assert.equal(sequenceOf(ratios.slice(0, fewest - 1), { alpha }).change().low, null, 'no bound before');
        const sequence = sequenceOf(ratios, { alpha });
        const { low, high } = sequence.interval();
        assert.equal(sequence.decision(), 'different');
        assert.ok(high - low <= 4 * standardDeviation(ratios), `${figures} figures, seed ${seed}: ${high - low}`);
      }
    }
  });

  it('shows that there is no difference that matters, and not more than that', () => {
    const ratios = ripples(40, 0.02);
    const equal = sequenceOf(ratios, { equivalent: 0.02 });
    assert.equal(equal.decision(), 'equivalent');
    assert.equal(sequenceOf(ratios, { equivalent: 0.001 }).decision(), null);
    assert.equal(sequenceOf(ratios.slice(0, 4), { equivalent: 0.5 }).decision(), null);
    assert.deepEqual(sequenceOf(ratios.slice(0, 4)).change().low, null, 'no bound');
    assert.ok(equal.p() > 0.05);
  });

  it('has an interval that only becomes narrower, with the estimate in it', () => {
    const sequence = new PairedSequence();
    let before = sequence.interval();
    for (const ratio of [...ripples(20, 0.05), 3, ...ripples(20, 0.4), -2]) {
      sequence.add(ratio);
      const { low, high } = sequence.interval();
      assert.ok(low >= before.low && high <= before.high && low <= high);
      const estimate = sequence.estimate();
      assert.ok(low <= estimate && estimate <= high);
      before = { low, high };
    }
    assert.ok(Number.isFinite(before.low) && Number.isFinite(before.high));
  });

  it('does not step over the values that are not rejected where these are close together, beside outliers', () => {
    const ratios = ripples(16, 1e-5).map((ripple, i) => (i === 4 ? -20 : i === 9 ? 20 : ripple - 0.7));
    const { low, high } = sequenceOf(ratios).interval();
    assert.ok(low < -0.7 && -0.7 < high && high < -0.69, `${low} to ${high}`);
  });

  it('keeps an interval if no value is left, because the ratio changes', () => {
    const { low, high } = sequenceOf([...ripples(12, 0.001), ...ripples(12, 0.001).map((x) => x + 1)]).interval();
    assert.ok(low <= high);
  });

  it('tells equal values, all of them 0, from a difference', () => {
    const sequence = sequenceOf(Array(8).fill(0), { equivalent: 0.02 });
    assert.deepEqual([sequence.decision(), sequence.estimate(), sequence.p()], ['equivalent', 0, 1]);
  });
});

describe('sequencesOf()', () => {
  const doubled = ripples(6, 0.02).map((ripple) => Math.log(2) + ripple);
  const equal = ripples(6, 0.02);
  /** @param {number[][]} ratios */
  const decisions = (...ratios) => sequencesOf(ratios, 1, 0).map((sequence) => sequence.decision());

  it('shows seven figures that all changed in six pairs: they do not pay for each other', () => {
    assert.deepEqual(decisions(...Array(7).fill(doubled)), Array(7).fill('different'));
    const [, other] = sequencesOf(Array(7).fill(doubled), 1, 0);
    assert.ok(other.p() <= 0.05 && other.interval().low > 0, 'the interval agrees');
  });

  it('does not let one changed figure among equal ones pass for less than the whole correction', () => {
    assert.deepEqual(decisions(equal, doubled, equal, equal), Array(4).fill(null));
    const longer = [...ripples(12, 0.02)];
    const late = longer.map((ripple) => Math.log(2) + ripple);
    assert.deepEqual(decisions(longer, late, longer, longer), [null, 'different', null, null]);
  });

  it('shows anything of equal figures in at most one of twenty outcomes of the coin', () => {
    const sizes = [0.02, 0.03, 0.025, 0.02, 0.031, 0.022, 0.027, 0.024];
    let alarms = 0;
    for (let coins = 0; coins < 2 ** sizes.length; coins += 1) {
      const ratios = sizes.map((size, i) => ((coins >> i) & 1 ? size : -size));
      const figures = [ratios, ratios.map((x) => 3 * x), ratios.map((x, i) => x * (1 + i)), ratios.map((x) => -x)];
      if (decisions(...figures).some((decision) => decision !== null)) alarms += 1;
    }
    assert.ok(alarms > 0 && alarms / 2 ** sizes.length <= 0.05, String(alarms));
  });
});

/** scripts/simulate-compare.js makes the figures of docs/studies.md; here is a part of them. */
describe('simulated comparisons until sure', () => {
  const TRIALS = 60;
  for (const noise of Object.keys(NOISES))
    it(`of equal sides are seldom wrong: ${noise}`, () => {
      const runs = Array.from({ length: TRIALS }, (_, seed) => simulate(noise, { seed, change: 0 }));
      const wrong = runs.filter(({ decision, isMissed }) => decision === 'different' || isMissed).length;
      assert.ok(wrong <= 8, `${wrong} of ${TRIALS}`);
      assert.ok(runs.filter(({ decision }) => decision === 'equivalent').length > 0.8 * TRIALS);
    });
});
