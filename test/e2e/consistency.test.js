/** `--check consistency` of the program itself: a fault fails the threshold, and a check that a chain does not allow is named. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { exited, readJson, runStress } from '../helpers/cli.js';
import { FAULTS, startInconsistentNode } from '../helpers/inconsistent-node.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { TestContext } from 'node:test'
 */

/** Each was made, or is named with the reason. */
const KINDS = 'block effect head index logs nonce receipt subscription unknown'.split(' ');

const anvil = anvilFor('--block-time 0.1');

/** @param {TestContext} t @param {string} url @param {string[]} more */
async function stress(t, url, more) {
  const folder = temporaryFolder(t);
  const [out, html] = ['run.json', 'run.html'].map((name) => join(folder, name));
  const checks = ['--check', 'consistency', '--check-share', '50%', '--interval', '500ms'];
  const args = ['--rpc', url, '-t', '6', '--rate', '40', '-d', '3s', ...checks, '--out', out, '--html', html, ...more];
  const { code, stdout, stderr } = await runStress(args);
  const run = readJson(out);
  assertRunFile(run);
  return { code, stdout, stderr, run, page: readFileSync(html, 'utf8') };
}

describe('--check consistency', { concurrency: true }, () => {
  test('a contradiction fails the threshold, and is shown with two commands', async (t) => {
    const node = await startInconsistentNode(anvil.url, FAULTS.unknown_block_list, 2);
    t.after(node.stop);
    node.begin();
    const { code, stdout, stderr, run, page } = await stress(t, node.http, ['--threshold', 'violations=0']);
    assert.equal(code, 99, stdout + stderr);
    const { violations } = run.consistency;
    assert.deepEqual(Object.keys(violations), ['unknown_block_list'], stdout);
    const { count, examples } = violations.unknown_block_list;
    assert.equal(run.thresholds[0].value, count);
    const says = /consistency \d+ checks of \d+ kinds, \d+ CONTRADICTIONS?\n +unknown_block_list \d+, the first/;
    assert.match(stdout, says);
    assert.match(stderr, /unknown_block_list: http:.*a block that does not exist has 0 logs/);
    assert.ok(
      page.includes('Consistency of the answers') && page.includes(`${examples[0].endpoint}, ${examples[0].at}`),
    );
    const found = run.intervals.reduce(
      (/** @type {number} */ sum, /** @type {any} */ row) => sum + (row.violations?.unknown_block_list ?? 0),
      0,
    );
    assert.ok(found > 0 && found <= count, `${found} of ${count}`);
    assert.equal(run.audit?.result, 'exact');
  });

  test('a node that agrees with itself passes, with worker threads as well', async (t) => {
    const { code, stdout, run } = await stress(t, anvil.url, [
      '-o',
      '10',
      '--workers',
      '2',
      '--threshold',
      'violations=0',
    ]);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /consistency \d+ checks of \d+ kinds, no contradiction\n/);
    const { checks, off } = run.consistency;
    assert.ok(checks.effect > 0 && checks.nonce > 0);
    assert.deepEqual(Object.keys({ ...checks, ...off }).sort(), KINDS);
    // Half of the requests of the load, 4 per second, and a last round.
    const load = Object.values(run.generator.rpcCalls).reduce((sum, calls) => sum + calls, 0);
    const seconds = (Date.parse(run.endedAt) - Date.parse(run.startedAt)) / 1000;
    assert.ok(run.consistency.requests <= load / 2 + 4 * seconds + 20, `${run.consistency.requests} of ${load}`);
  });

  test('what the chain does not have is off, and named; each endpoint is asked over several connections', async (t) => {
    const method = 'eth_getBlockByHash';
    const sockets = new Set();
    const server = createServer((request, response) => {
      const chunks = /** @type {Buffer[]} */ ([]);
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const text = String(Buffer.concat(chunks));
        const { id } = JSON.parse(text);
        // Only the checks ask for it.
        if (text.includes('eth_getLogs')) sockets.add(request.socket);
        const refused = JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
        if (text.includes(method)) return response.end(refused);
        const headers = { 'content-type': 'application/json' };
        fetch(anvil.url, { method: 'POST', headers, body: text })
          .then(async (answer) => response.end(await answer.text()))
          .catch(() => response.destroy());
      });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
    t.after(() => server.close());
    const { port } = /** @type {{port: number}} */ (server.address());
    const { code, stdout, run } = await stress(t, `http://127.0.0.1:${port}`, ['-o', '20']);
    assert.equal(code, 0, stdout);
    assert.ok(sockets.size > 1, 'connections to a balancer may lead to several nodes');
    assert.match(run.consistency.off.block, /no such method/);
    assert.match(stdout, /not checked: block \(http:.*no such method.*\)/);
    assert.deepEqual(run.consistency.violations, {});
  });

  test('plain calls leave nothing to check; a threshold needs the checks', async () => {
    for (const [args, words] of [
      [
        '--workload rpc --method eth_chainId --check consistency',
        /^stress: --check consistency needs transactions: .*\n$/,
      ],
      ['--threshold violations=0', /^stress: --threshold on violations needs .*: --check consistency\n$/],
      ['--check-share 2%', /^stress: --check-share needs --check KIND\n$/],
      ['--check order', /^stress: --check must be one of consistency, not .*\n$/],
    ]) {
      const { stderr } = await exited(64, ['-t', '1', '-d', '1s', ...String(args).split(' ')]);
      assert.match(stderr, /** @type {RegExp} */ (words));
    }
  });
});
