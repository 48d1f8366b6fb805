import { DEFINITIONS } from './definitions.js';
import { STAGES } from './sample.js';

/** The run file: a whole run as one JSON document. docs/run.schema.json describes it; nothing in here does I/O. */

export const RUN_SCHEMA = 'evm-stress/run@1';

/**
 * @typedef {object} RunParts what the assembler knows at the end of a run
 * @property {string} id
 * @property {number} startedAtMs time of day
 * @property {number} endedAtMs
 * @property {string} end why it ended
 * @property {number} exitCode
 * @property {Record<string, unknown>} config redacted
 * @property {Record<string, unknown>} environment
 * @property {import('./recorder.js').Recorder} recorder
 * @property {import('./intervals.js').IntervalRow[]} intervals
 * @property {number} windowStartedAtMs time of day
 * @property {Record<string, string>} failureWords of the first failure of each code
 * @property {{cpuUs: number, peakRssBytes: number, workers: number, rpcCalls: Record<string, number>, transport: Record<string, number>, batches: object, readBackRetries: number, retiredWallets: number, presigned: {used: number, discarded: number}, inclusionResolutionMs: number | null, failedPolls: number}} generator
 * @property {object | null} audit
 * @property {Record<string, string>} unmeasured why a figure is null, by its JSON pointer
 */

/** @param {RunParts} parts */
export function buildRunFile(parts) {
  const { recorder, generator } = parts;
  const durationUs = Math.max(recorder.endUs - recorder.startUs, 0);
  const seconds = durationUs / 1e6;
  const { windowCounts } = recorder;
  /** @param {number} count */
  const rate = (count) => (seconds > 0 ? count / seconds : null);
  /** @type {Record<string, string>} */
  const unmeasured = {
    ...parts.unmeasured,
    '/verdict': 'what limited the run is not judged by this version',
  };
  if (seconds === 0) unmeasured['/rates'] = 'the window has no length';
  if (windowCounts.verified === 0) unmeasured['/generator/cpuUsPerVerified'] = 'nothing was verified';
  return {
    schema: RUN_SCHEMA,
    id: parts.id,
    startedAt: new Date(parts.startedAtMs).toISOString(),
    endedAt: new Date(parts.endedAtMs).toISOString(),
    end: parts.end,
    partial: false,
    exitCode: parts.exitCode,
    config: parts.config,
    environment: parts.environment,
    definitions: DEFINITIONS,
    window: {
      startedAt: new Date(parts.windowStartedAtMs).toISOString(),
      durationMs: durationUs / 1000,
      counts: { ...windowCounts },
    },
    counts: { ...recorder.counts },
    failures: { ...recorder.failures },
    failureWords: parts.failureWords,
    rates: {
      attemptedPerSecond: rate(windowCounts.started),
      acceptedPerSecond: rate(windowCounts.accepted),
      includedPerSecond: rate(windowCounts.included),
      verifiedPerSecond: rate(windowCounts.verified),
    },
    latency: {
      total: recorder.total.toJSON(),
      timedOut: recorder.timedOut.toJSON(),
      stages: Object.fromEntries(STAGES.map((stage) => [stage, recorder.stages[stage].toJSON()])),
    },
    intervals: parts.intervals,
    generator: {
      ...generator,
      cpuUsPerVerified: windowCounts.verified > 0 ? generator.cpuUs / windowCounts.verified : null,
    },
    audit: parts.audit,
    verdict: null,
    thresholds: [],
    unmeasured,
  };
}

/** @typedef {ReturnType<typeof buildRunFile>} RunFile */
