import { readFileSync } from 'node:fs';
import { AbiCoder, getCreateAddress, id } from 'ethers';
import { baseFeeOf } from '../chain/fees.js';
import { ether, fundsMissing, settleWallets, shortfalls } from '../chain/funding.js';
import { DEV_CHAIN_IDS } from '../chain/networks.js';
import { toNumber } from '../chain/rpc.js';
import { estimateGas, sendAll } from '../chain/send.js';
import { RefusedError, RpcError, UnavailableError } from '../errors.js';
import { pageParams } from '../workloads/dataset.js';
import { rounded, plural } from './costs.js';
import { fundFrom } from './setup.js';

/**
 * @import { Wallet } from '../chain/keys.js'
 * @import { ChainInfo, DataSet, Page, Receipt, Rpc, Sender } from '../types.d.ts'
 */

/** @typedef {Omit<DataSet, 'schema'>} PagedLogs */

/** Most pages read back, evenly spread. */
const MOST_PAGES = 50;

/** Bytes of offset and length before the data (ABI). */
const BEFORE_DATA = 64;

/** A node may have the receipts before the logs. */
const SETTLE_MS = 5000;
const PAUSE_MS = 200;

/**
 * @param {Pick<Sender, 'rpc' | 'clock' | 'signal'>} sender
 * @param {PagedLogs} dataSet
 * @param {(label: string, done: number, all: number) => void} onProgress
 * @returns {Promise<number>} number of pages read
 * @throws {UnavailableError} a page differs
 */
export async function checkPages(sender, dataSet, onProgress) {
  const numbers = sampleOf(dataSet.pages.length);
  for (const [i, number] of numbers.entries()) {
    await checkPage(sender, dataSet, number);
    onProgress('reading pages back', i + 1, numbers.length);
  }
  return numbers.length;
}

/** @param {number} pages @returns {number[]} page numbers, evenly spread */
export function sampleOf(pages) {
  const amount = Math.min(pages, MOST_PAGES);
  return Array.from({ length: amount }, (_, i) => (amount === 1 ? 0 : Math.round((i * (pages - 1)) / (amount - 1))));
}

/** @param {Parameters<typeof checkPages>[0]} sender @param {PagedLogs} dataSet @param {number} number */
async function checkPage({ rpc, clock, signal }, dataSet, number) {
  const endUs = clock.nowUs() + SETTLE_MS * 1000;
  for (;;) {
    const wrong = pageError(await readPage(rpc, dataSet, number), dataSet, number);
    if (wrong === null) return;
    if (clock.nowUs() > endUs || signal.aborted)
      throw new UnavailableError(
        `page ${number} of the logs differs from what was written: ${wrong}; does the node keep its logs?`,
      );
    await clock.sleep(PAUSE_MS, signal);
  }
}

/** @param {Rpc} rpc @param {PagedLogs} dataSet @param {number} number */
async function readPage(rpc, dataSet, number) {
  try {
    // With the size limit of load responses.
    return await rpc.call('eth_getLogs', pageParams(dataSet, number), 'load');
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new UnavailableError(`the node does not list page ${number}: ${error.message}; give a smaller --page-size`);
  }
}

/** @param {unknown} logs @param {PagedLogs} dataSet @param {number} number of the page @returns {string | null} */
export function pageError(logs, { bytes, pageSize, pages }, number) {
  if (!Array.isArray(logs)) return 'the result is not a list of logs';
  const { count } = pages[number];
  if (logs.length !== count) return `it has ${logs.length} logs, not ${count}`;
  const first = number * pageSize;
  const ids = new Set(logs.map((log) => toNumber(shortened(log?.topics?.[2]))));
  if (ids.size !== count || [...ids].some((id) => id < first || id >= first + count))
    return `they are not logs ${first}..${first + count - 1}`;
  const length = 2 + 2 * (BEFORE_DATA + Math.ceil(bytes / 32) * 32);
  if (logs.some(({ data }) => data?.length !== length)) return `not all of them have ${bytes} bytes`;
  const isRepeated = bytes >= 32 && new Set(logs.map(({ data }) => data)).size < count;
  return isRepeated ? 'some of them are equal' : null;
}

/** A topic as a quantity. @param {unknown} topic */
function shortened(topic) {
  return typeof topic === 'string' ? topic.replace(/^0x0+(?=.)/, '0x') : topic;
}

/**
 * `stress prepare logs`: a contract emits logs that a load can list page by page. The pages are read back once.
 *
 * @typedef {object} Tools
 * @property {{count: number, bytes: number, pageSize: number, fundAmountWei: bigint | null, maxSpendWei: bigint | null}}
 *   wanted
 * @property {Wallet[]} wallets
 * @property {Wallet | null} funder
 * @property {Sender} sender
 * @property {ChainInfo} chain
 * @property {(label: string, done: number, all: number) => void} onProgress
 * @property {(line: string) => void} say
 *
 * @typedef {object} Part logs of one transaction
 * @property {number} first
 * @property {number} amount
 */

const ARTIFACT = new URL('../../contracts/artifacts/Logs.json', import.meta.url);

const TOPIC = id('Item(uint256,uint256,bytes)');
const WRITE = id('write(uint256,uint256,uint256,uint256)').slice(0, 10);

/** Largest share of a block per transaction. */
const SHARE_OF_BLOCK = 5;
/** Below the limit of 2^24 gas per transaction (EIP-7825), with a margin for the estimate. */
const MOST_GAS = 15_000_000;
/** A receipt contains its logs; limit of its size in characters. */
const LONGEST_RECEIPT = 900_000;
/** Characters of a log in a receipt without its data. */
const AROUND_DATA = 1000;
/** Transactions in flight; their receipts are in memory together. */
const WAVE = 32;

/**
 * @param {Tools} tools
 * @returns {Promise<{dataSet: PagedLogs, transactions: number, pagesRead: number}>}
 */
export async function prepareLogs(tools) {
  const { wanted, wallets, sender, chain, onProgress } = tools;
  const gas = await measure(tools);
  const parts = partsOf(wanted.count, logsAtOnce(gas, wanted.bytes, chain.blockGasLimit));
  const gasOfPart = gas.base + gas.perLog * BigInt(parts[0].amount);
  estimateCost(tools, gas.base + gasOfPart * BigInt(parts.length), parts.length);

  const perWallet = BigInt(Math.ceil(parts.length / wallets.length));
  const needWei = (gas.base + gasOfPart * perWallet) * sender.fees.worstPriceWei();
  await topUpWallets(tools, wanted.fundAmountWei ?? needWei);
  const address = await deploy(sender, wallets[0]);
  const blocks = await emit(tools, address, parts);
  /** @type {PagedLogs} */
  const dataSet = {
    chainId: chain.chainId,
    genesisHash: chain.genesisHash,
    address,
    topic: TOPIC,
    count: wanted.count,
    bytes: wanted.bytes,
    pageSize: wanted.pageSize,
    pages: pagesOf(wanted, parts, blocks),
  };
  const pagesRead = await checkPages(sender, dataSet, onProgress);
  return { dataSet, transactions: 1 + parts.length, pagesRead };
}

/** Estimates gas with deployments that emit one and two logs, without sending anything. @param {Tools} tools */
async function measure({ wanted, wallets, sender }) {
  const gasFor = (/** @type {number} */ amount) =>
    estimateGas(sender.rpc, { from: wallets[0].address, data: creation(amount, wanted.bytes) });
  try {
    const one = await gasFor(1);
    const two = await gasFor(2);
    return { base: one > two - one ? one - (two - one) : 0n, perLog: two - one };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new UnavailableError(
      `the node does not let a transaction emit a log of ${wanted.bytes} bytes (${error.message}): give fewer --bytes`,
      error,
    );
  }
}

/** @param {{base: bigint, perLog: bigint}} gas @param {number} bytes @param {number} blockGasLimit */
function logsAtOnce({ base, perLog }, bytes, blockGasLimit) {
  const mostGas = Math.min(MOST_GAS, blockGasLimit / SHARE_OF_BLOCK);
  const byGas = Math.floor((mostGas - Number(base)) / Number(perLog));
  const byReceipt = Math.floor(LONGEST_RECEIPT / (AROUND_DATA + 2 * bytes));
  return Math.max(1, Math.min(byGas, byReceipt));
}

/** @param {number} count @param {number} atOnce @returns {Part[]} */
function partsOf(count, atOnce) {
  return Array.from({ length: Math.ceil(count / atOnce) }, (_, i) => ({
    first: i * atOnce,
    amount: Math.min(atOnce, count - i * atOnce),
  }));
}

/**
 * Checks --max-spend, and prints the estimate where fees are real money.
 * @param {Tools} tools
 * @param {bigint} gas of all transactions
 * @param {number} transactions
 */
function estimateCost({ wanted, sender, chain, say }, gas, transactions) {
  const wei = gas * sender.fees.priceWei();
  if (wanted.maxSpendWei !== null && wei > wanted.maxSpendWei)
    throw new RefusedError(
      `the logs are expected to cost ${rounded(wei)} in fees, and --max-spend allows ${ether(wanted.maxSpendWei)}: make fewer or smaller logs, or raise --max-spend`,
    );
  if (DEV_CHAIN_IDS.has(chain.chainId)) return;
  say(
    `${plural(wanted.count, 'log')} in ${plural(transactions, 'transaction')}, for about ${rounded(wei)} in fees (an estimate)`,
  );
}

/** Tops up the wallets. @param {Tools} tools @param {bigint} needWei */
async function topUpWallets({ wallets, funder, sender, onProgress }, needWei) {
  const missing = shortfalls(wallets, await settleWallets(sender, wallets), needWei);
  if (missing.length === 0) return;
  if (funder === null) throw fundsMissing(missing, needWei);
  await fundFrom(funder, sender, wallets, missing, onProgress);
}

/** @param {Tools['sender']} sender @param {Wallet} wallet @returns {Promise<string>} the contract's address */
async function deploy(sender, wallet) {
  const data = creation(0, 0);
  const address = getCreateAddress({ from: wallet.address, nonce: wallet.nonce });
  const gasLimit = await estimateGas(sender.rpc, { from: wallet.address, data });
  checkExecuted(await sendAll(sender, [{ wallet, to: null, data, value: 0n, gasLimit }]));
  return address;
}

/**
 * Sends the logs in waves. The fee and the funds needed follow the base fee, which full blocks raise.
 * @param {Tools} tools
 * @param {string} address
 * @param {Part[]} parts
 * @returns {Promise<number[]>} block number of each part
 */
async function emit(tools, address, parts) {
  const { wanted, wallets, sender, onProgress } = tools;
  // A receipt can have the size limit of a response, so receipts are not batched.
  const inTurn = { ...sender, rpc: { ...sender.rpc, gather: sender.rpc.call } };
  const call = (/** @type {Part} */ part) => writeCall(part, wanted);
  const from = wallets[0].address;
  const gasLimit = await estimateGas(sender.rpc, { from, to: address, data: call(parts[0]) });
  /** @type {number[]} */
  const blocks = [];
  while (blocks.length < parts.length) {
    const at = blocks.length;
    const wave = parts.slice(at, at + WAVE);
    const latest = await sender.rpc.call('eth_getBlockByNumber', ['latest', false], 'setup');
    sender.fees.observe(baseFeeOf(latest));
    const perWallet = BigInt(Math.ceil(wave.length / wallets.length));
    await topUpWallets(tools, gasLimit * perWallet * sender.fees.worstPriceWei());
    const orders = wave.map((part, i) => {
      const wallet = wallets[(at + i) % wallets.length];
      return { wallet, to: address, data: call(part), value: 0n, gasLimit };
    });
    const receipts = await sendAll(inTurn, orders, (done) => {
      const last = parts[at + done - 1];
      onProgress('making logs', last === undefined ? 0 : last.first + last.amount, wanted.count);
    });
    checkExecuted(receipts);
    blocks.push(...receipts.map(({ blockNumber }) => toNumber(blockNumber)));
  }
  return blocks;
}

/** @param {Receipt[]} receipts */
function checkExecuted(receipts) {
  const failed = receipts.find(({ status }) => toNumber(status) !== 1);
  if (failed !== undefined)
    throw new UnavailableError(
      `transaction ${failed.transactionHash} was reverted, so logs are missing; start again, with fewer --bytes if it ran out of gas`,
    );
}

/**
 * A page may consist of several transactions, mined in any order.
 * @param {{count: number, pageSize: number}} wanted
 * @param {Part[]} parts
 * @param {number[]} blocks of the parts
 * @returns {Page[]}
 */
export function pagesOf({ count, pageSize }, parts, blocks) {
  const atOnce = parts[0].amount;
  return Array.from({ length: Math.ceil(count / pageSize) }, (_, page) => {
    const first = page * pageSize;
    const end = Math.min(count, first + pageSize);
    const own = blocks.slice(Math.floor(first / atOnce), Math.ceil(end / atOnce));
    const [fromBlock, toBlock] = own.reduce(
      ([low, high], block) => [Math.min(low, block), Math.max(high, block)],
      [Infinity, 0],
    );
    return { fromBlock, toBlock, count: end - first };
  });
}

/** @param {number} amount logs that the deployment emits @param {number} bytes */
function creation(amount, bytes) {
  return JSON.parse(readFileSync(ARTIFACT, 'utf8')).bytecode + words(amount, bytes);
}

/** @param {Part} part @param {{bytes: number, pageSize: number}} wanted */
function writeCall({ first, amount }, { bytes, pageSize }) {
  return WRITE + words(first, amount, bytes, pageSize);
}

/** @param {...number} numbers */
function words(...numbers) {
  return AbiCoder.defaultAbiCoder()
    .encode(
      numbers.map(() => 'uint256'),
      numbers,
    )
    .slice(2);
}
