import { createRpcWorkload, validateRpc } from './calls.js';
import { createCounterWorkload } from './counter.js';
import { createTransferWorkload, validateTransfer } from './transfer.js';
import { createFileWorkload, isWorkloadFile } from './user-file.js';

/**
 * @import { Wallet } from '../chain/keys.js'
 * @import { Call, CallWorkload, Clock, Request, Rpc, Sender, TransactionWorkload, Workload } from '../types.d.ts'
 */

/**
 * A workload says what one operation is. There are two kinds: transactions, whose effect is on the chain and can be
 * audited there, and plain calls. Wallets, or users of plain calls, are named by their position in the slice, from 0.
 *
 * @typedef {object} Verdict what was read back
 * @property {'ok' | 'likely' | 'behind' | 'missing' | 'wrong'} state likely: it can be, but without one that may have
 *   been executed, and which of them it is cannot be seen; behind: the node does not serve that block yet, ask again;
 *   missing: it does, and the effect is not in it; wrong: there is an effect that should not be
 * @property {string | null} effect for instance the count
 * @property {string | null} target for instance the address of the contract
 *
 * @typedef {object} Executed how many operations of a wallet the chain must have executed in this run, of its own
 * @property {number} least as of the block
 * @property {number} most as of the block; the same, unless what became of an earlier one is not known
 * @property {number} latest as of any later block
 *
 * @typedef {object} AuditReading of one wallet, as the chain has it at one block
 * @property {bigint} start effects before the first operation of this run
 * @property {bigint} now effects at the block that was asked for
 * @property {string | null} target
 *
 * @typedef {object} Chain
 * @property {number} chainId
 * @property {string | null} genesisHash null when it is not known
 *
 * @typedef {object} Preparation
 * @property {Wallet[]} wallets
 * @property {Sender} sender
 * @property {Chain} chain
 * @property {(label: string, done: number, all: number) => void} onProgress
 *
 * @typedef {object} Sent an operation that a block holds
 * @property {number} nonce
 * @property {string} hash of its transaction
 *
 * @typedef {object} AuditSnapshot of all wallets, by position, at the block of the audit
 * @property {string} blockHash
 * @property {number} blockNumber
 * @property {number} startBlock latest block when the load began
 * @property {number[]} startNonces when the load began
 * @property {number[]} nonces
 * @property {number[]} executed operations in between that this run has counted as executed
 * @property {number[]} reverted operations in between that it knows to be in a block without effect
 * @property {number[]} undecided operations of which it is not known what became of them
 * @property {boolean} areOurs whether every nonce in between is an operation of ours that was executed
 * @property {AbortSignal} signal ends what takes long
 *
 * @typedef {Request & {name?: string}} NamedRequest those of one name are also counted together
 *
 * @typedef {object} CallPreparation
 * @property {{chainId: number | null}} chain null when the endpoint is no node
 * @property {() => Promise<string[]>} addresses of the slice's wallets, which calls need no keys of
 * @property {(line: string) => void} notice what the user should know
 *
 * @typedef {object} WorkloadOptions
 * @property {Rpc} rpc
 * @property {Settings} settings
 * @property {Clock} [clock] of the run
 * @property {(url: URL) => Rpc} [connect] opens another endpoint, for as long as the run lasts
 * @property {unknown} [state] of handOver() in another thread: it is prepared, for that part
 *
 * @typedef {object} Settings what the user asked for
 * @property {number} [threads] how many wallets
 * @property {number | null} [payload] bytes of calldata
 * @property {number | null} [receivers] how many addresses are paid; null: the wallets pay each other
 * @property {'before' | 'during' | null} [createReceivers] when they come to be on the chain
 * @property {string | null} [contracts] name of the file that they are kept in
 * @property {string | null} [method]
 * @property {unknown[] | null} [params]
 * @property {ReadonlyArray<readonly [string, string]>} [set] settings of a workload of the user's own
 * @property {string | null} [calls] name of a preset or of a file
 * @property {string | null} [data] name of the file that says where prepared logs are
 * @property {URL | null} [checkRpc] second endpoint that answers are held against
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

/** What settings lack for a workload, behind its name; null where nothing. @type {Record<string, (settings: Settings) => string | null>} */
export const validate = { transfer: validateTransfer, rpc: validateRpc };

/** @type {Record<string, (options: WorkloadOptions) => Workload | Promise<Workload>>} */
export const workloads = { ...transactionWorkloads, ...callWorkloads };

/**
 * @param {string} name of a built-in one, or a file
 * @param {WorkloadOptions} options
 * @returns {Promise<Workload>}
 */
export async function createWorkload(name, options) {
  if (isWorkloadFile(name)) return createFileWorkload(name, options);
  return workloads[name](options);
}
