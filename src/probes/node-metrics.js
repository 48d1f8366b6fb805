import { displayUrl, secretsOf } from '../chain/rpc.js';
import { oneLine, withoutControl } from '../errors.js';
import { readPage } from '../node-page.js';

/**
 * A probe of the Prometheus pages of nodes.
 *
 * @import { MetricsPage } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { OpenPages } from '../contracts/load.d.ts'
 * @import { MetricsReading } from '../contracts/run-file.d.ts'
 */

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
 * @param {readonly MetricsPage[]} options.pages at least one; their URLs may contain credentials
 * @param {readonly string[] | null} options.series names of metrics, with all their labels; null: the usual ones
 * @param {Clock} options.clock
 * @param {OpenPages} options.openPages
 * @param {boolean} [options.insecure] true: any certificate is accepted
 */
export function createMetricsProbe({ pages, series, clock, openPages, insecure = false }) {
  const reader = openPages({ insecure, maxBytes: MAX_PAGE_BYTES });
  /** @param {MetricsPage} page @returns {Promise<Record<string, number>>} */
  const read = async ({ name, url }) => {
    try {
      const { statusCode, body } = await readPage(reader, url, { clock, ms: TIMEOUT_MS });
      if (statusCode !== 200) throw new Error(`HTTP ${statusCode}`);
      return chosen(parsePrometheus(body.toString('utf8')), series, name);
    } catch (error) {
      throw new Error(`${displayUrl(url)}: ${reasonOf(/** @type {Error} */ (error), url)}`, { cause: error });
    }
  };
  return {
    /** @returns {Promise<MetricsReading>} with what could be read, if one page at least was */
    sample: async () => {
      const results = await Promise.allSettled(pages.map(read));
      const failed = results.flatMap((one, i) =>
        one.status === 'rejected' ? [[nameOf(pages[i]), one.reason.message]] : [],
      );
      if (failed.length === pages.length) throw new Error(failed.map(([, words]) => words).join('; '));
      const all = results.map((one) => (one.status === 'fulfilled' ? one.value : {}));
      return {
        series: Object.fromEntries(all.flatMap(Object.entries)),
        ...(failed.length > 0 && { missing: Object.fromEntries(failed) }),
      };
    },
    close: () => void reader.close().catch(() => {}),
  };
}

/** @param {MetricsPage} page */
function nameOf({ name, url }) {
  return name ?? displayUrl(url);
}

/**
 * @param {ReturnType<typeof parsePrometheus>} samples
 * @param {readonly string[] | null} series
 * @param {string | null} node its name, which becomes a label
 * @returns {Record<string, number>}
 */
function chosen(samples, series, node) {
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
    found.slice(0, MAX_SERIES).map(({ key, value }) => [withoutControl(labelled(key, node), MAX_KEY_CHARS), value]),
  );
}

/** @param {string} key name and labels of a series @param {string | null} node */
function labelled(key, node) {
  if (node === null) return key;
  const [name, ...labels] = key.split('{');
  const own = labels.join('{').slice(0, -1);
  return `${name}{node="${node}"${own === '' ? '' : `,${own}`}}`;
}

/** @param {Error & {code?: string}} error @param {URL} url whose secrets the message may repeat */
function reasonOf(error, url) {
  if (error.name === 'TimeoutError') return `no page within ${TIMEOUT_MS} ms`;
  if (error.code === 'ECONNREFUSED') return 'connection refused';
  if (error.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return `the page is larger than ${MAX_PAGE_BYTES / 1024 / 1024} MB`;
  return oneLine(error.message || error.code || error.name, 150, secretsOf(url));
}
