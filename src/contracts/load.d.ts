/** The types are moved here from where they are now. */
export type { Plan, EngineReport } from '../core/engine.js';
export type { Promised } from '../core/ladder.js';
export type { Arrival, Schedule } from '../core/pacer.js';
export type { Stop } from '../core/stop.js';
export type { TransactionStatus } from '../core/transaction-status.js';
export type { DistributionState } from '../stats/histogram.js';
export type { Stats } from '../stats/stats.js';
export type { Span, SpanCount, SpreadReport } from '../stats/throughput.js';
export type {
  Clock,
  Log,
  LoadSize,
  Member,
  LoadConfig,
  RateStage,
  NodeConfig,
  Scheduler,
  StartConfig,
  InstanceConfig,
  Config,
  Check,
  Verdict,
  AuditReading,
  NamedRequest,
  Preparation,
  CallPreparation,
  Settings,
  DataSet,
  Gas,
  TransactionWorkload,
  CallWorkload,
  Workload,
  Surroundings,
  BeforeLoad,
  CommonStart,
  Engine,
  Snapshot,
  SnapshotState,
  Outcome,
  Sample,
  Latencies,
  GroupFigures,
  RungFigures,
  StatsState,
} from '../types.d.ts';
export type { WorkloadState } from '../workloads/index.js';
export type { KitState } from '../workloads/kit.js';
