/** `--rate`, `--stages`, `--arrival`: operations are due at fixed instants, whatever becomes of them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { createPacer } from '../../src/core/pacer.js';
import { startKnownLatency } from './known-latency.js';
import { assertAgrees, assertWholeRunAgrees } from '../helpers/recompute.js';
import { readRows } from '../helpers/rows.js';
import { killedBy, runOf, sumOf } from '../helpers/run-of.js';

/**
 * @import { RunFile } from '../helpers/run-file.js'
 * @import { TestContext } from 'node:test'
 */

/** @type {string} */
let url;
before(async () => {
  ({ url } = await startKnownLatency({ delayMs: 2 }));
});

/**
 * @param {TestContext} t
 * @param {string} words
 * @param {RegExp} [interrupted] when it has said that
 */
async function load(t, words, interrupted) {
  const own = interrupted === undefined ? {} : { exit: 130, during: killedBy('SIGINT', interrupted) };
  const more = `--workload rpc --method eth_blockNumber --samples DIR/samples.csv ${words}`;
  const result = await runOf(t, more, { rpc: url, ...own });
  const run = /** @type {RunFile} */ (result.run);
  const rows = readRows(join(result.folder, 'samples.csv')).sort((a, b) => a.intended_at_us - b.intended_at_us);
  // Interrupted workers end their windows one after the other (docs/limits.md).
  const isExact = interrupted === undefined || !words.includes('--workers');
  if (run.window.durationMs > 0 && isExact) assertAgrees(run, rows);
  else assertWholeRunAgrees(run, rows);
  const { counts } = run;
  assert.equal(counts.scheduled, counts.dropped + rows.length);
  return { run, due: rows.map((row) => /** @type {number} */ (row.intended_at_us)) };
}

/**
 * Every operation that was begun was due at an instant of the schedule, each at one of its own.
 * @param {number[]} due ascending
 * @param {Set<number>} schedule
 */
function assertOnSchedule(due, schedule) {
  const off = due.filter((atUs) => !schedule.has(atUs));
  const words = `${off.length} of ${due.length} operations were due at no instant of the schedule`;
  assert.deepEqual(off.slice(0, 5), [], words);
  assert.equal(new Set(due).size, due.length, 'two operations were due at one instant');
}

/** @param {number} count @param {(ordinal: number) => number} dueUs @returns {Set<number>} */
function scheduleOf(count, dueUs) {
  return new Set(Array.from({ length: count }, (_, ordinal) => dueUs(ordinal)));
}

/** Every 2 ms, from the start of the load. @param {number} count */
const every2ms = (count) => scheduleOf(count, (ordinal) => 2000 * ordinal);

const FIXED = '--rate 500 -t 100';

describe('operations are due at fixed instants', { concurrency: 3 }, () => {
  test('--warmup 1s: its operations are not in the window, which has all of its own', async (t) => {
    const { run, due } = await load(t, `${FIXED} --warmup 1s -d 1s`);
    assert.equal(run.counts.scheduled, 1000);
    assert.equal(run.window.counts.scheduled, 500);
    assert.equal(run.window.durationMs, 1000);
    assertOnSchedule(due, every2ms(1000));
    const warmup = run.intervals.filter(({ phase }) => phase === 'warmup');
    assert.deepEqual([warmup[0].startMs, warmup.at(-1)?.endMs], [0, 1000]);
    assert.equal(sumOf(warmup.map(({ counts }) => counts.scheduled)), 500);
  });

  test('--workers 3: they share one schedule', async (t) => {
    const { run, due } = await load(t, `${FIXED} --workers 3 --warmup 500ms -d 1s`);
    assert.equal(run.counts.scheduled, 750);
    assert.equal(run.window.counts.scheduled, 500);
    assertOnSchedule(due, every2ms(750));
  });

  test('--stages 0:200/2s,200/1s: what the area under the rate is', async (t) => {
    const { run, due } = await load(t, '--stages 0:200/2s,200/1s -t 100');
    assert.equal(run.counts.scheduled, 400);
    assert.equal(run.window.counts.scheduled, 400);
    assert.equal(run.window.durationMs, 3000);
    // 100 per second more in each second: n are owed after the root of n / 50.
    const dueUs = (/** @type {number} */ n) => Math.round(1e6 * (n < 200 ? Math.sqrt(n / 50) : 2 + (n - 200) / 200));
    assertOnSchedule(due, scheduleOf(400, dueUs));
  });

  test('--arrival poisson: known from the seed', async (t) => {
    const { run, due } = await load(t, '--rate 1000 -t 500 -d 3s --arrival poisson');
    const { arrivalSeed } = run.generator;
    assert.ok(Number.isInteger(arrivalSeed), `${arrivalSeed}`);
    const instants = poisson(1000, 3e6, Number(arrivalSeed));
    assert.equal(run.counts.scheduled, instants.length);
    assert.ok(Math.abs(instants.length - 3000) < 5 * Math.sqrt(3000), `${instants.length} scheduled`);
    const known = new Set(instants);
    const unknown = due.filter((atUs) => !known.has(atUs));
    assert.deepEqual(unknown, []);
  });

  for (const more of ['', '--workers 2']) {
    test(`Ctrl-C in the middle ${more}: what was due until then`, async (t) => {
      const { run, due } = await load(t, `${FIXED} ${more}`, /^ +[1-9]\.\d s/m);
      assert.equal(run.end, 'interrupted');
      const { durationMs, counts } = run.window;
      assert.ok(durationMs >= 1000, `${durationMs} ms`);
      // The first one is due at once. Workers hear of the end one after the other.
      const owed = Math.ceil(durationMs / 2);
      if (more === '') assert.equal(counts.scheduled, owed);
      else assert.ok(counts.scheduled <= owed, `${counts.scheduled} of ${owed}`);
      assert.ok(counts.scheduled >= 0.9 * owed, `${counts.scheduled} of ${owed}`);
      assert.equal(run.counts.scheduled, counts.scheduled);
      assertOnSchedule(due, every2ms(owed));
    });
  }

  test('Ctrl-C in the warm-up: no window, and the run ends in order', async (t) => {
    const { run } = await load(t, `${FIXED} --warmup 30s -d 30s`, /^ +\d\.\d s/m);
    assert.equal(run.window.durationMs, 0);
    assert.equal(run.window.counts.scheduled, 0);
    assert.ok(run.counts.scheduled >= 250);
    assert.equal(run.counts.started, run.counts.verified + run.counts.abandoned);
    assert.equal(run.verdict, null);
  });
});

/** The instants of a schedule by chance. @param {number} perSecond @param {number} durationUs @param {number} seed */
function poisson(perSecond, durationUs, seed) {
  const stages = [{ fromPerSecond: perSecond, toPerSecond: perSecond, durationUs }];
  const { dueUs } = createPacer({ stages, arrival: 'poisson', seed });
  const instants = [];
  for (let atUs = dueUs(0); atUs < durationUs; atUs = dueUs(instants.length)) instants.push(atUs);
  return instants;
}
