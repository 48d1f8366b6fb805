/** @import { Pacer } from './index.js' */

/**
 * Closed loop: an operation is due as soon as a wallet is idle, so the number of wallets is the load.
 * @returns {Pacer}
 */
export function closed() {
  return { isOpen: false, dueUs: () => 0 };
}
