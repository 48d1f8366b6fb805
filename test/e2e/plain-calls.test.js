/** `--workload rpc`: plain calls, which need no wallets, no funds and no chain that mines. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { HANG_UP, SILENCE, serve } from '../helpers/endpoint.js';
import { assertNothingLeft, endProcessesOf } from '../helpers/leftovers.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { Answer, Endpoint } from '../helpers/endpoint.js'
 * @import { RunFile } from '../helpers/run-file.js'
 * @import { TestContext } from 'node:test'
 */

const INTERVAL_LINE = /^ +\d+\.\d s +[\d,]+ +[1-9]/m;
const STACK_TRACE = /\n +at .*:\d+:\d+/;

/** @type {Anvil} */
let anvil;
before(async () => {
  anvil = await startAnvil();
});

/** @param {TestContext} t @param {string | null} rpc @param {string[]} more arguments */
function calls(t, rpc, more) {
  const TMPDIR = temporaryFolder(t);
  t.after(() => endProcessesOf(TMPDIR));
  const out = join(temporaryFolder(t), 'run.json');
  // A closed loop keeps a core busy.
  const isPaced = (rpc === null || rpc === anvil.url) && !more.includes('--iterations');
  const args = [
    ...(rpc === null ? [] : ['--rpc', rpc]),
    // With 30 users a pause of the machine drops nothing.
    ...(isPaced ? ['-t', '30', '--rate', '100'] : ['-t', '4']),
    ...['--workload', 'rpc', '--interval', '200ms', '--out', out, ...more],
  ];
  const options = { env: { TMPDIR } };
  return { TMPDIR, args, options, readRun: () => /** @type {RunFile} */ (readJson(out)) };
}

/** @param {number[]} values */
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

/** @param {RunFile} run */
const environmentOf = (run) => /** @type {any} */ (run.environment);

/** What holds for every run of plain calls: nothing is sent to the chain, and nothing of it is audited. @param {RunFile} run */
function assertCalls(run) {
  assertRunFile(run);
  const { latency, generator, unmeasured } = run;
  assert.equal(latency.stages.inclusion.maxUs ?? 0, 0, 'nothing is waited for');
  assert.equal(latency.stages.readBack.maxUs ?? 0, 0, 'nothing is read back');
  assert.deepEqual(
    Object.keys(generator.rpcCalls).filter((purpose) => purpose !== 'setup' && purpose !== 'load'),
    [],
  );
  assert.equal(generator.presigned.used + generator.presigned.discarded, 0);
  assert.equal(run.audit, null);
  assert.match(unmeasured['/audit'], /plain calls/);
  for (const name of ['signer', 'feeMode', 'inclusion', 'blockGasLimit', 'genesisHash'])
    assert.equal(environmentOf(run)[name], null, name);
  assert.equal(generator.inclusionResolutionMs, null);
}

/** Nothing of a run is on the chain: no block, no transaction, no funds. */
async function stateOfChain() {
  return {
    head: await anvil.rpc('eth_blockNumber'),
    pool: await anvil.rpc('txpool_status'),
    // Wallet 15 of the test mnemonic, which anvil does not fund by itself.
    balance: await anvil.rpc('eth_getBalance', ['0xcd3B766CCDd6AE721141F452C550Ca635964ce71', 'latest']),
    nonce: await anvil.rpc('eth_getTransactionCount', ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'latest']),
  };
}

describe('--workload rpc', () => {
  /** @type {Array<{name: string, more: string[], workers?: number}>} */
  const table = [
    { name: 'undici', more: ['--method', 'eth_blockNumber'] },
    {
      name: 'two workers over tcp',
      more: ['--method', 'eth_blockNumber', '--workers', '2', '--transport', 'tcp'],
      workers: 2,
    },
    {
      name: 'with parameters, from another offset',
      more: ['--method', 'eth_getBlockByNumber', '--params', '["0x0", false]', '-o', '12'],
    },
  ];
  for (const { name, more, workers = 1 } of table) {
    test(`${name}: exit 0, all figures add up, nothing is left on the chain`, async (t) => {
      const before = await stateOfChain();
      const { args, options, readRun, TMPDIR } = calls(t, anvil.url, [...more, '-d', '600ms']);
      const { code, stdout, stderr } = await runStress(args, options);
      assert.equal(stderr, '');
      assert.equal(code, 0);
      assert.match(stdout, /^30 users: workload rpc \(eth_\w+\) at http/m);
      assert.match(stdout, /^ {2}audit +none: plain calls/m);
      assert.doesNotMatch(stdout, /wallets/);
      const run = readRun();
      assertCalls(run);
      assert.equal(run.exitCode, 0);
      assert.equal(run.end, 'duration');
      assert.ok(run.counts.verified > 0);
      assert.equal(run.counts.verified, run.counts.started);
      assert.equal(run.generator.workers, workers);
      assert.equal(run.generator.rpcCalls.load, run.counts.started);
      assert.equal(run.generator.transport.requests, sumOf(Object.values(run.generator.rpcCalls)));
      assert.equal(environmentOf(run).chainId, 31337);
      // A machine that is busy may report late, and then for two intervals at once.
      assert.ok(run.intervals.length >= 2 && run.intervals.length <= 4, `${run.intervals.length} intervals`);
      assert.deepEqual(await stateOfChain(), before);
      await assertNothingLeft(TMPDIR);
    });
  }

  for (const workers of [1, 2])
    test(`calls that are never answered are in every percentile that they may change, with ${workers} threads`, async (t) => {
      let asked = 0;
      const endpoint = await serve((body) => {
        const { id, method } = JSON.parse(body);
        if (method === 'eth_gasPrice' && (asked += 1) % 20 === 0) return SILENCE;
        return { body: JSON.stringify({ jsonrpc: '2.0', id, result: '0x7a69' }) };
      });
      // A busy machine may take long for the others, but not as long as the time limit.
      const limits = ['p50<950ms', 'p90<950ms', 'p99<950ms', 'p99.9<950ms', 'submit.p99<950ms', 'max<1h', 'max>1ms'];
      const more = [
        ...['--method', 'eth_gasPrice', '-t', '100', '--rate', '150', '-d', '2s', '--request-timeout', '1s'],
        ...['--workers', String(workers), ...limits.flatMap((text) => ['--threshold', text.replace('1h', '60m')])],
      ];
      const { args, options, readRun } = calls(t, endpoint.url, []);
      const { code, stdout, stderr } = await runStress(
        [...args.filter((arg) => !['-t', '4', '30'].includes(arg)), ...more],
        options,
      );
      assert.equal(code, 99, stderr);
      const run = readRun();
      assertCalls(run);
      const { counts, failures, latency } = run;
      const silent = failures.transport_timeout;
      assert.ok(silent >= 10 && silent === counts.failed, JSON.stringify(failures));
      assert.deepEqual([latency.total.count, latency.censored.count], [counts.started, silent]);
      assert.ok(Number(latency.censored.minUs) >= 990_000);
      assert.deepEqual(
        run.thresholds.map(({ passed }) => passed),
        [true, true, false, false, false, false, true],
      );
      assert.match(stdout, /^ {2}latency ms +>= [\d.]+ .* >= [\d,.]+ +>= [\d,.]+ +>= [\d,.]+$/m);
      assert.match(stdout, new RegExp(`p99<950ms +FAILED +>= [\\d.,]+ ms; ${silent} censored$`, 'm'));
    });

  test('asks for what it was told to, as often as it says', async (t) => {
    /** @type {Array<{method: string, params: unknown[]}>} */
    const asked = [];
    const endpoint = await serve((body) => {
      const { id, method, params } = JSON.parse(body);
      asked.push({ method, params });
      return { body: JSON.stringify({ jsonrpc: '2.0', id, result: '0x7a69' }) };
    });
    const params = '["0x1", {"a": "\\"ü\\n"}, null, 1.5]';
    const { args, options, readRun } = calls(t, endpoint.url, ['--method', 'any_thing', '--params', params]);
    const { code, stderr } = await runStress([...args, '-d', '300ms'], options);
    assert.equal(code, 0, stderr);
    const mine = asked.filter(({ method }) => method === 'any_thing');
    assert.equal(mine.length, readRun().counts.started);
    assert.ok(mine.length > 0);
    for (const request of mine) assert.deepEqual(request.params, JSON.parse(params));
    const others = new Set(asked.map(({ method }) => method).filter((method) => method !== 'any_thing'));
    assert.deepEqual([...others].sort(), ['eth_chainId', 'web3_clientVersion']);
  });

  test('a result of null is an answer', async (t) => {
    const { args, options, readRun } = calls(t, anvil.url, [
      ...['--method', 'eth_getBlockByNumber', '--params', '["0xffffff", false]', '-d', '300ms'],
    ]);
    const { code, stderr } = await runStress(args, options);
    assert.equal(code, 0, stderr);
    assertCalls(readRun());
  });

  test('on the embedded chain, without a wallet', async (t) => {
    const { args, options, readRun, TMPDIR } = calls(t, null, ['--method', 'eth_blockNumber', '-d', '500ms']);
    const { code, stdout, stderr } = await runStress(args, options);
    assert.equal(stderr, '');
    assert.equal(code, 0);
    assert.doesNotMatch(stdout, /funded/);
    const run = readRun();
    assertCalls(run);
    assert.equal(environmentOf(run).embeddedChain, true);
    assert.ok(run.counts.verified > 0);
    await assertNothingLeft(TMPDIR);
  });

  for (const more of [[], ['--workers', '2']]) {
    test(`a method that does not exist ${more.join(' ')}: rpc_error, exit 1, without waiting`, async (t) => {
      const { args, options, readRun } = calls(t, anvil.url, [
        ...['--method', 'eth_nonsense', '--iterations', '50', '-d', '1m', ...more],
      ]);
      const { code, stdout, stderr } = await runStress(args, options);
      assert.equal(code, 1, stderr);
      const run = readRun();
      assertCalls(run);
      assert.equal(run.counts.verified, 0);
      assert.deepEqual(Object.keys(run.failures), ['rpc_error']);
      assert.equal(run.failures.rpc_error, run.counts.started);
      // With pauses of 50, 100, 200, ... 5000 ms the minute would end before all iterations of the four users.
      assert.deepEqual([run.end, run.counts.started], ['iterations', 4 * 50]);
      assert.equal(run.generator.pausedMs, 0);
      assert.match(stdout, /rpc_error/);
    });
  }

  test('SIGINT: drained, exit 130, a whole summary', async (t) => {
    const { args, options, readRun, TMPDIR } = calls(t, anvil.url, ['--method', 'eth_blockNumber']);
    const stress = startStress(args, options);
    await stress.waitFor(INTERVAL_LINE);
    stress.child.kill('SIGINT');
    const { code, stdout, stderr } = await stress.done;
    assert.equal(code, 130, stderr);
    assert.equal(stderr, '');
    assert.match(stdout, /^Summary: interrupted/m);
    const run = readRun();
    assertCalls(run);
    assert.equal(run.exitCode, 130);
    assert.equal(run.counts.abandoned, 0);
    assert.equal(run.counts.verified, run.counts.started);
    await assertNothingLeft(TMPDIR);
  });
});

describe('a server that answers a constant', () => {
  /** @type {Endpoint} */
  let constant;
  before(async () => {
    constant = await serve(() => ({ body: '{"jsonrpc":"2.0","id":1,"result":"0x1b4"}' }));
  });

  for (const more of [
    ['--transport', 'undici'],
    ['--transport', 'tcp', '--workers', '2'],
  ])
    test(`--fixed-id 1 ${more.join(' ')}: exit 0`, async (t) => {
      const { args, options, readRun } = calls(t, constant.url, ['--method', 'eth_blockNumber', '--fixed-id', '1']);
      const { code, stderr } = await runStress([...args, '-d', '400ms', ...more], options);
      assert.equal(stderr, '');
      assert.equal(code, 0);
      const run = readRun();
      assertCalls(run);
      assert.ok(run.counts.verified > 0);
      assert.equal(run.counts.verified, run.counts.started);
    });

  for (const more of [[], ['--fixed-id', '2']])
    test(`${more.join(' ') || 'without it'}: the answer to the first request has another id, and there is no load`, async (t) => {
      const { args, options } = calls(t, constant.url, ['--method', 'eth_blockNumber', '-d', '400ms', ...more]);
      const { code, stderr } = await runStress(args, options);
      assert.equal(code, 69);
      assert.match(stderr, /^stress: http:\/\/127\.0\.0\.1:\d+ answered eth_chainId with a foreign id$/m);
    });
});

describe('an endpoint that fails in the middle', () => {
  const DOWN_MS = 1200;
  /** @type {Array<[string, string, Answer | typeof HANG_UP, RegExp]>} */
  const table = [
    ['HTTP 503', 'undici', { status: 503, body: 'busy' }, /^protocol$/],
    ['HTTP 503', 'tcp', { status: 503, body: 'busy' }, /^protocol$/],
    ['a connection that is closed', 'undici', HANG_UP, /^transport_/],
  ];
  for (const [name, transport, failure, code] of table) {
    test(`${name}, ${transport}: it is counted, not hammered, and used again when it is well`, async (t) => {
      let isDown = false;
      let askedWhileDown = 0;
      const endpoint = await serve((body) => {
        askedWhileDown += isDown ? 1 : 0;
        if (isDown) return failure === HANG_UP ? HANG_UP : /** @type {any} */ (failure);
        return { body: JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result: '0x7a69' }) };
      });
      const { args, options, readRun } = calls(t, endpoint.url, ['--method', 'eth_blockNumber']);
      const stress = startStress([...args, '--transport', transport], options);
      await stress.waitFor(INTERVAL_LINE);
      isDown = true;
      await sleep(DOWN_MS);
      isDown = false;
      // The longest pause that users may be in is 1.6 s by then.
      await stress.waitFor(/^ +\d+\.\d s +[\d,]+ +[\d,]+ +[1-9][\d.,]* .* 0$/m, 'now');
      stress.child.kill('SIGINT');
      const { code: exitCode, stdout, stderr } = await stress.done;
      assert.equal(exitCode, 130, stderr);
      assert.doesNotMatch(stdout + stderr, STACK_TRACE);
      const run = readRun();
      assertCalls(run);
      assert.ok(run.counts.failed > 0);
      for (const word of Object.keys(run.failures)) assert.match(word, code);
      // Pauses of 50, 100, 200, 400, 800 ms for each of four users; a lost connection is tried three times.
      assert.ok(askedWhileDown >= 4 && askedWhileDown <= 4 * 3 * 7, `${askedWhileDown} requests in ${DOWN_MS} ms`);
      assert.ok(run.counts.failed <= 4 * 7, `${run.counts.failed} failures in ${DOWN_MS} ms`);
      const firstFailed = run.intervals.findIndex((row) => row.counts.failed > 0);
      assert.ok(
        run.intervals.slice(firstFailed + 1).some((row) => row.counts.verified > 0),
        'it goes on afterwards',
      );
    });
  }

  test('one that is gone for good, with a duration: exit 0, because there was an answer, and the failures', async (t) => {
    const endpoint = await startAnvil();
    after(endpoint.stop);
    const { args, options, readRun } = calls(t, endpoint.url, ['--method', 'eth_blockNumber', '-d', '1500ms']);
    const stress = startStress(args, options);
    await stress.waitFor(INTERVAL_LINE);
    await endpoint.stop();
    const { code, stdout, stderr } = await stress.done;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /transport_/);
    const run = readRun();
    assertCalls(run);
    assert.ok(run.counts.failed > 0 && run.counts.failed <= 4 * 7);
  });
});
