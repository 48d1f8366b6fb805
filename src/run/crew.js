import { EXIT, InternalError } from '../errors.js';
import { Engine } from './engine.js';

/**
 * Those who do the load: the engine in this thread, or a fleet of workers. The rest of a run does not care which.
 *
 * @typedef {object} Crew
 * @property {(startUs: number) => void} start
 * @property {(nowUs: number) => Promise<import('./engine.js').Report>} report ends an interval
 * @property {() => void} check asserts the law of conservation. Throws InternalError.
 * @property {(nowUs: number) => void} stop nothing is started any more; nowUs is the end of the window
 * @property {(timeoutMs: number, signal: AbortSignal) => Promise<void>} drain
 * @property {() => Promise<Result>} result once it is drained
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Result
 * @property {import('../metrics/recorder.js').Recorder} recorder
 * @property {import('./ledger.js').Ledger} ledger
 * @property {import('./engine.js').EngineStats} stats
 * @property {ThreadStats[]} threads of the workers; what this thread did itself is not in it
 *
 * @typedef {object} ThreadStats
 * @property {Record<string, number>} rpcCalls
 * @property {import('../transport/index.js').TransportStats} transport
 * @property {import('../chain/batches.js').BatchFacts} batches
 */

/** Exit codes of the reasons for which the driver ends a run. */
export const STOP_EXIT = Object.freeze({
  foreign_sender: EXIT.notExact,
  no_wallets: EXIT.unavailable,
  internal: EXIT.internal,
});

/** One thread, this one. @param {import('./engine.js').EngineOptions} options @returns {Crew} */
export function soloCrew(options) {
  /** @type {Engine | null} */
  let engine = null;
  const present = () => {
    if (engine === null) throw new InternalError('the load has not been started');
    return engine;
  };
  return {
    start: (startUs) => {
      engine = new Engine(options, startUs);
      engine.start();
    },
    report: async (nowUs) => present().report(nowUs),
    check: () => present().check(),
    stop: (nowUs) => present().stop(nowUs),
    drain: (timeoutMs, signal) => present().drain(timeoutMs, signal),
    result: async () => ({
      recorder: present().recorder,
      ledger: present().ledger,
      stats: present().stats(),
      threads: [],
    }),
    close: async () => engine?.close(),
  };
}
