/** What a run reports is true: held against a server whose latencies are known, and against the samples of the run. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJson, startStress } from '../helpers/cli.js';
import { startKnownLatency, waitMs, waitedForCpuMs } from './known-latency.js';
import { assertAgrees, percentileOf, windowOf } from '../helpers/recompute.js';
import { readRows } from '../helpers/rows.js';
import { assertRunFile, sumOf } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { DistributionJson } from '../../src/contracts/run-file.d.ts'
 * @import { StressProcess } from '../helpers/cli.js'
 * @import { Call, Plan } from './known-latency.js'
 * @import { Row } from '../helpers/recompute.js'
 * @import { RunFile } from '../helpers/run-file.js'
 * @import { TestContext } from 'node:test'
 */

/**
 * A short time without CPU delays the slowest percent, even on a machine that counts as idle: p99 and p999 have no upper
 * bound here. assertAgrees() compares them with the samples.
 */
const PERCENTILES = /** @type {const} */ ([
  ['p50Us', 50, { hasUpperBound: true }],
  ['p90Us', 90, { hasUpperBound: true }],
  ['p99Us', 99, { hasUpperBound: false }],
  ['p999Us', 99.9, { hasUpperBound: false }],
]);

/** What the program may add to every exchange; the least of all exchanges tells it, also on a busy machine. */
const TOLERANCE_US = 2000;
/** What an idle machine may add to the median and the 90th percentile: server and program wait for timers and the CPU. */
const LATE_US = 10_000;
/** All answers of a stall come at one moment: what delays that moment delays all of them. */
const BURST_US = 100_000;
/** A timer of the server may fire so much early. */
const EARLY_US = 1500;

/**
 * One run of plain calls.
 * @param {TestContext} t
 * @param {Plan} plan
 * @param {string[]} more arguments
 * @param {{during?: (stress: StressProcess) => Promise<void>}} [options]
 */
async function measure(t, plan, more, { during } = {}) {
  const server = await startKnownLatency(plan);
  const folder = temporaryFolder(t);
  const [out, samples] = [join(folder, 'run.json'), join(folder, 'samples.csv')];
  const stress = startStress([
    ...['--rpc', server.url, '--workload', 'rpc', '--method', 'eth_blockNumber', '--connections', '400'],
    ...['--interval', '500ms', '--out', out, '--samples', samples, ...more],
  ]);
  const watch = watchCpu([server.pid, stress.pid]);
  try {
    await during?.(stress);
    const { code, stderr } = await stress.done;
    assert.equal(code, 0, stderr);
    const cpu = watch.stop();
    const run = /** @type {RunFile} */ (readJson(out));
    const rows = readRows(samples).sort((a, b) => a.intended_at_us - b.intended_at_us);
    // The first one is tried before the load.
    const [, ...calls] = await server.calls();
    assertRunFile(run);
    assertAgrees(run, rows);
    assert.equal(rows.length, calls.length, 'each operation is one call');
    return { run, stderr, ...cpu, ...matched(run, rows, calls) };
  } finally {
    watch.stop();
    await server.stop();
  }
}

/** The share of the time that processes may wait for the CPU on a machine that counts as idle. */
const IDLE = 0.02;
const LOOK_EVERY_MS = 50;

/** @param {number[]} pids that are waited for when they want to run, or not */
function watchCpu(pids) {
  const startMs = performance.now();
  const sum = () => sumOf(pids.map(waitedForCpuMs));
  const before = sum();
  let waitedMs = 0;
  const look = () => void (waitedMs = Math.max(waitedMs, sum() - before));
  const timer = setInterval(look, LOOK_EVERY_MS);
  return {
    stop: () => {
      clearInterval(timer);
      const waited = waitedMs / (performance.now() - startMs);
      return { isIdle: waited < IDLE };
    },
  };
}

/**
 * Operations and calls, which are numbered in the order in which they were begun. Nothing is read before it is written,
 * so that both sides can be seen on one clock: that of the samples, which begins with the load.
 * @param {RunFile} run
 * @param {Row[]} rows as they were due
 * @param {Call[]} calls by id
 */
function matched(run, rows, calls) {
  const mostUs = Math.min(...calls.map(({ arrivedUs }, i) => arrivedUs - rows[i].sent_at_us));
  const leastUs = Math.max(...calls.map(({ answeredUs }, i) => answeredUs - rows[i].accepted_at_us));
  assert.ok(leastUs <= mostUs + 2, `an answer was read ${leastUs - mostUs} us before it was written`);
  // However busy the machine is, some are not held up: what all of them have in common is the program's.
  assert.ok(mostUs - leastUs < TOLERANCE_US, `all exchanges took at least ${mostUs - leastUs} us too long`);
  const queuedUs = Math.min(...rows.map((row) => row.sent_at_us - row.intended_at_us));
  assert.ok(queuedUs < TOLERANCE_US, `all requests were at least ${queuedUs} us late`);
  const zeroUs = mostUs;
  const { fromUs, toUs } = windowOf(run);
  const pairs = rows.map((row, i) => ({
    ordinal: i,
    intendedUs: /** @type {number} */ (row.intended_at_us),
    arrivedUs: calls[i].arrivedUs - zeroUs,
    answeredUs: calls[i].answeredUs - zeroUs,
  }));
  const inWindow = pairs.filter(({ intendedUs }) => intendedUs >= fromUs && intendedUs <= toUs);
  return { inWindow, firstUs: pairs[0].arrivedUs };
}

/**
 * The reported percentiles are those expected. Nothing makes a latency shorter, so that one bound always holds; how much
 * longer it may be can be said of an idle machine only.
 * @param {DistributionJson} reported
 * @param {number[]} expectedUs
 * @param {{what: string, isIdle: boolean, earlyUs?: number, lateUs?: number}} options
 */
function assertPercentiles(reported, expectedUs, { what, isIdle, earlyUs = 0, lateUs = 0 }) {
  const sorted = [...expectedUs].sort((a, b) => a - b);
  assert.equal(reported.count, sorted.length, `count of ${what}`);
  for (const [key, percentile, { hasUpperBound }] of PERCENTILES) {
    const expected = percentileOf(sorted, percentile);
    const said = Number(reported[key]);
    const words = `${key} of ${what}: ${said} us reported, ${Math.round(expected)} us true`;
    assert.ok(said >= expected - earlyUs - Math.max(2, 0.001 * expected), words);
    if (isIdle && hasUpperBound) assert.ok(said <= expected + LATE_US + lateUs, words);
  }
}

describe('a known distribution is reported as it is', () => {
  const bimodal = { delayMs: 5, slow: { everyNth: 8, delayMs: 80 } };
  const load = ['--rate', '300', '-t', '1000', '-d', '2s'];
  /** @type {Array<{name: string, plan: Plan, more: string[]}>} */
  const table = [
    { name: 'constant', plan: { delayMs: 20 }, more: load },
    { name: 'bimodal', plan: bimodal, more: load },
    { name: 'bimodal, over plain sockets', plan: bimodal, more: [...load, '--transport', 'tcp'] },
    {
      name: 'a stall of 0.6 s every 3 s',
      plan: { delayMs: 5, stall: { atMs: 1200, everyMs: 3000, forMs: 600 } },
      more: ['--rate', '200', '-t', '1000', '-d', '3s'],
    },
  ];
  for (const { name, plan, more } of table) {
    test(name, async (t) => {
      const { run, inWindow, firstUs, isIdle } = await measure(t, plan, ['--warmup', '500ms', ...more]);
      assert.equal(run.counts.failed, 0);
      if (isIdle) assert.equal(run.counts.dropped, 0);
      const lateUs = plan.stall === undefined ? 0 : BURST_US;
      const { total, stages } = run.latency;
      const byServer = inWindow.map(({ arrivedUs, answeredUs }) => answeredUs - arrivedUs);
      assertPercentiles(stages.submit, byServer, { what: 'submit', isIdle, lateUs });
      const sinceDue = inWindow.map(({ intendedUs, answeredUs }) => answeredUs - intendedUs);
      assertPercentiles(total, sinceDue, { what: 'total', isIdle, earlyUs: 5, lateUs });
      const planned = inWindow.map(({ intendedUs, ordinal }) => {
        return 1000 * waitMs(plan, (intendedUs - firstUs) / 1000, ordinal);
      });
      assertPercentiles(total, planned, { what: 'total, by the plan', isIdle, earlyUs: EARLY_US, lateUs });
    });
  }
});

/** A stall of 2 s every 10 s, once in the run. */
const STALL = Object.freeze({ delayMs: 5, stall: { atMs: 4000, everyMs: 10_000, forMs: 2000 } });
const STALL_US = 2_000_000;
const SECONDS = 10;
const RATE = 100;

describe('a stall of 2 s every 10 s', { concurrency: 3 }, () => {
  test('an open loop with too few wallets says what it did not measure', async (t) => {
    const wallets = 3;
    const measured = await measure(t, STALL, ['--rate', `${RATE}`, '-t', `${wallets}`, '-d', `${SECONDS}s`]);
    const { run, inWindow, firstUs, stderr } = measured;
    const { scheduled, dropped, started } = run.window.counts;
    assert.deepEqual([scheduled, started], [SECONDS * RATE, inWindow.length]);
    const [fromUs, toUs] = [firstUs + 4e6, firstUs + 6e6];
    const due = Array.from({ length: SECONDS * RATE }, (_, i) => (i * 1e6) / RATE).filter(
      (us) => us > fromUs && us < toUs,
    );
    const stalled = inWindow.filter(({ arrivedUs }) => arrivedUs >= fromUs && arrivedUs < toUs - EARLY_US);
    assert.ok(stalled.length <= wallets, `${stalled.length} of ${wallets} wallets were held up`);
    assert.ok(dropped >= 0.9 * due.length, `${dropped} dropped of ${due.length} that were due in the stall`);
    assert.ok(Number(run.latency.total.p99Us) < STALL_US / 2, 'the latencies of the others hide it');
    assert.ok(Number(run.rates.achievedPerSecond) < 0.85 * RATE);
    assert.match(stderr, /the rate was not held/);
    assert.notEqual(run.verdict?.name, 'rate-bound');
  });
});

test('a stall of the generator itself is in the latency and in the lag, and nothing is left out', async (t) => {
  const [perSecond, seconds] = [200, 4];
  const args = ['--rate', `${perSecond}`, '-t', '1000', '-d', `${seconds}s`];
  let stoppedUs = 0;
  /** @param {StressProcess} stress */
  const during = async (stress) => {
    await stress.waitFor(/^ +[1-9]\.\d s/m);
    stress.child.kill('SIGSTOP');
    const atMs = performance.now();
    await sleep(1000);
    stoppedUs = 1000 * (performance.now() - atMs);
    stress.child.kill('SIGCONT');
  };
  const { run, isIdle } = await measure(t, { delayMs: 5 }, args, { during });
  const { latency, lag, window, counts } = run;
  assert.deepEqual([counts.scheduled, window.counts.scheduled], [perSecond * seconds, perSecond * seconds]);
  assert.equal(counts.dropped, 0, 'what is owed is begun at once');
  assert.equal(window.durationMs, 1000 * seconds);
  // Of all operations a quarter was due meanwhile; one that was due at a time into it waited for what was left.
  for (const [name, shown] of Object.entries({ latency: latency.total, lag, queued: latency.stages.queued })) {
    const said = [shown.maxUs, shown.p99Us, shown.p95Us, shown.p90Us].map(Number);
    const least = [0.98, 0.94, 0.78, 0.58].map((part) => part * stoppedUs);
    const isLate = said.every((us, i) => us >= least[i]);
    assert.ok(isLate, `${name}: ${said.join(', ')} us, where it was stopped for ${stoppedUs}`);
  }
  // The rate was held all the same.
  assert.equal(run.verdict?.name, 'rate-bound');
  assert.match(run.verdict?.evidence ?? '', /; 1 % of the operations were begun, or dropped, \d+ ms or more/);
  if (!isIdle) return;
  const { p95Us, p99Us } = latency.fromStart;
  assert.ok(Number(p95Us) < 0.3 * stoppedUs, `p95 from the start is ${p95Us} us: it has shown what it cannot know of`);
  assert.ok(Number(p99Us) < 0.5 * stoppedUs, `p99 from the start is ${p99Us} us: it has shown what it cannot know of`);
});
