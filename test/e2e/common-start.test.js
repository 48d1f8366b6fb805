/** Instances that begin together, or do not, and the run files that they leave where those of all are put together. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { freePort } from '../helpers/anvil.js';
import { exited, readJson, startStress } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { SECOND_WISH_MS, nodeFor, startOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

/** What a reader goes by, whatever stands before it in the line. */
const RESULT = /STRESS_RESULT (\{\S+\})$/gm;

/** One chain for all tests: each has wallets of its own on it. */
const node = nodeFor(140);

/** @typedef {{folder: string, own: string, results: string, args: (index: number, more?: Record<string, string | number>) => string[]}} Site */

/**
 * What instances of one run share.
 * @param {TestContext} t
 * @param {number} offset of the first wallet of all of them
 * @returns {Site}
 */
function site(t, offset) {
  const folder = temporaryFolder(t);
  const [barrier, results] = [join(folder, 'barrier'), join(folder, 'results')];
  const common = { '--rpc': node.url, '--chain-id': 31337, '-t': 5, '-o': offset, '--instances': 2, '-d': '1s' };
  const all = { ...common, '--run-id': 'demo', '--barrier': barrier, '--results': results };
  return {
    folder,
    own: join(barrier, 'demo'),
    results,
    args: (index, more = {}) =>
      Object.entries({ ...all, '--index': index, ...more })
        .flat()
        .map(String),
  };
}

/** @param {string} text @returns {any[]} the run files in it */
function resultsIn(text) {
  return [...text.matchAll(RESULT)].map(([, json]) => {
    const { schema, gzip, bytes, sha256, runId, index, attempt, id } = JSON.parse(json);
    const unpacked = gunzipSync(Buffer.from(gzip, 'base64'));
    assert.deepEqual([schema, unpacked.length], ['evm-stress/result@1', bytes]);
    assert.equal(createHash('sha256').update(unpacked).digest('hex'), sha256);
    const run = JSON.parse(unpacked.toString());
    const expected = [runId, index, attempt, id];
    assert.deepEqual([run.instance.runId, run.instance.index, run.instance.attempt, run.id], expected);
    return run;
  });
}

/** The window begins at the instant, or as much later as the run file says. @param {any} run */
function assertBeganTogether({ instance: { start }, window }) {
  const lateMs = start.lateMs <= 20 ? 0 : start.lateMs;
  assert.ok(start.lateMs >= 0 && start.waitedMs > 0, JSON.stringify(start));
  const offMs = Date.parse(window.startedAt) - Date.parse(start.at) - lateMs;
  assert.ok(Math.abs(offMs) <= 1, `${window.startedAt} is not ${lateMs} ms after ${start.at}`);
}

/** A machine may be too busy to be ready in time. @param {number} seconds @param {(startAt: string) => Promise<any>} run */
async function soonOrLater(seconds, run) {
  const at = (/** @type {number} */ seconds) => (Date.now() / 1000 + seconds).toFixed(3);
  const soon = await run(at(seconds));
  const isLate = soon.code === 75 || soon.stderr.includes('after the common start');
  return isLate ? run(at(90)) : soon;
}

describe('a common start', { concurrency: 4 }, () => {
  test('two at a barrier, one instant, two run files, all exact', async (t) => {
    const { args, results, own } = site(t, 0);
    const first = startStress([...args(1, { '--out': '-' }), '--quiet']);
    const second = startStress(args(0));
    const [one, zero] = await Promise.all([first.done, second.done]);
    assert.deepEqual([zero.code, one.code], [0, 0], zero.stderr + one.stderr);
    assert.match(zero.stdout, /^the load starts at \S+Z, in \d+\.\d s$/m);

    assert.deepEqual(readdirSync(results).sort(), ['demo-00000-0.json', 'demo-00001-0.json']);
    const runs = readdirSync(results).map((name) => readJson(join(results, name)));
    // What goes to standard output is the run file alone.
    assert.deepEqual([JSON.parse(one.stdout), ...resultsIn(one.stderr)], [runs[1], runs[1]]);
    assert.deepEqual(resultsIn(zero.stdout), [runs[0]]);

    const { at, arrivals } = readJson(join(own, 'start.json'));
    runs.forEach((run, index) => {
      assertRunFile(run);
      assertBeganTogether(run);
      const { runId, instances, attempt, scheduler, offset, threads, start } = run.instance;
      assert.deepEqual([run.instance.index, runId, instances, attempt, scheduler], [index, 'demo', 2, 0, null]);
      assert.deepEqual([offset, threads, start.by, start.at], [5 * index, 5, 'barrier', at]);
      assert.deepEqual(arrivals[index], { index, attempt: 0, id: run.id });
      assert.equal(run.config.offset, 0, 'as -o gives it');
      assert.deepEqual([run.end, run.audit.exact, run.audit.wallets], ['duration', true, 5]);
      assert.ok(run.startedAt <= run.window.startedAt && run.window.startedAt <= run.endedAt);
    });
  });
});

describe('results', { concurrency: 4 }, () => {
  /** The only instance, with wallets that no other test uses. @param {number} offset */
  const alone = (offset) => `--chain-id 31337 -t 2 -o ${offset} --instances 1 --index 0`;

  test('interrupted when all is ready, shortly before the load: no run file that looks like one killed under load', async (t) => {
    const { stdout, stderr, code, folder, out } = await soonOrLater(14, async (startAt) => {
      // With workers there is more time in which to be interrupted.
      const words = `${alone(85)} --workers 2 --results DIR/results --start-at ${startAt}`;
      const running = startOf(t, words, { rpc: node.url });
      const own = join(running.folder, 'results', 'run-00000-0.json');
      let hasEnded = false;
      const done = running.end(null).finally(() => (hasEnded = true));
      while ((statSync(own, { throwIfNoEntry: false })?.size ?? 0) === 0 && !hasEnded) await setTimeout(20);
      running.child.kill('SIGINT');
      return done;
    });
    assert.deepEqual([code, stderr], [130, 'stress: interrupted while waiting for the common start\n']);
    assert.doesNotMatch(stdout, /STRESS_RESULT|Summary/);
    assert.deepEqual(readdirSync(join(folder, 'results')), [], 'the name stays free');
    // It says what the set-up has paid.
    const run = JSON.parse(readFileSync(out, 'utf8'));
    assert.deepEqual([run.end, run.partial, run.counts.started], ['set_up_failed', false, 0]);
    assert.ok(BigInt(run.spending.setUpWei) > 0n);
  });

  test('interrupted twice while its worker threads start: that is no bug of ours', async (t) => {
    const workload = join(temporaryFolder(t), 'slow.mjs');
    writeFileSync(
      workload,
      `import { isMainThread } from 'node:worker_threads';
export const contract = 'evm-stress/workload@1';
if (!isMainThread) await new Promise((resolve) => setTimeout(resolve, 600_000));
export default () => ({ kind: 'transaction', next: () => ({ to: '0x' + '11'.repeat(20), value: 1n }) });
`,
    );
    const words = `${alone(87)} --barrier DIR/barrier --run-id twice --workers 2 --workload ${workload} -d 1s`;
    const running = startOf(t, words, { rpc: node.url });
    await running.waitFor(/^the load starts at /m);
    let ended = false;
    const done = running.done.finally(() => (ended = true));
    while (!ended) {
      running.child.kill('SIGINT');
      await Promise.race([done, setTimeout(SECOND_WISH_MS, undefined, { ref: false })]);
    }
    // Where the signal meets it depends on the speed of the machine.
    assert.match((await running.end(130)).stderr, /^stress: interrupted (during set-up|before the load)\n$/);
  });
  test('--wait-for precedes the barrier', async (t) => {
    const folder = temporaryFolder(t);
    const common = `--chain-id 31337 --instances 2 --index 0 --run-id demo --barrier ${folder}`;
    const url = `http://127.0.0.1:${await freePort()}`;
    const { stderr } = await exited(69, `-t 1 -d 1s --wait-for 600ms --rpc ${url} ${common}`.split(' '));
    assert.match(stderr, /did not answer within 0\.6 s \(--wait-for\): connection refused\n$/);
    assert.deepEqual(readdirSync(join(folder, 'demo')), []);
  });
});
