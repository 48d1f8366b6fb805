import { HIGHEST_RATE, operationsOf } from '../core/pacer.js';
import { UsageError, oneLine, withoutKeys } from '../errors.js';
import { isWorkloadFile } from '../files.js';

/** @import { FailIf, RateStage, Threshold } from '../types.d.ts' */

/**
 * Parsers of option values: text in, value out. They throw a plain Error whose message goes behind the option's
 * name: "-t must be a whole number".
 */

/** 10k and 2M. @type {Record<string, number>} */
const FACTORS = { '': 1, k: 1e3, M: 1e6 };

/** 10k..20k is 10000..20000. @param {string} text */
function withoutFactors(text) {
  const value = (/** @type {string} */ _, /** @type {string} */ number, /** @type {string} */ factor) =>
    String(Number((Number(number) * FACTORS[factor]).toPrecision(12)));
  return text.replaceAll(/(\d+(?:\.\d+)?)([kM])(?!\w)/g, value);
}

/** @param {number} min @param {number} max */
export function wholeNumber(min, max) {
  return (/** @type {string} */ text) => {
    const [, number, factor] = /^(\d+(?:\.\d+)?)([kM])$/.exec(text) ?? [];
    const value = number === undefined ? Number(text) : Number((Number(number) * FACTORS[factor]).toPrecision(12));
    if (number === undefined ? !/^[+-]?\d+$/.test(text) : !Number.isInteger(value))
      throw new Error(`must be a whole number, not ${quote(text)}`);
    if (value < min) throw new Error(`must be at least ${min}, not ${quote(text)}`);
    if (value > max) throw new Error(`must be at most ${max}, not ${quote(text)}`);
    return value;
  };
}

/** @type {Record<string, number>} */
const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The longest a Node.js timer can wait, in milliseconds: about 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** @param {number} minMs */
export function duration(minMs) {
  return (/** @type {string} */ text) => {
    const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/gy)];
    if (text === '' || parts.map(([part]) => part).join('') !== text)
      throw new Error(`must be a duration with its unit such as 250ms, 30s, 1m30s or 1h, not ${quote(text)}`);
    const value = parts.reduce((sum, [, number, unit]) => sum + Number(number) * UNIT_MS[unit], 0);
    if (value < minMs) throw new Error(`must be at least ${minMs}ms, not ${quote(text)}`);
    if (value > LONGEST_MS) throw new Error(`must be at most 24 days, not ${quote(text)}`);
    return value;
  };
}

/** @param {string} text @returns {number | 'auto'} */
export function durationOrAuto(text) {
  return text === 'auto' ? 'auto' : duration(0)(text);
}

/** An instant, with its zone: several machines are told the same one. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Unix seconds of as many digits as they have from 2001 to 2286: with more they are milliseconds. */
const UNIX_SECONDS = /^\d{10}(\.\d{1,9})?$/;

/** @param {string} text @returns {number} milliseconds since 1970 */
export function instant(text) {
  const ms = UNIX_SECONDS.test(text) ? Number(text) * 1000 : isInstant(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms))
    throw new Error(
      `must be an instant with its zone such as 2030-01-31T12:00:00Z or 2030-01-31T13:00:00+01:00, or Unix seconds, not ${quote(text)}`,
    );
  return ms;
}

/** Date.parse() takes the 30th of February for the 2nd of March. @param {string} text */
function isInstant(text) {
  const day = text.slice(0, 10);
  return INSTANT.test(text) && !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
}

/** The name of a run, which is part of names of files. @param {string} text */
export function runName(text) {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(text))
    throw new Error(
      `must be a name of up to 63 letters, digits, dots, dashes and underscores that begins with a letter or a digit, not ${quote(text)}`,
    );
  return text;
}

const GAS_FACTORS = Object.freeze({ k: 1e3, m: 1e6, g: 1e9 });

/** Operations per second, or gas per second. @param {string} text @returns {number | {gasPerSecond: number}} */
export function rate(text) {
  const [, gas, prefix] = /^(\d+(?:\.\d+)?)([kmg])gas(?:\/s)?$/i.exec(text) ?? [];
  const gasPerSecond = Number(gas) * GAS_FACTORS[/** @type {'k' | 'm' | 'g'} */ (prefix?.toLowerCase())];
  if (gasPerSecond > 0) return { gasPerSecond };
  const [, number, factor] = /^(\d+(?:\.\d+)?)([kM]?)(?:\/s)?$/.exec(text) ?? [];
  if (number === undefined)
    throw new Error(
      `must be operations per second, such as 500, 10k or 0.5, or gas per second, such as 30Mgas, not ${quote(text)}`,
    );
  const value = Number(number) * FACTORS[factor];
  if (value <= 0) throw new Error(`must be more than 0, not ${quote(text)}`);
  if (value > HIGHEST_RATE) throw new Error(`must be at most ${HIGHEST_RATE}, not ${quote(text)}`);
  return value;
}

/**
 * Stages such as 0:100/30s,100:1000/2m,1000/1m.
 * @param {string} text
 * @returns {RateStage[]}
 */
export function stages(text) {
  const list = text.split(',').map((part) => {
    const match = /^(?:(\d+(?:\.\d+)?):)?(\d+(?:\.\d+)?)\/(.+)$/.exec(withoutFactors(part.trim()));
    if (match === null)
      throw new Error(
        `must be stages such as 0:100/30s,100/5m (FROM:TO/TIME or RATE/TIME), and ${quote(part)} is none`,
      );
    const [, from = match[2], to, time] = match;
    if (Number(from) > HIGHEST_RATE || Number(to) > HIGHEST_RATE)
      throw new Error(`must have rates of at most ${HIGHEST_RATE}, unlike ${quote(part)}`);
    return { fromPerSecond: Number(from), toPerSecond: Number(to), durationUs: stageTimeMs(part, time) * 1000 };
  });
  if (operationsOf(list) === 0) throw new Error(`must have a rate above 0: ${quote(text)} has none`);
  return list;
}

/** @param {string} part @param {string} time */
function stageTimeMs(part, time) {
  try {
    return duration(1)(time);
  } catch (error) {
    throw new Error(`has a stage ${quote(part)} whose time ${/** @type {Error} */ (error).message}`, { cause: error });
  }
}

/** @type {Record<string, number>} */
const DECIMALS = { ether: 18, gwei: 9, wei: 0 };

/** An amount of coin with its unit. @param {'ether' | 'gwei'} defaultUnit */
export function amount(defaultUnit) {
  return (/** @type {string} */ text) => {
    const match = /^(\d+(?:\.\d+)?)(ether|gwei|wei)?$/.exec(text);
    if (match === null)
      throw new Error(
        `must be an amount such as 0.5, 2${defaultUnit} or 1000wei (${defaultUnit} without a unit), not ${quote(text)}`,
      );
    const [, number, unit = defaultUnit] = match;
    const [whole, fraction = ''] = number.split('.');
    const decimals = DECIMALS[unit];
    if (/[1-9]/.test(fraction.slice(decimals)))
      throw new Error(`has more decimals than its unit, ${unit}, has: ${quote(text)}`);
    return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
  };
}

/** @param {URL} url */
function checkCredentials({ username, password }) {
  try {
    decodeURIComponent(username + password);
  } catch {
    throw new Error('has a user name or password that is not percent-encoded: write % as %25');
  }
}

const SCHEMES = 'http://, https://, ws:// or wss://';

/** @param {string} text */
export function endpoint(text) {
  let url;
  try {
    // localhost:8545 would be a URL of the scheme localhost.
    url = new URL(/^([\w.-]+|\[[\da-f:]+\]):\d+(\/|$)/i.test(text) ? `http://${text}` : text);
    // Of a list, whose next one has no scheme.
    if (url.host.includes(',')) throw new Error('no host has a comma');
  } catch {
    // The value is not shown: it may hold a key.
    throw new Error(`must be a URL such as http://127.0.0.1:8545, with ${SCHEMES} before it`);
  }
  checkCredentials(url);
  if (!['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol))
    throw new Error(`must start with ${SCHEMES}, not ${quote(url.protocol)}`);
  return url;
}

/** The address of a metrics page. @param {string} text */
export function pageUrl(text) {
  const url = URL.canParse(text) ? new URL(text) : null;
  // The value is not shown: it may hold a password.
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new Error('must be a URL such as http://127.0.0.1:6060/debug/metrics/prometheus');
  checkCredentials(url);
  return url;
}

/** Names of Prometheus metrics. @param {string} text @returns {readonly string[]} */
export function metricNames(text) {
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) {
    if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name))
      throw new Error(`must be names of metrics separated by commas, without labels; ${quote(name)} is none`);
  }
  return Object.freeze([...new Set(names)]);
}

/** @param {string} text @returns {number | 'auto'} */
export function workerCount(text) {
  return text === 'auto' ? text : wholeNumber(1, 256)(text);
}

/** @param {string} text */
export function methodName(text) {
  if (!/^[\w.-]{1,100}$/.test(text) || KEY.test(text))
    throw new Error(`must be a JSON-RPC method such as eth_blockNumber, not ${quote(text)}`);
  return text;
}

/** @param {string} text @returns {unknown[]} */
export function jsonArray(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (!Array.isArray(value)) throw new Error(`must be a JSON array such as '["0x1", false]', not ${quote(text)}`);
  return value;
}

/** @param {string} text decimal or hexadecimal, as nodes give it */
export function chainId(text) {
  const value = Number(/^(\d+|0x[\da-f]+)$/i.test(text) ? text : Number.NaN);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`must be the id of a chain such as 1337 or 0x539, not ${quote(text)}`);
  return value;
}

/** @param {readonly string[]} names */
export function oneOf(names) {
  return (/** @type {string} */ text) => {
    if (!names.includes(text)) throw new Error(`must be one of ${names.join(', ')}, not ${quote(text)}`);
    return text;
  };
}

/** @param {readonly string[]} names of the detectors */
export function inclusionName(names) {
  return (/** @type {string} */ text) => {
    if (text === 'receipts')
      throw new Error('receipts was removed: give blocks, or auto, which find transactions in the lists of the blocks');
    return oneOf(names)(text);
  };
}

/** NAME=VALUE. @param {string} text @returns {readonly [string, string]} */
export function setting(text) {
  const match = /^((?:[a-z]\w*\.)?[a-z_]\w*)=(.*)$/i.exec(text);
  if (match === null) throw new Error(`must be a name and a value such as slots=20, not ${quote(text)}`);
  return Object.freeze(/** @type {const} */ ([match[1], match[2]]));
}

/** @param {string} text */
export function hdPath(text) {
  if (!/^m(\/\d+'?)*$/.test(text))
    throw new Error(
      `must be a derivation path such as m/44'/60'/0'/0 (the wallet's index is appended), not ${quote(text)}`,
    );
  const indexes = text.split('/').slice(1);
  if (indexes.some((part) => Number.parseInt(part, 10) >= 2 ** 31))
    throw new Error('has an index of 2147483648 or more');
  return text;
}

/** ethers is loaded where an address is given. @param {string} text */
export async function address(text) {
  const { isAddress } = await import('ethers');
  if (!isAddress(text))
    throw new Error(
      `must be an address (0x and 40 hexadecimal digits, a mixed-case one with a valid checksum), not ${quote(text)}`,
    );
  return text;
}

/** @param {string} text */
export function anyText(text) {
  if (text.trim() === '') throw new Error('must not be empty');
  return text;
}

/** @param {string} text @returns {{host: string, port: number}} */
export function listenAddress(text) {
  const match = /^(?:([\w.-]+|\[[\da-f:.]+\]):)?(\d+)$/i.exec(text);
  const port = Number(match?.[2]);
  if (match === null || !(port >= 1 && port <= 65_535))
    throw new Error(`must be a port, or a host and a port such as 0.0.0.0:9464, not ${quote(text)}`);
  return { host: match[1]?.replace(/^\[|\]$/g, '') ?? '127.0.0.1', port };
}

/** @param {string} text */
export function flag(text) {
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw new Error(`must be true or false, not ${quote(text)}`);
}

/** A value given by mistake may be a key. @param {string} text */
export function quote(text) {
  return JSON.stringify(oneLine(withoutKeys(text), 60));
}

/** The most values of one option: more would be a mistake. */
const MOST_VALUES = 1000;

/**
 * @param {string} text such as 10,40,100..250/10
 * @param {string} label of the option, for messages
 * @returns {string[]} each as if it had been given alone, once and in the order of the text
 * @throws {UsageError}
 */
export function axisTexts(text, label) {
  const texts = text.split(',').flatMap((part) => rangeTexts(part.trim(), label));
  if (texts.includes(''))
    throw new UsageError(
      `${label} has an axis with an empty value: give a list such as 10,40 or a range such as 100..250/10`,
    );
  if (texts.length > MOST_VALUES)
    throw new UsageError(`${label} has ${texts.length} values: at most ${MOST_VALUES} are swept`);
  return [...new Set(texts)];
}

/**
 * The first and the last value of a range to search in.
 * @param {string} text such as 100..5000, or 100 alone
 * @returns {[string, string | null]}
 */
export function bracketTexts(text) {
  const [from, to = null] = withoutFactors(text.replaceAll('/s', ''))
    .split('/')[0]
    .split('..')
    .map((part) => part.trim());
  return [from, to];
}

/** @param {string} text @param {string} label @returns {string[]} */
function rangeTexts(text, label) {
  if (!text.includes('..')) return [text];
  const match = /^(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)(?:\/(\d+(?:\.\d+)?))?$/.exec(withoutFactors(text));
  const [from, to, step] = [match?.[1], match?.[2], match?.[3] ?? '1'].map(Number);
  if (match === null || !(from <= to) || !(step > 0))
    throw new UsageError(`${label} has ${quote(text)}, which is not a range: FROM..TO/STEP, such as 100..250/10`);
  const count = Math.floor((to - from) / step + 1e-9) + 1;
  if (count > MOST_VALUES)
    throw new UsageError(`${label} has ${count} values in ${quote(text)}: at most ${MOST_VALUES} are swept`);
  // Twelve digits: 0.1 + 2 * 0.1 would be 0.30000000000000004.
  return Array.from({ length: count }, (_, i) => String(Number((from + i * step).toPrecision(12))));
}

/** A key of 64 digits as it may stand in a file, or in an export of a shell. */
const KEY = /^["']?(0x)?[0-9a-f]{64}["']?$/i;

/** @param {string} text */
export function looksLikeKey(text) {
  return KEY.test(text.trim());
}

/** Fewest words of a mnemonic (BIP-39). */
const MNEMONIC_WORDS = 12;

/**
 * The name of a file. A key or a mnemonic given by mistake would become a readable file name.
 * @param {string} text
 */
export function pathName(text) {
  const words = text.trim().split(/[\s,]+/);
  if (
    words.some((word) => KEY.test(word)) ||
    words.filter((word) => /^["']?[a-z]+["']?$/i.test(word)).length >= MNEMONIC_WORDS
  )
    throw new Error('must be the name of a file; the value looks like a key or a mnemonic');
  return anyText(text);
}

/** Of a workload. @param {readonly string[]} names of the built-in ones */
export function nameOrFile(names) {
  return (/** @type {string} */ text) => (isWorkloadFile(text) ? pathName(text) : oneOf([...names, './FILE.js'])(text));
}

/** @param {readonly string[]} names of built-in workloads */
export function member(names) {
  const nameOf = nameOrFile(names);
  return (/** @type {string} */ text) => {
    const [, name, weight] = /^(.+):(\d+(?:\.\d+)?)$/.exec(text) ?? [];
    if (name === undefined || !(Number(weight) > 0))
      throw new Error(
        `must be workloads with weights above 0, such as counter:50,erc20:30, and ${quote(text)} has no weight`,
      );
    return Object.freeze({ name: nameOf(name), weight: Number(weight) });
  };
}

/** The extension of a file of rows gives its format. */
export const ROW_EXTENSIONS = Object.freeze(['.csv', '.ndjson', '.jsonl'].flatMap((name) => [name, `${name}.gz`]));

/** @param {string} text */
export function rowFile(text) {
  pathName(text);
  if (!ROW_EXTENSIONS.some((extension) => text.endsWith(extension)))
    throw new Error(`must end in ${ROW_EXTENSIONS.join(', ')}, not ${quote(text)}`);
  return text;
}

/** @param {string} text */
export function fileName(text) {
  if (text === '-') throw new Error('must be a file: standard output is for --out');
  return pathName(text);
}

/** The most instances of one run. */
export const MOST_INSTANCES = 100_000;

/** @param {string} text @returns {number | 'auto'} */
export function instanceIndex(text) {
  return text === 'auto' ? text : wholeNumber(0, MOST_INSTANCES - 1)(text);
}

/** The parsers of figures load the tables of figures, which --help does not need. */

/** @param {string} text @returns {Promise<Threshold>} */
export async function threshold(text) {
  const { parseThreshold } = await import('../stats/thresholds.js');
  return parseThreshold(text);
}

/** @param {string} text @returns {Promise<string>} the name of a figure */
export async function comparedMetric(text) {
  const { metricOf } = await import('../studies/metrics.js');
  return metricOf(text.trim()).name;
}

/** @param {string} text such as 2% @returns {number} as a fraction */
export function smallChange(text) {
  const [, number] = /^(\d+(?:\.\d+)?)\s*%$/.exec(text) ?? [];
  const percent = Number(number);
  if (!(percent >= 0.1 && percent <= 50)) throw new Error(`must be from 0.1% to 50%, such as 2%, not ${quote(text)}`);
  return percent / 100;
}

/** @param {string} text @returns {Promise<FailIf>} */
export async function failIf(text) {
  const { parseFailIf } = await import('../studies/compare-text.js');
  return parseFailIf(text);
}
