import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createNodeProbe, parseStat } from '../../../src/probes/node.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */

const NO_PROC = existsSync('/proc/self/stat') ? false : 'this system has no /proc';
const PID = 4711;

/** As Linux 6.18 writes it, with a name that looks like more fields. */
const STAT =
  '4711 (a) R 1 (b) S 1464 1464 32330 0 -1 4194304 101 0 0 0 700 55 8 9 20 0 17 0 2222842 3133440 418 18446744073709551615 94137003372544';

/**
 * @param {TestContext} t
 * @returns a /proc of our own, with one process in it and what changes it
 */
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
    writeFileSync(
      join(folder, 'status'),
      'Name:\tgeth\nVmHWM:\t  9000 kB\nVmRSS:\t  1672 kB\nThreads:\t17\nSigQ:\t0/3\n',
    );
  };
  set();
  return { proc, folder, set };
}

describe('parseStat()', () => {
  it('reads past a name with brackets and spaces', () => {
    assert.deepEqual(parseStat(STAT), { isDead: false, cpuTicks: 755, startTicks: 2222842 });
  });

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

  it('a process that ended is gone', async (t) => {
    const { proc, folder } = procFor(t);
    const probe = createNodeProbe({ pid: PID, proc });
    rmSync(folder, { recursive: true });
    await assert.rejects(async () => probe.sample(), { message: GONE });
  });

  it('so is one whose number another has now', async (t) => {
    const { proc, set } = procFor(t);
    const probe = createNodeProbe({ pid: PID, proc });
    set({ start: 2222843 });
    await assert.rejects(async () => probe.sample(), { message: GONE });
  });

  it('and one that is dead and not yet buried', async (t) => {
    const { proc, set } = procFor(t);
    const probe = createNodeProbe({ pid: PID, proc });
    set({ state: 'Z' });
    await assert.rejects(async () => probe.sample(), { message: GONE });
  });

  it('and one that was never there, whatever gets its number later', async (t) => {
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
