/** stress compare beside a truth that is known: one side answers 200 ms later. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { startAnvil } from '../../scripts/bench/anvil.js';
import { readJson, spawnStress } from '../helpers/cli.js';
import { startFaultProxy } from '../helpers/fault-proxy.js';
import { equalBy } from '../helpers/equal-by.js';
import { temporaryFolder } from '../helpers/temporary.js';

it('six pairs say that TPS and every latency are slower behind a proxy that adds 200 ms to each answer', async (t) => {
  const chain = await startAnvil();
  t.after(chain.stop);
  const proxy = await startFaultProxy(chain.url);
  t.after(proxy.close);
  await proxy.set({ kind: 'latency', ms: 200 });
  const dir = join(temporaryFolder(t), 'it');
  const args = [`--rpc-a=${chain.url}`, `--rpc-b=${proxy.url}`, ...'-t10 -d2s --rest=0s --repeat=6'.split(' ')];
  const { code, stdout, stderr } = await spawnStress(['compare', ...args, `--dir=${dir}`], { timeoutMs: 600_000 }).done;
  assert.equal(code, 0, stderr);
  const { metrics } = readJson(join(dir, 'compare.json'));
  const decided = metrics.filter((/** @type {{name: string}} */ { name }) => name !== 'cpu');
  const words = ['tps', 'avg', 'max', 'min', 'p50', 'p99'].map((name) => [name, 'slower']);
  equalBy(decided, ({ name, word }) => [name, word], words);
  assert.doesNotMatch(stdout, /too few/);
});
