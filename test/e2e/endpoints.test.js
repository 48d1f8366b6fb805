/** Several --rpc: one chain behind several endpoints, which come and go, and what is told of each. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { anvilFor } from '../helpers/anvil.js';
import { startFaultProxy } from '../helpers/fault-proxy.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { assertAgrees } from '../helpers/recompute.js';
import { readRows } from '../helpers/rows.js';
import { runOf, startOf, sumOf } from '../helpers/run-of.js';

/**
 * @import { TestContext } from 'node:test'
 */

const anvil = anvilFor('--block-time 0.1 --accounts 40');

/** An endpoint of the chain that can be cut. */
async function startEndpoint() {
  const endpoint = { url: '', isCut: false, isHanging: false, submissions: 0 };
  const { url } = await serve((body) => {
    if (endpoint.isCut) throw new Error('it is away');
    if (endpoint.isHanging) return new Promise(() => {});
    const submissions = body.split('"eth_sendRawTransaction"').length - 1;
    endpoint.submissions += submissions;
    return passOn(anvil.url, body);
  });
  endpoint.url = url;
  return endpoint;
}

/** @typedef {Awaited<ReturnType<typeof startEndpoint>>} Cuttable */

/**
 * A run with two endpoints, in the middle of its load.
 * @param {TestContext} t
 * @param {string} words
 */
async function startBetween(t, words) {
  const [a, b] = [await startEndpoint(), await startEndpoint()];
  const stress = startOf(t, `--rpc ${a.url} --rpc ${b.url} ${words}`, { chain: anvil, rpc: null, threads: 5 });
  let end = '';
  stress.done.then(
    ({ code, stderr }) => (end = `exit code ${code}, ${stderr}`),
    (error) => (end = String(error)),
  );
  /** What is waited for comes, or the run ends by its time-out. @param {() => boolean} isSo */
  const until = async (isSo) => {
    while (!isSo()) {
      assert.equal(end, '', 'the run ended before that');
      await sleep(10);
    }
  };
  /** @param {Cuttable} endpoint @param {number} count */
  const more = ({ submissions }, count) => submissions + count;
  // The counters are deployed by way of the first one.
  await until(() => a.submissions > 20 && b.submissions > 10);
  const interrupted = async () => {
    stress.child.kill('SIGINT');
    return stress.end(130);
  };
  return { a, b, stress, until, more, interrupted };
}

/** @param {any} run @returns {number[]} verified operations by endpoint */
const verifiedAt = (run) => [0, 1].map((i) => run.byEndpoint[i].counts.verified);

describe('several endpoints', { concurrency: false }, () => {
  test('one that goes away is left, its wallets go on at the other, and it is used again when it is back', async (t) => {
    const { a, b, stress, until, more, interrupted } = await startBetween(t, '');
    a.isCut = true;
    const away = more(b, 20);
    await stress.waitFor(/is down: connection lost; requests go to the other endpoints/);
    await until(() => b.submissions > away);
    a.isCut = false;
    await stress.waitFor(/is up again after \d+\.\d s/);
    const back = more(a, 10);
    await until(() => a.submissions > back);
    const { run, stdout } = await interrupted();
    const { verified, failed, timedOut } = run.counts;
    assert.deepEqual([run.audit.exact, failed, timedOut, run.reorgs.count], [true, 0, 0, 0]);
    const [atA, atB] = verifiedAt(run);
    assert.equal(atA + atB, verified);
    assert.ok(atA > 10 && atB > 10, `${atA} and ${atB}`);
    const { environment, config, generator, intervals } = run;
    assert.deepEqual([environment.endpoints[0].display, environment.endpoints[1].display], [a.url, b.url]);
    assert.deepEqual([config.rpc, environment.endpoint], [[a.url, b.url], a.url]);
    const [ofA, ofB] = generator.endpoints;
    assert.ok(ofA.left >= 1 && ofA.awayMs > 0 && ofA.failures > 0, JSON.stringify(ofA));
    assert.deepEqual([ofA.events[0].isBack, ofA.events[1].isBack], [false, true]);
    const atBByInterval = intervals.map((/** @type {any} */ row) => row.byEndpoint[1]?.verified ?? 0);
    assert.equal(sumOf(atBByInterval), atB);
    // A busy machine may answer late at the other one, too.
    if (ofB.left === 0) assert.deepEqual([ofB.awayMs, ofB.events], [0, []]);
    assert.match(stdout, /^ {2}By endpoint +verified/m);
  });

  test('apart: read-back has the wait for the block at the endpoint that is read, and the rows its instant', async (t) => {
    const [a, b] = await Promise.all([startFaultProxy(anvil.url), startFaultProxy(anvil.url)]);
    await b.set({ kind: 'lag', blocks: 15 });
    const words = `--rpc ${a.url} --rpc ${b.url} -d 1h --iterations 2 --spread apart --samples DIR/samples.ndjson`;
    const { run, folder } = await runOf(t, words, { chain: anvil, rpc: null, threads: 4 });
    const rows = readRows(join(folder, 'samples.ndjson'));
    assertAgrees(run, rows);
    // Wallets of the first endpoint wait for 15 blocks, however slow the machine is; those of the second one do not
    // wait: they are read at the endpoint that has more blocks.
    const waitsUs = rows.map((row) => Number(row.visible_at_us) - Number(row.included_at_us));
    assert.ok(Math.max(...waitsUs) > 150_000 && Math.min(...waitsUs) >= 0, `${waitsUs}`);
    assert.ok(Math.min(...waitsUs) < Math.max(...waitsUs) / 2, `${waitsUs}`);
    assert.ok(run.latency.stages.readBack.maxUs > 150_000 && run.audit.exact);
  });
});
