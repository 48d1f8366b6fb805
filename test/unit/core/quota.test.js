import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Wallet } from '../../../src/chain/keys.js';
import { Driver, Quota } from '../../../src/core/driver.js';
import { Account } from '../../../src/core/nonces.js';
import { createPacer } from '../../../src/core/pacer.js';
import { Recorder } from '../../../src/stats/recorder.js';
import { createFakeClock } from '../../helpers/clock.js';

/**
 * @import { DriverOptions } from '../../../src/core/driver.js'
 * @import { Operation } from '../../../src/core/operation.js'
 */

describe('Quota', () => {
  it('is spent when each wallet has used its own or is retired', () => {
    const quota = new Quota(2, 2);
    for (const position of [0, 0, 1]) quota.take(position);
    assert.deepEqual([quota.isSpentOf(0), quota.isSpentOf(1), quota.isSpent], [true, false, false]);
    quota.forfeit(0);
    assert.equal(quota.isSpent, false);
    quota.forfeit(1);
    assert.equal(quota.isSpent, true);
  });

  it('without a limit it is never spent', () => {
    const quota = new Quota(2, Infinity);
    quota.take(0);
    quota.forfeit(0);
    assert.deepEqual([quota.isSpentOf(0), quota.isSpentOf(1), quota.isSpent], [true, false, false]);
  });
});

/**
 * Two wallets whose operations take 10 ms.
 * @param {Partial<DriverOptions> & {perSecond?: number, recover?: () => Promise<string | null>, outcome?: 'verified' | 'failed'}}
 *   options
 */
function harness({ perSecond, recover = async () => null, outcome = 'verified', ...options }) {
  const clock = createFakeClock({ startUs: 0 });
  const accounts = [0, 1].map((i) => new Account(i, Wallet.withoutKey(i)));
  const recorder = new Recorder([0, 1], 0);
  /** @type {Array<[number, number]>} */
  const begun = [];
  /** @type {Array<[string, number]>} */
  const stops = [];
  const stages = [{ fromPerSecond: perSecond ?? 0, toPerSecond: perSecond ?? 0, durationUs: Infinity }];
  const driver = new Driver({
    clock,
    accounts,
    inFlight: 1,
    recorder,
    ...options,
    pacer: createPacer(perSecond === undefined ? null : { stages, arrival: 'uniform', seed: 1 }),
    kind: /** @type {any} */ ({
      run: (/** @type {Operation} */ operation) => {
        begun.push([operation.account.position, clock.nowUs() / 1000]);
        clock.after(() => operation.end(outcome, outcome === 'failed' ? 'rpc_error' : null, clock.nowUs()), 10);
      },
      recover,
      recordInclusion: () => {},
      watchOverdue: async () => {},
    }),
    onSample: () => {},
    onStop: (reason) => stops.push([reason, clock.nowUs() / 1000]),
  });
  driver.start(0, Infinity);
  const advance = async (/** @type {number} */ ms) => {
    for (let i = 0; i < ms; i += 5) {
      await clock.advance(5);
      await turn();
    }
  };
  const beginningsOf = (/** @type {number} */ position) =>
    begun.filter(([one]) => one === position).map(([, ms]) => ms);
  return { driver, recorder, begun, stops, advance, beginningsOf };
}

describe('Driver: iterations', () => {
  it('each wallet does its own, and the run ends with the last one', async () => {
    const { begun, stops, advance, beginningsOf, recorder } = harness({ operationsEach: 3 });
    await advance(25);
    assert.equal(stops.length, 0);
    await advance(200);
    assert.deepEqual([beginningsOf(0).length, beginningsOf(1).length], [3, 3]);
    assert.deepEqual(
      stops.map(([reason]) => reason),
      ['iterations'],
    );
    assert.ok(stops[0][1] >= 30 && stops[0][1] <= 60, String(stops[0][1]));
    assert.equal(recorder.counts.verified, begun.length);
  });

  it('open loop: nothing is dropped afterwards', async () => {
    const { stops, advance, recorder } = harness({ operationsEach: 2, perSecond: 50 });
    await advance(1000);
    assert.deepEqual([recorder.counts.started, recorder.counts.dropped], [4, 0]);
    assert.deepEqual(
      stops.map(([reason]) => reason),
      ['iterations'],
    );
  });

  it('failures count, and a retired wallet is not waited for', async () => {
    let recoveries = 0;
    const { stops, advance, begun } = harness({
      operationsEach: 3,
      outcome: 'failed',
      recover: async () => ((recoveries += 1) === 1 ? 'it has no funds left' : null),
    });
    await advance(300);
    assert.equal(begun.length, 4);
    assert.deepEqual(
      stops.map(([reason]) => reason),
      ['iterations'],
    );
  });
});

describe('Driver: think time', () => {
  it('pauses between iterations, not within one', async () => {
    const { advance, beginningsOf } = harness({ thinkTimeMs: 100, perIteration: 2 });
    await advance(260);
    const [a, b, c, d, e] = beginningsOf(0);
    assert.ok(b - a <= 20, 'the second call of an iteration comes at once');
    assert.ok(c - b >= 110 && c - b <= 125, `${c - b}`);
    assert.ok(d - c <= 20);
    assert.ok(e - d >= 110);
  });

  it('is the same after failed calls', async () => {
    const { advance, beginningsOf } = harness({ thinkTimeMs: 100, perIteration: 2, outcome: 'failed' });
    await advance(260);
    const [a, b, c, d] = beginningsOf(0);
    assert.ok(b - a <= 20, 'within an iteration it goes on');
    assert.ok(c - b >= 110 && c - b <= 125, `${c - b}`);
    assert.ok(d - c <= 20);
  });

  it('ends with the load', async () => {
    const { driver, advance, begun } = harness({ thinkTimeMs: 100 });
    await advance(20);
    driver.stop(20_000);
    await advance(300);
    assert.equal(begun.length, 2);
  });
});
