import { isAddress } from 'ethers/address';
import { id } from 'ethers/hash';
import { ask, countOf, logsOf, toHex, transactionOf } from '../chain/answers.js';
import { InputError, RpcError, StressError, UnavailableError, displayName } from '../errors.js';
import { checkWritable, writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';
import { readArtifact, selectorOf, word } from './contract-state.js';
import { MAX_AUDIT_MS, checkOf } from './receipts.js';
import { counted, partOf } from '../text.js';

/**
 * The workload `logs`: each operation writes a page of logs. Each log has three topics: the event's, the number of its
 * page, and its own number. The audit lists the pages of the run by an event that each page has once, and reads pages
 * back. The blocks of all pages are written into a file (--logs), the data set that `--calls pages` lists.
 *
 * @import { ChainLog, Rpc } from '../contracts/chain.d.ts'
 * @import { Check } from '../contracts/load.d.ts'
 * @import { Preparation, TransactionWorkload } from '../contracts/workload.d.ts'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {object} DataSet
 * @property {string} schema
 * @property {number} chainId
 * @property {string | null} genesisHash null if the node has pruned its genesis block
 * @property {string} address
 * @property {number} bytes of data of each log
 * @property {number} pageSize logs per page
 * @property {number[]} blocks numbers of the blocks, by page
 */

const SCHEMA = 'evm-stress/logs@2';

const ADVICE = 'give a file that --workload logs of this version has written';

export const TOPIC = id('Item(uint256,uint256,bytes)');
export const PAGE_TOPIC = id('Page(uint256)');

/** Functions of contracts/Logs.sol. */
const WRITE = selectorOf('write(uint256,uint256)');
const COUNT = selectorOf('count(address)');
const PAGES = selectorOf('pages()');

/** Gas of the contract and of a transaction without logs, of a log without data, and of a byte of data: upper bounds. */
const GAS = Object.freeze({ base: 120_000n, perLog: 5000n, perByte: 14n });

/** Most pages that are read back. */
const MOST_PAGES = 50;

/** Blocks whose pages are listed by one call, until the node refuses as many. */
const BLOCKS_AT_ONCE = 50;

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export default function create({ kit, rpc, settings, state }) {
  const { logs: file = null } = settings;
  const [pageSize, bytes] = [settings.pageSize ?? 100, settings.logBytes ?? 10_240];
  const data = WRITE + word(pageSize) + word(bytes) + kit.tag;
  let call = { to: state ?? '', data };
  /** @type {Preparation['chain']} */
  let chain;
  return {
    kind: 'transaction',
    subject: 'wallets wrote pages:',
    valueWei: 0n,
    // The first wallet deploys the contract.
    gas: {
      perWallet: 500_000n,
      perOperation: GAS.base + BigInt(pageSize) * (GAS.perLog + GAS.perByte * BigInt(bytes)),
    },
    unprepared: async () => 1,
    prepare: async ({ wallets: [{ address: from }], chain: { chainId, genesisHash } }) => {
      if (file !== null) await checkWritable(file);
      chain = { chainId, genesisHash };
      call = { to: await kit.deployOnce(readArtifact('Logs')), data };
      await kit.estimateGas({ from, ...call }).catch((error) => {
        if (!(error instanceof RpcError)) throw error;
        const words = `the node does not let a transaction write ${counted(pageSize, 'log')} of ${bytes} bytes (${error.message})`;
        throw new UnavailableError(`${words}: give a smaller --page-size or fewer --bytes`, error);
      });
    },
    next: () => call,
    ...kit.countedBy((position) => ({ to: call.to, data: COUNT + word(kit.addresses()[position]) })),
    reconcile: async ({ startBlock, blockNumber: to, signal }) => {
      const pages = Number(await ask(rpc, countOf({ to: call.to, data: PAGES }, to), 'audit'));
      // A data set needs the whole list, and a check does not.
      const end = file === null ? AbortSignal.any([signal, AbortSignal.timeout(MAX_AUDIT_MS)]) : signal;
      const { check, blocks } = await listPages(rpc, { address: call.to, from: startBlock + 1, to, pages }, end);
      const dataSet = { schema: SCHEMA, ...chain, address: call.to, bytes, pageSize, blocks };
      const checks = check.holds ? [check, await readBack(rpc, dataSet, end)] : [check];
      if (file === null) return checks;
      const isRight = checks.every(({ holds }) => holds);
      if (isRight && pages > 0) await writeFileAtomically(file, `${JSON.stringify(dataSet)}\n`);
      return checks.map((one) =>
        one.holds === null ? { ...one, why: `${one.why}; ${displayName(file)} is not written` } : one,
      );
    },
    facts: () => ({ address: call.to, bytes, pageSize }),
    handOver: () => call.to,
  };
}

/**
 * Lists the pages in a range of blocks, each of which must be there once.
 * @param {Pick<Rpc, 'call'>} rpc
 * @param {{address: string, from: number, to: number, pages: number}} run its blocks, and how many pages the contract has
 * @param {AbortSignal} signal
 * @returns {Promise<{check: Check, blocks: number[]}>} blocks: of each page that is listed
 */
export async function listPages(rpc, { address, from, to, pages }, signal) {
  const words = 'pages that the node lists once';
  /** @param {string} why */
  const unknown = (why) => ({ check: checkOf('list', words, 0, 0, why), blocks: [] });
  /** @type {number[]} */
  const blocks = new Array(pages);
  let right = 0;
  let fault = '';
  for (let [at, size] = [from, BLOCKS_AT_ONCE]; at <= to;) {
    if (signal.aborted) return unknown(`there was time for ${partOf(at - from, to - from + 1, 'block')}`);
    const last = Math.min(at + size - 1, to);
    try {
      const filter = { address, fromBlock: toHex(at), toBlock: toHex(last), topics: [PAGE_TOPIC] };
      for (const { topics, blockNumber: block } of await ask(rpc, logsOf(filter), 'check')) {
        const page = Number(topics[1]);
        if (blocks[page] === undefined && page < pages) {
          blocks[page] = block;
          right += 1;
        } else fault ||= ` (page ${page} in block ${block} is listed twice, or there is no such page)`;
      }
      at = last + 1;
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      // Nodes and gateways limit the blocks, the logs or the bytes of an answer.
      if (size === 1) return unknown(`the node does not list the pages of block ${at}: ${error.message}`);
      size = Math.ceil(size / 2);
    }
  }
  const missing = blocks.findIndex((block) => block === undefined);
  if (missing !== -1) fault ||= ` (page ${missing} is not listed)`;
  return { check: checkOf('list', words, pages, `${right}${fault}`, null), blocks };
}

/**
 * @param {Pick<Rpc, 'call'>} rpc
 * @param {Pick<DataSet, 'address' | 'pageSize' | 'blocks'>} dataSet
 * @param {AbortSignal} signal
 * @returns {Promise<Check>}
 */
export async function readBack(rpc, { address, pageSize, blocks }, signal) {
  const pages = sampleOf(blocks.length, MOST_PAGES);
  const words = 'pages that were read back with the expected logs';
  let right = 0;
  let fault = '';
  for (const page of pages) {
    if (signal.aborted) return checkOf('pages', words, 0, 0, `there was time for ${right} pages`);
    const block = toHex(blocks[page]);
    const filter = { address, fromBlock: block, toBlock: block, topics: [TOPIC, `0x${word(page)}`] };
    try {
      // Answers to a check have the size limit of those to the load.
      const logs = await ask(rpc, logsOf(filter), 'check');
      const wrong =
        faultOf(logs, page * pageSize, pageSize) ?? (await otherBlock(rpc, logs[0].transactionHash, blocks[page]));
      if (wrong === null) right += 1;
      else fault ||= ` (page ${page}: ${wrong})`;
    } catch (error) {
      if (!(error instanceof StressError)) throw error;
      return checkOf('pages', words, 0, 0, `page ${page} cannot be read back: ${error.message}`);
    }
  }
  return checkOf('pages', words, pages.length, `${right}${fault}`, null);
}

/**
 * The block of a page is known from its logs only, so the transaction is asked for its block too.
 * @param {Pick<Rpc, 'call'>} rpc
 * @param {string} hash of the transaction
 * @param {number} block of its logs
 * @returns {Promise<string | null>} null: the same, or nodes that do not keep transactions by hash
 */
async function otherBlock(rpc, hash, block) {
  const found = (await ask(rpc, transactionOf(hash), 'check'))?.blockNumber ?? block;
  return found === block ? null : `its transaction is in block ${found}, and its logs are in block ${block}`;
}

/** Numbers of pages, evenly spread. @param {number} count @param {number} most */
function sampleOf(count, most) {
  const amount = Math.min(count, most);
  return Array.from({ length: amount }, (_, i) => Math.floor((i * count) / amount));
}

/** @param {ChainLog[]} logs of a page, in any order @param {number} first number of a log @param {number} count */
function faultOf(logs, first, count) {
  if (logs.length !== count) return `it has ${counted(logs.length, 'log')}, not ${count}`;
  const ids = new Set(logs.map(({ topics }) => Number(topics[2])));
  const isPage = ids.size === count && [...ids].every((id) => id >= first && id < first + count);
  return isPage ? null : `they are not logs ${first}..${first + count - 1}`;
}

/** @param {string} file @returns {DataSet} @throws {InputError} */
export function readDataSet(file) {
  const json = readJsonFile(file, { what: 'data set', advice: ADVICE });
  const { schema, chainId, address, bytes, pageSize, blocks } = json ?? {};
  const areNumbers = Array.isArray(blocks) && [chainId, bytes, pageSize, ...blocks].every(Number.isSafeInteger);
  if (schema === SCHEMA && isAddress(address) && areNumbers && blocks.length > 0) return json;
  throw new InputError(`${displayName(file)} is not a data set (schema ${SCHEMA}): ${ADVICE}`);
}

/**
 * Chains are identified by their genesis hash too, because development chains share their ids.
 * @param {DataSet} dataSet
 * @param {{chainId: number | null, genesisHash?: string | null}} chain
 * @param {string} file of the data set
 * @throws {InputError}
 */
export function checkSameChain(dataSet, { chainId, genesisHash = null }, file) {
  const isOther = dataSet.genesisHash !== null && genesisHash !== null && dataSet.genesisHash !== genesisHash;
  if (dataSet.chainId === chainId && !isOther) return;
  const which =
    dataSet.chainId === chainId
      ? `of another chain ${chainId} with a different genesis block, as after a restart of a development chain`
      : `of chain ${dataSet.chainId}, not of chain ${chainId ?? 'unknown'}`;
  throw new InputError(`${displayName(file)} is ${which}: write logs to this chain with --workload logs --logs FILE`);
}
