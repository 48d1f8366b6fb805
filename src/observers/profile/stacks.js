import { OTHER, groupOf, isSystemCall, packageOf } from './groups.js';

/**
 * The stacks of a CPU profile, added up: a tree of functions, from the first caller to the function that ran.
 *
 * @import { LockWaits as LockReport, ProfiledPackage, ProfiledStacks } from '../../contracts/run-file.d.ts'
 *
 * @typedef {{parent: number, name: number, selfUs: number}} Frame parent, name: indexes; parent -1: the first caller
 */

/** Different frames that are kept in memory. */
const MOST_FRAMES = 200_000;
/** Different stacks in the run file. */
const MOST_STACKS = 2000;
const MOST_FUNCTIONS = 200;
const MOST_OF_A_GROUP = 3;
const MOST_PACKAGES = 50;
const MOST_WAITING = 20;
/** Functions that release a lock on behalf of their caller. */
const LOCK_FUNCTION = /^(sync|runtime|internal)[./]/;

export class Stacks {
  #mostStacks;
  /** @type {string[]} */
  #names = [];
  /** @type {Map<string, number>} */
  #indexes = new Map();
  /** @type {Frame[]} */
  #frames = [];
  /** By parent and name. @type {Map<string, number>} */
  #places = new Map();
  #cpuUs = 0;

  /** @param {number} [mostStacks] */
  constructor(mostStacks = MOST_STACKS) {
    this.#mostStacks = mostStacks;
  }

  /** @param {readonly string[]} names of the functions, the first caller first @param {number} us CPU time */
  add(names, us) {
    this.#cpuUs += us;
    let place = -1;
    for (const name of names) {
      place = this.#placeOf(place, name);
      if (place === -1) break;
    }
    // Without room it is part of the other stacks: of cpuUs only.
    if (place !== -1) this.#frames[place].selfUs += us;
  }

  /** @param {number} parent @param {string} name @returns {number} -1: there is no room */
  #placeOf(parent, name) {
    let index = this.#indexes.get(name);
    if (index === undefined) {
      index = this.#names.push(name) - 1;
      this.#indexes.set(name, index);
    }
    const key = `${parent} ${index}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (this.#frames.length >= MOST_FRAMES) return -1;
    const place = this.#frames.push({ parent, name: index, selfUs: 0 }) - 1;
    this.#places.set(key, place);
    return place;
  }

  /** @returns {ProfiledStacks} */
  report() {
    const ran = [...this.#frames.keys()].filter((place) => this.#frames[place].selfUs > 0);
    ran.sort((a, b) => this.#frames[b].selfUs - this.#frames[a].selfUs);
    return { cpuUs: this.#cpuUs, ...this.#sums(ran), ...this.#kept(ran.slice(0, this.#mostStacks)) };
  }

  /** @param {number} place @returns {number[]} the places from this function to the first caller */
  #callersOf(place) {
    const places = [];
    for (let at = place; at !== -1; at = this.#frames[at].parent) places.push(at);
    return places;
  }

  /** CPU time by function and by group. @param {number[]} ran */
  #sums(ran) {
    /** @type {Map<number, {selfUs: number, totalUs: number}>} */
    const functions = new Map();
    /** @type {Map<string, {selfUs: number, functions: Map<string, number>}>} */
    const groups = new Map();
    let systemCallUs = 0;
    for (const place of ran) {
      const { name, selfUs } = this.#frames[place];
      const callers = this.#callersOf(place).map((at) => this.#frames[at].name);
      for (const one of new Set(callers)) {
        const sums = functions.get(one) ?? { selfUs: 0, totalUs: 0 };
        sums.totalUs += selfUs;
        functions.set(one, sums);
      }
      /** @type {{selfUs: number}} */ (functions.get(name)).selfUs += selfUs;
      const found = groupOf(callers.map((one) => this.#names[one]));
      const group = groups.get(found.group) ?? { selfUs: 0, functions: new Map() };
      group.selfUs += selfUs;
      group.functions.set(found.name, (group.functions.get(found.name) ?? 0) + selfUs);
      groups.set(found.group, group);
      if (isSystemCall(this.#names[name])) systemCallUs += selfUs;
    }
    const ranUs = ran.reduce((sum, place) => sum + this.#frames[place].selfUs, 0);
    if (this.#cpuUs > ranUs) {
      const other = groups.get(OTHER) ?? { selfUs: 0, functions: new Map() };
      groups.set(OTHER, { ...other, selfUs: other.selfUs + this.#cpuUs - ranUs });
    }
    const byName = [...functions].map(([name, sums]) => ({ name: this.#names[name], ...sums }));
    const [most, mostInAll] = [byLargest(byName, 'selfUs'), byLargest(byName, 'totalUs')];
    return {
      systemCallUs,
      groups: byLargest(
        [...groups].map(([name, { selfUs, functions: of }]) => ({ name, selfUs, functions: largestOf(of) })),
        'selfUs',
      ),
      functions: [...new Set([...most.slice(0, MOST_FUNCTIONS / 2), ...mostInAll.slice(0, MOST_FUNCTIONS / 2)])],
      packages: this.#packagesOf(byName),
    };
  }

  /** They add up to the CPU time. @param {ReadonlyArray<{name: string, selfUs: number}>} functions @returns {ProfiledPackage[]} */
  #packagesOf(functions) {
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (const { name, selfUs } of functions)
      if (selfUs > 0) sums.set(packageOf(name), (sums.get(packageOf(name)) ?? 0) + selfUs);
    sums.delete(OTHER);
    const most = byLargest(
      [...sums].map(([name, selfUs]) => ({ name, selfUs })),
      'selfUs',
    ).slice(0, MOST_PACKAGES);
    const restUs = this.#cpuUs - most.reduce((sum, { selfUs }) => sum + selfUs, 0);
    return restUs > 0 ? [...most, { name: OTHER, selfUs: restUs }] : most;
  }

  /** @param {number[]} ran the stacks with most CPU time */
  #kept(ran) {
    const places = [...new Set(ran.flatMap((place) => this.#callersOf(place)))].sort((a, b) => a - b);
    const rowOf = new Map(places.map((place, row) => [place, row]));
    const names = [...new Set(places.map((place) => this.#frames[place].name))];
    const indexOf = new Map(names.map((name, i) => [name, i]));
    const isKept = new Set(ran);
    const selfUsOf = (/** @type {number} */ place) => (isKept.has(place) ? this.#frames[place].selfUs : 0);
    const keptUs = ran.reduce((sum, place) => sum + this.#frames[place].selfUs, 0);
    return {
      names: names.map((name) => this.#names[name]),
      // A caller has a lower index than the functions that it calls.
      frames: places.map((place) => {
        const { parent, name } = this.#frames[place];
        return [rowOf.get(parent) ?? -1, Number(indexOf.get(name)), selfUsOf(place)];
      }),
      otherUs: this.#cpuUs - keptUs,
    };
  }
}

/** Time of waiting for locks, by the function that held the lock. */
export class LockWaits {
  #waitUs = 0;
  /** @type {Map<string, number>} */
  #functions = new Map();

  /** @param {readonly string[]} names of the functions, the first caller first @param {number} us */
  add(names, us) {
    this.#waitUs += us;
    const name = names.findLast((one) => !LOCK_FUNCTION.test(one)) ?? names.at(-1) ?? OTHER;
    this.#functions.set(name, (this.#functions.get(name) ?? 0) + us);
  }

  /** @returns {LockReport | null} null: no waiting was recorded */
  report() {
    if (this.#waitUs === 0) return null;
    const rows = [...this.#functions].map(([name, waitUs]) => ({ name, waitUs }));
    return { waitUs: this.#waitUs, functions: byLargest(rows, 'waitUs').slice(0, MOST_WAITING) };
  }
}

/** @template T @param {T[]} rows @param {keyof T} key @returns {T[]} */
function byLargest(rows, key) {
  return [...rows].sort((a, b) => Number(b[key]) - Number(a[key]));
}

/** @param {Map<string, number>} times @returns {string[]} */
function largestOf(times) {
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MOST_OF_A_GROUP)
    .map(([name]) => name);
}
