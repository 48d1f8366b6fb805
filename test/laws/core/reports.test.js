import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Checkpoints, Watch } from '../../../src/core/reports.js';
import { Stop } from '../../../src/core/stop.js';
import { InternalError, OutputError } from '../../../src/errors.js';
import { openPages } from '../../../src/node-page.js';
import { createFakeClock } from '../../helpers/clock.js';
import { IDLE_MACHINE } from '../../simulation/platform.js';
import { fails } from '../../helpers/fake-rpc.js';
import { runFileOf } from '../../helpers/samples.js';

/**
 * @import { Output } from '../../../src/contracts/output.d.ts'
 * @import { CheckpointSource } from '../../../src/core/reports.js'
 */

/** @param {() => any} describe @returns {CheckpointSource<unknown>} */
const making = (describe) => ({ ask: async () => ({}), describe });
const usual = making(runFileOf);

/** @param {{costMs?: number, diskMs?: number, keep?: () => void}} [options] costMs: of this thread, diskMs: of a write */
function setUp({ costMs = 0, diskMs = 0, keep = () => {} } = {}) {
  const clock = createFakeClock();
  const stop = new Stop();
  /** @type {string[]} */
  const warnings = [];
  /** @type {number[]} when one was kept, in milliseconds */
  const kept = [];
  const startUs = clock.nowUs();
  let spentUs = 0;
  const slowClock = { ...clock, nowUs: () => clock.nowUs() + spentUs };
  /** @type {Output} */
  const keeper = {
    checkpoint: () => {
      kept.push((clock.nowUs() - startUs) / 1000);
      spentUs += costMs * 1000;
      keep();
      return diskMs === 0 ? undefined : clock.sleep(diskMs);
    },
  };
  const outputs = [{ ...keeper, checkpoint: undefined }, keeper];
  const warn = (/** @type {string} */ words) => void warnings.push(words);
  const checkpoints = new Checkpoints({ clock: slowClock, outputs, stop, warn });
  return { clock, stop, warnings, kept, checkpoints };
}

describe('Checkpoints', () => {
  /** @type {Array<[string, Parameters<typeof setUp>[0], number, number, number[]]>} until when, how long asking takes, when one was kept */
  const table = [
    ['the first after one second, then one every five seconds', {}, 17_000, 0, [1000, 6000, 11_000, 16_000]],
    ['a slow one is followed by a pause: at most 1/50 of the time', { costMs: 200 }, 25_000, 0, [1000, 11_000, 21_000]],
    ['waiting for workers does not delay the next one', {}, 14_000, 900, [1900, 7800, 13_700]],
    ['a slow disk costs no time here, and writes do not overlap', { diskMs: 8000 }, 30_000, 0, [1000, 14_000, 27_000]],
  ];
  for (const [name, options, untilMs, askMs, expected] of table)
    it(name, async () => {
      const { clock, kept, checkpoints } = setUp(options);
      checkpoints.begin({ ...usual, ask: () => clock.sleep(askMs) });
      await clock.advance(untilMs);
      assert.deepEqual(kept, expected);
      const stopped = checkpoints.stop();
      await clock.advance(60_000);
      await stopped;
      assert.deepEqual([kept.length, clock.pending()], [expected.length, 0]);
    });

  it('a full disk gives one warning and no end of the run', async () => {
    let isFull = true;
    const keep = () => {
      if (isFull) throw new OutputError('cannot write run.json: the disk is full');
    };
    const { clock, stop, kept, warnings, checkpoints } = setUp({ keep });
    checkpoints.begin(usual);
    await clock.advance(12_000);
    isFull = false;
    await clock.advance(5000);
    assert.equal(kept.length, 4);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /^cannot write run\.json: the disk is full; the run continues/);
    assert.equal(stop.reason, null);
    await checkpoints.stop();
  });

  it('a violated law ends the run', async () => {
    const broken = fails(new InternalError('conservation is broken'));
    for (const found of [making(broken), { ...usual, ask: async () => broken() }]) {
      const { stop, warnings, checkpoints } = setUp();
      await checkpoints.write(found);
      assert.deepEqual([stop.reason, stop.exitCodes, warnings], ['internal', [70], []]);
    }
  });

  it('stop() waits for the current write, which would replace the final run file', async () => {
    const { clock, checkpoints } = setUp({ diskMs: 8000 });
    checkpoints.begin(usual);
    await clock.advance(2000);
    let isStopped = false;
    const stopped = checkpoints.stop().then(() => (isStopped = true));
    await clock.advance(6000);
    assert.equal(isStopped, false);
    await clock.advance(1000);
    await stopped;
    assert.equal(clock.pending(), 0);
  });

  it('state that arrives after stop() is not written', async () => {
    const { clock, kept, checkpoints } = setUp();
    checkpoints.begin({ ask: () => clock.sleep(900), describe: () => runFileOf() });
    await clock.advance(1500);
    await checkpoints.stop();
    await clock.advance(60_000);
    assert.deepEqual(kept, []);
    assert.equal(clock.pending(), 0);
  });
});

/** @param {Partial<ConstructorParameters<typeof Watch>[0]>} [given] */
function watchOf(given) {
  /** @type {string[]} */
  const said = [];
  const node = { pid: null, metrics: [], series: null, insecure: false };
  const options = { node, rpc: null, clock: createFakeClock(), openPages, probes: IDLE_MACHINE, ...given };
  return { said, watch: new Watch({ ...options, warn: (words) => void said.push(words) }) };
}

it(
  'Watch: the first reading of the node has nothing of the set-up',
  { skip: !existsSync('/proc/self/stat') },
  async () => {
    const node = { pid: process.pid, metrics: [], series: null, insecure: false };
    const { watch } = watchOf({ node });
    const before = process.cpuUsage();
    while (process.cpuUsage(before).user < 200_000);
    watch.begin();
    const readings = await watch.sample(null, /** @type {any} */ ({ requests: 0, connectionsOpened: 0 }));
    watch.close();
    assert.ok((readings.node?.cpuUs ?? Infinity) < 100_000, `${readings.node?.cpuUs} us`);
  },
);

describe('Watch: warnings', () => {
  it('warnOnce() warns once per kind', () => {
    const { said, watch } = watchOf();
    for (const seconds of [31, 32, 33]) watch.warnOnce('still', `no block for ${seconds} s`);
    assert.deepEqual([said, watch.warnings], [['no block for 31 s'], ['no block for 31 s']]);
  });

  it('many of one kind leave room for others', () => {
    const { said, watch } = watchOf();
    for (let i = 0; i < 1000; i += 1) watch.warnOf('reorg', `reorg ${i}`);
    watch.warnOnce('still', 'no block');
    for (let i = 0; i < 7; i += 1) watch.warnOf('other', `other ${i}`);
    watch.warnOf('reorg', 'the last reorg');
    assert.ok(said.includes('no block') && said.includes('other 4'));
    assert.deepEqual(watch.warnings.slice(5), [
      'and 996 more of this kind, the last of them: the last reorg',
      ...['no block', 'other 0', 'other 1', 'other 2', 'other 3', 'other 4'],
      'and 2 more of this kind, the last of them: other 6',
    ]);
  });
});
