/** The main job on a real geth, built from the Go module proxy once and cached outside the checkout. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGeth } from '../../scripts/nodes/geth.js';
import { exited, readJson, runStress, spawnStress } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** A build takes minutes, once; every run here takes seconds. */
const TIMEOUT_MS = 120_000;

/**
 * @param {Awaited<ReturnType<typeof startGeth>>} geth
 * @param {string[]} args
 * @param {string} out
 */
function load(geth, args, out) {
  const env = { STRESS_FUNDER_KEY: geth.funderKey };
  return spawnStress(['--rpc', geth.url, '--out', out, ...args], { env, timeoutMs: TIMEOUT_MS });
}

/** @param {string} file */
function exactRun(file) {
  const run = readJson(file);
  assertRunFile(run);
  assert.equal(run.audit.exact, true);
  assert.equal(run.counts.failed + run.counts.timedOut + run.counts.abandoned, 0, JSON.stringify(run.failures));
  assert.equal(Number(run.audit.effectsOnChain), run.counts.verified);
  return run;
}

await test('geth --dev, a block as soon as there is a transaction: 200 wallets', async (t) => {
  const folder = temporaryFolder(t);
  const geth = await startGeth({ period: 0 });
  t.after(() => geth.stop());
  const result = await load(geth, ['-t', '200', '-o', '0', '-d', '10s'], `${folder}/run.json`).done;
  assert.equal(result.code, 0, result.stderr);
  const run = exactRun(`${folder}/run.json`);
  t.diagnostic(
    `${run.rates.verifiedPerSecond.toFixed(0)} TPS, ${run.generator.cpuUsPerVerified.toFixed(0)} us of CPU each`,
  );
  assert.ok(run.generator.rpcCalls.inclusion < run.counts.verified, 'inclusion costs blocks, not transactions');
});

await test('geth --dev, a block every second, fees rising under load: 1,000 wallets', async (t) => {
  const folder = temporaryFolder(t);
  const geth = await startGeth({ period: 1, gasLimit: null });
  t.after(() => geth.stop());
  const args = ['-t', '1000', '-o', '0', '-d', '20s'];
  const result = await load(geth, args, `${folder}/run.json`).done;
  assert.equal(result.code, 0, result.stderr);
  const run = exactRun(`${folder}/run.json`);
  assert.ok(run.counts.verified > 1000, 'each wallet has more than one operation');
  t.diagnostic(`${run.rates.verifiedPerSecond.toFixed(0)} TPS, peak memory ${run.generator.peakRssBytes / 1e6} MB`);
});

await test('geth --dev: two instances with disjoint offsets, and both inclusion detectors', async (t) => {
  const folder = temporaryFolder(t);
  const geth = await startGeth({ period: 0 });
  t.after(() => geth.stop());
  await exited(0, ['fund', '-t', '100', '-o', '0', '--rpc', geth.url, '--fund-amount', '5'], {
    env: { STRESS_FUNDER_KEY: geth.funderKey },
  });
  const runs = ['0', '50'].map((offset, i) =>
    runStress(
      ['-t', '50', '-o', offset, '-d', '8s', '--rpc', geth.url, '--out', `${folder}/${offset}.json`].concat(
        ...['--inclusion', i === 0 ? 'blocks' : 'sync'],
      ),
      { timeoutMs: TIMEOUT_MS },
    ),
  );
  for (const result of await Promise.all(runs)) assert.equal(result.code, 0, result.stderr);
  exactRun(`${folder}/0.json`);
  exactRun(`${folder}/50.json`);
});

await test('geth --dev, a block every second: each way to find a block, over HTTP and a WebSocket', async (t) => {
  const folder = temporaryFolder(t);
  const geth = await startGeth({ period: 1 });
  t.after(() => geth.stop());
  const ways = { http: ['auto', 'blocks', 'sync'], ws: ['auto', 'heads', 'sync'] };
  for (const [scheme, names] of Object.entries(ways)) {
    for (const inclusion of names) {
      const out = `${folder}/${scheme}-${inclusion}.json`;
      const url = geth.url.replace('http', scheme);
      const args = ['-t', '50', '-d', '4s', '--inclusion', inclusion];
      const result = await load({ ...geth, url }, args, out).done;
      assert.equal(result.code, 0, result.stderr);
      const run = exactRun(out);
      assert.equal(run.environment.inclusion.name, inclusion === 'auto' ? names[1] : inclusion);
      assert.equal(run.generator.headSource, scheme === 'ws' ? 'subscription' : 'poll');
      assert.equal(run.generator.resubmissions.repeated, 0, 'the node takes the time that it is given');
    }
  }
});

await test('geth --dev: instances that overlap find each other out', async (t) => {
  const folder = temporaryFolder(t);
  const geth = await startGeth({ period: 0 });
  t.after(() => geth.stop());
  await exited(0, ['fund', '-t', '60', '--rpc', geth.url, '--fund-amount', '5'], {
    env: { STRESS_FUNDER_KEY: geth.funderKey },
  });
  // The first one sends as long as the second one looks, however slow the machine is.
  const args = ['--rpc', geth.url, '--interval', '1s', '-t', '40'];
  const first = spawnStress([...args, '-o', '0', '-d', '2m', '--out', `${folder}/0.json`], { timeoutMs: TIMEOUT_MS });
  await first.waitFor(/\n +[1-9]\d*\.\d s/);
  const second = spawnStress([...args, '-o', '20', '-d', '15s'], { timeoutMs: TIMEOUT_MS });
  await second.done;
  first.child.kill('SIGINT');
  const results = await Promise.all([first.done, second.done]);
  const accusers = results.filter(({ code }) => code === 76);
  assert.ok(accusers.length > 0, results.map(({ code, stderr }) => `${code}: ${stderr}`).join('\n'));
  for (const { stderr } of accusers) {
    const [, ranges] = /wallets ([\d., ]+) sent a transaction that is not of this run/.exec(stderr) ?? [];
    assert.ok(ranges, stderr);
    for (const index of ranges.match(/\d+/g) ?? []) assert.ok(Number(index) >= 20 && Number(index) < 40, stderr);
  }
});

await test('geth --dev, a block as soon as there is a transaction: its safe tag, and its finalized one every 32 blocks', async (t) => {
  const folder = temporaryFolder(t);
  const geth = await startGeth({ period: 0 });
  t.after(() => geth.stop());
  const args = ['-t', '20', '-o', '0', '-d', '8s', '--ladder', 'auto', '--threshold', 'broken=0'];
  const result = await load(geth, args, `${folder}/run.json`).done;
  assert.equal(result.code, 0, result.stderr);
  const { ladder, counts, unmeasured } = exactRun(`${folder}/run.json`);
  t.diagnostic(result.stdout.slice(result.stdout.indexOf('promises')));
  for (const rung of ['safe', 'finalized']) {
    const { reached, notReached, latency } = ladder.rungs[rung] ?? assert.fail(unmeasured[`/ladder/rungs/${rung}`]);
    assert.equal(reached + notReached, counts.started);
    assert.ok(reached > 0, `${rung}: none of ${notReached}`);
    assert.ok(latency.minUs >= ladder.rungs.latest.latency.minUs);
  }
});
