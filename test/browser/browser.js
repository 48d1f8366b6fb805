/** Debian's Chromium, driven by playwright-core: one for a test file, which ends with it. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { chromium } from 'playwright-core';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { Browser, BrowserContextOptions, Page } from 'playwright-core'
 */

/**
 * @typedef {object} OpenPage
 * @property {Page} page
 * @property {string[]} requests URLs of everything that was asked for, the page itself included
 * @property {string[]} complaints what stood in the console as an error or a warning, and uncaught exceptions
 */

const EXECUTABLES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Where there is none, the reason to skip a test. */
export const NO_BROWSER = executable() === undefined ? 'no Chromium: apt-get install chromium, or set CHROMIUM' : false;

function executable() {
  return [process.env.CHROMIUM, ...EXECUTABLES].find((file) => file !== undefined && existsSync(file));
}

/** @type {{started: Promise<Browser> | null}} */
const shared = { started: null };
after(async () => (await shared.started)?.close());

/**
 * @param {TestContext} t
 * @param {string} url
 * @param {BrowserContextOptions} [options]
 * @returns {Promise<OpenPage>}
 */
export async function openPage(t, url, options = {}) {
  // A container has no place for Chromium's own sandbox.
  shared.started ??= chromium.launch({ executablePath: executable(), args: ['--no-sandbox', '--disable-gpu'] });
  const browser = await shared.started;
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  t.after(() => context.close());
  const page = await context.newPage();
  /** @type {string[]} */
  const requests = [];
  /** @type {string[]} */
  const complaints = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, requests, complaints };
}

/** Where a person can look at what a test saw. @param {TestContext} t @returns {(name: string) => string} */
export function screenshots(t) {
  const folder = process.env.STRESS_SCREENSHOTS ?? temporaryFolder(t);
  mkdirSync(folder, { recursive: true });
  return (name) => join(folder, `${name}.png`);
}
