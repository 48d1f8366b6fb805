import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InterruptedError, RpcError, TransportError, WorkloadError } from '../../../src/errors.js';
import { createWorkloadHost } from '../../../src/workloads/kit.js';
import { wrapUserWorkload } from '../../../src/workloads/user-file.js';
import { caught } from '../../helpers/caught.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/** @import { Handlers } from '../../helpers/fake-rpc.js' */

const FILE = './mine.js';
const TO = `0x${'11'.repeat(20)}`;
const EXECUTED = Object.freeze({ least: 1, most: 1, latest: 1 });
const SENT = Object.freeze({ nonce: 0, hash: `0x${'ab'.repeat(32)}` });

/** @param {object} own @param {Handlers} [handlers] @returns {any} */
function guarded(own, handlers = {}) {
  const host = createWorkloadHost(FILE, fakeRpc(handlers));
  return wrapUserWorkload(own, { file: FILE, host, gasLimit: 21_000n, set: {} });
}

/** @param {object} [own] */
const transactions = (own) => guarded({ kind: 'transaction', next: () => ({ to: TO }), ...own });

/** @param {AbortSignal} [signal] @returns {any} */
const preparation = (signal = new AbortController().signal) => ({
  wallets: [{ address: TO, nonce: 7 }],
  sender: { signal },
});

describe('a workload of the user: its parts', () => {
  for (const [name, own, says] of /** @type {Array<[string, any, RegExp]>} */ ([
    ['nothing', undefined, /create\(\) must return a workload with kind/],
    ['no kind', {}, /its kind is undefined$/],
    ['no next', { kind: 'transaction' }, /lacks next\(\)/],
    ['a verify that is none', { kind: 'transaction', next() {}, verify: 1 }, /verify .* must be a function, not 1$/],
    ['a check that is none', { kind: 'call', next() {}, check: 'x' }, /check .* must be a function, not "x"$/],
    ['gas of numbers', { kind: 'transaction', next() {}, gas: { perWallet: 1, perOperation: 2 } }, /both bigints/],
    ['a subject that is none', { kind: 'transaction', next() {}, subject: 5 }, /subject must be a text, not 5$/],
    [
      'half an iteration',
      { kind: 'call', next() {}, callsPerIteration: 0.5 },
      /callsPerIteration must be a positive whole/,
    ],
  ]))
    it(name, async () => {
      const error = await caught(() => guarded(own));
      assert.ok(error instanceof WorkloadError);
      assert.equal(error.exitCode, 65);
      assert.match(error.message, /^\.\/mine\.js: /);
      assert.match(error.message, says);
    });
});

describe('a workload of the user: next()', () => {
  it('what is left out is filled in, and the same object is looked at once', () => {
    const given = { to: TO };
    const workload = transactions({ next: () => given });
    const call = workload.next(0, 0);
    assert.deepEqual(call, { to: TO, data: '0x', value: 0n, gasLimit: 21_000n });
    assert.equal(workload.next(0, 1), call);
    assert.ok(Object.isFrozen(given), 'who changes it later would change nothing');
  });

  for (const [name, given, says] of /** @type {Array<[string, any, RegExp]>} */ ([
    ['nothing', undefined, /returned undefined, and must return a call/],
    ['a promise', Promise.resolve(), /returned a promise/],
    ['no to', {}, /not an address \(null deploys a contract\): undefined$/],
    ['a wrong to', { to: '0x12' }, /not an address .*"0x12"$/],
    ['odd data', { to: TO, data: '0x123' }, /data .*"0x123"$/],
    ['data without 0x', { to: TO, data: '12' }, /data .*"12"$/],
    ['data that is not hexadecimal', { to: TO, data: '0xgg' }, /data .*"0xgg"$/],
    ['a number as value', { to: TO, value: 1 }, /value that is not a bigint .*: 1$/],
    ['less than nothing', { to: TO, value: -1n }, /value .*: -1n$/],
    ['more than there is', { to: TO, value: 2n ** 256n }, /value /],
    ['a gas limit beyond 64 bits', { to: TO, gasLimit: 2n ** 64n }, /gasLimit /],
  ]))
    it(`${name} is refused`, () => {
      assert.throws(() => transactions({ next: () => given }).next(0, 0), { code: 'workload_error', message: says });
    });

  it('what it throws names the file', () => {
    const next = () => {
      throw new Error('tired');
    };
    assert.throws(() => transactions({ next }).next(0, 0), { message: './mine.js: next() threw: tired' });
  });
});

describe('a workload of the user: verify() and audit()', () => {
  /** @param {any} verify */
  const verdict = (verify) => transactions({ verify }).verify(0, EXECUTED, { number: 1 }, 0, SENT);

  it('a verdict may leave out what is printed', async () => {
    assert.deepEqual(await verdict(() => ({ state: 'ok' })), { state: 'ok', effect: null, target: null });
  });

  it('nonsense is refused, by its name', async () => {
    for (const given of [undefined, 'ok', { state: 'fine' }, { state: 'ok', effect: 5 }])
      assert.match((await caught(() => verdict(async () => given))).message, /^\.\/mine\.js: verify\(\) /);
  });

  it('what the node refuses it is told with the file, once', async () => {
    const refused = new RpcError('eth_nope', -32601, 'Method not found');
    for (let times = 0; times < 2; times += 1) {
      const error = await caught(() => verdict(() => Promise.reject(refused)));
      assert.equal(error.code, 'rpc_error');
      assert.equal(error.message, './mine.js: verify(): eth_nope: Method not found (-32601)');
    }
  });

  it('a check that gives no figures says at least whether it holds', async () => {
    const given = [
      { name: 'a', words: 'b', holds: false },
      { name: 'a', words: 'b', holds: null },
    ];
    const [failed, unknown] = await transactions({ reconcile: () => given }).reconcile({});
    assert.deepEqual([failed.expected, failed.found, failed.holds], ['true', 'false', false]);
    assert.equal(unknown.why, 'it does not say why');
  });

  it('a lost connection stays one, and a block that is not known is behind', async () => {
    const lost = new TransportError('reset', 'reset');
    assert.equal(await caught(() => verdict(() => Promise.reject(lost))), lost);
    const unknown = new RpcError('eth_call', -32000, 'header not found');
    assert.equal((await verdict(() => Promise.reject(unknown))).state, 'behind');
    const refused = new RpcError('eth_call', 3, 'execution reverted');
    assert.equal(await caught(() => verdict(() => Promise.reject(refused))), refused);
  });

  it('an audit has a reading of bigints for each wallet', async () => {
    const audited = async (/** @type {any} */ readings) => {
      const workload = transactions({ audit: () => readings, next: () => ({ to: TO, gasLimit: 1n }) });
      await workload.prepare(preparation());
      return workload.audit('0x', 1);
    };
    assert.deepEqual(await audited([{ start: 1n, now: 2n }]), [{ start: 1n, now: 2n, target: null }]);
    for (const nonsense of [undefined, [], [{ start: 1n, now: 1n }, 2], [{ start: 1, now: 2 }], [null]])
      assert.ok((await caught(() => audited(nonsense))) instanceof WorkloadError);
  });
});

describe('a workload of the user: facts()', () => {
  /** @param {any} given */
  const stated = (given) => transactions({ facts: () => given }).facts();

  it('are JSON, in which large numbers are texts', () => {
    assert.deepEqual(stated({ wei: 5n, deep: [{ slots: 2 }] }), { wei: '5', deep: [{ slots: 2 }] });
    assert.deepEqual(stated(undefined), {});
  });

  it('what no file can hold is refused', async () => {
    const cycle = {};
    Object.assign(cycle, { cycle });
    for (const given of [cycle, { f() {} }, 5, [1], Promise.resolve({})]) {
      const error = await caught(() => stated(given));
      assert.equal(error.code, 'workload_error');
      assert.match(error.message, /^\.\/mine\.js: facts\(\) returned /);
      assert.ok(!error.message.includes('\n'));
    }
  });
});

describe('a workload of the user: what it needs', () => {
  it('value goes along: as it is stated, or as its first call has it, if that needs nothing prepared', () => {
    const next = () => ({ to: TO, value: 7n });
    assert.deepEqual(transactions({ next }).gas.value, { perWallet: 0n, perOperation: 7n });
    const gas = { perWallet: 1n, perOperation: 2n };
    assert.equal(transactions({ next, gas }).gas.value.perOperation, 7n);
    assert.equal(transactions({ next, gas: { ...gas, value: { perOperation: 9n } } }).gas.value.perOperation, 9n);
    assert.equal(transactions({ next, prepare: () => {} }).gas.value.perOperation, 0n);
    for (const value of [5, { perOperation: 5 }, { perWallet: -1n }])
      assert.throws(() => transactions({ gas: { ...gas, value } }), { message: /gas\.value must be/ });
  });

  it('how many wallets are not prepared is a number', async () => {
    const asked = (/** @type {any} */ given) =>
      transactions({ unprepared: () => given }).unprepared({ wallets: [], chain: {} });
    assert.equal(await asked(3), 3);
    for (const given of ['x', -1, 0.5])
      assert.match((await caught(() => asked(given))).message, /unprepared\(\) returned/);
  });
});

describe('a workload of the user: prepare() and handOver()', () => {
  it('a prepare() that never ends is ended by an interruption', async () => {
    const over = new AbortController();
    const prepared = transactions({ prepare: () => new Promise(() => {}) }).prepare(preparation(over.signal));
    over.abort();
    assert.ok((await caught(() => prepared)) instanceof InterruptedError);
  });

  it('gas that is left out is measured once, for the first wallet', async () => {
    const own = { kind: 'transaction', next: () => ({ to: TO }) };
    const host = createWorkloadHost(FILE, fakeRpc({ eth_estimateGas: () => '0x186a0' }));
    const workload = /** @type {any} */ (wrapUserWorkload(own, { file: FILE, host, gasLimit: null, set: { a: '1' } }));
    await workload.prepare(preparation());
    assert.equal(workload.next(0, 7).gasLimit, 110_001n);
    assert.deepEqual(workload.handOver(0, 1), { own: null, gasLimit: 110_001n, set: { a: '1' } });
  });

  it('what was prepared must be handed over, as threads can be given it', async () => {
    const lacking = transactions({ prepare: async () => {} });
    assert.match((await caught(() => lacking.handOver(0, 1))).message, /lacks handOver\(first, count\)/);
    const unfit = transactions({ handOver: () => () => {} });
    assert.match((await caught(() => unfit.handOver(0, 1))).message, /cannot be sent to a worker thread/);
  });
});

describe('a workload of the user: plain calls', () => {
  /** @param {object} own */
  const calls = (own) => guarded({ kind: 'call', next: () => ({ method: 'eth_chainId' }), ...own });

  it('a request is a method with parameters that are JSON', () => {
    assert.deepEqual(calls({}).next(0), { method: 'eth_chainId', params: [] });
    for (const given of [null, {}, { method: 'a"b' }, { method: 'm', params: 'x' }, { method: 'm', params: [1n] }])
      assert.throws(() => calls({ next: () => given }).next(0), { code: 'workload_error' });
  });

  it('a check may take its time, and what it throws or says is looked at either way', async () => {
    assert.equal(calls({}).check(0, '0x1', {}), null);
    assert.equal(await calls({ check: async () => 'one' }).check(0, '0x1', {}), 'one');
    const fail = () => assert.fail('broken');
    for (const check of [() => 5, async () => 5, fail, async () => fail()])
      assert.equal((await caught(() => calls({ check }).check(0, '0x1', {}))).code, 'workload_error');
  });
});
