/** What only the detector that submits does; what it does as all of them do is in test/contracts/inclusion.test.js. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { RpcError, TransportError } from '../../../src/errors.js';
import { detectors } from '../../../src/inclusion/index.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';
import { blockHash, createFakeChain } from '../../helpers/fake-chain.js';
import { hash32 } from '../../helpers/samples.js';

/** @import { InclusionOptions } from '../../../src/inclusion/index.js' */

const HEAD = 100;
const SYNC = 'eth_sendRawTransactionSync';
const PLAIN = 'eth_sendRawTransaction';

/** @param {number} code @param {string} words @param {unknown} [data] */
const refusal = (code, words, data) => new RpcError(SYNC, code, words, data);

/** Ends of the detectors of a test. @type {Array<() => Promise<void>>} */
const running = [];
afterEach(() => Promise.all(running.splice(0).map((stop) => stop())));

/**
 * A node that answers each submission when the test says so.
 * @param {Partial<InclusionOptions>} [options]
 */
function setUp(options = {}) {
  const clock = createFakeClock();
  const chain = createFakeChain({ clock, head: HEAD });
  /** Submissions that are not answered yet. @type {Array<{params: any[], purpose: string, answer: (receipt: any) => void, fail: (error: Error) => void}>} */
  const held = [];
  /** @type {Array<[string, any[], string]>} */
  const sent = [];
  const { call } = chain.rpc;
  chain.rpc.call = (method, params, purpose, onSent) => {
    if (!method.startsWith(PLAIN)) return call(method, params, purpose, onSent);
    sent.push([method, params, purpose]);
    onSent?.();
    if (method === PLAIN) return Promise.resolve(hash32(String(params[0])));
    return new Promise((answer, fail) => held.push({ params, purpose, answer, fail }));
  };
  /** @type {number[]} */
  const blocks = [];
  /** @type {Array<[string, number, string]>} name, number of the block, what was read until then */
  const found = [];
  const detector = detectors.sync.create({
    rpc: chain.rpc,
    clock,
    head: HEAD,
    headHash: blockHash(HEAD),
    onBlock: ({ number }) => blocks.push(number),
    ...options,
  });
  /** @type {unknown[]} */
  const ends = [];
  /** @param {string} raw its name, too @param {() => unknown} [onSent] */
  const submit = async (raw, onSent) => {
    const hash = hash32(raw);
    detector.watch(hash, { setInclusion: (_, { number }) => found.push([raw, number, blocks.join()]) });
    detector.submit?.(raw, hash, 'submit', onSent).then(
      (answer) => ends.push(answer),
      (error) => ends.push(error),
    );
    await clock.settle();
  };
  /** @param {string} raw @param {number} [number] @param {string} [block] */
  const receiptOf = (raw, number = HEAD + 1, block = blockHash(number)) => ({
    transactionHash: hash32(raw),
    blockNumber: `0x${number.toString(16)}`,
    blockHash: block,
    status: '0x1',
  });
  const polls = () => chain.rpc.count('eth_blockNumber');
  running.push(async () => {
    const stopped = detector.stop();
    await clock.advance(0);
    await stopped;
  });
  return { clock, chain, detector, held, sent, blocks, found, ends, submit, receiptOf, polls };
}

describe('inclusion sync: the receipt answers the submission', () => {
  it('its block is read at once, without a poll, and reported before it is told of', async () => {
    const { clock, chain, held, sent, found, ends, submit, receiptOf, polls } = setUp();
    await clock.advance(20_000); // polls are 250 ms apart by now
    let times = 0;
    await submit('a', () => (times += 1));
    assert.deepEqual([ends, times], [[], 1], 'it is sent, and the node has not answered');
    const before = polls();
    chain.mine(['a']);
    held[0].answer(receiptOf('a'));
    await clock.settle();
    assert.deepEqual(ends, [hash32('a')]);
    assert.deepEqual(found, [['a', HEAD + 1, `${HEAD + 1}`]]);
    assert.equal(polls(), before);
    assert.deepEqual(sent, [[SYNC, ['a'], 'submit']]);
  });

  it('many answers of one block cost one look at it', async () => {
    const { clock, chain, held, found, submit, receiptOf } = setUp();
    for (let i = 0; i < 50; i += 1) await submit(`${i}`);
    await clock.advance(20_000);
    chain.mine(held.map((_, i) => `${i}`));
    const before = chain.rpc.count();
    for (const [i, { answer }] of held.entries()) answer(receiptOf(`${i}`));
    await clock.settle();
    assert.equal(found.length, 50);
    assert.ok(chain.rpc.count() - before <= 2, `${chain.rpc.count() - before} calls`);
  });

  it('a receipt of a block that another one has replaced tells nothing', async () => {
    for (const isRead of [false, true]) {
      const { clock, chain, held, found, submit, receiptOf } = setUp();
      await submit('a');
      chain.mine();
      if (isRead) await clock.advance(1000);
      held[0].answer(receiptOf('a', HEAD + 1, blockHash(HEAD + 1, 7)));
      await clock.advance(1000);
      assert.equal(found.length, 0);
      chain.mine(['a']);
      await clock.advance(1000);
      equalBy(found, ([, number]) => number, [HEAD + 2]);
    }
  });

  it('with confirmations it is told of when it has them', async () => {
    const { clock, chain, held, found, submit, receiptOf } = setUp({ confirmations: 1 });
    await submit('a');
    chain.mine(['a']);
    held[0].answer(receiptOf('a'));
    await clock.settle();
    assert.equal(found.length, 0);
    chain.mine();
    await clock.advance(1000);
    assert.deepEqual(found, [['a', HEAD + 1, `${HEAD + 1},${HEAD + 2}`]]);
  });

  it('a block that is not there, as a receipt says it, does not keep it from following the chain', async () => {
    const { clock, chain, detector, held, blocks, submit, receiptOf } = setUp();
    await submit('a');
    held[0].answer(receiptOf('a', 2 ** 50));
    await clock.advance(1000);
    chain.mine();
    await clock.advance(1000);
    assert.deepEqual(blocks, [HEAD + 1]);
    assert.ok(detector.stats().failedPolls <= 2, 'it is looked for no longer');
  });

  it('a hash that is not awaited any more is forgotten', async () => {
    const { clock, chain, detector, held, found, submit, receiptOf } = setUp();
    await submit('a');
    await submit('b');
    detector.unwatch(hash32('a'));
    held[0].answer(receiptOf('a'));
    held[1].answer(receiptOf('b'));
    detector.unwatch(hash32('b'));
    chain.mine(['a', 'b']);
    await clock.advance(1000);
    assert.equal(found.length, 0);
  });
});

describe('inclusion sync: other answers', () => {
  for (const [words, error] of /** @type {Array<[string, RpcError]>} */ ([
    ['in no block in time', refusal(4, "wasn't processed in 9s", hash32('a'))],
    ['in no block in time, without its hash', refusal(4, 'timeout')],
    ['not ready, and in the pool', refusal(5, 'missing nonce', hash32('a'))],
    ['in no block in time, as anvil says it', refusal(-32603, 'Transaction confirmation timeout')],
  ])) {
    it(`${words}: the node has it, and its block is found by its head`, async () => {
      const { clock, chain, held, found, ends, submit } = setUp();
      await submit('a');
      held[0].fail(error);
      await clock.settle();
      assert.deepEqual(ends, [hash32('a')]);
      chain.mine(['a']);
      await clock.advance(1000);
      assert.equal(found.length, 1);
    });
  }

  it('what the node has against it is passed on', async () => {
    for (const error of [
      refusal(-32000, 'nonce too low'),
      refusal(5, 'not ready'),
      refusal(4, 'invalid opcode'),
      new TransportError('no answer in time', 'timeout'),
    ]) {
      const { clock, held, ends, submit } = setUp();
      await submit('a');
      held[0].fail(error);
      await clock.settle();
      assert.deepEqual(ends, [error]);
    }
  });

  it('a receipt may have no block yet, and another hash is passed on', async () => {
    const { clock, held, ends, submit, receiptOf } = setUp();
    for (const answer of [{ ...receiptOf('a'), blockNumber: null }, receiptOf('b')]) {
      await submit('a');
      held.at(-1)?.answer(answer);
      await clock.settle();
    }
    assert.deepEqual(ends, [hash32('a'), hash32('b')]);
  });
});

describe('inclusion sync: an endpoint that will not have it any more', () => {
  for (const [words, refused] of /** @type {Array<[string, RpcError | null]>} */ ([
    ['Method not found', refusal(-32601, 'Method not found')],
    ['rpc method is not whitelisted', refusal(-32600, 'rpc method is not whitelisted')],
    [`${SYNC} is not available on your plan`, refusal(-32000, `${SYNC} is not available on your plan`)],
    ['it answers without a receipt', null],
  ])) {
    it(`${words}: it is sent as others are, at once, and so are those after it; said`, async () => {
      const { clock, chain, detector, held, sent, found, ends, submit } = setUp();
      await submit('a');
      await submit('b');
      assert.equal(detector.stats().warning, null);
      if (refused === null) held[0].answer(null);
      else held[0].fail(refused);
      await clock.settle();
      await submit('c');
      assert.deepEqual(
        sent.map(([method, [raw], purpose]) => [method, raw, purpose]),
        [
          [SYNC, 'a', 'submit'],
          [SYNC, 'b', 'submit'],
          [PLAIN, 'a', 'submit'],
          [PLAIN, 'c', 'submit'],
        ],
      );
      assert.deepEqual(ends, [hash32('a'), hash32('c')]);
      const warning = `http://fake no longer accepts ${SYNC} (${words}): transactions are sent by ${PLAIN} from now on`;
      assert.equal(detector.stats().warning, warning);
      chain.mine(['a', 'c']);
      await clock.advance(1000);
      assert.equal(found.length, 2);
    });
  }

  it('what it has against a transaction is no such refusal', async () => {
    const { clock, held, ends, submit, detector } = setUp();
    const errors = [
      refusal(-32000, 'nonce too low'),
      refusal(-32000, 'transaction type not supported'),
      refusal(-32003, 'insufficient funds for gas * price + value'),
      refusal(-32005, 'daily request count exceeded, upgrade your plan'),
    ];
    for (const error of errors) {
      await submit('a');
      held.at(-1)?.fail(error);
      await clock.settle();
    }
    assert.deepEqual(ends, errors);
    assert.equal(detector.stats().warning, null);
  });
});
