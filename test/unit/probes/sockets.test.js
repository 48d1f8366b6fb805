import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createSocketsProbe } from '../../../src/probes/sockets.js';
import { socketWarnings } from '../../../src/stats/figures.js';
import { caught } from '../../helpers/caught.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/**
 * @import { AddressInfo } from 'node:net'
 * @import { TestContext } from 'node:test'
 */

const NO_PROC = existsSync('/proc/net/tcp') ? false : 'this system has no /proc/net/tcp';

/** @param {TestContext} t @param {Parameters<typeof createSocketsProbe>[0]} options */
function probeFor(t, options) {
  const probe = createSocketsProbe(options);
  t.after(() => probe.close());
  return probe;
}

/** A /proc of our own. @param {TestContext} t @param {Record<string, string>} tables by name */
function procWith(t, tables) {
  const proc = temporaryFolder(t);
  for (const folder of ['net', 'sys/net/ipv4']) mkdirSync(join(proc, folder), { recursive: true });
  writeFileSync(join(proc, 'sys/net/ipv4/ip_local_port_range'), '1000\t1999\n');
  for (const [name, text] of Object.entries(tables)) writeFileSync(join(proc, 'net', name), text);
  return proc;
}

describe('sockets of this machine', { skip: NO_PROC }, () => {
  it('a connection is a port in use; when we close it first it waits, and the port is still not free', async (t) => {
    const server = createServer((socket) => socket.on('end', () => socket.end()).resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = /** @type {AddressInfo} */ (server.address());
    const probe = probeFor(t, { urls: [new URL(`http://127.0.0.1:${port}`), new URL(`http://localhost:${port}/x`)] });

    const before = await probe.sample();
    assert.deepEqual(
      before.endpoints.map(({ endpoint, portsInUse }) => [endpoint, portsInUse]),
      [
        [`127.0.0.1:${port}`, 0],
        [`localhost:${port}`, 0],
      ],
    );
    assert.equal(before.endpoints[0].portsLeft, before.range.ports);
    assert.equal(before.range.ports, before.range.to - before.range.from + 1);

    const sockets = [0, 1, 2].map(() => connect(port, '127.0.0.1').resume());
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    const during = await probe.sample();
    for (const { portsInUse, portsLeft, timeWait } of during.endpoints)
      assert.deepEqual([portsInUse, portsLeft, timeWait], [3, during.range.ports - 3, 0]);

    sockets[0].end();
    await once(sockets[0], 'close');
    const after = await probe.sample();
    for (const { portsInUse, timeWait } of after.endpoints) assert.deepEqual([portsInUse, timeWait], [3, 1]);
    assert.ok(after.timeWait >= 1);
    for (const socket of sockets) socket.destroy();
  });
});

/** As Linux 6.18 writes it; the lines of IPv4 are padded to 150 bytes. */
const TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     
   0: 0100007F:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7284674 2 000000006fc29d9e 100 0 0 10 0                   
   1: 0100007F:8000 0100007F:2328 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
   2: 0100007F:8001 0100007F:2328 01 00000000:00000000 00:00000000 00000000     0        0 7284675 1 000000006fc29d9f 20 4 30 10 -1                  
   3: 0100007F:2328 0100007F:8001 01 00000000:00000000 00:00000000 00000000     0        0 7284676 1 000000006fc29da0 20 4 30 10 -1                  
   4: 0100007F:2328 0100007F:8002 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10000: 0200007F:8001 0100007F:2328 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10001: 0100007F:EE47 0100007F:2328 04 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10002: 0100007F:EE48 0100007F:2328 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10003: 0100007F:7FFF 0100007F:2328 01 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10004: 0100007F:8010 0100007F:2329 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10005: 0100007F:8011 0200007F:2328 01 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
`;

const TCP6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:2328 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0000000000000000FFFF00000100007F:8020 0000000000000000FFFF00000100007F:2328 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 30 10 -1
   2: 00000000000000000000000001000000:8021 00000000000000000000000001000000:2328 06 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 30 10 -1
   3: B80D0120000000000000000001000000:8022 B80D0120000000000000000002000000:2328 02 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 30 10 -1
`;

const ONLY_LE = endianness() === 'LE' ? false : 'the captured tables are those of a little endian machine';

describe('createSocketsProbe()', () => {
  const LINE = '0100007F:0400 0100007F:0050 06 0:0 0:0 0 0 0 0';

  it('reads both tables, in pieces, and the range', async (t) => {
    // More than two pieces of 64 KB, and no line that may be lost.
    const tcp = Array.from({ length: 1000 }, (_, i) => {
      const port = (1000 + i).toString(16).toUpperCase().padStart(4, '0');
      return `${i}: 0100007F:${port} 0100007F:0050 06 00000000:00000000 00:0 0 0`.padEnd(149).concat('\n');
    }).join('');
    const proc = procWith(t, { tcp, tcp6: '' });
    const probe = probeFor(t, { urls: [new URL('http://127.0.0.1')], proc });
    assert.deepEqual(await probe.sample(), {
      timeWait: 1000,
      range: { from: 1000, to: 1999, ports: 1000 },
      endpoints: [{ endpoint: '127.0.0.1:80', timeWait: 1000, portsInUse: 1000, portsLeft: 0 }],
    });
  });

  it('counts the sockets of each endpoint over IPv4 and IPv6', { skip: ONLY_LE }, async (t) => {
    const proc = procWith(t, { tcp: TCP, tcp6: TCP6 });
    writeFileSync(join(proc, 'sys/net/ipv4/ip_local_port_range'), '32768\t60999\n');
    const urls = ['localhost', '127.0.0.1', '[2001:db8::2]', '10.0.0.1'].map((host) => new URL(`http://${host}:9000`));
    // The ports EE48 and 7FFF are outside of the range.
    assert.deepEqual(await probeFor(t, { urls, proc }).sample(), {
      timeWait: 6,
      range: { from: 32768, to: 60999, ports: 28232 },
      endpoints: [
        { endpoint: 'localhost:9000', timeWait: 4, portsInUse: 5, portsLeft: 28227 },
        { endpoint: '127.0.0.1:9000', timeWait: 3, portsInUse: 4, portsLeft: 28228 },
        { endpoint: '[2001:db8::2]:9000', timeWait: 0, portsInUse: 1, portsLeft: 28231 },
        { endpoint: '10.0.0.1:9000', timeWait: 0, portsInUse: 0, portsLeft: 28232 },
      ],
    });
  });

  it('ignores lines of another form', async (t) => {
    const tcp = '\n:\n::\n  1: \n  1: 0100007F:8000 0100007F:2328 0\nnothing at all\n';
    assert.equal((await probeFor(t, { urls: [], proc: procWith(t, { tcp }) }).sample()).timeWait, 0);
  });

  it('a system without IPv6 has one table only', async (t) => {
    const probe = probeFor(t, { urls: [], proc: procWith(t, { tcp: `1: ${LINE}\n` }) });
    assert.equal((await probe.sample()).timeWait, 1);
  });

  it('one without /proc has no figures, and says so each time', async (t) => {
    const probe = probeFor(t, { urls: [new URL('http://127.0.0.1:1')], proc: join(temporaryFolder(t), 'none') });
    for (let times = 0; times < 2; times += 1)
      assert.equal(
        (await caught(() => probe.sample())).message,
        'socket figures need /proc, which this system does not have',
      );
  });

  it('knows the ports of the schemes, brackets, and an endpoint that is named twice', async (t) => {
    const urls = [
      'https://127.0.0.1',
      'wss://127.0.0.1/ws',
      'http://[::1]',
      'ws://127.0.0.1:7/a',
      'http://127.0.0.1:7',
    ];
    const probe = probeFor(t, { urls: urls.map((url) => new URL(url)), proc: procWith(t, { tcp: '' }) });
    assert.deepEqual(
      (await probe.sample()).endpoints.map(({ endpoint }) => endpoint),
      ['127.0.0.1:443', '[::1]:80', '127.0.0.1:7'],
    );
  });

  it('a host that is not found is the reason, in one line', async (t) => {
    const probe = probeFor(t, { urls: [new URL('http://nobody.invalid')], proc: procWith(t, { tcp: '' }) });
    assert.match(
      (await caught(() => probe.sample())).message,
      /^the address of nobody\.invalid was not found \(\w+\)$/,
    );
  });

  it('who asks twice at once gets one answer', async (t) => {
    const probe = probeFor(t, { urls: [], proc: procWith(t, { tcp: `1: ${LINE}\n` }) });
    const [a, b] = await Promise.all([probe.sample(), probe.sample()]);
    assert.equal(a, b);
    assert.notEqual(await probe.sample(), a);
  });

  it('closed while it is asked, and afterwards, it has no reading', async (t) => {
    const probe = probeFor(t, { urls: [], proc: procWith(t, { tcp: '' }) });
    const asked = caught(() => probe.sample());
    // The question is on its way now, and the thread is still starting.
    await new Promise((resolve) => void setImmediate(resolve));
    probe.close();
    assert.equal((await asked).message, 'the probe is closed');
    assert.equal((await caught(() => probe.sample())).message, 'the probe is closed');
  });
});

describe('socketWarnings()', () => {
  const range = { from: 1, to: 1000, ports: 1000 };
  /** @param {Array<{timeWait?: number, portsInUse?: number}>} endpoints @param {number} [timeWait] of the machine */
  const reading = (endpoints, timeWait = 0) => ({
    timeWait,
    range,
    endpoints: endpoints.map(({ timeWait: own = 0, portsInUse = 0 }, i) => ({
      endpoint: `h:${i}`,
      timeWait: own,
      portsInUse,
      portsLeft: 1000 - portsInUse,
    })),
  });

  it('says nothing below its limits', () =>
    assert.deepEqual(socketWarnings(reading([{ timeWait: 9999, portsInUse: 599 }, {}])), []));

  it('says nothing of sockets towards anything else', () =>
    assert.deepEqual(socketWarnings(reading([{}], 60_000)), []));

  it('warns from 10,000 sockets in TIME_WAIT towards an endpoint', () => {
    const [warning, ...others] = socketWarnings(reading([{}, { timeWait: 10_000 }]));
    assert.match(warning, /^10000 sockets towards h:1 are in TIME_WAIT: [^\n]+$/);
    assert.deepEqual(others, []);
  });

  it('warns from 60 % of the range towards an endpoint, for each of them', () => {
    const warnings = socketWarnings(reading([{ portsInUse: 600 }, { portsInUse: 599 }, { portsInUse: 1000 }]));
    assert.equal(warnings.length, 2);
    assert.match(warnings[0], /^600 of 1000 ephemeral ports towards h:0 are in use, 400 are left: [^\n]+$/);
    assert.match(warnings[1], /towards h:2 are in use, 0 are left/);
  });
});
