/**
 * Samples and a run file made by hand, so that every figure in it can be worked out on paper.
 */
import { noBlocks, totalsOfBlock } from '../../src/stats/blocks.js';
import { Distribution } from '../../src/stats/histogram.js';
import { Recorder } from '../../src/stats/recorder.js';
import { noReorgs } from '../../src/stats/reorgs.js';
import { buildRunFile } from '../../src/stats/run-file.js';
import { Stats, rowOf as rowOfStats, noneUsed } from '../../src/stats/stats.js';

/**
 * @import { SeenBlock } from '../../src/contracts/chain.d.ts'
 * @import { Sample, Schedule, Stats as StatsContract } from '../../src/contracts/load.d.ts'
 * @import { AuditReport, IntervalRow, Readings, RunFile } from '../../src/contracts/run-file.d.ts'
 * @import { Run } from '../../src/stats/run-file.js'
 */

/** @param {number} index */
export const addressOf = (index) => `0x${index.toString(16).padStart(40, '0')}`;

/** A 32-byte hash with a number or a short text in it. @param {number | string} name */
export const hash32 = (name) =>
  `0x${typeof name === 'number' ? name.toString(16).padStart(64, '0') : Buffer.from(name).toString('hex').padEnd(64, '0')}`;

/**
 * A sample; what is not given is that of a verified one of 1,000 us: 100 queued, 200 submit, 300 inclusion, 400
 * read-back.
 * @param {Partial<Sample> & {startUs?: number}} [given]
 * @returns {Sample}
 */
export function sampleOf({ startUs = 0, ...given } = {}) {
  return Object.freeze({
    position: 0,
    walletIndex: 0,
    nonce: 0,
    hash: `0x${'ab'.repeat(32)}`,
    hashes: [`0x${'ab'.repeat(32)}`],
    outcome: 'verified',
    code: null,
    intendedAtUs: startUs,
    startedAtUs: startUs,
    sentAtUs: startUs + 100,
    acceptedAtUs: startUs + 300,
    receiptAtUs: null,
    includedAtUs: startUs + 600,
    blockSeenAtUs: given.includedAtUs === undefined ? startUs + 600 : given.includedAtUs,
    endedAtUs: startUs + 1000,
    blockNumber: 1,
    sighting: null,
    effect: '1',
    target: addressOf(0xc0),
    gasUsed: null,
    name: null,
    endpoint: null,
    visibleAtUs: null,
    ...given,
  });
}

/** @param {Partial<IntervalRow>} [given] @returns {IntervalRow} */
export function rowOf(given = {}) {
  const known = {
    phase: /** @type {const} */ ('load'),
    loadStartUs: 0,
    inFlight: 0,
    blocks: noBlocks(),
    probes: readingsOf(),
  };
  return { ...rowOfStats(new Stats(0, 1_000_000), known), ...given };
}

/** A distribution as run files have it. @param {number[]} valuesUs */
export function distributionOf(...valuesUs) {
  const distribution = new Distribution();
  for (const us of valuesUs) distribution.record(us);
  return distribution.toJSON();
}

/** The figures that a recorder has so far, as the run file has them. @param {Recorder} recorder */
export function figuresOf(recorder) {
  const stats = recorder.rest();
  const { counts, failures, window, halves, inside, outside, byName, byEndpoint } = stats;
  const both = (/** @type {typeof inside.lag} */ a, /** @type {typeof a} */ b) => new Distribution().add(a).add(b);
  return {
    counts,
    failures,
    window,
    halves,
    byName,
    byEndpoint,
    outside,
    stages: inside,
    ...inside,
    total: both(inside.latency, inside.censored),
    fromStart: both(inside.fromStart, inside.fromStartCensored),
  };
}

/** What the probes read, with nothing but this process to watch. @param {Partial<Readings>} [given] @returns {Readings} */
export function readingsOf(given = {}) {
  return {
    self: { cpuUs: 0, rssBytes: 0 },
    loop: { utilization: 0, delayMeanUs: 0, delayP99Us: 0, delayMaxUs: 0, gcUs: 0 },
    connections: { opened: 0, reused: 0 },
    sockets: null,
    pool: null,
    node: null,
    metrics: null,
    why: { sockets: 'not asked', pool: 'not asked', node: 'not asked', metrics: 'not asked' },
    ...given,
  };
}

/**
 * Two wallets, 20 operations in 2 s: 17 verified, with latencies of 10, 20 ... 170 ms, one reverted, one timed out
 * after 500 ms, one abandoned.
 */
export function runRecorder() {
  const recorder = new Recorder([4, 5], 0);
  for (let i = 0; i < 20; i += 1) {
    const position = i % 2;
    const startUs = i * 50_000;
    const place = { position, walletIndex: 4 + position, nonce: Math.floor(i / 2), startUs };
    recorder.start(position, startUs);
    if (i < 17) {
      const totalUs = 10_000 * (i + 1);
      recorder.add(
        sampleOf({
          ...place,
          sentAtUs: startUs + 1000,
          acceptedAtUs: startUs + 3000,
          includedAtUs: startUs + totalUs - 4000,
          endedAtUs: startUs + totalUs,
        }),
      );
    } else if (i === 17) {
      recorder.add(sampleOf({ ...place, outcome: 'failed', code: 'reverted', endedAtUs: startUs + 20_000 }));
    } else if (i === 18) {
      recorder.add(
        sampleOf({ ...place, outcome: 'timed_out', includedAtUs: null, endedAtUs: startUs + 500_000, effect: null }),
      );
    } else {
      recorder.closeWindow(2_000_000);
      recorder.add(
        sampleOf({ ...place, outcome: 'abandoned', includedAtUs: null, endedAtUs: 2_500_000, effect: null }),
      );
    }
  }
  recorder.assertConservation(new Map());
  return recorder;
}

/** The audit of that run, exact. @returns {AuditReport} */
export function exactAudit() {
  return {
    exact: true,
    blockNumber: 1234,
    blockHash: `0x${'bb'.repeat(32)}`,
    wallets: 2,
    verified: 17,
    includedLate: 1,
    reverted: 1,
    reorgedOut: 0,
    neverSent: 0,
    replaced: 1,
    pending: 0,
    effectsOnChain: '18',
    bounds: { atLeast: '18', atMost: '18' },
    mismatchCount: 0,
    mismatches: [],
    foreign: [],
    resolutions: [],
    subject: 'counters grew by',
    checks: [],
  };
}

/** @param {Partial<SeenBlock>} [given] @returns {SeenBlock} */
export function blockOf(given = {}) {
  const times = { seenAtUs: 0, seenAtMs: Date.UTC(2026, 0, 1), timestampS: 1_767_225_600, skewMs: 250, gapMs: 0 };
  const gas = { gasUsed: 500_000, gasLimit: 30_000_000, baseFeeWei: null };
  return { number: 7, hash: `0x${'cd'.repeat(32)}`, transactions: 20, ours: 18, ...times, ...gas, ...given };
}

/** As many blocks as a window needs, with the transactions of one. */
function tenBlocks() {
  const one = totalsOfBlock(blockOf());
  const fullness = Object.fromEntries(Object.keys(one.fullness ?? {}).map((share) => [share, 10]));
  return {
    ...one,
    count: 10,
    lastNumber: Number(one.firstNumber) + 9,
    fullnessSum: 10 * (one.fullnessSum ?? 0),
    fullness,
  };
}

const ENVIRONMENT = {
  ...{ stress: '0.0.0', endpoint: 'http://127.0.0.1:8545', endpoints: [], workload: {} },
  findCommand: { command: 'stress find --rpc http://127.0.0.1:8545', without: [], variables: [] },
};

/**
 * @typedef {object} Given members of a run, by their place in its file
 * @property {object} [config]
 * @property {object} [environment]
 * @property {string} [end]
 * @property {number} [durationUs] of the window
 * @property {number} [ratesUs] the part of it that the rates refer to
 * @property {boolean} [isOpenLoop]
 * @property {Schedule | null} [schedule]
 * @property {StatsContract} [stats]
 * @property {RunFile['series']} [series]
 * @property {RunFile['intervals']} [intervals]
 * @property {RunFile['failureWords']} [failureWords]
 * @property {RunFile['reorgs']} [reorgs]
 * @property {RunFile['audit']} [audit]
 * @property {Partial<RunFile>} [observed]
 * @property {Run['config']['study']['thresholds']} [thresholds]
 * @property {readonly number[]} [exitCodes]
 * @property {string[]} [warnings]
 * @property {RunFile['instance']} [instance]
 * @property {Run['generator']} [generator]
 * @property {RunFile['spending']} [spending]
 * @property {Record<string, string>} [unmeasured]
 */

/** @param {Given} [given] @returns {RunFile & {exitCode: number}} */
export function runFileOf(given = {}) {
  return /** @type {RunFile & {exitCode: number}} */ (buildRunFile(runOf(given)));
}

/** @type {Schedule} */
const OPEN_LOOP = Object.freeze({ stages: [], arrival: 'uniform', seed: 0 });

/** @param {Given} given @returns {Run} as src/core/run.js has it when its file is made */
function runOf(given) {
  const { stats = runRecorder().rest(), durationUs = 2_000_000, end = 'duration' } = given;
  const { ratesUs = durationUs, isOpenLoop = false, schedule = isOpenLoop ? OPEN_LOOP : null } = given;
  return {
    id: '00000000-0000-4000-8000-000000000000',
    startedAtMs: Date.UTC(2026, 0, 1),
    endedAtMs: Date.UTC(2026, 0, 1, 0, 0, 5),
    untilUs: durationUs,
    instance: given.instance ?? null,
    config: {
      outputs: { redacted: { command: 'run', threads: 2, ...given.config } },
      study: { thresholds: given.thresholds ?? [] },
    },
    context: { stop: { exitCodes: given.exitCodes ?? [] } },
    warnings: given.warnings ?? [],
    environment: /** @type {any} */ ({ ...ENVIRONMENT, ...given.environment }),
    plan: { schedule },
    loaded: loadedOf(stats, { ...given, durationUs, ratesUs }),
    observed: { members: given.observed ?? {} },
    audited: { report: given.audit === undefined ? exactAudit() : given.audit },
    ...(end !== 'running' && { ended: { end: /** @type {RunFile['end']} */ (end) } }),
    generator: given.generator ?? generatorOf(),
    spending: given.spending ?? { capWei: '1000', setUpWei: '10', spentWei: '900' },
    unmeasured: given.unmeasured ?? {},
  };
}

/** @param {StatsContract} stats @param {Given & {durationUs: number, ratesUs: number}} given @returns {Run['loaded']} */
function loadedOf(stats, given) {
  const { counts, failures, latency, lag } = rowOfStats(stats, {
    phase: 'load',
    loadStartUs: 0,
    inFlight: 0,
    blocks: noBlocks(),
    probes: readingsOf(),
  });
  return {
    stats,
    window: { startUs: 0, endUs: given.durationUs },
    throughput: {
      series: given.series ?? { startMs: 0, stepMs: 1000, verified: [9, 8], gas: [250_000, 250_000] },
      inWindow: { verified: stats.window.verified, included: stats.window.included, gas: 500_000 },
      endUs: given.ratesUs,
      periodUs: 100_000,
    },
    failureWords: given.failureWords ?? {},
    reorgs: given.reorgs ?? noReorgs(),
    engineStats: /** @type {any} */ ({}),
    traffic: /** @type {any} */ ({}),
    untilUs: given.durationUs,
    intervals: given.intervals ?? [
      rowOf({ counts, failures, latency, lag, blocks: tenBlocks(), endMs: 2000, tps: 8.5 }),
    ],
    generator: { cpuUs: 5950, peakRssBytes: 123_456_789 },
    loadStartUs: 0,
    windowStartedAtMs: Date.UTC(2026, 0, 1, 0, 0, 1),
  };
}

/** @returns {Run['generator']} */
function generatorOf() {
  return {
    cpuUs: 5950,
    peakRssBytes: 123_456_789,
    rpcCalls: { submit: 20 },
    endpoints: [],
    transport: { requests: 20, connectionsOpened: 1, bytesReceived: 1000 },
    ...noneUsed(),
    inclusionResolutionMs: 10,
    headSource: 'poll',
    outages: [],
    arrivalSeed: null,
    samplesDropped: 0,
    workers: 1,
    batches: { limit: 100, largest: 20, refused: 0, why: null },
  };
}
