/** What a run costs is said before, capped while it lasts, and never spent where it was not meant to be. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { formatEther, parseEther } from 'ethers';
import { anvilFor, startAnvil } from '../helpers/anvil.js';
import { exited, readJson, runStress } from '../helpers/cli.js';
import { DEV_MNEMONIC, DEV_WALLETS, moneyOf } from '../helpers/dev-wallets.js';
import { assertRunFile } from '../helpers/run-file.js';
import { runOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';

/** @import { Anvil } from '../helpers/anvil.js' */

/** Wallet 0 has all the money there is; the runs use others. */
const FUNDER = DEV_WALLETS.deriveChild(0);
const ENV = Object.freeze({ STRESS_MNEMONIC: DEV_MNEMONIC, STRESS_FUNDER_KEY: FUNDER.privateKey });
const COST_LINE =
  /^estimated cost at \S+ gwei a gas: set-up (\S+) (?:ether|gwei), load (\S+) (?:ether|gwei) for .* \(\S+ (?:ether|gwei) at most\)$/m;

/** @param {Anvil} chain */
const sentByFunder = async (chain) => Number(await chain.rpc('eth_getTransactionCount', [FUNDER.address, 'pending']));

describe('on a chain that is no development chain', () => {
  const chain = anvilFor('--accounts 1 --chain-id 5555 --block-time 0.1');

  /** @param {number} first wallet @param {string[]} more arguments @param {string[]} [command] */
  const stress = (first, more, command = []) =>
    runStress([...command, '-t', '10', '-o', String(first), '--rpc', chain.url, '--chain-id', '5555', ...more], {
      env: { ...ENV, STRESS_FUND_AMOUNT: '0.05' },
    });

  for (const [name, first, words, least] of /** @type {Array<[string, number, string, number]>} */ ([
    ['legacy transactions, several in flight', 200, '--legacy --in-flight 3', 0.6],
    ['an open loop', 300, '--rate 60', 0.6],
    // A thread cannot tell the gas of its own transactions in a block from that of the others.
    ['threads, of which each has its share', 400, '--workers 2', 0.4],
  ]))
    test(`no more is spent than --max-spend allows: ${name}`, async (t) => {
      const before = await moneyOf(chain, first, 10);
      const capWei = parseEther('0.006');
      const { run, stdout, stderr } = await runOf(t, `--chain-id 5555 --max-spend 0.006 ${words}`, {
        ...{ chain, threads: 10, offset: first, exit: 77 },
        env: { ...ENV, STRESS_FUND_AMOUNT: '0.05' },
      });
      const spentWei = before - (await moneyOf(chain, first, 10));
      t.diagnostic(`${formatEther(spentWei)} ether spent, of ${formatEther(capWei)}`);
      assert.ok(spentWei <= capWei && Number(spentWei) >= least * Number(capWei), `${spentWei} wei`);
      const { end, audit, spending } = run;
      assert.deepEqual([end, audit.exact, spending.capWei], ['max_spend', true, String(capWei)]);
      assert.equal(spending.spentWei, String(spentWei), 'all fees, as the balances say');
      assert.match(stdout, /Summary: ended because its spend cap was reached/);
      assert.equal(stderr.split('spend cap').length, 2, 'it is said once');
    });

  test('a run that is expected to cost more than the cap is refused before anything is sent', async () => {
    const sent = await sentByFunder(chain);
    const before = await moneyOf(chain, 500, 10);
    for (const args of [
      ['--rate', '100', '-d', '1h', '--max-spend', '0.5'],
      ['--max-spend', '0.0001'], // not even the set-up
    ]) {
      const { code, stderr } = await stress(500, args);
      assert.equal(code, 77);
      assert.match(
        stderr,
        /^stress: this run is expected to cost \S+ (?:ether|gwei) in fees, and --max-spend allows \S+ (?:ether|gwei): .*\n$/,
      );
    }
    assert.equal(await sentByFunder(chain), sent);
    assert.equal(await moneyOf(chain, 500, 10), before);
  });

  test('it is said what the run costs, and what is there already costs nothing', async (t) => {
    const contracts = join(temporaryFolder(t), 'counters.json');
    const out = join(temporaryFolder(t), 'run.json');
    const args = ['-d', '1s', '--contracts', contracts, '--out', out];
    const before = await moneyOf(chain, 700, 10);
    const first = await stress(700, args);
    const spentWei = before - (await moneyOf(chain, 700, 10));
    assert.equal(first.code, 0, first.stderr);
    const [, setUp, load] = COST_LINE.exec(first.stdout) ?? [];
    const run = readJson(out);
    assertRunFile(run);
    const setUpWei = Number(run.spending.setUpWei);
    // An estimate, of which the price and the number of blocks may move.
    assert.ok(
      Number(parseEther(setUp)) > 0.7 * setUpWei && Number(parseEther(setUp)) < 2 * setUpWei,
      `${setUp}: ${setUpWei} wei`,
    );
    assert.equal(run.spending.spentWei, String(spentWei), 'all fees, as the balances say');
    const fees = /^ {2}fees {8}[\d.]+ ether: [\d.]+ ether for the set-up; [\d.]+ ether left the wallets/m;
    assert.match(first.stdout, fees);
    const loadWei = Number(spentWei) - setUpWei;
    assert.ok(
      loadWei > 0 && Number(parseEther(load)) > loadWei / 10 && Number(parseEther(load)) < loadWei * 10,
      `${load}: ${loadWei} wei`,
    );

    const second = await stress(700, [...args, '--fund-amount', '0.01']);
    assert.equal(second.code, 0, second.stderr);
    assert.equal(COST_LINE.exec(second.stdout)?.[1], '0');
    assert.equal(readJson(out).spending.setUpWei, '0');
  });

  test('a set-up that fails after payments leaves a run file with what it has spent, whatever its exit code', async (t) => {
    const folder = temporaryFolder(t);
    const [file, out] = ['half.mjs', 'run.json'].map((name) => join(folder, name));
    writeFileSync(
      file,
      `export const contract = 'evm-stress/workload@1';
      export default ({ kit }) => ({
        kind: 'transaction',
        async prepare() {
          await kit.deployEach(await kit.compile('// SPDX-License-Identifier: MIT\\npragma solidity >=0.8.0; contract A {}'));
          throw new Error('half of it');
        },
        next: () => ({ to: '0x${'11'.repeat(20)}', data: '0x' }),
        verify: kit.verifyByReceipt(() => null),
      });\n`,
    );
    const before = await moneyOf(chain, 900, 10);
    const { code, stderr } = await stress(900, ['-d', '1s', '--workload', file, '--out', out]);
    assert.equal(code, 65, stderr);
    assert.match(stderr, /half of it/);
    const run = readJson(out);
    assertRunFile(run);
    const spentWei = before - (await moneyOf(chain, 900, 10));
    assert.ok(spentWei > 0n);
    assert.deepEqual([run.end, run.exitCode, run.spending.spentWei], ['set_up_failed', 65, String(spentWei)]);
  });

  test('stress fund says what it pays before it does, and has a cap of its own', async () => {
    const before = await moneyOf(chain, 800, 10);
    const refused = await stress(800, ['--max-spend', '0.0000001'], ['fund']);
    assert.equal(refused.code, 77);
    const says =
      /^stress: the payments are expected to cost \S+ (?:ether|gwei) in fees, and --max-spend allows 100 gwei: /;
    assert.match(refused.stderr, says);
    assert.equal(await moneyOf(chain, 800, 10), before);

    const { code, stdout, stderr } = await stress(800, ['--max-spend', '0.01'], ['fund']);
    assert.equal(code, 0, stderr);
    const [foretold, done] = stdout.split('\n');
    const costs =
      /^0\.5 ether will be paid to 10 wallets, for about \S+ (?:ether|gwei) in fees \(an estimate, at \S+ gwei a gas\)$/;
    assert.match(foretold, costs);
    assert.match(done, /^10 of 10 wallets topped up to 0\.05 ether: 0\.5 ether in 1 transaction$/);
    const spentWei = before - (await moneyOf(chain, 800, 10));
    assert.ok(spentWei > 0n && spentWei <= parseEther('0.01'));
  });
});

test('the set-up too stays within the cap, at the highest price that it may have', async () => {
  // Now a gas costs about 101 gwei, but five times as much is offered. The funder's payment alone needs 450,000.
  const chain = await startAnvil({
    args: ['--accounts', '1', '--chain-id', '5555', '--no-mining', '--block-base-fee-per-gas', '100000000000'],
  });
  const { code, stdout, stderr } = await runStress(
    ['-t', '10', '-o', '1', '--rpc', chain.url, '--fund-amount', '0.05', '--max-spend', '0.215'],
    { env: ENV },
  );
  assert.match(stdout, COST_LINE);
  assert.equal(code, 77, stderr);
  const says =
    /^stress: the next set-up transaction may cost 0\.2\d+ ether, but 0\.215 ether of --max-spend 0\.215 ether is left: .*\n$/;
  assert.match(stderr, says);
  assert.equal(await sentByFunder(chain), 0);
  await chain.stop();
});

test('on a development chain nothing is said of costs, and a cap holds all the same', async (t) => {
  const chain = await startAnvil({ args: ['--block-time', '0.1'] });
  const out = join(temporaryFolder(t), 'run.json');
  const plain = await exited(0, ['-t', '3', '-d', '300ms', '--rpc', chain.url]);
  assert.doesNotMatch(plain.stdout, /cost/);
  const { stdout } = await exited(77, ['-t', '3', '--rpc', chain.url, '--out', out], {
    env: { STRESS_MAX_SPEND: '0.002' },
  });
  assert.doesNotMatch(stdout, COST_LINE);
  assert.equal(readJson(out).end, 'max_spend');
  await chain.stop();
});
