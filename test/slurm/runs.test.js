/** Four instances on one chain, started by a real Slurm: an array, and a gang. Their merge is exact. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { exited, readJson } from '../helpers/cli.js';
import { assertScaledOut, assertUnseen, filesWith } from '../helpers/scale-out.js';
import { eventually, instancesOf } from './slurm.js';
import { PATIENCE_MS, Site, openLab } from './site.js';

/** What may lie between the starts of instances that wait for each other, on a machine that is busy with all of them. */
const SKEW_MS = 1000;
const LOAD = ['-d', '8s', '--interval', '1s'];
const INDEXES = [0, 1, 2, 3];

const lab = openLab();

/**
 * The whole way, submitted at once: fund, load, merge.
 * @param {Site} site
 * @param {string} script
 * @param {string[]} options of sbatch
 * @param {string[]} exitCodes
 */
async function loadAndMerge(site, script, options, exitCodes) {
  const fund = await site.fund(4);
  const load = await site.submit(script, { options: site.after(fund, ...options), args: LOAD });
  const merge = await site.merge(load);
  await site.expect(fund, '0:0');
  const pids = await eventually(PATIENCE_MS, () => {
    const instances = instancesOf(load);
    assert.equal(instances.length, 4, site.logs());
    return instances.map(({ pid }) => pid);
  });
  const folders = [site.folder, lab.slurm.folder];
  const except = ['chain.json', 'funder.key'];
  assertUnseen(site.secrets, { folders, except, pids });
  await site.expect(load, ...exitCodes);
  await site.expect(merge, '0:0');
  assertUnseen(site.secrets, { folders, except });
  const expected = except.map((name) => join(site.folder, name));
  assert.deepEqual(filesWith(site.secrets, folders).sort(), expected);
  const instances = INDEXES.map((index) => site.instance(load, index));
  instances.forEach(({ run }, index) => {
    const { runId, instances: count, attempt } = run.instance;
    assert.deepEqual([runId, run.instance.index, count, attempt], [`slurm-${load}`, index, 4, 0]);
    assert.equal(run.instance.start.by, 'barrier');
  });
  return { load, merged: site.merged(), instances, wallets: await site.wallets(4) };
}

test('an array of 4, and its merge as a dependent job', async (t) => {
  const site = new Site(t, lab);
  const { load, merged, instances, wallets } = await loadAndMerge(
    ...[site, 'array.sbatch', ['--array=0-3'], ['0:0', '0:0', '0:0', '0:0']],
  );
  assertScaledOut({ merged, instances, wallets, skewMs: SKEW_MS });
  instances.forEach(({ run }) => assert.equal(run.instance.scheduler, 'slurm-array'));
  t.diagnostic(`job ${load}: ${merged.counts.verified} verified, ${merged.merged.startSkewMs} ms of start skew`);
});

test('a gang of 4, and its merge from the logs', async (t) => {
  const site = new Site(t, lab);
  const { load, merged, instances, wallets } = await loadAndMerge(...[site, 'gang.sbatch', ['--ntasks=4'], ['0:0']]);
  assertScaledOut({ merged, instances, wallets, skewMs: SKEW_MS });
  instances.forEach(({ run }) => assert.equal(run.instance.scheduler, 'slurm-gang'));
  t.diagnostic(`job ${load}: ${merged.counts.verified} verified, ${merged.merged.startSkewMs} ms of start skew`);

  const out = join(site.folder, 'from-logs.json');
  const logs = INDEXES.map((index) => join(site.folder, `stress-${load}-${index}.log`));
  await exited(0, ['merge', ...logs, '--expect', '4', '--out', out]);
  const fromLogs = readJson(out);
  for (const name of ['counts', 'window', 'rates', 'latency', 'lag', 'audit', 'merged'])
    assert.deepEqual(fromLogs[name], merged[name], name);
});

test('what the submitting shell has in its environment does not get into the state of Slurm', async (t) => {
  const site = new Site(t, lab);
  const env = { STRESS_MNEMONIC: site.phrase };
  const seen = () => filesWith(site.secrets, [lab.slurm.folder]);
  for (const script of ['fund.sbatch', 'array.sbatch', 'gang.sbatch', 'merge.sbatch']) {
    // A job that waits is in Slurm's state with all it was given.
    const id = await site.submit(script, { options: ['--hold'], env });
    assert.deepEqual(seen(), [], script);
    await lab.slurm.run('scancel', [id]);
  }
  const careless = await site.submit('array.sbatch', { options: ['--hold', '--export=ALL'], env });
  assert.notDeepEqual(seen(), [], 'where everything is exported it would be found');
  await lab.slurm.run('scancel', [careless]);
});
