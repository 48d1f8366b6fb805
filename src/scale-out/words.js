import { oneLine, withoutKeys } from '../errors.js';

/** Words of the messages of a merge. Texts of run files are made safe: they may have been written by other programs. */

/** Ranges that a list names. */
const INDEXES_NAMED = 20;

/** @param {readonly number[]} indexes @returns {string} such as 0-3, 7, 9-12 */
export function ranges(indexes) {
  /** @type {Array<[number, number]>} */
  const found = [];
  for (const index of [...indexes].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last !== undefined && index <= last[1] + 1) last[1] = index;
    else found.push([index, index]);
  }
  const words = found.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
  const more = words.length - INDEXES_NAMED;
  return `${words.slice(0, INDEXES_NAMED).join(', ')}${more > 0 ? ` and ${more} more ranges` : ''}`;
}

/** @param {number} count @param {string} noun */
export function some(count, noun) {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}

/** Indexes if all have one, otherwise names. @param {ReadonlyArray<{index: number | null, name: string}>} headers */
export function whichOf(headers) {
  const indexes = headers.flatMap(({ index }) => index ?? []);
  if (indexes.length === headers.length) return `instance${indexes.length === 1 ? '' : 's'} ${ranges(indexes)}`;
  const names = headers.slice(0, 3).map(({ name }) => name);
  return `${names.join(', ')}${headers.length > 3 ? ` and ${headers.length - 3} more` : ''}`;
}

/** @param {{offset: number, wallets: number}} slice */
export function walletsOf({ offset, wallets }) {
  return `wallets ${offset}..${offset + wallets - 1}`;
}

/** A private key and a mnemonic. Sentences of ours have fewer short words in a row than a mnemonic. */
const KEY = /(?:0x)?[0-9a-f]{64,}/gi;
const MNEMONIC = /\b(?:[a-z]{3,8}\s+){11,}[a-z]{3,8}\b/gi;
const LONGEST_WORDS = 1000;

/** A text of a run file on one line, without anything that may be a key. @param {string} text */
export function safeWords(text) {
  return oneLine(text.replace(KEY, '***').replace(MNEMONIC, '***'), LONGEST_WORDS);
}

/** Applies safeWords() to all texts in a value, except numbers, hashes and addresses. @template T @param {T} value @returns {T} */
export function safe(value) {
  /** @param {any} one @returns {any} */
  const cleaned = (one) => {
    if (typeof one === 'string') return /^(?:0x[0-9a-f]{0,64}|-?\d{1,100})$/i.test(one) ? one : safeWords(one);
    if (Array.isArray(one)) return one.map(cleaned);
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([key, member]) => [key, cleaned(member)]));
  };
  return cleaned(value);
}

/** A value of a run file in a message. @param {unknown} value */
export function shown(value) {
  if (value === null || value === undefined) return 'not given';
  return oneLine(withoutKeys(typeof value === 'string' ? value : JSON.stringify(value)), 60);
}
