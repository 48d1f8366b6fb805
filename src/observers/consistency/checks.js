import { keccak256 } from 'ethers/crypto';
import { toBigInt, toHex, toNumber } from '../../chain/answers.js';
import { counted } from '../../text.js';

/**
 * The table of the consistency checks. Each asks one endpoint for answers that must agree, and a function without I/O
 * judges them.
 *
 * @typedef {{method: string, params: unknown[]}} Request
 *
 * @typedef {object} CheckedBlock
 * @property {number} number
 * @property {string} hash
 * @property {readonly string[]} transactions hashes
 * @property {any} header the block as it was first read
 *
 * @typedef {object} VerifiedOperation an operation that this run has verified
 * @property {string} address of its wallet
 * @property {number} nonce
 * @property {string} hash
 * @property {number} blockNumber
 * @property {{call: object, least: string} | null} read a call whose value in the latest block must not be less; null: its receipt is read
 *
 * @typedef {object} Subject what the checks of one round are about
 * @property {CheckedBlock} block a recent one
 * @property {CheckedBlock[]} blocks consecutive ones, with this one as the last
 * @property {number} index of one of its transactions
 * @property {VerifiedOperation | null} operation a recent one
 * @property {CheckedBlock | null} home its block, which the endpoint has served
 * @property {string} unknownHash hash of a block that does not exist
 * @property {boolean} isRange whether logs are read by range, not by the hash of the block
 *
 * @typedef {object} Contradiction
 * @property {string} code
 * @property {string} words
 * @property {Request[]} requests two that contradict each other
 * @property {CheckedBlock[]} blocks if one of them has left the chain, a reorg may explain it
 *
 * @typedef {object} Check
 * @property {(subject: Subject) => Request[]} ask empty: there is nothing to compare
 * @property {(subject: Subject, answers: any[]) => Contradiction | null} judge
 * @property {boolean} [mayBeRefused] an error of the node is a right answer, and judged as null
 */

/** Blocks with more transactions are left out where all receipts are needed: they are megabytes. */
const MAX_RECEIPTS = 2000;

/** Members of a block that never change. */
const LASTING = Object.freeze([
  ...['hash', 'parentHash', 'number', 'timestamp', 'miner', 'gasLimit', 'gasUsed', 'baseFeePerGas'],
  ...['stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'transactions'],
]);

/** @type {Readonly<Record<string, Check>>} */
export const CHECKS = Object.freeze({
  /** A block by its hash never changes. */
  block: {
    ask: ({ block }) => [byHash(block)],
    judge: ({ block }, [again]) => {
      const requests = [byNumber(block), byHash(block)];
      if (again === null) return missing(`block ${block.number} (${block.hash}) is missing`, requests, block);
      const lower = (/** @type {unknown} */ value) => JSON.stringify(value ?? null).toLowerCase();
      const name = LASTING.find((member) => lower(again[member]) !== lower(block.header[member]));
      const words = `block ${block.number} (${block.hash}) has another ${name} than before`;
      return name === undefined ? null : { code: 'block_changed', words, requests, blocks: [block] };
    },
  },
  /** A receipt is that of its transaction, at its place. */
  receipt: {
    ask: ({ block, index }) => (block.transactions.length === 0 ? [] : [receiptOf(block.transactions[index])]),
    judge: ({ block, index }, [receipt]) => {
      const hash = block.transactions[index];
      const requests = [byHash(block), receiptOf(hash)];
      if (receipt === null) return missing(`block ${block.number} has ${hash} without a receipt`, requests, block);
      const fault = misplaced(receipt, receipt.transactionHash, block, index);
      const words = `the receipt of ${hash} ${fault}`;
      return fault === null ? null : { code: 'receipt_mismatch', words, requests, blocks: [block] };
    },
  },
  /** A block has its transactions in the order that it lists. */
  index: {
    ask: ({ block, index }) => (block.transactions.length === 0 ? [] : [atIndex(block, index)]),
    judge: ({ block, index }, [found]) => {
      const fault = found === null ? 'is missing' : misplaced(found, found.hash, block, index);
      const words = `transaction ${index} of block ${block.number} ${fault}`;
      const requests = [byHash(block), atIndex(block, index)];
      return fault === null ? null : { code: 'index_mismatch', words, requests, blocks: [block] };
    },
  },
  /** Logs by range, logs by block hash, receipts and bloom filters agree. */
  logs: {
    ask: (subject) => {
      const blocks = blocksWithLogs(subject);
      const all = blocks.reduce((sum, { transactions }) => sum + transactions.length, 0);
      return all === 0 || all > MAX_RECEIPTS ? [] : [...blocks.map(receiptsIn), logsOf(subject)];
    },
    judge: judgeLogs,
  },
  /** An unknown block is an error or null, never an empty list. */
  unknown: {
    mayBeRefused: true,
    ask: ({ unknownHash: hash }) => [
      { method: 'eth_getLogs', params: [{ blockHash: hash }] },
      { method: 'eth_getBlockReceipts', params: [hash] },
    ],
    judge: (subject, answers) => {
      const at = answers.findIndex((answer) => Array.isArray(answer));
      if (at < 0) return null;
      const words = `a block that does not exist has ${answers[at].length} ${['logs', 'receipts'][at]}`;
      const requests = [byHash({ hash: subject.unknownHash }), CHECKS.unknown.ask(subject)[at]];
      return { code: 'unknown_block_list', words, requests, blocks: [] };
    },
  },
  /** A transaction in a block counts in the nonce of its sender. */
  nonce: {
    ask: ({ operation }) => (operation === null ? [] : [nonceOf(operation)]),
    judge: ({ operation, home }, [count]) => {
      const { address, nonce, hash } = /** @type {VerifiedOperation} */ (operation);
      const block = /** @type {CheckedBlock} */ (home);
      if (toNumber(count) > nonce) return null;
      const words = `block ${block.number} has transaction ${nonce} of ${address}, whose latest nonce is ${toNumber(count)}`;
      const requests = [receiptOf(hash), nonceOf({ address })];
      return { code: 'stale_nonce', words, requests, blocks: [block] };
    },
  },
  /** The effect of a verified operation stays visible. */
  effect: {
    ask: ({ operation }) => (operation === null ? [] : [effectOf(operation)]),
    judge: ({ operation, home }, [answer]) => {
      const own = /** @type {VerifiedOperation} */ (operation);
      const block = /** @type {CheckedBlock} */ (home);
      const requests = [receiptOf(own.hash), effectOf(own)];
      if (own.read === null && answer !== null) return null;
      if (own.read === null)
        return missing(
          `${own.hash} was verified in block ${block.number} and has no receipt`,
          [byHash(block), requests[1]],
          block,
        );
      const value = toBigInt(answer);
      if (value >= BigInt(own.read.least)) return null;
      const words = `the count was ${own.read.least} after ${own.hash} in block ${block.number}, and the latest is ${value}`;
      return missing(words, requests, block);
    },
  },
});

/** Checks of the heads that an endpoint gives; they have no row. */
export const HEAD_CHECKS = Object.freeze(['head', 'subscription']);

/** @param {string} words @param {Request[]} requests @param {CheckedBlock} block that the endpoint had served before @returns {Contradiction} */
export function missing(words, requests, block) {
  return { code: 'stale_read', words, requests, blocks: [block] };
}

/** @type {Check['judge']} */
function judgeLogs(subject, answers) {
  const blocks = blocksWithLogs(subject);
  const logs = answers[blocks.length];
  /** By place. @type {Map<string, string>} */
  const expected = new Map();
  for (const [i, block] of blocks.entries()) {
    const found = judgeReceipts(block, answers[i]);
    if (found !== null) return found;
    for (const log of logsIn(answers[i])) expected.set(placeOf(log), contentOf(log));
  }
  const { block } = subject;
  if (!Array.isArray(logs))
    return missing(`block ${block.number} has no logs`, [byHash(block), logsOf(subject)], block);
  for (const log of logs) {
    const place = placeOf(log);
    const requests = [
      receiptsIn(blocks.find(({ number }) => place.startsWith(`${number}:`)) ?? block),
      logsOf(subject),
    ];
    if (expected.get(place) !== contentOf(log))
      return { code: 'logs_foreign', words: `log ${place} is in no receipt of its blocks`, requests, blocks };
    expected.delete(place);
  }
  const [place] = expected.keys();
  if (place === undefined) return null;
  const home = blocks.find(({ number }) => place.startsWith(`${number}:`)) ?? block;
  const requests = [receiptsIn(home), logsOf(subject)];
  return { code: 'logs_missing', words: `log ${place} of a receipt is not in the list`, requests, blocks };
}

/** @param {CheckedBlock} block @param {any} receipts @returns {Contradiction | null} */
function judgeReceipts(block, receipts) {
  const { number, transactions } = block;
  const requests = [byHash(block), receiptsIn(block)];
  if (!Array.isArray(receipts)) return missing(`block ${number} has no receipts`, requests, block);
  const mismatch = (/** @type {string} */ words) => ({ code: 'receipt_mismatch', words, requests, blocks: [block] });
  if (receipts.length !== transactions.length)
    return mismatch(
      `block ${number} has ${counted(receipts.length, 'receipt')} of ${counted(transactions.length, 'transaction')}`,
    );
  const faults = receipts.map((receipt, i) => misplaced(receipt, receipt.transactionHash, block, i));
  const wrong = faults.findIndex((fault) => fault !== null);
  if (wrong >= 0) return mismatch(`receipt ${wrong} of block ${number} ${faults[wrong]}`);
  const values = new Set(logsIn(receipts).flatMap(({ address, topics }) => [address, ...topics]));
  const [absent] = [...values].filter((value) => !isInBloom(block.header.logsBloom, value));
  if (absent === undefined) return null;
  const lacks = `the bloom filter of block ${number} lacks ${absent} of one of its logs`;
  return { code: 'bloom', words: lacks, requests, blocks: [block] };
}

/** @param {any[]} receipts @returns {any[]} */
function logsIn(receipts) {
  return receipts.flatMap(({ logs }) => logs ?? []);
}

/** @param {any} log */
function placeOf({ blockNumber, logIndex }) {
  return `${toNumber(blockNumber)}:${toNumber(logIndex)}`;
}

/** @param {any} log */
function contentOf({ blockHash, transactionHash, address, topics, data }) {
  return JSON.stringify([blockHash, transactionHash, address, topics, data]).toLowerCase();
}

/** @param {any} found a receipt, or a transaction @param {string} hash that it states @param {CheckedBlock} block @param {number} index @returns {string | null} */
function misplaced(found, hash, { number, hash: blockHash, transactions }, index) {
  if (hash !== transactions[index]) return `is that of ${hash}, not of ${transactions[index]}`;
  if (found.blockHash !== blockHash || toNumber(found.blockNumber) !== number)
    return `is in block ${toNumber(found.blockNumber)} (${found.blockHash}), not in ${number} (${blockHash})`;
  const at = toNumber(found.transactionIndex);
  return at === index ? null : `has index ${at}, not ${index}`;
}

/**
 * Whether a bloom filter may contain a value (Ethereum Yellow Paper, section 4.3.1: three bits, from the first three pairs
 * of bytes of its hash).
 * @param {string} bloom 256 bytes
 * @param {string} value an address or a topic
 */
export function isInBloom(bloom, value) {
  const hash = keccak256(value);
  return [2, 6, 10].every((at) => {
    const bit = Number.parseInt(hash.slice(at, at + 4), 16) % 2048;
    const digit = Number.parseInt(bloom[bloom.length - 1 - Math.floor(bit / 4)], 16);
    return (digit >> (bit % 4)) % 2 === 1;
  });
}

/** @param {Subject} subject */
function blocksWithLogs({ block, blocks, isRange }) {
  return isRange ? blocks : [block];
}

/** @param {Subject} subject @returns {Request} */
function logsOf({ block, blocks, isRange }) {
  const range = { fromBlock: toHex(blocks[0].number), toBlock: toHex(block.number) };
  return { method: 'eth_getLogs', params: [isRange ? range : { blockHash: block.hash }] };
}

/** @param {{hash: string}} block @returns {Request} */
export function byHash({ hash }) {
  return { method: 'eth_getBlockByHash', params: [hash, false] };
}

/** @param {{number: number}} block @returns {Request} */
export function byNumber({ number }) {
  return { method: 'eth_getBlockByNumber', params: [toHex(number), false] };
}

/** @param {string} hash @returns {Request} */
function receiptOf(hash) {
  return { method: 'eth_getTransactionReceipt', params: [hash] };
}

/** @param {CheckedBlock} block @returns {Request} */
function receiptsIn({ number }) {
  return { method: 'eth_getBlockReceipts', params: [toHex(number)] };
}

/** @param {CheckedBlock} block @param {number} index @returns {Request} */
function atIndex({ hash }, index) {
  return { method: 'eth_getTransactionByBlockHashAndIndex', params: [hash, toHex(index)] };
}

/** @param {{address: string}} wallet @returns {Request} */
function nonceOf({ address }) {
  return { method: 'eth_getTransactionCount', params: [address, 'latest'] };
}

/** @param {VerifiedOperation} operation @returns {Request} */
function effectOf({ hash, read }) {
  return read === null ? receiptOf(hash) : { method: 'eth_call', params: [read.call, 'latest'] };
}
