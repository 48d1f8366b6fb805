import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Health, Monitor } from '../../../src/chain/endpoint-health.js';
import { ProtocolError, TransportError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/** A request was lost. */
const LOST = Object.freeze({ why: 'a request to it was lost' });

/** A request that is lost. @returns {never} */
function lose() {
  throw new TransportError('http://fake: connection refused', 'refused');
}

/** Number and milliseconds of the outages of the first endpoint. @param {Health} health */
const totals = (health) =>
  health.facts([{ requests: 0, failures: 0 }], 0).flatMap(({ left, awayMs }) => [left, awayMs]);

describe('Monitor', () => {
  /** @param {Array<() => unknown>} answers to eth_blockNumber */
  function monitored(...answers) {
    const clock = createFakeClock();
    const health = new Health(answers.length, clock);
    const rpcs = answers.map((answer) => fakeRpc({ eth_blockNumber: answer }));
    const monitor = new Monitor({ rpcs, health, clock });
    /** @type {string[]} */
    const said = [];
    health.onEvent = ({ endpoint, isBack, words }) => said.push(`${endpoint} ${isBack ? 'back' : 'left'}: ${words}`);
    monitor.begin();
    const areUp = () => answers.map((_, i) => health.isUp(i));
    return { clock, health, areUp, monitor, said };
  }

  it('reports outages and their length', async () => {
    let isThere = true;
    const { clock, health, monitor, said } = monitored(() => (isThere ? '0x5' : lose()));
    await clock.advance(2500);
    isThere = false;
    await clock.advance(1000);
    assert.equal(health.isUp(0), false);
    await clock.advance(2000);
    isThere = true;
    await clock.advance(2000);
    assert.equal(health.isUp(0), true);
    assert.deepEqual(said, ['0 left: connection refused', '0 back: after 3.0 s']);
    assert.deepEqual(totals(health), [1, 3000]);
    monitor.stop();
  });

  it('an outage of all begins with the first request without a response', async () => {
    let areThere = true;
    const late = () => (areThere ? '0x5' : new Promise(() => {}));
    const { clock, health, monitor, said } = monitored(late, () => (areThere ? '0x5' : lose()));
    await clock.advance(2500);
    areThere = false;
    await clock.advance(10_000);
    areThere = true;
    await clock.advance(2000);
    assert.deepEqual(said.slice(0, 2), ['1 left: connection refused', '0 left: no answer within 5 s']);
    const [{ fromMs, toMs, words }, ...others] = health.outages(0);
    assert.deepEqual([words, others], ['no answer within 5 s', []]);
    assert.equal(Math.round((toMs ?? 0) - fromMs), 10_000);
    monitor.stop();
  });

  it('asks once more, because the first request may wait behind others of ours', async () => {
    let asked = 0;
    const { clock, said, monitor } = monitored(() => {
      asked += 1;
      return asked % 2 === 1 ? new Promise(() => {}) : '0x5';
    });
    await clock.advance(10_000);
    assert.deepEqual(said, []);
    assert.ok(asked >= 4);
    monitor.stop();
  });

  it('reads a response that arrived while this process was blocked', async () => {
    const { clock, said, monitor } = monitored(async () => {
      await Promise.resolve();
      await clock.sleep(5050);
      return '0x5';
    });
    await clock.advance(6000);
    assert.deepEqual(said, []);
    monitor.stop();
  });

  it('enters an outage found by a request, and uses the endpoint again when it answers', async () => {
    const { clock, health, monitor, said } = monitored(() => '0x5');
    await clock.advance(500);
    health.open(0, LOST);
    await clock.advance(200);
    // Counted before the next check.
    assert.deepEqual(totals(health), [1, 200]);
    await clock.advance(800);
    assert.equal(health.isUp(0), true);
    assert.deepEqual(said, ['0 left: a request to it was lost', '0 back: after 0.5 s']);
    assert.deepEqual(totals(health), [1, 500]);
    monitor.stop();
  });

  it('enters nothing after stop()', async () => {
    let isThere = true;
    const { clock, monitor, said } = monitored(() => (isThere ? '0x5' : lose()));
    await clock.advance(2200);
    monitor.stop();
    isThere = false;
    await clock.advance(3000);
    assert.deepEqual(said, []);
  });

  it('repeated invalid responses mean down, until a valid one', async () => {
    /** @type {Error | null} */
    let nonsense = null;
    const { clock, health, said } = monitored(() => {
      if (nonsense !== null) throw nonsense;
      return '0x5';
    });
    await clock.advance(500);
    nonsense = new ProtocolError('http://fake answered HTTP 500 without JSON-RPC', undefined, 500);
    await clock.advance(2000);
    assert.equal(health.isUp(0), true);
    await clock.advance(3000);
    assert.equal(health.isUp(0), false);
    nonsense = null;
    await clock.advance(1000);
    assert.equal(health.isUp(0), true);
    // Such a response does not end an outage.
    health.open(0, LOST);
    nonsense = new ProtocolError('http://fake answered HTTP 429 without JSON-RPC', undefined, 429);
    await clock.advance(1000);
    assert.equal(health.isUp(0), false);
    assert.deepEqual(said, [
      '0 left: it answered HTTP 500 without JSON-RPC',
      '0 back: after 3.0 s',
      '0 left: a request to it was lost',
    ]);
  });

  it('down without a response in five seconds; behind if it falls behind', async () => {
    let head = 5;
    const late = () => new Promise(() => {});
    const ways = [() => `0x${(head += 1).toString(16)}`, late, () => '0x5'];
    const { clock, areUp, monitor, said } = monitored(...ways);
    await clock.advance(4000);
    assert.deepEqual(areUp(), [true, true, false]);
    await clock.advance(1100);
    assert.deepEqual(areUp(), [true, false, false]);
    assert.deepEqual(said, ['2 left: it is behind the others', '1 left: no answer within 5 s']);
    monitor.stop();
  });

  it('behind: without a block that another endpoint has had for three seconds, for as long as that one answers', async () => {
    let head = 9;
    let isThere = true;
    const first = () => (isThere ? `0x${head.toString(16)}` : lose());
    const { clock, areUp, monitor } = monitored(first, () => '0x9');
    await clock.advance(500);
    head = 10;
    await clock.advance(3000);
    assert.equal(areUp()[1], true);
    await clock.advance(1500);
    assert.deepEqual(areUp(), [true, false]);
    isThere = false;
    await clock.advance(2000);
    assert.deepEqual(areUp(), [false, true]);
    // A reorg: the other one is no longer ahead.
    isThere = true;
    await clock.advance(4500);
    assert.equal(areUp()[1], false);
    head = 8;
    await clock.advance(1500);
    assert.equal(areUp()[1], true);
    monitor.stop();
  });

  it('an endpoint that is ahead for a moment does not make others behind', async () => {
    let second = 0;
    const headOf = (/** @type {number} */ ahead) => () => `0x${(second * 10 + ahead).toString(16)}`;
    const { clock, said, monitor } = monitored(headOf(10), headOf(0));
    for (; second < 20; second += 1) await clock.advance(1000);
    assert.deepEqual(said, []);
    monitor.stop();
  });

  it('waits until all endpoints that are up have the newest block', async () => {
    let slow = 3;
    const ways = [() => '0x9', () => `0x${slow}`, lose];
    const { clock, monitor } = monitored(...ways);
    let isLevel = false;
    void monitor.waitUntilSynced(new AbortController().signal).then(() => (isLevel = true));
    await clock.advance(1000);
    assert.equal(isLevel, false);
    slow = 9;
    await clock.advance(100);
    assert.equal(isLevel, true);
    monitor.stop();
  });
});
