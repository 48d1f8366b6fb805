/**
 * The contract of a workload of your own, `evm-stress/workload@1`, as docs/own-workload.md explains it:
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
  /** In a worker thread what handOver() gave for its part of the wallets; undefined in the main thread. */
  state?: any;
}

export type Workload = TransactionWorkload | CallWorkload;

export interface TransactionWorkload {
  kind: 'transaction';
  /** What the funding check reckons with; generous figures where it is left out. */
  gas?: Gas;
  /** What grew, and how it is said: `200 counters grew by 1,000`. */
  subject?: string;
  /** How many wallets prepare() would send something for; all of them where it is left out. */
  unprepared?: (preparation: Pick<Preparation, 'wallets' | 'chain'>) => Promise<number>;
  /** Before the load: contracts, tokens. */
  prepare?: (preparation: Preparation) => Promise<void>;
  /** What a wallet does with a nonce, a function of the two. The same object for the same call is cheapest. */
  next: (position: number, nonce: number) => Call;
  /** Whether an operation took effect as of its block; kit.verifyByReceipt() where it is left out. */
  verify?: (
    position: number,
    executed: Executed,
    inclusion: { number: number; hash?: string },
    attempt: number,
    operation: Sent,
  ) => Promise<Verdict>;
  /** The effects of each wallet at a block; kit.auditByNonce() where it is left out. */
  audit?: (blockHash: string, blockNumber: number, reverted?: readonly number[]) => Promise<AuditReading[]>;
  /** What else has to agree over all wallets at that block. */
  reconcile?: (snapshot: AuditSnapshot) => Promise<Check[]>;
  /** What the run file states of it, once it is prepared. */
  facts?: () => Record<string, unknown>;
  /** What a worker thread needs for a part of the positions; as the structured clone algorithm can copy it. */
  handOver?: (first: number, count: number) => unknown;
}

export interface CallWorkload {
  kind: 'call';
  /** How many calls of a user belong together; 1 where it is left out. */
  callsPerIteration?: number;
  /** Before the load: what can be found out before. */
  prepare?: (preparation: CallPreparation) => Promise<void>;
  /** The user's next call; those of one name are also counted together. */
  next: (position: number) => { method: string; params?: unknown[]; name?: string };
  /** What the answer says, in short. Throws kit.wrong(words) where it is no right answer. */
  check?: (
    position: number,
    result: any,
    request: { method: string; params: unknown[]; name?: string },
  ) => string | null | undefined | void | Promise<string | null | undefined | void>;
  /** What the run file states of it, once it is prepared. */
  facts?: () => Record<string, unknown>;
  /** What a worker thread needs for a part of the users. */
  handOver?: (first: number, count: number) => unknown;
}

export interface Call {
  /** null deploys a contract. */
  to: string | null;
  data?: string;
  value?: bigint;
  /** Measured before the load, for the first call of the first wallet, where it is left out. */
  gasLimit?: bigint;
}

export interface Gas {
  perWallet: bigint;
  perOperation: bigint;
  likely?: { perWallet: bigint; perOperation: bigint };
  /** Wei that goes along: that of the first call, where it is left out and there is no prepare(); else nothing. */
  value?: { perWallet?: bigint; perOperation?: bigint };
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
  chain: { chainId: number | null };
  /** Of the wallets of the slice, whose keys calls do not need. */
  addresses: () => Promise<string[]>;
  notice: (line: string) => void;
}

/** How many operations of a wallet the chain must have executed. */
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
}

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
}

export interface Check {
  name: string;
  words: string;
  expected?: string | null;
  found?: string | null;
  holds: boolean | null;
  why?: string | null;
}

/** The same endpoint and the same counts as the rest of the run. Before the load the purpose is 'setup', then 'readback'. */
export interface Rpc {
  call: (method: string, params?: unknown[], purpose?: Purpose) => Promise<any>;
  /** For reads: what is asked in one turn of the event loop travels in one batch. */
  gather: (method: string, params?: unknown[], purpose?: Purpose) => Promise<any>;
  batch: (requests: { method: string; params?: unknown[] }[], purpose?: Purpose) => Promise<any[]>;
}

export type Purpose = 'setup' | 'readback' | 'audit';

/** A compiled contract: what kit.compile() gives, or an artifact of another tool. */
export interface Artifact {
  abi: InterfaceAbi;
  bytecode: string;
}

export interface Kit {
  /** Four random bytes in hex: behind the data, where no contract looks, they tell this instance's transactions apart. */
  readonly tag: string;
  /** Encodes and decodes: an Interface of ethers, of an ABI or of lines such as 'function f(uint256)'. */
  abi: (abi: InterfaceAbi) => Interface;
  /** Solidity, for the london EVM. contract: which one, where there are several. */
  compile: (source: string, options?: { contract?: string }) => Promise<Artifact>;
  /** In prepare(): a contract for each wallet, deployed by it; addresses by position. */
  deployEach: (artifact: Artifact, argumentsOf?: (position: number) => readonly unknown[]) => Promise<string[]>;
  /** In prepare(): one contract for all, deployed by the first wallet. */
  deployOnce: (artifact: Artifact, ...constructorArguments: unknown[]) => Promise<string>;
  /** In prepare(): transactions of wallets, all of which have to succeed; gas is estimated for the first. */
  sendAll: (calls: readonly (Call & { position: number })[], label?: string) => Promise<void>;
  /** Gas with a tenth to spare. */
  estimateGas: (call: Pick<Call, 'to' | 'data' | 'value'> & { from: string }) => Promise<bigint>;
  /** Where a deployment of that sender with that nonce puts its contract. */
  createAddress: (from: string, nonce: number) => string;
  /** Right when the receipt is of that block and says success. */
  verifyByReceipt: (targetOf?: (position: number) => string | null) => NonNullable<TransactionWorkload['verify']>;
  /** Effects are mined transactions of a wallet less those that were reverted. */
  auditByNonce: () => NonNullable<TransactionWorkload['audit']>;
  /** Effects are a number on the chain that each operation of a wallet raises by one. */
  auditByCall: (
    callOf: (position: number) => { to: string; data: string },
  ) => NonNullable<TransactionWorkload['audit']>;
  /** To throw in check(): the answer is wrong. It counts as a failure of the endpoint, not of the workload. */
  wrong: (words: string) => Error;
}
