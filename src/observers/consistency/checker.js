import { isBusy } from '../../chain/refusals.js';
import { ProtocolError, RpcError, StressError, oneLine } from '../../errors.js';
import { addUp } from '../../stats/merge.js';
import { curlOf } from '../../text.js';
import { CHECKS, HEAD_CHECKS, missing, byNumber } from './checks.js';
import { RECENT_BLOCKS } from './endpoint.js';

/**
 * Makes rounds of all checks at each endpoint, at a bounded rate, and collects proven contradictions.
 *
 * @import { Clock } from '../../contracts/common.d.ts'
 * @import { Consistency } from '../../contracts/run-file.d.ts'
 * @import { Contradiction, Subject, VerifiedOperation } from './checks.js'
 * @import { CheckedEndpoint } from './endpoint.js'
 *
 * @typedef {object} CheckerOptions
 * @property {CheckedEndpoint[]} endpoints
 * @property {Clock} clock
 * @property {AbortSignal} signal
 * @property {number} share of the requests of the load
 * @property {(code: string, words: string) => void} onViolation
 * @property {() => number} random from 0 to 1
 */

/** Requests per second beside the share of the load, so that a small load is checked too. */
const LEAST_PER_SECOND = 4;
/** Pause when the rate allows no request, or an endpoint does not answer. */
const PAUSE_MS = 50;
/** Operations that are kept to be checked. */
const MAX_OPERATIONS = 64;
/** Blocks of a range of logs. */
const MAX_RANGE = 4;
/** Examples of a violation. */
const EXAMPLES = 3;
/** Characters of an example's words. */
const MAX_WORDS = 300;
/** Refusals in a row, after which a check is off. */
const REFUSALS = 3;

export class ConsistencyChecker {
  #options;
  #random;
  #startUs;
  /** Verified operations, the newest last. @type {VerifiedOperation[]} */
  #operations = [];
  /** The requests of the load, at the last message. */
  #load = { requests: 0, perUs: 0, atUs: 0 };
  /** Checks made, by kind. @type {Record<string, number>} */
  #made = {};
  /** Refusals in a row, by check and endpoint; from REFUSALS on the check is off there. @type {Map<string, number>} */
  #refused = new Map();
  /** The last refusal of a check. @type {Record<string, string>} */
  #refusals = {};
  /** @type {Record<string, string>} */
  #off = {};
  /** By check and endpoint. @type {Map<string, {name: string, endpoint: string, words: string, isOver: boolean}>} */
  #interrupted = new Map();
  /** Answers that could not be judged, by check. @type {Record<string, number>} */
  #undecided = {};
  /** @type {Consistency['violations']} */
  #violations = {};

  /** @param {CheckerOptions} options */
  constructor(options) {
    this.#options = options;
    this.#random = options.random;
    this.#startUs = options.clock.nowUs();
    this.#load.atUs = this.#startUs;
  }

  /** @param {VerifiedOperation} operation */
  add(operation) {
    this.#operations.push(operation);
    if (this.#operations.length > MAX_OPERATIONS) this.#operations.shift();
  }

  /** @param {number} requests of the load so far */
  noteRequests(requests) {
    const nowUs = this.#options.clock.nowUs();
    // Messages may follow each other closely.
    const perUs = (requests - this.#load.requests) / Math.max(1e6, nowUs - this.#load.atUs);
    this.#load = { requests, perUs, atUs: nowUs };
  }

  /** Until the signal. */
  async run() {
    await Promise.all(this.#options.endpoints.map((endpoint) => this.#follow(endpoint)));
  }

  /** @param {CheckedEndpoint} endpoint */
  async #follow(endpoint) {
    const { clock, signal } = this.#options;
    while (!signal.aborted) {
      try {
        if (this.#requests() < this.#allowed()) await this.#round(endpoint);
        else await clock.sleep(PAUSE_MS, signal);
      } catch (error) {
        // An endpoint that does not answer is no contradiction; the load notices it too.
        if (!(error instanceof StressError)) throw error;
        // It may have restarted without its data.
        if (isPassing(error)) endpoint.forget();
        await clock.sleep(PAUSE_MS, signal);
      }
    }
  }

  #requests() {
    return this.#options.endpoints.reduce((sum, { requests }) => sum + requests, 0);
  }

  #allowed() {
    const nowUs = this.#options.clock.nowUs();
    const requests = this.#load.requests + this.#load.perUs * (nowUs - this.#load.atUs);
    return (LEAST_PER_SECOND * (nowUs - this.#startUs)) / 1e6 + this.#options.share * requests;
  }

  /** All checks once. @param {CheckedEndpoint} endpoint */
  async #round(endpoint) {
    const newest = Math.max(
      ...this.#options.endpoints.map(({ head }) => head?.number ?? 0),
      this.#operations.at(-1)?.blockNumber ?? 0,
    );
    const found = await endpoint.readHead();
    endpoint.noteLag(newest);
    this.noteCheck('head');
    await this.#prove('head', endpoint, found);
    const subject = await this.#subjectAt(endpoint);
    if (subject !== null) await Promise.all(Object.keys(CHECKS).map((name) => this.#make(name, endpoint, subject)));
  }

  /** What the endpoint has according to its own head: what is newer says nothing about it. @param {CheckedEndpoint} endpoint @returns {Promise<Subject | null>} */
  async #subjectAt(endpoint) {
    const { head } = endpoint;
    if (head === null) return null;
    const random = this.#random;
    // Newer ones more often: a node that is late is late with them.
    const number = head.number - Math.floor(random() ** 3 * Math.min(RECENT_BLOCKS, head.number));
    const block = await endpoint.blockAt(number);
    if (block === null) {
      if (await endpoint.isHole(number)) return null;
      const words = `the latest block was ${head.number}, and block ${number} is missing`;
      await this.#prove('block', endpoint, missing(words, [byNumber(head), byNumber({ number })], head));
      return null;
    }
    // The newest: a wallet that has gone on hides an answer that is a little too old.
    const operation = this.#operations.findLast(({ blockNumber }) => blockNumber <= head.number) ?? null;
    // The endpoint must have served the block with the operation before it is asked for the effect.
    const home = operation === null ? null : await endpoint.blockAt(operation.blockNumber);
    const hasOperation = operation !== null && home !== null && home.transactions.includes(operation.hash);
    return {
      block,
      blocks: endpoint.chainUpTo(block, 1 + Math.floor(random() * MAX_RANGE)),
      index: Math.floor(random() * block.transactions.length),
      operation: hasOperation ? operation : null,
      home,
      unknownHash: `0x${Array.from({ length: 64 }, () => Math.floor(random() * 16).toString(16)).join('')}`,
      isRange: random() < 0.5,
    };
  }

  /** @param {string} name @param {CheckedEndpoint} endpoint @param {Subject} subject */
  async #make(name, endpoint, subject) {
    const { ask, judge, mayBeRefused } = CHECKS[name];
    const place = `${name} ${endpoint.name}`;
    const requests = (this.#refused.get(place) ?? 0) >= REFUSALS ? [] : ask(subject);
    if (requests.length === 0) return;
    /** @type {Contradiction | null} */
    let found;
    try {
      const answers = await Promise.all(requests.map((request) => endpoint.ask(request, mayBeRefused)));
      found = judge(subject, answers);
    } catch (error) {
      if (isPassing(error)) throw error;
      // An error of the node is no answer that could be wrong; an answer of another form is.
      if (!(error instanceof RpcError)) this.noteUndecided(name);
      const times = (this.#refused.get(place) ?? 0) + 1;
      this.#refused.set(place, times);
      const why = error instanceof StressError ? error.message : 'its answer does not have the form of the method';
      this.#refusals[name] = `${endpoint.name}: ${oneLine(why, MAX_WORDS)}`;
      if (times === REFUSALS) this.turnOff(name, this.#refusals[name]);
      return;
    }
    this.#refused.delete(place);
    this.noteCheck(name);
    await this.#prove(name, endpoint, found);
  }

  /** Counts a contradiction, unless a reorg may explain it. @param {string} name of the check @param {CheckedEndpoint} endpoint @param {Contradiction | null} found */
  async #prove(name, endpoint, found) {
    if (found === null) return;
    try {
      for (const block of found.blocks) if (!(await endpoint.isCanonical(block))) return;
    } catch (error) {
      this.noteUndecided(name);
      throw error;
    }
    this.record(endpoint.name, found);
  }

  /** @param {string} endpoint @param {Omit<Contradiction, 'blocks'>} contradiction */
  record(endpoint, { code, words: said, requests }) {
    const words = oneLine(said, MAX_WORDS);
    const violation = (this.#violations[code] ??= { count: 0, examples: [] });
    violation.count += 1;
    this.#options.onViolation(code, `${endpoint}: ${words}`);
    if (violation.examples.length === EXAMPLES) return;
    const at = new Date(this.#options.clock.wallMs()).toISOString();
    const commands = requests.map((request) => curlOf(endpoint, request));
    violation.examples.push({ endpoint, at, words, commands });
  }

  /** @param {string} name of a check that was made */
  noteCheck(name) {
    this.#made[name] = (this.#made[name] ?? 0) + 1;
  }

  /** @param {string} name of a check with an answer that may be a contradiction */
  noteUndecided(name) {
    this.#undecided[name] = (this.#undecided[name] ?? 0) + 1;
  }

  /** A check that was not made for a time. @param {string} name @param {string} endpoint @param {{words: string, isOver: boolean}} interruption */
  interrupt(name, endpoint, interruption) {
    this.#interrupted.set(`${name} ${endpoint}`, { name, endpoint, ...interruption });
  }

  /** @param {string} name @param {string} why */
  turnOff(name, why) {
    this.#off[name] ??= why;
  }

  /** @returns {Consistency} */
  report() {
    const never = [...Object.keys(CHECKS), ...HEAD_CHECKS].filter((name) => this.#made[name] === undefined);
    const idle = Object.fromEntries(
      never.map((name) => [name, this.#refusals[name] ?? 'there was nothing to compare']),
    );
    const heads = this.#options.endpoints.map(({ undecidedHeads }) => ({ head: undecidedHeads }));
    const interrupted = [...this.#interrupted.values()];
    const open = interrupted.flatMap(({ name, isOver }) => (isOver ? [] : [{ [name]: 1 }]));
    const interruptions = interrupted.map(({ name, endpoint, words }) => [name, `${endpoint}: ${words}`]);
    return {
      share: this.#options.share,
      requests: this.#requests(),
      checks: this.#made,
      undecided: countsAbove0([this.#undecided, ...heads, ...open]),
      off: { ...idle, ...Object.fromEntries(interruptions), ...this.#off },
      violations: this.#violations,
      lag: Object.fromEntries(this.#options.endpoints.map(({ name, lag }) => [name, lag])),
    };
  }
}

/** @param {Array<Record<string, number>>} parts */
function countsAbove0(parts) {
  return Object.fromEntries(Object.entries(parts.reduce(addUp, {})).filter(([, count]) => count > 0));
}

/** Whether the endpoint is away or busy; otherwise it refused the method, or its answer has another form. @param {unknown} error */
function isPassing(error) {
  if (error instanceof RpcError || error instanceof ProtocolError) return isBusy(error);
  return error instanceof StressError;
}
