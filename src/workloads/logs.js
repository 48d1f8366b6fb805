import { id, isAddress } from 'ethers';
import { toBigInt, toHex } from '../chain/answers.js';
import { InputError, RpcError, UnavailableError, displayName } from '../errors.js';
import { checkWritable, writeFileAtomically } from '../files.js';
import { readJsonFile } from '../json-file.js';
import { readArtifact, selectorOf, word } from './contract-state.js';
import { checkOf } from './receipts.js';

/**
 * The workload `logs`: each operation writes a page of logs. Each log has three topics: the event's, the number of its
 * page, and its own number. The audit reads pages back, and the blocks of all pages are written into a file (--logs),
 * the data set that `--calls pages` lists.
 *
 * @import { Check, DataSet, Rpc } from '../types.d.ts'
 * @import { Preparation, TransactionWorkload } from './contract.d.ts'
 * @import { BuiltInOptions } from './index.js'
 */

const SCHEMA = 'evm-stress/logs@2';

const ADVICE = 'give a file that --workload logs of this version has written';

export const TOPIC = id('Item(uint256,uint256,bytes)');

/** Functions of contracts/Logs.sol. */
const WRITE = selectorOf('write(uint256,uint256)');
const COUNT = selectorOf('count(address)');
const PAGES = selectorOf('pages()');
const BLOCK_OF = selectorOf('blockOf(uint256)');

/** Gas of the contract and of a transaction without logs, of a log without data, and of a byte of data: upper bounds. */
const GAS = Object.freeze({ base: 120_000n, perLog: 5000n, perByte: 14n });

/** Most pages that are read back. */
const MOST_PAGES = 50;

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
        const words = `the node does not let a transaction write ${pageSize} logs of ${bytes} bytes (${error.message})`;
        throw new UnavailableError(`${words}: give a smaller --page-size or fewer --bytes`, error);
      });
    },
    next: () => call,
    ...kit.countedBy((position) => ({ to: call.to, data: COUNT + word(kit.addresses()[position]) })),
    reconcile: async ({ blockNumber, signal }) => {
      const read = async (/** @type {string[]} */ all) => {
        const block = toHex(blockNumber);
        const requests = all.map((data) => ({ method: 'eth_call', params: [{ to: call.to, data }, block] }));
        return (await rpc.batch(requests, 'audit')).map((answer) => Number(toBigInt(answer)));
      };
      const [pages] = await read([PAGES]);
      // A file has the blocks of all pages; without one the others would be read for nothing.
      const numbers = sampleOf(pages, file === null ? MOST_PAGES : pages);
      const found = await read(numbers.map((page) => BLOCK_OF + word(page)));
      /** @type {number[]} */
      const blocks = new Array(pages);
      numbers.forEach((page, i) => (blocks[page] = found[i]));
      const dataSet = { schema: SCHEMA, ...chain, address: call.to, bytes, pageSize, blocks };
      const check = await readBack(rpc, dataSet, signal);
      if (file !== null && check.holds && pages > 0) await writeFileAtomically(file, `${JSON.stringify(dataSet)}\n`);
      const isWritten = file === null || check.holds !== null;
      return [isWritten ? check : { ...check, why: `${check.why}; ${displayName(file)} is not written` }];
    },
    facts: () => ({ address: call.to, bytes, pageSize }),
    handOver: () => call.to,
  };
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
      const wrong = faultOf(await rpc.call('eth_getLogs', [filter], 'check'), page * pageSize, pageSize);
      if (wrong === null) right += 1;
      else fault ||= ` (page ${page}: ${wrong})`;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return checkOf('pages', words, 0, 0, `the node does not list page ${page}: ${error.message}`);
    }
  }
  return checkOf('pages', words, pages.length, `${right}${fault}`, null);
}

/** Numbers of pages, evenly spread. @param {number} count @param {number} most */
function sampleOf(count, most) {
  const amount = Math.min(count, most);
  return Array.from({ length: amount }, (_, i) => Math.floor((i * count) / amount));
}

/** @param {unknown} logs of a page, in any order @param {number} first number of a log @param {number} count */
function faultOf(logs, first, count) {
  if (!Array.isArray(logs)) return 'the result is not a list of logs';
  if (logs.length !== count) return `it has ${logs.length} logs, not ${count}`;
  const ids = new Set(logs.map((log) => Number(log?.topics?.[2])));
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
