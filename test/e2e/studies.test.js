/** Every study continues in its folder with the same command. stress bisect and --until-sure are in the slow suite. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startNullChain } from '../../scripts/bench/null-chain.js';
import { exited, readJson, spawnStress } from '../helpers/cli.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { NullChain } from '../../scripts/bench/null-chain.js' */

/** @type {NullChain} */
let chain;
before(async () => {
  chain = await startNullChain({ blockMs: 20 });
});
after(() => chain?.stop());

const QUICK = '--workload=rpc --method=eth_chainId -t2 -d300ms --warmup=0s --rest=0s --interval=100ms'.split(' ');

/** Its arguments, its result, and when the runs in it began. @type {Record<string, {args: () => string[], file: string, runs: (json: any) => string[]}>} */
const STUDIES = {
  sweep: {
    args: () => ['sweep', ...QUICK, `--rpc=${chain.url}`, '--repeat=2', '--rate=20,40'],
    file: 'sweep.json',
    runs: ({ cells }) =>
      cells.flatMap((/** @type {any} */ cell) => cell.runs.map((/** @type {any} */ run) => run.startedAt)),
  },
  find: {
    args: () => ['find', ...QUICK, `--rpc=${chain.url}`, '--rate=20..40', '--until=tps>0'],
    file: 'sweep.json',
    runs: ({ find }) => find.trials.map((/** @type {any} */ trial) => trial.startedAt),
  },
  compare: {
    args: () => ['compare', ...QUICK, `--rpc-a=${chain.url}`, `--rpc-b=${chain.url}/`, '--repeat=2'],
    file: 'compare.json',
    runs: ({ base, candidate }) => [...base.startedAt, ...candidate.startedAt],
  },
};

/** When the whole runs in it began. @param {string} dir */
const runsIn = (dir) =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(^|\/)([ab]-\d|.*_\d+)\.json$/.test(name))
    .map((name) => readJson(join(dir, name)))
    .filter(({ end }) => end === 'duration')
    .map(({ startedAt }) => startedAt);

/**
 * With the same command, and no run is made again.
 * @param {string} name @param {string[]} given @param {string} dir @param {() => void} [change] before it continues
 */
async function assertContinues(name, given, dir, change = () => {}) {
  const { file, runs } = STUDIES[name];
  const before = runsIn(dir);
  assert.ok(before.length > 0 && before.length < 4, `${before.length} runs`);
  change();
  const { stdout } = await exited(0, given);
  assert.match(stdout, /^\d runs? kept, already in .*it$/m);
  const made = runs(readJson(join(dir, file)));
  for (const startedAt of before) assert.ok(made.includes(startedAt), 'no run was made again');
  assert.ok(made.length > before.length);
}

describe('a study continues in its folder', () => {
  for (const [name, { args }] of Object.entries(STUDIES)) {
    // That of a sweep is in sweep.test.js.
    if (name !== 'sweep')
      it(`${name}, after kill -9`, async (t) => {
        const dir = join(temporaryFolder(t), 'it');
        const given = [...args(), `--dir=${dir}`];
        const killed = spawnStress(given);
        await killed.waitFor(/^(1\/4|.*holds|pair 1) /m);
        killed.child.kill('SIGKILL');
        await killed.done;
        await assertContinues(name, given, dir);
      });

    it(`${name}, after the disk was full`, async (t) => {
      const dir = join(temporaryFolder(t), 'it');
      mkdirSync(dir);
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${{ compare: 120, find: 100 }[name] ?? 64}k`, 'tmpfs', dir], {
          stdio: 'ignore',
        });
      } catch {
        return t.skip('only root can make a small disk');
      }
      try {
        const given = [...args(), `--dir=${dir}`];
        const full = await exited(73, given);
        assert.match(full.stderr, /^stress: (?!.*ERROR).*the disk is full/m);
        await assertContinues(name, given, dir, () => execFileSync('mount', ['-o', 'remount,size=8m', dir]));
      } finally {
        execFileSync('umount', [dir]);
      }
    });
  }
});
