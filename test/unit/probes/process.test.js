import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoopProbe } from '../../../src/probes/process.js';

/** @import { TestContext } from 'node:test' */

const BLOCKED_MS = 80;

/** @param {number} ms */
function block(ms) {
  const startMs = performance.now();
  while (performance.now() - startMs < ms);
}

/** Another thread may have the core for a while: upper bounds are generous. @param {TestContext} t */
function probeFor(t) {
  const probe = createLoopProbe();
  t.after(() => probe.close());
  return probe;
}

/** A turn of the loop. @returns {Promise<void>} */
const turn = () => new Promise((resolve) => void setImmediate(resolve));

describe('createLoopProbe()', () => {
  it('sees a stall that has just ended, before any timer could fire', async (t) => {
    // Since Node.js 22 the use of the loop counts from its first turn.
    await turn();
    const probe = probeFor(t);
    block(BLOCKED_MS);
    const { delayMaxUs, delayMeanUs, delayP99Us, utilization } = probe.sample();
    for (const delayUs of [delayMaxUs, delayMeanUs, delayP99Us]) {
      assert.ok(delayUs >= (BLOCKED_MS - 11) * 1000, `${delayUs}`);
      assert.ok(delayUs < (BLOCKED_MS + 2000) * 1000, `${delayUs}`);
    }
    assert.ok(utilization > 0.9 && utilization <= 1, `${utilization}`);
  });

  it('counts each stall once', async (t) => {
    const probe = probeFor(t);
    block(BLOCKED_MS);
    probe.sample();
    await turn();
    assert.ok(probe.sample().delayMaxUs < (BLOCKED_MS - 20) * 1000);
  });

  it('sees a stall that begins right behind a sample', async (t) => {
    const probe = probeFor(t);
    probe.sample();
    block(BLOCKED_MS);
    await turn();
    assert.ok(probe.sample().delayMaxUs >= (BLOCKED_MS - 11) * 1000);
  });

  it('adds up the time in garbage collection, and begins again', async (t) => {
    const probe = probeFor(t);
    const kept = [];
    for (let i = 0; i < 300_000; i += 1) kept.push({ i });
    await turn();
    await turn();
    const { gcUs } = probe.sample();
    assert.ok(gcUs > 100 && gcUs < 10_000_000, `${gcUs}`);
    assert.ok(probe.sample().gcUs < gcUs);
  });
});
