import { describeBlock, fetchBlock, followHeads } from './heads.js';

/** Blocks fetched at once when the head has moved by many. */
const FETCH_AT_ONCE = 8;

/**
 * Inclusion by block: one head check and one block fetch serve every waiting transaction, so the cost is per
 * block and not per transaction.
 *
 * @param {import('./index.js').InclusionOptions} options
 * @returns {import('./index.js').InclusionDetector}
 */
export function createBlocksInclusion({ rpc, clock, head, onBlock }) {
  /** @type {Map<string, (inclusion: import('./index.js').Inclusion) => void>} */
  const watched = new Map();
  let done = head;

  /** @param {number} from @param {number} to */
  async function onHeads(from, to) {
    // After a failure the same heads are offered again: what was done already is not done twice.
    for (let at = Math.max(from, done + 1); at <= to; at += FETCH_AT_ONCE) {
      const count = Math.min(FETCH_AT_ONCE, to - at + 1);
      const blocks = await Promise.all(Array.from({ length: count }, (_, i) => fetchBlock(rpc, at + i)));
      for (const block of blocks) {
        match(block);
        done += 1;
      }
    }
  }

  /** @param {any} block */
  function match(block) {
    const seenAtUs = clock.nowUs();
    let ours = 0;
    /** @type {Array<(inclusion: import('./index.js').Inclusion) => void>} */
    const found = [];
    for (const hash of block.transactions) {
      const callback = watched.get(hash);
      if (callback === undefined) continue;
      watched.delete(hash);
      found.push(callback);
      ours += 1;
    }
    const described = describeBlock(block, seenAtUs, ours);
    onBlock(described);
    for (const callback of found) callback(described);
  }

  const heads = followHeads({ rpc, clock, head, onHeads });
  return {
    watch: (hash, callback) => void watched.set(hash, callback),
    unwatch: (hash) => void watched.delete(hash),
    stats: heads.stats,
    stop: heads.stop,
  };
}
