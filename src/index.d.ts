/** The types of the library, as docs/outputs.md explains it. */
import type { IntervalRow, RunFile, RungJson } from './contracts/run-file.d.ts';
import type { Create, Workload } from './contracts/workload.d.ts';

export type {
  Counts,
  DistributionJson as Distribution,
  GroupJson as Group,
  IntervalRow,
  Rates,
  RunFile,
  RungJson as RungFigures,
  Series,
} from './contracts/run-file.d.ts';
export type { Create, Workload } from './contracts/workload.d.ts';

/**
 * Operations that had reached a finality level: broken: those that no block has at the end, by cause; restored: those that a
 * block has only because stress sent them again. Null: not measured.
 */
export type BrokenPromises = Pick<RungJson, 'broken' | 'restored'>;

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
  poolTarget?: number | string;
  maxBaseFee?: number | string;
  nonceOrder?: 'reversed' | 'shuffled';
  duplicateShare?: string;
  replaceShare?: string;
  rate?: number | string;
  chainRate?: number | string;
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
  refillBelow?: number | string;
  maxSpend?: number | string;
  legacy?: boolean;
  gasPrice?: number | string;
  maxFee?: number | string;
  tip?: number | string;
  /** One or several endpoints; without it, an embedded development chain. */
  rpc?: string | URL | readonly (string | URL)[];
  spread?: 'sticky' | 'round-robin' | 'apart';
  sendRpc?: string | URL;
  sendMethod?: string;
  sendParams?: string;
  waitFor?: string;
  chainId?: number;
  allowChain?: number;
  check?: 'consistency';
  checkShare?: string;
  inclusion?: 'auto' | 'heads' | 'blocks' | 'sync';
  flashblocks?: string | URL;
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
  /** Order of recorded requests. */
  callsOrder?: 'file' | 'random';
  allowWrites?: boolean;
  data?: string;
  checkRpc?: string | URL;
  fixedId?: number;
  receivers?: number;
  createReceivers?: 'before' | 'during';
  payload?: number;
  contracts?: string;
  bytes?: number;
  pageSize?: number;
  contractAddress?: string;
  deploy?: string;
  deployArgs?: string | readonly unknown[];
  abi?: string;
  function?: string;
  args?: string | readonly unknown[];
  calldata?: string;
  callValue?: number | string;
  maxValue?: number | string;
  before?: string;
  beforeArgs?: string | readonly unknown[];
  checkEvent?: string;
  /** Calls of contracts by name, for mix; their members have the names of the command line. */
  workloads?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
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
  nodeProfile?: string | readonly string[];
  nodeMetrics?: string | URL | ReadonlyArray<string | URL>;
  nodeSeries?: string;
}

export interface RunCallbacks {
  /** Called with the figures of each interval. It may be asynchronous. */
  onInterval?: (row: IntervalRow) => unknown;
  /** Its abort ends the load: the run drains, audits, and resolves with the run file (end: 'interrupted'). */
  signal?: AbortSignal;
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
