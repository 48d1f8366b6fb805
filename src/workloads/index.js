import { createRpcWorkload, validateRpc } from './calls.js';
import { createCounterWorkload } from './counter.js';
import { createTransferWorkload, validateTransfer } from './transfer.js';
import { createFileWorkload, isWorkloadFile } from './user-file.js';

/**
 * @import { Wallet } from '../chain/keys.js'
 * @import { Request, Rpc } from '../chain/rpc.js'
 * @import { Sender } from '../chain/send.js'
 * @import { Call } from '../chain/transaction.js'
 * @import { Clock } from '../clock.js'
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
 * @typedef {object} Gas what the funding check reckons with
 * @property {bigint} perWallet to prepare one wallet
 * @property {bigint} perOperation at most
 * @property {{perWallet: bigint, perOperation: bigint}} likely what they use
 * @property {{perWallet: bigint, perOperation: bigint}} [value] wei that goes along; nothing, where it is not said
 *
 * @typedef {object} TransactionWorkload
 * @property {'transaction'} kind
 * @property {Gas} gas
 * @property {(preparation: Pick<Preparation, 'wallets' | 'chain'>) => Promise<number>} unprepared how many wallets prepare() would have to send
 *   something for
 * @property {(preparation: Preparation) => Promise<void>} prepare
 * @property {(position: number, nonce: number) => Call} next what a wallet does with a nonce, a function of the two: it
 *   is signed ahead, so it may be one that is never sent, and asked for again where a fee is raised. The same object for
 *   the same call spares encoding it again.
 * @property {(position: number, executed: Executed, inclusion: {number: number, hash?: string}, attempt: number, operation: Sent) => Promise<Verdict>} verify
 *   checks the effect of the wallet's operations as of the block that included one of them; `attempt` counts from 0
 * @property {(blockHash: string, blockNumber: number, reverted?: readonly number[]) => Promise<AuditReading[]>} audit by position;
 *   reverted: how many operations of each wallet this run knows to be in a block without effect
 * @property {(snapshot: AuditSnapshot) => Promise<Check[]>} [reconcile] what else has to agree at that block, over all wallets;
 *   asked once, when all wallets have been read
 * @property {() => Record<string, unknown>} [facts] what the run file states of it, once it is prepared
 * @property {bigint} [valueWei] what each executed operation sends to others than the wallets; absent: not known
 * @property {string} subject what grew, and how it is said: `200 counters grew by 1,000`
 * @property {(first: number, count: number) => unknown} handOver what another thread needs to go on with a part of the
 *   positions, as the structured clone algorithm can copy it
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
 * @typedef {object} Check
 * @property {string} name
 * @property {string} words what is compared, as a person says it
 * @property {string | null} expected null when it could not be found out
 * @property {string | null} found null when it could not be found out
 * @property {boolean | null} holds null when it could not be found out
 * @property {string | null} why it could not
 *
 * @typedef {Request & {name?: string}} NamedRequest those of one name are also counted together
 *
 * @typedef {object} CallPreparation
 * @property {{chainId: number | null}} chain null when the endpoint is no node
 * @property {() => Promise<string[]>} addresses of the slice's wallets, which calls need no keys of
 * @property {(line: string) => void} notice what the user should know
 *
 * @typedef {object} CallWorkload
 * @property {'call'} kind
 * @property {number} [callsPerIteration] how many calls of a user belong together; 1 where nothing is said
 * @property {(preparation: CallPreparation) => Promise<void>} [prepare] what can be found out before the load
 * @property {(position: number) => NamedRequest} next the user's next call
 * @property {(position: number, result: unknown, request: NamedRequest) => string | null | Promise<string | null>} check
 *   what it says, in short. Throws ProtocolError or CheckError when it is no answer to that call. Time that passes until
 *   a promise is kept is no latency.
 * @property {() => Record<string, unknown>} [facts] as above
 * @property {(first: number, count: number) => unknown} handOver as above
 *
 * @typedef {TransactionWorkload | CallWorkload} Workload
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
