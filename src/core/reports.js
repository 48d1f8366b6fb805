import { EXIT, FundsError, StressError, TransportError } from '../errors.js';
import { threadStatsOf } from '../chain/endpoints.js';
import { probes } from '../probes/index.js';
import { socketWarnings } from '../probes/sockets.js';
import { IntervalLog, Stats, noneUsed, rowOf } from '../stats/stats.js';
import { noReorgs } from '../stats/reorgs.js';
import { buildRunFile } from '../stats/run-file.js';
import { describeEnvironment, describeInstance } from './environment.js';
import { workersOf } from './config.js';

/**
 * @import { Clock, Config, Counts, IntervalRow, LoopReading, Output, Phase, Readings, Rpc, RunFile, Snapshot, Surroundings, TransportStats } from '../types.d.ts'
 * @import { Probe as IndexProbe } from '../probes/index.js'
 * @import { Verdict } from '../stats/verdict.js'
 * @import { Endpoints } from '../chain/endpoints.js'
 * @import { EngineReport, Plan } from './engine.js'
 * @import { Stop } from './stop.js'
 * @import { startOf } from './run.js'
 */

/** Silence of the endpoint from which on the row mentions it. */
const SILENT_MS = 1500;

/** Makes the row of each interval for the outputs and the run file. */
export class Reporter {
  #log = new IntervalLog();
  #watch;
  #outputs;
  #plan;
  #windowVerified = 0;
  /** Resolved when all rows so far are written. @type {Promise<void>} */
  #settled = Promise.resolve();
  /** CPU time of this process in the window. */
  cpuUs = 0;

  /** @param {Plan} plan @param {Output[]} outputs @param {Watch} watch */
  constructor(plan, outputs, watch) {
    this.#plan = plan;
    this.#outputs = outputs;
    this.#watch = watch;
  }

  /** @returns {IntervalRow[]} */
  get rows() {
    return this.#log.rows;
  }

  /**
   * Reads the probes now; the row is written later, when all probes have responded, without delaying the next interval.
   * @param {Phase} phase
   * @param {EngineReport} report
   * @param {Pick<Snapshot, 'counts' | 'traffic'>} snapshot
   */
  add(phase, report, { counts, traffic }) {
    const readings = this.#watch.sample(report.loop, traffic.transport);
    // Errors are thrown by settled().
    readings.catch(() => {});
    this.#settled = this.#settled.then(async () => this.#addRow(phase, report, counts, await readings));
    this.#settled.catch(() => {});
  }

  /** @returns {Promise<void>} */
  settled() {
    return this.#settled;
  }

  /** @param {Phase} phase @param {EngineReport} report @param {Counts} totals @param {Readings} probes */
  #addRow(phase, { stats, inFlight, blocks, silence }, totals, probes) {
    const { endUs, counts } = stats;
    const { loadStartUs } = this.#plan;
    if (phase === 'load') {
      this.cpuUs += probes.self.cpuUs;
      this.#windowVerified += counts.verified;
    }
    const gapMaxMs = Math.max(blocks.gapMaxMs ?? 0, silence?.stillMs ?? 0);
    const row = rowOf(stats, { phase, loadStartUs, inFlight, blocks: { ...blocks, gapMaxMs }, probes });
    if (silence !== null && silence.silentMs >= SILENT_MS)
      row.silence = { ms: silence.silentMs, words: silence.words || 'no answer in time' };
    this.#log.add(row);
    const windowS = (endUs - this.#plan.startUs) / 1e6;
    const censored = stats.distribution('censored');
    const sums = {
      attempts: totals.started,
      verified: totals.verified,
      runTps: phase === 'load' && windowS > 0 ? this.#windowVerified / windowS : null,
      ...(censored.count > 0 && { censored: censored.toJSON() }),
      stages: stats.stages(),
    };
    for (const output of this.#outputs) output.interval(row, sums);
  }
}

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
 * How a run file is made: ask() waits for workers, describe() uses time of this thread. Null: not known now; the
 * previous file is kept.
 *
 * @template T
 * @typedef {{ask: () => Promise<T | null>, describe: (known: T) => RunFile}} CheckpointSource
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
      if (known !== null && !this.#isOver) await timed(() => this.#writeAll(describe(known)));
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

  /** No load took place: removes the partial run file. */
  async discard() {
    await this.stop();
    for (const output of this.#options.outputs) output.discard?.();
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
 * @property {Pick<Config, 'nodePid' | 'nodeMetrics' | 'nodeSeries' | 'insecure'>} config
 * @property {URL[]} urls
 * @property {boolean} [isEmbedded] whether nodePid is the embedded chain
 * @property {Rpc | null} rpc null: plain calls
 * @property {Clock} clock
 * @property {(words: string) => void} warn called a few times per kind
 */

/** Time limit of a probe; the row of the interval waits for it. */
const PROBE_TIMEOUT_MS = 1000;

/** Probes selected by the user: a failure gives a warning. */
const REQUESTED = Object.freeze(['node', 'metrics']);

/** Memory of the embedded chain, which grows with every transaction, from which on a warning is given. */
const EMBEDDED_WARNING_BYTES = 750e6;

export class Watch {
  #self = probes.self();
  #transport = { requests: 0, connectionsOpened: 0 };
  #connections = probes.connections({ stats: () => this.#transport });
  /** @type {Record<string, Probe>} */
  #others;
  /** Why a probe does not exist, by name. @type {Record<string, string>} */
  #missing = {};
  #clock;
  #warn;
  #memoryLimitBytes;
  /** @type {string[]} */
  warnings = [];
  /** Number of warnings by kind. @type {Map<string, number>} */
  #counts = new Map();
  /** Index of the line that counts further warnings, by kind. @type {Map<string, number>} */
  #summaryLines = new Map();

  /** @param {WatchOptions & {memoryLimitBytes?: number}} options memoryLimitBytes: see EMBEDDED_WARNING_BYTES */
  constructor({ config, urls, rpc, clock, warn, isEmbedded = false, memoryLimitBytes = EMBEDDED_WARNING_BYTES }) {
    const { nodePid, nodeMetrics, nodeSeries, insecure } = config;
    this.#clock = clock;
    this.#warn = warn;
    this.#memoryLimitBytes = isEmbedded ? memoryLimitBytes : Infinity;
    this.#others = { sockets: probes.sockets({ urls }) };
    if (rpc === null) this.#missing.pool = 'plain calls send no transactions';
    else this.#others.pool = probes.pool({ rpc });
    if (nodePid === null) this.#missing.node = 'not asked for (--node-pid)';
    else this.#others.node = probes.node({ pid: nodePid });
    if (nodeMetrics === null) this.#missing.metrics = 'not asked for (--node-metrics)';
    else this.#others.metrics = probes.metrics({ url: nodeMetrics, series: nodeSeries, insecure });
  }

  /** The first reading of the sockets starts a thread: not within the window. */
  async prepare() {
    await this.#inTime(this.#others.sockets).catch(() => {});
  }

  /** Discards what happened before. */
  begin() {
    this.#self.sample();
    this.#connections.sample();
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
    if (readings.node?.rssBytes > this.#memoryLimitBytes) {
      const used = `${(readings.node.rssBytes / 1e6).toFixed(0)} MB`;
      this.warnOnce(
        'memory',
        `the embedded chain uses ${used} of memory and grows with each transaction and each new receiver; for a longer run start a node and give its endpoint with --rpc`,
      );
    }
    if (readings.sockets !== null) {
      // The kind is the text without its figures.
      for (const words of socketWarnings(readings.sockets))
        this.warnOnce(words.replace(/^[\d,]+|[\d,]+ are left/g, ''), words);
    }
    return /** @type {Readings} */ ({ self, loop, connections, ...readings, why });
  }

  /** @param {Probe} probe */
  async #inTime(probe) {
    const over = new AbortController();
    const late = this.#clock.sleep(PROBE_TIMEOUT_MS, over.signal).then(() => {
      throw new Error(`no answer within ${PROBE_TIMEOUT_MS / 1000} s`);
    });
    // The sleep is aborted when it is no longer needed.
    late.catch(() => {});
    try {
      return await Promise.race([Promise.resolve(probe.sample()), late]);
    } finally {
      over.abort();
    }
  }

  /** Warns once per kind. @param {string} kind @param {string} words */
  warnOnce(kind, words) {
    if (!this.#counts.has(kind)) this.warnOf(kind, words);
  }

  /** Warns of the first few of a kind; the rest are counted. @param {string} kind @param {string} words */
  warnOf(kind, words) {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count <= MAX_OF_A_KIND) {
      this.warnings.push(words);
      this.#warn(words);
      return;
    }
    const at = this.#summaryLines.get(kind) ?? this.warnings.length;
    this.#summaryLines.set(kind, at);
    this.warnings[at] = `and ${count - MAX_OF_A_KIND} more of this kind, the last of them: ${words}`;
    if (count === MAX_OF_A_KIND + 1) this.#warn(`${words}; more warnings of this kind are only counted`);
  }

  close() {
    for (const probe of Object.values(this.#others)) probe.close?.();
  }
}

/** Keeps the log of long runs short. */
const MAX_OF_A_KIND = 5;

/** Exit codes for which the outputs are written. @type {readonly number[]} */
const REPORTED_EXIT_CODES = Object.freeze([EXIT.unavailable, EXIT.refused]);

/**
 * Writes the outputs of a run that ended before its load, for CI servers that read files.
 * @param {unknown} error
 * @param {Pick<Surroundings, 'clock' | 'outputs' | 'version' | 'log'> & {config: Config, times: ReturnType<startOf>, endpoints: Endpoints | null}}
 *   parts
 */
export async function writeFailedSetUp(error, { outputs, log, ...parts }) {
  if (!(error instanceof StressError) || !REPORTED_EXIT_CODES.includes(error.exitCode)) return;
  const run = describeFailedSetUp(error, parts);
  for (const output of outputs) {
    try {
      await output.setUpFailed?.(run);
    } catch (unwritten) {
      log.error(/** @type {Error} */ (unwritten).message);
    }
  }
}

/** The figures of a run without a load. */
const IDLE_GENERATOR = Object.freeze({
  ...noneUsed(),
  cpuUs: 0,
  endpoints: [],
  batches: { limit: 1, largest: 1, refused: 0, why: null },
  arrivalSeed: null,
  samplesDropped: 0,
});

/** JSON pointers of the figures that are null without a load. */
const UNKNOWN_BEFORE_LOAD = [
  ...['clientVersion', 'chainId', 'genesisHash', 'roundTripMs'].map((name) => `/environment/${name}`),
  ...['blockGasLimit', 'feeMode', 'signer', 'inclusion'].map((name) => `/environment/${name}`),
  ...['setUpWei', 'spentWei', 'transactions'].map((name) => `/spending/${name}`),
  ...['inclusionResolutionMs', 'headSource', 'batches/why'].map((name) => `/generator/${name}`),
  '/audit',
];

/**
 * @param {StressError} error
 * @param {Omit<Parameters<typeof writeFailedSetUp>[1], 'outputs' | 'log'>} parts
 * @returns {RunFile}
 */
function describeFailedSetUp(error, { clock, version, config, times, endpoints }) {
  const nowUs = clock.nowUs();
  const display = endpoints?.rpc.display ?? null;
  const chain = { clientVersion: null, chainId: null, genesisHash: null, roundTripMs: null };
  const environment = describeEnvironment({
    version,
    config,
    chain,
    sender: null,
    endpoints: [],
    inclusion: null,
    facts: {},
    embedded: config.rpc.length === 0,
    rpc: { display: display ?? 'the embedded chain' },
  });
  const none = { rpcCalls: {}, transport: { requests: 0, connectionsOpened: 0, bytesReceived: 0 } };
  const traffic = endpoints === null ? none : threadStatsOf(endpoints);
  const why = `the run ended before its load began: ${error.message}`;
  const verdict = verdictOf(error);
  const run = buildRunFile({
    id: times.id,
    startedAtMs: times.timeOfDayMs(times.startedUs),
    endedAtMs: times.timeOfDayMs(nowUs),
    end: 'set_up_failed',
    exitCodes: [error.exitCode],
    config: config.redacted,
    environment,
    stats: new Stats(nowUs),
    durationUs: 0,
    instance: describeInstance(config, { by: null, at: null, waitedMs: null, lateMs: null }),
    intervals: [],
    windowStartedAtMs: times.timeOfDayMs(nowUs),
    failureWords: {},
    reorgs: noReorgs(),
    generator: {
      ...IDLE_GENERATOR,
      peakRssBytes: process.resourceUsage().maxRSS * 1024,
      workers: workersOf(config),
      rpcCalls: traffic.rpcCalls,
      transport: traffic.transport,
    },
    spending: { capWei: config.maxSpendWei === null ? null : String(config.maxSpendWei), ...nothingSpent() },
    audit: null,
    isOpenLoop: false,
    thresholds: config.thresholds,
    warnings: [error.message],
    unmeasured: Object.fromEntries(UNKNOWN_BEFORE_LOAD.map((pointer) => [pointer, why])),
  });
  if (verdict === null) run.unmeasured['/verdict'] = why;
  else delete run.unmeasured['/verdict'];
  // Unmeasured thresholds do not change the exit code.
  return { ...run, exitCode: error.exitCode, verdict };
}

function nothingSpent() {
  return { setUpWei: null, spentWei: null, transactions: null };
}

/** @param {StressError} error @returns {Verdict | null} */
function verdictOf(error) {
  if (error instanceof TransportError) return { name: 'endpoint-down', evidence: error.message };
  return error instanceof FundsError ? { name: 'funds', evidence: error.message } : null;
}
