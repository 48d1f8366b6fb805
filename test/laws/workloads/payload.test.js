/** Calldata of a given size: exactly that size, no zeros, other bytes in each transaction, the same in every thread. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWorkload } from '../../../src/workloads/index.js';
import { caught } from '../../helpers/caught.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { readCommand } from '../cli/read.js';

/** Digits roll over at powers of 255; the highest nonce is far beyond what a wallet sends. */
const NUMBERS = [0, 1, 2, 253, 254, 255, 256, 509, 510, 65_024, 65_025, 99_999];

/**
 * Payments with calldata, as in a worker thread.
 * @param {number | null} payload size in bytes
 * @param {{tag?: string, first?: number}} [given] first: position of the first wallet of the thread
 */
async function paymentsOf(payload, { tag = '12345678', first = 0 } = {}) {
  const state = { own: [], kit: { tag, first, starts: [], gasLimit: 30_000n } };
  const options = { rpc: fakeRpc({}), settings: { payload, receivers: 5 }, state };
  return /** @type {any} */ (await createWorkload('transfer', /** @type {any} */ (options)));
}

/** @param {number} bytes @param {Parameters<typeof paymentsOf>[1]} [given] @returns {Promise<(position: number, nonce: number) => string>} */
async function payloadsOf(bytes, given) {
  const { next } = await paymentsOf(bytes, given);
  return (position, nonce) => next(position, nonce).data.slice(2);
}

describe('payloads', () => {
  for (const bytes of [12, 16, 1024, 100_000]) {
    it(`of ${bytes} bytes have exactly that size, and no byte is zero`, async () => {
      const payloadOf = await payloadsOf(bytes);
      for (const position of NUMBERS) {
        const payload = payloadOf(position, 7 * position);
        assert.equal(payload.length, 2 * bytes);
        assert.match(payload, /^([0-9a-f]{2})*$/);
        assert.doesNotMatch(payload, /^([0-9a-f]{2})*00/);
      }
    });
  }

  it('no two wallets and nonces have the same, not even with the smallest size', async () => {
    const payloadOf = await payloadsOf(12);
    const seen = new Set(NUMBERS.flatMap((position) => NUMBERS.map((nonce) => payloadOf(position, nonce))));
    assert.equal(seen.size, NUMBERS.length ** 2);
  });

  it('a wallet and a nonce always have the same, in any thread', async () => {
    const [one, other] = [await payloadsOf(100), await payloadsOf(100, { first: 2 })];
    for (const nonce of NUMBERS) assert.equal(one(3, nonce), other(1, nonce));
  });

  it('two runs do not have the same, nor do most stretches repeat', async () => {
    const [one, other] = [await payloadsOf(64), await payloadsOf(64, { tag: '12345679' })];
    assert.notEqual(one(0, 0), other(0, 0));
    const stretches = new Set(Array.from({ length: 1000 }, (_, nonce) => one(0, nonce).slice(24)));
    assert.ok(stretches.size > 950, `${stretches.size} of 1000 differ behind the prefix`);
  });

  it('gas grows with the size, and what is likely is no more than what is possible', async () => {
    const [none, { gas }] = [await paymentsOf(null), await paymentsOf(1000)];
    const most = gas.perOperation - none.gas.perOperation;
    const likely = gas.likely.perOperation - none.gas.likely.perOperation;
    // EIP-7623: 40 for a byte that is not zero; an estimate adds a tenth.
    assert.ok(likely >= 40_000n && most >= 44_000n && likely <= most, `${likely} ${most}`);
  });
});

describe('--payload', () => {
  const read = async (/** @type {string} */ text) =>
    (await readCommand(['-t', '5', `--payload=${text}`])).config.workload.payload;

  it('takes 16 to 100,000 bytes', async () => {
    for (const bytes of [16, 1024, 100_000]) assert.equal(await read(String(bytes)), bytes);
  });

  for (const text of ['15', '100001', '0', '-1', '1e3', '1 kB', '16.5', '99999999999999999999'])
    it(`refuses "${text}", and says why`, async () => {
      const words =
        '--payload must be a whole number of bytes from 16 to 100000 (nodes take transactions of up to 128 KiB)';
      assert.equal((await caught(() => read(text))).message, `${words}, not "${text}"`);
    });
});
