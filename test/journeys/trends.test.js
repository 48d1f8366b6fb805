/** What stress trend says of sweeps and run files. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { equalBy } from '../helpers/equal-by.js';
import { readBy } from '../helpers/reports.js';
import { sweepOf } from '../helpers/sweep-file.js';
import { runOf } from '../laws/studies/runs.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { GivenCell } from '../helpers/sweep-file.js'
 */

/**
 * @param {TestContext} t
 * @param {Record<string, object>} files
 * @param {string} [over]
 * @returns {Promise<any>} what stress trend finds, and its text
 */
async function trendOf(t, files, over) {
  const words = over === undefined ? [] : ['--over', over];
  const { stdout, stderr } = await readBy(t, ['trend', '--out=-', ...words], files);
  return { ...JSON.parse(stdout), text: stderr };
}

/** @param {TestContext} t @param {GivenCell[]} cells @param {string} [over] */
const trendOfCells = (t, cells, over) => trendOf(t, { sweep: sweepOf(cells) }, over);

/** @param {TestContext} t @param {object} file @param {{exit: number, over?: string, says: RegExp}} refusal */
async function assertRefused(t, file, { exit, over, says }) {
  const words = over === undefined ? [] : ['--over', over];
  const { stdout, stderr } = await readBy(t, ['trend', ...words], { file }, { exit });
  assert.equal(stdout, '');
  assert.match(stderr, says);
}

/** @param {any} line @param {string} wanted */
const metricOf = (line, wanted) => line.metrics.find((/** @type {any} */ { name }) => name === wanted);

/** Cells as a sweep has them, two runs each: 100, 110 ... of a rate. @param {number} count @param {Record<string, string>} [more] */
function cellsOf(count, more = {}) {
  return Array.from({ length: count }, (_, i) => {
    const rate = 100 + 10 * i;
    const two = (/** @type {number} */ value) => [value - 100, value + 100];
    return {
      settings: { rate: String(rate), ...more },
      metrics: {
        tps: [rate, rate],
        failed: [0, 0],
        cpu: [null, 90],
        'queued.p50': two(500 + 56 * i),
        'submit.p50': two(60_000 + 780 * i),
        'inclusion.p50': two(383_000 + 4400 * i),
        'readback.p50': two(900),
      },
    };
  });
}

test('the slope of each metric per step, and the costs that grow, those that grow most first', async (t) => {
  const { over, lines, text } = await trendOfCells(t, cellsOf(16));
  assert.deepEqual([over, lines.length, lines[0].step, lines[0].values.length], ['rate', 1, 10, 16]);
  const perStep = Object.fromEntries(
    lines[0].metrics.map((/** @type {any} */ fit) => [fit.name, Math.round(Number(fit.perStep))]),
  );
  const expected = { 'queued.p50': 56, 'submit.p50': 780, 'inclusion.p50': 4400, 'readback.p50': 0 };
  assert.deepEqual(perStep, { tps: 10, failed: 0, cpu: 0, ...expected });
  const inclusion = metricOf(lines[0], 'inclusion.p50');
  assert.ok(Number(inclusion.r2) > 0.99 && inclusion.p < 0.001);
  assert.ok(inclusion.slopeLow < 440 && 440 < inclusion.slopeHigh);
  assert.equal(inclusion.residuals.length, 32);
  assert.ok(
    Math.abs(
      inclusion.residuals.reduce((/** @type {number} */ sum, /** @type {any} */ { residual }) => sum + residual, 0),
    ) < 1e-3,
  );
  assert.equal(inclusion.medians[0], 383_000);
  assert.equal(lines[0].words, 'shown to grow with rate: queued p50 +168 %, submit p50 +19.5 %, inclusion p50 +17.2 %');
  assert.match(text, /\n {2}inclusion p50 \* +383 ms/);
});

test('metrics that do not grow are not named', async (t) => {
  const cells = cellsOf(4).map((cell, i) => ({
    ...cell,
    metrics: { 'submit.p50': i % 2 === 0 ? [900, 1100] : [1100, 900] },
  }));
  const { lines } = await trendOfCells(t, cells);
  assert.equal(lines[0].words, 'nothing is shown to grow with rate');
});

test('growth from 0 is named first', async (t) => {
  const cells = cellsOf(6).map((cell, i) => ({
    ...cell,
    metrics: { ...cell.metrics, failed: [1000 * i, 1010 * i], dropped: [0, 3 * i] },
  }));
  const [{ words }] = (await trendOfCells(t, cells)).lines;
  assert.equal(
    words,
    'shown to grow with rate: failed from 0, queued p50 +56 %, submit p50 +6.5 %, inclusion p50 +5.74 %',
  );
});

test('one rising line of many counts as chance', async (t) => {
  const noise = [0, 30, -30, 10, -20, 20, -10, 0];
  const cells = Array.from({ length: 8 }, (_, i) => ({
    settings: { rate: String(100 + i) },
    metrics: /** @type {Record<string, number[]>} */ ({
      avg: [1000 + 10 * i + noise[i]],
      ...Object.fromEntries(
        ['p50', 'p90', 'p99', 'max', 'min', 'cpu', 'rss'].map((name, k) => [name, [1000 + noise[(i + k) % 8]]]),
      ),
      'queued.p50': [100 + 50 * i],
    }),
  }));
  const [line] = (await trendOfCells(t, cells)).lines;
  const fit = metricOf(line, 'avg');
  assert.ok(fit.p < 0.05 && fit.pAdjusted > 0.05, `avg alone would be shown, p ${fit.p}`);
  assert.equal(line.words, 'shown to grow with rate: queued p50 +350 %');
});

test('a grid has a line for each value of the other axes; those with too few points are left out', async (t) => {
  const cells = [
    ...cellsOf(4, { connections: '1' }),
    ...cellsOf(4, { connections: '2' }),
    ...cellsOf(2, { connections: '4' }),
  ];
  const { lines, warnings, confidence } = await trendOfCells(t, cells, 'rate');
  equalBy(lines, ({ at }) => at, [{ connections: '1' }, { connections: '2' }]);
  assert.match(warnings[0], /^1 of 3 lines/);
  assert.equal(confidence, 0.95);
  await assertRefused(t, sweepOf(cells), { exit: 64, says: /--over one of rate, connections/ });
});

test('of run files the option that was varied is found by its name', async (t) => {
  const runs = [10, 40, 100].flatMap((threads, i) =>
    [1, 2].map((n) => [
      `${i}${n}`,
      runOf(10 * i + n, { tps: 2 * threads, latencyMs: threads, config: { threads, out: `${i}${n}` } }),
    ]),
  );
  const { over, lines, text } = await trendOf(t, Object.fromEntries(runs));
  assert.deepEqual([over, lines[0].step, lines[0].values], ['threads', null, [10, 40, 100]]);
  const tps = metricOf(lines[0], 'tps');
  assert.ok(Math.abs(tps.slope - 2) < 1e-9 && tps.r2 > 1 - 1e-12);
  assert.match(
    text,
    /^\nTrend over threads\n {2}threads +10 +40 +100 +per 1 +interval +R2 +p +growth\n {2}TPS +20 +80 +200 +2 /,
  );
  assert.match(text, /\n {2}verdict +/);
  assert.ok(!/[ \t]$/m.test(text));
});

test('too few values, no numbers, nothing varied: one clear refusal each', async (t) => {
  const two = sweepOf(cellsOf(2));
  await assertRefused(t, two, { exit: 65, says: /3 or more different numbers \(rate varied\)/ });
  const says = /^stress: rate has 2 different values where all else is the same: a trend needs at least 3$/m;
  await assertRefused(t, two, { exit: 65, over: 'rate', says });
  await assertRefused(t, two, { exit: 65, over: 'threads', says: /no run says what threads was: rate varied$/m });
  await assertRefused(t, { ...two, cells: [] }, { exit: 65, says: /the sweep has no run with a result/ });
  await assertRefused(t, runOf(0), { exit: 65, says: /\(nothing varied\)/ });
  const words = sweepOf(['ws', 'tcp', 'undici'].map((transport) => ({ settings: { transport } })));
  await assertRefused(t, words, { exit: 65, over: 'transport', says: /is not a number in every run/ });
});

test('a metric that is missing at one value has no line; missing in one repeat it has', async (t) => {
  const cells = cellsOf(4).map((cell, i) => ({
    ...cell,
    metrics: { tps: cell.metrics.tps, cpu: [null, 90], rss: i === 2 ? [null, null] : [1, 2] },
  }));
  const { lines } = await trendOfCells(t, cells);
  equalBy(lines[0].metrics, ({ name }) => name, ['tps', 'cpu']);
});

test('figures that may be larger, because operations got no good answer, are marked', async (t) => {
  const sweep = sweepOf(cellsOf(4));
  sweep.cells[3].atLeast = ['queued.p50'];
  const { lines, text } = await trendOf(t, { sweep });
  const marked = lines[0].metrics.filter((/** @type {any} */ { atLeast }) => atLeast);
  equalBy(marked, ({ name }) => name, ['queued.p50']);
  assert.match(text, /^ {2}queued p50 >= /m);
  assert.match(text, />=: some runs have operations without a good answer/);
});
