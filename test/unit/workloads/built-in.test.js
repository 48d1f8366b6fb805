/** Settings of built-in workloads, and what their audits compute again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runtimeCode } from '../../../src/workloads/deploy.js';
import { tokenId } from '../../../src/workloads/erc721.js';
import { countsOf, slotsOf, valueOf } from '../../../src/workloads/storage.js';
import createSwap, { quote } from '../../../src/workloads/swap.js';
import { WORKLOADS, setProblem, setsOf } from '../../../src/workloads/table.js';
import { hostOf } from './host.js';

describe('--set of built-in workloads', () => {
  it('each setting has its default, or the number that was given', () => {
    assert.deepEqual(setsOf('storage', [['cold', '30']]), { slots: 20, cold: 30, clear: 25 });
    assert.deepEqual(setsOf('counter'), {});
    for (const { sets = {} } of Object.values(WORKLOADS))
      for (const { least, most, fallback } of Object.values(sets)) assert.ok(fallback >= least && fallback <= most);
  });

  it('a wrong name or value is one message with all settings, ranges and defaults', () => {
    assert.equal(setProblem('compute', [['gas', '50000']]), null);
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
        `--set ${name}=${text} is no setting of --workload compute: it has gas from 50000 to 30000000 (gas per operation; default 500000)`,
      );
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
