/** The automatic warm-up on a chain with a fixed block time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WarmUp } from '../../../src/core/load.js';
import { warmupSeconds } from '../../../src/core/costs.js';
import { zeroCounts } from '../../../src/stats/stats.js';
import { createFakeClock } from '../../helpers/clock.js';

/** @import { WarmUpOptions } from '../../../src/core/load.js' */

/** @param {number} seenAtUs */
const blockOf = (seenAtUs) => ({ seenAtUs, number: 1, ours: 2 });

/**
 * @param {Partial<WarmUpOptions> & {blockMs?: number, firstBlockMs?: number, untilMs?: number, countsAt?: (ms: number) => {started: number, verified: number}}} given
 *   firstBlockMs: from the beginning of the load
 */
async function warmUp({ blockMs = 1000, firstBlockMs = blockMs, untilMs = 120_000, countsAt, ...given }) {
  const clock = createFakeClock();
  const warm = new WarmUp({
    clock,
    operations: 50,
    isOpenLoop: false,
    hasBlocks: blockMs !== Infinity,
    mostMs: 60_000,
    random: () => 0,
    ...given,
  });
  const loadStartUs = clock.nowUs();
  const nowMs = () => (clock.nowUs() - loadStartUs) / 1000;
  // One operation per wallet and block.
  const blocksAt = (/** @type {number} */ ms) =>
    ms < firstBlockMs ? 0 : Math.floor((ms - firstBlockMs) / blockMs) + 1;
  const counts = countsAt ?? ((ms) => ({ started: 50 * (blocksAt(ms) + 1), verified: 50 * blocksAt(ms) }));
  const ended = new AbortController();
  /** @type {number | null | undefined} */
  let startUs;
  let seen = 0;
  // Blocks from before the load do not count.
  for (let i = 0; i < 3; i += 1) warm.onBlock(blockOf(loadStartUs - 1));
  const named = warm
    .windowStartUs(loadStartUs, async () => ({ ...zeroCounts(), ...counts(nowMs()) }), ended.signal)
    .then((us) => (startUs = us));
  while (startUs === undefined && nowMs() < untilMs) {
    await clock.advance(10);
    for (; seen < blocksAt(nowMs()); seen += 1)
      warm.onBlock(blockOf(loadStartUs + 1000 * (firstBlockMs + seen * blockMs)));
  }
  const namedMs = nowMs();
  ended.abort();
  await clock.advance(100);
  await named;
  const { warning } = warm;
  return { namedMs, startMs: startUs == null ? null : (startUs - loadStartUs) / 1000, warning };
}

describe('an automatic warm-up', () => {
  it('waits for three blocks', async () => {
    const { namedMs, startMs, warning } = await warmUp({ blockMs: 2000 });
    assert.ok(namedMs >= 6000 && namedMs <= 6100, String(namedMs));
    assert.equal(Number(startMs) - namedMs, 300, 'every thread is told before it begins');
    assert.equal(warning, null);
  });

  it('waits until as many operations have ended as are in flight', async () => {
    const countsAt = (/** @type {number} */ ms) => ({ started: 50, verified: Math.floor(ms / 100) });
    const { namedMs } = await warmUp({ blockMs: 100, countsAt });
    assert.ok(namedMs >= 5000 && namedMs <= 5100, String(namedMs));
  });

  it('open loop: waits for those started before the first one ended', async () => {
    // Ten per second, four seconds each: most wallets are never used.
    const countsAt = (/** @type {number} */ ms) => ({ started: ms / 100, verified: Math.max(0, (ms - 4000) / 100) });
    const { namedMs } = await warmUp({ blockMs: 100, isOpenLoop: true, operations: 1000, countsAt });
    assert.ok(namedMs >= 8000 && namedMs <= 8400, String(namedMs));
  });

  it('plain calls: waits for a second, not for blocks', async () => {
    const countsAt = (/** @type {number} */ ms) => ({ started: ms + 50, verified: ms });
    const { namedMs, startMs } = await warmUp({ blockMs: Infinity, countsAt, random: () => 0.9 });
    assert.ok(namedMs >= 1000 && namedMs <= 1100, String(namedMs));
    assert.equal(Number(startMs) - namedMs, 300, 'where there are no blocks, there is no phase to draw');
  });

  it('ends at its limit with a warning', async () => {
    const { namedMs, startMs, warning } = await warmUp({ blockMs: 40_000 });
    assert.ok(namedMs >= 60_000 && namedMs <= 60_200, String(namedMs));
    assert.ok(Number(startMs) > namedMs);
    assert.match(
      String(warning),
      /^the warm-up ended after 60 s \(--tx-timeout\) with 1 of 3 blocks and 50 operations: /,
    );
  });

  it('sets no window if ended early', async () => {
    assert.equal((await warmUp({ blockMs: 40_000, untilMs: 3000 })).startMs, null);
  });

  it('starts the window at a random time within a block interval', async () => {
    const [blockMs, windowMs, runs] = [2000, 3000, 100];
    let blocks = 0;
    const found = new Set();
    for (let i = 0; i < runs; i += 1) {
      const { startMs } = await warmUp({ blockMs, random: () => (i + 0.5) / runs });
      const before = Math.floor(Number(startMs) / blockMs);
      const inside = Math.floor((Number(startMs) + windowMs) / blockMs) - before;
      found.add(inside);
      blocks += inside;
    }
    assert.deepEqual([...found].sort(), [1, 2]);
    assert.equal(blocks / runs, windowMs / blockMs);
  });

  it('is expected to take four blocks, or a second', () => {
    assert.deepEqual(
      [warmupSeconds('auto', 12), warmupSeconds('auto', 0.1), warmupSeconds('auto', 0), warmupSeconds(2500, 12)],
      [48, 1, 1, 2.5],
    );
  });
});
