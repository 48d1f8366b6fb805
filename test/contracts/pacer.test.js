/** What every pacer must be: a pure function of an operation's number, the same in every thread, and exact over hours. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { arrivals, createPacer, shares } from '../../src/core/pacer.js';

/**
 * @import { Arrival, RateStage } from '../../src/contracts/load.d.ts'
 * @import { Pacer } from '../../src/core/pacer.js'
 * @import { Arbitrary } from 'fast-check'
 */

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
