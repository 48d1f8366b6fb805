import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { RpcError } from '../../../src/errors.js';
import { createWorkload } from '../../../src/workloads/index.js';
import { createFakeClock } from '../../helpers/clock.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';
import { temporaryFile } from '../../helpers/temporary.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { Handlers } from '../../helpers/fake-rpc.js'
 */

/** @param {number} head @param {Handlers} [handlers] */
function node(head, handlers = {}) {
  return fakeRpc({
    eth_chainId: () => '0x1',
    eth_blockNumber: () => `0x${head.toString(16)}`,
    eth_getBlockByNumber: (tag) => blockOf(tag === 'latest' ? head : Number(tag)),
    ...handlers,
  });
}

/** @param {number} number */
const blockOf = (number) => ({ number: `0x${number.toString(16)}`, hash: hash32(number), transactions: [] });

/**
 * The workload after its preparation.
 * @param {TestContext} t
 * @param {object[]} lines
 * @param {{order?: string, first?: Handlers, other?: ReturnType<typeof node>, state?: object}} [options] first: of the first endpoint, where it is asked again
 */
async function replayOf(t, lines, { order, first, other, state } = {}) {
  const file = temporaryFile(t, 'traffic.ndjson', lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const clock = createFakeClock();
  const settings = {
    calls: file,
    callsOrder: order ?? null,
    allowWrites: false,
    checkRpc: other ? 'http://other' : null,
  };
  const connect = () => other;
  const rpc = node(12, first);
  const options = /** @type {any} */ ({ rpc, clock, settings, connect, threads: 4, ...(state && { state }) });
  const workload = /** @type {any} */ (await createWorkload('rpc', options));
  if (state === undefined)
    await workload.prepare({ chain: { chainId: 1 }, addresses: async () => [], notice: () => {} });
  return { workload, clock, rpc };
}

const BALANCE = { method: 'eth_getBalance', params: ['0x1', 'latest'] };

describe('recorded requests', () => {
  it('are sent as they are, and every user takes the next one', async (t) => {
    const { workload } = await replayOf(t, [BALANCE, { method: 'eth_chainId' }]);
    const [first, second] = [workload.next(3), workload.next(0)];
    assert.deepEqual(
      [first.name, first.params, second.method, second.params],
      ['eth_getBalance', ['0x1', 'latest'], 'eth_chainId', []],
    );
    assert.equal(workload.check(0, '0x5', first), null);
    const { calls, requests, order, callsHash } = workload.facts();
    assert.deepEqual([calls.endsWith('traffic.ndjson'), requests, order, callsHash.length], [true, 2, 'file', 64]);
  });

  it('a worker thread has those of its users, in both orders', async (t) => {
    const lines = Array.from({ length: 8 }, (_, i) => ({ method: `m${i}` }));
    for (const order of ['file', 'random']) {
      const { workload } = await replayOf(t, lines, { order });
      const { own, kit } = workload.handOver(1, 2);
      const { workload: part } = await replayOf(t, lines, { order, state: { own, kit } });
      const names = Array.from({ length: 4 }, () => part.next(0).name);
      if (order === 'random') names.sort();
      assert.deepEqual(names, ['m1', 'm2', 'm5', 'm6']);
    }
  });
});

describe('recorded requests that are compared', () => {
  it('are those of one chain: two development chains with one id and genesis block are told apart', async (t) => {
    const eth_getBlockByNumber = (/** @type {string} */ tag) => ({
      ...blockOf(Number(tag)),
      hash: hash32(tag === '0x0' ? 0 : 99),
    });
    await assert.rejects(
      replayOf(t, [BALANCE], { other: node(10, { eth_getBlockByNumber }) }),
      /has chain id 1 and block 1 0x\w+, and --check-rpc .* has 0x\w+: both must serve one chain/,
    );
  });

  it('have one block that both endpoints have in place of tags, also in a worker thread', async (t) => {
    const other = node(10, { eth_getBalance: (_, block) => (block === '0xa' ? '0x5' : '0x6') });
    const lines = [BALANCE, [BALANCE, { method: 'eth_gasPrice', params: [] }]];
    const { workload } = await replayOf(t, lines, { other });
    const { own, kit } = workload.handOver(0, 4);
    const { workload: worker } = await replayOf(t, lines, { other, state: { own, kit } });
    for (const one of [workload, worker]) {
      const single = one.next(0);
      assert.deepEqual(single.params, ['0x1', '0xa']);
      assert.equal(await one.check(0, '0x5', single), null);
      const batch = one.next(0);
      assert.equal(batch.method, '(batch)');
      assert.deepEqual(batch.params[0].params, ['0x1', '0xa']);
      assert.equal(await one.check(0, ['0x5', 'not compared'], batch), null);
    }
    assert.equal(other.count('eth_gasPrice'), 0);
  });

  it('the block moves with the chain, at most once a second', async (t) => {
    let head = 10;
    const eth_getBlockByNumber = (/** @type {string} */ tag) => blockOf(tag === 'latest' ? (head += 1) : Number(tag));
    const { workload, clock } = await replayOf(t, [BALANCE], { other: node(0, { eth_getBlockByNumber }) });
    assert.equal(workload.next(0).params[1], '0xb');
    await clock.advance(1100);
    workload.next(0);
    await clock.advance(0);
    assert.equal(workload.next(0).params[1], '0xc', 'the head of the first endpoint, which is the lower one then');
  });

  it('a difference is a failure with the place, and with two commands that a shell reads', async (t) => {
    const other = node(12, { eth_call: () => '0x6', eth_getBalance: () => '0x7' });
    const first = { eth_call: () => '0x5', eth_getBalance: () => '0x5' };
    const call = { method: 'eth_call', params: [{ data: "0x'; touch /tmp/x; '" }, 'latest'] };
    const { workload } = await replayOf(t, [call, [{ method: 'eth_chainId' }, BALANCE]], { first, other });
    const request = workload.next(0);
    const error = await workload.check(0, '0x5', request).catch((/** @type {unknown} */ thrown) => thrown);
    assert.deepEqual([error.code, error.request, error.exitCode], ['answers_differ', 'eth_call, line 1', 1]);
    const [words, ...commands] = error.message.split('; curl ');
    assert.equal(words, 'line 1: http://fake answers differently: $ is "0x6" instead of "0x5"');
    assert.equal(commands.length, 2);
    const printed = execFileSync('sh', ['-c', `printf '%s\\n' ${commands[0]}`], { encoding: 'utf8' }).split('\n');
    assert.deepEqual(printed.slice(0, 4), ['-s', '-H', 'content-type: application/json', '-d']);
    assert.deepEqual(JSON.parse(printed[4]), { jsonrpc: '2.0', id: 1, method: 'eth_call', params: request.params });
    assert.equal(printed[5], 'http://fake');
    await assert.rejects(workload.check(0, ['0x1', '0x5'], workload.next(0)), {
      code: 'answers_differ',
      request: 'eth_getBalance, line 2',
      message: /^line 2: .*"params":\["0x1","0xc"\]/,
    });
    workload.next(0);
    await assert.rejects(workload.check(0, ['0x1', '0x5'], workload.next(0)), {
      request: 'eth_getBalance, line 2',
      message: /^line 2: .* instead of "0x5"$/,
    });
  });

  it('an error where the first endpoint has an answer is a difference, and a long request is not shown', async (t) => {
    const eth_call = () => {
      throw new RpcError('eth_call', 3, 'execution reverted');
    };
    const long = { method: 'eth_call', params: [{ data: '00'.repeat(3000) }, 'latest'] };
    const first = { eth_call: () => '0x' };
    const { workload } = await replayOf(t, [long], { first, other: node(12, { eth_call }) });
    await assert.rejects(workload.check(0, '0x', workload.next(0)), {
      message: /answers differently: .*execution reverted \(3\); its request is too long to be shown$/,
    });
  });
});
