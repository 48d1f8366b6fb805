import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startNullChain } from '../../scripts/bench/null-chain.js';
import { readJson, runStress, spawnStress } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** A block a tenth of a second, with so many transactions at most. */
const PER_BLOCK = 30;
const CAPACITY = 10 * PER_BLOCK;

/** As many runs as a search makes at most, each with its set-up, while others use the machine. */
const TIMEOUT_MS = 400_000;

describe('stress sweep --find rate', () => {
  /** @type {import('../../scripts/bench/null-chain.js').NullChain} */
  let chain;
  before(async () => {
    chain = await startNullChain({ blockMs: 100, perBlock: PER_BLOCK });
  });
  after(() => chain?.stop());

  it('finds what a chain of known capacity can do, within 5 %', async (t) => {
    const dir = join(temporaryFolder(t), 'search');
    // Latency grows by a second within the window only far beyond what the chain can do: that the rate is held decides.
    const { code, stdout, stderr } = await runStress(
      [
        'sweep',
        '--find=rate',
        '--until=p99<1s',
        '--rate=150..600',
        '-t150',
        '-d3s',
        '--rest=0s',
        `--rpc=${chain.url}`,
        `--dir=${dir}`,
      ],
      { timeoutMs: TIMEOUT_MS },
    );
    assert.equal(code, 0, stderr);
    const { find, end, environment } = readJson(join(dir, 'sweep.json'));
    assert.ok(Math.abs(find.estimate / CAPACITY - 1) <= 0.05, `${find.estimate} per second\n${stdout}`);
    assert.ok(find.low <= find.estimate && find.estimate <= find.high);
    assert.deepEqual([end, environment.clientVersion], ['complete', 'null-chain/1']);
    assert.ok(stdout.includes(find.words), stdout);
    /** @type {import('../../src/study/sweep-file.js').Trial[]} */
    const trials = find.trials;
    assert.ok(trials.some(({ holds }) => holds) && trials.some(({ holds }) => !holds));
    for (const { value, file, failed, holds } of trials) {
      const run = readJson(join(dir, file));
      assertRunFile(run);
      assert.equal(run.config.ratePerSecond, value);
      assert.equal(failed.length === 0, holds);
      // Twice what it can do is beyond all noise, and so is half.
      if (value >= 2 * CAPACITY || value <= CAPACITY / 2) assert.equal(holds, value < CAPACITY, `${value}: ${failed}`);
    }
  });

  it('goes on with the same command after a Ctrl-C', async (t) => {
    const dir = join(temporaryFolder(t), 'search');
    const args = ['sweep', '--find=rate', '--rate=20..40', '--until=tps>0', '-t20', '-d1s', '--rest=0s'];
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
