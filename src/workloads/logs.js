import { readFileSync } from 'node:fs';
import { AbiCoder, getCreateAddress, id, isAddress } from 'ethers';
import { baseFeeOf } from '../chain/fees.js';
import { isHash, toHex, toNumber } from '../chain/rpc.js';
import { estimateGas, sendAll } from '../chain/send.js';
import { InputError, RpcError, UnavailableError, displayName } from '../errors.js';
import { writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';

/**
 * `stress prepare logs`: a contract emits logs that a load lists page by page, and a file (the data set) has their
 * positions. Each log has three topics: the event's, the number of its page, and its own number. The pages are read back
 * once.
 *
 * @import { Wallet } from '../chain/keys.js'
 * @import { ChainInfo, DataSet, Page, Receipt, Sender } from '../types.d.ts'
 */

const SCHEMA = 'evm-stress/logs@1';

const ADVICE = 'give a file that stress prepare logs has written';

/** The conditions on the members. @type {Record<string, (value: any, dataSet: any) => boolean>} */
const MEMBERS = {
  chainId: (value) => isWhole(value, 1),
  genesisHash: (value) => value === null || isHash(value),
  address: (value) => isAddress(value),
  topic: isHash,
  count: (value) => isWhole(value, 1),
  bytes: (value) => isWhole(value, 1),
  pageSize: (value) => isWhole(value, 1),
  pages: (pages, { count, pageSize }) =>
    Array.isArray(pages) &&
    pages.length === Math.ceil(count / pageSize) &&
    pages.every((page, i) => isPage(page, Math.min(pageSize, count - i * pageSize))),
};

/**
 * @param {string} file
 * @param {Omit<DataSet, 'schema'>} dataSet
 */
export async function writeDataSet(file, dataSet) {
  await writeFileAtomically(file, `${JSON.stringify({ schema: SCHEMA, ...dataSet })}\n`);
}

/**
 * @param {string} file
 * @returns {DataSet}
 * @throws {InputError}
 */
export function readDataSet(file) {
  const json = readJsonFile(file, { what: 'data set', advice: ADVICE });
  const name = displayName(file);
  if (json?.schema !== SCHEMA) throw new InputError(`${name} is not a data set (schema ${SCHEMA}): ${ADVICE}`);
  const wrong = Object.keys(MEMBERS).find((member) => !MEMBERS[member](json[member], json));
  if (wrong !== undefined) throw new InputError(`${name} is not a valid data set: its "${wrong}" is wrong; ${ADVICE}`);
  return json;
}

/**
 * Chains are identified by their genesis hash too, because development chains share their ids.
 * @param {DataSet} dataSet
 * @param {{chainId: number | null, genesisHash?: string | null}} chain
 * @param {string} file of the data set
 * @throws {InputError}
 */
export function checkSameChain(dataSet, { chainId, genesisHash = null }, file) {
  const advice = 'run stress prepare logs on this chain';
  const name = displayName(file);
  if (dataSet.chainId !== chainId)
    throw new InputError(`${name} is of chain ${dataSet.chainId}, not of chain ${chainId ?? 'unknown'}: ${advice}`);
  if (dataSet.genesisHash !== null && genesisHash !== null && dataSet.genesisHash !== genesisHash)
    throw new InputError(
      `${name} is of another chain ${chainId} with a different genesis block, as after a restart of a development chain: ${advice}`,
    );
}

/**
 * The parameters of eth_getLogs that list a page.
 * @param {Pick<DataSet, 'address' | 'topic' | 'pages'>} dataSet
 * @param {number} number of the page, from 0
 */
export function pageParams({ address, topic, pages }, number) {
  const { fromBlock, toBlock } = pages[number];
  const topics = [topic, `0x${number.toString(16).padStart(64, '0')}`];
  return [{ address, fromBlock: toHex(fromBlock), toBlock: toHex(toBlock), topics }];
}

/** @param {any} page @param {number} count */
function isPage(page, count) {
  return isWhole(page?.fromBlock, 0) && isWhole(page.toBlock, page.fromBlock) && page.count === count;
}

/** @param {unknown} value @param {number} least */
function isWhole(value, least) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) >= least;
}

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
    // With the size limit of load responses.
    const logs = await rpc.call('eth_getLogs', pageParams(dataSet, number), 'load').catch((error) => {
      if (!(error instanceof RpcError)) throw error;
      throw new UnavailableError(`the node does not list page ${number}: ${error.message}; give a smaller --page-size`);
    });
    const wrong = pageError(logs, dataSet, number);
    if (wrong === null) return;
    if (clock.nowUs() > endUs || signal.aborted)
      throw new UnavailableError(
        `page ${number} of the logs differs from what was written: ${wrong}; does the node keep its logs?`,
      );
    await clock.sleep(PAUSE_MS, signal);
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
  return null;
}

/** A topic as a quantity. @param {unknown} topic */
function shortened(topic) {
  return typeof topic === 'string' ? topic.replace(/^0x0+(?=.)/, '0x') : topic;
}

/**
 * @typedef {object} Tools
 * @property {{count: number, bytes: number, pageSize: number, fundAmountWei: bigint | null}} wanted
 * @property {Wallet[]} wallets
 * @property {Sender} sender
 * @property {ChainInfo} chain
 * @property {(gas: bigint, transactions: number) => void} checkCost throws if it is too much
 * @property {(needWei: bigint) => Promise<void>} topUp makes sure that each wallet has as much
 * @property {(label: string, done: number, all: number) => void} onProgress
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
  tools.checkCost(gas.base + gasOfPart * BigInt(parts.length), parts.length);

  const perWallet = BigInt(Math.ceil(parts.length / wallets.length));
  const needWei = (gas.base + gasOfPart * perWallet) * sender.fees.worstPriceWei();
  await tools.topUp(wanted.fundAmountWei ?? needWei);
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
    await tools.topUp(gasLimit * perWallet * sender.fees.worstPriceWei());
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
