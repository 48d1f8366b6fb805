import { fateOf } from './fate.js';

/**
 * Looks after wallets whose operation did not verify: what became of it decides the wallet's next nonce. And after
 * operations that are overdue.
 *
 * @typedef {import('./operation.js').Operation} Operation
 * @typedef {import('../metrics/sample.js').Sample} Sample
 */

/** First and longest pause before a wallet whose operation failed is used again, in milliseconds. */
export const REPAIR_PAUSE_MS = Object.freeze([50, 5000]);

/** An accepted operation that is in no block after this time is looked after, some of them at a time. */
const OVERDUE_MS = 3000;
const LOOK_AFTER_AT_ONCE = 100;

/** How many transactions are tried for one nonce before the wallet is given up. */
const MOST_HASHES = 20;

/**
 * Finds out what became of an operation and enters it into the ledger.
 * @param {import('./iteration.js').Tools} tools
 * @param {import('./ledger.js').Ledger} ledger
 * @param {Operation} operation
 * @param {Sample} sample
 * @param {AbortSignal} signal ends it; the audit resolves the operation then
 * @returns {Promise<string | null>} why the wallet cannot be used any more, or null
 */
export async function repair({ clock, rpc, txTimeoutMs, startBlock }, ledger, operation, sample, signal) {
  const { account } = operation;
  const [firstPauseMs, longestPauseMs] = REPAIR_PAUSE_MS;
  const deadlineUs = clock.nowUs() + txTimeoutMs * 1000;
  ledger.expect({ operation, sample });
  let pauseMs = Math.min(firstPauseMs * 2 ** (account.failuresInRow - 1), longestPauseMs);
  for (;;) {
    await clock.sleep(pauseMs, signal);
    if (signal.aborted) return null;
    const decision = await fateOf(rpc, operation, 'resolve', startBlock).catch(() => null);
    if (signal.aborted) return null;
    if (decision !== null && decision.fate !== 'pending') {
      ledger.settle(operation, sample, decision);
      return whyUnusable(operation, sample);
    }
    if (clock.nowUs() > deadlineUs) return 'its last transaction is stuck';
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

/** @param {Operation} operation @param {Sample} sample @returns {string | null} */
function whyUnusable({ account, nonce }, { code }) {
  if (code === 'insufficient_funds') return 'it has no funds left';
  if (code === 'wrong_count') return 'its counter has a count that it should not have';
  const undecided = account.slotOf(nonce)?.undecided ?? null;
  return (undecided?.operation.hashes.length ?? 0) >= MOST_HASHES ? 'its transactions do not arrive' : null;
}

/**
 * A transaction whose nonce was taken by another one never comes, nor does one that the node has dropped: where others
 * wait behind it, that is found out here, and not by the time-out.
 * @param {import('./iteration.js').Tools} tools
 * @param {Set<Operation>} live
 * @param {AbortSignal} signal
 */
export async function lookAfterOverdue({ clock, rpc, startBlock }, live, signal) {
  for (let round = 0; !signal.aborted; round += 1) {
    await clock.sleep(OVERDUE_MS, signal);
    const oldestUs = clock.nowUs() - OVERDUE_MS * 1000;
    const all = [...live].filter(
      ({ acceptedAtUs, inclusion }) => inclusion === null && acceptedAtUs !== null && acceptedAtUs < oldestUs,
    );
    // Others each time, so that none is hidden for ever behind those that are just slow.
    const from = (round * LOOK_AFTER_AT_ONCE) % Math.max(all.length, 1);
    const overdue = [...all.slice(from), ...all.slice(0, from)].slice(0, LOOK_AFTER_AT_ONCE);
    // One batch tells whose nonce has moved on; only those cost more.
    const requests = overdue.map(({ account }) => ({
      method: 'eth_getTransactionCount',
      params: [account.wallet.address, 'latest'],
    }));
    const nonces = await rpc.batch(requests, 'resolve').catch(() => []);
    for (const operation of overdue.filter(({ nonce }, i) => Number(nonces[i]) > nonce)) {
      const decision = await fateOf(rpc, operation, 'resolve', startBlock).catch(() => null);
      if (decision?.fate === 'replaced') operation.end('failed', 'replaced', clock.nowUs());
    }
    // One that the node has dropped holds up all that are behind it.
    const first = overdue.filter(({ account, nonce }, i) => account.slots.length > 1 && Number(nonces[i]) === nonce);
    const known = await rpc
      .batch(
        first.map(({ hash }) => ({ method: 'eth_getTransactionByHash', params: [hash] })),
        'resolve',
      )
      .catch(() => first);
    for (const operation of first.filter((_, i) => known[i] === null)) {
      const decision = await fateOf(rpc, operation, 'resolve', startBlock).catch(() => null);
      if (decision?.fate === 'never_sent') operation.end('failed', 'lost', clock.nowUs());
    }
  }
}
