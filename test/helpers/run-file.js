/** What has to hold for every run file, whatever the run was like. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as hdr from 'hdr-histogram-js';

/**
 * @typedef {import('../../src/metrics/summary.js').RunFile & {audit: import('../../src/run/audit.js').AuditReport | null}} RunFile
 * @typedef {import('../../src/metrics/distribution.js').DistributionJson} DistributionJson
 */

const SCHEMA = JSON.parse(readFileSync(new URL('../../docs/run.schema.json', import.meta.url), 'utf8'));

const FORMATS = Object.freeze({
  'date-time': (/** @type {string} */ text) => new Date(text).toISOString() === text,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
});

/** @returns {import('ajv').ValidateFunction} */
export function runFileValidator() {
  return new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true, formats: FORMATS }).compile(SCHEMA);
}

/**
 * @param {unknown} json a run file
 * @returns {string[]} what the schema says against it
 */
export function schemaErrors(json) {
  const validate = runFileValidator();
  validate(json);
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath} ${message} ${JSON.stringify(params)}`;
  });
}

/**
 * The schema and all identities.
 * @param {RunFile} run
 */
export function assertRunFile(run) {
  assert.deepEqual(schemaErrors(run), []);
  assertCounts(run);
  assertLatency(run);
  assertWindow(run);
  assertIntervals(run);
  assertAudit(run);
  assertNullsExplained(run);
}

/** @param {RunFile} run */
function assertCounts({ counts, failures, generator }) {
  assert.equal(counts.scheduled, counts.dropped + counts.started);
  // Nothing is in flight any more: what the drain did not see to its end was abandoned.
  assert.equal(counts.started, counts.verified + counts.failed + counts.timedOut + counts.abandoned);
  assert.equal(counts.failed, sumOf(Object.values(failures)));
  assert.equal(generator.rpcCalls.submit ?? 0, counts.started, 'an operation is sent once');
  const calls = sumOf(Object.values(generator.rpcCalls));
  assert.ok(generator.transport.requests <= calls, `${generator.transport.requests} requests for ${calls} calls`);
}

/** @param {RunFile} run */
function assertLatency({ counts, latency }) {
  const { total, timedOut } = latency;
  const stages = Object.values(latency.stages);
  for (const distribution of [total, timedOut, ...stages]) assertDistribution(distribution);
  // Every operation begins inside the window; failed and abandoned ones do not count.
  assert.equal(total.count, counts.verified + counts.timedOut);
  assert.equal(timedOut.count, counts.timedOut);
  for (const stage of stages) assert.equal(stage.count, counts.verified);
  assert.equal(sumOf(stages.map(({ sumUs }) => sumUs)), total.sumUs - timedOut.sumUs, 'the stages add up to the total');
}

/** @param {DistributionJson} d */
function assertDistribution(d) {
  const histogram = hdr.decodeFromCompressedBase64(d.hdr, 32, false);
  assert.equal(histogram.totalCount, d.count, 'the histogram has as many values as were counted');
  if (d.count === 0) return;
  const { minUs, maxUs, meanUs, stddevUs } = /** @type {Record<string, number>} */ (/** @type {unknown} */ (d));
  assertNear(meanUs, d.sumUs / d.count, 1e-9);
  const variance = Number(BigInt(d.count) * BigInt(d.sumOfSquaresUs2) - BigInt(d.sumUs) ** 2n) / d.count ** 2;
  assertNear(stddevUs, Math.sqrt(variance), 1e-9);
  assertNear(histogram.mean, meanUs, 1e-3);
  assertNear(histogram.maxValue, maxUs, 1e-3);
  const ascending = [minUs, d.p50Us, d.p75Us, d.p90Us, d.p95Us, d.p99Us, d.p999Us, maxUs].map(Number);
  assert.deepEqual(
    ascending,
    [...ascending].sort((a, b) => a - b),
  );
}

/** @param {RunFile} run */
function assertWindow({ window, rates, counts, latency, startedAt, endedAt, generator }) {
  const seconds = window.durationMs / 1000;
  const byRate = /** @type {const} */ ([
    ['started', rates.attemptedPerSecond],
    ['accepted', rates.acceptedPerSecond],
    ['included', rates.includedPerSecond],
    ['verified', rates.verifiedPerSecond],
  ]);
  for (const [name, rate] of byRate) assertNear((rate ?? NaN) * seconds, window.counts[name], 1e-9);
  const { started, accepted, included, verified } = window.counts;
  assert.ok(started >= accepted && accepted >= included && included >= verified, JSON.stringify(window.counts));
  assert.equal(started, counts.started, 'every operation begins inside the window');
  for (const name of /** @type {const} */ (['verified', 'failed', 'timedOut'])) {
    assert.ok(window.counts[name] <= counts[name], name);
  }
  assert.ok(startedAt <= window.startedAt && window.startedAt <= endedAt);
  assert.ok((latency.total.maxUs ?? 0) / 1000 <= Date.parse(endedAt) - Date.parse(window.startedAt) + 50);
  if (verified > 0) assertNear(generator.cpuUsPerVerified ?? NaN, generator.cpuUs / verified, 1e-9);
}

/** @param {RunFile} run */
function assertIntervals({ intervals, counts, failures, window, generator, environment }) {
  const detector = /** @type {any} */ (environment).inclusion?.name;
  for (const name of /** @type {Array<keyof typeof counts>} */ (Object.keys(counts))) {
    assert.equal(sumOf(intervals.map((row) => row.counts[name])), counts[name], `${name} of all intervals`);
  }
  /** @type {Record<string, number>} */
  const byCode = {};
  for (const row of intervals) {
    for (const [code, times] of Object.entries(row.failures)) byCode[code] = (byCode[code] ?? 0) + times;
  }
  assert.deepEqual(byCode, failures);

  assert.deepEqual(
    intervals.map(({ phase }) => phase),
    [...Array(intervals.length - 1).fill('load'), 'drain'],
  );
  const load = intervals.slice(0, -1);
  let endMs = 0;
  for (const row of intervals) {
    assert.equal(row.startMs, endMs, 'each begins where the one before it ended');
    endMs = row.endMs;
    if (row.phase === 'load')
      assertNear((row.tps ?? NaN) * (row.endMs - row.startMs), row.counts.verified * 1000, 1e-9);
    assert.equal(row.latency.count, row.counts.verified);
    assertDistribution(row.latency);
  }
  assertNear(load.at(-1)?.endMs ?? NaN, window.durationMs, 1e-9);
  for (const name of /** @type {const} */ (['started', 'verified', 'failed', 'timedOut'])) {
    assert.equal(sumOf(load.map((row) => row.counts[name])), window.counts[name], `${name} of the window`);
  }
  assert.equal(sumOf(load.map(({ probes }) => probes.self.cpuUs)), generator.cpuUs);
  assert.equal(intervals.at(-1)?.inFlight, 0);

  let flying = 0;
  for (const { counts: c, inFlight } of intervals) {
    flying += c.started - c.verified - c.failed - c.timedOut - c.abandoned;
    assert.equal(inFlight, flying, 'in flight, counted and computed');
  }
  const blocks = intervals.map((row) => row.blocks).filter(({ count }) => count > 0);
  for (const [i, { count, firstNumber, lastNumber, transactions, ours }] of blocks.entries()) {
    assert.equal(Number(lastNumber) - Number(firstNumber) + 1, count);
    if (i > 0) assert.equal(firstNumber, Number(blocks[i - 1].lastNumber) + 1, 'no block is missing, none there twice');
    // A receipt that is found late counts with the block that is reported next.
    if (detector !== 'receipts') assert.ok(ours <= transactions);
  }
  const ours = sumOf(blocks.map((totals) => totals.ours));
  assert.ok(counts.verified <= ours && ours <= counts.started, `${ours} of our transactions seen in blocks`);
}

/** @param {RunFile} run */
function assertAudit({ audit, counts, config, exitCode }) {
  if (audit === null) return;
  assert.equal(audit.exact, audit.mismatchCount === 0 && audit.foreign.length === 0);
  assert.equal(audit.wallets, config.threads);
  assert.equal(audit.verified, counts.verified);
  assert.equal(audit.mismatches.length, Math.min(audit.mismatchCount, 100));
  const { atLeast, atMost } = audit.bounds;
  assert.ok(BigInt(atLeast) <= BigInt(atMost));
  if (audit.exact) {
    assert.equal(audit.effectsOnChain, String(counts.verified + audit.includedLate));
    assert.deepEqual([atLeast, atMost], [audit.effectsOnChain, audit.effectsOnChain]);
    assert.equal(audit.pending, 0);
  } else {
    assert.ok(exitCode === 76 || exitCode === 70, `exit ${exitCode}`);
  }
}

/**
 * Every null has its reason in `unmeasured`, at its own pointer or at one above it, and every reason has a null; but
 * for those that say it themselves: options not given, figures of an empty distribution or of no blocks, the rate of
 * the drain, the code of what did not fail.
 * @param {RunFile} run
 */
function assertNullsExplained(run) {
  const nulls = [...nullsIn(run, '')].filter((pointer) => !explainsItself(run, pointer));
  const reasons = Object.keys(run.unmeasured);
  /** @param {string} pointer @param {string} reason */
  const covers = (pointer, reason) => pointer === reason || pointer.startsWith(`${reason}/`);
  for (const pointer of nulls) {
    assert.ok(
      reasons.some((reason) => covers(pointer, reason)),
      `${pointer} is null without a reason`,
    );
  }
  for (const reason of reasons) {
    assert.ok(
      nulls.some((pointer) => covers(pointer, reason)),
      `${reason} has a reason and is not null`,
    );
  }
}

/** @param {unknown} value @param {string} pointer @returns {Generator<string>} JSON pointers of all nulls */
function* nullsIn(value, pointer) {
  if (value === null) yield pointer;
  else if (typeof value === 'object') {
    for (const [name, member] of Object.entries(value)) yield* nullsIn(member, `${pointer}/${escapeToken(name)}`);
  }
}

/** RFC 6901, section 3. @param {string} name */
function escapeToken(name) {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** @param {RunFile} run @param {string} pointer */
function explainsItself(run, pointer) {
  if (/^\/config\/[^/]+$/.test(pointer)) return true;
  if (/^\/audit\/resolutions\/\d+\/code$/.test(pointer)) return true;
  const parent = valueAt(run, pointer.slice(0, pointer.lastIndexOf('/')));
  if (pointer.endsWith('/tps')) return parent.phase === 'drain';
  return /^\/(latency|intervals)\//.test(pointer) && parent.count === 0;
}

/** @param {any} json @param {string} pointer @returns {any} */
function valueAt(json, pointer) {
  return pointer
    .split('/')
    .slice(1)
    .reduce((value, name) => value[name], json);
}

/** @param {number[]} values */
function sumOf(values) {
  return values.reduce((sum, value) => sum + value, 0);
}

/** @param {number} actual @param {number} expected @param {number} tolerance relative */
function assertNear(actual, expected, tolerance) {
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`);
}
