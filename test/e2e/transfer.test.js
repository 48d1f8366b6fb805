/** Payments and payloads on a real chain: nothing is counted twice, and what a stranger does to a receiver is found. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAnvil } from '../helpers/anvil.js';
import { serveBetween } from '../helpers/endpoint.js';
import { readJson, runStress, startStress } from '../helpers/cli.js';
import { DEV_WALLETS } from '../helpers/dev-wallets.js';
import { assertRunFile } from '../helpers/run-file.js';
import { temporaryFolder } from '../helpers/temporary.js';

/**
 * @import { Anvil } from '../helpers/anvil.js'
 * @import { TestContext } from 'node:test'
 */

/** Two of anvil's accounts that are in no slice here. */
const [FUNDER, STRANGER] = [58, 59].map((index) => DEV_WALLETS.deriveChild(index));
/** @type {Anvil} */
let anvil;

before(async () => {
  anvil = await startAnvil({ args: ['--accounts', '60', '--block-time', '0.1'] });
});

/**
 * Every transaction that blocks hold of some senders, but for deployments.
 * @param {string[]} senders in lower case
 * @param {number} first block
 * @returns {Promise<Array<{hash: string, input: string, from: string}>>}
 */
async function transactionsOf(senders, first) {
  const found = [];
  const head = Number(await anvil.rpc('eth_blockNumber'));
  for (let number = first; number <= head; number += 1) {
    const { transactions } = await anvil.rpc('eth_getBlockByNumber', [`0x${number.toString(16)}`, true]);
    found.push(...transactions.filter((/** @type {any} */ tx) => tx.to !== null && senders.includes(tx.from)));
  }
  return found;
}

/**
 * @param {TestContext} t
 * @param {number} offset
 * @param {string[]} more
 */
async function loaded(t, offset, more) {
  const folder = temporaryFolder(t);
  const [out, samples] = [join(folder, 'run.json'), join(folder, 'samples.ndjson')];
  const args = ['--rpc', anvil.url, '-t', '6', '-o', String(offset), '-d', '1500ms', '--interval', '500ms'];
  const first = Number(await anvil.rpc('eth_blockNumber'));
  const result = await runStress([...args, '--out', out, '--samples', samples, ...more]);
  assert.equal(result.code, 0, `${result.stdout}\n${result.stderr}`);
  const run = readJson(out);
  assertRunFile(run);
  assert.equal(run.audit.exact, true);
  const rows = readFileSync(samples, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const accounts = await anvil.rpc('eth_accounts');
  const chain = await transactionsOf(accounts.slice(offset, offset + 6), first);
  return { ...result, run, rows, chain };
}

/** @param {Awaited<ReturnType<typeof loaded>>} result */
function assertCountedOnce({ run, rows, chain }) {
  const hashes = rows.map(({ hash }) => hash);
  assert.ok(hashes.length >= 6 && hashes.length === run.counts.started);
  assert.equal(new Set(hashes).size, hashes.length, 'no transaction is in two rows');
  assert.deepEqual([...hashes].sort(), chain.map(({ hash }) => hash).sort(), 'and the chain has these, and no other');
}

describe('payments and payloads', { concurrency: 2 }, () => {
  test('transfer to many receivers, over two threads, with a payload: one row, one transaction, one payment', async (t) => {
    const options = '--workload transfer --receivers 500 --payload 200 --workers 2 --in-flight 2'.split(' ');
    const result = await loaded(t, 0, options);
    const { run, stdout, chain } = result;
    assertCountedOnce(result);
    const verified = run.counts.verified;
    assert.match(stdout, /^ {2}audit +exact: 6 wallets made payments: /m);
    assert.match(stdout, /^ {4}of 500 receivers, those that have exactly what was paid to them: 500, as it must be$/m);
    const { seed, valueWei, ...facts } = run.environment.workload;
    assert.deepEqual(facts, { receivers: 500, created: 'by the load', payloadBytes: 200 });
    assert.ok(Number.isSafeInteger(seed) && BigInt(valueWei) > 0n);
    assert.deepEqual(
      run.audit.checks.map((/** @type {any} */ { name, found, holds }) => [name, found, holds]),
      [
        ['receipts', String(verified), true],
        ['wallets', '6', true],
        ['receivers', '500', true],
      ],
    );
    assert.ok(chain.every(({ input }) => input.length === 2 + 2 * 200));
    assert.equal(new Set(chain.map(({ input }) => input)).size, chain.length, 'other bytes in each');
  });

  test('transfer among the wallets, at a rate, under a cap', async (t) => {
    const result = await loaded(t, 10, '--workload transfer --rate 40 --max-spend 1'.split(' '));
    assertCountedOnce(result);
    assert.equal(result.run.environment.workload.receivers, 'the wallets of the slice');
    assert.ok(result.chain.every(({ input }) => input === '0x'));
    const [, wallets] = result.run.audit.checks;
    assert.deepEqual([wallets.found, wallets.holds], ['6', true]);
  });

  test('erc20 to receivers, over two threads: one row, one transaction, one payment', async (t) => {
    const result = await loaded(t, 30, '--workload erc20 --receivers 50 --workers 2 --in-flight 2'.split(' '));
    const { run, stdout, rows } = result;
    const { token, value, ...facts } = run.environment.workload;
    const chain = result.chain.filter(({ input }) => input.startsWith('0xa9059cbb'));
    assertCountedOnce({ ...result, chain });
    assert.match(stdout, /^ {2}audit +exact: 6 wallets made token payments: /m);
    assert.deepEqual([facts.receivers, token.length, BigInt(value) > 0n], [50, 42, true]);
    assert.deepEqual(
      run.audit.checks.map((/** @type {any} */ { name, found, holds }) => [name, found, holds]),
      [
        ['receipts', String(run.counts.verified), true],
        ['wallets', '6', true],
        ['receivers', '50', true],
        ['supply', '1', true],
      ],
    );
    assert.ok(rows.every(({ outcome }) => outcome === 'verified'));
  });

  test('counter with a payload: the contract ignores it, and each transaction has its own', async (t) => {
    const result = await loaded(t, 20, ['--payload', '1024']);
    assertCountedOnce(result);
    assert.match(result.stdout, /exact: 6 counters grew by /);
    assert.ok(result.chain.every(({ input }) => input.length === 2 + 2 * 1024));
    assert.equal(new Set(result.chain.map(({ input }) => input)).size, result.chain.length);
  });

  /** @param {string} hash @returns {Promise<boolean>} */
  const isReverted = async (hash) => (await anvil.rpc('eth_getTransactionReceipt', [hash])).status === '0x0';

  for (const [name, offset, more, lacks] of /** @type {Array<[string, number, string[], string[]]>} */ ([
    ['among the wallets', 40, [], []],
    ['among the wallets, receipts one by one', 43, [], ['eth_getBlockReceipts']],
    ['to receivers, over two threads', 46, ['--receivers', '4', '--workers', '2'], []],
    ['to receivers, no receipts for the audit', 52, ['--receivers', '4'], ['eth_getBlockReceipts', 'audit']],
  ]))
    test(`payments that are reverted fail, and the audit counts them: ${name}`, async (t) => {
      const folder = temporaryFolder(t);
      const [out, samples] = [join(folder, 'run.json'), join(folder, 'samples.ndjson')];
      const { url } = await serveBetween(anvil.url, ({ method, params }) => {
        const isFull = method === 'eth_getBlockByNumber' && params[1] === true;
        if (!lacks.includes(method) && !(isFull && lacks.includes('audit'))) return null;
        return { error: { code: -32601, message: `the method ${method} does not exist/is not available` } };
      });
      const stress = startStress([
        ...['--rpc', url, '-t', '3', '-o', String(offset), '--in-flight', '4', '--workload', 'transfer', '-v'],
        ...['--iterations', '40', '--out', out, '--samples', samples, ...more],
      ]);
      const [, , receiver] = await stress.waitFor(
        new RegExp(`^(${offset + 1}) (0x[0-9a-f]{40}) 0x[0-9a-f]{64}$`, 'mi'),
      );
      await anvil.rpc('anvil_setCode', [receiver, '0x60006000fd']);
      const { code, stdout, stderr } = await stress.done;
      const run = readJson(out);
      assertRunFile(run);
      const rows = readFileSync(samples, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      assert.equal(rows.length, 120);
      for (const { hash, outcome, code: why } of rows) {
        if (outcome === 'verified') assert.equal(await isReverted(hash), false);
        if (why === 'reverted') assert.equal(await isReverted(hash), true);
      }
      const { audit, failures, counts } = run;
      assert.ok(failures.reverted >= 5, `${failures.reverted} reverted`);
      assert.equal(audit.reverted, failures.reverted);
      assert.equal(audit.effectsOnChain, String(counts.verified));
      if (lacks.includes('audit')) {
        assert.equal(code, 0, stderr);
        assert.deepEqual([audit.exact, audit.result], [false, 'incomplete']);
        assert.match(stdout, /audit +INCOMPLETE: /);
        assert.match(stdout, /not checked: transactions that succeeded by their receipts: .*eth_getBlockByNumber/);
        assert.match(stderr, /the audit is incomplete: transactions that succeeded by their receipts: .*, and 2 more/);
        return;
      }
      assert.equal(code, 0, stderr);
      assert.equal(audit.exact, true, stdout);
      for (const { words, holds } of audit.checks) assert.equal(holds, true, words);
      assert.equal(audit.checks[0].found, String(counts.verified));
    });

  test("a stranger's wei to one of the receivers: the audit is not exact, and says which", async (t) => {
    const out = join(temporaryFolder(t), 'run.json');
    const stress = startStress([
      ...['--rpc', anvil.url, '-t', '3', '-o', '30', '--workload', 'transfer', '--receivers', '2000', '-v'],
      ...['--out', out],
    ]);
    const [, , receiver] = await stress.waitFor(/^(3\d) (0x[0-9a-f]{40}) 0x[0-9a-f]{64}$/m);
    await anvil.rpc('eth_sendTransaction', [{ from: STRANGER.address, to: receiver, value: '0x1' }]);
    while (Number(await anvil.rpc('eth_getTransactionCount', [STRANGER.address, 'latest'])) === 0) await sleep(20);
    stress.child.kill('SIGINT');
    const { code, stdout } = await stress.done;
    assert.equal(code, 76, stdout);
    assert.match(stdout, /audit +NOT EXACT: /);
    assert.match(
      stdout,
      new RegExp(
        `exactly what was paid to them: 1999 \\(${receiver} has \\d+ wei, not \\d+ wei\\), and it must be 2000`,
      ),
    );
    const run = readJson(out);
    assertRunFile(run);
    const { audit } = run;
    assert.deepEqual(
      audit.checks.map((/** @type {any} */ { holds }) => holds),
      [true, true, false],
    );
    assert.equal(audit.mismatchCount, 0, 'no wallet is blamed');
  });

  test('stress fund reckons with the workload and its payload', async () => {
    /** @param {string} more */
    const need = async (more) => {
      const result = await runStress(`fund --rpc ${anvil.url} -t 2 -o 100 --gas-price 1 ${more}`.trim().split(' '), {
        env: { STRESS_FUNDER_KEY: FUNDER.privateKey },
      });
      return { ...result, ether: Number(/topped up to ([\d.]+) ether/.exec(result.stdout)?.[1]) };
    };
    const plain = await need('--workload transfer');
    const large = await need('--workload transfer --payload 1024');
    assert.equal(plain.code, 0, plain.stderr);
    // 25,000 gas for each of a thousand payments, and 50 for a byte of payload; all of it twice.
    assert.equal(plain.ether, 0.05);
    assert.equal(large.ether, 0.1524);
  });
});
