import { toNumber } from '../chain/rpc.js';

/**
 * Follows the head of the chain by polling eth_blockNumber, at a pace that follows the chain's own: about ten
 * polls a block, whatever a block takes.
 */

const POLLS_PER_BLOCK = 10;
const SHORTEST_POLL_MS = 4;
const LONGEST_POLL_MS = 250;
/** Weight of the newest block in the running mean of the block interval. */
const SMOOTHING = 0.3;

/**
 * @param {object} options
 * @param {import('../chain/rpc.js').Rpc} options.rpc
 * @param {import('../clock.js').Clock} options.clock
 * @param {number} options.head
 * @param {(from: number, to: number) => Promise<void>} options.onHeads new block numbers, both inclusive; when it
 *   rejects, the same blocks are offered again
 */
export function followHeads({ rpc, clock, head, onHeads }) {
  const controller = new AbortController();
  let blockMs = 1000;
  let pollMs = SHORTEST_POLL_MS;
  /** The newest number we were told of; its block may not be served yet. */
  let announced = head;
  let headAtUs = clock.nowUs();
  let lastSuccessUs = headAtUs;
  let failedPolls = 0;
  /** @type {Error | null} */
  let lastError = null;

  async function poll() {
    const number = toNumber(await rpc.call('eth_blockNumber', [], 'inclusion'));
    if (number > announced) {
      const nowUs = clock.nowUs();
      const newestMs = (nowUs - headAtUs) / 1000 / (number - announced);
      blockMs = Math.min(blockMs * (1 - SMOOTHING) + newestMs * SMOOTHING, newestMs * 2);
      headAtUs = nowUs;
      announced = number;
    }
    if (number > head) {
      await onHeads(head + 1, number);
      head = number;
    }
    lastSuccessUs = clock.nowUs();
  }

  async function loop() {
    while (!controller.signal.aborted) {
      try {
        await poll();
        pollMs = Math.min(Math.max(blockMs / POLLS_PER_BLOCK, SHORTEST_POLL_MS), LONGEST_POLL_MS);
      } catch (error) {
        failedPolls += 1;
        lastError = /** @type {Error} */ (error);
        pollMs = Math.min(Math.max(pollMs * 2, 50), 1000);
      }
      await clock.sleep(pollMs, controller.signal);
    }
  }
  const done = loop();

  return {
    stats: () => ({
      resolutionMs: pollMs,
      failedPolls,
      lastError,
      silentMs: Math.max(0, (clock.nowUs() - lastSuccessUs) / 1000 - pollMs),
    }),
    stop: () => {
      controller.abort();
      return done;
    },
  };
}

/**
 * @param {import('../chain/rpc.js').Rpc} rpc
 * @param {number} number
 * @returns {Promise<any>} the block with the hashes of its transactions
 */
export async function fetchBlock(rpc, number) {
  const block = await rpc.call('eth_getBlockByNumber', [`0x${number.toString(16)}`, false], 'inclusion');
  // A node may announce a head before it serves the block; the caller asks again at its next poll.
  if (block === null) throw new Error(`block ${number} is announced but not served yet`);
  return block;
}

/**
 * @param {any} block as the node gave it
 * @param {number} seenAtUs
 * @param {number} ours
 * @returns {import('./index.js').Block}
 */
export function describeBlock(block, seenAtUs, ours) {
  return {
    number: toNumber(block.number),
    hash: block.hash,
    seenAtUs,
    timestampS: toNumber(block.timestamp),
    baseFeeWei: block.baseFeePerGas === undefined || block.baseFeePerGas === null ? null : BigInt(block.baseFeePerGas),
    gasUsed: toNumber(block.gasUsed),
    gasLimit: toNumber(block.gasLimit),
    transactions: block.transactions.length,
    ours,
  };
}
