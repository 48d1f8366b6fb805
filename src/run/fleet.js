import { Worker } from 'node:worker_threads';
import { InternalError } from '../errors.js';
import { Distribution } from '../metrics/distribution.js';
import { Recorder, addTo } from '../metrics/recorder.js';
import { STOP_EXIT } from './crew.js';
import { Ledger } from './ledger.js';
import { sliceIndexes, splitSlice } from './slice.js';

/**
 * Worker threads that share the slice, as instances with disjoint offsets would. Each reports all it knows at every
 * interval, so that what is known of one that dies is as old as the last report.
 *
 * @typedef {import('./worker.js').Task} Task
 * @typedef {import('./worker.js').State} State
 *
 * @typedef {object} FleetOptions
 * @property {Pick<import('./run.js').Config, 'offset' | 'threads' | 'connections'>} config
 * @property {number} workers
 * @property {import('./account.js').Account[]} accounts by position in the slice
 * @property {(first: number, count: number) => Omit<Task, 'wantsSamples'>} taskOf the task for a part of the positions
 * @property {import('./stop.js').Stop} stop
 * @property {import('../output/index.js').Output[]} outputs
 */

/** @param {FleetOptions} options @returns {Promise<import('./crew.js').Crew>} whose workers are ready */
export async function startFleet(options) {
  const { config, workers, taskOf, stop, outputs, accounts } = options;
  const wantsSamples = outputs.some((output) => output.wantsSamples);
  const parts = splitSlice({ offset: 0, threads: config.threads }, workers).map(({ offset, threads }, i) => {
    // What is left over by an even split goes to the first ones.
    const connections = Math.floor((config.connections + workers - 1 - i) / workers);
    const task = taskOf(offset, threads);
    return new Part({ ...task, config: { ...task.config, connections }, wantsSamples }, offset, threads, options);
  });
  await Promise.all(parts.map((part) => part.ready));

  let startUs = 0;
  let endUs = Infinity;
  return {
    start: (atUs) => {
      startUs = atUs;
      for (const part of parts) part.order({ type: 'start', startUs });
    },
    report: async (nowUs) => mergeReports(await Promise.all(parts.map((part) => part.report(nowUs))), parts, startUs),
    check: () => {}, // each worker checks itself, at the instant of its report
    stop: (nowUs) => {
      endUs = nowUs;
      for (const part of parts) part.order({ type: 'stop', nowUs });
    },
    drain: async (timeoutMs, signal) => {
      const hurry = () => parts.forEach((part) => part.order({ type: 'hurry' }));
      if (signal.aborted) hurry();
      else signal.addEventListener('abort', hurry, { once: true });
      await Promise.all(parts.map((part) => part.drain(timeoutMs)));
      signal.removeEventListener('abort', hurry);
    },
    result: async () => {
      const recorder = new Recorder(sliceIndexes(config), startUs);
      recorder.closeWindow(endUs);
      const ledger = new Ledger(accounts, () => stop.request('foreign_sender', STOP_EXIT.foreign_sender));
      const known = parts.flatMap(({ state, first }) => (state === null ? [] : { state, first }));
      for (const { state, first } of known) {
        recorder.adopt(state.recorder, first);
        ledger.adopt(state.ledger, first);
      }
      const threads = known.map(({ state }) => state.thread);
      return { recorder, ledger, stats: mergeStats(known.map(({ state }) => state.stats)), threads };
    },
    close: async () => {
      await Promise.all(parts.map((part) => part.close()));
    },
  };
}

/** One worker and what was heard from it last. */
class Part {
  /** @type {State | null} */
  state = null;
  #isDead = false;
  #isClosing = false;
  #worker;
  /** Those who wait for a message of a type, or for the end. @type {Map<string, () => void>} */
  #waiting = new Map();
  /** @type {import('./engine.js').Report | null} */
  #report = null;
  #options;

  /** @param {Task} task @param {number} first @param {number} count @param {FleetOptions} options */
  constructor(task, first, count, options) {
    this.first = first;
    this.count = count;
    this.#options = options;
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: task });
    this.#worker.on('message', (message) => this.#hear(message));
    this.#worker.on('error', (error) => this.#died(error.message));
    this.#worker.on('exit', (code) => this.#died(`it exited with ${code}`));
    this.ready = this.#next('ready');
  }

  /** @param {import('./worker.js').Order} order */
  order(order) {
    if (!this.#isDead) this.#worker.postMessage(order);
  }

  /** @param {string} type @returns {Promise<void>} ends also when the worker does */
  #next(type) {
    return new Promise((resolve) => {
      if (this.#isDead) resolve();
      else this.#waiting.set(type, resolve);
    });
  }

  /** @param {number} nowUs @returns {Promise<import('./engine.js').Report | null>} null from a worker that has died */
  async report(nowUs) {
    this.#report = null;
    const heard = this.#next('report');
    this.order({ type: 'report', nowUs });
    await heard;
    return this.#report;
  }

  /** @param {number} timeoutMs */
  async drain(timeoutMs) {
    const heard = this.#next('drained');
    this.order({ type: 'drain', timeoutMs });
    await heard;
  }

  async close() {
    this.#isClosing = true;
    const gone = this.#next('exit');
    this.order({ type: 'close' });
    await gone;
  }

  /** @param {import('./worker.js').Message} message */
  #hear(message) {
    const { stop, outputs } = this.#options;
    if (message.type === 'report') {
      this.#report = message.report;
      this.state = message.state;
    } else if (message.type === 'samples') {
      for (const sample of message.samples) for (const output of outputs) output.sample(sample);
    } else if (message.type === 'stop') {
      const error = message.message === null ? undefined : new InternalError(message.message);
      stop.request(message.reason, STOP_EXIT[message.reason], error);
      // A report that could not be made is waited for no longer.
      if (message.reason === 'internal') this.#wake('report');
    }
    this.#wake(message.type);
  }

  /** @param {string} type */
  #wake(type) {
    const resolve = this.#waiting.get(type);
    this.#waiting.delete(type);
    resolve?.();
  }

  /** @param {string} words */
  #died(words) {
    if (this.#isDead) return;
    this.#isDead = true;
    if (!this.#isClosing) {
      const { stop, accounts } = this.#options;
      for (const account of accounts.slice(this.first, this.first + this.count)) account.isLost = true;
      const { wallet } = accounts[this.first];
      const range = `${wallet.index}..${wallet.index + this.count - 1}`;
      const error = new InternalError(
        `the worker of wallets ${range} died (${words}): what it did since its last report is not known. This is a bug of stress`,
      );
      stop.request('worker_died', STOP_EXIT.internal, error);
    }
    for (const type of [...this.#waiting.keys()]) this.#wake(type);
  }
}

/**
 * @param {Array<import('./engine.js').Report | null>} made
 * @param {Part[]} parts
 * @param {number} startUs
 * @returns {import('./engine.js').Report}
 */
function mergeReports(made, parts, startUs) {
  const reports = made.flatMap((report, i) => (report === null ? [] : { ...report, first: parts[i].first }));
  if (reports.length === 0) throw new InternalError(`no worker is left of ${parts.length}`);
  const [{ interval, blocks }, ...others] = reports;
  const latency = Distribution.fromJSON(interval.latency);
  const totals = { ...reports[0].totals };
  const sum = { counts: { ...interval.counts }, failures: { ...interval.failures } };
  for (const other of others) {
    latency.merge(Distribution.fromJSON(other.interval.latency));
    addTo(sum.counts, other.interval.counts);
    addTo(sum.failures, other.interval.failures);
    addTo(totals, other.totals);
  }
  const silences = reports.flatMap(({ silence }) => silence ?? []);
  return {
    interval: {
      startUs: Math.max(interval.startUs, startUs),
      endUs: interval.endUs,
      ...sum,
      latency: latency.toJSON(),
    },
    live: reports.flatMap(({ live, first }) => live.map((position) => first + position)),
    // Every worker sees the same blocks, but only its own transactions in them.
    blocks: { ...blocks, ours: reports.reduce((ours, report) => ours + report.blocks.ours, 0) },
    totals,
    silence: silences.toSorted((a, b) => b.silentMs - a.silentMs)[0] ?? null,
  };
}

/** @param {import('./engine.js').EngineStats[]} all @returns {import('./engine.js').EngineStats} */
function mergeStats(all) {
  const resolutions = all.flatMap(({ inclusionResolutionMs }) => inclusionResolutionMs ?? []);
  const presigned = { used: 0, discarded: 0 };
  for (const stats of all) addTo(presigned, stats.presigned);
  return {
    readBackRetries: all.reduce((sum, { readBackRetries }) => sum + readBackRetries, 0),
    retiredWallets: all.reduce((sum, { retiredWallets }) => sum + retiredWallets, 0),
    inclusionResolutionMs: resolutions.length === 0 ? null : Math.max(...resolutions),
    failedPolls: all.reduce((sum, { failedPolls }) => sum + failedPolls, 0),
    presigned,
  };
}
