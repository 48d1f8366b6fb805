import { byCode, counted, partOf, seconds } from '../text.js';

/**
 * The warning of a load in which nothing is verified for a while, with the likely reason. It is printed once.
 *
 * @import { Snapshot } from '../contracts/load.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 *
 * @typedef {object} Seen of an interval
 * @property {number} ms its length
 * @property {number} verified
 * @property {number} ended without being verified
 * @property {number} inFlight
 * @property {number} blocks
 * @property {number} aboveMaxFee those with a base fee above --max-fee
 * @property {number} stillMs since the last block
 * @property {boolean} isSilent the endpoint does not answer: another warning states that
 * @property {Record<string, number>} failures by code
 * @property {number} spanMs over which operations are usually spread
 * @property {Pick<RunFile['generator'], 'refusals' | 'resubmissions'> & Pick<RunFile, 'failureWords'>} generator of the run so far
 */

/** Shortest time without a verified operation before the warning: an interval of the default length ends some milliseconds sooner or later. */
const LONG_MS = 4900;
/** The same as a multiple of the usual duration of an operation: the longer of both counts. */
const USUAL = 3;
/** Share of the time without a block from which on the missing blocks are the reason. */
const NO_BLOCK = 0.7;
/** Share of the blocks with a base fee above --max-fee from which on the fee is the reason. */
const ABOVE = 0.5;

export class Standstill {
  #ms = 0;
  #blocks = 0;
  #aboveMaxFee = 0;
  /** @type {Record<string, number>} */
  #failures = {};
  #hasSaid = false;

  /** @param {Seen} seen @returns {string | null} words: at most once */
  add(seen) {
    if (seen.verified > 0 || seen.isSilent || seen.inFlight + seen.ended === 0) {
      [this.#ms, this.#blocks, this.#aboveMaxFee, this.#failures] = [0, 0, 0, {}];
      return null;
    }
    this.#ms += seen.ms;
    this.#blocks += seen.blocks;
    this.#aboveMaxFee += seen.aboveMaxFee;
    for (const [code, count] of Object.entries(seen.failures))
      this.#failures[code] = (this.#failures[code] ?? 0) + count;
    if (this.#hasSaid || this.#ms < Math.max(LONG_MS, USUAL * seen.spanMs)) return null;
    this.#hasSaid = true;
    return `nothing was verified for ${seconds(this.#ms)}: ${this.#why(seen)}`;
  }

  /** @param {Seen} seen */
  #why({ stillMs, inFlight, generator: { refusals = {}, resubmissions, failureWords } }) {
    const [code] = Object.keys(this.#failures);
    if (code !== undefined) return `${byCode(this.#failures)}${failureWords[code] ? ` ("${failureWords[code]}")` : ''}`;
    const waiting = `${counted(inFlight, 'operation')} in flight`;
    if (this.#aboveMaxFee > 0 && this.#aboveMaxFee >= ABOVE * this.#blocks)
      return `${partOf(this.#aboveMaxFee, this.#blocks, 'block')} had a base fee above --max-fee; ${waiting}`;
    const [refused] = Object.values(refusals).sort((a, b) => b.count - a.count);
    if (stillMs >= NO_BLOCK * this.#ms) return `no new block was seen for ${seconds(stillMs)}, with ${waiting}`;
    if (refused !== undefined && refused.count >= inFlight) return `the node refuses transactions ("${refused.words}")`;
    if ((resubmissions.lost ?? 0) >= inFlight)
      return `the node does not know the transactions any more that it accepted; ${waiting}`;
    return `${counted(this.#blocks, 'block')} came and had none of ${waiting}`;
  }
}
