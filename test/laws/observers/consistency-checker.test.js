/** The rounds of the consistency checks on a chain in memory: rate, lag, reorgs, and checks that are off. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConsistencyChecker } from '../../../src/observers/consistency/checker.js';
import { CheckedEndpoint } from '../../../src/observers/consistency/endpoint.js';
import { OperationSampler } from '../../../src/observers/consistency/index.js';
import { checkSubscription } from '../../../src/observers/consistency/subscription.js';
import { RpcError, TransportError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fails, fakeRpc } from '../../helpers/fake-rpc.js';
import { sampleOf } from '../../helpers/samples.js';

/** @import { Handlers } from '../../helpers/fake-rpc.js' */

const hashOf = (/** @type {string | number} */ n) => `0x${n.toString(16).padStart(64, '0')}`;
const HASH = hashOf('aa');
const TO = `0x${'1'.repeat(40)}`;
const OPERATION = { address: TO, nonce: 0, hash: HASH, blockNumber: 5, read: { call: { to: TO }, least: '1' } };
const refuse = (/** @type {string} */ method) => fails(new RpcError(method, -32601, 'the method does not exist'));

/** Blocks by number; block 5 has a transaction. @param {string} fork part of the hashes */
function chainOf(fork) {
  const blockOf = (/** @type {number} */ n) => {
    const transactions = n === 5 ? [HASH] : [];
    return {
      number: `0x${n.toString(16)}`,
      hash: hashOf(`${fork}${n}`),
      parentHash: hashOf(`${fork}${n - 1}`),
      transactions,
    };
  };
  return { blockOf, byHash: (/** @type {string} */ hash) => blockOf(Number(hash.at(-1))) };
}

/**
 * @param {Handlers} answers beside those of a right node
 * @param {{share?: number, mostMs?: number, names?: string[]}} [options]
 */
async function rounds(answers, { share = 0, mostMs = 10_000, names = ['http://a'] } = {}) {
  const clock = createFakeClock();
  const over = new AbortController();
  const { blockOf, byHash } = chainOf('f');
  const place = { blockHash: hashOf('f5'), blockNumber: '0x5', transactionIndex: '0x0' };
  const receipt = { ...place, transactionHash: HASH, logs: [] };
  const rpcs = names.map(() =>
    fakeRpc({
      eth_getBlockByNumber: (tag) => blockOf(tag === 'latest' ? 5 : Number(tag)),
      eth_getBlockByHash: byHash,
      eth_getTransactionReceipt: () => receipt,
      eth_getTransactionByBlockHashAndIndex: () => ({ ...place, hash: HASH }),
      eth_getBlockReceipts: (block) => (block === '0x5' ? [receipt] : block.length < 66 ? [] : null),
      eth_getLogs: ({ blockHash }) => (isKnown(blockHash) ? [] : null),
      eth_getTransactionCount: () => '0x1',
      eth_call: () => hashOf(1),
      ...answers,
    }),
  );
  const endpoints = rpcs.map((rpc, i) => new CheckedEndpoint(rpc, names[i], clock, over.signal));
  /** @type {string[]} */
  const told = [];
  const onViolation = (/** @type {string} */ code) => told.push(code);
  const options = { endpoints, clock, signal: over.signal, share, onViolation, random: () => 0 };
  const checker = new ConsistencyChecker(options);
  checker.add(OPERATION);
  checker.noteRequests(1000);
  const running = checker.run();
  await clock.advance(mostMs);
  over.abort();
  await clock.advance(60);
  await running;
  return { ...checker.report(), told, rpcs };
}

/** Whether the chain has the block; a range of blocks has no hash. @param {string} [hash] */
function isKnown(hash) {
  return hash === undefined || /^0x0{62}f\d$/.test(hash);
}

describe('the consistency checker', () => {
  it('finds nothing at a node that agrees with itself, and makes all checks', async () => {
    const { violations, checks, off, told } = await rounds({});
    assert.deepEqual([violations, told], [{}, []]);
    assert.deepEqual(Object.keys(checks).sort(), [
      'block',
      'effect',
      'head',
      'index',
      'logs',
      'nonce',
      'receipt',
      'unknown',
    ]);
    assert.deepEqual(off, { subscription: 'there was nothing to compare' });
  });

  it('keeps the rate: four requests per second, and the share of the load', async () => {
    const { requests } = await rounds({});
    assert.ok(requests >= 40 && requests < 60, `${requests}`);
    const more = await rounds({}, { share: 0.1 });
    // 1,000 at the beginning, and as many in each of ten seconds.
    assert.ok(more.requests >= 1130 && more.requests < 1160, `${more.requests}`);
  });

  it('counts a contradiction, with two commands that show it and no way out of the quotes', async () => {
    const { violations, told } = await rounds({ eth_call: () => hashOf(0) });
    const { count, examples } = violations.stale_read;
    assert.ok(count > 1 && told.length === count && examples.length === Math.min(3, count));
    assert.equal(examples[0].commands.length, 2);
    for (const command of examples[0].commands)
      assert.match(command, /^curl -s -H 'content-type: application\/json' -d '\{[^']*\}' http:\/\/a$/);
  });

  it('does not report what a reorg may explain', async () => {
    let reads = 0;
    const [ours, other] = [chainOf('f'), chainOf('e')];
    const answers = {
      eth_call: () => ((reads += 1), hashOf(0)),
      eth_getBlockByNumber: (/** @type {string} */ tag) =>
        (reads > 0 ? other : ours).blockOf(tag === 'latest' ? 5 : Number(tag)),
    };
    const { violations } = await rounds(answers, { mostMs: 1000 });
    assert.ok(reads > 0);
    assert.deepEqual(Object.keys(violations), []);
  });

  it('measures lag, and does not judge an endpoint by blocks that it does not have', async () => {
    const { blockOf } = chainOf('f');
    const { violations, lag } = await rounds({
      eth_getBlockByNumber: (tag) => (tag === 'latest' ? blockOf(3) : Number(tag) > 3 ? null : blockOf(Number(tag))),
      eth_call: () => hashOf(0),
      eth_getTransactionCount: () => '0x0',
    });
    assert.deepEqual(violations, {});
    assert.equal(lag['http://a'].blocks, 2);
    assert.ok(lag['http://a'].ms > 1000, `${lag['http://a'].ms}`);
  });

  it('reports a head that goes back only if its block is there again', async () => {
    const { blockOf } = chainOf('f');
    for (const isGone of [false, true]) {
      let turn = 0;
      const { violations } = await rounds({
        eth_getBlockByNumber: (tag) => {
          if (tag === 'latest') return blockOf((turn += 1) === 2 ? 4 : 5);
          return isGone && turn === 2 && Number(tag) === 5 ? null : blockOf(Number(tag));
        },
      });
      assert.deepEqual(Object.keys(violations), isGone ? [] : ['head_back']);
    }
  });

  it('takes an endpoint that comes back from an outage without its blocks for one that is behind', async () => {
    const { blockOf } = chainOf('f');
    let turn = 0;
    const { violations, lag } = await rounds({
      eth_getBlockByNumber: (tag) => {
        if (tag !== 'latest') return blockOf(Number(tag));
        turn += 1;
        if (turn === 2) throw new TransportError('http://a: connection refused', 'econnrefused');
        return blockOf(turn === 3 ? 4 : 5);
      },
    });
    assert.deepEqual([violations, lag['http://a'].blocks], [{}, 1]);
  });

  it('a contradiction whose proof has no answer is undecided', async () => {
    const { blockOf, byHash } = chainOf('f');
    let isAsked = false;
    const answers = {
      eth_getBlockByHash: (/** @type {string} */ hash) => {
        isAsked = true;
        return { ...byHash(hash), gasUsed: '0x1' };
      },
      eth_getBlockByNumber: (/** @type {string} */ tag) => {
        if (isAsked && tag !== 'latest') throw new TransportError('http://a: no answer in time', 'timeout');
        return { ...blockOf(tag === 'latest' ? 5 : Number(tag)), gasUsed: '0x0' };
      },
    };
    const { violations, undecided } = await rounds(answers, { mostMs: 1000 });
    assert.deepEqual(violations, {});
    assert.ok(undecided && undecided.block > 0, JSON.stringify(undecided));
  });

  it('a head that goes back and does not return is undecided', async () => {
    const { blockOf } = chainOf('f');
    let head = 5;
    const eth_getBlockByNumber = (/** @type {string} */ tag) => {
      const number = tag === 'latest' ? head : Number(tag);
      if (tag === 'latest' && head === 5) head = 4;
      return number > head && number > 4 && tag !== 'latest' ? null : blockOf(number);
    };
    const { violations, undecided } = await rounds({ eth_getBlockByNumber }, { mostMs: 15_000 });
    assert.deepEqual([violations, undecided], [{}, { head: 1 }]);
  });

  it('reports a block that is missing below the head', async () => {
    const { blockOf } = chainOf('f');
    const { violations } = await rounds({
      eth_getBlockByNumber: (tag) => (tag === 'latest' || tag === '0x5' ? blockOf(5) : null),
      eth_getBlockByHash: () => null,
    });
    assert.deepEqual(Object.keys(violations), ['stale_read']);
  });

  it('turns off what an endpoint does not have or answers in another form, and names it once', async () => {
    const index = 'eth_getTransactionByBlockHashAndIndex';
    const { off, violations, rpcs, undecided } = await rounds(
      { [index]: refuse(index), eth_getBlockReceipts: () => ({}) },
      { mostMs: 30_000 },
    );
    assert.equal(off.index, `http://a: ${index}: the method does not exist (-32601)`);
    assert.deepEqual(Object.keys(off).sort(), ['index', 'subscription']);
    assert.deepEqual(Object.keys(violations), ['stale_read']);
    assert.equal(rpcs[0].count(index), 3);
    // An error is no answer that may be wrong.
    assert.deepEqual(undecided, {});
    const odd = await rounds({ eth_getTransactionCount: () => ({}) }, { mostMs: 30_000 });
    assert.deepEqual(odd.undecided, { nonce: 3 });
    assert.match(odd.off.nonce, /^http:\/\/a: .* is an object; a quantity such as "0x1b4" is expected$/);
  });
});

/** The check of a subscription while something happens. @param {ReturnType<typeof fakeRpc>} rpc @param {ReturnType<typeof createFakeClock>} clock @param {() => Promise<unknown>} happen */
async function followed(rpc, clock, happen) {
  const over = new AbortController();
  const { signal } = over;
  const endpoint = new CheckedEndpoint(rpc, 'http://a', clock, signal);
  const checker = new ConsistencyChecker({
    endpoints: [endpoint],
    clock,
    signal,
    random: Math.random,
    share: 0,
    onViolation: () => {},
  });
  const checked = checkSubscription({ checker, endpoint, clock, signal });
  await happen();
  const report = checker.report();
  over.abort();
  await clock.settle();
  await checked;
  return { report, pending: clock.pending() };
}

describe('the heads of a subscription', () => {
  /** What is found of heads whose first digit is the number of the block. @param {number[]} hashes @param {number} [parent] of block 2 */
  const found = async (hashes, parent = 0) => {
    const clock = createFakeClock();
    const headOf = (/** @type {number} */ n) => ({ number: `0x${String(n)[0]}`, hash: hashOf(n) });
    const rpc = fakeRpc({
      eth_getBlockByNumber: (number) => (number === '0x2' ? { parentHash: hashOf(parent) } : null),
    });
    rpc.subscribe = async (_, onEvent) => {
      for (const event of [null, ...hashes.map(headOf)]) onEvent(event);
      return () => {};
    };
    const { report } = await followed(rpc, clock, () => clock.settle());
    const { violations, checks } = report;
    assert.equal(checks.subscription, hashes.length);
    return Object.entries(violations).map(([code, { examples }]) => `${code}: ${examples[0].words}`);
  };
  it('come once, in order', async () => assert.deepEqual(await found([1, 2, 3]), []));
  it('are reported if they are repeated', async () =>
    assert.deepEqual(await found([1, 2, 2]), [`head_repeated: block 2 (${hashOf(2)}) was announced twice`]));
  it('are reported if one is left out, unless there was a reorg', async () => {
    assert.deepEqual(await found([1, 3], 1), ['head_skipped: block 3 was announced after block 1']);
    assert.deepEqual(await found([1, 3], 2), []);
  });
  it('may come again after a reorg', async () => assert.deepEqual(await found([1, 2, 22, 33, 2]), []));

  it('are checked again after each lost connection, and the report says for how long they were not', async () => {
    const clock = createFakeClock();
    const rpc = fakeRpc({ eth_getBlockByNumber: () => ({ parentHash: hashOf(1) }) });
    const down = new TransportError('http://a: refused', 'refused');
    let [times, isDown] = [0, false];
    let lose = () => {};
    let push = (/** @type {number} */ _number) => {};
    rpc.subscribe = async (_, onEvent, onLost) => {
      if (isDown) throw down;
      times += 1;
      lose = () => onLost(down);
      push = (number) => onEvent({ number: `0x${number}`, hash: hashOf(number) });
      return () => {};
    };
    const first = await followed(rpc, clock, async () => {
      await clock.settle();
      push(1);
      lose();
      await clock.advance(100);
      // The head in between and the same head again are no contradictions of a new subscription.
      for (const number of [3, 4]) push(number);
      isDown = true;
      lose();
      await clock.advance(2000);
      isDown = false;
      await clock.advance(10_000);
      push(4);
      push(6);
      await clock.settle();
    });
    assert.equal(times, 3);
    assert.equal(first.pending, 0);
    const { checks, violations, off, undecided } = first.report;
    assert.deepEqual([checks.subscription, Object.keys(violations), undecided], [5, [], {}]);
    assert.match(off.subscription, /^http:\/\/a: the subscription was lost 2 times, heads of \d\.\d s were not seen$/);
    // That which is away at the end may have left anything out.
    const last = await followed(rpc, clock, async () => {
      await clock.settle();
      isDown = true;
      lose();
      await clock.advance(3000);
    });
    assert.deepEqual(last.report.undecided, { subscription: 1 });
    assert.match(last.report.off.subscription, /was lost 1 time, and not renewed$/);
  });

  it('are checked by a new subscription where an open connection says nothing, although blocks come', async () => {
    const clock = createFakeClock();
    let [times, head] = [0, 1];
    let push = (/** @type {number} */ _number) => {};
    const rpc = fakeRpc({ eth_getBlockByNumber: () => ({ number: `0x${head}`, hash: hashOf(head) }) });
    rpc.subscribe = async (_, onEvent) => {
      times += 1;
      push = (number) => onEvent({ number: `0x${number}`, hash: hashOf(number) });
      return () => {};
    };
    const { report, pending } = await followed(rpc, clock, async () => {
      await clock.settle();
      push(1);
      // A chain that makes no blocks has no heads.
      await clock.advance(12_000);
      assert.equal(times, 1);
      head = 4;
      await clock.advance(6000);
      push(5);
      await clock.settle();
    });
    assert.deepEqual([times, pending], [2, 0]);
    assert.deepEqual(Object.keys(report.violations), []);
    assert.match(report.off.subscription, /the subscription was lost 1 time, heads of 1[58]\.\d s were not seen$/);
  });

  it('that cannot be judged may be contradictions: of another form, or whose gap cannot be read', async () => {
    const clock = createFakeClock();
    const rpc = fakeRpc({ eth_getBlockByNumber: () => null });
    rpc.subscribe = async (_, onEvent) => {
      for (const event of [{ number: '0x1' }, { number: '0x1', hash: hashOf(1) }, { number: '0x3', hash: hashOf(3) }])
        onEvent(event);
      return () => {};
    };
    const { report } = await followed(rpc, clock, () => clock.settle());
    assert.deepEqual([report.undecided, report.violations], [{ subscription: 2 }, {}]);
  });
});

describe('the operations that are checked', () => {
  const accounts = /** @type {any} */ ([{ wallet: { address: TO } }]);
  const workload = /** @type {any} */ ({ kind: 'transaction', countCall: () => OPERATION.read.call });
  /** @param {number} inFlight @param {number[]} times in milliseconds */
  const sampled = (inFlight, times) => {
    /** @type {any[]} */
    const found = [];
    const post = (/** @type {any} */ operation) => void found.push(operation);
    const sampler = new OperationSampler({ perSecond: 20 }, { accounts, workload, inFlight, share: 1, post });
    for (const ms of times)
      sampler.operation(
        sampleOf({ position: 0, nonce: 0, hash: HASH, blockNumber: 5, effect: '1', endedAtUs: 1000 * ms }),
      );
    return found;
  };

  it('are at most 20 per second', () =>
    assert.deepEqual(sampled(1, [0, 10, 40, 50, 60, 99, 100]), [OPERATION, OPERATION, OPERATION]));
  it('are judged by their receipts where a count may contain later ones', () =>
    assert.deepEqual(sampled(2, [0]), [{ ...OPERATION, read: null }]));
});
