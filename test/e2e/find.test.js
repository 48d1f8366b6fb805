import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startNullChain } from '../../scripts/bench/null-chain.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { NullChain } from '../../scripts/bench/null-chain.js'
 */

/** As many runs as a search makes at most, each with its set-up, while others use the machine. */
const TIMEOUT_MS = 200_000;

describe('stress sweep --find', () => {
  /** @type {NullChain} */
  let chain;
  before(async () => {
    chain = await startNullChain({ blockMs: 20 });
  });
  after(() => chain?.stop());

  it('goes on with the same command after a Ctrl-C', async (t) => {
    const dir = join(temporaryFolder(t), 'search');
    const args = ['sweep', '--find=rate', '--rate=20..40', '--until=tps>0', '-t2', '-d1s', '--warmup=0s', '--rest=0s'];
    const all = [...args, `--rpc=${chain.url}`, `--dir=${dir}`];
    const first = startStress(all);
    await first.waitFor(/\/s +(holds|fails)/);
    first.child.kill('SIGINT');
    const { code, stdout } = await first.done;
    assert.equal(code, 130, stdout);
    assert.match(stdout, /so far, .*\n(.*\n)*interrupted: the same command goes on from here/);
    const { find, end } = readJson(join(dir, 'sweep.json'));
    assert.deepEqual([end, find.trials.length], ['interrupted', 1]);
    const second = await runStress(all);
    assert.match(second.stdout, /^1 run is in .* already, and kept/m);
    const after = readJson(join(dir, 'sweep.json'));
    assert.equal(after.end, 'complete');
    assert.deepEqual(after.find.trials[0], find.trials[0]);
  });
});

describe('stress find', () => {
  it('says what a node can take, with its evidence, a table and a page', async (t) => {
    const chain = await startNullChain({ blockMs: 100, perBlock: 20 });
    t.after(() => chain.stop());
    const folder = temporaryFolder(t);
    const dir = join(folder, 'find');
    // Conditions that hold on any machine, at the ends of a range.
    const limits = ['-d1s', '--warmup=0s', '--rest=0s', '--rate=20..40', '--until=tps>0', '--time-limit=100s'];
    const page = join(folder, 'page.html');
    const args = ['find', `--rpc=${new URL(chain.url).host}`, ...limits, `--dir=${dir}`, '--html', page];
    const { code, stdout, stderr } = await runStress(args, { timeoutMs: TIMEOUT_MS });
    assert.equal(code, 0, stderr);
    const { find } = readJson(join(dir, 'sweep.json'));
    assert.deepEqual([find.low, find.range], [40, '20..40']);
    assert.match(stdout, /^search for the highest rate with tps>0 at http:\/\/[\w.]+:\d+, for 1m40s; Ctrl-C ends it/);
    assert.match(stdout, /^ {2}verdict {3}the highest rate with tps>0 is at least 40 per second/m);
    assert.match(stdout, /^ {2}rate +asked\/s +TPS /m);
    assert.match(readFileSync(page, 'utf8'), /Search for the highest rate/);
    for (const { file } of find.trials) assert.equal(readJson(join(dir, file)).audit.exact, true);
  });
});
