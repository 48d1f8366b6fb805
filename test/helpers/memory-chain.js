/**
 * A whole chain in memory, which makes a block each blockMs of a clock: Counters, payments, balances and receipts, with the
 * answers and the words of geth. Under it a run is real from its set-up to its audit, and takes no time. It halts, forgets
 * transactions and replaces blocks when it is told to; a node may see it late.
 */
import { AbiCoder, Transaction, getCreateAddress, keccak256 } from 'ethers';
import { recover } from 'tiny-secp256k1';
import { readArtifact } from '../../src/workloads/contract-state.js';

/**
 * @import { Clock } from '../../src/contracts/common.d.ts'
 *
 * @typedef {(method: string, params: any[]) => Promise<any>} Ask resolves with the result, rejects with the error answer
 * @typedef {{nonces: Map<string, number>, balances: Map<string, bigint>, counts: Map<string, number>, codes: Map<string, string>}} State
 *
 * @typedef {object} MemoryChainOptions
 * @property {Clock} clock
 * @property {number} [blockMs]
 * @property {number} [gasLimit] of a block
 * @property {readonly [fromMs: number, toMs: number]} [halt] it makes no block meanwhile
 * @property {boolean} [packsByLimit] the gas limits of the transactions of a block are at most that of the block
 * @property {bigint} [l1FeeWei] that each transaction pays beside its gas
 * @property {boolean} [hasDeposits] each block begins with a transaction of others
 * @property {(blocks: number) => bigint} [baseFeeAfter] in wei, by the blocks since the start
 * @property {string} [rich] the only address that has anything; without it all have
 * @property {bigint} [richWei] what it has, and without it all
 * @property {boolean} [hasBaseFee] default: true
 * @property {(blocks: number) => bigint} [floorAfter] lowest tip that the pool takes, in wei, by the blocks since the start
 * @property {(blocks: number) => bigint} [takenAfter] lowest tip that a block takes
 * @property {bigint} [tipWei] that it suggests; default: 1
 * @property {number} [poolLimit] transactions in the pool above which it refuses others
 * @property {boolean} [isPricedPool] above the limit it refuses what offers no more than all that it has ("transaction underpriced"), and drops the cheapest one for what does, as geth does
 * @property {number} [silentPoolLimit] transactions in the pool above which it forgets the one with the most nonces before it, without a word, as geth does
 * @property {(calls: number) => boolean} [reverts] a call of a contract, by the calls before it
 * @property {boolean} [deniesForgotten] it has no transaction that it forgot, and says "already known" when it is sent again, as Erigon 3.1 does
 * @property {number} [senderLimit] transactions of one sender in the pool, above which it refuses others
 *
 * @typedef {object} Submission
 * @property {number} atUs
 * @property {string} hash
 * @property {string} from
 * @property {number} nonce
 * @property {string | null} to null: a contract is created
 * @property {bigint} maxFeeWei
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
/** @param {number} value @param {string} [kind] @param {number} [fork] */
export const hash32 = (value, kind = 'b', fork = 0) =>
  `0x${kind}${fork.toString(16).padStart(7, '0')}${value.toString(16).padStart(56, '0')}`;
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

/** The code that a constructor returns: the bytes behind it, where it is one of --workload deploy. @param {string} input */
function codeIn(input) {
  const [all = '', size = ''] = /^0x61(....)80600c6000396000f3/.exec(input) ?? [];
  return size === '' ? '0x60' : `0x${input.slice(all.length, all.length + 2 * Number.parseInt(size, 16))}`;
}

/** @param {MemoryChainOptions} options */
export function createMemoryChain({ clock, blockMs = 1000, gasLimit = 30_000_000, ...options }) {
  const { packsByLimit = false, l1FeeWei = 0n, hasDeposits = false, hasBaseFee = true, poolLimit = Infinity } = options;
  const { baseFeeAfter = () => BASE_FEE_WEI, floorAfter = () => 0n, takenAfter = () => 0n, tipWei = 1n } = options;
  const { silentPoolLimit = Infinity, senderLimit = Infinity, reverts = () => false, richWei = RICH_WEI } = options;
  const { deniesForgotten = false, isPricedPool = false } = options;
  const [haltFromMs, haltToMs] = options.halt ?? [Infinity, Infinity];
  /** Hashes of transactions that it denies. @type {Set<string>} */
  const denied = new Set();
  /** The chain after each change, the last one last; arrays are by number and never change. @type {Array<{atUs: number, blocks: any[], states: State[]}>} */
  const history = [];
  /** By sender and nonce. @type {Map<string, any>} */
  const pool = new Map();
  /** @type {Submission[]} */
  const submissions = [];
  /** @type {Array<() => void>} */
  const waiting = [];
  /** Hashes of another program's transactions. @type {Set<string>} */
  const foreign = new Set();
  let forks = 0;
  let calls = 0;
  let isHalted = false;

  /** @param {number} [lagMs] @returns {{blocks: any[], states: State[]}} */
  const view = (lagMs = 0) => {
    const untilUs = clock.nowUs() - lagMs * 1000;
    for (let i = history.length - 1; i > 0; i -= 1) if (history[i].atUs <= untilUs) return history[i];
    return history[0];
  };
  const now = () => history[history.length - 1];

  /** @param {State} state @param {string} address */
  const balanceIn = ({ balances }, address) =>
    balances.get(address) ?? ([undefined, address].includes(options.rich) ? richWei : 0n);
  const baseFee = () => (hasBaseFee ? baseFeeAfter(now().blocks.length - HEAD) : 0n);
  /** @param {string | null} to @param {State} state */
  const gasOf = (to, { counts }) => {
    if (to === null) return GAS.deploy;
    const count = counts.get(to);
    return count === undefined ? GAS.pay : count === 0 ? GAS.first : GAS.call;
  };
  const last = () => now().states[now().states.length - 1];
  const priceOf = (/** @type {any} */ { maxFeeWei, tipWei }) =>
    maxFeeWei < baseFee() + tipWei ? maxFeeWei : baseFee() + tipWei;

  /** @param {any} tx @param {State} state @returns {{gasUsed: number, receipt: object}} */
  const execute = (tx, state) => {
    const { from, to, value, nonce } = tx;
    const target = to ?? getCreateAddress({ from, nonce }).toLowerCase();
    const isCall = to !== null && state.counts.has(target);
    const payments = paymentsIn(tx);
    const gasUsed = gasOf(to, state);
    const isReverted = isCall && reverts(calls);
    if (isCall) calls += 1;
    state.nonces.set(from, nonce + 1);
    state.balances.set(from, balanceIn(state, from) - value - BigInt(gasUsed) * priceOf(tx) - l1FeeWei);
    const paid = payments.length > 0 ? payments : [[target, value]];
    for (const [receiver, wei] of paid) state.balances.set(receiver, balanceIn(state, receiver) + wei);
    if (to === null) state.counts.set(target, 0);
    if (to === null) state.codes.set(target, codeIn(tx.input));
    if (isCall && !isReverted) state.counts.set(target, Number(state.counts.get(target)) + 1);
    const receipt = {
      from,
      to,
      contractAddress: to === null ? target : null,
      gasUsed: hex(gasUsed),
      ...(isReverted && { status: '0x0' }),
      effectiveGasPrice: hex(priceOf(tx)),
      ...(l1FeeWei > 0n && { l1Fee: hex(l1FeeWei) }),
    };
    return { gasUsed, receipt };
  };

  const mine = () => {
    const { blocks } = now();
    const number = blocks.length;
    const { nonces, balances, counts, codes } = last();
    const state = {
      ...{ nonces: new Map(nonces), balances: new Map(balances), counts: new Map(counts), codes: new Map(codes) },
    };
    /** @type {any[]} */
    const transactions = [];
    /** @type {Map<string, any>} */
    const receipts = new Map();
    let [used, room] = [0, gasLimit];
    /** @param {any} tx @param {object} members */
    const add = (tx, members) => {
      const place = { blockNumber: hex(number), transactionIndex: hex(transactions.length) };
      receipts.set(tx.hash, { transactionHash: tx.hash, ...place, status: '0x1', type: '0x2', logs: [], ...members });
      transactions.push(tx);
    };
    if (hasDeposits) {
      used += GAS.deposit;
      add(
        { hash: hash32(number, 'd'), from: DEPOSITOR, nonce: number },
        { from: DEPOSITOR, to: DEPOSITOR, gasUsed: hex(GAS.deposit) },
      );
    }
    for (const tx of [...pool.values()].sort((a, b) => a.nonce - b.nonce)) {
      if (tx.nonce !== (state.nonces.get(tx.from) ?? 0) || tx.maxFeeWei < baseFee()) continue;
      if (balanceIn(state, tx.from) < tx.value + BigInt(tx.gas) * tx.maxFeeWei) continue;
      if (tx.gas > room || tx.tipWei < takenAfter(number - HEAD)) continue;
      const { gasUsed, receipt } = execute(tx, state);
      room -= packsByLimit ? tx.gas : gasUsed;
      used += gasUsed;
      pool.delete(`${tx.from}:${tx.nonce}`);
      add(tx, receipt);
    }
    put(number, { transactions, receipts, used, state });
    for (const resolve of waiting.splice(0)) resolve();
  };

  /** @param {number} number @param {{transactions: any[], receipts: Map<string, any>, used: number, state: State}} made */
  const put = (number, { transactions, receipts, used, state }) => {
    const { blocks, states } = now();
    const hash = hash32(number, 'b', forks);
    for (const receipt of receipts.values()) receipt.blockHash = hash;
    const isOld = transactions.length === 0 && number <= HEAD;
    const block = {
      number: hex(number),
      hash,
      parentHash: blocks[number - 1]?.hash ?? hash32(0),
      timestamp: hex(Math.floor((clock.wallMs() - (isOld ? (HEAD - number) * blockMs : 0)) / 1000)),
      gasUsed: hex(used),
      gasLimit: hex(gasLimit),
      ...(hasBaseFee && { baseFeePerGas: hex(baseFee()) }),
      miner: DEPOSITOR,
      transactions,
      receipts,
    };
    history.push({ atUs: clock.nowUs(), blocks: [...blocks, block], states: [...states, state] });
    // What no node of this chain lags behind.
    if (history.length > 64) history.splice(1, history.length - 64);
  };

  /** @param {any} at a tag, a number or an EIP-1898 object @param {{blocks: any[], states: State[]}} seen @returns {number} */
  const numberAt = (at, { blocks }) => {
    const newest = blocks.length - 1;
    const tags = /** @type {Record<string, number>} */ ({
      latest: newest,
      pending: newest,
      safe: newest - 3,
      finalized: newest - 6,
      earliest: 0,
    });
    const number =
      typeof at === 'object' && at !== null
        ? blocks.findIndex(({ hash }) => hash === at.blockHash)
        : (tags[at ?? 'latest'] ?? Number(at));
    if (blocks[number] === undefined) throw refuse('header not found');
    return number;
  };

  /** @param {string} hash @param {any[]} blocks @returns {any} the block that has it */
  const blockOf = (hash, blocks) => {
    for (let i = blocks.length - 1; i > HEAD; i -= 1) if (blocks[i].receipts.has(hash)) return blocks[i];
    return null;
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
    submissions.push({ atUs: clock.nowUs(), hash: String(hash), from: sender, nonce, to: tx.to, maxFeeWei });
    if (!hasBaseFee && maxFeePerGas !== null) throw refuse('transaction type not supported');
    const ownTipWei = maxPriorityFeePerGas ?? maxFeeWei;
    const floorWei = floorAfter(now().blocks.length - HEAD);
    if (ownTipWei < floorWei)
      throw refuse(`transaction gas price below minimum: gas tip cap ${ownTipWei}, minimum needed ${floorWei}`);
    if (earlier?.hash === hash || denied.has(String(hash))) throw refuse('already known');
    if (nonce < next) throw refuse(`nonce too low: next nonce ${next}, tx nonce ${nonce}`);
    if (earlier !== undefined && maxFeeWei <= earlier.maxFeeWei) throw refuse('replacement transaction underpriced');
    if (tx.gas > gasLimit) throw refuse('exceeds block gas limit');
    const [have, want] = [balanceIn(state, sender), value + BigInt(tx.gas) * maxFeeWei];
    if (have < want)
      throw refuse(`insufficient funds for gas * price + value: address ${sender} have ${have} want ${want}`);
    if (earlier === undefined && pool.size >= poolLimit) {
      if (!isPricedPool) throw refuse('txpool is full');
      const [[cheapest, { maxFeeWei: leastWei }]] = [...pool].sort(([, a], [, b]) => Number(a.maxFeeWei - b.maxFeeWei));
      if (maxFeeWei <= leastWei) throw refuse('transaction underpriced');
      pool.delete(cheapest);
    }
    const ofSender = [...pool.values()].filter(({ from }) => from === sender).length;
    // As reth, which takes the next one always.
    if (earlier === undefined && ofSender >= senderLimit && nonce > next)
      throw refuse('maximum number of transactions per sender reached');
    pool.set(key, { ...tx, maxFeeWei, tipWei: ownTipWei });
    if (pool.size > silentPoolLimit) {
      const ahead = (/** @type {any} */ one) => one.nonce - (state.nonces.get(one.from) ?? 0);
      const [[evicted]] = [...pool].sort(([, a], [, b]) => ahead(b) - ahead(a));
      pool.delete(evicted);
    }
    return /** @type {string} */ (hash);
  };

  /** @param {any} tx @param {any} [block] */
  const shown = ({ hash, from, to = DEPOSITOR, nonce, ...tx }, block) => ({
    ...{
      hash,
      from,
      to,
      nonce: hex(nonce),
      value: hex(tx.value ?? 0n),
      input: tx.input ?? '0x',
      gas: hex(tx.gas ?? 0),
    },
    ...{ type: '0x2', maxFeePerGas: hex(tx.maxFeeWei ?? 0n), maxPriorityFeePerGas: hex(tx.tipWei ?? 0n) },
    ...{ gasPrice: hex(tx.maxFeeWei ?? 0n), ...(block && { blockNumber: block.number, blockHash: block.hash }) },
  });

  /** Those whose turn it is, and those behind them. */
  const poolSize = () => {
    const { nonces } = last();
    let pending = 0;
    for (const { from, nonce } of pool.values()) if (nonce === (nonces.get(from) ?? 0)) pending += 1;
    return { pending: hex(pending), queued: hex(pool.size - pending) };
  };

  /** @param {number} lagMs @returns {Record<string, (...params: any[]) => any>} */
  const answersAfter = (lagMs) => {
    const seen = () => view(lagMs);
    const stateAt = (/** @type {any} */ at) => seen().states[numberAt(at, seen())];
    /** @param {any} block @param {boolean} isWhole @param {boolean} [isPending] */
    const blockAnswer = (block, isWhole, isPending = false) => {
      if (block === undefined) return null;
      const rest = { ...block };
      delete rest.receipts;
      const listed = isPending ? [...pool.values()] : block.transactions;
      const transactions = listed.map((/** @type {any} */ tx) =>
        isWhole ? shown(tx, isPending ? null : block) : tx.hash,
      );
      return { ...rest, ...(isPending && { number: hex(seen().blocks.length), hash: null }), transactions };
    };
    return {
      eth_chainId: () => CHAIN_ID,
      web3_clientVersion: () => 'Memory/v1',
      eth_syncing: () => false,
      eth_blockNumber: () => hex(seen().blocks.length - 1),
      eth_getBlockByNumber: (at, isWhole) => {
        const { blocks } = seen();
        return blockAnswer(
          /^0x/.test(at) ? blocks[Number(at)] : blocks[numberAt(at, seen())],
          isWhole,
          at === 'pending',
        );
      },
      eth_getBlockByHash: (hash, isWhole) =>
        blockAnswer(
          seen().blocks.find((one) => one.hash === hash),
          isWhole,
        ),
      eth_getTransactionByBlockHashAndIndex: (hash, index) => {
        const block = seen().blocks.find((one) => one.hash === hash);
        const tx = block?.transactions[Number(index)];
        return tx === undefined ? null : { ...shown(tx, block), transactionIndex: hex(Number(index)) };
      },
      eth_getTransactionCount: (address, at) => {
        let next = stateAt(at).nonces.get(address.toLowerCase()) ?? 0;
        if (at === 'pending') while (pool.has(`${address.toLowerCase()}:${next}`)) next += 1;
        return hex(next);
      },
      eth_getBalance: (address, at) => hex(balanceIn(stateAt(at), address.toLowerCase())),
      eth_call: ({ to, data }, at) => {
        const count = stateAt(at).counts.get(to.toLowerCase());
        return count === undefined || !data.startsWith(COUNT) ? '0x' : `0x${count.toString(16).padStart(64, '0')}`;
      },
      eth_getCode: (to, at) => stateAt(at ?? 'latest').codes.get(to.toLowerCase()) ?? '0x',
      eth_estimateGas: ({ to }) => hex(gasOf(to?.toLowerCase() ?? null, last())),
      eth_gasPrice: () => hex(baseFee() + tipWei),
      eth_maxPriorityFeePerGas: () => hex(tipWei),
      txpool_status: () => poolSize(),
      eth_getLogs: ({ blockHash = null }) => {
        if (blockHash !== null) numberAt({ blockHash }, seen());
        return [];
      },
      eth_subscribe: () => '0x1',
      eth_unsubscribe: () => true,
      eth_sendRawTransaction: receive,
      eth_sendRawTransactionSync: async (raw) => {
        const hash = receive(raw);
        while (blockOf(hash, seen().blocks) === null)
          await new Promise((resolve) => waiting.push(() => resolve(undefined)));
        return blockOf(hash, seen().blocks).receipts.get(hash);
      },
      eth_getTransactionReceipt: (hash) => blockOf(hash, seen().blocks)?.receipts.get(hash) ?? null,
      eth_getBlockReceipts: (at) => {
        const block = seen().blocks[numberAt(at, seen())];
        return block.transactions.map((/** @type {any} */ tx) => block.receipts.get(tx.hash));
      },
      eth_getTransactionByHash: (hash) => {
        const block = blockOf(hash, seen().blocks);
        const there = block === null ? [...pool.values()] : block.transactions;
        const found = there.find((/** @type {any} */ tx) => tx.hash === hash);
        return found === undefined ? null : shown(found, block);
      },
    };
  };

  /** The answers of a node that sees the chain late. @param {number} [lagMs] @returns {Ask} */
  const askAfter = (lagMs = 0) => {
    const answers = answersAfter(lagMs);
    return async (method, params) => {
      if (answers[method] === undefined) throw refuse(`the method ${method} does not exist/is not available`, -32601);
      return answers[method](...params);
    };
  };

  /**
   * Removes the newest blocks; others take their place.
   * @param {number} depth
   * @param {boolean} isKept what was in them is in the pool again
   */
  const reorg = (depth, isKept) => {
    const { blocks, states } = now();
    const from = Math.max(HEAD + 1, blocks.length - depth);
    if (from >= blocks.length) return;
    forks += 1;
    const removed = blocks.slice(from);
    history.push({ atUs: clock.nowUs(), blocks: blocks.slice(0, from), states: states.slice(0, from) });
    for (const { transactions } of removed)
      for (const tx of transactions) if (isKept && tx.from !== DEPOSITOR) pool.set(`${tx.from}:${tx.nonce}`, tx);
    for (let i = 0; i < removed.length; i += 1) mine();
  };

  history.push({ atUs: 0, blocks: [], states: [] });
  for (let number = 0; number <= HEAD; number += 1) {
    const state = { nonces: new Map(), balances: new Map(), counts: new Map(), codes: new Map() };
    put(number, { transactions: [], receipts: new Map(), used: 0, state });
  }
  // Only the last of them is a chain that a node has had.
  history.splice(0, history.length - 1);
  let cancel = () => {};
  const next = () => {
    const nowMs = clock.nowUs() / 1000;
    if (!isHalted && !(nowMs >= haltFromMs && nowMs < haltToMs)) mine();
    cancel = clock.after(next, blockMs);
  };
  cancel = clock.after(next, blockMs);
  /** What all blocks have. @param {(receipt: any, block: any) => boolean} [isCounted] @returns {any[]} receipts */
  const receiptsOf = (isCounted = () => true) =>
    now().blocks.flatMap((block) => [...block.receipts.values()].filter((receipt) => isCounted(receipt, block)));
  return {
    ask: askAfter(),
    askAfter,
    stop: () => cancel(),
    reorg,
    submissions,
    foreign,
    receiptsOf,
    /** The newest block and the state after it. */
    head: () => ({ block: now().blocks[now().blocks.length - 1], state: last() }),
    /** @param {number} number */
    blockAt: (number) => ({ block: now().blocks[number], state: now().states[number] }),
    /** @param {State} state @param {string} address */
    balanceIn,
    /** Whether it makes no blocks. @param {boolean} halts */
    halt: (halts) => void (isHalted = halts),
    /** Transactions in the pool are gone. @param {(tx: {from: string, nonce: number}, i: number) => boolean} isForgotten */
    forget: (isForgotten) => {
      for (const [i, [key, tx]] of [...pool.entries()].entries()) {
        if (!isForgotten(tx, i)) continue;
        pool.delete(key);
        if (deniesForgotten) denied.add(tx.hash);
      }
    },
    /** A transaction of another program that has the key: the next one of this address. @param {string} from */
    takeNonce: (from) => {
      const nonce = last().nonces.get(from) ?? 0;
      const [hash, to] = [hash32(nonce, 'c'), DEPOSITOR];
      foreign.add(hash);
      pool.set(`${from}:${nonce}`, {
        ...{ hash, from, to, nonce, value: 0n, input: '0x', gas: GAS.pay, maxFeeWei: 10n ** 9n, tipWei: 10n ** 9n },
      });
    },
    poolSize: () => pool.size,
    /** Whether the pool or a block has it. @param {string} hash */
    has: (hash) => [...pool.values()].some((tx) => tx.hash === hash) || blockOf(hash, now().blocks) !== null,
    /** How often contracts were called, and payments made, by their receipts. */
    executed: () => receiptsOf(({ to, from }) => to !== null && from !== DEPOSITOR).length,
  };
}
