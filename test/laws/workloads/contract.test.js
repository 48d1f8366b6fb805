/** The calls of --workload contract: which object a wallet is given, and what is estimated and refused before the load. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RpcError } from '../../../src/errors.js';
import { createWorkload } from '../../../src/workloads/index.js';
import { caught } from '../../helpers/caught.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { addressOf } from '../../helpers/samples.js';
import { temporaryFile } from '../../helpers/temporary.js';

/**
 * @import { ContractCall } from '../../../src/contracts/load.d.ts'
 * @import { TransactionWorkload } from '../../../src/contracts/load.d.ts'
 */

const TO = `0x${'99'.repeat(20)}`;
const TRANSFER = { function: 'transfer(address,uint256)', args: ['{{wallet.next}}', '1'] };

/** @param {Partial<ContractCall>} call @param {{gasOf?: (from: number, data: string) => number, code?: string | ((of: string) => string), wallets?: number, state?: any}} [chain] gasOf: by the wallet, or throws */
async function workloadOf(call, { gasOf = () => 50_000, code = '0x60', wallets = 3, state } = {}) {
  const all = Array.from({ length: wallets }, (_, i) => ({ index: 40 + i, address: addressOf(i), nonce: 5 + i }));
  const rpc = fakeRpc({
    eth_getCode: (/** @type {string} */ of) => (typeof code === 'function' ? code(of) : code),
    eth_getTransactionCount: () => '0x5',
    eth_estimateGas: ({ from, data }) =>
      `0x${gasOf(
        all.findIndex(({ address }) => address === from),
        data,
      ).toString(16)}`,
  });
  const settings = { contractAddress: TO, ...call };
  const addresses = state && all.map(({ address }) => address);
  const created = await createWorkload('contract', { rpc, settings, state, addresses });
  const workload = /** @type {TransactionWorkload} */ (created);
  const { signal } = new AbortController();
  const preparation = /** @type {any} */ ({ wallets: all, sender: { signal }, onProgress: () => {} });
  const prepare = () => workload.prepare(preparation);
  return { workload, rpc, prepare, measure: () => workload.measure?.(/** @type {any} */ (all)) };
}

/** @param {string} message @param {string} [data] @returns {() => never} */
const reverting = (message, data) => () => {
  throw new RpcError('eth_estimateGas', 3, message, data);
};

describe('calls of a contract', () => {
  /** @type {Array<[words: string, args: string[], isOfWallet: boolean, isOfNonce: boolean]>} */
  const kinds = [
    ['constants are one object', [TO, '1'], false, false],
    ['what follows from the wallet is an object of each wallet', ['{{wallet.own}}', '{{wallet.index}}'], true, false],
    ['a nonce, and what is drawn, is of each operation', [TO, '{{nonce}}'], true, true],
  ];
  for (const [words, args, isOfWallet, isOfNonce] of kinds)
    it(words, async () => {
      const { workload, prepare } = await workloadOf({ ...TRANSFER, args });
      await prepare();
      const first = workload.next(0, 5);
      assert.equal(workload.next(0, 5) === first, !isOfNonce);
      assert.equal(workload.next(0, 6) === first, !isOfNonce);
      assert.equal(workload.next(1, 5) === first, !isOfWallet);
      assert.equal(workload.next(0, 6).data === first.data, !isOfNonce);
      assert.deepEqual(workload.next(0, 5), first);
    });

  it('the next wallet of the last one is the first one, also for a worker thread', async () => {
    const { workload, prepare } = await workloadOf(TRANSFER);
    await prepare();
    const receivers = [0, 1, 2].map((i) => `0x${String(workload.next(i, 5).data).slice(34, 74)}`);
    assert.deepEqual(
      receivers,
      [1, 2, 0].map((i) => addressOf(i).toLowerCase()),
    );
    const state = structuredClone(workload.handOver(1, 2));
    const { workload: other } = await workloadOf(TRANSFER, { state });
    assert.deepEqual([other.next(0, 5), other.next(1, 9)], [workload.next(1, 5), workload.next(2, 9)]);
  });

  it('a random value follows from the wallet and the nonce, and is the same in a worker thread', async () => {
    const call = { function: 'f(address,uint256)', args: ['{{address.random}}', '{{number 0 1000000}}'] };
    const { workload, prepare } = await workloadOf(call);
    await prepare();
    const seen = new Set([0, 1, 2].flatMap((i) => [5, 6, 7].map((nonce) => workload.next(i, nonce).data)));
    assert.equal(seen.size, 9);
    const { workload: other } = await workloadOf(call, { state: structuredClone(workload.handOver(1, 2)) });
    assert.equal(other.next(1, 7).data, workload.next(2, 7).data);
  });

  it('lines of calldata come in turn, each with its own gas', async (t) => {
    const file = temporaryFile(t, 'calldata', '0x01\n0x02\n0x03\n');
    const { workload, prepare } = await workloadOf({ calldata: file }, { gasOf: (_, data) => 10_000 * Number(data) });
    await prepare();
    const made = [5, 6, 7, 8].map((nonce) => workload.next(1, nonce));
    assert.deepEqual(
      made.map(({ data, gasLimit }) => [data, gasLimit]),
      [
        ['0x01', 11_000n],
        ['0x02', 22_000n],
        ['0x03', 33_000n],
        ['0x01', 11_000n],
      ],
    );
    assert.equal(made[3], made[0]);
  });
});

describe('before the load', () => {
  it('gas is that of the dearest first operation, and known before wallets are funded', async () => {
    const { workload, measure, prepare } = await workloadOf(TRANSFER, { gasOf: (i) => 50_000 + i });
    assert.equal(workload.gas.perOperation, 500_000n);
    await measure();
    assert.deepEqual([workload.gas.perWallet, workload.gas.perOperation], [0n, 55_003n]);
    await prepare();
    assert.equal(workload.next(0, 5).gasLimit, 55_003n);
  });

  it('value counts in the funds of an operation, and in what leaves the wallets', async () => {
    const { workload } = await workloadOf({ function: 'pay()', callValueWei: 7n });
    assert.deepEqual([workload.valueWei, workload.gas.value], [7n, { perWallet: 0n, perOperation: 7n }]);
  });

  it('an address without code is refused, a precompile and a plain payment are not', async () => {
    const { measure } = await workloadOf(TRANSFER, { code: '0x' });
    const { exitCode, message } = await caught(measure);
    assert.equal(exitCode, 69);
    assert.equal(
      message,
      `--contract-address ${TO} has no code on this chain: a call of it does nothing and succeeds; check the address and the chain`,
    );
    const precompile = { contractAddress: `0x${'0'.repeat(39)}4`, calldata: '0x01' };
    for (const call of [precompile, { calldata: '0x', callValueWei: 1n }])
      await (await workloadOf(call, { code: '0x' })).measure();
  });

  it('an account that delegates has the code of the contract that it delegates to', async () => {
    const contract = `0x${'77'.repeat(20)}`;
    for (const behind of ['0x', '0x60']) {
      const code = (/** @type {string} */ of) => (of === contract ? behind : `0xef0100${contract.slice(2)}`);
      const { measure } = await workloadOf(TRANSFER, { code });
      if (behind === '0x') assert.match((await caught(measure)).message, / has no code on this chain/);
      else await measure();
    }
  });

  it('a call that one of the wallets cannot make is refused with the reason', async () => {
    const data = `0xe450d38c${addressOf(1).slice(2).padStart(64, '0')}${'0'.repeat(64)}${'1'.padStart(64, '0')}`;
    const gasOf = (/** @type {number} */ i) => (i === 1 ? reverting('execution reverted', data)() : 50_000);
    const { measure } = await workloadOf(TRANSFER, { gasOf });
    const { exitCode, message } = await caught(measure);
    assert.equal(exitCode, 69);
    assert.match(
      message,
      /^transfer\(address,uint256\) fails for wallet 41 \(0x\w{40}\): reverted: ERC20InsufficientBalance\(sender 0x\w{40}, balance 0, needed 1\); 1 of 3 calls that were tried fail$/,
    );
  });

  it('what the set-up is yet to change refuses nothing, nor does a wallet without funds', async () => {
    const before = { before: 'mint(uint256)', beforeArgs: ['5'] };
    const isMint = (/** @type {string} */ data) => data.startsWith('0xa0712d68');
    const { workload, measure } = await workloadOf(
      { ...TRANSFER, ...before },
      { gasOf: (_, data) => (isMint(data) ? 70_000 : reverting('execution reverted')()) },
    );
    await measure();
    assert.deepEqual([workload.gas.perWallet, workload.gas.perOperation], [77_000n, 500_000n]);
    const poor = 'insufficient funds for gas * price + value: address 0x1 have 0 want 1';
    await (await workloadOf({ function: 'pay()', callValueWei: 1n }, { gasOf: reverting(poor) })).measure();
    const { measure: again } = await workloadOf({ ...TRANSFER, ...before }, { gasOf: reverting('execution reverted') });
    assert.match((await caught(again)).message, /^mint\(uint256\) fails for wallet 40 /);
  });

  it('an index that the type of a value cannot have is refused, and one that it can have is not', async () => {
    const indexed = (/** @type {number} */ bits) => ({ function: `f(uint${bits})`, args: ['{{wallet.index}}'] });
    await (await workloadOf(indexed(8), { wallets: 200 })).measure();
    const { message } = await caught((await workloadOf(indexed(8), { wallets: 300 })).measure);
    assert.equal(message, '--args: value 1 of f(uint8) must be of type uint8, not "339"');
    await (await workloadOf(indexed(16), { wallets: 300 })).measure();
  });

  it('of a file of calldata the line is named that fails', async (t) => {
    const file = temporaryFile(t, 'calldata', '# two\n0x01\n0x02\n');
    const gasOf = (/** @type {number} */ _, /** @type {string} */ data) =>
      data === '0x02' ? reverting('execution reverted')() : 50_000;
    const { message } = await caught((await workloadOf({ calldata: file }, { gasOf })).measure);
    assert.match(message, /calldata, line 3 fails for wallet 41 \(.*; 1 of 2 calls that were tried fail$/);
  });

  it('wallets are sampled where there are many', async () => {
    const { rpc, measure } = await workloadOf(TRANSFER, { wallets: 1000 });
    await measure();
    const asked = rpc.calls.filter(({ method }) => method === 'eth_estimateGas').map(({ params: [{ from }] }) => from);
    assert.equal(new Set(asked).size, 100);
    assert.ok(asked.includes(addressOf(0)) && asked.includes(addressOf(990)));
  });
});
