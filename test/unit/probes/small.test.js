/** The probes that are a few lines each. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ProtocolError, RpcError } from '../../../src/errors.js';
import { createConnectionsProbe, createPoolProbe, createSocketsProbe } from '../../../src/probes/index.js';
import { createSelfProbe } from '../../../src/probes/process.js';
import { socketWarnings } from '../../../src/stats/figures.js';
import { caught } from '../../helpers/caught.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { temporaryFolder } from '../../helpers/temporary.js';

describe('createSelfProbe()', () => {
  it('gives the CPU time since the last sample', () => {
    const probe = createSelfProbe();
    const startMs = performance.now();
    const before = process.cpuUsage();
    while (performance.now() - startMs < 60);
    const used = process.cpuUsage(before);
    const { cpuUs, rssBytes } = probe.sample();
    assert.ok(cpuUs >= used.user + used.system, `${cpuUs}`);
    assert.ok(rssBytes > 10_000_000 && rssBytes < 10_000_000_000);
    assert.ok(probe.sample().cpuUs < cpuUs);
  });
});

describe('createConnectionsProbe()', () => {
  it('gives what happened since the last sample, from when it was made', () => {
    let now = { requests: 100, connectionsOpened: 10 };
    const probe = createConnectionsProbe({ stats: () => now });
    assert.deepEqual(probe.sample(), { opened: 0, reused: 0 });
    now = { requests: 150, connectionsOpened: 12 };
    assert.deepEqual(probe.sample(), { opened: 2, reused: 48 });
    assert.deepEqual(probe.sample(), { opened: 0, reused: 0 });
    now = { requests: 151, connectionsOpened: 13 };
    assert.deepEqual(probe.sample(), { opened: 1, reused: 0 });
  });

  it('is never negative: connections may be opened for nothing, and a worker may be lost', () => {
    let now = { requests: 5, connectionsOpened: 5 };
    const probe = createConnectionsProbe({ stats: () => now });
    now = { requests: 6, connectionsOpened: 9 };
    assert.deepEqual(probe.sample(), { opened: 4, reused: 0 });
    now = { requests: 2, connectionsOpened: 2 };
    assert.deepEqual(probe.sample(), { opened: 0, reused: 0 });
  });
});

describe('createSocketsProbe()', () => {
  it('counts open and waiting sockets of both families, at most as many as there are ports', (t) => {
    const proc = temporaryFolder(t);
    for (const folder of ['net', 'sys/net/ipv4']) mkdirSync(join(proc, folder), { recursive: true });
    writeFileSync(join(proc, 'sys/net/ipv4/ip_local_port_range'), '1000\t1999\n');
    writeFileSync(join(proc, 'net/sockstat6'), 'TCP6: inuse 7\nUDP6: inuse 0\n');
    /** @param {number} timeWait */
    const sample = (timeWait) => {
      const counts = `sockets: used 75\nTCP: inuse 50 orphan 0 tw ${timeWait} alloc 60 mem 4\nUDP: inuse 9 mem 0\n`;
      writeFileSync(join(proc, 'net/sockstat'), counts);
      return createSocketsProbe({ proc }).sample();
    };
    const range = { from: 1000, to: 1999, ports: 1000 };
    assert.deepEqual(sample(300), {
      timeWait: 300,
      range,
      endpoints: [{ endpoint: 'all', timeWait: 300, portsInUse: 357, portsLeft: 643 }],
    });
    assert.deepEqual(sample(2000).endpoints, [{ endpoint: 'all', timeWait: 2000, portsInUse: 1000, portsLeft: 0 }]);
    // A system without IPv6 has no such file.
    rmSync(join(proc, 'net/sockstat6'));
    assert.equal(sample(300).endpoints[0].portsInUse, 350);
  });

  it('its warning begins at 60 % of the ports', () => {
    const range = { from: 1, to: 1000, ports: 1000 };
    const warningsOf = (/** @type {number} */ portsInUse) =>
      socketWarnings({
        timeWait: 5,
        range,
        endpoints: [{ endpoint: 'all', timeWait: 5, portsInUse, portsLeft: 1000 - portsInUse }],
      });
    assert.deepEqual(warningsOf(599), []);
    assert.match(
      warningsOf(600).join('\n'),
      /^the sockets of this machine may use 600 of 1000 .* 400 are left: [^\n]+$/,
    );
  });
});

describe('createPoolProbe()', () => {
  const REFUSED = 'the node does not serve txpool_status';

  it('gives what the node says', async () => {
    const rpc = fakeRpc({ txpool_status: () => ({ pending: '0x1f4', queued: '0x0' }) });
    assert.deepEqual(await createPoolProbe({ rpc }).sample(), { pending: 500, queued: 0 });
    assert.deepEqual(rpc.calls, [{ method: 'txpool_status', params: [], purpose: 'probe' }]);
  });

  it('does not ask again a node that refused', async () => {
    const rpc = fakeRpc({
      txpool_status: () => {
        throw new RpcError('txpool_status', -32601, 'the method txpool_status does not exist');
      },
    });
    const probe = createPoolProbe({ rpc });
    for (let times = 0; times < 3; times += 1) assert.equal((await caught(() => probe.sample())).message, REFUSED);
    assert.equal(rpc.count(), 1);
  });

  for (const nonsense of [
    null,
    {},
    { pending: 1, queued: 2 },
    { pending: '0x1' },
    'none',
    { pending: '0x1', queued: '' },
  ]) {
    it(`has no reading where the node says ${JSON.stringify(nonsense)}`, async () => {
      const probe = createPoolProbe({ rpc: fakeRpc({ txpool_status: () => nonsense }) });
      assert.ok((await caught(() => probe.sample())) instanceof ProtocolError);
    });
  }
});
