/** --pool-target and --max-base-fee on a chain: what is held back is not asked for, and the audit is exact. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { assertNear } from '../helpers/recompute.js';
import { runOf, startOf, sumOf } from '../helpers/run-of.js';

/** @import { IntervalRow } from '../../src/contracts/run-file.d.ts' */

const chain = anvilFor('--accounts 160 --block-time 0.5');

test('the pool has as many transactions as were asked for, of two threads together', async (t) => {
  const { run, stdout } = await runOf(t, '-d 4s --warmup 1s --pool-target 20 --workers 2', { chain, threads: 40 });
  const { poolTarget, depth } = run.pace;
  assert.equal(poolTarget, 20);
  // On a busy machine a thread hears late what the other one has started: how many are too many is a law of the simulation.
  assert.ok(depth.samples >= 10 && depth.max >= 18, JSON.stringify(depth));
  assert.ok(depth.near <= depth.samples && depth.sum <= depth.samples * depth.max);
  assert.equal(run.audit.exact, true);
  assert.match(stdout, /^ {2}pool +[\d.]+ +transactions in the pool on average, of 20 asked for; \d+ to \d+, /m);
});

test('a pool of fewer transactions than there are threads is filled', async (t) => {
  const { run } = await runOf(t, '-d 2s --pool-target 2 --workers 6', { chain, threads: 12 });
  const { depth } = run.pace;
  assert.ok(run.counts.verified > 0 && depth.max >= 1 && depth.max <= 3, JSON.stringify(depth));
  assert.equal(run.audit.exact, true);
});

test('above the base fee nothing is due, and the rate is that of the rest of the time', async (t) => {
  // An idle wallet is there although the machine stalls for two seconds.
  const stress = startOf(t, '-d 5s --rate 40 --max-base-fee 2 --interval 500ms', { chain, threads: 120 });
  await stress.waitFor(/^ +1\.0 s /m);
  // It falls by an eighth with each empty block.
  await chain.rpc('anvil_setNextBlockBaseFeePerGas', ['0xb2d05e00']);
  const { run, stdout } = await stress.end(0);
  const { pauses, pausedMs } = run.pace;
  assert.ok(pauses >= 1 && pausedMs >= 500 && pausedMs < 4500, stdout);
  const due = (run.window.counts.scheduled * 1000) / (run.window.durationMs - pausedMs);
  assertNear(run.rates.askedPerSecond, due, 1e-9, 'asked');
  assert.ok(Math.abs(due - 40) < 2, stdout);
  const load = run.intervals.filter((/** @type {IntervalRow} */ { phase }) => phase === 'load');
  assertNear(sumOf(load.map((/** @type {IntervalRow} */ { pace }) => pace?.pausedMs)), pausedMs, 1e-9, 'rows');
  assert.deepEqual([run.window.counts.dropped, run.audit.exact], [0, true]);
});
