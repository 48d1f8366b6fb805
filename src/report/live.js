import { createServer } from 'node:http';
import { isIPv6 } from 'node:net';
import { performance } from 'node:perf_hooks';
import { foreignHost, isOwnHost, listen } from '../outputs/listen.js';
import { Distribution } from '../stats/histogram.js';
import { addUp } from '../stats/merge.js';
import { zeroCounts } from '../stats/stats.js';
import { countedWords, isPlain } from '../stats/sample.js';
import { clockTime, digits, quantity } from './client/quantity.js';
import { html, renderPage } from './html.js';
import { chartPlans } from './run-charts.js';
import { bucketsOf, kindOf, rowData } from './run-data.js';
import { lead, runPage, runParts, runSections } from './run-page.js';
import { Output } from '../outputs/output.js';
import { latencyFigure } from './figures.js';

/**
 * @import { Address, IntervalRow, RunFile, Totals, Output as OutputContract } from '../types.d.ts'
 * @import { OutputOptions } from '../outputs/output.js'
 * @import { OptionFacts } from './repeat.js'
 * @import { Row, RunKind } from './run-charts.js'
 * @import { IncomingMessage, ServerResponse } from 'node:http'
 */

/**
 * The dashboard: a page of the run while it goes on, with server-sent events. Pages take time of the load, so that one
 * page is made for all clients, and only as often as its cost allows.
 */

/** Rows kept for clients that missed events. */
const RECENT = 200;

/** A page is kept for PAGE_AGE_MS, and for AGES_PER_COST times the time that it took. */
const PAGE_AGE_MS = 500;
const AGES_PER_COST = 20;

export class DashboardState {
  /** Rows since the start. */
  count = 0;
  /** @type {RunFile | null} at the last checkpoint */
  #run = null;
  /** @type {Row[]} of that checkpoint and after it */
  #rows = [];
  /** @type {Row[]} the last RECENT rows */
  #recent = [];
  /** @type {{text: string, madeMs: number, costMs: number} | null} */
  #page = null;
  /** The charts of the last page: rows can be added only to these. */
  #shape = '';
  /** @type {RunKind | null} */
  #kind = null;
  /** Charts with values; their number only grows. @type {Set<string>} */
  #drawable = new Set();
  #last = '';
  #soFar = new SoFar();
  #options;

  /** @param {readonly OptionFacts[]} options */
  constructor(options) {
    this.#options = options;
  }

  get hasRun() {
    return this.#run !== null;
  }

  /** @param {IntervalRow} row @param {Totals} totals */
  add(row, totals) {
    // Buckets are computed once per row, because a page of many rows would take long otherwise.
    const known = /** @type {Row} */ ({ ...row, buckets: bucketsOf(row) });
    this.count += 1;
    this.#soFar.add(row, totals);
    this.#last = nowWords(row, totals, countedWords(this.#run !== null && isPlain(this.#run)).verified);
    this.#rows.push(known);
    this.#recent.push(known);
    if (this.#recent.length > RECENT) this.#recent.shift();
  }

  /** @param {RunFile} run */
  keep(run) {
    this.#rows = joined(run.intervals, this.#rows);
    this.#run = run;
  }

  /** The figures so far. @returns {RunFile | null} */
  get run() {
    return this.#run === null ? null : { ...this.#run, intervals: this.#rows };
  }

  /** @returns {string} the whole page */
  page() {
    const nowMs = performance.now();
    const { madeMs = -Infinity, costMs = 0, text = '' } = this.#page ?? {};
    if (nowMs - madeMs < Math.max(PAGE_AGE_MS, AGES_PER_COST * costMs)) return text;
    const { run } = this;
    const made =
      run === null
        ? waitingPage()
        : runPage(run, { options: this.#options, liveSince: this.count, top: this.#lead(run) });
    this.#kind = run === null ? null : kindOf(run);
    this.#shape = this.#shapeNow();
    this.#page = { text: made, madeMs: nowMs, costMs: performance.now() - nowMs };
    return made;
  }

  forgetPage() {
    this.#page = null;
  }

  /** The rows after the first `seen`, with their numbers. @param {number} seen @returns {Array<{id: number, data: object}> | null} null: some are no longer kept */
  rowsAfter(seen) {
    const missing = this.count - seen;
    if (missing < 0 || missing > this.#recent.length || this.run === null) return null;
    const kind = this.#kind ?? kindOf(this.run);
    return this.#recent
      .slice(this.#recent.length - missing)
      .map((row, i) => ({ id: seen + i + 1, data: { ...rowData(row, kind), now: this.#last } }));
  }

  /** Whether the last page has other charts than the next one would have. */
  get isPageOld() {
    return this.#shapeNow() !== this.#shape;
  }

  #shapeNow() {
    const { run } = this;
    if (run === null) return '';
    const kind = kindOf(run);
    for (const row of this.#recent.slice(-1))
      for (const { id, series } of chartPlans(kind))
        if (series.some(({ of }) => (of(row) ?? null) !== null)) this.#drawable.add(id);
    return JSON.stringify([kind, [...this.#drawable].sort()]);
  }

  /** Figures up to the last row, because checkpoints come at other times than rows. @returns {Record<string, string>} */
  tiles() {
    const { run } = this;
    return run === null ? {} : { lead: this.#lead(run).text };
  }

  /** @param {RunFile} run */
  #lead(run) {
    return lead(this.#soFar.of(run));
  }

  /** Changed parts other than rows. @returns {Record<string, string>} */
  sections() {
    const { run } = this;
    return run === null ? {} : { ...runSections(run), lead: this.#lead(run).text };
  }

  /** The complete run, for pages that are open. @param {RunFile} run */
  final(run) {
    this.keep(run);
    const { title, lead, main, data } = runParts(this.run ?? run, this.#options);
    return { title, sections: { lead: lead.text, main: main.text }, data };
  }
}

/** The key figures, added up from the rows of the charts. */
class SoFar {
  #counts = zeroCounts();
  #window = zeroCounts();
  #ms = 0;
  #cpuUs = 0;
  #latency = new Distribution();
  /** Time waited for censored operations of the window, which are part of the latency. */
  #censored = new Distribution();

  /** @param {IntervalRow} row @param {Totals} totals */
  add(row, { censored }) {
    this.#counts = addUp(this.#counts, row.counts);
    if (row.phase !== 'load') return;
    this.#window = addUp(this.#window, row.counts);
    this.#ms += row.endMs - row.startMs;
    this.#cpuUs += row.probes.self.cpuUs;
    this.#latency.add(row.latency);
    if (censored === undefined) return;
    this.#latency.add(censored);
    this.#censored.add(censored);
  }

  /** @param {RunFile} run that goes on @returns {RunFile} with these figures */
  of(run) {
    const rate = (/** @type {number} */ count) => (this.#ms === 0 ? null : (1000 * count) / this.#ms);
    const { scheduled, verified } = this.#window;
    const asked = run.rates.askedPerSecond === null ? null : rate(scheduled);
    return {
      ...run,
      counts: this.#counts,
      window: { ...run.window, durationMs: this.#ms, counts: { ...run.window.counts, ...this.#window } },
      rates: { ...run.rates, askedPerSecond: asked, verifiedPerSecond: rate(verified) },
      latency: { ...run.latency, total: this.#latency.toJSON(), censored: this.#censored.toJSON() },
      generator: { ...run.generator, cpuUsPerVerified: verified === 0 ? null : this.#cpuUs / verified },
    };
  }
}

/**
 * The rows of a long run are merged: their buckets are added up.
 * @param {readonly Row[]} rows
 * @param {readonly Row[]} known in order
 * @returns {Row[]}
 */
function joined(rows, known) {
  let i = 0;
  return rows.map((row) => {
    while (i < known.length && known[i].startMs < row.startMs) i += 1;
    /** @type {Row[]} */
    const parts = [];
    for (; i < known.length && known[i].endMs <= row.endMs; i += 1) parts.push(known[i]);
    if (parts.length === 1) return parts[0];
    return parts.length === 0 ? row : { ...row, buckets: sumOf(parts) };
  });
}

/** @param {Row[]} parts @returns {Map<number, number>} */
function sumOf(parts) {
  const sum = new Map();
  for (const part of parts)
    for (const [bucket, count] of bucketsOf(part)) sum.set(bucket, (sum.get(bucket) ?? 0) + count);
  return new Map([...sum].sort((a, b) => a[0] - b[0]));
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

function waitingPage() {
  return renderPage({
    title: 'The run is being set up',
    lead: html`<p>Wallets are funded and contracts are deployed. This page changes when the load begins.</p>`,
    main: html``,
    data: { time: null, charts: [] },
    liveSince: 0,
  });
}

/**
 * The clients of the event stream. A client that does not read what is sent is disconnected, so that no memory piles
 * up.
 */

export const MAX_CLIENTS = 16;

/** Unsent bytes per client: more than the page of a long run. */
const MAX_UNSENT = 4 * 1024 * 1024;

/** Time limit for sending the last event. */
const FLUSH_MS = 2000;

const EVENT_STREAM_HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
});

class EventClients {
  /** @type {Set<ServerResponse>} */
  #all = new Set();

  get size() {
    return this.#all.size;
  }

  /** @param {ServerResponse} response @returns {boolean} false: too many clients */
  add(response) {
    if (this.#all.size >= MAX_CLIENTS) return false;
    this.#all.add(response);
    response.on('close', () => this.#all.delete(response));
    // A client may disconnect at any time.
    response.on('error', () => this.#all.delete(response));
    response.writeHead(200, EVENT_STREAM_HEADERS);
    response.write('retry: 1000\n\n');
    return true;
  }

  /** @param {string} event */
  broadcast(event) {
    for (const response of this.#all) this.send(response, event);
  }

  /** @param {ServerResponse} response @param {string} event */
  send(response, event) {
    if (response.writableLength > MAX_UNSENT) response.destroy();
    else response.write(event);
  }

  /** Resolves when all data was sent, or after FLUSH_MS. @returns {Promise<void>} */
  async end() {
    const all = [...this.#all].map((response) => new Promise((resolve) => response.once('close', resolve)));
    for (const response of this.#all) response.end();
    const timer = setTimeout(() => this.#all.forEach((response) => response.destroy()), FLUSH_MS);
    await Promise.all(all);
    clearTimeout(timer);
  }
}

/** @param {string} name @param {unknown} data @param {number} [id] sent back by a client that reconnects */
function eventText(name, data, id) {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Including those of the event stream. */
const MAX_CONNECTIONS = 64;

const HEADERS = Object.freeze({
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
});

/** @param {Pick<OutputOptions, 'dashboard' | 'quiet' | 'stream' | 'options'>} how @returns {OutputContract} */
export function createDashboardOutput({ dashboard, quiet, stream, options }) {
  const { host, port } = /** @type {Address} */ (dashboard);
  const state = new DashboardState(options);
  const clients = new EventClients();
  const server = createServer((request, response) => answer({ state, clients, host }, request, response));
  server.maxConnections = MAX_CONNECTIONS;
  const reload = () => {
    state.forgetPage();
    clients.broadcast(eventText('reload', {}));
  };
  return new Output({
    open: async () => {
      await listen(server, { host, port }, 'dashboard');
      if (!quiet) stream.write(`dashboard at ${dashboardUrl({ host, port })}\n`);
    },
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
  });
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
 * Requests only read. Other sites must not read the page: neither by their own name for this address, nor from a frame
 * or a script.
 * @param {IncomingMessage} request
 * @param {string} host of the listening address
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

/** @param {Address} address */
function dashboardUrl({ host, port }) {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}/`;
}
