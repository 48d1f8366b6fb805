/** --nonce-order, --duplicate-share and --replace-share on a chain: each nonce is in a block once, and the audit is exact. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Transaction } from 'ethers';
import { anvilFor } from '../helpers/anvil.js';
import { serveBetween } from '../helpers/endpoint.js';
import { readRows } from '../helpers/rows.js';
import { runOf } from '../helpers/run-of.js';
import { temporaryFolder } from '../helpers/temporary.js';

const chain = anvilFor('--accounts 40 --block-time 0.3');

test('transactions that start together are sent in the order of falling nonces', async (t) => {
  const file = join(temporaryFolder(t), 'samples.csv');
  const words = `--iterations 12 --in-flight 4 --nonce-order reversed --duplicate-share 0% --connections 1 --samples ${file}`;
  const { run, stdout } = await runOf(t, words, { chain, threads: 5 });
  assert.deepEqual([run.audit.exact, run.counts.verified], [true, 60]);
  assert.match(stdout, /^ {2}storm +nonces reversed, \d+ transactions sent before a lower nonce$/m);
  assert.ok(run.generator.storm.outOfOrder >= 15, 'the first four of each wallet start together');
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
  assert.match(stdout, /^ {2}storm +[\d,]+ duplicates taken by the node and \d+ not; \d+ replacements /m);
});

test('a transaction that the node takes and drops is lost, and no duplicate or replacement hides it', async (t) => {
  /** The wallet whose transactions with this nonce are dropped. @type {string | null} */
  let sender = null;
  let dropped = 0;
  const proxy = await serveBetween(chain.url, ({ method, params }) => {
    if (method !== 'eth_sendRawTransaction') return null;
    const { from, nonce, hash } = Transaction.from(String(params?.[0]));
    if (nonce !== 3) return null;
    sender ??= from;
    if (from !== sender) return null;
    dropped += 1;
    return { result: hash };
  });
  const words = '-d 3s --duplicate-share 100% --replace-share 100% --tx-timeout 1500ms --drain-timeout 3s';
  const { run } = await runOf(t, words, { chain, rpc: proxy.url, threads: 5 });
  const { counts, failures, audit } = run;
  assert.ok(dropped > 1, 'its duplicate or its replacement as well');
  assert.ok(failures.lost > 0);
  assert.equal(counts.failed, failures.lost);
  assert.deepEqual([audit.exact, audit.neverSent], [true, failures.lost]);
  const lost = audit.resolutions.filter((/** @type {any} */ { code }) => code === 'lost');
  for (const { walletIndex, nonce, fate } of lost)
    assert.deepEqual([walletIndex, nonce, fate], [lost[0].walletIndex, 3, 'never_sent']);
});
