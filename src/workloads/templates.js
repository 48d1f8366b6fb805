import { toHex } from '../chain/rpc.js';
import { oneLine, withoutKeys } from '../errors.js';
import { similarNames } from '../similar-names.js';

/**
 * Templates in the parameters of calls: `{{name}}` or `{{name N}}` inside a text. A text that consists of one template
 * becomes its value; within a longer text the value is inserted. A random value is chosen once per call, so that the same
 * template has the same value in all of the call.
 *
 * @import { TemplateValues } from './calls.js'
 *
 * @typedef {'head' | 'blocks' | 'transactions' | 'addresses' | 'data' | 'page'} Need a source of values
 *
 * @typedef {object} Template
 * @property {readonly Need[]} needs
 * @property {readonly (number | null)[]} numbers defaults of the numbers after its name; null: no default
 * @property {(values: TemplateValues, ...numbers: number[]) => string | number} value
 *
 * @typedef {(values: TemplateValues) => unknown} Maker
 *
 * @typedef {object} Compiled
 * @property {Maker} make the value for one call; always the same object if constant
 * @property {boolean} isConstant
 * @property {ReadonlySet<Need>} needs
 */

/** The default range of "recent": nodes without an archive keep the state of so many blocks. */
const RECENT = 128;

const LARGEST = 1_000_000_000;

/** @type {readonly Need[]} */
const PAGE = ['data', 'page'];

/** @type {Readonly<Record<string, Template>>} */
export const TEMPLATES = Object.freeze({
  'block.latest': { needs: ['head'], numbers: [], value: ({ head }) => toHex(head.number) },
  'block.recent': {
    needs: ['head'],
    numbers: [RECENT],
    value: (values, among) => {
      const { number } = values.head;
      return toHex(number - values.pick(`recent ${among}`, Math.min(among, number + 1)));
    },
  },
  'block.hash': {
    needs: ['head', 'blocks'],
    numbers: [],
    value: (values) => anyOf(values, 'block', values.head.blockHashes),
  },
  'tx.recent': {
    needs: ['head', 'transactions'],
    numbers: [],
    value: (values) => anyOf(values, 'transaction', values.head.transactions),
  },
  'range.from': {
    needs: ['head'],
    numbers: [null, RECENT],
    value: (values, length, among) => toHex(Math.max(0, rangeEnd(values, length, among) - length + 1)),
  },
  'range.to': {
    needs: ['head'],
    numbers: [null, RECENT],
    value: (values, length, among) => toHex(rangeEnd(values, length, among)),
  },
  address: { needs: ['addresses'], numbers: [], value: anyAddress },
  'address.word': { needs: ['addresses'], numbers: [], value: (values) => word(anyAddress(values)) },
  'address.own': { needs: ['addresses'], numbers: [], value: ownAddress },
  'address.own.word': { needs: ['addresses'], numbers: [], value: (values) => word(ownAddress(values)) },
  'data.address': { needs: ['data'], numbers: [], value: ({ data }) => data.address },
  'data.topic': { needs: ['data'], numbers: [], value: ({ data }) => data.topic },
  'page.from': { needs: PAGE, numbers: [], value: (values) => toHex(pageOf(values).fromBlock) },
  'page.to': { needs: PAGE, numbers: [], value: (values) => toHex(pageOf(values).toBlock) },
  'page.topic': { needs: PAGE, numbers: [], value: ({ pageNumber }) => `0x${word(toHex(pageNumber))}` },
  'page.count': { needs: PAGE, numbers: [], value: (values) => pageOf(values).count },
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
  return addresses[user.position];
}

/** @param {TemplateValues} values */
function pageOf({ data, pageNumber }) {
  return data.pages[pageNumber];
}

/** The last block of a range that ends among the latest blocks. @param {TemplateValues} values @param {number} length @param {number} among */
function rangeEnd(values, length, among) {
  const { number } = values.head;
  return number - values.pick(`range ${length} ${among}`, Math.min(among, Math.max(1, number + 2 - length)));
}

/** 32 bytes of calldata, or of a topic, without 0x. @param {string} hex */
function word(hex) {
  return hex.slice(2).toLowerCase().padStart(64, '0');
}

/**
 * @param {unknown} value from JSON
 * @returns {Compiled}
 * @throws {Error} about an invalid template, with a message for the middle of a sentence
 */
export function compile(value) {
  /** @type {Set<Need>} */
  const needs = new Set();
  const make = maker(value, needs);
  return { make: make ?? (() => value), isConstant: make === null, needs };
}

/** @param {unknown} value @param {Set<Need>} needs @returns {Maker | null} null if constant */
function maker(value, needs) {
  if (typeof value === 'string') return textMaker(value, needs);
  if (value === null || typeof value !== 'object') return null;
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([key, part]) => ({ key, part, make: maker(part, needs) }));
  if (parts.every(({ make }) => make === null)) return null;
  const made = parts.map(({ part, make }) => make ?? (() => part));
  if (isList) return (values) => made.map((make) => make(values));
  return (values) => Object.fromEntries(parts.map(({ key }, i) => [key, made[i](values)]));
}

/** @param {string} text @param {Set<Need>} needs @returns {Maker | null} */
function textMaker(text, needs) {
  // Every second part was between braces.
  const parts = text.split(/\{\{([^{}]*)\}\}/);
  if (parts.some((part, i) => i % 2 === 0 && /\{\{|\}\}/.test(part)))
    throw new Error(`${quoted(text)} has braces that do not close: a template is {{name}}`);
  if (parts.length === 1) return null;
  const makers = parts.map((part, i) => (i % 2 === 0 ? () => part : templateMaker(part, needs)));
  if (parts.length === 3 && parts[0] === '' && parts[2] === '') return makers[1];
  return (values) => makers.map((make) => make(values)).join('');
}

/** @param {string} source the text between the braces @param {Set<Need>} needs @returns {Maker} */
function templateMaker(source, needs) {
  const [name, ...given] = source.trim().split(/\s+/);
  if (!Object.hasOwn(TEMPLATES, name)) throw new Error(`${braced(source)} is no template${didYouMean(name)}`);
  const template = TEMPLATES[name];
  const { numbers } = template;
  const fewest = numbers.filter((number) => number === null).length;
  const isWrong = given.some((text) => !/^[1-9]\d{0,9}$/.test(text) || Number(text) > LARGEST);
  if (isWrong || given.length < fewest || given.length > numbers.length)
    throw new Error(`${braced(source)}: ${howMany(fewest, numbers.length)} behind its name`);
  for (const need of template.needs) needs.add(need);
  const all = numbers.map((fallback, i) => (i < given.length ? Number(given[i]) : Number(fallback)));
  return (values) => template.value(values, ...all);
}

/** @param {number} fewest @param {number} most */
function howMany(fewest, most) {
  if (most === 0) return 'it takes no numbers';
  const count = fewest === most ? `${most}` : `${fewest} to ${most}`;
  return `give ${count} numbers, each a whole number from 1 to ${LARGEST},`;
}

/** @param {string} name */
function didYouMean(name) {
  const names = Object.keys(TEMPLATES);
  const [best] = similarNames(name, names);
  return best === undefined ? `: there are ${names.join(', ')}` : `: did you mean {{${best}}}?`;
}

/** @param {string} source */
function braced(source) {
  return oneLine(withoutKeys(`{{${source}}}`), 60);
}

/** @param {string} text */
function quoted(text) {
  return JSON.stringify(oneLine(withoutKeys(text), 60));
}
