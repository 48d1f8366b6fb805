/** The JSON-RPC methods of the null chain. Each gives its result as JSON text, which is cheaper than an object. */
import { Fault } from './null-state.js';

/** @import { Block, State, Transaction } from './null-state.js' */

/**
 * @typedef {(params: any[]) => string} Method
 */

/** What a Counter costs about, so that gas limits and fees have usual sizes. */
const GAS = { call: 43_500, deployment: 140_000, block: 1_000_000_000 };
const BASE_FEE_WEI = 1_000_000_000;
/** All accounts have a million ether: funding is not measured. */
const BALANCE = quantity(10n ** 24n);

/** Selectors of Counter.count() and owner(). */
const COUNT = '0x06661abd';
const OWNER = '0x8da5cb5b';

/** @param {number | bigint} value */
function quantity(value) {
  return `"0x${value.toString(16)}"`;
}

/** @param {unknown} text an address in any case @returns {string} as the state knows it */
function key(text) {
  if (typeof text !== 'string') throw new Fault(-32602, 'invalid address');
  return text.slice(2).toLowerCase();
}

/**
 * Answers a body, a batch or a single request, with JSON text.
 * @param {State} state
 * @param {() => Record<string, number>} stats what `null_stats` gives
 * @returns {(body: string) => string}
 */
export function createRpcServer(state, stats) {
  const methods = createMethods(state, stats);
  /** @param {any} request */
  const one = (request) => {
    const id = JSON.stringify(request?.id ?? null);
    try {
      const method = methods.get(request?.method);
      if (method === undefined)
        throw new Fault(-32601, `the method ${request?.method} does not exist/is not available`);
      return `{"jsonrpc":"2.0","id":${id},"result":${method(request.params ?? [])}}`;
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      const code = error instanceof Fault ? error.code : -32602;
      return ascii(JSON.stringify({ jsonrpc: '2.0', id: request?.id ?? null, error: { code, message } }));
    }
  };
  return (body) => {
    let request;
    try {
      request = JSON.parse(body);
    } catch {
      return '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}';
    }
    return Array.isArray(request) ? `[${request.map(one).join(',')}]` : one(request);
  };
}

/** What a request says may turn up in an error message. @param {string} json */
function ascii(json) {
  return json.replace(/[^\x20-\x7e]/g, '?');
}

/** @param {State} state @param {() => Record<string, number>} stats @returns {Map<string, Method>} */
function createMethods(state, stats) {
  /** @param {any} tag @returns {number} the block whose state is asked for */
  const stateAt = (tag) => {
    const number = blockNumber(state, tag);
    if (number > state.head.number) throw new Fault(-32000, 'header not found');
    if (!state.blocks.has(number)) throw new Fault(-32000, 'missing trie node');
    return number;
  };
  return new Map(
    /** @type {[string, Method][]} */ ([
      ['eth_chainId', () => quantity(state.chainId)],
      ['net_version', () => `"${state.chainId}"`],
      ['web3_clientVersion', () => '"null-chain/1"'],
      ['eth_blockNumber', () => quantity(state.head.number)],
      ['eth_gasPrice', () => quantity(BASE_FEE_WEI + 1)],
      ['eth_maxPriorityFeePerGas', () => quantity(1)],
      ['eth_getBalance', () => BALANCE],
      ['eth_estimateGas', ([{ to }]) => quantity(to ? GAS.call : GAS.deployment)],
      ['eth_sendRawTransaction', ([raw]) => `"${state.submit(raw)}"`],
      ['eth_getBlockByNumber', ([tag, full]) => describeBlock(state.blocks.get(blockNumber(state, tag)), full)],
      ['eth_getBlockByHash', ([hash, full]) => describeBlock(state.blocksByHash.get(hash), full)],
      ['eth_getTransactionCount', ([address, tag]) => countTransactions(state, key(address), tag, stateAt)],
      // Only the code of wallets is read.
      ['eth_getCode', () => '"0x"'],
      ['eth_call', ([call, tag]) => readCounter(state, call, stateAt(tag))],
      ['eth_getTransactionByHash', ([hash]) => JSON.stringify(describeTransaction(state.transactions.get(hash)))],
      ['eth_getTransactionReceipt', ([hash]) => describeReceipt(state.transactions.get(hash))],
      ['null_stats', () => JSON.stringify(stats())],
    ]),
  );
}

/** @param {State} state @param {any} tag a number, a name, or an object as EIP-1898 has it @returns {number} */
function blockNumber(state, tag) {
  if (tag === 'earliest') return 0;
  if (typeof tag === 'string' && tag.startsWith('0x')) return Number(tag);
  if (tag?.blockNumber !== undefined) return Number(tag.blockNumber);
  if (tag?.blockHash === undefined) return state.head.number;
  const block = state.blocksByHash.get(tag.blockHash);
  if (block === undefined) throw new Fault(-32000, 'missing trie node');
  return block.number;
}

/** @param {State} state @param {string} address @param {any} tag @param {(tag: any) => number} stateAt */
function countTransactions(state, address, tag, stateAt) {
  return quantity(tag === 'pending' ? state.account(address).next : state.nonceAt(address, stateAt(tag)));
}

/** A call of a Counter. @param {State} state @param {{to?: string, data?: string, input?: string}} call @param {number} block */
function readCounter(state, { to, data, input = data }, block) {
  const contract = state.contract(key(to));
  const count = contract?.counts.at(block);
  if (contract === undefined || count === undefined) return '"0x"'; // there is no code at that address
  if (input?.startsWith(COUNT)) return `"0x${count.toString(16).padStart(64, '0')}"`;
  if (input?.startsWith(OWNER)) return `"0x${contract.owner.address.padStart(64, '0')}"`;
  throw new Fault(3, 'execution reverted');
}

/** @param {Block | undefined} block @param {boolean} full with whole transactions, not just their hashes */
function describeBlock(block, full) {
  if (block === undefined) return 'null';
  const { number, hash, parentHash, timestampS, transactions } = block;
  const list = full
    ? transactions.map((transaction) => JSON.stringify(describeTransaction(transaction)))
    : transactions.map((transaction) => `"${transaction.hash}"`);
  return (
    `{"number":${quantity(number)},"hash":"${hash}","parentHash":"${parentHash}",` +
    `"timestamp":${quantity(timestampS)},"gasLimit":${quantity(GAS.block)},` +
    `"gasUsed":${quantity(transactions.length * GAS.call)},"baseFeePerGas":${quantity(BASE_FEE_WEI)},` +
    `"transactions":[${list.join(',')}]}`
  );
}

/** @param {Transaction | undefined} transaction */
function describeTransaction(transaction) {
  if (transaction === undefined) return null;
  const { hash, from, nonce, to, block } = transaction;
  return {
    hash,
    from: `0x${from.address}`,
    to: to === null ? null : `0x${to}`,
    nonce: `0x${nonce.toString(16)}`,
    blockNumber: block === null ? null : `0x${block.number.toString(16)}`,
    blockHash: block === null ? null : block.hash,
  };
}

/** @param {Transaction | undefined} transaction */
function describeReceipt(transaction) {
  if (transaction === undefined || transaction.block === null) return 'null';
  const { hash, ...rest } = /** @type {NonNullable<ReturnType<typeof describeTransaction>>} */ (
    describeTransaction(transaction)
  );
  const isDeployment = transaction.to === null;
  return JSON.stringify({
    ...rest,
    transactionHash: hash,
    status: '0x1',
    contractAddress: isDeployment ? `0x${transaction.contract?.address}` : null,
    gasUsed: `0x${(isDeployment ? GAS.deployment : GAS.call).toString(16)}`,
    logs: [],
  });
}
