/** @import { RunFile } from '../metrics/summary.js' */

/**
 * Fees of all instances, in wei.
 *
 * @typedef {RunFile['spending']} SpendingJson
 */
export class Spending {
  /** @type {SpendingJson | null} */
  #sum = null;

  /** @param {SpendingJson} spending */
  add(spending) {
    const before = this.#sum;
    this.#sum =
      before === null
        ? spending
        : {
            capWei: weiOf(before.capWei, spending.capWei),
            setUpWei: weiOf(before.setUpWei, spending.setUpWei),
            // Files of older versions do not have it.
            ...(before.leftWei === undefined || spending.leftWei === undefined
              ? {}
              : { leftWei: weiOf(before.leftWei, spending.leftWei) }),
            spentWei: weiOf(before.spentWei, spending.spentWei),
            transactions:
              before.transactions === null || spending.transactions === null
                ? null
                : before.transactions + spending.transactions,
          };
  }

  result() {
    return this.#sum ?? { capWei: null, setUpWei: null, spentWei: null, transactions: null };
  }
}

/** Not known of one is not known of all. @param {string | null} a @param {string | null} b */
function weiOf(a, b) {
  return a === null || b === null ? null : String(BigInt(a) + BigInt(b));
}
