/** Payments that are reverted on a real chain. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startMinedChain } from '../helpers/anvil.js';
import { serveBetween } from '../helpers/endpoint.js';
import { readRows } from '../helpers/rows.js';
import { startOf } from '../helpers/run-of.js';

describe('payments and payloads', { concurrency: 2 }, () => {
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
});
