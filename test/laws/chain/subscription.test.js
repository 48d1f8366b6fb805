import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRpc } from '../../../src/chain/rpc.js';
import { ProtocolError, RpcError } from '../../../src/errors.js';
import { caught } from '../../helpers/caught.js';

/**
 * An Rpc over a transport that answers eth_subscribe with what a function makes of the id.
 * @param {(id: number) => object} answer
 * @param {string[]} [early] what is pushed before the answer is read
 */
function setUp(answer, early = []) {
  /** @type {Array<string | undefined>} */
  const farewells = [];
  /** @type {any[]} */
  const events = [];
  /** @type {(text: string) => void} */
  let say = () => {};
  const transport = {
    post: () => assert.fail('it is not asked as others are'),
    subscribe: async (/** @type {string} */ body, /** @type {(text: string) => void} */ onPush) => {
      const { id, method, params } = JSON.parse(body);
      assert.deepEqual([method, params], ['eth_subscribe', ['newHeads']]);
      say = onPush;
      early.forEach(onPush);
      const text = JSON.stringify({ jsonrpc: '2.0', id, ...answer(id) });
      return { text, end: (/** @type {string | undefined} */ farewell) => void farewells.push(farewell) };
    },
  };
  const rpc = createRpc(transport, 'ws://fake');
  const subscribe = () =>
    /** @type {NonNullable<typeof rpc.subscribe>} */ (rpc.subscribe)(
      'newHeads',
      (event) => events.push(event),
      () => {},
    );
  return { rpc, subscribe, events, farewells, say: (/** @type {string} */ text) => say(text) };
}

/** @param {string} subscription @param {unknown} result */
const push = (subscription, result) =>
  JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription, result } });

describe('Rpc.subscribe', () => {
  it('gives what is pushed, from before the answer was read on, and nothing for other texts', async () => {
    const early = [push('0xa', 1)];
    const { rpc, subscribe, events, farewells, say } = setUp(() => ({ result: '0xa' }), early);
    const end = await subscribe();
    for (const text of [push('0xa', 2), 'nonsense', 'null', '{"method":"other","params":{"result":9}}']) say(text);
    assert.deepEqual(events, [1, 2]);
    end();
    const { method, params } = JSON.parse(String(farewells[0]));
    assert.deepEqual([method, params, farewells.length], ['eth_unsubscribe', ['0xa'], 1]);
    assert.deepEqual(rpc.callCounts(), { inclusion: 2 });
  });

  /** @type {Array<[string, (id: number) => object, typeof RpcError | typeof ProtocolError]>} */
  const refusals = [
    ['an error', () => ({ error: { code: -32601, message: 'method not found' } }), RpcError],
    ['a foreign id', (id) => ({ id: id + 1, result: '0xa' }), ProtocolError],
    ['no result', () => ({}), ProtocolError],
  ];
  for (const [what, answer, expected] of refusals) {
    it(`${what}: rejected, and no listener is left`, async () => {
      const { subscribe, farewells } = setUp(answer);
      assert.ok((await caught(subscribe)) instanceof expected);
      assert.deepEqual(farewells, [undefined]);
    });
  }

  it('is not there over a transport that has none', () =>
    assert.equal(createRpc({ post: () => assert.fail() }, 'http://fake').subscribe, null));
});
