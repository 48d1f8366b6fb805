/**
 * The command line of several instances of one run: which slice is whose, who refuses what before anything is sent, and
 * the funds of all slices.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseEther } from 'ethers';
import { anvilFor, startAnvil } from '../helpers/anvil.js';
import { exited, runStress, startStress } from '../helpers/cli.js';
import { DEV_MNEMONIC, DEV_WALLETS, balancesOf } from '../helpers/dev-wallets.js';
import { runOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';
import { until } from '../helpers/until.js';

/**
 * @import { StressProcess } from '../helpers/cli.js'
 */

/** Wallet 0 is the only one that has funds on these chains: it is the funder. */
const WITH_FUNDER = Object.freeze({ STRESS_FUNDER_KEY: DEV_WALLETS.deriveChild(0).privateKey });
const TENTH = parseEther('0.1');

/** @param {number} from @param {number} to */
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

const chain = anvilFor('--accounts 20 --block-time 0.1');

describe('files of instances with one command line', () => {
  /** @param {number} index @param {string[]} args */
  const instance = (index, args) =>
    runStress([
      ...['-t', '2', '-d', '30s', '--iterations', '1', '--rpc', chain.url, '--chain-id', '31337', '-q'],
      ...['--index', String(index), '--instances', '2', ...args],
    ]);

  test('an index that runs twice is refused before anything is sent, unless it says so', async (t) => {
    const results = temporaryFolder(t);
    const args = ['--results', results, '--run-id', 'r'];
    const both = await Promise.all([instance(0, args), instance(0, args)]);
    assert.deepEqual(both.map(({ code }) => code).sort(), [0, 73]);
    const { code, stdout, stderr } = await instance(0, args);
    assert.deepEqual([code, stdout], [73, '']);
    assert.match(stderr, /^stress: run r, index 0, attempt 0 has a run file already in .*, or --attempt 1\n$/);
    assert.equal((await instance(0, [...args, '--attempt', '1'])).code, 0);
    assert.deepEqual(readdirSync(results).sort(), ['r-00000-0.json', 'r-00000-1.json']);
  });

  test('no other file is overwritten either, and {index} gives each its own', async (t) => {
    const folder = temporaryFolder(t);
    const out = (/** @type {string} */ name) => ['--out', join(folder, `${name}.json`), '--hlog', '/dev/null'];
    for (const index of [0, 1]) assert.equal((await instance(index, out('b{index}'))).code, 0);
    const first = readFileSync(join(folder, 'b0.json'), 'utf8');
    const { code, stderr } = await instance(1, out('b0'));
    assert.equal(code, 73);
    assert.match(stderr, /^stress: \S+b0\.json exists: instances do not .* put \{index\} into its name\n$/);
    assert.equal(readFileSync(join(folder, 'b0.json'), 'utf8'), first);
    assert.match((await instance(1, out('b{index}'))).stderr, /another instance has this index, or it ran before$/m);
    assert.deepEqual(readdirSync(folder).sort(), ['b0.json', 'b1.json']);
  });
});

describe('the funds of all slices', () => {
  const chain = anvilFor('--accounts 1');

  /** @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
  const stress = (args, env = WITH_FUNDER) => runStress([...args, '--rpc', chain.url, '--instances', '3'], { env });
  const SLICES = Object.freeze(['-t', '4', '-o', '1']);

  test('a funder in the slice of another instance is refused', async () => {
    const env = { STRESS_FUNDER_KEY: DEV_WALLETS.deriveChild(9).privateKey };
    const { code, stderr } = await stress(['fund', ...SLICES, '--fund-amount', '0.1'], env);
    assert.equal(code, 64);
    assert.match(stderr, /^stress: the funder is wallet 9 of the slice; /);
  });

  test('are paid, and paid no second time, and come back', async () => {
    const paid = await stress(['fund', ...SLICES, '--fund-amount', '0.1']);
    assert.equal(paid.code, 0, paid.stderr);
    assert.equal(paid.stdout, '12 of 12 wallets topped up to 0.1 ether: 1.2 ether in 1 transaction\n');
    assert.deepEqual(await balancesOf(chain, range(1, 13)), [...range(1, 12).map(() => TENTH), 0n]);
    const again = await stress(['fund', ...SLICES, '--fund-amount', '0.1']);
    assert.equal(again.stdout, '0 of 12 wallets topped up to 0.1 ether: 0 ether in 0 transactions\n');
    const back = await stress(['reclaim', ...SLICES]);
    assert.equal(back.code, 0, back.stderr);
    assert.match(back.stdout, /^1\.1\d+ ether sent to 0x\w+ from 12 of 12 wallets\n$/);
    const nothing = range(1, 12).map(() => 0n);
    assert.deepEqual(await balancesOf(chain, range(1, 12)), nothing);
  });
});

test('what is paid beforehand is enough for a load as long as stress fund was told; a refusal says the command', async (t) => {
  const poor = await startAnvil({ args: ['--accounts', '1'] });
  t.after(() => poor.stop());
  const fund = (/** @type {string} */ words) =>
    runStress(`fund -t 2 -o 1 --instances 2 --rpc ${poor.url}${words}`.split(' '), { env: WITH_FUNDER });
  const instance = (/** @type {string} */ words, /** @type {any} */ options = {}) =>
    runOf(t, `-d 2m --iterations 1 --chain-id 31337 ${words}`, { chain: poor, threads: 2, offset: 1, ...options });
  assert.equal((await fund('')).code, 0);
  const env = { STRESS_MNEMONIC: DEV_MNEMONIC };
  const { stderr } = await instance('--instances 2 --index 1', { env, exit: 69 });
  const words =
    "; fund the wallets of all instances before, with 'stress fund --instances 2' and the options of the run, ";
  assert.ok(stderr.includes(`${words}or set the need with --fund-amount\n`), stderr);
  const paid = await fund(' -d 2m');
  assert.equal(paid.code, 0, paid.stderr);
  assert.match(paid.stdout, /^4 of 4 wallets topped up to [\d.]+ ether \(twice the estimated need\): /);
  for (const index of [0, 1]) await instance(`--instances 2 --index ${index}`);
  // The only instance may pay for itself.
  await instance('--instances 1 --index 0', { offset: 10, env: WITH_FUNDER });
});

describe('more wallets than are paid at once', () => {
  const chain = anvilFor('--accounts 1 --no-mining --gas-limit 400000000');

  /**
   * The first part is a single payment, the second the 25 others.
   * @param {number} count
   * @param {StressProcess} stress that is to send them
   */
  const pending = async (count, stress) => {
    let found = NaN;
    const isSo = async () => {
      assert.equal(stress.child.exitCode, null, stress.output().stderr);
      found = Number((await chain.rpc('txpool_status')).pending);
      return found === count;
    };
    await until(isSo, () => `${found} payments of ${count} are in the pool: ${stress.output().stderr}`);
  };

  test('interrupted between two parts: it says how far it came, and goes on there', async () => {
    const args = ['-t', '650', '-o', '1', '--instances', '8', '--rpc', chain.url, '--fund-amount', '0.1'];
    const first = startStress(['fund', ...args], { env: WITH_FUNDER });
    await pending(1, first);
    await chain.rpc('evm_mine');
    await pending(25, first);
    first.child.kill('SIGINT');
    const { code, stdout, stderr } = await first.done;
    assert.equal(code, 130);
    assert.match(stdout, /^200 of 5,200 wallets topped up before it ended, .* the same command again /);
    assert.equal(stderr, 'stress: interrupted during set-up\n');
    assert.deepEqual(await balancesOf(chain, [1, 200, 201, 5200]), [TENTH, TENTH, 0n, 0n]);

    await chain.rpc('anvil_dropAllTransactions');
    await chain.rpc('evm_setAutomine', [true]);
    const second = await exited(0, ['fund', ...args], { env: WITH_FUNDER });
    assert.equal(second.stdout, '5,000 of 5,200 wallets topped up to 0.1 ether: 500 ether in 25 transactions\n');
    assert.deepEqual(await balancesOf(chain, [1, 5000, 5001, 5200, 5201]), [TENTH, TENTH, TENTH, TENTH, 0n]);
  });
});
