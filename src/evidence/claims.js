import { EXIT } from '../errors.js';

/**
 * What a verification finds, claim by claim. confirmed: it follows from the file, or the chain has it; contradicted: it is wrong;
 * reorged: its blocks are no longer on the chain; not checkable: here, or by anybody but the reporter.
 *
 * @typedef {'confirmed' | 'contradicted' | 'reorged' | 'not checkable'} State
 *
 * @typedef {object} Claim
 * @property {string} name
 * @property {State} state
 * @property {string} words
 * @property {boolean} [isOpen] an endpoint could show it, and this one did not
 */

/** Contradictions of one claim that are listed. */
const LISTED = 5;

export class Claims {
  /** @type {Claim[]} */
  all = [];
  /** By claim. @type {Map<string, string[]>} */
  #contradictions = new Map();

  /** @param {string} name @param {string} words with the place */
  contradict(name, words) {
    this.#contradictions.set(name, [...(this.#contradictions.get(name) ?? []), words]);
  }

  /** @param {string} name */
  isContradicted(name) {
    return this.#contradictions.has(name);
  }

  /**
   * The end of the check of a claim.
   * @param {string} name
   * @param {State} state if nothing contradicts it
   * @param {string} words
   * @param {Pick<Claim, 'isOpen'>} [more]
   */
  conclude(name, state, words, more = {}) {
    const found = this.#contradictions.get(name) ?? [];
    const one = (/** @type {State} */ of, /** @type {string} */ text) => ({ name, state: of, words: text });
    this.all = this.all.filter((claim) => claim.name !== name);
    this.all.push(...found.slice(0, LISTED).map((text) => one('contradicted', text)));
    if (found.length > LISTED) this.all.push(one('contradicted', `and ${found.length - LISTED} more`));
    if (found.length === 0) this.all.push({ ...one(state, words), ...more });
  }

  get exitCode() {
    const has = (/** @type {(claim: Claim) => boolean} */ test) => this.all.some(test);
    if (has(({ state }) => state === 'contradicted')) return EXIT.notExact;
    return has(({ state, isOpen }) => state === 'reorged' || isOpen === true) ? EXIT.incomplete : EXIT.ok;
  }
}
