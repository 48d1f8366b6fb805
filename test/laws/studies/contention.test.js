import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lanesOf, takeBlock } from '../../../scripts/bench/null-lanes.js';
import { randomNumbers } from '../../../src/random.js';
import { parallelShare, parallelText } from '../../../src/studies/contention.js';
import { pointsOfSweep, trend, trendText } from '../../../src/studies/trend.js';
import { slotsByWeight } from '../../../src/workloads/zipf.js';

/** For each lane: five blocks of writes wait. */
const WALLETS = 250;
const BLOCKS = 60;
/** Blocks until the queue of each slot has its length. */
const WARMUP = 150;
const BLOCK_MS = 100;

/**
 * A closed loop on a chain with parallel lanes: each wallet has one write that waits, and writes another slot after it.
 * @param {{lanes: number, slots: number, theta: number, seed: number}} options
 * @returns {number} TPS
 */
function tpsOf({ lanes, slots, theta, seed }) {
  const random = randomNumbers(seed);
  const draw = slotsByWeight(slots, theta);
  const next = (/** @type {number} */ wallet) => ({ wallet, slot: draw(Math.floor(random() * 2 ** 32)) });
  const waiting = Array.from({ length: lanes * WALLETS }, (_, wallet) => next(wallet));
  const limits = lanesOf({ lanes, txMs: 2, blockMs: BLOCK_MS });
  let count = 0;
  for (let block = 0; block < WARMUP + BLOCKS; block += 1) {
    const taken = takeBlock(waiting, limits, { slotOf: ({ slot }) => slot, senderOf: ({ wallet }) => wallet });
    if (block >= WARMUP) count += taken.length;
    waiting.push(...taken.map(({ wallet }) => next(wallet)));
  }
  return (1000 * count) / (BLOCKS * BLOCK_MS);
}

/** @type {Map<string, number>} */
const known = new Map();

/** The same only once. @param {Parameters<typeof tpsOf>[0]} options */
function knownTpsOf(options) {
  const key = JSON.stringify(options);
  const tps = known.get(key) ?? tpsOf(options);
  known.set(key, tps);
  return tps;
}

/** @param {number} lanes @param {(tps: number) => number} [change] */
function sweepOf(lanes, change = (tps) => tps) {
  const grid = ['0', '0.5', '1', '2'].flatMap((theta) => ['1', '16', '1024'].map((slots) => ({ theta, slots })));
  const cells = grid.map(({ theta, slots }, i) => ({
    settings: { 'set.theta': theta, 'set.slots': slots },
    metrics: {
      tps: [0, 1].map((run) =>
        change(knownTpsOf({ lanes, slots: Number(slots), theta: Number(theta), seed: 2 * i + run })),
      ),
    },
  }));
  return { cells, options: { workload: 'contention' } };
}

describe('the share of the execution that runs in parallel', () => {
  for (const lanes of [1, 2, 4, 8])
    it(`with ${lanes} lanes is within 5 points of ${(100 * (lanes - 1)) / lanes} %`, () => {
      const { parallel, lines } = trend(pointsOfSweep(sweepOf(lanes)));
      assert.ok(parallel);
      assert.deepEqual(lines, [], 'two settings were varied, so there is no line over one of them');
      assert.ok(Math.abs(parallel.share - (1 - 1 / lanes)) < 0.05, JSON.stringify(parallel));
      assert.ok(parallel.low <= parallel.share + 1e-9 && parallel.share <= parallel.high + 1e-9);
      assert.equal(parallel.isShown, lanes > 1);
      if (lanes > 1) assert.ok(Math.abs(parallel.breakAt - 1 / lanes) < 0.05, JSON.stringify(parallel));
    });

  it('is that of the whole execution where each operation has a serial part as well', () => {
    // 2 ms in a lane, and 1 ms that all share.
    const parallel = parallelShare(pointsOfSweep(sweepOf(4, (tps) => 1 / (1 / tps + 0.001))));
    assert.ok(parallel !== null && Math.abs(parallel.share - 0.5) < 0.05, JSON.stringify(parallel));
  });

  it('is said in words', () => {
    const text = trendText(trend(pointsOfSweep(sweepOf(4))));
    assert.match(
      text,
      /^\nContention, 24 runs with \d+ shares of the most written slot\n {2}verdict {3}7\d(\.\d)? % of the execution runs in parallel \(95 % interval [\d.]+ % to [\d.]+ %\); a slot is the limit from 2\d(\.\d)? % of the writes on$/,
    );
    const none = { share: 0, low: 0, high: 0.02, breakAt: 1, isShown: false, runs: 8, cells: 4 };
    assert.match(parallelText(none), /no part of the execution is shown to run in parallel \(at most 2 %\)/);
  });

  it('needs four shares, and runs of contention only', () => {
    const { cells, options } = sweepOf(2);
    assert.equal(parallelShare(pointsOfSweep({ cells: cells.slice(0, 4), options })), null);
    assert.equal(parallelShare(pointsOfSweep({ cells, options: { workload: 'counter' } })), null);
    assert.throws(() => trend(pointsOfSweep({ cells })), /several options were varied/);
  });
});
