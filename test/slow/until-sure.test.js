import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { anvilBinary } from '../../src/chain/devchain.js';
import { reader } from '../../src/studies/run-files.js';
import { freePort } from '../helpers/anvil.js';
import { spawnStress } from '../helpers/cli.js';
import { endProcessesOf, processesOf } from '../helpers/leftovers.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** A pair is two starts of a node and two runs; on a busy machine that takes its time. */
const timeoutMs = 240_000;

it('compare --until-sure starts a node for each run, ends it, and continues after an interrupt', async (t) => {
  const [folder, tmp, port] = [temporaryFolder(t), temporaryFolder(t), await freePort()];
  t.after(() => endProcessesOf(tmp));
  const dir = join(folder, 'out');
  const url = `http://127.0.0.1:${port}`;
  const args = (/** @type {string[]} */ ...more) => [
    ...['compare', '--until-sure', `--rpc-a=${url}`, `--rpc-b=${url}`, '--workload=rpc', '--method=eth_chainId'],
    ...[`--start-a="${anvilBinary()}" --port ${port}`, `--start-b=cd / && "${anvilBinary()}" --port ${port}; true`],
    ...['-t=2', '-d=300ms', '--rest=0s', '--equivalent=50%', `--dir=${dir}`, ...more],
  ];
  const env = { TMPDIR: tmp };
  const running = spawnStress(args(), { env, timeoutMs });
  await running.waitFor(/^pair 1 /m);
  const keepers = processesOf(tmp).filter(({ command }) => command.includes('keeper.js'));
  running.child.kill('SIGINT');
  assert.equal((await running.done).code, 130);
  assert.ok(keepers.length <= 1, 'one node at a time');
  assert.deepEqual(processesOf(tmp), []);

  const result = await spawnStress(args('--time-limit=15s'), { env, timeoutMs }).done;
  assert.equal(result.code, 0, result.stderr);
  assert.match(result.stdout, /^\d runs kept, already in /m);
  assert.deepEqual(processesOf(tmp), []);
  const { method, verdict, sequential } = (await reader('compare'))(join(dir, 'compare.json'));
  assert.deepEqual([method.name, method.pairs], ['sequential', method.runs.base]);
  assert.ok(['equivalent', 'faster', 'slower', 'undecided'].includes(verdict.word));
  assert.ok(result.stdout.includes(verdict.sentence));
  assert.ok(Number.isInteger(sequential?.seed));
  const files = readdirSync(dir).filter((name) => /^[ab]-\d+\.json$/.test(name));
  files.map((name) => join(dir, name)).forEach(await reader('run'));
  assert.ok(['node-a.log', 'node-b.log'].every((name) => readdirSync(dir).includes(name)));
});
