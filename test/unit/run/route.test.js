import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProtocolError, RpcError, TransportError } from '../../../src/errors.js';
import { AWAY, BEHIND, Health, Heads, UP, isGone } from '../../../src/run/health.js';
import { Monitor } from '../../../src/run/monitor.js';
import { Route, SPREADS, createRouter } from '../../../src/run/route.js';
import { workersOf } from '../../../src/run/hire.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/** @typedef {import('../../../src/run/health.js').State} State */
/** @typedef {import('../../../src/chain/rpc.js').Purpose} Purpose */

/** @param {State[]} states */
function healthOf(...states) {
  const health = Health.of(states.length);
  states.forEach((state, i) => health.set(i, state));
  return health;
}

/** @param {import('../../../src/run/route.js').Spread} spread @param {State[]} states @param {number} [home] */
const routeOf = (spread, states, home = 0) => new Route({ health: healthOf(...states), home, spread });

/** @param {Route} route @param {Purpose[]} purposes */
const ways = (route, ...purposes) => purposes.map((purpose) => route.next(purpose));

describe('which endpoint a request goes to', () => {
  it('sticky: all of a thread to its own, or to the next that is up', () => {
    /** @type {Purpose[]} */
    const purposes = ['submit', 'inclusion', 'readback', 'resolve', 'audit', 'setup', 'load'];
    const all = (/** @type {number} */ one) => purposes.map(() => one);
    assert.deepEqual(ways(routeOf('sticky', [UP, UP, UP], 1), ...purposes), all(1));
    assert.deepEqual(ways(routeOf('sticky', [UP, AWAY, UP], 1), ...purposes), all(2));
    assert.deepEqual(ways(routeOf('sticky', [UP, AWAY, BEHIND], 1), ...purposes), all(0));
  });

  it('what is sent again goes to another one, if there is one', () => {
    for (const spread of SPREADS) {
      assert.deepEqual(ways(routeOf(spread, [UP, UP, UP], 2), 'resubmit', 'resubmit'), [0, 0]);
      assert.deepEqual(ways(routeOf(spread, [UP, AWAY]), 'resubmit', 'resubmit'), [0, 0]);
    }
  });

  it('round-robin: what is sent takes turns, what is asked does not', () => {
    assert.deepEqual(ways(routeOf('round-robin', [UP, UP]), 'submit', 'submit', 'inclusion', 'submit'), [0, 1, 0, 0]);
    assert.deepEqual(ways(routeOf('round-robin', [UP, AWAY]), 'submit', 'submit', 'submit'), [0, 0, 0]);
  });

  it('apart: effects are read back from the next one', () => {
    assert.deepEqual(ways(routeOf('apart', [UP, UP], 1), 'submit', 'inclusion', 'readback', 'resolve'), [1, 1, 0, 1]);
    assert.deepEqual(ways(routeOf('apart', [AWAY, UP], 1), 'submit', 'readback'), [1, 1]);
  });

  it('where none is up, one that is behind may take transactions, and is asked nothing', () => {
    assert.deepEqual(ways(routeOf('sticky', [AWAY, BEHIND]), 'submit', 'resubmit'), [1, 1]);
    assert.deepEqual(ways(routeOf('sticky', [AWAY, BEHIND]), 'inclusion', 'readback', 'resolve'), [null, null, null]);
    assert.deepEqual(ways(routeOf('sticky', [AWAY, AWAY], 1), 'submit', 'inclusion'), [1, 1]);
  });

  it('every endpoint has as many workers as the others', () => {
    const of = (/** @type {object} */ given) =>
      workersOf({ workers: 1, threads: 100, connections: 64, rpc: [], ...given });
    const rpc = [new URL('http://a'), new URL('http://b')];
    assert.deepEqual([of({}), of({ workers: 3 })], [1, 3]);
    assert.deepEqual([of({ rpc }), of({ rpc, workers: 3 }), of({ rpc, threads: 2, workers: 2 })], [2, 4, 2]);
    assert.equal(of({ rpc, threads: 3, workers: 3 }), 2);
  });
});

describe('whether an endpoint is left', () => {
  for (const [error, isLeft] of /** @type {Array<[Error, boolean]>} */ ([
    [new TransportError('x', 'refused'), true],
    [new TransportError('x', 'reset'), true],
    [new TransportError('it takes its time', 'timeout'), false],
    [new TransportError('ours', 'closed'), false],
    [new TransportError('ours', 'no_ports'), false],
    [new ProtocolError('x', undefined, 503), true],
    [new ProtocolError('x', undefined, 502), true],
    [new ProtocolError('too many requests', undefined, 429), false],
    [new ProtocolError('x', undefined, 500), false],
    [new RpcError('eth_call', -32000, 'chain is not done bootstrapping'), true],
    [new RpcError('eth_call', -32000, 'header not found'), false],
  ]))
    it(`${/** @type {any} */ (error).code} ${error.message}: ${isLeft}`, () => assert.equal(isGone(error), isLeft));
});

describe('who is behind', () => {
  const S = 1e6;

  it('is who lacks a block that another has had for three seconds', () => {
    const heads = new Heads(2);
    heads.note(0, 10, 0);
    heads.note(1, 9, 0);
    assert.equal(heads.isBehind(1, 2.9 * S), false);
    assert.equal(heads.isBehind(1, 3 * S), true);
    assert.equal(heads.isBehind(0, 3 * S), false);
    heads.note(1, 10, 3 * S);
    assert.equal(heads.isBehind(1, 3 * S), false);
  });

  it('is nobody when the other is ahead for a moment only', () => {
    const heads = new Heads(2);
    for (let second = 0; second < 20; second += 1) {
      heads.note(0, second * 10 + 10, second * S);
      heads.note(1, second * 10, second * S);
      assert.equal(heads.isBehind(1, second * S), false);
    }
  });

  it('does not go by what an endpoint said long ago, nor before it lost blocks', () => {
    const heads = new Heads(2);
    heads.note(0, 10, 0);
    heads.note(1, 9, 0);
    assert.equal(heads.isBehind(1, 30 * S), true);
    assert.equal(heads.isBehind(1, 31 * S), false);
    heads.note(0, 8, 31 * S);
    assert.equal(heads.isBehind(1, 40 * S), false);
    assert.deepEqual([heads.newest(31 * S), heads.of(0)], [8, 8]);
  });
});

/** Endpoints that answer with their place, or with an error. @param {Array<Error | null>} errors by place */
function endpointsOf(...errors) {
  return errors.map((_, i) =>
    fakeRpc({
      eth_sendRawTransaction: () => {
        const error = errors[i];
        if (error !== null) throw error;
        return i;
      },
    }),
  );
}

describe('several endpoints as one', () => {
  it('tells where a request goes, and leaves one that loses it, for all threads', async () => {
    const rpcs = endpointsOf(new TransportError('lost', 'reset'), null);
    const health = Health.of(2);
    const other = new Health(health.shared);
    const router = createRouter({ rpcs, health, home: 0, spread: 'sticky' });
    /** @type {Array<number | undefined>} */
    const sentTo = [];
    const send = () => router.call('eth_sendRawTransaction', ['0x'], 'submit', (index) => sentTo.push(index));
    await assert.rejects(send(), { code: 'transport_reset' });
    assert.equal(other.stateOf(0), AWAY);
    assert.equal(await send(), 1);
    other.set(0, UP);
    await assert.rejects(send());
    assert.deepEqual(sentTo, [0, 1, 0]);
    assert.deepEqual(
      router.traffic().map(({ failures }) => failures),
      [2, 0],
    );
  });

  it('stays with one that only says no', async () => {
    const rpcs = endpointsOf(new RpcError('eth_sendRawTransaction', -32000, 'nonce too low'), null);
    const health = Health.of(2);
    const router = createRouter({ rpcs, health, home: 0, spread: 'sticky' });
    await assert.rejects(router.call('eth_sendRawTransaction', ['0x'], 'submit'), /nonce too low/);
    assert.equal(health.stateOf(0), UP);
  });

  it('asks nobody of the chain where only one answers, and that is behind', async () => {
    const router = createRouter({
      rpcs: endpointsOf(null, null),
      health: healthOf(BEHIND, AWAY),
      home: 0,
      spread: 'sticky',
    });
    await assert.rejects(router.call('eth_blockNumber', [], 'inclusion'), { code: 'transport_behind' });
  });

  it('a subscription goes where blocks are asked for', async () => {
    /** @type {string[]} */
    const said = [];
    const rpcs = [0, 1].map((i) => ({
      ...fakeRpc({ eth_blockNumber: () => '0x1' }),
      subscribe: async () => {
        said.push(`subscribed to ${i}`);
        return () => void said.push(`left ${i}`);
      },
    }));
    const health = Health.of(2);
    const { subscribe, call } = createRouter({ rpcs, health, home: 0, spread: 'sticky' });
    assert.ok(subscribe !== null);
    const lost = () => said.push('lost');
    const end = await subscribe('newHeads', () => {}, lost);
    await call('eth_blockNumber', [], 'inclusion');
    assert.deepEqual(said, ['subscribed to 0']);
    health.set(0, AWAY);
    await call('eth_blockNumber', [], 'inclusion');
    end();
    await subscribe('newHeads', () => {}, lost);
    await call('eth_blockNumber', [], 'inclusion');
    assert.deepEqual(said, ['subscribed to 0', 'lost', 'left 0', 'subscribed to 1']);
  });
});

describe('the monitor', () => {
  /** @param {Array<() => unknown>} answers to eth_blockNumber */
  function monitored(...answers) {
    const clock = createFakeClock();
    const health = Health.of(answers.length);
    const rpcs = answers.map((answer) => fakeRpc({ eth_blockNumber: answer }));
    const monitor = new Monitor({ rpcs, health, clock });
    /** @type {string[]} */
    const said = [];
    monitor.listen(({ endpoint, isBack, words }) => said.push(`${endpoint} ${isBack ? 'back' : 'left'}: ${words}`));
    monitor.begin();
    return { clock, health, monitor, said, rpcs };
  }

  it('says who has left and who is back, and for how long', async () => {
    let isThere = true;
    const { clock, health, monitor, said } = monitored(() => {
      if (!isThere) throw new TransportError('http://fake: connection refused', 'refused');
      return '0x5';
    });
    await clock.advance(2500);
    isThere = false;
    await clock.advance(1000);
    assert.equal(health.stateOf(0), AWAY);
    await clock.advance(2000);
    isThere = true;
    await clock.advance(2000);
    assert.equal(health.stateOf(0), UP);
    assert.deepEqual(said, ['0 left: connection refused', '0 back: after 3.0 s']);
    assert.deepEqual(monitor.absences(clock.nowUs()), [{ left: 1, awayUs: 3_000_000 }]);
    monitor.stop();
  });

  it('notices what a thread of the load has left, and uses again what answers', async () => {
    const { clock, health, monitor, said } = monitored(() => '0x5');
    await clock.advance(500);
    health.set(0, AWAY);
    await clock.advance(1000);
    assert.equal(health.stateOf(0), UP);
    assert.deepEqual(said, ['0 left: a request to it was lost', '0 back: after 0.0 s']);
    monitor.stop();
  });

  it('leaves one that does not answer in five seconds, and one that falls behind', async () => {
    let head = 5;
    const late = () => new Promise(() => {});
    const { clock, health, monitor, said } = monitored(
      () => `0x${(head += 1).toString(16)}`,
      late,
      () => '0x5',
    );
    await clock.advance(4000);
    assert.deepEqual(
      [0, 1, 2].map((i) => health.stateOf(i)),
      [UP, UP, BEHIND],
    );
    await clock.advance(1000);
    assert.deepEqual(
      [0, 1, 2].map((i) => health.stateOf(i)),
      [UP, AWAY, BEHIND],
    );
    assert.deepEqual(said, ['2 left: it is behind the others', '1 left: no answer within 5 s']);
    monitor.stop();
  });

  it('waits until all that are up have the newest block, and not for others', async () => {
    let slow = 3;
    const gone = () => {
      throw new TransportError('gone', 'refused');
    };
    const { clock, monitor } = monitored(
      () => '0x9',
      () => `0x${slow}`,
      gone,
    );
    let isLevel = false;
    void monitor.level(new AbortController().signal).then(() => (isLevel = true));
    await clock.advance(1000);
    assert.equal(isLevel, false);
    slow = 9;
    await clock.advance(100);
    assert.equal(isLevel, true);
    monitor.stop();
  });
});
