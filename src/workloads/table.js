/**
 * The table of workloads. Those that come with the program are written to the contract of contract.d.ts, as a user's file
 * is; their settings are the options of the command line. A file is loaded when its workload is chosen.
 *
 * @import { Settings } from '../types.d.ts'
 * @import { CallWorkload, TransactionWorkload } from './contract.d.ts'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {object} WorkloadRow
 * @property {'transaction' | 'call'} kind
 * @property {() => Promise<(options: BuiltInOptions) => TransactionWorkload | CallWorkload | Promise<CallWorkload>>} load
 * @property {(settings: Settings) => string | null} [lacks] what the settings lack, in words that follow the name
 */

/** @param {Settings} settings */
const lacksReceivers = ({ threads, receivers = null }) => (receivers === null && threads === 1 ? NEEDS_TWO : null);

/** Of payments between the wallets. */
export const NEEDS_TWO = 'pays from wallet to wallet and has only one: use at least two (-t 2), or --receivers N';

/** @param {Settings} settings */
const lacksCalls = ({ method = null, calls = null }) =>
  method === null && calls === null ? 'needs --method, for instance eth_blockNumber, or --calls' : null;

/** @type {Readonly<Record<string, WorkloadRow>>} */
export const WORKLOADS = Object.freeze({
  counter: { kind: 'transaction', load: async () => (await import('./counter.js')).createCounter },
  transfer: {
    kind: 'transaction',
    load: async () => (await import('./transfer.js')).createTransfer,
    lacks: lacksReceivers,
  },
  erc20: { kind: 'transaction', load: async () => (await import('./erc20.js')).createErc20, lacks: lacksReceivers },
  logs: { kind: 'transaction', load: async () => (await import('./logs.js')).createLogs },
  rpc: { kind: 'call', load: async () => (await import('./calls.js')).createRpcWorkload, lacks: lacksCalls },
});

/** Whether a workload sends transactions; of a user's file that is not known. @param {string | null} name */
export function isCallWorkload(name) {
  return name !== null && Object.hasOwn(WORKLOADS, name) && WORKLOADS[name].kind === 'call';
}
