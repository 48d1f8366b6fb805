import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { colorSteps } from '../../../src/report/sweep-charts.js';
import { hrefOf, renderSweep } from '../../../src/report/sweep-page.js';
import { equalBy } from '../../helpers/equal-by.js';
import { sweepOf } from '../../helpers/sweep-file.js';
import { HOSTILE, assertHarmless, assertWhole, chartsOf, tableOf } from './pages.js';

/** @import { SweepFile } from '../../../src/contracts/study.d.ts' */

/** Rates by wallets, as in a test of an open loop. */
function gridSweep() {
  /** @type {Array<[string, string, number[], number[], string?]>} */
  const cells = [
    ['5', '20', [20, 20], [50_000, 60_000]],
    ['5', '100', [44, 48], [90_000, 98_000], 'half is missing'],
    ['20', '20', [19, 21], [40_000, 44_000]],
    ['20', '100', [99, 97], [60_000, 64_000]],
  ];
  const along = 'rate';
  const saturated = { settings: { threads: '5', rate: '100' }, words: 'saturated from rate=100 on' };
  return sweepOf(
    cells.map(([threads, rate, tps, avg, why]) => {
      return { settings: { threads, rate }, asked: Number(rate), metrics: metrics(tps, avg), ...(why && { why }) };
    }),
    {
      saturation: [
        { along, at: { threads: '5' }, ...saturated },
        { along, at: { threads: '20' }, settings: null, words: 'not saturated up to rate=100' },
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
  it('has the tables of the terminal: means of the runs of each cell with their deviation', () => {
    const page = renderSweep(gridSweep());
    assert.deepEqual(tableOf(page, 'TPS'), [
      ['TPS', 'rate=20', 'rate=100'],
      ['threads=5', '20 ± 0', '46 ± 2.83 *'],
      ['threads=20', '20 ± 1.41', '98 ± 1.41'],
    ]);
    assert.deepEqual(tableOf(page, 'p99 ms')[2], ['threads=20', '84 ± 5.66', '124 ± 5.66']);
    const [head, first] = tableOf(renderSweep(lineSweep()), 'All cells');
    assert.deepEqual(head, ['threads', 'TPS', 'avg ms', 'p50 ms', 'p99 ms', 'max ms', 'CPU us', 'failed', '']);
    assert.deepEqual(first.slice(0, 6), ['1', '10', '100', '100', '200', '300']);
  });

  it('begins with where it saturates', () =>
    assert.match(
      renderSweep(gridSweep()),
      /<p class="verdict">Saturates at threads=5 rate=100; the most was 98 verified per second, at threads=20 rate=100\.</,
    ));

  it('draws throughput against the asked rate, one line per value of the other axis, and the asked rate', () => {
    const { throughput } = chartsOf(renderSweep(gridSweep()));
    assert.deepEqual(
      [throughput.x, throughput.xTexts],
      [
        [0, 1],
        ['20', '100'],
      ],
    );
    equalBy(throughput.series, ({ label, values }) => ({ label, values }), [
      { label: 'threads=5', values: [20, 46] },
      { label: 'threads=20', values: [20, 98] },
      { label: 'all that was asked', values: [20, 100] },
    ]);
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
    equalBy(ofGrid.series, ({ x }) => x, [
      [20, 46],
      [20, 98],
    ]);
  });

  it('puts values at equal distances, under their own names, in ascending order, and marks saturated ones', () => {
    const { throughput, latency } = chartsOf(renderSweep(lineSweep()));
    assert.deepEqual(throughput.x, [0, 1, 2, 3]);
    assert.deepEqual(throughput.xTexts, ['1', '10', '100', '1000']);
    assert.deepEqual(throughput.series[0].crossed, [false, false, false, true]);
    equalBy(latency.series, ({ values }) => values[3], [2000, 2000, 4000, 6000]);
  });

  it('sorts numbers, and keeps the order of other values', () => {
    const textsOf = (/** @type {string[]} */ ...values) => {
      const cells = values.map((value) => ({ settings: { a: value }, metrics: metrics([100], [1e5]) }));
      return chartsOf(renderSweep(sweepOf(cells))).throughput.xTexts;
    };
    assert.deepEqual(textsOf('10', '9', '100'), ['9', '10', '100']);
    assert.deepEqual(textsOf('10', '9', 'none'), ['10', '9', 'none']);
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
    assert.match(charts['throughput-2'].title, /: connections=2$/);
    equalBy(charts['throughput-2'].series, ({ label }) => label, ['transport=a', 'transport=b']);
    assert.equal(tableOf(page, 'All cells').length, 9);
    assert.doesNotMatch(page, /id="grid"/);
  });

  it('shows a grid as a table with marked saturated cells', () => {
    const page = renderSweep(gridSweep());
    const classes = [...page.matchAll(/<td class="\s*(heat-\d[^"]*)"/g)].map(([, text]) => text);
    assert.equal(classes.length, 12);
    assert.deepEqual(classes.slice(0, 4), ['heat-0', 'heat-2 saturated', 'heat-0', 'heat-7']);
  });

  it('shows a search: the answer, its interval and every run', () => {
    const cells = [
      ['80', 80, 1e5],
      ['92', 91, 2e5],
      ['110', 96, 9e5],
    ].map(([rate, tps, us]) => ({ settings: { rate: String(rate) }, metrics: metrics([Number(tps)], [Number(us)]) }));
    const swept = sweepOf(cells, { axes: [], find: found() });
    for (const { settings, runs } of swept.cells) runs[0].file = `find/${settings.rate}.json`;
    const sweep = swept;
    const page = renderSweep(sweep);
    assert.match(page, /<p class="verdict">P99&lt;2s holds up to a rate of 95\.<\/p>/);
    assert.deepEqual(tableOf(page, 'Runs').slice(0, 3), [
      ['rate', 'result', 'file'],
      ['80', 'holds', 'find/80.json'],
      ['110', 'fails: p99<2s: 2.3 s', 'find/110.json'],
    ]);
    assert.match(page, /href="\.\/find\/110\.json"/);
    const { 'find-throughput': throughput, 'find-latency': latency } = chartsOf(page);
    assert.deepEqual(throughput.band, { low: 90, at: 95, high: 101 });
    assert.deepEqual(latency.band, throughput.band);
    equalBy(throughput.series, ({ label, x, values }) => ({ label, x, values }), [
      { label: 'held', x: [80, 92], values: [80, 91] },
      { label: 'failed', x: [110], values: [96] },
      { label: 'all that was asked', x: [80, 92, 110], values: [80, 92, 110] },
    ]);
    assert.notEqual(throughput.series[0].color, throughput.series[1].color);
    equalBy(latency.series, ({ label, values }) => [label, ...values], [
      ['p50, held', 100, 200],
      ['p50, failed', 900],
      ['p99, held', 200, 400],
      ['p99, failed', 1800],
    ]);
    assert.doesNotMatch(page, /the rate held/);
    assert.match(
      renderSweep({ ...sweep, find: { ...found(), rateHeld: true } }),
      /Conditions: p99&lt;2s, the rate held \(always required/,
    );
  });

  it('calls a search complete only if it came to its end with an answer', () => {
    const page = (/** @type {Partial<SweepFile['find']>} */ given) =>
      renderSweep({
        ...sweepOf([{ settings: { rate: '1' } }]),
        find: { ...found(), ...given },
      });
    assert.match(page({}), /<li class="good">✓ Search: complete, 3 runs/);
    assert.match(page({ stopped: 'time' }), /<li class="bad">✗ Search: stopped at the time limit, resumable, 3 runs/);
    assert.match(page({ limit: 'the generator was the limit' }), /<li class="bad">✗ Search: not found, 3 runs/);
    assert.match(page({ reasons: ['the time limit was reached'] }), /<li>The time limit was reached\.<\/li>/);
  });

  it('mentions the --before-cell command', () =>
    assert.match(
      renderSweep({ ...gridSweep(), beforeCell: '0123456789abcdef' }),
      /--before-cell, a command with SHA-256 0123456789abcdef\.\.\./,
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
    for (const page of pages) assertWhole(page);
  });

  it('links run files with any name', () => {
    assert.match(renderSweep(gridSweep()), /href="\.\/cells\/5_20_1\.json">cells\/5_20_1\.json</);
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

describe('the colours of a grid', () => {
  it('has a step of colour by its place between the least and the greatest', () => {
    assert.deepEqual(colorSteps([10, null, 15, 20]), [0, null, 4, 7]);
    assert.deepEqual(colorSteps([1, 10, 100]), [0, 4, 7], 'by factors, where they are far apart');
    assert.deepEqual(colorSteps([5, 5]), [0, 0]);
  });
});
