/**
 * --push, from the command line to what a receiver has in the end. Debian's Prometheus (2.42) takes no OTLP, so the receiver
 * is a small HTTP server.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { assertNear } from '../helpers/recompute.js';
import { runOf, sumOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 *
 * @typedef {{url: string | undefined, headers: Record<string, any>, text: string}} Push
 */

const chain = anvilFor('--accounts 40 --block-time 0.1');

/** @param {TestContext} t @param {(push: Push) => {status: number, headers?: Record<string, string>} | null} [answer] null: none */
async function receiverOf(t, answer = () => ({ status: 200 })) {
  /** @type {Push[]} */
  const taken = [];
  /** @type {Push[]} */
  const asked = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const push = { url: request.url, headers: request.headers, text };
      asked.push(push);
      const given = answer(push);
      if (given?.status === 200) taken.push(push);
      if (given !== null) response.writeHead(given.status, given.headers).end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = /** @type {AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}`, port, taken, asked };
}

/** @param {number} status @param {Record<string, string>} [headers] */
const answerOf = (status, headers) => ({ status, headers });

/** The last value of each series. @param {Push[]} pushes */
function lastOf(pushes) {
  /** @type {Map<string, any>} */
  const series = new Map();
  for (const { text } of pushes)
    for (const { name, sum, gauge, histogram } of JSON.parse(text).resourceMetrics[0].scopeMetrics[0].metrics)
      for (const point of (sum ?? gauge ?? histogram).dataPoints) {
        const labels = point.attributes.map((/** @type {any} */ { key, value }) => `${key}=${value.stringValue}`);
        series.set(`${name} ${labels.join(' ')}`.trim(), point);
      }
  return series;
}

/** Every counter and histogram is what the run file has. @param {any} run @param {Push[]} pushes @param {string} [labels] */
function assertPushed(run, pushes, labels = '') {
  const series = lastOf(pushes);
  const { counts, failures, intervals } = run;
  /** @param {(row: any) => number} figure */
  const sum = (figure) => sumOf(intervals.map(figure));
  const ours = sum(({ blocks }) => blocks.ours);
  const expected = {
    stress_operations_scheduled_total: counts.scheduled,
    stress_operations_started_total: counts.started,
    stress_operations_dropped_total: counts.dropped,
    'stress_operations_total outcome=verified': counts.verified,
    'stress_operations_total outcome=failed': counts.failed,
    'stress_operations_total outcome=timed_out': counts.timedOut,
    'stress_operations_total outcome=abandoned': counts.abandoned,
    ...Object.fromEntries(
      Object.entries(failures).map(([code, count]) => [`stress_failures_total code=${code}`, count]),
    ),
    stress_blocks_total: sum(({ blocks }) => blocks.count),
    'stress_block_transactions_total ours=true': ours,
    'stress_block_transactions_total ours=false': sum(({ blocks }) => blocks.transactions) - ours,
    stress_block_gas_used_total: sum(({ blocks }) => blocks.gasUsed),
    stress_block_fullness_total: sum(({ blocks }) => blocks.fullnessSum),
    stress_connections_opened_total: sum(({ probes }) => probes.connections.opened),
    stress_connections_reused_total: sum(({ probes }) => probes.connections.reused),
    stress_process_cpu_seconds_total: sum(({ probes }) => probes.self.cpuUs) / 1e6,
    stress_gc_seconds_total: sum(({ probes }) => probes.loop?.gcUs ?? 0) / 1e6,
  };
  const counters = [...series].filter(([name]) => /^\w+_total\b/.test(name));
  const named = Object.entries(expected).map(([name, value]) => {
    const [family, ...more] = name.split(' ');
    return /** @type {const} */ ([`${family} ${[labels, ...more].filter(Boolean).join(' ')}`.trim(), value]);
  });
  assert.deepEqual(counters.map(([name]) => name).sort(), named.map(([name]) => name).sort());
  for (const [name, value] of named) assertNear(series.get(name).asDouble, value, 1e-9, name);
  for (const [family, key] of Object.entries({ stress_latency_seconds: 'latency', stress_lag_seconds: 'lag' })) {
    const { count, bucketCounts, sum: seconds } = series.get(`${family} ${labels}`.trim());
    assert.equal(
      Number(count),
      sum((row) => row[key].count),
      family,
    );
    assert.equal(sumOf(bucketCounts.map(Number)), Number(count), family);
    assertNear(seconds, sum((row) => row[key].sumUs) / 1e6, 1e-9, family);
  }
}

const LINE = /^WARN: (.*) pushes to http:\/\/127\.0\.0\.1:\d+\/v1\/metrics failed, and (.*)$/m;

describe('--push', { concurrency: 2 }, () => {
  test('every counter is that of the run file, with the labels; the secrets are nowhere', async (t) => {
    const { port, taken } = await receiverOf(t);
    const file = join(temporaryFolder(t), 'headers');
    writeFileSync(file, '# a comment\nX-Scope-OrgID: tenant-1\n', { mode: 0o600 });
    const env = {
      STRESS_PUSH_URL: `http://me:pass-word@127.0.0.1:${port}/api/v1/otlp`,
      STRESS_PUSH_HEADER: 'X-Api-Key: key-of-mine',
    };
    const words = `-d 1500ms --label branch=main --label pr=7 --push-header-file ${file}`;
    const { run, stdout, stderr } = await runOf(t, words, { chain, threads: 4, env });
    assert.doesNotMatch(stderr, LINE);
    assert.ok(run.counts.verified > 0 && taken.length >= 2, `${taken.length} pushes`);
    for (const { url: path, headers } of taken) {
      assert.equal(path, '/api/v1/otlp/v1/metrics');
      const { authorization, 'x-api-key': key, 'x-scope-orgid': tenant, 'content-type': type } = headers;
      const basic = `Basic ${Buffer.from('me:pass-word').toString('base64')}`;
      assert.deepEqual([authorization, key, tenant, type], [basic, 'key-of-mine', 'tenant-1', 'application/json']);
    }
    assertPushed(run, taken, 'branch=main pr=7');
    assert.deepEqual(run.config.label, ['branch=main', 'pr=7']);
    assert.doesNotMatch(JSON.stringify(run) + stdout, /pass-word|key-of-mine/);
  });

  test('401: one try for each push, a warning, and exit code 0', async (t) => {
    const { url, asked } = await receiverOf(t, () => ({ status: 401 }));
    const { stderr } = await runOf(t, `-d 1s --push ${url}`, { chain, threads: 2 });
    const [, count, rest] = LINE.exec(stderr) ?? assert.fail(stderr);
    assert.equal(count.split(' ')[0], String(asked.length));
    assert.match(rest, /^the final figures are missing there: HTTP 401; credentials are given in STRESS_PUSH_URL/);
  });

  test('429, then 200: the figures arrive; a redirect is not followed', async (t) => {
    const other = await receiverOf(t);
    let count = 0;
    const { url, taken } = await receiverOf(t, () => {
      count += 1;
      if (count === 1) return answerOf(302, { location: other.url });
      return count % 2 === 0 ? answerOf(429, { 'retry-after': '1' }) : answerOf(200);
    });
    const { run, stderr } = await runOf(t, `-d 1s --push ${url}`, { chain, threads: 2 });
    assertPushed(run, taken);
    assert.match(stderr, /failed, and the final figures arrived: /);
    assert.equal(other.asked.length, 0);
  });
});
