/** @typedef {{fromUs: number, toUs: number}} Span */

/** Spans that are kept one by one, for events that come late; older ones are a sum. */
const MOST_SPANS = 64;

/**
 * The time in which a load was held: nothing started, and the schedule was delayed. It is integrated per reason at the instants
 * of the events that held and released it, in whatever order they are noticed. Several reasons at once hold it once.
 */
export class HeldTime {
  /** Reasons that hold it now, and since when. @type {Map<string, number>} */
  #since = new Map();
  /** The latest spans without overlaps, in order. @type {Span[]} */
  #spans = [];
  /** The length of the spans that are kept. */
  #keptUs = 0;
  /** Older spans, added up. @type {Span & {sumUs: number}} */
  #older = { fromUs: -Infinity, toUs: -Infinity, sumUs: 0 };
  /** The start: nothing is earlier. */
  #startUs = -Infinity;
  /** What was taken, and until when. */
  #taken = { us: 0, untilUs: -Infinity };
  /** Until the last release. @type {Record<string, number>} */
  usByReason = {};

  get isHeld() {
    return this.#since.size > 0;
  }

  /** Microseconds until the last release. */
  get totalUs() {
    return this.#older.sumUs + this.#keptUs;
  }

  /** @param {string} reason @param {number} atUs @returns {boolean} whether it is held from then on, and was not before */
  hold(reason, atUs) {
    const isFirst = !this.isHeld;
    if (!this.#since.has(reason)) this.#since.set(reason, Math.max(atUs, this.#startUs));
    return isFirst;
  }

  /** @param {string} reason @param {number} atUs @returns {boolean} whether it is released */
  release(reason, atUs) {
    const sinceUs = this.#since.get(reason);
    if (sinceUs === undefined) return false;
    this.#since.delete(reason);
    if (atUs > sinceUs) {
      this.usByReason[reason] = (this.usByReason[reason] ?? 0) + atUs - sinceUs;
      this.#add({ fromUs: Math.max(sinceUs, this.#older.toUs), toUs: atUs });
    }
    return !this.isHeld;
  }

  /** How long it has been held. @param {number} nowUs */
  heldForUs(nowUs) {
    return this.isHeld ? nowUs - Number(this.#all().at(-1)?.fromUs) : 0;
  }

  /** Forgets what was before; a reason that holds it counts from then on. @param {number} atUs */
  restart(atUs) {
    this.#spans = [];
    this.#keptUs = 0;
    this.#older = { fromUs: atUs, toUs: atUs, sumUs: 0 };
    this.#startUs = atUs;
    this.#taken = { us: 0, untilUs: atUs };
    this.usByReason = {};
    for (const reason of this.#since.keys()) this.#since.set(reason, atUs);
  }

  /**
   * The time before an instant that was not taken yet; what is later stays. Where a release was noticed after a time was
   * taken, the next time is shorter by what was too much.
   * @param {number} untilUs
   * @returns {{heldUs: number, holds: number}} holds: that began in it
   */
  take(untilUs) {
    const all = this.#all();
    const us = all.reduce((sum, one) => sum + Math.max(0, Math.min(one.toUs, untilUs) - one.fromUs), this.#older.sumUs);
    const holds = all.filter(({ fromUs }) => fromUs >= this.#taken.untilUs && fromUs < untilUs).length;
    const heldUs = Math.max(0, us - this.#taken.us);
    this.#taken = { us: this.#taken.us + heldUs, untilUs };
    return { heldUs, holds };
  }

  /** With those that have no end yet. */
  #all() {
    const open = [...this.#since.values()].map((fromUs) => ({ fromUs, toUs: Infinity }));
    return united([...this.#spans, ...open]);
  }

  /** @param {Span} span */
  #add(span) {
    if (span.toUs <= span.fromUs) return;
    this.#spans = united([...this.#spans, span]);
    if (this.#spans.length > MOST_SPANS) {
      const [{ fromUs, toUs }] = this.#spans.splice(0, 1);
      this.#older = { fromUs, toUs, sumUs: this.#older.sumUs + toUs - fromUs };
    }
    this.#keptUs = this.#spans.reduce((sum, { fromUs, toUs }) => sum + toUs - fromUs, 0);
  }
}

/** @param {Span[]} spans @returns {Span[]} without overlaps, in order */
function united(spans) {
  /** @type {Span[]} */
  const all = [];
  for (const span of spans.toSorted((a, b) => a.fromUs - b.fromUs)) {
    const last = all.at(-1);
    if (last === undefined || span.fromUs > last.toUs) all.push({ ...span });
    else last.toUs = Math.max(last.toUs, span.toUs);
  }
  return all;
}
