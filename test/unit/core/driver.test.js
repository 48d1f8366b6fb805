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

/**
 * @import { Clock, Sample } from '../../../src/types.d.ts'
 * @import { Operation } from '../../../src/core/operation.js'
 * @import { Schedule } from '../../../src/core/pacer.js'
 */

/**
 *
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
    /** @param {number} from */
    intended: (from = 0) => begun.slice(from).map(({ intendedAtUs }) => intendedAtUs - START_US),
    positions: (from = 0) => begun.slice(from).map(({ account }) => account.position),
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
  it('starts one operation per wallet at once, and the next when one ends', async () => {
    const { driver, verify, begun, positions, clock } = harness({ wallets: 3 });
    driver.start(START_US, Infinity);
    assert.deepEqual(positions(), [0, 1, 2]);
    assert.deepEqual(
      begun.map(({ nonce }) => nonce),
      [0, 0, 0],
    );
    await turn();
    assert.equal(begun.length, 3);
    await verify(begun[1]);
    assert.deepEqual(positions(3), [1]);
    assert.equal(begun[3].nonce, 1);
    assert.equal(begun[3].intendedAtUs, clock.nowUs());
    assert.equal(begun[3].startedAtUs, clock.nowUs());
  });

  it('in flight 3: all wallets once, then all again; never more than 3 each', async () => {
    const { driver, verify, begun, positions, assertConserved } = harness({ wallets: 3, inFlight: 3 });
    driver.start(START_US, Infinity);
    assert.deepEqual(positions(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert.deepEqual(
      begun.map(({ nonce }) => nonce),
      [0, 0, 0, 1, 1, 1, 2, 2, 2],
    );
    await verify(begun[4], begun[0], begun[7]); // of wallets 1, 0 and 1
    assert.deepEqual(positions(9), [1, 0, 1], 'in the order in which they became idle');
    assert.equal(driver.live.size, 9);
    assertConserved();
  });

  it('starts 256 per turn of the event loop', async () => {
    const { driver, begun } = harness({ wallets: 600 });
    driver.start(START_US, Infinity);
    assert.equal(begun.length, 256);
    await turn();
    assert.equal(begun.length, 512);
    await turn();
    assert.equal(begun.length, 600);
    await turn();
    assert.equal(begun.length, 600);
  });

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

  it('stop() before the end: live operations continue, no others start', async () => {
    const { driver, verify, begun, samples } = harness({ wallets: 2 });
    driver.start(START_US, Infinity);
    driver.stop(START_US);
    await verify(...begun);
    assert.equal(begun.length, 2);
    assert.equal(samples.length, 2);
    assert.equal(driver.live.size, 0);
  });

  it('each sample goes once to the recorder and to onSample', async () => {
    const { driver, verify, begun, samples, recorder } = harness({ wallets: 1 });
    driver.start(START_US, Infinity);
    await verify(begun[0]);
    begun[0].end('failed', 'late', 0);
    assert.equal(samples.length, 1);
    assert.equal(recorder.counts.verified, 1);
    assert.deepEqual(recorder.rest().failures, {});
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

  it('sets one timer at a time, for the next due operation', async () => {
    const { driver, begun, advance, timers } = harness({ wallets: 10, schedule: at(100) });
    driver.start(START_US, Infinity);
    assert.equal(begun.length, 1);
    assert.equal(timers(), 1);
    await advance(9.999);
    assert.equal(begun.length, 1);
    await advance(0.001);
    assert.equal(begun.length, 2);
    assert.equal(timers(), 1);
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

  it('after a stall starts exactly what is due, with the scheduled times', async () => {
    const { driver, begun, stall, advance, intended, dropped, recorder, clock } = harness({
      wallets: 1000,
      schedule: at(100),
    });
    driver.start(START_US, Infinity);
    await advance(50);
    assert.equal(begun.length, 6);
    stall(3000);
    await advance(10); // the timer that was set fires now
    assert.equal(clock.nowUs() - START_US, 3_060_000);
    assert.equal(begun.length, 307);
    assert.deepEqual(
      intended(),
      Array.from({ length: 307 }, (_, n) => n * 10_000),
    );
    assert.equal(begun[6].startedAtUs, START_US + 3_060_000, 'what was due long ago is begun now, and is late');
    assert.deepEqual(dropped, []);
    await advance(30);
    assert.equal(begun.length, 310, 'no more than the rate afterwards');
    assert.equal(recorder.counts.scheduled, 310);
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

  it('drops an operation without an idle wallet when it is due, and never starts it later', async () => {
    const { driver, begun, advance, dropped, verify, intended, recorder } = harness({ wallets: 2, schedule: at(100) });
    driver.start(START_US, Infinity);
    await advance(45);
    assert.deepEqual(intended(), [0, 10_000]);
    assert.deepEqual(
      dropped,
      [20_000, 30_000, 40_000].map((us) => us + START_US),
    );
    await verify(begun[0]);
    assert.equal(begun.length, 2, 'a wallet that is idle again waits for what is due next');
    await advance(10);
    assert.deepEqual(intended(), [0, 10_000, 50_000]);
    const { scheduled, started, dropped: lost } = recorder.counts;
    assert.deepEqual([scheduled, started, lost], [6, 3, 3]);
  });

  it('uses the wallet that has been idle longest', async () => {
    const { driver, begun, advance, positions, verify } = harness({ wallets: 3, schedule: at(100) });
    driver.start(START_US, Infinity);
    await advance(20);
    assert.deepEqual(positions(), [0, 1, 2]);
    await verify(begun[2]);
    await verify(begun[0], begun[1]);
    await advance(30);
    assert.deepEqual(positions(3), [2, 0, 1]);
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

  it('in flight 2: at most two live operations per wallet, all wallets first', async () => {
    const { driver, advance, positions, dropped } = harness({ wallets: 3, inFlight: 2, schedule: at(1000) });
    driver.start(START_US, Infinity);
    await advance(8);
    assert.deepEqual(positions(), [0, 1, 2, 0, 1, 2]);
    assert.equal(dropped.length, 3);
    assert.equal(driver.live.size, 6);
  });

  it('starts 256 per turn, however many are due; dropping is not limited', async () => {
    const { driver, begun, stall, advance, dropped } = harness({ wallets: 600, schedule: at(1000) });
    driver.start(START_US, Infinity);
    stall(999);
    const counts = [];
    const fired = advance(1);
    for (let turns = 0; turns < 6; turns += 1) {
      await turn();
      counts.push(begun.length);
    }
    await fired;
    assert.ok(counts.includes(257) && counts.includes(513), String(counts));
    assert.equal(begun.length, 600);
    assert.equal(dropped.length, 401);
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

  it('stop() clears the timer of the next due operation', async () => {
    const { driver, timers } = harness({ wallets: 10, schedule: at(100) });
    driver.start(START_US, Infinity);
    assert.equal(timers(), 1);
    driver.stop(START_US + 5000);
    assert.equal(timers(), 0);
  });

  it('a late stop() does not move the end; the earlier one counts', async () => {
    for (const [planned, stopped, wanted] of [
      [100_000, 200_000, 10],
      [100_000, 50_000, 5],
    ]) {
      const { driver, begun, stall, intended } = harness({ wallets: 100, schedule: at(100) });
      driver.start(START_US, START_US + planned);
      stall(300);
      driver.stop(START_US + stopped);
      assert.equal(begun.length, wanted);
      assert.equal(intended().at(-1), (wanted - 1) * 10_000);
    }
  });

  it('starts nothing after the end given to start(), even without stop()', async () => {
    const { driver, begun, advance } = harness({ wallets: 100, schedule: at(100) });
    driver.start(START_US, START_US + 100_000);
    await advance(1000);
    assert.equal(begun.length, 10);
  });

  it('starts nothing after the end of the schedule', async () => {
    const stages = [{ fromPerSecond: 100, toPerSecond: 100, durationUs: 50_000 }];
    const { driver, begun, advance, timers, stops } = harness({ wallets: 100, schedule: at(0, { stages }) });
    driver.start(START_US, Infinity);
    await advance(1000);
    assert.equal(begun.length, 5);
    assert.equal(timers(), 0);
    assert.deepEqual(stops, []);
  });

  it('a load that starts late begins with what was due meanwhile', async () => {
    const { driver, begun, intended } = harness({ wallets: 100, schedule: at(100) });
    driver.start(START_US - 50_000, Infinity);
    assert.equal(begun.length, 6);
    assert.equal(intended()[0], -50_000);
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
  it('a wallet starts nothing until its failed operation is settled', async () => {
    const { driver, begun, recoveries, fail, verify, positions } = harness({ wallets: 2, inFlight: 3 });
    driver.start(START_US, Infinity);
    assert.equal(begun.length, 6);
    const [first, , second, , third] = begun; // of wallet 0
    fail(first);
    assert.equal(recoveries.length, 1);
    assert.equal(recoveries[0].operation, first);
    assert.equal(first.account.slotOf(0)?.state, 'unresolved');
    await verify(second, third);
    assert.equal(begun.length, 6, 'those of the wallet that end meanwhile are held');
    await verify(begun[1]);
    assert.deepEqual(positions(6), [1], 'the other wallet goes on');
    assert.equal(driver.live.size, 3);

    first.account.settle(0, 'used');
    await recoveries[0].done(true);
    assert.deepEqual(positions(7), [0, 0, 0], 'as many as were held, and its own');
    assert.equal(driver.live.size, 6);
    assert.equal(first.account.heldStarts, 0);
    assert.equal(first.account.recovering, 0);
  });

  it('a second recovery of the wallet holds it as well', async () => {
    const { driver, begun, recoveries, fail, positions, assertConserved } = harness({ wallets: 1, inFlight: 3 });
    driver.start(START_US, Infinity);
    fail(begun[1]);
    fail(begun[0]);
    begun[0].account.settle(0, 'used');
    await recoveries[1].done(true);
    assert.equal(begun.length, 3);
    begun[0].account.settle(1, 'used');
    await recoveries[0].done(true);
    assert.deepEqual(positions(3), [0, 0]);
    assert.equal(driver.live.size, 3);
    assertConserved();
  });

  it('a free nonce is used by the next operation first', async () => {
    const { driver, begun, recoveries, fail, accounts } = harness({ wallets: 1, inFlight: 3 });
    driver.start(START_US, Infinity);
    fail(begun[1]);
    accounts[0].settle(1, 'free');
    await recoveries[0].done(true);
    assert.deepEqual(
      begun.map(({ nonce }) => nonce),
      [0, 1, 2, 1],
    );
  });

  it('counts failures in a row until one is verified; keeps the first message per code', async () => {
    const { driver, begun, fail, recoveries, accounts, verify } = harness({ wallets: 1 });
    driver.start(START_US, Infinity);
    for (const words of ['a', 'b']) {
      const operation = begun.at(-1) ?? assert.fail();
      operation.errorMessage = words;
      fail(operation);
      accounts[0].settle(operation.nonce, 'used');
      await recoveries.at(-1)?.done(true);
    }
    assert.equal(accounts[0].failuresInRow, 2);
    assert.deepEqual(driver.failureWords, { reverted: 'a' });
    await verify(begun[2]);
    assert.equal(accounts[0].failuresInRow, 0);
  });

  it('open loop: drops what is due meanwhile and keeps the rate afterwards', async () => {
    const { driver, begun, recoveries, fail, dropped, advance, accounts } = harness({
      wallets: 1,
      inFlight: 2,
      schedule: at(100),
    });
    driver.start(START_US, Infinity);
    fail(begun[0]);
    await advance(35);
    assert.equal(begun.length, 1);
    assert.equal(dropped.length, 3);
    assert.equal(accounts[0].heldStarts, 1, 'the other one that it may have in flight');
    accounts[0].settle(0, 'used');
    await recoveries[0].done(true);
    assert.equal(begun.length, 1);
    await advance(30);
    assert.equal(begun.length, 3);
    assert.equal(dropped.length, 4);
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
        assert.deepEqual(
          stops.map(([reason]) => reason),
          retired === wallets ? ['no_wallets'] : [],
        );
      }),
      { seed: 6, numRuns: 150 },
    );
  });

  it('after stop() recoveries are aborted and start nothing', async () => {
    const { driver, begun, recoveries, fail } = harness({ wallets: 2 });
    driver.start(START_US, Infinity);
    fail(begun[0]);
    assert.equal(driver.halted.aborted, false);
    driver.stop(START_US + 1000);
    assert.equal(driver.halted.aborted, true);
    await recoveries[0].done(true);
    assert.equal(begun.length, 2);
  });
});

describe('Driver: retired wallets', () => {
  it('are not used again while the others continue', async () => {
    const { driver, begun, recoveries, fail, accounts, verify, positions, stops } = harness({
      wallets: 2,
      inFlight: 2,
    });
    driver.start(START_US, Infinity);
    fail(begun[0]);
    accounts[0].settle(0, 'used');
    await recoveries[0].done(false);
    assert.equal(accounts[0].isRetired, true);
    await verify(begun[2], begun[1]); // of wallet 0, and of wallet 1
    assert.deepEqual(positions(4), [1]);
    assert.deepEqual(stops, []);
  });

  it('the run ends once when all are retired', async () => {
    const { driver, begun, recoveries, fail, stops } = harness({ wallets: 2, inFlight: 2 });
    driver.start(START_US, Infinity);
    for (const operation of begun.slice(0, 4)) fail(operation);
    for (const { done } of recoveries.slice(0, 4)) await done(false);
    assert.deepEqual(stops, [['no_wallets', undefined]]);
    assert.equal(driver.live.size, 0);
  });

  it('open loop: drops all that is due then', async () => {
    const { driver, begun, recoveries, fail, dropped, advance, stops } = harness({ wallets: 1, schedule: at(100) });
    driver.start(START_US, Infinity);
    fail(begun[0]);
    await recoveries[0].done(false);
    await advance(50);
    assert.deepEqual([begun.length, dropped.length], [1, 5]);
    assert.equal(stops[0][0], 'no_wallets');
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

  for (const how of /** @type {const} */ (['the time-out', 'the signal'])) {
    it(`${how} ends it and abandons live operations`, async () => {
      const { driver, begun, advance, recorder, samples, assertConserved } = harness({ wallets: 2, inFlight: 2 });
      driver.start(START_US, Infinity);
      driver.stop(START_US + 1);
      const now = new AbortController();
      const drained = driver.drain(1000, now.signal);
      begun[0].end('verified', null, START_US);
      if (how === 'the signal') now.abort();
      else await advance(1000);
      await drained;
      assert.equal(recorder.counts.abandoned, 3);
      assert.equal(driver.live.size, 0);
      assert.equal(samples.length, 4);
      assertConserved();
    });
  }

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
    const { driver, begun, fail, stops } = harness({ wallets: 1 });
    driver.start(START_US, Infinity);
    begun[0].bug = new Error('x is not a function');
    fail(begun[0]);
    assert.equal(stops[0][0], 'internal');
    assert.match(String(stops[0][1]?.message), /x is not a function/);
  });

  it('in recovery, in the overdue check, in onSample', async () => {
    const inRepair = harness({ wallets: 1 });
    inRepair.driver.start(START_US, Infinity);
    inRepair.fail(inRepair.begun[0]);
    await inRepair.recoveries[0].fail(new Error('no repair'));
    assert.deepEqual(
      inRepair.stops.map(([reason, error]) => [reason, error?.message]),
      [['internal', 'no repair']],
    );
    const inWatch = harness({ isWatchBroken: true });
    inWatch.driver.start(START_US, Infinity);
    await turn();
    assert.equal(inWatch.stops[0][1]?.message, 'the watch is broken');
    const inSample = harness({ wallets: 1 });
    inSample.driver.options.onSample = () => {
      throw new Error('no sample');
    };
    inSample.driver.start(START_US, Infinity);
    inSample.begun[0].end('verified', null, START_US);
    assert.equal(inSample.stops[0][1]?.message, 'no sample');
  });
});
