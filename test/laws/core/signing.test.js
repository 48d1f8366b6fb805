import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Transaction } from 'ethers';
import { createFees } from '../../../src/chain/fees.js';
import { Wallet, createSigner } from '../../../src/chain/keys.js';
import { Account } from '../../../src/core/nonces.js';
import { Operation } from '../../../src/core/operation.js';
import { Presigner } from '../../../src/core/signing.js';
import { WorkloadError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';
import { fails } from '../../helpers/fake-rpc.js';

/**
 * @import { Signer } from '../../../src/contracts/chain.d.ts'
 * @import { TransactionWorkload } from '../../../src/contracts/load.d.ts'
 */

const CHAIN_ID = 31_337;
const GWEI = 10n ** 9n;
/** Signatures per turn (one millisecond) of src/core/signing.js. */
const PER_TURN = 4;
const SIGNATURE_US = 250;

const realSigner = await createSigner();

/** @param {{legacy?: boolean, wallets?: number, maxFeeWei?: bigint | null, budget?: any}} [options] */
function setUp({ legacy = false, wallets = 1, maxFeeWei = null, budget = null } = {}) {
  let signatures = 0;
  /** @type {Signer} */
  const signer = {
    ...realSigner,
    sign: (digest, privateKey) => {
      signatures += 1;
      return realSigner.sign(digest, privateKey);
    },
  };
  // Only signing takes time.
  const clock = { ...createFakeClock(), nowUs: () => signatures * SIGNATURE_US };
  const fees = createFees({ baseFeeWei: GWEI, tipWei: 1n, legacy, maxFeeWei });
  const call = { to: `0x${'c0'.repeat(20)}`, data: '0xd09de08a', value: 0n, gasLimit: 50_000n };
  const workload = /** @type {TransactionWorkload} */ (
    /** @type {unknown} */ ({ kind: 'transaction', next: () => call })
  );
  const accounts = Array.from(
    { length: wallets },
    (_, i) => new Account(i, new Wallet(i, `0x${(i + 1).toString(16).padStart(64, '0')}`)),
  );
  const presigner = new Presigner({ signer, clock, fees, workload, chainId: CHAIN_ID, budget });
  return { presigner, fees, workload, accounts, account: accounts[0], signatures: () => signatures };
}

const tired = fails(new WorkloadError('mine.js:3:1: next() threw: tired'));

describe('Presigner', () => {
  it('gives the same bytes as signing at once', async () => {
    for (const legacy of [false, true]) {
      const { presigner, account } = setUp({ legacy });
      const atOnce = presigner.sign(account, 9);
      presigner.signLater(account, 9);
      await turn();
      const ahead = presigner.sign(account, 9);
      assert.deepEqual(ahead, atOnce);
      assert.equal(presigner.stats.used, 1);
      const { nonce, chainId, from, hash, type } = Transaction.from(ahead.raw);
      assert.deepEqual([nonce, chainId, from, hash], [9, BigInt(CHAIN_ID), account.wallet.address, ahead.hash]);
      assert.equal(type, legacy ? 0 : 2);
    }
  });

  /** @type {Array<[string, {ahead?: number[], before?: bigint, after?: bigint, asked: number[]}, [number, number, number, bigint]]>} base fees in quarters of a gwei; used, discarded, signed, gwei */
  const table = [
    ['is used once', { asked: [5, 5] }, [1, 0, 2, 5n]],
    ['is discarded for another nonce, and does not come back', { asked: [4, 5] }, [0, 1, 3, 5n]],
    ['is discarded if its fee no longer holds', { after: 8n, asked: [5] }, [0, 1, 2, 10n]],
    ['is used if its fee still holds', { after: 5n, asked: [5] }, [1, 0, 1, 5n]],
    ['offers the fee at the time of signing', { before: 8n, asked: [5] }, [1, 0, 1, 10n]],
    ['requested twice, is made once for the last nonce', { ahead: [5, 6], asked: [6] }, [1, 0, 1, 5n]],
  ];
  for (const [name, { ahead = [5], before, after, asked }, [used, discarded, signed, gwei]] of table)
    it(`a signature ${name}`, async () => {
      const { presigner, account, fees, signatures } = setUp();
      for (const nonce of ahead) presigner.signLater(account, nonce);
      await Promise.resolve();
      assert.equal(signatures(), 0, 'not while the answer is handled, nor in its microtasks');
      if (before !== undefined) fees.observe((before * GWEI) / 4n);
      await turn();
      if (after !== undefined) fees.observe((after * GWEI) / 4n);
      const transactions = asked.map((nonce) => Transaction.from(presigner.sign(account, nonce).raw));
      equalBy(transactions, ({ nonce }) => nonce, asked);
      assert.equal(transactions[0].maxFeePerGas, gwei * GWEI + 1n);
      const last = asked[asked.length - 1];
      assert.deepEqual([presigner.stats, signatures()], [{ used, discarded }, signed]);
      assert.equal(presigner.feeAhead(account.position, last), null);
    });

  it('an operation due before it was signed ahead is signed once', async () => {
    const { presigner, account, signatures } = setUp();
    presigner.signLater(account, 5);
    presigner.sign(account, 5);
    for (let i = 0; i < 3; i += 1) await turn();
    assert.deepEqual([signatures(), presigner.stats], [1, { used: 0, discarded: 0 }]);
    assert.equal(presigner.feeAhead(account.position, 5), null);
  });

  it('many wallets: a few per turn, in order, each once and with its own key', async () => {
    const { presigner, accounts, signatures } = setUp({ wallets: 11 });
    presigner.signLater(accounts[10], 1);
    presigner.sign(accounts[10], 1);
    for (const account of accounts.slice(0, 10)) presigner.signLater(account, account.position);
    for (const done of [PER_TURN, 2 * PER_TURN, 10, 10]) {
      await turn();
      assert.equal(signatures() - 1, done);
      equalBy(
        accounts,
        ({ position }) => presigner.feeAhead(position, position) !== null,
        Array.from(accounts, (_, i) => i < done),
      );
    }
    for (const account of accounts.slice(0, 10))
      assert.equal(Transaction.from(presigner.sign(account, account.position).raw).from, account.wallet.address);
  });

  it('an error ahead of time is thrown when the operation signs', async () => {
    const { presigner, account, workload } = setUp();
    workload.next = tired;
    await presigner.signFirst([account], new AbortController().signal);
    presigner.signLater(account, 5);
    await turn();
    await turn();
    assert.equal(presigner.feeAhead(account.position, 5), null);
    assert.throws(() => presigner.sign(account, 5), { code: 'workload_error' });
  });
});

describe('Presigner.signReplacement()', () => {
  /** An operation with its first transaction. @param {ReturnType<typeof setUp>} setting */
  function begin({ presigner, account }) {
    const operation = new Operation(account, { intendedAtUs: 0, startedAtUs: 0 }, () => {});
    operation.setTransaction(presigner.sign(account, operation.nonce));
    return operation;
  }

  it('signs a replacement with a higher fee and keeps the earlier hash', () => {
    const setting = setUp();
    const operation = begin(setting);
    const before = Transaction.from(operation.raw ?? '');
    assert.equal(setting.presigner.signReplacement(operation), true);
    const raised = Transaction.from(operation.raw ?? '');
    assert.deepEqual(
      [raised.nonce, raised.to, raised.data, raised.gasLimit, raised.from],
      [...[before.nonce, before.to, before.data, before.gasLimit, before.from]],
    );
    for (const fee of /** @type {const} */ (['maxFeePerGas', 'maxPriorityFeePerGas'])) {
      assert.ok((raised[fee] ?? 0n) * 10n >= (before[fee] ?? 0n) * 11n, fee);
    }
    assert.deepEqual(operation.hashes, [before.hash, raised.hash]);
    assert.equal(operation.hash, raised.hash);
    assert.equal(operation.fee?.maxFeePerGasWei, raised.maxFeePerGas);
  });

  it('raises by a step, or to the current offer if higher', () => {
    const setting = setUp({ legacy: true });
    const operation = begin(setting);
    const prices = [];
    for (let i = 0; i < 3; i += 1) {
      if (i === 2) setting.fees.observe(10n * GWEI);
      setting.presigner.signReplacement(operation);
      prices.push(operation.fee?.gasPriceWei);
    }
    const first = 2n * GWEI + 1n;
    const second = first + first / 8n + 1n;
    assert.deepEqual(prices, [second, second + second / 8n + 1n, 20n * GWEI + 1n]);
    assert.equal(operation.hashes.length, 4);
  });

  it('not beyond the highest fee, nor the budget, nor if the workload fails: the earlier transaction stays', () => {
    /** @type {any[]} */
    const asked = [];
    let isEnough = false;
    const budget = { reserveMore: (/** @type {any[]} */ ...args) => (asked.push(args), isEnough) };
    const [capped, poor, failing] = [setUp({ maxFeeWei: 5n * GWEI + 1n }), setUp({ budget }), setUp()];
    const operations = [capped, poor, failing].map(begin);
    failing.workload.next = tired;
    for (const [i, setting] of [capped, poor, failing].entries()) {
      const { raw } = operations[i];
      assert.equal(setting.presigner.signReplacement(operations[i]), false);
      assert.deepEqual([operations[i].raw, operations[i].hashes.length, setting.signatures()], [raw, 1, 1]);
    }
    isEnough = true;
    assert.equal(poor.presigner.signReplacement(operations[1]), true);
    assert.deepEqual([asked[0][0], asked[1][1]], [operations[1], operations[1].fee]);
  });
});
