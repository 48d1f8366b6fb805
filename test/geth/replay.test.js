/** 20,000 recorded requests of wallets against geth, and against geth and a proxy that changes one balance. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startGeth } from '../../scripts/nodes/geth.js';
import { serveBetween } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { writeTraffic } from '../helpers/traffic.js';

await test('geth --dev: recorded requests of wallets', async (t) => {
  const geth = await startGeth({ period: 1 });
  t.after(() => geth.stop());
  const file = join(temporaryFolder(t), 'wallets.ndjson');
  const lines = writeTraffic(file, 20_000);
  const words = `--workload rpc --calls ${file} --users 20 --iterations 1000`;

  await t.test('each is sent once, by two threads', async (t) => {
    const { run, stdout } = await runOf(t, `${words} --workers 2`, { chain: geth });
    assert.deepEqual([run.counts.verified, run.failures], [20_000, {}]);
    assert.equal(run.byName.batch.counts.verified, lines.filter((line) => line.startsWith('[')).length);
    assert.match(stdout, /replay {6}20,000 requests of \S+ in file order, 1 pass$/m);
    t.diagnostic(`${run.rates.verifiedPerSecond.toFixed(0)} calls/s`);
  });

  await t.test('a proxy that changes one balance is found out', async (t) => {
    const changed = `0x${(1123).toString(16).padStart(40, '0')}`;
    const times = lines.filter((line) => line.includes('"eth_getBalance"') && line.includes(changed)).length;
    assert.ok(times > 0);
    const { url } = await serveBetween(geth.url, ({ method, params }) =>
      method === 'eth_getBalance' && params[0] === changed ? { result: '0x1' } : null,
    );
    const limits = ['--threshold', 'differences=0', '--check-rpc', url];
    const { run, stdout } = await runOf(t, [...words.split(' '), ...limits], { chain: geth, exit: 99 });
    assert.deepEqual(run.failures, { answers_differ: times });
    const found = Object.keys(run.failureWords);
    assert.ok(
      found.every((key) => key.startsWith('answers_differ of eth_getBalance, line ')),
      found.join(),
    );
    assert.match(stdout, new RegExp(`\\n {4}curl .*${changed}.*${geth.url}\\n {4}curl .*${changed}.*${url}\\n`));
  });
});
