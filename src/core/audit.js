import { indexRanges } from '../chain/funding.js';
import { isUnknownBlock } from '../chain/retries.js';
import { toHex, toNumber } from '../chain/rpc.js';
import { findMinedTransaction } from '../chain/send.js';
import { ProtocolError, RpcError, TransportError } from '../errors.js';
import { transactionStatusOf } from './transaction-status.js';

/**
 * @import { AuditReport, Check, Clock, Rpc, TransactionWorkload } from '../types.d.ts'
 * @import { Foreign, Ledger, UnresolvedOperation, Resolution } from './ledger.js'
 * @import { Account, Slot } from './nonces.js'
 */

/** @typedef {Awaited<ReturnType<typeof readAll>>} Reading */

/** Reads all counters and nonces at one block. @param {Pick<AuditOptions, 'rpc' | 'workload' | 'accounts'>} options */
export async function readAll({ rpc, workload, accounts }) {
  const block = await rpc.call('eth_getBlockByNumber', ['latest', false], 'audit');
  if (block === null) throw new ProtocolError(`${rpc.display} has no latest block`);
  const number = toNumber(block.number);
  const effects = await workload.audit(
    block.hash,
    number,
    accounts.map(({ reverted }) => reverted),
  );
  const nonces = await noncesAt(rpc, accounts, block.hash, number);
  const pendingNonces = await readNonces(rpc, accounts, 'pending');
  return { number, hash: /** @type {string} */ (block.hash), effects, nonces, pendingNonces };
}

/** @param {Rpc} rpc @param {Account[]} accounts @param {string | {blockHash: string}} block */
async function readNonces(rpc, accounts, block) {
  const answers = await rpc.batch(
    accounts.map(({ wallet }) => ({ method: 'eth_getTransactionCount', params: [wallet.address, block] })),
    'audit',
  );
  return answers.map(toNumber);
}

/** @param {Rpc} rpc @param {Account[]} accounts @param {string} blockHash @param {number} blockNumber */
async function noncesAt(rpc, accounts, blockHash, blockNumber) {
  try {
    return await readNonces(rpc, accounts, { blockHash });
  } catch (error) {
    if (!(error instanceof RpcError) || isUnknownBlock(error)) throw error;
    return readNonces(rpc, accounts, toHex(blockNumber)); // the node lacks EIP-1898
  }
}

/**
 * The audit compares the ledger of the run with the chain, wallet by wallet, at one block. It is exact if for every
 * wallet counter = start + verified + included late - reorged out, nonce = start + our included transactions, nothing
 * is pending, and all checks hold. It is not exact if a disagreement is proven that unresolved operations cannot
 * explain, otherwise incomplete.
 *
 * @typedef {object} Mismatch
 * @property {number} walletIndex
 * @property {string} address
 * @property {string | null} target
 * @property {string} expectedEffect
 * @property {string} effect
 * @property {number} expectedNonce
 * @property {number} nonce
 * @property {number} pendingNonce
 */

/** Mismatching wallets listed one by one, and those searched for foreign transactions. */
const LISTED = 100;
const SEARCHED = 50;

/** Statuses requested at once. */
const ASKED_AT_ONCE = 32;

const PAUSE_MS = 200;

/**
 * @typedef {object} AuditOptions
 * @property {Rpc} rpc
 * @property {Clock} clock
 * @property {TransactionWorkload} workload
 * @property {Account[]} accounts
 * @property {Ledger} ledger
 * @property {number} startBlock latest block when the load began
 * @property {number} timeoutMs longest wait for unresolved operations
 * @property {AbortSignal} signal ends the wait
 */

/**
 * A transaction can arrive late, even while the chain is read. So the audit repeats until all agree, nothing is
 * unresolved or the time is over.
 * @param {AuditOptions} options
 * @returns {Promise<AuditReport>}
 */
export async function audit(options) {
  const { clock, ledger, timeoutMs, signal } = options;
  const deadlineUs = clock.nowUs() + timeoutMs * 1000;
  for (;;) {
    const reading = await round(options).catch((error) => {
      // Blocks may be reorged meanwhile, and a restarted node may not have them yet.
      const mayPass = error instanceof RpcError || error instanceof ProtocolError;
      if (!mayPass || signal.aborted || clock.nowUs() > deadlineUs) throw error;
      return null;
    });
    if (reading === null) {
      await clock.sleep(PAUSE_MS, signal);
      continue;
    }
    const mismatches = compare(options, reading);
    const isReopened = reopenLost(options, reading);
    const isOpen =
      isReopened ||
      mismatches.some(({ nonce, pendingNonce }) => pendingNonce !== nonce) ||
      undecided(options).length > 0;
    const isAgreed = mismatches.length === 0 && ledger.unresolved.size === 0;
    if (isAgreed || !isOpen || signal.aborted || clock.nowUs() > deadlineUs) {
      await searchForForeign(options, mismatches);
      return describe(options, reading, mismatches, await reconcile(options, reading, mismatches));
    }
    await clock.sleep(PAUSE_MS, signal);
  }
}

/** @param {AuditOptions} options */
async function round(options) {
  await decideStatuses(options);
  await fillGaps(options);
  return readAll(options);
}

/**
 * If the chain has fewer transactions of a wallet than we found in blocks, a reorg has removed some.
 * @param {AuditOptions} options
 * @param {Reading} reading
 * @returns {boolean} whether operations are unresolved again
 */
function reopenLost({ ledger, accounts }, { nonces }) {
  let isReopened = false;
  for (const [i, account] of accounts.entries()) {
    if (nonces[i] >= account.wallet.nonce) continue;
    if (ledger.reopenOf(account, nonces[i]).length > 0) isReopened = true;
  }
  return isReopened;
}

/** Operations whose transaction may still be included. @param {AuditOptions} options */
function undecided({ ledger, accounts }) {
  const lost = accounts.flatMap(({ slots }) => slots.flatMap(({ undecided: open }) => open ?? []));
  return [...ledger.unresolved.values(), ...lost.filter(({ operation }) => !isOpenElsewhere(ledger, operation))];
}

/**
 * A later unresolved operation with the same nonce has all hashes of this one.
 * @param {Ledger} ledger
 * @param {UnresolvedOperation['operation']} operation
 */
function isOpenElsewhere(ledger, operation) {
  return ledger.unresolvedOf(operation.account, operation.nonce) !== null;
}

/** @param {AuditOptions} options */
async function decideStatuses(options) {
  const { rpc, ledger, startBlock } = options;
  const open = undecided(options);
  for (let at = 0; at < open.length; at += ASKED_AT_ONCE) {
    await Promise.all(
      open.slice(at, at + ASKED_AT_ONCE).map(async (one) => {
        const { operation, sample } = one;
        const decision = await transactionStatusOf(rpc, operation, 'audit', startBlock);
        if (decision.status === 'pending') return;
        if (one.isOrphan && decision.status === 'never_sent' && !one.isResubmitted && operation.raw !== null) {
          one.isResubmitted = true;
          await rpc.call('eth_sendRawTransaction', [operation.raw], 'resubmit').catch(() => null);
        } else ledger.settle(operation, sample, decision);
      }),
    );
  }
}

/**
 * Transactions behind a missing nonce would stay in the pool and block the wallet's next user. So the transaction with
 * the missing nonce is sent again.
 * @param {AuditOptions} options
 */
async function fillGaps({ rpc, accounts }) {
  const missing = accounts.filter(({ hasGap }) => hasGap).flatMap(({ slots }) => slots.flatMap(freeNonceBytes));
  for (let at = 0; at < missing.length; at += ASKED_AT_ONCE) {
    const part = missing.slice(at, at + ASKED_AT_ONCE);
    // Refused transactions stay unresolved.
    await Promise.all(part.map((raw) => rpc.call('eth_sendRawTransaction', [raw], 'resubmit').catch(() => null)));
  }
}

/** @param {Slot} slot */
function freeNonceBytes({ state, undecided: open }) {
  return state === 'free' ? (open?.operation.raw ?? []) : [];
}

/** Executed operations of a wallet by the ledger. @param {AuditOptions} options @param {number} position */
function claimed({ ledger, accounts }, position) {
  const { includedLate, reorgedOut } = accounts[position];
  return ledger.verifiedBy[position] + includedLate - reorgedOut;
}

/** @param {AuditOptions} options @param {Reading} reading @returns {Mismatch[]} */
function compare(options, { effects, nonces, pendingNonces }) {
  return options.accounts.flatMap((account, i) => {
    if (account.isWorkerDead) return [];
    const { start, now, target } = effects[i];
    const executed = claimed(options, i);
    const expectedEffect = start + BigInt(executed);
    const expectedNonce = account.startNonce + executed + account.reverted;
    if (now === expectedEffect && nonces[i] === expectedNonce && pendingNonces[i] === nonces[i]) return [];
    return {
      walletIndex: account.wallet.index,
      address: account.wallet.address,
      target,
      expectedEffect: String(expectedEffect),
      effect: String(now),
      expectedNonce,
      nonce: nonces[i],
      pendingNonce: pendingNonces[i],
    };
  });
}

/** Unresolved operations by position. @param {AuditOptions} options */
function unresolvedBy({ accounts, ledger }) {
  const counts = accounts.map(() => 0);
  for (const { operation } of ledger.unresolved.values()) counts[operation.account.position] += 1;
  return counts;
}

/**
 * The mismatches that unresolved operations cannot explain; pending transactions alone are no mismatch.
 * @param {AuditOptions} options
 * @param {Mismatch[]} mismatches
 */
function provenOf(options, mismatches) {
  const open = new Map(unresolvedBy(options).map((count, i) => [options.accounts[i].wallet.index, count]));
  return mismatches.filter(({ walletIndex, effect, expectedEffect, nonce, expectedNonce }) => {
    const unknown = open.get(walletIndex) ?? 0;
    return (
      Math.abs(Number(BigInt(effect) - BigInt(expectedEffect))) > unknown || Math.abs(nonce - expectedNonce) > unknown
    );
  });
}

/** @param {AuditOptions} options @param {Reading} reading @param {Mismatch[]} mismatches @returns {Promise<Check[]>} */
async function reconcile(options, { hash, number, nonces }, mismatches) {
  const { workload, accounts, ledger, startBlock, signal } = options;
  if (workload.reconcile === undefined) return [];
  const isOurs = accounts.every(({ reverted, isWorkerDead }) => reverted === 0 && !isWorkerDead);
  const snapshot = {
    blockHash: hash,
    blockNumber: number,
    startBlock,
    nonces,
    signal,
    startNonces: accounts.map(({ startNonce }) => startNonce),
    executed: accounts.map((_, i) => claimed(options, i)),
    reverted: accounts.map(({ reverted }) => reverted),
    undecided: unresolvedBy(options),
    areOurs: isOurs && mismatches.length === 0 && ledger.foreign.length === 0 && ledger.unresolved.size === 0,
  };
  return workload.reconcile(snapshot).catch((error) => {
    if (![RpcError, ProtocolError, TransportError].some((kind) => error instanceof kind)) throw error;
    const words = 'what the workload compares over all wallets';
    return [{ name: 'reconcile', words, expected: null, found: null, holds: null, why: error.message }];
  });
}

/** @param {AuditOptions} options @param {Mismatch[]} unproven @param {Check[]} checks */
function gapsOf({ accounts, ledger: { unresolved } }, unproven, checks) {
  const open = [...unresolved.values()].map(({ operation }) => operation.account.wallet.index);
  const waiting = unproven.map(({ walletIndex }) => walletIndex).filter((index) => !open.includes(index));
  const lost = accounts.filter(({ isWorkerDead }) => isWorkerDead).map(({ wallet }) => wallet.index);
  return [
    ...(lost.length === 0 ? [] : [`the worker of wallets ${indexRanges(lost)} died: what it sent is not known`]),
    ...(open.length === 0
      ? []
      : [
          `the status of ${open.length} operations of wallets ${indexRanges(open)} is unknown: they are pending, or the node does not report them`,
        ]),
    ...(waiting.length === 0 ? [] : [`wallets ${indexRanges(waiting)} have pending transactions`]),
    ...checks.filter(({ holds }) => holds === null).map(({ words, why }) => `${words}: ${why}`),
  ];
}

/**
 * @param {AuditOptions} options
 * @param {Reading} reading
 * @param {Mismatch[]} mismatches
 * @param {Check[]} checks
 * @returns {AuditReport}
 */
function describe(options, reading, mismatches, checks) {
  const { accounts, ledger, workload } = options;
  for (const { operation, sample } of [...ledger.unresolved.values()]) {
    ledger.settle(operation, sample, { status: 'pending', foreign: null });
  }
  const grown = reading.effects.map(({ start, now }) => now - start);
  const effectsOnChain = grown.reduce((sum, effects) => sum + effects, 0n);
  const atLeast = grown.reduce((sum, effects, i) => {
    const ours = BigInt(claimed(options, i));
    return sum + (ours < effects ? ours : effects);
  }, 0n);
  const { statusCounts, foreign, unresolved, resolutions } = ledger;
  const proven = new Set(provenOf(options, mismatches));
  const incomplete = gapsOf(
    options,
    mismatches.filter((mismatch) => !proven.has(mismatch)),
    checks,
  );
  const isProven = proven.size > 0 || foreign.length > 0 || checks.some(({ holds }) => holds === false);
  const result = isProven ? 'not_exact' : incomplete.length > 0 ? 'incomplete' : 'exact';
  return {
    exact: result === 'exact',
    result,
    incomplete,
    blockNumber: reading.number,
    blockHash: reading.hash,
    wallets: accounts.length,
    verified: ledger.verifiedBy.reduce((sum, count) => sum + count, 0),
    includedLate: statusCounts.included ?? 0,
    reverted: statusCounts.reverted ?? 0,
    reorgedOut: accounts.reduce((sum, account) => sum + account.reorgedOut, 0),
    neverSent: statusCounts.never_sent ?? 0,
    replaced: statusCounts.replaced ?? 0,
    pending: unresolved.size,
    effectsOnChain: String(effectsOnChain),
    bounds: { atLeast: String(atLeast), atMost: String(effectsOnChain) },
    mismatchCount: proven.size,
    mismatches: [...proven].slice(0, LISTED),
    foreign: foreign.slice(0, LISTED),
    resolutions,
    subject: workload.subject,
    checks,
  };
}

/**
 * A wallet with more nonces than ours: the transaction of the first other nonce is the proof of a foreign sender.
 * @param {AuditOptions} options
 * @param {Mismatch[]} mismatches
 */
async function searchForForeign({ rpc, ledger, accounts, startBlock }, mismatches) {
  const proven = new Set(ledger.foreign.map(({ walletIndex }) => walletIndex));
  const suspects = mismatches.filter(
    ({ walletIndex, nonce, expectedNonce }) => nonce > expectedNonce && !proven.has(walletIndex),
  );
  const byIndex = new Map(accounts.map((account) => [account.wallet.index, account]));
  for (const { walletIndex, nonce: next } of suspects.slice(0, SEARCHED)) {
    const account = /** @type {Account} */ (byIndex.get(walletIndex));
    const { wallet } = account;
    if (wallet.nonce >= next) continue;
    const mined = await findMinedTransaction(rpc, wallet.address, wallet.nonce, startBlock).catch(() => null);
    const open = ledger.unresolvedOf(account, wallet.nonce) ?? account.slotOf(wallet.nonce)?.undecided ?? null;
    const ours = open?.operation.hashes ?? [];
    if (mined !== null && !ours.includes(mined.hash)) ledger.addForeign({ walletIndex, nonce: wallet.nonce, ...mined });
  }
}
