import { mergeBlocks, noBlocks } from '../metrics/blocks.js';
import { DistributionSum } from '../metrics/distribution-sum.js';
import { addUp, zeroCounts } from '../metrics/interval.js';
import { mergeReorgs } from '../metrics/reorgs.js';
import { STAGES } from '../metrics/sample.js';
import { ProbeSums } from './merge-probes.js';

/**
 * @import { GroupJson } from '../metrics/groups.js'
 * @import { Reorgs } from '../metrics/reorgs.js'
 * @import { RunFile } from '../metrics/summary.js'
 */

/**
 * What adds up over instances, whenever it happened: counts, failures, distributions, groups. Exact, as the same sums
 * over the threads of one run are.
 */

const NAMES = Object.freeze(
  /** @type {const} */ (['total', 'fromStart', 'timedOut', 'censored', 'fromStartCensored', 'lag', ...STAGES]),
);

export class Sums {
  counts = zeroCounts();
  inFlight = 0;
  /** @type {Record<string, number>} */
  failures = {};
  /** @type {Record<string, string>} */
  failureWords = {};
  halves = [
    { count: 0, sumUs: 0 },
    { count: 0, sumUs: 0 },
  ];
  byName = new GroupSums();
  byEndpoint = new GroupSums();
  blocks = noBlocks();
  #blocksRank = Infinity;
  #ours = 0;
  #probes = new ProbeSums();
  #hasProbes = false;
  /** @type {Reorgs[]} */
  #reorgs = [];
  #distributions = /** @type {Record<typeof NAMES[number], DistributionSum>} */ (
    Object.fromEntries(NAMES.map((name) => [name, new DistributionSum()]))
  );

  /**
   * @param {RunFile} run
   * @param {object} place
   * @param {number} place.share of its window that is common
   * @param {number} place.rank of its blocks: those of the lowest are taken
   * @param {number} place.shiftMs from the beginning of all loads to that of its own
   * @param {(key: string) => string} place.endpointOf
   */
  add(run, { share, rank, shiftMs, endpointOf }) {
    this.counts = addUp(this.counts, run.counts);
    this.inFlight += run.inFlight;
    this.failures = addUp(this.failures, run.failures);
    this.failureWords = { ...run.failureWords, ...this.failureWords };
    this.halves = this.halves.map((half, i) => addUp(half, run.latency.halves[i]));
    const { stages, ...latency } = run.latency;
    /** @type {Record<string, any>} */
    const all = { ...latency, ...stages, lag: run.lag };
    all.censored ??= latency.timedOut;
    all.fromStartCensored ??= all.censored;
    for (const name of NAMES) {
      // Files that are older than a stage do not have it.
      const found = all[name];
      if (found !== undefined) this.#distributions[name].add(found);
    }
    this.byName.add(run.byName ?? {}, share);
    this.byEndpoint.add(run.byEndpoint ?? {}, share, endpointOf);
    this.#ours += run.blocks.ours;
    if (rank < this.#blocksRank) [this.blocks, this.#blocksRank] = [mergeBlocks(noBlocks(), run.blocks), rank];
    this.blocks.ours = this.#ours;
    this.#addProbes(run, share);
    const events = run.reorgs.events.map((event) => ({ ...event, atMs: event.atMs + shiftMs }));
    this.#reorgs.push({ ...run.reorgs, events });
  }

  /** The node's CPU time is that of one instance's window, and is asked for in percent of the common one. @param {RunFile} run @param {number} share */
  #addProbes({ probes }, share) {
    if (probes === null) return;
    const node = probes.node === null ? null : { ...probes.node, cpuUs: Math.round(share * probes.node.cpuUs) };
    this.#probes.add({ ...probes, node });
    this.#hasProbes = true;
  }

  get reorgs() {
    return mergeReorgs(this.#reorgs);
  }

  get probes() {
    return this.#hasProbes ? this.#probes.result() : null;
  }

  distributions() {
    const json = Object.fromEntries(Object.entries(this.#distributions).map(([name, sum]) => [name, sum.toJSON()]));
    const { total, fromStart, timedOut, censored, fromStartCensored, lag } = json;
    const stages = Object.fromEntries(STAGES.map((stage) => [stage, json[stage]]));
    return { latency: { total, fromStart, timedOut, censored, fromStartCensored, halves: this.halves, stages }, lag };
  }
}

/** Groups of operations, by name. */
class GroupSums {
  /** @type {Map<string, {counts: GroupJson['counts'], windowVerified: number, failures: Record<string, number>, latency: DistributionSum, censored: DistributionSum}>} */
  #groups = new Map();

  /** @param {Record<string, GroupJson>} groups @param {number} share of the window that is common @param {(key: string) => string} [keyOf] */
  add(groups, share, keyOf = (key) => key) {
    for (const [key, { counts, windowVerified, failures, latency, censored }] of Object.entries(groups)) {
      const known = this.#groups.get(keyOf(key)) ?? {
        counts: { verified: 0, failed: 0, timedOut: 0, abandoned: 0 },
        windowVerified: 0,
        failures: {},
        latency: new DistributionSum(),
        censored: new DistributionSum(),
      };
      known.latency.add(latency);
      if (censored !== undefined) known.censored.add(censored);
      this.#groups.set(keyOf(key), {
        counts: addUp(known.counts, counts),
        windowVerified: known.windowVerified + share * windowVerified,
        failures: addUp(known.failures, failures),
        latency: known.latency,
        censored: known.censored,
      });
    }
  }

  /** @returns {Record<string, GroupJson>} */
  toJSON() {
    return Object.fromEntries(
      [...this.#groups].map(([key, group]) => [
        key,
        {
          ...group,
          windowVerified: Math.round(group.windowVerified),
          latency: group.latency.toJSON(),
          censored: group.censored.toJSON(),
        },
      ]),
    );
  }
}
