/** A real Prometheus scrapes a run: what it knows then is what the run file says, and the dashboard shows it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, startAnvil } from '../helpers/anvil.js';
import { readJson, spawnStress } from '../helpers/cli.js';
import { dashboardQueries, fillIn } from '../helpers/dashboard.js';
import { noPrometheus, startPrometheus } from './server.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** What every run has, whatever is probed. */
const CORE = Object.freeze([
  ...['TPS', 'Due, started, dropped, verified', 'In flight', 'Latency of verified operations', 'Where it goes', 'Lag'],
  ...['Blocks', 'Gas per second', 'Connections', 'Memory', 'Run', 'Verified', 'Elapsed'],
]);

/** How far back a query looks for the last scrape once the page is gone. */
const BACK = '1m';

describe('a real Prometheus', { skip: noPrometheus() }, () => {
  it('has the figures of the run file, and an answer to every query of the dashboard', async (t) => {
    const out = join(temporaryFolder(t), 'run.json');
    const [anvil, port] = [await startAnvil(), await freePort()];
    t.after(() => anvil.stop());
    const { query } = await startPrometheus(port);
    /** @param {string} expr @returns {Promise<number>} the last that was scraped */
    const last = async (expr) => Number((await query(`last_over_time(${expr}[${BACK}])`))[0]?.value[1]);

    const args = ['-t', '4', '--rpc', anvil.url, '-d', '10s', '--interval', '1s', '--node-pid', String(anvil.pid)];
    const stress = spawnStress([...args, '--prometheus', String(port), '--out', out]);
    // In the middle of the run: what the dashboard shows.
    await stress.waitFor(/^ +[78]\.0 s /m);
    await sleep(1100);
    for (const { title, expr } of dashboardQueries()) {
      // Long enough for two scrapes on a busy machine.
      const result = await query(fillIn(expr, '30s'));
      if (CORE.includes(title)) assert.ok(result.length > 0, `${title}: nothing for ${expr}`);
      for (const { value } of result)
        assert.ok(title === 'Lag' || Number.isFinite(Number(value[1])), `${expr} is ${value[1]}`);
    }
    const titles = new Set(dashboardQueries().map(({ title }) => title));
    const missing = CORE.filter((title) => !titles.has(title));
    assert.deepEqual(missing, []);

    const { code, stderr } = await stress.done;
    assert.equal(code, 0, stderr);
    const run = readJson(out);
    // As of the last scrape: the intervals that were over by then, and so the very same figures.
    const elapsedMs = (await last('stress_load_elapsed_seconds')) * 1000;
    const seen = run.intervals.filter((/** @type {any} */ { endMs }) => endMs <= elapsedMs + 0.001);
    // The last two intervals wait for their rates until the load has ended, like the drain: the port closes soon after.
    assert.ok(
      seen.length >= run.intervals.length - 3,
      `${seen.length} of ${run.intervals.length} intervals were scraped`,
    );
    /** @param {(row: any) => number} of */
    const sum = (of) => seen.reduce((/** @type {number} */ all, /** @type {any} */ row) => all + of(row), 0);
    assert.equal(
      await last('stress_operations_started_total'),
      sum(({ counts }) => counts.started),
    );
    for (const [outcome, key] of [
      ['verified', 'verified'],
      ['failed', 'failed'],
      ['timed_out', 'timedOut'],
    ]) {
      assert.equal(
        await last(`stress_operations_total{outcome="${outcome}"}`),
        sum(({ counts }) => counts[key]),
      );
    }
    const verified = sum(({ counts }) => counts.verified);
    assert.ok(
      verified <= run.counts.verified && verified > run.counts.verified * 0.7,
      `${verified} of ${run.counts.verified}`,
    );
    assert.equal(await last('stress_latency_seconds_count'), verified);
    assert.ok(Math.abs((await last('stress_latency_seconds_sum')) * 1e6 - sum(({ latency }) => latency.sumUs)) < 1);
    assert.equal(
      await last('stress_blocks_total'),
      sum(({ blocks }) => blocks.count),
    );
    assert.equal(
      await last('stress_block_transactions_total{ours="true"}'),
      sum(({ blocks }) => blocks.ours),
    );
    assert.equal(await last('stress_info{workload="counter"}'), 1);
    assert.equal((await last('stress_node_threads')) > 0, true);
  });
});
