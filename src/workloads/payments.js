import { toBigInt, toHex } from '../chain/rpc.js';
import { RpcError, StressError } from '../errors.js';
import { MAX_AUDIT_MS, isSuccess, successCheck, sum } from './receipts.js';

/**
 * The audit of payments: by their receipts as many succeeded as the run has verified, what left the senders, less fees,
 * is what arrived, and each receiver has exactly what it was paid. Receivers are computed again from the seed; balances
 * and receipts are read from the chain. Neither depends on what the load has counted.
 *
 * @import { Check, Rpc } from '../types.d.ts'
 * @import { AuditSnapshot } from './index.js'
 * @import { Outcomes, Receipt, Receipts } from './receipts.js'
 * @import { Receivers } from './transfer.js'
 *
 * @typedef {object} Payments
 * @property {Rpc} rpc
 * @property {Receivers} receivers
 * @property {Receipts} receipts
 * @property {boolean} arePayers whether the wallets pay each other
 * @property {string[]} addresses of the payers, by position
 * @property {bigint} valueWei of a payment
 * @property {{balancesWei: bigint[], receiverWei: bigint}} before the balances of the payers, and of a receiver
 *
 * @typedef {object} Tally of the balances read
 * @property {number} right number of correct balances
 * @property {string | null} fault the first wrong one
 * @property {bigint} grownWei sum of all changes
 *
 * @typedef {object} Choice of receivers whose balances are read
 * @property {ArrayLike<number> | null} indexes null: all of them
 * @property {number} count
 * @property {string} words a description of them
 * @property {string} unread a note about receivers that were not read because none was paid, or ''
 * @property {string | null} why the reason why their sum does not cover all payments
 *
 * @typedef {{most: number, others: number}} Bounds most balances read, and most of receivers that were not paid
 */

/** Balances read in one batch. */
const READ_AT_ONCE = 8000;

/** More balances are not read. */
const MAX_READ = 1_000_000;
/** Of receivers that were not paid, where not all can be read. */
const MAX_OTHERS = 100_000;

/** Payments, or receivers, processed in one turn of the event loop. */
const PER_TURN = 100_000;

const UNSURE = 'what became of some operations is not known';

/**
 * @typedef {object} Paid
 * @property {Outcomes | {why: string}} outcomes by receipts
 * @property {string | null} why they are unknown
 * @property {bigint[]} feesWei by position
 * @property {Uint32Array | null} to successful payments by receiver; null if unknown
 */

/** @param {Payments} payments @param {AuditSnapshot} snapshot @param {Bounds} [bounds] @returns {Promise<Check[]>} */
export async function reconcilePayments(payments, snapshot, bounds) {
  // Receipts first, because nodes that prune old blocks prune more of them in the meantime.
  const paid = await readPaid(payments, snapshot, limited(snapshot.signal));
  const signal = limited(snapshot.signal);
  const byBalance = payments.arePayers
    ? await amongPayers(payments, snapshot, paid, signal)
    : await toReceivers(
        payments,
        snapshot,
        paid,
        await chooseReceivers(payments.receivers.count, paid.to, bounds),
        signal,
      );
  const checks = [successCheck(payments.addresses, snapshot, paid.outcomes), ...byBalance];
  if (checks.every(({ holds }) => holds !== false) || (await isCanonical(payments.rpc, snapshot))) return checks;
  const why = `block ${snapshot.blockNumber} left the chain during the audit`;
  return checks.map((check) => ({ ...check, holds: null, why }));
}

/** @param {Payments} payments @param {AuditSnapshot} snapshot @param {AbortSignal} signal @returns {Promise<Paid>} */
async function readPaid({ receipts, receivers, addresses }, snapshot, signal) {
  const feesWei = addresses.map(() => 0n);
  const reverted = new Uint32Array(receivers.count);
  const outcomes = await receipts.ofRun(addresses, snapshot, signal, (position, nonce, receipt) => {
    feesWei[position] += feeOf(receipt);
    if (!isSuccess(receipt)) reverted[receivers.indexFor(position, nonce)] += 1;
  });
  if ('why' in outcomes)
    return { outcomes, why: outcomes.why, feesWei, to: snapshot.areOurs ? await replay(receivers, snapshot) : null };
  const { succeeded } = outcomes;
  const areOurs = snapshot.executed.every(
    (count, i) => count === succeeded[i] && snapshot.reverted[i] === outcomes.reverted[i],
  );
  const to = areOurs ? await replay(receivers, snapshot) : null;
  to?.forEach((count, i) => (to[i] = count - reverted[i]));
  return { outcomes, why: null, feesWei, to };
}

/** Rollups charge for data on the underlying chain too. @param {Receipt} receipt */
function feeOf({ gasUsed, effectiveGasPrice, l1Fee }) {
  return toBigInt(gasUsed) * toBigInt(effectiveGasPrice) + toBigInt(l1Fee ?? '0x0');
}

/** @param {AbortSignal} signal */
function limited(signal) {
  return AbortSignal.any([signal, AbortSignal.timeout(MAX_AUDIT_MS)]);
}

/** @param {Payments} payments @param {AuditSnapshot} snapshot @param {Paid} paid @param {Choice} choice @param {AbortSignal} signal */
async function toReceivers({ rpc, receivers, addresses, valueWei, before }, snapshot, paid, choice, signal) {
  const { to } = paid;
  const count = to === null ? sum(snapshot.nonces) - sum(snapshot.startNonces) : sum(to);
  const indexOf = (/** @type {number} */ i) => choice.indexes?.[i] ?? i;
  const arrived = await tally({ rpc, snapshot, signal, count: choice.count }, (i) => ({
    address: receivers.addressOf(indexOf(i)),
    beforeWei: before.receiverWei,
    mustGrowWei: to === null ? null : valueWei * BigInt(to[indexOf(i)]),
  }));
  const left = await tally({ rpc, snapshot, signal, count: addresses.length }, (i) => ({
    address: addresses[i],
    beforeWei: before.balancesWei[i],
    mustGrowWei: null,
  }));
  const readWhy = 'why' in arrived ? arrived.why : null;
  const grownWei = 'why' in arrived ? 0n : arrived.grownWei;
  return [
    check({
      name: 'receivers',
      words: `of ${choice.words}, those that have exactly what was paid to them`,
      expected: choice.count,
      found: 'why' in arrived ? null : describeTally(arrived),
      why: readWhy ?? (to === null ? UNSURE : null),
    }),
    check({
      name: 'arrived',
      words: `wei that arrived from ${count} payments of ${valueWei}${choice.unread}`,
      expected: valueWei * BigInt(count),
      found: grownWei,
      why: readWhy ?? choice.why ?? (to === null ? UNSURE : null),
    }),
    check({
      name: 'left',
      words: `wei that left ${addresses.length} wallets, less their fees, against what arrived`,
      expected: grownWei,
      found: 'why' in left ? null : -left.grownWei - sumWei(paid.feesWei),
      why: readWhy ?? choice.why ?? ('why' in left ? left.why : null) ?? paid.why,
    }),
  ];
}

/** @param {Payments} payments @param {AuditSnapshot} snapshot @param {Paid} paid @param {AbortSignal} signal */
async function amongPayers(
  { rpc, addresses, valueWei, before },
  snapshot,
  { outcomes, to, feesWei, why: feesWhy },
  signal,
) {
  const changed = await tally({ rpc, snapshot, signal, count: addresses.length }, (i) => ({
    address: addresses[i],
    beforeWei: before.balancesWei[i],
    mustGrowWei:
      to === null || 'why' in outcomes ? null : valueWei * BigInt(to[i] - outcomes.succeeded[i]) - feesWei[i],
  }));
  const why = ('why' in changed ? changed.why : null) ?? feesWhy;
  return [
    check({
      name: 'wallets',
      words: 'wallets that have what they had and received, less what they sent and its fees',
      expected: addresses.length,
      found: 'why' in changed ? null : describeTally(changed),
      why: why ?? (to === null ? UNSURE : null),
    }),
    check({
      name: 'left',
      words: `wei that left ${addresses.length} wallets together, against the fees by their receipts`,
      expected: sumWei(feesWei),
      found: 'why' in changed ? null : -changed.grownWei,
      why,
    }),
  ];
}

/**
 * @param {{name: string, words: string, expected: bigint | number | null, found: bigint | number | string | null, why: string | null}} parts
 * @returns {Check}
 */
function check({ name, words, expected, found, why }) {
  if (why !== null) return { name, words, expected: null, found: null, holds: null, why };
  return {
    name,
    words,
    expected: String(expected),
    found: String(found),
    holds: String(expected) === String(found),
    why,
  };
}

/** @param {Tally} tally */
function describeTally({ right, fault }) {
  return fault === null ? right : `${right} (${fault})`;
}

/**
 * @param {{rpc: Rpc, snapshot: AuditSnapshot, signal: AbortSignal, count: number}} reading
 * @param {(i: number) => {address: string, beforeWei: bigint, mustGrowWei: bigint | null}} accountOf mustGrowWei: null if unknown
 * @returns {Promise<Tally | {why: string}>}
 */
async function tally({ rpc, snapshot, signal, count }, accountOf) {
  const found = { right: 0, fault: /** @type {string | null} */ (null), grownWei: 0n };
  const blocks = [{ blockHash: snapshot.blockHash }, toHex(snapshot.blockNumber), 'latest'];
  for (let at = 0; at < count;) {
    if (signal.aborted) return { why: `there was time for ${at} of ${count} balances` };
    const part = Array.from({ length: Math.min(READ_AT_ONCE, count - at) }, (_, i) => accountOf(at + i));
    try {
      const requests = part.map(({ address }) => ({ method: 'eth_getBalance', params: [address, blocks[0]] }));
      const answers = await rpc.batch(requests, 'audit');
      part.forEach((account, i) => add(found, account, toBigInt(answers[i])));
      at += part.length;
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      // The node lacks EIP-1898 or has pruned the block. In later blocks balances change only by a foreign sender.
      if (!(error instanceof RpcError) || blocks.length === 1) return { why: error.message };
      blocks.shift();
    }
  }
  return found;
}

/** @param {Tally} found @param {{address: string, beforeWei: bigint, mustGrowWei: bigint | null}} account @param {bigint} balanceWei */
function add(found, { address, beforeWei, mustGrowWei }, balanceWei) {
  const grownWei = balanceWei - beforeWei;
  found.grownWei += grownWei;
  if (mustGrowWei === null || grownWei === mustGrowWei) found.right += 1;
  else found.fault ??= `${address} has ${balanceWei} wei, not ${beforeWei + mustGrowWei}`;
}

/** @param {Rpc} rpc @param {AuditSnapshot} snapshot */
async function isCanonical(rpc, { blockHash, blockNumber }) {
  const block = await rpc.call('eth_getBlockByNumber', [toHex(blockNumber), false], 'audit');
  return block?.hash === blockHash;
}

/** @param {bigint[]} amounts */
function sumWei(amounts) {
  return amounts.reduce((all, wei) => all + wei, 0n);
}

/**
 * @param {Receivers} receivers
 * @param {Pick<AuditSnapshot, 'startNonces' | 'nonces'>} snapshot
 * @returns {Promise<Uint32Array>} the number of payments of the run by receiver
 */
export async function replay(receivers, { startNonces, nonces }) {
  const paid = new Uint32Array(receivers.count);
  let left = PER_TURN;
  for (const [position, end] of nonces.entries()) {
    for (let nonce = startNonces[position]; nonce < end; nonce += 1) {
      paid[receivers.indexFor(position, nonce)] += 1;
      left -= 1;
      if (left > 0) continue;
      left = PER_TURN;
      await nextTurn();
    }
  }
  return paid;
}

/**
 * Chooses the receivers whose balances are read: all, or with millions of them those that were paid and a sample of the
 * others, because reading all takes minutes.
 * @param {number} count of receivers
 * @param {Uint32Array | null} paid number of payments by receiver; null if unknown
 * @param {Bounds} [bounds]
 * @returns {Promise<Choice>}
 */
export async function chooseReceivers(count, paid, { most, others } = { most: MAX_READ, others: MAX_OTHERS }) {
  if (count <= most) return { indexes: null, count, words: `${count} receivers`, unread: '', why: null };
  if (paid === null) {
    const indexes = everyNth(Math.ceil(count / most), count);
    const why = `not all of ${count} receivers are read, and which of them were paid is not known`;
    return { indexes, count: indexes.length, words: `${indexes.length} of ${count} receivers`, unread: '', why };
  }
  const { were, not } = await splitByPaid(paid, others);
  if (were.length <= most) {
    const words = `${were.length} receivers that were paid and ${not.length} of ${count - were.length} that were not`;
    const unread = ` (${count - were.length - not.length} receivers without a payment were not read)`;
    return { indexes: [...were, ...not], count: were.length + not.length, words, unread, why: null };
  }
  const indexes = everyNth(Math.ceil(were.length / most), were.length).map((i) => were[i]);
  const words = `${indexes.length} of ${were.length} receivers that were paid, out of ${count}`;
  const why = `${were.length} receivers were paid, and at most ${most} are read`;
  return { indexes, count: indexes.length, words, unread: '', why };
}

/** All paid receivers, and a sample of the others. @param {Uint32Array} paid @param {number} others */
async function splitByPaid(paid, others) {
  /** @type {number[]} */
  const were = [];
  for (let at = 0; at < paid.length; at += PER_TURN) {
    const end = Math.min(paid.length, at + PER_TURN);
    for (let i = at; i < end; i += 1) if (paid[i] > 0) were.push(i);
    await nextTurn();
  }
  const step = Math.max(1, Math.ceil((paid.length - were.length) / Math.max(1, others)));
  return {
    were,
    not: everyNth(step, paid.length)
      .filter((i) => paid[i] === 0)
      .slice(0, others),
  };
}

/** @param {number} step @param {number} below */
function everyNth(step, below) {
  return Array.from({ length: Math.ceil(below / step) }, (_, i) => i * step);
}

function nextTurn() {
  return new Promise((resolve) => setImmediate(resolve));
}
