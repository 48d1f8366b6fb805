/** The figures of a run worked out again from its samples, by sorting and adding: no histogram, nothing of the recorder. */
import assert from 'node:assert/strict';
import { equalBy } from './equal-by.js';

/** @import { DistributionJson, RunFile } from '../../src/contracts/run-file.d.ts' */

/**
 * @typedef {Record<string, any>} Row of --samples
 */

/** A histogram of three significant digits is right to this. */
const RESOLUTION = 1e-3;

const NAMES = /** @type {const} */ (['started', 'accepted', 'included', 'verified', 'failed', 'timedOut']);

/** The counts of the whole run are those of its samples. @param {RunFile} run @param {Row[]} rows all samples */
export function assertWholeRunAgrees({ counts, failures }, rows) {
  const ended = (/** @type {string} */ outcome) => rows.filter((row) => row.outcome === outcome);
  assert.equal(rows.length, counts.started);
  equalBy(['verified', 'failed', 'timed_out', 'abandoned'], (outcome) => ended(outcome).length, [
    counts.verified,
    counts.failed,
    counts.timedOut,
    counts.abandoned,
  ]);
  assert.deepEqual(countBy(ended('failed').map(({ code }) => code)), failures);
}

/**
 * The run file says what the samples say.
 * @param {RunFile} run
 * @param {Row[]} rows all samples of the run
 */
export function assertAgrees(run, rows) {
  const { fromUs, toUs } = windowOf(run);
  const inside = (/** @type {number | null} */ atUs) => atUs !== null && atUs >= fromUs && atUs <= toUs;
  const { latency, window } = run;
  const ended = (/** @type {string} */ outcome) => rows.filter((row) => row.outcome === outcome);

  assertWholeRunAgrees(run, rows);
  const within = (/** @type {Row[]} */ some, /** @type {string} */ column) =>
    some.filter((row) => inside(row[column])).length;
  assert.deepEqual(
    {
      started: within(rows, 'intended_at_us'),
      accepted: within(rows, 'accepted_at_us'),
      included: within(rows, 'included_at_us'),
      verified: within(ended('verified'), 'ended_at_us'),
      failed: within(ended('failed'), 'ended_at_us'),
      timedOut: within(ended('timed_out'), 'ended_at_us'),
    },
    Object.fromEntries(NAMES.map((name) => [name, window.counts[name]])),
  );
  const spread = ended('verified').reduce((sum, row) => sum + shareIn(spanOf(row), fromUs, toUs), 0);
  if (run.rates.verifiedPerSecond !== null)
    assertNear(run.rates.verifiedPerSecond, (1000 * spread) / Number(run.rates.spreadMs), 1e-9, 'TPS');

  const due = rows.filter((row) => inside(row.intended_at_us));
  const good = due.filter(({ outcome }) => outcome === 'verified');
  const late = due.filter(({ outcome }) => outcome === 'timed_out');
  const censored = due.filter(isCensored);
  const fromStart = (/** @type {Row} */ row) => row.ended_at_us - row.started_at_us;
  assertDistribution(latency.total, [...good, ...censored].map(totalUs), 'total');
  assertDistribution(latency.fromStart, [...good, ...censored].map(fromStart), 'from start');
  assertDistribution(latency.timedOut, late.map(totalUs), 'timed out');
  assert(latency.censored);
  assertDistribution(latency.censored, censored.map(totalUs), 'censored');
  assert(latency.fromStartCensored);
  assertDistribution(latency.fromStartCensored, censored.map(fromStart), 'censored from start');
  // What was dropped has no row, but was as late as it was.
  const lags = due.map((row) => row.started_at_us - row.intended_at_us);
  assert.equal(run.lag.count, lags.length + window.counts.dropped, 'count of lag');
  if (window.counts.dropped === 0) assertDistribution(run.lag, lags, 'lag');
  const stages = good.map(stagesUs);
  for (const [name, distribution] of Object.entries(latency.stages)) {
    // A stage that an operation does not have is not one of no length.
    const ofStage = stages.flatMap((stage) => stage[/** @type {keyof typeof stage} */ (name)] ?? []);
    assertDistribution(distribution, ofStage, name);
  }
}

/** The time over which the throughput spreads a verified operation; without a sighting an instant. @param {Row} row */
function spanOf({ spread_from_us: from, spread_to_us: to, ended_at_us: ended }) {
  return from === null ? { fromUs: ended, toUs: ended } : { fromUs: from, toUs: to };
}

/** @param {{fromUs: number, toUs: number}} span @param {number} startUs @param {number} endUs */
function shareIn(span, startUs, endUs) {
  if (span.fromUs === span.toUs) return span.toUs > startUs && span.toUs <= endUs ? 1 : 0;
  const partUs = Math.min(span.toUs, endUs) - Math.max(span.fromUs, startUs);
  return Math.max(0, partUs) / (span.toUs - span.fromUs);
}

/** Of the run file, on the clock of the samples: from the first interval of the load to the last. @param {RunFile} run */
export function windowOf({ intervals, window }) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  const fromUs = Math.round((load[0]?.startMs ?? 0) * 1000);
  return { fromUs, toUs: fromUs + Math.round(window.durationMs * 1000) };
}

/** What got no good answer because time ran out. @param {Row} row */
export function isCensored({ outcome, code }) {
  return ['timed_out', 'abandoned'].includes(outcome) || ['lost', 'transport_timeout'].includes(code);
}

/** @param {Row} row */
export function totalUs(row) {
  return row.ended_at_us - row.intended_at_us;
}

/** @param {Row} row a verified one */
export function stagesUs({ intended_at_us, sent_at_us, accepted_at_us, included_at_us, ended_at_us }) {
  const sent = sent_at_us ?? intended_at_us;
  const accepted = accepted_at_us ?? sent;
  const included = included_at_us ?? accepted;
  return {
    queued: sent - intended_at_us,
    submit: accepted - sent,
    inclusion: included - accepted,
    readBack: ended_at_us - included,
  };
}

/**
 * @param {DistributionJson} distribution
 * @param {number[]} valuesUs
 * @param {string} name
 */
export function assertDistribution(distribution, valuesUs, name) {
  const sorted = [...valuesUs].sort((a, b) => a - b);
  assert.equal(distribution.count, sorted.length, `count of ${name}`);
  if (sorted.length === 0) return;
  const sumUs = sorted.reduce((sum, value) => sum + value, 0);
  assert.equal(distribution.sumUs, sumUs, `sum of ${name}`);
  assert.deepEqual([distribution.minUs, distribution.maxUs], [sorted[0], sorted.at(-1)], `extremes of ${name}`);
  for (const [key, percentile] of /** @type {const} */ ([
    ['p50Us', 50],
    ['p75Us', 75],
    ['p90Us', 90],
    ['p95Us', 95],
    ['p99Us', 99],
    ['p999Us', 99.9],
  ])) {
    assertNear(Number(distribution[key]), percentileOf(sorted, percentile), RESOLUTION, `${key} of ${name}`);
  }
}

/** By nearest rank. @param {number[]} sorted @param {number} percentile */
export function percentileOf(sorted, percentile) {
  return sorted[Math.max(0, Math.ceil((percentile * sorted.length) / 100 - 1e-9) - 1)];
}

/** @param {number} actual @param {number} expected @param {number} tolerance relative @param {string} what */
export function assertNear(actual, expected, tolerance, what) {
  const difference = Math.abs(actual - expected);
  assert.ok(difference <= Math.max(1, Math.abs(expected)) * tolerance, `${what}: ${actual}, not ${expected}`);
}

/** @param {string[]} names */
function countBy(names) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
