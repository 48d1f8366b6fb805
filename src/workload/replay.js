/**
 * @import { Books } from './index.js'
 * @import { Receivers } from './receivers.js'
 */

/**
 * The payments of a run, worked out again: how many each receiver must have got, and whose balances tell whether they
 * did. Of millions of receivers most may not have been paid at all, and it takes minutes to read them.
 *
 * @typedef {object} Choice of receivers whose balances are read
 * @property {ArrayLike<number> | null} indexes null: all of them
 * @property {number} count
 * @property {string} words who they are
 * @property {string} unread who was left out of the sums, and may be: nobody paid them; '' where there is none
 * @property {string | null} why what all have together cannot be told from them
 */

/** More balances than this are not read. */
const MOST_READ = 1_000_000;
/** Of those that were not paid, where not all can be read. */
const OTHERS_READ = 100_000;

/** Payments, or receivers, looked at in one turn of the event loop. */
const AT_ONCE = 100_000;

/** @typedef {{most: number, others: number}} Bounds how many balances are read, and how many of those are of receivers that nobody paid */

/**
 * @param {Receivers} receivers
 * @param {Pick<Books, 'startNonces' | 'nonces'>} books
 * @returns {Promise<Uint32Array>} payments, by receiver
 */
export async function replay(receivers, { startNonces, nonces }) {
  const paid = new Uint32Array(receivers.count);
  let left = AT_ONCE;
  for (const [position, end] of nonces.entries()) {
    for (let nonce = startNonces[position]; nonce < end; nonce += 1) {
      paid[receivers.indexFor(position, nonce)] += 1;
      left -= 1;
      if (left > 0) continue;
      left = AT_ONCE;
      await turn();
    }
  }
  return paid;
}

/**
 * @param {number} count of receivers
 * @param {Uint32Array | null} paid how often each was; null: not known
 * @param {Bounds} [bounds]
 * @returns {Promise<Choice>}
 */
export async function chooseReceivers(count, paid, { most, others } = { most: MOST_READ, others: OTHERS_READ }) {
  if (count <= most) return { indexes: null, count, words: `${count} receivers`, unread: '', why: null };
  if (paid === null) {
    const indexes = every(Math.ceil(count / most), count);
    const why = `not all of ${count} receivers are read, and which of them were paid is not known`;
    return { indexes, count: indexes.length, words: `${indexes.length} of ${count} receivers`, unread: '', why };
  }
  const { were, not } = await apart(paid, others);
  if (were.length <= most) {
    const words = `${were.length} receivers that were paid and ${not.length} of ${count - were.length} that were not`;
    const unread = ` (${count - were.length - not.length} receivers that nobody paid were not read)`;
    return { indexes: [...were, ...not], count: were.length + not.length, words, unread, why: null };
  }
  const step = Math.ceil(were.length / most);
  const indexes = every(step, were.length).map((i) => were[i]);
  const words = `${indexes.length} of ${were.length} receivers that were paid, out of ${count}`;
  const why = `${were.length} receivers were paid, and no more than ${most} are read`;
  return { indexes, count: indexes.length, words, unread: '', why };
}

/** Those that were paid, and some of those that were not. @param {Uint32Array} paid @param {number} others */
async function apart(paid, others) {
  /** @type {number[]} */
  const were = [];
  for (let at = 0; at < paid.length; at += AT_ONCE) {
    const end = Math.min(paid.length, at + AT_ONCE);
    for (let i = at; i < end; i += 1) if (paid[i] > 0) were.push(i);
    await turn();
  }
  // Evenly over all of them; one that was paid is looked for already.
  const step = Math.max(1, Math.ceil((paid.length - were.length) / Math.max(1, others)));
  return {
    were,
    not: every(step, paid.length)
      .filter((i) => paid[i] === 0)
      .slice(0, others),
  };
}

/** @param {number} step @param {number} below */
function every(step, below) {
  return Array.from({ length: Math.ceil(below / step) }, (_, i) => i * step);
}

function turn() {
  return new Promise((resolve) => setImmediate(resolve));
}
