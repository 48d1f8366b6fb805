/** Blob transactions on geth, whose development chain has the Osaka fork: cell proofs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from '../../scripts/nodes/build.js';
import { startGeth } from '../../scripts/nodes/geth.js';
import { runOf } from '../helpers/run-of.js';

const GAS_PER_BLOB = 131_072;

await test('geth --dev: blob transactions, each of two blobs', async (t) => {
  const geth = await startGeth({ period: 1 });
  t.after(() => geth.stop());
  const words = `--workload blobs --set blobs=2 --set sidecars=2 --iterations 20 --in-flight 2 --workers 2 --max-spend 0.1 --replace-share 25%`;
  const env = { STRESS_FUNDER_KEY: geth.funderKey };
  // The library takes half a minute of a CPU to load, in which three other tests run: four minutes on a busy machine.
  const { run } = await runOf(t, words, { chain: geth, threads: 4, env, timeoutMs: 900_000 });
  assert.deepEqual([run.counts.verified, run.failures, run.audit.exact], [80, {}, true]);
  const found = Object.fromEntries(run.audit.checks.map((/** @type {any} */ check) => [check.name, check.found]));
  assert.equal(found.blobs, '160');
  // They offer twice as much. On a busy machine they come after the block of the first one, and are refused.
  const { replacements, replacementsRefused } = run.generator.storm;
  assert.ok(replacements + replacementsRefused > 0);

  const head = Number(await call(geth.url, 'eth_blockNumber'));
  let [blobGas, feesWei] = [0, 0n];
  for (let number = 1; number <= head; number += 1) {
    const receipts = /** @type {any[]} */ (await call(geth.url, 'eth_getBlockReceipts', [`0x${number.toString(16)}`]));
    for (const { type, gasUsed, effectiveGasPrice, blobGasUsed, blobGasPrice } of receipts) {
      const blobs = type === '0x3' ? BigInt(blobGasUsed) : 0n;
      blobGas += Number(blobs);
      feesWei += BigInt(gasUsed) * BigInt(effectiveGasPrice) + (blobs && blobs * BigInt(blobGasPrice));
    }
  }
  assert.equal(blobGas, 80 * 2 * GAS_PER_BLOB);
  // Payments of the funder, gas and blobs.
  assert.equal(run.spending.spentWei, String(feesWei));
});
