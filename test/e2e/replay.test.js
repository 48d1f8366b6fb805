/** `--calls` with recorded requests: order, passes, differences of two endpoints, and what is refused before the load. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { anvilFor } from '../helpers/anvil.js';
import { passOn, serve, serveBetween } from '../helpers/endpoint.js';
import { runOf, sumOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { writeTraffic } from '../helpers/traffic.js';

/** @import { TestContext } from 'node:test' */

const anvil = anvilFor();

/** @param {TestContext} t @param {string} [text] default: 400 lines of wallets */
function fileOf(t, text) {
  const file = join(temporaryFolder(t), 'traffic.ndjson');
  if (text === undefined) return { file, lines: writeTraffic(file, 400) };
  writeFileSync(file, text);
  return { file, lines: [] };
}

/** @param {any} run */
const countsByName = ({ byName }) =>
  Object.fromEntries(Object.entries(byName).map(([name, { counts }]) => [name, counts.verified + counts.failed]));

/** @param {string[]} lines */
function namesOf(lines) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const line of lines) {
    const { method = 'batch' } = JSON.parse(line);
    counts[method] = (counts[method] ?? 0) + 1;
  }
  return counts;
}

describe('recorded requests', () => {
  test('one user sends them in their order; the summary says how often', async (t) => {
    const { file, lines } = fileOf(t);
    /** @type {string[]} */
    const seen = [];
    const { url } = await serve((body) => {
      seen.push(body);
      return passOn(anvil.url, body);
    });
    const words = `-t 1 --iterations 600 --workload rpc --calls ${file}`;
    const { run, stdout } = await runOf(t, words, { chain: anvil, rpc: url });
    assert.deepEqual([run.counts.verified, run.failures], [600, {}]);
    assert.match(stdout, /^ {2}replay {6}400 requests of \S+ in file order, 1\.50? passes$/m);
    const methods = (/** @type {string} */ text) => [JSON.parse(text)].flat().map(({ method }) => method);
    const asked = seen.map(methods).slice(-600);
    assert.deepEqual(asked.slice(0, 400), lines.map(methods));
    assert.deepEqual(asked.slice(400), lines.slice(0, 200).map(methods));
  });

  for (const more of ['', '--calls-order random --workers 3', '--workers 2 --transport tcp', '--workers 2 --rate 400'])
    test(`each is sent once in a pass: ${more}`, async (t) => {
      const { file, lines } = fileOf(t);
      const words = `-t 8 --iterations 50 --workload rpc --calls ${file} ${more}`;
      const { run } = await runOf(t, words, { chain: anvil });
      assert.deepEqual(countsByName(run), namesOf(lines));
      assert.equal(run.counts.verified, 400);
      // Each request of a batch is counted.
      assert.equal(run.generator.rpcCalls.load, sumOf(lines.map((line) => [JSON.parse(line)].flat().length)));
    });

  test('beside transactions', async (t) => {
    const { file } = fileOf(t, '{"method":"eth_chainId"}\n{"method":"eth_blockNumber"}\n');
    const { run } = await runOf(t, `-d 2s --mix counter:50,calls:50 --calls ${file}`, { chain: anvil, threads: 4 });
    assert.equal(run.audit.exact, true);
    assert.equal(run.environment.workload.calls.requests, 2);
  });
});

describe('two endpoints', () => {
  test('the one answer that differs is found, and both commands show it', async (t) => {
    const { file, lines } = fileOf(t);
    const balance = lines.find((line) => line.includes('eth_getBalance')) ?? '';
    const [address] = JSON.parse(balance).params;
    const times = lines.filter((line) => line.includes('eth_getBalance') && line.includes(address)).length;
    const { url } = await serveBetween(anvil.url, ({ method, params }) =>
      method === 'eth_getBalance' && params[0] === address ? { result: '0xdead' } : null,
    );
    const words = `-t 4 --iterations 100 --workload rpc --calls ${file} --threshold differences=0 --check-rpc`;
    const { run, stdout } = await runOf(t, `${words} ${url}`, { chain: anvil, exit: 99 });
    assert.deepEqual([run.failures, run.thresholds[0].value], [{ answers_differ: times }, times]);
    assert.match(
      stdout,
      new RegExp(
        `400 requests of \\S+ in file order, 1 pass; ${times} differences? from\\s+--check-rpc, of ${times} request`,
      ),
    );
    const [, place, ...commands] =
      /\n {2}eth_getBalance +(line \d+: [^]*instead of "0x0")\n {4}(curl .*)\n {4}(curl .*)\n/.exec(stdout) ?? [];
    assert.match(place, /answers differently: \$ is "0xdead" instead of "0x0"/);
    const printed = await Promise.all(commands.map((command) => promisify(execFile)('sh', ['-c', command])));
    const answers = printed.map((one) => JSON.parse(one.stdout).result);
    assert.deepEqual(answers, ['0x0', '0xdead']);
    const same = await runOf(t, `${words} ${anvil.url}`, { chain: anvil });
    assert.deepEqual([same.run.failures, same.run.thresholds[0].value], [{}, 0]);
    assert.ok(same.run.generator.rpcCalls.check > 200);
  });

  test('answers that could not be compared may be different ones', async (t) => {
    const { file } = fileOf(
      t,
      '{"method":"eth_getBalance","params":["0x0000000000000000000000000000000000000001","latest"]}\n',
    );
    let asked = 0;
    const { url } = await serve((body) => {
      if (body.includes('eth_getBalance')) asked += 1;
      return asked > 10 && body.includes('eth_getBalance') ? { status: 500, body: 'broken' } : passOn(anvil.url, body);
    });
    const words = `-t 2 --iterations 8 --workload rpc --calls ${file} --threshold differences=0 --check-rpc ${url}`;
    const { run, stdout } = await runOf(t, words, { chain: anvil, exit: 99 });
    assert.deepEqual(run.failures, { check_unavailable: 6 });
    const [{ value, atMost, censored, passed }] = run.thresholds;
    assert.deepEqual([value, atMost, censored, passed], [0, 6, 6, false]);
    assert.match(stdout, /; 0 differences from\s+--check-rpc,\s+6\s+answers\s+NOT\s+COMPARED/);
    assert.match(stdout, /^ {2}differences=0 +FAILED +0 to 6; 6 not known$/m);
  });

  test('either of them may be a block behind', async (t) => {
    await anvil.rpc('anvil_mine', ['0x8']);
    const lines = Array.from(
      { length: 8 },
      (_, i) => `{"method":"eth_getBlockByNumber","params":["0x${i + 1}",false]}\n`,
    );
    const { file } = fileOf(t, lines.join(''));
    /** Lacks each block when it is asked for it for the first time. */
    const behind = () => {
      const known = new Set();
      return serveBetween(anvil.url, ({ method, params }) => {
        const block = String(params?.[0]);
        if (method !== 'eth_getBlockByNumber' || !/^0x[1-8]$/.test(block) || known.has(block)) return null;
        known.add(block);
        return { result: null };
      });
    };
    for (const isFirst of [true, false]) {
      const { url: late } = await behind();
      const [rpc, other] = isFirst ? [late, anvil.url] : [anvil.url, late];
      const words = `-t 2 --iterations 4 --workload rpc --calls ${file} --threshold differences=0 --check-rpc ${other}`;
      const { run } = await runOf(t, words, { chain: anvil, rpc });
      assert.deepEqual([run.failures, run.counts.verified, run.thresholds[0].value], [{}, 8, 0], `${isFirst}`);
    }
  });
});
