import { probes } from '../probe/index.js';
import { socketWarnings } from '../probe/sockets.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Clock } from '../clock.js'
 * @import { Readings } from '../metrics/readings.js'
 * @import { Probe as IndexProbe } from '../probe/index.js'
 * @import { LoopReading } from '../probe/loop.js'
 * @import { TransportStats } from '../transport/index.js'
 * @import { Config } from './config.js'
 */

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
