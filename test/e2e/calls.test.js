/** `--workload rpc --calls`: mixes of calls, what their answers must be, users with iterations. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress } from '../helpers/cli.js';
import { serve } from '../helpers/endpoint.js';
import { schemaErrors } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { RunFile } from '../helpers/run-file.js'
 * @import { TestContext } from 'node:test'
 */

/** @type {Anvil} */
let anvil;
/** @type {Anvil} */
let other;
before(async () => {
  [anvil, other] = await Promise.all([startAnvil(), startAnvil({ args: ['--chain-id', '1337'] })]);
});

/** @param {TestContext} t @param {object[]} calls @param {string[]} more arguments */
async function run(t, calls, more, rpc = anvil.url) {
  const folder = temporaryFolder(t);
  const file = join(folder, 'calls.json');
  const out = join(folder, 'run.json');
  writeFileSync(file, JSON.stringify({ schema: 'evm-stress/calls@1', calls }));
  const args = ['--rpc', rpc, '--workload', 'rpc', '--calls', file, '--interval', '200ms', '--out', out, ...more];
  const result = await runStress(args);
  return { ...result, folder, out, runFile: () => /** @type {RunFile} */ (readJson(out)) };
}

const MIX = [
  { method: 'eth_blockNumber', weight: 2 },
  {
    name: 'block',
    method: 'eth_getBlockByNumber',
    params: ['{{block.recent 16}}', false],
    check: { path: 'number', equals: '{{block.recent 16}}' },
  },
  { name: 'balance', method: 'eth_getBalance', params: ['{{address}}', 'latest'], check: 'same' },
];

/** @param {RunFile} runFile */
const countsByName = ({ byName }) => {
  return Object.fromEntries(
    Object.entries(byName).map(([name, { counts }]) => [name, counts.verified + counts.failed]),
  );
};

describe('a mix of calls', () => {
  for (const more of [
    ['--transport', 'tcp', '--workers', '2'],
    ['--transport', 'ws', '--think-time', '1ms'],
    ['--rate', '200', '--workers', '2', '-d', '50s'],
  ]) {
    test(`${more.join(' ')}: every user makes its iterations, each kind has its figures`, async (t) => {
      const rpc = more.includes('ws') ? anvil.url.replace('http', 'ws') : anvil.url;
      const samples = join(temporaryFolder(t), 'samples.ndjson');
      const users = ['--users', '4', '--iterations', '20', '--check-rpc', anvil.url, '--samples', samples];
      const { code, stdout, stderr, runFile } = await run(t, MIX, [...users, ...more], rpc);
      // On a busy machine a rate may not be held, which is said there.
      if (!more.includes('--rate')) assert.equal(stderr, '');
      assert.equal(code, 0, stdout);
      const file = runFile();
      assert.deepEqual(schemaErrors(file), []);
      assert.deepEqual([file.end, file.counts.started, file.counts.verified], ['iterations', 80, 80]);
      const rows = readFileSync(samples, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      for (let wallet = 0; wallet < 4; wallet += 1)
        assert.equal(rows.filter((row) => row.wallet === wallet).length, 20);
      const counts = countsByName(file);
      assert.deepEqual(Object.keys(counts).sort(), ['balance', 'block', 'eth_blockNumber']);
      for (const [name, count] of Object.entries(counts)) {
        assert.equal(rows.filter((row) => row.name === name).length, count);
        assert.match(stdout, new RegExp(`^ {2}${name} +${count} `, 'm'));
      }
      const { rpcCalls, transport } = file.generator;
      assert.equal(rpcCalls.load, 80);
      // Tried once each, and one comparison for each balance.
      assert.equal(rpcCalls.check, MIX.length + counts.balance);
      assert.equal(
        transport.requests,
        Object.values(rpcCalls).reduce((sum, count) => sum + count, 0),
      );
      const facts = /** @type {any} */ (file.environment).workload;
      assert.ok(Number.isInteger(facts.seed) && facts.callsPerIteration === 1);
    });
  }

  test('thresholds name a kind; answers that are wrong are failures with words, and no latency', async (t) => {
    const calls = [
      { name: 'right', method: 'eth_chainId', check: { path: '$', equals: '0x7a69' } },
      { name: 'wrong', method: 'eth_chainId', check: { path: '$', equals: '0x1' } },
    ];
    const limits = ['calls.right.p99<30s', 'calls.right.failed=0', 'calls.wrong.failed=0'];
    const args = [...['-t', '2', '--iterations', '10'], ...limits.flatMap((limit) => ['--threshold', limit])];
    const { code, stdout, runFile } = await run(t, calls, args);
    assert.equal(code, 99);
    const file = runFile();
    assert.deepEqual(
      file.thresholds.map(({ passed }) => passed),
      [true, true, false],
    );
    assert.match(stdout, /first check_failed: wrong: \$ is "0x7a69", and it must be "0x1"/);
    assert.deepEqual(Object.keys(file.failures), ['check_failed']);
    assert.equal(file.byName.wrong.latency.count, 0);
    assert.equal(file.failures.check_failed, countsByName(file).wrong);
  });

  test('a second endpoint that answers differently: the place is named, and time spent on that is no latency', async (t) => {
    const SLOW_MS = 300;
    const liar = await serve(async (body) => {
      const { id, method, params } = JSON.parse(body);
      const result = await anvil.rpc(method, params);
      if (method !== 'eth_getBalance') return { body: JSON.stringify({ jsonrpc: '2.0', id, result }) };
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      return { body: JSON.stringify({ jsonrpc: '2.0', id, result: '0x2' }) };
    });
    const slow = await serve(async (body) => {
      const { id, method, params } = JSON.parse(body);
      if (method === 'eth_getBalance') await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      return { body: JSON.stringify({ jsonrpc: '2.0', id, result: await anvil.rpc(method, params) }) };
    });
    const users = ['-t', '2', '--iterations', '2'];
    const wrong = await run(t, [MIX[2]], [...users, '--check-rpc', liar.url]);
    assert.equal(wrong.code, 1);
    assert.match(
      wrong.stdout,
      /first check_failed: balance: http:\/\/127\.0\.0\.1:\d+ answers differently: \$ is "0x[0-9a-f]+", and it must be "0x2"/,
    );
    const right = await run(t, [MIX[2]], [...users, '--check-rpc', slow.url]);
    assert.equal(right.code, 0, right.stderr);
    const { latency, window } = right.runFile();
    assert.ok(window.durationMs >= 2 * SLOW_MS, 'each user waits for two comparisons');
    assert.ok(Number(latency.total.sumUs) / 1000 < window.durationMs * 2 - 4 * SLOW_MS + 50, 'which is no latency');
  });

  test('runs of the same calls compare, those of others do not', async (t) => {
    const args = ['-t', '2', '--iterations', '30'];
    const [first, third] = [await run(t, [MIX[0]], args), await run(t, [MIX[1]], args)];
    const [a, b, c] = [first.out, join(first.folder, 'again.json'), third.out];
    // Files of one name, in folders of their own.
    const named = (/** @type {string} */ file) => ({
      ...readJson(file),
      config: { ...readJson(file).config, calls: 'calls.json' },
    });
    for (const [file, json] of /** @type {const} */ ([
      [b, { ...named(a), id: crypto.randomUUID() }],
      [a, named(a)],
      [c, named(c)],
    ]))
      writeFileSync(file, JSON.stringify(json));
    const same = await runStress(['compare', a, '--with', b]);
    assert.equal(same.code, 0, same.stderr);
    const different = await runStress(['compare', a, '--with', c]);
    assert.equal(different.code, 65);
    assert.match(different.stderr, /the calls in .* are not those in/);
  });
});

describe('pages of a data set', () => {
  test('each user lists every page as often as asked, and each answer is whole; another chain is refused', async (t) => {
    const folder = temporaryFolder(t);
    const [data, out] = [join(folder, 'logs.json'), join(folder, 'run.json')];
    const prepared = await runStress([
      ...['--rpc', anvil.url, '-t', '3', '--iterations', '1', '--workload', 'logs'],
      ...['--bytes', '200', '--page-size', '10', '--logs', data],
    ]);
    assert.equal(prepared.code, 0, prepared.stderr);
    const args = ['--workload', 'rpc', '--calls', 'pages', '--data', data, '--users', '2', '--iterations', '3'];
    const { code, stderr } = await runStress(['--rpc', anvil.url, ...args, '--out', out]);
    assert.equal(code, 0, stderr);
    const file = readJson(out);
    assert.deepEqual(countsByName(file), { page: 2 * 3 * 3 });
    assert.equal(file.counts.verified, 18);
    // A page that is said to be where it is not is noticed.
    const lying = readJson(data);
    lying.blocks[2] = 1;
    writeFileSync(data, JSON.stringify(lying));
    const wrong = await runStress(['--rpc', anvil.url, ...args, '--out', out]);
    assert.equal(wrong.code, 0);
    assert.deepEqual(readJson(out).failures, { check_failed: 6 });
    const elsewhere = await runStress(['--rpc', other.url, ...args]);
    assert.equal(elsewhere.code, 65);
    assert.match(elsewhere.stderr, /^stress: .*logs\.json is of chain 31337, not of chain 1337: .*\n$/);
  });
});

describe('what is found out before the load', () => {
  /** @type {Array<[string, object[], number, RegExp, boolean?]>} */
  const table = [
    [
      'a method that the node does not have',
      [{ method: 'eth_blockNumber' }, { method: 'eth_nonsense' }],
      69,
      /has no method eth_nonsense \(.*calls\.json, call 2\): leave it out/,
    ],
    [
      'a second endpoint of another chain',
      [MIX[2]],
      77,
      /has chain id 31337, and --check-rpc http:\/\/127\.0\.0\.1:\d+ has 1337: both must serve one chain/,
      true,
    ],
  ];
  for (const [name, calls, exit, words, isCompared = false] of table) {
    test(`${name}: exit ${exit}, one line, no load`, async (t) => {
      const args = ['-t', '1', '-d', '300ms', ...(isCompared ? ['--check-rpc', other.url] : [])];
      const { code, stdout, stderr } = await run(t, calls, args);
      assert.equal(code, exit, stdout + stderr);
      assert.match(stderr, /^stress: .*\n$/);
      assert.match(stderr, words);
      assert.doesNotMatch(stdout, /Summary/);
    });
  }
});
