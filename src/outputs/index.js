import { createTextOutput } from './console.js';
import { createHlogOutput } from './hlog.js';
import { createJsonOutput, createResultLineOutput, createResultsOutput } from './json.js';
import { createJunitOutput } from './junit.js';
import { createPrometheusOutput } from './prometheus.js';
import { createBlocksOutput, createSamplesOutput } from './rows.js';

/**
 * @import { StressError } from '../errors.js'
 * @import { DistributionJson } from '../stats/histogram.js'
 * @import { IntervalRow } from '../stats/intervals.js'
 * @import { RunFile } from '../stats/run-file.js'
 * @import { Sample, Stage } from '../stats/sample.js'
 * @import { OutputStream } from './streams.js'
 */

/**
 * An output shows or keeps what a run reports. It decides nothing.
 *
 * @typedef {object} Totals of the run so far, and what the row of an interval has no room for
 * @property {number} attempts
 * @property {number} verified
 * @property {number | null} runTps verified operations per second since the start; null for the drain
 * @property {Record<Stage, DistributionJson>} stages of the operations verified in the interval
 * @property {DistributionJson} [censored] the time waited for those that ended in the interval
 *   without a good answer in time; row.latency is of the others
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
 * @typedef {object} Output
 * @property {() => Promise<void>} [open] before the set-up: takes its port, sees whether its file can be written; a
 *   StressError if not
 * @property {(clock: ClockFacts) => void} [start] once, before the load
 * @property {(line: string) => void} notice one line worth knowing
 * @property {boolean} wantsSamples false: it does nothing with them, so that they need not be brought to it
 * @property {(sample: Sample) => void} sample called for every iteration: cheap
 * @property {(block: BlockFacts) => void} [block] every new block, once and in order
 * @property {(row: IntervalRow, totals: Totals) => void} interval
 * @property {(run: RunFile) => void | Promise<void>} [checkpoint] now and then from the beginning of the load on,
 *   with what is known so far, in case that the run does not come to its end; a StressError if it cannot be kept
 * @property {() => void} [discard] nothing was loaded: what a checkpoint wrote goes
 * @property {() => Promise<Settled>} [settle] after the last sample and the last interval, before the run file is made: writes what is left,
 *   waits no longer than 5 s for it, and says what was dropped
 * @property {(run: RunFile) => void | Promise<void>} finish
 * @property {(run: RunFile) => void | Promise<void>} [setUpFailed] in place of finish where there was
 *   no load, because the endpoint or what is needed there was missing, or going on could have done harm
 * @property {() => Promise<void>} [close] at the very end, also after errors: gives back ports and files; never throws
 *
 * @typedef {{host: string, port: number}} Address
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
