import { Wallet } from '../chain/keys.js';
import { merge } from '../stats/merge.js';
import { SNAPSHOT } from '../stats/metrics.js';
import { createWorkload } from '../workloads/index.js';
import { CALLS, sidesOf } from '../workloads/table.js';
import { postTo } from './control.js';
import { loadText } from './describe.js';
import { Account, sliceIndexes } from './nonces.js';
import { counted } from '../text.js';

/**
 * Calls beside transactions (--mix counter:60,calls:40). Each side has an engine, a part of the slice and of the
 * connections, and in an open loop a part of the rate, by weight. All figures are added up.
 *
 * @import { Rpc } from '../contracts/chain.d.ts'
 * @import { Config } from '../contracts/config.d.ts'
 * @import { CallWorkload, Platform, WorkloadConfig } from '../contracts/load.d.ts'
 * @import { Ledger } from './ledger.js'
 * @import { KnownChain } from './setup.js'
 * @import { Engine } from './engine.js'
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
 * The calls beside transactions.
 * @param {Config} calls
 * @param {Pick<Platform, 'clock' | 'random'> & {rpc: Rpc, connect: (url: URL) => Rpc}} network
 */
export async function openCalls(calls, network) {
  const { threads } = calls.load;
  const { offset } = calls.wallets;
  const workload = /** @type {CallWorkload} */ (
    await createWorkload('rpc', { ...network, settings: calls.workload, threads })
  );
  const accounts = sliceIndexes({ offset, threads }).map((index, i) => new Account(i, Wallet.withoutKey(index)));
  const { weight } = /** @type {WorkloadConfig['mix'][number]} */ (
    calls.workload.mix.find(({ name }) => name === CALLS)
  );
  /** @type {string[]} */
  let addresses = [];
  return {
    /** What the engine needs. */
    parts: { workload, accounts },
    facts: () => ({ weight, users: accounts.length, ...workload.facts?.() }),
    /**
     * Tries the calls before anything is sent. What the set-up may change is tried again after it.
     * @param {KnownChain} known
     */
    check: async ({ chain, wallets, source }) => {
      // A user has the address of its own index; some calls name any wallet of the slice.
      const users = sliceIndexes({ offset, threads }).flatMap((index) => source?.wallet(index) ?? []);
      addresses = [...users, ...wallets].map(({ address }) => address);
      await workload.prepare?.({ chain, addresses: async () => addresses, notice: () => {}, isBeforeSetUp: true });
    },
    /** @param {{chainId: number}} chain @param {(line: string) => void} notice */
    prepare: async (chain, notice) => {
      notice(loadText(calls, counted(threads, 'user'), network.rpc.display));
      await workload.prepare?.({ chain, addresses: async () => addresses, notice });
    },
  };
}

/** @param {Engine[]} engines of transactions, and of calls @returns {Engine} */
export function mixEngines(engines) {
  /** @template T @param {(engine: Engine) => T} call @returns {Promise<Array<Awaited<T>>>} */
  const all = (call) => Promise.all(engines.map(call));
  return {
    prepare: async (signal) => void (await all((engine) => engine.prepare(signal))),
    start: (plan) => void all((engine) => engine.start(plan)),
    setWindow: (plan) => void all((engine) => engine.setWindow(plan)),
    snapshot: async (...given) =>
      (await all((engine) => engine.snapshot(...given))).reduce((a, b) => merge(SNAPSHOT, a, b)),
    post: (message) => postTo(engines, message),
    stop: (nowUs) => void all((engine) => engine.stop(nowUs)),
    // The ledger of the transactions.
    drain: async (timeoutMs, signal) => (await all((engine) => engine.drain(timeoutMs, signal)))[0],
    close: async () => void (await all((engine) => engine.close())),
  };
}
