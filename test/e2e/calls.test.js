/** `--workload rpc --calls`: mixes of calls, what their answers must be, users with iterations. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { exited, readJson } from '../helpers/cli.js';
import { readRows } from '../helpers/rows.js';
import { runOf, sumOf } from '../helpers/run-of.js';
import { temporaryFile, temporaryFolder } from '../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

const anvil = anvilFor();
const other = anvilFor('--chain-id 1337');

/** @param {TestContext} t @param {object[]} calls @param {string} words @param {{exit?: number, rpc?: string}} [options] */
async function run(t, calls, words, options) {
  const file = temporaryFile(t, 'calls.json', { schema: 'evm-stress/calls@1', calls });
  return runOf(t, `--workload rpc --calls ${file} ${words}`, { chain: anvil, ...options });
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

/** @param {any} run @returns {Record<string, number>} */
const countsByName = ({ byName }) =>
  Object.fromEntries(Object.entries(byName).map(([name, { counts }]) => [name, counts.verified + counts.failed]));

describe('a mix of calls', () => {
  for (const more of ['--transport tcp', '--transport ws --think-time 1ms', '--rate 200 --workers 2 -d 1h'])
    test(`${more}: every user makes its iterations, each kind has its figures`, async (t) => {
      const rpc = more.includes('ws') ? anvil.url.replace('http', 'ws') : anvil.url;
      const words = `--users 4 --iterations 20 --check-rpc ${anvil.url} --samples DIR/samples.ndjson ${more}`;
      const { run: file, stdout, stderr, folder } = await run(t, MIX, words, { rpc });
      // On a busy machine a rate may not be held, which is said there.
      if (!more.includes('--rate')) assert.equal(stderr, '');
      assert.deepEqual([file.end, file.counts.started, file.counts.verified], ['iterations', 80, 80]);
      const rows = readRows(join(folder, 'samples.ndjson'));
      for (let user = 0; user < 4; user += 1) assert.equal(rows.filter(({ wallet }) => wallet === user).length, 20);
      const counts = countsByName(file);
      assert.deepEqual(Object.keys(counts).sort(), ['balance', 'block', 'eth_blockNumber']);
      for (const [name, count] of Object.entries(counts)) {
        assert.equal(rows.filter((row) => row.name === name).length, count);
        assert.match(stdout, new RegExp(`^ {2}${name} +${count} `, 'm'));
      }
      const { rpcCalls, transport } = file.generator;
      // Tried once each, and one comparison for each balance.
      assert.deepEqual([rpcCalls.load, rpcCalls.check], [80, MIX.length + counts.balance]);
      assert.equal(transport.requests, sumOf(Object.values(rpcCalls)));
      const { seed, callsPerIteration } = file.environment.workload;
      assert.ok(Number.isInteger(seed) && callsPerIteration === 1);
    });

  test('thresholds name a kind; answers that are wrong are failures with words, and no latency', async (t) => {
    const calls = [
      { name: 'right', method: 'eth_chainId', check: { path: '$', equals: '0x7a69' } },
      { name: 'wrong', method: 'eth_chainId', check: { path: '$', equals: '0x1' } },
    ];
    const limits = ['calls.right.p99<5m', 'calls.right.failed=0', 'calls.wrong.failed=0'];
    const words = `-t 2 --iterations 10 ${limits.map((limit) => `--threshold ${limit}`).join(' ')}`;
    const { run: file, stdout } = await run(t, calls, words, { exit: 99 });
    const passed = file.thresholds.map((/** @type {any} */ threshold) => threshold.passed);
    assert.deepEqual(passed, [true, true, false]);
    assert.match(stdout, /check_failed +[\d,]+ +[\d.]+ % +wrong: \$ is "0x7a69" instead of "0x1"/);
    assert.deepEqual([file.failures, file.byName.wrong.latency.count], [{ check_failed: countsByName(file).wrong }, 0]);
  });
});

describe('pages of a data set', () => {
  test('each user lists every page as often as asked, and each answer is whole; another chain is refused', async (t) => {
    const data = join(temporaryFolder(t), 'logs.json');
    const logs = `--iterations 1 --workload logs --bytes 200 --page-size 10 --logs ${data}`;
    await runOf(t, logs, { chain: anvil, threads: 3 });
    const words = `--workload rpc --calls pages --data ${data} --users 2 --iterations 3`;
    const whole = (await runOf(t, words, { chain: anvil })).run;
    assert.deepEqual([countsByName(whole), whole.counts.verified], [{ page: 18 }, 18]);
    // A page that is said to be where it is not is noticed.
    const lying = readJson(data);
    lying.blocks[2] = 1;
    writeFileSync(data, JSON.stringify(lying));
    assert.deepEqual((await runOf(t, words, { chain: anvil })).run.failures, { check_failed: 6 });
    const elsewhere = await exited(65, ['--rpc', other.url, ...words.split(' ')]);
    assert.match(elsewhere.stderr, /^stress: .*logs\.json is of chain 31337, not of chain 1337: .*\n$/);
  });
});

test('a second endpoint of another chain: exit 77, one line, no load', async (t) => {
  const { stdout, stderr } = await run(t, [MIX[2]], `-t 1 -d 300ms --check-rpc ${other.url}`, { exit: 77 });
  const says = /^stress: .*has chain id 31337, and --check-rpc http:\S+ has 1337: both must serve one chain.*\n$/;
  assert.match(stderr, says);
  assert.doesNotMatch(stdout, /Summary/);
});
