/** --flashblocks: preconfirmations as a finality level, those that are broken among them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { Transaction } from 'ethers';
import { WebSocketServer } from 'ws';
import { anvilFor } from '../helpers/anvil.js';
import { serveBetween } from '../helpers/endpoint.js';
import { runOf } from '../helpers/run-of.js';

/** @import { TestContext } from 'node:test' */

const chain = anvilFor('--accounts 40 --block-time 0.3');
const LADDER = '-d 3s --ladder pending --tx-timeout 1500ms --drain-timeout 3s';

/**
 * A web socket of preconfirmations.
 * @param {TestContext} t
 * @param {(socket: import('ws').WebSocket) => void} onOpen
 */
async function feedFor(t, onOpen) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', onOpen);
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const send = (/** @type {string | Buffer} */ message) => server.clients.forEach((client) => client.send(message));
  return { url: `ws://127.0.0.1:${port}`, server, send };
}

/** The chain, with a look at each increment before it gets it. @param {(raw: string, hash: string) => boolean} look false: it is dropped */
function builder(look) {
  return serveBetween(chain.url, ({ method, params }) => {
    if (method !== 'eth_sendRawTransaction') return null;
    const raw = String(params?.[0]);
    const { hash, to } = Transaction.from(raw);
    return to === null || look(raw, String(hash)) ? null : { result: hash };
  });
}

const flashblock = (/** @type {string[]} */ transactions, /** @type {object} */ metadata = {}) =>
  JSON.stringify({ payload_id: '0x01', index: 1, diff: { transactions }, metadata });

test('a feed that breaks a part of its promises: each operation is preconfirmed, and the dropped ones are broken', async (t) => {
  let sent = 0;
  /** Whether each transaction, by hash, is dropped: it may be sent again. @type {Map<string, boolean>} */
  const isDropped = new Map();
  const feed = await feedFor(t, (socket) => socket.send(flashblock([])));
  const proxy = await builder((raw, hash) => {
    sent += 1;
    if (!isDropped.has(hash)) isDropped.set(hash, isDropped.size % 50 === 6);
    // As text, compressed, and with the hashes beside the bytes.
    if (sent % 3 === 0) feed.send(flashblock([raw]));
    else if (sent % 3 === 1) feed.send(brotliCompressSync(flashblock([raw])));
    else feed.send(flashblock(['0x'], { receipts: { [hash.toUpperCase().replace('X', 'x')]: {} } }));
    return isDropped.get(hash) === false;
  });
  const { run, stdout } = await runOf(t, `${LADDER} --flashblocks ${feed.url}`, { chain, rpc: proxy.url, threads: 30 });
  const { counts, failures, audit, ladder } = run;
  const { reached, notReached, notMeasured, broken } = ladder.rungs.preconfirmed;
  const lost = [...isDropped.values()].filter(Boolean).length;
  assert.ok(failures.lost > 0);
  assert.deepEqual([reached, notReached, notMeasured], [counts.started, 0, 0]);
  assert.deepEqual(broken, { lost, replaced: 0, reorged: 0, unknown: 0 });
  assert.equal(ladder.rungs.latest.broken.lost, 0);
  // On a busy machine some of them are not looked for before the time limit of their operation.
  assert.deepEqual([audit.exact, audit.neverSent], [true, lost]);
  assert.match(stdout, /^ +preconfirmed .* [\d,]+ /m);
});

test('a node with the subscription; while it is away, operations are not measured', async (t) => {
  let asked = 0;
  /** @type {Set<import('ws').WebSocket>} */
  const subscribers = new Set();
  const node = await feedFor(t, (socket) =>
    socket.on('message', (text) => {
      asked += 1;
      assert.equal(JSON.parse(String(text)).params[0], 'newFlashblockTransactions');
      subscribers.add(socket);
      socket.send('{"jsonrpc":"2.0","id":1,"result":"0x1"}');
    }),
  );
  let sent = 0;
  const proxy = await builder((_, hash) => {
    sent += 1;
    if (sent === 30) for (const client of node.server.clients) client.terminate();
    const params = { subscription: '0x1', result: hash };
    for (const one of subscribers) one.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }));
    return true;
  });
  const words = `${LADDER} --workers 2 --flashblocks ${node.url}`;
  const { run, stderr } = await runOf(t, words, { chain, rpc: proxy.url, threads: 10 });
  const { reached, notReached, notMeasured } = run.ladder.rungs.preconfirmed;
  // The set-up, each worker, and each worker again.
  assert.equal(asked, 5);
  assert.ok(reached > 0 && notMeasured > 0);
  assert.deepEqual([reached + notMeasured, notReached], [run.counts.started, 0]);
  assert.match(stderr, /no preconfirmations from ws:.*; operations meanwhile are not measured/);
});

test('workers that are not let in say so, and nothing is measured', async (t) => {
  let connections = 0;
  const feed = await feedFor(t, (socket) => {
    connections += 1;
    if (connections === 1) socket.send(flashblock([]));
    else socket.close(1008);
  });
  const words = `-d 1s --ladder pending --workers 2 --flashblocks ${feed.url}`;
  const { run, stdout, stderr } = await runOf(t, words, { chain, threads: 4 });
  const { reached, notReached, notMeasured } = run.ladder.rungs.preconfirmed;
  assert.deepEqual([reached, notReached, notMeasured], [0, 0, run.counts.started]);
  assert.match(stderr, /no preconfirmations from ws:.*; operations meanwhile are not measured/);
  assert.match(stdout, /^ +\d+ operations not measured at preconfirmed$/m);
});

test('what is no feed is refused before anything is sent', async (t) => {
  const dead = await feedFor(t, () => {});
  const other = await feedFor(t, (socket) => socket.send('hello'));
  dead.server.close();
  for (const client of dead.server.clients) client.terminate();
  const advice = '--flashblocks takes a feed of flashblocks, or a node with the subscription newFlashblockTransactions';
  /** @type {Array<[string, RegExp]>} */
  const table = [
    [dead.url, /ECONNREFUSED/],
    [other.url, /it sends what is neither JSON nor JSON compressed with Brotli/],
    [chain.url.replace('http', 'ws'), /no subscription newFlashblockTransactions: /],
  ];
  let submissions = 0;
  const proxy = await serveBetween(chain.url, ({ method }) => {
    if (method === 'eth_sendRawTransaction') submissions += 1;
    return null;
  });
  for (const [url, words] of table) {
    const { stderr } = await runOf(t, `${LADDER} --flashblocks ${url}`, {
      chain,
      rpc: proxy.url,
      threads: 1,
      exit: 69,
    });
    assert.equal(submissions, 0);
    assert.match(stderr, words);
    assert.ok(stderr.trimEnd().endsWith(advice), stderr);
    assert.equal(stderr.trim().split('\n').length, 1);
  }
});
