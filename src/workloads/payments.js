import { toBigInt, toHex } from '../chain/rpc.js';
import { RpcError, StressError } from '../errors.js';
import { isSuccess, successCheck } from './receipts.js';
import { chooseReceivers, replay } from './user-file.js';

/**
 * @import { Check, Rpc } from '../types.d.ts'
 * @import { AuditSnapshot } from './index.js'
 * @import { Outcomes, Receipt, Receipts } from './receipts.js'
 * @import { Receivers } from './transfer.js'
 * @import { Bounds, Choice } from './user-file.js'
 */

/**
 * The audit of payments by receipts and balances: as many succeeded as the run has verified, what left the senders, less
 * fees, is what arrived, and each receiver has exactly what it was paid. Receivers are worked out again from the seed,
 * balances and receipts are read from the chain: neither knows anything of what the load counted.
 *
 * @typedef {object} Payments
 * @property {Rpc} rpc
 * @property {Receivers} receivers
 * @property {Receipts} receipts
 * @property {boolean} arePayers whether the receivers are the payers themselves
 * @property {string[]} addresses of the payers, by position
 * @property {bigint} valueWei of a payment
 * @property {{balancesWei: bigint[], receiverWei: bigint}} before the payers' balances, and what a receiver had
 *
 * @typedef {object} Tally of those whose balance has been read
 * @property {number} right how many have what they must have
 * @property {string | null} fault the first that has not, in words
 * @property {bigint} grownWei all together
 */

/** Balances asked for before the event loop and the signal are looked at. */
const READ_AT_ONCE = 8000;

/** The longest time for balances, and for receipts. */
const MOST_MS = 60_000;

const UNSURE = 'what became of some operations is not known';

/**
 * @typedef {object} Paid what became of the payments, by receipts
 * @property {Outcomes | {why: string}} outcomes
 * @property {string | null} why they are not known
 * @property {bigint[]} feesWei by position
 * @property {Uint32Array | null} to payments that succeeded, by receiver; null: not known
 */

/** @param {Payments} payments @param {AuditSnapshot} snapshot @param {Bounds} [bounds] @returns {Promise<Check[]>} */
export async function reconcilePayments(payments, snapshot, bounds) {
  // Receipts first: a chain that forgets old blocks would forget more of them meanwhile.
  const paid = await readPaid(payments, snapshot, limited(snapshot.signal));
  const signal = limited(snapshot.signal);
  const byBalance = payments.arePayers
    ? await amongPayers(payments, snapshot, paid, signal)
    : await toReceivers(
        ...[payments, snapshot, paid],
        await chooseReceivers(payments.receivers.count, paid.to, bounds),
        signal,
      );
  const checks = [successCheck(payments.addresses, snapshot, paid.outcomes), ...byBalance];
  if (checks.every(({ holds }) => holds !== false) || (await isStillThere(payments.rpc, snapshot))) return checks;
  const why = `block ${snapshot.blockNumber} has left the chain meanwhile`;
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

/** A rollup charges for the data on the chain below, too. @param {Receipt} receipt */
function feeOf({ gasUsed, effectiveGasPrice, l1Fee }) {
  return toBigInt(gasUsed) * toBigInt(effectiveGasPrice) + toBigInt(l1Fee ?? '0x0');
}

/** @param {AbortSignal} signal */
function limited(signal) {
  return AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)]);
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
      found: 'why' in arrived ? null : counted(arrived),
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
      found: 'why' in changed ? null : counted(changed),
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
function counted({ right, fault }) {
  return fault === null ? right : `${right} (${fault})`;
}

/**
 * @param {{rpc: Rpc, snapshot: AuditSnapshot, signal: AbortSignal, count: number}} reading
 * @param {(i: number) => {address: string, beforeWei: bigint, mustGrowWei: bigint | null}} accountOf null: it may be anything
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
      // A node without EIP-1898, or one that has forgotten the block: since then nobody has paid but a stranger.
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
async function isStillThere(rpc, { blockHash, blockNumber }) {
  const block = await rpc.call('eth_getBlockByNumber', [toHex(blockNumber), false], 'audit');
  return block?.hash === blockHash;
}

/** @param {readonly number[] | Uint32Array} numbers */
function sum(numbers) {
  let all = 0;
  for (const number of numbers) all += number;
  return all;
}

/** @param {bigint[]} amounts */
function sumWei(amounts) {
  return amounts.reduce((all, wei) => all + wei, 0n);
}
