/**
 * A real Prometheus scrapes the instances of one run, and another run beside them: what the dashboard's own expressions
 * say then is what the run files say together.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUCKETS } from '../../src/outputs/prometheus.js';
import { recordedValues } from '../../src/stats/histogram.js';
import { freePort, startAnvil } from '../helpers/anvil.js';
import { readJson, spawnStress } from '../helpers/cli.js';
import { dashboardQueries, fillIn } from '../helpers/dashboard.js';
import { noPrometheus, startPrometheus } from './server.js';
import { serveBehind } from '../helpers/endpoint.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { StressProcess } from '../helpers/cli.js' */

const RUN_ID = 'together-1';
const QUERIES = dashboardQueries();

/** Wide enough to hold all that was ever scraped. */
const ALL = '3m';

/** What the last instance adds to every call: its percentiles are far from those of the others. */
const SLOW_MS = 150;

/** Of five that are expected one never comes. */
const [EXPECTED, STARTED] = [5, 4];

describe('a real Prometheus, several instances', { skip: noPrometheus() }, () => {
  it('the dashboard adds up what the run files of one run say, and leaves the other run out', async (t) => {
    const anvil = await startAnvil();
    t.after(() => anvil.stop());
    const slow = await serveBehind(anvil.url, () => sleep(SLOW_MS));
    /** @type {number[]} */
    const ports = [];
    for (let i = 0; i <= STARTED; i += 1) ports.push(await freePort());
    const { query } = await startPrometheus(...ports);
    /** @param {string} title @param {number} [i] which of its queries @param {string} [range] */
    const asked = (title, i = 0, range = ALL) => {
      const { expr } = QUERIES.filter((one) => one.title === title)[i] ?? assert.fail(`no query ${i} of ${title}`);
      return query(fillIn(expr, range, { runId: RUN_ID }));
    };
    /** @param {Parameters<typeof asked>} which */
    const figure = async (...which) => {
      const result = await asked(...which);
      assert.equal(result.length, 1, `${which.join(' ')}: ${JSON.stringify(result)}`);
      return Number(result[0].value[1]);
    };

    const folder = temporaryFolder(t);
    const outs = ports.map((_, i) => join(folder, `${i}.json`));
    /** @param {number} i @param {string} url @param {string[]} args */
    const start = (i, url, args) =>
      spawnStress([
        ...['--rpc', url, '--chain-id', '31337', '-t', '2', '--interval', '500ms', '-d', '90s', '--out', outs[i]],
        ...['--prometheus', String(ports[i]), ...args],
      ]);
    const instances = Array.from({ length: STARTED }, (_, i) =>
      start(i, i === STARTED - 1 ? slow.url : anvil.url, [
        ...['--index', String(i), '--instances', String(EXPECTED), '--run-id', RUN_ID],
      ]),
    );
    const other = start(STARTED, anvil.url, ['-o', '8', '--run-id', 'other-1']);

    await Promise.all([...instances, other].map(({ waitFor }) => waitFor(/^ +[2-9]\.\d s /m)));
    await sleep(1100); // the longest until the next scrape
    for (const [i, expected] of [EXPECTED, STARTED, STARTED].entries())
      assert.equal(await figure('Instances that are there', i), expected);
    const perIndex = await asked('Event loop, CPU, garbage', 1, '5s');
    assert.deepEqual(perIndex.map(({ metric }) => metric.index).sort(), ['0', '1', '2', '3']);

    // One is gone long before the others.
    const [first, ...others] = [...instances, other];
    await ended(first);
    await sleep(3000);
    await Promise.all(others.map(ended));
    const runs = outs.slice(0, STARTED).map(readJson);
    /** Of each instance, the intervals that were over at its last scrape. */
    const seen = await Promise.all(
      runs.map(async ({ intervals }, i) => {
        const gauge = `last_over_time(stress_load_elapsed_seconds{run_id="${RUN_ID}",index="${i}"}[${ALL}])`;
        const elapsedMs = Number((await query(gauge))[0]?.value[1]) * 1000;
        return intervals.filter((/** @type {any} */ { endMs }) => endMs <= elapsedMs + 0.001);
      }),
    );
    seen.forEach((rows, i) => assert.ok(rows.length >= runs[i].intervals.length / 2, `${rows.length} of ${i}`));
    assertAddsUp(await totals(figure), seen);
    assertSkew(await figure('Start skew'), runs);
    assert.equal(await figure('Never seen'), 1);
    await assertPercentiles(figure, seen);
    await assertMean(query, figure, seen);
    await assertBlocks(figure, seen);
  });
});

/** Ends one as an operator does. @param {StressProcess} process */
async function ended({ child, done }) {
  child.kill('SIGTERM');
  const { code, stderr } = await done;
  assert.equal(code, 143, stderr);
}

/** @typedef {(title: string, i?: number, range?: string) => Promise<number>} Figure */

/** @param {any[]} rows @param {(row: any) => number} of */
const sum = (rows, of) => rows.reduce((all, row) => all + of(row), 0);

/** @param {number} is @param {number} should @param {number} share @param {string} what */
function assertNear(is, should, share, what) {
  assert.ok(Math.abs(is - should) <= share * should, `${what}: ${is} is not ${should}`);
}

/** @param {Figure} figure */
async function totals(figure) {
  return { verified: await figure('Verified'), elapsedS: await figure('Elapsed'), runs: await figure('Run') };
}

/** Also of the one that had ended before the others. @param {Awaited<ReturnType<typeof totals>>} shown @param {any[][]} seen */
function assertAddsUp({ verified, elapsedS, runs }, seen) {
  assert.equal(
    verified,
    sum(seen.flat(), ({ counts }) => counts.verified),
  );
  assert.ok(Math.abs(elapsedS * 1000 - Math.max(...seen.flat().map(({ endMs }) => endMs))) < 1);
  assert.equal(runs, seen.length);
}

/** @param {number} skewS @param {any[]} runs */
function assertSkew(skewS, runs) {
  const startsMs = runs.map(({ window }) => Date.parse(window.startedAt));
  assert.ok(Math.abs(skewS * 1000 - (Math.max(...startsMs) - Math.min(...startsMs))) < 2, `start skew ${skewS} s`);
}

/**
 * A percentile of all operations, to within a bucket; that of the instances' percentiles would be somewhere else.
 * @param {Figure} figure
 * @param {any[][]} seen
 */
async function assertPercentiles(figure, seen) {
  const title = 'Latency of verified operations';
  for (const [i, quantile] of [0.5, 0.9].entries()) {
    const shown = await figure(title, i);
    const trueS = quantileOf(seen.flat(), quantile);
    const [low, high] = bucketsAround(trueS);
    assert.ok(shown >= low && shown <= high, `p${quantile * 100}: ${shown} s, ${trueS} s of all operations`);
    const averageS = sum(seen, (rows) => quantileOf(rows, quantile)) / seen.length;
    if (quantile === 0.5) assert.ok(averageS > high, `an average would be ${averageS} s: the test tells nothing`);
  }
}

/**
 * A rate of Prometheus begins with the first scrape of each instance.
 * @param {(expr: string) => Promise<any[]>} query
 * @param {Figure} figure
 * @param {any[][]} seen
 */
async function assertMean(query, figure, seen) {
  const scraped = await query(`stress_latency_seconds_count{run_id="${RUN_ID}"}[${ALL}]`);
  const rated = seen.map((rows, i) => {
    const { values } = scraped.find(({ metric }) => metric.index === String(i));
    let left = Number(values[0][1]);
    return rows.filter(({ latency }) => (left -= latency.count) < 0);
  });
  const all = rated.flat().map(({ latency }) => latency);
  const meanS = sum(all, ({ sumUs }) => sumUs) / sum(all, ({ count }) => count) / 1e6;
  assertNear(await figure('Latency of verified operations', 4), meanS, 0.1, 'the mean');
}

/** @param {any[]} rows @param {number} quantile of their latencies, in seconds */
function quantileOf(rows, quantile) {
  const values = rows.flatMap(({ latency }) => [...recordedValues(latency)]).sort((a, b) => a.valueUs - b.valueUs);
  let left = quantile * sum(values, ({ count }) => count);
  for (const { valueUs, count } of values) {
    left -= count;
    if (left <= 0) return valueUs / 1e6;
  }
  return assert.fail('no latencies');
}

/** The bucket that a latency is in, and its neighbours. @param {number} seconds */
function bucketsAround(seconds) {
  const i = BUCKETS.findIndex((bound) => seconds <= bound);
  return [BUCKETS[i - 2] ?? 0, BUCKETS[i + 1]];
}

/** All see the same blocks; each has transactions of its own in them. @param {Figure} figure @param {any[][]} seen */
async function assertBlocks(figure, seen) {
  const blocks = Math.max(...seen.map((rows) => sum(rows, ({ blocks }) => blocks.count)));
  const transactions = Math.max(...seen.map((rows) => sum(rows, ({ blocks }) => blocks.transactions)));
  const ours = sum(seen.flat(), ({ blocks }) => blocks.ours);
  assert.ok(ours < transactions, 'the other run has transactions in them');
  assertNear(await figure('Blocks', 0), ours / blocks, 0.15, 'ours in a block');
  assertNear(await figure('Blocks', 1), (transactions - ours) / blocks, 0.4, 'those of others in a block');
}
