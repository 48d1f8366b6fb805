/**
 * The two laws can fail: conservation when a sample is counted wrongly, the audit when the chain has more than
 * we say. Each mutant is a copy of the program with a mistake in its recorder; wallet 103 is the victim.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startAnvil, startMiner } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { DEV_WALLETS } from '../helpers/dev-wallets.js';
import { assertNothingLeft } from '../helpers/leftovers.js';
import { startFaultProxy } from '../helpers/fault-proxy.js';
import { mutant } from '../helpers/mutant.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { Patch } from '../helpers/mutant.js'
 * @import { TransactionRequest } from 'ethers'
 * @import { TestContext } from 'node:test'
 */

const RECORDER = 'src/stats/recorder.js';
const START = '  start(position, dueUs, nowUs = dueUs) {\n';
const ADD = '  add(sample) {\n';
/** Where the victim is in the slice. */
const POSITION = 3;
const VICTIM = 103;
const OF_VICTIM = `sample.outcome === 'verified' && sample.position === ${POSITION}`;

/** Longer than any run that ends when a report finds the mistake. */
const UNTIL_FOUND = Object.freeze({ duration: '20s' });

/** @param {TestContext} t @param {Patch[]} patches @param {{interval?: string, duration?: string}} [options] */
async function runMutant(t, patches, { interval = '300ms', duration = '600ms' } = {}) {
  const TMPDIR = temporaryFolder(t);
  const out = join(temporaryFolder(t), 'run.json');
  const args = ['-t', '5', '-o', '100', '-d', duration, '--interval', interval, '--out', out];
  const result = await runStress(args, { env: { TMPDIR }, script: mutant(t, patches) });
  await assertNothingLeft(TMPDIR);
  return { ...result, run: readJson(out) };
}

test('an unpatched copy is exact', async (t) => {
  const { code, stderr, run } = await runMutant(t, []);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  assert.equal(run.audit.exact, true);
  assert.ok(run.counts.verified >= 5);
});

test('a mutant that skips counting one increment ends with 70 and names the wallet', async (t) => {
  const { code, stderr, stdout, run } = await runMutant(
    t,
    [
      {
        file: RECORDER,
        find: ADD,
        replace: `${ADD}    if (${OF_VICTIM} && !this.done) return void (this.done = true);\n`,
      },
    ],
    UNTIL_FOUND,
  );
  assert.equal(code, 70, stderr);
  assert.match(stderr, new RegExp(`conservation is broken for wallet ${VICTIM}:`));
  assert.doesNotMatch(stderr, /not of this run/);
  assert.match(stdout, /^Summary: ended by a bug of stress/m);
  assert.equal(run.end, 'internal');
  assert.equal(run.exitCode, 70);
});

test('a mutant that counts one increment twice ends with 70 and names the wallet', async (t) => {
  const { code, stderr, run } = await runMutant(
    t,
    [
      {
        file: RECORDER,
        find: ADD,
        replace: `${ADD}    if (${OF_VICTIM} && !this.done) { this.done = true; this.add(sample); }\n`,
      },
    ],
    UNTIL_FOUND,
  );
  assert.equal(code, 70, stderr);
  assert.match(stderr, new RegExp(`conservation is broken for wallet ${VICTIM}:`));
  assert.equal(run.exitCode, 70);
});

test('a mutant that knows nothing of one increment ends with 76, the wallet and the numbers', async (t) => {
  const patches = [
    {
      file: RECORDER,
      find: START,
      replace: `${START}    if (position === ${POSITION} && this.done === undefined) return void (this.done = false);\n`,
    },
    {
      file: RECORDER,
      find: ADD,
      replace: `${ADD}    if (sample.position === ${POSITION} && this.done === false) return void (this.done = true);\n`,
    },
  ];
  // Conservation does not hold between the two mistakes: it is checked at the end of an interval.
  const { code, stderr, stdout, run } = await runMutant(t, patches, { interval: '1m' });
  assert.equal(code, 76, stderr);
  assert.doesNotMatch(
    stderr,
    /not of this run|conservation/,
    'conservation holds, and no foreign transaction is reported',
  );
  assert.equal(run.audit.exact, false);
  assert.deepEqual(run.audit.foreign, []);
  assert.equal(run.audit.mismatchCount, 1);
  const [{ walletIndex, effect, expectedEffect, nonce, expectedNonce }] = run.audit.mismatches;
  assert.equal(walletIndex, VICTIM);
  assert.equal(Number(effect), Number(expectedEffect) + 1);
  assert.equal(nonce, expectedNonce + 1);
  assert.match(stdout, /^ {2}audit +NOT EXACT/m);
  assert.match(
    stdout,
    new RegExp(`wallet ${VICTIM} .*effect ${effect}, expected ${expectedEffect}; nonce ${nonce}, expected`),
  );
});

// From here on the program is as it is, and the test is the other sender.

const INCREMENT = '0xd09de08a';

/** What the other sender sends from one of the wallets. */
const FOREIGN = {
  'a plain transfer': (/** @type {string} */ _counter) => ({
    to: `0x${'12'.repeat(20)}`,
    value: 1n,
    gasLimit: 21_000n,
  }),
  'an increment of its own counter': (/** @type {string} */ counter) => ({
    to: counter,
    data: INCREMENT,
    gasLimit: 60_000n,
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

/** @param {TestContext} t */
async function minedChain(t) {
  const anvil = await startAnvil({ args: ['--no-mining'] });
  const miner = startMiner(anvil);
  t.after(async () => {
    await miner.pause();
    await anvil.stop();
  });
  return { anvil, miner };
}

/**
 * A run of five wallets in mid-run, each with a transaction in the pool, and no block until the miner resumes.
 * @param {TestContext} t
 * @param {string[]} more arguments
 */
async function pausedRun(t, more) {
  const { anvil, miner } = await minedChain(t);
  const out = join(temporaryFolder(t), 'run.json');
  const stress = startStress(['--rpc', anvil.url, '-t', '5', '-v', '--interval', '1m', '--out', out, ...more]);
  const [, counter] = await stress.waitFor(/^2 (0x\w{40}) 3$/m);
  await miner.pause();
  while (Number((await anvil.rpc('txpool_status')).pending) < 5) continue;
  return { anvil, miner, stress, counter, readRun: () => readJson(out) };
}

/**
 * @param {Anvil} anvil
 * @param {{code: number | null, stdout: string, stderr: string}} result
 * @param {any} run
 * @param {string} hash
 */
async function assertAccused(anvil, { code, stdout, stderr }, run, hash) {
  assert.equal(code, 76, stderr);
  const line = /wallets 2 sent a transaction that is not of this run: (0x\w+) \(wallet 2, nonce (\d+)\) was mined/;
  const [, named, nonce] = line.exec(stderr) ?? assert.fail(stderr);
  assert.equal(named, hash, 'the proof is what the test sent');
  const transaction = await anvil.rpc('eth_getTransactionByHash', [hash]);
  assert.ok(transaction.blockNumber !== null, 'and it was mined');
  assert.equal(Number(transaction.nonce), Number(nonce));
  assert.equal(run.exitCode, 76);
  assert.equal(run.audit.exact, false);
  assert.deepEqual(
    run.audit.foreign.map((/** @type {any} */ foreign) => [foreign.walletIndex, foreign.hash]),
    [[2, hash]],
  );
  assert.deepEqual(
    run.audit.mismatches.map((/** @type {any} */ mismatch) => mismatch.walletIndex),
    [2],
  );
  assert.match(stdout, /^ {2}audit +NOT EXACT/m);
  assert.ok(stdout.includes(`not ours: ${hash} (wallet 2, `));
}

for (const [name, request] of Object.entries(FOREIGN)) {
  test(`another sender sends ${name} in mid-run: exit 76, the wallet and the transaction`, async (t) => {
    // A foreign increment in the block of one of ours shows as a wrong count, which proves nothing about who did
    // it: the other wallets go on until the end.
    const isProof = name === 'a plain transfer';
    const { anvil, miner, stress, counter, readRun } = await pausedRun(t, ['-d', isProof ? '20s' : '2s']);
    const hash = await sendFrom(anvil, 2, 'pending', request(counter));
    miner.resume();
    await assertAccused(anvil, await stress.done, readRun(), hash);
    if (isProof) assert.equal(readRun().end, 'foreign_sender', 'found while running, not at the end');
  });

  test(`another sender sends ${name} during the drain: exit 76, the wallet and the transaction`, async (t) => {
    const { anvil, miner, stress, counter, readRun } = await pausedRun(t, []);
    stress.child.kill('SIGTERM');
    await stress.waitFor(/^ +\d+\.\d s /m); // the only interval ends with the load
    const hash = await sendFrom(anvil, 2, 'pending', request(counter));
    miner.resume();
    await assertAccused(anvil, await stress.done, readRun(), hash);
    const { end, counts, failures, audit } = readRun();
    assert.equal(end, 'terminated');
    // What was in flight was drained all the same, but its count may have been one too high already.
    assert.equal(counts.verified + (failures.wrong_count ?? 0), counts.started);
    assert.equal(counts.started, audit.verified + audit.includedLate);
  });
}

test('another sender replaces a pending transaction of this run: exit 76, the wallet and the transaction', async (t) => {
  const { anvil, miner, stress, readRun } = await pausedRun(t, ['-d', '10s', '--drain-timeout', '1s']);
  const hash = await sendFrom(anvil, 2, 'latest', FOREIGN['a plain transfer'](''));
  miner.resume();
  await assertAccused(anvil, await stress.done, readRun(), hash);
  const { end, audit } = readRun();
  assert.equal(end, 'foreign_sender', 'found while running, not at the end');
  assert.equal(audit.replaced, 1);
  const [replaced] = audit.resolutions;
  assert.deepEqual([replaced.walletIndex, replaced.fate], [2, 'replaced']);
  assert.equal(await anvil.rpc('eth_getTransactionByHash', [replaced.hash]), null, 'ours will never be mined');
});

/** Transactions that wait in the pool for nonces before theirs, as a run that was killed leaves them. @param {Anvil} anvil */
async function leaveQueued(anvil) {
  for (const index of [0, 2]) {
    const wallet = DEV_WALLETS.deriveChild(index);
    for (const nonce of [4, 5, 8]) {
      const request = { ...FOREIGN['a plain transfer'](''), type: 2, chainId: 31337, nonce, ...FEE };
      await anvil.rpc('eth_sendRawTransaction', [await wallet.signTransaction(request)]);
    }
  }
  assert.equal(Number((await anvil.rpc('txpool_status')).queued), 6);
}

test('transactions of before that wait for a missing nonce are mined before the load, which is exact', async (t) => {
  const { anvil } = await minedChain(t);
  await leaveQueued(anvil);
  const { code, stdout, stderr } = await runStress(['--rpc', anvil.url, '-t', '3', '-d', '1s']);
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^wallets 0, 2 have transactions in the node's pool that wait for a missing nonce, .* are mined/m,
  );
  assert.match(stdout, /^ {2}audit +exact: 3 counters/m);
  assert.equal(Number((await anvil.rpc('txpool_status')).queued), 0);
});

test('where the pool is not shown, they are not of this run when the load meets them: exit 76', async (t) => {
  const { anvil } = await minedChain(t);
  await leaveQueued(anvil);
  const proxy = await startFaultProxy(anvil.url);
  t.after(() => proxy.close());
  await proxy.set({ kind: 'noMethod', methods: ['txpool_status', 'txpool_content', 'txpool_contentFrom'] });
  const { code, stdout, stderr } = await runStress(['--rpc', proxy.url, '-t', '3', '-d', '5s']);
  assert.equal(code, 76, stdout + stderr);
  assert.match(
    stderr,
    /wallets (0|2|0, 2) sent a transaction that is not of this run: 0x\w{64} \(wallet [02], nonce 4\)/,
  );
  assert.match(stderr, /another run uses the same wallets, or left it in a pool before/);
});
