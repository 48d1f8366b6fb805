import { createTextOutput } from './console.js';
import { createHlogOutput } from './hlog.js';
import { createJsonOutput, createResultLineOutput, createResultsOutput } from './json.js';
import { createJunitOutput } from './junit.js';
import { createPrometheusOutput } from './prometheus.js';
import { createBlocksOutput, createSamplesOutput } from './rows.js';

/**
 * @import { StressError } from '../errors.js'
 * @import { Address, DistributionJson, IntervalRow, Output, RunFile, Sample, Stage } from '../types.d.ts'
 * @import { OutputStream } from './streams.js'
 */

/**
 * An output shows or keeps what a run reports. It decides nothing.
 *
 * @typedef {object} ClockFacts
 * @property {number} startUs start of the load on the run's clock
 * @property {number} startedAtMs time of day then
 * @property {boolean} [isPlain] whether the operations are plain calls
 *
 * @typedef {object} BlockFacts
 * @property {number} number
 * @property {number} seenAtMs time of day
 * @property {number} timestampS its own
 * @property {number} transactions
 * @property {number} ours
 * @property {number} gasUsed
 * @property {number} gasLimit
 * @property {string} hash
 *
 * @typedef {object} Settled
 * @property {number} [samplesDropped] samples that are not in the file
 * @property {StressError | null} [error] why not all of it could be written; finish() throws it again
 *
 * They are called in this order; what is optional need not be there.
 *
 * @typedef {object} OutputOptions
 * @property {OutputStream} stream for text
 * @property {boolean} verbose each verified operation on a line
 * @property {boolean} explain the definition of each figure after the summary
 * @property {string | null} out where the run file goes; '-' for standard output
 * @property {string | null} junit where the test cases for a CI server go
 * @property {string | null} samples where the samples go
 * @property {string | null} blocks where the blocks go
 * @property {string | null} hlog where the histograms go
 * @property {Address | null} prometheus where the page for Prometheus is
 * @property {Record<string, string>} info what the run is, in a word each, for whoever has not seen its command line
 * @property {string | null} [results] folder for the run file of this instance
 * @property {{runId: string | null, index: number | null, instances: number | null, attempt?: number} | null} [instance] which
 *   instance of a larger run this is, for figures and files that are put beside those of the others
 */

/** @type {Record<string, (options: OutputOptions) => Output>} */
export const outputs = {
  text: createTextOutput,
  json: createJsonOutput,
  junit: createJunitOutput,
  samples: createSamplesOutput,
  blocks: createBlocksOutput,
  hlog: createHlogOutput,
  prometheus: createPrometheusOutput,
  results: createResultsOutput,
  'result line': createResultLineOutput,
};
