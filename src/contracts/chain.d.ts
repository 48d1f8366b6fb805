/**
 * What the rooms below the load promise: what a node's answers become (chain/answers.js, chain/refusals.js), JSON-RPC, keys
 * and fees, the transport, and the inclusion of transactions.
 */
import type { Clock, Span, StressError } from './common.d.ts';
import type { GeneratorFacts } from './run-schema.d.ts';
import type { Call as OwnCall } from './workload.d.ts';

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
  | 'sender_limit'
  | 'rate_limit'
  | 'starting'
  | 'busy'
  | 'unsupported'
  | 'absent'
  | 'invalid';

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
  /** decides the price of blob gas (EIP-4844); null: the chain has no blobs */
  excessBlobGas: number | null;
};

export type BlockWithHashes = Header & { transactions: string[] };

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

/** What is known of a transaction in a block. */
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
  /** fees beside gas: of blobs, and what a rollup charges for data on the chain below it */
  dataFeeWei: bigint;
  /** for workloads of users; null: not kept */
  printed: Record<string, unknown> | null;
};

export type ChainLog = { blockNumber: number; transactionHash: string; topics: string[] };

// configuration

export type AllowedChain = { chainId: number | null; allowChain: number | null };

/** Where CPU profiles of a node come from; url: null: perf. */
export type ProfileSource = { name: string; url: URL | null };

/** The Prometheus page of a node; name: null: it has none. */
export type MetricsPage = { name: string | null; url: URL };

export type ChainConfig = AllowedChain & {
  /** endpoints of one chain; none: embedded chain */
  rpc: readonly URL[];
  /** endpoint of the submissions, if that is another one */
  sendRpc: URL | null;
  /** web socket of preconfirmations */
  flashblocks: URL | null;
  /** limit of the wait for endpoints that do not answer yet; 0: none */
  waitForMs: number;
  port: number | null;
  /** that stress learn reads */
  lastBlocks: number;
  /** names in lower case, with values */
  header: readonly HeaderField[];
  headerFile: string | null;
  nodePid: number | null;
  nodeProfile: ReadonlyArray<ProfileSource>;
  nodeMetrics: ReadonlyArray<MetricsPage>;
  nodeSeries: string[] | null;
};

export type WalletConfig = {
  /** index of the first wallet of this instance */
  offset: number;
  keys: string | null;
  mnemonic: string | null;
  hdPath: string;
  fundFrom: string | null;
  fundAmountWei: bigint | null;
  /** wallets with less are paid during the load; null: they are not */
  refillBelowWei: bigint | null;
  maxSpendWei: bigint | null;
  to: string | null;
  legacy: boolean;
  gasPriceWei: bigint | null;
  /** priority fee per gas; null: what the node suggests */
  tipWei: bigint | null;
  maxFeeWei: bigint | null;
};

/** How endpoints are asked and followed. It goes to worker threads as it is. */
export type NetworkConfig = {
  transport: string;
  connections: number;
  requestTimeoutMs: number;
  noKeepAlive: boolean;
  insecure: boolean;
  /** of the user, from --header and --header-file */
  headers: Headers;
  /** largest answer that is read */
  maxBodyBytes: number;
  /** most submissions in a batch */
  batch: number;
  /** of submissions, in place of eth_sendRawTransaction */
  sendMethod: string;
  /** with "{{raw}}" where the signed transaction belongs */
  sendParams: unknown[];
  fixedId: number | null;
  spread: Spread;
  txTimeoutMs: number;
  inclusion: string;
  /** empty: promises are not followed */
  ladder: readonly string[];
  confirmations: number;
  /** kinds of checks beside the load: consistency */
  check: readonly string[];
  /** their part of the requests of the load, as a fraction */
  checkShare: number;
};

// JSON-RPC

export type Purpose =
  | 'setup'
  | 'load'
  | 'submit'
  | 'resubmit'
  | 'inclusion'
  | 'readback'
  | 'resolve'
  | 'audit'
  | 'probe'
  | 'check'
  | 'consistency'
  | 'follow'
  | 'ladder'
  | 'health';

export type Request = { method: string; params: unknown[] };

export type Rpc = {
  /** the endpoint's URL without its secrets */
  display: string;
  /** secrets of the URL, which responses may repeat: for oneLine() */
  secrets: readonly string[];
  /**
   * the `result` member; onSent is told which of several endpoints it goes to. Rejects with RpcError, ProtocolError or
   * TransportError. With BATCH of chain/rpc.js as method: the results of the requests that are the parameters.
   */
  call: (
    method: string,
    params: unknown[],
    purpose: Purpose,
    onSent?: (endpoint?: number) => unknown,
  ) => Promise<unknown>;
  /**
   * like call, but what is asked in one turn of the event loop travels together, in batches as large as the node takes
   * them. For reads only.
   */
  gather: (method: string, params: unknown[], purpose: Purpose) => Promise<unknown>;
  /** gathers all of them; results in the order of the requests. Rejects with the first error. */
  batch: (requests: Request[], purpose: Purpose) => Promise<unknown[]>;
  /** null over HTTP. Resolves with a function that ends the subscription. Rejects as call does. */
  subscribe:
    | null
    | ((
        kind: 'newHeads',
        onEvent: (event: unknown) => void,
        onLost: (error: StressError) => void,
      ) => Promise<() => void>);
  callCounts: () => Record<string, number>;
  /** of reads, unless the submissions are asked for */
  batchFacts: (of?: 'submissions') => BatchFacts;
};

export type BatchFacts = GeneratorFacts['batches'];

export type Spread = 'sticky' | 'round-robin' | 'apart';

export type ChainInfo = {
  chainId: number;
  /** null without web3_clientVersion */
  clientVersion: string | null;
  /** as in Identity */
  roundTripMs: number;
  /** null if the node has pruned its genesis block */
  genesisHash: string | null;
  head: number;
  /** null on chains without base fee */
  baseFeeWei: bigint | null;
  /** null on chains that state none, or 0 */
  blockGasLimit: number | null;
  /** mean of the last blocks, by their timestamps */
  blockSeconds: number;
};

export type Traffic = {
  requests: number;
  /** lost requests and "not ready" responses */
  failures: number;
};

export type ThreadStats = {
  rpcCalls: Record<string, number>;
  transport: TransportStats;
  endpoints: Traffic[];
} & Pick<GeneratorFacts, 'batches' | 'submissionBatches'>;

/** The embedded development chain: the anvil binary that npm ships, on a free loopback port, under a keeper. */
export type DevChain = {
  url: URL;
  /** of the chain itself; null until it answers */
  chainPid: () => number | null;
  /** settles with the reason when the chain ends */
  ended: Promise<string>;
  stop: () => Promise<void>;
};

// keys, fees and transactions

/** A funded key. */
export interface Wallet {
  readonly index: number;
  readonly address: string;
  /** of the next transaction */
  nonce: number;
  /** for calls that are repeated: the encoded call is kept */
  sign: (transaction: Transaction, signer: Signer) => SignedTransaction;
  signOnce: (transaction: Transaction, signer: Signer) => SignedTransaction;
  /** contains the key: for worker threads only */
  toState: () => WalletState;
  /** of a text (EIP-191): r, s and v in base64 */
  signText(text: string, signer: Signer): string;
}

export type WalletState = { index: number; address: string; nonce: number; privateKey: Uint8Array };

/** A mnemonic or a key file. */
export type KeySource = { name: string; size: number; wallet: (index: number) => Wallet };

/** A signer hashes (Keccak-256) and signs digests. */
export type Signer = {
  name: 'secp256k1' | 'tiny-secp256k1';
  sign: (digest: Uint8Array, privateKey: Uint8Array) => Signature;
  keccak256: (bytes: Uint8Array) => Uint8Array;
  /** 64 hexadecimal digits */
  keccak256Hex: (bytes: Uint8Array) => string;
};

/** 64 hexadecimal digits each; deterministic (RFC 6979) and with a low s (EIP-2), so that all libraries give the same bytes. */
export type Signature = { r: string; s: string; yParity: number };

export type Fee = {
  /** for a legacy transaction */
  gasPriceWei?: bigint;
  /** for a dynamic fee transaction */
  maxFeePerGasWei?: bigint;
  /** for a dynamic fee transaction */
  maxPriorityFeePerGasWei?: bigint;
  /** for a blob transaction; absent: the load has none */
  maxFeePerBlobGasWei?: bigint;
};

export type Fees = {
  mode: 'eip1559' | 'legacy';
  /** the chain takes transactions without a fee, and none is offered */
  isFree: boolean;
  current: () => Fee;
  /** whether an earlier offer may still be made */
  holds: (offer: Fee) => boolean;
  /** raises the offers to come after a refusal for the price; null: they are higher than the refused one now; otherwise why not */
  raiseOffer: (refused: Fee, stated: StatedPrice) => string | null;
  /** fee of a replacement, with at least this tip; null above the limit of what is offered */
  replacementFee: (offer: Fee, leastTipWei?: bigint) => Fee | null;
  /** blocks have taken this offer after they had left out a lower one: its tip is offered from now on */
  learn: (taken: Fee) => void;
  /** an option has set it, or forbids to raise it */
  isFixed: boolean;
  /** by --gas-price: the base fee does not raise it either */
  isPriceFixed: boolean;
  /** the most that is offered without a request of the user */
  mostWei: () => bigint;
  /** why no more than that is offered */
  limitWords: () => string;
  /** whether the offer is below the base fee of the newest block */
  isTooLow: (offer: Fee) => boolean;
  /** plain data for createFees() in another thread */
  state: () => FeeState;
  /** highest price per gas of the current offer */
  worstPriceWei: () => bigint;
  /** expected price per gas, from the base fee */
  priceWei: () => bigint;
  /** takes the base fee, and what decides the price of blob gas, of a newer block */
  observe: (baseFeeWei: bigint | null, excessBlobGas?: number | null) => void;
  /** from now on the offers are also for blobs */
  payForBlobs: (blobs: BlobFeeState) => void;
  /** price per blob gas of the newest block; 0 without blobs */
  blobPriceWei: () => bigint;
};

/** baseFeeWei: null on chains without a base fee, where tipWei is the whole gas price */
export type FeeState = {
  baseFeeWei: bigint | null;
  tipWei: bigint;
  legacy: boolean;
  maxFeeWei: bigint | null;
  blobs?: BlobFeeState | null;
  /** absent: no limit but maxFeeWei */
  offer?: OfferLimits;
};

/** fixedBy: the option that forbids to raise the offer; mostWei: highest offer without a --max-fee; leastWei: lowest one, as refusals have taught; raises: those so far without a stated minimum */
export type OfferLimits = { fixedBy: string | null; mostWei: bigint | null; leastWei: bigint; raises: number };

/** A minimum in a refusal, per gas. */
export type StatedPrice = { tipWei?: bigint; priceWei?: bigint; baseFeeWei?: bigint };

/** updateFraction: of excess blob gas, by which the price grows e-fold (EIP-4844) */
export type BlobFeeState = { excessBlobGas: number; updateFraction: number };

/** what a transaction does, before nonce and fee */
export type Call = {
  /** null deploys a contract */
  to: string | null;
  data: string;
  value: bigint;
  gasLimit: bigint;
} & Pick<OwnCall, 'accessList' | 'authorizationList' | 'sidecar'>;

export type Transaction = { chainId: number; nonce: number; fee: Fee; call: Call };

export type SignedTransaction = {
  /** what eth_sendRawTransaction takes */
  raw: string;
  hash: string;
};

export type Sender = {
  rpc: Rpc;
  clock: Clock;
  /** from 0 to 1 */
  random?: () => number;
  signer: Signer;
  fees: Fees;
  chainId: number;
  /** null: none */
  blockGasLimit?: number | null;
  timeoutMs: number;
  signal: AbortSignal;
  costs?: Costs;
  notice?: (line: string) => void;
  taken?: Taken;
  /** a transaction is about to be sent, perhaps in place of another one; what it returns is called if the node has refused it and does not know it */
  onSigned?: (
    transaction: { hash: string; nonce: number; replaces: readonly string[] },
    order: Order,
    priceWei: bigint,
  ) => () => void;
};

/** The offer that the node has taken last. */
export type Taken = {
  /** offer: null: the operation has no transaction yet */
  note: (offer: Fee | null, atUs: number) => void;
  /** whether the node has just taken an offer like this one: it refuses another one because its pool is full */
  isLike: (offer: Fee) => boolean;
};

/** A transaction with its wallet's next nonce. */
export type Order = Call & { wallet: Wallet };

/** The limit of what the set-up spends. */
export type Costs = {
  /** how many of the orders, from the first on, may be sent now */
  reserve: (orders: Order[], priceWei: bigint) => number | Promise<number>;
  /** offeredWei: what was reserved for it per gas */
  spend: (order: Order, receipt: ChainReceipt, offeredWei: bigint) => void;
  /** it will be in no block */
  release: (order: Order, offeredWei: bigint) => void;
};

// transport

export type Reply = {
  /** HTTP status code, or 200 where the transport has none */
  status: number;
  text: string;
  /** Retry-After; null without it */
  retryAfterMs: number | null;
};

export type TransportStats = { requests: number; connectionsOpened: number; bytesReceived: number };

/** Values by name in lower case. */
export type Headers = Record<string, string>;

export type HeaderField = readonly [name: string, value: string];

/** Called when a body is about to be written to its socket; false: do not send it, it is no longer wanted. */
export type OnSent = () => unknown;

/** text: the answer; end: stops listening, and lastBody is sent without waiting for its answer */
export type Subscription = { text: string; end: (lastBody?: string) => void };

/** Options of the connections to one endpoint. */
export type TransportOptions = {
  /** credentials included */
  url: URL;
  /** most connections open at once */
  connections: number;
  /** from post() to the end of the answer, including the wait for a connection */
  timeoutMs: number;
  /** largest response body that is read */
  maxBodyBytes?: number;
  /** of tcp; false: a connection for each request, closed by this side after the answer */
  keepAlive?: boolean;
  /** of the user, sent with each request */
  headers?: Headers;
  /** any certificate of an https endpoint is accepted */
  insecure?: boolean;
  /** of ws; by default that of the system */
  clock?: Clock;
};

export type OpenTransport = (options: TransportOptions) => Transport;

export type Transport = {
  /**
   * sends one body. Rejects with TransportError when no whole answer came back, or one larger than maxBodyBytes of the
   * options.
   */
  post: (body: string, onSent?: OnSent) => Promise<Reply>;
  /**
   * where an endpoint can say what it was not asked for: sends the body and listens to its connection from the answer
   * on. onPush gets each message that answers no request; onLost is called once if the connection is lost.
   */
  subscribe?: (
    body: string,
    onPush: (text: string) => void,
    onLost: (error: StressError) => void,
  ) => Promise<Subscription>;
  stats: () => TransportStats;
  /** closes idle connections; later requests open new ones */
  closeIdle: () => Promise<void>;
  /** ends every connection at once; open requests are rejected */
  close: () => Promise<void>;
};

// inclusion

/** A block as read by an inclusion detector. */
export type Block = {
  number: number;
  hash: string;
  seenAtUs: number;
  /** null: the node states none */
  timestampS: number | null;
  baseFeeWei: bigint | null;
  excessBlobGas?: number | null;
  gasUsed: number;
  gasLimit: number;
  /** summed gas limits of our transactions, about; absent: not known */
  ownGasLimit?: number;
  transactions: number;
  ours: number;
  /** its gas is spread from then to seenAtUs; absent: it counts when it was seen */
  spreadFromUs?: number;
};

/** Operations that were seen in blocks together, with the time over which the throughput spreads them (stats/throughput.js). */
export type Sighting = Span & {
  /** when all of it and of those before have ended, what counts before this instant is known */
  settledUs: number;
  /** operations of it that have not ended */
  open: number;
};

/** A new block of the chain, as outputs get it. */
export type SeenBlock = Block & {
  /** time of day */
  seenAtMs: number;
  /** how much later than its timestamp; null: the node states none */
  skewMs: number | null;
  /** since the previous block was seen */
  gapMs: number;
  /** its base fee was above --max-fee: it could take no transaction of this run */
  isAboveMaxFee?: boolean;
};

export type Inclusion = {
  number: number;
  hash: string;
  /** when the block had its confirmations */
  seenAtUs: number;
  /** absent: found by its receipt */
  sighting?: Sighting;
};

/** blocks that are no longer part of the chain */
export type Reorg = {
  /** of the first of these blocks */
  number: number;
  /** of the first of these blocks; null if it is not kept any more */
  hash: string | null;
  depth: number;
  /**
   * hashes of watched transactions in these blocks that did not have their confirmations yet; the detector watches them
   * again
   */
  unconfirmed: string[];
};

/** An object instead of a callback, because there is one for each operation in flight. */
export type Watcher = {
  setInclusion: (hash: string, inclusion: Inclusion) => void;
  /** its block was read, and it waits for its confirmations */
  setBlock?: (block: { number: number; seenAtUs: number }) => void;
  startedAtUs?: number;
};

/** Used in place of eth_sendRawTransaction. Resolves with the answer, which has to be the hash; rejects like Rpc.call. */
export type Submit = (
  raw: string,
  hash: string,
  purpose: Purpose,
  /** as for Rpc.call */
  onSent?: (endpoint?: number) => unknown,
  /** called if the answer promises the inclusion */
  onReceipt?: () => void,
) => Promise<unknown>;

export type InclusionDetector = {
  /** calls setInclusion once; watch before sending */
  watch: (hash: string, watcher: Watcher) => void;
  /** submits a transaction, for detectors whose submission waits for the block */
  submit?: Submit;
  /** forgets a hash, found or not */
  unwatch: (hash: string) => void;
  /** whether it waits for this transaction */
  isWatched: (hash: string) => boolean;
  /** whether the block was read and has its confirmations */
  hasPassed: (number: number) => boolean;
  /**
   * source: how new heads are learned of now; resolutionMs: how late a block can be seen because of polling, 0 where
   * heads are pushed; silentMs: how long nothing was heard, in answer or unasked; stillMs: how long there was no new
   * block; behindMs: how long the node's head has been below blocks that were read; blockMs: mean time between two
   * blocks, lately; sightedUs: when blocks were seen last; periodUs: median time between two sightings, spanUs:
   * over how long operations are usually spread, both null while not known; newestBlock: number of the last one that was read; warning: what the user should know, in words
   */
  stats: () => {
    source: 'poll' | 'subscription';
    resolutionMs: number;
    failedPolls: number;
    lastError: Error | null;
    silentMs: number;
    stillMs: number;
    behindMs: number;
    blockMs: number;
    sightedUs: number;
    periodUs: number | null;
    spanUs: number | null;
    newestBlock: number;
    warning: string | null;
    /** what is unusual about the chain */
    note?: string | null;
  };
  /** checks the last block for a reorg, then stops */
  stop: () => Promise<void>;
};

/** The selected detector, as in the run file. */
export type Chosen = { name: string; why: string };
