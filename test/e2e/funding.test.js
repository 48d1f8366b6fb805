/** What wallets must have, who pays what is missing, how it comes back, and at what price transactions are sent. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Wallet, formatEther, parseEther } from 'ethers';
import { anvilFor, startAnvil } from '../helpers/anvil.js';
import { exited, runStress } from '../helpers/cli.js';
import { DEV_MNEMONIC, DEV_WALLETS, balancesOf } from '../helpers/dev-wallets.js';
import { runOf } from '../helpers/run-of.js';

/** @import { Anvil } from '../helpers/anvil.js' */

/** @param {number} index of the test mnemonic */
const walletAt = (index) => DEV_WALLETS.deriveChild(index);

/** Wallet 0 is the only one that has funds on these chains: it is the funder. */
const FUNDER = walletAt(0);
const WITH_FUNDER = Object.freeze({ STRESS_FUNDER_KEY: FUNDER.privateKey });

/** Balances of wallets that the user names are not changed. */
const AS_GIVEN = Object.freeze({ STRESS_MNEMONIC: DEV_MNEMONIC });

/** @param {string[]} [args] */
const startPoorChain = (args = []) => startAnvil({ args: ['--accounts', '1', ...args] });

/** @param {Anvil} chain @param {string} address */
const balanceOf = async (chain, address) => BigInt(await chain.rpc('eth_getBalance', [address, 'latest']));

/** @param {Anvil} chain @param {string} address @param {string} block */
const nonceOf = async (chain, address, block = 'latest') =>
  Number(await chain.rpc('eth_getTransactionCount', [address, block]));

/** @param {Anvil} chain @param {string} address @param {bigint} wei */
const setBalance = (chain, address, wei) => chain.rpc('anvil_setBalance', [address, `0x${wei.toString(16)}`]);

/** @param {Anvil} chain @returns {Promise<any[]>} all transactions there are */
async function transactionsOf(chain) {
  const head = Number(await chain.rpc('eth_blockNumber'));
  const blocks = await Promise.all(
    Array.from({ length: head }, (_, i) => chain.rpc('eth_getBlockByNumber', [`0x${(i + 1).toString(16)}`, true])),
  );
  return blocks.flatMap(({ transactions }) => transactions);
}

describe('wallets without funds', () => {
  const chain = anvilFor('--accounts 1');

  /** Refused in one line, and nothing is sent. @param {string} words @param {NodeJS.ProcessEnv} env @param {number} exit @param {string | RegExp} says */
  async function refused(words, env, exit, says) {
    const { code, stderr } = await runStress([...words.split(' '), '--rpc', chain.url], { env });
    assert.equal(code, exit, stderr);
    if (typeof says === 'string') assert.equal(stderr, `stress: ${says}\n`);
    else assert.match(stderr, says);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    assert.equal(await chain.rpc('eth_blockNumber'), '0x0');
    return stderr;
  }

  test('without --fund-amount the need is an estimate that grows with the duration', async () => {
    const words = /^stress: 1 wallet has less than the (\S+) ether this run may need, \1 ether in all: /;
    const [short, long] = [
      await refused('-t 1 -o 1 -d 1s', AS_GIVEN, 69, words),
      await refused('-t 1 -o 1 -d 30s', AS_GIVEN, 69, words),
    ].map((stderr) => Number(words.exec(stderr)?.[1]));
    assert.ok(short > 0 && long > 5 * short, `${short}, ${long}`);
  });

  test('a funder who is too poor pays nothing', async () => {
    const poor = Wallet.createRandom();
    await setBalance(chain, poor.address, parseEther('1'));
    for (const [amount, says] of /** @type {Array<[string, RegExp]>} */ ([
      [
        '0.5',
        /has 1 ether, the payments need 1\.5 ether; pay it 0\.5 ether more, or ask for less by -t or --fund-amount$/m,
      ],
      // Enough for the wallets, but not for the fee.
      [
        '0.33333333333333333',
        /has 1 ether, the payments need 1\.0\d+ ether; pay it 0\.0\d+ ether more, or ask for less/m,
      ],
    ]))
      await refused(`-t 3 -o 10 -d 1s --fund-amount ${amount}`, { STRESS_FUNDER_KEY: poor.privateKey }, 69, says);
    assert.equal(await balanceOf(chain, poor.address), parseEther('1'));
  });

  test('a funder inside the slice is refused', async () => {
    const says = 'the funder is wallet 0 of the slice; use another key for --fund-from, or another slice';
    for (const command of ['-d 1s', 'fund'])
      await refused(`${command} -t 2 -o 0 --fund-amount 1`, WITH_FUNDER, 64, says);
  });

  test('are funded by anvil if they are the test wallets and there is no funder', async () => {
    const indexes = [100, 101, 102];
    const { stdout } = await exited(0, ['-t', '3', '-o', '100', '-d', '300ms', '--rpc', chain.url]);
    assert.match(stdout, /^3 of 3 test wallets had too little: this anvil has set their balances$/m);
    assert.doesNotMatch(stdout, /the load can spend 0 ether/);
    assert.match(stdout, /^ +audit +exact: /m);
    for (const wei of await balancesOf(chain, indexes))
      assert.ok(wei > parseEther('9999') && wei < parseEther('10000'));
  });
});

describe('a funder', () => {
  const chain = anvilFor('--accounts 1 --block-time 0.1');

  test('tops up exactly what is missing: stress fund, twice', async () => {
    const [exact, part, more] = ['0.1', '0.04', '0.3'].map((amount) => parseEther(amount));
    await setBalance(chain, walletAt(1).address, part);
    await setBalance(chain, walletAt(2).address, exact);
    await setBalance(chain, walletAt(3).address, more);
    const args = ['fund', '-t', '5', '-o', '1', '--rpc', chain.url, '--fund-amount', '0.1'];

    const first = await runStress(args, { env: WITH_FUNDER });
    const topped = [0, '3 of 5 wallets topped up to 0.1 ether: 0.26 ether in 1 transaction\n', ''];
    assert.deepEqual([first.code, first.stdout, first.stderr], topped);
    assert.deepEqual(await balancesOf(chain, [1, 2, 3, 4, 5]), [exact, exact, more, exact, exact]);
    assert.equal(await nonceOf(chain, FUNDER.address), 1);

    const second = await runStress(args, { env: WITH_FUNDER });
    const nothing = [0, '0 of 5 wallets topped up to 0.1 ether: 0 ether in 0 transactions\n'];
    assert.deepEqual([second.code, second.stdout], nothing);
    assert.equal(await nonceOf(chain, FUNDER.address), 1);
  });

  test('pays for a run: --fund-from', async (t) => {
    const before = await nonceOf(chain, FUNDER.address);
    const { run } = await runOf(t, '-d 300ms', { chain, threads: 3, offset: 20, env: WITH_FUNDER });
    assert.equal(run.audit.exact, true);
    assert.equal(await nonceOf(chain, FUNDER.address), before + 1);
    for (const left of await balancesOf(chain, [20, 21, 22])) assert.ok(left > 0n);
  });

  test('gets back what is left: stress reclaim', async () => {
    const indexes = [1, 2, 3, 4, 5];
    const had = (await balancesOf(chain, indexes)).reduce((sum, wei) => sum + wei);
    const before = await balanceOf(chain, FUNDER.address);
    const args = ['reclaim', '-t', '5', '-o', '1', '--rpc', chain.url];
    const { code, stdout, stderr } = await runStress(args, { env: WITH_FUNDER });
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, new RegExp(`^\\d\\.\\d+ ether sent to ${FUNDER.address} from 5 of 5 wallets\n$`));
    assert.deepEqual(await balancesOf(chain, indexes), [0n, 0n, 0n, 0n, 0n], 'nothing is left');
    const got = (await balanceOf(chain, FUNDER.address)) - before;
    assert.ok(got < had && got > had - parseEther('0.005'), `${got} of ${had} wei`);
    assert.equal(stdout.split(' ')[0], formatEther(got), 'it says what came back');

    const again = await runStress(args, { env: WITH_FUNDER });
    assert.deepEqual([again.code, again.stdout], [0, `0 ether sent to ${FUNDER.address} from 0 of 5 wallets\n`]);
  });

  test('is not needed to reclaim: --to', async () => {
    const to = Wallet.createRandom().address;
    await setBalance(chain, walletAt(30).address, parseEther('0.2'));
    const args = ['reclaim', '-t', '1', '-o', '30', '--rpc', chain.url, '--to', to, '--legacy'];
    await exited(0, args);
    assert.deepEqual(await balancesOf(chain, [30]), [0n]);
    assert.ok((await balanceOf(chain, to)) > parseEther('0.19'));
  });

  test('sends no coins to a contract, but to a key that delegates to one', async () => {
    const to = Wallet.createRandom().address;
    await setBalance(chain, walletAt(31).address, parseEther('0.2'));
    const args = ['reclaim', '-t', '1', '-o', '31', '--rpc', chain.url, '--to', to];
    await chain.rpc('anvil_setCode', [to, '0x6001']);
    const { stderr } = await exited(77, args);
    assert.match(stderr, new RegExp(`sends no coins to ${to}: it is a contract`));
    assert.deepEqual(await balancesOf(chain, [31]), [parseEther('0.2')]);
    await chain.rpc('anvil_setCode', [to, `0xef0100${'11'.repeat(20)}`]);
    await exited(0, args);
    assert.ok((await balanceOf(chain, to)) > parseEther('0.19'));
  });

  test('pays 1,000 wallets with five transactions', async () => {
    const before = await nonceOf(chain, FUNDER.address);
    const args = ['fund', '-t', '1000', '-o', '1000', '--rpc', chain.url, '--fund-amount', '0.01'];
    const { stdout } = await exited(0, args, { env: WITH_FUNDER });
    assert.equal(stdout, '1,000 of 1,000 wallets topped up to 0.01 ether: 10 ether in 5 transactions\n');
    const some = [1000, 1199, 1200, 1567, 1999];
    assert.deepEqual(await balancesOf(chain, some), Array(some.length).fill(parseEther('0.01')));
    assert.equal(await nonceOf(chain, FUNDER.address), before + 5);
  });

  test('pays wallets that are new to the chain behind such that are not', async () => {
    // A payment to an account that is not there yet costs 25,000 gas more.
    await Promise.all(Array.from({ length: 200 }, (_, i) => setBalance(chain, walletAt(3000 + i).address, 1n)));
    await exited(0, ['fund', '-t', '300', '-o', '3000', '--rpc', chain.url, '--fund-amount', '0.01'], {
      env: WITH_FUNDER,
    });
    assert.deepEqual(await balancesOf(chain, [3000, 3299]), Array(2).fill(parseEther('0.01')));
  });
});

describe('the price', { concurrency: 3 }, () => {
  const GWEI = 10n ** 9n;
  const big = (/** @type {string} */ hex) => BigInt(hex);
  /** At most five times the first base fee (1 gwei) and the tip. @param {any} transaction */
  const isNearBaseFee = ({ maxFeePerGas: fee, maxPriorityFeePerGas: tip }) =>
    big(fee) > big(tip) && big(fee) <= 5n * GWEI + big(tip);

  /** @type {Array<[string, string, string[], string, (tx: any) => boolean]>} */
  const PRICES = [
    ['follows the base fee of the blocks', '', [], '0x2', isNearBaseFee],
    ['--legacy', '--legacy', [], '0x0', (tx) => big(tx.gasPrice) > 0n && tx.maxFeePerGas === undefined],
    ['--gas-price 3', '--gas-price 3', [], '0x0', (tx) => big(tx.gasPrice) === 3n * GWEI],
    ['--max-fee 1.5', '--max-fee 1.5', [], '0x2', (tx) => big(tx.maxFeePerGas) <= (3n * GWEI) / 2n],
    ['--legacy --max-fee 1.5', '--legacy --max-fee 1.5', [], '0x0', (tx) => big(tx.gasPrice) <= (3n * GWEI) / 2n],
    ['is legacy without base fees', '', ['--hardfork', 'berlin'], '0x0', (tx) => big(tx.gasPrice) > 0n],
  ];
  for (const [name, words, chainArgs, type, check] of PRICES)
    test(name, async (t) => {
      const chain = await startPoorChain(['--block-time', '0.1', ...chainArgs]);
      // The funder pays, so that its transaction is looked at too.
      const own = { chain, threads: 2, offset: 1, env: WITH_FUNDER };
      const { audit, counts, environment } = (await runOf(t, `-d 500ms ${words}`, own)).run;
      assert.deepEqual([audit.exact, counts.failed], [true, 0]);
      assert.equal(environment.feeMode, type === '0x2' ? 'eip1559' : 'legacy');
      const transactions = await transactionsOf(chain);
      assert.equal(transactions.length, 3 + counts.verified, 'a payment, two deployments, and the increments');
      for (const transaction of transactions) {
        assert.equal(transaction.type, type);
        assert.equal(Number(transaction.chainId), 31337, 'protected against replay elsewhere (EIP-155)');
        assert.ok(check(transaction), JSON.stringify(transaction));
      }
      await chain.stop();
    });
});
