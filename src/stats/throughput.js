/**
 * Throughput over time. Operations become visible block by block, so that a count depends on where the ends of its time
 * fall between two blocks. Instead, what a sighting brings is spread evenly over the time in which its blocks were made,
 * and a rate is an integral over a time divided by its length. The integral over all time is the count.
 *
 * A sighting is one reading of the chain that found blocks, however many (inclusion/heads.js). An operation without one,
 * such as a plain call, counts at its instant.
 *
 * @import { SeenBlock } from '../contracts/chain.d.ts'
 * @import { Span } from '../contracts/common.d.ts'
 * @import { SpanCount, SpreadReport } from '../contracts/load.d.ts'
 * @import { BlockRates, Series as SeriesJson } from '../contracts/run-file.d.ts'
 * @import { IntervalLog } from './stats.js'
 */

/** @param {Span} span @param {number} fromUs @param {number} toUs @returns {number} the share of the span in (fromUs, toUs] */
export function shareIn(span, fromUs, toUs) {
  if (span.fromUs === span.toUs) return span.toUs > fromUs && span.toUs <= toUs ? 1 : 0;
  const partUs = Math.min(span.toUs, toUs) - Math.max(span.fromUs, fromUs);
  return partUs <= 0 ? 0 : partUs / (span.toUs - span.fromUs);
}

/** Instants that are at most so far apart become one span. */
const INSTANTS_US = 100_000;

/** The operations of a thread by their spans, until the next report. */
export class SpanLog {
  /** By the end of a sighting. @type {Map<number, SpanCount>} */
  #sightings = new Map();
  /** By time; those before, in and after the window are kept apart. @type {Map<number, SpanCount>} */
  #instants = new Map();

  /** @param {Span} span @param {{startUs: number, endUs: number}} window @param {number} included @param {number} verified */
  add({ fromUs, toUs }, { startUs, endUs }, included, verified) {
    const isInstant = fromUs === toUs;
    const place = toUs <= startUs ? 0 : toUs <= endUs ? 1 : 2;
    const spans = isInstant ? this.#instants : this.#sightings;
    const key = isInstant ? 3 * Math.floor(toUs / INSTANTS_US) + place : toUs;
    const known = spans.get(key);
    if (known === undefined) return void spans.set(key, { fromUs, toUs, verified, included });
    known.verified += verified;
    known.included += included;
    known.fromUs = Math.min(known.fromUs, fromUs);
    known.toUs = Math.max(known.toUs, toUs);
  }

  /** @returns {SpanCount[]} since the last call */
  take() {
    const spans = [...this.#sightings.values(), ...this.#instants.values()];
    this.#sightings.clear();
    this.#instants.clear();
    return spans;
  }
}

/** Limit of the points of a series. */
const MOST_POINTS = 2000;
const POINT_MS = 1000;

/**
 * Operations verified, and gas used by blocks, in each second. The first points may be before the load. Above the limit
 * neighbours are merged in pairs, or the oldest points are left out.
 */
export class Series {
  #keepsAll;
  /** From when on all points are there. */
  keptFromMs = -Infinity;
  #stepMs = POINT_MS;
  /** Number of the first point, which begins at #first * #stepMs. */
  #first = 0;
  /** @type {Array<{verified: number, gas: number}>} */
  #points = [];

  /** @param {{keepsAll?: boolean}} [options] keepsAll: otherwise it has the latest points, each of one second */
  constructor({ keepsAll = true } = {}) {
    this.#keepsAll = keepsAll;
  }

  /** @param {SeriesJson} json @returns {Series} */
  static from({ startMs, stepMs, verified, gas = [] }) {
    const series = new Series();
    series.#stepMs = stepMs;
    series.#first = Math.round(startMs / stepMs);
    series.#points = verified.map((count, i) => ({ verified: count, gas: gas[i] ?? 0 }));
    return series;
  }

  /** @param {number} fromMs since the start of the load @param {number} toMs @param {{verified?: number, gas?: number}} amounts */
  add(fromMs, toMs, { verified = 0, gas = 0 }) {
    const last = Math.ceil(toMs / this.#stepMs) - 1;
    for (let at = Math.min(last, Math.floor(fromMs / this.#stepMs)); at <= last; at += 1) {
      const share = shareIn({ fromUs: fromMs, toUs: toMs }, at * this.#stepMs, (at + 1) * this.#stepMs);
      const point = this.#pointAt(at);
      point.verified += share * verified;
      point.gas += share * gas;
    }
    while (this.#points.length > MOST_POINTS) {
      if (this.#keepsAll) this.#halve();
      else {
        this.#points.shift();
        this.#first += 1;
        this.keptFromMs = this.#first * this.#stepMs;
      }
    }
  }

  /** @param {number} at */
  #pointAt(at) {
    if (this.#points.length === 0) this.#first = at;
    for (; at < this.#first; this.#first -= 1) this.#points.unshift({ verified: 0, gas: 0 });
    while (at >= this.#first + this.#points.length) this.#points.push({ verified: 0, gas: 0 });
    return this.#points[at - this.#first];
  }

  /** Points of twice the length. */
  #halve() {
    const [points, first] = [this.#points, this.#first];
    this.#points = [];
    this.#stepMs *= 2;
    for (const [i, { verified, gas }] of points.entries()) {
      const point = this.#pointAt(Math.floor((first + i) / 2));
      point.verified += verified;
      point.gas += gas;
    }
  }

  /** The integral over a time; within a point it is taken as even. @param {number} fromMs @param {number} toMs */
  between(fromMs, toMs) {
    let [verified, gas] = [0, 0];
    const first = Math.max(0, Math.floor(fromMs / this.#stepMs) - this.#first);
    const last = Math.min(this.#points.length, Math.ceil(toMs / this.#stepMs) - this.#first);
    for (let i = first; i < last; i += 1) {
      const startMs = (this.#first + i) * this.#stepMs;
      const share = shareIn({ fromUs: startMs, toUs: startMs + this.#stepMs }, fromMs, toMs);
      verified += share * this.#points[i].verified;
      gas += share * this.#points[i].gas;
    }
    return { verified, gas };
  }

  /** @returns {Array<{fromMs: number, toMs: number, verified: number, gas: number}>} */
  points() {
    const fromMs = (/** @type {number} */ i) => (this.#first + i) * this.#stepMs;
    return this.#points.map((point, i) => ({ fromMs: fromMs(i), toMs: fromMs(i + 1), ...point }));
  }

  /** @returns {SeriesJson} */
  toJSON() {
    const rounded = (/** @type {number} */ value) => Math.round(1e6 * value) / 1e6;
    return {
      startMs: this.#first * this.#stepMs,
      stepMs: this.#stepMs,
      verified: this.#points.map(({ verified }) => rounded(verified)),
      gas: this.#points.map(({ gas }) => Math.round(gas)),
    };
  }
}

/** A time without a sighting that is so many times longer than usual: the chain has halted. */
const HALT = 5;

/** The throughput of a whole run: what its threads report, spread over the rows of the intervals and over the series. */
export class Throughput {
  series = new Series();
  /** The latest seconds: later the points of the whole run are longer than an interval. */
  #recent = new Series({ keepsAll: false });
  /** What the window has of all that was spread. */
  inWindow = { verified: 0, included: 0, gas: 0 };
  /** When blocks were seen last by all threads, and all of their operations had ended. */
  settledUs = -Infinity;
  sightedUs = -Infinity;
  /** @type {number | null} */
  periodUs = null;
  /** @type {number | null} */
  spanUs = null;
  /** Seen in the window. */
  #blocks = 0;
  #loadStartUs = 0;
  #window = { startUs: Infinity, endUs: Infinity };

  /** @param {IntervalLog} log its rows get the rates */
  constructor(log) {
    this.log = log;
  }

  /** @param {{loadStartUs: number, startUs: number, endUs: number}} plan */
  plan({ loadStartUs, ...window }) {
    this.#loadStartUs = loadStartUs;
    this.#window = window;
  }

  /** @param {SpreadReport} report */
  add({ spans, ...known }) {
    for (const span of spans) {
      const share = shareIn(span, this.#window.startUs, this.#window.endUs);
      this.inWindow.verified += share * span.verified;
      this.inWindow.included += share * span.included;
      this.#spread(span, { verified: span.verified });
    }
    Object.assign(this, known);
  }

  /** @param {SeenBlock} block */
  addBlock = ({ spreadFromUs, seenAtUs, transactions, ours, gasUsed }) => {
    const span = { fromUs: spreadFromUs ?? seenAtUs, toUs: seenAtUs };
    this.#blocks += Number(seenAtUs > this.#window.startUs && seenAtUs <= this.#window.endUs);
    this.inWindow.gas += gasUsed * shareIn(span, this.#window.startUs, this.#window.endUs);
    this.#spread(span, { blocks: 1, transactions, ours, gas: gasUsed });
  };

  /** @param {Span} span @param {Partial<BlockRates & {verified: number}>} amounts */
  #spread({ fromUs, toUs }, amounts) {
    const [fromMs, toMs] = [fromUs, toUs].map((us) => (us - this.#loadStartUs) / 1000);
    this.series.add(fromMs, toMs, amounts);
    this.#recent.add(fromMs, toMs, amounts);
    this.log.spread(fromMs, toMs, amounts);
  }

  /**
   * Until when rates are known. If the drain ended before the first block after the window, what was in flight is not
   * known, and they end with the last block; but if the chain had halted, nothing is missing. Of a window without a
   * block that is shorter than the usual time between two nothing is known.
   * @param {number} untilUs end of the drain
   * @param {number} open operations that the drain did not wait for
   * @returns {number} Infinity: the whole window
   */
  endUs(untilUs, open) {
    const { startUs, endUs } = this.#window;
    const lengthUs = Math.min(endUs, untilUs) - startUs;
    if (this.#blocks === 0 && this.periodUs !== null && lengthUs < this.periodUs) return startUs;
    const isCut = open > 0 && this.sightedUs < endUs && untilUs - this.sightedUs <= HALT * (this.periodUs ?? Infinity);
    return isCut ? Math.max(startUs, this.sightedUs) : Infinity;
  }

  /** @param {number} nowUs @param {number} lengthMs @returns {number | null} operations per second lately */
  lately(nowUs, lengthMs) {
    // During a halt of the chain the rate falls.
    const recentUs = nowUs - 2 * Math.max(this.spanUs ?? 0, 1000 * POINT_MS);
    const untilMs = POINT_MS * Math.floor((Math.max(this.settledUs, recentUs) - this.#loadStartUs) / 1000 / POINT_MS);
    const fromMs = Math.max(0, this.#recent.keptFromMs, untilMs - lengthMs);
    return untilMs <= fromMs ? null : (1000 * this.#recent.between(fromMs, untilMs).verified) / (untilMs - fromMs);
  }
}
