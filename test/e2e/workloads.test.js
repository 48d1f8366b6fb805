/** The built-in workloads on a real chain: the audit is exact, and finds what somebody else has done to their state. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keccak256 } from 'ethers';
import { anvilFor, startAnvil } from '../helpers/anvil.js';
import { runOf, startOf } from '../helpers/run-of.js';

const anvil = anvilFor('--accounts 100 --block-time 0.1');

/** @param {string | bigint | number} value */
const word = (value) => BigInt(value).toString(16).padStart(64, '0');

/** The slot of a mapping's member. @param {string | bigint | number} key @param {string | bigint | number} slot */
const slotOf = (key, slot) => keccak256(`0x${word(key)}${word(slot)}`);

/** @param {string} to @param {string} slot @param {string | bigint | number} value */
const store = (to, slot, value) => anvil.rpc('anvil_setStorageAt', [to, slot, `0x${word(value)}`]);

/** @param {any} run */
const checksIn = (run) =>
  Object.fromEntries(run.audit.checks.map((/** @type {any} */ { name, holds }) => [name, holds]));

/**
 * @typedef {object} Case
 * @property {string} options
 * @property {string[]} checks by name, beside that of receipts
 * @property {string} [whilePlanted] further options
 * @property {(operation: {to: string, input: string, target: string, from: string}) => Promise<unknown>} plant a fault, after this operation
 * @property {string[]} fails checks
 * @property {RegExp} says
 */

/** @type {Record<string, Case>} */
const CASES = {
  erc20: {
    options: '',
    checks: ['wallets', 'supply'],
    plant: ({ to, from }) => store(to, slotOf(from, 0), 7),
    fails: ['wallets'],
    says: /wallets that have .*: 3 \(0x\w{40} has -?\d+ units, not \d+ units\), expected 4/i,
  },
  erc721: {
    options: '',
    checks: ['supply', 'wallets', 'owners'],
    // As if somebody had transferred it.
    plant: ({ to, input }) => store(to, slotOf(`0x${input.slice(10, 74)}`, 0), 0xbeef),
    fails: ['owners'],
    says: /token 0x\w+ belongs to 0x0{36}beef, not 0x\w{40}\), expected \d+/,
  },
  storage: {
    options: '--set slots=10 --set cold=40',
    checks: ['slots'],
    // The third slot that the first operation added. Later operations would set it to zero.
    whilePlanted: '--set clear=0',
    plant: ({ to, from }) => store(to, slotOf((BigInt(from) << 64n) + (1n << 32n) + 2n, 1), 7),
    fails: ['slots'],
    says: /slot 4294967298 of 0x\w{40} has 0x7, not 0x\w+\), expected \d+/,
  },
  deploy: {
    options: '--set bytes=300',
    checks: ['code'],
    plant: ({ target }) => anvil.rpc('anvil_setCode', [target, '0x']),
    fails: ['code'],
    says: /0x\w{40} has the code hash 0x\w{64}, not 0x\w{64}\), expected \d+/,
  },
  compute: {
    options: '--set gas=100000',
    checks: [],
    plant: ({ to, from }) => store(to, slotOf(from, 0), 100_000),
    fails: [],
    says: /NOT EXACT/,
  },
  swap: {
    options: '',
    checks: ['reserves', 'wallets'],
    plant: ({ to }) => store(to, `0x${word(1)}`, 1000),
    fails: ['reserves'],
    says: /the reserve of token \d is \d+, not \d+\), expected 2/,
  },
  contention: {
    options: '--set slots=3 --set theta=0.5',
    checks: ['order', 'slots'],
    // Each write takes the count from there.
    plant: ({ to, input }) => store(to, slotOf(`0x${input.slice(10, 74)}`, 0), 1_000_000),
    fails: ['order', 'slots'],
    says: /not all \(transaction \d+ of 0x\w{40} \(0x\w{64}, block \d+\) left count 1000001 and chain .*, not count \d+ /,
  },
};

for (const [name, { options, whilePlanted = '', checks, plant, fails, says }] of Object.entries(CASES))
  describe(`workload ${name}`, { concurrency: 2 }, () => {
    const given = `--workload ${name} ${options}`.trim();

    test('the audit is exact, with three operations in flight of each wallet', async (t) => {
      // Threads take long to start, and most workloads are the same to them: two have them.
      const workers = ['contention', 'swap'].includes(name) ? '--workers 2' : '';
      const { run, stdout } = await runOf(t, `${given} -d 1s ${workers} --in-flight 3`, { chain: anvil, threads: 4 });
      assert.equal(run.audit.exact, true, stdout);
      const counted = name === 'compute' ? [] : ['receipts'];
      assert.deepEqual(checksIn(run), Object.fromEntries([...counted, ...checks].map((check) => [check, true])));
      // Instances are merged: the sum has the words of one of them.
      for (const { words } of run.audit.checks ?? []) assert.doesNotMatch(words, /\d/);
      assert.ok(run.counts.verified >= 12 && run.counts.verified === run.counts.started, stdout);
    });

    test('a planted fault is found and named: exit code 76', async (t) => {
      const stress = startOf(t, `${given} ${whilePlanted} -d 2s -v`, { chain: anvil, threads: 4 });
      const [, index, target, effect] = await stress.waitFor(/^(\d+) (0x\w{40}) (\w+)$/m);
      const from = (await anvil.rpc('eth_accounts'))[Number(index)];
      const { to, input } = /^0x/.test(effect)
        ? await anvil.rpc('eth_getTransactionByHash', [effect])
        : { to: target, input: '' };
      await plant({ to, input, target, from });
      const { run, stdout } = await stress.end(76);
      assert.match(stdout, says);
      const found = checksIn(run);
      for (const check of fails) assert.equal(found[check], false, check);
      if (found.receipts !== undefined) assert.equal(found.receipts, true);
    });
  });

test('contention: the audit is exact although the node no longer has the first blocks', async (t) => {
  const keeper = ['--transaction-block-keeper', '90'];
  const chain = await startAnvil({ args: ['--accounts', '10', '--block-time', '0.05', ...keeper] });
  const { run } = await runOf(t, '-d 10s --workload contention', { chain, threads: 4 });
  assert.ok(run.blocks.count > 100, `${run.blocks.count} blocks`);
  assert.deepEqual(checksIn(run), { receipts: true, order: true, slots: true });
  // On a busy machine the first block may have no transactions.
  const { firstNumber } = run.blocks;
  const blocks = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      chain.rpc('eth_getBlockByNumber', [`0x${(firstNumber + i).toString(16)}`, false]),
    ),
  );
  const { number } = blocks.find(({ gasUsed }) => Number(gasUsed) > 0);
  assert.deepEqual(await chain.rpc('eth_getBlockReceipts', [number]), [], 'the fault happened');
});

describe('figures of workloads', { concurrency: 2 }, () => {
  test('swap: what fails by slippage has a code of its own, and the audit stays exact', async (t) => {
    const words = '--workload swap --set slippage=1 --set amount=1000 -d 2s --in-flight 3';
    const { run, stdout } = await runOf(t, words, { chain: anvil, threads: 4 });
    const { audit, failures, counts } = run;
    assert.deepEqual([audit.exact, Object.keys(failures), audit.reverted], [true, ['slippage'], failures.slippage]);
    assert.ok(failures.slippage >= 3 && counts.verified >= 3, stdout);
    assert.match(stdout, /^ {2}failed +\d+ +slippage \d+$/m);
  });
});
