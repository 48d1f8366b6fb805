import { auditGaps, auditResult } from '../stats/audit-result.js';
import { noBlocks } from '../stats/blocks.js';
import { Distribution } from '../stats/histogram.js';
import { addUp, merge } from '../stats/merge.js';
import { GENERATOR, REORGS } from '../stats/metrics.js';
import { STAGES } from '../stats/sample.js';
import { zeroCounts } from '../stats/stats.js';
import { VERDICTS } from '../stats/verdict.js';
import { numbered } from '../text.js';
import { Grid, ProbeTotals, WindowCounts, maxOf, minOf } from './window.js';
import { safe, walletsOf } from './words.js';

/**
 * @import { AuditReport, Check, GroupJson, Outage, Reorgs, RunFile } from '../types.d.ts'
 * @import { Verdict } from '../stats/verdict.js'
 * @import { RunHeader } from './choose.js'
 * @import { Common } from './window.js'
 */

/** Adds up the figures of a merge, one run file after the other. */

/** Limits of lists in the audit, as in the run file of one run. */
const LISTED = Object.freeze({ mismatches: 100, foreign: 100, resolutions: 1000, incomplete: 100 });

const ADDED = Object.freeze(
  /** @type {const} */ ([
    ...['wallets', 'verified', 'includedLate', 'reverted', 'reorgedOut', 'neverSent', 'replaced', 'pending'],
    'mismatchCount',
  ]),
);

/** The audits of all instances as one. Each covers its own wallets, so they add up. */
class AuditTotal {
  /** @type {AuditReport | null} */
  #sum = null;
  #isProven = false;
  /** Checks that could not be made. @type {string[]} */
  #gaps = [];

  /** @param {RunFile} run of one instance @param {RunHeader} header */
  add(run, { name, index, offset, wallets }) {
    const result = auditResult(run);
    if (result === 'not_exact') this.#isProven = true;
    const who = `${index === null ? name : `instance ${index}`} (${walletsOf({ offset, wallets })})`;
    if (result === 'incomplete' || run.partial) this.#gaps.push(...auditGaps(run).map((words) => `${who}: ${words}`));
    const audit = /** @type {AuditReport | null} */ (run.audit);
    if (audit !== null) this.#sum = this.#sum === null ? { ...audit } : mergeAudits(this.#sum, audit);
  }

  /**
   * @param {string[]} absent descriptions of instances that are missing
   * @returns {AuditReport | null} null: no instance has one
   */
  result(absent) {
    if (this.#sum === null) return null;
    const incomplete = [...absent, ...this.#gaps];
    const result = this.#isProven ? 'not_exact' : incomplete.length > 0 ? 'incomplete' : 'exact';
    return { ...this.#sum, exact: result === 'exact', result, incomplete: incomplete.slice(0, LISTED.incomplete) };
  }
}

/** @param {AuditReport} a @param {AuditReport} b @returns {AuditReport} */
function mergeAudits(a, b) {
  const last = b.blockNumber > a.blockNumber ? b : a;
  const added = Object.fromEntries(ADDED.map((name) => [name, a[name] + b[name]]));
  return {
    ...a,
    .../** @type {Pick<AuditReport, typeof ADDED[number]>} */ (added),
    blockNumber: last.blockNumber,
    blockHash: last.blockHash,
    effectsOnChain: sumOf(a.effectsOnChain, b.effectsOnChain),
    bounds: {
      atLeast: sumOf(a.bounds.atLeast, b.bounds.atLeast),
      atMost: sumOf(a.bounds.atMost, b.bounds.atMost),
    },
    mismatches: [...a.mismatches, ...b.mismatches].slice(0, LISTED.mismatches),
    foreign: [...a.foreign, ...b.foreign].slice(0, LISTED.foreign),
    resolutions: [...a.resolutions, ...b.resolutions].slice(0, LISTED.resolutions),
    checks: checksOf(a.checks ?? [], b.checks ?? []),
  };
}

/** @param {Check[]} a @param {Check[]} b @returns {Check[]} */
function checksOf(a, b) {
  const others = new Map(b.map((check) => [check.name, check]));
  const merged = a.map((check) => {
    const other = others.get(check.name);
    others.delete(check.name);
    return other === undefined ? check : checkOf(check, other);
  });
  return [...merged, ...others.values()];
}

/** A failed check takes precedence over one that could not be made, and that over one that holds. @param {Check} a @param {Check} b @returns {Check} */
function checkOf(a, b) {
  const worse = [a, b].find(({ holds }) => holds === false) ?? [a, b].find(({ holds }) => holds === null);
  if (worse !== undefined && (a.holds !== b.holds || worse.holds === null)) return worse;
  const numbers = [a.expected, b.expected, a.found, b.found];
  const isNumeric = numbers.every((text) => text !== null && /^-?\d+$/.test(text));
  if (!isNumeric) return worse ?? a;
  return { ...a, expected: sumOf(a.expected ?? '0', b.expected ?? '0'), found: sumOf(a.found ?? '0', b.found ?? '0') };
}

/** @param {string} a @param {string} b */
function sumOf(a, b) {
  return String(BigInt(a) + BigInt(b));
}

/** @param {Record<string, any>} environment */
function endpointsOf(environment) {
  return /** @type {Array<{display: string, clientVersion: string | null}>} */ (environment.endpoints ?? []);
}

/** Endpoints of all instances; those with equal names are the same. */
class Endpoints {
  /** @type {Map<string, {display: string, clientVersion: string | null}>} */
  #all = new Map();

  /** @param {Record<string, any>} environment */
  constructor(environment) {
    this.add(environment);
  }

  /** @param {Record<string, any>} environment of one instance @returns {(key: string) => string} maps its index of an endpoint to the index in the merged run */
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

class GeneratorTotal {
  /** @type {any} */
  #sum = null;
  /** Verified in the window, up to the last report of CPU time. */
  #verified = 0;

  /** @param {RunFile} run @param {(key: string) => string} endpointOf @param {number} shiftMs */
  add({ generator, intervals }, endpointOf, shiftMs) {
    const own = endpointsByPlace(/** @type {any[]} */ (generator.endpoints ?? []), endpointOf, shiftMs);
    const stall = generator.submissionStall;
    const submissionStall = stall === undefined ? undefined : shifted(stall, shiftMs);
    const one = { ...generator, endpoints: own, submissionStall };
    this.#sum = this.#sum === null ? one : merge(GENERATOR, this.#sum, one);
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

/** Different texts of the environments that are listed. */
const DISTINCT = 3;

/** @param {Record<string, any>} a @param {Record<string, any>} b @returns {Record<string, any>} */
function mergeEnvironments(a, b) {
  const merged = { ...a };
  for (const name of ['node', 'platform', 'cpu', 'endpoint', 'clientVersion'])
    merged[name] = a[name] === null || b[name] === null ? (a[name] ?? b[name]) : distinct(a[name], b[name]);
  for (const name of ['cores', 'memoryBytes']) merged[name] = Math.min(a[name], b[name]);
  for (const name of ['chainId', 'genesisHash', 'blockGasLimit']) merged[name] = a[name] ?? b[name];
  return merged;
}

/** @param {string} a may list several texts @param {string} b */
function distinct(a, b) {
  const all = a.split(' | ');
  if (all.includes(b) || all.includes('...')) return a;
  return [...all, all.length < DISTINCT ? b : '...'].join(' | ');
}

/** @typedef {RunFile['spending']} SpendingJson */

/** Fees of all instances, in wei. */
class SpendingTotal {
  /** @type {SpendingJson | null} */
  #sum = null;

  /** @param {SpendingJson} spending */
  add(spending) {
    const before = this.#sum;
    this.#sum =
      before === null
        ? spending
        : {
            capWei: weiOf(before.capWei, spending.capWei),
            setUpWei: weiOf(before.setUpWei, spending.setUpWei),
            // Older files lack it.
            ...(before.leftWei === undefined || spending.leftWei === undefined
              ? {}
              : { leftWei: weiOf(before.leftWei, spending.leftWei) }),
            spentWei: weiOf(before.spentWei, spending.spentWei),
            transactions:
              before.transactions === null || spending.transactions === null
                ? null
                : before.transactions + spending.transactions,
          };
  }

  result() {
    return this.#sum ?? { capWei: null, setUpWei: null, spentWei: null, transactions: null };
  }
}

/** Unknown for one instance: unknown in total. @param {string | null} a @param {string | null} b */
function weiOf(a, b) {
  return a === null || b === null ? null : String(BigInt(a) + BigInt(b));
}

const NAMES = Object.freeze(
  /** @type {const} */ (['total', 'fromStart', 'timedOut', 'censored', 'fromStartCensored', 'lag', ...STAGES]),
);

/** Counts, failures, distributions and groups of the whole runs. The sums are exact. */
export class RunTotals {
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
  byName = new GroupTotals();
  byEndpoint = new GroupTotals();
  blocks = noBlocks();
  #blocksRank = Infinity;
  #ours = 0;
  #probes = new ProbeTotals();
  #hasProbes = false;
  /** @type {Reorgs[]} */
  #reorgs = [];
  #distributions = /** @type {Record<typeof NAMES[number], Distribution>} */ (
    Object.fromEntries(NAMES.map((name) => [name, new Distribution()]))
  );

  /**
   * @param {RunFile} run
   * @param {object} place
   * @param {number} place.share of its window that is in the common window
   * @param {number} place.rank the blocks of the lowest rank are used
   * @param {number} place.shiftMs from the first start of a load to its own
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
      // Older files lack some stages.
      const found = all[name];
      if (found !== undefined) this.#distributions[name].add(found);
    }
    this.byName.add(run.byName ?? {}, share);
    this.byEndpoint.add(run.byEndpoint ?? {}, share, endpointOf);
    this.#ours += run.blocks.ours;
    if (rank < this.#blocksRank) [this.blocks, this.#blocksRank] = [{ ...run.blocks }, rank];
    this.blocks.ours = this.#ours;
    this.#addProbes(run, share);
    const events = run.reorgs.events.map((event) => ({ ...event, atMs: event.atMs + shiftMs }));
    this.#reorgs.push({ ...run.reorgs, events });
  }

  /** The node's CPU time of one instance's window is scaled to the common window. @param {RunFile} run @param {number} share */
  #addProbes({ probes }, share) {
    if (probes === null) return;
    const node = probes.node === null ? null : { ...probes.node, cpuUs: Math.round(share * probes.node.cpuUs) };
    this.#probes.add({ ...probes, node });
    this.#hasProbes = true;
  }

  get reorgs() {
    return this.#reorgs.reduce((a, b) => merge(REORGS, a, b));
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
class GroupTotals {
  /** @type {Map<string, {counts: GroupJson['counts'], windowVerified: number, failures: Record<string, number>, latency: Distribution, censored: Distribution}>} */
  #groups = new Map();

  /** @param {Record<string, GroupJson>} groups @param {number} share of the window that is in the common window @param {(key: string) => string} [keyOf] */
  add(groups, share, keyOf = (key) => key) {
    for (const [key, { counts, windowVerified, failures, latency, censored }] of Object.entries(groups)) {
      const known = this.#groups.get(keyOf(key)) ?? {
        counts: { verified: 0, failed: 0, timedOut: 0, abandoned: 0 },
        windowVerified: 0,
        failures: {},
        latency: new Distribution(),
        censored: new Distribution(),
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

/** The verdict that most instances have, and how many have others: no instance can see what limits all of them together. */
export class Verdicts {
  /** @type {Map<Verdict['name'], {times: number, evidence: string}>} */
  #byName = new Map();
  #without = 0;

  /** @param {Verdict | null} verdict */
  add(verdict) {
    if (verdict === null) {
      this.#without += 1;
      return;
    }
    const { times, evidence } = this.#byName.get(verdict.name) ?? { times: 0, evidence: verdict.evidence };
    this.#byName.set(verdict.name, { times: times + 1, evidence });
  }

  /** @returns {Verdict | null} */
  result() {
    const verdicts = VERDICTS.flatMap((name) => {
      const one = this.#byName.get(name);
      return one === undefined ? [] : [{ name, ...one }];
    });
    if (verdicts.length === 0) return null;
    const most = verdicts.reduce((a, b) => (b.times > a.times ? b : a));
    const all = verdicts.reduce((sum, { times }) => sum + times, this.#without);
    const others = verdicts.filter((one) => one !== most).map(({ name, times }) => `${times} ${name}`);
    if (this.#without > 0) others.push(`${this.#without} without a verdict`);
    const rest = others.length === 0 ? '' : `, ${others.join(', ')}`;
    return {
      name: most.name,
      evidence: `so say ${most.times} of ${all} instances of themselves${rest}; the first of them: ${most.evidence}`,
    };
  }
}

/** Limit of different warnings. */
const WARNINGS = 20;

export class Total {
  runs = new RunTotals();
  audit = new AuditTotal();
  generator = new GeneratorTotal();
  spending = new SpendingTotal();
  verdicts = new Verdicts();
  /** @type {Map<string, number>} number of instances by warning */
  warnings = new Map();
  /** Reasons of null figures. @type {Record<string, string>} */
  unmeasured = {};
  /** @type {Record<string, any>} */
  environment = {};
  /** @type {RunFile | null} without its intervals */
  first = null;
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
    const windowStartMs = minOf(measured.length > 0 ? measured : starts);
    this.grid = new Grid({
      loadStartMs: minOf(this.loadStartsMs),
      windowStartMs,
      endMs: maxOf(headers.map(({ endedAtMs }, i) => endedAtMs + correctionsMs[i])),
      stepMs: maxOf(headers.map(({ intervalMs }) => intervalMs)),
    });
    this.ranks = ranksOf(headers);
  }

  /** @param {RunFile} given @param {number} i index in headers */
  add(given, i) {
    const run = withSafeWords(given);
    const { intervals, ...rest } = run;
    if (this.first === null) {
      this.first = { ...rest, intervals: [] };
      this.environment = run.environment;
      this.endpoints = new Endpoints(run.environment);
    }
    this.environment = mergeEnvironments(this.environment, run.environment);
    const endpointOf = /** @type {Endpoints} */ (this.endpoints).add(run.environment);
    const [share, rank, loadStartMs] = [this.common.shares[i], this.ranks[i], this.loadStartsMs[i]];
    const shiftMs = loadStartMs - this.grid.originMs;
    this.runs.add(run, { share, rank, shiftMs, endpointOf });
    this.grid.add(intervals, { loadStartMs, rank, endpointOf });
    for (const row of intervals) this.window.addRow(row, loadStartMs);
    this.window.addWindow(run, share);
    this.audit.add(run, this.headers[i]);
    this.generator.add(run, endpointOf, shiftMs);
    this.spending.add(run.spending);
    this.verdicts.add(run.verdict);
    this.isOpenLoop ||= run.rates.askedPerSecond !== null;
    const rate = /** @type {number | null} */ (run.config.ratePerSecond ?? null);
    if (rate !== null) this.ratePerSecond = (this.ratePerSecond ?? 0) + rate;
    this.unmeasured = { ...run.unmeasured, ...this.unmeasured };
    for (const words of run.warnings)
      if (this.warnings.has(words) || this.warnings.size < WARNINGS)
        this.warnings.set(words, (this.warnings.get(words) ?? 0) + 1);
  }
}

/** @param {RunFile} run @returns {RunFile} */
function withSafeWords(run) {
  const { warnings, failureWords, environment, audit, verdict, unmeasured, generator } = run;
  return { ...run, ...safe({ warnings, failureWords, environment, audit, verdict, unmeasured, generator }) };
}

/** Order in which blocks of instances are used: whole runs before partial ones, longer windows before shorter ones. @param {RunHeader[]} headers */
function ranksOf(headers) {
  const order = headers
    .map((header, i) => ({ i, partial: header.partial, lengthMs: header.windowEndMs - header.windowStartMs }))
    .sort((a, b) => Number(a.partial) - Number(b.partial) || b.lengthMs - a.lengthMs || a.i - b.i);
  /** @type {number[]} */
  const ranks = [];
  order.forEach(({ i }, rank) => (ranks[i] = rank));
  return ranks;
}
