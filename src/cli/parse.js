import { RAW, displayUrl } from '../chain/rpc.js';
import { HIGHEST_RATE, operationsOf } from '../core/pacer.js';
import { UsageError } from '../errors.js';
import { isWorkloadFile } from '../files.js';
import { similarNames } from '../similar-names.js';
import { quote } from '../text.js';

/**
 * @import { RateStage } from '../contracts/load.d.ts'
 * @import { Threshold } from '../contracts/run-file.d.ts'
 */

/**
 * Parsers of option values: text in, value out. They throw a plain Error whose message goes behind the option's
 * name: "-t must be a whole number".
 */

/**
 * @template T
 * @param {RegExp} pattern
 * @param {string} words what the text must be
 * @param {(match: RegExpExecArray) => T} convert
 */
function matching(pattern, words, convert) {
  return (/** @type {string} */ text) => {
    const match = pattern.exec(text);
    if (match === null) throw new Error(`must be ${words}, not ${quote(text)}`);
    return convert(match);
  };
}

/** @param {RegExpExecArray} match */
const whole = ([text]) => text;

/** @param {string} text @param {number} value @param {number} min @param {number} max */
function inRange(text, value, min, max) {
  if (!(value >= min)) throw new Error(`must be at least ${min}, not ${quote(text)}`);
  if (value > max) throw new Error(`must be at most ${max}, not ${quote(text)}`);
  return value;
}

/** @type {Readonly<Record<string, number>>} */
const FACTORS = Object.freeze({ k: 1e3, M: 1e6 });

/** 10, 10k or 2M; NaN for other texts. @param {string} text */
function numberOf(text) {
  const [, number, factor = ''] = /^([+-]?\d+(?:\.\d+)?)([kM]?)$/.exec(text) ?? [];
  // Twelve digits: 1.1 * 1000 would be 1100.0000000000002.
  return factor === '' ? Number(number) : Number((Number(number) * FACTORS[factor]).toPrecision(12));
}

/** 10k..20k is 10000..20000. @param {string} text */
function withoutFactors(text) {
  return text.replaceAll(/\d+(?:\.\d+)?[kM](?!\w)/g, (part) => String(numberOf(part)));
}

/** @param {number} min @param {number} max */
export function wholeNumber(min, max) {
  return (/** @type {string} */ text) => {
    const value = numberOf(text);
    if (Math.floor(value) !== value) throw new Error(`must be a whole number, not ${quote(text)}`);
    return inRange(text, value, min, max);
  };
}

/** @type {Record<string, number>} */
const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The longest a Node.js timer can wait, in milliseconds: about 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** @param {number} minMs */
export function duration(minMs) {
  return matching(
    /^(\d+(\.\d+)?(ms|s|m|h))+$/,
    'a duration with its unit such as 250ms, 30s, 1m30s or 1h',
    ([text]) => {
      const parts = text.matchAll(/([\d.]+)(ms|s|m|h)/g);
      const value = [...parts].reduce((sum, [, number, unit]) => sum + Number(number) * UNIT_MS[unit], 0);
      if (value < minMs)
        throw new Error(`must be at least ${minMs < 1000 ? `${minMs}ms` : `${minMs / 1000}s`}, not ${quote(text)}`);
      if (value > LONGEST_MS) throw new Error(`must be at most 24 days, not ${quote(text)}`);
      return value;
    },
  );
}

/** An instant with its zone, because several machines are told the same one, or Unix seconds with the ten digits of the years 2001 to 2286. */
const INSTANT = /^(\d{10}(?:\.\d{1,9})?)$|^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** @param {string} text @returns {number} milliseconds since 1970 */
export function instant(text) {
  const [iso, seconds] = INSTANT.exec(text) ?? [''];
  const ms = seconds === undefined ? Date.parse(iso) : Number(seconds) * 1000;
  if (!Number.isNaN(ms)) return ms;
  throw new Error(
    `must be an instant with its zone such as 2030-01-31T12:00:00Z or 2030-01-31T13:00:00+01:00, or Unix seconds, not ${quote(text)}`,
  );
}

/** The name of a run, which is part of names of files. */
export const runName = matching(
  /^[A-Za-z0-9][\w.-]{0,62}$/,
  'a name of up to 63 letters, digits, dots, dashes and underscores that begins with a letter or a digit',
  whole,
);

/** @type {Readonly<Record<string, number>>} */
const GAS_FACTORS = Object.freeze({ k: 1e3, m: 1e6, g: 1e9 });

/** Operations per second, or gas per second. @param {string} text @returns {number | {gasPerSecond: number}} */
export function rate(text) {
  const [, gas, prefix = ''] = /^(\d+(?:\.\d+)?)([kmg])gas(?:\/s)?$/i.exec(text) ?? [];
  if (Number(gas) > 0) return { gasPerSecond: Number(gas) * GAS_FACTORS[prefix.toLowerCase()] };
  const value = numberOf(text.replace(/\/s$/, ''));
  if (Number.isNaN(value))
    throw new Error(
      `must be operations per second, such as 500, 10k or 0.5, or gas per second, such as 30Mgas, not ${quote(text)}`,
    );
  if (value <= 0) throw new Error(`must be more than 0, not ${quote(text)}`);
  return inRange(text, value, 0, HIGHEST_RATE);
}

/** The rate of a chain. @param {string} text @returns {number} */
export function chainRate(text) {
  const value = rate(text);
  if (typeof value === 'number') return value;
  throw new Error(`must be transactions per second, such as 12.5, not ${quote(text)}`);
}

/** A stage such as 0:100/30s or 100/5m. */
const stage = matching(
  /^(?:(\d+(?:\.\d+)?):)?(\d+(?:\.\d+)?)\/(.+)$/,
  'stages such as 0:100/30s,100/5m (FROM:TO/TIME or RATE/TIME)',
  ([text, from, to, time]) => ({
    fromPerSecond: inRange(text, Number(from ?? to), 0, HIGHEST_RATE),
    toPerSecond: inRange(text, Number(to), 0, HIGHEST_RATE),
    durationUs: duration(1)(time) * 1000,
  }),
);

/** @param {string} text @returns {RateStage[]} */
export function stages(text) {
  const list = text.split(',').map((part) => stage(withoutFactors(part.trim())));
  if (operationsOf(list) === 0) throw new Error(`must have a rate above 0: ${quote(text)} has none`);
  return list;
}

/** @type {Record<string, number>} */
const DECIMALS = { ether: 18, gwei: 9, wei: 0 };

/** An amount of coin with its unit. @param {'ether' | 'gwei'} usual */
export function amount(usual) {
  const words = `an amount such as 0.5, 2${usual} or 1000wei (${usual} without a unit)`;
  return matching(/^(\d+)(?:\.(\d+))?(ether|gwei|wei)?$/, words, ([text, coins, fraction = '', unit = usual]) => {
    const decimals = DECIMALS[unit];
    if (/[1-9]/.test(fraction.slice(decimals)))
      throw new Error(`has more decimals than its unit, ${unit}, has: ${quote(text)}`);
    return BigInt(coins + fraction.slice(0, decimals).padEnd(decimals, '0'));
  });
}

/** Transactions, or blocks of them. */
export const poolTarget = matching(
  /^([1-9]\d{0,6})(blocks?)?$/,
  'a number of transactions such as 500, or of blocks such as 2blocks',
  whole,
);

/** @param {string} example @param {readonly string[]} schemes */
function urlOf(example, schemes) {
  return (/** @type {string} */ text) => {
    try {
      // localhost:8545 would be a URL of the scheme localhost.
      const url = new URL(/^([\w.-]+|\[[\da-f:]+\]):\d+(\/|$)/i.test(text) ? `http://${text}` : text);
      decodeURIComponent(url.username + url.password);
      // It is never sent, and no part of a web socket's address.
      url.hash = '';
      // The host of a list, whose next URL has no scheme, has a comma.
      if (schemes.includes(`${url.protocol}//`) && !url.host.includes(',')) return url;
    } catch {
      // The message below says what is wrong with it.
    }
    // The value is not shown: it may hold a key.
    throw new Error(
      `must be a URL such as ${example}, with ${schemes.slice(0, -1).join(', ')} or ${schemes.at(-1)} before it`,
    );
  };
}

export const endpoint = urlOf('http://127.0.0.1:8545', ['http://', 'https://', 'ws://', 'wss://']);

export const webSocket = urlOf('ws://127.0.0.1:1111', ['ws://', 'wss://']);

/** The address of a metrics page. */
export const pageUrl = urlOf('http://127.0.0.1:6060/debug/metrics/prometheus', ['http://', 'https://']);

/** Where CPU profiles of a node come from. @param {string} text */
export function profileSource(text) {
  const [, name = 'node', source] = /^(?:([a-z][\w.-]{0,30})=)?(perf|https?:\/\/.*)$/i.exec(text.trim()) ?? [];
  if (source === undefined)
    throw new Error('must be perf, or a URL such as http://127.0.0.1:6060/debug/pprof/profile; NAME= may be before it');
  return Object.freeze({ name, url: source === 'perf' ? null : pageUrl(source) });
}

/** The Prometheus page of a node, with the name of the node. @param {string} text */
export function metricsSource(text) {
  const [, name = null, source] = /** @type {string[]} */ (/^(?:([a-z][\w.-]{0,30})=)?(.*)$/is.exec(text.trim()));
  return Object.freeze({ name, url: pageUrl(source) });
}

/** Without the secrets of its URL. @param {{name: string | null, url: URL | null}} source url: null: perf */
export function sourceText({ name, url }) {
  return `${name === null ? '' : `${name}=`}${url === null ? 'perf' : displayUrl(url)}`;
}

/** Names of Prometheus metrics. */
export const metricNames = matching(
  /^\s*[a-z_:][\w:]*(\s*,\s*[a-z_:][\w:]*)*\s*$/i,
  'names of metrics separated by commas, without labels',
  ([text]) => Object.freeze([...new Set(text.split(',').map((name) => name.trim()))]),
);

export const methodName = matching(
  /^(?!(0x)?[0-9a-f]{64}$)[\w.-]{1,100}$/i,
  'a JSON-RPC method such as eth_blockNumber',
  whole,
);

/** @param {string} text @returns {unknown[]} */
export function jsonArray(text) {
  try {
    const value = JSON.parse(text);
    if (Array.isArray(value)) return value;
  } catch {
    // The same message.
  }
  throw new Error(`must be a JSON array such as '["0x1", false]', not ${quote(text)}`);
}

/** @param {string} text @returns {unknown[]} */
export function sendParams(text) {
  const value = jsonArray(text);
  const parts = JSON.stringify(value).split(RAW);
  if (parts.length === 2 && parts[0].endsWith('"') && parts[1].startsWith('"')) return value;
  throw new Error(
    `must have "${RAW}" once, in place of the signed transaction, such as '[{"tx":"${RAW}"}]', not ${quote(text)}`,
  );
}

/**
 * Values of a call: texts separated by commas, or a JSON array. Templates in them are replaced later.
 * @param {string} text
 * @returns {unknown[]}
 */
export function argumentList(text) {
  if (!text.trim().startsWith('[')) return text.split(',').map((part) => part.trim());
  let values;
  try {
    values = jsonArray(text);
  } catch {
    throw new Error(
      `must be values separated by commas, such as '{{wallet.next}},1', or a JSON array of them, such as '[["1","{{nonce}}"],true]', where templates are in quotation marks, not ${quote(text)}`,
    );
  }
  JSON.stringify(values, (_, value) => {
    if (typeof value === 'number' && !Number.isSafeInteger(value))
      throw new Error(`has the number ${value}, which JSON does not keep exactly: put it in quotation marks`);
    return value;
  });
  return values;
}

/** Decimal or hexadecimal, as nodes give it. */
export const chainId = matching(/^(\d+|0x[\da-f]+)$/i, 'the id of a chain such as 1337 or 0x539', ([text]) =>
  Number(text),
);

/**
 * @param {readonly string[]} names
 * @param {(text: string) => unknown} [other] of values that have no name
 * @param {Readonly<Record<string, string>>} [removed] names of earlier versions, and what to give instead
 */
export function oneOf(names, other, removed = {}) {
  return (/** @type {string} */ text) => {
    if (names.includes(text)) return text;
    if (Object.hasOwn(removed, text)) throw new Error(`${text} was removed: ${removed[text]}`);
    if (other !== undefined) return other(text);
    const [best] = similarNames(text, names);
    const hint = best === undefined ? '' : `: did you mean ${best}?`;
    throw new Error(`must be one of ${names.join(', ')}, not ${quote(text)}${hint}`);
  };
}

/** NAME=VALUE. */
export const setting = matching(
  /^((?:[a-z]\w*\.)?[a-z_]\w*)=(.*)$/i,
  'a name and a value such as slots=20',
  ([, name, value]) => Object.freeze(/** @type {const} */ ([name, value])),
);

export const hdPath = matching(
  /^m(\/\d+'?)*$/,
  "a derivation path such as m/44'/60'/0'/0 (the wallet's index is appended)",
  whole,
);

/** ethers is loaded where an address is given. @param {string} text */
export async function address(text) {
  const { isAddress } = await import('ethers');
  // Without 0x, and with a check of its own (ICAP), it would be one, too.
  if (!/^0x/i.test(text) || !isAddress(text))
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

export const listenAddress = matching(
  /^(?:([\w.-]+|\[[\da-f:.]+\]):)?(\d+)$/i,
  'a port, or a host and a port such as 0.0.0.0:9464',
  ([text, host = '127.0.0.1', port]) => ({
    host: host.replace(/^\[|\]$/g, ''),
    port: inRange(text, Number(port), 1, 65_535),
  }),
);

export const flag = matching(/^(?:(true|1)|false|0)$/, 'true or false', ([, yes]) => yes !== undefined);

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

/** The name or the file of a workload. @param {readonly string[]} names of the built-in ones */
export function nameOrFile(names) {
  return (/** @type {string} */ text) => {
    if (/^(?!\w+:\/\/).*:\d[\d.]*(,|$)/.test(text))
      throw new Error(`must be a workload without a weight, not ${quote(text)}: --mix takes several with weights`);
    return isWorkloadFile(text) ? pathName(text) : oneOf([...names, './FILE.mjs'])(text);
  };
}

/** A member of a mix. Which names there are is known when the config file is read. */
export const member = matching(
  /^(.+):((?=[\d.]*[1-9])\d+(?:\.\d+)?)$/,
  'workloads with weights above 0, such as counter:50,erc20:30',
  ([, name, weight]) => Object.freeze({ name: isWorkloadFile(name) ? pathName(name) : name, weight: Number(weight) }),
);

/** The extension of a file of rows gives its format. */
const rowName = matching(
  /\.(csv|ndjson|jsonl)(\.gz)?$/,
  'a file whose name ends in .csv, .ndjson or .jsonl, with or without .gz after it',
  ({ input }) => input,
);

/** @param {string} text */
export function rowFile(text) {
  return rowName(pathName(text));
}

/** @param {string} text */
export function fileName(text) {
  if (text === '-') throw new Error('must be a file: standard output is for --out');
  return pathName(text);
}

/** The tables of figures are loaded where they are needed: not for --help. @param {string} text @returns {Promise<Threshold>} */
export async function threshold(text) {
  const { parseThreshold } = await import('../stats/thresholds.js');
  return parseThreshold(text);
}

/** A fraction, such as 2%. @param {string} example @param {number} least in percent @param {number} most */
export const share = (example, least, most) =>
  matching(/^(\d+(?:\.\d+)?)\s*%$/, `a share such as ${example}`, ([text, percent]) => {
    return inRange(text, Number(percent), least, most) / 100;
  });
