/**
 * Several workloads in one load, against a real anvil.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { readJson } from '../helpers/cli.js';
import { runOf, startOf, sumOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { TestContext } from 'node:test'
 */

const OWN = fileURLToPath(new URL('../../docs/examples/access-list.js', import.meta.url));

const chain = anvilFor('--accounts 100 --block-time 0.2');

/** @param {TestContext} t @param {string} words */
async function mixed(t, words) {
  const result = await runOf(t, words, { chain, threads: 10 });
  assert.equal(result.run.audit.exact, true, result.stdout);
  return result;
}

/** @param {any} run @param {string} name */
const checkOf = ({ audit }, name) => audit.checks.find((/** @type {any} */ check) => check.name === name);

describe('--mix', { concurrency: 2 }, () => {
  test('each operation is one of a member: verified, counted by name and audited', async (t) => {
    const mix = `--mix counter:40,transfer:20,erc20:20,storage:10,${OWN}:10 --set storage.slots=5`;
    const { run, stdout } = await mixed(t, `${mix} -d 2s --in-flight 3`);
    const names = ['counter', 'transfer', 'erc20', 'storage', 'access-list'];
    assert.deepEqual(Object.keys(run.byName).sort(), [...names].sort());
    const counts = names.map((name) => run.byName[name].counts.verified);
    assert.equal(sumOf(counts), run.counts.verified);
    assert.ok(counts[0] > counts[1] && counts[1] > 0 && counts[4] > 0, `${counts}`);
    const { holds, expected } = checkOf(run, 'counter');
    assert.deepEqual([holds, expected], [true, String(counts[0])]);
    const gasOf = (/** @type {string} */ name) => run.byName[name].gas.used / run.byName[name].gas.operations;
    assert.ok(gasOf('transfer') === 21_000 && gasOf('storage') > gasOf('erc20'), stdout);
    assert.match(stdout, /^ {2}By name +count +per second +failed +timed out +gas +avg ms/m);
    assert.deepEqual([run.config.workload, run.config.mix[0]], ['mix', 'counter:40']);
  });

  test("the audit of a member is told how many of the member's operations were reverted", async (t) => {
    const file = join(temporaryFolder(t), 'reverting.mjs');
    writeFileSync(
      file,
      `export const contract = 'evm-stress/workload@1';
export default () => ({
  kind: 'transaction',
  next: () => ({ to: null, data: '0xfe', gasLimit: 60000n }),
  audit: async (hash, number, reverted) => reverted.map(() => ({ start: 0n, now: reverted.some(Boolean) ? 0n : 1n })),
});
`,
    );
    const { run, stdout } = await mixed(t, `--mix counter:1,${file}:1 -d 2s`);
    assert.ok(run.failures.reverted > 0 && checkOf(run, 'reverting').holds, stdout);
  });

  test('an effect of a member is not its own: named, and 76', async (t) => {
    const stress = startOf(t, '--mix counter:1,transfer:1 --contracts DIR/contracts.json', { chain, threads: 10 });
    await stress.waitFor(/^ +[1-9]\d*\.\d s /m);
    const [target] = Object.values(readJson(join(stress.folder, 'contracts.json')).contracts);
    await chain.rpc('anvil_setStorageAt', [target, '0x0', `0x${'1000'.padStart(64, '0')}`]);
    stress.child.kill('SIGTERM');
    const { run, stdout } = await stress.end(76);
    assert.equal(checkOf(run, 'counter').holds, false);
    assert.match(stdout, new RegExp(`effects of counter, .*${target}`, 'i'));
  });
});
