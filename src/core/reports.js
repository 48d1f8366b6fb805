import { EXIT, FundsError, StressError, TransportError } from '../errors.js';
import { probes } from '../probes/index.js';
import { socketWarnings } from '../probes/sockets.js';
import { IntervalLog, stagesFrom } from '../stats/intervals.js';
import { Recorder } from '../stats/recorder.js';
import { noReorgs } from '../stats/reorgs.js';
import { buildRunFile } from '../stats/run-file.js';
import { threadStatsOf } from './endpoints.js';
import { describeEnvironment, describeInstance } from './run.js';
import { workersOf } from './workers.js';

/**
 * @import { Clock, Config, IntervalRow, LoopReading, Output, Phase, Readings, Rpc, RunFile, Surroundings, TransportStats } from '../types.d.ts'
 * @import { Probe as IndexProbe } from '../probes/index.js'
 * @import { Verdict } from '../stats/verdict.js'
 * @import { Endpoints } from './endpoints.js'
 * @import { Plan, Report } from './engine.js'
 * @import { Stop } from './load.js'
 * @import { startOf } from './run.js'
 */

/** Without an answer for so long the endpoint is named in the row. */
const SILENT_MS = 1500;

/**
 * Makes the row of an interval, hands it to the outputs, and keeps it for the run file.
 */
export class Reporter {
  #log = new IntervalLog();
  #watch;
  #outputs;
  #plan;
  #windowVerified = 0;
  /** In the order of the intervals. @type {Promise<void>} */
  #settled = Promise.resolve();
  /** CPU time of this process over the window, in microseconds. */
  cpuUs = 0;

  /**
   * @param {Plan} plan
   * @param {Output[]} outputs
   * @param {Watch} watch
   */
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
   * The probes are read at once; the row is made when the last of them has answered, and the next interval does not wait
   * for that.
   * @param {Phase} phase
   * @param {Report} report
   */
  add(phase, report) {
    const readings = this.#watch.sample(report.loop, report.transport);
    // One that fails fails whoever asks whether all is settled.
    readings.catch(() => {});
    this.#settled = this.#settled.then(async () => this.#addRow(phase, report, await readings));
    this.#settled.catch(() => {});
  }

  /** @returns {Promise<void>} when every row is made */
  settled() {
    return this.#settled;
  }

  /**
   * @param {Phase} phase
   * @param {Report} report
   * @param {Readings} probes
   */
  #addRow(phase, { interval, inFlight, blocks, totals, silence }, probes) {
    const { startUs, endUs, counts, failures, byEndpoint, distributions } = interval;
    const { loadStartUs } = this.#plan;
    const seconds = (endUs - startUs) / 1e6;
    if (phase === 'load') {
      this.cpuUs += probes.self.cpuUs;
      this.#windowVerified += counts.verified;
    }
    /** @type {IntervalRow} */
    const row = {
      phase,
      startMs: (startUs - loadStartUs) / 1000,
      endMs: (endUs - loadStartUs) / 1000,
      counts,
      failures,
      inFlight,
      byEndpoint,
      tps: phase !== 'drain' && seconds > 0 ? counts.verified / seconds : null,
      latency: distributions.latency,
      lag: distributions.lag,
      stages: stagesFrom((stage) => distributions[stage]),
      blocks: { ...blocks, gapMaxMs: Math.max(blocks.gapMaxMs ?? 0, silence?.stillMs ?? 0) },
      probes,
    };
    if (silence !== null && silence.silentMs >= SILENT_MS)
      row.silence = { ms: silence.silentMs, words: silence.words || 'no answer in time' };
    this.#log.add(row);
    const windowS = (endUs - this.#plan.startUs) / 1e6;
    const { queued, submit, inclusion, visibility, readBack } = distributions;
    const sums = {
      attempts: totals.started,
      verified: totals.verified,
      runTps: phase === 'load' && windowS > 0 ? this.#windowVerified / windowS : null,
      ...(distributions.censored.count > 0 && { censored: distributions.censored }),
      stages: { queued, submit, inclusion, visibility, readBack },
    };
    for (const output of this.#outputs) output.interval(row, sums);
  }
}

/**
 * Keeps what is known of a run while it goes on, so that little is lost when something kills it.
 *
 * @typedef {object} CheckpointOptions
 * @property {Clock} clock
 * @property {Output[]} outputs
 * @property {Stop} stop
 * @property {(words: string) => void} warn called once, whatever goes wrong how often
 */

/**
 * How a run file is made: asking takes a while where others know, and no time of this thread.
 * @template T
 * @typedef {{ask: () => Promise<T>, describe: (known: T) => RunFile}} Making
 */

/** From the beginning of the load to the first one in it: between two reports of the usual interval, not with one. */
const FIRST_MS = 1000;
const PERIOD_MS = 5000;

/** The load stands still while one is made: that may take a fiftieth of the time. */
const PERIODS_PER_COST = 50;

export class Checkpoints {
  #options;
  #keepers;
  #hasWarned = false;
  #isOver = false;
  #cancel = () => {};
  /** Of the one that is being written. @type {Promise<unknown>} */
  #keeping = Promise.resolve();

  /** @param {CheckpointOptions} options */
  constructor(options) {
    this.#options = options;
    this.#keepers = options.outputs.flatMap((output) => output.checkpoint?.bind(output) ?? []);
  }

  /**
   * @template T
   * @param {Making<T>} making
   * @returns {Promise<number>} what it took of this thread's time, in milliseconds
   */
  async keep({ ask, describe }) {
    const { clock, stop } = this.#options;
    if (this.#keepers.length === 0) return 0;
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
      // The whole run file may be there by now.
      if (!this.#isOver) await timed(() => this.#hand(describe(known)));
    } catch (error) {
      // Whether the run file can be written is decided by the end: a disk may have room again by then.
      if (error instanceof StressError && error.exitCode === EXIT.cannotWrite) this.#warnOnce(error.message);
      else stop.request('internal', EXIT.internal, /** @type {Error} */ (error));
    }
    return busyUs / 1000;
  }

  /** @param {RunFile} runFile @returns {Promise<unknown>} when it is written */
  #hand(runFile) {
    const kept = this.#keepers.map(async (keeper) => keeper(runFile));
    this.#keeping = Promise.allSettled(kept);
    return Promise.all(kept);
  }

  /** Now and then until stop(). @template T @param {Making<T>} making */
  begin(making) {
    if (this.#keepers.length > 0) this.#keepAfter(FIRST_MS, making);
  }

  /** @template T @param {number} ms @param {Making<T>} making */
  #keepAfter(ms, making) {
    this.#cancel = this.#options.clock.after(() => void this.#keepOn(making), ms);
  }

  /** @template T @param {Making<T>} making */
  async #keepOn(making) {
    const tookMs = await this.keep(making);
    if (!this.#isOver) this.#keepAfter(Math.max(PERIOD_MS, PERIODS_PER_COST * tookMs), making);
  }

  /** @returns {Promise<void>} when none is being written any more: it would replace the whole run file */
  async stop() {
    this.#isOver = true;
    this.#cancel();
    await this.#keeping;
  }

  /** Nothing was loaded: nothing is to look as if it had been killed under load. */
  async discard() {
    await this.stop();
    for (const output of this.#options.outputs) output.discard?.();
  }

  /** @param {string} words */
  #warnOnce(words) {
    if (!this.#hasWarned) this.#options.warn(`${words}; the run goes on without a file of what is known so far`);
    this.#hasWarned = true;
  }
}

/**
 * Watches what is beside the load, with all probes at once. One that does not answer in time has no reading.
 *
 * @typedef {IndexProbe<any>} Probe
 *
 * @typedef {object} WatchOptions
 * @property {Pick<Config, 'nodePid' | 'nodeMetrics' | 'nodeSeries' | 'insecure'>} config
 * @property {URL[]} urls of the endpoints
 * @property {boolean} [isEmbedded] whether the process of --node-pid is the embedded chain
 * @property {Rpc | null} rpc null where nothing is sent that could be in a pool
 * @property {Clock} clock
 * @property {(words: string) => void} warn called for each thing that is worth it, a few times for one kind
 */

/** How long a probe may take, in milliseconds: the report of the interval waits for it. */
const PROBE_TIMEOUT_MS = 1000;

/** Whoever asked for these wants to know that there is nothing to see. */
const ASKED_FOR = Object.freeze(['node', 'metrics']);

/** The embedded chain keeps what was sent to it. From this much memory on the user is told, while there is time to act. */
const EMBEDDED_WARNING_BYTES = 750e6;

export class Watch {
  #self = probes.self();
  #transport = { requests: 0, connectionsOpened: 0 };
  #connections = probes.connections({ stats: () => this.#transport });
  /** @type {Record<string, Probe>} */
  #others;
  /** Why there is no such probe, by name. @type {Record<string, string>} */
  #missing = {};
  #clock;
  #warn;
  #memoryLimitBytes;
  /** What was warned about. @type {string[]} */
  warnings = [];
  /** How many there were of each kind. @type {Map<string, number>} */
  #said = new Map();
  /** Where in the warnings it stands how many more there were of a kind. @type {Map<string, number>} */
  #rest = new Map();

  /** @param {WatchOptions & {memoryLimitBytes?: number}} options memoryLimitBytes: of the embedded chain, until it is warned of */
  constructor({ config, urls, rpc, clock, warn, isEmbedded = false, memoryLimitBytes = EMBEDDED_WARNING_BYTES }) {
    const { nodePid, nodeMetrics, nodeSeries, insecure } = config;
    this.#clock = clock;
    this.#warn = warn;
    this.#memoryLimitBytes = isEmbedded ? memoryLimitBytes : Infinity;
    this.#others = { sockets: probes.sockets({ urls }) };
    if (rpc === null) this.#missing.pool = 'plain calls leave nothing in it';
    else this.#others.pool = probes.pool({ rpc });
    if (nodePid === null) this.#missing.node = 'not asked for (--node-pid)';
    else this.#others.node = probes.node({ pid: nodePid });
    if (nodeMetrics === null) this.#missing.metrics = 'not asked for (--node-metrics)';
    else this.#others.metrics = probes.metrics({ url: nodeMetrics, series: nodeSeries, insecure });
  }

  /** The first reading of the sockets starts a thread, which is not to be part of the window. */
  async prepare() {
    await this.#inTime(this.#others.sockets).catch(() => {});
  }

  /** What happened before counts nowhere. */
  begin() {
    this.#self.sample();
    this.#connections.sample();
  }

  /**
   * @param {LoopReading | null} loop of the thread that is worst off
   * @param {TransportStats} transport of all threads, since the start
   * @returns {Promise<Readings>}
   */
  async sample(loop, transport) {
    this.#transport = transport;
    // These two are of this moment, whatever the others take.
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
          if (ASKED_FOR.includes(name)) this.warnOnce(name, `--node-${name === 'node' ? 'pid' : name}: ${why[name]}`);
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
      // The figures in them change, and are no other warning for that.
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
    // The sleep ends early when it is not needed any more; nobody listens then.
    late.catch(() => {});
    try {
      return await Promise.race([Promise.resolve(probe.sample()), late]);
    } finally {
      over.abort();
    }
  }

  /** What goes on for a while is one thing. @param {string} kind @param {string} words */
  warnOnce(kind, words) {
    if (!this.#said.has(kind)) this.warnOf(kind, words);
  }

  /**
   * What happens again is another one: the first few of a kind are said, the rest are counted.
   * @param {string} kind
   * @param {string} words
   */
  warnOf(kind, words) {
    const count = (this.#said.get(kind) ?? 0) + 1;
    this.#said.set(kind, count);
    if (count <= MOST_OF_A_KIND) {
      this.warnings.push(words);
      this.#warn(words);
      return;
    }
    const at = this.#rest.get(kind) ?? this.warnings.length;
    this.#rest.set(kind, at);
    this.warnings[at] = `and ${count - MOST_OF_A_KIND} more of this kind, the last of them: ${words}`;
    if (count === MOST_OF_A_KIND + 1) this.#warn(`${words}; more of this kind are counted and not said`);
  }

  close() {
    for (const probe of Object.values(this.#others)) probe.close?.();
  }
}

/** A run that goes on for days must not fill its log with them, and none may drown those of another kind. */
const MOST_OF_A_KIND = 5;

/**
 * A run that ended before its load began: a CI server that reads files, and not the terminal, is told as well.
 */

/** The endpoint, or what is needed there, is missing; or going on could do harm. @type {readonly number[]} */
const TOLD = Object.freeze([EXIT.unavailable, EXIT.refused]);

/**
 * Writes the files of a run without a load.
 * @param {unknown} error that ended it
 * @param {Pick<Surroundings, 'clock' | 'outputs' | 'version' | 'log'> & {config: Config, times: ReturnType<startOf>, endpoints: Endpoints | null}} parts
 */
export async function tellSetUpFailed(error, { outputs, log, ...parts }) {
  if (!(error instanceof StressError) || !TOLD.includes(error.exitCode)) return;
  const run = describeFailedSetUp(error, parts);
  for (const output of outputs) {
    try {
      await output.setUpFailed?.(run);
    } catch (unwritten) {
      log.error(/** @type {Error} */ (unwritten).message);
    }
  }
}

/** What no load has changed. */
const IDLE_GENERATOR = Object.freeze({
  cpuUs: 0,
  endpoints: [],
  batches: { limit: 1, largest: 1, refused: 0, why: null },
  readBackRetries: 0,
  pausedMs: 0,
  retiredWallets: 0,
  presigned: { used: 0, discarded: 0 },
  resubmissions: { repeated: 0, rebroadcast: 0, replaced: 0 },
  inclusionResolutionMs: null,
  headSource: null,
  failedPolls: 0,
  arrivalSeed: null,
  samplesDropped: 0,
});

/** JSON pointers of the figures that a run file does not have where no load began. */
const UNKNOWN_BEFORE_LOAD = [
  ...['clientVersion', 'chainId', 'genesisHash', 'roundTripMs'].map((name) => `/environment/${name}`),
  ...['blockGasLimit', 'feeMode', 'signer', 'inclusion'].map((name) => `/environment/${name}`),
  ...['setUpWei', 'spentWei', 'transactions'].map((name) => `/spending/${name}`),
  ...['inclusionResolutionMs', 'headSource', 'batches/why'].map((name) => `/generator/${name}`),
  '/audit',
];

/**
 * @param {StressError} error
 * @param {Omit<Parameters<typeof tellSetUpFailed>[1], 'outputs' | 'log'>} parts
 * @returns {RunFile}
 */
function describeFailedSetUp(error, { clock, version, config, times, endpoints }) {
  const nowUs = clock.nowUs();
  const recorder = new Recorder([], nowUs);
  recorder.closeWindow(nowUs);
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
    recorder,
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
  // That thresholds were not measured is no news beside this.
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
