import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import { stdout } from '../../src/outputs/streams.js';
import { createDashboardOutput } from '../../src/report/live.js';
import { freePort } from '../helpers/anvil.js';
import { caught } from '../helpers/caught.js';
import { rowOf, runFileOf } from '../helpers/samples.js';

/**
 * @import { IntervalRow } from '../../src/contracts/run-file.d.ts'
 * @import { TestContext } from 'node:test'
 */

/** @param {number} i */
const rowNumber = (i) => rowOf({ startMs: i * 1000, endMs: (i + 1) * 1000 });

/** @param {IntervalRow[]} intervals */
const soFar = (intervals) => runFileOf({ end: 'running', intervals, durationUs: 1e6 });

/** @param {number} port */
function optionsFor(port) {
  return { dashboard: { host: '127.0.0.1', port }, quiet: true, stream: stdout };
}

/** @param {TestContext} t */
async function opened(t) {
  const port = await freePort();
  const output = createDashboardOutput(optionsFor(port));
  await output.open?.();
  t.after(() => output.close?.());
  return { output, port, url: `http://127.0.0.1:${port}/` };
}

/** Asks for the page after one, as a browser does. @param {string} url @param {string} page */
const after = async (url, page) => (await fetch(`${url}?after=${versionOf(page)}`)).text();

/** @param {string} page */
const versionOf = (page) => /data-live="(\d+)"/.exec(page)?.[1];

/** @param {number} port @param {Record<string, string>} headers @param {string} [method] @param {string} [path] */
async function ask(port, headers, method = 'GET', path = '/') {
  const [response] = await once(request({ host: '127.0.0.1', port, path, method, headers }).end(), 'response');
  response.resume();
  return response;
}

describe('the dashboard', () => {
  it('shows the set-up, then the figures so far, then the whole run, and ends', async (t) => {
    const { output, url } = await opened(t);
    const first = await (await fetch(url)).text();
    assert.match(first, /The run is being set up/);
    await output.checkpoint?.(soFar([]));
    const second = await after(url, first);
    assert.match(second, /So far/);
    assert.match(second, /connect-src &#39;self&#39;/);
    await output.checkpoint?.(soFar([rowNumber(0)]));
    const third = await after(url, second);
    assert.match(third, /"from":\[0\]/);
    const last = after(url, third);
    await output.finish?.(runFileOf({ intervals: [rowNumber(0), rowNumber(1)] }));
    assert.match(await last, /audit exact/);
    assert.match(await last, /"from":\[0,1\]/);
    assert.equal(versionOf(await last), undefined);
    await output.close?.();
    assert.equal((await caught(() => fetch(url))).name, 'TypeError');
  });

  it('disconnects browsers that wait when the run ends without a run file', async (t) => {
    const { output, url } = await opened(t);
    const coming = after(url, await (await fetch(url)).text());
    const failed = caught(() => coming);
    await output.close?.();
    assert.equal((await failed).name, 'TypeError');
  });

  it('is one page', async (t) => {
    const { port } = await opened(t);
    assert.equal((await ask(port, {}, 'HEAD')).statusCode, 200);
    for (const path of ['/etc/passwd', '//evil.example/'])
      assert.equal((await ask(port, {}, 'GET', path)).statusCode, 404);
  });

  it('refuses other host names and other sites', async (t) => {
    const { port } = await opened(t);
    const status = async (/** @type {Record<string, string>} */ headers) => (await ask(port, headers)).statusCode;
    assert.equal(await status({ host: `evil.example:${port}` }), 403);
    assert.equal(await status({ host: `[::1]:${port}` }), 200);
    const { headers } = await ask(port, {});
    assert.equal(headers['access-control-allow-origin'], undefined);
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
    assert.equal(headers['x-frame-options'], 'DENY');
  });
});
