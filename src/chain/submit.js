import { ProtocolError, RpcError, TransportError } from '../errors.js';
import { maxPriceWei, tipOf } from './fees.js';
import { PASSING, submissionRefusalOf } from './refusals.js';
import { backOffMs, isLimit, isLost } from './retries.js';

/**
 * Submits a transaction and repeats it while the outcome is unknown. After a lost response the same bytes are sent
 * again: the hash identifies the transaction, and a chain includes it only once. Set-up, refills and load send this way.
 *
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { Fee, RefusalClass, StatedPrice, Taken } from '../contracts/chain.d.ts'
 * @import { Refusal } from './refusals.js'
 *
 * @typedef {object} Submission a transaction on its way, and what its sender allows
 * @property {boolean} isUnsure the node may have it, or another one with its nonce, although it refuses it
 * @property {boolean} isOver it is in a block, or not wanted any more
 * @property {(pauseMs: number) => boolean} isLate after this pause it is not sent again: the chain is asked for the last time
 * @property {() => number} waitMs what the endpoint has asked for (Retry-After)
 * @property {(tries: number, isRaised: boolean) => Promise<unknown>} send
 * @property {(answer: unknown) => void} accept throws unless the node has taken this transaction
 * @property {(error: unknown, refusal: RefusalClass | null) => void} noteError refusal: null without an error answer
 * @property {(ms: number, why: 'limitedMs' | 'unansweredMs', refusal?: RefusalClass | null) => Promise<unknown>} pause after
 *   a limit per sender it lasts until it is the operation's turn
 * @property {() => boolean} isTaken whether the node has just taken another one with such an offer
 * @property {(stated: StatedPrice) => boolean | Promise<boolean>} raiseOffer offers more for its gas; false: it cannot
 * @property {() => Promise<boolean>} find whether the node has it
 * @property {(refusal: RefusalClass, refusedAtUs: number) => boolean} mayPass whether time may mend a refusal that is final otherwise
 */

/** Lookups of the own transaction when the node reports its nonce as used. */
const MAX_LOOKUPS = 5;

/** Refusals that the node makes before it looks at the transaction, or at the first sending of one. @type {ReadonlySet<RefusalClass>} */
export const NOT_ARRIVED = new Set(
  /** @type {const} */ (['rate_limit', 'starting', 'funds', 'price', 'pool_full', 'sender_limit']),
);

/** Offers of one submission after refusals for the price: all steps that fees allow, and one that other submissions have made. */
const MAX_RAISES = 8;

/** A refusal that no row of the table knows is tried again so often, and so much later. */
const UNKNOWN = Object.freeze({ tries: 2, pauseMs: 250 });

/** So long an offer that the node has taken tells what it takes: a full pool may have room after the next block only. */
const TAKEN_MS = 15_000;

/** @param {Clock} clock @returns {Taken} */
export function createTaken(clock) {
  /** @type {Fee | null} */
  let last = null;
  let lastUs = -Infinity;
  return {
    note: (offer, atUs) => {
      if (offer === null) return;
      last = offer;
      lastUs = atUs;
    },
    // Offers follow the base fee; what is raised by itself doubles.
    isLike: (offer) =>
      last !== null &&
      clock.nowUs() - lastUs <= 1000 * TAKEN_MS &&
      2n * maxPriceWei(offer) > maxPriceWei(last) &&
      2n * tipOf(offer) > tipOf(last),
  };
}

/** Words of the price may be those of a full pool. @param {Refusal} answer @param {() => boolean} isTaken @returns {RefusalClass} */
export function meaningOf({ is, mayBeFull }, isTaken) {
  return mayBeFull && isTaken() ? 'pool_full' : is;
}

/** The node refuses the nonce: of this transaction, or of another one. @param {RefusalClass | null} refusal */
export function isNonceUsed(refusal) {
  return refusal === 'nonce_low' || refusal === 'replacement';
}

/**
 * @param {Submission} submission
 * @param {{clock: Clock, random: () => number}} tools random from 0 to 1
 * @returns {Promise<void>} resolves when the node has it, or it is over; rejects with the node's error
 */
export async function submit(submission, { clock, random }) {
  let failedLookups = 0;
  /** When the node refused it for the first time although time cannot mend that. */
  let refusedAtUs = Infinity;
  let raises = 0;
  let isRaised = false;
  let unknowns = 0;
  for (let tries = 0; ; tries += 1) {
    const waitMs = submission.waitMs();
    if (waitMs > 0) await submission.pause(waitMs, 'limitedMs');
    if (submission.isOver) return;
    try {
      return submission.accept(await submission.send(tries, isRaised));
    } catch (error) {
      const answer = error instanceof RpcError ? submissionRefusalOf(error) : null;
      const refusal = answer === null ? null : meaningOf(answer, () => submission.isTaken());
      if (refusal === 'known' || submission.isOver) return;
      submission.noteError(error, refusal);
      isRaised = false;
      const pauseMs = backOffMs(tries, random);
      const isLate = submission.isLate(pauseMs);
      let hasPaused = false;
      const backOff = () => {
        hasPaused = true;
        return submission.pause(pauseMs, isLimit(error) ? 'limitedMs' : 'unansweredMs', refusal);
      };
      if (refusal === 'price' && (raises += 1) <= MAX_RAISES && (await submission.raiseOffer(answer?.stated ?? {})))
        isRaised = true;
      else if (isLate || !isTransient(error, refusal)) {
        // The chain decides: the words may be those of a node that has the transaction.
        const mayHaveArrived = refusal === null ? isLate : submission.isUnsure || !NOT_ARRIVED.has(refusal);
        if (mayHaveArrived) {
          if (!isLate) await backOff();
          if (submission.isOver || (await submission.find())) return;
        }
        refusedAtUs = Math.min(refusedAtUs, clock.nowUs());
        const isUsed = isNonceUsed(refusal);
        const isUnclear = answer?.isUnknown === true && (unknowns += 1) <= UNKNOWN.tries;
        if (isUnclear) await submission.pause(UNKNOWN.pauseMs, 'unansweredMs');
        const mayPass = isUsed
          ? submission.isUnsure
          : isUnclear || (refusal !== null && submission.mayPass(refusal, refusedAtUs));
        if (isLate || !mayPass || (isUsed && (failedLookups += 1) > MAX_LOOKUPS)) throw error;
      }
      submission.isUnsure ||= !(error instanceof TransportError && error.code === 'transport_refused');
      if (!hasPaused) await backOff();
    }
  }
}

/** @param {unknown} error @param {RefusalClass | null} refusal */
function isTransient(error, refusal) {
  return refusal === null ? error instanceof ProtocolError || isLost(error) : PASSING.has(refusal);
}
