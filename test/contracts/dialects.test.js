/**
 * The whole program, but for its sockets, on a chain in memory that answers as public chains do: its figures are those of
 * the chain, its exit code is right, and it accuses nobody.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ACCUSATIONS, DIALECTS } from '../helpers/dialects.js';
import { simulatedRun } from '../helpers/simulated-run.js';

/** @import { Variant } from '../helpers/dialects.js' */

/** @param {Variant} variant */
async function check(variant) {
  const { args = '', exit = 0, isIncomplete = false, says = [], silent = [], runs, chain, env } = variant;
  const { code, words, run, executed } = await simulatedRun(args, variant, { runs, chain, env });
  assert.equal(code, exit, words);
  for (const pattern of says) assert.match(words, pattern);
  for (const pattern of [...ACCUSATIONS.filter((one) => one !== variant.admits), ...silent])
    assert.doesNotMatch(words, pattern);
  if (exit !== 0) return assert.equal(run, null);
  const { counts, audit, reorgs } = run;
  assert.equal(reorgs.count, 0);
  assert.ok(isIncomplete ? audit.result !== 'not_exact' : audit.exact, JSON.stringify(audit));
  assert.equal(counts.verified + audit.includedLate, executed, 'the counts are those of the receipts');
  assert.ok(counts.verified > 0);
  variant.check?.(run);
}

describe('a run on a chain that answers as', () => {
  for (const variant of [{ row: '-', name: 'geth does', words: 'geth' }, ...DIALECTS]) {
    const { row, name, on = ['memory'] } = /** @type {Variant} */ (variant);
    if (on.includes('memory')) it(`${row}. ${name}`, () => check(/** @type {Variant} */ (variant)));
  }
});
