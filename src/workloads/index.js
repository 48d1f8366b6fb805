import { isWorkloadFile } from '../files.js';
import { createRpcWorkload, validateRpc } from './calls.js';
import { createCounterWorkload } from './counter.js';
import { createTransferWorkload, validateTransfer } from './transfer.js';
import { createFileWorkload } from './user-file.js';

/**
 * The table of workloads. A workload defines one operation. There are two kinds: transactions, whose effect on the chain
 * can be audited, and plain calls. Wallets are identified by their position in the slice, from 0; plain calls have
 * positions without wallets.
 *
 * @import { Wallet } from '../chain/keys.js'
 * @import { Call, CallWorkload, Clock, Request, Rpc, Sender, TransactionWorkload, Workload } from '../types.d.ts'
 *
 * @typedef {object} Verdict the effect that was read back
 * @property {'ok' | 'likely' | 'behind' | 'missing' | 'wrong'} state likely: there is an effect, but it may be that of
 *   another operation with an unknown outcome; behind: the node does not serve that block yet, read again; missing: the
 *   block does not have the effect; wrong: there are more effects than possible
 * @property {string | null} effect for instance the count
 * @property {string | null} target for instance the address of the contract
 *
 * @typedef {object} Executed bounds of the operations of a wallet that the chain has executed in this run
 * @property {number} least as of the block
 * @property {number} most as of the block; equal to least unless the outcome of an earlier operation is unknown
 * @property {number} latest as of any later block
 *
 * @typedef {object} AuditReading the effects of one wallet on the chain
 * @property {bigint} start before the first operation of this run
 * @property {bigint} now at the block of the audit
 * @property {string | null} target
 *
 * @typedef {object} Chain
 * @property {number} chainId
 * @property {string | null} genesisHash null if unknown
 *
 * @typedef {object} Preparation
 * @property {Wallet[]} wallets
 * @property {Sender} sender
 * @property {Chain} chain
 * @property {(label: string, done: number, all: number) => void} onProgress
 *
 * @typedef {object} Sent an included operation
 * @property {number} nonce
 * @property {string} hash of its transaction
 *
 * @typedef {object} AuditSnapshot of all wallets, by position, at the block of the audit
 * @property {string} blockHash
 * @property {number} blockNumber
 * @property {number} startBlock latest block when the load began
 * @property {number[]} startNonces when the load began
 * @property {number[]} nonces
 * @property {number[]} executed operations since then that this run has counted as executed
 * @property {number[]} reverted operations since then that were included without effect
 * @property {number[]} undecided operations with an unknown outcome
 * @property {boolean} areOurs whether each nonce since then is that of an executed operation of this run
 * @property {AbortSignal} signal ends slow checks
 *
 * @typedef {Request & {name?: string}} NamedRequest requests of one name are also counted together
 *
 * @typedef {object} CallPreparation
 * @property {{chainId: number | null}} chain null if the endpoint is not a node
 * @property {() => Promise<string[]>} addresses of the slice's wallets
 * @property {(line: string) => void} notice
 *
 * @typedef {object} WorkloadOptions
 * @property {Rpc} rpc
 * @property {Settings} settings
 * @property {Clock} [clock] of the run
 * @property {(url: URL) => Rpc} [connect] opens another endpoint for the rest of the run
 * @property {unknown} [state] in a worker thread: the result of handOver() for its part
 *
 * @typedef {object} Settings
 * @property {number} [threads] number of wallets
 * @property {number | null} [payload] bytes of calldata
 * @property {number | null} [receivers] number of receiving addresses; null: the wallets pay each other
 * @property {'before' | 'during' | null} [createReceivers] when the receivers are created on the chain
 * @property {string | null} [contracts] name of the file with the addresses of the contracts
 * @property {string | null} [method]
 * @property {unknown[] | null} [params]
 * @property {ReadonlyArray<readonly [string, string]>} [set] settings of a user's workload
 * @property {string | null} [calls] name of a preset or of a file
 * @property {string | null} [data] name of a file that stress prepare logs has written
 * @property {URL | null} [checkRpc] second endpoint to compare answers with
 */

/** @type {Record<string, (options: WorkloadOptions) => TransactionWorkload>} */
export const transactionWorkloads = {
  counter: createCounterWorkload,
  transfer: createTransferWorkload,
};

/** @type {Record<string, (options: WorkloadOptions) => CallWorkload | Promise<CallWorkload>>} */
export const callWorkloads = {
  rpc: createRpcWorkload,
};

/** Returns what the settings lack, in words that follow the workload's name, or null. @type {Record<string, (settings: Settings) => string | null>} */
export const validate = { transfer: validateTransfer, rpc: validateRpc };

/** @type {Record<string, (options: WorkloadOptions) => Workload | Promise<Workload>>} */
export const workloads = { ...transactionWorkloads, ...callWorkloads };

/** @param {string} name of a built-in workload, or a file @param {WorkloadOptions} options @returns {Promise<Workload>} */
export async function createWorkload(name, options) {
  if (isWorkloadFile(name)) return createFileWorkload(name, options);
  return workloads[name](options);
}
