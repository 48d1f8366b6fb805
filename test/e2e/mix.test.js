/**
 * Several workloads in one load, against a real anvil.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { exited, readJson } from '../helpers/cli.js';
import { runOf, startOf, sumOf } from '../helpers/run-of.js';
import { assertRefused } from '../helpers/table.js';
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
    assert.match(stdout, /^ {2}by name +count +per second +failed +gas +avg ms/m);
    assert.deepEqual([run.config.workload, run.config.mix[0]], ['mix', 'counter:40']);
  });

  test('in an open loop, at a rate in gas and with thresholds by name', async (t) => {
    const limits = '--threshold calls.compute.gas>250k --threshold calls.counter.gas<50k';
    const mix = '--mix counter:1,compute:1 --set compute.gas=260000 --rate 3Mgas --in-flight 3';
    const { gasPerOperation } = (await mixed(t, `${mix} -d 2s ${limits}`)).run.gasRate;
    assert.ok(gasPerOperation > 90_000 && gasPerOperation < 200_000, `${gasPerOperation}`);
  });

  test('calls beside transactions: by share of the users, or of the rate', async (t) => {
    const mix = '--mix counter:60,calls:40 --calls wallet -d 1s --in-flight 3';
    const { run, stdout } = await mixed(t, `${mix} --workers 2 --warmup auto`);
    const { wallets, verified } = run.audit;
    assert.deepEqual([wallets, verified], [6, run.byName.counter.counts.verified]);
    assert.ok(run.byName.eth_blockNumber.counts.verified > 0);
    assert.match(stdout, /^ {2}by name +count [^]*\n {2}counter +\d/m);

    const { counts, byName, window } = (await mixed(t, `${mix} --rate 100`)).run;
    assert.ok(Math.abs(window.counts.scheduled - 100) <= 2, `${window.counts.scheduled}`);
    const counted = byName.counter.counts.verified;
    assert.ok(counted <= 62 && counts.verified - counted <= 42, `${counted} of ${counts.verified}`);
  });

  test('an instance with calls beside transactions is merged', async (t) => {
    const instance = '--index 0 --instances 1 --chain-id 31337';
    const { out } = await mixed(t, `${instance} --mix counter:3,calls:2 --method eth_blockNumber -d 1s`);
    const merged = await exited(0, ['merge', '--expect', '1', out]);
    assert.match(merged.stdout, /^ {2}audit +exact: 6 wallets executed \d+/m);
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

  test('refusals', (t) =>
    assertRefused(t, [
      ['-t 2 --mix counter:1,erc02:1', 64, /--mix must be one of .*erc20/],
      ['-t 2 --mix counter:1,counter:2', 64, /--mix has counter twice: give each workload once/],
      ['-t 2 --mix counter:0', 64, /--mix must be workloads with weights above 0, .*"counter:0"/],
      ['-t 2 --mix counter:many', 64, /--mix must be workloads with weights above 0/],
      ['-t 2 --mix counter:1 --workload erc20', 64, /--mix and --workload exclude each other/],
      ['-t 2 --mix counter:1 --set storage.slots=5', 64, /--set storage\.slots=\.\.\. is for .* as counter\.slots/],
      ['-t 2 --mix storage:1 --set slots=5', 64, /--set slots=\.\.\. is for no member of --mix: .* as storage\.slots/],
      [
        '-t 2 --mix storage:1,counter:1 --set storage.slots=0',
        64,
        /--set storage\.slots=0 is no setting of .* storage/,
      ],
      ['-t 2 --mix counter:1 --receivers 5', 64, /--receivers is an option of --workload/],
    ]));
});
