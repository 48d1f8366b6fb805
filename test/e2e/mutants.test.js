/**
 * The two laws can fail: conservation when a sample is counted wrongly, the audit when the chain has more than
 * we say. One copy of the program has mistakes in its recorder; wallet 103 is the victim.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pending, startMinedChain } from '../helpers/anvil.js';
import { DEV_WALLETS } from '../helpers/dev-wallets.js';
import { mutant } from '../helpers/mutant.js';
import { runOf, startOf } from '../helpers/run-of.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { TransactionRequest } from 'ethers'
 * @import { TestContext } from 'node:test'
 */

const VICTIM = 103;
const OF_VICTIM = "sample.outcome === 'verified' && sample.position === 3";
const START = { file: 'src/stats/recorder.js', behind: '  start(position, dueUs, nowUs = dueUs) {\n' };
const ADD = { file: 'src/stats/recorder.js', behind: '  add(sample) {\n' };

const script = mutant(
  { after },
  {
    skipped: { ...ADD, code: `if (${OF_VICTIM} && !this.done) return void (this.done = true);` },
    doubled: { ...ADD, code: `if (${OF_VICTIM} && !this.done) { this.done = true; this.add(sample); }` },
    unbegun: { ...START, code: 'if (position === 3 && this.done === undefined) return void (this.done = false);' },
    unended: { ...ADD, code: 'if (sample.position === 3 && this.done === false) return void (this.done = true);' },
  },
);

/** @param {TestContext} t @param {string} PLANTED @param {string} words @param {number} [exit] */
const planted = (t, PLANTED, words, exit) =>
  runOf(t, words, { threads: 5, offset: 100, script, env: { PLANTED }, isAlone: true, exit });

test('an unpatched copy is exact', async (t) => {
  const { stderr, run } = await planted(t, '', '-d 600ms');
  assert.equal(stderr, '');
  assert.ok(run.audit.exact && run.counts.verified >= 5);
});

for (const [what, mistake] of [
  ['skips counting one increment', 'skipped'],
  ['counts one increment twice', 'doubled'],
])
  test(`a mutant that ${what} ends with 70 and names the wallet`, async (t) => {
    const { stderr, stdout, run } = await planted(t, mistake, '-d 10m --interval 300ms', 70);
    assert.match(stderr, new RegExp(`conservation is broken for wallet ${VICTIM}:`));
    assert.doesNotMatch(stderr, /not of this run/);
    assert.match(stdout, /^Summary: ended by a bug of stress/m);
    assert.deepEqual([run.end, run.exitCode], ['internal', 70]);
  });

test('a mutant that knows nothing of one increment ends with 76, the wallet and the numbers', async (t) => {
  // Conservation does not hold between the two mistakes: it is checked at the end of an interval.
  const { stderr, stdout, run } = await planted(t, 'unbegun,unended', '-d 600ms --interval 1m', 76);
  assert.doesNotMatch(stderr, /not of this run|conservation/, 'no foreign transaction is reported');
  const { exact, foreign, mismatchCount, mismatches } = run.audit;
  assert.deepEqual([exact, foreign, mismatchCount], [false, [], 1]);
  const [{ walletIndex, effect, expectedEffect, nonce, expectedNonce }] = mismatches;
  assert.deepEqual([walletIndex, Number(effect), nonce], [VICTIM, Number(expectedEffect) + 1, expectedNonce + 1]);
  assert.match(stdout, /^ {2}audit +NOT EXACT/m);
  const words = `wallet ${VICTIM} .*effect ${effect}, expected ${expectedEffect}; nonce ${nonce}, expected`;
  assert.match(stdout, new RegExp(words));
});

// From here on the program is as it is, and the test is the other sender.

/** What the other sender sends from one of the wallets. */
const FOREIGN = {
  'a plain transfer': (/** @type {string} */ _counter) => ({
    ...{ to: `0x${'12'.repeat(20)}`, value: 1n, gasLimit: 21_000n },
  }),
  'an increment of its own counter': (/** @type {string} */ counter) => ({
    ...{ to: counter, data: '0xd09de08a', gasLimit: 60_000n },
  }),
};

/** Far more than the run offers. */
const FEE = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n };

/**
 * @param {Anvil} anvil
 * @param {number} index of the wallet
 * @param {'latest' | 'pending'} place latest: in place of what the run has in the pool; pending: behind it
 * @param {TransactionRequest} request
 * @returns {Promise<string>} the hash
 */
async function sendFrom(anvil, index, place, request) {
  const wallet = DEV_WALLETS.deriveChild(index);
  const nonce = Number(await anvil.rpc('eth_getTransactionCount', [wallet.address, place]));
  const raw = await wallet.signTransaction({ type: 2, chainId: 31337, nonce, ...FEE, ...request });
  return anvil.rpc('eth_sendRawTransaction', [raw]);
}

/**
 * A run of five wallets in mid-run, each with a transaction in the pool, and no block until the miner resumes.
 * @param {TestContext} t
 * @param {string} words
 */
async function pausedRun(t, words) {
  const { anvil, miner } = await startMinedChain(t);
  const stress = startOf(t, `-v --interval 1m ${words}`, { chain: anvil, threads: 5 });
  const [, counter] = await stress.waitFor(/^2 (0x\w{40}) 3$/m);
  await miner.pause();
  await pending(anvil, 5);
  return { anvil, miner, stress, counter };
}

/**
 * The run ends with 76, and the proof is what the test has sent.
 * @param {Awaited<ReturnType<typeof pausedRun>>} paused
 * @param {string} hash
 */
async function accused({ anvil, stress }, hash) {
  const { run, stdout, stderr } = await stress.end(76);
  const line = /wallets 2 sent a transaction that is not of this run: (0x\w+) \(wallet 2, nonce (\d+)\) was mined/;
  const [, named, nonce] = line.exec(stderr) ?? assert.fail(stderr);
  assert.equal(named, hash);
  const transaction = await anvil.rpc('eth_getTransactionByHash', [hash]);
  assert.ok(transaction.blockNumber !== null, 'it was mined');
  assert.equal(Number(transaction.nonce), Number(nonce));
  const { exact, foreign, mismatches } = run.audit;
  assert.deepEqual([run.exitCode, exact, foreign.length, mismatches.length], [76, false, 1, 1]);
  assert.deepEqual([foreign[0].walletIndex, foreign[0].hash, mismatches[0].walletIndex], [2, hash, 2]);
  assert.match(stdout, /^ {2}audit +NOT EXACT/m);
  assert.ok(stdout.includes(`not ours: ${hash} (wallet 2, `));
  return run;
}

for (const [what, workers, isProof] of /** @type {Array<[keyof typeof FOREIGN, string, boolean]>} */ ([
  ['a plain transfer', '1', true],
  ['a plain transfer', '2', true],
  // In the block of one of ours it shows as a wrong count, which proves nothing about who did it: the other wallets
  // go on until the end.
  ['an increment of its own counter', '1', false],
]))
  test(`another sender sends ${what} in mid-run, workers ${workers}: exit 76, the wallet and the transaction`, async (t) => {
    const paused = await pausedRun(t, `--workers ${workers} -d ${isProof ? '10m' : '2s'}`);
    const hash = await sendFrom(paused.anvil, 2, 'pending', FOREIGN[what](paused.counter));
    paused.miner.resume();
    const { end } = await accused(paused, hash);
    if (isProof) assert.equal(end, 'foreign_sender', 'found while running, not at the end');
  });

test('another sender replaces a pending transaction of this run: exit 76, the wallet and the transaction', async (t) => {
  const paused = await pausedRun(t, '-d 10m --drain-timeout 1s');
  const hash = await sendFrom(paused.anvil, 2, 'latest', FOREIGN['a plain transfer'](''));
  paused.miner.resume();
  const { end, audit } = await accused(paused, hash);
  assert.deepEqual([end, audit.replaced], ['foreign_sender', 1], 'found while running, not at the end');
  const [replaced] = audit.resolutions;
  assert.deepEqual([replaced.walletIndex, replaced.fate], [2, 'replaced']);
  assert.equal(await paused.anvil.rpc('eth_getTransactionByHash', [replaced.hash]), null, 'ours will never be mined');
});
