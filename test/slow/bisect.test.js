/** stress bisect over a small repository of real nodes, killed in the middle. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { makeRepository, startCommand } from '../helpers/slowed-repository.js';
import { freePort } from '../../src/chain/devchain.js';
import { exited, spawnStress } from '../helpers/cli.js';
import { endProcessesOf, processesOf } from '../helpers/leftovers.js';
import { temporaryFolder } from '../helpers/temporary.js';

it('stress bisect: names the slow commit, also after kill -9 in the middle, and leaves no process', async (t) => {
  const folder = temporaryFolder(t);
  t.after(() => endProcessesOf(folder));
  const repository = join(folder, 'repository');
  mkdirSync(repository);
  // So much slower that a busy machine does not hide it.
  const ids = makeRepository(repository, { commits: 4, first: 3, slower: 4 });
  const port = await freePort();
  const dir = join(folder, 'study');
  const args = [
    ...['bisect', '--good', ids[0], '--bad', ids[4], '--repository', repository, '--build', 'cp notes built'],
    ...['--start', startCommand(port), '--rpc', `http://127.0.0.1:${port}`, '--dir', dir],
    ...['-t', '2', '-d', '1s', '--warmup', '0s', '--rest', '0s', '--drain-timeout', '5s'],
  ];
  const options = { env: { TMPDIR: folder }, timeoutMs: 400_000 };
  const killed = spawnStress(args, options);
  await killed.waitFor(/^2 {2}\w{7} {2}tps /m);
  killed.child.kill('SIGKILL');
  await killed.done;
  const { stdout } = await exited(0, args, options);
  const slow = ids[3].slice(0, 7);
  assert.match(stdout, /^\d+ runs kept, already in .*study$/m);
  const says = new RegExp(`^${slow} \\(Write blocks with more care\\) changes tps by -\\d\\d(\\.\\d)? % with`, 'm');
  assert.match(stdout, says);
  const { result, pairs } = JSON.parse(readFileSync(join(dir, 'bisect.json'), 'utf8'));
  assert.deepEqual([result.from, result.to], [ids[3], ids[3]]);
  assert.ok(existsSync(join(dir, 'builds', `${ids[3].slice(0, 12)}`, 'built')));
  assert.ok(pairs.every((/** @type {{files: string[]}} */ { files }) => files.every((f) => existsSync(join(dir, f)))));
  // The nodes of the run that was killed are ended by their keepers.
  const chains = processesOf(folder).filter(({ command }) => command.includes('null-chain.js'));
  assert.deepEqual(chains, []);
});
