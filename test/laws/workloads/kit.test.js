import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RpcError } from '../../../src/errors.js';
import { WorkloadHost } from '../../../src/workloads/kit.js';
import { caught } from '../../helpers/caught.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hostOf } from './host.js';

/** @import { Handlers } from '../../helpers/fake-rpc.js' */

const HASH = `0x${'ab'.repeat(32)}`;
const TO = `0x${'11'.repeat(20)}`;

/** @param {Handlers} handlers */
function host(handlers) {
  const rpc = fakeRpc(handlers);
  const made = new WorkloadHost('./mine.js', { rpc });
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
      return receipt && { transactionHash: HASH, ...receipt };
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

it('the kit: audits: by call: a number as it was before the load and at the block, by hash, or by number where hashes are not taken', async () => {
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

describe('the kit: what it is asked with', () => {
  /** @param {(kit: any) => Promise<unknown>} action @param {RegExp} says */
  const refused = async (action, says) => {
    const { kit, begin } = host({});
    begin(preparation([0]));
    await assert.rejects(async () => action(kit), { message: says });
  };

  it('an address without code has no number', async () => {
    const { kit, begin, finish } = host({ eth_call: () => '0x' });
    kit.auditByCall(() => ({ to: TO, data: '0x' }));
    begin(preparation([0]));
    const error = await caught(finish);
    assert.equal(error.exitCode, 65);
    const says = /mine\.js: the call to 0x1{40} answered 0x, which is not a number: check that a contract is there$/;
    assert.match(error.message, says);
  });

  it('arguments of another kind are named', async () => {
    await refused((kit) => kit.sendAll([5]), /mine\.js: it was given 5, and takes a call/);
    await refused((kit) => kit.sendAll([{ position: 0, to: '0x12' }]), /it was given .*'0x12'.*, and takes a call/);
    await refused((kit) => kit.sendAll([{ position: 3, to: TO }]), /there is no wallet at position 3$/);
    await refused((kit) => kit.deployOnce(), /the artifact must be \{ abi, bytecode \}/);
    await refused((kit) => kit.deployOnce({ abi: [], bytecode: 'zz' }), /the artifact must be/);
    await refused((kit) => kit.deployEach({ bytecode: '0x0000' }), /the artifact must be/);
  });

  it('blobs: how many are proved, and that the chain was asked for their price, is checked first', async () => {
    for (const given of [[0, 1], [33, 1], [1, 0], [1, 7], [1.5, 1], ['3', 1], []])
      await refused((kit) => kit.sidecars(...given), /give a count from 1 to 32, and 1 to 6 blobs each$/);
    const { kit, begin } = host({});
    begin({ ...preparation([0]), sender: { fees: { blobPriceWei: () => 0n } } });
    assert.match((await caught(() => kit.sidecars(1, 1))).message, /state gas\.blobs, the blobs of an operation$/);
    const sidecar = { hashes: [HASH], rlp: '' };
    await refused((kit) => kit.sendAll([{ position: 0, to: TO, sidecar }]), /kit\.sendAll takes no sidecar$/);
  });

  it('calls are made for the set-up before the load, and to read back during it, unless they say otherwise', async () => {
    const fake = fakeRpc({ m: () => 1 });
    const made = new WorkloadHost('./mine.js', { rpc: fake });
    const { rpc } = made;
    made.begin(preparation([]));
    await rpc.call('m');
    await made.finish();
    await rpc.gather('m', [2]);
    await rpc.batch([{ method: 'm' }], 'audit');
    await hostOf('00', { rpc: fake }).rpc.call('m');
    equalBy(fake.calls, ({ purpose }) => purpose, ['setup', 'readback', 'audit', 'readback']);
  });
});

it('the kit: wallets: have positions in a thread, and the same draws as in the main thread', () => {
  const [main, thread] = [hostOf('12345678').kit, hostOf('12345678', { first: 40, addresses: [TO] }).kit];
  assert.deepEqual([thread.indexOf(2), thread.addresses()], [42, [TO]]);
  assert.deepEqual([main.seed, thread.seed], [0x12345678, 0x12345678]);
  for (const nonce of [0, 1, 2 ** 31]) assert.equal(thread.draw(2, nonce), main.draw(42, nonce));
});

describe('the kit: comparing values with what follows from receipts', () => {
  const snapshot = { blockHash: HASH, blockNumber: 9, startBlock: 8, startNonces: [7], nonces: [8], undecided: [0] };
  const values = { name: 'x', words: 'right ones', count: 2, show: (/** @type {bigint} */ value) => `<${value}>` };

  /** @param {Handlers} handlers @param {number} executed */
  async function compared(handlers, executed = 1) {
    const receipts = () => [
      { transactionHash: HASH, blockNumber: '0x9', from: TO, status: '0x1', effectiveGasPrice: '0x1' },
    ];
    const { kit, begin, rpc } = host({ eth_getBlockReceipts: receipts, ...handlers });
    begin(preparation([7]));
    const all = {
      ...snapshot,
      executed: [executed],
      reverted: [0],
      areOurs: true,
      signal: new AbortController().signal,
    };
    const { check, compare } = await kit.checkReceipts(all);
    const entryOf = (/** @type {number} */ i) => {
      return { of: `value ${i} is`, read: /** @type {const} */ (['eth_getBalance', TO]), mustBe: BigInt(5 + i) };
    };
    return { check, compared: await compare({ ...values, entryOf }), rpc };
  }

  it('the first wrong one is named; all are read at the block of the audit', async () => {
    const { check, compared: found, rpc } = await compared({ eth_getBalance: () => '0x5' });
    assert.equal(check.holds, true);
    assert.deepEqual([found.expected, found.found, found.holds], ['2', '1 (value 1 is <5>, not <6>)', false]);
    assert.deepEqual(rpc.calls.at(-1)?.params, [TO, { blockHash: HASH }]);
  });

  it('an answer without digits is zero, and one that is no number proves nothing', async () => {
    assert.match(
      String((await compared({ eth_getBalance: () => '0x' })).compared.found),
      /^0 \(value 0 is <0>, not <5>\)$/,
    );
    const { holds, why } = (await compared({ eth_getBalance: () => 'five' })).compared;
    assert.deepEqual(
      [holds, why],
      [null, 'http://fake: eth_getBalance: the answer is five (a string); a quantity such as "0x1b4" is expected'],
    );
  });

  it('nothing is read while it is not known which operations succeeded', async () => {
    const { check, compared: found, rpc } = await compared({}, 2);
    assert.deepEqual([check.holds, found.holds, rpc.count('eth_getBalance')], [false, null, 0]);
  });
});

describe('the kit: what it is for', () => {
  it('sends while wallets are prepared, and not before or afterwards', async () => {
    const { kit, begin, finish } = host({});
    const tried = () => caught(() => kit.deployEach({ abi: [], bytecode: '0x00' }));
    assert.match((await tried()).message, /mine\.js: wallets can send in prepare\(\) only$/);
    begin(preparation([0]));
    await finish();
    assert.equal((await tried()).code, 'workload_error');
  });

  it('wrong() is a failure of the endpoint, not of the workload', () =>
    assert.equal(/** @type {any} */ (host({}).kit.wrong('odd')).code, 'check_failed'));

  it('what the compiler says is shown as it says it, and which contract is meant has to be clear', async () => {
    const listeners = process.listenerCount('unhandledRejection');
    const { kit } = host({});
    const broken = await caught(() => kit.compile('contract A { function f() public { x = 1; } }'));
    assert.match(broken.message, /mine\.js: the Solidity source does not compile/);
    assert.match(broken.details, /^DeclarationError: Undeclared identifier\.\n --> workload\.sol:1:36:\n/);
    const two = 'contract A { uint256 x; } contract B { uint256 y; }';
    await assert.rejects(async () => kit.compile(two), { message: /name one of its contracts; the source has A, B$/ });
    const { bytecode } = await kit.compile(two, { contract: 'B' });
    assert.match(bytecode, /^0x60806040/);
    assert.equal(process.listenerCount('unhandledRejection'), listeners, 'the compiler lives in a thread of its own');
  });
});
