/** We close first, and nothing may use a port again: as many requests as there are ports, and not one more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startNullChain } from '../../../scripts/bench/null-chain.js';
import { CALLS, prepareNamespace, run, timeWaits } from '../namespace.js';

/** So few that a slow machine uses them up too. */
const PORTS = 4000;
prepareNamespace({ reuse: 0 }, PORTS);

/** @type {any} */
let last = null;

test('no keep-alive: the ports run out, and the run ends as it should', async (t) => {
  const chain = await startNullChain();
  t.after(() => chain.stop());
  const args = [...CALLS, '-d', '50s', '--no-keep-alive'];
  const { code, stdout, stderr, file, tookMs } = await run(t, chain.url, args);
  last = file;
  assert.equal(code, 0, stderr);
  assert.ok(tookMs < 62_000, `it took ${tookMs} ms`);
  const { counts, failures, generator } = file;
  assert.deepEqual(Object.keys(failures), ['transport_no_ports']);
  assert.ok(failures.transport_no_ports > 0);
  assert.match(stdout + stderr, /no local port is left/);
  assert.equal(counts.timedOut + counts.abandoned, 0);
  // What the program asked for itself is among the connections; a few ports may be those of the servers.
  assert.ok(generator.transport.connectionsOpened <= PORTS);
  assert.ok(counts.verified > PORTS - 100 && counts.verified <= PORTS, `${counts.verified} verified`);
  const { ours, theirs } = timeWaits(chain.url);
  assert.ok(ours > PORTS - 100 && ours <= PORTS, `${ours} are ours`);
  assert.equal(theirs, 0);
});

test('the run file tells why', () => {
  assert.ok(last?.verdict, 'there is no verdict');
  assert.equal(last.verdict.name, 'port-bound');
  const sockets = last.intervals.map((/** @type {any} */ row) => row.probes.sockets).filter(Boolean);
  assert.ok(sockets.length > 0, 'no interval has sockets');
  const most = Math.max(...sockets.map((/** @type {any} */ reading) => reading.timeWait));
  assert.ok(most > PORTS - 100, `${most} in TIME_WAIT`);
  const { portsInUse, portsLeft, timeWait } = sockets.at(-1).endpoints[0];
  assert.ok(timeWait > PORTS - 100, `${timeWait} towards the endpoint`);
  assert.ok(portsInUse > PORTS - 100 && portsLeft < 100, `${portsInUse} in use, ${portsLeft} left`);
});
