/** What is left of a run that does not come to its end: the run file as of its last checkpoint, and stress report. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil } from '../helpers/anvil.js';
import { STRESS, cleanEnvironment, readJson, runStress, spawnStress, startStress } from '../helpers/cli.js';
import { assertPartialRunFile, assertRunFile } from '../helpers/run-file.js';
import { assertRefused } from '../helpers/table.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { TestContext } from 'node:test'
 */

/** The selector of count(). */
const COUNT = '0x06661abd';

/** A chain with a block every 100 ms. @type {Anvil} */
let chain;

before(async () => {
  chain = await startAnvil({ args: ['--block-time', '0.1', '--accounts', '60'] });
});

let nextIndex = 1;

/** The tests run side by side, each with wallets of its own. @param {number} threads @returns {string[]} options */
function takeWallets(threads) {
  const args = ['--rpc', chain.url, '-t', String(threads), '-o', String(nextIndex)];
  nextIndex += threads;
  return args;
}

/** What the counters of a run say, as the chain has them. @param {string} contracts file */
async function countersOf(contracts) {
  /** @type {string[]} */
  const addresses = Object.values(readJson(contracts).contracts);
  const counts = await Promise.all(addresses.map((to) => chain.rpc('eth_call', [{ to, data: COUNT }, 'latest'])));
  return counts.reduce((sum, count) => sum + Number(count), 0);
}

/** Whether a checkpoint knows of something. @param {any} run */
const hasVerified = (run) => run.counts.verified > 0;

/**
 * Kills a run at a checkpoint, and looks at what it has left.
 * @param {TestContext} t
 * @param {string[]} more
 * @param {(run: any) => boolean} isDue which checkpoint
 */
async function killed(t, more, isDue) {
  const folder = temporaryFolder(t);
  const [out, contracts] = [join(folder, 'run.json'), join(folder, 'contracts.json')];
  const running = spawnStress([
    ...takeWallets(3),
    ...(more.includes('--interval') ? [] : ['--interval', '300ms']),
    ...(more.includes('rpc') ? [] : ['--contracts', contracts]),
    '--out',
    out,
    ...more,
  ]);
  while (!existsSync(out) || !isDue(readJson(out))) {
    assert.equal(running.child.exitCode, null, running.output().stderr);
    await sleep(10);
  }
  running.child.kill('SIGKILL');
  await running.done;
  return { folder, out, contracts, run: readJson(out) };
}

describe('after kill -9', { concurrency: 4 }, () => {
  const noneYet = () => true;
  for (const [how, more, isDue] of /** @type {Array<[string, string[], (run: any) => boolean]>} */ ([
    ['a run at its first checkpoint', [], noneYet],
    ['plain calls', ['--workload', 'rpc', '--method', 'eth_blockNumber'], hasVerified],
    ['a rate', ['--rate', '20', '--threshold', 'failed<1'], hasVerified],
  ]))
    test(`of ${how}`, async (t) => {
      const { run, contracts, folder } = await killed(t, more, isDue);
      assertPartialRunFile(run);
      if (how !== 'plain calls' && isDue === hasVerified) {
        const onChain = await countersOf(contracts);
        assert.ok(run.counts.verified <= onChain, `${run.counts.verified} verified, ${onChain} counted by the chain`);
      }
      const left = readdirSync(folder).filter((name) => !/^(run|contracts)\.json$/.test(name));
      assert.ok(left.every((name) => name.endsWith('.tmp')) && left.length <= 1, left.join());
    });

  test('of two threads between two reports that are far apart: checkpoints do not wait for reports', async (t) => {
    const isDue = (/** @type {any} */ run) => hasVerified(run) && run.window.durationMs > 2000;
    const { run, contracts } = await killed(t, ['--workers', '2', '--interval', '1m'], isDue);
    assertPartialRunFile(run);
    assert.ok(run.counts.verified <= (await countersOf(contracts)));
    assert.deepEqual(run.intervals, []);
    assert.ok(run.generator.transport.requests > run.counts.verified, 'with what the workers have asked');
  });

  test('in the warm-up: there is no window yet', async (t) => {
    const { run } = await killed(t, ['--warmup', '60s'], hasVerified);
    assertPartialRunFile(run);
    assert.ok(run.counts.verified > 0);
    assert.deepEqual([run.window.durationMs, run.window.counts.scheduled, run.rates.verifiedPerSecond], [0, 0, null]);
  });

  test('in the drain: the window is over, and operations are in flight', async (t) => {
    const slow = await startAnvil();
    const folder = temporaryFolder(t);
    const out = join(folder, 'run.json');
    const common = ['-t', '3', '--rpc', slow.url, '--contracts', join(folder, 'contracts.json'), '--out', out];
    assert.equal((await runStress([...common, '-d', '200ms', '--quiet'])).code, 0);
    await slow.rpc('evm_setAutomine', [false]);
    const running = spawnStress([...common, '-d', '400ms', '--tx-timeout', '60s']);
    while (readJson(out).intervals.length === 0 || !readJson(out).partial) await sleep(20);
    running.child.kill('SIGKILL');
    await running.done;
    const run = readJson(out);
    assertPartialRunFile(run);
    assert.deepEqual([run.window.durationMs, run.inFlight, run.counts.verified], [400, 3, 0]);
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
      const { code, stdout, stderr } = await runStress([...takeWallets(2), '-d', '2s', '--out', out]);
      assert.equal(code, 73, stderr);
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
    const out = join(temporaryFolder(t), 'run.json');
    const running = startStress([...takeWallets(2), '-d', '500ms', '--out', out]);
    while (!existsSync(out)) await sleep(5);
    const first = readJson(out);
    assert.equal((await running.done).code, 0);
    const run = readJson(out);
    assertPartialRunFile(first);
    assertRunFile(run);
    assert.equal(run.id, first.id);
  });
});

describe('a clock that is set in mid-run', { concurrency: 2 }, () => {
  for (const [name, hours] of /** @type {const} */ ([
    ['back', -1],
    ['forward', 1],
  ])) {
    test(`${name}: instants of the run file are in order, and durations are true`, async (t) => {
      const folder = temporaryFolder(t);
      const [out, samples, hlog] = ['run.json', 'samples.csv', 'run.hlog'].map((file) => join(folder, file));
      const preload = join(folder, 'step.mjs');
      const step = `const { now } = Date; Date.now = () => now() + (process.uptime() > 3 ? ${hours} * 3600_000 : 0);`;
      writeFileSync(preload, step);
      const env = { NODE_OPTIONS: `--import=${preload}` };
      const files = ['--out', out, '--samples', samples, '--hlog', hlog];
      const args = [...takeWallets(2), '-d', '4s', '--interval', '500ms', ...files];
      const { code, stderr } = await spawnStress(args, { env }).done;
      assert.equal(code, 0, stderr);
      const run = readJson(out);
      assertRunFile(run);
      const { skewMinMs, skewMaxMs } = run.blocks;
      assert.ok(Math.max(Math.abs(skewMinMs), Math.abs(skewMaxMs)) > 3_000_000, 'the clock was set while blocks came');
      const tookMs = Date.parse(run.endedAt) - Date.parse(run.startedAt);
      assert.ok(tookMs > 4000 && tookMs < 120_000, `${tookMs} ms`);
      const starts = [...readFileSync(hlog, 'utf8').matchAll(/^(\d+\.\d+),/gm)].map(([, seconds]) => Number(seconds));
      assert.ok(starts.length > 3 && starts.every((seconds) => seconds >= 0 && seconds < 120), starts.join());
    });
  }
});

test('standard output and standard error are closed: the run ends in good order, its file is whole', async (t) => {
  const out = join(temporaryFolder(t), 'run.json');
  const running = spawnStress([...takeWallets(2), '--interval', '200ms', '--out', out]);
  await running.waitFor(/^ +\d+\.\d s /m);
  running.child.stdout.destroy();
  running.child.stderr.destroy();
  await running.done;
  const run = readJson(out);
  assertRunFile(run);
  assert.deepEqual([run.end, run.audit.exact], ['output_closed', true]);
});

describe('stress report', () => {
  test('prints what the run has printed at its end, thresholds and all', async (t) => {
    const out = join(temporaryFolder(t), 'run.json');
    const args = ['-d', '700ms', '--threshold', 'p99<1m', '--threshold', 'verified>100000000', '--explain'];
    const ended = await runStress([...takeWallets(2), ...args, '--out', out]);
    assert.equal(ended.code, 99, ended.stderr);
    const { code, stdout, stderr } = await runStress(['report', out, '--explain']);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /verified>100000000 +FAILED/);
    assert.ok(ended.stdout.endsWith(`${stdout}written: ${out}\n`), stdout);
  });

  test('a run that was killed says that it is not whole, and why; of several files each has its name', async (t) => {
    const { out } = await killed(t, [], hasVerified);
    const { endedAt, counts } = readJson(out);
    const { code, stdout, stderr } = await runStress(['report', out, out]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(stdout.split(`${out}:\n`).length, 3);
    assert.ok(stdout.includes(`partial: the generator ended before the run did; figures up to ${endedAt}\n`), stdout);
    assert.match(stdout, new RegExp(`^  verified +${counts.verified}$`, 'm'));
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
      json.failureWords = { reverted: 'red \u001b[31m, \u009b2J and \u0007\r' };
      writeFileSync(out, JSON.stringify(json));
      const { stdout: shown } = await runStress(['report', out]);
      assert.match(shown, /first reverted: red +\[31m,/);
      assert.doesNotMatch(shown, /[^\P{Cc}\n]/u);
    });
  });

  test('a pipe without a writer is refused at once', async (t) => {
    const pipe = join(temporaryFolder(t), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const { code, stdout, stderr } = await runStress(['report', pipe], { timeoutMs: 60_000 });
    assert.deepEqual([code, stdout], [65, '']);
    assert.match(stderr, /^stress: cannot read \S+pipe: it is not a file; give a file that --out has written\n$/);
  });

  test('a file that is none: one line that says what is wrong, and 65', async (t) => {
    const folder = temporaryFolder(t);
    const out = join(folder, 'run.json');
    const first = await runStress([...takeWallets(1), '-d', '1s', '--out', out]);
    assert.equal(first.code, 0, first.stdout + first.stderr);
    /** @param {(run: any) => void} change */
    const changed = (change) => {
      const run = readJson(out);
      change(run);
      return JSON.stringify(run);
    };
    /** @type {Array<[string, RegExp]>} */
    const texts = [
      ['', /is not valid JSON/],
      [readFileSync(out, 'utf8').slice(0, 2000), /is not valid JSON/],
      ['null', /is no run file: it does not say "schema"/],
      ['[]', /is no run file: it does not say "schema"/],
      ['{"schema": "evm-stress/contracts@1"}', /is no run file of this version, but "evm-stress\/contracts@1"/],
      ['{"schema": "evm-stress/run@2"}', /is no run file of this version, but "evm-stress\/run@2"/],
      ['{"schema": "evm-stress/run@1"}', /is no whole run file: \/id is missing/],
      [changed((run) => delete run.latency.total.p99Us), /: \/latency\/total\/p99Us is missing/],
      [changed((run) => (run.counts.verified = '5')), /: \/counts\/verified must be integer/],
      [changed((run) => (run.audit.exact = 1)), /: \/audit\/exact must be boolean/],
      [changed((run) => (run.end = 'bored')), /: \/end must be one of running, duration/],
      [changed((run) => (run.more = 1)), /: \/more is not known/],
      // What a rate has left behind is read out of the histograms of the intervals.
      [
        changed((run) => {
          run.rates.askedPerSecond = run.rates.achievedPerSecond;
          run.window.counts.scheduled = 1e6;
          run.intervals[0].latency.hdr = 'AAAA';
          run.blocks.count = 1000;
          run.latency.halves = [1, 2].map(() => ({ count: 0, sumUs: 0 }));
        }),
        /has figures that cannot be read/,
      ],
    ];
    const bad = texts.map(([text, words], i) => {
      const file = join(folder, `bad-${i}.json`);
      writeFileSync(file, text);
      return /** @type {[string[], number, RegExp]} */ ([
        ['report', out, file],
        65,
        new RegExp(`bad-${i}\\.json.*${words.source}`),
      ]);
    });
    const damaged = join(folder, 'damaged.json');
    writeFileSync(
      damaged,
      changed((run) => (run.intervals.find((/** @type {any} */ row) => row.latency.count > 0).latency.hdr = 'AAAA')),
    );
    const damagedTotal = join(folder, 'total.json');
    writeFileSync(
      damagedTotal,
      changed((run) => (run.latency.total.hdr = 'AAAA')),
    );
    const several = ['report', out, damagedTotal, '--html', join(folder, 'page.html')];
    await assertRefused(t, [
      ...bad,
      [several, 65, /total\.json has figures that cannot be read/],
      [['report', damaged, '--html', join(folder, 'page.html')], 65, /damaged\.json has figures that cannot be read/],
      [['report', join(folder, 'nothing.json')], 65, /no such file/],
      [['report', folder], 65, /is a folder without sweep\.json or compare\.json or bisect\.json: give a file/],
      [['report', '/dev/zero'], 65, /it is not a file/],
    ]);
  });
});
