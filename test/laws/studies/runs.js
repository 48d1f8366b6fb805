/** Run files as studies get them, with figures of their own. */
import { RUNS_MAY_DIFFER_IN } from '../../../src/cli/options.js';
import { Distribution } from '../../../src/stats/histogram.js';
import { runFileOf } from '../../helpers/samples.js';

/** @import { RunFile } from '../../../src/contracts/run-file.d.ts' */

/** Readers of run files refuse one without these. */
const CONFIG = {
  ...{ command: 'run', workload: 'counter', threads: 20, inFlight: 1, ratePerSecond: null },
  ...{ offset: 0, rpc: null, durationMs: 2000, mnemonic: null, fundFrom: null },
};
export const ENVIRONMENT = {
  ...{ stress: '1.0.0', clientVersion: 'node/v1', cpu: 'a cpu', cores: 2, node: 'v20', platform: 'linux-x64' },
  ...{ memoryBytes: 8e9, endpoint: 'http://127.0.0.1:1', embeddedChain: false, chainId: 1, genesisHash: null },
  ...{ blockGasLimit: 3e7, feeMode: 'eip1559', signer: 'secp256k1' },
  transport: { name: 'tcp', connections: 1, keepAlive: true },
  inclusion: { name: 'blocks', why: 'as asked' },
  ...{ endpoints: [], workload: {} },
};
const { generator } = runFileOf();
/** What all of them have in common. */
const COMMON = runFileOf({
  generator: {
    ...generator,
    rpcCalls: { submit: 20, setup: 1 },
    transport: { requests: 20, connectionsOpened: 1, bytesReceived: 1 },
  },
});

/**
 * @param {number} number makes its id, and when it began unless that is said
 * @param {object} [given]
 * @param {number} [given.tps]
 * @param {number} [given.latencyMs] of its middle operation
 * @param {number} [given.at] minutes after midnight
 * @param {Record<string, unknown>} [given.config]
 * @param {Record<string, unknown>} [given.over] members of the run file
 * @returns {RunFile}
 */
export function runOf(number, { tps = 100, latencyMs = 50, at = number, config = {}, over = {} } = {}) {
  const run = structuredClone(COMMON);
  const total = new Distribution();
  for (const factor of [0.5, 0.9, 1, 1.2, 4]) total.record(Math.round(1000 * latencyMs * factor));
  return /** @type {RunFile} */ ({
    ...run,
    id: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
    startedAt: new Date(Date.UTC(2026, 0, 1, 0, at)).toISOString(),
    endedAt: new Date(Date.UTC(2026, 0, 1, 0, at, 30)).toISOString(),
    config: { ...CONFIG, ...config },
    environment: { ...ENVIRONMENT },
    rates: { ...run.rates, verifiedPerSecond: tps },
    counts: { ...run.counts, failed: 0, timedOut: 0 },
    latency: { ...run.latency, total: total.toJSON(), censored: new Distribution().toJSON() },
    ...over,
  });
}

/**
 * Runs in the order of their letters, one a minute: A of the base, B of the candidate.
 * @param {string} order such as ABBA
 * @param {(side: 'A' | 'B', i: number) => Parameters<typeof runOf>[1]} given i: counts all runs
 */
export function sidesOf(order, given) {
  const all = [...order].map((side, i) => ({ side, run: runOf(i, given(/** @type {'A' | 'B'} */ (side), i)) }));
  const [base, candidate] = ['A', 'B'].map((side) => all.flatMap((one) => (one.side === side ? one.run : [])));
  const name = (/** @type {RunFile} */ { id }) => `${Number(id.slice(-12))}.json`;
  return {
    base,
    candidate,
    options: {
      baseFiles: base.map(name),
      candidateFiles: candidate.map(name),
      stress: '1.0.0',
      mayDiffer: RUNS_MAY_DIFFER_IN,
    },
  };
}

/** A profile of a second, in which hashing takes this much longer. @param {number} hashing @param {number} wave */
export function nodeProfileOf(hashing, wave) {
  const us = [300_000 * hashing * wave, 200_000 * wave, 100_000 / wave].map(Math.round);
  const names = [
    'main',
    'go-ethereum/trie.(*hasher).hash',
    'crypto/keccak.keccakF1600',
    'core/vm.(*EVM).Call',
    'gc',
    'tiny',
  ];
  const [hash, evm, gc] = us;
  const cpuUs = hash + evm + gc;
  const functions = [names[2], names[3], names[4]].map((name, i) => ({ name, selfUs: us[i], totalUs: us[i] }));
  const groups = ['state trie', 'EVM execution', 'garbage collection'].map((name, i) => ({
    ...{ name, selfUs: us[i], functions: [] },
  }));
  const frames = [[-1, 0, 0], [0, 1, 0], [1, 2, hash], [0, 3, evm - 100], [-1, 4, gc], [3, 5, 100]]; // prettier-ignore
  const stacks = { cpuUs, systemCallUs: 0, groups, functions, names, frames, otherUs: 0 };
  return [{ name: 'node', source: 'http://127.0.0.1:6060', pieces: 1, profiledMs: 1000, missing: {}, stacks }];
}
