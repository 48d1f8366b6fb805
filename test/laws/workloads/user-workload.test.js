import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InterruptedError, RpcError, TransportError, WorkloadError } from '../../../src/errors.js';
import { createWorkload } from '../../../src/workloads/index.js';
import { caught } from '../../helpers/caught.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hash32 } from '../../helpers/samples.js';

/** @import { Handlers } from '../../helpers/fake-rpc.js' */

const FILE = './mine.js';
const TO = `0x${'11'.repeat(20)}`;
const EXECUTED = Object.freeze({ least: 1, most: 1, latest: 1 });
const SENT = Object.freeze({ nonce: 0, hash: `0x${'ab'.repeat(32)}` });

/** @param {any} own @param {Handlers} [handlers] @returns {Promise<any>} */
const created = (own, handlers = {}) =>
  createWorkload(FILE, { rpc: fakeRpc(handlers), settings: { set: [['a', '1']] }, create: () => own });

/** @param {object} [own] @param {Handlers} [handlers] */
const transactions = (own, handlers) =>
  created({ kind: 'transaction', next: () => ({ to: TO, gasLimit: 21_000n }), ...own }, handlers);

/** @param {object} [own] */
const calls = (own) => created({ kind: 'call', next: () => ({ method: 'eth_chainId' }), ...own });

/** @param {AbortSignal} [signal] @returns {any} */
const preparation = (signal = new AbortController().signal) => ({
  wallets: [{ address: TO, nonce: 7 }],
  sender: { signal, clock: { sleep: async () => {} } },
});

/** Fails as an error of the file, in one line. @param {() => unknown} action @param {RegExp} says */
async function refused(action, says) {
  const error = await caught(action);
  assert.ok(error instanceof WorkloadError, String(error));
  assert.equal(error.exitCode, 65);
  assert.match(error.message, /^\S*mine\.js: [^\n]+$/);
  assert.match(error.message, says);
}

describe('a workload of the user: its parts', () => {
  const next = () => ({ to: TO });
  for (const [name, own, says] of /** @type {Array<[string, any, RegExp]>} */ ([
    ['nothing', undefined, /create\(\) must return a workload with kind/],
    ['no kind', {}, /its kind is undefined$/],
    ['no next', { kind: 'transaction' }, /lacks next\(\)/],
    ['a verify that is none', { kind: 'transaction', next, verify: 1 }, /verify .* must be a function, not 1$/],
    ['a check that is none', { kind: 'call', next, check: 'x' }, /check .* must be a function, not 'x'$/],
    ['gas of numbers', { kind: 'transaction', next, gas: { perWallet: 1, perOperation: 2 } }, /both bigints/],
    ...[7, -1, 1.5, NaN, '1'].map((blobs) => [
      `${blobs} blobs`,
      { kind: 'transaction', next, gas: { perWallet: 1n, perOperation: 2n, blobs } },
      /gas\.blobs a number from 0 to 6$/,
    ]),
    [
      'a value of numbers',
      { kind: 'transaction', next, gas: { value: 5, perWallet: 1n, perOperation: 2n } },
      /gas\.value/,
    ],
  ]))
    it(name, () => refused(() => created(own), says));
});

describe('a workload of the user: next()', () => {
  it('what is left out is filled in, and the same object is checked and encoded once', async () => {
    const given = { to: TO };
    const workload = await transactions({ next: () => given }, { eth_estimateGas: () => '0x186a0' });
    await workload.prepare(preparation());
    const call = workload.next(0, 7);
    assert.deepEqual(call, { to: TO, data: '0x', value: 0n, gasLimit: 110_001n });
    assert.equal(workload.next(0, 8), call);
    assert.ok(Object.isFrozen(given), 'a later change would have no effect');
    const { own, kit } = workload.handOver(0, 1);
    assert.deepEqual([own, kit.gasLimit], [null, 110_001n]);
  });

  it('a gas limit is in all calls, or in none', async () => {
    const next = (/** @type {number} */ _, /** @type {number} */ nonce) =>
      nonce === 7 ? { to: TO, gasLimit: 21_000n } : { to: TO };
    const workload = await transactions({ next });
    await workload.prepare(preparation());
    await refused(() => workload.next(0, 8), /next\(\) must give a gasLimit in all of its calls, or in none$/);
  });

  for (const [name, given] of /** @type {Array<[string, any]>} */ ([
    ['nothing', undefined],
    ['a promise', Promise.resolve()],
    ['no to', {}],
    ['a wrong to', { to: '0x12' }],
    ['data that is not hexadecimal', { to: TO, data: '0xgg' }],
    ['a number as value', { to: TO, value: 1 }],
    ['more than there is', { to: TO, value: 2n ** 256n }],
    ['a deployment with blobs', { to: null, sidecar: { hashes: [], rlp: '' } }],
    ['a sidecar without its hashes', { to: TO, sidecar: { rlp: '' } }],
    ['a gas limit beyond 64 bits', { to: TO, gasLimit: 2n ** 64n }],
  ]))
    it(`${name} is refused`, async () => {
      const workload = await transactions({ next: () => given });
      await refused(
        () => workload.next(0, 0),
        /next\(\) returned .*, and must return a call \{ to, data, value, gasLimit \}/,
      );
    });
});

describe('a workload of the user: verify(), audit() and reconcile()', () => {
  /** @param {any} verify */
  const verdict = async (verify) => (await transactions({ verify })).verify(0, EXECUTED, { number: 1 }, 0, SENT);

  it('a verdict may leave out what is printed, and must have a known state', async () => {
    assert.deepEqual(await verdict(() => ({ state: 'ok' })), { state: 'ok', effect: null, target: null });
    for (const given of [undefined, 'ok', { state: 'fine' }, { state: 'ok', effect: 5 }])
      await refused(() => verdict(async () => given), /verify\(\) returned .*, and must return a verdict/);
  });

  it('a lost connection stays one, and an unknown block is behind', async () => {
    const lost = new TransportError('reset', 'reset');
    assert.equal(await caught(() => verdict(() => Promise.reject(lost))), lost);
    const unknown = new RpcError('eth_call', -32000, 'header not found');
    assert.equal((await verdict(() => Promise.reject(unknown))).state, 'behind');
    const reverted = new RpcError('eth_call', 3, 'execution reverted');
    assert.equal(await caught(() => verdict(() => Promise.reject(reverted))), reverted);
  });

  it('a check without figures states whether it holds', async () => {
    const given = [true, false, null].map((holds) => ({ name: 'a', words: 'b', holds }));
    const handlers = { eth_getBlockByNumber: () => ({ hash: hash32('b5') }) };
    const workload = await transactions({ reconcile: () => given, audit: () => [] }, handlers);
    const [, failed, unknown] = await workload.reconcile({ blockHash: hash32('b5'), blockNumber: 5 });
    assert.deepEqual([failed.expected, failed.found, failed.holds], ['true', 'false', false]);
    assert.equal(unknown.why, 'it does not say why');
    for (const wrong of [undefined, [5], [{ name: 'a', words: 'b', holds: 1 }]])
      await refused(
        async () => (await transactions({ reconcile: () => wrong })).reconcile({}),
        /reconcile\(\) returned/,
      );
  });

  it('without audit() the receipts are read, unless each operation was verified by its own', async () => {
    const receipts = ['0x1', '0x1', '0x0'].map((status) => ({
      transactionHash: hash32(status),
      blockNumber: '0x9',
      from: TO,
      status,
      effectiveGasPrice: '0x1',
    }));
    const hashes = receipts.map(({ transactionHash }) => transactionHash);
    const handlers = {
      eth_getBlockReceipts: () => receipts,
      eth_getBlockByNumber: () => ({ hash: hash32('b9'), transactions: hashes }),
    };
    /** @param {any} own @param {number} executed @param {number} reverted */
    const holds = async (own, executed, reverted) => {
      const workload = await transactions(own, handlers);
      await workload.prepare(preparation());
      const [counts, { signal }] = [{ executed: [executed], reverted: [reverted] }, new AbortController()];
      const blocks = { blockHash: hash32('b9'), blockNumber: 9, startBlock: 8, startNonces: [7], nonces: [10] };
      const checks = await workload.reconcile({ ...blocks, ...counts, undecided: [0], areOurs: true, signal });
      return checks.map((/** @type {any} */ check) => check.holds);
    };
    const verify = () => ({ state: 'ok' });
    assert.deepEqual(await holds({ verify }, 2, 1), [true]);
    assert.deepEqual(await holds({ verify }, 3, 0), [false], 'a reverted transaction raises the nonce too');
    assert.deepEqual(await holds({}, 2, 1), []);
    assert.deepEqual(await holds({ verify, audit: () => [] }, 2, 1), []);
  });

  it('an audit has a reading of bigints for each wallet', async () => {
    const audited = async (/** @type {any} */ readings) => {
      const workload = await transactions({ audit: () => readings });
      await workload.prepare(preparation());
      return workload.audit('0x', 1);
    };
    assert.deepEqual(await audited([{ start: 1n, now: 2n }]), [{ start: 1n, now: 2n, target: null }]);
    for (const wrong of [undefined, [], [{ start: 1n, now: 1n }, 2], [{ start: 1, now: 2 }], [null]])
      await refused(() => audited(wrong), /audit\(\) returned/);
  });
});

describe('a workload of the user: before the load', () => {
  it('facts are JSON, in which bigints are texts', async () => {
    const stated = async (/** @type {any} */ given) => (await transactions({ facts: () => given })).facts();
    assert.deepEqual(await stated({ wei: 5n, deep: [{ slots: 2 }] }), { wei: '5', deep: [{ slots: 2 }] });
    assert.deepEqual(await stated(undefined), {});
    const cycle = {};
    Object.assign(cycle, { cycle });
    await refused(() => stated(cycle), /facts\(\) threw: Converting circular/);
    for (const given of [5, Promise.resolve({})]) await refused(() => stated(given), /facts\(\) returned /);
  });

  it('the value that is sent is stated, or that of the first call if nothing is prepared', async () => {
    const next = () => ({ to: TO, value: 7n });
    assert.deepEqual((await transactions({ next })).gas.value, { perWallet: 0n, perOperation: 7n });
    const gas = { perWallet: 1n, perOperation: 2n, value: { perOperation: 9n } };
    assert.equal((await transactions({ next, gas })).gas.value.perOperation, 9n);
    assert.equal((await transactions({ next, prepare: () => {} })).gas.value.perOperation, 0n);
  });

  it('the number of wallets that are not prepared is a number', async () => {
    const asked = async (/** @type {any} */ given) =>
      (await transactions({ unprepared: () => given })).unprepared({ wallets: [], chain: {} });
    assert.equal(await asked(3), 3);
    for (const given of ['x', -1, 0.5]) await refused(() => asked(given), /unprepared\(\) returned/);
  });

  it('a prepare() that never ends is ended by an interruption', async () => {
    const over = new AbortController();
    const workload = await transactions({ prepare: () => new Promise(() => {}) });
    const prepared = workload.prepare(preparation(over.signal));
    over.abort();
    assert.ok((await caught(() => prepared)) instanceof InterruptedError);
  });

  it('the numbers of an authorization are quantities, also in a signature that begins with zeros', async () => {
    /** @type {any} */
    let asked = null;
    const eth_estimateGas = (/** @type {any} */ call) => {
      asked = call;
      return '0x186a0';
    };
    const authorizationList = [
      { chainId: 1n, address: TO, nonce: 0, yParity: 1, r: `0x00${'ab'.repeat(31)}`, s: '0x01' },
    ];
    const workload = await transactions({ next: () => ({ to: TO, authorizationList }) }, { eth_estimateGas });
    await workload.prepare(preparation());
    assert.deepEqual(asked.authorizationList, [
      { address: TO, chainId: '0x1', nonce: '0x0', yParity: '0x1', r: `0x${'ab'.repeat(31)}`, s: '0x1' },
    ]);
  });

  it('a call that the node refuses to estimate is an error of the workload', async () => {
    const eth_estimateGas = () => {
      throw new RpcError('eth_estimateGas', 3, 'execution reverted');
    };
    const workload = await transactions({ next: () => ({ to: TO }) }, { eth_estimateGas });
    await refused(() => workload.prepare(preparation()), /next\(\) was refused by the node: .*execution reverted/);
  });

  it('a call with data to an address without code is refused, unless the workload says that it may', async () => {
    const call = { to: TO, data: '0xd09de08a', gasLimit: 60_000n };
    const prepared = async (/** @type {any} */ own, /** @type {Handlers} */ handlers = {}) =>
      (await transactions(own, { eth_getCode: () => '0x', ...handlers })).prepare(preparation());
    const later = (/** @type {number} */ _, /** @type {number} */ nonce) => (nonce === 9 ? call : { to: null });
    for (const next of [() => call, later])
      await refused(() => prepared({ next }), /next\(\) sends data to 0x1{40}, .* no code: .* mayLackCode: true/);
    const precompile = { ...call, to: `0x${'0'.repeat(37)}100` };
    const authorizationList = [{ chainId: 1n, address: TO, nonce: 1, yParity: 0, r: '0x1', s: '0x1' }];
    for (const free of [{ to: TO, value: 1n, gasLimit: 21_000n }, precompile, { ...call, authorizationList }])
      await prepared({ next: () => free });
    await prepared({ next: () => call, mayLackCode: true });
    // Behind one URL another node may be a block behind.
    let looks = 0;
    await prepared({ next: () => call }, { eth_getCode: () => (++looks < 3 ? '0x' : '0x6001') });
    const eth_getCode = () => {
      throw new RpcError('eth_getCode', -32601, 'method not found');
    };
    await prepared({ next: () => call }, { eth_getCode });
  });

  it('what was prepared must be handed over, as threads can be given it', async () => {
    const lacking = await transactions({ prepare: async () => {} });
    await refused(() => lacking.handOver(0, 1), /lacks handOver\(first, count\)/);
    const unfit = await transactions({ handOver: () => () => {} });
    await refused(() => unfit.handOver(0, 1), /handOver\(\) threw: .* could not be cloned/);
  });
});

describe('a workload of the user: plain calls', () => {
  it('a request is a method with parameters that are JSON', async () => {
    assert.deepEqual((await calls()).next(0), { method: 'eth_chainId', params: [] });
    for (const given of [null, {}, { method: 'a"b' }, { method: 'm', params: 'x' }, { method: 'm', params: [1n] }]) {
      const workload = await calls({ next: () => given });
      await refused(() => workload.next(0), /next\(\) returned/);
    }
  });

  it('a check may be asynchronous, and what it throws or says is checked either way', async () => {
    assert.equal((await calls()).check(0, '0x1', {}), null);
    assert.equal(await (await calls({ check: async () => 'one' })).check(0, '0x1', {}), 'one');
    const fail = () => assert.fail('broken');
    for (const check of [() => 5, async () => 5, fail, async () => fail()]) {
      const workload = await calls({ check });
      assert.equal((await caught(() => workload.check(0, '0x1', {}))).code, 'workload_error');
    }
  });
});

it('an error of a workload names the values of --set that it reads, and those that are not given', async () => {
  const create = (/** @type {any} */ { settings: { set } }) => ({
    kind: 'transaction',
    next: () => ({ to: set.to, data: set.a && '0x', gasLimit: 21_000n }),
  });
  const of = (/** @type {Array<[string, string]>} */ set) =>
    createWorkload(FILE, { rpc: fakeRpc({}), settings: { set }, create: /** @type {any} */ (create) });
  const lacking = /** @type {any} */ (await of([['a', '1']]));
  await refused(() => lacking.next(0, 0), /; it reads --set to=VALUE, --set a=VALUE \(not given: to\)$/);
  const misspelt = /** @type {any} */ (await of([['two', TO]]));
  await refused(() => misspelt.next(0, 0), /\(not given: to, a\); it has not read --set two: did you mean to\?$/);
  const typed = (/** @type {any} */ { settings: { set } }) =>
    assert.ok(Number(set.slots) > 0, 'slots must be a number');
  await refused(
    () =>
      createWorkload(FILE, {
        rpc: fakeRpc({}),
        settings: { set: [['slots', 'x']] },
        create: /** @type {any} */ (typed),
      }),
    /create\(\) threw: slots must be a number.*; it reads --set slots=VALUE$/,
  );
  const given = /** @type {any} */ (
    await of([
      ['a', '1'],
      ['to', TO],
    ])
  );
  assert.equal(given.next(0, 0).to, TO);
  const throwing = (/** @type {any} */ { settings: { set } }) => BigInt(set.x + set.y);
  await refused(
    () => createWorkload(FILE, { rpc: fakeRpc({}), settings: { set: [] }, create: /** @type {any} */ (throwing) }),
    /create\(\) threw: .*; it reads --set x=VALUE, --set y=VALUE \(not given: x, y\)$/,
  );
});
