/** --nonce-order, --duplicate-share and --replace-share on a chain: each nonce is in a block once, and the audit is exact. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { anvilFor } from '../helpers/anvil.js';
import { readRows } from '../helpers/rows.js';
import { runOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';

const chain = anvilFor('--accounts 40 --block-time 0.3');

test('transactions that start together are sent in the order of falling nonces', async (t) => {
  const file = join(temporaryFolder(t), 'samples.csv');
  const words = `--iterations 12 --in-flight 4 --nonce-order reversed --connections 1 --samples ${file}`;
  const { run, stdout } = await runOf(t, words, { chain, threads: 5 });
  assert.deepEqual([run.audit.exact, run.counts.verified], [true, 60]);
  assert.match(stdout, /^ {2}on purpose +nonces reversed$/m);
  /** @type {Record<string, any[]>} */
  const byWallet = {};
  for (const row of readRows(file)) (byWallet[row.wallet] ??= []).push(row);
  for (const rows of Object.values(byWallet)) {
    // These start in one turn; later ones as others end.
    const first = rows.sort((a, b) => a.nonce - b.nonce).slice(0, 4);
    const sent = first.toSorted((a, b) => a.sent_at_us - b.sent_at_us);
    assert.deepEqual(sent, first.toReversed());
  }
});

test('of a transaction and its replacement one is in a block, and a duplicate changes nothing', async (t) => {
  const words = '--iterations 8 --in-flight 2 --duplicate-share 100% --replace-share 50% --workers 2';
  const { run, stdout } = await runOf(t, words, { chain, threads: 10 });
  const { duplicates, duplicatesRefused, replacements, firstIncluded, replacementIncluded } = run.generator.storm;
  assert.deepEqual([run.audit.exact, run.counts.verified, duplicates + duplicatesRefused], [true, 80, 80]);
  assert.ok(replacements > 0);
  assert.equal(firstIncluded + replacementIncluded, replacements);
  assert.match(stdout, /^ {2}on purpose +[\d,]+ duplicates taken by the node and \d+ refused; \d+ replacements /m);
});
