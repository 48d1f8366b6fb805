/**
 * --push, from the command line to what a receiver has in the end. The receiver is a small HTTP server;
 * test/prometheus has a real one.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { assertSums, lastOf } from '../helpers/pushed.js';
import { runOf } from '../helpers/run-of.js';
import { temporaryFile } from '../helpers/temporary.js';

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

const LINE = /^(?:WARN|ERROR): (.*) pushes to http:\/\/127\.0\.0\.1:\d+\/v1\/metrics failed, (.*)$/m;

describe('--push', { concurrency: 2 }, () => {
  test('every counter is that of the run file, with the labels; the secrets are nowhere', async (t) => {
    const { port, taken } = await receiverOf(t);
    const file = temporaryFile(t, 'headers', '# a comment\nX-Scope-OrgID: tenant-1\n', { mode: 0o600 });
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
    assertSums(run, lastOf(taken.map(({ text }) => text)), { branch: 'main', pr: '7' });
    assert.deepEqual(run.config.label, ['branch=main', 'pr=7']);
    assert.doesNotMatch(JSON.stringify(run) + stdout, /pass-word|key-of-mine/);
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
    assertSums(run, lastOf(taken.map(({ text }) => text)));
    assert.match(stderr, /failed, and the final figures arrived: /);
    assert.equal(other.asked.length, 0);
  });
});
