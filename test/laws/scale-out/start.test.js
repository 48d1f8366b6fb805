/** Instances with a clock each and a folder on the real file system. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CommonStart, LEAD_MS } from '../../../src/scale-out/start.js';
import { Stop } from '../../../src/core/stop.js';
import { IncompleteError, InterruptedError, OutputError, RefusedError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { temporaryFolder } from '../../helpers/temporary.js';

/**
 * @import { TestContext } from 'node:test'
 * @import { ByHand } from '../../helpers/clock.js'
 */

const CHAIN = { chainId: 31337, genesisHash: '0x11' };
const MIDNIGHT = Date.UTC(2026, 0, 1);

/**
 * @param {object} config
 * @param {{clock?: ReturnType<typeof createFakeClock>, aheadMs?: () => number, id?: string}} [options] aheadMs: how far its time of day is ahead
 */
function instanceOf(config, { clock = createFakeClock({ wallMs: MIDNIGHT }), aheadMs = () => 0, id } = {}) {
  const stop = new Stop();
  /** @type {string[]} */
  const notices = [];
  const all = {
    ...{ runId: 'demo', index: null, instances: null, attempt: 0, threads: 20, firstOffset: 0 },
    ...{ startAtMs: null, barrier: null, startTimeoutMs: 600_000, ...config },
  };
  const common = new CommonStart({
    id: id ?? `run file ${all.index}`,
    config: all,
    stop,
    notice: (line) => notices.push(line),
    clock: { ...clock, wallMs: () => clock.wallMs() + aheadMs() },
  });
  return { clock, stop, notices, common };
}

/**
 * Advances time until a promise is settled. Time stands still while files are accessed, however slow the disk is.
 * @template T
 * @param {ByHand} clock
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
async function turnUntil(clock, promise) {
  let isOver = false;
  const end = () => void (isOver = true);
  promise.then(end, end);
  while (!isOver) {
    for (let idle = 0; idle < 3; idle = isAccessingFiles() ? 0 : idle + 1) await clock.settle();
    await clock.advance(50);
  }
  return promise;
}

function isAccessingFiles() {
  return process.getActiveResourcesInfo().some((name) => /FSReq|CloseReq/.test(name));
}

/**
 * From the end of the set-up to the start of the load.
 * @param {ReturnType<typeof instanceOf>} instance
 * @param {{chainId: number | null, genesisHash: string | null}} [chain]
 */
async function together({ common }, chain = CHAIN) {
  await common.open();
  await common.wait(chain);
  return common.begin();
}

it('without a common start: does not wait', async () => {
  const one = instanceOf({});
  assert.equal(await together(one), null);
  assert.deepEqual(one.common.facts(), { by: null, at: null, waitedMs: null, lateMs: null });
});

describe('--start-at', () => {
  it('starts to the millisecond, after time for preparations', async () => {
    const one = instanceOf({ startAtMs: MIDNIGHT + 60_000 });
    await one.common.open();
    await turnUntil(one.clock, one.common.wait(CHAIN));
    const leftMs = MIDNIGHT + 60_000 - one.clock.wallMs();
    assert.ok(leftMs <= LEAD_MS && leftMs > LEAD_MS - 100, `${leftMs} ms are left`);
    assert.deepEqual(one.notices, ['the load starts at 2026-01-01T00:01:00.000Z, in 60.0 s']);
    const began = await turnUntil(one.clock, one.common.begin());
    assert.deepEqual([began?.wallMs, began?.words], [MIDNIGHT + 60_000, null]);
    assert.equal(began?.beginUs, 1_000_000 + 60_000_000);
    assert.deepEqual(one.common.facts(), {
      by: 'start-at',
      at: '2026-01-01T00:01:00.000Z',
      waitedMs: 60_000,
      lateMs: 0,
    });
  });

  it('a late timer does not move the start, a slow set-up does', async () => {
    for (const [lateMs, beginMs] of [
      [15, 60_000],
      [400, 60_400],
    ]) {
      const one = instanceOf({ startAtMs: MIDNIGHT + 60_000 });
      await one.common.open();
      await turnUntil(one.clock, one.common.wait(CHAIN));
      await one.clock.advance(MIDNIGHT + 60_000 + lateMs - one.clock.wallMs());
      const began = await one.common.begin();
      assert.equal(began?.beginUs, 1_000_000 + beginMs * 1000);
      assert.equal(began?.words === null, lateMs < 100);
      assert.equal(one.common.facts().lateMs, lateMs);
    }
  });

  it('more than a second late: rejected at once, or after the set-up', async () => {
    const late = instanceOf({ startAtMs: MIDNIGHT - 3200 });
    await assert.rejects(late.common.open(), {
      exitCode: 75,
      message: /^--start-at 2025-12-31T23:59:56\.800Z had passed by 3\.2 s before this instance /,
    });
    const slow = instanceOf({ startAtMs: MIDNIGHT + 1000 });
    await slow.common.open();
    await slow.clock.advance(2500);
    await assert.rejects(slow.common.wait(CHAIN), /had passed by 1\.5 s when this instance was ready/);
  });

  it('the system clock is set forward (starts at once) or back (ends by the time limit)', async () => {
    let aheadMs = 0;
    const forward = instanceOf({ startAtMs: MIDNIGHT + 60_000 }, { aheadMs: () => aheadMs });
    const meeting = together(forward);
    await forward.clock.advance(10_000);
    aheadMs = 30_000;
    const began = await turnUntil(forward.clock, meeting);
    const elapsedMs = ((began?.beginUs ?? 0) - 1_000_000) / 1000;
    assert.ok(elapsedMs >= 29_000 && elapsedMs <= 31_000, `after ${elapsedMs} ms`);

    aheadMs = 0;
    const options = { startAtMs: MIDNIGHT + 60_000, startTimeoutMs: 90_000 };
    const back = instanceOf(options, { aheadMs: () => aheadMs });
    const waiting = together(back);
    await back.clock.advance(10_000);
    aheadMs = -3_600_000;
    await assert.rejects(turnUntil(back.clock, waiting), /not reached within 90 s \(--start-timeout\): the clock of /);
  });
});

describe('--barrier', () => {
  /** @param {string} barrier @param {number} index @param {object} [more] */
  const at = (barrier, index, more = {}) => ({ barrier, index, instances: 3, ...more });

  /** With one clock and one folder. @param {TestContext} t @param {object[]} given */
  function meeting(t, ...given) {
    const folder = temporaryFolder(t);
    const clock = createFakeClock({ wallMs: MIDNIGHT });
    const all = given.map((more, i) => instanceOf(at(folder, i, { instances: given.length, ...more }), { clock }));
    return { folder, clock, all };
  }

  /** @param {ByHand} clock @param {Array<Promise<unknown>>} starts @returns {Promise<Error[]>} why each was rejected */
  async function refusalsOf(clock, starts) {
    const ends = await turnUntil(clock, Promise.allSettled(starts));
    return ends.map((end) => /** @type {PromiseRejectedResult} */ (end).reason);
  }

  it('all start at the time that index 0 publishes after the last arrival', async (t) => {
    const { folder, clock, all } = meeting(t, { index: 2 }, { index: 0 }, { index: 1 });
    const [last, ...first] = all.map((one, i) => async () => {
      if (i === 0) await clock.sleep(7000);
      return together(one);
    });
    const began = await turnUntil(clock, Promise.all([last(), ...first.map((begin) => begin())]));
    const { at: agreed, arrivals } = JSON.parse(readFileSync(join(folder, 'demo', 'start.json'), 'utf8'));
    assert.deepEqual(
      arrivals,
      [0, 1, 2].map((index) => ({ index, attempt: 0, id: `run file ${index}` })),
    );
    assert.ok(Date.parse(agreed) >= MIDNIGHT + 7000 + LEAD_MS);
    for (const one of began) {
      assert.equal(one?.wallMs, Date.parse(agreed));
      assert.equal(one?.beginUs, began[0]?.beginUs);
    }
    for (const { common } of all) assert.deepEqual([common.facts().by, common.facts().at], ['barrier', agreed]);
    assert.match(all[1].notices[0], /^waiting for [12] of 3 instances: (1\.\.)?2$/);
  });

  it('a missing instance: the others reach the time limit, name it and withdraw', async (t) => {
    const late = { instances: 3, startTimeoutMs: 100_000 };
    const { folder, clock, all } = meeting(t, late, { index: 2, ...late });
    const starts = all.map((one) => together(one));
    for (const reason of await refusalsOf(clock, starts)) {
      assert.ok(reason instanceof IncompleteError);
      assert.match(
        reason.message,
        /^the common start was not reached within 100 s \(--start-timeout\): missing: (1|0\.\.1|1\.\.2)$/,
        'who gave up first was there',
      );
    }
    assert.deepEqual(readdirSync(join(folder, 'demo')), []);
    for (const { notices } of all) assert.ok(notices.length <= 5, 'now and then, and no flood');
  });

  it('index 0 died after its arrival: the message says so', async (t) => {
    const folder = temporaryFolder(t);
    const one = instanceOf(at(folder, 1, { instances: 2, startTimeoutMs: 30_000 }));
    await one.common.open();
    writeFileSync(join(folder, 'demo', '0-0.json'), '{}');
    await assert.rejects(
      turnUntil(one.clock, one.common.wait(CHAIN)),
      /: all have arrived, but index 0 has not published the start$/,
    );
  });

  for (const [words, differing] of /** @type {Array<[string, object]>} */ ([
    ['-t 20, index 1 (HOST) has -t 30', { threads: 30 }],
    ['-o 0, index 1 (HOST) has -o 5', { firstOffset: 5 }],
    ['--instances 2, index 1 (HOST) has --instances 3', { instances: 3 }],
    ['chain 31337, index 1 (HOST) has chain 1', { chainId: 1 }],
    ['first block 0x11, index 1 (HOST) has first block 0x22', { genesisHash: '0x22' }],
  ]))
    it(`instances that differ all end with the reason: ${words}`, async (t) => {
      const { clock, all } = meeting(t, {}, differing);
      const chains = [CHAIN, { ...CHAIN, ...differing }];
      const starts = all.map((one, i) => together(one, chains[i]));
      for (const reason of await refusalsOf(clock, starts)) {
        assert.ok(reason instanceof RefusedError, String(reason));
        assert.equal(
          reason.message.replaceAll(hostname(), 'HOST'),
          `run demo: index 0 (HOST) has ${words}: all instances of a run need the same value`,
        );
      }
    });

  it('a node without its first block agrees with the others', async (t) => {
    const { clock, all } = meeting(t, {}, {});
    const starts = all.map((one, i) => together(one, i === 0 ? CHAIN : { ...CHAIN, genesisHash: null }));
    const began = await turnUntil(clock, Promise.all(starts));
    assert.equal(began[0]?.wallMs, began[1]?.wallMs);
  });

  it('of ten processes with one index one arrives, and the message says what to do', async (t) => {
    const folder = temporaryFolder(t);
    const clock = createFakeClock({ wallMs: MIDNIGHT });
    const all = Array.from({ length: 10 }, (_, i) =>
      instanceOf(at(folder, 1, { startTimeoutMs: 30_000 }), { clock, id: `process ${i}` }),
    );
    const starts = all.map((one) => together(one));
    const reasons = await refusalsOf(clock, starts);
    const refused = reasons.filter((reason) => reason instanceof RefusedError);
    assert.equal(refused.length, 9, reasons.join());
    for (const { message } of refused) {
      assert.match(message, /^index 1 of run demo has arrived already/);
      assert.match(message, /--attempt 1$/);
    }
    const again = instanceOf(at(folder, 1));
    writeFileSync(join(folder, 'demo', '1-0.json'), JSON.stringify({ host: 'a', arrivedAt: 'noon' }));
    await assert.rejects(again.common.open(), /has arrived already on a since noon: /, 'before anything is sent');
    await instanceOf(at(folder, 1, { attempt: 1 })).common.open();
  });

  it('an instance that arrives after the start is refused, before anything is sent', async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'demo'));
    writeFileSync(join(folder, 'demo', 'start.json'), '{"at":"2026-01-01T00:00:05.000Z"}');
    await assert.rejects(instanceOf(at(folder, 1)).common.open(), {
      name: 'IncompleteError',
      message: /^run demo started at 2026-01-01T00:00:05\.000Z, before this instance arrived; /,
    });
  });

  it('other files and half an arrival: index 0 waits for the whole one', async (t) => {
    const { folder, clock, all } = meeting(t, {}, { attempt: 3 });
    const [zero, one] = all;
    await zero.common.open();
    for (const name of ['.abc.tmp', 'x-1.json', '1-0.json.tmp', 'note.txt', '1-2.json'])
      writeFileSync(join(folder, 'demo', name), 'half a fi');
    const waiting = together(zero);
    waiting.catch(() => {});
    await turnUntil(clock, Promise.race([waiting, clock.sleep(3000)]));
    assert.equal(existsSync(join(folder, 'demo', 'start.json')), false);
    await turnUntil(clock, Promise.all([waiting, together(one)]));
  });

  it('many instances: not all arrivals are open files at the same time', async (t) => {
    const barrier = temporaryFolder(t);
    const one = instanceOf({ barrier, index: 0, instances: 300 });
    mkdirSync(join(barrier, 'demo'));
    for (let index = 1; index < 300; index += 1) {
      const arrival = { id: `${index}`, index, attempt: 0, instances: 300, threads: 20, firstOffset: 0, ...CHAIN };
      writeFileSync(join(barrier, 'demo', `${index}-0.json`), JSON.stringify(arrival));
    }
    let most = 0;
    const watch = setInterval(() => {
      const open = process.getActiveResourcesInfo().filter((name) => name.startsWith('FSReq'));
      most = Math.max(most, open.length);
    });
    await turnUntil(one.clock, together(one)).finally(() => clearInterval(watch));
    assert.ok(most <= 100, `${most} at the same time`);
  });

  it('a folder that cannot be created, or is a file, is found before anything is sent', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'demo'), 'a file');
    for (const barrier of [folder, '/proc/missing/folder'])
      await assert.rejects(instanceOf(at(barrier, 0)).common.open(), OutputError);
  });

  it('an index started again: the later attempt takes part, the earlier one ends', async (t) => {
    const folder = temporaryFolder(t);
    const clock = createFakeClock({ wallMs: MIDNIGHT });
    const two = { instances: 2 };
    const all = [at(folder, 1, two), at(folder, 1, { ...two, attempt: 1 })].map((one) => instanceOf(one, { clock }));
    const settled = Promise.allSettled(all.map((one) => together(one)));
    await turnUntil(clock, Promise.race([settled, clock.sleep(2000)]));
    const zero = together(instanceOf(at(folder, 0, two), { clock }));
    const [earlier, later] = await turnUntil(clock, settled);
    await turnUntil(clock, zero);
    const { reason } = /** @type {PromiseRejectedResult} */ (earlier);
    assert.equal(reason.message, 'index 1 was started again as attempt 1; this attempt 0 ends');
    assert.equal(later.status, 'fulfilled');
    const { arrivals } = JSON.parse(readFileSync(join(folder, 'demo', 'start.json'), 'utf8'));
    assert.deepEqual(arrivals[1], { index: 1, attempt: 1, id: 'run file 1' });
  });

  it('an instance that leaves and returns with other settings: no instance starts', async (t) => {
    const three = { instances: 3 };
    const places = [three, three, { ...three, index: 1, threads: 30 }, { ...three, index: 2 }];
    const { clock, all } = meeting(t, ...places);
    const [zero, left, back, two] = all;
    const leaving = together(left);
    leaving.catch(() => {});
    const begun = together(zero);
    begun.catch(() => {});
    // Index 0 has read its arrival.
    await turnUntil(clock, Promise.race([begun, clock.sleep(3000)]));
    left.stop.request('interrupted', 130);
    await assert.rejects(turnUntil(clock, leaving), InterruptedError);
    for (const reason of await refusalsOf(clock, [begun, together(back), together(two)])) {
      assert.ok(reason instanceof RefusedError, String(reason));
      assert.match(reason.message, /^run demo: index 0 \(.+\) has -t 20, index 1 \(.+\) has -t 30: /);
    }
  });

  const taking = { index: 1, attempt: 0, id: 'run file 1' };
  for (const [name, text, words] of /** @type {Array<[string, string, RegExp]>} */ ([
    [
      'no arrivals',
      JSON.stringify({ at: '2026-01-01T00:00:09.000Z', arrivals: [] }),
      /without this instance .*: no process /,
    ],
    [
      'another process under its name',
      JSON.stringify({ at: '2026-01-01T00:00:09.000Z', arrivals: [{ ...taking, id: 'x' }] }),
      /without this instance \(index 1, attempt 0\): another one takes part with this index$/,
    ],
    ['half a start', '{"at": "2026-', /within 30 s \(--start-timeout\): start\.json exists, but cannot be read$/],
  ]))
    it(`rejects start.json: ${name}`, async (t) => {
      const folder = temporaryFolder(t);
      const one = instanceOf(at(folder, 1, { instances: 2, startTimeoutMs: 30_000 }));
      await one.common.open();
      writeFileSync(join(folder, 'demo', 'start.json'), text);
      await assert.rejects(turnUntil(one.clock, one.common.wait(CHAIN)), { name: 'IncompleteError', message: words });
      assert.deepEqual(readdirSync(join(folder, 'demo')), ['start.json']);
    });

  it('an interruption ends the wait and withdraws the arrival', async (t) => {
    const folder = temporaryFolder(t);
    const one = instanceOf(at(folder, 1));
    const waiting = together(one);
    waiting.catch(() => {});
    await turnUntil(one.clock, Promise.race([waiting, one.clock.sleep(3000)]));
    assert.deepEqual(readdirSync(join(folder, 'demo')), ['1-0.json']);
    one.stop.request('terminated', 143);
    await assert.rejects(turnUntil(one.clock, waiting), {
      name: 'InterruptedError',
      message: 'interrupted while waiting for the common start',
      exitCode: 143,
    });
    assert.deepEqual(readdirSync(join(folder, 'demo')), []);
  });

  it('clocks that differ by 15 s: all start together, or at once with a warning', async (t) => {
    for (const [aheadMs, words] of /** @type {Array<[number, RegExp]>} */ ([
      [-15_000, /^the clock of this machine is 1[45]\.\d s behind that of index 0: /],
      [15_000, /^the load started [45]\.\d s after the common start: /],
    ])) {
      const folder = temporaryFolder(t);
      const clock = createFakeClock({ wallMs: MIDNIGHT });
      const zero = instanceOf(at(folder, 0, { instances: 2 }), { clock });
      const one = instanceOf(at(folder, 1, { instances: 2 }), { clock, aheadMs: () => aheadMs });
      const [first, second] = await turnUntil(clock, Promise.all([zero, one].map((each) => together(each))));
      const apartMs = Math.abs((first?.beginUs ?? 0) - (second?.beginUs ?? 0)) / 1000;
      assert.ok(apartMs <= (aheadMs < 0 ? 1000 : LEAD_MS), `${apartMs} ms apart`);
      assert.match(second?.words ?? '', words);
      assert.equal(first?.words, null);
    }
  });
});
