/** --refill-below: wallets are paid during the load, and everything adds up all the same. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEther } from 'ethers';
import { anvilFor } from '../helpers/anvil.js';
import { runStress } from '../helpers/cli.js';
import { DEV_MNEMONIC, DEV_WALLETS } from '../helpers/dev-wallets.js';
import { runOf, startOf } from '../helpers/run-of.js';

/** @import { Anvil } from '../helpers/anvil.js' */

/** Wallet 0 has all the money there is. */
const FUNDER = DEV_WALLETS.deriveChild(0);
const ENV = Object.freeze({ STRESS_MNEMONIC: DEV_MNEMONIC, STRESS_FUNDER_KEY: FUNDER.privateKey });

/** An operation costs about 0.0003 ether, one a second. */
const WORDS = '--gas-price 10 --fund-amount 0.006 --refill-below 0.004';

/** @param {Anvil} chain @param {number} first @param {number} count @returns {Promise<bigint>} what they and the funder have */
async function moneyOf(chain, first, count) {
  const indexes = [0, ...Array.from({ length: count }, (_, i) => first + i)];
  const balances = await Promise.all(
    indexes.map((index) => chain.rpc('eth_getBalance', [DEV_WALLETS.deriveChild(index).address, 'latest'])),
  );
  return balances.reduce((sum, wei) => sum + BigInt(wei), 0n);
}

/** @param {Anvil} chain @param {'latest' | 'pending'} tag */
const nonceOf = async (chain, tag) => Number(await chain.rpc('eth_getTransactionCount', [FUNDER.address, tag]));

describe('wallets with funds for a few seconds', () => {
  const chain = anvilFor('--accounts 1 --block-time 1');

  test('are paid during the load, and all that was spent is known', async (t) => {
    const before = await moneyOf(chain, 100, 5);
    const own = { chain, threads: 5, offset: 100, env: ENV };
    const { run, stdout } = await runOf(t, `-d 30s ${WORDS}`, own);
    const { audit, counts, refills, spending } = run;
    assert.deepEqual([audit.result, counts.failed, counts.timedOut], ['exact', 0, 0]);
    assert.ok(refills.payments >= 5 && refills.transactions >= 1, JSON.stringify(refills));
    const spentWei = before - (await moneyOf(chain, 100, 5));
    assert.equal(spending.spentWei, String(spentWei), 'all fees, as the balances say');
    assert.match(stdout, / for \d+ refills \(--refill-below\), which paid \d\.\d+ ether to the wallets/);
  });

  test('that the audit compares the balances of', async (t) => {
    const own = { chain, threads: 4, offset: 200, env: ENV };
    const words = '-d 20s --workload transfer --workers 2 --gas-price 10 --fund-amount 0.004 --refill-below 0.0025';
    const { run } = await runOf(t, words, own);
    assert.deepEqual([run.audit.result, run.counts.failed], ['exact', 0]);
    assert.ok(run.refills.payments >= 4, JSON.stringify(run.refills));
    assert.equal(run.audit.checks.find((/** @type {any} */ { name }) => name === 'wallets').holds, true);
  });

  test('and a cap: gas of refills counts, and no more is spent', async (t) => {
    const before = await moneyOf(chain, 300, 5);
    const own = { chain, threads: 5, offset: 300, env: ENV, exit: 77 };
    const { run } = await runOf(t, `--max-spend 0.08 ${WORDS}`, own);
    const spentWei = before - (await moneyOf(chain, 300, 5));
    assert.deepEqual([run.end, run.audit.result, run.spending.spentWei], ['max_spend', 'exact', String(spentWei)]);
    assert.ok(spentWei <= parseEther('0.08'), `${spentWei} wei`);
    assert.ok(run.refills.payments > 0, JSON.stringify(run.refills));
  });

  test('a run that is killed in the middle of a refill is followed by one that goes on', async (t) => {
    const own = { chain, threads: 5, offset: 400, env: ENV };
    const first = startOf(t, WORDS, own);
    await first.waitFor(/^ +\d+\.\d s +[\d,]+ +[1-9]/m);
    const begun = await nonceOf(chain, 'latest');
    while ((await nonceOf(chain, 'pending')) === begun) await sleep(20);
    first.child.kill('SIGKILL');
    await first.done;
    const { run } = await runOf(t, `-d 15s ${WORDS}`, own);
    assert.deepEqual([run.audit.result, run.counts.failed], ['exact', 0]);
    assert.ok(run.refills.payments > 0);
  });

  test('a threshold that is too low for the load, or too high for the amount, is refused before anything is sent', async () => {
    const sent = await nonceOf(chain, 'pending');
    for (const [words, says] of /** @type {Array<[string, RegExp]>} */ ([
      [
        '--fund-amount 0.006 --refill-below 0.0001',
        /^stress: --refill-below 0\.0001 ether is too low: a wallet may spend \S+ ether in the \d+ s until/,
      ],
      [
        '--refill-below 100',
        /^stress: --refill-below 100\.0 ether is not less than the \S+ ether that wallets are topped up to: /,
      ],
    ])) {
      const args = ['-t', '5', '-o', '500', '-d', '30s', '--rpc', chain.url, '--gas-price', '10', ...words.split(' ')];
      const { code, stderr } = await runStress(args, { env: ENV });
      assert.equal(code, 64, stderr);
      assert.match(stderr, says);
      assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    }
    assert.equal(await nonceOf(chain, 'pending'), sent);
  });
});
