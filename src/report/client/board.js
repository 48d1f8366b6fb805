import { Plot, wholeOf } from './plot.js';
import { clockTime } from './quantity.js';

/** @import { PageData } from '../html.js' */

/// <reference lib="dom" />

/**
 * All charts of the page. Charts over the time of the run show the same range.
 *
 * @typedef {{range: {min: number, max: number} | null, focus: string | null, index: number | null}} Kept focus: the
 *   chart with the keyboard's focus; index: of the value that it reads
 */

/** Zoom factor of the buttons and keys. */
const ZOOM = 2;

export class Board {
  /** The visible range; null: all. @type {{min: number, max: number} | null} */
  range = null;
  #isSetting = true;

  /** @param {PageData} data */
  constructor({ time, charts }) {
    this.time = time;
    // Charts without a figure are not shown on this page.
    const shown = charts.filter(({ id }) => document.getElementById(`plot-${id}`) !== null);
    this.plots = shown.map((chart) => {
      /** @type {Plot} */
      const plot = new Plot(chart, time, () => this.#follow(plot));
      plot.element.addEventListener('keydown', (event) => this.#onKey(plot, event));
      plot.element.addEventListener('dblclick', () => this.show(null));
      return plot;
    });
    for (const button of document.querySelectorAll('[data-zoom]'))
      button.addEventListener('click', () => this.step(/** @type {HTMLElement} */ (button).dataset.zoom ?? 'all'));
    this.#isSetting = false;
    this.#say();
  }

  get timed() {
    return this.plots.filter(({ time }) => time !== null);
  }

  whole() {
    const [min, max] = wholeOf(this.time);
    return { min, max };
  }

  /** @param {{min: number, max: number} | null} range null: all */
  show(range) {
    const whole = this.whole();
    const min = Math.max(whole.min, range?.min ?? whole.min);
    const max = Math.min(whole.max, range?.max ?? whole.max);
    if (!(max > min)) return;
    const isAll = min === whole.min && max === whole.max;
    this.range = isAll ? null : { min, max };
    this.#isSetting = true;
    for (const { uplot } of this.timed) uplot.batch(() => uplot.setScale('x', { min, max }));
    this.#isSetting = false;
    this.#say();
  }

  #say() {
    const { min, max } = this.range ?? this.whole();
    const words = document.getElementById('zoomed');
    if (words) words.textContent = `${this.range === null ? 'All' : 'Part'}: ${clockTime(min)} to ${clockTime(max)}`;
  }

  /** Applies the zoom of one chart to the others. @param {Plot} plot */
  #follow(plot) {
    if (this.#isSetting) return;
    const { min, max } = plot.uplot?.scales.x ?? {};
    if (min === undefined || max === undefined || min === null || max === null) return;
    const { min: from, max: to } = this.range ?? this.whole();
    if (min !== from || max !== to) this.show({ min, max });
  }

  /** @param {string} name of a button */
  step(name) {
    const whole = this.whole();
    const { min, max } = this.range ?? whole;
    const length = max - min;
    const middle = (min + max) / 2;
    if (name === 'in') this.show({ min: middle - length / (2 * ZOOM), max: middle + length / (2 * ZOOM) });
    else if (name === 'out') this.show({ min: middle - (length * ZOOM) / 2, max: middle + (length * ZOOM) / 2 });
    else if (name === 'left') this.show(shifted(-length / 2, { min, max }, whole));
    else if (name === 'right') this.show(shifted(length / 2, { min, max }, whole));
    else this.show(null);
  }

  /** @param {Plot} plot @param {KeyboardEvent} event */
  #onKey(plot, event) {
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => plot.move(-1),
      ArrowRight: () => plot.move(1),
      PageUp: () => this.step('left'),
      PageDown: () => this.step('right'),
      '+': () => this.step('in'),
      '=': () => this.step('in'),
      '-': () => this.step('out'),
      0: () => this.show(null),
      Escape: () => this.show(null),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** @returns {Kept} the user's place, for the board that replaces this one */
  end() {
    const focused = this.plots.find(({ element }) => element === document.activeElement);
    for (const { uplot } of this.plots) uplot.destroy();
    return { range: this.range, focus: focused?.chart.id ?? null, index: focused?.uplot.cursor.idx ?? null };
  }

  /** @param {Kept} place */
  resume({ range, focus, index }) {
    if (range !== null) this.show(range);
    const plot = this.plots.find(({ chart }) => chart.id === focus);
    plot?.element.focus({ preventScroll: true });
    if (index !== null) plot?.moveTo(index);
  }

  /** Redraws with current colours. */
  redraw() {
    for (const { uplot } of this.plots) uplot.redraw(false, true);
  }

  /** @param {number} [width] */
  resize(width) {
    for (const plot of this.plots) plot.resize(width);
  }
}

/** Shifts a range within the whole range. @param {number} by @param {{min: number, max: number}} range @param {{min: number, max: number}} whole */
function shifted(by, { min, max }, whole) {
  const real = Math.min(whole.max - max, Math.max(whole.min - min, by));
  return { min: min + real, max: max + real };
}
