import { call } from './call.js';
import { iterate } from './iteration.js';
import { lookAfterOverdue, push } from './push.js';
import { REPAIR_PAUSE_MS, repair, revive } from './repair.js';

/**
 * @import { Sample } from '../metrics/sample.js'
 * @import { Account } from './account.js'
 * @import { CallTools } from './call.js'
 * @import { Tools } from './iteration.js'
 * @import { Ledger } from './ledger.js'
 * @import { Operation } from './operation.js'
 * @import { Remembered } from './past.js'
 * @import { Pauses } from './submission.js'
 */

/**
 * What the driver needs to know of a kind of operation: how one starts, what is done about one that did not verify,
 * and what goes on beside them.
 *
 * @callback OnLost the chain no longer has what a wallet did from a nonce on
 * @param {Account} account
 * @param {number} nonce
 * @returns {void}
 *
 * @typedef {object} Course
 * @property {(operation: Operation) => void} begin ends the operation some time, on every path
 * @property {(operation: Operation, sample: Sample, signal: AbortSignal) => Promise<string | null>} mend
 *   after one that did not verify; gives why its wallet cannot be used any more, or null
 * @property {(operation: Operation) => void} remember one that was verified
 * @property {(blockNumber: number) => ReturnType<Ledger['reopen']>} reopen blocks from that one on have
 *   left the chain: gives those that had ended
 * @property {(operations: Operation[]) => Promise<void>} hasten those of a wallet that the node may have lost
 * @property {(orphans: Remembered[], signal: AbortSignal) => Promise<string | null>} revive those of a wallet that had; as mend
 * @property {(account: Account, nonce: number) => Remembered[]} reopenOf the same for what one wallet did from a nonce on
 * @property {(live: Set<Operation>, signal: AbortSignal, onLost: OnLost) => Promise<void>} watch until the signal aborts
 */

/**
 * Operations that are transactions: the chain tells what became of each.
 * @param {Tools} tools
 * @param {Ledger} ledger
 * @returns {Course}
 */
export function transactionCourse(tools, ledger) {
  return {
    begin: (operation) => iterate(tools, operation),
    mend: (operation, sample, signal) => repair(tools, ledger, operation, sample, signal),
    remember: ({ account, nonce, hashes, raw, inclusion }) => {
      const blockNumber = inclusion?.number ?? 0;
      ledger.past.add({ account, nonce, hashes, raw, blockNumber, outcome: 'verified', isExecuted: true });
    },
    reopen: (blockNumber) => ledger.reopen(blockNumber),
    hasten: async (operations) => {
      for (const operation of operations) {
        if (operation.acceptedAtUs === null || operation.inclusion !== null || operation.isCancelled) continue;
        operation.pushed.times = 0;
        await push(tools, operation);
      }
    },
    revive: (orphans, signal) => revive(tools, ledger, orphans, signal),
    reopenOf: (account, nonce) => ledger.reopenOf(account, nonce),
    watch: (live, signal, onLost) => lookAfterOverdue(tools, live, signal, onLost),
  };
}

/** Failures that are answers: whoever gives them is there, and can be asked the next thing at once. */
const ANSWERS = Object.freeze(['rpc_error', 'check_failed']);

/**
 * Operations that are plain calls: one that failed leaves nothing behind, but an endpoint that does not answer, or makes
 * no sense, is given a pause, and a longer one each time.
 * @param {CallTools & {pauses: Pauses}} tools
 * @returns {Course}
 */
export function callCourse({ clock, pauses: sums, ...tools }) {
  const [firstPauseMs, longestPauseMs] = REPAIR_PAUSE_MS;
  /** Pauses of a user since there was an answer. @type {Map<Account, number>} */
  const pauses = new Map();
  return {
    begin: (operation) => call({ clock, ...tools }, operation),
    mend: async ({ account, nonce, isRefusedForNow, isLimited }, { code }, signal) => {
      if (isLimited) sums.limitAnswers += 1;
      account.settle(nonce, 'spent');
      if (ANSWERS.includes(code ?? '') && !isRefusedForNow) {
        pauses.delete(account);
        return null;
      }
      // Several calls that fail for one reason are one failure.
      const before = pauses.get(account) ?? 0;
      const inRow = account.mending === 0 || before === 0 ? before + 1 : before;
      pauses.set(account, inRow);
      const fromUs = clock.nowUs();
      await clock.sleep(Math.min(firstPauseMs * 2 ** (inRow - 1), longestPauseMs), signal);
      const pausedMs = (clock.nowUs() - fromUs) / 1000;
      account.pausedMs += pausedMs;
      if (isLimited) sums.limitedMs += pausedMs;
      return null;
    },
    remember: ({ account }) => void pauses.delete(account),
    reopen: () => ({ orphans: [], isComplete: true, waiting: [] }),
    reopenOf: () => [],
    hasten: async () => {},
    revive: async () => null,
    watch: async () => {},
  };
}
