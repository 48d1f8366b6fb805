/**
 * Several workloads in one load, against a real anvil.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { TestContext } from 'node:test' */
/** @import { Anvil } from '../helpers/anvil.js' */
/** @import { RunFile } from '../helpers/run-file.js' */

const OWN = fileURLToPath(new URL('../../docs/examples/access-list.js', import.meta.url));

/** @type {Anvil} */
let anvil;
before(async () => {
  anvil = await startAnvil({ args: ['--accounts', '100', '--block-time', '0.2'] });
});
after(() => anvil.stop());

let offset = 0;

/** @param {TestContext} t @param {string[]} more */
function argsOf(t, more) {
  const out = join(temporaryFolder(t), 'run.json');
  const args = ['-t', '10', '-o', String(offset), '--rpc', anvil.url, '--out', out, '--interval', '500ms', ...more];
  offset += 10;
  return { args, read: () => /** @type {RunFile} */ (readJson(out)) };
}

describe('--mix', { concurrency: 2 }, () => {
  test('each operation is one of a member: verified, counted by name and audited', async (t) => {
    const mix = `counter:40,transfer:20,erc20:20,storage:10,${OWN}:10`;
    const { args, read } = argsOf(t, [
      '--mix',
      mix,
      '--set',
      'storage.slots=5',
      '-d',
      '3s',
      '--workers',
      '2',
      '--in-flight',
      '3',
    ]);
    const { code, stdout, stderr } = await runStress(args);
    assert.equal(code, 0, stdout + stderr);
    const run = read();
    assertRunFile(run);
    assert.equal(run.audit?.exact, true);
    const names = ['counter', 'transfer', 'erc20', 'storage', 'access-list'];
    assert.deepEqual(Object.keys(run.byName).sort(), [...names].sort());
    const counts = names.map((name) => run.byName[name].counts.verified);
    assert.equal(
      counts.reduce((a, b) => a + b, 0),
      run.counts.verified,
    );
    assert.ok(counts[0] > counts[1] && counts[1] > 0 && counts[4] > 0, `${counts}`);
    const effects = run.audit?.checks.find(({ name }) => name === 'counter');
    assert.deepEqual([effects?.holds, effects?.expected], [true, String(counts[0])]);
    const gasOf = (/** @type {string} */ name) => {
      const { operations, used } = run.byName[name].gas ?? { operations: 0, used: 0 };
      return used / operations;
    };
    assert.ok(gasOf('transfer') === 21_000 && gasOf('storage') > gasOf('erc20'), stdout);
    assert.match(stdout, /^ {2}by name +count +per second +failed +gas +avg ms/m);
    assert.equal(run.config.workload, 'mix');
    assert.deepEqual(/** @type {any} */ (run.config.mix)[0], 'counter:40');
  });

  test('in an open loop, at a rate in gas and with thresholds by name', async (t) => {
    const more = ['--mix', 'counter:1,compute:1', '--set', 'compute.gas=260000', '--rate', '3Mgas', '--in-flight', '3'];
    const { args, read } = argsOf(t, [
      ...more,
      '-d',
      '3s',
      '--threshold',
      'calls.compute.gas>250k',
      '--threshold',
      'calls.counter.gas<50k',
    ]);
    const { code, stdout, stderr } = await runStress(args);
    assert.equal(code, 0, stdout + stderr);
    const { gasRate, audit } = read();
    assert.equal(audit?.exact, true);
    assert.ok(
      Number(gasRate?.gasPerOperation) > 90_000 && Number(gasRate?.gasPerOperation) < 200_000,
      `${gasRate?.gasPerOperation}`,
    );
  });

  test('calls beside transactions: by share of the users, or of the rate', async (t) => {
    const mix = ['--mix', 'counter:60,calls:40', '--calls', 'wallet', '-d', '2s', '--in-flight', '3'];
    const closed = argsOf(t, [...mix, '--workers', '2']);
    const { code, stdout, stderr } = await runStress(closed.args);
    assert.equal(code, 0, stdout + stderr);
    const run = closed.read();
    assert.equal(run.audit?.exact, true);
    assert.equal(run.audit?.wallets, 6);
    assert.ok(
      run.byName.counter.counts.verified === run.audit?.verified && run.byName.eth_blockNumber.counts.verified > 0,
    );
    assert.match(stdout, /^ {2}by name +count [^]*\n {2}counter +\d/m);

    const open = argsOf(t, [...mix, '--rate', '100']);
    const paced = await runStress(open.args);
    assert.equal(paced.code, 0, paced.stdout + paced.stderr);
    const { counts, byName, window } = open.read();
    assert.ok(Math.abs(window.counts.scheduled - 200) <= 2, `${window.counts.scheduled}`);
    assert.ok(
      byName.counter.counts.verified <= 122 && counts.verified - byName.counter.counts.verified <= 82,
      paced.stdout,
    );
  });

  test('an instance with calls beside transactions is merged', async (t) => {
    const instance = ['--index', '0', '--instances', '1', '--chain-id', '31337'];
    const mix = ['--mix', 'counter:3,calls:2', '--method', 'eth_blockNumber', '-d', '1500ms'];
    const { args } = argsOf(t, [...instance, ...mix]);
    const { code, stderr } = await runStress(args);
    assert.equal(code, 0, stderr);
    const merged = await runStress(['merge', '--expect', '1', args[args.indexOf('--out') + 1]]);
    assert.equal(merged.code, 0, merged.stdout + merged.stderr);
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
  audit: async (hash, number, reverted) => reverted.map((count) => ({ start: 0n, now: count > 0 ? 0n : 1n })),
});
`,
    );
    const { args, read } = argsOf(t, ['--mix', `counter:1,${file}:1`, '-d', '3s']);
    const { code, stdout, stderr } = await runStress(args);
    assert.equal(code, 0, stdout + stderr);
    const { audit, failures } = read();
    assert.ok(failures.reverted > 0);
    assert.deepEqual([audit?.exact, audit?.checks.find(({ name }) => name === 'reverting')?.holds], [true, true]);
  });

  test('an effect of a member is missing: named, and 76', async (t) => {
    const contracts = join(temporaryFolder(t), 'contracts.json');
    const { args, read } = argsOf(t, ['--mix', 'counter:1,transfer:1', '-d', '3s', '--contracts', contracts]);
    const running = startStress(args);
    await running.waitFor(/^ +1\.\d s /m);
    const [target] = Object.values(readJson(contracts).contracts);
    await anvil.rpc('anvil_setStorageAt', [target, `0x${'0'.repeat(64)}`, `0x${'0'.repeat(64)}`]);
    const { code, stdout } = await running.done;
    assert.equal(code, 76, stdout);
    const check = read().audit?.checks.find(({ name }) => name === 'counter');
    assert.equal(check?.holds, false);
    assert.match(stdout, new RegExp(`effects of counter, .*${target}`, 'i'));
  });

  /** @type {Array<[string, string[], RegExp]>} */
  const wrong = [
    ['an unknown member', ['--mix', 'counter:1,erc02:1'], /^stress: --mix must be one of .*erc20/],
    ['a member twice', ['--mix', 'counter:1,counter:2'], /^stress: --mix has counter twice: give each workload once/],
    [
      'a weight of zero',
      ['--mix', 'counter:0'],
      /^stress: --mix must be workloads with weights above 0, .*"counter:0"/,
    ],
    ['no weight', ['--mix', 'counter:many'], /^stress: --mix must be workloads with weights above 0/],
    [
      'another workload',
      ['--mix', 'counter:1', '--workload', 'erc20'],
      /^stress: --mix and --workload exclude each other/,
    ],
    [
      'a setting of another one',
      ['--mix', 'counter:1', '--set', 'storage.slots=5'],
      /^stress: --set storage\.slots=\.\.\. is for no member of --mix: .* such as counter\.slots/,
    ],
    [
      'a setting of no one',
      ['--mix', 'storage:1', '--set', 'slots=5'],
      /^stress: --set slots=\.\.\. is for no member of --mix: .* such as storage\.slots/,
    ],
    [
      'a wrong setting',
      ['--mix', 'storage:1,counter:1', '--set', 'storage.slots=0'],
      /^stress: --set storage\.slots=0 is no setting of --workload storage/,
    ],
    [
      'an option of another one',
      ['--mix', 'counter:1', '--receivers', '5'],
      /^stress: --receivers is an option of --workload/,
    ],
  ];
  for (const [what, args, message] of wrong)
    test(`refuses ${what}`, async () => {
      const { code, stderr } = await runStress(['-t', '2', '-d', '1s', ...args]);
      assert.equal(code, 64, stderr);
      assert.match(stderr, message);
    });
});
