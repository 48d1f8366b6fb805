import { InputError } from '../errors.js';
import { censoredIn } from '../metrics/sample.js';
import { some } from './merge-words.js';

/**
 * @import { IntervalRow } from '../metrics/intervals.js'
 * @import { RunFile } from '../metrics/summary.js'
 */

/**
 * Whether the figures of a run file are of one run: what is counted in several places must be the same in all of them.
 * A merge adds them up, and nobody would find the wrong one in the sum.
 */

/** Rows of several threads may overlap by what the threads differ in. */
const OVERLAP_MS = 1000;
/** Instants are rounded, and a report may come after the end. */
const ALLOWANCE_MS = 5000;

const BY_INSTANT = Object.freeze(
  /** @type {const} */ (['scheduled', 'dropped', 'started', 'verified', 'failed', 'timedOut']),
);

/** @param {RunFile} run @param {string} name of its file @param {number} loadStartMs @throws {InputError} which names the figure */
export function checkSums(run, name, loadStartMs) {
  const wrong = rowsWords(run, loadStartMs) ?? windowWords(run) ?? countsWords(run) ?? distributionWords(run);
  if (wrong !== null) throw new InputError(`${name} contradicts itself: ${wrong}`);
}

/** @param {RunFile} run @param {number} loadStartMs @returns {string | null} */
function rowsWords({ intervals, endedAt }, loadStartMs) {
  const longestMs = Date.parse(endedAt) - loadStartMs + ALLOWANCE_MS;
  let lastMs = 0;
  for (const [i, { startMs, endMs, counts, latency, lag }] of intervals.entries()) {
    if (!(startMs <= endMs)) return `intervals/${i} ends before it begins`;
    if (!(startMs >= lastMs - OVERLAP_MS)) return `intervals/${i} begins before the one before it ends`;
    if (!(endMs <= longestMs)) return `intervals/${i} ends after the run did`;
    if (latency.count !== counts.verified || lag.count !== counts.scheduled)
      return `intervals/${i} has other counts than its distributions`;
    lastMs = endMs;
  }
  return null;
}

/** @param {RunFile} run @returns {string | null} */
function windowWords({ window, startedAt, endedAt }) {
  const elapsedMs = Date.parse(endedAt) - Date.parse(startedAt);
  if (!(window.durationMs >= 0 && window.durationMs <= elapsedMs + ALLOWANCE_MS))
    return `window/durationMs is ${window.durationMs}, and from startedAt to endedAt it is ${elapsedMs} ms`;
  return null;
}

/** @param {RunFile} run @returns {string | null} */
function countsWords(run) {
  const { counts, window, intervals, audit, partial, end } = run;
  const { scheduled, dropped, started, verified, failed, timedOut, abandoned } = counts;
  if (scheduled !== dropped + started) return 'counts/scheduled is not dropped + started';
  if (run.inFlight !== started - verified - failed - timedOut - abandoned)
    return 'inFlight is not what was started and has not ended';
  for (const name of BY_INSTANT)
    if (window.counts[name] > counts[name])
      return `window/counts/${name} is ${window.counts[name]}, and counts/${name} ${counts[name]}`;
  // A law of ours was broken, or a thread died, and what it knew is gone: that is said by the run's own exit code.
  if (end === 'internal') return null;
  const sums = sumsOf(intervals);
  for (const [name, count] of Object.entries(counts)) {
    const sum = sums[/** @type {keyof typeof counts} */ (name)];
    if (partial ? sum > count : sum !== count) return `counts/${name} is ${count}, and intervals have ${sum}`;
  }
  const report = /** @type {{verified: number} | null} */ (audit);
  if (report !== null && report.verified !== verified)
    return `audit/verified is ${report.verified}, and counts/verified ${verified}`;
  return partial ? null : loadWords(run);
}

/**
 * What happens in the window is counted in its rows, or, where it is told late, in later ones: so may be what happened at
 * the end of the warm-up, in the first rows of the load.
 * @param {RunFile} run @returns {string | null}
 */
function loadWords({ window, intervals }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  const later = sumsOf(intervals.filter(({ phase }) => phase !== 'warmup'));
  const sure = sumsOf(load.slice(intervals[0]?.phase === 'warmup' ? 2 : 0));
  for (const name of BY_INSTANT) {
    const count = window.counts[name];
    if (count < sure[name] || count > later[name])
      return `window/counts/${name} is ${count}, and intervals have ${sumsOf(load)[name]} in the window`;
  }
  return null;
}

/** @param {IntervalRow[]} rows */
function sumsOf(rows) {
  const sums = { scheduled: 0, dropped: 0, started: 0, verified: 0, failed: 0, timedOut: 0, abandoned: 0 };
  for (const { counts } of rows)
    for (const name of /** @type {Array<keyof typeof sums>} */ (Object.keys(sums))) sums[name] += counts[name];
  return sums;
}

/** No distribution has more values than there were operations. @param {RunFile} run @returns {string | null} */
function distributionWords({ counts, failures, window, latency, lag, byName, byEndpoint }) {
  const { total, fromStart, timedOut, censored = timedOut, stages } = latency;
  const ended = counts.verified + censoredIn({ counts, failures });
  if (lag.count !== window.counts.scheduled)
    return `lag/count is ${lag.count}, and window/counts/scheduled ${window.counts.scheduled}`;
  const groups = Object.values({ ...(byName ?? {}) }).concat(Object.values(byEndpoint ?? {}));
  const ofGroups = groups.flatMap((group) => [group.latency, group.censored ?? []].flat());
  const most = [total, fromStart, timedOut, censored, ...Object.values(stages), ...ofGroups].reduce((a, b) =>
    b.count > a.count ? b : a,
  );
  if (most.count > ended)
    return `a distribution has ${some(most.count, 'value')}, and ${some(ended, 'operation')} were verified or ran out of time`;
  return fromStart.count === total.count ? null : 'latency/fromStart/count is not latency/total/count';
}
