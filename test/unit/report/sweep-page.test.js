import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { measureOf } from '../../../src/report/charts.js';
import { stepper } from '../../../src/report/sweep-charts.js';
import { hrefOf, renderSweep, verdict } from '../../../src/report/sweep-page.js';
import { sweepOf } from '../../helpers/sweep-file.js';
import { HOSTILE, assertHarmless, chartsOf, figure, figures } from './pages.js';

/** @import { SweepFile } from '../../../src/types.d.ts' */

/** Rates by wallets, as in a test of an open loop. */
function gridSweep() {
  return sweepOf(
    [
      { settings: { threads: '5', rate: '20' }, asked: 20, metrics: metrics([20, 20], [50_000, 60_000]) },
      {
        settings: { threads: '5', rate: '100' },
        asked: 100,
        metrics: metrics([44, 48], [90_000, 98_000]),
        why: 'half is missing',
      },
      { settings: { threads: '20', rate: '20' }, asked: 20, metrics: metrics([19, 21], [40_000, 44_000]) },
      { settings: { threads: '20', rate: '100' }, asked: 100, metrics: metrics([99, 97], [60_000, 64_000]) },
    ],
    {
      saturation: [
        {
          along: 'rate',
          at: { threads: '5' },
          settings: { threads: '5', rate: '100' },
          words: 'saturated from rate=100 on',
        },
        { along: 'rate', at: { threads: '20' }, settings: null, words: 'not saturated up to rate=100' },
      ],
    },
  );
}

/** Wallets in a closed loop. */
function lineSweep() {
  return sweepOf(
    [1, 10, 100, 1000].map((threads, i) => ({
      settings: { threads: String(threads) },
      metrics: metrics([[10], [100], [400], [390]][i], [[1e5], [1e5], [2e5], [2e6]][i]),
      ...(i === 3 ? { why: 'no more than at 100' } : {}),
    })),
    {
      saturation: [
        { along: 'threads', at: {}, settings: { threads: '1000' }, words: 'saturated from threads=1000 on' },
      ],
    },
  );
}

/** @param {number[]} tps @param {number[]} avg */
function metrics(tps, avg) {
  return { tps, avg, p50: avg, p90: avg, p99: avg.map((us) => 2 * us), max: avg.map((us) => 3 * us) };
}

/** @returns {NonNullable<SweepFile['find']>} */
function found() {
  const trial = (/** @type {number} */ value, /** @type {boolean} */ holds) => ({
    value,
    holds,
    failed: holds ? [] : ['p99<2s: 2.3 s'],
    file: `find/${value}.json`,
    startedAt: '2026-01-01T00:00:00.000Z',
  });
  return {
    name: 'rate',
    until: ['p99<2s'],
    estimate: 95,
    low: 90,
    high: 101,
    confidence: 0.95,
    sharp: false,
    words: 'p99<2s holds up to a rate of 95',
    trials: [trial(80, true), trial(110, false), trial(92, true)],
  };
}

describe('the page of a sweep', () => {
  it('has exact figures of the sweep: means of the runs of each cell', () => {
    const page = renderSweep(gridSweep());
    assert.equal(figure(page, 'best.tps'), 98);
    assert.equal(figure(page, 'best.avg'), 62_000);
    assert.equal(figure(page, 'best.p99'), 124_000);
    assert.deepEqual(figures(page, 'cells.1.tps'), [46, 46], 'in the grid and in the table');
    assert.deepEqual(figures(page, 'cells.3.p99'), [124_000, 124_000]);
    assert.equal(figure(page, 'cells.1.asked'), 100);
    assert.match(page, /44\/s to 48\/s/);
  });

  it('begins with where it saturates', () => {
    assert.equal(
      verdict(gridSweep()),
      'Saturates at threads 5, rate 100; the most was 98 verified per second, at threads 20, rate 100.',
    );
    const { saturation, ...grid } = gridSweep();
    assert.match(verdict({ ...grid, saturation: [] }), /^The most was 98 verified per second, at threads 20, rate 100/);
    assert.match(verdict({ ...grid, saturation: saturation.slice(1) }), /^Not saturated; the most was 98 /);
    const many = Array.from({ length: 6 }, () => saturation[0]);
    assert.match(
      verdict({ ...grid, saturation: many }),
      /^Saturates at (threads 5, rate 100; at ){3}.*, and on 2 more lines; the most/,
    );
  });

  it('draws throughput against the asked rate, one line per value of the other axis, and the asked rate', () => {
    const { throughput } = chartsOf(renderSweep(gridSweep()));
    assert.deepEqual(throughput.x, [20, 100]);
    assert.deepEqual(
      throughput.series.map(({ label, values }) => ({ label, values })),
      [
        { label: 'threads 5', values: [20, 46] },
        { label: 'threads 20', values: [20, 98] },
        { label: 'all that was asked', values: [20, 100] },
      ],
    );
    assert.deepEqual(throughput.series[0].low, [20, 44]);
    assert.deepEqual(throughput.series[0].high, [20, 48]);
    assert.deepEqual(throughput.series[0].crossed, [false, true]);
    assert.equal(throughput.series[1].crossed, undefined);
  });

  it('draws latency against throughput in the order of the load, which throughput need not follow', () => {
    const { 'path-avg-p99': path } = chartsOf(renderSweep(lineSweep()));
    assert.equal(path.kind, 'path');
    assert.deepEqual(path.series[0].x, [10, 100, 400, 390]);
    assert.deepEqual(path.series[0].values, [100, 100, 200, 2000], 'milliseconds');
    assert.deepEqual(path.series[1].values, [200, 200, 400, 4000]);
    assert.deepEqual(path.series[0].names, ['1', '10', '100', '1000']);
    const { 'path-avg': ofGrid } = chartsOf(renderSweep(gridSweep()));
    assert.deepEqual(
      ofGrid.series.map(({ x }) => x),
      [
        [20, 46],
        [20, 98],
      ],
    );
  });

  it('puts values that are factors apart at equal distances, under their own names, and marks saturation', () => {
    const { throughput, latency } = chartsOf(renderSweep(lineSweep()));
    assert.deepEqual(throughput.x, [0, 1, 2, 3]);
    assert.deepEqual(throughput.xTexts, ['1', '10', '100', '1000']);
    assert.equal(throughput.mark, 3);
    assert.deepEqual(
      latency.series.map(({ values }) => values[3]),
      [2000, 2000, 4000, 6000],
    );
  });

  it('has a place for values that are no numbers', () => {
    const sweep = sweepOf(
      ['undici', 'tcp'].map((transport, i) => ({ settings: { transport }, metrics: metrics([100 + i], [1e5]) })),
    );
    const { throughput } = chartsOf(renderSweep(sweep));
    assert.deepEqual(throughput.xTexts, ['undici', 'tcp']);
    assert.deepEqual(throughput.series[0].values, [100, 101]);
  });

  it('has a chart for each combination of what three axes leave over, and the table', () => {
    const sweep = sweepOf(
      ['1', '2'].flatMap((connections) =>
        ['a', 'b'].flatMap((transport) =>
          ['10', '20'].map((threads) => ({
            settings: { connections, transport, threads },
            metrics: metrics([Number(threads)], [1e5]),
          })),
        ),
      ),
    );
    const page = renderSweep(sweep);
    const charts = chartsOf(page);
    assert.deepEqual(Object.keys(charts), ['throughput-1', 'throughput-2']);
    assert.match(charts['throughput-2'].title, /: connections 2$/);
    assert.deepEqual(
      charts['throughput-2'].series.map(({ label }) => label),
      ['transport a', 'transport b'],
    );
    assert.equal(figures(page, 'cells.7.tps').length, 1, 'no grid');
  });

  it('shows a grid as a table with marked saturated cells', () => {
    const page = renderSweep(gridSweep());
    assert.equal(page.match(/<table class="grid"/g)?.length, 3);
    const cell =
      /<td class="heat-\d saturated"[^>]*data-figure="cells\.1\.tps"[^>]*>([^]*?)<\/td>/.exec(page)?.[1] ?? '';
    assert.match(cell, /46\/s\s*<span>saturated<\/span>/);
  });

  it('shows a search: the answer, its interval and every run', () => {
    const sweep = { ...sweepOf([{ settings: { rate: '1' } }]), axes: [], cells: [], find: found() };
    const page = renderSweep(sweep);
    assert.equal(figure(page, 'find.estimate'), 95);
    assert.equal(figure(page, 'find.low'), 90);
    assert.equal(figure(page, 'find.high'), 101);
    assert.equal(figure(page, 'trials.1'), 110);
    assert.match(page, /<p class="verdict">P99&lt;2s holds up to a rate of 95\.<\/p>/);
    assert.match(page, /✗ no sharp answer/);
    assert.deepEqual([page.match(/✓ hold</g)?.length, page.match(/✗ do not</g)?.length], [2, 1]);
    assert.match(page, /href="\.\/find\/110\.json"/);
    const [holds, fails, answer] = chartsOf(page).find.series;
    assert.deepEqual(holds.values, [80, null, 92, null]);
    assert.deepEqual(fails.values, [null, 110, null, null]);
    assert.deepEqual([answer.values[3], answer.low?.[3], answer.high?.[3]], [95, 90, 101]);
    assert.doesNotMatch(page, /the rate held/);
    assert.match(
      renderSweep({ ...sweep, find: { ...found(), rateHeld: true } }),
      /<code>p99&lt;2s<\/code>, and the rate held \(always required\)/,
    );
  });

  it('mentions the --before-cell command', () =>
    assert.match(
      renderSweep({ ...gridSweep(), beforeCell: '0123456789abcdef' }),
      /--before-cell<\/th>\s*<td>a command with SHA-256 0123456789abcdef\.\.\.<\/td>/,
    ));

  it('is a good page of a search that has only begun, and of a sweep in which nothing was measured', () => {
    const empty = sweepOf([{ settings: { rate: '1' } }, { settings: { rate: '2' } }]);
    const begun = { ...found(), estimate: null, low: null, high: null, words: '', trials: [] };
    const pages = [
      renderSweep(empty),
      renderSweep({ ...empty, end: 'running', endedAt: null, cells: [], axes: [], find: begun }),
      renderSweep({ ...empty, end: 'running', cells: empty.cells.map((cell) => ({ ...cell, runs: [], metrics: {} })) }),
    ];
    assert.match(pages[0], /Nothing was measured/);
    assert.match(pages[1], /The search has not ended/);
    for (const page of pages)
      assert.doesNotMatch(page.replace(/<script>.*?<\/script>/gs, ''), /undefined|NaN|\[object|Infinity/);
  });

  it('links run files with any name', () => {
    assert.match(renderSweep(gridSweep()), /href="\.\/cells\/5_20_1\.json">run 1</);
    assert.match(
      renderSweep(gridSweep(), { folder: '../kept here' }),
      /href="\.\/\.\.\/kept%20here\/cells\/5_20_1\.json"/,
    );
    assert.equal(hrefOf('javascript:alert(1)', '.'), './javascript%3Aalert(1)');
    assert.equal(hrefOf('//evil.example/x"', '.'), './evil.example/x%22');
  });

  it('escapes texts of files everywhere', () => {
    const sweep = sweepOf(
      [
        {
          settings: { [HOSTILE]: HOSTILE, rate: HOSTILE },
          metrics: { ...metrics([1], [1]), [HOSTILE]: [1] },
          why: HOSTILE,
        },
      ],
      {
        startedAt: HOSTILE,
        endedAt: HOSTILE,
        stress: HOSTILE,
        warnings: [HOSTILE],
        options: { [HOSTILE]: [HOSTILE, { [HOSTILE]: HOSTILE }] },
        saturation: [{ along: HOSTILE, at: { [HOSTILE]: HOSTILE }, settings: { [HOSTILE]: HOSTILE }, words: HOSTILE }],
        find: { ...found(), name: HOSTILE, until: [HOSTILE], words: HOSTILE },
      },
    );
    const [run] = sweep.cells[0].runs;
    sweep.cells[0].runs = [
      { ...run, file: HOSTILE, complaint: HOSTILE },
      { ...run, file: HOSTILE },
    ];
    assertHarmless(renderSweep(sweep));
  });
});

describe('a figure of a study', () => {
  it('is shown in display units', () => {
    assert.equal(measureOf('p99').text(1_234_567), '1,235 ms');
    assert.equal(measureOf('cpu').text(107.4), '107 µs');
    assert.equal(measureOf('rss').text(123_456_789), '123 MB');
    assert.equal(measureOf('tps').text(null), '–');
    assert.equal(measureOf('node.cpu').text(12.34), '12.3 %');
    assert.equal(measureOf('from the future').text(1), '1');
  });

  it('has a step of colour by its place between the least and the greatest', () => {
    assert.deepEqual([10, 15, 20].map(stepper(10, 20)), [0, 4, 7]);
    assert.deepEqual([1, 10, 100].map(stepper(1, 100)), [0, 4, 7], 'by factors, where they are far apart');
    assert.equal(stepper(5, 5)(5), 0);
  });
});
