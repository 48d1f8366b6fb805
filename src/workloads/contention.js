import { HEAD, ask } from '../chain/answers.js';
import { MAX_OF_OPERATIONS, callOf, readArtifact, selectorOf, stateCheck, word } from './contract-state.js';
import { MAX_AUDIT_MS, UNSURE, areOurs, checkOf, successCheck } from './receipts.js';
import { slotsByWeight } from './zipf.js';

/**
 * The workload `contention`: all wallets write a few slots of one contract (contracts/Contention.sol). The audit computes
 * what each slot must have if the transactions were executed one after the other in the order of their blocks.
 *
 * @import { TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 * @import { Failure, SideThread } from '../core/side-thread.js'
 * @import { Order, OrderTask } from './write-order-thread.js'
 */

/** Functions of contracts/Contention.sol. */
const WRITE = selectorOf('write(uint256,uint256)');
const COUNT_OF = selectorOf('countOf(uint256)');
const CHAIN_OF = selectorOf('chainOf(uint256)');

/** Blocks that are waited for before a block is read: reorgs are rarely deeper, and nodes keep more blocks. */
const DEPTH = 64;

/** The first write of a slot takes 95,000 gas, the others 61,000; these are upper bounds. */
const GAS = Object.freeze({ perWallet: 450_000n, perOperation: 110_000n });

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export default function create({ kit, rpc, set: { slots, theta }, state, openThread }) {
  const draw = slotsByWeight(slots, theta);
  let to = state ?? '';
  /** @type {SideThread | undefined} */
  let order;
  return {
    kind: 'transaction',
    subject: 'wallets wrote shared slots:',
    valueWei: 0n,
    gas: GAS,
    unprepared: async () => 1,
    prepare: async ({ wallets }) => {
      to = await kit.deployOnce(readArtifact('Contention'));
      const startBlock = await ask(rpc, HEAD, 'setup');
      const starts = wallets.map(({ address, nonce }) => ({ address, nonce }));
      /** @type {OrderTask} */
      const task = { seed: kit.seed, slots, theta, wallets: starts, startBlock, depth: DEPTH };
      order = openThread?.(new URL('write-order-thread.js', import.meta.url), task);
    },
    next: (position, nonce) => {
      return { to, data: WRITE + word(draw(kit.draw(position, nonce))) + word(nonce) };
    },
    reconcile: async (snapshot) => {
      /** @type {Order | Failure} */
      const found = await order?.finish({ blockNumber: snapshot.blockNumber }, MAX_AUDIT_MS);
      const check = successCheck(kit.addresses(), snapshot, found);
      const words = 'writes that left what they must, in the order of the blocks';
      if ('why' in found) return [check, checkOf('order', words, 0, 0, found.why)];
      const { writes, fault } = found;
      const isRight = checkOf('order', words, writes, fault === null ? writes : `not all (${fault})`, null);
      const entries = [...found.slots].slice(0, MAX_OF_OPERATIONS).flatMap(([slot, { count, chain }]) => [
        { of: `the count of slot ${slot} is`, read: callOf(to, COUNT_OF + word(slot)), mustBe: BigInt(count) },
        { of: `the hash chain of slot ${slot} is`, read: callOf(to, CHAIN_OF + word(slot)), mustBe: BigInt(chain) },
      ]);
      const why = areOurs(found, snapshot) ? null : UNSURE;
      const values = await stateCheck(
        { rpc, snapshot, signal: snapshot.signal, why },
        {
          name: 'slots',
          words: 'counts and hash chains of slots that serial execution gives',
          count: entries.length,
          entryOf: (i) => entries[i],
        },
      );
      return [check, isRight, values];
    },
    facts: () => ({ contract: to, slots, theta }),
    handOver: () => to,
  };
}
