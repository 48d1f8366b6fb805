import { createHash } from 'node:crypto';

/**
 * Who is paid. A receiver is a function of the run's seed, the wallet and the nonce, so that nothing has to be kept for
 * the audit: it works all of them out again.
 *
 * @typedef {object} ReceiversState what another thread makes the same receivers from
 * @property {number} seed of the run, at most 2^53
 * @property {number | null} made how many addresses are made from the seed; null: the wallets pay each other
 * @property {readonly string[]} wallets addresses of the whole slice, by position; none where addresses are made
 */

export class Receivers {
  #low;
  #high;
  #state;

  /** @param {ReceiversState} state */
  constructor(state) {
    this.#state = state;
    this.#low = mix(state.seed);
    this.#high = mix(state.seed / 2 ** 32);
  }

  get count() {
    return this.#state.made ?? this.#state.wallets.length;
  }

  /** The receiver of a payment: any other wallet of the slice, or any address that is made. @param {number} position @param {number} nonce @returns {number} its index */
  indexFor(position, nonce) {
    const { made, wallets } = this.#state;
    const hash = mix(mix(mix(this.#low + position) ^ this.#high) ^ Math.imul(nonce, 0x9e3779b1));
    if (made !== null) return Math.floor((hash / 2 ** 32) * made);
    const other = Math.floor((hash / 2 ** 32) * (wallets.length - 1));
    return other < position ? other : other + 1;
  }

  /**
   * Addresses that are made are made when they are asked for: ten million of them would fill the memory. Nobody has
   * their keys, and nobody has used them before, because no other run has the seed.
   * @param {number} index
   */
  addressOf(index) {
    const { seed, made, wallets } = this.#state;
    if (made === null) return wallets[index];
    return `0x${createHash('sha256').update(`${seed}:${index}`).digest('hex').slice(0, 40)}`;
  }
}

/** Spreads what differs in a few bits over all 32 (the last step of MurmurHash3, A. Appleby). @param {number} word */
function mix(word) {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
