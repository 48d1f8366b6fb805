import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RpcError } from '../../../src/errors.js';
import { WorkloadHost } from '../../../src/workloads/kit.js';
import { caught } from '../../helpers/caught.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/** @import { Handlers } from '../../helpers/fake-rpc.js' */

const HASH = `0x${'ab'.repeat(32)}`;
const TO = `0x${'11'.repeat(20)}`;

/** @param {Handlers} handlers */
function host(handlers) {
  const rpc = fakeRpc(handlers);
  const made = new WorkloadHost('./mine.js', rpc);
  const begin = (/** @type {any} */ given) => made.begin(given);
  return { made, kit: made.kit, begin, finish: () => made.finish(), rpc };
}

/** @param {number[]} nonces @returns {any} */
const preparation = (nonces) => ({ wallets: nonces.map((nonce) => ({ address: TO, nonce })) });

describe('the kit: verifyByReceipt', () => {
  /** @param {any} receipt */
  const verdict = async (receipt) => {
    const answer = () => {
      if (receipt instanceof Error) throw receipt;
      return receipt;
    };
    const eth_getBlockReceipts = () => {
      throw new RpcError('eth_getBlockReceipts', -32601, 'the method does not exist');
    };
    const { kit } = host({ eth_getTransactionReceipt: answer, eth_getBlockReceipts });
    const executed = { least: 1, most: 1, latest: 1 };
    return kit.verifyByReceipt(() => TO)(0, executed, { number: 5 }, 0, { nonce: 0, hash: HASH });
  };

  it('is right with the receipt of that block only', async () => {
    assert.deepEqual(await verdict({ blockNumber: '0x5', status: '0x1', gasUsed: '0x5208' }), {
      state: 'ok',
      effect: HASH,
      target: TO,
      gasUsed: 21_000,
    });
    assert.equal((await verdict({ blockNumber: '0x5', status: '0x0' })).state, 'missing');
    assert.equal((await verdict({ blockNumber: '0x6', status: '0x1' })).state, 'behind');
    assert.equal((await verdict(null)).state, 'behind');
    assert.equal((await verdict(new RpcError('m', -32000, 'not accepted'))).state, 'behind');
  });
});

describe('the kit: audits', () => {
  it('by nonce: what was mined since prepare(), less what was reverted', async () => {
    const { kit, begin, finish } = host({ eth_getTransactionCount: () => '0xc' });
    const audit = kit.auditByNonce();
    begin(preparation([7, 12]));
    await finish();
    assert.deepEqual(await audit(HASH, 5, [2, 0]), [
      { start: 7n, now: 10n, target: TO },
      { start: 12n, now: 12n, target: TO },
    ]);
  });

  it('by nonce: the receipts must say so too, because a reverted transaction raises the nonce as well', async () => {
    const receipts = ['0x1', '0x1', '0x0'].map((status) => ({ from: TO, status }));
    const { made, kit, begin, finish } = host({ eth_getBlockReceipts: () => receipts });
    const snapshot = { blockHash: HASH, blockNumber: 9, startBlock: 8, startNonces: [7], nonces: [10], undecided: [0] };
    const { signal } = new AbortController();
    /** @param {number} executed @param {number} reverted */
    const holds = async (executed, reverted) => {
      const all = { ...snapshot, executed: [executed], reverted: [reverted], areOurs: reverted === 0, signal };
      return (await made.checkNonces(all, verify)).map((check) => check.holds);
    };
    /** @type {object} of the workload's own */
    let verify = () => {};
    assert.deepEqual(await holds(2, 1), [], 'not where nothing is audited by nonce');
    kit.auditByNonce();
    begin(preparation([7]));
    await finish();
    assert.deepEqual(await holds(2, 1), [true]);
    assert.deepEqual(await holds(3, 0), [false]);
    verify = kit.verifyByReceipt();
    assert.deepEqual(await holds(2, 1), [], 'each receipt was looked at already');
  });

  it('by call: a number as it was before the load and at the block, by hash, or by number where hashes are not taken', async () => {
    /** @param {any} block */
    const at = (block) => {
      if (typeof block === 'object') throw new RpcError('eth_call', -32602, 'invalid argument');
      return block === 'latest' ? '0x3' : '0x9';
    };
    const { kit, begin, finish, rpc } = host({ eth_call: (_, block) => at(block) });
    const audit = kit.auditByCall((position) => ({ to: TO, data: `0x0${position}` }));
    begin(preparation([0, 0]));
    await finish();
    const reading = { start: 3n, now: 9n, target: TO };
    assert.deepEqual(await audit(HASH, 5), [reading, reading]);
    assert.deepEqual(rpc.calls.at(-1)?.params, [{ to: TO, data: '0x01' }, '0x5']);
  });
});

describe('the kit: what it is asked with', () => {
  /** @param {(kit: any, rpc: any) => Promise<unknown>} action @param {RegExp} says */
  const refused = async (action, says) => {
    const { made, kit, begin } = host({});
    begin(preparation([0]));
    const error = await caught(() => action(kit, made.rpc));
    assert.match(error.message, says);
  };

  it('an address without code has no number', async () => {
    const { kit, begin, finish } = host({ eth_call: () => '0x' });
    kit.auditByCall(() => ({ to: TO, data: '0x' }));
    begin(preparation([0]));
    const error = await caught(finish);
    assert.equal(error.exitCode, 65);
    assert.match(
      error.message,
      /kit\.auditByCall: the call to 0x1{40} answered 0x, which is not a number: check that a contract is there$/,
    );
  });

  it('arguments of another kind are named', async () => {
    await refused((kit) => kit.sendAll([5]), /kit\.sendAll: it was given 5, and takes a call/);
    await refused(
      (kit) => kit.sendAll([{ position: 0, to: '0x12' }]),
      /kit\.sendAll: it was given .*'0x12'.*, and takes a call/,
    );
    await refused((kit) => kit.sendAll([{ position: 3, to: TO }]), /there is no wallet at position 3$/);
    await refused((kit) => kit.deployOnce(), /the artifact must be \{ abi, bytecode \}/);
    await refused((kit) => kit.deployOnce({ abi: [], bytecode: 'zz' }), /kit\.deployOnce: the artifact must be/);
    await refused((kit) => kit.deployEach({ bytecode: '0x0000' }), /kit\.deployEach: the artifact must be/);
    await refused(
      (_, rpc) => rpc.call('m', [], 'load'),
      /the purpose must be one of setup, readback, audit, not 'load'$/,
    );
  });

  it('calls are made for the set-up before the load, and to read back during it, unless they say otherwise', async () => {
    const fake = fakeRpc({ m: () => 1 });
    const made = new WorkloadHost('./mine.js', fake);
    const { rpc } = made;
    made.begin(preparation([]));
    await rpc.call('m');
    await made.finish();
    await rpc.gather('m', [2]);
    await rpc.batch([{ method: 'm' }], 'audit');
    await new WorkloadHost('./mine.js', fake, { tag: '', starts: [] }).rpc.call('m');
    assert.deepEqual(
      fake.calls.map(({ purpose }) => purpose),
      ['setup', 'readback', 'audit', 'readback'],
    );
  });
});

describe('the kit: what it is for', () => {
  it('sends while wallets are prepared, and not before or afterwards', async () => {
    const { kit, begin, finish } = host({});
    const tried = () => caught(() => kit.deployEach({ abi: [], bytecode: '0x00' }));
    assert.match((await tried()).message, /kit\.deployEach: wallets can send in prepare\(\) only$/);
    begin(preparation([0]));
    await finish();
    assert.equal((await tried()).code, 'workload_error');
  });

  it('wrong() is a failure of the endpoint, not of the workload', () => {
    assert.equal(/** @type {any} */ (host({}).kit.wrong('odd')).code, 'check_failed');
  });

  it('what the compiler says is shown as it says it, and which contract is meant has to be clear', async () => {
    const listeners = process.listenerCount('unhandledRejection');
    const { kit } = host({});
    const broken = await caught(() => kit.compile('contract A { function f() public { x = 1; } }'));
    assert.match(broken.message, /kit\.test\.js:\d+:\d+: the Solidity source does not compile/);
    assert.match(broken.details, /^DeclarationError: Undeclared identifier\.\n --> workload\.sol:1:36:\n/);
    const two = 'contract A { uint256 x; } contract B { uint256 y; }';
    assert.match((await caught(() => kit.compile(two))).message, /name one of its contracts; the source has A, B$/);
    const { bytecode } = await kit.compile(two, { contract: 'B' });
    assert.match(bytecode, /^0x60806040/);
    assert.equal(process.listenerCount('unhandledRejection'), listeners, 'the compiler lives in a thread of its own');
  });
});
