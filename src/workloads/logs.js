import { id, isAddress } from 'ethers';
import { isHash, toBigInt, toHex } from '../chain/rpc.js';
import { InputError, RpcError, UnavailableError, displayName } from '../errors.js';
import { checkWritable, writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';
import { readArtifact } from './contract-state.js';
import { checkOf } from './receipts.js';

/**
 * The workload `logs`: each operation writes a page of logs. Each log has three topics: the event's, the number of its
 * page, and its own number. The audit reads pages back, and the positions of all pages are written into a file (--logs),
 * the data set that `--calls pages` lists.
 *
 * @import { AuditSnapshot, Check, DataSet, Rpc } from '../types.d.ts'
 * @import { Call, Preparation, TransactionWorkload } from './contract.d.ts'
 * @import { BuiltInOptions } from './index.js'
 *
 * @typedef {{call: Call, addresses: string[]}} LogsState for a worker thread; addresses: of its wallets
 */

const SCHEMA = 'evm-stress/logs@1';

const ADVICE = 'give a file that --workload logs has written';

const TOPIC = id('Item(uint256,uint256,bytes)');

/** Function selectors of contracts/Logs.sol. */
const [WRITE, COUNT, PAGES, BLOCK_OF] = ['write(uint256,uint256)', 'count(address)', 'pages()', 'blockOf(uint256)'].map(
  (signature) => id(signature).slice(0, 10),
);

/** Gas of the contract and of a transaction without logs, of a log without data, and of a byte of data: upper bounds. */
const GAS = Object.freeze({ base: 120_000n, perLog: 5000n, perByte: 14n });

/** Most pages that are read back, evenly spread. */
const MOST_PAGES = 50;

/** Bytes of offset and length before the data (ABI). */
const BEFORE_DATA = 64;

/** @param {BuiltInOptions} options @returns {TransactionWorkload} */
export function createLogs({ kit, rpc, settings, state: given }) {
  const { logs: file = null } = settings;
  const [pageSize, bytes] = [settings.pageSize ?? 100, settings.logBytes ?? 10_240];
  const state = /** @type {LogsState | undefined} */ (given);
  let call = state?.call ?? { to: '', data: '' };
  let addresses = state?.addresses ?? [];
  /** @type {Preparation['chain']} */
  let chain;
  const { verify, audit } = kit.countedBy((position) => {
    return { to: String(call.to), data: COUNT + word(BigInt(addresses[position])) };
  });
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
    prepare: async ({ wallets, chain: { chainId, genesisHash } }) => {
      if (file !== null) await checkWritable(file);
      chain = { chainId, genesisHash };
      addresses = wallets.map(({ address }) => address);
      const to = await kit.deployOnce(readArtifact('Logs'));
      const data = WRITE + word(pageSize) + word(bytes) + kit.tag;
      const gasLimit = await kit.estimateGas({ from: addresses[0], to, data }).catch((error) => {
        if (!(error instanceof RpcError)) throw error;
        throw new UnavailableError(
          `the node does not let a transaction write ${pageSize} logs of ${bytes} bytes (${error.message}): give a smaller --page-size or fewer --bytes`,
          error,
        );
      });
      call = { to, data, value: 0n, gasLimit };
    },
    next: () => call,
    verify,
    audit,
    reconcile: async ({ blockNumber, signal }) => {
      const dataSet = await readPages({ ...chain, address: String(call.to), bytes, pageSize }, blockNumber);
      const check = await readBack(rpc, dataSet, signal);
      if (file !== null && check.holds && dataSet.count > 0)
        await writeFileAtomically(file, `${JSON.stringify({ schema: SCHEMA, ...dataSet })}\n`);
      const isWritten = file === null || check.holds !== null;
      return [isWritten ? check : { ...check, why: `${check.why}; ${displayName(file)} is not written` }];
    },
    facts: () => ({ address: call.to, bytes, pageSize }),
    handOver: (first, count) => ({ call, addresses: addresses.slice(first, first + count) }),
  };

  /** @param {Pick<DataSet, 'chainId' | 'genesisHash' | 'address' | 'bytes' | 'pageSize'>} logs @param {number} blockNumber */
  async function readPages(logs, blockNumber) {
    const block = toHex(blockNumber);
    const requestOf = (/** @type {string} */ data) => {
      return { method: 'eth_call', params: [{ to: logs.address, data }, block] };
    };
    const [written] = await rpc.batch([requestOf(PAGES)], 'audit');
    /** @type {DataSet['pages']} */
    const pages = new Array(Number(toBigInt(written)));
    // A file has all positions; without one the others would be read for nothing.
    const numbers = file === null ? sampleOf(pages.length) : [...pages.keys()];
    const requests = numbers.map((page) => requestOf(BLOCK_OF + word(page)));
    (await rpc.batch(requests, 'audit')).forEach((answer, i) => {
      const block = Number(toBigInt(answer));
      pages[numbers[i]] = { fromBlock: block, toBlock: block, count: pageSize };
    });
    return { ...logs, topic: TOPIC, count: pages.length * pageSize, pages };
  }
}

/**
 * @param {Pick<Rpc, 'call'>} rpc
 * @param {Omit<DataSet, 'schema'>} dataSet
 * @param {AuditSnapshot['signal']} signal
 * @returns {Promise<Check>}
 */
export async function readBack(rpc, dataSet, signal) {
  const numbers = sampleOf(dataSet.pages.length);
  const words = `pages with the expected logs, of ${numbers.length} pages read back`;
  let right = 0;
  let fault = '';
  for (const number of numbers) {
    if (signal.aborted) return checkOf('pages', words, 0, 0, `there was time for ${right} pages`);
    try {
      // Answers to a check have the size limit of those to the load.
      const wrong = pageError(await rpc.call('eth_getLogs', pageParams(dataSet, number), 'check'), dataSet, number);
      if (wrong === null) right += 1;
      else fault ||= ` (page ${number}: ${wrong})`;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return checkOf('pages', words, 0, 0, `the node does not list page ${number}: ${error.message}`);
    }
  }
  return checkOf('pages', words, numbers.length, `${right}${fault}`, null);
}

/** The pages that are read back, evenly spread. @param {number} count */
function sampleOf(count) {
  const amount = Math.min(count, MOST_PAGES);
  return Array.from({ length: amount }, (_, i) => Math.floor((i * count) / amount));
}

/** @param {unknown} logs @param {Pick<DataSet, 'bytes' | 'pageSize' | 'pages'>} dataSet @param {number} number of the page */
function pageError(logs, { bytes, pageSize, pages }, number) {
  if (!Array.isArray(logs)) return 'the result is not a list of logs';
  const { count } = pages[number];
  if (logs.length !== count) return `it has ${logs.length} logs, not ${count}`;
  const first = number * pageSize;
  const ids = new Set(logs.map((log) => Number(log?.topics?.[2])));
  if (ids.size !== count || [...ids].some((id) => !(id >= first && id < first + count)))
    return `they are not logs ${first}..${first + count - 1}`;
  const length = 2 + 2 * (BEFORE_DATA + Math.ceil(bytes / 32) * 32);
  return logs.every(({ data }) => data?.length === length) ? null : `not all of them have ${bytes} bytes`;
}

/** The parameters of eth_getLogs that list a page. @param {Pick<DataSet, 'address' | 'topic' | 'pages'>} dataSet @param {number} number of the page, from 0 */
function pageParams({ address, topic, pages }, number) {
  const { fromBlock, toBlock } = pages[number];
  return [{ address, fromBlock: toHex(fromBlock), toBlock: toHex(toBlock), topics: [topic, `0x${word(number)}`] }];
}

/** 32 bytes of calldata, or of a topic. @param {number | bigint} value */
function word(value) {
  return value.toString(16).padStart(64, '0');
}

/** The conditions on the members of a data set. @type {Record<string, (value: any, dataSet: any) => boolean>} */
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

/** @param {any} page @param {number} count */
function isPage(page, count) {
  return isWhole(page?.fromBlock, 0) && isWhole(page.toBlock, page.fromBlock) && page.count === count;
}

/** @param {unknown} value @param {number} least */
function isWhole(value, least) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) >= least;
}

/** @param {string} file @returns {DataSet} @throws {InputError} */
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
  const advice = 'write logs to this chain with --workload logs --logs FILE';
  const name = displayName(file);
  if (dataSet.chainId !== chainId)
    throw new InputError(`${name} is of chain ${dataSet.chainId}, not of chain ${chainId ?? 'unknown'}: ${advice}`);
  if (dataSet.genesisHash !== null && genesisHash !== null && dataSet.genesisHash !== genesisHash)
    throw new InputError(
      `${name} is of another chain ${chainId} with a different genesis block, as after a restart of a development chain: ${advice}`,
    );
}
