/** What is read beside the load, of a real node process and of pages that are there, are not, or are something else. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { anvilFor, freePort } from '../helpers/anvil.js';
import { PORTS_WARNING, readJson } from '../helpers/cli.js';
import { serve } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';
import { until } from '../helpers/until.js';

const chain = anvilFor('--block-time 0.2');

/** @param {string} text @param {RegExp} pattern */
const times = (text, pattern) => text.match(new RegExp(pattern, 'g'))?.length ?? 0;

describe('probes', { concurrency: 3 }, () => {
  test('a node by its pid, the series that were chosen of its page, and all that needs no option', async (t) => {
    let scrapes = 0;
    const { url } = await serve(() => ({
      headers: { 'content-type': 'text/plain' },
      body: `# TYPE blocks counter\nblocks{kind="mined"} ${++scrapes}\nx 1\n`,
    }));
    const words = `--node-pid ${chain.pid} --node-metrics ${url} --node-series blocks`;
    /** On a busy machine a page may come too late for an interval. @param {any} stress */
    const during = async (stress) => {
      const hasPage = (/** @type {any} */ { probes }) => probes.metrics !== null;
      await until(() => existsSync(stress.out) && readJson(stress.out).intervals.some(hasPage));
      stress.child.kill('SIGINT');
    };
    const { run, stdout } = await runOf(t, words, { chain, threads: 1, exit: 130, during });
    // On a busy machine this process serves the page late, and blocks come late.
    const ofLoad = /no (page|answer) within \d+ m?s$|the window has \d+ of the \d+ blocks/;
    for (const words of run.warnings.filter((/** @type {string} */ text) => !text.startsWith(PORTS_WARNING)))
      assert.match(words, ofLoad);
    for (const name of ['metrics', 'node', 'pool'])
      assert.ok(
        run.intervals.some((/** @type {any} */ { probes }) => probes[name] !== null),
        name,
      );
    for (const { probes } of run.intervals) {
      assert.ok(probes.node.rssBytes > 1e6 && probes.node.threads >= 1);
      if (probes.metrics === null) assert.match(probes.why.metrics, /no page within/);
      else assert.deepEqual(Object.keys(probes.metrics.series), ['blocks{kind="mined"}']);
      if (probes.pool === null) assert.match(probes.why.pool, /no answer within/);
      else assert.ok(probes.pool.pending >= 0);
      // The few milliseconds of a drain may have been busy or idle throughout.
      assert.ok(probes.loop !== null && probes.loop.utilization >= 0 && probes.loop.utilization <= 1);
    }
    const utilization = run.probes?.loop?.utilization ?? 0;
    assert.ok(utilization > 0 && utilization < 1, `${utilization}`);
    assert.match(stdout, /^ {2}node /m);
  });

  test('the embedded chain is watched without being asked', async (t) => {
    const { probes } = (await runOf(t, '-t 2 -d 1s')).run;
    assert.ok(Number(probes?.node?.rssBytes) > 1e6 && Number(probes?.node?.threads) > 1, JSON.stringify(probes?.why));
  });

  test('a page that is not there: said once, null in the file, and the run goes on', async (t) => {
    const words = `-d 1500ms --node-metrics http://user:s3cr3t@127.0.0.1:${await freePort()}`;
    const { run, stdout, stderr } = await runOf(t, words, { chain, threads: 1 });
    assert.equal(times(stderr, /--node-metrics/), 1, stderr);
    assert.equal(times(run.warnings.join('\n'), /--node-metrics/), 1, run.warnings.join('\n'));
    for (const { probes } of run.intervals) {
      assert.equal(probes.metrics, null);
      assert.match(probes.why.metrics, /refused|no page within/);
    }
    assert.ok(!(stderr + stdout + JSON.stringify(run)).includes('s3cr3t'));
  });
});
