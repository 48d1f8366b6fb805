import { ProtocolError, RpcError, oneLine } from '../errors.js';
import { isAbsent, isBusy } from './refusals.js';
import { MAX_IN_FLIGHT } from './rpc.js';

/**
 * The one place where an answer of a node becomes a value of ours. The tables say of each field whether it is needed (a run
 * cannot be right without it) or feeds a figure only (null where it is absent or odd); other fields are not used. An
 * answer belongs to the hash or number that was asked for, whatever the node prints.
 *
 * @import { BlockWithHashes, ChainLog, ChainReceipt, ChainTransaction, Fee, Header, Purpose, Rpc } from '../contracts/chain.d.ts'
 *
 * @typedef {{display: string, secrets?: readonly string[], method: string}} Asked for messages about an answer
 *
 * @typedef {Header & {transactions: ChainTransaction[]}} BlockWithTransactions
 *
 * @typedef {object} ChainCall what a transaction asks for; null: not stated, but for `to`, where it is a creation too
 * @property {string} hash
 * @property {string | null} from
 * @property {string | null} to
 * @property {number | null} type
 * @property {string | null} data
 * @property {unknown[] | null} blobs
 */

/**
 * A request and how its answer becomes a value.
 * @template T
 * @typedef {{method: string, params: unknown[], read: (answer: unknown, from: Asked) => T}} Question
 */

/** 0x and 32 bytes. */
const HASH_LENGTH = 66;

const NEEDED = 'needed';
const FIGURE = 'figure';

/** @typedef {{words: string, read: (value: any) => any}} Kind read: undefined for a value of another kind */

/** @type {Kind} a QUANTITY; some nodes print numbers */
const NUMBER = {
  words: 'a quantity such as "0x1b4"',
  read: (value) => {
    const number = typeof value === 'number' ? value : isHex(value) ? Number(value) : NaN;
    return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
  },
};

/** @type {Kind} */
const BIG = {
  words: NUMBER.words,
  read: (value) => {
    if (Number.isSafeInteger(value) && value >= 0) return BigInt(value);
    const number = isHex(value) ? Number(value) : NaN;
    if (Number.isNaN(number)) return undefined;
    // Most are small, and a small number is read in a third of the time.
    return BigInt(Number.isSafeInteger(number) ? number : value);
  },
};

/** @type {Kind} */
const HASH = { words: 'a hash', read: (value) => (isHash(value) ? value.toLowerCase() : undefined) };

/** @type {Kind} */
const ADDRESS = {
  words: 'an address',
  read: (value) => (typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value) ? value.toLowerCase() : undefined),
};

/** @type {Kind} 0x1, or 0x0 if the transaction was reverted */
const STATUS = {
  words: 'the status 0x1 or 0x0',
  read: (value) => {
    const number = typeof value === 'boolean' ? Number(value) : NUMBER.read(value);
    return number === 0 || number === 1 ? number === 1 : undefined;
  },
};

/** @type {Kind} some nodes list whole transactions although hashes were asked for */
const HASHES = {
  words: 'a list of hashes',
  read: (value) => {
    if (!Array.isArray(value)) return undefined;
    const hashes = value.map((one) => HASH.read(one?.hash ?? one));
    return hashes.includes(undefined) ? undefined : hashes;
  },
};

/** @type {Kind} */
const DATA = { words: 'hexadecimal data', read: (value) => (isData(value) ? value.toLowerCase() : undefined) };

/** @type {Kind} */
const LIST = { words: 'a list', read: (value) => (Array.isArray(value) ? value : undefined) };

/** By our name: the node's name, whether it is needed, and its kind. @typedef {Record<string, readonly [string, string, Kind]>} Table */

/** @type {Table} */
const HEADER = {
  number: ['number', NEEDED, NUMBER],
  hash: ['hash', NEEDED, HASH],
  parentHash: ['parentHash', FIGURE, HASH],
  timestampS: ['timestamp', FIGURE, NUMBER],
  baseFeeWei: ['baseFeePerGas', FIGURE, BIG],
  gasUsed: ['gasUsed', FIGURE, NUMBER],
  gasLimit: ['gasLimit', FIGURE, NUMBER],
  excessBlobGas: ['excessBlobGas', FIGURE, NUMBER],
};

/** @type {Table} */
const BLOCK = { ...HEADER, transactions: ['transactions', NEEDED, HASHES] };

/** @type {Table} */
const TRANSACTION = {
  hash: ['hash', NEEDED, HASH],
  from: ['from', FIGURE, ADDRESS],
  nonce: ['nonce', FIGURE, NUMBER],
  blockNumber: ['blockNumber', FIGURE, NUMBER],
  gasLimit: ['gas', FIGURE, NUMBER],
  maxPriceWei: ['maxFeePerGas', FIGURE, BIG],
  maxTipWei: ['maxPriorityFeePerGas', FIGURE, BIG],
};

/** @type {Table} */
const CALL = {
  hash: ['hash', NEEDED, HASH],
  from: ['from', FIGURE, ADDRESS],
  to: ['to', FIGURE, ADDRESS],
  type: ['type', FIGURE, NUMBER],
  data: ['input', FIGURE, DATA],
  blobs: ['blobVersionedHashes', FIGURE, LIST],
};

/** @type {Table} */
const RECEIPT = {
  hash: ['transactionHash', NEEDED, HASH],
  blockNumber: ['blockNumber', NEEDED, NUMBER],
  blockHash: ['blockHash', FIGURE, HASH],
  isSuccess: ['status', NEEDED, STATUS],
  from: ['from', FIGURE, ADDRESS],
  to: ['to', FIGURE, ADDRESS],
  contractAddress: ['contractAddress', FIGURE, ADDRESS],
  gasUsed: ['gasUsed', FIGURE, NUMBER],
  priceWei: ['effectiveGasPrice', FIGURE, BIG],
  logs: ['logs', FIGURE, LIST],
};

/** What rollups charge for data beside gas, in wei: OP stack and its forks, Scroll, Mantle and Fraxtal. */
const L1_FEES = Object.freeze(['l1Fee', 'operatorFee', 'daFee']);

/** @param {Table} table @param {any} answer @param {Asked} from @param {Record<string, unknown>} [asked] fields that the question states */
function fieldsOf(table, answer, from, asked = {}) {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer))
    throw invalid(from, 'the answer', answer, 'an object');
  /** @type {Record<string, any>} */
  const fields = {};
  for (const ours in table) {
    const [theirs, need, kind] = table[ours];
    const value = kind.read(answer[theirs]) ?? asked[ours];
    if (value === undefined && need === NEEDED) throw invalid(from, theirs, answer[theirs], kind.words);
    fields[ours] = value ?? null;
  }
  return fields;
}

/** @param {Asked} from @param {string} field @param {unknown} found @param {string} words */
function invalid({ display, secrets, method }, field, found, words) {
  const type = Array.isArray(found) ? 'a list' : typeof found === 'object' ? 'an object' : `a ${typeof found}`;
  // It may repeat a secret of the URL.
  const shown = secrets === undefined ? type : `${oneLine(found, 40, secrets)} (${type})`;
  const is = found === undefined ? 'not there' : found === null ? 'null' : shown;
  return new ProtocolError(`${display}: ${method}: ${field} is ${is}; ${words} is expected`);
}

/** Number() tells whether the digits are hexadecimal, but for white space. @param {unknown} value @returns {value is string} */
function isHex(value) {
  return (
    typeof value === 'string' && value.length <= HASH_LENGTH && value.startsWith('0x') && value.trimEnd() === value
  );
}

/**
 * By its length: each operation has three, and a pattern of 64 digits takes 0.4 us.
 * @param {unknown} value
 * @returns {value is string}
 */
export function isHash(value) {
  return typeof value === 'string' && value.length === HASH_LENGTH && value.startsWith('0x');
}

/** For what is compared as the node printed it. @param {unknown} value @returns {number} */
export function toNumber(value) {
  return number(value, PRINTED);
}

/** The same. @param {unknown} value @returns {bigint} */
export function toBigInt(value) {
  return big(value, PRINTED);
}

/** @type {Asked} */
const PRINTED = Object.freeze({ display: 'the endpoint', method: 'a request' });

/** @param {number | bigint} value @returns {string} */
export function toHex(value) {
  return `0x${value.toString(16)}`;
}

/** @param {any} answer @param {Asked} from @returns {number} */
function number(answer, from) {
  const value = NUMBER.read(answer);
  if (value === undefined) throw invalid(from, 'the answer', answer, NUMBER.words);
  return value;
}

/** @param {any} answer @param {Asked} from @returns {bigint} */
function big(answer, from) {
  const value = answer === '0x' ? 0n : BIG.read(answer);
  if (value === undefined) throw invalid(from, 'the answer', answer, NUMBER.words);
  return value;
}

/** @param {any} answer @param {Asked} from @returns {string} */
function text(answer, from) {
  if (typeof answer !== 'string') throw invalid(from, 'the answer', answer, 'hexadecimal data');
  return answer;
}

/** @typedef {number | string} At a block by number, tag or hash */

/** @param {At | {blockHash: string}} at */
const printed = (at) => (typeof at === 'number' ? toHex(at) : at);

/**
 * A block that was asked for by its number has it: at a height without a block some nodes answer with the one before.
 * @param {At} at
 * @param {any} answer
 */
const isOther = (at, answer) => typeof at === 'number' && (NUMBER.read(answer?.number) ?? at) !== at;

/** @param {Table} table @param {any} answer @param {Asked} from @param {At} at @returns {any} null: the node does not have it */
function blockFrom(table, answer, from, at) {
  if (answer === null || isOther(at, answer)) return null;
  const fields = fieldsOf(table, answer, from, typeof at === 'number' ? { number: at } : {});
  return { ...fields, gasLimit: fields.gasLimit || null };
}

/** @param {any} answer @param {Asked} from @param {{hash?: string}} [asked] @returns {ChainTransaction} */
function transactionFrom(answer, from, asked) {
  const fields = fieldsOf(TRANSACTION, answer, from, asked);
  const { from: sender, to, input, data, value, gas, gasPrice } = answer;
  const priceWei = BIG.read(gasPrice) ?? null;
  const prices = { maxPriceWei: fields.maxPriceWei ?? priceWei, maxTipWei: fields.maxTipWei ?? priceWei };
  return /** @type {any} */ ({
    ...fields,
    ...prices,
    ...asked,
    call: { from: sender, to, data: input ?? data, value, gas },
  });
}

/**
 * @param {any} answer
 * @param {Asked} from
 * @param {string} [hash] that was asked for
 * @returns {ChainReceipt | null} null: of no block yet
 */
function receiptFrom(answer, from, hash) {
  // Some nodes give receipts of transactions whose block is not sealed.
  if (answer === null || (answer?.blockNumber === null && answer.status !== undefined)) return null;
  const fields = fieldsOf(RECEIPT, answer, from);
  if (hash) fields.hash = hash;
  fields.dataFeeWei = dataFeeOf(answer);
  fields.printed = answer;
  return /** @type {any} */ (fields);
}

/** @param {any} answer a receipt @returns {bigint} what was paid for data beside gas, in wei */
function dataFeeOf(answer) {
  const weiOf = (/** @type {unknown} */ value) => /** @type {bigint} */ (BIG.read(value) ?? 0n);
  const { blobGasUsed, blobGasPrice } = answer;
  let sumWei = blobGasUsed === undefined ? 0n : weiOf(blobGasUsed) * weiOf(blobGasPrice);
  // Most chains have none of them: each operation has a receipt.
  for (const name of L1_FEES) if (answer[name] !== undefined) sumWei += weiOf(answer[name]);
  return sumWei;
}

/** @type {Question<number>} */
export const HEAD = Object.freeze({ method: 'eth_blockNumber', params: [], read: number });

/** @type {Question<number>} */
export const CHAIN_ID = Object.freeze({
  method: 'eth_chainId',
  params: [],
  read: (answer, from) => {
    if (typeof BIG.read(answer) === 'bigint' && NUMBER.read(answer) === undefined)
      throw invalid(from, 'the chain id', answer, 'one below 2^53');
    return number(answer, from);
  },
});

/** @type {Question<bigint>} */
export const GAS_PRICE = Object.freeze({ method: 'eth_gasPrice', params: [], read: big });

/** @type {Question<bigint | null>} */
export const TIP = Object.freeze({
  method: 'eth_maxPriorityFeePerGas',
  params: [],
  read: (answer) => BIG.read(answer) ?? null,
});

/** @type {Question<bigint>} */
export const BLOB_PRICE = Object.freeze({ method: 'eth_blobBaseFee', params: [], read: big });

/** @type {Question<number | null>} of the fork that is active (EIP-7910) */
export const BLOB_UPDATE_FRACTION = Object.freeze({
  method: 'eth_config',
  params: [],
  read: (/** @type {any} */ answer) => NUMBER.read(answer?.current?.blobSchedule?.baseFeeUpdateFraction) || null,
});

/** @type {Question<unknown>} */
export const CLIENT_VERSION = Object.freeze({ method: 'web3_clientVersion', params: [], read: (answer) => answer });

/** @type {Question<{pending: number, queued: number}>} transactions in the node's pool */
export const POOL_STATUS = Object.freeze({
  method: 'txpool_status',
  params: [],
  read: (/** @type {any} */ answer, from) => ({
    pending: number(answer?.pending, from),
    queued: number(answer?.queued, from),
  }),
});

/**
 * Transactions of a wallet in the pool, and what they may cost.
 *
 * @typedef {object} Pooled
 * @property {number[]} nonces
 * @property {bigint} costWei
 * @property {Map<number, PooledTransaction>} byNonce transactions whose gas limit the node shows
 *
 * @typedef {{gasLimit: bigint, valueWei: bigint, fee: Fee}} PooledTransaction
 */

/** @type {Question<(address: string) => Pooled>} the transactions in the pool, of each sender */
export const POOL = Object.freeze({
  method: 'txpool_content',
  params: [],
  read: (/** @type {any} */ answer) => {
    const parts = [answer?.pending, answer?.queued].map(
      (part) => new Map(Object.entries(part ?? {}).map(([address, nonces]) => [address.toLowerCase(), nonces])),
    );
    return (/** @type {string} */ address) => pooledIn(parts.map((part) => part.get(address.toLowerCase())));
  },
});

/** @param {string} address @returns {Question<Pooled>} */
export function pooledOf(address) {
  const read = (/** @type {any} */ answer) => pooledIn([answer?.pending, answer?.queued]);
  return { method: 'txpool_contentFrom', params: [address], read };
}

/** @param {any[]} parts transactions by nonce @returns {Pooled} */
function pooledIn(parts) {
  const entries = parts.flatMap((part) => (typeof part === 'object' ? Object.entries(part ?? {}) : []));
  const all = entries.map(([nonce, transaction]) => ({ nonce: Number(nonce), transaction: pooledFrom(transaction) }));
  const known = all.filter(({ nonce }) => Number.isSafeInteger(nonce));
  return {
    nonces: known.map(({ nonce }) => nonce),
    costWei: all.reduce((sum, { transaction: { gasLimit, fee, valueWei } }) => {
      return sum + gasLimit * (fee.maxFeePerGasWei ?? fee.gasPriceWei ?? 0n) + valueWei;
    }, 0n),
    byNonce: new Map(
      known
        .filter(({ transaction }) => transaction.gasLimit > 0n)
        .map(({ nonce, transaction }) => [nonce, transaction]),
    ),
  };
}

/** @param {any} transaction as the node shows it @returns {PooledTransaction} without gas: it is not shown */
function pooledFrom(transaction) {
  const { gas, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas, gasPrice, value } = transaction ?? {};
  const [maxFeePerGasWei, tipWei, blobWei] = [maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas].map((wei) => {
    return BIG.read(wei) ?? undefined;
  });
  const price =
    maxFeePerGasWei === undefined
      ? { gasPriceWei: BIG.read(gasPrice) ?? 0n }
      : { maxFeePerGasWei, maxPriorityFeePerGasWei: tipWei ?? 0n };
  return {
    gasLimit: BIG.read(gas) ?? 0n,
    valueWei: BIG.read(value) ?? 0n,
    fee: { ...price, ...(blobWei !== undefined && { maxFeePerBlobGasWei: blobWei }) },
  };
}

/** @param {At} at @returns {Question<Header | null>} */
export function headerAt(at) {
  const read = (/** @type {any} */ answer, /** @type {Asked} */ from) => blockFrom(HEADER, answer, from, at);
  return { method: 'eth_getBlockByNumber', params: [printed(at), false], read };
}

/** @param {At} at @returns {Question<BlockWithHashes | null>} */
export function blockAt(at) {
  return { ...headerAt(at), read: (answer, from) => blockFrom(BLOCK, answer, from, at) };
}

/** @param {number} at @returns {Question<BlockWithTransactions | null>} */
export function fullBlockAt(at) {
  return blockWith(at, transactionFrom);
}

/** What the transactions of a block ask for. @param {number} at @returns {Question<Header & {transactions: ChainCall[]} | null>} */
export function callsAt(at) {
  return blockWith(
    at,
    (one, from) => /** @type {any} */ (fieldsOf(CALL, { ...one, input: one?.input ?? one?.data }, from)),
  );
}

/** @template T @param {number} at @param {(transaction: any, from: Asked) => T} readOne @returns {Question<Header & {transactions: T[]} | null>} */
function blockWith(at, readOne) {
  return {
    method: 'eth_getBlockByNumber',
    params: [printed(at), true],
    read: (/** @type {any} */ answer, from) => {
      const header = blockFrom(HEADER, answer, from, at);
      if (header === null) return null;
      if (!Array.isArray(answer.transactions))
        throw invalid(from, 'transactions', answer.transactions, 'a list of transactions');
      const transactions = answer.transactions.map((/** @type {any} */ one) => readOne(one, from));
      return { ...header, transactions };
    },
  };
}

/** @param {number} at @returns {Question<any>} a block as the node prints it, with its transactions: to repeat its hash; null: it does not have it */
export function printedBlockAt(at) {
  const read = (/** @type {any} */ answer) =>
    typeof answer !== 'object' || !Array.isArray(answer?.transactions) || isOther(at, answer) ? null : answer;
  return { method: 'eth_getBlockByNumber', params: [printed(at), true], read };
}

/**
 * The blob gas that a block states, and the blobs of each transaction that has some (EIP-4844).
 * @param {number} at
 * @returns {Question<{blobGasUsed: number | null, blobs: Map<string, number>} | null>}
 */
export function blobsAt(at) {
  const { read, ...question } = fullBlockAt(at);
  return {
    ...question,
    read: (/** @type {any} */ answer, from) => {
      const block = read(answer, from);
      if (block === null) return null;
      const counts = block.transactions.map(({ hash }, i) => {
        const hashes = LIST.read(answer.transactions[i].blobVersionedHashes) ?? [];
        return /** @type {[string, number]} */ ([hash, hashes.length]);
      });
      return { blobGasUsed: NUMBER.read(answer.blobGasUsed) ?? null, blobs: new Map(counts) };
    },
  };
}

/** Whether the latest block has requests (EIP-7685), as since the Prague fork. @type {Question<boolean>} */
export const HAS_REQUESTS = Object.freeze({
  method: 'eth_getBlockByNumber',
  params: ['latest', false],
  read: (/** @type {any} */ answer) => HASH.read(answer?.requestsHash) !== undefined,
});

/** @type {Question<{number: number | null, hash: string | null, transactions: string[] | null}>} */
export const PENDING_BLOCK = Object.freeze({
  method: 'eth_getBlockByNumber',
  params: ['pending', false],
  read: (/** @type {any} */ answer) => ({
    number: NUMBER.read(answer?.number) ?? null,
    hash: HASH.read(answer?.hash) ?? null,
    transactions: HASHES.read(answer?.transactions) ?? null,
  }),
});

/** @param {string} address @param {At | {blockHash: string}} at @returns {Question<number>} */
export function nonceOf(address, at) {
  // The pool of EthereumJS knows addresses in lower case only.
  const key = at === 'pending' ? address.toLowerCase() : address;
  return { method: 'eth_getTransactionCount', params: [key, printed(at)], read: number };
}

/** @param {string} address @param {At} at @returns {Question<bigint>} */
export function balanceOf(address, at) {
  return { method: 'eth_getBalance', params: [address, printed(at)], read: big };
}

/** @param {string} method @param {unknown[]} params @returns {Question<bigint>} a number on the chain; 0 at an address without code */
export function valueOf(method, params) {
  return {
    method,
    params,
    read: (answer, from) => (isData(answer) && answer !== '0x' ? BigInt(answer) : big(answer, from)),
  };
}

/** Hexadecimal of any length, such as code. @param {unknown} value @returns {value is string} */
function isData(value) {
  return typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value);
}

/** @param {object} call @param {At | {blockHash: string}} at @returns {Question<bigint>} of a call that answers with a number */
export function countOf(call, at) {
  return { method: 'eth_call', params: [call, printed(at)], read: big };
}

/** @param {object} call @param {At | {blockHash: string}} at @returns {Question<string>} */
export function resultOf(call, at) {
  return { method: 'eth_call', params: [call, printed(at)], read: text };
}

/** @param {string} address @param {number | 'latest'} [at] a block @returns {Question<string>} */
export function codeOf(address, at = 'latest') {
  return { method: 'eth_getCode', params: [address, printed(at)], read: text };
}

/** @param {object} transaction @param {number | 'latest'} [at] a block; some nodes take none @returns {Question<number>} */
export function gasOf(transaction, at = 'latest') {
  const block = at === 'latest' ? [] : [printed(at)];
  return { method: 'eth_estimateGas', params: [transaction, ...block], read: number };
}

/** @param {string} hash @returns {Question<ChainTransaction | null>} null: not known */
export function transactionOf(hash) {
  /** @type {Question<ChainTransaction | null>['read']} */
  const read = (answer, from) => (answer === null ? null : transactionFrom(answer, from, { hash }));
  return { method: 'eth_getTransactionByHash', params: [hash], read };
}

/** @param {string} hash @returns {Question<ChainReceipt | null>} null: in no block */
export function receiptOf(hash) {
  return {
    method: 'eth_getTransactionReceipt',
    params: [hash],
    read: (answer, from) => receiptFrom(answer, from, hash),
  };
}

/** @param {any} answer @param {Asked} from */
function receiptsFrom(answer, from) {
  if (answer === null) return null;
  if (!Array.isArray(answer)) throw invalid(from, 'the answer', answer, 'a list of receipts');
  const receipts = answer.map((one) => receiptFrom(one, from));
  return /** @type {ChainReceipt[]} */ (receipts.filter((receipt) => receipt !== null));
}

/** What tells the outcome of a transaction: a run of a million has a gigabyte of receipts. @type {Table} */
const OUTCOME = { hash: RECEIPT.hash, blockHash: RECEIPT.blockHash, isSuccess: RECEIPT.isSuccess, from: RECEIPT.from };

/** @param {number} at @returns {Question<Array<Pick<ChainReceipt, 'hash' | 'blockHash' | 'isSuccess' | 'from'>> | null>} null: the node does not have the block */
export function outcomesAt(at) {
  return {
    method: 'eth_getBlockReceipts',
    params: [printed(at)],
    read: (answer, from) => {
      if (answer === null) return null;
      if (!Array.isArray(answer)) throw invalid(from, 'the answer', answer, 'a list of receipts');
      return answer.map((one) => /** @type {any} */ (fieldsOf(OUTCOME, one, from)));
    },
  };
}

/** @param {number} at @returns {Question<ChainReceipt[] | null>} null: the node does not have the block */
export function receiptsAt(at) {
  return { method: 'eth_getBlockReceipts', params: [printed(at)], read: receiptsFrom };
}

/** @type {Table} */
const LOG = {
  blockNumber: ['blockNumber', NEEDED, NUMBER],
  transactionHash: ['transactionHash', NEEDED, HASH],
  topics: ['topics', NEEDED, LIST],
};

/** @param {object} filter @returns {Question<ChainLog[]>} */
export function logsOf(filter) {
  return {
    method: 'eth_getLogs',
    params: [filter],
    read: (answer, from) => {
      if (!Array.isArray(answer)) throw invalid(from, 'the answer', answer, 'a list of logs');
      return answer.map((one) => /** @type {any} */ (fieldsOf(LOG, one, from)));
    },
  };
}

/** The number of a pushed head; null: none. @param {any} event */
export function pushedNumber(event) {
  return NUMBER.read(event?.number) ?? null;
}

/** @param {Partial<Rpc>} rpc @param {string} method @returns {Asked} */
function askedOf({ display = 'the endpoint', secrets }, method) {
  return { display, secrets, method };
}

/** The hash in an answer to eth_sendRawTransaction. @param {any} answer @param {Partial<Rpc>} rpc @returns {string} */
export function submittedHash(answer, rpc) {
  const hash = HASH.read(answer);
  if (hash === undefined) throw invalid(askedOf(rpc, 'eth_sendRawTransaction'), 'the answer', answer, HASH.words);
  return hash;
}

/** The receipt in an answer to eth_sendRawTransactionSync (EIP-7966); null: none. @param {any} answer @returns {{hash: string, blockNumber: number | null} | null} */
export function syncReceipt(answer) {
  const hash = HASH.read(answer?.transactionHash);
  return hash === undefined ? null : { hash, blockNumber: NUMBER.read(answer.blockNumber) ?? null };
}

/**
 * @template T
 * @param {Pick<Rpc, 'call'> & Partial<Rpc>} rpc
 * @param {Question<T>} question
 * @param {Purpose} purpose
 * @returns {Promise<T>}
 */
export function ask(rpc, { method, params, read }, purpose) {
  return rpc.call(method, params, purpose).then((answer) => read(answer, askedOf(rpc, method)));
}

/**
 * In a batch with others of the same turn of the event loop.
 * @template T
 * @param {Pick<Rpc, 'gather'> & Partial<Rpc>} rpc
 * @param {Question<T>} question
 * @param {Purpose} purpose
 * @returns {Promise<T>}
 */
export function gather(rpc, question, purpose) {
  return gatherThen(rpc, question, purpose, (value) => value);
}

/**
 * gather() with what is done with the value: one promise less, for the read-back of each operation.
 * @template T, R
 * @param {Pick<Rpc, 'gather'> & Partial<Rpc>} rpc
 * @param {Question<T>} question
 * @param {Purpose} purpose
 * @param {(value: T) => R} then
 * @param {(error: unknown) => R} [onError] of the request
 * @returns {Promise<R>}
 */
export function gatherThen(rpc, { method, params, read }, purpose, then, onError) {
  return rpc.gather(method, params, purpose).then((answer) => then(read(answer, askedOf(rpc, method))), onError);
}

/**
 * @template T
 * @param {Pick<Rpc, 'batch'> & Partial<Rpc>} rpc
 * @param {Question<T>[]} questions
 * @param {Purpose} purpose
 * @returns {Promise<T[]>} rejects with the first error
 */
export async function askAll(rpc, questions, purpose) {
  const answers = await rpc.batch(
    questions.map(({ method, params }) => ({ method, params })),
    purpose,
  );
  return answers.map((answer, i) => questions[i].read(answer, askedOf(rpc, questions[i].method)));
}

/**
 * The next nonces with the pool's transactions. Not all nodes know the tag; some answer with less than for the latest block.
 * @param {Pick<Rpc, 'gather'> & Partial<Rpc>} rpc
 * @param {readonly string[]} addresses
 * @param {Purpose} purpose
 * @returns {Promise<number[]>} 0: not known
 */
export async function pendingNonces(rpc, addresses, purpose) {
  /** @type {Array<number | null>} */
  const nonces = [];
  for (let at = 0; at < addresses.length; at += MAX_IN_FLIGHT) {
    const part = addresses.slice(at, at + MAX_IN_FLIGHT);
    const asked = part.map((address) =>
      nullIf(gather(rpc, nonceOf(address, 'pending'), purpose), (error) => isNoAnswer(error) && !isBusy(error)),
    );
    nonces.push(...(await Promise.all(asked)));
    // Without the tag the others are not asked.
    if (nonces.every((nonce) => nonce === null)) break;
  }
  return addresses.map((_, i) => nonces[i] ?? 0);
}

/** @param {unknown} error */
const isNoAnswer = (error) => error instanceof RpcError || error instanceof ProtocolError;

/**
 * @template T
 * @param {Promise<T>} answer
 * @param {(error: unknown) => boolean} isNull
 * @returns {Promise<T | null>}
 */
function nullIf(answer, isNull) {
  return answer.catch((error) => {
    if (isNull(error)) return null;
    throw error;
  });
}

/** Some nodes answer with an error for what is not there. @template T @param {Promise<T>} answer @returns {Promise<T | null>} */
export const nullIfAbsent = (answer) => nullIf(answer, isAbsent);

/** For what feeds a figure only. @template T @param {Promise<T>} answer @returns {Promise<T | null>} null: an error, or odd */
export const nullIfOdd = (answer) => nullIf(answer, isNoAnswer);

/** @template T @param {Promise<T>} answer @returns {Promise<T | null>} null: any error answer */
export const nullIfRefused = (answer) => nullIf(answer, (error) => error instanceof RpcError);
