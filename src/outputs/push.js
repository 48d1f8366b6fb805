import { Agent, request } from 'undici';
import { displayUrl, secretsOf } from '../chain/rpc.js';
import { createClock, within } from '../clock.js';
import { UsageError, oneLine, withoutKeys } from '../errors.js';
import { createLog, warnBy } from './log.js';
import { BUCKETS, FAMILIES, LABEL_NAMES, PrometheusState, labelsOf } from './prometheus.js';

/**
 * --push: the figures of the Prometheus page, sent to an OpenTelemetry collector or to Prometheus (OTLP/HTTP, JSON).
 *
 * @import { Headers } from '../contracts/chain.d.ts'
 * @import { Clock } from '../contracts/common.d.ts'
 * @import { Output, OutputOptions } from '../contracts/output.d.ts'
 * @import { Family, Labels, Value } from './prometheus.js'
 *
 * @typedef {{name: string} & Record<string, any>} Metric as OTLP has it
 * @typedef {{status: number, retryAfter?: string, text: string}} Answer
 * @typedef {(body: string, signal: AbortSignal) => Promise<Answer>} Post
 * @typedef {{clock?: Clock, post?: Post, warn?: (text: string) => void, complain?: (text: string) => void}} Tools of tests
 */

const MOST_LABELS = 16;

/** Names that every Prometheus accepts. */
const LABEL = /^((?!__)[A-Za-z_]\w*)=(\P{Cc}{1,200})$/u;
const RESERVED = Object.freeze(['le', 'job', 'instance', 'run_id', 'index', ...LABEL_NAMES]);

/** Waiting pushes; the oldest is dropped, because the figures are totals. */
const MOST_WAITING = 16;
const MOST_TRIES = 5;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
/** Less than half of the last time limit, so that a push in flight leaves time for the last one. */
const REQUEST_TIMEOUT_MS = 4000;
const LAST_TIMEOUT_MS = 10_000;
/** No wait is longer than this without a word. */
const SILENT_WAIT_MS = 5000;
const MAX_ANSWER_BYTES = 64 * 1024;

/** The address for metrics. @param {string} text @returns {URL} */
export function receiver(text) {
  try {
    const url = new URL(text);
    decodeURIComponent(url.username + url.password);
    const path = url.pathname.replace(/\/$/, '');
    url.pathname = path.endsWith('/v1/metrics') ? path : `${path}/v1/metrics`;
    if (/^https?:$/.test(url.protocol)) return url;
  } catch {
    // The message below says what is wrong with it.
  }
  // The value is not shown: it may hold a key.
  throw new Error('must be a URL such as http://127.0.0.1:4318, with http:// or https:// before it');
}

/** @param {string} text @returns {readonly [string, string]} */
export function label(text) {
  const [, name, value] = LABEL.exec(text) ?? [];
  if (name === undefined)
    throw new Error(
      `must be NAME=VALUE, such as branch=main, with letters, digits and _ in the name, not ${JSON.stringify(oneLine(withoutKeys(text), 60))}`,
    );
  return Object.freeze(/** @type {const} */ ([name, value]));
}

/** @param {Labels} labels */
function attributesOf(labels) {
  return Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: String(value) } }));
}

/**
 * @param {Family} family
 * @param {PrometheusState} state
 * @param {(labels: Labels) => object} place attributes and times of a point
 * @returns {Metric[]} none without a value
 */
function metricsOf({ name, type, help: description, values }, state, place) {
  const all = values(state);
  if (all.length === 0) return [];
  if (type === 'histogram')
    return [{ name, description, histogram: { dataPoints: histogramPoints(all, place), aggregationTemporality: 2 } }];
  const dataPoints = all.map(({ labels, value }) => ({ ...place(labels), asDouble: value }));
  if (type === 'gauge') return [{ name, description, gauge: { dataPoints } }];
  return [{ name, description, sum: { dataPoints, aggregationTemporality: 2, isMonotonic: true } }];
}

/** Each has its buckets, which are cumulative on the page, then its sum and its count. @param {Value[]} all @param {(labels: Labels) => object} place */
function histogramPoints(all, place) {
  const [ofBuckets, ofEach] = [BUCKETS.length + 1, BUCKETS.length + 3];
  return Array.from({ length: all.length / ofEach }, (_, i) => {
    const one = all.slice(i * ofEach, (i + 1) * ofEach);
    const [sum, count] = one.slice(ofBuckets);
    const bucketCounts = one.slice(0, ofBuckets).map(({ value }, k) => String(value - (one[k - 1]?.value ?? 0)));
    const figures = { count: String(count.value), sum: sum.value, bucketCounts, explicitBounds: BUCKETS };
    return { ...place(count.labels), ...figures };
  });
}

/** @param {URL} url @param {Headers} given @returns {{post: Post, close: () => void}} */
function createPost(url, given) {
  const agent = new Agent({ connections: 1, maxResponseSize: MAX_ANSWER_BYTES });
  const headers = { ...given, 'content-type': 'application/json' };
  /** @type {Post} */
  const post = async (body, signal) => {
    // undici's request() follows no redirects.
    const options = /** @type {const} */ ({ method: 'POST', headers, body, signal, dispatcher: agent });
    const answer = await request(`${url.origin}${url.pathname}${url.search}`, options);
    // The status says enough where the rest is too long or does not come.
    const text = await answer.body.text().catch(() => '');
    return { status: answer.statusCode, retryAfter: String(answer.headers['retry-after'] ?? ''), text };
  };
  return { post, close: () => void agent.destroy().catch(() => {}) };
}

/** Sends one push after the other, beside the load. */
class PushQueue {
  made = 0;
  arrived = 0;
  hasLast = false;
  hasFailed = false;
  /** Why the last push failed. */
  why = 'no answer in time';
  /** @type {Array<{metrics: Metric[], isLast: boolean}>} */
  #waiting = [];
  /** @type {Promise<void> | null} */
  #sending = null;
  /** Repeated pushes end for the sake of the last one. */
  #hurry = new AbortController();
  #over = new AbortController();

  /** @param {{clock: Clock, post: Post, bodyOf: (metrics: Metric[]) => string, wordsOf: (text: unknown) => string, firstFailed: (why: string) => void, waiting: () => void}} tools */
  constructor(tools) {
    this.tools = tools;
  }

  /** @param {Metric[]} metrics @param {boolean} isLast */
  add(metrics, isLast) {
    this.made += 1;
    if (isLast) {
      // Its totals contain theirs.
      this.made -= this.#waiting.length;
      this.#waiting = [];
      this.#hurry.abort();
    } else if (this.#waiting.length === MOST_WAITING) this.#waiting.shift();
    this.#waiting.push({ metrics, isLast });
    this.#sending ??= this.#send();
  }

  /** Waits for the last push, but not for long. @param {AbortSignal} [now] ends the wait */
  async close(now) {
    if (now?.aborted) this.#over.abort();
    now?.addEventListener('abort', () => this.#over.abort());
    const { clock, waiting } = this.tools;
    const cancel = clock.after(waiting, SILENT_WAIT_MS);
    if (this.#sending !== null) await within(clock, LAST_TIMEOUT_MS, this.#sending, () => {});
    cancel();
    this.#over.abort();
  }

  async #send() {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const why = await this.#deliver(next.metrics, next.isLast);
      if (why !== null) {
        if (!this.hasFailed && !this.#hurry.signal.aborted) this.tools.firstFailed(why);
        this.hasFailed = true;
        this.why = why;
      } else {
        this.arrived += 1;
        this.hasLast = next.isLast;
      }
    }
    this.#sending = null;
  }

  /** @param {Metric[]} metrics @param {boolean} isLast @returns {Promise<string | null>} why it failed */
  async #deliver(metrics, isLast) {
    const { signal } = isLast ? this.#over : this.#hurry;
    for (let tries = 1; ; tries += 1) {
      const { why, status = null, retryAfter = '' } = await this.#try(metrics);
      if (why === null) return null;
      if (status === 413 && metrics.length > 1) {
        const middle = Math.ceil(metrics.length / 2);
        const first = await this.#deliver(metrics.slice(0, middle), isLast);
        // The last push, whose totals contain these, does not wait for the other parts.
        return (signal.aborted ? why : await this.#deliver(metrics.slice(middle), isLast)) ?? first;
      }
      const mayRepeat = status === null || status === 408 || status === 429 || status >= 500;
      if (!mayRepeat || (tries === MOST_TRIES && !isLast) || signal.aborted) return why;
      // Seconds, or a date.
      const askedMs = Number(retryAfter) * 1000 || Date.parse(retryAfter) - this.tools.clock.wallMs();
      // The last one is repeated until its time is over.
      const waitMs = askedMs > 0 ? askedMs : FIRST_WAIT_MS * (isLast ? 1 : 2 ** (tries - 1));
      await this.tools.clock.sleep(Math.min(waitMs, LONGEST_WAIT_MS), signal);
      if (signal.aborted) return why;
    }
  }

  /** @param {Metric[]} metrics @returns {Promise<{why: string | null, status?: number, retryAfter?: string}>} */
  async #try(metrics) {
    const { clock, post, bodyOf, wordsOf } = this.tools;
    const { signal: over } = this.#over;
    const ending = new AbortController();
    const end = () => ending.abort();
    const cancel = clock.after(end, REQUEST_TIMEOUT_MS);
    // Not AbortSignal.any(): Node.js 20 keeps 1 KB of each until the longer-lived signal goes.
    if (over.aborted) end();
    over.addEventListener('abort', end);
    try {
      const answer = await post(bodyOf(metrics), ending.signal);
      return { ...answer, why: problemOf(answer, wordsOf) };
    } catch (error) {
      if (over.aborted) return { why: 'no answer when stress ended' };
      if (ending.signal.aborted) return { why: `no answer within ${REQUEST_TIMEOUT_MS / 1000} s` };
      return { why: wordsOf(reasonOf(/** @type {any} */ (error))) };
    } finally {
      cancel();
      over.removeEventListener('abort', end);
    }
  }
}

/** @param {NodeJS.ErrnoException} error */
function reasonOf({ code = '', message, name }) {
  return { ECONNREFUSED: 'connection refused', ENOTFOUND: 'unknown host' }[code] ?? (message || code || name);
}

/** @param {Answer} answer @param {(text: unknown) => string} wordsOf @returns {string | null} */
function problemOf({ status, text }, wordsOf) {
  const words = text.trim() === '' ? '' : ` (${wordsOf(text)})`;
  // Part of it may be rejected.
  if (status >= 200 && status < 300)
    return /"rejectedDataPoints":\s*"?[1-9]/.test(text) ? `HTTP ${status}${words}` : null;
  if (status < 400) return `HTTP ${status}, a redirect, which is not followed`;
  const credentials = 'credentials are given in STRESS_PUSH_URL, STRESS_PUSH_HEADER or --push-header-file';
  return `HTTP ${status}${words}${status === 401 || status === 403 ? `; ${credentials}` : ''}`;
}

/**
 * @param {OutputOptions} options
 * @param {Headers} [headers] of the user, with the credentials of the URL
 * @param {Tools} [tools]
 * @returns {Output}
 * @throws {UsageError}
 */
export function createPushOutput(options, headers = {}, { clock = createClock(), ...tools } = {}) {
  const { push, label: labels = [], info, instance = null } = options;
  const url = /** @type {URL} */ (push);
  if (labels.length > MOST_LABELS)
    throw new UsageError(`--label is given ${labels.length} times: at most ${MOST_LABELS} labels are possible`);
  const own = Object.fromEntries(labels);
  const reserved = [...RESERVED, ...Object.keys(info)].find((name) => Object.hasOwn(own, name));
  if (reserved !== undefined)
    throw new UsageError(`--label must have another name than ${reserved}, which Prometheus or stress sets`);
  const twice = labels.find(([name, value]) => own[name] !== value);
  if (twice !== undefined) throw new UsageError(`--label ${twice[0]} has two values: give it once`);
  const { warn = warnBy(options), complain = (/** @type {string} */ words) => createLog(options).error(words) } = tools;
  const common = labelsOf(instance);
  const id = Object.values(common).join('/');
  const attributes = attributesOf({ 'service.name': 'stress', ...(id !== '' && { 'service.instance.id': id }) });
  const scope = { name: 'stress', ...(info.version && { version: info.version }) };
  const { post, close } = tools.post ? { post: tools.post, close: () => {} } : createPost(url, headers);
  const [shown, secrets] = [displayUrl(url), secretsOf(url, headers)];
  const queue = new PushQueue({
    clock,
    post,
    bodyOf: (metrics) =>
      JSON.stringify({ resourceMetrics: [{ resource: { attributes }, scopeMetrics: [{ scope, metrics }] }] }),
    wordsOf: (text) => oneLine(text, 150, secrets),
    // A run may go on for days.
    firstFailed: (why) => warn(`a push to ${shown} failed, and the next ones are tried: ${why}`),
    waiting: () => warn(`waiting for ${shown} to take the final figures, at most ${LAST_TIMEOUT_MS / 1000} s in all`),
  });
  const state = new PrometheusState(info, instance?.instances);
  const openedMs = clock.wallMs();
  let lastMs = 0;
  const add = (isLast = false) => {
    // Two pushes of one instant would contradict each other.
    lastMs = Math.max(Math.round(clock.wallMs()), lastMs + 1);
    const startMs = Math.min(Math.round(state.startedAtMs ?? openedMs), lastMs);
    const times = { startTimeUnixNano: `${startMs}000000`, timeUnixNano: `${lastMs}000000` };
    const place = (/** @type {Labels} */ given) => ({
      attributes: attributesOf({ ...own, ...given, ...common }),
      ...times,
    });
    queue.add(
      FAMILIES.flatMap((family) => metricsOf(family, state, place)),
      isLast,
    );
  };
  let isClosed = false;
  return {
    begin: ({ startedAtMs }) => {
      state.startedAtMs = startedAtMs;
      // From 0 on, so that rates contain the first interval.
      add();
    },
    interval: (row, totals) => {
      state.add(row, totals);
      add();
    },
    finish: (run) => {
      state.spending = run.spending;
      return add(true);
    },
    close: async (now) => {
      if (isClosed) return;
      isClosed = true;
      await queue.close(now);
      close();
      const { made, arrived, hasLast, why } = queue;
      if (made === arrived) return;
      const end = hasLast ? 'and the final figures arrived' : 'that of the final figures too';
      // With --quiet the user would miss that figures are lost.
      (hasLast ? warn : complain)(`${made - arrived} of ${made} pushes to ${shown} failed, ${end}: ${why}`);
    },
  };
}
