import leven from 'leven';

/** The names that a mistyped word may mean, the most similar first. @param {string} word @param {readonly string[]} names */
export function similarNames(word, names) {
  return names
    .map((name) => ({ name, distance: word !== '' && name.startsWith(word) ? 1 : leven(word, name) }))
    .filter(({ name, distance }) => distance <= Math.max(2, name.length / 3))
    .sort((a, b) => a.distance - b.distance)
    .map(({ name }) => name);
}
