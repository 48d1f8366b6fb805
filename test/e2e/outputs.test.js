/** All outputs of one run, read as their readers would: they tell the same story. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import * as hdr from 'hdr-histogram-js';
import { freePort, startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, spawnStress, startStress } from '../helpers/cli.js';
import { DEV_MNEMONIC, DEV_WALLETS } from '../helpers/dev-wallets.js';
import { parsePage, valueOf } from '../helpers/prometheus-page.js';
import { serveMethods } from '../helpers/endpoint.js';
import { assertAgrees, assertNear } from '../helpers/recompute.js';
import { readRows } from '../helpers/rows.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { Metric } from '../helpers/prometheus-page.js'
 * @import { RunFile } from '../helpers/run-file.js'
 * @import { AddressInfo } from 'node:net'
 */

/** @type {Anvil} */
let chain;
let nextWallet = 0;
before(async () => (chain = await startAnvil({ args: ['--accounts', '60', '--block-time', '0.1'] })));
after(() => chain.stop());

/** Wallets that no other test of this file uses. @param {number} count */
function takeWallets(count) {
  const args = ['-t', String(count), '-o', String(nextWallet), '--rpc', chain.url];
  nextWallet += count;
  return args;
}

/** The page again and again, until it is gone. @param {number} port @param {Promise<unknown>} done */
async function lastPage(port, done) {
  let page = '';
  let isOver = false;
  done.finally(() => (isOver = true)).catch(() => {});
  while (!isOver) {
    await fetch(`http://127.0.0.1:${port}/metrics`).then(
      async (response) => (page = await response.text()),
      () => {},
    );
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return parsePage(page);
}

/** @param {any} run @param {Metric[]} page */
function assertPage(run, page) {
  const elapsedMs = Number(valueOf(page, 'stress_load_elapsed_seconds')) * 1000;
  const seen = run.intervals.filter((/** @type {any} */ { endMs }) => endMs <= elapsedMs + 0.001);
  // The last page that was read may be one or more intervals old.
  assert.ok(seen.length > 0, `none of ${run.intervals.length} intervals was on it`);
  const sum = (/** @type {(row: any) => number} */ of) =>
    seen.reduce((/** @type {number} */ all, /** @type {any} */ row) => all + of(row), 0);
  for (const [name, key] of /** @type {const} */ ([
    ['stress_operations_scheduled_total', 'scheduled'],
    ['stress_operations_started_total', 'started'],
    ['stress_operations_dropped_total', 'dropped'],
  ]))
    assert.equal(
      valueOf(page, name),
      sum(({ counts }) => counts[key]),
    );
  for (const [outcome, key] of /** @type {const} */ ([
    ['verified', 'verified'],
    ['failed', 'failed'],
    ['timed_out', 'timedOut'],
    ['abandoned', 'abandoned'],
  ]))
    assert.equal(
      valueOf(page, 'stress_operations_total', { outcome }),
      sum(({ counts }) => counts[key]),
    );
  assert.equal(
    valueOf(page, 'stress_latency_seconds_count'),
    sum(({ latency }) => latency.count),
  );
  assertNear(
    Number(valueOf(page, 'stress_latency_seconds_sum')),
    sum(({ latency }) => latency.sumUs) / 1e6,
    1e-9,
    'sum',
  );
  assert.equal(
    valueOf(page, 'stress_lag_seconds_count'),
    sum(({ lag }) => lag.count),
  );
  assert.equal(
    valueOf(page, 'stress_blocks_total'),
    sum(({ blocks }) => blocks.count),
  );
  assert.equal(
    valueOf(page, 'stress_block_gas_used_total'),
    sum(({ blocks }) => blocks.gasUsed),
  );
  const stages = ['queued', 'submit', 'inclusion', 'readBack'].map((stage) =>
    Number(valueOf(page, 'stress_stage_seconds_sum', { stage })),
  );
  assertNear(
    stages.reduce((all, one) => all + one, 0),
    Number(valueOf(page, 'stress_latency_seconds_sum')),
    1e-9,
    'the stages add up to the latency',
  );
}

/** @param {any} run @param {string} file */
function assertHlog(run, file) {
  const text = readFileSync(file, 'utf8');
  assert.deepEqual(hdr.listTags(text).sort(), ['NO TAG', 'inclusion', 'queued', 'readBack', 'submit']);
  const reader = new hdr.HistogramLogReader(text);
  /** @type {Record<string, hdr.Histogram[]>} */
  const byTag = {};
  for (let one = reader.nextIntervalHistogram(); one !== null; one = reader.nextIntervalHistogram()) {
    (byTag[one.tag] ??= []).push(one);
  }
  assert.deepEqual(
    byTag['NO TAG'].map(({ totalCount }) => totalCount),
    run.intervals.map((/** @type {any} */ { latency }) => latency.count),
  );
  run.intervals.forEach((/** @type {any} */ { latency }, /** @type {number} */ i) => {
    if (latency.count === 0) return;
    for (const [key, percentile] of /** @type {const} */ ([
      ['p50Us', 50],
      ['p99Us', 99],
      ['maxUs', 100],
    ]))
      assertNear(byTag['NO TAG'][i].getValueAtPercentile(percentile) / 1000, latency[key], 2e-3, `${key} of ${i}`);
  });
  for (const tag of ['queued', 'submit', 'inclusion', 'readBack'])
    assert.equal(
      byTag[tag].reduce((all, { totalCount }) => all + totalCount, 0),
      run.counts.verified,
      tag,
    );
}

/** @param {any} run @param {Array<Record<string, any>>} blocks @param {Array<Record<string, any>>} samples */
function assertBlocks(run, blocks, samples) {
  assert.ok(blocks.length > 0);
  blocks.forEach(({ number }, i) => assert.equal(number, blocks[0].number + i, 'every block once, in order'));
  const sum = (/** @type {string} */ name) => blocks.reduce((all, block) => all + block[name], 0);
  const ofRows = (/** @type {string} */ name) =>
    run.intervals.reduce((/** @type {number} */ all, /** @type {any} */ row) => all + row.blocks[name], 0);
  assert.equal(blocks.length, ofRows('count'));
  for (const [column, name] of [
    ['transactions', 'transactions'],
    ['ours', 'ours'],
    ['gas_used', 'gasUsed'],
  ])
    assert.equal(sum(column), ofRows(name), column);
  const startMs = Date.parse(run.startedAt);
  for (const { seen_at_ms } of blocks) assert.ok(seen_at_ms >= startMs && seen_at_ms <= Date.parse(run.endedAt));
  const numbers = new Set(blocks.map(({ number }) => number));
  for (const { outcome, block } of samples) assert.ok(outcome !== 'verified' || numbers.has(block), `block ${block}`);
}

/** @param {string} folder @param {string} samples @param {string} blocks */
function everything(folder, samples, blocks) {
  const files = {
    samples: join(folder, samples),
    blocks: join(folder, blocks),
    hlog: join(folder, 'run.hlog'),
    out: join(folder, 'run.json'),
  };
  return { files, args: Object.entries(files).flatMap(([name, file]) => [`--${name}`, file]) };
}

describe('all outputs of a run', () => {
  for (const [name, samples, blocks, more] of /** @type {Array<[string, string, string, string[]]>} */ ([
    ['CSV', 'samples.csv', 'blocks.csv', []],
    ['NDJSON, compressed, with a warm-up', 'samples.ndjson.gz', 'blocks.ndjson.gz', ['--warmup', '500ms']],
    ['an automatic warm-up', 'samples.csv', 'blocks.csv', ['--warmup', 'auto']],
    ['the same, two workers', 'samples.csv', 'blocks.csv', ['--warmup', 'auto', '--in-flight', '2', '--workers', '2']],
    ['a rate that is too high, two workers', 'samples.csv.gz', 'blocks.jsonl', ['--rate', '400', '--workers', '2']],
  ])) {
    test(`agree with each other: ${name}`, async (t) => {
      const { files, args } = everything(temporaryFolder(t), samples, blocks);
      const port = await freePort();
      const running = startStress([
        ...[...takeWallets(4), '-d', '1s', '--interval', '400ms', ...more],
        ...[...args, '--prometheus', String(port)],
      ]);
      const page = await lastPage(port, running.done);
      const { code, stderr } = await running.done;
      assert.equal(code, 0, stderr);
      const run = readJson(files.out);
      const rows = readRows(files.samples);
      assert.ok(run.counts.verified > 0);
      assert.equal(run.generator.samplesDropped, 0);
      assertAgrees(run, rows);
      assertPage(run, page);
      assertHlog(run, files.hlog);
      assertBlocks(run, readRows(files.blocks), rows);
    });
  }

  test('of an interrupted run are whole', async (t) => {
    const { files, args } = everything(temporaryFolder(t), 'samples.csv.gz', 'blocks.csv');
    const running = startStress([...takeWallets(2), '--interval', '300ms', ...args]);
    await running.waitFor(/^ +(0\.[6-9]|[1-9]\d*\.\d) s /m);
    running.child.kill('SIGINT');
    assert.equal((await running.done).code, 130);
    const run = readJson(files.out);
    assertAgrees(run, readRows(files.samples));
    assertHlog(run, files.hlog);
  });

  test('of a run that was killed: what is on the disk can be read', async (t) => {
    const { files, args } = everything(temporaryFolder(t), 'samples.csv.gz', 'blocks.ndjson.gz');
    const running = spawnStress([...takeWallets(2), '--interval', '200ms', ...args]);
    await running.waitFor(/^ +[1-9]\d*\.\d s /m);
    running.child.kill('SIGKILL');
    await running.done;
    for (const file of [files.samples, files.blocks]) assert.ok(readRows(file, { isCut: true }).length > 0);
    assert.ok(hdr.listTags(readFileSync(files.hlog, 'utf8')).length === 5);
  });
});

describe('outputs of a run that ended before its load began', () => {
  /** @type {Array<[string, () => Promise<string[]>, number, string | undefined, RegExp]>} */
  const table = [
    [
      'no endpoint',
      async () => ['-t', '1', '--rpc', `http://127.0.0.1:${await freePort()}`],
      69,
      'endpoint-down',
      /^http:\/\/127\.0\.0\.1:\d+: connection refused$/,
    ],
    [
      'no funds',
      async () => ['-t', '1', '-o', '70', '--rpc', chain.url, '--mnemonic', DEV_MNEMONIC],
      69,
      'funds',
      /1 wallet has less than the/,
    ],
    [
      'a public mainnet',
      async () => ['-t', '1', '--rpc', (await serveMethods({ eth_chainId: '0x1' })).url],
      77,
      undefined,
      /a public network whose coins are worth money/,
    ],
  ];
  for (const [name, argsOf, exitCode, verdict, words] of table)
    test(`${name}: ${exitCode}, and the run file and JUnit say why`, async (t) => {
      const folder = temporaryFolder(t);
      const [out, junit] = [join(folder, 'run.json'), join(folder, 'junit.xml')];
      const args = [...(await argsOf()), '-d', '1s', '--out', out, '--junit', junit, '--threshold', 'tps>1'];
      const { code, stderr } = await runStress(args);
      assert.equal(code, exitCode, stderr);
      const run = /** @type {RunFile} */ (readJson(out));
      assertRunFile(run);
      assert.deepEqual([run.end, run.exitCode, run.verdict?.name], ['set_up_failed', exitCode, verdict]);
      assert.match(run.warnings.join(), words);
      const xml = readFileSync(junit, 'utf8');
      assert.match(xml, /<testsuite name="stress" tests="3" failures="2" .* skipped="1"/);
      assert.match(xml, /<testcase classname="stress\.run" name="run" time="0"><failure message=/);
      const report = await runStress(['report', out]);
      assert.deepEqual([report.code, /ended before its load began/.test(report.stdout)], [0, true], report.stderr);
    });
});

describe('outputs that cannot be had', () => {
  test('a full disk under --samples: the load goes on, the samples are counted, and 73', async (t) => {
    if (!existsSync('/dev/full')) return t.skip('there is no /dev/full');
    const folder = temporaryFolder(t);
    const [samples, out] = [join(folder, 'samples.csv'), join(folder, 'run.json')];
    symlinkSync('/dev/full', samples);
    const args = ['-d', '1s', '--interval', '500ms', '--samples', samples, '--out', out];
    const { code, stderr } = await runStress([...takeWallets(2), ...args]);
    assert.equal(code, 73, stderr);
    assert.match(stderr, /cannot write .*samples\.csv: the disk is full/);
    const run = readJson(out);
    assert.ok(run.counts.verified > 0);
    assert.equal(run.generator.samplesDropped, run.counts.started);
  });

  test('a full disk under --out: 73, and the other outputs are whole', async (t) => {
    const folder = temporaryFolder(t);
    const small = join(folder, 'small');
    try {
      execFileSync('mkdir', [small]);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', small], { stdio: 'ignore' });
    } catch {
      return t.skip('only root can make a small disk');
    }
    try {
      const samples = join(folder, 'samples.csv');
      const args = ['-d', '1s', '--samples', samples, '--out', join(small, 'run.json')];
      const { code, stdout, stderr } = await runStress([...takeWallets(2), ...args]);
      assert.equal(code, 73, stderr);
      assert.match(stderr, /cannot write .*run\.json: the disk is full/);
      assert.match(stdout, /^Summary: /m);
      assert.ok(readRows(samples).length > 0);
    } finally {
      execFileSync('umount', [small]);
    }
  });

  test('a port that is taken: one line and 69, before anything is sent or written', async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = /** @type {AddressInfo} */ (server.address());
    const samples = join(temporaryFolder(t), 'samples.csv');
    writeFileSync(samples, 'from the last time\n');
    const { address } = DEV_WALLETS.deriveChild(nextWallet);
    const args = ['-d', '1s', '--prometheus', String(port), '--samples', samples];
    const { code, stdout, stderr } = await runStress([...takeWallets(1), ...args]);
    assert.deepEqual(
      [code, stdout, stderr],
      [
        69,
        '',
        `stress: cannot listen on port ${port} of 127.0.0.1: the port is taken; give --prometheus another one\n`,
      ],
    );
    assert.equal(await chain.rpc('eth_getTransactionCount', [address, 'pending']), '0x0');
    assert.equal(readFileSync(samples, 'utf8'), 'from the last time\n');
  });
});
