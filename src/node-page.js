import { Agent, request } from 'undici';

/**
 * Pages of a node's own HTTP server, such as its metrics or its profiles. Redirects are not followed, and only the user and
 * password of the URL are sent.
 *
 * @import { Clock } from './contracts/common.d.ts'
 * @import { OpenPages, PageReader } from './contracts/load.d.ts'
 */

/** @type {OpenPages} */
export function openPages({ insecure, maxBytes }) {
  const connect = { rejectUnauthorized: !insecure };
  // A profile is answered after its time.
  const dispatcher = new Agent({ connect, maxResponseSize: maxBytes, headersTimeout: 0 });
  return {
    read: async ({ origin, pathname, search, username, password }, signal) => {
      const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
      const headers = username + password === '' ? {} : { authorization };
      const { statusCode, body } = await request(`${origin}${pathname}${search}`, { dispatcher, signal, headers });
      return { statusCode, body: Buffer.from(await body.arrayBuffer()) };
    },
    close: () => dispatcher.destroy(),
  };
}

/**
 * @param {PageReader} pages
 * @param {URL} url
 * @param {{clock: Clock, ms: number, signal?: AbortSignal}} limit of the time; signal: ends it early
 * @returns {ReturnType<PageReader['read']>} rejects with a TimeoutError after the time
 */
export async function readPage(pages, url, { clock, ms, signal }) {
  const late = new AbortController();
  const cancel = clock.after(() => late.abort(new DOMException('no answer', 'TimeoutError')), ms);
  try {
    return await pages.read(url, signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]));
  } finally {
    cancel();
  }
}
