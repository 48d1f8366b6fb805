import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Health, Monitor } from '../../../src/chain/endpoint-health.js';
import { ProtocolError, TransportError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/** @import { CheckIdentity, Fault } from '../../../src/chain/endpoint-health.js' */

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
  /** Of the monitor that is made next. @type {CheckIdentity} */
  let checkIdentity = async () => null;
  beforeEach(() => void (checkIdentity = async () => null));

  /** @param {Array<(second: number) => unknown>} answers to eth_blockNumber */
  function monitored(...answers) {
    const clock = createFakeClock();
    const startUs = clock.nowUs();
    const health = new Health(answers.length, clock);
    const rpcs = answers.map((answer) =>
      fakeRpc({ eth_blockNumber: () => answer(Math.round((clock.nowUs() - startUs) / 1e6)) }),
    );
    const monitor = new Monitor({ rpcs, health, clock, checkIdentity: (...all) => checkIdentity(...all) });
    /** @type {string[]} */
    const said = [];
    health.onEvent = ({ endpoint, isBack, words }) => said.push(`${endpoint} ${isBack ? 'back' : 'left'}: ${words}`);
    monitor.begin();
    return { clock, health, monitor, said };
  }

  const nonsense = (/** @type {number} */ status) =>
    new ProtocolError(`http://fake answered HTTP ${status} without JSON-RPC`, undefined, status);
  /** @type {Record<string, () => unknown>} */
  const WAYS = {
    '-': lose,
    '.': () => new Promise(() => {}),
    n: () => assert.fail(nonsense(500)),
    b: () => assert.fail(nonsense(429)),
  };

  const NO_JSON = 'it answered HTTP 500 without JSON-RPC';
  const BEHIND = 'left: it is behind the others';
  const REORG = [
    ...[`1 ${BEHIND}`, '0 left: connection refused', '1 back: after 3.0 s', '0 back: after 2.0 s'],
    ...[`1 ${BEHIND}`, '1 back: after 7.0 s', `0 ${BEHIND}`],
  ];
  /** What each endpoint answers to the request of each second: its head, or one of WAYS; what is said. @type {Array<[string, string[], string[]]>} */
  const rows = [
    ['an outage and its length', ['555---55'], ['0 left: connection refused', '0 back: after 3.0 s']],
    ['nothing of a single response that is nonsense', ['555nn555'], []],
    ['nonsense until a valid response', ['5nnnnb5'], [`0 left: ${NO_JSON}`, '0 back: after 3.0 s']],
    ['nonsense does not end an outage', ['5-nbnb5'], ['0 left: connection refused', '0 back: after 5.0 s']],
    ['no response, falling behind', ['123456', '......', '111111'], [`2 ${BEHIND}`, '1 left: no answer within 5 s']],
    ['one that falls behind, while the other answers; a reorg', ['9aaaaaa--aaaaaaa88', '999999999999999999'], REORG],
    ['nothing of one that is ahead for a moment', ['123456789', '012345678'], []],
  ];
  for (const [name, answers, expected] of rows)
    it(name, async () => {
      const ways = answers.map((text) => (/** @type {number} */ second) => {
        const now = text[Math.min(text.length - 1, second)];
        return WAYS[now]?.() ?? `0x${now}`;
      });
      const { clock, said, monitor } = monitored(...ways);
      await clock.advance(answers[0].length * 1000 - 500);
      assert.deepEqual(said, expected);
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

  it('uses an endpoint of the chain again, and reports another chain once; its head does not count', async () => {
    /** @type {Fault | null} */
    let finding = { why: 'it serves another chain now', isOther: true };
    const isOther = () => finding !== null;
    const { clock, health, said, monitor } = monitored(
      () => '0x5',
      (second) => (second === 2 ? lose() : second > 2 && isOther() ? '0xfff' : '0x5'),
    );
    checkIdentity = async (index) => (index === 1 ? finding : null);
    await clock.advance(12_500);
    assert.deepEqual([health.isUp(0), health.isUp(1)], [true, false]);
    assert.deepEqual(said, ['1 left: connection refused', '1 left: it serves another chain now']);
    finding = null;
    await clock.advance(1500);
    assert.equal(health.isUp(1), true);
    assert.match(said[2], /^1 back/);
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
