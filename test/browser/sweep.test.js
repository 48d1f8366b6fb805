import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { renderSweep } from '../../src/report/sweep-page.js';
import { sweepResult } from '../../src/studies/sweep-text.js';
import { startAnvil } from '../helpers/anvil.js';
import { NO_BROWSER, openPage, screenshots } from './browser.js';
import { readJson, runStress } from '../helpers/cli.js';
import { equalBy } from '../helpers/equal-by.js';
import { sweepOf } from '../helpers/sweep-file.js';
import { LOOKS, assertAccessible, assertReadable, dataOf, pageIn, suiteFolder, tableIn } from './pages.js';

/** @import { SweepFile } from '../../src/contracts/study.d.ts' */

/** Of two wallets that can do some ten per second each, and of many. */
const GRID = ['--threads', '2,20', '--rate', '20,100', '-d', '1s', '--repeat', '2', '--rest', '0s'];

describe('the page of a sweep in a browser', { skip: NO_BROWSER, timeout: 180_000 }, () => {
  /** @type {{grid: SweepFile, page: string}} */
  const made = { grid: /** @type {any} */ (null), page: '' };
  const folder = suiteFolder();
  before(async () => {
    const anvil = await startAnvil({ args: ['-b', '0.1', '-a', '20'] });
    const args = ['sweep', '--rpc', anvil.url, ...GRID, '--dir', join(folder, 'grid')];
    const { code, stderr, stdout } = await runStress(args, { timeoutMs: 150_000 });
    await anvil.stop();
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    made.grid = readJson(join(folder, 'grid', 'sweep.json'));
    made.page = pathToFileURL(join(folder, 'sweep.html')).href;
    writeFileSync(join(folder, 'sweep.html'), renderSweep(made.grid, { folder: 'grid' }));
  });

  it('loads no other page or file, logs no error, and shows the figures of sweep.json', async (t) => {
    const { page, requests, complaints } = await openPage(t, made.page);
    assert.deepEqual(requests, [made.page]);
    assert.deepEqual(complaints, []);
    for (const { title, columns, rows } of sweepResult(made.grid).tables)
      assert.deepEqual(
        await tableIn(page, title),
        [columns, ...rows].map((cells) => cells.map((text) => text.trim())),
      );
    await page.screenshot({ path: screenshots(t)('sweep-light'), fullPage: true });
  });

  it('draws what sweep.json has, throughput beside what was asked', async (t) => {
    const { page } = await openPage(t, made.page);
    const [asked, few, many, all] = await dataOf(page, 'throughput');
    assert.deepEqual(
      [asked, all],
      [
        [20, 100],
        [20, 100],
      ],
    );
    const tps = made.grid.cells.map(({ metrics }) =>
      metrics.tps.reduce((sum, value) => (sum ?? 0) + (value ?? 0) / 2, 0),
    );
    [...few, ...many].forEach((value, i) =>
      assert.ok(Math.abs(Number(value) - Number(tps[i])) < 0.01 * Number(tps[i])),
    );
    const [throughputs, ...latencies] = await dataOf(page, 'path-p99');
    assert.equal(throughputs.length, 4, 'a column for each point');
    assert.ok(throughputs.every((_, i) => latencies.filter((values) => Number(values[i]) > 0).length === 1));
  });

  it('links to run files that are there', async (t) => {
    const { page } = await openPage(t, made.page);
    const links = page.getByRole('link', { name: /^cells\// });
    assert.equal(await links.count(), 8);
    const href = (await links.first().getAttribute('href')) ?? '';
    const run = await page.context().newPage();
    const answer = await run.goto(new URL(href, made.page).href);
    assert.equal(JSON.parse((await answer?.text()) ?? '').schema, 'evm-stress/run@1');
  });

  it('reads its points to the keyboard, and names the load of a point', async (t) => {
    const { page } = await openPage(t, made.page);
    await page.locator('#plot-path-avg').focus();
    await page.keyboard.press('ArrowRight');
    const legend = page.locator('#plot-path-avg .u-legend');
    assert.match((await legend.textContent()) ?? '', /^verified per second[\d.]+, at (20|100)threads=/);
    assert.match((await legend.textContent()) ?? '', /[\d.]+ ms \([\d.]+ ms to [\d.]+ ms\)/);
  });

  for (const name of /** @type {const} */ (['dark', 'phone']))
    it(`is readable: ${name}`, (t) => assertReadable(t, made.page, `sweep-${name}`, LOOKS[name]));

  it('is readable on paper, all cells of it', async (t) => {
    const { page } = await openPage(t, made.page);
    await page.emulateMedia({ media: 'print' });
    assert.equal(
      await page
        .getByRole('region', { name: 'Table: Runs', exact: true })
        .evaluate((box) => box.scrollHeight - box.clientHeight),
      0,
    );
    assert.ok((await page.pdf({ format: 'A4' })).length > 10_000);
  });

  it('shows a search: its runs, and the answer with its interval', async (t) => {
    const trials = [80, 120, 95, 105, 98].map((value, i) => ({
      value,
      holds: value < 100,
      failed: value < 100 ? [] : ['p99<2s: 2.3 s'],
      file: `find/00${i}.json`,
      startedAt: '2026-01-01T00:00:00.000Z',
    }));
    const find = {
      name: 'rate',
      until: ['p99<2s'],
      estimate: 101,
      low: 96,
      high: 104,
      confidence: 0.95,
      sharp: true,
      words: 'Holds 101 op/s (95 % interval 96 to 104). Limit: the node fell behind.',
      trials,
    };
    const cells = trials.map(({ value, file }) => {
      const metrics = { tps: [Math.min(value, 101)], p50: [1e5], p99: [value < 100 ? 2e5 : 3e6] };
      const [cell] = sweepOf([{ settings: { rate: String(value) }, metrics }]).cells;
      return { ...cell, runs: cell.runs.map((run) => ({ ...run, file })) };
    });
    const sweep = { ...sweepOf([{ settings: { rate: '1' } }]), axes: [], cells, find };
    const { page, complaints } = await openPage(t, pageIn(t, renderSweep(sweep)));
    assert.deepEqual(complaints, []);
    const [rates, held, failed, asked] = await dataOf(page, 'find-throughput');
    const at = (/** @type {Array<number | null>} */ values) =>
      values.flatMap((value, i) => (value === null ? [] : [[rates[i], value]]));
    assert.deepEqual(
      at(held),
      [80, 95, 98].map((rate) => [rate, rate]),
    );
    assert.deepEqual(
      at(failed),
      [105, 120].map((rate) => [rate, 101]),
    );
    assert.deepEqual(
      at(asked),
      [80, 95, 98, 105, 120].map((rate) => [rate, rate]),
    );
    const [, , , slow, slower] = await dataOf(page, 'find-latency');
    equalBy([slow, slower], (values) => at(values).length, [3, 2]);
    // The band of the interval is behind the points.
    const band = await page.evaluate(() => /** @type {any} */ (globalThis).__board.plots[0].chart.band);
    assert.deepEqual(band, { low: 96, at: 101, high: 104 });
    await page.screenshot({ path: screenshots(t)('find'), fullPage: true });
    await assertAccessible(page);
  });
});
