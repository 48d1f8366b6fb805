/**
 * Unknown is a value of its own. A figure is a number, or unknown(why): arithmetic with an unknown value gives an unknown
 * value, so that it never becomes 0, a lower count or a passed threshold. A run file has null in its place, and the reason
 * in `unmeasured`.
 *
 * @import { Unknown } from '../contracts/run-file.d.ts'
 */

/**
 * A part of a run file as it is written: null in place of what is unknown.
 * @template T
 * @typedef {T extends Unknown ? null : T extends readonly (infer U)[] ? Written<U>[] : T extends object ? {[K in keyof T]: Written<T[K]>} : T} Written
 */

/** @implements {Unknown} */
class UnknownValue {
  /** @type {true} */
  isUnknown = true;

  /** @param {string} why */
  constructor(why) {
    this.why = why;
    Object.freeze(this);
  }
}

/** @param {string} why @returns {Unknown} */
export function unknown(why) {
  return new UnknownValue(why);
}

/** @param {unknown} value @returns {value is Unknown} */
export function isUnknown(value) {
  return value instanceof UnknownValue;
}

/** @template T @param {T | null | undefined} value @param {string} why it is not known @returns {T | Unknown} */
export function orUnknown(value, why) {
  return value === null || value === undefined ? new UnknownValue(why) : value;
}

/** For a table, which has a dash in its place. @template T @param {T | Unknown} value @returns {T | null} */
export function orNull(value) {
  return isUnknown(value) ? null : /** @type {T} */ (value);
}

/**
 * A figure that is computed of others: unknown if one of them is, for the reason of the first of those.
 * @param {(...values: number[]) => number | Unknown} compute
 * @param {...(number | Unknown)} values
 * @returns {number | Unknown}
 */
export function computed(compute, ...values) {
  const open = values.find(isUnknown);
  return open ?? compute(.../** @type {number[]} */ (values));
}

/** @param {...(number | Unknown)} values @returns {number | Unknown} */
export function sum(...values) {
  return computed((...numbers) => numbers.reduce((all, one) => all + one, 0), ...values);
}

/** @param {...(number | Unknown)} values @returns {number | Unknown} */
export function product(...values) {
  return computed((...numbers) => numbers.reduce((all, one) => all * one, 1), ...values);
}

/** @param {number | Unknown} part @param {number | Unknown} whole @param {string} why a share of nothing is not known @returns {number | Unknown} */
export function ratio(part, whole, why) {
  return computed((a, b) => (b === 0 ? unknown(why) : a / b), part, whole);
}

/**
 * Members as a run file has them: null in place of each unknown value, and its reason by JSON pointer (RFC 6901).
 * @template T
 * @param {T} tree plain data
 * @param {string} [pointer] of the tree in the run file
 * @returns {{members: Written<T>, unmeasured: Record<string, string>}}
 */
export function asMembers(tree, pointer = '') {
  /** @type {Record<string, string>} */
  const unmeasured = {};
  /** @param {unknown} value @param {string} at @returns {unknown} */
  const written = (value, at) => {
    if (value instanceof UnknownValue) {
      unmeasured[at] = value.why;
      return null;
    }
    if (Array.isArray(value)) return value.map((one, i) => written(one, `${at}/${i}`));
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, written(one, `${at}/${escaped(key)}`)]));
  };
  return { members: /** @type {Written<T>} */ (written(tree, pointer)), unmeasured };
}

/** @param {string} key */
function escaped(key) {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
