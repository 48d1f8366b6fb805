/** Reads a page for Prometheus as a stranger would, by the text of its format. */

/**
 * @typedef {object} Metric
 * @property {string} name
 * @property {Record<string, string>} labels
 * @property {number} value
 */

/** @param {string} url @returns {Promise<Metric[]>} */
export async function readPage(url) {
  return parsePage(await (await fetch(url)).text());
}

/** @param {string} text @returns {Metric[]} */
export function parsePage(text) {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => {
    const match = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/i.exec(line);
    if (match === null) throw new Error(`no metric: ${line}`);
    const [, name, labels = '', value] = match;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"(?:,|$)/g)].map(([, key, text]) => [key, text]);
    return { name, labels: Object.fromEntries(pairs), value: value === '+Inf' ? Infinity : Number(value) };
  });
}

/** @param {Metric[]} metrics @param {string} name @param {Record<string, string>} [labels] all of them */
export function valueOf(metrics, name, labels = {}) {
  const wanted = JSON.stringify(Object.entries(labels).sort());
  const found = metrics.filter(
    (one) => one.name === name && JSON.stringify(Object.entries(one.labels).sort()) === wanted,
  );
  if (found.length > 1) throw new Error(`${name} ${wanted} is there ${found.length} times`);
  return found[0]?.value ?? null;
}
