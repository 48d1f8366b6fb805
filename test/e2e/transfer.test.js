/** Payments and payloads on a real chain: nothing is counted twice, and what a stranger does to a receiver is found. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { anvilFor, startMinedChain } from '../helpers/anvil.js';
import { serveBetween } from '../helpers/endpoint.js';
import { runStress } from '../helpers/cli.js';
import { DEV_WALLETS } from '../helpers/dev-wallets.js';
import { readRows } from '../helpers/rows.js';
import { runOf, startOf } from '../helpers/run-of.js';

/**
 * @import { TestContext } from 'node:test'
 */

/** Two of anvil's accounts that are in no slice here. */
const [FUNDER, STRANGER] = [58, 59].map((index) => DEV_WALLETS.deriveChild(index));
const anvil = anvilFor('--accounts 60 --block-time 0.1');

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

/** @param {TestContext} t @param {string} words */
async function loaded(t, words) {
  const first = Number(await anvil.rpc('eth_blockNumber'));
  const result = await runOf(t, `-d 1s --samples DIR/samples.ndjson ${words}`, { chain: anvil, threads: 6 });
  assert.equal(result.run.audit.exact, true);
  const rows = readRows(join(result.folder, 'samples.ndjson'));
  const accounts = await anvil.rpc('eth_accounts');
  const chain = await transactionsOf(accounts.slice(result.offset, result.offset + 6), first);
  return { ...result, rows, chain };
}

/** @param {any} run @param {Array<[string, number, boolean]>} expected */
function assertChecks(run, expected) {
  const checks = run.audit.checks.map((/** @type {any} */ { name, found, holds }) => [name, Number(found), holds]);
  assert.deepEqual(checks, expected);
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
    const words = '--workload transfer --receivers 500 --payload 200 --workers 2 --in-flight 2';
    const result = await loaded(t, words);
    const { run, stdout, chain } = result;
    assertCountedOnce(result);
    assert.match(stdout, /^ {2}audit +exact: 6 wallets made payments: /m);
    assert.match(stdout, /^ {4}of 500 receivers, those that have exactly what was paid to them: 500, as it must be$/m);
    const { seed, valueWei, ...facts } = run.environment.workload;
    assert.deepEqual(facts, { receivers: 500, created: 'by the load', payloadBytes: 200 });
    assert.ok(Number.isSafeInteger(seed) && BigInt(valueWei) > 0n);
    const receipts = ['receipts', run.counts.verified, true];
    assertChecks(run, /** @type {any} */ ([receipts, ['wallets', 6, true], ['receivers', 500, true]]));
    assert.ok(chain.every(({ input }) => input.length === 2 + 2 * 200));
    assert.equal(new Set(chain.map(({ input }) => input)).size, chain.length, 'other bytes in each');
  });

  test('transfer among the wallets, at a rate, under a cap', async (t) => {
    const result = await loaded(t, '--workload transfer --rate 40 --max-spend 1');
    assertCountedOnce(result);
    assert.equal(result.run.environment.workload.receivers, 'the wallets of the slice');
    assert.ok(result.chain.every(({ input }) => input === '0x'));
    const [, wallets] = result.run.audit.checks;
    assert.deepEqual([wallets.found, wallets.holds], ['6', true]);
  });

  test('erc20 to receivers: one row, one transaction, one payment', async (t) => {
    const result = await loaded(t, '--workload erc20 --receivers 50 --in-flight 2');
    const { run, stdout, rows } = result;
    const { token, value, receivers } = run.environment.workload;
    assertCountedOnce({ ...result, chain: result.chain.filter(({ input }) => input.startsWith('0xa9059cbb')) });
    assert.match(stdout, /^ {2}audit +exact: 6 wallets made token payments: /m);
    assert.deepEqual([receivers, token.length, BigInt(value) > 0n], [50, 42, true]);
    const receipts = ['receipts', run.counts.verified, true];
    const others = [...['wallets', 'receivers'].map((name, i) => [name, [6, 50][i], true]), ['supply', 1, true]];
    assertChecks(run, /** @type {any} */ ([receipts, ...others]));
    assert.ok(rows.every(({ outcome }) => outcome === 'verified'));
  });

  test('counter with a payload: the contract ignores it, and each transaction has its own', async (t) => {
    const result = await loaded(t, '--payload 1024');
    assertCountedOnce(result);
    assert.match(result.stdout, /exact: 6 counters grew by /);
    assert.ok(result.chain.every(({ input }) => input.length === 2 + 2 * 1024));
    assert.equal(new Set(result.chain.map(({ input }) => input)).size, result.chain.length);
  });

  for (const [name, more, lacks] of /** @type {Array<[string, string, string[]]>} */ ([
    ['among the wallets, receipts one by one', '', ['eth_getBlockReceipts']],
    ['to receivers, no receipts for the audit', '--receivers 4', ['eth_getBlockReceipts', 'audit']],
  ]))
    test(`payments that are reverted fail, and the audit counts them: ${name}`, async (t) => {
      const { anvil: mined, miner } = await startMinedChain(t, ['--accounts', '60']);
      const { url } = await serveBetween(mined.url, ({ method, params }) => {
        const isFull = method === 'eth_getBlockByNumber' && params[1] === true;
        if (!lacks.includes(method) && !(isFull && lacks.includes('audit'))) return null;
        return { error: { code: -32601, message: `the method ${method} does not exist/is not available` } };
      });
      const words = `--in-flight 4 --workload transfer -v --iterations 40 --samples DIR/samples.ndjson ${more}`;
      const stress = startOf(t, words, { chain: mined, rpc: url, threads: 3 });
      const line = new RegExp(`^${stress.offset + 1} (0x[0-9a-f]{40}) 0x[0-9a-f]{64}$`, 'mi');
      const [, receiver] = await stress.waitFor(line);
      // During a block anvil would write an old nonce of the wallet back.
      await miner.pause();
      await mined.rpc('anvil_setCode', [receiver, '0x60006000fd']);
      miner.resume();
      const { run, stdout, stderr } = await stress.end();
      const rows = readRows(join(stress.folder, 'samples.ndjson'));
      assert.equal(rows.length, 120);
      for (const { hash, outcome, code } of rows) {
        if (outcome !== 'verified' && code !== 'reverted') continue;
        const { status } = await mined.rpc('eth_getTransactionReceipt', [hash]);
        assert.equal(status, outcome === 'verified' ? '0x1' : '0x0');
      }
      const { audit, failures, counts } = run;
      assert.ok(failures.reverted >= 5, `${failures.reverted} reverted`);
      assert.deepEqual([audit.reverted, audit.effectsOnChain], [failures.reverted, String(counts.verified)]);
      if (lacks.includes('audit')) {
        assert.deepEqual([audit.exact, audit.result], [false, 'incomplete']);
        assert.match(stdout, /audit +INCOMPLETE: /);
        assert.match(stdout, /not checked: transactions that succeeded by their receipts: .*eth_getBlockByNumber/);
        assert.match(stderr, /the audit is incomplete: transactions that succeeded by their receipts: .*, and 2 more/);
        return;
      }
      assert.equal(audit.exact, true, stdout);
      for (const { words, holds } of audit.checks) assert.equal(holds, true, words);
      assert.equal(audit.checks[0].found, String(counts.verified));
    });

  test("a stranger's wei to one of the receivers: the audit is not exact, and says which", async (t) => {
    const stress = startOf(t, '--workload transfer --receivers 2000 -v', { chain: anvil, threads: 3 });
    const [, , receiver] = await stress.waitFor(/^(\d+) (0x[0-9a-f]{40}) 0x[0-9a-f]{64}$/m);
    await anvil.rpc('eth_sendTransaction', [{ from: STRANGER.address, to: receiver, value: '0x1' }]);
    while (Number(await anvil.rpc('eth_getTransactionCount', [STRANGER.address, 'latest'])) === 0) await sleep(20);
    stress.child.kill('SIGINT');
    const { run, stdout } = await stress.end(76);
    assert.match(stdout, /audit +NOT EXACT: /);
    const found = `exactly what was paid to them: 1999 \\(${receiver} has \\d+ wei, not \\d+ wei\\), and it must be 2000`;
    assert.match(stdout, new RegExp(found));
    const held = run.audit.checks.map((/** @type {any} */ { holds }) => holds);
    assert.deepEqual([held, run.audit.mismatchCount], [[true, true, false], 0], 'no wallet is blamed');
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
