import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProtocolError, RpcError, TransportError } from '../../../src/errors.js';
import { chooseInclusion, warningOf } from '../../../src/inclusion/index.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fails, fakeRpc } from '../../helpers/fake-rpc.js';

/**
 * @import { Rpc } from '../../../src/contracts/chain.d.ts'
 * @import { Handlers } from '../../helpers/fake-rpc.js'
 */

const SYNC = 'eth_sendRawTransactionSync';
const hangs = () => new Promise(() => {});
const badTransaction = fails(new RpcError(SYNC, -32602, 'Empty transaction data'));
const isLost = fails(new TransportError('connection lost', 'reset'));
const pushing = async () => () => {};

/** @param {Rpc['subscribe']} subscribe @param {Handlers} [answers] */
const endpoint = (subscribe, answers = {}) => ({ ...fakeRpc({ [SYNC]: badTransaction, ...answers }), subscribe });

/** @param {string} asked @param {Rpc[]} rpcs @param {ReturnType<typeof createFakeClock>} [clock] @returns {Promise<any>} what is chosen, or the error */
async function choose(asked, rpcs, clock = createFakeClock()) {
  const choosing = chooseInclusion(asked, rpcs, { clock, signal: new AbortController().signal }).catch(
    (error) => error,
  );
  await clock.advance(30_000);
  return choosing;
}

describe('chooseInclusion()', () => {
  it('auto takes pushed heads where all endpoints have them, otherwise polls, and says why', async () => {
    const [http, ws] = [endpoint(null), endpoint(pushing)];
    assert.deepEqual(await choose('auto', [ws, ws]), { name: 'heads', why: 'the cheapest that all endpoints support' });
    for (const rpcs of [[http], [http, ws], [ws, http]]) {
      const { name, why } = await choose('auto', rpcs);
      assert.equal(name, 'blocks');
      assert.match(
        why,
        /^the cheapest that all endpoints support; http:\/\/fake[^ ]*.*: eth_subscribe needs a ws:\/\/ URL$/,
      );
    }
    assert.equal(http.calls.length, 0);
  });

  it('an endpoint that refuses to push, fails or does not answer has no pushed heads', async () => {
    for (const [subscribe, words] of /** @type {Array<[() => any, RegExp]>} */ ([
      [fails(new RpcError('eth_subscribe', -32000, 'too many subscriptions')), /too many subscriptions/],
      [fails(new ProtocolError('answers with HTTP 403', undefined, 403)), /HTTP 403/],
      [isLost, /connection lost/],
      [hangs, /no answer within 3 s/],
    ])) {
      const { name, why } = await choose('auto', [endpoint(async () => subscribe())]);
      assert.equal(name, 'blocks');
      assert.match(why, words);
    }
  });

  it('ends the subscription of a probe, also one that starts too late', async () => {
    for (const [delayMs, name] of /** @type {Array<[number, string]>} */ ([
      [0, 'heads'],
      [5000, 'blocks'],
    ])) {
      const clock = createFakeClock();
      let ended = 0;
      const subscribe = async () => {
        await clock.sleep(delayMs);
        return () => (ended += 1);
      };
      assert.deepEqual([(await choose('auto', [endpoint(subscribe)], clock)).name, ended], [name, 1]);
    }
  });

  it('names the endpoint that does not support what was asked for', async () => {
    const error = await choose('heads', [endpoint(pushing), endpoint(null)]);
    assert.equal(error.exitCode, 69);
    assert.match(
      error.message,
      /^--inclusion heads cannot be used: .*: eth_subscribe needs a ws:\/\/ URL; use --inclusion auto$/,
    );
    const blocks = await choose('blocks', [endpoint(null)]);
    assert.deepEqual(blocks, { name: 'blocks', why: 'asked for with --inclusion' });
  });

  for (const [code, words, hasSync] of /** @type {Array<[number, string, boolean]>} */ ([
    [-32601, 'Method not found', false],
    [-32601, 'the method eth_sendRawTransactionSync does not exist/is not available', false],
    [-32600, 'unsupported method: eth_sendRawTransactionSync', false],
    [-32000, 'Method eth_sendRawTransactionSync is not supported', false],
    [-32004, 'this method is disabled', false],
    [-32600, 'rpc method is not whitelisted', false],
    [-32000, 'eth_sendRawTransactionSync is not available on your plan', false],
    [-32602, 'Empty transaction data', true],
    [-32000, 'typed transaction too short', true],
    [-32000, 'transaction type not supported', true],
    [-32000, 'rlp: value size exceeds available input length', true],
  ])) {
    it(`sync: "${words}" (${code}) to an empty transaction: ${hasSync ? 'supported' : 'refused'}`, async () => {
      const rpc = endpoint(null, { [SYNC]: fails(new RpcError(SYNC, code, words)) });
      const chosen = await choose('sync', [rpc]);
      if (hasSync) assert.equal(chosen.name, 'sync');
      else assert.ok(chosen.message.includes(words), chosen.message);
      assert.deepEqual(rpc.calls, [{ method: SYNC, params: ['0x'], purpose: 'setup' }]);
    });
  }

  it('sync: an endpoint that accepts an empty transaction, or does not answer, does not support it', async () => {
    for (const [answer, words] of /** @type {Array<[() => any, RegExp]>} */ ([
      [() => null, /accepts an empty transaction/],
      [hangs, /no answer within 3 s/],
      [isLost, /connection lost/],
    ]))
      assert.match((await choose('sync', [endpoint(null, { [SYNC]: answer })])).message, words);
  });

  it('a probe that fails once is repeated', async () => {
    let asked = 0;
    const rpc = endpoint(null, { [SYNC]: () => ((asked += 1) === 1 ? isLost() : badTransaction()) });
    assert.deepEqual([(await choose('sync', [rpc])).name, asked], ['sync', 2]);
  });
});

it('warningOf(): sync over HTTP needs more connections than operations at once', () => {
  const [http, ws] = [endpoint(null), endpoint(pushing)];
  assert.match(
    String(warningOf('sync', [ws, http], 200, 200)),
    /200 operations at once leave none of 200 .*: give more --connections/,
  );
  assert.equal(warningOf('sync', [http], 201, 200), null);
  assert.equal(warningOf('sync', [ws], 1, 200), null);
  for (const name of ['heads', 'blocks']) assert.equal(warningOf(name, [http], 1, 200), null);
});
