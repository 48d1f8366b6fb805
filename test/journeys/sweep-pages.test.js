/** The pages of sweeps and searches, as stress report makes them of their files. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { equalBy } from '../helpers/equal-by.js';
import { assertGoldenPage } from '../golden/assert-golden.js';
import { readBy, reportPage } from '../helpers/reports.js';
import { sweepOf } from '../helpers/sweep-file.js';
import { HOSTILE, assertHarmless, assertWhole, chartsOf, tableOf } from '../helpers/pages.js';

/** @import { SweepFile } from '../../src/contracts/study.d.ts' */

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

/** A search with three runs. */
function searchSweep() {
  const cells = [
    ['80', 80, 1e5],
    ['92', 91, 2e5],
    ['110', 96, 9e5],
  ].map(([rate, tps, us]) => ({ settings: { rate: String(rate) }, metrics: metrics([Number(tps)], [Number(us)]) }));
  const sweep = sweepOf(cells, { axes: [], find: { ...found(), rateHeld: true } });
  for (const { settings, runs } of sweep.cells) runs[0].file = `find/${settings.rate}.json`;
  return sweep;
}

describe('the page of a sweep', () => {
  for (const [name, sweep] of Object.entries({ grid: gridSweep(), line: lineSweep(), search: searchSweep() }))
    it(`is that which is kept: ${name}`, async (t) => assertGoldenPage(`sweep-${name}`, await reportPage(t, sweep)));

  it('draws values where they are on their scale, and joins no names by a line', async (t) => {
    const sweepAlong = async (/** @type {string} */ name, /** @type {string[]} */ values) =>
      chartsOf(
        await reportPage(
          t,
          sweepOf(values.map((value, i) => ({ settings: { [name]: value }, metrics: metrics([10 + i], [1e5]) }))),
        ),
      );
    const numbers = await sweepAlong('threads', ['50', '10', '200']);
    assert.deepEqual([numbers.throughput.x, numbers.throughput.isLogX], [[10, 50, 200], true]);
    equalBy([numbers.throughput, numbers['path-avg-p99']], ({ kind }) => kind, ['lines', 'path']);
    const names = await sweepAlong('transport', ['undici', 'tcp']);
    for (const { kind, series } of Object.values(names)) {
      assert.equal(kind, 'points');
      assert.ok(series.length > 0 && series.every(({ dash }) => dash === undefined));
    }
    equalBy(names.throughput.xTicks ?? [], ([, text]) => text, ['undici', 'tcp']);
  });

  it('has a chart for each combination of what three axes leave over, and the table', async (t) => {
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
    const page = await reportPage(t, sweep);
    const charts = chartsOf(page);
    assert.deepEqual(Object.keys(charts), ['throughput-1', 'throughput-2']);
    assert.match(charts['throughput-2'].title, /: connections=2$/);
    equalBy(charts['throughput-2'].series, ({ label }) => label, ['transport=a', 'transport=b']);
    assert.equal(tableOf(page, 'All cells').length, 9);
    assert.doesNotMatch(page, /id="grid"/);
  });

  it('calls a search complete only if it came to its end with an answer', async (t) => {
    const page = (/** @type {Partial<SweepFile['find']>} */ given) =>
      reportPage(t, {
        ...sweepOf([{ settings: { rate: '1' } }]),
        find: { ...found(), ...given },
      });
    assert.match(await page({}), /<li class="good">✓ Search: complete, 3 runs/);
    assert.match(
      await page({ stopped: 'time' }),
      /<li class="bad">✗ Search: stopped at the time limit, resumable, 3 runs/,
    );
    const answered = await page({ stopped: 'time', done: true });
    assert.match(answered, /<li class="plain">Search: stopped at the time limit, resumable, 3 runs/);
    assert.match(await page({ stopped: 'time', done: false }), /<li class="bad">✗ Search: not done/);
    assert.match(await page({ limit: 'the generator was the limit' }), /<li class="bad">✗ Search: not found, 3 runs/);
    assert.match(await page({ reasons: ['the time limit was reached'] }), /<li>The time limit was reached\.<\/li>/);
  });

  it('mentions the --before-cell command', async (t) =>
    assert.match(
      await reportPage(t, { ...gridSweep(), beforeCell: '0123456789abcdef' }),
      /--before-cell, a command with SHA-256 0123456789abcdef\.\.\./,
    ));

  it('is a good page of a search that has only begun, and of a sweep in which nothing was measured', async (t) => {
    const empty = sweepOf([{ settings: { rate: '1' } }, { settings: { rate: '2' } }]);
    const begun = { ...found(), estimate: null, low: null, high: null, words: '', trials: [] };
    const pages = [
      await reportPage(t, empty),
      await reportPage(t, { ...empty, end: 'running', endedAt: null, cells: [], axes: [], find: begun }),
      await reportPage(t, {
        ...empty,
        end: 'running',
        cells: empty.cells.map((cell) => ({ ...cell, runs: [], metrics: {} })),
      }),
    ];
    assert.match(pages[0], /Nothing was measured/);
    assert.match(pages[1], /The search has not ended/);
    for (const page of pages) assertWhole(page);
  });

  it('links run files with any name, seen from the folder of the page', async (t) => {
    const sweep = gridSweep();
    const names = ['javascript:alert(1)', '//evil.example/x"'];
    names.forEach((file, i) => (sweep.cells[i].runs[0].file = file));
    const page = await reportPage(t, sweep);
    assert.match(page, /href="\.\/cells\/20_20_1\.json">cells\/20_20_1\.json</);
    for (const link of ['"./javascript%3Aalert(1)"', '"./evil.example/x%22"'])
      assert.ok(page.includes(`href=${link}`), link);
    const { read } = await readBy(t, ['report', '--html', 'page.html'], { 'kept here/sweep': sweep });
    assert.match(read('page.html'), /href="\.\/kept%20here\/cells\/20_20_1\.json"/);
  });

  it('escapes texts of files everywhere', async (t) => {
    const sweep = sweepOf(
      [
        {
          settings: { [HOSTILE]: HOSTILE, rate: HOSTILE },
          metrics: { ...metrics([1], [1]), [HOSTILE]: [1] },
          why: HOSTILE,
        },
      ],
      {
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
    assertHarmless(await reportPage(t, sweep));
  });
});

describe('the colours of a grid', () => {
  /** @type {Array<[string, Array<number | null>, Array<string>]>} */
  const rows = [
    ['by its place between the least and the greatest', [10, null, 15, 20], ['0', 'none', '4', '7']],
    ['by factors, where they are far apart', [1, 10, 100, 1], ['0', '4', '7', '0']],
    ['the first where all are the same', [5, 5, 5, 5], ['0', '0', '0', '0']],
  ];
  for (const [how, values, steps] of rows)
    it(`a cell has a step of colour ${how}`, async (t) => {
      const cells = values.map((value, i) => ({
        settings: { threads: `${1 + Math.floor(i / 2)}`, rate: `${1 + (i % 2)}` },
        metrics: { ...metrics([10], [1e5]), tps: [value] },
      }));
      const [, grid] = (await reportPage(t, sweepOf(cells))).split('aria-label="Table: TPS"');
      const found = grid.split('</table>')[0].match(/(?<=heat-)\w+/g);
      assert.deepEqual(found, steps);
    });
});
