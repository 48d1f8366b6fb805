/** geth behind a proxy that answers as other public chains do: five variants of the table, each exact. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGeth } from '../../scripts/nodes/geth.js';
import { startDialectProxy } from '../helpers/dialect-proxy.js';
import { ACCUSATIONS, DIALECTS } from '../helpers/dialects.js';
import { runOf } from '../helpers/run-of.js';

await test('geth --dev, a block every second', async (t) => {
  const geth = await startGeth({ period: 1 });
  t.after(() => geth.stop());
  const env = { STRESS_FUNDER_KEY: geth.funderKey };
  for (const variant of DIALECTS.filter(({ on = [] }) => on.includes('geth')))
    await t.test(`${variant.row}. ${variant.name}`, async (t) => {
      const { url } = await startDialectProxy(geth.url, variant);
      const own = { chain: geth, rpc: url, threads: 8, env, timeoutMs: 120_000 };
      const { stdout, stderr, run } = await runOf(t, `-d 8s ${variant.args ?? ''}`, own);
      for (const pattern of ACCUSATIONS) assert.doesNotMatch(`${stdout}\n${stderr}`, pattern);
      assert.deepEqual([run.audit.exact, run.counts.verified > 0], [true, true]);
      variant.check?.(run);
    });
});
