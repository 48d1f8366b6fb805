import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NOISES, bisectOnce } from '../../../scripts/simulate-bisect.js';
import { randomNumbers } from '../../../src/random.js';
import { Bisection } from '../../../src/studies/bisection.js';

const LOSS = 0.08;

/** @param {Bisection} bisection @param {number} first the first bad position @param {number} most pairs */
function follow(bisection, first, most = 200) {
  const random = randomNumbers(3);
  /** @type {number[]} */
  const positions = [];
  for (;;) {
    const next = bisection.next();
    if ('reason' in next || positions.length === most) return { end: next, positions };
    positions.push(next.position);
    bisection.add(next.position, (next.position >= first ? LOSS : 0) + 0.02 * (random() - 0.5));
  }
}

describe('Bisection', () => {
  it('first makes sure that the bad commit is worse, then names the first bad one', () => {
    for (const first of [1, 2, 33, 64]) {
      const { end, positions } = follow(new Bisection(64, 0.02), first);
      assert.ok('reason' in end);
      assert.deepEqual([end.reason, end.from, end.to], ['found', first, first]);
      assert.ok(end.probability >= 0.95);
      assert.deepEqual(positions.slice(0, 3), [64, 64, 64]);
      assert.ok(positions.length < 40, `${positions.length} pairs`);
    }
  });

  it('gives the probabilities of Bayes: all positions between two measured ones the same', () => {
    const bisection = new Bisection(8, 0.02);
    for (let i = 0; i < 6; i += 1) bisection.add(8, LOSS + 0.001 * i);
    bisection.add(4, 0.001);
    const { probabilities, none } = bisection.figures();
    assert.ok(Math.abs(probabilities.reduce((sum, p) => sum + p, none) - 1) < 1e-9);
    assert.equal(probabilities[0], probabilities[3]);
    assert.equal(probabilities[4], probabilities[7]);
    assert.ok(probabilities[4] > 10 * probabilities[0], 'position 4 was good');
  });

  it('is not decided by one run that lies', () => {
    const bisection = new Bisection(8, 0.02);
    for (let i = 0; i < 8; i += 1) bisection.add(8, LOSS + 0.01 * Math.sin(9 * i));
    bisection.add(4, 0.5);
    const { probabilities } = bisection.figures();
    assert.ok(probabilities.slice(4).reduce((sum, p) => sum + p, 0) > 0.05);
  });

  it('names a range where the commits within cannot be measured', () => {
    const bisection = new Bisection(16, 0.02);
    for (const position of [6, 7, 8]) bisection.skip(position);
    const { end, positions } = follow(bisection, 7);
    assert.ok('reason' in end);
    assert.deepEqual([end.reason, end.from, end.to], ['range', 6, 9]);
    assert.ok(!positions.some((position) => position >= 6 && position <= 8));
  });

  it('says that the bad commit is not worse, or better', () => {
    assert.equal(Reflect.get(follow(new Bisection(64, 0.02), 65).end, 'reason'), 'equal');
    const swapped = new Bisection(64, 0.02);
    for (let i = 0; i < 10; i += 1) swapped.add(64, -0.1 - 0.001 * i);
    assert.equal(Reflect.get(swapped.next(), 'reason'), 'better');
  });

  it('says what is known where no more pairs can be made', () => {
    const bisection = new Bisection(64, 0.02);
    assert.equal(bisection.limit().reason, 'undecided');
    follow(bisection, 20, 12);
    const { reason, from, to, probability } = bisection.limit();
    assert.ok(reason === 'range' && from <= 20 && to >= 20 && to - from < 63 && probability >= 0.95);
  });

  // scripts/simulate-bisect.js does this with thousands.
  it('is right in nearly all simulated bisections', () => {
    const random = randomNumbers(22);
    for (const noise of Object.keys(NOISES)) {
      const ends = Array.from({ length: 8 }, () => bisectOnce({ noise, scale: 0.03, loss: LOSS, random, commits: 16 }));
      assert.ok(ends.filter(({ isRight }) => isRight).length >= 7, noise);
      assert.ok(ends.filter(({ reason }) => reason === 'found').length >= 6, noise);
    }
  });
});
