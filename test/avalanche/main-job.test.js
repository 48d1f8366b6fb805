/** The main job on AvalancheGo's C-chain, a single node built from the Go module proxy once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAvalanche } from '../../scripts/nodes/avalanche.js';
import { DEV_MNEMONIC } from '../../src/chain/keys.js';
import { exited, readJson } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

test('AvalancheGo C-chain: 200 wallets', async (t) => {
  const folder = temporaryFolder(t);
  const node = await startAvalanche();
  t.after(() => node.stop());
  const env = { STRESS_FUNDER_KEY: node.funderKey, STRESS_MNEMONIC: DEV_MNEMONIC };
  const args = ['-t', '200', '-o', '0', '-d', '20s', '--rpc', node.url, '--out', `${folder}/run.json`];
  await exited(0, args, { env, timeoutMs: 180_000 });
  const run = readJson(`${folder}/run.json`);
  assertRunFile(run);
  assert.equal(run.audit.exact, true);
  assert.equal(run.counts.failed + run.counts.timedOut + run.counts.abandoned, 0, JSON.stringify(run.failures));
  t.diagnostic(
    `${run.rates.verifiedPerSecond.toFixed(1)} TPS, ${run.generator.cpuUsPerVerified.toFixed(0)} us of CPU each`,
  );
});

test('AvalancheGo C-chain over a WebSocket: heads are pushed; it has no sync, and that is said', async (t) => {
  const folder = temporaryFolder(t);
  const node = await startAvalanche();
  t.after(() => node.stop());
  const env = { STRESS_FUNDER_KEY: node.funderKey, STRESS_MNEMONIC: DEV_MNEMONIC };
  const url = node.url.replace('http', 'ws').replace(/rpc$/, 'ws');
  const out = `${folder}/run.json`;
  const args = ['-t', '50', '-d', '8s', '--rpc', url];
  const refused = await exited(69, [...args, '--inclusion', 'sync'], { env });
  assert.match(refused.stderr, /eth_sendRawTransactionSync: .*does not exist.*; use --inclusion auto\n$/);
  await exited(0, [...args, '--out', out], { env, timeoutMs: 180_000 });
  const run = readJson(out);
  assertRunFile(run);
  assert.equal(run.audit.exact, true);
  const { environment, generator } = run;
  assert.deepEqual([environment.inclusion.name, environment.transport.name], ['heads', 'ws']);
  assert.equal(generator.headSource, 'subscription');
});
