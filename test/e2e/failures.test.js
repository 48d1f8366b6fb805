/**
 * A revert, a wrong count and a lost transaction are three different failures: each is provoked on the chain
 * in mid-run, is found in the run file under a name of its own, and the audit accounts for it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Transaction } from 'ethers';
import { countOf, pending, startMinedChain } from '../helpers/anvil.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { startOf } from '../helpers/run-of.js';

/** @import { TestContext } from 'node:test' */

/** Answers count() from slot 0 as the Counter does, and reverts whatever else is called. */
const ONLY_COUNT = '0x60003560e01c6306661abd1460145760006000fd5b60005460005260206000f3';

/** @param {number} value */
const word = (value) => `0x${value.toString(16).padStart(64, '0')}`;

/**
 * A run of five wallets on a chain that the test mines, in the middle of its load.
 * @param {TestContext} t
 * @param {string} [words]
 * @param {{hash: string}} [forgotten] the node accepts this transaction and forgets it
 */
async function loadedRun(t, words = '', forgotten = { hash: '' }) {
  const { anvil, miner } = await startMinedChain(t);
  const { url: rpc } = await serve((body) => {
    const { id, method, params } = JSON.parse(body);
    const hash = method === 'eth_sendRawTransaction' ? Transaction.from(params[0]).hash : null;
    const result = JSON.stringify({ jsonrpc: '2.0', id, result: hash });
    return hash === forgotten.hash ? { body: result } : passOn(anvil.url, body);
  });
  const stress = startOf(t, `-v ${words}`, { chain: anvil, rpc, threads: 5 });
  const [, counter] = await stress.waitFor(/^2 (0x\w{40}) 3$/m);
  /** When this wallet has verified once more, the run ends. @param {number} [exit] @param {number} [wallet] */
  const endAfter = async (exit = 143, wallet = 2) => {
    await stress.waitFor(new RegExp(`^${wallet} 0x\\w{40} `, 'm'), 'now');
    stress.child.kill('SIGTERM');
    const result = await stress.end(exit);
    assert.equal(result.run.counts.abandoned, 0);
    return { ...result, ...result.run };
  };
  return { anvil, miner, stress, counter, endAfter };
}

/** @param {any} audit @returns {any[]} what became of operations that did not verify, of wallet 2 */
function resolutionsOf2({ resolutions }) {
  for (const { walletIndex } of resolutions) assert.equal(walletIndex, 2);
  return resolutions;
}

test('reverted: counted by that name, the wallet goes on, the audit is exact', async (t) => {
  const { anvil, stress, counter, endAfter } = await loadedRun(t);
  const code = await anvil.rpc('eth_getCode', [counter, 'latest']);
  await anvil.rpc('anvil_setCode', [counter, ONLY_COUNT]);
  await stress.waitFor(/ +1 {2}reverted 1$/m); // at the end of the line of an interval
  await anvil.rpc('anvil_setCode', [counter, code]);
  const { stdout, failures, counts, audit } = await endAfter();
  assert.deepEqual(Object.keys(failures), ['reverted']);
  assert.deepEqual([counts.failed, counts.timedOut], [failures.reverted, 0]);
  assert.deepEqual([audit.exact, audit.reverted, audit.includedLate], [true, failures.reverted, 0]);
  for (const { code, fate, hash, nonce } of resolutionsOf2(audit)) {
    assert.deepEqual([code, fate], ['reverted', 'reverted']);
    const receipt = await anvil.rpc('eth_getTransactionReceipt', [hash]);
    assert.equal(receipt.status, '0x0', `nonce ${nonce} was reverted on the chain`);
  }
  assert.match(stdout, new RegExp(`^ {2}failed +${counts.failed} +reverted ${counts.failed}$`, 'm'));
});

for (const [what, wrongCount] of /** @type {const} */ ([
  ['too high', 1000],
  // An increment of zero would need more gas than later increments offer.
  ['too low', 1],
]))
  test(`wrong_count: a count that is ${what} is counted by that name, the audit is not exact`, async (t) => {
    const { anvil, miner, stress, counter, endAfter } = await loadedRun(t, '--tx-timeout 1m');
    while ((await countOf(anvil.url, [counter])) < 3) await sleep(20);
    await miner.pause();
    // What was mined has been verified when the next one is in the pool.
    await pending(anvil, 5);
    await anvil.rpc('anvil_setStorageAt', [counter, '0x0', word(wrongCount)]);
    miner.resume();
    await stress.waitFor(/ wrong_count 1$/m);
    const { stdout, stderr, failures, counts, audit } = await endAfter(76, 3); // the other wallets go on
    assert.deepEqual([failures, counts.timedOut], [{ wrong_count: 1 }, 0], 'the wallet is not used any more');
    assert.deepEqual([audit.exact, audit.mismatchCount, audit.foreign], [false, 1, []]);
    const [{ walletIndex, effect, expectedEffect, nonce, expectedNonce, target }] = audit.mismatches;
    assert.deepEqual([walletIndex, target, effect], [2, counter, String(wrongCount + 1)]);
    assert.equal(await countOf(anvil.url, [counter]), wrongCount + 1);
    assert.equal(nonce, expectedNonce, 'every transaction is ours');
    assert.equal(Number(expectedEffect), expectedNonce - 1, 'the first one deployed the counter');
    assert.doesNotMatch(stderr, /not of this run/);
    const [{ code: failure, fate }] = resolutionsOf2(audit);
    assert.deepEqual([failure, fate], ['wrong_count', 'included']);
    assert.match(stdout, /^ {2}failed +1 +wrong_count 1$/m);
    assert.match(stdout, new RegExp(`wallet 2 .*effect ${effect}, expected ${expectedEffect};`));
  });

test('lost: a transaction that the node forgets is neither reverted nor wrong, and its nonce is used again', async (t) => {
  const forgotten = { hash: '' };
  const { anvil, miner, counter, endAfter } = await loadedRun(t, '--tx-timeout 6s', forgotten);
  await miner.pause();
  await pending(anvil, 5);
  const { pending: pool } = await anvil.rpc('txpool_content');
  const [[nonce, lost]] = Object.values(pool)
    .map((byNonce) => Object.entries(/** @type {Record<string, any>} */ (byNonce))[0])
    .filter(([, { to }]) => to.toLowerCase() === counter.toLowerCase());
  forgotten.hash = lost.hash;
  assert.equal(await anvil.rpc('anvil_dropTransaction', [lost.hash]), lost.hash);
  miner.resume();
  const { failures, counts, audit } = await endAfter();
  assert.equal(await anvil.rpc('eth_getTransactionByHash', [lost.hash]), null, 'it is lost for good');
  assert.deepEqual([failures, counts.timedOut], [{ lost: 1 }, 0]);
  const [resolution, ...others] = resolutionsOf2(audit);
  assert.deepEqual([others, resolution.hash, resolution.nonce], [[], lost.hash, Number(nonce)]);
  assert.deepEqual([resolution.outcome, resolution.code, resolution.fate], ['failed', 'lost', 'never_sent']);
  assert.deepEqual([audit.exact, audit.neverSent], [true, 1]);
});

test('timed out: a transaction that is late is not lost, and it counts when it comes', async (t) => {
  const { anvil, miner, stress, endAfter } = await loadedRun(t, '--tx-timeout 2s');
  await miner.pause();
  await pending(anvil, 5);
  // A row waits for the next block. A wallet is retired two seconds after its time-out.
  await sleep(2500);
  miner.resume();
  await stress.waitFor(/ timed_out [1-5]$/m);
  const { stdout, failures, counts, audit, latency } = await endAfter();
  const late = counts.timedOut;
  assert.deepEqual([failures, audit.exact, audit.includedLate], [{}, true, late]);
  assert.ok(late >= 1 && latency.timedOut.minUs >= 1_999_000, `${latency.timedOut.minUs} us`);
  for (const { outcome, code, fate } of audit.resolutions)
    assert.deepEqual([outcome, code, fate], ['timed_out', null, 'included']);
  assert.match(stdout, new RegExp(`^ {2}timed out +${late}$`, 'm'));
  assert.match(stdout, new RegExp(`audit +exact: .* verified \\+ ${late} included late`));
});

test('abandoned: what a chain that stands still leaves open takes at least as long as it was waited for', async (t) => {
  const words = '-d 3s --drain-timeout 1s --threshold max<1500ms --threshold p50<1500ms';
  const { miner, stress } = await loadedRun(t, words);
  await miner.pause();
  // The window and the drain are over.
  await stress.waitFor(/^ +[3-9]\.\d s /m);
  await sleep(8000);
  miner.resume();
  const { stdout, run } = await stress.end(99);
  const { counts, latency, thresholds, audit } = run;
  assert.deepEqual([counts.abandoned, audit.exact, audit.includedLate], [5, true, 5]);
  assert.deepEqual([latency.total.count, latency.censored.count], [counts.verified + 5, 5]);
  assert.ok(latency.censored.minUs >= 1_000_000, `${latency.censored.minUs} us`);
  assert.equal(thresholds[0].passed, false);
  assert.match(stdout, /^ {2}max<1500ms +FAILED +>= [\d,.]+ ms; 5 censored$/m);
});
