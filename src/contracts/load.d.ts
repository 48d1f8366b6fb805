/**
 * What the parts of a load promise each other: the options of a load, the workload with everything filled in, what steers the
 * load, and the figures that it hands over. src/contracts/ imports nothing from the implementation.
 */
import type {
  Call,
  FeeState,
  OpenTransport,
  Request,
  Rpc,
  Sender,
  ThreadStats,
  Wallet,
  WalletState,
} from './chain.d.ts';
import type { Clock, Span, Stop } from './common.d.ts';
import type {
  BlockTotals,
  Counts,
  DistributionJson,
  EngineStats,
  GasOfOperations,
  LoopReading,
  OutcomeCounts,
  ReorgEvent,
  SelfReading,
  SocketsReading,
  Stage,
  StartFacts,
  WindowCounts,
} from './run-file.d.ts';
import type * as Own from './workload.d.ts';

// configuration: checked and frozen by src/cli/config.js; the table of options explains the members

/** Decides the number of operations. */
export type LoadSize = {
  threads: number;
  durationMs: number | null;
  warmupMs: number | 'auto';
  /** operations per second of this instance; null: closed loop, or stages */
  ratePerSecond: number | null;
  stages: RateStage[] | null;
  inFlight: number;
};

/** of --mix: a workload, and its weight among all members */
export type Member = { name: string; weight: number };

/** Amount and length of the load. It goes to worker threads as it is. */
export type LoadConfig = LoadSize & {
  /** of --rate 30Mgas, then without ratePerSecond */
  gasPerSecond: number | null;
  arrival: Arrival | null;
  intervalMs: number;
  drainTimeoutMs: number;
  workers: number;
  iterations: number | null;
  thinkTimeMs: number;
  /** a number of transactions, or of blocks that they fill, as 500 or 2blocks */
  poolTarget: string | null;
  maxBaseFeeWei: bigint | null;
  nonceOrder: 'reversed' | 'shuffled' | null;
  /** from 0 to 1; null: none */
  duplicateShare: number | null;
  /** from 0 to 1; null: none */
  replaceShare: number | null;
};

/** A call of any contract: of --workload contract, or a member of `workloads`. */
export type ContractCall = {
  /** in `workloads` also the name of another call, whose contract it is */
  contractAddress: string | null;
  function: string | null;
  args: readonly unknown[] | null;
  abi: string | null;
  calldata: string | null;
  callValueWei: bigint | null;
  deploy: string | null;
  deployArgs: readonly unknown[] | null;
  before: string | null;
  beforeArgs: readonly unknown[] | null;
  checkEvent: string | null;
};

/** What an operation does. It goes to worker threads as it is. */
export type WorkloadConfig = ContractCall & {
  workload: string;
  set: ReadonlyArray<readonly [string, string]>;
  /** empty: one workload */
  mix: readonly Member[];
  method: string | null;
  params: unknown[] | null;
  calls: string | null;
  /** null: in file order */
  callsOrder: 'file' | 'random' | null;
  allowWrites: boolean;
  data: string | null;
  /** a URL is no plain data */
  checkRpc: string | null;
  contracts: string | null;
  payload: number | null;
  /** number of receivers; null: the wallets pay each other */
  receivers: number | null;
  createReceivers: 'before' | 'during' | null;
  logBytes: number | null;
  pageSize: number | null;
  logs: string | null;
  /** calls by name, for the mix */
  workloads: Readonly<Record<string, ContractCall>> | null;
  maxValueWei: bigint | null;
};

/** A linear change of the rate. */
export type RateStage = {
  fromPerSecond: number;
  toPerSecond: number;
  /** Infinity: to the end of the run */
  durationUs: number;
};

export type Arrival = 'uniform' | 'poisson';

/** When the operations of an open loop are due. */
export type Schedule = {
  stages: RateStage[];
  arrival: Arrival;
  seed: number;
  /** index of the first stage of --stages, after the warm-up; absent without --stages */
  firstStage?: number;
};

export type Scheduler = 'kubernetes' | 'slurm-array' | 'slurm-gang';

/** The common start of the instances of a run. */
export type StartConfig = {
  /** index of this instance; null without --instances */
  index: number | null;
  instances: number | null;
  /** index of the first wallet of all instances (-o) */
  firstOffset: number;
  attempt: number;
  runId: string | null;
  /** start of the load of all instances, ms since 1970 */
  startAtMs: number | null;
  barrier: string | null;
  startTimeoutMs: number;
};

/** This process among the instances of a run. */
export type InstanceConfig = StartConfig & {
  /** source of the index; null: given by the user */
  scheduler: Scheduler | null;
  results: string | null;
  expect: number | null;
  allowPartial: boolean;
};

// the workload of contracts/workload.d.ts with everything filled in

export type Check = Required<Own.Check>;
export type Verdict = Required<Omit<Own.Verdict, 'code' | 'gasUsed'>> & Pick<Own.Verdict, 'code' | 'gasUsed'>;
export type AuditReading = Required<Own.AuditReading>;

/** Requests of one name are also counted together. */
export type NamedRequest = Request & { name?: string };

export type Preparation = {
  wallets: Wallet[];
  sender: Sender;
  chain: { chainId: number; genesisHash: string | null };
  onProgress: (label: string, done: number, all: number) => void;
};

export type CallPreparation = {
  chain: { chainId: number };
  addresses: () => Promise<string[]>;
  notice: (line: string) => void;
  /** beside transactions: what the set-up may change is no error yet */
  isBeforeSetUp?: boolean;
};

/** Gas for the funding check. */
export type Gas = {
  perWallet: bigint;
  perOperation: bigint;
  likely: { perWallet: bigint; perOperation: bigint };
  /** transferred wei; default: none */
  value?: { perWallet: bigint; perOperation: bigint };
  /** accounts that it creates on the chain */
  created?: { perWallet: bigint; perOperation: bigint };
  /** of an operation */
  blobs?: number;
};

/** A workload of workloads/contract.d.ts with everything filled in. */
export type TransactionWorkload = Pick<Required<Own.TransactionWorkload>, 'kind' | 'subject'> &
  Pick<Own.TransactionWorkload, 'facts' | 'valueWei'> & {
    gas: Gas;
    handOver: (first: number, count: number) => WorkloadState;
    unprepared: (preparation: Pick<Preparation, 'wallets' | 'chain'>) => Promise<number>;
    /** before anything is sent: throws if the chain or the wallets do not allow it */
    check?: (wallets: readonly Wallet[]) => Promise<void>;
    /** before that: estimates on the chain what gas has, and throws if an operation would fail */
    measure?: (wallets: readonly Wallet[]) => Promise<void>;
    /** why a transaction was reverted, from the data of the error; null: not known */
    revertWords?: (data: unknown) => string | null;
    prepare: (preparation: Preparation) => Promise<void>;
    next: (position: number, nonce: number) => Call;
    /** of an operation; its figures are also counted by name */
    nameOf?: (position: number, nonce: number) => string;
    /** reads the count that verifies the operations of a wallet; it only grows */
    countCall?: (position: number) => { to: string; data: string };
    verify: (...given: Parameters<NonNullable<Own.TransactionWorkload['verify']>>) => Promise<Verdict>;
    /** without it, the effects are the nonces without reverted transactions */
    audit?: (...given: Parameters<NonNullable<Own.TransactionWorkload['audit']>>) => Promise<AuditReading[]>;
    reconcile?: (snapshot: Own.AuditSnapshot) => Promise<Check[]>;
  };

export type CallWorkload = Pick<Own.CallWorkload, 'kind' | 'callsPerIteration' | 'facts'> & {
  handOver: (first: number, count: number) => WorkloadState;
  prepare?: (preparation: CallPreparation) => Promise<void>;
  next: (position: number) => NamedRequest;
  check: (position: number, result: unknown, request: NamedRequest) => string | null | Promise<string | null>;
};

export type Workload = TransactionWorkload | CallWorkload;

/** For a worker thread. own: the result of the workload's handOver() */
export type WorkloadState = { own: unknown; kit: KitState };

/** first: position of its first wallet in the slice; starts: counts before the load; gasLimit: of an operation that states none */
export type KitState = { tag: string; first: number; starts: bigint[][]; gasLimit?: bigint };

// the run

/** What a run takes from the machine, for all of its threads. */
export type Platform = {
  clock: Clock;
  /** from 0 to 1 */
  random: () => number;
  /** by name: opens the connections to an endpoint */
  transports: Readonly<Record<string, OpenTransport>>;
  startThread: StartThread;
  openPages: OpenPages;
  probes: MachineProbes;
};

/** Opens the pages of nodes' own HTTP servers; maxBytes: of one page. */
export type OpenPages = (options: { insecure: boolean; maxBytes: number }) => PageReader;

export type PageReader = {
  /** url: may contain credentials */
  read: (url: URL, signal: AbortSignal) => Promise<{ statusCode: number; body: Buffer }>;
  close: () => Promise<void>;
};

/** What happened since the last sample, at first since the creation, or the current state. Throws an Error with the reason if there is none. */
export type Probe<Reading> = { sample: () => Reading; close?: () => void };

/** Figures of this process, of the event loop of the thread that creates the probe, and of the sockets of this machine. */
export type MachineProbes = {
  self: () => Probe<SelfReading>;
  loop: () => Probe<LoopReading | null>;
  sockets: () => Probe<SocketsReading>;
  /** absent: it is never stopped */
  stops?: (options: Pick<Clock, 'nowUs'>) => Probe<Stopped[]>;
};

/** A time in which this process did not run. */
export type Stopped = { fromUs: number; toUs: number };

/** Starts a program that answers the requests of its host; data: plain data. */
export type StartThread = (program: URL, data: unknown) => ThreadHost;

/** A thread as its host sees it; the other side of its port. */
export type ThreadHost = {
  postMessage: (message: unknown) => void;
  on(event: 'message', listener: (message: never) => void): unknown;
  on(event: 'error', listener: (error: never) => void): unknown;
  on(event: 'exit', listener: (exitCode: number) => void): unknown;
  terminate: () => Promise<unknown>;
};

/** Lets a run wait for other instances before its load. */
export type BeforeLoad = (options: {
  id: string;
  config: StartConfig & { threads: number };
  clock: Clock;
  stop: Stop;
  notice: (line: string) => void;
}) => CommonStart;

export type CommonStart = {
  /** fails early, before anything is sent */
  open: () => Promise<void>;
  /** waits for all instances, until it is time for the last preparations */
  wait: (chain: { chainId: number; genesisHash: string | null }) => Promise<void>;
  /** waits for the start of the load; both clocks at that time, and a warning; null: no common start */
  begin: () => Promise<{ beginUs: number; wallMs: number; nowUs: number; words: string | null } | null>;
  facts: () => StartFacts;
};

/** On the run's clock. */
export type LoadPlan = {
  /** the warm-up is before the window */
  loadStartUs: number;
  /** Infinity during an automatic warm-up */
  startUs: number;
  /** Infinity while unknown */
  endUs: number;
};

/**
 * What an observer may do to the load, and all that it may do: in all threads, and on both sides of a mix. Without a call an
 * operation pays one field read.
 */
export type Control = {
  /** nothing is due while a reason holds, and the schedule is later by that time; atUs: instant of the event */
  hold: (reason: string, atUs: number) => void;
  release: (reason: string, atUs: number) => void;
  /** how many transactions the pool shall have, for now; depth: those that it has; null: each thread counts those of its own */
  room: (target: number, depth: number | null) => void;
  /** transactions per second of an open loop from an instant on, in all threads together */
  retime: (perSecond: number, fromUs: number) => void;
  /** takes gas that is not of an operation from the budget (--max-spend); negative: gives it back; false: there is too little */
  charge: (wei: bigint) => Promise<boolean>;
};

export type Snapshot = {
  atUs: number;
  /** of the whole run so far */
  counts: Counts;
  /** null: the interval has not ended */
  interval: EngineReport | null;
  /** what was recorded after the last interval; null: without figures */
  rest: Stats | null;
  window: { startUs: number; endUs: number };
  /** of the whole run so far */
  generator: EngineStats;
  /** of the threads of the engine */
  traffic: ThreadStats;
  /** how the law of conservation is broken */
  violation: string | null;
  /** where the throughput counts what was verified since the last snapshot */
  spread: SpreadReport;
};

/** An interval that has ended. */
export type EngineReport = {
  stats: Stats;
  inFlight: number;
  /**
   * silentMs: time since the last successful poll, and why; stillMs: time without a new block; past: the longest time
   * without an answer that ended in the interval
   */
  silence: {
    silentMs: number;
    stillMs: number;
    words: string;
    past?: { ms: number; toUs: number } | null;
  } | null;
  /** by kind; each kind is shown once */
  warnings: Record<string, string>;
  reorgs: ReorgEvent[];
  /** null: not known */
  loop: LoopReading | null;
  blocks: BlockTotals;
};

export type Outcome = 'verified' | 'failed' | 'timed_out' | 'abandoned';

/**
 * Fate of an operation that was not verified. included: executed after all; reverted: included without effect; replaced: a
 * foreign transaction was mined with its nonce; never_sent: unknown to the node; pending: may still be included, or cannot
 * be determined.
 */
export type TransactionStatus = 'included' | 'reverted' | 'replaced' | 'never_sent' | 'pending';

export type Sample = {
  /** of the wallet in the slice, from 0 */
  position: number;
  walletIndex: number;
  nonce: number;
  /** null if nothing was signed */
  hash: string | null;
  /** all that were sent for it, and for earlier operations with the same nonce */
  hashes: readonly string[];
  outcome: Outcome;
  /** failure code; null unless failed */
  code: string | null;
  /** due, on the run's clock */
  intendedAtUs: number;
  startedAtUs: number;
  sentAtUs: number | null;
  acceptedAtUs: number | null;
  /** when a submission was answered with the receipt (--inclusion sync) */
  receiptAtUs: number | null;
  /** block read, with its confirmations; not before acceptedAtUs */
  includedAtUs: number | null;
  /** block read, whatever its confirmations; not before acceptedAtUs */
  blockSeenAtUs: number | null;
  /** when the read was sent that found the effect; null without one */
  visibleAtUs: number | null;
  /** effect read back, or given up */
  endedAtUs: number;
  blockNumber: number | null;
  /** null: in no block, or found by its receipt */
  sighting: Span | null;
  effect: string | null;
  target: string | null;
  /** by its receipt; null if it was verified without one */
  gasUsed: number | null;
  /** name of the call; null without names */
  name: string | null;
  /** index of the endpoint of the last submission; null with one endpoint */
  endpoint: number | null;
};

// observers (src/observers/): they listen to the load, and hand facts to the run file

/** An operation for those who keep something of it. */
export type OperationIdentity = Pick<Sample, 'walletIndex' | 'nonce' | 'startedAtUs' | 'hashes'> & {
  /** absent: it has ended */
  live?: Pick<Sample, 'intendedAtUs' | 'acceptedAtUs' | 'receiptAtUs'>;
};

/** What an observer in a thread can use. */
export type ObserverTools = {
  rpc: Pick<Rpc, 'call' | 'gather'>;
  clock: Clock;
  /** by position */
  accounts: ReadonlyArray<{ wallet: { address: string } }>;
  workload: Workload;
  /** operations in flight per wallet */
  inFlight: number;
  /** of the load that this thread has, as a fraction */
  share: number;
  /** whether operations due then count in the window */
  isInWindow: (dueUs: number) => boolean;
  /** whether an operation in flight waits for this transaction */
  isWatched: (hash: string) => boolean;
  /** mean time between two blocks */
  blockMs: () => number;
  /** plain data for the side of the run */
  post: (message: unknown) => void;
  onBug: (error: Error) => void;
};

/** What pays wallets during the load, for a thread of its own: contains the funder's key. */
export type RefillPlan = {
  funder: WalletState;
  /** what it had before the load */
  funderWei: bigint;
  /** of the wallets, by position */
  addresses: string[];
  belowWei: bigint;
  /** its price may rise above the threshold */
  perOperation: { gas: bigint; valueWei: bigint };
  /** operations of a wallet at the same time */
  inFlight: number;
  /** above it the load pauses (--max-base-fee) */
  maxBaseFeeWei: bigint | null;
  /** what a wallet has afterwards */
  amountWei: bigint;
  fees: FeeState;
  chainId: number;
  blockGasLimit: number | null;
  timeoutMs: number;
  sendUrl: string | null;
};

/** What the wallets were paid during the load, by position, or why it is not known. */
export type WalletPayments = { wei: readonly bigint[] } | { why: string };

/** A rate of the window that is known at the end of the warm-up. */
export type MeasuredRate = {
  /** whether the warm-up has enough operations */
  readonly isEnough: boolean;
  /** ends the measurement */
  measure(): Promise<void>;
};

// figures of the load (stats/)

/** Durations, with a histogram. */
export interface Distribution {
  count: number;
  sumUs: number;
  /** Infinity if nothing was recorded */
  minUs: number;
  maxUs: number;
  record(valueUs: number): void;
  add(other: Distribution | DistributionJson | DistributionState): this;
  percentileUs(percentile: number): number | null;
  toJSON(): DistributionJson;
}

/** A distribution as plain data, for another thread. */
export type DistributionState = Pick<Distribution, 'count' | 'sumUs' | 'minUs' | 'maxUs'> & {
  buckets: Uint32Array;
  counts: Float64Array;
};

/** of verified operations; censored: of operations without a good answer in time, the time waited */
export type Latencies = Record<
  'lag' | 'latency' | 'fromStart' | Stage | 'censored' | 'fromStartCensored' | 'timedOut',
  Distribution
>;

/** Operations of one name, or sent to one endpoint. */
export type GroupFigures = {
  counts: OutcomeCounts;
  /** operations verified, as far as the throughput counts them in the window; of a stage, in its time */
  windowVerified: number;
  failedInWarmUp: number;
  gas: GasOfOperations;
  /** latency of the verified ones */
  sumUs: number;
  failures: Record<string, number>;
  /** of verified operations due inside the window */
  latency: Distribution;
  /** of censored operations due inside the window */
  censored: Distribution;
};

/** The figures of a run, or of a part of its time or of its wallets. */
export interface StatsFigures {
  startUs: number;
  endUs: number;
  counts: Counts;
  /** by instants inside the window */
  window: Record<keyof WindowCounts, number>;
  /** of operations verified inside the window */
  gas: GasOfOperations;
  failures: Record<string, number>;
  /** latency of operations due in each half of the planned window; without a planned end all are in the first */
  halves: Array<{ count: number; sumUs: number }>;
  /** of operations due inside the window */
  inside: Latencies;
  outside: Latencies;
  byName: Record<string, GroupFigures>;
  /** only with several endpoints */
  byEndpoint: Record<string, GroupFigures>;
  /** operations due in the window, by the index of the stage of the schedule; only with --stages */
  byStage: Record<string, GroupFigures & { counts: Counts }>;
  /** of observers, by name */
  facts: Record<string, unknown>;
}

export interface Stats extends StatsFigures {
  /** adds the figures of another part of the run */
  add(other: Stats): this;
  /** of all operations, in the window or not */
  distribution(name: keyof Latencies): Distribution;
  stages(): Record<Stage, DistributionJson>;
  toState(): StatsState;
}

/** Data with a DistributionState for each Distribution. */
type Plain<T> = {
  [K in keyof T]: T[K] extends Distribution ? DistributionState : T[K] extends object ? Plain<T[K]> : T[K];
};

/** Stats as plain data. */
export type StatsState = Plain<StatsFigures>;

export type SpanCount = Span & { verified: number; included: number };

/** What a thread reports to the throughput. */
export type SpreadReport = {
  /** since the last report */
  spans: SpanCount[];
  /** what counts before this instant was reported; exceptions are rare */
  settledUs: number;
  /** when blocks were seen last; without blocks the time of the report */
  sightedUs: number;
  /** typical time between two sightings; null: not known, or there are no blocks */
  periodUs: number | null;
  /** over how long operations are usually spread */
  spanUs: number | null;
};
