import { toBigInt, toHex } from '../chain/rpc.js';
import { RpcError, StressError } from '../errors.js';
import { readFees } from './fees-paid.js';
import { chooseReceivers, replay } from './replay.js';

/**
 * The audit of payments by balances: what left the senders, less fees, is what arrived, and each receiver has exactly
 * what it was paid. Receivers are worked out again from the seed, balances and receipts are read from the chain: neither
 * knows anything of what the load counted.
 *
 * @typedef {import('./index.js').Books} Books
 * @typedef {import('./index.js').Check} Check
 *
 * @typedef {object} Payments
 * @property {import('../chain/rpc.js').Rpc} rpc
 * @property {import('./receivers.js').Receivers} receivers
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

/** @param {Payments} payments @param {Books} books @param {import('./replay.js').Bounds} [bounds] @returns {Promise<Check[]>} */
export async function reconcilePayments(payments, books, bounds) {
  // Receipts first: a chain that forgets old blocks would forget more of them meanwhile.
  const fees = await readFees(payments.rpc, payments.addresses, books, limited(books.signal));
  const signal = limited(books.signal);
  const paid = books.areOurs ? await replay(payments.receivers, books) : null;
  const checks = payments.arePayers
    ? await amongPayers(payments, books, fees, paid, signal)
    : await toReceivers(
        payments,
        books,
        fees,
        paid,
        await chooseReceivers(payments.receivers.count, paid, bounds),
        signal,
      );
  if (checks.every(({ holds }) => holds !== false) || (await isStillThere(payments.rpc, books))) return checks;
  const why = `block ${books.blockNumber} has left the chain meanwhile`;
  return checks.map((check) => ({ ...check, holds: null, why }));
}

/** @param {AbortSignal} signal */
function limited(signal) {
  return AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)]);
}

/** @typedef {import('./fees-paid.js').Fees} Fees */

/** @param {Payments} payments @param {Books} books @param {Fees} fees @param {Uint32Array | null} paid @param {import('./replay.js').Choice} choice @param {AbortSignal} signal */
async function toReceivers({ rpc, receivers, addresses, valueWei, before }, books, fees, paid, choice, signal) {
  const count = sum(books.nonces) - sum(books.startNonces);
  const indexOf = (/** @type {number} */ i) => choice.indexes?.[i] ?? i;
  const arrived = await tally({ rpc, books, signal, count: choice.count }, (i) => ({
    address: receivers.addressOf(indexOf(i)),
    beforeWei: before.receiverWei,
    mustGrowWei: paid === null ? null : valueWei * BigInt(paid[indexOf(i)]),
  }));
  const left = await tally({ rpc, books, signal, count: addresses.length }, (i) => ({
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
      why: readWhy ?? (paid === null ? UNSURE : null),
    }),
    check({
      name: 'arrived',
      words: `wei that arrived from ${count} payments of ${valueWei}${choice.unread}`,
      expected: valueWei * BigInt(count),
      found: grownWei,
      why: readWhy ?? choice.why ?? (paid === null ? UNSURE : null),
    }),
    check({
      name: 'left',
      words: `wei that left ${addresses.length} wallets, less their fees, against what arrived`,
      expected: grownWei,
      found: 'why' in left || 'why' in fees ? null : -left.grownWei - sumWei(fees.byPayer),
      why: readWhy ?? choice.why ?? ('why' in left ? left.why : null) ?? ('why' in fees ? fees.why : null),
    }),
  ];
}

/** @param {Payments} payments @param {Books} books @param {Fees} fees @param {Uint32Array | null} paid @param {AbortSignal} signal */
async function amongPayers({ rpc, addresses, valueWei, before }, books, fees, paid, signal) {
  const changed = await tally({ rpc, books, signal, count: addresses.length }, (i) => ({
    address: addresses[i],
    beforeWei: before.balancesWei[i],
    mustGrowWei:
      paid === null || 'why' in fees
        ? null
        : valueWei * BigInt(paid[i] - (books.nonces[i] - books.startNonces[i])) - fees.byPayer[i],
  }));
  const why = ('why' in changed ? changed.why : null) ?? ('why' in fees ? fees.why : null);
  return [
    check({
      name: 'wallets',
      words: 'wallets that have what they had and received, less what they sent and its fees',
      expected: addresses.length,
      found: 'why' in changed ? null : counted(changed),
      why: why ?? (paid === null ? UNSURE : null),
    }),
    check({
      name: 'left',
      words: `wei that left ${addresses.length} wallets together, against the fees by their receipts`,
      expected: 'why' in fees ? null : sumWei(fees.byPayer),
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
 * @param {{rpc: import('../chain/rpc.js').Rpc, books: Books, signal: AbortSignal, count: number}} reading
 * @param {(i: number) => {address: string, beforeWei: bigint, mustGrowWei: bigint | null}} accountOf null: it may be anything
 * @returns {Promise<Tally | {why: string}>}
 */
async function tally({ rpc, books, signal, count }, accountOf) {
  const found = { right: 0, fault: /** @type {string | null} */ (null), grownWei: 0n };
  const blocks = [{ blockHash: books.blockHash }, toHex(books.blockNumber), 'latest'];
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

/** @param {import('../chain/rpc.js').Rpc} rpc @param {Books} books */
async function isStillThere(rpc, { blockHash, blockNumber }) {
  const block = await rpc.call('eth_getBlockByNumber', [toHex(blockNumber), false], 'audit');
  return block?.hash === blockHash;
}

/** @param {number[]} numbers */
function sum(numbers) {
  return numbers.reduce((all, number) => all + number, 0);
}

/** @param {bigint[]} amounts */
function sumWei(amounts) {
  return amounts.reduce((all, wei) => all + wei, 0n);
}
