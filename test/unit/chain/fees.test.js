import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFees, readFees } from '../../../src/chain/fees.js';
import { RpcError, TransportError } from '../../../src/errors.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';

/** @import { FeeState } from '../../../src/chain/fees.js' */

const GWEI = 10n ** 9n;
const AUTO = Object.freeze({ legacy: false, gasPriceWei: null, maxFeeWei: null });

describe('createFees()', () => {
  it('EIP-1559: five times the base fee and the tip, and follows the base fee', () => {
    const fees = createFees({ baseFeeWei: 7n, tipWei: 2n, legacy: false, maxFeeWei: null });
    assert.equal(fees.mode, 'eip1559');
    assert.deepEqual(fees.current(), { maxFeePerGasWei: 37n, maxPriorityFeePerGasWei: 2n });
    assert.equal(fees.worstPriceWei(), 37n);
    fees.observe(35n * GWEI);
    assert.deepEqual(fees.current(), { maxFeePerGasWei: 175n * GWEI + 2n, maxPriorityFeePerGasWei: 2n });
    assert.equal(fees.worstPriceWei(), 175n * GWEI + 2n);
    fees.observe(1n);
    assert.deepEqual(fees.current(), { maxFeePerGasWei: 7n, maxPriorityFeePerGasWei: 2n });
  });

  it('an offer outlasts 13 full blocks of waiting, and not 14', () => {
    const start = 1000n * GWEI;
    const { maxFeePerGasWei = 0n } = createFees({
      baseFeeWei: start,
      tipWei: 1n,
      legacy: false,
      maxFeeWei: null,
    }).current();
    let baseFee = start;
    for (let block = 0; block < 13; block += 1) baseFee += baseFee / 8n;
    assert.ok(maxFeePerGasWei > baseFee);
    assert.ok(maxFeePerGasWei < baseFee + baseFee / 8n);
  });

  it('legacy on a chain with a base fee: twice the base fee and the tip', () => {
    const fees = createFees({ baseFeeWei: 10n, tipWei: 1n, legacy: true, maxFeeWei: null });
    assert.equal(fees.mode, 'legacy');
    assert.deepEqual(fees.current(), { gasPriceWei: 21n });
    fees.observe(20n);
    assert.deepEqual(fees.current(), { gasPriceWei: 41n });
    assert.equal(fees.worstPriceWei(), 41n);
  });

  it('a chain without a base fee: the gas price, whatever blocks say later', () => {
    const fees = createFees({ baseFeeWei: null, tipWei: 3n * GWEI, legacy: false, maxFeeWei: null });
    assert.equal(fees.mode, 'legacy');
    fees.observe(null);
    fees.observe(50n);
    assert.deepEqual(fees.current(), { gasPriceWei: 3n * GWEI });
  });

  it('never offers more than the cap, and never a tip above the offer', () => {
    const fees = createFees({ baseFeeWei: 10n, tipWei: 8n, legacy: false, maxFeeWei: 60n });
    assert.deepEqual(fees.current(), { maxFeePerGasWei: 58n, maxPriorityFeePerGasWei: 8n });
    fees.observe(11n);
    assert.deepEqual(fees.current(), { maxFeePerGasWei: 60n, maxPriorityFeePerGasWei: 8n });
    const tight = createFees({ baseFeeWei: 10n, tipWei: 8n, legacy: false, maxFeeWei: 5n });
    assert.deepEqual(tight.current(), { maxFeePerGasWei: 5n, maxPriorityFeePerGasWei: 5n });
    const legacy = createFees({ baseFeeWei: 10n, tipWei: 8n, legacy: true, maxFeeWei: 20n });
    assert.deepEqual(legacy.current(), { gasPriceWei: 20n });
  });

  it('keeps its offer while the base fee stands still or a block says nothing of it', () => {
    const fees = createFees({ baseFeeWei: 7n, tipWei: 1n, legacy: false, maxFeeWei: null });
    const before = fees.current();
    fees.observe(7n);
    fees.observe(null);
    assert.equal(fees.current(), before);
  });
});

describe('readFees()', () => {
  it('asks for the tip where blocks have a base fee', async () => {
    const rpc = fakeRpc({ eth_maxPriorityFeePerGas: () => '0x3' });
    const fees = await readFees(rpc, 10n, AUTO);
    assert.deepEqual(fees.current(), { maxFeePerGasWei: 53n, maxPriorityFeePerGasWei: 3n });
    assert.equal(rpc.count(), 1);
  });

  it('offers a tip even where the node says that none is needed, or does not know', async () => {
    const zero = await readFees(fakeRpc({ eth_maxPriorityFeePerGas: () => '0x0' }), 10n, AUTO);
    assert.equal(zero.current().maxPriorityFeePerGasWei, 1n);
    const unknown = fakeRpc({
      eth_maxPriorityFeePerGas: () => {
        throw new RpcError('eth_maxPriorityFeePerGas', -32601, 'the method does not exist');
      },
    });
    assert.equal((await readFees(unknown, 10n, AUTO)).current().maxPriorityFeePerGasWei, GWEI);
  });

  it('asks for the gas price where blocks have no base fee', async () => {
    const rpc = fakeRpc({ eth_gasPrice: () => '0x2540be400' });
    const fees = await readFees(rpc, null, AUTO);
    assert.equal(fees.mode, 'legacy');
    assert.deepEqual(fees.current(), { gasPriceWei: 10n * GWEI });
  });

  it('--legacy on a chain with a base fee still asks for the tip', async () => {
    const rpc = fakeRpc({ eth_maxPriorityFeePerGas: () => '0x5' });
    const fees = await readFees(rpc, 10n, { ...AUTO, legacy: true });
    assert.deepEqual(fees.current(), { gasPriceWei: 25n });
  });

  it('a fixed gas price asks for nothing and follows nothing', async () => {
    const rpc = fakeRpc({});
    const fees = await readFees(rpc, 10n, { ...AUTO, gasPriceWei: 9n });
    assert.equal(fees.mode, 'legacy');
    fees.observe(1000n);
    assert.deepEqual(fees.current(), { gasPriceWei: 9n });
    assert.equal(rpc.count(), 0);
  });

  it('does not take an endpoint that is gone for a node that does not know', async () => {
    const rpc = fakeRpc({
      eth_maxPriorityFeePerGas: () => {
        throw new TransportError('connection refused', 'refused');
      },
    });
    await assert.rejects(readFees(rpc, 10n, AUTO), TransportError);
  });
});

describe('fees.holds()', () => {
  it('EIP-1559: what offers less than three quarters of what is offered now does not hold', () => {
    const fees = createFees({ baseFeeWei: 80n, tipWei: 0n, legacy: false, maxFeeWei: null });
    assert.equal(fees.worstPriceWei(), 400n);
    const offers = [299n, 300n, 400n, 10_000n * GWEI];
    assert.deepEqual(
      offers.map((maxFeePerGasWei) => fees.holds({ maxFeePerGasWei, maxPriorityFeePerGasWei: 0n })),
      [false, true, true, true],
      'what is offered too much is not paid',
    );
  });

  it('legacy: neither less than three quarters, nor more than a third above, because all of it is paid', () => {
    const fees = createFees({ baseFeeWei: 150n, tipWei: 0n, legacy: true, maxFeeWei: null });
    assert.equal(fees.worstPriceWei(), 300n);
    assert.deepEqual(
      [224n, 225n, 300n, 400n, 401n].map((gasPriceWei) => fees.holds({ gasPriceWei })),
      [false, true, true, true, false],
    );
  });

  for (const legacy of [false, true]) {
    it(`an offer ${legacy ? 'of a gas price' : 'of a dynamic fee'} outlasts two full blocks, and not four`, () => {
      let baseFee = 1000n * GWEI;
      const fees = createFees({ baseFeeWei: baseFee, tipWei: 1n, legacy, maxFeeWei: null });
      const earlier = fees.current();
      const held = [];
      for (let block = 0; block < 4; block += 1) {
        baseFee += baseFee / 8n;
        fees.observe(baseFee);
        held.push(fees.holds(earlier));
        assert.ok(fees.holds(fees.current()), 'the offer of now always holds');
      }
      assert.deepEqual(held.slice(0, 2), [true, true]);
      assert.equal(held[3], false);
    });
  }

  it('one that fell: a dynamic fee holds however far, a gas price does not', () => {
    for (const [legacy, expected] of /** @type {const} */ ([
      [false, true],
      [true, false],
    ])) {
      const fees = createFees({ baseFeeWei: 1000n * GWEI, tipWei: 1n, legacy, maxFeeWei: null });
      const earlier = fees.current();
      fees.observe(7n);
      assert.equal(fees.holds(earlier), expected);
    }
  });

  it('at the cap all offers are the same, and hold', () => {
    const fees = createFees({ baseFeeWei: 100n, tipWei: 1n, legacy: false, maxFeeWei: 200n });
    const earlier = fees.current();
    fees.observe(100_000n);
    assert.ok(fees.holds(earlier));
  });

  it('a fixed price always holds', async () => {
    const fees = await readFees(fakeRpc({}), 10n, { ...AUTO, gasPriceWei: 9n });
    const earlier = fees.current();
    fees.observe(1000n * GWEI);
    assert.ok(fees.holds(earlier));
  });
});

describe('fees.raise()', () => {
  const EIP1559 = Object.freeze({ baseFeeWei: 100n, tipWei: 8n, legacy: false, maxFeeWei: null });

  it('both fees are an eighth higher than before, and a wei: a pool asks for a tenth of each', () => {
    const fees = createFees(EIP1559);
    const raised = fees.raise({ maxFeePerGasWei: 800n, maxPriorityFeePerGasWei: 80n });
    assert.deepEqual(raised, { maxFeePerGasWei: 901n, maxPriorityFeePerGasWei: 91n });
  });

  it('each is what is offered now where that is more', () => {
    const fees = createFees(EIP1559); // 508 and 8
    assert.deepEqual(fees.raise({ maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 2n }), {
      maxFeePerGasWei: 508n,
      maxPriorityFeePerGasWei: 8n,
    });
    assert.deepEqual(fees.raise({ maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 80n }), {
      maxFeePerGasWei: 508n,
      maxPriorityFeePerGasWei: 91n,
    });
    assert.deepEqual(fees.raise({ maxFeePerGasWei: 800n, maxPriorityFeePerGasWei: 2n }), {
      maxFeePerGasWei: 901n,
      maxPriorityFeePerGasWei: 8n,
    });
  });

  it('a tip is never more than the whole fee', () => {
    const fees = createFees({ ...EIP1559, baseFeeWei: 0n, tipWei: 0n });
    assert.deepEqual(fees.raise({ maxFeePerGasWei: 80n, maxPriorityFeePerGasWei: 160n }), {
      maxFeePerGasWei: 181n,
      maxPriorityFeePerGasWei: 181n,
    });
  });

  it('a gas price is raised as one', () => {
    const fees = createFees({ ...EIP1559, legacy: true }); // 208
    assert.deepEqual(fees.raise({ gasPriceWei: 800n }), { gasPriceWei: 901n });
    assert.deepEqual(fees.raise({ gasPriceWei: 100n }), { gasPriceWei: 208n });
  });

  it('more than may be offered is not offered', () => {
    const fees = createFees({ ...EIP1559, maxFeeWei: 901n });
    assert.ok(fees.raise({ maxFeePerGasWei: 800n, maxPriorityFeePerGasWei: 8n }));
    assert.equal(fees.raise({ maxFeePerGasWei: 801n, maxPriorityFeePerGasWei: 8n }), null);
    const legacy = createFees({ ...EIP1559, legacy: true, maxFeeWei: 300n });
    assert.equal(legacy.raise({ gasPriceWei: 300n }), null);
  });

  it('again and again, each is enough for a pool that asks for a tenth more', () => {
    const fees = createFees({ ...EIP1559, baseFeeWei: 0n, tipWei: 0n });
    let before = { maxFeePerGasWei: 1n, maxPriorityFeePerGasWei: 1n };
    for (let i = 0; i < 50; i += 1) {
      const { maxFeePerGasWei = 0n, maxPriorityFeePerGasWei = 0n } = fees.raise(before) ?? assert.fail('no bound');
      assert.ok(maxFeePerGasWei * 10n >= before.maxFeePerGasWei * 11n);
      assert.ok(maxPriorityFeePerGasWei * 10n >= before.maxPriorityFeePerGasWei * 11n);
      before = { maxFeePerGasWei, maxPriorityFeePerGasWei };
    }
  });
});

describe('fees.isTooLow()', () => {
  it('what offers less than the base fee of the newest block', () => {
    for (const legacy of [false, true]) {
      const fees = createFees({ baseFeeWei: 100n, tipWei: 8n, legacy, maxFeeWei: null });
      const areTooLow = () =>
        [99n, 100n, 500n].map((price) => fees.isTooLow(legacy ? { gasPriceWei: price } : { maxFeePerGasWei: price }));
      assert.deepEqual(areTooLow(), [true, false, false]);
      fees.observe(501n);
      assert.deepEqual(areTooLow(), [true, true, true]);
      fees.observe(1n);
      assert.deepEqual(areTooLow(), [false, false, false]);
    }
  });

  it('nothing, where blocks have no base fee', () => {
    const fees = createFees({ baseFeeWei: null, tipWei: 100n, legacy: false, maxFeeWei: null });
    assert.equal(fees.isTooLow({ gasPriceWei: 1n }), false);
  });
});

describe('fees.priceWei()', () => {
  it('a dynamic fee pays the base fee and the tip, and never more than it offers', () => {
    const fees = createFees({ baseFeeWei: 100n, tipWei: 8n, legacy: false, maxFeeWei: 300n });
    assert.equal(fees.priceWei(), 108n);
    fees.observe(200n);
    assert.equal(fees.priceWei(), 208n);
    fees.observe(299n);
    assert.equal(fees.priceWei(), 300n);
  });

  it('a gas price is paid in full', () => {
    assert.equal(createFees({ baseFeeWei: 100n, tipWei: 8n, legacy: true, maxFeeWei: null }).priceWei(), 208n);
    assert.equal(createFees({ baseFeeWei: null, tipWei: 9n, legacy: false, maxFeeWei: null }).priceWei(), 9n);
  });
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

  it('the two go their own ways', () => {
    const fees = createFees({ baseFeeWei: 7n, tipWei: 2n, legacy: false, maxFeeWei: null });
    const copy = createFees(structuredClone(fees.state()));
    copy.observe(100n);
    assert.deepEqual(fees.current(), { maxFeePerGasWei: 37n, maxPriorityFeePerGasWei: 2n });
    assert.equal(fees.state().baseFeeWei, 7n);
  });
});
