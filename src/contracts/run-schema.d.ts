/** Generated from docs/run.schema.json by npm run run:schema. Do not edit. */

/** One whole run of stress as one JSON document, written by --out. Units are the last part of a name: Us microseconds, Ms milliseconds, Us2 microseconds squared, PerSecond, Bytes. A figure that was not measured is null, and `unmeasured` says why. `definitions` in the file says what each figure means. */
export type RunFile = {
  /** Name and version of this format. */
  schema: 'evm-stress/run@1';
  /** Unique to this run. */
  id: string;
  /** When the set-up began, time of day in UTC. */
  startedAt: string;
  /** Time of day in UTC when the audit ended. In the file of a running run: the instant of its figures. */
  endedAt: string;
  /** Why the load ended: the first reason there was; set_up_failed: there was none, and the warning says why. running: the file was written while the run went on. */
  end: RunEnd;
  /** True of a file that does not have the whole run: it was written while the run went on (end is running), and nothing was written after it. */
  partial: boolean;
  /** The exit code of the process; null: the run has not ended. */
  exitCode: number | null;
  config: RunConfig;
  /** Which of the instances of a run this is; null where no index, no name of a run and no common start was given. */
  instance: InstanceFacts | null;
  environment: RunEnvironment;
  /** What each figure means, in a sentence. */
  definitions: {
    window: string;
    attempts: string;
    verified: string;
    failed: string;
    timedOut: string;
    abandoned: string;
    dropped: string;
    tps: string;
    rates: string;
    latency: string;
    fromStart: string;
    lag: string;
    stages: string;
    percentiles: string;
    skew: string;
    cpuUsPerVerified: string;
    verdict: string;
    audit: string;
    resubmissions: string;
    reorgs: string;
  };
  /** What the probes found worth a word, each once. */
  warnings: Array<string>;
  /** The measured part of the run: set-up, warm-up and drain are outside. */
  window: { startedAt: string; durationMs: number; counts: WindowCounts };
  /** Operations of the whole run, drain included. */
  counts: Counts;
  /** Operations started that have not ended: 0 when the run is over, unless a worker thread died. */
  inFlight: number;
  gas?: GasOfOperations;
  /** Failed operations of the whole run, by code. */
  failures: Record<string, number>;
  /** The words of the first failure of each code, where there are any; of answers_differ the first of each recorded request (answers_differ of eth_call, line 7), up to 100. */
  failureWords: Record<string, string>;
  /** Blocks that left the chain in mid-run. */
  reorgs: Reorgs;
  /** Per second of the window. Null for a window of no length. */
  rates: Rates;
  /** With --rate in gas: what was asked for, the gas of an operation as measured in the warm-up (null: not measured), and the operations per second that follow. */
  gasRate?: GasRateFacts;
  /** Latency of operations that were due inside the window, those that ended in the drain included. total.count = verified + censored.count; total.sumUs = censored.sumUs + the sumUs of the stages. */
  latency: {
    /** From due to read back; a censored operation counts with the time it was waited for. */
    total: DistributionJson;
    /** The same operations from when each was begun: what a measurement that leaves out its own lateness would see. */
    fromStart: DistributionJson;
    /** The timed-out operations that are part of total, alone. */
    timedOut: DistributionJson;
    /** All operations that are part of total without a good answer: timed out, lost, abandoned, or a plain call that timed out. Each takes at least the time it was waited for. Files of older versions do not have it: there it is timedOut. */
    censored?: DistributionJson;
    /** The same operations as they are part of fromStart. */
    fromStartCensored?: DistributionJson;
    /** Parts of the latency of verified operations, which add up to the whole. */
    stages: {
      /** Due to written to the socket; signing is in it. */
      queued: DistributionJson;
      /** To the hash read back; with --inclusion sync to the receipt, once a block has it. */
      submit: DistributionJson;
      /** To the block seen, with --confirmations to the last of those on top. */
      inclusion: DistributionJson;
      /** In files of earlier versions, with --spread apart: to that block seen at the endpoint that the effect is read from. */
      visibility?: DistributionJson;
      /** To the effect read back. */
      readBack: DistributionJson;
    };
    /** What of total was due in the first and in the second half of the window as it was planned; all in the first where its end was not known beforehand. */
    halves: Array<{ count: number; sumUs: number }>;
  };
  /** Operations by the name of their kind, where there are several. */
  byName: Record<string, GroupJson>;
  /** Operations by the endpoint that they were sent to last, by its place in environment.endpoints, where there are several. */
  byEndpoint: Record<string, GroupJson>;
  /** Only with --stages: operations by the stage in which they were due; a stage that had not begun is not there. */
  byStage?: Array<StageJson>;
  /** With --ladder: the promises that the node made of the operations due in the window. broken and restored: each operation once. */
  ladder?: {
    broken: BrokenCounts | null;
    /** Operations in the chain at the end that the node did not know for a time, so that stress sent them again. */
    restored: number | null;
    rungs: Partial<Record<Rung, RungJson | null>>;
  };
  /** From due to begun, or to dropped, of the operations due inside the window. */
  lag: DistributionJson;
  /** What happened between two reports, in order; the drain is the last one. Above 2,000 neighbours are merged. */
  intervals: Array<IntervalRow>;
  /** The throughput over time: verified operations, and gas of all transactions, in each step. The verified ones add up to counts.verified. Absent in files of release 0.2.0. */
  series?: Series;
  /** All blocks of the window. */
  blocks: BlockTotals;
  /** All readings of the window: what happened added up, of what was seen the worst, means weighted by time. */
  probes: Readings | null;
  generator: GeneratorFacts;
  /** What the chain says of this run, read at one block; null when it was not made: after a run of transactions that ended, it is incomplete then. */
  audit: AuditReport | null;
  /** With --evidence: the file that lets others check the run, of each instance. */
  evidence?: { sha256: Array<string>; isSigned: boolean };
  /** With --node-profile: where the CPU time of each node went in the window; null when there is no result. */
  nodeProfile?: Array<NodeProfile> | null;
  /** With --check consistency: what comparing answers of the endpoints found; null when there is no result. */
  consistency?: Consistency | null;
  /** With --pool-target or --max-base-fee: how the load was held back in the window. */
  pace?: PaceFacts;
  /** With --refill-below: what the funder paid to wallets during the load, by receipts. */
  refills?: {
    /** Transactions of the funder; null, like the others, where the thread that pays did not end. */
    transactions: number | null;
    /** To a wallet; a transaction makes many. */
    payments: number | null;
    /** What the wallets got, in wei: it is not spent. */
    valueWei: string | null;
    /** What the gas of the transactions cost, in wei: a part of spentWei. */
    gasWei: string | null;
  };
  /** Fees, in wei; what moves between wallets of the run is not spent, and value that transactions of a workload send away is not counted. */
  spending: Spending;
  /** What limited the run; null: no operation was due in the window, or the run has not ended. */
  verdict: Verdict | null;
  /** Each --threshold in the order given, and whether it held. */
  thresholds: Array<ThresholdResult>;
  /** Only in the run file that stress merge writes: which instances it is the sum of. Its window and rates are of the common window; its latency covers each instance's own window. */
  merged?: Merged | null;
  /** Why a figure is null, by its JSON pointer (RFC 6901); the reason holds for all nulls below the pointer. Not listed are the figures of a distribution or of blocks whose count is 0, the rate of the drain, and options that were not given. */
  unmeasured: Record<string, string>;
};

/** Why the load ended: the first reason there was; set_up_failed: there was none, and the warning says why. running: the file was written while the run went on. */
export type RunEnd =
  | 'running'
  | 'duration'
  | 'iterations'
  | 'interrupted'
  | 'terminated'
  | 'hangup'
  | 'output_closed'
  | 'foreign_sender'
  | 'no_wallets'
  | 'workload_failed'
  | 'max_spend'
  | 'max_value'
  | 'endpoint_lost'
  | 'chain_replaced'
  | 'worker_died'
  | 'chain_ended'
  | 'audit_failed'
  | 'set_up_failed'
  | 'internal';

/** The options of the command as they were in force, each under its name in camel case, with the unit behind it (durationMs of --duration); null: not given. docs/cli.md lists the options. Secrets are not in it. */
export type RunConfig = {
  command: 'run';
  /** Wallets of the slice. */
  threads: number;
  /** Index of the first wallet. */
  offset: number;
  /** The endpoint without its secrets, a list where there are several; null for an embedded chain. */
  rpc: string | null | Array<string>;
  /** Null: until interrupted. */
  durationMs: number | null;
  /** Operations per second that were asked for. */
  ratePerSecond?: number | null;
  gasPerSecond?: number | null;
  stages?: string | null;
  /** Operations of each wallet. */
  iterations?: number | null;
  /** Operations of a wallet at the same time. */
  inFlight?: number | null;
  poolTarget?: string | null;
  maxBaseFeeWei?: string | null;
  nonceOrder?: string | null;
  duplicateShare?: number | null;
  replaceShare?: number | null;
  thinkTimeMs?: number | null;
  intervalMs?: number | null;
  confirmations?: number | null;
  mix?: Array<string>;
  workload: string;
  mnemonic: '[redacted]' | null;
  fundFrom: '[redacted]' | null;
  [name: string]: unknown;
};

export type InstanceFacts = {
  /** The name that all instances of one run have in common. */
  runId: string | null;
  /** Which of them this is; null: it knows of no others. */
  index: number | null;
  /** How many there are. */
  instances: number | null;
  /** How often this index was started before. */
  attempt: number;
  /** Who numbered them; null: the user did. */
  scheduler: 'kubernetes' | 'slurm-array' | 'slurm-gang' | null;
  /** Index of the first wallet of this instance; config.offset is that of the first of all instances. */
  offset: number;
  /** Wallets of this instance. */
  threads: number;
  /** Name of the machine, or of what it takes for one. */
  host: string;
  start: StartFacts;
};

export type StartFacts = {
  /** What the instances went by to begin together; null: this one began when it was ready. */
  by: 'start-at' | 'barrier' | null;
  /** When the load of all of them was to begin, its warm-up included. */
  at: string | null;
  /** From the end of the set-up to the beginning of the load; null before that. */
  waitedMs: number | null;
  /** By how much the load began after that instant, by the clock of this machine; less than 0 where this clock is behind that of index 0. */
  lateMs: number | null;
};

/** What the run ran on and with. */
export type RunEnvironment = {
  /** As it was typed, with the options of the environment and the config file. A variable stands for each secret. */
  commandLine?: string;
  /** The search for the highest rate with the load of this run. Earlier versions do not have it. */
  findCommand?: FindCommand;
  /** Version of stress. */
  stress: string;
  /** Version of Node.js. */
  node: string;
  /** Operating system, architecture, release. */
  platform: string;
  cpu: string;
  /** Cores that this process may use. */
  cores: number;
  memoryBytes: number;
  /** The endpoint without its secrets; the first of several. */
  endpoint: string;
  /** Endpoint of the submissions (--send-rpc), without its secrets. */
  sendEndpoint?: string;
  /** All of them, where there are several. Merged runs of one endpoint do not have it. */
  endpoints?: Array<{ display: string; clientVersion: string | null }>;
  /** Whether stress started the chain itself. */
  embeddedChain: boolean;
  /** web3_clientVersion; null when the node does not say. */
  clientVersion: string | null;
  /** The faster of two exchanges with the endpoint before the load, one at a time. */
  roundTripMs?: number | null;
  chainId: number | null;
  /** Null when the node no longer has its first block. */
  genesisHash: string | null;
  /** Gas limit of the latest block before the load; null if the chain states none, or 0. */
  blockGasLimit: number | null;
  feeMode: 'eip1559' | 'legacy' | null;
  /** The library that signed; ethers in older run files only. */
  signer: 'secp256k1' | 'tiny-secp256k1' | 'ethers' | null;
  transport: { name: string; why?: string; connections: number; keepAlive: boolean };
  /** What the workload says of itself, by names of its own. */
  workload: Record<string, unknown>;
  inclusion: {
    /** The detector that was used. */
    name: 'heads' | 'blocks' | 'sync' | 'receipts';
    why: string;
    /** In files of earlier versions, as the members below: all endpoints answered eth_subscribe. */
    pushesHeads?: boolean;
    /** Its blocks list the hashes of their transactions. */
    listsTransactions?: boolean;
    /** It has eth_sendRawTransactionSync (EIP-7966). */
    submitsSync?: boolean;
    /** It has eth_getTransactionReceipt. */
    servesReceipts?: boolean;
  } | null;
};

/** The search for the highest rate with the load of this run. Earlier versions do not have it. */
export type FindCommand = { command: string; without: Array<string>; variables: Array<string> };

/** Events whose instant lies inside the window, whenever the operation began; scheduled, dropped and started go by when the operation was due. */
export type WindowCounts = {
  /** Operations due: dropped + started. */
  scheduled: number;
  /** Due, but no wallet was idle. */
  dropped: number;
  started: number;
  /** Hashes read back from the node; null in a merge whose instances were not in their windows at the same time. */
  accepted: number | null;
  /** Blocks seen that hold the operation; null as accepted is. */
  included: number | null;
  /** Effects read back and found right. */
  verified: number;
  failed: number;
  timedOut: number;
};

/** scheduled = dropped + started; started = verified + failed + timedOut + abandoned + those in flight, of which there are none when the run is over. */
export type Counts = {
  /** Operations that were due. */
  scheduled: number;
  /** Operations that were due while no wallet was idle. */
  dropped: number;
  /** Operations started. */
  started: number;
  /** Operations that ended as verified. */
  verified: number;
  /** Operations that ended as failed. */
  failed: number;
  /** Operations that ended as timed_out. */
  timedOut: number;
  /** Operations that ended as abandoned. */
  abandoned: number;
};

/** Operations verified in the window whose gas is known by their receipts, and that gas. Absent in files of release 0.2.0. */
export type GasOfOperations = { operations: number; used: number };

/** Blocks that left the chain in mid-run. */
export type Reorgs = { count: number; deepest: number; operations: number; events: Array<ReorgEvent> };

export type ReorgEvent = {
  /** When it was noticed, from the start of the load. */
  atMs: number;
  /** Number of the first block that left the chain. */
  blockNumber: number;
  /** Hash of that block; null where it was not remembered. */
  blockHash: string | null;
  /** Blocks that left the chain. */
  depth: number;
  operations: number;
  /** None of ours in these blocks was forgotten. */
  isComplete: boolean;
  /** The first of these operations. */
  touched: Array<{ walletIndex: number; nonce: number; hash: string | null }>;
};

/** Per second of the window. Null for a window of no length. */
export type Rates = {
  /** Operations due by the schedule (window.counts.scheduled); null where no rate was asked for. */
  askedPerSecond: number | null;
  /** Open loops: operations due in the window that were verified, those that ended in the drain included; null where no rate was asked for. */
  achievedPerSecond: number | null;
  /** window.counts.started over window.durationMs. */
  attemptedPerSecond: number | null;
  /** window.counts.accepted over window.durationMs. */
  acceptedPerSecond: number | null;
  /** Operations in blocks, spread over the time in which their blocks were made. */
  includedPerSecond: number | null;
  /** This is the TPS: operations verified, spread over the time in which their blocks were made; plain calls at their instant. Files of release 0.2.0 have window.counts.verified over window.durationMs. */
  verifiedPerSecond: number | null;
  /** Gas of all transactions, spread over the time in which their blocks were made; null for plain calls. Absent in files of release 0.2.0. */
  chainGasPerSecond?: number | null;
  /** The part of the window, from its start, that the rates of blocks refer to: all of it, or up to its last block if the drain ended before the next one. Absent in files of release 0.2.0. */
  spreadMs?: number;
};

/** With --rate in gas: what was asked for, the gas of an operation as measured in the warm-up (null: not measured), and the operations per second that follow. */
export type GasRateFacts = { gasPerSecond: number; gasPerOperation: number | null; perSecond: number };

/** A distribution of durations in microseconds. count, sum, minimum and maximum are exact; percentiles and the standard deviation come from the histogram, which has three significant digits. */
export type DistributionJson = {
  count: number;
  sumUs: number;
  sumOfSquaresUs2?: string;
  minUs: number | null;
  maxUs: number | null;
  meanUs: number | null;
  /** Standard deviation of the population. */
  stddevUs: number | null;
  p50Us: number | null;
  p75Us: number | null;
  p90Us: number | null;
  p95Us: number | null;
  p99Us: number | null;
  /** The 99.9th percentile. */
  p999Us: number | null;
  /** The histogram, compressed (HdrHistogram V2 encoding), in microseconds. */
  hdr: string;
};

export type GroupJson = {
  /** Counts of the whole run. */
  counts: OutcomeCounts;
  /** Verified operations of the window, spread like rates.verifiedPerSecond: no whole number. */
  windowVerified: number;
  /** Those of counts.failed that failed in the warm-up: figures of failures leave them out. */
  failedInWarmUp?: number;
  gas?: GasOfOperations;
  /** Failures of the whole run, by code. */
  failures: Record<string, number>;
  /** Latency of those due inside the window. */
  latency: DistributionJson;
  /** Those of them that got no good answer in time, as latency/censored. */
  censored?: DistributionJson;
};

/** Counts of the whole run. */
export type OutcomeCounts = { verified: number; failed: number; timedOut: number; abandoned: number };

export type StageJson = {
  stage: number;
  /** Since the start of the window. */
  startMs: number;
  /** The end of the stage, or of the window. */
  endMs: number;
  fromPerSecond: number;
  toPerSecond: number;
  counts: Counts;
  /** Verified operations per second of the stage, spread over the time of their blocks. Null: the drain ended before a block of the stage was seen. */
  tps: number | null;
  latency: DistributionJson;
  /** Those of them that got no good answer in time, as latency/censored. */
  censored: DistributionJson;
};

/** Operations that are not in the chain at the end, by cause. unknown: nothing proves why, or that they will not be in it. */
export type BrokenCounts = { lost: number; replaced: number; reorged: number; unknown: number };

/** Operations due in the window. null: the chain lacks the rung, and unmeasured says why. */
export type RungJson = {
  reached: number;
  /** Operations that did not reach it, of those that the node accepted or did not answer in time. */
  notReached: number;
  /** More of them waited than are kept. */
  notMeasured: number;
  /** From due to the rung; those that did not reach it count with the time that it was waited for. */
  latency: DistributionJson;
  /** Those that did not reach it, alone. */
  censored: DistributionJson;
  broken: BrokenCounts | null;
  /** Operations in the chain at the end that the node did not know for a time, so that stress sent them again. */
  restored: number | null;
};

export type Rung = 'accepted' | 'pending' | 'preconfirmed' | 'sync' | 'latest' | 'safe' | 'finalized';

export type IntervalRow = {
  /** Before the window, inside it, or after it, when no new operations are started. */
  phase: Phase;
  /** Milliseconds since the load began. */
  startMs: number;
  /** Milliseconds since the load began. */
  endMs: number;
  /** With --check consistency: contradictions found in the interval, by code. */
  violations?: Record<string, number>;
  /** With --refill-below: what the funder paid in the interval; without gasWei, receipts did not state it. */
  refills?: {
    payments: number;
    valueWei: string | null;
    gasWei?: string | null;
    funderWei?: string | null;
  };
  /** With --pool-target or --max-base-fee. */
  pace?: { pausedMs: number; depth?: PoolDepth };
  /** The longest time in which the node answered no request for the head or a block, if it ended in the interval or still lasted at its end; absent if the node answered. */
  silence?: { ms: number; words: string };
  /** What happened in it. */
  counts: Counts;
  failures: Record<string, number>;
  /** Operations in flight at its end. */
  inFlight: number;
  /** Verified operations per second, spread like rates.verifiedPerSecond; null for the drain, after the last block if the drain was cut short, and in --intervals if the next block came too late. */
  tps: number | null;
  /** The same of what is in blocks. Absent for plain calls, the drain, and in files of release 0.2.0. */
  perSecond?: BlockRates;
  /** Latency of the operations verified in it. */
  latency: DistributionJson;
  /** From due to begun, or to dropped, of the operations due in it. */
  lag: DistributionJson;
  /** The stages of the latency of the operations verified in it: enough for their means. */
  stages: {
    queued: { count: number; sumUs: number };
    submit: { count: number; sumUs: number };
    inclusion: { count: number; sumUs: number };
    visibility?: { count: number; sumUs: number };
    readBack: { count: number; sumUs: number };
  };
  blocks: BlockTotals;
  probes: Readings;
  /** What ended in it, by endpoint, where there are several. */
  byEndpoint?: Record<string, { verified: number; failed: number; timedOut: number; abandoned: number; sumUs: number }>;
};

/** Before the window, inside it, or after it, when no new operations are started. */
export type Phase = 'warmup' | 'load' | 'drain';

/** Transactions in the pool of the node (txpool_status: pending and queued), ten times a second. */
export type PoolDepth = { samples: number; near: number; sum: number; min: number; max: number };

/** The same of what is in blocks. Absent for plain calls, the drain, and in files of release 0.2.0. */
export type BlockRates = { blocks: number; transactions: number; ours: number; gas: number };

/** The blocks seen in it, added up. */
export type BlockTotals = {
  count: number;
  firstNumber: number | null;
  lastNumber: number | null;
  /** Time of day when the first of them was first read, in milliseconds. Absent in files of release 0.2.0. */
  firstSeenAtMs?: number | null;
  /** When the last of them was seen. */
  lastSeenAtMs?: number | null;
  /** All that are in these blocks. */
  transactions: number;
  /** Those that an operation waited for. */
  ours: number;
  /** With --max-fee: blocks whose base fee was above it. */
  aboveMaxFee?: number;
  gasUsed: number;
  /** Blocks in which all transactions are those of this run: their transactions, and the gas that these used. Absent in files of release 0.2.0. */
  own?: { transactions: number; gasUsed: number };
  /** Gas limit of the last of these blocks; 0 if it states none. */
  gasLimit: number | null;
  /** Shares of the gas limit that the blocks used, added up. Absent in files of release 0.2.0. */
  fullnessSum?: number;
  /** Number of blocks by the share of the gas limit that they used, in percent with one decimal place; without blocks that state no gas limit. */
  fullness?: Record<string, number>;
  /** Those without room for another transaction as large as theirs are on average. */
  full?: number;
  /** The longest time without a block, in milliseconds, before one of these or before the end of the interval. */
  gapMaxMs?: number;
  /** Time of day when a block was first read, less its timestamp (whole seconds): the least, in milliseconds. */
  skewMinMs: number | null;
  /** The most. */
  skewMaxMs: number | null;
  /** Sum over these blocks, to divide by their count. */
  skewSumMs: number;
};

/** What was beside the load. */
export type Readings = {
  /** The process of stress. */
  self: SelfReading;
  /** The event loop of the thread that carries the load; of the busiest, where there are several. */
  loop: LoopReading | null;
  /** Connections of all threads. */
  connections: ConnectionsReading;
  /** TCP sockets of this machine, or of this network namespace. */
  sockets: SocketsReading | null;
  /** The node's transaction pool. */
  pool: PoolReading | null;
  /** The process of --node-pid. */
  node: NodeReading | null;
  /** Series of the pages of --node-metrics, by name and labels. */
  metrics: MetricsReading | null;
  /** Why a reading is null, by its name. */
  why: Record<string, string>;
};

/** The process of stress. */
export type SelfReading = { cpuUs: number; rssBytes: number };

/** The event loop of the thread that carries the load; of the busiest, where there are several. */
export type LoopReading = {
  /** Part of the time in which the event loop was busy. */
  utilization: number;
  /** How much later than asked for a timer fired. */
  delayMeanUs: number;
  /** The 99th percentile. */
  delayP99Us: number;
  /** The most. */
  delayMaxUs: number;
  /** Microseconds of garbage collection, all threads. */
  gcUs: number;
  /** CPU time of the thread in microseconds; not there where the system does not say (it is not Linux). */
  cpuUs?: number;
  /** Microseconds in which the thread could have run and other threads or programs had the CPUs. */
  waitedUs?: number;
};

/** Connections of all threads. */
export type ConnectionsReading = { opened: number; reused: number };

/** TCP sockets of this machine, or of this network namespace. */
export type SocketsReading = {
  /** Sockets in TIME_WAIT, towards anybody. */
  timeWait: number;
  /** The ephemeral ports. */
  range: { from: number; to: number; ports: number };
  endpoints: Array<EndpointSockets>;
};

export type EndpointSockets = { endpoint: string; timeWait: number; portsInUse: number; portsLeft: number };

/** The node's transaction pool. */
export type PoolReading = { pending: number; queued: number };

/** The process of --node-pid. */
export type NodeReading = {
  cpuUs: number;
  rssBytes: number;
  threads: number;
  descriptors?: number | null;
  why?: Record<string, string>;
};

/** Series of the pages of --node-metrics, by name and labels. */
export type MetricsReading = { series: Record<string, number | null>; missing?: Record<string, string> };

/** The throughput over time: verified operations, and gas of all transactions, in each step. The verified ones add up to counts.verified. Absent in files of release 0.2.0. */
export type Series = { startMs: number; stepMs: number; verified: Array<number>; gas: Array<number> };

/** What the load generator itself used and did. */
export type GeneratorFacts = {
  /** Microseconds of CPU over the window. */
  cpuUs: number;
  /** cpuUs over window.counts.verified; null when that is 0. */
  cpuUsPerVerified: number | null;
  /** Most resident memory, over the whole run. */
  peakRssBytes: number;
  /** How often an effect was not there yet and asked for again. */
  readBackRetries: number;
  /** Plain calls: time of all users together in which they made none, because their last ones had not been answered. */
  pausedMs: number;
  /** Wallets that were no longer used. */
  retiredWallets: number;
  /** Milliseconds that a block can be seen late because of polling, as of the end; 0 where heads are pushed, null where nothing is looked for. */
  inclusionResolutionMs: number | null;
  /** How new heads of the chain were learned of, as of the end: asked for, or pushed by the node over a WebSocket; null where nothing is looked for. */
  headSource: 'poll' | 'subscription' | null;
  /** Polls for new blocks without a useful answer. */
  failedPolls: number;
  /** Facts of each endpoint, where there are several, in the order of environment.endpoints. */
  endpoints: Array<EndpointFacts>;
  /** JSON-RPC calls of the whole run by what they were made for, each request of a batch counted. */
  rpcCalls: {
    setup?: number;
    submit?: number;
    health?: number;
    inclusion?: number;
    readback?: number;
    /** Requests for the status of operations that were not verified. */
    resolve?: number;
    /** To see what is in the transaction pool. */
    probe?: number;
    audit?: number;
    /** Plain calls that are the load. */
    load?: number;
    /** To try plain calls before the load, and to hold answers against a second endpoint. */
    check?: number;
    /** To know the head of the chain while plain calls are made. */
    follow?: number;
    resubmit?: number;
    /** Pending, safe and finalized blocks (--ladder). */
    ladder?: number;
  };
  transport: { requests: number; connectionsOpened: number; bytesReceived: number };
  /** Threads that shared the slice. */
  workers: number;
  /** Transactions signed while the wallet's last one waited. */
  presigned: { used: number; discarded: number };
  /** JSON-RPC batches of reads. */
  batches: BatchFacts;
  /** JSON-RPC batches of submissions, with --batch. */
  submissionBatches?: BatchFacts;
  /** Number of samples of --samples that were dropped because the disk was too slow; null: the run has not ended. */
  samplesDropped: number | null;
  /** Seed of random arrivals; null where they are not random. */
  arrivalSeed: number | null;
  /** Times without an answer of any endpoint, found by a look at each of them once a second; of plain calls only where there are several endpoints. */
  outages?: Array<Outage>;
  /** What operations waited for before they were sent, or sent again: all operations together, of the whole run. */
  pauses?: Pauses;
  /** With --nonce-order, --duplicate-share or --replace-share: what was sent on purpose, of the whole run. */
  storm?: StormFacts;
  /** Error answers to submissions of the load, by what they mean (docs/limits.md), also of operations that were verified or timed out. Not there: none was refused. */
  refusals?: Record<string, { count: number; words: string }>;
  /** How many transactions of the run the node keeps, learned from what it refused or lost. As many operations are kept in flight. */
  nodeLimits?: NodeLimitFacts;
  /** How often transactions were sent again. */
  resubmissions: {
    /** The same bytes, after a refusal or because no answer came. */
    repeated: number;
    /** Those that were repeated after a refusal of the node. */
    refused?: number;
    /** The same bytes, of a transaction that was accepted and is in no block, or whose block left the chain. */
    rebroadcast: number;
    /** Those that were rebroadcast because the node did not know the transaction any more, and that it accepted again. */
    lost?: number;
    /** For how long the node had accepted these until it did not know them, all operations together. */
    lostMs?: number;
    /** With a higher fee. */
    replaced: number;
    /** Operations whose transaction was left out by blocks that had room for it: they are replaced up to three times. */
    leftOut?: number;
    /** For how long these had waited when that was seen, and others when the base fee was seen above their offer, all operations together. */
    leftOutMs?: number;
  };
  /** Times in which stress did not run and used no CPU: it was stopped (SIGSTOP), or its machine was suspended. */
  stops?: Array<StopFacts>;
};

export type EndpointFacts = {
  /** Calls that went to it, each request of a batch counted. */
  requests: number;
  /** Those that were lost or had the answer that it is not ready, and transactions that it refused as such or did not answer. */
  failures: number;
  /** How often it was left for the others. */
  left: number;
  /** For how long in all, in milliseconds. */
  awayMs: number;
  /** The first of them, up to 200 of all endpoints. */
  events: Array<{ atMs: number; isBack: boolean; words: string }>;
};

export type BatchFacts = { limit: number; largest: number; refused: number; why: string | null };

export type Outage = { fromMs: number; toMs?: number; words: string };

/** What operations waited for before they were sent, or sent again: all operations together, of the whole run. */
export type Pauses = {
  /** Answers by which the endpoint asked for less: HTTP 429, Retry-After, or an error that says so. */
  limitAnswers: number;
  /** Milliseconds of waiting because of them. */
  limitedMs: number;
  /** Milliseconds of waiting before the next try where there was no answer, or none of use. */
  unansweredMs: number;
  /** Milliseconds of waiting before the next try of submissions that the node refused: of those above. Rate limits, nodes that are busy, and the limit per sender are not in it. */
  refusedMs?: number;
  /** Milliseconds for which wallets without funds waited for a payment (--refill-below): all wallets together. */
  unpaidMs?: number;
};

/** With --nonce-order, --duplicate-share or --replace-share: what was sent on purpose, of the whole run. */
export type StormFacts = {
  /** Taken by the node: it has the transaction. */
  duplicates: number;
  /** Refused, such as after the transaction was in a block, or without an answer. */
  duplicatesRefused: number;
  /** Taken by the node. */
  replacements: number;
  /** Refused, such as after the first transaction was in a block, or without an answer. */
  replacementsRefused: number;
  /** Verified operations whose replacement was taken: the first transaction is in the chain. */
  firstIncluded: number;
  /** The replacement is. */
  replacementIncluded: number;
  /** Those of duplicatesRefused without an answer: the node may have them. */
  duplicatesUnanswered?: number;
  /** Those of replacementsRefused without an answer: the node may have them. */
  replacementsUnanswered?: number;
  /** Not sent, because the fee could not be raised within --max-fee and --max-spend. */
  replacementsTooDear?: number;
  /** Not sent, because the transaction was in a block, or its operation had ended. */
  replacementsTooLate?: number;
  /** With --nonce-order: transactions that were sent after all lower nonces of their wallet. */
  inOrder?: number;
  /** With --nonce-order: transactions that were sent before a lower nonce of their wallet. */
  outOfOrder?: number;
};

/** How many transactions of the run the node keeps, learned from what it refused or lost. As many operations are kept in flight. */
export type NodeLimitFacts = { perWallet?: number; pool?: number };

export type StopFacts = { fromMs: number; toMs: number };

export type AuditReport = {
  /** Whether for every wallet counter = start + verified + included late, nonce = start + our included transactions, nothing is pending, and everything could be checked. */
  exact: boolean;
  result?: AuditResult;
  /** What could not be checked, and why; none where all was. */
  incomplete?: Array<string>;
  /** The block that all was read at. */
  blockNumber: number;
  blockHash: string;
  wallets: number;
  /** Operations that this run says were verified. */
  verified: number;
  /** Operations that were not verified and yet found executed. */
  includedLate: number;
  /** Operations found in a block, without effect. */
  reverted: number;
  /** Operations the node knows nothing of. */
  neverSent: number;
  /** Operations whose nonce another transaction has. */
  replaced: number;
  /** Operations that may still be included. */
  pending: number;
  /** What all counters grew by since the start, as the chain has it. */
  effectsOnChain: string;
  /** Bounds of how many operations of ours the chain executed. */
  bounds: { atLeast: string; atMost: string };
  /** Wallets for which the figures do not agree. */
  mismatchCount: number;
  /** The first of them. */
  mismatches: Array<Mismatch>;
  /** Mined transactions of our wallets that are not ours. */
  foreign: Array<Foreign>;
  /** What became of operations that were not verified, or whose block left the chain: the first thousand. */
  resolutions: Array<Resolution>;
  /** Operations that were executed in a block that left the chain, and did not come back. */
  reorgedOut: number;
  /** What grew by effectsOnChain, as a person says it. */
  subject: string;
  /** What else has to agree at that block, over all wallets; an audit is exact only if all of them could be made and hold. */
  checks: Array<AuditCheck>;
};

/** exact: everything agrees; not_exact: something is proven to disagree; incomplete: nothing is, but not everything could be checked. */
export type AuditResult = 'exact' | 'incomplete' | 'not_exact';

export type Mismatch = {
  walletIndex: number;
  address: string;
  /** The wallet's contract; null where it has none. */
  target: string | null;
  /** Count that the ledger calls for. */
  expectedEffect: string;
  /** Count on the chain. */
  effect: string;
  expectedNonce: number;
  /** As of the block of the audit. */
  nonce: number;
  /** With what waits in the pool. */
  pendingNonce: number;
};

export type Foreign = { walletIndex: number; nonce: number; hash: string; blockNumber: number };

export type Resolution = {
  walletIndex: number;
  nonce: number;
  hash: string | null;
  outcome: 'verified' | 'failed' | 'timed_out' | 'abandoned';
  /** Why it failed; null unless it did. */
  code: string | null;
  /** Pending only if the node has shown it. Unknown: it may still be included. */
  fate: 'included' | 'reverted' | 'replaced' | 'never_sent' | 'pending' | 'unknown';
};

export type AuditCheck = {
  name: string;
  /** What is compared. */
  words: string;
  /** Null when it could not be found out, as are found and holds. */
  expected: string | null;
  found: string | null;
  holds: boolean | null;
  /** Why it could not be found out. */
  why: string | null;
};

export type NodeProfile = {
  /** As given; node without a name. */
  name: string;
  /** The URL without its secrets, or perf. */
  source: string;
  /** Profiles that were added up. */
  pieces: number;
  /** The time that they cover. */
  profiledMs: number;
  /** Why profiles are missing, and how many. */
  missing: Record<string, number>;
  /** Null when no profile was read. */
  stacks: ProfiledStacks | null;
  /** Waiting for locks in that time, where a node in Go has a profile of it (/debug/pprof/mutex); null when none was recorded. */
  locks?: LockWaits | null;
};

/** CPU time of a node by stacks: the functions that were being called when a sample was taken. */
export type ProfiledStacks = {
  /** CPU time of the node in that time. The groups, and also the frames with otherUs, add up to it. */
  cpuUs: number;
  /** CPU time of functions that ran in a system call. */
  systemCallUs: number;
  /** What the functions are for. */
  groups: Array<ProfiledGroup>;
  /** The functions with most CPU time. */
  functions: Array<ProfiledFunction>;
  /** Packages (Go), crates (Rust) or namespaces (C++) of the functions that ran: the 50 with most CPU time, and the rest as "other". They add up to cpuUs. */
  packages?: Array<ProfiledPackage>;
  /** Names of the functions in frames. */
  names: Array<string>;
  /** A tree of the 2,000 stacks with most CPU time. A frame has the index of its caller (-1: none), the index of its name, and the CPU time of the function itself. */
  frames: Array<Array<number>>;
  /** CPU time of all other stacks. */
  otherUs: number;
};

export type ProfiledGroup = { name: string; selfUs: number; functions: Array<string> };

export type ProfiledFunction = { name: string; selfUs: number; totalUs: number };

export type ProfiledPackage = { name: string; selfUs: number };

export type LockWaits = { waitUs: number; functions: Array<LockingFunction> };

export type LockingFunction = { name: string; waitUs: number };

export type Consistency = {
  /** Share of the requests of the load, as asked for (--check-share). */
  share: number;
  /** Requests of the checks. */
  requests: number;
  /** Checks made, by kind. */
  checks: Record<string, number>;
  /** Answers that could not be judged, by kind of check: what would have proved a contradiction, or excluded it, was not answered, or the answer had another form. Each of them may be a contradiction. */
  undecided?: Record<string, number>;
  /** Kinds of checks that an endpoint does not allow, that had nothing to compare, or that were interrupted, and why. */
  off: Record<string, string>;
  /** Proven contradictions, by code. */
  violations: Record<string, { count: number; examples: Array<Violation> }>;
  /** By endpoint: most blocks behind the newest block of the run, and longest time behind. */
  lag: Record<string, { blocks: number; ms: number }>;
};

export type Violation = { endpoint: string; at: string; words: string; commands: Array<string> };

/** With --pool-target or --max-base-fee: how the load was held back in the window. */
export type PaceFacts = {
  /** Transactions to keep in the pool. */
  poolTarget: number | null;
  depth: PoolDepth | null;
  maxBaseFeeWei: string | null;
  /** Pauses because of --max-base-fee. */
  pauses: number;
  /** How long they took. What was asked for and achieved per second is of the time without them. */
  pausedMs: number;
};

/** Fees, in wei; what moves between wallets of the run is not spent, and value that transactions of a workload send away is not counted. */
export type Spending = {
  /** What --max-spend allowed; null without it. */
  capWei: string | null;
  /** Payments to the wallets and deployments, as their receipts say. */
  setUpWei: string | null;
  /** By how much less the wallets have at the block of the audit than before the load, plus what refills paid them: fees, with those of a rollup for data, and value that was sent to others. */
  leftWei?: string | null;
  /** All fees, set-up and refills included: from the balances (leftWei), less value that was sent to others. */
  spentWei: string | null;
  /** In files of earlier versions. */
  transactions?: number | null;
};

export type Verdict = { name: VerdictName; evidence: string };

export type VerdictName =
  | 'endpoint-down'
  | 'funds'
  | 'port-bound'
  | 'endpoint-limited'
  | 'generator-bound'
  | 'rate-bound'
  | 'node-bound'
  | 'concurrency-bound'
  | 'stopped'
  | 'refused'
  | 'reverted'
  | 'fee-limit'
  | 'no-blocks'
  | 'lost'
  | 'left-out'
  | 'unknown';

export type ThresholdResult = {
  /** As it was given. */
  expression: string;
  /** The name of the figure in this program. */
  figure: string;
  operator: Operator;
  limit: number | AuditResult;
  /** Unit of limit and value: microseconds, per second, a number of something, percent, bytes, a result of the audit. */
  unit: 'us' | 'perSecond' | 'count' | 'percent' | 'bytes' | 'gas' | 'gasPerSecond' | 'result';
  /** What was measured; null when it was not, and then it did not pass. */
  value: number | null | AuditResult;
  /** Only where value is a lower bound, because operations are censored, or checks could not be made: it may be as large as this; null: infinite. Upper limits are compared with this. */
  atMost?: number | null;
  /** With atMost: how many operations are censored, or how many checks could not be made. */
  censored?: number;
  passed: boolean;
  /** Why there is no value. */
  why?: string;
};

export type Operator = '<' | '<=' | '>' | '>=' | '=' | '!=';

export type Merged = {
  /** The name that the instances have in common. */
  runId: string | null;
  /** How many instances there had to be (--expect, or --instances of the run); null: nobody said. */
  expected: number | null;
  /** Those that were added up, by index, or by slice. */
  instances: Array<MergedInstance>;
  /** Indexes of which there is no run file. */
  missing: Array<number>;
  /** Run files, or lines of logs, that could not be read and were left out. */
  damaged: Array<{ name: string; index: number | null; why: string }>;
  /** Earlier attempts, which are in no figure. */
  superseded: Array<{ index: number | null; attempt: number; id: string; verified: number }>;
  /** From the first instance's window to the last one's, by clocks made to agree where they were more than a second apart. */
  startSkewMs: number;
  /** The same by the clocks as they were. */
  rawStartSkewMs: number;
  /** Between the clock furthest ahead and that furthest behind, to within the time that it takes to see a block. */
  clockSkewMs: number | null;
  /** Clocks that are closer than this are taken as they are; others are known to within it. */
  clocksKnownToMs?: number;
  /** The common window: from when the last instance's window began to when the first one's ended; null where there is none. */
  common: { startedAt: string; durationMs: number; apportioned: number } | null;
  /** What was counted in warm-ups. Rows in which others were loading already have it as well. */
  warmup: { counts: Counts; failures: Record<string, number> };
  /** Slices of which it is not known what they did last: of partial run files, and of missing ones. */
  unresolved: Array<{
    index: number | null;
    offset: number;
    threads: number;
    /** Operations of which it is not known how they ended; null where nothing is known. */
    inFlight: number | null;
    /** The instant of its figures, by the clock of the instance. */
    lastKnownAt: string | null;
  }>;
};

export type MergedInstance = {
  index: number | null;
  attempt: number;
  /** Id of its run file. */
  id: string;
  host: string | null;
  /** Index of its first wallet. */
  offset: number;
  threads: number;
  /** By its own clock. */
  windowStartedAt: string;
  /** Length of its own window. */
  durationMs: number;
  /** How much its clock is ahead of the middle one, by the blocks that both saw; null where no blocks tell. */
  clockOffsetMs: number | null;
  partial: boolean;
  end: RunEnd;
  exitCode: number | null;
  /** Counts of its whole run. */
  counts: Counts;
  /** Over its own window. */
  verifiedPerSecond: number | null;
  /** Null: there was no audit. */
  auditExact: boolean | null;
  /** Null: there was nothing to audit, or the run did not end. */
  auditResult?: AuditResult | null;
  /** The block that it was read at. */
  auditBlock: number | null;
};
