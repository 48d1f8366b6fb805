/** The probes that are a few lines each. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ProtocolError, RpcError } from '../../../src/errors.js';
import { createConnectionsProbe, createPoolProbe, createSocketsProbe } from '../../../src/probes/index.js';
import { createNodeProbe, parseStat } from '../../../src/probes/node.js';
import { createLoopProbe, createSelfProbe, createStopProbe } from '../../../src/probes/process.js';
import { socketWarnings } from '../../../src/stats/figures.js';
import { caught } from '../../helpers/caught.js';
import { fails, fakeRpc } from '../../helpers/fake-rpc.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

it('createSelfProbe(): gives the CPU time since the last sample', () => {
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
    rmSync(join(proc, 'net/sockstat'));
    assert.throws(() => createSocketsProbe({ proc }).sample(), { message: /^[^\n]{5,300}$/ });
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
    const says = /^the sockets of this machine may use 600 of 1,000 .* 400 left: [^\n]+$/;
    assert.match(warningsOf(600).join('\n'), says);
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
      txpool_status: fails(new RpcError('txpool_status', -32601, 'the method txpool_status does not exist')),
    });
    const probe = createPoolProbe({ rpc });
    for (let times = 0; times < 3; times += 1) assert.equal((await caught(() => probe.sample())).message, REFUSED);
    assert.equal(rpc.count(), 1);
  });

  const NONSENSE = [null, {}, { pending: -1, queued: 2 }, { pending: '0x1' }, 'none', { pending: '0x1', queued: '' }];
  for (const nonsense of NONSENSE) {
    it(`has no reading where the node says ${JSON.stringify(nonsense)}`, async () => {
      const probe = createPoolProbe({ rpc: fakeRpc({ txpool_status: () => nonsense }) });
      assert.ok((await caught(() => probe.sample())) instanceof ProtocolError);
    });
  }
});

const BLOCKED_MS = 80;

/** @param {number} ms */
function block(ms) {
  const startMs = performance.now();
  while (performance.now() - startMs < ms);
}

/** Another thread may have the core for a while: upper bounds are generous. @param {TestContext} t */
function probeFor(t) {
  const probe = createLoopProbe();
  t.after(() => [1, 2].forEach(() => probe.close()));
  return probe;
}

/** A turn of the loop. @returns {Promise<void>} */
const turn = () => new Promise((resolve) => void setImmediate(resolve));

describe('createLoopProbe()', () => {
  it('sees a stall that has just ended, before any timer could fire', async (t) => {
    // Since Node.js 22 the use of the loop counts from its first turn.
    await turn();
    const probe = probeFor(t);
    block(BLOCKED_MS);
    const { delayMaxUs, delayMeanUs, delayP99Us, utilization } = probe.sample();
    for (const delayUs of [delayMaxUs, delayMeanUs, delayP99Us]) {
      assert.ok(delayUs >= (BLOCKED_MS - 11) * 1000, `${delayUs}`);
      assert.ok(delayUs < (BLOCKED_MS + 2000) * 1000, `${delayUs}`);
    }
    assert.ok(utilization > 0.9 && utilization <= 1, `${utilization}`);
  });

  it('counts each stall once, also one that begins right behind a sample', async (t) => {
    const probe = probeFor(t);
    block(BLOCKED_MS);
    probe.sample();
    await turn();
    assert.ok(probe.sample().delayMaxUs < (BLOCKED_MS - 20) * 1000);
    block(BLOCKED_MS);
    await turn();
    assert.ok(probe.sample().delayMaxUs >= (BLOCKED_MS - 11) * 1000);
  });

  it('adds up the time in garbage collection, and begins again', async (t) => {
    const probe = probeFor(t);
    const kept = [];
    for (let i = 0; i < 300_000; i += 1) kept.push({ i });
    await turn();
    await turn();
    const { gcUs } = probe.sample();
    assert.ok(gcUs > 100 && gcUs < 10_000_000, `${gcUs}`);
    assert.ok(probe.sample().gcUs < gcUs);
  });
});

const NO_PROC = existsSync('/proc/self/stat') ? false : 'this system has no /proc';
const PID = 4711;

/** As Linux 6.18 writes it, with a name that looks like more fields. */
const STAT =
  '4711 (a) R 1 (b) S 1464 1464 32330 0 -1 4194304 101 0 0 0 700 55 8 9 20 0 17 0 2222842 3133440 418 18446744073709551615 94137003372544';

/** @param {TestContext} t @returns a /proc of our own, with one process in it and what changes it */
function procFor(t) {
  const proc = temporaryFolder(t);
  const folder = join(proc, String(PID));
  for (const name of ['self', `${PID}`]) mkdirSync(join(proc, name), { recursive: true });
  writeFileSync(join(proc, 'self/stat'), '');
  /** @param {{user?: number, system?: number, start?: number, state?: string}} [given] in ticks */
  const set = ({ user = 700, system = 55, start = 2222842, state = 'S' } = {}) => {
    const text = STAT.replace(' 700 55 ', ` ${user} ${system} `)
      .replace('2222842', `${start}`)
      .replace(') S ', `) ${state} `);
    writeFileSync(join(folder, 'stat'), text);
    const status = 'Name:\tgeth\nVmHWM:\t  9000 kB\nVmRSS:\t  1672 kB\nThreads:\t17\nSigQ:\t0/3\n';
    writeFileSync(join(folder, 'status'), status);
  };
  set();
  return { proc, folder, set };
}

describe('parseStat()', () => {
  it('reads past a name with brackets and spaces', () =>
    assert.deepEqual(parseStat(STAT), { isDead: false, cpuTicks: 755, startTicks: 2222842 }));

  it('refuses what is none', () => {
    for (const text of ['', '1', '1 (a) S 1 2', '1 (a) S '.concat('x '.repeat(40))])
      assert.throws(() => parseStat(text), /not the stat of a process/);
  });
});

describe('createNodeProbe()', () => {
  it('gives CPU time since the last sample, and memory and threads now', async (t) => {
    const { proc, set } = procFor(t);
    const probe = createNodeProbe({ pid: PID, proc });
    set({ user: 705, system: 57 });
    assert.deepEqual(await probe.sample(), { cpuUs: 70_000, rssBytes: 1672 * 1024, threads: 17 });
    assert.deepEqual(await probe.sample(), { cpuUs: 0, rssBytes: 1672 * 1024, threads: 17 });
  });

  const GONE = `process ${PID} is gone`;

  /** What becomes of the process. @type {Array<[string, (given: ReturnType<typeof procFor>) => void]>} */
  const ends = [
    ['that ended', ({ folder }) => rmSync(folder, { recursive: true })],
    ['whose number another has now', ({ set }) => set({ start: 2222843 })],
    ['that is dead and not yet buried', ({ set }) => set({ state: 'Z' })],
  ];
  for (const [what, end] of ends)
    it(`one ${what} is gone`, async (t) => {
      const given = procFor(t);
      const probe = createNodeProbe({ pid: PID, proc: given.proc });
      end(given);
      await assert.rejects(async () => probe.sample(), { message: GONE });
    });

  it('so is one that was never there, whatever gets its number later', async (t) => {
    const { proc, set, folder } = procFor(t);
    rmSync(join(folder, 'stat'));
    const probe = createNodeProbe({ pid: PID, proc });
    await assert.rejects(async () => probe.sample(), { message: GONE });
    set();
    await assert.rejects(async () => probe.sample(), { message: GONE });
  });

  it('a system without /proc is another reason', async (t) => {
    const probe = createNodeProbe({ pid: PID, proc: join(temporaryFolder(t), 'none') });
    await assert.rejects(async () => probe.sample(), { message: 'figures of a process need /proc, which is not here' });
  });
});

describe('a process of this machine', { skip: NO_PROC }, () => {
  it('this one', async () => {
    const probe = createNodeProbe({ pid: process.pid });
    const before = process.cpuUsage();
    const startMs = performance.now();
    while (performance.now() - startMs < 60);
    const used = process.cpuUsage(before);
    const { cpuUs, rssBytes, threads } = await probe.sample();
    // Ticks of 10 ms, cut off for user and system each.
    assert.ok(Math.abs(cpuUs - used.user - used.system) <= 40_000, `${cpuUs} and ${used.user + used.system}`);
    const ratio = rssBytes / process.memoryUsage.rss();
    assert.ok(ratio > 0.8 && ratio < 1.25, `${ratio}`);
    const status = readFileSync('/proc/self/status', 'latin1');
    assert.equal(threads, Number(/^Threads:\s*(\d+)/m.exec(status)?.[1]));
  });

  it('one that ends', async () => {
    const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
    await once(child, 'spawn');
    const pid = /** @type {number} */ (child.pid);
    const probe = createNodeProbe({ pid });
    assert.ok((await probe.sample()).threads >= 1);
    child.stdin?.end();
    await once(child, 'exit');
    await assert.rejects(async () => probe.sample(), { message: `process ${pid} is gone` });
  });
});

describe('createStopProbe()', () => {
  /** A process whose clock goes on by 10 s. @param {{cpuUs?: number, waitedUs?: number, us?: number}} given what it used in it */
  const stopsOf = ({ cpuUs = 0, waitedUs = 0, us = 1e7 }) => {
    const now = { atUs: 5e6, cpuUs: 1e6, waitedUs: 0 };
    const probe = createStopProbe({ nowUs: () => now.atUs, used: () => now });
    probe.sample();
    Object.assign(now, { atUs: now.atUs + us, cpuUs: now.cpuUs + cpuUs, waitedUs });
    const stops = probe.sample();
    assert.deepEqual(probe.sample(), [], 'each once');
    probe.close();
    return stops;
  };

  it('a clock that goes on without CPU time is a stop', () =>
    assert.deepEqual(stopsOf({ cpuUs: 2e5 }), [{ fromUs: 5e6, toUs: 1.5e7 }]));

  for (const [name, given] of Object.entries({
    'an event loop that is blocked by its work': { cpuUs: 9e6 },
    'a thread that waits for a CPU': { cpuUs: 1e5, waitedUs: 9e6 },
    'a pause of cpulimit': { us: 3e5 },
  }))
    it(`${name} is none`, () => assert.deepEqual(stopsOf(given), []));

  it('what was idle before is no part of it: half its work and half a wait are none', () => {
    const now = { atUs: 5e6, cpuUs: 1e6, waitedUs: 0 };
    const probe = createStopProbe({ nowUs: () => now.atUs, used: () => now });
    for (let looks = 0; looks < 4; looks += 1) {
      now.atUs += 1e5;
      probe.sample();
    }
    Object.assign(now, { atUs: now.atUs + 1.2e6, cpuUs: now.cpuUs + 4e5, waitedUs: 4e5 });
    assert.deepEqual(probe.sample(), []);
    probe.close();
  });
});
