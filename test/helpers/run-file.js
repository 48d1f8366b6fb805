/** What has to hold for every run file, whatever the run was like. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as hdr from 'hdr-histogram-js';
import { equalBy } from './equal-by.js';

/**
 * @import { DistributionJson, Phase, Rates, RunFile as ReadRunFile, Series, WindowCounts } from '../../src/contracts/run-file.d.ts'
 * @import { ValidateFunction } from 'ajv'
 */

/**
 * As this version writes it: older files lack some members, and merged ones do not know some counts.
 *
 * @typedef {ReadRunFile & {series: Series, rates: Required<Rates>, latency: Record<'censored' | 'fromStartCensored', DistributionJson>, window: {counts: Record<keyof WindowCounts, number>}, generator: {rpcCalls: Record<'load', number>}}} RunFile
 */

const SCHEMA = JSON.parse(readFileSync(new URL('../../docs/run.schema.json', import.meta.url), 'utf8'));

const FORMATS = Object.freeze({
  'date-time': (/** @type {string} */ text) => new Date(text).toISOString() === text,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
});

/** Compiling takes longer than most checks. @type {ValidateFunction | undefined} */
let validator;

/** @returns {ValidateFunction} */
export function runFileValidator() {
  return (validator ??= validatorOf(SCHEMA));
}

/** @param {object} schema @returns {ValidateFunction} */
function validatorOf(schema) {
  return new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true, formats: FORMATS }).compile(schema);
}

/**
 * @param {unknown} json a run file
 * @param {object} [schema] default: docs/run.schema.json
 * @returns {string[]} what the schema says against it
 */
export function schemaErrors(json, schema) {
  const validate = schema === undefined ? runFileValidator() : validatorOf(schema);
  validate(json);
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath} ${message} ${JSON.stringify(params)}`;
  });
}

/**
 * The schema and all identities.
 * @param {ReadRunFile} given
 */
export function assertRunFile(given) {
  assert.deepEqual(schemaErrors(given), []);
  const run = /** @type {RunFile} */ (given);
  assert.deepEqual([run.partial, run.inFlight], [false, 0], 'it is over, and nothing is in flight any more');
  assertCounts(run);
  assertLatency(run);
  assertWindow(run);
  assertRates(run);
  assertIntervals(run);
  assertPhases(run);
  assertBlocks(run);
  assertProbes(run);
  assertAudit(run);
  assertSpending(run);
  assertNullsExplained(run);
}

/**
 * What has to hold already while a run goes on: its intervals end before its counts do.
 * @param {ReadRunFile} given
 */
export function assertPartialRunFile(given) {
  assert.deepEqual(schemaErrors(given), []);
  const run = /** @type {RunFile} */ (given);
  assert.deepEqual([run.partial, run.end, run.exitCode, run.audit, run.verdict], [true, 'running', null, null, null]);
  assertCounts(run);
  assertLatency(run);
  assertRates(run);
  assertRowsSoFar(run);
  assertNullsExplained(run);
  assertRatesOfRowsSoFar(run);
  const { startedAt, window, endedAt } = run;
  assert.ok(
    startedAt <= window.startedAt && window.startedAt <= endedAt,
    [startedAt, window.startedAt, endedAt].join(),
  );
  const windowEndMs = Date.parse(window.startedAt) + window.durationMs;
  const endMs = Math.max(Date.parse(endedAt), Date.parse(window.startedAt));
  // A drain begins where the window ends.
  if (window.durationMs === run.config.durationMs) assert.ok(windowEndMs <= endMs + 1, `${windowEndMs} ${endMs}`);
  else assertNear(windowEndMs, endMs, 1e-9);
}

/** What the next block has is not known. @param {RunFile} run */
function assertRatesOfRowsSoFar(run) {
  const load = rowsOf(run, 'load');
  const knownMs = (load[0]?.startMs ?? 0) + (run.rates.spreadMs ?? Infinity);
  for (const { endMs, tps, perSecond } of load)
    assert.equal(tps === null && perSecond === undefined, endMs > knownMs + 0.001, `${endMs} ${knownMs} ${tps}`);
}

/** @param {RunFile} run */
function assertRowsSoFar(run) {
  const { intervals, counts, generator } = run;
  for (const name of /** @type {Array<keyof typeof counts>} */ (Object.keys(counts)))
    assert.ok(sumOf(intervals.map((row) => row.counts[name])) <= counts[name], `${name} of the intervals so far`);
  const verified = sumOf(rowsOf(run, 'load').map((row) => row.counts.verified));
  if (verified > 0) assertNear(generator.cpuUsPerVerified ?? NaN, generator.cpuUs / verified, 1e-9);
  let endMs = 0;
  for (const row of intervals) {
    assert.equal(row.startMs, endMs, 'each begins where the one before it ended');
    endMs = row.endMs;
  }
}

/** Plain calls send no transactions: nothing is included, and nothing is on the chain. @param {RunFile} run */
function isOfCalls({ config }) {
  return config.workload === 'rpc';
}

/** @param {RunFile} run @param {Phase} phase */
function rowsOf({ intervals }, phase) {
  return intervals.filter((row) => row.phase === phase);
}

/** @param {RunFile} run */
function assertCounts(run) {
  const { counts, failures, generator, config, byName } = run;
  assert.equal(counts.scheduled, counts.dropped + counts.started);
  // When a run is over, nothing is in flight: what the drain did not see to its end was abandoned.
  const ended = counts.verified + counts.failed + counts.timedOut + counts.abandoned;
  assert.equal(counts.started, ended + run.inFlight);
  assert.equal(counts.failed, sumOf(Object.values(failures)));
  const sent = (generator.rpcCalls.load ?? 0) + (generator.rpcCalls.submit ?? 0);
  // What next() of a workload refuses is not sent.
  if (run.partial || failures.workload_error > 0) assert.ok(sent <= counts.started, 'sent once, or will be');
  else if (Number(config.batch ?? 1) > 1 || config.inclusion === 'sync' || byName.batch !== undefined)
    assert.ok(
      sent >= counts.started,
      'again where the node refused a batch, or to wait for the block, or many at once',
    );
  else assert.equal(sent, counts.started, 'an operation is sent once');
  const calls = sumOf(Object.values(generator.rpcCalls));
  assert.ok(generator.transport.requests <= calls, `${generator.transport.requests} requests for ${calls} calls`);
}

/** Operations for which time ran out. @param {RunFile} run */
function censoredIn({ counts, failures }) {
  return counts.timedOut + counts.abandoned + (failures.transport_timeout ?? 0) + (failures.lost ?? 0);
}

/** @param {RunFile} run */
function assertLatency(run) {
  const { counts, latency, lag, window } = run;
  const { total, fromStart, timedOut, censored, fromStartCensored } = latency;
  const stages = Object.values(latency.stages);
  for (const distribution of [total, fromStart, timedOut, censored, fromStartCensored, lag, ...stages])
    assertDistribution(distribution);
  // Of operations that were due in the window; of the others only those count that time ran out for.
  const warmup = counts.started - window.counts.started;
  const ended = counts.verified + censoredIn(run);
  assert.ok(total.count <= ended && total.count >= ended - warmup, `${total.count} latencies of ${ended} operations`);
  const lost = window.counts.started - total.count;
  assert.ok(lost >= 0 && lost <= counts.failed + run.inFlight, `${lost} operations of the window have no latency`);
  if (warmup === 0) assert.deepEqual([timedOut.count, censored.count], [counts.timedOut, censoredIn(run)]);
  for (const { count } of Object.values(latency.stages)) assert.equal(count, total.count - censored.count);
  assert.equal(sumOf(stages.map(({ sumUs }) => sumUs)), total.sumUs - censored.sumUs, 'the stages add up to the total');
  assert.deepEqual([fromStart.count, fromStartCensored.count], [total.count, censored.count]);
  assert.equal(lag.count, window.counts.scheduled);
  const lateUs = total.sumUs - fromStart.sumUs;
  assert.ok(lateUs >= 0 && lateUs <= lag.sumUs, `${lateUs} us late, of ${lag.sumUs}`);
  if (lost === 0 && window.counts.dropped === 0)
    assert.equal(lateUs, lag.sumUs, 'from the start and lag add up to the total');
}

/** @param {DistributionJson} d */
function assertDistribution(d) {
  const histogram = hdr.decodeFromCompressedBase64(d.hdr, 32, false);
  assert.equal(histogram.totalCount, d.count, 'the histogram has as many values as were counted');
  if (d.count === 0) return;
  const { minUs, maxUs, meanUs, stddevUs } = /** @type {Record<string, number>} */ (/** @type {unknown} */ (d));
  assertNear(meanUs, d.sumUs / d.count, 1e-9);
  assert.ok(stddevUs >= 0 && stddevUs <= maxUs - minUs, `${stddevUs} of ${minUs} to ${maxUs}`);
  assertNear(histogram.mean, meanUs, 1e-3);
  assertNear(histogram.maxValue, maxUs, 1e-3);
  const ascending = [minUs, d.p50Us, d.p75Us, d.p90Us, d.p95Us, d.p99Us, d.p999Us, maxUs].map(Number);
  const isAscending = ascending.every((us, i) => i === 0 || us >= ascending[i - 1]);
  assert.ok(isAscending, String(ascending));
}

/** @param {RunFile} run */
function assertWindow(run) {
  const { window, counts, latency, startedAt, endedAt, generator } = run;
  const { scheduled, dropped, started, accepted, included, verified } = window.counts;
  assert.equal(scheduled, dropped + started);
  // What a warm-up has left in flight is accepted, included and verified in the window, too.
  const before = rowsOf(run, 'warmup').at(-1)?.inFlight ?? 0;
  // Calls, of which a mix may have some, are verified without a block.
  const beforeVerified = generator.rpcCalls.load > 0 ? accepted : included;
  if (isOfCalls(run)) assert.equal(included, 0);
  const isChain = started + before >= accepted && accepted + before >= included && beforeVerified + before >= verified;
  assert.ok(isChain, `${JSON.stringify(window.counts)}, ${before} in flight before`);
  for (const name of /** @type {const} */ (['scheduled', 'dropped', 'started'])) {
    const warmup = sumOf(rowsOf(run, 'warmup').map((row) => row.counts[name]));
    assert.equal(window.counts[name] + warmup, counts[name], `${name}: in the window, or in the warm-up`);
  }
  for (const name of /** @type {const} */ (['verified', 'failed', 'timedOut'])) {
    assert.ok(window.counts[name] <= counts[name], name);
  }
  assert.ok(startedAt <= window.startedAt);
  if (window.durationMs > 0) {
    assert.ok(window.startedAt <= endedAt);
    assert.ok((latency.total.maxUs ?? 0) / 1000 <= Date.parse(endedAt) - Date.parse(window.startedAt) + 50);
  }
  if (verified > 0) assertNear(generator.cpuUsPerVerified ?? NaN, generator.cpuUs / verified, 1e-9);
}

/** @param {RunFile} run */
function assertRates({ window, rates, latency, config, counts, series, pace }) {
  const seconds = window.durationMs / 1000;
  const isOpen = (config.ratePerSecond ?? config.gasPerSecond ?? config.stages ?? null) !== null;
  const { scheduled, started, accepted } = window.counts;
  const dueS = seconds - (pace?.pausedMs ?? 0) / 1000;
  const byRate = /** @type {Array<[number, number | null, number]>} */ ([
    ...(isOpen ? [[scheduled, rates.askedPerSecond, dueS]] : []),
    ...(isOpen ? [[latency.total.count - latency.censored.count, rates.achievedPerSecond, dueS]] : []),
    [started, rates.attemptedPerSecond, seconds],
    [accepted, rates.acceptedPerSecond, seconds],
  ]);
  for (const [count, rate, lengthS] of byRate) {
    if (lengthS === 0) assert.equal(rate, null);
    else assertNear((rate ?? NaN) * lengthS, count, 1e-9);
  }
  if (!isOpen) assert.equal(rates.askedPerSecond, null, 'a closed loop asks for no rate');
  assert.ok(rates.spreadMs <= window.durationMs);
  // Points are rounded to a millionth.
  assertNear(sumOf(series.verified), counts.verified, 1e-5);
}

/** @param {RunFile} run */
function assertIntervals(run) {
  const { intervals, counts, failures, window, generator, lag } = run;
  for (const name of /** @type {Array<keyof typeof counts>} */ (Object.keys(counts))) {
    assert.equal(sumOf(intervals.map((row) => row.counts[name])), counts[name], `${name} of all intervals`);
  }
  /** @type {Record<string, number>} */
  const byCode = {};
  for (const row of intervals) {
    for (const [code, times] of Object.entries(row.failures)) byCode[code] = (byCode[code] ?? 0) + times;
  }
  assert.deepEqual(byCode, failures);

  for (const row of intervals) {
    assert.equal(row.latency.count, row.counts.verified);
    assertDistribution(row.latency);
    assert.equal(row.counts.scheduled, row.counts.dropped + row.counts.started);
    assert.equal(row.lag.count, row.counts.scheduled, 'each operation that was due was so late, or not at all');
    assertDistribution(row.lag);
  }
  const load = rowsOf(run, 'load');
  for (const name of /** @type {const} */ (['scheduled', 'dropped', 'started', 'verified', 'failed', 'timedOut'])) {
    assert.equal(sumOf(load.map((row) => row.counts[name])), window.counts[name], `${name} of the window`);
  }
  assert.equal(sumOf(load.map((row) => row.lag.sumUs)), lag.sumUs, 'lag of the window');
  assert.equal(sumOf(load.map(({ probes }) => probes.self.cpuUs)), generator.cpuUs);

  let flying = 0;
  for (const { counts: c, inFlight } of intervals) {
    flying += c.started - c.verified - c.failed - c.timedOut - c.abandoned;
    assert.equal(inFlight, flying, 'in flight, counted and computed');
  }
  assert.equal(flying, 0);
}

/** Warm-up, load, drain, one behind the other. @param {RunFile} run */
function assertPhases(run) {
  const { intervals, window, config } = run;
  const load = rowsOf(run, 'load');
  const warmup = rowsOf(run, 'warmup');
  if (run.end === 'set_up_failed') return assert.deepEqual(intervals, [], 'there was no load');
  const phases = [...warmup.map(() => 'warmup'), ...load.map(() => 'load'), 'drain'];
  equalBy(intervals, ({ phase }) => phase, phases);
  let endMs = 0;
  for (const row of intervals) {
    assert.equal(row.startMs, endMs, 'each begins where the one before it ended');
    endMs = row.endMs;
    if (row.phase === 'drain') assert.equal(row.counts.scheduled, 0, 'nothing is due any more');
    else if (row.endMs > row.startMs)
      assert.ok(row.tps !== null || run.rates.spreadMs < window.durationMs, 'a rate in each row');
  }
  const ofRows = sumOf(load.map(({ tps, startMs, endMs: toMs }) => ((tps ?? 0) * (toMs - startMs)) / 1000));
  if (run.rates.verifiedPerSecond !== null && run.rates.spreadMs === window.durationMs)
    assertNear(ofRows, (run.rates.verifiedPerSecond * run.rates.spreadMs) / 1000, 1e-6);
  const warmupMs = config.warmupMs === 'auto' ? (warmup.at(-1)?.endMs ?? 0) : Number(config.warmupMs ?? 0);
  assert.equal(warmup.length > 0, warmupMs > 0, 'a warm-up where one was asked for');
  if (load.length === 0) {
    assert.ok(warmup.length > 0 && (warmup.at(-1)?.endMs ?? NaN) <= warmupMs, 'it ended in the warm-up');
    assert.equal(window.durationMs, 0);
    return;
  }
  assert.equal(load[0].startMs, warmupMs, 'the window begins when the warm-up is over, to the microsecond');
  assertNear((load.at(-1)?.endMs ?? NaN) - warmupMs, window.durationMs, 1e-9);
}

/** @param {RunFile} run */
function assertBlocks(run) {
  const { intervals, counts, reorgs, generator, warnings } = run;
  // Blocks that replace others are read as well, and have their numbers again.
  if (reorgs.count > 0) return;
  const blocks = intervals.map((row) => row.blocks).filter(({ count }) => count > 0);
  const hasHoles = warnings.some((words) => words.includes('heights without a block'));
  for (const [i, { count, firstNumber, lastNumber, transactions, ours, ...skew }] of blocks.entries()) {
    const missing = [Number(lastNumber) - Number(firstNumber) + 1 - count];
    if (i > 0) missing.push(Number(firstNumber) - Number(blocks[i - 1].lastNumber) - 1);
    for (const heights of missing)
      assert.ok(heights === 0 || (hasHoles && heights > 0), 'no block is missing, none there twice');
    assert.ok(ours <= transactions);
    const mean = skew.skewSumMs / count;
    const { skewMinMs, skewMaxMs } = skew;
    assert.ok(Number(skewMinMs) <= mean && mean <= Number(skewMaxMs), `skew ${JSON.stringify(skew)}`);
  }
  const ours = sumOf(blocks.map((totals) => totals.ours));
  if (isOfCalls(run)) assert.equal(blocks.length, 0);
  // Calls beside transactions are in no block.
  const calls = generator.rpcCalls.load ?? 0;
  const isPlausible = counts.verified - calls <= ours && ours <= counts.started - calls;
  if (!isOfCalls(run)) assert.ok(isPlausible, `${ours} of our transactions seen in blocks`);
  assertBlocksOfWindow(run);
}

/** @param {RunFile} run */
function assertBlocksOfWindow(run) {
  const seen = rowsOf(run, 'load').flatMap(({ blocks }) => (blocks.count > 0 ? blocks : []));
  const { blocks } = run;
  for (const name of /** @type {const} */ (['count', 'transactions', 'ours', 'gasUsed', 'skewSumMs'])) {
    assert.equal(blocks[name], sumOf(seen.map((row) => row[name])), `${name} of the blocks of the window`);
  }
  const [first, last] = [seen.at(0), seen.at(-1)];
  const skews = seen.length === 0 ? null : seen.flatMap((row) => [row.skewMinMs ?? NaN, row.skewMaxMs ?? NaN]);
  assert.deepEqual(
    [blocks.firstNumber, blocks.lastNumber, blocks.gasLimit, blocks.skewMinMs, blocks.skewMaxMs],
    [
      ...[first?.firstNumber ?? null, last?.lastNumber ?? null, last?.gasLimit ?? null],
      ...[skews && Math.min(...skews), skews && Math.max(...skews)],
    ],
  );
}

/** What happened adds up, of what was seen the worst stays, means are weighted by time. @param {RunFile} run */
function assertProbes(run) {
  const { probes } = run;
  const load = rowsOf(run, 'load');
  for (const { why, ...readings } of [...run.intervals.map((row) => row.probes), ...(probes === null ? [] : [probes])])
    assert.deepEqual(Object.keys(why).sort(), namesOfNulls(readings).sort(), 'each reading, or why there is none');
  if (probes === null) return assert.equal(load.length, 0, 'a window that was reported has readings');
  const all = load.map((row) => row.probes);
  /** @param {(reading: typeof all[number]) => number | null | undefined} read */
  const values = (read) => all.flatMap((reading) => read(reading) ?? []);
  assert.equal(probes.self.cpuUs, sumOf(values(({ self }) => self.cpuUs)));
  assert.equal(probes.self.rssBytes, Math.max(...values(({ self }) => self.rssBytes)));
  assert.equal(probes.connections.opened, sumOf(values(({ connections }) => connections.opened)));
  assert.equal(probes.connections.reused, sumOf(values(({ connections }) => connections.reused)));
  for (const read of /** @type {Array<(reading: NonNullable<typeof probes>) => number | undefined>} */ ([
    ({ sockets }) => sockets?.timeWait,
    ({ pool }) => pool?.pending,
    ({ pool }) => pool?.queued,
    ({ node }) => node?.rssBytes,
  ]))
    assertWorst(read(probes), values(read), Math.max);
  for (const { endpoint, portsLeft } of probes.sockets?.endpoints ?? []) {
    const left = values(({ sockets }) => sockets?.endpoints.find((one) => one.endpoint === endpoint)?.portsLeft);
    assertWorst(portsLeft, left, Math.min);
  }
  if (probes.node !== null) assert.equal(probes.node.cpuUs, sumOf(values(({ node }) => node?.cpuUs)));
  assert.deepEqual(probes.metrics, all.findLast(({ metrics }) => metrics !== null)?.metrics ?? null);
  assertLoop(run);
}

/** @param {RunFile} run */
function assertLoop(run) {
  const rows = rowsOf(run, 'load').flatMap(({ probes: { loop }, startMs, endMs }) =>
    loop === null ? [] : { loop, ms: endMs - startMs },
  );
  const loop = run.probes?.loop ?? null;
  if (loop === null) return assert.equal(rows.length, 0);
  for (const { utilization } of [loop, ...rows.map((row) => row.loop)])
    assert.ok(utilization >= 0 && utilization <= 1, `utilization ${utilization}`);
  for (const name of /** @type {const} */ (['delayP99Us', 'delayMaxUs']))
    assert.equal(loop[name], Math.max(...rows.map((row) => row.loop[name])));
  assert.equal(loop.gcUs, sumOf(rows.map((row) => row.loop.gcUs)));
  // Where an interval has no reading, those beside it stand for it.
  if (rows.length !== rowsOf(run, 'load').length) return;
  const ms = sumOf(rows.map((row) => row.ms));
  if (ms === 0) return;
  for (const name of /** @type {const} */ (['utilization', 'delayMeanUs']))
    assertNear(loop[name], sumOf(rows.map((row) => row.loop[name] * row.ms)) / ms, 1e-6);
}

/** @param {number | undefined} said undefined where there is no reading @param {number[]} values @param {(...values: number[]) => number} worst */
function assertWorst(said, values, worst) {
  assert.equal(said, values.length === 0 ? undefined : worst(...values));
}

/** @param {Record<string, unknown>} object */
function namesOfNulls(object) {
  return Object.keys(object).filter((name) => object[name] === null);
}

/** @param {RunFile} run */
function assertAudit({ audit, counts, config, exitCode }) {
  if (audit === null) return;
  const holds = (audit.checks ?? []).every((check) => check.holds !== false);
  const isProven = audit.mismatchCount > 0 || audit.foreign.length > 0 || !holds;
  const isWhole = audit.incomplete?.length === 0;
  assert.equal(audit.result, isProven ? 'not_exact' : isWhole ? 'exact' : 'incomplete');
  assert.equal(audit.exact, audit.result === 'exact');
  for (const { words, why } of (audit.checks ?? []).filter((check) => check.holds === null))
    assert.ok(audit.incomplete?.includes(`${words}: ${why}`), words);
  // Calls beside transactions have no wallets and are not audited.
  if (config.mix?.some((member) => member.startsWith('calls:')))
    return assert.ok(audit.wallets <= Number(config.threads) && audit.verified <= counts.verified);
  assert.equal(audit.wallets, config.threads);
  assert.equal(audit.verified, counts.verified);
  assert.equal(audit.mismatches.length, Math.min(audit.mismatchCount, 100));
  const { atLeast, atMost } = audit.bounds;
  assert.ok(BigInt(atLeast) <= BigInt(atMost));
  if (audit.exact) {
    assert.equal(audit.effectsOnChain, String(counts.verified + audit.includedLate - audit.reorgedOut));
    assert.deepEqual([atLeast, atMost], [audit.effectsOnChain, audit.effectsOnChain]);
    assert.equal(audit.pending, 0);
  }
  if (isProven) assert.ok(exitCode === 76 || exitCode === 70, `exit ${exitCode}`);
  else assert.notEqual(exitCode, 76, 'nothing is proven');
}

/** @param {RunFile} run */
function assertSpending({ spending, config, end, refills }) {
  const { capWei, setUpWei, leftWei = null, spentWei } = spending;
  assert.equal(capWei, config.maxSpendWei ?? null);
  if (end === 'max_spend') assert.ok(capWei !== null && spentWei !== null);
  if (spentWei === null) return;
  const besideWei = BigInt(setUpWei ?? 0) + BigInt(refills?.gasWei ?? 0);
  assert.ok(besideWei <= BigInt(spentWei));
  if (leftWei !== null) assert.ok(BigInt(spentWei) - besideWei <= BigInt(leftWei));
  if (capWei !== null) assert.ok(BigInt(spentWei) <= BigInt(capWei), `${spentWei} of ${capWei} wei`);
}

/**
 * Every null has its reason in `unmeasured`, at its own pointer or at one above it, and every reason has a null; but
 * for those that say it themselves: options not given, what an instance was not told, figures of an empty distribution
 * or of no blocks, the rate of the drain, the code of what did not fail, and what has a `why` beside it.
 * @param {RunFile} run
 */
function assertNullsExplained(run) {
  const nulls = [...nullsIn(run, '')].filter((pointer) => !explainsItself(run, pointer));
  const reasons = Object.keys(run.unmeasured);
  /** @param {string} pointer @param {string} reason */
  const covers = (pointer, reason) => pointer === reason || pointer.startsWith(`${reason}/`);
  const unexplained = nulls.filter((pointer) => !reasons.some((reason) => covers(pointer, reason)));
  assert.deepEqual(unexplained, [], 'null without a reason');
  const idle = reasons.filter((reason) => !nulls.some((pointer) => covers(pointer, reason)));
  assert.deepEqual(idle, [], 'a reason for what is not null');
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
  if (/^\/config\/[^/]+$/.test(pointer) || pointer === '/spending/capWei') return true;
  // Facts of a workload's own, such as a calls file without a data set.
  if (pointer.startsWith('/environment/workload/')) return true;
  if (/^\/instance(\/\w+|\/start\/\w+)?$/.test(pointer)) return true;
  if (/^\/audit\/resolutions\/\d+\/(code|hash)$/.test(pointer)) return true;
  const cut = pointer.lastIndexOf('/');
  const parent = valueAt(run, pointer.slice(0, cut));
  if (/^\/intervals\/\d+\/tps$/.test(pointer))
    return (
      parent.phase !== 'warmup' &&
      (parent.phase === 'drain' || parent.startMs === parent.endMs || run.rates.spreadMs < run.window.durationMs)
    );
  if (/^(\/intervals\/\d+)?\/probes\/[^/]+$/.test(pointer)) return isText(parent.why?.[pointer.slice(cut + 1)]);
  if (/^\/audit\/checks\/\d+\/why$/.test(pointer)) return parent.holds !== null;
  if (/^\/audit\/checks\/\d+\/(expected|found|holds)$/.test(pointer)) return isText(parent.why);
  // No upper bound: censored operations may take any time.
  if (/^\/thresholds\/\d+\/atMost$/.test(pointer)) return parent.censored > 0;
  if (/^\/thresholds\/\d+\/value$/.test(pointer)) return isText(parent.why) && parent.passed === false;
  return /^\/(latency|lag|ladder|intervals|blocks|byName|byEndpoint|byStage)(\/|$)/.test(pointer) && parent.count === 0;
}

/** @param {unknown} value */
function isText(value) {
  return typeof value === 'string' && value.length > 0;
}

/** @param {any} json @param {string} pointer @returns {any} */
function valueAt(json, pointer) {
  const names = pointer.split('/').slice(1);
  return names.reduce((value, name) => value[name], json);
}

/** @param {Iterable<number>} values */
export const sumOf = (values) => [...values].reduce((sum, value) => sum + value, 0);

/** @param {number} actual @param {number} expected @param {number} tolerance relative */
function assertNear(actual, expected, tolerance) {
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)), `${actual} is not ${expected}`);
}
