/** The page of a run in a real browser: from a file, and while the run goes on. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { latencyTable, overviewTable } from '../../src/outputs/run-tables.js';
import { runPage } from '../../src/report/run-page.js';
import { freePort } from '../helpers/anvil.js';
import { NO_BROWSER, openPage, screenshots } from './browser.js';
import { exited, readJson, spawnStress } from '../helpers/cli.js';
import { longRun } from '../helpers/long-run.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { LOOKS, assertAccessible, assertReadable, figuresOf, pageIn, suiteFolder, tableIn } from './pages.js';

/**
 * @import { RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { Page } from 'playwright-core'
 */

/** The plots of the page: how many points each has, and how many of them say something. @param {Page} page @returns {Promise<Record<string, {points: number, known: number, drawn: boolean}>>} */
function plotsOf(page) {
  return page.evaluate(() => {
    const charts = /** @type {Record<string, any>} */ (Reflect.get(window, '__charts'));
    return Object.fromEntries(
      Object.entries(charts).map(([id, plot]) => {
        const { width, height } = plot.ctx.canvas;
        const pixels = plot.ctx.getImageData(0, 0, width, height).data;
        const known = plot.data
          .slice(1)
          .flat()
          .filter((/** @type {unknown} */ value) => value !== null).length;
        return [
          id,
          { points: plot.data[0].length, known, drawn: pixels.some((/** @type {number} */ part) => part > 0) },
        ];
      }),
    );
  });
}

/** What each plot over time shows. @param {Page} page @returns {Promise<Array<[number, number]>>} */
function rangesOf(page) {
  return page.evaluate(() =>
    Reflect.get(window, '__board').timed.map((/** @type {any} */ { uplot }) => [
      uplot.scales.x.min,
      uplot.scales.x.max,
    ]),
  );
}

/** @param {Array<[number, number]>} ranges */
function common(ranges) {
  assert.ok(ranges.length > 8);
  for (const range of ranges) assert.deepEqual(range, ranges[0], 'all show the same');
  return ranges[0];
}

/** The page has the tables of the summary. @param {Page} page @param {RunFile} run */
async function assertSame(page, run) {
  const figures = await figuresOf(page);
  assert.equal(figures[overviewTable(run).rows[0][0]], overviewTable(run).rows[0][1]);
  for (const { title, columns, rows } of [overviewTable(run), latencyTable(run)]) {
    const lines = columns.length === 0 ? rows : [columns, ...rows];
    assert.deepEqual(
      await tableIn(page, title),
      lines.map((cells) => cells.map((text) => text.trim())),
    );
  }
}

/** The rows of a chart's legend. @param {Page} page @param {string} id */
function legendOf(page, id) {
  return page.$$eval(`#plot-${id} .u-legend tr`, (rows) =>
    rows.map((row) => [...row.children].map((cell) => cell.textContent).join(' ')),
  );
}

describe('the page of a run', { skip: NO_BROWSER }, () => {
  /** @type {{url: string, run: RunFile}} */
  let made;
  const folder = suiteFolder();
  before(async () => {
    const [html, out] = [join(folder, 'report.html'), join(folder, 'run.json')];
    const load = '-t 30 -d 6s --warmup 1s --interval 1s -q'.split(' ');
    await exited(0, [...load, '--html', html, '--out', out]);
    made = { url: String(pathToFileURL(html)), run: readJson(out) };
  });

  it('loads no other page or file, logs no error, and has plots with data', async (t) => {
    const { page, requests, complaints } = await openPage(t, made.url);
    const plots = await plotsOf(page);
    for (const id of ['tps', 'latency', 'heat', 'flight', 'blocks', 'gas', 'cpu', 'delay', 'memory'])
      assert.ok(id in plots, id);
    for (const [id, { points, known, drawn }] of Object.entries(plots)) {
      assert.equal(points, made.run.intervals.length, id);
      if (id !== 'heat') assert.ok(known > 0, id);
      assert.ok(drawn, id);
    }
    await page.screenshot({ path: screenshots(t)('run-light'), fullPage: true });
    assert.deepEqual(requests, [made.url]);
    assert.deepEqual(complaints, []);
  });

  it('has the numbers of the run file', async (t) => {
    const { page } = await openPage(t, made.url);
    await assertSame(page, made.run);
    const tps = await page.evaluate(() => Reflect.get(window, '__charts').tps.data[1]);
    let compared = 0;
    made.run.intervals.forEach(({ phase, startMs, endMs, tps: expected }, i) => {
      // The chart has a point per second; on a busy machine an interval ends some milliseconds late.
      const shift = Math.max(startMs % 1000, endMs % 1000) / 1000;
      if (phase === 'drain' || endMs - startMs < 100 || shift >= 0.1) return;
      compared += 1;
      assert.ok(Math.abs(tps[i] - (expected ?? 0)) <= (0.001 + shift) * (expected ?? 0), `${tps[i]}, ${expected}`);
    });
    assert.ok(compared >= 3, `${compared} intervals are compared`);
    await page.click('#numbers-tps summary');
    // The table is made when it is opened.
    await page.waitForSelector('#numbers-tps tbody tr');
    const rows = await page.locator('#numbers-tps tbody tr').count();
    assert.equal(rows, made.run.intervals.length);
    const ends = await page.$$eval('#numbers-tps tr > :last-child', (cells) =>
      cells.map((cell) => Math.round(cell.getBoundingClientRect().right)),
    );
    assert.equal(new Set(ends).size, 1, 'its columns are below each other');
  });

  it('has axes that show the window, whatever the few operations of the drain took', async (t) => {
    const intervals = made.run.intervals.filter(({ phase }) => phase !== 'drain');
    const last = intervals[intervals.length - 1];
    const slow = { ...last.latency, p99Us: 9e7, maxUs: 9e7 };
    const drain = { ...last, phase: /** @type {const} */ ('drain'), startMs: last.endMs, endMs: last.endMs + 1000 };
    const run = { ...made.run, intervals: [...intervals, { ...drain, latency: slow, inFlight: 0 }] };
    const { page } = await openPage(t, pageIn(t, runPage(run)));
    const tops = await page.evaluate(() =>
      ['over-time', 'latency'].map((id) => Reflect.get(window, '__charts')[id].scales.y.max),
    );
    for (const top of tops) assert.ok(top < 60_000, `${top} ms`);
  });

  it('says at a table or a command that is cut that it scrolls', async (t) => {
    const { page } = await openPage(t, made.url, { viewport: { width: 320, height: 640 } });
    const boxes = await page.$$eval('.scroll, pre', (all) =>
      all
        .filter((box) => box.clientWidth > 0)
        .map((box) => [
          box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight,
          getComputedStyle(box, '::before').content !== 'none',
        ]),
    );
    assert.ok(boxes.some(([isWide]) => isWide));
    for (const [isWide, hasHint] of boxes) assert.equal(hasHint, isWide);
  });

  it('zooms all charts over time at once: with the mouse and with keys', async (t) => {
    const { page } = await openPage(t, made.url);
    const whole = common(await rangesOf(page));
    const plot = page.locator('#plot-tps .u-over');
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 50, { steps: 5 });
    await page.mouse.up();
    const dragged = common(await rangesOf(page));
    const share = (dragged[1] - dragged[0]) / (whole[1] - whole[0]);
    assert.ok(share > 0.2 && share < 0.3, `${dragged} of ${whole}`);
    await plot.dblclick();
    assert.deepEqual(common(await rangesOf(page)), whole);
    await page.mouse.move(0, 0);
    await page.focus('#plot-heat');
    const pressed = async (/** @type {string} */ key) => {
      await page.keyboard.press(key);
      const [min, max] = common(await rangesOf(page));
      return Number(((max - min) / (whole[1] - whole[0])).toFixed(6));
    };
    assert.deepEqual([await pressed('+'), await pressed('+'), await pressed('-')], [0.5, 0.25, 0.5]);
    for (let i = 0; i < made.run.intervals.length; i += 1) await pressed('ArrowRight');
    await pressed('+');
    assert.equal(common(await rangesOf(page))[1], whole[1], 'around the value that is read');
    assert.equal(await pressed('0'), 1);
  });

  it('reads values out with the arrow keys, and in all charts of the same moment', async (t) => {
    const { page } = await openPage(t, made.url);
    await page.focus('#plot-tps');
    await page.keyboard.press('ArrowRight');
    const [moment, ...values] = await legendOf(page, 'tps');
    assert.match(moment, /^interval \d+(\.\d+)? s to \d+(\.\d+)? s$/);
    assert.match(values.join(), /^verified \d+(\.\d+)?\/s$/);
    assert.equal(await page.getAttribute('#plot-tps .u-legend', 'aria-live'), 'polite');
    // An interval may end some milliseconds after the point of the throughput; points are a second apart.
    const secondsIn = (/** @type {string} */ text) => (text.match(/[\d.]+/g) ?? []).map((s) => Math.round(Number(s)));
    for (const id of ['latency', 'cpu', 'heat'])
      assert.deepEqual(secondsIn((await legendOf(page, id))[0]), secondsIn(moment), id);
    assert.match((await legendOf(page, 'heat'))[1], /^latency \d+ of \d+ operations took /);
    await page.focus('#plot-latency');
    assert.equal(await page.getAttribute('#plot-tps .u-legend', 'aria-live'), 'off');
  });

  for (const name of /** @type {const} */ (['dark', 'phone']))
    it(`is readable: ${name}`, (t) => assertReadable(t, made.url, `run-${name}`, LOOKS[name]));

  it('is dark where the system is, also if that changes', async (t) => {
    const background = (/** @type {Page} */ page) =>
      page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const { page } = await openPage(t, made.url, { colorScheme: 'light' });
    assert.equal(await background(page), 'rgb(255, 255, 255)');
    const lightPlot = await page.evaluate(() => Reflect.get(window, '__charts').tps.ctx.canvas.toDataURL());
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(await background(page), 'rgb(20, 23, 26)');
    await page.waitForFunction(
      (light) => Reflect.get(window, '__charts').tps.ctx.canvas.toDataURL() !== light,
      lightPlot,
    );
  });

  it('answers on the first screen, of a phone as well', async (t) => {
    for (const viewport of [
      { width: 1300, height: 900 },
      { width: 390, height: 844 },
    ]) {
      const { page } = await openPage(t, made.url, { viewport });
      const [ends, lines, whole] = await page.evaluate(() => {
        const verdict = /** @type {HTMLElement} */ (document.querySelector('.verdict'));
        const ends = ['.verdict', '.limit', 'dl.small', '#plot-tps', '#plot-latency'].map(
          (name) => document.querySelector(name)?.getBoundingClientRect().bottom ?? Infinity,
        );
        const lines = verdict.clientHeight / parseFloat(getComputedStyle(verdict).lineHeight);
        // On a busy machine the verdict is about the generator, which is then not folded.
        for (const part of document.querySelectorAll('details')) part.open = false;
        return [ends, Math.round(lines), document.documentElement.scrollHeight];
      });
      assert.ok(Math.max(...ends) <= viewport.height, `${viewport.width}: ${ends}`);
      assert.ok(lines <= 2, `${lines} lines`);
      assert.ok(whole <= 3500, `${whole} pixels`);
    }
  });

  it('can be read on paper', async (t) => {
    const { page } = await openPage(t, made.url, { colorScheme: 'dark', viewport: { width: 720, height: 1000 } });
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const look = await page.evaluate(() => ({
      back: getComputedStyle(document.documentElement).backgroundColor,
      hints: [...document.querySelectorAll('.needs-script')].filter(
        (element) => getComputedStyle(element).display !== 'none',
      ).length,
    }));
    assert.deepEqual(look, { back: 'rgb(255, 255, 255)', hints: 0 });
    await page.screenshot({ path: screenshots(t)('run-print'), fullPage: true });
    assert.ok((await page.pdf({ format: 'A4' })).length > 10_000);
  });

  it('has what people need who do not see it, or have no mouse', async (t) => {
    const { page } = await openPage(t, made.url);
    // Languages, landmarks, headings and names of what opens are rules of axe-core.
    const figures = await page.$$eval('figure', (all) =>
      all.map((figure) => [
        document.getElementById(figure.getAttribute('aria-labelledby') ?? '')?.textContent?.trim() ?? '',
        figure.querySelector('figcaption')?.textContent?.trim() ?? '',
        figure.querySelector('.plot')?.getAttribute('aria-label') ?? '',
      ]),
    );
    assert.ok(figures.length > 8);
    for (const [name, says, plot] of figures) assert.ok(name !== '' && /\.$/.test(says) && plot.startsWith(name), name);
    const ids = await page.$$eval('[id]', (all) => all.map(({ id }) => id));
    assert.deepEqual([...new Set(ids)], ids, 'no id twice');
    const reached = new Set();
    for (let i = 0; i < 60; i += 1) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate(() => document.activeElement?.id || document.activeElement?.tagName));
    }
    for (const name of ['plot-tps', 'plot-latency', 'SUMMARY']) assert.ok(reached.has(name), name);
  });

  it('is drawn in less than 2 s of CPU time with 3 million operations in 2,000 intervals', async (t) => {
    const file = join(temporaryFolder(t), 'long.html');
    const text = runPage(longRun({ pattern: made.run }));
    assert.ok(Buffer.byteLength(text) < 2e6, `${Buffer.byteLength(text)} bytes`);
    writeFileSync(file, text);
    const { page, complaints } = await openPage(t, String(pathToFileURL(file)));
    // CPU time of the page, which a busy machine changes little.
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
    await page.reload();
    const plots = await plotsOf(page);
    const { metrics } = await devtools.send('Performance.getMetrics');
    const cpuMs = 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN);
    assert.equal(plots.heat.points, 2000);
    assert.ok(plots.heat.drawn && plots.failures.drawn);
    await page.screenshot({ path: screenshots(t)('run-long'), fullPage: true });
    t.diagnostic(`${Math.round(cpuMs)} ms, ${Buffer.byteLength(text)} bytes`);
    assert.ok(cpuMs < 2000, `${cpuMs} ms`);
    assert.deepEqual(complaints, []);
  });
});

describe('the dashboard', { skip: NO_BROWSER }, () => {
  it('grows while the run goes on, and ends as the run file', async (t) => {
    const port = await freePort();
    const out = join(temporaryFolder(t), 'run.json');
    const load = '-t 20 -d 14s --interval 1s'.split(' ');
    const stress = spawnStress([...load, '--dashboard', String(port), '--out', out]);
    await stress.waitFor(/elapsed/);
    const { page, requests, complaints } = await openPage(t, `http://127.0.0.1:${port}/`);
    const points = () => page.evaluate(() => Reflect.get(window, '__charts')?.tps?.data[0].length ?? 0);
    const more = async (/** @type {number} */ than) => {
      await page.waitForFunction((least) => (Reflect.get(window, '__charts')?.tps?.data[0].length ?? 0) > least, than, {
        timeout: 15_000,
      });
      return points();
    };
    const first = await more(0);
    await more(first + 1);
    const ends = await page.evaluate(() => {
      const { time, timed } = Reflect.get(window, '__board');
      return timed.map((/** @type {any} */ { uplot }) => uplot.scales.x.max - time.to.at(-1));
    });
    for (const end of ends) assert.equal(end, 0, 'all charts show all that is known');
    await page.focus('#plot-tps');
    await page.keyboard.press('+');
    await page.click('#numbers-tps summary');
    await page.focus('#plot-tps');
    await more(first);
    const kept = await page.evaluate(() => ({
      range: Reflect.get(window, '__board').range,
      focused: document.activeElement?.id,
      rows: document.querySelectorAll('#numbers-tps tbody tr').length,
    }));
    assert.notEqual(kept.range, null);
    assert.equal(kept.focused, 'plot-tps');
    assert.ok(kept.rows > first, 'the open table has the new rows');
    await page.screenshot({ path: screenshots(t)('dashboard') });
    await page.waitForSelector('#live.is-over', { timeout: 20_000 });
    const { code, stderr } = await stress.done;
    assert.equal(code, 0, stderr);
    const run = /** @type {RunFile} */ (readJson(out));
    await assertSame(page, run);
    // On a busy machine intervals are longer than a second, the distance of points.
    assert.ok((await points()) >= run.intervals.length);
    assert.match((await page.textContent('.verdict')) ?? '', /audit exact/);
    await page.screenshot({ path: screenshots(t)('dashboard-end'), fullPage: true });
    await assertAccessible(page);
    for (const url of requests) assert.ok(url.startsWith(`http://127.0.0.1:${port}/`), url);
    assert.deepEqual(complaints, []);
  });
});
