import { readFileSync } from 'node:fs';
import { toHex } from '../chain/answers.js';
import { displayName, errnoWords, oneLine, withoutKeys } from '../errors.js';
import { quote } from '../text.js';
import { word } from './contract-state.js';
import { TOPIC } from './logs.js';

/**
 * Templates in the parameters of plain calls, and in the arguments of contract calls: `{{name}}` or `{{name N}}` inside a
 * text. A text that consists of one template becomes its value; within a longer text the value is inserted. A random value
 * is chosen once per call, so that the same template has the same value in all of the call. With `.word` behind its name the
 * value is 32 bytes of calldata.
 *
 * @import { Random } from '../random.js'
 * @import { TemplateValues } from './calls.js'
 *
 * @typedef {'head' | 'blocks' | 'transactions' | 'addresses' | 'data' | 'page' | 'draw' | 'wallet' | 'nonce'} Need a source of
 *   values; draw: random numbers; wallet: the index of the wallet; nonce: of the operation
 *
 * @typedef {object} Parameter a word behind the name
 * @property {string} shown
 * @property {(text: string) => unknown} read undefined: the text is none
 * @property {unknown} [fallback] undefined: it must be given
 *
 * @typedef {object} Template
 * @property {readonly Need[]} needs
 * @property {readonly Parameter[]} [parameters]
 * @property {(...given: any[]) => boolean} [takes] whether the parameters go together
 * @property {(values: TemplateValues, ...given: any[]) => string | number} value
 *
 * @typedef {(values: TemplateValues) => unknown} Maker
 *
 * @typedef {object} Compiled
 * @property {Maker} make the value for one call; always the same object if constant
 * @property {boolean} isConstant
 * @property {ReadonlySet<Need>} needs
 * @property {number} lines of the longest file in it; 1 without one
 *
 * @typedef {{name: string, lines: readonly string[]}} Lines of a file
 */

/** The default range of "recent": nodes without an archive keep the state of so many blocks. */
const RECENT = 128;

const LARGEST = 1_000_000_000;

/** Behind the name of a template. */
const WORD = /\.word$/;

/** @type {readonly Need[]} */
const PAGE = ['data', 'page'];

/** What plain calls have. @type {readonly Need[]} */
export const OF_CALLS = Object.freeze(['head', 'blocks', 'transactions', 'addresses', 'draw', ...PAGE]);

/** What transactions have: each follows from its wallet and its nonce. @type {readonly Need[]} */
export const OF_OPERATIONS = Object.freeze(['addresses', 'draw', 'wallet', 'nonce']);

/** A number from 1 on. @param {number} [fallback] @returns {Parameter} */
const count = (fallback) => ({
  shown: fallback === undefined ? 'N' : '[N]',
  read: (text) => (/^[1-9]\d{0,9}$/.test(text) && Number(text) <= LARGEST ? Number(text) : undefined),
  fallback,
});

/** A number of up to 256 bits. @param {string} shown @returns {Parameter} */
const amount = (shown) => ({ shown, read: (text) => (/^\d{1,77}$/.test(text) ? BigInt(text) : undefined) });

/** @type {Parameter} */
const FILE = { shown: 'FILE', read: readLines };

/** @type {Readonly<Record<string, Template>>} */
export const TEMPLATES = Object.freeze({
  'block.latest': { needs: ['head'], value: ({ head }) => toHex(head.number) },
  'block.recent': {
    needs: ['head', 'draw'],
    parameters: [count(RECENT)],
    value: (values, among) => {
      const { number } = values.head;
      return toHex(number - values.pick(`recent ${among}`, Math.min(among, number + 1)));
    },
  },
  'block.hash': {
    needs: ['head', 'blocks', 'draw'],
    value: (values) => anyOf(values, 'block', values.head.blockHashes),
  },
  'tx.recent': {
    needs: ['head', 'transactions', 'draw'],
    value: (values) => anyOf(values, 'tx', values.head.transactions),
  },
  'range.from': {
    needs: ['head', 'draw'],
    parameters: [count(), count(RECENT)],
    value: (values, length, among) => toHex(Math.max(0, rangeEnd(values, length, among) - length + 1)),
  },
  'range.to': {
    needs: ['head', 'draw'],
    parameters: [count(), count(RECENT)],
    value: (values, n, among) => toHex(rangeEnd(values, n, among)),
  },
  address: { needs: ['addresses', 'draw'], value: anyAddress },
  'address.own': { needs: ['addresses'], value: ownAddress },
  'address.random': { needs: ['draw'], value: randomAddress },
  'wallet.own': { needs: ['addresses'], value: ownAddress },
  'wallet.next': { needs: ['addresses'], value: nextAddress },
  'wallet.index': { needs: ['wallet'], value: ({ walletIndex = 0 }) => walletIndex },
  nonce: { needs: ['nonce'], value: ({ nonce = 0 }) => nonce },
  // As the tokens of erc721: no other operation has it.
  unique: {
    needs: ['wallet', 'nonce'],
    value: ({ walletIndex = 0, nonce = 0 }) => String((BigInt(walletIndex) << 64n) + BigInt(nonce)),
  },
  number: {
    needs: ['draw'],
    parameters: [amount('FROM'), amount('TO')],
    takes: (from, to) => from <= to,
    value: (values, /** @type {bigint} */ from, /** @type {bigint} */ to) =>
      String(from + (((to - from + 1n) * BigInt(values.pick(`number ${from} ${to}`, 2 ** 32))) >> 32n)),
  },
  line: {
    needs: ['draw'],
    parameters: [FILE],
    value: (values, { name, lines }) => anyOf(values, `line ${name}`, lines),
  },
  'line.own': {
    needs: ['wallet'],
    parameters: [FILE],
    value: ({ walletIndex = 0 }, { lines }) => lines[walletIndex % lines.length],
  },
  'data.address': { needs: ['data'], value: ({ data }) => data.address },
  'data.topic': { needs: ['data'], value: () => TOPIC },
  'page.from': { needs: PAGE, value: (values) => toHex(pageBlock(values)) },
  'page.to': { needs: PAGE, value: (values) => toHex(pageBlock(values)) },
  'page.topic': { needs: PAGE, value: ({ user }) => `0x${word(user.page)}` },
  'page.count': { needs: PAGE, value: ({ data }) => data.pageSize },
});

/** @param {TemplateValues} values @param {string} key @param {readonly string[]} texts */
function anyOf(values, key, texts) {
  return texts[values.pick(key, texts.length)];
}

/** @param {TemplateValues} values */
function anyAddress(values) {
  return anyOf(values, 'address', values.addresses);
}

/** @param {TemplateValues} values */
function ownAddress({ addresses, user }) {
  return addresses[user.index];
}

/** @param {TemplateValues} values */
function nextAddress({ addresses, user }) {
  return addresses[(user.index + 1) % addresses.length];
}

/** Nobody has its key. @param {TemplateValues} values */
function randomAddress({ pick }) {
  const words = Array.from({ length: 5 }, (_, i) => pick(`address.random ${i}`, 2 ** 32));
  return `0x${words.map((bits) => bits.toString(16).padStart(8, '0')).join('')}`;
}

/** The block of the user's page. @param {TemplateValues} values */
function pageBlock({ data, user }) {
  return data.blocks[user.page];
}

/** The last block of a range that ends among the latest blocks. @param {TemplateValues} values @param {number} length @param {number} among */
function rangeEnd(values, length, among) {
  const { number } = values.head;
  return number - values.pick(`range ${length} ${among}`, Math.min(among, Math.max(1, number + 2 - length)));
}

/** Random numbers of one call: the same for the same key. @param {{random: Random}} source @returns {TemplateValues['pick']} */
export function picker({ random }) {
  /** @type {Map<string, number>} */
  const picked = new Map();
  return (key, below) => {
    const number = picked.get(key) ?? Math.floor(random() * below);
    picked.set(key, number);
    return number;
  };
}

/** What the templates of a value use. @typedef {{needs: Set<Need>, lines: number, available: readonly Need[]}} Use */

/**
 * @param {unknown} value from JSON
 * @param {readonly Need[]} [available] where it is used
 * @returns {Compiled}
 * @throws {Error} about an invalid template, with a message for the middle of a sentence
 */
export function compile(value, available = OF_CALLS) {
  /** @type {Use} */
  const use = { needs: new Set(), lines: 1, available };
  const make = maker(value, use);
  return { make: make ?? (() => value), isConstant: make === null, needs: use.needs, lines: use.lines };
}

/** @param {unknown} value @param {Use} use @returns {Maker | null} null if constant */
function maker(value, use) {
  if (typeof value === 'string') return textMaker(value, use);
  if (value === null || typeof value !== 'object') return null;
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([key, part]) => ({ key, part, make: maker(part, use) }));
  if (parts.every(({ make }) => make === null)) return null;
  const made = parts.map(({ part, make }) => make ?? (() => part));
  if (isList) return (values) => made.map((make) => make(values));
  return (values) => Object.fromEntries(parts.map(({ key }, i) => [key, made[i](values)]));
}

/** @param {string} text @param {Use} use @returns {Maker | null} */
function textMaker(text, use) {
  // Every second part was between braces.
  const parts = text.split(/\{\{([^{}]*)\}\}/);
  if (parts.some((part, i) => i % 2 === 0 && /\{\{|\}\}/.test(part)))
    throw new Error(`${quote(text)} has braces that do not close: a template is {{name}}`);
  if (parts.length === 1) return null;
  const makers = parts.map((part, i) => (i % 2 === 0 ? () => part : templateMaker(part, use)));
  if (parts.length === 3 && parts[0] === '' && parts[2] === '') return makers[1];
  return (values) => makers.map((make) => make(values)).join('');
}

/** @param {string} source the text between the braces @param {Use} use @returns {Maker} */
function templateMaker(source, use) {
  const [given, ...words] = source.trim().split(/\s+/);
  const name = given.replace(WORD, '');
  const template = Object.hasOwn(TEMPLATES, name) ? TEMPLATES[name] : null;
  const { parameters = [], needs = [], takes = () => true } = template ?? {};
  const refuse = (/** @type {string} */ fault) => {
    throw new Error(`${braced(source)} ${fault}`);
  };
  const all = () =>
    `templates, with N from 1 to ${LARGEST}: ${usage(use.available)}; NAME.word is 32 bytes of calldata`;
  // A line may be any text.
  if (template === null || (name !== given && parameters.includes(FILE))) return refuse(`is no template; ${all()}`);
  if (!needs.every((need) => use.available.includes(need))) refuse(`has no value here; ${all()}`);
  const isTooLong = words.length > parameters.length;
  /** @type {any[]} */
  const values = parameters.map(({ read, fallback }, i) =>
    i < words.length && !isTooLong ? read(words[i]) : fallback,
  );
  if (isTooLong || values.includes(undefined) || !takes(...values))
    return refuse(
      `must be {{${usageOf(given, template)}}}${parameters.includes(FILE) ? ', a name without spaces' : ''}`,
    );
  for (const need of needs) use.needs.add(need);
  for (const { lines } of values.filter((one) => Array.isArray(one?.lines)))
    use.lines = Math.max(use.lines, lines.length);
  if (name === given) return (source) => template.value(source, ...values);
  return (source) => word(BigInt(template.value(source, ...values)));
}

/** The values of a file of one value a line; lines without text are none. @param {string} file @returns {Lines} */
function readLines(file) {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`{{line}} cannot read ${displayName(file)}: ${errnoWords(error)}`, { cause: error });
  }
  const lines = text.split(/\r?\n/).flatMap((line) => line.trim() || []);
  if (lines.length === 0) throw new Error(`{{line}} has no value: ${displayName(file)} has no lines`);
  return { name: file, lines };
}

/** All templates of a place, with their parameters. @param {readonly Need[]} available */
function usage(available) {
  return Object.entries(TEMPLATES)
    .filter(([, { needs }]) => needs.every((need) => available.includes(need)))
    .map(([name, template]) => usageOf(name, template))
    .join(', ');
}

/** @param {string} name @param {Template} template */
function usageOf(name, { parameters = [] }) {
  return [name, ...parameters.map(({ shown }) => shown)].join(' ');
}

/** @param {string} source */
function braced(source) {
  return oneLine(withoutKeys(`{{${source}}}`), 60);
}
