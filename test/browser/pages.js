/** What tests see of a page that is open. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { pathToFileURL } from 'node:url';
import { openPage, screenshots } from '../helpers/browser.js';
import { temporaryFolder } from '../helpers/temporary.js';

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
  const file = join(temporaryFolder(t), 'page.html');
  writeFileSync(file, html);
  return pathToFileURL(file).href;
}

/** @param {Page} page @returns {Promise<Map<string, number[]>>} values of figures by their names */
export async function figuresOf(page) {
  const all = await page.$$eval('[data-figure]', (elements) =>
    elements.map(
      (element) =>
        /** @type {const} */ ([element.getAttribute('data-figure') ?? '', Number(element.getAttribute('data-value'))]),
    ),
  );
  /** @type {Map<string, number[]>} */
  const figures = new Map();
  for (const [name, value] of all) figures.set(name, [...(figures.get(name) ?? []), value]);
  return figures;
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
}
