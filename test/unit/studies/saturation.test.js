import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findSaturation } from '../../../src/studies/sweep-text.js';

/** @import { Point } from '../../../src/studies/sweep-text.js' */

/** @param {Record<string, string>} settings @param {Partial<Point>} figures @returns {Point} */
function point(settings, figures) {
  const tps = figures.tps ?? null;
  return { settings, asked: null, tps, achieved: tps, avgUs: 100_000, isFallingBehind: false, ...figures };
}

/** @param {Point[]} points @param {string[]} names of axes */
function judged(points, names) {
  const axes = names.map((name) => ({ name, values: [...new Set(points.map(({ settings }) => settings[name]))] }));
  const { reasons, saturation } = findSaturation(points, axes);
  return { marked: points.map((one) => reasons.has(one)), reasons: [...reasons.values()], saturation };
}

describe('findSaturation(): a rate was asked for', () => {
  /** @param {number[]} achieved at 100, 200, 300 per second */
  const rates = (achieved) =>
    achieved.map((tps, i) => point({ rate: String(100 * (i + 1)) }, { asked: 100 * (i + 1), tps }));

  it('marks cells more than 10 % below the asked rate, with the shortfall', () => {
    const { marked, saturation } = judged(rates([100, 195, 210]), ['rate']);
    assert.deepEqual(marked, [false, false, true]);
    assert.deepEqual(saturation, [
      {
        along: 'rate',
        at: {},
        settings: { rate: '300' },
        words: 'saturated from rate=300 on: 210 of 300 asked per second were verified, 30 % short',
      },
    ]);
  });

  it('reports saturation that higher loads do not confirm as possible noise', () => {
    const once = judged(rates([80, 200, 300]), ['rate']);
    assert.deepEqual(once.marked, [true, false, false]);
    assert.equal(once.saturation[0].settings, null);
    assert.match(
      once.saturation[0].words,
      /^saturated at rate=100, but not above: repeat \(--repeat\) to tell noise from it \(80 of 100 asked .* 20 % short\)$/,
    );
    const twice = judged(rates([80, 200, 200, 100]), ['rate']);
    assert.deepEqual(twice.saturation[0].settings, { rate: '300' });
    assert.match(
      twice.saturation[0].words,
      /^saturated from rate=300 on and at rate=100, but not between: repeat \(--repeat\) to tell noise from it: 200 of 300 /,
    );
  });

  it('does not mark exactly a tenth', () =>
    assert.deepEqual(judged(rates([100, 180, 270]), ['rate']).marked, [false, false, false]));

  it('reports the highest load without saturation', () =>
    assert.equal(judged(rates([100, 200, 300]), ['rate']).saturation[0].words, 'not saturated up to rate=300'));

  it('does not take what ends after the window for a shortfall, unless latency grows', () => {
    const late = { asked: 100, tps: 80, achieved: 100 };
    const calm = point({ rate: '100' }, late);
    const growing = point({ rate: '200' }, { ...late, asked: 100, isFallingBehind: true });
    assert.deepEqual(judged([calm, growing], ['rate']).marked, [false, true]);
  });

  it('finds the diagonal of a grid in which each connection is asked for the rate', () => {
    // The figures of CometBFT's own table, over 89 seconds.
    const table = {
      25: [2225, 4450, 8900],
      50: [4450, 8900, 17800],
      100: [8900, 17800, 35600],
      200: [17800, 35600, 38660],
    };
    const points = Object.entries(table).flatMap(([rate, verified]) =>
      [1, 2, 4].map((connections, i) =>
        point({ rate, connections: String(connections) }, { asked: Number(rate) * connections, tps: verified[i] / 89 }),
      ),
    );
    const { saturation, reasons } = judged(points, ['rate', 'connections']);
    assert.deepEqual(
      saturation.map(({ at, settings }) => [at, settings?.rate ?? null]),
      [
        [{ connections: '1' }, null],
        [{ connections: '2' }, null],
        [{ connections: '4' }, '200'],
      ],
    );
    assert.match(reasons[0], /434\.4 of 800 asked per second were verified, 46 % short/);
  });

  it('finds no saturation along wallets with a fixed rate', () => {
    const points = [point({ threads: '1' }, { asked: 100, tps: 10 }), point({ threads: '9' }, { asked: 100, tps: 90 })];
    assert.deepEqual(judged(points, ['threads']), { marked: [false, false], reasons: [], saturation: [] });
  });
});

describe('findSaturation(): as fast as the wallets allow', () => {
  /** @param {Array<[threads: number, tps: number, avgMs: number]>} rows */
  const wallets = (rows) =>
    rows.map(([threads, tps, avgMs]) => point({ threads: String(threads) }, { tps, avgUs: avgMs * 1000 }));

  it('marks the first that is no faster, while latency grows', () => {
    const { marked, reasons, saturation } = judged(
      wallets([
        [10, 100, 100],
        [40, 390, 102],
        [100, 400, 250],
        [200, 380, 520],
      ]),
      ['threads'],
    );
    assert.deepEqual(marked, [false, false, true, true]);
    assert.equal(reasons[0], '400 TPS are 2.6 % more than at threads=40, while the mean latency grew by 145 %');
    assert.match(reasons[1], /^380 TPS are 5\.0 % less than at threads=100/);
    assert.deepEqual(saturation[0].settings, { threads: '100' });
  });

  it('does not mark equal throughput without growing latency', () =>
    assert.deepEqual(judged(wallets([[10, 100, 100], [20, 101, 101]]), ['threads']).marked, [false, false])); // prettier-ignore

  it('marks a collapse, of which there is no latency', () => {
    const points = wallets([[10, 100, 100], [40, 390, 102], [100, 0, 0]]); // prettier-ignore
    points[2].avgUs = null;
    const { marked, saturation } = judged(points, ['threads']);
    assert.deepEqual(marked, [false, false, true]);
    assert.equal(
      saturation[0].words,
      'saturated from threads=100 on: nothing was verified, after 390 TPS at threads=40',
    );
    assert.deepEqual(judged([point({ threads: '1' }, { tps: 0, avgUs: null }), ...points], ['threads']).marked, [
      ...[false, false, false, true],
    ]);
  });

  it('does not mark what has hardly more load', () =>
    assert.deepEqual(judged(wallets([[100, 100, 100], [105, 101, 120]]), ['threads']).marked, [false, false])); // prettier-ignore

  it('sorts values by size, not by their order on the command line', () =>
    assert.deepEqual(judged(wallets([[100, 101, 200], [10, 100, 100]]), ['threads']).marked, [true, false])); // prettier-ignore

  it('judges each line of a grid by itself', () => {
    const points = ['undici', 'tcp'].flatMap((transport) =>
      [10, 100].map((threads) =>
        point(
          { threads: String(threads), transport },
          { tps: threads === 10 ? 100 : transport === 'tcp' ? 900 : 100, avgUs: threads },
        ),
      ),
    );
    const { saturation } = judged(points, ['threads', 'transport']);
    assert.deepEqual(
      saturation.map(({ at, settings }) => [at.transport, settings]),
      [
        ['undici', { threads: '100', transport: 'undici' }],
        ['tcp', null],
      ],
    );
  });

  it('finds nothing without an option that raises the load', () =>
    assert.deepEqual(judged([point({ transport: 'tcp' }, { tps: 1 })], ['transport']).saturation, []));
});
