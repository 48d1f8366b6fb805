import { EXIT, worstExit } from '../errors.js';
import { cutShort, gasRateNotHeld, rateNotHeld, shortWindow } from './growth.js';
import { addBlocks, noBlocks } from './blocks.js';
import { STAGES, shownFigure, statesGas } from './figures.js';
import { Distribution } from './histogram.js';
import { dueMs } from './observed.js';
import { groupJson, probesOf, stagesOf } from './stats.js';
import { count as whole, counted, milliseconds, partOf } from '../text.js';
import { checkThresholds, thresholdExit } from './thresholds.js';
import { asMembers, orUnknown, ratio, unknown } from './unknown.js';
import { judge } from './verdict.js';

/**
 * The run file (evm-stress/run@1): a whole run as one JSON document, described by docs/run.schema.json.
 *
 * @import * as Contract from '../contracts/load.d.ts'
 * @import { GroupFigures, Schedule, Snapshot } from '../contracts/load.d.ts'
 * @import { BlockTotals, Counts, EngineStats, GeneratorFacts, IntervalRow, Rates, RunFile, Threshold, Verdict, WithUnknown } from '../contracts/run-file.d.ts'
 */

/**
 * One run, as far as its file needs it: those phases of it (src/core/run.js) that are over, and what is known at this moment.
 *
 * @typedef {object} Run
 * @property {string} id
 * @property {{outputs: {redacted: Record<string, unknown>}, study: {thresholds: readonly Threshold[]}}} config
 * @property {{stop: {exitCodes: readonly number[]}}} context
 * @property {string[]} warnings
 * @property {RunFile['environment']} environment
 * @property {{schedule: Schedule | null}} [plan] schedule: null: closed loop
 * @property {LoadFigures} loaded
 * @property {{members: Partial<RunFile>}} [observed] what the observers add
 * @property {{report: RunFile['audit']}} [audited]
 * @property {{end: RunFile['end'], failure?: Failure}} [ended] absent while the run goes on
 * @property {number} startedAtMs
 * @property {number} endedAtMs
 * @property {number} untilUs
 * @property {RunFile['instance']} instance
 * @property {Omit<GeneratorFacts, 'cpuUsPerVerified'>} generator
 * @property {RunFile['spending']} spending
 * @property {Record<string, string>} unmeasured why members are null, by JSON pointer
 *
 * @typedef {{verdict: Verdict | null, exitCode: number, why: string}} Failure the load never began; why: of every figure that is
 *   null
 *
 * @typedef {object} LoadFigures the figures of the load so far
 * @property {Contract.Stats} stats
 * @property {{startUs: number, endUs: number}} window
 * @property {Throughput} throughput
 * @property {EngineStats['failureWords']} failureWords
 * @property {EngineStats['reorgs']} reorgs
 * @property {Omit<EngineStats, 'failureWords' | 'reorgs'>} engineStats
 * @property {Snapshot['traffic']} traffic of the threads
 * @property {number} untilUs
 * @property {IntervalRow[]} intervals
 * @property {Pick<GeneratorFacts, 'cpuUs' | 'peakRssBytes' | 'stops'>} generator
 * @property {number} loadStartUs
 * @property {number} windowStartedAtMs
 *
 * @typedef {object} Throughput
 * @property {RunFile['series']} series
 * @property {{verified: number, included: number, gas: number}} inWindow
 * @property {number} endUs up to which rates are known
 * @property {number | null} periodUs between two sightings; null: not known
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
    'Transactions that were sent again: the same bytes because no answer came or after a refusal (repeated; refused: those after a refusal), or because they were accepted and in no block, or in one that left the chain (rebroadcast; lost: those that the node did not know any more), or with a higher fee (replaced). One operation is one sample, however often it was sent.',
  reorgs:
    'Blocks that were read and then left the chain. A sample is never changed: operations that do not get into a block again are subtracted in the audit, as reorged out.',
  percentiles: 'From an HDR histogram with three significant digits; count, sum, minimum and maximum are exact.',
  skew: 'Time of day when a block was first read, less its timestamp, which has whole seconds. It is in no latency.',
  cpuUsPerVerified: 'CPU time of this process over the window, divided by the operations verified in the window.',
  verdict:
    'What limited the run: stopped (stress itself), endpoint-down (no answer), funds (wallets without), port-bound (no local ports left), endpoint-limited (429, Retry-After), refused (by the node), reverted, fee-limit (--max-fee), no-blocks, lost (by the node), left-out (of blocks), generator-bound (this process), rate-bound (less was asked for than can be done), node-bound (full blocks, a busy node, transactions or latency that pile up), concurrency-bound (all that the wallets could ask for was done); unknown where no explanation excludes the others.',
  audit:
    'Exact when for every wallet the effects of its operations (its counter, or its transactions that were not reverted) = start + verified + included late - reorged out, nonce = start + our included transactions, nothing is pending, and what else the workload has to compare agrees, all read at one block. Not exact when something is proven to disagree; incomplete when nothing is, but not everything could be checked.',
});

export const RUN_SCHEMA = 'evm-stress/run@1';

/** The endpoint, for readers: each embedded chain has another port, which is gone with the run. @param {Pick<RunFile, 'environment'>} run */
export function placeOf({ environment: { embeddedChain, endpoint } }) {
  return embeddedChain === true ? 'the embedded chain' : endpoint;
}

/** As --out writes it. @param {RunFile} run */
export function runFileText(run) {
  return `${JSON.stringify(run, null, 2)}\n`;
}

const NOT_JUDGED = 'no operation was due in the window';

export const STILL_RUNNING = 'the run was still running when this file was written';

/**
 * The run file of a run: while it goes on (`end` is running), when it is over, or if its set-up failed.
 * @param {Run} run
 * @returns {RunFile}
 */
export function buildRunFile(run) {
  const { thresholds } = run.config.study;
  const file = measuredFile(run);
  // A verdict would cost time during the load.
  if (run.ended === undefined) return { ...file, thresholds: checkThresholds(thresholds, file) };
  const verdict = judge(file);
  if (verdict === null) file.unmeasured['/verdict'] = NOT_JUDGED;
  const whole = { ...file, verdict, warnings: warningsOf({ ...file, verdict }) };
  const concluded = conclude(whole, thresholds, run.context.stop.exitCodes);
  const { failure } = run.ended;
  return failure === undefined ? concluded : withoutLoad(concluded, failure);
}

/**
 * The end of the file of a run, or of a merged one.
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

/** Thresholds that are not measured do not change its exit code. @param {RunFile} run @param {Failure} failure @returns {RunFile} */
function withoutLoad(run, { why, ...failure }) {
  const isNull = (/** @type {string} */ pointer) => pointer !== '/verdict' || failure.verdict === null;
  const pointers = Object.keys(run.unmeasured).filter(isNull);
  return { ...run, ...failure, unmeasured: Object.fromEntries(pointers.map((pointer) => [pointer, why])) };
}

/** @param {RunFile} run */
function warningsOf(run) {
  const { samplesDropped } = run.generator;
  const words = [
    rateNotHeld(run),
    gasRateNotHeld(run, shownFigure('gas', run)),
    ...stormNotDone(run),
    shortWindow(run)?.words ?? null,
    cutShort(run),
  ].filter((word) => word !== null);
  return [
    ...run.warnings,
    ...words,
    ...((samplesDropped ?? 0) === 0 ? [] : [`${counted(samplesDropped, 'sample')} dropped: the disk could not follow`]),
  ];
}

/** Share of what was asked for below which a warning is given. */
const DONE = 0.95;

/** What --nonce-order, --duplicate-share and --replace-share asked for and was not done. @param {RunFile} run @returns {string[]} warnings */
function stormNotDone({ generator: { storm }, config: { nonceOrder } }) {
  // Older files tell only what was sent.
  if (storm?.inOrder === undefined) return [];
  const { outOfOrder = 0, duplicatesUnanswered = 0, replacementsUnanswered = 0 } = storm;
  const { replacementsTooDear: limited = 0, replacementsTooLate: late = 0 } = storm;
  const duplicates = storm.duplicates + storm.duplicatesRefused;
  const replacements = storm.replacements + storm.replacementsRefused + limited + late;
  const reasons = [
    limited > 0 && `the fee of ${whole(limited)} could not be raised within --max-fee and --max-spend`,
    late > 0 && `${whole(late)} were in a block, or had ended, before`,
    replacementsUnanswered > 0 && `${whole(replacementsUnanswered)} had no answer`,
  ];
  const replaced = replacements - limited - late - replacementsUnanswered;
  const inAll = storm.inOrder + outOfOrder;
  return [
    ...(duplicatesUnanswered > (1 - DONE) * duplicates
      ? [
          `--duplicate-share: ${partOf(duplicatesUnanswered, duplicates, 'duplicate')} had no answer: the node may not have them`,
        ]
      : []),
    ...(replaced < DONE * replacements
      ? [
          `--replace-share: ${partOf(replaced, replacements, 'transaction')} got a replacement: ${reasons.filter(Boolean).join(', ')}`,
        ]
      : []),
    ...(inAll > 0 && outOfOrder < (1 - DONE) * inAll
      ? [
          `--nonce-order ${nonceOrder}: ${partOf(outOfOrder, inAll, 'transaction')} left before a lower nonce, because those of a wallet seldom start together; give a higher --in-flight`,
        ]
      : []),
  ];
}

/**
 * All measurements, without verdict, warnings and exit code.
 * @param {Run} run
 * @returns {RunFile}
 */
function measuredFile(run) {
  const { loaded, observed, audited, ended } = run;
  const { stats } = loaded;
  const { latency, fromStart, timedOut, censored, fromStartCensored, lag } = stats.inside;
  const lengths = lengthsOf(run);
  const intervals = ended === undefined ? withKnownRates(loaded) : loaded.intervals;
  const { members, unmeasured } = derivedMembers(run, lengths, intervals);
  return {
    schema: RUN_SCHEMA,
    id: run.id,
    startedAt: new Date(run.startedAtMs).toISOString(),
    endedAt: new Date(run.endedAtMs).toISOString(),
    end: ended?.end ?? 'running',
    partial: ended === undefined,
    exitCode: null,
    config: /** @type {RunFile['config']} */ (run.config.outputs.redacted),
    instance: run.instance,
    environment: run.environment,
    definitions: DEFINITIONS,
    warnings: run.warnings,
    window: {
      startedAt: new Date(loaded.windowStartedAtMs).toISOString(),
      durationMs: lengths.durationUs / 1000,
      counts: stats.window,
    },
    counts: stats.counts,
    inFlight: inFlight(stats.counts),
    gas: stats.gas,
    failures: stats.failures,
    failureWords: loaded.failureWords,
    reorgs: loaded.reorgs,
    rates: members.rates,
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
    ...(members.byStage && { byStage: members.byStage }),
    lag: lag.toJSON(),
    intervals,
    series: loaded.throughput.series,
    blocks: members.blocks,
    probes: members.probes,
    generator: members.generator,
    audit: audited?.report ?? null,
    ...observed?.members,
    spending: run.spending,
    verdict: null,
    thresholds: [],
    unmeasured: { ...unmeasured, ...run.unmeasured, ...(ended === undefined && NOT_ENDED) },
  };
}

/**
 * @typedef {object} Lengths
 * @property {number} durationUs of the window
 * @property {number} ratesUs the part of the window that the rates refer to
 */

/** @param {Run} run @returns {Lengths} */
function lengthsOf({ untilUs, loaded: { window, throughput } }) {
  const endUs = Math.min(window.endUs, untilUs);
  const until = (/** @type {number} */ us) => Math.max(0, us - window.startUs);
  return { durationUs: until(endUs), ratesUs: until(Math.min(endUs, throughput.endUs)) };
}

/** The rate of rows after the last block is unknown while a run continues. @param {LoadFigures} loaded @returns {IntervalRow[]} */
function withKnownRates({ intervals, throughput, loadStartUs }) {
  const knownMs = (throughput.endUs - loadStartUs) / 1000;
  return intervals.map(({ perSecond, ...row }) =>
    row.endMs > knownMs ? { ...row, tps: null } : { ...row, ...(perSecond && { perSecond }) },
  );
}

/** What is known only when a run is over. */
const NOT_ENDED = Object.freeze(
  Object.fromEntries(['/exitCode', '/audit', '/verdict'].map((pointer) => [pointer, STILL_RUNNING])),
);

/** Members that may be unknown, with the reasons. @param {Run} run @param {Lengths} lengths @param {IntervalRow[]} intervals */
function derivedMembers(run, lengths, intervals) {
  const load = intervals.filter(({ phase }) => phase === 'load');
  // CPU time is known up to the last report.
  const verified = load.reduce((all, { counts }) => all + counts.verified, 0);
  const blocks = load.reduce((all, interval) => addBlocks(all, interval.blocks), noBlocks());
  /** @type {WithUnknown<Pick<RunFile, 'rates' | 'byStage' | 'blocks' | 'probes' | 'generator'>>} */
  const derived = {
    rates: ratesOf(run, lengths, blocks),
    byStage: byStage(run, lengths),
    blocks: blocksOf(blocks),
    probes: load.length === 0 ? unknown('the window was over before its first report') : probesOf(load),
    generator: generatorOf(run.generator, verified),
  };
  return asMembers(derived);
}

/** A count of 0 explains what is null beside it. @param {BlockTotals} blocks @returns {WithUnknown<BlockTotals>} */
function blocksOf(blocks) {
  const { count, skewMinMs, skewMaxMs } = blocks;
  if (count === 0) return blocks;
  const why = 'eth_getBlockByNumber: timestamp is not there';
  return { ...blocks, skewMinMs: orUnknown(skewMinMs, why), skewMaxMs: orUnknown(skewMaxMs, why) };
}

/** @param {Run['generator']} generator @param {number} verified in the window @returns {WithUnknown<GeneratorFacts>} */
function generatorOf(generator, verified) {
  const { batches, submissionBatches } = generator;
  const noRefusal = 'no batch was refused';
  return {
    ...generator,
    batches: { ...batches, why: orUnknown(batches.why, noRefusal) },
    ...(submissionBatches && {
      submissionBatches: { ...submissionBatches, why: orUnknown(submissionBatches.why, noRefusal) },
    }),
    inclusionResolutionMs: orUnknown(generator.inclusionResolutionMs, 'no thread has reported'),
    headSource: orUnknown(generator.headSource, 'no thread has reported'),
    samplesDropped: orUnknown(generator.samplesDropped, STILL_RUNNING),
    arrivalSeed: orUnknown(generator.arrivalSeed, 'arrivals were not random'),
    cpuUsPerVerified: ratio(generator.cpuUs, verified, 'nothing was verified in the window'),
  };
}

const NO_LENGTH = 'the window has no length';

/** @param {Run} run @param {Lengths} lengths @param {BlockTotals} blocks of the window @returns {WithUnknown<Rates>} */
function ratesOf({ loaded, plan, observed, environment }, { durationUs, ratesUs }, blocks) {
  const { window, inside } = loaded.stats;
  const { periodUs, inWindow } = loaded.throughput;
  const isOpenLoop = (plan?.schedule ?? null) !== null;
  const rate = (/** @type {number} */ count) => ratio(1e6 * count, durationUs, NO_LENGTH);
  const lengthMs = Math.max(0, dueMs(durationUs / 1000, observed?.members ?? {}));
  const noTime = durationUs === 0 ? NO_LENGTH : 'operations were held back for the whole window (--max-base-fee)';
  const dueRate = (/** @type {number} */ count) =>
    isOpenLoop ? ratio(1000 * count, lengthMs, noTime) : unknown('no rate was asked for (--rate, --stages)');
  const between = periodUs === null ? '' : `, and about ${milliseconds(periodUs)} pass between two`;
  const noBlock = durationUs === 0 ? NO_LENGTH : `the window has no block${between}`;
  const spreadRate = (/** @type {number} */ amount) => ratio(1e6 * amount, ratesUs, noBlock);
  const noGas =
    (environment.inclusion === null && 'plain calls are in no block') ||
    (!statesGas(blocks) && 'eth_getBlockByNumber: gasUsed is not there');
  return {
    askedPerSecond: dueRate(window.scheduled),
    achievedPerSecond: dueRate(inside.latency.count),
    attemptedPerSecond: rate(window.started),
    acceptedPerSecond: rate(window.accepted),
    includedPerSecond: spreadRate(inWindow.included),
    verifiedPerSecond: spreadRate(inWindow.verified),
    chainGasPerSecond: noGas ? unknown(noGas) : spreadRate(inWindow.gas),
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

/** Figures of the stages of --stages that had begun. @param {Run} run @param {Lengths} lengths @returns {WithUnknown<RunFile['byStage']>} absent without --stages */
function byStage({ plan, loaded: { stats } }, { durationUs, ratesUs }) {
  const schedule = plan?.schedule;
  if (schedule?.firstStage === undefined) return undefined;
  const { stages, firstStage } = schedule;
  const noBlock = 'the drain ended before a block of the stage was seen';
  let endUs = 0;
  return stages.slice(firstStage).flatMap(({ fromPerSecond, toPerSecond, durationUs: stageUs }, i) => {
    const startUs = endUs;
    endUs = Math.min(startUs + stageUs, durationUs);
    const group = stats.byStage[firstStage + i];
    if (group === undefined || endUs <= startUs) return [];
    const { counts, latency, censored } = group;
    // If the drain was cut short, rates are known up to the last block.
    const tps = ratio(1e6 * group.windowVerified, Math.max(0, Math.min(endUs, ratesUs) - startUs), noBlock);
    const place = { stage: i + 1, startMs: startUs / 1000, endMs: endUs / 1000, fromPerSecond, toPerSecond };
    return [{ ...place, counts, tps, latency: sum(latency, censored), censored: censored.toJSON() }];
  });
}

/** @param {Record<string, GroupFigures>} figures */
function groups(figures) {
  return Object.fromEntries(Object.entries(figures).map(([key, group]) => [key, groupJson(group)]));
}
