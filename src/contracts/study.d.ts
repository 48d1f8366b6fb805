/** What studies are given, and the files that they write (studies/): comparison, pairs, bisection, sweep and search. */
import type { MetricsPage, ProfileSource } from './chain.d.ts';
import type { Clock, Log, Stop } from './common.d.ts';
import type { DistributionJson, RunEnvironment, RunFile, Threshold, Unit } from './run-file.d.ts';

export type StudyConfig = StudyOptions & {
  thresholds: Threshold[];
  files: readonly string[];
  repeat: number | null;
  restMs: number;
  /** null: in stress find the longer of 3 minutes and 240 blocks, 20 minutes in a comparison, none in a bisection */
  timeLimitMs: number | null;
  untilSure: boolean;
  /** largest change without meaning, as a fraction */
  equivalent: number;
  /** width of the intervals that are wanted, as a fraction */
  precision: number | null;
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
  /** what the folder has of an earlier study is not used */
  fresh: boolean;
  find: string | null;
  until: Threshold[];
  candidates: readonly string[];
  rpcA: URL | null;
  labelA: string | null;
  labelB: string | null;
  /** sources of each side */
  nodeProfileA: ReadonlyArray<ProfileSource>;
  nodeProfileB: ReadonlyArray<ProfileSource>;
  nodeMetricsA: ReadonlyArray<MetricsPage>;
  nodeMetricsB: ReadonlyArray<MetricsPage>;
  rpcB: URL | null;
  metrics: readonly string[];
  failIf: FailIf[];
  allowDifferent: boolean;
  over: string | null;
};

export type Axis = { name: string; values: readonly string[] };

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

/** What a study gives to the runs that it starts. */
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

export type FailIf = { expression: string; metric: string; operator: '<' | '>'; limitPercent: number };

// comparison

/** Two sets of runs and what can be said about their difference: docs/compare.schema.json. */
export type Comparison = {
  schema: string;
  startedAt: string;
  endedAt: string;
  stress: string;
  /** the metric that decides */
  primary: string;
  method: {
    name: string;
    pairs: number | null;
    test: string;
    runs: { base: number; candidate: number };
    alpha: number;
    minimum: number;
    secondaries: number;
    words: string;
  };
  base: ComparedSide;
  candidate: ComparedSide;
  metrics: ComparedMetric[];
  speedUps: {
    words: string;
    onAverage: SpeedUp;
    onSlowest: SpeedUp;
    onFastest: Omit<SpeedUp, 'speedUp'> & { slowDown: number | null };
  };
  distributions: ComparedDistributions & { censored: ComparedDistributions };
  /** With --node-profile: CPU time for an operation by function, tested with the other metrics. */
  nodeFunctions?: ComparedMetric[];
  /** With --node-profile: the stacks of both sides. */
  nodeStacks?: StacksDifference;
  /** With --node-metrics: the series that differ most; none is tested. */
  nodeSeries?: SeriesDifference[];
  failIf: JudgedFailIf[];
  /** those that were allowed */
  differences: string[];
  failures?: SideFailure[];
  /** pairs without one of their runs */
  leftOut?: number[];
  warnings: string[];
  sequential?: Sequential;
  verdict: { word: Word | 'undecided'; sentence: string };
};

/** CPU time of the nodes for an operation by stacks, in microseconds; frames: index of the caller (-1: none), index of the name, CPU time of the function itself in base and candidate. */
export type StacksDifference = {
  baseUs: number;
  candidateUs: number;
  names: string[];
  frames: number[][];
  otherBaseUs: number;
  otherCandidateUs: number;
};

/** A series of the nodes' Prometheus pages; base and candidate: means of the runs; effect: their difference, in standard deviations of the runs. */
export type SeriesDifference = { name: string; isPerSecond: boolean; base: number; candidate: number; effect: number };

export type ComparedSide = Record<'name' | 'label' | 'load' | 'machine' | 'stress', string> &
  Record<'files' | 'startedAt', string[]> & {
    clientVersion: string | null;
    /** medians of the runs; null: not known */
    blockIntervalMs?: number | null;
    blockGasLimit?: number | null;
  };

type ComparedDistributions = { base: DistributionJson; candidate: DistributionJson };

export type ComparedMetric = Decision & {
  name: string;
  label: string;
  unit: Unit;
  better: 'higher' | 'lower';
  isPrimary: boolean;
  base: SideSummary;
  candidate: SideSummary;
};

/** atLeast: because of censored operations */
export type SideSummary = Record<'mean' | 'median' | 'min' | 'max', number> & { values: number[]; atLeast?: boolean };

/** equivalent: of --until-sure */
export type Word = 'faster' | 'slower' | 'no difference shown' | 'equivalent' | 'too few runs';

export type Decision = { change: Change; p: number; pAdjusted: number; word: Word };

/** Change of the geometric mean as a fraction of the base; of raw values, of the mean. */
export type Change = {
  /** infinite if raw values of the base are all 0 */
  estimate: number;
  /** bound of the confidence interval; null: too few runs */
  low: number | null;
  high: number | null;
  /** of the interval, chosen so that it agrees with the word */
  confidence: number;
};

export type SpeedUp = Record<'baseUs' | 'candidateUs' | 'speedUp' | 'low' | 'high', number | null> & {
  confidence?: number;
  words: string;
};

/** change: a fraction; null: not compared, or 0 in the base */
export type JudgedFailIf = { expression: string; passed: boolean; change: number | null; why: string };

/** How a comparison with --until-sure ended. */
export type Sequential = {
  /** failed: a run failed in several pairs in a row */
  end: 'decided' | 'time_limit' | 'interrupted' | 'failed';
  /** of the coin that ordered the runs of each pair */
  seed: number;
  /** as a fraction */
  equivalent: number;
  /** of --precision, as a fraction */
  precision?: number;
  timeLimitMs: number;
};

// files

/** what the files of all studies begin with */
export type StudyFile = {
  schema: string;
  startedAt: string;
  endedAt: string | null;
  end: string;
  stress: string;
  warnings: string[];
  /** with --max-spend */
  spending?: {
    /** what the runs so far have spent on fees, or may have where it is not known */
    spentWei: string;
    /** the run that is being made, and its limit */
    open: { file: string; capWei: string } | null;
  };
};

/** a run of a pair that measured nothing, or not to its end; the second one of a pair leaves it out */
export type PairFailure = { pair: number; side: 'a' | 'b'; exitCode: number; reason: string };

/** the same in a comparison */
export type SideFailure = Omit<PairFailure, 'side'> & { side: 'base' | 'candidate' };

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

export type SweepFile = StudyFile & {
  id: string;
  end: 'running' | 'complete' | 'incomplete' | 'interrupted' | 'failed';
  /** without secrets */
  commandLine?: string;
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

/** of a line of cells: the option that raises the load, the other settings, and the first saturated cell if any */
export type Saturation = {
  along: string;
  at: Record<string, string>;
  settings: Record<string, string> | null;
  words: string;
};

/** where the first run was made; node: version of Node.js */
export type Environment = Pick<RunEnvironment, 'endpoint' | 'clientVersion' | 'chainId' | 'cpu' | 'cores' | 'node'>;

// searches

export type Find = {
  name: string;
  /** of stress find: the given range with its unit; empty without one */
  range?: string;
  until: readonly string[];
  /** highest value that held, without a failure at or below it that runs at or above that failure do not outweigh */
  held?: number | null;
  estimate: number | null;
  low: number | null;
  high: number | null;
  confidence: number;
  /** whether the rate had to be held as well */
  rateHeld?: boolean;
  sharp: boolean;
  /** whether it has an answer whose interval is narrow enough */
  done?: boolean;
  /** why the search ended before its answer was sharp; limit: each higher rate met a limit on our side */
  stopped?: 'time' | 'fees' | 'latency' | 'limit' | null;
  /** what was the limit on our side, so that there is no answer */
  limit?: string | null;
  words: string;
  reasons?: string[];
  trials: Trial[];
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
  /** why it was made again: it does not count */
  again?: string | null;
  /** operations in flight that its wallets allowed, and operations that it dropped */
  inFlight?: number;
  dropped?: number;
  /** for how long the endpoint did not answer */
  awayMs?: number;
};
