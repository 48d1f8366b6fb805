import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { rounded } from '../../src/report/charts.js';
import { startAnvil } from '../helpers/anvil.js';
import { NO_BROWSER, openPage, screenshots } from './browser.js';
import { exited, readJson } from '../helpers/cli.js';
import { dataOf, overflow, suiteFolder, tableIn } from './pages.js';

/** @import { RunFile } from '../../src/contracts/run-file.d.ts' */

/** @param {Array<number | null>} values */
const sum = (values) => values.reduce((/** @type {number} */ all, value) => all + (value ?? 0), 0);

describe('the page of several runs in a browser', { skip: NO_BROWSER, timeout: 120_000 }, () => {
  const folder = suiteFolder();

  it('shows the figures of the run files, draws each, and is readable on a phone', async (t) => {
    const anvil = await startAnvil({ args: ['-b', '0.1'] });
    t.after(() => anvil.stop());
    const threads = { few: '3', many: '10', 'with-a-name-as-long-as-people-who-measure-a-lot-like-them': '6' };
    const files = Object.keys(threads).map((name) => join(folder, `${name}.json`));
    for (const [i, wallets] of Object.values(threads).entries()) {
      const args = ['-t', wallets, '-d', '2s', '--interval', '500ms', '--out', files[i], '-q'];
      await exited(0, ['--rpc', anvil.url, ...args]);
    }
    const html = join(folder, 'runs.html');
    await exited(0, ['report', ...files, '--html', html, '-q']);

    const url = pathToFileURL(html).href;
    const { page, requests, complaints } = await openPage(t, url);
    assert.deepEqual(requests, [url]);
    /** @type {RunFile[]} */
    const runs = files.map((file) => readJson(file));
    const [head, ...shown] = await tableIn(page, 'The runs and their figures');
    runs.forEach(({ counts, exitCode }, i) => {
      const cell = (/** @type {string} */ name) => shown[i][head.indexOf(name)];
      assert.deepEqual(['verified', 'failed', 'exit code', 'file'].map(cell), [
        String(counts.verified),
        '0',
        String(exitCode),
        files[i],
      ]);
    });

    const [, ...rates] = await dataOf(page, 'tps');
    rates.forEach((values, i) => {
      const rows = runs[i].intervals.filter(({ phase }) => phase === 'load');
      const rates = rows.map(({ tps }) => rounded(tps)).filter((value) => value !== null);
      assert.deepEqual(
        values.filter((value) => value !== null),
        rates,
      );
    });
    const [, ...shares] = await dataOf(page, 'density');
    assert.equal(shares.length, 3);
    for (const values of shares) assert.ok(Math.abs(sum(values) - 100) < 0.001, `${sum(values)} %`);
    const [, ...percentiles] = await dataOf(page, 'percentiles');
    percentiles.forEach((values, i) => {
      const ms = values.filter((value) => value !== null);
      assert.ok(ms.length > 5);
      const ascending = [...ms].sort((a, b) => a - b);
      assert.deepEqual(ms, ascending);
      assert.ok((ms.at(-1) ?? 0) <= (runs[i].latency.total.maxUs ?? 0) / 999);
    });
    const shot = screenshots(t);
    await page.screenshot({ path: shot('runs-light'), fullPage: true });
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 320, height: 640 });
    assert.equal(await overflow(page), 0);
    assert.ok(
      await page
        .getByRole('region', { name: 'Table: The runs and their figures' })
        .evaluate((box) => box.scrollWidth > box.clientWidth),
      'the table scrolls in a box of its own',
    );
    await page.screenshot({ path: shot('runs-phone'), fullPage: true });
    assert.deepEqual(complaints, []);
  });
});
