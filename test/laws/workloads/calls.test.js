import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { RpcError, TransportError } from '../../../src/errors.js';
import { Head, Reference, tryCalls } from '../../../src/workloads/call-checks.js';
import { planOf } from '../../../src/workloads/calls-file.js';
import { createWorkload } from '../../../src/workloads/index.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { CallRule } from '../../../src/workloads/calls-file.js'
 * @import { Handlers } from '../../helpers/fake-rpc.js'
 */

const DATA = Object.freeze({
  schema: 'evm-stress/logs@2',
  chainId: 1,
  genesisHash: null,
  address: `0x${'12'.repeat(20)}`,
  bytes: 8,
  pageSize: 2,
  blocks: [1, 2, 3],
});

/**
 * The workload as in a worker thread.
 * @param {TestContext} t
 * @param {readonly CallRule[]} rules
 * @param {{first?: number, isPaged?: boolean, addresses?: string[], handlers?: Handlers}} [options] first: position of its first user
 */
async function callsOf(t, rules, { first = 0, isPaged = false, addresses = [], handlers = {} } = {}) {
  const [calls, data] = ['calls.json', 'logs.json'].map((name) => join(temporaryFolder(t), name));
  writeFileSync(calls, JSON.stringify({ schema: 'evm-stress/calls@1', calls: rules }));
  writeFileSync(data, JSON.stringify(DATA));
  const rpc = fakeRpc(handlers);
  const clock = createFakeClock();
  const state = { own: { addresses }, kit: { tag: '12345678', first, starts: [] } };
  const settings = { calls, data: isPaged ? data : null };
  const workload = /** @type {any} */ (await createWorkload('rpc', { rpc, clock, settings, state }));
  return { rpc, clock, workload };
}

describe('calls of several kinds', () => {
  it('are as frequent as their weights say', async (t) => {
    const { workload } = await callsOf(t, [{ method: 'a', weight: 3 }, { method: 'b' }, { method: 'c', weight: 0.5 }]);
    /** @type {Record<string, number>} */
    const counts = { a: 0, b: 0, c: 0 };
    for (let i = 0; i < 9000; i += 1) counts[workload.next(i % 2).name] += 1;
    for (const [name, expected] of Object.entries({ a: 6000, b: 2000, c: 1000 }))
      assert.ok(Math.abs(counts[name] - expected) < 200, `${name}: ${counts[name]}`);
  });

  it('come in the same order for the same tag, in whichever thread a user is', async (t) => {
    const rules = [{ method: 'a' }, { method: 'b', params: ['{{address}}', '{{address.own}}'] }];
    const addresses = ['0x1', '0x2', '0x3', '0x4'];
    const sequence = (/** @type {any} */ workload, /** @type {number} */ position) =>
      Array.from({ length: 50 }, () => workload.next(position)).map(({ method, params }) => [method, ...params]);
    const { workload } = await callsOf(t, rules, { addresses });
    const { workload: other } = await callsOf(t, rules, { addresses, first: 2 });
    assert.deepEqual(sequence(other, 1), sequence(workload, 3));
    assert.notDeepEqual(sequence(workload, 0), sequence(workload, 1));
  });

  it('each user goes from page to page and begins again, and an iteration is all of them', async (t) => {
    const rules = [{ method: 'a', params: ['{{page.from}}'], check: { path: '$', length: '{{page.count}}' } }];
    const { workload } = await callsOf(t, rules, { isPaged: true });
    assert.equal(workload.callsPerIteration, 3);
    const asked = Array.from({ length: 4 }, () => workload.next(0));
    equalBy(asked, ({ params }) => params, [['0x1'], ['0x2'], ['0x3'], ['0x1']]);
    assert.deepEqual(workload.next(1).params, ['0x1']);
    assert.equal(workload.check(0, [1, 2], asked[1]), null);
    assert.throws(() => workload.check(0, [1], asked[1]), {
      message: 'a: $ has the length 1 instead of 2',
    });
    const { data } = workload.facts();
    assert.deepEqual(data, { count: 6, bytes: 8, pageSize: 2 });
  });

  it('the answer is held against what this call was about, whatever was asked since', async (t) => {
    const rules = [{ method: 'a', params: ['{{address}}'], check: { path: '$', equals: '{{address}}' } }];
    const { workload } = await callsOf(t, rules, { addresses: ['0x1', '0x2', '0x3'] });
    const all = Array.from({ length: 20 }, () => workload.next(0));
    for (const call of all) assert.equal(workload.check(0, call.params[0], call), null);
    assert.throws(() => workload.check(0, '0x4', all[0]), { code: 'check_failed' });
  });
});

describe('the head of the chain', () => {
  it('is asked for once a second at most, whatever the number of calls', async (t) => {
    let head = 100;
    const eth_getBlockByNumber = () => ({
      number: `0x${(head += 1).toString(16)}`,
      hash: hash32(head),
      transactions: [],
    });
    const handlers = { eth_getBlockByNumber, a: () => null };
    const { workload, rpc, clock } = await callsOf(t, [{ method: 'a', params: ['{{block.latest}}'] }], { handlers });
    await workload.prepare({ chain: { chainId: 1 }, addresses: async () => [], notice: () => {} });
    assert.equal(rpc.count('eth_getBlockByNumber'), 1);
    for (let ms = 0; ms < 5000; ms += 50) {
      for (let i = 0; i < 10; i += 1) workload.next(0);
      await clock.advance(50);
    }
    const count = rpc.count('eth_getBlockByNumber');
    assert.ok(count >= 4 && count <= 6, String(count));
    const known = head; // asking for a newer one changes nothing yet
    assert.deepEqual(workload.next(0).params, [`0x${known.toString(16)}`]);
  });

  it('a transaction is looked for in the blocks before, and only so far', async () => {
    const blockAt = (/** @type {string} */ tag) => {
      const number = tag === 'latest' ? 9 : Number(tag);
      return {
        number: `0x${number.toString(16)}`,
        hash: hash32(number),
        transactions: number === 6 ? [hash32('t')] : [],
      };
    };
    const head = new Head(fakeRpc({ eth_getBlockByNumber: blockAt }), createFakeClock());
    await head.prepare(true);
    assert.deepEqual([head.state.transactions, head.state.blockHashes], [[hash32('t')], [9, 8, 7, 6].map(hash32)]);
    const empty = fakeRpc({ eth_getBlockByNumber: (tag) => ({ ...blockAt(tag), transactions: [] }) });
    await assert.rejects(new Head(empty, createFakeClock()).prepare(true), {
      exitCode: 69,
      message: /no transaction in its last/,
    });
  });
});

describe('before the load each kind is tried', () => {
  /** @param {() => unknown} answer @param {Partial<CallRule>} [rule] */
  async function tried(answer, rule = {}) {
    /** @type {string[]} */
    const notices = [];
    const { kinds } = planOf({ rules: [{ method: 'eth_getBlockReceipts', ...rule }], isPreset: false, name: 'c.json' });
    await tryCalls(
      fakeRpc({ eth_getBlockReceipts: answer }),
      kinds,
      ({ method, check }) => ({ method, params: [], expected: /** @type {any} */ (check)?.expected.make(null) }),
      { notice: (line) => void notices.push(line) },
    );
    return notices;
  }
  const refusal = (/** @type {number} */ code, /** @type {string} */ words) => () => {
    throw new RpcError('eth_getBlockReceipts', code, words);
  };

  for (const [code, words] of /** @type {Array<[number, string]>} */ ([
    [-32601, 'the method eth_getBlockReceipts does not exist/is not available'],
    [-32000, 'Method not found'],
  ])) {
    it(`a method that the node does not have (${code}) is named`, async () => {
      await assert.rejects(tried(refusal(code, words)), {
        exitCode: 69,
        message: /http:\/\/fake has no method eth_getBlockReceipts \(c\.json, call 1\): leave it out/,
      });
    });
  }

  it('a check that fails is said, such as of a path that is not in the answer', async () => {
    const check = { path: 'numbr', equals: '0x1' };
    assert.deepEqual(await tried(() => ({ number: '0x1' }), { check }), [
      'c.json, call 1: the check of a trial call failed: $.numbr is missing instead of "0x1"',
    ]);
    assert.deepEqual(await tried(() => ({ numbr: '0x1' }), { check }), []);
  });
});

describe('--method', () => {
  for (const [params, words] of /** @type {Array<[unknown[] | null, string]>} */ ([
    [null, '--method without --params'],
    [[], '--method'],
  ]))
    it(`is tried before the load: ${words}`, async () => {
      const missing = new RpcError('a', -32602, 'missing value for required argument 0');
      const rpc = fakeRpc({ a: () => Promise.reject(missing) });
      const workload = /** @type {any} */ (await createWorkload('rpc', { rpc, settings: { method: 'a', params } }));
      /** @type {string[]} */
      const notices = [];
      await workload.prepare({ notice: (/** @type {string} */ line) => notices.push(line) });
      assert.deepEqual([rpc.count('a'), notices.length], [1, 1]);
      assert.ok(notices[0].startsWith(`${words}: a trial call failed: a: missing value`), notices[0]);
    });
});

describe('a second endpoint', () => {
  const CALL = { name: 'block', method: 'a', params: [] };

  /**
   * @param {Array<unknown>} answers one after the other; an error is thrown
   * @param {{heads?: [number, number], ours?: unknown[]}} [options] heads: of the first endpoint and of the other; ours: further
   *   answers of the first one; default: that which it gave
   */
  function referenceOf(answers, { heads = [9, 9], ours: again = [] } = {}) {
    const clock = createFakeClock();
    const nextOf = (/** @type {unknown[]} */ list) => () => {
      const answer = list.length > 1 ? list.shift() : list[0];
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const [first, rpc] = [again, answers].map((list, i) =>
      fakeRpc({ a: nextOf(list), eth_blockNumber: () => `0x${heads[i].toString(16)}` }),
    );
    const compared = (/** @type {unknown} */ ours) => {
      if (again.length === 0) again.push(ours);
      const promise = new Reference({ first, other: rpc, clock }).compare(CALL, ours);
      promise.catch(() => {});
      return { promise, after: async (/** @type {number} */ ms) => (await clock.advance(ms), promise) };
    };
    return { compared, rpc, first };
  }

  it('that answers the same is content, and one that does not is a failure with the place', async () => {
    assert.equal(await referenceOf([{ a: [1], b: 2 }]).compared({ b: 2, a: [1] }).promise, null);
    const { compared, first, rpc } = referenceOf([{ a: [2] }]);
    await assert.rejects(compared({ a: [1] }).promise, {
      code: 'check_failed',
      message: 'block: http://fake answers differently: $.a.0 is 2 instead of 1',
    });
    assert.deepEqual([first.count('a'), rpc.count('a')], [1, 2], 'both are asked again');
  });

  it('answers that differ once, as around a reorg, are no difference and no equal ones', async () => {
    const { compared } = referenceOf([{ a: 2 }], { ours: [{ a: 2 }] });
    await assert.rejects(compared({ a: 1 }).promise, {
      code: 'check_unavailable',
      message: 'not checked: block: the answers have changed, as after a reorg ($.a is 2 instead of 1)',
    });
  });

  it('that is a block behind is asked again, and not for ever', async () => {
    const { compared, rpc, first } = referenceOf([null, new RpcError('a', -32000, 'header not found'), { a: 1 }]);
    assert.equal(await compared({ a: 1 }).after(2000), null);
    assert.deepEqual([rpc.count('a'), first.count('a')], [3, 0]);
    const other = referenceOf([new RpcError('a', 3, 'execution reverted')]);
    await assert.rejects(other.compared({ a: 1 }).after(10_000), { message: /answers differently: .*reverted/ });
  });

  it('a first endpoint that is a block behind is asked again as well', async () => {
    for (const lack of [null, { a: 1, blockNumber: null }]) {
      const found = { a: 1, blockNumber: '0x5' };
      const { compared, rpc, first } = referenceOf([found], { ours: [lack, found] });
      assert.equal(await compared(lack).after(2000), null);
      assert.deepEqual([rpc.count('a'), first.count('a')], [1, 2]);
    }
    const odd = referenceOf([{ a: 1 }], { ours: [{ a: 2 }] });
    await assert.rejects(odd.compared(null).after(2000), { message: /\$\.a is 1 instead of 2$/ });
    // It does not end with the time for one that is behind.
    const both = referenceOf([{ a: 1 }, null], { ours: [{ a: 2 }], heads: [9, 8] });
    await assert.rejects(both.compared({ a: 2 }).after(10_000), { message: /is behind and does not have it yet/ });
  });

  it('what an endpoint still lacks is a difference only if it has reached the head of the other', async () => {
    const code = (/** @type {string} */ name) => ({ code: name });
    for (const [ours, theirs] of [
      [{ a: 1 }, null],
      [{ a: 1 }, new RpcError('a', -32000, 'header not found')],
      [null, { a: 1 }],
    ]) {
      const lateHeads = /** @type {[number, number]} */ (ours === null ? [8, 9] : [9, 8]);
      const late = referenceOf([theirs], { ours: [ours], heads: lateHeads });
      await assert.rejects(late.compared(ours).after(10_000), {
        code: 'check_unavailable',
        message: /^not checked: block: http:\/\/fake is behind and does not have it yet/,
      });
      assert.ok(late.rpc.count('a') + late.first.count('a') <= 10);
      const without = referenceOf([theirs], { ours: [ours] });
      await assert.rejects(without.compared(ours).after(10_000), code('check_failed'));
    }
  });

  it('that does not answer leaves it unchecked, which is another failure', async () => {
    const { compared } = referenceOf([new TransportError('http://fake: refused', 'refused')]);
    await assert.rejects(compared({ a: 1 }).promise, { code: 'check_unavailable', message: /not checked: .*refused/ });
  });
});
