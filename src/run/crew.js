import { EXIT } from '../errors.js';
import { addBlock, noBlocks } from '../metrics/blocks.js';
import { Engine } from './engine.js';

/**
 * Those who do the load: the engine in this thread, or a fleet of workers. The rest of a run does not care which.
 *
 * @typedef {object} Crew
 * @property {(signal: AbortSignal) => Promise<void>} prepare what can be done before the first operation is due
 * @property {(plan: import('./engine.js').Plan) => void} start
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

/**
 * One thread, this one.
 * @param {import('./engine.js').EngineOptions} options
 * @param {import('../transport/index.js').Transport} transport
 * @returns {Crew}
 */
export function soloCrew(options, transport) {
  let blocks = noBlocks();
  const engine = new Engine({
    ...options,
    onBlock: (block) => {
      addBlock(blocks, block);
      options.onBlock(block);
    },
  });
  return {
    prepare: (signal) => engine.prepare(signal),
    start: (plan) => {
      blocks = noBlocks();
      engine.start(plan);
    },
    report: async (nowUs) => {
      const seen = blocks;
      blocks = noBlocks();
      return { ...engine.report(nowUs), blocks: seen, transport: transport.stats() };
    },
    check: () => engine.check(),
    stop: (nowUs) => engine.stop(nowUs),
    drain: (timeoutMs, signal) => engine.drain(timeoutMs, signal),
    result: async () => ({ recorder: engine.recorder, ledger: engine.ledger, stats: engine.stats(), threads: [] }),
    close: () => engine.close(),
  };
}
