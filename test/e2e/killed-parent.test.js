/** Nothing that a study has started outlives it, and nothing is written to its folder any more, at whatever instant it is killed. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startNullChain } from '../../scripts/bench/null-chain.js';
import { readJson, spawnStress } from '../helpers/cli.js';
import { assertNothingLeft, endProcessesOf, processesOf } from '../helpers/leftovers.js';
import { makeRepository } from '../helpers/slowed-repository.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { NullChain } from '../../scripts/bench/null-chain.js'
 * @import { TestContext } from 'node:test'
 *
 * @typedef {{folder: string, dir: string, tmp: string}} Folders
 */

/** @type {NullChain} */
let chain;
before(async () => {
  chain = await startNullChain({ blockMs: 20 });
});
after(() => chain?.stop());

/** Longest time until nothing is left. */
const FOLLOW_MS = 5000;

/** The run of a study, or its keeper. @param {Folders} folders */
const hasProcess = ({ dir }) => processesOf(dir).some(({ command }) => command.includes('--out='));

/** The run, before its program has been loaded. @param {Folders} folders */
const hasRun = ({ dir }) => processesOf(dir).some(({ command }) => /^\S+ \S*stress\.js .*--out=/.test(command));

/** @param {Folders} folders */
const hasCheckpoint = ({ dir }) => readdirSync(join(dir, 'cells')).some((name) => name.endsWith('.json'));

const SWEEP = '-t2 -d60s --warmup=0s --rate=20,30 --interval=100ms'.split(' ');

/** A workload that never gives the thread back. */
const BUSY = `import { writeFileSync } from 'node:fs';
export const contract = 'evm-stress/workload@1';
export default () => {
  writeFileSync(process.env.BUSY_FILE, '');
  for (;;);
};\n`;

/** A git whose checkout takes for ever. */
const SLOW_GIT = `#!/bin/sh
case "$*" in *checkout*) : > "$BUSY_FILE"; sleep 600 & wait;; esac
exec env PATH="$USUAL_PATH" git "$@"\n`;

/** @param {Folders} folders @param {(folders: Folders) => boolean} isDue @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
async function killed({ folder, dir, tmp }, isDue, args, env = {}) {
  const stress = spawnStress([...args, `--dir=${dir}`], { env: { TMPDIR: tmp, ...env } });
  while (!isDue({ folder, dir, tmp })) {
    assert.equal(stress.child.exitCode, null, stress.output().stderr);
    await sleep(2);
  }
  stress.child.kill('SIGKILL');
  await stress.done;
  await assertNothingLeft(tmp, FOLLOW_MS);
  assert.deepEqual(processesOf(folder), []);
}

/** @param {TestContext} t @returns {Folders} */
function foldersOf(t) {
  const folder = temporaryFolder(t);
  t.after(() => endProcessesOf(folder));
  const folders = { folder, dir: join(folder, 'study'), tmp: join(folder, 'tmp') };
  mkdirSync(folders.tmp);
  return folders;
}

describe('a study that is killed', () => {
  /** @type {Array<[string, (folders: Folders) => boolean]>} */
  const instants = [
    ['before the run has begun', hasProcess],
    ['before the program of the run is loaded', hasRun],
    ['in the load of the run', (folders) => hasRun(folders) && hasCheckpoint(folders)],
  ];
  for (const [when, isDue] of instants)
    for (const place of ['an endpoint', 'an embedded chain'])
      it(`${when}, at ${place}`, async (t) => {
        const folders = foldersOf(t);
        const rpc = place === 'an endpoint' ? [`--rpc=${chain.url}`] : [];
        await killed(folders, isDue, ['sweep', ...SWEEP, ...rpc]);
        const cells = readdirSync(join(folders.dir, 'cells')).filter((name) => name.endsWith('.json'));
        for (const name of cells) assert.equal(readJson(join(folders.dir, 'cells', name)).partial, true);
      });

  it('while the workload of the user does not return', async (t) => {
    const folders = foldersOf(t);
    const [file, BUSY_FILE] = [join(folders.folder, 'busy.mjs'), join(folders.folder, 'is-busy')];
    writeFileSync(file, BUSY);
    const args = ['sweep', ...SWEEP, `--rpc=${chain.url}`, `--workload=${file}`];
    await killed(folders, () => existsSync(BUSY_FILE), args, { BUSY_FILE });
  });

  it('while git makes a checkout', async (t) => {
    const folders = foldersOf(t);
    const [bin, repository] = ['bin', 'repository'].map((name) => join(folders.folder, name));
    mkdirSync(bin);
    mkdirSync(repository);
    const ids = makeRepository(repository, { commits: 2, first: 1 });
    writeFileSync(join(bin, 'git'), SLOW_GIT, { mode: 0o755 });
    const BUSY_FILE = join(folders.folder, 'is-busy');
    const { PATH = '' } = process.env;
    const args = ['bisect', '--good', ids[0], '--bad', ids[2], '--repository', repository, '--start', 'true'];
    await killed(folders, () => existsSync(BUSY_FILE), [...args, `--rpc=${chain.url}`, '-t1', '-d1s'], {
      ...{ BUSY_FILE, USUAL_PATH: PATH, PATH: `${bin}${delimiter}${PATH}` },
    });
  });
});
