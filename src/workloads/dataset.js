import { readFileSync, statSync } from 'node:fs';
import { isAddress } from 'ethers';
import { toHex } from '../chain/rpc.js';
import { InputError, displayName, oneLine } from '../errors.js';
import { writeFileAtomically } from '../files.js';

/**
 * The file of `stress prepare logs`: logs on a chain that a load lists page by page. Each log has three topics: the
 * event's, the number of its page, and its own number.
 *
 * @import { DataSet } from '../types.d.ts'
 */

const SCHEMA = 'evm-stress/logs@1';

const HASH = /^0x[0-9a-f]{64}$/i;

const ADVICE = 'give a file that stress prepare logs has written';

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
  const json = parse(file);
  const name = displayName(file);
  if (json?.schema !== SCHEMA) throw new InputError(`${name} is not a data set (schema ${SCHEMA}): ${ADVICE}`);
  const fault = findFault(json);
  if (fault !== null) throw new InputError(`${name} is not a valid data set: ${fault}; ${ADVICE}`);
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

/** @param {string} file @returns {any} */
function parse(file) {
  let text;
  try {
    // Reading a device or a pipe might not end.
    if (!statSync(file).isFile()) throw new InputError(`the data set ${displayName(file)} is not a file: ${ADVICE}`);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof InputError) throw error;
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const words = code === 'ENOENT' ? 'there is no such file' : oneLine(message);
    throw new InputError(`cannot read the data set ${displayName(file)}: ${words}`, error);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(`${displayName(file)} is not valid JSON: ${ADVICE}`, error);
  }
}

/**
 * Not a JSON Schema, because most of the rules are about relations between members.
 * @param {any} json
 * @returns {string | null}
 */
function findFault({ chainId, genesisHash, address, topic, count, bytes, pageSize, pages }) {
  const numbers = Object.entries({ chainId, count, bytes, pageSize });
  const [bad] = numbers.find(([, value]) => !isWhole(value, 1)) ?? [];
  if (bad !== undefined) return `"${bad}" is not a positive whole number`;
  if (genesisHash !== null && !isHash(genesisHash)) return '"genesisHash" is neither null nor a hash';
  if (typeof address !== 'string' || !isAddress(address)) return '"address" is not an address';
  if (!isHash(topic)) return '"topic" is not a hash';
  if (!Array.isArray(pages)) return '"pages" is not an array';
  const expected = Math.ceil(count / pageSize);
  if (pages.length !== expected)
    return `it has ${pages.length} pages, and ${count} logs in pages of ${pageSize} need ${expected}`;
  const at = pages.findIndex((page, i) => !isPage(page, i < expected - 1 ? pageSize : count - i * pageSize));
  return at < 0 ? null : `page ${at} is not {fromBlock, toBlock, count} with the expected count`;
}

/** @param {any} page @param {number} count */
function isPage(page, count) {
  return isWhole(page?.fromBlock, 0) && isWhole(page.toBlock, page.fromBlock) && page.count === count;
}

/** @param {unknown} value */
function isHash(value) {
  return typeof value === 'string' && HASH.test(value);
}

/** @param {unknown} value @param {number} least */
function isWhole(value, least) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) >= least;
}
