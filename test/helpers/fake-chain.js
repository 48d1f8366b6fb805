/**
 * A chain behind the Rpc interface that makes its blocks by hand or by the fake clock, as much of one as a detector
 * of inclusion needs.
 */
import { toHex } from '../../src/chain/answers.js';
import { fakeRpc } from './fake-rpc.js';
import { hash32 } from './samples.js';

/**
 * @import { Clock } from '../../src/contracts/common.d.ts'
 * @import { Handlers } from './fake-rpc.js'
 */

/** @param {number} number @param {number} [fork] how often blocks had been replaced when it was made */
export const blockHash = (number, fork = 0) => `0xb${fork.toString(16)}${number.toString(16).padStart(62, '0')}`;

/**
 * @param {object} options
 * @param {Clock} options.clock
 * @param {number} [options.head] its latest block at the start
 * @param {number} [options.latencyMs] time that each call takes
 */
export function createFakeChain({ clock, head = 100, latencyMs = 0 }) {
  /** @type {Map<number, any>} */
  const blocks = new Map();
  /** @type {Map<string, number>} */
  const minedIn = new Map();
  /** Names of transactions that wait for the next block. @type {string[]} */
  let pool = [];
  let latest = head;
  let forks = 0;
  /** What each call runs into before it is answered. @type {(method: string, params: any[]) => void} */
  let fault = () => {};

  /** @param {number} number @param {string[]} names of transactions, whose hashes are hash32() of them @param {Record<string, unknown>} [members] */
  const put = (number, names, members = {}) => {
    const transactions = names.map(hash32);
    for (const hash of transactions) minedIn.set(hash, number);
    const hash = blockHash(number, forks);
    const parentHash = blocks.get(number - 1)?.hash ?? blockHash(number - 1);
    blocks.set(number, {
      number: toHex(number),
      hash,
      parentHash,
      timestamp: toHex(1_700_000_000 + number),
      transactions,
      gasUsed: toHex(26_000 * transactions.length),
      gasLimit: '0x1c9c380',
      baseFeePerGas: toHex(7 + number),
      ...members,
    });
  };

  /** @type {Handlers} */
  const answers = {
    eth_blockNumber: () => toHex(latest),
    eth_getBlockByNumber: (number) => blocks.get(Number(number)) ?? null,
    eth_getTransactionReceipt: (hash) => {
      const number = minedIn.get(hash);
      if (number === undefined || number > latest) return null;
      return { transactionHash: hash, blockNumber: toHex(number), blockHash: blocks.get(number)?.hash, status: '0x1' };
    },
  };
  const rpc = fakeRpc(
    Object.fromEntries(
      Object.entries(answers).map(([method, answer]) => [
        method,
        async (/** @type {any[]} */ ...params) => {
          if (latencyMs > 0) await clock.sleep(latencyMs);
          fault(method, params);
          return answer(...params);
        },
      ]),
    ),
  );

  /** @param {string[]} [transactions] @param {Record<string, unknown>} [members] */
  const mine = (transactions = [], members) => {
    put(latest + 1, [...pool, ...transactions], members);
    pool = [];
    latest += 1;
  };

  /** Blocks leave the chain, and others come in their place. @param {number} depth @param {string[][]} replacements transactions of each of them */
  const reorg = (depth, replacements) => {
    for (let number = latest - depth + 1; number <= latest; number += 1) blocks.delete(number);
    latest -= depth;
    for (const [hash, number] of minedIn) if (number > latest) minedIn.delete(hash);
    forks += 1;
    for (const transactions of replacements) mine(transactions);
  };

  /** Another chain is served from now on, with other blocks from its first on. @param {number} number of its latest block */
  const restart = (number) => {
    blocks.clear();
    minedIn.clear();
    forks += 1;
    for (latest = 0; latest <= number; latest += 1) put(latest, []);
    latest = number;
  };

  put(0, []);
  put(head, []);
  return {
    rpc,
    mine,
    reorg,
    restart,
    head: () => latest,
    /** @param {string} name */
    send: (name) => void pool.push(name),
    /** Announces a block that is not served, until it is put. */
    announce: () => (latest += 1),
    put,
    /** @param {typeof fault} newFault */
    fail: (newFault) => (fault = newFault),
    /** A block every so often, from now on. @param {number} blockMs @returns {() => void} ends it */
    mineEvery: (blockMs) => {
      const next = () => {
        mine();
        cancel = clock.after(next, blockMs);
      };
      let cancel = clock.after(next, blockMs);
      return () => cancel();
    },
  };
}
