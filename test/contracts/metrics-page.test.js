import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { createClock } from '../../src/clock.js';
import { openPages } from '../../src/node-page.js';
import { createMetricsProbe } from '../../src/probes/node-metrics.js';
import { caught } from '../helpers/caught.js';
import { closedPort, listen } from '../helpers/raw-server.js';

/**
 * @import { RequestListener } from 'node:http'
 * @import { TestContext } from 'node:test'
 */

const PAGE = `# TYPE txpool_pending gauge
txpool_pending 7
chain_head_block 12
chain_mgasps {quantile="0.5"} NaN
chain_mgasps {quantile="0.9"} 3.5
my_total{a="1"} 1
my_total{a="2"} 2
my_total_more 3
go_goroutines 75
`;

/** @param {TestContext} t @param {RequestListener} listener @returns {Promise<URL>} */
async function serverFor(t, listener) {
  const { port } = await listen(t, createServer(listener));
  return new URL(`http://127.0.0.1:${port}/metrics`);
}

/** @param {TestContext} t @param {URL} url @param {readonly string[] | null} [series] */
function probeFor(t, url, series = null) {
  const probe = createMetricsProbe({ pages: [{ name: null, url }], series, clock: createClock(), openPages });
  t.after(() => [1, 2].forEach(() => probe.close()));
  return probe;
}

/** @param {TestContext} t @param {string} page @param {readonly string[] | null} [series] @param {number} [status] */
async function probeOf(t, page, series = null, status = 200) {
  return probeFor(t, await serverFor(t, (_, response) => void response.writeHead(status).end(page)), series);
}

describe('createMetricsProbe()', () => {
  it('takes the series that were chosen, each with all its labels, and no other', async (t) => {
    const probe = await probeOf(t, PAGE, ['my_total', 'chain_mgasps', 'not_there']);
    assert.deepEqual(await probe.sample(), {
      series: { 'chain_mgasps{quantile="0.9"}': 3.5, 'my_total{a="1"}': 1, 'my_total{a="2"}': 2 },
    });
  });

  it('a series has no control characters and no endless name', async (t) => {
    const page = `my_total{a="\u001b[2J\u202eevil\u0085"} 1\nmy_total{b="${'x'.repeat(100_000)}"} 2\n`;
    const { series } = await (await probeOf(t, page, ['my_total'])).sample();
    const [first, second] = Object.keys(series);
    assert.equal(first, 'my_total{a=" [2J evil "}');
    assert.equal(second.length, 500);
  });

  it('without a choice it takes the usual series of nodes', async (t) => {
    assert.deepEqual((await (await probeOf(t, PAGE)).sample()).series, {
      txpool_pending: 7,
      chain_head_block: 12,
      'chain_mgasps{quantile="0.9"}': 3.5,
      go_goroutines: 75,
    });
    const avalanche =
      'avalanche_evm_eth_txpool_pending{chain="C"} 5\navalanche_evm_eth_other 1\navalanche_process_process_cpu_seconds_total 0.44\n';
    assert.deepEqual((await (await probeOf(t, avalanche)).sample()).series, {
      'avalanche_evm_eth_txpool_pending{chain="C"}': 5,
      avalanche_process_process_cpu_seconds_total: 0.44,
    });
  });

  /** @type {Array<[string, string, readonly string[] | null, number, RegExp]>} */
  const refused = [
    ['no series', '<html>\n<body>', null, 200, /: there is no series of Prometheus on the page$/],
    [
      'no series that it knows',
      'other 1\n',
      null,
      200,
      /: none of the known series is on the page: choose some with --node-series$/,
    ],
    ['none of those chosen', PAGE, ['x'], 200, /: none of the series of --node-series is on the page with a number$/],
    ['a redirection', PAGE, null, 302, /: HTTP 302$/],
  ];
  for (const [what, page, series, status, message] of refused) {
    it(`a page with ${what} is no reading`, async (t) => {
      const probe = await probeOf(t, page, series, status);
      for (let times = 0; times < 2; times += 1) {
        const error = await caught(() => probe.sample());
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /\n/);
      }
    });
  }

  it('several nodes have their name as a label, and one that is down takes no figures of the others', async (t) => {
    const up = await serverFor(t, (_, response) => void response.end('a 1\na{b="},{"} 2\na{} 3\n'));
    const down = new URL(`http://127.0.0.1:${await closedPort(t)}/metrics`);
    const pages = [{ name: 'one', url: up }, { name: 'two', url: down }]; // prettier-ignore
    const probe = createMetricsProbe({ pages, series: ['a'], clock: createClock(), openPages });
    t.after(() => probe.close());
    assert.deepEqual(await probe.sample(), {
      series: { 'a{node="one"}': 3, 'a{node="one",b="},{"}': 2 },
      missing: { two: `${down}: connection refused` },
    });
  });

  it('takes at most 100 series', async (t) => {
    const page = Array.from({ length: 150 }, (_, i) => `a{i="${i}"} ${i}\n`).join('');
    const { series } = await (await probeOf(t, page, ['a'])).sample();
    assert.deepEqual([Object.keys(series).length, series['a{i="99"}']], [100, 99]);
  });

  it('a host that has no address is the reason', async (t) => {
    const { message } = await caught(() => probeFor(t, new URL('http://nobody.invalid')).sample());
    assert.match(message, /^http:\/\/nobody\.invalid: [^\n]+$/);
  });

  it('a server that is down is the reason, and when it comes up there are figures again', async (t) => {
    const port = await closedPort(t);
    const probe = probeFor(t, new URL(`http://127.0.0.1:${port}/metrics`));
    assert.equal((await caught(() => probe.sample())).message, `http://127.0.0.1:${port}/metrics: connection refused`);
    const server = createServer((_, response) => void response.end(PAGE));
    await listen(t, server, '127.0.0.1', port);
    assert.equal((await probe.sample()).series.txpool_pending, 7);
  });

  for (const [what, listener] of /** @type {Array<[string, RequestListener]>} */ ([
    ['never answers', () => {}],
    ['never ends', (_, response) => void response.writeHead(200).write(PAGE)],
  ])) {
    it(`a server that ${what} is not waited for`, async (t) => {
      const probe = probeFor(t, await serverFor(t, listener));
      const startMs = performance.now();
      assert.match((await caught(() => probe.sample())).message, /: no page within 900 ms$/);
      const tookMs = performance.now() - startMs;
      assert.ok(tookMs > 800 && tookMs < 5000, `${tookMs}`);
    });
  }

  it('a page without end is not read to its end', async (t) => {
    let sentBytes = 0;
    const chunk = Buffer.alloc(1024 * 1024, 'a 1\n');
    const url = await serverFor(t, (_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(chunk)) sentBytes += chunk.length;
        sentBytes += chunk.length;
      };
      response.on('drain', more).writeHead(200);
      more();
    });
    const error = await caught(() => probeFor(t, url).sample());
    assert.match(error.message, /: (the page is larger than 8 MB)$/);
    assert.ok(sentBytes < 64 * 1024 * 1024, `${sentBytes}`);
  });

  it('sends the credentials of the URL, and does not show them', async (t) => {
    const url = await serverFor(t, ({ headers }, response) => {
      const isKnown = headers.authorization === `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
      response.writeHead(isKnown ? 200 : 401).end(PAGE);
    });
    url.username = 'me';
    url.password = 'p@ss';
    assert.equal((await probeFor(t, url).sample()).series.chain_head_block, 12);
    url.password = 'secret';
    const { message } = await caught(() => probeFor(t, url).sample());
    assert.match(message, /^http:\/\/\*\*\*@127\.0\.0\.1:\d+\/metrics: HTTP 401/);
    assert.doesNotMatch(message, /secret/);
  });
});
