/**
 * An observer: its side of the run, in the main thread, and its side in each thread of the load. It listens to the load, may
 * steer it (Control), and hands facts to the run file.
 */
import type { Rpc, SeenBlock, Wallet } from '../contracts/chain.d.ts';
import type { Clock, Stop } from '../contracts/common.d.ts';
import type {
  Control,
  LoadPlan,
  MeasuredRate,
  OperationIdentity,
  RefillPlan,
  Sample,
  Snapshot,
  TransactionStatus,
} from '../contracts/load.d.ts';
import type { AuditReport, GasOfOperations, IntervalRow, Phase, Reorgs, RunFile } from '../contracts/run-file.d.ts';

/** An operation whose block left the chain. seenAtUs: when that block was read; null: the operation had ended */
export type RemovedOperation = OperationIdentity & { blockNumber: number; seenAtUs: number | null };

/** hash: null: the node does not state it */
export type StatusBlock = { number: number; hash: string | null };

/** Listens in a thread of the load. What it throws detaches it. */
export type Observer = {
  /** before the load, which waits for it */
  prepare?: (signal: AbortSignal) => Promise<void>;
  /** the load begins */
  begin?: () => void;
  /** a block was read */
  block?: (block: SeenBlock) => void;
  /** an operation has ended: must be cheap */
  operation?: (sample: Sample) => void;
  /** blocks from this number on left the chain */
  reorg?: (blockNumber: number, removed: readonly RemovedOperation[]) => void;
  /** of an operation that was not verified, or whose transaction the node has lost; block: the one that has it */
  status?: (operation: OperationIdentity, status: TransactionStatus, block: StatusBlock | null) => void;
  /** the facts since the last interval ended: plain data and distributions; endsInterval: false: they will be asked for again */
  interval?: (endsInterval: boolean) => unknown;
  /** after the drain, or when it is detached: ends what it began; its last facts are part of the next interval */
  finish?: () => Promise<void>;
};

/** What the run has when its observers are made, before the load. */
export type OpenOptions = {
  rpc: Rpc;
  wallets: readonly Wallet[];
  chain: { chainId: number; genesisHash: string | null };
  /** of stress */
  version: string;
  /** name of the detector; null: plain calls */
  inclusion: string | null;
  /** of the load; null: closed loop */
  ratePerSecond: number | null;
  /** the highest rate that can be scheduled */
  highestPerSecond: number;
  /** number of operations that start at once */
  firstOperations: number;
  isMix: boolean;
  /** of a transaction, estimated; null: plain calls */
  gasPerOperation: bigint | null;
  /** a thread beside the load; its module, its task, and what it posts */
  openThread: (module: URL, task: object, onMessage: (message: unknown) => void) => SideThread;
  /** of the node's process on this machine, if it is known; that of the embedded chain is */
  nodePid: number | null;
  /** ends early with the run */
  unlessStopped: <T>(action: () => Promise<T>) => Promise<T>;
  clock: Clock;
  stop: Stop;
  /** null: wallets are not paid during the load */
  refill: RefillPlan | null;
  /** the balances of the wallets before the load, or why they are not known */
  before: { wei: bigint } | { why: string };
};

/** The side of the run of an observer, in the main thread. */
export type RunObserver = Pick<Observer, 'block' | 'status'> & {
  /** of its sides in the threads: plain data; absent: it has none there */
  plan?: unknown;
  /** startUs: of the load; noAnswer: aborts when the end of the run no longer waits for an endpoint that answers nothing */
  begin?: (run: { startUs: number; warnOf: Warn; warnOnce: Warn; control: Control; noAnswer: AbortSignal }) => void;
  /** the warm-up measures it; null: nothing to measure */
  rate?: MeasuredRate | null;
  /** an automatic warm-up has set the window */
  window?: (plan: LoadPlan) => void;
  /** from its side in a thread */
  message?(message: unknown): void;
  snapshot?: (snapshot: Snapshot) => void;
  /** its members of the row of the interval that has ended */
  row?: (phase: Phase, endUs: number) => Partial<IntervalRow>;
  /** the load is over, the audit follows */
  drained?(facts: unknown): Promise<void> | void;
  /** after the audit */
  finish?: (ended: RunEnd) => Promise<void>;
  /** the run file is made, and the outputs do not have it yet */
  concluded?: (run: RunFile) => Promise<void>;
  /** its members of the run file, by the facts of all threads so far */
  describe(facts: unknown): { members: Partial<RunFile>; unmeasured?: Record<string, string> };
};

export type Warn = (kind: string, words: string) => void;

export type RunEnd = {
  rpc: Rpc;
  /** null: there is none */
  audit: AuditReport | null;
  /** why there is none; null: there is one */
  noAudit: string | null;
  isAborted: boolean;
  reorgs: Reorgs;
  /** as the load has counted it */
  gas: GasOfOperations;
  intervals: readonly IntervalRow[];
};

/** A thread beside the load. */
export type SideThread = {
  post: (message: object) => void;
  /** its result, or why there is none */
  result: Promise<unknown>;
  finish: (message: object, timeoutMs: number) => Promise<unknown>;
};
