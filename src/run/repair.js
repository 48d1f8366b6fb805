import { fateOf } from './fate.js';
import { isDue, overdueAfterMs, push } from './push.js';

/**
 * @import { Sample } from '../metrics/sample.js'
 * @import { Decision } from './fate.js'
 * @import { Tools } from './iteration.js'
 * @import { Ledger, Open } from './ledger.js'
 * @import { Operation } from './operation.js'
 * @import { Remembered } from './past.js'
 */

/**
 * Looks after wallets whose operation did not verify, or left the chain again: what became of it decides the wallet's
 * next nonce.
 */

/** First and longest pause before a wallet whose operation failed is used again, in milliseconds. */
export const REPAIR_PAUSE_MS = Object.freeze([50, 5000]);

/** How many transactions are tried for one nonce before the wallet is given up. */
const MOST_HASHES = 20;

/**
 * Finds out what became of an operation and enters it into the ledger.
 * @param {Tools} tools
 * @param {Ledger} ledger
 * @param {Operation} operation
 * @param {Sample} sample
 * @param {AbortSignal} signal ends it; the audit resolves the operation then
 * @returns {Promise<string | null>} why the wallet cannot be used any more, or null
 */
export async function repair(tools, ledger, operation, sample, signal) {
  const { account } = operation;
  ledger.expect({ operation, sample });
  const pauseMs = REPAIR_PAUSE_MS[0] * 2 ** (account.failuresInRow - 1);
  return watchFate(tools, operation, pauseMs, signal, async (decision) => {
    if (decision.fate === 'pending') {
      // What is stuck in the pool is helped, so that the wallet can go on.
      if (isDue(operation, tools.clock.nowUs(), overdueAfterMs(tools))) await push(tools, operation);
      return false;
    }
    ledger.settle(operation, sample, decision);
    return true;
  }).then((isStuck) => (isStuck ? 'its last transaction is stuck' : whyUnusable(operation, sample)));
}

/**
 * Sees to it that operations of a wallet that were in a block get into one again: the node puts them back into its pool,
 * or is sent the same bytes once more. The chain takes nonces in order, so the first that is open tells of all.
 * @param {Tools} tools
 * @param {Ledger} ledger
 * @param {Remembered[]} orphans of one wallet, in the order of their nonces; the ledger expects them
 * @param {AbortSignal} signal as above
 * @returns {Promise<string | null>} as above
 */
export async function revive(tools, ledger, orphans, signal) {
  const open = [...orphans];
  const sendAll = async () => {
    for (const { operation } of open) if (!signal.aborted) await push(tools, operation);
  };
  // A node that has put them back into its pool knows them already.
  await sendAll();
  let sentAgain = 1;
  for (let [first] = open; first !== undefined && !signal.aborted; [first] = open) {
    const { operation, sample } = first;
    const pauseMs = open.length === orphans.length ? REPAIR_PAUSE_MS[0] : 0;
    const isStuck = await watchFate(tools, operation, pauseMs, signal, async (decision) => {
      if (decision.fate === 'pending') return false;
      if (decision.fate === 'never_sent' && (sentAgain += 1) <= MOST_HASHES) {
        await sendAll();
        return false;
      }
      ledger.settle(operation, sample, decision);
      return true;
    });
    if (isStuck) return 'its transactions left the chain and do not come back';
    open.shift();
  }
  return null;
}

/**
 * @param {Tools} tools
 * @param {Open['operation']} operation
 * @param {number} firstMs pause before the node is asked
 * @param {AbortSignal} signal
 * @param {(decision: Decision) => Promise<boolean>} onDecision true: that was it
 * @returns {Promise<boolean>} whether it was still not known when the time was over
 */
async function watchFate({ clock, rpc, txTimeoutMs, startBlock, patience }, operation, firstMs, signal, onDecision) {
  const [shortestPauseMs, longestPauseMs] = REPAIR_PAUSE_MS;
  const deadlineUs = clock.nowUs() + txTimeoutMs * 1000;
  let pauseMs = Math.min(firstMs, longestPauseMs);
  for (;;) {
    await clock.sleep(Math.max(pauseMs, patience.waitMs(clock.nowUs())), signal);
    if (signal.aborted) return false;
    const decision = await fateOf(rpc, operation, 'resolve', startBlock).catch((error) => {
      patience.heed(error, clock.nowUs());
      return null;
    });
    if (signal.aborted) return false;
    if (decision !== null && (await onDecision(decision))) return false;
    if (clock.nowUs() > deadlineUs) return true;
    pauseMs = Math.min(Math.max(pauseMs * 2, shortestPauseMs), longestPauseMs);
  }
}

/** @param {Operation} operation @param {Sample} sample @returns {string | null} */
function whyUnusable({ account, nonce }, { code }) {
  if (code === 'insufficient_funds') return 'it has no funds left';
  if (code === 'wrong_count') return 'its counter has a count that it should not have';
  const undecided = account.slotOf(nonce)?.undecided ?? null;
  return (undecided?.operation.hashes.length ?? 0) >= MOST_HASHES ? 'its transactions do not arrive' : null;
}
