import { createServer } from 'node:http';
import { performance } from 'node:perf_hooks';
import { foreignHost, isOwnHost, listen } from '../outputs/listen.js';
import { Distribution } from '../stats/histogram.js';
import { countedWords, isPlain } from '../stats/sample.js';
import { clockTime, digits, quantity } from './client/quantity.js';
import { html, renderPage } from './html.js';
import { bucketsOf } from './run-charts.js';
import { runPage } from './run-page.js';
import { latencyFigure } from './sections.js';

/**
 * @import { Address, IntervalRow, Output, OutputOptions, RunFile, Totals } from '../types.d.ts'
 * @import { OptionFacts } from './repeat.js'
 * @import { Row } from './run-charts.js'
 * @import { IncomingMessage, ServerResponse } from 'node:http'
 */

/**
 * The dashboard: the page of the run so far, made again after a checkpoint. A browser that shows one asks for the next,
 * and is answered when there is one. Pages take time of the load, so that one is made for all browsers, only when one
 * of them asks, and only as often as its cost allows.
 *
 * @typedef {object} Made a page
 * @property {number} version
 * @property {Buffer} bytes
 * @property {number} madeMs
 * @property {number} costMs
 */

/** After a page that took a time, none is made for this many times as long. */
const PERIODS_PER_COST = 20;

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
  #options;
  /** @type {RunFile | null} */
  #run = null;
  #isOver = false;
  /** Counts the checkpoints. */
  #version = 0;
  #now = '';
  /** Buckets of latencies by interval: with those of all intervals, a page of a long run would take long. @type {Map<string, Map<number, number>>} */
  #buckets = new Map();
  /** @type {Made} */
  #made = { version: -1, bytes: Buffer.of(), madeMs: -Infinity, costMs: 0 };
  /** @type {Set<ServerResponse>} */
  #waiting = new Set();

  /** @param {readonly OptionFacts[]} options */
  constructor(options) {
    this.#options = options;
  }

  /** @param {IntervalRow} row @param {Totals} totals */
  note(row, totals) {
    this.#now = nowWords(row, totals, countedWords(this.#run !== null && isPlain(this.#run)).verified);
  }

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
    const { version } = this.#made;
    if (this.#waiting.size > 0 && this.#page().version !== version)
      for (const response of this.#waiting) this.#send(response);
  }

  /** Sends the page, or waits for one that the browser has not seen. @param {ServerResponse} response @param {string | null} seen its version */
  answer(response, seen) {
    if (String(this.#page().version) !== seen) return this.#send(response);
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
    response.end(this.#made.bytes);
  }

  /** @returns {Made} the latest page */
  #page() {
    const nowMs = performance.now();
    const { version, madeMs, costMs } = this.#made;
    const isTooEarly = !this.#isOver && nowMs - madeMs < PERIODS_PER_COST * costMs;
    if (version === this.#version || isTooEarly) return this.#made;
    const live = this.#isOver ? undefined : { version: this.#version, now: this.#now };
    const text = this.#run === null ? setUpPage() : runPage(this.#run, { options: this.#options, live });
    this.#made = { version: this.#version, bytes: Buffer.from(text), madeMs: nowMs, costMs: performance.now() - nowMs };
    return this.#made;
  }
}

/** @param {Row} row */
function keyOf({ startMs, endMs }) {
  return `${startMs} ${endMs}`;
}

/** @param {IntervalRow} row @param {Totals} totals @param {string} words of what is verified */
function nowWords(row, { attempts, verified, censored }, words) {
  const { startMs, endMs, tps, latency, inFlight, counts } = row;
  const failed = counts.failed + counts.timedOut;
  const all = censored === undefined ? latency : Distribution.from(latency).add(censored).toJSON();
  const p99 = latencyFigure(all, censored, 'p99').text;
  const last = `${clockTime(startMs / 1000)} to ${clockTime(endMs / 1000)}: ${quantity(tps, 'perSecond')}, p99 ${p99}, ${digits(inFlight)} in flight, ${digits(failed)} failed`;
  return `Now, ${last}. Since the start: ${digits(verified)} ${words} of ${digits(attempts)} begun.`;
}

function setUpPage() {
  return renderPage({
    title: 'The run is being set up',
    lead: html`<p>Wallets are funded and contracts are deployed. This page changes when the load begins.</p>`,
    main: html``,
    data: { time: null, charts: [] },
    live: { version: 0, now: '' },
  });
}

/** @param {Pick<OutputOptions, 'dashboard' | 'quiet' | 'stream' | 'options'>} how @returns {Output} */
export function createDashboardOutput({ dashboard, quiet, stream, options }) {
  const { host, port } = /** @type {Address} */ (dashboard);
  const pages = new Pages(options);
  const server = createServer((request, response) => answer(pages, host, request, response));
  server.maxConnections = MAX_CONNECTIONS;
  return {
    open: () => listen(server, { host, port }, { option: 'dashboard', path: '/', quiet, stream }),
    interval: (row, totals) => pages.note(row, totals),
    checkpoint: (run) => pages.show(run, false),
    finish: (run) => pages.show(run, true),
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
