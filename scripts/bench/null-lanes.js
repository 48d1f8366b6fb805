/**
 * Parallel execution without an EVM: transactions of the same slot are serial, others run in lanes, and each takes the
 * same time. A block then takes any transactions of which no slot has more than one lane can execute (R. McNaughton, 1959).
 *
 * @typedef {object} Lanes
 * @property {number} most transactions of a block
 * @property {number} perSlot transactions of a block that write the same slot
 */

/** @param {{lanes: number, txMs: number, blockMs: number}} options @returns {Lanes} */
export function lanesOf({ lanes, txMs, blockMs }) {
  const perSlot = Math.floor(blockMs / txMs);
  return { most: lanes * perSlot, perSlot };
}

/**
 * Takes a block from what waits, in its order. A sender's later transactions wait behind one that is left.
 * @template T
 * @param {T[]} waiting is left with the others
 * @param {Lanes} lanes
 * @param {{slotOf: (one: T) => unknown, senderOf: (one: T) => unknown}} of
 * @returns {T[]}
 */
export function takeBlock(waiting, { most, perSlot }, { slotOf, senderOf }) {
  /** @type {Map<unknown, number>} */
  const writes = new Map();
  const behind = new Set();
  /** @type {T[]} */
  const taken = [];
  const left = waiting.splice(0).filter((one) => {
    const [slot, sender] = [slotOf(one), senderOf(one)];
    const before = writes.get(slot) ?? 0;
    if (taken.length === most || before === perSlot || behind.has(sender)) return behind.add(sender);
    writes.set(slot, before + 1);
    taken.push(one);
    return false;
  });
  waiting.push(...left);
  return taken;
}
