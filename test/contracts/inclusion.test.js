/** What every inclusion detector must do, against a scripted chain and a clock that is turned by hand. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { toHex } from '../../src/chain/answers.js';
import { ProtocolError, RpcError, TransportError } from '../../src/errors.js';
import { detectors } from '../../src/inclusion/index.js';
import { createFakeClock } from '../helpers/clock.js';
import { equalBy } from '../helpers/equal-by.js';
import { blockHash, createFakeChain } from '../helpers/fake-chain.js';
import { fails } from '../helpers/fake-rpc.js';
import { hash32 } from '../helpers/samples.js';

/**
 * @import { Block, Inclusion, Reorg, Rpc } from '../../src/contracts/chain.d.ts'
 * @import { InclusionOptions as Options } from '../../src/inclusion/index.js'
 */

/** Two names may be one detector, which is asked more of an endpoint under one of them. */
const NAMES = Object.keys(detectors).filter(
  (name, i, all) => all.findIndex((other) => detectors[other].create === detectors[name].create) === i,
);

const HEAD = 100;
const SHORTEST_POLL_MS = 4;
/** Long enough for a detector that has not seen a block for a while to notice one. */
const NOTICED_MS = 300;

/** @typedef {{detector: ReturnType<detectors[string]['create']>, clock: ReturnType<typeof createFakeClock>}} Running */

/** Those of one test. @type {Running[]} */
const settings = [];
afterEach(() => Promise.all(settings.splice(0).map(stop)));

/**
 * @param {string} name
 * @param {{latencyMs?: number, subscribe?: Rpc['subscribe']} & Pick<Options, 'headHash' | 'confirmations'>} [options]
 */
function setUp(name, { latencyMs = 0, subscribe = null, ...options } = {}) {
  const clock = createFakeClock();
  const chain = createFakeChain({ clock, head: HEAD, latencyMs });
  chain.rpc.subscribe = subscribe;
  /** @type {Block[]} */
  const blocks = [];
  /** Each inclusion that was reported, by the name of the transaction. @type {Array<[string, Inclusion]>} */
  const found = [];
  /** Each reorg that was reported, with how many blocks had been read. @type {Array<Reorg & {read: number}>} */
  const reorgs = [];
  /** @type {string[]} */
  const replaced = [];
  /** Times without an answer that ended, in ms. @type {number[]} */
  const silences = [];
  const detector = detectors[name].create({
    onSilence: ({ ms }) => silences.push(ms),
    rpc: chain.rpc,
    clock,
    head: HEAD,
    ...options,
    onBlock: (block) => blocks.push(block),
    onReorg: (reorg) => reorgs.push({ ...reorg, read: blocks.length }),
    onReplaced: (words) => replaced.push(words),
  });
  /** Blocks of those that wait for confirmations. @type {Array<[string, {number: number, seenAtUs: number}]>} */
  const early = [];
  const watch = (/** @type {string} */ name) =>
    detector.watch(hash32(name), {
      setInclusion: (_, inclusion) => found.push([name, inclusion]),
      setBlock: (block) => early.push([name, block]),
    });
  /** Watched, then sent, as an operation does it. @param {string} name */
  const send = (name) => {
    watch(name);
    chain.send(name);
  };
  const numbers = () => blocks.map(({ number }) => number);
  const polls = () => chain.rpc.count('eth_blockNumber');
  /** Names and block numbers of what was found. */
  const places = () => found.map(([hash, { number }]) => [hash, number]);
  /** First block and depth of each reorg. */
  const depths = () => reorgs.map(({ number, depth }) => [number, depth]);
  /** Names of transactions and hashes of their blocks. */
  const told = () => found.map(([hash, { hash: block }]) => [hash, block]);
  const notice = () => clock.advance(NOTICED_MS);
  /** Mines blocks and waits until they are noticed. @param {number} [count] @param {string[]} [transactions] of each */
  const mine = async (count = 1, transactions = []) => {
    for (let i = 0; i < count; i += 1) chain.mine(transactions);
    await notice();
  };
  /** Replaces the last blocks and waits. @param {number} depth @param {string[][]} replacements */
  const reorg = async (depth, replacements) => {
    chain.reorg(depth, replacements);
    await notice();
  };
  const made = { clock, chain, detector, blocks, found, early, reorgs, replaced, silences };
  const setting = { ...made, watch, send, numbers, polls, places, told, depths, notice, mine, reorg };
  settings.push(setting);
  return setting;
}

/** @param {number} from @param {number} to */
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** @param {Running} setting */
async function stop({ detector, clock }) {
  const stopped = detector.stop();
  await clock.advance(0);
  await stopped;
}

for (const name of NAMES) {
  describe(`inclusion detector ${name}`, () => {
    it('finds a transaction once, in its block', async () => {
      const { clock, chain, found, send, notice, mine } = setUp(name);
      send('0xa');
      await clock.advance(1000);
      assert.equal(found.length, 0);
      chain.mine();
      chain.send('0xother');
      const minedAtUs = clock.nowUs();
      await notice();
      assert.equal(found.length, 1);
      const [hash, inclusion] = found[0];
      assert.equal(hash, '0xa');
      assert.deepEqual([inclusion.number, inclusion.hash], [HEAD + 1, blockHash(HEAD + 1)]);
      assert.ok(inclusion.seenAtUs >= minedAtUs && inclusion.seenAtUs <= clock.nowUs());
      for (let i = 0; i < 5; i += 1) await mine();
      assert.equal(found.length, 1);
      assert.ok(chain.rpc.calls.every(({ purpose }) => purpose === 'inclusion'));
    });

    it('reports each block once, in order, with what it read of it', async () => {
      const { chain, blocks, numbers, send, notice, mine } = setUp(name);
      send('0xa');
      send('0xb');
      await mine(1, ['0xforeign']);
      chain.mine([], { baseFeePerGas: undefined, excessBlobGas: '0x20000' });
      await notice();
      chain.mine([], { baseFeePerGas: null });
      await notice();
      const [{ seenAtUs, spreadFromUs, ...first }, second, third] = blocks;
      assert.deepEqual(first, {
        number: HEAD + 1,
        hash: blockHash(HEAD + 1),
        timestampS: 1_700_000_101,
        baseFeeWei: 108n,
        excessBlobGas: null,
        gasUsed: 78_000,
        gasLimit: 30_000_000,
        transactions: 3,
        ours: 2,
      });
      assert.ok(seenAtUs > 0 && seenAtUs <= second.seenAtUs);
      assert.ok(Number(spreadFromUs) <= seenAtUs);
      assert.deepEqual(
        [second.baseFeeWei, second.excessBlobGas, second.ours, second.transactions],
        [null, 131_072, 0, 0],
      );
      assert.equal(third.baseFeeWei, null);
      assert.deepEqual(numbers(), range(HEAD + 1, HEAD + 3));
    });

    it('reports it first even when it comes while the one before is worked on', async () => {
      const { clock, chain, detector, numbers } = setUp(name);
      /** @type {Array<[number, number[]]>} */
      const told = [];
      detector.watch(hash32('0xa'), { setInclusion: (_, { number }) => told.push([number, numbers()]) });
      chain.send('0xa');
      let mined = false;
      chain.fail((method) => {
        if (method === 'eth_blockNumber' || mined) return;
        mined = true;
        chain.mine(); // the block that holds it, after the head was asked for
      });
      chain.put(HEAD + 1, []);
      chain.announce();
      await clock.advance(1000);
      assert.deepEqual(told, [[HEAD + 2, [HEAD + 1, HEAD + 2]]]);
    });

    it('forgets a hash that is not watched any more, and one that it never knew', async () => {
      const { detector, found, blocks, send, mine } = setUp(name);
      send('0xa');
      send('0xb');
      detector.unwatch(hash32('0xa'));
      detector.unwatch(hash32('0xnever'));
      await mine();
      equalBy(found, ([hash]) => hash, ['0xb']);
      assert.equal(blocks[0].ours, 1);
      detector.unwatch(hash32('0xb'));
    });

    it('keeps up when the head jumps by many blocks', async () => {
      const { clock, chain, numbers, send, places } = setUp(name);
      for (let i = 0; i < 100; i += 1) {
        send(`0x${i}`);
        chain.mine();
      }
      await clock.advance(1000);
      assert.deepEqual(numbers(), range(HEAD + 1, HEAD + 100));
      assert.deepEqual(
        places(),
        range(0, 99).map((i) => [`0x${i}`, HEAD + 1 + i]),
      );
    });

    it('a transaction that is in a second block as well, after a reorganisation, is told of once', async () => {
      const { send, places, mine } = setUp(name);
      send('0xa');
      await mine();
      await mine(1, ['0xa']);
      assert.deepEqual(places(), [['0xa', HEAD + 1]]);
    });

    it('waits for a block that is announced but not served yet', async () => {
      const setting = setUp(name);
      const { clock, chain, numbers, watch, places, mine } = setting;
      watch('0xa');
      watch('0xb');
      chain.mine(['0xa']);
      const number = chain.announce();
      await clock.advance(2000);
      assert.ok(numbers().every((reported) => reported < number));
      assert.match(String(setting.detector.stats().lastError), /block 102 is announced but not served yet/);
      chain.put(number, ['0xb']);
      await clock.advance(2000);
      await mine();
      assert.deepEqual(numbers(), range(HEAD + 1, HEAD + 3));
      assert.deepEqual(places(), [
        ['0xa', HEAD + 1],
        ['0xb', HEAD + 2],
      ]);
    });

    it('does not pass a block that another node has, while the parents of later ones show that it exists', async () => {
      const { clock, chain, found, numbers, watch, mine } = setUp(name);
      watch('0xa');
      watch('0xb');
      chain.mine(['0xa']);
      await mine();
      const { call } = chain.rpc;
      chain.rpc.call = async (method, params, purpose) =>
        method === 'eth_getBlockByNumber' && Number(params[0]) === HEAD + 3 ? null : call(method, params, purpose);
      chain.mine(['0xb']);
      chain.mine();
      chain.mine();
      await clock.advance(6000);
      assert.deepEqual(numbers(), [HEAD + 1, HEAD + 2]);
      chain.rpc.call = call;
      await clock.advance(2000);
      assert.deepEqual(numbers(), range(HEAD + 1, HEAD + 5));
      assert.equal(found.length, 2);
    });

    for (const error of [
      new TransportError('connection refused', 'refused'),
      new RpcError('eth_blockNumber', -32000, 'header not found'),
      new ProtocolError('does not speak JSON-RPC'),
    ]) {
      it(`goes on after ${error.name}s, and says how long it heard nothing`, async () => {
        const { clock, chain, detector, numbers, send, polls, places } = setUp(name);
        chain.mine();
        await clock.advance(1000);
        assert.equal(detector.stats().failedPolls, 0);
        assert.equal(detector.stats().silentMs, 0);
        const before = polls();
        chain.fail(fails(error));
        send('0xa');
        chain.mine();
        await clock.advance(10_000);
        const { failedPolls, lastError, silentMs } = detector.stats();
        assert.ok(failedPolls > 0);
        assert.equal(lastError, error);
        assert.ok(silentMs > 8000 && silentMs <= 10_300, String(silentMs));
        // A node that is down is not asked ten times a second, nor is one that answers nonsense.
        assert.ok(polls() - before <= (error instanceof TransportError ? 30 : 45), `${polls() - before} polls in 10 s`);
        chain.fail(() => {});
        await clock.advance(1000);
        chain.mine();
        await clock.advance(1000);
        assert.deepEqual(numbers(), range(HEAD + 1, HEAD + 3));
        assert.deepEqual(places(), [['0xa', HEAD + 2]]);
        assert.ok(detector.stats().silentMs < 300);
        assert.equal(detector.stats().failedPolls, failedPolls);
      });
    }

    it('tells of an answer that came late, and of no error or slow chain', async () => {
      const { clock, chain, silences, mine } = setUp(name);
      await mine(2);
      await clock.advance(8000);
      chain.fail(fails(new RpcError('eth_blockNumber', -32000, 'header not found')));
      await clock.advance(5000);
      chain.fail(() => {});
      await mine();
      assert.deepEqual(silences, []);
      const { call } = chain.rpc;
      chain.rpc.call = async (...given) => {
        await clock.sleep(3000);
        return call.apply(chain.rpc, given);
      };
      await clock.advance(3500);
      chain.rpc.call = call;
      await clock.advance(5000);
      assert.ok(silences.length >= 1 && silences.every((ms) => ms >= 3000 && ms < 3300), `${silences}`);
      chain.fail(fails(new TransportError('connection refused', 'refused')));
      await clock.advance(6000);
      chain.fail(() => {});
      await clock.advance(3000);
      assert.ok((silences.at(-1) ?? 0) >= 5000, `${silences}`);
    });

    it('loses and repeats nothing, whichever calls fail', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.boolean(), { minLength: 1, maxLength: 60 }),
          fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 12 }),
          async (failures, sizes) => {
            const setting = setUp(name);
            const { clock, chain, numbers, send, places } = setting;
            let calls = 0;
            chain.fail(() => {
              if (failures[calls++] === true) throw new TransportError('connection lost', 'reset');
            });
            /** @type {Array<[string, number]>} */
            const expected = [];
            for (const [block, size] of sizes.entries()) {
              for (let i = 0; i < size; i += 1) {
                send(`0x${block}-${i}`);
                expected.push([`0x${block}-${i}`, HEAD + 1 + block]);
              }
              chain.mine();
              await clock.advance(40);
            }
            for (let i = 0; i < 60 && numbers().length < sizes.length; i += 1) await clock.advance(1000);
            await clock.advance(1000);
            assert.deepEqual(numbers(), range(HEAD + 1, HEAD + sizes.length));
            assert.deepEqual(places().sort(), expected.sort());
            await stop(setting);
          },
        ),
        { seed: 9, numRuns: 25 },
      );
    });

    it('stop() ends the polling, and the waiting for the next poll at once', async () => {
      const { clock, chain, detector, found, numbers, send, polls } = setUp(name);
      send('0xa');
      await clock.advance(100);
      await detector.stop(); // with no time that passes
      const before = polls();
      chain.mine();
      await clock.advance(10_000);
      assert.equal(polls(), before);
      assert.equal(clock.pending(), 0);
      assert.deepEqual([found, numbers()], [[], []]);
      await detector.stop();
    });

    it('stop() waits for the poll that is under way', async () => {
      const { clock, chain, detector, polls } = setUp(name, { latencyMs: 50 });
      await clock.advance(75);
      let stopped = false;
      const done = detector.stop().then(() => (stopped = true));
      await clock.advance(500);
      await done;
      assert.ok(stopped);
      const before = chain.rpc.count();
      await clock.advance(1000);
      assert.equal(chain.rpc.count(), before);
      assert.ok(polls() >= 1);
    });
  });

  describe(`inclusion detector ${name}: the pace of its polls`, () => {
    /** @type {Array<[number, number, number]>} block interval in ms, fewest and most polls a block */
    const table = [
      [100, 8, 12],
      [200, 8, 12],
      [1000, 8, 12],
      [2000, 8, 12],
      [12_000, 48, 52], // not less often than every 250 ms
      [20, 3, 5], // not more often than every 4 ms
      [10, 1.5, 2.5],
      [3, 0.5, 0.75],
      [1, 0.1, 0.25],
    ];
    for (const [blockMs, fewest, most] of table) {
      it(`a block every ${blockMs} ms: ${fewest} to ${most} polls a block, never two within ${SHORTEST_POLL_MS} ms`, async () => {
        const { clock, chain, detector, numbers } = setUp(name);
        /** @type {number[]} */
        const at = [];
        const { call } = chain.rpc;
        chain.rpc.call = (method, params, purpose) => {
          if (method === 'eth_blockNumber') at.push(clock.nowUs());
          return call(method, params, purpose);
        };
        const end = chain.mineEvery(blockMs);
        const blocks = Math.max(10, 500 / blockMs);
        await clock.advance(1.2 * blocks * blockMs);
        const before = at.length;
        await clock.advance(blocks * blockMs);
        const perBlock = (at.length - before) / blocks;
        assert.ok(perBlock >= fewest && perBlock <= most, `${perBlock} polls a block`);
        const gaps = at.slice(1).map((us, i) => (us - at[i]) / 1000);
        assert.ok(Math.min(...gaps) >= SHORTEST_POLL_MS, `${Math.min(...gaps)} ms`);
        assert.ok(numbers().length >= 2 * blocks);
        assert.deepEqual(numbers(), range(HEAD + 1, HEAD + numbers().length));
        const { resolutionMs } = detector.stats();
        assert.ok(Math.abs(resolutionMs - Math.min(Math.max(blockMs / 10, SHORTEST_POLL_MS), 250)) < blockMs / 40 + 1);
        end();
      });
    }

    it('follows a chain that becomes slower, and one that becomes faster', async () => {
      const { clock, chain, detector } = setUp(name);
      let end = chain.mineEvery(100);
      await clock.advance(2000);
      end();
      end = chain.mineEvery(2000);
      await clock.advance(40_000);
      assert.ok(detector.stats().resolutionMs >= 150, String(detector.stats().resolutionMs));
      end();
      end = chain.mineEvery(100);
      await clock.advance(2000);
      assert.ok(detector.stats().resolutionMs <= 15, String(detector.stats().resolutionMs));
      end();
    });

    it('keeps its pace on a node that announces each block a moment before it serves it', async () => {
      const { clock, chain, numbers, polls } = setUp(name);
      const announceEvery = async (/** @type {number} */ count) => {
        for (let i = 0; i < count; i += 1) {
          await clock.advance(970);
          const number = chain.announce();
          await clock.advance(30);
          chain.put(number, []);
        }
      };
      // Where the announcement falls between two polls decides whether it is noticed: let some be.
      await announceEvery(12);
      const before = polls();
      await announceEvery(20);
      const perBlock = (polls() - before) / 20;
      assert.ok(perBlock >= 8 && perBlock <= 15, `${perBlock} polls a block`);
      assert.ok(numbers().length >= 30);
    });
  });
}

/** The hash by which another chain is known. */
const REPLACED = /^http:\/\/fake does not have the block 100 at which the load began: its chain was rolled back or/;
const KNOWN_START = Object.freeze({ headHash: blockHash(HEAD) });

for (const name of NAMES) {
  /** @param {Parameters<typeof setUp>[1]} [options] */
  const knowing = (options) => setUp(name, { ...KNOWN_START, ...options });

  describe(`inclusion detector ${name}: blocks that leave the chain`, () => {
    it('a block replaced by one of the same number is noticed by the parent of the next, before that is read', async () => {
      const setting = knowing();
      const { reorgs, blocks, send, replaced, mine, reorg, told } = setting;
      send('0xa');
      await mine();
      await reorg(1, [[]]);
      assert.deepEqual(reorgs, [], 'nothing tells of it yet');
      await mine(1, ['0xa']);
      const number = HEAD + 1;
      assert.deepEqual(reorgs, [{ number, hash: blockHash(number), depth: 1, unconfirmed: [], read: 1 }]);
      equalBy(blocks, ({ hash }) => hash, [blockHash(number), blockHash(number, 1), blockHash(number + 1, 1)]);
      assert.deepEqual(told(), [['0xa', blockHash(number)]], 'a caller with a result gets no second one');
      assert.deepEqual(replaced, []);
      await stop(setting);
      assert.equal(reorgs.length, 1);
    });

    it('the first block that is read may already be of another chain than the start', async () => {
      const { reorgs, replaced, reorg } = knowing();
      await reorg(1, [[], []]);
      assert.equal(reorgs.length, 0);
      assert.match(replaced[0], REPLACED);
    });

    it('a deeper one: from the first block that left it on, and all that replace them are read', async () => {
      const { reorgs, blocks, mine, reorg } = knowing();
      await mine(5);
      await reorg(3, [[], [], [], []]);
      assert.deepEqual(reorgs, [{ number: HEAD + 3, hash: blockHash(HEAD + 3), depth: 3, unconfirmed: [], read: 5 }]);
      equalBy(
        blocks.slice(5),
        ({ hash }) => hash,
        range(HEAD + 3, HEAD + 6).map((number) => blockHash(number, 1)),
      );
    });

    it('one deeper than what is remembered is seen, as deep as that goes', async () => {
      const { replaced, blocks, depths, mine, reorg } = knowing();
      await mine(300);
      assert.equal(blocks.length, 300);
      await reorg(290, Array(291).fill([]));
      assert.deepEqual(depths(), [[HEAD + 45, 256]]);
      assert.deepEqual(replaced, []);
      assert.equal(blocks.at(-1)?.hash, blockHash(HEAD + 301, 1));
    });

    it('one that is watched for again is told of again, in the block that has it now', async () => {
      const { clock, chain, reorgs, send, watch, notice, mine, told } = knowing();
      send('0xa');
      chain.mine();
      await mine();
      chain.reorg(2, [[], ['0xa']]);
      watch('0xa');
      await notice();
      assert.equal(reorgs.length, 0);
      chain.mine();
      await clock.advance(2 * NOTICED_MS);
      assert.equal(reorgs.length, 1);
      assert.deepEqual(told(), [
        ['0xa', blockHash(HEAD + 1)],
        ['0xa', blockHash(HEAD + 2, 1)],
      ]);
    });

    it('an endpoint that fails while it is looked where the chains part: it is looked again', async () => {
      const { clock, chain, numbers, depths, mine } = knowing();
      await mine(3);
      chain.reorg(2, [[], [], []]);
      let left = 3;
      chain.fail((method) => {
        if (method === 'eth_getBlockByNumber' && (left -= 1) >= 0) throw new TransportError('lost', 'reset');
      });
      await clock.advance(5000);
      assert.deepEqual(depths(), [[HEAD + 2, 2]]);
      assert.deepEqual(numbers(), [...range(HEAD + 1, HEAD + 3), ...range(HEAD + 2, HEAD + 4)]);
    });

    it('a node that states no parents is followed all the same', async () => {
      const { chain, reorgs, numbers, notice } = knowing();
      for (let i = 0; i < 3; i += 1) {
        chain.mine([], { parentHash: undefined });
        await notice();
      }
      assert.deepEqual([numbers(), reorgs], [range(HEAD + 1, HEAD + 3), []]);
    });
  });

  describe(`inclusion detector ${name}: a head that goes back`, () => {
    it('and forth, again and again: a node that lags, no reorg', async () => {
      const { clock, chain, reorgs, numbers, mine } = knowing();
      await mine(3);
      const { call } = chain.rpc;
      for (let i = 0; i < 3; i += 1) {
        chain.rpc.call = async (method, ...rest) =>
          method === 'eth_blockNumber' ? toHex(HEAD + 1) : call(method, ...rest);
        await clock.advance(4500);
        chain.rpc.call = call;
        await clock.advance(500);
      }
      await mine();
      assert.deepEqual([reorgs, numbers()], [[], range(HEAD + 1, HEAD + 4)]);
    });

    for (const lag of [2, 12])
      it(`by ${lag} blocks, for 10 s, with the same blocks: it is said that the node lags, and there is no reorg`, async () => {
        const { clock, chain, detector, reorgs, replaced, numbers, found, send, notice, mine, told } = knowing();
        await mine(20);
        const head = HEAD + 20 - lag;
        const { call } = chain.rpc;
        chain.rpc.call = async (method, params, ...rest) => {
          if (method === 'eth_blockNumber') return toHex(head);
          if (method === 'eth_getBlockByNumber' && Number(params[0]) > head) return null;
          return call(method, params, ...rest);
        };
        send('0xa');
        chain.mine();
        await clock.advance(4000);
        assert.equal(detector.stats().warning, null);
        await clock.advance(6000);
        assert.deepEqual([reorgs, replaced, found], [[], [], []]);
        const { behindMs, warning } = detector.stats();
        assert.ok(behindMs > 9000 && behindMs <= 10_000, `${behindMs}`);
        assert.match(warning ?? '', /^http:\/\/fake is behind: its latest block has been below block 120, .* for 10 s/);
        chain.rpc.call = call;
        await notice();
        const { behindMs: afterwards, newestBlock } = detector.stats();
        assert.deepEqual([afterwards, newestBlock], [0, HEAD + 21]);
        assert.deepEqual([numbers(), reorgs], [range(HEAD + 1, HEAD + 21), []]);
        assert.deepEqual(told(), [['0xa', blockHash(HEAD + 21)]]);
      });

    it('because blocks are gone: a reorg as soon as another one has the place of one of them', async () => {
      const { clock, chain, reorgs, numbers, mine } = knowing();
      await mine(3);
      chain.reorg(2, []);
      await clock.advance(10_000);
      assert.deepEqual(reorgs, [], 'nothing tells it from a node that lags');
      await mine();
      assert.deepEqual(reorgs, [{ number: HEAD + 2, hash: blockHash(HEAD + 2), depth: 2, unconfirmed: [], read: 3 }]);
      assert.deepEqual(numbers(), [...range(HEAD + 1, HEAD + 3), HEAD + 2]);
      await clock.advance(20_000);
      assert.equal(reorgs.length, 1);
    });

    it('a cache that still has the blocks before it: a reorg when it has not, and parents go on to be compared', async () => {
      const { clock, chain, reorgs, detector, depths, notice, mine } = knowing();
      await mine(4);
      const { call } = chain.rpc;
      const hex = `0x${(HEAD + 4).toString(16)}`;
      const cached = await call('eth_getBlockByNumber', [hex, false], 'inclusion');
      let isStale = true;
      chain.rpc.call = async (method, params, purpose) =>
        isStale && method === 'eth_getBlockByNumber' && params[0] === hex ? cached : call(method, params, purpose);
      chain.reorg(2, [[], [], []]);
      await clock.advance(1000);
      assert.deepEqual([reorgs.length, detector.stats().note], [0, null]);
      isStale = false;
      await notice();
      assert.deepEqual(depths(), [[HEAD + 3, 2]]);
    });

    it('and the block there is another one: at once', async () => {
      const { depths, mine, reorg } = knowing();
      await mine(4);
      await reorg(3, [[]]);
      assert.deepEqual(depths(), [[HEAD + 2, 3]]);
    });
  });

  describe(`inclusion detector ${name}: another chain`, () => {
    for (const [grown, head, noticedMs] of /** @type {Array<[string, number, number]>} */ ([
      ['is shorter', 5, 20_000],
      ['has as many blocks and more', HEAD + 9, 2 * NOTICED_MS],
    ])) {
      it(`started anew, it ${grown}: noticed within ${noticedMs} ms`, async () => {
        const { clock, chain, reorgs, replaced, numbers, mine } = knowing();
        await mine(3);
        assert.deepEqual(replaced, []);
        chain.restart(head);
        await clock.advance(noticedMs + NOTICED_MS);
        assert.match(replaced[0], REPLACED);
        assert.deepEqual([reorgs, numbers()], [[], range(HEAD + 1, HEAD + 3)], 'its blocks are none of ours');
      });
    }

    it('the block at which the load began was replaced', async () => {
      const { chain, reorgs, replaced, mine, reorg } = knowing();
      await mine(2);
      chain.put(HEAD - 1, []);
      await reorg(3, [[], [], [], []]);
      assert.match(replaced[0], REPLACED);
      assert.deepEqual(reorgs, []);
    });

    it('below that block for 20 s: either it was rolled back, or the node is far behind', async () => {
      const { clock, chain, replaced, mine } = knowing();
      await mine();
      chain.reorg(3, []);
      await clock.advance(19_000);
      assert.deepEqual(replaced, []);
      await clock.advance(1500);
      assert.match(replaced[0], REPLACED);
    });

    it('a node that has pruned that block, and a reorg deeper than what is remembered: it goes on', async () => {
      const { chain, reorgs, replaced, notice, mine, reorg } = knowing();
      await mine(300);
      const { call } = chain.rpc;
      chain.rpc.call = async (method, params, ...rest) => {
        if (method === 'eth_getBlockByNumber' && Number(params[0]) <= HEAD) return null;
        return call(method, params, ...rest);
      };
      await reorg(290, Array(291).fill([]));
      await notice();
      assert.deepEqual([reorgs.map(({ depth }) => depth), replaced], [[256], []]);
    });
  });

  describe(`inclusion detector ${name}: stop()`, () => {
    it('looks once more, and notices that the last block was replaced', async () => {
      const setting = knowing();
      const { reorgs, mine, reorg } = setting;
      await mine(3);
      await reorg(2, [[], []]);
      assert.deepEqual(reorgs, []);
      await stop(setting);
      assert.deepEqual(reorgs, [{ number: HEAD + 2, hash: blockHash(HEAD + 2), depth: 2, unconfirmed: [], read: 3 }]);
      await stop(setting);
      assert.equal(reorgs.length, 1);
    });

    it('an endpoint that is gone is none of its business', async () => {
      const setting = knowing();
      const { chain, reorgs, mine } = setting;
      await mine();
      chain.reorg(1, [[]]);
      chain.fail(fails(new TransportError('connection refused', 'refused')));
      await stop(setting);
      assert.deepEqual(reorgs, []);
    });
  });

  describe(`inclusion detector ${name}: confirmations`, () => {
    for (const confirmations of [0, 2]) {
      it(`${confirmations}: told of when so many blocks are on top, and not before`, async () => {
        const { found, early, detector, send, blocks, mine } = knowing({ confirmations });
        send('0xa');
        for (let onTop = 0; onTop < 4; onTop += 1) {
          assert.deepEqual(
            [found.length, detector.hasPassed(HEAD + 1)],
            onTop > confirmations ? [1, true] : [0, false],
          );
          await mine();
        }
        const [[hash, { sighting, ...inclusion }]] = found;
        const { seenAtUs } = blocks[confirmations];
        assert.deepEqual([hash, inclusion], ['0xa', { number: HEAD + 1, hash: blockHash(HEAD + 1), seenAtUs }]);
        assert.deepEqual([sighting?.toUs, sighting?.open], [seenAtUs, 0], 'of the block that confirms it');
        assert.deepEqual([detector.hasPassed(HEAD + 4 - confirmations), found.length], [true, 1]);
        assert.equal(detector.hasPassed(HEAD + 5 - confirmations), false);
        assert.equal(blocks[0].ours, 1, 'it is ours the moment that it is seen');
        const block = { number: HEAD + 1, seenAtUs: blocks[0].seenAtUs };
        assert.deepEqual(early, confirmations === 0 ? [] : [['0xa', block]]);
      });
    }

    it('a block that leaves the chain before takes what was in it along: it is watched for again', async () => {
      const { clock, chain, found, reorgs, send, mine, told } = knowing({ confirmations: 2 });
      send('0xa');
      chain.mine(['0xforeign']);
      send('0xb');
      await mine();
      chain.reorg(1, [[], ['0xb'], []]);
      await clock.advance(2 * NOTICED_MS);
      equalBy(reorgs, ({ number, unconfirmed }) => [number, unconfirmed], [[HEAD + 2, [hash32('0xb')]]]);
      assert.deepEqual(told(), [['0xa', blockHash(HEAD + 1)]], 'what was before it stays');
      await mine();
      assert.deepEqual(told().slice(1), [['0xb', blockHash(HEAD + 3, 1)]]);
      await mine(3);
      assert.equal(found.length, 2);
    });

    it('hasPassed() goes back with the chain', async () => {
      const { detector, mine, reorg } = knowing();
      assert.deepEqual([detector.hasPassed(HEAD), detector.hasPassed(HEAD + 1)], [true, false]);
      await mine(3);
      assert.equal(detector.hasPassed(HEAD + 3), true);
      await reorg(3, [[]]);
      assert.deepEqual([detector.hasPassed(HEAD + 1), detector.hasPassed(HEAD + 2)], [true, false]);
    });
  });

  describe(`inclusion detector ${name}: an answer that does not come`, () => {
    for (const method of ['eth_blockNumber', 'eth_getBlockByNumber']) {
      /**
       * The first questions of a kind are answered when the test says so.
       * @param {ReturnType<typeof setUp>} setting
       * @param {number} count
       */
      function hold({ chain }, count) {
        /** @type {Array<{answer: () => void, fail: (error: Error) => void}>} */
        const held = [];
        const { call } = chain.rpc;
        chain.rpc.call = async (asked, ...rest) => {
          if (asked !== method || held.length === count) return call(asked, ...rest);
          await new Promise((/** @type {(value?: undefined) => void} */ resolve, reject) => {
            held.push({ answer: () => resolve(), fail: reject });
          });
          return call(asked, ...rest);
        };
        return held;
      }

      it(`${method}: after a second it is asked for again, and that answer counts`, async () => {
        const setting = knowing();
        const { clock, chain, numbers, notice } = setting;
        await notice();
        const held = hold(setting, 1);
        chain.mine();
        await clock.advance(1000);
        assert.equal(held.length, 1);
        assert.deepEqual(numbers(), []);
        await notice();
        assert.deepEqual(numbers(), [HEAD + 1]);
        held[0].answer();
        await clock.advance(1000);
        assert.deepEqual(numbers(), [HEAD + 1], 'the late one changes nothing');
      });

      it(`${method}: the first answer counts, whichever it is of; an error is none while there is hope`, async () => {
        for (const faster of [0, 1]) {
          const setting = knowing();
          const { clock, chain, numbers, detector, notice } = setting;
          await notice();
          const held = hold(setting, 2);
          chain.mine();
          await clock.advance(1000 + NOTICED_MS);
          assert.equal(held.length, 2);
          held[1 - faster].fail(new TransportError('connection lost', 'reset'));
          await clock.advance(100);
          assert.deepEqual(numbers(), []);
          held[faster].answer();
          await notice();
          assert.deepEqual([numbers(), detector.stats().failedPolls], [[HEAD + 1], 0]);
          await stop(setting);
        }
      });

      it(`${method}: where none comes the first error is told, and it goes on`, async () => {
        const setting = knowing();
        const { clock, chain, numbers, detector, notice } = setting;
        await notice();
        const held = hold(setting, 2);
        chain.mine();
        await clock.advance(1000 + NOTICED_MS);
        held[1].fail(new TransportError('second', 'reset'));
        held[0].fail(new TransportError('first', 'timeout'));
        await clock.advance(0);
        assert.equal(detector.stats().lastError?.message, 'first');
        await clock.advance(2000);
        assert.deepEqual([numbers(), detector.stats().failedPolls], [[HEAD + 1], 1]);
      });
    }

    it('one that comes in time is asked for once', async () => {
      const setting = setUp(name, { latencyMs: 900 });
      const { clock, chain, numbers } = setting;
      chain.mine();
      await clock.advance(2500);
      assert.deepEqual(numbers(), [HEAD + 1]);
      assert.equal(chain.rpc.count('eth_getBlockByNumber'), 1);
      assert.ok(setting.polls() <= 3);
      const stopped = setting.detector.stop();
      await clock.advance(5000);
      await stopped;
    });
  });
}

for (const perBlock of [1, 1000])
  it(`inclusion detector blocks: one call a block, with ${perBlock} transactions that wait`, async () => {
    const setting = setUp('blocks');
    const { clock, chain, found, polls, send, notice } = setting;
    for (let block = 0; block < 10; block += 1) {
      for (let i = 0; i < perBlock; i += 1) send(`0x${block}-${i}`);
      await clock.advance(200);
      chain.mine();
    }
    await notice();
    assert.equal(found.length, 10 * perBlock);
    await stop(setting);
    // And one look in the end, whether the last block still counts.
    assert.equal(chain.rpc.count() - polls(), 10 + 1);
  });

/** A node that says new heads by itself, or will not. */
function createSpeaker() {
  /** @type {Set<{onEvent: (header: any) => void, onLost: (error: TransportError) => void}>} */
  const live = new Set();
  /** What each attempt to subscribe runs into. @type {() => void} */
  let fault = () => {};
  let attempts = 0;
  /** @type {NonNullable<Rpc['subscribe']>} */
  const subscribe = async (kind, onEvent, onLost) => {
    attempts += 1;
    assert.equal(kind, 'newHeads');
    fault();
    const listener = { onEvent, onLost };
    live.add(listener);
    return () => live.delete(listener);
  };
  return {
    subscribe,
    /** @param {any} header */
    say: (header) => live.forEach(({ onEvent }) => onEvent(header)),
    lose: () => {
      const listeners = [...live];
      live.clear();
      for (const { onLost } of listeners) onLost(new TransportError('connection lost', 'reset'));
    },
    /** @param {() => void} newFault */
    fail: (newFault) => (fault = newFault),
    live: () => live.size,
    attempts: () => attempts,
  };
}

/** @param {string} name @param {() => void} [fault] of the attempts to subscribe */
function setUpWithSpeaker(name, fault = () => {}) {
  const speaker = createSpeaker();
  speaker.fail(fault);
  const setting = setUp(name, { subscribe: speaker.subscribe });
  const { chain } = setting;
  /** Mined, and said. @param {string[]} [transactions] */
  const mineAndSay = (transactions) => {
    chain.mine(transactions);
    speaker.say({ number: toHex(chain.head()) });
  };
  return { ...setting, speaker, mineAndSay };
}

for (const name of NAMES) {
  describe(`inclusion detector ${name}: heads that are pushed`, () => {
    it('a block is read the moment it is said, and nothing is polled while blocks come', async () => {
      const { clock, detector, found, numbers, send, polls, mineAndSay } = setUpWithSpeaker(name);
      await clock.advance(100);
      const before = polls();
      for (let i = 1; i <= 20; i += 1) {
        send(`0x${i}`);
        mineAndSay();
        await clock.settle();
        assert.deepEqual(numbers(), range(HEAD + 1, HEAD + i));
        assert.equal(found.length, i);
        await clock.advance(900);
      }
      assert.equal(polls(), before);
      const { source, resolutionMs, failedPolls, silentMs } = detector.stats();
      assert.deepEqual([source, resolutionMs, failedPolls, silentMs], ['subscription', 0, 0, 0]);
    });

    it('blocks that were not said, or made before there was a subscription, are read as well', async () => {
      const { clock, chain, numbers, mineAndSay } = setUpWithSpeaker(name);
      chain.mine();
      await clock.advance(50);
      assert.deepEqual(numbers(), [HEAD + 1]);
      for (let i = 0; i < 9; i += 1) chain.mine();
      mineAndSay();
      await clock.settle();
      assert.deepEqual(numbers(), range(HEAD + 1, HEAD + 11));
    });

    it('what is said of an old head, twice, or makes no sense, changes nothing', async () => {
      const setting = setUpWithSpeaker(name);
      const { clock, speaker, numbers, mineAndSay } = setting;
      await clock.advance(50);
      mineAndSay();
      for (const header of [{ number: toHex(HEAD) }, { number: toHex(HEAD + 1) }, {}, null, 'x', { number: '0x' }]) {
        speaker.say(header);
        await clock.settle();
      }
      const before = setting.polls();
      mineAndSay();
      await clock.settle();
      assert.deepEqual(numbers(), [HEAD + 1, HEAD + 2]);
      assert.equal(setting.polls(), before, 'what is said next is believed');
      assert.equal(setting.detector.stats().failedPolls, 0);
    });

    it('a block that is said before it is served is asked for again soon', async () => {
      const { clock, chain, speaker, numbers } = setUpWithSpeaker(name);
      await clock.advance(5000);
      speaker.say({ number: toHex(chain.announce()) });
      await clock.advance(10);
      chain.put(HEAD + 1, []);
      await clock.advance(200);
      assert.deepEqual(numbers(), [HEAD + 1]);
    });

    for (const error of [
      new RpcError('eth_subscribe', -32601, 'method not found'),
      new ProtocolError('does not speak JSON-RPC'),
    ]) {
      it(`a node that refuses with a ${error.name} is polled, and not asked again`, async () => {
        const setting = setUpWithSpeaker(name, fails(error));
        const { clock, chain, speaker, detector, numbers } = setting;
        const end = chain.mineEvery(100);
        await clock.advance(10_000);
        assert.equal(numbers().length, 99);
        const { source, resolutionMs } = detector.stats();
        assert.equal(source, 'poll');
        assert.ok(resolutionMs > 0 && resolutionMs < 15, String(resolutionMs));
        end();
        await stop(setting);
        assert.equal(speaker.attempts(), 1);
      });
    }

    it('one that is lost is made again, ever more seldom, and meanwhile the chain is polled', async () => {
      const { clock, chain, speaker, detector, numbers, mineAndSay } = setUpWithSpeaker(name);
      await clock.advance(50);
      mineAndSay();
      speaker.fail(fails(new TransportError('connection refused', 'refused')));
      chain.mine(); // made without a notification
      speaker.lose();
      await clock.settle();
      assert.deepEqual(numbers(), [HEAD + 1, HEAD + 2]);
      assert.equal(detector.stats().source, 'poll');
      assert.ok(detector.stats().resolutionMs > 0);
      for (let i = 0; i < 60; i += 1) {
        chain.mine();
        await clock.advance(1000);
      }
      assert.deepEqual(numbers(), range(HEAD + 1, HEAD + 62));
      assert.ok(speaker.attempts() >= 8 && speaker.attempts() <= 15, `${speaker.attempts()} attempts in a minute`);
      speaker.fail(() => {});
      await clock.advance(10_000);
      assert.deepEqual([speaker.live(), detector.stats().source], [1, 'subscription']);
      // One that works is not made to wait for the failures before it.
      mineAndSay();
      speaker.lose();
      await clock.advance(200);
      assert.equal(detector.stats().source, 'subscription');
      mineAndSay();
      await clock.settle();
      assert.deepEqual(numbers(), range(HEAD + 1, HEAD + 64));
    });

    it('one that says nothing though there is news is noticed, and another one made', async () => {
      const setting = setUpWithSpeaker(name);
      const { clock, chain, speaker, detector, numbers } = setting;
      await clock.advance(50);
      const end = chain.mineEvery(2000);
      await clock.advance(5000);
      assert.equal(speaker.attempts(), 1, 'a head that was on its way is no silence');
      assert.equal(numbers().length, 2);
      await clock.advance(3000);
      assert.ok(speaker.attempts() > 1);
      assert.ok(speaker.live() <= 1, 'the silent one was ended');
      await clock.advance(50_000);
      assert.ok(numbers().length >= 27, String(numbers().length));
      end();
      await stop(setting);
      assert.equal(detector.stats().failedPolls, 0);
    });

    it('an endpoint that is gone without a word is noticed', async () => {
      const { clock, chain, detector, mineAndSay, polls } = setUpWithSpeaker(name);
      await clock.advance(50);
      mineAndSay();
      await clock.advance(3000);
      assert.equal(detector.stats().silentMs, 0);
      assert.ok(polls() >= 3 && polls() <= 6, `${polls()} polls in 3 s`);
      chain.fail(fails(new TransportError('no answer in time', 'timeout')));
      await clock.advance(20_000);
      const { silentMs, failedPolls, lastError } = detector.stats();
      assert.ok(silentMs > 17_000 && silentMs <= 20_000, String(silentMs));
      assert.ok(failedPolls >= 15);
      assert.match(String(lastError?.message), /no answer in time/);
    });

    it('stop() ends it, also while it is being made', async () => {
      const setting = setUpWithSpeaker(name);
      await setting.clock.advance(50);
      assert.equal(setting.speaker.live(), 1);
      await stop(setting);
      assert.deepEqual([setting.speaker.live(), setting.clock.pending()], [0, 0]);
      const early = setUpWithSpeaker(name);
      await stop(early);
      assert.deepEqual([early.speaker.live(), early.clock.pending()], [0, 0]);
    });
  });
}
