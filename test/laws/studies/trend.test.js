import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RUNS_MAY_DIFFER_IN } from '../../../src/cli/options.js';
import { pointsOfRuns, pointsOfSweep, trend, trendText } from '../../../src/studies/trend.js';
import { equalBy } from '../../helpers/equal-by.js';
import { runOf } from './runs.js';

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

test('the slope of each metric per step, and the costs that grow, those that grow most first', () => {
  const { over, lines } = trend(pointsOfSweep({ cells: cellsOf(16) }));
  assert.deepEqual([over, lines.length, lines[0].step, lines[0].values.length], ['rate', 1, 10, 16]);
  const perStep = Object.fromEntries(lines[0].metrics.map((fit) => [fit.name, Math.round(Number(fit.perStep))]));
  const expected = { 'queued.p50': 56, 'submit.p50': 780, 'inclusion.p50': 4400, 'readback.p50': 0 };
  assert.deepEqual(perStep, { tps: 10, failed: 0, cpu: 0, ...expected });
  const inclusion = lines[0].metrics.find(({ name }) => name === 'inclusion.p50');
  assert.ok(inclusion !== undefined && Number(inclusion.r2) > 0.99 && inclusion.p < 0.001);
  assert.ok(inclusion.slopeLow < 440 && 440 < inclusion.slopeHigh);
  assert.equal(inclusion.residuals.length, 32);
  assert.ok(Math.abs(inclusion.residuals.reduce((sum, { residual }) => sum + residual, 0)) < 1e-3);
  assert.equal(inclusion.medians[0], 383_000);
  assert.equal(lines[0].words, 'shown to grow with rate: queued p50 +168 %, submit p50 +19.5 %, inclusion p50 +17.2 %');
  assert.match(trendText(trend(pointsOfSweep({ cells: cellsOf(16) }))), /\n {2}inclusion p50 \* +383 ms/);
});

test('metrics that do not grow are not named', () => {
  const cells = cellsOf(4).map((cell, i) => ({
    ...cell,
    metrics: { 'submit.p50': i % 2 === 0 ? [900, 1100] : [1100, 900] },
  }));
  const { lines } = trend(pointsOfSweep({ cells }));
  assert.equal(lines[0].words, 'nothing is shown to grow with rate');
});

test('growth from 0 is named first', () => {
  const cells = cellsOf(6).map((cell, i) => ({
    ...cell,
    metrics: { ...cell.metrics, failed: [1000 * i, 1010 * i], dropped: [0, 3 * i] },
  }));
  const [{ words }] = trend(pointsOfSweep({ cells })).lines;
  assert.equal(
    words,
    'shown to grow with rate: failed from 0, queued p50 +56 %, submit p50 +6.5 %, inclusion p50 +5.74 %',
  );
});

test('one rising line of many counts as chance', () => {
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
  const [line] = trend(pointsOfSweep({ cells })).lines;
  const fit = line.metrics.find(({ name }) => name === 'avg');
  assert.ok(fit !== undefined && fit.p < 0.05 && fit.pAdjusted > 0.05, `avg alone would be shown, p ${fit?.p}`);
  assert.equal(line.words, 'shown to grow with rate: queued p50 +350 %');
});

test('a grid has a line for each value of the other axes; those with too few points are left out', () => {
  const cells = [
    ...cellsOf(4, { connections: '1' }),
    ...cellsOf(4, { connections: '2' }),
    ...cellsOf(2, { connections: '4' }),
  ];
  const { lines, warnings } = trend(pointsOfSweep({ cells }), { over: 'rate' });
  equalBy(lines, ({ at }) => at, [{ connections: '1' }, { connections: '2' }]);
  assert.match(warnings[0], /^1 of 3 lines/);
  assert.equal(trend(pointsOfSweep({ cells }), { over: 'rate' }).confidence, 0.95);
  assert.throws(() => trend(pointsOfSweep({ cells })), { code: 'usage', message: /--over one of rate, connections/ });
});

test('of run files the option that was varied is found by its name', () => {
  const runs = [10, 40, 100].flatMap((threads, i) =>
    [1, 2].map((n) =>
      runOf(10 * i + n, { tps: 2 * threads, latencyMs: threads, config: { threads, out: `${i}${n}` } }),
    ),
  );
  const { over, lines } = trend(pointsOfRuns(runs, RUNS_MAY_DIFFER_IN));
  assert.deepEqual([over, lines[0].step, lines[0].values], ['threads', null, [10, 40, 100]]);
  const tps = lines[0].metrics.find(({ name }) => name === 'tps');
  assert.ok(tps !== undefined && Math.abs(tps.slope - 2) < 1e-9 && tps.r2 !== null && tps.r2 > 1 - 1e-12);
  const text = trendText(trend(pointsOfRuns(runs, RUNS_MAY_DIFFER_IN)));
  assert.match(
    text,
    /^\nTrend over threads\n {2}threads +10 +40 +100 +per 1 +interval +R2 +p +growth\n {2}TPS +20 +80 +200 +2 /,
  );
  assert.match(text, /\n {2}verdict +/);
  assert.ok(!/[ \t]$/m.test(text));
});

test('too few values, no numbers, nothing varied: one clear refusal each', () => {
  const two = pointsOfSweep({ cells: cellsOf(2) });
  assert.throws(() => trend(two), { code: 'bad_input', message: /3 or more different numbers \(rate varied\)/ });
  assert.throws(() => trend(two, { over: 'rate' }), {
    code: 'bad_input',
    message: /^rate has 2 different values where all else is the same: a trend needs at least 3$/,
  });
  assert.throws(() => trend(two, { over: 'threads' }), {
    code: 'bad_input',
    message: /no run says what threads was: rate varied$/,
  });
  assert.throws(() => trend([]), { code: 'bad_input', message: /\(nothing varied\)/ });
  const words = ['ws', 'tcp', 'undici'].map((transport) => ({ settings: { transport }, metrics: {} }));
  assert.throws(() => trend(words, { over: 'transport' }), {
    code: 'bad_input',
    message: /is not a number in every run/,
  });
});

test('a metric that is missing at one value has no line; missing in one repeat it has', () => {
  const cells = cellsOf(4).map((cell, i) => ({
    ...cell,
    metrics: { tps: cell.metrics.tps, cpu: [null, 90], rss: i === 2 ? [null, null] : [1, 2] },
  }));
  const { lines } = trend(pointsOfSweep({ cells }));
  equalBy(lines[0].metrics, ({ name }) => name, ['tps', 'cpu']);
});

test('figures that may be larger, because operations got no good answer, are marked', () => {
  const cells = cellsOf(4).map((cell, i) => ({ ...cell, atLeast: i === 3 ? ['queued.p50'] : [] }));
  const found = trend(pointsOfSweep({ cells }));
  const marked = found.lines[0].metrics.filter(({ atLeast }) => atLeast).map(({ name }) => name);
  assert.deepEqual(marked, ['queued.p50']);
  assert.match(trendText(found), /^ {2}queued p50 >= /m);
  assert.match(trendText(found), />=: some runs have operations without a good answer/);
});
