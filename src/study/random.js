/**
 * Random numbers that a seed decides, so that whoever asks the same question of the same files gets the same answer:
 * sfc32 (C. Doty-Humphrey, PractRand), which passes the tests of its author.
 * @typedef {() => number} Random at least 0, below 1
 *
 * @param {number} seed
 * @returns {Random}
 */
export function randomNumbers(seed) {
  let [a, b, c, counter] = [seed | 0, (seed / 2 ** 32) | 0, 0x9e3779b9 | 0, 1];
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  // The first ones still look like the seed.
  for (let i = 0; i < 15; i += 1) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}
