import { addUp } from '../metrics/interval.js';
import { commonStall, numbered } from '../metrics/endpoints.js';

/** @import { Outage, RunFile } from '../metrics/summary.js' */

/**
 * What the instances ran on and with, and what they used.
 */

/** Events that are listed one by one, of all endpoints, as in the run file of one instance. */
const EVENTS = 200;

/** @param {Record<string, any>} environment */
function endpointsOf(environment) {
  return /** @type {Array<{display: string, clientVersion: string | null}>} */ (environment.endpoints ?? []);
}

/** Endpoints of all instances: those that look the same are the same. */
export class Endpoints {
  /** @type {Map<string, {display: string, clientVersion: string | null}>} */
  #all = new Map();

  /** @param {Record<string, any>} environment */
  constructor(environment) {
    this.add(environment);
  }

  /** @param {Record<string, any>} environment of one instance @returns {(key: string) => string} its place there to its place here */
  add(environment) {
    const own = endpointsOf(environment);
    const names = numbered(own.map(({ display }) => display));
    names.forEach((name, i) => this.#all.set(name, this.#all.get(name) ?? own[i]));
    const places = [...this.#all.keys()];
    return (key) => (names[Number(key)] === undefined ? key : String(places.indexOf(names[Number(key)])));
  }

  list() {
    return [...this.#all.values()];
  }
}

export class GeneratorSum {
  /** @type {any} */
  #sum = null;
  /** In the window, as far as the CPU time of it is known. */
  #verified = 0;

  /** @param {RunFile} run @param {(key: string) => string} endpointOf @param {number} shiftMs */
  add({ generator, intervals }, endpointOf, shiftMs) {
    const own = endpointsByPlace(/** @type {any[]} */ (generator.endpoints ?? []), endpointOf, shiftMs);
    const one = { ...generator, endpoints: own };
    if (generator.submissionStall !== undefined) one.submissionStall = shifted(generator.submissionStall, shiftMs);
    this.#sum = this.#sum === null ? one : together(this.#sum, one);
    for (const { phase, counts } of intervals) if (phase === 'load') this.#verified += counts.verified;
  }

  result() {
    const cpuUsPerVerified = this.#verified > 0 ? this.#sum.cpuUs / this.#verified : null;
    return { ...this.#sum, cpuUsPerVerified: cpuUsPerVerified === 0 ? null : cpuUsPerVerified };
  }
}

/** @param {any[]} endpoints @param {(key: string) => string} endpointOf @param {number} shiftMs */
function endpointsByPlace(endpoints, endpointOf, shiftMs) {
  /** @type {any[]} */
  const placed = [];
  endpoints.forEach((one, i) => {
    const events = one.events.map((/** @type {any} */ event) => ({ ...event, atMs: event.atMs + shiftMs }));
    placed[Number(endpointOf(String(i)))] = { ...one, events };
  });
  return placed;
}

/** @param {Outage} stall @param {number} byMs */
function shifted({ fromMs, toMs = Infinity, words }, byMs) {
  return { fromMs: fromMs + byMs, toMs: toMs + byMs, words };
}

/** @param {any} a @param {any} b */
function together(a, b) {
  /** @param {string} name */
  const sum = (name) => a[name] + b[name];
  /** @param {string} name */
  const known = (name) => (a[name] === null || b[name] === null ? null : sum(name));
  return {
    ...a,
    cpuUs: sum('cpuUs'),
    peakRssBytes: Math.max(a.peakRssBytes, b.peakRssBytes),
    workers: sum('workers'),
    readBackRetries: sum('readBackRetries'),
    pausedMs: sum('pausedMs'),
    failedPolls: sum('failedPolls'),
    retiredWallets: sum('retiredWallets'),
    samplesDropped: known('samplesDropped'),
    inclusionResolutionMs: larger(a.inclusionResolutionMs, b.inclusionResolutionMs),
    // Where one of them polls, what is said of polling holds.
    headSource: a.headSource === 'poll' || b.headSource === 'poll' ? 'poll' : (a.headSource ?? b.headSource),
    resubmissions: addUp(a.resubmissions, b.resubmissions),
    pauses: addUp(a.pauses ?? {}, b.pauses ?? {}),
    submissionStall: commonStall([a.submissionStall, b.submissionStall]),
    presigned: addUp(a.presigned, b.presigned),
    rpcCalls: addUp(a.rpcCalls, b.rpcCalls),
    transport: addUp(a.transport, b.transport),
    batches: {
      limit: Math.min(a.batches.limit, b.batches.limit),
      largest: Math.max(a.batches.largest, b.batches.largest),
      refused: a.batches.refused + b.batches.refused,
      why: a.batches.why ?? b.batches.why,
    },
    endpoints: mergeEndpoints(a.endpoints, b.endpoints),
    arrivalSeed: a.arrivalSeed === b.arrivalSeed ? a.arrivalSeed : null,
  };
}

/** @param {any[]} a @param {any[]} b */
function mergeEndpoints(a, b) {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => {
    if (a[i] === undefined || b[i] === undefined) return a[i] ?? b[i];
    const [{ events, ...one }, { events: more, ...other }] = [a[i], b[i]];
    return { ...addUp(one, other), events: [...events, ...more].slice(0, EVENTS) };
  });
}

/** @param {number | null} a @param {number | null} b */
function larger(a, b) {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

/** Of machines that differ each text is said once. */
const DISTINCT = 3;

/** @param {Record<string, any>} a @param {Record<string, any>} b @returns {Record<string, any>} */
export function mergeEnvironments(a, b) {
  const merged = { ...a };
  for (const name of ['node', 'platform', 'cpu', 'endpoint', 'clientVersion'])
    merged[name] = a[name] === null || b[name] === null ? (a[name] ?? b[name]) : distinct(a[name], b[name]);
  for (const name of ['cores', 'memoryBytes']) merged[name] = Math.min(a[name], b[name]);
  for (const name of ['chainId', 'genesisHash', 'blockGasLimit']) merged[name] = a[name] ?? b[name];
  return merged;
}

/** @param {string} a some already, perhaps @param {string} b */
function distinct(a, b) {
  const all = a.split(' | ');
  if (all.includes(b) || all.includes('...')) return a;
  return [...all, all.length < DISTINCT ? b : '...'].join(' | ');
}
