import { within } from '../clock.js';
import { EXIT, StressError } from '../errors.js';
import { createConnectionsProbe, createPoolProbe, probes } from '../probes/index.js';
import { socketWarnings } from '../stats/figures.js';

/**
 * @import { MetricsPage, Rpc, TransportStats } from '../contracts/chain.d.ts'
 * @import { Clock, Stop } from '../contracts/common.d.ts'
 * @import { MachineProbes, OpenPages, Stopped } from '../contracts/load.d.ts'
 * @import { Output } from '../contracts/output.d.ts'
 * @import { LoopReading, Readings, RunFile } from '../contracts/run-file.d.ts'
 * @import { Probe as IndexProbe } from '../probes/index.js'
 */

/**
 * Writes partial run files during a run, so that little is lost if the process is killed.
 *
 * @typedef {object} CheckpointOptions
 * @property {Clock} clock
 * @property {Output[]} outputs
 * @property {Stop} stop
 * @property {(words: string) => void} warn called at most once
 */

/**
 * How a run file is made: ask() waits for workers, describe() uses time of this thread.
 *
 * @template T
 * @typedef {{ask: () => Promise<T>, describe: (known: T) => RunFile}} CheckpointSource
 */

/** First checkpoint of the load: between two reports of the default interval. */
const FIRST_MS = 1000;
const PERIOD_MS = 5000;

/** Making a checkpoint blocks the load: at most 1/50 of the time. */
const PERIODS_PER_COST = 50;

export class Checkpoints {
  #options;
  #writers;
  #hasWarned = false;
  #isOver = false;
  #cancel = () => {};
  /** The current write. @type {Promise<unknown>} */
  #writing = Promise.resolve();

  /** @param {CheckpointOptions} options */
  constructor(options) {
    this.#options = options;
    this.#writers = options.outputs.flatMap((output) => output.checkpoint?.bind(output) ?? []);
  }

  /** @template T @param {CheckpointSource<T>} making @returns {Promise<number>} time of this thread, in milliseconds */
  async write({ ask, describe }) {
    const { clock, stop } = this.#options;
    if (this.#writers.length === 0) return 0;
    let busyUs = 0;
    /** @template R @param {() => R} action @returns {R} */
    const timed = (action) => {
      const startUs = clock.nowUs();
      try {
        return action();
      } finally {
        busyUs += clock.nowUs() - startUs;
      }
    };
    try {
      const known = await timed(ask);
      // The final run file may have been written meanwhile.
      if (!this.#isOver) await timed(() => this.#writeAll(describe(known)));
    } catch (error) {
      // Not fatal: the disk may have room again at the end.
      if (error instanceof StressError && error.exitCode === EXIT.cannotWrite) this.#warnOnce(error.message);
      else stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
    }
    return busyUs / 1000;
  }

  /** @param {RunFile} runFile @returns {Promise<unknown>} */
  #writeAll(runFile) {
    const kept = this.#writers.map(async (keeper) => keeper(runFile));
    this.#writing = Promise.allSettled(kept);
    return Promise.all(kept);
  }

  /** Repeats until stop(). @template T @param {CheckpointSource<T>} making */
  begin(making) {
    if (this.#writers.length > 0) this.#writeAfter(FIRST_MS, making);
  }

  /** @template T @param {number} ms @param {CheckpointSource<T>} making */
  #writeAfter(ms, making) {
    this.#cancel = this.#options.clock.after(() => void this.#repeat(making), ms);
  }

  /** @template T @param {CheckpointSource<T>} making */
  async #repeat(making) {
    const tookMs = await this.write(making);
    if (!this.#isOver) this.#writeAfter(Math.max(PERIOD_MS, PERIODS_PER_COST * tookMs), making);
  }

  /** @returns {Promise<void>} waits for the current write, which would replace the final run file */
  async stop() {
    this.#isOver = true;
    this.#cancel();
    await this.#writing;
  }

  /** @param {string} words */
  #warnOnce(words) {
    if (!this.#hasWarned) this.#options.warn(`${words}; the run continues without checkpoints`);
    this.#hasWarned = true;
  }
}

/**
 * Reads all probes of a run and collects its warnings.
 *
 * @typedef {IndexProbe<any>} Probe
 *
 * @typedef {object} WatchOptions
 * @property {{pid: number | null, metrics: readonly MetricsPage[], series: string[] | null, insecure: boolean}} node what is asked for
 * @property {Rpc | null} rpc null: plain calls
 * @property {Clock} clock
 * @property {OpenPages} openPages
 * @property {Pick<MachineProbes, 'self' | 'sockets' | 'stops'>} probes
 * @property {(words: string) => void} warn called a few times per kind
 * @property {string[]} [warnings] of the run: takes those given
 */

/** Time limit of a probe; the row of the interval waits for it. */
const PROBE_TIMEOUT_MS = 1000;

/** Probes selected by the user: a failure gives a warning. */
const REQUESTED = Object.freeze(['node', 'metrics']);

export class Watch {
  #self;
  #stops;
  /** Since the load began. @type {Stopped[]} */
  stops = [];
  #transport = { requests: 0, connectionsOpened: 0 };
  #connections = createConnectionsProbe({ stats: () => this.#transport });
  /** @type {Record<string, Probe>} */
  #others;
  /** Why a probe does not exist, by name. @type {Record<string, string>} */
  #missing = {};
  #clock;
  #warn;
  warnings;
  /** By kind; line: index of the last one in `warnings`. @type {Map<string, {count: number, line: number}>} */
  #kinds = new Map();

  /** @param {WatchOptions} options */
  constructor({ node, rpc, clock, openPages, probes: machine, warn, warnings = [] }) {
    const { pid, metrics, series, insecure } = node;
    this.#clock = clock;
    this.#warn = warn;
    this.warnings = warnings;
    this.#self = machine.self();
    this.#stops = machine.stops?.(clock);
    this.#others = { sockets: machine.sockets() };
    if (rpc === null) this.#missing.pool = 'plain calls send no transactions';
    else this.#others.pool = createPoolProbe({ rpc });
    if (pid === null) this.#missing.node = 'not asked for (--node-pid)';
    else this.#others.node = probes.node({ pid });
    if (metrics.length === 0) this.#missing.metrics = 'not asked for (--node-metrics)';
    else this.#others.metrics = probes.metrics({ pages: metrics, series, insecure, clock, openPages });
  }

  /** Discards what happened before. */
  begin() {
    this.#self.sample();
    this.#stops?.sample();
    this.#connections.sample();
    // Its CPU time would contain that of the set-up; a failure is told with the first row.
    void Promise.resolve(this.#others.node?.sample()).catch(() => {});
  }

  /**
   * @param {LoopReading | null} loop of the slowest thread
   * @param {TransportStats} transport of all threads, since the start
   * @returns {Promise<Readings>}
   */
  async sample(loop, transport) {
    this.#transport = transport;
    // Read at once; other probes take longer.
    const self = this.#self.sample();
    this.stops = [...this.stops, ...(this.#stops?.sample() ?? [])].slice(0, MAX_STOPS);
    const connections = this.#connections.sample();
    /** @type {Record<string, any>} */
    const readings = { sockets: null, pool: null, node: null, metrics: null };
    /** @type {Record<string, string>} */
    const why = { ...this.#missing, ...(loop === null ? { loop: 'no thread reported' } : {}) };
    await Promise.all(
      Object.entries(this.#others).map(async ([name, probe]) => {
        try {
          readings[name] = await this.#inTime(probe);
        } catch (error) {
          why[name] = /** @type {Error} */ (error).message;
          if (REQUESTED.includes(name)) this.warnOnce(name, `--node-${name === 'node' ? 'pid' : name}: ${why[name]}`);
        }
      }),
    );
    for (const words of Object.values(readings.metrics?.missing ?? {}))
      this.warnOnce(`metrics ${words}`, `--node-metrics: ${words}`);
    for (const words of readings.sockets === null ? [] : socketWarnings(readings.sockets))
      this.warnOnce('sockets', words);
    return /** @type {Readings} */ ({ self, loop, connections, ...readings, why });
  }

  /** @param {Probe} probe */
  async #inTime(probe) {
    return within(this.#clock, PROBE_TIMEOUT_MS, Promise.resolve(probe.sample()), () => {
      throw new Error(`no answer within ${PROBE_TIMEOUT_MS / 1000} s`);
    });
  }

  /** Warns once per kind. @param {string} kind @param {string} words */
  warnOnce(kind, words) {
    if (!this.#kinds.has(kind)) this.warnOf(kind, words);
  }

  /** Warns of the first few of a kind; the rest are counted in one line. @param {string} kind @param {string} words */
  warnOf(kind, words) {
    const known = this.#kinds.get(kind) ?? { count: 0, line: 0 };
    this.#kinds.set(kind, known);
    known.count += 1;
    const more = known.count - MAX_OF_A_KIND;
    if (more <= 1) this.#warn(more === 1 ? `${words}; more warnings of this kind are only counted` : words);
    if (more <= 1) known.line = this.warnings.length;
    this.warnings[known.line] = more < 1 ? words : `and ${more} more of this kind, the last of them: ${words}`;
  }

  close() {
    this.#stops?.close?.();
    for (const probe of Object.values(this.#others)) probe.close?.();
  }
}

/** Keeps the log of long runs short. */
const MAX_OF_A_KIND = 5;
/** Keeps run files small. */
const MAX_STOPS = 20;
