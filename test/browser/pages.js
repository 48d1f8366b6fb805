/** What tests see of a page that is open. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import { openPage, screenshots } from './browser.js';
import { temporaryFile } from '../helpers/temporary.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { Page } from 'playwright-core'
 */

/** Called where a suite is described. @returns {string} an empty folder that goes when the suite ends */
export function suiteFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'stress-pages-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** @param {TestContext} t @param {string} html @returns {string} its URL as a file */
export function pageIn(t, html) {
  const file = temporaryFile(t, 'page.html', html);
  return pathToFileURL(file).href;
}

/** @param {Page} page @returns {Promise<Record<string, string>>} the figures at its top, by their labels */
export function figuresOf(page) {
  return page.$$eval('dl.figures > div', (tiles) =>
    Object.fromEntries(tiles.map((tile) => [...tile.children].slice(0, 2).map((one) => one.textContent ?? ''))),
  );
}

/** @param {Page} page @param {string} title @returns {Promise<string[][]>} the rows of a table, the head first */
export function tableIn(page, title) {
  const rows = page.getByRole('region', { name: `Table: ${title}`, exact: true, includeHidden: true }).locator('tr');
  return rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent?.trim() ?? '')));
}

/** @param {Page} page @param {string} id of a chart @returns {Promise<Array<Array<number | null>>>} what is drawn: x, then each series */
export function dataOf(page, id) {
  return page.evaluate(
    (name) => /** @type {any} */ (globalThis).__charts[name].data.map((/** @type {number[]} */ list) => [...list]),
    id,
  );
}

/** @param {Page} page @returns {Promise<number>} by how many pixels it is wider than the window */
export function overflow(page) {
  return page.locator('html').evaluate((root) => root.scrollWidth - root.clientWidth);
}

/** axe-core finds nothing, with all sections of the page open. @param {Page} page */
export async function assertAccessible(page) {
  await page.$$eval('details', (all) => all.forEach((one) => one.toggleAttribute('open', true)));
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => /** @type {any} */ (globalThis).axe.run());
  const found = violations.map(
    (/** @type {any} */ { id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary}`,
  );
  assert.deepEqual(found, []);
}

export const LOOKS = {
  dark: { colorScheme: /** @type {const} */ ('dark') },
  phone: { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2 },
};

/** @param {TestContext} t @param {string} url @param {string} name of the screenshot @param {Parameters<typeof openPage>[2]} look */
export async function assertReadable(t, url, name, look) {
  const { page, complaints } = await openPage(t, url, look);
  assert.equal(await overflow(page), 0);
  assert.deepEqual(complaints, []);
  await page.screenshot({ path: screenshots(t)(name), fullPage: true });
  await assertAccessible(page);
}
