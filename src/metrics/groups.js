import { Distribution } from './distribution.js';
import { isCensored, totalUs } from './sample.js';

/**
 * @import { DistributionJson } from './distribution.js'
 * @import { Outcome, Sample } from './sample.js'
 */

/**
 * Operations told apart by one word of theirs: the kind of call, or the endpoint that they were sent to.
 *
 * @typedef {'verified' | 'failed' | 'timedOut' | 'abandoned'} Ended
 *
 * @typedef {object} GroupJson
 * @property {Record<Ended, number>} counts of the whole run
 * @property {number} windowVerified verified inside the window
 * @property {Record<string, number>} failures of the whole run, by code
 * @property {DistributionJson} latency of those due inside the window, as that of all
 * @property {DistributionJson} [censored] those of them that are known to take longer than
 *   that; older run files do not have it
 *
 * @typedef {ReturnType<typeof newGroup>} Group
 */

/** A workload that makes up names without end must not fill the memory; the rest is one group. */
const MOST_GROUPS = 64;
const OTHERS = 'others';

/** @type {Readonly<Record<Outcome, Ended>>} */
const ENDED = Object.freeze({ verified: 'verified', failed: 'failed', timed_out: 'timedOut', abandoned: 'abandoned' });

function newGroup() {
  return {
    counts: { verified: 0, failed: 0, timedOut: 0, abandoned: 0 },
    windowVerified: 0,
    /** @type {Record<string, number>} */
    failures: {},
    latency: new Distribution(),
    censored: new Distribution(),
  };
}

export class Groups {
  /** @type {Map<string, Group>} */
  #groups = new Map();

  /**
   * @param {string} key
   * @param {Sample} sample
   * @param {{isDueInside: boolean, isEndInside: boolean}} where it lies in the window
   */
  add(key, sample, { isDueInside, isEndInside }) {
    const group = this.#of(key);
    const { outcome, code } = sample;
    group.counts[ENDED[outcome]] += 1;
    if (code !== null) group.failures[code] = (group.failures[code] ?? 0) + 1;
    if (outcome === 'verified' && isEndInside) group.windowVerified += 1;
    const isOpenEnded = isCensored(sample);
    if (!isDueInside || !(outcome === 'verified' || isOpenEnded)) return;
    group.latency.record(totalUs(sample));
    if (isOpenEnded) group.censored.record(totalUs(sample));
  }

  /** @param {string} key @returns {Group} */
  #of(key) {
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    if (this.#groups.size >= MOST_GROUPS - 1 && key !== OTHERS) return this.#of(OTHERS);
    const group = newGroup();
    this.#groups.set(key, group);
    return group;
  }

  /** @returns {Record<string, GroupJson>} by name */
  toJSON() {
    return Object.fromEntries(
      [...this.#groups].map(([key, { counts, failures, windowVerified, latency, censored }]) => [
        key,
        {
          counts: { ...counts },
          windowVerified,
          failures: { ...failures },
          latency: latency.toJSON(),
          censored: censored.toJSON(),
        },
      ]),
    );
  }

  /** Takes over what another thread has; exact, as all here adds up. @param {Record<string, GroupJson>} json */
  adopt(json) {
    for (const [key, { counts, failures, windowVerified, latency, censored }] of Object.entries(json)) {
      const group = this.#of(key);
      for (const [name, count] of Object.entries(counts)) group.counts[/** @type {Ended} */ (name)] += count;
      for (const [code, count] of Object.entries(failures)) group.failures[code] = (group.failures[code] ?? 0) + count;
      group.windowVerified += windowVerified;
      group.latency.merge(Distribution.fromJSON(latency));
      if (censored !== undefined) group.censored.merge(Distribution.fromJSON(censored));
    }
  }
}
