/** What outputs are given, and what they promise (outputs/). */
import type { HeaderField, SeenBlock } from './chain.d.ts';
import type { StressError } from './common.d.ts';
import type { Sample } from './load.d.ts';
import type { DistributionJson, FindCommand, IntervalRow, Phase, RunFile, Stage } from './run-file.d.ts';

export type OutputConfig = {
  out: string | null;
  evidence: string | null;
  sign: boolean;
  /** of stress verify */
  state: string | null;
  junit: string | null;
  markdown: string | null;
  samples: string | null;
  blocks: string | null;
  hlog: string | null;
  intervals: string | null;
  prometheus: { host: string; port: number } | null;
  push: URL | null;
  pushHeader: readonly HeaderField[];
  pushHeaderFile: string | null;
  label: ReadonlyArray<readonly [name: string, value: string]>;
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
  /** of a run */
  findCommand: FindCommand | null;
};

/** What is known of a stream that may be a terminal. */
export type Screen = NodeJS.WritableStream & { isTTY?: boolean; columns?: number; writableLength?: number };

/** A text stream that never blocks this thread and is bounded. */
export interface OutputStream {
  stream: Screen;
  /** a line that may be missing while nothing is read */
  offer: (line: string) => void;
  /** a text that is never dropped */
  write: (text: string) => void;
  /** when nothing waits, or nothing can be written any more */
  written: () => Promise<void>;
}

/** A line at the bottom of the terminal that is rewritten. */
export interface StatusLine {
  isPossible: boolean;
  /** one line; the rest is cut off */
  show: (text: string) => void;
  erase: () => void;
}

/** Figures of the run so far, and stages of the interval. */
export type Totals = {
  attempts: number;
  verified: number;
  /** verified operations per second since the start; null for the drain */
  runTps: number | null;
  /** of the operations verified in the interval */
  stages: Record<Stage, DistributionJson>;
  /** of observers, by name */
  facts?: Record<string, unknown>;
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

/**
 * An output shows or keeps what a run reports, and decides nothing: four methods, and capabilities that it may have.
 */
export type Output = {
  /** once, before the load */
  begin?: (begun: {
    /** start of the load on the run's clock */
    startUs: number;
    /** time of day then */
    startedAtMs: number;
    /** whether the operations are plain calls */
    isPlain?: boolean;
  }) => void;
  interval?: (row: IntervalRow, totals: Totals) => void;
  /**
   * the run file: after the last interval, or in place of a load (`end` is set_up_failed) because the endpoint or what is
   * needed there was missing, or going on could have done harm; may throw a StressError
   */
  finish?: (run: RunFile) => void | Promise<void>;
  /**
   * writes what is left for at most 5 s (--push: 10 s), and closes ports and files; never throws. It may be called twice, and after errors.
   * now: aborts when the run must end at once: the output then waits for nothing
   * Outputs without finish() are closed before the run file is made: the result says what was dropped, and why
   */
  close?: (now?: AbortSignal) => Promise<Closed | void>;
} & Partial<Opening & LoadStreams & Showing & Keeping>;

export type Closed = { samplesDropped?: number; error?: StressError | null };

export type Opening = {
  /** before the set-up: opens its port or checks its file; rejects with a StressError */
  open: () => Promise<void>;
};

/** What happens in the load. */
export type LoadStreams = {
  /** called for every operation: must be cheap; without it, samples are not sent to the main thread */
  sample: (sample: Sample) => void;
  /** every new block, once and in order */
  block: (block: SeenBlock) => void;
};

/** For people who watch the run. */
export type Showing = {
  notice: (line: string) => void;
  /** the running interval, about twice a second during the load */
  live: (figures: LiveFigures) => void;
};

export type Keeping = {
  /**
   * the run file so far, once before begin() and then now and then: it is left if the process dies; throws a StressError if it
   * cannot be written
   */
  checkpoint: (run: RunFile) => void | Promise<void>;
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
