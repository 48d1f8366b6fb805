/** The types are moved here from where they are now. */
export type { Mismatch } from '../core/audit.js';
export type { EngineStats } from '../core/engine.js';
export type { GasRateFacts } from '../core/gas-rate.js';
export type { Foreign, Resolution } from '../core/ledger.js';
export type { Resubmissions } from '../core/submit.js';
export type { CensoredBounds } from '../stats/figures.js';
export type { Bounds } from '../stats/histogram.js';
export type { Operator } from '../stats/thresholds.js';
export type { VerdictName, Verdict } from '../stats/verdict.js';
export type {
  Unit,
  Phase,
  Stage,
  Rung,
  RunFile,
  RunParts,
  DistributionJson,
  Counts,
  GasOfOperations,
  GroupJson,
  EndpointFigures,
  RungJson,
  BrokenPromises,
  IntervalRow,
  BlockRates,
  Series,
  BlockTotals,
  ReorgEvent,
  Reorgs,
  Readings,
  SelfReading,
  LoopReading,
  ConnectionsReading,
  SocketsReading,
  EndpointSockets,
  PoolReading,
  NodeReading,
  MetricsReading,
  Pauses,
  EndpointFacts,
  Outage,
  StartFacts,
  InstanceFacts,
  AuditReport,
  Consistency,
  Violation,
  Threshold,
  ThresholdResult,
  Figure,
} from '../types.d.ts';
