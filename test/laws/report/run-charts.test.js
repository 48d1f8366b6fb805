import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countsOf } from '../../../src/report/client/buckets.js';
import { runData } from '../../../src/report/run-charts.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { equalBy } from '../../helpers/equal-by.js';
import { readingsOf, rowOf, runFileOf } from '../../helpers/samples.js';

/**
 * @import { Counts, RunFile } from '../../../src/contracts/run-file.d.ts'
 */

/** @param {number[]} valuesMs */
function latencyOf(...valuesMs) {
  const distribution = new Distribution();
  for (const value of valuesMs) distribution.record(value * 1000);
  return distribution.toJSON();
}

/** @param {Partial<Counts>} given */
const countsWith = (given) => ({ ...rowOf().counts, ...given });

const ROWS = [
  rowOf({
    phase: 'warmup',
    startMs: 0,
    endMs: 1000,
    counts: countsWith({ verified: 3, scheduled: 5 }),
    tps: 3,
    latency: latencyOf(10, 20, 30),
  }),
  rowOf({
    startMs: 1000,
    endMs: 3000,
    counts: countsWith({ verified: 4, scheduled: 10, timedOut: 1 }),
    tps: 2,
    inFlight: 7,
    latency: latencyOf(100, 100, 200, 5000),
    failures: { reverted: 2 },
    probes: readingsOf({
      self: { cpuUs: 500_000, rssBytes: 50_000_000 },
      why: {},
      pool: { pending: 9, queued: 1 },
      node: { cpuUs: 3_000_000, rssBytes: 7_000_000, threads: 1 },
    }),
    blocks: { ...rowOf().blocks, count: 2, transactions: 10, ours: 4, gasUsed: 300, gasLimit: 1000 },
    perSecond: { blocks: 1, transactions: 5, ours: 2, gas: 150 },
  }),
  rowOf({
    phase: 'drain',
    startMs: 3000,
    endMs: 3050,
    counts: countsWith({ verified: 1 }),
    tps: null,
    latency: latencyOf(40),
  }),
];

const RUN = runFileOf({ intervals: ROWS, isOpenLoop: true });

/** @param {string} id @param {RunFile} [run] @returns {any} */
function find(id, run = RUN) {
  const chart = Object.values(runData(run).charts)
    .flat()
    .find((one) => one.id === id);
  return chart?.why ?? chart?.series.map(({ values }) => values);
}

describe('what a page draws of a run', () => {
  it('has rates of each interval that is long enough, and the asked rate', () => {
    assert.deepEqual(find('tps'), [
      [3, 2, null],
      [5, 5, null],
    ]);
  });

  it('has the percentiles of the run file, in milliseconds', () => {
    const [p50, , , most] = find('latency');
    assert.deepEqual(
      p50,
      ROWS.map(({ latency }) => Number(((latency.p50Us ?? 0) / 1000).toPrecision(6))),
    );
    assert.deepEqual(most, [30, 5000, 40]);
  });

  it('has probes in display units', () => {
    assert.deepEqual(find('cpu')[0], [0, 25, null]);
    assert.deepEqual(find('node-cpu'), [[null, 150, null]]);
    assert.deepEqual(find('memory')[0], [0, 50, 0]);
    assert.deepEqual(find('pool'), [
      [null, 9, null],
      [null, 1, null],
    ]);
    assert.deepEqual(find('blocks'), [
      [0, 2, null],
      [0, 3, null],
    ]);
    assert.deepEqual(find('gas'), [[null, 15, null]]);
  });

  it('gives reasons for missing charts, and leaves out failures if there are none', () => {
    assert.equal(find('sockets'), 'not asked');
    const run = runFileOf();
    const well = { ...run, failures: {}, counts: { ...run.counts, timedOut: 0 }, intervals: [rowOf()] };
    assert.equal(find('failures', well), undefined);
    assert.equal(find('sockets', runFileOf({ intervals: [] })), 'the run ended before its first report');
    assert.equal(find('lag', runFileOf()), undefined);
  });

  it('counts failures by code, those that timed out among them', () => {
    assert.deepEqual(find('failures'), [
      [0, 2, 0],
      [0, 1, 0],
    ]);
  });

  it('has the mean of each stage, and none where nothing passed it', () => {
    const none = { count: 0, sumUs: 0 };
    const stages = { queued: none, submit: { count: 2, sumUs: 5000 }, inclusion: none, readBack: none };
    const [row] = ROWS;
    const run = { ...RUN, intervals: [/** @type {typeof row} */ (/** @type {unknown} */ ({ ...row, stages })), row] };
    const [queued, submit] = find('stages', run);
    assert.deepEqual([queued[0], submit[0]], [null, 2.5]);
  });

  it('says in the caption what is of the window only', () => {
    const caption = (/** @type {string} */ id, run = RUN) =>
      Object.values(runData(run).charts)
        .flat()
        .find((one) => one.id === id)?.summary;
    // In the drain the line falls to 0.
    assert.equal(caption('flight'), 'In the window: always 7.');
    assert.match(caption('tps') ?? '', /^In the window: verified: always 2\/s; asked for: always 5\/s\.$/);
    const [, load] = ROWS;
    assert.equal(caption('flight', { ...RUN, intervals: [load] }), 'Always 7.');
    assert.equal(caption('gas'), 'Always 15 %.', 'nothing is drawn of the others');
  });

  it('knows what lies outside of the window', () => {
    assert.deepEqual(runData(RUN).time.phases, [
      { from: 0, to: 1, name: 'warm-up' },
      { from: 3, to: 3.05, name: 'drain' },
    ]);
  });

  it('has every operation in the heat map, in the right bucket', () => {
    const { heat } = runData(RUN).charts.load[2];
    assert.ok(heat && heat.last - heat.first < 40, 'rows that can be seen');
    const counts = heat.columns.map(countsOf);
    equalBy(counts, (column) => [...column.values()].reduce((sum, count) => sum + count, 0), [3, 4, 1]);
    for (const column of counts) {
      for (const bucket of column.keys()) assert.ok(bucket >= heat.first && bucket <= heat.last);
    }
    const bucket = Math.floor(heat.perDecade * Math.log10(100_000));
    // The histogram has three digits, and 100 ms lies at an edge.
    assert.equal((counts[1].get(bucket) ?? 0) + (counts[1].get(bucket - 1) ?? 0), 2);
  });
});
