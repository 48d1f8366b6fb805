/** Refusals in the summary and on the page: by class, the most frequent first. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { merge } from '../../../src/stats/merge.js';
import { GENERATOR } from '../../../src/stats/metrics.js';
import { conditionsTable } from '../../../src/outputs/run-facts.js';
import { refusalsTable } from '../../../src/outputs/run-tables.js';

const FIXTURE = new URL('../../fixtures/runs-0.2/closed-loop.json', import.meta.url);

const REFUSALS = {
  nonce_high: { count: 2, words: 'nonce too high' },
  sender_limit: { count: 30, words: 'maximum number of transactions per sender reached' },
};

it('a line of the summary and a table of the page say what was refused, and what the node keeps', () => {
  const run = JSON.parse(readFileSync(FIXTURE, 'utf8'));
  Object.assign(run.generator, { refusals: REFUSALS, nodeLimits: { perWallet: 16, pool: 128 } });
  const rows = new Map(conditionsTable(run).rows.map(([label, words]) => [label, words]));
  assert.equal(
    rows.get('refused'),
    '30 sender_limit (maximum number of transactions per sender reached), 2 nonce_high',
  );
  assert.equal(
    rows.get('node keeps'),
    "the node takes about 16 transactions of a wallet at a time; the node's pool keeps about 128 transactions of this run",
  );
  assert.deepEqual(refusalsTable(run).rows, [
    ['sender_limit', '30', 'maximum number of transactions per sender reached'],
    ['nonce_high', '2', 'nonce too high'],
  ]);
});

it('those of threads add up; the first words and the lowest limit of a wallet stay', () => {
  const other = { refusals: { nonce_high: { count: 1, words: 'other' } }, nodeLimits: { perWallet: 15, pool: 60 } };
  const { refusals, nodeLimits } = merge(
    GENERATOR,
    { refusals: REFUSALS, nodeLimits: { perWallet: 16, pool: 64 } },
    other,
  );
  assert.deepEqual(refusals, { ...REFUSALS, nonce_high: { count: 3, words: 'nonce too high' } });
  assert.deepEqual(nodeLimits, { perWallet: 15, pool: 124 });
});
