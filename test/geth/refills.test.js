/** --refill-below and --max-spend on geth: the receipts of the chain say what was spent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Wallet, parseEther } from 'ethers';
import { startGeth } from '../../scripts/nodes/geth.js';
import { DEV_MNEMONIC, DEV_WALLETS } from '../helpers/dev-wallets.js';
import { rpcCall } from '../helpers/anvil.js';
import { runOf } from '../helpers/run-of.js';

const WALLETS = 5;

/** Gas paid by these senders. @param {string} url @param {Set<string>} senders */
async function paidBy(url, senders) {
  const latest = Number(await rpcCall(url, 'eth_blockNumber'));
  let wei = 0n;
  for (let number = 1; number <= latest; number += 1) {
    const receipts = await rpcCall(url, 'eth_getBlockReceipts', [`0x${number.toString(16)}`]);
    for (const { from, gasUsed, effectiveGasPrice } of receipts)
      if (senders.has(from)) wei += BigInt(gasUsed) * BigInt(effectiveGasPrice);
  }
  return wei;
}

test('the spend cap ends a load with refills: by the receipts no more was spent', async (t) => {
  const geth = await startGeth({ period: 1, gasLimit: null });
  t.after(() => geth.stop());
  const funder = new Wallet(String(geth.funderKey)).address;
  const env = { STRESS_MNEMONIC: DEV_MNEMONIC, STRESS_FUNDER_KEY: geth.funderKey };
  const words = '--gas-price 10 --fund-amount 0.006 --refill-below 0.004 --max-spend 0.06';
  const { run, stderr } = await runOf(t, words, { chain: geth, threads: WALLETS, env, exit: 77 });
  const wallets = Array.from({ length: WALLETS }, (_, i) => DEV_WALLETS.deriveChild(i).address);
  const paid = await paidBy(geth.url, new Set([funder, ...wallets].map((address) => address.toLowerCase())));
  assert.ok(paid > parseEther('0.045') && paid <= parseEther('0.06'), `${paid} wei`);
  assert.deepEqual([run.end, run.audit.result, run.spending.spentWei], ['max_spend', 'exact', String(paid)]);
  assert.ok(run.refills.payments >= WALLETS, JSON.stringify(run.refills));
  assert.match(stderr, /^ERROR: the spend cap is reached: /m);
});
