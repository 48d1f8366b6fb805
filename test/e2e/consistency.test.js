/** `--check consistency` of the program itself: a fault fails the threshold, and a check that a chain does not allow is named. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { passOn, serve } from '../helpers/endpoint.js';
import { FAULTS, startInconsistentNode } from '../helpers/inconsistent-node.js';
import { runOf, sumOf } from '../helpers/run-of.js';

/** @import { TestContext } from 'node:test' */

const anvil = anvilFor('--block-time 0.1');

/** @param {TestContext} t @param {string} rpc @param {string} more words @param {number} [exit] */
async function checked(t, rpc, more, exit) {
  const words = `--rate 40 -d 3s --check consistency --check-share 50% --html DIR/run.html ${more}`;
  const result = await runOf(t, words, { chain: anvil, rpc, threads: 6, exit });
  return { ...result, page: readFileSync(join(result.folder, 'run.html'), 'utf8') };
}

describe('--check consistency', { concurrency: true }, () => {
  test('a contradiction fails the threshold, and is shown with two commands', async (t) => {
    const node = await startInconsistentNode(anvil.url, FAULTS.unknown_block_list, 2);
    t.after(node.stop);
    node.begin();
    const { stdout, stderr, run, page } = await checked(t, node.http, '--threshold violations=0', 99);
    const { violations } = run.consistency;
    assert.deepEqual(Object.keys(violations), ['unknown_block_list'], stdout);
    const { count, examples } = violations.unknown_block_list;
    assert.equal(run.thresholds[0].value, count);
    const says = /consistency +\d+ checks of \d+ kinds, \d+ CONTRADICTIONS?\n +unknown_block_list \d+, the first/;
    assert.match(stdout, says);
    assert.match(stderr, /unknown_block_list: http:.*a block that does not exist has 0 logs/);
    for (const text of ['Consistency of the answers', `${examples[0].endpoint}, ${examples[0].at}`])
      assert.ok(page.includes(text), text);
    const found = sumOf(run.intervals.map((/** @type {any} */ row) => row.violations?.unknown_block_list ?? 0));
    assert.ok(found > 0 && found <= count, `${found} of ${count}`);
    assert.equal(run.audit?.result, 'exact');
  });

  test('what the chain does not have is off, and named; each endpoint is asked over several connections', async (t) => {
    const sockets = new Set();
    const { url } = await serve((body, _, { socket }) => {
      const error = { code: -32601, message: 'no such method' };
      // Only the checks ask for it.
      if (body.includes('eth_getLogs')) sockets.add(socket);
      if (!body.includes('eth_getBlockByHash')) return passOn(anvil.url, body);
      return { body: JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, error }) };
    });
    const { stdout, run } = await checked(t, url, '');
    assert.ok(sockets.size > 1, 'connections to a balancer may lead to several nodes');
    assert.match(run.consistency.off.block, /no such method/);
    assert.match(stdout, /not checked: block \(http:.*no such method.*\)/);
    assert.deepEqual(run.consistency.violations, {});
  });
});
