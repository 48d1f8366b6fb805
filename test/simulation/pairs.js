/** Configurations that cover every pair of values of two features (all-pairs testing), then random ones. */

/**
 * @import { Values } from './features.js'
 * @import { Configuration } from './run.js'
 *
 * @typedef {Readonly<Record<string, Values>>} Features
 */

/** @param {Features} features @returns {string[]} */
function pairsOf(features) {
  const names = Object.keys(features);
  return names.flatMap((a, i) =>
    names
      .slice(i + 1)
      .flatMap((b) =>
        Object.keys(features[a]).flatMap((va) => Object.keys(features[b]).map((vb) => keyOf(a, va, b, vb))),
      ),
  );
}

/** @param {...string} parts */
function keyOf(...parts) {
  return JSON.stringify(parts);
}

/** @param {Configuration} configuration @returns {string[]} */
function pairsIn(configuration) {
  const entries = Object.entries(configuration);
  return entries.flatMap(([a, va], i) => entries.slice(i + 1).map(([b, vb]) => keyOf(a, va, b, vb)));
}

export class Pairs {
  /** Pairs that the command line refuses, whatever else is given. @type {Map<string, string>} */
  impossible = new Map();
  #features;
  #random;
  #refusalOf;
  #uncovered;
  #all;

  /** @param {Features} features @param {() => number} random @param {(configuration: Configuration) => Promise<string | null>} refusalOf */
  constructor(features, random, refusalOf) {
    this.#features = features;
    this.#random = random;
    this.#refusalOf = refusalOf;
    const all = pairsOf(features);
    this.#all = all.length;
    this.#uncovered = new Set(this.#shuffled(all));
  }

  get counts() {
    const impossible = this.impossible.size;
    return { possible: this.#all - impossible, impossible, covered: this.#all - impossible - this.#uncovered.size };
  }

  /** @returns {Promise<Configuration>} one that covers a pair that is not covered yet, with as many others; afterwards a random one */
  async next() {
    for (const pair of this.#uncovered) {
      const [a, va, b, vb] = /** @type {string[]} */ (JSON.parse(pair));
      const configuration = await this.#possible(this.#filled({ [a]: va, [b]: vb }), [a, b]);
      if (typeof configuration === 'string') {
        this.impossible.set(pair, configuration);
        this.#uncovered.delete(pair);
        continue;
      }
      for (const one of pairsIn(configuration)) this.#uncovered.delete(one);
      return configuration;
    }
    const any = Object.fromEntries(Object.entries(this.#features).map(([name, values]) => [name, this.#drawn(values)]));
    return /** @type {Promise<Configuration>} */ (this.#possible(any, []));
  }

  /** Half of the features have their default. @param {Values} values */
  #drawn(values) {
    const names = Object.keys(values);
    return this.#random() < 0.5 ? names[0] : names[Math.floor(this.#random() * names.length)];
  }

  /** Each further value covers as many pairs as it can. @param {Record<string, string>} configuration @returns {Record<string, string>} */
  #filled(configuration) {
    for (const name of this.#shuffled(Object.keys(this.#features))) {
      if (name in configuration) continue;
      const scored = this.#shuffled(Object.keys(this.#features[name])).map((value) => {
        const pairs = Object.entries(configuration).map(([other, its]) => this.#ordered(other, its, name, value));
        return { value, score: pairs.filter((pair) => this.#uncovered.has(pair)).length };
      });
      configuration[name] = scored.reduce((best, one) => (one.score > best.score ? one : best)).value;
    }
    return Object.fromEntries(Object.keys(this.#features).map((name) => [name, configuration[name]]));
  }

  /** @param {string} a @param {string} va @param {string} b @param {string} vb */
  #ordered(a, va, b, vb) {
    const names = Object.keys(this.#features);
    return names.indexOf(a) < names.indexOf(b) ? keyOf(a, va, b, vb) : keyOf(b, vb, a, va);
  }

  /**
   * Resets features to their defaults until the command line accepts it.
   * @param {Record<string, string>} configuration
   * @param {string[]} kept features
   * @returns {Promise<Configuration | string>} why the kept ones cannot be given together
   */
  async #possible(configuration, kept) {
    const others = this.#shuffled(Object.keys(configuration).filter((name) => !kept.includes(name)));
    for (;;) {
      const why = await this.#refusalOf(configuration);
      if (why === null) return configuration;
      const name = others.pop();
      if (name === undefined) return why;
      const [fallback] = Object.keys(this.#features[name]);
      configuration[name] = fallback;
    }
  }

  /** @template T @param {T[]} items @returns {T[]} */
  #shuffled(items) {
    const left = [...items];
    for (let i = left.length - 1; i > 0; i -= 1) {
      const j = Math.floor(this.#random() * (i + 1));
      [left[i], left[j]] = [left[j], left[i]];
    }
    return left;
  }
}

/**
 * The smallest configuration that still fails: every feature that does not matter has its default.
 * @param {Features} features
 * @param {Configuration} configuration
 * @param {(configuration: Configuration) => Promise<boolean>} fails
 * @returns {Promise<Configuration>} without the defaults
 */
export async function smallest(features, configuration, fails) {
  const small = { ...configuration };
  for (const name of Object.keys(features)) {
    const [fallback] = Object.keys(features[name]);
    if (small[name] === fallback || small[name] === undefined) continue;
    const tried = { ...small, [name]: fallback };
    if (await fails(tried)) small[name] = fallback;
  }
  return Object.fromEntries(Object.entries(small).filter(([name, value]) => value !== Object.keys(features[name])[0]));
}
