/**
 * A worker thread: the engine for a part of the slice, at the other end of src/run/fleet.js.
 *
 * @typedef {object} Task what a worker is given
 * @property {WorkerConfig} config
 * @property {string} url
 * @property {Array<ReturnType<import('../chain/wallets.js').Wallet['handOver']>>} wallets
 * @property {{name: string, state: unknown}} workload
 * @property {{chainId: number, startBlock: number, inclusion: string, fees: ReturnType<import('../chain/fees.js').Fees['state']>} | null} chain
 * @property {boolean} wantsSamples
 *
 * @typedef {Pick<import('./run.js').Config, 'transport' | 'connections' | 'requestTimeoutMs' | 'noKeepAlive' | 'insecure' | 'fixedId' | 'txTimeoutMs'>} WorkerConfig
 *
 * @typedef {{type: 'start', startUs: number} | {type: 'report', nowUs: number} | {type: 'stop', nowUs: number} | {type: 'drain', timeoutMs: number} | {type: 'hurry'} | {type: 'close'}} Order
 *
 * @typedef {object} State everything a worker knows
 * @property {import('../metrics/recorder.js').RecorderState} recorder
 * @property {import('./ledger.js').LedgerState} ledger
 * @property {import('./engine.js').EngineStats} stats
 * @property {import('./crew.js').ThreadStats} thread
 *
 * @typedef {{type: 'ready'} | {type: 'report', report: import('./engine.js').Report, state: State} | {type: 'drained'} | {type: 'samples', samples: import('../metrics/sample.js').Sample[]} | {type: 'stop', reason: import('./driver.js').StopReason, message: string | null}} Message
 */
import { parentPort, workerData } from 'node:worker_threads';
import { createFees } from '../chain/fees.js';
import { createRpc, displayUrl } from '../chain/rpc.js';
import { createSigner } from '../chain/signer.js';
import { Wallet } from '../chain/wallets.js';
import { createClock } from '../clock.js';
import { workloads } from '../workload/index.js';
import { Account } from './account.js';
import { openTransport } from './connect.js';
import { Engine } from './engine.js';

/**
 * @param {Task} task
 * @param {import('node:worker_threads').MessagePort} port
 */
async function work({ config, url, wallets, workload: prepared, chain, wantsSamples }, port) {
  /** @param {Message} message */
  const tell = (message) => port.postMessage(message);
  /** @param {import('./driver.js').StopReason} reason @param {Error} [error] */
  const askForStop = (reason, error) => tell({ type: 'stop', reason, message: error?.message ?? null });

  const clock = createClock();
  const transport = openTransport(config, new URL(url));
  const rpc = createRpc(transport, displayUrl(new URL(url)), { fixedId: config.fixedId });
  const options = {
    ...{ config, clock, rpc, onStop: askForStop },
    accounts: wallets.map((handed, position) => new Account(position, Wallet.resume(handed))),
    workload: workloads[prepared.name]({ rpc, contractsFile: null, state: prepared.state }),
    chain: chain === null ? null : { ...chain, signer: await createSigner(), fees: createFees(chain.fees) },
    onSample: (/** @type {import('../metrics/sample.js').Sample} */ sample) => {
      if (wantsSamples) samples.push(sample);
    },
  };
  /** Those that were not told yet. @type {import('../metrics/sample.js').Sample[]} */
  const samples = [];
  const hurry = new AbortController();
  /** @type {Engine | null} */
  let engine = null;

  /** @param {Engine} running @param {number} nowUs */
  function report(running, nowUs) {
    try {
      if (samples.length > 0) tell({ type: 'samples', samples: samples.splice(0) });
      const made = running.report(nowUs);
      const { recorder, ledger } = running;
      const thread = { rpcCalls: rpc.callCounts(), transport: transport.stats(), batches: rpc.batchFacts() };
      const state = { recorder: recorder.state(), ledger: ledger.state(), stats: running.stats(), thread };
      tell({ type: 'report', report: made, state });
      running.check();
    } catch (error) {
      askForStop('internal', /** @type {Error} */ (error));
    }
  }

  /** @param {Order} order */
  async function obey(order) {
    if (order.type === 'start') {
      engine = new Engine(options, order.startUs);
      engine.start();
    } else if (order.type === 'hurry') {
      hurry.abort();
      await transport.close();
    } else if (order.type === 'close') {
      await engine?.close();
      await transport.close();
      port.close();
    } else if (engine !== null) {
      if (order.type === 'report') report(engine, order.nowUs);
      else if (order.type === 'stop') engine.stop(order.nowUs);
      else {
        await engine.drain(order.timeoutMs, hurry.signal);
        tell({ type: 'drained' });
      }
    }
  }

  port.on('message', (/** @type {Order} */ order) => {
    obey(order).catch((error) => askForStop('internal', error));
  });
  tell({ type: 'ready' });
}

await work(workerData, /** @type {import('node:worker_threads').MessagePort} */ (parentPort));
