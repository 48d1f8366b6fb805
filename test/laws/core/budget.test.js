import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FeeBudget } from '../../../src/core/budget.js';
import { NOT_PAID, SetUpCosts, balanceOf, describeSpending, decreaseBetween } from '../../../src/core/costs.js';
import { RefusedError, RpcError } from '../../../src/errors.js';
import { equalBy } from '../../helpers/equal-by.js';

/** @import { Call, Fee } from '../../../src/contracts/chain.d.ts' */

const GAS_LIMIT = 100n;
/** In each block. */
const BLOB_PRICE_WEI = 2n;

/** @param {bigint} maxFeePerGasWei @param {bigint} [maxPriorityFeePerGasWei] @returns {Fee} */
const offerOf = (maxFeePerGasWei, maxPriorityFeePerGasWei = 1n) => ({ maxFeePerGasWei, maxPriorityFeePerGasWei });

/** @param {string} hash @param {bigint | null} baseFeeWei @param {number} gasUsed */
const blockOf = (hash, baseFeeWei, gasUsed) => ({ hash, baseFeeWei, gasUsed });

/** @param {bigint} capWei @param {Fee} [fee] @param {Call['sidecar']} [sidecar] @param {bigint} [capValueWei] of which each operation transfers 5 */
function budgetOf(capWei, fee = offerOf(10n), sidecar = undefined, capValueWei = undefined) {
  /** Of the transaction signed ahead, by its nonce. @type {Fee[]} */
  let ahead = [];
  const feeAhead = (/** @type {number} */ _position, /** @type {number} */ nonce) => ahead[nonce] ?? null;
  const fees = { current: () => fee, blobPriceWei: () => BLOB_PRICE_WEI };
  const budget = new FeeBudget({
    capWei,
    capValueWei,
    fees,
    callOf: () => ({ gasLimit: GAS_LIMIT, sidecar, value: 5n }),
    feeAhead,
    baseFeeWei: null,
  });
  /** An operation of a wallet with these fees signed ahead, by nonce. @param {Fee[]} [signed] @returns {any} null: refused */
  const begin = (signed = []) => {
    ahead = signed;
    const reservation = budget.reserve({ position: 0, nextNonce: 0 });
    return reservation && /** @type {any} */ ({ reservation, inclusion: null, sample: { sentAtUs: null } });
  };
  /** @param {any} operation @param {string} [hash] of its block */
  const end = (operation, hash) =>
    budget.settle({
      ...operation,
      sample: { sentAtUs: 1 },
      inclusion: hash === undefined ? null : { number: 1, hash, seenAtUs: 2 },
    });
  /** What is charged or reserved. */
  const used = () => {
    const reservation = { gasLimit: 1n, priceWei: 0n, tipWei: 0n, blobGas: 0n, blobPriceWei: 0n, valueWei: 0n };
    const probe = /** @type {any} */ ({ reservation, inclusion: null, sample: { sentAtUs: null } });
    let leftWei = 0n;
    while (budget.reserveMore(probe, offerOf(leftWei + 1n))) leftWei += 1n;
    budget.settle(probe);
    return capWei - leftWei;
  };
  return { budget, begin, end, used };
}

describe('FeeBudget', () => {
  it('reserves the highest price offered, up to the limit', () => {
    const { begin, used } = budgetOf(2000n);
    equalBy([begin(), begin(), begin()], (operation) => operation !== null, [true, true, false]);
    assert.equal(used(), 2000n);
    assert.equal(budgetOf(999n).begin(), null);
  });

  it('transfers no more value than is allowed, whatever became of what was sent', () => {
    const { budget, begin, end } = budgetOf(100_000n, undefined, undefined, 12n);
    const [first, second] = [begin(), begin()];
    assert.deepEqual([begin(), budget.isOutOfValue], [null, true]);
    end(first);
    assert.equal(begin(), null, 'it was sent');
    budget.settle(second);
    assert.notEqual(begin(), null, 'it was not sent');
    const { budget: ofFees, begin: beginDear } = budgetOf(999n, undefined, undefined, 12n);
    assert.deepEqual([beginDear(), ofFees.isOutOfValue], [null, false], 'the limit of fees');
  });

  it('charges base fee and tip of the block, at most the price offered; in full if the block does not say it', () => {
    for (const [
      baseFeeWei,
      spentWei,
      fee,
      gasUsed = 100_000,
    ] of /** @type {Array<[bigint | null, bigint, Fee?, number?]>} */ ([
      [2n, 300n],
      [9n, 1000n],
      [50n, 1000n],
      [null, 1000n],
      [2n, 700n, { gasPriceWei: 7n }],
      [2n, 1000n, undefined, 0],
    ])) {
      const { budget, begin, end, used } = budgetOf(1000n, fee);
      const operation = begin();
      budget.observe(blockOf('0xa', baseFeeWei, gasUsed));
      end(operation, '0xa');
      assert.equal(used(), spentWei, `base fee ${baseFeeWei}`);
    }
  });

  it('charges the base fee of the block before if that is higher: Cosmos EVM does', () => {
    const { budget, begin, end, used } = budgetOf(2000n);
    const [first, second] = [begin(), begin()];
    budget.observe(blockOf('0xa', 6n, 0));
    budget.observe(blockOf('0xb', 4n, 100_000));
    budget.observe(blockOf('0xc', 5n, 100_000));
    end(first, '0xb');
    assert.equal(used(), 1000n + 700n);
    end(second, '0xc');
    assert.equal(used(), 600n + 700n);
  });

  it('our transactions in a block used at most its gas, at our highest price', () => {
    const { budget, begin, end, used } = budgetOf(10_000n);
    budget.observe(blockOf('0xa', 2n, 250));
    const spent = [0, 1, 2, 3].map(() => (end(begin(), '0xa'), used()));
    assert.deepEqual(spent, [300n, 600n, 750n, 750n]);
    const dear = begin();
    assert.ok(budget.reserveMore(dear, offerOf(10n, 8n)));
    end(dear, '0xa');
    assert.equal(used(), 2500n);
  });

  it('blobs are reserved at the price offered, and charged at that of their block', () => {
    const offer = { ...offerOf(10n), maxFeePerBlobGasWei: 3n };
    const { budget, begin, end, used } = budgetOf(3_000_000n, offer, { hashes: ['0x1', '0x2'], rlp: '' });
    const [first, second] = [begin(), begin()];
    assert.equal(used(), 2n * (1000n + 3n * 2n * 131_072n));
    assert.ok(budget.reserveMore(second, { ...offerOf(10n), maxFeePerBlobGasWei: 4n }));
    budget.observe(blockOf('0xa', 2n, 100_000));
    end(first, '0xa');
    end(second);
    assert.equal(used(), 300n + 2n * 2n * 131_072n + 1000n + 4n * 2n * 131_072n);
  });

  it('what was sent and is in no known block is charged in full, and never released', () => {
    const { budget, begin, end, used } = budgetOf(2000n);
    end(begin());
    for (let i = 0; i <= 256; i += 1) budget.observe(blockOf(`0x${i}`, 1n, 1_000_000));
    end(begin(), '0x0');
    assert.equal(used(), 2000n, 'the block is too old');
    const unsent = budgetOf(1000n);
    unsent.budget.settle(unsent.begin());
    assert.equal(unsent.used(), 0n, 'what was not sent costs nothing');
  });

  it('a replacement reserves the difference, or is refused', () => {
    const { budget, begin, used } = budgetOf(1500n);
    const operation = begin();
    assert.equal(budget.reserveMore(operation, offerOf(16n)), false);
    assert.equal(used(), 1000n);
    assert.equal(budget.reserveMore(operation, offerOf(15n)), true);
    // Either of the two may be mined.
    assert.equal(budget.reserveMore(operation, offerOf(3n)), true);
    assert.equal(used(), 1500n);
  });

  it('is charged for gas that is not of an operation, and gets back what is not used', () => {
    const { budget, begin, used } = budgetOf(2500n);
    assert.deepEqual([budget.charge(1600n), budget.charge(901n)], [true, false]);
    assert.equal(begin(), null, 'an operation needs 1000');
    assert.equal(budget.charge(-600n), true);
    assert.ok(begin() !== null);
    assert.deepEqual([used(), budget.charge(501n), budget.charge(500n)], [2000n, false, true]);
  });

  it('reserves for a transaction signed ahead of time', () => {
    const { begin, used } = budgetOf(10_000n);
    begin([offerOf(30n)]);
    assert.equal(used(), 3000n);
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
    const receipts = [
      { gasUsed: 100, priceWei: 2n, dataFeeWei: 0n },
      { gasUsed: 10, priceWei: null, dataFeeWei: 7n },
      { gasUsed: null, priceWei: 1n, dataFeeWei: 0n },
    ];
    assert.equal(costs.reserve(orders, 16n), 3);
    assert.deepEqual([costs.spentWei, costs.openWei, costs.leftWei], [0n, 960n, 40n], 'all at their highest price');
    for (const [i, receipt] of receipts.entries()) costs.spend(orders[i], /** @type {any} */ (receipt), 16n);
    assert.deepEqual([costs.spentWei, costs.openWei], [397n, 0n], 'the gas limit where none is stated');
    assert.equal(costs.reserve(orders, 11n), 2);
    assert.deepEqual([costs.openWei, costs.leftWei], [330n, 273n]);
    assert.equal(new SetUpCosts(null).leftWei, null);
  });
});

describe('the cost of a load', () => {
  const COSTS = /** @type {any} */ ({ spentWei: 5n, openWei: 0n });
  const AUDIT = /** @type {any} */ ({ exact: true, effectsOnChain: '10', foreign: [] });
  const describeWith = (/** @type {object} */ found) =>
    describeSpending(null, COSTS, {
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

  it('is more than the decrease by what a funder has paid in the meantime', () => {
    const [before, after] = [{ wei: 200n }, { wei: 230n }];
    assert.deepEqual(decreaseBetween(before, after, { wei: [0n, 100n] }), { wei: 70n });
    assert.deepEqual(decreaseBetween(before, after, { why: 'not known' }), { why: 'not known' });
    assert.equal(describeWith({ refillGasWei: 7n }).facts.spentWei, '112');
  });

  it('the fees are not known of wallets that another sender has used', () => {
    const report = { ...AUDIT, exact: false, foreign: [{}] };
    const { facts, unmeasured } = describeWith({ report });
    assert.equal(facts.spentWei, null);
    assert.match(unmeasured['/spending/spentWei'], /^another sender used a wallet/);
  });

  it('the fees are known if no value, or a known value, was sent', () => {
    assert.deepEqual(describeWith({}).facts, {
      capWei: null,
      setUpWei: '5',
      leftWei: '100',
      spentWei: '105',
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

  it('what the set-up has sent and is in no block counts as it was offered', () => {
    const costs = /** @type {any} */ ({ spentWei: 5n, openWei: 7n });
    const found = { decrease: { wei: 0n }, valueWei: 0n, report: null };
    const { facts, unmeasured } = describeSpending(null, costs, found);
    assert.deepEqual([facts.setUpWei, facts.leftWei, facts.spentWei], ['12', '0', null]);
    assert.match(unmeasured['/spending/spentWei'], /in no block yet/);
  });

  it('plain calls cost nothing', () => {
    const found = { decrease: NOT_PAID, valueWei: 0n, report: null };
    const calls = describeSpending(null, null, found);
    assert.ok(Object.values(calls.facts).every((value) => value === null));
    assert.deepEqual(Object.values(calls.unmeasured), Array(3).fill('plain calls are not paid for'));
  });
});
