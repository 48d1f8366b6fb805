/** Templates in the parameters of calls: values that are drawn for each call. */
import leven from 'leven';
import { toHex } from '../chain/rpc.js';
import { oneLine, withoutKeys } from '../errors.js';

/**
 * @import { TemplateValues } from './calls.js'
 * @import { Need } from './calls-file.js'
 * @import { Template } from './calls-file.js'
 * @import { Compiled } from './calls-file.js'
 * @import { Maker } from './calls-file.js'
 */

/** How far back "recent" is where nothing else is said: nodes without an archive have the state of so many blocks. */
const RECENT = 128;

const LARGEST = 1_000_000_000;

/** @type {Readonly<Record<string, Template>>} */
export const TEMPLATES = Object.freeze({
  'block.latest': { needs: ['head'], numbers: [], value: (draw) => toHex(draw.latest()) },
  'block.recent': { needs: ['head'], numbers: [RECENT], value: (draw, among) => toHex(draw.recent(among)) },
  'block.hash': { needs: ['head', 'blocks'], numbers: [], value: (draw) => draw.blockHash() },
  'tx.recent': { needs: ['head', 'transactions'], numbers: [], value: (draw) => draw.transaction() },
  'range.from': {
    needs: ['head'],
    numbers: [null, RECENT],
    value: (draw, ...range) => toHex(rangeOf(draw, range).from),
  },
  'range.to': { needs: ['head'], numbers: [null, RECENT], value: (draw, ...range) => toHex(rangeOf(draw, range).to) },
  address: { needs: ['addresses'], numbers: [], value: (draw) => draw.address() },
  'address.word': { needs: ['addresses'], numbers: [], value: (draw) => word(draw.address()) },
  'address.own': { needs: ['addresses'], numbers: [], value: (draw) => draw.ownAddress() },
  'address.own.word': { needs: ['addresses'], numbers: [], value: (draw) => word(draw.ownAddress()) },
  'data.address': { needs: ['data'], numbers: [], value: (draw) => draw.data().address },
  'data.topic': { needs: ['data'], numbers: [], value: (draw) => draw.data().topic },
  'page.from': { needs: ['data', 'page'], numbers: [], value: (draw) => toHex(draw.page().fromBlock) },
  'page.to': { needs: ['data', 'page'], numbers: [], value: (draw) => toHex(draw.page().toBlock) },
  'page.topic': { needs: ['data', 'page'], numbers: [], value: (draw) => `0x${word(toHex(draw.pageNumber()))}` },
  'page.count': { needs: ['data', 'page'], numbers: [], value: (draw) => draw.page().count },
});

/** @param {TemplateValues} draw @param {number[]} numbers */
function rangeOf(draw, [length, among]) {
  return draw.range(length, among);
}

/** 32 bytes of calldata, or of a topic, without 0x. @param {string} hex */
function word(hex) {
  return hex.slice(2).toLowerCase().padStart(64, '0');
}

/**
 * @param {unknown} value as JSON gives it
 * @returns {Compiled}
 * @throws {Error} what is wrong with a template in it, for the middle of a sentence
 */
export function compile(value) {
  /** @type {Set<Need>} */
  const needs = new Set();
  const make = maker(value, needs);
  return { make: make ?? (() => value), isConstant: make === null, needs };
}

/** @param {unknown} value @param {Set<Need>} needs @returns {Maker | null} null where it is constant */
function maker(value, needs) {
  if (typeof value === 'string') return textMaker(value, needs);
  if (value === null || typeof value !== 'object') return null;
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([key, part]) => ({ key, part, make: maker(part, needs) }));
  if (parts.every(({ make }) => make === null)) return null;
  const made = parts.map(({ part, make }) => make ?? (() => part));
  if (isList) return (draw) => made.map((make) => make(draw));
  return (draw) => Object.fromEntries(parts.map(({ key }, i) => [key, made[i](draw)]));
}

/** @param {string} text @param {Set<Need>} needs @returns {Maker | null} */
function textMaker(text, needs) {
  // Every second part is what stands between braces.
  const parts = text.split(/\{\{([^{}]*)\}\}/);
  if (parts.some((part, i) => i % 2 === 0 && /\{\{|\}\}/.test(part)))
    throw new Error(`${quoted(text)} has braces that do not close: a template is {{name}}`);
  if (parts.length === 1) return null;
  const makers = parts.map((part, i) => (i % 2 === 0 ? () => part : templateMaker(part, needs)));
  if (parts.length === 3 && parts[0] === '' && parts[2] === '') return makers[1];
  return (draw) => makers.map((make) => make(draw)).join('');
}

/** @param {string} source what is between the braces @param {Set<Need>} needs @returns {Maker} */
function templateMaker(source, needs) {
  const [name, ...given] = source.trim().split(/\s+/);
  if (!Object.hasOwn(TEMPLATES, name)) throw new Error(`${braced(source)} is no template${didYouMean(name)}`);
  const template = TEMPLATES[name];
  const { numbers } = template;
  const fewest = numbers.filter((number) => number === null).length;
  if (given.length < fewest || given.length > numbers.length)
    throw new Error(
      `${braced(source)} has ${given.length} numbers behind its name: ${howMany(fewest, numbers.length)}`,
    );
  const bad = given.find((text) => !/^[1-9]\d{0,9}$/.test(text) || Number(text) > LARGEST);
  if (bad !== undefined)
    throw new Error(
      `${braced(source)} has ${quoted(bad)} behind its name: it must be a whole number from 1 to ${LARGEST}`,
    );
  for (const need of template.needs) needs.add(need);
  const all = numbers.map((fallback, i) => (i < given.length ? Number(given[i]) : Number(fallback)));
  return (draw) => template.value(draw, ...all);
}

/** @param {number} fewest @param {number} most */
function howMany(fewest, most) {
  return most === 0 ? 'it takes none' : `it takes ${fewest === most ? most : `${fewest} to ${most}`}`;
}

/** @param {string} name */
function didYouMean(name) {
  const names = Object.keys(TEMPLATES);
  const [best] = names.map((one) => ({ one, distance: leven(name, one) })).sort((a, b) => a.distance - b.distance);
  return best.distance <= best.one.length / 3 ? `: did you mean {{${best.one}}}?` : `: there are ${names.join(', ')}`;
}

/** @param {string} source */
function braced(source) {
  return oneLine(withoutKeys(`{{${source}}}`), 60);
}

/** @param {string} text */
function quoted(text) {
  return JSON.stringify(oneLine(withoutKeys(text), 60));
}
