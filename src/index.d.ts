/** The types of the library, as docs/library.md explains it. */
import type { Create, Workload } from './workloads/contract.d.ts';

export type { Create, Workload } from './workloads/contract.d.ts';

/** A rung of the ladder of promises; auto: all that the chain has. */
export type Rung = 'auto' | 'pending' | 'safe' | 'finalized';

/** The result of defineWorkload(); the exports of a workload file have the same members. */
export interface DefinedWorkload {
  readonly contract: string;
  readonly default: Create;
}

/** A workload, or the function that makes it from { kit, rpc, settings }. */
export function defineWorkload(workload: Create | Workload): DefinedWorkload;

/** Times are texts with a unit, such as '15s'. Each option is described by `stress --help-all`. */
export interface RunOptions {
  wallets?: number;
  workers?: number | 'auto';
  duration?: string;
  warmup?: string;
  iterations?: number;
  thinkTime?: string;
  rate?: number | string;
  stages?: string;
  arrival?: 'uniform' | 'poisson';
  inFlight?: number;
  interval?: string;
  drainTimeout?: string;
  offset?: number;
  keys?: string;
  mnemonic?: string;
  hdPath?: string;
  fundFrom?: string;
  fundAmount?: number | string;
  maxSpend?: number | string;
  legacy?: boolean;
  gasPrice?: number | string;
  maxFee?: number | string;
  /** One or several endpoints; without it, an embedded development chain. */
  rpc?: string | URL | readonly (string | URL)[];
  spread?: 'sticky' | 'round-robin' | 'apart';
  sendRpc?: string | URL;
  waitFor?: string;
  chainId?: number;
  allowChain?: number;
  check?: 'consistency';
  checkShare?: string;
  inclusion?: 'auto' | 'heads' | 'blocks' | 'sync';
  ladder?: Rung | readonly Rung[];
  confirmations?: number;
  txTimeout?: string;
  /** The name of a workload, the path of a file, or the result of defineWorkload(). */
  workload?: string | DefinedWorkload;
  /** Such as ['counter:50', 'erc20:30'], in place of a workload. */
  mix?: string | readonly string[];
  set?: Readonly<Record<string, string | number>>;
  method?: string;
  params?: readonly unknown[];
  calls?: string;
  data?: string;
  checkRpc?: string | URL;
  fixedId?: number;
  receivers?: number;
  createReceivers?: 'before' | 'during';
  payload?: number;
  contracts?: string;
  bytes?: number;
  pageSize?: number;
  threshold?: string | readonly string[];
  transport?: 'auto' | 'undici' | 'tcp' | 'ws';
  connections?: number;
  requestTimeout?: string;
  noKeepAlive?: boolean;
  /** Such as 'X-Team: load'; unlike on the command line, also secret ones. */
  header?: string | readonly string[];
  headerFile?: string;
  batch?: number;
  insecure?: boolean;
  nodePid?: number;
  nodeMetrics?: string | URL;
  nodeSeries?: string;
}

export interface RunCallbacks {
  /** Called with the figures of each interval. It may be asynchronous. */
  onInterval?: (row: IntervalRow) => unknown;
  /** Its abort ends the load: the run drains, audits, and resolves with the run file (end: 'interrupted'). */
  signal?: AbortSignal;
}

/** A distribution of times in microseconds; figures are null if nothing was recorded. */
export interface Distribution {
  count: number;
  meanUs: number | null;
  minUs: number | null;
  maxUs: number | null;
  p50Us: number | null;
  p90Us: number | null;
  p99Us: number | null;
}

export interface Counts {
  scheduled: number;
  dropped: number;
  started: number;
  verified: number;
  failed: number;
  timedOut: number;
  abandoned: number;
}

export interface IntervalRow {
  phase: 'warmup' | 'load' | 'drain';
  startMs: number;
  endMs: number;
  counts: Counts;
  failures: Record<string, number>;
  inFlight: number;
  /** Verified operations per second; null for the drain. */
  tps: number | null;
  latency: Distribution;
}

/** Figures of a group of operations: of one name, or of one endpoint. */
export interface Group {
  counts: Omit<Counts, 'scheduled' | 'dropped' | 'started'>;
  /** Of the window, spread over the time in which the blocks were made: no whole number. */
  windowVerified: number;
  latency: Distribution;
}

/** Promised operations that are not in the chain at the end, by cause, and those that are in it only because stress sent them again; null if not measured. */
export interface BrokenPromises {
  broken: { lost: number; replaced: number; reorged: number; unknown: number } | null;
  restored: number | null;
}

/** A rung of the ladder of promises; `latency` has the time waited for operations that did not reach it (`censored`). */
export interface RungFigures extends BrokenPromises {
  reached: number;
  notReached: number;
  notMeasured: number;
  latency: Distribution;
  censored: Distribution;
}

/** Operations per second of the window; null if not measured. */
export interface Rates {
  askedPerSecond: number | null;
  achievedPerSecond: number | null;
  attemptedPerSecond: number | null;
  acceptedPerSecond: number | null;
  includedPerSecond: number | null;
  /** The TPS: spread over the time in which the blocks were made, like includedPerSecond and chainGasPerSecond. */
  verifiedPerSecond: number | null;
  /** Gas of all transactions in blocks; null for plain calls. */
  chainGasPerSecond?: number | null;
  /** The part of the window that these rates refer to. */
  spreadMs?: number;
}

/** The throughput over time: verified operations, and gas of all transactions, in each step. */
export interface Series {
  /** Of the first step, since the start of the load. */
  startMs: number;
  stepMs: number;
  verified: number[];
  gas: number[];
}

/** A run, as `--out` writes it: evm-stress/run@1. docs/run.schema.json describes each member. */
export interface RunFile {
  schema: string;
  id: string;
  startedAt: string;
  endedAt: string;
  /** Why the load ended: 'duration', 'iterations', 'interrupted', ... */
  end: string;
  partial: boolean;
  exitCode: number | null;
  config: Record<string, unknown>;
  instance?: Record<string, unknown> | null;
  environment: Record<string, unknown>;
  /** What each figure means. */
  definitions: Record<string, string>;
  warnings: string[];
  window: { startedAt: string; durationMs: number; counts: Record<string, number> };
  counts: Counts;
  inFlight: number;
  /** Of operations whose receipts were read. */
  gas?: { operations: number; used: number };
  failures: Record<string, number>;
  /** The first message of each failure code. */
  failureWords: Record<string, string>;
  reorgs: { count: number; deepest: number; operations: number };
  rates: Rates;
  latency: { total: Distribution; fromStart: Distribution; stages: Record<string, Distribution> };
  byName?: Record<string, Group>;
  byEndpoint?: Record<string, Group>;
  /** With --ladder; null: the chain lacks the rung. */
  ladder?: BrokenPromises & { rungs: Record<string, RungFigures | null> };
  lag: Distribution | null;
  intervals: IntervalRow[];
  /** Absent in files of release 0.2.0. */
  series?: Series;
  blocks: { count: number; transactions: number | null; ours: number; gasUsed: number | null };
  probes: object | null;
  generator: { cpuUs: number | null; peakRssBytes: number; cpuUsPerVerified: number | null };
  audit: { exact: boolean; result?: 'exact' | 'incomplete' | 'not_exact' } | null;
  /** With check; null: without a result. */
  consistency?: {
    share: number;
    requests: number;
    checks: Record<string, number>;
    off: Record<string, string>;
    violations: Record<
      string,
      { count: number; examples: { endpoint: string; at: string; words: string; commands: string[] }[] }
    >;
    lag: Record<string, { blocks: number; ms: number }>;
  } | null;
  /** In wei, as decimal texts. */
  spending: { capWei: string | null; setUpWei: string | null; leftWei?: string | null; spentWei: string | null };
  verdict: { name: string; evidence: string } | null;
  thresholds: { expression: string; passed: boolean }[];
  /** Why a member is null, by its JSON pointer. */
  unmeasured: Record<string, string>;
}

/** Runs one load. Rejects with a StressError if the load cannot begin. */
export function run(options: RunOptions, callbacks?: RunCallbacks): Promise<RunFile>;

/** The base class of all errors: `code` is for programs, `exitCode` is that of the command line. */
export class StressError extends Error {
  code: string;
  exitCode: number;
}
export class CheckError extends StressError {}
export class ForeignSenderError extends StressError {}
export class UnavailableError extends StressError {}
export class FundsError extends UnavailableError {}
export class IncompleteError extends StressError {}
export class InputError extends StressError {}
export class InternalError extends StressError {}
export class InterruptedError extends StressError {}
export class OutputError extends StressError {}
export class ProtocolError extends StressError {}
export class RefusedError extends StressError {}
export class RpcError extends StressError {}
export class TransportError extends StressError {}
export class UsageError extends StressError {}
export class WorkloadError extends StressError {}
