import { auditGaps, auditResult } from '../stats/audit-result.js';
import { COUNTERS, both, either, first, histogram, listed, merge, min, namedEntries, sum } from '../stats/merge.js';
import { BLOCKS, GENERATOR, GROUPS, HALVES, READINGS, REORGS, censoredOf } from '../stats/metrics.js';
import { VERDICTS } from '../stats/verdict.js';
import { numbered } from '../text.js';
import { Grid, WindowCounts, maxOf, minOf } from './window.js';
import { safe, walletsOf } from './words.js';

/**
 * @import { AuditReport, Check, RunFile } from '../types.d.ts'
 * @import { Rule } from '../stats/merge.js'
 * @import { Verdict } from '../stats/verdict.js'
 * @import { RunHeader } from './choose.js'
 * @import { Common } from './window.js'
 */

/** How the run files of instances are added: a fold over them, one after the other. */

/** Limits of lists in the audit, as in the run file of one run. */
const LISTED = Object.freeze({ short: 100, resolutions: 1000 });
/** Different texts of the environments that are listed. */
const DISTINCT = 3;
/** Limit of different warnings. */
const WARNINGS = 20;

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
  members: {
    wallets: sum,
    verified: sum,
    includedLate: sum,
    reverted: sum,
    reorgedOut: sum,
    neverSent: sum,
    replaced: sum,
    pending: sum,
    mismatchCount: sum,
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

/**
 * The run of an instance with the times, the names of endpoints and the share of the window of the merged run.
 * @param {RunFile} run
 * @param {{share: number, shiftMs: number, endpointOf: (index: string | number) => string}} place
 * @returns {any}
 */
function asPart(run, { share, shiftMs, endpointOf }) {
  const later = (/** @type {any} */ event) => ({ ...event, atMs: event.atMs + shiftMs });
  const renamed = (/** @type {Record<string, any>} */ tagged = {}) =>
    Object.fromEntries(Object.entries(tagged).map(([key, value]) => [endpointOf(key), value]));
  // Counts of whole windows are scaled to the common window.
  const scaled = (/** @type {Record<string, any>} */ groups = {}) =>
    Object.fromEntries(
      Object.entries(groups).map(([key, group]) => [
        key,
        { ...group, windowVerified: Math.round(share * group.windowVerified) },
      ]),
    );
  const { latency, probes, generator, environment } = run;
  const { submissionStall: stall, endpoints = [] } = /** @type {any} */ (generator);
  /** @type {any[]} */
  const own = [];
  endpoints.forEach((/** @type {any} */ one, /** @type {number} */ i) => {
    own[Number(endpointOf(i))] = { ...one, events: one.events.map(later) };
  });
  const node = probes?.node ? { ...probes.node, cpuUs: Math.round(share * probes.node.cpuUs) } : null;
  const { fromMs = 0, toMs = Infinity } = stall ?? {};
  return {
    ...run,
    environment: { ...environment, endpoints: undefined },
    reorgs: { ...run.reorgs, events: run.reorgs.events.map(later) },
    // Older files lack the censored operations.
    latency: {
      ...latency,
      censored: censoredOf(run),
      fromStartCensored: latency.fromStartCensored ?? censoredOf(run),
    },
    byName: scaled(run.byName),
    byEndpoint: scaled(renamed(run.byEndpoint)),
    probes: probes && { ...probes, node },
    generator: {
      ...generator,
      endpoints: own,
      submissionStall: stall && { ...stall, fromMs: fromMs + shiftMs, toMs: toMs + shiftMs },
    },
    intervals: run.intervals.map((row) => ({ ...row, byEndpoint: renamed(row.byEndpoint) })),
  };
}

/** The verdict that most instances have, and how many have others: no instance can see what limits all of them together. @param {Array<Verdict | null>} verdicts @returns {Verdict | null} */
export function commonVerdict(verdicts) {
  const timesOf = (/** @type {string | undefined} */ name) => verdicts.filter((one) => one?.name === name).length;
  const names = VERDICTS.filter((name) => timesOf(name) > 0);
  if (names.length === 0) return null;
  const most = names.reduce((a, b) => (timesOf(b) > timesOf(a) ? b : a));
  const others = names.filter((name) => name !== most).map((name) => `, ${timesOf(name)} ${name}`);
  const without = timesOf(undefined) > 0 ? `, ${timesOf(undefined)} without a verdict` : '';
  const evidence = verdicts.find((one) => one?.name === most)?.evidence;
  return {
    name: most,
    evidence: `so say ${timesOf(most)} of ${verdicts.length} instances of themselves${others.join('')}${without}; the first of them: ${evidence}`,
  };
}

export class Total {
  /** The sum of all run files, without their intervals. @type {any} */
  sum = null;
  /** @type {Array<Verdict | null>} */
  #verdicts = [];
  /** Checks that could not be made. @type {string[]} */
  #gaps = [];
  #isNotExact = false;
  /** Whether all run files have figures by load stage. */
  #haveLoadStages = true;
  /** Endpoints of all instances by their names. @type {Map<string, {display: string}>} */
  #endpoints = new Map();
  /** Verified in the window, up to the last report of CPU time. */
  #verified = 0;
  /** @type {Map<string, number>} number of instances by warning */
  warnings = new Map();
  isOpenLoop = false;
  /** @type {number | null} */
  ratePerSecond = null;

  /** @param {RunHeader[]} headers @param {number[]} correctionsMs @param {Common} common */
  constructor(headers, correctionsMs, common) {
    this.headers = headers;
    this.common = common;
    this.window = new WindowCounts(common);
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

  /** @param {RunFile} given @param {number} i index in headers */
  add(given, i) {
    const { warnings, failureWords, environment, audit, verdict, unmeasured, generator } = given;
    const run = { ...given, ...safe({ warnings, failureWords, environment, audit, verdict, unmeasured, generator }) };
    const [share, loadStartMs] = [this.common.shares[i], this.loadStartsMs[i]];
    const shiftMs = loadStartMs - this.grid.originMs;
    const { intervals, ...part } = asPart(run, { share, shiftMs, endpointOf: this.#addEndpoints(run.environment) });
    // Also the first one is added, so that an error in its histograms names its file.
    this.sum = merge(RUN, this.sum ?? {}, part);
    this.#haveLoadStages &&= run.byStage !== undefined;
    this.grid.add(intervals, loadStartMs);
    this.window.add(run, loadStartMs, share);
    for (const { phase, counts } of run.intervals) if (phase === 'load') this.#verified += counts.verified;
    this.#verdicts.push(run.verdict);
    this.#addAudit(run, this.headers[i]);
    this.isOpenLoop ||= run.rates.askedPerSecond !== null;
    const rate = /** @type {number | null} */ (run.config.ratePerSecond ?? null);
    if (rate !== null) this.ratePerSecond = (this.ratePerSecond ?? 0) + rate;
    for (const words of run.warnings)
      if (this.warnings.has(words) || this.warnings.size < WARNINGS)
        this.warnings.set(words, (this.warnings.get(words) ?? 0) + 1);
  }

  /** @param {Record<string, any>} environment of one instance @returns {(index: string | number) => string} maps its index of an endpoint to the index in the merged run */
  #addEndpoints({ endpoints = [] }) {
    const names = numbered(endpoints.map((/** @type {{display: string}} */ { display }) => display));
    names.forEach((name, i) => this.#endpoints.set(name, this.#endpoints.get(name) ?? endpoints[i]));
    const places = [...this.#endpoints.keys()];
    return (index) => (names[Number(index)] === undefined ? `${index}` : `${places.indexOf(names[Number(index)])}`);
  }

  /** @param {RunFile} run @param {RunHeader} header */
  #addAudit(run, { name, index, offset, wallets }) {
    const result = auditResult(run);
    if (result === 'not_exact') this.#isNotExact = true;
    const who = `${index === null ? name : `instance ${index}`} (${walletsOf({ offset, wallets })})`;
    if (result === 'incomplete' || run.partial) this.#gaps.push(...auditGaps(run).map((words) => `${who}: ${words}`));
  }

  /** Figures that follow from all instances. @param {string[]} absent descriptions of instances that are missing */
  result(absent) {
    const { byStage, ...all } = this.sum;
    const { generator, environment, audit } = all;
    const incomplete = [...absent, ...this.#gaps];
    const result = this.#isNotExact ? 'not_exact' : incomplete.length > 0 ? 'incomplete' : 'exact';
    const endpoints = [...this.#endpoints.values()];
    const cpuUsPerVerified = this.#verified > 0 ? generator.cpuUs / this.#verified || null : null;
    return {
      ...all,
      ...(this.#haveLoadStages && { byStage }),
      environment: { ...environment, ...(endpoints.length > 0 && { endpoints }) },
      intervals: this.grid.rows(),
      generator: { ...generator, cpuUsPerVerified },
      audit: audit && { ...audit, exact: result === 'exact', result, incomplete: incomplete.slice(0, LISTED.short) },
      verdict: commonVerdict(this.#verdicts),
    };
  }
}
