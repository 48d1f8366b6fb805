/** What is left of a run that does not come to its end: the run file as of its last checkpoint, and stress report. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { anvilFor, countersIn, pending, startMinedChain } from '../helpers/anvil.js';
import { STRESS, cleanEnvironment, readJson, runStress, spawnStress } from '../helpers/cli.js';
import { assertPartialRunFile } from '../helpers/run-file.js';
import { runOf, startOf } from '../helpers/run-of.js';
import { assertRefused } from '../helpers/table.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { until } from '../helpers/until.js';

/**
 * @import { Running } from '../helpers/run-of.js'
 * @import { TestContext } from 'node:test'
 */

/** A chain with a block every 100 ms. */
const chain = anvilFor('--block-time 0.1 --accounts 60');

/** Whether a checkpoint knows of something. @param {any} run */
const hasVerified = (run) => run.counts.verified > 0;

/** Kills a run at a checkpoint. @param {Running} running @param {(run: any) => boolean} isDue which checkpoint */
async function killedAt({ child, done, out, output, folder }, isDue) {
  while (!existsSync(out) || !isDue(readJson(out))) {
    assert.equal(child.exitCode, null, output().stderr);
    await sleep(10);
  }
  child.kill('SIGKILL');
  await done;
  const run = readJson(out);
  assertPartialRunFile(run);
  return { run, folder, out };
}

/** @param {TestContext} t @param {string} words @param {(run: any) => boolean} [isDue] */
const killed = (t, words, isDue = hasVerified) =>
  killedAt(startOf(t, words, { chain, threads: 3, start: spawnStress }), isDue);

describe('after kill -9', { concurrency: 4 }, () => {
  test('of plain calls', async (t) => {
    const { folder } = await killed(t, '--workload rpc --method eth_blockNumber --rate 50');
    const left = readdirSync(folder).filter((name) => name !== 'run.json');
    assert.ok(left.every((name) => name.endsWith('.tmp')) && left.length <= 1, left.join());
  });

  test('of two threads between two reports that are far apart: checkpoints do not wait for reports', async (t) => {
    const isDue = (/** @type {any} */ run) => hasVerified(run) && run.window.durationMs > 1000;
    const { run, folder } = await killed(t, '--workers 2 --interval 1m --contracts DIR/contracts.json', isDue);
    assert.ok(run.counts.verified <= (await countersIn(chain.url, join(folder, 'contracts.json'))));
    assert.deepEqual(run.intervals, []);
    assert.ok(run.generator.transport.requests > run.counts.verified, 'with what the workers have asked');
  });

  test('in the warm-up: there is no window yet', async (t) => {
    const { run } = await killed(t, '--warmup 10m');
    assert.deepEqual([run.window.durationMs, run.window.counts.scheduled, run.rates.verifiedPerSecond], [0, 0, null]);
  });

  test('in the drain: the window is over, and operations are in flight', async (t) => {
    const { anvil, miner } = await startMinedChain(t);
    const words = '-v -d 2s --interval 1m --tx-timeout 1h --drain-timeout 1h';
    const running = startOf(t, words, { chain: anvil, threads: 3, start: spawnStress });
    await running.waitFor(/^\d 0x\w{40} 1$/m);
    await miner.pause();
    await pending(anvil, 3);
    const { run } = await killedAt(running, ({ intervals }) => intervals.length > 0);
    assert.deepEqual([run.window.durationMs, run.inFlight], [2000, 3]);
  });
});

describe('the last checkpoint', () => {
  test('is what a full disk leaves; it is said once, the run goes on, and the end says 73', async (t) => {
    const folder = temporaryFolder(t);
    const small = join(folder, 'small');
    try {
      execFileSync('mkdir', [small]);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', small], { stdio: 'ignore' });
    } catch {
      return t.skip('only root can make a small disk');
    }
    try {
      const out = join(small, 'run.json');
      writeFileSync(out, '{}');
      const { stdout, stderr } = await runOf(t, `-d 2s --out ${out}`, { chain, threads: 2, exit: 73 });
      assert.match(stdout, /audit +exact/);
      const lines = stderr.match(/cannot write .*run\.json: the disk is full/g) ?? [];
      assert.equal(lines.length, 2, stderr);
      assert.equal(stderr.match(/the run continues without/g)?.length, 1, stderr);
      assert.equal(readFileSync(out, 'utf8'), '{}');
    } finally {
      execFileSync('umount', [small]);
    }
  });

  test('is replaced by the whole run, under the same id', async (t) => {
    const running = startOf(t, '-d 500ms', { chain, threads: 2 });
    await until(() => existsSync(running.out));
    const first = readJson(running.out);
    assertPartialRunFile(first);
    assert.equal((await running.end()).run.id, first.id);
  });
});

describe('stress report', () => {
  test('prints what the run has printed at its end, thresholds and all', async (t) => {
    const words = '-d 700ms --threshold p99<1m --threshold verified>100000000 --explain';
    const ended = await runOf(t, words, { chain, threads: 2, exit: 99 });
    const { code, stdout, stderr } = await runStress(['report', ended.out, '--explain']);
    const warned = ended.run.warnings.map((/** @type {string} */ line) => `WARN: ${line}\n`).join('');
    assert.deepEqual([code, stderr], [0, warned]);
    assert.match(stdout, /verified>100000000 +FAILED/);
    assert.ok(ended.stdout.endsWith(`${stdout}written: ${ended.out}\n`), stdout);
  });

  test('a run that was killed says that it is not whole, and why; of several files each has its name', async (t) => {
    const { out } = await killed(t, '');
    const { endedAt, counts } = readJson(out);
    const { code, stdout, stderr } = await runStress(['report', out, out]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(stdout.split(`${out}:\n`).length, 3);
    assert.ok(stdout.includes(`partial: the generator ended before the run did; figures up to ${endedAt}\n`), stdout);
    assert.match(stdout, new RegExp(`^  verified +${counts.verified}\\b`, 'm'));
    assert.match(stdout, /audit +none: the run was still running/);

    await t.test('-q prints nothing', async () => {
      const quiet = await runStress(['report', '-q', out]);
      assert.deepEqual([quiet.code, quiet.stdout, quiet.stderr], [0, '', '']);
    });

    await t.test('a closed reader is no error', () => {
      const script = '"$NODE" "$STRESS" report "$FILE" "$FILE" "$FILE" | head -n 1 >/dev/null; exit ${PIPESTATUS[0]}';
      const env = { NODE: process.execPath, STRESS, FILE: out };
      const done = spawnSync('bash', ['-c', script], { env: { ...cleanEnvironment(), ...env }, encoding: 'utf8' });
      assert.deepEqual([done.status, done.stderr], [0, '']);
    });

    await t.test('control characters in a file do not reach the terminal', async () => {
      const json = readJson(out);
      json.unmeasured['/audit'] = 'red \u001b[31m, \u009b2J and \u0007\r';
      writeFileSync(out, JSON.stringify(json));
      const { stdout: shown } = await runStress(['report', out]);
      assert.match(shown, /none: red +\[31m,/);
      assert.doesNotMatch(shown, /[^\P{Cc}\n]/u);
    });
  });

  test('a file that is none: one line that says what is wrong, and 65', async (t) => {
    const { out, folder } = await runOf(t, '-d 1s', { chain, threads: 1 });
    /** @param {(run: any) => void} change */
    const changed = (change) => {
      const run = readJson(out);
      change(run);
      return JSON.stringify(run);
    };
    const damaged = changed((run) => (run.latency.total.hdr = 'AAAA'));
    const texts = /** @type {Array<[string, RegExp]>} */ ([
      [readFileSync(out, 'utf8').slice(0, 2000), /is not valid JSON/],
      ['{"schema": "evm-stress/contracts@1"}', /is no run file of this version, but "evm-stress\/contracts@1"/],
      ['{"schema": "evm-stress/run@1"}', /is no whole run file: \/id is missing/],
      [changed((run) => (run.audit.exact = 1)), /: \/audit\/exact must be boolean/],
      [damaged, /has figures that cannot be read/],
    ]);
    const rows = texts.map(([text, words], i) => {
      const file = join(folder, `bad-${i}.json`);
      writeFileSync(file, text);
      const page = text === damaged ? ` --html ${join(folder, 'page.html')}` : '';
      return /** @type {[string, number, RegExp]} */ ([
        `report ${out} ${file}${page}`,
        65,
        new RegExp(`bad-${i}\\.json.*${words.source}`),
      ]);
    });
    await assertRefused(t, [...rows, ['report /dev/zero', 65, /it is not a file/]]);
  });
});
