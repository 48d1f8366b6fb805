import { toNumber } from '../chain/rpc.js';
import { RpcError } from '../errors.js';
import { describeBlock, fetchBlock, followHeads } from './heads.js';

/** Receipts asked for at once. */
const ASK_AT_ONCE = 64;

/**
 * Inclusion by receipt: after each new head every waiting transaction is asked for. It costs a call for each
 * transaction and block, and is here for nodes that do not serve blocks, and to compare with.
 *
 * @param {import('./index.js').InclusionOptions} options
 * @returns {import('./index.js').InclusionDetector}
 */
export function createReceiptsInclusion({ rpc, clock, head, onBlock }) {
  /** @type {Map<string, (inclusion: import('./index.js').Inclusion) => void>} */
  const watched = new Map();
  let reported = head;
  /** Receipts found, by block, until the block is reported. @type {Map<number, number>} */
  const oursByBlock = new Map();
  /** What is told once the blocks are reported. @type {Array<() => void>} */
  let found = [];

  /** @param {number} from @param {number} to */
  async function onHeads(from, to) {
    const hashes = [...watched.keys()];
    for (let at = 0; at < hashes.length; at += ASK_AT_ONCE) {
      const part = hashes.slice(at, at + ASK_AT_ONCE);
      await Promise.all(part.map(ask));
    }
    // A receipt may be of a block that came while the receipts were asked for.
    const last = Math.max(to, ...oursByBlock.keys());
    for (let number = Math.max(from, reported + 1); number <= last; number += 1) {
      const block = await fetchBlock(rpc, number);
      onBlock(describeBlock(block, clock.nowUs(), oursByBlock.get(number) ?? 0));
      oursByBlock.delete(number);
      reported = number;
    }
    const callbacks = found;
    found = [];
    for (const callback of callbacks) callback();
  }

  /** @param {string} hash */
  async function ask(hash) {
    const receipt = await rpc
      .call('eth_getTransactionReceipt', [hash], 'inclusion')
      .catch((/** @type {unknown} */ error) => {
        // Some nodes answer with an error, not null, while a transaction is in no accepted block.
        if (error instanceof RpcError) return null;
        throw error;
      });
    const callback = watched.get(hash);
    if (receipt === null || callback === undefined) return;
    watched.delete(hash);
    const number = toNumber(receipt.blockNumber);
    // One sent while the round was under way is found in the next, when its block is reported already.
    const countedWith = Math.max(number, reported + 1);
    oursByBlock.set(countedWith, (oursByBlock.get(countedWith) ?? 0) + 1);
    const inclusion = { number, hash: receipt.blockHash, seenAtUs: clock.nowUs() };
    found.push(() => callback(inclusion));
  }

  const heads = followHeads({ rpc, clock, head, onHeads });
  return {
    watch: (hash, callback) => void watched.set(hash, callback),
    unwatch: (hash) => void watched.delete(hash),
    stats: heads.stats,
    stop: heads.stop,
  };
}
