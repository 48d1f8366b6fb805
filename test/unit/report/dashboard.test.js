import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { OPTIONS } from '../../../src/cli/options.js';
import { UnavailableError } from '../../../src/errors.js';
import { stdout } from '../../../src/outputs/streams.js';
import { DashboardState, MAX_CLIENTS, createDashboardOutput } from '../../../src/report/live.js';
import { bucketsOf } from '../../../src/report/run-data.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { buildPartialRunFile } from '../../../src/stats/run-file.js';
import { IntervalLog, stagesOf, zeroCounts } from '../../../src/stats/stats.js';
import { freePort } from '../../helpers/anvil.js';
import { caught } from '../../helpers/caught.js';
import { partsOf, rowOf, runFileOf } from '../../helpers/samples.js';

/**
 * @import { IntervalRow, Totals } from '../../../src/types.d.ts'
 * @import { Row } from '../../../src/report/run-charts.js'
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

const none = () => new Distribution().toJSON();
/** @type {Totals} */
const TOTALS = {
  attempts: 12,
  verified: 10,
  runTps: 5,
  stages: { queued: none(), submit: none(), inclusion: none(), visibility: none(), readBack: none() },
};

/** @param {number} i */
const rowNumber = (i) => rowOf({ startMs: i * 1000, endMs: (i + 1) * 1000 });

/** @param {IntervalRow[]} intervals */
const soFar = (intervals) => buildPartialRunFile(partsOf({ end: 'running', intervals, durationUs: 1e6 }));

/** @param {number} port */
function optionsFor(port) {
  return { dashboard: { host: '127.0.0.1', port }, quiet: true, stream: stdout, options: OPTIONS };
}

/** @param {TestContext} t */
async function opened(t) {
  const port = await freePort();
  const output = createDashboardOutput(optionsFor(port));
  await output.open?.();
  t.after(() => output.close?.());
  return { output, port, url: `http://127.0.0.1:${port}/` };
}

/** Watches, as a browser does. @param {string} url */
async function watch(url) {
  const [response] = await once(request(`${url}events?after=0`).end(), 'response');
  response.setEncoding('utf8');
  let text = '';
  response.on('data', (/** @type {string} */ chunk) => (text += chunk));
  response.on('error', () => {});
  return {
    status: response.statusCode,
    headers: response.headers,
    close: () => response.destroy(),
    ended: once(response, 'close'),
    /** @returns {Array<{id: string | undefined, name: string, data: any}>} */
    events: () =>
      [...text.matchAll(/(?:id: (\d+)\n)?event: (\w+)\ndata: (.*)\n\n/g)].map(([, id, name, data]) => ({
        id,
        name,
        data: JSON.parse(data),
      })),
    /** @param {string} name @returns {Promise<any>} the first event of that name */
    async first(name) {
      for (;;) {
        const found = this.events().find((event) => event.name === name);
        if (found !== undefined) return found;
        await once(response, 'data');
      }
    },
  };
}

/** @param {number} port @param {Record<string, string>} headers @param {string} [method] @param {string} [path] */
async function ask(port, headers, method = 'GET', path = '/') {
  const [response] = await once(request({ host: '127.0.0.1', port, path, method, headers }).end(), 'response');
  response.resume();
  return response;
}

describe('the state of the dashboard', () => {
  it('knows the stages and every operation of intervals that were merged since', () => {
    const state = new DashboardState(OPTIONS);
    const log = new IntervalLog(3);
    for (let i = 0; i < 4; i += 1) {
      const latency = new Distribution();
      for (let n = 0; n <= i; n += 1) latency.record(1000 * (n + 1));
      const stages = stagesOf((stage) =>
        stage === 'submit' ? { count: latency.count, sumUs: latency.sumUs } : { count: 0, sumUs: 0 },
      );
      const row = { ...rowNumber(i), latency: latency.toJSON(), stages };
      log.add(row);
      state.add(row, TOTALS);
    }
    assert.equal(log.rows.length, 2);
    state.keep(soFar(log.rows));
    const rows = /** @type {Row[]} */ (state.run?.intervals);
    assert.deepEqual(
      rows.map(({ startMs, endMs, stages }) => [startMs, endMs, stages?.submit]),
      [
        [0, 2000, { count: 3, sumUs: 1000 + 3000 }],
        [2000, 4000, { count: 7, sumUs: 6000 + 10_000 }],
      ],
    );
    // As from the merged histogram itself.
    assert.deepEqual(
      rows.map(bucketsOf),
      log.rows.map((row) => bucketsOf(row)),
    );
  });
});

describe('the tiles of the dashboard', () => {
  it('are of the intervals that the charts show, whenever the last checkpoint was', () => {
    const state = new DashboardState(OPTIONS);
    const latency = new Distribution();
    latency.record(10_000);
    const counts = { ...zeroCounts(), scheduled: 10, started: 10, verified: 9, timedOut: 1 };
    state.keep(soFar([]));
    const figureOf = (/** @type {string} */ name) =>
      new RegExp(`data-figure="${name}"\\s+data-value="([^"]*)"\\s*>([^<]*)<`).exec(state.tiles().lead)?.slice(1);
    state.add({ ...rowNumber(0), phase: 'warmup', counts, latency: latency.toJSON() }, TOTALS);
    assert.deepEqual(figureOf('tps'), ['null', '–']);
    const waited = new Distribution();
    waited.record(2_000_000);
    const totals = { ...TOTALS, censored: waited.toJSON() };
    for (const i of [1, 2]) state.add({ ...rowNumber(i), phase: 'load', counts, latency: latency.toJSON() }, totals);
    assert.deepEqual(figureOf('tps'), ['9', '9']);
    assert.deepEqual(figureOf('window'), ['2000', '2 s']);
    assert.deepEqual(figureOf('counts\\.verified'), ['27', '27']);
    assert.deepEqual(figureOf('p99'), ['2000000', '&gt;= 2,000 ms']);
    state.keep({ ...soFar([]), counts: { ...zeroCounts(), verified: 1000 } });
    assert.deepEqual(figureOf('counts\\.verified'), ['27', '27'], 'a checkpoint between two intervals changes nothing');
    assert.equal(state.sections().lead, state.tiles().lead);
    assert.ok(state.page().includes(state.tiles().lead));
  });
});

describe('the dashboard', () => {
  it('shows the set-up first, then the figures so far', async (t) => {
    const { output, url } = await opened(t);
    assert.match(await (await fetch(url)).text(), /The run is being set up/);
    const client = await watch(url);
    void output.checkpoint?.(soFar([]));
    assert.ok(await client.first('reload'));
    client.close();
    output.interval(rowNumber(0), TOTALS);
    const page = await (await fetch(url)).text();
    assert.match(page, /data-live="[01]"/);
    assert.match(page, /connect-src &#39;self&#39;/);
  });

  it('sends intervals, sections and the end to its clients, then disconnects them', async (t) => {
    const { output, url } = await opened(t);
    void output.checkpoint?.(soFar([]));
    output.interval(rowNumber(0), TOTALS);
    await (await fetch(url)).text();
    const client = await watch(url);
    const [missed] = [await client.first('row')];
    assert.deepEqual([missed.id, missed.data.time.from, missed.data.time.to], ['1', 0, 1]);
    output.interval(rowNumber(1), TOTALS);
    void output.checkpoint?.(soFar([rowNumber(0), rowNumber(1)]));
    const { data: sections } = await client.first('sections');
    assert.match(sections.lead, /So far/);
    const rows = client.events().filter(({ name }) => name === 'row');
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['1', '2'],
    );
    assert.match(rows[1].data.now, /10 verified of 12 begun/);

    const run = runFileOf({ intervals: [rowNumber(0), rowNumber(1)] });
    await output.finish(run);
    await output.close?.();
    const { data: final } = await client.first('final');
    assert.match(final.sections.lead, /audit exact/);
    assert.equal(final.data.time.from.length, 2);
    await client.ended;
    assert.equal((await caught(() => fetch(url))).name, 'TypeError');
  });

  it('requests a reload when new charts appear', async (t) => {
    const { output, url } = await opened(t);
    void output.checkpoint?.(soFar([]));
    output.interval(rowNumber(0), TOTALS);
    await (await fetch(url)).text();
    const client = await watch(url);
    await client.first('row');
    const pool = { ...rowNumber(1), probes: { ...rowNumber(1).probes, pool: { pending: 1, queued: 2 } } };
    output.interval(pool, TOTALS);
    assert.ok(await client.first('reload'));
    assert.match(await (await fetch(url)).text(), /id="figure-pool"/);
    client.close();
  });

  it('can only be read', async (t) => {
    const { port } = await opened(t);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const response = await ask(port, {}, method);
      assert.equal(response.statusCode, 405, method);
      assert.equal(response.headers.allow, 'GET, HEAD');
    }
    assert.equal((await ask(port, {}, 'HEAD')).statusCode, 200);
    assert.equal((await ask(port, {}, 'GET', '/etc/passwd')).statusCode, 404);
    assert.equal((await ask(port, {}, 'GET', '//evil.example/')).statusCode, 404);
  });

  it('refuses other host names and other sites', async (t) => {
    const { port } = await opened(t);
    const status = async (/** @type {Record<string, string>} */ headers) => (await ask(port, headers)).statusCode;
    assert.equal(await status({ host: `evil.example:${port}` }), 403);
    assert.equal(await status({ host: '127.0.0.1.evil.example' }), 403);
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, `10.0.0.7:${port}`])
      assert.equal(await status({ host }), 200);
    assert.equal(await status({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }), 403);
    assert.equal(await status({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }), 200);
    const { headers } = await ask(port, {});
    assert.equal(headers['access-control-allow-origin'], undefined);
    assert.equal(headers['cache-control'], 'no-store');
  });

  it('limits the number of clients and accepts a new one after another has left', async (t) => {
    const { url } = await opened(t);
    const clients = await Promise.all(Array.from({ length: MAX_CLIENTS }, () => watch(url)));
    assert.deepEqual([...new Set(clients.map(({ status }) => status))], [200]);
    assert.equal((await watch(url)).status, 503);
    clients[0].close();
    for (;;) {
      const again = await watch(url);
      again.close();
      if (again.status === 200) break;
    }
    for (const { close } of clients) close();
  });

  it('disconnects clients that do not read', async (t) => {
    const { output, port, url } = await opened(t);
    const [slow] = [connect(port, '127.0.0.1')];
    slow.on('error', () => {});
    slow.write(`GET /events?after=0 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    await once(slow, 'readable');
    // Never read again: what comes fills the buffers of the system, and then ours.
    const closed = once(slow, 'close');
    void output.checkpoint?.(soFar([]));
    output.interval(rowNumber(0), TOTALS);
    await (await fetch(url)).text();
    const warning = 'x'.repeat(500_000);
    for (let i = 0; i < 60; i += 1) void output.checkpoint?.({ ...soFar([rowNumber(0)]), warnings: [warning] });
    slow.resume();
    await closed;
  });

  it('listens before the set-up, and fails if the port is taken', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    t.after(() => other.close());
    const { port } = /** @type {AddressInfo} */ (other.address());
    const output = createDashboardOutput(optionsFor(port));
    const error = await caught(() => output.open?.());
    assert.ok(error instanceof UnavailableError);
    assert.equal(error.message, `port ${port} is taken: give --dashboard another one`);
    await output.close?.();
  });

  it('survives an end without a beginning', async () => {
    const output = createDashboardOutput(optionsFor(1));
    await output.finish(runFileOf());
    await output.close?.();
  });
});
