/**
 * A revert, a wrong count and a lost transaction are three different failures: each is provoked on the chain
 * in mid-run, is found in the run file under a name of its own, and the audit accounts for it.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil, startMiner } from '../helpers/anvil.js';
import { readJson, startStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

/** Answers count() from slot 0 as the Counter does, and reverts whatever else is called. */
const ONLY_COUNT = '0x60003560e01c6306661abd1460145760006000fd5b60005460005260206000f3';
const COUNT_SLOT = '0x0';
const COUNT_SELECTOR = '0x06661abd';

/** @param {number} value */
function word(value) {
  return `0x${value.toString(16).padStart(64, '0')}`;
}

/**
 * A run of five wallets on a chain that the test mines, in the middle of its load.
 * @param {TestContext} t
 * @param {string[]} [more] arguments
 */
async function loadedRun(t, more = []) {
  const anvil = await startAnvil({ args: ['--no-mining'] });
  const miner = startMiner(anvil);
  t.after(async () => {
    await miner.pause();
    await anvil.stop();
  });
  const out = join(temporaryFolder(t), 'run.json');
  const stress = startStress(['--rpc', anvil.url, '-t', '5', '--interval', '500ms', '-v', '--out', out, ...more]);
  const [, counter] = await stress.waitFor(/^2 (0x\w{40}) 3$/m);
  return { anvil, miner, stress, counter, readRun: () => readJson(out) };
}

/** @param {any} run @returns {any[]} what became of operations that did not verify, of wallet 2 */
function resolutionsOf2(run) {
  assert.ok(run.audit.resolutions.every((/** @type {any} */ { walletIndex }) => walletIndex === 2));
  return run.audit.resolutions;
}

/** @param {any} run */
function assertConserved({ counts }) {
  assert.equal(counts.started, counts.verified + counts.failed + counts.timedOut + counts.abandoned);
}

test('reverted: counted by that name, the wallet goes on, the audit is exact', async (t) => {
  const { anvil, stress, counter, readRun } = await loadedRun(t);
  const code = await anvil.rpc('eth_getCode', [counter, 'latest']);
  await anvil.rpc('anvil_setCode', [counter, ONLY_COUNT]);
  await stress.waitFor(/ +1 {2}reverted 1$/m); // at the end of the line of an interval
  await anvil.rpc('anvil_setCode', [counter, code]);
  await stress.waitFor(new RegExp(`^2 ${counter} `, 'm'), 'now');
  stress.child.kill('SIGTERM');
  const { code: exitCode, stdout, stderr } = await stress.done;
  const run = readRun();

  assert.equal(exitCode, 143, stderr);
  assert.deepEqual(Object.keys(run.failures), ['reverted']);
  assert.equal(run.counts.failed, run.failures.reverted);
  assert.equal(run.counts.timedOut, 0);
  assertConserved(run);
  assert.equal(run.audit.exact, true);
  assert.equal(run.audit.reverted, run.failures.reverted);
  assert.equal(run.audit.includedLate, 0);
  for (const { code, fate, hash, nonce } of resolutionsOf2(run)) {
    assert.deepEqual([code, fate], ['reverted', 'reverted']);
    const receipt = await anvil.rpc('eth_getTransactionReceipt', [hash]);
    assert.equal(receipt.status, '0x0', `nonce ${nonce} was reverted on the chain`);
  }
  assert.match(stdout, new RegExp(`^ {2}failed +${run.counts.failed} +reverted ${run.counts.failed}$`, 'm'));
  assert.match(stdout, /audit +exact/);
});

for (const [what, wrongCount] of /** @type {const} */ ([
  ['too high', 1000],
  ['too low', 0],
])) {
  test(`wrong_count: a count that is ${what} is counted by that name, the audit is not exact`, async (t) => {
    const { anvil, miner, stress, counter, readRun } = await loadedRun(t, ['--tx-timeout', '1m']);
    await miner.pause();
    // What was mined has been verified when the next one is in the pool.
    while (Number((await anvil.rpc('txpool_status')).pending) < 5) await sleep(20);
    await anvil.rpc('anvil_setStorageAt', [counter, COUNT_SLOT, word(wrongCount)]);
    miner.resume();
    await stress.waitFor(/ wrong_count 1$/m);
    await stress.waitFor(/^3 0x\w{40} /m, 'now'); // the other wallets go on
    stress.child.kill('SIGTERM');
    const { code, stdout, stderr } = await stress.done;
    const run = readRun();

    assert.deepEqual(run.failures, { wrong_count: 1 }, 'the wallet is not used any more');
    assert.equal(run.counts.timedOut, 0);
    assertConserved(run);
    assert.equal(code, 76, stderr);
    assert.equal(run.audit.exact, false);
    const [{ walletIndex, effect, expectedEffect, nonce, expectedNonce, target }] = run.audit.mismatches;
    assert.equal(run.audit.mismatchCount, 1);
    assert.equal(walletIndex, 2);
    assert.equal(target, counter);
    assert.equal(effect, String(wrongCount + 1));
    assert.equal(
      Number(await anvil.rpc('eth_call', [{ to: counter, data: COUNT_SELECTOR }, 'latest'])),
      wrongCount + 1,
    );
    assert.equal(nonce, expectedNonce, 'every transaction is ours');
    assert.equal(Number(expectedEffect), expectedNonce - 1, 'the first one deployed the counter');
    assert.deepEqual(run.audit.foreign, []);
    assert.doesNotMatch(stderr, /not of this run/);
    const [{ code: failure, fate }] = resolutionsOf2(run);
    assert.deepEqual([failure, fate], ['wrong_count', 'included']);
    assert.match(stdout, /^ {2}failed +1 +wrong_count 1$/m);
    assert.match(stdout, new RegExp(`wallet 2 .*effect ${effect}, expected ${expectedEffect};`));
  });
}

test('lost: a transaction that the node forgets is neither reverted nor wrong, and its nonce is used again', async (t) => {
  const { anvil, miner, stress, counter, readRun } = await loadedRun(t, ['--tx-timeout', '1500ms']);
  await miner.pause();
  while (Number((await anvil.rpc('txpool_status')).pending) < 5) continue;
  const { pending } = await anvil.rpc('txpool_content');
  const [[nonce, lost]] = Object.values(pending)
    .map((byNonce) => Object.entries(/** @type {Record<string, any>} */ (byNonce))[0])
    .filter(([, { to }]) => to.toLowerCase() === counter.toLowerCase());
  assert.equal(await anvil.rpc('anvil_dropTransaction', [lost.hash]), lost.hash);
  miner.resume();
  const next = Number(nonce); // the deployment had nonce 0, so the count after this one is its nonce
  await stress.waitFor(new RegExp(`^2 ${counter} ${next + 1}$`, 'm'));
  stress.child.kill('SIGTERM');
  const { code, stdout, stderr } = await stress.done;
  const run = readRun();

  assert.equal(code, 143, stderr);
  assert.equal(await anvil.rpc('eth_getTransactionByHash', [lost.hash]), null, 'it is lost for good');
  assert.deepEqual(run.failures, { lost: 1 });
  assert.equal(run.counts.timedOut, 0);
  assertConserved(run);
  const [resolution, ...others] = resolutionsOf2(run);
  assert.deepEqual(others, []);
  assert.equal(resolution.hash, lost.hash);
  assert.equal(resolution.nonce, next);
  assert.deepEqual([resolution.outcome, resolution.code, resolution.fate], ['failed', 'lost', 'never_sent']);
  assert.equal(run.audit.exact, true);
  assert.equal(run.audit.neverSent, 1);
  assert.match(stdout, /audit +exact/);
});

test('timed out: a transaction that is late is not lost, and it counts when it comes', async (t) => {
  const { miner, stress, counter, readRun } = await loadedRun(t, ['--tx-timeout', '1s']);
  await miner.pause();
  await stress.waitFor(/ timed_out [1-5]$/m);
  miner.resume();
  await stress.waitFor(new RegExp(`^2 ${counter} `, 'm'), 'now');
  stress.child.kill('SIGTERM');
  const { code, stdout, stderr } = await stress.done;
  const run = readRun();

  assert.equal(code, 143, stderr);
  assert.deepEqual(run.failures, {});
  const late = run.counts.timedOut;
  assert.ok(late >= 1 && late <= 5);
  assertConserved(run);
  assert.equal(run.audit.exact, true);
  assert.equal(run.audit.includedLate, late);
  for (const { outcome, code, fate } of run.audit.resolutions) {
    assert.deepEqual([outcome, code, fate], ['timed_out', null, 'included']);
  }
  assert.match(stdout, new RegExp(`^ {2}timed out +${late}$`, 'm'));
  assert.match(stdout, new RegExp(`audit +exact: .* verified \\+ ${late} included late`));
});

test('abandoned: what a chain that stands still leaves open takes at least as long as it was waited for', async (t) => {
  const more = ['-d', '4s', '--drain-timeout', '1s', '--threshold', 'max<2s', '--threshold', 'p50<2s'];
  const { miner, stress, readRun } = await loadedRun(t, more);
  await miner.pause();
  // The window and the drain are over.
  await stress.waitFor(/^ +4\.0 s /m);
  await sleep(1500);
  miner.resume();
  const { code, stdout, stderr } = await stress.done;
  assert.equal(code, 99, stderr);
  const run = readRun();
  assertConserved(run);
  const { counts, latency, thresholds, audit } = run;
  assert.deepEqual([counts.abandoned, audit.exact, audit.includedLate], [5, true, 5]);
  assert.deepEqual([latency.total.count, latency.censored.count], [counts.verified + 5, 5]);
  assert.ok(latency.censored.minUs >= 2_000_000, `${latency.censored.minUs} us`);
  assert.deepEqual(
    thresholds.map((/** @type {any} */ { passed }) => passed),
    [false, true],
  );
  assert.match(stdout, /^ {2}max<2s +FAILED +>= \d,\d{3}\.?\d* ms; 5 censored$/m);
});
