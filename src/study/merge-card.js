import { auditResult } from '../metrics/audit-result.js';
import { safeWords } from './merge-words.js';
import { MAY_DIFFER, settingsOf } from './settings.js';

/**
 * @import { AuditResult } from '../metrics/audit-result.js'
 * @import { RunFile } from '../metrics/summary.js'
 * @import { Source } from './merge-sources.js'
 */

/**
 * What a merge remembers of a run file while it reads the others: enough to know whether they belong together, whose
 * clock is wrong, and which part of the time they have in common.
 *
 * @typedef {object} Card
 * @property {Source} source
 * @property {string} name for messages: the index where there is one, and where it was found
 * @property {string} id
 * @property {string | null} runId
 * @property {number | null} index
 * @property {number | null} instances as the run was told
 * @property {number} attempt
 * @property {string | null} host
 * @property {number} offset of its own first wallet
 * @property {number} threads
 * @property {number} firstOffset of all instances' first wallet
 * @property {Record<string, unknown>} settings that make it the run that it is
 * @property {string} definitions
 * @property {Record<string, unknown>} environment
 * @property {number} startedAtMs time of day by its own clock, as are all below
 * @property {number} endedAtMs
 * @property {number} loadStartMs
 * @property {number} windowStartMs
 * @property {number} windowEndMs
 * @property {boolean} hasLoad it was measured: it has a window, and a row of it
 * @property {number} resolutionMs how much later than it could it may see a block
 * @property {number} intervalMs how long its intervals are
 * @property {boolean} partial
 * @property {string} end
 * @property {number | null} exitCode
 * @property {RunFile['counts']} counts
 * @property {number} inFlight
 * @property {number | null} verifiedPerSecond
 * @property {boolean | null} auditExact
 * @property {AuditResult | null} auditResult
 * @property {number | null} auditBlock
 * @property {Float64Array} blocks of each interval that saw any: first number, last number, least skew in milliseconds
 */

/** What instances of one run may differ in, beside what any two runs may: what follows from the machine, or from the place. */
const OF_THE_INSTANCE = new Set(['threads', 'users', 'workers']);
/** What two comparable runs may differ in, but not two instances of one. */
const OF_THE_RUN = new Set(['duration', 'drain-timeout']);

/** @param {RunFile} run @param {Source} source @returns {Card} */
export function cardOf(run, source) {
  const { config, window, intervals, audit } = run;
  const instance = /** @type {Record<string, any>} */ (/** @type {any} */ (run).instance ?? {});
  const { runId = null, index = null, instances = null, attempt = 0, host = null } = instance;
  const windowStartMs = Date.parse(window.startedAt);
  const report = /** @type {{exact: boolean, blockNumber: number} | null} */ (audit);
  const name = index === null || source.index !== null ? source.name : `instance ${index} (${source.name})`;
  return {
    source,
    name,
    id: run.id,
    runId,
    index,
    instances,
    attempt,
    offset: instance.offset ?? Number(config.offset),
    threads: Number(config.threads),
    host: host === null ? null : safeWords(host),
    firstOffset: Number(config.offset),
    settings: settingsThatBind(run),
    definitions: JSON.stringify(run.definitions),
    environment: run.environment,
    startedAtMs: Date.parse(run.startedAt),
    endedAtMs: Date.parse(run.endedAt),
    loadStartMs: loadStartOf(run),
    hasLoad: window.durationMs > 0 && intervals.some(({ phase }) => phase === 'load'),
    resolutionMs: run.generator.inclusionResolutionMs ?? 0,
    windowStartMs,
    windowEndMs: windowStartMs + window.durationMs,
    intervalMs: lengthOf(run),
    partial: run.partial,
    end: run.end,
    exitCode: run.exitCode,
    counts: run.counts,
    inFlight: run.inFlight,
    verifiedPerSecond: run.rates.verifiedPerSecond,
    blocks: blocksOf(run),
    auditExact: report?.exact ?? null,
    auditResult: auditResult(run),
    auditBlock: report?.blockNumber ?? null,
  };
}

/** Time of day; one that ended in its warm-up has a window without length, which begins there. @param {RunFile} run */
export function loadStartOf({ window, intervals }) {
  const firstLoad = intervals.find(({ phase }) => phase === 'load');
  const lastWarmup = intervals.filter(({ phase }) => phase === 'warmup').at(-1);
  return Date.parse(window.startedAt) - (firstLoad?.startMs ?? lastWarmup?.endMs ?? 0);
}

/** @param {RunFile} run */
function settingsThatBind(run) {
  const settings = Object.entries(settingsOf(run)).filter(
    ([name]) => (!MAY_DIFFER.has(name) || OF_THE_RUN.has(name)) && !OF_THE_INSTANCE.has(name),
  );
  // Files of one name may not say the same.
  const callsHash = /** @type {any} */ (run.environment).workload?.callsHash ?? null;
  return { ...Object.fromEntries(settings), ...(callsHash === null ? {} : { 'what --calls says': callsHash }) };
}

/** Of a long run neighbours were merged, so that its intervals are some times as long as was asked for. @param {RunFile} run */
function lengthOf({ config, intervals }) {
  const lengths = intervals
    .filter(({ phase }) => phase === 'load')
    .map(({ startMs, endMs }) => endMs - startMs)
    .sort((a, b) => a - b);
  const asked = Number(config.intervalMs);
  const middle = lengths[Math.floor(lengths.length / 2)] ?? asked;
  return asked * 2 ** Math.max(0, Math.round(Math.log2(middle / asked)));
}

/** @param {RunFile} run */
function blocksOf({ intervals }) {
  const seen = intervals.flatMap(({ blocks: { firstNumber, lastNumber, skewMinMs } }) =>
    firstNumber === null || lastNumber === null || skewMinMs === null ? [] : [firstNumber, lastNumber, skewMinMs],
  );
  return Float64Array.from(seen);
}
