import assert from 'node:assert/strict';
import { formatUnits } from 'ethers';
import { describe, it } from 'node:test';
import { readBlobFees, takesCellProofs } from '../../../src/chain/blobs.js';
import { createFees, readFees } from '../../../src/chain/fees.js';
import { RpcError, TransportError } from '../../../src/errors.js';
import { fails, fakeRpc } from '../../helpers/fake-rpc.js';

/**
 * @import { Fee, Fees, FeeState, StatedPrice } from '../../../src/contracts/chain.d.ts'
 */

const GWEI = 10n ** 9n;
const AUTO = Object.freeze({ tipWei: null, isGuarded: false, legacy: false, gasPriceWei: null, maxFeeWei: null });
const LEGACY = Object.freeze({ legacy: true });

/** @param {bigint | null} baseFeeWei @param {bigint} tipWei @param {{legacy?: boolean, maxFeeWei?: bigint}} [more] */
const feesOf = (baseFeeWei, tipWei, more) =>
  createFees({ baseFeeWei, tipWei, legacy: false, maxFeeWei: null, ...more });

/** @param {string} text 'fee/tip', or a gas price @returns {any} */
function feeOf(text) {
  const [fee, tip] = text.split('/').map(BigInt);
  return tip === undefined ? { gasPriceWei: fee } : { maxFeePerGasWei: fee, maxPriorityFeePerGasWei: tip };
}

/** What is offered now, checked to be the worst price and to be of the mode. @param {Fees} fees */
function offerOf(fees) {
  const fee = fees.current();
  assert.equal(fees.mode, fee.gasPriceWei === undefined ? 'eip1559' : 'legacy');
  assert.equal(fees.worstPriceWei(), fee.gasPriceWei ?? fee.maxFeePerGasWei);
  return textOf(fee);
}

/** @param {Fee} fee */
function textOf({ gasPriceWei, maxFeePerGasWei, maxPriorityFeePerGasWei }) {
  return gasPriceWei === undefined ? `${maxFeePerGasWei}/${maxPriorityFeePerGasWei}` : `${gasPriceWei}`;
}

describe('createFees()', () => {
  /** The base fees that blocks have, and the offers: at first, and after each of them. @type {Array<[string, Fees, Array<bigint | null>, string[]]>} */
  const offers = [
    ['EIP-1559: five times the base fee and the tip', feesOf(7n, 2n), [35n, 1n], ['37/2', '177/2', '7/2']],
    ['legacy: twice the base fee and the tip', feesOf(10n, 1n, LEGACY), [20n], ['21', '41']],
    ['a chain without a base fee: the gas price', feesOf(null, 3n), [null, 50n], ['3', '3', '3']],
    ['never more than the cap', feesOf(10n, 8n, { maxFeeWei: 60n }), [11n], ['58/8', '60/8']],
    ['never a tip above the offer', feesOf(10n, 8n, { maxFeeWei: 5n }), [], ['5/5']],
    ['never a gas price above the cap', feesOf(10n, 8n, { ...LEGACY, maxFeeWei: 20n }), [], ['20']],
  ];
  for (const [name, fees, observed, expected] of offers)
    it(name, () => {
      const later = () => observed.map((baseFee) => (fees.observe(baseFee), offerOf(fees)));
      assert.deepEqual([offerOf(fees), ...later()], expected);
    });

  it('keeps its offer while the base fee stands still or a block says nothing of it', () => {
    const fees = feesOf(7n, 1n);
    const before = fees.current();
    fees.observe(7n);
    fees.observe(null);
    assert.equal(fees.current(), before);
  });
});

describe('readFees()', () => {
  const unknown = fails(new RpcError('eth_maxPriorityFeePerGas', -32601, 'the method does not exist'));
  /** What the node answers, the base fee, the options, the offer and the requests. @type {Array<[string, Record<string, () => string>, bigint | null, object, string, number]>} */
  const rows = [
    ['asks for the tip', { eth_maxPriorityFeePerGas: () => '0x3' }, 10n, {}, '53/3', 1],
    ['offers a tip where none is needed', { eth_maxPriorityFeePerGas: () => '0x0' }, 10n, {}, '51/1', 1],
    ['offers a tip the node does not know', { eth_maxPriorityFeePerGas: unknown }, 10n, {}, '1000000050/1000000000', 1],
    ['asks for the gas price', { eth_gasPrice: () => '0x2540be400' }, null, {}, '10000000000', 1],
    ['--legacy still asks for the tip', { eth_maxPriorityFeePerGas: () => '0x5' }, 10n, LEGACY, '25', 1],
    ['a fixed gas price asks for nothing', {}, 10n, { gasPriceWei: 9n }, '9', 0],
  ];
  for (const [name, answers, baseFee, options, offer, count] of rows)
    it(name, async () => {
      const rpc = fakeRpc(answers);
      const fees = await readFees(rpc, baseFee, { ...AUTO, ...options });
      assert.deepEqual([offerOf(fees), rpc.count()], [offer, count]);
    });

  it('a fixed gas price follows nothing, and always holds', async () => {
    const fees = await readFees(fakeRpc({}), 10n, { ...AUTO, gasPriceWei: 9n });
    const earlier = fees.current();
    fees.observe(1000n * GWEI);
    assert.equal(offerOf(fees), '9');
    assert.ok(fees.holds(earlier));
  });

  it('does not take an endpoint that is gone for a node that does not know', async () => {
    const gone = fails(new TransportError('connection refused', 'refused'));
    await assert.rejects(readFees(fakeRpc({ eth_maxPriorityFeePerGas: gone }), 10n, AUTO), TransportError);
  });
});

describe('fees.holds()', () => {
  /** The offer of now; those that do not hold, and those that do. @type {Array<[string, Fees, string, string[], string[]]>} */
  const rows = [
    ['EIP-1559: three quarters', feesOf(80n, 0n), '400/0', ['299/0'], ['300/0', '400/0', `${10_000n * GWEI}/0`]],
    ['legacy: all of it is paid', feesOf(150n, 0n, LEGACY), '300', ['224', '401'], ['225', '300', '400']],
  ];
  for (const [name, fees, offer, not, held] of rows)
    it(name, () => {
      assert.equal(offerOf(fees), offer);
      for (const text of [...not, ...held]) assert.equal(fees.holds(feeOf(text)), held.includes(text), text);
    });

  /** Whether the first offer holds after a block. @type {Array<[string, Fees, bigint, boolean]>} */
  const later = [
    ['a dynamic fee that fell', feesOf(1000n * GWEI, 1n), 7n, true],
    ['a gas price that fell', feesOf(1000n * GWEI, 1n, LEGACY), 7n, false],
    ['at the cap', feesOf(100n, 1n, { maxFeeWei: 200n }), 100_000n, true],
  ];
  for (const [name, fees, baseFee, holds] of later)
    it(`${name}: ${holds}`, () => {
      const earlier = fees.current();
      fees.observe(baseFee);
      assert.equal(fees.holds(earlier), holds);
    });
});

describe('fees.replacementFee()', () => {
  /** @type {Array<[string, Fees, string, string | null]>} */
  const rows = [
    ['both are an eighth higher, and a wei: a pool asks for a tenth of each', feesOf(100n, 8n), '800/80', '901/91'],
    ['what is offered now, where that is more', feesOf(100n, 8n), '100/2', '508/8'],
    ['the fee of now, where that is more', feesOf(100n, 8n), '100/80', '508/91'],
    ['the tip of now, where that is more', feesOf(100n, 8n), '800/2', '901/8'],
    ['a tip is never more than the whole fee', feesOf(0n, 0n), '80/160', '181/181'],
    ['a gas price', feesOf(100n, 8n, LEGACY), '800', '901'],
    ['the gas price of now, where that is more', feesOf(100n, 8n, LEGACY), '100', '208'],
    ['as much as may be offered', feesOf(100n, 8n, { maxFeeWei: 901n }), '800/8', '901/10'],
    ['more than may be offered', feesOf(100n, 8n, { maxFeeWei: 901n }), '801/8', null],
    ['a gas price above the cap', feesOf(100n, 8n, { ...LEGACY, maxFeeWei: 300n }), '300', null],
  ];
  for (const [name, fees, before, expected] of rows)
    it(name, () => {
      const raised = fees.replacementFee(feeOf(before));
      assert.equal(raised && textOf(raised), expected);
    });
});

describe('fees.raiseOffer()', () => {
  /** The stated minimum, and the offers until there are no more. @type {Array<[string, StatedPrice, string[]]>} */
  const within = [
    ['a stated tip that the base fee leaves room for', { tipWei: 3n * GWEI }, ['3']],
    ['a stated tip that it leaves no room for', { tipWei: 5n * GWEI }, []],
    ['a base fee above it', { baseFeeWei: 6n * GWEI }, []],
    ['no minimum', {}, ['0.15625', '0.3125', '0.625', '1.25', '2.5', '5']],
  ];
  for (const [name, stated, tips] of within)
    it(`--max-fee without headroom above the base fee: ${name}`, () => {
      const fees = feesOf(GWEI, 1n, { maxFeeWei: 5n * GWEI });
      /** @type {string[]} */
      const offered = [];
      let why = null;
      for (let times = 0; times < 9 && why === null; times += 1) {
        why = fees.raiseOffer(fees.current(), stated);
        assert.equal(fees.worstPriceWei(), 5n * GWEI);
        if (why === null)
          offered.push(formatUnits(fees.current().maxPriorityFeePerGasWei ?? 0n, 'gwei').replace(/\.0$/, ''));
      }
      assert.deepEqual(offered, tips);
      assert.match(String(why), offered.length === 1 ? /more than the minimum/ : /--max-fee 5 gwei allows no higher/);
    });
});

for (const [maxFeeWei, legacy, expected] of /** @type {const} */ ([
  [2n * GWEI, false, '4.24gwei'],
  [3n * GWEI, false, '4.24gwei'],
  [3n * GWEI, true, '3.5gwei'],
]))
  it(`a --max-fee below the tip that the node states: the one that works is named, ${maxFeeWei}, legacy ${legacy}`, () => {
    const fees = feesOf(GWEI / 4n - GWEI / 500n - 1n, 1n, { maxFeeWei, legacy });
    const why = fees.raiseOffer(fees.current(), { tipWei: 3n * GWEI });
    assert.ok(why?.endsWith(`allows no higher offer: give --max-fee ${expected}`), `${why}`);
    const higher = feesOf(GWEI / 4n, 1n, { legacy, maxFeeWei: legacy ? 3_500_000_000n : 4_240_000_000n });
    assert.equal(higher.raiseOffer(higher.current(), { tipWei: 3n * GWEI }), null);
  });

describe('fees.isTooLow()', () => {
  for (const legacy of [false, true])
    it(`what offers less than the base fee of the newest block, legacy ${legacy}`, () => {
      const fees = feesOf(100n, 8n, { legacy });
      const areTooLow = () => ['99', '100', '500'].map((price) => fees.isTooLow(feeOf(legacy ? price : `${price}/0`)));
      assert.deepEqual(areTooLow(), [true, false, false]);
      fees.observe(501n);
      assert.deepEqual(areTooLow(), [true, true, true]);
      fees.observe(1n);
      assert.deepEqual(areTooLow(), [false, false, false]);
    });

  it('nothing, where blocks have no base fee', () => assert.equal(feesOf(null, 100n).isTooLow(feeOf('1')), false));
});

describe('fees.priceWei()', () => {
  it('a dynamic fee pays the base fee and the tip, and never more than it offers', () => {
    const fees = feesOf(100n, 8n, { maxFeeWei: 300n });
    const later = [200n, 299n].map((baseFee) => (fees.observe(baseFee), fees.priceWei()));
    assert.deepEqual(later, [208n, 300n]);
    assert.equal(feesOf(100n, 8n).priceWei(), 108n);
  });

  it('a gas price is paid in full', () =>
    assert.deepEqual([feesOf(100n, 8n, LEGACY).priceWei(), feesOf(null, 9n).priceWei()], [208n, 9n]));
});

describe('fees.state()', () => {
  /** @type {Array<[string, FeeState]>} */
  const kinds = [
    ['EIP-1559', { baseFeeWei: 7n, tipWei: 2n, legacy: false, maxFeeWei: null }],
    ['EIP-1559 with a cap', { baseFeeWei: 7n, tipWei: 2n, legacy: false, maxFeeWei: 30n }],
    ['legacy on a chain with a base fee', { baseFeeWei: 7n, tipWei: 2n, legacy: true, maxFeeWei: null }],
    ['a chain without a base fee', { baseFeeWei: null, tipWei: 9n * GWEI, legacy: false, maxFeeWei: null }],
  ];
  for (const [name, options] of kinds) {
    it(`${name}: another thread makes the same offers from it, now and later`, () => {
      const fees = createFees(options);
      fees.observe(50n);
      const copy = createFees(structuredClone(fees.state()));
      assert.equal(copy.mode, fees.mode);
      assert.deepEqual(copy.current(), fees.current());
      for (const baseFee of [80n, 3n, null, 10n ** 12n]) {
        fees.observe(baseFee);
        copy.observe(baseFee);
        assert.deepEqual(copy.current(), fees.current());
        assert.deepEqual(copy.state(), fees.state());
      }
    });
  }
});

describe('fees for blobs', () => {
  /** With a price of e^20 per blob gas, 485,165,195.4. */
  const blobs = { excessBlobGas: 20 * 5_007_716, updateFraction: 5_007_716 };
  const PRICE = 485_165_196n;

  it('offers five times the price of the newest block, in other threads too, and nothing without blobs', () => {
    const fees = feesOf(7n, 2n);
    assert.deepEqual([fees.current().maxFeePerBlobGasWei, fees.blobPriceWei()], [undefined, 0n]);
    fees.observe(7n, 1_000_000);
    fees.payForBlobs(blobs);
    assert.deepEqual([fees.current().maxFeePerBlobGasWei, fees.blobPriceWei()], [5n * PRICE, PRICE]);
    fees.observe(null, 0);
    assert.deepEqual([fees.current().maxFeePerBlobGasWei, fees.blobPriceWei()], [5n, 1n]);
    fees.observe(null, blobs.excessBlobGas);
    assert.equal(createFees(fees.state()).current().maxFeePerBlobGasWei, 5n * PRICE);
  });

  it('an offer holds and is enough by the price of blob gas, too', () => {
    const fees = feesOf(7n, 2n);
    fees.payForBlobs(blobs);
    const earlier = fees.current();
    assert.ok(fees.holds(earlier) && !fees.isTooLow(earlier));
    fees.observe(7n, 21 * 5_007_716);
    assert.ok(!fees.holds(earlier) && !fees.isTooLow(earlier));
    fees.observe(7n, 22 * 5_007_716);
    assert.ok(fees.isTooLow(earlier));
  });

  it('a replacement doubles all three fees', () => {
    for (const legacy of [false, true]) {
      const fees = feesOf(7n, 2n, { legacy });
      fees.payForBlobs(blobs);
      const earlier = fees.current();
      const raised = /** @type {Record<string, bigint>} */ (fees.replacementFee(earlier));
      for (const [name, wei] of Object.entries(earlier)) assert.ok(raised[name] >= 2n * wei, name);
    }
  });
});

describe('readBlobFees()', () => {
  const header = (/** @type {object} */ more) => ({ number: '0x1', hash: `0x${'1'.repeat(64)}`, ...more });
  const unknown = fails(new RpcError('eth_config', -32601, 'the method does not exist'));
  const of = (/** @type {string} */ excessBlobGas, /** @type {Record<string, () => unknown>} */ answers) =>
    readBlobFees(fakeRpc({ eth_getBlockByNumber: () => header({ excessBlobGas }), ...answers }));

  it('refuses a chain without blobs', async () => {
    const rpc = fakeRpc({ eth_getBlockByNumber: () => header({}) });
    await assert.rejects(
      readBlobFees(rpc),
      /eth_getBlockByNumber: excessBlobGas is not there: the chain takes no blob/,
    );
  });

  it('the price rises as the chain states it, or else as its price implies', async () => {
    const stated = { eth_config: () => ({ current: { blobSchedule: { baseFeeUpdateFraction: 5_007_716 } } }) };
    assert.deepEqual(await of('0x10', stated), { excessBlobGas: 16, updateFraction: 5_007_716 });
    const implied = await of('0x5f76730', { eth_config: unknown, eth_blobBaseFee: () => '0x1ceb00cb' });
    assert.ok(Math.abs(implied.updateFraction / 5_007_716 - 1) < 1e-3, `${implied.updateFraction}`);
    const low = await of('0x0', { eth_config: unknown, eth_blobBaseFee: () => '0x1' });
    assert.deepEqual(low, { excessBlobGas: 0, updateFraction: 1_112_826 });
  });

  it('cell proofs are for chains that have the opcode of their fork', async () => {
    const isTaken = (/** @type {() => unknown} */ eth_call) => takesCellProofs(fakeRpc({ eth_call }));
    assert.equal(await isTaken(() => `0x${'0'.repeat(62)}ff`), true);
    const refuse = fails(new RpcError('eth_call', -32000, 'invalid opcode: CLZ'));
    assert.equal(await isTaken(refuse), false);
  });
});

describe('an offer that an option fixes', () => {
  for (const fixedBy of ['--tip', '--allow-chain'])
    it(`is never raised after a refusal (${fixedBy})`, () => {
      const offer = { fixedBy, mostWei: 10n ** 10n, leastWei: 0n, raises: 0 };
      const fees = createFees({ baseFeeWei: 7n, tipWei: 1n, legacy: false, maxFeeWei: null, offer });
      const before = fees.current();
      for (const stated of [{ tipWei: 3n }, {}])
        assert.match(String(fees.raiseOffer(before, stated)), /raised by itself: give --tip/);
      fees.learn({ maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 50n });
      assert.deepEqual(fees.current(), before);
    });
});

it('fees.raiseOffer(): six raises reach ten times the first offer, also where a base fee takes a part of it', () => {
  const offer = { leastWei: 0n, raises: 0, fixedBy: null, mostWei: 10n * GWEI };
  const fees = createFees({ baseFeeWei: GWEI / 100n, tipWei: 1n, legacy: false, maxFeeWei: null, offer });
  const offered = [];
  while (fees.raiseOffer(fees.current(), {}) === null) offered.push(fees.current().maxPriorityFeePerGasWei ?? 0n);
  assert.equal(offered.length, 6);
  assert.ok(fees.worstPriceWei() <= 10n * GWEI);
  assert.ok(offered[5] > 9n * GWEI, `${offered}`);
});

for (const maxFeeWei of [1000n * GWEI, null])
  it(`fees.raiseOffer(): the tip is doubled in each step after the first one, the last offers all, --max-fee ${maxFeeWei}`, () => {
    const offer = { leastWei: 0n, raises: 0, fixedBy: null, mostWei: 10n * GWEI };
    const fees = createFees({ baseFeeWei: 7n, tipWei: 1n, legacy: false, maxFeeWei, offer });
    const tips = [];
    while (fees.raiseOffer(fees.current(), {}) === null) tips.push(Number(fees.current().maxPriorityFeePerGasWei));
    assert.equal(tips.length, 6);
    for (const [i, tip] of tips.slice(1, 5).entries()) assert.ok(Math.abs(tip / tips[i] - 2) < 1e-6, `${tips}`);
    // A high limit is reached at once, because those before stay below ten times the first offer.
    assert.ok(Math.abs(tips[5] / Number(maxFeeWei ?? 10n * GWEI) - 1) < 0.01, `${tips}`);
    assert.ok(tips[4] < 6e9, `${tips}`);
  });

it('fees.raiseOffer(): a minimum of the whole price above the limit names the limit to give, not a tip', () => {
  const offer = { leastWei: 0n, raises: 0, fixedBy: null, mostWei: 10n * GWEI };
  const parts = { baseFeeWei: GWEI, tipWei: 1n, legacy: false, offer };
  const refusedBy = (/** @type {bigint | null} */ maxFeeWei) => {
    const fees = createFees({ ...parts, maxFeeWei });
    return String(fees.raiseOffer(fees.current(), { priceWei: 25n * GWEI }));
  };
  assert.match(refusedBy(null), /ten times the first one, 10 gwei: give --max-fee 25gwei$/);
  assert.match(refusedBy(5n * GWEI), /^--max-fee 5 gwei allows no higher offer: give --max-fee 25gwei$/);
});
