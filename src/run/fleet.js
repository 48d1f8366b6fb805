import { SharedBlocks } from '../metrics/blocks.js';
import { addTo, Recorder } from '../metrics/recorder.js';
import { Distribution } from '../metrics/distribution.js';
import { STOP_EXIT } from './crew.js';
import { Ledger } from './ledger.js';
import { Part } from './part.js';
import { sliceIndexes, splitSlice } from './slice.js';

/**
 * Worker threads that share the slice, as instances with disjoint offsets would. Each reports all it knows at every
 * interval, so that what is known of one that dies is as old as its last report.
 *
 * @typedef {import('./worker.js').Task} Task
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
  const shared = new SharedBlocks();
  /** @param {import('../inclusion/index.js').Block} block */
  const onBlock = (block) => shared.add(block, parts.filter(({ isDead }) => !isDead).length);
  /** @type {Part[]} */
  const parts = splitSlice({ offset: 0, threads: config.threads }, workers).map(({ offset, threads }, i) => {
    // What is left over by an even split goes to the first ones.
    const connections = Math.floor((config.connections + workers - 1 - i) / workers);
    const task = taskOf(offset, threads);
    return new Part({ ...task, config: { ...task.config, connections }, wantsSamples }, offset, threads, {
      stop,
      outputs,
      accounts,
      onBlock,
    });
  });
  await Promise.all(parts.map((part) => part.ready));

  let startUs = 0;
  let endUs = Infinity;
  let isDrained = false;
  return {
    prepare: async () => {
      await Promise.all(parts.map((part) => part.prepare()));
    },
    start: (fromUs, toUs) => {
      startUs = fromUs;
      for (const part of parts) part.order({ type: 'start', startUs, endUs: toUs });
    },
    report: async (nowUs) => {
      await Promise.all(parts.map((part) => part.askForReport(nowUs)));
      return { ...mergeReports(parts, startUs, nowUs), blocks: shared.take(isDrained) };
    },
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
      isDrained = true;
    },
    result: async () => {
      const recorder = new Recorder(sliceIndexes(config), startUs);
      const ledger = new Ledger(accounts, () => stop.request('foreign_sender', STOP_EXIT.foreign_sender));
      const known = parts.flatMap(({ state, first }) => (state === null ? [] : { state, first }));
      for (const { state, first } of known) {
        recorder.adopt(state.recorder, first);
        ledger.adopt(state.ledger, first);
      }
      // The window is over when it is over in all of them.
      const ends = known.map(({ state }) => state.recorder.endUs).filter(Number.isFinite);
      recorder.closeWindow(ends.length > 0 ? Math.max(...ends) : endUs);
      recorder.abandonOpen();
      recorder.assertConservation(new Map());
      const threads = known.map(({ state }) => state.thread);
      return { recorder, ledger, stats: mergeStats(known.map(({ state }) => state.stats)), threads };
    },
    close: async () => {
      await Promise.all(parts.map((part) => part.close()));
    },
  };
}

/**
 * @param {Part[]} parts whose reports are of the same interval; one that has died has none
 * @param {number} startUs
 * @param {number} nowUs
 * @returns {import('./engine.js').EngineReport}
 */
function mergeReports(parts, startUs, nowUs) {
  const latency = new Distribution();
  /** @type {import('./engine.js').EngineReport} */
  const sum = {
    interval: { ...new Recorder([], startUs).interval, endUs: nowUs, latency: latency.toJSON() },
    inFlight: 0,
    totals: new Recorder([], startUs).counts,
    silence: null,
  };
  for (const { report, totals } of parts) {
    // What a dead one has done counts on.
    if (totals !== null) addTo(sum.totals, totals);
    if (report === null) continue;
    const { interval, silence } = report;
    sum.interval.startUs = Math.max(sum.interval.startUs, interval.startUs);
    sum.interval.endUs = Math.max(sum.interval.endUs, interval.endUs);
    addTo(sum.interval.counts, interval.counts);
    addTo(sum.interval.failures, interval.failures);
    latency.merge(Distribution.fromJSON(interval.latency));
    sum.inFlight += report.inFlight;
    if (silence !== null && silence.silentMs >= (sum.silence?.silentMs ?? 0)) sum.silence = silence;
  }
  sum.interval.latency = latency.toJSON();
  return sum;
}

/** @param {import('./engine.js').EngineStats[]} all @returns {import('./engine.js').EngineStats} */
function mergeStats(all) {
  const resolutions = all.flatMap(({ inclusionResolutionMs }) => inclusionResolutionMs ?? []);
  const presigned = { used: 0, discarded: 0 };
  for (const stats of all) addTo(presigned, stats.presigned);
  /** @type {Record<string, string>} */
  const failureWords = Object.assign({}, ...all.map((stats) => stats.failureWords));
  return {
    readBackRetries: all.reduce((sum, { readBackRetries }) => sum + readBackRetries, 0),
    retiredWallets: all.reduce((sum, { retiredWallets }) => sum + retiredWallets, 0),
    inclusionResolutionMs: resolutions.length === 0 ? null : Math.max(...resolutions),
    failedPolls: all.reduce((sum, { failedPolls }) => sum + failedPolls, 0),
    presigned,
    failureWords,
  };
}
