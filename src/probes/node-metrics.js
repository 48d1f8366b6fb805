import { Agent } from 'undici';
import { displayUrl, secretsOf } from '../chain/rpc.js';
import { oneLine, withoutControl } from '../errors.js';
import { fetchPage } from '../node-page.js';

/** @import { MetricsReading } from '../contracts/run-file.d.ts' */

/** A probe of a node's Prometheus page. */

/** The name, the labels and the value of a series. geth writes a space before the labels. */
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:[ \t]*(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})[ \t]*|[ \t]+)(\S+)/;

/** The default series: of geth and AvalancheGo, and what programs in Go have in common. */
const USUAL =
  /(^|_)(chain_(head_block|mgasps|txs_accepted|block_(gas_used_accepted|executions|inserts_count|writes))|chain_(acceptor_queue_size|latest_basefee)|blks_(accepted_count|processing)|txpool_(pending|queued|valid|invalid|underpriced|overflowed)|rpc_(requests|failure)|cpu_((procload|seconds)_total|threads)|memory_(used|held|pauses_count)|(resident_memory|heap_inuse)_bytes|gc_duration_seconds_sum|disk_(read|write)bytes|open_fds|goroutines)$/;

const TIMEOUT_MS = 900;
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
const MAX_SERIES = 100;
const MAX_KEY_CHARS = 500;

/**
 * The series of a page in the text format of Prometheus; key: name and labels. Values that are not finite, which JSON
 * cannot represent, are left out, as are lines that are no series.
 * @param {string} text
 */
export function parsePrometheus(text) {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    return Number.isFinite(Number(value)) ? { name, key: name + labels, value: Number(value) } : [];
  });
}

/**
 * @param {object} options
 * @param {URL} options.url of the page; may contain credentials
 * @param {readonly string[] | null} options.series names of metrics, with all their labels; null: the usual ones
 * @param {boolean} [options.insecure] true: any certificate is accepted
 */
export function createMetricsProbe({ url, series, insecure = false }) {
  const connect = { rejectUnauthorized: !insecure };
  const agent = new Agent({ connections: 1, maxResponseSize: MAX_PAGE_BYTES, connect });
  return {
    /** @returns {Promise<MetricsReading>} */
    sample: async () => {
      try {
        return { series: chosen(parsePrometheus(await readPage(url, agent)), series) };
      } catch (error) {
        throw new Error(`${displayUrl(url)}: ${reasonOf(/** @type {Error} */ (error), url)}`, { cause: error });
      }
    },
    close: () => void agent.destroy().catch(() => {}),
  };
}

/** @param {URL} url @param {Agent} dispatcher @returns {Promise<string>} */
async function readPage(url, dispatcher) {
  const { statusCode, body } = await fetchPage(url, { dispatcher, signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (statusCode !== 200) throw new Error(`HTTP ${statusCode}`);
  return body.toString('utf8');
}

/**
 * @param {ReturnType<typeof parsePrometheus>} samples
 * @param {readonly string[] | null} series
 * @returns {Record<string, number>}
 */
function chosen(samples, series) {
  if (samples.length === 0) throw new Error('there is no series of Prometheus on the page');
  const found = samples.filter(({ name }) => (series === null ? USUAL.test(name) : series.includes(name)));
  if (found.length === 0)
    throw new Error(
      series === null
        ? 'none of the known series is on the page: choose some with --node-series'
        : 'none of the series of --node-series is on the page with a number',
    );
  // Object.fromEntries, because a metric may be called __proto__.
  return Object.fromEntries(
    found.slice(0, MAX_SERIES).map(({ key, value }) => [withoutControl(key, MAX_KEY_CHARS), value]),
  );
}

/** @param {Error & {code?: string}} error @param {URL} url whose secrets the message may repeat */
function reasonOf(error, url) {
  if (error.name === 'TimeoutError') return `no page within ${TIMEOUT_MS} ms`;
  if (error.code === 'ECONNREFUSED') return 'connection refused';
  if (error.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return `the page is larger than ${MAX_PAGE_BYTES / 1024 / 1024} MB`;
  return oneLine(error.message || error.code || error.name, 150, secretsOf(url));
}
