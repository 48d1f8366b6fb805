/**
 * The names that a mistyped word may mean, the most similar first; of equally similar ones, the first of the list.
 * @param {string} word @param {readonly string[]} names
 */
export function similarNames(word, names) {
  return byDistance(word, names).map(({ name }) => name);
}

/** The most similar names: several if they are equally similar. @param {string} word @param {readonly string[]} names */
export function mostSimilar(word, names) {
  const all = byDistance(word, names);
  return all.filter(({ distance }) => distance === all[0].distance).map(({ name }) => name);
}

/** @param {string} word @param {readonly string[]} names */
function byDistance(word, names) {
  return names
    .map((name) => ({ name, distance: word !== '' && name.startsWith(word) ? 1 : typos(word, name) }))
    .filter(({ name, distance }) => distance <= Math.max(2, name.length / 3))
    .sort((a, b) => a.distance - b.distance);
}

/**
 * How many letters are missing, added, wrong, or exchanged with their neighbour (optimal string alignment).
 * @param {string} a @param {string} b
 */
export function typos(a, b) {
  /** @type {number[][]} */
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const wrong = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + wrong);
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isExchanged) row[j] = Math.min(row[j], rows[i - 2][j - 2] + 1);
    }
    rows.push(row);
  }
  return rows[a.length][b.length];
}
