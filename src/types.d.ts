/**
 * The contracts between the folders of src/, each once. The contract of a workload file is in workloads/contract.d.ts.
 */
import type { Spread } from './chain/endpoints.js';
import type { FeeState } from './chain/fees.js';
import type { Curve, Wallet } from './chain/keys.js';
import type { Costs } from './chain/send.js';
import type { Mismatch } from './core/audit.js';
import type { describeRun } from './core/describe.js';
import type { EngineReport, EngineStats, Plan } from './core/engine.js';
import type { Foreign, Ledger, Resolution } from './core/ledger.js';
import type { Stop } from './core/stop.js';
import type { Promised } from './core/ladder.js';
import type { Slice } from './core/nonces.js';
import type { GasRateFacts } from './core/gas-rate.js';
import type { Arrival, Schedule } from './core/pacer.js';
import type { StressError, TransportError } from './errors.js';
import type { Submit } from './inclusion/index.js';
import type { OutputStream } from './outputs/streams.js';
import type { StatusLine } from './outputs/terminal.js';
import type { CensoredBounds } from './stats/figures.js';
import type { Distribution, DistributionState } from './stats/histogram.js';
import type { MeasuredRun, buildPartialRunFile, buildRunFile } from './stats/run-file.js';
import type { RUNGS, STAGES } from './stats/sample.js';
import type { Stats } from './stats/stats.js';
import type { Span, SpreadReport } from './stats/throughput.js';
import type { Checked, Operator } from './stats/thresholds.js';
import type { compare, compareMetrics } from './studies/compare.js';
import type { Header, Headers } from './transport/headers.js';
import type { OnSent, Subscription } from './transport/index.js';
import type {
  AuditReading as OwnReading,
  AuditSnapshot,
  Authorization,
  Call as OwnCall,
  CallWorkload as OwnCalls,
  Check as OwnCheck,
  Create,
  Executed,
  Sent,
  TransactionWorkload as OwnTransactions,
  Verdict as OwnVerdict,
} from './workloads/contract.d.ts';
import type { WorkloadState } from './workloads/index.js';

// general

/** The one clock of a run. It is injected everywhere, so that tests can turn it by hand. */
export type Clock = {
  /** monotonic time in whole microseconds, from an origin that all threads share */
  nowUs: () => number;
  /** time of day in milliseconds since the Unix epoch */
  wallMs: () => number;
  /** ends after `ms`, or when the signal aborts */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** calls back once after `ms`; the result cancels it */
  after: (callback: () => void, ms: number) => () => void;
};

/** Takes texts only, so that no object that holds a key can be logged. */
export type Log = Record<'info' | 'warn' | 'error', (text: string) => void> & {
  fatal: (text: string, exitCode: number) => void;
};

// chain

export type BatchFacts = {
  limit: number;
  largest: number;
  refused: number;
  why: string | null;
};

/** The embedded development chain: the anvil binary that npm ships, on a free loopback port, under a keeper. */
export type DevChain = {
  url: URL;
  /** of the chain itself; null until it answers */
  chainPid: () => number | null;
  /** settles with the reason when the chain ends */
  ended: Promise<string>;
  stop: () => Promise<void>;
};

export type Fees = {
  mode: 'eip1559' | 'legacy';
  current: () => Fee;
  /** whether an earlier offer may still be made */
  holds: (offer: Fee) => boolean;
  /** fee of a replacement; null above --max-fee */
  raise: (offer: Fee) => Fee | null;
  /** whether the offer is below the base fee of the newest block */
  isTooLow: (offer: Fee) => boolean;
  /** plain data for createFees() in another thread */
  state: () => FeeState;
  /** highest price per gas of the current offer */
  worstPriceWei: () => bigint;
  /** expected price per gas, from the base fee */
  priceWei: () => bigint;
  /** takes the base fee of a newer block */
  observe: (baseFeeWei: bigint | null) => void;
};

/** A mnemonic or a key file. */
export type KeySource = {
  name: string;
  size: number;
  wallet: (index: number) => Wallet;
};

/** Purposes whose calls are retried, until a signal aborts or a time limit. */
export type RetryOptions = {
  clock: Clock;
  signals: Partial<Record<Purpose, AbortSignal>>;
  mostMs?: Partial<Record<Purpose, number>>;
};

export type Purpose =
  | 'setup'
  | 'load'
  | 'submit'
  | 'resubmit'
  | 'inclusion'
  | 'readback'
  | 'resolve'
  | 'audit'
  | 'probe'
  | 'check'
  | 'consistency'
  | 'follow'
  | 'ladder'
  | 'health';

export type Request = {
  method: string;
  params: unknown[];
};

export type Rpc = {
  /** the endpoint's URL without its secrets */
  display: string;
  /** secrets of the URL, which responses may repeat: for oneLine() */
  secrets: readonly string[];
  /**
   * the `result` member; onSent is told which of several endpoints it goes to. Rejects with RpcError, ProtocolError or
   * TransportError.
   */
  call: (method: string, params: unknown[], purpose: Purpose, onSent?: (endpoint?: number) => unknown) => Promise<any>;
  /**
   * like call, but what is asked in one turn of the event loop travels together, in batches as large as the node takes
   * them. For reads only.
   */
  gather: (method: string, params: unknown[], purpose: Purpose) => Promise<any>;
  /** gathers all of them; results in the order of the requests. Rejects with the first error. */
  batch: (requests: Request[], purpose: Purpose) => Promise<any[]>;
  /** null over HTTP. Resolves with a function that ends the subscription. Rejects as call does. */
  subscribe:
    | null
    | ((
        kind: 'newHeads',
        onEvent: (event: any) => void,
        onLost: (error: TransportError) => void,
      ) => Promise<() => void>);
  callCounts: () => Record<string, number>;
  /** of reads, unless the submissions are asked for */
  batchFacts: (of?: 'submissions') => BatchFacts;
};

export type Sender = {
  rpc: Rpc;
  clock: Clock;
  signer: Signer;
  fees: Fees;
  chainId: number;
  /** null: none */
  blockGasLimit?: number | null;
  timeoutMs: number;
  signal: AbortSignal;
  costs?: Costs;
};

export type Receipt = {
  transactionHash: string;
  /** 0x1, or 0x0 when the transaction was reverted */
  status: string;
  blockNumber: string;
  gasUsed: string;
  effectiveGasPrice?: string;
  contractAddress: string | null;
};

/** A signer hashes (Keccak-256) and signs digests. */
export type Signer = {
  name: string;
  sign: Curve['sign'];
  keccak256: (bytes: Uint8Array) => Uint8Array;
  /** 64 hexadecimal digits */
  keccak256Hex: (bytes: Uint8Array) => string;
};

export type Fee = {
  /** for a legacy transaction */
  gasPriceWei?: bigint;
  /** for a dynamic fee transaction */
  maxFeePerGasWei?: bigint;
  /** for a dynamic fee transaction */
  maxPriorityFeePerGasWei?: bigint;
};

/** what a transaction does, before nonce and fee */
export type Call = {
  /** null deploys a contract */
  to: string | null;
  data: string;
  value: bigint;
  gasLimit: bigint;
} & Pick<OwnCall, 'accessList' | 'authorizationList'>;

export type { Authorization };

export type SignedTransaction = {
  /** what eth_sendRawTransaction takes */
  raw: string;
  hash: string;
};

// transport

export type Reply = {
  /** HTTP status code, or 200 where the transport has none */
  status: number;
  text: string;
  /** Retry-After; null without it */
  retryAfterMs: number | null;
};

export type TransportStats = {
  requests: number;
  connectionsOpened: number;
  bytesReceived: number;
};

export type Transport = {
  /**
   * sends one body. Rejects with TransportError when no whole answer came back, or one larger than maxBodyBytes of the
   * options.
   */
  post: (body: string, onSent?: OnSent) => Promise<Reply>;
  /**
   * where an endpoint can say what it was not asked for: sends the body and listens to its connection from the answer
   * on. onPush gets each message that answers no request; onLost is called once if the connection is lost.
   */
  subscribe?: (
    body: string,
    onPush: (text: string) => void,
    onLost: (error: TransportError) => void,
  ) => Promise<Subscription>;
  stats: () => TransportStats;
  /** closes idle connections; later requests open new ones */
  closeIdle: () => Promise<void>;
  /** ends every connection at once; open requests are rejected */
  close: () => Promise<void>;
};

// inclusion

/** A block as read by an inclusion detector. */
export type Block = {
  number: number;
  hash: string;
  seenAtUs: number;
  /** null: the node states none */
  timestampS: number | null;
  baseFeeWei: bigint | null;
  gasUsed: number;
  gasLimit: number;
  /** summed gas limits of our transactions, about; absent: not known */
  ownGasLimit?: number;
  transactions: number;
  ours: number;
  /** its gas is spread from then to seenAtUs; absent: it counts when it was seen */
  spreadFromUs?: number;
};

/** Operations that were seen in blocks together, with the time over which the throughput spreads them (stats/throughput.js). */
export type Sighting = Span & {
  /** when all of it and of those before have ended, what counts before this instant is known */
  settledUs: number;
  /** operations of it that have not ended */
  open: number;
};

/** A new block of the chain, as outputs get it. */
export type SeenBlock = Block & {
  /** time of day */
  seenAtMs: number;
  /** how much later than its timestamp; null: the node states none */
  skewMs: number | null;
  /** since the previous block was seen */
  gapMs: number;
};

export type Inclusion = {
  number: number;
  hash: string;
  /** when the block had its confirmations */
  seenAtUs: number;
  /** absent: found by its receipt */
  sighting?: Sighting;
};

/** blocks that are no longer part of the chain */
export type Reorg = {
  /** of the first of these blocks */
  number: number;
  /** of the first of these blocks; null if it is not kept any more */
  hash: string | null;
  depth: number;
  /**
   * hashes of transactions in them that were watched for and not told of, for want of confirmations; they are watched
   * for again
   */
  unconfirmed: string[];
};

/** An object instead of a callback, because there is one for each operation in flight. */
export type Watcher = {
  setInclusion: (hash: string, inclusion: Inclusion) => void;
  startedAtUs?: number;
  promise?: Promised | null;
};

export type InclusionDetector = {
  /** calls setInclusion once; watch before sending */
  watch: (hash: string, watcher: Watcher) => void;
  /** submits a transaction, for detectors whose submission waits for the block */
  submit?: Submit;
  /** forgets a hash, found or not */
  unwatch: (hash: string) => void;
  /** of a hash that was found in no block yet */
  watcherOf: (hash: string) => Watcher | undefined;
  /** whether the block was read and has its confirmations */
  hasPassed: (number: number) => boolean;
  /**
   * source: how new heads are learned of now; resolutionMs: how late a block can be seen because of polling, 0 where
   * heads are pushed; silentMs: how long nothing was heard, in answer or unasked; stillMs: how long there was no new
   * block; behindMs: how long the node's head has been below blocks that were read; blockMs: mean time between two
   * blocks, lately; sightedUs: when blocks were seen last; periodUs: median time between two sightings, spanUs:
   * over how long operations are usually spread, both null while not known; newestBlock: number of the last one that was read; warning: what the user should know, in words
   */
  stats: () => {
    source: 'poll' | 'subscription';
    resolutionMs: number;
    failedPolls: number;
    lastError: Error | null;
    silentMs: number;
    stillMs: number;
    behindMs: number;
    blockMs: number;
    sightedUs: number;
    periodUs: number | null;
    spanUs: number | null;
    newestBlock: number;
    warning: string | null;
    /** what is unusual about the chain */
    note?: string | null;
  };
  /** checks the last block for a reorg, then stops */
  stop: () => Promise<void>;
};

/** The selected detector, as in the run file. */
export type Chosen = { name: string; why: string };

// workloads

/** The types of the contract with everything filled in. */
export type Check = Required<OwnCheck>;
export type Verdict = Required<Omit<OwnVerdict, 'code' | 'gasUsed'>> & Pick<OwnVerdict, 'code' | 'gasUsed'>;
export type AuditReading = Required<OwnReading>;
export type { AuditSnapshot, Executed, Sent };

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
};

export type Settings = Partial<LoadConfig>;

export type DataSet = {
  schema: string;
  chainId: number;
  /** null if the node has pruned its genesis block */
  genesisHash: string | null;
  address: string;
  /** of data of each log */
  bytes: number;
  /** logs per page */
  pageSize: number;
  /** numbers of the blocks, by page */
  blocks: number[];
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
};

type Own = Required<OwnTransactions>;

/** A workload of workloads/contract.d.ts with everything filled in. */
export type TransactionWorkload = Pick<Own, 'kind' | 'subject'> &
  Pick<OwnTransactions, 'facts' | 'valueWei'> & {
    gas: Gas;
    handOver: (first: number, count: number) => WorkloadState;
    unprepared: (preparation: Pick<Preparation, 'wallets' | 'chain'>) => Promise<number>;
    prepare: (preparation: Preparation) => Promise<void>;
    next: (position: number, nonce: number) => Call;
    /** of an operation; its figures are also counted by name */
    nameOf?: (position: number, nonce: number) => string;
    /** reads the count that verifies the operations of a wallet; it only grows */
    countCall?: (position: number) => { to: string; data: string };
    verify: (...given: Parameters<Own['verify']>) => Promise<Verdict>;
    /** without it, the effects are the nonces without reverted transactions */
    audit?: (...given: Parameters<Own['audit']>) => Promise<AuditReading[]>;
    reconcile?: (snapshot: AuditSnapshot) => Promise<Check[]>;
  };

export type CallWorkload = Pick<OwnCalls, 'kind' | 'callsPerIteration' | 'facts'> & {
  handOver: (first: number, count: number) => WorkloadState;
  prepare?: (preparation: CallPreparation) => Promise<void>;
  next: (position: number) => NamedRequest;
  check: (position: number, result: unknown, request: NamedRequest) => string | null | Promise<string | null>;
};

export type Workload = TransactionWorkload | CallWorkload;

// core

export type Surroundings = {
  clock: Clock;
  log: Log;
  outputs: Output[];
  onProgress: (label: string, done: number, all: number) => void;
  stop: Stop;
  version: string;
  /** factory of a workload object of the library */
  create?: Create;
  beforeLoad?: BeforeLoad;
};

/** Lets a run wait for other instances before its load. */
export type BeforeLoad = (options: {
  id: string;
  config: StartConfig & { threads: number; firstOffset: number };
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

/** The load, in this thread (core/engine.js) or in several (core/workers.js). */
export type Engine = {
  /** before the load; the signal ends it early */
  prepare: (signal: AbortSignal) => Promise<void>;
  start: (plan: Plan) => void;
  /** the automatic warm-up finds the start of the window during the load */
  setWindow: (plan: Plan) => void;
  /**
   * what was done since the last interval; nothing in it is proportional to the number of wallets
   */
  snapshot: (nowUs: number, endsInterval: boolean) => Promise<Snapshot>;
  /** starts no more operations; the window ends at nowUs */
  stop: (nowUs: number) => void;
  /** waits for the operations in flight, and abandons the rest after the time limit or on abort */
  drain: (timeoutMs: number, signal: AbortSignal) => Promise<Ledger>;
  close: () => Promise<void>;
};

export type Snapshot = {
  atUs: number;
  /** of the whole run so far */
  counts: Counts;
  /** null: the interval goes on */
  interval: EngineReport | null;
  /** what was recorded after the last interval */
  rest: Stats;
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

/** a snapshot for another thread */
export type SnapshotState = Omit<Snapshot, 'interval' | 'rest'> & {
  interval: (Omit<EngineReport, 'stats'> & { stats: StatsState }) | null;
  rest: StatsState;
};

export type AuditReport = {
  exact: boolean;
  /** absent in files of release 0.1 */
  result?: 'exact' | 'incomplete' | 'not_exact';
  /** checks that could not be made, with the reason */
  incomplete?: string[];
  blockNumber: number;
  blockHash: string;
  wallets: number;
  verified: number;
  includedLate: number;
  reverted: number;
  /** verified operations that a reorg removed for good */
  reorgedOut: number;
  neverSent: number;
  replaced: number;
  pending: number;
  effectsOnChain: string;
  /** operations of this run that the chain executed */
  bounds: { atLeast: string; atMost: string };
  mismatchCount: number;
  mismatches: Mismatch[];
  foreign: Foreign[];
  resolutions: Resolution[];
  subject: string;
  checks: Check[];
};

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

/** Kind, amount and length of the load. Config is checked and frozen by src/cli/config.js; the table of options explains its members. */
/** of --mix: a workload, and its weight among all members */
export type Member = { name: string; weight: number };

export type LoadConfig = LoadSize & {
  /** members that worker threads get too: of the load, without secrets */
  loadKeys: ReadonlySet<string>;
  /** of --rate 30Mgas, then without ratePerSecond */
  gasPerSecond: number | null;
  arrival: Arrival | null;
  intervalMs: number;
  drainTimeoutMs: number;
  workload: string;
  set: ReadonlyArray<readonly [string, string]>;
  /** empty: one workload */
  mix: readonly Member[];
  workers: number | 'auto';
  method: string | null;
  params: unknown[] | null;
  calls: string | null;
  data: string | null;
  checkRpc: URL | null;
  contracts: string | null;
  payload: number | null;
  /** number of receivers; null: the wallets pay each other */
  receivers: number | null;
  createReceivers: 'before' | 'during' | null;
  logBytes: number | null;
  pageSize: number | null;
  logs: string | null;
};

export type WalletConfig = {
  /** index of the first wallet of this instance */
  offset: number;
  /** index of the first wallet of all instances (-o) */
  firstOffset: number;
  keys: string | null;
  mnemonic: string | null;
  hdPath: string;
  fundFrom: string | null;
  fundAmountWei: bigint | null;
  maxSpendWei: bigint | null;
  to: string | null;
  legacy: boolean;
  gasPriceWei: bigint | null;
  maxFeeWei: bigint | null;
};

export type AllowedChain = {
  chainId: number | null;
  allowChain: number | null;
};

export type ChainConfig = AllowedChain & {
  /** endpoints of one chain; none: embedded chain */
  rpc: readonly URL[];
  /** endpoint of the submissions, if that is another one */
  sendRpc: URL | null;
  /** limit of the wait for endpoints that do not answer yet; 0: none */
  waitForMs: number;
  port: number | null;
};

export type ConnectionConfig = {
  transport: string;
  connections: number;
  requestTimeoutMs: number;
  noKeepAlive: boolean;
  insecure: boolean;
};

export type HeaderConfig = {
  /** names in lower case, with values */
  header: readonly Header[];
  headerFile: string | null;
};

/** What the load of one thread needs of the options; plain data. */
export type EngineConfig = ConnectionConfig & {
  /** of the user */
  headers: Headers;
  /** largest answer that is read */
  maxBodyBytes: number;
  /** most submissions in a batch */
  batch: number;
  fixedId: number | null;
  spread: Spread;
  txTimeoutMs: number;
  inFlight: number;
  iterations: number | null;
  thinkTimeMs: number;
};

export type NodeConfig = {
  /** kinds of checks beside the load: consistency */
  check: readonly string[];
  /** their part of the requests of the load, as a fraction */
  checkShare: number;
  inclusion: string;
  /** empty: promises are not followed */
  ladder: readonly string[];
  confirmations: number;
  nodePid: number | null;
  nodeMetrics: URL | null;
  nodeSeries: string[] | null;
};

export type OutputConfig = {
  out: string | null;
  junit: string | null;
  markdown: string | null;
  samples: string | null;
  blocks: string | null;
  hlog: string | null;
  intervals: string | null;
  prometheus: { host: string; port: number } | null;
  verbose: boolean;
  wide: boolean;
  quiet: boolean;
  explain: boolean;
  logLevel: string;
  logFormat: string;
  logFile: string | null;
  html: string | null;
  dashboard: { host: string; port: number } | null;
  /** for the run file, without secrets */
  redacted: Record<string, unknown>;
  /** as it was typed, with options from elsewhere, without secrets */
  commandLine: string;
};

export type StudyConfig = {
  thresholds: Threshold[];
  files: readonly string[];
  repeat: number | null;
  restMs: number;
  /** null: in stress find the longer of 3 minutes and 120 blocks, 20 minutes in a comparison, none in a bisection */
  timeLimitMs: number | null;
  untilSure: boolean;
  /** largest change without meaning, as a fraction */
  equivalent: number;
  seed: number | null;
  startA: string | null;
  startB: string | null;
  beforeCell: string | null;
  /** of stress bisect, like the next ones */
  good: string | null;
  bad: string | null;
  repository: string;
  build: string | null;
  start: string | null;
  dir: string | null;
  find: string | null;
  until: Threshold[];
  candidates: readonly string[];
  rpcA: URL | null;
  labelA: string | null;
  labelB: string | null;
  rpcB: URL | null;
  metrics: readonly string[];
  failIf: FailIf[];
  allowDifferent: boolean;
  over: string | null;
  study: StudyOptions;
};

/** The common start of the instances of a run. */
export type StartConfig = {
  /** index of this instance; null without --instances */
  index: number | null;
  instances: number | null;
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

/** All options of a command. The run file has them flat as well. */
export type Config = LoadConfig &
  WalletConfig &
  ChainConfig &
  Omit<EngineConfig, 'headers'> &
  HeaderConfig &
  NodeConfig &
  OutputConfig &
  StudyConfig &
  InstanceConfig;

export type ChainInfo = {
  chainId: number;
  /** null without web3_clientVersion */
  clientVersion: string | null;
  /** as in Identity */
  roundTripMs: number;
  /** null if the node has pruned its genesis block */
  genesisHash: string | null;
  head: number;
  /** null on chains without base fee */
  baseFeeWei: bigint | null;
  /** null on chains that state none, or 0 */
  blockGasLimit: number | null;
  /** mean of the last blocks, by their timestamps */
  blockSeconds: number;
};

/** Figures of an endpoint, with several endpoints. */
export type EndpointFacts = {
  requests: number;
  failures: number;
  left: number;
  awayMs: number;
  events: Array<{ atMs: number; isBack: boolean; words: string }>;
};

export type Traffic = {
  requests: number;
  /** lost requests and "not ready" responses */
  failures: number;
};

export type ThreadStats = {
  rpcCalls: Record<string, number>;
  transport: TransportStats;
  batches: BatchFacts;
  /** with --batch */
  submissionBatches?: BatchFacts;
  endpoints: Traffic[];
};

/** A linear change of the rate. */
export type RateStage = {
  fromPerSecond: number;
  toPerSecond: number;
  /** Infinity: to the end of the run */
  durationUs: number;
};

/** Waiting times of all operations before retries. */
export type Pauses = {
  /** responses that limit the rate: 429, Retry-After, -32005 */
  limitAnswers: number;
  limitedMs: number;
  /** waiting before a retry after other failures */
  unansweredMs: number;
};

// stats

export type Figure = {
  name: string;
  unit: Unit;
  words: string;
  /** in tables; default: derived from the name */
  label?: string;
  /** default: lower */
  better?: 'higher';
  read: (run: MeasuredRun) => number | null;
  /** bounds of a figure with censored operations */
  bounds?: (run: MeasuredRun) => CensoredBounds;
  /** whether censored operations count in thresholds only */
  isOfVerified?: boolean;
  /** count that a limit in percent refers to */
  whole?: string;
  ofCall?: string;
  /** member of the run file that is the figure, or that has the reason why it is null */
  pointer?: string;
  /** a reason of its own */
  why?: (run: MeasuredRun) => string | undefined;
};

export type DistributionJson = {
  count: number;
  sumUs: number;
  /** null if nothing was recorded, like all figures below */
  minUs: number | null;
  maxUs: number | null;
  meanUs: number | null;
  /** of the population */
  stddevUs: number | null;
  p50Us: number | null;
  p75Us: number | null;
  p90Us: number | null;
  p95Us: number | null;
  p99Us: number | null;
  p999Us: number | null;
  /** the histogram, compressed and in base64 (HdrHistogram V2 encoding), in microseconds */
  hdr: string;
};

export type Counts = {
  scheduled: number;
  dropped: number;
  started: number;
  verified: number;
  failed: number;
  timedOut: number;
  abandoned: number;
};

/** of verified operations; censored: of operations without a good answer in time, the time waited */
export type Latencies = Record<
  'lag' | 'latency' | 'fromStart' | Stage | 'censored' | 'fromStartCensored' | 'timedOut',
  Distribution
>;

/** Operations verified in the window whose gas is known by their receipts. */
export type GasOfOperations = { operations: number; used: number };

/** Operations of one name, or sent to one endpoint. */
export type GroupFigures = {
  counts: Pick<Counts, 'verified' | 'failed' | 'timedOut' | 'abandoned'>;
  /** operations verified, as far as the throughput counts them in the window; of a stage, in its time */
  windowVerified: number;
  gas: GasOfOperations;
  /** latency of the verified ones */
  sumUs: number;
  failures: Record<string, number>;
  /** of verified operations due inside the window */
  latency: Distribution;
  /** of censored operations due inside the window */
  censored: Distribution;
};

/** data with a DistributionState for each Distribution */
type Plain<T> = {
  [K in keyof T as T[K] extends (...args: never[]) => unknown ? never : K]: T[K] extends Distribution
    ? DistributionState
    : T[K] extends object
      ? Plain<T[K]>
      : T[K];
};

export type Rung = (typeof RUNGS)[number];

export type RungFigures = {
  /** of the operations that reached it, from when each was due */
  latency: Distribution;
  /** of the others: how long it was waited for */
  censored: Distribution;
  notMeasured: number;
};

/** Promised operations that are not in the chain at the end, by cause, and those that are in it only because stress sent them again. */
type Broken = {
  broken: Record<'lost' | 'replaced' | 'reorged' | 'unknown', number>;
  restored: number;
};

/** A rung in the run file. */
export type RungJson = {
  reached: number;
  notReached: number;
  notMeasured: number;
  latency: DistributionJson;
  censored: DistributionJson;
} & { [name in keyof Broken]: Broken[name] | null };

export type BrokenPromises = Broken & { rungs: Record<string, Broken> };

/** Stats as plain data. */
export type StatsState = Plain<Stats>;

export type BlockTotals = {
  count: number;
  firstNumber: number | null;
  lastNumber: number | null;
  transactions: number;
  ours: number;
  gasUsed: number;
  /** gas of the blocks with no transactions but ours, whose number it has; this and fullness are absent in older files */
  own?: { transactions: number; gasUsed: number };
  /** of the last block */
  gasLimit: number | null;
  /** sum of the shares of the gas limit that the blocks used, and number of blocks by this share in percent */
  fullnessSum?: number;
  fullness?: Record<string, number>;
  /** blocks without room for another transaction of average gas */
  full?: number;
  gapMaxMs?: number;
  /** time of day when a block was read minus its timestamp: minimum */
  skewMinMs: number | null;
  skewMaxMs: number | null;
  skewSumMs: number;
};

export type IntervalRow = {
  phase: Phase;
  /** since the start of the load */
  startMs: number;
  endMs: number;
  counts: Counts;
  failures: Record<string, number>;
  /** at the end of the interval */
  inFlight: number;
  /** verified operations per second, by stats/throughput.js; null for the drain */
  tps: number | null;
  /** the same of what is in blocks; absent for plain calls and the drain, and in older files */
  perSecond?: BlockRates;
  /** operations verified in the interval */
  latency: DistributionJson;
  /** from due to started, of operations due in the interval */
  lag: DistributionJson;
  byEndpoint: Record<string, Pick<Counts, 'verified' | 'failed' | 'timedOut' | 'abandoned'> & { sumUs: number }>;
  /** sums of the stages of these operations */
  stages: Record<Stage, { count: number; sumUs: number }>;
  blocks: BlockTotals;
  probes: Readings;
  /** with --check consistency: those found, by code */
  violations?: Record<string, number>;
  /** time without a response about the chain at the end of the interval, and the reason */
  silence?: { ms: number; words: string };
};

/** Verified operations, and gas of all transactions in blocks, in each step of time (stats/throughput.js). */
export type Series = {
  /** of the first point, since the start of the load; below 0: before it */
  startMs: number;
  stepMs: number;
  verified: number[];
  gas: number[];
};

export type BlockRates = { blocks: number; transactions: number; ours: number; gas: number };

export type Phase = 'warmup' | 'load' | 'drain';

export type Unit = 'us' | 'perSecond' | 'count' | 'percent' | 'bytes' | 'gas' | 'gasPerSecond';

/** A probe without a value is null; `why` has the reason by name. */
export type Readings = {
  self: SelfReading;
  loop: LoopReading | null;
  connections: ConnectionsReading;
  sockets: SocketsReading | null;
  pool: PoolReading | null;
  node: NodeReading | null;
  metrics: MetricsReading | null;
  why: Record<string, string>;
};

export type GroupJson = {
  counts: Pick<Counts, 'verified' | 'failed' | 'timedOut' | 'abandoned'>;
  windowVerified: number;
  /** absent in files of release 0.2.0 */
  gas?: GasOfOperations;
  failures: Record<string, number>;
  /** operations due in the window */
  latency: DistributionJson;
  /** censored operations due in the window; absent in files of release 0.1 */
  censored?: DistributionJson;
};

export type EndpointFigures = {
  /** with its number if another one looks the same */
  display: string;
  clientVersion: string | null;
  /** operations whose last submission went to this endpoint */
  group: GroupJson;
  tps: number | null;
  left: number;
  awayMs: number;
};

export type ReorgEvent = {
  /** since the start of the load */
  atMs: number;
  blockNumber: number;
  blockHash: string | null;
  depth: number;
  operations: number;
  touched: Array<{ walletIndex: number; nonce: number; hash: string | null }>;
  /** whether all of them are known */
  isComplete: boolean;
};

export type Reorgs = {
  count: number;
  deepest: number;
  /** operations in removed blocks; one may count more than once */
  operations: number;
  events: ReorgEvent[];
};

/** Input of the run file. */
export type RunParts = ReturnType<typeof describeRun>;

/** The result of --check consistency. */
export type Consistency = {
  /** of the requests of the load, as asked for */
  share: number;
  requests: number;
  /** number of checks by kind */
  checks: Record<string, number>;
  /** kinds that were not made at an endpoint, with the reason */
  off: Record<string, string>;
  /** by code */
  violations: Record<string, { count: number; examples: Violation[] }>;
  /** by endpoint: most blocks behind the newest block of the run, and longest time */
  lag: Record<string, { blocks: number; ms: number }>;
};

export type Violation = {
  endpoint: string;
  at: string;
  words: string;
  /** two, as a shell takes them */
  commands: string[];
};

/** Time without a response, of all endpoints. */
export type Outage = {
  /** since the load began */
  fromMs: number;
  /** absent: until the end of the run */
  toMs?: number;
  words: string;
};

/** The start of the load of all instances, as in the run file. */
export type StartFacts = {
  by: 'start-at' | 'barrier' | null;
  at: string | null;
  /** from the end of the set-up to the start of the load */
  waitedMs: number | null;
  /** by the local clock; negative if that is behind */
  lateMs: number | null;
};

/** This instance, as in the run file. */
export type InstanceFacts = {
  runId: string | null;
  index: number | null;
  instances: number | null;
  attempt: number;
  /** source of the index; null: given by the user */
  scheduler: string | null;
  offset: number;
  threads: number;
  host: string;
  start: StartFacts;
};

export type RunFile = ReturnType<typeof buildRunFile> | ReturnType<typeof buildPartialRunFile>;

export type Outcome = 'verified' | 'failed' | 'timed_out' | 'abandoned';

export type Sample = {
  /** of the wallet in the slice, from 0 */
  position: number;
  walletIndex: number;
  nonce: number;
  /** null if nothing was signed */
  hash: string | null;
  outcome: Outcome;
  /** failure code; null unless failed */
  code: string | null;
  /** due, on the run's clock */
  intendedAtUs: number;
  startedAtUs: number;
  sentAtUs: number | null;
  acceptedAtUs: number | null;
  /** block read; not before acceptedAtUs */
  includedAtUs: number | null;
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

export type Stage = (typeof STAGES)[number];

export type Threshold = {
  expression: string;
  figure: string;
  operator: Operator;
  limit: number | string;
  /** unit of the limit; result: of the audit */
  unit: Unit | 'result';
};

export type ThresholdResult = Threshold & Checked;

// probes

export type ConnectionsReading = {
  opened: number;
  reused: number;
};

/** The transaction pool of the node. */
export type PoolReading = {
  pending: number;
  /** transactions behind a missing nonce */
  queued: number;
};

export type SelfReading = {
  cpuUs: number;
  rssBytes: number;
};

/** The event loop of the thread that makes the probe. */
export type LoopReading = {
  /** busy share of the time, 0 to 1 */
  utilization: number;
  delayMeanUs: number;
  delayP99Us: number;
  delayMaxUs: number;
  gcUs: number;
  /** CPU time of the thread; Linux only */
  cpuUs?: number;
  /** time that the thread waited for a CPU; Linux only */
  waitedUs?: number;
};

/** The Prometheus page of a node. */
export type MetricsReading = {
  /** by name and labels, as on the page; without values that are not finite, which JSON cannot represent */
  series: Record<string, number>;
};

/** A process of this machine, meant for a local node. */
export type NodeReading = {
  /** CPU time, user and system, all threads, in steps of 10 ms */
  cpuUs: number;
  rssBytes: number;
  threads: number;
};

export type EndpointSockets = {
  endpoint: string;
  timeWait: number;
  portsInUse: number;
  portsLeft: number;
};

export type SocketsReading = {
  timeWait: number;
  /** ephemeral ports, both ends included */
  range: { from: number; to: number; ports: number };
  endpoints: EndpointSockets[];
};

// outputs

/** Figures of the run so far, and stages of the interval. */
export type Totals = {
  attempts: number;
  verified: number;
  /** verified operations per second since the start; null for the drain */
  runTps: number | null;
  /** of the operations verified in the interval */
  stages: Record<Stage, DistributionJson>;
  /** by rung, of the operations that reached it in the interval */
  ladder?: Record<string, { latency: DistributionJson }>;
  /**
   * the time waited for those that ended in the interval without a good answer in time; row.latency is of the others
   */
  censored?: DistributionJson;
};

/** What outputs are given beside the options. */
type OutputParts = {
  /** for text */
  stream: OutputStream;
  /** for the running interval */
  status?: StatusLine;
  /** what the run is, in a word each, for readers who have not seen its command line */
  info: Record<string, string>;
  /** which instance of a larger run this is, for figures and files that are put beside those of the others */
  instance: { runId: string | null; index: number | null; instances: number | null; attempt?: number } | null;
};

export type OutputOptions = OutputConfig & { results: string | null } & OutputParts;

/** An output shows or keeps what a run reports. It decides nothing. */
export type Output = {
  /** before the set-up: opens its port or checks its file; rejects with a StressError */
  open?: () => Promise<void>;
  /** once, before the load */
  start?: (begun: {
    /** start of the load on the run's clock */
    startUs: number;
    /** time of day then */
    startedAtMs: number;
    /** whether the operations are plain calls */
    isPlain?: boolean;
  }) => void;
  notice?: (line: string) => void;
  /** called for every operation: must be cheap; without it, samples are not sent to the main thread */
  sample?: (sample: Sample) => void;
  /** every new block, once and in order */
  block?: (block: SeenBlock) => void;
  interval?: (row: IntervalRow, totals: Totals) => void;
  /** the running interval, about twice a second during the load */
  live?: (figures: LiveFigures) => void;
  /**
   * now and then from the beginning of the load on, with what is known so far, in case that the run does not come to
   * its end; a StressError if it cannot be kept
   */
  checkpoint?: (run: RunFile) => void | Promise<void>;
  /** no load took place: removes what a checkpoint wrote */
  discard?: () => void;
  /**
   * after the last sample and the last interval, before the run file is made: writes what is left, waits no longer
   * than 5 s for it, and says what was dropped; error: why not all could be written, which finish() throws again
   */
  settle?: () => Promise<{ samplesDropped?: number; error?: StressError | null }>;
  finish?: (run: RunFile) => void | Promise<void>;
  /**
   * in place of finish where there was no load, because the endpoint or what is needed there was missing, or going on
   * could have done harm
   */
  setUpFailed?: (run: RunFile) => void | Promise<void>;
  /** at the end, also after errors: closes ports and files; never throws */
  close?: () => Promise<void>;
};

/** The running interval. */
export type LiveFigures = {
  phase: Phase;
  /** since the start of the phase */
  elapsedMs: number;
  /** of the phase; null: not known */
  lengthMs: number | null;
  /** since the start of the load */
  verified: number;
  inFlight: number;
  /** verified operations per second of the last interval before the newest sighting; null: none was seen yet */
  tps: number | null;
};

export type Address = { host: string; port: number };

// cli

export type Scheduler = 'kubernetes' | 'slurm-array' | 'slurm-gang';

export type Axis = {
  name: string;
  values: readonly string[];
};

/** an option that a search varies, from the table of options */
export type Searched = {
  name: string;
  noun: string;
  /** behind a value, in a sentence */
  behind: string;
  /** behind a value, in a table */
  short: string;
  /** of its values on the command line, such as Mgas */
  unit?: string;
  lowest: number;
  highest: number;
};

export type StudyOptions = {
  /** options with several values, in the order of src/cli/options.js */
  axes: readonly Axis[];
  /** an option whose values are all equal */
  alike: string | null;
  flags: readonly string[];
  searched: Searched | null;
  bracket: { from: string; to: string | null } | null;
  options: Readonly<Record<string, string>>;
  /** environment of a run with all options, secrets too, so that no process list shows them */
  env: Readonly<NodeJS.ProcessEnv>;
};

// studies

export type Parts = {
  clock: Clock;
  stop: Stop;
  log: Log;
  onProgress: (label: string, done: number, all: number) => void;
  version: string;
  say: (line: string) => void;
  /** rejects as a run with these arguments would */
  checkCell: (args: string[], env: NodeJS.ProcessEnv) => Promise<unknown>;
  /** environment of programs of the user: without options and secrets of stress */
  env: NodeJS.ProcessEnv;
};

export type FailIf = {
  expression: string;
  metric: string;
  operator: '<' | '>';
  limitPercent: number;
};

/** How a comparison with --until-sure ended. */
export type Sequential = {
  /** failed: a run failed in several pairs in a row */
  end: 'decided' | 'time_limit' | 'interrupted' | 'failed';
  /** of the coin that ordered the runs of each pair */
  seed: number;
  /** as a fraction */
  equivalent: number;
  timeLimitMs: number;
};

export type Comparison = ReturnType<typeof compare>;

export type ComparedMetric = ReturnType<typeof compareMetrics>['metrics'][number];

/** what the files of all studies begin with */
export type StudyFile = {
  schema: string;
  startedAt: string;
  endedAt: string | null;
  end: string;
  stress: string;
  warnings: string[];
};

/** Live pairs; end: as in Sequential, or complete. */
export type PairsFile = StudyFile & {
  /** options that must be the same to continue */
  asked: Record<string, string>;
  /** of the coin of --until-sure */
  seed: number;
  failures: PairFailure[];
};

/** a run of a pair that measured nothing, or not to its end; the second one of a pair leaves it out */
export type PairFailure = { pair: number; side: 'a' | 'b'; exitCode: number; reason: string };

/** the same in a comparison */
export type SideFailure = Omit<PairFailure, 'side'> & { side: 'base' | 'candidate' };

export type BisectFile = StudyFile & {
  end: 'running' | 'complete' | 'interrupted' | 'failed';
  /** as in PairsFile */
  asked: Record<string, string>;
  /** of the order within pairs */
  seed: number;
  /** reason by commit */
  skipped: Record<string, string>;
  pairs: BisectPair[];
  /** with their probabilities to be the first bad one */
  commits: Array<{ id: string; subject: string; probability: number }>;
  result: { reason: string; words: string; from: string; to: string; probability: number } | null;
};

/** values of the metric at the good commit and at the other one; files: their run files */
export type BisectPair = { commit: string; good: number; candidate: number; isGoodFirst: boolean; files: string[] };

/** Pairs of runs: the i-th runs of both sides were neighbours. */
export type Both = {
  base: RunFile[];
  candidate: RunFile[];
  files: { base: string[]; candidate: string[] };
  /** of --until-sure */
  sequential?: Sequential;
  /** of live pairs */
  failures?: PairFailure[];
};

/** a run of a cell; file: relative to sweep.json; complaint: error of a run that measured nothing */
export type SweepRun = { repeat: number; file: string; exitCode: number; startedAt: string; complaint: string | null };

/** one combination of settings */
export type SweepCell = {
  settings: Record<string, string>;
  /** operations per second */
  asked: number | null;
  runs: SweepRun[];
  /** one value for each of its runs */
  metrics: Record<string, Array<number | null>>;
  /** metrics that are lower bounds because of censored operations */
  atLeast?: string[];
  saturated: boolean;
  why: string | null;
};

/** a run of a search; failed: conditions that do not hold, with figures; verdict: what limited it */
export type Trial = {
  value: number;
  holds: boolean;
  failed: string[];
  file: string;
  startedAt: string;
  verdict?: { name: string; evidence: string } | null;
  /** of the CPU time of this machine that other programs used before it */
  othersShare?: number | null;
  /** what limited a failed run; isOurs: it was on our side, and the node may do more */
  limit?: { words: string; isOurs: boolean } | null;
};

export type Find = {
  name: string;
  /** of stress find: the given range with its unit; empty without one */
  range?: string;
  until: readonly string[];
  estimate: number | null;
  low: number | null;
  high: number | null;
  confidence: number;
  /** whether the rate had to be held as well */
  rateHeld?: boolean;
  sharp: boolean;
  /** why the search ended before its answer was sharp */
  stopped?: 'time' | 'fees' | null;
  /** what was the limit on our side, so that there is no answer */
  limit?: string | null;
  words: string;
  reasons?: string[];
  trials: Trial[];
};

/** of a line of cells: the option that raises the load, the other settings, and the first saturated cell if any */
export type Saturation = {
  along: string;
  at: Record<string, string>;
  settings: Record<string, string> | null;
  words: string;
};

/** where the first run was made; node: version of Node.js */
export type Environment = {
  endpoint: string;
  clientVersion: string | null;
  chainId: number | null;
  cpu: string;
  cores: number;
  node: string;
};

export type SweepFile = StudyFile & {
  id: string;
  end: 'running' | 'complete' | 'incomplete' | 'interrupted' | 'failed';
  axes: readonly Axis[];
  repeat: number;
  restMs: number;
  beforeCell?: string | null;
  options: Readonly<Record<string, unknown>>;
  environment: Environment | null;
  cells: SweepCell[];
  saturation: Saturation[];
  find: Find | null;
};
