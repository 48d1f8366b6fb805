/** So many characters of a name fit into a legend on a phone. */
const LONGEST = 28;

/**
 * What runs are called on their page: their files, as short as still tells them apart.
 * @param {readonly string[]} files
 * @returns {string[]}
 */
export function namesOf(files) {
  const short = files.map((file) =>
    shortened(
      file
        .replace(/\.json$/i, '')
        .split('/')
        .at(-1) || file,
    ),
  );
  return short.map((name, i) => (short.indexOf(name) === short.lastIndexOf(name) ? name : `${name} (${i + 1})`));
}

/** What tells names apart is more often at their ends. @param {string} name */
function shortened(name) {
  const letters = [...name];
  return letters.length <= LONGEST ? name : `${letters.slice(0, 9).join('')}…${letters.slice(10 - LONGEST).join('')}`;
}
