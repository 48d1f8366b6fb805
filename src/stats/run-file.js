import { EXIT, worstExit } from '../errors.js';
import { cutShort, gasRateNotHeld, rateNotHeld, shortWindow } from './growth.js';
import { addBlocks, noBlocks, statesGas } from './blocks.js';
import { STAGES } from './figures.js';
import { Distribution } from './histogram.js';
import { dueMs } from './observed.js';
import { groupJson, probesOf, stagesOf } from './stats.js';
import { counted, milliseconds } from '../text.js';
import { checkThresholds, thresholdExit } from './thresholds.js';
import { judge } from './verdict.js';

/**
 * The run file (evm-stress/run@1): a whole run as one JSON document, described by docs/run.schema.json.
 *
 * @import * as Contract from '../contracts/load.d.ts'
 * @import { GroupFigures, Stats } from '../contracts/load.d.ts'
 * @import { BlockTotals, Counts, Rates, RunFile, RunParts, Threshold } from '../contracts/run-file.d.ts'
 */

/**
 * What each figure means: part of the run file, and printed by --explain. Run files whose definitions differ cannot be
 * merged, so a text changes only when its figure does.
 */
const DEFINITIONS = Object.freeze({
  window:
    'The measured part of the run: from the first operation, or the end of --warmup, to the moment no new ones were started. Set-up, warm-up and drain are outside.',
  attempts: 'Operations started.',
  verified:
    'Operations whose transaction was included in a block and whose effect was read back as of that block and found right.',
  failed: 'Operations that ended with an error; each has a code.',
  timedOut: 'Operations that were not verified within --tx-timeout.',
  abandoned: 'Operations still open when the drain ended.',
  dropped:
    'Operations that were due by the schedule of --rate or --stages and not started, because no wallet was idle: they are never started later.',
  tps: 'Verified operations per second of the window. What one reading of the chain found is spread evenly over the time in which its blocks were made, so that the rate does not depend on where the ends of the window fall between two blocks. Operations that no block has, such as plain calls, count at their instant.',
  rates:
    'Per second of the window: asked (due by the schedule), attempted (started) and accepted by when that happened; verified, included and gas spread over the time of their blocks; and of open loops achieved: operations due inside the window that were verified, those that ended in the drain included.',
  latency:
    'From the moment an operation was due to the moment its effect was read back, on one monotonic clock. It covers operations due inside the window, those that ended in the drain included. Operations without a good answer in time (timed out, lost, abandoned, calls that timed out) are censored: they count with the time they were waited for, and a figure that they may make larger is printed with >=. Other failed ones do not count.',
  fromStart:
    'The same from the moment an operation was really begun: it leaves out how late the generator was, so it is no measure of what users wait for.',
  lag: 'From the moment an operation was due to the moment it was begun, or found to have no idle wallet and dropped.',
  stages: `Latency of verified operations in parts that add up to it: ${STAGES.map(({ label, definition }) => `${label} (${definition})`).join(', ')}.`,
  resubmissions:
    'Transactions that were sent again: the same bytes because no answer came or the node was busy (repeated), or because they were accepted and in no block, or in one that left the chain (rebroadcast; lost: those that the node did not know any more), or with a higher fee (replaced). One operation is one sample, however often it was sent.',
  reorgs:
    'Blocks that were read and then left the chain. A sample is never changed: operations that do not get into a block again are subtracted in the audit, as reorged out.',
  percentiles: 'From an HDR histogram with three significant digits; count, sum, minimum and maximum are exact.',
  skew: 'Time of day when a block was first read, less its timestamp, which has whole seconds. It is in no latency.',
  cpuUsPerVerified: 'CPU time of this process over the window, divided by the operations verified in the window.',
  verdict:
    'What limited the run: endpoint-down (no answer), funds (wallets without), port-bound (no local ports left), endpoint-limited (429, Retry-After), generator-bound (this process), rate-bound (less was asked for than can be done), node-bound (full blocks, a busy node, transactions or latency that pile up), concurrency-bound (all that the wallets could ask for was done); unknown where no explanation excludes the others.',
  audit:
    'Exact when for every wallet the effects of its operations (its counter, or its transactions that were not reverted) = start + verified + included late - reorged out, nonce = start + our included transactions, nothing is pending, and what else the workload has to compare agrees, all read at one block. Not exact when something is proven to disagree; incomplete when nothing is, but not everything could be checked.',
});

export const RUN_SCHEMA = 'evm-stress/run@1';

/** The endpoint, for readers: each embedded chain has another port, which is gone with the run. @param {Pick<RunFile, 'environment'>} run */
export function placeOf({ environment: { embeddedChain, endpoint } }) {
  return embeddedChain === true ? 'the embedded chain' : endpoint;
}

const NOT_JUDGED = 'no operation was due in the window';

export const STILL_RUNNING = 'the run was still running when this file was written';

/**
 * The run file of a run: while it goes on (`end` is running), when it is over, or if its set-up failed.
 * @param {RunParts} parts
 * @returns {RunFile}
 */
export function buildRunFile(parts) {
  const run = measuredRun(parts);
  // A verdict would cost time during the load.
  if (run.partial) return { ...run, thresholds: checkThresholds(parts.thresholds, run) };
  const verdict = judge(run);
  if (verdict === null) run.unmeasured['/verdict'] = NOT_JUDGED;
  const whole = { ...run, verdict, warnings: warningsOf({ ...run, verdict }) };
  const concluded = conclude(whole, parts.thresholds, parts.exitCodes);
  return parts.setUpFailure === undefined ? concluded : withoutLoad(concluded, parts.setUpFailure);
}

/**
 * The end of a run, or of several that were merged.
 * @param {RunFile} run
 * @param {readonly Threshold[]} thresholds
 * @param {readonly number[]} exitCodes
 * @returns {RunFile & {exitCode: number}}
 */
export function conclude(run, thresholds, exitCodes) {
  const results = checkThresholds(thresholds, run);
  const exitCode = worstExit([
    ...exitCodes,
    thresholdExit(results),
    run.audit?.result === 'not_exact' ? EXIT.notExact : EXIT.ok,
    run.counts.verified === 0 ? EXIT.nothingVerified : EXIT.ok,
  ]);
  return { ...run, exitCode, thresholds: results };
}

/** Thresholds that are not measured do not change its exit code. @param {RunFile} run @param {NonNullable<RunParts['setUpFailure']>} failure @returns {RunFile} */
function withoutLoad(run, { why, ...failure }) {
  const isNull = (/** @type {string} */ pointer) => pointer !== '/verdict' || failure.verdict === null;
  const pointers = Object.keys(run.unmeasured).filter(isNull);
  return { ...run, ...failure, unmeasured: Object.fromEntries(pointers.map((pointer) => [pointer, why])) };
}

/** @param {RunFile} run */
function warningsOf(run) {
  const { samplesDropped } = run.generator;
  const words = [rateNotHeld(run), gasRateNotHeld(run), shortWindow(run)?.words ?? null, cutShort(run)].filter(
    (word) => word !== null,
  );
  return [
    ...run.warnings,
    ...words,
    ...((samplesDropped ?? 0) === 0 ? [] : [`${counted(samplesDropped, 'sample')} dropped: the disk could not follow`]),
  ];
}

/**
 * All measurements, without verdict, warnings and exit code.
 * @param {RunParts} parts
 * @returns {RunFile}
 */
function measuredRun(parts) {
  const { stats, generator, durationUs } = parts;
  const seconds = durationUs / 1e6;
  const { latency, fromStart, timedOut, censored, fromStartCensored, lag } = stats.inside;
  const load = parts.intervals.filter(({ phase }) => phase === 'load');
  // While the run goes on, CPU time is known up to the last report.
  const verified =
    parts.end === 'running' ? load.reduce((sum, { counts }) => sum + counts.verified, 0) : stats.window.verified;
  const blocks = load.reduce((all, interval) => addBlocks(all, interval.blocks), noBlocks());
  return {
    schema: RUN_SCHEMA,
    id: parts.id,
    startedAt: new Date(parts.startedAtMs).toISOString(),
    endedAt: new Date(parts.endedAtMs).toISOString(),
    end: parts.end,
    partial: parts.end === 'running',
    exitCode: null,
    config: parts.config,
    instance: parts.instance,
    environment: parts.environment,
    definitions: DEFINITIONS,
    warnings: parts.warnings,
    window: {
      startedAt: new Date(parts.windowStartedAtMs).toISOString(),
      durationMs: durationUs / 1000,
      counts: stats.window,
    },
    counts: stats.counts,
    inFlight: inFlight(stats.counts),
    gas: stats.gas,
    failures: stats.failures,
    failureWords: parts.failureWords,
    reorgs: parts.reorgs,
    rates: ratesOf(parts, blocks),
    latency: {
      total: sum(latency, censored),
      fromStart: sum(fromStart, fromStartCensored),
      timedOut: timedOut.toJSON(),
      censored: censored.toJSON(),
      fromStartCensored: fromStartCensored.toJSON(),
      halves: stats.halves,
      stages: stagesOf((stage) => stats.inside[stage].toJSON()),
    },
    byName: groups(stats.byName),
    byEndpoint: groups(stats.byEndpoint),
    ...byStage(parts),
    lag: lag.toJSON(),
    intervals: parts.intervals,
    series: parts.series,
    blocks,
    probes: load.length === 0 ? null : probesOf(load),
    generator: {
      ...generator,
      cpuUsPerVerified: verified > 0 ? generator.cpuUs / verified : null,
    },
    audit: parts.audit,
    ...parts.observed,
    spending: parts.spending,
    verdict: null,
    thresholds: [],
    unmeasured: unmeasuredFigures(parts, { seconds, verified, blocks, isProbed: load.length > 0 }),
  };
}

/** @param {RunParts} parts @param {BlockTotals} blocks of the window @returns {Rates} */
function ratesOf(parts, blocks) {
  const { stats, durationUs, ratesUs, isOpenLoop, inWindow, observed } = parts;
  const { window, inside } = stats;
  const rate = (/** @type {number} */ count) => (durationUs > 0 ? (1e6 * count) / durationUs : null);
  const lengthMs = dueMs(durationUs / 1000, observed);
  const dueRate = (/** @type {number} */ count) => (isOpenLoop && lengthMs > 0 ? (1000 * count) / lengthMs : null);
  const spreadRate = (/** @type {number} */ amount) => (ratesUs > 0 ? (1e6 * amount) / ratesUs : null);
  return {
    askedPerSecond: dueRate(window.scheduled),
    achievedPerSecond: dueRate(inside.latency.count),
    attemptedPerSecond: rate(window.started),
    acceptedPerSecond: rate(window.accepted),
    includedPerSecond: spreadRate(inWindow.included),
    verifiedPerSecond: spreadRate(inWindow.verified),
    chainGasPerSecond: parts.environment.inclusion === null || !statesGas(blocks) ? null : spreadRate(inWindow.gas),
    spreadMs: ratesUs / 1000,
  };
}

/** By the law of conservation, which was checked against the live operations. @param {Counts} counts */
function inFlight({ started, verified, failed, timedOut, abandoned }) {
  return started - verified - failed - timedOut - abandoned;
}

/** @param {Contract.Distribution} a @param {Contract.Distribution} b */
function sum(a, b) {
  return new Distribution().add(a).add(b).toJSON();
}

/** Figures of the stages of --stages that had begun; empty without --stages. @param {RunParts} parts */
function byStage({ stats, schedule = null, durationUs, ratesUs }) {
  if (schedule?.firstStage === undefined) return {};
  const { stages, firstStage } = schedule;
  let endUs = 0;
  const rows = stages.slice(firstStage).flatMap(({ fromPerSecond, toPerSecond, durationUs: stageUs }, i) => {
    const startUs = endUs;
    endUs = Math.min(startUs + stageUs, durationUs);
    const group = stats.byStage[firstStage + i];
    if (group === undefined || endUs <= startUs) return [];
    const { counts, latency, censored } = group;
    // If the drain was cut short, rates are known up to the last block.
    const knownUs = Math.min(endUs, ratesUs) - startUs;
    const tps = knownUs > 0 ? (1e6 * group.windowVerified) / knownUs : null;
    const place = { stage: i + 1, startMs: startUs / 1000, endMs: endUs / 1000, fromPerSecond, toPerSecond };
    return [{ ...place, counts, tps, latency: sum(latency, censored), censored: censored.toJSON() }];
  });
  return { byStage: rows };
}

/** @param {Record<string, GroupFigures>} figures */
function groups(figures) {
  return Object.fromEntries(Object.entries(figures).map(([key, group]) => [key, groupJson(group)]));
}

/**
 * @param {RunParts} parts
 * @param {{seconds: number, verified: number, blocks: BlockTotals, isProbed: boolean}} known
 * @returns {Record<string, string>} reasons of null figures by JSON pointer
 */
function unmeasuredFigures(parts, { seconds, verified, blocks, isProbed }) {
  const { unmeasured, isOpenLoop, generator, environment, ratesUs, periodUs } = parts;
  const unknown = parts.end === 'running' ? ['/exitCode', '/audit', '/verdict', '/generator/samplesDropped'] : [];
  const reasons = { ...unmeasured, ...Object.fromEntries(unknown.map((pointer) => [pointer, STILL_RUNNING])) };
  for (const name of isOpenLoop ? [] : ['askedPerSecond', 'achievedPerSecond'])
    reasons[`/rates/${name}`] = 'no rate was asked for (--rate, --stages)';
  if (isOpenLoop && seconds > 0 && dueMs(1000 * seconds, parts.observed) <= 0)
    for (const name of ['askedPerSecond', 'achievedPerSecond'])
      reasons[`/rates/${name}`] = 'nothing was due: the load was held for the whole window (--max-base-fee)';
  if (environment.inclusion === null) reasons['/rates/chainGasPerSecond'] = 'plain calls are in no block';
  if (!statesGas(blocks)) reasons['/rates/chainGasPerSecond'] = 'eth_getBlockByNumber: gasUsed is not there';
  if (blocks.count > 0 && blocks.skewMaxMs === null)
    for (const name of ['skewMinMs', 'skewMaxMs'])
      reasons[`/blocks/${name}`] = 'eth_getBlockByNumber: timestamp is not there';
  if (seconds > 0 && ratesUs === 0)
    for (const name of ['includedPerSecond', 'verifiedPerSecond', 'chainGasPerSecond'])
      reasons[`/rates/${name}`] ??=
        `the window has no block${periodUs === null ? '' : `, and about ${milliseconds(periodUs)} pass between two`}`;
  if (generator.arrivalSeed === null) reasons['/generator/arrivalSeed'] = 'arrivals were not random';
  for (const name of /** @type {const} */ (['inclusionResolutionMs', 'headSource']))
    if (generator[name] === null) reasons[`/generator/${name}`] ??= 'no thread has reported';
  for (const [i, { tps }] of (byStage(parts).byStage ?? []).entries())
    if (tps === null) reasons[`/byStage/${i}/tps`] = 'the drain ended before a block of the stage was seen';
  if (seconds === 0) reasons['/rates'] = 'the window has no length';
  if (!isProbed) reasons['/probes'] = 'the window was over before its first report';
  if (verified === 0) reasons['/generator/cpuUsPerVerified'] = 'nothing was verified in the window';
  return reasons;
}
