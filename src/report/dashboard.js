import { createServer } from 'node:http';
import { isIPv6 } from 'node:net';
import { foreignHost, isOwnHost, listen } from '../output/listen.js';
import { DashboardState } from './dashboard-state.js';
import { EventClients, eventText } from './event-clients.js';

/**
 * @import { Address, Output } from '../output/index.js'
 * @import { OptionFacts } from './repeat.js'
 * @import { IncomingMessage, ServerResponse } from 'node:http'
 */

/**
 * The page of the run while it goes on. Whoever reaches it can read, and nothing else.
 */

/** Connections at once, those that watch among them. */
const MOST_CONNECTIONS = 64;

const HEADERS = Object.freeze({
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
});

/**
 * @param {{address: Address, options: readonly OptionFacts[]}} how options: all that there are, to
 *   say how to repeat the run
 * @returns {Output}
 */
export function createDashboardOutput({ address: { host, port }, options }) {
  const state = new DashboardState(options);
  const clients = new EventClients();
  const server = createServer((request, response) => answer({ state, clients, host }, request, response));
  server.maxConnections = MOST_CONNECTIONS;
  const reload = () => {
    state.forgetPage();
    clients.broadcast(eventText('reload', {}));
  };
  return {
    notice: () => {},
    wantsSamples: false,
    sample: () => {},
    open: () => listen(server, { host, port }, 'dashboard'),
    interval: (row, totals) => {
      state.add(row, totals);
      if (clients.size === 0 || !state.hasRun) return;
      if (state.isPageOld) return reload();
      for (const { id, data } of state.rowsAfter(state.count - 1) ?? []) clients.broadcast(eventText('row', data, id));
      clients.broadcast(eventText('sections', state.tiles()));
    },
    checkpoint: (run) => {
      state.keep(run);
      if (clients.size === 0) return;
      if (state.isPageOld) reload();
      else clients.broadcast(eventText('sections', state.sections()));
    },
    finish: (run) => {
      if (clients.size > 0) clients.broadcast(eventText('final', state.final(run)));
    },
    close: async () => {
      const closed = new Promise((resolve) => (server.listening ? server.close(resolve) : resolve(null)));
      await clients.end();
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * @param {{state: DashboardState, clients: EventClients, host: string}} parts
 * @param {IncomingMessage} request
 * @param {ServerResponse} response
 */
function answer({ state, clients, host }, request, response) {
  const { pathname, searchParams } = new URL(`http://host${request.url?.startsWith('/') ? request.url : '/'}`);
  const refusal = refuse(request, host);
  if (refusal !== null) return say(response, ...refusal);
  if (pathname === '/') {
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/html; charset=utf-8' });
    return void response.end(request.method === 'HEAD' ? '' : state.page());
  }
  if (pathname !== '/events') return say(response, 404, 'the page is at /');
  if (request.method === 'HEAD') return void response.writeHead(200, HEADERS).end();
  if (!clients.add(response)) return say(response, 503, 'too many are watching already');
  const seen = Number(request.headers['last-event-id'] ?? searchParams.get('after'));
  const missed = state.hasRun ? state.rowsAfter(seen) : seen === 0 ? [] : null;
  if (missed === null) clients.send(response, eventText('reload', {}));
  else for (const { id, data } of missed) clients.send(response, eventText('row', data, id));
}

/**
 * Reading is all that there is. A page of somebody else must not read along: not by a name of its own for this address,
 * and not from a frame or a script.
 * @param {IncomingMessage} request
 * @param {string} host that we listen on
 * @returns {[number, string] | null}
 */
function refuse(request, host) {
  const { method = '', headers } = request;
  if (method !== 'GET' && method !== 'HEAD') return [405, 'this page can only be read'];
  if (!isOwnHost(request, host)) return [403, foreignHost('dashboard')];
  const site = headers['sec-fetch-site'] ?? 'none';
  const isVisit = headers['sec-fetch-mode'] === 'navigate';
  return site === 'cross-site' && !isVisit ? [403, 'not for other pages'] : null;
}

/** @param {ServerResponse} response @param {number} status @param {string} words */
function say(response, status, words) {
  const allow = status === 405 ? { allow: 'GET, HEAD' } : {};
  response.writeHead(status, {
    ...HEADERS,
    ...allow,
    'content-type': 'text/plain; charset=utf-8',
    connection: 'close',
  });
  response.end(`${words}\n`);
}

/** Where people find it. @param {Address} address */
export function dashboardUrl({ host, port }) {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}/`;
}
