/** The main job: exact with keep-alive; without it the ports run out, and what it says afterwards must still be true. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAnvil } from '../../helpers/anvil.js';
import { prepareNamespace, run, timeWaits } from '../namespace.js';

/** Half as many as elsewhere: the job makes three connections for an operation, and the last ports are slow to find. */
const PORTS = 8192;
prepareNamespace({ reuse: 0 }, PORTS);
const JOB = ['-t', '50', '-o', '0', '--interval', '1s', '--drain-timeout', '5s', '--request-timeout', '5s'];

await test('keep-alive: exact', async (t) => {
  const anvil = await startAnvil({ args: ['--accounts', '50'] });
  t.after(() => anvil.stop());
  const { code, stderr, file } = await run(t, anvil.url, [...JOB, '-d', '10s']);
  assert.equal(code, 0, stderr);
  assert.equal(file.audit.exact, true);
  assert.deepEqual(file.failures, {});
  const { ours, theirs } = timeWaits(anvil.url);
  assert.ok(ours < 300 && theirs < 300, `${ours} are ours, ${theirs} theirs`);
});

await test('no keep-alive: it starves, it ends, and no figure is made up', async (t) => {
  const anvil = await startAnvil({ args: ['--accounts', '50'] });
  t.after(() => anvil.stop());
  const { code, stdout, stderr, file, tookMs } = await run(t, anvil.url, [...JOB, '-d', '30s', '--no-keep-alive']);
  assert.ok(tookMs < 60_000, `it took ${tookMs} ms`);
  const { started, verified, abandoned } = file.counts;
  assert.ok(verified > 0 && verified < started, `${verified} verified of ${started}`);
  // An operation fails where it wanted a port itself; most wait for a block that cannot be requested any more.
  assert.ok(abandoned + (file.failures.transport_no_ports ?? 0) > 0, JSON.stringify(file.counts));
  const { ours } = timeWaits(anvil.url);
  assert.ok(ours > PORTS - 200, `${ours} are ours`);
  // Without a port the chain cannot be asked, and the run says so instead of an audit.
  if (file.audit === null) {
    assert.equal(code, 69, stderr);
    assert.match(stdout + stderr, /\n {2}audit +INCOMPLETE: .*no local port is left/);
    return;
  }
  // Ports that have come back meanwhile make it possible.
  assert.equal(file.audit.exact, true, stderr);
  assert.equal(Number(file.audit.effectsOnChain), file.counts.verified + file.audit.includedLate);
});
