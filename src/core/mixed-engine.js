import { Wallet } from '../chain/keys.js';
import { merge } from '../stats/merge.js';
import { SNAPSHOT } from '../stats/metrics.js';
import { createWorkload } from '../workloads/index.js';
import { CALLS, sidesOf } from '../workloads/table.js';
import { loadText } from './describe.js';
import { Account, sliceIndexes } from './nonces.js';
import { counted } from '../text.js';

/**
 * Calls beside transactions (--mix counter:60,calls:40). Each side has an engine, a part of the slice and of the
 * connections, and in an open loop a part of the rate, by weight. All figures are added up.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { CallWorkload, Config, Engine, Platform, WorkloadConfig } from '../contracts/load.d.ts'
 * @import { Ledger } from './ledger.js'
 */

/**
 * @param {Config} config
 * @returns {{own: Config, calls: Config | null}} own: of the transactions; calls: null without calls in the mix
 */
export function splitLoad(config) {
  const { load, wallets, network, workload } = config;
  const { mix } = workload;
  const weightOf = (/** @type {WorkloadConfig['mix']} */ members) =>
    members.reduce((sum, { weight }) => sum + weight, 0);
  const others = mix.filter(({ name }) => name !== CALLS);
  if (others.length === mix.length) return { own: config, calls: null };
  const share = weightOf(others) / weightOf(mix);
  /** @param {number} part @param {number} threads @param {number} connections */
  const scaled = (part, threads, connections) => {
    const ratePerSecond = load.ratePerSecond && part * load.ratePerSecond;
    const stages = load.stages?.map(({ fromPerSecond, toPerSecond, durationUs }) => {
      return { fromPerSecond: part * fromPerSecond, toPerSecond: part * toPerSecond, durationUs };
    });
    const scaledLoad = { ...load, threads, ratePerSecond, stages: stages ?? null };
    return { ...config, network: { ...network, connections }, load: scaledLoad };
  };
  const [threads, users] = sidesOf(load.threads, mix);
  const [sockets, callSockets] = sidesOf(network.connections, mix);
  return {
    own: { ...scaled(share, threads, sockets), workload: { ...workload, mix: others } },
    calls: {
      ...scaled(1 - share, users, callSockets),
      wallets: { ...wallets, offset: wallets.offset + threads },
      workload: { ...workload, workload: 'rpc' },
    },
  };
}

/**
 * @param {Config} calls
 * @param {Pick<Platform, 'clock' | 'random'> & {rpc: Rpc, connect: (url: URL) => Rpc}} network
 * @param {Parameters<NonNullable<CallWorkload['prepare']>>[0]} preparation
 */
export async function openCalls(calls, network, preparation) {
  const { threads } = calls.load;
  preparation.notice(loadText(calls, counted(threads, 'user'), network.rpc.display));
  const workload = /** @type {CallWorkload} */ (
    await createWorkload('rpc', { ...network, settings: calls.workload, threads })
  );
  await workload.prepare?.(preparation);
  const accounts = sliceIndexes({ offset: calls.wallets.offset, threads }).map(
    (index, i) => new Account(i, Wallet.withoutKey(index)),
  );
  const weight = calls.workload.mix.find(({ name }) => name === CALLS)?.weight;
  return { workload, accounts, facts: { weight, users: accounts.length, ...workload.facts?.() } };
}

/** @param {Engine<Ledger>[]} engines of transactions, and of calls @returns {Engine<Ledger>} */
export function mixEngines(engines) {
  /** @template T @param {(engine: Engine<Ledger>) => T} call @returns {Promise<Array<Awaited<T>>>} */
  const all = (call) => Promise.all(engines.map(call));
  return {
    prepare: async (signal) => void (await all((engine) => engine.prepare(signal))),
    start: (plan) => void all((engine) => engine.start(plan)),
    setWindow: (plan) => void all((engine) => engine.setWindow(plan)),
    snapshot: async (...given) =>
      (await all((engine) => engine.snapshot(...given))).reduce((a, b) => merge(SNAPSHOT, a, b)),
    charge: (wei) => engines[0].charge(wei),
    pace: (pace) => engines[0].pace(pace),
    stop: (nowUs) => void all((engine) => engine.stop(nowUs)),
    // The ledger of the transactions.
    drain: async (timeoutMs, signal) => (await all((engine) => engine.drain(timeoutMs, signal)))[0],
    close: async () => void (await all((engine) => engine.close())),
  };
}
