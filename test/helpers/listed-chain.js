/** A node with given blocks, for commands that only read. */
import { serve } from './endpoint.js';

/**
 * @typedef {object} Listed a transaction
 * @property {string | null} [to] null: a creation
 * @property {string} [data]
 * @property {number} [gas] used
 * @property {number} [type]
 * @property {string} [from]
 * @property {boolean} [reverted]
 * @property {string[][]} [topics] of its events
 * @property {object} [shown] other members
 *
 * @typedef {object} ListedOptions
 * @property {readonly string[]} [lacks] methods
 * @property {number} [keptFrom] it has pruned the blocks before
 * @property {number} [receiptsFrom] it has pruned the receipts of the blocks before
 * @property {(number: number) => boolean} [isGap] there is no block at this height
 * @property {boolean} [hasBaseFee]
 * @property {(number: number) => number} [timestampOf]
 * @property {number} [chainId]
 * @property {(block: any) => object} [change] of a block
 * @property {(number: number) => void | Promise<void>} [onBlock] it is asked for
 */

const TO = `0x${'b0'.repeat(20)}`;
const FROM = `0x${'a0'.repeat(20)}`;

/** @param {number} value */
const hex = (value) => `0x${value.toString(16)}`;
/** @param {number} kind @param {number} value */
const hash = (kind, value) => `0x${hex(kind).slice(2).padStart(8, '0')}${value.toString(16).padStart(56, '0')}`;

/** @param {readonly Listed[][]} blocks from block 1 on @param {ListedOptions} [options] */
export function serveBlocks(blocks, options = {}) {
  const { lacks = [], keptFrom = 0, receiptsFrom = 0, hasBaseFee = true, chainId = 1337 } = options;
  const { timestampOf = (number) => 1_700_000_000 + 2 * number, change = () => ({}), onBlock = () => {} } = options;
  const { isGap = () => false } = options;
  /** @type {Map<string, any>} */
  const receipts = new Map();
  const all = [[], ...blocks].map((listed, number) => {
    const place = { blockNumber: hex(number), blockHash: hash(chainId, number) };
    const transactions = listed.map((one, i) => {
      const { to = TO, data = '0x', gas = 21_000, type = 2, from = FROM, reverted = false, topics = [] } = one;
      const shown = { hash: hash(chainId * 1000 + number, i), from, to, input: data, type: hex(type), ...one.shown };
      const logs = topics.map((own) => ({ address: TO, topics: own, data: '0x' }));
      const status = hex(reverted ? 0 : 1);
      receipts.set(shown.hash, { transactionHash: shown.hash, ...place, from, to, gasUsed: hex(gas), status, logs });
      return shown;
    });
    const used = listed.reduce((sum, { gas = 21_000 }) => sum + gas, 0);
    const header = { number: hex(number), hash: place.blockHash, parentHash: hash(chainId, number - 1) };
    const figures = { timestamp: hex(timestampOf(number)), gasUsed: hex(used), gasLimit: hex(30_000_000) };
    const block = { ...header, ...figures, ...(hasBaseFee && { baseFeePerGas: '0x7' }), transactions };
    return { ...block, ...change(block) };
  });
  /** @type {Record<string, (...params: any[]) => unknown>} */
  const answers = {
    eth_chainId: () => hex(chainId),
    web3_clientVersion: () => 'Listed/v1',
    eth_blockNumber: () => hex(all.length - 1),
    eth_getBlockByNumber: async (at) => {
      await onBlock(Number(at));
      const isLost = (Number(at) > 0 && Number(at) < keptFrom) || isGap(Number(at));
      return isLost ? null : (all[Number(at)] ?? null);
    },
    eth_getBlockReceipts: (at) =>
      Number(at) < receiptsFrom ? null : all[Number(at)].transactions.map(({ hash: one }) => receipts.get(one)),
    eth_getTransactionReceipt: (one) =>
      Number(receipts.get(one)?.blockNumber) < receiptsFrom ? null : (receipts.get(one) ?? null),
  };
  /** @param {{id: number, method: string, params: any[]}} request */
  const answer = async ({ id, method, params }) => {
    const known = !lacks.includes(method) && answers[method];
    const message = `the method ${method} does not exist/is not available`;
    const reply = known ? { result: await known(...params) } : { error: { code: -32601, message } };
    return { jsonrpc: '2.0', id, ...reply };
  };
  return serve(async (body) => {
    const asked = JSON.parse(body);
    const answered = await Promise.all([asked].flat().map(answer));
    return { body: JSON.stringify(Array.isArray(asked) ? answered : answered[0]) };
  });
}
