/**
 * The contract of a workload of your own, `evm-stress/workload@1`, as docs/workloads.md explains it:
 *
 *     export const contract = 'evm-stress/workload@1';
 *     /** @type {import('evm-stress/workload').Create} *\/
 *     export default function create({ kit, settings, state }) { ... }
 */
import type { Interface, InterfaceAbi } from 'ethers';

export type Create = (options: Options) => Workload | Promise<Workload>;

export interface Options {
  kit: Kit;
  rpc: Rpc;
  settings: { set: Readonly<Record<string, string>> };
  /** In a worker thread the result of handOver() for its part of the wallets; undefined in the main thread. */
  state?: unknown;
}

export type Workload = TransactionWorkload | CallWorkload;

export interface TransactionWorkload {
  kind: 'transaction';
  /** For the funding check; upper bounds unless given. */
  gas?: Gas;
  /** Wei that each executed operation sends to addresses outside of the slice, if it is always the same. */
  valueWei?: bigint;
  /** It cannot be a member of a mix, because its operations depend on all nonces of the wallet. */
  isAlone?: boolean;
  /** Its calls may have data and go to addresses without code, which otherwise is refused before the load. */
  mayLackCode?: boolean;
  /** The subject of the audit's summary: `200 counters grew by 1,000`. */
  subject?: string;
  /** Number of wallets for which prepare() would send a transaction; all of them unless given. */
  unprepared?: (preparation: Pick<Preparation, 'wallets' | 'chain'>) => Promise<number>;
  /** Called before the load, for instance to deploy contracts. */
  prepare?: (preparation: Preparation) => Promise<void>;
  /** The call of a wallet and a nonce, which must depend on these two only. Returning the same object again is cheapest. */
  next: (position: number, nonce: number) => Call;
  /** Whether an operation took effect as of its block; by default kit.verifyByReceipt(). */
  verify?: (
    position: number,
    executed: Executed,
    inclusion: { number: number; hash?: string },
    attempt: number,
    operation: Sent,
  ) => Promise<Verdict>;
  /** The effects of each wallet as of a block; by default its mined transactions without reverted ones. */
  audit?: (blockHash: string, blockNumber: number, reverted?: readonly number[]) => Promise<AuditReading[]>;
  /** Further checks over all wallets as of that block. */
  reconcile?: (snapshot: AuditSnapshot) => Promise<Check[]>;
  /** Facts for the run file, after prepare(). */
  facts?: () => Record<string, unknown>;
  /** The state of a worker thread for some positions; it is copied by structured clone. */
  handOver?: (first: number, count: number) => unknown;
}

export interface CallWorkload {
  kind: 'call';
  /** Number of calls of a user that belong together; 1 unless given. */
  callsPerIteration?: number;
  /** Called before the load. */
  prepare?: (preparation: CallPreparation) => Promise<void>;
  /** The user's next call; calls of one name are also counted together. */
  next: (position: number) => { method: string; params?: unknown[]; name?: string };
  /** Throws kit.wrong(words) for a wrong answer; may return a short description of the answer. */
  check?: (
    position: number,
    result: unknown,
    request: { method: string; params: unknown[]; name?: string },
  ) => string | null | undefined | void | Promise<string | null | undefined | void>;
  /** Facts for the run file, after prepare(). */
  facts?: () => Record<string, unknown>;
  /** The state of a worker thread for some users. */
  handOver?: (first: number, count: number) => unknown;
}

export interface Call {
  /** null deploys a contract. */
  to: string | null;
  data?: string;
  value?: bigint;
  /** Estimated before the load, for the first call of the first wallet, unless given. */
  gasLimit?: bigint;
  /** Makes the transaction one of type 1 on a chain without a base fee or with --legacy, otherwise of type 2. */
  accessList?: readonly { address: string; storageKeys: readonly string[] }[];
  /** Makes the transaction one of type 4, which sets the code of accounts (EIP-7702). */
  authorizationList?: readonly Authorization[];
  /** Makes the transaction one of type 3, which carries blobs (EIP-4844): one of kit.sidecars(). */
  sidecar?: Sidecar;
}

/** Blobs with their commitments and proofs, as plain data. */
export interface Sidecar {
  /** Versioned hashes of the blobs. */
  readonly hashes: readonly string[];
  /** What follows the transaction on its way to a node: RLP items in hexadecimal, without 0x. */
  readonly rlp: string;
}

/** Signed by the account that it is about, the authority; nonce is that of the authority. */
export interface Authorization {
  /** 0: valid on all chains. */
  chainId: number | bigint;
  /** The contract whose code the authority gets. */
  address: string;
  nonce: number | bigint;
  yParity: number;
  r: string;
  s: string;
}

export interface Gas {
  perWallet: bigint;
  perOperation: bigint;
  likely?: { perWallet: bigint; perOperation: bigint };
  /** Wei sent with an operation: by default that of the first call without prepare(), otherwise 0. */
  value?: { perWallet?: bigint; perOperation?: bigint };
  /** Accounts that it creates on the chain: some chains charge far more gas for them (EIP-8037). */
  created?: { perWallet?: bigint; perOperation?: bigint };
  /** Blobs of an operation, 0 to 6: a chain without blobs is refused before anything is sent. */
  blobs?: number;
}

export interface Wallet {
  readonly index: number;
  readonly address: string;
  readonly nonce: number;
}

export interface Preparation {
  wallets: readonly Wallet[];
  chain: { chainId: number; genesisHash: string | null };
  onProgress: (label: string, done: number, all: number) => void;
}

export interface CallPreparation {
  chain: { chainId: number };
  /** Addresses of the slice's wallets; calls need no keys. */
  addresses: () => Promise<string[]>;
  notice: (line: string) => void;
}

/** Bounds of the number of operations of a wallet that the chain has executed. */
export interface Executed {
  least: number;
  most: number;
  latest: number;
}

export interface Sent {
  nonce: number;
  hash: string;
}

export interface Verdict {
  state: 'ok' | 'likely' | 'behind' | 'missing' | 'wrong';
  effect?: string | null;
  target?: string | null;
  /** By its receipt, for the figures of gas. */
  gasUsed?: number;
  /** The failure code if the transaction was reverted; 'reverted' unless given. */
  code?: RevertCode;
}

export type RevertCode = 'reverted' | 'slippage';

export interface AuditReading {
  start: bigint;
  now: bigint;
  target?: string | null;
}

export interface AuditSnapshot {
  blockHash: string;
  blockNumber: number;
  startBlock: number;
  startNonces: number[];
  nonces: number[];
  executed: number[];
  reverted: number[];
  undecided: number[];
  areOurs: boolean;
  signal: AbortSignal;
  /** Where prices of transactions are taken from: base fees of their blocks or of the blocks before; receipts unless given. */
  pricesFrom?: 'blocks' | 'parents';
  /** What a funder has paid the wallets during the load, by position, or why it is not known (--refill-below). */
  paid?: { wei: readonly bigint[] } | { why: string };
}

export interface Receipt {
  transactionHash: string;
  blockHash: string;
  blockNumber: string;
  /** 0x1, or 0x0 if the transaction was reverted. */
  status: string;
  from: string;
  to: string | null;
  contractAddress: string | null;
  gasUsed: string;
  effectiveGasPrice: string;
  logs: Array<{ address: string; topics: string[]; data: string }>;
  /** Blob gas, of a blob transaction. */
  blobGasUsed?: string;
  blobGasPrice?: string;
  /** A rollup's charge for data on the underlying chain. */
  l1Fee?: string | null;
  /** By its status. */
  succeeded: boolean;
  /** What it paid in all; null: the node does not state it. */
  feeWei: bigint | null;
}

export interface ReceiptsCheck {
  /** As many transactions succeeded as the run has verified. */
  check: Required<Check>;
  /** The reason why it is not known which operations succeeded, or null. */
  why: string | null;
  /** Ends the checks that follow. */
  signal: AbortSignal;
  /** Compares values on the chain, as of the block of the audit, with what must follow from the receipts. */
  compare: (values: Values) => Promise<Required<Check>>;
}

export interface Values {
  /** Name of the check. */
  name: string;
  /** The reason why they cannot be compared. */
  why?: string;
  /** What is counted: the values that are right. */
  words: string;
  count: number;
  entryOf: (i: number) => Entry;
  /** A value in messages; in decimal unless given. */
  show?: (value: bigint) => string;
}

export interface Entry {
  /** Before the value in a message: `0x1 has`. */
  of: string;
  /** Method and parameters of a call that answers with a number; the block is appended. */
  read: readonly [method: string, ...params: unknown[]];
  mustBe: bigint;
}

export interface Check {
  name: string;
  words: string;
  expected?: string | null;
  found?: string | null;
  holds: boolean | null;
  why?: string | null;
}

/** The endpoint of the run, with its counts of calls. The default purpose is 'setup' before the load and 'readback' then. */
export interface Rpc {
  call: (method: string, params?: unknown[], purpose?: Purpose) => Promise<unknown>;
  /** For reads: requests of one turn of the event loop are sent as one batch. */
  gather: (method: string, params?: unknown[], purpose?: Purpose) => Promise<unknown>;
  batch: (requests: { method: string; params?: unknown[] }[], purpose?: Purpose) => Promise<unknown[]>;
}

export type Purpose = 'setup' | 'readback' | 'audit';

/** A compiled contract, from kit.compile() or from another tool. */
export interface Artifact {
  abi: InterfaceAbi;
  bytecode: string;
}

export interface Counted {
  verify: NonNullable<TransactionWorkload['verify']>;
  audit: NonNullable<TransactionWorkload['audit']>;
}

export interface Kit {
  /** Four random bytes in hex, to append to the data, where contracts ignore them: they identify this instance's transactions. */
  readonly tag: string;
  /** The tag as a number, from 0 to 2^32 - 1: the seed of this instance's random draws, the same in every thread. */
  readonly seed: number;
  /** Addresses of the wallets, by position; in the main thread they are known in prepare(). */
  addresses: () => readonly string[];
  /** Index of a wallet among all wallets of the run: in worker threads positions begin at 0. */
  indexOf: (position: number) => number;
  /** 32 random bits for an operation, which follow from tag, wallet and nonce: the audit can draw them again. */
  draw: (position: number, nonce: number) => number;
  /** An Interface of ethers, from an ABI or from lines such as 'function f(uint256)'. */
  abi: (abi: InterfaceAbi) => Interface;
  /** Compiles Solidity for the london EVM. contract: needed if the source has several. */
  compile: (source: string, options?: { contract?: string }) => Promise<Artifact>;
  /** In prepare(): deploys a contract for each wallet, or for those at some positions; returns their addresses. */
  deployEach: (
    artifact: Artifact,
    argumentsOf?: (position: number) => readonly unknown[],
    positions?: readonly number[],
  ) => Promise<string[]>;
  /** In prepare(): deploys one contract for all, by the first wallet. */
  deployOnce: (artifact: Artifact, ...constructorArguments: unknown[]) => Promise<string>;
  /** In prepare(): sends transactions, all of which must succeed; gas is estimated for the first. */
  sendAll: (calls: readonly (Call & { position: number })[], label?: string) => Promise<void>;
  /**
   * In prepare(): proves blobs of random data in a side thread: cell proofs (EIP-7594) where the chain has the Osaka fork.
   * Needs kzg-wasm, and gas.blobs.
   */
  sidecars: (count: number, blobs: number) => Promise<Sidecar[]>;
  /** An estimate with a margin of a tenth; exactly 21,000 for a plain payment. label: names the call in an error. */
  estimateGas: (call: Omit<Call, 'gasLimit'> & { from: string; label?: string }) => Promise<bigint>;
  /** The address of a contract deployed by this sender with this nonce. */
  createAddress: (from: string, nonce: number) => string;
  /**
   * An account of this run that sends nothing itself and signs authorizations: its key follows from kit.tag and the seed,
   * and is no secret.
   */
  authority: (seed: string) => {
    address: string;
    authorize: (authorization: Pick<Authorization, 'chainId' | 'address' | 'nonce'>) => Authorization;
  };
  /** Verifies an operation by the block and status of its receipt. */
  verifyByReceipt: (
    targetOf?: (position: number, operation: Sent) => string | null,
    codeOf?: (receipt: Pick<Receipt, 'gasUsed'>) => RevertCode,
  ) => NonNullable<TransactionWorkload['verify']>;
  /** Audits by mined transactions of a wallet, without reverted ones, as without audit(): the program itself reads nonces. */
  auditByNonce: () => undefined;
  /** Audits by a number on the chain that each operation of a wallet raises by one. */
  auditByCall: (
    callOf: (position: number) => { to: string; data: string },
  ) => NonNullable<TransactionWorkload['audit']>;
  /**
   * The same audit, and a verification of each operation by that number. onCount is called with each number that was read:
   * isThere is false if it is zero, or if an effect is missing in it.
   */
  countedBy: (
    callOf: (position: number) => { to: string; data: string },
    onCount?: (position: number, isThere: boolean) => void,
  ) => Counted;
  /**
   * In reconcile(): reads the receipts of all blocks of the run. onReceipt is called for each operation, in the order of
   * the chain; in a mix onOther is called for those of other members, with the value that they sent.
   */
  checkReceipts: (
    snapshot: AuditSnapshot,
    onReceipt?: (position: number, nonce: number, receipt: Receipt) => void,
    onOther?: (position: number, receipt: Receipt, valueWei: bigint) => void,
  ) => Promise<ReceiptsCheck>;
  /** An error to throw in check() for a wrong answer. It counts as a failure of the endpoint, not of the workload. */
  wrong: (words: string) => Error;
}
