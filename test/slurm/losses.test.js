/** What becomes of a run on Slurm that loses an instance, a node, its time, or never had all of its instances. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { equalBy } from '../helpers/equal-by.js';
import { totalCount } from '../helpers/scale-out.js';
import { eventually, instancesOf } from './slurm.js';
import { PATIENCE_MS, Site, THREADS, openLab } from './site.js';

/** @import { TestContext } from 'node:test' */

const REPORTS = ['--interval', '1s'];

const lab = openLab();

/** Waits until all four instances have verified something and have said so in their run files. @param {Site} site @param {string} load */
function underWay(site, load) {
  return eventually(PATIENCE_MS, () => {
    for (const index of [0, 1, 2, 3])
      assert.ok(site.runFile(load, index).counts.verified > 0, `instance ${index}\n${site.logs()}`);
  });
}

/**
 * The merge was refused, and with --partial it says what is lost; the chain confirms what is not.
 * @param {Site} site
 * @param {string} load
 * @param {number[]} lost indexes
 */
async function assertPartial(site, load, lost) {
  assert.ok(!existsSync(join(site.folder, 'merged.json')), 'nothing is written where it was refused');
  const partial = await site.merge(load, '--partial');
  // What is there was audited and is right, each of it; that some is lost was accepted.
  await site.expect(partial, '0:0');
  const { merged, counts, audit } = site.merged();
  const log = site.log(`stress-merge-${partial}.log`);
  const unresolved = merged.unresolved.map((/** @type {any} */ { index, offset, threads }) => [index, offset, threads]);
  const expected = lost.map((index) => [index, index * THREADS, THREADS]);
  assert.deepEqual(unresolved, expected, log);
  assert.equal(audit.exact, false);
  for (const index of lost) assert.match(log, new RegExp(`instance ${index}\\b`));

  const runs = [0, 1, 2, 3].map((index) => site.runFile(load, index));
  const verified = runs.reduce((sum, run) => sum + run.counts.verified, 0);
  assert.equal(counts.verified, verified);
  for (const [index, run] of runs.entries()) {
    assert.equal(run.partial, lost.includes(index), `instance ${index}`);
    const onChain = totalCount(await site.wallets(1, index));
    if (lost.includes(index))
      assert.ok(onChain >= run.counts.verified, `instance ${index} sent more than it could say`);
    else assert.equal(onChain, run.counts.verified, `instance ${index}`);
  }
}

/** Four instances under load, and a merge that waits for them. @param {TestContext} t */
async function loaded(t) {
  const site = new Site(t, lab);
  const fund = await site.fund(4);
  const load = await site.submit('array.sbatch', {
    options: site.after(fund, '--array=0-3'),
    args: ['-d', '15s', ...REPORTS],
  });
  const merge = await site.merge(load);
  await underWay(site, load);
  return { site, load, merge };
}

test('an instance killed with -9: no merge without --partial, and what is unresolved is named', async (t) => {
  const { site, load, merge } = await loaded(t);
  const [{ pid }] = instancesOf(load).filter(({ index }) => index === 2);
  process.kill(pid, 'SIGKILL');
  await site.expect(load, '0:0', '0:0', '0:9', '0:0');
  await site.expect(merge, '75:0');
  assert.match(site.log(`stress-merge-${merge}.log`), /^stress: .*\b2\b.*--partial/m);
  await assertPartial(site, load, [2]);
});

test('a node that dies: its instances are partial, and Slurm does not start them again', async (t) => {
  const { site, load, merge } = await loaded(t);
  const placed = await lab.slurm.jobs(load);
  const [{ NodeList: node }] = placed;
  const lost = placed.flatMap(({ NodeList }, index) => (NodeList === node ? [index] : []));
  assert.ok(lost.length < 4, 'not all of them on one node');
  lab.slurm.killNode(node);
  t.after(() => lab.slurm.up());
  const jobs = await lab.slurm.ended(load, PATIENCE_MS);
  const states = jobs.map((_, index) => [lost.includes(index) ? 'NODE_FAIL' : 'COMPLETED', '0']);
  equalBy(jobs, ({ JobState, Restarts }) => [JobState, Restarts], states);
  assert.deepEqual(instancesOf(load), [], 'nothing of it goes on');
  await site.expect(merge, '75:0');
  await assertPartial(site, load, lost);
});

test('an instance that never starts: the others end by the time-out of the barrier', async (t) => {
  const site = new Site(t, lab);
  const fund = await site.fund(4);
  await site.expect(fund, '0:0');
  const args = ['-d', '10s', '--start-timeout', '20s'];
  const load = await site.submit('array.sbatch', { options: ['--hold', '--array=0-3'], args });
  await lab.slurm.run('scontrol', ['release', `${load}_[0-2]`]);
  await eventually(PATIENCE_MS, async () => {
    const codes = (await lab.slurm.jobs(load)).map(({ JobState, ExitCode }) => `${JobState} ${ExitCode}`);
    assert.deepEqual(codes, ['FAILED 75:0', 'FAILED 75:0', 'FAILED 75:0', 'PENDING 0:0'], site.logs());
  });
  await lab.slurm.run('scancel', [load]);
  for (const index of [0, 1, 2]) assert.match(site.log(`stress-${load}-${index}.log`), /^stress: .*\b3\b/m);
  const wallets = await site.wallets(4);
  assert.equal(totalCount(wallets), 0, 'none has begun its load');
});

for (const [script, option] of [
  ['array.sbatch', '--array=0-3'],
  ['gang.sbatch', '--ntasks=4'],
]) {
  test(`${script}: the time limit drains, and every run file is whole and exact`, async (t) => {
    const site = new Site(t, lab);
    const fund = await site.fund(4);
    const load = await site.submit(script, { options: site.after(fund, option), args: ['-d', '10m', ...REPORTS] });
    await underWay(site, load);
    // Now the signal that is due 90 s before the limit is overdue.
    await lab.slurm.run('scontrol', ['update', `JobId=${load}`, 'TimeLimit=2']);
    await site.expect(load, ...(script === 'array.sbatch' ? [0, 1, 2, 3] : [0]).map(() => '143:0'));
    const runs = [0, 1, 2, 3].map((index) => site.runFile(load, index));
    for (const { partial, end, audit } of runs)
      assert.deepEqual([partial, end, audit.exact], [false, 'terminated', true]);
    const verified = runs.reduce((sum, { counts }) => sum + counts.verified, 0);
    assert.equal(totalCount(await site.wallets(4)), verified);
  });
}
