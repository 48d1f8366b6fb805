/** Calldata of a given size: exactly that size, no zeros, other bytes in each transaction, the same in every thread. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPayloads, payloadGas, payloadSize } from '../../../src/workloads/payload.js';
import { hostOf } from './host.js';

/** Digits roll over at powers of 255; the highest nonce is far beyond what a wallet sends. */
const NUMBERS = [0, 1, 2, 253, 254, 255, 256, 509, 510, 65_024, 65_025, 99_999];

/** @param {number} bytes @param {string} [tag] @param {number} [first] position of the first wallet of the thread */
const payloadsOf = (bytes, tag = '12345678', first = 0) => createPayloads(hostOf(tag, { first }).kit, bytes);

describe('payloads', () => {
  for (const bytes of [12, 16, 1024, 100_000]) {
    it(`of ${bytes} bytes have exactly that size, and no byte is zero`, () => {
      const payloadOf = payloadsOf(bytes);
      for (const position of NUMBERS) {
        const payload = payloadOf(position, 7 * position);
        assert.equal(payload.length, 2 * bytes);
        assert.match(payload, /^([0-9a-f]{2})*$/);
        assert.doesNotMatch(payload, /^([0-9a-f]{2})*00/);
      }
    });
  }

  it('no two wallets and nonces have the same, not even with the smallest size', () => {
    const payloadOf = payloadsOf(12);
    const seen = new Set(NUMBERS.flatMap((position) => NUMBERS.map((nonce) => payloadOf(position, nonce))));
    assert.equal(seen.size, NUMBERS.length ** 2);
  });

  it('a wallet and a nonce always have the same, in any thread', () => {
    const [one, other] = [payloadsOf(100), payloadsOf(100, '12345678', 2)];
    for (const nonce of NUMBERS) assert.equal(one(3, nonce), other(1, nonce));
  });

  it('two runs do not have the same, nor do most stretches repeat', () => {
    const [one, other] = [payloadsOf(64), payloadsOf(64, '12345679')];
    assert.notEqual(one(0, 0), other(0, 0));
    const stretches = new Set(Array.from({ length: 1000 }, (_, nonce) => one(0, nonce).slice(24)));
    assert.ok(stretches.size > 950, `${stretches.size} of 1000 differ behind the prefix`);
  });

  it('gas grows with the size, and what is likely is no more than what is possible', () => {
    assert.deepEqual(payloadGas(null), { most: 0n, likely: 0n });
    const { most, likely } = payloadGas(1000);
    // EIP-7623: 40 for a byte that is not zero; an estimate adds a tenth.
    assert.ok(likely >= 40_000n && most >= 44_000n && likely <= most);
  });
});

describe('--payload', () => {
  it('takes 16 to 100,000 bytes', () => {
    assert.equal(payloadSize('16'), 16);
    assert.equal(payloadSize('1024'), 1024);
    assert.equal(payloadSize('100000'), 100_000);
  });

  for (const text of ['15', '100001', '0', '-1', '1e3', '1 kB', '', '16.5', '99999999999999999999'])
    it(`refuses "${text}", and says why`, () => {
      assert.throws(
        () => payloadSize(text),
        (/** @type {Error} */ { message }) =>
          /^must be a whole number of bytes from 16 to 100000 \(nodes take transactions of up to 128 KiB\), not "/.test(
            message,
          ),
      );
    });
});
