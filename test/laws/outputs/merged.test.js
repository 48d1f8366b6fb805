import assert from 'node:assert/strict';
import { it } from 'node:test';
import { instancesTable, overviewTable } from '../../../src/outputs/run-tables.js';
import { exactAudit, runFileOf } from '../../helpers/samples.js';

/** @import { Merged, MergedInstance } from '../../../src/contracts/run-file.d.ts' */

it('a merge says of what is unknown that it is, and why; it has no blank cell and no dash', () => {
  const run = runFileOf({ audit: exactAudit() });
  const instance = /** @type {MergedInstance} */ (
    /** @type {unknown} */ ({
      ...{ index: null, attempt: 0, offset: 0, threads: 10, host: null, partial: false, end: 'duration' },
      ...{ windowStartedAt: '2026-01-01T00:00:00.000Z', durationMs: 0, verifiedPerSecond: null },
      ...{ counts: run.counts, auditExact: null, auditResult: null },
    })
  );
  /** @param {Partial<MergedInstance>[]} all */
  const tableOf = (all) =>
    instancesTable({
      ...run,
      merged: /** @type {Merged} */ ({ instances: all.map((one) => ({ ...instance, ...one })) }),
    });
  const known = { index: 1, durationMs: 6000, verifiedPerSecond: 9.847, host: 'a' };
  const { rows, notes, columns } = tableOf([known, {}]);
  for (const cell of rows.flat()) assert.doesNotMatch(cell, /^-?$/);
  assert.deepEqual(
    rows.map((cells) => [cells[0], cells[2], cells[6], cells[8]]),
    [
      ['1', '00:00:00.000', '9.85', 'a'],
      ['no index', 'no window', 'unknown', 'not stated'],
    ],
  );
  assert.deepEqual(notes, ['TPS is unknown where an instance has no window, or no report of it']);
  assert.equal(columns.at(-1), 'host');
  assert.equal(tableOf([{ ...known, host: null }]).columns.at(-1), 'audit');

  const why = 'the windows of the instances do not overlap';
  const rates = { ...run.rates, askedPerSecond: 30, achievedPerSecond: null };
  const [rate] = overviewTable({ ...run, rates, unmeasured: { '/rates/achievedPerSecond': why } }).rows;
  assert.deepEqual(rate, ['rate', 'unknown', `30 per second were asked for; ${why}`]);
});
