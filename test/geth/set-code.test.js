/** Transactions of type 4 (EIP-7702) on geth: what the audit compares, read from the chain by other means. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from '../../scripts/nodes/build.js';
import { startGeth } from '../../scripts/nodes/geth.js';
import { runOf } from '../helpers/run-of.js';

const SET_CODE = '0x4';
const DELEGATION = '0xef0100';

await test('geth --dev: accounts get the code of a contract', async (t) => {
  const geth = await startGeth({ period: 1 });
  t.after(() => geth.stop());
  const words = '--workload set-code --iterations 10 --in-flight 2 --workers 2';
  const env = { STRESS_FUNDER_KEY: geth.funderKey };
  const { run } = await runOf(t, words, { chain: geth, threads: 4, env, timeoutMs: 120_000 });
  assert.deepEqual([run.counts.verified, run.failures, run.audit.exact], [40, {}, true]);

  const head = Number(await call(geth.url, 'eth_blockNumber'));
  /** Number of authorizations by authority. @type {Map<string, number>} */
  const signed = new Map();
  for (let number = 1; number <= head; number += 1) {
    const block = /** @type {any} */ (await call(geth.url, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, true]));
    for (const { type, to, authorizationList } of block.transactions) {
      if (type !== SET_CODE) continue;
      assert.equal(authorizationList.length, 1);
      assert.equal(authorizationList[0].address, run.environment.workload.contract.toLowerCase());
      signed.set(to, (signed.get(to) ?? 0) + 1);
    }
  }
  assert.deepEqual([...signed.values()], [10, 10, 10, 10]);
  for (const [authority, count] of signed) {
    assert.equal(Number(await call(geth.url, 'eth_getTransactionCount', [authority, 'latest'])), count);
    const code = await call(geth.url, 'eth_getCode', [authority, 'latest']);
    assert.equal(code, DELEGATION + run.environment.workload.contract.slice(2).toLowerCase());
  }
});
