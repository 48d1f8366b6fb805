/**
 * A run as data: the run file that `--out` writes (evm-stress/run@1, docs/run.schema.json), its rows, and the figures that
 * are read from it.
 */
import type { ThreadStats } from './chain.d.ts';
import type { Check, RateStage, Sample, Schedule, Stats, TransactionStatus } from './load.d.ts';

export type Unit = 'us' | 'perSecond' | 'count' | 'percent' | 'bytes' | 'gas' | 'gasPerSecond';

export type Phase = 'warmup' | 'load' | 'drain';

/** The parts of a latency. */
export type Stage = 'queued' | 'submit' | 'inclusion' | 'readBack';

/** The levels of --ladder. */
export type Rung = 'accepted' | 'pending' | 'sync' | 'latest' | 'safe' | 'finalized';

/** What the run file takes as it was described. */
type Described = {
  id: string;
  /** why the load ended: 'duration', 'iterations', 'interrupted', ... */
  end: string;
  config: Record<string, unknown>;
  instance: InstanceFacts | null;
  environment: Record<string, unknown>;
  warnings: string[];
  /** the first message of each failure code */
  failureWords: Record<string, string>;
  reorgs: Reorgs;
  intervals: IntervalRow[];
  /** absent in files of release 0.2.0 */
  series: Series;
  audit: AuditReport | null;
  spending: Spending;
  /** why a member is null, by its JSON pointer */
  unmeasured: Record<string, string>;
};

/** A run, as `--out` writes it: evm-stress/run@1. docs/run.schema.json describes each member. */
export type RunFile = Described & {
  schema: string;
  startedAt: string;
  endedAt: string;
  partial: boolean;
  /** null: still running */
  exitCode: number | null;
  /** what each figure means */
  definitions: Readonly<Record<string, string>>;
  window: { startedAt: string; durationMs: number; counts: WindowCounts };
  counts: Counts;
  inFlight: number;
  /** of operations whose receipts were read */
  gas: GasOfOperations;
  failures: Record<string, number>;
  rates: Rates;
  /** with --rate in gas */
  gasRate?: GasRateFacts;
  latency: Record<'total' | 'fromStart' | 'timedOut' | 'censored' | 'fromStartCensored', DistributionJson> & {
    halves: Array<{ count: number; sumUs: number }>;
    /** files of older versions lack some */
    stages: Record<string, DistributionJson>;
  };
  byName: Record<string, GroupJson>;
  byEndpoint: Record<string, GroupJson>;
  /** with --stages */
  byStage?: StageJson[];
  /** with --ladder; null: the chain lacks the rung */
  ladder?: BrokenJson & { rungs: Record<string, RungJson | null> };
  /** with --check; null: without a result */
  consistency?: Consistency | null;
  lag: DistributionJson;
  blocks: BlockTotals;
  probes: Readings | null;
  generator: GeneratorFacts;
  verdict: Verdict | null;
  thresholds: ThresholdResult[];
};

/** What the run file is made of (core/describe.js). */
export type RunParts = Described & {
  startedAtMs: number;
  endedAtMs: number;
  exitCodes: number[];
  stats: Stats;
  durationUs: number;
  /** the part of the window that the rates refer to */
  ratesUs: number;
  /** between two sightings; null: not known */
  periodUs: number | null;
  inWindow: { verified: number; included: number; gas: number };
  windowStartedAtMs: number;
  generator: Omit<GeneratorFacts, 'cpuUsPerVerified'>;
  isOpenLoop: boolean;
  schedule: Schedule | null;
  /** members that observers know */
  observed: Partial<RunFile>;
  thresholds: Threshold[];
};

// counts and distributions

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

/** Operations by instants inside the window. */
export type WindowCounts = Omit<Counts, 'abandoned'> & { accepted: number; included: number };

export type OutcomeCounts = Pick<Counts, 'verified' | 'failed' | 'timedOut' | 'abandoned'>;

/** Operations verified in the window whose gas is known by their receipts. */
export type GasOfOperations = { operations: number; used: number };

/** Operations per second of the window; null if not measured. */
export type Rates = {
  askedPerSecond: number | null;
  achievedPerSecond: number | null;
  attemptedPerSecond: number | null;
  acceptedPerSecond: number | null;
  includedPerSecond: number | null;
  /** the TPS: spread over the time in which the blocks were made, like includedPerSecond and chainGasPerSecond */
  verifiedPerSecond: number | null;
  /** gas of all transactions in blocks; null for plain calls */
  chainGasPerSecond: number | null;
  /** the part of the window that these rates refer to */
  spreadMs: number;
};

/** For --rate in gas: as asked, as measured in the warm-up (null: not measured), and the operations that follow. */
export type GasRateFacts = { gasPerSecond: number; gasPerOperation: number | null; perSecond: number };

/** Figures of a group of operations: of one name, or of one endpoint. */
export type GroupJson = {
  counts: OutcomeCounts;
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
  outages: number;
  awayMs: number;
};

/** A stage of --stages, from 1. */
export type StageJson = Pick<RateStage, 'fromPerSecond' | 'toPerSecond'> &
  Record<'stage' | 'startMs' | 'endMs', number> & { tps: number | null } & Record<
    'latency' | 'censored',
    DistributionJson
  > & { counts: Counts };

/**
 * broken: operations whose finality level was reached and that no block has at the end, by cause; restored: operations that
 * a block has only because stress sent them again
 */
type Broken = { broken: Record<'lost' | 'replaced' | 'reorged' | 'unknown', number>; restored: number };

/** The same in the run file; null if not measured. */
export type BrokenJson = { [name in keyof Broken]: Broken[name] | null };

/** A rung in the run file; `latency` has the time waited for operations that did not reach it (`censored`). */
export type RungJson = BrokenJson &
  Record<'reached' | 'notReached' | 'notMeasured', number> &
  Record<'latency' | 'censored', DistributionJson>;

export type BrokenPromises = Broken & { rungs: Record<string, Broken> };

// time and blocks

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
  byEndpoint: Record<string, OutcomeCounts & { sumUs: number }>;
  /** sums of the stages of these operations */
  stages: Record<Stage, { count: number; sumUs: number }>;
  blocks: BlockTotals;
  probes: Readings;
  /** with --check consistency: those found, by code */
  violations?: Record<string, number>;
  /** time without a response about the chain at the end of the interval, and the reason */
  silence?: { ms: number; words: string };
};

export type BlockRates = { blocks: number; transactions: number; ours: number; gas: number };

/** Verified operations, and gas of all transactions in blocks, in each step of time (stats/throughput.js). */
export type Series = {
  /** of the first point, since the start of the load; below 0: before it */
  startMs: number;
  stepMs: number;
  verified: number[];
  gas: number[];
};

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

// readings of probes

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

export type SelfReading = { cpuUs: number; rssBytes: number };

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

export type ConnectionsReading = { opened: number; reused: number };

export type SocketsReading = {
  timeWait: number;
  /** ephemeral ports, both ends included */
  range: { from: number; to: number; ports: number };
  endpoints: EndpointSockets[];
};

export type EndpointSockets = { endpoint: string; timeWait: number; portsInUse: number; portsLeft: number };

/** The transaction pool of the node. */
export type PoolReading = {
  pending: number;
  /** transactions behind a missing nonce */
  queued: number;
};

/** A process of this machine, meant for a local node. */
export type NodeReading = {
  /** CPU time, user and system, all threads, in steps of 10 ms */
  cpuUs: number;
  rssBytes: number;
  threads: number;
};

/** The Prometheus page of a node. */
export type MetricsReading = {
  /** by name and labels, as on the page; without values that are not finite, which JSON cannot represent */
  series: Record<string, number>;
};

// what happened to the generator and its endpoints

/** The generator in the run file. */
export type GeneratorFacts = Omit<EngineStats, 'reorgs' | 'failureWords'> &
  Omit<ThreadStats, 'endpoints'> & {
    cpuUs: number;
    peakRssBytes: number;
    cpuUsPerVerified: number | null;
    workers: number;
    endpoints: EndpointFacts[];
    outages: Outage[];
    samplesDropped: number | null;
    /** null: arrivals were not random */
    arrivalSeed: number | null;
  };

/** Of the whole run so far. */
export type EngineStats = {
  readBackRetries: number;
  /** pauses of all wallets because calls got no response */
  pausedMs: number;
  retiredWallets: number;
  /** null: not polled */
  inclusionResolutionMs: number | null;
  headSource: 'poll' | 'subscription' | null;
  failedPolls: number;
  presigned: { used: number; discarded: number };
  resubmissions: Resubmissions;
  pauses: Pauses;
  reorgs: Reorgs;
  /** first message by failure code */
  failureWords: Record<string, string>;
};

/**
 * How often transactions were sent again. repeated: the same bytes, after a lost response or because the node was busy;
 * rebroadcast: the same bytes of a transaction that was accepted and is overdue or reorged; lost: rebroadcasts that the
 * node accepted again because it had lost the transaction; replaced: with a higher fee.
 */
export type Resubmissions = Record<'repeated' | 'rebroadcast' | 'lost' | 'replaced', number>;

/** Waiting times of all operations before retries. */
export type Pauses = {
  /** responses that limit the rate: 429, Retry-After, -32005 */
  limitAnswers: number;
  limitedMs: number;
  /** waiting before a retry after other failures */
  unansweredMs: number;
};

/** Figures of an endpoint, with several endpoints. */
export type EndpointFacts = {
  requests: number;
  failures: number;
  left: number;
  awayMs: number;
  events: Array<{ atMs: number; isBack: boolean; words: string }>;
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

// audit, verdict, thresholds

/** In wei, as decimal texts. */
export type Spending = Record<'capWei' | 'setUpWei' | 'spentWei', string | null> & { leftWei?: string | null };

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

export type Mismatch = {
  walletIndex: number;
  address: string;
  target: string | null;
  expectedEffect: string;
  effect: string;
  expectedNonce: number;
  nonce: number;
  pendingNonce: number;
};

/** A mined transaction of one of our wallets that stress did not send. */
export type Foreign = { walletIndex: number; nonce: number; hash: string; blockNumber: number };

/** outcome: verified: its block left the chain */
export type Resolution = Pick<Sample, 'walletIndex' | 'nonce' | 'hash' | 'code'> & {
  outcome: string;
  fate: TransactionStatus;
};

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

export type VerdictName =
  | 'endpoint-down'
  | 'funds'
  | 'port-bound'
  | 'endpoint-limited'
  | 'generator-bound'
  | 'rate-bound'
  | 'node-bound'
  | 'concurrency-bound'
  | 'unknown';

/** evidence: one sentence with the figures */
export type Verdict = { name: VerdictName; evidence: string };

export type Operator = '<' | '<=' | '>' | '>=' | '=' | '!=';

export type Threshold = {
  expression: string;
  figure: string;
  operator: Operator;
  limit: number | string;
  /** unit of the limit; result: of the audit */
  unit: Unit | 'result';
};

export type ThresholdResult = Threshold & {
  /** null: not measured, so that the threshold fails */
  value: number | string | null;
  /** only if the value is a lower bound because of censored operations: its upper bound; null: infinite */
  atMost?: number | null;
  /** with atMost: number of censored operations */
  censored?: number;
  passed: boolean;
  /** why there is no value */
  why?: string;
};

/** A figure that thresholds and studies can name. */
export type Figure = {
  name: string;
  unit: Unit;
  words: string;
  /** in tables; default: derived from the name */
  label?: string;
  /** default: lower */
  better?: 'higher';
  read: (run: RunFile) => number | null;
  /** bounds of a figure with censored operations */
  bounds?: (run: RunFile) => CensoredBounds;
  /** whether censored operations count in thresholds only */
  isOfVerified?: boolean;
  /** count that a limit in percent refers to */
  whole?: string;
  ofCall?: string;
  /** member of the run file that is the figure, or that has the reason why it is null */
  pointer?: string;
  /** a reason of its own */
  why?: (run: RunFile) => string | undefined;
};

/**
 * Censored values are known to be at least the time waited; they may be infinite. us: with censored values as the time
 * waited, null when nothing was recorded; atMostUs: with them as infinity, the same where that makes no difference.
 */
export type Bounds = { us: number | null; atMostUs: number };

/** censored: number of censored operations */
export type CensoredBounds = Bounds & { censored: number };
