import { EXIT } from '../errors.js';
import { addBlock, noBlocks } from '../metrics/blocks.js';
import { Engine } from './engine.js';

/**
 * @import { BatchFacts } from '../chain/batches.js'
 * @import { Counts } from '../metrics/interval.js'
 * @import { Recorder } from '../metrics/recorder.js'
 * @import { Transport, TransportStats } from '../transport/index.js'
 * @import { StopReason } from './driver.js'
 * @import { EngineOptions, EngineStats, Plan, Report } from './engine.js'
 * @import { Ledger } from './ledger.js'
 * @import { Traffic } from './route.js'
 * @import { Stop } from './stop.js'
 */

/**
 * Those who do the load: the engine in this thread, or a fleet of workers. The rest of a run does not care which.
 *
 * @typedef {object} Crew
 * @property {(signal: AbortSignal) => Promise<void>} prepare what can be done before the first operation is due
 * @property {(plan: Plan) => void} start
 * @property {(plan: Plan) => void} setWindow after an automatic warm-up
 * @property {() => Promise<Counts>} counts of the whole run so far
 * @property {(nowUs: number) => Promise<Report>} report ends an interval
 * @property {() => void} check asserts the law of conservation. Throws InternalError.
 * @property {(nowUs: number) => void} stop nothing is started any more; nowUs is the end of the window
 * @property {(timeoutMs: number, signal: AbortSignal) => Promise<void>} drain
 * @property {(nowUs: number) => Promise<SoFar>} soFar while it goes on
 * @property {() => Promise<Result>} result once it is drained
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Result
 * @property {Recorder} recorder
 * @property {Ledger} ledger
 * @property {EngineStats} stats
 * @property {ThreadStats[]} threads of the workers; what this thread did itself is not in it
 *
 * @typedef {Omit<Result, 'ledger'> & {untilUs: number}} SoFar what is known now, and up to which instant
 *
 * @typedef {object} ThreadStats
 * @property {Record<string, number>} rpcCalls
 * @property {TransportStats} transport
 * @property {BatchFacts} batches
 * @property {Traffic[]} endpoints where there are several
 */

/** Exit codes of the reasons for which the driver ends a run. */
const STOP_EXIT = Object.freeze({
  iterations: EXIT.ok,
  foreign_sender: EXIT.notExact,
  no_wallets: EXIT.unavailable,
  workload_failed: EXIT.badInput,
  max_spend: EXIT.refused,
  chain_replaced: EXIT.unavailable,
  internal: EXIT.internal,
});

/**
 * What a thread asks for.
 * @param {Stop} stop
 * @param {StopReason} reason
 * @param {Error} [error]
 */
export function requestStop(stop, reason, error) {
  stop.request(reason, STOP_EXIT[reason], error);
  // Nothing that was sent to the chain before can arrive on this one.
  if (reason === 'chain_replaced') stop.hurry(error?.message);
}

/**
 * One thread, this one.
 * @param {EngineOptions} options
 * @param {Pick<Transport, 'stats'>} transport
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
    setWindow: (plan) => engine.setWindow(plan),
    counts: async () => engine.recorder.counts,
    report: async (nowUs) => {
      const seen = blocks;
      blocks = noBlocks();
      return { ...engine.report(nowUs), blocks: seen, transport: transport.stats() };
    },
    check: () => engine.check(),
    stop: (nowUs) => engine.stop(nowUs),
    drain: (timeoutMs, signal) => engine.drain(timeoutMs, signal),
    soFar: async (nowUs) => {
      engine.check();
      return { recorder: engine.recorder, stats: engine.stats(), threads: [], untilUs: nowUs };
    },
    result: async () => ({ recorder: engine.recorder, ledger: engine.ledger, stats: engine.stats(), threads: [] }),
    close: () => engine.close(),
  };
}
