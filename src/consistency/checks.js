import { keccak256 } from 'ethers';
import { toHex, toNumber } from '../chain/rpc.js';

/**
 * The checks of --check consistency. Each makes a few requests to one endpoint and compares answers that must agree. What
 * they have in common (blocks that may be replaced, lag, the rate) is in consistency/thread.js.
 *
 * @import { CheckedBlock, CheckedEndpoint } from './endpoint.js'
 *
 * @typedef {object} Finding answers that contradict each other
 * @property {string} code
 * @property {string} words
 * @property {Array<{method: string, params: unknown[]}>} requests two that show it
 * @property {CheckedBlock[]} blocks it is none if one of them is no longer part of the chain
 *
 * @typedef {object} VerifiedOperation an operation that this run has verified
 * @property {string} hash
 * @property {number} blockNumber
 * @property {{method: string, params: unknown[], least: string}} read of its effect in the latest block, an integer
 *
 * @typedef {object} CheckContext
 * @property {CheckedEndpoint} endpoint
 * @property {CheckedBlock} head its newest block
 * @property {CheckedBlock} block a recent one
 * @property {VerifiedOperation | null} operation a recent one in a block that the endpoint has
 * @property {() => number} random from 0 to 1
 *
 * @typedef {object} CheckRow
 * @property {string} words what is compared
 * @property {(context: CheckContext) => boolean} [applies] true unless given
 * @property {(context: CheckContext) => Promise<Finding | null>} check rejects with an RpcError if the endpoint does not have
 *   a method that it needs
 */

/** Longest range of blocks whose logs are asked for. */
const MAX_RANGE = 4;

/** Blocks with more transactions are left out where all receipts are needed: they are megabytes. */
const MAX_RECEIPTS = 2000;

/** A header never changes in these members. */
const HEADER = Object.freeze([
  ...['hash', 'parentHash', 'number', 'timestamp', 'miner', 'gasLimit', 'gasUsed', 'baseFeePerGas'],
  ...['stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'transactions'],
]);

/** @type {Readonly<Record<string, CheckRow>>} */
export const CHECKS = Object.freeze({
  block: {
    words: 'a block by its hash never changes',
    check: async ({ endpoint, block }) => {
      const request = { method: 'eth_getBlockByHash', params: [block.hash, false] };
      const again = await endpoint.ask(request);
      if (again === null) return changed(`is not served by its hash any more`, request, block);
      const name = HEADER.find((member) => JSON.stringify(again[member]) !== JSON.stringify(block.header[member]));
      return name === undefined ? null : changed(`has another ${name} than before`, request, block);
    },
  },
  receipt: {
    words: 'a receipt is of its transaction, and at its place in the block',
    applies: ({ block }) => block.transactions.length > 0,
    check: async ({ endpoint, block, random }) => {
      const index = Math.floor(random() * block.transactions.length);
      const hash = block.transactions[index];
      const request = { method: 'eth_getTransactionReceipt', params: [hash] };
      const receipt = await endpoint.ask(request);
      if (receipt === null) return stale(`block ${block.number} has ${hash}, and it has no receipt`, request, block);
      const fault = placeFault(receipt, receipt.transactionHash, hash, index, block);
      return fault === null
        ? null
        : finding('receipt_mismatch', `the receipt of ${hash} ${fault}`, [byHash(block), request], [block]);
    },
  },
  index: {
    words: 'the transaction at a place of a block is the one that the block lists there',
    applies: ({ block }) => block.transactions.length > 0,
    check: async ({ endpoint, block, random }) => {
      const index = Math.floor(random() * block.transactions.length);
      const request = { method: 'eth_getTransactionByBlockHashAndIndex', params: [block.hash, toHex(index)] };
      const found = await endpoint.ask(request);
      const fault =
        found === null ? 'is not there' : placeFault(found, found.hash, block.transactions[index], index, block);
      return fault === null
        ? null
        : finding(
            'index_mismatch',
            `transaction ${index} of block ${block.number} ${fault}`,
            [byHash(block), request],
            [block],
          );
    },
  },
  logs: {
    words: 'logs by range, logs by block hash, receipts and the bloom filter of a block agree',
    applies: ({ block }) => block.transactions.length > 0 && block.transactions.length <= MAX_RECEIPTS,
    check: async (context) => {
      const { endpoint, block, random } = context;
      const isRange = random() < 0.5;
      const blocks = isRange ? endpoint.chainUpTo(block, 1 + Math.floor(random() * MAX_RANGE)) : [block];
      const few = blocks.filter(({ transactions }) => transactions.length <= MAX_RECEIPTS);
      return compareLogs(endpoint, few.length === blocks.length ? blocks : [block], isRange);
    },
  },
  unknown: {
    words: 'an unknown block is an error or null, never an empty list',
    check: async ({ endpoint, random }) => {
      const hash = `0x${Array.from({ length: 64 }, () => Math.floor(random() * 16).toString(16)).join('')}`;
      const isLogs = random() < 0.5;
      const request = isLogs
        ? { method: 'eth_getLogs', params: [{ blockHash: hash }] }
        : { method: 'eth_getBlockReceipts', params: [hash] };
      const answer = await endpoint.askUnknown(request);
      if (!Array.isArray(answer)) return null;
      const block = { method: 'eth_getBlockByHash', params: [hash, false] };
      const what = isLogs ? 'logs' : 'receipts';
      return finding(
        'unknown_block_list',
        `a block that does not exist has ${answer.length} ${what}`,
        [block, request],
        [],
      );
    },
  },
  nonce: {
    words: 'a transaction in a block counts in the nonce of its sender from then on',
    // The newest block, because a node that is late is late with that.
    applies: ({ head }) => head.transactions.length > 0,
    check: async ({ endpoint, head, random }) => {
      const index = Math.floor(random() * head.transactions.length);
      const place = { method: 'eth_getTransactionByBlockHashAndIndex', params: [head.hash, toHex(index)] };
      const found = await endpoint.ask(place);
      if (found === null) return null;
      const request = { method: 'eth_getTransactionCount', params: [found.from, 'latest'] };
      const [nonce, count] = [toNumber(found.nonce), toNumber(await endpoint.ask(request))];
      if (count > nonce) return null;
      const words = `block ${head.number} has transaction ${nonce} of ${found.from}, and its latest nonce is ${count}`;
      return finding('stale_nonce', words, [place, request], [head]);
    },
  },
  effect: {
    words: 'the effect of a verified operation is visible from then on',
    applies: ({ operation }) => operation !== null,
    check: async ({ endpoint, operation }) => {
      const { hash, blockNumber, read } = /** @type {VerifiedOperation} */ (operation);
      const { method, params, least } = read;
      const value = BigInt(await endpoint.ask({ method, params }));
      if (value >= BigInt(least)) return null;
      const words = `the effect of ${hash} in block ${blockNumber} was ${least}, and the latest value is ${value}`;
      return stale(words, { method, params }, await endpoint.blockAt(blockNumber));
    },
  },
});

/** Codes of the checks that have no row here: they are made of the heads that an endpoint gives. */
export const HEAD_CHECKS = Object.freeze({
  head: 'the head of an endpoint never goes back without a reorg',
  subscription: 'a subscription brings each head once, in order',
});

/**
 * @param {CheckedEndpoint} endpoint
 * @param {CheckedBlock[]} blocks consecutive ones
 * @param {boolean} isRange
 * @returns {Promise<Finding | null>}
 */
async function compareLogs(endpoint, blocks, isRange) {
  const [first, last] = [blocks[0], blocks[blocks.length - 1]];
  const filter = isRange ? { fromBlock: toHex(first.number), toBlock: toHex(last.number) } : { blockHash: last.hash };
  const request = { method: 'eth_getLogs', params: [filter] };
  /** @type {Map<string, string>} by place */
  const expected = new Map();
  for (const block of blocks) {
    const ofBlock = { method: 'eth_getBlockReceipts', params: [toHex(block.number)] };
    const receipts = await endpoint.ask(ofBlock);
    if (!Array.isArray(receipts)) return stale(`block ${block.number} has no receipts`, ofBlock, block);
    if (receipts.length !== block.transactions.length)
      return finding(
        'receipt_mismatch',
        `block ${block.number} has ${receipts.length} receipts of ${block.transactions.length} transactions`,
        [byHash(block), ofBlock],
        [block],
      );
    for (const [index, receipt] of receipts.entries()) {
      const hash = block.transactions[index];
      const fault = placeFault(receipt, receipt.transactionHash, hash, index, block);
      if (fault !== null)
        return finding(
          'receipt_mismatch',
          `receipt ${index} of block ${block.number} ${fault}`,
          [byHash(block), ofBlock],
          [block],
        );
      for (const log of receipt.logs ?? []) {
        expected.set(placeOf(log), contentOf(log));
        if (!isInBloom(block.header.logsBloom, [log.address, ...log.topics]))
          return finding(
            'bloom',
            `the bloom filter of block ${block.number} lacks a log of ${hash}`,
            [byHash(block), ofBlock],
            [block],
          );
      }
    }
  }
  const logs = await endpoint.ask(request);
  const receiptsOf = (/** @type {CheckedBlock} */ { number }) => ({
    method: 'eth_getBlockReceipts',
    params: [toHex(number)],
  });
  for (const log of Array.isArray(logs) ? logs : []) {
    const place = placeOf(log);
    if (expected.get(place) === contentOf(log)) expected.delete(place);
    else
      return finding(
        'logs_foreign',
        `log ${place} is in no receipt of its blocks`,
        [receiptsOf(last), request],
        blocks,
      );
  }
  const [missing] = expected.keys();
  if (missing === undefined) return null;
  const block = blocks.find(({ number }) => number === Number(missing.split(':')[0])) ?? last;
  return finding(
    'logs_missing',
    `log ${missing} of a receipt is not in the list`,
    [receiptsOf(block), request],
    blocks,
  );
}

/** @param {any} log */
function placeOf({ blockNumber, logIndex }) {
  return `${toNumber(blockNumber)}:${toNumber(logIndex)}`;
}

/** @param {any} log */
function contentOf({ blockHash, transactionHash, address, topics, data }) {
  return JSON.stringify([blockHash, transactionHash, address.toLowerCase(), topics, data]);
}

/** @param {any} found a receipt, or a transaction @param {string} ownHash @param {string} hash @param {number} index @param {CheckedBlock} block */
function placeFault({ blockHash, blockNumber, transactionIndex }, ownHash, hash, index, block) {
  if (ownHash !== hash) return `is that of ${ownHash}, not of ${hash}`;
  if (blockHash !== block.hash || toNumber(blockNumber) !== block.number)
    return `is in block ${toNumber(blockNumber)} (${blockHash}), not in ${block.number} (${block.hash})`;
  return toNumber(transactionIndex) === index ? null : `has index ${toNumber(transactionIndex)}, not ${index}`;
}

/**
 * Whether the filter may contain these (Ethereum Yellow Paper, section 4.3.1: three bits for each, from the first three
 * pairs of bytes of the hash).
 * @param {string} bloom 256 bytes
 * @param {string[]} values addresses and topics
 */
export function isInBloom(bloom, values) {
  return values.every((value) => {
    const hash = keccak256(value);
    return [2, 6, 10].every((at) => {
      const bit = Number.parseInt(hash.slice(at, at + 4), 16) % 2048;
      const digit = Number.parseInt(bloom[bloom.length - 1 - Math.floor(bit / 4)], 16);
      return (digit >> (bit % 4)) % 2 === 1;
    });
  });
}

/** @param {CheckedBlock} block */
export function byHash({ hash }) {
  return { method: 'eth_getBlockByHash', params: [hash, false] };
}

/** @param {string} code @param {string} words @param {Finding['requests']} requests @param {CheckedBlock[]} blocks @returns {Finding} */
function finding(code, words, requests, blocks) {
  return { code, words, requests, blocks };
}

/** @param {string} words @param {Finding['requests'][0]} request @param {CheckedBlock} block */
function changed(words, request, block) {
  const byNumber = { method: 'eth_getBlockByNumber', params: [toHex(block.number), false] };
  return finding('block_changed', `block ${block.number} (${block.hash}) ${words}`, [byNumber, request], [block]);
}

/** @param {string} words @param {Finding['requests'][0]} request @param {CheckedBlock} block */
function stale(words, request, block) {
  return finding('stale_read', words, [byHash(block), request], [block]);
}
