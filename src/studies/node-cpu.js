import { NODE_CPU, perOperationUs, readProfiles } from '../stats/node-profile.js';
import { mean } from './statistics.js';

/**
 * The CPU time of the nodes in both sides of a comparison (--node-profile): functions that are tested with the other
 * figures, and the difference of the stacks. All of it is microseconds for a verified operation, and means of the runs.
 *
 * @import { ProfiledStacks, RunFile } from '../contracts/run-file.d.ts'
 * @import { StacksDifference } from '../contracts/study.d.ts'
 * @import { Metric } from './metrics.js'
 *
 * @typedef {{caller: number, name: number, us: [base: number, candidate: number]}} Frame us: of the function itself
 */

/** Each one more is another figure that may differ by chance. */
const MOST_FUNCTIONS = 20;
/** A function with a smaller share of the CPU time of both sides, with those that it called, is part of its caller. */
const LEAST_SHARE = 0.0005;

/**
 * @param {readonly RunFile[]} runs of both sides
 * @returns {Array<Pick<Metric, 'name' | 'label' | 'unit' | 'better' | 'read' | 'isAtLeast'>>} for the functions with most CPU
 *   time of their own, of those that each run has
 */
export function comparedFunctions(runs) {
  const known = new Map(runs.map((run) => [run, functionsOf(run)]));
  const [first, ...others] = known.values();
  if (first === undefined) return [];
  const names = [...first.keys()].filter((name) => others.every((one) => one.has(name)));
  const usOf = (/** @type {RunFile} */ run, /** @type {string} */ name) => known.get(run)?.get(name) ?? null;
  const means = new Map(names.map((name) => [name, mean(runs.map((run) => Number(usOf(run, name))))]));
  return names
    .sort((a, b) => Number(means.get(b)) - Number(means.get(a)))
    .slice(0, MOST_FUNCTIONS)
    .map((name) => ({
      ...{ name: `${NODE_CPU}:${name}`, label: name, unit: 'us', better: 'lower' },
      ...{ read: (run) => usOf(run, name), isAtLeast: () => false },
    }));
}

/** @param {RunFile} run @returns {Map<string, number>} CPU time by function, of all its nodes; empty: a profile is missing */
function functionsOf(run) {
  /** @type {Map<string, number>} */
  const functions = new Map();
  if (run.nodeProfile?.some(({ stacks }) => stacks === null)) return functions;
  for (const profile of readProfiles(run))
    for (const { name, selfUs } of profile.stacks.functions) {
      const us = selfUs * shareOf(profile, run);
      if (us > 0) functions.set(name, (functions.get(name) ?? 0) + us);
    }
  return functions;
}

/** For an operation, of each microsecond of a profile. @param {ReturnType<typeof readProfiles>[number]} profile @param {RunFile} run */
function shareOf(profile, run) {
  return (perOperationUs(profile, run) ?? 0) / Math.max(1, profile.stacks.cpuUs);
}

/**
 * @param {readonly RunFile[]} base
 * @param {readonly RunFile[]} candidate
 * @returns {StacksDifference | null} null: a side has no profile
 */
export function stacksDifference(base, candidate) {
  const stacks = new MergedStacks();
  for (const [side, runs] of [base, candidate].entries())
    for (const run of runs)
      for (const profile of readProfiles(run)) stacks.add(side, profile.stacks, shareOf(profile, run) / runs.length);
  return stacks.difference();
}

class MergedStacks {
  /** @type {string[]} */
  #names = [];
  /** @type {Map<string, number>} */
  #indexes = new Map();
  /** @type {Frame[]} */
  #frames = [];
  /** By caller and name. @type {Map<string, number>} */
  #places = new Map();
  #otherUs = [0, 0];
  #totalUs = [0, 0];

  /** @param {number} side 0: base @param {ProfiledStacks} stacks @param {number} scale */
  add(side, { names, frames, otherUs, cpuUs }, scale) {
    /** @type {number[]} */
    const placeOf = [];
    for (const [caller, name, selfUs] of frames) {
      const place = this.#placeOf(caller === -1 ? -1 : placeOf[caller], names[name]);
      placeOf.push(place);
      this.#frames[place].us[side] += scale * selfUs;
    }
    this.#otherUs[side] += scale * otherUs;
    this.#totalUs[side] += scale * cpuUs;
  }

  /** @param {number} caller @param {string} text */
  #placeOf(caller, text) {
    const name = this.#indexes.get(text) ?? this.#names.push(text) - 1;
    this.#indexes.set(text, name);
    const key = `${caller} ${name}`;
    const place = this.#places.get(key) ?? this.#frames.push({ caller, name, us: [0, 0] }) - 1;
    this.#places.set(key, place);
    return place;
  }

  /** @returns {StacksDifference | null} */
  difference() {
    const [baseUs, candidateUs] = this.#totalUs;
    if (baseUs === 0 || candidateUs === 0) return null;
    const withCallees = this.#frames.map(({ us: [a, b] }) => a + b);
    // A caller has a lower index than the functions that it calls.
    for (let i = this.#frames.length - 1; i >= 0; i -= 1)
      if (this.#frames[i].caller !== -1) withCallees[this.#frames[i].caller] += withCallees[i];
    const least = LEAST_SHARE * (baseUs + candidateUs);
    const rowOf = new Map([[-1, -1]]);
    const names = new Map();
    /** @type {number[][]} */
    const frames = [];
    let [otherBaseUs, otherCandidateUs] = this.#otherUs;
    for (const [i, { caller, name, us }] of this.#frames.entries()) {
      const above = Number(rowOf.get(caller));
      if (withCallees[i] >= least) {
        if (!names.has(name)) names.set(name, names.size);
        rowOf.set(i, frames.push([above, names.get(name), ...us]) - 1);
      } else if (above === -1) {
        rowOf.set(i, -1);
        otherBaseUs += us[0];
        otherCandidateUs += us[1];
      } else {
        rowOf.set(i, above);
        frames[above][2] += us[0];
        frames[above][3] += us[1];
      }
    }
    return {
      ...{
        baseUs: rounded(baseUs),
        candidateUs: rounded(candidateUs),
        names: [...names.keys()].map((i) => this.#names[i]),
      },
      frames: frames.map(([caller, name, ...us]) => [caller, name, ...us.map(rounded)]),
      ...{ otherBaseUs: rounded(otherBaseUs), otherCandidateUs: rounded(otherCandidateUs) },
    };
  }
}

/** To a nanosecond. @param {number} us */
const rounded = (us) => Math.round(1000 * us) / 1000;
