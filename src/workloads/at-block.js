import { isUnknownBlock } from '../chain/retries.js';
import { toBigInt, toHex } from '../chain/rpc.js';
import { RpcError } from '../errors.js';

/** Reads what a wallet has done as of a block, from a counter that only the wallet itself can raise. */

/** @import { Executed, Verdict } from './index.js' */

/**
 * Nodes may have pruned the state of the block, or not have it yet. Therefore attempts alternate between this block and
 * the latest one, which says nearly the same because only the wallet changes the counter.
 * @param {(block: string) => Promise<unknown>} readCount the wallet's count as of a block
 * @param {{start: number, shownFrom: number, target: string}} counter start: the count before this run; shownFrom:
 *   subtracted from the count that is shown
 * @param {Executed} bounds
 * @param {{number: number}} inclusion
 * @param {number} attempt
 * @returns {Promise<Verdict>}
 */
export function verdictAt(readCount, { start, shownFrom, target }, { least, most, latest }, inclusion, attempt) {
  const isExact = attempt % 2 === 0;
  const bound = isExact ? most : latest;
  return readCount(isExact ? toHex(inclusion.number) : 'latest').then(
    (answer) => {
      const count = Number(toBigInt(answer));
      const executed = count - start;
      const effect = String(count - shownFrom);
      if (executed === bound) return { state: 'ok', effect, target };
      if (executed >= least && executed < bound) return { state: 'likely', effect, target };
      if (executed > bound) return { state: 'wrong', effect, target };
      return { state: isExact ? 'missing' : 'behind', effect, target };
    },
    (error) => {
      if (error instanceof RpcError) return { state: 'behind', effect: null, target };
      throw error;
    },
  );
}

/**
 * @template T
 * @param {(block: string | {blockHash: string}) => Promise<T>} read
 * @param {string} blockHash
 * @param {number} blockNumber
 * @returns {Promise<T>}
 */
export async function readAtHash(read, blockHash, blockNumber) {
  try {
    return await read({ blockHash });
  } catch (error) {
    if (!(error instanceof RpcError) || isUnknownBlock(error)) throw error;
    return read(toHex(blockNumber)); // a node without EIP-1898
  }
}
