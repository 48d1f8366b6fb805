/**
 * The picture of a report page in the README, from a real run on the embedded chain (needs Chromium):
 *
 *     npm run picture -- [FILE, default docs/report.png]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const STRESS = fileURLToPath(new URL('../bin/stress.js', import.meta.url));
const file = process.argv[2] ?? fileURLToPath(new URL('../docs/report.png', import.meta.url));
const RUN = ['-t', '200', '-d', '1m', '--warmup', '5s', '--interval', '1s'];

const folder = mkdtempSync(join(tmpdir(), 'stress-picture-'));
try {
  const html = join(folder, 'run.html');
  const { status } = spawnSync(process.execPath, [STRESS, ...RUN, '--html', html], { stdio: 'inherit' });
  if (status !== 0) throw new Error(`the run ended with exit code ${status}`);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 1000 } });
    await page.goto(pathToFileURL(html).href);
    await page.screenshot({ path: file });
  } finally {
    await browser.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
