import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Checkpoints, Watch } from '../../../src/core/reports.js';
import { Stop } from '../../../src/core/stop.js';
import { InternalError, OutputError } from '../../../src/errors.js';
import { createFakeClock } from '../../helpers/clock.js';
import { runFileOf } from '../../helpers/samples.js';

/**
 * @import { Output } from '../../../src/contracts/output.d.ts'
 * @import { CheckpointSource } from '../../../src/core/reports.js'
 */

/** @param {() => any} describe @returns {CheckpointSource<unknown>} */
const making = (describe) => ({ ask: async () => ({}), describe });
const usual = making(runFileOf);

/** @param {{costMs?: number, keep?: (run: unknown) => void | Promise<void>}} [options] what it takes to keep one */
function setUp({ costMs = 0, keep = () => {} } = {}) {
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
    checkpoint: (run) => {
      kept.push((clock.nowUs() - startUs) / 1000);
      spentUs += costMs * 1000;
      return keep(run);
    },
  };
  const outputs = [{ ...keeper, checkpoint: undefined }, keeper];
  const warn = (/** @type {string} */ words) => void warnings.push(words);
  const checkpoints = new Checkpoints({ clock: slowClock, outputs, stop, warn });
  return { clock, stop, warnings, kept, checkpoints };
}

describe('Checkpoints', () => {
  it('the first after one second, then one every five seconds', async () => {
    const { clock, kept, checkpoints } = setUp();
    checkpoints.begin(usual);
    await clock.advance(17_000);
    assert.deepEqual(kept, [1000, 6000, 11_000, 16_000]);
    await checkpoints.stop();
    await clock.advance(60_000);
    assert.equal(kept.length, 4);
    assert.equal(clock.pending(), 0);
  });

  it('a slow checkpoint is followed by a long pause: at most 1/50 of the time', async () => {
    const { clock, kept, checkpoints } = setUp({ costMs: 200 });
    checkpoints.begin(usual);
    await clock.advance(25_000);
    assert.deepEqual(kept, [1000, 11_000, 21_000]);
    await checkpoints.stop();
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
    const broken = () => {
      throw new InternalError('conservation is broken');
    };
    for (const found of [making(broken), { ...usual, ask: async () => broken() }]) {
      const { stop, warnings, checkpoints } = setUp();
      await checkpoints.write(found);
      assert.deepEqual([stop.reason, stop.exitCodes, warnings], ['internal', [70], []]);
    }
  });

  it('waiting for workers does not delay the next checkpoint', async () => {
    const { clock, kept, checkpoints } = setUp();
    checkpoints.begin({ ask: () => clock.sleep(900), describe: () => runFileOf() });
    await clock.advance(14_000);
    assert.deepEqual(kept, [1900, 7800, 13_700]);
    await checkpoints.stop();
  });

  it('a slow disk costs no time of this thread, and writes do not overlap', async () => {
    const { clock, kept, checkpoints } = setUp({ keep: () => clock.sleep(8000) });
    checkpoints.begin(usual);
    await clock.advance(30_000);
    assert.deepEqual(kept, [1000, 14_000, 27_000]);
    void checkpoints.stop();
  });

  it('stop() waits for the current write, which would replace the final run file', async () => {
    const { clock, checkpoints } = setUp({ keep: () => clock.sleep(8000) });
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
  const node = { pid: null, metrics: null, series: null, insecure: false };
  const options = { node, rpc: null, clock: createFakeClock(), ...given };
  return { said, watch: new Watch({ ...options, warn: (words) => void said.push(words) }) };
}

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
