/** What every part uses: time, messages, errors, the end of a run. Imports nothing. */

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

/** An error that this program raises on purpose (errors.js). */
export interface StressError extends Error {
  code: string;
  exitCode: number;
}

/** Ends a run: first gracefully (no new operations, drain, audit), then at once. */
export interface Stop {
  /** the first one is kept */
  reason: string | null;
  abortReason: string | null;
  exitCodes: number[];
  errors: Error[];
  readonly drain: AbortSignal;
  readonly now: AbortSignal;
  request: (reason: string, exitCode?: number, error?: Error) => void;
  /** without drain and audit */
  abort: (why?: string) => void;
}

/** The time over which throughput is spread (stats/throughput.js). fromUs is not in it; toUs equal to fromUs: an instant. */
export type Span = { fromUs: number; toUs: number };
