import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RpcError } from '../../../src/errors.js';
import { RunObservers } from '../../../src/observers/index.js';
import { recordedControl } from '../../helpers/control.js';
import { createFakeClock } from '../../helpers/clock.js';
import { equalBy } from '../../helpers/equal-by.js';

const GWEI = 10n ** 9n;

/**
 * @param {{poolTarget?: string, maxBaseFeeWei?: bigint, instances?: number}} options
 * @param {{isLate?: boolean, depths?: Array<number | Error>, baseFeePerGas?: string | null, gasLimit?: string, gasPerOperation?: bigint}} [chain] isLate: the test begins the load; depths: of the pool, at each look
 */
async function opened(
  { poolTarget, maxBaseFeeWei, instances },
  { isLate = false, depths = [], baseFeePerGas = '0x3b9aca00', gasLimit, gasPerOperation = 21_000n } = {},
) {
  const clock = createFakeClock();
  const stop = { drain: new AbortController().signal };
  const header = { number: '0x1', hash: `0x${'1'.repeat(64)}`, parentHash: `0x${'0'.repeat(64)}`, timestamp: '0x1' };
  const call = async (/** @type {string} */ method) => {
    if (method !== 'txpool_status') return { ...header, gasUsed: '0x0', transactions: [], gasLimit, baseFeePerGas };
    const depth = depths.length > 1 ? depths.shift() : depths[0];
    if (depth instanceof Error) throw depth;
    const [pending, queued] = [Math.floor(Number(depth) / 2), Math.ceil(Number(depth) / 2)];
    return { pending: `0x${pending.toString(16)}`, queued: `0x${queued.toString(16)}` };
  };
  const load = { poolTarget: poolTarget ?? null, maxBaseFeeWei: maxBaseFeeWei ?? null, gasPerSecond: null };
  const config = /** @type {any} */ ({
    load,
    instance: { instances: instances ?? null },
    chain: {},
    network: { check: [], ladder: [] },
    outputs: { evidence: null },
  });
  const rpc = /** @type {any} */ ({ call, display: 'http://node' });
  const given = { rpc, clock, stop, gasPerOperation, inclusion: null, before: { why: '' }, refill: null, wallets: [] };
  const observers = await RunObservers.open(config, /** @type {any} */ (given));
  const { told, control } = recordedControl();
  /** @type {string[]} */
  const warned = [];
  const begin = (startUs = clock.nowUs()) =>
    observers.begin({
      startUs,
      warnOf: () => {},
      warnOnce: (_, text) => void warned.push(text),
      control,
      noAnswer: new AbortController().signal,
    });
  if (!isLate) begin();
  const block = (/** @type {bigint} */ baseFeeWei) =>
    observers.block(/** @type {any} */ ({ baseFeeWei, seenAtUs: clock.nowUs() }));
  const facts = () => observers.describe({}).members.pace;
  return { observers, clock, told, warned, begin, block, facts };
}

describe('--pool-target', () => {
  it('tells the threads ten times a second what the pool has, and the run file how near it was', async () => {
    const { observers, clock, told, facts } = await opened({ poolTarget: '100' }, { depths: [0, 79, 80, 120, 121] });
    await clock.advance(500);
    equalBy(told, ([, , depth]) => depth, [0, 0, 79, 80, 120, 121]);
    assert.ok(told.every(([verb, target]) => verb === 'room' && target === 100));
    // Those at most 20 from the target are near it.
    assert.deepEqual(observers.row('load', clock.nowUs()).pace, {
      pausedMs: 0,
      depth: { samples: 5, near: 2, sum: 400, min: 0, max: 121 },
    });
    await clock.advance(200);
    observers.row('load', clock.nowUs());
    const depth = { samples: 7, near: 2, sum: 642, min: 0, max: 121 };
    assert.deepEqual(facts(), { poolTarget: 100, depth, maxBaseFeeWei: null, pauses: 0, pausedMs: 0 });
  });

  it('the warm-up does not count, and a window without an answer has a reason', async () => {
    const { observers, clock, facts } = await opened({ poolTarget: '100' }, { depths: [100] });
    await clock.advance(100);
    observers.row('warmup', clock.nowUs());
    assert.equal(facts()?.depth, null);
    const reasons = observers.describe({}).unmeasured;
    assert.match(reasons['/pace/depth'], /did not answer/);
    assert.equal(reasons['/pace/maxBaseFeeWei'], '--max-base-fee was not given');
    assert.ok(!('/pace/poolTarget' in reasons));
  });

  it('has as many transactions as fill the blocks, and an instance of several adds its share', async () => {
    const chain = { depths: [100], gasLimit: '0x1e8480', gasPerOperation: 20_000n };
    const { clock, told } = await opened({ poolTarget: '2blocks', instances: 4 }, chain);
    await clock.advance(100);
    assert.deepEqual(told.at(-1), ['room', 125, 100]);
  });

  it('an instance of several starts one operation at least', async () => {
    const { clock, told } = await opened({ poolTarget: '3', instances: 4 }, { depths: [2] });
    await clock.advance(100);
    assert.deepEqual(told.at(-1), ['room', 3, 2]);
  });

  it('warns of a pool that others keep full', async () => {
    const { observers, clock, warned } = await opened({ poolTarget: '100' }, { depths: [121, 120, 121] });
    await clock.advance(200);
    observers.row('load', clock.nowUs());
    assert.deepEqual(warned, []);
    await clock.advance(100);
    observers.row('load', clock.nowUs());
    assert.deepEqual(warned, [
      'no operation is started: the pool has 121 transactions or more, and --pool-target is 100',
    ]);
  });

  it('takes the transactions of this run where the node does not tell, with a warning', async () => {
    const refused = new RpcError('txpool_status', -32601, 'no such method');
    const { clock, told, warned } = await opened({ poolTarget: '100' }, { depths: [refused] });
    await clock.advance(300);
    assert.deepEqual(told.at(-1), ['room', 100, null]);
    assert.equal(warned.length, 1);
  });

  it('is refused in blocks where they state no gas limit', () =>
    assert.rejects(opened({ poolTarget: '1block' }), { code: 'usage', message: /no gas limit/ }));
});

describe('--max-base-fee', () => {
  it('pauses above it, and counts the pauses of the window', async () => {
    const { observers, clock, told, block, facts } = await opened({ maxBaseFeeWei: 2n * GWEI });
    assert.equal(told.length, 0, 'the last block is cheap enough');
    for (const [fee, ms] of /** @type {Array<[bigint, number]>} */ ([
      [2n, 100],
      [3n, 200],
      [4n, 300],
      [1n, 400],
    ])) {
      block(fee * GWEI);
      await clock.advance(ms);
    }
    equalBy(told, ([verb]) => verb, ['hold', 'release']);
    assert.deepEqual(observers.row('load', clock.nowUs()).pace, { pausedMs: 500 });
    block(3n * GWEI);
    await clock.advance(100);
    observers.row('load', clock.nowUs());
    await clock.advance(50);
    observers.row('drain', clock.nowUs());
    assert.deepEqual([facts()?.pauses, facts()?.pausedMs, facts()?.maxBaseFeeWei], [2, 600, '2000000000']);
  });

  it('a wait before the load is in no pause, and a long pause is told', async () => {
    const { observers, clock, told, warned, begin, block, facts } = await opened(
      { maxBaseFeeWei: GWEI },
      { isLate: true },
    );
    block(2n * GWEI);
    await clock.advance(60_000);
    begin();
    equalBy(told, ([verb]) => verb, ['hold']);
    await clock.advance(4000);
    observers.row('load', clock.nowUs());
    assert.deepEqual([warned, facts()?.pauses, facts()?.pausedMs], [[], 1, 4000]);
    await clock.advance(1000);
    observers.row('load', clock.nowUs());
    assert.deepEqual(warned, ['no operation is started: the base fee is 2 gwei, and --max-base-fee is 1 gwei']);
  });

  it('a pause counts from the start of the load, although it begins a moment later', async () => {
    const { observers, clock, begin, block, facts } = await opened({ maxBaseFeeWei: GWEI }, { isLate: true });
    block(2n * GWEI);
    const startUs = clock.nowUs();
    await clock.advance(3);
    begin(startUs);
    await clock.advance(1997);
    observers.row('load', clock.nowUs());
    assert.equal(facts()?.pausedMs, 2000);
  });

  it('pauses from the start where the latest block is dearer', async () => {
    const { told } = await opened({ maxBaseFeeWei: GWEI / 2n });
    equalBy(told, ([verb]) => verb, ['hold']);
  });

  it('is refused on a chain without a base fee', () =>
    assert.rejects(opened({ maxBaseFeeWei: GWEI }, { baseFeePerGas: null }), {
      code: 'usage',
      message: /have no base fee/,
    }));
});
