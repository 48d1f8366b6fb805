import { RowFile } from './console.js';

/**
 * @import { Output } from '../types.d.ts'
 * @import { OutputOptions } from './index.js'
 */

/** The columns, for good: docs/outputs.md says what is in each. */
export const SAMPLE_COLUMNS = Object.freeze([
  ...['wallet', 'nonce', 'hash', 'outcome', 'code', 'intended_at_us', 'started_at_us', 'sent_at_us'],
  ...[
    'accepted_at_us',
    'included_at_us',
    'ended_at_us',
    'block',
    'effect',
    'target',
    'name',
    'endpoint',
    'visible_at_us',
  ],
]);

/**
 * A row for each operation, also of the warm-up and of the drain. Instants are microseconds since the start of the load.
 * @param {OutputOptions} options
 * @returns {Output}
 */
export function createSamplesOutput({ samples }) {
  const file = new RowFile(/** @type {string} */ (samples), SAMPLE_COLUMNS);
  let startUs = 0;
  /** @param {number | null} atUs */
  const since = (atUs) => (atUs === null ? null : atUs - startUs);
  return {
    notice: () => {},
    wantsSamples: true,
    open: () => file.check(),
    start: (clock) => {
      startUs = clock.startUs;
      file.beginRows();
    },
    sample: (sample) =>
      file.addRow([
        ...[sample.walletIndex, sample.nonce, sample.hash, sample.outcome, sample.code],
        ...[since(sample.intendedAtUs), since(sample.startedAtUs), since(sample.sentAtUs)],
        ...[since(sample.acceptedAtUs), since(sample.includedAtUs), since(sample.endedAtUs)],
        ...[sample.blockNumber, sample.effect, sample.target, sample.name, sample.endpoint],
        since(sample.visibleAtUs),
      ]),
    interval: () => file.cut(),
    settle: async () => ({ samplesDropped: await file.settle(), error: file.error }),
    finish: () => file.finish(),
    close: () => file.close(),
  };
}

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
