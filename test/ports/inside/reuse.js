/** The default of Linux: on loopback a port that has waited for a second may be used again, and nothing runs out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startNullChain } from '../../../scripts/bench/null-chain.js';
import { CALLS, prepareNamespace, run, timeWaits } from '../namespace.js';

for (const reuse of /** @type {const} */ ([2, 1])) {
  await test(`no keep-alive, tcp_tw_reuse=${reuse}: ports are used again, and no request fails`, async (t) => {
    prepareNamespace({ reuse });
    const chain = await startNullChain();
    t.after(() => chain.stop());
    const args = [...CALLS, '-d', '8s', '--no-keep-alive'];
    const { code, stderr, file } = await run(t, chain.url, args);
    assert.equal(code, 0, stderr);
    assert.deepEqual(file.failures, {});
    const { ours, theirs } = timeWaits(chain.url);
    assert.ok(ours > 1000, `${ours} are ours`);
    // Every connection would have left one.
    assert.ok(file.counts.verified > 1.5 * ours, `${file.counts.verified} verified, ${ours} are ours`);
    assert.equal(theirs, 0);
  });
}
