import { createServer } from 'node:http';
import { foreignHost, isOwnHost, listen } from '../outputs/listen.js';
import { html, renderPage } from './html.js';
import { bucketsOf } from './run-charts.js';
import { runPage } from './run-page.js';

/**
 * @import { Address, Output, OutputOptions } from '../contracts/output.d.ts'
 * @import { RunFile } from '../contracts/run-file.d.ts'
 * @import { Row } from './run-charts.js'
 * @import { IncomingMessage, ServerResponse } from 'node:http'
 */

/**
 * The dashboard: the page of the run so far, made again after a checkpoint. A browser that shows one asks for the next,
 * and is answered when there is one. Pages take time of the load, so that one is made for all browsers, and only when
 * one of them asks.
 */

/** Time limit for sending the last page. */
const FLUSH_MS = 2000;

const MAX_CONNECTIONS = 64;

/** Other sites cannot read the page, neither from a frame nor from a script. */
const HEADERS = Object.freeze({
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
});

class Pages {
  /** @type {RunFile | null} */
  #run = null;
  #isOver = false;
  /** Counts the checkpoints. */
  #version = 0;
  /** Buckets of latencies by interval: with those of all intervals, a page of a long run would take long. @type {Map<string, Map<number, number>>} */
  #buckets = new Map();
  /** The latest page. */
  #made = { version: -1, bytes: Buffer.of() };
  /** @type {Set<ServerResponse>} */
  #waiting = new Set();

  /** @param {RunFile} run @param {boolean} isOver */
  show(run, isOver) {
    const intervals = run.intervals.map((row) => ({
      ...row,
      buckets: this.#buckets.get(keyOf(row)) ?? bucketsOf(row),
    }));
    this.#buckets = new Map(intervals.map((row) => [keyOf(row), row.buckets]));
    this.#run = { ...run, intervals };
    this.#isOver = isOver;
    this.#version += 1;
    for (const response of this.#waiting) this.#send(response);
  }

  /** Sends the page, or waits for one that the browser has not seen. @param {ServerResponse} response @param {string | null} seen its version */
  answer(response, seen) {
    if (String(this.#version) !== seen) return this.#send(response);
    this.#waiting.add(response);
    response.on('close', () => this.#waiting.delete(response));
  }

  /** Disconnects the browsers that wait. */
  close() {
    for (const response of this.#waiting) response.destroy();
  }

  /** @param {ServerResponse} response */
  #send(response) {
    this.#waiting.delete(response);
    const connection = this.#isOver ? { connection: 'close' } : {};
    response.writeHead(200, { ...HEADERS, ...connection, 'content-type': 'text/html; charset=utf-8' });
    response.end(this.#page());
  }

  #page() {
    if (this.#made.version === this.#version) return this.#made.bytes;
    const text = this.#run === null ? setUpPage() : runPage(this.#run, this.#isOver ? undefined : this.#version);
    this.#made = { version: this.#version, bytes: Buffer.from(text) };
    return this.#made.bytes;
  }
}

/** @param {Row} row */
function keyOf({ startMs, endMs }) {
  return `${startMs} ${endMs}`;
}

function setUpPage() {
  return renderPage({
    title: 'The run is being set up',
    verdict: 'Wallets are funded and contracts are deployed. This page changes when the load begins.',
    main: html``,
    live: 0,
  });
}

/** @param {Pick<OutputOptions, 'dashboard' | 'quiet' | 'stream'>} how @returns {Output} */
export function createDashboardOutput({ dashboard, quiet, stream }) {
  const { host, port } = /** @type {Address} */ (dashboard);
  const pages = new Pages();
  const server = createServer((request, response) => answer(pages, host, request, response));
  server.maxConnections = MAX_CONNECTIONS;
  return {
    open: () => listen(server, { host, port }, { option: 'dashboard', path: '/', quiet, stream }),
    checkpoint: (run) => pages.show(run, false),
    finish: (run) => {
      if (run.end !== 'set_up_failed') pages.show(run, true);
    },
    close: async () => {
      pages.close();
      const timer = setTimeout(() => server.closeAllConnections(), FLUSH_MS);
      await new Promise((resolve) => (server.listening ? server.close(resolve) : resolve(null)));
      clearTimeout(timer);
    },
  };
}

/** @param {Pages} pages @param {string} host @param {IncomingMessage} request @param {ServerResponse} response */
function answer(pages, host, request, response) {
  // A browser may disconnect at any time.
  response.on('error', () => {});
  const { pathname, searchParams } = new URL(`http://host${request.url?.startsWith('/') ? request.url : '/'}`);
  if (!isOwnHost(request, host)) return say(response, 403, foreignHost('dashboard'));
  if (pathname !== '/') return say(response, 404, 'the page is at /');
  return pages.answer(response, searchParams.get('after'));
}

/** @param {ServerResponse} response @param {number} status @param {string} words */
function say(response, status, words) {
  const headers = { ...HEADERS, 'content-type': 'text/plain; charset=utf-8', connection: 'close' };
  response.writeHead(status, headers).end(`${words}\n`);
}
