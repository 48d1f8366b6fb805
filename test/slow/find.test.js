/** A search for the number of wallets, with a condition that holds for two and not for three. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { startNullChain } from '../../scripts/bench/null-chain.js';
import { exited, readJson } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { Trial } from '../../src/contracts/study.d.ts' */

/** As many runs as a search makes at most, each with its set-up, while others use the machine. */
const TIMEOUT_MS = 200_000;

it('sweep --find finds where a condition ceases to hold, and keeps the run file of every trial', async (t) => {
  const chain = await startNullChain({ blockMs: 20 });
  t.after(() => chain.stop());
  const dir = join(temporaryFolder(t), 'search');
  // One operation of each wallet, whatever the machine does.
  const load = ['--think-time=1m', '-d500ms', '--warmup=0s', '--rest=0s', `--rpc=${chain.url}`];
  const args = ['sweep', '--find=threads', '-t1..4', '--until=scheduled<=2', ...load, `--dir=${dir}`];
  const { stdout } = await exited(0, args, { timeoutMs: TIMEOUT_MS });
  const { find, end, environment } = readJson(join(dir, 'sweep.json'));
  assert.deepEqual([find.estimate, find.low, find.high, find.sharp], [2, 2, 2, true], find.words);
  assert.deepEqual([end, environment.clientVersion], ['complete', 'null-chain/1']);
  assert.ok(stdout.includes(find.words), stdout);
  /** @type {Trial[]} */
  const trials = find.trials;
  assert.ok(trials.some(({ holds }) => holds) && trials.some(({ holds }) => !holds));
  for (const { value, file, failed, holds } of trials) {
    const run = readJson(join(dir, file));
    assertRunFile(run);
    assert.deepEqual([run.config.threads, run.counts.scheduled], [value, value]);
    assert.equal(holds, value <= 2);
    assert.equal(failed.length === 0, holds);
  }
});
