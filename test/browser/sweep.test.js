import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { renderSweep } from '../../src/report/sweep-page.js';
import { sweepResult } from '../../src/studies/sweep-text.js';
import { startAnvil } from '../helpers/anvil.js';
import { NO_BROWSER, openPage, screenshots } from '../helpers/browser.js';
import { readJson, runStress } from '../helpers/cli.js';
import { sweepOf } from '../helpers/sweep-file.js';
import { LOOKS, assertReadable, dataOf, pageIn, suiteFolder, tableIn } from './pages.js';

/** @import { SweepFile } from '../../src/types.d.ts' */

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
    for (const { title, head, rows } of sweepResult(made.grid).tables)
      assert.deepEqual(
        await tableIn(page, title),
        [head, ...rows].map((cells) => cells.map((text) => text.trim())),
      );
    await page.screenshot({ path: screenshots(t)('sweep-light'), fullPage: true });
  });

  it('draws what sweep.json has, throughput beside what was asked', async (t) => {
    const { page } = await openPage(t, made.page);
    const [asked, few, many, all] = await dataOf(page, 'throughput');
    assert.deepEqual(
      [asked, all],
      [
        [0, 1],
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
      words: 'the highest rate for which p99<2s holds is 101 per second',
      trials,
    };
    const sweep = { ...sweepOf([{ settings: { rate: '1' } }]), axes: [], cells: [], find };
    const { page, complaints } = await openPage(t, pageIn(t, renderSweep(sweep)));
    assert.deepEqual(complaints, []);
    const [runs, holds, fails, answer] = await dataOf(page, 'find');
    assert.deepEqual(runs, [1, 2, 3, 4, 5, 6]);
    assert.deepEqual(holds, [80, null, 95, null, 98, null]);
    assert.deepEqual(fails, [null, 120, null, 105, null, null]);
    assert.deepEqual(answer, [null, null, null, null, null, 101]);
    await page.screenshot({ path: screenshots(t)('find'), fullPage: true });
  });
});
