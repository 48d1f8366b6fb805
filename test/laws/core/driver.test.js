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
 * @import { Clock } from '../../../src/contracts/common.d.ts'
 * @import { Schedule } from '../../../src/contracts/load.d.ts'
 * @import { Operation } from '../../../src/core/operation.js'
 */

/**
 * @typedef {object} Options
 * @property {number} [wallets]
 * @property {number} [inFlight]
 * @property {Schedule | null} [schedule]
 * @property {() => number} [latenessMs] of each timer
 * @property {boolean} [isInstant] an operation ends as soon as it is begun
 * @property {'settle' | 'watch'} [bugIn] of recovery
 */

const START_US = 5_000_000;

/** @param {number} perSecond @param {Partial<Schedule>} [given] @returns {Schedule} */
function at(perSecond, given = {}) {
  const stages = [{ fromPerSecond: perSecond, toPerSecond: perSecond, durationUs: Infinity }];
  return { stages, arrival: 'uniform', seed: 1, ...given };
}

/** A driver whose operations are ended by the test. @param {Options} [options] */
function harness({ wallets = 2, inFlight = 1, schedule = null, latenessMs, isInstant, bugIn } = {}) {
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
  /** @type {Array<[string, Error | undefined]>} */
  const stops = [];
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
        /** @override */
        async settle() {
          if (bugIn === 'settle') throw new Error('a bug in settle');
          return true;
        }

        /** @override */
        async watch() {
          if (bugIn === 'watch') throw new Error('a bug in watch');
        }
      })(driver),
    onSample: () => {},
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
    dropped,
    begun,
    stops,
    verify,
    advance: byHand.advance,
    timers: byHand.pending,
    /** Advances time without running timers. @param {number} ms */
    stall: (ms) => void (stalledUs += ms * 1000),
    intended: () => begun.map(({ sample }) => sample.intendedAtUs - START_US),
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
  it('sets a timer again that fired early', async () => {
    const early = [0.004, 0, 0];
    const { driver, begun, advance } = harness({ schedule: at(100), latenessMs: () => -(early.shift() ?? 0) });
    driver.start(START_US, Infinity);
    await advance(9.997);
    assert.equal(begun.length, 1);
    await advance(0.003);
    assert.equal(begun.length, 2);
    assert.equal(begun[1].sample.intendedAtUs, START_US + 10_000);
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
    assert.equal(driver.walletSlotOf(accounts[0]).waitingStarts, 0);
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

  it('during a pause nothing is due, and the schedule goes on where it was', async () => {
    const { driver, begun, intended, dropped, advance } = harness({ wallets: 100, schedule: at(10) });
    /** @param {boolean} isHeld @param {number} ms */
    const hold = (isHeld, ms) => driver[isHeld ? 'hold' : 'release']('a', START_US + 1000 * ms);
    driver.start(START_US, START_US + 2_000_000);
    await advance(250);
    // The events were earlier than the messages.
    hold(true, 240);
    hold(true, 245);
    await advance(1000);
    driver.catchUp();
    assert.equal(begun.length, 3);
    hold(false, 1240);
    await advance(60);
    assert.deepEqual(intended(), [0, 100_000, 200_000, 1_300_000]);
    await advance(10_000);
    assert.deepEqual([begun.length, dropped], [10, []], 'the window ends when it would have ended');
  });
});

describe('Driver: a target for the pool', () => {
  it('starts as many as the pool lacks, less those under way to it', async () => {
    const { driver, begun } = harness({ wallets: 20 });
    /** @param {number | null} depth */
    const see = async (depth) => {
      driver.room(10 - (depth ?? 0), depth === null);
      await turn();
      return begun.length;
    };
    await see(7);
    assert.equal(begun.length, 0, 'not before the load');
    driver.start(START_US, Infinity);
    assert.equal(begun.length, 3);
    assert.equal(await see(7), 3, 'three are being submitted');
    begun.slice(0, 2).forEach((operation) => operation.endSubmission());
    assert.equal(await see(9), 3);
    assert.equal(await see(6), 6);
    assert.equal(await see(12), 6);
    assert.equal(await see(null), 10, 'without a depth what the node has taken of its own counts');
  });
});

it('the drain waits for live operations, and no longer', async () => {
  const { driver, begun, verify, timers } = harness({ wallets: 2 });
  driver.start(START_US, Infinity);
  driver.stop(START_US + 1);
  let isDrained = false;
  const drained = driver.drain(1000, new AbortController().signal).then(() => (isDrained = true));
  await verify(begun[0]);
  assert.equal(isDrained, false);
  await verify(begun[1]);
  await drained;
  assert.equal(timers(), 0);
});

it('a bug in an operation, in recovery, in the overdue check or in onSample ends the run with its message', async () => {
  const inOperation = harness({ wallets: 1 });
  inOperation.driver.start(START_US, Infinity);
  inOperation.begun[0].error = new Error('x is not a function');
  inOperation.begun[0].end('failed', 'internal', START_US);
  const inRepair = harness({ wallets: 1, bugIn: 'settle' });
  inRepair.driver.start(START_US, Infinity);
  inRepair.begun[0].end('failed', 'reverted', START_US);
  const inWatch = harness({ bugIn: 'watch' });
  inWatch.driver.start(START_US, Infinity);
  await turn();
  const inSample = harness({ wallets: 1 });
  inSample.driver.options.onSample = () => assert.fail('no sample');
  inSample.driver.start(START_US, Infinity);
  inSample.begun[0].end('verified', null, START_US);
  const stops = [inOperation, inRepair, inWatch, inSample].map((each) => each.stops.map(String));
  assert.deepEqual(stops, [
    ['internal,InternalError: x is not a function'],
    ['internal,Error: a bug in settle'],
    ['internal,Error: a bug in watch'],
    ['internal,AssertionError [ERR_ASSERTION]: no sample'],
  ]);
});
