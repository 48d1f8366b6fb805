/**
 * The contracts between the folders of src/, each once. The contract of a workload file is in workloads/contract.d.ts.
 */
import type { Spread, ThreadStats } from './chain/endpoints.js';
import type { Curve, Wallet } from './chain/keys.js';
import type { Costs } from './chain/send.js';
import type { Mismatch } from './core/audit.js';
import type { EngineReport, EngineStats, Plan } from './core/engine.js';
import type { Foreign, Ledger, Resolution } from './core/ledger.js';
import type { Stop } from './core/load.js';
import type { Slice } from './core/nonces.js';
import type { Arrival, Schedule } from './core/pacer.js';
import type { TransportError } from './errors.js';
import type { Ability, Submit } from './inclusion/index.js';
import type { BlockFacts, ClockFacts, Settled } from './outputs/output.js';
import type { Distribution, DistributionState } from './stats/histogram.js';
import type { MeasuredRun, buildPartialRunFile, buildRunFile } from './stats/run-file.js';
import type { STAGES } from './stats/sample.js';
import type { Stats } from './stats/stats.js';
import type { Checked, Operator } from './stats/thresholds.js';
import type { compare, compareMetrics } from './studies/compare.js';
import type { Environment, Saturation, SweepRun, Trial } from './studies/run-files.js';
import type { OnSent, Subscription } from './transport/index.js';
import type {
  AuditReading as OwnReading,
  AuditSnapshot,
  Check as OwnCheck,
  Create,
  Executed,
  Sent,
  Verdict as OwnVerdict,
} from './workloads/contract.d.ts';
import type { Logger } from 'pino';

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

// chain

export type BatchFacts = {
  /** how many requests go into one batch at most */
  limit: number;
  /** answered so far */
  largest: number;
  /** batches that the node did not take */
  refused: number;
  /** the words of the last refusal */
  why: string | null;
};

/** The embedded development chain: the anvil binary that npm ships, on a free loopback port, under a keeper. */
export type DevChain = {
  url: URL;
  /** of the keeper, which is also the id of the chain's process group */
  pid: number;
  /** of the chain itself, once it answers; null if it is not known */
  chainPid: () => number | null;
  /** settles with a reason when the chain ends, asked to or not */
  ended: Promise<string>;
  stop: () => Promise<void>;
};

export type Fees = {
  mode: 'eip1559' | 'legacy';
  current: () => Fee;
  /** whether an earlier offer may still be made */
  holds: (offer: Fee) => boolean;
  /** what replaces a transaction with that offer; null where it would be more than may be offered */
  raise: (offer: Fee) => Fee | null;
  /** whether it does not pay for the newest block */
  isTooLow: (offer: Fee) => boolean;
  /** what createFees makes the same again from, in another thread */
  state: () => FeeState;
  /** the most that one gas can cost at the current offer */
  worstPriceWei: () => bigint;
  /** what one gas costs now, as far as blocks tell */
  priceWei: () => bigint;
  /** takes the base fee of a newer block */
  observe: (baseFeeWei: bigint | null) => void;
};

/** Where wallets come from. */
export type KeySource = {
  /** how messages call it */
  name: string;
  /** how many wallets it has */
  size: number;
  wallet: (index: number) => Wallet;
};

/** for which purposes to ask again, until a signal aborts, and for how long at most */
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
  | 'follow'
  | 'health';

export type Request = {
  method: string;
  params: unknown[];
};

export type Rpc = {
  /** the endpoint's URL without its secrets */
  display: string;
  /** of the URL, which the endpoint may repeat: for oneLine() */
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
  /** null where the node cannot speak first. What comes back ends it. Rejects as call does. */
  subscribe:
    | null
    | ((
        kind: 'newHeads',
        onEvent: (event: any) => void,
        onLost: (error: TransportError) => void,
      ) => Promise<() => void>);
  /** calls made so far, by purpose */
  callCounts: () => Record<string, number>;
  batchFacts: () => BatchFacts;
};

export type Sender = {
  rpc: Rpc;
  clock: Clock;
  signer: Signer;
  fees: Fees;
  chainId: number;
  /** longest wait for one transaction */
  timeoutMs: number;
  signal: AbortSignal;
  /** of everything that is sent */
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
  /** as the run file states it */
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
  /** in wei */
  value: bigint;
  gasLimit: bigint;
};

export type SignedTransaction = {
  /** what eth_sendRawTransaction takes */
  raw: string;
  hash: string;
};

// transport

export type Reply = {
  /** HTTP status code, or 200 where the transport has none */
  status: number;
  /** the whole body */
  text: string;
  /** how long the endpoint asks to be left alone; null where it does not say */
  retryAfterMs: number | null;
};

export type TransportStats = {
  /** bodies handed to the transport */
  requests: number;
  /** connections opened since the start */
  connectionsOpened: number;
  /** bytes of response bodies */
  bytesReceived: number;
};

export type Transport = {
  /**
   * sends one body. Rejects with TransportError when no whole answer came back, or one larger than maxBodyBytes: at
   * most, and unless it says, those of the options.
   */
  post: (body: string, onSent?: OnSent, maxBodyBytes?: number) => Promise<Reply>;
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
  /** closes connections that are idle; new ones are opened when they are wanted */
  closeIdle: () => Promise<void>;
  /** ends every connection at once; open requests are rejected */
  close: () => Promise<void>;
};

// inclusion

/** what a detector learned of one block */
export type Block = {
  number: number;
  hash: string;
  /** when we read it */
  seenAtUs: number;
  /** as the block states it */
  timestampS: number;
  baseFeeWei: bigint | null;
  gasUsed: number;
  gasLimit: number;
  /** all in the block */
  transactions: number;
  /** those somebody watched for */
  ours: number;
};

export type Inclusion = {
  /** of the block */
  number: number;
  /** of the block */
  hash: string;
  /** when it had its confirmations */
  seenAtUs: number;
};

/** blocks that are no longer part of the chain */
export type Reorg = {
  /** of the first of them */
  number: number;
  /** of the first of them, null where it is not known any more */
  hash: string | null;
  /** how many */
  depth: number;
  /**
   * hashes of transactions in them that were watched for and not told of, for want of confirmations; they are watched
   * for again
   */
  unconfirmed: string[];
};

export type InclusionDetector = {
  /** calls back once; watch before sending */
  watch: (hash: string, found: (inclusion: Inclusion) => void) => void;
  /** sends a transaction, where that is how its block is learned of */
  submit?: Submit;
  /** forgets a hash, found or not */
  unwatch: (hash: string) => void;
  /** whether that block was read, and has its confirmations */
  hasPassed: (number: number) => boolean;
  /**
   * source: how new heads are learned of now; resolutionMs: how late a block can be seen because of polling, 0 where
   * heads are pushed; silentMs: how long nothing was heard, in answer or unasked; stillMs: how long there was no new
   * block; behindMs: how long the node's head has been below blocks that were read; blockMs: mean time between two
   * blocks, lately; newestBlock: number of the last one that was read; warning: what the user should know, in words
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
    newestBlock: number;
    warning: string | null;
  };
  /** looks once more whether the last block still counts */
  stop: () => Promise<void>;
};

/** as the run file states it: with what was asked for, and whether all endpoints can do it */
export type Chosen = Partial<Record<Ability, boolean>> & { name: string; why: string };

// workloads

export type Page = {
  fromBlock: number;
  toBlock: number;
  /** logs */
  count: number;
};

/** The types of the contract with everything filled in. */
export type Check = Required<OwnCheck>;
export type Verdict = Required<OwnVerdict>;
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
  /** null if the endpoint is not a node */
  chain: { chainId: number | null };
  /** of the slice's wallets */
  addresses: () => Promise<string[]>;
  notice: (line: string) => void;
};

/** The options of a workload. */
export type Settings = {
  /** number of wallets */
  threads?: number;
  /** bytes of calldata */
  payload?: number | null;
  /** number of receiving addresses; null: the wallets pay each other */
  receivers?: number | null;
  /** when the receivers are created on the chain */
  createReceivers?: 'before' | 'during' | null;
  /** file with the addresses of the contracts */
  contracts?: string | null;
  method?: string | null;
  params?: unknown[] | null;
  /** settings of a user's workload */
  set?: ReadonlyArray<readonly [string, string]>;
  /** name of a preset or of a file */
  calls?: string | null;
  /** file that stress prepare logs has written */
  data?: string | null;
  /** second endpoint to compare answers with */
  checkRpc?: URL | null;
};

export type DataSet = {
  schema: string;
  chainId: number;
  /** null where the node did not have its first block any more */
  genesisHash: string | null;
  /** of the contract that has emitted them */
  address: string;
  /** of the event */
  topic: string;
  /** logs in all */
  count: number;
  /** of data in each */
  bytes: number;
  /** logs of a page; the last one may have fewer */
  pageSize: number;
  /** by number */
  pages: Page[];
};

/** what the funding check reckons with */
export type Gas = {
  /** to prepare one wallet */
  perWallet: bigint;
  /** at most */
  perOperation: bigint;
  /** what they use */
  likely: { perWallet: bigint; perOperation: bigint };
  /** wei that goes along; nothing, where it is not said */
  value?: { perWallet: bigint; perOperation: bigint };
};

export type TransactionWorkload = {
  kind: 'transaction';
  gas: Gas;
  /** how many wallets prepare() would have to send something for */
  unprepared: (preparation: Pick<Preparation, 'wallets' | 'chain'>) => Promise<number>;
  prepare: (preparation: Preparation) => Promise<void>;
  /**
   * what a wallet does with a nonce, a function of the two: it is signed ahead, so it may be one that is never sent,
   * and asked for again where a fee is raised. The same object for the same call spares encoding it again.
   */
  next: (position: number, nonce: number) => Call;
  /** checks the effect of the wallet's operations as of the block that included one of them; `attempt` counts from 0 */
  verify: (
    position: number,
    executed: Executed,
    inclusion: { number: number; hash?: string },
    attempt: number,
    operation: Sent,
  ) => Promise<Verdict>;
  /** by position; reverted: how many operations of each wallet this run knows to be in a block without effect */
  audit: (blockHash: string, blockNumber: number, reverted?: readonly number[]) => Promise<AuditReading[]>;
  /** what else has to agree at that block, over all wallets; asked once, when all wallets have been read */
  reconcile?: (snapshot: AuditSnapshot) => Promise<Check[]>;
  /** what the run file states of it, once it is prepared */
  facts?: () => Record<string, unknown>;
  /** what each executed operation sends to others than the wallets; absent: not known */
  valueWei?: bigint;
  /** what grew, and how it is said: `200 counters grew by 1,000` */
  subject: string;
  /** what another thread needs to go on with a part of the positions, as the structured clone algorithm can copy it */
  handOver: (first: number, count: number) => unknown;
};

export type CallWorkload = {
  kind: 'call';
  /** how many calls of a user belong together; 1 where nothing is said */
  callsPerIteration?: number;
  /** what can be found out before the load */
  prepare?: (preparation: CallPreparation) => Promise<void>;
  /** the user's next call */
  next: (position: number) => NamedRequest;
  /**
   * what it says, in short. Throws ProtocolError or CheckError when it is no answer to that call. Time that passes
   * until a promise is kept is no latency.
   */
  check: (position: number, result: unknown, request: NamedRequest) => string | null | Promise<string | null>;
  /** as above */
  facts?: () => Record<string, unknown>;
  /** as above */
  handOver: (first: number, count: number) => unknown;
};

export type Workload = TransactionWorkload | CallWorkload;

// core

export type Tools = {
  /** wallets of all instances */
  all: Slice;
  source: KeySource;
  sender: Sender;
  onProgress: (label: string, done: number, all: number) => void;
};

/** what a run is given from outside */
export type Surroundings = {
  clock: Clock;
  log: Logger;
  outputs: Output[];
  onProgress: (label: string, done: number, all: number) => void;
  stop: Stop;
  version: string;
  /** of a workload that a program has given as an object */
  create?: Create;
};

/** The load, in this thread (core/engine.js) or in several (core/workers.js). */
export type Engine = {
  /** before the load; the signal ends it early */
  prepare: (signal: AbortSignal) => Promise<void>;
  start: (plan: Plan) => void;
  /** the automatic warm-up finds the start of the window during the load */
  setWindow: (plan: Plan) => void;
  /** what was done since the last interval; nothing in it is proportional to the number of wallets */
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
  /** operations in flight; startedAtUs: at the latest */
  open: Array<{ count: number; startedAtUs: number }>;
  /** how the law of conservation is broken */
  violation: string | null;
};

/** a snapshot for another thread */
export type SnapshotState = Omit<Snapshot, 'interval' | 'rest'> & {
  interval: (Omit<EngineReport, 'stats'> & { stats: StatsState }) | null;
  rest: StatsState;
};

export type AuditReport = {
  exact: boolean;
  /** not in files of older versions */
  result?: 'exact' | 'incomplete' | 'not_exact';
  /** what could not be checked, and why */
  incomplete?: string[];
  blockNumber: number;
  blockHash: string;
  wallets: number;
  /** operations that we say were verified */
  verified: number;
  /** operations found executed although they were not verified */
  includedLate: number;
  /** operations found in a block, without effect */
  reverted: number;
  /** operations that were executed in a block that left the chain, and did not come back */
  reorgedOut: number;
  neverSent: number;
  replaced: number;
  pending: number;
  /** what all counters grew by since the start, as the chain has it */
  effectsOnChain: string;
  /** of the operations of ours that the chain executed */
  bounds: { atLeast: string; atMost: string };
  mismatchCount: number;
  /** the first of them */
  mismatches: Mismatch[];
  foreign: Foreign[];
  resolutions: Resolution[];
  /** of the effects, as a person says it */
  subject: string;
  /** what else has to agree, over all wallets */
  checks: Check[];
};

/** everything a command needs, checked and frozen by src/cli/config.js */
/** what is done, how often and for how long */
export type LoadConfig = {
  threads: number;
  durationMs: number | null;
  warmupMs: number | 'auto';
  /** of each wallet */
  iterations: number | null;
  thinkTimeMs: number;
  /** of this instance; null for a closed loop, or stages */
  ratePerSecond: number | null;
  stages: RateStage[] | null;
  /** of an open loop */
  arrival: Arrival | null;
  /** most operations of one wallet at once */
  inFlight: number;
  intervalMs: number;
  drainTimeoutMs: number;
  /** name, or a file of the user's own */
  workload: string;
  /** settings of the latter */
  set: ReadonlyArray<readonly [string, string]>;
  workers: number | 'auto';
  /** of --workload rpc */
  method: string | null;
  /** of --workload rpc */
  params: unknown[] | null;
  /** of --workload rpc: name of a preset or of a file */
  calls: string | null;
  /** name of the file that says where prepared logs are */
  data: string | null;
  /** second endpoint that answers are held against */
  checkRpc: URL | null;
  /** another word for threads */
  users: number | null;
  /** of --workload rpc */
  fixedId: number | null;
  contracts: string | null;
  /** bytes of calldata */
  payload: number | null;
  /** of --workload transfer; null: its wallets pay each other */
  receivers: number | null;
  /** when they come to be on the chain */
  createReceivers: 'before' | 'during' | null;
  /** of stress prepare */
  logCount: number | null;
  logBytes: number;
  pageSize: number;
};

/** who sends and pays */
export type WalletConfig = {
  /** of the first wallet of this instance */
  offset: number;
  /** of the first wallet of all instances, as -o gives it */
  firstOffset: number;
  keys: string | null;
  mnemonic: string | null;
  hdPath: string;
  fundFrom: string | null;
  fundAmountWei: bigint | null;
  /** most that may be spent on fees */
  maxSpendWei: bigint | null;
  to: string | null;
  legacy: boolean;
  gasPriceWei: bigint | null;
  maxFeeWei: bigint | null;
};

/** where to */
export type ChainConfig = {
  /** endpoints of one chain; none for an embedded one */
  rpc: readonly URL[];
  chainId: number | null;
  allowChain: number | null;
  insecure: boolean;
  port: number | null;
};

/** how requests travel, and how their effects are found */
export type NetworkConfig = {
  /** of the load over several of them */
  spread: Spread;
  txTimeoutMs: number;
  requestTimeoutMs: number;
  inclusion: string;
  confirmations: number;
  transport: string;
  connections: number;
  noKeepAlive: boolean;
  nodePid: number | null;
  nodeMetrics: URL | null;
  nodeSeries: string[] | null;
};

/** what is shown and written */
export type OutputConfig = {
  out: string | null;
  junit: string | null;
  samples: string | null;
  blocks: string | null;
  hlog: string | null;
  prometheus: { host: string; port: number } | null;
  verbose: boolean;
  quiet: boolean;
  explain: boolean;
  logLevel: string;
  logFile: string | null;
  html: string | null;
  dashboard: { host: string; port: number } | null;
  /** as the run file states it */
  redacted: Record<string, unknown>;
};

/** which runs are made, compared or judged */
export type StudyConfig = {
  thresholds: Threshold[];
  /** that a command reads */
  files: readonly string[];
  /** how often each setting of a study runs */
  repeat: number | null;
  restMs: number;
  beforeCell: string | null;
  /** of a study */
  dir: string | null;
  /** the option that is searched for */
  find: string | null;
  until: Threshold[];
  /** run files of the other side */
  candidates: readonly string[];
  rpcA: URL | null;
  rpcB: URL | null;
  /** that decides a comparison */
  metric: string;
  failIf: FailIf[];
  allowDifferent: boolean;
  over: string | null;
  study: StudyOptions;
};

/** the place of this process among the instances of a run */
export type InstanceConfig = {
  /** of this instance; null where it is the only one, or knows of no others */
  index: number | null;
  /** that the run has */
  instances: number | null;
  /** how often this index was started before */
  attempt: number;
  runId: string | null;
  /** that numbered the instances; null: the user did */
  scheduler: Scheduler | null;
  /** when the load of all instances begins, since 1970 */
  startAtMs: number | null;
  /** folder where instances wait for each other */
  barrier: string | null;
  startTimeoutMs: number;
  /** folder for the run file */
  results: string | null;
  /** instances of a merge */
  expect: number | null;
  allowPartial: boolean;
};

/** All options of a command; in the run file they are flat, too. */
export type Config = LoadConfig &
  WalletConfig &
  ChainConfig &
  NetworkConfig &
  OutputConfig &
  StudyConfig &
  InstanceConfig;

export type ChainInfo = {
  chainId: number;
  /** null when the node does not say */
  clientVersion: string | null;
  /** as in Identity */
  roundTripMs: number | null;
  /** null when the node no longer has its first block */
  genesisHash: string | null;
  /** number of the latest block */
  head: number;
  /** null where blocks have none */
  baseFeeWei: bigint | null;
  blockGasLimit: number;
  /** between the last two blocks, by their timestamps; 0 when there are too few to tell */
  blockSeconds: number;
};

/** what the run file says of each, where there are several */
export type EndpointFacts = {
  requests: number;
  failures: number;
  /** how often it was left for the others */
  left: number;
  awayMs: number;
  events: Array<{ atMs: number; isBack: boolean; words: string }>;
};

/** what has been done, also when the rest fails */
export type Account = {
  wallets: number;
  transactions: number;
  wei: bigint;
};

/** a time in which the rate goes evenly from one figure to another */
export type RateStage = {
  fromPerSecond: number;
  toPerSecond: number;
  /** Infinity: to the end of the run */
  durationUs: number;
};

/** of all operations together, so that what the endpoint asked for is nobody's slowness */
export type Pauses = {
  /** that asked for less: 429, Retry-After, -32005 */
  limitAnswers: number;
  /** waiting because of them */
  limitedMs: number;
  /** waiting before the next try where there was no good answer */
  unansweredMs: number;
};

// stats

export type Figure = {
  name: string;
  unit: Unit;
  /** what it is */
  words: string;
  read: (run: MeasuredRun) => number | null;
  /** where censored operations may make it larger */
  bounds?: (run: MeasuredRun) => CensoredBounds;
  /** whether it leaves out censored operations, which only thresholds put last */
  isOfVerified?: boolean;
  /** the count that it is a share of, where the limit is in percent */
  whole?: string;
  /** the name of the calls that it is about */
  ofCall?: string;
  /** there is none */
  why?: (run: MeasuredRun) => string | undefined;
};

export type AuditResult = 'exact' | 'incomplete' | 'not_exact';

export type DistributionJson = {
  count: number;
  sumUs: number;
  /** a decimal integer, in microseconds squared */
  sumOfSquaresUs2: string;
  /** null when nothing was recorded, as are all figures below */
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
  /** operations that the pacer asked for */
  scheduled: number;
  /** scheduled, but no wallet was idle */
  dropped: number;
  started: number;
  verified: number;
  failed: number;
  timedOut: number;
  abandoned: number;
};

/** operations by instants inside the window */
export type WindowCounts = Omit<Counts, 'abandoned'> & { accepted: number; included: number };

/** of verified operations; censored: of operations without a good answer in time, the time waited */
export type Latencies = Record<
  'lag' | 'latency' | 'fromStart' | Stage | 'censored' | 'fromStartCensored' | 'timedOut',
  Distribution
>;

/** operations of one name, or those sent to one endpoint */
export type GroupFigures = {
  counts: Pick<Counts, 'verified' | 'failed' | 'timedOut' | 'abandoned'>;
  /** verified inside the window */
  windowVerified: number;
  /** latency of the verified ones */
  sumUs: number;
  /** by code */
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

/** Stats as plain data, for another thread */
export type StatsState = Plain<Stats>;

export type BlockTotals = {
  count: number;
  firstNumber: number | null;
  lastNumber: number | null;
  /** all in these blocks */
  transactions: number;
  ours: number;
  gasUsed: number;
  /** of the last of them */
  gasLimit: number | null;
  /** those without room for another transaction as large as theirs are on average */
  full?: number;
  /** the longest time without a block before one of them, or before the end of the interval */
  gapMaxMs?: number;
  /** time of day when a block was seen, less its timestamp: of all blocks the least */
  skewMinMs: number | null;
  skewMaxMs: number | null;
  /** of all blocks */
  skewSumMs: number;
};

export type IntervalRow = {
  phase: Phase;
  /** since the start of the load */
  startMs: number;
  endMs: number;
  /** what happened in it */
  counts: Counts;
  /** the rows of COUNTED */
  figures?: Record<string, number>;
  /** by code */
  failures: Record<string, number>;
  /** at its end */
  inFlight: number;
  /** verified operations per second; null for the drain */
  tps: number | null;
  /** of the operations verified in it */
  latency: DistributionJson;
  /** of the operations due in it: from due to begun */
  lag: DistributionJson;
  /** where there are several */
  byEndpoint: Record<string, Pick<Counts, 'verified' | 'failed' | 'timedOut' | 'abandoned'> & { sumUs: number }>;
  /** of the latency of those operations */
  stages: Record<Stage, { count: number; sumUs: number }>;
  blocks: BlockTotals;
  probes: Readings;
  /** at its end: for how long no look at the chain was answered, and why */
  silence?: { ms: number; words: string };
};

export type Phase = 'warmup' | 'load' | 'drain';

export type Unit = 'us' | 'perSecond' | 'count' | 'percent' | 'bytes';

/** a probe without a reading is null, and `why` has the reason under its name */
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
  /** of the whole run */
  counts: Pick<Counts, 'verified' | 'failed' | 'timedOut' | 'abandoned'>;
  /** verified inside the window */
  windowVerified: number;
  /** of the whole run, by code */
  failures: Record<string, number>;
  /** of those due inside the window, as that of all */
  latency: DistributionJson;
  /** those of them that are known to take longer than that; older run files do not have it */
  censored?: DistributionJson;
};

/** figures of a stage of --stages */
export type RateStageJson = {
  /** from 1 */
  stage: number;
  /** since the start of the window */
  startMs: number;
  endMs: number;
  fromPerSecond: number;
  toPerSecond: number;
  /** operations due in it, as below */
  counts: Counts;
  /** those verified, also later, per second of the stage */
  tps: number;
  latency: DistributionJson;
  censored: DistributionJson;
};

export type EndpointFigures = {
  /** with its place, where another one looks the same */
  display: string;
  clientVersion: string | null;
  /** operations that were sent to it last */
  group: GroupJson;
  /** verified operations of those, per second of the window */
  tps: number | null;
  /** how often it was left for the others */
  left: number;
  awayMs: number;
};

export type ReorgEvent = {
  /** when it was noticed, from the start of the load */
  atMs: number;
  /** of the first block that left the chain */
  blockNumber: number;
  /** of that block; null where it is not known any more */
  blockHash: string | null;
  /** blocks that left the chain */
  depth: number;
  /** ours that were in them */
  operations: number;
  /** the first of these */
  touched: Array<{ walletIndex: number; nonce: number; hash: string | null }>;
  /** whether none of ours in them is forgotten */
  isComplete: boolean;
};

export type Reorgs = {
  count: number;
  /** in blocks */
  deepest: number;
  /** ours that were in a block that left the chain; one may be counted more than once */
  operations: number;
  /** the first of them */
  events: ReorgEvent[];
};

/** what the assembler knows at the end of a run */
export type RunParts = {
  id: string;
  /** time of day */
  startedAtMs: number;
  endedAtMs: number;
  /** why it ended; 'running' while it goes on */
  end: string;
  /** those that something called for */
  exitCodes: number[];
  /** redacted */
  config: Record<string, unknown>;
  instance?: InstanceFacts | null;
  environment: Record<string, unknown>;
  stats: Stats;
  /** of the window, so far */
  durationUs: number;
  intervals: IntervalRow[];
  /** time of day */
  windowStartedAtMs: number;
  /** of the first failure of each code */
  failureWords: Record<string, string>;
  reorgs: Reorgs;
  generator: {
    cpuUs: number;
    peakRssBytes: number;
    workers: number;
    rpcCalls: Record<string, number>;
    transport: Record<string, number>;
    batches: object;
    endpoints: object[];
    readBackRetries: number;
    pausedMs: number;
    retiredWallets: number;
    resubmissions: { repeated: number; rebroadcast: number; lost?: number; replaced: number };
    presigned: { used: number; discarded: number };
    pauses?: Pauses;
    outages?: Outage[];
    submissionStall?: Outage;
    inclusionResolutionMs: number | null;
    headSource: 'poll' | 'subscription' | null;
    failedPolls: number;
    arrivalSeed: number | null;
    samplesDropped: number | null;
  };
  audit: object | null;
  spending: {
    capWei: string | null;
    setUpWei: string | null;
    leftWei?: string | null;
    spentWei: string | null;
    transactions: number | null;
  };
  /** whether the pacer asked for a rate */
  isOpenLoop: boolean;
  schedule?: Schedule | null;
  thresholds: Threshold[];
  /** one line each */
  warnings: string[];
  /** why a figure is null, by its JSON pointer */
  unmeasured: Record<string, string>;
};

/** of all endpoints */
export type Outage = {
  /** since the load began */
  fromMs: number;
  /** not there: it was not over when the run was */
  toMs?: number;
  /** why */
  words: string;
};

/** which of the instances of a run this is */
export type InstanceFacts = {
  /** the name that all of them have in common */
  runId: string | null;
  index: number | null;
  /** how many there are */
  instances: number | null;
  /** how often this index was started before */
  attempt: number;
  /** that numbered them; null: the user did */
  scheduler: string | null;
  /** of its own first wallet */
  offset: number;
  threads: number;
  host: string;
  /** the instant at which the load of all instances was to begin */
  start: { by: 'start-at' | 'barrier' | null; at: string | null; waitedMs: number | null; lateMs: number | null };
};

export type RunFile = ReturnType<typeof buildRunFile> | ReturnType<typeof buildPartialRunFile>;

export type Outcome = 'verified' | 'failed' | 'timed_out' | 'abandoned';

export type Sample = {
  /** of the wallet in the slice, from 0 */
  position: number;
  walletIndex: number;
  nonce: number;
  /** null when nothing was signed */
  hash: string | null;
  outcome: Outcome;
  /** why it failed, null unless it did */
  code: string | null;
  /** when it was due, on the run's clock */
  intendedAtUs: number;
  /** when it was begun: later than due when the generator was late */
  startedAtUs: number;
  /** when the transaction was written to the socket */
  sentAtUs: number | null;
  /** when the node's hash was read */
  acceptedAtUs: number | null;
  /** when its block was seen, not before it was accepted */
  includedAtUs: number | null;
  /**
   * when that block was seen where the effect is read back, not before it was seen at all; null where it is read at
   * the same endpoint
   */
  visibleAtUs: number | null;
  /** when the effect was read back, or when it was given up */
  endedAtUs: number;
  blockNumber: number | null;
  /** what was read back, for instance the count */
  effect: string | null;
  /** what was acted on, for instance the contract */
  target: string | null;
  /** of its kind, where there are several */
  name: string | null;
  /** that it was sent to last, by its place among them; null where there is one */
  endpoint: number | null;
};

export type Stage = (typeof STAGES)[number];

export type Threshold = {
  /** as it was given */
  expression: string;
  figure: string;
  operator: Operator;
  limit: number | string;
  /** of the limit and of the value that is held against it; result: of the audit, in words */
  unit: Unit | 'result';
};

export type ThresholdResult = Threshold & Checked;

// probes

/** The connections of the transport. */
export type ConnectionsReading = {
  /** connections opened */
  opened: number;
  /** requests that went over a connection that was already open */
  reused: number;
};

/** The transaction pool of the node. */
export type PoolReading = {
  /** transactions that could be in the next block */
  pending: number;
  /** transactions that wait for an earlier nonce */
  queued: number;
};

/** This process. */
export type SelfReading = {
  /** CPU time used, user and system, all threads */
  cpuUs: number;
  /** resident memory now */
  rssBytes: number;
};

/** The event loop of the thread that makes the probe. */
export type LoopReading = {
  /** the part of the time in which the loop was busy, 0 to 1 */
  utilization: number;
  /** how much later than asked for a timer fired */
  delayMeanUs: number;
  delayP99Us: number;
  delayMaxUs: number;
  /** time in garbage collection */
  gcUs: number;
  /** CPU time of the thread; not there where the system does not say (it is not Linux) */
  cpuUs?: number;
  /** time in which the thread could have run and other threads or programs had the CPUs */
  waitedUs?: number;
};

/** The Prometheus page of a node. */
export type MetricsReading = {
  /** by name and labels as the page writes them. Values that are not finite are left out: JSON has no word for them. */
  series: Record<string, number>;
};

/** A process of this machine, meant for a local node. */
export type NodeReading = {
  /** CPU time used, user and system, all threads; the system counts it in steps of 10 ms */
  cpuUs: number;
  /** resident memory now */
  rssBytes: number;
  threads: number;
  /** open files and sockets; null where we may not look */
  descriptors: number | null;
  /** the reason for the null */
  why?: { descriptors: string };
};

export type EndpointSockets = {
  /** host:port */
  endpoint: string;
  /** connections towards it that are closed and linger in TIME_WAIT */
  timeWait: number;
  /** ports of the range that something on this machine holds towards it, in any state */
  portsInUse: number;
  /** ports of the range that are still free towards it */
  portsLeft: number;
};

export type SocketsReading = {
  /** sockets in TIME_WAIT, towards anybody */
  timeWait: number;
  /** the ephemeral ports, both ends included */
  range: { from: number; to: number; ports: number };
  endpoints: EndpointSockets[];
};

// outputs

/** of the run so far, and what the row of an interval has no room for */
export type Totals = {
  attempts: number;
  verified: number;
  /** verified operations per second since the start; null for the drain */
  runTps: number | null;
  /** of the operations verified in the interval */
  stages: Record<Stage, DistributionJson>;
  /**
   * the time waited for those that ended in the interval without a good answer in time; row.latency is of the others
   */
  censored?: DistributionJson;
};

export type Output = {
  /** before the set-up: takes its port, sees whether its file can be written; a StressError if not */
  open?: () => Promise<void>;
  /** once, before the load */
  start?: (clock: ClockFacts) => void;
  /** one line worth knowing */
  notice: (line: string) => void;
  /** false: it does nothing with them, so that they need not be brought to it */
  wantsSamples: boolean;
  /** called for every iteration: cheap */
  sample: (sample: Sample) => void;
  /** every new block, once and in order */
  block?: (block: BlockFacts) => void;
  interval: (row: IntervalRow, totals: Totals) => void;
  /**
   * now and then from the beginning of the load on, with what is known so far, in case that the run does not come to
   * its end; a StressError if it cannot be kept
   */
  checkpoint?: (run: RunFile) => void | Promise<void>;
  /** nothing was loaded: what a checkpoint wrote goes */
  discard?: () => void;
  /**
   * after the last sample and the last interval, before the run file is made: writes what is left, waits no longer
   * than 5 s for it, and says what was dropped
   */
  settle?: () => Promise<Settled>;
  finish: (run: RunFile) => void | Promise<void>;
  /**
   * in place of finish where there was no load, because the endpoint or what is needed there was missing, or going on
   * could have done harm
   */
  setUpFailed?: (run: RunFile) => void | Promise<void>;
  /** at the very end, also after errors: gives back ports and files; never throws */
  close?: () => Promise<void>;
};

export type Address = { host: string; port: number };

// cli

export type Scheduler = 'kubernetes' | 'slurm-array' | 'slurm-gang';

export type Axis = {
  /** of the option */
  name: string;
  /** as they would be given */
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
  lowest: number;
  highest: number;
};

export type StudyOptions = {
  /** those options of which several values were given, in the order of src/cli/options.js */
  axes: readonly Axis[];
  /** an option whose several values are all the same, as it was given */
  alike: string | null;
  /** names of all options that were given on the command line */
  flags: readonly string[];
  /** what is searched in, where something is */
  searched: Searched | null;
  bracket: { from: string; to: string | null } | null;
  /** what all runs are given, by name and as text, without secrets */
  options: Readonly<Record<string, string>>;
  /** of a run: it has all of these options in it, the secrets too, so that no process list shows them */
  env: Readonly<NodeJS.ProcessEnv>;
};

// studies

export type Parts = {
  clock: Clock;
  stop: Stop;
  log: Logger;
  onProgress: (label: string, done: number, all: number) => void;
  version: string;
  say: (line: string) => void;
  /** rejects as a run with them would */
  checkCell: (args: string[], env: NodeJS.ProcessEnv) => Promise<unknown>;
  /** for programs of the user's: without our options, and the secrets among them */
  env: NodeJS.ProcessEnv;
};

export type FailIf = {
  /** as it was given */
  expression: string;
  /** a figure's name */
  metric: string;
  operator: '<' | '>';
  /** the candidate's change against the base */
  limitPercent: number;
};

export type Comparison = ReturnType<typeof compare>;

export type ComparedMetric = ReturnType<typeof compareMetrics>['metrics'][number];

/** whole pairs: the i-th of each side were made one after the other */
export type Both = {
  base: RunFile[];
  candidate: RunFile[];
  files: { base: string[]; candidate: string[] };
};

/** one combination of settings */
export type SweepCell = {
  /** by the name of the option */
  settings: Record<string, string>;
  /** operations per second */
  asked: number | null;
  runs: SweepRun[];
  /** one value for each of its runs */
  metrics: Record<string, Array<number | null>>;
  /** metrics that may be larger in some run, because operations are censored */
  atLeast?: string[];
  saturated: boolean;
  why: string | null;
};

export type Find = {
  /** of the option */
  name: string;
  until: readonly string[];
  estimate: number | null;
  low: number | null;
  high: number | null;
  confidence: number;
  /** whether the rate had to be held as well, although no condition says so */
  rateHeld?: boolean;
  sharp: boolean;
  words: string;
  trials: Trial[];
};

export type SweepFile = {
  schema: string;
  id: string;
  startedAt: string;
  endedAt: string | null;
  end: 'running' | 'complete' | 'incomplete' | 'interrupted' | 'failed';
  /** its version */
  stress: string;
  axes: readonly Axis[];
  repeat: number;
  restMs: number;
  /** how the SHA-256 of the command of --before-cell begins; older files lack it */
  beforeCell?: string | null;
  /** what all runs are given, without secrets */
  options: Readonly<Record<string, unknown>>;
  /** of the first run */
  environment: Environment | null;
  cells: SweepCell[];
  saturation: Saturation[];
  find: Find | null;
  warnings: string[];
};
