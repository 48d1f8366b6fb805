import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RpcError, TransportError } from '../../../src/errors.js';
import { Head, Reference, tryCalls } from '../../../src/workloads/call-checks.js';
import { planOf } from '../../../src/workloads/calls-file.js';
import { Calls } from '../../../src/workloads/calls.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/**
 * @import { CallRule } from '../../../src/workloads/calls-file.js'
 * @import { Handlers } from '../../helpers/fake-rpc.js'
 */

/**
 * @param {readonly CallRule[]} rules
 * @param {{users?: number, seed?: number, first?: number, data?: any, addresses?: string[], handlers?: Handlers}} [options]
 */
function callsOf(rules, { users = 2, seed = 5, first = 0, data = null, addresses = [], handlers = {} } = {}) {
  const source = { rules, isPreset: false, name: 'calls.json' };
  const rpc = fakeRpc(handlers);
  const clock = createFakeClock();
  const state = { source, seed, first, users, addresses, data, head: null, checkUrl: null };
  return { rpc, clock, workload: new Calls(planOf(source), { rpc, clock, settings: {} }, state) };
}

const PAGES = [1, 2, 3].map((n) => ({ fromBlock: n, toBlock: n, count: n }));

describe('calls of several kinds', () => {
  it('are as frequent as their weights say', () => {
    const { workload } = callsOf([{ method: 'a', weight: 3 }, { method: 'b' }, { method: 'c', weight: 0.5 }]);
    /** @type {Record<string, number>} */
    const counts = { a: 0, b: 0, c: 0 };
    for (let i = 0; i < 9000; i += 1) counts[workload.next(i % 2).name] += 1;
    for (const [name, expected] of Object.entries({ a: 6000, b: 2000, c: 1000 }))
      assert.ok(Math.abs(counts[name] - expected) < 200, `${name}: ${counts[name]}`);
  });

  it('come in the same order for the same seed, in whichever thread a user is', () => {
    const rules = [{ method: 'a' }, { method: 'b', params: ['{{address}}'] }];
    const addresses = ['0x1', '0x2', '0x3'];
    const sequence = (/** @type {Calls} */ workload, /** @type {number} */ position) =>
      Array.from({ length: 50 }, () => workload.next(position)).map(({ method, params }) => [method, ...params]);
    const { workload, rpc, clock } = callsOf(rules, { users: 4, addresses });
    const state = workload.handOver(2, 2);
    const other = new Calls(planOf(state.source), { rpc, clock, settings: {} }, structuredClone(state));
    assert.deepEqual(sequence(other, 1), sequence(workload, 3));
    assert.notDeepEqual(sequence(workload, 0), sequence(workload, 1));
  });

  it('one that is the same each time is the same object', () => {
    const { workload } = callsOf([{ method: 'a', params: ['x'] }]);
    assert.equal(workload.next(0), workload.next(1));
  });

  it('each user goes from page to page and begins again, and an iteration is all of them', () => {
    const rules = [{ method: 'a', params: ['{{page.from}}'], check: { path: '$', length: '{{page.count}}' } }];
    const { workload } = callsOf(rules, { data: { pages: PAGES } });
    assert.equal(workload.callsPerIteration, 3);
    const asked = Array.from({ length: 4 }, () => workload.next(0));
    assert.deepEqual(
      asked.map(({ params }) => params),
      [['0x1'], ['0x2'], ['0x3'], ['0x1']],
    );
    assert.deepEqual(workload.next(1).params, ['0x1']);
    assert.equal(workload.check(0, [1, 2], asked[1]), null);
    assert.throws(() => workload.check(0, [1], asked[1]), {
      message: 'a: $ has the length 1, and it must have the length 2',
    });
  });

  it('the answer is held against what this call was about, whatever was asked since', () => {
    const rules = [{ method: 'a', params: ['{{address}}'], check: { path: '$', equals: '{{address}}' } }];
    const { workload } = callsOf(rules, { addresses: ['0x1', '0x2', '0x3'] });
    const all = Array.from({ length: 20 }, () => workload.next(0));
    for (const call of all) assert.equal(workload.check(0, call.params[0], call), null);
    assert.throws(() => workload.check(0, '0x4', all[0]), { code: 'check_failed' });
  });

  it('of one seed and of one file have the same facts', () => {
    const rules = [{ method: 'a' }];
    assert.deepEqual(callsOf(rules).workload.facts(), callsOf(rules).workload.facts());
    assert.notEqual(callsOf(rules).workload.facts().callsHash, callsOf([{ method: 'b' }]).workload.facts().callsHash);
  });
});

describe('the head of the chain', () => {
  it('is asked for once a second at most, whatever the number of calls', async () => {
    let head = 100;
    const handlers = { eth_blockNumber: () => `0x${(head += 1).toString(16)}`, a: () => null };
    const { workload, rpc, clock } = callsOf([{ method: 'a', params: ['{{block.latest}}'] }], { handlers });
    await workload.prepare({ chain: { chainId: 1 }, addresses: async () => [], notice: () => {} });
    assert.equal(rpc.count('eth_blockNumber'), 1);
    for (let ms = 0; ms < 5000; ms += 50) {
      for (let i = 0; i < 10; i += 1) workload.next(0);
      await clock.advance(50);
    }
    assert.ok(
      rpc.count('eth_blockNumber') >= 4 && rpc.count('eth_blockNumber') <= 6,
      String(rpc.count('eth_blockNumber')),
    );
    const known = head; // asking for a newer one changes nothing yet
    assert.deepEqual(workload.next(0).params, [`0x${known.toString(16)}`]);
  });

  it('one that is not told leaves what is known', async () => {
    let isWell = true;
    const rpc = fakeRpc({
      eth_blockNumber: () => {
        if (isWell) return '0x7';
        throw new TransportError('reset', 'reset');
      },
    });
    const clock = createFakeClock();
    const head = new Head(rpc, clock, false);
    await head.prepare(false);
    isWell = false;
    await clock.advance(1500);
    head.refresh();
    await clock.settle();
    assert.deepEqual([head.state.number, rpc.calls.at(-1)?.purpose], [7, 'follow']);
  });

  it('a transaction is looked for in the blocks before, and only so far', async () => {
    const blockAt = (/** @type {string} */ tag) => {
      const number = tag === 'latest' ? 9 : Number(tag);
      return { number: `0x${number.toString(16)}`, hash: `0xb${number}`, transactions: number === 6 ? ['0xt'] : [] };
    };
    const head = new Head(fakeRpc({ eth_getBlockByNumber: blockAt }), createFakeClock(), true);
    await head.prepare(true);
    assert.deepEqual([head.state.transactions, head.state.blockHashes], [['0xt'], ['0xb9', '0xb8', '0xb7', '0xb6']]);
    const empty = fakeRpc({ eth_getBlockByNumber: (tag) => ({ ...blockAt(tag), transactions: [] }) });
    await assert.rejects(new Head(empty, createFakeClock(), true).prepare(true), {
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
      ({ method }) => ({ method, params: [] }),
      (line) => notices.push(line),
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

  it('what is refused for another reason is said, and may be meant so', async () => {
    assert.match(
      (await tried(refusal(3, 'execution reverted')))[0],
      /c\.json, call 1: a trial call failed: .*execution reverted/,
    );
  });

  it('a path of a check that is not in the answer is a mistake in the file', async () => {
    const check = { path: 'numbr', equals: '0x1' };
    await assert.rejects(
      tried(() => ({ number: '0x1' }), { check }),
      { exitCode: 65, message: /c\.json, call 1: .*"numbr"/ },
    );
    assert.deepEqual(await tried(() => ({ numbr: '0x2' }), { check }), []);
    assert.deepEqual(await tried(() => null, { check }), []);
  });
});

describe('a second endpoint', () => {
  const CALL = { name: 'block', method: 'a', params: [] };

  /** @param {Array<unknown>} answers one after the other; an error is thrown */
  function referenceOf(answers) {
    const clock = createFakeClock();
    const next = () => {
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const rpc = fakeRpc({ a: next });
    const compared = (/** @type {unknown} */ ours) => {
      const promise = new Reference(rpc, clock).compare(CALL, ours);
      promise.catch(() => {});
      return { promise, after: async (/** @type {number} */ ms) => (await clock.advance(ms), promise) };
    };
    return { compared, rpc };
  }

  it('that answers the same is content, and one that does not is a failure with the place', async () => {
    assert.equal(await referenceOf([{ a: [1], b: 2 }]).compared({ b: 2, a: [1] }).promise, null);
    await assert.rejects(referenceOf([{ a: [2] }]).compared({ a: [1] }).promise, {
      code: 'check_failed',
      message: 'block: http://fake answers differently: $.a.0 is 1, and it must be 2',
    });
  });

  it('that is a block behind is asked again, and not for ever', async () => {
    const { compared, rpc } = referenceOf([null, new RpcError('a', -32000, 'header not found'), { a: 1 }]);
    assert.equal(await compared({ a: 1 }).after(2000), null);
    assert.equal(rpc.count('a'), 3);
    const never = referenceOf([null]);
    await assert.rejects(never.compared({ a: 1 }).after(10_000), {
      code: 'check_failed',
      message: /^block: http:\/\/fake is behind and does not have it yet/,
    });
    assert.ok(never.rpc.count('a') <= 10);
    const without = referenceOf([new RpcError('a', -32000, 'header not found')]);
    await assert.rejects(without.compared({ a: 1 }).after(10_000), { message: /is behind .*header not found/ });
    const other = referenceOf([new RpcError('a', 3, 'execution reverted')]);
    await assert.rejects(other.compared({ a: 1 }).after(10_000), { message: /answers differently: .*reverted/ });
  });

  it('that does not answer leaves it unchecked, which is another failure', async () => {
    const { compared } = referenceOf([new TransportError('http://fake: refused', 'refused')]);
    await assert.rejects(compared({ a: 1 }).promise, { code: 'check_unavailable', message: /not checked: .*refused/ });
  });

  it('whose answers make no sense is named with the method', async () => {
    const asked = (/** @type {() => unknown} */ eth_chainId) =>
      new Reference(fakeRpc({ eth_chainId }), createFakeClock()).checkChain({
        chainId: 5,
        genesisHash: null,
        display: 'http://ours',
      });
    await assert.rejects(
      asked(() => null),
      {
        message: 'http://fake: eth_chainId failed: expected a quantity such as 0x1b4, got none',
      },
    );
    await assert.rejects(
      asked(() => {
        throw new RpcError('eth_chainId', -32601, 'no such method');
      }),
      { exitCode: 69, message: 'http://fake does not answer eth_chainId: no such method (-32601)' },
    );
    const head = new Head(fakeRpc({ eth_blockNumber: () => ({}) }), createFakeClock(), false);
    await assert.rejects(head.prepare(false), { message: /^http:\/\/fake: eth_blockNumber failed: / });
  });

  it('of another chain is refused, and both are named', async () => {
    const identity = (/** @type {string} */ id, /** @type {string | null} */ hash) =>
      new Reference(fakeRpc({ eth_chainId: () => id, eth_getBlockByNumber: () => ({ hash }) }), createFakeClock());
    const ours = { chainId: 5, genesisHash: '0xg', display: 'http://ours' };
    await identity('0x5', '0xg').checkChain(ours);
    await identity('0x5', null).checkChain(ours);
    await assert.rejects(identity('0x6', '0xg').checkChain(ours), {
      message: /http:\/\/ours and --check-rpc http:\/\/fake .*chain 5 and chain 6/,
    });
    await assert.rejects(identity('0x5', '0xh').checkChain(ours), { message: /began with different blocks/ });
  });
});
