/** A sweep over contention on a chain whose share of parallel execution is known, and the share that a trend fits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startNullChain } from '../../scripts/bench/null-chain.js';
import { exited, readJson } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** Transactions of the same slot are serial: 50 per second. */
const TX_MS = 20;

test('four lanes: 75 % of the execution runs in parallel, within 5 points', async (t) => {
  const folder = temporaryFolder(t);
  const chain = await startNullChain({ lanes: 4, txMs: TX_MS });
  t.after(() => chain.stop());
  const load = ['-t', '120', '-d', '6s', '--warmup', '4s', '--rest', '0s', '--workload', 'contention'];
  const grid = ['--set', 'theta=0,2', '--set', 'slots=1,4,16,1024'];
  await exited(0, ['sweep', '--rpc', chain.url, '--dir', `${folder}/sweep`, ...load, ...grid], {
    timeoutMs: 300_000,
  });
  const out = `${folder}/trend.json`;
  const { stdout } = await exited(0, ['trend', `${folder}/sweep`, '--out', out]);
  t.diagnostic(stdout);
  const { parallel } = readJson(out);
  assert.ok(Math.abs(parallel.share - 0.75) < 0.05, JSON.stringify(parallel));
  assert.match(stdout, /% of the execution runs in parallel/);
});
