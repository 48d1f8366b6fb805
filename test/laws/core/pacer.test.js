/** What every pacer must be: a pure function of an operation's number, the same in every thread, and exact over hours. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { arrivals, createPacer, operationsOf, scheduleOf, shares } from '../../../src/core/pacer.js';
import { newSeed } from '../../../src/core/platform.js';

/**
 * @import { Arrival, RateStage } from '../../../src/contracts/load.d.ts'
 * @import { Pacer } from '../../../src/core/pacer.js'
 * @import { Arbitrary } from 'fast-check'
 */

/** @param {number} fromPerSecond @param {number} toPerSecond @param {number} seconds @returns {RateStage} */
const ramp = (fromPerSecond, toPerSecond, seconds) => ({ fromPerSecond, toPerSecond, durationUs: seconds * 1e6 });

/** @param {number} perSecond @param {number} [seconds] */
const constant = (perSecond, seconds = Infinity) => ramp(perSecond, perSecond, seconds);

/**
 * @typedef {{from: number, to: number, ms: number}} Plan rates in thousandths of an operation per second
 */

/** @param {Plan} plan @returns {RateStage} */
const stageOf = ({ from, to, ms }) => ({ fromPerSecond: from / 1000, toPerSecond: to / 1000, durationUs: ms * 1000 });

/** Thousandths, so that there are rates that no double holds. @param {number} max */
const rate = (max) => fc.oneof(fc.constantFrom(0, 1, 700, 333_300, 1000), fc.nat({ max }));

/** @param {number} maxRate @param {number} maxMs @returns {Arbitrary<Plan[]>} */
const plansOf = (maxRate, maxMs) =>
  fc.array(
    fc.record({ from: rate(maxRate), to: rate(maxRate), ms: fc.integer({ min: 1, max: maxMs }) }).chain((plan) =>
      // Half of them are constant.
      fc.constantFrom(plan, { ...plan, to: plan.from }),
    ),
    { minLength: 1, maxLength: 6 },
  );

/** Millionths of operations that the plans ask for, exactly, times two. @param {Plan[]} plans */
const twiceMillionths = (plans) => plans.reduce((sum, { from, to, ms }) => sum + BigInt(from + to) * BigInt(ms), 0n);

/** How many are owed by an instant. @param {Plan[]} plans @param {number} atUs */
function owedBy(plans, atUs) {
  let startUs = 0;
  let owed = 0;
  for (const { fromPerSecond: a, toPerSecond: b, durationUs } of plans.map(stageOf)) {
    const t = Math.min(Math.max(atUs - startUs, 0), durationUs) / 1e6;
    owed += a * t + ((b - a) / (durationUs / 1e6) / 2) * t * t;
    startUs += durationUs;
  }
  return owed;
}

/** @param {Pacer} pacer @returns {number[]} */
function allDues(pacer) {
  const dues = [];
  for (let us = pacer.dueUs(0); us < Infinity; us = pacer.dueUs(dues.length)) dues.push(us);
  return dues;
}

for (const arrival of /** @type {Arrival[]} */ (Object.keys(arrivals))) {
  describe(`pacer ${arrival}`, () => {
    const endOf = (/** @type {Plan[]} */ plans) => plans.reduce((sum, { ms }) => sum + ms * 1000, 0);

    it('instants are whole microseconds within the schedule, none before the one before it; then there are none', () => {
      fc.assert(
        fc.property(plansOf(2_000_000, 2000), fc.nat(), (plans, seed) => {
          const pacer = createPacer({ stages: plans.map(stageOf), arrival, seed });
          assert.equal(pacer.isOpen, true);
          const dues = allDues(pacer);
          for (const [i, us] of dues.entries()) {
            assert.ok(Number.isInteger(us) && us >= (dues[i - 1] ?? 0) && us <= endOf(plans), `${i}: ${us}`);
          }
          for (const more of [0, 1, 1000]) assert.equal(pacer.dueUs(dues.length + more), Infinity);
        }),
        { seed: 10, numRuns: 60 },
      );
    });

    it('threads share it without asking each other: together they are the whole, and each has its own part', () => {
      fc.assert(
        fc.property(
          plansOf(2_000_000, 1000),
          fc.nat(),
          fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 7 }),
          (plans, seed, wallets) => {
            const schedule = { stages: plans.map(stageOf), arrival, seed };
            const whole = allDues(createPacer(schedule));
            const parts = shares(wallets);
            for (const [index, { numbers, of }] of parts.entries()) {
              assert.equal(numbers.length, wallets[index], 'each wallet once in a round');
              assert.deepEqual(
                allDues(createPacer(schedule, parts[index])),
                whole.filter((_, i) => numbers.includes(i % of)),
              );
            }
            const all = parts.flatMap(({ numbers }) => numbers).sort((a, b) => a - b);
            const ordinals = Array.from(all, (_, i) => i);
            assert.deepEqual(all, ordinals, 'each operation is that of one thread');
          },
        ),
        { seed: 10, numRuns: 60 },
      );
    });
  });
}

describe('pacer uniform: over hours', () => {
  const DAY_MS = 86_400_000;

  it('the number is that of the integral, exactly', () => {
    fc.assert(
      fc.property(plansOf(1_000_000_000, DAY_MS), (plans) => {
        const stages = plans.map(stageOf);
        const endUs = plans.reduce((sum, { ms }) => sum + ms * 1000, 0);
        const twice = twiceMillionths(plans);
        const wanted = Number((twice + 1_999_999n) / 2_000_000n);
        if (wanted === 0) return void assert.ok(createPacer({ stages, arrival: 'uniform', seed: 1 }).dueUs(0) >= endUs);
        const pacer = createPacer({ stages, arrival: 'uniform', seed: 1 });
        // An instant is a whole microsecond: what is due in the last half of one is due at the end, where nothing is.
        const part = Number(twice % 2_000_000n) / 2_000_000;
        const lastHalfUs = owedBy(plans, endUs) - owedBy(plans, endUs - 0.5);
        const isOnEdge = part > 0 && part <= lastHalfUs * 1.01 + 1e-6;
        if (!isOnEdge) assert.ok(pacer.dueUs(wanted - 1) < endUs, `${wanted - 1} is due at ${pacer.dueUs(wanted - 1)}`);
        else if (wanted > 1) assert.ok(pacer.dueUs(wanted - 2) < endUs);
        assert.ok(pacer.dueUs(wanted) >= endUs, `${wanted} is due at ${pacer.dueUs(wanted)}, before ${endUs}`);
      }),
      { seed: 12, numRuns: 3000 },
    );
  });

  it('each is due when as many are owed as were due before it', () => {
    fc.assert(
      fc.property(plansOf(1_000_000, DAY_MS), fc.array(fc.double({ min: 0, max: 1, noNaN: true })), (plans, parts) => {
        const pacer = createPacer({ stages: plans.map(stageOf), arrival: 'uniform', seed: 1 });
        const all = Number(twiceMillionths(plans)) / 2e6;
        const ordinals = parts.map((part) => Math.floor(part * all)).sort((a, b) => a - b);
        for (const n of ordinals) {
          const us = pacer.dueUs(n);
          if (us === Infinity) return; // the very last
          // A double holds a day's operations to a millionth.
          assert.ok(owedBy(plans, us - 1) <= n + 1e-5, `${n} is due later than it is owed`);
          assert.ok(owedBy(plans, us + 1) >= n - 1e-5, `${n} is due before it is owed`);
        }
      }),
      { seed: 13, numRuns: 500 },
    );
  });
});

it('pacer closed: an operation is due whenever a wallet is idle', () => {
  const pacer = createPacer(null);
  assert.equal(pacer.isOpen, false);
  assert.deepEqual([0, 1, 1e9].map(pacer.dueUs), [0, 0, 0]);
});

it('stages follow each other; a pause has none; the last one may be endless', () => {
  const stages = [constant(2, 1), constant(0, 10), ramp(0, 4, 1), constant(4)];
  const pacer = createPacer({ stages, arrival: 'uniform', seed: 1 });
  assert.deepEqual(
    Array.from({ length: 7 }, (_, i) => pacer.dueUs(i)),
    [0, 500_000, 11_000_000, 11_707_107, 12_000_000, 12_250_000, 12_500_000],
  );
  assert.equal(pacer.dueUs(4_000_004), 12_000_000 + 4e12 / 4);
});

it('operationsOf(): is the integral of the rate', () => {
  assert.equal(operationsOf([]), 0);
  assert.equal(operationsOf([constant(0, 100)]), 0);
  assert.equal(operationsOf([ramp(0, 100, 30), constant(100, 60), ramp(100, 0, 10)]), 1500 + 6000 + 500);
  assert.equal(operationsOf([constant(5)]), Infinity);
});

const SEEDS = [1, 2, 42, 0x7fffffff, 0xdeadbeef, 2 ** 32 - 1];
const COUNT = 50_000;

/** The gaps between operations. @param {number} seed */
function gapsOf(seed, count = COUNT) {
  const owed = arrivals.poisson(seed);
  let last = 0;
  return Array.from({ length: count }, (_, i) => {
    const at = owed(i);
    const gap = at - last;
    last = at;
    return gap;
  });
}

/** @param {number[]} values */
const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('arrivals: poisson', () => {
  it('the gaps are exponential: Kolmogorov-Smirnov at 1 in 1,000', () => {
    for (const seed of SEEDS) {
      const sorted = gapsOf(seed).sort((a, b) => a - b);
      const distance = sorted.reduce((most, gap, i) => {
        const wanted = 1 - Math.exp(-gap);
        return Math.max(most, Math.abs(wanted - i / COUNT), Math.abs(wanted - (i + 1) / COUNT));
      }, 0);
      assert.ok(distance * Math.sqrt(COUNT) < 1.95, `seed ${seed}: ${distance * Math.sqrt(COUNT)}`);
    }
  });

  it('consecutive gaps are independent', () => {
    for (const seed of SEEDS) {
      const gaps = gapsOf(seed);
      for (const lag of [1, 2, 3, 10]) {
        const products = gaps.slice(lag).map((gap, i) => (gap - 1) * (gaps[i] - 1));
        assert.ok(Math.abs(meanOf(products)) < 4 / Math.sqrt(COUNT), `seed ${seed}, lag ${lag}: ${meanOf(products)}`);
      }
    }
  });

  it('the same seed gives the same times, another seed others; seed 0 works', () => {
    assert.deepEqual(gapsOf(7, 100), gapsOf(7, 100));
    assert.notDeepEqual(gapsOf(7, 100), gapsOf(8, 100));
    const zero = gapsOf(0, 1000);
    assert.equal(new Set(zero).size, 1000);
    for (const gap of zero) assert.ok(gap >= 0 && Number.isFinite(gap));
  });

  it('follows a ramp: the rescaled gaps are exponential too', () => {
    const pacer = createPacer({ stages: [ramp(0, 1000, 100)], arrival: 'poisson', seed: 99 });
    const owed = allDues(pacer).map((us) => 5 * (us / 1e6) ** 2);
    assert.ok(Math.abs(owed.length - 50_000) < 4 * Math.sqrt(50_000), `${owed.length} operations`);
    const sorted = owed.map((at, i) => at - (i === 0 ? 0 : owed[i - 1])).sort((a, b) => a - b);
    const n = sorted.length;
    const distance = sorted.reduce(
      (most, gap, i) => Math.max(most, Math.abs(1 - Math.exp(-gap) - (i + 0.5) / n) + 0.5 / n),
      0,
    );
    assert.ok(distance * Math.sqrt(n) < 1.95, String(distance * Math.sqrt(n)));
  });
});

/** @param {Partial<Parameters<typeof scheduleOf>[0]>} given */
const of = (given) => scheduleOf({ ratePerSecond: null, stages: null, arrival: null, warmupMs: 0, ...given }, 1);

describe('scheduleOf()', () => {
  it('null without a rate: closed loop', () => {
    assert.equal(of({}), null);
    assert.equal(of({ warmupMs: 5000 }), null);
  });

  it('a rate has no end', () => assert.deepEqual(of({ ratePerSecond: 7.5 })?.stages, [constant(7.5)]));

  it('a warm-up comes first, at the first rate of the window', () => {
    assert.deepEqual(of({ ratePerSecond: 7.5, warmupMs: 250 })?.stages, [constant(7.5, 0.25), constant(7.5)]);
    assert.deepEqual(of({ stages: [ramp(4, 10, 1)], warmupMs: 500 })?.stages, [constant(4, 0.5), ramp(4, 10, 1)]);
  });

  it('a warm-up does not move the stages', () => {
    const stages = [ramp(4, 10, 1), ramp(0, 5, 1)];
    const pacerOf = (/** @type {number} */ warmupMs) => createPacer(of({ stages, warmupMs }));
    const [cold, warm] = [pacerOf(0), pacerOf(500)];
    // Two operations are due in half a second at 4 per second.
    for (let n = 0; n < 12; n += 1) assert.equal(warm.dueUs(n + 2), cold.dueUs(n) + 500_000);
  });

  it('arrivals are uniform by default; a seed is drawn for each run', () => {
    assert.equal(of({ ratePerSecond: 1 })?.arrival, 'uniform');
    assert.equal(of({ ratePerSecond: 1, arrival: 'poisson' })?.arrival, 'poisson');
    assert.equal(of({ ratePerSecond: 1 })?.seed, 1);
    for (const random of [0, 0.5, 1 - 2 ** -53]) {
      const seed = newSeed(() => random);
      assert.ok(Number.isInteger(seed) && seed >= 1 && seed < 2 ** 32);
    }
    assert.notEqual(
      newSeed(() => 0.1),
      newSeed(() => 0.2),
    );
  });
});
