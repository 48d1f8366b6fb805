import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ChainIdentity, assertOneChain } from '../../../src/chain/chain-identity.js';
import { Health } from '../../../src/chain/endpoint-health.js';
import { ProtocolError, RefusedError, RpcError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';

/**
 * @import { Fault } from '../../../src/chain/endpoint-health.js'
 */

/** @typedef {{id: number, hashes: Array<string | null>}} Node whose blocks have these hashes; null: it does not keep it */

const CONFIG = { chainId: null, allowChain: null };
const NEVER = new AbortController().signal;

/** @param {Node[]} nodes which a test may change */
function chainOf(...nodes) {
  const clock = createFakeClock();
  const rpcs = nodes.map((node, i) => ({
    ...fakeRpc({
      eth_chainId: () => `0x${node.id.toString(16)}`,
      eth_blockNumber: () => `0x${(node.hashes.length - 1).toString(16)}`,
      eth_getBlockByNumber: (number) => {
        const hash = node.hashes[Number(number)] ?? null;
        return hash === null ? null : { hash: hash32(hash) };
      },
      web3_clientVersion: () => `Node/${i}`,
    }),
    display: `http://127.0.0.1:${i + 1}`,
  }));
  const urls = rpcs.map(({ display }) => new URL(display));
  const health = new Health(nodes.length, clock);
  const chainIdentity = new ChainIdentity(rpcs, { health, clock });
  /** @template T @param {Promise<T>} promise @returns {Promise<T>} once the clock has gone on for long enough */
  const after = async (promise) => {
    promise.catch(() => {});
    await clock.advance(10_000);
    return promise;
  };
  const identify = (config = CONFIG) => after(chainIdentity.identify(urls, config, NEVER));
  return {
    identify,
    compare: (/** @type {number} */ number) => after(chainIdentity.compare(number, NEVER)),
    chainIdentity,
    rpcs,
    health,
    clock,
    urls,
  };
}

/** @param {string} hashes a letter for each block @returns {Node} */
const node = (hashes, id = 31337) => ({ id, hashes: hashes.split('').map((hash) => (hash === '-' ? null : hash)) });

/** @param {Promise<unknown>} promise @param {string} words */
async function assertRefused(promise, words) {
  await assert.rejects(promise, (/** @type {any} */ error) => {
    assert.ok(error instanceof RefusedError, String(error));
    assert.equal(error.message, `${words}: all --rpc endpoints must serve one chain`);
    return true;
  });
}

describe('ChainIdentity.identify() and compare()', () => {
  it('identifies the endpoints', async () => {
    assert.deepEqual(await chainOf(node('abc'), node('abcd')).identify(), [
      { display: 'http://127.0.0.1:1', clientVersion: 'Node/0' },
      { display: 'http://127.0.0.1:2', clientVersion: 'Node/1' },
    ]);
  });

  it('refuses different chain ids first, then a wrong --chain-id', async () => {
    const both = 'http://127.0.0.1:1 and http://127.0.0.1:2 are chains 31337 and 1337';
    const different = chainOf(node('abc'), node('abc', 1337));
    await assertRefused(different.identify({ ...CONFIG, chainId: /** @type {any} */ (1337) }), both);
    const same = chainOf(node('abc'), node('abc'));
    await assert.rejects(same.identify({ ...CONFIG, chainId: /** @type {any} */ (5) }), {
      message: 'http://127.0.0.1:1 is chain 31337, not 5 as --chain-id says',
    });
  });

  for (const [nodes, words] of /** @type {Array<[Node[], string]>} */ ([
    [[node('abc'), node('xbc')], '1 and http://127.0.0.1:2 are chains of id 31337 with different blocks 0'],
    [
      [node('abc'), node('abcde'), node('abcxyz')],
      '2 and http://127.0.0.1:3 are chains of id 31337 with different blocks 4',
    ],
    [[node('abc'), node('ayz')], '1 and http://127.0.0.1:2 are chains of id 31337 with different blocks 2'],
    [[node('abc'), node('a'), node('axyz')], '1 and http://127.0.0.1:3 are chains of id 31337 with different blocks 2'],
    [[node('---d'), node('aBCD')], '1 and http://127.0.0.1:2 are chains of id 31337 with different blocks 3'],
  ]))
    it(`refuses ${nodes.map(({ hashes }) => hashes.map((hash) => hash ?? '-').join(''))}`, () =>
      assertRefused(chainOf(...nodes).identify(), `http://127.0.0.1:${words}`));

  for (const nodes of [
    [node('abcdef'), node('ab')],
    [node('--cd'), node('abcd')],
    [node('abcd'), node('a')],
    [node('a'), node('a')],
  ])
    it(`accepts ${nodes.map(({ hashes }) => hashes.map((hash) => hash ?? '-').join(''))}`, async () => {
      assert.equal((await chainOf(...nodes).identify()).length, 2);
    });

  it('accepts a fork that disappears', async () => {
    const [a, b] = [node('abcd'), node('abcx')];
    const { chainIdentity, urls, clock } = chainOf(a, b);
    const identified = chainIdentity.identify(urls, CONFIG, NEVER);
    await clock.advance(500);
    b.hashes[3] = 'd';
    await clock.advance(10_000);
    assert.equal((await identified).length, 2);
  });

  it('compares a later block of the endpoints that are up and have it', async () => {
    const [a, b] = [node('a'), node('a')];
    const { identify, compare, health, rpcs } = chainOf(a, b);
    await identify();
    a.hashes.push('b');
    await compare(1);
    b.hashes.push('x');
    const words = 'http://127.0.0.1:1 and http://127.0.0.1:2 are chains of id 31337 with different blocks 1';
    await assertRefused(compare(1), words);
    const answer = rpcs[1].call;
    // identify() refuses an endpoint without a head, compare() skips it.
    rpcs[1].call = async (method, ...args) => {
      if (method === 'eth_blockNumber') throw new RpcError(method, -32601, 'method not found');
      return answer(method, ...args);
    };
    await assert.rejects(identify(), RpcError);
    await compare(1);
    rpcs[1].call = answer;
    health.open(1, { why: '' });
    const before = rpcs[1].calls.length;
    await compare(1);
    assert.equal(rpcs[1].calls.length, before);
  });

  it('numbers endpoints that look the same', async () => {
    const { rpcs, clock, urls, health } = chainOf(node('ab'), node('ax'));
    for (const rpc of rpcs) rpc.display = 'http://127.0.0.1:1/***';
    const refused = new ChainIdentity(rpcs, { health, clock }).identify(urls, CONFIG, NEVER);
    refused.catch(() => {});
    await clock.advance(10_000);
    await assert.rejects(refused, { message: /^http:\S+1\/\*\*\* \(1\) and http:\S+1\/\*\*\* \(2\) are chains of id/ });
  });
});

describe('ChainIdentity.check() of an endpoint that answers again', () => {
  const other = (/** @type {string} */ how) => ({ why: `${how}: it serves another chain now`, isOther: true });
  for (const [after, fault] of /** @type {Array<[Node, Fault | null]>} */ ([
    [node('abcde'), null],
    [node('---de'), null],
    [node('abcde', 999), other('it answers as chain 999')],
    [node('abxyz'), other('it has another block 2')],
    [node('a'), { why: 'it is behind the others' }],
  ]))
    it(`${JSON.stringify(after)}: ${fault === null ? 'accepted' : fault.why}`, async () => {
      const second = node('abcd');
      const { identify, compare, chainIdentity } = chainOf(node('abcd'), second);
      await identify();
      await compare(2);
      Object.assign(second, after);
      assert.deepEqual(await chainIdentity.check(1, after.hashes.length - 1), fault);
    });
});

describe('a second endpoint', () => {
  /** @param {number} head @param {(number: number) => string} hashOf @param {object} [more] */
  const serving = (head, hashOf, more) =>
    fakeRpc({
      eth_chainId: () => '0x1',
      eth_blockNumber: () => `0x${head.toString(16)}`,
      eth_getBlockByNumber: (number) => ({ number, hash: hashOf(Number(number)), transactions: [] }),
      ...more,
    });
  const reading = serving(100, hash32);
  const check = (/** @type {any} */ other) =>
    assertOneChain({ other, option: '--send-rpc', reading: /** @type {any} */ (reading), chainId: 1 });

  it('of another chain with the same id and genesis block is refused', async () => {
    await check(serving(90, (number) => (number > 26 ? hash32(1000 + number) : hash32(number))));
    await assert.rejects(check(serving(90, (number) => hash32(number === 26 ? 999 : number))), /block 26 .* one chain/);
  });

  it('that takes nothing but transactions has its chain id checked', async () => {
    const no = () => {
      throw new ProtocolError('answered HTTP 404 without JSON-RPC');
    };
    await check(serving(90, hash32, { eth_blockNumber: no, eth_getBlockByNumber: no }));
    await check(serving(90, hash32, { eth_getBlockByNumber: () => null }));
  });
});
