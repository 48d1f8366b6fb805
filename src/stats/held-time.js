/**
 * The time in which a load was held: nothing started, and the schedule was delayed. It is integrated at the instants of the
 * events that held and released it, not when they are noticed. Several reasons at once hold it once.
 */
export class HeldTime {
  /** Reasons that hold it now. @type {Set<string>} */
  #reasons = new Set();
  /** Since when it is held; only with a reason. */
  #sinceUs = 0;
  /** Times it was held that were not taken yet. @type {Array<{fromUs: number, toUs: number}>} */
  #spans = [];
  #totalUs = 0;
  /** What is earlier was taken. */
  #takenUs = -Infinity;

  get isHeld() {
    return this.#reasons.size > 0;
  }

  /** Microseconds until the last release. */
  get totalUs() {
    return this.#totalUs;
  }

  /** @param {string} reason @param {number} atUs @returns {boolean} whether it is held from then on, and was not before */
  hold(reason, atUs) {
    const isFirst = !this.isHeld;
    this.#reasons.add(reason);
    if (isFirst) this.#sinceUs = atUs;
    return isFirst;
  }

  /** @param {string} reason @param {number} atUs @returns {boolean} whether it is released */
  release(reason, atUs) {
    if (!this.#reasons.delete(reason) || this.isHeld) return false;
    this.#add(atUs);
    return true;
  }

  /** How long it has been held. @param {number} nowUs */
  heldForUs(nowUs) {
    return this.isHeld ? nowUs - this.#sinceUs : 0;
  }

  /** Forgets what was before; a reason that holds it counts from then on. @param {number} atUs */
  restart(atUs) {
    this.#spans = [];
    this.#totalUs = 0;
    this.#sinceUs = this.#takenUs = atUs;
  }

  /** The time before an instant that was not taken yet; what is later stays. @param {number} untilUs @returns {{heldUs: number, holds: number}} holds: that began in it */
  take(untilUs) {
    const all = this.isHeld ? [...this.#spans, { fromUs: this.#sinceUs, toUs: Infinity }] : this.#spans;
    let [heldUs, holds] = [0, 0];
    for (const { fromUs, toUs } of all)
      heldUs += Math.max(0, Math.min(toUs, untilUs) - Math.max(fromUs, this.#takenUs));
    for (const { fromUs } of all) holds += fromUs >= this.#takenUs && fromUs < untilUs ? 1 : 0;
    this.#takenUs = untilUs;
    this.#spans = this.#spans.filter(({ toUs }) => toUs > untilUs);
    return { heldUs, holds };
  }

  /** @param {number} toUs */
  #add(toUs) {
    const fromUs = this.#sinceUs;
    if (toUs <= fromUs) return;
    this.#spans.push({ fromUs, toUs });
    this.#totalUs += toUs - fromUs;
  }
}
