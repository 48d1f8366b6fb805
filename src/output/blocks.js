import { RowFile } from './rows.js';

/** @import { Output, OutputOptions } from './index.js' */

/** The columns, for good: docs/outputs.md says what is in each. */
export const BLOCK_COLUMNS = Object.freeze([
  ...['number', 'seen_at_ms', 'timestamp_s', 'transactions', 'ours', 'gas_used', 'gas_limit', 'hash'],
]);

/**
 * A row for each block that came during the load and the drain.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createBlocksOutput({ blocks }) {
  const file = new RowFile(/** @type {string} */ (blocks), BLOCK_COLUMNS);
  return {
    notice: () => {},
    wantsSamples: false,
    sample: () => {},
    open: () => file.check(),
    start: () => file.beginRows(),
    block: ({ number, seenAtMs, timestampS, transactions, ours, gasUsed, gasLimit, hash }) =>
      file.addRow([number, seenAtMs, timestampS, transactions, ours, gasUsed, gasLimit, hash]),
    interval: () => file.cut(),
    settle: async () => {
      await file.settle();
      return { error: file.wholeError };
    },
    finish: () => file.finishWhole(),
    close: () => file.close(),
  };
}
