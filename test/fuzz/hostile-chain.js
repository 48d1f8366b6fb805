/**
 * A chain with a block a second and empty wallets that have plenty, behind the interface of a transport: honest, but for
 * what a test makes of its answers.
 */
import { Transaction, getCreateAddress } from 'ethers';
import { toHex } from '../../src/chain/answers.js';

/**
 * @import { Transport } from '../../src/contracts/chain.d.ts'
 * @import { Clock } from '../../src/contracts/common.d.ts'
 */

const HEAD = 100;
const WORD = `0x${'0'.repeat(64)}`;

/** @param {number} number */
const hashOf = (number) => `0xb${number.toString(16).padStart(63, '0')}`;

/** @param {number} number @param {string[]} [transactions] */
export function honestBlock(number, transactions = []) {
  return {
    number: toHex(number),
    hash: hashOf(number),
    parentHash: hashOf(number - 1),
    transactions,
    timestamp: toHex(1_700_000_000 + number),
    gasUsed: '0x0',
    gasLimit: '0x1c9c380',
    baseFeePerGas: '0x7',
  };
}

/** Answers of one chain: what was sent to it is in its next block. @returns {(method: string, params: any[]) => unknown} */
export function honestChain() {
  /** @type {Map<string, object>} */
  const receipts = new Map();
  /** @type {Record<string, (...params: any[]) => unknown>} */
  const answers = {
    eth_chainId: () => '0x7a69',
    web3_clientVersion: () => 'Honest/v1.0.0',
    eth_blockNumber: () => toHex(HEAD),
    eth_getBlockByNumber: (number) => honestBlock(number === 'latest' ? HEAD : Number(number)),
    eth_getBalance: () => toHex(10n ** 24n),
    eth_getTransactionCount: () => '0x0',
    eth_gasPrice: () => '0x3b9aca00',
    eth_maxPriorityFeePerGas: () => '0x1',
    eth_getCode: () => '0x',
    eth_estimateGas: () => '0x5208',
    eth_call: () => WORD,
    eth_sendRawTransaction: (raw) => {
      const { hash, from, nonce } = Transaction.from(raw);
      receipts.set(/** @type {string} */ (hash), {
        transactionHash: hash,
        status: '0x1',
        blockNumber: toHex(HEAD),
        blockHash: hashOf(HEAD),
        contractAddress: getCreateAddress({ from: /** @type {string} */ (from), nonce }),
      });
      return hash;
    },
    eth_getTransactionReceipt: (hash) => receipts.get(hash) ?? null,
  };
  return (method, params) => answers[method]?.(...params) ?? null;
}

/**
 * @param {(method: string, params: any[]) => object} answer with a result or an error
 * @param {(text: string, request: any) => string} [spoil] what becomes of a whole body
 * @returns {{post: Transport['post'], posts: () => number}}
 */
export function transportTo(answer, spoil = (text) => text) {
  let posts = 0;
  return {
    posts: () => posts,
    post: async (body, onSent) => {
      posts += 1;
      // As a socket does: what else is ready has its turn.
      await new Promise((resolve) => setImmediate(resolve));
      onSent?.();
      const asked = JSON.parse(body);
      const answers = [asked]
        .flat()
        .map(({ id, method, params }) => ({ jsonrpc: '2.0', id, ...answer(method, params) }));
      const text = spoil(JSON.stringify(Array.isArray(asked) ? answers : answers[0]), asked);
      return { status: 200, text, retryAfterMs: null };
    },
  };
}

/** A clock whose sleeps end at once and advance its time. @returns {Clock} */
export function rushingClock() {
  let nowUs = 1_000_000;
  return {
    nowUs: () => (nowUs += 1),
    wallMs: () => nowUs / 1000,
    sleep: (ms) =>
      new Promise((resolve) => {
        nowUs += ms * 1000;
        setImmediate(resolve);
      }),
    after: (callback, ms) => {
      const timer = setImmediate(() => {
        nowUs += ms * 1000;
        callback();
      });
      return () => clearImmediate(timer);
    },
  };
}
