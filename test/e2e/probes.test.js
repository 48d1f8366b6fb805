/** What is read beside the load, of a real node process and of pages that are there, are not, or are something else. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort, startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { RunFile } from '../helpers/run-file.js'
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

/** @type {Anvil} */
let anvil;
before(async () => {
  anvil = await startAnvil({ args: ['--block-time', '0.2'] });
});
after(() => anvil.stop());

let nextIndex = 0;

/** @param {TestContext} t @param {string[]} more @param {string} [duration] @returns {{args: string[], readRun: () => RunFile}} */
function stress(t, more, duration = '2s') {
  const out = join(temporaryFolder(t), 'run.json');
  const args = ['--rpc', anvil.url, '-t', '1', '-o', String(nextIndex++), '-d', duration, '--interval', '500ms'];
  return { args: [...args, '--out', out, ...more], readRun: () => readJson(out) };
}

/** @param {TestContext} t @param {string} type @param {() => string} page */
async function servePage(t, type, page) {
  const server = createServer((_request, response) => response.setHeader('content-type', type).end(page()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${/** @type {AddressInfo} */ (server.address()).port}/metrics`;
}

/** @param {string} text @param {RegExp} pattern */
const times = (text, pattern) => text.match(new RegExp(pattern, 'g'))?.length ?? 0;

describe('probes', { concurrency: 3 }, () => {
  test('a node by its pid, the series that were chosen of its page, and all that needs no option', async (t) => {
    let scrapes = 0;
    const url = await servePage(
      t,
      'text/plain',
      () => `# TYPE blocks counter\nblocks{kind="mined"} ${++scrapes}\nx 1\n`,
    );
    const node = ['--node-pid', String(anvil.pid), '--node-metrics', url, '--node-series', 'blocks'];
    const { args, readRun } = stress(t, node);
    const { code, stdout, stderr } = await runStress(args);
    assert.equal(code, 0, stderr);
    const run = readRun();
    assertRunFile(run);
    // On a busy machine this process serves the page late, and blocks come late.
    const ofLoad = /no (page|answer) within \d+ m?s$|the window has \d+ of the \d+ blocks/;
    assert.deepEqual(
      run.warnings.filter((words) => !ofLoad.test(words)),
      [],
    );
    for (const name of /** @type {const} */ (['metrics', 'node', 'pool']))
      assert.ok(
        run.intervals.some(({ probes }) => probes[name] !== null),
        name,
      );
    for (const { probes } of run.intervals) {
      if (probes.node === null) assert.match(probes.why.node, /no answer within/);
      else assert.ok(probes.node.rssBytes > 1e6 && probes.node.threads >= 1);
      if (probes.metrics === null) assert.match(probes.why.metrics, /no page within/);
      else assert.deepEqual(Object.keys(probes.metrics.series), ['blocks{kind="mined"}']);
      if (probes.pool === null) assert.match(probes.why.pool, /no answer within/);
      else assert.ok(probes.pool.pending >= 0);
      // The few milliseconds of a drain may have been busy or idle throughout.
      assert.ok(probes.loop !== null && probes.loop.utilization >= 0 && probes.loop.utilization <= 1);
    }
    const utilization = run.probes?.loop?.utilization ?? 0;
    assert.ok(utilization > 0 && utilization < 1, `${utilization}`);
    const missed = run.intervals.filter(({ probes }) => probes?.metrics === null).length;
    assert.ok(scrapes + missed >= run.intervals.length, `${scrapes} pages in ${run.intervals.length} intervals`);
    assert.match(stdout, /^ {2}node /m);
  });

  test('the embedded chain is watched without being asked', async (t) => {
    const out = join(temporaryFolder(t), 'run.json');
    // Several intervals: on a busy machine a reading may come too late for one.
    const { code, stderr } = await runStress(['-t', '2', '-d', '3s', '--interval', '500ms', '--out', out]);
    assert.equal(code, 0, stderr);
    const { probes } = /** @type {RunFile} */ (readJson(out));
    assert.ok(Number(probes?.node?.rssBytes) > 1e6 && Number(probes?.node?.threads) > 1, JSON.stringify(probes?.why));
  });

  test('a page that is not there: said once, null in the file, and the run goes on', async (t) => {
    const { args, readRun } = stress(t, ['--node-metrics', `http://user:s3cr3t@127.0.0.1:${await freePort()}/metrics`]);
    const { code, stderr, stdout } = await runStress(args);
    assert.equal(code, 0, stderr);
    const run = readRun();
    assertRunFile(run);
    assert.equal(times(stderr, /--node-metrics/), 1, stderr);
    assert.equal(run.warnings.filter((words) => words.includes('--node-metrics')).length, 1, run.warnings.join('\n'));
    for (const { probes } of run.intervals) {
      assert.equal(probes.metrics, null);
      assert.match(probes.why.metrics, /refused/);
    }
    assert.ok(!(stderr + stdout + JSON.stringify(run)).includes('s3cr3t'));
  });

  test('a page of HTML is none of Prometheus', async (t) => {
    const page = await servePage(t, 'text/html', () => '<html><body>hello</body></html>');
    const { args, readRun } = stress(t, ['--node-metrics', page]);
    const { code, stderr } = await runStress(args);
    assert.equal(code, 0, stderr);
    assertRunFile(readRun());
    assert.equal(times(stderr, /--node-metrics/), 1, stderr);
    assert.equal(readRun().probes?.metrics, null);
  });

  test('a page that never answers does not hold the reports up', async (t) => {
    const server = createServer(() => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => (server.closeAllConnections(), server.close()));
    const { port } = /** @type {AddressInfo} */ (server.address());
    const { args, readRun } = stress(t, ['--node-metrics', `http://127.0.0.1:${port}/`]);
    const { code, stderr } = await runStress(args);
    assert.equal(code, 0, stderr);
    assertRunFile(readRun());
    assert.equal(readRun().intervals.filter(({ phase }) => phase === 'load').length, 4, 'one each 500 ms');
    assert.equal(times(stderr, /--node-metrics/), 1, stderr);
  });

  test('a process that ends in mid-run: said once, null from then on', async (t) => {
    const sleeper = spawn('sleep', ['30']);
    t.after(() => sleeper.kill('SIGKILL'));
    const { args, readRun } = stress(t, ['--node-pid', String(sleeper.pid)], '30s');
    const run = startStress(args);
    await run.waitFor(/^ +\d\.\d s /m);
    sleeper.kill('SIGKILL');
    await run.waitFor(/is gone/);
    run.child.kill('SIGINT');
    const { code, stderr } = await run.done;
    assert.equal(code, 130, stderr);
    const { intervals, warnings } = readRun();
    assertRunFile(readRun());
    assert.notEqual(intervals[0].probes.node, null);
    assert.equal(intervals.at(-1)?.probes.node, null);
    assert.match(intervals.at(-1)?.probes.why.node ?? '', /process \d+ is gone/);
    // Others are about this machine: a block that came late, for instance.
    assert.equal(times(warnings.join('\n'), /is gone/), 1);
    assert.equal(times(stderr, /is gone/), 1, stderr);
  });
});
