import { Agent, request } from 'undici';
import { displayUrl, secretsOf } from '../chain/rpc.js';
import { oneLine, withoutControl } from '../errors.js';

/** @import { MetricsReading } from '../types.d.ts' */

/**
 * A probe of a node's Prometheus page, and a parser of its text format, version 0.0.4.
 *
 * @typedef {object} PrometheusSample
 * @property {string} name of the metric
 * @property {string} key the name and the labels as on the page, unique per series
 * @property {number} value may be NaN or infinite
 */

/** The name, the labels, the value and what follows it. geth writes a space before the labels. */
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:[ \t]*(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})[ \t]*|[ \t]+)([^ \t]+)(.*)$/;
/** A time stamp, and an exemplar of OpenMetrics. */
const AFTER_VALUE = /^(-?\d+(\.\d+)?)?\s*(#.*)?$/;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** @type {Readonly<Record<string, number>>} */
const SPECIAL = Object.freeze({ nan: NaN, inf: Infinity, '+inf': Infinity, '-inf': -Infinity });

/**
 * @param {string} text
 * @returns {PrometheusSample[]}
 * @throws {Error} naming the first malformed line
 */
export function parsePrometheus(text) {
  return text.split('\n').flatMap((raw, i) => {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) return [];
    const [, name, labels = '', number = '', after = ''] = SAMPLE.exec(line) ?? [];
    const word = number.toLowerCase();
    const isValue = NUMBER.test(number) || Object.hasOwn(SPECIAL, word);
    if (!isValue || !AFTER_VALUE.test(after.trim()))
      throw new Error(`line ${i + 1} is not in the text format of Prometheus`);
    return { name, key: labels === '{}' ? name : name + labels, value: SPECIAL[word] ?? Number(number) };
  });
}

const TIMEOUT_MS = 900;
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
const MAX_SERIES = 100;
const MAX_KEY_CHARS = 500;

/**
 * The default series: the first of these lists with any series on the page. The names are those of geth 1.17 and
 * AvalancheGo 1.13; the last list is common to Go programs.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const PRESETS = Object.freeze({
  geth: namesIn(`
    chain_head_block chain_mgasps txpool_pending txpool_queued txpool_valid txpool_invalid txpool_underpriced
    txpool_overflowed rpc_requests rpc_failure system_cpu_procload_total system_cpu_goroutines system_cpu_threads
    system_memory_used system_memory_held system_memory_pauses_count system_disk_readbytes system_disk_writebytes`),
  avalanchego: namesIn(`
    avalanche_evm_eth_chain_txs_accepted avalanche_evm_eth_chain_block_gas_used_accepted
    avalanche_evm_eth_chain_block_inserts_count avalanche_evm_eth_chain_block_executions
    avalanche_evm_eth_chain_block_writes avalanche_evm_eth_chain_acceptor_queue_size
    avalanche_evm_eth_chain_latest_basefee avalanche_evm_eth_txpool_pending avalanche_evm_eth_txpool_queued
    avalanche_evm_eth_txpool_valid avalanche_evm_eth_txpool_invalid avalanche_evm_eth_txpool_underpriced
    avalanche_snowman_blks_accepted_count avalanche_snowman_blks_processing
    avalanche_process_process_cpu_seconds_total avalanche_process_process_resident_memory_bytes
    avalanche_process_process_open_fds avalanche_process_go_goroutines
    avalanche_process_go_memstats_heap_inuse_bytes avalanche_process_go_gc_duration_seconds_sum`),
  go: namesIn('go_goroutines process_cpu_seconds_total process_resident_memory_bytes'),
});

/** @param {string} text */
function namesIn(text) {
  return text.trim().split(/\s+/);
}

/**
 * @param {object} options
 * @param {URL} options.url of the page; may contain credentials
 * @param {readonly string[] | null} options.series names of metrics, with all their labels; null: the defaults
 * @param {boolean} [options.insecure] true: any certificate is accepted
 */
export function createMetricsProbe({ url, series, insecure = false }) {
  const agent = new Agent({ connections: 1, connect: { rejectUnauthorized: !insecure } });
  return {
    /** @returns {Promise<MetricsReading>} */
    sample: async () => {
      try {
        const samples = parsePrometheus(await fetchPage(url, agent));
        return { series: chosen(samples, series) };
      } catch (error) {
        throw new Error(`${displayUrl(url)}: ${reasonOf(/** @type {Error} */ (error), url)}`, { cause: error });
      }
    },
    close: () => void agent.destroy().catch(() => {}),
  };
}

/** @param {URL} url @param {Agent} dispatcher @returns {Promise<string>} */
async function fetchPage(url, dispatcher) {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  const { statusCode, body } = await request(bare, { dispatcher, signal, headers: headersFor(url) });
  if (statusCode !== 200) {
    // The body is not needed, and ends with the connection.
    body.on('error', () => {}).destroy();
    throw new Error(`HTTP ${statusCode}: not a Prometheus page`);
  }
  const chunks = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    sizeBytes += chunk.length;
    // Leaving the loop ends the connection.
    if (sizeBytes > MAX_PAGE_BYTES) throw new Error(`the page is larger than ${MAX_PAGE_BYTES / 1024 / 1024} MB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** @param {URL} url @returns {Record<string, string>} */
function headersFor({ username, password }) {
  const accept = 'text/plain;version=0.0.4';
  if (username === '' && password === '') return { accept };
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { accept, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/**
 * @param {PrometheusSample[]} samples
 * @param {readonly string[] | null} series
 */
function chosen(samples, series) {
  if (samples.length === 0) throw new Error('there is no series on the page');
  const numbers = samples.filter(({ value }) => Number.isFinite(value));
  for (const list of series === null ? Object.values(PRESETS) : [series]) {
    const names = new Set(list);
    const found = numbers.filter(({ name }) => names.has(name));
    // Object.fromEntries, because a metric may be called __proto__.
    const series = found.slice(0, MAX_SERIES).map(({ key, value }) => [withoutControl(key, MAX_KEY_CHARS), value]);
    if (found.length > 0) return Object.fromEntries(series);
  }
  throw new Error(
    series === null
      ? 'none of the known series is on the page: choose some with --node-series'
      : 'none of the series of --node-series is on the page with a number',
  );
}

/** @param {Error & {code?: string}} error @param {URL} url whose secrets the message may repeat */
function reasonOf(error, url) {
  if (error.name === 'TimeoutError') return `no page within ${TIMEOUT_MS} ms`;
  if (error.code === 'ECONNREFUSED') return 'connection refused';
  return oneLine(error.message || error.code || error.name, 150, secretsOf(url));
}
