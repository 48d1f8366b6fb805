import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ChainIdentity, unconfirmedIdentityWords } from '../../../src/chain/chain-identity.js';
import { Health, Monitor } from '../../../src/chain/endpoint-health.js';
import { RefusedError, RpcError, TransportError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

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
        return hash === null ? null : { hash };
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
  return { identify, compare: () => after(chainIdentity.compare(NEVER)), chainIdentity, rpcs, health, clock, urls };
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

  for (const [what, nodes, words] of /** @type {Array<[string, Node[], string]>} */ ([
    [
      'first blocks',
      [node('abc'), node('xbc')],
      '1 and http://127.0.0.1:2 are chains of id 31337 with different first blocks',
    ],
    [
      'the blocks after it',
      [node('abc'), node('ayz')],
      '1 and http://127.0.0.1:2 are chains of id 31337 with different blocks 2',
    ],
    [
      'a head below the other',
      [node('abcde'), node('ay')],
      '1 and http://127.0.0.1:2 are chains of id 31337 with different blocks 1',
    ],
    [
      'a later block only',
      [node('abc'), node('abz')],
      '1 and http://127.0.0.1:2 are chains of id 31337 with different blocks 2',
    ],
    [
      'one of three',
      [node('abc'), node('a'), node('axyz')],
      '1 and http://127.0.0.1:3 are chains of id 31337 with different blocks 2',
    ],
    [
      'two of three above the head of the third',
      [node('abc'), node('abcde'), node('abcxyz')],
      '2 and http://127.0.0.1:3 are chains of id 31337 with different blocks 4',
    ],
    [
      'what one does not keep',
      [node('---d'), node('aBCD')],
      '1 and http://127.0.0.1:2 are chains of id 31337 with different blocks 3',
    ],
  ]))
    it(`refuses two chains with one id, with ${what}`, () =>
      assertRefused(chainOf(...nodes).identify(), `http://127.0.0.1:${words}`));

  for (const [what, nodes] of /** @type {Array<[string, Node[]]>} */ ([
    ['one lags', [node('abcdef'), node('ab')]],
    ['one does not keep the first blocks', [node('--cd'), node('abcd')]],
    ['one has none of the others yet', [node('abcd'), node('a')]],
    ['all have the first block only', [node('a'), node('a')]],
  ]))
    it(`accepts one chain with ${what}`, async () => {
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

  it('compares endpoints without blocks later, or warns', async () => {
    const [a, b] = [node('a'), node('a')];
    const { identify, compare } = chainOf(a, b);
    await identify();
    assert.deepEqual(await compare(), ['http://127.0.0.1:1', 'http://127.0.0.1:2']);
    a.hashes.push('b');
    assert.deepEqual(await compare(), ['http://127.0.0.1:2']);
    b.hashes.push('x');
    const words = 'http://127.0.0.1:1 and http://127.0.0.1:2 are chains of id 31337 with different blocks 1';
    await assertRefused(compare(), words);
    assert.match(unconfirmedIdentityWords(['A', 'B']), /^A and B have only their first block; whether .* is unknown/);
  });

  it('does not wait for an endpoint that is down or silent', async () => {
    const { identify, compare, health, rpcs } = chainOf(node('ab'), node('ab'), node('ab'));
    await identify();
    health.open(1, { why: '' });
    rpcs[2].call = async () => {
      throw new RpcError('eth_blockNumber', -32000, 'not now');
    };
    const before = rpcs[1].calls.length;
    assert.deepEqual(await compare(), []);
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
  /** @type {{startBlock: number, startHash: string | null}} */
  const START = { startBlock: 2, startHash: 'c' };

  /** @param {Node} after what the second of two is later */
  async function checked(after, start = START) {
    const second = node('abcd');
    const { identify, chainIdentity, rpcs } = chainOf(node('abcd'), second);
    await identify();
    chainIdentity.begin(start);
    Object.assign(second, after);
    return { found: await chainIdentity.check(1, after.hashes.length - 1, false), chainIdentity, rpcs };
  }

  it('accepts one with the start block, or without old blocks', async () => {
    assert.equal((await checked(node('abcde'))).found, null);
    assert.equal((await checked(node('---de'))).found, null);
  });

  it('rejects another chain, and one that is behind', async () => {
    const other = (/** @type {string} */ how) => ({
      why: `${how}: it serves another chain now`,
      isOther: true,
    });
    assert.deepEqual((await checked(node('abcde', 999))).found, other('it answers as chain 999'));
    assert.deepEqual((await checked(node('abxyz'))).found, other('it has another block 2'));
    assert.deepEqual((await checked(node('a'))).found, { why: 'it is behind the others' });
  });

  it('without a start block it compares a common block', async () => {
    const nothing = { startBlock: 0, startHash: null };
    assert.equal((await checked(node('abcd'), nothing)).found, null);
    assert.match(String((await checked(node('axyz'), nothing)).found?.why), /another block 3/);
  });

  it('makes no request for an endpoint that is up and was compared', async () => {
    const { chainIdentity, rpcs } = await checked(node('abcd'));
    const before = rpcs[1].calls.length;
    assert.equal(await chainIdentity.check(1, 9, true), null);
    assert.equal(rpcs[1].calls.length, before);
  });

  it('without any block before the load it compares the first one', async () => {
    const [a, b] = [node('a'), node('a')];
    const { identify, compare, chainIdentity } = chainOf(a, b);
    await identify();
    a.hashes.push('b');
    // During the set-up two chains end the run.
    assert.equal(await chainIdentity.check(0, 1, true), null);
    a.hashes.pop();
    await compare();
    chainIdentity.begin({ startBlock: 0, startHash: 'a' });
    a.hashes.push('b');
    b.hashes.push('x');
    assert.equal(await chainIdentity.check(0, 1, true), null);
    assert.match(String((await chainIdentity.check(1, 1, true))?.why), /another block 1/);
  });
});

describe('Monitor with ChainIdentity', () => {
  it('uses an endpoint of the chain again, and reports another chain once', async () => {
    /** @type {Fault | null} */
    let finding = null;
    let isThere = true;
    const clock = createFakeClock();
    const health = new Health(2, clock);
    const second = () => {
      if (!isThere) throw new TransportError('connection refused', 'refused');
      return finding === null ? '0x5' : '0xfff';
    };
    const rpcs = [fakeRpc({ eth_blockNumber: () => '0x5' }), fakeRpc({ eth_blockNumber: second })];
    const checkIdentity = async (
      /** @type {number} */ index,
      /** @type {number} */ head,
      /** @type {boolean} */ isUp,
    ) => (index === 1 && !isUp ? finding : null);
    const monitor = new Monitor({ rpcs, health, clock, checkIdentity });
    /** @type {string[]} */
    const said = [];
    health.onEvent = ({ endpoint, isBack, words }) => said.push(`${endpoint} ${isBack ? 'back' : 'left'}: ${words}`);
    monitor.begin();
    await clock.advance(1500);
    isThere = false;
    await clock.advance(2000);
    isThere = true;
    finding = { why: 'it serves another chain now', isOther: true };
    // The head of another chain does not count.
    await clock.advance(10_000);
    assert.deepEqual([health.isUp(0), health.isUp(1)], [true, false]);
    assert.deepEqual(said, ['1 left: connection refused', '1 left: it serves another chain now']);
    assert.equal(said.length, 2);
    finding = null;
    await clock.advance(1500);
    assert.equal(health.isUp(1), true);
    assert.match(said[2], /^1 back/);
    monitor.stop();
  });

  it('checks the chain of an endpoint that a request marked as down meanwhile', async () => {
    const clock = createFakeClock();
    const health = new Health(1, clock);
    /** @type {(head: string) => void} */
    let answer = () => {};
    const rpcs = [fakeRpc({ eth_blockNumber: () => new Promise((resolve) => (answer = resolve)) })];
    let checked = 0;
    const checkIdentity = async (/** @type {number} */ _, /** @type {number} */ __, /** @type {boolean} */ isUp) => {
      checked += isUp ? 0 : 1;
      return null;
    };
    const monitor = new Monitor({ rpcs, health, clock, checkIdentity });
    monitor.begin();
    await clock.advance(10);
    health.open(0, { why: '' });
    answer('0x5');
    await clock.advance(10);
    assert.deepEqual([health.isUp(0), checked], [false, 0]);
    await clock.advance(1000);
    answer('0x5');
    await clock.advance(10);
    assert.deepEqual([health.isUp(0), checked], [true, 1]);
    monitor.stop();
  });
});
