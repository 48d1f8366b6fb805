/**
 * A run as data. The run file that `--out` writes (evm-stress/run@1) and its parts have one source, docs/run.schema.json,
 * of which their types are made (run-schema.d.ts). Here is what it is built from, and the figures that are read from it.
 */
import type { GeneratorFacts, NodeLimitFacts, Pauses, RunFile, ThresholdResult } from './run-schema.d.ts';

export type * from './run-schema.d.ts';

export type Unit = Exclude<ThresholdResult['unit'], 'result'>;

/** The parts of a latency. */
export type Stage = 'queued' | 'submit' | 'inclusion' | 'readBack';

/** What the engine counts of the whole run so far. */
export type EngineStats = Pick<
  GeneratorFacts,
  | 'readBackRetries'
  | 'pausedMs'
  | 'retiredWallets'
  | 'inclusionResolutionMs'
  | 'headSource'
  | 'failedPolls'
  | 'presigned'
> &
  Pick<RunFile, 'reorgs' | 'failureWords'> & {
    resubmissions: Resubmissions;
    pauses: Pauses;
    refusals?: Refusals;
    nodeLimits?: NodeLimitFacts;
  };

/** By class. */
export type Refusals = NonNullable<GeneratorFacts['refusals']>;

/** Older files lack some. */
export type Resubmissions = Required<GeneratorFacts['resubmissions']>;

/** A limit of --threshold. */
export type Threshold = Pick<ThresholdResult, 'expression' | 'figure' | 'operator' | 'limit' | 'unit'>;

/** A figure that thresholds and studies can name. */
export type Figure = {
  name: string;
  unit: Unit;
  words: string;
  /** in tables; default: derived from the name */
  label?: string;
  /** default: lower */
  better?: 'higher';
  read: (run: RunFile) => number | Unknown;
  /** bounds of a figure with censored operations, or of a count with checks that could not be made */
  bounds?: (run: RunFile) => FigureBounds | Unknown;
  /** whether censored operations count in thresholds only */
  isOfVerified?: boolean;
  /** count that a limit in percent refers to */
  whole?: string;
  ofCall?: string;
};

/** What stands in place of a figure that is not known (stats/unknown.js). */
export type Unknown = { readonly why: string; readonly isUnknown: true };

/** A part of a run file before it is written: a member that may be null is known, or it is unknown. */
export type WithUnknown<T> =
  | (null extends T ? Unknown : never)
  | (T extends readonly (infer U)[] ? WithUnknown<U>[] : T extends object ? { [K in keyof T]: WithUnknown<T[K]> } : T);

/** A figure and its upper bound; censored: number of censored operations, or of checks that could not be made. */
export type FigureBounds = { value: number; atMost: number; censored: number };
