import { Distribution } from '../../src/stats/histogram.js';

const one = new Distribution();
one.record(1);

/** Every number of a file is 1, and every distribution has one value. @param {any} json @returns {any} */
export function ones(json) {
  if (typeof json === 'number') return 1;
  if (json === null || typeof json !== 'object') return json;
  if ('hdr' in json) return one.toJSON();
  if (Array.isArray(json)) return json.map(ones);
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, ones(value)]));
}

/** "1 runs" and the like; rates are no counts. @param {string} text @returns {string[]} */
export function wrongPlurals(text) {
  const found = text.matchAll(/(?<![\d.,=:+-] ?|\w)1 (?:more |verified )?([a-z]+s)\b(?! (?:verified )?per second)/g);
  return [...found].filter(([, word]) => !NO_NOUNS.has(word)).map(([words]) => words);
}

const NO_NOUNS = new Set(['ms', 'us', 'is', 'was', 'does', 'has', 'less', 'this', 'its', 'pass', 'across', 'others']);
