/**
 * API nodes are killed, wiped and brought back while a load below saturation goes on. With ROTATING_SECONDS=300 this is
 * the experiment of docs/evidence.md, whose table it prints.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { rotate, startNetwork } from '../../scripts/nodes/avalanche-network.js';
import { FUNDER_KEY } from '../../scripts/nodes/avalanche.js';
import { call } from '../../scripts/nodes/build.js';
import { DEV_MNEMONIC } from '../../src/chain/keys.js';
import { readJson, spawnStress } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

const SECONDS = Number(process.env.ROTATING_SECONDS ?? 100);
/** Which node goes when, and how many rows of the report come before that. */
const [TURNS, ROWS_BEFORE] = SECONDS < 300 ? [[0, 1], 3] : [[0, 1, 0, 1], 9];
const DOWN_MS = 10_000;
/** The network holds more than three times this rate. */
const LOAD = ['-t', '150', '--rate', '20', '--interval', '5s', '-d', `${SECONDS}s`, '--chain-id', '43112'];
/** A row of the report. */
const ROW = /^ +\d[\d.]* s /m;

/** Requests that were routed before a node was left may still be written for 100 ms, on a busy machine a little later. */
const GRACE_MS = 300;

/**
 * @typedef {Parameters<Parameters<typeof rotate>[1]['onEvent']>[0]} EventName
 * @typedef {{node: number, event: EventName, height: number | null, atMs: number}} Event
 */

await test('API nodes come and go, and every operation is verified', async (t) => {
  const folder = temporaryFolder(t);
  const network = await startNetwork({ apiNodes: 2 });
  t.after(() => network.stop());
  const rpcs = network.api.flatMap(({ url }) => ['--rpc', url]);
  const files = ['--out', `${folder}/run.json`, '--samples', `${folder}/samples.csv`];
  const env = { STRESS_FUNDER_KEY: FUNDER_KEY, STRESS_MNEMONIC: DEV_MNEMONIC };
  const stress = spawnStress([...LOAD, ...rpcs, ...files], { env, timeoutMs: (SECONDS + 120) * 1000 });

  /** @type {Event[]} */
  const events = [];
  for (const node of TURNS) {
    for (let row = 0; row < ROWS_BEFORE; row += 1) await stress.waitFor(ROW, 'now');
    await rotate(network.api[node], {
      downMs: DOWN_MS,
      onEvent: (event, height) => events.push({ node, event, height, atMs: Date.now() }),
    });
  }
  const { code, stdout, stderr } = await stress.done;
  assert.equal(code, 0, stderr);
  const run = readJson(`${folder}/run.json`);
  for (const line of [...stdout.split('\n'), ...table(run, events)]) t.diagnostic(line);

  assertRunFile(run);
  assert.equal(run.audit.exact, true);
  // On a busy machine all wallets may be waiting for both nodes when an operation is due: it is dropped, not lost.
  assert.equal(run.counts.verified, run.counts.started);
  for (const { url } of [network.consensus, ...network.api]) {
    const block = await call(url, 'eth_getBlockByNumber', [`0x${run.audit.blockNumber.toString(16)}`, false]);
    assert.equal(/** @type {any} */ (block).hash, run.audit.blockHash, `${url} has the same chain`);
  }
  const samples = readSamples(`${folder}/samples.csv`);
  const [first, second] = run.generator.endpoints.map((/** @type {any} */ { events: all }) => all);
  const startedMs = (/** @type {number} */ index) =>
    events
      .filter(({ node, event }) => node === index && event === 'started')
      .map(({ atMs }) => atMs - Date.parse(run.window.startedAt));
  assertLeftAndUsedAgain(0, first, second, samples, startedMs(0));
  assertLeftAndUsedAgain(1, second, first, samples, startedMs(1));
});

/**
 * Nothing was sent to a node while it was left and the other one was not, and something after each return.
 * @param {number} node
 * @param {Array<{atMs: number, isBack: boolean}>} events of the run file
 * @param {Array<{atMs: number, isBack: boolean}>} others of the other node
 * @param {Array<{endpoint: number, sentAtMs: number}>} samples
 * @param {number[]} startedMs when it was started again: each thread finds that for itself, the events are of one
 */
function assertLeftAndUsedAgain(node, events, others, samples, startedMs) {
  // On a busy machine a node that lives may not answer in time. Requests go on if all are left.
  const isOtherUp = (/** @type {number} */ ms) => others.findLast(({ atMs }) => atMs <= ms)?.isBack ?? true;
  const own = samples.filter(({ endpoint }) => endpoint === node);
  const sent = (/** @type {number} */ fromMs, /** @type {number} */ toMs) =>
    own.filter(({ sentAtMs }) => sentAtMs > fromMs && sentAtMs < toMs).length;
  const left = events.filter(({ isBack }) => !isBack);
  assert.ok(left.length >= TURNS.filter((turn) => turn === node).length, `node ${node + 1} left ${left.length} times`);
  assert.ok(sent(0, events[0].atMs) > 0, `node ${node + 1} was used before it left`);
  events.forEach(({ atMs, isBack }, i) => {
    const count = sent(atMs, events[i + 1]?.atMs ?? Infinity);
    if (isBack) assert.ok(count > 0, `node ${node + 1} was used when it was back`);
    else {
      const until = Math.min(events[i + 1]?.atMs ?? Infinity, ...startedMs.filter((ms) => ms > atMs));
      const late = own
        .filter(({ sentAtMs }) => isOtherUp(sentAtMs))
        .map(({ sentAtMs }) => sentAtMs - atMs)
        .filter((ms) => ms > GRACE_MS && atMs + ms < until);
      // On a busy machine a thread may find for a moment that no node answers. The share of this node would be 100.
      assert.ok(late.length < 10, `node ${node + 1} got requests while it was down, after ${late.join(', ')} ms`);
    }
  });
}

/** @param {string} file */
function readSamples(file) {
  const [head, ...lines] = readFileSync(file, 'utf8').trim().split('\n');
  const columns = head.split(',');
  const [endpointAt, sentAt] = ['endpoint', 'sent_at_us'].map((name) => columns.indexOf(name));
  return lines
    .map((line) => line.split(','))
    .map((fields) => ({ endpoint: Number(fields[endpointAt]), sentAtMs: Number(fields[sentAt]) / 1000 }));
}

/**
 * The intervals of a run, and what happened to which node in them.
 * @param {any} run
 * @param {Event[]} events
 */
function table({ intervals, window }, events) {
  const loadStartMs = Date.parse(window.startedAt);
  const ms = (/** @type {number | null} */ us) => ((us ?? NaN) / 1000).toFixed(0);
  const rows = intervals.map((/** @type {any} */ { startMs, endMs, counts, latency, byEndpoint }) => {
    const isIn = (/** @type {Event} */ { atMs }) => atMs - loadStartMs >= startMs && atMs - loadStartMs < endMs;
    const words = events.filter(isIn).map(({ node, event, height }) => {
      return `${node + 1} ${event}${height === null ? '' : ` at block ${height}`}`;
    });
    return [
      ...[(startMs / 1000).toFixed(0), counts.verified, counts.failed + counts.timedOut + counts.abandoned],
      ...[ms(latency.meanUs), ms(latency.maxUs)],
      ...[0, 1].map((endpoint) => byEndpoint[endpoint]?.verified ?? 0),
      words.join(', '),
    ];
  });
  const heads = ['from s', 'verified', 'others', 'avg ms', 'max ms', 'by node 1', 'by node 2', 'API node'];
  return [heads, ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}
