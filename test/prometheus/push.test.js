/** --push to a real Prometheus: in the end it has every sum of the run file. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { anvilFor } from '../helpers/anvil.js';
import { HANG_UP, SILENCE, serve } from '../helpers/endpoint.js';
import { assertSums, seriesName } from '../helpers/pushed.js';
import { INTERVAL_LINE, SECOND_WISH_MS, killedBy, runOf } from '../helpers/run-of.js';
import { buildPrometheus3, startPrometheus3 } from './server.js';

/** @import { Running } from '../helpers/run-of.js' */

const OTLP = '/api/v1/otlp';
const { binary, why } = await buildPrometheus3();
const chain = anvilFor('--accounts 80 --block-time 0.1');

describe('--push to a real Prometheus', { skip: why, concurrency: 2 }, () => {
  /** @type {Awaited<ReturnType<typeof startPrometheus3>>} */
  let prometheus;
  before(async () => (prometheus = await startPrometheus3(binary)));

  /** The last value of each series with this label. @param {string} test @param {typeof prometheus} [of] */
  async function seriesOf(test, { query } = prometheus) {
    const found = await query(`last_over_time({__name__=~"stress_.+",__name__!~".+_bucket",test="${test}"}[1h])`);
    return new Map(
      found.map(({ metric: { __name__: name, ...labels }, value }) => [seriesName(name, labels), +value[1]]),
    );
  }

  it('two workers: it is away for a while', async (t) => {
    const one = await startPrometheus3(binary);
    /** @param {Running} stress */
    const during = async (stress) => {
      await stress.waitFor(INTERVAL_LINE);
      await one.stop();
      await sleep(5000);
      await one.start();
    };
    const words = `-d 12s --workers 2 --push ${one.url}${OTLP} --label test=outage`;
    const { run, stderr } = await runOf(t, words, { chain, threads: 20, during });
    assert.doesNotMatch(stderr, /that of the final figures too/);
    assertSums(run, await seriesOf('outage', one), { job: 'stress', test: 'outage' });
  });

  it('what is before it answers 401, 413, 429, with a redirect, 500, and not at all', async (t) => {
    const answers = [401, 429, 302, 500, SILENCE, HANG_UP];
    const { url } = await serve(async (body, _, request) => {
      const next = body.length > 9000 ? 413 : (answers.shift() ?? 0);
      if (typeof next === 'symbol') return /** @type {any} */ (next);
      if (next > 0) return { status: next, headers: { location: prometheus.url }, body: '' };
      const headers = { 'content-type': String(request.headers['content-type']) };
      const { status } = await fetch(`${prometheus.url}${request.url}`, { method: 'POST', headers, body });
      return { status, body: '' };
    });
    const words = `-d 10s --push ${url}${OTLP} --label test=answers`;
    const { run, stderr } = await runOf(t, words, { chain, threads: 5 });
    assert.match(stderr, /pushes to \S+ failed, and the final figures arrived: /);
    assert.deepEqual(answers, []);
    assertSums(run, await seriesOf('answers'), { job: 'stress', test: 'answers' });
  });

  it('a signal: the figures of the drain are there; a second one does not wait for a silent receiver', async (t) => {
    const push = `--push ${prometheus.url}${OTLP} --label test=signal`;
    const options = { chain, threads: 5, exit: 130, during: killedBy('SIGINT') };
    const { run } = await runOf(t, `-d 60s ${push}`, options);
    assertSums(run, await seriesOf('signal'), { job: 'stress', test: 'signal' });

    const silent = await serve(() => SILENCE);
    let endedMs = 0;
    /** @param {Running} stress */
    const during = async (stress) => {
      await killedBy('SIGINT')(stress);
      await sleep(SECOND_WISH_MS);
      stress.child.kill('SIGINT');
      endedMs = performance.now();
    };
    await runOf(t, `-d 60s --push ${silent.url}`, { ...options, during });
    assert.ok(performance.now() - endedMs < 4000);
  });

  it('instances: each has its series, which add up', async (t) => {
    const runs = await Promise.all(
      [0, 1].map(async (index) => {
        const words = `-d 3s --instances 2 --index ${index} --run-id both --chain-id 31337 --push ${prometheus.url}${OTLP} --label test=both`;
        return (await runOf(t, words, { chain, threads: 5, offset: 40 })).run;
      }),
    );
    const series = await seriesOf('both');
    for (const [index, run] of runs.entries()) {
      const own = { job: 'stress', instance: `both/${index}`, run_id: 'both', index: `${index}`, test: 'both' };
      assertSums(run, new Map([...series].filter(([name]) => name.includes(` index=${index} `))), own);
    }
    const [{ value }] = await prometheus.query('sum(stress_operations_total{run_id="both",outcome="verified"})');
    assert.equal(Number(value[1]), runs[0].counts.verified + runs[1].counts.verified);
  });

  it('a set-up that failed: the load has not begun', async (t) => {
    const words = `-t 1 -d 1s --rpc http://127.0.0.1:1 --push ${prometheus.url}${OTLP} --label test=setup`;
    await runOf(t, words, { exit: 69 });
    const series = await seriesOf('setup');
    assert.equal(series.get('stress_load_begun job=stress test=setup'), 0);
    assert.equal(series.get('stress_operations_started_total job=stress test=setup'), 0);
  });
});
