import { call } from './call.js';
import { iterate } from './iteration.js';
import { REPAIR_PAUSE_MS, lookAfterOverdue, repair } from './repair.js';

/**
 * What the driver needs to know of a kind of operation: how one starts, what is done about one that did not verify,
 * and what goes on beside them.
 *
 * @typedef {import('./operation.js').Operation} Operation
 *
 * @typedef {object} Course
 * @property {(operation: Operation) => void} begin ends the operation some time, on every path
 * @property {(operation: Operation, sample: import('../metrics/sample.js').Sample, signal: AbortSignal) => Promise<string | null>} mend
 *   after one that did not verify; gives why its wallet cannot be used any more, or null
 * @property {(live: Set<Operation>, signal: AbortSignal) => Promise<void>} watch until the signal aborts
 */

/**
 * Operations that are transactions: the chain tells what became of each.
 * @param {import('./iteration.js').Tools} tools
 * @param {import('./ledger.js').Ledger} ledger
 * @returns {Course}
 */
export function transactionCourse(tools, ledger) {
  return {
    begin: (operation) => iterate(tools, operation),
    mend: (operation, sample, signal) => repair(tools, ledger, operation, sample, signal),
    watch: (live, signal) => lookAfterOverdue(tools, live, signal),
  };
}

/**
 * Operations that are plain calls: one that failed leaves nothing behind, but an endpoint that fails is given a pause.
 * @param {import('./call.js').CallTools} tools
 * @returns {Course}
 */
export function callCourse(tools) {
  const [firstPauseMs, longestPauseMs] = REPAIR_PAUSE_MS;
  return {
    begin: (operation) => call(tools, operation),
    mend: async ({ account, nonce }, _sample, signal) => {
      account.settle(nonce, 'spent');
      await tools.clock.sleep(Math.min(firstPauseMs * 2 ** (account.failuresInRow - 1), longestPauseMs), signal);
      return null;
    },
    watch: async () => {},
  };
}
