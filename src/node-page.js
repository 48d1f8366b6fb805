import { request } from 'undici';

/**
 * A page of a node's own HTTP server, such as its metrics or its profiles. Redirects are not followed, and only the user and
 * password of the URL are sent.
 *
 * @import { Dispatcher } from 'undici'
 */

/**
 * @param {URL} url may contain credentials
 * @param {{dispatcher: Dispatcher, signal: AbortSignal}} options
 * @returns {Promise<{statusCode: number, body: Buffer}>}
 */
export async function fetchPage({ origin, pathname, search, username, password }, { dispatcher, signal }) {
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const headers = username + password === '' ? {} : { authorization: `Basic ${credentials}` };
  const { statusCode, body } = await request(`${origin}${pathname}${search}`, { dispatcher, signal, headers });
  return { statusCode, body: Buffer.from(await body.arrayBuffer()) };
}
