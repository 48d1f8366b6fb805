/** Several --rpc: one chain behind several endpoints, which come and go, and what is told of each. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, rpcCall, startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { startFaultProxy } from '../helpers/fault-proxy.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { assertAgrees } from '../helpers/recompute.js';
import { readRows } from '../helpers/rows.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { StressProcess } from '../helpers/cli.js'
 * @import { TestContext } from 'node:test'
 */

/** @type {Anvil} */
let anvil;

before(async () => {
  anvil = await startAnvil({ args: ['--block-time', '0.1'] });
});

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

/** What is waited for comes, or the run ends by its time-out. @param {() => boolean} isSo @param {AbortSignal} signal */
async function until(isSo, signal) {
  while (!isSo()) {
    assert.ok(!signal.aborted, `the run ended before that: ${signal.reason}`);
    await sleep(10);
  }
}

/** @param {StressProcess} stress @returns {AbortSignal} */
function endOf(stress) {
  const ended = new AbortController();
  void stress.done.then(
    ({ code, stderr }) => ended.abort(`exit code ${code}, ${stderr}`),
    (error) => ended.abort(error),
  );
  return ended.signal;
}

/** @param {any} run @returns {number[]} verified operations by endpoint */
const verifiedAt = (run) => [0, 1].map((i) => run.byEndpoint[i].counts.verified);

describe('several endpoints', { concurrency: false }, () => {
  test('one that goes away is left, its wallets go on at the other, and it is used again when it is back', async (t) => {
    const [a, b] = [await startEndpoint(), await startEndpoint()];
    const out = join(temporaryFolder(t), 'run.json');
    const args = ['-t', '6', '--rpc', a.url, '--rpc', b.url, '--interval', '500ms', '--out', out];
    const stress = startStress(args);
    const ended = endOf(stress);
    // The counters are deployed by way of the first one.
    await until(() => a.submissions > 20 && b.submissions > 10, ended);
    a.isCut = true;
    const before = b.submissions;
    await stress.waitFor(/is down: connection lost; requests go to the other endpoints/);
    await until(() => b.submissions > before + 20, ended);
    a.isCut = false;
    await stress.waitFor(/is up again after \d+\.\d s/);
    const back = a.submissions;
    await until(() => a.submissions > back + 10, ended);
    stress.child.kill('SIGINT');
    const { code, stderr } = await stress.done;
    assert.equal(code, 130, stderr);

    const run = readJson(out);
    assertRunFile(run);
    assert.equal(run.audit.exact, true);
    const { verified, failed, timedOut } = run.counts;
    assert.deepEqual([failed, timedOut, run.reorgs.count], [0, 0, 0]);
    const [atA, atB] = verifiedAt(run);
    assert.equal(atA + atB, verified);
    assert.ok(atA > 10 && atB > atA, `${atA} and ${atB}`);
    assert.deepEqual(
      run.environment.endpoints.map((/** @type {any} */ one) => one.display),
      [a.url, b.url],
    );
    assert.deepEqual(run.config.rpc, [a.url, b.url]);
    assert.equal(run.environment.endpoint, a.url);
    const [ofA, ofB] = run.generator.endpoints;
    assert.ok(ofA.left >= 1 && ofA.awayMs > 0 && ofA.failures > 0, JSON.stringify(ofA));
    assert.deepEqual(ofA.events.map((/** @type {any} */ event) => event.isBack).slice(0, 2), [false, true]);
    assert.deepEqual([ofB.left, ofB.awayMs, ofB.events], [0, 0, []]);
    const byInterval = run.intervals.map((/** @type {any} */ row) => row.byEndpoint[1]?.verified ?? 0);
    assert.equal(
      byInterval.reduce((/** @type {number} */ sum, /** @type {number} */ n) => sum + n),
      atB,
    );
    assert.match(stress.output().stdout, /^ {2}endpoint +verified/m);
  });

  test('one that hangs is left, and nothing that waits at it is lost', async (t) => {
    const [a, b] = [await startEndpoint(), await startEndpoint()];
    const out = join(temporaryFolder(t), 'run.json');
    const args = ['-t', '4', '--in-flight', '2', '--request-timeout', '6s', '--out', out];
    const stress = startStress([...args, '--rpc', a.url, '--rpc', b.url, '--interval', '500ms']);
    const ended = endOf(stress);
    await until(() => a.submissions > 20 && b.submissions > 10, ended);
    a.isHanging = true;
    await stress.waitFor(/is down: no answer within 5 s; requests go to the other endpoints/);
    const before = b.submissions;
    await until(() => b.submissions > before + 40, ended);
    stress.child.kill('SIGINT');
    const { code, stderr } = await stress.done;
    assert.equal(code, 130, stderr);
    const run = readJson(out);
    assertRunFile(run);
    const { failed, timedOut, abandoned } = run.counts;
    assert.deepEqual([failed, timedOut, abandoned, run.audit.exact], [0, 0, 0, true]);
    assert.deepEqual(
      run.generator.endpoints.map((/** @type {any} */ one) => one.left),
      [1, 0],
    );
  });

  test('apart: read-back has the wait for the block at the endpoint that is read, and the rows its instant', async (t) => {
    const [a, b] = await Promise.all([startFaultProxy(anvil.url), startFaultProxy(anvil.url)]);
    await b.set({ kind: 'lag', blocks: 15 });
    const folder = temporaryFolder(t);
    const [out, samples] = [join(folder, 'run.json'), join(folder, 'samples.ndjson')];
    const files = ['--out', out, '--samples', samples];
    const args = ['-t', '4', '-o', '6', '-d', '5m', '--iterations', '2', '--spread', 'apart', ...files];
    const { code, stderr } = await runStress([...args, '--rpc', a.url, '--rpc', b.url]);
    assert.equal(code, 0, stderr);
    const run = readJson(out);
    assertRunFile(run);
    const rows = readRows(samples);
    assertAgrees(run, rows);
    // Wallets of the first endpoint wait for 15 blocks, however slow the machine is; those of the second one do not
    // wait: they are read at the endpoint that has more blocks.
    const waitsUs = rows.map((row) => Number(row.visible_at_us) - Number(row.included_at_us));
    assert.ok(Math.max(...waitsUs) > 150_000, `${waitsUs}`);
    assert.ok(Math.min(...waitsUs) >= 0 && Math.min(...waitsUs) < 150_000, `${waitsUs}`);
    assert.ok(run.latency.stages.readBack.maxUs > 150_000);
    assert.equal(run.audit.exact, true);
  });

  test('round-robin: they take turns with what is sent', async (t) => {
    const [a, b] = [await startEndpoint(), await startEndpoint()];
    const out = join(temporaryFolder(t), 'run.json');
    const args = ['-t', '2', '-d', '1s', '--spread', 'round-robin', '--rpc', `${a.url},${b.url}`, '--out', out];
    const { code, stderr } = await runStress(args);
    assert.equal(code, 0, stderr);
    const run = readJson(out);
    assertRunFile(run);
    const [atA, atB] = verifiedAt(run);
    assert.ok(atA > 0 && Math.abs(atA - atB) <= 2, `${atA} and ${atB}`);
  });

  test('of different chains are refused, and so is one that is not there', async () => {
    const [other, twin] = await Promise.all([startAnvil({ args: ['--chain-id', '1337'] }), startAnvil()]);
    const { url } = await startEndpoint();
    // Last: a server that starts later could get this port.
    const unused = `http://127.0.0.1:${await freePort()}`;
    const both = async (/** @type {string} */ second) => {
      const { code, stderr } = await runStress(['-t', '2', '-d', '1s', '--rpc', url, '--rpc', second]);
      return { code, last: stderr.trim().split('\n').at(-1) };
    };
    const one = 'all --rpc endpoints must serve one chain';
    assert.deepEqual(await both(other.url), {
      code: 77,
      last: `stress: ${url} and ${other.url} are chains 31337 and 1337: ${one}`,
    });
    assert.deepEqual(await both(twin.url), {
      code: 77,
      last: `stress: ${url} and ${twin.url} are chains of id 31337 with different first blocks: ${one}`,
    });
    assert.deepEqual(await both(unused), { code: 69, last: `stress: ${unused}: connection refused` });
    await Promise.all([other.stop(), twin.stop()]);
  });

  test('two chains of one id and one first block are refused by the blocks after it, before anything is sent', async (t) => {
    const args = ['--timestamp', '1700000000'];
    const twins = await Promise.all([startAnvil({ args }), startAnvil({ args })]);
    t.after(() => Promise.all(twins.map((twin) => twin.stop())));
    for (const [i, { url }] of twins.entries()) {
      // What is in them differs, as that of two chains does that were used.
      await rpcCall(url, 'anvil_setBalance', [`0x${'1'.repeat(40)}`, `0x${i}`]);
      await rpcCall(url, 'evm_mine');
    }
    const hashes = twins.map(({ url }) => rpcCall(url, 'eth_getBlockByNumber', ['0x0', false]));
    const [first, second] = /** @type {any[]} */ (await Promise.all(hashes));
    assert.equal(first.hash, second.hash);
    const [a, b] = twins.map(({ url }) => url);
    const { code, stderr } = await runStress(['-t', '2', '-d', '1s', '--rpc', a, '--rpc', b]);
    const one = 'all --rpc endpoints must serve one chain';
    assert.equal(stderr.trim(), `stress: ${a} and ${b} are chains of id 31337 with different blocks 1: ${one}`);
    assert.equal(code, 77);
    assert.deepEqual(await Promise.all([a, b].map((url) => rpcCall(url, 'eth_blockNumber'))), ['0x1', '0x1']);
  });
});
