import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FeeBudget } from '../../../src/core/budget.js';
import { NOT_PAID, SetUpCosts, balanceOf, describeSpending, decreaseBetween } from '../../../src/core/costs.js';
import { Account } from '../../../src/core/nonces.js';
import { RefusedError, RpcError } from '../../../src/errors.js';

/**
 * @import { Fee } from '../../../src/types.d.ts'
 * @import { NonceState } from '../../../src/core/nonces.js'
 */

const GAS_LIMIT = 100n;

/** @param {bigint} maxFeePerGasWei @param {bigint} [maxPriorityFeePerGasWei] */
const offerOf = (maxFeePerGasWei, maxPriorityFeePerGasWei = 1n) => ({ maxFeePerGasWei, maxPriorityFeePerGasWei });

/** @param {string} hash @param {bigint | null} baseFeeWei @param {number} gasUsed */
const blockOf = (hash, baseFeeWei, gasUsed) => ({ hash, baseFeeWei, gasUsed });

/** @param {{capWei: bigint, fee?: Fee}} given */
function purseOf({ capWei, fee = offerOf(10n) }) {
  const fees = { current: () => fee };
  return new FeeBudget({ capWei, fees, gasLimitOf: () => GAS_LIMIT });
}

/** @param {number} [position] */
function accountOf(position = 0) {
  return new Account(position, /** @type {any} */ ({ index: position, nonce: 0 }));
}

/**
 * An operation with the account's next nonce.
 * @param {Account} account
 * @param {{hash?: string, sentAtUs?: number | null}} [given] block that holds it, when it was sent
 */
function begin(account, { hash, sentAtUs = 1 } = {}) {
  const inclusion = hash === undefined ? null : { number: 1, hash, seenAtUs: 2 };
  /** @type {any} */
  const operation = { account, inclusion, sentAtUs, hashes: ['0x1'] };
  operation.nonce = account.take(operation).nonce;
  return operation;
}

/** @param {FeeBudget} budget @param {any} operation @param {NonceState} state */
function end(budget, operation, state) {
  if (state === 'executed' || state === 'used') operation.account.settle(operation.nonce, state);
  else operation.account.slotOf(operation.nonce).state = state;
  budget.settle(operation);
}

describe('FeeBudget', () => {
  it('reserves the highest price offered, up to the limit', () => {
    const budget = purseOf({ capWei: 2000n });
    const accounts = [0, 1, 2].map(accountOf);
    assert.deepEqual(
      accounts.map((account) => budget.reserve(account)),
      [true, true, false],
    );
    assert.deepEqual(budget.total(), { spentWei: 2000n, transactions: 2 });
    assert.equal(purseOf({ capWei: 999n }).reserve(accountOf()), false);
  });

  it('charges base fee and tip of the block, at most the price offered', () => {
    for (const [baseFeeWei, spentWei] of /** @type {Array<[bigint | null, bigint]>} */ ([
      [2n, 300n],
      [9n, 1000n],
      [50n, 1000n],
      [null, 1000n],
    ])) {
      const budget = purseOf({ capWei: 1000n });
      const account = accountOf();
      assert.ok(budget.reserve(account));
      budget.observe(blockOf('0xa', baseFeeWei, 100_000));
      end(budget, begin(account, { hash: '0xa' }), 'executed');
      assert.deepEqual(budget.total(), { spentWei, transactions: 1 }, `base fee ${baseFeeWei}`);
    }
  });

  it('a legacy transaction pays its whole gas price', () => {
    const budget = purseOf({ capWei: 1000n, fee: { gasPriceWei: 7n } });
    const account = accountOf();
    assert.ok(budget.reserve(account));
    budget.observe(blockOf('0xa', 2n, 100_000));
    end(budget, begin(account, { hash: '0xa' }), 'executed');
    assert.equal(budget.total().spentWei, 700n);
  });

  it('our transactions in a block used at most its gas', () => {
    const budget = purseOf({ capWei: 10_000n });
    budget.observe(blockOf('0xa', 2n, 250));
    const spent = [0, 1, 2, 3].map((position) => {
      const account = accountOf(position);
      assert.ok(budget.reserve(account));
      end(budget, begin(account, { hash: '0xa' }), 'executed');
      return budget.total().spentWei;
    });
    assert.deepEqual(spent, [300n, 600n, 750n, 750n]);
  });

  it('the gas of a block is charged at our highest price', () => {
    const budget = purseOf({ capWei: 100_000n, fee: offerOf(50n) });
    budget.observe(blockOf('0xa', 2n, 150));
    const [cheap, dear] = [0, 1].map(accountOf);
    for (const account of [cheap, dear]) assert.ok(budget.reserve(account));
    const [first, second] = [cheap, dear].map((account) => begin(account, { hash: '0xa' }));
    assert.ok(budget.raise(second, offerOf(50n, 8n)));
    end(budget, first, 'executed');
    end(budget, second, 'executed');
    assert.equal(budget.total().spentWei, 150n * 10n);
  });

  it('a lower price than reserved frees the difference', () => {
    const budget = purseOf({ capWei: 1500n });
    const [first, second] = [0, 1].map(accountOf);
    assert.ok(budget.reserve(first));
    assert.equal(budget.reserve(second), false);
    budget.observe(blockOf('0xa', 1n, 100_000));
    end(budget, begin(first, { hash: '0xa' }), 'executed');
    assert.equal(budget.reserve(second), true);
    assert.equal(budget.total().spentWei, 1200n);
  });

  it('an operation with unknown status stays reserved', () => {
    for (const state of /** @type {const} */ (['unresolved', 'free'])) {
      const budget = purseOf({ capWei: 1500n });
      const [first, second] = [0, 1].map(accountOf);
      assert.ok(budget.reserve(first));
      const operation = begin(first);
      end(budget, operation, state);
      assert.equal(budget.reserve(second), false, state);
      assert.equal(budget.total().spentWei, 1000n);
      // In an unknown block: at its full price.
      end(budget, operation, 'used');
      assert.equal(budget.total().spentWei, 1000n);
      assert.equal(budget.reserve(second), false, state);
    }
  });

  it('the next operation with the same nonce takes over the reservation', () => {
    const budget = purseOf({ capWei: 1000n });
    const account = accountOf();
    assert.ok(budget.reserve(account));
    end(budget, begin(account), 'free');
    assert.equal(budget.reserve(account), true);
    assert.deepEqual(budget.total(), { spentWei: 1000n, transactions: 1 });
  });

  it('an operation never sent frees its reservation, unless another one used its nonce', () => {
    for (const [hashes, isGivenBack] of /** @type {Array<[string[], boolean]>} */ ([
      [['0x1'], true],
      [['0x1', '0x2'], false],
    ])) {
      const budget = purseOf({ capWei: 1000n });
      const account = accountOf();
      assert.ok(budget.reserve(account));
      const operation = begin(account, { sentAtUs: null });
      operation.hashes = hashes;
      end(budget, operation, 'free');
      assert.equal(budget.total().spentWei, isGivenBack ? 0n : 1000n);
    }
  });

  it('a replacement reserves the difference, or is refused', () => {
    const budget = purseOf({ capWei: 1500n });
    const account = accountOf();
    assert.ok(budget.reserve(account));
    const operation = begin(account);
    assert.equal(budget.raise(operation, offerOf(16n)), false);
    assert.equal(budget.total().spentWei, 1000n);
    assert.equal(budget.raise(operation, offerOf(15n)), true);
    assert.equal(budget.total().spentWei, 1500n);
    // Either of the two may be mined.
    assert.equal(budget.raise(operation, offerOf(3n)), true);
    assert.equal(budget.total().spentWei, 1500n);
  });

  it('reserves for a transaction signed ahead of time', () => {
    const budget = purseOf({ capWei: 10_000n });
    const account = accountOf();
    account.ahead = { nonce: 0, signed: { raw: '0x', hash: '0x', fee: offerOf(30n) } };
    assert.ok(budget.reserve(account));
    assert.equal(budget.total().spentWei, 3000n);
    const other = accountOf(1);
    other.ahead = { nonce: 5, signed: { raw: '0x', hash: '0x', fee: offerOf(30n) } };
    assert.ok(budget.reserve(other));
    assert.equal(budget.total().spentWei, 4000n, 'one for another nonce is thrown away');
  });

  it('is bounded: an operation in an old block is charged in full', () => {
    const budget = purseOf({ capWei: 1000n });
    const account = accountOf();
    assert.ok(budget.reserve(account));
    for (let i = 0; i <= 256; i += 1) budget.observe(blockOf(`0x${i}`, 1n, 1_000_000));
    end(budget, begin(account, { hash: '0x0' }), 'executed');
    assert.equal(budget.total().spentWei, 1000n);
  });

  it('settles an operation once', () => {
    const budget = purseOf({ capWei: 5000n });
    const account = accountOf();
    assert.ok(budget.reserve(account));
    const operation = begin(account);
    end(budget, operation, 'executed');
    budget.settle(operation);
    assert.deepEqual(budget.total(), { spentWei: 1000n, transactions: 1 });
  });
});

describe('SetUpCosts', () => {
  const orders = [10n, 20n, 30n].map((gasLimit) => ({ gasLimit }));

  it('allows as many transactions at once as the limit covers at their highest price', () => {
    for (const [capWei, room] of /** @type {Array<[bigint | null, number]>} */ ([
      [null, 3],
      [600n, 3],
      [599n, 2],
      [300n, 2],
      [100n, 1],
    ])) {
      assert.equal(new SetUpCosts(capWei).reserve(orders, 10n), room, String(capWei));
    }
    assert.throws(() => new SetUpCosts(99n).reserve(orders, 10n), RefusedError);
  });

  it('counts the cost of receipts; the rest is left for the load', () => {
    const costs = new SetUpCosts(1000n);
    costs.spend([{ gasUsed: '0x64', effectiveGasPrice: '0x2' }, { gasUsed: '0xa' }], 30n);
    assert.deepEqual([costs.spentWei, costs.transactions, costs.leftWei], [500n, 2, 500n]);
    assert.equal(costs.reserve(orders, 10n), 2);
    assert.equal(new SetUpCosts(null).leftWei, null);
  });
});

describe('the cost of a load', () => {
  const READY = /** @type {any} */ ({ sender: {}, costs: { spentWei: 5n, transactions: 2 } });
  const AUDIT = /** @type {any} */ ({ exact: true, effectsOnChain: '10' });
  const describeWith = (/** @type {object} */ found, load = null) =>
    describeSpending(null, READY, load, {
      decrease: { wei: 100n },
      valueWei: 0n,
      report: AUDIT,
      ...found,
    });

  it('is the decrease of the balances, read once before and once after', async () => {
    /** @type {any[]} */
    const asked = [];
    const rpc = /** @type {any} */ ({
      batch: async (/** @type {any[]} */ requests, /** @type {string} */ purpose) => {
        asked.push([purpose, ...requests.map(({ method, params }) => `${method} ${params}`)]);
        return requests.map(() => '0x64');
      },
    });
    const wallets = [{ address: '0xa' }, { address: '0xb' }];
    const before = await balanceOf(rpc, wallets, 16, 'setup');
    assert.deepEqual(before, { wei: 200n });
    assert.deepEqual(asked, [['setup', 'eth_getBalance 0xa,0x10', 'eth_getBalance 0xb,0x10']]);
    assert.deepEqual(decreaseBetween(before, { wei: 150n }), { wei: 50n });
    assert.match(Object.values(decreaseBetween(before, { wei: 201n })).join(), /others have paid them/);
    const missing = { batch: () => Promise.reject(new RpcError('eth_getBalance', -32000, 'pruned')) };
    const unknown = await balanceOf(/** @type {any} */ (missing), wallets, 16, 'audit');
    assert.match('why' in unknown ? unknown.why : '', /^the balances of the wallets could not be read: .*pruned/);
    assert.deepEqual([decreaseBetween(unknown, before), decreaseBetween(before, unknown)], [unknown, unknown]);
  });

  it('the fees are known if no value, or a known value, was sent', () => {
    assert.deepEqual(describeWith({}).facts, {
      capWei: null,
      setUpWei: '5',
      leftWei: '100',
      spentWei: '105',
      transactions: null,
    });
    assert.equal(describeWith({ valueWei: 3n }).facts.spentWei, '75');
    for (const [found, why] of /** @type {Array<[object, RegExp]>} */ ([
      [{ valueWei: undefined }, /may send value/],
      [{ valueWei: 3n, report: { ...AUDIT, exact: false } }, /without an exact audit/],
    ])) {
      const { facts, unmeasured } = describeWith(found);
      assert.deepEqual([facts.leftWei, facts.spentWei], ['100', null]);
      assert.match(unmeasured['/spending/spentWei'], why);
    }
  });

  it('is an upper bound with a limit, and unknown without', () => {
    const { facts, unmeasured } = describeWith({}, /** @type {any} */ ({ spentWei: 120n, transactions: 12 }));
    assert.deepEqual([facts.leftWei, facts.spentWei, facts.transactions], ['100', '125', 14]);
    assert.deepEqual(unmeasured, {});
    const calls = describeSpending(null, { ...READY, sender: null }, null, {
      decrease: NOT_PAID,
      valueWei: 0n,
      report: null,
    });
    assert.ok(Object.values(calls.facts).every((value) => value === null));
    assert.deepEqual(Object.values(calls.unmeasured), Array(4).fill('plain calls are not paid for'));
  });
});
