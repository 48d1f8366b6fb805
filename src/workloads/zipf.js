/**
 * Slots 0 to `slots` - 1, slot i with a probability in proportion to (i + 1)^-theta (G. Zipf, 1949). Theta 0: all slots
 * alike.
 * @param {number} slots
 * @param {number} theta
 * @returns {(bits: number) => number} a slot for 32 random bits
 */
export function slotsByWeight(slots, theta) {
  const sums = new Float64Array(slots);
  let sum = 0;
  for (let i = 0; i < slots; i += 1) sums[i] = sum += (i + 1) ** -theta;
  return (bits) => {
    const at = ((bits + 0.5) / 2 ** 32) * sum;
    let [low, high] = [0, slots - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < at) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** The share of the writes that go to slot 0, the most written slot. @param {number} slots @param {number} theta */
export function firstSlotShare(slots, theta) {
  let sum = 0;
  for (let i = 1; i <= slots; i += 1) sum += i ** -theta;
  return 1 / sum;
}
