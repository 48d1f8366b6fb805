/** The library, as another program uses it: the example of its page, its promises. Its types are in test/slow. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ROOT, cleanEnvironment } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

const [, EXAMPLE] = /```js\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs/outputs.md'), 'utf8')) ?? [];

/**
 * Runs a program that has the package installed.
 * @param {TestContext} t
 * @param {string} text
 */
function program(t, text) {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/evm-stress'));
  writeFileSync(join(folder, 'main.mjs'), text);
  const options = /** @type {const} */ ({ encoding: 'utf8', timeout: 100_000, env: cleanEnvironment() });
  return spawnSync(process.execPath, [join(folder, 'main.mjs')], options);
}

describe('the library', () => {
  it('runs the example of docs/outputs.md, and prints nothing itself', (t) => {
    const { status, stdout, stderr } = program(t, EXAMPLE);
    assert.equal(status, 0, stderr);
    assert.equal(stderr, '');
    assert.match(stdout, /^(\d+(\.\d+)? ms: (\d+(\.\d+)?|null) TPS\n){2,5}[1-9]\d* verified, audit exact\n$/);
  });

  it('drains when the signal is aborted, in worker threads too, and leaves nothing behind', (t) => {
    const { status, stdout, stderr } = program(
      t,
      `import { run } from 'evm-stress';
       const listeners = () => JSON.stringify(process.eventNames().map((name) => [String(name), process.listenerCount(name)]));
       const before = listeners();
       const stop = new AbortController();
       const onInterval = ({ counts }) => counts.verified > 0 && stop.abort();
       const { signal } = stop;
       const result = await run({ wallets: 4, workers: 2, interval: '300ms' }, { onInterval, signal });
       const { end, exitCode, audit, counts, config } = result;
       const { verified, started } = counts;
       const isSame = listeners() === before;
       console.log(JSON.stringify({ end, exitCode, result: audit.result, isAll: verified === started, workers: config.workers, isSame }));`,
    );
    // A socket, a timer, a thread or a process that was left would keep the program from ending.
    assert.equal(status, 0, stderr);
    const { end, exitCode, ...others } = JSON.parse(stdout);
    assert.deepEqual([end, exitCode], ['interrupted', 130]);
    assert.deepEqual(others, { result: 'exact', isAll: true, workers: 2, isSame: true });
  });

  it('an onInterval that throws or rejects ends the load with a usage error, also after the last interval', (t) => {
    const { status, stdout, stderr } = program(
      t,
      `import { run, UsageError } from 'evm-stress';
       import { setTimeout as sleep } from 'node:timers/promises';
       const say = (error) => console.log(error instanceof UsageError, error.exitCode, error.message);
       const options = { wallets: 1, interval: '200ms' };
       const fail = () => { throw new Error('no disk'); };
       await run({ ...options, duration: '100s' }, { onInterval: fail }).catch(say);
       await run({ ...options, duration: '100s' }, { onInterval: async () => fail() }).catch(say);
       await run({ ...options, duration: '400ms' }, { onInterval: () => sleep(3000).then(fail) }).catch(say);`,
    );
    assert.equal(status, 0, stderr);
    assert.equal(stderr, '');
    assert.equal(stdout, 'true 64 onInterval() threw: Error: no disk\n'.repeat(3));
  });

  it('a second run, unknown options and wrong workloads are usage errors; an endpoint that is gone is unavailable', (t) => {
    const { status, stdout, stderr } = program(
      t,
      `import { defineWorkload, run, StressError, UsageError } from 'evm-stress';
       const say = (error) => console.log(error instanceof UsageError, error instanceof StressError, error.exitCode, error.message);
       const own = defineWorkload({ kind: 'call', next: () => ({ method: 'eth_chainId' }) });
       const gone = { wallets: 1, duration: '1s', rpc: 'http://127.0.0.1:1' };
       const first = run(gone);
       await run(gone).catch(say);
       await first.catch(say);
       for (const more of [{ out: 'x.json' }, { nope: 1 }, { workload: {} }, { workload: own, wallets: 2, workers: 2 }, { wallets: 0 }])
         await run({ ...gone, ...more }).catch(say);
       await run(gone, { signal: AbortSignal.abort() }).catch(say);`,
    );
    assert.equal(status, 0, stderr);
    const lines = stdout.trim().split('\n');
    assert.match(lines[0], /^true true 64 run\(\): another run of this process has not ended/);
    assert.match(
      lines[1],
      /^false true 69 http:\/\/127\.0\.0\.1:1: connection refused; is the node running\? --wait-for 30s waits for it$/,
    );
    assert.match(lines[2], /^true true 64 run\(\): unknown option "out"/);
    assert.match(lines[3], /^true true 64 run\(\): unknown option "nope"/);
    const wrong = /^true true 64 workload must be a name, the path of a file, or the result of defineWorkload/;
    assert.match(lines[4], wrong);
    assert.match(lines[5], /^true true 64 a workload object cannot be sent to worker threads/);
    assert.match(lines[6], /^true true 64 .*--threads.* must be at least 1/);
    assert.match(lines[7], /^false true (130|69) /);
  });
});
