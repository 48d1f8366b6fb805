/** --refill-below: wallets are paid during the load, and everything adds up all the same. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseEther } from 'ethers';
import { anvilFor } from '../helpers/anvil.js';
import { DEV_MNEMONIC, DEV_WALLETS, moneyOf } from '../helpers/dev-wallets.js';
import { runOf } from '../helpers/run-of.js';

/** Wallet 0 has all the money there is. */
const FUNDER = DEV_WALLETS.deriveChild(0);
const ENV = Object.freeze({ STRESS_MNEMONIC: DEV_MNEMONIC, STRESS_FUNDER_KEY: FUNDER.privateKey });

/** An operation costs about 0.0003 ether, one a second. */
const WORDS = '--gas-price 10 --fund-amount 0.006 --refill-below 0.004';

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

  test('and a cap: gas of refills counts, and no more is spent', async (t) => {
    const before = await moneyOf(chain, 300, 5);
    const own = { chain, threads: 5, offset: 300, env: ENV, exit: 77 };
    const { run } = await runOf(t, `--max-spend 0.08 ${WORDS}`, own);
    const spentWei = before - (await moneyOf(chain, 300, 5));
    assert.deepEqual([run.end, run.audit.result, run.spending.spentWei], ['max_spend', 'exact', String(spentWei)]);
    assert.ok(spentWei <= parseEther('0.08'), `${spentWei} wei`);
    assert.ok(run.refills.payments > 0, JSON.stringify(run.refills));
  });

  test('end with the load when the funder runs dry, also with --iterations', async (t) => {
    const { address, privateKey } = DEV_WALLETS.deriveChild(900);
    await chain.rpc('anvil_setBalance', [address, `0x${parseEther('0.05').toString(16)}`]);
    const env = { ...ENV, STRESS_FUNDER_KEY: privateKey };
    const words = `--iterations 1000 --tx-timeout 10s ${WORDS}`;
    const { run, stderr } = await runOf(t, words, { chain, threads: 5, offset: 400, env, exit: 69 });
    assert.deepEqual([run.end, run.audit.result, run.counts.timedOut], ['no_wallets', 'exact', 0]);
    assert.ok(run.counts.verified > 50 && run.counts.failed <= 5, JSON.stringify(run.counts));
    assert.match(
      stderr,
      /^ERROR: no wallet has had funds for 10s, and the funder has paid none: see the warnings, and give it more$/m,
    );
  });
});
