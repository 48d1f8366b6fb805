/** Two chains behind one URL: which connections prove them, and when. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UrlCheck, assertUrlIsOneChain } from '../../../src/chain/url-check.js';
import { RpcError, UnavailableError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';

/** @typedef {{hashes: Array<string | null>}} Node whose blocks have these hashes; null: it does not keep it */

const NEVER = new AbortController().signal;

/** @param {string} hashes a letter for each block @returns {Node} */
const node = (hashes) => ({ hashes: hashes.split('').map((hash) => (hash === '-' ? null : hash)) });

/** @param {Node} node that a test may change */
const rpcOf = (node) =>
  fakeRpc({
    eth_blockNumber: () => `0x${(node.hashes.length - 1).toString(16)}`,
    eth_getBlockByNumber: (number) => {
      const hash = node.hashes[Number(number)] ?? null;
      return hash === null ? null : { hash: hash32(hash) };
    },
  });

describe('assertUrlIsOneChain()', () => {
  const LONG = 'a'.repeat(100);
  const ofA = node(LONG);
  const ofB = node(`a${'b'.repeat(99)}`);
  const behind = node('a'.repeat(98));

  /** @param {Node[]} nodes of the connections @param {(nodes: Node[]) => void} [meanwhile] between the two looks @param {AbortSignal} [signal] */
  async function check(nodes, meanwhile, signal = NEVER) {
    const own = nodes.map((one) => ({ ...one }));
    const [rpcs, clock] = [own.map(rpcOf), createFakeClock()];
    const checked = assertUrlIsOneChain(rpcs, { clock, signal });
    checked.catch(() => {});
    await clock.advance(1000);
    meanwhile?.(own);
    await clock.advance(5000);
    return { checked, requests: Math.max(...rpcs.map(({ calls }) => calls.length)) };
  }

  for (const [name, nodes, number] of /** @type {Array<[string, Node[], number]>} */ ([
    ['another genesis block', [node('ax'), node('ax'), node('bx')], 0],
    ['one genesis block, and another block 64 below the lowest head', [ofA, ofB, behind], 33],
    ['short chains: block 1', [node('aaa'), node('abb')], 1],
    ['nodes that have pruned the genesis block', [node('-aa'), node('-bb')], 1],
  ])) {
    it(`refuses ${name}, with both hashes`, async () => {
      const { checked } = await check(nodes);
      await assert.rejects(checked, (/** @type {any} */ error) => {
        assert.ok(error instanceof UnavailableError, String(error));
        assert.equal(error.exitCode, 69);
        assert.match(error.message, new RegExp(`answers for two chains: .* block ${number} is 0x\\w+, .* 0x\\w+, `));
        return true;
      });
    });
  }

  for (const [name, nodes] of /** @type {Array<[string, Node[]]>} */ ([
    ['replicas that are behind', [ofA, behind, node('a'.repeat(95))]],
    ['replicas that differ near the head', [node(`${'a'.repeat(90)}bb`), node(`${'a'.repeat(90)}cc`)]],
    ['nodes that have only block 0', [node('a'), node('a')]],
    ['a node that has only block 0 beside another', [node('a'), node('abc')]],
    ['a node that has pruned the blocks', [ofA, node(`${'-'.repeat(90)}aaaaaaaaaa`)]],
  ])) {
    it(`accepts ${name}, by three requests for each connection, without a wait`, async () => {
      const { checked, requests } = await check(nodes);
      await checked;
      assert.ok(requests <= 3, `${requests}`);
    });
  }

  it('accepts a fork that has disappeared after 2 s', async () => {
    const { checked } = await check([node('aaa'), node('abb')], ([, forked]) => {
      forked.hashes = ['a', 'a', 'a'];
    });
    await checked;
  });

  it('refuses two chains of which each request gets another one', async () => {
    const { checked } = await check([node('aaa'), node('abb')], ([one, other]) => {
      [one.hashes, other.hashes] = [other.hashes, one.hashes];
    });
    await assert.rejects(checked, UnavailableError);
  });

  it('proves nothing by connections that fail', async () => {
    const [rpcs, clock] = [[node('aaa'), node('abb')].map(rpcOf), createFakeClock()];
    const broken = { ...rpcs[1], call: () => Promise.reject(new RpcError('eth_blockNumber', -32005, 'limited')) };
    await assertUrlIsOneChain([rpcs[0], broken], { clock, signal: NEVER });
  });
});

describe('UrlCheck', () => {
  /** Connections take turns between two nodes. @param {Node} one @param {Node} other */
  function setUp(one, other) {
    const clock = createFakeClock();
    let [opened, closed] = [0, 0];
    const check = new UrlCheck({
      ...{ clock, urls: [new URL('http://127.0.0.1:1')], rpc: rpcOf(one) },
      connect: () => {
        const transport = /** @type {any} */ ({ close: async () => {} });
        return { transport, rpc: rpcOf((opened += 1) % 2 === 0 ? one : other) };
      },
      onClosed: () => void (closed += 1),
    });
    /** @type {Error[]} */
    const errors = [];
    return {
      clock,
      check,
      errors,
      counts: () => ({ opened, closed }),
      begin: () => check.begin(NEVER, (error) => void errors.push(error)),
    };
  }

  it('finds two fresh chains of one genesis block as soon as both have blocks, while the run goes on', async () => {
    const [one, other] = [node('a'), node('a')];
    const { clock, begin, errors } = setUp(one, other);
    await begin();
    await clock.advance(5000);
    one.hashes = ['a', 'b'];
    await clock.advance(5000);
    assert.deepEqual(errors, []);
    other.hashes = ['a', 'c'];
    await clock.advance(20_000);
    const words = errors.map((/** @type {Error} */ { message }) => message);
    assert.equal(words.length, 1);
    assert.match(words[0], /answers for two chains: .* block 1 is .* What was sent may be on both; give/);
  });

  it('finds them at once when something has failed', async () => {
    const [one, other] = [node('a'), node('a')];
    const { clock, check, begin } = setUp(one, other);
    await begin();
    assert.equal(await check.again(), null);
    one.hashes = ['a', 'b'];
    assert.match(
      String(await check.again()),
      /answer that it has block 0 only, and others .* may answer for two chains$/,
    );
    [one.hashes, other.hashes] = [
      ['a', 'b'],
      ['a', 'c'],
    ];
    const again = check.again();
    again.catch(() => {});
    await clock.advance(2000);
    await assert.rejects(again, UnavailableError);
  });

  it('does not look again at chains that are known, and closes what it has opened', async () => {
    const nodes = /** @type {const} */ ([node('a'), node('a')]);
    const { clock, check, begin, counts } = setUp(...nodes);
    await begin();
    for (const one of nodes) one.hashes = ['a', 'b'];
    await clock.advance(3000);
    const { opened, closed } = counts();
    assert.deepEqual([opened, closed], [12, 12]);
    await check.again();
    await clock.advance(100_000);
    assert.deepEqual([counts().opened, clock.pending()], [12, 0]);
  });

  it('ends with the run, and looks seldom at a node that stays behind', async () => {
    const { clock, check, begin, counts } = setUp(node('ab'), node('a'));
    await begin();
    await clock.advance(600_000);
    assert.ok(counts().opened <= 6 * 17, `${counts().opened}`);
    await check.close();
    await clock.settle();
    assert.equal(clock.pending(), 0);
  });
});
