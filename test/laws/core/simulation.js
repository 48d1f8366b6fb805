/**
 * A chain of Counters in memory, which the test mines and whose faults it chooses, under everything of a run that
 * decides: the engine, through its contract, and the audit are the real ones.
 */
import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { Wallet } from '../../../src/chain/keys.js';
import { toHex } from '../../../src/chain/answers.js';
import { audit } from '../../../src/core/audit.js';
import { ThreadEngine } from '../../../src/core/engine.js';
import { Account } from '../../../src/core/nonces.js';
import { RpcError, TransportError } from '../../../src/errors.js';
import { Stats } from '../../../src/stats/stats.js';
import createCounter from '../../../src/workloads/counter.js';
import { WorkloadHost } from '../../../src/workloads/kit.js';
import { createFakeClock } from '../../helpers/clock.js';
import { IDLE_MACHINE } from '../../simulation/platform.js';
import { fakeRpc } from '../../helpers/fake-rpc.js';
import { addressOf, hash32 } from '../../helpers/samples.js';

/**
 * @import { Fees, InclusionDetector, Submit, Watcher } from '../../../src/contracts/chain.d.ts'
 * @import { EngineReport, Sample, TransactionWorkload } from '../../../src/contracts/load.d.ts'
 * @import { EngineConfig, EngineOptions } from '../../../src/core/engine.js'
 * @import { Ledger } from '../../../src/core/ledger.js'
 */

/**
 * @typedef {object} Transaction
 * @property {string} hash
 * @property {string} from
 * @property {number} nonce
 * @property {number} price
 * @property {boolean} isReverted
 * @property {number | null} blockNumber
 *
 * @typedef {'pass' | 'revert' | 'refuse' | 'garble' | 'lose' | 'drop' | 'hide' | 'delay'} Fault what happens to a submission: revert: it will have no
 *   effect; refuse: the node does not take it; garble: it arrives, and the answer is another hash; lose: it never arrives, and there is no answer; drop: it is
 *   accepted, and then forgotten; hide: it arrives, and there is no answer; delay: there is
 *   none, and it arrives after a while
 *
 * @typedef {object} SimulationOptions
 * @property {number} [wallets]
 * @property {number} [inFlight]
 * @property {number} [replaceShare] from 0 to 1
 * @property {string} [sendMethod]
 * @property {number} [txTimeoutMs]
 * @property {number} [blockMs] between two blocks, as the detector says
 * @property {Partial<Fees>} [fees] default: they never change
 * @property {bigint | null} [capWei] limit of fees; default: none
 * @property {number | null} [iterations] default: no limit
 * @property {bigint | null} [refillBelowWei] default: wallets are not paid during the load
 * @property {Record<string, unknown>} [observers] plans by name; default: none
 * @property {Submit} [submit] in place of eth_sendRawTransaction
 * @property {(wallet: number, nonce: number) => Fault | Error} [fault] of each submission; an error is what the node answers
 * @property {(count: number) => boolean} [isBehind] whether the node says that it does not have a block yet, by how
 *   often it was asked to read
 */

const START_BLOCK = 100;
/** Gas that a transaction uses of its limit of 50,000. */
const GAS_USED = 30_000;
/** Duration of a late submission. */
const DELAY_MS = 700;

/** @param {SimulationOptions} [options] */
export function simulate({
  wallets = 1,
  inFlight = 3,
  replaceShare = 0,
  sendMethod = 'eth_sendRawTransaction',
  txTimeoutMs = 5000,
  blockMs = 600,
  fees = {},
  capWei = null,
  iterations = null,
  refillBelowWei = null,
  observers = {},
  submit,
  fault = () => 'pass',
  isBehind = () => false,
} = {}) {
  const clock = createFakeClock();
  let signatures = 0;
  const accounts = Array.from({ length: wallets }, (_, position) => {
    const wallet = Wallet.withoutKey(position);
    wallet.address = addressOf(1 + position);
    wallet.sign = ({ nonce, fee: { gasPriceWei = 1n } }) => {
      const hash = hash32((signatures += 1));
      return { raw: JSON.stringify({ hash, position, nonce, price: Number(gasPriceWei) }), hash };
    };
    return new Account(position, wallet);
  });
  const targetOf = (/** @type {number} */ position) => addressOf(0xc000 + position);

  /** The pool, by sender and nonce. @type {Map<string, Transaction>} */
  const pool = new Map();
  /** @type {Map<string, Transaction>} */
  const mined = new Map();
  /**
   * Blocks, with nonces and counts by position.
   * @type {Array<{nonces: number[], counts: number[], transactions: Transaction[]}>}
   */
  const blocks = [];
  blocks[START_BLOCK] = { nonces: accounts.map(() => 0), counts: accounts.map(() => 0), transactions: [] };
  /** Whether a transaction reverts, by hash. @type {Map<string, boolean>} */
  const reverting = new Map();
  let reads = 0;
  /** Block read by the detector. */
  let lastSeen = START_BLOCK;

  /** @param {string | {blockHash: string}} block */
  const blockOf = (block) => {
    if (typeof block === 'object') return blocks[Number(block.blockHash)];
    if (block === 'latest' || block === 'pending') return blocks[blocks.length - 1];
    return blocks[Number(block)];
  };
  const positionOf = (/** @type {string} */ address) => accounts.findIndex(({ wallet }) => wallet.address === address);

  /** @param {Transaction} transaction */
  const arrive = (transaction) => {
    const position = positionOf(transaction.from);
    const key = `${position}:${transaction.nonce}`;
    if (mined.has(transaction.hash) || pool.get(key)?.hash === transaction.hash)
      throw new RpcError('eth_sendRawTransaction', -32000, 'already known');
    if (transaction.nonce < blocks[blocks.length - 1].nonces[position])
      throw new RpcError('eth_sendRawTransaction', -32000, 'nonce too low');
    if (transaction.price <= (pool.get(key)?.price ?? 0))
      throw new RpcError('eth_sendRawTransaction', -32000, 'replacement transaction underpriced');
    pool.set(key, transaction);
  };

  /** What the node answers; a test may replace it. @type {Record<string, (...params: any[]) => any>} */
  const handlers = {
    eth_sendRawTransaction: (raw) => {
      const { hash, position, nonce, price } = JSON.parse(raw);
      const what = fault(position, nonce);
      if (what instanceof Error) throw what;
      const { address: from } = accounts[position].wallet;
      // The same bytes have the same result.
      if (!reverting.has(hash)) reverting.set(hash, what === 'revert');
      const transaction = { hash, from, nonce, price, isReverted: reverting.get(hash) === true, blockNumber: null };
      const lost = new TransportError('no answer', 'timeout');
      if (what === 'refuse') throw new RpcError('eth_sendRawTransaction', -32000, 'intrinsic gas too low');
      if (what === 'delay') {
        clock.after(() => {
          try {
            arrive(transaction);
          } catch {
            // Its nonce was used meanwhile: silently refused.
          }
        }, DELAY_MS);
      } else if (what !== 'lose' && what !== 'drop') arrive(transaction);
      if (what === 'lose' || what === 'hide' || what === 'delay') throw lost;
      return what === 'garble' ? `0x${'9'.repeat(64)}` : hash;
    },
    eth_call: ({ to }, block) => {
      reads += 1;
      const isExact = typeof block === 'string' && block !== 'latest';
      if (isExact && isBehind(reads)) throw new RpcError('eth_call', -32000, 'header not found');
      return toHex(blockOf(block).counts[accounts.findIndex((_, i) => targetOf(i) === to)]);
    },
    eth_getTransactionCount: (address, block) => {
      const position = positionOf(address);
      let nonce = blockOf(block).nonces[position];
      if (block === 'pending') while (pool.has(`${position}:${nonce}`)) nonce += 1;
      return toHex(nonce);
    },
    eth_getTransactionReceipt: (hash) => {
      const transaction = mined.get(hash);
      if (transaction === undefined) return null;
      const { isReverted, blockNumber } = transaction;
      const block = { blockNumber: toHex(blockNumber ?? 0), blockHash: hash32(blockNumber ?? 0) };
      return { status: isReverted ? '0x0' : '0x1', ...block, transactionHash: hash };
    },
    eth_getTransactionByHash: (hash) =>
      mined.get(hash) ?? [...pool.values()].find((each) => each.hash === hash) ?? null,
    eth_blockNumber: () => toHex(blocks.length - 1),
    eth_getBlockByNumber: (block) => {
      const number = block === 'latest' ? blocks.length - 1 : Number(block);
      const transactions = blocks[number].transactions.map((each) => ({ ...each, nonce: toHex(each.nonce) }));
      return { number: toHex(number), hash: hash32(number), transactions };
    },
  };
  const rpc = fakeRpc(handlers);

  /** @type {Map<string, Watcher>} */
  const watched = new Map();
  const kitState = { tag: '00', first: 0, starts: [accounts.map(() => 0n)], gasLimit: 50_000n };
  const host = new WorkloadHost(null, { rpc, state: { own: null, kit: kitState } });
  const options = /** @type {any} */ ({ kit: host.kit, rpc, settings: {}, state: accounts.map((_, i) => targetOf(i)) });
  const counter = /** @type {TransactionWorkload} */ (createCounter(options));
  const { next } = counter;
  const workload = { ...counter, next: (/** @type {[number, number]} */ ...given) => host.filled(next(...given)) };
  /** @type {Array<[string, string | undefined]>} */
  const stops = [];
  /** @type {Sample[]} */
  const samples = [];
  /** @type {Partial<Parameters<NonNullable<EngineOptions['createDetector']>>[0]>} */
  let detection = {};
  const engine = new ThreadEngine({
    config: /** @type {EngineConfig} */ ({
      network: { txTimeoutMs, sendMethod },
      load: { inFlight, iterations, thinkTimeMs: 0, replaceShare },
    }),
    schedule: null,
    clock,
    probes: IDLE_MACHINE,
    rpc,
    accounts,
    workload,
    chain: {
      signer: /** @type {any} */ (null),
      fees: /** @type {Fees} */ (
        /** @type {unknown} */ ({
          current: () => ({}),
          blobPriceWei: () => 0n,
          worstPriceWei: () => 0n,
          state: () => ({ baseFeeWei: null }),
          holds: () => true,
          replacementFee: () => null,
          isTooLow: () => false,
          observe: () => {},
          ...fees,
        })
      ),
      chainId: 1,
      startBlock: START_BLOCK,
      firstWallet: 0,
      startHash: hash32(START_BLOCK),
      inclusion: '',
      capWei,
      refillBelowWei,
      confirmations: 0,
    },
    observers,
    createDetector: (options) => {
      detection = options;
      return /** @type {InclusionDetector} */ (
        /** @type {unknown} */ ({
          watch: (/** @type {string} */ hash, /** @type {any} */ watcher) => void watched.set(hash, watcher),
          unwatch: (/** @type {string} */ hash) => void watched.delete(hash),
          isWatched: (/** @type {string} */ hash) => watched.has(hash),
          ...(submit && { submit }),
          stats: () => ({ blockMs, newestBlock: lastSeen }),
          hasPassed: (/** @type {number} */ number) => number <= lastSeen,
          stop: async () => {},
        })
      );
    },
    random: () => 0,
    onSample: (sample) => samples.push(sample),
    onBlock: () => {},
    onStop: (reason, error) => stops.push([reason, error?.message]),
    traffic: () => /** @type {any} */ ({}),
  });
  /** What has been counted so far. */
  const total = new Stats(clock.nowUs());
  const count = async () => {
    const { interval, counts, generator, violation } = await engine.snapshot(clock.nowUs(), true);
    assert.equal(violation, null);
    total.add(/** @type {EngineReport} */ (interval).stats);
    const { failures } = total;
    return { counts, failures, resubmissions: generator.resubmissions, reorgs: generator.reorgs };
  };

  /** Mines a block. @param {number} [most] per wallet @returns {number} its number */
  const mine = (most = Infinity) => {
    const last = blocks[blocks.length - 1];
    const number = blocks.length;
    const block = {
      nonces: [...last.nonces],
      counts: [...last.counts],
      transactions: /** @type {Transaction[]} */ ([]),
    };
    for (const [position] of accounts.entries()) {
      for (let taken = 0; taken < most; taken += 1) {
        const key = `${position}:${block.nonces[position]}`;
        const transaction = pool.get(key);
        if (transaction === undefined) break;
        pool.delete(key);
        transaction.blockNumber = number;
        mined.set(transaction.hash, transaction);
        block.transactions.push(transaction);
        block.nonces[position] += 1;
        if (!transaction.isReverted) block.counts[position] += 1;
      }
    }
    blocks.push(block);
    return number;
  };

  /** Reports a block and its inclusions. @param {number} number */
  const see = (number) => {
    lastSeen = Math.max(lastSeen, number);
    const { transactions } = blocks[number];
    const found = { number, hash: hash32(number), seenAtUs: clock.nowUs() };
    const { length } = transactions;
    const gas = { baseFeeWei: 0n, gasUsed: length * GAS_USED, gasLimit: 30_000_000 };
    detection.onBlock?.({ ...found, ...gas, timestampS: clock.wallMs() / 1000, transactions: length, ours: length });
    for (const { hash } of transactions) {
      const watcher = watched.get(hash);
      watched.delete(hash);
      watcher?.setInclusion(hash, found);
    }
  };

  /**
   * Removes blocks.
   * @param {number} depth
   * @param {boolean} isKept what was in them goes back into the pool
   * @returns {number} the first of them
   */
  const remove = (depth, isKept) => {
    const number = Math.max(START_BLOCK + 1, blocks.length - depth);
    for (const { transactions } of blocks.splice(number)) {
      for (const transaction of transactions) {
        mined.delete(transaction.hash);
        transaction.blockNumber = null;
        const key = `${positionOf(transaction.from)}:${transaction.nonce}`;
        if (isKept && !pool.has(key)) pool.set(key, transaction);
      }
    }
    return number;
  };

  /** The detector notices that blocks are gone. @param {number} number of the first @param {string[]} [unconfirmed] */
  const notice = (number, unconfirmed = []) => {
    detection.onReorg?.({ number, hash: hash32(number), depth: Math.max(1, lastSeen - number + 1), unconfirmed });
    lastSeen = Math.min(lastSeen, number - 1);
  };

  /** @param {number} depth @param {boolean} isKept */
  const reorg = (depth, isKept) => {
    const number = remove(depth, isKept);
    if (number <= lastSeen) notice(number);
    return number;
  };

  const settle = async () => {
    for (let turns = 0; turns < 5; turns += 1) await turn();
  };

  return {
    settle,
    clock,
    accounts,
    engine,
    samples,
    stops,
    rpc,
    handlers,
    mine,
    see,
    mined,
    watched,
    workload,
    pool,
    count,
    remove,
    notice,
    reorg,
    /** A foreign increment. @param {number} position */
    meddle: (position) => {
      blocks[blocks.length - 1].counts[position] += 1;
    },
    /** @param {number} ms */
    advance: async (ms) => {
      await clock.advance(ms);
      await settle();
    },
    /** Mines a block, reports it, and advances the clock. @param {number} [ms] */
    block: async (ms = 0) => {
      see(mine());
      await clock.advance(ms);
      await settle();
    },
    start: () => engine.start({ loadStartUs: clock.nowUs(), startUs: clock.nowUs(), endUs: Infinity }),
    /**
     * Ends the run: operations in flight are abandoned.
     * @param {{mines?: boolean, drained?: (ledger: Ledger) => Promise<void>}} [how] mines: whether more blocks are made; drained: before the audit. counts: of the ledger then
     */
    end: async ({ mines = true, drained } = {}) => {
      engine.stop(clock.nowUs());
      const draining = engine.drain(100, new AbortController().signal);
      await clock.advance(200);
      const ledger = await draining;
      await drained?.(ledger);
      const counts = structuredClone(ledger.counts);
      await engine.close();
      const { signal } = new AbortController();
      const parts = { rpc, clock, workload, accounts, ledger, startBlock: START_BLOCK };
      const report = audit({ ...parts, timeoutMs: 3000, signal });
      for (let seconds = 0; seconds < 6; seconds += 1) {
        await clock.advance(1000);
        if (mines) mine();
      }
      return { ...(await report), ledger, counts };
    },
    /** The last sample of a wallet's nonce. @param {number} position @param {number} nonce */
    sampleOf: (position, nonce) => samples.findLast((each) => each.position === position && each.nonce === nonce),
  };
}

/** A simulation whose engine has made its first submissions. @param {SimulationOptions} [options] */
export async function begun(options) {
  const run = simulate(options);
  run.start();
  await run.settle();
  return run;
}
