import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startNullChain } from '../../scripts/bench/null-chain.js';
import { readJson, runStress, spawnStress } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { NullChain } from '../../scripts/bench/null-chain.js'
 * @import { Trial } from '../../src/types.d.ts'
 */

const MOST = 330;

/** As many runs as a search makes at most, each with its set-up, while others use the machine. */
const TIMEOUT_MS = 200_000;

describe('stress sweep --find rate', () => {
  /** @type {NullChain} */
  let chain;
  before(async () => {
    chain = await startNullChain({ blockMs: 20 });
  });
  after(() => chain?.stop());

  it('finds where a condition ceases to hold, and keeps the run file of every trial', async (t) => {
    const dir = join(temporaryFolder(t), 'search');
    // So many are due within the window, whatever the machine does; of what it can do scripts/bench/studies.js asks.
    const until = ['--until', `scheduled<=${MOST / 2}`, '--until', 'tps>=0'];
    const args = ['sweep', '--find=rate', '--rate=280..400', ...until, '-t2', '-d500ms', '--rest=0s'];
    const { code, stdout, stderr } = await runStress([...args, `--rpc=${chain.url}`, `--dir=${dir}`], {
      timeoutMs: TIMEOUT_MS,
    });
    assert.equal(code, 0, stderr);
    const { find, end, environment } = readJson(join(dir, 'sweep.json'));
    assert.ok(Math.abs(find.estimate / MOST - 1) <= 0.025, `${find.estimate} per second\n${stdout}`);
    assert.ok(find.low <= MOST && MOST <= find.high && find.sharp, find.words);
    assert.deepEqual([end, environment.clientVersion], ['complete', 'null-chain/1']);
    assert.ok(stdout.includes(find.words), stdout);
    /** @type {Trial[]} */
    const trials = find.trials;
    assert.ok(trials.some(({ holds }) => holds) && trials.some(({ holds }) => !holds));
    for (const { value, file, failed, holds } of trials) {
      const run = readJson(join(dir, file));
      assertRunFile(run);
      assert.equal(run.config.ratePerSecond, value);
      assert.equal(holds, run.window.counts.scheduled <= MOST / 2);
      assert.equal(failed.length === 0, holds);
    }
  });

  it('goes on with the same command after a Ctrl-C', async (t) => {
    const dir = join(temporaryFolder(t), 'search');
    const args = ['sweep', '--find=rate', '--rate=20..40', '--until=tps>0', '-t2', '-d1s', '--rest=0s'];
    const all = [...args, `--rpc=${chain.url}`, `--dir=${dir}`];
    const first = spawnStress(all);
    await first.waitFor(/\/s +(holds|fails)/);
    first.child.kill('SIGINT');
    const { code, stdout } = await first.done;
    assert.equal(code, 130, stdout);
    assert.match(stdout, /so far, the highest rate .*\n(.*\n)*interrupted: the same command goes on from here/);
    const { find, end } = readJson(join(dir, 'sweep.json'));
    assert.deepEqual([end, find.trials.length], ['interrupted', 1]);
    const second = await runStress(all);
    assert.match(second.stdout, /^1 run is in .* already, and kept/);
    const after = readJson(join(dir, 'sweep.json'));
    assert.equal(after.end, 'complete');
    assert.deepEqual(after.find.trials[0], find.trials[0]);
  });
});
