/** What of an endpoint's URL may be shown, and what must not be, whoever repeats it. */

/** A part of a path that is as long may be a key. */
const LONG_PART = 20;

/** What is shorter is in every other sentence, and is no secret worth the name. */
const SHORTEST_SECRET = 4;

/**
 * The URL as it may be shown: credentials, query and anything in the path that looks like a key are hidden.
 * @param {URL} url
 */
export function displayUrl(url) {
  const path = url.pathname
    .split('/')
    .map((part) => (part.length >= LONG_PART ? '***' : part))
    .join('/');
  return `${url.protocol}//${url.username || url.password ? '***@' : ''}${url.host}${path === '/' ? '' : path}${url.search ? '?***' : ''}`;
}

/**
 * What displayUrl hides, as an endpoint may repeat it: as it is written in the URL, and as it is meant.
 * @param {URL} url
 * @returns {readonly string[]} the longest first: one may be a part of another
 */
export function secretsOf({ username, password, pathname, search }) {
  const user = meant(username);
  const secret = meant(password);
  const written = [
    ...[username, password, search.slice(1)],
    ...(username + password === '' ? [] : [`${user}:${secret}`, Buffer.from(`${user}:${secret}`).toString('base64')]),
    ...pathname.split('/').filter((part) => part.length >= LONG_PART),
    // Of a pair without = all of it.
    ...search
      .slice(1)
      .split('&')
      .map((pair) => pair.slice(pair.indexOf('=') + 1)),
  ];
  const all = new Set([...written, ...written.map(meant)]);
  return [...all].filter(({ length }) => length >= SHORTEST_SECRET).sort((a, b) => b.length - a.length);
}

/** @param {string} text of a URL @returns {string} without its percent signs, where they can be read */
function meant(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
