import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errors } from 'undici';
import { parseReply } from '../../../src/chain/rpc.js';
import { Health, isDownError } from '../../../src/chain/endpoint-health.js';
import { Router, SPREADS } from '../../../src/chain/endpoints.js';
import { merge } from '../../../src/stats/merge.js';
import { SNAPSHOT } from '../../../src/stats/metrics.js';
import { readOptions } from '../../../src/cli/config.js';
import { ProtocolError, RpcError, TransportError } from '../../../src/errors.js';
import { asTransportError } from '../../../src/transport/http.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fails, fakeRpc } from '../../helpers/fake-rpc.js';

/**
 * @import { Purpose, Spread } from '../../../src/contracts/chain.d.ts'
 */

const [UP, DOWN] = [true, false];

/** @param {boolean[]} areUp */
function healthOf(...areUp) {
  const health = new Health(areUp.length, createFakeClock());
  areUp.forEach((isUp, i) => set(health, i, isUp));
  return health;
}

/** @param {Health} health @param {number} index @param {boolean} isUp */
const set = (health, index, isUp) => (isUp ? health.close(index) : health.open(index, { why: '' }));

/** @param {Spread} spread @param {boolean[]} areUp @param {number} [home] */
const routeOf = (spread, areUp, home = 0) =>
  new Router({
    rpcs: areUp.map(() => fakeRpc({})),
    health: healthOf(...areUp),
    home,
    spread,
  });

/** @param {Router} router @param {Purpose[]} purposes */
const ways = (router, ...purposes) => purposes.map((purpose) => router.route(purpose));

describe('Router.route()', () => {
  it('sticky: the home endpoint, or the next one that is up', () => {
    /** @type {Purpose[]} */
    const purposes = ['submit', 'inclusion', 'readback', 'resolve', 'audit', 'setup', 'load'];
    const all = (/** @type {number} */ one) => purposes.map(() => one);
    assert.deepEqual(ways(routeOf('sticky', [UP, UP, UP], 1), ...purposes), all(1));
    assert.deepEqual(ways(routeOf('sticky', [UP, DOWN, UP], 1), ...purposes), all(2));
    assert.deepEqual(ways(routeOf('sticky', [UP, DOWN, DOWN], 1), ...purposes), all(0));
  });

  it('resubmissions go to another endpoint if there is one', () => {
    for (const spread of SPREADS) {
      assert.deepEqual(ways(routeOf(spread, [UP, UP, UP], 2), 'resubmit', 'resubmit'), [0, 0]);
      assert.deepEqual(ways(routeOf(spread, [UP, DOWN]), 'resubmit', 'resubmit'), [0, 0]);
    }
  });

  it('round-robin: submissions rotate, reads do not', () => {
    assert.deepEqual(ways(routeOf('round-robin', [UP, UP]), 'submit', 'submit', 'inclusion', 'submit'), [0, 1, 0, 0]);
    assert.deepEqual(ways(routeOf('round-robin', [UP, DOWN]), 'submit', 'submit', 'submit'), [0, 0, 0]);
  });

  it('apart: read-back goes to the next endpoint', () => {
    assert.deepEqual(ways(routeOf('apart', [UP, UP], 1), 'submit', 'inclusion', 'readback', 'resolve'), [1, 1, 0, 1]);
    assert.deepEqual(ways(routeOf('apart', [DOWN, UP], 1), 'submit', 'readback'), [1, 1]);
  });

  it('if none is up, requests go to the preferred one', () =>
    assert.deepEqual(ways(routeOf('sticky', [DOWN, DOWN], 1), 'submit', 'inclusion'), [1, 1]));

  it('every endpoint has as many workers as the others', async () => {
    const of = async (/** @type {object} */ given) =>
      (await readOptions({ command: 'run', parsed: { threads: 100, ...given } })).config.load.workers;
    const rpc = ['http://a', 'http://b'];
    assert.deepEqual([await of({}), await of({ workers: 3 })], [1, 3]);
    assert.deepEqual([await of({ rpc }), await of({ rpc, workers: 3 })], [2, 4]);
    assert.deepEqual([await of({ rpc, threads: 2, workers: 2 }), await of({ rpc, threads: 3, workers: 3 })], [2, 2]);
  });
});

/** The error of a response without JSON-RPC. @param {number} status @returns {Error} */
function answered(status) {
  try {
    return parseReply(
      { status, text: '<html>', retryAfterMs: null },
      { display: 'http://a', secrets: [] },
      { method: 'eth_call' },
    );
  } catch (error) {
    return /** @type {Error} */ (error);
  }
}

describe('isDownError()', () => {
  for (const [error, isLeft] of /** @type {Array<[Error, boolean]>} */ ([
    [new TransportError('x', 'refused'), true],
    [new TransportError('x', 'reset'), true],
    [new TransportError('it takes its time', 'timeout'), false],
    [new TransportError('ours', 'closed'), false],
    [new ProtocolError('x', undefined, 503), true],
    [new ProtocolError('too many requests', undefined, 429), false],
    [new ProtocolError('x', undefined, 500), false],
    [asTransportError(new errors.ClientDestroyedError()), false],
    [answered(404), true],
    [answered(403), false],
    [new RpcError('eth_call', -32000, 'chain is not done bootstrapping'), true],
    [new RpcError('eth_call', -32000, 'header not found'), false],
  ]))
    it(`${/** @type {any} */ (error).code} ${error.message}: ${isLeft}`, () =>
      assert.equal(isDownError(error), isLeft));
});

it('mergeSilences(): uses the thread with the shortest silence', () => {
  const [silent, lively] = [
    { silentMs: 11_000, stillMs: 31_000, words: '' },
    { silentMs: 0, stillMs: 200, words: 'connection lost' },
  ];
  const both = { silentMs: 0, stillMs: 200, words: 'connection lost' };
  const silenceOf = (/** @type {object} */ a, /** @type {object} */ b) =>
    merge(SNAPSHOT, { interval: { silence: a } }, { interval: { silence: b } }).interval.silence;
  assert.deepEqual(silenceOf(silent, lively), both);
  assert.deepEqual(silenceOf(lively, silent), both);
});

/** @param {Array<{send?: () => unknown, subscribe?: () => Promise<() => void>}>} endpoints @param {number} [home] */
function routed(endpoints, home = 0) {
  const health = healthOf(...endpoints.map(() => UP));
  const rpcs = endpoints.map(({ send = assert.fail, subscribe = null }) => ({
    ...fakeRpc({ eth_sendRawTransaction: send }),
    subscribe,
  }));
  const router = new Router({ rpcs, health, home, spread: 'sticky' });
  return { health, router, rpc: router.view() };
}

describe('Router', () => {
  it('reports the endpoint of a request, and marks one that loses it as down', async () => {
    const lost = fails(new TransportError('lost', 'reset'));
    const { health, router, rpc } = routed([{ send: lost }, { send: () => 1 }]);
    /** @type {Array<number | undefined>} */
    const sentTo = [];
    const send = () => rpc.call('eth_sendRawTransaction', ['0x'], 'submit', (index) => sentTo.push(index));
    await assert.rejects(send(), { code: 'transport_reset' });
    assert.equal(health.isUp(0), false);
    assert.equal(await send(), 1);
    set(health, 0, UP);
    await assert.rejects(send());
    assert.deepEqual(sentTo, [0, 1, 0]);
    equalBy(router.traffic(), ({ failures }) => failures, [2, 0]);
  });

  it('keeps an endpoint that only rejects transactions', async () => {
    const rejected = fails(new RpcError('eth_sendRawTransaction', -32000, 'nonce too low'));
    const { health, rpc } = routed([{ send: rejected }, {}]);
    await assert.rejects(rpc.call('eth_sendRawTransaction', ['0x'], 'submit'), /nonce too low/);
    assert.equal(health.isUp(0), true);
  });

  it('subscribes if the home endpoint can, otherwise polls', () => {
    const endpoints = [{}, { subscribe: async () => () => {} }];
    equalBy([0, 1], (home) => routed(endpoints, home).rpc.subscribe !== null, [false, true]);
  });
});
