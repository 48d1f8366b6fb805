import { ask, headerAt, nonceOf, pendingNonces } from '../chain/answers.js';
import { readAtBlock } from '../chain/retries.js';
import { findMinedTransaction } from '../chain/send.js';
import { ProtocolError, RpcError, TransportError } from '../errors.js';
import { counted, indexRanges } from '../text.js';
import { transactionStatusOf } from './transaction-status.js';

/**
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { Check, TransactionWorkload, WalletPayments } from '../contracts/load.d.ts'
 * @import { AuditReport, Mismatch } from '../contracts/run-file.d.ts'
 * @import { Ledger } from './ledger.js'
 * @import { Account } from './nonces.js'
 */

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
 * @property {WalletPayments | null} [paid] to the wallets during the load; null: nothing
 *
 * @typedef {Awaited<ReturnType<Audit['readAll']>>} Reading
 */

/** Mismatching wallets listed one by one, and those searched for foreign transactions. */
const LISTED = 100;
const SEARCHED = 50;

/** Statuses requested at once. */
const ASKED_AT_ONCE = 32;

const PAUSE_MS = 200;

/**
 * The audit compares the ledger of the run with the chain, wallet by wallet, at one block. It is exact if for every
 * wallet counter = start + verified + included late - reorged out, nonce = start + our included transactions, nothing
 * is pending, and all checks hold. It is not exact if a disagreement is proven that unresolved operations cannot
 * explain, otherwise incomplete.
 *
 * A transaction can arrive late, even while the chain is read. So the audit repeats until all agree, nothing is
 * unresolved or the time is over.
 * @param {AuditOptions} options
 * @returns {Promise<AuditReport>}
 */
export async function audit(options) {
  return new Audit(options).run();
}

class Audit {
  #options;
  #rpc;
  #accounts;
  #ledger;

  /** @param {AuditOptions} options */
  constructor(options) {
    this.#options = options;
    this.#rpc = options.rpc;
    this.#accounts = options.accounts;
    this.#ledger = options.ledger;
  }

  /** @returns {Promise<AuditReport>} */
  async run() {
    const { clock, timeoutMs, signal } = this.#options;
    const deadlineUs = clock.nowUs() + timeoutMs * 1000;
    for (;;) {
      const isLast = () => signal.aborted || clock.nowUs() > deadlineUs;
      const reading = await this.#round().catch((error) => {
        // Blocks may be reorged meanwhile, and a restarted node may not have them yet.
        const mayPass = error instanceof RpcError || error instanceof ProtocolError;
        if (!mayPass || isLast()) throw error;
        return null;
      });
      if (reading !== null) {
        const mismatches = this.#compare(reading);
        const isReopened = this.#reopenLost(reading);
        const isPending = mismatches.some(({ nonce, pendingNonce }) => pendingNonce !== nonce);
        const isOpen = isReopened || isPending || this.#undecided().length > 0;
        const isAgreed = mismatches.length === 0 && this.#ledger.unresolved.size === 0;
        if (isAgreed || !isOpen || isLast()) {
          await this.#searchForForeign(mismatches);
          return this.#describe(reading, mismatches, await this.#reconcile(reading, mismatches));
        }
      }
      await clock.sleep(PAUSE_MS, signal);
    }
  }

  async #round() {
    await this.#decideStatuses();
    await this.#fillGaps();
    return this.readAll();
  }

  /** Reads all counters and nonces at one block. */
  async readAll() {
    const block = await ask(this.#rpc, headerAt('latest'), 'audit');
    if (block === null) throw new ProtocolError(`${this.#rpc.display} has no latest block`);
    const { hash, number } = block;
    const reverted = this.#ledger.counts.map((counts) => counts.reverted);
    const counted = await this.#options.workload.audit?.(hash, number, reverted);
    const addresses = this.#accounts.map(({ wallet }) => wallet.address);
    const nonces = await readAtBlock(this.#rpc, { hash, number }, (at) =>
      addresses.map((address) => nonceOf(address, at)),
    );
    const pending = await pendingNonces(this.#rpc, addresses, 'audit');
    // Without a count on the chain the nonces are the effects. That these are successes is shown by receipts: each
    // operation was verified by its own, or the workload reads those of the run.
    const effects = counted ?? this.#accounts.map((account, i) => effectOf(account, nonces[i], reverted[i]));
    return { number, hash, effects, nonces, pendingNonces: nonces.map((nonce, i) => Math.max(nonce, pending[i])) };
  }

  /**
   * If the chain has fewer transactions of a wallet than we found in blocks, a reorg has removed some.
   * @param {Reading} reading
   * @returns {boolean} whether operations are unresolved again
   */
  #reopenLost({ nonces }) {
    const lost = this.#accounts.flatMap((account, i) =>
      nonces[i] < account.wallet.nonce ? this.#ledger.reopenOf(account, nonces[i]) : [],
    );
    return lost.length > 0;
  }

  /** Operations whose transaction may still be included. */
  #undecided() {
    const lost = this.#accounts.flatMap(({ slots }) => slots.flatMap(({ undecided }) => undecided ?? []));
    // A later unresolved operation with the same nonce has all hashes of the earlier one.
    const own = lost.filter(({ operation: { account, nonce } }) => this.#ledger.unresolvedOf(account, nonce) === null);
    return [...this.#ledger.unresolved.values(), ...own];
  }

  async #decideStatuses() {
    const { startBlock } = this.#options;
    await inParts(this.#undecided(), async (one) => {
      const { operation, sample } = one;
      const decision = await transactionStatusOf(this.#rpc, operation, 'audit', startBlock);
      one.shownHash = decision.shownHash;
      if (decision.status === 'pending') return;
      if (one.isOrphan && decision.status === 'never_sent' && !one.isResubmitted && operation.raw !== null) {
        one.isResubmitted = true;
        await this.#sendAgain(operation.raw);
      } else this.#ledger.settle(operation, sample, decision);
    });
  }

  /**
   * Transactions behind a missing nonce would stay in the pool and block the wallet's next user. So the transaction with
   * the missing nonce is sent again.
   */
  async #fillGaps() {
    const slots = this.#accounts.filter(({ hasGap }) => hasGap).flatMap((account) => account.slots);
    const missing = slots.flatMap(({ state, undecided }) => (state === 'free' ? (undecided?.operation.raw ?? []) : []));
    await inParts(missing, (raw) => this.#sendAgain(raw));
  }

  /** Refused transactions stay unresolved. @param {string} raw */
  async #sendAgain(raw) {
    await this.#rpc.call('eth_sendRawTransaction', [raw], 'resubmit').catch(() => null);
  }

  /** Executed operations of a wallet by the ledger. @param {number} position */
  #claimed(position) {
    const { includedLate, reorgedOut } = this.#ledger.counts[position];
    return this.#ledger.verifiedBy[position] + includedLate - reorgedOut;
  }

  /** @param {Reading} reading @returns {Mismatch[]} */
  #compare({ effects, nonces, pendingNonces }) {
    return this.#accounts.flatMap((account, i) => {
      const { start, now, target } = effects[i];
      const executed = this.#claimed(i);
      const expectedEffect = start + BigInt(executed);
      const expectedNonce = account.startNonce + executed + this.#ledger.counts[i].reverted;
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

  /**
   * The number of operations of each wallet that may explain a difference. Unresolved operations always count. An operation that
   * the node did not know counts if its wallet has a difference: an overloaded node may take a transaction long after it was sent.
   * @param {Mismatch[]} mismatches
   */
  #openBy(mismatches) {
    const different = new Set(mismatches.map(({ walletIndex }) => walletIndex));
    const counts = this.#accounts.map(() => 0);
    for (const { operation } of this.#undecided()) {
      const { account, nonce } = operation;
      const isUnresolved = this.#ledger.unresolvedOf(account, nonce) !== null;
      if (isUnresolved || different.has(account.wallet.index)) counts[account.position] += 1;
    }
    return counts;
  }

  /**
   * The mismatches that open operations cannot explain; pending transactions alone are no mismatch.
   * @param {Mismatch[]} mismatches
   */
  #provenOf(mismatches) {
    const open = new Map(this.#openBy(mismatches).map((count, i) => [this.#accounts[i].wallet.index, count]));
    return mismatches.filter(({ walletIndex, effect, expectedEffect, nonce, expectedNonce }) => {
      const unknown = open.get(walletIndex) ?? 0;
      const difference = Math.abs(Number(BigInt(effect) - BigInt(expectedEffect)));
      return difference > unknown || Math.abs(nonce - expectedNonce) > unknown;
    });
  }

  /** @param {Reading} reading @param {Mismatch[]} mismatches @returns {Promise<Check[]>} */
  async #reconcile({ hash, number, nonces }, mismatches) {
    const { workload, startBlock, signal, paid } = this.#options;
    const [accounts, ledger] = [this.#accounts, this.#ledger];
    if (workload.reconcile === undefined) return [];
    const isOurs = ledger.counts.every(({ reverted }) => reverted === 0);
    const snapshot = {
      blockHash: hash,
      blockNumber: number,
      startBlock,
      nonces,
      signal,
      ...(paid && { paid }),
      startNonces: accounts.map(({ startNonce }) => startNonce),
      executed: accounts.map((_, i) => this.#claimed(i)),
      reverted: ledger.counts.map(({ reverted }) => reverted),
      undecided: this.#openBy(mismatches),
      areOurs: isOurs && mismatches.length === 0 && ledger.foreign.length === 0 && ledger.unresolved.size === 0,
    };
    return workload.reconcile(snapshot).catch((error) => {
      if (![RpcError, ProtocolError, TransportError].some((kind) => error instanceof kind)) throw error;
      const words = 'what the workload compares over all wallets';
      return [{ name: 'reconcile', words, expected: null, found: null, holds: null, why: error.message }];
    });
  }

  /** What could not be checked. @param {Mismatch[]} unproven @param {Check[]} checks */
  #gapsOf(unproven, checks) {
    const open = [...this.#ledger.unresolved.values()].map(({ operation }) => operation.account.wallet.index);
    const others = unproven.filter(({ walletIndex }) => !open.includes(walletIndex));
    const isWaiting = (/** @type {Mismatch} */ { nonce, pendingNonce }) => nonce !== pendingNonce;
    const waiting = others.filter(isWaiting).map(({ walletIndex }) => walletIndex);
    const arrived = others.filter((one) => !isWaiting(one)).map(({ walletIndex }) => walletIndex);
    const gaps = checks.filter(({ holds }) => holds === null).map(({ words, why }) => `${words}: ${why}`);
    if (arrived.length > 0)
      gaps.unshift(`transactions of wallets ${indexRanges(arrived)} arrived while the chain was read`);
    if (waiting.length > 0) gaps.unshift(`wallets ${indexRanges(waiting)} have pending transactions`);
    if (open.length > 0)
      gaps.unshift(
        `the status of ${counted(open.length, 'operation')} of wallets ${indexRanges(open)} is unknown: pending, or not reported by the node`,
      );
    return gaps;
  }

  /** @param {Reading} reading @param {Mismatch[]} mismatches @param {Check[]} checks @returns {AuditReport} */
  #describe(reading, mismatches, checks) {
    const [accounts, ledger] = [this.#accounts, this.#ledger];
    for (const { operation, sample, shownHash } of [...ledger.unresolved.values()])
      ledger.settle(operation, sample, { status: 'pending', foreign: null, shownHash });
    const grown = reading.effects.map(({ start, now }) => now - start);
    const effectsOnChain = grown.reduce((sum, effects) => sum + effects, 0n);
    const atLeast = grown.reduce((sum, effects, i) => {
      const ours = BigInt(this.#claimed(i));
      return sum + (ours < effects ? ours : effects);
    }, 0n);
    const { statusCounts, foreign, unresolved, resolutions } = ledger;
    const proven = new Set(this.#provenOf(mismatches));
    const unproven = mismatches.filter((mismatch) => !proven.has(mismatch));
    const incomplete = this.#gapsOf(unproven, checks);
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
      reorgedOut: ledger.counts.reduce((sum, counts) => sum + counts.reorgedOut, 0),
      neverSent: statusCounts.never_sent ?? 0,
      replaced: statusCounts.replaced ?? 0,
      pending: unresolved.size,
      effectsOnChain: String(effectsOnChain),
      bounds: { atLeast: String(atLeast), atMost: String(effectsOnChain) },
      mismatchCount: proven.size,
      mismatches: [...proven].slice(0, LISTED),
      foreign: foreign.slice(0, LISTED),
      resolutions,
      subject: this.#options.workload.subject,
      checks,
    };
  }

  /**
   * A wallet with more nonces than ours: the transaction of the first other nonce is the proof of a foreign sender.
   * @param {Mismatch[]} mismatches
   */
  async #searchForForeign(mismatches) {
    const ledger = this.#ledger;
    const proven = new Set(ledger.foreign.map(({ walletIndex }) => walletIndex));
    const suspects = mismatches.filter(
      ({ walletIndex, nonce, expectedNonce }) => nonce > expectedNonce && !proven.has(walletIndex),
    );
    const byIndex = new Map(this.#accounts.map((account) => [account.wallet.index, account]));
    for (const { walletIndex, nonce: next } of suspects.slice(0, SEARCHED)) {
      const account = /** @type {Account} */ (byIndex.get(walletIndex));
      const { address, nonce } = account.wallet;
      if (nonce >= next) continue;
      const mined = await findMinedTransaction(this.#rpc, address, nonce, this.#options.startBlock).catch(() => null);
      const open = ledger.unresolvedOf(account, nonce) ?? account.slotOf(nonce)?.undecided ?? null;
      const ours = open?.operation.hashes ?? [];
      if (mined !== null && !ours.includes(mined.hash)) ledger.addForeign({ walletIndex, nonce, ...mined });
    }
  }
}

/** @param {Account} account @param {number} nonce @param {number} reverted */
function effectOf({ wallet, startNonce }, nonce, reverted) {
  return { start: BigInt(startNonce), now: BigInt(nonce - reverted), target: wallet.address };
}

/** @template T @param {T[]} items @param {(item: T) => Promise<void>} action */
async function inParts(items, action) {
  for (let at = 0; at < items.length; at += ASKED_AT_ONCE)
    await Promise.all(items.slice(at, at + ASKED_AT_ONCE).map(action));
}
