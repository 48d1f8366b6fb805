import { Distribution } from './histogram.js';

/**
 * The only addition of figures: of intervals, threads, instances and totals. The tables of stats/metrics.js say how
 * each figure is added.
 *
 * @typedef {object} Rule
 * @property {(a: any, b: any, aShare: number | null) => any} [add] of a figure
 * @property {() => unknown} [zero] of a figure: its value before anything was counted, if that is known
 * @property {Record<string, Rule>} [members] of an object; without `each`, others stay as they are on the left
 * @property {Rule} [each] of all other members, such as those of a figure with a tag: a failure code, an RPC purpose, a name of operations, an endpoint
 * @property {string} [tag] its name on the Prometheus page
 * @property {(a: any, b: any) => any} [sameTime] in place of the members, for both sides of the same time
 * @property {number} [most] limit of tags; further ones become OTHERS
 * @property {(sum: any) => any} [after] derives members from the others
 * @property {Page} [page]
 *
 * @typedef {object} Page how the Prometheus page shows a figure
 * @property {string} family
 * @property {'counter' | 'gauge' | 'histogram'} type
 * @property {string} help
 * @property {Record<string, string>} labels
 * @property {(parent: any) => number | null} [value] default: the figure itself; null: it is not known
 * @property {boolean} isSum since the start of the run, not of the last interval
 */

/** Both sides cover the same time: those of two threads, or of two instances. */
export const SAME_TIME = null;
/** The left side is earlier, where no mean is among the figures; otherwise the share of the time is given. */
export const EARLIER = 0.5;

/** The tag of what is beyond the limit of tags. */
export const OTHERS = 'others';

/**
 * Neither side is changed. Histograms as JSON become a Distribution, so that many are added at little cost.
 * @param {Rule} rule
 * @param {any} a
 * @param {any} b where it matters, the later one
 * @param {number | null} [aShare] of the time of both that a has
 * @returns {any}
 */
export function merge(rule, a, b, aShare = SAME_TIME) {
  if (rule.add !== undefined) return rule.add(a, b, aShare);
  if ((b ?? null) === null) return a === undefined ? b : a;
  if (rule.sameTime !== undefined && aShare === SAME_TIME && (a ?? null) !== null) return rule.sameTime(a, b);
  const sum = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const isBeyond = rule.most !== undefined && !Object.hasOwn(sum, name) && Object.keys(sum).length >= rule.most - 1;
    const key = isBeyond ? OTHERS : name;
    const part = own(rule.members ?? {}, name) ?? rule.each;
    const known = own(sum, key);
    sum[key] = part === undefined ? (known ?? value) : merge(part, known, value, aShare);
  }
  return rule.after === undefined ? sum : rule.after(sum);
}

/** What is known before anything was counted: figures that are not are null. @param {Rule} rule @returns {any} */
export function zero({ add, zero: known = () => null, members = {} }) {
  if (add !== undefined) return known();
  return Object.fromEntries(Object.entries(members).map(([name, rule]) => [name, zero(rule)]));
}

/** Every object has members such as constructor. @param {Record<string, any>} object @param {string} name */
function own(object, name) {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** If one side is not known, the other one counts. @param {NonNullable<Rule['add']>} add @returns {Rule} */
export function knownOf(add) {
  return { add: (a, b, aShare) => ((a ?? null) === null ? b : (b ?? null) === null ? a : add(a, b, aShare)) };
}

/** If one side is not known, the sum is not known. @param {(a: any, b: any) => any} add @returns {Rule} */
export function unknownIfAny(add) {
  return { add: (a, b) => (a === undefined ? b : a === null || b === null ? null : add(a, b)) };
}

/**
 * @param {(a: any, b: any, aShare: number) => any} ofIntervals of two intervals
 * @param {(a: any, b: any) => any} ofSameTime of two threads or instances
 */
function eachWay(ofIntervals, ofSameTime) {
  return knownOf((a, b, aShare) => (aShare === SAME_TIME ? ofSameTime(a, b) : ofIntervals(a, b, aShare)));
}

/** @type {(a: number, b: number) => number} */
const total = (a, b) => a + b;
/** @type {(a: number, b: number, aShare: number) => number} */
const weighted = (a, b, aShare) => a * aShare + b * (1 - aShare);
/** @type {(a: any, b: any) => any} */
const left = (a) => a;
/** @type {(a: any, b: any) => any} */
const right = (_, b) => b;

/** @type {Rule} */
export const sum = { ...knownOf(total), zero: () => 0 };
/** Amounts in wei and state of the chain are decimal integers in text. @param {string} a @param {string} b */
export const addText = (a, b) => String(BigInt(a) + BigInt(b));
export const sumText = knownOf(addText);
export const max = knownOf((a, b) => Math.max(a, b));
export const min = knownOf((a, b) => Math.min(a, b));
/** What holds only if it holds of all. */
export const both = knownOf((a, b) => a && b);
export const first = knownOf(left);
// The rules of two intervals, and of the same time. A thread uses a loop, and has a mean, of its own: the busiest one counts.
export const latestOrFirst = eachWay(right, left);
export const latestOrSum = eachWay(right, total);
export const sumOrMax = eachWay(total, Math.max);
export const meanOrMax = eachWay(weighted, Math.max);
export const meanOrSum = eachWay(weighted, total);
/** What all threads and instances see of the chain. */
export const meanOrFirst = eachWay(weighted, left);

/** The first entries of both. @param {number} most */
export function listed(most) {
  return knownOf((a, b) => [...a, ...b].slice(0, most));
}

/** A list whose entries have a name. @param {string} name member @param {Rule} entry @returns {Rule} */
export function namedEntries(name, entry) {
  const byName = (/** @type {any[]} */ list) => Object.fromEntries(list.map((one) => [one[name], one]));
  return {
    each: entry,
    tag: name,
    add: (a = null, b = null, aShare) =>
      a === null && b === null ? b : Object.values(merge({ each: entry }, byName(a ?? []), byName(b ?? []), aShare)),
  };
}

/** Lists with an entry for each position. @param {Rule} entry @returns {Rule} */
export function byPosition(entry) {
  return knownOf((a, b, aShare) =>
    Array.from({ length: Math.max(a.length, b.length) }, (_, i) => merge(entry, a[i], b[i], aShare)),
  );
}

/** @type {Rule} */
export const histogram = {
  zero: () => new Distribution(),
  add: (a, b) => [a, b].reduce((all, one) => (one ? all.add(one) : all), new Distribution()),
};

/** A figure that the Prometheus page shows. @param {Rule} rule @param {string} family @param {string} help @param {Page['labels']} [labels] @param {Page['value']} [value] @returns {Rule} */
export function onPage(rule, family, help, labels = {}, value = undefined) {
  const type = rule === histogram ? 'histogram' : family.endsWith('_total') ? 'counter' : 'gauge';
  return { ...rule, page: { family, type, help, labels, value, isSum: type !== 'gauge' || rule === latestOrFirst } };
}

/** Counts by name. @type {Rule} */
export const COUNTERS = { each: sum };

/** @template {Record<string, number>} T @param {T} a @param {T} b @returns {T} */
export function addUp(a, b) {
  return merge(COUNTERS, a, b);
}

/** Distributions of a sum as a run file has them. @template T @param {T} figures @returns {T} */
export function asJson(figures) {
  return mapDistributions(figures, (distribution) => distribution.toJSON());
}

/** @param {any} value @param {(distribution: Distribution) => unknown} of @returns {any} */
export function mapDistributions(value, of) {
  if (value instanceof Distribution) return of(value);
  if (Array.isArray(value)) return value.map((one) => mapDistributions(one, of));
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapDistributions(one, of)]));
}
