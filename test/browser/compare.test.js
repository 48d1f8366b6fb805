import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { renderCompare } from '../../src/report/compare-page.js';
import { compareResult } from '../../src/studies/compare-text.js';
import { compare } from '../../src/studies/compare.js';
import { startAnvil } from '../helpers/anvil.js';
import { NO_BROWSER, openPage, screenshots } from './browser.js';
import { exited, readJson, runStress } from '../helpers/cli.js';
import { sidesOf } from '../laws/studies/runs.js';
import { LOOKS, assertReadable, dataOf, pageIn, suiteFolder, tableIn } from './pages.js';

/** @import { Comparison } from '../../src/contracts/study.d.ts' */

/** A candidate that is a sixth slower. */
function slower() {
  const { base, candidate, options } = sidesOf('ABBAABBAABBAABBA', (side, i) => ({
    tps: (side === 'A' ? 120 : 100) + (i % 3),
    latencyMs: (side === 'A' ? 50 : 60) + (i % 3),
  }));
  return compare(base, candidate, options);
}

describe('the page of a comparison in a browser', { skip: NO_BROWSER, timeout: 120_000 }, () => {
  /** What the command wrote of two runs a side. @type {{comparison: Comparison}} */
  const made = { comparison: /** @type {any} */ (null) };
  const folder = suiteFolder();
  before(async () => {
    const anvil = await startAnvil({ args: ['-b', '0.1'] });
    const files = ['a', 'b', 'c', 'd'].map((name) => join(folder, `${name}.json`));
    for (const file of files) await runStress(['--rpc', anvil.url, '-t', '10', '-d', '1s', '--out', file]);
    await anvil.stop();
    const out = join(folder, 'compare.json');
    const [a, b, c, d] = files;
    await exited(0, ['compare', a, d, '--with', b, c, '--out', out]);
    made.comparison = readJson(out);
  });

  it('loads no other page or file, logs no error, and shows the figures of compare.json', async (t) => {
    const { comparison } = made;
    const url = pageIn(t, renderCompare(comparison));
    const { page, requests, complaints } = await openPage(t, url);
    assert.deepEqual(requests, [url]);
    assert.deepEqual(complaints, []);
    const [, { rows }] = compareResult(comparison).tables;
    const shown = await tableIn(page, 'Changes');
    // The result is the second column of the page, and the last one of the table.
    assert.equal(shown[0][1], 'result');
    assert.deepEqual(
      shown.slice(1).map(([label, , ...others]) => [label, ...others.slice(0, 5)]),
      rows.map((cells) => cells.slice(0, 6)),
    );
    const [, base, candidate] = await dataOf(page, 'density');
    for (const shares of [base, candidate]) {
      const sum = shares.reduce((/** @type {number} */ all, share) => all + (share ?? 0), 0);
      assert.ok(Math.abs(sum - 100) < 0.001, `${sum} %`);
    }
    const [, ...percentiles] = await dataOf(page, 'percentiles');
    percentiles.forEach((values, i) => {
      const { minUs, maxUs } = comparison.distributions[i === 0 ? 'base' : 'candidate'];
      // A side with fewer operations has fewer percentiles.
      const ms = values.filter((value) => value !== null);
      const ascending = [...ms].sort((a, b) => a - b);
      assert.deepEqual(ms, ascending);
      assert.ok(ms[0] >= (minUs ?? 0) / 1001 && (ms.at(-1) ?? 0) <= (maxUs ?? 0) / 999);
    });
    await page.screenshot({ path: screenshots(t)('compare-few'), fullPage: true });
  });

  it('draws each interval where its ends are on the scale', async (t) => {
    const comparison = slower();
    const { page } = await openPage(t, pageIn(t, renderCompare(comparison)));
    for (const { name, change } of comparison.metrics) {
      const row = page.locator(`[data-metric="${name}"]`);
      const [point, line] = await Promise.all([
        row.locator('circle').boundingBox(),
        row.locator('.zero').boundingBox(),
      ]);
      assert.ok(point !== null && line !== null, name);
      const distance = point.x + point.width / 2 - (line.x + line.width / 2);
      const isOnSide = Math.abs(distance) < 1 || Math.sign(distance) === Math.sign(change.estimate);
      assert.ok(isOnSide, `${name}: ${distance} pixels`);
    }
    const [runs, ...sides] = await dataOf(page, 'runs');
    assert.equal(runs.length, 16);
    const [base, candidate] = sides.map((values) => values.filter((value) => value !== null));
    assert.deepEqual(base, comparison.metrics[0].base.values);
    assert.deepEqual(candidate, comparison.metrics[0].candidate.values);
    await page.screenshot({ path: screenshots(t)('compare-light'), fullPage: true });
  });

  for (const name of /** @type {const} */ (['dark', 'phone']))
    it(`is readable: ${name}`, (t) =>
      assertReadable(t, pageIn(t, renderCompare(slower())), `compare-${name}`, LOOKS[name]));

  it('is readable on paper, and without a script', async (t) => {
    const { page } = await openPage(t, pageIn(t, renderCompare(slower())), { javaScriptEnabled: false });
    await page.emulateMedia({ media: 'print' });
    assert.ok(await page.getByText('The candidate is slower than the baseline').isVisible());
    assert.ok(await page.locator('[data-metric="tps"] circle').isVisible());
    assert.ok(await page.getByRole('table').first().isVisible());
    await page.screenshot({ path: screenshots(t)('compare-print'), fullPage: true });
  });
});
