/**
 * What limited a run, provoked: a generator without CPU, a generator that is slower than its endpoint, a low rate, a slow
 * node. (Ports are in test/ports, which needs a network namespace.) And what CI does with it: thresholds, JUnit.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, spawnStress } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { assertRefused } from '../helpers/table.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @typedef {import('../helpers/run-file.js').RunFile} RunFile */

/** @param {import('node:test').TestContext} t @param {string[]} more @returns {{args: string[], readRun: () => RunFile}} */
function stress(t, more) {
  const out = join(temporaryFolder(t), 'run.json');
  return { args: ['--out', out, '--interval', '1s', ...more], readRun: () => readJson(out) };
}

/** @param {RunFile} run @param {string} stdout @param {string} name */
function assertVerdict(run, stdout, name) {
  assert.equal(run.verdict?.name, name, run.verdict?.evidence);
  // Its sentence may take more than one line.
  assert.ok(stdout.replace(/\s+/g, ' ').includes(` verdict ${name}: ${run.verdict?.evidence}`), stdout);
}

/**
 * As little work for a request as there can be: what comes is not looked at, and what goes is ready. It is large, so that
 * reading it takes much longer than writing it.
 * @param {import('node:test').TestContext} t
 */
async function serveConstant(t) {
  const result = Array.from({ length: 20_000 }, (_, i) => ({ i }));
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result });
  const answer = Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  const server = createServer((socket) => socket.on('data', () => socket.write(answer)).on('error', () => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
}

describe('the verdict', () => {
  test('a rate that is far below what the node can do is the limit', async (t) => {
    const anvil = await startAnvil({ args: ['--block-time', '0.2'] });
    t.after(anvil.stop);
    const { args, readRun } = stress(t, [
      '--rpc',
      anvil.url,
      '-t',
      '10',
      '--in-flight',
      '4',
      '--rate',
      '20',
      '-d',
      '4s',
    ]);
    const { code, stdout } = await runStress(args);
    assert.equal(code, 0, stdout);
    const run = readRun();
    assertRunFile(run);
    assertVerdict(run, stdout, 'rate-bound');
    assert.match(run.verdict?.evidence ?? '', /20\.0 of 20\.0 per second were achieved, 0 dropped/);
  });

  test('a node that makes a block a second is the limit, in a closed loop', async (t) => {
    const anvil = await startAnvil({ args: ['--block-time', '1'] });
    t.after(anvil.stop);
    const { args, readRun } = stress(t, ['--rpc', anvil.url, '-t', '10', '-d', '4s']);
    const { code, stdout } = await runStress(args);
    assert.equal(code, 0, stdout);
    const run = readRun();
    assertRunFile(run);
    assertVerdict(run, stdout, 'node-bound');
    assert.match(run.verdict?.evidence ?? '', /^\d+ % of the latency is waiting for a block, 10 in flight/);
  });

  test('and in an open loop, where what it cannot take is dropped and nobody can miss it', async (t) => {
    const anvil = await startAnvil({ args: ['--block-time', '1'] });
    t.after(anvil.stop);
    const { args, readRun } = stress(t, ['--rpc', anvil.url, '-t', '10', '-d', '4s', '--rate', '40']);
    const { code, stdout, stderr } = await runStress(args);
    assert.equal(code, 0, stdout);
    const run = readRun();
    assertRunFile(run);
    assertVerdict(run, stdout, 'node-bound');
    const { scheduled, dropped } = run.window.counts;
    assert.equal(scheduled, 160);
    assert.ok(dropped > 80, `${dropped} dropped`);
    assert.match(stdout, /% SHORT of the rate asked for/);
    assert.match(stderr, /THE RATE WAS NOT HELD: [\d.]+ of 40\.0 operations per second/);
    assert.match(run.verdict?.evidence ?? '', new RegExp(`${dropped} of 160 were dropped`));
  });

  test('a generator that is slower than its endpoint is the limit', async (t) => {
    const url = await serveConstant(t);
    const { args, readRun } = stress(t, ['--rpc', url, '-t', '64', '-d', '3s']);
    const calls = ['--workload', 'rpc', '--method', 'eth_chainId', '--fixed-id', '1'];
    const { code, stdout } = await runStress([...args, ...calls]);
    assert.equal(code, 0, stdout);
    assertVerdict(readRun(), stdout, 'generator-bound');
    assert.match(readRun().verdict?.evidence ?? '', /the generator's event loop was busy \d+ % of the time/);
  });

  test('a generator that is given no CPU is the limit, whatever its event loop says', async (t) => {
    const anvil = await startAnvil({ args: ['--block-time', '0.2'] });
    t.after(anvil.stop);
    const { args, readRun } = stress(t, ['--rpc', anvil.url, '-t', '10', '--rate', '20', '-d', '5s']);
    const run = spawnStress(args);
    await run.waitFor(/wallets 0\.\.9/);
    // What cpulimit does: it is stopped for nine tenths of the time.
    let isOver = false;
    const ended = run.done.finally(() => (isOver = true));
    while (!isOver) {
      run.child.kill('SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, 270));
      run.child.kill('SIGCONT');
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    const { stdout } = await ended;
    assertVerdict(readRun(), stdout, 'generator-bound');
    assert.ok((readRun().lag.p99Us ?? 0) > 100_000, 'the starts were late');
  });
});

describe('thresholds', () => {
  test('every one that fails is listed, 99 is the exit code, and JUnit has them all', async (t) => {
    const anvil = await startAnvil();
    t.after(anvil.stop);
    const junit = join(temporaryFolder(t), 'junit.xml');
    const wanted = ['tps>=1', 'p99<1us', 'failed<0.1%', 'submit.p95<1m', 'dropped=0', 'readback.max<1us'];
    const { args, readRun } = stress(t, ['--rpc', anvil.url, '-t', '5', '-d', '1s', '--junit', junit]);
    const { code, stdout, stderr } = await runStress([...args, ...wanted.flatMap((text) => ['--threshold', text])]);
    assert.equal(code, 99, stdout + stderr);
    const run = readRun();
    assertRunFile(run);
    assert.equal(run.exitCode, 99);
    assert.deepEqual(
      run.thresholds.map(({ expression, passed }) => [expression, passed]),
      wanted.map((text) => [text, !text.endsWith('<1us')]),
    );
    assert.match(stderr, /2 of 6 thresholds failed: p99<1us, readback\.max<1us/);
    for (const text of wanted) assert.ok(stdout.includes(text), text);
    const xml = readFileSync(junit, 'utf8');
    assert.match(xml, /<testsuite name="stress"[^>]*tests="8"[^>]*failures="[23]"/);
    assert.ok(xml.includes('p99&#60;1us'));
  });

  test('one that holds changes nothing', async (t) => {
    const anvil = await startAnvil();
    t.after(anvil.stop);
    const { args, readRun } = stress(t, ['--rpc', anvil.url, '-t', '5', '-d', '1s']);
    const env = { STRESS_THRESHOLD: 'tps>=1,p99<1m' };
    const { code, stdout } = await runStress(args, { env });
    assert.equal(code, 0, stdout);
    assert.deepEqual(
      readRun().thresholds.map(({ passed }) => passed),
      [true, true],
    );
  });

  const BAD = /** @type {Array<[string, RegExp]>} */ ([
    ['p99', /--threshold .*p99/],
    ['p99<', /--threshold/],
    ['p99<200', /p99 is a duration/],
    ['p9x<2s', /p9x.*p9/],
    ['tpss>1', /tpss.*tps/],
    ['tps>1s', /tps/],
    ['', /--threshold needs a value/],
  ]);
  test('what is none: 64, and what is near is named', (t) =>
    assertRefused(
      t,
      BAD.map(([text, words]) => [['-t', '1', '-d', '1s', '--threshold', text], 64, words]),
    ));
});
