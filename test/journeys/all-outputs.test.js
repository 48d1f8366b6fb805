/** All outputs of one run, read as their readers would: they tell the same story. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import * as hdr from 'hdr-histogram-js';
import { anvilFor, freePort } from '../helpers/anvil.js';
import { exited, runStress, spawnStress } from '../helpers/cli.js';
import { DEV_MNEMONIC, DEV_WALLETS } from '../helpers/dev-wallets.js';
import { parsePage, valueOf } from '../helpers/prometheus-page.js';
import { serveMethods } from '../helpers/endpoint.js';
import { until } from '../helpers/until.js';
import { assertAgrees, assertNear } from '../helpers/recompute.js';
import { readRows } from '../helpers/rows.js';
import { killedBy, runOf, startOf, sumOf } from '../helpers/run-of.js';
import { temporaryFile, temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Metric } from '../helpers/prometheus-page.js'
 * @import { AddressInfo } from 'node:net'
 */

const chain = anvilFor('--accounts 60 --block-time 0.1');

/** A call, which is in no block. */
const CALL = 'eth_blockNumber';

/** The page again and again, until it is gone. @param {number} port @param {Promise<unknown>} done */
async function lastPage(port, done) {
  let page = '';
  let isOver = false;
  done.finally(() => (isOver = true)).catch(() => {});
  while (!isOver) {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => null);
    page = (await response?.text()) ?? page;
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
  const sum = (/** @type {(row: any) => number} */ of) => sumOf(seen.map(of));
  const operations = ['scheduled', 'started', 'dropped'].map((name) => [`stress_operations_${name}_total`, name]);
  for (const [metric, name] of operations) {
    const expected = sum(({ counts }) => counts[name]);
    assert.equal(valueOf(page, metric), expected, name);
  }
  const outcomes = { verified: 'verified', failed: 'failed', timed_out: 'timedOut', abandoned: 'abandoned' };
  for (const [outcome, name] of Object.entries(outcomes)) {
    const expected = sum(({ counts }) => counts[name]);
    assert.equal(valueOf(page, 'stress_operations_total', { outcome }), expected, name);
  }
  const [latencies, lags, blocks, gas] = [
    sum(({ latency }) => latency.count),
    sum(({ lag }) => lag.count),
    sum(({ blocks }) => blocks.count),
    sum(({ blocks }) => blocks.gasUsed),
  ];
  assert.equal(valueOf(page, 'stress_latency_seconds_count'), latencies);
  assert.equal(valueOf(page, 'stress_lag_seconds_count'), lags);
  assert.equal(valueOf(page, 'stress_blocks_total'), blocks);
  assert.equal(valueOf(page, 'stress_block_gas_used_total'), gas);
  const seconds = sum(({ latency }) => latency.sumUs) / 1e6;
  assertNear(Number(valueOf(page, 'stress_latency_seconds_sum')), seconds, 1e-9, 'sum');
  const stages = ['queued', 'submit', 'inclusion', 'readBack'].map((stage) =>
    Number(valueOf(page, 'stress_stage_seconds_sum', { stage })),
  );
  assertNear(sumOf(stages), seconds, 1e-9, 'the stages add up to the latency');
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
  const counts = byTag['NO TAG'].map(({ totalCount }) => totalCount);
  const expected = run.intervals.map((/** @type {any} */ { latency }) => latency.count);
  assert.deepEqual(counts, expected);
  run.intervals.forEach((/** @type {any} */ { latency }, /** @type {number} */ i) => {
    if (latency.count === 0) return;
    for (const [key, percentile] of /** @type {const} */ ([
      ['p50Us', 50],
      ['p99Us', 99],
      ['maxUs', 100],
    ]))
      assertNear(byTag['NO TAG'][i].getValueAtPercentile(percentile) / 1000, latency[key], 2e-3, `${key} of ${i}`);
  });
  for (const tag of ['queued', 'submit', 'inclusion', 'readBack']) {
    const all = byTag[tag].map(({ totalCount }) => totalCount);
    assert.equal(sumOf(all), run.counts.verified, tag);
  }
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
  for (const { outcome, block, name } of samples)
    assert.ok(outcome !== 'verified' || name === CALL || numbers.has(block), `block ${block}`);
}

/** What people and CI read. @param {any} run @param {string} folder @param {string} stdout */
function assertTexts(run, folder, stdout) {
  const text = (/** @type {string} */ name) => readFileSync(join(folder, name), 'utf8');
  const verified = run.counts.verified.toLocaleString('en-US');
  const [, tps = 'no TPS'] = /^ +TPS +([\d,.]+) /m.exec(stdout) ?? [];
  assertNear(Number(tps.replaceAll(',', '')), run.rates.verifiedPerSecond, 5e-3, 'TPS of the summary');
  assert.match(stdout, new RegExp(`^ +verified +${verified}\\b`, 'm'));
  for (const row of [`| verified | ${verified} |`, `| TPS | ${tps} |`]) assert.ok(text('run.md').includes(row), row);
  const page = text('run.html').replaceAll(/<(script|style)[^]*?<\/\1>/g, '');
  assert.ok(page.includes(`>${tps} operations verified per second, `), `no ${tps} on the page`);
  assert.match(text('junit.xml'), /<testsuite name="stress" tests="2" failures="0" errors="0" skipped="0"/);
  const lines = text('rows.ndjson').trim().split('\n');
  assert.equal(lines.length, run.intervals.length);
  lines.forEach((line, i) => {
    const row = JSON.parse(line);
    const { perSecond, ...withoutRate } = run.intervals[i];
    // On a busy machine the blocks that complete a row may come too late for it.
    assert.deepEqual(row, row.tps === null ? { ...withoutRate, tps: null } : { ...withoutRate, perSecond });
  });
}

/** @param {string} samples @param {string} blocks */
const everything = (samples, blocks) => `--samples DIR/${samples} --blocks DIR/${blocks} --hlog DIR/run.hlog`;

const COMPRESSED = { samples: 'samples.ndjson.gz', blocks: 'blocks.ndjson.gz' };

/** @type {Record<string, {words?: string, samples?: string, blocks?: string, isWebSocket?: boolean}>} */
const JOURNEYS = {
  'counter, as many as there are wallets': {},
  'a warm-up, compressed files': { words: '--warmup 500ms', ...COMPRESSED },
  'an automatic warm-up, two workers, two in flight': { words: '--warmup auto --in-flight 2 --workers 2' },
  'a rate that is too high': { words: '--rate 400', samples: 'samples.csv.gz' },
  'random arrivals in batches': { words: '--rate 60 --arrival poisson --batch 10', ...COMPRESSED },
  'transfer, over tcp': { words: '--workload transfer --transport tcp' },
  'erc20, a confirmation, four in flight': { words: '--workload erc20 --confirmations 1 --in-flight 4' },
  'erc721, over a WebSocket': { words: '--workload erc721', isWebSocket: true },
  'a mix of two': { words: '--mix counter:50,storage:50' },
  'calls beside transactions': { words: `--mix counter:3,calls:1 --method ${CALL}` },
  'contention, each submission waits for its block': { words: '--workload contention --inclusion sync' },
  'the promises of the node, and its contradictions': { words: '--ladder pending --check consistency' },
};

describe('all outputs of a run', { concurrency: 2 }, () => {
  for (const [name, given] of Object.entries(JOURNEYS))
    test(`agree with each other: ${name}`, async (t) => {
      const { words: more = '', samples = 'samples.csv', blocks = 'blocks.jsonl', isWebSocket = false } = given;
      const port = await freePort();
      const texts = '--junit DIR/junit.xml --html DIR/run.html --markdown DIR/run.md --intervals DIR/rows.ndjson';
      // A row is shown when its rate is known, at a tick every 500 ms, and then has to be read: a load of a second was too short
      // on a machine with other work.
      const words = `-d 2s --interval 200ms ${more} --prometheus ${port} ${everything(samples, blocks)} ${texts}`;
      const rpc = isWebSocket ? chain.url.replace('http', 'ws') : chain.url;
      const running = startOf(t, words, { chain, rpc, threads: 4 });
      const page = await lastPage(port, running.done);
      const { run, folder, stdout } = await running.end();
      assert.ok(run.audit.exact);
      assertTexts(run, folder, stdout);
      const rows = readRows(join(folder, samples));
      assert.ok(run.counts.verified > 0);
      assert.equal(run.generator.samplesDropped, 0);
      assert.equal(run.generator.headSource === 'subscription', isWebSocket);
      assertAgrees(run, rows);
      assertPage(run, page);
      assertHlog(run, join(folder, 'run.hlog'));
      assertBlocks(run, readRows(join(folder, blocks)), rows);
    });

  test('of an interrupted run are whole', async (t) => {
    const during = killedBy('SIGINT', /^ +(0\.[6-9]|[1-9]\d*\.\d) s /m);
    const words = `--interval 300ms ${everything('samples.csv.gz', 'blocks.csv')}`;
    const { run, folder } = await runOf(t, words, { chain, threads: 2, exit: 130, during });
    assertAgrees(run, readRows(join(folder, 'samples.csv.gz')));
    assertHlog(run, join(folder, 'run.hlog'));
  });

  test('of a run that was killed: what is on the disk can be read', async (t) => {
    const words = `--interval 200ms ${everything('samples.csv.gz', 'blocks.ndjson.gz')}`;
    const running = startOf(t, words, { chain, threads: 2, start: spawnStress });
    await running.waitFor(/^ +[1-9]\d*\.\d s /m);
    let isOver = false;
    void running.done.finally(() => (isOver = true));
    const areOnDisk = () =>
      ['samples.csv.gz', 'blocks.ndjson.gz']
        .map((name) => join(running.folder, name))
        .every((file) => statSync(file).size > 0 && readRows(file, { isCut: true }).length > 0);
    // It depends on the machine when the first rows are compressed.
    await until(() => isOver || areOnDisk());
    running.child.kill('SIGKILL');
    await running.done;
    assert.ok(areOnDisk());
    assert.ok(hdr.listTags(readFileSync(join(running.folder, 'run.hlog'), 'utf8')).length === 5);
  });
});

describe('outputs of a run that ended before its load began', () => {
  const nowhere = async () => `--rpc http://127.0.0.1:${await freePort()}`;
  const mainnet = async () => `--rpc ${(await serveMethods({ eth_chainId: '0x1' })).url}`;
  /** @type {Array<[string, () => Promise<string>, number, string | undefined, RegExp]>} */
  const ROWS = [
    [
      'no endpoint',
      nowhere,
      69,
      'endpoint-down',
      /^http:\/\/127\.0\.0\.1:\d+: connection refused; is the node running\? --wait-for 30s waits for it$/,
    ],
    ['no funds', async () => `-o 70 --rpc ${chain.url}`, 69, 'funds', /1 wallet has less than the/],
    ['a public mainnet', mainnet, 77, undefined, /a public network whose coins are worth money/],
  ];
  for (const [name, wordsOf, exit, verdict, says] of ROWS)
    test(`${name}: ${exit}, and the run file and JUnit say why`, async (t) => {
      const words = `-t 1 -d 1s --junit DIR/junit.xml --threshold tps>1 ${await wordsOf()}`;
      const env = name === 'no funds' ? { STRESS_MNEMONIC: DEV_MNEMONIC } : {};
      const { run, out, folder } = await runOf(t, words, { rpc: null, exit, env });
      assert.deepEqual([run.end, run.exitCode, run.verdict?.name], ['set_up_failed', exit, verdict]);
      assert.match(run.warnings.join(), says);
      const xml = readFileSync(join(folder, 'junit.xml'), 'utf8');
      assert.match(xml, /<testsuite name="stress" tests="3" failures="2" .* skipped="1"/);
      assert.match(xml, /<testcase classname="stress\.run" name="run" time="0"><failure message=/);
      const report = await exited(0, ['report', out]);
      assert.match(report.stdout, /ended before its load began/);
    });
});

describe('outputs that cannot be had', () => {
  test('a full disk under --samples: the load goes on, the samples are counted, and 73', async (t) => {
    if (!existsSync('/dev/full')) return t.skip('there is no /dev/full');
    const samples = join(temporaryFolder(t), 'samples.csv');
    symlinkSync('/dev/full', samples);
    const { run, stderr } = await runOf(t, `-d 1s --samples ${samples}`, { chain, threads: 2, exit: 73 });
    assert.match(stderr, /cannot write .*samples\.csv: the disk is full/);
    assert.ok(run.counts.verified > 0);
    assert.equal(run.generator.samplesDropped, run.counts.started);
  });

  test('a port that is taken: one line and 69, before anything is sent or written', async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = /** @type {AddressInfo} */ (server.address());
    const samples = temporaryFile(t, 'samples.csv', 'from the last time\n');
    const { address } = DEV_WALLETS.deriveChild(55);
    const words = `-t 1 -o 55 --rpc ${chain.url} -d 1s --prometheus ${port} --samples ${samples}`;
    const { code, stdout, stderr } = await runStress(words.split(' '));
    const says = `stress: cannot listen on port ${port} of 127.0.0.1: the port is taken; give --prometheus another one\n`;
    assert.deepEqual([code, stdout, stderr], [69, '', says]);
    assert.equal(await chain.rpc('eth_getTransactionCount', [address, 'pending']), '0x0');
    assert.equal(readFileSync(samples, 'utf8'), 'from the last time\n');
  });
});
