import { RpcError, StressError } from '../errors.js';
import { CHECKS, HEAD_CHECKS } from './checks.js';

/**
 * Makes the consistency checks in turn at each endpoint, at a bounded rate, and collects what contradicts.
 *
 * @import { Clock, Consistency } from '../types.d.ts'
 * @import { Finding, VerifiedOperation } from './checks.js'
 * @import { CheckedEndpoint } from './endpoint.js'
 *
 * @typedef {{endpoint: CheckedEndpoint, name: string, headAtUs: number}} Site headAtUs: when its head was read
 */

const NAMES = Object.freeze(['head', ...Object.keys(CHECKS)]);

/** Requests per second beside the share of the load, so that a small load is checked too. */
const LEAST_PER_SECOND = 2;
/** Pause of the loop when the rate allows no request. */
const PAUSE_MS = 50;
/** Time between two readings of an endpoint's head. */
const HEAD_MS = 200;
/** Operations that are kept to be checked. */
const MAX_OPERATIONS = 256;
/** Examples of a violation that are kept. */
const EXAMPLES = 3;
/** Refusals of a check in a row, after which it is off. */
const REFUSALS = 3;

export class ConsistencyChecker {
  /** @type {Site[]} */
  #sites;
  /** @type {VerifiedOperation[]} the newest last */
  #operations = [];
  #options;
  /** Of the load, at the last message. */
  #load = { requests: 0, perUs: 0, atUs: 0 };
  #startUs;
  /** Made so far, by check. @type {Record<string, number>} */
  #checks = {};
  /** Refused in a row, by check and endpoint. @type {Map<string, number>} */
  #refused = new Map();
  /** Why a check is not made. @type {Record<string, string>} */
  #off = {};
  /** @type {Consistency['violations']} */
  #violations = {};
  #turn = 0;

  /** @param {{endpoints: CheckedEndpoint[], names: string[], clock: Clock, signal: AbortSignal, share: number, random?: () => number}} options */
  constructor(options) {
    this.#options = { random: Math.random, ...options };
    this.#startUs = options.clock.nowUs();
    this.#load.atUs = this.#startUs;
    this.#sites = options.endpoints.map((endpoint, i) => {
      return { endpoint, name: options.names[i], headAtUs: -Infinity };
    });
  }

  /** @param {VerifiedOperation} operation */
  add(operation) {
    this.#operations.push(operation);
    if (this.#operations.length > MAX_OPERATIONS) this.#operations.shift();
  }

  /** @param {number} requests of the load so far */
  noteRequests(requests) {
    const nowUs = this.#options.clock.nowUs();
    const perUs = (requests - this.#load.requests) / Math.max(1, nowUs - this.#load.atUs);
    this.#load = { requests, perUs, atUs: nowUs };
  }

  /** Until the signal. */
  async run() {
    const { clock, signal } = this.#options;
    while (!signal.aborted) {
      if (this.#requests() >= this.#allowed()) await clock.sleep(PAUSE_MS, signal);
      else await this.#next();
    }
  }

  #requests() {
    return this.#sites.reduce((sum, { endpoint }) => sum + endpoint.requests, 0);
  }

  #allowed() {
    const nowUs = this.#options.clock.nowUs();
    const requests = this.#load.requests + this.#load.perUs * (nowUs - this.#load.atUs);
    return (LEAST_PER_SECOND * (nowUs - this.#startUs)) / 1e6 + this.#options.share * requests;
  }

  /** One check at the next endpoint. */
  async #next() {
    const { clock, signal } = this.#options;
    const site = this.#sites[this.#turn % this.#sites.length];
    const name = NAMES[Math.floor(this.#turn / this.#sites.length) % NAMES.length];
    this.#turn += 1;
    try {
      if (name === 'head' || clock.nowUs() - site.headAtUs > HEAD_MS * 1000) await this.#readHead(site);
      if (name !== 'head' && this.#off[name] === undefined) await this.#make(name, site);
    } catch (error) {
      // An endpoint that does not answer is no contradiction; the load notices it too.
      if (!(error instanceof StressError)) throw error;
      await clock.sleep(PAUSE_MS, signal);
    }
  }

  /** @param {Site} site */
  async #readHead(site) {
    site.headAtUs = this.#options.clock.nowUs();
    const found = await site.endpoint.readHead();
    this.noteCheck('head');
    await this.#judge(site, found);
    this.#noteNewest();
  }

  #noteNewest() {
    const newest = Math.max(
      ...this.#sites.map(({ endpoint }) => endpoint.head?.number ?? 0),
      this.#operations.at(-1)?.blockNumber ?? 0,
    );
    for (const { endpoint } of this.#sites) endpoint.noteNewest(newest);
  }

  /** @param {string} name @param {Site} site */
  async #make(name, site) {
    const { random } = this.#options;
    const { applies = () => true, check } = CHECKS[name];
    const { endpoint, name: display } = site;
    const { head } = endpoint;
    if (head === null) return;
    // Newer blocks more often: a node that is late is late with them.
    const depth = Math.floor(64 * random() ** 3);
    const block = await endpoint.blockAt(Math.max(0, head.number - depth));
    const known = this.#operations.filter(({ blockNumber }) => blockNumber <= head.number);
    const operation = known.length === 0 ? null : known[known.length - 1 - Math.floor(random() ** 3 * known.length)];
    const context = { endpoint, head, block, operation, random };
    if (!applies(context)) return;
    const key = `${name} ${display}`;
    try {
      const found = await check(context);
      this.#refused.delete(key);
      this.noteCheck(name);
      await this.#judge(site, found);
    } catch (error) {
      if (!(error instanceof RpcError) || error.isBusy) throw error;
      const times = (this.#refused.get(key) ?? 0) + 1;
      this.#refused.set(key, times);
      if (times >= REFUSALS) this.#off[name] = `${display} answered ${error.method} with: ${error.rpcMessage}`;
    }
  }

  /** Records a finding, unless a reorg explains it. @param {Site} site @param {Finding | null} finding */
  async #judge({ endpoint, name }, finding) {
    if (finding === null) return;
    for (const block of finding.blocks) if (!(await endpoint.isCanonical(block))) return;
    this.record(name, finding);
  }

  /** @param {string} display @param {Omit<Finding, 'blocks'>} finding */
  record(display, { code, words, requests }) {
    const violation = (this.#violations[code] ??= { count: 0, examples: [] });
    violation.count += 1;
    const commands = requests.map(({ method, params }) => curlOf(display, method, params));
    if (violation.examples.length < EXAMPLES)
      violation.examples.push({ endpoint: display, words, atMs: this.#options.clock.wallMs(), commands });
  }

  /** @param {string} name of a check that was made */
  noteCheck(name) {
    this.#checks[name] = (this.#checks[name] ?? 0) + 1;
  }

  /** @param {string} name @param {string} why */
  turnOff(name, why) {
    this.#off[name] ??= why;
  }

  /** @returns {Consistency} */
  report() {
    const made = this.#checks;
    const why = Object.keys({ ...CHECKS, ...HEAD_CHECKS }).filter((name) => made[name] === undefined);
    const off = Object.fromEntries(why.map((name) => [name, this.#off[name] ?? 'there was nothing to compare']));
    return {
      share: this.#options.share,
      requests: this.#requests(),
      checks: { ...made },
      off: { ...off, ...this.#off },
      violations: this.#violations,
      lag: this.#sites.map(({ endpoint, name }) => ({ endpoint: name, ...endpoint.lag })),
    };
  }
}

/** @param {string} url as messages show it @param {string} method @param {unknown[]} params */
function curlOf(url, method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return `curl -s -H 'content-type: application/json' -d '${body}' ${url.replace(/^ws/, 'http')}`;
}
