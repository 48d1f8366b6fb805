/**
 * @import { StressError } from '../errors.js'
 * @import { Output as OutputContract, OutputConfig } from '../types.d.ts'
 * @import { OutputStream } from './streams.js'
 * @import { StatusLine } from './terminal.js'
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
 * @typedef {object} Shared what outputs are given beside the options
 * @property {OutputStream} stream for text
 * @property {StatusLine} [status] for the running interval
 * @property {Record<string, string>} info what the run is, in a word each, for readers who have not seen its command line
 * @property {{runId: string | null, index: number | null, instances: number | null, attempt?: number} | null} instance which
 *   instance of a larger run this is, for figures and files that are put beside those of the others
 *
 * @typedef {OutputConfig & {results: string | null} & Shared} OutputOptions
 */

/**
 * An output that does nothing: each one has the members that it needs, and these for the rest. The type says when each is
 * called.
 *
 * @implements {OutputContract}
 */
export class Output {
  wantsSamples = false;
  /** @type {OutputContract['notice']} */
  notice = () => {};
  /** @type {OutputContract['sample']} */
  sample = () => {};
  /** @type {OutputContract['interval']} */
  interval = () => {};
  /** @type {OutputContract['finish']} */
  finish = () => {};

  /** @param {Partial<OutputContract>} members */
  constructor(members) {
    Object.assign(this, members);
  }
}
