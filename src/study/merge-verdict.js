import { VERDICTS } from '../metrics/verdict.js';

/** @import { Verdict } from '../metrics/verdict.js' */

/**
 * What the instances say of themselves. What limits them together nobody of them can see, so that the merge gives what
 * most of them say, and how many say otherwise.
 */

export class Verdicts {
  /** @type {Map<Verdict['name'], {times: number, evidence: string}>} */
  #said = new Map();
  #silent = 0;

  /** @param {Verdict | null} verdict */
  add(verdict) {
    if (verdict === null) {
      this.#silent += 1;
      return;
    }
    const { times, evidence } = this.#said.get(verdict.name) ?? { times: 0, evidence: verdict.evidence };
    this.#said.set(verdict.name, { times: times + 1, evidence });
  }

  /** @returns {Verdict | null} */
  result() {
    const said = VERDICTS.flatMap((name) => {
      const one = this.#said.get(name);
      return one === undefined ? [] : [{ name, ...one }];
    });
    if (said.length === 0) return null;
    const most = said.reduce((a, b) => (b.times > a.times ? b : a));
    const all = said.reduce((sum, { times }) => sum + times, this.#silent);
    const others = said.filter((one) => one !== most).map(({ name, times }) => `${times} ${name}`);
    if (this.#silent > 0) others.push(`${this.#silent} without a verdict`);
    const rest = others.length === 0 ? '' : `, ${others.join(', ')}`;
    return {
      name: most.name,
      evidence: `so say ${most.times} of ${all} instances of themselves${rest}; the first of them: ${most.evidence}`,
    };
  }
}
