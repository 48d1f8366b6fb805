import { secretsOf } from '../../chain/rpc.js';
import { oneLine } from '../../errors.js';
import { readPage } from '../../node-page.js';
import { LOCKS, MOST_BYTES, NoProfile, readProfile } from './pprof.js';

/**
 * @import { Clock } from '../../contracts/common.d.ts'
 * @import { PageReader } from '../../contracts/load.d.ts'
 * @import { Stack } from './pprof.js'
 * @import { Reader } from './thread.js'
 */

/** An answer may come so much later than the profile has ended. */
const LATE_MS = 10_000;
/** A source that answers earlier does not go by the seconds that it is asked for. */
const WHOLE_SHARE = 0.5;
const WORDS_CHARS = 120;

/**
 * Reads CPU profiles of a URL such as http://127.0.0.1:6060/debug/pprof/profile.
 * @param {URL} url may contain credentials
 * @param {{pages: PageReader, clock: Clock}} tools
 * @returns {Reader}
 */
export function endpointReader(url, { pages, clock }) {
  const secrets = secretsOf(url);
  const readSeconds = (/** @type {URL} */ page, /** @type {number} */ seconds, /** @type {AbortSignal} */ signal) => {
    const asked = new URL(page);
    asked.searchParams.set('seconds', String(seconds));
    return readPage(pages, asked, { clock, ms: seconds * 1000 + LATE_MS, signal });
  };
  const lockUrl = lockUrlOf(url);
  return async (seconds, signal) => {
    const startUs = clock.nowUs();
    const ofLocks = lockUrl && readSeconds(lockUrl, seconds, signal);
    const locks = ofLocks?.then(locksIn).catch(() => []);
    const { statusCode, body } = await readSeconds(url, seconds, signal).catch((error) => {
      throw failureOf(error, seconds, secrets);
    });
    if (statusCode !== 200) throw refusalOf(statusCode, oneLine(body.toString('utf8'), WORDS_CHARS, secrets));
    const { stacks, durationMs } = readProfile(body);
    const tookMs = (clock.nowUs() - startUs) / 1000;
    const isWhole = tookMs < WHOLE_SHARE * seconds * 1000;
    return { stacks, durationMs: durationMs > 0 ? durationMs : tookMs, isWhole, locks: await locks };
  };
}

/** URL of the profile of locks beside a CPU profile of Go (net/http/pprof). @param {URL} url @returns {URL | null} null: it is no page of Go */
function lockUrlOf(url) {
  const page = new URL(url);
  page.pathname = page.pathname.replace(/\/pprof\/profile\/?$/, '/pprof/mutex');
  return page.pathname === url.pathname ? null : page;
}

/** @param {{statusCode: number, body: Buffer}} page @returns {Stack[]} empty: the node has no profile of locks */
function locksIn({ statusCode, body }) {
  return statusCode === 200 ? readProfile(body, LOCKS).stacks : [];
}

/** @param {Error & {code?: string, cause?: unknown}} error @param {number} seconds @param {readonly string[]} secrets */
function failureOf(error, seconds, secrets) {
  const { code = '', name, message } = error;
  if (name === 'TimeoutError') return new Error(`no profile within ${seconds + LATE_MS / 1000} s`);
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return new NoProfile(`the body is larger than ${MOST_BYTES / 1024 ** 2} MB`);
  if (code === 'ECONNREFUSED') return new Error('connection refused');
  return new Error(oneLine(message || code || name, WORDS_CHARS, secrets));
}

/** @param {number} statusCode @param {string} words */
function refusalOf(statusCode, words) {
  // A process has one CPU profile of net/http/pprof at a time.
  if (/profiling already in use|already (enabled|running)/i.test(words))
    return new Error('another CPU profile of this node is being made');
  const isHtml = /^<(!doctype|html)/i.test(words);
  const text = `HTTP ${statusCode}${words === '' || isHtml ? '' : `: ${words}`}`;
  return statusCode >= 500 ? new Error(text) : new NoProfile(text);
}
