/** Settings of built-in workloads, and what their audits compute again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { toHex } from '../../../src/chain/answers.js';
import { RpcError } from '../../../src/errors.js';
import createCounter from '../../../src/workloads/counter.js';
import { runtimeCode } from '../../../src/workloads/deploy.js';
import { tokenId } from '../../../src/workloads/erc721.js';
import { countsOf, slotsOf, valueOf } from '../../../src/workloads/storage.js';
import { WorkloadHost } from '../../../src/workloads/kit.js';
import createSwap, { quote } from '../../../src/workloads/swap.js';
import { WORKLOADS, setProblem, setsOf } from '../../../src/workloads/table.js';
import { addressOf } from '../../helpers/samples.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { hostOf } from './host.js';

describe('--set of built-in workloads', () => {
  it('each setting has its default, or the number that was given', () => {
    assert.deepEqual(setsOf('storage', [['cold', '30']]), { slots: 20, cold: 30, clear: 25 });
    assert.deepEqual(setsOf('contention', [['theta', '0.5']]), { slots: 64, theta: 0.5 });
    assert.deepEqual(setsOf('counter'), {});
    for (const { sets = {} } of Object.values(WORKLOADS))
      for (const { least, most, fallback } of Object.values(sets)) assert.ok(fallback >= least && fallback <= most);
  });

  it('a wrong name or value is one message with all settings, ranges and defaults', () => {
    assert.equal(setProblem('compute', [['gas', '50000']]), null);
    assert.equal(setProblem('contention', [['theta', '0.5']]), null);
    for (const theta of ['10.5', '-1', '1e1', '.5', '0,1'])
      assert.match(setProblem('contention', [['theta', theta]]) ?? '', /theta from 0 to 10 \(/);
    for (const [name, text] of /** @type {Array<[string, string]>} */ ([
      ['gas', '49999'],
      ['gas', '30000001'],
      ['gas', '5e6'],
      ['gas', ''],
      ['gass', '60000'],
      ['toString', '1'],
    ]))
      assert.equal(
        setProblem('compute', [[name, text]]),
        `--set ${name}=${text} ${name === 'gas' ? 'is not valid: --workload compute takes' : 'is no setting of --workload compute: it has'} gas from 50000 to 30000000 (gas per operation; default 500000)`,
      );
  });
});

describe('counter', () => {
  const to = addressOf(9);
  const one = { least: 1, most: 1, latest: 1 };

  /** @param {(count: number) => number | Error} gasOf a counter's increment by its count */
  function counterOf(gasOf) {
    const state = { count: 0 };
    const rpc = fakeRpc({
      eth_call: () => toHex(state.count),
      eth_estimateGas: () => {
        const gas = gasOf(state.count);
        if (gas instanceof Error) throw gas;
        return toHex(gas);
      },
    });
    const kitState = { tag: '0a0b0c0d', first: 0, starts: [[0n]], gasLimit: 47_888n };
    const host = new WorkloadHost(null, { rpc, addresses: [addressOf(1)], state: { own: null, kit: kitState } });
    const workload = createCounter(/** @type {any} */ ({ kit: host.kit, rpc, settings: {}, state: [to] }));
    const limit = (/** @type {number} */ nonce) => Number(host.filled(workload.next(0, nonce)).gasLimit);
    const verify = async () => {
      const verdict = await workload.verify?.(0, one, { number: 1 }, 0, { nonce: 0, hash: '' });
      await turn();
      return verdict?.state;
    };
    return { state, rpc, limit, verify };
  }

  it('offers less gas after the first increment of a wallet, estimated once', async () => {
    const { state, rpc, limit, verify } = counterOf((count) => (count === 0 ? 43_534 : 26_434));
    assert.equal(limit(1), 47_888);
    state.count = 1;
    assert.equal(await verify(), 'ok');
    assert.deepEqual([limit(2), limit(3)], [29_078, 29_078]);
    await verify();
    assert.equal(rpc.count('eth_estimateGas'), 1);
  });

  it('offers the gas of a first increment again if an effect is missing, such as after a reorg', async () => {
    const { state, limit, verify } = counterOf(() => 26_434);
    state.count = 1;
    await verify();
    state.count = 0;
    assert.equal(await verify(), 'missing');
    assert.equal(limit(2), 47_888);
    state.count = 1;
    await verify();
    assert.equal(limit(3), 47_888);
  });

  it('keeps the gas of a first increment where the node estimates none', async () => {
    const { state, limit, verify } = counterOf(() => new RpcError('eth_estimateGas', -32601, 'no such method'));
    state.count = 1;
    await verify();
    assert.equal(limit(2), 47_888);
  });
});

describe('storage', () => {
  it('the slots of an operation add up', () => {
    assert.deepEqual(countsOf({ slots: 20, cold: 25, clear: 25 }), { changed: 10, added: 5, cleared: 5 });
    for (let slots = 1; slots < 30; slots += 1)
      for (const [cold, clear] of [
        [50, 50],
        [100, 0],
        [33, 33],
        [0, 0],
      ]) {
        const { changed, added, cleared } = countsOf({ slots, cold, clear });
        assert.equal(changed + added + cleared, slots);
        assert.ok(changed >= 0 && cleared <= added);
      }
  });

  it('the expected values are those of the contract, carried out one operation after the other', () => {
    const [changed, added, cleared] = [2, 3, 2];
    const nonces = [7, 8, 11, 12];
    /** @type {Map<bigint, bigint>} */
    const state = new Map();
    let [made, gone] = [0, 0];
    for (const nonce of nonces) {
      const value = valueOf('0a0b0c0d', nonce);
      for (let i = 0; i < changed; i += 1) state.set(BigInt(i), value + BigInt(i));
      for (let i = 0; i < cleared && gone < made; i += 1, gone += 1) state.set(2n ** 32n + BigInt(gone), 0n);
      for (let i = 0; i < added; i += 1, made += 1) state.set(2n ** 32n + BigInt(made), value + BigInt(i));
    }
    const slots = slotsOf({ changed, added, cleared }, nonces, '0a0b0c0d', 1000);
    assert.deepEqual(new Map(slots.map(({ number, mustBe }) => [number, mustBe])), state);
    assert.equal(slotsOf({ changed, added, cleared }, nonces, '0a0b0c0d', 5).length, 5);
    assert.deepEqual(slotsOf({ changed, added, cleared }, [], '0a0b0c0d', 5), []);
  });
});

describe('swap', () => {
  it('two nonces of a wallet pay in one of each token, and wallets begin with either', () => {
    const { kit } = hostOf('12345678');
    const options = /** @type {any} */ ({ kit, set: setsOf('swap'), state: { to: '0x', gasLimit: 1n } });
    const { next } = /** @type {any} */ (createSwap(options));
    const first = Array.from({ length: 1000 }, (_, position) => {
      assert.notEqual(next(position, 40), next(position, 41));
      return next(position, 40);
    });
    const [one] = first;
    const alike = first.filter((call) => call === one).length;
    assert.ok(alike > 400 && alike < 600, `${alike} of 1000`);
  });

  it('a quote takes 0.3 % and never lowers the product', () => {
    assert.equal(quote(1000n, 10n ** 9n, 10n ** 9n), 996n);
    const taken = quote(10n ** 6n, 10n ** 7n, 10n ** 8n);
    assert.ok((10n ** 7n + 10n ** 6n) * (10n ** 8n - taken) > 10n ** 15n);
  });
});

describe('deploy and erc721', () => {
  it('code has its size and no zero, as a number too', () => {
    for (const bytes of [1, 2, 1000, 24_576]) {
      const code = runtimeCode(bytes);
      assert.equal(code.length, 2 * bytes);
      assert.equal(Buffer.from(code, 'hex').indexOf(0), -1);
      assert.equal(BigInt(`0x${code}`).toString(16), code);
    }
  });

  it('each wallet and nonce has a token of its own', () => {
    const ids = [0, 1, 2].flatMap((position) => [0, 1, 2 ** 40].map((nonce) => tokenId(position, nonce)));
    assert.equal(new Set(ids).size, 9);
  });
});
