/** The default of Linux: on loopback a port that has waited for a second may be used again, and nothing runs out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startNullChain } from '../../../scripts/bench/null-chain.js';
import { CALLS, prepareNamespace, run, timeWaits } from '../namespace.js';

const PORTS = 1000;

for (const reuse of /** @type {const} */ ([2, 1])) {
  await test(`no keep-alive, tcp_tw_reuse=${reuse}: ports are used again, and no request fails`, async (t) => {
    prepareNamespace({ reuse }, PORTS);
    const chain = await startNullChain();
    t.after(() => chain.stop());
    // Fewer per second than there are ports, and more in all.
    const args = [...CALLS, '--rate', '300', '-d', '20s', '--no-keep-alive'];
    const { code, stderr, file } = await run(t, chain.url, args);
    assert.equal(code, 0, stderr);
    assert.deepEqual(file.failures, {});
    const { ours, theirs } = timeWaits(chain.url);
    assert.ok(file.counts.verified > PORTS, `${file.counts.verified} verified`);
    assert.ok(ours > PORTS / 4 && ours <= PORTS, `${ours} are ours`);
    assert.equal(theirs, 0);
  });
}
