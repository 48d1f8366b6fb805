/** What a node's answers become (chain/answers.js, chain/refusals.js). Imports nothing. */

/**
 * known: the node has the transaction; nonce_low: its nonce is used; nonce_high: an earlier nonce is missing; replacement:
 * another transaction has its nonce; pool_full, rate_limit, starting and busy: repeat later; unsupported: the method; absent: a block,
 * a state or a transaction is not there yet, or no more; invalid: final, or not known.
 */
export type RefusalClass =
  | 'known'
  | 'nonce_low'
  | 'nonce_high'
  | 'replacement'
  | 'funds'
  | 'price'
  | 'pool_full'
  | 'rate_limit'
  | 'starting'
  | 'busy'
  | 'unsupported'
  | 'absent'
  | 'invalid';

/** A request and how its answer becomes a value. */
export type Question<T> = {
  method: string;
  params: unknown[];
  read: (answer: unknown, from: Asked) => T;
};

/** For messages about an answer. */
export type Asked = { display: string; secrets?: readonly string[]; method: string };

/** Null: the node does not state it. Hashes and addresses are in lower case. */
export type Header = {
  number: number;
  hash: string;
  parentHash: string | null;
  timestampS: number | null;
  baseFeeWei: bigint | null;
  gasUsed: number | null;
  /** null also where blocks have no limit */
  gasLimit: number | null;
};

export type BlockWithHashes = Header & { transactions: string[] };

export type BlockWithTransactions = Header & { transactions: ChainTransaction[] };

export type ChainTransaction = {
  hash: string;
  from: string | null;
  nonce: number | null;
  /** null: in no block */
  blockNumber: number | null;
  gasLimit: number | null;
  /** the most that one gas may cost */
  maxPriceWei: bigint | null;
  /** of what is paid, the most for the block's maker */
  maxTipWei: bigint | null;
  /** what eth_call needs to repeat it, as printed */
  call: Record<string, unknown>;
};

/** Of a transaction in a block. */
export type ChainReceipt = {
  hash: string;
  blockNumber: number;
  blockHash: string | null;
  isSuccess: boolean;
  from: string | null;
  to: string | null;
  contractAddress: string | null;
  gasUsed: number | null;
  priceWei: bigint | null;
  logs: Array<{ address: string; topics: string[]; data: string }> | null;
  /** what a rollup charges for data on the chain below it */
  l1FeeWei: bigint;
  /** for workloads of users; null: not kept */
  printed: Record<string, unknown> | null;
};

export type ChainLog = { blockNumber: number; transactionHash: string; topics: string[] };

export type { Spread } from '../chain/endpoints.js';
export type { FeeState } from '../chain/fees.js';
export type { Wallet, Signature } from '../chain/keys.js';
export type { Order, Costs } from '../chain/send.js';
export type { Transaction } from '../chain/transaction.js';
export type { Submit } from '../inclusion/index.js';
export type { Headers } from '../transport/headers.js';
export type { OnSent, Subscription } from '../transport/index.js';
export type {
  AllowedChain,
  ChainConfig,
  WalletConfig,
  ConnectionConfig,
  HeaderConfig,
  EngineConfig,
  Purpose,
  Request,
  Rpc,
  BatchFacts,
  RetryOptions,
  ChainInfo,
  Traffic,
  ThreadStats,
  DevChain,
  KeySource,
  Signer,
  Fee,
  Fees,
  Call,
  SignedTransaction,
  Sender,
  Reply,
  TransportStats,
  Transport,
  Block,
  Sighting,
  SeenBlock,
  Inclusion,
  Reorg,
  Watcher,
  InclusionDetector,
  Chosen,
} from '../types.d.ts';
