/** --push to a real OpenTelemetry collector, which passes on to a server of the test what it has taken. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureCollector } from '../../scripts/nodes/otelcol.js';
import { anvilFor } from '../helpers/anvil.js';
import { serve } from '../helpers/endpoint.js';
import { startProgram } from '../helpers/program.js';
import { assertSums, lastOf } from '../helpers/pushed.js';
import { INTERVAL_LINE, runOf } from '../helpers/run-of.js';

/** @import { Running } from '../helpers/run-of.js' */

/** OUTAGE_S=600 for ten minutes. */
const OUTAGE_S = Number(process.env.OUTAGE_S ?? 30);

const { binary, why } = await ensureCollector().then(
  (path) => ({ binary: path, why: false }),
  (error) => ({ binary: '', why: error.message }),
);
const chain = anvilFor('--accounts 40 --block-time 0.1');

/** @param {number[]} answers of what it passes on to: the status of the next requests, then 200 */
async function startCollector(answers = []) {
  /** @type {string[]} */
  const pushes = [];
  const { url } = await serve((body) => {
    const status = answers.shift() ?? 200;
    if (status === 200) pushes.push(body);
    return { status, body: '{}' };
  });
  // Without a queue and retries it answers as what is behind it has answered.
  const exporter = `{ metrics_endpoint: "${url}", encoding: json, compression: none, sending_queue: { enabled: false }, retry_on_failure: { enabled: false } }`;
  const collector = await startProgram(binary, {
    config: (port) => `receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }
exporters: { otlphttp: ${exporter} }
service:
  telemetry: { metrics: { level: none }, logs: { level: warn } }
  pipelines: { metrics: { receivers: [otlp], exporters: [otlphttp] } }
`,
    args: (file) => ['--config', file],
    isReady: async (url) => (await fetch(url)).status === 404,
  });
  return { ...collector, pushes };
}

describe('--push to a real OpenTelemetry collector: every sum is that of the run file', { skip: why }, () => {
  it(`two workers: it is away for ${OUTAGE_S} s`, async (t) => {
    const collector = await startCollector();
    /** @param {Running} stress */
    const during = async (stress) => {
      await stress.waitFor(INTERVAL_LINE);
      await collector.stop();
      await sleep(OUTAGE_S * 1000);
      await collector.start();
    };
    const words = `-d ${OUTAGE_S + 10}s --workers 2 --push ${collector.url} --label test=outage`;
    const timeoutMs = (OUTAGE_S + 60) * 1000;
    const { run, stderr } = await runOf(t, words, { chain, threads: 20, during, timeoutMs });
    assert.match(stderr, /^WARN: a push to \S+ failed, and the next ones are tried: connection refused$/m);
    assert.match(stderr, /^WARN: \d+ of \d+ pushes to \S+ failed, and the final figures arrived: /m);
    assertSums(run, lastOf(collector.pushes), { test: 'outage' });
  });

  it('what is behind it answers 401, 413, 429 and 503, and it answers accordingly', async (t) => {
    const answers = [200, 401, 413, 429, 503];
    const { url, pushes } = await startCollector(answers);
    const words = `-d 12s --push ${url} --label test=answers`;
    const { run, stderr } = await runOf(t, words, { chain, threads: 5 });
    assert.deepEqual(answers, []);
    assert.match(stderr, /a push to \S+ failed, .*: HTTP 401 \(.*Permanent error.*\); credentials are given in /);
    assert.match(stderr, /pushes to \S+ failed, and the final figures arrived: /);
    assertSums(run, lastOf(pushes), { test: 'answers' });
  });
});
