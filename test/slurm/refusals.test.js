/** What Slurm can be told that makes no run, and machines whose clocks differ. */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertMergedExactly, totalCount } from '../helpers/scale-out.js';
import { Site, openLab } from './site.js';

/** Of Debian's package libfaketime, for this kind of machine. */
const FAKETIME = `/usr/lib/${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu/faketime/libfaketime.so.1`;

const lab = openLab();

const CLOCK_MS = 10_000;

/** As near as blocks tell the difference of two clocks. @param {number} actual @param {number} expected @param {string} what */
function assertWithinASecond(actual, expected, what) {
  assert.ok(Math.abs(actual - expected) < 1000, `${actual} ms ${what}, and not ${expected}`);
}

/** Nothing of these wallets is on the chain. @param {Site} site */
async function assertNothingSent(site) {
  const mined = (await site.wallets(4)).filter((wallet) => wallet.mined > 0);
  assert.deepEqual(mined, []);
}

test('a results folder that cannot be written is found before anything is sent', async (t) => {
  const site = new Site(t, lab);
  // Root may write into any folder, but not into a file.
  writeFileSync(join(site.folder, 'results'), '');
  const fund = await site.fund(4);
  const load = await site.submit('array.sbatch', { options: site.after(fund, '--array=0-3'), args: ['-d', '10s'] });
  await site.expect(load, '73:0', '73:0', '73:0', '73:0');
  assert.match(site.log(`stress-${load}-0.log`), /^stress: .*results/m);
  await assertNothingSent(site);
});

const REFUSED = /** @type {const} */ ([
  ['an array that starts at 1', '--array=1-3', [], /^stress: the array has 3 tasks from 1 to 3, /],
  ['an array with gaps', '--array=0-4:2', [], /^stress: .*gaps/],
  ['an array that contradicts --instances', '--array=0-2', ['--instances', '4'], /^stress: --instances 4 contradicts/],
]);
for (const [what, option, more, words] of REFUSED) {
  test(`${what} is refused`, async (t) => {
    const site = new Site(t, lab);
    const load = await site.submit('array.sbatch', { options: [option], args: ['-d', '10s', ...more] });
    await site.expect(load, '64:0', '64:0', '64:0');
    const [, first] = option.split('=');
    assert.match(site.log(`stress-${load}-${first[0]}.log`), words);
    await assertNothingSent(site);
  });
}

/** A module without blanks and quotes, which NODE_OPTIONS would take for its own. */
const OTHER_HOST =
  'data:text/javascript,import%20os%20from%22node:os%22;import{syncBuiltinESMExports}from%22node:module%22;os.hostname=()=>%22other%22;syncBuiltinESMExports()';

test('clocks 10 s apart: the merge sees it, says it, and the common window is that of the load', async (t) => {
  assert.ok(existsSync(FAKETIME), `there is no ${FAKETIME}: apt-get install libfaketime`);
  // Instances of one host have one clock, so that the other clock has another host.
  const fake = `[ "$i" != 1 ] || export NODE_OPTIONS='--import=${OTHER_HOST}' LD_PRELOAD=${FAKETIME} FAKETIME=+10s DONT_FAKE_MONOTONIC=1`;
  const site = new Site(t, lab, fake);
  const fund = await site.fund(4);
  const load = await site.submit('array.sbatch', {
    options: site.after(fund, '--array=0-3'),
    args: ['-d', '15s', '--interval', '1s'],
  });
  const merge = await site.merge(load);
  await site.expect(load, '0:0', '0:0', '0:0', '0:0');
  await site.expect(merge, '0:0');
  const instances = [0, 1, 2, 3].map((index) => site.instance(load, index));
  const { merged, counts } = site.merged();
  assertMergedExactly(site.merged(), instances);
  assert.equal(totalCount(await site.wallets(4)), counts.verified);
  // When the instances really began and ended: the difference of their clocks is known here.
  const windows = instances.map(({ run: { window } }, index) => {
    const fromMs = Date.parse(window.startedAt) - (index === 1 ? CLOCK_MS : 0);
    return { fromMs, toMs: fromMs + window.durationMs };
  });
  const startsMs = windows.map(({ fromMs }) => fromMs);
  const commonMs = Math.min(...windows.map(({ toMs }) => toMs)) - Math.max(...startsMs);
  assertWithinASecond(merged.clockSkewMs, CLOCK_MS, 'between the clocks');
  assertWithinASecond(merged.startSkewMs, Math.max(...startsMs) - Math.min(...startsMs), 'between the starts');
  assertWithinASecond(merged.common.durationMs, commonMs, 'of common window');
  const log = site.log(`stress-merge-${merge}.log`);
  assert.match(log, /their clocks differ by [\d,]{5,6} ms/, log);
  t.diagnostic(log);
});
