import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { startNullChain } from '../../scripts/bench/null-chain.js';
import { exited, readJson, startStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

it('stress find says what a node can take, with its evidence, a table and a page, and goes on after a Ctrl-C', async (t) => {
  const chain = await startNullChain({ blockMs: 100, perBlock: 20 });
  t.after(() => chain.stop());
  const folder = temporaryFolder(t);
  const [dir, page] = [join(folder, 'find'), join(folder, 'page.html')];
  // Conditions that hold on any machine, at the ends of a range.
  const words = 'find -d1s --warmup=0s --rest=0s --rate=20..40 --until=tps>0 --time-limit=100s';
  const args = [...words.split(' '), `--rpc=${new URL(chain.url).host}`, `--dir=${dir}`, '--html', page];
  const first = startStress(args);
  await first.waitFor(/\/s +(holds|fails)/);
  first.child.kill('SIGINT');
  const interrupted = await first.done;
  assert.equal(interrupted.code, 130, interrupted.stdout);
  assert.match(
    interrupted.stdout,
    /^Search: interrupted, 1 run; .*\n(.*\n)* {2}verdict {3}Holds at least [23]\d(\.\d)? op\/s: no run failed\.\n(.*\n)*interrupted: run the same command again to resume/m,
  );
  const before = readJson(join(dir, 'sweep.json'));
  assert.deepEqual([before.end, before.find.trials.length], ['interrupted', 1]);

  // As many runs as a search makes at most, each with its set-up, while others use the machine.
  const { stdout } = await exited(0, args, { timeoutMs: 200_000 });
  assert.match(stdout, /^2 runs are in .* already, and kept/m);
  const { find, end } = readJson(join(dir, 'sweep.json'));
  assert.deepEqual([end, find.low, find.range], ['complete', 40, '20..40']);
  assert.deepEqual(find.trials[0], before.find.trials[0]);
  assert.match(stdout, /^search for the highest rate with tps>0 at http:\/\/[\w.]+:\d+, for 1m40s; Ctrl-C ends it/m);
  assert.match(stdout, /^Search: complete, \d+ runs; /m);
  assert.match(stdout, /^ {2}verdict {3}Holds at least 40 op\/s, the end of the range\.$/m);
  assert.match(stdout, /^ {2}rate +achieved per s +rate held % +TPS /m);
  assert.match(readFileSync(page, 'utf8'), /Search for the highest rate/);
  for (const { file } of find.trials) assert.equal(readJson(join(dir, file)).audit.exact, true);
});
