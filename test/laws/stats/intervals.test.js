import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Distribution } from '../../../src/stats/histogram.js';
import { addBlocks, noBlocks, totalsOfBlock } from '../../../src/stats/blocks.js';
import { IntervalLog } from '../../../src/stats/stats.js';
import { equalBy } from '../../helpers/equal-by.js';
import { blockOf, readingsOf, rowOf } from '../../helpers/samples.js';

/** @import { IntervalRow as Row } from '../../../src/contracts/run-file.d.ts' */
/** @import { SeenBlock } from '../../../src/contracts/chain.d.ts' */

const EMPTY = new Distribution().toJSON();

/**
 * @param {number} i its place
 * @param {{verified?: number, failed?: number, phase?: Row['phase'], latenciesUs?: number[]}} [given]
 * @returns {Row} of one second
 */
function row(i, { verified = 1, failed = 0, phase = 'load', latenciesUs = [] } = {}) {
  const latency = new Distribution();
  for (const value of latenciesUs) latency.record(value);
  const block = { number: i, transactions: 3, ours: verified, gasUsed: 1000, gasLimit: 30_000 + i, skewMs: 10 * i };
  return rowOf({
    phase,
    startMs: 1000 * i,
    endMs: 1000 * (i + 1),
    counts: { ...rowOf().counts, scheduled: verified + failed, started: verified + failed, verified, failed },
    failures: failed > 0 ? { [i % 2 === 0 ? 'reverted' : 'rpc_error']: failed } : {},
    inFlight: i,
    tps: phase === 'load' ? verified : null,
    latency: latenciesUs.length === 0 ? EMPTY : latency.toJSON(),
    blocks: totalsOfBlock(blockOf(block)),
    probes: readingsOf({ self: { cpuUs: 10, rssBytes: 1000 + i } }),
  });
}

describe('IntervalLog', () => {
  it('above it merges neighbours, the odd one stays', () => {
    const log = new IntervalLog(4);
    for (let i = 0; i < 5; i += 1) {
      log.add(row(i, { verified: i, failed: 1, latenciesUs: Array.from({ length: i }, () => 100 * (i + 1)) }));
    }
    equalBy(log.rows, ({ startMs, endMs }) => [startMs, endMs], [
      [0, 2000],
      [2000, 4000],
      [4000, 5000],
    ]);
    const [, second] = log.rows;
    assert.equal(second.counts.verified, 5);
    assert.equal(second.tps, 2.5);
    assert.deepEqual(second.failures, { reverted: 1, rpc_error: 1 });
    assert.equal(second.inFlight, 3);
    const { firstNumber, lastNumber, own, gasLimit, fullness, skewMinMs, skewMaxMs, skewSumMs } = second.blocks;
    assert.deepEqual([firstNumber, lastNumber, gasLimit, own], [2, 3, 30_003, { transactions: 3, gasUsed: 1000 }]);
    assert.deepEqual([fullness, skewMinMs, skewMaxMs, skewSumMs], [{ 3.3: 2 }, 20, 30, 50]);
    assert.deepEqual(second.probes.self, { cpuUs: 20, rssBytes: 1003 });
    assert.deepEqual([second.latency.count, second.latency.minUs, second.latency.maxUs], [5, 300, 400]);
  });

  it('many parts that reach ahead are joined in pairs, and add up', () => {
    const log = new IntervalLog();
    for (let i = 0; i < 5001; i += 1) log.spread(0, 1000 * (1 + (i % 2)), { verified: 1 });
    log.add(row(0, { verified: 0 }));
    log.add(row(1, { verified: 0 }));
    const [first, second] = log.rows.map(({ tps }) => Number(tps));
    assert.ok(Math.abs(first + second - 5001) < 1e-6 && second > 0, `${first} and ${second}`);
  });

  it('the drain is not merged with the load', () => {
    const log = new IntervalLog(3);
    for (const one of [row(0), row(1), row(2), row(3, { phase: 'drain' })]) log.add(one);
    equalBy(log.rows, ({ phase, startMs, endMs, tps }) => [phase, startMs, endMs, tps], [
      ['load', 0, 2000, 1],
      ['load', 2000, 3000, 1],
      ['drain', 3000, 4000, null],
    ]);
  });

  it('means of the probes are weighted with the time of each row', () => {
    const log = new IntervalLog(1);
    const loop = { utilization: 0, delayMeanUs: 0, delayP99Us: 0, delayMaxUs: 0, gcUs: 0 };
    const idle = { startMs: 5000, endMs: 6000, probes: readingsOf({ loop }) };
    const busy = { startMs: 6000, endMs: 9000, probes: readingsOf({ loop: { ...loop, utilization: 0.8 } }) };
    for (const given of [idle, busy]) log.add(rowOf(given));
    equalBy(log.rows, ({ probes }) => probes.loop?.utilization, [0.8 * 0.75]);
  });
});

describe('blocks', () => {
  it('a block with room for another transaction is not full', () => {
    /** @type {Array<[Partial<SeenBlock>, number]>} */
    const rows = [
      [{ transactions: 1, ours: 1, gasUsed: 11_500_000, ownGasLimit: 12_600_000 }, 0],
      [{ transactions: 2, ours: 2, gasUsed: 23_000_000, ownGasLimit: 25_200_000 }, 1],
      [{ transactions: 1, ours: 1, gasUsed: 11_500_000, ownGasLimit: 20_000_000 }, 1],
      // The gas limits of others are not known: a block that is half empty proves nothing.
      [{ transactions: 1, ours: 0, gasUsed: 11_500_000, ownGasLimit: 0 }, 0],
      [{ transactions: 2, ours: 1, gasUsed: 23_000_000, ownGasLimit: 12_600_000 }, 1],
    ];
    for (const [given, full] of rows)
      assert.equal(totalsOfBlock(blockOf({ gasLimit: 30_000_000, ...given })).full, full, JSON.stringify(given));
  });

  it('the shares of blocks that are nearly empty have two digits', () => {
    const sharesOf = (/** @type {number} */ gasUsed) =>
      Object.keys(totalsOfBlock(blockOf({ gasLimit: 1_000_000, gasUsed })).fullness ?? {});
    assert.deepEqual([513, 9990, 0, 384_000].flatMap(sharesOf), ['0.051', '1', '0.0', '38.4']);
  });

  it('a block is full without room for twice the mean transaction; the longest gap stays', () => {
    const block = { transactions: 3, ours: 3, gasLimit: 1000 };
    const first = addBlocks(
      totalsOfBlock(blockOf({ ...block, gasUsed: 599, gapMs: 100 })),
      totalsOfBlock(blockOf({ ...block, gasUsed: 601, gapMs: 2500 })),
    );
    const second = totalsOfBlock(blockOf({ ...block, gasUsed: 1000, gapMs: 300 }));
    const { full, gapMaxMs } = addBlocks(first, second);
    assert.deepEqual([first.full, full, gapMaxMs], [1, 2, 2500]);
    assert.equal(addBlocks({ ...first, full: undefined }, second).full, 1, 'older run files do not say');
  });

  it('an interval without blocks merges with one that has blocks', () => {
    const some = totalsOfBlock(blockOf({ number: 0, skewMs: -7 }));
    assert.equal(noBlocks().firstNumber, null);
    assert.deepEqual(addBlocks(noBlocks(), some), some);
    assert.deepEqual(addBlocks(some, noBlocks()), some);
    assert.deepEqual(addBlocks(noBlocks(), noBlocks()), noBlocks());
  });
});
