import { toNumber } from '../chain/rpc.js';
import { RpcError, UnavailableError } from '../errors.js';
import { pageParams } from '../workload/dataset.js';

/**
 * @import { Rpc } from '../chain/rpc.js'
 * @import { Sender } from '../chain/send.js'
 * @import { DataSet as DatasetDataSet } from '../workload/dataset.js'
 */

/**
 * Pages of logs, as a load will list them, read once before anybody relies on them.
 *
 * @typedef {Omit<DatasetDataSet, 'schema'>} DataSet
 */

/** Of more pages than these only so many are read, from the first to the last. */
const MOST_PAGES = 50;

/** The offset and the length that stand before the data, in bytes. */
const BEFORE_DATA = 64;

/** How long is waited for a node that has the receipts, but not yet the logs, in milliseconds. */
const SETTLE_MS = 5000;
const PAUSE_MS = 200;

/**
 * @param {Pick<Sender, 'rpc' | 'clock' | 'signal'>} sender
 * @param {DataSet} dataSet
 * @param {(label: string, done: number, all: number) => void} onProgress
 * @returns {Promise<number>} how many pages were read
 * @throws {UnavailableError} one is not as it must be
 */
export async function checkPages(sender, dataSet, onProgress) {
  const numbers = sampleOf(dataSet.pages.length);
  for (const [i, number] of numbers.entries()) {
    await checkPage(sender, dataSet, number);
    onProgress('reading pages back', i + 1, numbers.length);
  }
  return numbers.length;
}

/** @param {number} pages @returns {number[]} numbers of pages, evenly spread */
export function sampleOf(pages) {
  const amount = Math.min(pages, MOST_PAGES);
  return Array.from({ length: amount }, (_, i) => (amount === 1 ? 0 : Math.round((i * (pages - 1)) / (amount - 1))));
}

/** @param {Parameters<typeof checkPages>[0]} sender @param {DataSet} dataSet @param {number} number */
async function checkPage({ rpc, clock, signal }, dataSet, number) {
  const endUs = clock.nowUs() + SETTLE_MS * 1000;
  for (;;) {
    const wrong = whatIsWrong(await readPage(rpc, dataSet, number), dataSet, number);
    if (wrong === null) return;
    if (clock.nowUs() > endUs || signal.aborted)
      throw new UnavailableError(
        `page ${number} of the logs does not come back as it was made: ${wrong}; does the node keep its logs?`,
      );
    await clock.sleep(PAUSE_MS, signal);
  }
}

/** @param {Rpc} rpc @param {DataSet} dataSet @param {number} number */
async function readPage(rpc, dataSet, number) {
  try {
    // It is as large as the user wants it, as it is for the load.
    return await rpc.call('eth_getLogs', pageParams(dataSet, number), 'load');
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new UnavailableError(`the node does not list page ${number}: ${error.message}; give a smaller --page-size`);
  }
}

/**
 * @param {unknown} logs
 * @param {DataSet} dataSet
 * @param {number} number of the page
 * @returns {string | null}
 */
export function whatIsWrong(logs, { bytes, pageSize, pages }, number) {
  if (!Array.isArray(logs)) return 'the answer is no list of logs';
  const { count } = pages[number];
  if (logs.length !== count) return `it has ${logs.length} logs, not ${count}`;
  const first = number * pageSize;
  const ids = new Set(logs.map((log) => toNumber(shortened(log?.topics?.[2]))));
  if (ids.size !== count || [...ids].some((id) => id < first || id >= first + count))
    return `they are not the logs ${first}..${first + count - 1}`;
  const length = 2 + 2 * (BEFORE_DATA + Math.ceil(bytes / 32) * 32);
  if (logs.some(({ data }) => data?.length !== length)) return `not all of them have ${bytes} bytes`;
  const isRepeated = bytes >= 32 && new Set(logs.map(({ data }) => data)).size < count;
  return isRepeated ? 'some of them are alike' : null;
}

/** A topic as a quantity. @param {unknown} topic */
function shortened(topic) {
  return typeof topic === 'string' ? topic.replace(/^0x0+(?=.)/, '0x') : topic;
}
