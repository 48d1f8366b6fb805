import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { Wallet } from '../../../src/chain/keys.js';
import { Driver } from '../../../src/core/driver.js';
import { Account } from '../../../src/core/nonces.js';
import { createPacer } from '../../../src/core/pacer.js';
import { Recovery } from '../../../src/core/recovery.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';

/**
 * @import { Clock, Sample, Schedule } from '../../../src/contracts/load.d.ts'
 * @import { Operation } from '../../../src/core/operation.js'
 */

/**
 * @typedef {object} Options
 * @property {number} [wallets]
 * @property {number} [inFlight]
 * @property {Schedule | null} [schedule]
 * @property {() => number} [latenessMs] of each timer
 * @property {boolean} [isInstant] an operation ends as soon as it is begun
 * @property {boolean} [isWatchBroken]
 */

const START_US = 5_000_000;

/** @param {number} perSecond @param {Partial<Schedule>} [given] @returns {Schedule} */
function at(perSecond, given = {}) {
  const stages = [{ fromPerSecond: perSecond, toPerSecond: perSecond, durationUs: Infinity }];
  return { stages, arrival: 'uniform', seed: 1, ...given };
}

/** A driver whose operations are ended by the test. @param {Options} [options] */
function harness({ wallets = 2, inFlight = 1, schedule = null, latenessMs, isInstant, isWatchBroken } = {}) {
  const byHand = createFakeClock({ startUs: START_US });
  let stalledUs = 0;
  /** @type {Clock} */
  const clock = {
    ...byHand,
    nowUs: () => byHand.nowUs() + stalledUs,
    after: (callback, ms) => byHand.after(callback, ms + (latenessMs?.() ?? 0)),
  };
  const accounts = Array.from({ length: wallets }, (_, i) => new Account(i, Wallet.withoutKey(10 + i)));
  const recorder = new Recorder(
    accounts.map(({ wallet }) => wallet.index),
    START_US,
  );
  /** Scheduled times of dropped operations. @type {number[]} */
  const dropped = [];
  const drop = recorder.drop.bind(recorder);
  recorder.drop = (dueUs) => {
    dropped.push(dueUs);
    drop(dueUs);
  };
  /** All started operations, in order. @type {Operation[]} */
  const begun = [];
  /**
   * Recoveries in order.
   * @type {Array<{operation: Operation, done: (isUsable: boolean) => Promise<void>, fail: (error: Error) => Promise<void>}>}
   */
  const recoveries = [];
  /** @type {Array<[string, Error | undefined]>} */
  const stops = [];
  /** @type {Sample[]} */
  const samples = [];
  /** @type {AbortSignal | null} */
  let watchSignal = null;
  const driver = new Driver({
    clock,
    accounts,
    inFlight,
    recorder,
    pacer: createPacer(schedule),
    run: (operation) => {
      begun.push(operation);
      if (begun.length > 10_000) throw new Error('the test starts too much');
      if (isInstant) operation.end('verified', null, clock.nowUs());
    },
    recoveryOf: (driver) =>
      new (class extends Recovery {
        /** @override @param {Operation} operation @returns {Promise<boolean>} */
        settle(operation) {
          return new Promise((resolve, reject) => {
            recoveries.push({
              operation,
              done: async (isUsable) => (resolve(isUsable), await turn(), void (await turn())),
              fail: async (error) => (reject(error), void (await turn())),
            });
          });
        }

        /** @override */
        async watch() {
          watchSignal = driver.drained;
          if (isWatchBroken) throw new Error('the watch is broken');
        }
      })(driver),
    onSample: (sample) => samples.push(sample),
    onStop: (reason, error) => stops.push([reason, error]),
  });
  /** @param {Operation[]} operations */
  const verify = async (...operations) => {
    for (const operation of operations) operation.end('verified', null, clock.nowUs());
    await turn();
  };
  return {
    clock,
    driver,
    accounts,
    recorder,
    dropped,
    begun,
    recoveries,
    stops,
    samples,
    verify,
    advance: byHand.advance,
    timers: byHand.pending,
    watchSignal: () => watchSignal ?? assert.fail('no signal is watched in this test'),
    /** Advances time without running timers. @param {number} ms */
    stall: (ms) => void (stalledUs += ms * 1000),
    /** @param {Operation} operation */
    fail: (operation) => operation.end('failed', 'reverted', clock.nowUs()),
    intended: () => begun.map(({ intendedAtUs }) => intendedAtUs - START_US),
    assertConserved: () => {
      const inFlightBy = new Map();
      for (const { account } of driver.live) {
        inFlightBy.set(account.position, (inFlightBy.get(account.position) ?? 0) + 1);
      }
      recorder.assertConservation(inFlightBy);
    },
  };
}

describe('Driver: closed loop', () => {
  it('operations that end at once do not block the event loop', async () => {
    const { driver, begun } = harness({ wallets: 1, isInstant: true });
    driver.start(START_US, Infinity);
    const counts = [begun.length];
    for (let turns = 1; turns < 4; turns += 1) {
      await turn();
      counts.push(begun.length);
    }
    driver.stop(START_US);
    assert.deepEqual(counts, [256, 512, 768, 1024]);
  });

  it('starts what is due at the end of the window, nothing after it; stop() starts nothing', async () => {
    const { driver, verify, begun, advance } = harness({ wallets: 1 });
    driver.start(START_US, START_US + 1000);
    await advance(1);
    await verify(begun[0]);
    assert.equal(begun.length, 2);
    await advance(1);
    await verify(begun[1]);
    assert.equal(begun.length, 2);
    driver.stop(START_US + 2000);
    await turn();
    assert.equal(begun.length, 2);
  });
});

describe('Driver: open loop', () => {
  it('the intended time is that of the schedule, however late timers are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 40, noNaN: true }), { minLength: 1, maxLength: 20 }),
        fc.constantFrom('uniform', /** @type {const} */ ('poisson')),
        fc.integer({ min: 1, max: 10_000 }),
        async (latenesses, arrival, seed) => {
          let asked = 0;
          const schedule = at(333.3, { arrival, seed });
          const { driver, begun, intended, advance, dropped, recorder } = harness({
            wallets: 1,
            schedule,
            isInstant: true,
            latenessMs: () => latenesses[asked++ % latenesses.length],
          });
          driver.start(START_US, Infinity);
          await advance(300);
          driver.stop(START_US + 300_000);
          const pacer = createPacer(schedule);
          const wanted = Array.from({ length: 400 }, (_, n) => pacer.dueUs(n)).filter((us) => us < 300_000);
          assert.deepEqual(intended(), wanted);
          assert.deepEqual(dropped, []);
          for (const { intendedAtUs, startedAtUs } of begun) assert.ok(startedAtUs >= intendedAtUs);
          assert.equal(recorder.counts.scheduled, wanted.length);
        },
      ),
      { seed: 4, numRuns: 40 },
    );
  });

  it('sets a timer again that fired early', async () => {
    const early = [0.004, 0, 0];
    const { driver, begun, advance } = harness({ schedule: at(100), latenessMs: () => -(early.shift() ?? 0) });
    driver.start(START_US, Infinity);
    await advance(9.997);
    assert.equal(begun.length, 1);
    await advance(0.003);
    assert.equal(begun.length, 2);
    assert.equal(begun[1].intendedAtUs, START_US + 10_000);
  });

  it('over many stalls started plus dropped equals the schedule at any time', async () => {
    const steps = fc.array(
      fc.record({ stallMs: fc.nat({ max: 2000 }), ms: fc.nat({ max: 300 }), ended: fc.nat({ max: 20 }) }),
      { minLength: 1, maxLength: 15 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 30 }), async (list, wallets) => {
        const schedule = at(70, { arrival: 'poisson', seed: wallets });
        const { driver, begun, stall, advance, dropped, clock, verify, intended, assertConserved } = harness({
          wallets,
          schedule,
        });
        driver.start(START_US, Infinity);
        for (const { stallMs, ms, ended } of list) {
          stall(stallMs);
          await advance(ms);
          await verify(...[...driver.live].slice(0, ended));
          driver.catchUp();
          const pacer = createPacer(schedule);
          /** @type {number[]} */
          const owed = [];
          const nowUs = clock.nowUs() - START_US;
          for (let us = pacer.dueUs(0); us <= nowUs; us = pacer.dueUs(owed.length)) owed.push(us);
          const all = [...intended(), ...dropped.map((us) => us - START_US)].sort((a, b) => a - b);
          assert.deepEqual(all, owed);
          assert.ok(driver.live.size <= wallets);
          assertConserved();
        }
        assert.equal(new Set(begun).size, begun.length);
      }),
      { seed: 5, numRuns: 40 },
    );
  });

  it('submits at most 16 of one wallet at a time; the next after a response', async () => {
    const { driver, begun, verify, accounts } = harness({ wallets: 1, inFlight: 40 });
    driver.start(START_US, Infinity);
    await turn();
    assert.equal(begun.length, 16);
    for (const operation of begun.slice(0, 5)) operation.endSubmission();
    await turn();
    assert.equal(begun.length, 21);
    // The end of an operation already submitted frees no submission.
    await verify(begun[0]);
    assert.equal(begun.length, 21);
    // The end of an operation in submission does.
    await verify(begun[20]);
    assert.equal(begun.length, 22);
    for (let i = 1; i < begun.length && begun.length < 60; i += 1) {
      begun[i].endSubmission();
      await turn();
    }
    assert.equal(driver.live.size, 40, 'as many as may be in flight');
    assert.deepEqual([accounts[0].submitting, accounts[0].waitingStarts], [accounts[0].submitting, 0]);
  });

  it('splits a wait that exceeds the longest timer', async () => {
    const { driver, begun, clock } = harness({ wallets: 1, schedule: at(1e-7) });
    /** @type {number[]} */
    const waitsMs = [];
    const { after } = clock;
    clock.after = (callback, ms) => (waitsMs.push(ms), after(callback, ms));
    driver.start(START_US, Infinity);
    await turn();
    assert.equal(begun.length, 1);
    assert.deepEqual(waitsMs, [2 ** 31 - 1]);
  });

  it('stop() starts all that was due before the end, and nothing due at or after it', async () => {
    const { driver, begun, stall, intended, dropped, advance, timers } = harness({ wallets: 5000, schedule: at(1000) });
    driver.start(START_US, Infinity);
    stall(3000);
    driver.stop(START_US + 2500_000);
    assert.equal(begun.length, 2500, 'more than the 256 of a turn');
    assert.equal(intended().at(-1), 2_499_000);
    assert.deepEqual(dropped, []);
    await advance(10_000);
    assert.equal(begun.length, 2500);
    assert.equal(timers(), 0, 'nothing is waited for');
  });

  it('catchUp() starts what is due in this turn; nothing in a closed loop', async () => {
    const open = harness({ wallets: 600, schedule: at(1000) });
    open.driver.start(START_US, Infinity);
    open.stall(500);
    open.driver.catchUp();
    assert.equal(open.begun.length, 501);
    const closed = harness({ wallets: 600 });
    closed.driver.start(START_US, Infinity);
    closed.driver.catchUp();
    assert.equal(closed.begun.length, 256);
  });
});

describe('Driver: recovery', () => {
  it('counts failures in a row until one is verified; keeps the first message per code', async () => {
    const { driver, begun, fail, recoveries, accounts, verify } = harness({ wallets: 1 });
    driver.start(START_US, Infinity);
    for (const words of ['a', 'b']) {
      const operation = begun.at(-1) ?? assert.fail();
      operation.error = new Error(words);
      fail(operation);
      accounts[0].settle(operation.nonce, 'used');
      await recoveries.at(-1)?.done(true);
    }
    assert.equal(accounts[0].failuresInRow, 2);
    assert.deepEqual(driver.failureWords, { reverted: 'a' });
    await verify(begun[2]);
    assert.equal(accounts[0].failuresInRow, 0);
  });

  it('any order of failures, ends and recoveries: the allowed number is in flight once all is settled', async () => {
    /** What happens to an operation or recovery, by index. */
    const steps = fc.array(
      fc.record({ kind: fc.constantFrom('verify', 'fail', 'recover', 'retire'), place: fc.nat({ max: 50 }) }),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), fc.boolean(), async (list, inFlight, isOpen) => {
        const wallets = 3;
        const schedule = isOpen ? at(10_000) : null;
        const { driver, recoveries, fail, accounts, assertConserved, advance, stops } = harness({
          wallets,
          inFlight,
          schedule,
        });
        /** @type {typeof recoveries} */
        const settled = [];
        const settle = async (/** @type {typeof recoveries[number]} */ one, /** @type {boolean} */ isUsable) => {
          settled.push(one);
          one.operation.account.settle(one.operation.nonce, 'used');
          await one.done(isUsable);
        };
        const open = () => recoveries.filter((one) => !settled.includes(one));
        driver.start(START_US, Infinity);
        for (const { kind, place } of list) {
          const live = [...driver.live];
          const operation = live[place % live.length];
          const one = open()[place % open().length];
          if (kind === 'verify') operation?.end('verified', null, driver.options.clock.nowUs());
          else if (kind === 'fail' && operation !== undefined) fail(operation);
          else if (one !== undefined) await settle(one, kind !== 'retire');
          await advance(1);
          assertConserved();
          for (const account of accounts) {
            const mine = [...driver.live].filter((each) => each.account === account);
            const asleep = open().filter((each) => each.operation.account === account).length;
            assert.ok(mine.length + asleep <= inFlight, `${mine.length} live and ${asleep} recoveries`);
            assert.equal(account.recovering, asleep);
            // No two live operations have the same nonce.
            assert.equal(new Set(mine.map(({ nonce }) => nonce)).size, mine.length);
          }
        }
        for (const one of open()) await settle(one, true);
        for (let ms = 0; ms < 5; ms += 1) await advance(10);
        for (const account of accounts) {
          const live = [...driver.live].filter((each) => each.account === account).length;
          if (!account.isRetired) assert.equal(live, inFlight, 'nothing that may be in flight was lost, or won');
        }
        const retired = accounts.filter((account) => account.isRetired).length;
        equalBy(stops, ([reason]) => reason, retired === wallets ? ['no_wallets'] : []);
      }),
      { seed: 6, numRuns: 150 },
    );
  });
});

describe('Driver: the drain', () => {
  it('waits for live operations within the time limit', async () => {
    const { driver, begun, verify, recorder, watchSignal } = harness({ wallets: 2 });
    driver.start(START_US, Infinity);
    driver.stop(START_US + 1);
    let isDrained = false;
    const drained = driver.drain(1000, new AbortController().signal).then(() => (isDrained = true));
    await verify(begun[0]);
    assert.equal(isDrained, false);
    assert.equal(watchSignal().aborted, false, 'what is overdue is still looked after');
    await verify(begun[1]);
    await drained;
    assert.equal(watchSignal().aborted, true);
    assert.equal(recorder.counts.verified, 2);
    assert.equal(recorder.counts.abandoned, 0);
  });

  it('ends at once without live operations', async () => {
    const { driver, begun, verify, timers } = harness({ wallets: 1 });
    driver.start(START_US, Infinity);
    driver.stop(START_US);
    await verify(...begun);
    await driver.drain(1000, new AbortController().signal);
    assert.equal(timers(), 0);
  });
});

describe('Driver: bugs in stress end the run', () => {
  it('in an operation, with its message', async () => {
    const { driver, begun, stops } = harness({ wallets: 1 });
    driver.start(START_US, Infinity);
    begun[0].error = new Error('x is not a function');
    begun[0].end('failed', 'internal', START_US);
    assert.equal(stops[0][0], 'internal');
    assert.match(String(stops[0][1]?.message), /x is not a function/);
  });

  it('in recovery, in the overdue check, in onSample', async () => {
    const inRepair = harness({ wallets: 1 });
    inRepair.driver.start(START_US, Infinity);
    inRepair.fail(inRepair.begun[0]);
    await inRepair.recoveries[0].fail(new Error('no repair'));
    const inWatch = harness({ isWatchBroken: true });
    inWatch.driver.start(START_US, Infinity);
    await turn();
    const inSample = harness({ wallets: 1 });
    inSample.driver.options.onSample = () => assert.fail('no sample');
    inSample.driver.start(START_US, Infinity);
    inSample.begun[0].end('verified', null, START_US);
    const stops = [inRepair, inWatch, inSample].flatMap((each) => each.stops.map((stop) => stop[1]?.message));
    assert.deepEqual(stops, ['no repair', 'the watch is broken', 'no sample']);
  });
});
