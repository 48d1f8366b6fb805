/** Several threads share a slice: what they did adds up as if one had done it, and however they end it is in order. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil, startMiner } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { DEV_WALLETS } from '../helpers/dev-wallets.js';
import { assertNothingLeft, endProcessesOf } from '../helpers/leftovers.js';
import { mutant } from '../helpers/mutant.js';
import { assertRunFile, schemaErrors } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { RunFile } from '../helpers/run-file.js'
 * @import { TestContext } from 'node:test'
 */

/** `-v`: wallet index, contract address, count. */
const VERIFIED_LINE = /^(\d+) (0x[0-9a-fA-F]{40}) (\d+)$/gm;
const INTERVAL_LINE = /^ +\d+\.\d s +[\d,]+ +[1-9]/m;
const EXACT = /audit +exact: (\d+) counters grew by ([\d,]+) = \2 verified \+ 0 included late/;
const STACK_TRACE = /\n +at .*:\d+:\d+/;

/** A second signal means "at once" only when it comes after the first one was seen to do something. */
const SECOND_WISH_MS = 400;

/** "At once", on a busy machine: what is not ended so takes as long as a drain may, which is half a minute. */
const AT_ONCE_MS = 20_000;

/** A chain with a block for each transaction. @type {Anvil} */
let instant;
/** A chain with a block every 100 ms. @type {Anvil} */
let paced;

before(async () => {
  [instant, paced] = await Promise.all([
    startAnvil({ args: ['--accounts', '150'] }),
    startAnvil({ args: ['--accounts', '150', '--block-time', '0.1'] }),
  ]);
});

let nextIndex = 10;

/** Each test has wallets of its own. @param {number} threads */
function takeWallets(threads) {
  const offset = nextIndex;
  nextIndex += threads;
  return offset;
}

/**
 * @param {TestContext} t
 * @param {{rpc?: string | null, threads?: number, workers?: number | string, offset?: number, interval?: string, script?: string, more?: string[]}} given
 */
function fleet(t, given) {
  const { rpc = paced.url, threads = 6, workers = 2, interval = '300ms', script, more = [] } = given;
  const offset = given.offset ?? takeWallets(threads);
  const TMPDIR = temporaryFolder(t);
  t.after(() => endProcessesOf(TMPDIR));
  const out = join(temporaryFolder(t), 'run.json');
  const args = [
    ...(rpc === null ? [] : ['--rpc', rpc]),
    ...['-t', String(threads), '-o', String(offset), '--workers', String(workers)],
    ...['--interval', interval, '--out', out, ...more],
  ];
  const options = { env: { TMPDIR }, ...(script === undefined ? {} : { script }) };
  return { TMPDIR, offset, threads, args, options, readRun: () => /** @type {RunFile} */ (readJson(out)) };
}

/** @param {string} stdout @returns {Map<number, number[]>} the counts that -v says, by wallet */
function countsSaid(stdout) {
  /** @type {Map<number, number[]>} */
  const said = new Map();
  for (const [, index, , count] of stdout.matchAll(VERIFIED_LINE)) {
    said.set(Number(index), [...(said.get(Number(index)) ?? []), Number(count)]);
  }
  return said;
}

/** @param {number[]} values */
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

/** @param {RunFile} run */
function assertContiguous({ intervals }) {
  const [starts, ends] = [intervals.map(({ startMs }) => startMs), intervals.map(({ endMs }) => endMs)];
  assert.deepEqual(starts, [0, ...ends.slice(0, -1)], 'each row starts at the end of the one before');
}

/** @param {RunFile} run */
function auditOf(run) {
  return run.audit ?? assert.fail(`there is no audit: ${run.unmeasured['/audit']}`);
}

/**
 * Every wallet of the slice worked, -v said each increment once and in order, and all figures add up.
 * @param {RunFile} run
 * @param {string} stdout
 * @param {{offset: number, threads: number}} slice
 */
function assertWhole(run, stdout, { offset, threads }) {
  assertRunFile(run);
  const { counts } = run;
  assert.ok((run.blocks.gapMaxMs ?? 0) < 60_000, `no gap is longer than the run: ${run.blocks.gapMaxMs} ms`);
  assert.equal(auditOf(run).exact, true);
  assert.equal(auditOf(run).effectsOnChain, String(counts.verified));

  const said = countsSaid(stdout);
  assert.deepEqual(
    [...said.keys()].sort((a, b) => a - b),
    Array.from({ length: threads }, (_, i) => offset + i),
    'every wallet of the slice, and no other',
  );
  for (const [index, numbers] of said) {
    assert.deepEqual(
      numbers,
      numbers.map((_, i) => i + 1),
      `each count of wallet ${index} is one more than the one before`,
    );
  }
  assert.equal(sumOf([...said.values()].map(({ length }) => length)), counts.verified, 'a line for each, once');
}

describe('workers share the slice', { concurrency: 2 }, () => {
  /** @type {Array<{workers: number, threads: number, transport: string, inclusion: string, chain: 'instant' | 'embedded'}>} */
  const table = [
    { workers: 3, threads: 7, transport: 'tcp', inclusion: 'auto', chain: 'embedded' },
    { workers: 2, threads: 10, transport: 'undici', inclusion: 'blocks', chain: 'instant' },
  ];
  for (const { workers, threads, transport, inclusion, chain } of table) {
    test(`--workers ${workers} -t ${threads}, ${transport}, ${inclusion}, ${chain} blocks`, async (t) => {
      const { args, options, readRun, ...slice } = fleet(t, {
        rpc: chain === 'instant' ? instant.url : null,
        workers,
        threads,
        more: ['-d', '900ms', '-v', '--transport', transport, '--inclusion', inclusion],
      });
      const { code, stdout, stderr } = await runStress(args, options);
      assert.equal(stderr, '');
      assert.equal(code, 0);
      assert.match(stdout, EXACT);
      assert.match(
        stdout,
        new RegExp(`^${threads} wallets \\(${slice.offset}\\.\\.${slice.offset + threads - 1} of `, 'm'),
      );
      const run = readRun();
      assertWhole(run, stdout, slice);
      const { generator, counts, environment } = run;
      assert.equal(run.exitCode, 0);
      assert.equal(run.end, 'duration');
      assert.equal(generator.workers, workers);
      assert.equal(environment.embeddedChain, chain === 'embedded');
      assert.ok(generator.transport.connectionsOpened > workers, 'each worker has connections of its own');
      assert.ok(generator.presigned.used > 0, 'transactions are signed ahead in the workers');
      assert.ok(generator.presigned.used + generator.presigned.discarded <= counts.started);
      assert.ok(Number(generator.inclusionResolutionMs) > 0);
      // A machine that is busy may report late, and then for two intervals at once.
      assert.ok(run.intervals.length >= 2 && run.intervals.length <= 4, `${run.intervals.length} intervals`);
      await assertNothingLeft(slice.TMPDIR);
    });
  }

  test('blocks from before the load do not count', async (t) => {
    const { args, options, readRun } = fleet(t, { threads: 4, more: ['-d', '1s'] });
    const inSeconds = (/** @type {number} */ seconds) =>
      runStress([...args, '--start-at', (Date.now() / 1000 + seconds).toFixed(3)], options);
    // A machine may be too busy to be ready in time.
    const soon = await inSeconds(7);
    const { code, stdout, stderr } = soon.code === 75 ? await inSeconds(40) : soon;
    assert.equal(code, 0, stderr);
    assert.equal(countsSaid(stdout).size, 0, 'without -v no increment is told of');
    const { blocks, intervals } = readRun();
    // A block every 100 ms; a busy machine may see late what came just before the load.
    const most = 10 + Number(intervals.at(-1)?.endMs) / 100;
    assert.ok(blocks.count > 0 && blocks.count <= most, `${blocks.count} blocks, at most ${most}`);
  });

  test('--workers auto: one for every two cores, and no more than there are wallets', async (t) => {
    const { args, options, readRun, ...slice } = fleet(t, { workers: 'auto', threads: 2, more: ['-d', '500ms', '-v'] });
    const { code, stdout, stderr } = await runStress(args, options);
    assert.equal(code, 0, stderr);
    const run = readRun();
    const { cores } = /** @type {{cores: number}} */ (/** @type {unknown} */ (run.environment));
    assert.equal(run.generator.workers, Math.max(1, Math.min(2, Math.floor(cores / 2))));
    assertWhole(run, stdout, slice);
  });
});

describe('workers are asked to end', { concurrency: 2 }, () => {
  test('SIGINT: drained, exact, exit 130', async (t) => {
    const { args, options, readRun, ...slice } = fleet(t, { more: ['-v'] });
    const stress = startStress(args, options);
    await stress.waitFor(INTERVAL_LINE);
    stress.child.kill('SIGINT');
    const { code, stdout, stderr } = await stress.done;
    assert.equal(code, 130, stderr);
    assert.equal(stderr, '');
    assert.match(stdout, /^Summary: interrupted/m);
    assert.match(stdout, EXACT);
    const run = readRun();
    assert.equal(run.end, 'interrupted');
    assert.equal(run.exitCode, 130);
    assert.equal(run.counts.verified, run.counts.started, 'what was in flight was drained');
    assertWhole(run, stdout, slice);
    await assertNothingLeft(slice.TMPDIR);
  });

  test('a second SIGINT during a drain ends at once with what is known of all workers', async (t) => {
    const anvil = await startAnvil({ args: ['--no-mining'] });
    t.after(anvil.stop);
    const miner = startMiner(anvil);
    const { args, options, readRun, TMPDIR } = fleet(t, { rpc: anvil.url, offset: 0, threads: 5, more: ['-v'] });
    const stress = startStress(args, options);
    await stress.waitFor(/^\d 0x\w{40} 2$/m);
    await miner.pause();
    while (Number((await anvil.rpc('txpool_status')).pending) < 5) await sleep(20);
    stress.child.kill('SIGINT');
    // Without a block the drain cannot end by itself.
    await sleep(SECOND_WISH_MS);
    assert.doesNotMatch(stress.output().stdout, /Summary/);
    const askedAtMs = Date.now();
    stress.child.kill('SIGINT');
    const { code, stdout, stderr } = await stress.done;
    assert.ok(Date.now() - askedAtMs < AT_ONCE_MS, 'at once');
    assert.equal(code, 130, stderr);
    assert.equal(stderr, 'ERROR: the audit is incomplete: it could not be made: aborted by the user\n');
    assert.match(stdout, /audit +INCOMPLETE: .*aborted by the user/);
    const run = readRun();
    assert.deepEqual(schemaErrors(run), []);
    assert.equal(run.counts.abandoned, 5);
    assert.equal(run.counts.verified + 5, run.counts.started);
    assert.equal(run.audit, null);
    await assertNothingLeft(TMPDIR);
  });

  test('the endpoint ends: the run ends by itself with exit 69 and a summary', async (t) => {
    const anvil = await startAnvil({ args: ['--block-time', '0.1'] });
    t.after(anvil.stop);
    const { args, options, readRun, TMPDIR } = fleet(t, {
      rpc: anvil.url,
      offset: 0,
      threads: 5,
      more: ['-d', '1m', '--tx-timeout', '1s', '--drain-timeout', '1s', '--request-timeout', '1s'],
    });
    const stress = startStress(args, options);
    await stress.waitFor(INTERVAL_LINE);
    const goneAtMs = Date.now();
    await anvil.stop();
    const { code, stdout, stderr } = await stress.done;
    assert.equal(code, 69, stderr);
    assert.ok(Date.now() - goneAtMs < AT_ONCE_MS);
    assert.match(stderr, /has not answered for \d+ s|connection refused/);
    assert.doesNotMatch(stderr, STACK_TRACE);
    // After --tx-timeout both are known at once: no response, and all wallets stuck.
    assert.match(stdout, /^Summary: ended because (the endpoint was lost|no wallet was left)/m);
    const run = readRun();
    assert.deepEqual(schemaErrors(run), []);
    assert.ok(['endpoint_lost', 'no_wallets'].includes(run.end), run.end);
    assert.equal(run.exitCode, 69);
    assert.ok(run.counts.verified > 0 && run.counts.timedOut + run.counts.failed + run.counts.abandoned > 0);
    await assertNothingLeft(TMPDIR);
  });
});

const WORKER = 'src/core/worker-thread.js';
const WORKER_STARTS = '  const clock = createClock();\n';
const RECORDER = 'src/stats/recorder.js';
const ADD = '  add(sample) {\n';

/** The worker of the part that begins with this wallet dies after a while. @param {number} index @param {number} [afterMs] */
function deadly(index, afterMs = 700) {
  return {
    file: WORKER,
    find: WORKER_STARTS,
    replace: `${WORKER_STARTS}  if (wallets[0].index === ${index}) setTimeout(() => { throw new Error('planted'); }, ${afterMs});\n`,
  };
}

const ABORTS = '      aborted.abort();\n';
const THROW_LATER = `${ABORTS}      setTimeout(() => { throw new Error('planted'); }, 0);\n      await new Promise(() => {});\n`;

const METHODS = '  const aborted = new AbortController();\n';
const SNAPSHOT = '      flushSamples();\n';

/** The worker of the part that begins with this wallet dies soon after its second report. @param {number} index */
function deadlyAfterReports(index) {
  const death = `setTimeout(() => { throw new Error('planted'); }, 50)`;
  const isSecond = `endsInterval && task.wallets[0].index === ${index} && (counted.reports += 1) === 2`;
  return [
    { file: WORKER, find: METHODS, replace: `${METHODS}  const counted = { reports: 0 };\n` },
    { file: WORKER, find: SNAPSHOT, replace: `${SNAPSHOT}      if (${isSecond}) ${death};\n` },
  ];
}

describe('a worker that fails', { concurrency: 2 }, () => {
  test('dies: exit 70 at once, its wallets are named, the figures are those of its last report', async (t) => {
    const offset = takeWallets(6);
    const script = mutant(t, deadlyAfterReports(offset + 3));
    const { args, options, readRun, TMPDIR } = fleet(t, { offset, script, more: ['-d', '1m', '-v'] });
    const { code, stdout, stderr } = await runStress(args, options);
    assert.equal(code, 70, stderr);
    assert.match(
      stderr,
      new RegExp(`^ERROR: the worker of wallets ${offset + 3}\\.\\.${offset + 5} died: planted; .*\n$`),
    );
    assert.doesNotMatch(stderr + stdout, /not of this run|not ours/);
    assert.match(stdout, /^ {2}latency ms/m);
    assert.match(stdout, /audit +INCOMPLETE: .*the worker of wallets/);
    const run = readRun();
    assert.deepEqual([run.exitCode, run.end, run.audit], [70, 'worker_died', null]);
    assert.deepEqual(schemaErrors(run), []);
    assertContiguous(run);
    const { counts, latency } = run;
    assert.ok(run.inFlight >= 3, 'what it had in flight at its last report stays so');
    assert.equal(counts.started, counts.verified + counts.failed + counts.timedOut + counts.abandoned + run.inFlight);
    assert.equal(run.intervals.at(-1)?.inFlight, run.inFlight);
    // Operations after the last report of the dead worker are not in the figures.
    const living = [...countsSaid(stdout)].filter(([index]) => index < offset + 3);
    assert.ok(counts.verified >= sumOf(living.map(([, { length }]) => length)));
    for (const name of /** @type {const} */ (['started', 'verified', 'failed'])) {
      assert.equal(sumOf(run.intervals.map((row) => row.counts[name])), counts[name], `${name} of all intervals`);
    }
    const { total, halves = [] } = latency;
    assert.equal(sumOf(halves.map(({ count }) => count)), total.count);
    const load = run.intervals.filter(({ phase }) => phase === 'load');
    assert.equal(run.window.durationMs, load.at(-1)?.endMs, 'the window ends with the load');
    await assertNothingLeft(TMPDIR);
  });

  test('dies after a checkpoint that has no report behind it: the intervals still add up', async (t) => {
    const offset = takeWallets(4);
    const script = mutant(t, [deadly(offset + 2, 2500)]);
    const { args, options, readRun } = fleet(t, { offset, threads: 4, interval: '1m', script, more: ['-d', '1m'] });
    const { code, stderr } = await runStress(args, options);
    assert.equal(code, 70, stderr);
    const run = readRun();
    assertContiguous(run);
    assert.ok(run.counts.verified > 0);
    assert.equal(sumOf(run.intervals.map((row) => row.counts.verified)), run.counts.verified);
  });

  test('dies before it is ready: exit 70, and there is no load', async (t) => {
    const offset = takeWallets(4);
    const script = mutant(t, [
      {
        file: WORKER,
        find: WORKER_STARTS,
        replace: `${WORKER_STARTS}  if (wallets[0].index === ${offset + 2}) throw new Error('planted');\n`,
      },
    ]);
    const { args, options, TMPDIR } = fleet(t, { offset, threads: 4, script, more: ['-d', '2s'] });
    const { code, stdout, stderr } = await runStress(args, options);
    assert.equal(code, 70, stderr);
    assert.match(
      stderr,
      new RegExp(`^stress: the worker of wallets ${offset + 2}\\.\\.${offset + 3} died: planted.*\n`),
    );
    assert.doesNotMatch(stderr + stdout, STACK_TRACE);
    assert.doesNotMatch(stdout, /^Summary: /m);
    await assertNothingLeft(TMPDIR);
  });

  test('all of them die: exit 70, a line for each, a summary', async (t) => {
    const offset = takeWallets(4);
    // The death of one aborts the run: the other one dies of that, however late its thread started.
    const script = mutant(t, [...deadlyAfterReports(offset), { file: WORKER, find: ABORTS, replace: THROW_LATER }]);
    const { args, options, readRun, TMPDIR } = fleet(t, { offset, threads: 4, script, more: ['-d', '1m'] });
    const { code, stdout, stderr } = await runStress(args, options);
    assert.equal(code, 70, stderr);
    assert.match(stderr, new RegExp(`wallets ${offset}\\.\\.${offset + 1} died`));
    assert.match(stderr, new RegExp(`wallets ${offset + 2}\\.\\.${offset + 3} died`));
    assert.doesNotMatch(stderr + stdout, STACK_TRACE);
    assert.match(stdout, /^Summary: /m);
    const run = readRun();
    assert.equal(run.exitCode, 70);
    assertContiguous(run);
    await assertNothingLeft(TMPDIR);
  });

  test('its engine cannot be made: exit 70', async (t) => {
    const offset = takeWallets(4);
    const script = mutant(t, [
      {
        file: WORKER,
        find: '  const engine = new ThreadEngine(',
        replace: `  if (wallets[0].index === ${offset + 2}) throw new Error('planted');\n  const engine = new ThreadEngine(`,
      },
    ]);
    const { args, options } = fleet(t, { offset, threads: 4, script, more: ['-d', '1s'] });
    const { code, stderr } = await runStress(args, options);
    assert.equal(code, 70, stderr);
    assert.match(stderr, /^stress: the worker of wallets .* died: planted/);
  });

  test('conservation is broken in it: exit 70 and the wallet', async (t) => {
    const offset = takeWallets(6);
    const victim = offset + 4;
    const script = mutant(t, [
      {
        file: RECORDER,
        find: ADD,
        replace: `${ADD}    if (sample.walletIndex === ${victim} && !this.done) return void (this.done = true);\n`,
      },
    ]);
    const { args, options, readRun, TMPDIR } = fleet(t, { offset, script, more: ['-d', '1m'] });
    const { code, stdout, stderr } = await runStress(args, options);
    assert.equal(code, 70, stderr);
    assert.match(stderr, new RegExp(`conservation is broken for wallet ${victim}:`));
    assert.doesNotMatch(stderr, /not of this run|died/);
    assert.doesNotMatch(stderr, STACK_TRACE);
    assert.match(stdout, /^Summary: ended by a bug of stress/m);
    const run = readRun();
    assert.equal(run.inFlight, 1, 'the operation that was not counted');
    assert.equal(run.end, 'internal');
    assert.equal(run.exitCode, 70);
    assert.deepEqual(
      auditOf(run).mismatches.map(({ walletIndex }) => walletIndex),
      [victim],
    );
    await assertNothingLeft(TMPDIR);
  });

  test('an exception when a sample is counted: exit 70 with its words, and no interval is lost', async (t) => {
    const offset = takeWallets(4);
    const script = mutant(t, [
      {
        file: RECORDER,
        find: ADD,
        replace: `${ADD}    if (sample.walletIndex === ${offset} && this.counts.verified >= 5) throw new Error('planted');\n`,
      },
    ]);
    const { args, options, readRun } = fleet(t, { offset, threads: 4, script, more: ['-d', '1m'] });
    const { code, stdout, stderr } = await runStress([...args, '--drain-timeout', '1s'], options);
    assert.equal(code, 70, stderr);
    assert.match(stderr, /planted/);
    assert.doesNotMatch(stderr, STACK_TRACE);
    assert.match(stdout, /^Summary: ended by a bug of stress/m);
    const run = readRun();
    for (const name of /** @type {const} */ (['started', 'verified'])) {
      assert.equal(sumOf(run.intervals.map((row) => row.counts[name])), run.counts[name], `${name} of all intervals`);
    }
  });
});

/** Far more than the run offers. */
const FEE = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n };

/** @param {Anvil} anvil @param {number} index of the wallet @returns {Promise<string>} the hash */
async function sendFrom(anvil, index) {
  const wallet = DEV_WALLETS.deriveChild(index);
  const nonce = Number(await anvil.rpc('eth_getTransactionCount', [wallet.address, 'pending']));
  const transfer = { to: `0x${'12'.repeat(20)}`, value: 1n, gasLimit: 21_000n };
  const raw = await wallet.signTransaction({ type: 2, chainId: 31337, nonce, ...FEE, ...transfer });
  return anvil.rpc('eth_sendRawTransaction', [raw]);
}

describe('who sends from the wallets of a worker', { concurrency: 2 }, () => {
  test('a foreign transaction from a wallet of the second worker: exit 76, the wallet by its own index', async (t) => {
    const anvil = await startAnvil({ args: ['--no-mining', '--accounts', '20'] });
    const miner = startMiner(anvil);
    t.after(async () => {
      await miner.pause();
      await anvil.stop();
    });
    const offset = 11;
    const { args, options, readRun, TMPDIR } = fleet(t, {
      rpc: anvil.url,
      offset,
      threads: 5,
      more: ['-v', '-d', '20s'],
    });
    const stress = startStress(args, options);
    await stress.waitFor(/^15 0x\w{40} 3$/m);
    await miner.pause();
    while (Number((await anvil.rpc('txpool_status')).pending) < 5) await sleep(20);
    const hash = await sendFrom(anvil, 15);
    miner.resume();
    const { code, stdout, stderr } = await stress.done;
    assert.equal(code, 76, stderr);
    assert.match(
      stderr,
      new RegExp(`wallets 15 sent a transaction that is not of this run: ${hash} \\(wallet 15, nonce \\d+\\)`),
    );
    assert.match(stdout, /^ {2}audit +NOT EXACT/m);
    const run = readRun();
    assertRunFile(run);
    assert.equal(run.end, 'foreign_sender', 'found while running, not at the end');
    const audit = auditOf(run);
    assert.deepEqual(
      audit.foreign.map((foreign) => [foreign.walletIndex, foreign.hash]),
      [[15, hash]],
    );
    assert.deepEqual(
      audit.mismatches.map(({ walletIndex }) => walletIndex),
      [15],
    );
    await assertNothingLeft(TMPDIR);
  });
});
