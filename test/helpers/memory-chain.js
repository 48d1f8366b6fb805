/**
 * A whole chain in memory, which makes a block each blockMs of a clock: Counters, payments, balances and receipts, with the
 * answers and the words of geth. Under it a run is real from its set-up to its audit, and takes no time.
 */
import { AbiCoder, Transaction, getCreateAddress, keccak256 } from 'ethers';
import { recover } from 'tiny-secp256k1';
import { readArtifact } from '../../src/workloads/contract-state.js';

/**
 * @import { Clock } from '../../src/contracts/load.d.ts'
 *
 * @typedef {(method: string, params: any[]) => Promise<any>} Ask resolves with the result, rejects with the error answer
 * @typedef {{nonces: Map<string, number>, balances: Map<string, bigint>, counts: Map<string, number>}} State
 *
 * @typedef {object} MemoryChainOptions
 * @property {Clock} clock
 * @property {number} [blockMs]
 * @property {number} [gasLimit] of a block
 * @property {boolean} [packsByLimit] the gas limits of the transactions of a block are at most that of the block
 * @property {bigint} [l1FeeWei] that each transaction pays beside its gas
 * @property {boolean} [hasDeposits] each block begins with a transaction of others
 * @property {(blocks: number) => bigint} [baseFeeAfter] in wei, by the blocks since the start
 * @property {string} [rich] the only address that has anything; without it all have
 */

const HEAD = 100;
const CHAIN_ID = '0x7a69';
const RICH_WEI = 10n ** 24n;
const BASE_FEE_WEI = 7n;
const DISPERSE = readArtifact('Disperse').bytecode;
/** Gas of a deployment, of the first and of a later call of a contract, of a payment. */
const GAS = Object.freeze({ deploy: 200_000, first: 43_534, call: 26_434, pay: 21_000, deposit: 50_000 });
const COUNT = '0x06661abd';
const DEPOSITOR = '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001';

/** @param {number | bigint} value */
export const hex = (value) => `0x${value.toString(16)}`;
/** @param {number} value @param {string} [kind] */
export const hash32 = (value, kind = 'b') => `0x${kind}${value.toString(16).padStart(63, '0')}`;
/** @param {string} message @param {number} [code] */
const refuse = (message, code = -32000) => Object.assign(new Error(message), { error: { code, message } });

/** @param {string} raw */
function parsed(raw) {
  try {
    return Transaction.from(raw);
  } catch {
    throw refuse('rlp: value size exceeds available input length', -32602);
  }
}

/** ethers takes ten times as long to recover a sender. @param {Transaction} transaction signed */
export function senderOf({ unsignedHash, signature }) {
  const { r, s, yParity } = /** @type {NonNullable<typeof signature>} */ (signature);
  const bytes = (/** @type {string} */ hex) => Buffer.from(hex.slice(2), 'hex');
  const key = recover(bytes(unsignedHash), Buffer.concat([bytes(r), bytes(s)]), yParity, false);
  if (key === null) throw refuse('invalid sender');
  return `0x${keccak256(key.subarray(1)).slice(-40)}`;
}

/** What a contract of this program pays when it is created. @param {{to: string | null, input: string}} tx @returns {Array<[string, bigint]>} */
function paymentsIn({ to, input }) {
  if (to !== null || !input.startsWith(DISPERSE)) return [];
  const encoded = `0x${input.slice(DISPERSE.length)}`;
  const [receivers, amounts] = AbiCoder.defaultAbiCoder().decode(['address[]', 'uint256[]'], encoded);
  return [...receivers].map((receiver, i) => [receiver.toLowerCase(), amounts[i]]);
}

/** @param {MemoryChainOptions} options */
export function createMemoryChain({ clock, blockMs = 1000, gasLimit = 30_000_000, ...options }) {
  const { packsByLimit = false, l1FeeWei = 0n, hasDeposits = false, baseFeeAfter = () => BASE_FEE_WEI } = options;
  /** By number. @type {any[]} */
  const blocks = [];
  /** By number. @type {State[]} */
  const states = [];
  /** By sender and nonce. @type {Map<string, any>} */
  const pool = new Map();
  /** @type {Map<string, any>} */
  const mined = new Map();
  /** @type {Map<string, any>} */
  const receipts = new Map();
  /** @type {Array<() => void>} */
  const waiting = [];

  /** @param {State} state @param {string} address */
  const balanceIn = ({ balances }, address) =>
    balances.get(address) ?? ([undefined, address].includes(options.rich) ? RICH_WEI : 0n);
  const baseFee = () => baseFeeAfter(blocks.length - HEAD);
  /** @param {string | null} to @param {State} state */
  const gasOf = (to, { counts }) => {
    if (to === null) return GAS.deploy;
    const count = counts.get(to);
    return count === undefined ? GAS.pay : count === 0 ? GAS.first : GAS.call;
  };
  const last = () => states[states.length - 1];
  const priceOf = (/** @type {any} */ { maxFeeWei, tipWei }) =>
    maxFeeWei < baseFee() + tipWei ? maxFeeWei : baseFee() + tipWei;

  /** @param {any} tx @param {State} state @param {number} number @param {number} index */
  const execute = (tx, state, number, index) => {
    const { from, to, value, nonce } = tx;
    const target = to ?? getCreateAddress({ from, nonce }).toLowerCase();
    const isCall = to !== null && state.counts.has(target);
    const payments = paymentsIn(tx);
    const gasUsed = gasOf(to, state);
    state.nonces.set(from, nonce + 1);
    state.balances.set(from, balanceIn(state, from) - value - BigInt(gasUsed) * priceOf(tx) - l1FeeWei);
    const paid = payments.length > 0 ? payments : [[target, value]];
    for (const [receiver, wei] of paid) state.balances.set(receiver, balanceIn(state, receiver) + wei);
    if (to === null) state.counts.set(target, 0);
    if (isCall) state.counts.set(target, Number(state.counts.get(target)) + 1);
    addReceipt(tx.hash, number, index, {
      from,
      to,
      contractAddress: to === null ? target : null,
      gasUsed: hex(gasUsed),
      effectiveGasPrice: hex(priceOf(tx)),
      ...(l1FeeWei > 0n && { l1Fee: hex(l1FeeWei) }),
    });
    return gasUsed;
  };

  /** @param {string} hash @param {number} number @param {number} index @param {object} members */
  const addReceipt = (hash, number, index, members) => {
    const place = { blockNumber: hex(number), blockHash: hash32(number), transactionIndex: hex(index) };
    receipts.set(hash, { transactionHash: hash, ...place, status: '0x1', type: '0x2', logs: [], ...members });
  };

  const mine = () => {
    const number = blocks.length;
    const { nonces, balances, counts } = last();
    const state = { nonces: new Map(nonces), balances: new Map(balances), counts: new Map(counts) };
    /** @type {any[]} */
    const transactions = [];
    let [used, room] = [0, gasLimit];
    if (hasDeposits) {
      used += GAS.deposit;
      transactions.push({ hash: hash32(number, 'd'), from: DEPOSITOR, nonce: number });
      addReceipt(hash32(number, 'd'), number, 0, { from: DEPOSITOR, to: DEPOSITOR, gasUsed: hex(GAS.deposit) });
    }
    for (const tx of [...pool.values()].sort((a, b) => a.nonce - b.nonce)) {
      if (tx.nonce !== (state.nonces.get(tx.from) ?? 0) || tx.maxFeeWei < baseFee()) continue;
      if (packsByLimit && tx.gas > room) continue;
      room -= tx.gas;
      used += execute(tx, state, number, transactions.length);
      pool.delete(`${tx.from}:${tx.nonce}`);
      mined.set(tx.hash, number);
      transactions.push(tx);
    }
    put(number, transactions, used, state);
    for (const resolve of waiting.splice(0)) resolve();
  };

  /** @param {number} number @param {any[]} transactions @param {number} used @param {State} state */
  const put = (number, transactions, used, state) => {
    states[number] = state;
    blocks[number] = {
      number: hex(number),
      hash: hash32(number),
      parentHash: hash32(Math.max(0, number - 1)),
      timestamp: hex(Math.floor(clock.wallMs() / 1000) - (transactions.length > 0 ? 0 : Math.max(0, HEAD - number))),
      gasUsed: hex(used),
      gasLimit: hex(gasLimit),
      baseFeePerGas: hex(baseFee()),
      miner: DEPOSITOR,
      transactions,
    };
  };

  /** @param {any} at a tag, a number or an EIP-1898 object @returns {number} */
  const numberAt = (at) => {
    const number =
      typeof at === 'object' && at !== null
        ? blocks.findIndex(({ hash }) => hash === at.blockHash)
        : at === 'latest' || at === 'pending' || at === undefined
          ? blocks.length - 1
          : Number(at);
    if (states[number] === undefined) throw refuse('header not found');
    return number;
  };

  /** @param {string} raw */
  const receive = (raw) => {
    const signed = parsed(raw);
    const { hash, to, nonce, value, data, gasLimit: gas, maxFeePerGas, maxPriorityFeePerGas, gasPrice } = signed;
    const [sender, state] = [senderOf(signed), last()];
    const maxFeeWei = maxFeePerGas ?? gasPrice ?? 0n;
    const tx = { hash, from: sender, to: to?.toLowerCase() ?? null, nonce, value, input: data, gas: Number(gas) };
    const key = `${sender}:${nonce}`;
    const earlier = pool.get(key);
    const next = state.nonces.get(sender) ?? 0;
    if (earlier?.hash === hash) throw refuse('already known');
    if (nonce < next) throw refuse(`nonce too low: next nonce ${next}, tx nonce ${nonce}`);
    if (earlier !== undefined && maxFeeWei <= earlier.maxFeeWei) throw refuse('replacement transaction underpriced');
    if (tx.gas > gasLimit) throw refuse('exceeds block gas limit');
    const [have, want] = [balanceIn(state, sender), value + BigInt(tx.gas) * maxFeeWei];
    if (have < want)
      throw refuse(`insufficient funds for gas * price + value: address ${sender} have ${have} want ${want}`);
    pool.set(key, { ...tx, maxFeeWei, tipWei: maxPriorityFeePerGas ?? maxFeeWei });
    return /** @type {string} */ (hash);
  };

  /** @param {any} tx */
  const shown = ({
    hash,
    from,
    to = DEPOSITOR,
    nonce,
    value = 0n,
    input = '0x',
    gas = 0,
    maxFeeWei = 0n,
    tipWei = 0n,
  }) => ({
    ...{ hash, from, to, nonce: hex(nonce), value: hex(value), input, gas: hex(gas), type: '0x2' },
    ...{ maxFeePerGas: hex(maxFeeWei), maxPriorityFeePerGas: hex(tipWei), gasPrice: hex(maxFeeWei) },
    ...(mined.has(hash) && { blockNumber: hex(mined.get(hash)), blockHash: hash32(mined.get(hash)) }),
  });

  /** @type {Record<string, (...params: any[]) => any>} */
  const answers = {
    eth_chainId: () => CHAIN_ID,
    web3_clientVersion: () => 'Memory/v1',
    eth_syncing: () => false,
    eth_blockNumber: () => hex(blocks.length - 1),
    eth_getBlockByNumber: (at, isWhole) => {
      const block = blocks[at === 'latest' || at === 'pending' ? blocks.length - 1 : Number(at)];
      if (block === undefined) return null;
      return { ...block, transactions: block.transactions.map(isWhole ? shown : (/** @type {any} */ tx) => tx.hash) };
    },
    eth_getTransactionCount: (address, at) => {
      let next = states[numberAt(at)].nonces.get(address.toLowerCase()) ?? 0;
      if (at === 'pending') while (pool.has(`${address.toLowerCase()}:${next}`)) next += 1;
      return hex(next);
    },
    eth_getBalance: (address, at) => hex(balanceIn(states[numberAt(at)], address.toLowerCase())),
    eth_call: ({ to, data }, at) => {
      const count = states[numberAt(at)].counts.get(to.toLowerCase());
      return count === undefined || !data.startsWith(COUNT) ? '0x' : `0x${count.toString(16).padStart(64, '0')}`;
    },
    eth_getCode: (to) => (last().counts.has(to.toLowerCase()) ? '0x60' : '0x'),
    eth_estimateGas: ({ to }) => hex(gasOf(to?.toLowerCase() ?? null, last())),
    eth_gasPrice: () => hex(baseFee() + 1n),
    eth_maxPriorityFeePerGas: () => '0x1',
    eth_sendRawTransaction: receive,
    eth_sendRawTransactionSync: async (raw) => {
      const hash = receive(raw);
      while (!receipts.has(hash)) await new Promise((resolve) => waiting.push(() => resolve(undefined)));
      return receipts.get(hash);
    },
    eth_getTransactionReceipt: (hash) => receipts.get(hash) ?? null,
    eth_getBlockReceipts: (at) =>
      blocks[numberAt(at)].transactions.map((/** @type {any} */ tx) => receipts.get(tx.hash)) ?? null,
    eth_getTransactionByHash: (hash) => {
      const number = mined.get(hash);
      const there = number === undefined ? [...pool.values()] : blocks[number].transactions;
      const found = there.find((/** @type {any} */ tx) => tx.hash === hash);
      return found === undefined ? null : shown(found);
    },
  };

  for (let number = 0; number <= HEAD; number += 1)
    put(number, [], 0, { nonces: new Map(), balances: new Map(), counts: new Map() });
  let cancel = () => {};
  const next = () => {
    mine();
    cancel = clock.after(next, blockMs);
  };
  cancel = clock.after(next, blockMs);
  return {
    /** @type {Ask} */
    ask: async (method, params) => {
      if (answers[method] === undefined) throw refuse(`the method ${method} does not exist/is not available`, -32601);
      return answers[method](...params);
    },
    stop: () => cancel(),
    /** How often contracts were called, and payments made, by their receipts. */
    executed: () => [...receipts.values()].filter(({ to, from }) => to !== null && from !== DEPOSITOR).length,
  };
}
