import { toHex } from '../chain/answers.js';
import { oneLine, withoutKeys } from '../errors.js';
import { quote } from '../text.js';
import { word } from './contract-state.js';
import { TOPIC } from './logs.js';

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
 * @property {readonly (number | null)[]} [numbers] defaults of the numbers after its name; null: no default
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
  'block.latest': { needs: ['head'], value: ({ head }) => toHex(head.number) },
  'block.recent': {
    needs: ['head'],
    numbers: [RECENT],
    value: (values, among) => {
      const { number } = values.head;
      return toHex(number - values.pick(`recent ${among}`, Math.min(among, number + 1)));
    },
  },
  'block.hash': { needs: ['head', 'blocks'], value: (values) => anyOf(values, 'block', values.head.blockHashes) },
  'tx.recent': { needs: ['head', 'transactions'], value: (values) => anyOf(values, 'tx', values.head.transactions) },
  'range.from': {
    needs: ['head'],
    numbers: [null, RECENT],
    value: (values, length, among) => toHex(Math.max(0, rangeEnd(values, length, among) - length + 1)),
  },
  'range.to': {
    needs: ['head'],
    numbers: [null, RECENT],
    value: (values, n, among) => toHex(rangeEnd(values, n, among)),
  },
  address: { needs: ['addresses'], value: anyAddress },
  'address.word': { needs: ['addresses'], value: (values) => word(anyAddress(values)) },
  'address.own': { needs: ['addresses'], value: ownAddress },
  'address.own.word': { needs: ['addresses'], value: (values) => word(ownAddress(values)) },
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

/** The block of the user's page. @param {TemplateValues} values */
function pageBlock({ data, user }) {
  return data.blocks[user.page];
}

/** The last block of a range that ends among the latest blocks. @param {TemplateValues} values @param {number} length @param {number} among */
function rangeEnd(values, length, among) {
  const { number } = values.head;
  return number - values.pick(`range ${length} ${among}`, Math.min(among, Math.max(1, number + 2 - length)));
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
    throw new Error(`${quote(text)} has braces that do not close: a template is {{name}}`);
  if (parts.length === 1) return null;
  const makers = parts.map((part, i) => (i % 2 === 0 ? () => part : templateMaker(part, needs)));
  if (parts.length === 3 && parts[0] === '' && parts[2] === '') return makers[1];
  return (values) => makers.map((make) => make(values)).join('');
}

/** @param {string} source the text between the braces @param {Set<Need>} needs @returns {Maker} */
function templateMaker(source, needs) {
  const [name, ...given] = source.trim().split(/\s+/);
  const template = Object.hasOwn(TEMPLATES, name) ? TEMPLATES[name] : null;
  const numbers = template?.numbers ?? [];
  const fewest = numbers.filter((number) => number === null).length;
  const areNumbers = given.every((text) => /^[1-9]\d{0,9}$/.test(text) && Number(text) <= LARGEST);
  if (template === null || !areNumbers || given.length < fewest || given.length > numbers.length)
    throw new Error(`${braced(source)} is no template; templates, with N from 1 to ${LARGEST}: ${usage()}`);
  for (const need of template.needs) needs.add(need);
  const all = numbers.map((fallback, i) => (i < given.length ? Number(given[i]) : Number(fallback)));
  return (values) => template.value(values, ...all);
}

/** All templates, with their numbers. */
function usage() {
  return Object.entries(TEMPLATES)
    .map(([name, { numbers = [] }]) => [name, ...numbers.map((number) => (number === null ? 'N' : '[N]'))].join(' '))
    .join(', ');
}

/** @param {string} source */
function braced(source) {
  return oneLine(withoutKeys(`{{${source}}}`), 60);
}
