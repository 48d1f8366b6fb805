import {
  COUNTERS,
  addUp,
  both,
  either,
  first,
  histogram,
  listed,
  merge,
  min,
  namedEntries,
  sum,
} from '../stats/merge.js';
import { BLOCKS, GENERATOR, GROUPS, HALVES, READINGS, REORGS } from '../stats/metrics.js';
import { censoredOf } from '../stats/figures.js';
import { zeroCounts } from '../stats/stats.js';
import { numbered } from '../text.js';
import { Grid, maxOf, minOf } from './window.js';

/**
 * @import { AuditReport, Check, RunFile } from '../types.d.ts'
 * @import { Rule } from '../stats/merge.js'
 * @import { RunHeader } from './choose.js'
 * @import { Clocks, Common } from './window.js'
 */

/** The sum of the run files of all instances: a fold over them, one after the other. */

/** Limits of lists in the audit, as in the run file of one run. */
const LISTED = Object.freeze({ short: 100, resolutions: 1000 });
/** Different texts of the environments that are listed. */
const DISTINCT = 3;

/** Amounts in wei and state of the chain are decimal integers in text. */
const addText = (/** @type {string} */ a, /** @type {string} */ b) => String(BigInt(a) + BigInt(b));
const text = either(addText);
const wei = both(addText);

/** @type {Rule} */
const TEXTS = either((/** @type {string} */ a, /** @type {string} */ b) => {
  const all = a.split(' | ');
  if (all.includes(b) || all.includes('...')) return a;
  return [...all, all.length < DISTINCT ? b : '...'].join(' | ');
});

/** A failed check takes precedence over one that could not be made, and that over one that holds. */
const CHECK = either((/** @type {Check} */ a, /** @type {Check} */ b) => {
  const worse = [a, b].find(({ holds }) => holds === false) ?? [a, b].find(({ holds }) => holds === null);
  if (worse !== undefined && (a.holds !== b.holds || worse.holds === null)) return worse;
  const isNumeric = [a.expected, b.expected, a.found, b.found].every((one) => /^-?\d+$/.test(one ?? ''));
  if (!isNumeric) return worse ?? a;
  return { ...a, expected: addText(a.expected ?? '', b.expected ?? ''), found: addText(a.found ?? '', b.found ?? '') };
});

const AUDIT_MEMBERS = {
  // Counts are added; other members stay as they are.
  each: either((a, b) => (typeof a === 'number' ? a + b : a)),
  members: {
    effectsOnChain: text,
    bounds: { each: text },
    mismatches: listed(LISTED.short),
    foreign: listed(LISTED.short),
    resolutions: listed(LISTED.resolutions),
    checks: namedEntries('name', CHECK),
  },
};
/** Each audit covers its own wallets. */
const AUDIT = either((/** @type {AuditReport} */ a, /** @type {AuditReport} */ b) => {
  const { blockNumber, blockHash } = b.blockNumber > a.blockNumber ? b : a;
  return { ...merge(AUDIT_MEMBERS, a, b), blockNumber, blockHash };
});

const ENVIRONMENT = {
  members: {
    node: TEXTS,
    platform: TEXTS,
    cpu: TEXTS,
    endpoint: TEXTS,
    clientVersion: TEXTS,
    cores: min,
    memoryBytes: min,
    chainId: first,
    genesisHash: first,
    blockGasLimit: first,
  },
};

/** The rates of all instances add up. */
const RATE_STAGE = {
  members: {
    fromPerSecond: sum,
    toPerSecond: sum,
    counts: COUNTERS,
    tps: sum,
    latency: histogram,
    censored: histogram,
  },
};

/** @type {Rule} */
const RUN = {
  members: {
    counts: COUNTERS,
    inFlight: sum,
    failures: COUNTERS,
    failureWords: { members: {} },
    reorgs: REORGS,
    latency: {
      members: {
        total: histogram,
        fromStart: histogram,
        timedOut: histogram,
        censored: histogram,
        fromStartCensored: histogram,
        halves: HALVES,
        stages: { each: histogram },
      },
    },
    lag: histogram,
    byName: GROUPS,
    byEndpoint: GROUPS,
    byStage: namedEntries('stage', RATE_STAGE),
    blocks: BLOCKS,
    probes: READINGS,
    generator: GENERATOR,
    audit: AUDIT,
    spending: {
      members: { capWei: wei, setUpWei: wei, leftWei: wei, spentWei: wei, transactions: both((a, b) => a + b) },
    },
    environment: ENVIRONMENT,
    unmeasured: { members: {} },
  },
};

/** @param {Record<string, any> | undefined} record @param {(key: string, value: any) => [string, any]} change */
function mapped(record = {}, change) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => change(key, value)));
}

/**
 * The run of an instance with the times and the names of endpoints of the merged run. Counts that are known of the whole
 * window only are scaled to the common one.
 * @param {RunFile} run
 * @param {number} share of its window that is in the common window
 * @param {number} shiftMs
 * @param {(index: string) => string} endpointOf
 * @returns {any}
 */
function asPart(run, share, shiftMs, endpointOf) {
  const { latency, probes, generator, environment, reorgs } = /** @type {any} */ (run);
  const later = (/** @type {any} */ event) => ({ ...event, atMs: event.atMs + shiftMs });
  const scaled = (/** @type {any} */ group) => ({ ...group, windowVerified: Math.round(share * group.windowVerified) });
  /** @type {any[]} */
  const endpoints = [];
  for (const [i, one] of Object.entries(generator.endpoints ?? []))
    endpoints[Number(endpointOf(i))] = { ...one, events: one.events.map(later) };
  const { submissionStall: stall } = generator;
  const { fromMs = 0, toMs = Infinity } = stall ?? {};
  return {
    ...run,
    environment: { ...environment, endpoints: undefined },
    reorgs: { ...reorgs, events: reorgs.events.map(later) },
    // Older files lack the censored operations.
    latency: { ...latency, censored: censoredOf(run), fromStartCensored: latency.fromStartCensored ?? censoredOf(run) },
    byName: mapped(run.byName, (name, group) => [name, scaled(group)]),
    byEndpoint: mapped(run.byEndpoint, (index, group) => [endpointOf(index), scaled(group)]),
    probes: probes?.node
      ? { ...probes, node: { ...probes.node, cpuUs: Math.round(share * probes.node.cpuUs) } }
      : probes,
    generator: {
      ...generator,
      endpoints,
      submissionStall: stall && { ...stall, fromMs: fromMs + shiftMs, toMs: toMs + shiftMs },
    },
    intervals: run.intervals.map((row) => {
      return { ...row, byEndpoint: mapped(row.byEndpoint, (index, counts) => [endpointOf(index), counts]) };
    }),
  };
}

export class Total {
  /** Of all run files, without their intervals. @type {any} */
  sum = {};
  /** Rows in the common window: an instance may have a little more or less than it, so that the mean length counts. */
  #window = { counts: zeroCounts(), lengthMs: 0, instances: 0 };
  /** Endpoints of all instances by their names. @type {Map<string, {display: string}>} */
  #endpoints = new Map();

  /** @param {RunHeader[]} headers @param {Clocks['correctionsMs']} correctionsMs @param {Common} common */
  constructor(headers, correctionsMs, common) {
    this.common = common;
    this.loadStartsMs = headers.map(({ loadStartMs }, i) => loadStartMs + correctionsMs[i]);
    const starts = headers.map((header, i) => header.windowStartMs + correctionsMs[i]);
    const measured = starts.filter((_, i) => headers[i].hasLoad);
    this.grid = new Grid({
      loadStartMs: minOf(this.loadStartsMs),
      windowStartMs: minOf(measured.length > 0 ? measured : starts),
      endMs: maxOf(headers.map(({ endedAtMs }, i) => endedAtMs + correctionsMs[i])),
      stepMs: maxOf(headers.map(({ intervalMs }) => intervalMs)),
    });
  }

  /** @param {RunFile} run @param {number} i index in headers */
  add(run, i) {
    const [share, loadStartMs] = [this.common.shares[i], this.loadStartsMs[i]];
    const endpointOf = this.#addEndpoints(run.environment);
    const { intervals, ...part } = asPart(run, share, loadStartMs - this.grid.originMs, endpointOf);
    // Also the first one is added, so that an error in its histograms names its file.
    this.sum = merge(RUN, this.sum, part);
    this.grid.add(intervals, loadStartMs);
    const { startMs, endMs } = this.common;
    const rows = run.intervals.filter((row) => {
      const middleMs = loadStartMs + (row.startMs + row.endMs) / 2;
      return share > 0 && row.phase === 'load' && middleMs >= startMs && middleMs <= endMs;
    });
    if (rows.length > 0) this.#window.instances += 1;
    for (const row of rows) {
      this.#window.counts = addUp(this.#window.counts, row.counts);
      this.#window.lengthMs += row.endMs - row.startMs;
    }
  }

  /** @param {Record<string, any>} environment of one instance @returns {(index: string) => string} maps its index of an endpoint to the index in the merged run */
  #addEndpoints({ endpoints = [] }) {
    const names = numbered(endpoints.map((/** @type {{display: string}} */ { display }) => display));
    names.forEach((name, i) => this.#endpoints.set(name, this.#endpoints.get(name) ?? endpoints[i]));
    const places = [...this.#endpoints.keys()];
    return (index) => (names[Number(index)] === undefined ? index : `${places.indexOf(names[Number(index)])}`);
  }

  get endpoints() {
    return [...this.#endpoints.values()];
  }

  get window() {
    const { counts, lengthMs, instances } = this.#window;
    return { counts, durationMs: lengthMs / Math.max(1, instances) };
  }
}
